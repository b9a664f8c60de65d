"""`triton.backends`: the one backend there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tle2cuda.triton.backends.compiler import BaseBackend, GPUTarget


@dataclass(frozen=True)
class Backend:
    """A backend's compiler and driver."""

    compiler: Any
    driver: Any


def _discover() -> dict[str, Backend]:
    from tle2cuda.runtime.active import ActiveDriver
    from tle2cuda.triton.backends.nvidia.compiler import CUDABackend

    return {"nvidia": Backend(CUDABackend, ActiveDriver)}


backends = _discover()

__all__ = ["Backend", "BaseBackend", "GPUTarget", "backends"]
