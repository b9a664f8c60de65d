"""tle2cuda: tile kernels written in Python, compiled to readable, self-contained CUDA."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tle2cuda import errors
from tle2cuda.version import __version__

if TYPE_CHECKING:
    from tle2cuda import language as language
    from tle2cuda import testing as testing
    from tle2cuda.compiler import EmittedKernel as EmittedKernel
    from tle2cuda.compiler import compile as compile
    from tle2cuda.compiler import emit as emit
    from tle2cuda.decorator import jit as jit
    from tle2cuda.emulator import emulate as emulate
    from tle2cuda.jit_function import JitFunction as JitFunction
    from tle2cuda.runtime.scratch import set_allocator as set_allocator
    from tle2cuda.triton_imports import install as install
    from tle2cuda.tuning import Autotuner as Autotuner
    from tle2cuda.tuning import Config as Config
    from tle2cuda.tuning import Heuristics as Heuristics
    from tle2cuda.tuning import autotune as autotune
    from tle2cuda.tuning import heuristics as heuristics

# Where public names live. They are imported when first used, so that `import tle2cuda` stays quick.
_LAZY = {
    "Autotuner": "tle2cuda.tuning",
    "Config": "tle2cuda.tuning",
    "EmittedKernel": "tle2cuda.compiler",
    "Heuristics": "tle2cuda.tuning",
    "JitFunction": "tle2cuda.jit_function",
    "autotune": "tle2cuda.tuning",
    "compile": "tle2cuda.compiler",
    "emit": "tle2cuda.compiler",
    "emulate": "tle2cuda.emulator",
    "heuristics": "tle2cuda.tuning",
    "install": "tle2cuda.triton_imports",
    "jit": "tle2cuda.decorator",
    "set_allocator": "tle2cuda.runtime.scratch",
}
_SUBMODULES = ("compiler", "emulator", "errors", "interpreter", "language", "runtime", "targets", "testing")
_ERRORS = tuple(name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception))


def _plain(number: Any) -> Any:
    return number.value if type(number).__name__ == "constexpr" else number


def cdiv(x: int, y: int) -> int:
    """``x / y`` rounded up, for the host: grids and sizes."""
    return -(-_plain(x) // _plain(y))  # type: ignore[no-any-return]


def next_power_of_2(n: int) -> int:
    """Smallest power of two that is at least `n`; 0 where `n` is not positive, as in Triton."""
    n = _plain(n)
    return 1 << (n - 1).bit_length() if n > 0 else 0


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
    "Autotuner",
    "Config",
    "EmittedKernel",
    "Heuristics",
    "JitFunction",
    "__version__",
    "autotune",
    "cdiv",
    "compile",
    "emit",
    "emulate",
    "errors",
    "heuristics",
    "install",
    "jit",
    "language",
    "next_power_of_2",
    "set_allocator",
    "testing",
    *_ERRORS,
]
