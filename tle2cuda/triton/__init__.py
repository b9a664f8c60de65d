"""The names of Triton's top-level module: what `import triton` gives while `tle2cuda.install()` serves it.

The modules of this package lie where Triton's lie, and hold names only; what they name is defined elsewhere.
"""

from __future__ import annotations

import importlib
from typing import Any

from tle2cuda import cdiv, next_power_of_2
from tle2cuda.decorator import jit
from tle2cuda.errors import CompilationError, KernelError, OutOfResources
from tle2cuda.jit_function import JitFunction as JITFunction
from tle2cuda.runtime.mocks import MockTensor, TensorWrapper, reinterpret
from tle2cuda.runtime.scratch import set_allocator
from tle2cuda.triton.errors import TritonError
from tle2cuda.triton.runtime.interpreter import InterpreterError
from tle2cuda.triton.runtime.jit import KernelInterface, constexpr_function, must_use_result
from tle2cuda.triton_imports import LANGUAGE_LEVEL, missing_message
from tle2cuda.tuning import Autotuner, Config, Heuristics, autotune, heuristics

__version__ = LANGUAGE_LEVEL

_MODULES = {
    "backends": "tle2cuda.triton.backends",
    "compiler": "tle2cuda.triton.compiler",
    "errors": "tle2cuda.triton.errors",
    "experimental": "tle2cuda.triton.experimental",
    "knobs": "tle2cuda.triton.knobs",
    "language": "tle2cuda.language",
    "runtime": "tle2cuda.triton.runtime",
    "testing": "tle2cuda.triton.testing",
    "tools": "tle2cuda.triton.tools",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name == "compile":
        value = importlib.import_module("tle2cuda.triton.compiler").compile
    else:
        raise AttributeError(f"{missing_message(f'triton.{name}').replace('no module', 'nothing named')}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "compile"})


__all__ = [
    "Autotuner",
    "CompilationError",
    "Config",
    "Heuristics",
    "InterpreterError",
    "JITFunction",
    "KernelError",
    "KernelInterface",
    "MockTensor",
    "OutOfResources",
    "TensorWrapper",
    "TritonError",
    "__version__",
    "autotune",
    "cdiv",
    "constexpr_function",
    "heuristics",
    "jit",
    "must_use_result",
    "next_power_of_2",
    "reinterpret",
    "set_allocator",
]
