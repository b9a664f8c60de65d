"""Kernels compiled for debugging: integer arithmetic is asserted to fit, and does."""

from __future__ import annotations

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, poison


@tle2cuda.jit(debug=True)
def checked_arithmetic(x, y, out, totals, n, BLOCK: tl.constexpr):
    """Sums, differences and products of tiles and scalars."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a, b = tl.load(x + i, mask=mask, other=0), tl.load(y + i, mask=mask, other=0)
    tl.device_assert(a <= b, "x is above y", mask=mask)
    wrapped = tl.add(a, tl.mul(b, 100, sanitize_overflow=False), sanitize_overflow=False)
    tl.store(out + i, tl.add((a * 2 - b) + (b - a) * 3, wrapped, sanitize_overflow=False), mask=mask)
    total = tl.sum(b - a, axis=0)
    tl.store(totals + 2 * pid, total)
    tl.store(totals + 2 * pid + 1, tl.max(tl.cumsum(b - a, 0), axis=0) * 2 - total)


def _add(dtype: str, count: int, block: int) -> None:
    kind = np.dtype(dtype)

    def make(rng: np.random.Generator) -> Inputs:
        low = rng.integers(0, 10, count).astype(kind)
        high = (low + rng.integers(0, 10, count)).astype(kind)
        total = np.uint32 if kind.kind == "u" else np.int32
        totals = poison(2 * -(-count // block), total if kind.itemsize < 4 else kind)
        # Unsigned differences fit only where they are not negative: x * 2 is at least y.
        x = np.maximum(low, (high + 1) // 2).astype(kind)
        return {"x": x, "y": high, "out": poison(count, kind), "totals": totals, "n": count}

    def expect(inputs: Inputs) -> dict[str, Array]:
        a, b = inputs["x"].astype(np.int64), inputs["y"].astype(np.int64)
        bounds = range(0, count, block)
        sums = [int((b - a)[start : start + block].sum()) for start in bounds]
        totals = np.repeat(sums, 2).astype(inputs["totals"].dtype)
        return {"out": ((a * 2 - b) + (b - a) * 3 + a + b * 100).astype(kind), "totals": totals}

    grid = (-(-count // block),)
    add_case(
        OpCase(
            f"checked_{dtype}_{count}",
            "debug_builds",
            checked_arithmetic,
            grid,
            make,
            expect,
            {"BLOCK": block},
            uses_stack=True,
        )
    )


for _dtype, _count, _block in (("int32", 1000, 256), ("uint32", 300, 128), ("int16", 300, 512), ("int8", 100, 64)):
    _add(_dtype, _count, _block)
