"""Options of a launch: their names, their defaults, and their checks."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tle2cuda.errors import InvalidArgument
from tle2cuda.runtime.contract import Dim3
from tle2cuda.targets import DEFAULT_STAGES, MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_CTA, WARP_THREADS, parse_target

MAX_WARPS = MAX_THREADS_PER_CTA // WARP_THREADS
MAX_CTAS_OF_PROGRAM = 16

OPTION_DEFAULTS: Mapping[str, Any] = {
    "num_warps": 4,
    "num_stages": DEFAULT_STAGES,
    "num_ctas": 1,
    "cluster_dims": None,
    "launch_cooperative_grid": False,
    "launch_pdl": False,
    "enable_fp_fusion": True,
    "maxnreg": None,
    "debug": None,
    "sanitize_overflow": True,
}

DEBUG_VARIABLE = "TLE2CUDA_DEBUG"
_DEBUG_VARIABLES = (DEBUG_VARIABLE, "TRITON_DEBUG")


class DebugSetting:
    """Whether kernels that do not say are compiled for debugging: what a script set, else the environment."""

    chosen: bool | None = None

    @classmethod
    def default(cls) -> bool:
        """The setting."""
        if cls.chosen is not None:
            return cls.chosen
        return any(os.environ.get(name, "").lower() in ("1", "true", "on", "yes", "y") for name in _DEBUG_VARIABLES)


def wants_debug(kernel: Any, asked: Any = None) -> bool:
    """Whether device assertions are compiled in: the launch asks for it, or the jit object, or the environment.

    Args:
        kernel: A jit object, or a plain function.
        asked: What the launch says; None leaves it to the jit object.
    """
    own = getattr(kernel, "debug", None) if asked is None else asked
    return bool(own) or DebugSetting.default()


def check_num_warps(num_warps: Any) -> int:
    """A number of warps: a power of two, at most 32.

    Raises:
        InvalidArgument: It is not.
    """
    if isinstance(num_warps, int) and 1 <= num_warps <= MAX_WARPS and num_warps & (num_warps - 1) == 0:
        return num_warps
    raise InvalidArgument(f"num_warps must be a power of two from 1 to {MAX_WARPS}, got {num_warps!r}")


def check_num_stages(num_stages: Any) -> int:
    """A number of stages: 1 or more; None stands for the default.

    Raises:
        InvalidArgument: It is not.
    """
    if num_stages is None:
        return DEFAULT_STAGES
    if isinstance(num_stages, int) and not isinstance(num_stages, bool) and num_stages >= 0:
        return max(1, num_stages)
    raise InvalidArgument(f"num_stages must be a positive int, got {num_stages!r}")


class LaunchOptions:
    """Launch options, checked.

    Args:
        kernel: Name for messages.
        options: What the launch gave.
        arch: Target architecture.
        debug: Whether device assertions are compiled in when the launch does not say.

    Attributes:
        debug: Whether device assertions are compiled in.
        sanitize_overflow: Whether integer arithmetic is asserted not to overflow, when they are.
    """

    def __init__(
        self,
        kernel: str,
        options: Sequence[tuple[str, Any]] | Mapping[str, Any],
        arch: str,
        debug: bool | None = None,
    ) -> None:
        values = {**OPTION_DEFAULTS, **dict(options)}
        asked = values["debug"]
        self.debug = bool(debug if asked is None else asked) or DebugSetting.default()
        self.sanitize_overflow = bool(values["sanitize_overflow"])
        self.num_warps = check_num_warps(values["num_warps"])
        self.num_stages = check_num_stages(values["num_stages"])
        self.cooperative = bool(values["launch_cooperative_grid"])
        self.programmatic = bool(values["launch_pdl"])
        self.fuse_multiply_add = bool(values["enable_fp_fusion"])
        self.max_registers = _check_registers(kernel, values["maxnreg"])
        self.num_ctas = _check_ctas(kernel, values["num_ctas"], arch)
        self.cluster_dims: Dim3 | None = None
        if values["cluster_dims"] is not None:
            self.cluster_dims = _check_cluster(kernel, values["cluster_dims"], arch)

    def check_mesh(self, kernel: str, cluster: Dim3, cooperative: bool) -> None:
        """Refuse several CTAs for each program of a kernel that places its CTAs by a mesh.

        Raises:
            InvalidArgument: It does, and `num_ctas` is not 1.
        """
        if self.num_ctas != 1 and (cluster != (1, 1, 1) or (cooperative and not self.cooperative)):
            raise InvalidArgument(
                f"{kernel}: a launch whose CTAs form clusters or wait for each other requires num_ctas=1, "
                f"got {self.num_ctas}",
                help="leave num_ctas out; the mesh gives the shape of the cluster",
            )


def _check_registers(kernel: str, maximum: Any) -> int | None:
    if maximum is None:
        return None
    if isinstance(maximum, int) and not isinstance(maximum, bool) and 1 <= maximum <= MAX_REGISTERS_PER_THREAD:
        return maximum
    raise InvalidArgument(
        f"{kernel}: maxnreg must be a number of registers from 1 to {MAX_REGISTERS_PER_THREAD}, got {maximum!r}"
    )


def _check_ctas(kernel: str, number: Any, arch: str) -> int:
    """The CTAs that may share a program's work. One does all of it here, which changes no result."""
    is_count = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= MAX_CTAS_OF_PROGRAM
    if not is_count or number & (number - 1):
        raise InvalidArgument(f"{kernel}: num_ctas must be a power of two from 1 to {MAX_CTAS_OF_PROGRAM}, got {number!r}")
    if number > 1 and not parse_target(arch).has("cluster"):
        raise InvalidArgument(f"{kernel}: num_ctas={number} requires NVIDIA SM90+, the target is {arch}")
    return int(number)


def _check_cluster(kernel: str, dims: Any, arch: str) -> Dim3:
    is_dims = isinstance(dims, (tuple, list)) and len(dims) == 3
    if not is_dims or not all(isinstance(d, int) and not isinstance(d, bool) and d > 0 for d in dims):
        raise InvalidArgument(f"{kernel}: cluster_dims must be three positive ints, got {dims!r}")
    x, y, z = dims
    if x * y * z > 1 and not parse_target(arch).has("cluster"):
        raise InvalidArgument(f"{kernel}: cluster_dims={tuple(dims)} requires NVIDIA SM90+, the target is {arch}")
    return x, y, z
