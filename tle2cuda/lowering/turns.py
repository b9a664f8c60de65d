"""Turns of warpgroups at the tensor cores: each waits at a hardware barrier until the one before has issued its own."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import WARPGROUP_WARPS, Op
from tle2cuda.ir.span import Span
from tle2cuda.lowering.mbarriers import HARDWARE_BARRIERS
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.targets import WARP_THREADS

TEMPLATE = "turns.cu.j2"
_TWO_WARPGROUPS = 2 * WARPGROUP_WARPS * WARP_THREADS  # the one that waits, and the one that passes its turn on


@dataclass(frozen=True, slots=True)
class TurnView:
    """What `turns.cu.j2` shows.

    Attributes:
        group: Number of the warpgroup in its task.
        first: Hardware barrier of the first warpgroup.
        last: Hardware barrier of the last one.
        following: Hardware barrier of the one whose turn is next.
        sync: Function that waits at a barrier.
        arrive: Function that is counted there and goes on.
        threads: How many come to it.
    """

    group: str
    first: int
    last: int
    following: str
    sync: str
    arrive: str
    threads: int = _TWO_WARPGROUPS


def emit_turn(state: State, op: Op) -> None:
    """What one warpgroup does about its turn; nothing where hardware barriers run out."""
    write_turn(state, state.block, op.attrs["kind"], op.attrs["warpgroups"], op.span)


def write_turn(state: State, block: Block, kind: str, count: int, span: Span) -> None:
    """The same into a block.

    Args:
        state: The state.
        block: Where it stands.
        kind: `begin`, `wait`, `pass` or `end`.
        count: How many warpgroups the task has.
        span: The user's place.
    """
    first = _first_barrier(state, count)
    if first is None:
        return
    group, last = state.warpgroup(), first + count - 1
    following = f"{last} - {group}" if count == 2 else f"{first} + ({group} + 1) % {count}"
    functions = (state.helper("named_barrier_sync"), state.helper("named_barrier_arrive"))
    write(block, TEMPLATE, kind, TurnView(group, first, last, following, *functions), span)


def _first_barrier(state: State, count: int) -> int | None:
    """The hardware barrier of the task's first warpgroup; the others' follow."""
    task = state.task.name
    if task not in state.turn_barriers:
        fits = state.free_barrier + count <= HARDWARE_BARRIERS
        state.turn_barriers[task] = state.free_barrier if fits else None
        state.free_barrier += count if fits else 0
    return state.turn_barriers[task]


__all__ = ["emit_turn", "write_turn"]
