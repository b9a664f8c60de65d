"""`tl.dot`, block pointers and tensor descriptors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tle2cuda.eager import rules
from tle2cuda.eager.checks import choice, gone_in_3_9
from tle2cuda.eager.memory import ATOMICS, load, store
from tle2cuda.eager.numbers import Array, round_to
from tle2cuda.eager.operators import cast, compute
from tle2cuda.eager.values import (
    Tile,
    as_dtype,
    describe,
    numeric,
    static_int,
    to_tile,
    watched,
    without_width,
)
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import BF16, BOOL, F8E4NV, F8E5, F16, F32, F64, I32, I64, U8, DType
from tle2cuda.ops.block_pointers import block_pointer_type
from tle2cuda.ops.descriptors import tensor_descriptor_type
from tle2cuda.ops.values import block_type, pointer_type

# -- dot ----------------------------------------------------------------------------------------------


def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = F32,
) -> Tile:
    """`tl.dot`, every product exact, sums in float64, rounded once."""
    a, b = rules.factor(input, "input", "tl.dot"), rules.factor(other, "other", "tl.dot")
    rules.dot_operands(a, b, "tl.dot")
    rules.dot_options(a, input_precision, allow_tf32, max_num_imprecise_acc, "tl.dot")
    result = rules.dot_result(a.dtype, out_dtype, "tl.dot")
    if result is I32:
        wide = np.matmul(without_width(a), without_width(b))
        whole = watched(np.matmul(a.data.astype(np.int64), b.data.astype(np.int64)).astype(np.int32), I32, wide)
        product = whole.data
    else:
        product = round_to(
            np.matmul(a.data.astype(np.float64), b.data.astype(np.float64)), F64 if acc is not None else result
        )
    if acc is None:
        return whole if result is I32 else Tile(product, result)
    start = rules.accumulator(acc, result, product.shape, "tl.dot")
    if result is I32:
        return compute("+", whole, start, I32)
    return Tile(round_to(product + start.data.astype(np.float64), result), result)


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_STORED = {"e2m1": U8, "e4m3": F8E4NV, "e5m2": F8E5, "bf16": BF16, "fp16": F16}


def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = F32,
) -> Tile:
    """`tl.dot_scaled`: operands made bfloat16 (float16 when one is), scaled there, and multiplied."""
    if as_dtype(out_dtype, "tl.dot_scaled: out_dtype") is not F32:
        raise InvalidArgument("tl.dot_scaled: out_dtype must be tl.float32")
    for x, format_, packed, name in ((lhs, lhs_format, lhs_k_pack, "lhs"), (rhs, rhs_format, rhs_k_pack, "rhs")):
        choice(format_, tuple(_STORED), f"tl.dot_scaled: {name}_format")
        rules.scaled_operand(x, format_, packed, name, "tl.dot_scaled")
    dtype = F16 if "fp16" in (lhs_format, rhs_format) else BF16
    a = _scaled_operand(lhs, lhs_scale, lhs_format, -1 if lhs_k_pack else -2, dtype, "lhs")
    turned = Tile(numeric(rhs, "tl.dot_scaled").data.swapaxes(-1, -2), numeric(rhs, "tl.dot_scaled").dtype)
    b = _scaled_operand(turned, rhs_scale, rhs_format, -1 if rhs_k_pack else -2, dtype, "rhs")
    return dot(a, Tile(b.data.swapaxes(-1, -2), dtype), acc)


def _scaled_operand(x: Any, scale: Any, format_: Any, packed: int, dtype: DType, name: str) -> Tile:
    """An operand with K last, unpacked, scaled along K."""
    value = numeric(x, "tl.dot_scaled")
    stored = _STORED.get(format_)
    if stored is None:
        raise InvalidArgument(f"tl.dot_scaled: {name}_format must be one of {', '.join(_STORED)}, got {format_!r}")
    if value.dtype is U8 and stored.is_fp8():
        value = cast(value, stored, bitcast=True)
    if value.dtype is not stored:
        raise DTypeMismatch(
            f"tl.dot_scaled: {name} of the format {format_} must be {stored.label}, got {value.dtype.label}"
        )
    if format_ == "e2m1":
        codes = np.moveaxis(value.data, packed, -1)
        pairs = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], -1)
        numbers = np.where(pairs & 8, -_E2M1[pairs & 7], _E2M1[pairs & 7])
        value = Tile(np.moveaxis(numbers, -1, packed), F32)
    narrow: Tile = cast(value, dtype)
    if scale is None:
        return narrow
    return _apply_scale(narrow, rules.scale_of(scale, name, "tl.dot_scaled"), dtype, name)


def _apply_scale(x: Tile, scale: Tile, dtype: DType, name: str) -> Tile:
    group = 16 if scale.dtype is F8E4NV else 32
    if scale.shape != (*x.shape[:-1], x.shape[-1] // group):
        raise ShapeMismatch(f"tl.dot_scaled: {name}_scale of shape {list(scale.shape)} does not fit {describe(x)}")
    if scale.dtype is F8E4NV:
        factor = cast(scale, dtype).data.astype(np.float32)
        unknown = np.isnan(factor)
    else:
        codes = scale.data.astype(np.uint8)
        # Exponents with bias 127, as the bits of a float; 0 gives 0, and 255 stands for NaN.
        wide = (codes.astype(np.uint32) << np.uint32(23)).view(np.float32)
        factor = round_to(wide, dtype).astype(np.float32)
        unknown = codes == 255
    product = x.data.astype(np.float32) * np.repeat(factor, group, -1)
    return Tile(round_to(np.where(np.repeat(unknown, group, -1), np.float32(np.nan), product), dtype), dtype)


# -- tiles of memory ----------------------------------------------------------------------------------


def _spread(extent_index: int, rank: int, values: Array) -> Array:
    return values.reshape(tuple(-1 if axis == extent_index else 1 for axis in range(rank)))


class _Number(NamedTuple):
    """An offset or a stride, and what it would be without a width."""

    value: int
    exact: int


def _numbers(given: Any) -> list[_Number]:
    tiles = [to_tile(x) for x in given]
    return [_Number(int(x), int(without_width(x)) if x.exact is not None else int(x)) for x in tiles]


def _coordinates(offsets: list[int], block: tuple[int, ...]) -> list[Array]:
    rank = len(block)
    return [
        offset + _spread(axis, rank, np.arange(extent))
        for axis, (offset, extent) in enumerate(zip(offsets, block, strict=True))
    ]


def _linear(coordinates: list[Array], strides: list[int], block: tuple[int, ...]) -> Array:
    linear = np.zeros((1,) * len(block), np.int64)
    for coordinate, stride in zip(coordinates, strides, strict=True):
        linear = linear + coordinate * stride
    return np.broadcast_to(linear, block)


def _at(base: Tile, places: Array, exact: Array | None) -> Tile:
    """Pointers to elements counted from the base, and to where they would lie had nothing wrapped."""
    assert isinstance(base.dtype, pointer_type)
    size = base.dtype.element_ty.bytes
    data = base.data + places * size
    if exact is None and base.exact is None:
        return Tile(data, base.dtype, None, base.region)
    return watched(data, base.dtype, without_width(base) + (places if exact is None else exact) * size, base.region)


def _addressed(
    base: Tile, strides: list[_Number], offsets: list[_Number], block: tuple[int, ...]
) -> tuple[Tile, list[Array]]:
    """Pointers to the elements of a block, and their coordinates along each axis."""
    coordinates = _coordinates([offset.value for offset in offsets], block)
    places = _linear(coordinates, [stride.value for stride in strides], block)
    exact = None
    if any(number.value != number.exact for number in (*strides, *offsets)):
        would_be = _coordinates([offset.exact for offset in offsets], block)
        exact = _linear(would_be, [stride.exact for stride in strides], block)
    return _at(base, places, exact), coordinates


def _inside(coordinates: list[Array], shape: list[int], axes: Any, block: tuple[int, ...]) -> Tile:
    known = np.ones(block, np.bool_)
    for axis in axes:
        known = known & (coordinates[axis] >= 0) & (coordinates[axis] < shape[axis])
    return Tile(known, BOOL)


class BlockPointer:
    """`tl.make_block_ptr`: a value."""

    def __init__(
        self, base: Tile, shape: list[int], strides: list[_Number], offsets: list[_Number], block: tuple[int, ...]
    ) -> None:
        self.base, self.lengths, self.strides, self.offsets, self.block = base, shape, strides, offsets, block

    @property
    def element(self) -> Any:
        """Element dtype."""
        assert isinstance(self.base.dtype, pointer_type)
        return self.base.dtype.element_ty

    @property
    def dtype(self) -> block_pointer_type:
        """Type of a pointer to a tile."""
        return block_pointer_type(block_type(self.element, self.block))

    @property
    def type(self) -> block_pointer_type:
        """As `dtype`."""
        return self.dtype

    def __repr__(self) -> str:
        offsets = [offset.value for offset in self.offsets]
        return f"block pointer {self.base!r} shape {self.lengths} offsets {offsets} block {list(self.block)}"

    def advance(self, offsets: Any) -> BlockPointer:
        """With offsets added."""
        moved = [
            _Number(_int32(a.value + b.value), a.exact + b.exact)
            for a, b in zip(self.offsets, _numbers(offsets), strict=True)
        ]
        return BlockPointer(self.base, self.lengths, self.strides, moved, self.block)

    def load(self, *args: Any, **kwargs: Any) -> Tile:
        """`tl.load` of it."""
        return load(self, *args, **kwargs)

    def store(self, *args: Any, **kwargs: Any) -> None:
        """`tl.store` to it."""
        store(self, *args, **kwargs)

    def _access(self, boundary_check: Any, what: str) -> tuple[Tile, Tile | None]:
        pointers, coordinates = _addressed(self.base, self.strides, self.offsets, self.block)
        axes = rules.block_axes(boundary_check, len(self.block), what)
        if not axes:
            return pointers, None
        return pointers, _inside(coordinates, self.lengths, axes, self.block)

    def load_block(self, boundary_check: Any, padding_option: Any) -> Tile:
        """`tl.load`."""
        rules.padding(padding_option, self.element, "tl.load")
        pointers, mask = self._access(boundary_check, "tl.load")
        if mask is None:
            return load(pointers)
        return load(pointers, mask, float("nan") if padding_option == "nan" else 0)

    def store_block(self, value: Any, boundary_check: Any) -> None:
        """`tl.store`."""
        stored = to_tile(value)
        rules.stored_block(stored, self.element, self.block, "tl.store")
        pointers, mask = self._access(boundary_check, "tl.store")
        store(pointers, stored, mask)


def _int32(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


def make_block_ptr(base: Any, shape: Any, strides: Any, offsets: Any, block_shape: Any, order: Any = None) -> BlockPointer:
    """`tl.make_block_ptr`."""
    rules.block_pointer(base, shape, strides, offsets, block_shape, order)
    pointer = to_tile(base)
    if not pointer.is_pointer or pointer.shape:
        raise InvalidType(f"tl.make_block_ptr: base must be a scalar pointer, got {describe(pointer)}")
    block = tuple(static_int(extent, "tl.make_block_ptr: block_shape") for extent in block_shape)
    lengths = [int(x) for x in shape]
    steps, first = _numbers(strides), _numbers(offsets)
    if any(len(values) != len(block) for values in (lengths, steps, first)):
        raise InvalidArgument("tl.make_block_ptr: shape, strides, offsets and block_shape must have one rank")
    return BlockPointer(pointer, lengths, steps, first, block)


def advance(base: Any, offsets: Any) -> BlockPointer:
    """`tl.advance`."""
    gone_in_3_9("tl.advance")
    if not isinstance(base, BlockPointer):
        raise InvalidType(f"tl.advance takes a block pointer, got {describe(base)}")
    rules.advance(base, len(base.block), offsets)
    return base.advance(offsets)


class Descriptor:
    """`tl.make_tensor_descriptor`."""

    def __init__(self, base: Tile, shape: list[Any], strides: list[Any], block: tuple[int, ...], padding: Any) -> None:
        self.base, self.shape, self.strides, self.block_shape, self.padding = base, shape, strides, block, padding

    def __repr__(self) -> str:
        return f"tensor descriptor of {self.dtype.short}{list(self.block_shape)}"

    @property
    def dtype(self) -> Any:
        """Element dtype."""
        assert isinstance(self.base.dtype, pointer_type)
        return self.base.dtype.element_ty

    @property
    def block_type(self) -> block_type:
        """Type of a block."""
        return block_type(self.dtype, self.block_shape)

    @property
    def type(self) -> tensor_descriptor_type:
        """Type of the descriptor."""
        return tensor_descriptor_type(self.block_type)

    def _access(self, offsets: Any, what: str = "a tensor descriptor") -> tuple[Tile, Tile]:
        rules.descriptor_offsets(offsets, len(self.block_shape), what)
        pointers, coordinates = _addressed(self.base, _numbers(self.strides), _numbers(offsets), self.block_shape)
        return pointers, _inside(coordinates, [int(n) for n in self.shape], range(len(self.shape)), self.block_shape)

    def load(self, offsets: Any) -> Tile:
        """A block; what lies outside is padding."""
        pointers, mask = self._access(offsets)
        return load(pointers, mask, float("nan") if self.padding == "nan" else 0)

    load_tile = load

    def store(self, offsets: Any, value: Any) -> None:
        """Stores a block; what lies outside is dropped."""
        pointers, mask = self._access(offsets)
        tile = rules.descriptor_value(value, self.block_shape, "store")
        store(pointers, cast(tile, self.dtype), mask)

    store_tile = store

    def gather(self, x_offsets: Any, y_offset: Any) -> Tile:
        """Rows `x_offsets` of the columns from `y_offset` on."""
        rules.descriptor_rows(self.block_shape, x_offsets, y_offset, "gather")
        pointers, mask = self._rows(x_offsets, y_offset)
        return load(pointers, mask, 0)

    def scatter(self, value: Any, x_offsets: Any, y_offset: Any) -> None:
        """Stores rows."""
        rules.descriptor_rows(self.block_shape, x_offsets, y_offset, "scatter")
        rules.descriptor_value(value, (x_offsets.shape[0], self.block_shape[1]), "scatter")
        pointers, mask = self._rows(x_offsets, y_offset)
        store(pointers, cast(to_tile(value), self.dtype), mask)

    def _atomic(self, kind: str, offsets: Any, value: Any) -> None:
        """Updates a block; what lies outside is dropped."""
        pointers, mask = self._access(offsets)
        rules.descriptor_value(value, self.block_shape, f"atomic_{kind}")
        ATOMICS[f"atomic_{kind}"](pointers, to_tile(value), mask)

    def __getattr__(self, name: str) -> Any:
        if name.removeprefix("atomic_") in ("add", "and", "or", "xor", "max", "min"):
            return functools.partial(self._atomic, name.removeprefix("atomic_"))
        raise AttributeError(f"a tensor descriptor has no attribute {name!r}")

    def _rows(self, x_offsets: Any, y_offset: Any) -> tuple[Tile, Tile]:
        places, (first,), strides = to_tile(x_offsets), _numbers([y_offset]), _numbers(self.strides)
        rows = places.data.astype(np.int64)[:, None]
        counted = np.arange(self.block_shape[-1])[None, :]
        columns = first.value + counted
        known = (rows >= 0) & (rows < int(self.shape[0])) & (columns >= 0) & (columns < int(self.shape[1]))
        linear = rows * strides[0].value + columns * strides[1].value
        exact = without_width(places)[:, None] * strides[0].exact + (first.exact + counted) * strides[1].exact
        return _at(self.base, linear, exact), Tile(known, BOOL)


def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: Any = "zero"
) -> Descriptor:
    """`tl.make_tensor_descriptor`."""
    rules.descriptor(base, shape, strides, block_shape, padding_option)
    pointer = to_tile(base)
    block = tuple(static_int(extent, "tl.make_tensor_descriptor: block_shape") for extent in block_shape)
    lengths = [cast(to_tile(n), I32) for n in shape]
    steps = [cast(to_tile(s), I64) for s in strides]
    if not len(lengths) == len(steps) == len(block):
        raise InvalidArgument("tl.make_tensor_descriptor: shape, strides and block_shape must have one rank")
    if int(steps[-1]) != 1:
        raise InvalidArgument(f"tl.make_tensor_descriptor: the last stride must be 1, got {int(steps[-1])}")
    return Descriptor(pointer, list(lengths), list(steps), block, padding_option)


def _must_describe(desc: Any, what: str) -> None:
    if not isinstance(desc, Descriptor):
        raise InvalidType(f"{what} takes a tensor descriptor, got {describe(desc)}")


def load_tensor_descriptor(desc: Any, offsets: Any) -> Tile:
    """`tl.load_tensor_descriptor`."""
    _must_describe(desc, "tl.load_tensor_descriptor")
    tile: Tile = desc.load(offsets)
    return tile


def store_tensor_descriptor(desc: Any, offsets: Any, value: Any) -> None:
    """`tl.store_tensor_descriptor`."""
    _must_describe(desc, "tl.store_tensor_descriptor")
    desc.store(offsets, value)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dot": dot,
    "dot_scaled": dot_scaled,
    "make_block_ptr": make_block_ptr,
    "advance": advance,
    "make_tensor_descriptor": make_tensor_descriptor,
    "_experimental_make_tensor_descriptor": make_tensor_descriptor,
    "load_tensor_descriptor": load_tensor_descriptor,
    "store_tensor_descriptor": store_tensor_descriptor,
}
"""Functions by their names in `tl`."""
