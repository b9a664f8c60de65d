"""Runs op cases and shipped kernels under compute-sanitizer and says which kernels a tool has something to say about.

    python tools/sanitize_ops.py [--family NAME ...] [--only PART ...] [--shipped [NAME ...]] [--tools TOOL ...]

Without --family, --only and --shipped: the cases of all families that move data asynchronously, and all shipped kernels.
Results are checked, too. Several processes work through a list each; one that crashes or hangs is started again behind
the kernel it was at. Exits with 1 when something was found, with 3 when the machine lacks something.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.opcases import cases
from tests.opcases.run_gpu import compile_ahead
from tools import sanitize
from tools.launching import EXIT_MACHINE
from tools.sanitizer_output import PREFIX, command, find_sanitizer, help_text, records
from tools.sanitizer_session import HANG_S, MARK, Session

FAMILIES = tuple(
    """
    async_loads async_partitions async_pipes asynchrony bulk_pipes descriptors divided_partitions inner_partitions
    multicast pipelined ring_boxes tensor_copies tensor_order
    """.split()
)
PARTS = ("wgmma",)  # of names of cases that move data asynchronously in other families
TOOLS = ("memcheck", "racecheck", "synccheck")
SHIPPED = "shipped"  # what stands in front of the name of a shipped kernel
_LOST = 3  # exit code of a worker whose CUDA context is gone
SHIPPED_S = 240.0  # silence of a shipped kernel, which is many launches, that means it hangs (moe_cluster takes over 100 s)
_PER_PROCESS = 14  # kernels
_PLACE = re.compile(r"\bat (?:void )?\$?(\w+?)(?:[$(<]\S*)?\+0x[0-9a-f]+")


def work(names: Sequence[str]) -> int:
    """Launches kernels one after the other, and says when each starts and ends."""
    import cupy

    from tests.opcases.gpu import context_is_alive, run_on_gpu

    os.environ["COLUMNS"] = "200"
    for name in names:
        print(MARK, "start", name, flush=True)
        problem = ""
        try:
            if name.startswith(f"{SHIPPED}:"):
                sanitize.runners()[name.partition(":")[2]](cupy)
            else:
                case = cases()[name]
                problem = "; ".join(case.differences(run_on_gpu(case), case.reference(case.inputs())))
        except Exception as error:
            problem = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:200]
        print(MARK, "done", name, problem.replace("\n", " "), flush=True)
        if problem and not context_is_alive():
            os._exit(_LOST)
    return 0


def chosen(families: Sequence[str], parts: Sequence[str], shipped: Sequence[str] | None) -> list[str]:
    """Names of op cases and shipped kernels, each shipped one behind `shipped:`; all of these if none is named."""
    everything = not families and not parts and shipped is None
    wanted, parts = (FAMILIES, PARTS) if everything else (families, parts)
    names = [name for name, case in cases().items() if case.family in wanted or any(part in name for part in parts)]
    if shipped is not None or everything:
        names = [f"{SHIPPED}:{name}" for name in shipped or sanitize.runners()] + names
    return names


def sessions(names: Sequence[str], tools: Sequence[str], deadline: float) -> list[Session]:
    """Every tool with every kernel, the shipped ones in a process each."""
    sanitizer = find_sanitizer()
    assert sanitizer is not None
    known = help_text(sanitizer)
    program = [sys.executable, str(pathlib.Path(__file__).resolve()), "--worker"]
    single = [[name] for name in names if name.startswith(SHIPPED)]
    others = [name for name in names if not name.startswith(SHIPPED)]
    lists = single + [others[at : at + _PER_PROCESS] for at in range(0, len(others), _PER_PROCESS)]
    return [
        Session(
            tool,
            part,
            command(sanitizer, tool, known, program),
            deadline,
            hang_s=SHIPPED_S if part[0].startswith(SHIPPED) else HANG_S,
        )
        for part in lists
        for tool in tools
    ]


def findings(session: Session) -> Iterator[tuple[str, str]]:
    """What a session found: the kernel or case, and what about it."""
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for record in records(session.lines, ()):
        place = _PLACE.search(record.text)
        counts[place[1] if place else "?", record.what] += 1
    by_kernel = collections.defaultdict(list)
    for name in session.names:
        if not name.startswith(SHIPPED):
            by_kernel[cases()[name].kernel.fn.__name__].append(name)
    for (kernel, what), count in counts.items():
        of = by_kernel.get(kernel, session.names if len(session.names) == 1 else [])
        yield f"{kernel} ({', '.join(of)})" if of else kernel, f"{what} x {count}"
    for name, problem in session.trouble.items():
        yield name, problem


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", nargs="*", default=[], help="families of op cases")
    parser.add_argument("--only", nargs="*", default=[], help="op cases whose name contains one of these")
    parser.add_argument("--shipped", nargs="*", metavar="NAME", help="kernels of tools/sanitize.py; all if none is named")
    parser.add_argument("--tools", nargs="*", default=TOOLS, choices=(*TOOLS, "initcheck"))
    parser.add_argument("--limit-s", type=float, default=300.0, help="start no launch behind so many seconds (300)")
    parser.add_argument("--processes", type=int, default=12, help="how many at once")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write what was found there")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="keep what the tools print")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--worker", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker is not None:
        return work(options.worker)
    names = chosen(options.family, options.only, options.shipped)
    if options.list:
        print("\n".join(names))
        return 0
    if find_sanitizer() is None:
        print("sanitize_ops.py: compute-sanitizer is neither on PATH nor in /usr/local/cuda", file=sys.stderr)
        return EXIT_MACHINE
    compile_ahead([name for name in names if not name.startswith(SHIPPED)], "interpreter")
    start = time.monotonic()
    runs = sessions(names, options.tools, start + options.limit_s)
    with ThreadPoolExecutor(options.processes) as pool:
        finished = list(pool.map(Session.run, runs))
    return report(finished, len(names), time.monotonic() - start, options.json, options.log)


def report(
    finished: Sequence[Session], kernels: int, seconds: float, json_: pathlib.Path | None, log: pathlib.Path | None
) -> int:
    """Prints what was found, by tool; 1 when that is anything."""
    found: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    not_run = 0
    for session in finished:
        for name, what in findings(session):
            if what.startswith("not run"):
                not_run += 1
            else:
                found[session.tool].append((name, what))
    for tool, entries in found.items():
        for name, what in entries:
            print(f"{tool}: {name}: {what}")
    if json_:
        json_.write_text(json.dumps(found, indent=1))
    if log:
        log.write_text("\n".join(line for s in finished for line in s.lines if line.startswith((PREFIX, MARK))))
    tools = ", ".join(sorted({session.tool for session in finished}))
    total = sum(map(len, found.values()))
    print(f"{kernels} kernels under {tools}: {total} findings, {not_run} launches not run, {seconds:.0f} s")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
