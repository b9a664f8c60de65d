"""tle2cuda: tile kernels written in Python, compiled to readable, self-contained CUDA."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tle2cuda import errors
from tle2cuda.version import __version__

if TYPE_CHECKING:
    from tle2cuda import language as language
    from tle2cuda.compiler import EmittedKernel as EmittedKernel
    from tle2cuda.compiler import compile as compile
    from tle2cuda.compiler import emit as emit
    from tle2cuda.emulator import emulate as emulate
    from tle2cuda.jit_function import JitFunction as JitFunction
    from tle2cuda.jit_function import jit as jit
    from tle2cuda.runtime.scratch import set_allocator as set_allocator

# Where public names live. They are imported when first used, so that `import tle2cuda` stays quick.
_LAZY = {
    "EmittedKernel": "tle2cuda.compiler",
    "JitFunction": "tle2cuda.jit_function",
    "compile": "tle2cuda.compiler",
    "emit": "tle2cuda.compiler",
    "emulate": "tle2cuda.emulator",
    "jit": "tle2cuda.jit_function",
    "set_allocator": "tle2cuda.runtime.scratch",
}
_SUBMODULES = ("compiler", "emulator", "errors", "interpreter", "language", "runtime", "targets")
_ERRORS = tuple(name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception))


def cdiv(x: int, y: int) -> int:
    """``x / y`` rounded up, for the host: grids and sizes."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """Smallest power of two that is at least `n`, and at least 1."""
    return 1 << max(0, n - 1).bit_length()


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    elif name in _ERRORS:
        value = getattr(errors, name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"tle2cuda.{name}")
    else:
        raise AttributeError(f"module 'tle2cuda' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "EmittedKernel",
    "JitFunction",
    "__version__",
    "cdiv",
    "compile",
    "emit",
    "emulate",
    "errors",
    "jit",
    "language",
    "next_power_of_2",
    "set_allocator",
    *_ERRORS,
]
