"""Lines of the emitted file, with the user's line beside them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.span import Span

LINE_WIDTH = 100
INDENT = "    "


_operation: ContextVar[str] = ContextVar("operation", default="")


@contextlib.contextmanager
def operation(name: str) -> Iterator[None]:
    """Lines that are made inside are written for an operation of this name, those of operations within it apart."""
    token = _operation.set(name)
    try:
        yield
    finally:
        _operation.reset(token)


@dataclass(slots=True)
class Line:
    """One line of CUDA: indentation depth, text, where it comes from, and the operation it is written for."""

    depth: int
    text: str
    span: Span | None = None
    op: str = field(default_factory=_operation.get)


@dataclass(slots=True)
class Block:
    """A growing list of lines at one nesting depth."""

    depth: int = 1
    lines: list[Line] = field(default_factory=list)
    commented: tuple[str, int] | None = None  # the user's line shown last, in this block or in front of it

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
                if not line.text:
                    continue
                moved = line.depth + shift
                if line.span is not None and line.text == source_comment(line.span, line.depth):
                    line.text = source_comment(line.span, moved)  # its place stays right-aligned
                line.depth = moved
        self.lines.extend(inner.lines)

    def last_statement(self) -> Line | None:
        """The line written last, comments and empty lines apart."""
        return next((line for line in reversed(self.lines) if line.text and not line.text.startswith("//")), None)

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


def without_unused(lines: list[Line], names: Collection[str]) -> list[Line]:
    """The lines without the constants of these names that no line of their scope reads, and without what only those read.

    What is computed of an element may turn out not to depend on it, such as its product with 0.
    """
    kept: list[Line] = []  # last line first
    for line in reversed(lines):
        declared = _CONSTANT.fullmatch(line.text)
        if declared is not None and declared["name"] in names and not _is_read(declared["name"], line.depth, kept):
            continue
        kept.append(line)
    return kept[::-1]


_CONSTANT = re.compile(r"const [\w:<>, *]+? (?P<name>\w+) = .*;")


def _is_read(name: str, depth: int, backwards: list[Line]) -> bool:
    """Whether a line that follows in a scope of this depth reads a name."""
    word = re.compile(rf"\b{name}\b")
    hidden: int | None = None  # depth of an inner scope that has a constant of the same name
    for line in reversed(backwards):
        if line.text and line.depth < depth:
            return False
        if hidden is not None and line.text and line.depth < hidden:
            hidden = None
        text = line.text.partition("//")[0]
        if hidden is None and word.search(text):
            declared = _CONSTANT.fullmatch(text.rstrip())
            if declared is None or declared["name"] != name:
                return True
            hidden = line.depth
    return False


def source_comment(span: Span, depth: int) -> str:
    """`// the user's line      file.py:12`, the place right-aligned."""
    text = f"// {span.source_line().strip()}"
    place = span.short()
    room = LINE_WIDTH - len(INDENT) * depth - len(place) - 2
    if len(text) > room:
        text = text[: max(20, room - 4)].rstrip() + " ..."
    return f"{text:<{max(room, 0)}}  {place}"


BARRIERS = re.compile(r"(__syncthreads|__syncwarp)\(\);|cluster|grid|\w+_barrier\(\);")
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
        behind_barrier = BARRIERS.match(lines[start - 1].text) is not None
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


class Rendered(NamedTuple):
    """A text, and by line (from 1) the user's places and the operations it is written for, where there are such."""

    text: str
    places: list[tuple[int, Span]]
    ops: list[tuple[int, str]]


def render(lines: list[Line]) -> Rendered:
    """The text of the lines, groups set off by blank ones."""
    rows: list[str] = []
    places: list[tuple[int, Span]] = []
    ops: list[tuple[int, str]] = []
    for line in with_blanks(lines):
        rows.append((INDENT * line.depth + line.text).rstrip())
        if line.span is not None and line.span.line:
            places.append((len(rows), line.span))
        if line.op:
            ops.append((len(rows), line.op))
    return Rendered("\n".join(rows), places, ops)


_DECLARATION = re.compile(r"(?!return\b|else\b)(?P<type>[\w:]+( [\w:]+)*(<[\w:, ]+>)?\*?) (?P<name>\w+);")


def joined(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a variable that is set right behind its declaration declared with its value."""
    kept: list[Line] = []
    for line in lines:
        before = _DECLARATION.fullmatch(kept[-1].text) if kept and kept[-1].depth == line.depth else None
        if before is not None and line.text.startswith(f"{before['name']} = "):
            kept[-1] = replace(line, text=f"{before['type']} {line.text}")
        else:
            kept.append(line)
    return kept


# Statements at which all threads meet that run them, whatever the kernel's cluster does.
MEETINGS = re.compile(
    r"((__syncthreads|__syncwarp)\(\)|\w+_barrier\(\)|cluster\.sync\(\)|cluster_sync\(\)|grid\.sync\(\)|grid_sync\(\w+\)|"
    r"cluster_barrier_members(?:_by)?<[^;]*);"
)


def joins_barrier(block: Block, remark: str) -> bool:
    """Let the barrier that a block ends with serve one more purpose, which its remark then says too.

    Args:
        block: Where a barrier of the task is needed.
        remark: What it is needed for.

    Returns:
        Whether the block ends with a barrier, so that no further one is needed.
    """
    line = block.last_statement()
    if line is None or line.depth != block.depth or MEETINGS.match(line.text) is None:
        return False
    if not line.text.endswith(remark):
        line.text += f"; {remark}" if "//" in line.text else f"  // {remark}"
    return True


def barrier_remark(op: Op) -> str:
    """What a barrier orders, as a trailing comment; nothing where the user's own line says so."""
    reason = op.attrs.get("reason") or ""
    return "" if reason in ("", "distributed_barrier", "tl.debug_barrier") else f"  // {reason}"
