"""`triton.backends.nvidia.compiler`: the options of launches, and where ptxas is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
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


def min_dot_size(target: Any) -> Callable[[Any, Any], tuple[int, int, int]]:
    """Function from the types of `tl.dot`'s operands to the smallest M, N and K that it takes."""

    def smallest(lhs_type: Any, rhs_type: Any) -> tuple[int, int, int]:
        bits = getattr(lhs_type, "scalar", lhs_type).primitive_bitwidth
        return (1, 1, 32 if bits == 8 else 16)

    return smallest


__all__ = ["CUDABackend", "get_ptxas", "min_dot_size"]
