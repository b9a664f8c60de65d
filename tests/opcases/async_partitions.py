"""Partitions: values in and out, collectives in each, barriers of several kinds between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle


@tle2cuda.jit
def statistics(x, offset, B: tl.constexpr):
    """Results of the default partition: a scalar and a tile."""
    row = tl.load(x + tl.arange(0, B)) + offset
    return tl.sum(row), tl.sort(row)


@tle2cuda.jit
def write_prefix(x, out, B: tl.constexpr):
    """A prefix sum by `tle.cumsum` and one by `tl.cumsum`."""
    i = tl.arange(0, B)
    row = tl.load(x + i)
    before, total = tle.cumsum(row, axis=0)
    tl.store(out + i, before + total)
    tl.store(out + B + i, tl.cumsum(row, axis=0))


@tle2cuda.jit
def write_counts(x, out, factor, B: tl.constexpr):
    """A histogram, an extreme with its place, and a turned tile."""
    i = tl.arange(0, B)
    row = tl.load(x + i)
    tl.store(out + tl.arange(0, 16), tl.histogram(row & 15, 16) * factor)
    tl.store(out + 16, tl.argmax(row, axis=0))
    tl.store(out + 32 + i, tl.flip(tl.reshape(row, (B // 4, 4)).trans().reshape((B,))))


@tle2cuda.jit
def write_sorted(x, out, shared, B: tl.constexpr):
    """A sort, and what the code in front left in shared memory."""
    i = tl.arange(0, B)
    tl.store(out + i, tl.sort(tl.load(x + i), descending=True) + tl.load(tle.gpu.local_ptr(shared, (B - 1 - i,))))


@tle2cuda.jit
def collectives(x, out, prefix, counts, ordered, n, B: tl.constexpr, WARPS: tl.constexpr):
    """Collectives in four partitions at once, unaligned warps included; results that later code uses."""
    i = tl.arange(0, B)
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(buffer), i * n)
    factor = tl.load(x) + 1
    total, row = tle.gpu.warp_specialize(
        [
            (statistics, (x, n, B)),
            (write_prefix, (x, prefix, B)),
            (write_counts, (x, counts, factor, B)),
            (write_sorted, (x, ordered, buffer, B)),
        ],
        WARPS,
        [24, 24, 24],
    )
    tl.store(out + i, row + total)


def make_collectives(rng: np.random.Generator) -> Inputs:
    return {
        "x": rng.integers(0, 1000, 256).astype(np.int32),
        "out": poison(256, np.int32),
        "prefix": poison(512, np.int32),
        "counts": poison(288, np.int32),
        "ordered": poison(256, np.int32),
        "n": 3,
    }


def collected(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"], inputs["n"]
    running = np.cumsum(x, dtype=np.int32)
    counts = inputs["counts"].copy()
    counts[:16] = np.bincount(x & 15, minlength=16) * (x[0] + 1)
    counts[16] = np.argmax(x)
    counts[32:] = x.reshape(64, 4).T.reshape(-1)[::-1]
    row = np.sort(x) + n
    return {
        "out": (row + (x + n).sum()).astype(np.int32),
        "prefix": np.concatenate([running - x + running[-1], running]).astype(np.int32),
        "counts": counts,
        "ordered": np.sort(x)[::-1] + (np.arange(256, dtype=np.int32) * n)[::-1],
    }


for workers, num_warps in (((4, 2, 1), 4), ((1, 4, 2), 1), ((8, 4, 4), 4)):
    add_case(
        OpCase(
            f"partitions_collectives_{'_'.join(map(str, workers))}_{num_warps}",
            "async_partitions",
            collectives,
            (1,),
            make_collectives,
            collected,
            {"B": 256, "WARPS": workers},
            num_warps=num_warps,
        )
    )


@tle2cuda.jit
def add_into(x, buffer, row, B: tl.constexpr):
    """Adds a row to what lies in shared memory."""
    i = tl.arange(0, B)
    p = tle.gpu.local_ptr(buffer.slot(row), (i,))
    tl.store(p, tl.load(p) + tl.load(x + row * B + i))


@tle2cuda.jit
def one_after_the_other(x, out, n, B: tl.constexpr):
    """Two specialisations; between and behind them the whole CTA's work is seen."""
    i = tl.arange(0, B)
    buffer = tle.gpu.alloc([2, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(buffer.slot(0), (i,)), i)
    tl.store(tle.gpu.local_ptr(buffer.slot(1), (i,)), i * n)
    tle.gpu.warp_specialize([(add_into, (x, buffer, 0, B)), (add_into, (x, buffer, 1, B))], [2], [24])
    turned = tl.load(tle.gpu.local_ptr(buffer.slot(1), (B - 1 - i,)))
    tl.store(tle.gpu.local_ptr(buffer.slot(0), (i,)), turned + tl.load(tle.gpu.local_ptr(buffer.slot(0), (i,))))
    tle.gpu.warp_specialize([(add_into, (x, buffer, 1, B)), (add_into, (x, buffer, 0, B))], [4], [24])
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer.slot(0), (B - 1 - i,))))
    tl.store(out + B + i, tl.load(tle.gpu.local_ptr(buffer.slot(1), (B - 1 - i,))))


def added(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["x"].reshape(2, -1)
    i = np.arange(x.shape[1], dtype=np.int32)
    first, second = i + x[0], i * inputs["n"] + x[1]
    first = first + second[::-1] + x[0]
    return {"out": np.concatenate([first[::-1], (second + x[1])[::-1]])}


for size in (64, 256):
    add_case(
        OpCase(
            f"partitions_one_after_the_other_{size}",
            "async_partitions",
            one_after_the_other,
            (1,),
            lambda rng, size=size: {
                "x": rng.integers(-999, 999, 2 * size).astype(np.int32),
                "out": poison(2 * size, np.int32),
                "n": 7,
            },
            added,
            {"B": size},
        )
    )


@tle2cuda.jit
def fill_by_phases(x, ring, full, free, n, B: tl.constexpr, STAGES: tl.constexpr):
    """A ring by explicit mbarriers, stores."""
    for k in range(n):
        tle.gpu.barrier_wait(free[k % STAGES], phaseIdx=k // STAGES)
        tl.store(tle.gpu.local_ptr(ring.slot(k % STAGES)), tl.load(x + k * B + tl.arange(0, B)) + k)
        tle.gpu.barrier_arrive(full[k % STAGES], phaseIdx=k // STAGES)


@tle2cuda.jit
def drain_by_phases(out, ring, full, free, n, part: tl.constexpr, B: tl.constexpr, STAGES: tl.constexpr):
    """One of two readers: its half of each row, turned around."""
    i = tl.arange(0, B // 2)
    for k in range(n):
        tle.gpu.barrier_wait(full[k % STAGES], phaseIdx=k // STAGES)
        half = tl.load(tle.gpu.local_ptr(ring.slot(k % STAGES), (B - 1 - (part * (B // 2) + i),)))
        tle.gpu.barrier_arrive(free[k % STAGES], arrive_count=2, phaseIdx=k // STAGES)
        tl.store(out + k * B + part * (B // 2) + i, half)


@tle2cuda.jit
def by_phases(x, out, n, B: tl.constexpr, STAGES: tl.constexpr):
    """Explicit barriers that begin ready, with arrivals of two readers that count twice each."""
    ring = tle.gpu.alloc([STAGES, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    full = tle.gpu.alloc_barriers(num_barriers=STAGES)
    free = tle.gpu.alloc_barriers(num_barriers=STAGES, arrive_count=4, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (drain_by_phases, (out, ring, full, free, n, 0, B, STAGES)),
            (fill_by_phases, (x, ring, full, free, n, B, STAGES)),
            (drain_by_phases, (out, ring, full, free, n, 1, B, STAGES)),
        ],
        [4, 2],
        [24, 24],
    )


for stages in (1, 2):
    add_case(
        OpCase(
            f"barriers_by_phases_{stages}",
            "async_partitions",
            by_phases,
            (1,),
            lambda rng: {"x": numbers(rng, 9 * 128, np.int32) // 4, "out": poison(9 * 128, np.int32), "n": 9},
            lambda inputs: {
                "out": (inputs["x"].reshape(9, -1)[:, ::-1] + np.arange(9, dtype=np.int32)[:, None]).reshape(-1)
            },
            {"B": 128, "STAGES": stages},
        )
    )


@tle2cuda.jit
def ping(x, buffer, turn, n, B: tl.constexpr):
    """Writes, hands over, waits for the buffer to be free again."""
    for k in range(n):
        tl.store(tle.gpu.local_ptr(buffer), tl.load(x + k * B + tl.arange(0, B)))
        tle.gpu.barrier_arrive(turn[0])
        tle.gpu.barrier_wait(turn[1])


@tle2cuda.jit
def pong(out, buffer, turn, n, B: tl.constexpr):
    """Takes over, reads turned around, hands back."""
    for k in range(n):
        tle.gpu.barrier_wait(turn[0])
        row = tl.load(tle.gpu.local_ptr(buffer, (B - 1 - tl.arange(0, B),)))
        tle.gpu.barrier_arrive(turn[1])
        tl.store(out + k * B + tl.arange(0, B), row)


@tle2cuda.jit
def by_names(x, out, n, B: tl.constexpr, THREADS: tl.constexpr, WORKERS: tl.constexpr):
    """Hardware barriers in turn."""
    buffer = tle.gpu.alloc([B], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    turn = tle.gpu.alloc_barriers(num_barriers=2, arrive_count=THREADS)
    tle.gpu.warp_specialize([(ping, (x, buffer, turn, n, B)), (pong, (out, buffer, turn, n, B))], [WORKERS], [24])


for workers in (1, 4):
    add_case(
        OpCase(
            f"barriers_by_names_{workers}",
            "async_partitions",
            by_names,
            (1,),
            lambda rng: {"x": numbers(rng, 5 * 256, np.float32), "out": poison(5 * 256, np.float32), "n": 5},
            lambda inputs: {"out": inputs["x"].reshape(5, -1)[:, ::-1].reshape(-1)},
            {"B": 256, "THREADS": 128 + 32 * workers, "WORKERS": workers},
        )
    )


@tle2cuda.jit
def grouped(x, out, n, columns, B: tl.constexpr, AHEAD: tl.constexpr):
    """A ring of cp.async groups without barriers of the user's."""
    ring = tle.gpu.alloc([AHEAD + 1, B], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    i = tl.arange(0, B)
    for k in tl.static_range(AHEAD):
        tle.gpu.copy(x + k * columns + i, ring.slot(k), [B], is_async=True, mask=(i < columns) & (k < n))
        tle.gpu.async_commit_group()
    for k in range(n):
        tle.gpu.async_wait_group(AHEAD - 1)
        row = tl.load(tle.gpu.local_ptr(ring.slot(k % (AHEAD + 1)), (B - 1 - i,)))
        mask = (i < columns) & (k + AHEAD < n)
        tle.gpu.copy(x + (k + AHEAD) * columns + i, ring.slot((k + AHEAD) % (AHEAD + 1)), [B], is_async=True, mask=mask)
        tle.gpu.async_commit_group()
        tl.store(out + k * B + i, row)


def group_rows(inputs: Inputs) -> Mapping[str, Array]:
    columns, n = inputs["columns"], inputs["n"]
    out = inputs["out"].reshape(8, -1).copy()
    out[:n] = 0
    out[:n, :columns] = inputs["x"].reshape(8, columns)[:n]
    out[:n] = out[:n, ::-1]
    return {"out": out.reshape(-1)}


def make_groups(dtype: Any, columns: int, n: int) -> Any:
    size = 1 << (columns - 1).bit_length()
    return lambda rng: {
        "x": numbers(rng, 8 * columns, dtype),
        "out": poison(8 * size, dtype),
        "n": n,
        "columns": columns,
    }


for dtype, columns, n, ahead in (
    (np.float32, 128, 8, 1),
    (np.float16, 1000, 8, 2),
    (np.float16, 250, 5, 3),
    (np.int8, 512, 8, 2),
    (np.int16, 77, 8, 1),
    (np.int64, 60, 0, 1),
    (np.bool_, 64, 4, 1),
):
    size = 1 << (columns - 1).bit_length()
    add_case(
        OpCase(
            f"cp_async_groups_{np.dtype(dtype).name}_{columns}_{n}_{ahead}",
            "async_partitions",
            grouped,
            (1,),
            make_groups(dtype, columns, n),
            group_rows,
            {"B": size, "AHEAD": ahead},
        )
    )


@tle2cuda.jit
def larger(a, b):
    """Combines for a scan of the user's."""
    return tl.maximum(a, b)


@tle2cuda.jit
def write_product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A matrix product, its operands in the partition's own shared memory."""
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, K)
    x = tl.load(a + i * K + k[None, :])
    y = tl.load(b + k[:, None] * N + j)
    tl.store(c + i * N + j, tl.dot(x, y))


@tle2cuda.jit
def write_scans(a, out, N: tl.constexpr):
    """A sort, a gather and two scans."""
    i = tl.arange(0, N)
    ordered = tl.sort(tl.load(a + i).to(tl.float32))
    turned = tl.gather(ordered, N - 1 - i, 0)
    tl.store(out + i, turned + tl.cumsum(ordered, 0) - tl.associative_scan(ordered, 0, larger))


@tle2cuda.jit
def products(a, b, c, d, scans, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, WARPS: tl.constexpr):
    """Products of two partitions at once, and scans beside them."""
    tle.gpu.warp_specialize(
        [(write_product, (a, b, c, M, N, K)), (write_product, (a, b, d, M, N, K)), (write_scans, (a, scans, 256))], WARPS
    )


def make_products(rng: np.random.Generator) -> Inputs:
    return {
        "a": rng.integers(-4, 5, 64 * 32).astype(np.float16),
        "b": rng.integers(-4, 5, 32 * 32).astype(np.float16),
        "c": poison(64 * 32, np.float32),
        "d": poison(64 * 32, np.float32),
        "scans": poison(256, np.float32),
    }


def multiplied(inputs: Inputs) -> Mapping[str, Array]:
    product = inputs["a"].reshape(64, 32).astype(np.float32) @ inputs["b"].reshape(32, 32).astype(np.float32)
    ordered = np.sort(inputs["a"][:256].astype(np.float32))
    scans = ordered[::-1] + np.cumsum(ordered, dtype=np.float32) - np.maximum.accumulate(ordered)
    return {"c": product.reshape(-1), "d": product.reshape(-1), "scans": scans}


for workers, num_warps in (((4, 2), 4), ((2, 1), 2)):
    add_case(
        OpCase(
            f"partitions_products_{'_'.join(map(str, workers))}_{num_warps}",
            "async_partitions",
            products,
            (1,),
            make_products,
            multiplied,
            {"M": 64, "N": 32, "K": 32, "WARPS": workers},
            num_warps=num_warps,
        )
    )


@tle2cuda.jit
def places_of(x, n, B: tl.constexpr):
    """Results that lie in no register: indices, a mask, a constant tile."""
    i = tl.arange(0, B)
    return i, i < n, tl.full((B,), 7, tl.int32)


@tle2cuda.jit
def plain_row(x, out, B: tl.constexpr):
    """A copy, beside them."""
    i = tl.arange(0, B)
    tl.store(out + B + i, tl.load(x + i))


@tle2cuda.jit
def results_of_no_register(x, out, n, B: tl.constexpr):
    place, inside, seven = tle.gpu.warp_specialize([(places_of, (x, n, B)), (plain_row, (x, out, B))], [2], [24])
    tl.store(out + place, tl.where(inside, seven + place, -1))


def make_places(rng: np.random.Generator) -> Inputs:
    return {"x": numbers(rng, 128, np.int32), "out": poison(256, np.int32), "n": 50}


def placed(inputs: Inputs) -> Mapping[str, Array]:
    i = np.arange(128, dtype=np.int32)
    return {"out": np.concatenate([np.where(i < inputs["n"], 7 + i, -1), inputs["x"]]).astype(np.int32)}


add_case(
    OpCase(
        "partitions_results_of_no_register",
        "async_partitions",
        results_of_no_register,
        (1,),
        make_places,
        placed,
        {"B": 128},
        num_warps=2,
    )
)


@tle2cuda.jit
def put_marked(w, x, n, B: tl.constexpr):
    """Rows are copied; the first element is then stored by another field over the same bytes."""
    for k in range(n):
        slot = w.acquire(k)
        tle.gpu.copy(x + k * B + tl.arange(0, B), slot.row, [B])
        tl.store(tle.gpu.local_ptr(slot.again, (0,)), k)
        w.commit(k)


@tle2cuda.jit
def take_marked(r, out, start, n, B: tl.constexpr):
    for k in range(n):
        row = r.wait(k).slot.row.load()
        r.release(k)
        tl.store(out + start + k, tl.sum(row, axis=0))


@tle2cuda.jit
def many_regions(x, out, n, B: tl.constexpr):
    """More partitions that meet than there are hardware barriers, one group of them after the other."""
    for i in tl.static_range(5):
        ring = tle.gpu.alloc([2, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=2, readers=("a", "b", "c"), row=ring, again=ring)
        tle.gpu.warp_specialize(
            [
                (take_marked, (p.reader("a"), out, i * 3 * n, n, B)),
                (take_marked, (p.reader("b"), out, (i * 3 + 1) * n, n, B)),
                (take_marked, (p.reader("c"), out, (i * 3 + 2) * n, n, B)),
                (put_marked, (p.writer(), x, n, B)),
            ],
            [2, 4, 2] if i % 2 else [4, 2, 2],
        )


def marked(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["x"].reshape(5, -1).copy()
    x[:, 0] = np.arange(5)
    return {"out": np.tile(x.sum(axis=1, dtype=np.int32), 15)}


add_case(
    OpCase(
        "partitions_many_regions",
        "async_partitions",
        many_regions,
        (1,),
        lambda rng: {"x": rng.integers(-99, 99, 5 * 64).astype(np.int32), "out": poison(75, np.int32), "n": 5},
        marked,
        {"B": 64},
    )
)
