"""`TensorDescriptor`: a tensor with the shape of the blocks that kernels move, made on the host."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tle2cuda.errors import InvalidArgument


def _address(tensor: Any) -> int | None:
    """Where a tensor or array begins; None when it does not tell."""
    if hasattr(tensor, "data_ptr"):
        return int(tensor.data_ptr())
    for name in ("__cuda_array_interface__", "__array_interface__"):
        if hasattr(tensor, name):
            return int(getattr(tensor, name)["data"][0] or 0)
    return None


def _element_bytes(tensor: Any) -> int:
    """Bytes of an element."""
    if hasattr(tensor, "element_size"):
        return int(tensor.element_size())
    if hasattr(tensor, "itemsize"):
        return int(tensor.itemsize)
    # A wrapper with an address and a dtype, or a stand-in.
    from tle2cuda.runtime.contract import DTYPE_BYTES
    from tle2cuda.runtime.descriptions import array_dtype

    return DTYPE_BYTES[tensor.short_dtype() if hasattr(tensor, "short_dtype") else array_dtype(str(tensor.dtype))]


@dataclass
class TensorDescriptor:
    """A tensor that a kernel loads and stores in blocks.

    Attributes:
        base: The tensor.
        shape: Its extents in elements.
        strides: Its strides in elements; the last is 1.
        block_shape: Extents of a block.
        padding: What lies outside: ``zero`` or ``nan``.
        round_f32_to_tf32: Loaded float32 elements may be rounded to TF32.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    # What the last launch found, as `tle2cuda.runtime.descriptions` keeps it: launches after it check no parts again.
    checked: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rank = len(self.shape)
        if not rank or rank != len(self.strides) or rank != len(self.block_shape):
            raise InvalidArgument(
                f"a TensorDescriptor has one extent, stride and block extent for every axis, got shape {list(self.shape)}, "
                f"strides {list(self.strides)}, block_shape {list(self.block_shape)}"
            )
        if self.strides[-1] != 1:
            raise InvalidArgument(
                f"the last axis of a TensorDescriptor is contiguous, got stride {self.strides[-1]}",
                help="describe the transposed tensor, or make the tensor contiguous",
            )
        if self.padding not in ("zero", "nan"):
            raise InvalidArgument(f"padding of a TensorDescriptor is zero or nan, got {self.padding!r}")
        address = _address(self.base)
        if address is not None:
            self.check(aligned=address % 16 == 0)

    def check(self, aligned: bool) -> None:
        """What every load and store may rely on.

        Args:
            aligned: The tensor begins at a multiple of 16 bytes.

        Raises:
            InvalidArgument: It does not, or rows do not.
        """
        if not aligned:
            raise InvalidArgument("the tensor of a TensorDescriptor begins at a multiple of 16 bytes, this one does not")
        size = _element_bytes(self.base)
        for axis, stride in enumerate(self.strides[:-1]):
            if stride * size % 16:
                raise InvalidArgument(
                    f"rows of a TensorDescriptor begin at multiples of 16 bytes; stride {axis} is {stride} elements of "
                    f"{size} bytes",
                    help="pad the rows of the tensor",
                )
        if min(self.shape) < 0 or max(self.shape) > 0x7FFFFFFF:
            raise InvalidArgument(f"extents of a TensorDescriptor have 31 bits, got {list(self.shape)}")

    @staticmethod
    def from_tensor(tensor: Any, block_shape: Sequence[int], padding: str = "zero") -> TensorDescriptor:
        """The descriptor of a whole tensor.

        Args:
            tensor: A torch tensor, or an array.
            block_shape: Extents of a block.
            padding: What lies outside.
        """
        if callable(getattr(tensor, "stride", None)):
            strides = list(tensor.stride())
        elif all(tensor.shape):
            strides = [step // tensor.itemsize for step in tensor.strides]
        else:  # NumPy gives an empty array any strides
            strides = [math.prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
        return TensorDescriptor(tensor, list(tensor.shape), strides, list(block_shape), padding)
