"""From places in a kernel's library to lines of the emitted file and of the user's Python source."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tle2cuda.emulator.results import Location
from tle2cuda.runtime.nvrtc import span_of_line

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

_TOOLS = ("addr2line", "llvm-addr2line", "llvm-symbolizer")
_OFFSETS_AT_ONCE = 1000  # a command line has an end


class Locator:
    """Resolves places of one library. Without a tool that reads debug information, only lines that calls carry are known.

    Args:
        library: The kernel's library.
        file: Name of the emitted file in its debug information.
        source: The emitted file.
        line_map: Lines of the emitted file with the places in the user's source they come from, ascending.
        op_map: Lines of the emitted file with the operations they are written for.
    """

    def __init__(
        self,
        library: Path,
        file: str,
        source: str,
        line_map: Sequence[tuple[int, Span]],
        op_map: Sequence[tuple[int, str]] = (),
    ) -> None:
        self.library = library
        self.file = file
        self.lines = source.rstrip().split("\n")
        self.line_map = tuple(line_map)
        self.ops = dict(op_map)
        self.first_body_line = self._first_body_line()
        self._known: dict[int, list[int]] = {}
        self._lock = threading.Lock()  # runs of several seeds ask at the same time

    def locate(self, offsets: Sequence[int], line: int = 0) -> Location | None:
        """The place of a call chain, innermost first; `line` is what the innermost call says of itself."""
        chain = [number for offset in offsets for number in self.lines_of(offset)]
        if line and line not in chain:
            chain.insert(0, line)
        if not chain:
            return None
        body = next((number for number in chain if number >= self.first_body_line), chain[-1])
        span = span_of_line(self.line_map, body) if body >= self.first_body_line else None
        return self.place(chain[0], body, span)

    def place(self, line: int, body: int, span: Span | None) -> Location:
        """A line of the emitted file, and that of the kernel's body which leads there."""
        text = self.lines[body - 1].strip() if 0 < body <= len(self.lines) else ""
        return Location(line, body, text, span, self.ops.get(body, ""))

    def locate_span(self, span: Span) -> Location | None:
        """The first statement that was emitted for a line of the user's source; None when none was."""
        lines = [line for line, known in self.line_map if (known.file, known.line) == (span.file, span.line)]
        found = next((line for line in lines if not self.lines[line - 1].lstrip().startswith("//")), None)
        return None if found is None else self.place(found, found, span)

    def lines_of(self, offset: int) -> list[int]:
        """Lines of the emitted file at an offset of the library: innermost, then those it is inlined into."""
        self.resolve((offset,))
        return self._known[offset]

    def resolve(self, offsets: Iterable[int]) -> None:
        """Look up the lines of many offsets at once, which is much quicker than one by one."""
        with self._lock:
            unknown = [offset for offset in dict.fromkeys(offsets) if offset not in self._known]
            for start in range(0, len(unknown), _OFFSETS_AT_ONCE):
                self._ask(unknown[start : start + _OFFSETS_AT_ONCE])

    def _ask(self, offsets: Sequence[int]) -> None:
        self._known.update((offset, []) for offset in offsets)
        tool = next((path for name in _TOOLS if (path := shutil.which(name))), None)
        if tool is None:
            return
        command = [tool, "-e", str(self.library), "-a", "-i", *(hex(offset) for offset in offsets)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found: list[int] = []
        for line in done.stdout.splitlines():
            if re.fullmatch(r"0x[0-9a-f]+", line):
                found = self._known.setdefault(int(line, 16), [])
                continue
            match = re.match(rf"(?:.*/)?{re.escape(self.file)}:(\d+)", line)
            # Behind the emitted lines stands what the runner calls.
            if match and int(match[1]) <= len(self.lines):
                found.append(int(match[1]))

    def _first_body_line(self) -> int:
        """Line on which the kernel's body begins: what comes before are helpers."""
        for number, text in enumerate(self.lines, 1):
            if "__global__" in text and not text.lstrip().startswith("//"):
                return number
        return 1
