"""What Triton 3.9 has and 3.6 lacks: atomic loads, stores and polling, `squeeze`, `unsqueeze`, `to_tensor`, `expect_zero`.

Kernels that are read by the rules of 3.6 get an error that names the setting (`tle2cuda.levels`).
"""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Region, Value
from tle2cuda.ir.types import BOOL, I64, DType, PointerType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import pointee
from tle2cuda.ops.atomics import exchange, unchanged
from tle2cuda.ops.core import (
    builtin,
    dtype_from_ir,
    emit_value,
    fact,
    static_axis,
    static_value,
    tensor,
    tensor_member,
    unwrap,
)
from tle2cuda.ops.core import to_tensor as as_tensor
from tle2cuda.ops.device_info import globaltimer
from tle2cuda.ops.histogram import mask_operand
from tle2cuda.ops.level import only_in_3_9
from tle2cuda.ops.memory import optional_mask, pointer_operand, value_operand
from tle2cuda.ops.shape import expand_dims, reshape

# -- shapes and values --------------------------------------------------------------------------------------


@builtin
@tensor_member
def squeeze(x: Any, dim: Any) -> tensor:
    """`x` without an axis of extent 1.

    Args:
        x: Tile.
        dim: Axis, negative ones from the end (constexpr).

    Raises:
        NotSupported: By the rules of Triton 3.6.
        ShapeMismatch: The axis is longer.

    Example:
        ``row = tl.squeeze(tl.sum(x, 0, keep_dims=True), 0)``
    """
    only_in_3_9("tl.squeeze")
    value = as_tensor(x)
    axis = static_axis(dim, len(value.dims), "tl.squeeze")
    if value.dims[axis] != 1:
        raise ShapeMismatch(
            f"tl.squeeze: axis {axis} has {value.dims[axis]} elements, only one of 1 can go",
            facts=(fact("x", value),),
            help="tl.sum, tl.max and the like take an axis away",
        )
    shape = (*value.dims[:axis], *value.dims[axis + 1 :])
    result: tensor = reshape(value, shape)
    return result


@builtin
@tensor_member
def unsqueeze(x: Any, dim: Any) -> tensor:
    """`x` with an axis of extent 1 put in at `dim`, as `expand_dims`.

    Args:
        x: Tile or scalar.
        dim: Position in the result, negative ones from its end (constexpr).

    Raises:
        NotSupported: By the rules of Triton 3.6.

    Example:
        ``column = tl.unsqueeze(x, 1)``
    """
    only_in_3_9("tl.unsqueeze")
    result: tensor = expand_dims(x, dim)
    return result


@builtin
def to_tensor(x: Any) -> tensor:
    """A number as a run-time scalar: int32, a wider integer where it must be, or float32. Tiles and scalars stay.

    Args:
        x: Number, scalar or tile.

    Raises:
        NotSupported: By the rules of Triton 3.6.

    Example:
        ``wait = tl.to_tensor(100)``
    """
    only_in_3_9("tl.to_tensor")
    return as_tensor(x)


@builtin
def expect_zero(x: Any, mask: Any) -> tensor:
    """`x` itself. Says that it is zero where `mask` holds, which nothing here makes use of.

    Args:
        x: Tile or scalar.
        mask: bool of a shape that broadcasts to that of `x`.

    Raises:
        NotSupported: By the rules of Triton 3.6.
        DTypeMismatch: `mask` is not bool.

    Example:
        ``p = tl.expect_zero(tl.exp(s), s < -200.0)``
    """
    only_in_3_9("tl.expect_zero")
    value = as_tensor(x)
    condition = optional_mask(mask)
    if condition is not None:
        mask_operand(condition, value.dims, "tl.expect_zero")
    return value


# -- atomics ------------------------------------------------------------------------------------------------


def _order(sem: Any, allowed: tuple[str, str], what: str) -> str:
    """Memory order: the first of `allowed` unless the caller says otherwise."""
    given = static_value(sem, f"{what}: sem")
    order = allowed[0] if given is None else given
    if order not in allowed:
        known = ", ".join(repr(choice) for choice in allowed)
        raise InvalidArgument(f"{what}: sem must be one of {known}, got {order!r}")
    return str(order)


def _as_integers(pointer: Any, what: str) -> tuple[tensor, DType, DType]:
    """The pointer as one to unsigned integers, their dtype, and that of the elements."""
    address = pointer_operand(pointer, what)
    dtype = pointee(address)
    if dtype.bits not in (16, 32, 64) or dtype is BOOL:
        raise DTypeMismatch(
            f"{what} works on elements of 16, 32 or 64 bits, not on {dtype.label}", facts=(fact("pointer", address),)
        )
    words = DType(f"uint{dtype.bits}")
    assert isinstance(address.element, PointerType)
    space = address.element.space
    pointer_to_words = dtype_from_ir(PointerType(words, space))
    assert isinstance(pointer_to_words, core.pointer_type)
    return core.cast(address, pointer_to_words), words, dtype


@builtin
@tensor_member
def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Loads from memory that other programs write meanwhile, each element once, a scalar once per CTA.

    It is an atomic that changes nothing, so the memory must be writable.

    Args:
        pointer: Pointer, or tile of pointers, to elements of 16, 32 or 64 bits.
        mask: bool, broadcast to the pointer's shape. Masked-off elements are not touched and give 0.
        sem: ``"acquire"`` (default) or ``"relaxed"``.
        scope: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.

    Raises:
        NotSupported: By the rules of Triton 3.6.
        InvalidType: `pointer` is no pointer.
        DTypeMismatch: Elements of another width, or a mask that is not bool.
        InvalidArgument: Another `sem` or `scope`.

    Example:
        ``ready = tl.atomic_load(flags + i, mask=i < n)``
    """
    only_in_3_9("tl.atomic_load")
    order = _order(sem, ("acquire", "relaxed"), "tl.atomic_load")
    return _loaded(pointer, mask, order, scope, "tl.atomic_load")


def _loaded(pointer: Any, mask: Any, order: str, scope: Any, what: str) -> tensor:
    address, words, dtype = _as_integers(pointer, what)
    bits = unchanged(address, mask, order, scope, what)
    return bits if dtype is words else emit_value("bitcast", (bits,), dtype, bits.dims)


@builtin
@tensor_member
def atomic_store(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> None:
    """Stores to memory that other programs read meanwhile, each element once, a scalar once per CTA.

    Args:
        pointer: Pointer, or tile of pointers, to elements of 16, 32 or 64 bits.
        val: Converted to the pointee dtype and broadcast to the pointer's shape.
        mask: bool, broadcast to the pointer's shape. Masked-off elements are not touched.
        sem: ``"release"`` (default) or ``"relaxed"``.
        scope: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.

    Raises:
        NotSupported: By the rules of Triton 3.6.
        InvalidType: `pointer` is no pointer.
        DTypeMismatch: Elements of another width, or a mask that is not bool.
        ShapeMismatch: `val` or `mask` does not fit the pointer's shape.
        InvalidArgument: Another `sem` or `scope`.

    Example:
        ``tl.atomic_store(flags + pid, 1)``
    """
    what = "tl.atomic_store"
    only_in_3_9(what)
    order = _order(sem, ("release", "relaxed"), what)
    address, words, dtype = _as_integers(pointer, what)
    value = value_operand(val, dtype, address.dims, "val", what)
    bits = value if dtype is words else emit_value("bitcast", (value,), words, value.dims)
    exchange(address, bits, mask, order, scope, what)


@builtin
@tensor_member
def atomic_poll(pointer: Any, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None) -> tensor:
    """Loads from memory again and again until it holds a value, or the time is over.

    Args:
        pointer: Pointer to an integer of 16, 32 or 64 bits.
        expected_value: What ends the wait, converted to the pointee dtype.
        sem: ``"acquire"`` (default) or ``"relaxed"``.
        scope: ``"cta"``, ``"gpu"`` (default) or ``"sys"``.
        timeout_ns: Nanoseconds to wait at most, 0 for a single load; None waits for ever.

    Returns:
        Whether the value was seen, a bool.

    Raises:
        NotSupported: By the rules of Triton 3.6.
        InvalidType: `pointer` is no pointer.
        DTypeMismatch: No integer, or one of 8 bits.
        ShapeMismatch: A tile of pointers.
        InvalidArgument: Another `sem` or `scope`.

    Example:
        ``tl.atomic_poll(flag, 1)``
    """
    what = "tl.atomic_poll"
    only_in_3_9(what)
    order = _order(sem, ("acquire", "relaxed"), what)
    address = pointer_operand(pointer, what)
    dtype = pointee(address)
    if not dtype.is_int() or dtype.bits < 16:
        raise DTypeMismatch(
            f"{what} works on integers of 16, 32 or 64 bits, not on {dtype.label}", facts=(fact("pointer", address),)
        )
    if address.dims:
        raise ShapeMismatch(
            f"{what} takes one pointer, got {core.describe_type(address)}",
            facts=(fact("pointer", address),),
            help="poll in a loop with tl.atomic_load",
        )
    wanted = value_operand(expected_value, dtype, (), "expected_value", what)
    limit = None if unwrap(timeout_ns) is None else core.cast(as_tensor(timeout_ns), I64)
    begin = None if limit is None else globaltimer()

    def load() -> tensor:
        return _loaded(address, None, order, scope, what)

    def goes_on(seen: tensor) -> tensor:
        differs = _compare("ne", seen, wanted)
        if limit is None or begin is None:
            return differs
        waited = emit_value("sub", (globaltimer(), begin), I64, ())
        return emit_value("and", (differs, _compare("lt", waited, limit)), BOOL, ())

    found = _repeated(load, goes_on)
    return _compare("eq", found, wanted)


def _compare(predicate: str, a: tensor, b: tensor) -> tensor:
    """A comparison of two scalars of one dtype."""
    return emit_value("cmp", (a, b), BOOL, (), {"predicate": predicate})


def _repeated(load: Any, goes_on: Any) -> tensor:
    """What `load` gave when `goes_on` of it was false for the first time, as a `while` of the IR."""
    emitter = builder.current()
    first = load()
    type_ = first.value.type
    kept, next_ = Value(type_), Value(type_)
    with emitter.region() as condition:
        emitter.emit("condition", (goes_on(tensor(kept)).value, kept))
    with emitter.region() as body:
        emitter.emit("yield", (load().value,))
    regions = (Region((kept,), tuple(condition)), Region((next_,), tuple(body)))
    (result,) = emitter.emit("while", (first.value,), (type_,), None, regions)
    return tensor(result)
