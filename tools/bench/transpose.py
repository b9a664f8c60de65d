"""Benchmarks transposes by the copy engine against torch, Triton and a copy of the same size.

python -m tools.bench.transpose --json out.json
python -m tools.bench.transpose --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_list
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, copy_contestant, equal, show_against

DEFAULTS: tuple[dict[str, int], ...] = ({}, {"store_by_tma": 1})
SWEEP: tuple[dict[str, int], ...] = tuple(
    {"block": block, "num_warps": warps, "store_by_tma": by_tma}
    for block in (32, 64, 128)
    for warps in (4, 8)
    for by_tma in (0, 1)
)


def contestants(rows: int, cols: int, dtype: str, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.transpose import transpose_matrix
    from tools.bench import plain

    x = torch.randn(rows, cols, device="cuda").to(getattr(torch, dtype))
    out = torch.empty(cols, rows, device="cuda", dtype=x.dtype)
    expected = x.t().contiguous()
    torch.cuda.synchronize()

    def plain_launch(kernel: Any) -> Any:
        grid = (-(-cols // 64), -(-rows // 64))
        return lambda: kernel[grid](x, out, rows, cols, cols, rows, BLOCK=64, num_warps=8)

    launches: dict[str, Any] = {"torch": lambda: out.copy_(x.t()), "plain": plain_launch(plain.transpose)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").transpose)
    for options in SWEEP if sweep else DEFAULTS:
        launch = lambda options=options: transpose_matrix(x, out, **options)  # noqa: E731
        launches[described("tle2cuda", options)] = launch
    made = [Contestant(name, launch, [out], lambda: equal(out, expected)) for name, launch in launches.items()]
    return [copy_contestant("copy", out.reshape(-1), x.reshape(-1)), *made]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.transpose", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--cols", type=int, default=16384)
    parser.add_argument("--dtypes", type=comma_list, default=["float32", "float16"])
    parser.add_argument("--sweep", action="store_true", help="many sizes of tiles")
    options = parser.parse_args(arguments)
    import torch

    bench = Bench(launches_per_graph=5)
    report = Report("transpose", bench.describe_device())
    results = []
    for dtype in options.dtypes:
        case = {"dtype": dtype, "rows": options.rows, "cols": options.cols}
        moved = 2 * getattr(torch, dtype).itemsize * options.rows * options.cols
        made = contestants(options.rows, options.cols, dtype, options.sweep)
        results.append((case, moved, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "copy")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
