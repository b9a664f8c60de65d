"""``python -m tests.fuzz``: many seeds, failures shrunk to a minimal kernel."""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor

from tests.fuzz.check import DEVICES, Failure, check
from tests.fuzz.generate import Program, program
from tests.fuzz.shrink import shrink


def _one(task: tuple[int, tuple[str, ...]]) -> tuple[int, Failure | None]:
    seed, devices = task
    with tempfile.TemporaryDirectory() as folder:
        return seed, check(program(seed), pathlib.Path(folder), devices)


def minimal(seed: int, devices: tuple[str, ...], budget: int = 600) -> tuple[Program, Failure]:
    """The smallest program found that fails as that of the seed does, and how it fails.

    Raises:
        ValueError: The seed does not fail.
    """
    original = program(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if original.has_order and "emulator" not in devices:
            devices = (*devices, "emulator")  # which finds out when what is left has no order any more
        found = check(original, folder, devices)
        if found is None:
            raise ValueError(f"seed {seed} does not fail")
        kind = found.kind

        def fails(candidate: Program) -> bool:
            try:
                failure = check(candidate, folder, devices)
            except Exception:  # no valid module
                return False
            return failure is not None and failure.kind == kind

        small = shrink(original, fails, budget)
        failure = check(small, folder, devices)
        return small, failure or found


def report(seed: int, devices: tuple[str, ...], budget: int = 600) -> str:
    """A failing seed as a text: what differs, and the shrunk kernel."""
    small, failure = minimal(seed, devices, budget)
    sizes = f"M={small.M}, N={small.N}, num_warps={small.num_warps}"
    return f"seed {seed}, {sizes}: {failure.text}\n\n{small.text}"


def main() -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="number of programs (default: 100)")
    parser.add_argument("--start", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument(
        "--on", default=",".join(DEVICES), help=f"devices, the first is right (default: {','.join(DEVICES)})"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--shrink", type=int, default=600, help="programs to try when a failure is shrunk (default: 600)")
    parser.add_argument("--show", action="store_true", help="print the programs instead of running them")
    options = parser.parse_args()
    seeds = range(options.start, options.start + options.seeds)
    if options.show:
        for seed in seeds:
            print(f"# seed {seed}: M={program(seed).M}, N={program(seed).N}\n{program(seed).text}")
        return 0
    devices = tuple(options.on.split(","))
    failures: dict[str, list[int]] = collections.defaultdict(list)
    start = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = ((seed, devices) for seed in seeds)
        for done, (seed, failure) in enumerate(pool.map(_one, tasks, chunksize=4), 1):
            if failure is not None:
                failures[failure.kind].append(seed)
                print(f"seed {seed}: {failure.text}", flush=True)
            if done % 50 == 0:
                seconds = time.perf_counter() - start
                print(
                    f"{done} of {len(seeds)} programs, {sum(map(len, failures.values()))} failed, {seconds:.0f} s",
                    flush=True,
                )
    for kind, found in failures.items():
        print(f"\n{len(found)} programs: {kind}\n")
        if options.shrink:
            print(report(found[0], devices, options.shrink), flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
