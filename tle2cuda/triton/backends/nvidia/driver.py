"""`triton.backends.nvidia.driver`: the driver under its class's name."""

from __future__ import annotations

import functools
import os
import pathlib

from tle2cuda.runtime.active import ActiveDriver as CudaDriver

_FOLDERS = (
    *("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib"),
    *("/usr/local/cuda/compat", "/usr/local/nvidia/lib64"),
)


@functools.cache
def libcuda_dirs() -> list[str]:
    """Folders in which the driver's library lies, which scripts hand to a linker.

    Raises:
        AssertionError: There is none, as on a machine without a GPU.
    """
    named = os.environ.get("TRITON_LIBCUDA_PATH")
    if named:
        return [named]
    searched = (*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *_FOLDERS)
    found = [folder for folder in dict.fromkeys(searched) if folder and (pathlib.Path(folder) / "libcuda.so.1").exists()]
    if not found:
        raise AssertionError(f"libcuda.so.1 lies in none of {', '.join(_FOLDERS)}: no NVIDIA driver is installed")
    return found


def library_dirs() -> list[str]:
    """The same under its other name."""
    return list(libcuda_dirs())


__all__ = ["CudaDriver", "libcuda_dirs", "library_dirs"]
