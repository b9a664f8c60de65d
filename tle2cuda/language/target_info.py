"""`tl.target_info`: what kind of device a kernel is compiled for, for conditions on constants.

The answers are about the current device, or the default target where there is none.
"""

from __future__ import annotations

from typing import Any


def current_target() -> Any:
    """Target of the current device, with `backend` and `arch`."""
    from tle2cuda.triton.runtime import driver

    return driver.active.get_current_target()


def is_cuda() -> bool:
    """Whether kernels run on NVIDIA GPUs: always."""
    return True


def is_hip() -> bool:
    """Whether kernels run on AMD GPUs: never."""
    return False


is_hip_cdna3 = is_hip_cdna4 = is_hip


def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    """Whether the compute capability is at least `major`.`minor`."""
    return divmod(int(current_target().arch), 10) >= (int(major), int(minor))


__all__ = ["cuda_capability_geq", "current_target", "is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4"]
