"""Run-time values: `Tile`, a NumPy array with the language's dtype, shape rules and operators."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import numpy as np

from tle2cuda.eager.numbers import VALUES, Array, convert
from tle2cuda.errors import (
    ConstexprRequired,
    DTypeMismatch,
    InvalidArgument,
    InvalidType,
    ShapeMismatch,
)
from tle2cuda.ir.types import F32, F64, I32, I64, U32, U64, DType
from tle2cuda.ops.values import block_type, plain_text, pointer_type

_Function = TypeVar("_Function", bound=Callable[..., Any])

_LARGEST_TILE = 1 << 20
_SMALLEST_NORMAL, _LARGEST_NORMAL = 2.0**-126, (2 - 2**-23) * 2.0**127


class Tile:
    """A scalar (shape ``()``) or a tile. It prints as NumPy does, and a debugger shows its `data`.

    Args:
        data: The values, as `numbers.VALUES` says; byte addresses (int64) for pointers.
        dtype: Element type.
        exact: Integers narrower than 64 bits that wrapped on the way: what 64-bit arithmetic would have given. Pointers:
            where they would point then. None when that is the same.
        region: Pointers: the memory they were made for, when all are for the same.
    """

    __slots__ = ("data", "dtype", "exact", "region")

    __array_priority__ = 1000.0  # operators with NumPy's scalars on the left are this class's, not NumPy's

    methods: ClassVar[dict[str, Callable[..., Any]]] = {}
    operators: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init__(self, data: Any, dtype: DType | pointer_type, exact: Any = None, region: Any = None) -> None:
        self.data: Array = data if isinstance(data, np.ndarray) else np.asarray(data)
        self.dtype: Any = dtype  # most functions have made sure which of the two it is
        self.exact: Array | None = exact
        self.region = region

    # -- what kernels ask a value --

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, () for scalars."""
        return self.data.shape

    @property
    def numel(self) -> int:
        """Number of elements."""
        return self.data.size

    @property
    def type(self) -> Any:
        """Full type: a `block_type` for tiles, the dtype for scalars."""
        return block_type(self.dtype, self.shape) if self.shape else self.dtype

    @property
    def is_pointer(self) -> bool:
        """Whether it holds pointers."""
        return isinstance(self.dtype, pointer_type)

    @property
    def T(self) -> Any:
        """Transpose of a rank-2 tile."""
        if len(self.shape) != 2:
            raise ShapeMismatch(f"x.T: rank 2 is needed, got {describe(self)}")
        return Tile.methods["trans"](self)

    def __getattr__(self, name: str) -> Any:
        function = Tile.methods.get(name)
        if function is None:
            raise AttributeError(f"{describe(self)} has no attribute {name!r}")
        return functools.partial(function, self)

    # -- as Python sees it --

    def __repr__(self) -> str:
        if self.is_pointer:
            return f"{describe(self)} {self._offsets()}"
        return f"{describe(self)} {self.data}"

    def _offsets(self) -> str:
        if self.region is None:
            return f"{self.data}"
        assert isinstance(self.dtype, pointer_type)
        return f"{self.region.name} + {(self.data - self.region.base) // self.dtype.element_ty.bytes}"

    def __format__(self, spec: str) -> str:
        return format(self.data.item(), spec) if spec and not self.shape else repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        if self.data.size != 1:
            raise DTypeMismatch(
                f"the condition must be a scalar, got {describe(self)}",
                help="reduce it first, tl.max(x, axis=0), or use tl.where",
            )
        return bool(self.data.reshape(()) != 0)

    def __index__(self) -> int:
        if self.shape or self.is_pointer or not self.dtype.is_int():
            raise ConstexprRequired(f"an integer is needed here, got {describe(self)}")
        return int(self.data)

    def __iter__(self) -> Any:
        raise InvalidType(
            f"a tile cannot be iterated over or unpacked ({describe(self)})",
            help=_IN_A_DEBUGGER if _is_typed(sys._getframe(1)) else "",
        )

    def __len__(self) -> int:
        raise InvalidType(f"a tile has no len ({describe(self)})", help="use x.shape")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return np.array(self.data, dtype=dtype)

    def __getitem__(self, key: Any) -> Tile:
        keys = key if isinstance(key, tuple) else (key,)
        shape: list[int] = []
        kept = 0
        for entry in keys:
            if isinstance(entry, slice) and entry == slice(None):
                if self.shape:  # a scalar has no axis for `:`
                    shape += self.shape[kept : kept + 1]
                    kept += 1
            elif entry is not None:
                raise InvalidType(
                    f"a tile is indexed with None and `:` only, got {entry!r}",
                    help=_IN_A_DEBUGGER
                    if _is_typed(sys._getframe(1))
                    else "load the element you need, reduce, or use tl.where with tl.arange",
                )
            else:
                shape.append(1)
        if kept > len(self.shape):
            raise ShapeMismatch(
                f"{kept} `:` for a tile of rank {len(self.shape)}", help="write at most one `:` for every axis"
            )
        return self.reshaped((*shape, *self.shape[kept:]))

    def __pos__(self) -> Tile:
        return self

    # -- for this package --

    def reshaped(self, shape: tuple[int, ...]) -> Tile:
        """The same elements, row-major, in another shape."""
        exact = None if self.exact is None else self.exact.reshape(shape)
        return Tile(self.data.reshape(shape), self.dtype, exact, self.region)

    def rearranged(self, change: Callable[[Array], Array]) -> Tile:
        """Elements moved or repeated by a NumPy function."""
        exact = None if self.exact is None else change(self.exact)
        return Tile(change(self.data), self.dtype, exact, self.region)

    def stretched(self, shape: tuple[int, ...]) -> Tile:
        """Broadcast to a shape."""
        if self.data.shape == shape:
            return self
        return self.rearranged(lambda array: np.broadcast_to(array, shape))


_IN_A_DEBUGGER = "the elements are in `.data`, an array of NumPy: x.data[0]"


def _is_typed(frame: types.FrameType) -> bool:
    """Whether what runs was typed at a debugger's prompt, rather than written in a kernel."""
    return frame.f_code.co_filename in ("<string>", "<stdin>", "<console>", "<debugger>")


def without_width(x: Tile) -> Array:
    """What integers would be had none of them wrapped, in 64 bits; of pointers, where they would point."""
    return x.data.astype(np.int64) if x.exact is None else x.exact


def watched(data: Any, dtype: DType | pointer_type, exact: Any, region: Any = None) -> Tile:
    """A value that remembers what it would be without a width, where that differs; numbers that are no integers do not."""
    made = Tile(data, dtype, None, region)
    if isinstance(dtype, pointer_type) or (dtype.is_int() and not dtype.is_bool()):
        wide = np.asarray(exact)
        if (wide != made.data.astype(np.int64)).any():
            made.exact = wide
    return made


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def forward(self: Tile, other: Any) -> Any:
        return Tile.operators[name](self, python_number(other))

    def backward(self: Tile, other: Any) -> Any:
        return Tile.operators[name](python_number(other), self)

    return forward, backward


def _install_operators() -> None:
    """Python's operators look up the functions that `operators.py` registers; both sides as written."""
    arithmetic = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
    for name in arithmetic:
        forward, backward = _binary(name)
        setattr(Tile, f"__{name}__", forward)
        setattr(Tile, f"__r{name}__", backward)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Tile, f"__{name}__", _binary(name)[0])
    for name in ("neg", "invert", "abs"):
        setattr(Tile, f"__{name}__", lambda self, name=name: Tile.operators[name](self))


_install_operators()


def method(function: _Function) -> _Function:
    """Makes a language function a method of values, too."""
    Tile.methods[function.__name__] = function
    return function


# -- Python numbers next to values -------------------------------------------------------------------


def python_number(x: Any) -> Any:
    """Python's number for a scalar of NumPy's, as constants are; anything else unchanged."""
    return x.item() if isinstance(x, np.generic) else x


def is_number(x: Any) -> bool:
    """Whether `x` is a compile-time number."""
    return isinstance(x, (bool, int, float))


def number_dtype(x: bool | int | float) -> DType:
    """Dtype of a Python number that stands alone."""
    if isinstance(x, bool):
        return DType("int1")
    if isinstance(x, int):
        if -(2**31) <= x < 2**31:
            return I32
        if 2**31 <= x < 2**32:
            return U32
        if -(2**63) <= x < 2**63:
            return I64
        if 2**63 <= x < 2**64:
            return U64
        shown = x if abs(x) < 1 << 4096 else f"of {x.bit_length()} bits"
        raise InvalidArgument(f"the integer {shown} does not fit into 64 bits")
    magnitude = abs(x)
    # Zero, infinity and NaN have a place in float32 as well.
    if magnitude == 0 or magnitude != magnitude or magnitude == float("inf"):
        return F32
    return F32 if _SMALLEST_NORMAL <= magnitude <= _LARGEST_NORMAL else F64


def number_as(x: bool | int | float, dtype: DType) -> Tile:
    """A scalar of `dtype` from a Python number whose kind it can hold."""
    if dtype.is_floating():
        return Tile(convert(np.asarray(float(x)), F64, dtype), dtype)
    if dtype.is_bool():
        return Tile(np.asarray(bool(x)), dtype)
    return Tile(np.asarray(int(x)).astype(VALUES[dtype]), dtype)


def to_tile(x: Any, what: str = "operand") -> Tile:
    """A value; Python numbers become scalars of their own dtype.

    Raises:
        InvalidType: Something else.
    """
    if isinstance(x, Tile):
        return x
    x = python_number(x)
    if is_number(x):
        return number_as(x, number_dtype(x))
    raise InvalidType(f"{what}: expected a tile, a scalar or a number, got {describe(x)}")


def numeric(x: Any, what: str) -> Tile:
    """`to_tile` of what must not be a pointer."""
    value = to_tile(x, what)
    if value.is_pointer:
        raise DTypeMismatch(f"{what} does not take pointers, got {describe(value)}")
    return value


def decay(x: Any) -> Any:
    """Numbers become run-time scalars, as plain assignment makes them."""
    x = python_number(x)
    if isinstance(x, (bool, int, float)):
        return number_as(x, number_dtype(x))
    return x


def decay_result(x: Any) -> Any:
    """What a device function returns: numbers become run-time scalars, inside tuples too."""
    if isinstance(x, tuple):
        items = [decay_result(item) for item in x]
        return type(x)(*items) if hasattr(x, "_fields") else tuple(items)
    return decay(x)


# -- shapes -------------------------------------------------------------------------------------------


def describe(x: Any) -> str:
    """``tile fp32[64, 64]``, ``scalar i32``, ``pointer *fp32``."""
    if not isinstance(x, Tile):
        return f"the constant {x!r}" if is_number(x) else plain_text(x)
    element = x.dtype
    name = f"*{element.element_ty.short}" if isinstance(element, pointer_type) else element.short
    if x.shape:
        return f"tile {name}[{', '.join(map(str, x.shape))}]"
    return f"{'pointer' if isinstance(element, pointer_type) else 'scalar'} {name}"


def common_shape(what: str, *values: Tile) -> tuple[int, ...]:
    """The shape all broadcast to.

    Raises:
        ShapeMismatch: There is none.
    """
    first = values[0].data.shape
    if all(value.data.shape == first for value in values):
        return first
    try:
        return np.broadcast_shapes(*(value.data.shape for value in values))
    except ValueError:
        shapes = " and ".join(str(list(value.data.shape)) for value in values)
        raise ShapeMismatch(f"{what}: the shapes {shapes} do not broadcast") from None


def static_int(x: Any, what: str) -> int:
    """A compile-time integer.

    Raises:
        ConstexprRequired: A run-time value.
        InvalidArgument: No integer.
    """
    if isinstance(x, Tile):
        raise ConstexprRequired(f"{what} must be known at compile time, got {describe(x)}")
    if not isinstance(x, (int, np.integer)):
        raise InvalidArgument(f"{what} must be an int, got {x!r}")
    return int(x)


def static_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A shape of powers of two.

    Raises:
        InvalidArgument: An extent that is none, or too many elements.
    """
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    dims = tuple(static_int(extent, f"{what}: shape") for extent in given)
    total = 1
    for extent in dims:
        total *= extent
        if extent < 1 or extent & (extent - 1):
            raise InvalidArgument(f"{what}: the extents of a tile are powers of two, got {list(dims)}")
    if total > _LARGEST_TILE:
        raise InvalidArgument(f"{what}: a tile has at most {_LARGEST_TILE} elements, {list(dims)} has {total}")
    return dims


def static_axis(axis: Any, rank: int, what: str) -> int:
    """An axis number; negative ones count from the end."""
    position = static_int(axis, f"{what}: axis")
    if not -rank <= position < rank:
        raise InvalidArgument(f"{what}: axis {position} does not exist, the rank is {rank}")
    return position % rank


def as_dtype(x: Any, what: str) -> DType:
    """A dtype argument; of the type of a tile, that of its elements."""
    if isinstance(x, block_type):
        x = x.element_ty
    if not isinstance(x, DType):
        shown = describe(x) if isinstance(x, Tile) else repr(x)
        raise InvalidType(f"{what}: expected a dtype such as tl.float32, got {shown}")
    return x
