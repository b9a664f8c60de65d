"""What a compiled kernel uses of an SM, and how many of its CTAs fit: known from the cubin, without a GPU."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from tle2cuda.runtime.contract import LaunchContract
from tle2cuda.runtime.cubin import read_cubin
from tle2cuda.targets import WARP_THREADS, Target, parse_target

_ENTRY = re.compile(r"^ptxas info\s+: Compiling entry function '([^']+)'", re.MULTILINE)
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True)
class Resources:
    """What ptxas reports of one kernel.

    Attributes:
        registers: Registers of one thread.
        spill_store_bytes: Bytes of spilled registers stored, per thread.
        spill_load_bytes: Bytes of spilled registers loaded, per thread.
        local_bytes: Local memory of one thread.
        shared_static_bytes: Static shared memory of one CTA.
    """

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    local_bytes: int
    shared_static_bytes: int

    def to_dict(self) -> dict[str, int]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Resources:
        """From what `to_dict` gave."""
        return cls(**{name: int(data[name]) for name in cls.__slots__})


def resources_from_log(log: str, kernel: str) -> Resources | None:
    """Read the output of ``ptxas -v`` for `kernel`; None when the log does not tell."""
    for match in _ENTRY.finditer(log):
        if match[1] != kernel:
            continue
        following = _ENTRY.search(log, match.end())
        text = log[match.end() : following.start() if following else len(log)]
        spills, registers, shared = _SPILLS.search(text), _REGISTERS.search(text), _SHARED.search(text)
        if spills and registers:
            return Resources(
                int(registers[1]),
                int(spills[2]),
                int(spills[3]),
                int(spills[1]),
                int(shared[1]) if shared else 0,
            )
    return None


def resources_of(log: str, cubin: bytes, kernel: str, target: Target) -> Resources:
    """Resources from the log of ptxas, or from the cubin itself, which knows all but the spills.

    Raises:
        InternalError: Neither tells.
    """
    found = resources_from_log(log, kernel)
    if found is not None:
        return found
    usage = read_cubin(cubin, kernel)
    shared_bytes = usage.shared_bytes
    if shared_bytes and target.major >= 9:
        # From sm_90 on the section starts with what the system reserves.
        shared_bytes -= target.limits.reserved_shared_bytes_per_cta
    return Resources(usage.registers, 0, 0, usage.frame_bytes, shared_bytes)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many CTAs one SM holds.

    Attributes:
        ctas_per_sm: CTAs resident at once.
        percent: Resident warps in percent of the SM's most.
        limited_by: The resource that allows the fewest CTAs: warps, CTAs, registers or shared memory.
    """

    ctas_per_sm: int
    percent: float
    limited_by: str


def occupancy(target: Target, cta_threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """CTAs per SM by the rules of the toolkit's ``cuda_occupancy.h``.

    Args:
        target: Architecture.
        cta_threads: Threads of one CTA.
        registers: Registers of one thread.
        shared_bytes: Static and dynamic shared memory of one CTA.
    """
    limits = target.limits
    warps = -(-cta_threads // WARP_THREADS)
    max_warps = limits.max_threads_per_sm // WARP_THREADS
    bounds = {"warps": max_warps // warps, "CTAs": limits.max_ctas_per_sm}
    if registers:
        per_warp = _round_up(registers * WARP_THREADS, limits.register_granularity)
        partitions = limits.warp_granularity
        # A CTA's warps are dealt to the sub-partitions in turn, and each has its share of the registers.
        warps_by_registers = limits.registers_per_sm // partitions // per_warp * partitions
        fits = per_warp * _round_up(warps, partitions) <= limits.registers_per_sm
        bounds["registers"] = warps_by_registers // warps if fits else 0
    per_cta = shared_bytes + limits.reserved_shared_bytes_per_cta
    if per_cta:
        per_cta = _round_up(per_cta, limits.shared_granularity_bytes)
        bounds["shared memory"] = limits.shared_bytes_per_sm // per_cta
    if shared_bytes > limits.max_shared_bytes_per_cta:
        bounds["shared memory"] = 0
    limited_by = min(bounds, key=lambda name: bounds[name])
    ctas = bounds[limited_by]
    return Occupancy(ctas, 100.0 * ctas * warps / max_warps, limited_by)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


_NOTE = re.compile(r"^//   (?:stages|loops ) {3,4}(?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Report:
    """Resource usage of a compiled kernel.

    Attributes:
        kernel: Name of the kernel.
        target: Architecture that was compiled for.
        cta_threads: Threads of one CTA.
        registers: Registers of one thread.
        spill_store_bytes: Bytes of spilled registers stored, per thread.
        spill_load_bytes: Bytes of spilled registers loaded, per thread.
        local_bytes: Local memory of one thread.
        shared_static_bytes: Static shared memory of one CTA.
        shared_dynamic_bytes: Dynamic shared memory of one CTA.
        cuda_lines: Lines of the emitted file.
        occupancy: How many CTAs fit on one SM.
        notes: What was asked for and not done, as the emitted file's header says it.
    """

    kernel: str
    target: str
    cta_threads: int
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    local_bytes: int
    shared_static_bytes: int
    shared_dynamic_bytes: int
    cuda_lines: int
    occupancy: Occupancy
    notes: tuple[str, ...] = ()

    @property
    def shared_bytes(self) -> int:
        """Static and dynamic shared memory of one CTA."""
        return self.shared_static_bytes + self.shared_dynamic_bytes

    def render(self) -> str:
        """The report as lines for people."""
        fits = self.occupancy
        rows = (
            ("kernel", f"{self.kernel} for {self.target}, {self.cuda_lines} lines of CUDA"),
            ("CTA", f"{self.cta_threads} threads"),
            ("registers", f"{self.registers} per thread"),
            ("spills", f"{self.spill_store_bytes} bytes stored, {self.spill_load_bytes} bytes loaded"),
            ("local memory", f"{self.local_bytes} bytes per thread"),
            (
                "shared memory",
                f"{self.shared_bytes} bytes ({self.shared_static_bytes} static, {self.shared_dynamic_bytes} dynamic)",
            ),
            (
                "occupancy",
                f"{fits.ctas_per_sm} {'CTA' if fits.ctas_per_sm == 1 else 'CTAs'} per SM, "
                f"{fits.percent:.0f} % of its warps, limited by {fits.limited_by}",
            ),
        )
        return "\n".join(f"{name:<14}{text}" for name, text in (*rows, *(("note", note) for note in self.notes)))

    def __str__(self) -> str:
        return self.render()


def make_report(contract: LaunchContract, resources: Resources, source: str) -> Report:
    """Join what ptxas said with what the contract launches."""
    shared_bytes = resources.shared_static_bytes + contract.dynamic_shared_bytes
    target = parse_target(contract.target)
    return Report(
        contract.kernel_name,
        contract.target,
        contract.cta_threads,
        resources.registers,
        resources.spill_store_bytes,
        resources.spill_load_bytes,
        resources.local_bytes,
        resources.shared_static_bytes,
        contract.dynamic_shared_bytes,
        source.count("\n"),
        occupancy(target, contract.cta_threads, resources.registers, shared_bytes),
        _notes(source),
    )


def _notes(source: str) -> tuple[str, ...]:
    """What the header of an emitted file says of stages and loops."""
    return tuple(match["text"] for match in _NOTE.finditer(source.partition("#include")[0]))
