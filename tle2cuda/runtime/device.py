"""Which device runs kernels: what `TLE2CUDA_DEVICE` says, and what is there."""

from __future__ import annotations

import functools
import os
import warnings

from tle2cuda.errors import LaunchError, ToolchainError

DEVICE_VARIABLE = "TLE2CUDA_DEVICE"
HOST_DEVICES = ("emulator", "interpreter")
DEVICES = ("cuda", *HOST_DEVICES)


def chosen_device() -> str:
    """What `TLE2CUDA_DEVICE` says; empty when it says nothing.

    Raises:
        LaunchError: It names no device.
    """
    device = os.environ.get(DEVICE_VARIABLE, "")
    if device and device not in DEVICES:
        raise LaunchError(f"{DEVICE_VARIABLE} must be one of {', '.join(DEVICES)}, got {device!r}")
    return device


def host_device() -> str:
    """What runs kernels on arrays in host memory: ``emulator`` or ``interpreter``.

    It is what `TLE2CUDA_DEVICE` says; else the emulator where a C++ compiler is installed, and the interpreter, which
    needs none, where there is not.

    Raises:
        LaunchError: `TLE2CUDA_DEVICE` says neither.
    """
    device = chosen_device()
    if device == "cuda":
        raise LaunchError(
            f"{DEVICE_VARIABLE}=cuda, but the arrays lie in host memory",
            help="pass torch or CuPy arrays on a GPU, or choose one of " + ", ".join(HOST_DEVICES),
        )
    if device:
        return device
    from tle2cuda.emulator.toolchain import find_compiler

    try:
        find_compiler()
    except ToolchainError as error:
        _note_no_compiler(str(error.message))
        return "interpreter"
    return "emulator"


@functools.cache
def _note_no_compiler(why: str) -> None:
    """Says once why launches run in the interpreter."""
    warnings.warn(
        f"kernels on NumPy arrays run in the interpreter, not as their emitted CUDA: {why}. Install g++ 11 or clang++ 12 "
        f"or later, or set {DEVICE_VARIABLE}=interpreter to silence this",
        RuntimeWarning,
        stacklevel=2,
    )
