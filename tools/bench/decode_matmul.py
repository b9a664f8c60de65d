"""Benchmarks products of few rows against cuBLAS (torch) and the same kernels under Triton.

python -m tools.bench.decode_matmul --json out.json
python -m tools.bench.decode_matmul --rows 16 --tiles "1:64,128,4,5 2:64,128,4,5"

Tiles are the CTAs that share K, then N,K,warps,stages.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.rowwise import Contestant, compete, relative_error, show_against

LIMITS = {"float16": 1e-3, "bfloat16": 8e-3}
TILES = ("1:64,128,4,6", "2:64,128,4,6", "4:64,128,4,4")


def contestants(rows: int, columns: int, k: int, dtype: str, options: Any) -> list[Contestant]:
    import torch

    from kernels import decode_matmul as ours

    type_ = getattr(torch, dtype)
    x, weights = (torch.randn(size, k, device="cuda").to(type_) for size in (rows, columns))
    out = torch.empty(rows, columns, device="cuda", dtype=type_)
    expected = x.double() @ weights.double().T
    torch.cuda.synchronize()
    wrong = lambda: relative_error(out, expected, LIMITS[dtype])  # noqa: E731
    made = [Contestant("torch", lambda: torch.matmul(x, weights.T, out=out), [out], wrong)]
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.decode_matmul")
    for text in options.tiles:
        for name, module in modules.items():
            parts, sizes = text.split(":")
            tile = module.Tile(*comma_ints(sizes))
            workspace = module.new_workspace(x, columns, int(parts), tile)

            def launch(module: Any = module, parts: int = int(parts), tile: Any = tile, workspace: Any = workspace) -> None:
                module.multiply_few_rows(x, weights, out, parts=parts, tile=tile, workspace=workspace)

            made.append(Contestant(f"{name} {text}", launch, [out, workspace.partial], wrong))
    return [x for x in made if options.only is None or x.name.split()[0] in options.only]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.decode_matmul", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--rows", type=comma_ints, default=[1, 4, 16, 32, 64])
    parser.add_argument("--columns", type=int, default=8192)
    parser.add_argument("--k", type=int, default=8192)
    parser.add_argument("--dtype", default="float16")
    parser.add_argument("--tiles", type=str.split, default=list(TILES))
    options = parser.parse_args(arguments)
    bench = Bench()
    report = Report("matrix products of few rows", bench.describe_device())
    results = []
    for rows in options.rows:
        made = contestants(rows, options.columns, options.k, options.dtype, options)
        case = {"dtype": options.dtype, "rows": rows, "columns": options.columns, "k": options.k}
        moved = 2.0 * (options.columns * options.k + rows * (options.columns + options.k))
        results.append((case, moved, compete(bench, made, options.repeats, in_graphs=True)))
    wrong = show_against(report, results, "torch")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
