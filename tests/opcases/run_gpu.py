"""Runs the cases on the GPU: `python -m tests.opcases.run_gpu [--only PART] [--family NAME]`.

Results are compared with the interpreter's; with `--against emulator`, those of the emitted file there. `--spread N` takes
N cases of each family.

One process runs them one after the other; a second one watches it. A case that kills the process, loses the CUDA
context or hangs is reported as such, and a new process goes on behind it. One line for each failing case, then a
summary; the exit code is 1 when a case fails.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import json
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.opcases import cases, spread
from tle2cuda.compiler import current_arch
from tle2cuda.emulator.toolchain import build_kernel

HANG_S = 90  # a case that says nothing for so long hangs; compiling one cold takes some seconds
_LOST = 3  # exit code of a worker whose CUDA context is gone


# ---- worker ---------------------------------------------------------------------------------------------------------


def work(names: Sequence[str], against: str) -> int:
    """Runs cases and reports each on standard output: a line when it starts, one when it is done."""
    from tests.opcases.gpu import check_on_gpu, context_is_alive

    # Kernels print to the process's own standard output: keep that apart from the reports.
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for name in names:
        print(json.dumps({"start": name}), file=reports)
        problem = ""
        try:
            problem = "; ".join(check_on_gpu(cases()[name], against))
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            problem = f"{type(error).__name__}: {first}"[:400]
        if problem and not context_is_alive():
            print(json.dumps({"done": name, "problem": f"lost the CUDA context: {problem}"}), file=reports)
            reports.flush()
            os._exit(_LOST)  # destructors would only raise again
        print(json.dumps({"done": name, "problem": problem}), file=reports)
    return 0


# ---- watcher --------------------------------------------------------------------------------------------------------


def _lines_of(process: subprocess.Popen[str]) -> Iterator[dict[str, Any] | None]:
    """Reports of a worker; None when it has been silent for too long."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=HANG_S)
        except queue.Empty:
            yield None
            return
        if line is None:
            return
        yield json.loads(line)


def watch(names: Sequence[str], show: Any = print, against: str = "interpreter") -> dict[str, str]:
    """Runs cases in worker processes; gives the problem of each by name, empty for none."""
    results: dict[str, str] = {}
    rest = list(names)
    while rest:
        command = [sys.executable, "-m", "tests.opcases.run_gpu", "--worker", "--against", against]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(rest))
            process.stdin.close()
            current, silent = "", False
            for report in _lines_of(process):
                if report is None:
                    silent = True
                    process.kill()
                    break
                if "start" in report:
                    current = report["start"]
                    continue
                results[report["done"]] = report["problem"]
                if report["problem"]:
                    show(f"FAIL {report['done']}: {report['problem']}")
                current = ""
            code = process.wait()
        if current:
            reason = f"hangs (nothing for {HANG_S} s)" if silent else f"ended its process with code {code}"
            results[current] = reason
            show(f"FAIL {current}: {reason}")
        elif not any(name in results for name in rest):
            show(f"FAIL: the worker does not start (exit code {code})")
            return results | dict.fromkeys(rest, "not run")
        rest = [name for name in rest if name not in results]
    return results


# ---- compiling ahead ------------------------------------------------------------------------------------------------


def _compile(name: str, against: str) -> str:
    """Fills the caches, so that the run does not wait for compilers."""
    case = cases()[name]
    try:
        case.kernel.warmup(**case.inputs(), **case.constants, num_warps=case.num_warps)
        if against == "emulator":
            emitted = case.emit(current_arch(), headers="toolkit")
            build_kernel(emitted.source, emitted.contract.kernel_name, emitted.contract.target)
    except Exception as error:
        return f"{name}: {type(error).__name__}"
    return ""


def compile_ahead(names: Sequence[str], against: str) -> None:
    """Compiles in as many processes as there are cores; what fails here fails again, and is reported, in the run."""
    workers = min(os.cpu_count() or 1, 16)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
        for _ in pool.map(functools.partial(_compile, against=against), names, chunksize=4):
            pass


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.opcases.run_gpu", description=__doc__)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parser.add_argument("--family", default="", help="run the cases of this family")
    parser.add_argument(
        "--against", choices=("interpreter", "emulator"), default="interpreter", help="what to compare with"
    )
    parser.add_argument("--spread", type=int, default=0, metavar="N", help="run at most N cases of each family")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--no-compile-ahead", action="store_true", help="compile each case when it runs")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(json.loads(sys.stdin.read()), options.against)
    among = {case.name for case in spread(options.spread)} if options.spread else set(cases())
    names = [n for n, c in cases().items() if n in among and options.only in n and options.family in ("", c.family)]
    if options.list:
        print("\n".join(names))
        return 0
    start = time.monotonic()
    if len(names) > 8 and not options.no_compile_ahead:
        compile_ahead(names, options.against)
        print(f"compiled in {time.monotonic() - start:.0f} s", flush=True)
    results = watch(names, show=lambda text: print(text, flush=True), against=options.against)
    failed = [name for name in names if results.get(name, "not run")]
    print(f"{len(names)} cases, {len(failed)} failed, {time.monotonic() - start:.0f} s")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
