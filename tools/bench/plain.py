"""Kernels without any of TLE's words: what Triton has to set against the asynchronous ones, compiled by either."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@tle2cuda.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@tle2cuda.jit
def row_sums(x, totals, cols, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    partial = tl.zeros([BLOCK], tl.float32)
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        partial += tl.load(x + row.to(tl.int64) * x_stride + col, mask=col < cols, other=0.0).to(tl.float32)
    tl.store(totals + row, tl.sum(partial, axis=0))


@tle2cuda.jit
def row_sums_and_peaks(x, totals, peaks, cols, x_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    partial = tl.zeros([BLOCK], tl.float32)
    highest = tl.full([BLOCK], -float("inf"), tl.float32)
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        value = tl.load(x + row.to(tl.int64) * x_stride + col, mask=col < cols, other=0.0).to(tl.float32)
        partial += value
        highest = tl.maximum(highest, tl.where(col < cols, value, -float("inf")))
    tl.store(totals + row, tl.sum(partial, axis=0))
    tl.store(peaks + row, tl.max(highest, axis=0))


@tle2cuda.jit
def gather_scale(table, index, scale, out, rows, cols, table_stride, out_stride, BLOCK: tl.constexpr):
    place = tl.program_id(0)
    row = tl.load(index + place)
    factor = tl.load(scale + place)
    exists = (row >= 0) & (row < rows)
    for first in range(0, cols, BLOCK):
        col = first + tl.arange(0, BLOCK)
        value = tl.load(table + row.to(tl.int64) * table_stride + col, mask=(col < cols) & exists, other=0.0)
        tl.store(out + place.to(tl.int64) * out_stride + col, value.to(tl.float32) * factor, mask=col < cols)


@tle2cuda.jit
def rms_norm(x, weight, out, row_stride, cols, eps, BLOCK: tl.constexpr):
    row_start = tl.program_id(0).to(tl.int64) * row_stride
    col = tl.arange(0, BLOCK)
    value = tl.load(x + row_start + col, mask=col < cols, other=0.0).to(tl.float32)
    rstd = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
    scale = tl.load(weight + col, mask=col < cols, other=0.0).to(tl.float32)
    tl.store(out + row_start + col, value * rstd * scale, mask=col < cols)


@tle2cuda.jit
def transpose(x, out, rows, cols, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    tile = tl.load(x + row.to(tl.int64)[:, None] * x_stride + col[None, :], mask=inside)
    turned = tl.trans(tile)
    target = out + col.to(tl.int64)[:, None] * out_stride + row[None, :]
    tl.store(target, turned, mask=(col < cols)[:, None] & (row < rows)[None, :])


@tle2cuda.jit
def histogram(values, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros([BINS], tl.int32)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = first + tl.arange(0, BLOCK)
        total += tl.histogram(tl.load(values + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(counts + tl.arange(0, BINS), total, mask=total > 0, sem="relaxed")
