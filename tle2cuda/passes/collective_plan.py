"""How reductions and scans split over registers, lanes and warps; shared by the scratch pass and the lowering."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.layout import Layout


@dataclass(frozen=True, slots=True)
class AxisSplit:
    """Where the bits of one axis of a tile lie.

    Attributes:
        register_bits: Register bits that run along the axis.
        lane_bits: Lane bits that run along the axis.
        warp_bits: Warp bits that run along the axis.
        separable: True when no bit runs along the axis and another axis at once.
    """

    register_bits: tuple[int, ...]
    lane_bits: tuple[int, ...]
    warp_bits: tuple[int, ...]
    separable: bool

    @property
    def num_warps_along(self) -> int:
        return 1 << len(self.warp_bits)

    @property
    def lane_mask(self) -> int:
        return sum(1 << bit for bit in self.lane_bits)


def split_axis(layout: Layout, axis: int) -> AxisSplit:
    """Find the register, lane and warp bits along an axis."""
    mixed = False

    def along(images: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        nonlocal mixed
        bits = []
        for bit, image in enumerate(images):
            if image[axis]:
                bits.append(bit)
                mixed = mixed or any(c for i, c in enumerate(image) if i != axis)
        return tuple(bits)

    registers, lanes, warps = along(layout.registers), along(layout.lanes), along(layout.warps)
    return AxisSplit(registers, lanes, warps, not mixed)
