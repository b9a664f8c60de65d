"""`warp_specialize` with `reuse_default_warps=True`: the kernel's warps divided among partitions, also in loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle


@tle2cuda.jit
def ordered(row, factor):
    """A tile and a number that come out of the first partition."""
    return tl.sort(row) * factor, tl.sum(row, axis=0)


@tle2cuda.jit
def prefix(row, out, B: tl.constexpr):
    """A scan of a tile that other warps hold."""
    tl.store(out + tl.arange(0, B), tl.cumsum(row, axis=0))


@tle2cuda.jit
def turned_into(buffer, row, k, B: tl.constexpr):
    """A partition that works on shared memory."""
    i = tl.arange(0, B)
    buffer.store(tl.load(tle.gpu.local_ptr(buffer, (B - 1 - i,))) + row * k)


@tle2cuda.jit
def divided(x, out, prefixes, n, B: tl.constexpr, WARPS: tl.constexpr):
    """In a loop: tiles, numbers and shared memory in, results out."""
    i = tl.arange(0, B)
    buffer = tle.gpu.alloc([B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buffer.store(i)
    best, total = tl.zeros([B], tl.int32), 0
    for k in range(n):
        row = tl.load(x + k * B + i)
        if tl.sum(row, axis=0) != 0:
            low, one = tle.gpu.warp_specialize(
                [
                    (ordered, (row, k + 1)),
                    (prefix, (row, prefixes + k * B, B)),
                    (turned_into, (buffer, row, k, B)),
                ],
                WARPS,
                reuse_default_warps=True,
            )
            best += tl.flip(low)
            total += one
    tl.store(out + i, best + total)
    tl.store(out + B + i, buffer.load())


def divide(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"].reshape(-1, 128), inputs["n"]
    prefixes = inputs["prefixes"].reshape(-1, 128).copy()
    best, total, buffer = np.zeros(128, np.int32), 0, np.arange(128, dtype=np.int32)
    for k in range(n):
        if x[k].sum():
            best += np.sort(x[k])[::-1] * (k + 1)
            total += x[k].sum()
            prefixes[k] = np.cumsum(x[k])
            buffer = buffer[::-1] + x[k] * k
    return {"out": np.concatenate([best + total, buffer]).astype(np.int32), "prefixes": prefixes.reshape(-1)}


def make_divided(n: int) -> Any:
    def make(rng: np.random.Generator) -> Inputs:
        x = rng.integers(-99, 100, (5, 128)).astype(np.int32)
        x[1] = 0
        return {"x": x.reshape(-1), "out": poison(256, np.int32), "prefixes": poison(5 * 128, np.int32), "n": n}

    return make


for warps, n in (((2, 1, 1), 5), ((1, 2, 1), 3), ((4, 2, 2), 1), ((2, 2, 4), 0), ((1, 1, 2), 5)):
    add_case(
        OpCase(
            f"divided_{'_'.join(map(str, warps))}_{n}",
            "divided_partitions",
            divided,
            (1,),
            make_divided(n),
            divide,
            {"B": 128, "WARPS": warps},
            num_warps=sum(warps),
        )
    )


@tle2cuda.jit
def put_rows(w, x, desc, first, count, B: tl.constexpr, HOW: tl.constexpr):
    """Rows into a pipe."""
    i = tl.arange(0, B)
    for k in range(first, first + count):
        slot = w.acquire(k)
        if HOW == "tensor":
            tle.gpu.copy(desc, slot.data, [1, B], [k, 0])
        elif HOW == "async":
            tle.gpu.copy(x + k * B + i, slot.data, [B], is_async=True)
        else:
            slot.data.store(tl.load(x + k * B + i))
        w.commit(k)


@tle2cuda.jit
def take_rows(r, out, first, count, factor: tl.constexpr, B: tl.constexpr):
    """Rows out of a pipe, turned around; gives the greatest element."""
    i = tl.arange(0, B)
    most = tl.full([B], -(2**31), tl.int32)
    for k in range(first, first + count):
        row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data, (B - 1 - i,)))
        r.release(k)
        tl.store(out + k * B + i, row * factor)
        most = tl.maximum(most, row)
    return tl.max(most, axis=0)


@tle2cuda.jit
def divided_ring(x, out, most, n, B: tl.constexpr, STAGES: tl.constexpr, WARPS: tl.constexpr, HOW: tl.constexpr):
    """A ring between groups of the kernel's warps, entered again and again, and read once more by all of them."""
    ring = tle.gpu.alloc([STAGES, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    side = tle.gpu.alloc([1, B], dtype=tl.int32)
    pipe = tle.pipe(capacity=STAGES, name="rows", data=ring)
    desc = tl.make_tensor_descriptor(x, [n, B], [B, 1], [1, B])
    found = -(2**31)
    for first in range(0, n, 3):
        count = tl.minimum(3, n - first)
        one = tle.gpu.warp_specialize(
            [
                (take_rows, (pipe.reader(), out, first, count, 3, B)),
                (put_rows, (pipe.writer(), x, desc, first, count, B, HOW)),
            ],
            WARPS,
            reuse_default_warps=True,
        )
        found = tl.maximum(found, one)
        tle.gpu.copy(desc, side, [1, B], [first, 0])
        tl.store(out + first * B + tl.arange(0, B), side.slot(0).load())
    tl.store(most, found)


def ringed(inputs: Inputs) -> Mapping[str, Array]:
    n, x = inputs["n"], inputs["x"].reshape(-1, 64)
    out = inputs["out"].reshape(-1, 64).copy()
    out[:n] = x[:n, ::-1] * 3
    out[:n:3] = x[:n:3]
    return {"out": out.reshape(-1), "most": np.array([x[:n].max(initial=-(2**31))], np.int32)}


for how, warps, stages, n in (
    ("store", (2, 2), 2, 7),
    ("async", (1, 1), 1, 8),
    ("tensor", (4, 4), 4, 8),
    ("tensor", (1, 1), 3, 1),
    ("store", (4, 4), 3, 0),
):
    add_case(
        OpCase(
            f"divided_ring_{how}_{'_'.join(map(str, warps))}_{stages}_{n}",
            "divided_partitions",
            divided_ring,
            (1,),
            lambda rng, n=n: {
                "x": rng.integers(-999, 999, 8 * 64).astype(np.int32),
                "out": poison(8 * 64, np.int32),
                "most": poison(1, np.int32),
                "n": n,
            },
            ringed,
            {"B": 64, "STAGES": stages, "WARPS": warps, "HOW": how},
            num_warps=sum(warps),
        )
    )


@tle2cuda.jit
def own_copy(desc, out, row, B: tl.constexpr):
    """A blocking copy in a partition, in a buffer of its own."""
    own = tle.gpu.alloc([1, B], dtype=tl.int32)
    tle.gpu.copy(desc, own, [1, B], [row, 0])
    tl.store(out + row * B + tl.arange(0, B), own.slot(0).load() + 1)


@tle2cuda.jit
def own_product(a, out, M: tl.constexpr):
    """A product whose operands lie in the partition's own shared memory."""
    i = tl.arange(0, M)
    x = tl.load(a + i[:, None] * M + i[None, :])
    tl.store(out + i[:, None] * M + i[None, :], tl.dot(x, tl.trans(x)))


@tle2cuda.jit
def beside_workers(x, a, out, products, log, n, B: tl.constexpr, M: tl.constexpr):
    """Both kinds in one loop: the warps are divided, then work beside workers."""
    desc = tl.make_tensor_descriptor(x, [n, B], [B, 1], [1, B])
    for k in range(n):
        tle.gpu.warp_specialize(
            [(own_copy, (desc, out, k, B)), (own_product, (a, products, M))], [2, 2], reuse_default_warps=True
        )
        tle.gpu.warp_specialize([(note, (log, k, 1)), (note, (log + 1, k, 2))], [1])


@tle2cuda.jit
def note(log, k, factor: tl.constexpr):
    """Adds to a word."""
    tl.store(log, tl.load(log) + k * factor)


def besides(inputs: Inputs) -> Mapping[str, Array]:
    a, n = inputs["a"].astype(np.float32).reshape(32, 32), inputs["n"]
    out = inputs["out"].copy()
    out[: n * 64] = inputs["x"][: n * 64] + 1
    steps = n * (n - 1) // 2
    return {"out": out, "products": (a @ a.T).reshape(-1), "log": inputs["log"] + np.array([steps, 2 * steps], np.int32)}


for n in (1, 4):
    add_case(
        OpCase(
            f"beside_workers_{n}",
            "divided_partitions",
            beside_workers,
            (1,),
            lambda rng, n=n: {
                "x": rng.integers(-999, 999, 4 * 64).astype(np.int32),
                "a": rng.integers(-4, 5, 32 * 32).astype(np.float16),
                "out": poison(4 * 64, np.int32),
                "products": poison(32 * 32, np.float32),
                "log": np.array([5, 6], np.int32),
                "n": n,
            },
            besides,
            {"B": 64, "M": 32},
        )
    )
