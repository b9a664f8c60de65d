"""Benchmarks the tutorial's matrix product against cuBLAS (torch) and the same kernel under Triton, with equal block sizes.

python -m tools.bench.matmul --json out.json

With TRITON_OVERRIDE_ARCH=sm80 in the environment Triton multiplies by mma.sync, and with --arch sm_90 so do we.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list, format_table
from tools.bench.rowwise import Contestant, compete, relative_error

NAMES = ("torch", "triton", "tle2cuda")
LIMITS = {"float32": 1e-3, "float16": 1e-3, "bfloat16": 8e-3}
TILES = ("128,128,32,4,3", "128,128,64,4,3", "128,256,64,8,3", "128,128,32,8,3")


def contestants(size: tuple[int, int, int], dtype: str, tile: Sequence[int], options: Any) -> list[Contestant]:
    """Everyone who multiplies two random matrices, with one kernel's tile: M, N, K, warps, stages."""
    import torch

    m, n, k = size
    type_ = getattr(torch, dtype)
    a = torch.randn(m, k, device="cuda", dtype=torch.float32).to(type_)
    b = torch.randn(k, n, device="cuda", dtype=torch.float32).to(type_)
    if options.turned:
        b = b.t().contiguous().t()
    out = torch.empty(m, n, device="cuda", dtype=type_)
    expected = (a.double() @ b.double()).to(torch.float32)
    block_m, block_n, block_k, warps, stages = tile
    constants = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    strides = [stride for matrix in (a, b, out) for stride in matrix.stride()]
    grid = (-(-m // block_m) * -(-n // block_n),)
    torch.cuda.synchronize()

    def kernel_launch(kernel: Any) -> Any:
        return lambda: kernel[grid](
            a, b, out, m, n, k, *strides, **constants, num_warps=warps, num_stages=stages
        )  # fmt: skip

    launches = {"torch": lambda: lambda: torch.matmul(a, b, out=out)}
    launches["triton"] = lambda: kernel_launch(rivals.triton_module("kernels.matmul").matmul)
    launches["tle2cuda"] = lambda: _for_arch(options.arch, a, b, out, tile) if options.arch else kernel_launch(_ours())
    names = [name for name in NAMES if options.only is None or name in options.only]
    return [
        Contestant(name, launches[name](), [out], lambda: relative_error(out, expected, LIMITS[dtype])) for name in names
    ]


def _ours() -> Any:
    from kernels.matmul import matmul

    return matmul


def _for_arch(arch: str, a: Any, b: Any, out: Any, tile: Sequence[int]) -> Any:
    """A launch of our kernel compiled for another target than the device's: rows contiguous, sizes multiples of 16."""
    import cupy

    import tle2cuda

    (m, k), n = a.shape, b.shape[1]
    block_m, block_n, block_k, warps, stages = tile
    pointer = "*bf16:16" if "bfloat16" in str(a.dtype) else "*fp16:16"
    signature = f"{pointer}, {pointer}, {pointer}" + ", i32:16" * 3 + ", i32:16, 1" * 3
    constants = {"BLOCK_M": block_m, "BLOCK_N": block_n, "BLOCK_K": block_k, "GROUP_M": 8}
    numbers = ", ".join(str(number) for number in constants.values())
    compiled = tle2cuda.compile(_ours(), f"{signature}, {numbers}", num_warps=warps, num_stages=stages, arch=arch)
    grid = (-(-m // block_m) * -(-n // block_n),)
    arrays = tuple(x.data_ptr() for x in (a, b, out))
    sizes = tuple(cupy.int32(size) for size in (m, n, k, a.stride(0), b.stride(0), out.stride(0)))
    return lambda: compiled(grid, (32 * warps,), (*arrays, *sizes))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.matmul", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--sizes", type=comma_ints, default=[1024, 2048, 4096, 8192], help="M = N = K")
    parser.add_argument("--dtypes", type=comma_list, default=["float16", "bfloat16"])
    parser.add_argument("--tiles", type=str.split, default=list(TILES), help="M,N,K,warps,stages of each, by spaces")
    parser.add_argument("--arch", help="compile our kernel for this target, float16 and bfloat16, no --turned")
    parser.add_argument("--turned", action="store_true", help="the right operand lies by columns")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("matrix product", bench.describe_device())
    rows, wrong = [], 0
    for dtype in options.dtypes:
        for size in options.sizes:
            for text in options.tiles:
                tile = [int(number) for number in text.split(",")]
                outcome = compete(bench, contestants((size,) * 3, dtype, tile, options), options.repeats, in_graphs=True)
                case = {"dtype": dtype, "size": size, "tile": text}
                speeds = {name: 2 * size**3 / us * 1e-6 for name, us in outcome.items() if isinstance(us, float)}
                for name, value in outcome.items():
                    if name in speeds:
                        report.add(**case, kernel=name, us=round(value, 2), tflops=round(speeds[name], 1))
                        continue
                    wrong += 1
                    report.add(**case, kernel=name, error=value)
                    print(f"WRONG {name} {case}: {str(value)[:800]}")
                ratios = [
                    f"{speeds['tle2cuda'] / speeds[r]:.3f}" if {"tle2cuda", r} <= set(speeds) else "-" for r in NAMES[:2]
                ]
                shown = [f"{speeds[name]:.1f}" if name in speeds else "-" for name in NAMES]
                rows.append([f"{dtype} {size} {text}", *shown, *ratios])
    print(format_table(["TFLOP/s", *NAMES, "/torch", "/triton"], rows), flush=True)
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
