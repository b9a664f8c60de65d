"""Measures what one launch costs in Python: ours, Triton's, and CuPy's `RawKernel`.

python -m tools.bench.launch --json out.json

The kernel takes ten arguments, five arrays and five numbers, and works on four elements, so the GPU is done before Python
is; the table shows wall-clock time per call, the median of many batches. The driver's own launch, which is part of each,
is timed by itself: what remains is Python's share. Below stand launches of an addition whose arrays are three pointers or
three tensor maps (tools/bench/three_maps.py).
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
DRIVER = "the driver's launch alone"
NUMBERS = (LENGTH, 0, 0, 0, 2.0)
SIGNATURE = "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, i32, i32, i32, fp32, 128"


def python_us(launches: dict[str, Callable[[], Any]], synchronize: Callable[[], None]) -> dict[str, float]:
    """Microseconds of wall-clock time per call, of each; batches alternate, so that slow moments are everyone's."""
    times: dict[str, list[float]] = {name: [] for name in launches}
    for _ in range(BATCHES):
        for name, launch in launches.items():
            launch()
            synchronize()
            start = time.perf_counter()
            for _ in range(CALLS_PER_BATCH):
                launch()
            times[name].append((time.perf_counter() - start) / CALLS_PER_BATCH * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def driver_launch(compiled: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """The driver's launch of a kernel whose parameters are packed already: what every launch must do."""
    import ctypes

    from cupy.cuda import driver

    held = [ctypes.c_void_p(a.data.ptr) if hasattr(a, "data") else ctypes.c_int(a) for a in arguments[:-1]]
    held.append(ctypes.c_float(arguments[-1]))
    addresses = (ctypes.c_void_p * len(held))(*(ctypes.addressof(value) for value in held))
    function, parameters = int(compiled.kernel.ptr), ctypes.addressof(addresses)

    def launch(_keep: Any = (held, addresses)) -> None:
        driver.launchKernel(function, 1, 1, 1, BLOCK, 1, 1, 0, 0, parameters, 0)

    return launch


def launches() -> dict[str, Callable[[], Any]]:
    """What is compared: the same kernel on torch tensors, and on CuPy arrays."""
    import cupy
    import torch

    import tle2cuda
    from tools.bench.ten_arguments import ten_arguments

    tensors = [torch.zeros(LENGTH, device="cuda") for _ in range(5)]
    arrays = [cupy.zeros(LENGTH, cupy.float32) for _ in range(5)]
    raw = tle2cuda.compile(ten_arguments, signature=SIGNATURE)
    plain = cupy.RawKernel(raw.source, "ten_arguments", options=("-std=c++17",))
    grid = (1,)
    typed = (*arrays, *(cupy.int32(number) for number in NUMBERS[:4]), cupy.float32(NUMBERS[4]))
    raw(grid, (BLOCK,), (*arrays, *NUMBERS))
    found: dict[str, Callable[[], Any]] = {
        DRIVER: driver_launch(raw, (*arrays, *NUMBERS)),
        "kernel[grid], torch tensors": lambda: ten_arguments[grid](*tensors, *NUMBERS, BLOCK=BLOCK),
        "kernel[grid], CuPy arrays": lambda: ten_arguments[grid](*arrays, *NUMBERS, BLOCK=BLOCK),
        "compile() result, CuPy arrays": lambda: raw(grid, (BLOCK,), (*arrays, *NUMBERS)),
        "cupy.RawKernel": lambda: plain(grid, (BLOCK,), typed),
    }
    if rivals.why_no_triton() is None:
        theirs = rivals.triton_module("tools.bench.ten_arguments").ten_arguments
        found["Triton kernel[grid]"] = lambda: theirs[grid](*tensors, *NUMBERS, BLOCK=BLOCK)
    return found | map_launches(tensors)


def map_launches(tensors: list[Any]) -> dict[str, Callable[[], Any]]:
    """The addition by pointers and by maps, which ours keeps by address, shape and strides; both on torch tensors."""
    from tle2cuda.triton.tools.tensor_descriptor import TensorDescriptor
    from tools.bench import three_maps as ours

    arrays = tensors[:3]
    descriptors = [TensorDescriptor(array, [LENGTH], [1], [BLOCK]) for array in arrays]
    grid = (1,)

    def described_anew() -> Any:
        return ours.add_by_copies[grid](*(TensorDescriptor(a, [LENGTH], [1], [BLOCK]) for a in arrays), BLOCK=BLOCK)

    found: dict[str, Callable[[], Any]] = {
        "three pointers": lambda: ours.add_by_pointers[grid](*arrays, LENGTH, BLOCK=BLOCK),
        "three pointers that the kernel describes": lambda: ours.add_by_described[grid](*arrays, LENGTH, BLOCK=BLOCK),
        "three descriptors": lambda: ours.add_by_copies[grid](*descriptors, BLOCK=BLOCK),
        "three descriptors, made for each launch": described_anew,
    }
    if rivals.why_no_triton() is None:
        from triton.tools.tensor_descriptor import TensorDescriptor as Theirs

        theirs = rivals.triton_module("tools.bench.three_maps")
        their_descriptors = [Theirs(array, [LENGTH], [1], [BLOCK]) for array in arrays]
        found["Triton, three pointers"] = lambda: theirs.add_by_pointers[grid](*arrays, LENGTH, BLOCK=BLOCK)
        found["Triton, three descriptors"] = lambda: theirs.add_by_descriptors[grid](*their_descriptors, BLOCK=BLOCK)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.launch", description=__doc__.splitlines()[0])
    add_common_options(parser)
    options = parser.parse_args(arguments)
    import cupy

    report = Report("Python cost of a launch", Bench().describe_device())
    rows = []
    costs = python_us(launches(), cupy.cuda.runtime.deviceSynchronize)
    driver_us = costs[DRIVER]
    for name, cost in costs.items():
        report.add(name=name, us=cost, python_us=cost - driver_us)
        rows.append((name, f"{cost:.2f}", f"{cost - driver_us:.2f}"))
    print(format_table(("launch", "us per call", "without the driver's, us"), rows))
    report.write(options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
