"""Measures what one launch costs in Python: ours, Triton's, and CuPy's `RawKernel`.

python -m tools.bench.launch --json out.json

The kernel adds four numbers, so the GPU is done before Python is; the table shows wall-clock time per call, the median
of many batches.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, format_table

CALLS_PER_BATCH, BATCHES = 200, 30
LENGTH, BLOCK = 4, 128


def python_us(launch: Callable[[], Any], synchronize: Callable[[], None]) -> float:
    """Microseconds of wall-clock time per call."""
    times = []
    for _ in range(BATCHES):
        synchronize()
        start = time.perf_counter()
        for _ in range(CALLS_PER_BATCH):
            launch()
        times.append((time.perf_counter() - start) / CALLS_PER_BATCH * 1e6)
    return statistics.median(times)


def launches() -> dict[str, Callable[[], Any]]:
    """What is compared: the same vector add on torch tensors, and on CuPy arrays."""
    import cupy
    import torch

    import tle2cuda
    from kernels.vector_add import vector_add

    x, y, out = (torch.zeros(LENGTH, device="cuda") for _ in range(3))
    a, b, c = (cupy.zeros(LENGTH, cupy.float32) for _ in range(3))
    raw = tle2cuda.compile(vector_add, signature="*fp32:16, *fp32:16, *fp32:16, i32, 128")
    plain = cupy.RawKernel(raw.source, "vector_add", options=("-std=c++17",))
    grid, n = (1,), cupy.int32(LENGTH)
    found: dict[str, Callable[[], Any]] = {
        "kernel[grid], torch tensors": lambda: vector_add[grid](x, y, out, LENGTH, BLOCK=BLOCK),
        "kernel[grid], CuPy arrays": lambda: vector_add[grid](a, b, c, LENGTH, BLOCK=BLOCK),
        "compile() result, CuPy arrays": lambda: raw(grid, (128,), (a, b, c, n)),
        "cupy.RawKernel": lambda: plain(grid, (128,), (a, b, c, n)),
    }
    if rivals.why_no_triton() is None:
        theirs = rivals.triton_module("kernels.vector_add").vector_add
        found["Triton kernel[grid]"] = lambda: theirs[grid](x, y, out, LENGTH, BLOCK=BLOCK)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.launch", description=__doc__.splitlines()[0])
    add_common_options(parser)
    options = parser.parse_args(arguments)
    import cupy

    report = Report("Python cost of a launch", Bench().describe_device())
    rows = []
    for name, launch in launches().items():
        launch()
        cost = python_us(launch, cupy.cuda.runtime.deviceSynchronize)
        report.add(name=name, us=cost)
        rows.append((name, f"{cost:.2f}"))
    print(format_table(("launch", "us per call"), rows))
    report.write(options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
