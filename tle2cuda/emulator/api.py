"""`emulate`: one call runs a kernel under one or many schedules."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tle2cuda.analysis.wrapped_offsets import offsets_that_may_wrap
from tle2cuda.compiler import EmittedKernel, emit_specialized, kernel_function, kernel_parameters, public
from tle2cuda.emulator import launch, spread
from tle2cuda.emulator.detectors import DEFAULT, OFFSETS, checked_detectors, launch_detectors
from tle2cuda.emulator.locate import Locator
from tle2cuda.emulator.offsets import Verdict, check_numbers
from tle2cuda.emulator.results import Emulation, EmulationRun, Finding, error_of, with_assertions
from tle2cuda.emulator.toolchain import KernelLibrary, build_kernel, build_runner
from tle2cuda.errors import ArgumentError, LaunchError
from tle2cuda.ir.nodes import Kernel, walk
from tle2cuda.runtime.args import BoundArguments, picker, specialize
from tle2cuda.runtime.contract import Dim3, LaunchContract, check_grid, normalize_grid
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.targets import DEFAULT_TARGET

SCHEDULES = ("forward", "reverse", "random")
DELIVERIES = {"forward": "late", "reverse": "now", "random": "random"}
"""When asynchronous copies happen, by schedule, unless `emulate` is told."""


@public
def emulate(
    kernel: Any,
    grid: int | Sequence[int],
    args: Sequence[Any] | Mapping[str, Any],
    *,
    schedule: str = "forward",
    seed: int = 0,
    seeds: Sequence[int] | None = None,
    detect: str | Sequence[str] = DEFAULT,
    uninitialized: Sequence[str] = (),
    switch_at_accesses: int = 0,
    delivery: str | None = None,
    num_warps: int = 4,
    arch: str = DEFAULT_TARGET,
    headers: str = "toolkit",
    cluster_dims: tuple[int, int, int] | None = None,
    cooperative: bool = False,
    debug: bool | None = None,
    sanitize_overflow: bool = True,
    stall_s: float = 30.0,
    limit_s: float = 1800.0,
) -> Emulation:
    """Run the emitted file of a kernel on the CPU. Needs a C++ compiler, no CUDA. The arguments stay unchanged.

    Execution is reproducible: each CUDA thread is a fiber, and a schedule says which one goes on at every barrier, warp
    collective and repeated volatile load. `forward` lets the first thread that can go on run as far as it can,
    `reverse` the last, `random` any. What can never go on is a finding, not a hang. Ranges of a large grid whose CTAs
    share nothing run side by side, unless the schedule is random or something that concerns several CTAs is to be detected.

    An access through an offset that wrapped in 32 bits is a finding, too, and so is a tile number that only the run time
    knows and that is none of its grid: where the numbers of a launch leave room for either, the kernel is interpreted
    beside the emulation.

    Args:
        kernel: An emitted or compiled kernel; or a jit object, which is specialised for the arguments and emitted.
        grid: The grid in CTAs; for a jit object, as `kernel[grid]` counts it: in clusters.
        args: Values of the run-time arguments, in order or by name; for a jit object, of all parameters by name.
        schedule: ``forward``, ``reverse`` or ``random``.
        seed: Seed of a random schedule, and of the pattern that unwritten shared memory holds.
        seeds: Several seeds: one run for each, in as many processes as there are processors.
        detect: Checks that cost time, ``bounds`` the least, or ``all``: ``races`` (accesses of two threads, one of them a
            write, that no barrier, fence or atomic orders), ``uninitialized`` (reads of what nothing has written: shared
            memory, scratch, the arguments named by `uninitialized`), ``bounds`` (accesses outside of arguments and of
            each buffer in shared memory, also that of other CTAs), ``alignment`` (misaligned accesses), ``exit``
            (accesses to the shared memory of a CTA that may have exited), ``counters`` (sectors, vector widths, bank
            conflicts, contention, barriers, by line: `Counters`). And, not among ``all``, as the kernel is compiled anew
            for it, ``offsets`` (where an offset wrapped, and which numbers made it: an access through one is a finding
            without it, too).
        uninitialized: Array arguments that the kernel must write before it reads, such as its outputs.
        switch_at_accesses: With n > 0, a thread also gives way at one in n of its accesses, by chance; 1: at each.
        delivery: When an asynchronous copy reads and writes: ``late`` (once something waits for it and nothing else can
            go on), ``now`` (when it is issued), or ``random`` (at any moment in between). By default late under the
            schedule forward, now under reverse, random under random.
        num_warps: Warps of one CTA, for a jit object; the further arguments alike.
        arch: Architecture to emit for.
        headers: ``toolkit`` or ``minimal``.
        cluster_dims: Cluster shape.
        cooperative: Launch cooperatively although the kernel does not ask for it.
        debug: Compile device assertions in; None takes the jit object's, then that of `TLE2CUDA_DEBUG`.
        sanitize_overflow: With `debug`, assert that sums, differences and products of integers below 64 bits fit.
        stall_s: Processor time after which a thread that runs alone is in an endless loop.
        limit_s: Processor time after which a run that has not ended is in an endless loop in which threads meet.

    Returns:
        Outputs, findings and counters, for each run and together.

    Raises:
        ArgumentError: The arguments do not fit the kernel.
        ToolchainError: There is no C++ compiler.
        NotSupported: The text holds PTX that the emulator has no twin of.

    Example:
        >>> tle2cuda.emulate(add, 4, {"x": x, "y": y, "out": out, "n": n, "BLOCK": 256}).check().outputs["out"]
    """
    detectors = _check_options(schedule, detect)
    if delivery is None:
        delivery = DELIVERIES[schedule]
    elif delivery not in DELIVERIES.values():
        raise ArgumentError(f"delivery must be one of {', '.join(DELIVERIES.values())}, got {delivery!r}")
    if isinstance(kernel, EmittedKernel) or (hasattr(kernel, "source") and hasattr(kernel, "contract")):
        emitted, ctas, values = kernel, _grid_of_ctas(kernel.contract, grid), args
    else:
        options = {
            "num_warps": num_warps,
            "arch": arch,
            "headers": headers,
            "cluster_dims": cluster_dims,
            "cooperative": cooperative,
            "debug": debug,
            "sanitize_overflow": sanitize_overflow,
        }
        emitted, values = _emit(kernel, args, options)
        ctas = emitted.contract.launch_grid(grid)
    traced: Kernel | None = getattr(emitted, "traced", None)
    offset_lines = offset_lines_of(traced) if OFFSETS in detectors and traced is not None else None
    if OFFSETS in detectors and offset_lines is None:
        raise ArgumentError(
            "detect='offsets' needs the kernel itself, to tell offsets from other numbers that wrap",
            help="pass the jit function, or what emit returns, instead of the compiled kernel",
        )
    start = time.perf_counter()
    program = Program(emitted, offset_lines)
    program.build()
    compile_s = time.perf_counter() - start
    bound = launch.bind(emitted.contract, values, ctas, uninitialized)
    verdict = check_numbers(traced, ctas, values, bound)
    runs_asked = [
        launch.RunOptions(schedule, one, detectors, switch_at_accesses, stall_s, limit_s, delivery)
        for one in _checked_seeds(seed, seeds)
    ]
    with ThreadPoolExecutor(min(len(runs_asked), os.cpu_count() or 1)) as pool:
        runs = tuple(pool.map(lambda one: _judged(program, program.run(ctas, bound, one), verdict), runs_asked))
    return Emulation(runs, emitted.source, compile_s)


def _judged(program: Program, run: EmulationRun, verdict: Verdict) -> EmulationRun:
    """A run with what is known of its numbers: arithmetic that wraps is at fault only where an access uses it."""
    findings = run.findings
    if verdict.is_known and verdict.error is None:
        findings = tuple(finding for finding in findings if finding.kind != "wrapped")
    elif verdict.error is not None and not any(finding.kind == verdict.kind for finding in findings):
        error = verdict.error
        place = program.locator.locate_span(error.span) if error.span is not None else None
        made = Finding(verdict.kind, error.message, place, error.facts, schedule=run.schedule, seed=run.seed)
        findings = (*findings, made)
    return replace(run, findings=findings)


def emulate_in_place(program: Program, ctas: Dim3, args: Sequence[Any]) -> None:
    """Run a kernel as a launch does: results go into the arrays, what it prints to standard output, faults raise.

    The detectors that `TLE2CUDA_DETECT` names watch it, that of accesses out of bounds when it names none.

    Args:
        program: The kernel; it is compiled when it has not been, behind the check of its offsets.
        ctas: The grid in CTAs.
        args: Values of the run-time arguments in order.

    Raises:
        EmulationError: The kernel is at fault.
        DeviceAssertFailed: A device assertion of it failed.
        OffsetOverflow: It uses an offset that wrapped in 32 bits.
        TileOutOfRange: It takes a tile, or puts one, outside of a grid of tiles.
    """
    bound = launch.bind(program.contract, args, ctas)
    verdict = check_numbers(program.traced, ctas, args, bound)
    if verdict.error is not None:
        raise verdict.error
    result = program.run(ctas, bound, launch.RunOptions(detect=launch_detectors()))
    sys.stdout.write(result.printed)
    if result.findings:
        raise error_of(result.findings)
    launch.write_back(bound, result.outputs)


class Program:
    """An emitted kernel, to be compiled for the CPU.

    Args:
        emitted: The emitted kernel.
        offset_lines: Python lines on which arithmetic may wrap and come to be an offset, by file and number; findings
            `wrapped` elsewhere are dropped. None: wrapping is not watched.
    """

    def __init__(self, emitted: Any, offset_lines: frozenset[tuple[str, int]] | None = None) -> None:
        contract: LaunchContract = emitted.contract
        self.contract = contract
        self.source: str = emitted.source
        self.offset_lines = offset_lines
        self.traced: Kernel | None = getattr(emitted, "traced", None)
        self._maps = emitted if hasattr(emitted, "line_map") else emitted.artifact

    @functools.cached_property
    def runner(self) -> Path:
        """What runs kernels."""
        return build_runner()

    @functools.cached_property
    def library(self) -> KernelLibrary:
        """The compiled kernel."""
        watches_overflow = self.offset_lines is not None
        return build_kernel(self.source, self.contract.kernel_name, self.contract.target, watches_overflow)

    @functools.cached_property
    def locator(self) -> Locator:
        """Finds lines of the emitted file and of the user's source."""
        return Locator(self.library.path, self.library.file, self.source, self._maps.line_map, self._maps.op_map)

    def build(self) -> Program:
        """This program, compiled."""
        _ = self.runner, self.locator
        return self

    def run(self, ctas: Dim3, bound: launch.Bound, options: launch.RunOptions) -> EmulationRun:
        """One run."""
        self.build()
        if 0 in ctas:
            outputs = launch.outputs_of(bound, [buffer.data for buffer in bound.buffers])
            return EmulationRun(options.schedule, options.seed, outputs)
        parts = spread.ranges(self.source, self.contract, ctas, bound, options)
        execution = launch.Execution(self.runner, self.library, self.contract, ctas, bound, self.locator, options)
        result = with_assertions(launch.run(execution) if len(parts) == 1 else spread.run(execution, parts))
        if self.offset_lines is None:
            return result
        return replace(result, findings=tuple(filter(self._concerns, result.findings)))

    def _concerns(self, finding: Finding) -> bool:
        """Whether a finding is about the kernel's own offsets, or about something else than wrapping."""
        if finding.kind != "wrapped":
            return True
        span = finding.location.span if finding.location is not None else None
        return span is not None and (span.file, span.line) in (self.offset_lines or ())


def _check_options(schedule: str, detect: str | Sequence[str]) -> tuple[str, ...]:
    if schedule not in SCHEDULES:
        raise ArgumentError(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    return checked_detectors(detect)


def _checked_seeds(seed: int, seeds: Sequence[int] | None) -> tuple[int, ...]:
    try:
        chosen = (seed,) if seeds is None else tuple(seeds)
    except TypeError:
        raise ArgumentError(f"emulate: seeds is a sequence of integers, got {seeds!r}", help="one seed: seed=") from None
    if not chosen:
        raise ArgumentError("emulate: seeds is empty")
    for one in chosen:
        if not hasattr(one, "__index__"):
            raise ArgumentError(f"emulate: a seed is an integer, got {one!r}")
    return tuple(int(one) for one in chosen)


def _grid_of_ctas(contract: LaunchContract, grid: int | Sequence[int]) -> Dim3:
    ctas = normalize_grid(grid)
    check_grid(ctas)
    for axis, extent, cluster in zip("xyz", ctas, contract.cluster, strict=True):
        if extent % cluster:
            raise LaunchError(
                f"grid extent {axis} = {extent} is not a multiple of the cluster's {cluster} CTAs",
                facts=(f"cluster of {contract.kernel_name}: {contract.cluster}",),
                help="the grid of an emitted kernel counts CTAs; that of a jit object counts clusters",
            )
    return ctas


def offset_lines_of(traced: Kernel) -> frozenset[tuple[str, int]]:
    """The lines where arithmetic of fewer than 64 bits may wrap and reach a pointer, and where such values are used."""
    doubtful = offsets_that_may_wrap(traced)
    found = (op.span for op in walk(traced.body) if any(v in doubtful for v in (*op.operands, *op.results)))
    return frozenset((span.file, span.line) for span in found)


def _specialized(kernel: Any, args: Sequence[Any] | Mapping[str, Any]) -> tuple[BoundArguments, list[Any]]:
    """What the arguments say about compiling a jit object, and one value for each of its parameters."""
    parameters = kernel_parameters(kernel)
    name = kernel_function(kernel).__name__
    given = dict(args) if isinstance(args, Mapping) else dict(zip((p.name for p in parameters), args, strict=False))
    for parameter in parameters:
        if parameter.name not in given and parameter.has_default:
            given[parameter.name] = parameter.default
    known = [parameter.name for parameter in parameters]
    wrong = [p for p in known if p not in given] or [p for p in given if p not in known]
    if wrong:
        problem = "is missing" if wrong[0] in known else "is no parameter"
        raise ArgumentError(f"{name}: {wrong[0]} {problem}", facts=(f"parameters: {', '.join(known)}",))
    values = [given[parameter] for parameter in known]
    return specialize(parameters, values, name), values


def _emit(
    kernel: Any, args: Sequence[Any] | Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[EmittedKernel, list[Any]]:
    """The emitted file of a jit object for these arguments, and the values of its run-time arguments."""
    bound, values = _specialized(kernel, args)
    emitted = emit_specialized(kernel, bound.specialization, **options)
    return emitted, list(picker(bound.runtime_indices)(tuple(map(_parts, values))))


def _parts(value: Any) -> Any:
    """A value as a launch passes it: of a tensor descriptor its tensor, extents, and strides but for the last."""
    if isinstance(value, TensorDescriptor):
        return value.base, tuple(value.shape), tuple(value.strides[:-1])
    return tuple(map(_parts, value)) if isinstance(value, tuple) else value
