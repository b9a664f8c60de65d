"""Meanings of arithmetic, casts, math, shape, reductions and scans against independent NumPy."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy as np
import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.ops import numerics
from tle2cuda.ops.scan import exclusive_cumsum

RNG = np.random.default_rng(7)
INTS = [tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64]


def run(function, *arrays_and_dtypes):
    """Evaluates `function` on inputs given as (array, dtype) pairs."""
    with tracing() as trace:
        inputs = [trace.input(array, dtype) for array, dtype in arrays_and_dtypes]
        result = function(*inputs)
        results = result if isinstance(result, tuple) else (result,)
        return trace.evaluate(*results)


def edge_values(dtype):
    info = np.iinfo(numerics.value_dtype(dtype))
    return np.array([info.min, info.max, 0, 1, info.max - 1, info.min // 2, 7, 3], info.dtype)


@pytest.mark.parametrize("dtype", INTS, ids=lambda d: d.short)
def test_integer_arithmetic_wraps_and_truncates(dtype):
    a = np.repeat(edge_values(dtype), 8)
    b = np.tile(edge_values(dtype), 8)
    bits, signed = dtype.bits, dtype.is_int_signed()

    def wrap(x):
        x %= 1 << bits
        return x - (1 << bits) if signed and x >> (bits - 1) else x

    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert run(lambda x, y: x + y, (a, dtype), (b, dtype)).tolist() == [wrap(x + y) for x, y in pairs]
    assert run(lambda x, y: x - y, (a, dtype), (b, dtype)).tolist() == [wrap(x - y) for x, y in pairs]
    assert run(lambda x, y: x * y, (a, dtype), (b, dtype)).tolist() == [wrap(x * y) for x, y in pairs]
    assert run(lambda x: -x, (a, dtype)).tolist() == [wrap(-x) for x, _ in pairs]
    assert run(lambda x: ~x, (a, dtype)).tolist() == [wrap(~x) for x, _ in pairs]
    nonzero = [(x, y) for x, y in pairs if y]
    p = np.array([x for x, _ in nonzero], a.dtype)[:32]
    q = np.array([y for _, y in nonzero], a.dtype)[:32]
    quotient = [wrap(abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)) for x, y in nonzero][:32]
    rest = [abs(x) % abs(y) * (-1 if x < 0 else 1) for x, y in nonzero][:32]
    assert run(lambda x, y: x // y, (p, dtype), (q, dtype)).tolist() == quotient
    assert run(lambda x, y: x % y, (p, dtype), (q, dtype)).tolist() == rest


def test_division_truncates_but_constexpr_floors():
    minus_seven = np.full(4, -7, np.int32)
    assert run(lambda x: x // 2, (minus_seven, tl.int32)).tolist() == [-3] * 4
    assert run(lambda x: x % 2, (minus_seven, tl.int32)).tolist() == [-1] * 4
    assert (tl.constexpr(-7) // 2).value == -4
    assert (tl.constexpr(-7) % 2).value == 1


def test_shifts():
    signed = np.array([-8, 8, 1, -1], np.int32)
    assert run(lambda x: x >> 1, (signed, tl.int32)).tolist() == [-4, 4, 0, -1]
    assert run(lambda x: x >> 1, (signed.view(np.uint32), tl.uint32)).tolist() == [2**31 - 4, 4, 0, 2**31 - 1]
    assert run(lambda x: x << 30, (signed, tl.int32)).tolist() == [0, 0, 1 << 30, -(1 << 30)]
    amounts = np.array([31, 32, 33, 200], np.int32)
    assert run(lambda x, n: x << n, (signed, tl.int32), (amounts, tl.int32)).tolist() == [0, 0, 0, 0]
    assert run(lambda x, n: x >> n, (signed, tl.int32), (amounts, tl.int32)).tolist() == [-1, 0, 0, -1]


@pytest.mark.parametrize(
    ("dtype", "kind"), [(tl.float16, np.float16), (tl.bfloat16, ml_dtypes.bfloat16), (tl.float32, np.float32)]
)
def test_float_arithmetic_rounds_once(dtype, kind):
    a, b = (RNG.normal(size=64).astype(kind) for _ in range(2))
    for function, oracle in (
        (lambda x, y: x + y, np.add),
        (lambda x, y: x - y, np.subtract),
        (lambda x, y: x * y, np.multiply),
    ):
        want = oracle(a.astype(np.float64), b.astype(np.float64)).astype(np.float32).astype(kind)
        np.testing.assert_array_equal(run(function, (a, dtype), (b, dtype)), want)


def test_fma_rounds_once():
    a = np.full(4, 1 + 2.0**-12, np.float32)
    c = np.full(4, -1.0, np.float32)
    exact = (1 + 2.0**-12) ** 2 - 1
    got = run(lambda x, y: tl.fma(x, x, y), (a, tl.float32), (c, tl.float32))
    assert got[0] == np.float32(exact)
    assert got[0] != a[0] * a[0] + c[0]
    # A tie of float64 that decides the rounding to float32.
    x = numerics.fused_multiply_add(
        np.float32(1), np.float32(1 + 2.0**-23), np.float32(2.0**-24) * np.float32(2.0**-60), tl.float32
    )
    assert float(x) == 1 + 2.0**-23


def test_negation_is_zero_minus_x():
    got = run(lambda x: -x, (np.array([0.0, -0.0, 1.0, np.inf]), tl.float32))
    assert np.signbit(got).tolist() == [False, False, True, True]


def test_float_remainder():
    a = np.array([7.5, -7.5, 5.0, 1e3], np.float32)
    b = np.array([2.0, 2.0, np.inf, 7.0], np.float32)
    got = run(lambda x, y: x % y, (a, tl.float32), (b, tl.float32))
    np.testing.assert_array_equal(got, np.array([1.5, -1.5, 5.0, math.fmod(1e3, 7.0)], np.float32))


def test_bool_arithmetic_is_modulo_two():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    assert run(lambda x, y: x + y, (a, tl.int1), (b, tl.int1)).tolist() == [False, True, True, False]
    assert run(lambda x, y: x * y, (a, tl.int1), (b, tl.int1)).tolist() == [False, False, False, True]
    assert run(lambda x: ~x, (a, tl.int1)).tolist() == [True, True, False, False]
    assert run(lambda x, y: tl.maximum(x, y), (a, tl.int1), (b, tl.int1)).tolist() == [False, True, True, True]


def test_comparisons_with_nan():
    a = np.array([np.nan, 1.0, np.nan, 2.0], np.float32)
    b = np.array([1.0, 1.0, np.nan, 1.0], np.float32)
    pair = ((a, tl.float32), (b, tl.float32))
    assert run(lambda x, y: x == y, *pair).tolist() == [False, True, False, False]
    assert run(lambda x, y: x != y, *pair).tolist() == [True, False, True, True]
    assert run(lambda x, y: x < y, *pair).tolist() == [False] * 4
    assert run(lambda x, y: x >= y, *pair).tolist() == [False, True, False, True]


def test_min_max_and_nan():
    a = np.array([np.nan, 1.0, np.nan, 2.0], np.float32)
    b = np.array([1.0, np.nan, np.nan, 1.0], np.float32)
    pair = ((a, tl.float32), (b, tl.float32))
    np.testing.assert_array_equal(run(tl.maximum, *pair), [1, 1, np.nan, 2])
    np.testing.assert_array_equal(run(tl.minimum, *pair), [1, 1, np.nan, 1])
    all_nan = run(lambda x, y: tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL), *pair)
    np.testing.assert_array_equal(all_nan, [np.nan, np.nan, np.nan, 2])
    np.testing.assert_array_equal(
        run(lambda x: tl.clamp(x, -1.0, 1.5), (np.array([-2.0, np.nan, 3.0, 0.5]), tl.float32)),
        [-1.0, -1.0, 1.5, 0.5],
    )


def test_where_and_cdiv():
    x = np.arange(-4, 4, dtype=np.int32)
    assert run(lambda v: tl.where(v > 0, v, 0), (x, tl.int32)).tolist() == [0] * 5 + [1, 2, 3]
    assert run(lambda v: tl.cdiv(v, 3), (np.arange(8), tl.int32)).tolist() == [0, 1, 1, 1, 2, 2, 2, 3]
    assert tl.cdiv(7, 2) == 4


def test_umulhi():
    a = np.array([2**32 - 1, 5, 2**31, 0], np.uint32)
    want = [(int(v) * 0x9E3779B9) >> 32 for v in a]
    assert run(lambda x: tl.umulhi(x, 0x9E3779B9), (a, tl.uint32)).tolist() == want


# -- casts ------------------------------------------------------------------------------------------


def test_float_to_integer():
    values = np.array([1.9, -1.9, np.nan, np.inf, -np.inf, 3e9, -3e9, 0.0], np.float32)
    to = lambda d: run(lambda x: x.to(d), (values, tl.float32)).tolist()  # noqa: E731
    assert to(tl.int32) == [1, -1, 0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 0]
    assert to(tl.uint32) == [1, 0, 0, 2**32 - 1, 0, 3000000000, 0, 0]
    assert to(tl.int16) == [1, -1, 0, -1, 0, -1, 0, 0]  # the low bits of int32
    assert to(tl.int8) == [1, -1, 0, -1, 0, -1, 0, 0]
    assert to(tl.int64)[2:5] == [-(2**63), 2**63 - 1, -(2**63)]
    assert to(tl.uint64)[3:5] == [2**64 - 1, 0]
    assert to(tl.int1) == [True, True, True, True, True, True, True, False]


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (tl.float16, np.float16),
        (tl.bfloat16, ml_dtypes.bfloat16),
        (tl.float8e4nv, ml_dtypes.float8_e4m3fn),
        (tl.float8e5, ml_dtypes.float8_e5m2),
    ],
    ids=str,
)
def test_narrowing_rounds_to_nearest_even(dtype, kind):
    with np.errstate(over="ignore"):
        values = np.concatenate([RNG.normal(size=512), RNG.normal(size=256) * 1e-4, RNG.normal(size=256) * 1e-8]).astype(
            np.float32
        )
        want = values.astype(kind)
    got = run(lambda x: x.to(dtype), (values, tl.float32))
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_overflow_of_narrow_floats():
    values = np.array([1e6, -1e6, np.inf, np.nan], np.float32)
    for dtype, limit in ((tl.float8e4nv, 448.0), (tl.float8e5, 57344.0)):
        got = run(lambda x, d=dtype: x.to(d), (values, tl.float32)).astype(np.float32)
        np.testing.assert_array_equal(got, [limit, -limit, limit, np.nan])
    np.testing.assert_array_equal(run(lambda x: x.to(tl.float16), (values, tl.float32)), [np.inf, -np.inf, np.inf, np.nan])


def test_round_towards_zero():
    values = np.array([1 + 2.0**-8, -(1 + 2.0**-7 + 2.0**-8), 3.4028e38, np.inf], np.float32)
    got = run(lambda x: x.to(tl.bfloat16, fp_downcast_rounding="rtz"), (values, tl.float32))
    assert got.astype(np.float64).tolist() == [
        1.0,
        -(1 + 2.0**-7),
        float.fromhex("0x1.fep127"),
        np.inf,
    ]


@pytest.mark.parametrize(("source", "target"), list(itertools.product(INTS, INTS)), ids=lambda d: d.short)
def test_integer_casts(source, target):
    values = edge_values(source)
    with np.errstate(all="ignore"):
        want = values.astype(numerics.value_dtype(target))
    np.testing.assert_array_equal(run(lambda x: x.to(target), (values, source)), want)


def test_every_cast_between_floats_keeps_small_integers():
    floats = [tl.float8e4nv, tl.float8e5, tl.float16, tl.bfloat16, tl.float32, tl.float64]
    for source, target in itertools.product([*floats, *INTS, tl.int1], [*floats, *INTS, tl.int1]):
        values = np.array([0, 1, 1, 0]) if tl.int1 in (source, target) else np.array([0, 1, 2, 4])
        got = run(lambda x, t=target: x.to(t), (values, source))
        assert got.astype(np.float64).tolist() == values.tolist()


def test_bitcast():
    values = np.array([1.0, -0.0, np.inf, 3.5], np.float32)
    got = run(lambda x: x.to(tl.uint32, bitcast=True), (values, tl.float32))
    np.testing.assert_array_equal(got, values.view(np.uint32))
    bits = np.array([0x3F80, 0x8000, 0x7F80, 0x4060], np.uint16)
    got = run(lambda x: x.to(tl.bfloat16, bitcast=True), (bits, tl.uint16))
    assert got.astype(np.float32).tolist() == [1.0, -0.0, np.inf, 3.5]


# -- mathematics ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (tl.exp, np.exp),
        (tl.exp2, np.exp2),
        (tl.log, np.log),
        (tl.log2, np.log2),
        (tl.sin, np.sin),
        (tl.cos, np.cos),
        (tl.sqrt, np.sqrt),
        (tl.sqrt_rn, np.sqrt),
        (tl.rsqrt, lambda x: 1 / np.sqrt(x)),
        (tl.floor, np.floor),
        (tl.ceil, np.ceil),
        (tl.abs, np.abs),
        (tl.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (tl.erf, np.vectorize(math.erf)),
        (tl.extra.libdevice.tanh, np.tanh),
        (tl.extra.libdevice.rint, np.rint),
        (tl.extra.libdevice.log1p, np.log1p),
        (tl.extra.libdevice.expm1, np.expm1),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_math(function, oracle):
    values = np.concatenate([RNG.uniform(0.01, 5, 28), [0.5, 1.5, 2.5, 1.0]]).astype(np.float32)
    want = oracle(values.astype(np.float64))
    np.testing.assert_allclose(run(function, (values, tl.float32)), want, rtol=3e-7)


def test_round_is_half_away_from_zero():
    values = np.array([0.5, 1.5, -2.5, 0.49], np.float32)
    assert run(tl.extra.libdevice.round, (values, tl.float32)).tolist() == [1.0, 2.0, -3.0, 0.0]


def test_integer_abs_wraps():
    assert run(tl.abs, (np.array([-128, -1, 0, 127], np.int8), tl.int8)).tolist() == [-128, 1, 0, 127]


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax(dim):
    x = RNG.normal(size=(4, 8)).astype(np.float32)
    e = np.exp(x - x.max(dim, keepdims=True))
    got = run(lambda v: tl.softmax(v, dim=dim, keep_dims=True), (x, tl.float32))
    np.testing.assert_allclose(got, e / e.sum(dim, keepdims=True), rtol=1e-6)


# -- shape ------------------------------------------------------------------------------------------


def test_shape_operations():
    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    assert np.array_equal(run(lambda v: tl.trans(v), (x, tl.int32)), x.T)
    assert np.array_equal(run(lambda v: v.T, (x, tl.int32)), x.T)
    assert np.array_equal(run(lambda v: tl.permute(v, 1, 0), (x, tl.int32)), x.T)
    assert np.array_equal(run(lambda v: tl.reshape(v, (2, 16)), (x, tl.int32)), x.reshape(2, 16))
    assert np.array_equal(run(lambda v: v.reshape(2, 2, 8), (x, tl.int32)), x.reshape(2, 2, 8))
    assert np.array_equal(run(lambda v: tl.ravel(v), (x, tl.int32)), x.ravel())
    assert np.array_equal(run(lambda v: v[:, None, :], (x, tl.int32)), x[:, None, :])
    assert np.array_equal(run(lambda v: tl.expand_dims(v, (0, -1)), (x, tl.int32)), x[None, :, :, None])
    row = np.arange(8, dtype=np.int32)
    assert np.array_equal(run(lambda v: tl.broadcast_to(v[None, :], (4, 8)), (row, tl.int32)), np.broadcast_to(row, (4, 8)))
    one = run(lambda v: tl.reshape(v, ()), (np.array([5]), tl.int32))
    assert one.shape == () and one == 5
    cube = np.arange(16).reshape(2, 2, 4)
    assert np.array_equal(run(lambda v: v.trans(2, 0, 1), (cube, tl.int32)), cube.transpose(2, 0, 1))


# -- reductions and scans ---------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keep", [False, True])
def test_reductions(axis, keep):
    x = RNG.integers(-50, 50, (4, 8)).astype(np.int32)
    f = RNG.normal(size=(4, 8)).astype(np.float32)
    args = {"axis": axis, "keep_dims": keep}
    numpy_args = {"axis": axis, "keepdims": keep}
    np.testing.assert_array_equal(run(lambda v: tl.sum(v, **args), (x, tl.int32)), x.sum(**numpy_args))
    np.testing.assert_array_equal(run(lambda v: tl.max(v, **args), (x, tl.int32)), x.max(**numpy_args))
    np.testing.assert_array_equal(run(lambda v: tl.min(v, **args), (f, tl.float32)), f.min(**numpy_args))
    np.testing.assert_array_equal(
        run(lambda v: tl.xor_sum(v, **args), (x, tl.int32)), np.bitwise_xor.reduce(x, **numpy_args)
    )
    hit = x > 40
    np.testing.assert_array_equal(run(lambda v: tl.reduce_or(v, **args), (hit, tl.int1)), hit.any(**numpy_args))
    got = run(lambda v: tl.argmax(v, **args), (x, tl.int32))
    np.testing.assert_array_equal(got, x.argmax(**numpy_args))


def test_reduction_dtypes():
    cases = {
        tl.int1: (tl.uint32, tl.int32),
        tl.int8: (tl.int32, tl.int32),
        tl.uint8: (tl.uint32, tl.int32),
        tl.int16: (tl.int32, tl.int32),
        tl.uint16: (tl.uint32, tl.int32),
        tl.uint32: (tl.uint32, tl.uint32),
        tl.int64: (tl.int64, tl.int64),
        tl.float16: (tl.float16, tl.float32),
        tl.bfloat16: (tl.bfloat16, tl.float32),
        tl.float8e5: (tl.float8e5, tl.float32),
        tl.float64: (tl.float64, tl.float64),
    }
    with tracing() as trace:
        for dtype, (sum_type, max_type) in cases.items():
            x = trace.symbol(dtype, (8,))
            assert tl.sum(x, 0).dtype is sum_type
            assert tl.max(x, 0).dtype is max_type
            assert tl.argmin(x, 0).dtype is tl.int32


def test_max_ignores_nan_and_ties_go_left_or_right():
    x = np.array([np.nan, 3, 1, 3], np.float32)
    assert run(lambda v: tl.max(v, 0), (x, tl.float32)) == 3
    assert run(lambda v: tl.argmax(v, 0), (x, tl.float32)) == 1
    assert run(lambda v: tl.argmax(v, 0, tie_break_left=False), (x, tl.float32)) == 3
    value, index = run(lambda v: tl.max(v, 0, return_indices=True), (x, tl.float32))
    assert (value, index) == (3, 1)


def test_half_sum_accumulates_wide():
    x = np.full(4096, 1.0009765625, np.float16)
    assert run(lambda v: tl.sum(v, 0), (x, tl.float16)) == np.float16(4096 * 1.0009765625)


def test_custom_reduce_and_scan():
    def take_second(a, b):
        return b

    def affine(a1, b1, a2, b2):
        return a1 * a2, b1 * a2 + b2

    x = RNG.integers(0, 9, (4, 8)).astype(np.int32)
    got = run(lambda v: tl.reduce(v, 1, lambda a, b: a + b * 1), (x, tl.int32))
    np.testing.assert_array_equal(got, x.sum(1))
    last = run(lambda v: tl.associative_scan(v, 0, take_second), (x, tl.int32))
    np.testing.assert_array_equal(last, x)
    a, b = RNG.integers(1, 3, 16), RNG.integers(0, 5, 16)
    for reverse in (False, True):
        got_a, got_b = run(
            lambda p, q, r=reverse: tl.associative_scan((p, q), 0, affine, reverse=r),
            (a, tl.int64),
            (b, tl.int64),
        )
        order = range(15, -1, -1) if reverse else range(16)
        state = None
        for i in order:
            state = (a[i], b[i]) if state is None else (state[0] * a[i], state[1] * a[i] + b[i])
            assert (got_a[i], got_b[i]) == state


def test_known_combine_functions_become_kinds():
    with tracing() as trace:
        x = trace.symbol(tl.float32, (8,))
        tl.reduce(x, 0, tl.maximum)
        assert trace.only("reduce").attrs["kind"] == "max"
        tl.associative_scan(x, 0, tl.add)
        assert trace.only("scan").attrs["kind"] == "sum"


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative(axis, reverse):
    x = RNG.integers(-3, 4, (4, 8)).astype(np.int8)
    flip = (lambda v: np.flip(v, axis)) if reverse else (lambda v: v)
    got = run(lambda v: tl.cumsum(v, axis, reverse), (x, tl.int8))
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, flip(np.cumsum(flip(x), axis)))
    f = RNG.uniform(0.5, 1.5, (4, 8))
    np.testing.assert_allclose(
        run(lambda v: tl.cumprod(v, axis, reverse), (f, tl.float64)), flip(np.cumprod(flip(f), axis))
    )


@pytest.mark.parametrize(
    ("dtype", "result"),
    [
        (tl.int8, tl.int32),
        (tl.uint16, tl.uint32),
        (tl.int1, tl.uint32),
        (tl.bfloat16, tl.float32),
        (tl.float16, tl.float16),
        (tl.int64, tl.int64),
    ],
    ids=str,
)
@pytest.mark.parametrize("reverse", [False, True])
def test_exclusive_cumsum(dtype, result, reverse):
    x = RNG.integers(0, 2, 16)
    before, total = run(lambda v: exclusive_cumsum(v, 0, reverse), (x, dtype))
    inclusive = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
    assert before.dtype == numerics.value_dtype(result)
    assert before.astype(np.int64).tolist() == (inclusive - x).tolist()
    assert total == x.sum()


def test_exclusive_cumsum_of_a_scalar():
    with tracing() as trace:
        x = trace.input(5, tl.int8)
        before, total = exclusive_cumsum(x)
        assert before.dtype is tl.int8 and total is x
        assert trace.evaluate(before) == 0


def test_histogram():
    x = np.array([0, 1, 1, 7, -1, 8, 3, 3], np.int32)
    mask = np.array([1, 1, 0, 1, 1, 1, 1, 1], bool)
    assert run(lambda v: tl.histogram(v, 8), (x, tl.int32)).tolist() == [1, 2, 0, 2, 0, 0, 0, 1]
    got = run(lambda v, m: tl.histogram(v, 8, mask=m), (x, tl.int32), (mask, tl.int1))
    assert got.tolist() == [1, 1, 0, 2, 0, 0, 0, 1]


def test_creation():
    with tracing() as trace:
        values = (tl.arange(4, 8), tl.full((2, 2), -1, tl.uint8), tl.zeros((), tl.float16), tl.zeros([4], tl.int1))
        got = trace.evaluate(*values)
    assert got[0].tolist() == [4, 5, 6, 7]
    assert got[1].tolist() == [[255, 255], [255, 255]]
    assert got[2] == 0 and got[3].tolist() == [False] * 4


def test_place_in_the_launch():
    with tracing() as trace:
        got = trace.evaluate(tl.program_id(0), tl.program_id(1), tl.num_programs(0))
    assert [int(v) for v in got] == [3, 1, 8]


# -- memory -----------------------------------------------------------------------------------------


def test_masked_load_reads_zero_or_other():
    memory = np.arange(10, 18, dtype=np.float32)
    with tracing() as trace:
        p = trace.pointer(tl.float32)
        i = tl.arange(0, 16)
        plain = tl.load(p + i, mask=i < 8)
        other = tl.load(p + i, mask=i < 8, other=-1)
        got = trace.evaluate(plain, other, memory=memory)
    np.testing.assert_array_equal(got[0], [*range(10, 18), *[0] * 8])
    np.testing.assert_array_equal(got[1], [*range(10, 18), *[-1] * 8])


def test_store_casts_and_masks():
    memory = np.zeros(8, np.int8)
    with tracing() as trace:
        p = trace.pointer(tl.int8)
        i = tl.arange(0, 8)
        tl.store(p + i, i * 100 + 0.75, mask=i % 2 == 0)
        trace.evaluate(i, memory=memory)
    want = np.array([0, 200, 400, 600]).astype(np.int8)
    assert memory[::2].tolist() == want.tolist() and not memory[1::2].any()


def test_print_meaning():
    with tracing() as trace:
        x = trace.input(np.array([1, 255]), tl.int32)
        tl.device_print("x", x, hex=True)
        tl.device_print("here")
        trace.evaluate(x)
    assert trace.printed == [
        "pid (3, 1, 0) idx (0) x: 0x00000001",
        "pid (3, 1, 0) idx (1) x: 0x000000ff",
        "pid (3, 1, 0) here",
    ]
