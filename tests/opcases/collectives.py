"""Reductions, scans, exclusive sums and histograms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tests.opcases.elementwise import FLOATS, short
from tle2cuda.language import tle

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def reduce_1d(x, out, n, FN: tl.constexpr, BLOCK: tl.constexpr):
    """To a scalar, one CTA a row."""
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    value = tl.load(x + row * n + i, mask=i < n, other=0)
    tl.store(out + row, FN(value, 0))


@tle2cuda.jit
def reduce_2d(x, out, FN: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :])
    if AXIS == 0:
        tl.store(out + cols, FN(value, 0))
    else:
        tl.store(out + rows, FN(value, 1))


@tle2cuda.jit
def reduce_3d(x, out, FN: tl.constexpr, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    value = tl.load(x + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    result = FN(value, AXIS)
    if AXIS == 0:
        tl.store(out + b[:, None] * C + c[None, :], result)
    elif AXIS == 1:
        tl.store(out + a[:, None] * C + c[None, :], result)
    else:
        tl.store(out + a[:, None] * B + b[None, :], result)


@tle2cuda.jit
def reduce_keep(x, out, M: tl.constexpr, N: tl.constexpr):
    """Subtracts the row's maximum and the column's sum: results of reductions broadcast back."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + cols[None, :]
    value = tl.load(x + at)
    tl.store(out + at, value - tl.max(value, axis=1, keep_dims=True) + tl.sum(value, axis=0)[None, :])


@tle2cuda.jit
def reduce_all(x, out, M: tl.constexpr, N: tl.constexpr):
    """All elements at once, and one axis after the other."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :])
    tl.store(out, tl.sum(value))
    tl.store(out + 1, tl.sum(tl.sum(value, axis=0), axis=0))
    tl.store(out + 2, tl.max(tl.min(value, axis=1), axis=0))


@tle2cuda.jit
def arg_extremes(x, out, where, n, BLOCK: tl.constexpr, LEFT: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    largest, at_largest = tl.max(value, axis=0, return_indices=True, return_indices_tie_break_left=LEFT)
    smallest, at_smallest = tl.min(value, axis=0, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(out, largest)
    tl.store(out + 1, smallest)
    tl.store(where, at_largest)
    tl.store(where + 1, at_smallest)
    tl.store(where + 2, tl.argmax(value, 0))
    tl.store(where + 3, tl.argmin(value, 0))


@tle2cuda.jit
def arg_rows(x, where, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :])
    if AXIS == 0:
        tl.store(where + cols, tl.argmax(value, 0))
    else:
        tl.store(where + rows, tl.argmin(value, 1))


@tle2cuda.jit
def welford(mean_a, m2_a, weight_a, mean_b, m2_b, weight_b):
    delta = mean_b - mean_a
    weight = weight_a + weight_b
    share = weight_b / weight
    return mean_a + delta * share, m2_a + m2_b + delta * delta * weight_a * share, weight


@tle2cuda.jit
def reduce_custom(x, out, BLOCK: tl.constexpr):
    """A function of three carried values: mean and variance in one pass."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    mean, m2, weight = tl.reduce((value, tl.zeros_like(value), tl.full((BLOCK,), 1.0, tl.float32)), 0, welford)
    tl.store(out, mean)
    tl.store(out + 1, m2 / weight)


@tle2cuda.jit
def absolute_larger(a, b):
    return tl.where(tl.abs(a) >= tl.abs(b), a, b)


@tle2cuda.jit
def reduce_custom_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :])
    tl.store(out + cols, tl.reduce(value, 0, absolute_larger))


@tle2cuda.jit
def first_largest(a, a_at, b, b_at):
    take_a = (a > b) | ((a == b) & (a_at < b_at))
    return tl.where(take_a, a, b), tl.where(take_a, a_at, b_at)


@tle2cuda.jit
def reduce_pairs(x, out, where, M: tl.constexpr, N: tl.constexpr):
    """Value and place by a function of the user, over an axis, over the other, and over all."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :])
    at = rows[:, None] * N + cols[None, :]
    best, place = tl.reduce((value, at), 1, first_largest)
    tl.store(out + rows, best)
    tl.store(where + rows, place)
    best, place = tl.reduce((value, at), 0, first_largest, keep_dims=True)
    tl.store(out + M + cols, tl.ravel(best))
    tl.store(where + M + cols, tl.ravel(place))
    best, place = tl.reduce((value, at), None, first_largest)
    tl.store(out + M + N, best)
    tl.store(where + M + N, place)


@tle2cuda.jit
def segment_sum(a_starts, a, b_starts, b):
    return a_starts | b_starts, tl.where(b_starts != 0, b, a + b)


@tle2cuda.jit
def scan_segments(x, starts, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    _, total = tl.associative_scan((tl.load(starts + at), tl.load(x + at)), AXIS, segment_sum)
    tl.store(out + at, total)


@tle2cuda.jit
def reduce_in_loop(x, out, n, BLOCK: tl.constexpr):
    """A reduction whose scratch is used again in every round, with the total carried."""
    i = tl.arange(0, BLOCK)
    total = 0
    largest = -1000000
    for start in range(0, n, BLOCK):
        value = tl.load(x + start + i, mask=start + i < n, other=0)
        total += tl.sum(value, axis=0)
        largest = tl.maximum(largest, tl.max(value, axis=0))
    tl.store(out, total)
    tl.store(out + 1, largest)


@tle2cuda.jit
def sum_where_equal(at, x, out, AXIS: tl.constexpr, N: tl.constexpr):
    """What lands on each place: a tile that is in no memory, compared of two vectors, with as many results as elements."""
    i = tl.arange(0, N)
    places = tl.load(at + i)
    values = tl.load(x + i)
    if AXIS == 0:
        hits = tl.where(places[:, None] == i[None, :], values[:, None], 0)
    else:
        hits = tl.where(i[:, None] == places[None, :], values[None, :], 0)
    tl.store(out + i, tl.sum(hits, AXIS))


@tle2cuda.jit
def count_below(x, limits, out, M: tl.constexpr, N: tl.constexpr, LIMITS: tl.constexpr):
    """How many limits each element of a large tile is above."""
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    limit = tl.load(limits + tl.arange(0, LIMITS))
    above = tl.sum((value[:, :, None] > limit[None, None, :]).to(tl.int32), 2)
    tl.store(out + at, tl.where(value >= 0, above, above + LIMITS))


@tle2cuda.jit
def softmax_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + cols[None, :]
    tl.store(out + at, tl.softmax(tl.load(x + at), dim=1, keep_dims=True))


@tle2cuda.jit
def scan_1d(x, out, n, FN: tl.constexpr, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + i, FN(value, 0, REVERSE), mask=i < n)


@tle2cuda.jit
def scan_2d(x, out, FN: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    at = rows[:, None] * N + cols[None, :]
    tl.store(out + at, FN(tl.load(x + at), AXIS, REVERSE))


@tle2cuda.jit
def affine(a_scale, a_shift, b_scale, b_shift):
    """First a, then b: not commutative."""
    return a_scale * b_scale, b_scale * a_shift + b_shift


@tle2cuda.jit
def scan_affine(scale, shift, out, REVERSE: tl.constexpr, BLOCK: tl.constexpr, APART: tl.constexpr):
    i = tl.arange(0, BLOCK) * APART
    _, value = tl.associative_scan((tl.load(scale + i), tl.load(shift + i)), 0, affine, reverse=REVERSE)
    tl.store(out + i, value)


@tle2cuda.jit
def larger(a, b):
    return tl.maximum(a, b).to(a.dtype)


@tle2cuda.jit
def scan_larger(x, axis: tl.constexpr, reverse: tl.constexpr):
    return tl.associative_scan(x, axis, larger, reverse=reverse)


@tle2cuda.jit
def first_wins(a, b):
    return a


@tle2cuda.jit
def scan_first(x, axis: tl.constexpr, reverse: tl.constexpr):
    return tl.associative_scan(x, axis, first_wins, reverse=reverse)


@tle2cuda.jit
def exclusive(x, out, total, n, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    before, everything = tle.cumsum(value, axis=0, reverse=REVERSE)
    tl.store(out + i, before, mask=i < n)
    tl.store(total, everything)


@tle2cuda.jit
def exclusive_twice(x, out, n, BLOCK: tl.constexpr):
    """Sums of sums in a loop: scratch used again, next to an inclusive scan and to a buffer of the user."""
    i = tl.arange(0, BLOCK)
    kept = tle.gpu.alloc([BLOCK], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(tle.gpu.local_ptr(kept), value)
    carried = 0
    for _ in range(3):
        before, total = tle.cumsum(value, axis=0)
        value = before + tl.cumsum(value, axis=0) % 7
        carried = carried * 3 + total
    value += tl.load(tle.gpu.local_ptr(kept))
    tl.store(out + i, value + carried, mask=i < n)


@tle2cuda.jit
def histogram_kernel(x, out, n, BINS: tl.constexpr, MASKED: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    if MASKED:
        counts = tl.histogram(value, BINS, mask=(i < n) & (i % 3 != 0))
    else:
        counts = tl.histogram(value, BINS)
    tl.store(out + tl.arange(0, BINS), counts)


@tle2cuda.jit
def histogram_in_loop(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    counts = tl.zeros((BINS,), tl.int32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + start + i, mask=start + i < n, other=0)
        counts += tl.histogram(value, BINS, mask=start + i < n)
    tl.store(out + tl.arange(0, BINS), tl.cumsum(counts, axis=0))


# ---- what they reduce with ------------------------------------------------------------------------------------------


@tle2cuda.jit
def xor(a, b):
    return a ^ b


@tle2cuda.jit
def product_of(a, b):
    return a * b


@tle2cuda.jit
def total_product(x, axis: tl.constexpr):
    return tl.reduce(x, axis, product_of)


@tle2cuda.jit
def total_xor(x, axis: tl.constexpr):
    return tl.xor_sum(x, axis)


@tle2cuda.jit
def any_bit(x, axis: tl.constexpr):
    return tl.reduce_or(x, axis)


@tle2cuda.jit
def total_sum(x, axis: tl.constexpr):
    return tl.sum(x, axis)


@tle2cuda.jit
def total_max(x, axis: tl.constexpr):
    return tl.max(x, axis)


@tle2cuda.jit
def total_min(x, axis: tl.constexpr):
    return tl.min(x, axis)


@tle2cuda.jit
def cumsum(x, axis: tl.constexpr, reverse: tl.constexpr):
    return tl.cumsum(x, axis, reverse)


@tle2cuda.jit
def cumprod(x, axis: tl.constexpr, reverse: tl.constexpr):
    return tl.cumprod(x, axis, reverse)


# ---- cases ----------------------------------------------------------------------------------------------------------


def summed(dtype: Any) -> np.dtype[Any]:
    """Dtype of a sum."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.dtype(np.uint32)
    return np.dtype(f"{dtype.kind}4") if dtype.kind in "iu" and dtype.itemsize < 4 else dtype


def extremal(dtype: Any) -> np.dtype[Any]:
    """Dtype of a maximum."""
    dtype = np.dtype(dtype)
    if dtype.itemsize >= 4:
        return dtype
    return np.dtype(np.int32 if dtype.kind in "iub" else np.float32)


def _case(
    name: str,
    family: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    num_warps: int = 4,
    tolerance: Tolerance = EXACT,
    grid: tuple[int, ...] = (1,),
) -> None:
    def quietly(inputs: Inputs) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return {key: value.astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(name, family, kernel, grid, make, quietly, constants, num_warps, tolerance))


def _reduction_tables() -> list[tuple[str, Any, Callable[..., Array], Callable[[Any], Any], str]]:
    return [
        ("sum", total_sum, np.add.reduce, summed, "iuf"),
        ("max", total_max, np.fmax.reduce, extremal, "iuf"),
        ("min", total_min, np.fmin.reduce, extremal, "iuf"),
        ("xor", total_xor, np.bitwise_xor.reduce, np.dtype, "iu"),
        ("or", any_bit, np.bitwise_or.reduce, np.dtype, "iu"),
        ("prod", total_product, np.multiply.reduce, np.dtype, "iuf"),
    ]


def _values(rng: np.random.Generator, shape: Any, dtype: Any, label: str) -> Array:
    if np.dtype(dtype).kind in "iub":
        return numbers(rng, shape, dtype)
    if label in ("prod", "cumprod"):
        return (1 + (rng.random(shape) - 0.5) / 64).astype(dtype)
    if label in ("max", "min"):
        return numbers(rng, shape, dtype, special=True)
    return (rng.random(shape) - 0.25).astype(dtype)


def _float_tolerance(dtype: Any, count: int, label: str) -> Tolerance:
    """Sums in another order: log2(count) roundings of partial sums, once in the narrow type."""
    if np.dtype(dtype).kind in "iub" or label in ("max", "min"):
        return EXACT
    steps = 4 + max(1, count.bit_length())
    return Tolerance(steps, scale=count * 0.4) if np.dtype(dtype).itemsize >= 4 else Tolerance(3, scale=count * 0.05)


def _register_reductions() -> None:
    for label, fn, function, result, kinds in _reduction_tables():
        dtypes: dict[str, Any] = {short(c): np.dtype(c) for c in ("i4", "u4", "i8", "i1", "u2") if c[0] in kinds}
        if "f" in kinds:
            dtypes |= FLOATS
        for name, dtype in dtypes.items():
            if dtype in (np.int8, np.uint16, np.int64) and label in ("xor", "or"):
                if dtype == np.int64:
                    pass
                elif label == "xor":
                    continue
            for n, block, warps in ((1000, 1024, 4), (13, 16, 4)):

                def make(rng: np.random.Generator, n=n, dtype=dtype, label=label, result=result) -> Inputs:
                    return {"x": _values(rng, (3, n), dtype, label), "out": poison(3, result(dtype)), "n": n}

                def expect(inputs: Inputs, function=function, result=result, label=label, pad=block > n) -> Any:
                    x = inputs["x"]
                    if pad:  # masked-off elements are zeros
                        x = np.concatenate([x, np.zeros((3, 1), x.dtype)], axis=1)
                    wide = result(x.dtype)
                    exact = np.float64 if wide.kind not in "iu" else wide
                    return {"out": function(x.astype(exact), axis=1).astype(wide)}

                if label == "prod" and name in FLOATS:
                    n = block  # a padding of zeros would leave nothing to see
                    make = lambda rng, n=n, dtype=dtype, label=label, result=result: {  # noqa: E731
                        "x": _values(rng, (3, n), dtype, label),
                        "out": poison(3, result(dtype)),
                        "n": n,
                    }
                    expect = lambda inputs, result=result: {  # noqa: E731
                        "out": np.multiply.reduce(inputs["x"].astype(np.float64), axis=1).astype(result(inputs["x"].dtype))
                    }
                _case(
                    f"reduce_{label}_{name}_{n}",
                    "reduction",
                    reduce_1d,
                    make,
                    expect,
                    {"FN": fn, "BLOCK": block},
                    warps,
                    _float_tolerance(dtype, block, label) if label != "prod" else _float_tolerance(dtype, 8 * block, label),
                    grid=(3,),
                )


_SHAPES_2D = (
    *((16, 64, 4), (64, 16, 4), (2, 4, 4), (128, 2, 4), (1, 256, 4), (256, 1, 2), (4, 1024, 8), (32, 32, 1)),
    (64, 256, 4),  # enough rows for each warp to have its own
)


@tle2cuda.jit
def many_sums(x, weights, columns, largest, rows_out, place, m, M: tl.constexpr, N: tl.constexpr):
    """More elements a thread than it has registers, all of them reduced, also with what is loaded later."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + rows[:, None] * N + cols[None, :], mask=(rows < m)[:, None], other=0)
    weight = tl.load(weights + cols)
    tl.store(columns + cols, tl.sum(value * (value - weight[None, :]), axis=0))
    tl.store(largest + cols, tl.max(value, axis=0))
    tl.store(rows_out + rows, tl.sum(value, axis=1))
    tl.store(place, tl.argmin(tl.reshape(value, (M * N,)), 0))


def _register_many_sums() -> None:
    m, rows, columns = 61, 64, 128

    def make(rng: np.random.Generator) -> Inputs:
        sizes = {"columns": columns, "largest": columns, "rows_out": rows, "place": 1}
        outputs = {name: poison(size, np.int32) for name, size in sizes.items()}
        return {"x": numbers(rng, (m, columns), np.int32), "weights": numbers(rng, columns, np.int32), **outputs, "m": m}

    def expect(inputs: Inputs) -> Mapping[str, Array]:
        x = np.concatenate([inputs["x"], np.zeros((rows - m, columns), np.int32)])
        return {
            "columns": (x * (x - inputs["weights"])).sum(axis=0),
            "largest": x.max(axis=0),
            "rows_out": x.sum(axis=1),
            "place": np.array([x.argmin()]),
        }

    _case("reduce_many", "reduction", many_sums, make, expect, {"M": rows, "N": columns}, 1)


def _register_shaped_reductions() -> None:
    for m, n, warps in _SHAPES_2D:
        for axis in (0, 1):
            for label, fn, function in (("sum", total_sum, np.add.reduce), ("max", total_max, np.max)):
                dtype = np.int32 if label == "sum" else np.float32
                _case(
                    f"reduce_{label}_{m}x{n}_axis{axis}",
                    "reduction",
                    reduce_2d,
                    lambda rng, m=m, n=n, axis=axis, dtype=dtype: {
                        "x": numbers(rng, (m, n), dtype),
                        "out": poison((m, n)[1 - axis], dtype),
                    },
                    lambda inputs, function=function, axis=axis: {
                        "out": np.asarray(function(inputs["x"], axis=axis)).astype(inputs["x"].dtype)
                    },
                    {"FN": fn, "AXIS": axis, "M": m, "N": n},
                    warps,
                )
    for axis in (0, 1, 2):
        shape = (4, 8, 32)
        _case(
            f"reduce_sum_3d_axis{axis}",
            "reduction",
            reduce_3d,
            lambda rng, shape=shape, axis=axis: {
                "x": numbers(rng, shape, np.int32),
                "out": poison(tuple(np.delete(shape, axis)), np.int32),
            },
            lambda inputs, axis=axis: {"out": np.add.reduce(inputs["x"], axis=axis)},
            {"FN": total_sum, "AXIS": axis, "A": 4, "B": 8, "C": 32},
        )
    for m, n, warps in ((16, 64, 4), (2, 8, 4), (64, 64, 8)):
        _case(
            f"reduce_keep_{m}x{n}",
            "reduction",
            reduce_keep,
            lambda rng, m=m, n=n: {"x": rng.integers(-99, 99, (m, n), "i4"), "out": poison((m, n), "i4")},
            lambda inputs: {
                "out": inputs["x"]
                - inputs["x"].max(axis=1, keepdims=True)
                + inputs["x"].sum(axis=0, dtype=np.int32)[None, :]
            },
            {"M": m, "N": n},
            warps,
        )
        _case(
            f"reduce_all_{m}x{n}",
            "reduction",
            reduce_all,
            lambda rng, m=m, n=n: {"x": rng.integers(-99, 99, (m, n), "i4"), "out": poison(3, "i4")},
            lambda inputs: {
                "out": np.array([inputs["x"].sum(), inputs["x"].sum(), inputs["x"].min(axis=1).max()], np.int32)
            },
            {"M": m, "N": n},
            warps,
        )


def _register_other_reductions() -> None:
    for label, dtype in (("i32", np.int32), ("f32", np.float32), ("i64", np.int64)):
        for left in (True, False):
            # Without an order among equals there must be none, not even of the padding.
            for n, warps in ((200 if left else 256, 4), (1024, 4), (7 if left else 8, 2)):
                _case(
                    f"arg_extremes_{label}_{n}_{'left' if left else 'any'}",
                    "reduction",
                    arg_extremes,
                    lambda rng, n=n, dtype=dtype, left=left: {
                        "x": (rng.integers(1, 9, n) if left else rng.permutation(n) + 1).astype(dtype),
                        "out": poison(2, dtype),
                        "where": poison(4, np.int32),
                        "n": n,
                    },
                    _arg_reference,
                    {"BLOCK": 1 << (n - 1).bit_length(), "LEFT": left},
                    warps,
                )
    for sign in (-1, 1):
        _case(
            f"arg_extremes_of_nan_and_zeros_{'negative' if sign < 0 else 'positive'}",
            "reduction",
            arg_extremes,
            lambda rng, sign=sign: {
                "x": _nan_and_zeros(rng, sign),
                "out": poison(2, np.float32),
                "where": poison(4, np.int32),
                "n": 512,
            },
            _arg_reference_past_nan,
            {"BLOCK": 512, "LEFT": True},
            4,
        )
    for m, n, warps in ((8, 64, 4), (64, 8, 4), (2, 2, 4)):
        for axis in (0, 1):
            _case(
                f"arg_rows_{m}x{n}_axis{axis}",
                "reduction",
                arg_rows,
                lambda rng, m=m, n=n, axis=axis: {
                    "x": rng.integers(-5, 5, (m, n)).astype(np.float32),
                    "where": poison((m, n)[1 - axis], np.int32),
                },
                lambda inputs, axis=axis: {
                    "where": (inputs["x"].argmax(0) if axis == 0 else inputs["x"].argmin(1)).astype(np.int32)
                },
                {"AXIS": axis, "M": m, "N": n},
                warps,
            )
    for n, warps in ((16, 4), (512, 4), (2048, 8)):
        _case(
            f"reduce_welford_{n}",
            "reduction",
            reduce_custom,
            lambda rng, n=n: {"x": rng.random(n, np.float32) + 1, "out": poison(2, np.float32)},
            lambda inputs: {
                "out": np.array([inputs["x"].mean(dtype=np.float64), inputs["x"].var(dtype=np.float64)], np.float32)
            },
            {"BLOCK": n},
            warps,
            Tolerance(64),
        )
    for m, n, warps in ((32, 16, 4), (4, 4, 4)):
        _case(
            f"reduce_custom_rows_{m}x{n}",
            "reduction",
            reduce_custom_rows,
            lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), np.float32), "out": poison(n, np.float32)},
            lambda inputs: {"out": inputs["x"][np.abs(inputs["x"]).argmax(axis=0), np.arange(inputs["x"].shape[1])]},
            {"M": m, "N": n},
            warps,
        )
    for n, block, warps in ((5000, 512, 4), (100, 16, 4)):
        _case(
            f"reduce_in_loop_{n}",
            "reduction",
            reduce_in_loop,
            lambda rng, n=n: {"x": rng.integers(-1000, 1000, n, "i4"), "out": poison(2, "i4"), "n": n},
            lambda inputs: {"out": np.array([inputs["x"].sum(), inputs["x"].max()], np.int32)},
            {"BLOCK": block},
            warps,
        )
    for m, n in ((4, 128), (2, 4)):
        _case(
            f"softmax_{m}x{n}",
            "reduction",
            softmax_rows,
            lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), np.float32), "out": poison((m, n), np.float32)},
            _softmax_reference,
            {"M": m, "N": n},
            4,
            Tolerance(64),
        )


def _arg_reference(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"]
    block = 1 << (len(x) - 1).bit_length()
    padded = np.concatenate([x, np.zeros(block - len(x), x.dtype)])
    places = [padded.argmax(), padded.argmin(), padded.argmax(), padded.argmin()]
    return {"out": np.array([padded.max(), padded.min()], x.dtype), "where": np.array(places, np.int32)}


def _nan_and_zeros(rng: np.random.Generator, sign: int) -> Array:
    """Floats of one sign, with NaN before the first of both zeros, which are equal and the extreme of one kind."""
    x = (sign * rng.integers(1, 99, 512)).astype(np.float32)
    x[[0, 31, 77, 500]] = np.nan
    x[[130, 400]], x[[131, 300]] = -0.0, 0.0
    x[[60, 61]] = sign * np.inf
    return x


def _arg_reference_past_nan(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"]
    places = [np.nanargmax(x), np.nanargmin(x)]
    return {"out": x[places], "where": np.array(places * 2, np.int32)}


def _softmax_reference(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"].astype(np.float64)
    weight = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)}


def _along(function: Callable[..., Array], x: Array, axis: int, reverse: bool) -> Array:
    turned = np.flip(x, axis) if reverse else x
    result = function(turned, axis=axis)
    return np.flip(result, axis) if reverse else result


def _first(x: Array, axis: int) -> Array:
    return np.broadcast_to(np.take(x, [0], axis), x.shape)


_SCANS: tuple[tuple[str, Any, Callable[..., Array]], ...] = (
    ("sum", cumsum, np.add.accumulate),
    ("prod", cumprod, np.multiply.accumulate),
    ("max", scan_larger, np.maximum.accumulate),
    ("first", scan_first, _first),
)


def _scan_dtype(label: str, dtype: Any) -> np.dtype[Any]:
    dtype = np.dtype(dtype)
    if label == "sum":
        return np.dtype(np.float32) if dtype == BF16 else summed(dtype)
    return np.dtype(np.float32) if dtype == BF16 and label == "prod" else dtype


def _register_scans() -> None:
    dtypes = {"i32": np.int32, "i64": np.int64, "u8": np.uint8, **FLOATS}
    for label, fn, function in _SCANS:
        for name, dtype in dtypes.items():
            for n, block, warps in ((1000, 1024, 4), (11, 16, 4), (60, 64, 1)):
                if n != 1000 and name not in ("i32", "f32", "u8"):
                    continue
                for reverse in (False, True):
                    if name in ("bf16", "u8", "i64") and reverse:
                        continue
                    result = _scan_dtype(label, dtype)
                    # Backwards, the padding comes first: for products of floats only full tiles tell something.
                    count = block if label in ("prod", "first", "max") else n

                    def make(rng: np.random.Generator, n=count, dtype=dtype, label=label, result=result) -> Inputs:
                        values = _values(rng, n, dtype, "cum" + label)
                        return {"x": values, "out": poison(n, result), "n": n}

                    def expect(inputs: Inputs, function=function, reverse=reverse, result=result) -> Any:
                        wide = result if result.kind in "iu" else np.dtype(np.float64)
                        return {"out": _along(function, inputs["x"].astype(wide), 0, reverse).astype(result)}

                    scale = block * 0.4 if label == "sum" else 2.0
                    exact = np.dtype(dtype).kind in "iu" or label in ("max", "first")
                    loose = Tolerance(16 if np.dtype(dtype).itemsize >= 4 else 6, scale)
                    if label == "prod":
                        loose = Tolerance(300, scale)
                    _case(
                        f"scan_{label}_{name}_{n}{'_reverse' if reverse else ''}",
                        "scan",
                        scan_1d,
                        make,
                        expect,
                        {"FN": fn, "REVERSE": reverse, "BLOCK": block},
                        warps,
                        EXACT if exact else loose,
                    )
    for m, n, warps in ((16, 64, 4), (64, 16, 4), (2, 4, 4), (128, 2, 4), (8, 256, 8)):
        for axis in (0, 1):
            for reverse in (False, True):
                for label, fn, function in (_SCANS[0], _SCANS[2]):
                    _case(
                        f"scan_{label}_{m}x{n}_axis{axis}{'_reverse' if reverse else ''}",
                        "scan",
                        scan_2d,
                        lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), np.int32), "out": poison((m, n), np.int32)},
                        lambda inputs, function=function, axis=axis, reverse=reverse: {
                            "out": _along(function, inputs["x"], axis, reverse)
                        },
                        {"FN": fn, "AXIS": axis, "REVERSE": reverse, "M": m, "N": n},
                        warps,
                    )
    for n, warps, apart in ((8, 4, 1), (512, 4, 1), (512, 2, 5), (256, 4, 4), (1024, 4, 2)):
        for reverse in (False, True):
            _case(
                f"scan_affine_{n}{f'_apart_{apart}' if apart > 1 else ''}{'_reverse' if reverse else ''}",
                "scan",
                scan_affine,
                lambda rng, n=n * apart: {
                    "scale": rng.choice(np.array([-1, 1, 2, 3], np.int32), n),
                    "shift": numbers(rng, n, np.int32),
                    "out": poison(n, np.int32),
                },
                lambda inputs, reverse=reverse, apart=apart: {"out": _affine_reference(inputs, reverse, apart)},
                {"REVERSE": reverse, "BLOCK": n, "APART": apart},
                warps,
            )


def _affine_reference(inputs: Inputs, reverse: bool, apart: int) -> Array:
    scale, shift = inputs["scale"], inputs["shift"]
    out = inputs["out"].copy()
    value = np.int32(0)
    order = range(0, len(shift), apart)
    for position in reversed(order) if reverse else order:
        value = scale[position] * value + shift[position]
        out[position] = value
    return out


def _register_exclusive() -> None:
    dtypes = {"i32": np.int32, "i64": np.int64, "u64": np.uint64, "u8": np.uint8, "bool": np.bool_, **FLOATS}
    for name, dtype in dtypes.items():
        for n, block, warps in ((1000, 1024, 4), (30, 32, 4), (300, 512, 16), (1, 2, 1)):
            if n not in (1000, 30) and name not in ("i32", "f32"):
                continue
            for reverse in (False, True):
                result = _scan_dtype("sum", dtype)
                _case(
                    f"exclusive_{name}_{n}{'_reverse' if reverse else ''}",
                    "scan",
                    exclusive,
                    lambda rng, n=n, dtype=dtype, result=result: {
                        "x": _values(rng, n, dtype, "sum"),
                        "out": poison(n, result),
                        "total": poison(1, result),
                        "n": n,
                    },
                    lambda inputs, reverse=reverse, result=result: _exclusive_reference(inputs, reverse, result),
                    {"REVERSE": reverse, "BLOCK": block},
                    warps,
                    EXACT
                    if result.kind in "iu"
                    else Tolerance(16 if result.itemsize >= 4 else 4, block * (0.4 if result.itemsize >= 4 else 0.25)),
                )
    for n, block, warps in ((500, 512, 4), (9, 16, 2)):
        _case(
            f"exclusive_in_loop_{n}",
            "scan",
            exclusive_twice,
            lambda rng, n=n: {"x": rng.integers(0, 50, n, "i4"), "out": poison(n, "i4"), "n": n},
            lambda inputs, block=block: _exclusive_loop_reference(inputs, block),
            {"BLOCK": block},
            warps,
        )


def _exclusive_reference(inputs: Inputs, reverse: bool, result: np.dtype[Any]) -> dict[str, Array]:
    wide = result if result.kind in "iu" else np.dtype(np.float64)
    x = inputs["x"].astype(wide)
    inclusive = _along(np.add.accumulate, x, 0, reverse)
    return {"out": (inclusive - x).astype(result), "total": x.sum(keepdims=True, dtype=wide).astype(result)}


def _exclusive_loop_reference(inputs: Inputs, block: int) -> dict[str, Array]:
    n = len(inputs["x"])
    start = np.concatenate([inputs["x"], np.zeros(block - n, np.int32)])
    value, carried = start, np.int32(0)
    for _ in range(3):
        inclusive = np.add.accumulate(value, dtype=np.int32)
        # C's remainder has the sign of the dividend; sums here may wrap to negative ones.
        value, total = inclusive - value + np.fmod(inclusive, 7), inclusive[-1]
        carried = carried * np.int32(3) + total
    return {"out": (value + start + carried)[:n]}


def _register_histograms() -> None:
    for name, dtype in (("i32", np.int32), ("u8", np.uint8), ("i64", np.int64), ("i16", np.int16)):
        for n, block, bins, warps in ((1000, 1024, 64, 4), (20, 32, 16, 4), (3000, 4096, 512, 8), (500, 512, 1, 4)):
            for masked in (False, True):
                _case(
                    f"histogram_{name}_{n}_{bins}{'_masked' if masked else ''}",
                    "histogram",
                    histogram_kernel,
                    lambda rng, n=n, dtype=dtype, bins=bins: {
                        "x": rng.integers(-3 if np.dtype(dtype).kind == "i" else 0, min(bins + 5, 120), n).astype(dtype),
                        "out": poison(bins, np.int32),
                        "n": n,
                    },
                    lambda inputs, masked=masked, block=block: _histogram_reference(inputs, masked, block),
                    {"BINS": bins, "MASKED": masked, "BLOCK": block},
                    warps,
                )
    _case(
        "histogram_in_loop",
        "histogram",
        histogram_in_loop,
        lambda rng: {"x": rng.integers(0, 128, 3000, "i4"), "out": poison(128, "i4"), "n": 3000},
        lambda inputs: {"out": np.bincount(inputs["x"], minlength=128).cumsum().astype(np.int32)},
        {"BINS": 128, "BLOCK": 512},
    )


def _histogram_reference(inputs: Inputs, masked: bool, block: int) -> dict[str, Array]:
    x, bins = inputs["x"].astype(np.int64), len(inputs["out"])
    if masked:
        x = x[np.arange(len(x)) % 3 != 0]
    else:
        x = np.concatenate([x, np.zeros(block - len(x), np.int64)])
    x = x[(x >= 0) & (x < bins)]
    return {"out": np.bincount(x, minlength=bins).astype(np.int32)}


def _best_places(v: Inputs) -> Mapping[str, Array]:
    x = v["x"]
    m, n = x.shape
    rows, cols = x.argmax(1), x.argmax(0)
    best = [x.max(1), x.max(0), x.max()[None]]
    places = [np.arange(m) * n + rows, cols * n + np.arange(n), x.argmax()[None]]
    return {"out": np.concatenate(best), "where": np.concatenate(places).astype(np.int32)}


def _segment_sums(x: Array, starts: Array, axis: int) -> Array:
    lines, marks = np.moveaxis(x, axis, 0), np.moveaxis(starts, axis, 0)
    result = lines.copy()
    for i in range(1, len(lines)):
        result[i] = np.where(marks[i] != 0, lines[i], result[i - 1] + lines[i])
    return np.moveaxis(result, 0, axis)


def _register_tuples() -> None:
    for m, n in ((4, 64), (64, 4), (1, 256)):
        _case(
            f"reduce_pairs_{m}x{n}",
            "collectives",
            reduce_pairs,
            lambda rng, m=m, n=n: {
                "x": rng.integers(0, 9, (m, n)).astype(np.int32),
                "out": poison(m + n + 1, np.int32),
                "where": poison(m + n + 1, np.int32),
            },
            _best_places,
            {"M": m, "N": n},
        )
    for m, n, axis in ((4, 128, 1), (32, 8, 0), (1, 512, 1)):
        _case(
            f"scan_segments_{m}x{n}_axis{axis}",
            "collectives",
            scan_segments,
            lambda rng, m=m, n=n: {
                "x": numbers(rng, (m, n), np.int32),
                "starts": (rng.random((m, n)) < 0.2).astype(np.int32),
                "out": poison((m, n), np.int32),
            },
            lambda v, a=axis: {"out": _segment_sums(v["x"], v["starts"], a)},
            {"AXIS": axis, "M": m, "N": n},
        )


def _register_compared() -> None:
    for axis in (0, 1):
        _case(
            f"sum_where_equal_axis{axis}",
            "collectives",
            sum_where_equal,
            lambda rng: {
                "at": rng.integers(0, 300, 256).astype(np.int32),  # some land nowhere
                "x": rng.integers(-9, 9, 256).astype(np.float32),
                "out": poison(256, np.float32),
            },
            lambda v: {"out": np.bincount(v["at"], v["x"], 300)[:256].astype(np.float32)},
            {"AXIS": axis, "N": 256},
        )
    for limits in (8, 32):
        _case(
            f"count_below_{limits}",
            "collectives",
            count_below,
            lambda rng, limits=limits: {
                "x": numbers(rng, (32, 128), np.float32),
                "limits": numbers(rng, limits, np.float32),
                "out": poison((32, 128), np.int32),
            },
            lambda v: {
                "out": (v["x"][..., None] > v["limits"]).sum(-1, dtype=np.int32) + (v["x"] < 0) * np.int32(len(v["limits"]))
            },
            {"M": 32, "N": 128, "LIMITS": limits},
        )


_register_reductions()
_register_compared()
_register_shaped_reductions()
_register_many_sums()
_register_other_reductions()
_register_scans()
_register_exclusive()
_register_histograms()
_register_tuples()
