"""Runs an emitted kernel on NumPy arrays, on whatever device: the GPU, the emulator, the interpreter.

The tools that compare devices start from here, so that all devices get the same file, grid and arguments.
"""

from __future__ import annotations

import copy
import os
import pathlib
import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np
from numpy.typing import NDArray

from tle2cuda.compiler import EmittedKernel, current_arch
from tle2cuda.emulator import TensorMap
from tle2cuda.errors import ArgumentError
from tle2cuda.runtime.contract import Dim3, TensorMapSpec
from tle2cuda.targets import DEFAULT_TARGET

EXIT_MACHINE = 3  # as of the command line: the machine lacks something
HANG_S = 30.0
_POLL_S = 0.0005

Args = Mapping[str, Any]
Outputs = dict[str, NDArray[Any]]


def memory_of(value: Any) -> NDArray[Any] | None:
    """The array that an argument leads to; None for numbers."""
    if isinstance(value, TensorMap):
        return value.array
    return value if isinstance(value, np.ndarray) else None


def encoded(value: TensorMap, dtype: str, address: int) -> bytes:
    """The tensor map of a hand-written kernel as the driver encodes it, for a copy of its array on the GPU.

    Args:
        value: The map.
        dtype: Element type, as contracts name it.
        address: Of the copy.

    Raises:
        ArgumentError: Its array is a window of a larger one, of which a copy lies otherwise.
    """
    from tle2cuda.runtime.tensor_maps import Described, encode

    if not value.array.flags.c_contiguous:
        raise ArgumentError("a tensor map of a window of an array: give a contiguous array")
    spec = TensorMapSpec(
        "map",
        dtype,
        "array",
        (),
        (),
        value.box,
        element_strides=value.element_strides,
        swizzle_bytes=value.swizzle_bytes,
        padding=value.oob_fill,
    )
    return encode(spec, Described(0, value.extents, value.strides_bytes, value.box, value.element_strides), address)


class Hang(RuntimeError):
    """A kernel on the GPU does not end. Nothing more can run in this process, and it may not even exit by itself."""


class Device(Protocol):
    """Something that runs emitted kernels."""

    name: str
    arch: str

    def run(self, emitted: EmittedKernel, ctas: Dim3, args: Args) -> Outputs:
        """The array arguments after a launch of `ctas` CTAs; `args` stays as it is."""


class GpuDevice:
    """The current GPU.

    Raises:
        ToolchainError: There is none, or CuPy is missing.
    """

    name = "gpu"

    def __init__(self) -> None:
        from tle2cuda.runtime import toolkit

        toolkit.require_gpu()
        self.cupy = toolkit.require_cupy()
        self.arch = current_arch()
        self._built: dict[str, Any] = {}

    def run(self, emitted: EmittedKernel, ctas: Dim3, args: Args) -> Outputs:
        """Copies the arrays to the GPU, launches, waits, copies them back."""
        kernel = self._built.get(emitted.source)
        if kernel is None:
            from tle2cuda.runtime import build

            kernel = self._built[emitted.source] = build(emitted)
        specs = emitted.contract.args
        values = [args[spec.name] for spec in specs]
        arrays = [memory_of(value) for value in values]
        moved = {id(array): self._to_gpu(array) for array in arrays if array is not None}
        passed = []
        for spec, value, array in zip(specs, values, arrays, strict=True):
            address = moved[id(array)].data.ptr if array is not None else 0
            if isinstance(value, TensorMap):
                passed.append(encoded(value, spec.dtype, address))
            else:
                passed.append(value if array is None else address)
        if any(spec.kind == "tensor_map" for spec in specs):
            kernel.launcher.launch(ctas, passed, 0)
        else:
            kernel(ctas, (emitted.contract.cta_threads,), passed)
        self._wait()
        return {
            spec.name: _from_bytes(moved[id(array)].get(), array)
            for spec, array in zip(specs, arrays, strict=True)
            if array is not None
        }

    def is_alive(self) -> bool:
        """Whether the CUDA context still works; behind an illegal access it does not."""
        try:
            self.cupy.cuda.Device().synchronize()
            return int(self.cupy.arange(3).sum()) == 3
        except Exception:
            return False

    def describe(self) -> dict[str, Any]:
        """What results were obtained on."""
        runtime = self.cupy.cuda.runtime
        properties = runtime.getDeviceProperties(self.cupy.cuda.Device().id)
        return {
            "gpu": properties["name"].decode(),
            "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(),
            "cupy": self.cupy.__version__,
        }

    def _to_gpu(self, array: NDArray[Any]) -> Any:
        """Its bytes: CuPy knows neither bfloat16 nor the 8-bit floats."""
        return self.cupy.asarray(np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    def _wait(self) -> None:
        event = self.cupy.cuda.Event(disable_timing=True)
        event.record()
        deadline = time.monotonic() + HANG_S
        while not event.done:
            if time.monotonic() > deadline:
                raise Hang(f"the kernel does not end within {HANG_S:.0f} s")
            time.sleep(_POLL_S)
        self.cupy.cuda.Device().synchronize()


class EmulatorDevice:
    """The emulator.

    Args:
        arch: Architecture to emit for.
        schedule: As `tle2cuda.emulate` takes it.
        seed: Seed of the schedule.
    """

    name = "emulator"

    def __init__(self, arch: str = DEFAULT_TARGET, schedule: str = "forward", seed: int = 0) -> None:
        self.arch, self.schedule, self.seed = arch, schedule, seed

    def run(self, emitted: EmittedKernel, ctas: Dim3, args: Args) -> Outputs:
        """Runs the launch under the schedule; a fault of the kernel raises."""
        from tle2cuda.emulator import emulate

        values = {spec.name: args[spec.name] for spec in emitted.contract.args}
        return dict(emulate(emitted, ctas, values, schedule=self.schedule, seed=self.seed).check().outputs)


class InterpreterDevice:
    """The interpreter, which runs the IR that the file was emitted from.

    Args:
        arch: Architecture to emit for.
    """

    name = "interpreter"

    def __init__(self, arch: str = DEFAULT_TARGET) -> None:
        self.arch = arch

    def run(self, emitted: EmittedKernel, ctas: Dim3, args: Args) -> Outputs:
        """Interprets on copies of the arrays."""
        from tle2cuda import interpreter

        assert emitted.kernel_ir is not None
        values = {spec.name: copy.copy(args[spec.name]) for spec in emitted.contract.args}
        interpreter.run(emitted.kernel_ir, ctas, list(values.values()))
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def _from_bytes(raw: NDArray[np.uint8], like: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(raw).view(like.dtype).reshape(like.shape)


def workers() -> int:
    """Processes worth starting."""
    return max(1, min(os.cpu_count() or 1, 16))
