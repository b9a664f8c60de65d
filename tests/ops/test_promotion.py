"""The promotion table over all dtype pairs and literals, against the rules written down independently."""

from __future__ import annotations

import itertools

import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import DTypeMismatch, InvalidArgument, ShapeMismatch
from tle2cuda.ir.types import ALL_DTYPES
from tle2cuda.ops.core import literal_dtype, to_tensor

PAIRS = list(itertools.product(ALL_DTYPES, ALL_DTYPES))


def rank_of_float(d):
    return {"float64": 0, "float32": 1, "float16": 2, "bfloat16": 3}.get(d.label)


def expected(a, b):
    """None where the pair is an error. Written as a table of cases, not as code of the compiler."""
    floats = [d for d in (a, b) if d.kind == "float"]
    if floats:
        ranks = [rank_of_float(d) for d in floats]
        known = [r for r in ranks if r is not None]
        if known and min(known) <= 2:
            return [tl.float64, tl.float32, tl.float16][min(known)]
        if known:
            return tl.bfloat16 if a is b else tl.float32
        if len(floats) == 2:
            return a if a is b else tl.float16
        return None
    width = {d: d.bits for d in (a, b)}
    if (a.kind == "int") == (b.kind == "int"):
        return a if width[a] >= width[b] else b
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    return unsigned if unsigned.bits >= signed.bits else signed


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.short)
def test_add_promotes(a, b):
    want = expected(a, b)
    with tracing() as trace:
        x, y = trace.symbol(a, (4,)), trace.symbol(b, (4,))
        if want is None:
            with pytest.raises(DTypeMismatch, match=f"`\\+`: {a.label} and {b.label} have no common dtype"):
                x + y
        else:
            assert (x + y).dtype is want
            assert (y + x).dtype is want


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda d: d.short)
def test_true_division(a, b):
    want = expected(a, b)
    mixed = "float" not in (a.kind, b.kind) and (a.kind == "int") != (b.kind == "int")
    with tracing() as trace:
        x, y = trace.symbol(a, (4,)), trace.symbol(b, (4,))
        if mixed:
            with pytest.raises(DTypeMismatch, match=f"`/`: {a} and {b} differ in signedness"):
                x / y
        elif want is not None:
            small = want.kind != "float" or want in (tl.float16, tl.bfloat16)
            if a.is_fp8() and b.is_fp8():
                small = False
            assert (x / y).dtype is (tl.float32 if small else want)


KIND = {"bool": 0, "int": 1, "uint": 1, "float": 2}


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=lambda d: d.short)
@pytest.mark.parametrize("literal", [True, 1, 2.5])
def test_weak_literals(dtype, literal):
    own = tl.int1 if literal is True else tl.int32 if literal == 1 else tl.float32
    want = dtype if KIND[own.kind] <= KIND[dtype.kind] else expected(own, dtype)
    with tracing() as trace:
        x = trace.symbol(dtype, (4,))
        assert (x + literal).dtype is want
        assert (literal + x).dtype is want
        assert (x * tl.constexpr(literal)).dtype is want
        assert tl.where(trace.symbol(tl.int1, (4,)), x, literal).dtype is want


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if not d.is_fp8()], ids=lambda d: d.short)
@pytest.mark.parametrize("literal", [1, 0.5])
def test_comparisons_and_extrema_are_not_weak(dtype, literal):
    own = tl.int32 if literal == 1 else tl.float32
    with tracing() as trace:
        x = trace.symbol(dtype, (4,))
        y = x < literal
        assert y.dtype is tl.int1
        assert trace.ops[-1].operands[0].type.element is expected(own, dtype)
        source = tl.float32 if dtype is tl.bfloat16 else dtype
        assert tl.maximum(x, literal).dtype is expected(own, source)
        assert tl.minimum(literal, x).dtype is expected(own, source)


def test_known_examples():
    with tracing() as trace:
        i8, u8, f16, bf16 = (trace.symbol(d, (4,)) for d in (tl.int8, tl.uint8, tl.float16, tl.bfloat16))
        i64 = trace.symbol(tl.int64, (4,))
        assert (i8 + 1).dtype is tl.int8
        assert (f16 * 2.5).dtype is tl.float16
        assert (bf16 * 2).dtype is tl.bfloat16
        assert (i64 * 2.5).dtype is tl.float32
        assert (u8 + trace.symbol(tl.int16, (4,))).dtype is tl.int16
        assert (f16 * tl.full((), 2.0, tl.float32)).dtype is tl.float32
        assert (f16 / 2).dtype is tl.float32
        assert (f16 % 2).dtype is tl.float32
        assert (i64 + trace.symbol(tl.uint32)).dtype is tl.int64


def test_literal_ranges():
    with tracing() as trace:
        i8, u8, i32 = (trace.symbol(d, (4,)) for d in (tl.int8, tl.uint8, tl.int32))
        with pytest.raises(InvalidArgument) as error:
            i8 + 300
        assert error.value.message == "`+`: the number 300 is out of range for int8 (-128 to 127)"
        with pytest.raises(InvalidArgument) as error:
            u8 + -1
        assert error.value.message == "`+`: the negative number -1 cannot be combined with uint8"
        with pytest.raises(InvalidArgument, match="3000000000 is out of range for int32"):
            i32 + 3000000000
        with pytest.raises(InvalidArgument, match="does not fit into 64 bits"):
            to_tensor(1 << 64)


@pytest.mark.parametrize(
    ("number", "dtype"),
    [
        (0, tl.int32),
        (-(2**31), tl.int32),
        (2**31, tl.uint32),
        (2**32, tl.int64),
        (-(2**31) - 1, tl.int64),
        (2**63, tl.uint64),
        (True, tl.int1),
        (0.0, tl.float32),
        (1e-40, tl.float64),
        (1e39, tl.float64),
        (float("inf"), tl.float32),
        (float("nan"), tl.float32),
    ],
)
def test_literal_dtype(number, dtype):
    assert literal_dtype(number) is dtype


def test_shapes_broadcast():
    with tracing() as trace:
        a, b = trace.symbol(tl.float32, (4, 1)), trace.symbol(tl.float32, (8,))
        assert (a + b).dims == (4, 8)
        assert (a + 1).dims == (4, 1)
        with pytest.raises(ShapeMismatch) as error:
            trace.symbol(tl.float32, (4,), "a") + trace.symbol(tl.float32, (8,), "b")
        assert error.value.message == "`+`: shapes [4] and [8] do not fit together"
        assert error.value.facts == ("`a`: tile fp32[4]", "`b`: tile fp32[8]")
