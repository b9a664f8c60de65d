"""Benchmarks row softmax against torch and the same kernel under Triton.

python -m tools.bench.softmax --json out.json
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list
from tools.bench.rowwise import Contestant, compete, relative_error, show

NAMES = ("torch", "triton", "tle2cuda")
LIMITS = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}


def contestants(rows: int, cols: int, dtype: str, names: Sequence[str]) -> list[Contestant]:
    import torch

    from kernels.softmax import warps_for

    x = torch.randn(rows, cols, device="cuda", dtype=torch.float32).to(getattr(torch, dtype))
    out = torch.empty_like(x)
    expected = torch.softmax(x.double(), dim=1).to(torch.float32)
    block = 1 << (cols - 1).bit_length()
    warps = warps_for(cols, x.itemsize)
    torch.cuda.synchronize()

    def kernel_launch(kernel: Any) -> Any:
        return lambda: kernel[(rows,)](out, x, cols, cols, BLOCK=block, num_warps=warps)

    launches = {"torch": lambda: lambda: torch.softmax(x, dim=1, out=out)}
    launches["triton"] = lambda: kernel_launch(rivals.triton_module("kernels.softmax").softmax)
    launches["tle2cuda"] = lambda: kernel_launch(_ours())
    return [
        Contestant(name, launches[name](), [out], lambda: relative_error(out, expected, LIMITS[dtype])) for name in names
    ]


def _ours() -> Any:
    from kernels.softmax import softmax

    return softmax


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.softmax", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--dtypes", type=comma_list, default=["float32", "float16"])
    options = parser.parse_args(arguments)
    import torch

    bench = Bench()
    report = Report("row softmax", bench.describe_device())
    names = [name for name in NAMES if options.only is None or name in options.only]
    results = []
    for dtype in options.dtypes:
        for cols in options.cols:
            moved = 2 * options.rows * cols * getattr(torch, dtype).itemsize
            outcome = compete(bench, contestants(options.rows, cols, dtype, names), options.repeats)
            results.append(({"dtype": dtype, "rows": options.rows, "cols": cols}, moved, outcome))
    wrong = show(report, results, names, "tle2cuda")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
