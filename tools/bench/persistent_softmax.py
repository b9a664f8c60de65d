"""Benchmarks persistent softmax against torch, Triton's softmax, ours with a CTA per row, and a copy of the same size.

python -m tools.bench.persistent_softmax --json out.json
python -m tools.bench.persistent_softmax --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, equal, relative_error, show_against

LIMIT = 1e-3  # float16
TOTAL_ELEMENTS = 16384 * 4096  # of a matrix, whatever its rows' length

SHORT_SWEEP: tuple[dict[str, int], ...] = tuple(
    {"stages": stages, "num_warps": warps, "ctas": ctas}
    for stages in (2, 3, 4)
    for warps, ctas in ((2, 8), (2, 16), (4, 4), (4, 6), (4, 8), (4, 12), (8, 4))
    if stages * ctas <= 24
)
MIDDLE_SWEEP: tuple[dict[str, int], ...] = tuple(
    {"stages": stages, "num_warps": warps, "ctas": ctas}
    for stages, ctas in ((3, 2), (4, 2), (4, 3), (3, 4))
    for warps in (8, 16)
    if (warps + 1) * ctas <= 64
)
LONG_SWEEP: tuple[dict[str, int], ...] = tuple(
    {"stages": stages, "num_warps": warps} for stages in (9, 11, 13) for warps in (8, 16)
)


def variants(cols: int, sweep: bool) -> tuple[dict[str, int], ...]:
    """Options of the contestants for rows of so many float16 elements; the first are the defaults."""
    if not sweep:
        return ({},)
    return ({}, *(SHORT_SWEEP if cols <= 8192 else LONG_SWEEP if cols == 65536 else MIDDLE_SWEEP if cols == 16384 else ()))


def contestants(rows: int, cols: int, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.persistent_softmax import persistent_softmax_rows
    from kernels.softmax import softmax, warps_for

    x = torch.randn(rows, cols, device="cuda").half()
    out = torch.empty_like(x)
    expected = torch.softmax(x.double(), dim=1).float()
    torch.cuda.synchronize()
    block = 1 << (cols - 1).bit_length()

    def plain_launch(kernel: Any) -> Any:
        warps = warps_for(cols, x.itemsize)
        return lambda: kernel[(rows,)](out, x, cols, cols, BLOCK=block, num_warps=warps)

    launches: dict[str, Any] = {"torch": lambda: torch.softmax(x, dim=1, out=out), "plain": plain_launch(softmax)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("kernels.softmax").softmax)
    for options in variants(cols, sweep):
        launch = lambda options=options: persistent_softmax_rows(x, out, **options)  # noqa: E731
        launches[described("persistent", options)] = launch
    wrong = lambda: relative_error(out, expected, LIMIT)  # noqa: E731
    made = [Contestant(name, launch, [out], wrong) for name, launch in launches.items()]
    return [Contestant("copy", lambda: out.copy_(x), [out], lambda: equal(out, x)), *made]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.persistent_softmax", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 4096, 16384, 65536])
    parser.add_argument("--elements", type=int, default=TOTAL_ELEMENTS, help="of a matrix (default 16384 x 4096)")
    parser.add_argument("--sweep", action="store_true", help="many rings and numbers of warps and CTAs")
    options = parser.parse_args(arguments)
    bench = Bench()
    report = Report("persistent softmax", bench.describe_device())
    results = []
    for cols in options.cols:
        rows = options.elements // cols
        case = {"dtype": "float16", "rows": rows, "cols": cols}
        made = contestants(rows, cols, options.sweep)
        results.append((case, 2 * 2 * rows * cols, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "copy")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
