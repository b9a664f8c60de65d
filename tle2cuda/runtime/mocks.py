"""Stand-ins for tensors: a dtype in place of an array, and an array under another dtype."""

from __future__ import annotations

from typing import Any

from tle2cuda.ir.types import DType


class MockTensor:
    """Stands for an aligned tensor of a dtype when a kernel is compiled without being launched.

    Args:
        dtype: Element type.
        shape: Its shape, which compilation does not read.
    """

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        self.dtype = dtype
        self.shape = tuple(shape or (1,))

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """A dtype of the language, torch or NumPy as such a tensor; any other value unchanged."""
        module = type(value).__module__.partition(".")[0]
        is_foreign = module in ("torch", "numpy") and type(value).__name__.lower().endswith("dtype")
        return MockTensor(value) if is_foreign or isinstance(value, DType) else value

    def short_dtype(self) -> str:
        """The dtype in signature notation.

        Raises:
            ArgumentError: Kernels have no such element type.
        """
        if isinstance(self.dtype, DType):
            return self.dtype.short
        from tle2cuda.runtime.descriptions import array_dtype

        return array_dtype(str(self.dtype))

    @staticmethod
    def data_ptr() -> int:
        """An aligned address."""
        return 0

    @staticmethod
    def ptr_range() -> int:
        """Bytes that may be addressed."""
        return 0

    def stride(self) -> tuple[int, ...]:
        """Strides of a contiguous tensor of the shape."""
        strides, step = [], 1
        for extent in reversed(self.shape):
            strides.append(step)
            step *= extent
        return tuple(reversed(strides))


class TensorWrapper:
    """A tensor whose elements a kernel sees as another dtype of the same width.

    Args:
        base: The tensor.
        dtype: A dtype of the language.
    """

    def __init__(self, base: Any, dtype: DType) -> None:
        self.base = base
        self.dtype = dtype
        self.shape = base.shape
        self.device = getattr(base, "device", None)
        self.is_cuda = getattr(base, "is_cuda", False)
        self.data = getattr(base, "data", None)

    def data_ptr(self) -> int:
        """Address of the memory."""
        return int(self.base.data_ptr())

    def stride(self, *args: Any) -> Any:
        """Strides of the tensor."""
        return self.base.stride(*args)

    def element_size(self) -> int:
        """Bytes of an element."""
        return int(self.base.element_size())

    def cpu(self) -> TensorWrapper:
        """The same on the CPU."""
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        """The same on a device."""
        return TensorWrapper(self.base.to(device), self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        """Takes another one's elements."""
        self.base.copy_(other.base)

    def clone(self) -> TensorWrapper:
        """A copy."""
        return TensorWrapper(self.base.clone(), self.dtype)

    def new_empty(self, sizes: Any) -> TensorWrapper:
        """An uninitialised tensor like it."""
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """Lets kernels see a tensor's elements as another dtype of the same width.

    Args:
        tensor: A tensor or array, or what this function returned.
        dtype: A dtype of the language.

    Raises:
        ArgumentError: It is no tensor.
    """
    from tle2cuda.errors import ArgumentError

    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if not any(hasattr(base, name) for name in ("data_ptr", "__array_interface__", "__cuda_array_interface__")):
        raise ArgumentError(f"triton.reinterpret takes a tensor, got {type(tensor).__name__}")
    return base if dtype == getattr(base, "dtype", None) else TensorWrapper(base, dtype)
