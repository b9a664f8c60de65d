"""Conversions between dtypes: `tl.cast`, ``x.to(...)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F8E4B15, DType, PointerType, dtype_of, element_of
from tle2cuda.ops import core
from tle2cuda.ops.core import builtin, dtype_to_ir, emit_value, meaning, resolve_dtype, tensor, tensor_member
from tle2cuda.ops.custom_float8 import converted, float8e4b15_tensor, from_value
from tle2cuda.ops.numerics import convert, from_storage, storage_dtype, to_storage


@builtin
@tensor_member
def cast(input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`input` converted to another dtype.

    Float to a narrower float rounds to nearest even and overflows to infinity, except that float8
    saturates to the largest finite value. Float to integer truncates. What is out of range saturates
    at 32 and 64 bits, and narrower integers take the low bits of the conversion to int32; NaN gives 0, or the
    sign bit alone from float64 or to 64 bits. Integers wrap or extend by the signedness of the source. Anything to
    bool is ``!= 0``. Pointers convert to int64 and back, and to pointers to another dtype.

    Args:
        input: Tile, scalar or number.
        dtype: Target dtype, or a `tl.pointer_type`.
        fp_downcast_rounding: ``"rtne"`` or ``"rtz"``, only from a float to a narrower float.
        bitcast: Keep the bits instead of the value; the widths must agree.

    Raises:
        DTypeMismatch: The conversion does not exist, or a bitcast changes the width.
        InvalidArgument: `fp_downcast_rounding` without a narrowing float conversion.

    Example:
        ``bits = tl.cast(x, tl.uint32, bitcast=True)``
    """
    keeps_bits = core.static_bool(bitcast, "tl.cast: bitcast")
    if isinstance(input, float8e4b15_tensor):
        return converted(input, dtype, keeps_bits)
    x = core.to_tensor(input)
    if core.unwrap(dtype) is F8E4B15:
        return from_value(x, keeps_bits)
    target = resolve_dtype(dtype, "tl.cast")
    rounding = core.static_value(fp_downcast_rounding, "tl.cast: fp_downcast_rounding")
    if keeps_bits:
        return _bitcast(x, target)
    if rounding is None or x.element == dtype_to_ir(target):
        return core.cast(x, target)
    if rounding not in ("rtne", "rtz"):
        raise InvalidArgument(f"tl.cast: fp_downcast_rounding must be 'rtne' or 'rtz', got {rounding!r}")
    source = x.element
    narrowing = (
        isinstance(source, DType)
        and isinstance(target, DType)
        and source.is_floating()
        and target.is_floating()
        and source.bits > target.bits
    )
    if not narrowing:
        raise InvalidArgument(
            "tl.cast: fp_downcast_rounding applies only from a float to a narrower float, "
            f"not from {x.dtype.label} to {target.label}"
        )
    return core.cast(x, target, rounding)


@builtin
def to(self: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`tl.cast` as a method: ``x.to(tl.float16)``.

    Args:
        self: Tile or scalar.
        dtype: Target dtype, or a `tl.pointer_type`.
        fp_downcast_rounding: ``"rtne"`` or ``"rtz"``, only from a float to a narrower float.
        bitcast: Keep the bits instead of the value.

    Raises:
        DTypeMismatch: As `tl.cast`.

    Example:
        ``row = tl.program_id(0).to(tl.int64)``
    """
    return cast(self, dtype, fp_downcast_rounding, bitcast)


tensor_member(to)


def _bitcast(x: tensor, target: DType | core.pointer_type) -> tensor:
    element = dtype_to_ir(target)
    source = x.element
    if source == element:
        return x
    if isinstance(source, PointerType) or isinstance(element, PointerType):
        return core.cast(x, target)
    if source.bits != element.bits:
        raise DTypeMismatch(
            f"tl.cast: a bitcast keeps the width, "
            f"but {source.label} has {source.bits} bits and {element.label} {element.bits}",
            facts=(core.fact("operand", x),),
        )
    return emit_value("bitcast", (x,), element, x.dims)


@meaning("cast")
def _cast(ctx: Any, op: Op, x: Any) -> Any:
    source, target = dtype_of(op.operands[0].type), dtype_of(op.result.type)
    return convert(x, source, target, op.attrs.get("rounding", "rtne"))


@meaning("bitcast")
def _bitcast_meaning(ctx: Any, op: Op, x: Any) -> Any:
    source, target = element_of(op.operands[0].type), element_of(op.result.type)
    if isinstance(source, PointerType) and isinstance(target, PointerType):
        return x
    if isinstance(source, PointerType):
        return ctx.memory.pointer_to_integer(op, x, storage_dtype(dtype_of(op.result.type)))
    if isinstance(target, PointerType):
        return ctx.memory.pointer_from_integer(x)
    stored = to_storage(np.asarray(x), source)
    return from_storage(stored.view(storage_dtype(target)), target)
