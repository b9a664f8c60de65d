"""Benchmarks products of groups of rows against torch (grouped, and one by one) and the same kernel under Triton.

python -m tools.bench.grouped_gemm --json out.json

Problems are groups,rows,columns,K; the rows are shared out among the groups at random.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.rowwise import Contestant, compete, relative_error, show_against, unless_absent

LIMIT = 8e-3  # bfloat16
PROBLEMS = ("8,8192,4096,4096", "64,16384,2048,4096", "128,4096,4096,2048")
TILES = ("128,128,64,8,3,2", "128,128,64,8,3,1", "64,128,64,4,4,2")
TLE_TILES = ("128,256,64,4", "128,128,64,6")


def contestants(problem: list[int], options: Any) -> list[Contestant]:
    import torch

    from kernels import grouped_gemm as ours
    from kernels import grouped_gemm_tle as in_tle

    groups, rows, columns, k = problem
    # Groups end where the copy engine can begin, which torch's grouped product asks for.
    ends = (torch.rand(groups - 1, device="cuda") * rows / 16).int().sort().values * 16
    ends = torch.cat([ends, torch.tensor([rows], device="cuda", dtype=torch.int32)]).int()
    a = torch.randn(rows, k, device="cuda").bfloat16()
    b = torch.randn(groups, columns, k, device="cuda").bfloat16().transpose(1, 2)
    out = torch.empty(rows, columns, device="cuda", dtype=torch.bfloat16)
    limits = [0, *ends.tolist()]
    pairs = [(first, end, g) for g, (first, end) in enumerate(itertools.pairwise(limits)) if end > first]
    expected = torch.cat([a[first:end].double() @ b[g].double() for first, end, g in pairs])
    torch.cuda.synchronize()

    def one_by_one() -> None:
        for first, end, group in pairs:
            torch.matmul(a[first:end], b[group], out=out[first:end])

    def grouped() -> Callable[[], Any]:
        return lambda: out.copy_(torch._grouped_mm(a, b, offs=ends))

    made = {"torch one by one": one_by_one} | unless_absent("torch grouped (and a copy)", grouped)
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.grouped_gemm")
    for text in options.tiles:
        for name, module in modules.items():
            tile = module.Tile(*comma_ints(text))
            made[f"{name} {text}"] = lambda module=module, tile=tile: module.multiply_groups(a, b, out, ends, tile=tile)
    for text in options.tle_tiles:
        sizes = in_tle.Tile(*comma_ints(text))
        made[f"tle2cuda tle {text}"] = lambda sizes=sizes: in_tle.multiply_groups(a, b, out, ends, tile=sizes)
    wrong = lambda: relative_error(out, expected, LIMIT)  # noqa: E731
    return [
        Contestant(name, launch, [out], wrong, eager=name.startswith("torch grouped"))
        for name, launch in made.items()
        if options.only is None or name.split()[0] in options.only
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.grouped_gemm", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--problems", type=str.split, default=list(PROBLEMS))
    parser.add_argument("--tiles", type=str.split, default=list(TILES), help="M,N,K,warps,stages,CTAs of each")
    parser.add_argument("--tle-tiles", type=str.split, default=list(TLE_TILES), help="M,N,K,stages of each")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("products of groups", bench.describe_device())
    results = []
    for problem in map(comma_ints, options.problems):
        _, rows, columns, k = problem
        outcome = compete(bench, contestants(problem, options), options.repeats, in_graphs=True)
        results.append(({"problem": ",".join(map(str, problem))}, 2.0 * rows * columns * k, outcome))
    wrong = show_against(report, results, "torch one by one", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
