"""Benchmarks every MoE Align Block Size kernel on real and synthetic routing.

    python -m tools.bench.moe_align --json out.json
    python -m tools.bench.moe_align --only hand,baseline --data zipf512 --tokens 256,4096,163840 --blocks 16

Groups of kernels: `hand` (the CUDA prototypes in tools/bench/hand, several sizes each), `baseline` (the
CUDA baselines), `language` (the kernels in the tile language), `dispatcher`, `triton` (the four-kernel
baseline as Triton compiles it). Every kernel is verified on fresh random data before it is timed; one that
fails is reported and not timed. The table shows the fastest size of each kernel; the JSON has them all.
Exits with 1 when any kernel was wrong.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.moe_align_block_size.reference import (
    AlignedBlocks,
    expert_capacity,
    moe_align_reference,
    sorted_capacity,
    verify,
)
from tools.bench.common import ROOT, Bench, Report, add_common_options, comma_ints, comma_list, format_table
from tools.bench.moe_rivals import GROUPS, Outputs, Problem, Rival, rivals_of

TOKENS = (256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 163840)
DATA = ("top1_e512", "top8_e256", "zipf512", "zipf256")


def routing(name: str, num_slots: int) -> tuple[NDArray[np.int32], int]:
    """The first `num_slots` ids of a data set, and how many experts it has; zipfN: p(rank) ~ rank^-1.2."""
    if name.startswith("zipf"):
        num_experts = int(name.removeprefix("zipf"))
        random = np.random.default_rng(num_experts)
        weights = np.arange(1, num_experts + 1, dtype=np.float64) ** -1.2
        experts = random.permutation(num_experts)
        ids = experts[random.choice(num_experts, size=num_slots, p=weights / weights.sum())]
        return ids.astype(np.int32), num_experts
    ids = np.load(ROOT / "kernels" / "data" / f"routing_{name}.npy").reshape(-1)
    return ids[:num_slots].astype(np.int32), int(name.rpartition("_e")[2])


@dataclasses.dataclass(slots=True)
class Checked:
    """The device copies of a problem's timed ids and of fresh random ones, with what each should give."""

    ids: NDArray[np.int32]
    fresh: NDArray[np.int32]
    expected: AlignedBlocks
    expected_fresh: AlignedBlocks


def fresh_ids(ids: NDArray[np.int32], num_experts: int) -> NDArray[np.int32]:
    """The same loads in another order under other names, a tenth of the slots uniform: new in every run."""
    random = np.random.default_rng()
    fresh = random.permutation(num_experts).astype(np.int32)[random.permutation(ids)]
    uniform = random.random(ids.size) < 0.1
    fresh[uniform] = random.integers(0, num_experts, int(uniform.sum()))
    return fresh


def is_right(bench: Bench, launch: Any, outputs: Outputs, problem: Problem, checked: Checked) -> str:
    """Runs on fresh data and on the timed data, twice each; returns "" or what is wrong."""
    for ids, expected in (
        (checked.fresh, checked.expected_fresh),
        (checked.ids, checked.expected),
        (checked.ids, checked.expected),
    ):
        problem.topk_ids[...] = bench.cupy.asarray(ids)
        bench.cupy.cuda.Device().synchronize()
        bench.poison(*outputs)
        try:
            bench.run(launch)
            result = AlignedBlocks(*(array.get() for array in outputs))
            verify(result, ids, problem.block_size, problem.num_experts, expected=expected)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def measure(bench: Bench, rival: Rival, problem: Problem, checked: Checked) -> dict[str, Any]:
    outputs = Outputs(
        bench.cupy.empty(sorted_capacity(problem.num_slots, problem.block_size, problem.num_experts), np.int32),
        bench.cupy.empty(expert_capacity(problem.num_slots, problem.block_size, problem.num_experts), np.int32),
        bench.cupy.empty(1, np.int32),
    )
    record: dict[str, Any] = {"kernel": rival.name, "group": rival.group, "variant": rival.variant}
    try:
        launch = rival.prepare(problem, outputs)
    except Exception as error:
        return record | {"error": f"{type(error).__name__}: {error}"}
    wrong = is_right(bench, launch, outputs, problem, checked)
    if wrong:
        return record | {"error": wrong}
    try:
        timing = bench.time(launch)
        # The last of several hundred launches: scratch that wears out or a rare race would show here.
        last = AlignedBlocks(*(array.get() for array in outputs))
        verify(last, checked.ids, problem.block_size, problem.num_experts, expected=checked.expected)
    except Exception as error:
        return record | {"error": f"timing: {type(error).__name__}: {error}"}
    return record | {"graph_us": round(timing.graph_us, 3), "eager_us": round(timing.eager_us, 3)}


def compile_all(rivals: list[Rival]) -> None:
    """Compiles on all cores what can be; an error shows again when the kernel is prepared."""

    def compile_one(rival: Rival) -> None:
        if rival.compile is not None:
            with contextlib.suppress(Exception):
                rival.compile()

    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(compile_one, rivals))


def cases(options: argparse.Namespace) -> Iterator[tuple[str, int, int]]:
    for data in options.data:
        for block_size in options.blocks:
            for num_slots in options.tokens:
                yield data, block_size, num_slots


def print_table(report: Report, data: str, block_size: int, options: argparse.Namespace, key: str) -> None:
    """One row per size, one column per kernel: its fastest variant."""
    best: dict[tuple[int, str], dict[str, Any]] = {}
    names: dict[str, None] = {}
    for record in report.records:
        if (record["data"], record["block_size"]) != (data, block_size):
            continue
        names[record["kernel"]] = None
        place = (record["tokens"], record["kernel"])
        if key in record and (place not in best or record[key] < best[place][key]):
            best[place] = record

    def cell(tokens: int, name: str) -> str:
        record = best.get((tokens, name))
        if record is None:
            return "-"
        return f"{record[key]:.2f}" + (f" {record['variant']}" if options.variants and record["variant"] else "")

    rows = [[str(tokens), *(cell(tokens, name) for name in names)] for tokens in options.tokens]
    print(f"\n{data}, block {block_size}: {key}")
    print(format_table(["slots", *names], rows), flush=True)


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tools.bench.moe_align", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--data", type=comma_list, default=list(DATA), help=f"of {', '.join(DATA)}; any zipfN")
    parser.add_argument("--tokens", type=comma_ints, default=list(TOKENS), help="numbers of slots")
    parser.add_argument("--blocks", type=comma_ints, default=[16, 64], help="block sizes")
    parser.add_argument("--kernels", type=comma_list, help="only kernels with these names")
    parser.add_argument("--sweep", action="store_true", help="also the sizes that are rarely the best ones")
    parser.add_argument("--variants", action="store_true", help="show in the table which size was the fastest")
    parser.add_argument("--eager", action="store_true", help="print the tables of cold-cache times too")
    options = parser.parse_args(arguments)
    unknown = set(options.only or ()) - set(GROUPS)
    if unknown:
        parser.error(f"unknown groups {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse_options(arguments)
    bench = Bench(repeats=options.repeats)
    report = Report("MoE Align Block Size", bench.describe_device())
    print(report.device)
    groups = options.only or list(GROUPS)
    last: tuple[str, int] | None = None
    for data, block_size, num_slots in cases(options):
        if last is not None and last != (data, block_size):
            print_table(report, *last, options, "graph_us")
        last = (data, block_size)
        ids, num_experts = routing(data, num_slots)
        if ids.size < num_slots:
            continue
        fresh = fresh_ids(ids, num_experts)
        checked = Checked(
            ids,
            fresh,
            moe_align_reference(ids, block_size, num_experts),
            moe_align_reference(fresh, block_size, num_experts),
        )
        problem = Problem(bench.cupy.asarray(ids), block_size, num_experts)
        rivals = [
            rival
            for rival in rivals_of(groups, problem, sweep=options.sweep)
            if not options.kernels or rival.name in options.kernels
        ]
        compile_all(rivals)
        for rival in rivals:
            record = measure(bench, rival, problem, checked)
            report.add(data=data, tokens=num_slots, num_experts=num_experts, block_size=block_size, **record)
            if "error" in record:
                where = f"{data} slots {num_slots} block {block_size}"
                print(f"WRONG {rival.name} {rival.variant} {where}: {record['error'][:600]}", flush=True)
        report.write(options.json)
    if last is not None:
        print_table(report, *last, options, "graph_us")
    if options.eager:
        for data in options.data:
            for block_size in options.blocks:
                print_table(report, data, block_size, options, "eager_us")
    return int(any("error" in record for record in report.records))


if __name__ == "__main__":
    sys.exit(main())
