"""Softmax of every row of a matrix by CTAs that stay: the next rows are on their way while one is reduced."""

from __future__ import annotations

from typing import Any

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import power_of_two, row_stride
from kernels.persistent_rows import (
    PACKED_BYTES,
    PANEL,
    RING_ROW_BYTES,
    claimed_number,
    claims_for,
    fetch_claimed_rows,
    fetch_rows,
    load_part,
    prepare,
)
from kernels.softmax import softmax_reference
from tle2cuda.language import tle

__all__ = ["persistent_softmax", "persistent_softmax_rows", "softmax_ahead", "softmax_reference"]

LOG2_E = tl.constexpr(1.4426950408889634)


@tle2cuda.jit
def softmax_ahead(out, x, rows, cols, out_stride, x_stride, BLOCK: tl.constexpr):
    """No ring: the next row is loaded into registers while this one is reduced."""
    col = tl.arange(0, BLOCK)
    inside = col < cols
    first = tl.program_id(0)
    source = x + first.to(tl.int64) * x_stride + col
    coming = tl.load(source, mask=inside & (first < rows), other=-float("inf"))
    for row in range(first, rows, tl.num_programs(0)):
        logits = coming.to(tl.float32)
        following = row + tl.num_programs(0)
        source = x + following.to(tl.int64) * x_stride + col
        coming = tl.load(source, mask=inside & (following < rows), other=-float("inf"))

        # Like exp, but flushes what is below 2^-126 of the highest, for three instructions less. What the highest loses
        # when it is rounded as an exponent of 2 is common to the row.
        weight = tl.exp2(logits * LOG2_E - tl.max(logits, axis=0) * LOG2_E)
        scale = 1.0 / tl.sum(weight, axis=0)
        tl.store(out + row.to(tl.int64) * out_stride + col, weight * scale, mask=inside)


@tle2cuda.jit
def softmax_of_claimed(reader, out, rows, cols, out_stride, PART: tl.constexpr):
    """Rows are read once, and given back before they are reduced."""
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    row = claimed_number(reader.wait(place).slot)
    while row < rows:
        logits = load_part(reader.wait(place).slot, PART).to(tl.float32)
        reader.release(place)
        place = place.advance()
        logits = tl.where(col < cols, logits, -float("inf"))

        # Like exp, but flushes what is below 2^-126 of the highest, for three instructions less. What the highest loses
        # when it is rounded as an exponent of 2 is common to the row.
        weight = tl.exp2(logits * LOG2_E - tl.max(logits, axis=0) * LOG2_E)
        scale = 1.0 / tl.sum(weight, axis=0)
        tl.store(out + row.to(tl.int64) * out_stride + col, weight * scale, mask=col < cols)
        row = claimed_number(reader.wait(place).slot)


@tle2cuda.jit
def larger(a, b):
    return tl.maximum(a, b).to(a.dtype)


@tle2cuda.jit
def softmax_packed(
    reader,
    out,
    rows,
    cols,
    out_stride,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
):
    """Long rows: each thread takes the exponentials of a part as soon as it arrives, relative to its own highest so far.

    What it then holds are weights of at most 1 in the row's type (float16, float32), so in float16 they are rounded once
    more than in the end. When the whole row has arrived, weights are brought to the highest of all by a factor for each
    thread and part: half of the exponentials of two passes. Peaks are held as exponents of 2, so that an exponential takes
    one multiplication with addition. Only the last part may have columns behind the row's end.
    """
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    row = claimed_number(reader.wait(place).slot)
    while row < rows:
        held, peaks = (), ()
        peak = tl.full([THREADS], -float("inf"), tl.float32)  # each thread's own, so far
        total = tl.zeros([THREADS], tl.float32)
        for part in tl.static_range(PARTS):
            arrived = load_part(reader.wait(place).slot, PART)
            reader.release(place)
            place = place.advance()
            if part == PARTS - 1:
                arrived = tl.where(part * PART + col < cols, arrived, -float("inf"))
            logits = arrived.reshape([PART // (THREADS * VECTOR), THREADS, VECTOR])
            before = peak
            highest = tl.reduce(tl.reduce(logits, 2, larger), 0, larger).to(tl.float32)
            peak = tl.maximum(before, highest * LOG2_E)
            base = tl.where(peak == -float("inf"), 0.0, peak)
            weight = tl.exp2(logits.to(tl.float32) * LOG2_E - base[None, :, None])
            total = total * tl.exp2(before - base) + tl.sum(tl.sum(weight, axis=2), axis=0)
            peaks = peaks + (peak,)
            held = held + (weight.to(arrived.dtype),)
        row_peak = tl.max(peak, axis=0)
        scale = 1.0 / tl.sum(total * tl.exp2(peak - row_peak), axis=0)

        target = out + row.to(tl.int64) * out_stride
        for part in tl.static_range(PARTS):
            factor = tl.exp2(peaks[part] - row_peak) * scale
            result = (held[part].to(tl.float32) * factor[None, :, None]).reshape([PART])
            if part == PARTS - 1:
                tl.store(target + part * PART + col, result, mask=part * PART + col < cols)
            else:
                tl.store(target + part * PART + col, result)
        row = claimed_number(reader.wait(place).slot)


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
        peak = tl.max(highest, axis=0) * LOG2_E

        weights = tl.zeros([PART], tl.float32)
        ahead = place
        for part in range(PARTS):
            logits = load_part(reader.wait(ahead).slot, PART).to(tl.float32)
            weights += tl.where(part * PART + col < cols, tl.exp2(logits * LOG2_E - peak), 0.0)
            ahead = ahead.advance()
        scale = 1.0 / tl.sum(weights, axis=0)

        target = out + row.to(tl.int64) * out_stride
        for part in range(PARTS):
            logits = load_part(reader.wait(place).slot, PART).to(tl.float32)
            reader.release(place)
            place = place.advance()
            tl.store(target + part * PART + col, tl.exp2(logits * LOG2_E - peak) * scale, mask=part * PART + col < cols)


@tle2cuda.jit
def persistent_softmax(
    out,
    x,
    claims,
    rows,
    cols,
    out_stride,
    x_stride,
    PART: tl.constexpr,
    WIDTH: tl.constexpr,
    STAGES: tl.constexpr,
    CLAIM: tl.constexpr,
):
    """Rows are claimed, one at a time or a few: the fastest form for rows that fit into registers as float32."""
    ring = tle.gpu.alloc(
        [STAGES, PART // WIDTH, WIDTH], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False
    )
    numbers = tle.gpu.alloc([STAGES, 1], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="claimed", part=ring, number=numbers)
    fetch = (fetch_claimed_rows, (pipe.writer(), x, claims, rows, cols, x_stride, PART, 1, WIDTH, CLAIM))
    reduce = (softmax_of_claimed, (pipe.reader(), out, rows, cols, out_stride, PART))
    tle.gpu.warp_specialize([reduce, fetch], [1])


@tle2cuda.jit
def softmax_of_packed_rows(
    out,
    x,
    claims,
    rows,
    cols,
    out_stride,
    x_stride,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    WIDTH: tl.constexpr,
    STAGES: tl.constexpr,
    CLAIM: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
    REGISTERS: tl.constexpr,
):
    """Rows are claimed and held in registers in their own type."""
    ring = tle.gpu.alloc(
        [STAGES, PART // WIDTH, WIDTH], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False
    )
    numbers = tle.gpu.alloc([STAGES, 1], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="claimed", part=ring, number=numbers)
    fetch = (fetch_claimed_rows, (pipe.writer(), x, claims, rows, cols, x_stride, PART, PARTS, WIDTH, CLAIM))
    reduce = (softmax_packed, (pipe.reader(), out, rows, cols, out_stride, PART, PARTS, THREADS, VECTOR))
    if REGISTERS:
        tle.gpu.warp_specialize([reduce, fetch], [1], [REGISTERS])
    else:
        tle.gpu.warp_specialize([reduce, fetch], [1])


@tle2cuda.jit
def softmax_of_parts(
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
    """Rows stay in shared memory until they are reduced."""
    ring = tle.gpu.alloc(
        [STAGES, PART // WIDTH, WIDTH], dtype=x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False
    )
    pipe = tle.pipe(capacity=STAGES, name="parts", part=ring)
    fetch = (fetch_rows, (pipe.writer(), x, rows, cols, x_stride, PART, PARTS, WIDTH))
    reduce = (softmax_in_parts, (pipe.reader(), out, rows, cols, out_stride, PART, PARTS))
    tle.gpu.warp_specialize([reduce, fetch], [1])


KERNELS = {
    "ring": persistent_softmax,
    "packed": softmax_of_packed_rows,
    "parts": softmax_of_parts,
    "ahead": softmax_ahead,
}


def default_form(cols: int, itemsize: int, is_bfloat16: bool = False) -> str:
    """The form for rows of `cols` elements, rounded up to a power of two, as measured on an H200.

    "ring" up to 32 KiB, then "packed" up to 128 KiB, and "parts" for what "packed" does not suit: rows that are no whole
    panels, which take a request for every 256 elements there, and bfloat16, whose highest is found in float32, where a row
    does not fit into the registers.
    """
    row_bytes = power_of_two(cols) * itemsize
    if row_bytes <= RING_ROW_BYTES:
        return "ring"
    return "packed" if row_bytes <= PACKED_BYTES and cols % PANEL == 0 and not is_bfloat16 else "parts"


def persistent_softmax_rows(
    x: Any,
    out: Any,
    *,
    form: str | None = None,
    stages: int | None = None,
    num_warps: int | None = None,
    ctas: int | None = None,
) -> Any:
    """Writes the softmax of each row of `x` to `out`: matrices of one shape and dtype.

    Args:
        x: Its rows begin at multiples of 16 bytes and fit into shared memory, 208 KiB.
        out: The target.
        form: How rows arrive, one of `kernels.persistent_rows.FORMS`; left out: that of `default_form`.
        stages: Parts of 16 KiB, or rows, that the ring holds.
        num_warps: Warps that reduce a row.
        ctas: CTAs of a multiprocessor.

    Raises:
        ValueError: The matrices do not fit each other, TMA or shared memory.
    """
    form = form or default_form(x.shape[1], x.itemsize, "bfloat16" in str(x.dtype))
    plan, grid = prepare(x, out, {"form": form, "stages": stages, "num_warps": num_warps, "ctas": ctas})
    rows, cols = x.shape
    strides = row_stride(out), row_stride(x)
    if rows == 0:
        return out
    claims = (claims_for(x),) if plan.claim else ()
    KERNELS[plan.form][(grid,)](out, x, *claims, rows, cols, *strides, **plan.constants(), **plan.options())
    return out
