"""Tensor maps for emulated kernels: what `cuTensorMapEncodeTiled` makes on a host with a GPU, with the driver's checks.

A kernel takes one by value, as `const __grid_constant__ CUtensorMap map` or another struct of 128 bytes aligned to 64;
`tle2cuda.emulate` takes a `TensorMap` in its place.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import ArgumentError, NotSupported
from tle2cuda.interpreter.dtypes import storage_dtype
from tle2cuda.ir.types import DType
from tle2cuda.runtime.contract import DTYPE_BYTES, TensorMapSpec
from tle2cuda.runtime.tensor_maps import Described, describe_map

MAX_RANK = 5
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
ALIGNMENT_BYTES = 16
_MAX_EXTENT = 1 << 32
_MAX_STRIDE_BYTES = 1 << 40
_MAGIC = 0x7E2CDA01
_NO_ELEMENTS = 0xFFFFFFFF  # the last index along a dimension of an empty tensor, as the runner knows it
_LAYOUT = "<I4BQ5I4x4Q5H5B"
_MAP_BYTES = 128

# CUtensorMapDataType by the names of NumPy dtypes; smaller and rounding formats have none.
_TYPES = {
    "uint8": 0,
    "int8": 0,
    "bool": 0,
    "float8_e4m3fn": 0,
    "float8_e5m2": 0,
    "uint16": 1,
    "int16": 1,
    "uint32": 2,
    "int32": 3,
    "uint64": 4,
    "int64": 5,
    "float16": 6,
    "float32": 7,
    "float64": 8,
    "bfloat16": 9,
}
_FLOATS = (6, 7, 8, 9)
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}

OutOfBoundsFill = Literal["zero", "nan"]


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor map. Dimension 0 is the innermost one, as in CUDA.

    Attributes:
        array: The memory that it leads to, whose first element has all coordinates 0.
        extents: Elements along each dimension.
        strides_bytes: Distance of neighbours along each dimension but the innermost.
        box: Elements of a box along each dimension, before element strides.
        element_strides: Every how many elements along each dimension are moved.
        swizzle_bytes: Span of the swizzle in shared memory: 0, 32, 64 or 128.
        oob_fill: What elements outside of the array are in shared memory.
    """

    array: NDArray[Any]
    extents: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle_bytes: int
    oob_fill: OutOfBoundsFill

    def encode(self, address: int = 0) -> bytes:
        """The 128 bytes that the emulator's runner reads; it fills in the address itself."""
        described = Described(0, self.extents, self.strides_bytes, self.box, self.element_strides)
        return _packed(self.array.dtype, described, self.swizzle_bytes, self.oob_fill, address)


def _packed(dtype: np.dtype[Any], what: Described, swizzle_bytes: int, oob_fill: str, address: int) -> bytes:
    def padded(values: Sequence[int], count: int, rest: int) -> list[int]:
        return [*values, *([rest] * (count - len(values)))]

    packed = struct.pack(
        _LAYOUT,
        _MAGIC,
        len(what.extents),
        _TYPES[dtype.name],
        _SWIZZLES[swizzle_bytes],
        int(oob_fill == "nan"),
        address,
        *padded([(extent - 1) & _NO_ELEMENTS for extent in what.extents], MAX_RANK, 0),
        *padded(what.strides_bytes, MAX_RANK - 1, 0),
        *padded(what.box, MAX_RANK, 1),
        *padded(what.element_strides, MAX_RANK, 1),
    )
    return packed.ljust(_MAP_BYTES, b"\0")


def tensor_map(
    array: NDArray[Any],
    box: Sequence[int],
    *,
    swizzle_bytes: int = 0,
    element_strides: Sequence[int] | None = None,
    oob_fill: OutOfBoundsFill = "zero",
) -> TensorMap:
    """A tensor map of an array, its dimensions and those of the box in NumPy's order, the innermost one last.

    Args:
        array: Of one to five dimensions; the last one is contiguous.
        box: Elements of a box along each dimension.
        swizzle_bytes: Span of the swizzle in shared memory: 0, 32, 64 or 128.
        element_strides: Every how many elements are moved, along each dimension.
        oob_fill: ``zero`` or ``nan`` for elements outside of the array.

    Raises:
        ArgumentError: The driver would refuse it.
        NotSupported: The emulator cannot do it.

    Example:
        >>> tensor_map(np.zeros((64, 128), np.float16), (16, 64), swizzle_bytes=128).box
        (64, 16)
    """
    if array.ndim and array.strides[-1] != array.itemsize:
        raise ArgumentError(
            f"tensor map: neighbours of the last dimension are {array.strides[-1]} bytes apart, not {array.itemsize}",
            help="a tensor map needs one contiguous dimension; put it last: numpy.ascontiguousarray(x)",
        )
    return encode_tiled(
        array,
        tuple(reversed(array.shape)),
        tuple(reversed(array.strides[:-1])),
        tuple(reversed(tuple(box))),
        tuple(reversed(tuple(element_strides or (1,) * len(tuple(box))))),
        swizzle_bytes=swizzle_bytes,
        oob_fill=oob_fill,
    )


def encode_tiled(
    array: NDArray[Any],
    extents: Sequence[int],
    strides_bytes: Sequence[int],
    box: Sequence[int],
    element_strides: Sequence[int] | None = None,
    *,
    interleave_bytes: int = 0,
    swizzle_bytes: int = 0,
    l2_promotion_bytes: int = 0,
    oob_fill: OutOfBoundsFill = "zero",
) -> TensorMap:
    """The twin of `cuTensorMapEncodeTiled`: its parameters, in its order, with its checks.

    See the CUDA Driver API, "Tensor Map Object Management". Dimension 0 is the innermost one.

    Args:
        array: The memory; its dtype is that of the elements.
        extents: `globalDim`.
        strides_bytes: `globalStrides`, one fewer.
        box: `boxDim`.
        element_strides: `elementStrides`; ones by default.
        interleave_bytes: `interleave`: 0, 16 or 32; the emulator knows 0.
        swizzle_bytes: `swizzle`: 0, 32, 64 or 128.
        l2_promotion_bytes: `l2Promotion`, which changes no result.
        oob_fill: `oobFill`.

    Raises:
        ArgumentError: The driver would refuse it.
        NotSupported: The emulator cannot do it.
    """
    steps = tuple(element_strides) if element_strides is not None else (1,) * len(extents)
    _check_shape(array, extents, strides_bytes, box, steps)
    _check_modes(array.dtype, box, interleave_bytes, swizzle_bytes, l2_promotion_bytes, oob_fill)
    made = TensorMap(array, tuple(extents), tuple(strides_bytes), tuple(box), steps, swizzle_bytes, oob_fill)
    _check_memory(made)
    return made


def encode_spec(spec: TensorMapSpec, scalars: Mapping[str, Any], array: NDArray[Any]) -> tuple[bytes, int]:
    """A tensor map of a launch contract, and how many bytes behind the array's first element its tensor begins.

    Args:
        spec: What the contract says.
        scalars: Scalar arguments by name.
        array: The pointer argument.

    Raises:
        ArgumentError: No tensor map can be made of these arguments.
    """
    from tle2cuda.emulator.launch import device_address, extent_of

    first = array.__array_interface__["data"][0]
    described = describe_map(spec, scalars, device_address(array, first))
    size = DTYPE_BYTES[spec.dtype]
    _, high = extent_of(array)
    reach = 0
    if all(described.extents):
        reach = described.extents[0] * size
        reach += sum((n - 1) * step for n, step in zip(described.extents[1:], described.strides_bytes, strict=True))
    if not 0 <= described.offset_bytes <= high - first - reach:
        raise ArgumentError(
            f"tensor map `{spec.name}`: extents {described.extents} and strides of {described.strides_bytes} bytes reach "
            f"{described.offset_bytes + reach} bytes far, the array `{spec.base}` has {high - first}",
            facts=(f"made at {spec.source}",) if spec.source else (),
        )
    dtype = storage_dtype(DType(spec.dtype))
    _check_modes(dtype, described.box, 0, spec.swizzle_bytes, spec.l2_promotion_bytes, spec.padding)
    return _packed(dtype, described, spec.swizzle_bytes, spec.padding, 0), described.offset_bytes


def _check_shape(
    array: NDArray[Any], extents: Sequence[int], strides: Sequence[int], box: Sequence[int], steps: Sequence[int]
) -> None:
    rank = len(extents)
    if not 1 <= rank <= MAX_RANK:
        raise ArgumentError(f"tensor map: an array of {rank} dimensions; there are 1 to {MAX_RANK}")
    for name, values, count in (("byte strides", strides, rank - 1), ("box", box, rank), ("element strides", steps, rank)):
        if len(values) != count:
            raise ArgumentError(f"tensor map: {name} for {len(values)} dimensions, {count} needed")
    if array.dtype.name not in _TYPES:
        raise ArgumentError(f"tensor map: elements of type {array.dtype.name}; tensor maps know {', '.join(_TYPES)}")
    for axis, extent in enumerate(extents):
        if not 1 <= extent <= _MAX_EXTENT:
            raise ArgumentError(f"tensor map: extent {extent} of dimension {axis}; between 1 and 2^32")
    for axis, stride in enumerate(strides, 1):
        if stride % ALIGNMENT_BYTES or not 0 <= stride < _MAX_STRIDE_BYTES:
            raise ArgumentError(
                f"tensor map: stride of {stride} bytes along dimension {axis}; a multiple of 16 below 2^40",
                help="pad the rows to a multiple of 16 bytes",
            )
    for axis, count in enumerate(box):
        if not 1 <= count <= MAX_BOX:
            raise ArgumentError(f"tensor map: box of {count} elements along dimension {axis}; between 1 and {MAX_BOX}")
    for axis, step in enumerate(steps):
        if not 1 <= step <= MAX_ELEMENT_STRIDE:
            raise ArgumentError(
                f"tensor map: element stride {step} along dimension {axis}; between 1 and {MAX_ELEMENT_STRIDE}"
            )


def _check_modes(
    dtype: np.dtype[Any], box: Sequence[int], interleave: int, swizzle: int, l2_promotion: int, oob_fill: str
) -> None:
    if interleave not in (0, 16, 32):
        raise ArgumentError(f"tensor map: interleave of {interleave} bytes; 0, 16 or 32")
    if interleave:
        raise NotSupported(
            f"tensor map: the emulator does not know interleaved layouts (of {interleave} bytes)",
            help="use interleave_bytes=0, and swizzle_bytes against bank conflicts",
        )
    if swizzle not in _SWIZZLES:
        raise ArgumentError(f"tensor map: swizzle of {swizzle} bytes; 0, 32, 64 or 128")
    if l2_promotion not in (0, 64, 128, 256):
        raise ArgumentError(f"tensor map: L2 promotion of {l2_promotion} bytes; 0, 64, 128 or 256")
    if oob_fill not in ("zero", "nan"):
        raise ArgumentError(f"tensor map: oob_fill is {oob_fill!r}; zero or nan")
    if oob_fill == "nan" and _TYPES[dtype.name] not in _FLOATS:
        raise ArgumentError(f"tensor map: elements of type {dtype.name} outside of the array cannot be NaN")
    row_bytes = box[0] * dtype.itemsize
    if row_bytes % ALIGNMENT_BYTES:
        raise ArgumentError(f"tensor map: rows of a box have {row_bytes} bytes, no multiple of 16")
    if swizzle and row_bytes > swizzle:
        raise ArgumentError(
            f"tensor map: rows of a box have {row_bytes} bytes, more than the {swizzle} of the swizzle",
            help=f"load panels of {swizzle // dtype.itemsize} columns",
        )
    if swizzle and row_bytes < swizzle:
        raise NotSupported(
            f"tensor map: rows of a box have {row_bytes} bytes, fewer than the {swizzle} of the swizzle; "
            "the emulator knows rows of just that size",
            help=f"make the box {swizzle // dtype.itemsize} elements wide, or the swizzle narrower",
        )


def _check_memory(made: TensorMap) -> None:
    """The array's memory is where the tensor map leads, and aligned."""
    from tle2cuda.emulator.launch import device_address, extent_of

    array = made.array
    low, high = extent_of(array)
    first = array.__array_interface__["data"][0]
    if misaligned_bytes := device_address(array, first) % ALIGNMENT_BYTES:
        raise ArgumentError(
            f"tensor map: the array begins at {misaligned_bytes} bytes behind a multiple of 16",
            help="tensor maps need a first element that is aligned to 16 bytes",
        )
    reach = (made.extents[0] - 1) * array.itemsize
    reach += sum((extent - 1) * stride for extent, stride in zip(made.extents[1:], made.strides_bytes, strict=True))
    if first < low or first + reach + array.itemsize > high:
        raise ArgumentError(
            f"tensor map: extents {made.extents} and strides {made.strides_bytes} reach {reach + array.itemsize} bytes "
            f"far, the array has {high - first}"
        )
