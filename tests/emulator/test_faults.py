"""Kernels that are wrong: each ends with a finding that names the line, none hangs or takes the process with it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.handwritten import fault, run

X = {"x": np.arange(64, dtype=np.int32)}


def line_of(body: str, text: str) -> int:
    """Line of the emitted file on which a piece of the body stands."""
    return 5 + body[: body.index(text)].count("\n")


@pytest.mark.parametrize("schedule", ["forward", "reverse", "random"])
def test_a_barrier_that_part_of_the_cta_reaches(schedule: str) -> None:
    body = "    x[threadIdx.x] = 1;\n    if (threadIdx.x < 32)\n        __syncthreads();"
    found = fault(body, X, threads=64, schedule=schedule).failed
    assert found.kind == "deadlock"
    assert "32 threads of 1 CTA (first CTA (0, 0, 0), thread 0): waits at a CTA barrier" in found.details[1]
    assert "32 threads of 1 CTA (first CTA (0, 0, 0), thread 32): exited" in found.details[0]
    assert found.location.line == line_of(body, "__syncthreads")


def test_barriers_on_both_sides_of_a_branch() -> None:
    body = "    if (threadIdx.x < 32)\n        __syncthreads();\n    else\n        __syncthreads();"
    found = fault(body, X, threads=64).failed
    assert found.kind == "divergent_barrier"
    assert found.location.line == 8


def test_a_shuffle_that_part_of_the_warp_reaches() -> None:
    body = """
    if (threadIdx.x != 7)
        x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    __syncthreads();"""
    found = fault(body, X).failed
    assert found.kind == "deadlock"
    assert any("waits at __shfl_xor_sync with mask 0xffffffff" in line for line in found.details)


def test_a_mask_without_the_caller() -> None:
    body = "    x[threadIdx.x] = __shfl_sync(0x0000ffffu, x[threadIdx.x], 0);"
    found = fault(body, X).failed
    assert found.kind == "collective" and found.thread == (16, 0, 0)
    assert found.message == "__shfl_sync: the mask does not name the calling lane"


def test_a_cluster_barrier_that_one_cta_skips() -> None:
    body = """
    if (blockIdx.x != 1) cooperative_groups::this_cluster().sync();
    while (*reinterpret_cast<volatile int*>(x));"""
    args = {"x": np.ones(1, np.int32)}
    found = fault(body, args, 2, cluster=(2, 1, 1), includes="cooperative_groups.h").failed
    assert found.kind == "endless_wait"
    assert any("waits at the cluster barrier" in line for line in found.details)


def test_a_grid_barrier_in_an_ordinary_launch() -> None:
    found = fault("    cooperative_groups::this_grid().sync();", X, 2, includes="cooperative_groups.h").failed
    assert found.message == "a grid barrier in a launch that is not cooperative"


@pytest.mark.parametrize(
    "wait",
    [
        "while (*reinterpret_cast<volatile int*>(flag) == 0);",
        "while (atomicAdd(flag, 0) == 0);",
        "while (atomicCAS(flag, 1, 0) != 1) __nanosleep(20);",
    ],
)
@pytest.mark.parametrize("schedule", ["forward", "random"])
def test_waiting_for_what_nobody_writes(wait: str, schedule: str) -> None:
    found = fault(
        f"    if (threadIdx.x == 0) {wait}\n    __syncthreads();", {"flag": np.zeros(1, np.int32)}, 3, schedule=schedule
    ).failed
    assert found.kind == "endless_wait"
    assert any("polls memory" in line for line in found.details)


MEETING_WAIT = """
    __shared__ int seen;
    do {
        __syncthreads();
        if (threadIdx.x == 0) seen = WAIT;
        __syncthreads();
    } while (seen == 0);"""


@pytest.mark.parametrize("wait", ["*reinterpret_cast<volatile int*>(flag)", "atomicAdd(flag, 0)"])
@pytest.mark.parametrize("schedule", ["forward", "reverse", "random"])
@pytest.mark.parametrize("detect", [(), "all"])
def test_a_whole_cta_waits_for_what_nobody_writes(wait: str, schedule: str, detect: str) -> None:
    body = MEETING_WAIT.replace("WAIT", wait)
    found = fault(body, {"flag": np.zeros(1, np.int32)}, 3, shared=4, schedule=schedule, detect=detect).failed
    assert found.kind == "endless_wait"
    assert any("polls memory" in line for line in found.details)
    assert any("waits at a CTA barrier" in line for line in found.details)


def test_a_whole_cta_waits_for_one_that_starts_later() -> None:
    wait = MEETING_WAIT.replace("WAIT", "atomicAdd(flag + blockIdx.x + 1, 0)")
    body = f"    if (blockIdx.x < 3) {{{wait}\n    }}\n    if (threadIdx.x == 0) atomicExch(flag + blockIdx.x, 1);"
    assert run(body, {"flag": np.zeros(4, np.int32)}, 4, shared=4)["flag"].tolist() == [1] * 4


@pytest.mark.parametrize("limit", ["++turns == 5000", "clock64() - start > 20000000"], ids=["by turns", "by the clock"])
def test_a_bounded_wait_of_a_whole_cta_is_no_fault(limit: str) -> None:
    wait = MEETING_WAIT.replace("WAIT", f"*reinterpret_cast<volatile int*>(flag) | ({limit})")
    body = f"    int turns = 0;\n    const long long start = clock64();{wait}\n    flag[1 + threadIdx.x] = seen;"
    assert run(body, {"flag": np.zeros(33, np.int32)}, shared=4)["flag"][1:].tolist() == [1] * 32


def test_waiting_for_a_cta_that_starts_later() -> None:
    body = """
    if (threadIdx.x == 0) {
        if (blockIdx.x == 3)
            atomicExch(flag, 1);
        else
            while (*reinterpret_cast<volatile int*>(flag) == 0);
        atomicAdd(flag + 1, 1);
    }"""
    assert run(body, {"flag": np.zeros(2, np.int32)}, 4)["flag"].tolist() == [1, 4]


def test_a_bounded_wait_is_no_fault() -> None:
    body = """
    int turns = 0;
    while (*reinterpret_cast<volatile int*>(flag) == 0 && turns < 100) ++turns;
    flag[1 + threadIdx.x] = turns;"""
    assert run(body, {"flag": np.zeros(33, np.int32)})["flag"][1:].tolist() == [100] * 32


def test_an_endless_loop_without_any_access() -> None:
    body = "    for (unsigned i = 1; i != 0; i += 2)\n        if (i == 0) x[0] = 1;"
    found = fault(body, X, stall_s=2.0).failed
    assert found.kind == "endless_loop"


def test_an_endless_loop_in_which_threads_meet() -> None:
    body = "    while (x[0] == 0)\n        __syncthreads();"
    found = fault(body, X, limit_s=1.0).failed
    assert found.kind == "endless_loop" and "limit of processor time" in found.message


def test_writes_far_behind_an_argument() -> None:
    body = "    x[threadIdx.x] = 5;\n    if (threadIdx.x == 9) x[100000] = 1;"
    found = fault(body, X).failed
    assert found.kind == "out_of_bounds" and found.thread == (9, 0, 0)
    assert found.message == "writes element 100000 of argument x, which has 64 elements"
    assert found.location.line == 6


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("x[64] = 1;", "writes element 64 of argument x, which has 64 elements"),
        ("x[0] = x[-1];", "reads element -1 of argument x, which has 64 elements"),
        ("atomicAdd(x + 64, 1);", "updates element 64 of argument x, which has 64 elements"),
        (
            "*reinterpret_cast<int4*>(x + 61) = make_int4(0, 0, 0, 0);",
            "writes elements 61 to 64 of argument x, which has 64 elements",
        ),
        (
            "tile[threadIdx.x + 32] = 1;",
            "writes element 32 of tile, which has 32 elements, in shared memory of CTA (0, 0, 0)",
        ),
    ],
)
def test_accesses_just_outside(statement: str, message: str) -> None:
    body = f"    __shared__ int tile[32];\n    tile[threadIdx.x] = 0;\n    if (threadIdx.x == 0)\n        {statement}"
    result = fault(body, {"x": np.zeros(64, np.int32)}, shared=128, detect="bounds")
    assert result.failed is None
    assert message in {finding.message for finding in result.findings}
    assert all(finding.location.line == 8 for finding in result.findings)


def test_accesses_outside_of_views_and_of_arrays_in_one_memory() -> None:
    memory = np.zeros((10, 8), np.int32)
    body = "    if (threadIdx.x == 0)\n        x[90] = 1;"
    (found,) = fault(body, {"x": memory[1:, :4]}, detect="bounds").findings
    assert found.message == "writes element 90 of argument x, whose memory has 68 elements"
    assert found.details == ("x: array int32[9, 4] with strides [8, 1]",)
    (found,) = fault(body, {"x": memory, "y": memory}, detect="bounds").findings
    assert found.message == "writes element 90 of arguments x, y, which have 80 elements"
    (found,) = fault(body, {"x": memory, "y": memory[1:]}, detect="bounds").findings
    assert found.message == "writes 4 bytes at arguments x, y, 40 bytes behind its end (it has 320 bytes)"


def test_misaligned_vectors() -> None:
    body = "    if (threadIdx.x == 0)\n        *reinterpret_cast<int2*>(x + 1) = make_int2(0, 0);"
    (found,) = fault(body, X, detect="alignment").findings
    assert found.kind == "misaligned" and found.message == "writes 8 bytes at argument x, byte 4 of 256"


def test_shared_memory_beyond_the_contract() -> None:
    found = fault("    __shared__ int tile[64];\n    tile[threadIdx.x] = x[0];\n    __syncthreads();", X, shared=128).failed
    assert found.kind == "resources" and "256 bytes with `tile`, the launch contract says 128" in found.message


def test_unwritten_shared_memory_is_not_zero() -> None:
    body = "    __shared__ int tile[32];\n    out[threadIdx.x] = tile[threadIdx.x];"
    seen = {fault(body, {"out": np.zeros(32, np.int32)}, shared=128, seed=seed).outputs["out"][0] for seed in (0, 1)}
    assert 0 not in seen and len(seen) == 2


def test_traps_and_failed_asserts() -> None:
    found = fault("    if (x[threadIdx.x] == 3)\n        __trap();", X).failed
    assert found.kind == "trap" and found.thread == (3, 0, 0) and found.location.line == 6
    result = fault("    assert(x[threadIdx.x] < 5);", X)
    assert result.failed.kind == "trap" and "assertion `x[threadIdx.x] < 5` failed" in result.runs[0].printed


def test_a_missing_barrier_shows_under_some_schedule() -> None:
    body = """
    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];"""
    args = {**X, "out": np.zeros(64, np.int32)}
    results = [fault(body, args, threads=64, shared=256, schedule=s).outputs["out"] for s in ("forward", "reverse")]
    assert all((out != X["x"][::-1]).any() for out in results)


def test_a_missing_barrier_between_accesses_shows_when_threads_switch_there() -> None:
    from tests.emulator.handwritten import handwritten
    from tle2cuda.emulator import emulate

    body = "    const int old = *total;\n    *total = old + 1;"
    args = {"total": np.zeros(1, np.int32)}
    kernel = handwritten(body, args)
    assert emulate(kernel, 1, args).outputs["total"][0] == 32
    runs = emulate(kernel, 1, args, schedule="random", seeds=range(4), switch_at_accesses=2).runs
    assert any(run.outputs["total"][0] < 32 for run in runs)
