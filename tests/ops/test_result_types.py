"""Results whose dtype people do not expect, as Triton 3.6 has them; the front end's dtypes and eager mode's alike."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def of_bools(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    bits = tl.load(x + i) != 0
    products = tl.cumprod(bits, 0)
    tl.static_assert(products.dtype == tl.int1)
    largest, first = tl.max(bits, 0, return_indices=True)
    smallest, last = tl.min(bits, 0, return_indices=True, return_indices_tie_break_left=False)
    tl.static_assert(largest.dtype == tl.int1)
    tl.static_assert(smallest.dtype == tl.int1)
    tl.store(out + i, products)
    tl.store(out + N, first + 10 * last + 100 * largest.to(tl.int32) + 1000 * smallest.to(tl.int32))


@tle2cuda.jit
def of_signs(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    signed = tl.load(x + i)
    unsigned = signed.to(tl.uint32)
    tl.static_assert(tl.interleave(signed, unsigned).dtype == tl.int32)
    tl.static_assert(tl.cat(unsigned, signed, can_reorder=True).dtype == tl.uint32)
    tl.static_assert(tl.join(unsigned, signed).dtype == tl.uint32)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(signed, unsigned) // 2)


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_bools_stay_bools(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.array([3, 1, 0, 1], np.int32), np.zeros(5, np.int32)
    of_bools[(1,)](x, out, 4)
    np.testing.assert_array_equal(out, [1, 1, 0, 0, 0 + 20 + 100])


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_of_two_signs_the_first_counts(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.array([-8, 6], np.int32), np.zeros(4, np.int32)
    of_signs[(1,)](x, out, 2)
    np.testing.assert_array_equal(out, [-4, -4, 3, 3])


@tle2cuda.jit
def by_methods(x, out, N: tl.constexpr):
    tl.static_assert(tl.bfloat16.exponent_bias == 127 and tl.int8.exponent_bias == 0)
    a, b = tl.rand4x(seed=1, offsets=tl.arange(0, N))[:2]
    source = tl.make_block_ptr(x, (N,), (1,), (0,), (2,), (0,))
    target = tl.make_block_ptr(out, (N,), (1,), (0,), (2,), (0,))
    for _ in range(N // 2):
        target.store(source.load(boundary_check=(0,)) + 1, boundary_check=(0,))
        source, target = source.advance((2,)), target.advance((2,))
    tl.store(out + N, tl.sum(tl.where(a == b, 1, 0)))


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_methods_and_keywords_under_tritons_names(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.arange(8, dtype=np.int32), np.full(9, 7, np.int32)
    by_methods[(1,)](x, out, 8)
    np.testing.assert_array_equal(out, [*range(1, 9), 0])
