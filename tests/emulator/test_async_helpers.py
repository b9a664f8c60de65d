"""Device helpers for asynchronous copies, mbarriers and roles: each does what its instruction does, and is legal PTX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.emulator.asynchronous import kernel, with_helpers
from tests.golden import nvrtc_compile
from tests.opcases.case import BF16
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import TensorMap, emulate, tensor_map
from tle2cuda.lowering.helpers import all_helpers

SCHEDULES = ("forward", "reverse", "random")
BARRIER = "    __shared__ Barrier barrier;\n"
INIT = """    if (threadIdx.x == 0) {
        mbarrier_init(&barrier, COUNT);
        fence_mbarrier_init();
    }
    __syncthreads();
"""
INIT_HELPERS = "mbarrier_init fence_mbarrier_init mbarrier_wait"


def ints(count: int, start: int = 0) -> np.ndarray:
    return np.arange(start, start + count, dtype=np.int32)


def zeros(count: int, dtype: Any = np.int32) -> np.ndarray:
    return np.zeros(count, dtype)


@dataclass(frozen=True)
class Case:
    """A small kernel and what it must compute."""

    body: str
    helpers: str
    args: Mapping[str, Any]
    want: Mapping[str, Any]
    grid: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)

    def kernel(self) -> EmittedKernel:
        return kernel(self.body, self.args, self.helpers, **self.options)


def hinted(helper: str, policy: str) -> tuple[str, str, str]:
    """Name of a helper under a policy of the L2 cache, if one is given; its last argument; the helper of the policy."""
    return (f"{helper}_hinted", f", {policy}()", f" {policy}") if policy else (helper, "", "")


def copies(bytes_: int, policy: str = "") -> Case:
    words = bytes_ // 4
    copy, last, also = hinted("cp_async", policy)
    return Case(
        f"""    __shared__ alignas(16) int tile[{32 * words}];
    {copy}<{bytes_}>(&tile[{words} * threadIdx.x], x + {words} * threadIdx.x{last});
    cp_async_commit();
    cp_async_wait<0>();
    __syncwarp();
    for (int i = threadIdx.x; i < {32 * words}; i += 32) out[i] = tile[{32 * words} - 1 - i];""",
        f"{copy} cp_async_commit cp_async_wait{also}",
        {"x": ints(32 * words), "out": zeros(32 * words)},
        {"out": ints(32 * words)[::-1]},
        options={"shared": 128 * words},
    )


def zero_filled(bytes_: int, policy: str = "") -> Case:
    """Lane i copies i bytes as far as there is room, and zeros behind them."""
    copy, last, also = hinted("cp_async_zero_fill", policy)
    want = np.zeros((32, bytes_), np.uint8)
    x = np.arange(1, 32 * bytes_ + 1).astype(np.uint8).reshape(32, bytes_)
    for lane in range(32):
        want[lane, : min(lane, bytes_)] = x[lane, : min(lane, bytes_)]
    return Case(
        f"""    __shared__ alignas(16) unsigned char tile[32][{bytes_}];
    {copy}<{bytes_}>(tile[threadIdx.x], x + {bytes_} * threadIdx.x, min(threadIdx.x, {bytes_}u){last});
    cp_async_wait_all();
    for (int i = 0; i < {bytes_}; ++i) out[{bytes_} * threadIdx.x + i] = tile[threadIdx.x][i];""",
        f"{copy} cp_async_wait_all{also}",
        {"x": x.reshape(-1), "out": zeros(32 * bytes_, np.uint8)},
        {"out": want.reshape(-1)},
        options={"shared": 32 * bytes_},
    )


def edges() -> Case:
    """Lane i copies i elements as far as there is room, none for the first lanes, and zeros behind them."""
    x = np.arange(1, 129).astype(np.int32).reshape(32, 4)
    want = x * (np.arange(4) < np.arange(-2, 30)[:, None])
    return Case(
        """    __shared__ alignas(16) int tile[32][4];
    cp_async_edge<16>(tile[threadIdx.x], x + 4 * threadIdx.x, static_cast<int>(threadIdx.x) - 2);
    cp_async_wait_all();
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = tile[threadIdx.x][i];""",
        "cp_async_edge cp_async_wait_all",
        {"x": x.reshape(-1), "out": zeros(128)},
        {"out": want.reshape(-1).astype(np.int32)},
        options={"shared": 512},
    )


def arrival_behind_copies(helper: str, count: int) -> Case:
    return Case(
        BARRIER
        + "    __shared__ int tile[64];\n"
        + INIT.replace("COUNT", str(count))
        + f"""    cp_async<4>(&tile[threadIdx.x], x + threadIdx.x);
    {helper}(&barrier);
    {"mbarrier_arrive(&barrier);" if count == 64 and "noinc" not in helper else ""}
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x];""",
        f"{INIT_HELPERS} cp_async {helper} mbarrier_arrive",
        {"x": ints(64), "out": zeros(64)},
        {"out": ints(64)[::-1]},
        options={"shared": 264, "threads": 64},
    )


def bulk_reductions(operation: str) -> Case:
    """One operation on arrays of each type that has it."""
    function, names = REDUCTIONS[operation]
    body, args, want = "", {}, {}
    reductions, helpers = "", [f"bulk_reduce_{operation}_{name}" for name in names.split()]
    for i, name in enumerate(names.split()):
        dtype, type_ = REDUCED[name]
        x, out = (np.random.default_rng(seed).integers(0, 1000, 64).astype(dtype) for seed in (1, 2))
        args |= {f"x{i}": x, f"out{i}": out}
        want[f"out{i}"] = function(x, out)
        body += f"""    __shared__ alignas(16) {type_} tile{i}[64];
    tile{i}[threadIdx.x] = x{i}[threadIdx.x];
    tile{i}[threadIdx.x + 32] = x{i}[threadIdx.x + 32];
"""
        reductions += f"        {helpers[i]}(out{i}, tile{i}, sizeof tile{i});\n"
    return Case(
        f"""{body}    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {{
{reductions}        tma_store_commit();
        tma_store_wait();
    }}""",
        " ".join((*helpers, "fence_async_proxy", "tma_store_commit", "tma_store_wait")),
        args,
        want,
        options={"shared": sum(array.nbytes for array in want.values()), "includes": "cuda_fp16.h cuda_bf16.h"},
    )


REDUCTIONS = {
    "add": (np.add, "s32 u32 u64 f32 f64 f16 bf16"),
    "min": (np.minimum, "s32 u32 s64 u64"),
    "max": (np.maximum, "s32 u32 s64 u64"),
    "and": (np.bitwise_and, "b32 b64"),
    "or": (np.bitwise_or, "b32 b64"),
    "xor": (np.bitwise_xor, "b32 b64"),
}
REDUCED = {
    "s32": (np.int32, "int"),
    "u32": (np.uint32, "unsigned"),
    "b32": (np.uint32, "unsigned"),
    "s64": (np.int64, "long long"),
    "u64": (np.uint64, "unsigned long long"),
    "b64": (np.uint64, "unsigned long long"),
    "f32": (np.float32, "float"),
    "f64": (np.float64, "double"),
    "f16": (np.float16, "__half"),
    "bf16": (BF16, "__nv_bfloat16"),
}
CLUSTER = {"cluster": (4, 1, 1), "includes": "cooperative_groups.h"}
SYNC_CLUSTER = "    cooperative_groups::this_cluster().sync();\n"
BULK = (
    BARRIER
    + "    __shared__ alignas(16) int tile[64];\n"
    + INIT.replace("COUNT", "1")
    + """    if (threadIdx.x == 0) {
        mbarrier_expect_bytes(&barrier, 256);
        bulk_load(tile, x, 256, &barrier);
    }
    WAIT
    out[threadIdx.x] = tile[63 - threadIdx.x];"""
)
BULK_HELPERS = f"{INIT_HELPERS} mbarrier_expect_bytes bulk_load"
BULK_ARGS = {"x": ints(64), "out": zeros(64)}
BULK_OPTIONS = {"shared": 272, "threads": 64}

CASES: dict[str, Case] = {
    **{f"cp_async {n}": copies(n) for n in (4, 8, 16)},
    **{f"cp_async_zero_fill {n}": zero_filled(n) for n in (4, 8, 16)},
    **{f"cp_async {n}, used once": copies(n, "evict_first_policy") for n in (4, 16)},
    **{f"cp_async_zero_fill {n}, used again": zero_filled(n, "evict_last_policy") for n in (8, 16)},
    "cp_async_edge": edges(),
    "cp_async groups": Case(
        """    __shared__ int tile[4][32];
    for (int i = 0; i < 4; ++i) {
        cp_async<4>(&tile[i][threadIdx.x], x + 32 * i + threadIdx.x);
        cp_async_commit();
    }
    cp_async_wait<2>();
    out[threadIdx.x] = tile[0][threadIdx.x] + tile[1][threadIdx.x];
    cp_async_wait<1>();
    out[threadIdx.x] += tile[2][threadIdx.x];
    cp_async_wait<0>();
    out[threadIdx.x] += tile[3][threadIdx.x];""",
        "cp_async cp_async_commit cp_async_wait",
        {"x": ints(128), "out": zeros(32)},
        {"out": 4 * ints(32) + 192},
        options={"shared": 512},
    ),
    "cp_async_mbarrier_arrive": arrival_behind_copies("cp_async_mbarrier_arrive", 64),
    "cp_async_mbarrier_arrive_noinc": arrival_behind_copies("cp_async_mbarrier_arrive_noinc", 64),
    "bulk_load": Case(
        BULK.replace("WAIT", "mbarrier_wait(&barrier, 0);"),
        BULK_HELPERS,
        BULK_ARGS,
        {"out": ints(64)[::-1]},
        1,
        BULK_OPTIONS,
    ),
    "mbarrier_try_wait": Case(
        BULK.replace("WAIT", "while (!mbarrier_try_wait(&barrier, 0));"),
        f"{BULK_HELPERS} mbarrier_try_wait",
        BULK_ARGS,
        {"out": ints(64)[::-1]},
        1,
        BULK_OPTIONS,
    ),
    "mbarrier_poll": Case(
        BULK.replace("WAIT", "mbarrier_poll(&barrier, 0);"),
        f"{BULK_HELPERS} mbarrier_poll",
        BULK_ARGS,
        {"out": ints(64)[::-1]},
        1,
        BULK_OPTIONS,
    ),
    "mbarrier_arrive_each": Case(
        BARRIER
        + "    __shared__ int tile[64];\n"
        + INIT.replace("COUNT", "66")
        + """    tile[threadIdx.x] = x[threadIdx.x];
    mbarrier_arrive(&barrier);
    if (threadIdx.x == 32) mbarrier_arrive_each(&barrier, 2);
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x];""",
        f"{INIT_HELPERS} mbarrier_arrive mbarrier_arrive_each",
        {"x": ints(64), "out": zeros(64)},
        {"out": ints(64)[::-1]},
        options={"shared": 264, "threads": 64},
    ),
    "mbarrier_test_wait": Case(
        BULK.replace("WAIT", "while (!mbarrier_test_wait(&barrier, 0));"),
        f"{BULK_HELPERS} mbarrier_test_wait",
        BULK_ARGS,
        {"out": ints(64)[::-1]},
        1,
        BULK_OPTIONS,
    ),
    "mbarrier_add_bytes, mbarrier_arrive_count, mbarrier_invalidate": Case(
        BARRIER
        + "    __shared__ alignas(16) int tile[64];\n"
        + INIT.replace("COUNT", "3")
        + """    if (threadIdx.x == 0) {
        bulk_load(tile, x, 256, &barrier);
        mbarrier_add_bytes(&barrier, 256);
        mbarrier_arrive_count(&barrier, 2);
        mbarrier_arrive(&barrier);
    }
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[63 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_invalidate(&barrier);
        mbarrier_init(&barrier, 1);
        mbarrier_arrive(&barrier);
        mbarrier_wait(&barrier, 0);
    }""",
        f"{INIT_HELPERS} bulk_load mbarrier_add_bytes mbarrier_arrive_count mbarrier_arrive mbarrier_invalidate",
        BULK_ARGS,
        {"out": ints(64)[::-1]},
        1,
        BULK_OPTIONS,
    ),
    "bulk_store": Case(
        """    __shared__ alignas(16) int tile[2][32];
    for (int k = 0; k < 4; ++k) {
        if (threadIdx.x == 0) tma_store_wait_read<1>();
        __syncwarp();
        tile[k % 2][threadIdx.x] = x[32 * k + 31 - threadIdx.x];
        fence_async_proxy();
        __syncwarp();
        if (threadIdx.x == 0) {
            bulk_store(out + 32 * k, tile[k % 2], 128);
            tma_store_commit();
        }
    }
    if (threadIdx.x == 0) tma_store_wait<0>();""",
        "bulk_store fence_async_proxy tma_store_commit tma_store_wait tma_store_wait_read",
        {"x": ints(128), "out": zeros(128)},
        {"out": ints(128).reshape(4, 32)[:, ::-1].reshape(-1)},
        options={"shared": 256},
    ),
    "fence_async_proxy_global, fence_async_proxy_all": Case(
        BARRIER
        + "    __shared__ alignas(16) int tile[64];\n"
        + INIT.replace("COUNT", "1").replace("fence_mbarrier_init", "fence_async_proxy_all")
        + """    out[32 + threadIdx.x] = x[threadIdx.x] + 1;
    fence_async_proxy_global();
    __syncthreads();
    if (threadIdx.x == 0) {
        mbarrier_expect_bytes(&barrier, 128);
        bulk_load(tile, out + 32, 128, &barrier);
    }
    mbarrier_wait(&barrier, 0);
    out[threadIdx.x] = tile[31 - threadIdx.x];""",
        f"{BULK_HELPERS} fence_async_proxy_global fence_async_proxy_all",
        {"x": ints(32), "out": zeros(64)},
        {"out": np.concatenate([ints(32, 1)[::-1], ints(32, 1)])},
        options={"shared": 272},
    ),
    **{f"bulk_reduce_{operation}": bulk_reductions(operation) for operation in REDUCTIONS},
    "bulk_load_multicast": Case(
        BARRIER
        + "    __shared__ alignas(16) int tile[32];\n"
        + INIT.replace("COUNT", "1")
        + "    if (threadIdx.x == 0 && blockIdx.x != 2) mbarrier_expect_bytes(&barrier, 128);\n"
        + SYNC_CLUSTER
        + """    if (threadIdx.x == 0 && blockIdx.x == 1) bulk_load_multicast(tile, x, 128, &barrier, 0b1011);
    if (blockIdx.x != 2) {
        mbarrier_wait(&barrier, 0);
        out[32 * blockIdx.x + threadIdx.x] = tile[31 - threadIdx.x];
    }
"""
        + SYNC_CLUSTER,
        f"{INIT_HELPERS} mbarrier_expect_bytes bulk_load_multicast",
        {"x": ints(32), "out": zeros(128)},
        {"out": np.concatenate([ints(32)[::-1], ints(32)[::-1], zeros(32), ints(32)[::-1]])},
        4,
        {"shared": 144, **CLUSTER},
    ),
    "bulk_send": Case(
        BARRIER
        + "    __shared__ alignas(16) int tile[32];\n    __shared__ alignas(16) int there[32];\n"
        + INIT.replace("COUNT", "1")
        + "    if (threadIdx.x == 0) mbarrier_expect_bytes(&barrier, 128);\n"
        + "    tile[threadIdx.x] = 32 * blockIdx.x + threadIdx.x;\n    fence_async_proxy();\n"
        + SYNC_CLUSTER
        + """    if (threadIdx.x == 0) bulk_send(there, tile, 128, &barrier, (blockIdx.x + 1) % 4);
    mbarrier_wait(&barrier, 0);
    out[32 * blockIdx.x + threadIdx.x] = there[31 - threadIdx.x];
"""
        + SYNC_CLUSTER,
        f"{INIT_HELPERS} mbarrier_expect_bytes bulk_send fence_async_proxy",
        {"out": zeros(128)},
        {"out": np.roll(ints(128).reshape(4, 32)[:, ::-1], 1, axis=0).reshape(-1)},
        4,
        {"shared": 272, **CLUSTER},
    ),
    "mbarrier_arrive_remote, mbarrier_wait_cluster": Case(
        BARRIER
        + "    __shared__ int seen[4];\n"
        + INIT.replace("COUNT", "4")
        + SYNC_CLUSTER
        + """    if (threadIdx.x == 0) {
        cooperative_groups::this_cluster().map_shared_rank(seen, 0)[blockIdx.x] = 10 + blockIdx.x;
        mbarrier_arrive_remote(&barrier, 0);
    }
    if (blockIdx.x == 0 && threadIdx.x < 4) {
        mbarrier_wait_cluster(&barrier, 0);
        out[threadIdx.x] = seen[threadIdx.x];
    }
"""
        + SYNC_CLUSTER,
        f"{INIT_HELPERS} mbarrier_arrive_remote mbarrier_wait_cluster",
        {"out": zeros(4)},
        {"out": ints(4, 10)},
        4,
        {"shared": 32, **CLUSTER},
    ),
    "mbarrier_free": Case(
        BARRIER
        + INIT.replace("COUNT", "4")
        + SYNC_CLUSTER
        + """    if (threadIdx.x < 4) mbarrier_free(&barrier, threadIdx.x);
    mbarrier_wait_cluster(&barrier, 0);
    out[32 * blockIdx.x + threadIdx.x] = threadIdx.x;
"""
        + SYNC_CLUSTER,
        f"{INIT_HELPERS} mbarrier_free mbarrier_wait_cluster",
        {"out": zeros(128)},
        {"out": np.tile(ints(32), 4)},
        4,
        {"shared": 16, **CLUSTER},
    ),
    "mbarrier_expect_bytes_remote": Case(
        BARRIER
        + "    __shared__ alignas(16) int tile[32];\n"
        + INIT.replace("COUNT", "1")
        + SYNC_CLUSTER
        + """    if (threadIdx.x == 0 && blockIdx.x == 3) {
        for (int rank = 0; rank < 4; ++rank) mbarrier_expect_bytes_remote(&barrier, 128, rank);
        bulk_load_multicast(tile, x, 128, &barrier, 0xf);
    }
    mbarrier_wait_cluster(&barrier, 0);
    out[32 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];
"""
        + SYNC_CLUSTER,
        f"{INIT_HELPERS} mbarrier_wait_cluster mbarrier_expect_bytes_remote bulk_load_multicast",
        {"x": ints(32), "out": zeros(128)},
        {"out": np.tile(ints(32), 4)},
        4,
        {"shared": 144, **CLUSTER},
    ),
    "named barriers": Case(
        """    __shared__ int tile[64];
    if (threadIdx.x < 64) {
        tile[threadIdx.x] = x[threadIdx.x];
        named_barrier_arrive(3, 128);
        named_barrier_sync(4, 64);
        out[threadIdx.x] = tile[63 - threadIdx.x];
    } else {
        named_barrier_sync(3, 128);
        out[threadIdx.x] = tile[127 - threadIdx.x];
    }""",
        "named_barrier_sync named_barrier_arrive",
        {"x": ints(64), "out": zeros(128)},
        {"out": np.tile(ints(64)[::-1], 2)},
        options={"shared": 256, "threads": 128},
    ),
    "partitions meet": Case(
        """    __shared__ int tile[128];
    if (threadIdx.x < 64) {
        tile[threadIdx.x] = x[threadIdx.x];
        meeting_barrier_sync(0, 128);
        out[threadIdx.x] = tile[127 - threadIdx.x];
    } else {
        tile[threadIdx.x] = 0;
        meeting_barrier_sync(0, 128);
        out[threadIdx.x] = tile[127 - threadIdx.x];
    }""",
        "meeting_barrier_sync",
        {"x": ints(64), "out": zeros(128)},
        {"out": np.concatenate([zeros(64), ints(64)[::-1]])},
        options={"shared": 512, "threads": 128},
    ),
    "warpgroup_barrier, setmaxnreg": Case(
        """    __shared__ int tile[256];
    const int warpgroup = threadIdx.x / 128;
    if (warpgroup == 0) registers_decrease<40>();
    else registers_increase<232>();
    tile[threadIdx.x] = x[threadIdx.x];
    warpgroup_barrier(warpgroup);
    out[threadIdx.x] = tile[threadIdx.x ^ 127];""",
        "warpgroup_barrier registers_decrease registers_increase",
        {"x": ints(256), "out": zeros(256)},
        {"out": ints(256) ^ 127},
        options={"shared": 1024, "threads": 256},
    ),
    "elect_one": Case(
        "    if (elect_one()) atomicAdd(out + threadIdx.x / 32, 1);",
        "elect_one",
        {"out": zeros(4)},
        {"out": zeros(4) + 1},
        options={"threads": 128},
    ),
    "grid_dependency": Case(
        "    wait_for_previous_grid();\n    out[threadIdx.x] = threadIdx.x;\n    let_next_grid_begin();",
        "wait_for_previous_grid let_next_grid_begin",
        {"out": zeros(32)},
        {"out": ints(32)},
    ),
}
# ---- Tensor copies: 1 to 5 dimensions, whole boxes; edges and swizzles are in test_tensor_maps.py ----

SHAPES = {1: (64,), 2: (6, 32), 3: (3, 4, 16), 4: (2, 3, 4, 8), 5: (2, 2, 3, 2, 8)}


def coordinates(rank: int) -> str:
    return ", ".join("0" for _ in range(rank))


def tensor_case(rank: int, cluster: bool = False) -> Case:
    """x goes into shared memory and from there into out, and is added to total."""
    x = np.arange(np.prod(SHAPES[rank]), dtype=np.int32).reshape(SHAPES[rank]) + 5
    maps = {name: tensor_map(array, x.shape) for name, array in (("x", x), ("out", 0 * x), ("total", 2 * x))}
    zero = coordinates(rank)
    load = f"tma_load_{rank}d(tile, &x, &barrier, {zero});"
    if cluster:
        load = f"tma_load_multicast_{rank}d(tile, &x, &barrier, 1, {zero});"
    body = (
        BARRIER
        + f"    __shared__ alignas(128) int tile[{x.size}];\n"
        + INIT.replace("COUNT", "1")
        + f"""    if (threadIdx.x == 0) {{
        mbarrier_expect_bytes(&barrier, {x.nbytes});
        {load}
        mbarrier_wait(&barrier, 0);
        tma_store_{rank}d(&out, tile, {zero});
        tma_reduce_add_{rank}d(&total, tile, {zero});
        tma_store_commit();
        tma_store_wait();
    }}"""
    )
    helpers = (
        f"{INIT_HELPERS} mbarrier_expect_bytes tma_{'load_multicast' if cluster else 'load'}_{rank}d tma_store_{rank}d "
    )
    helpers += f"tma_reduce_add_{rank}d tma_store_commit tma_store_wait"
    return Case(body, helpers, maps, {"out": x, "total": 3 * x}, options={"shared": 128 + x.nbytes})


def reductions_case(rank: int) -> Case:
    """Every operation but `add`, each on an array of its own."""
    shape = SHAPES[rank]
    operations = [operation for operation in REDUCTIONS if operation != "add"]
    x, out = (np.random.default_rng(seed).integers(0, 1000, shape).astype(np.uint32) for seed in (1, 2))
    reductions = "".join(
        f"        tma_reduce_{operation}_{rank}d(&out_{operation}, tile, {coordinates(rank)});\n"
        for operation in operations
    )
    body = f"""    __shared__ alignas(128) unsigned tile[{x.size}];
    for (int i = threadIdx.x; i < {x.size}; i += 32) tile[i] = x[i];
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {{
        tma_prefetch_map(&out_min);
{reductions}        tma_store_commit();
        tma_store_wait();
    }}"""
    helpers = "tma_prefetch_map fence_async_proxy tma_store_commit tma_store_wait "
    return Case(
        body,
        helpers + " ".join(f"tma_reduce_{operation}_{rank}d" for operation in operations),
        {"x": x.reshape(-1)} | {f"out_{operation}": tensor_map(out.copy(), shape) for operation in operations},
        {f"out_{operation}": REDUCTIONS[operation][0](x, out) for operation in operations},
        options={"shared": x.nbytes},
    )


CASES |= {f"tma {rank}d": tensor_case(rank) for rank in SHAPES}
CASES |= {f"tma multicast {rank}d": tensor_case(rank, cluster=True) for rank in SHAPES}


def product_case(columns: int, left: str = "", right: str = "_b_along_n") -> Case:
    """acc = a @ b for 64 rows and a depth of 64: tiles under the 128-byte swizzle, written by ordinary stores."""
    rng = np.random.default_rng(columns)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((64, 64), (64, columns)))
    along_k = not right
    panel = "b[n][(k ^ n % 8 * 8) % 64]" if along_k else "b[n / 64 * 64 + k][(n % 64) ^ k % 8 * 8]"
    name = f"wgmma_m64n{columns}k16_f32_f16{left}{right}"
    first, offset = "a_first + k * 2 / 16", "k * 2 / 16" if along_k else "k * 128 / 16"
    fragment = ""
    if left == "_a_registers":
        first = "fragment"
        fragment = """const int row = 16 * (threadIdx.x / 32) + threadIdx.x % 32 / 4, pair = k + threadIdx.x % 4 * 2;
        const unsigned fragment[4] = {word(x + 64 * row + pair), word(x + 64 * (row + 8) + pair),
                                      word(x + 64 * row + pair + 8), word(x + 64 * (row + 8) + pair + 8)};"""
    body = f"""    __shared__ alignas(1024) __half a[64][64];
    __shared__ alignas(1024) __half b[{columns}][64];
    const auto word = [](const __half* pair) {{ return *reinterpret_cast<const unsigned*>(pair); }};
    for (int i = threadIdx.x; i < 64 * 64; i += 128) a[i / 64][(i % 64) ^ i / 64 % 8 * 8] = x[i];
    for (int i = threadIdx.x; i < 64 * {columns}; i += 128) {{
        const int k = i / {columns}, n = i % {columns};
        {panel} = y[i];
    }}
    fence_async_proxy();
    __syncthreads();
    const Descriptor a_first = wgmma_descriptor<128>(a, 16, 1024);
    const Descriptor b_first = wgmma_descriptor<128>(b, {16 if along_k else 64 * 128}, 1024);
    Vector<float, 2> acc[{columns // 4}];
    wgmma_fence();
    keep_sums(acc);
    for (int k = 0; k < 64; k += 16) {{
        {fragment}
        {name}(acc, {first}, b_first + {offset}, k > 0);
    }}
    (void)a_first;
    (void)word;
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < {columns // 2}; ++i)
    {{
        const int row = 16 * (threadIdx.x / 32) + threadIdx.x % 32 / 4 + i % 4 / 2 * 8;
        out[row * {columns} + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = acc[i / 2][i % 2];
    }}"""
    return Case(
        body,
        f"{name} keep_sums wgmma_descriptor wgmma_fence wgmma_commit wgmma_wait fence_async_proxy",
        {"x": a.reshape(-1), "y": b.reshape(-1), "out": zeros(64 * columns, np.float32)},
        {"out": (a.astype(np.float32) @ b.astype(np.float32)).reshape(-1)},
        options={"shared": 64 * 64 * 2 + columns * 64 * 2, "threads": 128, "includes": "cuda_fp16.h"},
    )


MATRICES = """    __shared__ alignas(16) unsigned tile[32][4];
    const unsigned lane = threadIdx.x;
    const unsigned first = lane << 16 | lane;
    stmatrix_x4(shared_address(tile[lane]), first, first + 0x10001u * 32, first + 0x10001u * 64, first + 0x10001u * 96);
    __syncwarp();
    for (int i = 0; i < 4; ++i) out[4 * lane + i] = tile[lane][i] & 0xffff;"""
PAIRS = """    __shared__ alignas(16) unsigned short tile[32][8];
    const unsigned lane = threadIdx.x;
    Vector<unsigned short, 2> pairs[4];
    for (int i = 0; i < 8; ++i) pairs[i / 2][i % 2] = (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2;
    store_matrices(tile[lane], pairs[0], pairs[1], pairs[2], pairs[3]);
    __syncwarp();
    for (int i = 0; i < 8; ++i) out[8 * lane + i] = tile[lane][i];"""
CASES |= {
    "store_matrices": Case(PAIRS, "store_matrices", {"out": zeros(256)}, {"out": ints(256)}, options={"shared": 512}),
    "stmatrix_x4": Case(
        MATRICES, "stmatrix_x4 shared_address", {"out": zeros(128)}, {"out": ints(128)}, options={"shared": 512}
    ),
    **{f"wgmma {columns}": product_case(columns) for columns in (64, 128, 256)},
    "wgmma, B along K": product_case(128, right=""),
    "wgmma, A in registers": product_case(128, "_a_registers"),
}
CASES |= {f"tma_reduce {rank}d": reductions_case(rank) for rank in SHAPES}


@pytest.mark.parametrize("name", CASES)
def test_helpers_do_what_their_instructions_do(name: str) -> None:
    case = CASES[name]
    emitted = case.kernel()
    for schedule in SCHEDULES:
        outputs = emulate(emitted, case.grid, case.args, schedule=schedule, detect="all").check().outputs
        for argument, want in case.want.items():
            np.testing.assert_array_equal(outputs[argument], want, f"{argument}, {schedule}")


@pytest.mark.parametrize("number", range(2))
def test_helpers_are_legal_ptx(number: int) -> None:
    """One file holds a kernel of each case: compiling them one by one takes much longer."""
    names = [name for i, name in enumerate(CASES) if i % 2 == number]
    helpers = dict.fromkeys(helper for name in names for helper in CASES[name].helpers.split())
    texts = [CASES[name].kernel().source for name in names]
    bodies = [text[text.index('extern "C" __global__') :].replace("\nk(", f"\nk{i}(") for i, text in enumerate(texts)]
    header_names = dict.fromkeys(name for case in names for name in CASES[case].options.get("includes", "").split())
    includes = "".join(f"#include <{name}>\n" for name in header_names)
    nvrtc_compile(includes + with_helpers(f"// helpers: {' '.join(helpers)} TensorMap\n") + "\n".join(bodies), "sm_90a")


def test_every_asynchronous_helper_is_tried() -> None:
    files = {
        "async_proxy.cuh",
        "bulk_copy.cuh",
        "bulk_reduce.cuh",
        "cp_async.cuh",
        "mbarrier.cuh",
        "roles.cuh",
        "tma_load.cuh",
        "tma_load_multicast.cuh",
        "tma_reduce.cuh",
        "tma_store.cuh",
        "wgmma.cuh",
    }
    used = {helper for case in CASES.values() for helper in case.helpers.split()}
    missing = {name for name, helper in all_helpers().items() if helper.file in files and helper.twin} - used
    assert not missing, f"no case uses {sorted(missing)}"
    assert files == {helper.file for helper in all_helpers().values() if helper.file in files}
    assert isinstance(tensor_map(np.zeros(16, np.int32), (16,)), TensorMap)
