"""The ways to run a recipe: Triton on a GPU or in its interpreter, tle2cuda on a GPU, in the emulator, interpreted.

Every side takes a `Concrete` launch and leaves what its arrays hold afterwards.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tools.public_kernels import extract
from tools.public_kernels.recipe import Array, Concrete, Difference, differences, tolerance_of
from tools.public_kernels.records import Record, constants, constants_for_triton

SIDES = ("cuda", "emulator", "interpreter", "eager", "triton", "triton-cpu")
_TORCH_NAMES = {"float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2", "bfloat16": "bfloat16"}


@dataclass(slots=True)
class Ran:
    """What a run left.

    Attributes:
        arrays: Contents of the array arguments afterwards; empty when they were left on the device.
        held: The array arguments where they are.
        first_s: Seconds of the first call, compilation and all.
        again: Launches once more, without waiting; for timing on a GPU.
    """

    arrays: dict[str, Array]
    held: dict[str, Any]
    first_s: float
    again: Callable[[], Any]


def load(record: Record, packages: Path, cut: Path, use_triton: bool) -> Any:
    """The record's kernel as `triton.jit` made it: Triton's own, or tle2cuda's in its place."""
    if not use_triton:
        import tle2cuda

        tle2cuda.install()
    sys.setrecursionlimit(10000)
    folder = extract.extract(record, packages, cut)
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    return importlib.import_module(f"{folder.name}.entry").KERNEL


def run(side: str, kernel: Any, record: Record, before: Concrete, fetch: bool = True) -> Ran:
    """Runs a launch on one side. `kernel` was loaded with Triton for Triton's sides, either way for ours.

    Without `fetch` what the launch left stays on the device.

    Raises:
        Exception: Whatever the side raises.
    """
    options: dict[str, Any] = {"num_warps": record.num_warps, "num_stages": record.num_stages}
    if side.startswith("triton"):
        constexprs = constants_for_triton(record)
        device = "cuda" if side == "triton" else "cpu"
    else:
        import tle2cuda

        kernel = tle2cuda.jit(getattr(kernel, "fn", kernel))
        constexprs = constants(record)
        device = "cuda" if side == "cuda" else "numpy"
        os.environ["TLE2CUDA_DEVICE"] = side
    holders = {name: _to_device(array, device) for name, array in before.arrays.items()}
    arguments = {name: _argument(before, name, holder, side) for name, holder in holders.items()}
    constexprs.update(before.others)
    grid = before.launch.grid

    def launch() -> None:
        kernel[grid](**arguments, **constexprs, **options)

    start = time.perf_counter()
    launch()
    if device == "cuda":
        import torch

        torch.cuda.synchronize()
    first_s = time.perf_counter() - start
    arrays = {n: _to_numpy(holder, before.arrays[n].dtype) for n, holder in holders.items()} if fetch else {}
    return Ran(arrays, holders, first_s, launch)


def compare_on_gpu(before: Concrete, ours: Ran, theirs: Ran) -> list[Difference]:
    """As `compare`, of two runs that left their arrays on one GPU: large ones take long to fetch."""
    import torch

    found = []
    for name, array in before.arrays.items():
        values = before.values_of(name)
        if name in before.launch.ignore:
            continue
        if values.free is not None or values.sorted_rows or values.parts is not None:
            got, want = (_to_numpy(ran.held[name], array.dtype) for ran in (ours, theirs))
            found += differences(name, got, want, values, before.launch.tolerance)
            continue
        a, b = ours.held[name], theirs.held[name]
        if array.dtype.kind in "biu":
            over = a != b
            share = over.double()
        else:
            limits = before.launch.tolerance or tolerance_of(array.dtype)
            a, b = a.double(), b.double()
            same = (a == b) | (a.isnan() & b.isnan())
            error = torch.where(same, 0.0, (a - b).abs()).nan_to_num(nan=torch.inf)
            share = error / (limits.absolute + limits.relative * torch.where(b.isfinite(), b.abs(), 0.0))
            over = share > 1.0
        wrong = int(over.sum())
        worst = int(share.argmax()) if share.numel() else 0
        where = f"[{worst}] {a.reshape(-1)[worst].item()} for {b.reshape(-1)[worst].item()}" if share.numel() else ""
        found.append(Difference(name, wrong, float(share.max()) if share.numel() else 0.0, where))
    return found


def _argument(before: Concrete, name: str, holder: Any, side: str) -> Any:
    block = before.block_of(name)
    if block is None:
        return holder
    module = "triton" if side.startswith("triton") else "tle2cuda"
    if module == "tle2cuda":
        from tle2cuda.tools.tensor_descriptor import TensorDescriptor  # type: ignore[import-not-found]
    else:
        from triton.tools.tensor_descriptor import TensorDescriptor
    return TensorDescriptor.from_tensor(holder, list(block))


def _to_device(array: Array, device: str) -> Any:
    if device == "numpy":
        return array.copy()
    import torch

    name = array.dtype.name
    if name in _TORCH_NAMES:
        raw = array.view(np.uint8 if array.dtype.itemsize == 1 else np.int16)
        return torch.from_numpy(raw.copy()).to(device).view(getattr(torch, _TORCH_NAMES[name]))
    return torch.from_numpy(array.copy()).to(device)


def _to_numpy(holder: Any, dtype: np.dtype[Any]) -> Array:
    if isinstance(holder, np.ndarray):
        return holder
    import torch

    if dtype.name in _TORCH_NAMES:
        raw = holder.view(torch.uint8 if dtype.itemsize == 1 else torch.int16)
        return np.asarray(raw.cpu().numpy()).view(dtype)
    return np.asarray(holder.cpu().numpy())
