"""Sorts, the first elements in order, bitonic merges, and gathers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, F8E5, Array, Inputs, OpCase, add_case, is_float, numbers, poison
from tests.opcases.shapes import short

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def sort_rows(x, out, AXIS: tl.constexpr, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), AXIS, DESCENDING))


@tle2cuda.jit
def sort_line(x, out, n, N: tl.constexpr):
    """One row, with what is not there sorted to the end, twice in a loop that uses the same scratch."""
    i = tl.arange(0, N)
    for part in range(2):
        value = tl.load(x + part * n + i, mask=i < n, other=float("inf")).sort()
        tl.store(out + part * n + i, value, mask=i < n)


@tle2cuda.jit(language="3.9")
def top_rows(x, out, K: tl.constexpr, LARGEST: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)[:, None]
    value = tl.load(x + rows * N + tl.arange(0, N)[None, :])
    best = tl.topk(value, K, descending=LARGEST)
    tl.store(out + rows * K + tl.arange(0, K)[None, :], best)


@tle2cuda.jit
def top_with_index(x, value, where, K: tl.constexpr, N: tl.constexpr):
    """Keys packed with their places, as router kernels do."""
    i = tl.arange(0, N)
    key = tl.load(x + i).to(tl.int32, bitcast=True)
    ordered = key ^ ((key >> 31) & 0x7FFFFFFF)
    packed = (ordered.to(tl.int64) << 32) | (N - 1 - i).to(tl.int64)
    best = tl.topk(packed, K)
    bits = (best >> 32).to(tl.int32)
    tl.store(value + tl.arange(0, K), (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True))
    tl.store(where + tl.arange(0, K), N - 1 - (best & 0xFFFFFFFF).to(tl.int32))


@tle2cuda.jit
def merge_rows(x, out, AXIS: tl.constexpr, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.bitonic_merge(tl.load(x + at), dim=AXIS, descending=DESCENDING))


@tle2cuda.jit
def gather_rows(x, index, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    tl.store(out + at, tl.gather(value, tl.load(index + at), AXIS))


@tle2cuda.jit
def gather_line(x, out, n, N: tl.constexpr):
    """Elements three places on, and those of a table that is made here."""
    i = tl.arange(0, N)
    value = tl.load(x + i, mask=i < n, other=0)
    turned = value.gather((i + 3) % N, axis=0)
    table = tl.gather(i * i, (value & 7).to(tl.int64) % N, 0)
    tl.store(out + i, turned * 3 + table, mask=i < n)


@tle2cuda.jit
def compare_and_swap(x, ids, flip, step: tl.constexpr, bits: tl.constexpr):
    """Neighbours at a distance, by sums over an axis of 2 of which a mask keeps one half: as in public argsort kernels."""
    outer: tl.constexpr = x.numel >> bits
    shape: tl.constexpr = [outer * 2**step, 2, 2 ** (bits - step - 1)]
    y = tl.reshape(x, shape)
    y_ids = tl.reshape(ids, shape)
    half = tl.arange(0, 2)[None, :, None]
    left = tl.reshape(tl.broadcast_to(tl.sum(y * (1 - half), 1)[:, None, :], shape).to(x.dtype), x.shape)
    right = tl.reshape(tl.broadcast_to(tl.sum(y * half, 1)[:, None, :], shape).to(x.dtype), x.shape)
    left_ids = tl.reshape(tl.broadcast_to(tl.sum(y_ids * (1 - half), 1)[:, None, :], shape), x.shape)
    right_ids = tl.reshape(tl.broadcast_to(tl.sum(y_ids * half, 1)[:, None, :], shape), x.shape)
    swap = (left > right) ^ flip
    difference = left.to(tl.int32, bitcast=True) ^ right.to(tl.int32, bitcast=True)
    swapped = x.to(tl.int32, bitcast=True) ^ tl.where(swap, difference, 0)
    return swapped.to(x.dtype, bitcast=True), ids ^ tl.where(swap, left_ids ^ right_ids, 0)


@tle2cuda.jit
def argsort(x, out, where, BITS: tl.constexpr):
    N: tl.constexpr = 1 << BITS
    i = tl.arange(0, N)
    value, ids = tl.load(x + i), i
    for stage in tl.static_range(1, BITS + 1):
        if stage < BITS:
            shape: tl.constexpr = [2 ** (BITS - 1 - stage), 2, 2**stage]
            flip = tl.reshape(tl.broadcast_to(tl.arange(0, 2)[None, :, None], shape), [N])
        else:
            flip = 0
        for step in tl.static_range(stage):
            value, ids = compare_and_swap(value, ids, flip, step + BITS - stage, BITS)
    tl.store(out + i, value)
    tl.store(where + i, ids)


@tle2cuda.jit
def sort_cube(x, out, BITS: tl.constexpr):
    """A bitonic sort on a cube of 2s, with the neighbour along an axis found by exclusive or."""
    i = tl.arange(0, 1 << BITS)
    cube = tl.reshape(tl.load(x + i), [2] * BITS)
    for stage in tl.static_range(1, BITS + 1):
        flip = tl.reshape((i >> stage) & 1, [2] * BITS)
        for step in tl.static_range(stage):
            bit: tl.constexpr = stage - 1 - step
            other = cube ^ tl.xor_sum(cube, BITS - 1 - bit, True)
            is_right = tl.reshape((i >> bit) & 1, [2] * BITS)
            cube = tl.where((cube > other) != ((flip ^ is_right) != 0), other, cube)
    tl.store(out + i, tl.reshape(cube, [1 << BITS]))


# ---- what they must give --------------------------------------------------------------------------------------------


def ordered(x: Array, axis: int = -1, descending: bool = False) -> Array:
    """NaN is greatest, -0.0 less than 0.0."""
    if is_float(x.dtype):
        wide = x.astype(np.float64)
        keys = np.lexsort((~np.signbit(wide), np.where(np.isnan(wide), np.inf, wide), np.isnan(wide)), axis=axis)
        result = np.take_along_axis(x, keys, axis)
    else:
        result = np.sort(x, axis=axis)
    return np.flip(result, axis) if descending else result


def merged(x: Array, axis: int, descending: bool) -> Array:
    """The network's comparisons, element by element."""
    lines = np.moveaxis(x.copy(), axis, -1)
    extent = lines.shape[-1]
    distance = extent // 2
    while distance:
        for i in range(extent):
            if i & distance == 0:
                a, b = lines[..., i].copy(), lines[..., i + distance].copy()
                low, high = np.minimum(a, b), np.maximum(a, b)
                lines[..., i], lines[..., i + distance] = (high, low) if descending else (low, high)
        distance //= 2
    return np.moveaxis(lines, -1, axis)


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    num_warps: int = 4,
    **constants: Any,
) -> None:
    add_case(OpCase(name, "sorting", kernel, (1,), make, expect, constants, num_warps))


def _sort_cases() -> None:
    integers = (np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
    for number, dtype in enumerate((*integers, np.float16, BF16, F8E5, np.float32, np.float64)):
        down = number % 2 == 0
        _case(
            f"sort_{np.dtype(dtype).name}_4x128",
            sort_rows,
            lambda rng, t=dtype: {"x": numbers(rng, (4, 128), t, special=True), "out": poison((4, 128), t)},
            lambda v, d=down: {"out": ordered(v["x"], 1, d)},
            AXIS=1,
            DESCENDING=down,
            M=4,
            N=128,
        )
    shapes = [(1, 1), (1, 2), (1, 32), (1, 64), (1, 256), (1, 1024), (2, 512), (128, 8), (64, 2), (16, 64), (8, 4096)]
    for m, n in shapes:
        for axis, warps in ((1, 4), (0, 4), (1, 8), (1, 1)):
            if m * n > 4096 and (axis == 0 or warps != 8):
                continue
            if (warps != 4 or axis == 0) and (m, n) not in ((1, 1024), (2, 512), (16, 64), (64, 2), (8, 4096)):
                continue
            _case(
                f"sort_{m}x{n}_axis{axis}_warps{warps}",
                sort_rows,
                lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), np.int32), "out": poison((m, n), np.int32)},
                lambda v, a=axis: {"out": ordered(v["x"], a)},
                warps,
                AXIS=axis,
                DESCENDING=False,
                M=m,
                N=n,
            )
    for n, size in ((1000, 1024), (50, 64)):
        _case(
            f"sort_line_{n}",
            sort_line,
            lambda rng, n=n: {"x": numbers(rng, (2, n), np.float32), "out": poison((2, n), np.float32), "n": n},
            lambda v: {"out": ordered(v["x"])},
            N=size,
        )


def _top_cases() -> None:
    shapes = [(1, 1024, 8), (1, 1024, 64), (1, 512, 512), (4, 256, 1), (16, 128, 16), (64, 8, 4), (1, 32, 32), (1, 64, 2)]
    for m, n, k in shapes:
        for dtype, largest in ((np.float32, True), (np.uint8, False)):
            _case(
                f"topk_{short(dtype)}_{m}x{n}_{k}",
                top_rows,
                lambda rng, m=m, n=n, k=k, t=dtype: {"x": numbers(rng, (m, n), t, special=True), "out": poison((m, k), t)},
                lambda v, k=k, d=largest: {"out": ordered(v["x"], 1, d)[:, :k]},
                8 if n == 512 else 4,
                K=k,
                LARGEST=largest,
                M=m,
                N=n,
            )

    def best(v: Inputs) -> Mapping[str, Array]:
        k = len(v["where"])
        places = np.lexsort((np.arange(len(v["x"])), -v["x"].astype(np.float64)))[:k]
        return {"value": v["x"][places], "where": places.astype(np.int32)}

    for n, k in ((256, 8), (32, 4)):
        _case(
            f"topk_with_index_{n}_{k}",
            top_with_index,
            lambda rng, n=n, k=k: {
                "x": np.round(numbers(rng, n, np.float32)),
                "value": poison(k, np.float32),
                "where": poison(k, np.int32),
            },
            best,
            K=k,
            N=n,
        )


def _merge_cases() -> None:
    for m, n, axis in ((1, 1024, 1), (4, 64, 1), (64, 4, 1), (32, 4, 0), (128, 16, 0), (1, 512, 1)):
        for down in (False, True):
            _case(
                f"bitonic_merge_{m}x{n}_axis{axis}{'_descending' if down else ''}",
                merge_rows,
                lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), np.int32), "out": poison((m, n), np.int32)},
                lambda v, a=axis, d=down: {"out": merged(v["x"], a, d)},
                AXIS=axis,
                DESCENDING=down,
                M=m,
                N=n,
            )


def _written_out_cases() -> None:
    for bits in (4, 8):
        _case(
            f"argsort_{1 << bits}",
            argsort,
            lambda rng, n=1 << bits: {
                "x": rng.permutation(n).astype(np.float32) - 7,
                "out": poison(n, np.float32),
                "where": poison(n, np.int32),
            },
            lambda v: {"out": np.sort(v["x"]), "where": np.argsort(v["x"]).astype(np.int32)},
            BITS=bits,
        )
        _case(
            f"sort_cube_{1 << bits}",
            sort_cube,
            lambda rng, n=1 << bits: {"x": numbers(rng, n, np.int32), "out": poison(n, np.int32)},
            lambda v: {"out": np.sort(v["x"])},
            BITS=bits,
        )


def _gather_cases() -> None:
    shapes = [
        (1, 16, 64, 16, 16),
        (1, 128, 32, 128, 32),
        (1, 4, 256, 4, 1024),
        (0, 64, 32, 32, 32),
        (0, 8, 128, 64, 128),
        (1, 1, 32, 1, 32),
        (0, 4, 4, 1, 4),
        (1, 32, 8, 32, 2),
        (0, 32, 128, 16, 128),
    ]
    for axis, m, n, p, q in shapes:
        for dtype, places in ((np.float32, np.int32), (np.bool_, np.int64), (np.float16, np.uint8), (np.int64, np.int16)):
            if dtype is not np.float32 and (m, n) not in ((16, 64), (128, 32), (64, 32)):
                continue
            _case(
                f"gather_{short(dtype)}_{m}x{n}_{p}x{q}_axis{axis}",
                gather_rows,
                lambda rng, m=m, n=n, p=p, q=q, a=axis, t=dtype, i=places: {
                    "x": numbers(rng, (m, n), t),
                    "index": rng.integers(0, n if a else m, (p, q)).astype(i),
                    "out": poison((p, q), t),
                },
                lambda v, a=axis: {"out": np.take_along_axis(v["x"], v["index"].astype(np.int64), a)},
                AXIS=axis,
                M=m,
                N=n,
                P=p,
                Q=q,
            )

    def turned(v: Inputs) -> Mapping[str, Array]:
        size = 1 << (v["n"] - 1).bit_length()
        x = np.zeros(size, np.int32)
        x[: v["n"]] = v["x"]
        table = (np.arange(size, dtype=np.int32) ** 2)[(x & 7) % size]
        return {"out": (np.roll(x, -3) * 3 + table)[: v["n"]]}

    for n in (1000, 30, 100, 3):
        _case(
            f"gather_line_{n}",
            gather_line,
            lambda rng, n=n: {"x": numbers(rng, n, np.int32), "out": poison(n, np.int32), "n": n},
            turned,
            N=1 << (n - 1).bit_length(),
        )


_sort_cases()
_top_cases()
_merge_cases()
_written_out_cases()
_gather_cases()
