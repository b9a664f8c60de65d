"""Lines of the emitted file, with the user's line beside them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.span import Span

LINE_WIDTH = 100
INDENT = "    "


@dataclass(slots=True)
class Line:
    """One line of CUDA: indentation depth, text, and where it comes from."""

    depth: int
    text: str
    span: Span | None = None


@dataclass(slots=True)
class Block:
    """A growing list of lines at one nesting depth."""

    depth: int = 1
    lines: list[Line] = field(default_factory=list)
    commented: tuple[str, int] | None = None  # the user's line that was shown last in this block

    def add(self, text: str, span: Span | None = None, bodies: Mapping[str, Block] | None = None) -> None:
        """Append text, which may have several lines with their own relative indentation.

        Args:
            text: The lines.
            span: The user's place.
            bodies: Blocks that were written apart, by the line (see `marker`) that stands for each. Their lines keep
                the places that they have, and move to the depth of that line.
        """
        for row in text.rstrip("\n").split("\n"):
            stripped = row.lstrip(" ")
            depth = self.depth + (len(row) - len(stripped)) // 4
            if bodies and stripped in bodies:
                self.splice(bodies[stripped], depth)
            else:
                self.lines.append(Line(depth, stripped, span))

    def blank(self) -> None:
        """One empty line, never two, never at the start."""
        if self.lines and self.lines[-1].text and not self.lines[-1].text.endswith("{"):
            self.lines.append(Line(0, ""))

    def splice(self, inner: Block, depth: int | None = None) -> None:
        """Append the lines of a block that was written apart, at its own depth or another one."""
        shift = 0 if depth is None else depth - inner.depth
        if shift:
            for line in inner.lines:
                line.depth += shift if line.text else 0
        self.lines.extend(inner.lines)

    @contextlib.contextmanager
    def indented(self) -> Iterator[None]:
        """Lines added inside stand one level deeper."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


def marker(name: str) -> str:
    """The line that stands for a block in a rendered template; no line of CUDA holds its first character."""
    return f"\0{name}"


def source_comment(span: Span, depth: int) -> str:
    """`// the user's line      file.py:12`, the place right-aligned."""
    text = f"// {span.source_line().strip()}"
    place = span.short()
    room = LINE_WIDTH - len(INDENT) * depth - len(place) - 2
    if len(text) > room:
        text = text[: max(20, room - 4)].rstrip() + " ..."
    return f"{text:<{max(room, 0)}}  {place}"


BARRIERS = ("__syncthreads();", "cluster", "grid")
LONG_GROUP_LINES = 4


def with_blanks(lines: list[Line]) -> list[Line]:
    """Set off groups, a comment and its statements, with a blank line where one of two neighbours is long.

    What follows a barrier is set off too: it is another phase of the kernel.
    """
    starts = [i for i, line in enumerate(lines) if line.text.startswith("//") and not _continues(lines, i)]
    wanted: set[int] = set()
    for position, start in enumerate(starts):
        if start == 0 or not _may_follow(lines[start - 1]) or lines[start - 1].depth < lines[start].depth:
            continue
        before = starts[position - 1] if position else 0
        after = starts[position + 1] if position + 1 < len(starts) else len(lines)
        behind_barrier = lines[start - 1].text.startswith(BARRIERS)
        if behind_barrier or max(start - before, _length(lines, start, after)) >= LONG_GROUP_LINES:
            wanted.add(start)
    result: list[Line] = []
    for i, line in enumerate(lines):
        if i in wanted:
            result.append(Line(0, ""))
        result.append(line)
    return result


def _continues(lines: list[Line], i: int) -> bool:
    """Whether a comment stands directly below another one."""
    return i > 0 and lines[i - 1].text.startswith("//")


def _may_follow(line: Line) -> bool:
    return bool(line.text) and not line.text.endswith("{")


def _length(lines: list[Line], start: int, end: int) -> int:
    """Lines of a group that stand no less deep than its comment."""
    count = 0
    for line in lines[start:end]:
        if line.text and line.depth < lines[start].depth:
            break
        count += 1
    return count


def render(lines: list[Line]) -> tuple[str, list[tuple[int, Span]]]:
    """The text, and for each line (from 1) that has one, the user's place."""
    rows: list[str] = []
    places: list[tuple[int, Span]] = []
    for line in with_blanks(lines):
        rows.append((INDENT * line.depth + line.text).rstrip())
        if line.span is not None and line.span.line:
            places.append((len(rows), line.span))
    return "\n".join(rows), places


def barrier_remark(op: Op) -> str:
    """What a barrier orders, as a trailing comment; nothing where the user's own line says so."""
    reason = op.attrs.get("reason") or ""
    return "" if reason in ("", "distributed_barrier", "tl.debug_barrier") else f"  // {reason}"
