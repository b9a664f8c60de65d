"""Products that kernels ask of warpgroups themselves: buffers, stages of a ring, turned operands, several in flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases import dot
from tests.opcases.case import BF16, F8E4NV, F8E5, Array, Inputs, Tolerance, poison
from tle2cuda.language import tle

_HALF = np.dtype(np.float16)


@tle2cuda.jit
def filled(pointer, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A buffer with a row-major matrix of global memory."""
    buffer = tle.gpu.alloc([ROWS, COLUMNS], dtype=pointer.dtype.element_ty)
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(tle.gpu.local_ptr(buffer), tl.load(pointer + at))
    return buffer


@tle2cuda.jit
def product(
    a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TRANS_A: tl.constexpr, TRANS_B: tl.constexpr,
    OUT: tl.constexpr, PRECISION: tl.constexpr, LIMIT: tl.constexpr,
):  # fmt: skip
    """One product of two buffers, either of which may be stored the other way round."""
    x = filled(a, K if TRANS_A else M, M if TRANS_A else K)
    y = filled(b, N if TRANS_B else K, K if TRANS_B else N)
    acc = tle.gpu.wgmma(x, y, None, PRECISION, LIMIT, OUT, TRANS_A, TRANS_B)
    acc = tle.gpu.wgmma_wait(acc)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], acc)


@tle2cuda.jit
def two_products(q, k, v, out, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """(q @ k^T) @ v, the first product's result being the left operand; and q @ k^T again, in flight beside it."""
    rows, cols, d = tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    x, y, z = filled(q, M, D), filled(k, N, D), filled(v, N, D)
    score = tle.gpu.wgmma(x, y, trans_b=True)
    score = tle.gpu.wgmma_wait(0, score)
    weight = score.to(q.dtype.element_ty)
    result = tle.gpu.wgmma(weight, z)
    again = tle.gpu.wgmma(x, y, trans_b=True)
    result = tle.gpu.wgmma_wait(1, result)
    tl.store(out + rows[:, None] * D + d[None, :], result)
    again = tle.gpu.wgmma_wait(0, again)
    tl.store(out + M * D + rows[:, None] * N + cols[None, :], again)


@tle2cuda.jit
def two_tiles(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Two products in flight whose left operands lie in registers, of one instruction's K each."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    right = filled(b, K, N)
    acc = tle.gpu.wgmma(tl.load(a + rows[:, None] * K + k[None, :]), right)
    acc = tle.gpu.wgmma(tl.load(c + rows[:, None] * K + k[None, :]), right, acc)
    tl.store(out + rows[:, None] * N + cols[None, :], tle.gpu.wgmma_wait(0, acc))


@tle2cuda.jit
def ring(a, b, out, STEPS: tl.constexpr, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    """A ring that the same warps fill: a stage is filled again when the product that read it is complete."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    a_ring = tle.gpu.alloc([STAGES, M, BLOCK_K], dtype=a.dtype.element_ty)
    b_ring = tle.gpu.alloc([STAGES, BLOCK_K, N], dtype=b.dtype.element_ty)
    acc = tl.zeros((M, N), tl.float32)
    for step in range(STEPS):
        x = tl.load(a + rows[:, None] * (STEPS * BLOCK_K) + (step * BLOCK_K + k)[None, :])
        y = tl.load(b + (step * BLOCK_K + k)[:, None] * N + cols[None, :])
        acc = tle.gpu.wgmma_wait(STAGES - 2, acc)
        tl.store(tle.gpu.local_ptr(a_ring.slot(step % STAGES)), x)
        tl.store(tle.gpu.local_ptr(b_ring.slot(step % STAGES)), y)
        acc = tle.gpu.wgmma(a_ring.slot(step % STAGES), b_ring.slot(step % STAGES), acc)
    acc = tle.gpu.wgmma_wait(0, acc)
    tl.store(out + rows[:, None] * N + cols[None, :], acc)


@tle2cuda.jit
def parts(
    a,
    b,
    out,
    M: tl.constexpr,
    N: tl.constexpr,
    K: tl.constexpr,
    ROWS: tl.constexpr,
    DEPTH: tl.constexpr,
    TURNED: tl.constexpr,
):
    """Rows and columns of stages as operands: blocks of rows of the result, one after the other, in steps along K."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tle.gpu.alloc([2, M, K], dtype=a.dtype.element_ty).slot(1)
    y = tle.gpu.alloc([N, K] if TURNED else [K, N], dtype=a.dtype.element_ty)
    tl.store(tle.gpu.local_ptr(x), tl.load(a + i[:, None] * K + k[None, :]))
    if TURNED:
        tl.store(tle.gpu.local_ptr(y), tl.load(b + j[:, None] * K + k[None, :]))
    else:
        tl.store(tle.gpu.local_ptr(y), tl.load(b + k[:, None] * N + j[None, :]))
    for row in tl.static_range(0, M, ROWS):
        acc = tl.zeros((ROWS, N), tl.float32)
        for start in tl.static_range(0, K, DEPTH):
            left = x.subslice(start, DEPTH, 1) if ROWS == M else x.subslice(row, ROWS, 0)
            right = y.subslice(start, DEPTH, 1 if TURNED else 0)
            acc = tle.gpu.wgmma(left, right, acc, trans_b=TURNED)
        acc = tle.gpu.wgmma_wait(0, acc)
        tl.store(out + (row + tl.arange(0, ROWS))[:, None] * N + j[None, :], acc)


def _register_products() -> None:
    f32 = np.dtype(np.float32)
    for name, first, second, size, turns, warps, precision in (
        ("f16", _HALF, _HALF, (64, 64, 64), (False, False), 4, "tf32"),
        ("f16", _HALF, _HALF, (128, 32, 32), (True, True), 8, "tf32"),
        ("bf16", BF16, BF16, (64, 256, 16), (False, True), 4, "tf32"),
        ("bf16", BF16, BF16, (128, 128, 128), (True, False), 8, "tf32"),
        ("i8", np.dtype(np.int8), np.dtype(np.int8), (64, 32, 64), (False, True), 4, "tf32"),
        ("f8", F8E4NV, F8E5, (64, 16, 128), (False, True), 4, "tf32"),
        ("f32", f32, f32, (64, 32, 32), (False, True), 4, "tf32"),
        ("f32_ieee", f32, f32, (64, 16, 16), (False, False), 4, "ieee"),
    ):
        m, n, k = size
        result = dot._result(first)

        def make(rng: np.random.Generator, first=first, second=second, size=size, turns=turns, result=result) -> Inputs:
            m, n, k = size
            a = dot._operand(rng, (k, m) if turns[0] else (m, k), first)
            return {"a": a, "b": dot._operand(rng, (n, k) if turns[1] else (k, n), second), "out": poison((m, n), result)}

        def expect(inputs: Inputs, turns=turns, result=result) -> Mapping[str, Array]:
            a, b = (inputs[x].T if turned else inputs[x] for x, turned in zip("ab", turns, strict=True))
            return {"out": (dot._wide(a) @ dot._wide(b)).astype(result)}

        dot._case(
            f"wgmma_{name}_{m}x{n}x{k}_{'nt'[turns[0]]}{'nt'[turns[1]]}",
            product,
            make,
            expect,
            {
                "M": m,
                "N": n,
                "K": k,
                "TRANS_A": turns[0],
                "TRANS_B": turns[1],
                "OUT": tl.float32,
                "PRECISION": precision,
                "LIMIT": 32 if name == "f8" else None,
            },
            warps,
            dot._tolerance_of(first, result, k, precision == "tf32" and first == f32),
        )


def _register_chains() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        q, k, v = (dot._operand(rng, shape, _HALF) for shape in ((64, 32), (32, 32), (32, 32)))
        return {"q": q, "k": k, "v": v, "out": poison((64 * 32 + 64 * 32,), np.float32)}

    def expect(inputs: Inputs) -> Mapping[str, Array]:
        q, k, v = (dot._wide(inputs[name]) for name in "qkv")
        score = q @ k.T
        result = score.astype(np.float16).astype(np.float64) @ v
        return {"out": np.concatenate([result.reshape(-1), score.reshape(-1)]).astype(np.float32)}

    tolerance = Tolerance(4, 64, eps=2.0**-11)
    dot._case("wgmma_two_products", two_products, make, expect, {"M": 64, "N": 32, "D": 32}, 4, tolerance)


def _register_tiles() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b, c = (dot._operand(rng, shape, _HALF) for shape in ((64, 16), (16, 32), (64, 16)))
        return {"a": a, "b": b, "c": c, "out": poison((64, 32), np.float32)}

    def expect(inputs: Inputs) -> Mapping[str, Array]:
        a, b, c = (dot._wide(inputs[name]) for name in "abc")
        return {"out": (a @ b + c @ b).astype(np.float32)}

    tolerance = dot._tolerance(np.dtype(np.float32), 32)
    dot._case("wgmma_two_tiles", two_tiles, make, expect, {"M": 64, "N": 32, "K": 16}, 4, tolerance)


def _register_rings() -> None:
    for steps, stages, warps in ((1, 2, 4), (5, 2, 4), (7, 3, 8)):

        def inputs(rng: np.random.Generator, steps=steps, warps=warps) -> Inputs:
            m = 16 * warps
            a, b = dot._operand(rng, (m, steps * 32), _HALF), dot._operand(rng, (steps * 32, 64), _HALF)
            return {"a": a, "b": b, "out": poison((m, 64), np.float32)}

        def result(given: Inputs) -> Mapping[str, Array]:
            return {"out": (dot._wide(given["a"]) @ dot._wide(given["b"])).astype(np.float32)}

        constants: dict[str, Any] = {"STEPS": steps, "STAGES": stages, "M": 16 * warps, "N": 64, "BLOCK_K": 32}
        tolerance = dot._tolerance(np.dtype(np.float32), steps * 32)
        dot._case(f"wgmma_ring_{steps}_{stages}", ring, inputs, result, constants, warps, tolerance)


@tle2cuda.jit
def views(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr, TURNED: tl.constexpr):
    """Reshaped views as operands: stages that a flat buffer is cut into, and matrices of the rows of several stages."""
    i, j, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tle.gpu.alloc([STEPS, M // 2, 2 * K], dtype=a.dtype.element_ty).reshape([STEPS, M, K])
    y = tle.gpu.alloc([STEPS, 2, N // 2, K] if TURNED else [STEPS, 2, K // 2, N], dtype=b.dtype.element_ty)
    for step in range(STEPS):
        tl.store(tle.gpu.local_ptr(x.slot(step)), tl.load(a + (step * M + i[:, None]) * K + k[None, :]))
        for half in range(2):
            if TURNED:
                rows = half * (N // 2) + tl.arange(0, N // 2)
                part = tl.load(b + (step * N + rows[:, None]) * K + k[None, :])
            else:
                rows = half * (K // 2) + tl.arange(0, K // 2)
                part = tl.load(b + (step * K + rows[:, None]) * N + j[None, :])
            tl.store(tle.gpu.local_ptr(y.slot(step).slot(half)), part)
    acc = tl.zeros((M, N), tl.float32)
    for step in range(STEPS):
        right = y.slot(step).reshape([N, K] if TURNED else [K, N])
        acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(x.slot(step), right, acc, trans_b=TURNED))
    tl.store(out + i[:, None] * N + j[None, :], acc)


def _register_views() -> None:
    for m, n, k, steps, turned, warps in ((64, 64, 64, 2, False, 4), (128, 128, 64, 2, True, 4), (64, 128, 32, 3, True, 8)):

        def make(
            rng: np.random.Generator, m: int = m, n: int = n, k: int = k, steps: int = steps, turned: bool = turned
        ) -> Inputs:
            b = rng.standard_normal((steps, n, k) if turned else (steps, k, n)).astype(np.float16)
            a = rng.standard_normal((steps, m, k)).astype(np.float16)
            return {"a": a, "b": b, "out": poison((m, n), np.float32)}

        def expect(inputs: Inputs, turned: bool = turned) -> dict[str, Array]:
            a, b = dot._wide(inputs["a"]), dot._wide(inputs["b"])
            return {"out": (a @ (b.transpose(0, 2, 1) if turned else b)).sum(0).astype(np.float32)}

        constants = {"M": m, "N": n, "K": k, "STEPS": steps, "TURNED": turned}
        tolerance = dot._tolerance(np.dtype(np.float32), k * steps)
        dot._case(f"wgmma_views_{m}x{n}x{k}_{steps}", views, make, expect, constants, warps, tolerance)


def _register_parts() -> None:
    for m, n, k, rows, depth, turned, warps in (
        (64, 32, 256, 64, 128, False, 4),  # columns by panels of the left operand, rows of the right one
        (128, 64, 256, 128, 64, True, 8),  # columns of both
        (128, 32, 64, 64, 64, False, 4),  # rows of the left one
    ):

        def make(rng: np.random.Generator, m=m, n=n, k=k, turned=turned) -> Inputs:
            b = dot._operand(rng, (n, k) if turned else (k, n), _HALF)
            return {"a": dot._operand(rng, (m, k), _HALF), "b": b, "out": poison((m, n), np.float32)}

        def expect(inputs: Inputs, turned=turned) -> Mapping[str, Array]:
            b = dot._wide(inputs["b"].T if turned else inputs["b"])
            return {"out": (dot._wide(inputs["a"]) @ b).astype(np.float32)}

        constants = {"M": m, "N": n, "K": k, "ROWS": rows, "DEPTH": depth, "TURNED": turned}
        name = f"wgmma_parts_{m}x{n}x{k}_{rows}_{depth}"
        dot._case(name, parts, make, expect, constants, warps, dot._tolerance(np.dtype(np.float32), k))


_register_products()
_register_chains()
_register_tiles()
_register_rings()
_register_parts()
_register_views()
