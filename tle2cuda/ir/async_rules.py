"""Result rules of the operations that run asynchronously or bring partitions together."""

from __future__ import annotations

from tle2cuda.ir.kinds import BARRIERS, BOOLEAN, BUFFER, I32_SCALAR, INT_SCALAR, TENSOR, Kind
from tle2cuda.ir.nodes import DIVIDES, Op, Value, walk
from tle2cuda.ir.rules import expect, need, value_operands, yields
from tle2cuda.ir.tma import num_operands, tensor_copy
from tle2cuda.ir.types import (
    BOOL,
    GLOBAL,
    I32,
    I64,
    BarrierType,
    BufferType,
    PipeType,
    PointerType,
    TensorMapType,
    TileType,
    element_of,
    shape_of,
)

_MOST_BLOCK_EXTENT = 2**16
_MOST_DIMENSIONS = 5
_MOST_BOX_EXTENT = 256


def check_alloc_barriers(op: Op) -> None:
    """A new array."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, BarrierType), "its result is no array of barriers")
    array = op.results[0].type
    assert isinstance(array, BarrierType)
    need(array.count > 0, "the array is empty")


def check_named_barrier(op: Op) -> None:
    """Whole warps meet."""
    need(op.attrs["threads"] % 32 == 0, f"{op.attrs['threads']} threads are no whole warps")
    expect(op)


def check_cp_async(op: Op) -> None:
    """A pointer to global memory for every element of a buffer, perhaps with a mask."""
    has_mask = bool(op.attrs.get("has_mask"))
    need(len(op.operands) == 2 + has_mask, f"it has {len(op.operands)} operands instead of {2 + has_mask}")
    pointers, buffer = op.operands[0].type, op.operands[1].type
    assert isinstance(buffer, BufferType)
    element = element_of(pointers)
    assert isinstance(element, PointerType)
    need(isinstance(pointers, TileType) and element.space == GLOBAL, f"{pointers} holds no pointers to global memory")
    need(element.element is buffer.element, f"the element type changes from {pointers} to {buffer}")
    need(shape_of(pointers) == buffer.shape, f"{pointers} and {buffer} differ in shape")
    need(not buffer.remote, "the buffer is remote")
    if has_mask:
        mask = op.operands[2].type
        need(BOOLEAN.accepts(mask) and shape_of(mask) == buffer.shape, f"the mask is {mask} for {buffer}")
    expect(op)


def _kind(value: Value, kind: Kind, what: str) -> None:
    need(kind.accepts(value.type), f"{what} is {value.type}, not {kind.text}")


def check_tensor_copy(op: Op) -> None:
    """A description of the tensor, a box of it, and a buffer of the box's extents."""
    rank = op.attrs["rank"]
    count = len(value_operands(op))
    need(count == num_operands(op), f"it has {count} operands instead of {num_operands(op)}")
    copy = tensor_copy(op)
    _kind(copy.base, TENSOR, "the base")
    for what, values in (("an extent", copy.extents), ("a stride", copy.strides)):
        for value in values:
            _kind(value, INT_SCALAR, what)
    for value in copy.offsets:
        _kind(value, I32_SCALAR, "an offset")
    _kind(copy.buffer, BUFFER, "the buffer")
    buffer = copy.buffer_type
    need(not buffer.remote, "the buffer is remote")
    base = copy.base.type
    assert isinstance(base, (PointerType, TensorMapType))
    need(base.element is buffer.element, f"the element type changes from {base} to {buffer}")
    block = op.attrs["block"]
    need(len(block) == rank, f"its block {block} has not rank {rank}")
    need(all(0 < extent <= _MOST_BLOCK_EXTENT for extent in block), f"its block is {block}")
    shapes = (buffer.shape, buffer.logical_shape or buffer.shape)
    need(_long(block) in map(_long, shapes), f"its block {block} does not fit {buffer}")
    if copy.barriers is not None and copy.index is not None:
        _kind(copy.barriers, BARRIERS, "the barrier")
        _kind(copy.index, I32_SCALAR, "the index of the barrier")
    expect(op)


def check_tensor_map(op: Op) -> None:
    """What the host encodes: expressions over arguments, a box of the tensor's rank."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, TensorMapType), "its result is no tensor map")
    made, base = op.results[0].type, op.operands[0].type
    assert isinstance(made, TensorMapType) and isinstance(base, PointerType)
    need(base.space == GLOBAL, f"{base} is no pointer to global memory")
    rank = len(made.box)
    need(1 <= rank <= _MOST_DIMENSIONS, f"it has {rank} dimensions")
    counts = (len(op.attrs["shape"]), len(op.attrs["strides"]))
    need(counts == (rank, rank - 1), f"it has {counts[0]} extents and {counts[1]} strides for {rank} dimensions")
    need(all(0 < extent <= _MOST_BOX_EXTENT for extent in made.box), f"its box is {made.box}")


def check_changed_tensor_map(op: Op) -> None:
    """What the kernel describes: base, extents, strides but the last; its stage; pipes whose stages have landed."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, TensorMapType), "its result is no tensor map")
    made = op.results[0].type
    assert isinstance(made, TensorMapType)
    rank = len(made.box)
    need(1 <= rank <= _MOST_DIMENSIONS, f"it has {rank} dimensions")
    parts, rest = op.operands[: 2 * rank], list(op.operands[2 * rank :])
    need(len(parts) == 2 * rank, f"it has {len(parts)} operands instead of {2 * rank}")
    need(all(v.type in (I32, I64) for v in parts[1:]), "its extents and strides are no integers")
    if op.attrs.get("slots", 1) > 1 or (rest and rest[0].type is I32):
        need(bool(rest) and rest.pop(0).type is I32, "it has several slots, and no stage")
    need(all(isinstance(v.type, PipeType) for v in rest), "it waits for what is no pipe")


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that are more than 1."""
    return tuple(extent for extent in shape if extent > 1)


# Pipes and partitions ----------------------------------------------------------------------------


def check_pipe(op: Op) -> None:
    """One buffer a field, its leading extent the capacity."""
    capacity, names = op.attrs["capacity"], op.attrs["fields"]
    fields = value_operands(op)
    need(len(fields) == len(names) >= 1, f"it has {len(fields)} buffers for {len(names)} fields")
    for what in ("fields", "readers"):
        need(len(set(op.attrs[what])) == len(op.attrs[what]), f"its {what} {op.attrs[what]} repeat a name")
    for name, value in zip(names, fields, strict=True):
        shape = shape_of(value.type)
        need(len(shape) >= 2 and shape[0] == capacity, f"field {name} is {value.type}, the capacity {capacity}")
    types = [v.type for v in fields]
    expect(op, PipeType(capacity, tuple((n, t) for n, t in zip(names, types, strict=True) if isinstance(t, BufferType))))


def check_pipe_acquire(op: Op) -> None:
    """One stage of every field."""
    expect(op, *_pipe(op).slot_types)


def check_pipe_wait(op: Op) -> None:
    """Whether the pipe is closed, and one stage of every field."""
    expect(op, BOOL, *_pipe(op).slot_types)


def _pipe(op: Op) -> PipeType:
    type_ = op.operands[0].type
    assert isinstance(type_, PipeType)
    return type_


def check_warp_specialize(op: Op) -> None:
    """Partition 0 yields the results, workers yield nothing."""
    warps, registers = op.attrs["warps"], op.attrs["registers"]
    need(len(warps) >= 1, "it has no partitions")
    need(all(count > 0 and count & (count - 1) == 0 for count in warps), f"warps {warps} are no powers of two")
    need(len(registers) == len(warps) - 1, f"it has {len(registers)} register counts for {len(warps) - 1} workers")
    need(len(op.attrs["names"]) == len(warps), f"it has {len(op.attrs['names'])} names for {len(warps)} partitions")
    for number, region in enumerate(op.regions):
        name = f"partition {number}"
        need(not region.params, f"{name} has parameters")
        yields(region, [v.type for v in op.results] if number == 0 else [], name)
        again = [inner for inner in walk(region) if inner.name == "warp_specialize"]
        # Around a loop with both kinds in it, the default partition may divide its warps.
        may_divide = number == 0 and not op.attrs.get(DIVIDES)
        need(all(may_divide and inner.attrs.get(DIVIDES) for inner in again), f"{name} is specialised again")
