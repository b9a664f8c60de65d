"""How arithmetic reads: shifts, plain where the amount is proved to lie inside the width."""

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.lowering.emitted import body, emitted

TILES = "x *{0}:16, y *{0}:16, out *{0}:16, n {0}"


@tle2cuda.jit
def in_range(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    amount = tl.load(y + i) & 7
    value = tl.load(x + i)
    tl.store(out + i, (value << amount) + (value >> amount) + (value << 5) + (value >> 5))


@tle2cuda.jit
def anywhere(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i, (value << tl.load(y + i)) + (value >> n))


@tle2cuda.jit
def beyond_by_folding(x, y, out, n):
    many = tl.full((), 40, tl.int32)
    value = tl.load(x)
    tl.store(out, value << many)
    tl.store(out + 1, value >> many)
    tl.store(out + 2, value // (many - 40))
    tl.store(out + 3, value % (many - 40))


@tle2cuda.jit
def both_hold(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, (tl.load(x + i, mask=i < n, other=0) > 0) & (tl.load(y + i, mask=i < n, other=0) == 3))


@pytest.mark.parametrize("dtype", ["i8", "u8", "i32", "u32", "i64", "u64"])
def test_shifts_are_plain_where_the_amount_is_proved(dtype):
    text = emitted(in_range, TILES.format(dtype), N=512).source
    assert "shift_left" not in text
    assert "shift_right" not in text


def test_other_shifts_go_through_a_helper():
    text = body(anywhere, TILES.format("i32"), N=512)
    assert "shift_left<int>(" in text
    assert "shift_right<int>(" in text
    assert "<< " not in text


def test_what_folding_finds_out_leaves_no_undefined_operation():
    text = body(beyond_by_folding, TILES.format("i32"))
    assert "*out = 0;" in text
    assert "out[1] = value >> 31;" in text
    assert "out[2] = -1;" in text
    assert "out[3] = value;" in text


def test_what_the_compiler_would_branch_around_stands_first():
    signature = "x *i32:16, y *{}:16, out *i8:16, n i32"
    assert "flag[k] && y_value[k] == 3.0f" in body(both_hold, signature.format("fp32"), N=512)
    assert "y_value[k] == __float2half(3.0f) && flag[k]" in body(both_hold, signature.format("fp16"), N=512)


@tle2cuda.jit
def folded_rows(x, y, out, n, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, 64)
    value = tl.load(x + (i % 16)[:, None] * 64 + j[None, :] * n)
    tl.store(out + i[:, None] * 64 + j[None, :], value)


@tle2cuda.jit
def plain_rows(x, y, out, n, N: tl.constexpr):
    i, j = tl.arange(0, N), tl.arange(0, 64)
    value = tl.load(x + (i % n)[:, None] * 64 + j[None, :])
    tl.store(out + i[:, None] * 64 + j[None, :], value)


def test_the_number_of_threads_is_said_where_places_are_split():
    said = "    __builtin_assume(0 <= thread && thread < 128);  // compilers do not take it from the launch bounds\n"
    assert said in emitted(folded_rows, TILES.format("i32"), N=64).source
    assert "assume" not in emitted(plain_rows, TILES.format("i32"), N=64).source
