"""From a Python function and a signature to an emitted file, and on to a compiled kernel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tle2cuda.errors import ArgumentError, InternalError, KernelError, UnsupportedSyntax
from tle2cuda.levels import allows_plain_globals, check_level, default_level
from tle2cuda.runtime.contract import ArgSpec, LaunchContract
from tle2cuda.runtime.frames import hide_frames
from tle2cuda.runtime.options import check_num_stages, check_num_warps, wants_debug
from tle2cuda.runtime.parameters import Parameter, parameters_of
from tle2cuda.runtime.signature import Specialization, parse_signature
from tle2cuda.targets import DEFAULT_STAGES, DEFAULT_TARGET, parse_target

if TYPE_CHECKING:
    from tle2cuda.ir.nodes import Kernel
    from tle2cuda.ir.span import Span

_P = ParamSpec("_P")
_R = TypeVar("_R")

HEADERS = ("minimal", "toolkit")


@dataclass(frozen=True, slots=True)
class EmittedKernel:
    """An emitted CUDA file with all that is known about it.

    Attributes:
        source: The `.cu` text.
        contract: How to launch it.
        line_map: Lines of the text with the places in the user's source they come from, ascending.
        ir_dumps: IR after each pass that was asked for, by the pass's name.
        kernel_ir: The IR that the text was written from.
        op_map: Lines of the text with the names of the operations of that IR they are written for, ascending.
        traced: The IR before any pass.
    """

    source: str
    contract: LaunchContract
    line_map: tuple[tuple[int, Span], ...]
    ir_dumps: Mapping[str, str] = field(default_factory=dict)
    kernel_ir: Kernel | None = None
    op_map: tuple[tuple[int, str], ...] = ()
    traced: Kernel | None = None


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Lets errors about kernels leave without the frames they were found in; faults of ours keep theirs."""

    @functools.wraps(function)
    def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except InternalError:
            raise
        except KernelError as error:
            error.__traceback__ = None
            hide_frames(error)
            raise

    return wrapper


def kernel_function(fn: Any) -> Callable[..., Any]:
    """The plain Python function of a kernel: that of a jit object (ours or Triton's), or the function itself.

    Raises:
        ArgumentError: It is no function.
    """
    from tle2cuda.frontend.names import device_function

    inner = device_function(fn) or fn
    if not inspect.isfunction(inner):
        raise ArgumentError(
            f"a kernel is a Python function or a jit object, got {type(fn).__name__}",
            help="decorate the function with @tle2cuda.jit",
        )
    return inner


def kernel_parameters(fn: Any) -> tuple[Parameter, ...]:
    """Parameters of a kernel, with what its jit object says about specialisation."""
    parameters = getattr(fn, "parameters", None)
    if isinstance(parameters, tuple) and all(isinstance(p, Parameter) for p in parameters):
        return parameters
    return parameters_of(kernel_function(fn))


def level_of(fn: Any, language: str | None = None) -> str:
    """Level of the language that a kernel is read by: what was asked for, else the jit object's, else the default.

    Raises:
        InvalidArgument: There is no such level.
    """
    own = getattr(fn, "language", None)
    if language is not None or own is not None:
        return check_level(own if language is None else language)
    return default_level()


def emit_specialized(
    fn: Any,
    specialization: Specialization,
    *,
    num_warps: int = 4,
    num_stages: int = DEFAULT_STAGES,
    arch: str = DEFAULT_TARGET,
    headers: str = "toolkit",
    dump_ir: str | Sequence[str] | None = None,
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    language: str | None = None,
    max_registers: int | None = None,
    debug: bool | None = None,
    sanitize_overflow: bool = True,
) -> EmittedKernel:
    """Emit a kernel for types and constants that are settled already; see `emit`."""
    if headers not in HEADERS:
        raise ArgumentError(f"headers must be one of {', '.join(HEADERS)}, got {headers!r}")
    traced = trace_specialized(
        fn,
        specialization,
        num_warps=num_warps,
        num_stages=num_stages,
        arch=arch,
        cluster_dims=cluster_dims,
        cooperative=cooperative,
        language=language,
        debug=debug,
        sanitize_overflow=sanitize_overflow,
    )
    from numpy import errstate

    from tle2cuda.lowering import lower
    from tle2cuda.passes import pipeline

    with errstate(all="ignore"):  # constants overflow as on a GPU
        final, dumps = pipeline.run(traced, dump_ir)
        lowered = lower(final, headers=headers, max_registers=max_registers)
    return EmittedKernel(lowered.source, lowered.contract, lowered.line_map, dumps, final, lowered.op_map, traced)


def trace_specialized(
    fn: Any,
    specialization: Specialization,
    *,
    num_warps: int = 4,
    num_stages: int = DEFAULT_STAGES,
    arch: str = DEFAULT_TARGET,
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    language: str | None = None,
    debug: bool | None = None,
    sanitize_overflow: bool = True,
) -> Kernel:
    """Trace a kernel into IR, before any pass.

    Raises:
        CompilationError: The kernel is wrong.
    """
    from numpy import errstate

    from tle2cuda.frontend import trace
    from tle2cuda.frontend.source import source_of

    try:
        with errstate(all="ignore"):
            return trace(
                kernel_function(fn),
                {spec.name: spec for spec in specialization.args},
                specialization.constants_dict(),
                check_num_warps(num_warps),
                parse_target(arch).name,
                num_stages=check_num_stages(num_stages),
                cluster_dims=cluster_dims,
                cooperative=cooperative,
                language=level_of(fn, language),
                plain_globals=allows_plain_globals(),
                debug=wants_debug(fn, debug),
                sanitize_overflow=sanitize_overflow,
            )
    except RecursionError:
        raise UnsupportedSyntax(
            f"{kernel_function(fn).__name__}: an expression or a block is nested too deeply to be read",
            source_of(kernel_function(fn)).definition_span(),
            help="compute it in several statements, or in a loop over tl.static_range",
        ) from None


@public
def emit(
    fn: Any,
    signature: str | Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    arch: str = DEFAULT_TARGET,
    *,
    num_stages: int = DEFAULT_STAGES,
    headers: str = "toolkit",
    dump_ir: str | Sequence[str] | None = None,
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    language: str | None = None,
    debug: bool | None = None,
    sanitize_overflow: bool = True,
    max_registers: int | None = None,
) -> EmittedKernel:
    """Emit the CUDA file of a kernel. Needs no CUDA.

    Args:
        fn: A jit object, or a plain Python function.
        signature: Types of the run-time parameters: Triton's string (``"*fp32:16, i32, 1024"``) or a mapping
            by name. ``:16`` says aligned to 16 bytes, or divisible by 16; a host's tensor descriptor is
            ``tensordesc<fp16[64, 32]>``, with ``:16`` where its innermost extent is divisible by 16.
        constants: Values of constexpr parameters by name.
        num_warps: Warps of one CTA, a power of two.
        arch: Target architecture.
        num_stages: Iterations of loads in flight in loops with matrix products that do not say so themselves.
        headers: ``minimal`` prefers small inline helpers, ``toolkit`` the toolkit's own headers.
        dump_ir: Names of passes after which to keep the IR as text; ``trace`` is the IR before all of
            them, ``all`` keeps every one.
        cluster_dims: Cluster shape to launch with; None leaves it to the kernel's meshes.
        cooperative: Launch cooperatively although the kernel does not ask for it.
        language: Level of the language, ``3.6`` or ``3.9``; None takes the jit object's, then that of
            `TLE2CUDA_LANGUAGE`, then 3.6.
        debug: Compile `tl.device_assert` and `assert` in; None takes the jit object's, then that of `TLE2CUDA_DEBUG`.
        sanitize_overflow: With `debug`, assert that sums, differences and products of integers below 64 bits fit.
        max_registers: Most registers of a thread, written in the place of launch bounds.

    Raises:
        CompilationError: The kernel is wrong.
        ArgumentError: The signature does not fit the kernel.

    Example:
        >>> tle2cuda.emit(add, "*fp32:16, *fp32:16, *fp32:16, i32, 1024").source
    """
    specialization = parse_signature(kernel_parameters(fn), signature, constants, kernel_function(fn).__name__)
    return emit_specialized(
        fn,
        specialization,
        num_warps=num_warps,
        num_stages=num_stages,
        arch=arch,
        headers=headers,
        dump_ir=dump_ir,
        cluster_dims=cluster_dims,
        cooperative=cooperative,
        language=language,
        debug=debug,
        sanitize_overflow=sanitize_overflow,
        max_registers=max_registers,
    )


@public
def compile(
    fn: Any,
    signature: str | Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    num_warps: int = 4,
    arch: str | None = None,
    *,
    num_stages: int = DEFAULT_STAGES,
    headers: str = "toolkit",
    dump_ir: str | Sequence[str] | None = None,
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    options: Any = None,
    language: str | None = None,
    debug: bool | None = None,
    sanitize_overflow: bool = True,
) -> Any:
    """Compile a kernel to machine code. Needs CuPy and NVRTC, but no GPU.

    Args:
        fn: As for `emit`, like the other arguments that are not listed here.
        signature: Types of the run-time parameters.
        constants: Values of constexpr parameters by name.
        num_warps: Warps of one CTA.
        arch: Target architecture; None takes that of the current GPU, or ``sm_90a`` without one.
        num_stages: As for `emit`.
        headers: As for `emit`.
        dump_ir: As for `emit`.
        cluster_dims: As for `emit`.
        cooperative: As for `emit`.
        options: `tle2cuda.runtime.CompileOptions` for the same architecture; None takes the defaults.
        language: As for `emit`.
        debug: As for `emit`.
        sanitize_overflow: As for `emit`.

    Returns:
        A `cupy.RawKernel` that is launched like any other, with `.source`, `.contract`, `.report`,
        `.metadata` and `.asm` besides.

    Raises:
        CompilationError: The kernel is wrong.
        ArgumentError: The signature does not fit the kernel.
        OutOfResources: The kernel needs more than one CTA can have.
        ToolchainError: CuPy or NVRTC is missing.
    """
    from tle2cuda.runtime import build
    from tle2cuda.runtime.metadata import make_metadata

    emitted = emit(
        fn,
        signature,
        constants,
        num_warps,
        arch or current_arch(),
        headers=headers,
        dump_ir=dump_ir,
        num_stages=num_stages,
        cluster_dims=cluster_dims,
        cooperative=cooperative,
        language=language,
        debug=debug,
        sanitize_overflow=sanitize_overflow,
        max_registers=options.max_registers if options is not None else None,
    )
    compiled = build(emitted, options=options)
    compiled.metadata = make_metadata(emitted.contract, compiled.hash, num_warps=num_warps, num_stages=num_stages)
    return compiled


def current_arch(device: int | None = None) -> str:
    """Architecture of a GPU, the current one when None; the default target on a machine without GPU."""
    from tle2cuda.errors import ToolchainError
    from tle2cuda.runtime import toolkit
    from tle2cuda.targets import target_of_capability

    try:
        toolkit.require_gpu()
    except ToolchainError:
        return DEFAULT_TARGET
    runtime = toolkit.require_cupy().cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice() if device is None else device)
    return target_of_capability(properties["major"], properties["minor"]).name


def pointer_spec(name: str, dtype: str) -> ArgSpec:
    """A pointer argument aligned to 16 bytes, as allocators give it."""
    return ArgSpec(name, "pointer", dtype, 16)
