"""Tiles as the tensor-core instructions hold them (PTX ISA, "Warp Level Matrix Instructions: mma", "wgmma").

A tile repeats one instruction's fragment: over the warps, each of which gets a block of neighbouring rows and
columns, then over high registers. An axis shorter than the instruction's is repeated in the fragment itself: rows 8 to
15 of an `m16` instruction then compute what rows 0 to 7 do. Register bits that only repeat others so are left out of
the layout of a tile; whole fragments have them.

A `wgmma` is made by four warps, each of which holds 16 of its 64 rows as it would those of an `m16n8` instruction.
Warpgroups take blocks of rows as far as there are such, then columns.

Sums of tcgen05 lie in tensor memory, 128 lanes of 32-bit columns, and each warp of a warpgroup can read a quarter of the
lanes. Of 128 rows each lies in a lane, and comes to one thread of its quarter (`tcgen05.ld.32x32b`). Of 64 rows 16 lie in
each quarter, and come to its warp as sums of `mma` do (`.16x256b`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

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
_MOST_COLUMNS_OF_MANY_WARPS, _MANY_WARPS = 128, 16  # whose threads have 128 registers, as many as sums of 256 columns take
TENSOR_LANES = 128
TENSOR_COLUMNS = 512
"""Extents of tensor memory, in cells of 32 bits (PTX ISA, "Tensor Memory")."""

MOST_TENSOR_COLUMNS = 256
_ROW_LANES = ((1, 0), (2, 0), (4, 0))


@dataclass(frozen=True, slots=True)
class MmaInstruction:
    """One `mma.sync` instruction, or the `wgmma` or `tcgen05.mma` of some types.

    Attributes:
        name: Of `mma.sync` its device helper less `mma_`, shape and types; `wgmma_` or `tcgen05_` and the types.
        shape: M, N and K; of `wgmma` the least N, of `tcgen05.mma` the least M, too.
        element_bits: Size of an operand's element.
        a: Fragment of the left operand, (m, k), in one warp.
        b: Fragment of the right operand, (k, n).
        sums: Fragment of the accumulator, (m, n), in one warp.
        since: First compute capability that has it.
        warps: How many warps make it, or read its sums, together.
        scales: Scales of each row of an operand; 0 where it has none.
    """

    name: str
    shape: tuple[int, int, int]
    element_bits: int
    a: Fragment
    b: Fragment
    sums: Fragment
    since: tuple[int, int]
    warps: int = 1
    scales: int = 0

    def operand(self, side: int) -> Fragment:
        """Fragment of the left (0) or right (1) operand."""
        return self.b if side else self.a

    @property
    def k_extent(self) -> int:
        """K of one instruction."""
        return self.shape[2]

    @property
    def has_descriptors(self) -> bool:
        """Whether matrix descriptors name its operands in shared memory: it is `wgmma` or `tcgen05.mma`."""
        return self.warps > 1

    @property
    def is_wgmma(self) -> bool:
        """Whether a warpgroup makes it."""
        return self.name.startswith("wgmma")

    @property
    def turned_bytes(self) -> tuple[int, ...]:
        """Sizes of elements whose operands in shared memory may also lie in rows of M and N."""
        if self.name.endswith("e2m1"):
            return ()  # pairs along K are one element here
        return (1, 2) if self.sums_in_tensor_memory else (2,)

    @property
    def sums_in_tensor_memory(self) -> bool:
        """Whether it is `tcgen05.mma`."""
        return self.name.startswith("tcgen05")


def _m16n8(name: str, element_bits: int, since: tuple[int, int], scales: int = 0) -> MmaInstruction:
    """A 256-bit step along K: `mma.m16n8k(256 / element_bits)`; two elements of e2m1 count as one of 8 bits."""
    a, b = mma_a_fragment(element_bits), mma_b_fragment(element_bits)
    return MmaInstruction(name, (16, 8, a.shape[1]), element_bits, a, b, MMA_ACCUMULATOR, since, 1, scales)


def _wgmma(name: str, element_bits: int) -> MmaInstruction:
    """A 256-bit step along K: `wgmma.m64nNk(256 / element_bits)`."""
    a, b = mma_a_fragment(element_bits), mma_b_fragment(element_bits)
    shape = (WARPGROUP_ROWS, MMA_ACCUMULATOR.shape[1], a.shape[1])
    return MmaInstruction(name, shape, element_bits, a, b, MMA_ACCUMULATOR, (9, 0), WARPS_IN_WARPGROUP)


def _tcgen05(name: str, element_bits: int, scales: int = 0) -> MmaInstruction:
    """A 256-bit step along K: `tcgen05.mma` of M = 64 or 128, with scales of 128 alone."""
    a, b = mma_a_fragment(element_bits), mma_b_fragment(element_bits)
    shape = (WARPGROUP_ROWS, MMA_ACCUMULATOR.shape[1], a.shape[1])
    return MmaInstruction(name, shape, element_bits, a, b, MMA_ACCUMULATOR, (10, 0), WARPS_IN_WARPGROUP, scales)


MX_E2M1, NV_E2M1 = "mx_e2m1", "nv_e2m1"
SCALES_OF_STEP: Mapping[str, int] = MappingProxyType(
    {**{f"mx_{a}_{b}": 1 for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")}, MX_E2M1: 2, NV_E2M1: 4}
)
"""Scales of a row in the operands of one instruction, by their formats.

A scale of e8m0 is for 32 elements along K (mx), one of e4m3 for 16 (nv). Elements of e2m1 lie in pairs along K in bytes.
"""


def scaled_mma(formats: str) -> str:
    """Name of the `mma.sync` of operands with scales."""
    return f"m16n8k{64 if formats in (MX_E2M1, NV_E2M1) else 32}_f32_{formats}"


TENSOR_ROWS = Fragment((32, 1), (), ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0)))
"""What `tcgen05.ld.32x32b.x1` gives a warp: each lane a row."""

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
        _tcgen05("tcgen05_f32_f16", 16),
        _tcgen05("tcgen05_f32_bf16", 16),
        _tcgen05("tcgen05_f32_tf32", 32),
        _tcgen05("tcgen05_s32_s8", 8),
        _tcgen05("tcgen05_f32_e4m3_e4m3", 8),
        _tcgen05("tcgen05_f32_e4m3_e5m2", 8),
        _tcgen05("tcgen05_f32_e5m2_e4m3", 8),
        _tcgen05("tcgen05_f32_e5m2_e5m2", 8),
        *(_tcgen05(f"tcgen05_f32_{formats}", 8, scales) for formats, scales in SCALES_OF_STEP.items()),
        *(_m16n8(scaled_mma(formats), 8, (12, 0), scales) for formats, scales in SCALES_OF_STEP.items()),
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
    m, n = tensor_block(tile)[0] if instruction.sums_in_tensor_memory else instruction.shape[0], instruction.shape[1]
    most = [log2_exact(max(rows // m, 1), "fragments"), log2_exact(max(columns // n, 1), "fragments")]
    images: list[Coordinate] = []
    spare = log2_exact(num_warps // instruction.warps, "num_warps")
    within = tuple(axis_unit(tile, len(tile) - 2, m >> bit) for bit in range(log2_exact(instruction.warps, "warps"), 0, -1))
    for axis in reversed(range(len(batches))):
        taken = min(spare, log2_exact(batches[axis], "tile extent"))
        images += [axis_unit(tile, axis, 1 << bit) for bit in range(taken)]
        spare -= taken
    rows_first = rows_stay_in_warps or instruction.has_descriptors
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
    fragment = TENSOR_ROWS if instruction.sums_in_tensor_memory and m == TENSOR_LANES else instruction.sums
    layout = repeated_fragment(fragment, tile, (*images, *(nothing,) * idle), (column_axis, row_axis))
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


def tensor_block(shape: Sequence[int]) -> tuple[int, int]:
    """M and N of one `tcgen05.mma` for sums of a shape."""
    return min(shape[-2], TENSOR_LANES), min(shape[-1], MOST_TENSOR_COLUMNS)


def wgmma_columns(sums: Layout) -> int:
    """N of one instruction: the columns of a warpgroup, at most 256, and no more than leave registers for anything else."""
    own = sums.shape[-1]
    most = MOST_WGMMA_COLUMNS if 1 << len(sums.warps) < _MANY_WARPS else _MOST_COLUMNS_OF_MANY_WARPS
    for image in sums.warps:
        own //= 2 if image[-1] else 1
    return min(own, most)


def whole_sums(instruction: MmaInstruction, sums: Layout) -> Layout:
    """Return the layout of `mma_sums` with the register bits that only repeat what others hold."""
    return repeated_fragment(instruction.sums, sums.shape, sums.warps, (sums.rank - 1, sums.rank - 2))


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
    layout = repeated_fragment(instruction.operand(side), tuple(shape), warps, (k_axis, own_axis))
    return layout if whole_fragments else layout.drop_replicated_registers()


def repeated_fragment(
    fragment: Fragment, shape: tuple[int, ...], warps: Sequence[Coordinate], order: Sequence[int]
) -> Layout:
    """Return a fragment repeated over a tile: what is left goes to high registers, the axes in `order`, then batches."""
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
