"""How shape operations, pointers and collectives carry what is known of their operands to their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tle2cuda.analysis.axis_domain import (
    MAX_DIVISOR,
    SHARED_ALIGNMENT_BYTES,
    SWIZZLE_UNIT_BYTES,
    AxisInfo,
    RuleTable,
    address_unit,
    at,
    both_constant,
    bounds_of,
    everywhere,
    extents,
    finish,
    ints,
    join,
    power_of_two_divisor,
    range_of,
    unknown,
)
from tle2cuda.ir.nodes import Kernel, Op
from tle2cuda.ir.types import BufferType, Type

SHAPE_RULES = RuleTable()


# ---- shapes


@SHAPE_RULES("splat")
def _splat(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands
    shape = extents(op.result.type)
    ones = (1,) * len(shape)
    return AxisInfo(ones, (a.divisibility[0],) * len(shape), shape, a.constant, a.lo, a.hi)


@SHAPE_RULES("broadcast")
def _broadcast(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands
    old, new = extents(op.operands[0].type), extents(op.result.type)
    divisor = everywhere(a, address_unit(op.result.type))
    dims = range(len(new))
    return replace(
        a,
        divisibility=tuple(a.divisibility[d] if old[d] == new[d] else divisor for d in dims),
        constancy=tuple(a.constancy[d] if old[d] == new[d] else new[d] for d in dims),
    )


@SHAPE_RULES("expand_dims")
def _expand_dims(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands
    axis = op.attrs["axis"] % len(extents(op.result.type))

    def insert(values: tuple[int, ...], value: int) -> tuple[int, ...]:
        return (*values[:axis], value, *values[axis:])

    return replace(
        a,
        contiguity=insert(a.contiguity, 1),
        divisibility=insert(a.divisibility, everywhere(a, address_unit(op.result.type))),
        constancy=insert(a.constancy, 1),
    )


@SHAPE_RULES("trans")
def _trans(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands

    def permute(values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(values[axis] for axis in op.attrs["perm"])

    return replace(
        a,
        contiguity=permute(a.contiguity),
        divisibility=permute(a.divisibility),
        constancy=permute(a.constancy),
    )


@SHAPE_RULES("reshape", "tile_to_scalar")
def _reshape(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands
    old, new = extents(op.operands[0].type), extents(op.result.type)
    unit = address_unit(op.result.type)
    last = max((d for d in range(len(old)) if old[d] > 1), default=len(old) - 1)
    run = a.contiguity[last]
    start = at(a, last, run, unit)
    equal = 1  # aligned runs of equal values in row-major order
    for extent, constancy in zip(reversed(old), reversed(a.constancy), strict=True):
        equal *= constancy
        if constancy != extent:
            break
    overall = everywhere(a, unit)
    contiguity, divisibility, constancy_ = [], [], []
    stride = 1
    for extent in reversed(new):
        here = min(run, extent) if stride == 1 and extent > 1 else 1
        contiguity.append(here)
        divisor = start if here == run else max(overall, min(start, here * unit))
        divisibility.append(divisor if here > 1 else overall)
        constancy_.append(max(1, min(extent, equal // stride)))
        stride *= extent
    return replace(
        a,
        contiguity=tuple(reversed(contiguity)),
        divisibility=tuple(reversed(divisibility)),
        constancy=tuple(reversed(constancy_)),
    )


@SHAPE_RULES("convert_layout")
def _identity(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return operands[0]


@SHAPE_RULES("hint")
def _hint(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands

    def promised(name: str, known: tuple[int, ...]) -> tuple[int, ...]:
        values = op.attrs.get(name)
        if values is None:
            return known
        return tuple(max(k, power_of_two_divisor(v)) for k, v in zip(known, values, strict=True))

    shape = extents(op.result.type)
    return replace(
        a,
        contiguity=tuple(map(min, promised("contiguity", a.contiguity), shape)),
        divisibility=promised("divisibility", a.divisibility),
        constancy=tuple(map(min, promised("constancy", a.constancy), shape)),
    )


@SHAPE_RULES("concat", "insert")
def _either(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    info = join(operands[0], operands[1], op.result.type)
    return replace(info, constancy=extents(op.result.type)) if info.constant is not None else info


@SHAPE_RULES("extract", "extract_at")
def _extract(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a = operands[0]
    shape, unit = extents(op.result.type), address_unit(op.result.type)
    runs = tuple(map(min, a.contiguity, shape))
    divisors = tuple(at(a, d, run, unit) for d, run in enumerate(runs))
    return replace(a, contiguity=runs, divisibility=divisors, constancy=tuple(map(min, a.constancy, shape)))


@SHAPE_RULES("gather", "sort")
def _elements_of(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return replace(unknown(op.result.type), lo=operands[0].lo, hi=operands[0].hi)


@SHAPE_RULES("flip")
def _flip(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a = operands[0]
    axis, divisor = op.attrs["axis"], everywhere(a, address_unit(op.result.type))
    dims = range(len(a.contiguity))
    return replace(
        a,
        contiguity=tuple(1 if d == axis else a.contiguity[d] for d in dims),
        divisibility=tuple(divisor if d == axis else a.divisibility[d] for d in dims),
    )


# ---- pointers and buffers


def _advance(pointer: AxisInfo, offset: AxisInfo, runs_of_offset: Sequence[int], unit: int) -> AxisInfo:
    """Pointer plus offset in elements."""
    runs, divisors = [], []
    for d in range(len(pointer.contiguity)):
        run = max(min(pointer.contiguity[d], offset.constancy[d]), min(pointer.constancy[d], runs_of_offset[d]))
        runs.append(run)
        scaled = min(at(offset, d, run) * unit, MAX_DIVISOR)
        divisors.append(min(at(pointer, d, run, unit), scaled))
    return AxisInfo(tuple(runs), tuple(divisors), tuple(both_constant(pointer, offset)))


@SHAPE_RULES("ptr_add")
def _ptr_add(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    pointer, offset = operands
    # A 32-bit offset could wrap inside a run and be extended to two far places; vectors never meet that,
    # since their width is limited by the alignment, and such a run says enough about coalescing.
    return _advance(pointer, offset, offset.contiguity, address_unit(op.result.type))


@SHAPE_RULES("alloc")
def _alloc(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    asked = op.attrs.get("alignment_bytes") or SHARED_ALIGNMENT_BYTES
    return AxisInfo((1,), (power_of_two_divisor(max(asked, SHARED_ALIGNMENT_BYTES)),), (1,))


@SHAPE_RULES("remote")
def _remote(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return operands[0]


@SHAPE_RULES("buffer_view")
def _buffer_view(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    base = operands[0].divisibility[0]
    parent, view = op.operands[0].type, op.result.type
    assert isinstance(parent, BufferType) and isinstance(view, BufferType)
    kind = op.attrs["kind"]
    if kind == "slot":
        slot = operands[1] if len(operands) > 1 else None
        index = slot.divisibility[0] if slot is not None else power_of_two_divisor(op.attrs.get("start", 0))
        base = min(base, min(MAX_DIVISOR, power_of_two_divisor(view.size_bytes) * index))
    elif kind == "subslice":
        stride_bytes = row_major_strides(parent.shape)[op.attrs["dim"]] * parent.element.bytes
        base = min(base, power_of_two_divisor(op.attrs["start"] * stride_bytes))
    elif kind == "alias":
        base = min(base, power_of_two_divisor(op.attrs.get("offset_bytes") or 0))
    return AxisInfo((1,), (base,), (1,))


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one index to the next along each dimension."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides[: len(shape)]))


@SHAPE_RULES("local_ptr")
def _local_ptr(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    buffer = op.operands[0].type
    assert isinstance(buffer, BufferType)
    shape = extents(op.result.type)
    unit = buffer.element.bytes
    indices = list(operands[1:]) or [_axis_index(shape, d) for d in range(len(shape))]
    ones = (1,) * len(shape)
    strides = row_major_strides(buffer.shape)
    pointer = AxisInfo(ones, (operands[0].divisibility[0],) * len(shape), shape)
    for index, stride in zip(indices, strides, strict=False):
        scaled = index if stride == 1 else _scaled(index, stride)
        pointer = _advance(pointer, scaled, scaled.contiguity, unit)
    if buffer.storage != "row_major" and len(buffer.shape) > 1:
        pointer = _swizzled(pointer, unit)
    return pointer


def _axis_index(shape: Sequence[int], axis: int) -> AxisInfo:
    """The index along one dimension, as a tile of that shape."""
    dims = range(len(shape))
    return AxisInfo(
        tuple(shape[d] if d == axis else 1 for d in dims),
        tuple(MAX_DIVISOR if d == axis else 1 for d in dims),
        tuple(1 if d == axis else shape[d] for d in dims),
    )


def _scaled(index: AxisInfo, stride: int) -> AxisInfo:
    dims = range(len(index.contiguity))
    factor = power_of_two_divisor(stride)
    return AxisInfo(
        tuple(1 for _ in dims),
        tuple(min(MAX_DIVISOR, at(index, d, 1) * factor) for d in dims),
        index.constancy,
    )


def _swizzled(pointer: AxisInfo, unit: int) -> AxisInfo:
    """Pointers into a buffer whose 16-byte units may lie in any order."""
    most = max(1, SWIZZLE_UNIT_BYTES // unit)
    runs = tuple(min(c, most) for c in pointer.contiguity)
    divisors = tuple(min(SWIZZLE_UNIT_BYTES, at(pointer, d, run, unit)) for d, run in enumerate(runs))
    return AxisInfo(runs, divisors, pointer.constancy)


# ---- collectives

COLLECTIVES = frozenset({"reduce", "scan", "exclusive_sum", "histogram"})


def collective(op: Op, operands: Sequence[AxisInfo]) -> list[AxisInfo]:
    """Ranges of reductions, scans and histograms; nothing else is known of them."""
    infos = [unknown(result.type) for result in op.results]
    shape = extents(op.operands[0].type)
    kind = "sum" if op.name == "exclusive_sum" else op.attrs.get("kind")
    if op.name == "histogram":
        infos[0] = replace(infos[0], **bounds_of(op.results[0].type, 0, shape[0]))
        return [finish(infos[0], op.results[0].type)]
    count = shape[op.attrs.get("axis", 0)]
    if kind in ("max", "min", "argmax", "argmin") and ints(operands[0]):
        infos[0] = replace(infos[0], lo=operands[0].lo, hi=operands[0].hi)
    if kind in ("argmax", "argmin") and len(infos) > 1:
        infos[1] = replace(infos[1], lo=operands[1].lo, hi=operands[1].hi)
    if kind == "sum" and ints(operands[0]):
        lo, hi = range_of(operands[0])
        for n, result in enumerate(op.results):
            infos[n] = replace(infos[n], **_sum_bounds(op, n, lo, hi, count, result.type))
    return [finish(info, result.type) for info, result in zip(infos, op.results, strict=True)]


def _sum_bounds(op: Op, index: int, lo: int, hi: int, count: int, type_: Type) -> dict[str, Any]:
    """Range of a sum of all `count` values, of a non-empty prefix, or of a prefix without its own element."""
    if op.name == "reduce" or (op.name == "exclusive_sum" and index == 1):
        return bounds_of(type_, lo * count, hi * count)
    if op.name == "scan":
        return bounds_of(type_, min(lo, lo * count), max(hi, hi * count))
    return bounds_of(type_, min(0, lo * (count - 1)), max(0, hi * (count - 1)))
