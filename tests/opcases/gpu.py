"""One case on the GPU, through `kernel[grid](...)` with CuPy arrays, against the interpreter or the emulator."""

from __future__ import annotations

import functools
from typing import Any

import ml_dtypes
import numpy as np

from tests.opcases.case import Array, Inputs, OpCase
from tle2cuda.compiler import current_arch
from tle2cuda.emulator import emulate

_WITHOUT_NUMPY = {np.dtype(getattr(ml_dtypes, n)) for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2")}


@functools.cache
def _typed_array() -> Any:
    """A CuPy array that says it holds another dtype of the same width: CuPy does not know all of ml_dtypes."""
    import cupy

    class TypedArray(cupy.ndarray):  # type: ignore[misc]
        says: Any = None

        @property
        def dtype(self) -> Any:
            return self.says

    return TypedArray


def to_gpu(value: Any) -> tuple[Any, Any]:
    """An argument for the launch, and the CuPy array to read it back from; numbers stay what they are."""
    if not isinstance(value, np.ndarray):
        return value, None
    import cupy

    if value.dtype not in _WITHOUT_NUMPY:
        array = cupy.asarray(value)
        return array, array
    raw = cupy.asarray(value.view(f"u{value.dtype.itemsize}"))
    typed = _typed_array()(raw.shape, raw.dtype, memptr=raw.data)
    typed.says = value.dtype
    return typed, raw


def run_on_gpu(case: OpCase) -> Inputs:
    """Arguments after a run on the GPU, back in host memory.

    Raises:
        Exception: Whatever the launch or the kernel raises; after a fault the context is lost.
    """
    import cupy

    inputs = case.inputs()
    moved = {name: to_gpu(value) for name, value in inputs.items()}
    arguments = {name: argument for name, (argument, _) in moved.items()}
    case.kernel[case.grid](**arguments, **case.constants, num_warps=case.num_warps)
    cupy.cuda.Device().synchronize()
    results: Inputs = {}
    for name, (_, array) in moved.items():
        before = inputs[name]
        results[name] = before if array is None else _back(array, before)
    return results


def _back(array: Any, like: Array) -> Array:
    return np.ascontiguousarray(array.get()).view(like.dtype).reshape(like.shape)


def check_on_gpu(case: OpCase, against: str = "interpreter") -> list[str]:
    """How the GPU's results differ from those of the interpreter or the emulator; empty when they agree."""
    want = case.interpret() if against == "interpreter" else emulated(case)
    return case.differences(run_on_gpu(case), want)


def emulated(case: OpCase) -> Inputs:
    """Arrays after a run in the emulator, of the file that a launch on the current GPU emits."""
    emitted = case.emit(current_arch(), headers="toolkit")
    inputs = case.inputs()
    arguments = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    return dict(emulate(emitted, emitted.contract.launch_grid(case.grid), arguments).check().outputs)


def context_is_alive() -> bool:
    """Whether the CUDA context still works; after an illegal access it does not."""
    import cupy

    try:
        cupy.cuda.Device().synchronize()
        return int(cupy.arange(3).sum()) == 3
    except Exception:
        return False
