"""Loops of two products, the second of which takes what the first one gives: both are in flight together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, Tolerance, add_case, poison


@tle2cuda.jit
def chained_sums(
    a, b, c, out, rest, first, last, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
    STEP: tl.constexpr, TURNED: tl.constexpr,
):  # fmt: skip
    """A running maximum scales what was summed before; other values go from one iteration to the next, too."""
    i, j, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    left = tl.load(a + i[:, None] * D + d[None, :])
    most = tl.full((M,), 0, tl.float32)
    acc = tl.full((M, D), 1, tl.float32)
    count = 0
    for block in tl.range(first, last, STEP, num_stages=STAGES):
        if TURNED:
            x = tl.load(b + block * N + d[:, None] * (last * N) + j[None, :])
        else:
            x = tl.trans(tl.load(b + (block * N + j[:, None]) * D + d[None, :]))
        score = tl.dot(left, x) * 0.125
        now = tl.maximum(most, tl.max(score, 1))
        weight = tl.maximum(score, 0.0) / (1.0 + now[:, None])
        y = tl.load(c + (block * N + j[:, None]) * D + d[None, :], mask=j[:, None] < N - 3, other=0.0)
        acc = tl.dot(weight.to(y.dtype), y, acc * ((1.0 + most) / (1.0 + now))[:, None])
        most = now
        count += block
    tl.store(out + i[:, None] * D + d[None, :], acc)
    tl.store(rest + i, most + count)


@tle2cuda.jit
def chained_in_loop(a, b, c, out, tiles, count, SIDE: tl.constexpr):
    """The same for each tile of rows, sums without a scale, weights without a rounding."""
    i = tl.arange(0, SIDE)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        left = tl.load(a + (tile * SIDE + i[:, None]) * SIDE + i[None, :])
        acc = tl.zeros((SIDE, SIDE), tl.float32)
        for block in range(tile, count):
            x = tl.load(b + (block * SIDE + i[:, None]) * SIDE + i[None, :])
            y = tl.load(c + (block * SIDE + i[:, None]) * SIDE + i[None, :])
            weight = tl.dot(left, x, out_dtype=tl.float16)
            acc += tl.dot(weight, y)
        tl.store(out + (tile * SIDE + i[:, None]) * SIDE + i[None, :], acc)


@tle2cuda.jit
def chained_boxes(a, b, c, out, tiles, rows, SIDE: tl.constexpr, STAGES: tl.constexpr, SPLIT: tl.constexpr):
    """The same by tensor descriptors, for several tiles of which some have no iterations."""
    keys = tl.make_tensor_descriptor(b, [rows, SIDE], [SIDE, 1], [SIDE, SIDE])
    values = tl.make_tensor_descriptor(c, [rows, SIDE], [SIDE, 1], [SIDE, SIDE])
    i = tl.arange(0, SIDE)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=SPLIT):
        left = tl.load(a + (tile * SIDE + i[:, None]) * SIDE + i[None, :])
        acc = tl.zeros((SIDE, SIDE), tl.float32)
        for row in tl.range(tile % 3 * SIDE, rows, SIDE, num_stages=STAGES):
            weight = tl.maximum(tl.dot(left, keys.load([row, 0]).T), -2.0).to(tl.float16)
            acc = tl.dot(weight, values.load([row, 0]), acc * 0.5)
        tl.store(out + (tile * SIDE + i[:, None]) * SIDE + i[None, :], acc)


def _small(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def _sums_case(
    first: int, last: int, step: int, stages: int, dtype: Any = np.float16, turned: bool = False, m: int = 64
) -> None:
    n, d = 32, 64

    def make(rng: np.random.Generator) -> Inputs:
        a = _small(rng, (m, d), dtype)
        b, c = (_small(rng, (max(1, last) * n, d), dtype) for _ in range(2))
        b = np.ascontiguousarray(b.T) if turned else b
        out, rest = poison((m, d), np.float32), poison((m,), np.float32)
        return {"a": a, "b": b, "c": c, "out": out, "rest": rest, "first": first, "last": last}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, c = (inputs[name].astype(np.float32) for name in "abc")
        b = b.T if turned else b
        most, acc = np.zeros(m, np.float32), np.ones((m, d), np.float64)
        for block in range(first, last, step):
            rows = slice(block * n, (block + 1) * n)
            score = a @ b[rows].T * np.float32(0.125)
            now = np.maximum(most, score.max(1))
            weight = (np.maximum(score, 0) / (1 + now[:, None])).astype(dtype).astype(np.float64)
            part = weight[:, : n - 3] @ c[rows][: n - 3]
            acc = acc * ((1 + most) / (1 + now))[:, None] + part
            most = now
        return {"out": acc.astype(np.float32), "rest": most + sum(range(first, last, step))}

    dtype_name = np.dtype(dtype).name
    name = f"chained_sums_{first}_{last}_{step}_{stages}_{dtype_name}_{m}{'_turned' if turned else ''}"
    constants = {"STAGES": stages, "M": m, "N": n, "D": d, "STEP": step, "TURNED": turned}
    tolerance = Tolerance(4, 16, eps=2.0**-8 if dtype is BF16 else 2.0**-11)
    add_case(OpCase(name, "chained", chained_sums, (1,), make, want, constants, m // 16, tolerance))


for _first, _last, _step, _stages in ((0, 0, 1, 3), (0, 1, 1, 3), (0, 2, 1, 3), (0, 7, 1, 3), (1, 8, 3, 2), (2, 6, 1, 4)):
    _sums_case(_first, _last, _step, _stages)
_sums_case(0, 5, 1, 3, BF16)
_sums_case(0, 4, 1, 2, np.float16, True, 128)


def _tiles_case(tiles: int, count: int) -> None:
    side = 64

    def make(rng: np.random.Generator) -> Inputs:
        a, b, c = (rng.integers(-1, 2, (rows * side, side)).astype(np.float16) for rows in (tiles, count, count))
        return {"a": a, "b": b, "c": c, "out": poison((tiles * side, side), np.float32), "tiles": tiles, "count": count}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, c = (inputs[name].astype(np.float64).reshape(-1, side, side) for name in "abc")
        out = np.zeros((tiles, side, side))
        for tile in range(tiles):
            for block in range(tile, count):
                out[tile] += a[tile] @ b[block] @ c[block]
        return {"out": out.reshape(-1, side).astype(np.float32)}

    add_case(OpCase(f"chained_in_loop_{tiles}_{count}", "chained", chained_in_loop, (2,), make, want, {"SIDE": side}, 4))


_tiles_case(4, 3)


def _boxes_case(tiles: int, rows: int, stages: int, split: bool = False) -> None:
    side = 64

    def make(rng: np.random.Generator) -> Inputs:
        a, b, c = (rng.integers(-1, 2, (count, side)).astype(np.float16) for count in (tiles * side, rows, rows))
        return {"a": a, "b": b, "c": c, "out": poison((tiles * side, side), np.float32), "tiles": tiles, "rows": rows}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, c = (inputs[name].astype(np.float64) for name in "abc")
        out = np.zeros((tiles * side, side))
        for tile in range(tiles):
            own = slice(tile * side, (tile + 1) * side)
            for row in range(tile % 3 * side, rows, side):
                part = slice(row, row + side)
                out[own] = out[own] * 0.5 + np.maximum(a[own] @ b[part].T, -2) @ c[part]
        return {"out": out.astype(np.float32)}

    name = f"chained_boxes_{tiles}_{rows}_{stages}{'_split' if split else ''}"
    constants = {"SIDE": side, "STAGES": stages, "SPLIT": split}
    add_case(OpCase(name, "chained", chained_boxes, (2,), make, want, constants, 4, Tolerance(2, 64, eps=2.0**-20)))


_boxes_case(4, 100, 3)
_boxes_case(5, 320, 2)
_boxes_case(3, 200, 2, True)
