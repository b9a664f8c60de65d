"""Benchmarks gathering and scaling rows against torch and Triton.

python -m tools.bench.gather_scale --json out.json
python -m tools.bench.gather_scale --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, relative_error, show_against

LIMIT = 1e-3  # float16
DEFAULTS: tuple[dict[str, int], ...] = ({"by_tma": 1}, {"by_tma": 0})
SWEEP: tuple[dict[str, int], ...] = tuple(
    {"by_tma": by_tma, "rows_per_cta": rows, "block": block, "stages": stages}
    for by_tma in (1, 0)
    for rows in (4, 8, 16)
    for block in (256, 512, 1024)
    for stages in (2, 4)
    if rows * block * stages <= 32768
)


def contestants(table_rows: int, count: int, cols: int, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.gather_scale import gather_scale_rows
    from tools.bench import plain

    table = torch.randn(table_rows, cols, device="cuda").half()
    index = torch.randint(0, table_rows, (count,), device="cuda", dtype=torch.int32)
    scale = torch.randn(count, device="cuda")
    out = torch.empty(count, cols, device="cuda", dtype=torch.half)
    expected = table[index.long()].float() * scale[:, None]
    half_scale = scale.half()[:, None]
    torch.cuda.synchronize()

    def torch_launch() -> None:
        torch.index_select(table, 0, index, out=out)
        out.mul_(half_scale)

    def plain_launch(kernel: Any) -> Any:
        block = min(1 << (cols - 1).bit_length(), 4096)
        sizes = (table_rows, cols, cols, cols)
        return lambda: kernel[(count,)](table, index, scale, out, *sizes, BLOCK=block, num_warps=4)

    launches: dict[str, Any] = {"torch": torch_launch, "plain": plain_launch(plain.gather_scale)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").gather_scale)
    for options in (*DEFAULTS, *SWEEP) if sweep else DEFAULTS:
        launch = lambda options=options: gather_scale_rows(table, index, scale, out, **options)  # noqa: E731
        launches[described("tle2cuda", options)] = launch
    wrong = lambda: relative_error(out, expected, LIMIT)  # noqa: E731
    return [Contestant(name, launch, [out], wrong) for name, launch in launches.items()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.gather_scale", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--table-rows", type=int, default=131072)
    parser.add_argument("--count", type=int, default=65536)
    parser.add_argument("--cols", type=comma_ints, default=[512, 4096])
    parser.add_argument("--sweep", action="store_true", help="many sizes of tiles and rings")
    options = parser.parse_args(arguments)
    bench = Bench()
    report = Report("gathering and scaling rows", bench.describe_device())
    results = []
    for cols in options.cols:
        case = {"dtype": "float16", "table": options.table_rows, "count": options.count, "cols": cols}
        made = contestants(options.table_rows, options.count, cols, options.sweep)
        moved = 2 * 2 * options.count * cols
        results.append((case, moved, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
