"""Benchmarks forward layer norm against torch and the same kernel under Triton.

python -m tools.bench.layer_norm --json out.json
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
EPS = 1e-5


def contestants(rows: int, cols: int, dtype: str, names: Sequence[str]) -> list[Contestant]:
    import torch

    from kernels.softmax import warps_for

    element = getattr(torch, dtype)
    x = (torch.randn(rows, cols, device="cuda") * 2 + 0.5).to(element)
    weight, bias = (torch.randn(cols, device="cuda").to(element) for _ in range(2))
    out = torch.empty_like(x)
    mean, rstd = (torch.empty(rows, device="cuda") for _ in range(2))
    wide = x.double()
    expected = torch.nn.functional.layer_norm(wide, (cols,), weight.double(), bias.double(), EPS).float()
    expected_mean = wide.mean(1).float()
    expected_rstd = (wide.var(1, unbiased=False) + EPS).rsqrt().float()
    del wide
    block = 1 << (cols - 1).bit_length()
    warps = warps_for(cols, x.itemsize)
    torch.cuda.synchronize()

    def kernel_launch(kernel: Any) -> Any:
        return lambda: kernel[(rows,)](x, weight, bias, out, mean, rstd, cols, cols, EPS, BLOCK=block, num_warps=warps)

    def torch_launch() -> None:
        out_new, mean_new, rstd_new = torch.native_layer_norm(x, (cols,), weight, bias, EPS)
        if not torch.cuda.is_current_stream_capturing():
            kept[:] = [out_new, mean_new, rstd_new]

    kept: list[Any] = []

    def wrong(values: Any) -> str:
        actual, actual_mean, actual_rstd = values()
        return (
            relative_error(actual, expected, LIMITS[dtype])
            or relative_error(actual_mean.reshape(-1), expected_mean, 1e-5)
            or relative_error(actual_rstd.reshape(-1), expected_rstd, 1e-5)
        )

    outputs = [out, mean, rstd]
    launches = {"torch": (lambda: torch_launch, lambda: kept)}
    launches["triton"] = (
        lambda: kernel_launch(rivals.triton_module("kernels.layer_norm").layer_norm),
        lambda: outputs,
    )
    launches["tle2cuda"] = (lambda: kernel_launch(_ours()), lambda: outputs)
    return [
        Contestant(name, launches[name][0](), outputs, lambda values=launches[name][1]: wrong(values)) for name in names
    ]


def _ours() -> Any:
    from kernels.layer_norm import layer_norm

    return layer_norm


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.layer_norm", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 2048, 4096, 8192])
    parser.add_argument("--dtypes", type=comma_list, default=["float32", "float16"])
    options = parser.parse_args(arguments)
    import torch

    bench = Bench()
    report = Report("layer norm, forward", bench.describe_device())
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
