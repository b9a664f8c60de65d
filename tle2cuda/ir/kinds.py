"""Kinds of operands and of attributes, of which the rows of the legality table are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tle2cuda.ir.types import (
    GLOBAL,
    I32,
    SHARED,
    BarrierType,
    BufferType,
    DType,
    PipeType,
    PointerType,
    TensorMapType,
    TileType,
    Type,
    element_of,
    is_handle,
    is_pointer,
)


class Broken(Exception):
    """A rule of a row does not hold."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A set of types an operand may have."""

    text: str
    accepts: Callable[[Type], bool]


@dataclass(frozen=True, slots=True)
class Attr:
    """What an attribute may hold."""

    text: str
    accepts: Callable[[Any], bool]
    optional: bool = False


DATA_TYPES = (DType, PointerType, TileType, BufferType, BarrierType, PipeType, TensorMapType)


def is_plain_data(value: Any) -> bool:
    """Whether an attribute can be printed and parsed back."""
    if isinstance(value, (tuple, list)):
        return all(is_plain_data(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, *DATA_TYPES))


# Kinds -------------------------------------------------------------------------------------------


def has_element(predicate: Callable[[DType], bool]) -> Callable[[Type], bool]:
    """Scalars and tiles whose element dtype satisfies a predicate."""

    def accepts(type_: Type) -> bool:
        if is_handle(type_):
            return False
        element = element_of(type_)
        return isinstance(element, DType) and predicate(element)

    return accepts


def _scalar(predicate: Callable[[DType], bool]) -> Callable[[Type], bool]:
    return lambda type_: isinstance(type_, DType) and predicate(type_)


def is_integer(dtype: DType) -> bool:
    """Whether a dtype is an integer and not bool."""
    return dtype.kind in ("int", "uint")


ANY = Kind("a value", lambda type_: True)
VALUE = Kind("a scalar, pointer or tile", lambda type_: not is_handle(type_))
NUMBER = Kind("a number or a tile of numbers", has_element(lambda d: True))
ARITHMETIC = Kind("an integer or float, or a tile of them", has_element(lambda d: not d.is_bool()))
INTEGER = Kind("an integer or a tile of integers", has_element(is_integer))
BITS = Kind("an integer or bool, or a tile of them", has_element(lambda d: d.is_int()))
FLOAT = Kind("a float or a tile of floats", has_element(lambda d: d.is_floating()))
BOOLEAN = Kind("a bool or a tile of bools", has_element(lambda d: d.is_bool()))
POINTER = Kind("a pointer or a tile of pointers", is_pointer)
TILE = Kind("a tile", lambda type_: isinstance(type_, TileType))
SCALAR = Kind("a scalar or pointer", lambda type_: isinstance(type_, (DType, PointerType)))
BOOL_SCALAR = Kind("a bool scalar", _scalar(lambda d: d.is_bool()))
INT_SCALAR = Kind("an integer scalar", _scalar(is_integer))
I32_SCALAR = Kind("an i32 scalar", _scalar(lambda d: d is I32))
BUFFER = Kind("a buffer", lambda type_: isinstance(type_, BufferType))
TILE_OR_BUFFER = Kind("a tile or a buffer", lambda type_: isinstance(type_, (TileType, BufferType)))
BARRIERS = Kind("an array of barriers", lambda type_: isinstance(type_, BarrierType))
PIPE = Kind("a pipe", lambda type_: isinstance(type_, PipeType))
TENSOR = Kind(
    "a pointer to global memory or a tensor map",
    lambda type_: isinstance(type_, TensorMapType) or (isinstance(type_, PointerType) and type_.space == GLOBAL),
)
BUFFER_OR_POINTER = Kind(
    "a buffer or a pointer to shared memory",
    lambda type_: (
        isinstance(type_, BufferType) or (is_pointer(type_) and getattr(element_of(type_), "space", "") == SHARED)
    ),
)

# Attributes --------------------------------------------------------------------------------------


def is_int(value: Any) -> bool:
    """Whether a value is an int and not bool."""
    return isinstance(value, int) and not isinstance(value, bool)


INT = Attr("an int", is_int)
NUMBER_VALUE = Attr("a number", lambda v: isinstance(v, (bool, int, float)))
FLAG = Attr("a bool", lambda v: isinstance(v, bool))
TEXT = Attr("a string", lambda v: isinstance(v, str))
POSITIVE = Attr("a positive int", lambda v: is_int(v) and v > 0)
NATURAL = Attr("an int that is not negative", lambda v: is_int(v) and v >= 0)
INTS = Attr("a tuple of ints", lambda v: isinstance(v, tuple) and all(is_int(i) for i in v))
TEXTS = Attr("a tuple of strings", lambda v: isinstance(v, tuple) and all(isinstance(i, str) for i in v))
PROGRAM_AXIS = Attr("0, 1 or 2", lambda v: is_int(v) and 0 <= v <= 2)


def choice(*values: str) -> Attr:
    """One of a few strings."""
    return Attr(f"one of {', '.join(values)}", lambda v: v in values)


def choice_of(*values: int) -> Attr:
    """One of a few ints."""
    return Attr(f"one of {', '.join(map(str, values))}", lambda v: is_int(v) and v in values)


def maybe(rule: Attr) -> Attr:
    """An attribute that may be absent or None."""
    return Attr(f"{rule.text} or None", lambda v: v is None or rule.accepts(v), optional=True)


NAN = maybe(choice("ignore", "propagate"))
ROUNDING = choice("rn", "approx")
SEM = maybe(choice("relaxed", "acquire", "release", "acq_rel"))
SCOPE = maybe(choice("cta", "cluster", "gpu", "sys"))
REDUCE_KINDS = ("sum", "prod", "max", "min", "xor", "or", "and", "argmax", "argmin", "custom")
INPUT_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
SCAN_KINDS = ("sum", "prod", "max", "min", "xor", "or", "and", "custom")
