"""Fragments of `mma.sync` over tiles: products are simulated as the PTX ISA describes them, not as layouts do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tle2cuda.layout import (
    MMA_INSTRUCTIONS,
    Layout,
    MmaInstruction,
    blocked,
    conversion,
    f2,
    matrix_form,
    mma_operand,
    mma_sums,
    operand_offsets,
    wgmma_columns,
    whole_sums,
)
from tle2cuda.layout.shared import access_offsets

SHAPES = [(1, 8, 1), (16, 16, 4), (64, 32, 4), (128, 128, 8), (4, 2, 2), (128, 8, 16), (32, 256, 1)]


def values_of_sums(instruction: MmaInstruction, lane: int) -> list[tuple[int, int]]:
    """(row, column) of each accumulator of a lane (PTX ISA, "Matrix Fragments": c_i)."""
    return [(lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2) for i in range(instruction.sums.shape[0] // 4)]


def values_of_operand(instruction: MmaInstruction, lane: int, side: int) -> list[tuple[int, int]]:
    """(index, k) of each element of a lane (PTX ISA, "Matrix Fragments": a_i, b_i)."""
    packed = max(1, 32 // instruction.element_bits)
    groups = instruction.shape[0] // 8 if side == 0 else 1
    found = []
    for far, group, i in itertools.product(range(instruction.k_extent // (4 * packed)), range(groups), range(packed)):
        found.append((lane // 4 + 8 * group, lane % 4 * packed + i + 4 * packed * far))
    return found


def steps(layout: Layout, fixed: int, axis: int) -> list[int]:
    """Register bits behind the first `fixed` ones that move along an axis."""
    return [1 << bit for bit in range(fixed, len(layout.registers)) if layout.registers[bit][axis]]


def choices(bits: list[int]) -> list[int]:
    return [f2.apply(bits, number) for number in range(1 << len(bits))]


@pytest.mark.parametrize("rows_first", [False, True])
@pytest.mark.parametrize("size", SHAPES)
@pytest.mark.parametrize("name", ["m16n8k16_f32_f16", "m16n8k8_f32_tf32", "m16n8k32_s32_s8", "m8n8k4_f64", "m16n8k8_f64"])
def test_product(name: str, size: tuple[int, int, int], rows_first: bool) -> None:
    instruction = MMA_INSTRUCTIONS[name]
    (m, n, warps), k = size, 32
    rng = np.random.default_rng(m + n)
    matrices = [rng.integers(-9, 9, (m, k)), rng.integers(-9, 9, (k, n))]
    tile = mma_sums(instruction, (m, n), warps, rows_first)
    sums = whole_sums(instruction, tile)
    operands = [mma_operand(instruction, tile, k, side, whole_fragments=True) for side in (0, 1)]
    fixed = [len(instruction.operand(side).registers) for side in (0, 1)]
    result = np.full((m, n), -(10**6))
    rows = choices(steps(operands[0], fixed[0], 0))
    columns = choices(steps(operands[1], fixed[1], 1))
    along_k = [choices(steps(operands[side], fixed[side], 1 - side)) for side in (0, 1)]
    of_sums = [choices(steps(sums, len(instruction.sums.registers), axis)) for axis in (0, 1)]
    for warp, (r, row), (c, column) in itertools.product(range(warps), enumerate(rows), enumerate(columns)):
        fragment = np.zeros((instruction.sums.shape[0], 8), int)
        for step_a, step_b in zip(*along_k, strict=True):
            parts = []
            for side, register in ((0, row ^ step_a), (1, column ^ step_b)):
                part = np.zeros((instruction.operand(side).shape[side], instruction.k_extent), int)
                for lane in range(32):
                    for i, place in enumerate(values_of_operand(instruction, lane, side)):
                        part[place] = matrices[side][operands[side].coords(register ^ i, lane, warp)]
                parts.append(part)
            fragment += parts[0] @ parts[1].T
        for lane in range(32):
            for i, place in enumerate(values_of_sums(instruction, lane)):
                at = sums.coords(of_sums[0][r] ^ of_sums[1][c] ^ i, lane, warp)
                assert result[at] in (-(10**6), fragment[place]), "copies differ"
                result[at] = fragment[place]
    np.testing.assert_array_equal(result, matrices[0] @ matrices[1])


@pytest.mark.parametrize("size", SHAPES)
def test_layout_of_the_tile_leaves_repeated_registers_out(size: tuple[int, int, int]) -> None:
    m, n, warps = size
    tile = mma_sums(MMA_INSTRUCTIONS["m16n8k16_f32_f16"], (m, n), warps)
    assert not tile.replicated_registers and tile.num_warps == warps
    assert whole_sums(MMA_INSTRUCTIONS["m16n8k16_f32_f16"], tile).drop_replicated_registers() == tile


def test_warps_share_rows_and_columns() -> None:
    half = MMA_INSTRUCTIONS["m16n8k16_f32_f16"]
    assert mma_sums(half, (128, 128), 4).warps == ((0, 64), (64, 0))
    assert mma_sums(half, (128, 128), 8).warps == ((0, 64), (32, 0), (64, 0))
    assert mma_sums(half, (128, 64), 4, rows_stay_in_warps=True).warps == ((32, 0), (64, 0))
    assert mma_sums(half, (16, 64), 8).warps == ((0, 8), (0, 16), (0, 32))
    assert mma_sums(half, (16, 16), 8).warps == ((0, 8), (0, 0), (0, 0))
    assert mma_sums(half, (4, 32, 32), 8).warps == ((0, 16, 0), (1, 0, 0), (2, 0, 0))


def test_sums_are_the_left_operand_of_the_next_product() -> None:
    """As in attention: the weights, rounded to 16 bits, stay in registers."""
    half = MMA_INSTRUCTIONS["m16n8k16_f32_f16"]
    weights = mma_sums(half, (128, 64), 4, rows_stay_in_warps=True)
    result = mma_sums(half, (128, 32), 4, rows_stay_in_warps=True)
    assert conversion(weights, mma_operand(half, result, 64, 0)).kind == "identity"
    split = mma_sums(half, (128, 32), 8)
    assert conversion(mma_sums(half, (128, 64), 8), mma_operand(half, split, 64, 0)).kind == "shared"


@pytest.mark.parametrize("inner", ["k", "other"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(
    ("name", "element_bytes"),
    [("m16n8k16_f32_f16", 2), ("m16n8k8_f32_tf32", 4), ("m16n8k32_s32_s8", 1), ("m16n8k8_f64", 8)],
)
def test_operands_are_read_without_bank_conflicts(name: str, element_bytes: int, side: int, inner: str) -> None:
    instruction = MMA_INSTRUCTIONS[name]
    for extent, k, warps in itertools.product((8, 16, 64, 128), (32, 64, 128), (1, 4)):
        tile = mma_sums(instruction, (extent, extent), warps)
        fragments = mma_operand(instruction, tile, k, side, whole_fragments=True)
        k_axis = 1 - side
        fast = k_axis if inner == "k" else side
        source = blocked(
            fragments.shape, warps, (fast, 1 - fast), [16 // element_bytes if a == fast else 1 for a in (0, 1)]
        )
        offsets = operand_offsets(source, fragments, k_axis, fast, element_bytes)
        form = matrix_form(fragments, offsets)
        is_by_rows = element_bytes < 4 or (element_bytes == 4 and inner == "k")
        turns = element_bytes == 2 and inner == "other"
        assert form == ("columns" if turns else "rows" if is_by_rows else None)
        registers, threads = access_offsets(fragments, offsets)
        if form is None:  # every lane its own element: the lanes of a phase in different banks
            lanes = [x for x in threads[: 7 - element_bytes.bit_length() + 1][:5] if x]
            assert f2.rank(x * element_bytes % 128 // 4 for x in lanes) == len(set(lanes)), (extent, k, warps)
            continue
        # Eight lanes of ldmatrix name rows of 16 bytes.
        rows = (registers[0], *threads[:2]) if form == "columns" else threads[2:5]
        named = [x for x in rows if x]
        assert f2.rank(x * element_bytes % 128 // 16 for x in named) == len(named), (extent, k, warps)


@pytest.mark.parametrize(("shape", "warps", "columns"), [((256, 256), 16, 128), ((256, 256), 8, 256), ((64, 32), 4, 32)])
def test_a_wgmma_leaves_registers_for_more_than_its_sums(shape: tuple[int, int], warps: int, columns: int) -> None:
    """Threads of 16 warps have 128 registers, as many as sums of 256 columns take: ptxas refuses that (C7602)."""
    assert wgmma_columns(mma_sums(MMA_INSTRUCTIONS["wgmma_f32_f16"], shape, warps)) == columns
