"""What rewritten functions call for single expressions: assignment, truth, comparison, elements."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

from tle2cuda.eager.operators import logical_and, logical_not, logical_or
from tle2cuda.eager.values import Tile, decay, describe
from tle2cuda.errors import ConstexprRequired, InvalidType, UnsupportedSyntax

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def _unpacked(value: Any) -> Any:
    """Each of the numbers that an assignment unpacks."""
    if isinstance(value, (tuple, list)):
        return tuple(_unpacked(item) for item in value)
    return decay(value)


def _and(left: Tile, right: Any) -> Any:
    if isinstance(right, Tile):
        return logical_and(left, right)
    return left if right else right


def _or(left: Tile, right: Any) -> Any:
    if isinstance(right, Tile):
        return logical_or(left, right)
    return right if right else left


def _lazy_and(left: Any, right: Callable[[], Any]) -> Any:
    return _and(left, right()) if isinstance(left, Tile) else left and right()


def _lazy_or(left: Any, right: Callable[[], Any]) -> Any:
    return _or(left, right()) if isinstance(left, Tile) else left or right()


def _not(value: Any) -> Any:
    return logical_not(value) if isinstance(value, Tile) else not value


def _all(value: Any) -> Any:
    if isinstance(value, tuple):  # which is true as soon as it holds anything
        raise InvalidType(
            "`assert` of a tuple, which is always true", help="leave the parentheses out: assert condition, message"
        )
    return bool(value.data.all()) if isinstance(value, Tile) else value


def _is_tile(thing: Any) -> bool:
    return isinstance(thing, Tile)


def _has_tile(thing: Any) -> bool:
    return isinstance(thing, Tile) or (isinstance(thing, (tuple, list)) and any(_has_tile(item) for item in thing))


def _compared(names: tuple[str, ...], *values: Any) -> Any:
    """Comparisons in a chain, each operand computed once; `is` and `in` too."""
    result: Any = True
    for name, left, right in zip(names, values, values[1:], strict=False):
        part = _two(name, left, right)
        if isinstance(part, Tile):
            result = part if not isinstance(result, Tile) else logical_and(result, part)
        elif not part:
            return part
    return result


def _two(name: str, left: Any, right: Any) -> Any:
    if name in ("Is", "IsNot"):
        return _is_same(left, right) != (name == "IsNot")
    if name in ("In", "NotIn"):
        if _has_tile(left) or _has_tile(right):
            raise InvalidType("`in` works on compile-time values only", help="compare with each element, combined with |")
        return (left in right) != (name == "NotIn")
    return _COMPARISONS[name](left, right)


def _is_same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    if isinstance(left, Tile) or isinstance(right, Tile):
        raise InvalidType(f"`is` compares with None only, got {describe(left)} and {describe(right)}", help="use ==")
    if isinstance(left, (int, float, str)) and not isinstance(left, bool):
        return type(left) is type(right) and bool(left == right)
    return left is right


def _item(thing: Any, key: Any) -> Any:
    """``thing[key]``; of tuples constants count, of device functions there is none."""
    if isinstance(thing, (tuple, list)):
        if isinstance(key, Tile):
            raise ConstexprRequired(
                f"a tuple is indexed by a constant, got a run-time value ({describe(key)})",
                help="loop over tl.static_range, or keep the elements in a buffer (tle.gpu.alloc)",
            )
        if not isinstance(key, (int, slice)):
            raise InvalidType(f"a tuple is indexed by an int or a slice, got {key!r}")
        try:
            return thing[key]
        except IndexError:
            raise InvalidType(f"index {key} is outside a tuple of {len(thing)} elements") from None
    return thing[key]


def _slice(*bounds: Any) -> slice:
    if any(isinstance(bound, Tile) for bound in bounds):
        raise UnsupportedSyntax(
            "slicing with run-time bounds is not supported in a kernel",
            help="load the part that is needed: tl.load(pointer + start + tl.arange(0, SIZE))",
        )
    return slice(*bounds)


def _no_list(thing: Any) -> Any:
    """The owner of a method by which a list would change."""
    if isinstance(thing, (tuple, list)):
        raise UnsupportedSyntax(
            "a list cannot change in a kernel",
            help="build a new tuple: x = x + (value,), in a loop only over tl.static_range",
        )
    return thing


def _kept(test: Any) -> Any:
    """The `if` of a comprehension."""
    if isinstance(test, Tile):
        raise ConstexprRequired(
            "the `if` of a comprehension must be known at compile time, got a run-time value",
            help="keep every element, and choose with tl.where",
        )
    return test


def _value(thing: Any) -> Any:
    """`.value`: constants have it, as `tl.constexpr` does, and are themselves; values of the run time have none."""
    return thing.value if isinstance(thing, Tile) or hasattr(thing, "value") else thing


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decay": decay,
    "unpacked": _unpacked,
    "and": _and,
    "or": _or,
    "lazy_and": _lazy_and,
    "lazy_or": _lazy_or,
    "not": _not,
    "all": _all,
    "value": _value,
    "is_tile": _is_tile,
    "compared": _compared,
    "item": _item,
    "slice": _slice,
    "no_list": _no_list,
    "kept": _kept,
    "tuple": builtins.tuple,
}
