"""`TensorDescriptor`: a tensor with the shape of the blocks that kernels move, made on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import InvalidArgument


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

    @staticmethod
    def from_tensor(tensor: Any, block_shape: Sequence[int], padding: str = "zero") -> TensorDescriptor:
        """The descriptor of a whole tensor.

        Args:
            tensor: A torch tensor.
            block_shape: Extents of a block.
            padding: What lies outside.
        """
        return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), list(block_shape), padding)
