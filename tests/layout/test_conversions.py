from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from tests.layout.random_layouts import layout_pairs
from tests.layout.test_expressions import evaluate
from tle2cuda.layout import (
    Layout,
    LayoutError,
    access_offsets,
    bank_conflict_degree,
    best_vector,
    blocked,
    conversion,
    f2,
    mma_accumulator,
    mma_operand_a,
    scan_layout,
    shared_offset_map,
    vector_groups,
    wgmma_accumulator,
    wgmma_operand_a,
    widest_vector,
)


def held(layout: Layout) -> list[list[int]]:
    """What each thread holds in each register, as row-major indices."""
    return [[layout.flat_index(r, t % 32, t // 32) for r in range(layout.num_registers)] for t in range(layout.num_threads)]


def common_vector_elems(source: Layout, target: Layout, element_bytes: int) -> int:
    """The widest vector both sides can have: in registers of each, reached by threads of neither."""
    registers = f2.intersection(source.flat_registers, target.flat_registers)
    free = f2.independent(registers, (*source.flat_threads, *target.flat_threads))
    return min(1 << len(free), 16 // element_bytes)


def through_shuffles(change, before):
    after = [[None] * change.target.num_registers for _ in before]
    for step in change.rounds:
        offered = [registers[step.send(thread)] for thread, registers in enumerate(before)]
        for thread in range(len(before)):
            lane = step.source_lane(thread)
            assert 0 <= lane < 32
            if step.guard is None or step.guard(thread) == 0:
                after[thread][step.receive(thread)] = offered[thread // 32 * 32 + lane]
            assert evaluate(step.source_lane.format(), thread=thread) == lane
            if step.lane_xor is not None:
                assert lane == thread % 32 ^ step.lane_xor
    return after


def through_shared(source, target, offset_map, before):
    memory = {}
    for layout, writing in ((source, True), (target, False)):
        vector = widest_vector(layout, offset_map)
        registers, threads = access_offsets(layout, offset_map)
        groups = vector_groups(layout, offset_map, vector)
        after = [[None] * layout.num_registers for _ in before]
        for thread, group in itertools.product(range(layout.num_threads), groups):
            base = f2.apply(registers, group[0]) ^ f2.apply(threads, thread)
            assert base % vector == 0
            for k, register in enumerate(group):
                if writing:
                    memory[base + k] = before[thread][register]
                else:
                    after[thread][register] = memory[base + k]
    assert sorted(memory) == list(range(source.num_elements))
    return after


@settings(max_examples=300, deadline=None)
@given(layout_pairs())
def test_conversion_plans_deliver_the_right_elements(pair):
    source, target = pair
    change = conversion(source, target)
    before, wanted = held(source), held(target)
    for register in range(target.num_registers):
        for lane, warp in ((0, 0), (19, 0), (31, target.num_warps - 1)):
            assert source.coords(*change.source_slot(register, lane, warp)) == target.coords(register, lane, warp)
    if change.kind == "identity":
        assert before == wanted and change.num_shuffles == 0
    elif change.kind == "registers":
        for thread, registers in enumerate(before):
            renamed = [registers[change.register_of(r)] for r in range(target.num_registers)]
            assert renamed == wanted[thread]
    elif change.kind == "shuffle":
        assert through_shuffles(change, before) == wanted
    else:
        with pytest.raises(LayoutError):
            _ = change.rounds


@settings(max_examples=200, deadline=None)
@given(layout_pairs())
def test_kind_is_the_cheapest_possible(pair):
    source, target = pair
    kind = conversion(source, target).kind
    before, wanted = held(source), held(target)
    in_thread = all(set(w) <= set(b) for b, w in zip(before, wanted, strict=True))
    warps = range(source.num_warps)
    in_warp = all(
        {e for t in wanted[32 * w : 32 * w + 32] for e in t} <= {e for t in before[32 * w : 32 * w + 32] for e in t}
        for w in warps
    )
    assert (kind != "shared") == in_warp
    if before == wanted:
        assert kind == "identity"
    if kind in ("identity", "registers"):
        assert in_thread


@settings(max_examples=150, deadline=None)
@given(layout_pairs())
def test_trip_through_shared_memory(pair):
    source, target = pair
    before, wanted = held(source), held(target)
    for element_bytes in (1, 2, 4, 8):
        offset_map = shared_offset_map(source, target, element_bytes)
        after = through_shared(source, target, offset_map, before)
        free = target.replicated_registers
        for thread in range(target.num_threads):
            for register in range(target.num_registers):
                if not register & free:
                    assert after[thread][register] == wanted[thread][register]


@settings(max_examples=300, deadline=None)
@given(layout_pairs())
def test_trip_through_shared_memory_is_free_of_bank_conflicts(pair):
    source, target = pair
    for element_bytes in (1, 2, 4, 8, 16):
        offset_map = shared_offset_map(source, target, element_bytes)
        common = common_vector_elems(source, target, element_bytes)
        for layout in (source, target):
            vector = widest_vector(layout, offset_map)
            assert vector >= common
            widths = [width for width in (1, 2, 4, 8, 16) if common <= width <= vector]
            assert 1 in [bank_conflict_degree(layout, offset_map, element_bytes, width) for width in widths]


# ---- worked cases -------------------------------------------------------------------------------


def test_costs_rank_the_ways():
    rows, columns = blocked((32, 32), 1, (1, 0), (1, 4)), blocked((32, 32), 1, (0, 1), (4, 1))
    assert conversion(rows, rows).cost(4) == 0
    transposing = conversion(rows, columns)
    # Each of 32 registers would be chosen among many: shared memory is cheaper, though shuffles could do it.
    assert transposing.kind == "shuffle"
    assert transposing.cost(4) == transposing.shared_cost(4) < transposing.shuffle_cost(4)
    near = conversion(blocked((1024,), 1, (0,), (4,)), blocked((1024,), 1, (0,), (8,)))
    assert near.cost(4) == near.shuffle_cost(4) < near.shared_cost(4)


def test_permuted_registers_are_renamed():
    source = blocked((64, 64), 4, (1, 0), (1, 4))
    target = Layout(source.shape, source.registers[::-1], source.lanes, source.warps)
    change = conversion(source, target)
    assert change.kind == "registers"
    assert [change.register_of(1 << bit) for bit in range(5)] == [16, 8, 4, 2, 1]
    assert conversion(source, source).kind == "identity"


def test_spreading_a_replicated_tile_needs_no_exchange():
    everywhere = Layout((32,), ((1,), (2,), (4,), (8,), (16,)), ((0,),) * 5, ())
    spread = blocked((32,), 1, (0,), (1,))
    change = conversion(everywhere, spread)
    assert change.kind == "shuffle" and change.num_shuffles == 0
    gathered = conversion(spread, everywhere)
    assert gathered.kind == "shuffle" and gathered.num_shuffles == 32


def test_exchange_of_a_register_and_a_lane_bit_takes_one_shuffle_per_moved_register():
    source = blocked((256,), 1, (0,), (8,))
    images = list(source.flat_images)
    images[0], images[3] = images[3], images[0]
    target = Layout.from_flat((256,), images[:3], images[3:8], images[8:])
    change = conversion(source, target)
    assert change.kind == "shuffle"
    # Half of a thread's elements stay where they are.
    assert len(change.rounds) == 8 and change.num_shuffles == 4


def test_coalesced_to_scan_order_goes_through_shared_memory():
    change = conversion(blocked((4096,), 4, (0,), (4,)), scan_layout((4096,), 0, 4))
    assert change.kind == "shared"
    offset_map = change.offset_map(4)
    for layout in (change.source, change.target):
        assert widest_vector(layout, offset_map) == 4
        assert bank_conflict_degree(layout, offset_map, 4, 4) == 1


def test_transposition_through_shared_memory_is_swizzled():
    source = blocked((32, 32), 1, (1, 0), (1, 1))
    target = blocked((32, 32), 1, (0, 1), (1, 1))
    offset_map = shared_offset_map(source, target, 4)
    for layout in (source, target):
        assert bank_conflict_degree(layout, offset_map, 4, best_vector(layout, offset_map)) == 1
    assert best_vector(target, offset_map) == 4  # one side of a transposition can still have vectors
    assert not offset_map.is_plain


def test_accumulator_is_the_register_operand_of_the_next_product():
    assert wgmma_accumulator((64, 64), 4) == wgmma_operand_a((64, 64), 4)
    accumulator = mma_accumulator((64, 64), (4, 1))
    assert conversion(accumulator, mma_operand_a((64, 64), (4, 1))).kind == "identity"


def test_layouts_of_different_tiles_do_not_convert():
    with pytest.raises(LayoutError, match="no conversion"):
        conversion(blocked((32,), 1, (0,), (1,)), blocked((64,), 1, (0,), (1,)))
    with pytest.raises(LayoutError, match="no conversion"):
        conversion(blocked((32,), 1, (0,), (1,)), blocked((32,), 2, (0,), (1,)))
