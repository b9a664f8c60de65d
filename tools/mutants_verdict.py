"""What the detectors and compute-sanitizer's tools say about one kernel, and whether that is the same.

The tools see less: racecheck watches shared memory inside one CTA, initcheck global memory, memcheck whole allocations, and
none of them other orders than the one that ran. So a finding of the detectors asks for one of theirs only where a tool can
have it; one of theirs always asks for one of the detectors'.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate
from tle2cuda.emulator.results import Finding
from tle2cuda.runtime.contract import Dim3

RUNS = (("forward", 0), ("reverse", 0), ("random", 1), ("random", 2))
AGREE, PARTLY, BLIND, DISAGREE, UNKNOWN = "agree", "partly", "cannot see", "disagree", "not run"
CRASHED = "tool crashed"

TOOL_OF = {
    "out_of_bounds": "memcheck",
    "misaligned": "memcheck",
    "race": "racecheck",
    "uninitialized": "initcheck",
    "divergent_barrier": "synccheck",
    "collective": "synccheck",
    "deadlock": "synccheck",
}
"""The tool that looks for the same."""

_WHY_NOT = {
    ("race", "global"): "racecheck watches shared memory only",
    ("race", "remote"): "racecheck watches hazards inside one CTA",
    ("uninitialized", "shared"): "initcheck watches global memory only",
    ("uninitialized", "remote"): "initcheck watches global memory only",
    ("out_of_bounds", "shared"): "memcheck knows the CTA's shared memory as a whole, not its members",
    ("out_of_bounds", "remote"): "memcheck knows the CTA's shared memory as a whole, not its members",
}
_NO_TOOL = {
    "exit": "no tool watches whether a CTA's peers have exited",
    "endless_loop": "the kernel hangs, which no tool reports",
    "endless_wait": "the kernel hangs, which no tool reports",
}
_ENGINE, _MBARRIERS, _WARPGROUPS, _ARRIVALS = "copies", "mbarriers", "warpgroups", "arrivals"
_INSTRUCTIONS = {
    _ENGINE: re.compile(r"\bcp\.(?:async|reduce)"),
    _MBARRIERS: re.compile(r"\bmbarrier\."),
    _WARPGROUPS: re.compile(r"\b(?:wgmma|setmaxnreg)\."),
    _ARRIVALS: re.compile(r"\bbar(?:rier)?(?:\.cta)?\.arrive\b"),
}
"""Instructions that the tools do not follow."""
_REPORTED_WRONGLY = {
    ("initcheck", _ENGINE): "initcheck does not see what the copy engine writes",
    ("racecheck", _ARRIVALS): "racecheck does not follow arrivals at hardware barriers",
}
"""What a tool says of kernels with such instructions although nothing is wrong."""
_NOT_FOLLOWED = {
    ("race", _ENGINE): "racecheck does not follow copies that go on while the threads do",
    ("misaligned", _ENGINE): "the GPU refuses such copies by an error of the launch, which no tool explains",
    ("deadlock", _MBARRIERS): "no tool reports waits at mbarriers",
    ("collective", _WARPGROUPS): "no tool watches instructions of warpgroups",
}
_FOLLOWS = "only in orders in which what was read too early is wrong"


@dataclass(frozen=True, slots=True)
class Ours:
    """What the detectors said about a kernel, under several schedules.

    Attributes:
        kinds: Kinds of findings with the memory they are about (``global``, ``shared``: of the same CTA, ``remote``, or
            nothing), and how many places each has.
        uses: Instructions of the kernel that the tools do not follow.
    """

    kinds: Mapping[tuple[str, str], int]
    uses: frozenset[str] = frozenset()

    @property
    def may_hang(self) -> bool:
        """Whether some order of the threads comes to no end."""
        return any(kind in ("deadlock", "endless_loop", "endless_wait") for kind, _ in self.kinds)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The two beside each other.

    Attributes:
        title: The mutant, or the unchanged kernel.
        is_control: It is an unchanged kernel.
        verdict: ``agree``: both say the same of it, be it nothing. ``partly``: both find fault, one of them less.
            ``cannot see``: only the detectors do, and `reason` says why. ``tool crashed``: the tool that looks for it ended
            its process at this kernel without a report, as it does at no unchanged one. ``disagree``, ``not run``.
        ours: What the detectors found.
        theirs: What the tools found, and trouble with launches.
        reason: Why they differ.
        found_any: Either found something.
    """

    title: str
    is_control: bool
    verdict: str
    ours: str
    theirs: str
    reason: str
    found_any: bool

    @property
    def is_bad(self) -> bool:
        """Whether it needs a look."""
        return self.verdict in (DISAGREE, UNKNOWN) or (self.is_control and self.found_any and self.verdict != BLIND)


def ours_of(emitted: EmittedKernel, ctas: Dim3, args: Mapping[str, Any], uninitialized: Sequence[str]) -> Ours:
    """Runs a kernel under some schedules with all detectors."""
    kinds: Counter[tuple[str, str]] = Counter()
    for schedule, seed in RUNS:
        result = emulate(
            emitted,
            ctas,
            args,
            schedule=schedule,
            seed=seed,
            detect="all",
            uninitialized=uninitialized,
            stall_s=3.0,
            limit_s=2.0,
        )
        here = Counter((finding.kind, memory_of(finding)) for finding in result.findings)
        kinds |= here
    return Ours(dict(kinds), uses_of(emitted.source))


def uses_of(source: str) -> frozenset[str]:
    """Which instructions that the tools do not follow stand in the text of a kernel."""
    return frozenset(name for name, pattern in _INSTRUCTIONS.items() if pattern.search(source))


def memory_of(finding: Finding) -> str:
    """The memory that a finding is about: ``global``, ``shared`` (of the CTA at fault), ``remote``, or nothing."""
    if finding.kind not in ("race", "uninitialized", "out_of_bounds", "misaligned"):
        return ""
    _, is_shared, owner = finding.message.partition(" in shared memory of CTA ")
    if not is_shared:
        return "global"
    parties = {finding.cta, *((finding.other.cta,) if finding.other else ())}
    return "shared" if all(cta is not None and owner.startswith(str(cta)) for cta in parties) else "remote"


def expected(ours: Ours) -> tuple[set[str], list[str]]:
    """Tools that must report a kernel of which the detectors say this, and why others need not."""
    tools, reasons = set(), []
    reads_too_early = any(kind in ("race", "uninitialized") for kind, _ in ours.kinds)
    for kind, memory in ours.kinds:
        not_followed = [text for (about, use), text in _NOT_FOLLOWED.items() if about == kind and use in ours.uses]
        if not_followed and (memory != "global" or kind == "misaligned"):
            reasons += not_followed
        elif kind in _NO_TOOL:
            reasons.append(_NO_TOOL[kind])
        elif (kind, memory) in _WHY_NOT:
            reasons.append(_WHY_NOT[kind, memory])
        elif kind in ("out_of_bounds", "misaligned", "divergent_barrier", "deadlock") and reads_too_early:
            reasons.append(_FOLLOWS)
        elif kind in TOOL_OF:
            tools.add(TOOL_OF[kind])
        else:
            reasons.append(f"no tool looks for {kind}")
    return tools, list(dict.fromkeys(reasons))


def judge(
    title: str,
    ours: Ours,
    found: Mapping[str, Mapping[str, int]],
    trouble: Mapping[str, str],
    is_control: bool = False,
    refused: str = "",
) -> Verdict:
    """Compares the two.

    Args:
        title: The kernel.
        ours: The detectors' findings.
        found: Records of each tool that has some: kinds with their counts.
        trouble: Launches that hung, ended a process or were not made, by tool.
        is_control: It is an unchanged kernel.
        refused: Why there is no GPU code of it; empty when there is.
    """
    must, reasons = expected(ours)
    told = set(found)
    looked_for = {TOOL_OF[kind] for kind, _ in ours.kinds if kind in TOOL_OF}
    if any(kind == "uninitialized" and memory != "global" for kind, memory in ours.kinds):
        looked_for.add("racecheck")  # shared memory read in front of the write that nothing orders is a race too
    not_run = [tool for tool, text in trouble.items() if text.startswith("not run")]
    reason = ""
    if refused:
        verdict, reason = (BLIND if ours.kinds else UNKNOWN), refused
    elif not_run and not told:
        verdict, reason = UNKNOWN, trouble[not_run[0]]
    elif not told and not ours.kinds:
        verdict = AGREE
    elif not ours.kinds:
        why = {tool: text for (tool, use), text in _REPORTED_WRONGLY.items() if tool in told and use in ours.uses}
        is_explained = set(why) == told
        verdict, reason = (BLIND, "; ".join(why.values())) if is_explained else (DISAGREE, "the tools alone find something")
    elif not told and trouble and all(text == "hangs" for text in trouble.values()):
        verdict, reason = BLIND, "the kernel hangs, which no tool reports"
    elif not told and any(trouble.get(tool, "").startswith("ended its process") for tool in must):
        verdict, reason = CRASHED, ""
    elif not told:
        verdict, reason = (DISAGREE, f"{', '.join(sorted(must))} should see it") if must else (BLIND, "; ".join(reasons))
    elif must <= told <= looked_for:
        verdict = AGREE
    else:
        verdict = PARTLY
        parts = [f"nothing from {tool}" for tool in sorted(must - told)]
        reason = "; ".join(parts + [f"{tool} alone" for tool in sorted(told - looked_for)])
    return Verdict(
        title, is_control, verdict, _ours_text(ours), _theirs_text(found, trouble), reason, bool(told or ours.kinds)
    )


def _ours_text(ours: Ours) -> str:
    return ", ".join(f"{kind}{f' ({memory})' if memory else ''}" for kind, memory in sorted(ours.kinds)) or "nothing"


def _theirs_text(found: Mapping[str, Mapping[str, int]], trouble: Mapping[str, str]) -> str:
    parts = [f"{tool}: {', '.join(f'{what} x {count}' for what, count in kinds.items())}" for tool, kinds in found.items()]
    parts += [f"{tool}: {text}" for tool, text in trouble.items() if tool not in found]
    return "; ".join(parts) or "nothing"
