"""Which arithmetic is emitted so that it wraps: what has low bits that matter, and no index or count."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def places(x, ids, out, n, stride, BLOCK: tl.constexpr):
    """Indices, counts and lengths, some of them out of memory: plain C++."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(ids + i, mask=i < n, other=0)
    length = tl.load(ids + n)
    tiles = (length + BLOCK - 1) // BLOCK
    for part in range(tiles):
        at = row * stride + part * 65536
        tl.store(out + at, tl.load(x + at + 1, mask=at + 1 < length), mask=at < length)


@tle2cuda.jit
def pointers_only(x, ids, out, BLOCK: tl.constexpr):
    """A product of two numbers out of memory that is an address."""
    row = tl.load(ids + tl.arange(0, BLOCK))
    at = row * tl.load(ids + BLOCK)
    tl.store(out + at, tl.load(x + at))


@tle2cuda.jit
def bounded(x, out, BLOCK: tl.constexpr):
    """Factors and sums that cannot leave int32."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i).to(tl.int32)
    tl.store(out + i, value * 100003 + value * value)


@tle2cuda.jit
def unsigned(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i).to(tl.uint32, bitcast=True)
    tl.store(out + i, (value * 1103515245 + value * value).to(tl.int32, bitcast=True))


@tle2cuda.jit
def hashed_place(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, (i * 73856093) ^ n, mask=i < n)


@tle2cuda.jit
def bits_of_a_float(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    bits = tl.load(x + i).to(tl.int32, bitcast=True)
    tl.store(out + i, (bits + 0x7FFF) >> 16)


@tle2cuda.jit
def through_a_branch(x, out, n):
    value = tl.load(x)
    if n > 3:
        value = value * 48271
    else:
        value = value * value
    tl.store(out, value - 1)


SIGNATURES = {
    places: "*fp32, *i32, *fp32, i32, i32, 256",
    pointers_only: "*fp32, *i32, *fp32, 256",
    bounded: "*i8, *i32, 256",
    unsigned: "*i32, *i32, 256",
    hashed_place: "*i32, i32, 256",
    bits_of_a_float: "*fp32, *i32, i32, 256",
    through_a_branch: "*i32, *i32, i32",
}


@pytest.mark.parametrize(
    ("kernel", "calls"),
    [
        (places, []),
        (pointers_only, []),
        (bounded, []),
        (unsigned, []),
        (hashed_place, ["mul"]),
        (bits_of_a_float, ["add"]),
        (through_a_branch, ["mul", "sub"]),
    ],
    ids=lambda value: value.fn.__name__ if hasattr(value, "fn") else "",
)
def test_what_wraps(kernel: Any, calls: list[str]) -> None:
    body = tle2cuda.emit(kernel, SIGNATURES[kernel]).source.partition('extern "C"')[2]
    assert sorted(set(re.findall(r"(\w+)_wrapping\(", body))) == calls
