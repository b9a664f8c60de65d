from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError
from tle2cuda.runtime import ArgSpec, Parameter
from tle2cuda.runtime.args import launch_key, make_launcher, passed_arguments, specialize
from tle2cuda.runtime.descriptions import HOST, array_dtype, constant_key, describe, int_type
from tle2cuda.runtime.parameters import parameters_of

P = Parameter("p")
PARAMETERS = (
    Parameter("x"),
    Parameter("n"),
    Parameter("BLOCK", is_constexpr=True, has_default=True, default=64),
)


class FakeTensor:
    """What the runtime reads of a torch tensor."""

    __module__ = "torch"

    def __init__(self, address: int, dtype: str = "torch.float32", device: int = 0) -> None:
        self.address, self.dtype, self.device = address, dtype, device

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return self.device


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, ArgSpec("p", "scalar", "i32", 16)),
        (2, ArgSpec("p", "scalar", "i32")),
        (-16, ArgSpec("p", "scalar", "i32", 16)),
        (2**31 - 1, ArgSpec("p", "scalar", "i32")),
        (-(2**31), ArgSpec("p", "scalar", "i32", 16)),
        (2**31, ArgSpec("p", "scalar", "i64", 16)),
        (-(2**31) - 1, ArgSpec("p", "scalar", "i64")),
        (2**63, ArgSpec("p", "scalar", "u64", 16)),
        (True, ArgSpec("p", "scalar", "i1")),
        (1.0, ArgSpec("p", "scalar", "fp32")),
        (np.int8(5), ArgSpec("p", "scalar", "i32")),
        (np.float64(5), ArgSpec("p", "scalar", "fp32")),
        (np.bool_(False), ArgSpec("p", "scalar", "i1")),
        (FakeTensor(256), ArgSpec("p", "pointer", "fp32", 16)),
        (FakeTensor(260, "torch.bfloat16"), ArgSpec("p", "pointer", "bf16")),
        (FakeTensor(256, "torch.float8_e4m3fn"), ArgSpec("p", "pointer", "fp8e4nv", 16)),
        (FakeTensor(256, "torch.bool"), ArgSpec("p", "pointer", "i1", 16)),
    ],
)
def test_specialization_of_run_time_values(value: Any, expected: ArgSpec) -> None:
    assert specialize((P,), (value,)).specialization.args == (expected,)


@pytest.mark.parametrize("value", [1, np.int64(1)])
def test_one_becomes_a_constant(value: Any) -> None:
    bound = specialize((P,), (value,))
    assert bound.specialization.args == ()
    assert bound.specialization.constants == (("p", 1),)
    assert bound.runtime_indices == ()


def test_none_becomes_a_constant() -> None:
    assert specialize((P,), (None,)).specialization.constants == (("p", None),)


def test_do_not_specialize() -> None:
    plain = Parameter("p", specialize=False, specialize_alignment=False)
    assert specialize((plain,), (1,)).specialization.args == (ArgSpec("p", "scalar", "i32"),)
    assert specialize((plain,), (16,)).specialization.args == (ArgSpec("p", "scalar", "i32"),)
    assert specialize((plain,), (FakeTensor(256),)).specialization.args == (ArgSpec("p", "pointer", "fp32"),)
    unaligned = Parameter("p", specialize_alignment=False)
    assert specialize((unaligned,), (1,)).specialization.constants == (("p", 1),)
    assert specialize((unaligned,), (16,)).specialization.args == (ArgSpec("p", "scalar", "i32"),)


def test_annotated_dtype() -> None:
    parameter = Parameter("p", dtype="i64")
    assert specialize((parameter,), (1,)).specialization.args == (ArgSpec("p", "scalar", "i64"),)
    assert specialize((parameter,), (48,)).specialization.args == (ArgSpec("p", "scalar", "i64", 16),)
    assert specialize((replace(parameter, specialize=False),), (48,)).specialization.args == (
        ArgSpec("p", "scalar", "i64"),
    )
    unaligned = replace(parameter, specialize_alignment=False)
    assert specialize((unaligned,), (48,)).specialization.args == (ArgSpec("p", "scalar", "i64"),)
    real = Parameter("p", dtype="fp32")
    assert specialize((real,), (16,)).specialization.args == (ArgSpec("p", "scalar", "fp32"),)


@pytest.mark.parametrize(
    ("annotation", "value", "spec"),
    [
        (int, 1, ArgSpec("x", "scalar", "i32")),
        (int, 48, ArgSpec("x", "scalar", "i32", 16)),
        ("int", True, ArgSpec("x", "scalar", "i32")),
        (float, 1, ArgSpec("x", "scalar", "fp32")),
        (bool, 1, ArgSpec("x", "scalar", "i1")),
        ("i64", 1, ArgSpec("x", "scalar", "i64")),
        ("tl.uint16", 5, ArgSpec("x", "scalar", "u16")),
        ("half", 2.0, ArgSpec("x", "scalar", "fp16")),
        ("*fp32", FakeTensor(256), ArgSpec("x", "pointer", "fp32", 16)),
        (tl.pointer_type(tl.float32), FakeTensor(256), ArgSpec("x", "pointer", "fp32", 16)),
    ],
)
def test_annotations_fix_types_as_in_triton(annotation: Any, value: Any, spec: ArgSpec) -> None:
    def kernel(x: Any) -> None: ...

    kernel.__annotations__["x"] = annotation
    assert specialize(parameters_of(kernel), (value,)).specialization.args == (spec,)


def test_values_beyond_an_annotation() -> None:
    def kernel(x: int, p: Any = None) -> None: ...

    kernel.__annotations__["p"] = "*i8"

    with pytest.raises(ArgumentError) as caught:
        specialize(parameters_of(kernel), (1 << 40, None))
    assert caught.value.message == "argument `x` is annotated int, which is i32 as in Triton, and its value needs i64"
    with pytest.raises(ArgumentError) as caught:
        specialize(parameters_of(kernel), (1, FakeTensor(256)))
    assert caught.value.message == "argument `p` is annotated as a pointer to i8, the array's dtype is torch.float32"


@pytest.mark.parametrize("value", [1, 16, 17, 1 << 40, (1 << 40) + 1, True, 2.0])
@pytest.mark.parametrize("dtype", ["i32", "i64", "u8", "fp32", ""])
def test_launcher_and_slow_path_tell_annotated_numbers_apart_alike(dtype: str, value: Any) -> None:
    parameters = (Parameter("p", dtype=dtype),)
    key, values = binder(parameters)(value)
    assert (key[0], values[0]) == describe(parameters[0], value)


class _Launches(dict[Any, Any]):
    """Launches that return what they are found by, and what they are given."""

    def __missing__(self, key: Any) -> Callable[..., Any]:
        return lambda grid, values: (key, values)


def binder(parameters: Sequence[Parameter] = PARAMETERS, **hooks: bool) -> Callable[..., Any]:
    """Launches with a grid of one: a function to (key, values), or to the arguments left to the slow path."""

    def slow(grid: Any, *arguments: Any) -> Any:
        return "slow", *passed_arguments(parameters, *arguments)

    launcher = make_launcher(parameters, "kernel", _Launches(), slow, types.SimpleNamespace(active=False, **hooks))
    return functools.partial(launcher, (1,))


def test_launcher_finds_by_key_and_hands_over_values() -> None:
    bind = binder()
    tensor = FakeTensor(256)
    key, values = bind(tensor, 100, BLOCK=128)
    assert values == (256, 100, 128)
    assert bind(FakeTensor(512), 36)[1] == (512, 36, 64)
    assert bind(FakeTensor(512), 36, 128)[0] == key
    assert hash(key) == hash(bind(FakeTensor(512), 36, 128)[0])


@pytest.mark.parametrize(
    "other",
    [
        (FakeTensor(264), 100, 64),
        (FakeTensor(256, "torch.float16"), 100, 64),
        (FakeTensor(256, device=1), 100, 64),
        (FakeTensor(256), 1, 64),
        (FakeTensor(256), 96, 64),
        (FakeTensor(256), 2**40, 64),
        (FakeTensor(256), True, 64),
        (FakeTensor(256), 100, 64.0),
        (FakeTensor(256), 100, None),
        (None, 100, 64),
    ],
)
def test_keys_differ_where_specializations_do(other: tuple[Any, ...]) -> None:
    bind = binder()
    assert bind(*other)[0] != bind(FakeTensor(256), 100, 64)[0]


def test_equal_keys_mean_equal_specializations() -> None:
    bind = binder()
    values = [0, 1, 2, 15, 16, 17, -1, 2**31, 2**31 + 1, 2**63, True, False, 1.0, 0.0, None]
    found: dict[Any, Any] = {}
    for n in values:
        for address in (256, 264, 512):
            arguments = (FakeTensor(address), n, 64)
            specialization = specialize(PARAMETERS, arguments).specialization
            assert found.setdefault(bind(*arguments)[0], specialization) == specialization


def test_the_key_is_that_of_the_slow_path() -> None:
    for n in (0, 1, 2, 15, 16, 17, -1, 2**31, 2**63, True, 1.0, None):
        arguments = (FakeTensor(256), n, 64)
        assert binder()(*arguments)[0] == launch_key(PARAMETERS, arguments)
        key = binder()(*arguments, num_warps=8, debug=True)[0]
        assert key == launch_key(PARAMETERS, arguments, (("num_warps", 8), ("debug", True)))


def test_what_does_not_fit_is_left_to_the_slow_path() -> None:
    tensor = FakeTensor(256)
    assert binder()(tensor) == ("slow", (), {"x": tensor, "BLOCK": 64})
    assert binder()(tensor, n="text") == ("slow", (), {"x": tensor, "n": "text", "BLOCK": 64})
    assert binder()(tensor, 2, 3, 4, m=5) == ("slow", (tensor, 2, 3, 4), {"m": 5})
    assert binder()(tensor, 2, cluster_dims=[1, 1, 1])[0] == "slow"
    with pytest.raises(TypeError, match=r"kernel\(\) got multiple values for argument 'n'"):
        binder()(tensor, 2, n=3)


def test_grid_functions_see_all_parameters() -> None:
    seen = []
    launcher = make_launcher(
        PARAMETERS, "kernel", _Launches(), lambda *arguments: None, types.SimpleNamespace(active=False)
    )
    launcher(seen.append, 256, 7, num_warps=2)
    assert seen == [{"x": 256, "n": 7, "BLOCK": 64}]


def test_parameters_may_shadow_builtins() -> None:
    parameters = (Parameter("type"), Parameter("int", is_constexpr=True, keyword_only=True))
    assert binder(parameters)(5, int=3) == (("i32", 3), (5, 3))


def test_constant_keys_keep_types_apart() -> None:
    keys = [constant_key(v)[0] for v in (1, 1.0, True, "1", (1,), (1.0,), (True,), None, 0.0, -0.0)]
    assert len(set(keys)) == len(keys)
    assert constant_key(float("nan"))[0] == constant_key(float("nan"))[0]


def test_unhashable_constant() -> None:
    with pytest.raises(ArgumentError) as info:
        constant_key([1, 2])
    assert str(info.value) == (
        "a tl.constexpr of type list cannot be hashed\n"
        "  help: pass a tuple instead of a list, and frozen objects instead of mutable ones"
    )


def test_the_parameter_of_an_unhashable_constant_is_named() -> None:
    for value in ([1, 2], ([1],), {}):
        with pytest.raises(ArgumentError, match=r"^argument `BLOCK`: a tl.constexpr of type "):
            describe(Parameter("BLOCK", is_constexpr=True), value)


def test_numpy_arrays_are_for_the_interpreter() -> None:
    array = np.zeros(4, dtype=np.int16)
    bound = specialize(PARAMETERS, (array, 3, 64))
    assert bound.device == HOST
    assert bound.library == "numpy"
    assert bound.runtime_indices == (0, 1)
    assert bound.specialization.args[0].dtype == "i16"
    assert describe(P, array)[1] is array


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_torch_tensors_in_host_memory_are_for_the_interpreter(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(8, dtype=getattr(torch, dtype))
    bound = specialize((P,), (tensor,))
    assert (bound.device, bound.specialization.args[0].dtype) == (HOST, array_dtype(dtype))
    view = describe(P, tensor)[1]
    view[2] = 1
    assert float(tensor[2]) == 1


def test_torch_tensor_without_memory() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ArgumentError, match="a torch tensor on the device meta is neither in GPU nor in host memory"):
        describe(P, torch.empty(3, device="meta"))


def test_ml_dtypes_arrays() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, short in (("bfloat16", "bf16"), ("float8_e4m3fn", "fp8e4nv"), ("float8_e5m2", "fp8e5")):
        array = np.zeros(4, dtype=getattr(ml_dtypes, name))
        assert specialize((P,), (array,)).specialization.args[0].dtype == short


def test_dlpack_objects_in_host_memory() -> None:
    class Exported:
        def __init__(self) -> None:
            self.array = np.arange(4.0)

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    exported = Exported()
    key, value = describe(P, exported)
    assert key[:2] == (np.dtype("f8"), HOST)
    assert np.shares_memory(value, exported.array)


def test_arrays_on_different_devices() -> None:
    with pytest.raises(ArgumentError) as info:
        specialize((Parameter("a"), Parameter("b")), (FakeTensor(256, device=0), np.zeros(1)), "add")
    assert str(info.value) == "add: the arrays do not lie on one device\n  `a`: GPU 0\n  `b`: host memory"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "text",
            "argument `p`: a value of type builtins.str cannot be a run-time argument\n"
            "  accepted: torch, CuPy, NumPy and DLPack arrays, objects with data_ptr() and dtype, int, float, bool, None, "
            "and tuples of these\n"
            "  help: annotate the parameter tl.constexpr if the value is known at compile time",
        ),
        (2**64, "argument `p`: the integer 18446744073709551616 does not fit in 64 bits"),
    ],
)
def test_values_that_cannot_be_passed(value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as info:
        describe(P, value)
    assert str(info.value) == message


def test_arrays_of_unknown_dtype() -> None:
    with pytest.raises(ArgumentError, match="arrays of dtype complex64 cannot be passed to a kernel"):
        array_dtype("complex64")


def test_int_type() -> None:
    assert [int_type(v) for v in (0, -(2**31), 2**31, -(2**63), 2**63)] == ["i32", "i32", "i64", "i64", "u64"]
