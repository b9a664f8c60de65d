"""Benchmarks vector add against torch and the same kernel under Triton.

python -m tools.bench.vector_add --json out.json
python -m tools.bench.vector_add --only torch,triton,hand
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.rowwise import Contestant, compete, show

NAMES = ("torch", "triton", "tle2cuda")


def contestants(n: int, names: Sequence[str]) -> list[Contestant]:
    import torch

    x, y = (torch.randn(n, device="cuda") for _ in range(2))
    out = torch.empty(n, device="cuda")
    expected = x + y
    torch.cuda.synchronize()

    def wrong() -> str:
        return "" if torch.equal(out, expected) else f"{int((out != expected).sum())} of {n} elements differ"

    def kernel_launch(kernel: Any) -> Any:
        return lambda: kernel[(-(-n // 1024),)](x, y, out, n, BLOCK=1024, num_warps=4)

    launches = {"torch": lambda: lambda: torch.add(x, y, out=out)}
    launches["triton"] = lambda: kernel_launch(rivals.triton_module("kernels.vector_add").vector_add)
    launches["tle2cuda"] = lambda: kernel_launch(_ours())
    return [Contestant(name, launches[name](), [out], wrong) for name in names]


def _ours() -> Any:
    from kernels.vector_add import vector_add

    return vector_add


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.vector_add", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--sizes", type=comma_ints, default=[2**28, 2**28 - 3], help="numbers of float32")
    options = parser.parse_args(arguments)
    import torch  # noqa: F401  before the stream is made, so that it becomes torch's too

    bench = Bench()
    report = Report("vector add, float32", bench.describe_device())
    names = [name for name in NAMES if options.only is None or name in options.only]
    results = [({"elements": n}, 12 * n, compete(bench, contestants(n, names), options.repeats)) for n in options.sizes]
    wrong = show(report, results, names, "tle2cuda")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
