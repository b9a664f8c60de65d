"""The kernels that this repository ships, each with one specialisation worth showing.

The demo, the golden files, the sanitizer run and the C++ example all start from this list.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

H200_MULTIPROCESSORS = 132
MOE_SLOTS, MOE_BLOCK_SIZE, MOE_EXPERTS = 4096, 16, 512

_POINTER, _SIZE = "*i32:16", "i32"
_MOE_SIZES = ("numel", "slots_per_cta", "sorted_capacity", "expert_capacity")


@dataclasses.dataclass(frozen=True, slots=True)
class ShippedKernel:
    """A kernel function and what it is specialised for.

    Attributes:
        name: Unique; names the emitted file.
        module: Python module that defines the kernel.
        function: The kernel's name in it.
        signature: Type of each run-time argument, by parameter.
        constants: Value of each constexpr parameter.
        num_warps: Warps of a CTA.
        cooperative: Launched cooperatively.
    """

    name: str
    module: str
    function: str
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    num_warps: int = 4
    cooperative: bool = False

    @property
    def path(self) -> str:
        """The defining file, relative to the repository."""
        return self.module.replace(".", "/") + ".py"

    def load(self) -> Any:
        """The kernel function."""
        return getattr(importlib.import_module(self.module), self.function)

    def emit(self, arch: str, headers: str = "toolkit") -> Any:
        """The emitted kernel: `.source` and `.contract`. Needs no CUDA."""
        import tle2cuda

        return tle2cuda.emit(self.load(), headers=headers, **self._options(arch))

    def compile(self, arch: str) -> Any:
        """The compiled kernel, as `tle2cuda.compile` returns it. Needs NVRTC, but no GPU."""
        import tle2cuda

        return tle2cuda.compile(self.load(), **self._options(arch))

    def _options(self, arch: str) -> dict[str, Any]:
        return {
            "signature": self.signature,
            "constants": self.constants,
            "num_warps": self.num_warps,
            "arch": arch,
            "cooperative": self.cooperative,
        }


@functools.cache
def shipped_kernels() -> tuple[ShippedKernel, ...]:
    """Every shipped kernel, the simple ones first."""
    return (*_simple_kernels(), *moe_kernels())


def _simple_kernels() -> Iterator[ShippedKernel]:
    def kernel(name: str, types: str, block: int, num_warps: int, variant: str = "") -> ShippedKernel:
        signature = dict(entry.split() for entry in types.split(", "))
        return ShippedKernel(name + variant, f"kernels.{name}", name, signature, {"BLOCK": block}, num_warps)

    yield kernel("vector_add", "x *fp32:16, y *fp32:16, out *fp32:16, n i32", 1024, 4)
    cols = "row_stride i32:16, cols i32:16"
    for dtype, num_warps in (("fp32", 8), ("fp16", 4)):
        rows = f"*{dtype}:16"
        yield kernel("softmax", f"out {rows}, x {rows}, {cols}", 4096, num_warps, f"_{dtype}")
        vectors = f"weight {rows}, bias {rows}, out {rows}, mean_out *fp32:16, rstd_out *fp32:16"
        yield kernel("layer_norm", f"x {rows}, {vectors}, {cols}, eps fp32", 4096, num_warps, f"_{dtype}")


@functools.cache
def moe_kernels() -> tuple[ShippedKernel, ...]:
    """Every MoE Align Block Size kernel, as it is launched for 4096 slots on an H200."""
    from kernels.moe_align_block_size.algorithms import ALGORITHMS, Sizes

    sizes = Sizes(MOE_SLOTS, MOE_BLOCK_SIZE, MOE_EXPERTS)
    return tuple(
        kernel
        for algorithm in ALGORITHMS.values()
        for kernel in kernels_of(algorithm, sizes, next(algorithm.tunings(sizes, H200_MULTIPROCESSORS)))
    )


def kernels_of(algorithm: Any, sizes: Any, tuning: Any) -> Iterator[ShippedKernel]:
    """The kernels of one MoE algorithm in launch order, specialised as its recipe says."""
    from kernels.moe_align_block_size.algorithms import SIZES

    steps = algorithm.recipe(sizes, tuning).steps
    for number, step in enumerate(steps, 1):
        function = getattr(step.kernel, "fn", step.kernel)
        parameters = [name for name in inspect.signature(function).parameters if name not in step.constants]
        scalars = {*SIZES, *step.scalars}
        types = ["i32" if name in scalars else "*i32:16" for name in step.arguments]
        stage = function.__name__.removeprefix("moe_align_")
        name = f"moe_align_{algorithm.name}" + (f"_{number}_{stage}" if len(steps) > 1 else "")
        yield ShippedKernel(
            name,
            function.__module__,
            function.__name__,
            dict(zip(parameters, types, strict=True)),
            dict(step.constants),
            step.num_warps,
            step.cooperative,
        )
