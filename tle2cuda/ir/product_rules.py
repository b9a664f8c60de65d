"""Result rules of matrix products: of whole tiles, by `wgmma`, and of sums in tensor memory."""

from __future__ import annotations

from collections.abc import Sequence

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.rules import expect, need, same_layout, value_operands
from tle2cuda.ir.types import (
    F16,
    F32,
    F64,
    I8,
    I32,
    BarrierType,
    BufferType,
    TileType,
    Type,
    element_of,
    shape_of,
)
from tle2cuda.layout import BYTES_OF_STEP, SCALES_OF_STEP, TENSOR_COLUMNS


def check_dot(op: Op) -> None:
    """Inner extents and batch axes agree; the accumulator's dtype is one that sums of the operands' may have."""
    a, b, acc, *scales = (v.type for v in value_operands(op))
    first, second = shape_of(a), shape_of(b)
    need(len(first) == len(second) >= 2, f"{a} and {b} differ in rank or have less than 2 axes")
    need(first[:-2] == second[:-2] and first[-1] == second[-2], f"{a} and {b} do not fit together")
    _scales(op, scales, first, second)
    wanted = (*first[:-1], second[-1])
    need(shape_of(acc) == wanted, f"the accumulator is {acc}, not of shape {list(wanted)}")
    element = element_of(a)
    sums = (I32,) if element is I8 else (F64,) if element is F64 else (F32, F16)
    need(element_of(acc) in sums, f"the accumulator is {acc} for operands of {element}")
    staged = any(isinstance(type_, BufferType) for type_ in (a, b))
    need(not staged or bool(op.attrs.get("instruction")), "only instructions of tensor cores read buffers")
    expect(op, acc)
    same_layout(op, (value_operands(op)[2], *op.results))


def _scales(op: Op, scales: Sequence[Type], a: Sequence[int], b: Sequence[int]) -> None:
    """Those of both operands: whole rows and groups, perhaps repeated."""
    formats = op.attrs.get("formats")
    need(len(scales) == (2 if formats else 0), f"{len(scales)} operands are scales")
    for scale, rows in zip(scales, (a[0], b[-1]), strict=False):
        groups = a[-1] * SCALES_OF_STEP[str(formats)] // BYTES_OF_STEP
        shape = shape_of(scale)
        fits = len(a) == len(shape) == 2 and shape[0] % rows == 0 and groups > 0 and shape[1] % groups == 0
        need(fits, f"scales {scale} do not fit {rows} rows of {groups} groups")


def check_tensor_alloc(op: Op) -> None:
    """A buffer for sums in tensor memory."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, BufferType), "its result is no buffer")
    buffer = op.results[0].type
    assert isinstance(buffer, BufferType)
    need(buffer.storage == "tensor" and not buffer.remote, f"{buffer} is not one in tensor memory")
    need(op.attrs["column"] + op.attrs["columns"] <= TENSOR_COLUMNS, f"tensor memory has {TENSOR_COLUMNS} columns")


def check_tensor_product(op: Op) -> None:
    """Extents agree; sums are of the dtype that those of the operands have, in tensor memory."""
    a, b, sums = (v.type for v in op.operands[:3])
    first, second = shape_of(a), shape_of(b)
    need(len(first) == len(second) >= 2, f"{a} and {b} differ in rank or have less than 2 axes")
    need(first[:-2] == second[:-2] and first[-1] == second[-2], f"{a} and {b} do not fit together")
    _in_tensor_memory(sums)
    need(shape_of(sums) == (*first[:-1], second[-1]), f"the sums are {sums}, not of shape {[*first[:-1], second[-1]]}")
    need(element_of(sums) is (I32 if element_of(a) is I8 else F32), f"the sums are {sums} for operands {a}")
    _barriers_of_products(op.operands[4].type, 2 if op.attrs.get("pending") else 1)
    if scales := [v.type for v in op.operands[5:]]:
        need(len(scales) == 3, "scales of both operands, and columns for them")
        _scales(op, scales[:2], first, second)
        _in_tensor_memory(scales[2])
    expect(op)


def check_tensor_wait(op: Op) -> None:
    """Products that are in flight behind each other complete on two barriers in turn."""
    _barriers_of_products(op.operands[0].type, 2)
    expect(op)


def _barriers_of_products(type_: Type, count: int) -> None:
    need(isinstance(type_, BarrierType) and type_.count == count, f"its barriers are {type_}, not {count} of them")


def check_tensor_load(op: Op) -> None:
    """A tile of the buffer's shape and dtype."""
    buffer = op.operands[0].type
    _in_tensor_memory(buffer)
    need(len(op.operands) <= 2, "it takes a buffer and perhaps a condition")
    expect(op, TileType(shape_of(buffer), element_of(buffer)))


def _in_tensor_memory(type_: Type) -> None:
    need(isinstance(type_, BufferType) and type_.storage == "tensor", f"{type_} is not in tensor memory")


def check_wgmma(op: Op) -> None:
    """Extents after transposition agree; the accumulator's dtype is one that sums of the operands' may have."""
    a, b, acc = (v.type for v in op.operands)
    turns = (op.attrs["trans_a"], op.attrs["trans_b"])
    first, second = (shape_of(x)[::-1] if turned else shape_of(x) for x, turned in zip((a, b), turns, strict=True))
    need(len(first) == len(second) == 2 and first[1] == second[0], f"{a} and {b} do not fit together")
    need(shape_of(acc) == (first[0], second[1]), f"the accumulator is {acc}, not of shape {[first[0], second[1]]}")
    sums = (I32,) if element_of(a) is I8 else (F32, F16)
    need(element_of(acc) in sums, f"the accumulator is {acc} for operands of {element_of(a)}")
    expect(op, acc)
    same_layout(op, (op.operands[2], *op.results))


def check_wgmma_wait(op: Op) -> None:
    """The product, where it lies."""
    expect(op, op.operands[0].type)
    same_layout(op, (op.operands[0], *op.results))
