"""`TensorDescriptor`: a tensor with the shape of the blocks that kernels move, made on the host."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import ArgumentError, InvalidArgument
from tle2cuda.runtime.contract import DTYPE_BYTES, ArgSpec


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


_SPELLING = re.compile(r"tensordesc<(?P<dtype>[a-z]\w*)\[(?P<shape>[\d, ]+)\](?:, *(?P<padding>nan|zero))?>")


@dataclass(frozen=True, slots=True)
class DescriptorArgument:
    """How a parameter that takes a `TensorDescriptor` is passed: as a pointer, its extents and its strides.

    It stands among a specialisation's constants under the parameter's name; its parts stand among the arguments.

    Attributes:
        name: The parameter.
        dtype: Element type in signature notation.
        block_shape: Extents of a block.
        padding: What lies outside: ``zero`` or ``nan``.
        divisible: For each extent, whether it is divisible by 16.
    """

    name: str
    dtype: str
    block_shape: tuple[int, ...]
    padding: str = "zero"
    divisible: tuple[bool, ...] = ()

    def __str__(self) -> str:
        padding = "" if self.padding == "zero" else f", {self.padding}"
        return f"tensordesc<{self.dtype}[{', '.join(map(str, self.block_shape))}]{padding}>"

    def specs(self) -> tuple[ArgSpec, ...]:
        """The arguments it becomes: the pointer, int32 extents, int64 strides without the last one, which is 1."""
        aligned = 16
        known = self.divisible or (False,) * len(self.block_shape)
        pointer = ArgSpec(self.name, "pointer", self.dtype, aligned)
        extents = tuple(
            ArgSpec(f"{self.name}_extent{i}", "scalar", "i32", aligned if divisible else 1)
            for i, divisible in enumerate(known)
        )
        strides = tuple(ArgSpec(f"{self.name}_stride{i}", "scalar", "i64") for i in range(len(self.block_shape) - 1))
        return (pointer, *extents, *strides)

    @classmethod
    def parse(cls, name: str, text: str) -> DescriptorArgument | None:
        """The argument that ``tensordesc<fp16[64, 64]>`` in a signature means; None when it is something else.

        Raises:
            ArgumentError: The element type is unknown.
        """
        match = _SPELLING.fullmatch(text)
        if match is None:
            return None
        dtype = {"fp8e4m3fn": "fp8e4nv", "fp8e5m2": "fp8e5"}.get(match["dtype"], match["dtype"])
        if dtype not in DTYPE_BYTES:
            raise ArgumentError(f"`{name}`: unknown type {dtype!r} in the signature entry {text!r}")
        shape = tuple(int(extent) for extent in match["shape"].split(","))
        return cls(name, dtype, shape, match["padding"] or "zero")


def is_descriptor(value: Any) -> bool:
    """Whether a value is a `TensorDescriptor`, of Triton too."""
    return type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape")


def descriptor_parts(value: Any, element_bytes: int) -> tuple[int, ...]:
    """Extents and strides of a descriptor as they are passed.

    Raises:
        ArgumentError: An extent does not fit 32 bits, or a stride is no multiple of 16 bytes.
    """
    shape, strides = tuple(map(int, value.shape)), tuple(map(int, value.strides))
    for extent in shape:
        if not 0 <= extent < 1 << 31:
            raise ArgumentError(f"the extent {extent} of a TensorDescriptor does not fit 32 bits")
    for stride in strides[:-1]:
        if stride * element_bytes % 16:
            raise ArgumentError(
                f"the stride {stride} of a TensorDescriptor, {stride * element_bytes} bytes, is no multiple of 16 bytes"
            )
    if strides[-1] != 1:
        raise ArgumentError(f"the last axis of a TensorDescriptor is contiguous, got stride {strides[-1]}")
    return (*shape, *strides[:-1])
