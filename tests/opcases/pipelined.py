"""Loops whose loads go through rings of stages: every number of iterations around that of the stages, several shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, Tolerance, add_case, poison

FINE = Tolerance(2, 16, eps=2.0**-10)

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def ring_product(
    a, b, out, K, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr, TURNED: tl.constexpr
):
    """A product over K in blocks, pointers moved by the loop, masked at the end."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    left = a + rows[:, None] * K + k[None, :]
    if TURNED:
        right = b + k[:, None] + cols[None, :] * K
    else:
        right = b + k[:, None] * N + cols[None, :]
    acc = tl.zeros((M, N), tl.float32)
    for step in tl.range(0, tl.cdiv(K, BLOCK), num_stages=STAGES):
        x = tl.load(left, mask=k[None, :] < K - step * BLOCK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BLOCK, other=0.0)
        acc = tl.dot(x, y, acc)
        left += BLOCK
        right += BLOCK if TURNED else BLOCK * N
    tl.store(out + rows[:, None] * N + cols[None, :], acc)


@tle2cuda.jit
def ring_rows(x, y, out, first, last, COUNT: tl.constexpr, STAGES: tl.constexpr, STEP: tl.constexpr):
    """Sums of two arrays block by block, without products; the counter starts anywhere and goes on in steps."""
    i = tl.arange(0, COUNT)
    total = tl.zeros((COUNT,), tl.float32)
    for row in tl.range(first, last, STEP, num_stages=STAGES):
        near = tl.load(x + row * COUNT + i)
        total = total * 0.5 + near * tl.load(y + row * COUNT + i) + tl.sum(near)
    tl.store(out + i, total)


@tle2cuda.jit
def ring_once(x, out, n, SIDE: tl.constexpr):
    """A loop of one iteration at most: what it waits for is copied in front of it only."""
    i = tl.arange(0, SIDE)
    at = i[:, None] * SIDE + i[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in tl.range(0, min(n, SIDE), SIDE, num_stages=3):
        total += tl.trans(tl.load(x + start + at))
    tl.store(out + at, total)


@tle2cuda.jit
def ring_once_products(x, q, out, n, SIDE: tl.constexpr):
    """The same with barriers that the loop needs for itself."""
    i = tl.arange(0, SIDE)
    at = i[:, None] * SIDE + i[None, :]
    left = tl.load(q + at)
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in tl.range(0, min(n, SIDE), SIDE, num_stages=3):
        near = tl.load(x + start + at)
        far = tl.load(x + start + SIDE * SIDE + at)
        scores = tl.dot(left, tl.trans(near)) + tl.dot(left, tl.trans(far))
        total += tl.dot(scores.to(x.dtype.element_ty), near) + tl.trans(far)
    tl.store(out + at, total)


@tle2cuda.jit
def ring_others(x, y, rows, out, n, COUNT: tl.constexpr, STAGES: tl.constexpr):
    """Rings whose masked-off elements are other numbers than 0, of loads that go on at different rates."""
    i = tl.arange(0, COUNT)
    total = tl.zeros((COUNT,), tl.float32)
    slow = y + i
    for step in tl.range(0, n, num_stages=STAGES):
        row = tl.load(rows + step)
        near = tl.load(x + row * COUNT + i, mask=i + step * COUNT < n * COUNT - 3, other=float("inf"))
        far = tl.load(slow, mask=(i >= step) & (row >= 0), other=row.to(tl.float32))
        third = tl.load(y + step // 2 * COUNT + i)
        total = total * 0.5 + tl.minimum(near, 9.0) * far - third
        slow += 2 * COUNT
    tl.store(out + i, total)


@tle2cuda.jit
def ring_moved(x, y, table, out, first, last, step, COUNT: tl.constexpr, STAGES: tl.constexpr, STEP: tl.constexpr):
    """Rows whose pointers a branch moves, rows by an index of an index; the counter goes down, or by a run-time step."""
    i = tl.arange(0, COUNT)
    total = tl.zeros((COUNT,), tl.float32)
    near = x + i
    for row in tl.range(first, last, STEP or step, num_stages=STAGES):
        number = tl.load(table + row)
        far = tl.load(y + tl.load(table + number) * COUNT + i)
        total = total * 0.5 + tl.load(near) * far
        if number > 3:
            near += COUNT
        else:
            near += 2 * COUNT
    tl.store(out + i, total)


@tle2cuda.jit
def ring_exchanged(x, a, b, out, last, COUNT: tl.constexpr, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """Pointers that lie otherwise than their copies, made behind a product of an operand that is written down before it."""
    i, k = tl.arange(0, COUNT), tl.arange(0, SIDE)
    near = x + i
    total = tl.zeros((COUNT,), tl.float32)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, last, num_stages=STAGES):
        total = total * 0.5 + tl.load(near)
        left = tl.load(a + (step * SIDE + k[:, None]) * SIDE + k[None, :])
        right = tl.load(b + (step * SIDE + k[None, :]) * SIDE + k[:, None])
        acc = tl.dot((left * 0.5).to(tl.float16), right, acc)
        if last > 2:
            near += COUNT
        else:
            near += 2 * COUNT
    tl.store(out + k[:, None] * SIDE + k[None, :], acc + tl.sum(total))


@tle2cuda.jit
def ring_in_loop(a, b, out, tiles, K, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """A pipelined loop inside of a loop over tiles: the ring begins anew for each of them, and what it holds is old."""
    i = tl.arange(0, SIDE)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        acc = tl.zeros((SIDE, SIDE), tl.float32)
        for start in tl.range(0, K - tile * SIDE, SIDE, num_stages=STAGES):
            x = tl.load(a + (tile * SIDE + i[:, None]) * K + start + i[None, :])
            y = tl.load(b + (start + i[:, None]) * SIDE + i[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(out + (tile * SIDE + i[:, None]) * SIDE + i[None, :], acc)


@tle2cuda.jit
def ring_described(a, b, out, M, N, K, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """The product of two matrices by descriptors, whose edges are filled with zeros, at the kernel's number of stages."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [SIDE, BLOCK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK, SIDE])
    row, col = tl.program_id(0) * SIDE, tl.program_id(1) * SIDE
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for k in range(0, K, BLOCK):
        acc = tl.dot(left.load([row, k]), right.load([k, col]), acc)
    i = tl.arange(0, SIDE)
    inside = (row + i[:, None] < M) & (col + i[None, :] < N)
    tl.store(out + (row + i[:, None]) * N + col + i[None, :], acc, mask=inside)


@tle2cuda.jit
def ring_read_twice(a, b, out, sums, K, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """Operands that are used otherwise, too: as they are, transposed, and summed; results written in the loop."""
    i = tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for start in tl.range(0, K, SIDE, num_stages=STAGES):
        x = tl.load(a + i[:, None] * K + start + i[None, :])
        y = tl.load(b + (start + i[:, None]) * SIDE + i[None, :])
        acc = tl.dot(x, y, acc)
        acc = tl.dot(tl.trans(y), x, acc)
        tl.store(sums + start + i, tl.sum(x.to(tl.float32), 0) + tl.sum(y.to(tl.float32), 1))
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@tle2cuda.jit
def ring_scaled(a, b, scale, out, K, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """Operands of other types than the product takes, and scales of another rank, all loaded ahead."""
    i = tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for start in tl.range(0, K, SIDE, num_stages=STAGES):
        x = tl.load(a + i[:, None] * K + start + i[None, :])
        y = tl.load(b + (start + i[:, None]) * SIDE + i[None, :]).to(tl.float16)
        acc += tl.dot(x, y) * tl.load(scale + start + i)[None, :]
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@tle2cuda.jit
def ring_of_own_output(a, out, K, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """Each iteration reads what the one before has written: these loads stay where they are."""
    i = tl.arange(0, SIDE)
    at = i[:, None] * SIDE + i[None, :]
    for step in tl.range(0, K, num_stages=STAGES):
        x = tl.load(a + step * SIDE * SIDE + at)
        y = tl.load(out + step * SIDE * SIDE + at)
        tl.debug_barrier()
        tl.store(out + (step + 1) * SIDE * SIDE + at, tl.dot(x, y).to(tl.float16))


@tle2cuda.jit
def ring_gathered(
    a, b, rows, out, first, last, K, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr,
    STEP: tl.constexpr,
):  # fmt: skip
    """Rows of the right operand by a table that the loop reads, some of which does not exist; one number for the left."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK)
    acc = tl.zeros((M, N), tl.float32)
    for block in tl.range(first, last, STEP, num_stages=STAGES):
        row = tl.load(rows + block * BLOCK + k, mask=block * BLOCK + k < K, other=-1)
        left = tl.load(rows + block) % 4
        x = tl.load(a + left * (M * BLOCK) + i[:, None] * BLOCK + k[None, :])
        y = tl.load(b + row[:, None] * N + j[None, :], mask=row[:, None] >= 0, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(out + i[:, None] * N + j[None, :], acc)


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(name: str, kernel: Any, grid: tuple[int, ...], make: Any, want: Any, warps: int = 4, **constants: Any) -> None:
    add_case(OpCase(name, "pipelined", kernel, grid, make, want, constants, warps, FINE))


def _small(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def _product_case(depth: int, stages: int, dtype: Any, turned: bool, m: int = 32, n: int = 64, block: int = 32) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        b = _small(rng, (n, depth) if turned else (depth, n), dtype)
        return {"a": _small(rng, (m, depth), dtype), "b": b, "out": poison((m, n), np.float32), "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        return {"out": (a @ (b.T if turned else b)).astype(np.float32)}

    name = f"ring_product_{depth}_{stages}_{np.dtype(dtype).name}{'_turned' if turned else ''}_{m}x{n}x{block}"
    _case(name, ring_product, (1,), make, want, STAGES=stages, M=m, N=n, BLOCK=block, TURNED=turned)


for _stages in (2, 3, 4):
    for _steps in sorted({0, 1, 2, _stages - 1, _stages, _stages + 1, 7}):
        _product_case(32 * _steps, _stages, np.float16, False)
for _depth, _stages in ((72, 3), (200, 4), (40, 2)):
    _product_case(_depth, _stages, np.float16, False)
    _product_case(_depth, _stages, BF16, True)
_product_case(160, 3, np.float32, False)
_product_case(160, 3, np.float32, True, 16, 32, 16)
_product_case(160, 3, np.float16, False, 64, 128, 16)
_product_case(160, 5, np.float16, True, 128, 16, 32)
_product_case(368, 4, np.float16, False, 64, 64, 64)  # a stage more would leave a multiprocessor fewer CTAs


def _rows_case(first: int, last: int, step: int, stages: int, count: int, dtype: Any) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x, y = (_small(rng, (max(last, 1), count), dtype) for _ in range(2))
        return {"x": x, "y": y, "out": poison((count,), np.float32), "first": first, "last": last}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        total = np.zeros(count, np.float64)
        for row in range(first, last, step):
            near = inputs["x"][row].astype(np.float64)
            total = total * 0.5 + near * inputs["y"][row].astype(np.float64) + near.sum()
        return {"out": total.astype(np.float32)}

    name = f"ring_rows_{first}_{last}_{step}_{stages}_{count}_{np.dtype(dtype).name}"
    _case(name, ring_rows, (1,), make, want, COUNT=count, STAGES=stages, STEP=step)


for _first, _last, _step in ((0, 0, 1), (0, 1, 1), (0, 9, 1), (2, 9, 2), (1, 8, 3), (5, 3, 1)):
    _rows_case(_first, _last, _step, 3, 512, np.float32)
_rows_case(0, 9, 1, 2, 64, np.float16)
_rows_case(0, 9, 2, 4, 1024, np.float16)


_case(
    "ring_once",
    ring_once,
    (1,),
    lambda rng: {"x": _small(rng, (32, 32), np.float32), "out": poison((32, 32), np.float32), "n": 5},
    lambda inputs: {"out": inputs["x"].T},
    SIDE=32,
)


def _once_products(inputs: Inputs) -> Mapping[str, Array]:
    near, far = inputs["x"].astype(np.float32)
    return {"out": inputs["q"].astype(np.float32) @ (near + far).T @ near + far.T}


_case(
    "ring_once_products",
    ring_once_products,
    (1,),
    lambda rng: {
        "x": rng.integers(-1, 2, (2, 32, 32)).astype(BF16),
        "q": rng.integers(-1, 2, (32, 32)).astype(BF16),
        "out": poison((32, 32), np.float32),
        "n": 7,
    },
    _once_products,
    SIDE=32,
)


def _tiles_case(tiles: int, stages: int, side: int = 32) -> None:
    depth = side * (tiles + 1)

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (tiles * side, depth), np.float16), _small(rng, (depth, side), np.float16)
        return {"a": a, "b": b, "out": poison((tiles * side, side), np.float32), "tiles": tiles, "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = inputs["a"].astype(np.float64), inputs["b"].astype(np.float64)
        parts = []
        for tile in range(tiles):
            until = depth - tile * side
            parts.append(a[tile * side : (tile + 1) * side, :until] @ b[:until])
        return {"out": np.concatenate(parts).astype(np.float32)}

    _case(f"ring_in_loop_{tiles}_{stages}", ring_in_loop, (2,), make, want, STAGES=stages, SIDE=side)


_tiles_case(5, 3)
_tiles_case(3, 2)


def _described_case(m: int, n: int, depth: int, side: int, block: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (m, depth), np.float16), _small(rng, (depth, n), np.float16)
        return {"a": a, "b": b, "out": poison((m, n), np.float32), "M": m, "N": n, "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        return {"out": (inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)).astype(np.float32)}

    grid = (-(-m // side), -(-n // side))
    _case(f"ring_described_{m}x{n}x{depth}", ring_described, grid, make, want, SIDE=side, BLOCK=block)


_described_case(50, 48, 80, 32, 32)
_described_case(64, 128, 192, 64, 64)


def _twice_case(depth: int, stages: int, side: int, warps: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (side, depth), np.float16), _small(rng, (depth, side), np.float16)
        return {"a": a, "b": b, "out": poison((side, side), np.float32), "sums": poison((depth,), np.float32), "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = inputs["a"].astype(np.float64), inputs["b"].astype(np.float64)
        total = a @ b
        for start in range(0, depth, side):
            total += b[start : start + side].T @ a[:, start : start + side]
        return {"out": total.astype(np.float32), "sums": (a.sum(0) + b.sum(1)).astype(np.float32)}

    _case(f"ring_read_twice_{depth}_{stages}_{side}", ring_read_twice, (1,), make, want, warps, STAGES=stages, SIDE=side)


_twice_case(160, 3, 32, 4)
_twice_case(192, 4, 64, 8)


def _scaled_case(depth: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (side, depth), np.float16), rng.integers(-9, 9, (depth, side), np.int8)
        scale = _small(rng, (depth,), np.float32)
        return {"a": a, "b": b, "scale": scale, "out": poison((side, side), np.float32), "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, scale = (inputs[name].astype(np.float64) for name in ("a", "b", "scale"))
        parts = (slice(start, start + side) for start in range(0, depth, side))
        return {"out": sum((a[:, p] @ b[p] * scale[p][None, :] for p in parts), np.zeros((side, side))).astype(np.float32)}

    _case(f"ring_scaled_{depth}_{stages}", ring_scaled, (1,), make, want, STAGES=stages, SIDE=side)


_scaled_case(160, 3, 32)


def _own_case(steps: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        out = poison((steps + 1, side, side), np.float16)
        out[0] = _small(rng, (side, side), np.float16)
        return {"a": _small(rng, (steps, side, side), np.float16) * np.float16(0.1), "out": out, "K": steps}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        out = inputs["out"].copy()
        for step in range(steps):
            out[step + 1] = (inputs["a"][step].astype(np.float64) @ out[step].astype(np.float64)).astype(np.float16)
        return {"out": out}

    _case(f"ring_of_own_output_{steps}_{stages}", ring_of_own_output, (1,), make, want, STAGES=stages, SIDE=side)


_own_case(4, 3, 32)


def _gathered_case(first: int, last: int, step: int, stages: int, m: int = 32, n: int = 64, block: int = 32) -> None:
    depth = max(1, last) * block - 5

    def make(rng: np.random.Generator) -> Inputs:
        rows = rng.integers(0, 100, max(depth, last), dtype=np.int32)
        a, b = _small(rng, (4, m, block), np.float16), _small(rng, (100, n), np.float16)
        out = poison((m, n), np.float32)
        return {"a": a, "b": b, "rows": rows, "out": out, "first": first, "last": last, "K": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, rows = inputs["a"].astype(np.float64), inputs["b"].astype(np.float64), inputs["rows"]
        total = np.zeros((m, n))
        for number in range(first, last, step):
            taken = rows[number * block : min((number + 1) * block, depth)]
            total += a[rows[number] % 4][:, : len(taken)] @ b[taken]
        return {"out": total.astype(np.float32)}

    name = f"ring_gathered_{first}_{last}_{step}_{stages}_{m}"
    _case(name, ring_gathered, (1,), make, want, STAGES=stages, M=m, N=n, BLOCK=block, STEP=step)


for _first, _last, _step, _stages in ((0, 0, 1, 3), (0, 1, 1, 3), (0, 2, 1, 3), (0, 7, 1, 3), (2, 9, 3, 2), (0, 5, 1, 4)):
    _gathered_case(_first, _last, _step, _stages)
_gathered_case(0, 6, 1, 3, 64)


def _others_case(steps: int, stages: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x, y = (rng.integers(-4, 5, (2 * max(1, steps), 64)).astype(np.float32) for _ in range(2))
        rows = rng.integers(0, 2 * max(1, steps), max(1, steps), dtype=np.int32)
        return {"x": x, "y": y, "rows": rows, "out": poison((64,), np.float32), "n": steps}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        total, i = np.zeros(64), np.arange(64)
        for step, row in enumerate(inputs["rows"][:steps]):
            near = np.where(i + step * 64 < steps * 64 - 3, np.minimum(inputs["x"][row], 9), 9)
            far = np.where(i >= step, inputs["y"][2 * step], row)
            total = total * 0.5 + near * far - inputs["y"][step // 2]
        return {"out": total.astype(np.float32)}

    constants = {"COUNT": 64, "STAGES": stages}
    add_case(OpCase(f"ring_others_{steps}_{stages}", "pipelined", ring_others, (1,), make, want, constants, 2, FINE))


for _steps, _stages in ((0, 3), (1, 3), (3, 3), (9, 4)):
    _others_case(_steps, _stages)


def _moved_case(first: int, last: int, step: int, stages: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x, y = _small(rng, (16, 128), np.float32), _small(rng, (8, 128), np.float32)
        table = rng.integers(0, 8, 40, dtype=np.int32)
        bounds = {"first": first, "last": last, "step": step}
        return {"x": x, "y": y, "table": table, "out": poison((128,), np.float32), **bounds}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        total, near, table = np.zeros(128), 0, inputs["table"]
        for row in range(first, last, step):
            number = table[row]
            total = total * 0.5 + inputs["x"][near].astype(np.float64) * inputs["y"][table[number]]
            near += 1 if number > 3 else 2
        return {"out": total.astype(np.float32)}

    name = f"ring_moved_{first}_{last}_{abs(step)}_{'down' if step < 0 else 'up'}_{stages}"
    _case(name, ring_moved, (1,), make, want, COUNT=128, STAGES=stages, STEP=min(step, 0))


for _first, _last, _step, _stages in (
    (0, 0, -1, 3), (3, 2, -1, 3), (5, -1, -3, 3), (6, 0, -1, 4), (9, 2, -3, 2),
    (4, 4, 3, 3), (1, 2, 5, 3), (0, 17, 6, 4), (2, 30, 6, 2), (3, 10, 1, 3),
):  # fmt: skip
    _moved_case(_first, _last, _step, _stages)


def _exchanged_case(steps: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x, (a, b) = _small(rng, (2 * steps, 64), np.float32), (_small(rng, (steps * side, side), np.float16) for _ in "ab")
        return {"x": x, "a": a, "b": b, "out": poison((side, side), np.float32), "last": steps}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        x, a, b = (inputs[name].astype(np.float64) for name in "xab")
        rows = x[: steps * (1 if steps > 2 else 2) : 1 if steps > 2 else 2].sum(1)
        total = sum(row * 0.5 ** (steps - 1 - number) for number, row in enumerate(rows))
        parts = (slice(start, start + side) for start in range(0, steps * side, side))
        return {"out": (total + sum(a[p] * 0.5 @ b[p].T for p in parts)).astype(np.float32)}

    _case(f"ring_exchanged_{steps}_{stages}_{side}", ring_exchanged, (1,), make, want, COUNT=64, STAGES=stages, SIDE=side)


_exchanged_case(5, 3, 64)
_exchanged_case(2, 2, 32)
