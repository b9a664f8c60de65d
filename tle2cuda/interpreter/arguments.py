"""Host values the interpreter takes: NumPy arrays, CPU tensors of torch, anything with DLPack, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import ArgumentError
from tle2cuda.interpreter.dtypes import storage_dtype, value_dtype
from tle2cuda.interpreter.memory import Memory
from tle2cuda.ir.nodes import Argument, Kernel
from tle2cuda.ir.types import DType, PointerType
from tle2cuda.runtime.scalars import scalar_number

_CPU = 1  # kDLCPU of the DLPack specification


def bind_arguments(kernel: Kernel, arguments: Sequence[Any] | Mapping[str, Any], memory: Memory) -> list[Any]:
    """Frame values for a kernel's arguments; arrays become reachable in `memory`.

    Raises:
        ArgumentError: The number of arguments or the kind of one of them does not fit.
    """
    names = [argument.name for argument in kernel.args]
    if isinstance(arguments, Mapping):
        missing = [name for name in names if name not in arguments]
        unknown = [name for name in arguments if name not in names]
        if missing or unknown:
            what = f"argument {missing[0]} is missing" if missing else f"there is no argument {unknown[0]}"
            raise ArgumentError(f"{kernel.name}: {what}", facts=(f"arguments: {', '.join(names)}",))
        values = [arguments[name] for name in names]
    else:
        values = list(arguments)
        if len(values) != len(names):
            raise ArgumentError(
                f"{kernel.name} takes {len(names)} arguments, {len(values)} given",
                facts=(f"arguments: {', '.join(names)}",),
            )
    return [_bind(argument, value, memory) for argument, value in zip(kernel.args, values, strict=True)]


def integer_arguments(kernel: Kernel, arguments: Sequence[Any] | Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Names and values of the integers among a kernel's arguments, given in order or by name."""
    found = []
    for position, argument in enumerate(kernel.args):
        type_ = argument.value.type
        if not isinstance(type_, DType) or not type_.is_int():
            continue
        try:
            value = arguments[argument.name] if isinstance(arguments, Mapping) else arguments[position]
            found.append((argument.name, int(value)))
        except (LookupError, TypeError, ValueError):  # binding the arguments says what is wrong
            continue
    return tuple(found)


def as_array(value: Any, name: str) -> NDArray[Any]:
    """The NumPy view of an array-like that lies in host memory; never a copy.

    Raises:
        ArgumentError: It is no array, or it lies on a device.
    """
    if isinstance(value, np.ndarray):
        return value
    if type(value).__module__.partition(".")[0] == "torch":
        return _torch_array(value, name)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack_device__"):
        if int(value.__dlpack_device__()[0]) != _CPU:
            raise _on_device(name)
        return np.from_dlpack(value)
    if hasattr(value, "__cuda_array_interface__"):
        raise _on_device(name)
    raise ArgumentError(f"argument {name} is {value!r}, not an array", help="pass a NumPy array or a CPU tensor")


def _torch_array(tensor: Any, name: str) -> NDArray[Any]:
    """A CPU tensor's memory; dtypes NumPy lacks are seen as integers of their width."""
    import torch

    if tensor.device.type != "cpu":
        raise _on_device(name)
    tensor = tensor.detach()
    raw = {1: torch.uint8, 2: torch.int16}
    if tensor.dtype == torch.bfloat16 or "float8" in str(tensor.dtype):
        tensor = tensor.view(raw[tensor.element_size()])
    array: NDArray[Any] = tensor.numpy()
    return array


def _on_device(name: str) -> ArgumentError:
    return ArgumentError(
        f"argument {name} lies on a device; the interpreter needs host memory",
        help="pass x.cpu() (torch) or cupy.asnumpy(x)",
    )


def _bind(argument: Argument, value: Any, memory: Memory) -> Any:
    type_, name = argument.value.type, argument.name
    if isinstance(type_, PointerType):
        array = as_array(value, name)
        _check_dtype(type_.element, array, name)
        return np.uint64(memory.add_array(f"argument {name}", array))
    assert isinstance(type_, DType)
    return _scalar(type_, value, name)


def _check_dtype(element: DType, array: NDArray[Any], name: str) -> None:
    """The array must hold elements of the pointer's type, up to signedness and raw bits of narrow floats."""
    given = array.dtype
    if given == value_dtype(element) or given == storage_dtype(element):
        return
    is_integer = given.kind in "iub" and given.itemsize == element.bytes
    is_raw = is_integer and element.is_floating() and element.bits <= 16 and element.label != "float16"
    if is_raw or (is_integer and element.is_int()):
        return
    raise ArgumentError(
        f"argument {name} points to {element.label}, the array holds {given}",
        help=f"convert it: x.astype({value_dtype(element)})",
    )


def _scalar(dtype: DType, value: Any, name: str) -> Any:
    number = scalar_number(name, dtype.short, value)
    target = value_dtype(dtype)
    return np.float64(number).astype(target) if dtype.is_floating() else target.type(number)
