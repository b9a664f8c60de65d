"""Places in the user's source: every IR node carries one."""

from __future__ import annotations

import linecache
import os
import unicodedata
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of source text, and, for an inlined function, the call it came from.

    Columns count characters from 0 (AST columns count UTF-8 bytes: `from_node` converts them).

    Attributes:
        file: Path as Python knows it.
        line: First line, from 1.
        column: First column, from 0.
        end_line: Last line, from 1.
        end_column: Column behind the last character.
        function: Name of the function that holds the text.
        call_site: Span of the call that inlined this function.
    """

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    call_site: Span | None = None

    @property
    def file_name(self) -> str:
        """Last component of the path: emitted files and messages never show a directory."""
        return os.path.basename(self.file)

    def location(self) -> str:
        """``file.py:LINE:COLUMN`` with a column from 1."""
        return f"{self.file_name}:{self.line}:{self.column + 1}"

    def short(self) -> str:
        """``file.py:LINE``."""
        return f"{self.file_name}:{self.line}"

    def source_line(self) -> str:
        """Text of the first line without its newline; empty when it cannot be read."""
        return linecache.getline(self.file, self.line).rstrip("\n")

    def text(self) -> str:
        """The spanned text, lines joined by single spaces."""
        last = max(self.end_line, self.line)
        lines = [linecache.getline(self.file, n).rstrip("\n") for n in range(self.line, last + 1)]
        if not any(lines):
            return ""
        if self.end_column:
            lines[-1] = lines[-1][: self.end_column]
        lines[0] = lines[0][self.column :]
        return " ".join(line.strip() for line in lines if line.strip())

    def excerpt(self) -> list[str]:
        """The source line with a line number, and carets below the spanned part."""
        source = self.source_line()
        if not source:
            return []
        end = self.end_column if self.end_line in (0, self.line) else len(source)
        # Tabs are shown as spaces: what stands before the marked part decides how many.
        before = source[: self.column].expandtabs(_TAB_WIDTH)
        shown = source.expandtabs(_TAB_WIDTH)
        marked = source[: max(end, self.column + 1)].expandtabs(_TAB_WIDTH)[len(before) :]
        number = f"  {self.line} | "
        padding = " " * (len(number) - 2) + "| " + " " * _display_width(before)
        return [number + shown, padding + "^" * max(1, _display_width(marked))]

    def call_chain(self) -> list[str]:
        """One line per inlined call, innermost first."""
        chain = []
        inner, site = self, self.call_site
        while site is not None:
            chain.append(f"in {inner.function}, called from {site.short()} in {site.function}")
            inner, site = site, site.call_site
        if len(chain) > _LONGEST_CHAIN:
            left_out = len(chain) - _LONGEST_CHAIN + 1
            chain[_LONGEST_CHAIN - 2 : -1] = [f"... {left_out} more calls ..."]
        return chain


def _display_width(text: str) -> int:
    """Columns of a terminal that `text` takes: wide characters two, combining ones none."""
    width = 0
    for char in text:
        if unicodedata.combining(char):
            continue
        width += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return width


_TAB_WIDTH = 4
_LONGEST_CHAIN = 8

UNKNOWN = Span("<unknown>", 0)
"""Span of IR made without source, such as parsed test input."""
