"""Benchmarks additions of matrices in three forms against torch and Triton.

python -m tools.bench.pipelined_add --json out.json
python -m tools.bench.pipelined_add --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options
from tools.bench.pipelined_copy import DEFAULTS, SWEEP, described
from tools.bench.rowwise import Contestant, compete, equal, show_against


def contestants(rows: int, cols: int, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.pipelined_add import add_rows
    from tools.bench import plain

    x, y = (torch.randn(rows, cols, device="cuda") for _ in range(2))
    out = torch.empty_like(x)
    expected = x + y
    torch.cuda.synchronize()
    n, block, warps = x.numel(), 512, 4

    def plain_launch(kernel: Any) -> Any:
        return lambda: kernel[(-(-n // block),)](x, y, out, n, BLOCK=block, num_warps=warps)

    launches: dict[str, Any] = {"torch": lambda: torch.add(x, y, out=out), "plain": plain_launch(plain.add)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").add)
    for form, choices in (SWEEP if sweep else DEFAULTS).items():
        for options in choices:
            launches[described(form, options)] = lambda form=form, options=options: add_rows(x, y, out, form, **options)
    return [Contestant(name, launch, [out], lambda: equal(out, expected)) for name, launch in launches.items()]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.pipelined_add", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--cols", type=int, default=16384)
    parser.add_argument("--sweep", action="store_true", help="many sizes of tiles and rings")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("addition of matrices", bench.describe_device())
    case = {"dtype": "float32", "rows": options.rows, "cols": options.cols}
    outcome = compete(bench, contestants(options.rows, options.cols, options.sweep), options.repeats, in_graphs=True)
    wrong = show_against(report, [(case, 3 * 4 * options.rows * options.cols, outcome)], "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
