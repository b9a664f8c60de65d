"""Runs pipes on a GPU until the phases of their barriers have wrapped a million times, and checks the results.

    python tools/soak.py [--fills N] [--on emulator]

One CTA goes round rings of one to three stages, with one reader and with two, filled by the copy engine and by cp.async. A
phase is told from the next by one bit, which comes back to the same value every other lap. A thread that misses one waits
for ever, so a hang is a failure, too.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np

from kernels.gather_scale import gather_scale
from kernels.piped_histogram import piped_histogram
from kernels.row_reduction import row_sums_and_peaks

BLOCK = 32  # elements of a stage: as few as there are lanes, so that laps are short
BINS = 64


def histogram(place: Callable[[Any], Any], fills: int, stages: int) -> str:
    """Tiles by the copy engine, one reader."""
    values = np.random.default_rng(stages).integers(0, BINS, fills * BLOCK - 5).astype(np.int32)
    counts = place(np.zeros(BINS, np.int32))
    piped_histogram[(1,)](place(values), counts, values.size, BINS=BINS, BLOCK=BLOCK, STAGES=stages, num_warps=1)
    wrong = host(counts) != np.bincount(values, minlength=BINS)
    return f"{int(wrong.sum())} of {BINS} counts are wrong" if wrong.any() else ""


def reduction(place: Callable[[Any], Any], fills: int, stages: int) -> str:
    """Tiles by the copy engine, two readers. Sums of small integers are exact."""
    cols = fills * BLOCK - 4
    x = np.random.default_rng(stages).integers(-1, 2, (1, cols)).astype(np.float32)
    x[0, cols // 2] = 2
    sums, peaks = place(np.zeros(1, np.float32)), place(np.zeros(1, np.float32))
    sizes = {"BLOCK_ROWS": 1, "BLOCK_COLS": BLOCK, "STAGES": stages, "PEAK_WARPS": 1}
    row_sums_and_peaks[(1,)](place(x), sums, peaks, 1, cols, cols, **sizes, num_warps=1)
    want = float(x.sum(dtype=np.float64)), 2.0
    got = float(host(sums)[0]), float(host(peaks)[0])
    return "" if got == want else f"got sum and peak {got}, expected {want}"


def gathering(place: Callable[[Any], Any], fills: int, stages: int) -> str:
    """Tiles by cp.async, one reader that stores each."""
    cols = fills * BLOCK - 8
    table = np.random.default_rng(stages).integers(-9, 10, (2, cols)).astype(np.float16)
    out = place(np.zeros((1, cols), np.float16))
    index, scale = place(np.array([1], np.int32)), place(np.array([3], np.float32))
    sizes = {"ROWS": 1, "BLOCK": BLOCK, "STAGES": stages, "BY_TMA": False}
    gather_scale[(1,)](place(table), index, scale, out, 1, 2, cols, cols, cols, **sizes, num_warps=1)
    wrong = int((host(out)[0] != 3 * table[1]).sum())
    return f"{wrong} of {cols} elements are wrong" if wrong else ""


def host(array: Any) -> np.ndarray:
    """The array in the CPU's memory."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.get())


def runs() -> Iterator[tuple[str, Callable[[Callable[[Any], Any], int, int], str], int]]:
    """Name, function and number of stages; a ring of one stage wraps its phase with every second fill."""
    for stages in (1, 2, 3):
        yield "one reader, copy engine", histogram, stages
        yield "two readers, copy engine", reduction, stages
        yield "one reader, cp.async", gathering, stages


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fills", type=int, default=2_000_000, help="of stages, in each run (default 2000000)")
    parser.add_argument("--on", choices=("cuda", "emulator", "interpreter"), default="cuda")
    options = parser.parse_args(arguments)
    os.environ["TLE2CUDA_DEVICE"] = options.on
    place: Callable[[Any], Any] = lambda array: array  # noqa: E731
    if options.on == "cuda":
        import cupy

        place = cupy.asarray
    failures = 0
    for name, function, stages in runs():
        begin = time.perf_counter()
        problem = function(place, options.fills, stages)
        failures += bool(problem)
        print(f"{name}, {stages} stages: {problem or 'right'}, {time.perf_counter() - begin:.1f} s", flush=True)
    print(f"{failures} failures; each run filled stages {options.fills} times")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
