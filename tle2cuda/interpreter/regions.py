"""Pieces of memory a pointer can point into: the arrays of a launch, the shared buffers of its CTAs."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.interpreter.addresses import ADDRESS_MASK, OFFSET_BIAS, global_address, shared_address
from tle2cuda.ir.types import BufferType, DType

POISON_FLOAT, POISON_INT = 0xFF, 0xA5
"""Bytes of never-written shared memory: NaN for floats, a number far out of any range for integers."""

Bytes = NDArray[np.uint8]


class Region:
    """A contiguous range of bytes that pointers of one origin may touch.

    Attributes:
        name: What messages call it, such as ``argument x`` or ``shared buffer count``.
        base: Pointer word of the first byte.
        origin: Pointer word of element 0 (differs from `base` for arrays with negative strides).
        size_bytes: Number of bytes.
        writeable: False for read-only arrays.
        cta_slot: Owner of a shared buffer; -1 for global memory.
        written: Which bytes were ever written (1) or not (0); None when not tracked.
    """

    __slots__ = ("_views", "base", "cta_slot", "data", "name", "origin", "size_bytes", "writeable", "written")

    def __init__(
        self, name: str, base: int, origin: int, data: Bytes, *, writeable: bool = True, cta_slot: int = -1
    ) -> None:
        self.name = name
        self.base = base
        self.origin = origin
        self.data = data
        self.size_bytes = len(data)
        self.writeable = writeable
        self.cta_slot = cta_slot
        self.written: Bytes | None = None
        self._views: dict[np.dtype[Any], tuple[int, NDArray[Any]]] = {}

    def view(self, dtype: np.dtype[Any]) -> tuple[int, NDArray[Any]]:
        """The memory as elements of `dtype`, and the bytes skipped before the first aligned element."""
        found = self._views.get(dtype)
        if found is None:
            skipped = min(-(self.base & ADDRESS_MASK) % dtype.itemsize, self.size_bytes)
            count = (self.size_bytes - skipped) // dtype.itemsize
            data = self.data[skipped : skipped + count * dtype.itemsize]
            found = self._views[dtype] = (skipped, data.view(dtype))
        return found

    def element_of(self, address: int, element_bytes: int) -> int:
        """The index an address has, counted in elements from element 0."""
        return (address - self.origin) // element_bytes

    def describe_extent(self, element_bytes: int) -> str:
        """How large it is, for messages: ``has 1000 elements`` or, with negative strides, a range."""
        first = -((self.origin - self.base) // element_bytes)
        count = self.size_bytes // element_bytes
        if first:
            return f"spans elements {first} to {first + count - 1}"
        return f"has {count} element{'s' if count != 1 else ''}"


def _byte_extent(array: NDArray[Any]) -> tuple[int, int]:
    """Lowest address and one past the highest byte that a view of any strides touches."""
    low = high = array.__array_interface__["data"][0]
    if array.size == 0:
        return low, low
    for extent, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + array.itemsize


def array_region(name: str, array: NDArray[Any], tag: int) -> Region:
    """The memory of a NumPy array: from the lowest to the highest byte its elements occupy.

    A view with gaps is one range, as on the GPU: pointers address memory, not the view's elements.
    """
    low, high = _byte_extent(array)
    origin = array.__array_interface__["data"][0]
    if high > low:
        raw = (ctypes.c_ubyte * (high - low)).from_address(low)
        data: Bytes = np.ctypeslib.as_array(raw)
    else:
        data = np.empty(0, dtype=np.uint8)
    return Region(name, global_address(tag, low), global_address(tag, origin), data, writeable=array.flags.writeable)


class SharedLayout:
    """What all CTAs have in common about one `alloc`: name, number, type, initial content."""

    __slots__ = ("element", "is_padding", "name", "number", "size_bytes", "zero")

    def __init__(self, number: int, name: str, type_: BufferType, zero: bool) -> None:
        self.number = number
        self.name = name
        self.element: DType = type_.element
        self.size_bytes = type_.size_bytes
        self.zero = zero
        self.is_padding: Bytes | None = None
        if type_.logical_shape is not None and type_.logical_shape != type_.shape:
            inside = np.zeros(type_.shape, dtype=np.uint8)
            inside[tuple(slice(extent) for extent in type_.logical_shape)] = 1
            self.is_padding = np.repeat(1 - inside.reshape(-1), type_.element.bytes)

    def create(self, cta_slot: int, *, track: bool) -> Region:
        """The buffer of one CTA, with undefined content unless the allocation asks for zeros."""
        data = np.zeros(self.size_bytes, dtype=np.uint8)
        base = shared_address(cta_slot, self.number)
        region = Region(f"shared buffer {self.name}", base, base, data, cta_slot=cta_slot)
        if not self.zero:
            if track:
                region.written = np.zeros(self.size_bytes, dtype=np.uint8)
            self.forget(region)
        return region

    def forget(self, region: Region) -> None:
        """Make the content undefined, as each execution of an `alloc` does; zeroed buffers keep theirs."""
        if self.zero:
            return
        region.data[:] = POISON_FLOAT if self.element.is_floating() else POISON_INT
        if region.written is not None:
            region.written[:] = 0
            if self.is_padding is not None:
                # Padding is undefined data that may be read: consumers must not depend on it.
                region.written |= self.is_padding


assert OFFSET_BIAS % 16 == 0, "shared pointers are aligned when their byte offset is"
