from __future__ import annotations

import pytest

from tle2cuda.layout import (
    LayoutError,
    mma_accumulator,
    mma_operand_a,
    mma_operand_b,
    wgmma_accumulator,
    wgmma_operand_a,
)

ROW_LANES = ((1, 0), (2, 0), (4, 0))


def test_fragments_of_the_design():
    accumulator = mma_accumulator((16, 8), (1, 1))
    assert accumulator.registers == ((0, 1), (8, 0)) and accumulator.lanes == ((0, 2), (0, 4), *ROW_LANES)
    a = mma_operand_a((16, 16), (1, 1))
    assert a.registers == ((0, 1), (8, 0), (0, 8)) and a.lanes == accumulator.lanes
    b = mma_operand_b((16, 8), (1, 1))
    assert b.registers == ((1, 0), (8, 0)) and b.lanes == ((2, 0), (4, 0), (0, 1), (0, 2), (0, 4))
    wide = wgmma_accumulator((64, 128), 4)
    assert wide.registers == ((0, 1), (8, 0), (0, 8), (0, 16), (0, 32), (0, 64))
    assert wide.warps == ((16, 0), (32, 0))


@pytest.mark.parametrize("element_bits", [8, 16, 32])
def test_operand_elements_follow_the_ptx_formulas(element_bits):
    packed = 32 // element_bits
    a = mma_operand_a((16, 8 * packed), (1, 1), element_bits)
    b = mma_operand_b((8 * packed, 8), (1, 1), element_bits)
    for lane in range(32):
        group, in_group = lane // 4, lane % 4
        for i in range(4 * packed):
            row = group + 8 * (i // packed % 2)
            k = in_group * packed + i % packed + 4 * packed * (i // (2 * packed))
            assert a.coords(i, lane, 0) == (row, k)
        for i in range(2 * packed):
            k = in_group * packed + i % packed + 4 * packed * (i // packed)
            assert b.coords(i, lane, 0) == (k, group)


def test_tiles_larger_and_smaller_than_the_warps_reach():
    large = mma_accumulator((128, 64), (2, 2))
    assert large.warps == ((0, 8), (16, 0)) and large.num_registers == 128 * 64 // 128
    small = mma_accumulator((16, 16), (4, 1))
    assert small.warps == ((0, 0), (0, 0)) and small.owner_bits() == (0, 0b11)
    assert mma_operand_a((128, 32), (2, 2)).warps == ((0, 0), (16, 0))
    assert mma_operand_b((32, 64), (2, 2)).warps == ((0, 8), (0, 0))


def test_warpgroups_side_by_side_and_stacked():
    assert wgmma_accumulator((128, 64), 8).warps == ((16, 0), (32, 0), (64, 0))
    beside = wgmma_accumulator((64, 128), 8, warpgroups_n=2)
    assert beside.warps == ((16, 0), (32, 0), (0, 64)) and beside.num_registers == 32
    assert wgmma_operand_a((64, 64), 8, warpgroups_n=2).warps == ((16, 0), (32, 0), (0, 0))


def test_what_the_hardware_has_not_is_refused():
    with pytest.raises(LayoutError, match="smaller than the fragment"):
        mma_accumulator((8, 8), (1, 1))
    with pytest.raises(LayoutError, match="whole warpgroups"):
        wgmma_accumulator((64, 64), 2)
    with pytest.raises(LayoutError, match="64 rows"):
        wgmma_accumulator((32, 64), 4)
    with pytest.raises(LayoutError, match="elements of 64 bits"):
        mma_operand_a((16, 16), (1, 1), 64)
