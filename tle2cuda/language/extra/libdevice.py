"""`libdevice`: functions of the CUDA math library; `ir/device_functions.py` lists them with dtypes and accuracy."""

from __future__ import annotations

from typing import Any

from tle2cuda.ops.copy import unsupported
from tle2cuda.ops.libdevice import FUNCTIONS

globals().update(FUNCTIONS)

# Triton has it for other vendors only.
fast_tanhf = unsupported("libdevice.fast_tanhf", "use libdevice.tanh")


def __getattr__(name: str) -> Any:
    raise AttributeError(f"libdevice has no function {name!r}")


__all__ = ["fast_tanhf", *FUNCTIONS]
