"""What the emulator says of asynchronous copies and mbarriers that are used wrongly: kinds and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.emulator.asynchronous import kernel
from tests.emulator.handwritten import fault, run
from tests.emulator.test_async_helpers import BARRIER, INIT, SYNC_CLUSTER, ints, zeros
from tle2cuda.emulator import Emulation, emulate

TILE = "    __shared__ alignas(16) int tile[32];\n"
SETUP = BARRIER + TILE + INIT.replace("COUNT", "1")
LOAD = """    if (threadIdx.x == 0) {
        mbarrier_expect_bytes(&barrier, 128);
        bulk_load(tile, x, 128, &barrier);
    }
"""
WAIT = "    mbarrier_wait(&barrier, 0);\n"
USE = "    out[threadIdx.x] = tile[31 - threadIdx.x];\n"
HELPERS = (
    "mbarrier_init fence_mbarrier_init mbarrier_wait mbarrier_try_wait mbarrier_arrive mbarrier_arrive_count "
    "mbarrier_arrive_remote mbarrier_invalidate mbarrier_expect_bytes bulk_load bulk_store tma_store_commit tma_store_wait "
    "tma_store_wait_read fence_async_proxy cp_async cp_async_commit cp_async_wait registers_decrease"
)
ARGS = {"x": ints(64), "out": zeros(64)}
OF_CTA = "in shared memory of CTA (0, 0, 0)"
NEVER = f"the phase of barrier {OF_CTA} never ends: all have arrived, and of the bytes it expects"
BY = "by thread 0 of CTA (0, 0, 0)"


def found(body: str, grid: int = 1, schedule: str = "forward", **options: Any) -> Emulation:
    emitted = kernel(body, ARGS, HELPERS, **{"shared": 160, **options})
    return emulate(emitted, grid, ARGS, schedule=schedule, detect="all")


# Body, kind, message.
CASES: dict[str, tuple[str, str, str]] = {
    "a read before the wait": (
        SETUP + LOAD + USE + WAIT,
        "in_flight",
        f"reads tile[31] {OF_CTA}, which the bulk copy {BY} may still be writing: nothing waits for it in between",
    ),
    "a refill before the readers are done": (
        BARRIER.replace("barrier;", "other;")
        + SETUP.replace("init(&barrier, 1);", "init(&barrier, 1);\n        mbarrier_init(&other, 1);")
        + (LOAD + WAIT + USE + "    __shfl_sync(~0u, 1, 0);  // comes behind the reads, but orders no memory\n")
        + (LOAD + WAIT).replace("&barrier", "&other"),
        "race",
        f"a bulk copy writes tile[0] {OF_CTA}, and nothing orders that behind the read by thread 31 of CTA (0, 0, 0)",
    ),
    "a write while a copy reads": (
        TILE
        + """    tile[threadIdx.x] = 1;
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tile[5] = 7;
        tma_store_wait();
    }""",
        "in_flight",
        f"writes tile[5] {OF_CTA}, which the bulk copy {BY} may still be reading: nothing waits for it in between",
    ),
    "global memory before its store is complete": (
        TILE
        + """    tile[threadIdx.x] = 1;
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait_read();
        out[40] = out[3];
        tma_store_wait();
    }""",
        "in_flight",
        f"reads out[3], which the bulk copy {BY} may still be writing: nothing waits for it in between",
    ),
    "no proxy fence": (
        TILE
        + """    tile[threadIdx.x] = 1;
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait();
    }""",
        "proxy",
        f"a bulk copy reads tile[0] {OF_CTA}, and no fence.proxy.async lies behind the write {BY}: the copy may miss it",
    ),
    "no proxy fence behind atomics": (
        TILE
        + """    tile[threadIdx.x] = 0;
    fence_async_proxy();
    __syncwarp();
    atomicAdd(&tile[threadIdx.x / 2], 1);
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait();
    }""",
        "proxy",
        f"a bulk copy reads tile[0] {OF_CTA}, and no fence.proxy.async lies behind the atomic update "
        "by thread 1 of CTA (0, 0, 0): the copy may miss it",
    ),
    "no proxy fence behind cp.async": (
        TILE
        + """    cp_async<4>(&tile[threadIdx.x], x + threadIdx.x);
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait();
    }""",
        "proxy",
        f"a bulk copy reads tile[0] {OF_CTA}, and no fence.proxy.async lies behind the wait for the cp.async copy {BY}: "
        "the copy may miss what that wrote",
    ),
    "no proxy fence between reads and a refill": (
        SETUP + LOAD + WAIT + USE + "    __syncwarp();\n" + LOAD + WAIT.replace("0)", "1)"),
        "proxy",
        f"a bulk copy writes tile[0] {OF_CTA}, and no fence.proxy.async of the thread that read it lies behind the read "
        "by thread 31 of CTA (0, 0, 0): the copy may overtake it",
    ),
    "a proxy fence between reads and a refill in one thread": (
        SETUP
        + LOAD
        + WAIT
        + USE
        + "    __syncwarp();\n    if (threadIdx.x == 0) fence_async_proxy();\n"
        + LOAD
        + WAIT.replace("0)", "1)"),
        "proxy",
        f"a bulk copy writes tile[0] {OF_CTA}, and no fence.proxy.async of the thread that read it lies behind the read "
        "by thread 31 of CTA (0, 0, 0): the copy may overtake it",
    ),
    "a proxy fence of the last of two readers": (
        SETUP
        + LOAD
        + WAIT
        + "    if (threadIdx.x == 1) out[0] = tile[0];\n    __syncwarp();\n"
        + "    if (threadIdx.x == 0) out[1] = tile[0];\n"
        + "    if (threadIdx.x == 0) fence_async_proxy();\n    __syncwarp();\n"
        + LOAD
        + WAIT.replace("0)", "1)"),
        "proxy",
        f"a bulk copy writes tile[0] {OF_CTA}, and no fence.proxy.async of the thread that read it lies behind the read "
        "by thread 1 of CTA (0, 0, 0): the copy may overtake it",
    ),
    "no fence behind the initialisation": (
        SETUP.replace("        fence_mbarrier_init();\n", "") + LOAD + WAIT + USE,
        "proxy",
        f"a bulk copy completes at barrier {OF_CTA}, and neither fence.mbarrier_init nor fence.proxy.async lies behind its "
        "initialisation",
    ),
    "too few bytes": (
        SETUP
        + LOAD.replace("barrier, 128);\n", "barrier, 64);\n        bulk_load(tile + 16, x, 64, &barrier);\n", 1).replace(
            "x, 128", "x, 64"
        )
        + WAIT,
        "mbarrier",
        f"the phase of barrier {OF_CTA} ends while a bulk copy of 64 bytes is in flight to it: it expects too few bytes",
    ),
    "too many bytes": (
        SETUP + LOAD.replace("&barrier, 128", "&barrier, 160") + WAIT + USE,
        "mbarrier",
        f"{NEVER} no copy brings the last 32",
    ),
    "more bytes than expected": (
        SETUP + LOAD.replace("&barrier, 128", "&barrier, 96") + WAIT + USE,
        "mbarrier",
        f"{NEVER} copies brought 32 too many",
    ),
    "use before the initialisation": (
        BARRIER + "    mbarrier_wait(&barrier, 0);",
        "mbarrier",
        f"waits at barrier {OF_CTA}, where no mbarrier has been initialised",
    ),
    "initialisation that nothing orders": (
        BARRIER + "    if (threadIdx.x == 0) mbarrier_init(&barrier, 32);\n    mbarrier_arrive(&barrier);",
        "race",
        f"updates barrier {OF_CTA}, and nothing orders that behind the write {BY}",
    ),
    "a second initialisation": (
        SETUP + "    if (threadIdx.x == 0) mbarrier_init(&barrier, 1);",
        "mbarrier",
        f"initialises barrier {OF_CTA} again, which has not been invalidated: it is in phase 0, 1 of 1 arrivals missing",
    ),
    "an end while others poll": (
        SETUP
        + "    if (threadIdx.x == 31) mbarrier_invalidate(&barrier);\n    else while (!mbarrier_try_wait(&barrier, 0));",
        "mbarrier",
        f"invalidates barrier {OF_CTA} while threads wait at it",
    ),
    "too many arrivals": (
        SETUP.replace("barrier, 1)", "barrier, 4)") + "    if (threadIdx.x == 0) mbarrier_arrive_count(&barrier, 5);",
        "mbarrier",
        f"arrives 5 times at barrier {OF_CTA}, beyond the 4 arrivals of a phase: it is in phase 0, 4 of 4 arrivals missing",
    ),
    "a plain write over an mbarrier": (
        SETUP + "    if (threadIdx.x == 0) mbarrier_arrive(&barrier);\n    if (threadIdx.x == 1) barrier = 0;",
        "race",
        f"writes barrier {OF_CTA}, and nothing orders that behind the atomic update {BY}",
    ),
    "an mbarrier in global memory": (
        "    mbarrier_init(reinterpret_cast<Barrier*>(out), 1);",
        "mbarrier",
        "initialises an mbarrier at argument out, byte 0 of 256, not in shared memory",
    ),
    "exit with a store that still reads": (
        TILE
        + """    tile[threadIdx.x] = 1;
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
    }""",
        "exit",
        "a thread exits and has not waited for its bulk copy to out[0], which may still read the shared memory of its CTA",
    ),
    "exit with a load in flight": (
        SETUP + LOAD,
        "exit",
        f"CTA (0, 0, 0) exits while the bulk copy to tile[0] {OF_CTA} is in flight: nothing waits for it",
    ),
    "exit with cp.async in flight": (
        TILE + "    if (threadIdx.x == 0) cp_async<4>(tile, x);\n    cp_async_commit();",
        "exit",
        f"a thread exits and has not waited for its cp.async copy to tile[0] {OF_CTA}",
    ),
    "a group that is not waited for": (
        TILE
        + """    cp_async<4>(&tile[threadIdx.x], x + threadIdx.x);
    cp_async_commit();
    cp_async_commit();
    cp_async_wait<2>();
    out[threadIdx.x] = tile[threadIdx.x];
    cp_async_wait<0>();""",
        "in_flight",
        f"reads tile[0] {OF_CTA}, which the cp.async copy {BY} may still be writing: nothing waits for it in between",
    ),
    "another thread's copies without a barrier": (
        TILE
        + """    cp_async<4>(&tile[threadIdx.x], x + threadIdx.x);
    cp_async_commit();
    cp_async_wait<0>();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];""",
        "in_flight",
        f"reads tile[0] {OF_CTA}, which the cp.async copy {BY} may still be writing: nothing waits for it in between",
    ),
    "a size that is no multiple of 16": (
        SETUP + LOAD.replace("x, 128", "x, 120"),
        "misaligned",
        "a bulk copy of 120 bytes, no multiple of 16",
    ),
    "a misaligned source": (
        SETUP + LOAD.replace("tile, x", "tile, x + 1"),
        "misaligned",
        "a bulk copy reads at argument x, byte 4 of 256, which is not aligned to 16 bytes",
    ),
    "beyond the source": (
        SETUP + LOAD.replace("tile, x", "tile, x + 48"),
        "out_of_bounds",
        "a bulk copy reads elements 48 to 79 of argument x, which has 64 elements",
    ),
    "registers that a warpgroup's warps do not agree on": (
        "    if (threadIdx.x < 64) registers_decrease<40>();",
        "collective",
        "setmaxnreg: warps 0 and 2 of one warpgroup did not execute the same ones",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_words(name: str) -> None:
    body, kind, message = CASES[name]
    threads = 128 if "registers" in name else 32
    # Under the other order another thread may be the first at fault.
    both = [found(body, schedule=schedule, threads=threads) for schedule in ("forward", "reverse")]
    assert (kind, message) in {(finding.kind, finding.message) for result in both for finding in result.findings}
    assert all(result.findings for result in both if kind != "exit")


SILENT = {
    "a fence of each reader": (
        SETUP + LOAD + WAIT + USE + "    fence_async_proxy();\n    __syncwarp();\n" + LOAD + WAIT.replace("0)", "1)")
    ),
    "a fence of the thread that stores": TILE
    + """    tile[threadIdx.x] = 1;
    __syncwarp();
    if (threadIdx.x == 0) {
        fence_async_proxy();
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait();
    }""",
    "a fence behind the wait for cp.async": TILE
    + """    cp_async<4>(&tile[threadIdx.x], x + threadIdx.x);
    cp_async_commit();
    cp_async_wait<0>();
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {
        bulk_store(out, tile, 128);
        tma_store_commit();
        tma_store_wait();
    }""",
    "a write between the read and the refill": (
        SETUP
        + (LOAD + WAIT + USE)
        + "    __syncwarp();\n    tile[threadIdx.x] = 7;\n    fence_async_proxy();\n    __syncwarp();\n"
        + (LOAD + WAIT.replace("0)", "1)"))
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_fences_that_suffice(name: str) -> None:
    for schedule in ("forward", "reverse", "random"):
        assert not found(SILENT[name], schedule=schedule).findings


def test_bytes_that_nobody_expected_show_at_the_end() -> None:
    """Delivered at once, the second copy falls into the next phase, which nobody waits for."""
    body = CASES["too few bytes"][0]
    emitted = kernel(body, ARGS, HELPERS, shared=160)
    result = emulate(emitted, 1, ARGS, delivery="now")
    assert [(finding.kind, finding.message) for finding in result.findings] == [
        (
            "mbarrier",
            f"CTA (0, 0, 0) exits while barrier {OF_CTA} is in phase 1, 1 of 1 arrivals missing, "
            "64 bytes more than expected",
        )
    ]


def test_both_accesses_have_their_lines() -> None:
    result = found(SETUP + LOAD + USE + WAIT)
    finding = next(one for one in result.findings if one.kind == "in_flight")
    lines = result.source.split("\n")
    assert "out[threadIdx.x]" in lines[finding.location.call_line - 1]
    assert "bulk_load(tile" in lines[finding.other.location.call_line - 1]


def test_a_deadlock_says_what_is_missing() -> None:
    body = SETUP.replace("barrier, 1)", "barrier, 3)") + "    if (threadIdx.x < 2) mbarrier_arrive(&barrier);\n" + WAIT
    failed = found(body).failed
    assert failed.kind == "deadlock"
    state = f"waits at barrier {OF_CTA} for parity 0 (phase 0, 1 of 3 arrivals missing)"
    assert any(state in line for line in failed.details)


def test_polling_in_vain_says_what_is_missing() -> None:
    failed = found(SETUP + "    while (!mbarrier_try_wait(&barrier, 0));").failed
    assert failed.kind == "endless_wait"
    state = f"polls barrier {OF_CTA} for parity 0 (phase 0, 1 of 1 arrivals missing)"
    assert any(state in line for line in failed.details)


def test_an_arrival_at_a_cta_that_may_have_exited() -> None:
    body = SETUP + SYNC_CLUSTER + "    if (threadIdx.x == 0 && blockIdx.x == 1) mbarrier_arrive_remote(&barrier, 0);\n"
    options = {"cluster": (2, 1, 1), "includes": "cooperative_groups.h"}
    kinds = {
        finding.kind for schedule in ("forward", "reverse") for finding in found(body, 2, schedule, **options).findings
    }
    assert kinds == {"exit"}


def test_a_wait_of_cta_scope_for_a_remote_arrival() -> None:
    body = (
        BARRIER
        + "    __shared__ int seen[1];\n"
        + INIT.replace("COUNT", "1")
        + SYNC_CLUSTER
        + """    if (threadIdx.x == 0 && blockIdx.x == 1) {
        *cooperative_groups::this_cluster().map_shared_rank(seen, 0) = 5;
        mbarrier_arrive_remote(&barrier, 0);
    }
    if (blockIdx.x == 0) {
        mbarrier_wait(&barrier, 0);
        out[threadIdx.x] = seen[0];
    }
"""
        + SYNC_CLUSTER
    )
    options = {"cluster": (2, 1, 1), "includes": "cooperative_groups.h"}
    assert {finding.kind for finding in found(body, 2, **options).findings} == {"race"}


# ---- Waiting loops ----


@pytest.mark.parametrize("order", ["ORDER_RELAXED", "ORDER_ACQUIRE", "ORDER_VOLATILE"])
def test_waiting_loops_of_every_order_give_way(order: str) -> None:
    body = f"""
    using namespace tle2cuda_emulator;
    if (threadIdx.x == 0)
        while (load(flag, {order}, SCOPE_GPU) == 0);
    if (threadIdx.x == 40) atomicExch(flag, 1);"""
    assert run(body, {"flag": np.zeros(1, np.int32)}, threads=64, detect=())["flag"][0] == 1


def test_a_loop_that_waits_for_one_of_two_flags() -> None:
    body = """
    if (threadIdx.x == 0)
        while (*(volatile int*)flag == 0 && *(volatile int*)(flag + 1) == 0);
    if (threadIdx.x == 40) atomicExch(flag + 1, 1);"""
    assert run(body, {"flag": np.zeros(2, np.int32)}, threads=64)["flag"].tolist() == [0, 1]
    vain = fault("    while (*(volatile int*)flag == 0 && *(volatile int*)(flag + 1) == 0);", {"flag": zeros(2)})
    assert vain.failed.kind == "endless_wait"
