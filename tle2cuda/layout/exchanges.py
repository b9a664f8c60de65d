"""Conversions by which the lanes of a warp trade registers: a bit of the lane becomes one of the register, and vice versa.

What a product leaves lies in pairs of elements, with the next pair in the next lane: accesses of 4 or 8 bytes. Four lanes
that trade pairs hold 16 bytes of a row each, and no other warp is asked for anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from .distributed import Layout, axis_unit
from .shared import BANK_BYTES

# In half cycles of an SM for one warp, as in `conversions`: a shuffle, and the three selections around it, which go by
# another pipe meanwhile.
_EXCHANGE_COST = 3
_TRADED = 2  # words of a lane of which an exchange hands over one


@dataclass(frozen=True, slots=True)
class Exchange:
    """A bit of the lane and one of the register that trade places.

    Attributes:
        lane_bit: The bit of the lane.
        target_bit: The bit of the target's register that has what the lane's bit had.
    """

    lane_bit: int
    target_bit: int


@dataclass(frozen=True, slots=True)
class Trade:
    """How lanes get from one layout to another by exchanges, after each thread has put its registers in order.

    Attributes:
        exchanges: One after the other.
        source_bits: For each bit of the target's register, the bit of the source's that is there at first.
    """

    exchanges: tuple[Exchange, ...]
    source_bits: tuple[int, ...]

    def cost(self, element_bytes: int) -> int:
        """A rough cost per warp, to compare with those of `Conversion`."""
        words = max(1, (element_bytes << len(self.source_bits)) // BANK_BYTES)
        return len(self.exchanges) * words // _TRADED * _EXCHANGE_COST


def trade(source: Layout, target: Layout, element_bytes: int) -> Trade | None:
    """How lanes trade registers to get from one layout to another; None where that is not all, or words would be split."""
    if source.shape != target.shape or source.warps != target.warps or len(source.registers) != len(target.registers):
        return None
    own, wanted = list(source.registers), list(target.registers)
    if len({*own, *source.lanes, *source.warps}) != len(own) + len(source.lanes) + len(source.warps):
        return None  # copies
    exchanges: list[Exchange] = []
    source_bits = {bit: own.index(image) for bit, image in enumerate(wanted) if image in own}
    for lane_bit, (before, after) in enumerate(zip(source.lanes, target.lanes, strict=True)):
        if before == after:
            continue
        if after not in own or before not in wanted:
            return None
        exchanges.append(Exchange(lane_bit, wanted.index(before)))
        source_bits[wanted.index(before)] = own.index(after)
    width = target.vector()[1]
    if not exchanges or len(source_bits) < len(wanted):
        return None
    if any(element_bytes << each.target_bit < BANK_BYTES or 1 << each.target_bit >= width for each in exchanges):
        return None
    return Trade(tuple(exchanges), tuple(source_bits[bit] for bit in range(len(wanted))))


def with_vectors(layout: Layout, axis: int, width: int) -> Layout | None:
    """The layout with `width` neighbours along an axis in each thread, whose lanes trade registers for that.

    None where the registers do not suffice.
    """
    registers, lanes = list(layout.registers), list(layout.lanes)
    units = [axis_unit(layout.shape, axis, 1 << bit) for bit in range(width.bit_length() - 1)]
    spare = sorted(image for image in registers if image[axis] >= width and sum(map(bool, image)) == 1)
    for unit in units:
        if unit in registers:
            continue
        if unit not in lanes or not spare:
            return None
        given = spare.pop(0)
        lanes[lanes.index(unit)] = given
        registers[registers.index(given)] = unit
    others = [image for image in registers if image not in units]
    return Layout(layout.shape, (*units, *others), tuple(lanes), layout.warps)


__all__ = ["Exchange", "Trade", "trade", "with_vectors"]
