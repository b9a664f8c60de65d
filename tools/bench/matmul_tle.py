"""Benchmarks the matrix product written out in TLE against cuBLAS (torch), Triton's tutorial kernel and a file by hand.

python -m tools.bench.matmul_tle --json out.json

The file by hand is `tools/bench/hand/matmul.cu`: the same algorithm, whose speed the emitted file must reach.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.bench import rivals
from tools.bench.common import Bench, Report, add_common_options, comma_ints, comma_list
from tools.bench.rowwise import Contestant, compete, relative_error, show_against

NAMES = ("torch", "triton", "hand", "tle")
LIMITS = {"float16": 1e-3, "bfloat16": 8e-3}
TRITON_TILE = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8}
_HAND = Path(__file__).resolve().parent / "hand" / "matmul.cu"
_HAND_THREADS = 384
_HAND_SHARED_BYTES = 231424 + 1024


def contestants(size: int, dtype: str, options: Any) -> list[Contestant]:
    """Everyone who multiplies two random matrices of `size` rows and columns."""
    import torch

    type_ = getattr(torch, dtype)
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float32).to(type_) for _ in range(2))
    out = torch.empty(size, size, device="cuda", dtype=type_)
    expected = (a.double() @ b.double()).to(torch.float32)
    torch.cuda.synchronize()
    launches: dict[str, Callable[[], Callable[[], Any]]] = {
        "torch": lambda: lambda: torch.matmul(a, b, out=out),
        "triton": lambda: _triton(a, b, out, size),
        "hand": lambda: _by_hand(a, b, out, size),
        "tle": lambda: _tle(a, b, out, options.tile),
    }
    wanted = [name for name in NAMES if options.only is None or name in options.only]
    if dtype != "float16":
        wanted = [name for name in wanted if name != "hand"]
    return [
        Contestant(name, launches[name](), [out], lambda: relative_error(out, expected, LIMITS[dtype])) for name in wanted
    ]


def _tle(a: Any, b: Any, out: Any, tile: Sequence[int]) -> Callable[[], Any]:
    from kernels.matmul_tle import multiply

    names = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "STAGES", "GROUP_M")
    return lambda: multiply(a, b, out, **dict(zip(names, tile, strict=False)))


def _triton(a: Any, b: Any, out: Any, size: int) -> Callable[[], Any]:
    kernel = rivals.triton_module("kernels.matmul").matmul
    strides = [stride for matrix in (a, b, out) for stride in matrix.stride()]
    grid = (-(-size // TRITON_TILE["BLOCK_M"]) * -(-size // TRITON_TILE["BLOCK_N"]),)
    return lambda: kernel[grid](
        a, b, out, size, size, size, *strides, **TRITON_TILE, num_warps=8, num_stages=3
    )  # fmt: skip


def _by_hand(a: Any, b: Any, out: Any, size: int) -> Callable[[], Any]:
    """A launch of the file by hand, its tensor maps encoded once."""
    import cupy

    from tle2cuda.runtime.nvrtc import CompileOptions, compile_source

    source = _HAND.read_text(encoding="utf-8")
    module = cupy.cuda.Module()
    module.load(compile_source(source, str(_HAND), CompileOptions(arch="sm_90a")).cubin)
    function = module.get_function("matmul")
    attribute = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    cupy.cuda.driver.funcSetAttribute(function.ptr, attribute, _HAND_SHARED_BYTES)
    maps = [_map(matrix, size, box) for matrix, box in ((a, (128, 64)), (b, (64, 64)), (out, (64, 64)))]
    numbers = [ctypes.c_int(size) for _ in range(3)]
    pointers = [*(ctypes.addressof(each) for each in maps), *(ctypes.addressof(each) for each in numbers)]
    parameters = (ctypes.c_void_p * len(pointers))(*pointers)
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]

    def launch(kept: tuple[Any, ...] = (module, maps, numbers)) -> None:
        stream = cupy.cuda.get_current_stream().ptr
        grid, block = (multiprocessors, 1, 1), (_HAND_THREADS, 1, 1)
        cupy.cuda.driver.launchKernel(
            function.ptr, *grid, *block, _HAND_SHARED_BYTES, stream, ctypes.addressof(parameters), 0
        )

    return launch


def _map(matrix: Any, size: int, box: tuple[int, int]) -> Any:
    """The tensor map of a square matrix, boxes of so many rows and columns under the 128-byte swizzle."""
    from tle2cuda.runtime.contract import TensorMapSpec
    from tle2cuda.runtime.tensor_maps import describe_map, encode

    spec = TensorMapSpec("map", "fp16", "x", ("size", "size"), ("size",), box, swizzle_bytes=128)
    encoded = encode(spec, describe_map(spec, {"size": size}, matrix.data_ptr()), matrix.data_ptr())
    return (ctypes.c_ubyte * len(encoded)).from_buffer_copy(encoded)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench.matmul_tle", description=__doc__.splitlines()[0])
    add_common_options(parser)
    parser.add_argument("--sizes", type=comma_ints, default=[1024, 2048, 4096, 8192], help="M = N = K")
    parser.add_argument("--dtypes", type=comma_list, default=["float16", "bfloat16"])
    parser.add_argument("--tile", type=comma_ints, default=[], help="BLOCK_M,BLOCK_N,BLOCK_K,STAGES,GROUP_M")
    options = parser.parse_args(arguments)
    bench = Bench(launches_per_graph=5)
    report = Report("matrix product in TLE", bench.describe_device())
    results = []
    for dtype in options.dtypes:
        for size in options.sizes:
            outcome = compete(bench, contestants(size, dtype, options), options.repeats, in_graphs=True)
            results.append(({"dtype": dtype, "size": size}, 2.0 * size**3, outcome))
    wrong = show_against(report, results, "torch", "TFLOP/s")
    report.write(options.json)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
