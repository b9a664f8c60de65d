"""Benchmarks the product by tensor descriptors, whose CTAs stay, against cuBLAS (torch) and the same kernel under Triton.

python -m tools.bench.matmul_persistent --json out.json

Tiles are M,N,K,group,warps,stages; `split` marks kernels one warp of which loads while the others multiply.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list
from tools.bench.rowwise import Contestant, compete, relative_error, show_against

LIMITS = {"float16": 1e-3, "bfloat16": 8e-3}
TILES = ("128,256,64,8,8,3", "128,128,64,8,8,4")


def contestants(size: int, dtype: str, options: Any) -> list[Contestant]:
    import torch

    from kernels import matmul_persistent as ours

    type_ = getattr(torch, dtype)
    a, b = (torch.randn(size, size, device="cuda").to(type_) for _ in range(2))
    b = b.t().contiguous().t() if options.turned else b
    out = torch.empty(size, size, device="cuda", dtype=type_)
    expected = a.double() @ b.double()
    torch.cuda.synchronize()
    wrong = lambda: relative_error(out, expected, LIMITS[dtype])  # noqa: E731
    made = [Contestant("torch", lambda: torch.matmul(a, b, out=out), [out], wrong)]
    modules = {"tle2cuda": ours}
    if rivals.why_no_triton() is None:
        modules["triton"] = rivals.triton_module("kernels.matmul_persistent")
    for text in options.tiles:
        for name, split in [(name, split) for name in modules for split in (False, True)]:
            if split and name not in options.split:
                continue
            module = modules[name]
            tile = module.Tile(*comma_ints(text))

            def launch(module: Any = module, tile: Any = tile, split: bool = split) -> None:
                module.multiply_persistent(a, b, out, tile=tile, specialize=split)

            made.append(Contestant(f"{name} {text}{' split' if split else ''}", launch, [out], wrong))
    return [x for x in made if options.only is None or x.name.split()[0] in options.only]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.matmul_persistent", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--sizes", type=comma_ints, default=[2048, 4096, 8192], help="M = N = K")
    parser.add_argument("--dtypes", type=comma_list, default=["float16"])
    parser.add_argument("--tiles", type=str.split, default=list(TILES))
    parser.add_argument("--split", type=comma_list, default=["tle2cuda"], help="who also specialises warps")
    parser.add_argument("--turned", action="store_true", help="the right operand lies by columns")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("matrix product, persistent", bench.describe_device())
    results = []
    for dtype in options.dtypes:
        for size in options.sizes:
            outcome = compete(bench, contestants(size, dtype, options), options.repeats, in_graphs=True)
            results.append(({"dtype": dtype, "size": size, "turned": options.turned}, 2.0 * size**3, outcome))
    wrong = show_against(report, results, "torch", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
