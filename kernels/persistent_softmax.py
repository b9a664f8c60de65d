"""Softmax of every row of a matrix by CTAs that stay: the next rows are on their way while one is reduced."""

from __future__ import annotations

from typing import Any

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import row_stride
from kernels.persistent_rows import fetch_rows, load_part, prepare
from kernels.softmax import softmax_reference
from tle2cuda.language import tle

__all__ = ["persistent_softmax", "persistent_softmax_rows", "softmax_reference"]


@tle2cuda.jit
def softmax_in_registers(reader, out, rows, cols, out_stride, PART: tl.constexpr):
    """Rows of one part: it is read once, and given back before it is reduced."""
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        logits = load_part(reader.wait(place).slot, PART).to(tl.float32)
        reader.release(place)
        place = place.advance()
        logits = tl.where(col < cols, logits, -float("inf"))
        weight = tl.exp(logits - tl.max(logits, axis=0))
        scale = 1.0 / tl.sum(weight, axis=0)
        tl.store(out + row.to(tl.int64) * out_stride + col, weight * scale, mask=col < cols)


@tle2cuda.jit
def softmax_in_parts(reader, out, rows, cols, out_stride, PART: tl.constexpr, PARTS: tl.constexpr):
    """Longer rows stay in shared memory: three passes, the last of which gives the parts back one by one."""
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        highest = tl.full([PART], -float("inf"), tl.float32)
        ahead = place
        for part in range(PARTS):
            logits = load_part(reader.wait(ahead).slot, PART).to(tl.float32)
            highest = tl.maximum(highest, tl.where(part * PART + col < cols, logits, -float("inf")))
            ahead = ahead.advance()
        peak = tl.max(highest, axis=0)

        weights = tl.zeros([PART], tl.float32)
        ahead = place
        for part in range(PARTS):
            logits = load_part(reader.wait(ahead).slot, PART).to(tl.float32)
            weights += tl.where(part * PART + col < cols, tl.exp(logits - peak), 0.0)
            ahead = ahead.advance()
        scale = 1.0 / tl.sum(weights, axis=0)

        target = out + row.to(tl.int64) * out_stride
        for part in range(PARTS):
            logits = load_part(reader.wait(place).slot, PART).to(tl.float32)
            reader.release(place)
            place = place.advance()
            tl.store(target + part * PART + col, tl.exp(logits - peak) * scale, mask=part * PART + col < cols)


@tle2cuda.jit
def persistent_softmax(
    out,
    x,
    rows,
    cols,
    out_stride,
    x_stride,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    WIDTH: tl.constexpr,
    STAGES: tl.constexpr,
):
    ring = tle.gpu.alloc(
        [STAGES, PART // WIDTH, WIDTH], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False
    )
    pipe = tle.pipe(capacity=STAGES, name="parts", part=ring)
    fetch = (fetch_rows, (pipe.writer(), x, rows, cols, x_stride, PART, PARTS, WIDTH))
    if PARTS == 1:
        reduce = (softmax_in_registers, (pipe.reader(), out, rows, cols, out_stride, PART))
        tle.gpu.warp_specialize([reduce, fetch], [1])
    else:
        reduce_parts = (softmax_in_parts, (pipe.reader(), out, rows, cols, out_stride, PART, PARTS))
        tle.gpu.warp_specialize([reduce_parts, fetch], [1])


def persistent_softmax_rows(
    x: Any, out: Any, *, stages: int | None = None, num_warps: int | None = None, ctas: int | None = None
) -> Any:
    """Writes the softmax of each row of `x` to `out`: matrices of one shape and dtype.

    Args:
        x: Its rows begin at multiples of 16 bytes and fit into shared memory, 208 KiB.
        out: The target.
        stages: Parts of 16 KiB, or rows, that the ring holds.
        num_warps: Warps that reduce a row.
        ctas: CTAs of a multiprocessor.

    Raises:
        ValueError: The matrices do not fit each other, TMA or shared memory.
    """
    plan, grid = prepare(x, out, {"stages": stages, "num_warps": num_warps, "ctas": ctas})
    rows, cols = x.shape
    strides = row_stride(out), row_stride(x)
    if rows == 0:
        return out
    persistent_softmax[(grid,)](out, x, rows, cols, *strides, **plan.constants(), **plan.options())
    return out
