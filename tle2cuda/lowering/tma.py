"""Tensor copies: one thread issues them, the copy engine moves the boxes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.multicast import Sharing, sharing
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.tma import TensorCopy, has_map, tensor_copy
from tle2cuda.ir.types import BF16, I64, U32, U64, DType, PipeType, TensorMapType
from tle2cuda.layout.tensor_boxes import CHUNK_BYTES, Boxes, Steps, boxes, buffer_axes
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import ADD, MUL, Affine, C, binary
from tle2cuda.lowering.drains import note_fill
from tle2cuda.lowering.issues import TEMPLATE, Issue
from tle2cuda.lowering.mbarriers import arrival_units, arrive, barrier_address
from tle2cuda.lowering.multicast import ctas, member
from tle2cuda.lowering.pipes import fills_of, pipe_ref
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.shared import bare
from tle2cuda.lowering.state import BufferRef, State, affine
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block, barrier_remark
from tle2cuda.runtime.contract import TensorMapSpec
from tle2cuda.runtime.tensor_maps import expression_names

DEVICE_MAPS = "device_maps"
"""Parameter that leads to the maps that the kernel makes, those of one CTA beside each other."""


@dataclass(frozen=True, slots=True)
class LoadView:
    """What announces a load, for `tma.cu.j2`.

    Attributes:
        barrier: The mbarrier that it completes on.
        arrives: Bytes that the one arrival announces; 0 when something else arrives.
        adds: Bytes that are announced without an arrival; 0 for none.
    """

    barrier: str
    arrives: int = 0
    adds: int = 0


@dataclass(frozen=True, slots=True)
class ChangedView:
    """A map that one thread makes of a form, for `tma.cu.j2`; the contiguous dimension first.

    Attributes:
        waits: What it waits for before.
        name: Pointer to the map.
        form: The kernel's parameter.
        base: Pointer to the tensor.
        extents: Extents in elements.
        strides: Strides in bytes, but that of the contiguous dimension.
    """

    waits: tuple[str, ...]
    name: str
    form: str
    base: str
    extents: tuple[str, ...]
    strides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitView:
    """The wait for a load, for `tma.cu.j2`: its mbarrier, the parity, and the variable that keeps it, if one does."""

    barrier: str
    parity: str
    variable: str


@dataclass(frozen=True, slots=True)
class IssuerView:
    """A wait of the thread that issues copies, for `tma.cu.j2`: what selects it, the call, and a trailing comment."""

    condition: str
    call: str
    remark: str


# ---- tensor maps ----------------------------------------------------------------------------------------------------


def bind_map(state: State, op: Op) -> str:
    """Name a tensor map; returns the kernel's parameter."""
    state.helper("TensorMap")
    if op.name == "changed_tensor_map":
        return f"const __grid_constant__ TensorMap {op.attrs['form']}"
    name = state.names.fresh(op.attrs["name"])
    state.tensor_maps[op.result] = f"&{name}"
    return f"const __grid_constant__ TensorMap {name}"


def map_spec(state: State, op: Op) -> TensorMapSpec:
    """What the launch contract says of a tensor map."""
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    if op.name == "changed_tensor_map":
        return _form_spec(op, type_)
    return TensorMapSpec(
        name=state.tensor_maps[op.result].removeprefix("&"),
        dtype=type_.element.short,
        base=op.operands[0].name,
        shape=op.attrs["shape"],
        strides=op.attrs["strides"],
        box=type_.box,
        offset_elems=op.attrs["offset"],
        swizzle_bytes=op.attrs["swizzle_bytes"],
        padding=op.attrs["padding"],
        source=op.span.short() if op.span.line else "",
    )


def _form_spec(op: Op, type_: TensorMapType) -> TensorMapSpec:
    """A map that a kernel changes before it uses it: any base, extents and strides will do."""
    rank = len(type_.box)
    stride = max(1, CHUNK_BYTES // type_.element.bytes)
    return TensorMapSpec(
        name=op.attrs["form"],
        dtype=type_.element.short,
        base=op.attrs["form_base"],
        shape=("1",) * rank,
        strides=(str(stride),) * (rank - 1),
        box=type_.box,
        swizzle_bytes=op.attrs["swizzle_bytes"],
        padding=op.attrs["padding"],
        source=op.span.short() if op.span.line else "",
    )


def changed_maps(kernel: Kernel) -> list[Op]:
    """The operations that make tensor maps in memory of the CTA, one for each map."""
    found = {op.attrs["form"]: op for op in walk(kernel.body) if op.name == "changed_tensor_map"}
    return list(found.values())


def slots_of_maps(kernel: Kernel) -> int:
    """For how many tensor maps each CTA has memory."""
    return sum(_slots(op) for op in changed_maps(kernel))


def _slots(op: Op) -> int:
    return int(op.attrs.get("slots") or 1)


def emit_changed_map(state: State, op: Op) -> None:
    """One thread copies the form to memory of its CTA and changes what it leads to."""
    type_ = op.result.type
    assert isinstance(type_, TensorMapType)
    rank = len(type_.box)
    state.comment(op.span)
    base, *values = (scalar_text(state, value).text for value in op.operands[: 2 * rank])
    rest = op.operands[2 * rank :]
    stage = rest[0] if rest and isinstance(rest[0].type, DType) else None
    name = state.names.fresh(op.attrs["name"])
    statements.constant(state.block, "TensorMap*", name, _memory(state, op, stage), op.span)
    state.tensor_maps[op.result] = name
    extents, strides = tuple(reversed(values[:rank])), tuple(reversed(values[rank:]))
    waits = [wait for pipe in rest[stage is not None :] for wait in _published(state, pipe)]
    if op.attrs.get("after_stores"):
        waits.append(f"{state.helper('tma_store_wait_read')}();  // nothing is stored by the map before this one any more")
    view = ChangedView(tuple(waits), name, op.attrs["form"], base, extents, strides)
    for part in ("base", "extent", *(["stride"] if strides else [])):
        state.helper(f"change_tensor_map_{part}")
    state.helper("fence_tensor_map")
    if state.task.is_single:
        write(state.block, TEMPLATE, "changed_map", view, op.span)
        return
    body = Block(state.block.depth + 1)
    write(body, TEMPLATE, "changed_map", view, op.span)
    write(state.block, TEMPLATE, "one_thread", state.first_thread(), op.span, body=body)


def _memory(state: State, op: Op, stage: Value | None) -> str:
    """Where a map lies: the maps of a CTA stand beside each other, those of the stages of a pipe too."""
    maps = changed_maps(state.kernel)
    number = next(i for i, each in enumerate(maps) if each.attrs["form"] == op.attrs["form"])
    first, count = sum(map(_slots, maps[:number])), sum(map(_slots, maps))
    cta = "gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z) + blockIdx.x"
    text = cta if count == 1 else f"({cta}) * {count}"
    if first:
        text += f" + {first}"
    if stage is not None and _slots(op) > 1:
        text += f" + {scalar_text(state, stage).text}"
    return f"{DEVICE_MAPS} + {text}"


def _published(state: State, pipe: Value) -> list[str]:
    """Waits for the published stages of a pipe: what the engine brought by the map before this one has landed."""
    filled = fills_of(state, pipe)
    if filled is None:
        return []
    ref = pipe_ref(state, pipe)
    assert ref.full is not None
    state.helper("mbarrier_wait")
    type_ = pipe.type
    assert isinstance(type_, PipeType)
    if type_.capacity == 1:
        return [f"mbarrier_wait({barrier_address(state, ref.full, None)}, ~{filled.name} & 1);  // it has landed"]
    barrier = f"&{state.barriers[ref.full]}[landed]"
    loop = f"for (int landed = 0; landed < {type_.capacity}; ++landed)"
    phase = filled.shifted(C("landed"), is_opposite=True)
    return [f"{loop}  // what the map before this one described", f"    mbarrier_wait({barrier}, {phase} & 1);"]


def map_arguments(op: Op) -> set[str]:
    """Names of the arguments that a tensor map is made of."""
    if op.name == "changed_tensor_map":
        return {op.attrs["form_base"]}
    texts = (op.attrs["offset"], *op.attrs["shape"], *op.attrs["strides"])
    return {op.operands[0].name, *(name for text in texts for name in expression_names(text))}


# ---- copies ---------------------------------------------------------------------------------------------------------


def emit_load(state: State, op: Op) -> None:
    """`if (thread == 0) { expect bytes; tma_load_2d(...); }`, and the wait where the load blocks."""
    copy = tensor_copy(op)
    completion = op.attrs["completion"]
    if completion == "blocking":
        (private,) = scratch_operands(op)
        barrier = barrier_address(state, private, None)
    else:
        assert copy.barriers is not None
        barrier = barrier_address(state, copy.barriers, copy.index)
    with _issued(state, op, copy) as body:
        announced = _announced(state, op, copy, barrier)
        if announced.arrives or announced.adds:
            write(body, TEMPLATE, "announce", announced, op.span)
        own = copy.barriers if completion == "barrier" else None
        if own is not None and (units := arrival_units(state, own)) > 1:
            arrive(state, body, barrier, units - 1, op)  # what tasks do without the copy engine are as many
        if has_map(op):
            function, hint = _load_function(state, op)
            shared = _shared(op)
            to = f", {ctas(state, shared)}" if shared is not None else ""
            _emit_boxes(
                state, op, copy, lambda place, at: f"{function}({place}, {_map(state, copy)}, {barrier}{to}, {at}{hint})"
            )
        else:
            _emit_bulk(state, op, copy, barrier)
        if own is not None:
            note_fill(state, own, copy.index, None, op)
    if completion == "blocking":
        _emit_wait(state, op, barrier)
        assert state.issue is not None
        state.issue = replace(state.issue, end=len(state.block.lines))


def _emit_bulk(state: State, op: Op, copy: TensorCopy, barrier: str) -> None:
    """`bulk_load(&shared.rows[stage], x + start, 1024, barrier);` for each row of a tile, which no tensor map describes."""
    function = state.helper("bulk_load")
    _emit_rows(state, op, copy, lambda place, source, size: f"{function}({place}, {source}, {size}, {barrier})")


def _emit_rows(state: State, op: Op, copy: TensorCopy, call: Callable[[str, str, int], str]) -> None:
    """The call for each row of a tile; `call` spells it for its places in shared and global memory and its bytes."""
    ref, type_ = state.buffers[copy.buffer], copy.buffer_type
    row_elems = int(op.attrs["block"][-1])
    rows = math.prod(op.attrs["block"]) // row_elems
    steps = (Steps(0, rows, 1, row_elems),) if rows > 1 else ()
    names = [state.names.fresh("row") for _ in steps]
    row = Boxes((*(1 for _ in type_.shape[:-1]), row_elems), steps)
    place = bare(_place(state, ref, row, [C(name) for name in names]))
    source = scalar_text(state, copy.base)
    if names:
        source = binary("+", ADD, source, binary("*", MUL, C(names[0]), scalar_text(state, copy.strides[0])))
    body = Block(state.block.depth + len(names))
    size = row_elems * type_.element.bytes
    statements.evaluate(body, call(place, source.text, size), op.span)
    loops = [(name, rows) for name in names]
    statements.loop_nest(state.block, loops, body, op.span, short=True)


def _announced(state: State, op: Op, copy: TensorCopy, barrier: str) -> LoadView:
    moved_bytes = _moved_bytes(op, copy)
    completion = op.attrs["completion"]
    if completion == "pipe":
        stage_bytes = int(op.attrs.get("stage_bytes") or 0)
        adds = moved_bytes if op.attrs.get("adds_bytes") else 0
        view = LoadView(barrier, stage_bytes, adds)
    else:
        view = LoadView(barrier, moved_bytes if completion == "blocking" else _expected_bytes(state, op, copy))
    if view.arrives:
        state.helper("mbarrier_expect_bytes")
    if view.adds:
        state.helper("mbarrier_add_bytes")
    return view


def _moved_bytes(op: Op, copy: TensorCopy) -> int:
    block: tuple[int, ...] = op.attrs["block"]
    return math.prod(block) * copy.buffer_type.element.bytes


def _expected_bytes(state: State, op: Op, copy: TensorCopy) -> int:
    """Bytes that a copy announces on a barrier of the user's: what that was allocated for."""
    assert copy.barriers is not None
    found: set[object] = set()
    for root in state.roots.of(copy.barriers):
        made = state.definitions.get(root) if root is not None else None
        found.add(made.attrs.get("expect_bytes") if made is not None else None)
    expected = found.pop() if len(found) == 1 else None
    if not isinstance(expected, int):
        raise InternalError("a tensor copy completes on barriers that do not agree in their bytes", op.span)
    return expected


def _load_function(state: State, op: Op) -> tuple[str, str]:
    """The helper of a load, and its trailing arguments."""
    rank = op.attrs["rank"]
    shared = _shared(op)
    if shared is not None:
        return state.helper(f"tma_load_multicast_{rank}d"), ""
    policy = {"evict_first": "EVICT_FIRST", "evict_last": "EVICT_LAST"}.get(op.attrs.get("eviction") or "")
    if policy:
        return state.helper(f"tma_load_hinted_{rank}d"), f", {state.helper(policy)}"
    return state.helper(f"tma_load_{rank}d"), ""


def _emit_wait(state: State, op: Op, barrier: str) -> None:
    """Every thread waits; the parity is that of the execution, which a variable keeps in loops."""
    state.helper("mbarrier_wait")
    variable = wait_variable(state, op, f"{op.operands[-1].name or 'landed'}_phase")
    write(state.block, TEMPLATE, "wait", WaitView(barrier, variable or "0", variable), op.span)


def wait_variable(state: State, op: Op, name: str) -> str:
    """The variable that keeps the parity of a barrier that only one operation waits at, in loops; else empty."""
    outer = next((number for number, scope in enumerate(state.scopes) if scope.is_loop), None)
    if outer is None:
        return ""
    scope = state.scopes[outer - 1]
    variable = state.names.fresh(name, scope.names_depth)
    statements.started(scope.block, "unsigned", variable, "0", op.span)
    return variable


def emit_store(state: State, op: Op) -> None:
    """`if (thread == 0) { tma_store_2d(...); tma_store_commit(); }`; waits are operations of their own."""
    copy = tensor_copy(op)
    kind, rank = op.attrs["kind"], op.attrs["rank"]
    if has_map(op):
        function = state.helper(f"tma_store_{rank}d" if kind == "store" else f"tma_reduce_{kind}_{rank}d")
    with _issued(state, op, copy) as body:
        if has_map(op):
            _emit_boxes(state, op, copy, lambda place, at: f"{function}({_map(state, copy)}, {place}, {at})")
        else:
            bulk = state.helper(_bulk_name(kind, copy.buffer_type.element))
            _emit_rows(state, op, copy, lambda place, target, size: f"{bulk}({target}, {place}, {size})")
        statements.evaluate(body, f"{state.helper('tma_store_commit')}()", op.span)


def _bulk_name(kind: str, element: DType) -> str:
    """The helper that stores rows or combines them with memory."""
    if kind == "store":
        return "bulk_store"
    letter = "su"[element in (U32, U64)]
    if element.is_floating():
        letter = "bf" if element is BF16 else "f"
    elif kind in ("and", "or", "xor"):
        letter = "b"
    elif kind == "add" and element is I64:
        letter = "u"  # the sum is the same
    return f"bulk_reduce_{kind}_{letter}{element.bits}"


@contextlib.contextmanager
def _issued(state: State, op: Op, copy: TensorCopy) -> Iterator[Block]:
    """The statements by which one thread issues a copy.

    They join those of a copy right in front, so that both are in flight together: in front of the wait for that one,
    where it blocks. Loads that may fill the same buffer stay apart.
    """
    block, before = state.block, state.issue
    roots = frozenset(state.roots.of(copy.buffer))
    joins = (
        before is not None
        and before.block is block
        and before.end == len(block.lines)
        and before.name == op.name
        and (op.name == "tma_store" or (None not in roots | before.roots and not roots & before.roots))
    )
    is_single = state.task.is_single
    body = Block(block.depth + (not is_single), commented=before.commented if joins and before else None)
    if not joins:
        state.comment(op.span)
    with state.names.scope(), state.writing_to(body):
        if joins:
            state.comment(op.span)
        yield body
    if joins and before is not None:
        block.lines[before.close : before.close] = body.lines
        close, roots = before.close + len(body.lines), roots | before.roots
    elif is_single:  # no other thread is there
        block.splice(body)
        close = len(block.lines)
    else:
        write(block, TEMPLATE, "one_thread", state.first_thread(), op.span, body=body)
        close = len(block.lines) - 1
    state.issue = Issue(block, op.name, close, len(block.lines), roots, (op.span.file, op.span.line))


def _map(state: State, copy: TensorCopy) -> str:
    return state.tensor_maps[copy.base]


def _emit_boxes(state: State, op: Op, copy: TensorCopy, call: Callable[[str, str], str]) -> None:
    """The call for each box, in loops where there are several; `call` spells it for a place and coordinates."""
    type_ = copy.buffer_type
    ref = state.buffers[copy.buffer]
    shared = _shared(op)
    made = boxes(type_.shape, type_.element.bytes, ref.swizzle_bytes, shared.count if shared is not None else 1)
    if made is None:
        raise InternalError(f"no boxes for {type_}", op.span)
    loops: list[tuple[str, int]] = []
    numbers: list[C] = []
    for position, step in enumerate(made.steps):
        count = step.count
        if shared is not None and position == 0:  # each CTA brings every so-many-th box
            own, count = member(state, shared), count // shared.count
        name = state.names.fresh("panel" if step.is_panel else "part") if count > 1 or not shared or position else ""
        if name:
            loops.append((name, count))
        if shared is None or position > 0:
            numbers.append(C(name))
        else:
            numbers.append(C(f"({name} * {shared.count} + {own.text})") if name else own)
    place = _place(state, ref, made, numbers)
    at = ", ".join(reversed(_coordinates(state, op, copy, made, numbers)))
    body = Block(state.block.depth + len(loops))
    statements.evaluate(body, call(place, at), op.span)
    statements.loop_nest(state.block, loops, body, op.span, short=True)


def _shared(op: Op) -> Sharing | None:
    """The CTAs that share a copy into a stage."""
    return sharing(op) if op.attrs.get("completion") == "pipe" else None


def _coordinates(state: State, op: Op, copy: TensorCopy, made: Boxes, numbers: Sequence[C]) -> list[str]:
    """Where in the tensor a box begins, in the order of the language."""
    found = []
    for offset, axis in zip(copy.offsets, buffer_axes(op.attrs["block"], copy.buffer_type.shape), strict=True):
        start = affine(_index(state, offset))
        for step, number in zip(made.steps, numbers, strict=True):
            if step.axis == axis:
                start = start.plus(Affine(0, ((number, step.step),)))
        found.append(start.to_c(state.index_names).text)
    return found


def _index(state: State, value: Value) -> C | Affine:
    op = state.definitions.get(value)
    if op is not None and op.name == "constant":
        return Affine(int(op.attrs["value"]))
    return scalar_text(state, value)


def _place(state: State, ref: BufferRef, made: Boxes, numbers: Sequence[C]) -> str:
    """Pointer to where a box goes in the buffer."""
    named = list(zip(numbers, made.steps, strict=True))
    if ref.flat:
        first = Affine()
        for start, stride in zip(ref.starts, ref.strides, strict=True):
            first = first.plus(affine(start).times(stride))
        offset = first.plus(Affine(0, tuple((name, step.stride_elems) for name, step in named)))
        text = offset.to_c(state.index_names).text
        return ref.text if offset.constant == 0 else f"{ref.text} + {text}"
    indices = []
    for axis, start in enumerate(ref.starts):
        steps = tuple((name, step.step) for name, step in named if step.axis == axis and not step.is_panel)
        indices.append(affine(start).plus(Affine(0, steps)))
    if ref.has_panels:
        panels = tuple((name, 1) for name, step in named if step.is_panel)
        indices.insert(len(indices) - 2, Affine(0, panels))
    while indices and indices[-1].constant == 0:
        indices.pop()
    text = ref.text + "".join(f"[{index.to_c(state.index_names).text}]" for index in indices)
    return f"&{text}" if len(indices) == len(ref.starts) + ref.has_panels else text


# ---- waits -----------------------------------------------------------------------------------------------------------


def emit_store_wait(state: State, op: Op) -> None:
    """The thread that issued stores waits until they have read shared memory, or are complete."""
    helper = "tma_store_wait_read" if op.attrs["kind"] == "read" else "tma_store_wait"
    condition = "" if state.task.is_single else state.first_thread().text
    pending = op.attrs.get("pending")
    call = f"{state.helper(helper)}<{pending}>()" if pending else f"{state.helper(helper)}()"
    view = IssuerView(condition, call, barrier_remark(op))
    write(state.block, TEMPLATE, "issuer", view, op.span)
