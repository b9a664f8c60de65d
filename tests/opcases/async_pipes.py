"""Pipes between partitions: filled by stores, by cp.async and by both, with one reader and several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle

ROWS = 9


@tle2cuda.jit
def put_doubled(w, x, n, B: tl.constexpr):
    """Ordinary stores."""
    for k in range(n):
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B + tl.arange(0, B)) * 2)
        w.commit(k)


@tle2cuda.jit
def take_next(r, out, n, B: tl.constexpr):
    """Reads each stage turned around, elements of other threads and warps."""
    for k in range(n):
        got = r.wait(k)
        value = tl.load(tle.gpu.local_ptr(got.slot.data, (B - 1 - tl.arange(0, B),)))
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), value + 1)


@tle2cuda.jit
def ring(x, out, n, B: tl.constexpr, CAPACITY: tl.constexpr, WORKERS: tl.constexpr):
    """One writer, one reader."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="x", data=data)
    tle.gpu.warp_specialize([(put_doubled, (p.writer(), x, n, B)), (take_next, (p.reader(), out, n, B))], [WORKERS], [24])


@tle2cuda.jit
def put_rows(w, x, n, columns, B: tl.constexpr):
    """Copies that become cp.async where the columns allow."""
    i = tl.arange(0, B)
    for k in range(n):
        slot = w.acquire(k)
        tle.gpu.copy(x + k * columns + i, slot.data, [B], mask=i < columns)
        w.commit(k)


@tle2cuda.jit
def take_sums(r, out, n, B: tl.constexpr):
    """A reduction in a partition."""
    for k in range(n):
        got = r.wait(k)
        row = tl.load(tle.gpu.local_ptr(got.slot.data))
        r.release(k)
        tl.store(out + k, tl.sum(row.to(tl.float32)))


@tle2cuda.jit
def row_sums(x, out, n, columns, B: tl.constexpr, CAPACITY: tl.constexpr, WORKERS: tl.constexpr):
    """Rows by cp.async, sums in a worker."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="rows", data=data)
    tle.gpu.warp_specialize(
        [(put_rows, (p.writer(), x, n, columns, B)), (take_sums, (p.reader(), out, n, B))], [WORKERS], [24]
    )


@tle2cuda.jit
def put_both(w, x, scale, n, B: tl.constexpr):
    """One field by a load that may be a copy, one by what is computed."""
    for k in range(n):
        slot = w.acquire(k)
        i = tl.arange(0, B)
        tl.store(tle.gpu.local_ptr(slot.row), tl.load(x + k * B + i))
        tl.store(tle.gpu.local_ptr(slot.factor), tl.load(scale + k) + i)
        w.commit(k)


@tle2cuda.jit
def take_product(r, out, n, B: tl.constexpr):
    """Both fields."""
    for k in range(n):
        got = r.wait(k)
        product = tl.load(tle.gpu.local_ptr(got.slot.row)) * tl.load(tle.gpu.local_ptr(got.slot.factor))
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), product)


@tle2cuda.jit
def take_largest(r, out, n):
    """One field only."""
    for k in range(n):
        got = r.wait(k)
        largest = tl.max(tl.load(tle.gpu.local_ptr(got.slot.row)))
        r.release(k)
        tl.store(out + k, largest)


@tle2cuda.jit
def two_readers(x, scale, out, largest, n, B: tl.constexpr, CAPACITY: tl.constexpr):
    """Two fields, two readers of which one sees one field."""
    row = tle.gpu.alloc([CAPACITY, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    factor = tle.gpu.alloc([CAPACITY, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="x", readers=("multiply", "compare"), row=row, factor=factor)
    tle.gpu.warp_specialize(
        [
            (take_product, (p.reader("multiply"), out, n, B)),
            (put_both, (p.writer(), x, scale, n, B)),
            (take_largest, (p.reader("compare", fields=("row",)), largest, n)),
        ],
        [2, 4],
        [24, 24],
    )


@tle2cuda.jit
def put_until(w, x, B: tl.constexpr):
    """Rows until one begins with a negative number; then the pipe is closed."""
    k = 0
    go_on = tl.load(x) >= 0
    while go_on:
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B + tl.arange(0, B)))
        w.commit(k)
        k += 1
        go_on = tl.load(x + k * B) >= 0
    w.close(k)


@tle2cuda.jit
def take_until(r, out, B: tl.constexpr):
    """Rows until the pipe is closed."""
    k = 0
    got = r.wait(0)
    closed = got.is_closed
    while closed == 0:
        row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - 1 - tl.arange(0, B),)))
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), row)
        k += 1
        closed = r.wait(k).is_closed


@tle2cuda.jit
def closed_ring(x, out, B: tl.constexpr, CAPACITY: tl.constexpr):
    """How many rows there are the writer alone knows."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="x", data=data)
    tle.gpu.warp_specialize([(take_until, (p.reader(), out, B)), (put_until, (p.writer(), x, B))], [1], [24])


@tle2cuda.jit
def put_table(w, table, B: tl.constexpr):
    """What readers wait for once."""
    slot = w.acquire(0)
    tl.store(tle.gpu.local_ptr(slot.data), tl.load(table + tl.arange(0, B)) * 3)
    w.commit(0)


@tle2cuda.jit
def take_table(r, x, out, n, B: tl.constexpr):
    """Waits every time, which costs a look at the barrier."""
    for k in range(n):
        place = tl.load(x + k * B + tl.arange(0, B))
        entry = tl.load(tle.gpu.local_ptr(r.wait(0).slot.data, (place,)))
        tl.store(out + k * B + tl.arange(0, B), entry)


@tle2cuda.jit
def one_shot(x, table, out, n, B: tl.constexpr):
    """A table that is filled once."""
    data = tle.gpu.alloc([1, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=1, name="table", one_shot=True, data=data)
    tle.gpu.warp_specialize([(take_table, (p.reader(), x, out, n, B)), (put_table, (p.writer(), table, B))], [2], [24])


@tle2cuda.jit
def in_one_task(x, out, n, columns, B: tl.constexpr, AHEAD: tl.constexpr):
    """A row is in flight while the one before is reduced: no partitions."""
    data = tle.gpu.alloc([AHEAD + 1, B], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=AHEAD + 1, name="rows", data=data)
    w, r = p.writer(), p.reader()
    i = tl.arange(0, B)
    for k in range(min(n, AHEAD)):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * columns + i, mask=i < columns, other=0.0))
        w.commit(k)
    for k in range(n):
        if k + AHEAD < n:
            row = tl.load(x + (k + AHEAD) * columns + i, mask=i < columns, other=0.0)
            tl.store(tle.gpu.local_ptr(w.acquire(k + AHEAD).data), row)
            w.commit(k + AHEAD)
        row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data)).to(tl.float32)
        r.release(k)
        tl.store(out + k * columns + i, row - tl.max(row), mask=i < columns)


@tle2cuda.jit
def put_by_cursor(w, x, n, B: tl.constexpr):
    """Stage and lap go on without division."""
    c = w.cursor(0)
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(c).data), tl.load(x + k * B + tl.arange(0, B)) + k)
        w.commit(c)
        c = c.advance()


@tle2cuda.jit
def take_by_cursor(r, out, n, B: tl.constexpr):
    """The same for a reader."""
    c = r.cursor(0)
    for k in range(n):
        row = tl.load(tle.gpu.local_ptr(r.wait(c).slot.data, (B - 1 - tl.arange(0, B),)))
        r.release(c)
        c = c.advance()
        tl.store(out + k * B + tl.arange(0, B), row)


@tle2cuda.jit
def by_cursor(x, out, n, B: tl.constexpr, CAPACITY: tl.constexpr):
    """Cursors on both sides."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="x", data=data)
    tle.gpu.warp_specialize([(put_by_cursor, (p.writer(), x, n, B)), (take_by_cursor, (p.reader(), out, n, B))], [4], [24])


@tle2cuda.jit
def forward(first, second, n, B: tl.constexpr):
    """Reads one pipe, adds in place, and hands the same buffer on by another."""
    for k in range(n):
        got = first.wait(k)
        slot = second.acquire(k)
        row = tl.load(tle.gpu.local_ptr(got.slot.data))
        tl.store(tle.gpu.local_ptr(slot.data), row + 100)
        second.commit(k)
        first.release(k)


@tle2cuda.jit
def put_raw(w, done, x, n, B: tl.constexpr, CAPACITY: tl.constexpr):
    """Fills the buffer once the end of the chain has read it."""
    for k in range(n):
        if k >= CAPACITY:
            done.wait(k - CAPACITY)
            done.release(k - CAPACITY)
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B + tl.arange(0, B)))
        w.commit(k)


@tle2cuda.jit
def take_last(r, done, out, n, B: tl.constexpr):
    """The end of the chain."""
    for k in range(n):
        row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - 1 - tl.arange(0, B),)))
        r.release(k)
        done.acquire(k)
        done.commit(k)
        tl.store(out + k * B + tl.arange(0, B), row)


@tle2cuda.jit
def three_pipes(x, out, n, B: tl.constexpr, CAPACITY: tl.constexpr):
    """A buffer that three pipes order: filled, changed in place, read."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    raw = tle.pipe(capacity=CAPACITY, name="raw", data=data)
    ready = tle.pipe(capacity=CAPACITY, name="ready", data=data)
    done = tle.pipe(capacity=CAPACITY, name="done", data=data)
    tle.gpu.warp_specialize(
        [
            (forward, (raw.reader(), ready.writer(), n, B)),
            (put_raw, (raw.writer(), done.reader(), x, n, B, CAPACITY)),
            (take_last, (ready.reader(), done.writer(), out, n, B)),
        ],
        [2, 1],
        [24, 24],
    )


@tle2cuda.jit
def put_tiles(w, x, n, M: tl.constexpr, N: tl.constexpr):
    """Matrices row by row, rows given by a table: cp.async with addresses that depend on data."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    for k in range(n):
        slot = w.acquire(k)
        rows = (r * 5 + k) % M
        tle.gpu.copy(x + k * M * N + rows[:, None] * N + c[None, :], slot.tile, [M, N])
        w.commit(k)


@tle2cuda.jit
def take_turned(r, out, n, M: tl.constexpr, N: tl.constexpr):
    """The matrices transposed."""
    a, b = tl.arange(0, N), tl.arange(0, M)
    for k in range(n):
        got = r.wait(k)
        rows = tl.broadcast_to(b[None, :], (N, M))
        columns = tl.broadcast_to(a[:, None], (N, M))
        turned = tl.load(tle.gpu.local_ptr(got.slot.tile, (rows, columns)))
        r.release(k)
        tl.store(out + k * M * N + a[:, None] * M + b[None, :], turned)


@tle2cuda.jit
def tiles(x, out, n, M: tl.constexpr, N: tl.constexpr, CAPACITY: tl.constexpr):
    """A ring of matrices."""
    data = tle.gpu.alloc([CAPACITY, M, N], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="tiles", tile=data)
    tle.gpu.warp_specialize([(take_turned, (p.reader(), out, n, M, N)), (put_tiles, (p.writer(), x, n, M, N))], [2], [24])


@tle2cuda.jit
def put_halves(w, x, n, B: tl.constexpr):
    """One field by a store, one by a copy."""
    i = tl.arange(0, B)
    for k in range(n):
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.low), tl.load(x + k * 2 * B + i))
        tle.gpu.copy(x + k * 2 * B + B + i, slot.high, [B])
        w.commit(k)


@tle2cuda.jit
def take_differences(r, out, n, B: tl.constexpr):
    """Both fields, one of them turned around."""
    i = tl.arange(0, B)
    for k in range(n):
        slot = r.wait(k).slot
        value = slot.low.load() - tl.load(tle.gpu.local_ptr(slot.high, (B - 1 - i,)))
        r.release(k)
        tl.store(out + k * B + i, value)


@tle2cuda.jit
def fields_are_views(x, out, n, B: tl.constexpr, CAPACITY: tl.constexpr):
    """Fields are parts of one buffer: a slot of it in another shape, and its beginning under another name and type."""
    whole = tle.gpu.alloc([CAPACITY * 2 * B], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    words = tle.gpu.alloc([2 * CAPACITY, B], dtype=tl.int32, alias=whole, nv_mma_shared_layout=False)
    low = words.reshape([2, CAPACITY, B]).slot(1)
    high = words.subslice(0, CAPACITY, dim=0)
    p = tle.pipe(capacity=CAPACITY, low=low, high=high)
    tle.gpu.warp_specialize([(take_differences, (p.reader(), out, n, B)), (put_halves, (p.writer(), x, n, B))], [2], [24])


# ---- what they compute ----------------------------------------------------------------------------------------------


def rows_in(dtype: Any, columns: int, count: int = ROWS) -> Any:
    def make(rng: np.random.Generator) -> Inputs:
        return {"x": numbers(rng, count * columns, dtype), "out": poison(count * columns, dtype), "n": count}

    return make


def doubled(inputs: Inputs) -> Mapping[str, Array]:
    n = inputs["n"]
    x = inputs["x"].reshape(ROWS, -1)
    out = inputs["out"].copy().reshape(ROWS, -1)
    with np.errstate(over="ignore"):
        out[:n] = (x[:n, ::-1] * x.dtype.type(2) + x.dtype.type(1)).astype(x.dtype)
    return {"out": out.reshape(-1)}


def sums(inputs: Inputs) -> Mapping[str, Array]:
    n, columns = inputs["n"], inputs["columns"]
    out = inputs["out"].copy()
    for k in range(n):
        out[k] = inputs["x"][k * columns : (k + 1) * columns].astype(np.float32).sum(dtype=np.float32)
    return {"out": out}


def make_sums(dtype: Any, columns: int, n: int) -> Any:
    def make(rng: np.random.Generator) -> Inputs:
        x = rng.integers(-8, 8, ROWS * columns + 16).astype(dtype)
        return {"x": x, "out": poison(ROWS, np.float32), "n": n, "columns": columns}

    return make


def with_n(make: Any, n: int) -> Any:
    return lambda rng: {**make(rng), "n": n}


for capacity, n, workers in ((1, 5, 4), (2, 0, 4), (2, 9, 4), (7, 9, 2), (8, 9, 8)):
    add_case(
        OpCase(
            f"pipe_ring_{capacity}_{n}_{workers}",
            "async_pipes",
            ring,
            (1,),
            with_n(rows_in(np.int32, 256), n),
            doubled,
            {"B": 256, "CAPACITY": capacity, "WORKERS": workers},
        )
    )

for dtype, columns, capacity, workers in (
    (np.float32, 256, 3, 4),
    (np.float32, 250, 2, 2),
    (np.float16, 512, 4, 4),
    (np.float16, 496, 2, 4),
    (np.float16, 508, 2, 4),
    (np.float16, 505, 6, 4),
    (np.int8, 500, 2, 1),
    (np.float64, 120, 5, 4),
):
    size = 1 << (columns - 1).bit_length()
    add_case(
        OpCase(
            f"pipe_row_sums_{np.dtype(dtype).name}_{columns}_{capacity}",
            "async_pipes",
            row_sums,
            (1,),
            make_sums(dtype, columns, ROWS),
            sums,
            {"B": size, "CAPACITY": capacity, "WORKERS": workers},
        )
    )


def make_two(rng: np.random.Generator) -> Inputs:
    return {
        "x": rng.integers(-1000, 1000, ROWS * 128).astype(np.int32),
        "scale": rng.integers(-9, 9, ROWS).astype(np.int32),
        "out": poison(ROWS * 128, np.int32),
        "largest": poison(ROWS, np.int32),
        "n": ROWS,
    }


def two(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["x"].reshape(ROWS, -1)
    factor = inputs["scale"][:, None] + np.arange(128, dtype=np.int32)
    return {"out": (x * factor).reshape(-1), "largest": x.max(axis=1)}


for capacity in (1, 2):
    constants = {"B": 128, "CAPACITY": capacity}
    add_case(OpCase(f"pipe_two_readers_{capacity}", "async_pipes", two_readers, (1,), make_two, two, constants))


def make_closed(count: int) -> Any:
    rows = max(ROWS, count + 1)

    def make(rng: np.random.Generator) -> Inputs:
        x = np.abs(numbers(rng, (rows, 64), np.float32))
        x[count:] = -1
        return {"x": x.reshape(-1), "out": poison((rows, 64), np.float32).reshape(-1)}

    return make


def closed(inputs: Inputs) -> Mapping[str, Array]:
    x, out = inputs["x"].reshape(-1, 64), inputs["out"].copy().reshape(-1, 64)
    count = int(np.argmax(x[:, 0] < 0))
    out[:count] = x[:count, ::-1]
    return {"out": out.reshape(-1)}


for count, capacity in ((0, 2), (7, 2), (43, 40), (73, 70)):  # 64 stages have bits in a word, more in an array of words
    name = f"pipe_closed_{count}_{capacity}"
    constants = {"B": 64, "CAPACITY": capacity}
    uses_stack = capacity > 64
    add_case(OpCase(name, "async_pipes", closed_ring, (1,), make_closed(count), closed, constants, uses_stack=uses_stack))


def make_table(rng: np.random.Generator) -> Inputs:
    return {
        "x": rng.integers(0, 128, ROWS * 128).astype(np.int32),
        "table": numbers(rng, 128, np.int32) // 4,
        "out": poison(ROWS * 128, np.int32),
        "n": ROWS,
    }


add_case(
    OpCase(
        "pipe_one_shot",
        "async_pipes",
        one_shot,
        (1,),
        make_table,
        lambda inputs: {"out": (inputs["table"] * 3)[inputs["x"]]},
        {"B": 128},
    )
)


def make_softmax(dtype: Any, columns: int, n: int) -> Any:
    def make(rng: np.random.Generator) -> Inputs:
        x = rng.standard_normal(ROWS * columns).astype(dtype)
        return {"x": x, "out": poison(ROWS * columns, np.float32), "n": n, "columns": columns}

    return make


def below_largest(inputs: Inputs) -> Mapping[str, Array]:
    n, columns = inputs["n"], inputs["columns"]
    x = inputs["x"].astype(np.float32).reshape(ROWS, columns)
    out = inputs["out"].copy().reshape(ROWS, columns)
    out[:n] = x[:n] - np.maximum(x[:n].max(axis=1), 0 if columns & (columns - 1) else -np.inf)[:, None]
    return {"out": out.reshape(-1)}


for dtype, columns, n, ahead in (
    (np.float32, 256, ROWS, 1),
    (np.float16, 1000, ROWS, 2),
    (np.float16, 1000, 1, 2),
    (np.float16, 999, ROWS, 1),
    (np.float32, 100, 0, 3),
):
    size = 1 << (columns - 1).bit_length()
    add_case(
        OpCase(
            f"pipe_in_one_task_{np.dtype(dtype).name}_{columns}_{n}_{ahead}",
            "async_pipes",
            in_one_task,
            (1,),
            make_softmax(dtype, columns, n),
            below_largest,
            {"B": size, "AHEAD": ahead},
        )
    )

for capacity in (1, 3):
    add_case(
        OpCase(
            f"pipe_cursor_{capacity}",
            "async_pipes",
            by_cursor,
            (1,),
            lambda rng: {"x": numbers(rng, ROWS * 128, np.int32) // 4, "out": poison(ROWS * 128, np.int32), "n": ROWS},
            lambda inputs: {
                "out": (inputs["x"].reshape(ROWS, -1)[:, ::-1] + np.arange(ROWS, dtype=np.int32)[:, None]).reshape(-1)
            },
            {"B": 128, "CAPACITY": capacity},
        )
    )

for capacity in (2,):
    add_case(
        OpCase(
            f"pipes_over_one_buffer_{capacity}",
            "async_pipes",
            three_pipes,
            (1,),
            lambda rng: {"x": numbers(rng, ROWS * 64, np.int32) // 4, "out": poison(ROWS * 64, np.int32), "n": ROWS},
            lambda inputs: {"out": (inputs["x"].reshape(ROWS, -1)[:, ::-1] + 100).reshape(-1)},
            {"B": 64, "CAPACITY": capacity},
            num_warps=2,
        )
    )


def turned(inputs: Inputs, rows: int, columns: int) -> Mapping[str, Array]:
    x = inputs["x"].reshape(-1, rows, columns)
    picked = [(np.arange(rows) * 5 + k) % rows for k in range(len(x))]
    return {"out": np.stack([tile[order].T for tile, order in zip(x, picked, strict=True)]).reshape(-1)}


for dtype, rows, columns in ((np.float32, 16, 32), (np.int16, 32, 16), (np.int8, 16, 16), (np.int64, 8, 4)):
    add_case(
        OpCase(
            f"pipe_tiles_{np.dtype(dtype).name}_{rows}x{columns}",
            "async_pipes",
            tiles,
            (1,),
            lambda rng, dtype=dtype, size=rows * columns: {
                "x": numbers(rng, 5 * size, dtype),
                "out": poison(5 * size, dtype),
                "n": 5,
            },
            lambda inputs, rows=rows, columns=columns: turned(inputs, rows, columns),
            {"M": rows, "N": columns, "CAPACITY": 2},
        )
    )

add_case(
    OpCase(
        "pipe_fields_are_views_2",
        "async_pipes",
        fields_are_views,
        (1,),
        lambda rng: {"x": numbers(rng, ROWS * 128, np.int32) // 4, "out": poison(ROWS * 64, np.int32), "n": ROWS},
        lambda inputs: {
            "out": (inputs["x"].reshape(ROWS, 2, 64)[:, 0] - inputs["x"].reshape(ROWS, 2, 64)[:, 1, ::-1]).reshape(-1)
        },
        {"B": 64, "CAPACITY": 2},
    )
)
