"""What an emulation returns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tle2cuda.emulator.counters import Counters
from tle2cuda.errors import DeviceAssertFailed, EmulationError

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

_ASSERTION = "tl.device_assert failed"
_HELP = {"out_of_bounds": "mask the access: an element is never touched where the mask is False"}
_IN_NO_ARGUMENT = "which belongs to no argument"
_HELP_FOR_ADDRESSES = (
    "mask the access; where its address comes out of a table of pointers, which lead nowhere in the emulator, set "
    "TLE2CUDA_DEVICE=interpreter"
)
_MOST_TOLD = 10  # findings that one error names


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the emitted file.

    Attributes:
        line: Line of the emitted file, from 1; in a device helper, that of the helper's text.
        call_line: Line of the kernel's body that leads there; the same as `line` outside of helpers.
        text: The emitted line `call_line`, without surrounding spaces.
        span: Place in the user's Python source; None where the emitter knows of none.
        op: Operation of the kernel's IR that `call_line` is written for, such as ``load`` or ``reduce``; empty where the
            emitter knows of none.
    """

    line: int
    call_line: int
    text: str
    span: Span | None
    op: str = ""

    def __str__(self) -> str:
        place = f"line {self.call_line} of the emitted file"
        if self.line != self.call_line:
            place += f" (at line {self.line})"
        return f"{self.span.short()}, {place}" if self.span else place


@dataclass(frozen=True, slots=True)
class OtherAccess:
    """The earlier of two accesses that a finding is about.

    Attributes:
        location: Where it happened.
        cta: Index of the CTA whose thread it was.
        thread: Index of the thread.
    """

    location: Location | None
    cta: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        where = f"{self.location}: {self.location.text}" if self.location else "a place that is not known"
        return f"the other access: {where} [CTA {self.cta}, thread {self.thread}]"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a kernel, found in one run.

    Attributes:
        kind: Which check found it: ``deadlock``, ``endless_wait``, ``endless_loop``, ``divergent_barrier``,
            ``collective``, ``race``, ``uninitialized``, ``out_of_bounds``, ``misaligned``, ``wrapped`` (an offset, in
            32 bits), ``tile_number`` (of a tile that is none of its grid), ``exit``; of asynchronous
            copies ``in_flight`` (an access to what a copy may still read or write), ``proxy`` (no fence between ordinary
            writes and a copy), ``mbarrier`` (its phases misused), ``tensor_map``; ``division``, ``trap``,
            ``remote``, ``resources``, ``stack``, ``crash``.
        message: What happened, in one line.
        location: Where; None when no line can be told.
        details: Further lines: who waits where.
        cta: Index of the CTA whose thread is at fault.
        thread: Index of the thread.
        count: How often it happened at this place.
        fatal: The run ended with it.
        schedule: The run's schedule.
        seed: The run's seed.
        other: Of a race or a copy in flight, the access that came first.
    """

    kind: str
    message: str
    location: Location | None = None
    details: tuple[str, ...] = ()
    cta: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None
    count: int = 1
    fatal: bool = False
    schedule: str = "forward"
    seed: int = 0
    other: OtherAccess | None = None

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        who = f" [CTA {self.cta}, thread {self.thread}]" if self.cta is not None and self.thread is not None else ""
        return "\n  ".join((f"{where}{self.message}{who}", *self.details))

    def error(self) -> EmulationError | DeviceAssertFailed:
        """The finding as an exception."""
        facts = list(self.details)
        if self.cta is not None and self.thread is not None:
            first = f", the first of {self.count} such accesses" if self.kind == "out_of_bounds" and self.count > 1 else ""
            facts.insert(0, f"in CTA {self.cta}, thread {self.thread}{first}")
        if self.location is not None:
            facts.insert(0, f"line {self.location.call_line} of the emitted file: {self.location.text}")
        span = self.location.span if self.location else None
        help = _HELP.get(self.kind, "") if self.other is None else ""
        if help and _IN_NO_ARGUMENT in self.message:
            help = _HELP_FOR_ADDRESSES
        if self.message.startswith(_ASSERTION):
            return DeviceAssertFailed(self.message, span, facts)
        return EmulationError(self.message, span, facts, help, kind=self.kind)


@dataclass(frozen=True, slots=True)
class EmulationRun:
    """One execution of the launch.

    Attributes:
        schedule: ``forward``, ``reverse`` or ``random``.
        seed: Seed of the schedule.
        outputs: Every array argument as the run left it, by name; after a fatal finding, as far as it came.
        findings: What is wrong.
        counters: What it did.
        printed: What the kernel printed.
        elapsed_s: Time of the execution, without compiling.
    """

    schedule: str
    seed: int
    outputs: Mapping[str, Any]
    findings: tuple[Finding, ...] = ()
    counters: Counters = field(default_factory=Counters)
    printed: str = ""
    elapsed_s: float = 0.0


def error_of(findings: Sequence[Finding]) -> EmulationError | DeviceAssertFailed:
    """The first fatal finding, or the first one, as an exception that names the others."""
    first = next((finding for finding in findings if finding.fatal), findings[0])
    error = first.error()
    others = [finding for finding in findings if finding is not first]
    told = [f"and {finding.kind}: {str(finding).splitlines()[0]}" for finding in others[: _MOST_TOLD - 1]]
    if len(others) > len(told):
        told.append(f"and {len(others) - len(told)} more")
    error.facts = (*error.facts, *told)
    return error


def with_assertions(run: EmulationRun) -> EmulationRun:
    """A run in which the finding that a thread stopped at says which device assertion of the kernel failed."""
    lines = run.printed.rstrip().splitlines()
    said = re.fullmatch(rf".*:\d+: ({_ASSERTION}.*) \(CTA \d+, \d+, \d+, thread \d+\)", lines[-1]) if lines else None
    if said is None or not run.findings or run.findings[-1].kind != "trap":
        return run
    last = replace(run.findings[-1], message=said[1].removesuffix(": "))
    return replace(run, findings=(*run.findings[:-1], last))


@dataclass(frozen=True, slots=True)
class Emulation:
    """The result of `emulate`: one run for each seed.

    Attributes:
        runs: The runs, in the order of the seeds.
        source: The emitted file.
        compile_s: Time that compiling for the CPU took; nearly nothing when the cache had it.
    """

    runs: tuple[EmulationRun, ...]
    source: str = ""
    compile_s: float = 0.0

    @property
    def outputs(self) -> Mapping[str, Any]:
        """Array arguments as the first run left them."""
        return self.runs[0].outputs

    @property
    def counters(self) -> Counters:
        """Counters of the first run."""
        return self.runs[0].counters

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of all runs; what several runs find at one place is listed once."""
        found: dict[tuple[Any, ...], Finding] = {}
        for run in self.runs:
            for finding in run.findings:
                line = finding.location.line if finding.location else None
                other = finding.other.location if finding.other else None
                key = (finding.kind, line, finding.message if line is None else "", other.line if other else None)
                found.setdefault(key, finding)
        return tuple(found.values())

    @property
    def failed(self) -> Finding | None:
        """The first finding that ended a run."""
        return next((finding for run in self.runs for finding in run.findings if finding.fatal), None)

    def check(self) -> Emulation:
        """This emulation, when nothing was found.

        Raises:
            EmulationError: Something was: the first fatal finding, or the first one.
        """
        if self.findings:
            raise error_of(self.findings)
        return self
