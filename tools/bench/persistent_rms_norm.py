"""Benchmarks persistent RMS norm against torch, Triton, ours with a CTA per row, and a copy of the same size.

python -m tools.bench.persistent_rms_norm --json out.json
python -m tools.bench.persistent_rms_norm --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.persistent_softmax import LIMIT, TOTAL_ELEMENTS, variants
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, copy_contestant, relative_error, show_against

EPS = 1e-5


def contestants(rows: int, cols: int, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.persistent_rms_norm import persistent_rms_norm_rows
    from kernels.softmax import warps_for
    from tools.bench import plain

    x = torch.randn(rows, cols, device="cuda").half()
    weight = torch.randn(cols, device="cuda").half()
    out = torch.empty_like(x)
    wide = x.double()
    expected = (wide * (wide.square().mean(1, keepdim=True) + EPS).rsqrt() * weight.double()).float()
    del wide
    torch.cuda.synchronize()
    block = 1 << (cols - 1).bit_length()
    kept: list[Any] = [out]

    def torch_launch() -> None:
        kept[:] = [torch.nn.functional.rms_norm(x, (cols,), weight, EPS)]

    def plain_launch(kernel: Any) -> Any:
        warps = warps_for(cols, x.itemsize)
        return lambda: kernel[(rows,)](x, weight, out, cols, cols, EPS, BLOCK=block, num_warps=warps)

    launches: dict[str, Any] = {"plain": plain_launch(plain.rms_norm)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").rms_norm)
    for options in variants(cols, sweep):
        launch = lambda options=options: persistent_rms_norm_rows(x, weight, out, EPS, **options)  # noqa: E731
        launches[described("persistent", options)] = launch
    wrong = lambda: relative_error(out, expected, LIMIT)  # noqa: E731
    made = [Contestant(name, launch, [out], wrong) for name, launch in launches.items()]
    torch_wrong = lambda: relative_error(kept[0], expected, LIMIT)  # noqa: E731
    return [
        copy_contestant("copy", out, x),
        Contestant("torch", torch_launch, [out], torch_wrong),
        *made,
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.persistent_rms_norm", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 4096, 16384, 65536])
    parser.add_argument("--elements", type=int, default=TOTAL_ELEMENTS, help="of a matrix (default 16384 x 4096)")
    parser.add_argument("--rows", type=int, help="of every matrix, in place of so many elements")
    parser.add_argument("--sweep", action="store_true", help="many rings and numbers of warps and CTAs")
    options = parser.parse_args(arguments)
    bench = Bench()
    report = Report("persistent RMS norm", bench.describe_device())
    results = []
    for cols in options.cols:
        rows = options.rows or options.elements // cols
        case = {"dtype": "float16", "rows": rows, "cols": cols}
        made = contestants(rows, cols, options.sweep)
        results.append((case, 2 * 2 * rows * cols, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "copy")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
