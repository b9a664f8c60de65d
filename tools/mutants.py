"""Runs the planted faults of tests/emulator/mutants.py in the emulator, and prints what caught each.

    python tools/mutants.py [--write] [NAME ...]

NAME is a part of a mutant's name. Each mutant runs under ten schedules with all detectors, until both its results and
a detector have shown it, or a run ended with a fault; results are compared with what NumPy computes. `--write` puts the
table into docs/emulator.md.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.emulator.mutants import Mutant, mutants
from tests.emulator.subjects import Subject, subject
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate

PAGE = ROOT / "docs" / "emulator.md"
BEGIN, END = "<!-- mutants: python tools/mutants.py --write -->", "<!-- end of mutants -->"


@dataclass(frozen=True, slots=True)
class Execution:
    """How one of the ten runs goes."""

    schedule: str
    seed: int = 0
    switch_at_accesses: int = 0

    def __str__(self) -> str:
        return self.schedule if self.schedule != "random" else f"random {self.seed}"


EXECUTIONS = (
    Execution("forward"),
    Execution("reverse"),
    *(Execution("random", seed, (0, 2, 0, 5)[seed % 4]) for seed in range(1, 9)),
)
"""The runs of a mutant: ten, half of the random ones with threads that also give way at accesses."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutant.

    Attributes:
        results: The first run whose results are wrong; None when there is none.
        difference: What was wrong with them.
        findings: Kinds of findings, each with the first run that has it.
        ended: The run that a finding ended: it has no results.
    """

    results: Execution | None
    difference: str
    findings: tuple[tuple[str, Execution], ...]
    ended: Execution | None = None

    @property
    def caught(self) -> bool:
        """Whether anything noticed the mutant."""
        return self.results is not None or bool(self.findings)


def try_kernel(launch: Subject, kernel: EmittedKernel, stop: bool = False) -> Outcome:
    """Runs a kernel in a subject's place.

    Args:
        launch: The subject.
        kernel: The kernel.
        stop: Leave the remaining runs out once anything is found.
    """
    results, difference, ended = None, "", None
    findings: dict[str, Execution] = {}
    for execution in EXECUTIONS:
        run = emulate(
            kernel,
            launch.ctas,
            launch.args,
            schedule=execution.schedule,
            seed=execution.seed,
            switch_at_accesses=execution.switch_at_accesses,
            detect="all",
            stall_s=3.0,
            limit_s=2.0,
        ).runs[0]
        for finding in run.findings:
            findings.setdefault(finding.kind, execution)
        # A run that ends early has no results to compare.
        wrong = "" if any(finding.fatal for finding in run.findings) else launch.check(run.outputs)
        if wrong and results is None:
            results, difference = execution, wrong
        ended = execution if any(finding.fatal for finding in run.findings) else None
        if ended or (results and findings) or (stop and (results or findings)):
            break
    return Outcome(results, difference, tuple(findings.items()), ended)


def try_mutants(chosen: Sequence[Mutant], stop: bool = False) -> list[Outcome]:
    """Runs mutants, as many at once as there are processors."""
    for name in dict.fromkeys(mutant.subject for mutant in chosen):
        subject(name)  # emitting is not for several threads at once
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(lambda mutant: try_kernel(subject(mutant.subject), mutant.emitted(), stop), chosen))


def verdict(mutant: Mutant, outcome: Outcome) -> str:
    """`caught`, `missed` or `equivalent`; `wrongly equivalent` when a fault said to change nothing changes results."""
    if mutant.equivalent:
        return "wrongly equivalent" if outcome.results else "equivalent"
    return "caught" if outcome.caught else "missed"


def table(chosen: Sequence[Mutant], outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of Markdown."""
    verdicts = [verdict(mutant, outcome) for mutant, outcome in zip(chosen, outcomes, strict=True)]
    counts = [f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts)]
    yield f"{len(chosen)} mutants of {len({mutant.subject for mutant in chosen})} kernels: {', '.join(sorted(counts))}."
    yield ""
    for name in dict.fromkeys(mutant.subject for mutant in chosen):
        yield f"**{name}**"
        yield ""
        yield "| fault | before → after | results | findings |"
        yield "|---|---|---|---|"
        for mutant, outcome, word in zip(chosen, outcomes, verdicts, strict=True):
            if mutant.subject == name:
                yield _row(mutant, outcome, word)
        yield ""


def _row(mutant: Mutant, outcome: Outcome, word: str) -> str:
    results = f"none: {outcome.ended}" if outcome.ended else "right"
    if outcome.results:
        results = f"wrong: {outcome.results}"
    if mutant.equivalent:
        results = f"{word}: {mutant.equivalent}"
    findings = ", ".join(f"{kind} ({execution})" for kind, execution in outcome.findings) or (
        "-" if outcome.results else ""
    )
    if word == "missed":
        findings = "**missed**"
    elif mutant.equivalent and not outcome.findings:
        findings = "none"
    return f"| {mutant.name} | {_change(mutant)} | {results} | {findings} |"


def _change(mutant: Mutant) -> str:
    """The changed lines, shortened to what differs."""
    parts = []
    for before, after in mutant.diff():
        if not after:
            parts.append(f"{_code(before)} → nothing")
        elif not before:
            parts.append(f"nothing → {_code(after)}")
        else:
            start, end = _differing(before, after)
            parts.append(f"{_code(before[start : len(before) - end])} → {_code(after[start : len(after) - end])}")
    return "; ".join(parts)


def _differing(before: str, after: str) -> tuple[int, int]:
    """How much two lines have in common at their beginnings and ends, at word boundaries and with some context."""
    shorter = min(len(before), len(after))
    start = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    end = next((i for i in range(shorter - start) if before[-1 - i] != after[-1 - i]), shorter - start)
    start, end = max(start - 12, 0), max(end - 12, 0)
    while start and (before[start - 1].isalnum() or before[start - 1] in "_:.&"):
        start -= 1
    while end and (before[len(before) - end].isalnum() or before[len(before) - end] in "_)];"):
        end -= 1
    return start, end


def _code(text: str) -> str:
    text = text.split("  //")[0].strip()
    if len(text) > 90:
        text = f"{text[:60]} ... {text[-25:]}"
    return f"`{text}`".replace("|", "\\|")


def write_page(lines: Sequence[str]) -> None:
    """Puts the table between its markers in docs/emulator.md."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    body = "\n".join(lines).strip()
    PAGE.write_text(f"{head}{BEGIN}\n{body}\n{END}{tail}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a mutant's name")
    parser.add_argument("--write", action="store_true", help="put the table into docs/emulator.md")
    options = parser.parse_args(arguments)
    if options.write and options.names:
        parser.error("--write takes the whole table")
    chosen = [one for one in mutants() if not options.names or any(name in one.id for name in options.names)]
    outcomes = try_mutants(chosen)
    lines = list(table(chosen, outcomes))
    print("\n".join(lines))
    if options.write:
        write_page(lines)
    bad = ("missed", "wrongly equivalent")
    return int(any(verdict(mutant, outcome) in bad for mutant, outcome in zip(chosen, outcomes, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
