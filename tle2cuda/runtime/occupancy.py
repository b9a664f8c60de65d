"""Asking the driver how many CTAs or clusters are resident at once, before a launch that depends on it."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tle2cuda.runtime.contract import Dim3

# CUDA Driver API 13.0, CUlaunchAttributeID and CUfunction_attribute.
_ATTRIBUTE_CLUSTER_DIMENSION = 4
NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
_SUCCESS = 0


class _LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute: an identifier and a union of 64 bytes, of which the cluster uses three words."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("_padding", ctypes.c_char * 4),
        ("value", ctypes.c_uint * 16),
    )


class _LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_LaunchAttribute)),
        ("num_attributes", ctypes.c_uint),
    )


@functools.cache
def _driver() -> Any:
    """The driver library, or None where its functions cannot be reached."""
    for name in ("libcuda.so.1", "libcuda.so", "nvcuda.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "cuOccupancyMaxActiveClusters"):
            return library
    return None


def max_resident_ctas(function: int, cta_threads: int, dynamic_shared_bytes: int) -> int:
    """CTAs of a loaded function that one SM holds."""
    from cupy.cuda import driver

    return int(driver.occupancyMaxActiveBlocksPerMultiprocessor(function, cta_threads, dynamic_shared_bytes))


def max_resident_clusters(function: int, cluster: Dim3, cta_threads: int, dynamic_shared_bytes: int) -> int | None:
    """Clusters of a loaded function that the current device holds; None when the driver cannot be asked."""
    library = _driver()
    if library is None:
        return None
    attribute = _LaunchAttribute(id=_ATTRIBUTE_CLUSTER_DIMENSION)
    attribute.value[0:3] = list(cluster)
    config = _LaunchConfig(
        grid=(ctypes.c_uint * 3)(*cluster),
        block=(ctypes.c_uint * 3)(cta_threads, 1, 1),
        shared_bytes=dynamic_shared_bytes,
        attributes=ctypes.pointer(attribute),
        num_attributes=1,
    )
    count = ctypes.c_int()
    status = library.cuOccupancyMaxActiveClusters(ctypes.byref(count), ctypes.c_void_p(function), ctypes.byref(config))
    return count.value if status == _SUCCESS else None


def launch_programmatic(
    function: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    shared_bytes: int,
    stream: int,
    parameters: int,
    extra: int,
) -> None:
    """Launch a grid that may begin before the one in front of it has ended; arguments as of CuPy's `launchKernel`.

    Raises:
        CUDADriverError: The driver refuses.
    """
    from cupy_backends.cuda.api.driver import CUDADriverError

    library = _driver()
    if library is None:
        raise CUDADriverError(3)  # CUDA_ERROR_NOT_INITIALIZED
    attribute = _LaunchAttribute(id=_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
    attribute.value[0] = 1
    config = _LaunchConfig(
        grid=(ctypes.c_uint * 3)(grid_x, grid_y, grid_z),
        block=(ctypes.c_uint * 3)(block_x, block_y, block_z),
        shared_bytes=shared_bytes,
        stream=stream or None,
        attributes=ctypes.pointer(attribute),
        num_attributes=1,
    )
    status = library.cuLaunchKernelEx(
        ctypes.byref(config), ctypes.c_void_p(function), ctypes.c_void_p(parameters), ctypes.c_void_p(extra or None)
    )
    if status != _SUCCESS:
        raise CUDADriverError(status)
