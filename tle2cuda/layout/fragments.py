"""Register fragments of the tensor-core instructions, repeated over a tile.

Sources: PTX ISA, "Matrix Fragments for mma.m16n8k16" and its neighbours, "Register Fragments for
wgmma.mma_async.m64nNk16". Coordinates are (row, column): (m, n) for accumulators, (m, k) for A, (k, n) for B.
A fragment is one instruction's operand; a tile larger than that repeats it, first over the warps, then over
high registers (columns before rows). A tile smaller than the warps reach is replicated over them, but never
smaller than one instruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .distributed import Coordinate, Layout, log2_exact
from .errors import LayoutError

_REGISTER_BITS = 32
WARPS_IN_WARPGROUP = 4
WARPGROUP_ROWS = 64


@dataclass(frozen=True, slots=True)
class Fragment:
    """What one warp holds of one instruction's operand.

    Attributes:
        shape: Rows and columns of the operand.
        registers: Images of the register (element) bits.
        lanes: Images of the five lane bits.
    """

    shape: tuple[int, int]
    registers: tuple[Coordinate, ...]
    lanes: tuple[Coordinate, ...]


_ROW_LANES = ((1, 0), (2, 0), (4, 0))

MMA_ACCUMULATOR = Fragment((16, 8), ((0, 1), (8, 0)), ((0, 2), (0, 4), *_ROW_LANES))
"""C and D of mma.m16n8, 32-bit elements."""


def mma_a_fragment(element_bits: int) -> Fragment:
    """Return A of `mma.m16n8k(256 / element_bits)`: 8, 16 or 32 (tf32) bits."""
    packed = _elements_in_register(element_bits)
    k = 8 * packed
    registers = (*((0, 1 << bit) for bit in range(packed.bit_length() - 1)), (8, 0), (0, 4 * packed))
    return Fragment((16, k), registers, ((0, packed), (0, 2 * packed), *_ROW_LANES))


def mma_b_fragment(element_bits: int) -> Fragment:
    """Return B of `mma.m16n8k(256 / element_bits)`: 8, 16 or 32 (tf32) bits."""
    packed = _elements_in_register(element_bits)
    k = 8 * packed
    registers = (*((1 << bit, 0) for bit in range(packed.bit_length() - 1)), (4 * packed, 0))
    return Fragment((k, 8), registers, ((packed, 0), (2 * packed, 0), (0, 1), (0, 2), (0, 4)))


def _elements_in_register(element_bits: int) -> int:
    if element_bits not in (8, 16, 32):
        raise LayoutError(f"no mma fragment has elements of {element_bits} bits")
    return _REGISTER_BITS // element_bits


def _tiled(fragment: Fragment, shape: Sequence[int], warps: Sequence[Coordinate]) -> Layout:
    """Repeat a fragment over a tile: the given images for the warps, what is left as high registers."""
    if len(shape) != 2:
        raise LayoutError(f"tensor cores need tiles of rank 2, not of shape {tuple(shape)}")
    rows, columns = shape
    if rows < fragment.shape[0] or columns < fragment.shape[1]:
        raise LayoutError(f"a tile of shape {tuple(shape)} is smaller than the fragment {fragment.shape}")
    # A warp image beyond the tile means that those warps hold copies.
    kept = tuple(image if image[0] < rows and image[1] < columns else (0, 0) for image in warps)
    taken = {*fragment.registers, *fragment.lanes, *kept}
    repeats: list[Coordinate] = []
    for bit in range(log2_exact(fragment.shape[1], "extent"), log2_exact(columns, "tile extent")):
        repeats.append((0, 1 << bit))
    for bit in range(log2_exact(fragment.shape[0], "extent"), log2_exact(rows, "tile extent")):
        repeats.append((1 << bit, 0))
    free = tuple(image for image in repeats if image not in taken)
    return Layout((rows, columns), (*fragment.registers, *free), fragment.lanes, kept)


def _warp_images(first: int, count: int, axis: int) -> tuple[Coordinate, ...]:
    bits = range(log2_exact(count, "warps along an axis"))
    return tuple((first << bit, 0) if axis == 0 else (0, first << bit) for bit in bits)


def mma_accumulator(shape: Sequence[int], warps_per_cta: Sequence[int]) -> Layout:
    """Return the accumulator [M, N] of `mma.m16n8`.

    `warps_per_cta` is (warps along M, warps along N); those along N are the low bits of the warp.
    """
    warps_m, warps_n = warps_per_cta
    return _tiled(MMA_ACCUMULATOR, shape, (*_warp_images(8, warps_n, 1), *_warp_images(16, warps_m, 0)))


def mma_operand_a(shape: Sequence[int], warps_per_cta: Sequence[int], element_bits: int = 16) -> Layout:
    """Return A [M, K] that goes with `mma_accumulator` of the same warps; warps along N hold copies."""
    warps_m, warps_n = warps_per_cta
    copies = ((0, 0),) * log2_exact(warps_n, "warps along an axis")
    return _tiled(mma_a_fragment(element_bits), shape, (*copies, *_warp_images(16, warps_m, 0)))


def mma_operand_b(shape: Sequence[int], warps_per_cta: Sequence[int], element_bits: int = 16) -> Layout:
    """Return B [K, N] that goes with `mma_accumulator` of the same warps; warps along M hold copies."""
    warps_m, warps_n = warps_per_cta
    copies = ((0, 0),) * log2_exact(warps_m, "warps along an axis")
    return _tiled(mma_b_fragment(element_bits), shape, (*_warp_images(8, warps_n, 1), *copies))


def _warpgroup_images(shape: Sequence[int], num_warps: int) -> tuple[Coordinate, ...]:
    if num_warps % WARPS_IN_WARPGROUP:
        raise LayoutError(f"wgmma needs whole warpgroups of {WARPS_IN_WARPGROUP} warps, not {num_warps} warps")
    if len(shape) != 2 or shape[0] < WARPGROUP_ROWS:
        raise LayoutError(f"wgmma needs {WARPGROUP_ROWS} rows or more, not a tile of shape {tuple(shape)}")
    return _warp_images(16, WARPS_IN_WARPGROUP, 0)


def wgmma_accumulator(shape: Sequence[int], num_warps: int, warpgroups_n: int = 1) -> Layout:
    """Return the accumulator [M, N] of `wgmma.m64nN`.

    Args:
        shape: The tile, M a multiple of 64.
        num_warps: Warps, whole warpgroups.
        warpgroups_n: Warpgroups side by side along N, each with N / warpgroups_n columns; the others follow
            along M.
    """
    within = _warpgroup_images(shape, num_warps)
    groups = num_warps // WARPS_IN_WARPGROUP
    columns = shape[1] // max(warpgroups_n, 1)
    if warpgroups_n < 1 or groups % warpgroups_n or columns < MMA_ACCUMULATOR.shape[1]:
        raise LayoutError(f"{groups} warpgroups cannot split {shape[1]} columns {warpgroups_n} ways")
    along_n = _warp_images(columns, warpgroups_n, 1)
    along_m = _warp_images(WARPGROUP_ROWS, groups // warpgroups_n, 0)
    return _tiled(MMA_ACCUMULATOR, shape, (*within, *along_n, *along_m))


def wgmma_operand_a(shape: Sequence[int], num_warps: int, element_bits: int = 16, warpgroups_n: int = 1) -> Layout:
    """Return A [M, K] of `wgmma.m64nNk(256 / element_bits)` in registers.

    Warpgroups along N hold copies.
    """
    within = _warpgroup_images(shape, num_warps)
    groups = num_warps // WARPS_IN_WARPGROUP
    if warpgroups_n < 1 or groups % warpgroups_n:
        raise LayoutError(f"{groups} warpgroups cannot be arranged {warpgroups_n} along N")
    copies = ((0, 0),) * log2_exact(warpgroups_n, "warpgroups along N")
    along_m = _warp_images(WARPGROUP_ROWS, groups // warpgroups_n, 0)
    return _tiled(mma_a_fragment(element_bits), shape, (*within, *copies, *along_m))
