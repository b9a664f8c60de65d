"""Warp collectives, barriers, groups, CUB: against what CUDA documents, computed with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.handwritten import run

LANES = np.arange(32)
VALUES = ((LANES * 2654435761) % 1000).astype(np.int32)


def shuffled(call: str, width: int = 32) -> np.ndarray:
    args = {"x": VALUES, "out": np.zeros(32, np.int32)}
    return run(f"    out[threadIdx.x] = {call.format(x='x[threadIdx.x]', width=width)};", args)["out"]


@pytest.mark.parametrize("width", [2, 8, 32])
@pytest.mark.parametrize("operand", [0, 1, 3, 7, 31])
def test_shuffles_stay_inside_their_segment(width: int, operand: int) -> None:
    first = LANES & ~(width - 1)
    from_lane = first | (operand & (width - 1))
    up = np.where(LANES - operand >= first, LANES - operand, LANES)
    down = np.where(LANES + operand < first + width, LANES + operand, LANES)
    xor = np.where((LANES ^ operand) < first + width, LANES ^ operand, LANES)
    mask = "0xffffffffu"
    assert (shuffled(f"__shfl_sync({mask}, {{x}}, {operand}, {{width}})", width) == VALUES[from_lane]).all()
    assert (shuffled(f"__shfl_up_sync({mask}, {{x}}, {operand}, {{width}})", width) == VALUES[up]).all()
    assert (shuffled(f"__shfl_down_sync({mask}, {{x}}, {operand}, {{width}})", width) == VALUES[down]).all()
    assert (shuffled(f"__shfl_xor_sync({mask}, {{x}}, {operand}, {{width}})", width) == VALUES[xor]).all()


def test_halves_of_a_warp_shuffle_by_themselves() -> None:
    body = """
    const int lane = threadIdx.x;
    if (lane < 16)
        out[lane] = __shfl_xor_sync(0x0000ffffu, x[lane], 1);
    else
        out[lane] = __shfl_xor_sync(0xffff0000u, x[lane], 2);"""
    out = run(body, {"x": VALUES, "out": np.zeros(32, np.int32)})["out"]
    assert (out[:16] == VALUES[LANES[:16] ^ 1]).all() and (out[16:] == VALUES[LANES[16:] ^ 2]).all()


@pytest.mark.parametrize("dtype", ["float64", "int64", "float32", "float16"])
def test_shuffles_move_every_type(dtype: str) -> None:
    x = (VALUES / 7).astype(dtype)
    body = "    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 5);"
    out = run(body, {"x": x, "out": np.zeros(32, dtype)}, includes="cuda_fp16.h")["out"]
    assert (out == x[LANES ^ 5]).all()


def test_votes_matches_and_reductions() -> None:
    calls = {
        "__any_sync(m, v > 990)": np.any(VALUES > 990),
        "__all_sync(m, v < 1000)": 1,
        "__all_sync(m, v < 500)": 0,
        "__uni_sync(m, v < 1000)": 1,
        "__ballot_sync(m, v & 1)": sum(1 << i for i in LANES if VALUES[i] & 1),
        "__reduce_add_sync(m, v)": VALUES.sum(),
        "__reduce_min_sync(m, v - 500)": VALUES.min() - 500,
        "__reduce_max_sync(m, v - 500)": VALUES.max() - 500,
        "__reduce_and_sync(m, (unsigned)v | 8u)": np.bitwise_and.reduce(VALUES | 8),
        "__reduce_or_sync(m, (unsigned)v)": np.bitwise_or.reduce(VALUES),
        "__reduce_xor_sync(m, (unsigned)v)": np.bitwise_xor.reduce(VALUES),
        "(int)__match_all_sync(m, v, &all) + all": 0,
    }
    stores = "\n".join(f"    out[{i} * 32 + threadIdx.x] = {call};" for i, call in enumerate(calls))
    body = f"    const unsigned m = 0xffffffffu; const int v = x[threadIdx.x]; int all;\n{stores}"
    out = run(body, {"x": VALUES, "out": np.zeros(32 * len(calls), np.int32)})["out"].reshape(-1, 32)
    for row, (call, want) in zip(out, calls.items(), strict=True):
        assert (row == np.array(want, np.int64).astype(np.int32)).all(), call


def test_match_any_names_the_lanes_with_the_same_value() -> None:
    x = (VALUES % 3).astype(np.int32)
    out = run(
        "    out[threadIdx.x] = __match_any_sync(0xffffffffu, x[threadIdx.x]);", {"x": x, "out": np.zeros(32, np.uint32)}
    )["out"]
    assert out.tolist() == [sum(1 << j for j in LANES if x[j] == x[i]) for i in LANES]


def test_a_lane_that_has_exited_is_not_waited_for() -> None:
    body = """
    if (threadIdx.x >= 24) return;
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);"""
    out = run(body, {"x": VALUES, "out": np.zeros(32, np.int32)})["out"]
    assert (out[:24] == VALUES[LANES[:24] ^ 1]).all()


def test_barriers_that_reduce() -> None:
    body = """
    const int odd = x[threadIdx.x] & 1;
    out[threadIdx.x] = __syncthreads_count(odd);
    out[128 + threadIdx.x] = __syncthreads_and(odd);
    out[256 + threadIdx.x] = __syncthreads_or(odd);"""
    x = np.tile(VALUES, 4)
    out = run(body, {"x": x, "out": np.zeros(384, np.int32)}, threads=128)["out"].reshape(3, 128)
    assert (out[0] == (x & 1).sum()).all() and (out[1] == 0).all() and (out[2] == 1).all()


def test_each_cta_has_shared_variables_of_its_own() -> None:
    body = """
    __shared__ int total;  // not an array
    __shared__ __align__(16) float tile[4][8];
    if (threadIdx.x == 0) total = 0;
    tile[threadIdx.x / 8][threadIdx.x % 8] = x[threadIdx.x] + blockIdx.x;
    __syncthreads();
    atomicAdd(&total, (int)tile[threadIdx.x % 4][threadIdx.x / 4]);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = total;"""
    out = run(body, {"x": VALUES, "out": np.zeros(5, np.int32)}, 5, shared=256)["out"]
    assert out.tolist() == [VALUES.sum() + 32 * i for i in range(5)]


def test_dynamic_shared_memory() -> None:
    body = """
    extern __shared__ __align__(128) unsigned char shared_bytes[];
    int* const words = reinterpret_cast<int*>(shared_bytes);
    words[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = words[31 - threadIdx.x];"""
    out = run(body, {"x": VALUES, "out": np.zeros(32, np.int32)}, dynamic_shared=128)["out"]
    assert (out == VALUES[::-1]).all()


def test_named_groups_of_cooperative_groups() -> None:
    body = """
    namespace cg = cooperative_groups;
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<8>(block);
    int sum = x[block.thread_rank()];
    for (unsigned d = 4; d > 0; d /= 2) sum += tile.shfl_xor(sum, d);
    tile.sync();
    block.sync();
    out[block.thread_rank()] = sum + 1000 * tile.ballot(tile.thread_rank() == 2) + 100000 * tile.meta_group_rank();"""
    out = run(body, {"x": VALUES, "out": np.zeros(32, np.int32)}, includes="cooperative_groups.h")["out"]
    sums = VALUES.reshape(4, 8).sum(1)
    assert (out == np.repeat(sums + 4000 + 100000 * np.arange(4), 8)).all()


def test_clusters_read_each_others_shared_memory() -> None:
    body = """
    const auto cluster = cooperative_groups::this_cluster();
    __shared__ int own[32];
    own[threadIdx.x] = x[threadIdx.x] + 1000 * blockIdx.x;
    cluster.sync();
    const unsigned peer = (cluster.block_rank() + 1) % cluster.num_blocks();
    const int* const theirs = cluster.map_shared_rank(own, peer);
    out[blockIdx.x * 32 + threadIdx.x] = theirs[threadIdx.x] + 1000000 * cluster.query_shared_rank(theirs);
    cluster.sync();"""
    args = {"x": VALUES, "out": np.zeros(8 * 32, np.int32)}
    out = run(body, args, 8, cluster=(4, 1, 1), shared=128, includes="cooperative_groups.h")["out"].reshape(8, 32)
    for cta in range(8):
        peer = (cta % 4 + 1) % 4
        assert (out[cta] == VALUES + 1000 * (cta // 4 * 4 + peer) + 1000000 * peer).all()


def test_cluster_barrier_in_two_halves() -> None:
    body = """
    const auto cluster = cooperative_groups::this_cluster();
    __shared__ int own;
    if (threadIdx.x == 0) own = 7 * blockIdx.x;
    cluster.barrier_arrive();
    const int meanwhile = x[threadIdx.x];
    cluster.barrier_wait();
    out[blockIdx.x * 32 + threadIdx.x] = *cluster.map_shared_rank(&own, 1 - cluster.block_rank()) + meanwhile;
    cluster.sync();"""
    args = {"x": VALUES, "out": np.zeros(64, np.int32)}
    out = run(body, args, 2, cluster=(2, 1, 1), shared=16, includes="cooperative_groups.h")["out"]
    assert (out == np.concatenate([VALUES + 7, VALUES])).all()


def test_grid_barrier() -> None:
    body = """
    const auto grid = cooperative_groups::this_grid();
    for (int step = 0; step < 3; ++step) {
        atomicAdd(&total[step], 1);
        grid.sync();
        if (total[step] != (int)grid.size()) *wrong = 1;
    }"""
    args = {"total": np.zeros(3, np.int32), "wrong": np.zeros(1, np.int32)}
    out = run(body, args, (3, 2, 2), threads=64, cooperative=True, includes="cooperative_groups.h")
    assert out["wrong"][0] == 0 and (out["total"] == 12 * 64).all()


@pytest.mark.parametrize("threads", [32, 96, 256])
def test_cub_scans(threads: int) -> None:
    body = f"""
    using Scan = cub::BlockScan<int, {threads}>;
    __shared__ Scan::TempStorage storage;
    const int t = threadIdx.x;
    int items[4], before[4], total, single;
    for (int i = 0; i < 4; ++i) items[i] = x[4 * t + i];
    Scan(storage).ExclusiveSum(items, before, total);
    for (int i = 0; i < 4; ++i) exclusive[4 * t + i] = before[i];
    totals[t] = total;
    __syncthreads();
    Scan(storage).InclusiveSum(items, items);
    for (int i = 0; i < 4; ++i) inclusive[4 * t + i] = items[i];
    __syncthreads();
    Scan(storage).InclusiveScan(x[t], single, cub::Max());
    largest[t] = single;"""
    x = np.random.default_rng(threads).integers(-99, 99, 4 * threads).astype(np.int32)
    args = {"x": x, "exclusive": np.zeros_like(x), "inclusive": np.zeros_like(x)}
    args |= {"totals": np.zeros(threads, np.int32), "largest": np.zeros(threads, np.int32)}
    out = run(body, args, threads=threads, shared=256, includes="cub/block/block_scan.cuh")
    assert (out["inclusive"] == np.cumsum(x)).all()
    assert (out["exclusive"] == np.cumsum(x) - x).all()
    assert (out["totals"] == x.sum()).all()
    assert (out["largest"] == np.maximum.accumulate(x[:threads])).all()


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("atomicAdd(p, v)", lambda old, v: old + v),
        ("atomicSub(p, v)", lambda old, v: old - v),
        ("atomicMin(p, v)", min),
        ("atomicMax(p, v)", max),
        ("atomicAnd(p, v)", lambda old, v: old & v),
        ("atomicOr_block(p, v)", lambda old, v: old | v),
        ("atomicXor_system(p, v)", lambda old, v: old ^ v),
        ("atomicExch(p, v)", lambda old, v: v),
        ("atomicCAS(p, 5, v)", lambda old, v: v if old == 5 else old),
    ],
)
def test_atomics(call: str, want: object) -> None:
    olds, values = np.array([5, -7, 100], np.int32), np.array([-3, -9, 55], np.int32)
    body = (
        f"    if (threadIdx.x < 3) {{ int* p = x + threadIdx.x; const int v = y[threadIdx.x]; out[threadIdx.x] = {call}; }}"
    )
    out = run(body, {"x": olds, "y": values, "out": np.zeros(3, np.int32)})
    assert (out["out"] == olds).all()
    assert out["x"].tolist() == [want(int(o), int(v)) for o, v in zip(olds, values, strict=True)]


def test_a_counter_that_wraps() -> None:
    body = """
    if (threadIdx.x > 0) return;
    for (int i = 0; i < 12; ++i) out[i] = atomicInc(x, 4u);
    for (int i = 12; i < 24; ++i) out[i] = atomicDec(x + 1, 4u);"""
    out = run(body, {"x": np.zeros(2, np.uint32), "out": np.zeros(24, np.uint32)})["out"]
    assert out[:12].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    assert out[12:].tolist() == [0, 4, 3, 2, 1, 0, 4, 3, 2, 1, 0, 4]
