"""mbarriers: members of `Shared`, initialised once in the prologue of the kernel."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op, Value
from tle2cuda.lowering.cexpr import Affine
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.targets import parse_target


@dataclass(frozen=True, slots=True)
class Initialised:
    """One array of mbarriers: how it is spelled, how many there are, the arrivals of a phase."""

    array: str
    count: int
    arrivals: int


@dataclass(frozen=True, slots=True)
class InitView:
    """What `mbarriers.cu.j2` shows: the arrays, and whether the copy engine is to know of them."""

    arrays: tuple[Initialised, ...]
    fence: bool


def barrier_address(state: State, barriers: Value, index: Value | None) -> str:
    """`&shared.full[stage]`; an array of one is a member without an index."""
    text, count = state.barriers[barriers]
    if count == 1 or index is None:
        return f"&{text}" if count == 1 else f"&{text}[0]"
    op = state.definitions.get(index)
    at = Affine(int(op.attrs["value"])) if op is not None and op.name == "constant" else scalar_text(state, index)
    return f"&{text}[{at.to_c(state.index_names).text if isinstance(at, Affine) else at.text}]"


def emit_initialisation(state: State, block: Block, arrays: list[Op]) -> None:
    """One thread initialises all mbarriers, before anyone else uses them."""
    if not arrays:
        return
    state.helper("mbarrier_init")
    fence = parse_target(state.kernel.target).has("mbarrier_tx")
    if fence:
        state.helper("fence_mbarrier_init")
    views = [Initialised(*state.barriers[op.result], int(op.attrs["arrivals"])) for op in arrays]
    write(block, "mbarriers.cu.j2", "initialisation", InitView(tuple(views), fence))
