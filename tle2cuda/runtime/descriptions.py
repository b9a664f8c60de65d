"""Classifying the Python arguments of a launch.

Each argument is described by a pair: a hashable key, and the value to pass (the address of an array, or the
number). The description of a type is looked up once by the type itself, so a launch costs one dictionary
access and a few attribute reads per argument.
"""

from __future__ import annotations

import copy
import functools
import struct
from collections.abc import Callable
from typing import Any

from tle2cuda.errors import ArgumentError, InvalidArgument
from tle2cuda.runtime.contract import DTYPE_BYTES
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.mocks import MockTensor, TensorWrapper
from tle2cuda.runtime.parameters import Parameter, unwrap_constexpr
from tle2cuda.runtime.wrappers import Address, is_wrapper, type_name

Description = tuple[Any, Any]
Describe = Callable[[Any], Description]

HOST = -1
"""Device number of arrays in host memory: their kernels run in the emulator or in the interpreter."""

_ARRAY_DTYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
}
_INT_RANGES = (("i32", -(2**31), 2**31), ("i64", -(2**63), 2**63), ("u64", 0, 2**64))


def array_dtype(name: str) -> str:
    """Element type in signature notation of a torch, NumPy, CuPy or ml_dtypes dtype, by its name or in that notation.

    Raises:
        ArgumentError: Kernels have no such element type.
    """
    short = _ARRAY_DTYPES.get(name.removeprefix("torch."))
    if short is None and name in DTYPE_BYTES:
        return name
    if short is None:
        raise ArgumentError(
            f"arrays of dtype {name} cannot be passed to a kernel",
            facts=(f"accepted: {', '.join(_ARRAY_DTYPES)}",),
        )
    return short


def array_dtype_name(short: str) -> str:
    """Name of torch and NumPy for an element type in signature notation; empty when they have none."""
    return next((name for name, known in _ARRAY_DTYPES.items() if known == short), "")


def int_type(value: int) -> str:
    """Type of a run-time integer: the first of i32, i64, u64 that holds it.

    Raises:
        ArgumentError: None does.
    """
    for name, lower, upper in _INT_RANGES:
        if lower <= value < upper:
            return name
    raise ArgumentError(f"the integer {value} does not fit in 64 bits")


def _describe_int(value: int) -> Description:
    if value == 1:
        return "1", 1
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return ("i32" if value & 15 else "i32:16"), value
    return int_type(value) + ("" if value & 15 else ":16"), value


def _describe_int_plain(value: int) -> Description:
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return "i32", value
    return int_type(value), value


def _describe_int_unaligned(value: int) -> Description:
    if value == 1:
        return "1", 1
    return _describe_int_plain(value)


def _describe_int_sized(value: int) -> Description:
    """Of a parameter whose annotation says its type: 1 is no constant there, but multiples of 16 are told apart."""
    dtype, passed = _describe_int_plain(value)
    return (dtype if value & 15 else f"{dtype}:16"), passed


def _describe_bool(value: bool) -> Description:
    return "i1", value


def _describe_float(value: float) -> Description:
    return "fp32", value


def _describe_none(value: None) -> Description:
    return None, None


def _describe_torch(tensor: Any) -> Description:
    address = tensor.data_ptr()
    device = tensor.get_device()
    if device < 0:
        return (tensor.dtype, HOST, not address & 15), _torch_in_host_memory(tensor)
    return (tensor.dtype, device, not address & 15), address


def _torch_in_host_memory(tensor: Any) -> Any:
    """A NumPy view of a torch tensor, for the interpreter."""
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        raise ArgumentError(f"a torch tensor on the device {tensor.device} is neither in GPU nor in host memory")
    tensor = tensor.detach()
    if name != "bfloat16" and not name.startswith("float8"):
        return tensor.numpy()
    import ml_dtypes  # NumPy itself has none of these types
    import torch

    bits = torch.int16 if name == "bfloat16" else torch.uint8
    return tensor.view(bits).numpy().view(getattr(ml_dtypes, name))


def _describe_cupy(array: Any) -> Description:
    address = array.data.ptr
    return (array.dtype, array.data.device_id, not address & 15), address


def _describe_numpy(array: Any) -> Description:
    return (array.dtype, HOST, not array.ctypes.data & 15), array


def _describe_reinterpreted(wrapper: Any) -> Description:
    """A `TensorWrapper`: the tensor under it with another dtype."""
    return _under_dtype(SPECIALIZED[type(wrapper.base)](wrapper.base), wrapper.dtype.short)


def _under_dtype(described: Description, dtype: str) -> Description:
    """The description of an array whose elements are seen as another dtype, given in signature notation."""
    (_, device, aligned), value = described
    if device == HOST:
        import numpy as np

        # NumPy has no dtype for what software converts: its bytes are passed.
        name = next((name for name, short in _ARRAY_DTYPES.items() if short == dtype), "uint8")
        try:
            value = value.view(np.dtype(name))
        except TypeError:
            import ml_dtypes

            value = value.view(getattr(ml_dtypes, name))
    return (dtype, device, aligned), value


def _describe_mock(mock: Any) -> Description:
    """A `MockTensor`: an aligned array on no device."""
    return (mock.short_dtype(), None, True), None


def _describe_cuda_interface(array: Any) -> Description:
    """Any object with `__cuda_array_interface__`; the driver tells on which device its memory is."""
    import numpy as np

    interface = array.__cuda_array_interface__
    address = interface["data"][0] or 0
    from cupy.cuda import runtime

    device = runtime.pointerGetAttributes(address).device if address else runtime.getDevice()
    return (np.dtype(interface["typestr"]), device, not address & 15), address


def _describe_dlpack(array: Any) -> Description:
    """Any object with `__dlpack__`, read through CuPy, or through NumPy in host memory."""
    device_type, device_id = array.__dlpack_device__()
    if device_type in (1, 3):  # kDLCPU, kDLCUDAHost
        import numpy as np

        return _describe_numpy(np.from_dlpack(array))
    if device_type not in (2, 13):  # kDLCUDA, kDLCUDAManaged
        raise ArgumentError(f"a DLPack array on a device of type {device_type} is neither in GPU nor in host memory")
    import cupy

    view = cupy.from_dlpack(array)
    return (view.dtype, device_id, not view.data.ptr & 15), view.data.ptr


def _describe_tuple(table: _Descriptions, value: tuple[Any, ...]) -> Description:
    """A tuple, element by element: its key begins with its class, its value keeps its shape."""
    pairs = [table[type(item)](item) for item in value]
    return (type(value), *(key for key, _ in pairs)), tuple(passed for _, passed in pairs)


def _describe_descriptor(descriptor: TensorDescriptor) -> Description:
    """A `TensorDescriptor`: tensor, extents and strides are passed; the shape of tiles is part of the key."""
    base_key, base = SPECIALIZED[type(descriptor.base)](descriptor.base)
    checked = descriptor.checked
    if (
        checked is not None
        and checked[0] == base_key
        and checked[1] == descriptor.shape
        and checked[2] == descriptor.strides
        and checked[3] == descriptor.block_shape
        and checked[4] == descriptor.padding
    ):
        return checked[5], (base, checked[6], checked[7])
    extents, strides, block = tuple(descriptor.shape), tuple(descriptor.strides[:-1]), tuple(descriptor.block_shape)
    has_whole_rows = type(extents[-1]) is int and extents[-1] % 16 == 0
    parts = (base_key, block, descriptor.padding, has_whole_rows)
    key = _DESCRIPTOR_KEYS.get(parts)
    if key is None:
        key = _DESCRIPTOR_KEYS.setdefault(parts, DescriptorKey(parts))
    if (key, extents, strides) not in _CHECKED_EXTENTS:
        descriptor.check(aligned=base_key[2])
        if len(_CHECKED_EXTENTS) > _MOST_CHECKED:
            _CHECKED_EXTENTS.clear()
        _CHECKED_EXTENTS.add((key, extents, strides))
    # Copies: lists may change in place, as tuners do with the shape of tiles.
    seen = tuple(map(_copied, (descriptor.shape, descriptor.strides, descriptor.block_shape)))
    if None not in seen:
        descriptor.checked = (base_key, *seen, descriptor.padding, key, extents, strides)
    return key, (base, extents, strides)


def _copied(part: Any) -> list[int] | tuple[int, ...] | None:
    """What equals a list or tuple as it is now; None for what may change in other ways."""
    if type(part) is list:
        return part[:]
    return part if type(part) is tuple else copy.copy(part) if isinstance(part, (list, tuple)) else None


class DescriptorKey:
    """Key of a tensor descriptor: one object for equal ones, so that finding a launch compares no parts.

    Attributes:
        parts: Key of the tensor, extents of tiles, padding, whether the innermost extent is divisible by 16.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"DescriptorKey{self.parts}"


_DESCRIPTOR_KEYS: dict[tuple[Any, ...], DescriptorKey] = {}
_CHECKED_EXTENTS: set[tuple[DescriptorKey, tuple[int, ...], tuple[int, ...]]] = set()
_MOST_CHECKED = 4096  # then it is filled anew


def _describe_shown(value: Any) -> Description:
    """Any object with `__array_interface__`, whose memory is the host's; its own dtype counts where it has one."""
    import numpy as np

    array = np.asarray(value)
    shown = _describe_numpy(array)
    dtype = array_dtype(str(getattr(value, "dtype", array.dtype)))
    return shown if dtype == array_dtype(str(array.dtype)) else _under_dtype(shown, dtype)


def _describe_unknown(value: Any) -> Description:
    if is_wrapper(value):
        address = Address.of(value)
        return (value.dtype, None, not address & 15), address
    raise ArgumentError(
        f"a value of type {type_name(value)} cannot be a run-time argument",
        facts=(
            "accepted: torch, CuPy, NumPy and DLPack arrays, objects with data_ptr() and dtype, int, float, bool, None, "
            "and tuples of these",
        ),
        help="annotate the parameter tl.constexpr if the value is known at compile time",
    )


class _Descriptions(dict[type, Describe]):
    """Description by type; a type seen for the first time is classified once."""

    def __init__(self, describe_int: Describe) -> None:
        super().__init__()
        self.describe_int = describe_int

    def __missing__(self, kind: type) -> Describe:
        describe = self._classify(kind)
        self[kind] = describe
        return describe

    def _classify(self, kind: type) -> Describe:
        if issubclass(kind, bool):
            return _describe_bool
        if issubclass(kind, int):
            return self.describe_int
        if issubclass(kind, float):
            return _describe_float
        if kind is type(None):
            return _describe_none
        if issubclass(kind, TensorWrapper):
            return _describe_reinterpreted
        if issubclass(kind, TensorDescriptor):
            return _describe_descriptor
        if issubclass(kind, MockTensor):
            return _describe_mock
        if issubclass(kind, tuple):
            return functools.partial(_describe_tuple, self)
        modules = {base.__module__.partition(".")[0]: base.__name__ for base in reversed(kind.__mro__)}
        if "torch" in modules and hasattr(kind, "data_ptr"):
            return _describe_torch
        if "numpy" in modules and hasattr(kind, "__array_interface__"):
            return self._classify_numpy(kind)
        if "cupy" in modules and hasattr(kind, "__cuda_array_interface__"):
            return _describe_cupy
        if hasattr(kind, "__cuda_array_interface__"):
            return _describe_cuda_interface
        if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
            return _describe_dlpack
        if hasattr(kind, "__array_interface__"):
            return _describe_shown
        if hasattr(kind, "data_ptr"):
            return _describe_unknown
        if kind.__name__ == "constexpr" and hasattr(kind, "__init__"):
            return lambda value: constant_key(unwrap_constexpr(value))
        if hasattr(kind, "__index__"):
            return lambda value: self.describe_int(value.__index__())
        return _describe_unknown

    def _classify_numpy(self, kind: type) -> Describe:
        import numpy as np

        if issubclass(kind, np.ndarray):
            return _describe_numpy
        if issubclass(kind, np.bool_):
            return lambda value: ("i1", bool(value))
        if issubclass(kind, np.integer):
            return lambda value: self.describe_int(int(value))
        return lambda value: ("fp32", float(value))


SPECIALIZED = _Descriptions(_describe_int)
UNSPECIALIZED = _Descriptions(_describe_int_plain)
UNALIGNED = _Descriptions(_describe_int_unaligned)
SIZED = _Descriptions(_describe_int_sized)


def constant_key(value: Any) -> Description:
    """Key of a constexpr, which its type is part of: 1, 1.0 and True are equal in Python, not in a kernel.

    Raises:
        ArgumentError: The value cannot be hashed.
    """
    value = unwrap_constexpr(value)
    kind = type(value)
    if kind is int:
        return value, value
    if kind is float:
        return (float, struct.pack("d", value)), value  # NaN equals itself, 0.0 differs from -0.0
    if kind is tuple:
        return (tuple, tuple(constant_key(item)[0] for item in value)), value
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(
            f"a tl.constexpr of type {kind.__name__} cannot be hashed",
            help="pass a tuple instead of a list, and frozen objects instead of mutable ones",
        ) from None
    return (kind, value), value


def describe(parameter: Parameter, value: Any) -> Description:
    """Key and passed value of one argument.

    Raises:
        ArgumentError: The value cannot be passed for this parameter.
    """
    try:
        if parameter.is_constexpr:
            return constant_key(value)
        return table_of(parameter)[type(value)](value)
    except (ArgumentError, InvalidArgument) as error:
        raise type(error)(f"argument `{parameter.name}`: {error.message}", None, error.facts, error.help) from None


def table_of(parameter: Parameter) -> _Descriptions:
    """What describes the arguments of a parameter that is no constexpr."""
    if parameter.specialize and not parameter.dtype:
        return SPECIALIZED if parameter.specialize_alignment else UNALIGNED
    is_integer = parameter.dtype.startswith(("i", "u")) and parameter.dtype != "i1"
    if parameter.specialize and parameter.specialize_alignment and is_integer:
        return SIZED
    return UNSPECIALIZED
