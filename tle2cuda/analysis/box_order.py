"""Which boxes of tensors are surely apart: of two copies, of one in different iterations of loops, of different tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tle2cuda.analysis.axis_domain import AxisInfo
from tle2cuda.analysis.integer_forms import IntegerForms, Sum
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.tma import OUTSIDE, tensor_copy

_LONGEST = 1 << 31  # of what offsets count


def _is_bulk(op: Op) -> bool:
    """Whether a copy moves rows that no tensor map describes; behind the pass `tensor_maps` all others have one."""
    return bool(op.attrs.get("is_bulk"))


class BoxOrder:
    """The boxes of a kernel's tensor copies.

    What an arm of a branch does in the copy engine's place (`is_substitute`) goes to the same box.
    """

    def __init__(self, kernel: Kernel, info: Mapping[Value, AxisInfo]) -> None:
        self.forms = IntegerForms(kernel)
        self.info = info
        self._copies: dict[Op, Op] = {}
        self._offsets: dict[Op, tuple[Sum, ...]] = {}
        for op in walk(kernel.body):
            if op.name in ("tma_load", "tma_store"):
                self._copies[op] = op
            elif op.name == "if" and op.attrs.get("is_substitute"):
                engines = [inner for inner in walk(op.regions[0]) if inner.name in ("tma_load", "tma_store")]
                if len(engines) == 1:
                    self._copies.update(dict.fromkeys(walk(op.regions[1]), engines[0]))

    def loops(self, op: Op) -> frozenset[Op]:
        """The loops on which the box of a copy depends; none for other operations."""
        copy = self._copies.get(op)
        if copy is None:
            return frozenset()
        if not _is_bulk(copy):
            return frozenset().union(*(self.forms.loops_of(offset) for offset in tensor_copy(copy).offsets))
        terms = (value for offset in self.offsets(copy) for value in offset.terms)
        return frozenset().union(*(self.forms.loops_of(value) for value in terms))

    def are_apart(self, earlier: Op, later: Op, in_other_iteration: bool) -> bool:
        """Whether two accesses surely touch no common element.

        Args:
            earlier: An operation, which may be the same as `later`.
            later: Another.
            in_other_iteration: They belong to different iterations of the loops on which the box of `earlier` depends;
                otherwise to the same ones.
        """
        a, b = self._copies.get(earlier), self._copies.get(later)
        if a is None or b is None or self._tensor(a) != self._tensor(b):
            return False
        block_of_a, block_of_b = self._block(a), self._block(b)
        if block_of_a is None or block_of_b is None:
            return False
        block = [max(x, y) for x, y in zip(block_of_a, block_of_b, strict=True)]
        gaps = [x.plus(y, -1) for x, y in zip(self.offsets(b), self.offsets(a), strict=True)]
        known = [None if gap.terms else gap.constant for gap in gaps]
        if not in_other_iteration:
            return any(gap is not None and abs(gap) >= extent for gap, extent in zip(known, block, strict=True))
        return self._differ(a, block, known)

    def never_meet(self, one: Op, other: Op) -> bool:
        """Whether two accesses touch no common element, whichever iterations of their loops they belong to.

        So it is where boxes begin at different remainders of a power of two that the rest of both offsets is a multiple of.
        """
        a, b = self._copies.get(one), self._copies.get(other)
        if a is None or b is None or self._tensor(a) != self._tensor(b):
            return False
        axes = zip(self.offsets(a), self.offsets(b), a.attrs["block"], b.attrs["block"], strict=True)
        for x, y, extent, other_extent in axes:
            common = math.gcd(_LONGEST, *x.terms.values(), *y.terms.values())
            period, gap = common & -common, y.constant - x.constant
            if gap % period >= extent and -gap % period >= other_extent:
                return True
        return False

    def offsets(self, op: Op) -> tuple[Sum, ...]:
        """Where the box of a tensor copy begins."""
        if op not in self._offsets:
            if _is_bulk(op):
                self._offsets[op] = (self._place(op)[1],)
            else:
                self._offsets[op] = tuple(map(self._offset, tensor_copy(op).offsets))
        return self._offsets[op]

    def _place(self, op: Op) -> tuple[Value, Sum]:
        """Of rows that no tensor map describes: what they are a part of, and where in it they begin."""
        pointer, offset = tensor_copy(op).base, Sum()
        while (made := self.forms.definitions.get(pointer)) is not None and made.name == "ptr_add":
            pointer, further = made.operands
            offset = offset.plus(self.forms.sum(further))
        return pointer, offset

    def _block(self, op: Op) -> tuple[int, ...] | None:
        """The extents of a box; of rows their length from the first element to the last; None when that is not known."""
        block: tuple[int, ...] = op.attrs["block"]
        if not _is_bulk(op):
            return block
        if len(block) == 1:
            return block
        step = self.forms.sum(tensor_copy(op).strides[0])
        return None if step.terms or step.constant < 0 else ((block[0] - 1) * step.constant + block[1],)

    def _offset(self, value: Value) -> Sum:
        made = self.forms.definitions.get(value)
        if made is not None and made.name == "select":
            other = self.forms.sum(made.operands[2])
            if not other.terms and other.constant == OUTSIDE:  # of an empty tensor, of which no box has elements
                return self.forms.sum(made.operands[1])
        return self.forms.sum(value)

    def _tensor(self, op: Op) -> tuple[object, ...]:
        copy = tensor_copy(op)
        if _is_bulk(op):
            return (self._place(op)[0],)
        made = self.forms.definitions.get(copy.base)
        if made is not None and made.name == "tensor_map":
            return (made.operands[0], made.attrs["offset"], made.attrs["shape"], made.attrs["strides"])
        return copy.description

    # ---- different iterations ----

    def _differ(self, op: Op, block: Sequence[int], gaps: Sequence[int | None]) -> bool:
        """Whether boxes of different iterations are apart, those that begin so far from each other in the same one."""
        loops = self.loops(op)
        if any(loop.name != "for" for loop in loops):
            return False
        free = [axis for axis, gap in enumerate(gaps) if gap is not None]
        for loop in loops:
            axis = next((a for a in free if self._moves_on(self.offsets(op)[a], loop, loops, block[a], gaps[a] or 0)), None)
            if axis is None:
                return len(loops) == 1 and not any(gaps) and None not in gaps and self._is_unravelled(op, loop, block)
            free.remove(axis)
        return True

    def _moves_on(self, offset: Sum, loop: Op, loops: frozenset[Op], extent: int, gap: int) -> bool:
        """Whether each iteration of a loop moves an offset by a multiple of no less than the extent of the box."""
        moving = [value for value in offset.terms if self.forms.loops_of(value) & loops]
        known = self.forms.moving(moving[0]) if len(moving) == 1 else None
        if known is None or known[0] is not loop or self.forms.loops_of(moving[0]) & loops != {loop}:
            return False
        return self._divisor(known[1]) * abs(offset.terms[moving[0]]) - abs(gap) >= extent

    def _divisor(self, step: Sum) -> int:
        """What a step, which is not 0, is a multiple of."""
        if not step.terms:
            return abs(step.constant)
        (value, factor), *others = step.terms.items()
        return abs(factor) * self.info[value].divisibility[0] if not others and not step.constant else 1

    def _is_unravelled(self, op: Op, loop: Op, block: Sequence[int]) -> bool:
        """Whether two offsets are quotient and remainder of a number that differs in every iteration."""
        parts: dict[tuple[Value, Value], set[str]] = {}
        for offset, extent in zip(self.offsets(op), block, strict=True):
            moving = [value for value in offset.terms if loop in self.forms.loops_of(value)]
            made = self.forms.definitions.get(moving[0]) if len(moving) == 1 else None
            if made is None or made.name not in ("idiv", "rem", "shr", "and") or offset.terms[moving[0]] % extent:
                continue
            number, by = made.operands
            if loop in self.forms.loops_of(by):
                continue
            if made.name in ("shr", "and"):
                amount = self.forms.sum(by)
                if amount.terms:
                    continue
                bits = amount.constant if made.name == "shr" else (amount.constant + 1).bit_length() - 1
                if made.name == "and" and amount.constant != (1 << bits) - 1:
                    continue
                parts.setdefault((number, number), set()).add(f"{'quotient' if made.name == 'shr' else 'rest'} {bits}")
            else:
                parts.setdefault((number, by), set()).add("quotient" if made.name == "idiv" else "rest")
        return any(self._is_whole(found) and self._counts(number, loop) for (number, _), found in parts.items())

    @staticmethod
    def _is_whole(found: set[str]) -> bool:
        return any(part.replace("quotient", "rest") in found for part in found if part.startswith("quotient"))

    def _counts(self, number: Value, loop: Op) -> bool:
        """Whether a number differs in every iteration of a loop."""
        form = self.forms.sum(number)
        moving = [value for value in form.terms if loop in self.forms.loops_of(value)]
        known = self.forms.moving(moving[0]) if len(moving) == 1 else None
        return known is not None and known[0] is loop
