"""Takes the measurements of docs/benchmarks.md: every bench with the options of its table, each into a file of its own.

python -m tools.bench.measure FOLDER                                        all of them, an hour of the GPU
python -m tools.bench.measure FOLDER products launch --budget-s 150         a group of `PLAN`, and one by name
python -m tools.bench.measure FOLDER products --dry-run                     only the commands
python -m tools.bench.publish FOLDER --date DAY                             then makes the tables

All are started once beforehand, side by side, which compiles what is not in the caches and checks every result; then one
after the other is measured. A bench runs in a process of its own, forked from one that has imported torch and Triton: it
may crash or run past its time without harm to the others. FOLDER/NAME.json is there as soon as a bench has ended, and
NAME.log has what it printed.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import importlib
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

_TUTORIAL_TILES = '--tiles "128,128,64,4,3 128,256,64,8,3 128,128,32,4,3"'
_SIZES = "--sizes 1024,2048,4096,8192"
_THREE = "--only cuDNN,tle2cuda,triton"
_LONG_ROWS = "--cols 65536 --rows 8192 --repeats 6"

# Group: name of the file: its limit in seconds, and options of the bench that the name begins with. In a group the order is
# that of importance, as time may run out.
PLAN: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "products": {
        "matmul_tle": (20, f"{_SIZES} --dtypes float16,bfloat16 --repeats 6"),
        "matmul": (30, f"{_SIZES} --dtypes float16 {_TUTORIAL_TILES} --repeats 6"),
        "attention": (25, '--shapes "4,32,32,4096 2,32,32,8192" --head-dims 128 --no-backward --repeats 6'),
        "fused_moe": (40, '--models "64,8,2048,1408 128,8,4096,1536" --tokens 1,16,64,256,1024,8192 --repeats 6'),
        "decode_matmul": (12, "--rows 1,4,16,32,64 --tiles 1:64,128,4,6 --repeats 6"),
        "fp8_matmul": (20, '--sizes 4096,8192 --tiles "128,128,8,3 128,128,4,3" --repeats 6'),
        "grouped_gemm": (
            15,
            '--problems "8,8192,4096,4096 64,16384,2048,4096 128,4096,4096,2048" '
            '--tiles "128,128,64,8,3,2 128,128,64,8,3,1" --repeats 6',
        ),
        "attention.back": (15, "--shapes 4,32,32,4096 --head-dims 64,128 --no-forward --masks causal --repeats 6"),
        "attention.d64": (12, f"--shapes 4,32,32,4096 --head-dims 64 --no-backward {_THREE} --repeats 6"),
        "attention.d256": (12, f"--shapes 4,16,4,4096 --head-dims 256 --no-backward {_THREE} --repeats 6"),
        "fused_moe.e256": (45, "--models 256,8,7168,2048 --tokens 1,16,64,256,1024,8192 --repeats 6"),
        "matmul.sm80": (20, f"--arch sm_90 {_SIZES} --dtypes float16 {_TUTORIAL_TILES} --repeats 5"),
        "matmul_persistent": (
            20,
            '--sizes 2048,4096,8192 --tiles "128,256,64,8,8,3 128,128,64,8,8,4 256,128,64,8,8,3" --repeats 5',
        ),
        "attention.gqa": (12, f"--shapes 4,32,8,4096 --head-dims 128 --no-backward --masks causal {_THREE} --repeats 6"),
        "attention.back256": (12, "--shapes 4,16,4,2048 --head-dims 256 --no-forward --masks full --repeats 6"),
    },
    "asynchronous": {
        "pipelined_copy": (15, "--repeats 8"),
        "pipelined_add": (15, "--repeats 6"),
        "row_reduction": (15, "--repeats 6"),
        "gather_scale": (20, "--repeats 6"),
        "persistent_softmax": (20, "--cols 1024,4096,16384 --repeats 6"),
        "persistent_softmax.long": (20, _LONG_ROWS),
        "persistent_rms_norm": (20, "--cols 1024,4096,16384 --repeats 6"),
        "persistent_rms_norm.long": (20, _LONG_ROWS),
        "transpose": (20, "--repeats 6"),
        "piped_histogram": (30, "--repeats 6"),
    },
    "rows": {
        "vector_add": (30, ""),
        "softmax": (60, ""),
        "layer_norm": (60, ""),
    },
    "launches": {"launch": (60, ""), "compile_time": (120, "")},
    "moe": {"moe_align": (1800, "")},
}
ENVIRONMENTS = {"matmul.sm80": {"TRITON_OVERRIDE_ARCH": "sm80"}}
NEVER_WARM = ("launch", "compile_time", "moe_align")  # these compile what they need before they measure, or measure that
WARM_UP = ("--repeats", "1")  # behind the others, so that it holds
IMPORTED_ONCE = ("numpy", "torch", "triton", "cupy", "jinja2")  # none of them wakes CUDA, which a forked process cannot use


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """One run of a bench: the name of its file, its options, its limit, and what its environment has besides."""

    name: str
    arguments: tuple[str, ...]
    limit_s: float
    environment: Mapping[str, str]

    @property
    def bench(self) -> str:
        return self.name.split(".", maxsplit=1)[0]

    @property
    def command(self) -> str:
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        return " ".join([*settings, f"python -m tools.bench.{self.bench}", shlex.join(self.arguments)]).strip()


def chosen(names: Sequence[str]) -> list[Measurement]:
    """The measurements of groups, or of files, with these names; all if there are none.

    Raises:
        ValueError: There is no such group or file.
    """
    everything = {name: planned for group in PLAN.values() for name, planned in group.items()}
    wanted: list[str] = []
    for name in names or PLAN:
        if name not in PLAN and name not in everything:
            raise ValueError(f"no measurement {name}; groups: {', '.join(PLAN)}; files: {', '.join(everything)}")
        wanted += PLAN.get(name, [name])
    return [
        Measurement(name, tuple(shlex.split(options)), limit_s, ENVIRONMENTS.get(name, {}))
        for name, (limit_s, options) in ((name, everything[name]) for name in dict.fromkeys(wanted))
    ]


def work(measurement: Measurement, arguments: Sequence[str], log: pathlib.Path) -> None:
    """Runs a bench in this process, which has been forked for it, and ends the process."""
    with log.open("w") as file:
        for stream, descriptor in ((sys.stdout, 1), (sys.stderr, 2)):
            stream.flush()
            os.dup2(file.fileno(), descriptor)
    os.environ.update(measurement.environment)
    sys.argv = [f"{measurement.bench}.py", *arguments]  # reports name the command
    sys.exit(importlib.import_module(f"tools.bench.{measurement.bench}").main(list(arguments)))


class Runs:
    """Forked processes, so many at once, each under its limit and all under a common end."""

    def __init__(self, folder: pathlib.Path, end_s: float) -> None:
        self.folder = folder
        self.end_s = end_s
        self._context = multiprocessing.get_context("fork")

    def run(self, jobs: Sequence[tuple[Measurement, Sequence[str], str]], at_once: int) -> int:
        """Runs benches with options, what they print in files of these names; returns how many did not end well."""
        waiting, failures = collections.deque(jobs), 0
        running: dict[int, tuple[Any, str, float, float]] = {}
        while waiting or running:
            while waiting and len(running) < at_once:
                measurement, arguments, log = waiting.popleft()
                began_s = time.monotonic()
                if began_s >= self.end_s:
                    failures += 1
                    self._say(log, "not run: no time left", 0.0)
                    continue
                process = self._context.Process(target=work, args=(measurement, arguments, self.folder / log))
                process.start()
                running[process.sentinel] = process, log, began_s, min(began_s + measurement.limit_s, self.end_s)
            next_s = min((deadline_s for *_, deadline_s in running.values()), default=time.monotonic())
            multiprocessing.connection.wait(list(running), max(0.0, next_s - time.monotonic()))
            for sentinel, (process, log, began_s, deadline_s) in list(running.items()):
                now_s = time.monotonic()
                if process.is_alive() and now_s < deadline_s:
                    continue
                late = process.is_alive()
                process.kill()
                process.join()
                del running[sentinel]
                failures += process.exitcode != 0
                verdict = "over its time" if late else f"exit {process.exitcode}" if process.exitcode else "done"
                self._say(log, verdict, now_s - began_s)
        return failures

    def _say(self, log: str, verdict: str, took_s: float) -> None:
        print(f"{log.removesuffix('.log'):26} {took_s:6.1f} s  {verdict}", flush=True)
        path = self.folder / log
        if verdict not in ("done", "over its time") and path.exists():
            lines = path.read_text(errors="replace").splitlines()
            wrong = [line[:400] for line in lines if line.startswith("WRONG")]
            print("\n".join(wrong or lines[-5:]), flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.measure", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help=f"groups ({', '.join(PLAN)}) or files; none: all")
    parser.add_argument("--budget-s", type=float, default=float("inf"), help="seconds for everything")
    parser.add_argument("--warm-up-s", type=float, default=90.0, help="the limit of all warming up; 0: none (default 90)")
    parser.add_argument("--dry-run", action="store_true", help="print the commands")
    options = parser.parse_args(arguments)
    began_s = time.monotonic()
    try:
        measurements = chosen(options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.dry_run:
        print("\n".join(f"{m.name:26} {m.limit_s:5.0f} s  {m.command}" for m in measurements))
        return 0
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in IMPORTED_ONCE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    end_s = began_s + options.budget_s
    if options.warm_up_s > 0:
        warm = [
            (dataclasses.replace(m, limit_s=options.warm_up_s), (*m.arguments, *WARM_UP), f"{m.name}.warm.log")
            for m in measurements
            if m.bench not in NEVER_WARM
        ]
        Runs(options.folder, min(end_s, time.monotonic() + options.warm_up_s)).run(warm, os.cpu_count() or 1)
    place = {m.name: str(options.folder / f"{m.name}.json") for m in measurements}
    measured = [(m, (*m.arguments, "--json", place[m.name]), f"{m.name}.log") for m in measurements]
    failures = Runs(options.folder, end_s).run(measured, at_once=1)
    print(f"{len(measured) - failures} of {len(measured)} measured in {time.monotonic() - began_s:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
