"""What packages do with jit objects besides launching them: attributes, hooks, warmups, other views of tensors."""

from __future__ import annotations

import inspect
import sys
import time
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import errors
from tle2cuda.jit_function import JitFunction, KernelInterface
from tle2cuda.runtime import launcher as launcher_module
from tle2cuda.runtime.args import BoundArguments, specialize
from tle2cuda.runtime.contract import ArgSpec, LaunchContract
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.hooks import HOOKS, HookChain
from tle2cuda.runtime.launches import GPULaunch
from tle2cuda.runtime.mocks import MockTensor, TensorWrapper, reinterpret
from tle2cuda.runtime.signature import Specialization


def fill(out, value, n, BLOCK: tl.constexpr = 8):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, value, mask=i < n)


def copy(x, out, n: int, stride, flag: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i * stride, tl.load(x + i, mask=i < n).to(tl.float32), mask=i < n)


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")


@pytest.fixture
def hooks() -> Iterator[list[Any]]:
    """What the hooks hear; they are taken away afterwards."""
    heard: list[Any] = []
    yield heard
    HOOKS.enter = HOOKS.exit = HOOKS.compiled = None


def zeros(n: int = 8) -> np.ndarray:
    return np.zeros(n, dtype=np.float32)


def test_attributes_that_packages_read() -> None:
    kernel = tle2cuda.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["stride"])(copy)
    assert isinstance(kernel, KernelInterface)
    assert kernel.arg_names == ["x", "out", "n", "stride", "flag", "BLOCK"]
    assert kernel.constexprs == [4, 5]
    assert kernel.signature == inspect.signature(copy)
    n, stride, block = (kernel.params[index] for index in (2, 3, 5))
    assert (n.num, n.name, n.annotation, n.do_not_specialize, n.has_default) == (2, "n", "int", True, False)
    assert stride.do_not_specialize_on_alignment and not stride.do_not_specialize
    assert block.is_constexpr and tle2cuda.jit(fill).params[3].default == 8
    assert (
        kernel.src.startswith("def copy(x, out, n: int")
        and kernel.src.endswith("\n")
        and kernel.raw_src[0].startswith("def copy")
    )
    assert kernel.starting_line_number == copy.__code__.co_firstlineno
    assert kernel.cache_key == tle2cuda.jit(copy).cache_key != tle2cuda.jit(fill).cache_key
    assert kernel.hash == kernel.cache_key and not kernel.is_gluon()
    assert kernel.__doc__ is None and kernel.__module__ == __name__
    assert tle2cuda.jit(kernel) is kernel
    named = tle2cuda.jit(repr=lambda specialization: "another name")(fill)
    assert named.repr() == "another name" and tle2cuda.jit(fill).repr() == "fill"


def test_a_launch_returns_the_kernel() -> None:
    kernel = tle2cuda.jit(fill)
    out = zeros()
    compiled = kernel[(1,)](out, 2.0, 5, BLOCK=8, num_warps=2)
    assert compiled is kernel[(1,)](out, 2.0, 5, BLOCK=8, num_warps=2)
    assert list(kernel.device_caches[0][0].values()) == [compiled]
    out[:] = 0
    compiled[(1,)](out, 3.0, 5, 8)
    assert out.tolist() == [3.0] * 5 + [0.0] * 3
    compiled[(1,)](out, 4.0, 5)  # the constant left out
    assert out[0] == 4.0
    with pytest.raises(errors.ArgumentError, match="takes its 4 parameters, or the 3 that are no constants; got 1"):
        compiled[(1,)](out)
    assert kernel.run(out, 2.0, 5, grid=(1,), num_warps=2) is not None


def test_warmup_compiles_what_a_launch_then_finds() -> None:
    kernel = tle2cuda.jit(fill)
    out = zeros()
    warm = kernel.run(out, 1.0, 5, grid=(1,), warmup=True, num_warps=2, num_stages=1)
    assert not out.any()
    assert kernel[(1,)](out, 1.0, 5, num_stages=1, num_warps=2) is warm, "in whatever order the options are given"
    warm._init_handles()
    assert out.tolist() == [1.0] * 5 + [0.0] * 3


def hold_many(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.store(out + i, tl.exp(value - tl.max(value, axis=0)))


def test_the_most_registers_are_a_bound() -> None:
    """Launch bounds would override the compiler's option."""
    pytest.importorskip("cupy")
    kernel = tle2cuda.jit(hold_many)
    free, bound = (
        kernel.warmup(MockTensor(tl.float32), MockTensor(tl.float32), BLOCK=8192, num_warps=4, maxnreg=most)
        for most in (None, 40)
    )
    assert free.n_regs > 64 and bound.n_regs <= 40
    assert "__maxnreg__(40)" in bound.asm["cu"] and "__launch_bounds__(128)" in free.asm["cu"]


def test_what_the_compiled_kernel_tells() -> None:
    pytest.importorskip("cupy")
    kernel = tle2cuda.jit(fill)
    for compiled in (
        kernel.warmup(MockTensor(tl.float32), 1.0, 5, BLOCK=64, grid=(1,), num_warps=2),
        kernel.warmup(MockTensor.wrap_dtype(tl.float32), 1.0, 5, BLOCK=64, num_warps=2),
        kernel.warmup(zeros(), 1.0, 5, BLOCK=64, num_warps=2),
    ):
        assert 0 < compiled.n_regs <= 32 and compiled.n_spills == 0 and compiled.n_max_threads == 1024
        assert compiled.shared == compiled.metadata.shared == 0
        assert compiled.num_warps == compiled.metadata.num_warps == 2
        assert compiled.metadata.name == "fill" and len(compiled.hash) == 64
        assert ".entry fill" in compiled.asm["ptx"] and compiled.asm["cubin"][:4] == b"\x7fELF"
    ahead = tle2cuda.compile(fill, "*fp32, fp32, i32, 8")
    with pytest.raises(errors.LaunchError, match="fill was compiled ahead of time, so its parameters are not known"):
        ahead[(1,)]


def test_launch_hooks(hooks: list[Any]) -> None:
    kernel = tle2cuda.jit(launch_metadata=lambda grid, metadata, named: {"bytes": 4 * named["n"]})(fill)
    out = zeros()
    kernel[(1,)](out, 1.0, 5)
    HOOKS.enter.add(lambda metadata: hooks.append(("enter", metadata.get())))
    HOOKS.exit.add(lambda metadata: hooks.append(("exit", out[0])))
    kernel[(1, 1)](out, 2.0, 5)
    assert hooks == [("enter", {"name": "fill", "grid": (1, 1), "bytes": 20}), ("exit", 2.0)]
    HOOKS.enter, HOOKS.exit = None, None
    kernel[(1,)](out, 3.0, 5)
    assert len(hooks) == 2 and out[0] == 3.0
    HOOKS.enter = hooks.append  # one function instead of a chain
    kernel[(1,)](out, 4.0, 5)
    assert hooks[2].get()["grid"] == (1,)


def test_hook_chains() -> None:
    heard: list[Any] = []
    first, second = (lambda value: heard.append((1, value))), (lambda value: heard.append((2, value)))
    for reverse, order in ((False, [1, 2]), (True, [2, 1])):
        chain = HookChain(reversed=reverse)
        assert not chain
        for hook in (first, second, first):
            chain.add(hook)
        heard.clear()
        chain("x")
        assert [number for number, _ in heard] == order
        chain.remove(first)
        chain.remove(first)
        assert chain.calls == [second]


def test_pre_run_hooks() -> None:
    kernel = tle2cuda.jit(fill)
    out = zeros()
    kernel[(1,)](out, 1.0, 5)
    heard: list[Any] = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: heard.append((len(args), kwargs)))
    kernel[(1,)](out, 2.0, 5, BLOCK=4)
    kernel.run(out, 3.0, n=2, grid=(1,))
    assert heard == [(3, {"BLOCK": 4}), (2, {"n": 2})]
    assert out.tolist() == [3.0, 3.0, 2.0, 2.0, 1.0, 0.0, 0.0, 0.0]


def test_reinterpreted_tensors() -> None:
    class HostTensor(np.ndarray):
        """A NumPy array with the one method of torch's that counts."""

        def data_ptr(self) -> int:
            return int(self.ctypes.data)

    bits = np.array([0x3C, 0xC0, 0x7B, 0x00], dtype=np.uint8).view(HostTensor)
    wrapped = reinterpret(bits, tl.float8e5)
    assert isinstance(wrapped, TensorWrapper) and wrapped.data_ptr() == bits.data_ptr()
    out = zeros(4)
    tle2cuda.jit(copy)[(1,)](wrapped, out, 4, 1, True, BLOCK=4)
    assert out.tolist() == bits.view(np.ndarray).view(ml_dtypes.float8_e5m2).astype(np.float32).tolist()
    tle2cuda.jit(copy)[(1,)](reinterpret(wrapped, tl.int8), out, 4, 1, True, BLOCK=4)
    assert out.tolist() == [60.0, -64.0, 123.0, 0.0]
    with pytest.raises(errors.ArgumentError, match=r"triton\.reinterpret takes a tensor, got int"):
        reinterpret(3, tl.int8)


# --- The fast path of launches on a GPU, with the driver replaced ---


class Driver:
    """The driver as the launcher calls it."""

    def __init__(self) -> None:
        self.device = 0
        self.launches: list[tuple[Any, ...]] = []

    def get_device(self) -> int:
        return self.device

    def launch_kernel(self, *arguments: Any) -> None:
        if arguments[1] == 26:
            raise RuntimeError("an unlucky number")
        self.launches.append(arguments)


@pytest.fixture
def gpu_kernel(monkeypatch: pytest.MonkeyPatch) -> tuple[JitFunction, Driver, Any]:
    """A kernel of ten parameters whose launches go to a replaced driver."""

    def ten(a, b, c, d, n, m, s0, s1, factor, BLOCK: tl.constexpr):
        pass

    driver = Driver()
    pointers = tuple(ArgSpec(name, "pointer", "fp32", 16) for name in "abcd")
    scalars = (ArgSpec("n", "scalar", "i32"), ArgSpec("m", "scalar", "i32", 16), ArgSpec("s0", "scalar", "i32", 16))
    specs = (*pointers, *scalars, ArgSpec("factor", "scalar", "fp32"))
    contract = LaunchContract("ten", "k.py", 1, "sm_90a", specs, cluster=(2, 1, 1))
    cupy = types.SimpleNamespace(cuda=types.SimpleNamespace(Device=lambda: types.SimpleNamespace(use=lambda: None)))
    monkeypatch.setattr(launcher_module, "toolkit", types.SimpleNamespace(require_cupy=lambda: cupy))
    monkeypatch.setattr(launcher_module, "stream_getter", lambda library: lambda device: 77)
    launcher = launcher_module.Launcher(contract, b"")
    launcher._get_device, launcher._launch_kernel = driver.get_device, driver.launch_kernel
    launcher._driver_error = RuntimeError
    launcher._block = launcher_module._ParameterBlock(launcher._codes)
    launcher._loaded[0] = types.SimpleNamespace(pointer=1234)  # type: ignore[assignment]
    compiled = types.SimpleNamespace(contract=contract, launcher=launcher)
    kernel = tle2cuda.jit(ten)
    bound = BoundArguments(Specialization(specs, (("s1", 1), ("BLOCK", 128))), 0, "torch", (0, 1, 2, 3, 4, 5, 6, 8))
    monkeypatch.setattr(kernel, "_make_launch", lambda *arguments: GPULaunch(compiled, bound))
    return kernel, driver, compiled


class FakeTensor:
    """What a launch reads of a torch tensor on a GPU."""

    dtype = "torch.float32"

    def data_ptr(self) -> int:
        return 4096

    def get_device(self) -> int:
        return 0


FakeTensor.__module__ = "torch"
ARGUMENTS = (*(FakeTensor() for _ in range(4)), 1001, 512, 64, 1, 3.5)


def packed(driver: Driver) -> list[Any]:
    """The parameters of the last launch as the driver would read them."""
    import ctypes

    kinds = [*[ctypes.c_uint64] * 4, *[ctypes.c_int32] * 3, ctypes.c_float]
    addresses = (ctypes.c_void_p * 8).from_address(driver.launches[-1][9])
    return [kind.from_address(address).value for kind, address in zip(kinds, addresses, strict=True)]


def test_fast_launches_hand_over_the_same(gpu_kernel: tuple[JitFunction, Driver, Any]) -> None:
    kernel, driver, compiled = gpu_kernel
    for n in (1001, 1003, 1005):
        result = kernel[lambda meta: (meta["m"] // 128, 3)](*ARGUMENTS[:4], n, *ARGUMENTS[5:], BLOCK=128)
        assert result is compiled
        assert driver.launches[-1][:9] == (1234, 8, 3, 1, 128, 1, 1, 0, 77)
        assert packed(driver) == [4096, 4096, 4096, 4096, n, 512, 64, 3.5]
    assert not isinstance(next(iter(kernel._launches.values())), GPULaunch), "one function"
    for grid in ([4, 3], (4, 3, 1), 4, (np.int64(4),)):
        kernel[grid](*ARGUMENTS, BLOCK=128)
        assert driver.launches[-1][1] == 8


def test_fast_launches_check_what_launches_check(gpu_kernel: tuple[JitFunction, Driver, Any]) -> None:
    kernel, driver, compiled = gpu_kernel
    assert kernel[(0, 1)](*ARGUMENTS, BLOCK=128) is compiled and not driver.launches
    kernel[(1,)](*ARGUMENTS, BLOCK=128)
    assert kernel[(0,)](*ARGUMENTS, BLOCK=128) is compiled and len(driver.launches) == 1
    with pytest.raises(errors.LaunchError, match="grid"):
        kernel[(1, 1 << 17)](*ARGUMENTS, BLOCK=128)
    with pytest.raises(errors.LaunchError, match=r"launch of ten failed: an unlucky number\n  grid \(26, 1, 1\)"):
        kernel[(13,)](*ARGUMENTS, BLOCK=128)


def test_ten_arguments_cost_little_python(gpu_kernel: tuple[JitFunction, Driver, Any]) -> None:
    kernel, driver, _ = gpu_kernel
    kernel[(8,)](*ARGUMENTS, BLOCK=128, num_warps=4)
    best = float("inf")
    for _ in range(20):
        driver.launches.clear()
        start = time.process_time()
        for _ in range(500):
            kernel[(8,)](*ARGUMENTS, BLOCK=128, num_warps=4)
        best = min(best, (time.process_time() - start) / 500)
    assert best < 8e-6


# --- Tuples as arguments ---


class Pair(NamedTuple):
    values: Any
    count: Any


def add_all(arrays, pair, nested, out, arrays_0, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for k in tl.static_range(len(arrays)):
        total += tl.load(arrays[k] + i)
    total += tl.load(pair.values + i, mask=i < pair.count, other=0.0)
    scale, (offset, nothing) = nested
    if nothing is None:
        total = total * scale + offset
    tl.store(out + i, total + arrays_0)


@pytest.mark.parametrize("device", ["interpreter", "emulator", "eager"])
def test_tuples_are_passed_element_by_element(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    a, b, c = (np.arange(8, dtype=np.float32) * factor for factor in (1, 10, 100))
    out = zeros()
    kernel = tle2cuda.jit(add_all)
    kernel[(1,)]((a, b), Pair(c, 3), (2, (0.5, None)), out, 7, BLOCK=8)
    expected = (a + b + np.where(np.arange(8) < 3, c, 0)) * 2 + 0.5 + 7
    np.testing.assert_array_equal(out, expected)
    kernel[(1,)]((a, b), Pair(c, 4), (2, (0.5, None)), out, 7, BLOCK=8)
    assert len(kernel._prepared) == 1
    kernel[(1,)]((a, b, c), Pair(c, 4), (1, (0.5, None)), out, 7, BLOCK=8)
    assert len(kernel._prepared) == 2, "length, and constants inside, are part of the key"
    np.testing.assert_array_equal(out, a + b + c + np.where(np.arange(8) < 4, c, 0) + 7.5)


def test_elements_of_tuples_have_names_of_their_own() -> None:
    kernel = tle2cuda.jit(add_all)
    a = zeros()
    launch = kernel.warmup((a, a), Pair(a, 3), (2, (0.5, None)), a, 7, BLOCK=8)
    names = [spec.name for spec in launch.bound.specialization.args]
    assert names == ["arrays_0_", "arrays_1", "pair_0", "pair_1", "nested_0", "nested_1_0", "out", "arrays_0"]


def test_what_tuples_may_not_hold() -> None:
    with pytest.raises(errors.ArgumentError, match=r"argument `arrays`: a value of type builtins\.str cannot be"):
        tle2cuda.jit(add_all)[(1,)](("text",), Pair(zeros(), 3), (2, (0.5, None)), zeros(), 7, BLOCK=8)


def test_a_launch_needs_memory() -> None:
    with pytest.raises(errors.ArgumentError, match="fill: `out` stands for a tensor and has no memory"):
        tle2cuda.jit(fill)[(1,)](MockTensor(tl.float32), 1.0, 5)


# --- Tensor descriptors made on the host ---


def copy_tiles(source, target, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    tl.static_assert(source.block_shape[1] == COLUMNS)
    target.store([row, column], source.load([row, column]) * 2)


def aligned_array(rows: int, columns: int, padded: int) -> np.ndarray:
    """Rows that begin at multiples of 16 bytes."""
    buffer = np.zeros(rows * padded + 4, dtype=np.float32)
    start = -buffer.ctypes.data % 16 // 4
    return buffer[start : start + rows * padded].reshape(rows, padded)[:, :columns]


@pytest.mark.parametrize("device", ["interpreter", "emulator", "eager"])
def test_tensor_descriptors(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    kernel = tle2cuda.jit(copy_tiles)
    for rows, columns in ((9, 30), (17, 20)):
        x, out = aligned_array(rows, columns, 32), aligned_array(rows, columns, 40)
        x[:] = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        source, target = (TensorDescriptor.from_tensor(array, [8, 16]) for array in (x, out))
        kernel[(3, 2)](source, target, 8, 16)
        np.testing.assert_array_equal(out, 2 * x)
    assert len(kernel._prepared) == 1, "sizes and strides are run-time values"
    launch = kernel.warmup(source, target, 8, 16)
    assert [(spec.name, spec.type_string) for spec in launch.bound.specialization.args[:4]] == [
        ("source_base", "*fp32:16"),
        ("source_extent0", "i32"),
        ("source_extent1", "i32"),
        ("source_stride0", "i64"),
    ]


def test_tensor_descriptors_that_cannot_be() -> None:
    x = aligned_array(8, 32, 32)
    for arguments, message in (
        ((x, [8], [32, 1], [8, 16]), "one extent, stride and block extent for every axis"),
        ((x, [8, 32], [1, 32], [8, 16]), "the last axis of a TensorDescriptor is contiguous, got stride 32"),
        ((x, [8, 32], [32, 1], [8, 16], "one"), "padding of a TensorDescriptor is zero or nan, got 'one'"),
    ):
        with pytest.raises(errors.InvalidArgument, match=message):
            TensorDescriptor(*arguments)
    good = TensorDescriptor.from_tensor(x, [8, 16])
    for array, message in (
        (aligned_array(8, 30, 30), "stride 0 is 30 elements of 4 bytes"),
        (x[:, 1:], "begins at a multiple of 16 bytes"),
    ):
        with pytest.raises(errors.InvalidArgument, match=message):
            tle2cuda.jit(copy_tiles)[(1, 1)](TensorDescriptor.from_tensor(array, [8, 16]), good, 8, 16)


def test_scripts_that_ask_for_registers_go_on_without_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_nvrtc(*arguments: Any) -> Any:
        raise errors.ToolchainError("NVRTC cannot be loaded")

    kernel = tle2cuda.jit(fill)
    launch = kernel.warmup(zeros(), 1.0, 5, BLOCK=512, num_warps=16)
    monkeypatch.setattr(kernel, "compile_specialization", no_nvrtc)
    with pytest.warns(RuntimeWarning, match="the most that fit are reported: NVRTC cannot be loaded"):
        assert launch.n_regs == 128
    assert (launch.n_spills, launch.metadata.shared, launch.metadata.num_warps) == (0, 0, 16)
    assert repr(launch) == "<tle2cuda kernel fill on the CPU>"
    assert "__launch_bounds__(512)" in launch.asm["cu"]
    with pytest.raises(errors.ToolchainError, match="NVRTC cannot be loaded"):
        launch.asm["ptx"]


@pytest.mark.parametrize("device", ["", "interpreter", "emulator", "eager"])
def test_warmup_on_the_cpu_needs_no_cupy(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    for module in ("cupy", "cupy_backends"):
        monkeypatch.setitem(sys.modules, module, None)
    kernel = tle2cuda.jit(fill)
    for array in (zeros(), tl.float32, MockTensor(tl.float32)):
        warm = kernel.warmup(array, 1.0, 5, BLOCK=512, num_warps=16, maxnreg=40)
        assert "__maxnreg__(40)" in warm.asm["cu"] == warm.source
        assert (warm.name, warm.shared, warm.num_warps, warm.n_max_threads) == ("fill", 0, 16, 1024)
        assert list(warm.asm) == ["cu", "ptx", "cubin", "sass"] and "ttir" not in warm.asm
    out = zeros()
    warm[(1,)](out, 3.0, 5)
    assert out.tolist() == [3.0] * 5 + [0.0] * 3


class Wrapper:
    """An object that Triton takes for its address and dtype."""

    def __init__(self, array: np.ndarray, dtype: Any = "torch.float32") -> None:
        self.array, self.dtype = array, dtype

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)


class ShownWrapper(Wrapper):
    """The same, which shows its array besides."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.array.__array_interface__


def test_objects_with_an_address_and_a_dtype() -> None:
    kernel, array = tle2cuda.jit(fill), zeros()
    bound = specialize(kernel.parameters, [Wrapper(array), 1.0, 5, 8])
    assert bound.specialization.args[0] == ArgSpec("out", "pointer", "fp32", 16)
    assert bound.device is None, "the current one"
    values = kernel.passed_values(bound, (Wrapper(array), 1.0, 5, 8))
    assert values[0] == array.ctypes.data
    with pytest.raises(errors.ArgumentError) as caught:
        kernel[(1,)](Wrapper(array), 1.0, 5)
    assert str(caught.value) == (
        f"argument `out`: {__name__}.Wrapper has data_ptr() and dtype, which is enough on a GPU; kernels on the CPU need "
        "the array itself, and it has no __array_interface__\n"
        "  help: pass the tensor or array inside it, or give its class __array_interface__"
    )
    kernel[(1,)](ShownWrapper(array), 1.0, 5)
    assert array.tolist() == [1.0] * 5 + [0.0] * 3
    half = np.zeros(8, np.uint16)
    kernel[(1,)](ShownWrapper(half, "torch.bfloat16"), 1.0, 5)
    assert half.tolist() == [0x3F80] * 5 + [0] * 3, "its own dtype counts"


def test_metadata_tell_what_was_asked_for() -> None:
    compiled = tle2cuda.jit(fill)[(1,)](zeros(), 1.0, 5, num_warps=8, num_stages=5)
    metadata = compiled.metadata
    assert (metadata.num_warps, metadata.num_stages, metadata.num_ctas) == (8, 5, 1)
    assert (metadata.target.backend, metadata.target.arch, metadata.target.warp_size, metadata.arch) == (
        "cuda",
        90,
        32,
        "sm90",
    )
    assert compiled.packed_metadata == (8, 1, metadata.shared) and metadata.hash == compiled.hash
    assert metadata._asdict()["maxnreg"] is None and metadata._replace(shared=1).shared == 1
    assert compiled.num_warps == compiled.contract.num_warps == 1, "8 elements keep one warp busy"


@pytest.mark.parametrize("device", ["interpreter", "emulator", "eager"])
def test_launch_errors_show_no_frames_of_ours(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    kernel = tle2cuda.jit(fill)
    kernel[(1,)](zeros(), 1.0, 5)
    own = ["test_launch_errors_show_no_frames_of_ours"]
    kernel_frames = [*own, "fill"] if device == "eager" else own
    for args, names in (((zeros(4), 1.0, 5), kernel_frames), ((zeros(), 1.0, 5, 8, 9), own), (("text", 1.0, 5), own)):
        with pytest.raises(errors.KernelError) as caught:
            kernel[(1,)](*args)
        shown = [entry.name for entry in caught.traceback]
        assert shown == names if sys.version_info >= (3, 11) else shown[:1] == own
    with pytest.raises(errors.KernelError) as caught:
        tle2cuda.heuristics({"BLOCK": lambda named: 12})(kernel)[(1,)](zeros(), 1.0, 5)
    assert [entry.name for entry in caught.traceback][:1] == own


def test_interpret_knob_follows_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    from tle2cuda.triton import knobs

    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert knobs.runtime.interpret is False
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert knobs.runtime.interpret is True
    with knobs.runtime.scope():
        knobs.runtime.interpret = False
        assert knobs.runtime.interpret is False
    assert knobs.runtime.interpret is True
