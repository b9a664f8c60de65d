"""Cases of kernels that fail, kept in text files with what they say."""

from __future__ import annotations

import os
import pathlib
import re
from dataclasses import dataclass

from tests import UPDATE_GOLDEN_VARIABLE

_SECTION = re.compile(r"=== (?P<name>\w+) \| (?P<needle>.*?)\n(?P<source>.*?)--- ?(?P<kind>\w*)\n(?P<text>.*)", re.DOTALL)


@dataclass(frozen=True)
class Case:
    """A kernel's body, the part of the text that programs may match on, and the whole text."""

    name: str
    needle: str
    source: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"=== {self.name} | {self.needle}\n{self.source}--- {self.kind}\n{self.text}\n\n"

    @property
    def body(self) -> str:
        """The source, indented as in a function."""
        return "".join(f"    {line}\n" if line else "\n" for line in self.source.splitlines())

    def compare(self, error: Exception, file: pathlib.Path) -> None:
        """Compares an error with the case, or writes it to the file of the cases."""
        assert self.needle in str(error)
        if os.environ.get(UPDATE_GOLDEN_VARIABLE):
            updated = Case(self.name, self.needle, self.source, type(error).__name__, str(error))
            text = file.read_text(encoding="utf-8")
            start = text.index(f"=== {self.name} |")
            end = text.find("\n=== ", start)
            end = len(text) if end < 0 else end + 1
            file.write_text(text[:start] + str(updated) + text[end:], encoding="utf-8")
            return
        assert type(error).__name__ == self.kind
        assert str(error).splitlines() == self.text.splitlines()


def read_cases(file: pathlib.Path) -> list[Case]:
    """The cases of a file; their names are unique."""
    sections = re.split(r"(?=^=== )", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cases = []
    for section in sections[1:]:
        found = _SECTION.fullmatch(section)
        assert found, section
        parts = (found[part] for part in ("name", "needle", "source", "kind"))
        cases.append(Case(*parts, found["text"].strip("\n")))
    assert len({case.name for case in cases}) == len(cases)
    return cases
