"""Where tiles lie: what each kernel moves from thread to thread."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.compiler import trace_specialized
from tle2cuda.ir.nodes import Op, walk
from tle2cuda.ir.types import TileType
from tle2cuda.passes import pipeline
from tle2cuda.runtime.signature import parse_signature


@tle2cuda.jit
def ragged_sums(x, lengths, out, n, ROWS: tl.constexpr, COLS: tl.constexpr):
    row, col = tl.arange(0, ROWS), tl.arange(0, COLS)
    length = tl.load(lengths + row)
    total = tl.zeros((ROWS, COLS), tl.float32)
    for step in range(n):
        inside = step < length
        total += tl.load(x + step * ROWS * COLS + row[:, None] * COLS + col[None, :], mask=inside[:, None], other=0)
    tl.store(out + row[:, None] * COLS + col[None, :], total)


@tle2cuda.jit
def gathered_rows(x, at, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    row, col = tl.arange(0, ROWS), tl.arange(0, COLS)
    source = x + tl.load(at + row)[:, None] * COLS + col[None, :]
    tl.store(out + row[:, None] * COLS + col[None, :], tl.load(source))


@tle2cuda.jit
def nearest(x, codes, out, STEPS: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.reshape(tl.load(x + i), (1, N))
    low = tl.zeros((1, N), tl.int32)
    high = tl.full((1, N), 15, tl.int32)
    for _ in range(STEPS):
        middle = (low + high) // 2
        above = value > tl.load(codes + middle)
        low, high = tl.where(above, middle, low), tl.where(above, high, middle)
    tl.store(out + i, tl.reshape(low, (N,)))


@tle2cuda.jit
def shifted_sum(x, y, out, shift, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) + tl.load(y + shift + i))


@tle2cuda.jit
def sums_of_every_fourth(x, out, N: tl.constexpr, APART: tl.constexpr):
    i = tl.arange(0, N) * APART
    tl.store(out + i, tl.cumsum(tl.load(x + i), 0))


@tle2cuda.jit
def products_of_rows(x, y, at, out, n, stride, N: tl.constexpr):
    i = tl.arange(0, N)
    rows = tl.load(at + i)
    is_real = rows < n
    a_ptrs = x + (rows // 8).to(tl.int64)[:, None] * stride + i[None, :]
    total = tl.zeros((N, N), tl.float32)
    for step in range(n):
        if step % 3 != 1:
            a = tl.load(a_ptrs, mask=is_real[:, None] & (i[None, :] < stride), other=0.0)
            total = tl.dot(a, tl.load(y + i[:, None] * N + i[None, :]), total)
    tl.store(out + rows.to(tl.int64)[:, None] * stride + i[None, :], total.to(tl.float16), mask=is_real[:, None])


@tle2cuda.jit
def divided_products(x, y, scales, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i[:, None] * N + i[None, :])
    total = tl.zeros([N, N], tl.float32)
    for step in range(n):
        b = tl.load(y + step * N * N + i[:, None] * N + i[None, :])
        scale = tl.load(scales + step * N + i)
        product = tl.dot(a, b) / (scale[:, None] + 1.0)
        total += tl.dot(tl.trans(product.to(tl.float16)), (a / (scale[:, None] + 1.0)).to(tl.float16))
    tl.store(out + i[:, None] * N + i[None, :], total)


@tle2cuda.jit
def same_sequence(x, sequence, out, n, N: tl.constexpr, STEPS: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros([N, N], tl.float32)
    for step in tl.static_range(STEPS):
        same = tl.load(sequence + i + step) == n
        total += tl.load(x + (i[:, None] + step) * n + i[None, :], mask=same[:, None], other=0.0)
    tl.store(out + i[:, None] * N + i[None, :], total)


@tle2cuda.jit
def transposed(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], tl.load(x + i[:, None] * N + i[None, :]).trans(1, 0))


def laid_out(kernel, signature: str, constants: dict[str, object], num_warps: int = 4) -> list[Op]:
    """The operations of a kernel after all passes."""
    specialization = parse_signature(kernel.parameters, signature, constants, "kernel")
    traced = trace_specialized(kernel, specialization, num_warps=num_warps, arch="sm_90a")
    return list(walk(pipeline.run(traced, None)[0].body))


def conversions(ops: list[Op]) -> int:
    return sum(op.name == "convert_layout" for op in ops)


def test_few_row_numbers_are_loaded_where_their_rows_are():
    for kernel, signature in (
        (gathered_rows, "*bf16:16, *i32:16, *bf16:16"),
        (ragged_sums, "*fp32:16, *i32:16, *fp32:16, i32"),
    ):
        ops = laid_out(kernel, signature, {"ROWS": 64, "COLS": 64})
        assert conversions(ops) == 0
        rows = [op for op in ops if op.name == "load" and op.result.type.shape[0] == 64 and len(op.result.type.shape) == 1]
        assert [op.result.type.layout.num_registers for op in rows] == [4 if kernel is gathered_rows else 8]


def test_masks_of_rows_are_made_of_numbers_that_are_loaded_once_more():
    ops = laid_out(same_sequence, "*fp32, *i32:16, *fp32:16, i32", {"N": 64, "STEPS": 2})
    masks = [op.result for op in ops if op.name == "load" and op.result.type.shape == (64,)]
    assert [mask.type.layout.num_registers for mask in masks] == [32] * 2
    assert conversions(ops) == 0


def test_many_masks_of_rows_are_moved_as_their_numbers_would_fill_the_registers():
    ops = laid_out(same_sequence, "*fp32, *i32:16, *fp32:16, i32", {"N": 64, "STEPS": 3})
    masks = [op.result for op in ops if op.name == "load" and op.result.type.shape == (64,)]
    assert [mask.type.layout.num_registers for mask in masks] == [1] * 3
    assert conversions(ops) == 3


def test_tiles_too_large_for_shared_memory_are_stored_where_they_are():
    for size, count in ((128, 1), (256, 0)):
        ops = laid_out(transposed, "*fp32:16, *fp32:16", {"N": size})
        assert conversions(ops) == count, size


def test_row_factors_that_a_ring_brings_are_not_loaded_again():
    ops = laid_out(divided_products, "*fp16:16, *fp16:16, *fp32:16, *fp32:16, i32", {"N": 64})
    assert sum(op.name == "load" and op.result.type.shape == (64,) for op in ops) == 1


def test_many_row_numbers_are_moved_but_not_in_the_loop():
    ops = laid_out(ragged_sums, "*fp32:16, *i32:16, *fp32:16, i32", {"ROWS": 256, "COLS": 16})
    (loop,) = (op for op in ops if op.name == "for")
    assert conversions(ops) == 1
    assert conversions(list(walk(loop.regions[0]))) == 0


def test_a_reshaped_tile_stays_where_it_was_though_it_leads_to_scattered_loads():
    ops = laid_out(nearest, "*fp32:16, *fp32:16, *i32:16", {"STEPS": 4, "N": 256})
    assert conversions(ops) == 0
    layouts = {op.result.type.layout.vector() for op in ops if op.name == "load" and isinstance(op.result.type, TileType)}
    assert {width for _, width in layouts} == {2}


def test_a_load_without_alignment_leaves_out_few_bytes_rather_than_move_them():
    signature = "*fp16:16, *fp16:16, *fp16:16, i32"
    assert conversions(laid_out(shifted_sum, signature, {"N": 512})) == 0  # 8 bytes between lanes
    assert conversions(laid_out(shifted_sum, signature, {"N": 1024})) > 0  # 16


def test_a_scan_of_what_lies_apart_in_memory_has_neighbours_in_lanes():
    for size, apart, first_lane in ((512, 4, 1), (512, 1, 4), (4096, 4, 32)):
        ops = laid_out(sums_of_every_fourth, "*fp32:16, *fp32:16", {"N": size, "APART": apart})
        assert conversions(ops) == 0
        (scan,) = (op for op in ops if op.name == "scan")
        assert scan.result.type.layout.lanes[0] == (first_lane,)


def test_what_a_loop_does_not_change_is_moved_in_front_of_it_though_a_branch_of_the_loop_wants_it():
    constants = {"N": 64}
    ops = laid_out(products_of_rows, "*fp16:16, *fp16:16, *i32:16, *fp16:16, i32, i32:16", constants)
    in_loop = [op for loop in ops if loop.name == "for" for region in loop.regions for op in walk(region)]
    assert conversions(ops) and not conversions(in_loop)
