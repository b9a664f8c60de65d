"""`triton.runtime`: jit objects, tuners, the driver."""

from tle2cuda.errors import OutOfResources
from tle2cuda.jit_function import JitFunction as JITFunction
from tle2cuda.runtime.mocks import MockTensor, TensorWrapper, reinterpret
from tle2cuda.triton.runtime import (
    _allocation,
    autotuner,
    build,
    cache,
    driver,
    errors,
    interpreter,
    jit,
)
from tle2cuda.triton.runtime.interpreter import InterpreterError
from tle2cuda.triton.runtime.jit import KernelInterface
from tle2cuda.tuning import Autotuner, Config, Heuristics, autotune, heuristics

__all__ = [
    "Autotuner",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "_allocation",
    "autotune",
    "autotuner",
    "build",
    "cache",
    "driver",
    "errors",
    "heuristics",
    "interpreter",
    "jit",
    "reinterpret",
]
