"""Memory: arguments and shared buffers as regions, loads, stores and atomics with every access checked."""

from __future__ import annotations

import bisect
import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.eager.checks import choice
from tle2cuda.eager.numbers import MEMORY, VALUES, Array, from_bits, round_to, to_bits
from tle2cuda.eager.operators import Coded, cast, encoded
from tle2cuda.eager.program import current
from tle2cuda.eager.values import Tile, describe, is_number, method, to_tile
from tle2cuda.errors import (
    DTypeMismatch,
    InterpreterError,
    InvalidArgument,
    InvalidType,
    OffsetOverflow,
    OutOfBounds,
    ShapeMismatch,
)
from tle2cuda.ir.types import BF16, BOOL, F8E4B15, F16, F32, F64, U8, DType
from tle2cuda.ops.values import pointer_type
from tle2cuda.runtime.live_arrays import LiveArrays


class Region:
    """A run of bytes that pointers may point into: an argument, or a shared buffer.

    Args:
        name: The parameter's or the buffer's name.
        array: Its elements; strided ones cover all bytes from the first to the last.
        kind: ``argument`` or ``shared memory``.
        track: Remember which bytes were written, and refuse reads of others.
    """

    __slots__ = ("base", "bytes", "kind", "name", "nbytes", "shape", "views", "writeable", "written")

    def __init__(self, name: str, array: Array, kind: str = "argument", track: bool = False) -> None:
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (array.ctypes.data, array.ctypes.data)
        self.name, self.kind = name, kind
        self.base, self.nbytes = int(low), int(high - low)
        self.shape = array.shape
        self.writeable = array.flags.writeable
        raw: Any = (ctypes.c_ubyte * self.nbytes).from_address(self.base)
        self.bytes = np.frombuffer(raw, np.uint8) if self.nbytes else np.empty(0, np.uint8)
        self.views: dict[np.dtype[Any], Array] = {}
        self.written = np.zeros(self.nbytes, np.bool_) if track else None

    def view(self, dtype: np.dtype[Any]) -> Array:
        """All whole elements of a dtype, from the first byte on."""
        found = self.views.get(dtype)
        if found is None:
            whole = self.nbytes // dtype.itemsize * dtype.itemsize
            found = self.views[dtype] = self.bytes[:whole].view(dtype)
        return found


class Memory:
    """All regions of a launch, found by address."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._regions: list[Region] = []
        self._live = LiveArrays()

    def reach(self, addresses: Array) -> None:
        """Registers the arrays of the program that hold addresses, as read from a table of pointers."""
        for address in dict.fromkeys(addresses.reshape(-1).tolist()):
            array = self._live.at(address) if address and self.find(address) is None else None
            if array is not None:
                self.add(Region(f"the array at {array.ctypes.data:#x}", array, "memory"))

    def add(self, region: Region) -> Region:
        """Registers a region; a later one at the same address wins."""
        at = bisect.bisect_right(self._bases, region.base)
        self._bases.insert(at, region.base)
        self._regions.insert(at, region)
        return region

    def find(self, address: int) -> Region | None:
        """The region an address lies in."""
        at = bisect.bisect_right(self._bases, address) - 1
        while at >= 0:
            region = self._regions[at]
            if region.base <= address < region.base + max(region.nbytes, 1):
                return region
            at -= 1
        return None


# -- checking accesses --------------------------------------------------------------------------------

Part = tuple[Region, Array, Any]
"""A region, the element numbers accessed in it, and their positions among the accessed elements (None: all)."""


def _pointee(pointer: Tile) -> DType:
    assert isinstance(pointer.dtype, pointer_type)
    return pointer.dtype.element_ty


def _first(bad: Array, selected: Array | None, shape: tuple[int, ...]) -> list[int]:
    """Position in the tile of the first bad one of the accessed elements."""
    flat = int(np.argmax(bad))
    if selected is not None:
        flat = int(np.flatnonzero(selected)[flat])
    return [int(i) for i in np.unravel_index(flat, shape)] if shape else []


def _locate(pointer: Tile, mask: Array | None, what: str, writes: bool) -> list[Part]:
    """Where the elements that the mask selects lie; every one of them is checked."""
    shape = pointer.data.shape
    addresses = pointer.data.reshape(-1) if mask is None else pointer.data[mask]
    if not addresses.size:
        return []
    if pointer.exact is not None:
        exact = pointer.exact.reshape(-1) if mask is None else pointer.exact[mask]
        if (exact != addresses).any():
            raise _wrapped(pointer, addresses, exact, mask, what)
    dtype = MEMORY[_pointee(pointer)]
    if pointer.region is not None:
        return [(pointer.region, _elements(pointer.region, addresses, dtype, pointer, mask, what, writes), None)]
    parts: list[Part] = []
    left = np.ones(addresses.size, np.bool_)
    while left.any():
        at = int(np.argmax(left))
        region = current().memory.find(int(addresses[at]))
        if region is None:
            place = _place(_first(np.arange(addresses.size) == at, mask, shape))
            raise OutOfBounds(
                f"{what}{place} accesses address {int(addresses[at]):#x}, which lies in no known array",
                facts=current().facts(),
                help="an array that is reached through a table of pointers must be alive, and lie in host memory",
            )
        inside = left & (addresses >= region.base) & (addresses < region.base + region.nbytes)
        positions = np.flatnonzero(inside)
        if not positions.size:
            positions = np.array([at])
        elements = _elements(region, addresses[positions], dtype, pointer, None, what, writes)
        parts.append((region, elements, positions))
        left[positions] = False
    return parts


def _place(position: list[int]) -> str:
    return f": element {position}" if position else ""


def _elements(
    region: Region, addresses: Array, dtype: np.dtype[Any], pointer: Tile, mask: Array | None, what: str, writes: bool
) -> Array:
    """Element numbers of addresses in a region."""
    offsets = addresses - region.base
    size = dtype.itemsize
    low, high = int(offsets.min()), int(offsets.max())
    if low < 0 or high > region.nbytes - size:
        bad = (offsets < 0) | (offsets > region.nbytes - size)
        raise _outside(region, offsets, bad, pointer, mask, what)
    elements = offsets // size if size > 1 else offsets
    if size > 1 and (elements * size != offsets).any():
        bad = elements * size != offsets
        place = _place(_first(bad, mask, pointer.data.shape))
        raise OutOfBounds(
            f"{what}{place} accesses byte {int(offsets[np.argmax(bad)])} of `{region.name}`, which is not aligned to "
            f"{size} bytes",
            facts=current().facts(),
        )
    if writes and not region.writeable:
        raise InterpreterError(f"{what} writes `{region.name}`, which is read-only", facts=current().facts())
    return elements


def _outside(region: Region, offsets: Array, bad: Array, pointer: Tile, mask: Array | None, what: str) -> OutOfBounds:
    size = _pointee(pointer).bytes
    position = _first(bad, mask, pointer.data.shape)
    element = int(offsets[np.argmax(bad)]) // size
    count = region.nbytes // size
    where = _place(position)
    facts = [f"`{region.name}`: {region.kind} of {count} elements of {size} bytes, shape {list(region.shape)}"]
    if bad.sum() > 1:
        facts.append(f"{int(bad.sum())} elements are outside")
    return OutOfBounds(
        f"{what}{where} accesses element {element} of `{region.name}`, which has {count}",
        facts=(*facts, *current().facts()),
        help="give a mask that is false there, such as mask=i < n",
    )


def _wrapped(pointer: Tile, addresses: Array, exact: Array, mask: Array | None, what: str) -> OffsetOverflow:
    size = _pointee(pointer).bytes
    bad = exact != addresses
    at = int(np.argmax(bad))
    base = pointer.region.base if pointer.region is not None else int(exact[at])
    name = pointer.region.name if pointer.region is not None else "the pointer"
    place = _place(_first(bad, mask, pointer.data.shape))
    return OffsetOverflow(
        f"{what}{place}: the offset wrapped in 32 bits before it reached the pointer: "
        f"{(int(exact[at]) - base) // size} became {(int(addresses[at]) - base) // size} elements from `{name}`",
        facts=current().facts(),
        help="compute the offset in 64 bits: tl.program_id(0).to(tl.int64), or x.to(tl.int64) before multiplying",
    )


# -- operands -----------------------------------------------------------------------------------------


def _pointer(x: Any, what: str) -> Tile:
    if not isinstance(x, Tile) or not x.is_pointer:
        raise InvalidType(f"{what} takes a pointer or a tile of pointers, got {describe(x)}")
    return x


def _mask(mask: Any, what: str) -> Tile | None:
    if mask is None:
        return None
    value = to_tile(bool(mask) if is_number(mask) else mask, what)
    if value.is_pointer or value.dtype is not BOOL:
        raise DTypeMismatch(
            f"{what}: the mask must be bool (int1), got {describe(value)}", help="compare it, such as m != 0"
        )
    return value


def mask_for(mask: Any, shape: tuple[int, ...], what: str) -> Array:
    """A bool mask in a shape.

    Raises:
        DTypeMismatch: It is not bool.
        ShapeMismatch: It does not stretch to the shape.
    """
    value = _mask(mask, what)
    assert value is not None
    try:
        return np.broadcast_to(value.data, shape)
    except ValueError:
        raise ShapeMismatch(f"{what}: the mask of shape {list(value.shape)} does not fit {list(shape)}") from None


def _stretch(x: Tile, shape: tuple[int, ...], name: str, what: str) -> Array:
    if x.data.shape == shape:
        return x.data
    try:
        return np.broadcast_to(x.data, shape)
    except ValueError:
        if not shape:
            raise ShapeMismatch(f"{what}: {name} must be a scalar, as the pointer is, got {describe(x)}") from None
        raise ShapeMismatch(f"{what}: {name} of shape {list(x.shape)} does not fit pointers {list(shape)}") from None


def _value(x: Any, dtype: DType, shape: tuple[int, ...], name: str, what: str) -> Array:
    return _stretch(cast(to_tile(x, what), dtype), shape, name, what)


# -- loads and stores ---------------------------------------------------------------------------------

_LOAD_CACHES = ("", ".ca", ".cg", ".cs", ".cv")
_STORE_CACHES = ("", ".wb", ".cg", ".cs", ".wt")
_EVICTIONS = ("", "evict_first", "evict_last")


def _to_bytes(pointer: Tile) -> Tile:
    """Pointers to float8e4b15 as pointers to the bytes."""
    return Tile(pointer.data, pointer_type(U8), pointer.exact, pointer.region)


def _refuse_block_options(boundary_check: Any, padding_option: Any, what: str) -> None:
    for name, value in (("boundary_check", boundary_check), ("padding_option", padding_option)):
        if value not in ((), [], None, ""):
            raise InvalidArgument(
                f"{what}: {name} belongs to block pointers, this is a tile of pointers or a scalar",
                help="use mask= and other= with pointers",
            )


@method
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> Tile:
    """`tl.load`."""
    if hasattr(pointer, "load_block"):
        if mask is not None or other is not None:
            raise InvalidArgument("tl.load: mask and other do not go with a block pointer", help="use boundary_check")
        block: Tile = pointer.load_block(boundary_check, padding_option)
        return block
    what = "tl.load"
    choice(cache_modifier, _LOAD_CACHES, f"{what}: cache_modifier")
    choice(eviction_policy, _EVICTIONS, f"{what}: eviction_policy")
    address = _pointer(pointer, what)
    _refuse_block_options(boundary_check, padding_option, what)
    if _pointee(address) is F8E4B15:
        filled = None if other is None else Tile(encoded(other), U8)
        loaded: Any = Coded(load(_to_bytes(address), mask, filled).data)
        return loaded  # type: ignore[no-any-return]  # it converts to a tile, and does nothing else
    if other is not None and mask is None:
        raise InvalidArgument(f"{what}: other is given without mask", help="give mask= too, or leave other out")
    condition = _mask(mask, what)
    if condition is not None and address.shape:
        try:
            address = address.stretched(np.broadcast_shapes(address.shape, condition.shape))
        except ValueError:
            raise ShapeMismatch(
                f"{what}: the mask of shape {list(condition.shape)} does not fit pointers {list(address.shape)}"
            ) from None
    shape = address.data.shape
    enabled = None if condition is None else _stretch(condition, shape, "mask", what)
    dtype = _pointee(address)
    default = None if other is None else _value(other, dtype, shape, "other", what)
    current().note_access(address)
    return Tile(_gather(address, enabled, default, dtype, what), dtype)


def _gather(address: Tile, enabled: Array | None, default: Array | None, dtype: DType, what: str) -> Array:
    shape = address.data.shape
    parts = _locate(address, enabled, what, writes=False)
    memory_dtype = MEMORY[dtype]
    for region, elements, _ in parts:
        _check_written(region, elements, memory_dtype.itemsize, what)
    if enabled is None and len(parts) == 1 and parts[0][2] is None:
        return from_bits(parts[0][0].view(memory_dtype)[parts[0][1]], dtype).reshape(shape)
    count = address.data.size if enabled is None else int(np.count_nonzero(enabled))
    found = np.zeros(count, memory_dtype)
    for region, elements, positions in parts:
        found[slice(None) if positions is None else positions] = region.view(memory_dtype)[elements]
    values = from_bits(found, dtype)
    if enabled is None:
        return values.reshape(shape)
    result = np.zeros(shape, VALUES[dtype]) if default is None else np.array(default)
    result[enabled] = values
    return result


def _check_written(region: Region, elements: Array, size: int, what: str) -> None:
    if region.written is None:
        return
    known = region.written[elements * size]
    if not known.all():
        at = int(elements[np.argmin(known)])
        raise InterpreterError(
            f"{what} reads element {at} of `{region.name}` before anything was written to it", facts=current().facts()
        )


def _mark_written(region: Region, elements: Array, size: int) -> None:
    if region.written is not None:
        for byte in range(size):
            region.written[elements * size + byte] = True


@method
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """`tl.store`."""
    if hasattr(pointer, "store_block"):
        if mask is not None:
            raise InvalidArgument("tl.store: mask does not go with a block pointer", help="use boundary_check")
        pointer.store_block(value, boundary_check)
        return
    what = "tl.store"
    choice(cache_modifier, _STORE_CACHES, f"{what}: cache_modifier")
    choice(eviction_policy, _EVICTIONS, f"{what}: eviction_policy")
    address = _pointer(pointer, what)
    _refuse_block_options(boundary_check, "", what)
    if _pointee(address) is F8E4B15:
        address, value = _to_bytes(address), Tile(encoded(value), U8)
    dtype = _pointee(address)
    shape = address.data.shape
    values = _value(value, dtype, shape, "value", what)
    condition = _mask(mask, what)
    enabled = None if condition is None else _stretch(condition, shape, "mask", what)
    scatter(address, values, enabled, dtype, what)


def scatter(address: Tile, values: Array, enabled: Array | None, dtype: DType, what: str) -> None:
    """Stores the elements that the mask selects; of equal addresses the last one wins."""
    bits = to_bits(values, dtype).reshape(-1) if enabled is None else to_bits(values[enabled], dtype)
    memory_dtype = MEMORY[dtype]
    for region, elements, positions in _locate(address, enabled, what, writes=True):
        region.view(memory_dtype)[elements] = bits if positions is None else bits[positions]
        _mark_written(region, elements, memory_dtype.itemsize)
    current().note_change()


# -- atomics ------------------------------------------------------------------------------------------

_SEMANTICS = ("acq_rel", "acquire", "release", "relaxed")
_SCOPES = ("gpu", "cta", "sys")
_FLOATS: dict[str, tuple[DType, ...]] = {
    "add": (F16, BF16, F32, F64),
    "max": (F32, F64),
    "min": (F32, F64),
    "xchg": (F32, F64),
}

_UPDATES: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "xchg": lambda old, new: new,
}


def _check_order(sem: Any, scope: Any, what: str) -> None:
    if sem is not None and sem not in _SEMANTICS:
        raise InvalidArgument(f"{what}: sem must be one of {', '.join(map(repr, _SEMANTICS))}, got {sem!r}")
    if scope is not None and scope not in _SCOPES:
        raise InvalidArgument(f"{what}: scope must be one of {', '.join(map(repr, _SCOPES))}, got {scope!r}")


def _updated(kind: str, old: Array, new: Array, dtype: DType) -> Array:
    """Bits in memory after one update each."""
    if dtype.is_floating() and kind == "add":
        wide = np.float64 if dtype is F64 else np.float32
        total = np.asarray(from_bits(old, dtype).astype(wide) + from_bits(new, dtype).astype(wide))
        return to_bits(round_to(total, dtype), dtype)
    if dtype.is_floating() and kind in ("max", "min"):
        # By bit patterns: as integers for values without sign, in reverse for those with one.
        raw, signed = np.dtype(f"u{dtype.bytes}"), np.dtype(f"i{dtype.bytes}")
        a, b = old.view(raw), new.view(raw)
        plain = (np.maximum if kind == "max" else np.minimum)(old.view(signed), new.view(signed)).view(raw)
        reverse = (np.minimum if kind == "max" else np.maximum)(a, b)
        return np.asarray(np.where(np.signbit(new), reverse, plain).view(old.dtype))
    return _UPDATES[kind](old, new)


def _rounds(elements: Array) -> list[Array | slice]:
    """Positions such that each round meets no element twice, in the order in which they come."""
    if elements.size == 1 or np.unique(elements).size == elements.size:
        return [slice(None)]
    order = np.argsort(elements, kind="stable")
    ordered = elements[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.concatenate([starts, [elements.size]]))
    turn = np.empty(elements.size, np.int64)
    turn[order] = np.arange(elements.size) - np.repeat(starts, lengths)
    return [np.flatnonzero(turn == number) for number in range(int(lengths.max()))]


def _update(address: Tile, enabled: Array | None, dtype: DType, what: str, step: Callable[[Array, Any], Array]) -> Tile:
    """Applies `step(old bits, positions) -> new bits` to each selected element; returns the old values."""
    program = current()
    program.note_access(address)
    memory_dtype = MEMORY[dtype]
    count = address.data.size if enabled is None else int(np.count_nonzero(enabled))
    before = np.zeros(count, memory_dtype)
    changed = False
    for region, elements, positions in _locate(address, enabled, what, writes=True):
        where = np.arange(elements.size) if positions is None else positions
        view = region.view(memory_dtype)
        _check_written(region, elements, memory_dtype.itemsize, what)
        for turn in _rounds(elements):
            at, places = elements[turn], where[turn]
            old = view[at]
            before[places] = old
            new = step(old, places)
            changed = changed or bool((new != old).any())
            view[at] = new
        _mark_written(region, elements, memory_dtype.itemsize)
    if changed:
        program.note_change()
    values = from_bits(before, dtype)
    if enabled is None:
        return Tile(values.reshape(address.data.shape), dtype)
    result = np.zeros(address.data.shape, VALUES[dtype])
    result[enabled] = values
    return Tile(result, dtype)


def _rmw(kind: str, pointer: Any, val: Any, mask: Any, sem: Any, scope: Any) -> Tile:
    what = f"tl.atomic_{kind}"
    address = _pointer(pointer, what)
    dtype = _pointee(address)
    if not (dtype.is_int() and dtype.bits >= 32) and dtype not in _FLOATS.get(kind, ()):
        raise DTypeMismatch(f"{what} does not work on {dtype.label}")
    _check_order(sem, scope, what)
    shape = address.data.shape
    values = _value(val, dtype, shape, "val", what)
    condition = _mask(mask, what)
    enabled = None if condition is None else _stretch(condition, shape, "mask", what)
    bits = to_bits(values, dtype).reshape(-1) if enabled is None else to_bits(values[enabled], dtype)
    return _update(address, enabled, dtype, what, lambda old, at: _updated(kind, old, bits[at], dtype))


def _define(kind: str) -> Callable[..., Tile]:
    def function(pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> Tile:
        return _rmw(kind, pointer, val, mask, sem, scope)

    function.__name__ = function.__qualname__ = f"atomic_{kind}"
    return method(function)


ATOMICS = {f"atomic_{kind}": _define(kind) for kind in _UPDATES}


@method
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> Tile:
    """`tl.atomic_cas`: compares bits."""
    what = "tl.atomic_cas"
    address = _pointer(pointer, what)
    dtype = _pointee(address)
    if dtype.bits not in (16, 32, 64):
        raise DTypeMismatch(f"{what} works on elements of 16, 32 or 64 bits, not on {dtype.label}")
    _check_order(sem, scope, what)
    shape = address.data.shape
    raw = np.dtype(f"u{dtype.bytes}")
    expected = np.ascontiguousarray(to_bits(_value(cmp, dtype, shape, "cmp", what), dtype).reshape(-1)).view(raw)
    desired = np.ascontiguousarray(to_bits(_value(val, dtype, shape, "val", what), dtype).reshape(-1))

    def step(old: Array, at: Any) -> Array:
        return np.where(old.view(raw) == expected[at], desired[at], old)

    return _update(address, None, dtype, what, step)
