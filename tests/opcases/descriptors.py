"""Tensor descriptors made in kernels: tiles at the edges and outside, paddings, ranks, rows, atomics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def copy_tiles(x, out, M, N, stride, row, col, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    """A tile at any place into a dense one, by methods and by functions."""
    source = tl.make_tensor_descriptor(x, [M, N], [stride, 1], [BM, BN], padding_option=PADDING)
    target = tl.make_tensor_descriptor(out, [BM, 2 * BN], [2 * BN, 1], [BM, BN])
    target.store([0, 0], source.load([row, col]))
    tl.store_tensor_descriptor(target, [0, BN], tl.load_tensor_descriptor(source, [row + 1, col]))


@tle2cuda.jit
def _sum_of(desc, row, N, BN: tl.constexpr):
    total = tl.zeros(desc.block_shape, tl.float32)
    for col in range(0, N, BN):
        total += desc.load([row, col])
    return total


@tle2cuda.jit
def sums_of_rows(x, y, out, M, N, which, BM: tl.constexpr, BN: tl.constexpr):
    """A descriptor that a branch chooses, through a function and a loop; its extents read."""
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    if which > 0:
        desc = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    for row in range(tl.cdiv(desc.shape[0], BM)):
        total = tl.sum(_sum_of(desc, row * BM, desc.shape[1], BN), 1)
        rows = row * BM + tl.arange(0, BM)
        tl.store(out + rows, total * desc.strides[0].to(tl.float32), mask=rows < M)


@tle2cuda.jit
def fill_box(out, A, B, C, first, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    """Rank 3, a store that begins before the tensor."""
    desc = tl.make_tensor_descriptor(out, [A, B, C], [B * C, C, 1], [BA, BB, BC])
    i = tl.arange(0, BA)[:, None, None] * (BB * BC) + tl.arange(0, BB)[None, :, None] * BC + tl.arange(0, BC)[None, None, :]
    desc.store([first, -1, tl.program_id(0) * BC], i)


@tle2cuda.jit
def add_tiles(x, out, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    for row in range(0, M, BM):
        value = source.load([row, 0])
        if KIND == "add":
            target.atomic_add([row, 0], value)
        elif KIND == "max":
            target.atomic_max([row, 0], value)
        else:
            target.atomic_xor([row, 0], value)


@tle2cuda.jit
def move_rows(x, at, out, M, N, col, ROWS: tl.constexpr, BN: tl.constexpr):
    """Rows in any order, some of them outside."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    target = tl.make_tensor_descriptor(out, [M, N], [N, 1], [1, BN])
    i = tl.arange(0, ROWS)
    value = source.gather(tl.load(at + i), col)
    target.scatter(value, i, 0)


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
    add_case(OpCase(name, "descriptors", kernel, grid, make, reference, constants, 4, tolerance))


def _tile(x: Array, row: int, col: int, size: tuple[int, int], extents: tuple[int, int], fill: float) -> Array:
    """The tile of `x` that begins at an index, `fill` where nothing is."""
    result = np.full(size, fill, x.dtype)
    for i in range(size[0]):
        for j in range(size[1]):
            if 0 <= row + i < extents[0] and 0 <= col + j < extents[1]:
                result[i, j] = x[row + i, col + j]
    return result


def _register_copies() -> None:
    for label, m, n, row, col, padding, dtype in (
        ("inside", 40, 64, 3, 8, "zero", np.float16),
        ("edge", 40, 48, 30, 32, "zero", np.float32),
        ("nan", 37, 48, 30, 40, "nan", np.float32),
        ("before", 40, 48, -5, -7, "zero", np.int32),
        ("outside", 40, 48, 100, 0, "zero", np.int8),
    ):

        def make(rng: np.random.Generator, m=m, n=n, row=row, col=col, dtype=dtype) -> Inputs:
            return {
                "x": numbers(rng, (m, n + 16), dtype),
                "out": poison((16, 64), dtype),
                "M": m,
                "N": n,
                "stride": n + 16,
                "row": row,
                "col": col,
            }

        def expect(inputs: Inputs, padding=padding) -> Mapping[str, Array]:
            fill = float("nan") if padding == "nan" else 0
            extents = (inputs["M"], inputs["N"])
            tiles = [_tile(inputs["x"], inputs["row"] + i, inputs["col"], (16, 32), extents, fill) for i in (0, 1)]
            return {"out": np.hstack(tiles)}

        _case(f"descriptor_copy_{label}", copy_tiles, make, expect, {"BM": 16, "BN": 32, "PADDING": padding})


def _register_others() -> None:
    for which in (0, 1):
        _case(
            f"descriptor_sums_{which}",
            sums_of_rows,
            lambda rng, which=which: {
                "x": rng.integers(-9, 9, (37, 80)).astype(np.float32),
                "y": rng.integers(-9, 9, (37, 80)).astype(np.float32),
                "out": poison(37, np.float32),
                "M": 37,
                "N": 80,
                "which": which,
            },
            lambda inputs: {"out": inputs["y" if inputs["which"] else "x"].sum(1) * np.float32(80)},
            {"BM": 16, "BN": 32},
        )

    def box(inputs: Inputs) -> Mapping[str, Array]:
        out = inputs["out"].copy()
        for c in range(2):
            for i, j, k in np.ndindex(2, 4, 16):
                a, b = i + inputs["first"], j - 1
                if 0 <= a < 5 and 0 <= b < 3 and c * 16 + k < 24:
                    out[a, b, c * 16 + k] = (i * 4 + j) * 16 + k
        return {"out": out}

    _case(
        "descriptor_box",
        fill_box,
        lambda rng: {"out": poison((5, 3, 24), np.int32), "A": 5, "B": 3, "C": 24, "first": 4},
        box,
        {"BA": 2, "BB": 4, "BC": 16},
        (2,),
    )
    kinds = (("add", np.float32, np.add), ("max", np.int32, np.maximum), ("xor", np.uint32, np.bitwise_xor))
    for kind, dtype, function in kinds:
        _case(
            f"descriptor_atomic_{kind}",
            add_tiles,
            lambda rng, dtype=dtype: {
                "x": rng.integers(0, 100, (37, 24)).astype(dtype),
                "out": rng.integers(0, 100, (37, 24)).astype(dtype),
                "M": 37,
                "N": 24,
            },
            lambda inputs, function=function: {"out": function(inputs["x"], inputs["out"])},
            {"BM": 16, "BN": 32, "KIND": kind},
        )

    def moved(inputs: Inputs) -> Mapping[str, Array]:
        out = inputs["out"].copy()
        for i, row in enumerate(inputs["at"][: inputs["M"]]):
            out[i] = _tile(inputs["x"], int(row), inputs["col"], (1, 32), (12, 24), 0)[:, :24]
        return {"out": out}

    _case(
        "descriptor_rows",
        move_rows,
        lambda rng: {
            "x": numbers(rng, (12, 24), np.float32),
            "at": rng.integers(-2, 14, 16).astype(np.int32),
            "out": poison((12, 24), np.float32),
            "M": 12,
            "N": 24,
            "col": 4,
        },
        moved,
        {"ROWS": 16, "BN": 32},
    )


_register_copies()
_register_others()
