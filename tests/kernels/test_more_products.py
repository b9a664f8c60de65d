"""Grouped, persistent, few-row, float8 and scaled products against float64: interpreter, emulator, GPU.

Tiles have 64 rows for four warps, as products of warpgroups need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from kernels import (
    decode_matmul,
    fp8_matmul,
    grouped_gemm,
    grouped_gemm_tle,
    matmul,
    matmul_persistent,
    matmul_tle,
    scaled_matmul,
)
from kernels.matmul import matmul_reference
from tests.kernels.places import on

BF16, FP8 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn)
HERE = pytest.mark.parametrize("where", ["interpreter", "emulator", pytest.param("gpu", marks=pytest.mark.gpu)])
POISON = 7


def check(actual: Any, expected: np.ndarray, tolerance: float) -> None:
    found = (actual.get() if hasattr(actual, "get") else actual).astype(np.float64)
    limit = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=limit)


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@HERE
@pytest.mark.parametrize("turned", [False, True])
def test_grouped_gemm(where: str, turned: bool) -> None:
    """Groups of no row, of one, and of several tiles; fewer CTAs than tiles."""
    ends = np.cumsum([5, 0, 1, 47, 32]).astype(np.int32)
    a, b = random((int(ends[-1]) + 3, 40), np.float16), random((5, 40, 50), np.float16, 1)
    if turned:
        b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    out = np.full((a.shape[0], 50), POISON, np.float16)
    tile = grouped_gemm.Tile(64, 32, 32, 4, 3)
    with on(where) as there:
        c = grouped_gemm.multiply_groups(there(a), there(b), there(out), there(ends), tile=tile, ctas=4)
    check(c[: ends[-1]], grouped_gemm.grouped_reference(a, b, ends), 2e-3)
    assert (c[ends[-1] :] == POISON).all()


_ON_A_GPU = (pytest.param("gpu", turned, marks=pytest.mark.gpu) for turned in (False, True))


@pytest.mark.parametrize(("where", "turned"), [("interpreter", False), ("emulator", True), *_ON_A_GPU])
def test_grouped_gemm_in_tle(where: str, turned: bool) -> None:
    """Groups of no row, and tiles that cross the end of a group and the end of the rows."""
    ends = np.cumsum([5, 0, 70, 20]).astype(np.int32)
    a, b = random((int(ends[-1]) + 3, 72), BF16), random((4, 72, 152), BF16, 1)
    if turned:
        b = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    out = np.full((a.shape[0], 152), POISON, BF16)
    tile = grouped_gemm_tle.Tile(128, 128, 64, 2)
    with on(where) as there:
        c = grouped_gemm_tle.multiply_groups(there(a), there(b), there(out), there(ends), tile=tile, ctas=3)
    check(c[: ends[-1]], grouped_gemm.grouped_reference(a, b, ends), 1e-2)
    assert (c[ends[-1] :] == POISON).all()


@HERE
@pytest.mark.parametrize("turned", [False, True])
def test_persistent_matmul(where: str, turned: bool) -> None:
    """Loads by the kernel's own warps, and by one that does nothing else."""
    a, b = random((70, 48), np.float16), random((48, 56), np.float16, 1)
    b = np.asfortranarray(b) if turned else b
    tile = matmul_persistent.Tile(64, 32, 16, 2, 4, 3)
    with on(where) as there:
        out = there(np.full((70, 56), POISON, np.float16))
        c = matmul_persistent.multiply_persistent(there(a), there(b), out, tile=tile, ctas=2, specialize=turned)
    check(c, matmul_reference(a, b).astype(np.float64), 2e-3)


@HERE
@pytest.mark.parametrize(("rows", "parts"), [(1, 1), (16, 3), (33, 2), (70, 4)])
def test_few_rows(where: str, rows: int, parts: int) -> None:
    x, weights = random((rows, 200), BF16), random((72, 200), BF16, 1)
    tile = decode_matmul.Tile(64, 32, 4, 3)
    with on(where) as there:
        x_there, weights_there = there(x), there(weights)
        workspace = decode_matmul.new_workspace(x_there, 72, parts, tile)
        for _ in range(2):  # tickets must be left as the next launch needs them
            out = there(np.full((rows, 72), POISON, BF16))
            decode_matmul.multiply_few_rows(x_there, weights_there, out, parts=parts, tile=tile, workspace=workspace)
            check(out, matmul_reference(x, weights.T).astype(np.float64), 1e-2)


@HERE
@pytest.mark.parametrize("sizes", [(33, 40, 128), (65, 150, 304)])
def test_fp8_matmul(where: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    a, b = random((m, k), FP8), random((n, k), FP8, 1)
    steps = -(-k // 128)
    scales = [np.random.default_rng(2).random(shape, np.float32) for shape in ((m, steps), (-(-n // 128), steps))]
    tile = fp8_matmul.Tile(64, 32, 2, 4, 3)
    with on(where) as there:
        out = there(np.full((m, n), POISON, np.float32))
        c = fp8_matmul.multiply_fp8(there(a), there(b), out, *map(there, scales), tile=tile)
    # Tensor cores add products of float8 in fewer bits than float32 has.
    check(c, fp8_matmul.fp8_matmul_reference(a, b, *scales), 2e-3 if where == "gpu" else 1e-4)


@HERE
@pytest.mark.parametrize("formats", [("e4m3", "e2m1"), ("e2m1", "e5m2")])
def test_scaled_matmul(where: str, formats: tuple[str, str]) -> None:
    m, n, k = 37, 50, 96
    rng = np.random.default_rng(3)
    finite = rng.integers(0, 0x78, (2, max(m, n), k)).astype(np.uint8)  # neither infinite nor NaN in any of the formats
    a, b = (bits[:, : k // (2 if name == "e2m1" else 1)] for bits, name in zip(finite, formats, strict=True))
    a, b = np.ascontiguousarray(a[:m]), np.ascontiguousarray(b[:n])
    a_scales, b_scales = (rng.integers(120, 130, (rows, k // 32)).astype(np.uint8) for rows in (m, n))
    with on(where) as there:
        out = there(np.full((m, n), POISON, np.float32))
        arrays = map(there, (a, a_scales, b, b_scales))
        c = scaled_matmul.multiply_scaled(*arrays, out, formats, (32, 32, 64), 2)
    check(c, scaled_matmul.scaled_matmul_reference(a, a_scales, b, b_scales, formats), 1e-4)


@pytest.mark.parametrize("sizes", [(0, 8, 8), (8, 0, 8), (8, 8, 0)])
def test_products_without_elements(sizes: tuple[int, int, int]) -> None:
    """Arrays of no element have any strides; a product over no k is 0."""
    m, n, k = sizes
    a, b, weights = np.zeros((m, k), np.float16), np.zeros((k, n), np.float16), np.zeros((n, k), np.float16)
    scales = [np.zeros(shape, np.float32) for shape in ((m, -(-k // 128)), (-(-n // 128), -(-k // 128)))]
    bits = np.zeros((m, k), np.uint8), np.zeros((m, 0), np.uint8), np.zeros((n, k), np.uint8), np.zeros((n, 0), np.uint8)
    ends = np.array([0, m], np.int32)
    calls: list[Callable[[np.ndarray], Any]] = [
        lambda c: matmul.multiply(a, b, c),
        lambda c: matmul_tle.multiply(a, b, c),
        lambda c: matmul_persistent.multiply_persistent(a, b, c),
        lambda c: grouped_gemm.multiply_groups(a, np.stack([b, b]), c, ends),
        lambda c: grouped_gemm_tle.multiply_groups(a, np.stack([b, b]), c, ends),
        lambda c: decode_matmul.multiply_few_rows(a, weights, c),
        lambda c: fp8_matmul.multiply_fp8(a.astype(FP8), weights.astype(FP8), c, *scales),
    ]
    if not k:
        calls.append(lambda c: scaled_matmul.multiply_scaled(*bits, c))
    with on("interpreter"):
        for call in calls:
            c = np.full((m, n), POISON, np.float16)
            call(c)
            assert not c.any()


def test_wrong_shapes_are_refused() -> None:
    half = np.zeros((4, 4), np.float16)
    with pytest.raises(ValueError, match="neighbours"):
        matmul_tle.multiply(np.zeros((4, 8), np.float16)[:, ::2], half, half)
    with pytest.raises(ValueError, match="of c must be neighbours"):
        scaled_matmul.multiply_scaled(*(np.zeros((4, n), "u1") for n in (32, 1, 32, 1)), np.asfortranarray(half))
    with pytest.raises(ValueError, match="cannot multiply"):
        grouped_gemm.multiply_groups(half, half[None], half, np.zeros(2, np.int32))
    with pytest.raises(ValueError, match="neighbours"):
        matmul_persistent.multiply_persistent(half[:, ::2], half[:2], half)
    with pytest.raises(ValueError, match="cannot multiply"):
        decode_matmul.multiply_few_rows(half, half[:, :2], half)
    with pytest.raises(ValueError, match="a_scales must be"):
        fp8_matmul.multiply_fp8(half, half, half, half, half)
    with pytest.raises(ValueError, match="b must be"):
        scaled_matmul.multiply_scaled(np.zeros((4, 32), "u1"), *np.zeros((3, 4, 1), "u1"), half)
