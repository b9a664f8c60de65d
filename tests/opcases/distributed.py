"""Clusters, sub-meshes, grids: ranks, barriers, buffers and pointers of peers, atomics on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle

LINE4 = tle.device_mesh({"block_cluster": [("cluster_x", 4)]})
LINE8 = tle.device_mesh({"block_cluster": [("cluster_x", 8)]})
SQUARE = tle.device_mesh({"block_cluster": [("cluster_x", 2), ("cluster_y", 2)]})
GRID8 = tle.device_mesh({"block": [("block_x", 8)]})
GRID23 = tle.device_mesh({"block": [("block_x", 2), ("block_y", 3)]})


@tle2cuda.jit
def ring(out, mesh: tl.constexpr):
    """Scalars: each CTA reads its neighbour's box."""
    rank = tle.shard_id(mesh, "cluster_x")
    box = tle.gpu.alloc([1], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(box, (0,)), rank * 10 + tl.program_id(0) * 100)
    tle.distributed_barrier(mesh)
    neighbour = tle.remote(box, (rank + 1) % 4, scope=mesh)
    value = tl.load(tle.gpu.local_ptr(neighbour, (0,)))
    tle.distributed_barrier(mesh)
    tl.store(out + tl.program_id(0), value)


@tle2cuda.jit
def gather_tiles(x, out, mesh: tl.constexpr, N: tl.constexpr):
    """Whole tiles of every peer, by a loop over ranks; ends with a remote read."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buf.store(tl.load(x + tl.program_id(0) * N + i))
    tle.distributed_barrier(mesh)
    total = tl.zeros((N,), tl.int32)
    for rank in range(4):
        peer = tle.remote(buf, rank, scope=mesh)
        total += tl.load(tle.gpu.local_ptr(peer, ((i + rank) % N,))) * (rank + 1)
    tl.store(out + tl.program_id(0) * N + i, total)


@tle2cuda.jit
def push_tiles(x, out, mesh: tl.constexpr, N: tl.constexpr):
    """Stores into a peer's memory, masked, by pointers made remote."""
    i = tl.arange(0, N)
    rank = tle.shard_id(mesh, 0)
    buf = tle.gpu.alloc([N], tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buf.store(tl.zeros((N,), tl.float32) - 1.0)
    tle.distributed_barrier(mesh)
    there = tle.remote(tle.gpu.local_ptr(buf, (i,)), 3 - rank)
    tl.store(there, tl.load(x + tl.program_id(0) * N + i), mask=i % 3 != 0)
    tle.distributed_barrier(mesh)
    tl.store(out + tl.program_id(0) * N + i, buf.load())


@tle2cuda.jit
def remote_counts(x, out, ranks, n, mesh: tl.constexpr, BINS: tl.constexpr, N: tl.constexpr):
    """All CTAs of a cluster count in rank 0's memory, old values included."""
    i = tl.arange(0, N)
    b = tl.arange(0, BINS)
    rank = tle.shard_id(mesh, "cluster_x")
    counts = tle.gpu.alloc([BINS], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    counts.store(tl.zeros((BINS,), tl.int32))
    tle.distributed_barrier(mesh)
    first = tle.remote(counts, 0, scope=mesh)
    at = tl.program_id(0) * N + i
    key = tl.load(x + at, mask=at < n, other=0)
    old = tl.atomic_add(tle.gpu.local_ptr(first, (key,)), 1, mask=at < n, sem="relaxed", scope="cta")
    tl.atomic_max(tle.gpu.local_ptr(first, (BINS - 1,)), rank)
    tle.distributed_barrier(mesh)
    if rank == 0:
        tl.store(out + b, counts.load())
    tl.atomic_add(ranks + key * N * 8 + old, 1, mask=at < n)


@tle2cuda.jit
def square_mesh(out, mesh: tl.constexpr):
    """Coordinates of a 2-D cluster, and barriers of its rows: every CTA calls the one it belongs to."""
    a = tle.shard_id(mesh, "cluster_x")
    b = tle.shard_id(mesh, "cluster_y")
    rank = a * 2 + b
    box = tle.gpu.alloc([4], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    i = tl.arange(0, 4)
    tl.store(tle.gpu.local_ptr(box, (i,)), rank * 10 + i)
    if a == 0:
        tle.distributed_barrier(mesh[0, :])
    else:
        tle.distributed_barrier(mesh[1, :])
    peer = tle.remote(box, a * 2 + (1 - b), scope=mesh)
    value = tl.load(tle.gpu.local_ptr(peer, (i,)))
    tle.distributed_barrier(mesh)
    corner = tle.remote(box, (1, 1), scope=mesh)
    value += tl.load(tle.gpu.local_ptr(corner, (3,)))
    tle.distributed_barrier()
    tl.store(out + rank * 4 + i, value)


@tle2cuda.jit
def submesh_both(out, mesh: tl.constexpr):
    """Non-members pass a sub-mesh's barrier at once: the members alone meet, in a loop."""
    rank = tle.shard_id(mesh, "cluster_x")
    box = tle.gpu.alloc([1], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(box, (0,)), rank)
    tle.distributed_barrier(mesh)
    for step in range(5):
        tle.distributed_barrier(mesh[:2])
        if rank < 2:
            peer = tle.remote(box, 1 - rank, scope=mesh)
            value = tl.load(tle.gpu.local_ptr(peer, (0,)))
            tle.distributed_barrier(mesh[:2])
            tl.store(tle.gpu.local_ptr(box, (0,)), value * 2 + step)
    tle.distributed_barrier(mesh)
    tl.store(out + rank, tl.load(tle.gpu.local_ptr(box, (0,))))


@tle2cuda.jit
def grid_phases(acc, out, mesh: tl.constexpr):
    """Grid barriers, several in one launch: what one CTA wrote before, all read behind."""
    p = tl.program_id(0)
    tl.store(acc + p, p * p)
    tle.distributed_barrier(mesh)
    total = 0
    for k in range(8):
        total += tl.load(acc + k)
    for step in range(3):
        tle.distributed_barrier(mesh)
        tl.store(acc + p, total + step + p)
        tle.distributed_barrier(mesh)
        total = tl.load(acc + (p + 1) % 8)
    tl.store(out + p, total)


@tle2cuda.jit
def grid_counts(x, counts, out, n, mesh: tl.constexpr, BINS: tl.constexpr, N: tl.constexpr):
    """Global atomics before the barrier, a scan of the totals by all behind it."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    b = tl.arange(0, BINS)
    key = tl.load(x + i, mask=i < n, other=0)
    mine = tl.atomic_add(counts + key, 1, mask=i < n, sem="relaxed")
    tle.distributed_barrier(mesh)
    start, _ = tle.cumsum(tl.load(counts + b), axis=0)
    starts = tle.gpu.alloc([BINS], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    starts.store(start)
    tl.store(out + tl.load(tle.gpu.local_ptr(starts, (key,))) + mine, key, mask=i < n)


@tle2cuda.jit
def block_mesh(out, mesh: tl.constexpr):
    """Coordinates on a mesh of blocks, which asks for no cluster."""
    tl.store(out + tl.program_id(0), tle.shard_id(mesh, "block_x") * 10 + tle.shard_id(mesh, 1))


@tle2cuda.jit
def lone_cta(x, out, N: tl.constexpr):
    """Without a cluster, rank 0 is the CTA itself and the barrier one of the CTA."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buf.store(tl.load(x + i))
    tle.distributed_barrier()
    own = tle.remote(buf, 0)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(own, (N - 1 - i,))))


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    grid: tuple[int, ...],
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    needs: str = "cluster",
    num_warps: int = 4,
) -> None:
    def cast(inputs: Inputs) -> Mapping[str, Array]:
        return {key: np.asarray(value).astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(name, "distributed", kernel, grid, make, cast, constants, num_warps, needs=needs))


def _register() -> None:
    for clusters in (1, 3):
        _case(
            f"cluster_ring_{clusters}",
            ring,
            (clusters,),
            lambda rng, clusters=clusters: {"out": poison(4 * clusters, "i4")},
            lambda inputs: {
                "out": [(p + 1) % 4 * 10 + (p // 4 * 4 + (p + 1) % 4) * 100 for p in range(len(inputs["out"]))]
            },
            {"mesh": LINE4},
        )
    for n, warps in ((16, 4), (512, 4)):
        _case(
            f"cluster_gather_{n}",
            gather_tiles,
            (2,),
            lambda rng, n=n: {"x": numbers(rng, (8, n), "i4"), "out": poison((8, n), "i4")},
            _gathered,
            {"mesh": LINE4, "N": n},
            num_warps=warps,
        )
        _case(
            f"cluster_push_{n}",
            push_tiles,
            (2,),
            lambda rng, n=n: {"x": numbers(rng, (8, n), "f4"), "out": poison((8, n), "f4")},
            lambda inputs: {
                "out": np.where(
                    np.arange(inputs["x"].shape[1]) % 3 != 0,
                    inputs["x"].reshape(2, 4, -1)[:, ::-1].reshape(8, -1),
                    -1,
                )
            },
            {"mesh": LINE4, "N": n},
            num_warps=warps,
        )
    for n, block, bins in ((1900, 256, 32), (100, 16, 16)):
        _case(
            f"cluster_counts_{n}",
            remote_counts,
            (1,),
            lambda rng, n=n, block=block, bins=bins: {
                "x": rng.integers(0, bins - 1, n, "i4"),
                "out": poison(bins, "i4"),
                "ranks": np.zeros(bins * block * 8, "i4"),
                "n": n,
            },
            lambda inputs, block=block, bins=bins: _remote_counts(inputs, block, bins),
            {"mesh": LINE8, "BINS": bins, "N": block},
        )
    _case(
        "cluster_square",
        square_mesh,
        (1,),
        lambda rng: {"out": poison(16, "i4")},
        lambda inputs: {"out": [(r ^ 1) * 10 + i + 33 for r in range(4) for i in range(4)]},
        {"mesh": SQUARE},
        num_warps=1,
    )
    _case(
        "cluster_submesh",
        submesh_both,
        (1,),
        lambda rng: {"out": poison(4, "i4")},
        lambda inputs: {"out": _submesh()},
        {"mesh": LINE4},
    )
    _case(
        "grid_phases",
        grid_phases,
        (8,),
        lambda rng: {"acc": poison(8, "i4"), "out": poison(8, "i4")},
        _grid_phases,
        {"mesh": GRID8},
        "cooperative",
    )
    _case(
        "grid_counts",
        grid_counts,
        (8,),
        lambda rng: {
            "x": rng.integers(0, 64, 2000, "i4"),
            "counts": np.zeros(64, "i4"),
            "out": poison(2000, "i4"),
            "n": 2000,
        },
        lambda inputs: {"counts": np.bincount(inputs["x"], minlength=64), "out": np.sort(inputs["x"])},
        {"mesh": GRID8, "BINS": 64, "N": 256},
        "cooperative",
    )
    _case(
        "block_mesh",
        block_mesh,
        (6,),
        lambda rng: {"out": poison(6, "i4")},
        lambda inputs: {"out": [0, 1, 2, 10, 11, 12]},
        {"mesh": GRID23},
        "",
    )
    _case(
        "lone_cta",
        lone_cta,
        (1,),
        lambda rng: {"x": numbers(rng, 128, "i4"), "out": poison(128, "i4")},
        lambda inputs: {"out": inputs["x"][::-1]},
        {"N": 128},
        "",
    )


def _gathered(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"].reshape(2, 4, -1)
    total = sum(np.roll(x[:, rank], -rank, axis=1) * np.int32(rank + 1) for rank in range(4))
    return {"out": np.repeat(total, 4, axis=0)}


def _remote_counts(inputs: Inputs, block: int, bins: int) -> dict[str, Array]:
    counts = np.bincount(inputs["x"], minlength=bins)
    ranks = np.arange(block * 8) < counts[:, None]
    return {"out": np.where(np.arange(bins) == bins - 1, 7, counts), "ranks": ranks.reshape(-1)}


def _submesh() -> list[int]:
    boxes = [0, 1, 2, 3]
    for step in range(5):
        boxes[:2] = [boxes[1] * 2 + step, boxes[0] * 2 + step]
    return boxes


def _grid_phases(inputs: Inputs) -> dict[str, Array]:
    acc = np.arange(8) ** 2
    total = np.full(8, acc.sum())
    for step in range(3):
        acc = total + step + np.arange(8)
        total = np.roll(acc, -1)
    return {"acc": acc, "out": total}


_register()
