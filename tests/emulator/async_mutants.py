"""Planted faults in asynchronous kernels: dropped waits, early releases, swapped phases, missing fences, wrong counts."""

from __future__ import annotations

from collections.abc import Iterator

Replacement = tuple[str, str]
# Name, replacements of texts that occur once and take as many lines afterwards, why nothing can go wrong (mostly: it can).
Change = tuple[str, tuple[Replacement, ...], str]

SYNC = "__syncthreads();"
FULL_WAIT = "mbarrier_wait(&shared.full[stage], step / STAGES & 1);"
EMPTY_WAIT = "mbarrier_wait(&shared.empty[stage], (step / STAGES + 1) & 1);"
RELEASE = "if (thread % 32 == 0) mbarrier_arrive(&shared.empty[stage]);"
EXPECT = "mbarrier_expect_bytes(&shared.full[stage], STAGE_BYTES);"
Y_LOAD = "tma_load_2d(shared.y[stage], &y_map, &shared.full[stage]"
FENCE = "            fence_async_proxy();"
STORE = "                tma_store_2d(&out_map"
WAIT_READ = "if (thread == 0) tma_store_wait_read<1>();"
WAIT_GROUP = "cp_async_wait<1>();  "
COMMIT = "cp_async_commit();                               // one group a step, empty behind the last tile"
AND_OF_ALL = f"{SYNC}                                 // and of all others"
FETCH = "fetch(shared.x[(step + 1) % 2], x, next, n);"


def _change(name: str, *replacements: Replacement, equivalent: str = "") -> Change:
    return name, replacements, equivalent


def _swap(name: str, text: str, old: str, new: str) -> Change:
    """A piece of a statement replaced."""
    return _change(name, (text, text.replace(old, new)))


def tma_pipeline() -> Iterator[Change]:
    """Faults of the TMA ring and of the stores behind it."""
    yield _change("wait for a full stage removed", (FULL_WAIT, ""))
    yield _change("wait for an empty stage removed", (EMPTY_WAIT, ""))
    yield _swap("phase of the full stage swapped", FULL_WAIT, "STAGES & 1", "STAGES + 1 & 1")
    yield _swap("phase of the empty stage swapped", EMPTY_WAIT, "(step / STAGES + 1)", "(step / STAGES)")
    yield _swap("phase one step early", FULL_WAIT, "step /", "(step + 1) /")
    yield _swap("phase counted by tiles", FULL_WAIT, "step /", "tile /")
    yield _change("release before the reads", (RELEASE, ""), (FULL_WAIT, f"{FULL_WAIT} __syncwarp(); {RELEASE}"))
    yield _change("release removed", (RELEASE, ""))
    yield _swap("release of the stage by every thread", RELEASE, "if (thread % 32 == 0) ", "")
    yield _change("release without meeting the warp", ("__syncwarp();", ""))
    yield _swap("release of the first stage", RELEASE, "[stage]", "[0]")
    yield _change("count of the empty barrier too small", ("empty[stage], CONSUMERS", "empty[stage], 1"))
    yield _change("count of the empty barrier too large", ("empty[stage], CONSUMERS", "empty[stage], CONSUMERS + 1"))
    yield _change("count of the full barrier too large", ("full[stage], 1);\n", "full[stage], 2);\n"))
    yield _change("too few bytes expected", ("STAGE_BYTES = 2 *", "STAGE_BYTES = 1 *"))
    yield _change("too many bytes expected", ("STAGE_BYTES = 2 *", "STAGE_BYTES = 3 *"))
    yield _change("arrival without the bytes", (EXPECT, "mbarrier_arrive(&shared.full[stage]);"))
    yield _change(
        "bytes expected behind the first copy",
        (EXPECT, ""),
        (Y_LOAD, f"{EXPECT} {Y_LOAD}"),
        equivalent=("the count may fall below zero until the bytes are expected"),
    )
    yield _swap("a copy that completes elsewhere", Y_LOAD, "full[stage]", "full[0]")
    yield _swap("a copy into the next stage", Y_LOAD, "y[stage]", "y[(stage + 1) % STAGES]")
    yield _change("barrier behind the initialisation removed", (SYNC, ""))
    yield _change("fence behind the initialisation removed", ("        fence_mbarrier_init();", ""))
    yield _change("proxy fence in front of the store removed", (FENCE, ""))
    yield _change("proxy fence in front of the writes", (FENCE, ""), (FULL_WAIT, f"{FULL_WAIT} {FENCE.strip()}"))
    yield _swap("proxy fence in one warp", FENCE, "fence", "if (thread >= 32) fence")
    yield _change("proxy fence in the thread that stores", (FENCE, ""), (STORE, f"{FENCE.strip()} {STORE}"))
    yield _change(
        "proxy fences in the threads that issue the copies",
        (FENCE, ""),
        (STORE, f"{FENCE.strip()} {STORE}"),
        (EMPTY_WAIT, f"{EMPTY_WAIT} {FENCE.strip()}"),
    )
    yield _change("proxy fence behind the arrival", (FENCE, ""), (RELEASE, f"{RELEASE} {FENCE.strip()}"))
    yield _change("proxy fence behind the warp's meeting", (FENCE, ""), (RELEASE, f"{FENCE.strip()} {RELEASE}"))
    yield _swap("proxy fence in the lane that arrives", FENCE, "fence", "if (thread % 32 == 0) fence")
    yield _change("barrier in front of the store removed", ("named_barrier_sync(2, 32 * CONSUMERS);", ""))
    yield _change("barrier in front of the writes removed", ("named_barrier_sync(1, 32 * CONSUMERS);", ""))
    yield _change("barrier in front of the store for one warp", ("named_barrier_sync(2, 32 * CONSUMERS)", "__syncwarp()"))
    yield _change("wait for the store's reads removed", (WAIT_READ, ""))
    yield _swap("wait for the store's reads one group too late", WAIT_READ, "<1>", "<2>")
    yield _change("one slot for the sums", ("step % 2;", "0;"))
    yield _change("commit removed", ("tma_store_commit();\n", "\n"))
    yield _change("last wait removed", ("if (thread == 0) tma_store_wait<0>();", ""))
    yield _change(
        "last wait in another thread", ("if (thread == 0) tma_store_wait<0>();", "if (thread == 1) tma_store_wait<0>();")
    )
    yield _change("swizzle left out", ("return column ^ (row % 8) * 4;", "return column;"))
    yield _change("swizzle of another row", ("column ^ (row % 8) * 4;", "column ^ (row / 2 % 8) * 4;"))


def cp_async_stencil() -> Iterator[Change]:
    """Faults of the double buffer."""
    yield _change("wait for the group removed", (WAIT_GROUP, ""))
    yield _swap("wait one group too late", WAIT_GROUP, "<1>", "<2>")
    yield _change("barrier behind the wait removed", (AND_OF_ALL, "// and of all others"))
    yield _change("barrier in front of the wait", (AND_OF_ALL, ""), (WAIT_GROUP, f"{SYNC} {WAIT_GROUP}"))
    yield _change("barrier behind the reads removed", (f"{SYNC}                                 // reads", "// reads"))
    yield _change("commit of the step removed", (COMMIT, ""))
    yield _change("first commit removed", ("x, blockIdx.x, n);\n    cp_async_commit();", "x, blockIdx.x, n);\n"))
    yield _swap("one buffer", FETCH, "(step + 1) % 2", "step % 2")
    yield _change("next tile fetched behind the wait", (FETCH, ";"), (AND_OF_ALL, f"{FETCH} {SYNC}"))
    yield _change("no zeros behind the end", ("min(max(n - first, 0), 4)", "4"))
    yield _change("one element too few", ("min(max(n - first, 0), 4)", "min(max(n - first - 1, 0), 4)"))


def block_pipeline() -> Iterator[Change]:
    """Faults in the use of cuda::pipeline."""
    acquire, commit = "pipeline.producer_acquire();", "pipeline.producer_commit();"
    wait, release = "pipeline.consumer_wait();", "pipeline.consumer_release();"
    yield _change("producer_acquire removed", (acquire, ""))
    yield _change("consumer_wait removed", (wait, ""))
    yield _change("consumer_release removed", (release, ""))
    yield _change("consumer_release before the read", (release, ""), (wait, f"{wait} {release}"))
    yield _change("producer_commit removed", (commit, ""))
    yield _change("producer_commit before the copy", (commit, ""), (acquire, f"{acquire} {commit}"))
    yield _change("one stage more in flight", ("fetched < row + STAGES", "fetched < row + STAGES + 1"))
    yield _change("stage read too early", ("shared.rows[row % STAGES]", "shared.rows[(row + 1) % STAGES]"))
    yield _change("copy into a stage in use", ("&shared.rows[fetched % STAGES]", "&shared.rows[(fetched + 1) % STAGES]"))


def matmul() -> Iterator[Change]:
    """Faults around wgmma."""
    release = "if (threadIdx.x % 128 == 0) mbarrier_arrive(&shared.empty[(k_step - 1) % STAGES]);"
    inner, outer = f"wgmma_wait<1>();\n                    {release}", f"wgmma_wait<0>();\n            {release}"
    yield _change("wait for the products before removed", (inner, f"\n{release}"))
    yield _change("wait for the products before one group too late", (inner, inner.replace("<1>", "<2>")))
    yield _change("last wait for products removed", (outer, f"\n{release}"))
    yield _change("stage released that is in use", (inner, inner.replace("k_step - 1", "k_step")))
    yield _change("commit of the products removed", ("wgmma_commit();\n                //", "\n                //"))
    yield _change("wait for the stage removed", ("mbarrier_wait(&shared.full[stage], (k_step / STAGES) & 1);", ""))
    yield _change("proxy fence behind stmatrix removed", ("fence_async_proxy();\n", "\n"))
    yield _change(
        "strides of a descriptor swapped", ("shared.b[0], BLOCK_K * 128, 1024", "shared.b[0], 1024, BLOCK_K * 128")
    )
    yield _change("fence in front of the products removed", ("wgmma_fence();\n", "\n"))
    yield _change(
        "setmaxnreg in one warp", ("registers_increase<232>();", "if (threadIdx.x % 128 < 32) registers_increase<232>();")
    )


CHANGES = {
    "matmul": matmul,
    "tma_pipeline": tma_pipeline,
    "cp_async_stencil": cp_async_stencil,
    "block_pipeline": block_pipeline,
}
