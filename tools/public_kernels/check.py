"""Runs the recipes of public kernels on two sides, compares what they leave, and times them on a GPU.

    python -m tools.public_kernels.check --on cuda --against triton [--time] [--json FILE]
    python -m tools.public_kernels.check --on emulator --against triton-cpu --oracle PYTHON [--only TEXT ...]
    python -m tools.public_kernels.check --on cuda --against triton --guessed PAIRS --only HASH ...

Sides: cuda, emulator, interpreter and eager run tle2cuda; triton runs Triton on the GPU in the same process;
triton-cpu its interpreter, in a process of `--oracle`, a Python with Triton and torch. Each kernel runs in a worker
process, which is replaced when a kernel takes it down or takes too long. Exit code 1 when a kernel fails.

`--guessed` takes kernels that `harvest` found in place of those with a recipe, on the arguments that `guessed` makes up:
those which reach outside of their arrays by its words are to be left out.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from tools.bench.common import Bench, format_table
from tools.public_kernels import guessed, sides
from tools.public_kernels.recipe import Array, compare, concrete, expected_arrays, recipe_of
from tools.public_kernels.records import Record, load_records, records_of_pairs, without_bf16

DEFAULT_ROOT = Path(os.environ.get("TLE2CUDA_CORPUS", "~/.cache/tle2cuda-corpus")).expanduser()
_GRAPH_US = 3000.0  # length of one timed graph
_ROUNDS = 3


@dataclass(slots=True)
class Result:
    """What became of one recipe.

    Attributes:
        status: ``agrees``, ``differs``, ``fails`` on our side, ``no rival`` when the other side fails, ``died``.
        detail: The difference or the error.
        worst: Largest difference over the allowed one; 0 when equal bit for bit.
        first_s: Seconds of our first call, and of the other side's.
        us: Microseconds of a launch on the GPU, ours and the other side's; 0 when not timed.
    """

    hash: str
    title: str
    kind: str
    status: str
    detail: str = ""
    worst: float = 0.0
    first_s: tuple[float, float] = (0.0, 0.0)
    us: tuple[float, float] = (0.0, 0.0)
    why: str = ""


# ---- worker ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker does with a record."""

    record: Record
    on: str
    against: str
    full: bool
    timed: bool
    packages: Path
    cut: Path
    expected: Mapping[str, Array] | str | None = None
    seed: int = 0
    guessed: bool = False


def check(job: Job) -> Result:
    """Runs one recipe on both sides and compares."""
    record = job.record
    result = Result(record.hash, record.title, record.kind, "fails")
    chosen = guessed.recipe(record) if job.guessed else recipe_of(record)
    assert chosen is not None
    try:
        before = concrete(record, chosen, job.full, job.seed)
        result.why = before.launch.why
        kernel = sides.load(record, job.packages, job.cut, use_triton=job.against == "triton")
        on_gpu = (job.on, job.against) == ("cuda", "triton")
        ours = sides.run(job.on, kernel, record, before, fetch=not on_gpu)
    except Exception as error:
        result.detail = _short(error)
        return result
    rival = None
    own = expected_arrays(before) if isinstance(job.expected, str) else None
    if own is not None:
        want: Mapping[str, Array] = own
    elif isinstance(job.expected, str):
        result.status, result.detail = "no rival", job.expected
        return result
    elif job.expected is not None:
        want = job.expected
    else:
        try:
            rival = sides.run(job.against, kernel, record, before, fetch=not on_gpu)
        except Exception as error:
            result.status, result.detail = "no rival", _short(error)
            return result
        want = rival.arrays
    result.first_s = (ours.first_s, rival.first_s if rival else 0.0)
    differences = sides.compare_on_gpu(before, ours, rival) if on_gpu and rival else compare(before, ours.arrays, want)
    wrong = [d for d in differences if d.wrong]
    result.worst = max((d.worst for d in differences), default=0.0)
    result.status = "differs" if wrong else "agrees"
    result.detail = "; ".join(f"{d.name}: {d.wrong} elements, {d.where}" for d in wrong)
    if job.timed and chosen.timed and rival is not None and not wrong:
        result.us = _time(ours, rival)
    return result


def _time(ours: sides.Ran, rival: sides.Ran) -> tuple[float, float]:
    """Medians inside graphs, in alternation."""
    bench = Bench()
    with bench.current():
        ours.again(), rival.again()
        once = max(bench.back_to_back_us(ours.again), 1.0)
    bench.launches_per_graph = int(min(max(_GRAPH_US / once, 1), 50))
    bench.repeats = 5
    rounds = [(bench.graph_us(ours.again), bench.graph_us(rival.again)) for _ in range(_ROUNDS)]
    return statistics.median(r[0] for r in rounds), statistics.median(r[1] for r in rounds)


def _short(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip()
    if not text.startswith(("CompilationError", "KernelError")) and "tle2cuda" in traceback.format_exc():
        text += "\n" + traceback.format_exc()[-1500:]
    return text[:3000]


def _serve(connection: Connection) -> None:
    """A worker: jobs in, results out, until the context is lost."""
    while True:
        try:
            job: Job = connection.recv()
        except EOFError:
            return
        result = check(job)
        connection.send(result)
        if result.status in ("fails", "no rival") and "cuda" in (job.on, job.against) and _context_lost():
            os._exit(3)


def _context_lost() -> bool:
    import torch

    try:
        torch.cuda.synchronize()
        return False
    except Exception:
        return True


# ---- parent ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    connection: Connection
    job: Job | None = None
    deadline: float = 0.0


def run_jobs(jobs: Sequence[Job], workers: int, limit_s: float) -> Iterator[Result]:
    """Runs jobs in `workers` processes and yields results as they come."""
    context = multiprocessing.get_context("spawn")

    def start() -> _Worker:
        here, there = context.Pipe()
        process = context.Process(target=_serve, args=(there,), daemon=True)
        process.start()
        there.close()
        return _Worker(process, here)

    waiting = list(reversed(jobs))
    pool = [start() for _ in range(min(workers, len(jobs)))]
    while waiting or any(w.job for w in pool):
        for i, worker in enumerate(pool):
            if worker.job is None and waiting:
                if not worker.process.is_alive():
                    pool[i] = worker = start()
                worker.job, worker.deadline = waiting.pop(), time.monotonic() + limit_s
                worker.connection.send(worker.job)
        busy = [w for w in pool if w.job]
        ready = wait([w.connection for w in busy], max(0.0, min(w.deadline for w in busy) - time.monotonic()))
        for worker in busy:
            job = worker.job
            assert job is not None
            lost = f"the process died with {worker.process.exitcode}"
            if worker.connection in ready:
                try:
                    yield worker.connection.recv()
                    worker.job = None
                    continue
                except EOFError:
                    worker.process.join()
                    lost = f"the process died with {worker.process.exitcode}"
            elif time.monotonic() < worker.deadline:
                continue
            else:
                lost = f"more than {limit_s:.0f} s"
            worker.process.kill()
            worker.process.join()
            worker.job = None
            yield Result(job.record.hash, job.record.title, job.record.kind, "died", lost)
    for worker in pool:
        worker.connection.close()
        worker.process.kill()


def expected_of(records: Sequence[Record], options: argparse.Namespace) -> dict[str, Mapping[str, Array] | str]:
    """What Triton's interpreter leaves, by hash; a text where it fails, or is not asked: it may go down with a kernel."""
    asked: list[str] = []
    answers: dict[str, Mapping[str, Array] | str] = {}
    for record in records:
        chosen = recipe_of(record)
        if chosen is not None and chosen.make(False).expected is not None:
            answers[record.hash] = "the recipe says what it expects"
        else:
            asked.append(record.hash)
    if not asked:
        return answers
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "expected.pickle"
        environment = {**os.environ, "TRITON_INTERPRET": "1"}
        command = [options.oracle, "-m", "tools.public_kernels.oracle", str(target), str(options.packages)]
        command += [str(options.cut), str(options.seed), str(int(options.wide)), *asked]
        subprocess.run(command, env=environment, check=True)
        answers.update(pickle.loads(target.read_bytes()))
    return answers


def table(results: Sequence[Result]) -> str:
    """One line for each recipe, then the sums."""
    rows = []
    for r in sorted(results, key=lambda r: (r.kind, r.title)):
        ours, theirs = r.us
        rows.append(
            [
                f"{r.kind[:14]:14} {r.hash[:8]} {r.title[-60:]}",
                r.status,
                f"{r.worst:.2g}",
                *([f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}"] if ours else ["", "", ""]),
                *([f"{r.first_s[0]:.2f}", f"{r.first_s[1]:.2f}"] if r.first_s[0] else ["", ""]),
            ]
        )
    return format_table(["kernel", "result", "worst", "ours us", "rival us", "rival/ours", "first s", "rival s"], rows)


def _write(results: Sequence[Result], path: Path | None) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(r) for r in results], indent=1) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", choices=sides.SIDES[:4], default="interpreter")
    parser.add_argument("--against", choices=[*sides.SIDES], default="triton-cpu")
    parser.add_argument("--oracle", default=sys.executable, help="a Python with Triton and torch, for triton-cpu")
    parser.add_argument("--only", nargs="*", help="records whose hash, package, file, function or kind contain a text")
    parser.add_argument("--full", action="store_true", help="sizes for timing")
    parser.add_argument("--time", action="store_true", help="time both sides, one worker at a time")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds a recipe may take")
    parser.add_argument("--wide", action="store_true", help="fp32 for bf16, which Triton's interpreter gets wrong")
    parser.add_argument("--total", type=float, default=3600.0, help="seconds after which to stop and show what is there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guessed", type=Path, metavar="PAIRS", help="records of `harvest`, on guessed arguments")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--root", type=Path, default=DEFAULT_ROOT, help="packages, and kernels cut out of them")
    options = parser.parse_args(arguments)
    options.packages, options.cut = options.root / "src", options.root / "cut"
    if options.guessed and options.against == "triton-cpu":
        parser.error("`tools.public_kernels.guessed` runs pairs against Triton's interpreter")
    records = records_of_pairs(options.guessed) if options.guessed else [r for r in load_records() if recipe_of(r)]
    if options.only:
        records = [r for r in records if any(text in f"{r.hash} {r.title} {r.kind}" for text in options.only)]
    records = [without_bf16(r) for r in records] if options.wide else records
    expected = expected_of(records, options) if options.against == "triton-cpu" else {}
    jobs = [
        Job(r, options.on, options.against, options.full, options.time, options.packages, options.cut,
            expected.get(r.hash), options.seed, options.guessed is not None)
        for r in records
    ]  # fmt: skip
    results = []
    end = time.monotonic() + options.total
    for result in run_jobs(jobs, 1 if options.time else options.jobs, options.limit):
        results.append(result)
        _write(results, options.json)
        if result.status != "agrees":
            print(f"{result.status} {result.hash[:8]} {result.title}\n    {result.detail}", flush=True)
        if time.monotonic() > end:
            print(f"stopped after {options.total:.0f} s: {len(jobs) - len(results)} recipes not run", flush=True)
            break
    print(table(results))
    counts = {status: sum(r.status == status for r in results) for status in dict.fromkeys(r.status for r in results)}
    print(", ".join(f"{n} {status}" for status, n in counts.items()))
    ratios = sorted(r.us[1] / r.us[0] for r in results if r.us[0])
    if ratios:
        print(f"rival time / our time: median {ratios[len(ratios) // 2]:.3f}, least {ratios[0]:.3f}, of {len(ratios)}")
    return int(any(r.status in ("fails", "differs", "died") for r in results))


if __name__ == "__main__":
    sys.exit(main())
