"""Lanes for accesses to swizzled buffers: the same vectors in each thread, lanes in different banks.

A swizzled buffer is read down its columns without bank conflicts when the lanes of a warp differ in three bits of the row
and in the bits of the column that choose a word of a chunk. Which bits of the tile become lanes is free as long as memory
at the other end is accessed in whole sectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import f2
from .distributed import LANE_BITS, Layout, log2_exact
from .shared import BANK_BYTES, MAX_VECTOR_BYTES, PHASE_BYTES, phase_lane_bits


@dataclass(frozen=True, slots=True)
class SharedAccess:
    """Where the elements of a tile lie in shared memory.

    Attributes:
        images_bytes: Offset of each bit of the tile's row-major index, lowest first.
        element_bytes: Size of an element.
    """

    images_bytes: tuple[int, ...]
    element_bytes: int

    def conflict_bits(self, vector: Sequence[int], lanes: Sequence[int]) -> int:
        """How often a warp's access takes twice as long, for the vectors of each thread and lanes with these images."""
        within = [f2.apply(self.images_bytes, image) for image in vector]
        wide = []
        for number, offset in enumerate(within):
            if offset != self.element_bytes << number or 2 * offset > MAX_VECTOR_BYTES:
                break
            wide.append(offset)
        served = phase_lane_bits(max(self.element_bytes << len(wide), BANK_BYTES))
        addresses = [*wide, *(f2.apply(self.images_bytes, image) for image in lanes[:served])]
        words = f2.rank(address // BANK_BYTES for address in addresses)
        banks = f2.rank(address % PHASE_BYTES // BANK_BYTES for address in addresses)
        return words - banks


def without_conflicts(layout: Layout, kept_lane_bits: int, accesses: Sequence[SharedAccess]) -> Layout:
    """A layout with the vectors and the first lanes of another one, its other lanes chosen against bank conflicts.

    Args:
        layout: What is wanted otherwise; returned as it is when that has no conflicts.
        kept_lane_bits: How many lane bits stay, for whole sectors at the other end.
        accesses: Where the tile lies in shared memory, for each access to it.
    """
    vector_bits = log2_exact(layout.vector()[1], "vector width")
    vector, rest = layout.flat_registers[:vector_bits], layout.flat_registers[vector_bits:]

    def conflicts(lanes: Sequence[int]) -> int:
        return sum(access.conflict_bits(vector, lanes) for access in accesses)

    if not all(layout.flat_images) or not conflicts(layout.flat_lanes):
        return layout
    pool = [*layout.flat_threads, *rest]
    lanes = pool[:kept_lane_bits]
    del pool[:kept_lane_bits]
    while len(lanes) < LANE_BITS:
        best = min(range(len(pool)), key=lambda number: (conflicts([*lanes, pool[number]]), number))
        replaced = image = pool[best]
        if conflicts([*lanes, image]) > conflicts(lanes):  # no bit will do: perhaps the sum of two
            sums = [(a, a ^ b) for a in pool for b in pool if a != b]
            fewest = min(sums, key=lambda pair: conflicts([*lanes, pair[1]]), default=(image, image))
            if conflicts([*lanes, fewest[1]]) < conflicts([*lanes, image]):
                replaced, image = fewest
        pool.remove(replaced)
        lanes.append(image)
    if conflicts(lanes) >= conflicts(layout.flat_lanes):
        return layout
    warps = len(layout.warps)
    return Layout.from_flat(layout.shape, (*vector, *pool[warps:]), lanes, pool[:warps])
