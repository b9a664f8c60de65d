"""User combine functions of reductions and scans, and the NumPy meaning of combining along an axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidType, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Region, Value
from tle2cuda.ir.types import BF16, BOOL, DType
from tle2cuda.ops import arithmetic, core, extrema
from tle2cuda.ops.core import call_function, dims_text, fact, is_literal, tensor, to_tensor, unwrap
from tle2cuda.ops.numerics import Array, as_values, widen

_KNOWN = {
    arithmetic.add: "sum",
    arithmetic.mul: "prod",
    extrema.maximum: "max",
    extrema.minimum: "min",
}


def known_kind(function: Any, inputs: Sequence[tensor]) -> str | None:
    """The built-in kind a combine function stands for: language functions of ours only, types they keep."""
    function = unwrap(function)
    if len(inputs) != 1 or not core.is_builtin(function):
        return None
    element = inputs[0].element
    if element in (BF16, BOOL) or not isinstance(element, DType) or element.is_fp8():
        return None
    return _KNOWN.get(function)


def tile_operands(input: Any, what: str) -> tuple[tensor, ...]:
    """The tile, or the tuple of tiles of one shape, that a reduction or scan works on.

    Raises:
        InvalidType: A scalar or a pointer.
        ShapeMismatch: The tiles differ in shape.
    """
    given = unwrap(input)
    operands = tuple(to_tensor(x) for x in (given if isinstance(given, (tuple, list)) else (given,)))
    if not operands:
        raise InvalidType(f"{what} needs at least one tile")
    for operand in operands:
        if operand.is_pointer or not operand.dims:
            raise InvalidType(f"{what} takes tiles, got {core.describe_type(operand)}", facts=(fact("input", operand),))
        if operand.dims != operands[0].dims:
            raise ShapeMismatch(
                f"{what}: the tiles differ in shape, {dims_text(operands[0].dims)} and {dims_text(operand.dims)}",
                facts=tuple(fact(f"input {i}", x) for i, x in enumerate(operands)),
            )
    return operands


def combine_region(function: Any, inputs: Sequence[tensor], what: str) -> Region:
    """Traces a combine function on scalars (a..., b...) and returns its region.

    Raises:
        InvalidType: It returns another number of values.
        DTypeMismatch: It returns other types than it was given.
    """
    params = tuple(Value(x.element) for _ in range(2) for x in inputs)
    current = builder.current()
    with current.region() as ops:
        returned = unwrap_result(call_function(function, tuple(tensor(p) for p in params)))
        if len(returned) != len(inputs):
            raise InvalidType(
                f"{what}: the combine function must return {len(inputs)} value(s), it returned {len(returned)}"
            )
        results = []
        for x, value in zip(inputs, returned, strict=True):
            results.append(_checked_result(value, x, what).value)
        current.emit("yield", tuple(results))
    return Region(params, tuple(ops))


def _checked_result(value: Any, x: tensor, what: str) -> tensor:
    if is_literal(value):
        return core.cast(to_tensor(value), core.dtype_of(x))
    result = to_tensor(value)
    if result.element != x.element or result.dims:
        raise DTypeMismatch(
            f"{what}: the combine function must return {x.dtype.label} scalars as it is given, "
            f"it returned {core.describe_type(result)}",
            help=f"end it with .to(tl.{x.dtype.label})",
        )
    return result


def unwrap_result(returned: Any) -> tuple[Any, ...]:
    """What a function returned, as a tuple."""
    value = unwrap(returned) if isinstance(returned, core.constexpr) else returned
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


# -- NumPy ------------------------------------------------------------------------------------------

_UFUNCS: dict[tuple[str, str], np.ufunc] = {
    ("sum", ""): np.add,
    ("prod", ""): np.multiply,
    ("xor", ""): np.bitwise_xor,
    ("or", ""): np.bitwise_or,
    ("and", ""): np.bitwise_and,
    ("max", "ignore"): np.fmax,
    ("min", "ignore"): np.fmin,
    ("max", "propagate"): np.maximum,
    ("min", "propagate"): np.minimum,
}


def ufunc_of(kind: str, nan: str) -> np.ufunc:
    """The NumPy function that combines two values of this kind."""
    return _UFUNCS[kind, nan if kind in ("max", "min") else ""]


def accumulate_along(kind: str, nan: str, x: Any, dtype: DType, axis: int, scan: bool) -> Array:
    """Reduction or inclusive scan of a built-in kind; narrow floats accumulate in float32, rounded once."""
    function = ufunc_of(kind, nan)
    wide = widen(x, dtype)
    if dtype is BOOL and kind in ("sum", "prod"):
        function = np.logical_xor if kind == "sum" else np.logical_and
    with np.errstate(all="ignore"):
        if scan:
            return as_values(function.accumulate(wide, axis=axis, dtype=wide.dtype), dtype)
        return as_values(function.reduce(wide, axis=axis, dtype=wide.dtype), dtype)


Combine = Callable[[Sequence[Array]], Sequence[Any]]


def reduce_pairwise(combine: Combine, inputs: Sequence[Array], axis: int) -> tuple[Array, ...]:
    """Reduces along an axis whose extent is a power of two, always neighbours, so that order is kept."""
    values = tuple(np.moveaxis(x, axis, 0) for x in inputs)
    while values[0].shape[0] > 1:
        pairs = (*(x[0::2] for x in values), *(x[1::2] for x in values))
        values = tuple(np.asarray(x) for x in combine(pairs))
    return tuple(x[0] for x in values)


def scan_by_doubling(combine: Combine, inputs: Sequence[Array], axis: int, reverse: bool) -> tuple[Array, ...]:
    """Inclusive scan along an axis with an associative function, in log2 of the extent steps."""
    values = tuple(np.moveaxis(x, axis, 0) for x in inputs)
    if reverse:
        values = tuple(x[::-1] for x in values)
    distance, extent = 1, values[0].shape[0]
    while distance < extent:
        pairs = (*(x[:-distance] for x in values), *(x[distance:] for x in values))
        tails = combine(pairs)
        values = tuple(np.concatenate([x[:distance], np.asarray(tail)]) for x, tail in zip(values, tails, strict=True))
        distance *= 2
    if reverse:
        values = tuple(x[::-1] for x in values)
    return tuple(np.moveaxis(x, 0, axis) for x in values)
