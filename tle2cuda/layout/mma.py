"""Tiles as the tensor-core instructions hold them (PTX ISA, "Warp Level Matrix Instructions: mma", "wgmma").

A tile repeats one instruction's fragment: over the warps, each of which gets a block of neighbouring rows and
columns, then over high registers. An axis shorter than the instruction's is repeated in the fragment itself: rows 8 to
15 of an `m16` instruction then compute what rows 0 to 7 do. Register bits that only repeat others so are left out of
the layout of a tile; whole fragments have them.

A `wgmma` is made by four warps, each of which holds 16 of its 64 rows as it would those of an `m16n8` instruction.
Warpgroups take blocks of rows as far as there are such, then columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .distributed import Coordinate, Layout, axis_unit, log2_exact
from .errors import LayoutError
from .fragments import (
    MMA_ACCUMULATOR,
    WARPGROUP_ROWS,
    WARPS_IN_WARPGROUP,
    Fragment,
    mma_a_fragment,
    mma_b_fragment,
)

_WIDE_BITS = 64
MOST_WGMMA_COLUMNS = 256
_ROW_LANES = ((1, 0), (2, 0), (4, 0))


@dataclass(frozen=True, slots=True)
class MmaInstruction:
    """One `mma.sync` instruction, or the `wgmma` of some types.

    Attributes:
        name: Of `mma.sync` its device helper less `mma_`, shape and types; `wgmma_` and the types.
        shape: M, N and K; of `wgmma` the least N.
        element_bits: Size of an operand's element.
        a: Fragment of the left operand, (m, k), in one warp.
        b: Fragment of the right operand, (k, n).
        sums: Fragment of the accumulator, (m, n), in one warp.
        since: First compute capability that has it.
        warps: How many warps make it together.
    """

    name: str
    shape: tuple[int, int, int]
    element_bits: int
    a: Fragment
    b: Fragment
    sums: Fragment
    since: tuple[int, int]
    warps: int = 1

    def operand(self, side: int) -> Fragment:
        """Fragment of the left (0) or right (1) operand."""
        return self.b if side else self.a

    @property
    def k_extent(self) -> int:
        """K of one instruction."""
        return self.shape[2]

    @property
    def is_wgmma(self) -> bool:
        """Whether it is made by a warpgroup, of operands in shared memory."""
        return self.warps > 1


def _m16n8(name: str, element_bits: int, since: tuple[int, int]) -> MmaInstruction:
    """A 256-bit step along K: `mma.m16n8k(256 / element_bits)`."""
    a, b = mma_a_fragment(element_bits), mma_b_fragment(element_bits)
    return MmaInstruction(name, (16, 8, a.shape[1]), element_bits, a, b, MMA_ACCUMULATOR, since)


def _wgmma(name: str, element_bits: int) -> MmaInstruction:
    """A 256-bit step along K: `wgmma.m64nNk(256 / element_bits)`."""
    a, b = mma_a_fragment(element_bits), mma_b_fragment(element_bits)
    shape = (WARPGROUP_ROWS, MMA_ACCUMULATOR.shape[1], a.shape[1])
    return MmaInstruction(name, shape, element_bits, a, b, MMA_ACCUMULATOR, (9, 0), WARPS_IN_WARPGROUP)


_F64_A = Fragment((8, 4), (), ((0, 1), (0, 2), *_ROW_LANES))
_F64_B = Fragment((4, 8), (), ((1, 0), (2, 0), (0, 1), (0, 2), (0, 4)))
_F64_SUMS = Fragment((8, 8), ((0, 1),), ((0, 2), (0, 4), *_ROW_LANES))
# Elements of m16n8k8 with .f64 lie as those of 32 bits do.
_F64_A_WIDE, _F64_B_WIDE = mma_a_fragment(32), mma_b_fragment(32)

MMA_INSTRUCTIONS: dict[str, MmaInstruction] = {
    each.name: each
    for each in (
        _m16n8("m16n8k16_f32_f16", 16, (8, 0)),
        _m16n8("m16n8k16_f16_f16", 16, (8, 0)),
        _m16n8("m16n8k16_f32_bf16", 16, (8, 0)),
        _m16n8("m16n8k8_f32_tf32", 32, (8, 0)),
        _m16n8("m16n8k32_s32_s8", 8, (8, 0)),
        _m16n8("m16n8k32_f32_e4m3_e4m3", 8, (8, 9)),
        _m16n8("m16n8k32_f32_e4m3_e5m2", 8, (8, 9)),
        _m16n8("m16n8k32_f32_e5m2_e4m3", 8, (8, 9)),
        _m16n8("m16n8k32_f32_e5m2_e5m2", 8, (8, 9)),
        MmaInstruction("m8n8k4_f64", (8, 8, 4), _WIDE_BITS, _F64_A, _F64_B, _F64_SUMS, (8, 0)),
        MmaInstruction("m16n8k8_f64", (16, 8, 8), _WIDE_BITS, _F64_A_WIDE, _F64_B_WIDE, MMA_ACCUMULATOR, (9, 0)),
        _wgmma("wgmma_f32_f16", 16),
        _wgmma("wgmma_f16_f16", 16),
        _wgmma("wgmma_f32_bf16", 16),
        _wgmma("wgmma_f32_tf32", 32),
        _wgmma("wgmma_s32_s8", 8),
        _wgmma("wgmma_f32_e4m3_e4m3", 8),
        _wgmma("wgmma_f32_e4m3_e5m2", 8),
        _wgmma("wgmma_f32_e5m2_e4m3", 8),
        _wgmma("wgmma_f32_e5m2_e5m2", 8),
    )
}
"""Instructions by name, with the oldest architecture that has them (PTX ISA, mma, "Target ISA Notes")."""


def mma_sums(
    instruction: MmaInstruction,
    shape: Sequence[int],
    num_warps: int,
    rows_stay_in_warps: bool = False,
) -> Layout:
    """Return the layout of an accumulator `[..., M, N]`.

    Warps take batches first, then rows and columns so that each of them reads as few operands as possible. Warps that the
    tile has no fragments for hold copies.

    Args:
        instruction: What multiplies.
        shape: The tile's shape.
        num_warps: Warps of the CTA, a power of two.
        rows_stay_in_warps: Keep each row inside of one warp as far as possible, for reductions along rows.
    """
    tile = tuple(shape)
    batches, (rows, columns) = tile[:-2], tile[-2:]
    m, n = instruction.shape[:2]
    most = [log2_exact(max(rows // m, 1), "fragments"), log2_exact(max(columns // n, 1), "fragments")]
    images: list[Coordinate] = []
    spare = log2_exact(num_warps // instruction.warps, "num_warps")
    within = tuple(axis_unit(tile, len(tile) - 2, m >> bit) for bit in range(log2_exact(instruction.warps, "warps"), 0, -1))
    for axis in reversed(range(len(batches))):
        taken = min(spare, log2_exact(batches[axis], "tile extent"))
        images += [axis_unit(tile, axis, 1 << bit) for bit in range(taken)]
        spare -= taken
    rows_first = rows_stay_in_warps or instruction.is_wgmma
    along_rows, along_columns = _split(spare, most, (rows, columns), rows_first)
    row_axis, column_axis = len(tile) - 2, len(tile) - 1
    images = [
        *within,
        *(axis_unit(tile, column_axis, columns >> along_columns << bit) for bit in range(along_columns)),
        *(axis_unit(tile, row_axis, rows >> along_rows << bit) for bit in range(along_rows)),
        *images,
    ]
    idle = log2_exact(num_warps, "num_warps") - len(images)
    nothing = (0,) * len(tile)
    layout = _repeated(instruction.sums, tile, (*images, *(nothing,) * idle), (column_axis, row_axis))
    return layout.drop_replicated_registers()


def _split(spare: int, most: Sequence[int], extents: tuple[int, int], rows_first: bool) -> tuple[int, int]:
    """How many warp bits go along rows and columns."""
    if rows_first:
        along_rows = min(spare, most[0])
        return along_rows, min(spare - along_rows, most[1])

    def cost(along_rows: int) -> tuple[int, int, int]:
        along_columns = min(spare - along_rows, most[1])
        used = along_rows + along_columns
        read = (extents[0] >> along_rows) + (extents[1] >> along_columns)
        return -used, read, -along_rows  # as many warps as possible, then few reads, then rows

    best = min(range(min(spare, most[0]) + 1), key=cost)
    return best, min(spare - best, most[1])


def wgmma_columns(sums: Layout) -> int:
    """N of one instruction: the columns of a warpgroup, at most 256."""
    own = sums.shape[-1]
    for image in sums.warps:
        own //= 2 if image[-1] else 1
    return min(own, MOST_WGMMA_COLUMNS)


def whole_sums(instruction: MmaInstruction, sums: Layout) -> Layout:
    """Return the layout of `mma_sums` with the register bits that only repeat what others hold."""
    return _repeated(instruction.sums, sums.shape, sums.warps, (sums.rank - 1, sums.rank - 2))


def mma_operand(
    instruction: MmaInstruction, sums: Layout, k_extent: int, side: int, whole_fragments: bool = False
) -> Layout:
    """Return the layout of an operand in registers, `[..., M, K]` (side 0) or `[..., K, N]` (side 1).

    Args:
        instruction: What multiplies.
        sums: Layout of the accumulator, of `mma_sums`.
        k_extent: K of the tile.
        side: 0 for the left operand, 1 for the right one.
        whole_fragments: Keep register bits that only repeat what others hold.
    """
    k_axis, own_axis = (sums.rank - 1, sums.rank - 2) if side == 0 else (sums.rank - 2, sums.rank - 1)
    shape = [*sums.shape]
    shape[k_axis] = k_extent
    if k_extent < instruction.k_extent:
        raise LayoutError(f"K = {k_extent} is less than the {instruction.k_extent} of {instruction.name}")
    # Warps that differ along the other operand's axis hold copies.
    warps = tuple(tuple(0 if axis == k_axis else x for axis, x in enumerate(image)) for image in sums.warps)
    layout = _repeated(instruction.operand(side), tuple(shape), warps, (k_axis, own_axis))
    return layout if whole_fragments else layout.drop_replicated_registers()


def _repeated(fragment: Fragment, shape: tuple[int, ...], warps: Sequence[Coordinate], order: Sequence[int]) -> Layout:
    """Repeat a fragment over a tile: what is left goes to high registers, the axes in `order`, then batches."""
    rank = len(shape)
    batch = (0,) * (rank - 2)

    def clipped(images: Iterable[Coordinate]) -> tuple[Coordinate, ...]:
        pairs = ((image[0] % shape[-2], image[1] % shape[-1]) for image in images)
        return tuple((*batch, *pair) for pair in pairs)

    registers, lanes = clipped(fragment.registers), clipped(fragment.lanes)
    taken = {*registers, *lanes, *warps}
    repeats = []
    for axis in (*order, *reversed(range(rank - 2))):
        for bit in range(log2_exact(shape[axis], "tile extent")):
            image = axis_unit(shape, axis, 1 << bit)
            if image not in taken:
                repeats.append(image)
    return Layout(shape, (*registers, *repeats), lanes, tuple(warps))
