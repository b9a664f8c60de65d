"""Reductions of reductions: which become one, and that the values stay."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.ir.nodes import Op, walk
from tle2cuda.passes import canonicalise
from tle2cuda.runtime.device import DEVICE_VARIABLE


@tle2cuda.jit
def reduced_twice(x, out, FIRST: tl.constexpr, SECOND: tl.constexpr, THIRD: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, 4)
    at = (i[:, None, None] * 8 + tl.arange(0, 8)[None, :, None]) * 16 + tl.arange(0, 16)[None, None, :]
    value = tl.max(tl.max(tl.load(x + at), FIRST), SECOND)
    if THIRD:
        tl.store(out, tl.max(value, 0))
    else:
        tl.store(out + tl.arange(0, N), value)


def _reductions(kernel: tle2cuda.JitFunction, signature: dict[str, str], **constants: object) -> list[Op]:
    from tle2cuda.compiler import kernel_parameters, trace_specialized
    from tle2cuda.runtime.signature import parse_signature

    specialization = parse_signature(kernel_parameters(kernel), signature, constants, kernel.__name__)
    body = canonicalise.run(trace_specialized(kernel, specialization)).body
    return [op for op in walk(body) if op.name == "reduce"]


@pytest.mark.parametrize(
    ("first", "second", "third", "left"),
    [
        (2, 1, False, 1),
        (1, 1, False, 1),
        (1, 0, False, 1),
        (0, 0, False, 1),
        (2, 0, False, 2),
        (0, 1, False, 2),
        (2, 1, True, 1),
    ],
)
def test_neighbouring_axes_are_reduced_at_once(
    first: int, second: int, third: bool, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEVICE_VARIABLE, "interpreter")
    x = np.random.default_rng(3).integers(-99, 99, (4, 8, 16), np.int32)
    expected = x.max(first).max(second)
    constants = {"FIRST": first, "SECOND": second, "THIRD": third, "N": math.prod(expected.shape)}
    assert len(_reductions(reduced_twice, {"x": "*i32", "out": "*i32"}, **constants)) == left
    out = np.zeros(1 if third else expected.shape, np.int32)
    reduced_twice[(1,)](x, out, **constants)
    assert np.array_equal(out, expected.max(keepdims=True) if third else expected)


@tle2cuda.jit
def reduced_apart(x, out, rows_out, KIND: tl.constexpr):
    value = tl.load(x + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :])
    rows = tl.sum(value, 1)
    if KIND == "other":
        tl.store(out, tl.max(rows, 0))
    else:
        tl.store(out, tl.sum(rows, 0))
    if KIND == "used":
        tl.store(rows_out + tl.arange(0, 8), rows)


@pytest.mark.parametrize(
    ("kind", "dtype", "left"), [("same", "fp32", 1), ("other", "fp32", 2), ("used", "fp32", 2), ("same", "fp16", 2)]
)
def test_what_is_used_between_or_rounded_between_is_reduced_twice(kind: str, dtype: str, left: int) -> None:
    pointer = f"*{dtype}"
    found = _reductions(reduced_apart, {"x": pointer, "out": pointer, "rows_out": pointer}, KIND=kind)
    assert len(found) == left
