"""What a case is: a small kernel, its inputs, and what it must write."""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tle2cuda.compiler import EmittedKernel, emit_specialized
from tle2cuda.jit_function import JitFunction
from tle2cuda.runtime.args import specialize
from tle2cuda.runtime.device import DEVICE_VARIABLE

Array = NDArray[Any]
Inputs = dict[str, Any]

BF16 = np.dtype(ml_dtypes.bfloat16)
F8E4NV = np.dtype(ml_dtypes.float8_e4m3fn)
F8E5 = np.dtype(ml_dtypes.float8_e5m2)

TARGET = "sm_90a"
POISON_BYTE = 0xA5


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a float may lie from the expected one: |got - want| <= ulps * eps(dtype) * (|want| + scale).

    Attributes:
        ulps: Units in the last place; 0 demands equal bits (any NaN equals any NaN).
        scale: Magnitude of what cancelled out, such as the sum of the absolute values of a sum's terms.
        eps: Rounding unit where it is not that of the output's dtype, as for sums in a narrower type.
    """

    ulps: float = 0.0
    scale: float = 0.0
    eps: float | None = None


EXACT = Tolerance()


@dataclass(frozen=True, slots=True)
class OpCase:
    """One small kernel under test.

    Attributes:
        name: Unique name.
        family: Operation family, as the files of tle2cuda/ops are named.
        kernel: The kernel.
        grid: Grid of the launch; clusters count as one.
        make_inputs: Values of the run-time arguments by name; arrays that are written hold poison.
        reference: Arrays that are written, by name, from unchanged inputs; computed with NumPy alone.
        constants: Values of constexpr parameters.
        num_warps: Warps of one CTA.
        tolerance: How close floats must be, on the GPU and in the interpreter.
        needs: What the GPU must offer: nothing, "cluster" or "cooperative".
        any_order: Arrays whose elements may come in any order, because several CTAs or threads race for places.
        uses_stack: CUDA's own functions in it need local memory, such as printf and the slow path of sinf.
    """

    name: str
    family: str
    kernel: JitFunction
    grid: tuple[int, ...]
    make_inputs: Callable[[np.random.Generator], Inputs]
    reference: Callable[[Inputs], Mapping[str, Array]]
    constants: Mapping[str, Any] = field(default_factory=dict)
    num_warps: int = 4
    tolerance: Tolerance = EXACT
    needs: str = ""
    any_order: tuple[str, ...] = ()
    uses_stack: bool = False

    def inputs(self) -> Inputs:
        """The inputs, the same ones every time."""
        return self.make_inputs(np.random.default_rng(zlib.crc32(self.name.encode())))

    def interpret(self) -> Inputs:
        """Arguments after a run in the interpreter."""
        arguments = self.inputs()
        with mock.patch.dict(os.environ, {DEVICE_VARIABLE: "interpreter"}):
            self.kernel[self.grid](**arguments, **self.constants, num_warps=self.num_warps)
        return arguments

    def emit(self, arch: str = TARGET, headers: str = "minimal") -> EmittedKernel:
        """The emitted file, for arguments of the types that `inputs` has."""
        given = {**self.inputs(), **self.constants}
        values = [given.get(p.name, p.default) for p in self.kernel.parameters]
        bound = specialize(self.kernel.parameters, values, self.kernel.fn.__name__)
        return emit_specialized(self.kernel, bound.specialization, num_warps=self.num_warps, arch=arch, headers=headers)

    def differences(self, got: Mapping[str, Any], want: Mapping[str, Any]) -> list[str]:
        """What differs, one text an array."""
        found = []
        for name, expected in want.items():
            if isinstance(expected, np.ndarray):
                text = difference(got[name], expected, self.tolerance, name in self.any_order)
                if text:
                    found.append(f"{name}{list(expected.shape)} {expected.dtype}: {text}")
        return found


_CASES: dict[str, OpCase] = {}


def add_case(case: OpCase) -> None:
    """Adds a case to the library."""
    if case.name in _CASES:
        raise ValueError(f"two cases are named {case.name!r}")
    _CASES[case.name] = case


def registered_cases() -> dict[str, OpCase]:
    """The cases that were added so far, by name."""
    return dict(sorted(_CASES.items()))


# ---- arrays ---------------------------------------------------------------------------------------------------------


def poison(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """An array to be written, full of a value that no case computes."""
    dtype = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype == np.bool_:
        return np.ones(shape, dtype)
    raw = np.full((*shape[:-1], shape[-1] * dtype.itemsize), POISON_BYTE, np.uint8)
    return raw.view(dtype)


def numbers(rng: np.random.Generator, shape: int | tuple[int, ...], dtype: Any, special: bool = False) -> Array:
    """Random values over the useful range of a dtype; `special` mixes in infinities, NaN, zeros or extremes."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        extremes = [info.min, info.max, 0, 1, info.min + 1, info.max - 1]
        if dtype.kind == "i":
            extremes.append(-1)
    else:
        values = (rng.standard_normal(shape) * 4).astype(dtype)
        extremes = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, np.inf, -np.inf, np.nan]
        if dtype == F8E4NV:
            extremes = [x for x in extremes if not np.isinf(x)]
    if special and values.size:
        flat = values.reshape(-1)
        places = rng.permutation(flat.size)[: max(1, flat.size // 4)]
        flat[places] = np.array(extremes, np.float64 if dtype.kind not in "iu" else object)[
            rng.integers(0, len(extremes), len(places))
        ].astype(dtype)
    return values


# ---- comparison -----------------------------------------------------------------------------------------------------


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is a float, those of ml_dtypes included."""
    return dtype.kind == "f" or dtype in (BF16, F8E4NV, F8E5)


@functools.cache
def epsilon(dtype: np.dtype[Any]) -> float:
    """Distance from 1 to the next larger value."""
    return float(ml_dtypes.finfo(dtype).eps) if dtype in (BF16, F8E4NV, F8E5) else float(np.finfo(dtype).eps)


def difference(got: Array, want: Array, tolerance: Tolerance = EXACT, any_order: bool = False) -> str:
    """What differs between two arrays, with the first elements; empty when they agree."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if any_order:
        got, want = np.sort(got, axis=None), np.sort(want, axis=None)
    if is_float(want.dtype):
        wrong = _float_mismatch(got, want, tolerance)
    else:
        wrong = got != want
    places = np.argwhere(wrong)
    if not len(places):
        return ""
    shown = ", ".join(f"{list(map(int, p))}: {got[tuple(p)]!s} not {want[tuple(p)]!s}" for p in places[:6])
    return f"{len(places)} of {want.size} differ: {shown}"


def _float_mismatch(got: Array, want: Array, tolerance: Tolerance) -> Array:
    raw = np.dtype(f"u{want.dtype.itemsize}")
    same = np.ascontiguousarray(got).view(raw) == np.ascontiguousarray(want).view(raw)
    with np.errstate(invalid="ignore"):
        a, b = got.astype(np.float64), want.astype(np.float64)
    same |= np.isnan(a) & np.isnan(b)
    if tolerance.ulps:
        eps = tolerance.eps if tolerance.eps is not None else epsilon(want.dtype)
        smallest = 0.0 if want.dtype == np.float64 else 2.0**-126
        with np.errstate(all="ignore"):
            bound = tolerance.ulps * eps * (np.abs(b) + tolerance.scale) + smallest
            same |= (a == b) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= bound))
    return ~same
