"""Sweeps the warps per row of the row kernels, to choose what their host wrappers use.

python -m tools.bench.warps --dtypes float16
"""

from __future__ import annotations

import argparse
from typing import Any

from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list, format_table
from tools.bench.rowwise import Contestant, compete

ROWS, EPS = 16384, 1e-5
BYTES_PER_THREAD = (16, 32, 64, 128)


def contestants(cols: int, dtype: str) -> list[Contestant]:
    import torch

    from kernels.layer_norm import layer_norm
    from kernels.softmax import softmax

    element = getattr(torch, dtype)
    x = torch.randn(ROWS, cols, device="cuda").to(element)
    weight, bias = (torch.randn(cols, device="cuda").to(element) for _ in range(2))
    out = torch.empty_like(x)
    mean, rstd = (torch.empty(ROWS, device="cuda") for _ in range(2))
    block = 1 << (cols - 1).bit_length()
    found = []
    for size in BYTES_PER_THREAD:
        warps = block * x.itemsize // (size * 32)
        if not 1 <= warps <= 32:
            continue

        def norm(warps: int = warps) -> Any:
            return layer_norm[(ROWS,)](x, weight, bias, out, mean, rstd, cols, cols, EPS, BLOCK=block, num_warps=warps)

        def soft(warps: int = warps) -> Any:
            return softmax[(ROWS,)](out, x, cols, cols, BLOCK=block, num_warps=warps)

        found.append(Contestant(f"layer_norm {size}", norm, [out], lambda: ""))
        found.append(Contestant(f"softmax {size}", soft, [out], lambda: ""))
    torch.cuda.synchronize()
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.warps", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--dtypes", type=comma_list, default=["float32", "float16"])
    options = parser.parse_args(arguments)
    import torch

    bench = Bench()
    report = Report("bytes of a row per thread", bench.describe_device())
    names = [f"{kernel} {size}" for kernel in ("layer_norm", "softmax") for size in BYTES_PER_THREAD]
    rows = []
    for dtype in options.dtypes:
        for cols in options.cols:
            times = compete(bench, contestants(cols, dtype), options.repeats)
            moved = 2 * ROWS * cols * getattr(torch, dtype).itemsize
            speeds = {n: moved / t * 1e-3 for n, t in times.items() if isinstance(t, float)}
            report.add(dtype=dtype, cols=cols, **speeds)
            rows.append([f"{dtype} {cols}", *(f"{speeds[n]:.0f}" if n in speeds else "-" for n in names)])
    print(format_table(["GB/s", *names], rows))
    report.write(options.json)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
