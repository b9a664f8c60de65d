"""Tools of the op families: literals, argument checks, shapes, broadcasting, the registries."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, TypeVar

from tle2cuda.errors import ConstexprRequired, InvalidArgument, InvalidType, NotSupported, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Region
from tle2cuda.ir.span import UNKNOWN
from tle2cuda.ir.types import (
    ALL_DTYPES,
    BOOL,
    F16,
    F32,
    F64,
    FOREIGN_DTYPES,
    I32,
    I64,
    U32,
    U64,
    BufferType,
    DType,
    Element,
    with_shape,
)
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.values import (
    block_type,
    describe_type,
    num_elements,
    plain_text,
    pointer_type,
    tensor,
    unwrap,
)

MAX_TILE_ELEMENTS = 1 << 20
F32_SMALLEST_NORMAL = 2.0**-126
F32_LARGEST = float.fromhex("0x1.fffffep127")

_Function = TypeVar("_Function", bound=Callable[..., Any])


# -- dtype arguments -------------------------------------------------------------------------------


def resolve_dtype(dtype: Any, function: str) -> DType | pointer_type:
    """A dtype argument of `function`, unwrapped and checked.

    Raises:
        InvalidType: It is no dtype.
    """
    dtype = unwrap(dtype)
    if isinstance(dtype, block_type):
        dtype = dtype.element_ty  # the pointee of a block pointer
    if dtype in FOREIGN_DTYPES:
        raise NotSupported(
            f"{function}: NVIDIA GPUs have no instructions for {dtype.label}",
            help="use tl.float8e4nv or tl.float8e5, or integer operations on tl.uint8",
        )
    if isinstance(dtype, (DType, pointer_type)):
        return dtype
    raise InvalidType(f"{function}: expected a dtype such as tl.float32, got {plain_text(dtype)}", help=_dtype_meant(dtype))


_OF_PYTHON = {"float": F32, "int": I32, "bool": BOOL, "half": F16}


def _dtype_meant(dtype: Any) -> str:
    """What to write for a dtype of Python's, NumPy's or torch's, or for the name of one."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", str(dtype))
    name = name.rpartition(".")[2]
    found = next((d for d in ALL_DTYPES if name in (d.label, d.short)), _OF_PYTHON.get(name))
    return f"write tl.{found.label}" if found is not None else ""


def resolve_scalar_dtype(dtype: Any, function: str) -> DType:
    """As `resolve_dtype`, pointer types refused."""
    resolved = resolve_dtype(dtype, function)
    if isinstance(resolved, pointer_type):
        raise InvalidType(f"{function}: expected a dtype such as tl.float32, got {resolved.label}")
    return resolved


# -- marking language functions --------------------------------------------------------------------

BUILTIN_MARK = "__tle2cuda_builtin__"


def builtin(function: _Function) -> _Function:
    """Marks a language function: the front end calls it with tensors, constexprs and plain Python values."""
    setattr(function, BUILTIN_MARK, True)
    return function


def is_builtin(function: Any) -> bool:
    """Whether `function` is a language function (callable inside kernels only)."""
    return getattr(function, BUILTIN_MARK, False) is True


def tensor_member(function: _Function) -> _Function:
    """Makes a language function a method of `tensor` too, the tensor being its first argument."""
    setattr(tensor, function.__name__, function)
    return function


# -- making values ---------------------------------------------------------------------------------


def emit_value(
    op: str,
    operands: Sequence[tensor],
    element: Element,
    shape: tuple[int, ...],
    attrs: Mapping[str, Any] | None = None,
    regions: tuple[Region, ...] = (),
) -> tensor:
    """Emits an operation with one result of this element type and shape (() for a scalar)."""
    values = tuple(operand.value for operand in operands)
    result_type = with_shape(element, shape)
    return tensor(builder.current().emit_one(op, values, result_type, attrs, regions))


def constant(value: bool | int | float, dtype: DType, shape: tuple[int, ...] = ()) -> tensor:
    """A scalar constant, or with a shape its splat; `value` must fit `dtype` already."""
    if dtype.is_bool():
        value = bool(value)
    elif dtype.is_floating():
        value = float(value)
    else:
        value = int(value)
    return emit_value("constant", (), dtype, shape, {"value": value})


def literal_dtype(value: bool | int | float) -> DType:
    """The dtype a Python number takes on its own.

    int: int32, from 2**31 uint32, from 2**32 int64, from 2**63 uint64. float: float32, float64 when its
    magnitude is outside the normal float32 range. bool: int1.

    Raises:
        InvalidArgument: An int that fits no 64-bit type.
    """
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return I32
        if 2**31 <= value < 2**32:
            return U32
        if -(2**63) <= value < 2**63:
            return I64
        if 2**63 <= value < 2**64:
            return U64
        raise InvalidArgument(f"the integer {value} does not fit into 64 bits")
    magnitude = abs(value)
    special = magnitude == 0.0 or magnitude != magnitude or magnitude == float("inf")
    return F32 if special or F32_SMALLEST_NORMAL <= magnitude <= F32_LARGEST else F64


def is_literal(x: Any) -> bool:
    """Whether `x` is a Python number (after unwrapping): operands that adapt to the other operand's type."""
    return isinstance(unwrap(x), (bool, int, float))


def to_tensor(x: Any) -> tensor:
    """A run-time value for `x`: tensors unchanged, numbers and constexpr numbers by `literal_dtype`.

    Raises:
        InvalidType: `x` is neither.
    """
    if isinstance(x, tensor):
        return x
    value = unwrap(x)
    if isinstance(value, tensor):
        return value
    if hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()  # a NumPy scalar
    if isinstance(value, (bool, int, float)):
        return constant(value, literal_dtype(value))
    raise InvalidType(f"expected a tile, a scalar or a number, got {describe(x)}")


# -- describing values in messages -----------------------------------------------------------------


def describe(x: Any) -> str:
    """One short phrase for any argument of a language function."""
    value = unwrap(x)
    if isinstance(value, tensor):
        return describe_type(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, Compound):
        return value._described_
    held = getattr(getattr(value, "value", None), "type", None)
    if isinstance(held, BufferType):
        return str(held)
    if isinstance(getattr(value, "fn", None), FunctionType):
        return f"the function `{value.fn.__name__}`"
    if hasattr(type(value), "described"):  # block pointers and descriptors
        return str(value.described)
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(describe, value))}{',' if len(value) == 1 else ''})"
    return f"{plain_text(value)} of type {type(value).__name__}"


def fact(label: str, x: tensor) -> str:
    """Line of an error's facts: what `x` is and where it came from."""
    name = f"`{x.value.name}`" if x.value.name else label
    span = x.value.span
    origin = "" if span == UNKNOWN else f", made at {span.short()}"
    return f"{name}: {describe_type(x)}{origin}"


def dims_text(dims: Iterable[int]) -> str:
    """``[64, 32]``."""
    return f"[{', '.join(str(extent) for extent in dims)}]"


# -- compile-time arguments ------------------------------------------------------------------------


def static_value(x: Any, what: str) -> Any:
    """The Python value of a compile-time argument.

    Raises:
        ConstexprRequired: It is a run-time value; `what` names it, such as ``tl.arange: start``.
    """
    value = unwrap(x)
    if isinstance(value, tensor):
        raise ConstexprRequired(
            f"{what} must be known at compile time, got a run-time value ({describe_type(value)})",
            facts=(fact(what.rpartition(" ")[2], value),),
            help="pass it as a tl.constexpr parameter",
        )
    return value


def static_int(x: Any, what: str) -> int:
    """An int argument; True and False count as 1 and 0."""
    value = static_value(x, what)
    if not hasattr(value, "__index__"):
        raise InvalidType(f"{what} must be an int, got {value!r}")
    return python_operator.index(value)


def static_bool(x: Any, what: str) -> bool:
    """A bool argument; 0 and 1 are accepted."""
    value = static_value(x, what)
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise InvalidType(f"{what} must be True or False, got {value!r}")


def static_choice(x: Any, choices: Sequence[str], what: str) -> str:
    """A string argument out of `choices`; None and '' mean the first choice when that is ''."""
    value = static_value(x, what)
    if value is None and "" in choices:
        return ""
    if value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise InvalidArgument(f"{what} must be one of {known}, got {value!r}")
    return str(value)


def static_shape(shape: Any, what: str) -> tuple[int, ...]:
    """A tile shape: ints that are powers of two, at most 2**20 elements; an int means rank 1.

    Raises:
        ConstexprRequired: An extent is a run-time value.
        InvalidArgument: An extent is no power of two, or the tile is too large.
    """
    value = static_value(shape, what)
    if not isinstance(value, (tuple, list)):
        value = (value,)
    dims = tuple(static_int(extent, f"{what}: extent {i}") for i, extent in enumerate(value))
    check_tile_shape(dims, what)
    return dims


def check_tile_shape(dims: Sequence[int], what: str) -> None:
    """Raises unless every extent is a power of two and the tile has at most 2**20 elements."""
    for i, extent in enumerate(dims):
        if extent < 1 or extent & (extent - 1):
            bigger = 1 << max(0, extent - 1).bit_length()
            raise InvalidArgument(
                f"{what}: extent {i} of {dims_text(dims)} is {extent}, not a power of two",
                help=f"use {bigger} and mask the elements that do not exist" if extent > 0 else "",
            )
    if num_elements(dims) > MAX_TILE_ELEMENTS:
        raise InvalidArgument(
            f"{what}: a tile of shape {dims_text(dims)} has {num_elements(dims)} elements, the limit is {MAX_TILE_ELEMENTS}"
        )


def axes_text(rank: int) -> str:
    """Which axes something of a rank has, as a help line."""
    if rank == 0:
        return "a scalar has no axes"
    if rank == 1:
        return "the only axis is 0"
    return f"axes count from 0 to {rank - 1}, or from -{rank} to -1 from the end"


def static_axis(axis: Any, rank: int, what: str) -> int:
    """An axis argument, negative ones counted from the end."""
    value = static_int(axis, f"{what}: axis")
    if not -rank <= value < rank:
        raise InvalidArgument(f"{what}: axis {value} does not exist, the tile has rank {rank}", help=axes_text(rank))
    return value % rank


# -- broadcasting ----------------------------------------------------------------------------------


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """Shape both fit once leading 1-extents are added and 1-extents stretched; None when there is none."""
    rank = max(len(a), len(b))
    padded_a = (1,) * (rank - len(a)) + a
    padded_b = (1,) * (rank - len(b)) + b
    result = []
    for m, n in zip(padded_a, padded_b, strict=True):
        if m != n and m != 1 and n != 1:
            return None
        result.append(max(m, n))
    return tuple(result)


def stretch(x: tensor, dims: tuple[int, ...]) -> tensor:
    """`x` with shape `dims`; the caller knows that it fits by the rules of `broadcast_shape`."""
    if x.dims == dims:
        return x
    if x.is_scalar:
        return emit_value("splat", (x,), x.element, dims)
    while len(x.dims) < len(dims):
        x = emit_value("expand_dims", (x,), x.element, (1, *x.dims), {"axis": 0})
    if x.dims != dims:
        x = emit_value("broadcast", (x,), x.element, dims)
    return x


def broadcast_pair(a: tensor, b: tensor, what: str = "operation") -> tuple[tensor, tensor]:
    """Both operands in their common shape.

    Raises:
        ShapeMismatch: They have none.
    """
    first, second = broadcast_all((a, b), what)
    return first, second


def broadcast_all(operands: Sequence[tensor], what: str) -> tuple[tensor, ...]:
    """All operands in their common shape; scalars stay scalars when all are.

    Raises:
        ShapeMismatch: They have none.
    """
    common: tuple[int, ...] = ()
    for operand in operands:
        merged = broadcast_shape(common, operand.dims)
        if merged is None:
            shapes = " and ".join(dims_text(x.dims) for x in operands if x.dims)
            labels = ("left", "right") if len(operands) == 2 else tuple(f"operand {i}" for i in range(9))
            raise ShapeMismatch(
                f"{what}: shapes {shapes} do not fit together",
                facts=tuple(fact(label, x) for label, x in zip(labels, operands, strict=False)),
                help="extents must be equal or 1, counted from the last; x[:, None] adds an axis of extent 1",
            )
        common = merged
    return tuple(stretch(operand, common) for operand in operands)


# -- user functions inside builtins ----------------------------------------------------------------


def _call_directly(function: Any, args: Sequence[Any]) -> Any:
    return getattr(function, "fn", function)(*args)


_call_hook: Callable[[Any, Sequence[Any]], Any] = _call_directly


def set_call_function(hook: Callable[[Any, Sequence[Any]], Any]) -> None:
    """Installs the front end's way of inlining a user function (JitFunction or plain function)."""
    global _call_hook
    _call_hook = hook


def call_function(function: Any, args: Sequence[Any]) -> Any:
    """Inlines a user function, such as the combine function of `tl.reduce`; returns what it returns.

    Without a front end the function is simply called, which suffices for straight-line code.
    """
    return _call_hook(unwrap(function), args)


# -- NumPy meanings --------------------------------------------------------------------------------

Meaning = Callable[..., Any]
MEANINGS: dict[str, Meaning] = {}


def meaning(op_name: str) -> Callable[[_Function], _Function]:
    """Registers ``fn(ctx, op, *inputs) -> array | tuple | None``, the meaning of an IR operation.

    Tiles are arrays of the tile's shape, scalars are 0-d arrays or NumPy scalars.
    """

    def register(function: _Function) -> _Function:
        if op_name in MEANINGS:
            raise RuntimeError(f"operation {op_name} has two meanings")
        MEANINGS[op_name] = function
        return function

    return register
