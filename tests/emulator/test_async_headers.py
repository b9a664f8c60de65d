"""Headers that stand in for CCCL's and cooperative groups' asynchronous parts; the same text compiles for a GPU."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.emulator.asynchronous import fixture, kernel
from tests.emulator.test_async_helpers import Case, ints, zeros
from tests.golden import nvrtc_compile
from tle2cuda.emulator import emulate, tensor_map

SCHEDULES = ("forward", "reverse", "random")
BLOCK = "    const auto block = cooperative_groups::this_thread_block();\n"
# A shared variable of a class whose constructor must not run, as CUDA's own examples have it.
QUIET = "    #pragma nv_diag_suppress static_var_with_dynamic_init\n"
BARRIER = "    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;\n"
INIT = "    if (threadIdx.x == 0) init(&barrier, blockDim.x);\n    __syncthreads();\n"
STATE = "    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;\n"
RAW = (
    "    using namespace cuda::ptx;\n    __shared__ alignas(8) uint64_t barrier;\n"
    "    __shared__ alignas(128) int tile[64];\n"
    "    if (threadIdx.x == 0) {\n        mbarrier_init(&barrier, 1);\n"
    "        fence_mbarrier_init(sem_release, scope_cluster);\n    }\n    __syncthreads();\n"
)
SYNC_CLUSTER = "    barrier_cluster_arrive();\n    barrier_cluster_wait();\n"
X64 = {"x": ints(64), "out": zeros(64)}
REVERSED = {"out": ints(64)[::-1]}
MAP = tensor_map(ints(64).reshape(2, 32), (2, 32))


def headers(case: str, names: str, *args: Any, **options: Any) -> tuple[str, Case]:
    body, arguments, want, grid = args
    return case, Case(QUIET + body, "", arguments, want, grid, {"includes": names, **options})


def ring(setup: str, produce: str, consume: str, shared: int, stages: int = 2) -> tuple[Any, ...]:
    """Eight rows of 32 through a pipeline; `out` becomes their sum, mirrored."""
    return (
        f"""{BLOCK}    constexpr int STAGES = {stages};
    __shared__ int rows[STAGES][32];
{STATE}{setup}{produce}{consume}""",
        {"x": ints(256), "out": zeros(32)},
        {"out": ints(256).reshape(8, 32).sum(0, dtype=np.int32)[::-1]},
        1,
    )


PRODUCE = """        for (int row = 0; row < 8; ++row) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&rows[row % STAGES][lane], x + 32 * row + lane, sizeof(int), pipeline);
            pipeline.producer_commit();
        }
"""
CONSUME = """        int sum = 0;
        for (int row = 0; row < 8; ++row) {
            pipeline.consumer_wait();
            sum += rows[row % STAGES][31 - lane];
            pipeline.consumer_release();
        }
        out[lane] = sum;
"""
ROLES = (
    "    const int lane = threadIdx.x % 32;\n",
    "    if (threadIdx.x < 32) {\n" + PRODUCE,
    "    } else {\n" + CONSUME + "    }\n",
)
CASES: dict[str, Case] = dict(
    (
        headers(
            "barrier: arrive and wait",
            "cuda/barrier",
            BARRIER
            + INIT
            + """    __shared__ int tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    auto token = barrier.arrive();
    const int own = tile[threadIdx.x];
    barrier.wait(std::move(token));
    out[threadIdx.x] = tile[63 - threadIdx.x] + own - threadIdx.x;
    barrier.arrive_and_wait();
    tile[threadIdx.x] = 0;""".replace("std::move(token)", "static_cast<decltype(token)&&>(token)"),
            X64,
            REVERSED,
            1,
            shared=264,
            threads=64,
        ),
        headers(
            "barrier: arrive_and_drop, wait_parity",
            "cuda/barrier",
            BARRIER
            + INIT
            + """    if (threadIdx.x < 32) {
        barrier.arrive_and_drop();
        out[threadIdx.x] = 63 - threadIdx.x;
        return;
    }
    barrier.arrive_and_wait();
    for (int turn = 0; turn < 4; ++turn) {
        (void)barrier.arrive();
        barrier.wait_parity((turn + 1) & 1);
    }
    out[threadIdx.x] = 63 - threadIdx.x;""",
            X64,
            REVERSED,
            1,
            shared=8,
            threads=64,
        ),
        *(
            headers(
                f"barrier: memcpy_async {name}",
                "cuda/barrier cooperative_groups.h",
                BLOCK
                + BARRIER
                + INIT
                + f"""    __shared__ alignas(16) int tile[64];
    {copy}
    barrier.arrive_and_wait();
    out[threadIdx.x] = tile[63 - threadIdx.x];""",
                X64,
                REVERSED,
                1,
                shared=272,
                threads=64,
            )
            for name, copy in (
                ("by a group", "cuda::memcpy_async(block, tile, x, cuda::aligned_size_t<16>(256), barrier);"),
                ("by a thread", "if (threadIdx.x == 5) cuda::memcpy_async(tile, x, 256, barrier);"),
                (
                    "of bytes",
                    "if (threadIdx.x == 5) for (int i = 0; i < 256; i += 128) "
                    "cuda::memcpy_async(i + (char*)tile, i + (char*)x, i ? 128 : 127, barrier);\n"
                    "    if (threadIdx.x == 6) cuda::memcpy_async(127 + (char*)tile, 127 + (char*)x, 1, barrier);",
                ),
            )
        ),
        headers(
            "barrier: memcpy_async_tx",
            "cuda/barrier cuda/ptx",
            BARRIER
            + """    __shared__ alignas(16) int tile[64];
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(tile, x, cuda::aligned_size_t<16>(256), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, 256);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(static_cast<decltype(token)&&>(token));
    out[threadIdx.x] = tile[63 - threadIdx.x];""",
            X64,
            REVERSED,
            1,
            shared=272,
            threads=64,
        ),
        headers(
            "pipeline: roles",
            "cuda/pipeline cooperative_groups.h",
            *ring(
                "    auto role = threadIdx.x < 32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;\n"
                "    auto pipeline = cuda::make_pipeline(block, &state, role);\n" + ROLES[0],
                *ROLES[1:],
                shared=0,
            ),
            shared=256 + 40,
            threads=64,
        ),
        headers(
            "pipeline: a count of producers, and quit",
            "cuda/pipeline cooperative_groups.h",
            *ring(
                "    auto pipeline = cuda::make_pipeline(block, &state, size_t(32));\n" + ROLES[0],
                ROLES[1],
                ROLES[2] + "    pipeline.quit();\n    __syncthreads();\n",
                shared=0,
                stages=3,
            ),
            shared=384 + 56,
            threads=64,
        ),
        headers(
            "pipeline: of one thread",
            "cuda/pipeline cooperative_groups.h",
            """    constexpr int STAGES = 2;
    __shared__ int rows[STAGES][32];
    const int lane = threadIdx.x;
    auto pipeline = cuda::make_pipeline();
    int sum = 0;
    for (int row = -1; row < 8; ++row) {
        if (row < 7) {
            pipeline.producer_acquire();
            cuda::memcpy_async(&rows[(row + 1) % STAGES][lane], x + 32 * (row + 1) + lane, sizeof(int), pipeline);
            pipeline.producer_commit();
        }
        if (row < 0) continue;
        pipeline.consumer_wait();
        __syncwarp();
        sum += rows[row % STAGES][31 - lane];
        __syncwarp();
        pipeline.consumer_release();
    }
    out[lane] = sum;""",
            {"x": ints(256), "out": zeros(32)},
            {"out": ints(256).reshape(8, 32).sum(0, dtype=np.int32)[::-1]},
            1,
            shared=256,
        ),
        headers(
            "pipeline: consumer_wait_prior",
            "cuda/pipeline",
            """    __shared__ int rows[2][32];
    auto pipeline = cuda::make_pipeline();
    for (int row = 0; row < 2; ++row) {
        cuda::memcpy_async(&rows[row][threadIdx.x], x + 32 * row + threadIdx.x, sizeof(int), pipeline);
        pipeline.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<1>(pipeline);
    __syncwarp();
    out[32 + threadIdx.x] = rows[0][31 - threadIdx.x];
    cuda::pipeline_consumer_wait_prior<0>(pipeline);
    __syncwarp();
    out[threadIdx.x] = rows[1][31 - threadIdx.x];""",
            X64,
            REVERSED,
            1,
            shared=256,
        ),
        headers(
            "groups: memcpy_async and wait",
            "cooperative_groups.h cooperative_groups/memcpy_async.h",
            BLOCK
            + """    __shared__ alignas(16) int tile[2][64];
    cooperative_groups::memcpy_async(block, tile[0], x, 256);
    cooperative_groups::memcpy_async(block, tile[1], x, 256);
    cooperative_groups::wait_prior<1>(block);
    const int mirrored = tile[0][63 - threadIdx.x];
    cooperative_groups::wait(block);
    out[threadIdx.x] = mirrored + tile[1][63 - threadIdx.x] - tile[1][63 - threadIdx.x];""",
            X64,
            REVERSED,
            1,
            shared=512,
            threads=64,
        ),
        headers(
            "ptx: bulk copies",
            "cuda/ptx",
            RAW
            + """    if (threadIdx.x == 0) {
        cp_async_bulk(space_cluster, space_global, tile, x, 256, &barrier);
        const uint64_t state = mbarrier_arrive_expect_tx(sem_release, scope_cta, space_shared, &barrier, 256);
        while (!mbarrier_try_wait(sem_acquire, scope_cta, &barrier, state));
        cp_async_bulk(space_global, space_shared, out, tile, 256);
        cp_reduce_async_bulk(space_global, space_shared, op_add, total, tile, 256);
        cp_async_bulk_commit_group();
        cp_async_bulk_wait_group_read(n32_t<0>());
        tile[0] = 5;
        cp_async_bulk_wait_group(n32_t<0>());
    }
    while (!mbarrier_test_wait_parity(&barrier, 0));""",
            {**X64, "total": ints(64)},
            {"out": ints(64), "total": 2 * ints(64)},
            1,
            shared=128 + 256,
        ),
        headers(
            "ptx: tensor copies",
            "cuda/ptx cuda.h",
            RAW
            + """    if (threadIdx.x == 0) {
        const int32_t start[2] = {0, 0};
        mbarrier_expect_tx(sem_relaxed, scope_cta, space_shared, &barrier, 256);
        (void)mbarrier_arrive(&barrier);
        cp_async_bulk_tensor(space_cluster, space_global, tile, &map, start, &barrier);
        while (!mbarrier_try_wait_parity(&barrier, 0));
        cp_reduce_async_bulk_tensor(space_global, space_shared, op_add, &map, start, tile);
        cp_async_bulk_commit_group();
        cp_async_bulk_wait_group(n32_t<0>());
    }""",
            {"map": MAP},
            {"map": 2 * ints(64).reshape(2, 32)},
            1,
            shared=128 + 256,
        ),
        headers(
            "ptx: multicast and remote arrivals",
            "cuda/ptx cooperative_groups.h",
            RAW
            + """    if (threadIdx.x == 0)
        (void)mbarrier_arrive_expect_tx(sem_release, scope_cta, space_shared, &barrier, 256);
"""
            + SYNC_CLUSTER
            + """    if (threadIdx.x == 0 && get_sreg_cluster_ctarank() == 0)
        cp_async_bulk(space_cluster, space_global, tile, x, 256, &barrier, uint16_t(3));
    while (!mbarrier_try_wait_parity(&barrier, 0));
"""
            + SYNC_CLUSTER
            + """    uint64_t* const peer = cooperative_groups::this_cluster().map_shared_rank(&barrier, blockIdx.x ^ 1);
    if (threadIdx.x == 0) mbarrier_arrive(sem_release, scope_cluster, space_cluster, peer);
    while (!mbarrier_try_wait_parity(sem_acquire, scope_cluster, &barrier, 1));
    out[64 * blockIdx.x + threadIdx.x] = tile[63 - threadIdx.x] + getctarank(space_cluster, peer) - (blockIdx.x ^ 1);
"""
            + SYNC_CLUSTER,
            {"x": ints(64), "out": zeros(128)},
            {"out": np.tile(ints(64)[::-1], 2)},
            2,
            shared=128 + 256,
            threads=64,
            cluster=(2, 1, 1),
        ),
    )
)


@pytest.mark.parametrize("name", CASES)
def test_headers_do_what_cuda_documents(name: str) -> None:
    case = CASES[name]
    emitted = case.kernel()
    for schedule in SCHEDULES:
        outputs = emulate(emitted, case.grid, case.args, schedule=schedule, detect="all").check().outputs
        for argument, want in case.want.items():
            np.testing.assert_array_equal(outputs[argument], want, f"{argument}, {schedule}")


def test_the_same_text_compiles_for_a_gpu() -> None:
    """All kernels in one file: the headers take seconds."""
    includes = dict.fromkeys(name for case in CASES.values() for name in case.options["includes"].split())
    texts = [case.kernel().source for case in CASES.values()]
    bodies = [text[text.index('extern "C" __global__') :].replace("\nk(", f"\nk{i}(") for i, text in enumerate(texts)]
    # NVRTC cannot read cuda.h; its tensor map is all that is used of it.
    tensor_map_type = "struct alignas(64) TensorMap { unsigned long long opaque[16]; };\n"
    text = "".join(f"#include <{name}>\n" for name in includes if name != "cuda.h") + tensor_map_type + "\n".join(bodies)
    nvrtc_compile(text, "sm_90a")


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_a_pipeline_of_few_rows(rows: int) -> None:
    x = np.random.default_rng(rows).integers(0, 99, (rows, 64)).astype(np.float32)
    args = {"x": x, "out": np.zeros(64, np.float32), "rows": rows}
    emitted = fixture("block_pipeline", args, threads=64, shared=512 + 40)
    for schedule in SCHEDULES:
        outputs = emulate(emitted, 1, args, schedule=schedule, detect="all").check().outputs
        np.testing.assert_array_equal(outputs["out"], x.sum(0)[::-1])


def test_barriers_of_other_scopes_are_refused() -> None:
    body = "    __shared__ cuda::barrier<cuda::thread_scope_device> barrier;\n    init(&barrier, 1);"
    with pytest.raises(Exception, match=re.escape("the emulator knows barriers of cuda::thread_scope_block alone")):
        emulate(kernel(body, {}, includes="cuda/barrier", shared=8), 1, {})


def test_references_to_numbers_are_cast() -> None:
    body = "    int i = threadIdx.x;\n    static_cast<int&>(i) += 1;\n    out[threadIdx.x] = static_cast<int&&>(i);"
    args = {"out": zeros(32)}
    assert emulate(kernel(body, args), 1, args).check().outputs["out"].tolist() == list(range(1, 33))


def test_a_token_of_another_phase_is_a_finding() -> None:
    body = (
        BARRIER
        + """    if (threadIdx.x == 0) {
        init(&barrier, 1);
        auto first = barrier.arrive();
        (void)barrier.arrive();
        (void)barrier.arrive();
        barrier.wait(static_cast<decltype(first)&&>(first));
    }"""
    )
    result = emulate(kernel(body, {}, includes="cuda/barrier", shared=8), 1, {})
    assert [(finding.kind, finding.message) for finding in result.findings] == [
        (
            "mbarrier",
            "waits at barrier in shared memory of CTA (0, 0, 0) for its phase 0, which is neither the current one nor the "
            "one before: it is in phase 3, 1 of 1 arrivals missing",
        )
    ]
