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
from tle2cuda.errors import InvalidArgument, KernelError, NotSupported
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
    value, small = tl.map_elementwise(clipped, tl.load(x + i, mask=ok), tl.full([BLOCK], 0.5, tl.float32))
    tl.store(out + i, value, mask=ok)
    tl.store(flags + i, small, mask=ok)
    k = 0
    while tl.condition(k < 3, disable_licm=True):
        k += 1
    tl.store(flags + n, k.cdiv(2))


@tle2cuda.jit
def nothing(x):
    tl.static_assert(True)


@tle2cuda.jit
def printing(x):
    if x == 0:
        tl.device_print("x", x)
    return x


@tle2cuda.jit
def negated(x):
    return -x


@tle2cuda.jit
def first_of_two(x, y):
    return x


@tle2cuda.jit
def farther(a, b):
    """The one farther from 0, by a branch."""
    if tl.abs(a) >= tl.abs(b):
        return a
    return b


@tle2cuda.jit
def farthest(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i, tl.associative_scan(value, 0, farther) + tl.reduce(value, 0, farther))


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_functions_that_combine_may_branch(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.array([1, -2, 0, 3, -3, 2, -5, 4], np.float32), np.zeros(8, np.float32)
    farthest[(1,)](x, out, N=8)
    assert out.tolist() == [x - 5 for x in (1, -2, -2, 3, 3, 3, -5, -5)]


@tle2cuda.jit
def applied(x, function: tl.constexpr, pack: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.map_elementwise(function, tl.load(x + i), pack=pack))


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_functions_of_elements(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.linspace(0, 1, 10).astype(np.float32)
    out, flags = np.zeros(10, np.float32), np.zeros(11, np.int32)
    mapped[(1,)](x, out, flags, 10, BLOCK=16)
    assert (out == np.maximum(x, np.float32(0.5))).all()
    assert flags.tolist() == [*(x < 0.5).astype(int).tolist(), 2]


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_what_functions_of_elements_may_not_do(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.zeros(8, np.float32)
    wrong = {
        nothing: "tl.map_elementwise: the function returns nothing",
        printing: "tl.map_elementwise: the function may compute and branch, but not access memory, print or synchronise",
    }
    for function, message in wrong.items():
        with pytest.raises(KernelError) as caught:
            applied[(1,)](x, function, 1, N=8)
        assert caught.value.message == message
    with pytest.raises(InvalidArgument, match="pack must be a power of two of at most 8, got 3"):
        applied[(1,)](x, negated, 3, N=8)
    with pytest.raises(InvalidArgument, match="with pack=2 the function must return 2 neighbours of each result, it re"):
        applied[(1,)](x, first_of_two, 2, N=8)


def test_constants() -> None:
    assert tl.TRITON_MAX_TENSOR_NUMEL == 1 << 20
    assert tl.tuple((1, 2)) == (1, 2)
    assert tl.pi32_t.element_ty == tl.int32
    assert tl.standard._log2(8) == 3
    assert tl.target_info.is_cuda()
    assert (tl.constexpr(3).logical_and(0)).value == 0
    assert (tl.constexpr(0).logical_or(5)).value == 5


@tle2cuda.jit
def private_functions(x, out, N: tl.constexpr, L: tl.constexpr):
    """Functions of Triton's own library that kernels import, though their names begin with an underscore."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    cube = v.reshape([2] * L)
    tl.store(out + i, tl.standard._compare_and_swap(cube, 0, 2).reshape([N]))
    tl.store(out + N + i, tl.standard._compare_and_swap(cube, 1, 0).reshape([N]))
    tl.store(out + 2 * N + i, tl.standard._bitonic_merge(v, 2, 2, L))
    tl.store(out + 3 * N + i, tl.standard._bitonic_merge_hypercube(cube, L, 0).reshape([N]))
    tl.store(out + 4 * N + i, tl.standard._bitonic_merge(v.reshape([2, N // 2]), 2, 2, L - 1).reshape([N]))
    tl.store(out + 5 * N + i, tl.standard.sort_impl(v, None, 0, 1))
    value, index = tl.reduce((v, i), 0, tl.standard._argmax_combine_tie_break_left)
    least, _ = tl.reduce((v, i), 0, tl.standard._argmin_combine_tie_break_fast)
    tl.store(out + 6 * N, value)
    tl.store(out + 6 * N + 1, index)
    tl.store(out + 6 * N + 2, least)
    tl.store(out + 6 * N + 3, tl.reduce(v, 0, tl.standard._elementwise_max))
    tl.store(out + 6 * N + 4 + tl.arange(0, 4), tl.standard.sort_impl(v, 4, 0, True))
    tl.store(out + 6 * N + 8, tl.core.item(tl.full((1, 1), N, tl.int32)))


_NUMBERS = [-20, -46, -43, -49, 35, 13, 1, -24, -33, 31, 14, 41, 47, 22, 0, 10]
# As Triton 3.6 computes them in its interpreter.
_COMPUTED = [
    [-20, -46, -43, -49, 35, 13, 1, -24, -33, 22, 0, 10, 47, 31, 14, 41],
    [-20, -46, -43, -49, 35, 13, 1, -24, 31, -33, 41, 14, 47, 22, 10, 0],
    [-49, -43, -46, -20, 35, 13, 1, -24, -33, 31, 14, 41, 47, 22, 10, 0],
    [-49, -43, -46, -33, -24, 0, 13, 35, -20, 10, 1, 22, 14, 31, 41, 47],
    [-49, -43, -46, -20, 35, 13, 1, -24, -33, 31, 14, 41, 47, 22, 10, 0],
    [47, 41, 35, 31, 22, 14, 13, 10, 1, 0, -20, -24, -33, -43, -46, -49],
    [47, 12, -49, 47, 47, 41, 35, 31, 16, 0, 0, 0, 0, 0, 0, 0],
]


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_private_functions_of_the_library(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(16 * 7, np.int32)
    private_functions[(1,)](np.array(_NUMBERS, np.int32), out, N=16, L=4)
    assert out.reshape(7, 16).tolist() == _COMPUTED


def test_types_of_the_library() -> None:
    standard = tl.standard
    assert [standard._pick_sum_dtype(t, None) for t in (tl.int8, tl.uint16, tl.int64, tl.float16)] == [
        *(tl.int32, tl.uint32, tl.int64),
        None,
    ]
    assert standard._pick_sum_dtype(tl.int8, tl.float32) is tl.float32
    assert (standard._get_flip_dim(None, (2, 4)), standard._get_flip_dim(-2, (2, 4))) == (1, 0)
    assert standard._get_int_dtype(16, False) is tl.uint16
    assert tl.random.N_ROUNDS_DEFAULT.value == 10
    with pytest.raises(NotSupported, match="builds Triton's own IR"):
        tl.semantic.TritonSemantic()


@tle2cuda.jit
def foremost(x, out, K: tl.constexpr, WIDE: tl.constexpr):
    value = tl.load(x + tl.arange(0, 8))
    found = tl.topk(value, K)
    tl.static_assert(found.dtype == (WIDE if K < 8 else x.dtype.element_ty))
    tl.store(out + tl.arange(0, K), found)


# As Triton 3.6 found them: what is taken out by `tl.max` has 32 bits at least.
_FOREMOST = {"uint8": tl.int32, "int16": tl.int32, "float16": tl.float32, "float32": tl.float32, "int64": tl.int64}


@pytest.mark.parametrize("device", ["interpreter", "eager"])
@pytest.mark.parametrize(("name", "wide"), _FOREMOST.items())
def test_the_dtype_of_topk(name: str, wide: tl.dtype, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    given = np.array([3, 9, 1, 250, 7, 0, 2, 8], np.uint8).astype(name)
    for count in (2, 8):
        out = np.zeros(count, given.dtype)
        foremost[(1,)](given, out, K=count, WIDE=wide)
        assert out.tolist() == sorted(given.tolist(), reverse=True)[:count]
