"""Blocked layouts: contiguous pieces for registers, then lanes, then warps, then what is left over."""

from __future__ import annotations

from collections.abc import Sequence

from .distributed import LANE_BITS, Layout, axis_unit, flat_bits, flatten, log2_exact, normalize_axis
from .errors import LayoutError

_VECTOR_BITS = 128  # the widest access of one thread to memory
_MOST_SCAN_TOTALS = 16  # of warps, over all rounds of a scan


class Filler:
    """Hands out the bits of a tile's coordinates, lowest first along each axis."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.free = [log2_exact(extent, "tile extent") for extent in shape]

    def take(self, axis: int, most: int) -> list[int]:
        """Return the images (row-major indices) of up to `most` further bits of one axis."""
        count = min(most, self.free[axis])
        used = log2_exact(self.shape[axis], "tile extent") - self.free[axis]
        self.free[axis] -= count
        return [flatten(axis_unit(self.shape, axis, 1 << (used + bit)), self.shape) for bit in range(count)]

    def take_in_order(self, order: Sequence[int], most: int) -> list[int]:
        """Return the images of up to `most` further bits, exhausting one axis after the other."""
        images: list[int] = []
        for axis in order:
            images += self.take(axis, most - len(images))
        return images


def padded(images: list[int], bits: int) -> list[int]:
    """Add zero images: thread bits that the tile is too small for replicate it."""
    return images + [0] * (bits - len(images))


def _checked_order(order: Sequence[int], rank: int) -> tuple[int, ...]:
    axes = tuple(normalize_axis(axis, rank) for axis in order)
    if sorted(axes) != list(range(rank)):
        raise LayoutError(f"order {tuple(order)} is not a permutation of {rank} axes")
    return axes


def _take_exactly(filler: Filler, order: Sequence[int], counts: Sequence[int] | None, bits: int, what: str) -> list[int]:
    """Take thread bits, greedily in order or as many along each axis as `counts` says."""
    if counts is None:
        return padded(filler.take_in_order(order, bits), bits)
    if len(counts) != len(order):
        raise LayoutError(f"{what} {tuple(counts)} must have one entry per axis")
    widths = [log2_exact(count, what) for count in counts]
    if sum(widths) != bits:
        raise LayoutError(f"{what} {tuple(counts)} must multiply to {1 << bits}")
    images: list[int] = []
    for axis in order:
        images += padded(filler.take(axis, widths[axis]), widths[axis])
    return images


def blocked(
    shape: Sequence[int],
    num_warps: int,
    order: Sequence[int],
    size_per_thread: Sequence[int],
    threads_per_warp: Sequence[int] | None = None,
    warps_per_cta: Sequence[int] | None = None,
    warp_order: Sequence[int] | None = None,
) -> Layout:
    """Return the layout of contiguous pieces per thread, blocks of those per warp, blocks of these per CTA.

    Registers first take `size_per_thread` (never more than the tile has), then lanes fill the axes in
    `order`, then warps. What is left of the tile goes to high registers; thread bits that the tile is too
    small for get zero images.

    Args:
        shape: The tile's shape, powers of two.
        num_warps: Warps of the CTA (or of its partition), a power of two.
        order: The axes, fastest first.
        size_per_thread: Contiguous elements of one thread along each axis.
        threads_per_warp: Lanes along each axis; by default they fill the axes in order.
        warps_per_cta: Warps along each axis; by default they fill the axes in order.
        warp_order: The axes in the order in which warps fill them; `order` by default.

    Raises:
        LayoutError: a number is not a power of two, or the tuples do not fit the shape or the thread counts.
    """
    tile = tuple(shape)
    axes = _checked_order(order, len(tile))
    if len(size_per_thread) != len(tile):
        raise LayoutError(f"size_per_thread {tuple(size_per_thread)} must have one entry per axis of {tile}")
    filler = Filler(tile)
    registers: list[int] = []
    for axis in axes:
        registers += filler.take(axis, log2_exact(size_per_thread[axis], "size_per_thread"))
    lanes = _take_exactly(filler, axes, threads_per_warp, LANE_BITS, "threads_per_warp")
    warp_axes = axes if warp_order is None else _checked_order(warp_order, len(tile))
    warps = _take_exactly(filler, warp_axes, warps_per_cta, log2_exact(num_warps, "num_warps"), "warps_per_cta")
    registers += filler.take_in_order(axes, flat_bits(tile))
    return Layout.from_flat(tile, registers, lanes, warps)


def coalesced(shape: Sequence[int], num_warps: int, element_bits: int, order: Sequence[int] | None = None) -> Layout:
    """Return the layout for loads and stores of a tile that is contiguous in memory along `order[0]`.

    A thread takes neighbours along that axis, as many as 16 bytes allow, but no more than leave work
    for every thread; lanes and then warps continue from there. By default the last axis is the
    contiguous one.
    """
    tile = tuple(shape)
    axes = tuple(order) if order is not None else tuple(reversed(range(len(tile))))
    threads = num_warps << LANE_BITS
    share = max(1, (1 << flat_bits(tile)) // threads)
    width = min(share, max(1, _VECTOR_BITS // element_bits))
    size = [1] * len(tile)
    if axes:
        size[axes[0]] = width
    return blocked(tile, num_warps, axes, size)


_MOST_SORTED_IN_THREAD_BITS = 5
_LEAST_SORTED_IN_THREAD_BITS = 2


def sort_layout(shape: Sequence[int], axis: int, num_warps: int) -> Layout:
    """Return the layout for a sorting network along an axis: lowest bits in registers, then lanes, the highest in warps.

    The lowest bits take part in most comparisons, so the cheapest exchanges are theirs. Registers hold what
    does not fit on the threads, and at least a few bits rather than to cross warps; warps take other axes first.
    """
    tile = tuple(shape)
    at = normalize_axis(axis, len(tile))
    others = [other for other in reversed(range(len(tile))) if other != at]
    warp_bits = log2_exact(num_warps, "num_warps")
    filler = Filler(tile)
    along, all_bits = log2_exact(tile[at], "tile extent"), flat_bits(tile)
    register_bits = min(along, max(0, all_bits - LANE_BITS - warp_bits), _MOST_SORTED_IN_THREAD_BITS)
    register_bits = max(register_bits, min(_LEAST_SORTED_IN_THREAD_BITS, along - LANE_BITS))
    lane_bits = min(LANE_BITS, along - register_bits)
    other_warp_bits = min(warp_bits, max(0, all_bits - along - (LANE_BITS - lane_bits)))
    register_bits += max(0, along - register_bits - lane_bits - (warp_bits - other_warp_bits))
    registers = filler.take(at, register_bits)
    lanes = filler.take(at, lane_bits)
    lanes += filler.take_in_order(others, LANE_BITS - lane_bits)
    warps = filler.take_in_order(others, other_warp_bits)
    warps += filler.take(at, warp_bits)
    registers += filler.take_in_order(others, all_bits)
    return Layout.from_flat(tile, registers, padded(lanes, LANE_BITS), padded(warps, warp_bits))


def scan_layout(shape: Sequence[int], axis: int, num_warps: int, *, neighbours_in_lanes: bool = False) -> Layout:
    """Return the layout for a scan: the axis inside a thread first, then along lanes, then along warps.

    For rank 1 it is the blocked arrangement of CUB's BlockScan: element = thread * items + i. For higher
    ranks the other axes take the lanes that the scan axis leaves, and take warps first, so that the scan
    crosses warps only when the other axes are too short to occupy them. No more registers are used than the
    tile needs on that many threads.

    With `neighbours_in_lanes`, in rank 1 and several warps, elements go along lanes and warps first and a thread holds
    every so many-th: element = thread + threads * i. Then a warp's accesses to elements that lie apart in memory touch
    the fewest sectors. Long tiles stay as they are: for each of its elements a thread adds up the totals in front.
    """
    tile = tuple(shape)
    at = normalize_axis(axis, len(tile))
    if neighbours_in_lanes and len(tile) == 1 and num_warps > 1 and tile[0] <= _MOST_SCAN_TOTALS << LANE_BITS:
        return blocked(tile, num_warps, (0,), (1,))
    others = [other for other in reversed(range(len(tile))) if other != at]
    warp_bits = log2_exact(num_warps, "num_warps")
    filler = Filler(tile)
    register_bits = max(0, flat_bits(tile) - LANE_BITS - warp_bits)
    registers = filler.take(at, register_bits)
    lanes = filler.take(at, LANE_BITS)
    spare_lanes = LANE_BITS - len(lanes)
    # What the scan axis still has must go to warps; the other axes fill the remaining lanes, then the
    # remaining warps.
    axis_warps = filler.take(at, warp_bits)
    lanes += filler.take_in_order(others, spare_lanes)
    warps = filler.take_in_order(others, warp_bits - len(axis_warps)) + axis_warps
    registers += filler.take_in_order(others, flat_bits(tile))
    return Layout.from_flat(tile, registers, padded(lanes, LANE_BITS), padded(warps, warp_bits))
