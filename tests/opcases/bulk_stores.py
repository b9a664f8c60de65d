"""Buffers that go to whole rows of global memory: stores of the copy engine without a tensor map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle


@tle2cuda.jit
def store_rows(x, out, M, STRIDE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Rows that a buffer collects, turned upside down, to rows that lie apart; the buffer is filled again at once."""
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    tile = tle.gpu.alloc([ROWS, COLS], x.dtype.element_ty, nv_mma_shared_layout=False)
    for row in range(tl.program_id(0) * ROWS, M, tl.num_programs(0) * ROWS):
        tl.store(tle.gpu.local_ptr(tile), tl.load(x + (row + ROWS - 1 - i) * COLS + j))
        tle.gpu.copy(tile, out + (row + i) * STRIDE + j, [ROWS, COLS])


@tle2cuda.jit
def read_back(x, out, N, B: tl.constexpr):
    """What the engine stored is loaded by other threads of the program, and stored over."""
    i = tl.arange(0, B)
    line = tle.gpu.alloc([B], tl.int32, nv_mma_shared_layout=False)
    for start in range(0, N, B):
        tl.store(tle.gpu.local_ptr(line), tl.load(x + start + i) * 3)
        tle.gpu.copy(line, out + start + i, [B])
        tl.debug_barrier()
        turned = tl.load(out + start + (B - 1 - i))
        tl.debug_barrier()
        tl.store(out + start + i, turned + 1)


@tle2cuda.jit
def pass_on(writer, x, N, B: tl.constexpr):
    for step in range(tl.cdiv(N, B)):
        slot = writer.acquire(step)
        tl.store(tle.gpu.local_ptr(slot.line), tl.load(x + step * B + tl.arange(0, B)))
        writer.commit(step)


@tle2cuda.jit
def store_slots(reader, out, N, B: tl.constexpr):
    for step in range(tl.cdiv(N, B)):
        tle.gpu.copy(reader.wait(step).slot.line, out + step * B + tl.arange(0, B), [B])
        reader.release(step)


@tle2cuda.jit
def through_a_pipe(x, out, N, B: tl.constexpr):
    """A partition that does nothing but store slots."""
    ring = tle.gpu.alloc([2, B], x.dtype.element_ty, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=2, name="lines", line=ring)
    tle.gpu.warp_specialize([(pass_on, (pipe.writer(), x, N, B)), (store_slots, (pipe.reader(), out, N, B))], [1], [40])


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(name: str, kernel: Any, grid: int, make: Any, expect: Any, constants: Mapping[str, Any]) -> None:
    add_case(OpCase(f"bulk_stores_{name}", "bulk_stores", kernel, (grid,), make, expect, constants))


def _register() -> None:
    for label, dtype, rows, cols, apart in (
        ("f32", np.float32, 4, 128, 8),
        ("bf16", BF16, 16, 256, 0),
        ("i8", np.int8, 1, 512, 16),
    ):

        def make(rng: np.random.Generator, dtype=dtype, rows=rows, cols=cols, apart=apart) -> Inputs:
            x = rng.integers(-99, 99, (6 * rows, cols)).astype(dtype)
            out = poison((6 * rows, cols + apart), dtype)
            return {"x": x, "out": out, "M": 6 * rows}

        def expect(inputs: Inputs, rows=rows, cols=cols) -> Mapping[str, Array]:
            out = inputs["out"].copy()
            out[:, :cols] = inputs["x"].reshape(6, rows, cols)[:, ::-1].reshape(-1, cols)
            return {"out": out}

        _case(f"rows_{label}", store_rows, 2, make, expect, {"ROWS": rows, "COLS": cols, "STRIDE": cols + apart})

    def lines(rng: np.random.Generator, dtype: Any = np.int32) -> Inputs:
        return {"x": rng.integers(-99, 99, 1024).astype(dtype), "out": poison(1024, dtype), "N": 1024}

    def turned(inputs: Inputs) -> Mapping[str, Array]:
        return {"out": (inputs["x"].reshape(-1, 256)[:, ::-1] * 3 + 1).reshape(-1)}

    _case("read_back", read_back, 1, lines, turned, {"B": 256})
    _case("pipe", through_a_pipe, 1, lambda rng: lines(rng, np.float32), lambda inputs: {"out": inputs["x"]}, {"B": 128})


_register()
