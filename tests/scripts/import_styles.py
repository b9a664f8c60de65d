"""Every way in which scripts import Triton and TLE."""

import triton
import triton as tr
import triton.experimental.tle as tled
import triton.experimental.tle.language as tle
import triton.experimental.tle.language.gpu as tle_gpu
import triton.experimental.tle.language.raw as tle_raw
import triton.language as tl
import triton.language.core as core
import triton.language.extra.cuda.libdevice as cuda_libdevice
import triton.language.extra.libdevice as tldevice
import triton.language.math
import triton.runtime.driver as driver_module
import triton.runtime.jit
import triton.testing
from triton import Config, JITFunction, autotune, cdiv, heuristics, jit, knobs, next_power_of_2, runtime, set_allocator
from triton import __version__ as triton_version
from triton import language as tl_again
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource, CompiledKernel
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.experimental.tle.language import gpu
from triton.experimental.tle.raw import InOut, Input, dialect
from triton.experimental.tle.raw.mlir import vassert, vprintf
from triton.language import constexpr, load, store
from triton.language import math as tl_math
from triton.language.core import _unwrap_if_constexpr, is_builtin
from triton.language.core import dtype as triton_dtype
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as libdevice_again
from triton.language.extra.libdevice import rsqrt, tanh
from triton.language.math import rsqrt as math_rsqrt
from triton.language.standard import _log2, zeros_like
from triton.language.target_info import cuda_capability_geq, is_cuda
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner, Heuristics, OutOfResources
from triton.runtime.cache import FileCacheManager, triton_key
from triton.runtime.driver import driver as driver_object
from triton.runtime.errors import OutOfResources as OutOfResourcesAgain
from triton.runtime.errors import PTXASError
from triton.runtime.jit import KernelInterface, MockTensor, constexpr_function
from triton.testing import Benchmark, do_bench, get_dram_gbps, perf_report
from triton.tools.tensor_descriptor import TensorDescriptor

assert tr is triton and tl_again is tl and gpu is tle_gpu and tled.device_mesh is tle.device_mesh
assert triton.language is tl and triton.testing.do_bench is do_bench and triton.runtime is runtime
assert core.tensor is tl.tensor and core.load is load and load is tl.load and store is tl.store
assert tldevice is libdevice is cuda_libdevice is libdevice_again and libdevice.tanh is tanh
assert triton.language.math is tl_math and math_rsqrt is tl.rsqrt and rsqrt is libdevice.rsqrt
assert constexpr is tl.constexpr and triton_dtype is tl.dtype and zeros_like is tl.zeros_like
assert tl_again.extra.libdevice is libdevice and _log2(16) == 4 and _unwrap_if_constexpr(constexpr(3)) == 3
assert is_builtin(tle.shard_id) and is_builtin(tle.remote) and tle.gpu.alloc is tle_gpu.alloc and tle.raw is tle_raw
assert triton.jit is jit and triton.autotune is autotune and triton.heuristics is heuristics
assert triton.cdiv is cdiv and triton.next_power_of_2 is next_power_of_2 and cdiv(7, 2) == 4 and next_power_of_2(5) == 8
assert triton.__version__ == triton_version and [int(part) for part in triton_version.split(".")[:2]] >= [3, 6]
assert (
    triton.Config is Config and triton.runtime.Autotuner is Autotuner and triton.runtime.autotuner.Heuristics is Heuristics
)
assert (
    OutOfResources is OutOfResourcesAgain and issubclass(PTXASError, Exception) and issubclass(CompilationError, Exception)
)
assert issubclass(CompileTimeAssertionFailure, CompilationError)
assert driver.active is driver_module.active is driver_object.active
assert driver.active.get_current_target().backend == "cuda" and isinstance(driver.active.get_current_target(), GPUTarget)
assert driver.active.utils.get_device_properties(driver.active.get_current_device())["multiprocessor_count"] > 0
assert is_cuda() and cuda_capability_geq(8, 0) and get_dram_gbps() > 0
assert set_allocator is triton.set_allocator and knobs.autotuning.print in (True, False)
assert all(
    (ASTSource, CompiledKernel, FileCacheManager, triton_key(), Benchmark, perf_report, TensorDescriptor, MockTensor)
)
assert Input["memref"] and InOut["memref"] and dialect and vassert and vprintf


@constexpr_function
def half(n):
    return n // 2


@jit
def double(x):
    return x * 2


@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    size: tl.constexpr = half(BLOCK)
    tl.static_assert(size == 32)
    value = triton.language.load(x + i, mask=i < n)
    tl.store(out + i, double(tldevice.floor(value)) + tl_math.abs(value), mask=i < n)


assert (
    isinstance(kernel, JITFunction)
    and isinstance(kernel, KernelInterface)
    and triton.runtime.jit.JITFunction is JITFunction
)
assert kernel.arg_names == ["x", "out", "n", "BLOCK"] and kernel.fn.__name__ == "kernel" and kernel.params[3].is_constexpr

if __name__ == "__main__":
    import numpy as np

    x = np.linspace(-3, 3, 100, dtype=np.float32)
    out = np.zeros_like(x)
    kernel[(cdiv(100, 64),)](x, out, 100, BLOCK=64)
    np.testing.assert_array_equal(out, 2 * np.floor(x) + np.abs(x))
    print("every import is right")
