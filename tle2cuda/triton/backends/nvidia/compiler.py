"""`triton.backends.nvidia.compiler`: the options of launches, and where ptxas is."""

from __future__ import annotations

import shutil
from types import SimpleNamespace
from typing import Any

from tle2cuda.errors import ToolchainError
from tle2cuda.runtime.active import BaseBackend
from tle2cuda.runtime.options import OPTION_DEFAULTS


class CUDABackend(BaseBackend):
    """Compiles for NVIDIA GPUs; `triton.compile` and launches do the work."""

    @staticmethod
    def supports_target(target: Any) -> bool:
        """Whether a target is an NVIDIA GPU."""
        return bool(target.backend == "cuda")

    def parse_options(self, options: dict[str, Any]) -> SimpleNamespace:
        """All launch options, those not given at their defaults."""
        return SimpleNamespace(**{**OPTION_DEFAULTS, **options})


def get_ptxas(arch: int | None = None) -> Any:
    """The installed ptxas, which tle2cuda itself does not use.

    Raises:
        ToolchainError: There is none.
    """
    path = shutil.which("ptxas")
    if path is None:
        raise ToolchainError("ptxas is not installed", help="install the CUDA toolkit; tle2cuda compiles with NVRTC")
    return SimpleNamespace(path=path)


__all__ = ["CUDABackend", "get_ptxas"]
