"""Partitions in loops, in branches, behind early returns, and several in one kernel: what orders one entry and the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle

# ---- a grid loop around partitions ------------------------------------------------------------------------------------


@tle2cuda.jit
def tiles_of_rows(
    x, out, sums, tiles, count, columns, B: tl.constexpr, STAGES: tl.constexpr, HOW: tl.constexpr, READERS: tl.constexpr
):
    """A program's tiles one after the other, each by a producer and one or two consumers."""
    ring = tle.gpu.alloc([STAGES, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="rows", readers=("a", "b")[:READERS], data=ring)
    desc = tl.make_tensor_descriptor(x, [tiles * count, columns], [columns, 1], [1, B])
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        first = tile * count
        # Rounds of the pipe count from 0 in each program.
        start = tile // tl.num_programs(0) * count
        total = tle.gpu.warp_specialize(
            [
                (drain_tile, (pipe.reader("a"), out, first, start, count, columns, 0, B)),
                (fill_tile, (pipe.writer(), x, desc, first, start, count, columns, B, HOW)),
                (drain_tile, (pipe.reader("b" if READERS == 2 else "a"), out, first, start, count, columns, 1, B)),
            ][: READERS + 1],
            [1, 4][:READERS],
            [24, 40][:READERS],
        )
        tl.store(sums + tile, total)


@tle2cuda.jit
def fill_tile(w, x, desc, first, start, count, columns, B: tl.constexpr, HOW: tl.constexpr):
    """Rows of a tile by a cursor that goes on where the tile before ended."""
    i = tl.arange(0, B)
    cursor = w.cursor(start)
    for k in range(count):
        slot = w.acquire(cursor)
        if HOW == "tensor":
            tle.gpu.copy(desc, slot.data, [1, B], [first + k, 0])
        elif HOW == "async":
            tle.gpu.copy(x + (first + k) * columns + i, slot.data, [B], is_async=True, mask=i < columns)
        else:
            slot.data.store(tl.load(x + (first + k) * columns + i, mask=i < columns, other=0))
        w.commit(cursor)
        cursor = cursor.advance()


@tle2cuda.jit
def drain_tile(r, out, first, start, count, columns, part: tl.constexpr, B: tl.constexpr):
    """Stores rows turned around; gives the sum of all of them."""
    i = tl.arange(0, B)
    total = tl.zeros([B], tl.int32)
    for k in range(count):
        row = r.wait(start + k).slot.data.load()
        r.release(start + k)
        tl.store(out + ((first + k) * 2 + part) * columns + i, row * (part + 1), mask=i < columns)
        total += row
    return tl.sum(total, axis=0)


def make_tiles(tiles: int, count: int, columns: int, readers: int) -> Any:
    def make(rng: np.random.Generator) -> Inputs:
        return {
            "x": rng.integers(-99, 99, max(1, tiles * count) * columns).astype(np.int32),
            "out": poison(max(1, tiles * count) * 2 * columns, np.int32),
            "sums": poison(max(1, tiles), np.int32),
            "tiles": tiles,
            "count": count,
            "columns": columns,
        }

    return make


def tiled(readers: int) -> Any:
    def reference(inputs: Inputs) -> Mapping[str, Array]:
        tiles, count, columns = inputs["tiles"], inputs["count"], inputs["columns"]
        out, sums = inputs["out"].reshape(-1, 2, columns).copy(), inputs["sums"].copy()
        rows = inputs["x"].reshape(-1, columns)[: tiles * count]
        for part in range(readers):
            out[: tiles * count, part] = rows * (part + 1)
        sums[:tiles] = rows.reshape(tiles, -1).sum(1) if tiles and count else 0
        return {"out": out.reshape(-1), "sums": sums}

    return reference


for how, readers, tiles, count, stages, columns in (
    ("store", 1, 5, 3, 2, 60),
    ("store", 2, 4, 1, 1, 64),
    ("async", 2, 5, 5, 3, 64),
    ("async", 1, 7, 2, 8, 36),
    ("tensor", 1, 5, 4, 2, 64),
    ("tensor", 2, 7, 3, 4, 60),
    ("tensor", 2, 3, 0, 2, 64),
    ("store", 1, 0, 2, 2, 64),
):
    add_case(
        OpCase(
            f"tiles_of_rows_{how}_{readers}_{tiles}_{count}_{stages}_{columns}",
            "inner_partitions",
            tiles_of_rows,
            (2,),
            make_tiles(tiles, count, columns, readers),
            tiled(readers),
            {"B": 64, "STAGES": stages, "HOW": how, "READERS": readers},
        )
    )


# ---- values that cross, conditions that memory decides -----------------------------------------------------------------


@tle2cuda.jit
def sum_of(row):
    """A value that comes out."""
    return tl.sum(row, axis=0)


@tle2cuda.jit
def add_to(buffer, row, factor):
    """A tile and a number that go in, added to what lies in shared memory."""
    buffer.store(buffer.load() + row * factor)


@tle2cuda.jit
def accumulated(x, out, n, B: tl.constexpr):
    """In a branch that data decide, inside of a `while`: what other warps hold is handed over every time."""
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    i = tl.arange(0, B)
    buffer.store(i)
    total, k, factor = 0, 0, 1
    while k < n:
        row = tl.load(x + k * B + i)
        if tl.sum(row, axis=0) > 0:
            total += tle.gpu.warp_specialize([(sum_of, (row,)), (add_to, (buffer, row, factor))], [2], [24])
            factor += tl.max(row, axis=0)
        k += 1
    tl.store(out + i, buffer.load() + total)


def accumulate(inputs: Inputs) -> Mapping[str, Array]:
    rows = inputs["x"].reshape(-1, 128)[: inputs["n"]]
    buffer, total, factor = np.arange(128, dtype=np.int32), 0, 1
    for row in rows:
        if row.sum() > 0:
            total += row.sum()
            buffer = buffer + row * factor
            factor += row.max()
    return {"out": (buffer + total).astype(np.int32)}


for n in (0, 1, 7):
    add_case(
        OpCase(
            f"accumulated_{n}",
            "inner_partitions",
            accumulated,
            (1,),
            lambda rng, n=n: {
                "x": rng.integers(-9, 10, 7 * 128).astype(np.int32),
                "out": poison(128, np.int32),
                "n": n,
            },
            accumulate,
            {"B": 128},
        )
    )


@tle2cuda.jit
def returns_early(x, limits, out, n, B: tl.constexpr):
    """Behind a `return` that an argument decides and one that memory does."""
    i = tl.arange(0, B)
    row = tl.program_id(0)
    if row >= n:
        return
    limit = tl.load(limits + row).to(tl.int32)
    if limit == 0:
        tl.store(out + row * B + i, i)
        return
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    values = tl.load(x + row * B + i)
    buffer.store(values)
    total = tle.gpu.warp_specialize([(sum_of, (values,)), (add_to, (buffer, tl.flip(values), limit))], [1], [24])
    tl.store(out + row * B + i, buffer.load() + total)


def returned_early(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"].reshape(-1, 64), inputs["n"]
    out = inputs["out"].reshape(-1, 64).copy()
    out[:n] = x[:n] + x[:n, ::-1] * inputs["limits"][:n, None] + x[:n].sum(1, keepdims=True)
    out[:n][inputs["limits"][:n] == 0] = np.arange(64)
    return {"out": out.reshape(-1)}


add_case(
    OpCase(
        "returns_early",
        "inner_partitions",
        returns_early,
        (5,),
        lambda rng: {
            "x": rng.integers(-9, 10, 5 * 64).astype(np.int32),
            "limits": np.array([2, 0, 1, 3, 4], np.int64),
            "out": poison(5 * 64, np.int32),
            "n": 4,
        },
        returned_early,
        {"B": 64},
    )
)


@tle2cuda.jit
def counted_down(state, out, B: tl.constexpr):
    """Bounds and conditions that the kernel itself writes, and that workers are told."""
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    i = tl.arange(0, B)
    buffer.store(tl.zeros([B], tl.int32))
    while tl.load(state) > 0:
        left = tl.load(state)
        for k in range(left):
            if tl.load(state + 1) > k:
                tle.gpu.warp_specialize([(note_in, (state + 2, k)), (add_to, (buffer, i + k, left))], [4], [24])
        tl.store(state, left - 1)
        tl.debug_barrier()
    tl.store(out + i, buffer.load())


@tle2cuda.jit
def note_in(place, k):
    """Counts calls."""
    tl.atomic_add(place, k + 1)


def count_down(inputs: Inputs) -> Mapping[str, Array]:
    left, most, calls = (int(v) for v in inputs["state"])
    i, buffer = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    while left > 0:
        for k in range(left):
            if most > k:
                calls += k + 1
                buffer += (i + k) * left
        left -= 1
    return {"out": buffer, "state": np.array([0, most, calls], np.int32)}


for start, most in ((4, 2), (0, 1), (3, 0)):
    add_case(
        OpCase(
            f"counted_down_{start}_{most}",
            "inner_partitions",
            counted_down,
            (1,),
            lambda rng, start=start, most=most: {
                "state": np.array([start, most, 10], np.int32),
                "out": poison(128, np.int32),
            },
            count_down,
            {"B": 128},
        )
    )


# ---- several specialisations ------------------------------------------------------------------------------------------


@tle2cuda.jit
def put_in(w, x, at, k, B: tl.constexpr):
    """One row into a pipe."""
    w.acquire(k).data.store(tl.load(x + at * B + tl.arange(0, B)))
    w.commit(k)


@tle2cuda.jit
def take_out(r, out, at, k, factor: tl.constexpr, B: tl.constexpr):
    """One row out of a pipe."""
    row = r.wait(k).slot.data.load()
    r.release(k)
    tl.store(out + at * B + tl.arange(0, B), row * factor)


@tle2cuda.jit
def nothing():
    """A default partition with nothing to do."""


@tle2cuda.jit
def two_ways(x, out, n, B: tl.constexpr):
    """Two specialisations in one loop, in turn and under a condition; one pipe goes through both, by the same workers."""
    ring = tle.gpu.alloc([2, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=2, name="rows", data=ring)
    w, r = pipe.writer(), pipe.reader()
    for k in range(n):
        if k % 3 == 2:
            tle.gpu.warp_specialize(
                [(nothing, ()), (take_out, (r, out, k, k, 5, B)), (put_in, (w, x, k, k, B))], [2, 4], [24, 24]
            )
        else:
            tle.gpu.warp_specialize(
                [(nothing, ()), (put_in, (w, x, n - 1 - k, k, B)), (take_out, (r, out, k, k, 2, B))], [4, 2], [24, 24]
            )
    if n > 2:
        copy_turned(x, out, n, B)


@tle2cuda.jit
def copy_turned(x, out, at, B: tl.constexpr):
    """A function with a specialisation and a buffer of its own, called in a branch."""
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    done = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(turn_in, (buffer, done, x, B)), (turn_out, (buffer, done, out, at, B))], [1], [24])


@tle2cuda.jit
def turn_in(buffer, done, x, B: tl.constexpr):
    """Fills the buffer and says so."""
    buffer.store(tl.load(x + tl.arange(0, B)))
    tle.gpu.barrier_arrive(done, phaseIdx=0)


@tle2cuda.jit
def turn_out(buffer, done, out, at, B: tl.constexpr):
    """Waits for the buffer, reads it turned around."""
    tle.gpu.barrier_wait(done, phaseIdx=0)
    i = tl.arange(0, B)
    tl.store(out + at * B + i, tl.load(tle.gpu.local_ptr(buffer, (B - 1 - i,))))


def both_ways(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"].reshape(-1, 64), inputs["n"]
    out = inputs["out"].reshape(-1, 64).copy()
    for k in range(n):
        out[k] = x[k] * 5 if k % 3 == 2 else x[n - 1 - k] * 2
    if n > 2:
        out[n] = x[0, ::-1]
    return {"out": out.reshape(-1)}


for n in (0, 1, 2, 3, 8):
    add_case(
        OpCase(
            f"two_ways_{n}",
            "inner_partitions",
            two_ways,
            (1,),
            lambda rng, n=n: {
                "x": rng.integers(-999, 999, 9 * 64).astype(np.int32),
                "out": poison(9 * 64, np.int32),
                "n": n,
            },
            both_ways,
            {"B": 64},
        )
    )


@tle2cuda.jit
def give(buffer, full, free, x, k, B: tl.constexpr):
    """One phase of explicit barriers."""
    tle.gpu.barrier_wait(free, phaseIdx=k)
    buffer.store(tl.load(x + k * B + tl.arange(0, B)))
    tle.gpu.barrier_arrive(full, phaseIdx=k)


@tle2cuda.jit
def get(buffer, full, free, out, k, B: tl.constexpr):
    """The other side."""
    i = tl.arange(0, B)
    tle.gpu.barrier_wait(full, phaseIdx=k)
    row = tl.load(tle.gpu.local_ptr(buffer, (B - 1 - i,)))
    tle.gpu.barrier_arrive(free, phaseIdx=k)
    tl.store(out + k * B + i, row)


@tle2cuda.jit
def phases_of_entries(x, out, n, B: tl.constexpr):
    """Phases of mbarriers that go on from entry to entry; between two, the code in front uses the buffer, too."""
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    full, free = tle.gpu.alloc_barrier(), tle.gpu.alloc_barrier(init=tle.gpu.READY)
    i = tl.arange(0, B)
    seen = tl.zeros([B], tl.int32)
    for k in range(n):
        buffer.store(i - k)
        seen += tl.load(tle.gpu.local_ptr(buffer, (B - 1 - i,)))
        tle.gpu.warp_specialize([(get, (buffer, full, free, out, k, B)), (give, (buffer, full, free, x, k, B))], [4], [24])
        seen += buffer.load()
    tl.store(out + n * B + i, seen)


def entered(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"].reshape(-1, 128), inputs["n"]
    out = inputs["out"].reshape(-1, 128).copy()
    out[:n] = x[:n, ::-1]
    out[n] = x[:n].sum(0) + sum((np.arange(127, -1, -1) - k for k in range(n)), np.zeros(128, np.int64))
    return {"out": out.reshape(-1)}


for n in (0, 1, 6):
    add_case(
        OpCase(
            f"phases_of_entries_{n}",
            "inner_partitions",
            phases_of_entries,
            (1,),
            lambda rng, n=n: {
                "x": rng.integers(-999, 999, 6 * 128).astype(np.int32),
                "out": poison(7 * 128, np.int32),
                "n": n,
            },
            entered,
            {"B": 128},
        )
    )


@tle2cuda.jit
def count_up(log, k):
    """A worker that only global memory knows of."""
    tl.atomic_add(log, k)


@tle2cuda.jit
def unrolled(x, out, log, B: tl.constexpr):
    """In a loop that is unrolled, the rows in tuples; results of several specialisations that meet."""
    i = tl.arange(0, B)
    best = tl.full([B], -1e30, tl.float32)
    for k in tl.static_range(3):
        row = tl.load(x + k * B + i)
        best = tl.maximum(best, tle.gpu.warp_specialize([(sorted_of, ((row, k),)), (count_up, (log, k + 1))], [1], [24]))
    tl.store(out + i, best)


@tle2cuda.jit
def sorted_of(pair):
    """A tile and a constant in a tuple."""
    return tl.sort(pair[0]) + pair[1]


add_case(
    OpCase(
        "unrolled",
        "inner_partitions",
        unrolled,
        (1,),
        lambda rng: {
            "x": numbers(rng, 3 * 64, np.float32),
            "out": poison(64, np.float32),
            "log": np.array([7], np.int32),
        },
        lambda inputs: {
            "out": np.max([np.sort(r) + np.float32(k) for k, r in enumerate(inputs["x"].reshape(3, -1))], axis=0),
            "log": np.array([13], np.int32),
        },
        {"B": 64},
    )
)
