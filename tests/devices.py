"""What GPUs this machine has, asked of the driver directly so that no GPU library is imported to find out."""

from __future__ import annotations

import ctypes
import dataclasses
import functools

_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute, CUDA driver API


@dataclasses.dataclass(frozen=True, slots=True)
class Devices:
    """Compute capabilities of the GPUs present, and when there is none, why."""

    capabilities: tuple[tuple[int, int], ...]
    why_none: str = ""

    def why_not(self, marker: str) -> str | None:
        """Returns why a test marked `marker` cannot run here, or None when it can."""
        if not self.capabilities:
            return f"no GPU: {self.why_none}"
        if marker == "cluster" and self.capabilities[0] < (9, 0):
            major, minor = self.capabilities[0]
            return f"clusters need compute capability 9.0, this GPU has {major}.{minor}"
        if marker == "multigpu" and len(self.capabilities) < 2:
            return "needs two GPUs, this machine has one"
        return None


@functools.cache
def find_devices() -> Devices:
    """Asks libcuda for the GPUs of this machine."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Devices((), "libcuda.so.1 is not installed (no NVIDIA driver)")
    status = cuda.cuInit(0)
    if status != 0:
        return Devices((), f"cuInit returned error {status}")
    count = ctypes.c_int(0)
    cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        return Devices((), "the driver lists no device")
    return Devices(tuple(_capability(cuda, ordinal) for ordinal in range(count.value)))


def _capability(cuda: ctypes.CDLL, ordinal: int) -> tuple[int, int]:
    device = ctypes.c_int(0)
    cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    values = []
    for attribute in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR):
        value = ctypes.c_int(0)
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
        values.append(value.value)
    return values[0], values[1]
