"""Functions that packages declare with `core.extern`: symbols of libdevice are known, others refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import DTypeMismatch, InvalidArgument, NotSupported
from tle2cuda.ir.types import F32, F64, I32, I64, DType
from tle2cuda.language import core
from tle2cuda.ops.externs import function_of

FLOATS = {
    (core.dtype("fp32"), core.dtype("fp32")): ("__nv_hypotf", core.dtype("fp32")),
    (core.dtype("fp64"), core.dtype("fp64")): ("__nv_hypot", core.dtype("fp64")),
}


@core.extern
def length(a: Any, b: Any, _semantic: Any = None) -> Any:
    return core.extern_elementwise("", "", [a, b], FLOATS, is_pure=True, _semantic=_semantic)


@core.extern
def put(a: Any, _semantic: Any = None) -> Any:
    table = {(core.dtype("int32"),): ("nvshmem_quiet", core.dtype("int32"))}
    return core.extern_elementwise("", "", [a], table, is_pure=False, _semantic=_semantic)


@tle2cuda.jit
def lengths(x, y, out, BLOCK: tl.constexpr, START: tl.constexpr = core.CONSTEXPR_0):
    i = START + tl.arange(0, BLOCK)
    tl.store(out + i, length(tl.load(x + i), tl.load(y + i)))


@tle2cuda.jit
def quiet(x):
    tl.store(x, put(tl.load(x)))


def test_symbols_of_libdevice() -> None:
    x, y = np.float32([3, 5, -8, 0]), np.float32([4, 12, 15, 0])
    out = np.zeros(4, np.float64)
    lengths[(1,)](x, y.astype(np.float64), out, BLOCK=4)
    assert out.tolist() == [5, 13, 17, 0]
    assert "hypotf(" in tle2cuda.emit(lengths, "*fp32, *fp32, *fp32, 4").source


@pytest.mark.parametrize(
    ("symbol", "dtypes", "name"),
    [
        ("__nv_powf", [F32, F32], "pow"),
        ("__nv_fast_powf", [F32, F32], "fast_powf"),
        ("__nv_isnand", [F64], "isnan"),
        ("__nv_fadd_rn", [F32, F32], "add_rn"),
        ("__nv_popc", [I32], "popc"),
        ("__nv_llabs", [I64], "abs"),
        ("__nv_erff", [F64], None),
        ("hypotf", [F32, F32], None),
    ],
)
def test_what_a_symbol_is(symbol: str, dtypes: list[DType], name: str | None) -> None:
    assert function_of(symbol, dtypes) == name


def test_what_is_refused() -> None:
    with pytest.raises(NotSupported, match="extern_elementwise: nvshmem_quiet is no function of CUDA's libdevice"):
        tle2cuda.emit(quiet, "*i32")
    with pytest.raises(DTypeMismatch, match=r"takes \(float32, float32\) or \(float64, float64\), got \(int32, int32\)"):
        tle2cuda.emit(lengths, "*i32, *i32, *fp32, 4")
    FLOATS[core.dtype("fp32"),] = ("__nv_sqrtf", core.dtype("fp32"))  # type: ignore[index]
    try:
        with pytest.raises(InvalidArgument, match="the table takes 1 or 2 arguments, got 2"):
            tle2cuda.emit(lengths, "*fp32, *fp32, *fp32, 4")
    finally:
        del FLOATS[core.dtype("fp32"),]  # type: ignore[arg-type]
