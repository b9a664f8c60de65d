"""`tle.raw`: calling foreign device code, which this version refuses when used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle2cuda.errors import NotSupported
from tle2cuda.ops.copy import unsupported

_INSTEAD = "write the function in Python and call it; the emitted .cu file can be edited where only CUDA will do"

# `triton.experimental.tle.raw` is this module and has one below it, so it counts as a package.
__path__: list[str] = []

call = unsupported("tle.raw.call", _INSTEAD)
call_smem = unsupported("tle.raw.call_smem", _INSTEAD)


class Input:
    """Annotates an argument that a raw function reads: ``Input["memref<...>"]``."""

    def __class_getitem__(cls, text: str) -> str:
        return text


class InOut(Input):
    """Annotates an argument that a raw function reads and writes."""


class RawFunction:
    """A function in CUDA or MLIR that kernels would call; using it is refused, defining it is not.

    Args:
        fn: The Python function that declares it.
    """

    def __init__(self, fn: Any) -> None:
        self.declaration = fn
        self.__name__ = getattr(fn, "__name__", "raw")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuses.

        Raises:
            NotSupported: Always.
        """
        raise NotSupported(f"{self.__name__} is a raw function, which is not supported", help=_INSTEAD)


def dialect(*args: Any, **kwargs: Any) -> Callable[[Any], RawFunction]:
    """Declares a raw function of a dialect such as ``cuda`` or ``mlir``."""
    return RawFunction


__all__ = ["InOut", "Input", "call", "call_smem", "dialect"]
