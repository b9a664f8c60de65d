"""RMS norm of every row of a matrix by CTAs that stay: the next rows are on their way while one is reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from tle2cuda.language import tle


@tle2cuda.jit
def rms_norm_ahead(x, weight, out, rows, cols, x_stride, out_stride, eps, BLOCK: tl.constexpr):
    """No ring: the next row is loaded into registers while this one is reduced."""
    col = tl.arange(0, BLOCK)
    inside = col < cols
    first = tl.program_id(0)
    source = x + first.to(tl.int64) * x_stride + col
    coming = tl.load(source, mask=inside & (first < rows), other=0.0)
    for row in range(first, rows, tl.num_programs(0)):
        value = coming.to(tl.float32)
        following = row + tl.num_programs(0)
        source = x + following.to(tl.int64) * x_stride + col
        coming = tl.load(source, mask=inside & (following < rows), other=0.0)

        rstd = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
        scale = tl.load(weight + col, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row.to(tl.int64) * out_stride + col, value * rstd * scale, mask=inside)


@tle2cuda.jit
def rms_norm_of_claimed(reader, weight, out, rows, cols, out_stride, eps, PART: tl.constexpr):
    """Rows are read once, and given back before they are reduced."""
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    row = claimed_number(reader.wait(place).slot)
    while row < rows:
        # What lies behind the row's end has arrived as zeros.
        value = load_part(reader.wait(place).slot, PART).to(tl.float32)
        reader.release(place)
        place = place.advance()
        rstd = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
        # Held over all rows, the weights would cost the registers of another CTA; the L1 cache holds them as well.
        scale = tl.load(weight + col, mask=col < cols, other=0.0).to(tl.float32)
        tl.store(out + row.to(tl.int64) * out_stride + col, value * rstd * scale, mask=col < cols)
        row = claimed_number(reader.wait(place).slot)


@tle2cuda.jit
def rms_norm_packed(
    reader,
    scales,
    weight,
    out,
    rows,
    cols,
    out_stride,
    eps,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    THREADS: tl.constexpr,
    VECTOR: tl.constexpr,
):
    """Long rows, held as they arrived, and the weights in shared memory, from where all rows of the CTA have them.

    Each thread sums its squares of a part as soon as they arrive. They are those of the negated row: widened alike twice,
    the compiler would do it once and keep the result.
    """
    col = tl.arange(0, PART)
    for part in range(PARTS):
        at = part * PART + col
        tl.store(tle.gpu.local_ptr(scales.slot(part)), tl.load(weight + at, mask=at < cols, other=0.0))
    place = reader.cursor(0)
    row = claimed_number(reader.wait(place).slot)
    while row < rows:
        held = ()
        squares = tl.zeros([THREADS], tl.float32)
        for _ in tl.static_range(PARTS):
            # What lies behind the row's end has arrived as zeros.
            arrived = load_part(reader.wait(place).slot, PART)
            reader.release(place)
            place = place.advance()
            negated = (-arrived).to(tl.float32).reshape([PART // (THREADS * VECTOR), THREADS, VECTOR])
            squares += tl.sum(tl.sum(negated * negated, axis=2), axis=0)
            held = held + (arrived,)
        rstd = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)

        target = out + row.to(tl.int64) * out_stride
        for part in tl.static_range(PARTS):
            scale = tl.load(tle.gpu.local_ptr(scales.slot(part))).to(tl.float32)
            result = held[part].to(tl.float32) * rstd * scale
            tl.store(target + part * PART + col, result, mask=part * PART + col < cols)
        row = claimed_number(reader.wait(place).slot)


@tle2cuda.jit
def rms_norm_in_parts(reader, weight, out, rows, cols, out_stride, eps, PART: tl.constexpr, PARTS: tl.constexpr):
    """Longer rows stay in shared memory: two passes, the second of which gives the parts back one by one."""
    col = tl.arange(0, PART)
    place = reader.cursor(0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        squares = tl.zeros([PART], tl.float32)
        ahead = place
        for _ in range(PARTS):
            value = load_part(reader.wait(ahead).slot, PART).to(tl.float32)
            squares += value * value
            ahead = ahead.advance()
        rstd = tl.rsqrt(tl.sum(squares, axis=0) / cols + eps)

        target = out + row.to(tl.int64) * out_stride
        for part in range(PARTS):
            inside = part * PART + col < cols
            scale = tl.load(weight + part * PART + col, mask=inside, other=0.0).to(tl.float32)
            value = load_part(reader.wait(place).slot, PART).to(tl.float32)
            reader.release(place)
            place = place.advance()
            tl.store(target + part * PART + col, value * rstd * scale, mask=inside)


@tle2cuda.jit
def persistent_rms_norm(
    x,
    weight,
    out,
    claims,
    rows,
    cols,
    x_stride,
    out_stride,
    eps,
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
    reduce = (rms_norm_of_claimed, (pipe.reader(), weight, out, rows, cols, out_stride, eps, PART))
    tle.gpu.warp_specialize([reduce, fetch], [1])


@tle2cuda.jit
def rms_norm_of_packed_rows(
    x,
    weight,
    out,
    claims,
    rows,
    cols,
    x_stride,
    out_stride,
    eps,
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
    scales = tle.gpu.alloc([PARTS, PART], dtype=weight.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="claimed", part=ring, number=numbers)
    fetch = (fetch_claimed_rows, (pipe.writer(), x, claims, rows, cols, x_stride, PART, PARTS, WIDTH, CLAIM))
    reduce = (
        rms_norm_packed,
        (pipe.reader(), scales, weight, out, rows, cols, out_stride, eps, PART, PARTS, THREADS, VECTOR),
    )
    if REGISTERS:
        tle.gpu.warp_specialize([reduce, fetch], [1], [REGISTERS])
    else:
        tle.gpu.warp_specialize([reduce, fetch], [1])


@tle2cuda.jit
def rms_norm_of_parts(
    x,
    weight,
    out,
    rows,
    cols,
    x_stride,
    out_stride,
    eps,
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
    reduce = (rms_norm_in_parts, (pipe.reader(), weight, out, rows, cols, out_stride, eps, PART, PARTS))
    tle.gpu.warp_specialize([reduce, fetch], [1])


KERNELS = {
    "ring": persistent_rms_norm,
    "packed": rms_norm_of_packed_rows,
    "parts": rms_norm_of_parts,
    "ahead": rms_norm_ahead,
}


def default_form(cols: int, itemsize: int, weight_itemsize: int | None = None) -> str:
    """The form for rows of `cols` elements, as measured on an H200.

    "ring" up to 32 KiB, then "packed" up to 128 KiB, and "parts" for what "packed" does not suit: rows that are no whole
    panels, which take a request for every 256 elements there, and weights that do not fit beside a row.
    """
    row_bytes = power_of_two(cols) * itemsize
    if row_bytes <= RING_ROW_BYTES:
        return "ring"
    weights_bytes = power_of_two(cols) * (weight_itemsize or itemsize)
    fits = row_bytes <= PACKED_BYTES and weights_bytes <= PACKED_BYTES
    return "packed" if fits and cols % PANEL == 0 else "parts"


def persistent_rms_norm_rows(
    x: Any,
    weight: Any,
    out: Any,
    eps: float = 1e-5,
    *,
    form: str | None = None,
    stages: int | None = None,
    num_warps: int | None = None,
    ctas: int | None = None,
) -> Any:
    """Writes each row of `x`, divided by the root of its mean square and times `weight`, to `out`.

    Args:
        x: [rows, cols]; its rows begin at multiples of 16 bytes and fit into shared memory, 208 KiB.
        weight: [cols].
        out: Like `x`.
        eps: Added to the mean square.
        form: How rows arrive, one of `kernels.persistent_rows.FORMS`; left out: that of `default_form`.
        stages: Parts of 16 KiB, or rows, that the ring holds.
        num_warps: Warps that reduce a row.
        ctas: CTAs of a multiprocessor.

    Raises:
        ValueError: The arrays do not fit each other, TMA or shared memory.
    """
    form = form or default_form(x.shape[1], x.itemsize, weight.itemsize)
    weights_bytes = power_of_two(x.shape[1]) * weight.itemsize
    options = {"form": form, "stages": stages, "num_warps": num_warps, "ctas": ctas, "beside_bytes": weights_bytes}
    plan, grid = prepare(x, out, options)
    rows, cols = x.shape
    if tuple(weight.shape) != (cols,):
        raise ValueError(f"expected {cols} weights, got shape {tuple(weight.shape)}")
    strides = row_stride(x), row_stride(out)
    if rows == 0:
        return out
    claims = (claims_for(x),) if plan.claim else ()
    kernel = KERNELS[plan.form]
    kernel[(grid,)](x, weight, out, *claims, rows, cols, *strides, eps, **plan.constants(), **plan.options())
    return out


def rms_norm_reference(x: NDArray[Any], weight: NDArray[Any], eps: float = 1e-5) -> NDArray[Any]:
    """The same in NumPy, computed in float64."""
    wide = x.astype(np.float64)
    rstd = 1.0 / np.sqrt((wide * wide).mean(axis=1) + eps)
    return (wide * rstd[:, None] * weight.astype(np.float64)).astype(x.dtype)
