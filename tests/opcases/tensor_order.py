"""Tensor copies of one memory in order: stores over each other, in place, beside ordinary accesses, several in flight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle


@tle2cuda.jit
def store_twice(x, out, M, N, SHIFT: tl.constexpr):
    """Two stores that share rows: the second one's stay."""
    N = tl.multiple_of(N, 4)
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [8, 16])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [8, 16])
    first = tle.gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
    second = tle.gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
    row = tl.program_id(0) * 16
    tle.gpu.copy(source, first, [8, 16], [row, 0])
    tl.store(tle.gpu.local_ptr(second), tl.load(tle.gpu.local_ptr(first)) + 1)
    tle.gpu.copy(first, target, [8, 16], [row, 0])
    tle.gpu.copy(second, target, [8, 16], [row + SHIFT, 0])


@tle2cuda.jit
def down_the_rows(x, M, N):
    """In place: each box is made of the one before it, which the engine has stored."""
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [8, 16])
    tile = tle.gpu.alloc([8, 16], tl.int32, nv_mma_shared_layout=False)
    for row in range(0, M - 8, 4):
        tle.gpu.copy(desc, tile, [8, 16], [row, 0])
        tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr(tile)) * 3 + 1)
        tle.gpu.copy(tile, desc, [8, 16], [row + 8, 0])


@tle2cuda.jit
def mixed(x, y, out, M, N):
    """Ordinary stores before a tensor load of the same elements, and a tensor store before ordinary loads."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [8, 16])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [8, 16])
    tile = tle.gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
    i, j = tl.arange(0, 8), tl.arange(0, 16)
    for row in range(0, M, 8):
        place = (row + i[:, None]) * N + j[None, :]
        tl.store(x + place, tl.load(out + place) * 2)
        tle.gpu.copy(source, tile, [8, 16], [row, 0])
        tle.gpu.copy(tile, target, [8, 16], [row, 0])
        turned = (row + 7 - i[:, None]) * N + j[None, :]
        tl.store(out + place, tl.load(y + turned) + 1)


@tle2cuda.jit
def ring_of_stores(x, out, M, N, SLOTS: tl.constexpr, COLS: tl.constexpr):
    """Stores out of the slots of a ring: some are in flight while the next slot is filled."""
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [4, COLS])
    ring = tle.gpu.alloc([SLOTS, 4, COLS], tl.float32, nv_mma_shared_layout=False)
    i, j = tl.arange(0, 4), tl.arange(0, COLS)
    for step in range(tl.cdiv(M, 4)):
        slot = ring.slot(step % SLOTS)
        row = step * 4 + i[:, None]
        tl.store(tle.gpu.local_ptr(slot), tl.load(x + row * N + j[None, :], mask=(row < M) & (j[None, :] < N)) + step)
        tle.gpu.copy(slot, target, [4, COLS], [step * 4, 0])


@tle2cuda.jit
def two_buffers(x, out, M, N):
    """Two buffers that are filled and stored in turn, in an unrolled loop."""
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [8, 16])
    a = tle.gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
    b = tle.gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
    i, j = tl.arange(0, 8), tl.arange(0, 16)
    for step in tl.static_range(5):
        tl.store(tle.gpu.local_ptr(a), tl.load(x + (step * 8 + i[:, None]) * N + j[None, :]) - step)
        tle.gpu.copy(a, target, [8, 16], [step * 8, 0])
        a, b = b, a


@tle2cuda.jit
def whichever(x, rows, out, M, N):
    """Rows out of memory, twice the same in a row: the order of the stores counts."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [8, 16])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [8, 16])
    ring = tle.gpu.alloc([2, 8, 16], tl.float32, nv_mma_shared_layout=False)
    for step in range(M // 8):
        tle.gpu.copy(source, ring.slot(step % 2), [8, 16], [step * 8, 0])
        tle.gpu.copy(ring.slot(step % 2), target, [8, 16], [tl.load(rows + step), 0])


@tle2cuda.jit
def combine(x, starts, out, M, N, KIND: tl.constexpr):
    """Programs that combine tiles with the same rows, some of them over the edge; rows out of memory."""
    source = tl.make_tensor_descriptor(x, [tl.num_programs(0) * 16, N], [N, 1], [16, 32])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [16, 32])
    start = tl.load(starts + tl.program_id(0))
    for col in range(0, N, 32):
        value = source.load([tl.program_id(0) * 16, col])
        if KIND == "add":
            target.atomic_add([start, col], value)
        elif KIND == "min":
            target.atomic_min([start, col], value)
        elif KIND == "max":
            target.atomic_max([start, col], value)
        elif KIND == "and":
            target.atomic_and([start, col], value)
        elif KIND == "or":
            target.atomic_or([start, col], value)
        else:
            target.atomic_xor([start, col], value)


@tle2cuda.jit
def last_one_doubles(x, sums, count, out, N):
    """Sums over all programs; the last one to add reads them."""
    target = tl.make_tensor_descriptor(sums, [2, 4, N], [4 * N, N, 1], [2, 4, 64])
    i = tl.arange(0, 8)[:, None] * N + tl.arange(0, 64)[None, :]
    mask = tl.broadcast_to(tl.arange(0, 64)[None, :] < N, (8, 64))
    value = tl.load(x + tl.program_id(0) * 8 * N + i, mask=mask, other=0)
    target.atomic_add([0, 0, 0], value.reshape(2, 4, 64))
    if tl.atomic_add(count, 1) == tl.num_programs(0) - 1:
        tl.store(out + i, tl.load(sums + i, mask=mask) * 2, mask=mask)


@tle2cuda.jit
def add_lines(x, out, n, BLOCK: tl.constexpr):
    """Rank 1: every program adds to all lines."""
    source = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    target = tl.make_tensor_descriptor(out, [n], [1], [BLOCK])
    for start in range(0, n, BLOCK):
        target.atomic_add([start], source.load([start]))


# ---- cases ----------------------------------------------------------------------------------------------------------

Reference = Callable[[Inputs], Mapping[str, Array]]


def _case(name: str, kernel: Any, make: Any, reference: Reference, constants: Mapping[str, Any], ctas: int = 1) -> None:
    add_case(OpCase(f"order_{name}", "tensor_order", kernel, (ctas,), make, reference, constants))


def _floats(rng: np.random.Generator, m: int, n: int) -> Array:
    return rng.integers(-99, 99, (m, n)).astype(np.float32)


def _both(inputs: Inputs, shift: int) -> Mapping[str, Array]:
    x, out = inputs["x"], inputs["out"].copy()
    for row in range(0, 64, 16):
        first = x[row : row + 8, :16]
        out[row : row + 8, :16] = first
        out[row + shift : row + shift + 8, :16] = first + 1
    return {"out": out}


def _down(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["x"].copy()
    for row in range(0, len(x) - 8, 4):
        box = x[row : row + 8, :16] * 3 + 1
        part = x[row + 8 : row + 16, :16]
        part[...] = box[: len(part)]
    return {"x": x}


def _mixed(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["out"] * 2
    return {"x": x, "y": x, "out": x.reshape(-1, 8, 16)[:, ::-1].reshape(x.shape) + 1}


def _whichever(inputs: Inputs) -> Mapping[str, Array]:
    out = inputs["out"].copy()
    for step, row in enumerate(inputs["rows"]):
        out[row : row + 8] = inputs["x"][step * 8 : step * 8 + 8]
    return {"out": out}


def _register() -> None:
    def images(rng: np.random.Generator, m: int, n: int) -> Inputs:
        return {"x": _floats(rng, m, n), "out": poison((m, n), np.float32), "M": m, "N": n}

    for shift in (0, 5, 8):
        _case(
            f"twice_{shift}",
            store_twice,
            lambda rng: images(rng, 64, 24),
            lambda i, s=shift: _both(i, s),
            {"SHIFT": shift},
            4,
        )
    _case(
        "down_the_rows",
        down_the_rows,
        lambda rng: {"x": rng.integers(-99, 99, (45, 16)).astype(np.int32), "M": 45, "N": 16},
        _down,
        {},
    )
    _case(
        "mixed",
        mixed,
        lambda rng: {**images(rng, 40, 16), "y": poison((40, 16), np.float32), "out": _floats(rng, 40, 16)},
        _mixed,
        {},
    )
    for slots, m in ((2, 30), (3, 4), (4, 41)):
        steps = lambda inputs: {"out": inputs["x"] + (np.arange(len(inputs["x"])) // 4)[:, None].astype(np.float32)}  # noqa: E731
        _case(
            f"ring_{slots}_{m}",
            ring_of_stores,
            lambda rng, m=m: images(rng, m, 48),
            steps,
            {"SLOTS": slots, "COLS": 64},
        )
    _case(
        "two_buffers",
        two_buffers,
        lambda rng: images(rng, 40, 16),
        lambda inputs: {"out": inputs["x"] - (np.arange(40) // 8)[:, None].astype(np.float32)},
        {},
    )
    _case(
        "whichever",
        whichever,
        lambda rng: {**images(rng, 40, 16), "rows": np.array([8, 8, 10, 24, 20], np.int32)},
        _whichever,
        {},
    )


_UFUNCS = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _combined(inputs: Inputs, kind: str) -> Mapping[str, Array]:
    out = inputs["out"].copy()
    for program, start in enumerate(inputs["starts"]):
        tile = inputs["x"][program * 16 : program * 16 + 16]
        for i, row in enumerate(range(start, start + 16)):
            if 0 <= row < len(out):
                out[row] = _UFUNCS[kind](out[row], tile[i])
    return {"out": out}


def _register_reductions() -> None:
    starts = np.array([0, 5, 16, -3], np.int32)
    for kind, dtype in (
        ("add", np.float32),
        ("add", np.float16),
        ("add", BF16),
        ("add", np.float64),
        ("add", np.uint64),
        ("min", np.int32),
        ("max", np.int64),
        ("max", np.float32),
        ("and", np.uint32),
        ("or", np.int64),
        ("and", np.uint64),
        ("xor", np.int32),
    ):

        def make(rng: np.random.Generator, dtype: Any = dtype) -> Inputs:
            least = 0 if np.dtype(dtype).kind == "u" else -30
            x, out = (rng.integers(least, 30, (rows, 48)).astype(dtype) for rows in (64, 29))
            return {"x": x, "starts": starts, "out": out, "M": 29, "N": 48}

        label = f"{kind}_{np.dtype(dtype).name}"
        _case(f"combine_{label}", combine, make, lambda i, kind=kind: _combined(i, kind), {"KIND": kind}, 4)
    _case(
        "last_one_doubles",
        last_one_doubles,
        lambda rng: {
            "x": rng.integers(-9, 9, (5, 8, 40)).astype(np.int32),
            "sums": np.zeros((8, 40), np.int32),
            "count": np.zeros(1, np.int32),
            "out": poison((8, 40), np.int32),
            "N": 40,
        },
        lambda i: {
            "sums": i["x"].sum(0, dtype=np.int32),
            "count": np.array([5], np.int32),
            "out": i["x"].sum(0, dtype=np.int32) * 2,
        },
        {},
        5,
    )
    _case(
        "add_lines",
        add_lines,
        lambda rng: {
            "x": rng.integers(-9, 9, 1000).astype(np.float32),
            "out": rng.integers(-9, 9, 1000).astype(np.float32),
            "n": 1000,
        },
        lambda i: {"out": i["out"] + 3 * i["x"]},
        {"BLOCK": 256},
        3,
    )


_register()
_register_reductions()
