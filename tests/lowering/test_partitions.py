"""The text of partitions: who is who, where they meet, what they do with registers; and pipes on older targets."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.opcases import cases
from tle2cuda.compiler import emit
from tle2cuda.emulator import emulate
from tle2cuda.language import tle


@tle2cuda.jit
def add_one(x, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(x + i, tl.load(x + i) + 1)


def source_of(warps: tuple[int, ...], registers: tuple[int, ...], num_warps: int = 4, arch: str = "sm_90a") -> str:
    @tle2cuda.jit
    def kernel(x, WARPS: tl.constexpr, REGISTERS: tl.constexpr):
        tle.gpu.warp_specialize([(add_one, (x, 64)), *[(add_one, (x + 64, 64))] * len(WARPS)], WARPS, REGISTERS)

    constants = {"WARPS": warps, "REGISTERS": registers}
    return emit(kernel, {"x": "*i32:16"}, constants, num_warps, arch).source


@pytest.mark.parametrize(
    ("warps", "registers", "threads", "expected"),
    [
        ((4, 4), (232, 40), "384, 1", ["increase<232>", "decrease<40>", "increase<232>"]),
        ((8, 4), (240, 24), "512, 1", ["increase<232>", "decrease<24>", "decrease<24>"]),  # clamped to what there is
        ((4, 1, 1), (200, 24, 56), "384, 1", ["increase<200>", "decrease<56>", "increase<240>"]),  # largest of a warpgroup
        ((1,), (24,), "160", []),  # each may have as many as it can use
        ((4, 4), (168, 168), "384, 1", []),
    ],
)
def test_registers_move(warps: tuple[int, ...], registers: tuple[int, ...], threads: str, expected: list[str]) -> None:
    source = source_of(warps, registers)
    assert f"__launch_bounds__({threads})" in source
    code = source[source.index('extern "C"') :]
    assert sorted(re.findall(r"registers_(\w+<\d+>)\(\);", code)) == sorted(expected)


def test_registers_stay_where_nothing_can_move_them() -> None:
    for arch, num_warps in (("sm_90", 4), ("sm_80", 4), ("sm_90a", 2)):
        assert "registers_" not in source_of((4, 4), (232, 40), num_warps, arch)


def test_wide_partitions_come_first() -> None:
    source = source_of((1, 4, 2), (24, 24, 24), arch="sm_80")
    assert "add_one on warps 4 to 7" in source and "add_one on warps 8 to 9" in source and "add_one on warp 10" in source
    assert [int(n) for n in re.findall(r"threadIdx\.x - (\d+);", source)] == [128, 256, 320]


def test_who_meets_where() -> None:
    """One function for each partition whose threads meet; a warp needs none; pipes need none."""
    source = cases()["partitions_collectives_4_2_1_4"].emit().source
    functions = dict(re.findall(r"void (\w+)\(\) \{ (?:named|meeting)_barrier_sync\((\d+, \d+)\); \}", source))
    assert functions == {
        "all_warps_barrier": "0, 384",
        "default_warps_barrier": "1, 128",
        "write_prefix_barrier": "2, 128",
        "write_counts_barrier": "3, 64",
    }
    ring = cases()["pipe_ring_2_9_4"].emit().source
    assert ring.count("__syncthreads();") == 1 and "named_barrier" not in ring  # the one behind the initialisation


@pytest.mark.parametrize("arch", ["sm_80", "sm_120"])
@pytest.mark.parametrize(
    "name",
    [
        "pipe_ring_7_9_2",
        "pipe_row_sums_float16_496_2",
        "pipe_closed_7_2",
        "pipe_two_readers_2",
        "barriers_by_phases_2",
        "partitions_one_after_the_other_64",
        "cp_async_groups_float16_1000_8_2",
    ],
)
def test_other_targets(name: str, arch: str) -> None:
    case = cases()[name]
    emitted = case.emit(arch)
    assert "mbarrier.try_wait" not in emitted.source or arch != "sm_80"  # which has but `test_wait`
    inputs = case.inputs()
    arguments: dict[str, Any] = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    result = emulate(emitted, case.grid, arguments, schedule="random", seed=7, detect="all").check()
    want = case.reference(case.inputs())
    assert not case.differences(result.outputs, want)
    assert emitted.contract.min_arch <= arch or arch == "sm_120"


@tle2cuda.jit
def meet():
    tl.debug_barrier()


def test_partitions_on_the_same_warps_share_a_hardware_barrier() -> None:
    """One specialisation after the other, more than there are hardware barriers; those of other warps have others."""

    @tle2cuda.jit
    def kernel():
        for i in tl.static_range(6):
            tle.gpu.warp_specialize([(meet, ())] * 4, [2, 4, 2] if i % 2 else [4, 2, 2])

    source = emit(kernel, {}, {}, 4).source
    numbers = re.findall(r"void meet_barrier\w*\(\) \{ named_barrier_sync\((\d+), (\d+)\); \}", source)
    assert len(numbers) == 18 and set(numbers) == {("2", "128"), ("3", "64"), ("4", "64")}
