"""Launches of hand-written files of tools/bench/hand/ that take tensor maps, on torch tensors of 16-bit floats."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from tools.bench.common import ROOT

HAND = ROOT / "tools" / "bench" / "hand"
_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def tensor_map(matrix: Any, box: tuple[int, int]) -> Any:
    """The tensor map of a matrix [rows, cols], boxes of so many rows and columns under the 128-byte swizzle."""
    from tle2cuda.runtime.contract import TensorMapSpec
    from tle2cuda.runtime.tensor_maps import describe_map, encode

    rows, cols = matrix.shape
    spec = TensorMapSpec("map", "fp16", "x", ("rows", "cols"), ("cols",), box, swizzle_bytes=128)
    described = describe_map(spec, {"rows": rows, "cols": cols}, matrix.data_ptr())
    encoded = encode(spec, described, matrix.data_ptr())
    return (ctypes.c_ubyte * len(encoded)).from_buffer_copy(encoded)


def hand_launch(
    file: str, kernel: str, grid: tuple[int, int, int], threads: int, shared_bytes: int, parameters: Sequence[Any]
) -> Callable[[], None]:
    """What launches a kernel of a file on CuPy's current stream; parameters are ctypes objects."""
    import cupy

    from tle2cuda.runtime.nvrtc import CompileOptions, compile_source

    path = HAND / file
    module = cupy.cuda.Module()
    module.load(compile_source(path.read_text(encoding="utf-8"), str(path), CompileOptions(arch="sm_90a")).cubin)
    function = module.get_function(kernel)
    cupy.cuda.driver.funcSetAttribute(function.ptr, _MAX_DYNAMIC_SHARED, shared_bytes)
    pointers = (ctypes.c_void_p * len(parameters))(*(ctypes.addressof(each) for each in parameters))

    def launch(kept: tuple[Any, ...] = (module, parameters)) -> None:
        stream = cupy.cuda.get_current_stream().ptr
        cupy.cuda.driver.launchKernel(
            function.ptr, *grid, threads, 1, 1, shared_bytes, stream, ctypes.addressof(pointers), 0
        )

    return launch
