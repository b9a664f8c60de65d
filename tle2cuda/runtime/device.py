"""Which device runs kernels: what `TLE2CUDA_DEVICE` says, and what is there."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator
from contextvars import ContextVar

from tle2cuda.errors import LaunchError, ToolchainError
from tle2cuda.runtime.frames import warn_user

DEVICE_VARIABLE = "TLE2CUDA_DEVICE"
TRITON_VARIABLE = "TRITON_INTERPRET"
HOST_DEVICES = ("emulator", "interpreter", "eager")
DEVICES = ("cuda", *HOST_DEVICES)

_forced: ContextVar[str] = ContextVar("tle2cuda_device", default="")


@contextlib.contextmanager
def on_device(device: str) -> Iterator[None]:
    """Launches of this thread go to `device` meanwhile, whatever the environment says."""
    token = _forced.set(device)
    try:
        yield
    finally:
        _forced.reset(token)


def chosen_device() -> str:
    """What `TLE2CUDA_DEVICE` says, else ``eager`` when `TRITON_INTERPRET` is 1; empty when neither says anything.

    Raises:
        LaunchError: It names no device.
    """
    device = _forced.get() or os.environ.get(DEVICE_VARIABLE, "")
    if device and device not in DEVICES:
        raise LaunchError(f"{DEVICE_VARIABLE} must be one of {', '.join(DEVICES)}, got {device!r}")
    if not device and asks_for_eager():
        return "eager"
    return device


def asks_for_eager() -> bool:
    """Whether `TRITON_INTERPRET` is on."""
    return os.environ.get(TRITON_VARIABLE, "").lower() in ("1", "true", "yes", "on", "y")


def host_device() -> str:
    """What runs kernels on arrays in host memory: ``emulator``, ``interpreter`` or ``eager``.

    It is what `TLE2CUDA_DEVICE` says; else the emulator where a C++ compiler is installed, and the interpreter, which
    needs none, where there is not.

    Raises:
        LaunchError: `TLE2CUDA_DEVICE` says none of them.
        ToolchainError: It says ``cuda``, and there is no GPU.
    """
    device = chosen_device()
    if device == "cuda":
        from tle2cuda.runtime.toolkit import require_gpu

        require_gpu()  # without one, that is what is wrong
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
    warn_user(
        f"kernels on NumPy arrays run in the interpreter, not as their emitted CUDA: {why}. Install g++ 11 or clang++ 12 "
        f"or later, or set {DEVICE_VARIABLE}=interpreter to silence this",
        RuntimeWarning,
    )
