"""Result rules of the legality table: what relates operands, attributes, regions and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tle2cuda.ir.device_functions import find_overload
from tle2cuda.ir.kinds import BOOLEAN, INTEGER, Broken, is_int, is_integer
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.rewrite import captured_values
from tle2cuda.ir.types import (
    BOOL,
    CLUSTER,
    I32,
    SHARED,
    U32,
    U64,
    BufferType,
    DType,
    Element,
    PointerType,
    TileType,
    Type,
    element_of,
    is_handle,
    shape_of,
    with_shape,
)


def scratch_operands(op: Op) -> tuple[Value, ...]:
    """The trailing buffers that the scratch pass added, counted by the attribute `num_scratch`."""
    count = op.attrs.get("num_scratch", 0)
    return op.operands[len(op.operands) - count :] if count else ()


def value_operands(op: Op) -> tuple[Value, ...]:
    """The operands without scratch buffers."""
    return op.operands[: len(op.operands) - len(scratch_operands(op))]


# Types -------------------------------------------------------------------------------------------


def plain(type_: Type) -> Type:
    """A type without its layout."""
    if isinstance(type_, TileType) and type_.layout is not None:
        return replace(type_, layout=None)
    return type_


def agree(a: Type, b: Type) -> bool:
    """Equal types; layouts count only when both are chosen."""
    if isinstance(a, TileType) and isinstance(b, TileType) and (a.layout is None or b.layout is None):
        return plain(a) == plain(b)
    return a == b


def need(condition: bool, problem: str) -> None:
    """A rule of a row: the problem is what is wrong when it does not hold."""
    if not condition:
        raise Broken(problem)


def same_layout(op: Op, values: Sequence[Value]) -> None:
    """The tiles among the values have one layout, where they have any."""
    layouts = [v.type.layout for v in values if isinstance(v.type, TileType) and v.type.layout is not None]
    need(all(layout == layouts[0] for layout in layouts), "operands and results have different layouts")


def expect(op: Op, *types: Type) -> None:
    """The results have these types, up to layouts."""
    need(len(op.results) == len(types), f"it has {len(op.results)} results instead of {len(types)}")
    for number, (result, type_) in enumerate(zip(op.results, types, strict=True)):
        need(plain(result.type) == plain(type_), f"result {number} is {result.type} instead of {type_}")


def check_no_results(op: Op) -> None:
    """No results."""
    expect(op)


def _same_shapes(op: Op, values: Sequence[Value]) -> tuple[int, ...]:
    shapes = [shape_of(v.type) for v in values]
    for number, shape in enumerate(shapes):
        need(
            shape == shapes[0],
            f"operand {number} is {values[number].type} but operand 0 is {values[0].type}: shapes differ",
        )
    return shapes[0]


def _same_types(values: Sequence[Value], first: int = 0) -> None:
    for number, value in enumerate(values):
        need(
            plain(value.type) == plain(values[0].type),
            f"operand {first + number} is {value.type} but operand {first} is {values[0].type}",
        )


# Result rules ------------------------------------------------------------------------------------


def check_elementwise(op: Op) -> None:
    """Operands and result have one type and layout."""
    _same_types(op.operands)
    expect(op, op.operands[0].type)
    same_layout(op, (*op.operands, *op.results))


def check_compare(op: Op) -> None:
    """Operands of one type; the result holds bools."""
    _same_types(op.operands)
    expect(op, with_shape(BOOL, shape_of(op.operands[0].type)))
    same_layout(op, (*op.operands, *op.results))


def check_fits(op: Op) -> None:
    """Integers of one type of at most 32 bits; the result holds bools."""
    check_compare(op)
    element = element_of(op.operands[0].type)
    need(isinstance(element, DType) and element.bits <= 32, f"operands have at most 32 bits, got {element}")


def check_select(op: Op) -> None:
    """Condition, both values and the result have one shape; values and result one type."""
    _same_shapes(op, op.operands)
    _same_types(op.operands[1:], first=1)
    expect(op, op.operands[1].type)
    same_layout(op, (*op.operands, *op.results))


def check_math(op: Op) -> None:
    """Floats, except for abs."""
    element = element_of(op.operands[0].type)
    is_float = isinstance(element, DType) and element.is_floating()
    need(is_float or op.attrs["fn"] == "abs", f"{op.attrs['fn']} takes floats, not {element}")
    check_elementwise(op)


def check_asm(op: Op) -> None:
    """Operands and results have one shape; there is at least one result."""
    values = (*value_operands(op), *op.results)
    need(bool(op.results), "it has no results")
    _same_shapes(op, values)
    same_layout(op, values)


def check_philox(op: Op) -> None:
    """Unsigned words of 32 or 64 bits."""
    need(element_of(op.operands[0].type) in (U32, U64), f"operand 0 is {op.operands[0].type}, not u32 or u64")
    check_elementwise(op)


def check_libdevice(op: Op) -> None:
    """The function has an overload for the dtypes of the operands; the result is what it says."""
    shape = _same_shapes(op, op.operands)
    dtypes = [element for v in op.operands if isinstance(element := element_of(v.type), DType)]
    overload = find_overload(op.attrs["fn"], dtypes)
    need(overload is not None, f"{op.attrs['fn']} takes no ({', '.join(map(str, dtypes))})")
    assert overload is not None
    expect(op, with_shape(overload.result, shape))
    same_layout(op, (*op.operands, *op.results))


def check_constant(op: Op) -> None:
    """The value fits the element type."""
    need(len(op.results) == 1, "it needs one result")
    need(not is_handle(op.results[0].type), "it is no number")
    element = element_of(op.results[0].type)
    need(isinstance(element, DType), "it is no number")
    assert isinstance(element, DType)
    value = op.attrs["value"]
    if element.is_bool():
        need(isinstance(value, bool), f"value {value!r} is no bool")
    elif element.is_floating():
        need(isinstance(value, float), f"value {value!r} is no float")
    else:
        low, high = (-(1 << element.bits - 1), 1 << element.bits - 1) if element.is_int_signed() else (0, 1 << element.bits)
        need(is_int(value) and low <= value < high, f"value {value!r} does not fit {element}")


def check_arange(op: Op) -> None:
    """A power of two of consecutive i32."""
    extent = op.attrs["end"] - op.attrs["start"]
    need(extent > 0 and extent & (extent - 1) == 0, f"its extent {extent} is no power of two")
    expect(op, TileType((extent,), I32))


def check_i32(op: Op) -> None:
    """One i32."""
    expect(op, I32)


def check_cast(op: Op) -> None:
    """The shape stays, the element type is a dtype."""
    need(len(op.results) == 1, "it needs one result")
    target = op.results[0].type
    need(
        not is_handle(target) and isinstance(element_of(target), DType),
        f"{target} holds no numbers",
    )
    need(shape_of(target) == shape_of(op.operands[0].type), "the shape changes")
    same_layout(op, (*op.operands, *op.results))


def _width(element: Element) -> int:
    if isinstance(element, PointerType):
        return 64
    return 8 if element.is_bool() else element.bits


def check_bitcast(op: Op) -> None:
    """Shape and width stay; pointers become pointers of their space or 64-bit integers."""
    need(len(op.results) == 1, "it needs one result")
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    need(shape_of(op.results[0].type) == shape_of(op.operands[0].type), "the shape changes")
    need(_width(source) == _width(target), f"{source} and {target} differ in width")
    if isinstance(source, PointerType) != isinstance(target, PointerType):
        number = target if isinstance(source, PointerType) else source
        need(isinstance(number, DType) and is_integer(number), f"{number} is no 64-bit integer")
    if isinstance(source, PointerType) and isinstance(target, PointerType):
        need(source.space == target.space, "the address space changes")
    same_layout(op, (*op.operands, *op.results))


def check_ptr_add(op: Op) -> None:
    """One offset a pointer."""
    _same_shapes(op, op.operands)
    expect(op, op.operands[0].type)
    same_layout(op, (*op.operands, *op.results))


def check_splat(op: Op) -> None:
    """A tile of the scalar."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, TileType), "its result is no tile")
    need(element_of(op.results[0].type) == op.operands[0].type, "the element type changes")


def check_broadcast(op: Op) -> None:
    """Extents of 1 stretch, the rank stays."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, TileType), "its result is no tile")
    source, target = op.operands[0].type, op.results[0].type
    need(element_of(source) == element_of(target), "the element type changes")
    old, new = shape_of(source), shape_of(target)
    need(len(old) == len(new), f"the rank changes from {len(old)} to {len(new)}")
    need(
        all(a in (1, b) for a, b in zip(old, new, strict=True)),
        f"{list(old)} does not stretch to {list(new)}",
    )


def check_expand_dims(op: Op) -> None:
    """An extent of 1 is put in at the axis."""
    shape = shape_of(op.operands[0].type)
    axis = op.attrs["axis"]
    need(0 <= axis <= len(shape), f"axis {axis} is out of range for rank {len(shape)}")
    expect(op, TileType((*shape[:axis], 1, *shape[axis:]), element_of(op.operands[0].type)))


def check_reshape(op: Op) -> None:
    """Element type and number of elements stay."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, TileType), "its result is no tile")
    source, target = op.operands[0].type, op.results[0].type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    need(source.element == target.element, "the element type changes")
    need(source.num_elements == target.num_elements, f"{source} and {target} differ in size")


def check_tile_to_scalar(op: Op) -> None:
    """The only element of a tile."""
    tile = op.operands[0].type
    assert isinstance(tile, TileType)
    need(tile.num_elements == 1, f"{tile} has more than one element")
    expect(op, tile.element)


def check_trans(op: Op) -> None:
    """Axes are permuted."""
    shape = shape_of(op.operands[0].type)
    perm = op.attrs["perm"]
    need(sorted(perm) == list(range(len(shape))), f"perm {perm} is no permutation of {len(shape)} axes")
    expect(op, TileType(tuple(shape[axis] for axis in perm), element_of(op.operands[0].type)))


def _axis(op: Op, shape: tuple[int, ...]) -> int:
    axis: int = op.attrs["axis"]
    need(0 <= axis < len(shape), f"axis {axis} is out of range for rank {len(shape)}")
    return axis


def _combine_region(op: Op, elements: list[Element]) -> None:
    if op.attrs["kind"] != "custom":
        return
    (region,) = op.regions
    need([p.type for p in region.params] == elements * 2, "the parameters of its region are not (a..., b...)")
    yields(region, elements)


def yields(region: Region, types: Sequence[Type], name: str = "its region") -> None:
    """A region ends in a yield of values of these types."""
    need(bool(region.ops) and region.ops[-1].name == "yield", f"{name} does not end in yield")
    given = [v.type for v in region.ops[-1].operands]
    need(
        len(given) == len(types) and all(agree(a, b) for a, b in zip(given, types, strict=True)),
        f"{name} yields ({_names(given)}) instead of ({_names(types)})",
    )


def _names(types: Sequence[Type]) -> str:
    return ", ".join(map(str, types))


def check_map(op: Op) -> None:
    """The region takes one element of each operand and yields one of each result; nothing around it is used inside."""
    shape = _same_shapes(op, op.operands)
    (region,) = op.regions
    given = [element_of(v.type) for v in op.operands]
    need([p.type for p in region.params] == given, "the parameters of its region are not elements of its operands")
    need(bool(op.results), "it has no results")
    need(not captured_values(region), "its region uses values from around it")
    need(all(shape_of(v.type) == shape for v in op.results), "a result has another shape")
    yields(region, [element_of(v.type) for v in op.results])
    same_layout(op, (*op.operands, *op.results))


def check_reduce(op: Op) -> None:
    """The axis disappears; argmax and argmin take an index tile; custom takes a region."""
    operands = value_operands(op)
    shape = _same_shapes(op, operands)
    axis = _axis(op, shape)
    kind = op.attrs["kind"]
    if kind in ("argmax", "argmin"):
        need(len(operands) == 2, f"{kind} takes a value and an index tile")
        need(element_of(operands[1].type) is I32, f"the index tile is {operands[1].type}, not i32")
    elif kind != "custom":
        need(len(operands) == 1, f"{kind} takes one tile")
    rest = (*shape[:axis], *shape[axis + 1 :])
    expect(op, *(with_shape(element_of(v.type), rest) for v in operands))
    _combine_region(op, [element_of(v.type) for v in operands])


def check_scan(op: Op) -> None:
    """Types stay; custom takes a region."""
    operands = value_operands(op)
    _axis(op, _same_shapes(op, operands))
    need(op.attrs["kind"] == "custom" or len(operands) == 1, f"{op.attrs['kind']} takes one tile")
    expect(op, *(v.type for v in operands))
    _combine_region(op, [element_of(v.type) for v in operands])


def check_to_shared(op: Op) -> None:
    """A tile and a buffer of its shape and dtype."""
    tile, buffer = (v.type for v in op.operands)
    need(shape_of(tile) == shape_of(buffer), f"{tile} does not fill {buffer}")
    need(element_of(tile) is element_of(buffer), f"{tile} and {buffer} have different elements")
    expect(op)


def check_exclusive_sum(op: Op) -> None:
    """The tile of prefixes and the total."""
    tile = op.operands[0].type
    need(len(shape_of(tile)) == 1, f"{tile} has more than one dimension")
    expect(op, tile, element_of(tile))


def check_histogram(op: Op) -> None:
    """Integers of rank 1 are counted into i32 bins."""
    operands = value_operands(op)
    need(len(shape_of(operands[0].type)) == 1, f"{operands[0].type} has more than one dimension")
    need(INTEGER.accepts(operands[0].type), f"{operands[0].type} holds no integers")
    _mask(op, 1)
    expect(op, TileType((op.attrs["bins"],), I32))


def _mask(op: Op, position: int, others: int = 0) -> None:
    """The operand count follows from has_mask and `others`; the mask is a bool of the first operand's shape."""
    operands = value_operands(op)
    has_mask = bool(op.attrs.get("has_mask"))
    count = position + has_mask + others
    need(len(operands) == count, f"it has {len(operands)} operands instead of {count}")
    if has_mask:
        mask = operands[position].type
        need(BOOLEAN.accepts(mask), f"the mask is {mask}, not bool")
        need(shape_of(mask) == shape_of(operands[0].type), f"the mask is {mask} for {operands[0].type}")


def _pointee(op: Op) -> Type:
    pointer = op.operands[0].type
    element = element_of(pointer)
    assert isinstance(element, PointerType)
    return with_shape(element.element, shape_of(pointer))


def check_load(op: Op) -> None:
    """The pointee, with optional mask and other."""
    has_other = bool(op.attrs.get("has_other"))
    need(not has_other or bool(op.attrs.get("has_mask")), "it has `other` but no mask")
    _mask(op, 1, others=has_other)
    if has_other:
        need(
            plain(op.operands[2].type) == _pointee(op),
            f"`other` is {op.operands[2].type}, not {_pointee(op)}",
        )
    expect(op, _pointee(op))
    same_layout(op, (*op.operands, *op.results))


def check_store(op: Op) -> None:
    """The pointee is written, with an optional mask."""
    _mask(op, 2)
    need(plain(op.operands[1].type) == _pointee(op), f"the value is {op.operands[1].type}, not {_pointee(op)}")
    expect(op)
    same_layout(op, op.operands)


def check_atomic_rmw(op: Op) -> None:
    """The old pointee, with an optional mask."""
    _mask(op, 2)
    need(plain(op.operands[1].type) == _pointee(op), f"the value is {op.operands[1].type}, not {_pointee(op)}")
    expect(op, _pointee(op))
    same_layout(op, (*value_operands(op), *op.results))


def check_atomic_cas(op: Op) -> None:
    """The old pointee."""
    for value in value_operands(op)[1:]:
        need(plain(value.type) == _pointee(op), f"a value is {value.type}, not {_pointee(op)}")
    expect(op, _pointee(op))
    same_layout(op, (*value_operands(op), *op.results))


def check_alloc(op: Op) -> None:
    """A new buffer of its own CTA."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, BufferType), "its result is no buffer")
    buffer = op.results[0].type
    assert isinstance(buffer, BufferType)
    need(not buffer.remote, "a new buffer is not remote")
    need(all(extent > 0 for extent in buffer.shape), f"{buffer} has an empty extent")


def check_buffer_view(op: Op) -> None:
    """A view stays within the bytes of its buffer."""
    need(len(op.results) == 1 and isinstance(op.results[0].type, BufferType), "its result is no buffer")
    source, target = op.operands[0].type, op.results[0].type
    assert isinstance(source, BufferType) and isinstance(target, BufferType)
    kind = op.attrs["kind"]
    need(len(op.operands) == 1 + (kind == "slot"), f"{kind} has {len(op.operands)} operands")
    need(source.remote == target.remote, "a view is remote when its buffer is")
    if kind == "alias":
        offset = op.attrs.get("offset_bytes", 0)
        need(offset >= 0 and offset + target.size_bytes <= source.size_bytes, "it reaches beyond its buffer")
        return
    need(source.element is target.element, "the element type changes")
    if kind == "slot":
        need(source.shape[1:] == target.shape, f"a slot of {source} is not {target}")
    elif kind == "trans":
        perm = op.attrs.get("perm", ())
        need(sorted(perm) == list(range(len(source.shape))), f"{perm} is no order of the axes of {source}")
        need(
            tuple(source.shape[axis] for axis in perm) == target.shape,
            f"{source} with its axes in order {perm} is no {target}",
        )
    elif kind == "reshape":
        need(source.num_elements == target.num_elements, f"{source} and {target} differ in size")
    else:
        dim, start = op.attrs.get("dim", -1), op.attrs.get("start", 0)
        need(len(source.shape) == len(target.shape) and 0 <= dim < len(source.shape), f"no dimension {dim}")
        need(start >= 0 and start + target.shape[dim] <= source.shape[dim], "it reaches beyond its buffer")
        kept = [i for i in range(len(source.shape)) if i != dim]
        need(all(source.shape[i] == target.shape[i] for i in kept), "another extent changes")


def check_local_ptr(op: Op) -> None:
    """The full view without indices, else one index a dimension, all of one shape."""
    buffer, indices = op.operands[0].type, op.operands[1:]
    assert isinstance(buffer, BufferType)
    pointer = PointerType(buffer.element, CLUSTER if buffer.remote else SHARED)
    if not indices:
        expect(op, with_shape(pointer, buffer.shape))
        return
    need(len(indices) == len(buffer.shape), f"{len(indices)} indices for {buffer}")
    shape = _same_shapes(op, indices)
    expect(op, with_shape(pointer, shape))
    same_layout(op, (*indices, *op.results))


def check_remote(op: Op) -> None:
    """The same buffer or pointers, in another CTA."""
    source = op.operands[0].type
    if isinstance(source, BufferType):
        need(not source.remote, "the buffer is remote already")
        expect(op, replace(source, remote=True))
        return
    element = element_of(source)
    assert isinstance(element, PointerType)
    expect(op, with_shape(replace(element, space=CLUSTER), shape_of(source)))


def check_assert(op: Op) -> None:
    """A condition and perhaps a mask of its shape."""
    need(len(op.operands) <= 2, "it has more than a condition and a mask")
    _same_shapes(op, op.operands)
    expect(op)


def _carried(given: Sequence[Value], wanted: Sequence[Value], what: str) -> None:
    need(
        len(given) == len(wanted) and all(agree(a.type, b.type) for a, b in zip(given, wanted, strict=True)),
        f"{what}: ({_names([v.type for v in given])}) instead of ({_names([v.type for v in wanted])})",
    )


def check_for(op: Op) -> None:
    """Bounds of one type; parameters, results and yields agree with the initial values."""
    bounds, inits = op.operands[:3], op.operands[3:]
    _same_types(bounds)
    (body,) = op.regions
    need(len(body.params) == 1 + len(inits), f"its region has {len(body.params)} parameters")
    need(body.params[0].type == bounds[0].type, f"the induction variable is {body.params[0].type}")
    _carried(body.params[1:], inits, "parameters of its region")
    _carried(op.results, inits, "results")
    yields(body, [v.type for v in inits])


def check_while(op: Op) -> None:
    """Parameters agree with the initial values, results with what the condition passes on."""
    before, body = op.regions
    _carried(before.params, op.operands, "parameters of its first region")
    need(bool(before.ops) and before.ops[-1].name == "condition", "its first region does not end in condition")
    passed = before.ops[-1].operands[1:]
    _carried(passed, op.results, "values of its condition")
    _carried(body.params, op.results, "parameters of its second region")
    yields(body, [v.type for v in op.operands], "its second region")


def check_if(op: Op) -> None:
    """Both regions yield the results."""
    for name, region in zip(("its then region", "its else region"), op.regions, strict=True):
        need(not region.params, f"{name} has parameters")
        yields(region, [v.type for v in op.results], name)


def check_fused(op: Op) -> None:
    """The region yields the results and has no parameters."""
    (region,) = op.regions
    need(not region.params, "its region has parameters")
    yields(region, [v.type for v in op.results])


def check_tensor_tile(op: Op) -> None:
    """The tile itself, described by a tensor of its rank."""
    rank = op.attrs["rank"]
    problem = f"a tile of a tensor of rank {rank} has {2 + 3 * rank} operands, not {len(op.operands)}"
    need(len(op.operands) == 2 + 3 * rank, problem)
    expect(op, op.operands[0].type)


def check_same_but_layout(op: Op) -> None:
    """The operand's type, perhaps in another layout."""
    expect(op, op.operands[0].type)
