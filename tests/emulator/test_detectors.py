"""Detectors: each finds what is planted for it, in the words it should, and nothing in kernels that are right."""

from __future__ import annotations

import dataclasses
import re
import time
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from kernels.moe_align_block_size import verify
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Sizes, Tuning
from tests.emulator.handwritten import handwritten
from tests.emulator.test_shipped import ROUTING, SHIPPED, SMALL, align, row_inputs
from tests.kernels.problems import PROBLEMS
from tests.opcases import cases
from tle2cuda.emulator import Emulation, emulate
from tle2cuda.errors import ArgumentError

SEEDS = range(10)
CASES = cases()
GROUPS = "cooperative_groups.h"


def detected(body: str, args: dict[str, Any], grid: int = 1, detect: Any = "all", **options: Any) -> Emulation:
    """Ten random runs."""
    run_options = {key: options.pop(key) for key in ("uninitialized", "switch_at_accesses") if key in options}
    kernel = handwritten(body, args, **options)
    return emulate(kernel, grid, args, schedule="random", seeds=SEEDS, detect=detect, **run_options)


def ints(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.int32)


def kinds(result: Emulation) -> set[str]:
    return {finding.kind for finding in result.findings}


# ---- The words of a finding ----


def test_every_run_of_several_names_its_places() -> None:
    kernel = reverse_without_barrier()
    args = {"x": ints(64), "out": ints(64)}
    for attempt in range(3):  # runs ask for their lines at the same time
        result = emulate(kernel, 1, args, schedule="random", seeds=range(attempt, attempt + 4), detect="races")
        found = [finding for one in result.runs for finding in one.findings]
        assert len(found) >= 4
        assert all(finding.location and finding.other and finding.other.location for finding in found)


@tle2cuda.jit
def reverse(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tile = tl.tle.gpu.alloc([BLOCK], dtype=tl.int32, layout=None, scope=tl.tle.gpu.smem)
    tl.store(tl.tle.gpu.local_ptr(tile, (i,)), tl.load(x + i))
    tl.store(out + i, tl.load(tl.tle.gpu.local_ptr(tile, (BLOCK - 1 - i,))))


def reverse_without_barrier() -> Any:
    emitted = tle2cuda.emit(reverse, "*i32, *i32, 64", num_warps=2)
    source, count = re.subn(r"__syncthreads\(\);[^\n]*", "", emitted.source)
    assert count == 1
    return dataclasses.replace(emitted, source=source)


def test_a_race_names_both_python_lines_and_the_element() -> None:
    args = {"x": ints(64), "out": ints(64)}
    result = emulate(reverse_without_barrier(), 1, args, detect="races")
    found = next(finding for finding in result.findings if finding.message.startswith("reads"))
    first = reverse.fn.__code__.co_firstlineno
    write, read = found.other.location, found.location
    assert (write.span.line, read.span.line) == (first + 4, first + 5)
    assert str(found) == (
        f"test_detectors.py:{first + 5}, line {read.line} of the emitted file: reads tile[31] in shared memory of "
        "CTA (0, 0, 0), and nothing orders that behind the write by thread 31 of CTA (0, 0, 0) "
        "[CTA (0, 0, 0), thread (32, 0, 0)]\n"
        f"  the other access: test_detectors.py:{first + 4}, line {write.line} of the emitted file: {write.text} "
        "[CTA (0, 0, 0), thread (31, 0, 0)]"
    )


def message(result: Emulation, kind: str, start: str = "") -> str:
    return next(
        finding.message for finding in result.findings if finding.kind == kind and finding.message.startswith(start)
    )


def test_words_of_the_other_findings() -> None:
    args = {"x": ints(64), "out": ints(64)}
    body = """
    __shared__ int tile[4][8];
    __shared__ int next[1];
    if (threadIdx.x < 31) tile[threadIdx.x / 8][threadIdx.x % 8] = 1;
    if (threadIdx.x == 0) next[0] = 3;
    __syncthreads();
    if (threadIdx.x == 5) out[0] = tile[3][7];
    if (threadIdx.x == 6) out[1] = (&tile[0][0])[32];
    if (threadIdx.x == 7) *reinterpret_cast<int2*>(x + 1) = make_int2(0, 0);
    if (threadIdx.x == 8) out[2] = out[40];"""
    result = emulate(handwritten(body, args, shared=132), 1, args, detect="all", uninitialized=["out"])
    assert {finding.thread[0]: (finding.kind, finding.message) for finding in result.findings} == {
        5: ("uninitialized", "reads tile[3][7] in shared memory of CTA (0, 0, 0), which nothing has written"),
        6: (
            "out_of_bounds",
            "reads element 32 of tile, which has 4 x 8 elements, in shared memory of CTA (0, 0, 0)",
        ),
        7: ("misaligned", "writes 8 bytes at argument x, byte 4 of 256"),
        8: ("uninitialized", "reads out[40], which nothing has written"),
    }


def test_words_about_an_exit() -> None:
    body = """
    __shared__ int mine[32];
    auto cluster = cooperative_groups::this_cluster();
    mine[threadIdx.x] = threadIdx.x;
    cluster.sync();
    if (blockIdx.x == 1) out[threadIdx.x] = cluster.map_shared_rank(mine, 0)[31 - threadIdx.x];"""
    args = {"out": ints(32)}
    kernel = handwritten(body, args, cluster=(2, 1, 1), includes=GROUPS, shared=128)
    before = emulate(kernel, 2, args, schedule="reverse", detect="all")
    after = emulate(kernel, 2, args, schedule="forward", detect="all")
    assert [finding.message for finding in (*before.findings, *after.findings)] == [
        f"reads mine[{element}] in shared memory of CTA (0, 0, 0), which {what}"
        for element, what in (
            (
                int(re.findall(r"mine\[(\d+)", before.findings[0].message)[0]),
                "may have exited: no barrier of the cluster holds it until this is done",
            ),
            (31, "has exited"),
        )
    ]


# ---- Races that are found ----

TILE = "    __shared__ int tile[128];\n"
RACES: dict[str, tuple[str, dict[str, Any]]] = {
    "no barrier": (TILE + "    tile[threadIdx.x] = 1;\n    out[threadIdx.x] = tile[threadIdx.x ^ 32];", {"threads": 64}),
    "a barrier of the warp, not of the CTA": (
        TILE + "    tile[threadIdx.x] = 1;\n    __syncwarp();\n    out[threadIdx.x] = tile[threadIdx.x ^ 32];",
        {"threads": 64},
    ),
    "lanes of one warp": (TILE + "    tile[threadIdx.x] = 1;\n    out[threadIdx.x] = tile[threadIdx.x ^ 1];", {}),
    "a shuffle orders no memory": (
        TILE + "    tile[threadIdx.x] = 1;\n    __shfl_xor_sync(~0u, 1, 1);\n    out[threadIdx.x] = tile[threadIdx.x ^ 1];",
        {},
    ),
    "a shuffle holds no write back": (
        TILE
        + "    tile[threadIdx.x] = 1;\n    __syncwarp();\n    out[threadIdx.x] = tile[threadIdx.x ^ 1];\n"
        + "    __shfl_xor_sync(~0u, 1, 1);\n    tile[threadIdx.x] = 2;",
        {},
    ),
    "half of the warp met": (
        TILE + "    tile[threadIdx.x] = 1;\n"
        "    __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);\n"
        "    out[threadIdx.x] = tile[threadIdx.x ^ 16];",
        {},
    ),
    "reads before a write": (
        TILE + "    tile[threadIdx.x] = 1;\n"
        "    __syncthreads();\n"
        "    out[threadIdx.x] = tile[0];\n"
        "    if (threadIdx.x == 63) tile[0] = 2;",
        {"threads": 64},
    ),
    "two writes": ("    out[0] = threadIdx.x;", {}),
    "the same value": ("    out[0] = 1;", {}),
    "a plain update": ("    out[threadIdx.x / 2] += 1;", {}),
    "CTAs": ("    if (threadIdx.x == 0) out[0] = blockIdx.x;", {"grid": 3}),
    "a CTA barrier for a cluster": (
        TILE
        + """    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    tile[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x + 32 * blockIdx.x] = cluster.map_shared_rank(tile, blockIdx.x ^ 1)[threadIdx.x];
    cluster.sync();""",
        {"grid": 2, "cluster": (2, 1, 1)},
    ),
    "between arrival and wait": (
        TILE
        + """    auto cluster = cooperative_groups::this_cluster();
    cluster.barrier_arrive();
    tile[threadIdx.x] = 1;
    cluster.barrier_wait();
    out[threadIdx.x + 32 * blockIdx.x] = cluster.map_shared_rank(tile, blockIdx.x ^ 1)[threadIdx.x];
    cluster.sync();""",
        {"grid": 2, "cluster": (2, 1, 1)},
    ),
    "a cluster barrier for a grid": (
        "    out[blockIdx.x] = 1;\n"
        "    cooperative_groups::this_cluster().sync();\n"
        "    if (threadIdx.x == 0) out[8 + blockIdx.x] = out[blockIdx.x ^ 2];",
        {"grid": 4, "cluster": (2, 1, 1), "cooperative": True, "threads": 1},
    ),
    "an atomic and a plain read": ("    atomicAdd(out, 1);\n    out[1 + threadIdx.x] = out[0];", {}),
    "an atomic of the CTA's scope": ("    if (threadIdx.x == 0) atomicAdd_block(out, 1);", {"grid": 2}),
    "a flag without a fence": (
        """    if (blockIdx.x == 0) {
        out[1] = 5;
        atomicExch(out, 1);
    } else {
        while (atomicAdd(out, 0) == 0);
        __threadfence();
        out[2] = out[1];
    }""",
        {"grid": 2, "threads": 1},
    ),
    "a flag without a fence behind it": (
        """    if (blockIdx.x == 0) {
        out[1] = 5;
        __threadfence();
        atomicExch(out, 1);
    } else {
        while (atomicAdd(out, 0) == 0);
        out[2] = out[1];
    }""",
        {"grid": 2, "threads": 1},
    ),
    "a fence of the CTA's scope": (
        """    if (blockIdx.x == 0) {
        out[1] = 5;
        __threadfence_block();
        atomicExch(out, 1);
    } else {
        while (atomicAdd(out, 0) == 0);
        __threadfence();
        out[2] = out[1];
    }""",
        {"grid": 2, "threads": 1},
    ),
    "a plain flag": (
        """    if (threadIdx.x == 0) out[0] = 1;
    else if (threadIdx.x == 32) while (*(volatile int*)out == 0);""",
        {"threads": 64},
    ),
    "a lock that is given back too early": (
        """    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(out, 0, 1) != 0);
        __threadfence();
        const int value = out[1];
        __threadfence();
        atomicExch(out, 0);
        out[1] = value + 1;
    }""",
        {"threads": 64},
    ),
    "neighbouring bytes of a vector": (
        "    reinterpret_cast<signed char*>(out)[threadIdx.x] = 1;\n"
        "    if (threadIdx.x == 7) *reinterpret_cast<short*>(out) = 0;",
        {},
    ),
}


@pytest.mark.parametrize("name", RACES)
def test_races_are_found(name: str) -> None:
    body, options = RACES[name]
    args = {"out": np.zeros(256, np.int32)}
    shared = 512 if TILE in body else 0
    includes = GROUPS if "cooperative_groups" in body else ""
    assert "race" in kinds(detected(body, args, shared=shared, includes=includes, **{"threads": 32, **options}))


# ---- Kernels that look like it and are right ----

ORDERED: dict[str, tuple[str, dict[str, Any]]] = {
    "barriers": (
        TILE + "    tile[threadIdx.x] = 1;\n"
        "    __syncthreads();\n"
        "    out[threadIdx.x] = tile[threadIdx.x ^ 32];\n"
        "    __syncthreads();\n"
        "    tile[threadIdx.x ^ 5] = 2;",
        {"threads": 64},
    ),
    "half warps": (
        TILE + "    tile[threadIdx.x] = 1;\n"
        "    __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0000u);\n"
        "    out[threadIdx.x] = tile[threadIdx.x ^ 8];",
        {},
    ),
    "bytes": ("    reinterpret_cast<signed char*>(out)[threadIdx.x] = 1;", {"threads": 64}),
    "atomics": ("    atomicAdd(out, 1);\n    atomicMax(out, 3);", {"grid": 3, "threads": 64}),
    "a flag": (
        """    if (blockIdx.x == 0) {
        out[1] = 5;
        __threadfence();
        atomicExch(out, 1);
    } else {
        while (*(volatile int*)out == 0);
        __threadfence();
        out[1 + blockIdx.x] = out[1];
    }""",
        {"grid": 3, "threads": 1},
    ),
    "the last CTA sums": (
        """    __shared__ int is_last;
    out[1 + blockIdx.x * 64 + threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        is_last = atomicAdd(out, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (is_last) out[1 + threadIdx.x] += out[65 + threadIdx.x] + out[129 + threadIdx.x];""",
        {"grid": 3, "threads": 64, "shared": 16},
    ),
    "a lock": (
        """    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(out, 0, 1) != 0);
        __threadfence();
        out[1] += 1;
        __threadfence();
        atomicExch(out, 0);
    }""",
        {"threads": 128, "grid": 2},
    ),
    "a chain of flags": (
        """    if (blockIdx.x > 0) {
        while (atomicAdd(out + blockIdx.x - 1, 0) == 0);
        __threadfence();
    }
    out[100] += 1;
    __threadfence();
    atomicExch(out + blockIdx.x, 1);""",
        {"threads": 1, "grid": 5},
    ),
    "reads before an atomic that the writer waits for": (
        """    const int value = out[1];
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(out, value + 1);
        if (blockIdx.x == 0) {
            while (*(volatile int*)out < gridDim.x);
            out[1] = 7;
        }
    }""",
        {"threads": 64, "grid": 3},
    ),
    "arrival and wait": (
        TILE
        + """    auto cluster = cooperative_groups::this_cluster();
    tile[threadIdx.x] = 1;
    cluster.barrier_arrive();
    out[128 + threadIdx.x + 32 * blockIdx.x] = tile[threadIdx.x];
    cluster.barrier_wait();
    out[threadIdx.x + 32 * blockIdx.x] = cluster.map_shared_rank(tile, blockIdx.x ^ 1)[threadIdx.x];
    cluster.sync();""",
        {"grid": 2, "cluster": (2, 1, 1)},
    ),
    "a grid barrier": (
        "    out[blockIdx.x] = 1;\n"
        "    cooperative_groups::this_grid().sync();\n"
        "    out[8 + blockIdx.x] = out[blockIdx.x ^ 2];",
        {"grid": 4, "cooperative": True, "threads": 1},
    ),
}


@pytest.mark.parametrize("name", ORDERED)
def test_ordered_accesses_are_no_races(name: str) -> None:
    body, options = ORDERED[name]
    args = {"out": np.zeros(256, np.int32)}
    shared = options.get("shared", 512 if TILE in body else 0)
    includes = GROUPS if "cooperative_groups" in body else ""
    options = {"threads": 32, **options, "shared": shared, "includes": includes}
    detected(body, args, **options).check()
    detected(body, args, switch_at_accesses=1, **options).check()


# ---- The others ----


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (
            TILE + "    if (threadIdx.x < 31) tile[threadIdx.x] = 1;\n"
            "    __syncthreads();\n"
            "    out[threadIdx.x] = tile[threadIdx.x];",
            "uninitialized",
        ),
        (TILE + "    atomicAdd(tile + threadIdx.x, 1);", "uninitialized"),
        ("    out[threadIdx.x] += 1;", "uninitialized"),
        (TILE + "    tile[threadIdx.x + 97] = 1;", "out_of_bounds"),
        (TILE + "    tile[static_cast<int>(threadIdx.x) - 1] = 1;", "out_of_bounds"),
        ("    out[threadIdx.x + 225] = 1;", "out_of_bounds"),
        ("    if (threadIdx.x == 1) *reinterpret_cast<int4*>(out + threadIdx.x) = make_int4(0, 0, 0, 0);", "misaligned"),
        (TILE + "    *reinterpret_cast<int2*>(tile + 3 * threadIdx.x) = make_int2(0, 0);", "misaligned"),
    ],
)
def test_other_faults_are_found(body: str, kind: str) -> None:
    result = detected(body, {"out": np.zeros(256, np.int32)}, shared=512 if TILE in body else 0, uninitialized=["out"])
    assert kind in kinds(result)


def test_accesses_outside_of_one_member_of_the_struct() -> None:
    emitted = SHIPPED["moe_align_cluster_fused"].emit("sm_90a")
    source = emitted.source.replace("= shared.total[one_group];", "= shared.total[one_group + 1024];", 1)
    source = source.replace("peer_start[thread]", "peer_start[thread + 1]", 1)
    assert source != emitted.source
    args = cluster_arguments()
    result = emulate(dataclasses.replace(emitted, source=source), 8, args, detect="bounds")
    assert {finding.message for finding in result.findings if finding.kind == "out_of_bounds"} == {
        "reads element 1024 of total, which has 1024 elements, in shared memory of CTA (0, 0, 0)",
        "reads element 1024 of start, which has 1024 elements, in shared memory of CTA (0, 0, 0)",
    }


def cluster_arguments() -> dict[str, Any]:
    ids = np.load(ROUTING / "routing_top1_e512.npy").reshape(-1)[:1024].astype(np.int32)
    sizes = Sizes(ids.size, 16, 512)
    return {
        "topk_ids": ids,
        "sorted_ids": np.zeros(sizes.sorted_capacity, np.int32),
        "expert_ids": np.zeros(sizes.expert_capacity, np.int32),
        "num_post_pad": np.zeros(1, np.int32),
        "numel": ids.size,
        "sorted_capacity": sizes.sorted_capacity,
        "expert_capacity": sizes.expert_capacity,
    }


@pytest.mark.parametrize("number", range(4))
def test_each_cluster_barrier_of_the_cluster_kernel_is_missed(number: int) -> None:
    emitted = SHIPPED["moe_align_cluster_fused"].emit("sm_90a")
    pieces = emitted.source.split("    cluster.sync();\n")
    assert len(pieces) == 5
    source = "    cluster.sync();\n".join(
        (*pieces[:number], "    \n".join(pieces[number : number + 2]), *pieces[number + 2 :])
    )
    result = emulate(dataclasses.replace(emitted, source=source), 8, cluster_arguments(), schedule="random", detect="all")
    assert kinds(result) & {"race", "exit"}


def test_a_peer_that_may_not_have_started() -> None:
    body = """
    __shared__ int mine[32];
    mine[threadIdx.x] = 0;
    auto cluster = cooperative_groups::this_cluster();
    atomicAdd(cluster.map_shared_rank(mine, blockIdx.x ^ 1) + threadIdx.x, 1);
    cluster.sync();"""
    result = detected(body, {"out": ints(1)}, 2, cluster=(2, 1, 1), includes=GROUPS, shared=128)
    assert "which need not have started: this CTA has met no other one yet" in message(result, "exit")


def test_uninitialized_names_an_array() -> None:
    args = {"out": ints(4), "n": 3}
    with pytest.raises(ArgumentError, match="uninitialized names n, which is no array argument"):
        emulate(handwritten("    out[0] = n;", args), 1, args, uninitialized=["n"])


def test_without_detectors_nothing_is_found() -> None:
    body, options = RACES["no barrier"]
    detected(body, {"out": ints(64)}, detect=(), shared=512, **options).check()


# ---- What is right has no finding ----


@pytest.mark.parametrize("schedule", ["forward", "random"])
@pytest.mark.parametrize("headers", ["toolkit", "minimal"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_moe_kernels_have_no_finding(name: str, headers: str, schedule: str) -> None:
    for problem in (PROBLEMS[5], PROBLEMS[12]):
        sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
        ids = np.ascontiguousarray(problem.ids).reshape(-1)
        align(name, sizes, SMALL[name], ids, headers, schedule=schedule, seed=3, detect="all")


@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith(("softmax", "layer_norm"))])
def test_rowwise_kernels_have_no_finding(name: str) -> None:
    outputs = ["out", "mean_out", "rstd_out"] if name.startswith("layer") else ["out"]
    for cols in (4096, 2000):
        args = row_inputs(name, 3, cols)
        options = {"schedule": "random", "seeds": range(3), "detect": "all", "uninitialized": outputs}
        emulate(SHIPPED[name].emit("sm_90a"), 3, args, **options).check()


def test_vector_add_has_no_finding() -> None:
    args = {"x": np.ones(5000, np.float32), "y": np.ones(5000, np.float32), "out": np.ones(5000, np.float32), "n": 5000}
    emulate(SHIPPED["vector_add"].emit("sm_90a"), 5, args, schedule="random", detect="all", uninitialized=["out"]).check()


@pytest.mark.parametrize("switch_at_accesses", [0, 1])
def test_all_detectors_are_quick(switch_at_accesses: int) -> None:
    ids = np.load(ROUTING / "routing_top1_e512.npy").reshape(-1)[:8192].astype(np.int32)
    sizes = Sizes(ids.size, 16, 512)
    start = time.perf_counter()
    options = {"schedule": "random", "detect": "all", "switch_at_accesses": switch_at_accesses}
    result, elapsed_s = align("cluster", sizes, Tuning(8, 1024, 1), ids, **options)
    verify(result, ids, 16, 512)
    assert elapsed_s < 10, f"8 CTAs of 1024 threads took {elapsed_s:.1f} s"
    assert time.perf_counter() - start < 60


def test_copies_of_whole_blocks_are_seen() -> None:
    """Compilers leave these to memcpy and memset, which no instrumentation sees."""
    struct = "struct Block { int words[64]; };\n    "
    body = struct + "if (threadIdx.x == 0) *reinterpret_cast<Block*>(out) = *reinterpret_cast<Block*>(out + n);"
    args = {"out": ints(96), "n": 33}
    result = emulate(handwritten(f"    {body}", args), 1, args, detect=("bounds", "races"))
    assert message(result, "out_of_bounds") == "reads elements 33 to 96 of argument out, which has 96 elements"


@tle2cuda.jit
def access(out, seen, what: tl.constexpr):
    i = tl.arange(0, 128)
    if what == "tile store":
        tl.store(out + i, i)
    elif what == "scalar store":
        tl.store(out + 37, 99)
    elif what == "tile load":
        tl.store(seen + i, tl.load(out + i))
    elif what == "scalar load":
        tl.store(seen, tl.load(out + 37))
    elif what == "tile atomic":
        tl.atomic_add(out + i, 1, sem="relaxed")
    elif what == "scalar atomic":
        tl.atomic_add(out + 37, 1, sem="relaxed")


@tle2cuda.jit
def access_twice(out, seen, first: tl.constexpr, second: tl.constexpr):
    access(out, seen, first)
    access(out, seen + 128, second)


TILE_AND_SCALAR = [
    ("tile store", "scalar store", True),
    ("scalar store", "tile store", True),
    ("scalar store", "tile load", True),
    ("tile load", "scalar store", True),
    ("tile store", "scalar load", False),  # a value that all threads load is ordered behind the store
    ("tile atomic", "scalar store", True),
    ("scalar store", "tile atomic", True),
    ("tile store", "scalar atomic", True),
    ("scalar atomic", "tile load", True),
    ("scalar atomic", "tile atomic", False),
]


@pytest.mark.parametrize(("first", "second", "races"), TILE_AND_SCALAR)
def test_tiles_and_scalars_at_one_place(first: str, second: str, races: bool) -> None:
    """Thread 0 makes the scalar accesses, thread 37 has element 37 of the tiles; only barriers of threads order them."""
    args = {"out": ints(128), "seen": ints(256), "first": first, "second": second}
    found = emulate(access_twice, 1, args, detect="races").findings
    assert [(f.kind, {f.thread[0], f.other.thread[0]}) for f in found] == [("race", {0, 37})] * races
    assert all("out[37]" in f.message for f in found)
