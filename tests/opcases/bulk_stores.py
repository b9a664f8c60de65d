"""Buffers that go to whole rows of global memory: stores and reductions of the copy engine without a tensor map."""

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


@tle2cuda.jit
def add_rows(x, out, M, STRIDE: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Every program adds its tiles to the same rows, and fills the buffer again at once."""
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    tile = tle.gpu.alloc([ROWS, COLS], x.dtype.element_ty, nv_mma_shared_layout=False)
    for row in range(tl.program_id(0) * ROWS, M, tl.num_programs(0) * ROWS):
        tl.store(tle.gpu.local_ptr(tile), tl.load(x + (row + ROWS - 1 - i) * COLS + j))
        tl.atomic_add(out + i * STRIDE + j, tile.load(), sem="relaxed")


@tle2cuda.jit
def combine(x, least, most, common, N, B: tl.constexpr):
    """Lines combined in several ways, out of one buffer; what came of it is loaded by other threads."""
    i = tl.arange(0, B)
    line = tle.gpu.alloc([B], x.dtype.element_ty, nv_mma_shared_layout=False)
    for start in range(0, N, B):
        tl.store(tle.gpu.local_ptr(line), tl.load(x + start + i))
        tl.atomic_min(least + i, tl.load(tle.gpu.local_ptr(line)), sem="relaxed")
        tl.atomic_max(most + i, tl.load(tle.gpu.local_ptr(line)), sem="relaxed", scope="cta")
        tl.atomic_xor(common + i, tl.load(tle.gpu.local_ptr(line)), sem="relaxed")
    tl.debug_barrier()
    turned = tl.load(most + (B - 1 - i))
    tl.debug_barrier()
    tl.store(most + i, turned)


@tle2cuda.jit
def last_reads(x, sums, tickets, out, B: tl.constexpr):
    """The program that comes last reads what all have added."""
    i = tl.arange(0, B)
    line = tle.gpu.alloc([B], x.dtype.element_ty, nv_mma_shared_layout=False)
    line.store(tl.load(x + tl.program_id(0) * B + i))
    tl.atomic_add(sums + i, line.load(), sem="relaxed")
    if tl.atomic_add(tickets, 1) == tl.num_programs(0) - 1:
        tl.store(out + i, tl.load(sums + i, cache_modifier=".cg"))


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

    for label, dtype, rows, cols in (
        ("f32", np.float32, 4, 128),
        ("f16", np.float16, 8, 128),
        ("bf16", BF16, 1, 256),
        ("f64", np.float64, 2, 64),
        ("i64", np.int64, 2, 64),
        ("i32", np.int32, 16, 64),
    ):

        def make_sums(rng: np.random.Generator, dtype=dtype, rows=rows, cols=cols) -> Inputs:
            x, out = (rng.integers(-9, 9, (size, cols)).astype(dtype) for size in (6 * rows, rows))
            return {"x": x, "out": out, "M": 6 * rows}

        def add(inputs: Inputs, rows=rows, cols=cols) -> Mapping[str, Array]:
            x = inputs["x"].reshape(6, rows, cols)[:, ::-1].astype(np.float64).sum(axis=0)
            return {"out": (inputs["out"].astype(np.float64) + x).astype(inputs["out"].dtype)}

        _case(f"add_{label}", add_rows, 2, make_sums, add, {"ROWS": rows, "COLS": cols, "STRIDE": cols})

    for label, dtype in (("i32", np.int32), ("u64", np.uint64), ("i64", np.int64)):

        def make_lines(rng: np.random.Generator, dtype=dtype) -> Inputs:
            low = 0 if dtype is np.uint64 else -(2**30)
            names = ("x", "least", "most", "common")
            return {name: rng.integers(low, 2**30, 512 if name == "x" else 128).astype(dtype) for name in names} | {
                "N": 512
            }

        def combined(inputs: Inputs) -> Mapping[str, Array]:
            x = inputs["x"].reshape(4, 128)
            return {
                "least": np.minimum(inputs["least"], x.min(axis=0)),
                "most": np.maximum(inputs["most"], x.max(axis=0))[::-1],
                "common": inputs["common"] ^ np.bitwise_xor.reduce(x, axis=0),
            }

        _case(f"combine_{label}", combine, 1, make_lines, combined, {"B": 128})

    def make_tickets(rng: np.random.Generator) -> Inputs:
        x = rng.integers(-9, 9, 512).astype(np.float32)
        return {"x": x, "sums": np.zeros(128, np.float32), "tickets": np.zeros(1, np.int32), "out": poison(128, np.float32)}

    def read(inputs: Inputs) -> Mapping[str, Array]:
        sums = inputs["x"].reshape(4, 128).sum(axis=0)
        return {"out": sums, "sums": sums, "tickets": np.array([4], np.int32)}

    _case("last_reads", last_reads, 4, make_tickets, read, {"B": 128})

    def lines(rng: np.random.Generator, dtype: Any = np.int32) -> Inputs:
        return {"x": rng.integers(-99, 99, 1024).astype(dtype), "out": poison(1024, dtype), "N": 1024}

    def turned(inputs: Inputs) -> Mapping[str, Array]:
        return {"out": (inputs["x"].reshape(-1, 256)[:, ::-1] * 3 + 1).reshape(-1)}

    _case("read_back", read_back, 1, lines, turned, {"B": 256})
    _case("pipe", through_a_pipe, 1, lambda rng: lines(rng, np.float32), lambda inputs: {"out": inputs["x"]}, {"B": 128})


_register()
