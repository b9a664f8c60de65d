"""Which tensor copies need an order in memory where loads and stores of all threads take the copy engine's place.

Tensor copies take place in the order of the program. The engine's stores are waited for; ordinary stores of a tile are seen
by other threads behind a barrier only, which loads and stores of the user's own have to ask for (`tl.debug_barrier`).
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.box_order import BoxOrder
from tle2cuda.ir.effects import ATOMIC, READ, Effect, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.types import GLOBAL


class PointerOrder:
    """The accesses to global memory of a kernel, and which tensor copies meet them."""

    def __init__(self, kernel: Kernel, by_pointers: Collection[Op]) -> None:
        self.kernel = kernel
        self.accesses: list[Effect] = []
        if by_pointers:
            roots = Roots(kernel)
            self.accesses = [e for op in walk(kernel.body) for e in effects(op, roots) if e.space == GLOBAL]
        self._of = {op: [effect for effect in self.accesses if effect.op is op] for op in by_pointers}

    @functools.cached_property
    def _boxes(self) -> BoxOrder:
        return BoxOrder(self.kernel, axis_info(self.kernel))

    def met(self, copy: Op) -> Value | None:
        """What a copy and another access, or itself another time, may touch, one of them writing; None for nothing."""
        for own in self._of[copy]:
            for other in self.accesses:
                if _conflict(own, other) and not self._are_apart(copy, other.op):
                    return own.root or other.root
        return None

    def _are_apart(self, copy: Op, other: Op) -> bool:
        if other is copy:
            return self._boxes.are_apart(copy, copy, True)
        pairs = ((copy, other), (other, copy))
        return all(self._boxes.are_apart(a, b, later) for a, b in pairs for later in (False, True))


def _conflict(a: Effect, b: Effect) -> bool:
    kinds = {a.kind, b.kind}
    return kinds not in ({READ}, {ATOMIC}) and (a.root is b.root or a.root is None or b.root is None)


__all__ = ["PointerOrder"]
