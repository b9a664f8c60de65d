"""Which hand-out of a pipe's stage each buffer and pointer was derived from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tle2cuda.ir.effects import Roots
from tle2cuda.ir.nodes import Kernel, Op, Value, walk

HAND_OUTS = frozenset(("pipe_acquire", "pipe_wait"))


class Slots(Roots):
    """Roots, with the slots that `pipe_acquire` and `pipe_wait` hand out as roots of their own."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.makers: Mapping[Value, Op] = MappingProxyType(
            {slot: op for op in walk(kernel.body) if op.name in HAND_OUTS for slot in slots_of(op)}
        )

    def _visit(self, op: Op) -> None:
        if op.name in HAND_OUTS:
            for slot in slots_of(op):
                self._number[slot] = len(self._number)
        else:
            super()._visit(op)

    def hand_outs(self, value: Value) -> frozenset[Op | None]:
        """The operations that handed out what a buffer or pointer leads to; None for what was not handed out."""
        return frozenset(self.makers.get(root) if root is not None else None for root in self.of(value))


def slots_of(op: Op) -> tuple[Value, ...]:
    """The slots among the results of a `pipe_acquire` or `pipe_wait`."""
    return op.results[1:] if op.name == "pipe_wait" else op.results


def asks_the_same(op: Op, other: Op) -> bool:
    """Whether two operations on a pipe surely work on the same round of the same stage."""
    return op.operands[1:3] == other.operands[1:3]


def pipe_of(op: Op, roots: Roots) -> Value | None:
    """The pipe that an operation works on, by the value that made it; None when it may be one of several."""
    found = roots.of(op.operands[0])
    return found[0] if len(found) == 1 else None
