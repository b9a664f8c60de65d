"""What kernels find behind the names that come from outside, and conditions, in eager mode as interpreted."""

from __future__ import annotations

import functools
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import DTypeMismatch
from tle2cuda.language import tle
from tle2cuda.runtime.descriptor import TensorDescriptor

# ---- attributes -----------------------------------------------------------------------------------------------------


@tle2cuda.jit
def scaled(x, factor: tl.constexpr):
    return x * factor


@tle2cuda.jit
def wide_program_id(axis):
    return tl.program_id(axis).to(tl.int64)


class Operations:
    """A class that serves as a namespace."""

    scale = scaled
    FACTOR = tl.constexpr(3)
    SHIFTS = (1, tl.constexpr(2))


helpers = types.ModuleType("helpers")
helpers.program_id = wide_program_id
helpers.language = tl
helpers.inner = types.ModuleType("helpers.inner")
helpers.inner.operations = Operations
helpers.inner.load = tl.load
helpers.inner.number = tl.float32


@tle2cuda.jit
def finds_attributes(x, out, N: tl.constexpr):
    i = helpers.program_id(0) * N + helpers.language.arange(0, N)
    value = helpers.inner.load(x + i).to(helpers.inner.number)
    value = helpers.inner.operations.scale(value, helpers.inner.operations.FACTOR)
    first, second = helpers.inner.operations.SHIFTS
    helpers.language.store(out + i, value + first * helpers.inner.operations.SHIFTS[1] + second)


@pytest.mark.parametrize("device", ["eager", "interpreter"])
def test_attributes_of_modules_and_classes(device, monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.float32)
    finds_attributes[(2,)](x, out, N=4)
    np.testing.assert_array_equal(out, 3.0 * x + 4)


def test_attributes_of_tiles_and_comprehensions_stay(monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", "eager")

    @tle2cuda.jit
    def kernel(x, out):
        parts = [tl.load(x + k) for k in tl.static_range(3)]
        total = sum_of([part.to(tl.float32) for part in parts])
        tl.store(out, total.to(out.dtype.element_ty))

    @tle2cuda.jit
    def sum_of(parts):
        return parts[0] + parts[1] + parts[2]

    out = np.zeros(1, np.int32)
    kernel[(1,)](np.arange(3, dtype=np.int32), out)
    assert out[0] == 3


setting = types.ModuleType("setting")
setting.mesh = tle.device_mesh({"block_cluster": [("cluster_x", 2)]})


@tle2cuda.jit
def rank_in_cluster(out):
    tl.store(out + tl.program_id(0), tle.shard_id(setting.mesh, "cluster_x"))


def test_a_mesh_behind_a_module_shapes_the_launch(monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", "eager")
    out = np.full(4, -1, np.int32)
    rank_in_cluster[(2,)](out)
    assert out.tolist() == [0, 1, 0, 1]


# ---- conditions -----------------------------------------------------------------------------------------------------


@tle2cuda.jit
def float_conditions(x, out):
    value = tl.load(x + tl.program_id(0))
    if value:
        tl.store(out + tl.program_id(0), 1 if value else 2)
    else:
        tl.store(out + tl.program_id(0), 3)


@pytest.mark.parametrize("device", ["eager", "interpreter"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8])
def test_numbers_are_conditions_by_being_nonzero(device, dtype, monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x = np.array([0, 1, -2, 0], dtype)
    want = [3, 1, 1, 3]
    if np.dtype(dtype).kind == "f":
        x[2:] = [np.nan, -0.0]
    out = np.zeros(4, np.int32)
    float_conditions[(4,)](x, out)
    assert out.tolist() == want


@pytest.mark.parametrize("device", ["eager", "interpreter"])
@pytest.mark.parametrize(
    ("language", "dtype", "message"),
    [
        ("3.6", np.float32, "bool, got scalar fp32"),
        ("3.6", np.int32, "bool, got scalar i32"),
        ("3.9", np.float32, "bool or an integer, got scalar fp32"),
    ],
)
def test_while_takes_no_number(device, language, dtype, message, monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)

    @tle2cuda.jit(language=language)
    def kernel(x):
        value = tl.load(x)
        while value:
            value -= 1

    with pytest.raises(DTypeMismatch, match=f"`while`: the condition must be {message}"):
        kernel[(1,)](np.ones(1, dtype))


@tle2cuda.jit
def _double(x):
    return 2 * x


class _Operations:
    double = _double
    OFFSET = tl.constexpr(5)

    class Inner:
        double = _double


class _Choice(NamedTuple):
    function: Any
    factor: int


@tle2cuda.jit
def by_constant(x, N: tl.constexpr, C: tl.constexpr):
    local = N.double
    tl.store(x, local(tl.load(x)) + N.Inner.double(10) + N.OFFSET + C.function(C.factor))


def test_functions_that_a_constant_has_are_device_functions():
    x = np.full(1, 3.0, np.float32)
    by_constant.eager[(1,)](x, _Operations, _Choice(_double, 50))
    assert x[0] == 6 + 20 + 5 + 100


@tle2cuda.jit
def described(x, rows: tl.constexpr):
    if isinstance(x, tl.tensor_descriptor):
        return x
    return tl.make_tensor_descriptor(x, [rows, 8], [8, 1], [2, 8])


@tle2cuda.jit
def by_either(x, out, rows: tl.constexpr):
    described(out, rows).store([2, 0], described(x, rows).load([2, 0]) + 1)


@pytest.mark.parametrize("made_before", [False, True])
def test_descriptors_are_told_from_pointers(made_before):
    x, out = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    made = [TensorDescriptor.from_tensor(a, [2, 8]) for a in (x, out)] if made_before else (x, out)
    by_either.eager[(1,)](*made, 4)
    np.testing.assert_array_equal(out, np.where(np.arange(4)[:, None] >= 2, x + 1, 0))


# ---- functions of the host that take and give device functions ------------------------------------------------------


@tle2cuda.jit
def doubled(x):
    return x * 2


@tle2cuda.jit
def negated(x):
    return -x


def is_doubled(function):
    return function is doubled


def other_than(function):
    return negated if function is doubled else doubled


@functools.lru_cache
def by_name():
    return {"all": (doubled, [negated]), "one": Operations}


class Choice:
    """An object of the host whose methods pick functions."""

    def __init__(self, function):
        self.function = function

    def pick(self, flag):
        return self.function if flag else doubled


CHOICE = tl.constexpr(Choice(negated))


@tle2cuda.jit
def calls_what_the_host_picks(out, F: tl.constexpr, pick: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    if is_doubled(F):
        i += 100
    first: tl.constexpr = pick(F)
    second, third = by_name()["all"]
    tl.store(out + i % N, first(i) + 1000 * second(i) + third[0](i) + by_name()["one"].scale(i, 3))
    tl.store(out + N + i % N, CHOICE.pick(True)(i) + 10 * CHOICE.pick(False)(i) + 100 * CHOICE.function(i))


@pytest.mark.parametrize("device", ["eager", "interpreter"])
def test_functions_of_the_host_pick_device_functions(device, monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    for function, start, first in ((doubled, 100, -1), (negated, 0, 2)):
        out = np.zeros(8, np.int32)
        calls_what_the_host_picks[(1,)](out, function, other_than, N=4)
        i = start + np.arange(4)
        assert (out[:4] == (first + 2000 - 1 + 3) * i).all()
        assert (out[4:] == (-1 + 20 - 100) * i).all()
