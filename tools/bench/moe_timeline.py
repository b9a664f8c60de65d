"""Where the time of a hand-written MoE Align Block Size kernel goes: clock cycles at the marks in its source.

    python -m tools.bench.moe_timeline --data zipf512 --tokens 256,4096 --block 16 --pick 2

Each warp notes its SM's clock at every MARK. The table shows, for the fastest variants of each kernel, when a
mark is passed, in cycles since the CTA's first warp began: by the first warp, half of the warps, and the last
warp, each averaged over the CTAs. Noting costs time itself: compare with the time per launch printed beside it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.moe_align_block_size.reference import expert_capacity, sorted_capacity
from tools.bench.common import Bench, comma_ints, format_table
from tools.bench.moe_align import routing
from tools.bench.moe_rivals import HandLaunch, Outputs, Problem, hand_launches

MARKS = 10
REPLAYS = 20


def marks_of(bench: Bench, launch: HandLaunch, problem: Problem, outputs: Outputs) -> NDArray[np.float64]:
    """Cycles at each mark, [3, marks]: first, median and last warp; -1 where the kernel has no such mark."""
    call = launch.prepare(problem, outputs, TIMELINE=1)
    module = launch.module(problem, TIMELINE=1)
    words = launch.ctas * (launch.threads // 32) * MARKS
    samples = []
    for _ in range(REPLAYS):
        with bench.current():
            call()
            call()
        bench.stream.synchronize()
        clocks = read_global(bench, module, "timeline", words).reshape(launch.ctas, -1, MARKS)
        began = clocks[:, :, 0].min(axis=1)[:, None, None]
        cycles = (clocks.astype(np.int64) - began) % (1 << 32)
        spread = np.stack([cycles.min(axis=1), np.median(cycles, axis=1), cycles.max(axis=1)])
        samples.append(spread.mean(axis=1))
        has_mark = (clocks != 0).any(axis=(0, 1))
    result = np.median(np.stack(samples), axis=0)
    result[:, ~has_mark] = -1
    return result


def read_global(bench: Bench, module: Any, name: str, words: int) -> NDArray[np.uint32]:
    """A copy of the module's global array of 32-bit words."""
    pointer = module.get_global(name)
    return bench.cupy.ndarray(words, np.uint32, memptr=pointer).get()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.moe_timeline", description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="zipf512", help="as for tools.bench.moe_align")
    parser.add_argument("--tokens", type=comma_ints, default=[256, 4096, 16384, 163840], help="numbers of slots")
    parser.add_argument("--block", type=int, default=16, help="block size")
    parser.add_argument("--pick", type=int, default=1, metavar="N", help="the fastest N variants of each kernel")
    options = parser.parse_args(arguments)
    bench = Bench()
    for num_slots in options.tokens:
        ids, num_experts = routing(options.data, num_slots)
        problem = Problem(bench.cupy.asarray(ids), options.block, num_experts)
        sizes = (num_slots, options.block, num_experts)
        outputs = Outputs(
            bench.cupy.empty(sorted_capacity(*sizes), np.int32),
            bench.cupy.empty(expert_capacity(*sizes), np.int32),
            bench.cupy.empty(1, np.int32),
        )
        times: dict[str, list[tuple[float, HandLaunch]]] = {}
        multiprocessors = bench.describe_device()["multiprocessors"]
        for launch in hand_launches(problem, multiprocessors, sweep=False):
            time = bench.graph_us(launch.prepare(problem, outputs))
            times.setdefault(launch.name, []).append((time, launch))
        rows = []
        for name, timed in times.items():
            for time, launch in sorted(timed, key=lambda pair: pair[0])[: options.pick]:
                for kind, cycles in zip(
                    ("first", "median", "last"), marks_of(bench, launch, problem, outputs), strict=True
                ):
                    label = f"{name} {launch} {time:.2f} us {kind}"
                    rows.append([label, *("-" if mark < 0 else f"{mark:.0f}" for mark in cycles)])
        print(f"\n{options.data}, {num_slots} tokens, block {options.block}: cycles at each mark")
        print(format_table(["variant", *map(str, range(MARKS))], rows), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
