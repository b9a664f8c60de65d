"""Measures how long kernels take from Python to cubin: cold, and from the cache. Needs NVRTC, no GPU.

python -m tools.bench.compile_time --json out.json

Cold means: nothing of the kernel cached, but the process has imported the package and compiled some other kernel with the
same headers before, so that NVRTC's precompiled headers are there.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import shutil
import tempfile
import time

from tools import shipped
from tools.bench.common import Report, format_table

WARM_UP = ("moe_align_single_cta", "moe_align_cluster_fused", "moe_align_atomic_fused", "softmax_fp32")


def measure(kernel: shipped.ShippedKernel, cache: pathlib.Path) -> tuple[float, float, float]:
    """Milliseconds of emission, of the cold compilation as a whole, and of loading it from the cache."""
    kernel.load()
    start = time.perf_counter()
    kernel.emit("sm_90a")
    emitted = time.perf_counter()
    for entry in cache.iterdir():  # keep the precompiled headers
        if entry.name != "pch":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    begin = time.perf_counter()
    kernel.compile("sm_90a")
    cold = time.perf_counter()
    kernel.compile("sm_90a")
    cached = time.perf_counter()
    return (emitted - start) * 1e3, (cold - begin) * 1e3, (cached - cold) * 1e3


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.compile_time", description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write all numbers to this file")
    options = parser.parse_args(arguments)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tle2cuda-compile-"))
    os.environ["TLE2CUDA_CACHE_DIR"] = str(folder)
    kernels = {kernel.name: kernel for kernel in shipped.shipped_kernels()}
    for name in WARM_UP:
        kernels[name].compile("sm_90a")
    report = Report("compile times", {"machine": platform.machine(), "cores": os.cpu_count()})
    rows = []
    for name, kernel in kernels.items():
        emit_ms, cold_ms, cached_ms = measure(kernel, folder)
        report.add(kernel=name, emit_ms=emit_ms, cold_ms=cold_ms, cached_ms=cached_ms)
        rows.append((name, f"{emit_ms:.0f}", f"{cold_ms:.0f}", f"{cached_ms:.1f}"))
    print(format_table(("kernel", "emit ms", "cold ms", "emit and load cached ms"), rows))
    report.write(options.json)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
