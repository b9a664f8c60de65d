"""Block pointers: odd sizes, every mix of checked dimensions, paddings, loops, branches, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def copy_block(
    x, out, M, N, stride, row, col,
    CHECK: tl.constexpr, PADDING: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    """A tile at any place, perhaps outside, into a dense one."""
    source = tl.make_block_ptr(x, (M, N), (stride, 1), (row, col), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (BM, BN), (BN, 1), (0, 0), (BM, BN), (1, 0))
    value = tl.load(source, boundary_check=CHECK, padding_option=PADDING)
    tl.store(target, value.to(target.dtype.element_ty))


@tle2cuda.jit
def copy_grid(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """A matrix of odd sizes, turned on its way; stores drop what is outside."""
    rows, cols = tl.program_id(0) * BM, tl.program_id(1) * BN
    source = tl.make_block_ptr(x, (M, N), (N, 1), (rows, cols), (BM, BN), (1, 0))
    target = tl.make_block_ptr(out, (N, M), (M, 1), (cols, rows), (BN, BM), (1, 0))
    tl.store(target, tl.trans(tl.load(source, boundary_check=(0, 1))), boundary_check=(0, 1))


@tle2cuda.jit
def _first_of(pointer, steps: tl.constexpr):
    for _ in tl.static_range(steps):
        pointer = tl.advance(pointer, (0, 2))
    return pointer, tl.load(pointer, boundary_check=(1,))


@tle2cuda.jit
def walk_blocks(x, out, N, backwards, BM: tl.constexpr, BN: tl.constexpr):
    """Through a loop, a branch and a function."""
    pointer = tl.make_block_ptr(x, (BM, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    if backwards > 0:
        pointer = tl.advance(pointer, (0, (N - 1) // BN * BN))
    total = tl.zeros([BM, BN], tl.float32)
    for _ in range(tl.cdiv(N, BN)):
        total = total * 0.5 + tl.load(pointer, boundary_check=(1,), padding_option="zero")
        if backwards > 0:
            pointer = tl.advance(pointer, (0, -BN))
        else:
            pointer = pointer.advance((0, BN))
    pointer = tl.make_block_ptr(x, (BM, N), (N, 1), (0, 0), (BM, BN), (1, 0))
    pointer, first = _first_of(pointer, 2)
    total += first - tl.load(tl.advance(pointer, (0, -4)), boundary_check=(0, 1))
    i, j = tl.arange(0, BM), tl.arange(0, BN)
    tl.store(out + i[:, None] * BN + j[None, :], total)


@tle2cuda.jit
def block_matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The matrix product with block pointers, its second operand stored by columns."""
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    a_ptr = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BM, BK), (1, 0))
    b_ptr = tl.make_block_ptr(b, (K, N), (1, K), (0, col), (BK, BN), (0, 1))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        left = tl.load(a_ptr, boundary_check=(0, 1), padding_option="zero")
        right = tl.load(b_ptr, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(left, right, acc)
        a_ptr = tl.advance(a_ptr, (0, BK))
        b_ptr = tl.advance(b_ptr, (BK, 0))
    c_ptr = tl.make_block_ptr(c, (M, N), (N, 1), (row, col), (BM, BN), (1, 0))
    tl.store(c_ptr, acc.to(tl.float16), boundary_check=(0, 1))


@tle2cuda.jit
def block_row(x, out, n, step, BLOCK: tl.constexpr):
    """Rank 1, any stride, flags as bytes."""
    source = tl.make_block_ptr(x, (n,), (step,), (0,), (BLOCK,), (0,))
    target = tl.make_block_ptr(out, (n,), (1,), (0,), (BLOCK,), (0,))
    tl.store(target, tl.load(source, boundary_check=(0,)), boundary_check=(0,))


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    reference: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    grid: tuple[int, ...] = (1,),
    tolerance: Tolerance = EXACT,
) -> None:
    add_case(OpCase(name, "block_pointers", kernel, grid, make, reference, constants, 4, tolerance))


def _window(inputs: Inputs, fill: float, check: tuple[int, ...], bm: int, bn: int) -> Array:
    """What a tile reads: `fill` outside of the tensor along the checked dimensions, memory as it lies along others."""
    x, stride = inputs["x"], inputs["stride"]
    start, rows, cols = inputs["row"] * stride + inputs["col"], np.arange(bm), np.arange(bn)
    inside = np.ones((bm, bn), bool)
    if 0 in check:
        inside &= ((rows + inputs["row"] >= 0) & (rows + inputs["row"] < inputs["M"]))[:, None]
    if 1 in check:
        inside &= ((cols + inputs["col"] >= 0) & (cols + inputs["col"] < inputs["N"]))[None, :]
    at = np.where(inside, start + rows[:, None] * stride + cols[None, :], 0)
    return np.where(inside, x.reshape(-1)[at], np.array(fill, x.dtype))


def _register() -> None:
    for label, m, n, row, col, check, padding, dtype in (
        ("inside", 40, 48, 3, 8, (), "", np.float32),
        ("both", 40, 48, 30, 32, (0, 1), "zero", np.float16),
        ("nan", 40, 44, 30, 32, (1, 0), "nan", np.float32),
        ("rows", 20, 64, 12, 16, (0,), "", np.int32),
        ("before", 40, 48, -5, -8, (0, 1), "", np.float32),
        ("odd", 37, 43, 30, 35, (0, 1), "zero", np.int8),
    ):
        fill = float("nan") if padding == "nan" else 0
        _case(
            f"block_copy_{label}",
            copy_block,
            lambda rng, m=m, n=n, row=row, col=col, dtype=dtype: {
                "x": numbers(rng, (m, n), dtype),
                "out": poison((16, 32), dtype),
                "M": m,
                "N": n,
                "stride": n,
                "row": row,
                "col": col,
            },
            lambda inputs, fill=fill, check=check: {"out": _window(inputs, fill, check, 16, 32)},
            {"CHECK": check, "PADDING": padding, "BM": 16, "BN": 32},
        )
    for m, n, dtype in ((70, 50, np.float16), (64, 96, np.float32), (5, 3, np.int64)):
        _case(
            f"block_turn_{m}x{n}",
            copy_grid,
            lambda rng, m=m, n=n, dtype=dtype: {
                "x": numbers(rng, (m, n), dtype),
                "out": poison((n, m), dtype),
                "M": m,
                "N": n,
            },
            lambda inputs: {"out": inputs["x"].T.copy()},
            {"BM": 32, "BN": 16},
            (-(-m // 32), -(-n // 16)),
        )
    for n, backwards in ((100, 0), (100, 1), (64, 1)):
        _case(
            f"block_walk_{n}_{backwards}",
            walk_blocks,
            lambda rng, n=n, backwards=backwards: {
                "x": rng.integers(-50, 50, (16, n)).astype(np.float32),
                "out": poison((16, 32), np.float32),
                "N": n,
                "backwards": backwards,
            },
            _walk_reference,
            {"BM": 16, "BN": 32},
        )
    for m, n, k in ((50, 70, 40), (64, 64, 64)):
        _case(
            f"block_matmul_{m}x{n}x{k}",
            block_matmul,
            lambda rng, m=m, n=n, k=k: {
                "a": rng.standard_normal((m, k)).astype(np.float16),
                "b": rng.standard_normal((n, k)).astype(np.float16),
                "c": poison((m, n), np.float16),
                "M": m,
                "N": n,
                "K": k,
            },
            lambda inputs: {"c": (inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64).T).astype(np.float16)},
            {"BM": 32, "BN": 32, "BK": 32},
            (-(-m // 32), -(-n // 32)),
            Tolerance(1, 1),
        )
    for n, step, dtype in ((100, 3, np.float32), (128, 1, np.bool_)):
        _case(
            f"block_row_{n}_{step}",
            block_row,
            lambda rng, n=n, step=step, dtype=dtype: {
                "x": numbers(rng, n * step, dtype),
                "out": poison(n, dtype),
                "n": n,
                "step": step,
            },
            lambda inputs: {"out": inputs["x"][:: inputs["step"]].copy()},
            {"BLOCK": 128},
        )


def _walk_reference(inputs: Inputs) -> Mapping[str, Array]:
    x, n = inputs["x"], inputs["N"]
    padded = np.zeros((16, -(-n // 32) * 32 + 32), np.float32)
    padded[:, :n] = x
    starts = list(range(0, n, 32))
    total = np.zeros((16, 32), np.float32)
    for start in reversed(starts) if inputs["backwards"] else starts:
        total = total * np.float32(0.5) + padded[:, start : start + 32]
    return {"out": total + (padded[:, 4:36] - padded[:, 0:32])}


_register()
