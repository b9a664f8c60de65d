"""Tensor maps of launch contracts: expressions, checks, encoding, what a launch packs, and what it costs."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import errors
from tle2cuda.emulator.tensor_maps import encode_spec
from tle2cuda.jit_function import JitFunction
from tle2cuda.language import tle
from tle2cuda.runtime import launcher as launcher_module
from tle2cuda.runtime import tensor_maps
from tle2cuda.runtime.args import BoundArguments
from tle2cuda.runtime.contract import ArgSpec, LaunchContract, ScratchSpec, TensorMapSpec
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.launches import GPULaunch
from tle2cuda.runtime.signature import DescriptorArgument, Specialization
from tle2cuda.runtime.tensor_maps import describe_map, expression, expression_names

A_MAP = TensorMapSpec("a_map", "fp16", "a", ("M", "K"), ("K",), (64, 32), swizzle_bytes=64, source="gemm.py:12")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("128", 128),
        ("M * K + 1", 100 * 24 + 1),
        ("(M + 7) / 8 * 8", 104),
        ("-M / 8", -12),
        ("(M - 107) % 4", -3),
        ("min(M, K) * max(M, 3)", 2400),
    ],
)
def test_expressions_compute_as_cpp_does(text: str, value: int) -> None:
    assert expression(text)({"M": 100, "K": 24}) == value


def test_expressions_name_their_arguments() -> None:
    assert set(expression_names("min(M, min) * K + M")) == {"M", "min", "K"}
    for text in ("M ** 2", "f(M)", "M.x", "M +", "1.5", "M // 2", "[M]"):
        with pytest.raises(errors.ArgumentError, match="not an expression over arguments"):
            expression(text)
    with pytest.raises(TypeError):
        expression("M")({"M": 2.5})


def test_contracts_keep_maps_in_json() -> None:
    args = (ArgSpec("a", "pointer", "fp16", 16, True, is_passed=False), ArgSpec("M", "scalar", "i32"))
    other = dataclasses.replace(A_MAP, element_strides=(1, 2), padding="nan", offset_elems="M * 8", l2_promotion_bytes=0)
    contract = LaunchContract("k", "gemm.py", 1, "sm_90a", args, tensor_maps=(A_MAP, other))
    text = contract.to_json()
    assert LaunchContract.from_json(text) == contract and LaunchContract.from_json(text).to_json() == text
    data = json.loads(text)
    assert data["args"][0]["passed"] is False and "passed" not in data["args"][1]
    assert data["tensor_maps"][0] == {
        "name": "a_map",
        "dtype": "fp16",
        "base": "a",
        "offset_elems": "0",
        "shape": ["M", "K"],
        "strides": ["K"],
        "box": [64, 32],
        "element_strides": [1, 1],
        "swizzle_bytes": 64,
        "padding": "zero",
        "l2_promotion_bytes": 128,
        "source": "gemm.py:12",
    }
    del data["tensor_maps"]  # as written before there were any
    assert LaunchContract.from_json(json.dumps(data)).tensor_maps == ()
    assert [p.name for p in contract.parameters] == ["M", "a_map", "a_map"]
    assert (A_MAP.size_bytes, A_MAP.type_string) == (128, "tensordesc<fp16[64, 32]>")


def test_dimensions_go_to_the_driver_from_the_last_to_the_first() -> None:
    spec = TensorMapSpec("m", "fp32", "x", ("2", "A", "B"), ("A * B", "B"), (1, 8, 16), "4 * B", (1, 2, 1))
    found = describe_map(spec, {"A": 10, "B": 20}, 4096)
    assert found.offset_bytes == 320
    assert (found.extents, found.strides_bytes) == ((20, 10, 2), (80, 800))
    assert (found.box, found.element_strides) == ((16, 8, 1), (1, 2, 1))


REFUSED = (
    (
        {"M": 10, "K": 64},
        4104,
        {},
        "`a`: the tensor begins 8 bytes behind a multiple of 16; TMA needs one that begins at a multiple of 16 bytes\n"
        "  tensor map `a_map` of `a`, made at gemm.py:12\n"
        "  help: pass a tensor that is aligned, or copy the slice: x[1:].clone()",
    ),
    (
        {"M": 10, "K": 64},
        4096,
        {"offset_elems": "M"},
        "`a` + M: the tensor begins 4 bytes behind a multiple of 16; TMA needs one that begins at a multiple of 16 bytes\n"
        "  tensor map `a_map` of `a`, made at gemm.py:12\n"
        "  help: pass a tensor that is aligned, or copy the slice: x[1:].clone()",
    ),
    (
        {"M": 10, "K": 36},
        4096,
        {},
        "`a`: the stride of dimension 0 is K = 36 elements of 2 bytes = 72 bytes; TMA needs a multiple of 16 bytes "
        "below 2^40\n"
        "  tensor map `a_map` of `a`, made at gemm.py:12\n"
        "  help: pad the rows of the tensor to a multiple of 16 bytes",
    ),
    (
        {"M": 1 << 32, "K": 64},
        4096,
        {},
        "`a`: the extent of dimension 0 is M = 4294967296; TMA knows extents below 2^32\n"
        "  tensor map `a_map` of `a`, made at gemm.py:12\n"
        "  help: describe a tensor that is not larger, by several dimensions",
    ),
    (
        {"M": 10, "K": 64},
        4096,
        {"box": (512, 8), "source": ""},
        "`a_map`: a box has 512 elements along dimension 0; TMA moves 1 to 256\n"
        "  tensor map `a_map` of `a`\n"
        "  help: copy several boxes",
    ),
)


@pytest.mark.parametrize(("values", "address", "changes", "message"), REFUSED)
def test_what_no_tensor_map_can_be_made_of(
    values: dict[str, int], address: int, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.ArgumentError) as info:
        describe_map(dataclasses.replace(A_MAP, **changes), values, address)
    assert str(info.value) == message


def test_the_emulator_checks_the_same_and_the_array() -> None:
    buffer = np.zeros(4096, np.uint8)
    start = -buffer.ctypes.data % 256
    array = buffer[start : start + 10 * 64 * 2].view(np.float16).reshape(10, 64)
    encoded, offset = encode_spec(A_MAP, {"M": 10, "K": 64}, array)
    assert (len(encoded), offset) == (128, 0)
    with pytest.raises(errors.ArgumentError, match="begins 8 bytes behind a multiple of 16"):
        encode_spec(dataclasses.replace(A_MAP, offset_elems="4"), {"M": 9, "K": 64}, array)
    with pytest.raises(errors.ArgumentError) as info:
        encode_spec(A_MAP, {"M": 11, "K": 64}, array)
    assert str(info.value) == (
        "tensor map `a_map`: extents (64, 11) and strides of (128,) bytes reach 1408 bytes far, the array `a` has 1280\n"
        "  made at gemm.py:12"
    )


class EncodedTiled:
    """`cuTensorMapEncodeTiled`, which notes its arguments and writes a number."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, out: int, *rest: Any) -> int:
        assert out % 64 == 0
        lists = [list(part) if isinstance(part, ctypes.Array) else part for part in rest]
        if lists[2] == 0xBAD0:
            return 1
        self.calls.append(tuple(lists))
        ctypes.memset(out, len(self.calls), 128)
        return 0


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> EncodedTiled:
    function = EncodedTiled()
    monkeypatch.setattr(tensor_maps, "_driver_function", lambda: function)
    return function


def test_what_the_driver_is_told(encoder: EncodedTiled) -> None:
    spec = dataclasses.replace(A_MAP, padding="nan", l2_promotion_bytes=256)
    described = describe_map(spec, {"M": 10, "K": 64}, 4096)
    assert tensor_maps.encode(spec, described, 4096) == b"\x01" * 128
    assert encoder.calls == [(6, 2, 4096, [64, 10], [128], [32, 64], [1, 1], 0, 2, 3, 1)]
    with pytest.raises(
        errors.LaunchError, match="refuses the tensor map `a_map` of `a`: error 1 of cuTensorMapEncodeTiled"
    ):
        tensor_maps.encode(spec, described, 0xBAD0)


def test_empty_tensors_are_one_element_that_is_padding(encoder: EncodedTiled, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_maps, "nothing", {"zero": 0x1000, "nan": 0x2000}.__getitem__)
    for padding, address in (("zero", 0x1000), ("nan", 0x2000)):
        spec = dataclasses.replace(A_MAP, padding=padding)
        tensor_maps.encode(spec, describe_map(spec, {"M": 0, "K": 64}, 0), 0)
        assert encoder.calls[-1][2:5] == (address, [1, 1], [16])


def test_every_dtype_has_a_code_of_its_size() -> None:
    from tle2cuda.emulator.tensor_maps import _TYPES
    from tle2cuda.interpreter.dtypes import storage_dtype
    from tle2cuda.ir.types import DType
    from tle2cuda.runtime.contract import DTYPE_BYTES

    assert set(tensor_maps._DATA_TYPES) == set(DTYPE_BYTES)
    for name, code in tensor_maps._DATA_TYPES.items():
        assert _TYPES[storage_dtype(DType(name)).name] == code


# --- Launches, with the driver replaced ---


class FakeTensor:
    """What a launch reads of a torch tensor on a GPU."""

    dtype = "torch.float16"

    def __init__(self, address: int = 4096) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address

    def get_device(self) -> int:
        return 0

    def element_size(self) -> int:
        return 2


FakeTensor.__module__ = "torch"


class Driver:
    """Keeps what it was asked to launch."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, ...]] = []

    def launch(self, *arguments: Any) -> None:
        self.launches.append(arguments)

    def parameters(self, kinds: list[Any]) -> list[Any]:
        """The parameters of the last launch."""
        addresses = (ctypes.c_void_p * len(kinds)).from_address(self.launches[-1][9])
        found = []
        for kind, address in zip(kinds, addresses, strict=True):
            if kind is bytes:
                assert address % 64 == 0
                found.append(ctypes.string_at(address, 128))
            else:
                found.append(kind.from_address(address).value)
        return found


def launching(monkeypatch: pytest.MonkeyPatch, contract: LaunchContract) -> tuple[Driver, Any]:
    driver = Driver()
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(Device=lambda: types.SimpleNamespace(use=lambda: None)))
    monkeypatch.setattr(launcher_module, "toolkit", types.SimpleNamespace(require_cupy=lambda: cupy))
    monkeypatch.setattr(launcher_module, "stream_getter", lambda library: lambda device: 77)
    launcher = launcher_module.Launcher(contract, b"")
    launcher._get_device, launcher._launch_kernel = lambda: 0, driver.launch
    launcher._driver_error = RuntimeError
    launcher._block = launcher_module._ParameterBlock(launcher._codes)
    launcher._loaded[0] = types.SimpleNamespace(pointer=1234)  # type: ignore[assignment]
    return driver, launcher


def parts(name: str) -> DescriptorArgument:
    extents = tuple(ArgSpec(f"{name}_extent{axis}", "scalar", "i32", is_passed=False) for axis in (0, 1))
    stride = (ArgSpec(f"{name}_stride0", "scalar", "i64", is_passed=False),)
    return DescriptorArgument(
        ArgSpec(f"{name}_base", "pointer", "fp16", 16, is_passed=False), extents, stride, (64, 64), "zero"
    )


def host_map(name: str) -> TensorMapSpec:
    return TensorMapSpec(
        f"{name}_map", "fp16", f"{name}_base", (f"{name}_extent0", f"{name}_extent1"), (f"{name}_stride0",), (64, 64)
    )


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch, encoder: EncodedTiled) -> tuple[JitFunction, Driver, Any]:
    """A kernel of three host descriptors and a number."""

    def three(a, b, c, n, BLOCK: tl.constexpr):
        pass

    arguments = [parts(name) for name in "abc"]
    specs = (*(leaf for argument in arguments for leaf in argument.leaves()), ArgSpec("n", "scalar", "i32"))
    contract = LaunchContract("three", "k.py", 1, "sm_90a", specs, tensor_maps=tuple(map(host_map, "abc")))
    driver, launcher = launching(monkeypatch, contract)
    compiled = types.SimpleNamespace(contract=contract, launcher=launcher)
    places = [(i, *rest) for i in range(3) for rest in ((0,), (1, 0), (1, 1), (2, 0))]
    kernel = tle2cuda.jit(three)
    bound = BoundArguments(Specialization(specs, (("BLOCK", 64),)), 0, "torch", (*places, 3))
    monkeypatch.setattr(kernel, "_make_launch", lambda *arguments: GPULaunch(compiled, bound))
    return kernel, driver, compiled


def test_launches_pass_maps_of_host_descriptors(product: tuple[JitFunction, Driver, Any], encoder: EncodedTiled) -> None:
    kernel, driver, _ = product
    tensors = [FakeTensor(4096 * (i + 1)) for i in range(3)]
    descriptors = [TensorDescriptor(t, [100, 200], [200, 1], [64, 64]) for t in tensors]
    for n in (5, 6, 7):
        kernel[(8,)](*descriptors, n, BLOCK=64)
        assert driver.parameters([ctypes.c_int, bytes, bytes, bytes]) == [n, *(bytes([i]) * 128 for i in (1, 2, 3))]
    assert len(encoder.calls) == 3, "encoded once"
    assert encoder.calls[1] == (6, 2, 8192, [200, 100], [400], [64, 64], [1, 1], 0, 0, 2, 0)
    descriptors[0].shape[0] = 90  # in place
    kernel[(8,)](*descriptors, 5, BLOCK=64)
    assert encoder.calls[3][3] == [200, 90]
    tensors[1].address = 1 << 20
    kernel[(8,)](*descriptors, 5, BLOCK=64)
    assert encoder.calls[4][2] == 1 << 20 and len(encoder.calls) == 5
    kernel[(0,)](TensorDescriptor(tensors[0], [0, 200], [200, 1], [64, 64]), *descriptors[1:], 5, BLOCK=64)
    assert len(driver.launches) == 5, "an empty grid launches nothing and encodes nothing"
    descriptors[2].strides[0] = 100
    with pytest.raises(errors.InvalidArgument, match="argument `c`: rows of a TensorDescriptor begin at multiples of 16"):
        kernel[(8,)](*descriptors, 5, BLOCK=64)


def test_maps_are_made_anew_when_too_many_are_kept(
    product: tuple[JitFunction, Driver, Any], encoder: EncodedTiled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tensor_maps, "_REMEMBERED_MAPS", 4)
    kernel, _, _ = product
    for rows in range(1, 20):
        descriptors = [TensorDescriptor(FakeTensor(), [rows, 200], [200, 1], [64, 64]) for _ in range(3)]
        kernel[(8,)](*descriptors, 5, BLOCK=64)
    assert len(encoder.calls) == 19 * 3


def test_compiled_kernels_take_descriptors_or_their_parts(
    product: tuple[JitFunction, Driver, Any], encoder: EncodedTiled
) -> None:
    _, driver, compiled = product
    launcher = compiled.launcher
    tensors = [FakeTensor(4096 * (i + 1)) for i in range(3)]
    descriptors = [TensorDescriptor(t, [100, 200], [200, 1], [64, 64]) for t in tensors]
    flat = [part for t in tensors for part in (t, 100, 200, 200)]
    for args in ((*descriptors, 5), (*flat, 5)):
        launcher.launch((1, 1, 1), launcher.addresses(args), 77)
        assert driver.parameters([ctypes.c_int, bytes]) == [5, b"\x01" * 128]
    assert len(encoder.calls) == 3
    with pytest.raises(errors.ArgumentError, match="three takes 13 arguments, got 12"):
        launcher.addresses(flat)
    with pytest.raises(errors.ArgumentError, match="`b_extent0` is i32, got float"):
        launcher.launch((1, 1, 1), launcher.addresses((*flat[:5], 1.5, *flat[6:], 5)), 77)


def test_maps_stand_behind_scratch(monkeypatch: pytest.MonkeyPatch, encoder: EncodedTiled) -> None:
    args = (ArgSpec("a", "pointer", "fp16", 16), ArgSpec("M", "scalar", "i32"), ArgSpec("s", "scalar", "fp16"))
    spec = dataclasses.replace(A_MAP, shape=("M", "64"), strides=("64",))
    contract = LaunchContract("k", "k.py", 1, "sm_90a", args, scratch=(ScratchSpec("words", 64),), tensor_maps=(spec,))
    driver, launcher = launching(monkeypatch, contract)
    launcher._scratch = types.SimpleNamespace(prepare=lambda *_: ((0x5000,), ()))  # type: ignore[assignment]
    launcher.launch((1, 1, 1), (4096, 10, 1.0), 77)
    kinds = [ctypes.c_uint64, ctypes.c_int, ctypes.c_uint16, ctypes.c_uint64, bytes]
    assert driver.parameters(kinds) == [4096, 10, 0x3C00, 0x5000, b"\x01" * 128]
    stray = dataclasses.replace(contract, tensor_maps=(dataclasses.replace(spec, base="b"),))
    with pytest.raises(errors.ArgumentError, match="tensor map `a_map` reads `b`, which is no argument of the contract"):
        launching(monkeypatch, stray)


def microseconds(launch: Callable[[], Any], driver: Driver) -> float:
    launch()
    best = float("inf")
    for _ in range(40):
        driver.launches.clear()
        start = time.process_time()
        for _ in range(250):
            launch()
        best = min(best, (time.process_time() - start) / 250)
    return best * 1e6


def test_three_maps_cost_little_more_than_three_pointers(
    product: tuple[JitFunction, Driver, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_maps, driver, _ = product

    def plain(a, b, c, n, BLOCK: tl.constexpr):
        pass

    specs = (*(ArgSpec(name, "pointer", "fp16", 16) for name in "abc"), ArgSpec("n", "scalar", "i32"))
    contract = LaunchContract("plain", "k.py", 1, "sm_90a", specs)
    plain_driver, launcher = launching(monkeypatch, contract)
    kernel = tle2cuda.jit(plain)
    bound = BoundArguments(Specialization(specs, (("BLOCK", 64),)), 0, "torch", (0, 1, 2, 3))
    compiled = types.SimpleNamespace(contract=contract, launcher=launcher)
    monkeypatch.setattr(kernel, "_make_launch", lambda *arguments: GPULaunch(compiled, bound))
    tensors = [FakeTensor(4096 * (i + 1)) for i in range(3)]
    descriptors = [TensorDescriptor(t, [100, 200], [200, 1], [64, 64]) for t in tensors]
    pointers = microseconds(lambda: kernel[(8,)](*tensors, 5, BLOCK=64), plain_driver)
    maps = microseconds(lambda: with_maps[(8,)](*descriptors, 5, BLOCK=64), driver)
    assert maps - pointers < 4, f"{maps:.2f} against {pointers:.2f} us"  # 2 on a machine that is not shared


# --- Host descriptors, from the array to the result ---


@tle2cuda.jit
def doubled(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    tile = tle.gpu.alloc([ROWS, COLUMNS], tl.float32)
    tle.gpu.copy(source, tile, [ROWS, COLUMNS], [row, column])
    tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr(tile)) * 2)
    tle.gpu.copy(tile, target, [ROWS, COLUMNS], [row, column])


SIGNATURE = "tensordesc<fp32[16, 32]>, tensordesc<fp32[16, 32]>, 16, 32"


def test_parts_of_host_descriptors_leave_the_kernel() -> None:
    """Where rows are known to end at 16 bytes; elsewhere what they are needed for are stores in place of the engine's."""
    assert "fits_engine" in tle2cuda.emit(doubled, SIGNATURE).source
    contract = tle2cuda.emit(doubled, "tensordesc<fp32[16, 32]>, tensordesc<fp32[16, 32]>:16, 16, 32").contract
    assert not any(spec.is_passed for spec in contract.args)
    assert [p.name for p in contract.parameters] == ["source_map", "target_map"]
    assert contract.tensor_maps[0] == dataclasses.replace(
        host_map("source"), dtype="fp32", box=(16, 32), source=contract.tensor_maps[0].source
    )
    assert contract.min_arch == "sm_90"
    older = tle2cuda.emit(doubled, SIGNATURE, arch="sm_80").contract
    assert all(spec.is_passed for spec in older.args) and not older.tensor_maps


def _pair(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(rows).integers(-9, 9, (rows, columns)).astype(np.float32)
    return x, np.zeros_like(x)


def test_host_descriptors_in_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    for rows, columns in ((40, 72), (16, 32), (1, 4), (0, 32)):
        x, out = _pair(rows, columns)
        descriptors = [TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, out)]
        doubled[(max(1, -(-rows // 16)), -(-columns // 32))](*descriptors, 16, 32)
        np.testing.assert_array_equal(out, 2 * x)
    x, out = _pair(8, 30)
    with pytest.raises(errors.InvalidArgument, match="rows of a TensorDescriptor begin at multiples"):
        doubled[(1, 1)](TensorDescriptor.from_tensor(x, [16, 32]), TensorDescriptor.from_tensor(out, [16, 32]), 16, 32)


@pytest.mark.gpu
def test_host_descriptors_on_the_gpu() -> None:
    import cupy

    compiled = tle2cuda.compile(doubled, SIGNATURE)
    for rows, columns in ((40, 72), (16, 32), (1, 4), (2000, 1000), (0, 32)):
        x, out = (cupy.asarray(array) for array in _pair(rows, columns))
        grid = (max(1, -(-rows // 16)), -(-columns // 32))
        descriptors = [TensorDescriptor.from_tensor(array, [16, 32]) for array in (x, out)]
        for _ in range(3):
            out[...] = 0
            doubled[grid](*descriptors, 16, 32)
            assert (out == 2 * x).all()
        out[...] = 0
        compiled(grid, (128,), tuple(descriptors))
        assert (out == 2 * x).all()
        out[...] = 0
        compiled(grid, (128,), (x, rows, columns, columns, out, rows, columns, columns))
        assert (out == 2 * x).all()
    x = cupy.zeros(200, cupy.float32)
    with pytest.raises(errors.ArgumentError, match="`source_base`: the tensor begins 4 bytes behind a multiple of 16"):
        compiled((1, 1), (128,), (x[1:], 4, 4, 4, x, 4, 4, 4))


@pytest.mark.gpu
def test_every_map_that_is_checked_is_encoded_by_the_driver() -> None:
    import cupy

    memory = cupy.zeros(1 << 16, cupy.uint8)
    for dtype in tensor_maps._DATA_TYPES:
        for swizzle_bytes in (0, 32, 64, 128):
            size = tensor_maps.DTYPE_BYTES[dtype]
            columns = (swizzle_bytes or 16) // size
            spec = TensorMapSpec("m", dtype, "x", ("8", str(columns)), ("128",), (8, columns), swizzle_bytes=swizzle_bytes)
            described = describe_map(spec, {}, memory.data.ptr)
            assert len(tensor_maps.encode(spec, described, memory.data.ptr)) == 128
