"""Memory of other CTAs and barriers of clusters behind partitions, whose workers have left: the emitted text."""

from __future__ import annotations

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.emulator import emulate
from tle2cuda.language import tle

LINE4 = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})


@tle2cuda.jit
def put(w, x, N: tl.constexpr):
    tle.gpu.copy(x + tl.program_id(0) * N + tl.arange(0, N), w.acquire(0).row, [N])
    w.commit(0)


@tle2cuda.jit
def take(r, N: tl.constexpr):
    return tl.sum(r.wait(0).slot.row.load())


@tle2cuda.jit
def sums_of_pairs(x, out, mesh: tl.constexpr, N: tl.constexpr):
    box = tle.gpu.alloc([1], tl.int32, nv_mma_shared_layout=False)
    row = tle.gpu.alloc([1, N], tl.int32, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=1, one_shot=True, row=row)
    total = tle.gpu.warp_specialize([(take, (p.reader(), N)), (put, (p.writer(), x, N))], [1], [24])
    tl.store(tle.gpu.local_ptr(box, (0,)), total)
    rank = tle.shard_id(mesh, "cluster_x")
    if rank < 2:
        tle.distributed_barrier(mesh[0:2])
    else:
        tle.distributed_barrier(mesh[2:4])
    other = tl.load(tle.gpu.local_ptr(tle.remote(box, rank ^ 1, scope=mesh), (0,)))
    tl.store(out + tl.program_id(0), total + other)


@tle2cuda.jit
def put_rows(w, x, n, N: tl.constexpr):
    """Rows of a CTA into a ring."""
    for k in range(n):
        tle.gpu.copy(x + (tl.program_id(0) * n + k) * N + tl.arange(0, N), w.acquire(k).row, [N])
        w.commit(k)


@tle2cuda.jit
def take_sum(r, n, N: tl.constexpr):
    """The sum of all rows."""
    total = tl.zeros((N,), tl.int32)
    for k in range(n):
        total += r.wait(k).slot.row.load()
        r.release(k)
    return tl.sum(total)


@tle2cuda.jit
def sums_behind_partitions(x, out, n, mesh: tl.constexpr, N: tl.constexpr):
    """Sums that partitions computed go to all CTAs of the cluster."""
    box = tle.gpu.alloc([4], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    rows = tle.gpu.alloc([2, N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=2, name="rows", row=rows)
    total = tle.gpu.warp_specialize([(take_sum, (p.reader(), n, N)), (put_rows, (p.writer(), x, n, N))], [1], [24])
    rank = tle.shard_id(mesh, "cluster_x")
    for peer in tl.static_range(4):
        tl.store(tle.gpu.local_ptr(tle.remote(box, peer, scope=mesh), (rank,)), total)
    tle.distributed_barrier(mesh)
    tl.store(out + tl.program_id(0) * 4 + tl.arange(0, 4), box.load())


def test_pairs_of_ctas_meet_behind_partitions() -> None:
    x = np.random.default_rng(7).integers(-99, 99, (4, 64)).astype(np.int32)
    args = {"x": x, "out": np.zeros(4, np.int32), "mesh": LINE4, "N": 64}
    for headers in ("minimal", "toolkit"):
        found = emulate(sums_of_pairs, 1, args, schedule="random", detect="all", headers=headers)
        assert np.array_equal(found.check().outputs["out"], np.repeat(x.reshape(2, -1).sum(1), 2))


def test_sums_go_to_all_ctas_behind_partitions() -> None:
    x = np.random.default_rng(8).integers(-99, 99, (8, 3, 64)).astype(np.int32)
    args = {"x": x, "out": np.zeros((8, 4), np.int32), "n": 3, "mesh": LINE4, "N": 64}
    found = emulate(sums_behind_partitions, 2, args, schedule="random", seeds=range(3), detect="all")
    assert np.array_equal(found.check().outputs["out"], np.repeat(x.reshape(2, 4, -1).sum(2), 4, axis=0))


def test_a_barrier_that_an_exit_completes_is_counted_where_others_wait() -> None:
    """The worker may leave last: the barrier of the others is theirs."""
    args = {"x": np.zeros((4, 3, 64), np.int32), "out": np.zeros((4, 4), np.int32), "n": 3, "mesh": LINE4, "N": 64}
    first = sums_behind_partitions.fn.__code__.co_firstlineno
    for schedule in ("forward", "reverse"):
        found = emulate(sums_behind_partitions, 1, args, schedule=schedule, detect="counters", headers="minimal")
        assert found.counters is not None and found.counters.op("cluster_barrier").cluster_barriers == 2
        lines = {place.span.line - first: place.cluster_barriers for place in found.counters.lines if place.span}
        assert {line: count for line, count in lines.items() if count} == {6: 1, 10: 1}
