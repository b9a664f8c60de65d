"""Kernels that move boxes of tensors, as IR text: tensors of any rank, dtype and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tle2cuda.compiler import EmittedKernel
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.ir.nodes import Kernel
from tle2cuda.ir.parser import parse_kernel
from tle2cuda.ir.types import DType
from tle2cuda.lowering import lower
from tle2cuda.passes import pipeline


@dataclass(frozen=True, slots=True)
class BoxCopy:
    """A kernel that copies one box of `x` to a box of `y`, through a buffer.

    Attributes:
        dtype: Element type, as in signatures.
        block: Extents of the box.
        padding: ``zero`` or ``nan``.
        kind: What happens to the elements of `y`.
        storage: Storage of the buffer.
        boxes: Boxes along the first dimension that are copied one after the other, through the same buffer.
    """

    dtype: str
    block: tuple[int, ...]
    padding: str = "zero"
    kind: str = "store"
    storage: str = ""
    boxes: int = 1

    @property
    def rank(self) -> int:
        return len(self.block)

    def text(self, target: str = "sm_90a") -> str:
        """The kernel."""
        axes = range(self.rank)
        names = [f"{array}_{part}{axis}" for array in "xy" for part in ("extent", "at") for axis in axes]
        names += [f"{array}_stride{axis}" for array in "xy" for axis in axes[:-1]]
        arguments = ", ".join(f"%{name}: i32" for name in names)
        shape = ", ".join(map(str, (extent for extent in self.block if extent > 1)))
        buffer = f"buffer<{self.dtype}[{shape}]{' ' + self.storage if self.storage else ''}>"

        def described(array: str) -> str:
            extents = [f"%{array}_extent{axis}" for axis in axes]
            strides = [*(f"%{array}_stride{axis}" for axis in axes[:-1]), "%one"]
            offsets = [f"%{array}_first", *(f"%{array}_at{axis}" for axis in axes[1:])]
            return ", ".join((f"%{array}", *extents, *strides, *offsets))

        block = f"({', '.join(map(str, self.block))}{',' if self.rank == 1 else ''})"
        return f"""
kernel copy_box(%x: *{self.dtype} divisibility 16, %y: *{self.dtype} divisibility 16, {arguments}) num_warps 4
  target "{target}" {{
  %one = constant {{value = 1}} : i32
  %zero = constant {{value = 0}} : i32
  %count = constant {{value = {self.boxes}}} : i32
  %step = constant {{value = {self.block[0]}}} : i32
  %tile = alloc {{name = 'tile'}} : {buffer}
  for %zero, %count, %one do (%i: i32) {{
    %moved = mul %i, %step : i32
    %x_first = add %x_at0, %moved : i32
    %y_first = add %y_at0, %moved : i32
    tma_load {described("x")}, %tile
      {{rank = {self.rank}, block = {block}, padding = '{self.padding}', completion = 'blocking'}}
    tma_store %tile, {described("y")} {{rank = {self.rank}, block = {block}, kind = '{self.kind}'}}
    yield
  }}
  yield
}}
"""

    def kernel(self, target: str = "sm_90a") -> Kernel:
        """The kernel after all passes."""
        return pipeline.run(parse_kernel(self.text(target)))[0]

    def emit(self, target: str = "sm_90a") -> EmittedKernel:
        """The emitted file."""
        final = self.kernel(target)
        lowered = lower(final)
        return EmittedKernel(lowered.source, lowered.contract, lowered.line_map, {}, final, lowered.op_map)

    def arguments(self, x: np.ndarray, y: np.ndarray, x_at: Sequence[int], y_at: Sequence[int]) -> dict[str, Any]:
        """Arguments of a launch that copies the box of `x` at an index to an index of `y`."""
        values: dict[str, Any] = {"x": x, "y": y}
        for name, array, at in (("x", x, x_at), ("y", y, y_at)):
            for axis in range(self.rank):
                values[f"{name}_extent{axis}"] = array.shape[axis]
                values[f"{name}_at{axis}"] = at[axis]
                if axis + 1 < self.rank:
                    values[f"{name}_stride{axis}"] = array.strides[axis] // array.itemsize
        return values

    def expected(self, x: np.ndarray, y: np.ndarray, x_at: Sequence[int], y_at: Sequence[int]) -> np.ndarray:
        """What `y` then holds."""
        result = y.copy()
        block = (self.block[0] * self.boxes, *self.block[1:])
        for index in np.ndindex(*block):
            source = tuple(a + i for a, i in zip(x_at, index, strict=True))
            target = tuple(a + i for a, i in zip(y_at, index, strict=True))
            if not all(0 <= t < extent for t, extent in zip(target, y.shape, strict=True)):
                continue
            inside = all(0 <= s < extent for s, extent in zip(source, x.shape, strict=True))
            value = x[source] if inside else x.dtype.type(np.nan if self.padding == "nan" else 0)
            result[target] = _combined(self.kind, result[target], value)
        return result


def _combined(kind: str, old: Any, new: Any) -> Any:
    functions = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or}
    return new if kind == "store" else functions.get(kind, np.bitwise_xor)(old, new)


def array_of(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Whole numbers in any dtype, rows padded to multiples of 16 bytes."""
    numpy_dtype = value_dtype(DType(dtype))
    rng = np.random.default_rng(seed)
    row = -(-shape[-1] * np.dtype(numpy_dtype).itemsize // 16) * 16 // np.dtype(numpy_dtype).itemsize
    values = rng.integers(0, 8, (*shape[:-1], row)).astype(numpy_dtype)
    return values[..., : shape[-1]]
