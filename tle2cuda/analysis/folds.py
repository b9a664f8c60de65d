"""Reductions whose register part is done while what they reduce is made.

A thread that holds a large part of a tile would load all of it and add up afterwards: more values at once than it has
registers. Where reductions are all that uses such values, each is folded into the results as soon as it is there, in the
loop of the `fused` region that makes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.ir.classify import RENAMES, element_bytes, is_tile
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.types import TileType
from tle2cuda.layout import Layout, f2, reduction

FEWEST_REGISTERS = 192
"""Registers of a thread that are saved, at least. Fewer fit, and to load all of them at once is up to 6 % faster (H200)."""

_REGISTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class Fold:
    """What a `fused` region folds.

    Attributes:
        reductions: The `reduce` operations whose register part its loop does, in their order.
        consumed: Results of the region that nothing else uses: they need no registers behind it.
    """

    reductions: tuple[Op, ...]
    consumed: frozenset[Value]


def folds(body: Region, lazy: set[Value]) -> Mapping[Op, Fold]:
    """What each `fused` region folds, of those where it pays.

    Args:
        body: The kernel's body, behind `fuse`.
        lazy: Its values that need no registers (`lazy_values`).
    """
    return _Folds(body, lazy).found


class _Folds:
    def __init__(self, body: Region, lazy: set[Value]) -> None:
        self.lazy = lazy
        self.uses = uses_of(body)
        self.definitions = definitions(body)
        self.found: dict[Op, Fold] = {}
        self._visit(body.ops)

    def _visit(self, ops: Sequence[Op]) -> None:
        for position, op in enumerate(ops):
            if op.name == "fused":
                fold = self._of(op, ops[position + 1 :])
                if fold is not None:
                    self.found[op] = fold
            else:
                for region in op.regions:
                    self._visit(region.ops)

    def _of(self, fused: Op, behind: Sequence[Op]) -> Fold | None:
        made = {v for v in fused.results if is_tile(v)}
        if _registers(made) < FEWEST_REGISTERS:
            return None
        layout = _layout(fused.results[0])
        found, later = dict[Op, set[Value]](), set[Value]()
        for op in behind:
            if op.name == "reduce" and _can_fold(op, layout):
                leaves = self._leaves(_reduced(op))
                if not leaves & later and leaves & made:
                    found[op] = leaves & made
            if not self._is_spelled(op):
                later.update(op.results)
        chosen = set(found)
        while True:
            consumed = {v for v in made if self._users(v) <= chosen}
            useful = {op for op in chosen if found[op] & consumed}
            if useful == chosen:
                break
            chosen = useful
        if _registers(consumed) < FEWEST_REGISTERS:
            return None
        return Fold(tuple(op for op in found if op in chosen), frozenset(consumed))

    def _leaves(self, values: Iterable[Value]) -> set[Value]:
        """What has registers, or is a scalar, of all that values are computed of where they are used."""
        found, seen, work = set[Value](), set[Value](), list(values)
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            op = self.definitions.get(value)
            if op is not None and self._is_spelled(op):
                work.extend(op.operands)
            else:
                found.add(value)
        return found

    def _is_spelled(self, op: Op) -> bool:
        """Whether a result has no registers of its own, but is computed where it is used."""
        return bool(op.results) and (op.results[0] in self.lazy or op.name in RENAMES)

    def _users(self, value: Value) -> set[Op]:
        """Operations that use a value, directly or through what is computed where it is used."""
        found, seen, work = set[Op](), set[Value](), [value]
        while work:
            for op in self.uses.get(work.pop(), ()):
                if self._is_spelled(op):
                    if op.results[0] not in seen:
                        seen.add(op.results[0])
                        work.append(op.results[0])
                else:
                    found.add(op)
        return found


def _reduced(op: Op) -> tuple[Value, ...]:
    """The tiles that a reduction reduces."""
    return op.operands[: len(op.results)]


def _can_fold(op: Op, layout: Layout) -> bool:
    """Whether the register part of a reduction can be done in a loop over all registers of this layout, in their order.

    What is reduced may be a reshaped view of what the loop makes: its elements have the same row-major numbers.
    """
    own = _layout(op.operands[0])
    if op.attrs["kind"] == "custom" or not _same_places(own, layout):
        return False
    plan = reduction(own, op.attrs["axis"])
    images = [image for image in plan.register_images if image]
    return not plan.skipped_registers and len(f2.independent(images)) == len(images)


def _same_places(a: Layout, b: Layout) -> bool:
    """Whether each register of each thread holds elements of the same number in both."""
    return a.flat_registers == b.flat_registers and a.flat_threads == b.flat_threads


def _layout(value: Value) -> Layout:
    assert isinstance(value.type, TileType) and value.type.layout is not None
    return value.type.layout


def _registers(values: Iterable[Value]) -> int:
    """Registers that a thread needs for tiles."""
    total = 0
    for value in values:
        total += -(-_layout(value).num_registers * element_bytes(value) // _REGISTER_BYTES)
    return total


__all__ = ["FEWEST_REGISTERS", "Fold", "folds"]
