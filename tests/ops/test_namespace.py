"""The names of `triton.language` 3.6 (data/triton_names.json): each is there, or refused."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import error_of
from tests.ops.harness import tracing
from tle2cuda.errors import NotSupported
from tle2cuda.ops.values import tensor

NAMES = json.loads((pathlib.Path(__file__).parent / "data" / "triton_names.json").read_text(encoding="utf-8"))
REFUSED = {"constexpr_type", "str_to_ty", "tuple_type", "void"}
# Of block pointers, which are objects of their own here.
NOT_OF_TENSORS = {"advance"}


def test_every_name_of_the_language() -> None:
    assert {name for name in NAMES["tl"].split() if not hasattr(tl, name)} == REFUSED
    assert set(tl.__all__) - set(dir(tl)) == set()


def test_every_method_of_tensors() -> None:
    assert {name for name in NAMES["tensor"].split() if not hasattr(tensor, name)} == NOT_OF_TENSORS


def test_every_question_to_a_dtype() -> None:
    assert not [name for name in NAMES["dtype"].split() if name.startswith(("is_", "get_")) and not hasattr(tl.int8, name)]
    assert (tl.int8.get_int_min_value(), tl.int8.get_int_max_value(), tl.uint16.get_int_max_value()) == (-128, 127, 65535)
    assert (tl.float32.fp_mantissa_width, tl.float16.primitive_bitwidth, tl.int64.int_bitwidth) == (23, 16, 64)
    assert tl.float8e4b8.is_fp8e4b8()
    assert not tl.float16.is_fp8()
    assert tl.dtype.is_dtype("bf16")
    assert not tl.dtype.is_dtype("bf17")


def test_refused_names_are_errors_at_the_users_line(tmp_path: pathlib.Path) -> None:
    error = error_of("@tle2cuda.jit\ndef k(p):\n    tl.store(p, tl.void)\n", tmp_path, "*i32")
    assert str(error).startswith("k.py:6:17: `tl` has no attribute `void`")


@tle2cuda.jit
def other_formats(x, out):
    value = tl.load(x)
    if x.dtype.element_ty == tl.float8e4b8:
        value = value.to(tl.float8e4b8)
    tl.store(out, value)


def test_formats_of_other_vendors() -> None:
    out = np.zeros(1, np.float32)
    other_formats[(1,)](np.ones(1, np.float32), out)
    assert out[0] == 1
    with tracing() as trace, pytest.raises(NotSupported) as caught:
        trace.symbol(tl.float32, (8,)).to(tl.float8e4b8)
    assert caught.value.message == "tl.cast: NVIDIA GPUs have no instructions for float8e4b8"


@tle2cuda.jit
def clipped(x, low):
    return tl.maximum(x, low), x < low


@tle2cuda.jit
def mapped(x, out, flags, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    ok = i < n
    value, small = tl.map_elementwise(clipped, tl.load(x + i, mask=ok), 0.5)
    tl.store(out + i, value, mask=ok)
    tl.store(flags + i, small, mask=ok)
    k = 0
    while tl.condition(k < 3, disable_licm=True):
        k += 1
    tl.store(flags + n, k.cdiv(2))


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_functions_of_elements(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.linspace(0, 1, 10).astype(np.float32)
    out, flags = np.zeros(10, np.float32), np.zeros(11, np.int32)
    mapped[(1,)](x, out, flags, 10, BLOCK=16)
    assert (out == np.maximum(x, np.float32(0.5))).all()
    assert flags.tolist() == [*(x < 0.5).astype(int).tolist(), 2]
    with tracing() as trace, pytest.raises(NotSupported, match="pack must be 1"):
        tl.map_elementwise(clipped, trace.symbol(tl.float32, (8,)), 1.0, pack=2)


def test_constants() -> None:
    assert tl.TRITON_MAX_TENSOR_NUMEL == 1 << 20
    assert tl.tuple((1, 2)) == (1, 2)
    assert tl.pi32_t.element_ty == tl.int32
    assert tl.standard._log2(8) == 3
    assert tl.target_info.is_cuda()
    assert (tl.constexpr(3).logical_and(0)).value == 0
    assert (tl.constexpr(0).logical_or(5)).value == 5
