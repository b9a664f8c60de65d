"""Sorting networks along an axis: each thread's registers, then lanes, then warps; device helpers do the comparisons."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, F32, F64, DType, dtype_of
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import PRIMARY, C
from tle2cuda.lowering.combine import Element, elements_at, grid_of, register_element
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import sorted_name
from tle2cuda.lowering.scan import ScanAxis, scan_axis
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.passes.collective_plan import sort_chunk, sort_key

TEMPLATE = "sort.cu.j2"
_LANE_BITS = 5


@dataclass(frozen=True, slots=True)
class SortView:
    """A sort, as `sort.cu.j2` shows it."""

    type: str
    keys: str
    rows: int
    count: int
    element: Element
    key: str
    best: str
    left: int
    call: str
    declaration: str
    at: str
    value: str


def emit_sort(state: State, op: Op) -> None:
    """Write a sort, a merge, or the first elements in order, and bind the result."""
    source, result = op.operands[0], op.results[0]
    state.comment(op.span)
    layout, target = tile_layout(source), tile_layout(result)
    where = scan_axis(layout, op.attrs["axis"], op)
    dtype = dtype_of(source.type)
    key_type = sort_key(dtype)
    state.include_for(dtype)
    count, left = 1 << len(where.registers), min(1 << len(where.registers), target.shape[op.attrs["axis"]])
    names = state.names
    existing = state.targets.get(result)
    registers = existing or state.new_registers(result, sorted_name(state, op))
    keys = names.fresh("keys")
    best = names.fresh("best") if target.shape != layout.shape else keys
    depth = names.depth
    with names.scope():
        flat = layout.flat_registers
        grid = grid_of(
            layout.shape,
            [flat[bit] for bit in where.registers],
            [flat[bit] for bit in where.others],
            layout.flat_threads,
        )
        element = elements_at(state, (source,), grid, depth, same_run_block=count == 1)
        row = "run" if len(where.others) else "0"
        own = f"[{row}][{'k' if count > 1 else '0'}]"
        left_bits = left.bit_length() - 1
        moved = left_bits + len(where.others)
        ordered = f"{best}[{row}][{'k' if left > 1 else '0'}]"
        view = SortView(
            type=key_type.cuda,
            keys=keys,
            rows=1 << len(where.others),
            count=count,
            element=element,
            key=f"{keys}{own} = {_to_key(state, element.texts[0], dtype).text};",
            best="" if best == keys else best,
            left=left,
            call=_call(state, op, where, keys, best, left),
            declaration="" if existing else state.declaration(registers, result),
            at=register_element(registers, [1 << b for b in range(left_bits, moved)], [1 << b for b in range(left_bits)]),
            value=_from_key(state, C(ordered, PRIMARY), dtype).text,
        )
    write(state.block, TEMPLATE, "sorted", view, op.span)
    state.registers[result] = registers


def _call(state: State, op: Op, where: ScanAxis, keys: str, best: str, left: int) -> str:
    """The call of the device helper that does the work."""
    threads = where.width << len(where.warps)
    lowest = where.warps[0] if where.warps else 0
    if where.warps != tuple(range(lowest, lowest + len(where.warps))):
        raise InternalError("sort on a layout whose warps along the axis are scattered", op.span)
    step = 1 << lowest
    down = "true" if op.attrs["descending"] else "false"
    group = op.results[0].type.shape[op.attrs["axis"]] // left  # type: ignore[union-attr]
    if threads == 1 and op.attrs.get("merge"):
        size = op.results[0].type.shape[op.attrs["axis"]]  # type: ignore[union-attr]
        return f"{state.helper('merge_in_thread')}<{size}, {down}>({keys});"
    if threads == 1 and best == keys:
        return f"{state.helper('sort_in_thread')}<{left}, {down}>({keys});"
    slots = _slots(state, op, where)
    if op.attrs.get("merge"):
        return f"{state.helper('merge_rows')}<{threads}, {step}, {down}>({keys}, {threads // 2}, {slots});"
    if best != keys:
        return f"{state.helper('best_of_rows')}<{threads}, {step}, {group}, {down}>({keys}, {best}, {slots});"
    return f"{state.helper('sort_rows')}<{threads}, {step}, {threads}, {down}>({keys}, {slots});"


def _slots(state: State, op: Op, where: ScanAxis) -> str:
    """The object through which warps exchange keys."""
    if not where.warps:
        return f"{state.helper('NoSlots')}{{}}"
    shape = f"{sort_key(dtype_of(op.operands[0].type)).cuda}, {sort_chunk(op)}, {state.task.num_threads}"
    if state.task.is_cta:
        slots = f"{state.helper('WarpSlots')}<{shape}>"
    else:
        own = f"{state.task.first_thread}, {state.task.barrier_function}"
        slots = f"{state.helper('PartitionSlots')}<{shape}, {own}>"
    return f"{slots}{{{state.buffers[op.operands[-1]].text}}}"


def _to_key(state: State, element: C, dtype: DType) -> C:
    """An element as an integer in the order of the elements."""
    if not dtype.is_floating():
        return convert(state, element, dtype, sort_key(dtype))
    if dtype is F64:
        return C(f"{state.helper('double_key')}({element.text})", PRIMARY, element.deps)
    if dtype.is_fp8():
        wide = convert(state, element, dtype, F32)
        bits = f"{state.helper('bit_cast')}<signed char>({element.text})"
        return C(f"{state.helper('float8_key')}({bits}, isnan({wide.text}))", PRIMARY, element.deps)
    return C(f"{state.helper('float_key')}({convert(state, element, dtype, F32).text})", PRIMARY, element.deps)


def _from_key(state: State, key: C, dtype: DType) -> C:
    if not dtype.is_floating():
        return C(f"{key.text} != 0") if dtype is BOOL else convert(state, key, sort_key(dtype), dtype)
    if dtype is F64:
        return C(f"{state.helper('double_of_key')}({key.text})", PRIMARY, key.deps)
    if dtype.is_fp8():
        bits = f"static_cast<signed char>({state.helper('float8_key')}({key.text}))"
        return C(f"{state.helper('bit_cast')}<{dtype.cuda}>({bits})", PRIMARY, key.deps)
    return convert(state, C(f"{state.helper('float_of_key')}({key.text})", PRIMARY, key.deps), F32, dtype)
