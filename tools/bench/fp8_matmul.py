"""Benchmarks float8 products, scaled by blocks and plain, against cuBLAS (torch), our own float16, and Triton.

python -m tools.bench.fp8_matmul --json out.json

Tiles are M,N,warps,stages; the plain products take steps of 128 along K for float8, of 64 for float16.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints
from tools.bench.rowwise import Contestant, compete, relative_error, show_against, unless_absent

LIMIT = 8e-3  # of bfloat16 results
TILES = ("128,128,8,3", "128,128,4,3")


def scaled_expectation(a: Any, b: Any, a_scales: Any, b_scales: Any) -> Any:
    """The product of scaled blocks, in float64."""
    left = a.double() * a_scales.double().repeat_interleave(128, 1)[:, : a.shape[1]]
    spread = b_scales.double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    return left @ (b.double() * spread[: b.shape[0], : b.shape[1]]).T


def contestants(m: int, n: int, k: int, options: Any) -> list[Contestant]:
    import torch

    from kernels import fp8_matmul as ours
    from kernels import matmul as plain

    fp8 = torch.float8_e4m3fn
    a, b = (torch.randn(size, k, device="cuda").to(fp8) for size in (m, n))
    a_scales, b_scales = torch.rand(m, -(-k // 128), device="cuda"), torch.rand(-(-n // 128), -(-k // 128), device="cuda")
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    half = [torch.randn(size, k, device="cuda").half() for size in (m, n)]
    half_out = torch.empty(m, n, device="cuda", dtype=torch.half)
    expected, scaled = a.double() @ b.double().T, scaled_expectation(a, b, a_scales, b_scales)
    expected_half = half[0].double() @ half[1].double().T
    one = torch.ones((), device="cuda")
    torch.cuda.synchronize()

    made: list[Contestant] = []

    def add(name: str, launch: Callable[[], Any], output: Any, wanted: Any) -> None:
        made.append(Contestant(name, launch, [output], lambda: relative_error(output, wanted, LIMIT)))

    def cublas() -> Callable[[], Any]:
        return lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=out)

    for name, launch in unless_absent("cuBLAS fp8", cublas).items():
        add(name, launch, out, expected)
    modules = {"tle2cuda": (ours, plain)}
    if rivals.why_no_triton() is None:
        twins = ("kernels.fp8_matmul", "kernels.matmul")
        modules["triton"] = tuple(rivals.triton_module(twin) for twin in twins)  # type: ignore[assignment]
    for text in options.tiles:
        block_m, block_n, warps, stages = comma_ints(text)
        for name, (by_blocks, whole) in modules.items():
            tile = by_blocks.Tile(block_m, block_n, 8, warps, stages)
            sizes = {"BLOCK_M": block_m, "BLOCK_N": block_n, "num_warps": warps, "num_stages": stages}
            add(
                f"{name} blocks {text}",
                lambda by_blocks=by_blocks, tile=tile: by_blocks.multiply_fp8(a, b, out, a_scales, b_scales, tile=tile),
                out,
                scaled,
            )
            for kind, arrays, target, wanted, step in (
                ("fp8", (a, b), out, expected, 128),
                ("fp16", half, half_out, expected_half, 64),
            ):
                add(
                    f"{name} {kind} {text}",
                    lambda whole=whole, arrays=arrays, target=target, sizes=sizes, step=step: whole.multiply(
                        arrays[0], arrays[1].T, target, **sizes, BLOCK_K=step
                    ),
                    target,
                    wanted,
                )
    return [x for x in made if options.only is None or x.name.split()[0] in options.only]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.fp8_matmul", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--sizes", type=comma_ints, default=[4096, 8192], help="M = N = K")
    parser.add_argument("--tiles", type=str.split, default=list(TILES))
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("float8 products", bench.describe_device())
    results = []
    for size in options.sizes:
        outcome = compete(bench, contestants(size, size, size, options), options.repeats, in_graphs=True)
        results.append(({"size": size}, 2.0 * size**3, outcome))
    wrong = show_against(report, results, "cuBLAS fp8", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
