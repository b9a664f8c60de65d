from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.random_layouts import layouts
from tle2cuda.layout import Layout, blocked, f2, reduction, wgmma_accumulator
from tle2cuda.layout.distributed import flatten


def simulate(layout: Layout, axis: int, values: dict[tuple[int, ...], int]) -> list[list[int]]:
    plan = reduction(layout, axis)
    sums = [[0] * plan.result.num_registers for _ in range(layout.num_threads)]
    for thread, register in itertools.product(range(layout.num_threads), range(layout.num_registers)):
        if not register & plan.skipped_registers:
            value = values[layout.coords(register, thread % 32, thread // 32)]
            sums[thread][f2.apply(plan.register_images, register)] += value
    for step in (*plan.lane_steps, *plan.warp_steps):
        sums = [
            [value + sums[thread ^ step.thread_xor][r ^ step.register_xor] for r, value in enumerate(registers)]
            for thread, registers in enumerate(sums)
        ]
    return sums


@settings(max_examples=200, deadline=None)
@given(layouts(), st.data())
def test_every_thread_ends_with_the_sums_of_its_result_elements(layout, data):
    axis = data.draw(st.integers(0, layout.rank - 1))
    coordinates = itertools.product(*map(range, layout.shape))
    values = {c: 3 * flatten(c, layout.shape) ** 2 + 1 for c in coordinates}
    expected: dict[tuple[int, ...], int] = {}
    for coordinate, value in values.items():
        rest = (*coordinate[:axis], *coordinate[axis + 1 :])
        expected[rest] = expected.get(rest, 0) + value
    result = reduction(layout, axis).result
    assert result == layout.reduce_axis(axis)
    for thread, sums in enumerate(simulate(layout, axis, values)):
        for register, value in enumerate(sums):
            assert value == expected[result.coords(register, thread % 32, thread // 32)]


def test_row_reduction_of_an_accumulator_takes_two_shuffles():
    plan = reduction(wgmma_accumulator((64, 128), 4), 1)
    assert [step.thread_xor for step in plan.lane_steps] == [1, 2]
    assert all(step.register_xor == 0 for step in plan.lane_steps) and plan.warp_steps == ()
    assert plan.result.registers == ((8,),)


def test_whole_tile_reduction_uses_lanes_then_warps():
    plan = reduction(blocked((1024,), 4, (0,), (4,)), 0)
    assert [step.thread_xor for step in plan.lane_steps] == [1, 2, 4, 8, 16]
    assert [step.thread_xor for step in plan.warp_steps] == [32, 64]


def test_copies_are_not_combined():
    plan = reduction(blocked((16,), 4, (0,), (1,)), 0)
    assert [step.thread_xor for step in plan.lane_steps] == [1, 2, 4, 8] and plan.warp_steps == ()
