"""Benchmarks copies of rows in three forms against torch and Triton.

python -m tools.bench.pipelined_copy --json out.json
python -m tools.bench.pipelined_copy --sweep
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options
from tools.bench.rowwise import Contestant, compete, copy_contestant, equal, show_against

DEFAULTS: dict[str, tuple[dict[str, int], ...]] = {"pointer": ({},), "cp_async": ({},), "tma": ({},)}
SWEEP: dict[str, tuple[dict[str, int], ...]] = {
    "pointer": tuple({"tile_bytes": kib << 10, "tiles": tiles} for kib in (2, 4, 8) for tiles in (2, 4, 8)),
    "cp_async": tuple({"tile_bytes": kib << 10, "tiles": tiles} for kib in (2, 4, 8) for tiles in (1, 2, 4, 8)),
    "tma": (
        *({"tile_bytes": kib << 10, "tiles": 1} for kib in (2, 4, 8, 16)),
        *({"tile_bytes": kib << 10, "tiles": tiles} for kib in (4, 8) for tiles in (2, 4)),
        {"tile_bytes": 4096, "tiles": 8, "stages": 2},
    ),
}


def described(form: str, options: Mapping[str, Any]) -> str:
    """A contestant's name: the form and what is not left to it."""
    return " ".join([form, *(f"{name}={value}" for name, value in options.items())])


def contestants(rows: int, cols: int, dtype: str, sweep: bool) -> list[Contestant]:
    import torch

    from kernels.pipelined_copy import copy_rows
    from tools.bench import plain

    bits = torch.randint(-(2**31), 2**31 - 1, (rows, cols), device="cuda", dtype=torch.int32)
    x = bits.view(getattr(torch, dtype))
    out = torch.empty_like(x)
    torch.cuda.synchronize()
    n, block, warps = x.numel(), 2048 // x.element_size(), 4

    def plain_launch(kernel: Any) -> Any:
        return lambda: kernel[(-(-n // block),)](x, out, n, BLOCK=block, num_warps=warps)

    launches: dict[str, Any] = {"plain": plain_launch(plain.copy)}
    if rivals.why_no_triton() is None:
        launches["triton"] = plain_launch(rivals.triton_module("tools.bench.plain").copy)
    for form, choices in (SWEEP if sweep else DEFAULTS).items():
        for options in choices:
            launches[described(form, options)] = lambda form=form, options=options: copy_rows(x, out, form, **options)
    made = [Contestant(name, launch, [out], lambda: equal(out, x)) for name, launch in launches.items()]
    return [copy_contestant("torch", out, x), *made]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.pipelined_copy", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=int, default=32768)
    parser.add_argument("--cols", type=int, default=16384)
    parser.add_argument("--sweep", action="store_true", help="many sizes of tiles and rings")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("copy of rows", bench.describe_device())
    case = {"dtype": "float32", "rows": options.rows, "cols": options.cols}
    made = contestants(options.rows, options.cols, "float32", options.sweep)
    outcome = compete(bench, made, options.repeats, in_graphs=True)
    wrong = show_against(report, [(case, 2 * 4 * options.rows * options.cols, outcome)], "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
