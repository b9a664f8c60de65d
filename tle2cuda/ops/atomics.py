"""Atomic read-modify-write and compare-and-swap on global, shared and cluster memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, BOOL, CLUSTER, F16, F32, F64, SHARED, DType, PointerType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import pointee
from tle2cuda.ops.core import (
    builtin,
    constant,
    dtype_from_ir,
    emit_value,
    fact,
    meaning,
    static_value,
    tensor,
    tensor_member,
)
from tle2cuda.ops.histogram import mask_operand
from tle2cuda.ops.memory import optional_mask, pointer_operand, value_operand

SEMANTICS = ("acq_rel", "acquire", "release", "relaxed")
SCOPES = ("gpu", "cta", "sys")


def _ordering(sem: Any, scope: Any, pointer: tensor, what: str) -> dict[str, Any]:
    """Memory order and scope. Shared memory is the CTA's; ``cta`` on a peer's means the cluster."""
    order = static_value(sem, f"{what}: sem")
    reach = static_value(scope, f"{what}: scope")
    if order is None:
        order = "acq_rel"
    if reach is None:
        reach = "gpu"
    for name, value, allowed in (("sem", order, SEMANTICS), ("scope", reach, SCOPES)):
        if value not in allowed:
            known = ", ".join(repr(choice) for choice in allowed)
            raise InvalidArgument(f"{what}: {name} must be one of {known}, got {value!r}")
    space = pointer.element.space if isinstance(pointer.element, PointerType) else ""
    if space == SHARED:
        reach = "cta"
    elif space == CLUSTER and reach == "cta":
        reach = "cluster"
    return {"sem": order, "scope": reach}


_FLOATS: Mapping[str, tuple[DType, ...]] = {
    "add": (F16, BF16, F32, F64),
    "max": (F32, F64),
    "min": (F32, F64),
    "xchg": (F32, F64),
}


def works_on(kind: str, dtype: DType) -> bool:
    """Whether there are atomics of a kind on a dtype."""
    return (dtype.is_int() and dtype.bits >= 32) or dtype in _FLOATS.get(kind, ())


def check_dtype(kind: str, dtype: DType, pointer: tensor, what: str) -> None:
    """Raises unless there are atomics of a kind on a dtype."""
    if not works_on(kind, dtype):
        allowed = ", ".join([*(d.label for d in _FLOATS.get(kind, ())), "int32, uint32, int64, uint64"])
        raise DTypeMismatch(f"{what} works on {allowed}, not on {dtype.label}", facts=(fact("pointer", pointer),))


def _rmw(kind: str, pointer: Any, val: Any, mask: Any, sem: Any, scope: Any) -> tensor:
    what = f"tl.atomic_{kind}"
    address = pointer_operand(pointer, what)
    dtype = pointee(address)
    check_dtype(kind, dtype, address, what)
    attrs = _ordering(sem, scope, address, what)
    value = value_operand(val, dtype, address.dims, "val", what)
    condition = optional_mask(mask)
    enabled = None if condition is None else mask_operand(condition, address.dims, what)
    if dtype.is_floating() and kind in ("max", "min"):
        return _float_extremum(kind, address, value, enabled, attrs)
    return _emit_rmw(kind, address, value, enabled, attrs)


def update(kind: str, address: tensor, value: tensor, mask: tensor, what: str) -> None:
    """An atomic on addresses that are known to fit `value` and `mask`; the old values are not wanted."""
    check_dtype(kind, pointee(address), address, what)
    attrs: dict[str, Any] = {"sem": "relaxed", "scope": "gpu"}
    if pointee(address).is_floating() and kind in ("max", "min"):
        _float_extremum(kind, address, value, mask, attrs)
    else:
        _emit_rmw(kind, address, value, mask, attrs)


def exchange(address: tensor, value: tensor, mask: Any, sem: str, scope: Any, what: str) -> tensor:
    """`atomic_xchg` of unsigned words of any width from 16 bits on, the value and the pointers already converted."""
    condition = optional_mask(mask)
    enabled = None if condition is None else mask_operand(condition, address.dims, what)
    return _emit_rmw("xchg", address, value, enabled, _ordering(sem, scope, address, what))


def unchanged(address: tensor, mask: Any, sem: str, scope: Any, what: str) -> tensor:
    """What atomics read that change nothing, of unsigned words of any width from 16 bits on; masked off: 0."""
    condition = optional_mask(mask)
    enabled = None if condition is None else mask_operand(condition, address.dims, what)
    zero = constant(0, pointee(address), address.dims)
    return _emit_rmw("or", address, zero, enabled, _ordering(sem, scope, address, what))


def _emit_rmw(kind: str, address: tensor, value: tensor, mask: tensor | None, attrs: dict[str, Any]) -> tensor:
    operands = (address, value) if mask is None else (address, value, mask)
    return emit_value(
        "atomic_rmw",
        operands,
        pointee(address),
        address.dims,
        {"kind": kind, "has_mask": mask is not None, **attrs},
    )


def _float_extremum(kind: str, address: tensor, value: tensor, mask: tensor | None, attrs: dict[str, Any]) -> tensor:
    """Float maximum by the order of bit patterns: signed for non-negative values, reversed unsigned else."""
    dtype = core.dtype_of(value)
    dims = value.dims
    signed, unsigned = DType(f"int{dtype.bits}"), DType(f"uint{dtype.bits}")
    assert isinstance(address.element, PointerType)
    space = address.element.space

    def at(element: DType) -> tensor:
        return core.cast(address, _pointer(element, space))

    bits = emit_value("bitcast", (value,), signed, dims)
    positive = emit_value("cmp", (bits, constant(0, signed, dims)), BOOL, dims, {"predicate": "ge"})
    negative = emit_value("xor", (positive, constant(True, BOOL, dims)), BOOL, dims)
    for_positive, for_negative = positive, negative
    if mask is not None:
        for_positive = emit_value("and", (positive, mask), BOOL, dims)
        for_negative = emit_value("and", (negative, mask), BOOL, dims)
    opposite = "min" if kind == "max" else "max"
    of_positive = _emit_rmw(kind, at(signed), bits, for_positive, attrs)
    raw = emit_value("bitcast", (value,), unsigned, dims)
    of_negative = _emit_rmw(opposite, at(unsigned), raw, for_negative, attrs)
    as_signed = emit_value("bitcast", (of_negative,), signed, dims)
    old = emit_value("select", (positive, of_positive, as_signed), signed, dims)
    return emit_value("bitcast", (old,), dtype, dims)


def _pointer(element: DType, space: str) -> core.pointer_type:
    pointer = dtype_from_ir(PointerType(element, space))
    assert isinstance(pointer, core.pointer_type)
    return pointer


_DOCSTRING = """{summary} and returns the old values.

Each element is done exactly once; a scalar once per CTA, its result the same in all threads.

Args:
    pointer: Pointer, or tile of pointers, to {dtypes}.
    val: Converted to the pointee dtype and broadcast to the pointer's shape.
    mask: bool, broadcast to the pointer's shape. Masked-off elements are not touched and return 0.
    sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (default).
    scope: ``"cta"``, ``"gpu"`` (default) or ``"sys"``. On shared memory every scope is the CTA; ``"cta"`` on
        a peer's shared memory is the cluster.

Returns:
    Old values, in the pointee dtype and the pointer's shape.

Raises:
    InvalidType: `pointer` is no pointer.
    DTypeMismatch: A pointee dtype without this atomic, or a mask that is not bool.
    ShapeMismatch: `val` or `mask` does not fit the pointer's shape.
    InvalidArgument: Another `sem` or `scope`.

Example:
    ``{example}``
"""


def _define(kind: str, summary: str, dtypes: str, example: str) -> Any:
    @builtin
    def function(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
        return _rmw(kind, pointer, val, mask, sem, scope)

    function.__name__ = function.__qualname__ = f"atomic_{kind}"
    function.__doc__ = _DOCSTRING.format(summary=summary, dtypes=dtypes, example=example)
    return tensor_member(function)


_INTEGERS = "32- or 64-bit integers"
atomic_add = _define(
    "add",
    "Adds",
    f"float16, bfloat16, float32, float64, {_INTEGERS}",
    'rank = tl.atomic_add(counts + expert, 1, mask=ok, sem="relaxed")',
)
atomic_max = _define(
    "max",
    "Takes the maximum (of floats by the order of their bit patterns, so NaN counts as largest)",
    f"float32, float64, {_INTEGERS}",
    "tl.atomic_max(largest, x)",
)
atomic_min = _define(
    "min",
    "Takes the minimum (of floats by the order of their bit patterns)",
    f"float32, float64, {_INTEGERS}",
    "tl.atomic_min(smallest, x)",
)
atomic_and = _define("and", "Takes the bitwise and", _INTEGERS, "tl.atomic_and(flags, ~1)")
atomic_or = _define("or", "Takes the bitwise or", _INTEGERS, "tl.atomic_or(flags, 1 << bit)")
atomic_xor = _define("xor", "Takes the exclusive or", _INTEGERS, "tl.atomic_xor(parity, bits)")
atomic_xchg = _define("xchg", "Stores", f"float32, float64, {_INTEGERS}", 'tl.atomic_xchg(lock, 0, sem="release")')


@builtin
@tensor_member
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> tensor:
    """Stores `val` where memory equals `cmp`, bit for bit, and returns the old values.

    Args:
        pointer: Pointer, or tile of pointers, to elements of 16, 32 or 64 bits.
        cmp: Expected values, converted to the pointee dtype.
        val: New values, converted to the pointee dtype.
        sem: ``"relaxed"``, ``"acquire"``, ``"release"`` or ``"acq_rel"`` (default).
        scope: ``"cta"``, ``"gpu"`` (default) or ``"sys"``; see `atomic_add`.

    Returns:
        Old values, in the pointee dtype and the pointer's shape.

    Raises:
        InvalidType: `pointer` is no pointer.
        DTypeMismatch: Elements of another width.
        ShapeMismatch: `cmp` or `val` does not fit the pointer's shape.
        InvalidArgument: Another `sem` or `scope`.

    Example:
        ``while tl.atomic_cas(lock, 0, 1) == 1: pass``
    """
    what = "tl.atomic_cas"
    address = pointer_operand(pointer, what)
    dtype = pointee(address)
    if dtype.bits not in (16, 32, 64):
        raise DTypeMismatch(
            f"{what} works on elements of 16, 32 or 64 bits, not on {dtype.label}",
            facts=(fact("pointer", address),),
        )
    attrs = _ordering(sem, scope, address, what)
    expected = value_operand(cmp, dtype, address.dims, "cmp", what)
    desired = value_operand(val, dtype, address.dims, "val", what)
    return emit_value("atomic_cas", (address, expected, desired), dtype, address.dims, attrs)


# -- meanings ---------------------------------------------------------------------------------------


@meaning("atomic_rmw")
def _atomic_rmw(ctx: Any, op: Op, pointers: Any, values: Any, mask: Any = None, *_scratch: Any) -> Any:
    enabled = mask if op.attrs.get("has_mask") else None
    return ctx.memory.atomic_rmw(op, op.attrs["kind"], pointers, values, enabled)


@meaning("atomic_cas")
def _atomic_cas(ctx: Any, op: Op, pointers: Any, expected: Any, desired: Any, *_scratch: Any) -> Any:
    return ctx.memory.atomic_cas(op, pointers, expected, desired)
