"""Benchmarks persistent softmax against torch, Triton's softmax, ours with a CTA per row, and a copy of the same size.

python -m tools.bench.persistent_softmax --json out.json
python -m tools.bench.persistent_softmax --cols 65536 --rows 8192
python -m tools.bench.persistent_softmax --sweep
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.pipelined_copy import described
from tools.bench.rowwise import Contestant, compete, copy_contestant, relative_error, show_against

LIMIT = 1e-3  # float16
TOTAL_ELEMENTS = 16384 * 4096  # of a matrix, whatever its rows' length

RING_SWEEP: dict[int, tuple[tuple[int, int, int], ...]] = {  # by columns: stages, warps and CTAs of a multiprocessor
    1024: ((2, 4, 5), (2, 4, 8), (3, 4, 6), (2, 2, 8), (2, 2, 12)),
    4096: ((1, 8, 5), (2, 8, 2), (2, 8, 4), (3, 8, 3), (2, 4, 4), (2, 4, 5), (2, 16, 2), (2, 16, 3)),
    16384: ((1, 16, 3), (1, 16, 2), (2, 16, 3), (3, 16, 2), (2, 8, 3)),
}
AHEAD_SWEEP = ((1, 16), (2, 14), (4, 4), (4, 6), (8, 3))  # warps and CTAs
LONG_SWEEP: tuple[dict[str, Any], ...] = tuple(
    {"form": "parts", "stages": stages, "num_warps": warps} for stages in (9, 13) for warps in (8, 16)
)


def variants(cols: int, sweep: bool) -> tuple[dict[str, Any], ...]:
    """Options of the contestants for rows of so many float16 elements; the first are the defaults, then other forms."""
    forms = ("ahead",) if cols <= 8192 else ("packed", "parts")
    swept: list[dict[str, Any]] = []
    if sweep:
        swept += [{"stages": s, "num_warps": w, "ctas": c} for s, w, c in RING_SWEEP.get(cols, ())]
        swept += [{"form": "ahead", "num_warps": w, "ctas": c} for w, c in AHEAD_SWEEP if cols <= 4096]
        swept += LONG_SWEEP if cols == 65536 else ()
    return ({}, *({"form": form} for form in forms), *swept)


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
    return [copy_contestant("copy", out, x), *made]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.persistent_softmax", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--cols", type=comma_ints, default=[1024, 4096, 16384, 65536])
    parser.add_argument("--elements", type=int, default=TOTAL_ELEMENTS, help="of a matrix (default 16384 x 4096)")
    parser.add_argument("--rows", type=int, help="of every matrix, in place of so many elements")
    parser.add_argument("--sweep", action="store_true", help="many rings and numbers of warps and CTAs")
    options = parser.parse_args(arguments)
    bench = Bench()
    report = Report("persistent softmax", bench.describe_device())
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
