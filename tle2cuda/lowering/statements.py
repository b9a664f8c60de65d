"""What all families write: declarations, assignments, calls, loops over registers.

Statements that belong to one family stand in that family's template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tle2cuda.ir.span import Span
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block

TEMPLATE = "statements.cu.j2"
LOOPS = "loops.cu.j2"


@dataclass(frozen=True, slots=True)
class StatementView:
    """What a form of `statements.cu.j2` shows."""

    type: str = ""
    name: str = ""
    value: str = ""
    condition: str = ""
    runs: int = 1


@dataclass(frozen=True, slots=True)
class LoopView:
    """An unrolled loop of `loops.cu.j2`: `index` from 0 to `count`, and its statement where it has just one."""

    index: str
    count: int
    statement: str = ""


def variable(block: Block, type_: str, name: str, span: Span | None = None) -> None:
    """`int a;`"""
    write(block, TEMPLATE, "variable", StatementView(type_, name), span)


def started(block: Block, type_: str, name: str, value: str, span: Span | None = None) -> None:
    """`int a = 0;`"""
    write(block, TEMPLATE, "started", StatementView(type_, name, value), span)


def constant(block: Block, type_: str, name: str, value: str, span: Span | None = None) -> None:
    """`const int a = 1;`, or `float* const a = x + 1;` when the type is that of a pointer."""
    view = StatementView(type_, name, value)
    if type_.endswith("*"):
        write(block, TEMPLATE, "constant_pointer", view, span)
    else:
        write(block, TEMPLATE, "constant", view, span)


def assign(block: Block, name: str, value: str, span: Span | None = None, condition: str = "") -> None:
    """`a = 1;`, or only if a condition holds; `a += 1;` for a value `a + 1`."""
    condition = "" if condition == "true" else condition
    added = None if condition else _added(name, value)
    if added is not None:
        add(block, name, added, span)
        return
    write(block, TEMPLATE, "assign", StatementView("", name, value, condition), span)


def _added(name: str, value: str) -> str | None:
    """The one operand that `value` adds to `name`; None when it is anything else than such a sum."""
    prefix = f"{name} + "
    if not value.startswith(prefix):
        return None
    rest, depth = value[len(prefix) :], 0
    for i, char in enumerate(rest):
        depth += (char in "([{") - (char in ")]}")
        if not depth and rest[i : i + 3] in _LOOSER:
            return None
    whole = rest.startswith("(") and _closes_at_end(rest)
    return rest[1:-1] if whole else rest


_LOOSER = frozenset(
    (" + ", " - ", " < ", " > ", " ? ", " & ", " | ", " ^ ", " <=", " >=", " ==", " !=", " &&", " ||", " <<", " >>")
)


def _closes_at_end(text: str) -> bool:
    """Whether the parenthesis that opens a text is the one that closes it."""
    depth = 0
    for i, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def assign_each_run(block: Block, name: str, value: str, runs: int, span: Span | None = None) -> None:
    """`a[run] = b[run];` for each run, without a loop when there is one."""
    form = "assign_each_run" if runs > 1 else "assign"
    write(block, TEMPLATE, form, StatementView("", name, value, runs=runs), span)


def add(block: Block, name: str, value: str, span: Span | None = None) -> None:
    """`a += 1;`"""
    write(block, TEMPLATE, "add", StatementView("", name, value), span)


def evaluate(block: Block, value: str, span: Span | None = None, condition: str = "") -> None:
    """`f(a);`, or only if a condition holds."""
    write(block, TEMPLATE, "evaluate", StatementView("", "", value, "" if condition == "true" else condition), span)


def loop(block: Block, index: str, count: int, body: Block, span: Span | None = None, braces: bool = True) -> None:
    """An unrolled loop around a body; without braces the body is one statement."""
    write(block, LOOPS, "loop" if braces else "short_loop", LoopView(index, count), span, body=body)


def line_loop(
    block: Block, index: str, count: int, statement: str, span: Span | None = None, comments: Block | None = None
) -> None:
    """An unrolled loop and its only statement on one line, comments above it."""
    write(block, LOOPS, "line_loop", LoopView(index, count, statement), span, comments=comments)


def loop_nest(
    block: Block, loops: Sequence[tuple[str, int]], body: Block, span: Span | None = None, short: bool = False
) -> None:
    """Unrolled loops, the outermost first, around a body whose depth fits; `short` omits braces around one statement."""
    braces = not short or len(body.lines) > 1
    for level, (index, count) in reversed(list(enumerate(loops))):
        outer = Block(block.depth + level)
        loop(outer, index, count, body, span, braces)
        body, braces = outer, not short
    block.splice(body)
