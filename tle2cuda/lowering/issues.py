"""What one thread of a task issues: copies that stand beside each other share a branch, and the wait in front of them."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.lowering import statements
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block

TEMPLATE = "tma.cu.j2"


@dataclass(frozen=True, slots=True)
class Issue:
    """The copies issued last, which others may join.

    Attributes:
        block: Where their statements stand.
        name: Their operation.
        close: The line that closes them.
        end: How many lines there were when they were written.
        roots: Allocations of their buffers.
        commented: The user's line shown last among them.
    """

    block: Block
    name: str
    close: int
    end: int
    roots: frozenset[Value | None]
    commented: tuple[str, int] | None


def emit_elected_wait(state: State, op: Op, statement: str) -> None:
    """`if (thread == 0) { mbarrier_wait(...); }`: what is copied into the stage joins it."""
    block = state.block
    body = Block(block.depth + 1)
    statements.evaluate(body, statement, op.span)
    write(block, TEMPLATE, "one_thread", state.first_thread(), op.span, body=body)
    state.issue = Issue(block, "tma_load", len(block.lines) - 1, len(block.lines), frozenset(), None)


__all__ = ["TEMPLATE", "Issue", "emit_elected_wait"]
