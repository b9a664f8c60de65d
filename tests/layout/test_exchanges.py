"""Lanes that trade registers: the plan, played through, gives each thread what the target layout says."""

from __future__ import annotations

import pytest

from tle2cuda.layout import Layout, mma_accumulator, trade, wgmma_accumulator, with_vectors

LANES = 32


def played(source: Layout, target: Layout, element_bytes: int) -> None:
    """Order each thread's registers, exchange words as the device helper does, and compare element by element."""
    plan = trade(source, target, element_bytes)
    assert plan is not None
    count = source.num_registers
    for warp in range(source.num_warps):
        held = {}
        for lane in range(LANES):
            for register in range(count):
                place = sum(1 << plan.source_bits[bit] for bit in range(len(plan.source_bits)) if register >> bit & 1)
                held[lane, register] = source.flat_index(place, lane, warp)
        for each in plan.exchanges:
            lane_step, step = 1 << each.lane_bit, 1 << each.target_bit
            for lane in range(LANES):
                for register in range(count):
                    if not lane & lane_step and not register & step:
                        upper = (lane | lane_step, register)
                        held[lane, register | step], held[upper] = held[upper], held[lane, register | step]
        for (lane, register), element in held.items():
            assert element == target.flat_index(register, lane, warp)


@pytest.mark.parametrize(("element_bytes", "width"), [(2, 8), (4, 4)])
@pytest.mark.parametrize(
    "source",
    [wgmma_accumulator((64, 128), 4), wgmma_accumulator((128, 64), 8), mma_accumulator((64, 64), (2, 2))],
    ids=["wgmma", "two warpgroups", "mma"],
)
def test_pairs_become_vectors_within_each_warp(source: Layout, element_bytes: int, width: int) -> None:
    target = with_vectors(source, 1, width)
    assert target is not None and target.vector() == (1, width) and target.warps == source.warps
    played(source, target, element_bytes)


def test_what_exchanges_cannot_do() -> None:
    source = wgmma_accumulator((64, 128), 4)
    wide = with_vectors(source, 1, 8)
    assert wide is not None
    assert trade(source, wide, 1) is None  # words hold pairs of pairs, which would have to be taken apart
    assert trade(source, source, 2) is None  # nothing to do
    assert with_vectors(wgmma_accumulator((64, 8), 4), 1, 8) is None  # no register to give for a column
    assert with_vectors(source, 0, 8) is None  # of whose rows only one is in a register
