"""Benchmarks sums of rows, alone and with largest elements, against torch and Triton.

python -m tools.bench.row_reduction --json out.json
python -m tools.bench.row_reduction --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, equal, relative_error, show_against

SWEEP: tuple[dict[str, int], ...] = tuple(
    {"block_rows": rows, "block_cols": cols, "stages": stages}
    for rows in (4, 8, 16)
    for cols in (128, 256)
    for stages in (2, 4, 8)
)


def contestants(rows: int, cols: int, has_peaks: bool, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.row_reduction import reduce_rows
    from tools.bench import plain

    x = torch.randn(rows, cols, device="cuda")
    sums, peaks = (torch.empty(rows, device="cuda") for _ in range(2))
    expected_sums, expected_peaks = x.double().sum(1), x.amax(1)
    torch.cuda.synchronize()

    def plain_launch(module: Any) -> Any:
        options = {"BLOCK": 4096, "num_warps": 4}
        if has_peaks:
            return lambda: module.row_sums_and_peaks[(rows,)](x, sums, peaks, cols, cols, **options)
        return lambda: module.row_sums[(rows,)](x, sums, cols, cols, **options)

    def torch_launch() -> None:
        torch.sum(x, dim=1, out=sums)
        if has_peaks:
            torch.amax(x, dim=1, out=peaks)

    def wrong() -> str:
        return relative_error(sums, expected_sums, 1e-5) or (equal(peaks, expected_peaks) if has_peaks else "")

    launches: dict[str, Any] = {"torch": torch_launch, "plain": plain_launch(plain)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain"))
    for options in ({}, *SWEEP) if sweep else ({},):
        launch = lambda options=options: reduce_rows(x, sums, peaks if has_peaks else None, **options)  # noqa: E731
        launches[described("tle2cuda", options)] = launch
    return [Contestant(name, launch, [sums, peaks], wrong) for name, launch in launches.items()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.row_reduction", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--cols", type=int, default=16384)
    parser.add_argument("--sweep", action="store_true", help="many sizes of tiles and rings")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("reduction of rows", bench.describe_device())
    results = []
    for readers in (1, 2):
        case = {"readers": readers, "rows": options.rows, "cols": options.cols}
        made = contestants(options.rows, options.cols, readers == 2, options.sweep)
        moved = 4 * options.rows * options.cols
        results.append((case, moved, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
