"""Runs the same emitted kernels on the same inputs on the GPU and in the emulator, and compares what they write.

    python tools/agreement.py [--json FILE] [--seed N] [--only PART] [--ops N]
    python tools/agreement.py --against interpreter       without a GPU: the interpreter takes its place

Every shipped kernel with fresh random inputs of several sizes and types, MoE alignment on both routing data sets too,
and small kernels of every operation. Integers must agree bit for bit; MoE slots do behind sorting those of one expert,
whose order is free. Floats must agree within what CUDA documents for the intrinsics that the file calls.

Exits with 1 when the devices disagree, with 3 when the machine lacks a GPU or a C++ compiler.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tle2cuda.emulator.toolchain import build_kernel, build_runner, find_compiler
from tle2cuda.errors import ToolchainError
from tools.agreement_jobs import BY_HAND, Job, Output, Values, jobs
from tools.launching import EXIT_MACHINE, EmulatorDevice, GpuDevice, Hang, InterpreterDevice, workers

DEFAULT_OPS = 16
MANY_JOBS = 8  # fewer are not worth a pool of processes
GPU, INTERPRETER = "gpu", "interpreter"


@dataclass(slots=True)
class Row:
    """A line of the table: all jobs of one kernel and element type."""

    kernel: str
    dtype: str
    bound: str
    jobs: int = 0
    elements: int = 0
    differing: int = 0
    max_ulp: float = 0.0
    share: float = 0.0
    problems: list[str] = field(default_factory=list)

    def add(self, inputs: str, outputs: Sequence[Output]) -> None:
        """Counts one job in."""
        self.jobs += 1
        for one in outputs:
            self.elements += one.elements
            self.differing += one.differing
            self.max_ulp = max(self.max_ulp, one.max_ulp)
            self.share = max(self.share, one.share)
            if one.problem:
                self.problems.append(f"{inputs}: {one.problem}")

    def record(self) -> dict[str, Any]:
        """The row as JSON takes it, which has no infinity."""
        return {
            "kernel": self.kernel,
            "dtype": self.dtype,
            "bound": self.bound,
            "jobs": self.jobs,
            "elements": self.elements,
            "differing": self.differing,
            "max_ulp": _finite(self.max_ulp),
            "share_of_bound": _finite(self.share),
            "problems": self.problems,
        }


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


# ---- compiling ------------------------------------------------------------------------------------------------------


def compile_job(job: Job, arch: str, for_gpu: bool) -> None:
    """Fills the caches with a job's kernels."""
    for emitted in job.kernels(arch):
        build_kernel(emitted.source, emitted.contract.kernel_name, emitted.contract.target)
        if for_gpu:
            from tle2cuda.runtime.build import build_artifact

            build_artifact(emitted)


def _compile_part(options: tuple[int, int, str, str, bool], part: int, parts: int) -> None:
    """What one process compiles: every `parts`-th job. A job that fails here fails, and is reported, when it runs."""
    seed, ops, only, arch, for_gpu = options
    for job in jobs(seed, ops, only)[part::parts]:
        try:
            compile_job(job, arch, for_gpu)
        except Exception:
            continue


def compile_ahead(options: tuple[int, int, str, str, bool]) -> None:
    """Compiles all jobs in as many processes as there are processors: NVRTC compiles one file at a time in each."""
    build_runner()
    parts = workers()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(parts, mp_context=context) as pool:
        started = [pool.submit(_compile_part, options, part, parts) for part in range(parts)]
        concurrent.futures.wait(started)


# ---- running --------------------------------------------------------------------------------------------------------


def run_jobs(chosen: Sequence[Job], subject: GpuDevice | InterpreterDevice, emulator: EmulatorDevice) -> list[Row]:
    """Runs jobs on the device under test, one by one, while the emulator runs many at once; gives the table's rows.

    A kernel that hangs on the GPU, or faults, ends the comparison: the jobs behind it count as not run.
    """
    rows: dict[tuple[str, str], Row] = {}
    lost = ""
    for job in chosen:
        job.kernels(emulator.arch)  # emitting is not for several threads at once
    with ThreadPoolExecutor(workers()) as pool:
        emulated = [pool.submit(job.run, emulator) for job in chosen]
        for job, future in zip(chosen, emulated, strict=True):
            row = rows.setdefault((job.kernel, job.dtype), Row(job.kernel, job.dtype, job.bound))
            if lost:
                row.add(job.inputs, [Output("", 0, problem=f"not run: {lost}")])
                continue
            outputs, lost = _compare(job, subject, future)
            row.add(job.inputs, outputs)
    return list(rows.values())


def _compare(job: Job, subject: GpuDevice | InterpreterDevice, emulated: Future[Values]) -> tuple[list[Output], str]:
    """The outputs of one job compared; and why nothing more can run, empty when something can."""
    where, lost = subject.name, ""
    try:
        got = job.run(subject)
        where = "emulator"
        return job.compare(got, emulated.result(), isinstance(subject, GpuDevice)), ""
    except Hang as error:
        lost = f"{job.kernel} hung"
        problem = f"{where}: {error}"
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        problem = f"{where}: {type(error).__name__}: {first}"[:400]
        if isinstance(subject, GpuDevice) and not subject.is_alive():
            lost = f"{job.kernel} ended the CUDA context"
    return [Output("", 0, problem=problem)], lost


# ---- showing --------------------------------------------------------------------------------------------------------


def table(rows: Sequence[Row], subject: str) -> Iterator[str]:
    """The lines that are printed."""
    header = ("kernel", "type", "runs", "elements", "differing", "max ulp", "of bound", "bound", "verdict")
    cells = [header, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
    for line in cells:
        texts = [t.rjust(w) if 2 <= c <= 6 else t.ljust(w) for c, (t, w) in enumerate(zip(line, widths, strict=True))]
        yield "  ".join(texts).rstrip()
    for row in rows:
        for problem in row.problems:
            yield f"DISAGREE {row.kernel} {row.dtype}: {problem}"
    agree = sum(not row.problems for row in rows)
    runs = sum(row.jobs for row in rows)
    yield f"{agree} of {len(rows)} kernels and types agree between {subject} and emulator in {runs} runs"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.kernel,
        row.dtype,
        str(row.jobs),
        str(row.elements),
        str(row.differing),
        f"{row.max_ulp:.1f}" if row.differing else "0",
        f"{row.share:.2f}" if row.differing else "0",
        row.bound,
        "DISAGREE" if row.problems else "agree",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", choices=(GPU, INTERPRETER), default=GPU, help="what the emulator is compared with")
    parser.add_argument("--seed", type=int, help="of the inputs; by default another one each time")
    parser.add_argument("--only", default="", metavar="PART", help="kernels whose name contains this")
    parser.add_argument(
        "--ops", type=int, default=DEFAULT_OPS, metavar="N", help=f"small kernels of each operation family ({DEFAULT_OPS})"
    )
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the rows there")
    options = parser.parse_args(arguments)
    try:
        find_compiler()
        subject = GpuDevice() if options.against == GPU else InterpreterDevice()
    except ToolchainError as error:
        print(f"agreement.py: {error}", file=sys.stderr)
        if options.against == GPU:
            print("agreement.py: without a GPU, --against interpreter compares with the interpreter", file=sys.stderr)
        return EXIT_MACHINE
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 31)
    start = time.monotonic()
    chosen = jobs(seed, options.ops, options.only)
    if options.against == INTERPRETER or not subject.arch.startswith("sm_90"):
        chosen = [job for job in chosen if not job.kernel.startswith(BY_HAND)]  # which have no IR, and are for sm_90a
    if not chosen:
        parser.error(f"no kernel's name contains {options.only!r}")
    if len(chosen) > MANY_JOBS:
        compile_ahead((seed, options.ops, options.only, subject.arch, options.against == GPU))
    print(f"seed {seed}, {len(chosen)} runs, compiled in {time.monotonic() - start:.0f} s", flush=True)
    rows = run_jobs(chosen, subject, EmulatorDevice(subject.arch))
    print("\n".join(table(rows, subject.name)))
    print(f"{time.monotonic() - start:.0f} s in all", flush=True)
    if options.json:
        device = subject.describe() if isinstance(subject, GpuDevice) else {"against": options.against}
        report = {"device": device, "seed": seed, "records": [row.record() for row in rows]}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    failed = any(row.problems for row in rows)
    if any("hung" in problem for row in rows for problem in row.problems):
        sys.stdout.flush()
        os._exit(1)  # a process with a kernel that never ends does not end by itself
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
