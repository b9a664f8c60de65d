"""What the host side of the kernels on matrices shares."""

from __future__ import annotations

import math
from typing import Any

from kernels.moe_align_block_size.arrays import library_of, multiprocessors_of, stream_of

COPY_BYTES = 16  # what tensor copies must be aligned to: base addresses, row strides, rows of a box


def power_of_two(count: int) -> int:
    """The smallest power of two that is not below `count`."""
    return 1 << max(count - 1, 0).bit_length()


def element_strides(array: Any) -> tuple[int, ...]:
    """Elements from one index to the next, along each axis, of a torch, CuPy or NumPy array.

    Of an array without elements, which has any strides, those of a contiguous one.
    """
    if 0 in array.shape:
        extents = [max(int(extent), 1) for extent in array.shape]
        return tuple(math.prod(extents[axis + 1 :]) for axis in range(len(extents)))
    if hasattr(array, "stride"):  # torch counts elements
        return tuple(array.stride())
    return tuple(stride // array.itemsize for stride in array.strides)


def are_rows_dense(*arrays: Any) -> bool:
    """Whether the elements along the last axis of each array are neighbours; one by itself always is."""
    return all(array.shape[-1] <= 1 or element_strides(array)[-1] == 1 for array in arrays)


def is_contiguous(array: Any) -> bool:
    """Whether the elements lie one behind the other in row-major order."""
    expected = 1
    for extent, stride in zip(reversed(array.shape), reversed(element_strides(array)), strict=True):
        if extent > 1 and stride != expected:
            return False
        expected *= max(int(extent), 1)
    return True


def is_without_products(c: Any, k: int) -> bool:
    """Whether a product over `k` needs no kernel, as tensors without elements cannot be described to the copy engine.

    Either the result has no elements, or they are all 0, and are written here.
    """
    if k == 0:
        c[...] = 0
    return k == 0 or 0 in c.shape


def row_stride(matrix: Any) -> int:
    """Elements from one row to the next.

    Raises:
        ValueError: it is not a matrix, or the elements of a row are not neighbours.
    """
    if len(matrix.shape) != 2:
        raise ValueError(f"expected a matrix, got shape {tuple(matrix.shape)}")
    strides = element_strides(matrix)
    if not are_rows_dense(matrix):
        raise ValueError(f"the elements of a row must be neighbours, the strides are {strides}")
    return int(strides[0])


def new_array(like: Any, shape: tuple[int, ...], dtype: str | None = None) -> Any:
    """An array of the same library on the same device, its content undefined; of the same dtype unless one is named."""
    library = library_of(like)
    if library == "torch":
        import torch

        return torch.empty(shape, dtype=like.dtype if dtype is None else getattr(torch, dtype), device=like.device)
    if library == "cupy":
        import cupy

        with like.device:
            return cupy.empty(shape, dtype or like.dtype)
    import numpy as np

    return np.empty(shape, dtype or like.dtype)


def check_same(**arrays: Any) -> None:
    """Raises ValueError unless all have one shape and one dtype."""
    first, *others = arrays.values()
    if any(array.shape != first.shape or array.dtype != first.dtype for array in others):
        found = ", ".join(f"{name} {array.dtype} {tuple(array.shape)}" for name, array in arrays.items())
        raise ValueError(f"expected one shape and one dtype, got {found}")


def has_tensor_copies(*matrices: Any) -> bool:
    """Whether the copy engine takes these matrices: their addresses and rows are multiples of 16 bytes."""
    return all(
        row_stride(matrix) * matrix.itemsize % COPY_BYTES == 0 and address_of(matrix) % COPY_BYTES == 0
        for matrix in matrices
    )


def address_of(array: Any) -> int:
    """Address of the first element, of a torch, CuPy or NumPy array."""
    if hasattr(array, "data_ptr"):
        return int(array.data_ptr())
    if hasattr(array, "ctypes"):  # NumPy; `data` of a dtype that it does not know raises
        return int(array.ctypes.data)
    return int(array.data.ptr)


def persistent_ctas(array: Any, work_items: int, ctas_per_multiprocessor: int) -> int:
    """How many CTAs share the work items: as many as are resident at once, no more than there are items."""
    library, device, _ = stream_of(array)
    return max(1, min(work_items, ctas_per_multiprocessor * multiprocessors_of(library, device)))
