"""Benchmarks a histogram fed by a pipe against torch, Triton, and ours that loads for itself.

python -m tools.bench.piped_histogram --json out.json
python -m tools.bench.piped_histogram --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, equal, show_against

SWEEP: tuple[dict[str, int], ...] = tuple(
    {"block": block, "stages": stages, "num_warps": warps, "ctas": ctas}
    for block in (1024, 2048, 4096)
    for stages in (2, 4)
    for warps, ctas in ((4, 8), (8, 4), (16, 2))
    if block * stages * ctas <= 49152
)


def contestants(n: int, bins: int, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.piped_histogram import count
    from tools.bench import plain

    values = torch.randint(0, bins, (n,), device="cuda", dtype=torch.int32)
    counts = torch.zeros(bins, device="cuda", dtype=torch.int32)
    expected = torch.bincount(values, minlength=bins).int()
    kept: list[Any] = [None]
    torch.cuda.synchronize()

    def torch_launch() -> None:
        kept[0] = torch.histc(values, bins, 0, bins - 1)

    def cleared(launch: Any) -> Any:
        def run() -> None:
            counts.zero_()
            launch()

        return run

    def plain_launch(kernel: Any) -> Any:
        programs = 4 * torch.cuda.get_device_properties(0).multi_processor_count
        return cleared(lambda: kernel[(programs,)](values, counts, n, BINS=bins, BLOCK=4096, num_warps=8))

    launches: dict[str, Any] = {"plain": plain_launch(plain.histogram)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").histogram)
    for options in ({}, *SWEEP) if sweep else ({},):
        launches[described("piped", options)] = cleared(lambda options=options: count(values, counts, **options))
    made = [Contestant(name, launch, [counts], lambda: equal(counts, expected)) for name, launch in launches.items()]
    return [Contestant("torch", torch_launch, [], lambda: equal(kept[0].int(), expected)), *made]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.piped_histogram", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--values", type=int, default=1 << 28)
    parser.add_argument("--bins", type=comma_ints, default=[256, 4096])
    parser.add_argument("--sweep", action="store_true", help="many sizes of blocks and rings")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("histogram", bench.describe_device())
    results = []
    for bins in options.bins:
        case = {"values": options.values, "bins": bins}
        made = contestants(options.values, bins, options.sweep)
        results.append((case, 4 * options.values, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
