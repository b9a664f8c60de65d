"""A compiled kernel: a `cupy.RawKernel` that runs our cubin as its contract says."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle2cuda.errors import LaunchError
from tle2cuda.runtime import toolkit
from tle2cuda.runtime.cache import digest
from tle2cuda.runtime.contract import Dim3, LaunchContract, check_grid, normalize_grid
from tle2cuda.runtime.launcher import Launcher, is_torch, stream_getter
from tle2cuda.runtime.metadata import KernelMetadata, make_metadata
from tle2cuda.runtime.nvrtc import CompileOptions
from tle2cuda.runtime.report import Report, Resources, make_report
from tle2cuda.runtime.sass import disassemble
from tle2cuda.targets import MAX_THREADS_PER_CTA

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span


_REMEMBERED_SHAPES = 256
_FORMS = ("cu", "ptx", "cubin", "sass")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Everything a compilation leaves behind.

    Attributes:
        contract: How to launch.
        source: The emitted file.
        source_path: Where it is kept for people; it may be missing when the cache cannot be written.
        cubin: Machine code.
        ptx: PTX text.
        resources: What ptxas reported.
        options: How it was compiled.
        line_map: Lines of the emitted file with the places in the user's source they come from.
        span: The kernel's definition.
        ir_dumps: IR after each pass that was asked for.
        from_cache: The cubin came from the disk cache.
        op_map: Lines of the emitted file with the operations they are written for.
    """

    contract: LaunchContract
    source: str
    source_path: Path
    cubin: bytes
    ptx: str
    resources: Resources
    options: CompileOptions
    line_map: tuple[tuple[int, Span], ...] = ()
    span: Span | None = None
    ir_dumps: Mapping[str, str] = field(default_factory=dict)
    from_cache: bool = False
    op_map: tuple[tuple[int, str], ...] = ()


class Assembly(Mapping[str, Any]):
    """The forms of a kernel by name: ``cu``, ``ptx``, ``cubin``, ``sass``; SASS is made when first read."""

    def __init__(self, artifact: Artifact) -> None:
        self._artifact = artifact
        self._sass: str | None = None

    def __getitem__(self, key: str) -> Any:
        artifact = self._artifact
        if key == "cu":
            return artifact.source
        if key == "ptx":
            return artifact.ptx
        if key == "cubin":
            return artifact.cubin
        if key == "sass":
            if self._sass is None:
                self._sass = disassemble(artifact.cubin, artifact.contract.kernel_name)
            return self._sass
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(_FORMS)

    def __len__(self) -> int:
        return len(_FORMS)


class HostAssembly(Mapping[str, Any]):
    """The same of a kernel that is launched on the CPU: all but ``cu`` is compiled when first read.

    Args:
        source: The emitted file.
        compiled: Gives the forms of the compiled kernel.
    """

    def __init__(self, source: str, compiled: Callable[[], Mapping[str, Any]]) -> None:
        self._source = source
        self._compiled = compiled

    def __getitem__(self, key: str) -> Any:
        if key == "cu":
            return self._source
        if key not in _FORMS:
            raise KeyError(key)
        return self._compiled()[key]

    def __contains__(self, key: object) -> bool:
        return key in _FORMS

    def __iter__(self) -> Iterator[str]:
        return iter(_FORMS)

    def __len__(self) -> int:
        return len(_FORMS)


def make_kernel(artifact: Artifact) -> Any:
    """The compiled kernel as an object of `compiled_kernel_class()`; needs CuPy, but no driver.

    Raises:
        ToolchainError: CuPy is missing.
    """
    return compiled_kernel_class()(artifact)


@functools.cache
def compiled_kernel_class() -> Any:
    """The class `CompiledKernel`, made when CuPy is first needed.

    Raises:
        ToolchainError: CuPy is missing.
    """
    base: Any = toolkit.require_cupy().RawKernel

    class CompiledKernel(base):  # type: ignore[misc]  # CuPy has no type information
        """A kernel compiled by tle2cuda; launched like any `cupy.RawKernel`.

        `k(grid, block, args)` takes the grid in CTAs. Arguments are converted as the contract says, so a
        Python float is right for an fp32 argument; scratch buffers are added. A launch goes to the
        device and torch's current stream of the first torch tensor among the arguments, else to CuPy's current ones.

        Attributes:
            source: The emitted file.
            contract: How to launch.
            report: Registers, spills, shared memory, occupancy.
            metadata: What Triton's metadata tell: `name`, `target`, `shared`, `num_warps` and others.
            asm: The kernel's forms: ``cu``, ``ptx``, ``cubin``, ``sass``.
            launcher: The launch path that `kernel[grid]` uses.
        """

        def __init__(self, artifact: Artifact) -> None:
            contract = artifact.contract
            super().__init__(
                artifact.source,
                contract.kernel_name,
                artifact.options.flags(),
                enable_cooperative_groups=contract.cooperative,
            )
            self.artifact = artifact
            self.source = artifact.source
            self.source_path = artifact.source_path
            self.contract: LaunchContract = contract
            self.report: Report = make_report(contract, artifact.resources, artifact.source)
            self.metadata: KernelMetadata = make_metadata(contract, self.hash)
            self.asm = Assembly(artifact)
            self.launcher = Launcher(contract, artifact.cubin, artifact.span)
            self._shapes: dict[Any, Dim3] = {}
            self._bound_launch: Any = None

        def __reduce__(self) -> tuple[Any, ...]:
            return (make_kernel, (self.artifact,))

        def __repr__(self) -> str:
            return f"<tle2cuda kernel {self.contract.kernel_name} for {self.contract.target}>"

        def _kernel(self, log_stream: Any = None) -> Any:
            """The loaded function; CuPy's attribute properties read it."""
            return self.launcher.function()

        @property
        def kernel(self) -> Any:
            """The `cupy.cuda.Function` on the current device."""
            return self.launcher.function()

        def compile(self, log_stream: Any = None) -> None:
            """Load the kernel on the current device; it is already compiled."""
            self.launcher.function()

        # What Triton's compiled kernels have.

        @property
        def n_regs(self) -> int:
            """Registers of one thread."""
            return artifact_resources(self).registers

        @property
        def n_spills(self) -> int:
            """Registers that were spilled to local memory, in 4-byte words."""
            resources = artifact_resources(self)
            return (resources.spill_store_bytes + 3) // 4

        @property
        def n_max_threads(self) -> int:
            """Threads that a CTA may have."""
            return MAX_THREADS_PER_CTA

        @property
        def shared(self) -> int:
            """Shared memory of one CTA in bytes."""
            return self.contract.shared_bytes

        @property
        def num_warps(self) -> int:
            """Warps of one CTA."""
            return self.contract.num_warps

        @property
        def packed_metadata(self) -> tuple[int, int, int]:
            """Warps, CTAs of a program, and bytes of shared memory, as Triton's launchers take them."""
            return self.metadata.packed

        @property
        def hash(self) -> str:
            """Digest of all that the machine code depends on."""
            return digest(self.source, self.contract.to_json(), "\n".join(self.artifact.options.flags()))

        @property
        def function(self) -> int:
            """Handle of the loaded function on the current device."""
            return int(self.launcher.function().ptr)

        def _init_handles(self) -> None:
            """Load the kernel on the current device."""
            self.launcher.function()

        def bind_launch(self, values: Any, bound: Any) -> None:
            """Say what `kernel[grid]` makes of the arguments of the kernel's own parameters.

            Args:
                values: Function from the arguments to what `GPULaunch` takes.
                bound: The arguments that the kernel was compiled for.
            """
            self._bound_launch = (values, bound)

        def __getitem__(self, grid: Any) -> Any:
            """The launch with a grid, of the kernel's arguments; constants are passed and not read."""
            if self._bound_launch is None:
                raise LaunchError(
                    f"{self.contract.kernel_name} was compiled ahead of time, so its parameters are not known",
                    help="launch it as k(grid, block, args)",
                )
            values, bound = self._bound_launch

            def launch(*args: Any) -> Any:
                from tle2cuda.runtime.launches import GPULaunch, placed

                return GPULaunch(self, placed(bound, args))(grid, values(args))

            return launch

        def __call__(
            self,
            grid: int | Sequence[int],
            block: int | Sequence[int],
            args: Sequence[Any],
            *,
            shared_mem: int | None = None,
            stream: Any = None,
        ) -> None:
            """Launch.

            Args:
                grid: CTAs along x, y, z; a multiple of the cluster shape.
                block: Threads of one CTA, which must be the contract's.
                args: One value for each argument of the contract, also for those that only tensor maps are made of; a
                    `TensorDescriptor` stands for its tensor, its extents, and its strides but the last.
                shared_mem: Dynamic shared memory in bytes; the contract's when None or 0.
                stream: CuPy or torch stream, instead of the current one.

            Raises:
                LaunchError: Grid or block do not fit the contract or the device.
                ArgumentError: The arguments do not fit the contract.
            """
            shape = (grid, block)
            ctas = self._shapes.get(shape) if type(grid) is tuple and type(block) is tuple else None
            if ctas is None:
                ctas = _check_shape(self.contract, grid, block)
                if type(grid) is tuple and type(block) is tuple and len(self._shapes) < _REMEMBERED_SHAPES:
                    self._shapes[shape] = ctas
            launcher = self.launcher
            launcher.start()
            tensor = next((value for value in args if is_torch(type(value))), None)
            device = tensor.get_device() if tensor is not None else -1
            where = device if device >= 0 else None
            if stream is not None:
                handle = int(getattr(stream, "ptr", getattr(stream, "cuda_stream", stream)))
            else:
                handle = stream_getter("cupy" if where is None else "torch")(where)
            launcher.launch(ctas, launcher.addresses(args), handle, where, shared_mem or None)

    CompiledKernel.__qualname__ = "CompiledKernel"
    return CompiledKernel


def artifact_resources(kernel: Any) -> Resources:
    """What ptxas reported of a kernel."""
    resources: Resources = kernel.artifact.resources
    return resources


def _check_shape(contract: LaunchContract, grid: int | Sequence[int], block: int | Sequence[int]) -> tuple[int, int, int]:
    """Grid and block of a call, checked against the contract."""
    threads = normalize_grid(block)
    if threads != (contract.cta_threads, 1, 1):
        raise LaunchError(
            f"{contract.kernel_name} was compiled for {contract.cta_threads} threads per CTA, launched with {threads}",
            help=f"pass block=({contract.cta_threads},)",
        )
    ctas = normalize_grid(grid)
    check_grid(ctas)
    for axis, extent, cluster in zip("xyz", ctas, contract.cluster, strict=True):
        if extent % cluster:
            raise LaunchError(
                f"grid extent {axis} = {extent} is not a multiple of the cluster's {cluster} CTAs",
                facts=(f"cluster of {contract.kernel_name}: {contract.cluster}",),
                help="k(grid, block, args) counts CTAs; kernel[grid] counts clusters",
            )
    return ctas
