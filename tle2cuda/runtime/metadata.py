"""What a compiled kernel tells of itself, by the names that Triton's metadata have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tle2cuda.runtime.active import GPUTarget
from tle2cuda.targets import WARP_THREADS, parse_target
from tle2cuda.triton_imports import LANGUAGE_LEVEL

if TYPE_CHECKING:
    from tle2cuda.runtime.contract import Dim3, LaunchContract
    from tle2cuda.runtime.options import LaunchOptions


class KernelMetadata(NamedTuple):
    """Of one compiled kernel.

    Attributes:
        name: The kernel's symbol in the machine code.
        hash: Digest of the emitted file and its contract.
        target: Device it was compiled for.
        num_warps: Warps of a CTA, those of partitions included.
        num_stages: Stages asked for; None where the kernel was compiled without such an option.
        num_ctas: CTAs of a program.
        shared: Shared memory of a CTA in bytes.
        cluster_dims: CTAs of a cluster.
        launch_cooperative_grid: Whether the CTAs wait for each other.
        launch_pdl: Whether a launch may begin before the one ahead of it ends.
        maxnreg: Most registers of a thread as asked for.
        debug: Whether device assertions are compiled in.
        enable_fp_fusion: Whether multiplications and additions may be contracted.
        arch: The architecture as Triton spells it: ``sm90``.
        backend_name: ``cuda``.
        warp_size: Threads of a warp.
        triton_version: The release whose language is compiled.
    """

    name: str
    hash: str
    target: GPUTarget
    num_warps: int
    num_stages: int | None
    num_ctas: int
    shared: int
    cluster_dims: Dim3
    launch_cooperative_grid: bool
    launch_pdl: bool
    maxnreg: int | None
    debug: bool
    enable_fp_fusion: bool
    arch: str
    backend_name: str = "cuda"
    warp_size: int = WARP_THREADS
    triton_version: str = LANGUAGE_LEVEL

    @property
    def packed(self) -> tuple[int, int, int]:
        """Warps, CTAs of a program, and bytes of shared memory, as Triton's launchers take them."""
        return (self.num_warps, self.num_ctas, self.shared)


def make_metadata(
    contract: LaunchContract,
    hash: str,
    options: LaunchOptions | None = None,
    num_warps: int = 0,
    num_stages: int | None = None,
) -> KernelMetadata:
    """The metadata of a kernel: from its contract, and the launch options that were asked for.

    Args:
        contract: How to launch.
        hash: Digest of the kernel.
        options: What a launch asked for. CTAs of the contract have fewer warps than that when the kernel cannot use
            them, and more when partitions add their own, which the metadata tell, too.
        num_warps: Warps asked for, without `options`.
        num_stages: Stages asked for, without `options`.
    """
    major, minor = parse_target(contract.target).capability
    arch = 10 * major + minor
    return KernelMetadata(
        name=contract.kernel_name,
        hash=hash,
        target=GPUTarget("cuda", arch, WARP_THREADS),
        num_warps=max(contract.num_warps, num_warps if options is None else options.num_warps),
        num_stages=num_stages if options is None else options.num_stages,
        num_ctas=1 if options is None else options.num_ctas,
        shared=contract.shared_bytes,
        cluster_dims=contract.cluster,
        launch_cooperative_grid=contract.cooperative,
        launch_pdl=contract.programmatic,
        maxnreg=None if options is None else options.max_registers,
        debug=options is not None and options.debug,
        enable_fp_fusion=options is None or options.fuse_multiply_add,
        arch=f"sm{arch}",
    )
