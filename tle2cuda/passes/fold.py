"""Simplification of single operations: constant folding and identities, exact for every input.

`simplify` looks at an operation whose operands are already simplified and says what may stand in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tle2cuda.ir.classify import ELEMENTWISE, OPPOSITE_PREDICATE
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.types import BOOL, DType, TileType, Type, element_of, is_pointer
from tle2cuda.passes.fold_tiles import TILE_RULES

EXACT_MATH = frozenset(("abs", "floor", "ceil", "trunc", "rint", "sqrt_rn"))
"""Functions every implementation rounds alike, so that the host may evaluate them."""
FOLDABLE = ELEMENTWISE - {"ptr_add", "hint", "libdevice", "philox", "asm"}

Replacement = Value | Op | None
"""An existing value, an operation to put in place, or None: nothing better is known."""


class Facts:
    """What is known about values: the operation that defines each."""

    def __init__(self) -> None:
        self.definitions: dict[Value, Op] = {}

    def definition(self, value: Value, name: str) -> Op | None:
        """The operation that defines a value if it is a `name`."""
        op = self.definitions.get(value)
        return op if op is not None and op.name == name else None

    def constant(self, value: Value) -> Any:
        """The number a scalar, or every element of a tile, is known to be; None when it is not."""
        op = self.definitions.get(value)
        if op is not None and op.name == "splat":
            op = self.definitions.get(op.operands[0])
        return op.attrs["value"] if op is not None and op.name == "constant" else None

    def uniform(self, value: Value) -> bool:
        """Whether a tile holds one value in all elements."""
        op = self.definitions.get(value)
        return op is not None and op.name in ("splat", "constant")


def constant_op(value: Any, type_: Type, like: Op) -> Op:
    """A constant in place of `like`, under its name."""
    name = like.results[0].name if like.results else ""
    return make_op("constant", (), (type_,), {"value": value}, span=like.span, names=(name,))


def simplify(op: Op, facts: Facts) -> Replacement:
    """What may replace an operation with one result, of exactly its type; None when nothing is better."""
    if len(op.results) != 1:
        return None
    folded = _fold(op, facts)
    if folded is not None:
        return folded
    rule = _RULES.get(op.name)
    found = rule(op, facts) if rule is not None else None
    if isinstance(found, Value) and found.type != op.results[0].type:
        return None  # Another layout: not the same value.
    if isinstance(found, Op) and found.name in ELEMENTWISE:
        layouts = {v.type.layout for v in found.operands if isinstance(v.type, TileType)}
        if layouts - {getattr(found.results[0].type, "layout", None)}:
            return None
    return found


# Constant folding --------------------------------------------------------------------------------


def _fold(op: Op, facts: Facts) -> Op | None:
    """The constant an operation on constants gives, computed by its NumPy meaning."""
    values = (*op.operands, *op.results)
    if op.name not in FOLDABLE or any(is_pointer(value.type) for value in values):
        return None
    if op.name == "math" and op.attrs["fn"] not in EXACT_MATH:
        return None
    numbers = [facts.constant(v) for v in op.operands]
    if any(number is None for number in numbers):
        return None
    value = evaluate(op, numbers)
    if isinstance(value, float) and math.isnan(value):
        return None  # The bits of a NaN are the hardware's choice.
    return constant_op(value, op.results[0].type, op)


def evaluate(op: Op, numbers: Sequence[Any]) -> Any:
    """The Python number that an elementwise operation makes of numbers."""
    from tle2cuda.interpreter.compiler import load_meanings
    from tle2cuda.ops.numerics import as_values

    elements = [_dtype(v) for v in op.operands]
    result = _dtype(op.results[0])
    scalars = tuple(Value(element) for element in elements)
    scalar_op = Op(op.name, scalars, (Value(result),), op.attrs)
    inputs = [as_values(number, element)[()] for number, element in zip(numbers, elements, strict=True)]
    import numpy as np

    with np.errstate(all="ignore"):
        value = np.asarray(load_meanings()[op.name](None, scalar_op, *inputs))[()]
    if result.is_bool():
        return bool(value)
    return float(value) if result.is_floating() else int(value)


def _dtype(value: Value) -> DType:
    element = element_of(value.type)
    assert isinstance(element, DType)
    return element


# Identities --------------------------------------------------------------------------------------


def _zero(op: Op) -> Op:
    element = _dtype(op.results[0])
    value: Any = False if element.is_bool() else (0.0 if element.is_floating() else 0)
    return constant_op(value, op.results[0].type, op)


def _is_float(op: Op) -> bool:
    element = element_of(op.operands[0].type)
    return isinstance(element, DType) and element.is_floating()


def _add(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number is not None and number == 0:
            # x + 0.0 turns -0.0 into 0.0; x + -0.0 is always x.
            if not _is_float(op) or math.copysign(1.0, number) < 0:
                return x
    return None


def _sub(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    number = facts.constant(b)
    if _is_float(op):
        return a if number is not None and number == 0 and math.copysign(1.0, number) > 0 else None
    if number == 0:
        return a
    return _zero(op) if a is b else None


def _mul(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number == 1:
            return x
        if number is not None and number == 0 and not _is_float(op):
            return _zero(op)
    return None


def _div(op: Op, facts: Facts) -> Replacement:
    divisor = facts.constant(op.operands[1])
    if divisor == 0 and not _is_float(op):  # the hardware's quotient, which C++ leaves open
        return constant_op(_ones(_dtype(op.results[0])), op.results[0].type, op)
    return op.operands[0] if divisor == 1 else None


def _rem(op: Op, facts: Facts) -> Replacement:
    divisor = facts.constant(op.operands[1])
    if divisor == 0 and not _is_float(op):
        return op.operands[0]
    return _zero(op) if divisor == 1 else None


def _ones(dtype: DType) -> Any:
    if dtype.is_bool():
        return True
    return -1 if dtype.is_int_signed() else (1 << dtype.bits) - 1


def _and(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    if a is b:
        return a
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number is not None and number == 0:
            return _zero(op)
        if number is not None and number == _ones(_dtype(x)):
            return x
    return None


def _or(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    if a is b:
        return a
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number is not None and number == 0:
            return x
        if number is not None and number == _ones(_dtype(x)):
            return constant_op(number, op.results[0].type, op)
    return None


def _xor(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    if a is b:
        return _zero(op)
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number is not None and number == 0:
            return x
        if number is not None and number == _ones(_dtype(x)):
            inner = facts.definition(x, "xor")
            if inner is not None:
                for y, mask in ((inner.operands), (inner.operands[::-1])):
                    if facts.constant(mask) == number:
                        return y
            return _negated(op, x, facts) if _dtype(x).is_bool() else None
    return None


def _negated(op: Op, condition: Value, facts: Facts) -> Replacement:
    """``not (a < b)`` as ``a >= b``; for floats only where NaN agrees."""
    compare = facts.definition(condition, "cmp")
    if compare is None:
        return None
    predicate = compare.attrs["predicate"]
    if _is_float(compare) and predicate not in ("eq", "ne"):
        return None
    return make_op(
        "cmp",
        compare.operands,
        (op.results[0].type,),
        {**compare.attrs, "predicate": OPPOSITE_PREDICATE[predicate]},
        span=op.span,
        names=(op.results[0].name,),
    )


def _shift(op: Op, facts: Facts) -> Replacement:
    amount, bits = facts.constant(op.operands[1]), _dtype(op.results[0]).bits
    if amount == 0:
        return op.operands[0]
    if amount is None or 0 <= amount < bits:
        return None
    # Everything is shifted out, as the hardware does; of a signed value the sign stays.
    return None if op.name == "shr" and _dtype(op.results[0]).is_int_signed() else _zero(op)


def _range(dtype: DType) -> tuple[int, int]:
    if dtype.is_int_signed():
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << dtype.bits) - 1


def _extremum(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    if a is b:
        return a
    if _is_float(op):
        return None
    lowest, highest = _range(_dtype(a))
    neutral, absorbing = (highest, lowest) if op.name == "min" else (lowest, highest)
    for x, other in ((a, b), (b, a)):
        number = facts.constant(other)
        if number == neutral and number is not None:
            return x
        if number == absorbing and number is not None:
            return constant_op(number, op.results[0].type, op)
    return None


def _cmp(op: Op, facts: Facts) -> Replacement:
    a, b = op.operands
    predicate = op.attrs["predicate"]
    if is_pointer(a.type) or _is_float(op):
        return None
    if a is b:
        return constant_op(predicate in ("eq", "le", "ge"), op.results[0].type, op)
    if _dtype(a).is_bool():
        return None
    lowest, highest = _range(_dtype(a))
    number = facts.constant(b)
    never = {("lt", lowest), ("gt", highest)}
    always = {("ge", lowest), ("le", highest)}
    if (predicate, number) in never or (predicate, number) in always:
        return constant_op((predicate, number) in always, op.results[0].type, op)
    return None


def _select(op: Op, facts: Facts) -> Replacement:
    condition, a, b = op.operands
    chosen = facts.constant(condition)
    if chosen is not None:
        return a if chosen else b
    if a is b:
        return a
    if element_of(a.type) is BOOL and facts.constant(a) is True and facts.constant(b) is False:
        return condition
    return None


def _ptr_add(op: Op, facts: Facts) -> Replacement:
    return op.operands[0] if facts.constant(op.operands[1]) == 0 else None


# Casts -------------------------------------------------------------------------------------------

# Bits of a float's significand (the implicit one included), smallest and largest exponent.
_FLOATS = {
    "float8e4nv": (4, -9, 8),
    "float8e5": (3, -16, 15),
    "float16": (11, -24, 15),
    "bfloat16": (8, -133, 127),
    "float32": (24, -149, 127),
    "float64": (53, -1074, 1023),
}


def preserves(source: DType, target: DType) -> bool:
    """Whether every value of `source` is a value of `target`, so that the cast loses nothing."""
    if source is target or source.is_bool():
        return True
    if target.is_bool():
        return False
    if source.is_floating():
        if not target.is_floating() or target.is_fp8():
            return False  # Casts to fp8 saturate, infinities included.
        given, wanted = _FLOATS[source.label], _FLOATS[target.label]
        return given[0] <= wanted[0] and given[1] >= wanted[1] and given[2] <= wanted[2]
    low, high = _range(source)
    if target.is_floating():
        significand, _, exponent = _FLOATS[target.label]
        return max(-low, high + 1).bit_length() - 1 <= min(significand, exponent)
    lowest, highest = _range(target)
    return lowest <= low and high <= highest


def _cast(op: Op, facts: Facts) -> Replacement:
    source, target = _dtype(op.operands[0]), _dtype(op.results[0])
    if source is target:
        return op.operands[0]
    inner = facts.definition(op.operands[0], "cast")
    if inner is None:
        return None
    first = _dtype(inner.operands[0])
    if first is target and preserves(first, source):
        return inner.operands[0]
    if not _may_skip(first, source, target, op.attrs.get("rounding") or "rtne"):
        return None
    names = (op.results[0].name,)
    return make_op("cast", inner.operands, (op.results[0].type,), op.attrs, span=op.span, names=names)


def _may_skip(first: DType, middle: DType, last: DType, rounding: str) -> bool:
    """Whether ``first -> middle -> last`` equals ``first -> last``."""
    if first.is_int() and middle.is_int() and last.is_int():
        truncates = not (middle.is_bool() or last.is_bool()) and last.bits <= middle.bits <= first.bits
        return truncates or preserves(first, middle)
    if not preserves(first, middle):
        return False
    if first.is_floating():
        return last.is_floating()  # To integers, NaN depends on the float type.
    if middle.is_int():
        return rounding == "rtne"
    return last.is_floating() and rounding == "rtne"


def _bitcast(op: Op, facts: Facts) -> Replacement:
    if op.operands[0].type == op.results[0].type:
        return op.operands[0]
    inner = facts.definition(op.operands[0], "bitcast")
    if inner is None or is_pointer(inner.operands[0].type) != is_pointer(inner.results[0].type):
        return None
    if inner.operands[0].type == op.results[0].type and not is_pointer(op.results[0].type):
        return inner.operands[0]
    return None


# Shapes ------------------------------------------------------------------------------------------


def _reshaped(op: Op, facts: Facts) -> Replacement:
    """Shape operations on tiles that hold one value: the same value in the new shape."""
    source, target = op.operands[0], op.results[0]
    if source.type == target.type:
        if op.name != "trans" or list(op.attrs["perm"]) == sorted(op.attrs["perm"]):
            return source
    definition = facts.definitions.get(source)
    if definition is None:
        return None
    if definition.name == "constant":
        return constant_op(definition.attrs["value"], target.type, op)
    if definition.name == "splat":
        return make_op("splat", definition.operands, (target.type,), span=op.span, names=(target.name,))
    if op.name == "reshape" and definition.name in ("reshape", "expand_dims"):
        if definition.operands[0].type == target.type:
            return definition.operands[0]
        return make_op("reshape", definition.operands, (target.type,), op.attrs, span=op.span, names=(target.name,))
    return None


def _splat(op: Op, facts: Facts) -> Replacement:
    number = facts.constant(op.operands[0])
    return None if number is None else constant_op(number, op.results[0].type, op)


def _tile_to_scalar(op: Op, facts: Facts) -> Replacement:
    definition = facts.definitions.get(op.operands[0])
    if definition is None:
        return None
    if definition.name == "splat":
        return definition.operands[0]
    if definition.name == "constant":
        return constant_op(definition.attrs["value"], op.results[0].type, op)
    return None


_RULES: dict[str, Callable[[Op, Facts], Replacement]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "idiv": _div,
    "rem": _rem,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "shl": _shift,
    "shr": _shift,
    "min": _extremum,
    "max": _extremum,
    "cmp": _cmp,
    "select": _select,
    "ptr_add": _ptr_add,
    "cast": _cast,
    "bitcast": _bitcast,
    "splat": _splat,
    "broadcast": _reshaped,
    "expand_dims": _reshaped,
    "reshape": _reshaped,
    "trans": _reshaped,
    "tile_to_scalar": _tile_to_scalar,
    **TILE_RULES,
}


def scalar_form(op: Op, facts: Facts) -> tuple[list[Op], Op, Op] | None:
    """An elementwise operation on tiles of one value each, as the same operation on scalars and a splat.

    Returns:
        Constants it needs, the scalar operation, the splat; None when some operand varies.
    """
    if op.name not in ELEMENTWISE or op.name == "hint" or len(op.results) != 1:
        return None
    target = op.results[0].type
    if not isinstance(target, TileType) or not all(facts.uniform(v) for v in op.operands):
        return None
    constants: list[Op] = []
    operands = []
    for value in op.operands:
        definition = facts.definitions[value]
        if definition.name == "splat":
            operands.append(definition.operands[0])
        else:
            number = make_op("constant", (), (element_of(value.type),), definition.attrs, span=definition.span)
            constants.append(number)
            operands.append(number.results[0])
    names = (op.results[0].name,)
    scalar = make_op(op.name, tuple(operands), (target.element,), op.attrs, span=op.span, names=names)
    splat = make_op("splat", scalar.results, (target,), span=op.span, names=names)
    return constants, scalar, splat
