"""Pipes whose stages the copy engine fills though nobody says so: by whole contiguous rows, by tiles of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle


@tle2cuda.jit
def put_rows(w, x, first, n, stride, R: tl.constexpr, B: tl.constexpr):
    """Rows some of which may lie between others that nobody wants; in bulk when they are long enough."""
    for k in range(n):
        slot = w.acquire(k)
        start = x + first + k * R * stride
        if R == 1:
            tle.gpu.copy(start + tl.arange(0, B), slot.data, [B])
        else:
            tle.gpu.copy(start + tl.arange(0, R)[:, None] * stride + tl.arange(0, B)[None, :], slot.data, [R, B])
        w.commit(k)


@tle2cuda.jit
def take_turned(r, out, n, R: tl.constexpr, B: tl.constexpr):
    """Reads each stage turned around: elements that other threads would have copied."""
    for k in range(n):
        got = r.wait(k)
        j = B - 1 - tl.arange(0, B)
        if R == 1:
            value = tl.load(tle.gpu.local_ptr(got.slot.data, (j,)))
            r.release(k)
            tl.store(out + k * B + tl.arange(0, B), value)
        else:
            rows = tl.broadcast_to(tl.arange(0, R)[:, None], (R, B))
            value = tl.load(tle.gpu.local_ptr(got.slot.data, (rows, tl.broadcast_to(j[None, :], (R, B)))))
            r.release(k)
            tl.store(out + (k * R + tl.arange(0, R))[:, None] * B + tl.arange(0, B)[None, :], value)


@tle2cuda.jit
def ring_of_rows(x, out, first, n, stride, R: tl.constexpr, B: tl.constexpr, CAPACITY: tl.constexpr, WORKER: tl.constexpr):
    """The writer on the default warps, or on a worker of one warp."""
    shape: tl.constexpr = [CAPACITY, B] if R == 1 else [CAPACITY, R, B]
    data = tle.gpu.alloc(shape, dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=CAPACITY, name="rows", data=data)
    put = (put_rows, (p.writer(), x, first, n, stride, R, B))
    take = (take_turned, (p.reader(), out, n, R, B))
    if WORKER:
        tle.gpu.warp_specialize([take, put], [1], [24])
    else:
        tle.gpu.warp_specialize([put, take], [4], [24])


@tle2cuda.jit
def put_two(w, x, y, n, count, B: tl.constexpr):
    """One field in bulk, one under a mask by cp.async."""
    i = tl.arange(0, B)
    for k in range(n):
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.a), tl.load(x + k * B + i))
        tl.store(tle.gpu.local_ptr(slot.b), tl.load(y + k * B + i, mask=i < count, other=0))
        w.commit(k)


@tle2cuda.jit
def take_sum(r, out, n, B: tl.constexpr):
    for k in range(n):
        got = r.wait(k)
        total = tl.load(tle.gpu.local_ptr(got.slot.a)) + tl.load(tle.gpu.local_ptr(got.slot.b))
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), total)


@tle2cuda.jit
def two_ways(x, y, out, n, count, B: tl.constexpr):
    """A pipe that two kinds of copies fill."""
    a = tle.gpu.alloc([2, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    b = tle.gpu.alloc([2, B], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=2, name="both", a=a, b=b)
    tle.gpu.warp_specialize([(take_sum, (p.reader(), out, n, B)), (put_two, (p.writer(), x, y, n, count, B))], [2], [24])


@tle2cuda.jit
def put_boxes(w, x, y, M, N, stride, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Boxes of two tensors, loaded as tiles and stored to a stage."""
    a = tl.make_block_ptr(x, (M, N), (stride, 1), (tl.program_id(0) * BM - 3, -8), (BM, BN), (1, 0))
    desc = tl.make_tensor_descriptor(y, [M, N], [stride, 1], [BM, BN], padding_option="nan")
    for k in range(tl.cdiv(N, BN)):
        slot = w.acquire(k)
        first = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        second = desc.load([tl.program_id(0) * BM, k * BN])
        if FORM == "written":  # what was loaded before is not loaded behind
            tl.store(x + M * stride - 1 - tl.program_id(0), 77.0)
        tl.store(tle.gpu.local_ptr(slot.a), first)
        if FORM == "used":
            second += first
        tl.store(tle.gpu.local_ptr(slot.b), second)
        w.commit(k)
        a = tl.advance(a, (0, BN))


@tle2cuda.jit
def take_boxes(r, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The sum of both, as it lies in the tensor."""
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    for k in range(tl.cdiv(N, BN)):
        got = r.wait(k)
        total = tl.load(tle.gpu.local_ptr(got.slot.a)) + tl.load(tle.gpu.local_ptr(got.slot.b))
        r.release(k)
        j = k * BN + tl.arange(0, BN)
        tl.store(out + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))


@tle2cuda.jit
def ring_of_boxes(x, y, out, M, N, stride, FORM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Block pointers and descriptors that feed a pipe."""
    a = tle.gpu.alloc([2, BM, BN], dtype=tl.float32, scope=tle.gpu.smem)
    b = tle.gpu.alloc([2, BM, BN], dtype=tl.float32, scope=tle.gpu.smem)
    p = tle.pipe(capacity=2, name="boxes", a=a, b=b)
    tle.gpu.warp_specialize(
        [(take_boxes, (p.reader(), out, M, N, BM, BN)), (put_boxes, (p.writer(), x, y, M, N, stride, FORM, BM, BN))],
        [1],
        [24],
    )


@tle2cuda.jit
def put_corners(w, x, cols, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Boxes at columns out of memory: the engine takes some of them."""
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    for k in range(tl.cdiv(M, BM)):
        slot = w.acquire(k)
        tle.gpu.copy(desc, slot.data, [BM, BN], [k * BM, tl.load(cols + k)])
        w.commit(k)


@tle2cuda.jit
def ring_of_corners(x, cols, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Stages that the engine fills, or the writer's threads."""
    data = tle.gpu.alloc([2, BM, BN], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=2, name="corners", data=data)
    tle.gpu.warp_specialize(
        [(take_turned, (p.reader(), out, tl.cdiv(M, BM), BM, BN)), (put_corners, (p.writer(), x, cols, M, N, BM, BN))],
        [2],
        [24],
    )


@tle2cuda.jit
def put_some(w, x, desc, at, n, B: tl.constexpr, FORM: tl.constexpr):
    """Rows by the copy engine: as they lie in memory, or as boxes, which may have ordinary stores beside them."""
    for k in range(n):
        slot = w.acquire(at + k)
        if FORM == "rows":
            tle.gpu.copy(x + (at + k) * B + tl.arange(0, B), slot.data, [B])
        else:
            tle.gpu.copy(desc, slot.data, [1, B], [at + k, 0])
        if FORM == "beside":
            slot.flag.store(tl.full([1], 1, tl.float32))
        w.commit(at + k)


@tle2cuda.jit
def take_some(r, out, at, n, B: tl.constexpr, FORM: tl.constexpr):
    for k in range(n):
        slot = r.wait(at + k).slot
        value = tl.load(tle.gpu.local_ptr(slot.data, (B - 1 - tl.arange(0, B),)))
        if FORM == "beside":
            value *= tl.load(tle.gpu.local_ptr(slot.flag, (0,)))
        r.release(at + k)
        tl.store(out + (at + k) * B + tl.arange(0, B), value)


@tle2cuda.jit
def unread(x, out, n, left, B: tl.constexpr, CAPACITY: tl.constexpr, FORM: tl.constexpr):
    """The last rows are fetched, and nobody waits for them: they must have landed when the CTA exits."""
    data = tle.gpu.alloc([CAPACITY, B], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    desc = tl.make_tensor_descriptor(x, [n, B], [B, 1], [1, B])
    if FORM == "own":
        landed = tle.gpu.alloc_barriers(CAPACITY, expect_bytes=B * 4)
        for k in range(n):
            tle.gpu.copy(desc, data.slot(k % CAPACITY), [1, B], [k, 0], barrier=landed[k % CAPACITY])
            if k < n - left:
                tle.gpu.barrier_wait(landed[k % CAPACITY], phaseIdx=k // CAPACITY)
                value = tl.load(tle.gpu.local_ptr(data.slot(k % CAPACITY), (B - 1 - tl.arange(0, B),)))
                tl.store(out + k * B + tl.arange(0, B), value)
    else:
        flag = tle.gpu.alloc([CAPACITY, 1], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=CAPACITY, name="x", data=data, flag=flag)
        if FORM == "entries":
            for k in range(n):
                reads = (k < n - left).to(tl.int32)
                tle.gpu.warp_specialize(
                    [(take_some, (p.reader(), out, k, reads, B, FORM)), (put_some, (p.writer(), x, desc, k, 1, B, FORM))],
                    [1],
                )
        else:
            tle.gpu.warp_specialize(
                [
                    (take_some, (p.reader(), out, 0, n - left, B, FORM)),
                    (put_some, (p.writer(), x, desc, 0, n, B, FORM)),
                ],
                [1],
            )


def _register_corners() -> None:
    cols = np.array([0, 5, -4, 8, -3, 21], np.int32)

    def corners(inputs: Inputs) -> Mapping[str, Array]:
        wide = np.zeros((48, 64), np.float32)
        wide[:45, 20:44] = inputs["x"]
        boxes = [wide[k * 8 : k * 8 + 8, 20 + col : 36 + col] for k, col in enumerate(cols)]
        return {"out": np.vstack(boxes)[:, ::-1].copy()}

    add_case(
        OpCase(
            "pipe_corners",
            "bulk_pipes",
            ring_of_corners,
            (1,),
            lambda rng: {
                "x": rng.integers(-9, 9, (45, 24)).astype(np.float32),
                "cols": cols,
                "out": poison((48, 16), np.float32),
                "M": 45,
                "N": 24,
            },
            corners,
            {"BM": 8, "BN": 16},
        )
    )


def _register_boxes() -> None:
    def sums(inputs: Inputs, form: str) -> Mapping[str, Array]:
        x, y, n = inputs["x"], inputs["y"], inputs["N"]
        first = np.zeros_like(x)
        first[3:, 8:] = x[:-3, :-8]
        first = first[:, :n]
        first[:, 8:] = np.where(np.arange(n)[8:] - 8 < n, first[:, 8:], 0)
        total = first + y[:, :n] + (first if form == "used" else 0)
        result = {"out": total.astype(np.float32)}
        if form == "written":
            x = x.copy()
            x[-1, -2:] = 77
            result["x"] = x
        return result

    for label, form, stride in (
        ("", "plain", 48),
        ("_used", "used", 48),
        ("_written", "written", 48),
        ("_odd", "plain", 52),
    ):

        def make(rng: np.random.Generator, stride: int = stride) -> Inputs:
            x, y = (rng.integers(-9, 9, (21, stride)).astype(np.float32) for _ in range(2))
            return {"x": x, "y": y, "out": poison((21, 44), np.float32), "M": 21, "N": 44, "stride": stride}

        add_case(
            OpCase(
                f"pipe_boxes{label}",
                "bulk_pipes",
                ring_of_boxes,
                (2,),
                make,
                lambda inputs, form=form: sums(inputs, form),
                {"FORM": form, "BM": 16, "BN": 16},
            )
        )


def _register() -> None:
    for label, dtype, rows, length, stride, steps, capacity, worker in (
        ("f16", np.float16, 1, 512, 512, 7, 3, True),
        ("f32_of_more", np.float32, 1, 64, 80, 5, 2, True),
        ("bf16_rows", BF16, 4, 128, 160, 5, 2, True),
        ("i8_default", np.int8, 8, 256, 256, 4, 3, False),
        ("i64_one", np.int64, 2, 32, 64, 1, 4, True),
        ("i32_none", np.int32, 1, 128, 128, 0, 2, False),
        ("f32_short", np.float32, 4, 16, 32, 6, 2, True),
    ):

        def make(rng: np.random.Generator, spec: Any = (dtype, rows, length, stride, steps)) -> Inputs:
            dtype, rows, length, stride, steps = spec
            x = numbers(rng, 16 + max(1, rows * steps) * stride, dtype)
            return {"x": x, "out": poison((rows * steps, length), dtype), "first": 16, "n": steps, "stride": stride}

        def turned(inputs: Inputs, rows: int = rows, length: int = length) -> Mapping[str, Array]:
            lines = inputs["x"][16:].reshape(-1, inputs["stride"])[: rows * inputs["n"], :length]
            return {"out": lines[:, ::-1].copy()}

        constants = {"R": rows, "B": length, "CAPACITY": capacity, "WORKER": worker}
        add_case(OpCase(f"bulk_ring_{label}", "bulk_pipes", ring_of_rows, (1,), make, turned, constants))

    def both(inputs: Inputs) -> Mapping[str, Array]:
        y = inputs["y"].copy()
        y[:, inputs["count"] :] = 0
        return {"out": inputs["x"] + y}

    add_case(
        OpCase(
            "bulk_and_cp_async",
            "bulk_pipes",
            two_ways,
            (1,),
            lambda rng: {
                "x": numbers(rng, (5, 256), np.int32),
                "y": numbers(rng, (5, 256), np.int32),
                "out": poison((5, 256), np.int32),
                "n": 5,
                "count": 77,
            },
            both,
            {"B": 256},
        )
    )


def _register_unread() -> None:
    for label, n, left, capacity, form in (
        ("rows_all", 5, 1, 2, "rows"),
        ("rows_none_read", 1, 1, 1, "rows"),
        ("boxes", 7, 3, 3, "boxes"),
        ("boxes_beside_stores", 6, 2, 4, "beside"),
        ("entries", 5, 2, 3, "entries"),
        ("own_barriers", 6, 2, 3, "own"),
    ):

        def make(rng: np.random.Generator, n: int = n, left: int = left) -> Inputs:
            return {"x": numbers(rng, (n, 64), np.float32), "out": poison((n, 64), np.float32), "n": n, "left": left}

        def some(inputs: Inputs) -> Mapping[str, Array]:
            out, read = inputs["out"].copy(), inputs["n"] - inputs["left"]
            out[:read] = inputs["x"][:read, ::-1]
            return {"out": out}

        name, constants = f"pipe_unread_{label}", {"B": 64, "CAPACITY": capacity, "FORM": form}
        add_case(OpCase(name, "bulk_pipes", unread, (1,), make, some, constants))


_register()
_register_boxes()
_register_corners()
_register_unread()
