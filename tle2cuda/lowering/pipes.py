"""Pipes: waits by lap parity, arrivals by whoever filled the stage or is done with it."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.multicast import pipe_sharings
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Op, Value
from tle2cuda.ir.rules import scratch_operands, value_operands
from tle2cuda.ir.types import BarrierType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.drains import note_fill
from tle2cuda.lowering.issues import emit_elected_wait
from tle2cuda.lowering.mbarriers import barrier_address, parity, wait, wait_text
from tle2cuda.lowering.multicast import arrive_at_all
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.shared import slot_of
from tle2cuda.lowering.stage_bits import StageBits
from tle2cuda.lowering.state import State
from tle2cuda.passes.pipe_releases import WARPGROUPS, WARPS
from tle2cuda.passes.pipes import COPIES, ELECTED, GROUP, THREADS
from tle2cuda.targets import WARP_THREADS


@dataclass(frozen=True, slots=True)
class PipeRef:
    """What a pipe is made of.

    Attributes:
        op: The operation that makes it.
        fields: Its buffers.
        full: Barriers of published stages; None for a pipe within one task, whose barriers order its uses.
        empty: Barriers of stages that are free again; None when none is filled twice.
        closed: Flags of closed stages; None when it is never closed.
    """

    op: Op
    fields: tuple[Value, ...]
    full: Value | None
    empty: Value | None
    closed: Value | None


def pipe_ref(state: State, pipe: Value) -> PipeRef:
    """The parts of a pipe."""
    op = state.definitions.get(pipe)
    if op is None or op.name != "pipe":
        raise InternalError(f"{pipe!r} is not the result of a pipe operation", pipe.span)
    storage = list(scratch_operands(op))
    full = storage.pop(0) if storage else None
    empty = storage.pop(0) if storage and isinstance(storage[0].type, BarrierType) else None
    return PipeRef(op, value_operands(op), full, empty, storage[0] if storage else None)


def emit_pipe(state: State, op: Op) -> None:
    """A pipe is its barriers, which the prologue sets up."""


def _may_go_unread(state: State, op: Op) -> None:
    """Names of a stage and a lap that no barrier needs may go again."""
    for value in op.operands[1:3]:
        name = state.scalars.get(value)
        if name is not None and name.text.isidentifier():
            state.index_constants.add(name.text)


def emit_acquire(state: State, op: Op) -> None:
    """Wait until the stage is free for this lap; its slots."""
    pipe, stage, _ = op.operands
    ref = pipe_ref(state, pipe)
    _wait_free(state, op, ref)
    _bind_slots(state, ref, op.results, stage)
    _may_go_unread(state, op)


def _wait_free(state: State, op: Op, ref: PipeRef) -> None:
    _, stage, lap = op.operands
    if ref.empty is not None:
        state.comment(op.span)
        # A fresh barrier counts the phase in front of its first as over: the first lap waits for nobody.
        address, phase = barrier_address(state, ref.empty, stage), parity(state, lap, 1)
        text = wait_text(state, address, phase, bool(pipe_sharings(ref.op)))
        if op.name == "pipe_acquire" and op.attrs.get("elected") and not state.task.is_single:
            emit_elected_wait(state, op, text)
        else:
            condition = state.first_thread().text if op.attrs.get("elected") else ""
            statements.evaluate(state.block, text, op.span, condition)


def emit_commit(state: State, op: Op) -> None:
    """Publish a stage."""
    ref = pipe_ref(state, op.operands[0])
    if op.attrs["arrivals"] == (GROUP,):
        statements.evaluate(state.block, f"{state.helper('cp_async_commit')}()", op.span)
        _may_go_unread(state, op)
        return
    if op.attrs["arrivals"]:
        state.comment(op.span)
    _arrive(state, op, ref)
    _count_fill(state, op, ref)
    _may_go_unread(state, op)


def emit_close(state: State, op: Op) -> None:
    """Publish a stage that says there are no more."""
    pipe, stage, _ = op.operands
    ref = pipe_ref(state, pipe)
    assert ref.closed is not None
    state.comment(op.span)
    _wait_free(state, op, ref)
    flag = f"{state.buffers[ref.closed].text}[{scalar_text(state, stage).text}]"
    statements.assign(state.block, flag, "1", op.span, state.first_thread().text)
    _arrive(state, op, ref)
    _count_fill(state, op, ref)


def _arrive(state: State, op: Op, ref: PipeRef) -> None:
    if ref.full is None:
        return
    address = barrier_address(state, ref.full, op.operands[1])
    note_fill(state, ref.full, op.operands[1], op.operands[2], op)
    for who in op.attrs["arrivals"]:
        condition = state.first_thread().text if who == ELECTED else ""
        statements.evaluate(state.block, f"{state.helper(_ARRIVALS[who])}({address})", op.span, condition)


def fills_of(state: State, pipe: Value) -> StageBits | None:
    """A variable of the writer whose bits say of each stage whether it was published an odd number of times.

    None for a pipe without barriers. There is one where a tensor map waits for the stages that its predecessor filled.
    """
    ref = pipe_ref(state, pipe)
    if ref.full is None:
        return None
    if (counted := _counted(state, ref)) is not None:
        return counted
    fills = state.pipe_fills.get(pipe)
    if fills is None:
        scope = state.scopes[0]
        stem = ref.op.attrs.get("name") or ref.op.result.name or "pipe"
        fills = StageBits(state.names.fresh(f"{stem}_fills", scope.names_depth), ref.op.attrs["capacity"])
        state.pipe_fills[pipe] = fills
        fills.start(scope.block, ref.op.span)
    return fills


def _counted(state: State, ref: PipeRef) -> StageBits | None:
    """The variable that counts fills for the wait at the task's end, where there is one and it counts by parity."""
    fills = state.fills.get(ref.full) if ref.full is not None else None
    return fills.filled if fills is not None and fills.parities is None else None


def _count_fill(state: State, op: Op, ref: PipeRef) -> None:
    pipe, stage, _ = op.operands
    if pipe not in state.pipes_in_maps or _counted(state, ref) is not None or (fills := fills_of(state, pipe)) is None:
        return
    at = scalar_text(state, stage) if fills.stages > 1 else C("0")
    statements.evaluate(state.block, f"{fills.word(at)} ^= {fills.bit(at)}", op.span)


_ARRIVALS = {
    COPIES: "cp_async_mbarrier_arrive_noinc",
    THREADS: "mbarrier_arrive",
    ELECTED: "mbarrier_arrive",
}


def emit_wait(state: State, op: Op) -> None:
    """Wait until the stage of this lap is published; whether the pipe is closed, and the slots."""
    pipe, stage, lap = op.operands
    ref = pipe_ref(state, pipe)
    pending = op.attrs.get("pending")
    if ref.full is not None:
        state.comment(op.span)
        wait(state, barrier_address(state, ref.full, stage), parity(state, lap), op)
    elif pending is not None:
        statements.evaluate(state.block, f"{state.helper('cp_async_wait')}<{pending}>()", op.span)
    if ref.full is None:
        _may_go_unread(state, op)
    is_closed, *slots = op.results
    if ref.closed is None:
        state.scalars[is_closed] = C("false")
    elif state.use_count(is_closed):
        flag = f"{state.buffers[ref.closed].text}[{scalar_text(state, stage).text}] != 0"
        target = state.scalar_targets.get(is_closed)
        name = target or state.names.fresh(is_closed.name or "is_closed")
        if target:
            statements.assign(state.block, target, flag, op.span)
        else:
            state.define_constant(is_closed, name, flag, op.span)
        state.scalars[is_closed] = C(name)
    _bind_slots(state, ref, tuple(slots), stage)


def is_silent_release(state: State, op: Op) -> bool:
    """Whether an operation gives a stage back and nobody arrives for it."""
    return op.name == "pipe_release" and pipe_ref(state, op.operands[0]).empty is None


def emit_release(state: State, op: Op) -> None:
    """Each thread of the reader is done with a stage, or one for its warpgroup or warp."""
    pipe, stage, _ = op.operands
    ref = pipe_ref(state, pipe)
    _may_go_unread(state, op)
    if ref.empty is None:
        return
    state.comment(op.span)
    address = barrier_address(state, ref.empty, stage)
    threads = {(WARPGROUPS,): WARP_THREADS * WARPGROUP_WARPS, (WARPS,): WARP_THREADS}
    period = threads.get(op.attrs.get("arrivals", ()), 1)
    if period == WARP_THREADS:
        statements.evaluate(state.block, "__syncwarp()", op.span)
    if sharings := pipe_sharings(ref.op):
        call, condition = arrive_at_all(state, address, sharings, period)
        statements.evaluate(state.block, call, op.span, condition)
        return
    text = f"{state.helper('mbarrier_arrive')}({address})"
    condition = f"{state.thread().text} % {period} == 0" if period > 1 else ""
    statements.evaluate(state.block, text, op.span, condition)


def _bind_slots(state: State, ref: PipeRef, slots: tuple[Value, ...], stage: Value) -> None:
    for field, slot in zip(ref.fields, slots, strict=True):
        state.buffers[slot] = slot_of(state, state.buffers[field], stage)
