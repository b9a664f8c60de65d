"""Stages that the copy engine fills and nobody may wait for: which they are, and the wait at the end of their task."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import BarrierType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.mbarriers import SetUpGroup, parity
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.stage_bits import StageBits
from tle2cuda.lowering.state import Fills, State
from tle2cuda.lowering.templates import write

TEMPLATE = "barriers.cu.j2"


@dataclass(frozen=True, slots=True)
class DrainView:
    """The wait for what has been filled.

    Attributes:
        condition: What selects the thread that waits; empty where it is alone.
        groups: For each number of stages the statements that wait for one of them, `stage`.
    """

    condition: str
    groups: tuple[SetUpGroup, ...]


def emit_count(state: State, op: Op) -> None:
    """Variables with a bit for each stage."""
    (barriers,) = op.operands
    name = state.barriers[barriers].rpartition(".")[2].removesuffix("_full")
    type_ = barriers.type
    assert isinstance(type_, BarrierType)
    counted = StageBits(state.names.fresh(f"{name}_filled"), type_.count)
    laps = StageBits(state.names.fresh(f"{name}_parities"), type_.count) if op.attrs.get("takes_turns") else None
    for each in filter(None, (counted, laps)):
        each.start(state.block, op.span)
    state.fills[barriers] = Fills(counted, laps)


def note_fill(state: State, barriers: Value, stage: Value | None, lap: Value | None, op: Op) -> None:
    """A stage is filled once more; nothing where somebody surely waits for it."""
    fills = state.fills.get(barriers)
    if fills is None:
        return
    type_ = barriers.type
    assert isinstance(type_, BarrierType)
    at = scalar_text(state, stage) if stage is not None and type_.count > 1 else C("0")
    filled, parities = fills.filled, fills.parities
    if parities is None:
        statements.evaluate(state.block, f"{filled.word(at)} ^= {filled.bit(at)}", op.span)
        return
    assert lap is not None
    statements.evaluate(state.block, f"{filled.word(at)} |= {filled.bit(at)}", op.span)
    statements.evaluate(state.block, f"{parities.word(at)} &= ~({parities.bit(at)})", op.span)
    set_ = parities.moved(parity(state, lap), at)
    statements.evaluate(state.block, f"{parities.word(at)} |= {set_}", op.span)


def emit_await(state: State, op: Op) -> None:
    """One thread waits until all that came has landed."""
    groups: dict[int, list[str]] = {}
    for barriers in op.operands:
        assert isinstance(barriers.type, BarrierType)
        groups.setdefault(barriers.type.count, []).append(_await(state, barriers, barriers.type.count))
    condition = state.first_thread().text
    view = DrainView(
        "" if condition == "true" else condition, tuple(SetUpGroup(n, tuple(lines)) for n, lines in groups.items())
    )
    write(state.block, TEMPLATE, "drain", view, op.span)


def _await(state: State, barriers: Value, count: int) -> str:
    """The statement that waits for the stage `stage`, or the only one."""
    fills, stage = state.fills.pop(barriers), C("stage")
    wait, address = state.helper("mbarrier_wait"), f"&{state.barriers[barriers]}"
    filled, parities = fills.filled, fills.parities
    if count == 1 and parities is not None:
        return f"if ({filled.name} != 0) {wait}({address}, {parities.name});"
    if count == 1:
        return f"{wait}({address}, {filled.name} ^ 1);"
    if parities is not None:
        return f"if ({filled.shifted(stage)} & 1) {wait}({address}[stage], {parities.shifted(stage)} & 1);"
    return f"{wait}({address}[stage], {filled.shifted(stage, is_opposite=True)} & 1);"
