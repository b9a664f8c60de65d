"""The few things the host code needs from torch, CuPy or NumPy, whichever the caller's arrays belong to."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


def library_of(array: Any) -> str:
    """Returns "numpy", "cupy" or "torch".

    Raises:
        TypeError: for an array of any other library.
    """
    library = type(array).__module__.partition(".")[0]
    if library not in ("numpy", "cupy", "torch"):
        raise TypeError(f"expected a NumPy, CuPy or torch array, got {type(array).__qualname__}")
    return library


def flatten_ids(ids: Any) -> Any:
    """The ids in row-major order, without a copy where the array is contiguous.

    Raises:
        TypeError: they are not signed integers of 16, 32 or 64 bits, or a torch tensor in the CPU's memory.
    """
    library = library_of(ids)
    if str(ids.dtype).removeprefix("torch.") not in ("int16", "int32", "int64"):
        raise TypeError(f"expert ids must be int16, int32 or int64, got {ids.dtype}")
    if library == "torch" and not ids.is_cuda:
        raise TypeError("expert ids are a torch tensor in the CPU's memory; pass ids.cuda(), or ids.numpy()")
    return in_rows(ids)


def in_rows(array: Any) -> Any:
    """The elements in row-major order, without a copy where the array is contiguous."""
    library = library_of(array)
    if library == "torch":
        return array.reshape(-1).contiguous()
    if library == "cupy":
        import cupy

        return cupy.ascontiguousarray(array).reshape(-1)
    return np.ascontiguousarray(array).reshape(-1)


def new_ints(like: Any, count: int, *, zero: bool = False) -> Any:
    """An int32 array of the same library on the same device."""
    library = library_of(like)
    if library == "torch":
        import torch

        return (torch.zeros if zero else torch.empty)(count, dtype=torch.int32, device=like.device)
    if library == "cupy":
        import cupy

        with like.device:
            return (cupy.zeros if zero else cupy.empty)(count, cupy.int32)
    return (np.zeros if zero else np.empty)(count, np.int32)


def stream_of(array: Any) -> tuple[str, int, int]:
    """What tells streams apart: the library, the device's number and the handle of its current stream."""
    library = library_of(array)
    if library == "torch":
        import torch

        device = array.device.index or 0
        return library, device, torch.cuda.current_stream(device).cuda_stream
    if library == "cupy":
        import cupy

        return library, array.device.id, cupy.cuda.get_current_stream().ptr
    return library, 0, 0


@functools.cache
def multiprocessors_of(library: str, device: int) -> int:
    """How many multiprocessors the GPU has; the interpreter (NumPy arrays) acts as a small one."""
    if library == "torch":
        import torch

        return int(torch.cuda.get_device_properties(device).multi_processor_count)
    if library == "cupy":
        import cupy

        return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])
    return 16


def has_clusters(library: str, device: int) -> bool:
    """Whether the GPU has thread block clusters (compute capability 9.0); the interpreter has."""
    if library == "torch":
        import torch

        return bool(torch.cuda.get_device_capability(device) >= (9, 0))
    if library == "cupy":
        import cupy

        return int(cupy.cuda.Device(device).compute_capability) >= 90
    return True


def is_capturing(library: str) -> bool:
    """Whether launches on the library's current stream are being captured into a CUDA graph."""
    if library == "torch":
        import torch

        return bool(torch.cuda.is_current_stream_capturing())
    if library == "cupy":
        import cupy

        return bool(cupy.cuda.get_current_stream().is_capturing())
    return False
