"""What a specialisation of a kernel becomes: a launch on a GPU, or one on arrays in host memory."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from struct import error as StructError
from typing import TYPE_CHECKING, Any

from tle2cuda.compiler import EmittedKernel, trace_specialized
from tle2cuda.errors import ArgumentError, CompilationError, CompilationErrors, DeviceCodeError, ToolchainError
from tle2cuda.levels import default_level
from tle2cuda.runtime.args import BoundArguments, Place, picker
from tle2cuda.runtime.cache import digest
from tle2cuda.runtime.contract import Dim3, LaunchContract, check_grid, normalize_grid
from tle2cuda.runtime.device import DEVICE_VARIABLE, chosen_device, host_device
from tle2cuda.runtime.frames import warn_user, without_frames
from tle2cuda.runtime.options import LaunchOptions
from tle2cuda.runtime.wrappers import refuse_addresses
from tle2cuda.targets import DEFAULT_TARGET, MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_CTA, parse_target

if TYPE_CHECKING:
    from tle2cuda.jit_function import JitFunction
    from tle2cuda.runtime.metadata import KernelMetadata

_REMEMBERED_GRIDS = 1024


class GPULaunch:
    """Launches one compiled kernel: the fast path.

    Args:
        compiled: The compiled kernel.
        bound: The arguments it was compiled for.
    """

    __slots__ = ("compiled", "contract", "device", "grids", "launch", "pick", "stream")

    def __init__(self, compiled: Any, bound: BoundArguments) -> None:
        from tle2cuda.runtime.launcher import stream_getter

        self.compiled = compiled
        self.contract: LaunchContract = compiled.contract
        self.device = bound.device
        self.pick = picker(bound.runtime_indices)
        self.launch = compiled.launcher.launch
        self.stream = stream_getter(bound.library)
        self.grids: dict[Any, Dim3] = {}

    def __call__(self, grid: Any, values: tuple[Any, ...]) -> Any:
        try:
            ctas = self.grids.get(grid)
        except TypeError:  # a list
            grid = tuple(grid)
            ctas = self.grids.get(grid)
        if ctas is None:
            ctas = self.contract.launch_grid(grid)
            if len(self.grids) < _REMEMBERED_GRIDS:
                self.grids[grid] = ctas
        self.launch(ctas, self.pick(values), self.stream(self.device), self.device)
        return self.compiled

    def fast_path(self) -> Callable[[Any, tuple[Any, ...]], Any] | None:
        """The same as one function, for launches after the first; None as long as the kernel is not loaded."""
        if not self.compiled.launcher.is_loaded(self.device):
            return None
        state = self.compiled.launcher.fast_state(self.device)
        if state is None:
            return self
        current_device, launch_kernel, driver_error, block, function, threads, shared_bytes, failure, assemble = state
        compiled, device, grids, pick, stream = self.compiled, self.device, self.grids, self.pick, self.stream

        def launch(grid: Any, values: tuple[Any, ...]) -> Any:
            if current_device() != device:
                return self(grid, values)
            try:
                x, y, z = grids[grid]
                if not (x and y and z):
                    return compiled
                pack, buffer, parameters = block.state
                if assemble is None:
                    pack(buffer, 0, *pick(values))
                else:
                    passed, maps = assemble(pick(values))
                    pack(buffer, 0, *passed, *maps)
            except (KeyError, TypeError, StructError, OverflowError):
                return self(grid, values)
            try:
                launch_kernel(function, x, y, z, threads, 1, 1, shared_bytes, stream(device), parameters, 0)
            except driver_error as error:
                raise failure(error, (x, y, z), shared_bytes) from None
            return compiled

        return launch


class HostLaunch:
    """Runs a kernel on arrays in host memory: interpreted, as ordinary Python, or as its emitted file in the emulator.

    A launch returns this object, which also tells what Triton's compiled kernel would: what needs the compiled
    kernel, such as its registers, compiles it when first asked.

    Args:
        kernel: The jit object.
        bound: The arguments it is specialised for.
        settings: The launch options.

    Attributes:
        accepted: The front end has found nothing wrong with the kernel.
    """

    def __init__(self, kernel: JitFunction, bound: BoundArguments, settings: LaunchOptions) -> None:
        self.kernel = kernel
        self.bound = bound
        self.settings = settings
        self.pick = picker(bound.runtime_indices)
        self.accepted = False
        self.traced: Any = None
        self.emulation: Any = None
        self.device = bound.device
        self._compiled: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._build(), name)

    def __repr__(self) -> str:
        return f"<tle2cuda kernel {self.kernel.fn.__name__} on the CPU>"

    def _build(self) -> Any:
        """The kernel compiled for the default target."""
        if self._compiled is None:
            self._compiled = self.kernel.compile_specialization(self.bound.specialization, self.settings, None)
        return self._compiled

    def compile_if_possible(self) -> None:
        """Compiles for the default target where CuPy, NVRTC and CUDA's headers are there.

        Raises:
            DeviceCodeError: NVRTC refuses the emitted file.
        """
        try:
            self._build()
        except DeviceCodeError:
            raise
        except ToolchainError:
            pass

    @functools.cached_property
    def emitted(self) -> EmittedKernel:
        """The emitted file with its contract; needs no CUDA."""
        return self.kernel.emit_specialization(self.bound.specialization, self.settings, DEFAULT_TARGET)

    @property
    def contract(self) -> LaunchContract:
        """The launch contract of the emitted file; needs no CUDA."""
        return self.emitted.contract

    @property
    def source(self) -> str:
        """The emitted file; needs no CUDA."""
        return self.emitted.source

    @property
    def name(self) -> str:
        """Name of the kernel in the emitted file."""
        return self.contract.kernel_name

    @property
    def metadata(self) -> KernelMetadata:
        """What Triton's launch metadata tells; needs no CUDA."""
        from tle2cuda.runtime.metadata import make_metadata

        return make_metadata(self.contract, self.hash, self.settings)

    @property
    def hash(self) -> str:
        """Digest of the emitted file and its contract; needs no CUDA."""
        return digest(self.source, self.contract.to_json())

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        """Warps, CTAs of a program, and bytes of shared memory, as Triton's launchers take them."""
        return self.metadata.packed

    @property
    def shared(self) -> int:
        """Shared memory of one CTA in bytes."""
        return self.contract.shared_bytes

    @property
    def num_warps(self) -> int:
        """Warps of one CTA."""
        return self.contract.num_warps

    @property
    def n_max_threads(self) -> int:
        """Threads that a CTA may have."""
        return MAX_THREADS_PER_CTA

    @property
    def asm(self) -> Mapping[str, Any]:
        """The kernel's forms: ``cu``, which needs no CUDA; ``ptx``, ``cubin`` and ``sass``, compiled when first read."""
        from tle2cuda.runtime.compiled import HostAssembly

        return HostAssembly(self.source, lambda: self._build().asm)

    @property
    def n_regs(self) -> int:
        """Registers of one thread; where NVRTC is missing, the most that this many threads may have."""
        try:
            return int(self._build().n_regs)
        except DeviceCodeError:
            raise
        except ToolchainError as error:
            _note_no_registers(error.message)
            registers = parse_target(DEFAULT_TARGET).limits.registers_per_sm // self.contract.cta_threads
            return min(registers, MAX_REGISTERS_PER_THREAD)

    @property
    def n_spills(self) -> int:
        """Registers that were spilled, in 4-byte words; 0 where NVRTC is missing."""
        try:
            return int(self._build().n_spills)
        except DeviceCodeError:
            raise
        except ToolchainError as error:
            _note_no_registers(error.message)
            return 0

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """A launch with this grid, of all the kernel's arguments; constants are passed and not read."""

        @without_frames
        def launch(*args: Any) -> HostLaunch:
            values = self.kernel.passed_values(self.bound, args)
            return self(grid, values)

        return launch

    def _init_handles(self) -> None:
        """Loads the kernel, as Triton's object does: nothing here."""

    def _host_device(self) -> str:
        """What runs the kernel: the emulator by itself gives way where addresses out of memory are followed.

        Raises:
            CompilationError: The kernel is wrong.
            LaunchError: `TLE2CUDA_DEVICE` says no device of the host.
            ToolchainError: It says ``cuda``, and there is no GPU.
        """
        device = host_device()
        if device == "emulator" and not chosen_device() and self._follows_addresses:
            _note_addresses(self.kernel.fn.__name__)
            return "interpreter"
        return device

    @functools.cached_property
    def _follows_addresses(self) -> bool:
        """Whether the kernel makes pointers of integers, as out of a table."""
        from tle2cuda.ir.classify import makes_pointers

        traced = self.emitted.traced
        return traced is not None and makes_pointers(traced.body)

    def prepare(self) -> str:
        """Compile for the device that `TLE2CUDA_DEVICE` chooses, unless that is done; returns the device.

        Raises:
            CompilationError: The kernel is wrong.
            ToolchainError: The emulator is chosen and there is no C++ compiler.
        """
        device = self._host_device()
        if device == "eager":
            return device  # nothing is compiled
        if device == "interpreter":
            if self.traced is None:
                self.traced = trace_specialized(self.kernel, self.bound.specialization, **self._interpreted_options())
                self.settings.check_mesh(self.kernel.fn.__name__, self.traced.cluster_dims, self.traced.cooperative)
        else:
            self._program().build()
        return device

    def _program(self) -> Any:
        """The emitted kernel for the emulator, which compiles it when it is first run."""
        from tle2cuda.emulator.api import Program, offset_lines_of
        from tle2cuda.emulator.detectors import OFFSETS, launch_detectors

        watches = OFFSETS in launch_detectors()
        if self.emulation is None or watches != (self.emulation.offset_lines is not None):
            traced = self.emitted.traced
            self.emulation = Program(self.emitted, offset_lines_of(traced) if watches and traced is not None else None)
        return self.emulation

    def _interpreted_options(self) -> dict[str, Any]:
        """Options of tracing for the interpreter, where assertions hold always, and overflow is checked when asked for."""
        settings = self.settings
        return {
            "num_warps": settings.num_warps,
            "num_stages": settings.num_stages,
            "arch": DEFAULT_TARGET,
            "cluster_dims": settings.cluster_dims,
            "cooperative": settings.cooperative,
            "debug": True,
            "sanitize_overflow": settings.debug and settings.sanitize_overflow,
        }

    def refusals(self) -> Sequence[CompilationError]:
        """What the front end says is wrong with the kernel: nothing when it is right."""
        if self.accepted:
            return ()
        try:
            # What it warns of and prints, the launch does, too.
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                trace_specialized(self.kernel, self.bound.specialization, **self._interpreted_options())
        except CompilationErrors as error:
            return error.errors
        except CompilationError as error:
            return (error,)
        self.accepted = True
        return ()

    def fast_path(self) -> HostLaunch | None:
        """This object: what a launch costs in Python is nothing beside running the kernel.

        None in eager mode: those launches take the path that keeps frames of this package out of tracebacks.
        """
        return None if chosen_device() == "eager" else self

    def __call__(self, grid: Any, values: tuple[Any, ...]) -> HostLaunch:
        for name, value in zip(self.kernel.arg_names, values, strict=True):
            refuse_addresses(name, value)
        device = self._host_device()
        if device == "emulator":
            from tle2cuda.emulator import emulate_in_place

            program = self._program()
            emulate_in_place(program, program.contract.launch_grid(grid), self.pick(values))
            return self
        self.prepare()
        if device == "eager":
            from tle2cuda import eager

            settings = self.settings
            eager.run(
                self.kernel.fn,
                grid,
                self.bound.specialization,
                self.pick(values),
                settings.cluster_dims,
                settings.num_warps,
                self.kernel.language or default_level(),
                checks_overflow=settings.debug and settings.sanitize_overflow,
                refusals=self.refusals,
            )
            return self
        from tle2cuda import interpreter

        x, y, z = normalize_grid(grid)
        a, b, c = self.traced.cluster_dims
        ctas = (x * a, y * b, z * c)
        check_grid(ctas)
        if x and y and z:
            interpreter.run(self.traced, ctas, self.pick(values), follow_addresses=True)
        return self


@functools.cache
def _note_addresses(kernel: str) -> None:
    """Says once why a kernel runs in the interpreter."""
    warn_user(
        f"{kernel} makes pointers of integers, which lead nowhere in the emulator: it runs in the interpreter. "
        f"{DEVICE_VARIABLE}=interpreter silences this",
        RuntimeWarning,
    )


@functools.cache
def _note_no_registers(why: str) -> None:
    """Says once that a number is a bound."""
    warn_user(
        f"how many registers kernels have is not known here, so the most that fit are reported: {why}", RuntimeWarning
    )


def values_for_all(names: list[str], indices: tuple[Place, ...], kernel: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """One value for each parameter from the arguments of a compiled kernel's launch.

    Args:
        names: The kernel's parameters.
        indices: Positions of those that are run-time arguments.
        kernel: Name for messages.
        args: A value for each parameter, or for each run-time argument.

    Raises:
        ArgumentError: There are neither as many as the one nor as the other.
    """
    if len(args) == len(names):
        return args
    places = [index for index in indices if isinstance(index, int)]
    if len(args) != len(indices) or len(places) != len(indices):
        raise ArgumentError(
            f"{kernel}: a launch of the compiled kernel takes its {len(names)} parameters, or the {len(indices)} that "
            f"are no constants; got {len(args)}",
            facts=(f"parameters: {', '.join(names)}",),
        )
    values: list[Any] = [None] * len(names)
    for index, value in zip(places, args, strict=True):
        values[index] = value
    return tuple(values)


def placed(bound: BoundArguments, args: tuple[Any, ...]) -> BoundArguments:
    """The same arguments where the arrays of a launch lie: a kernel may be compiled without arrays."""
    if bound.library:
        return bound
    for value in args:
        library = type(value).__module__.partition(".")[0]
        if hasattr(value, "data_ptr") and hasattr(value, "get_device"):
            return dataclasses.replace(bound, library="torch", device=value.get_device())
        if library == "cupy":
            return dataclasses.replace(bound, library=library, device=value.data.device_id)
    return bound
