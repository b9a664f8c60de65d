"""Copies that CTAs of a cluster share: who brings which part, whom it goes to, and who hears that a stage is free."""

from __future__ import annotations

from tle2cuda.ir.multicast import Sharing
from tle2cuda.ir.nodes import walk
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.distributed import cluster_rank
from tle2cuda.lowering.state import State
from tle2cuda.targets import WARP_THREADS


def shares_stages(state: State) -> bool:
    """Whether CTAs of a cluster fill stages of each other's."""
    return any(op.name == "pipe" and op.attrs.get("multicast") for op in walk(state.kernel.body))


def _rank(state: State) -> str:
    return _constant(state, "rank", "int", cluster_rank(state).text)


def _constant(state: State, stem: str, type_: str, text: str) -> str:
    """A constant at the start of the task that says something of the CTA's place in the cluster."""
    scope = state.scopes[0]
    for block, written, name in state.task_constants:
        if block is scope.block and written == text:
            return name
    name = state.names.fresh(stem, scope.names_depth)
    statements.constant(scope.block, type_, name, text)
    state.task_constants.append((scope.block, text, name))
    return name


def member(state: State, shared: Sharing) -> C:
    """Number of the CTA in its group."""
    rank, terms, count = _rank(state), [], 1
    if shared.is_whole:
        return C(rank)
    for axis in reversed(shared.along):
        extent, stride = shared.shape[axis], shared.stride(axis)
        term = rank if stride == 1 else f"{rank} / {stride}"
        if axis > 0:
            term += f" % {extent}"
        terms.append(term if count == 1 else f"{term} * {count}")
        count *= extent
    return C(_constant(state, "member", "int", " + ".join(terms)))


def ctas(state: State, shared: Sharing) -> str:
    """The ranks of the CTA's group, as bits."""
    bits = sum(1 << offset for offset in shared.offsets)
    if shared.is_whole:
        return f"{bits:#x}"
    rank, parts = _rank(state), []
    for axis in shared.along:
        extent, stride = shared.shape[axis], shared.stride(axis)
        term = rank if stride == 1 else f"{rank} / {stride}"
        if axis > 0:
            term = f"{term} % {extent}"
        parts.append(f" - {term}" if stride == 1 else f" - {term} * {stride}")
    return _constant(state, "ctas", "unsigned", f"{bits:#x}u << ({rank}{''.join(parts)})")


def arrive_at_all(state: State, address: str, sharings: tuple[Sharing, ...], period: int) -> tuple[str, str]:
    """The call by which one thread of `period` arrives at the barrier of each CTA, and the condition that selects them."""
    number = f"{state.thread().text} % {period}" if period != WARP_THREADS else f"{state.thread().text} % {WARP_THREADS}"
    call = f"{state.helper('mbarrier_free')}({address}, {number})"
    whole = next((each for each in sharings if each.is_whole), None)
    if whole is not None:
        return call, f"{number} < {whole.count}"
    masks = " | ".join(ctas(state, each) for each in sharings)
    if len(sharings) > 1:
        masks = _constant(state, "peers", "unsigned", masks)
    size = 1
    for extent in sharings[0].shape:
        size *= extent
    return call, f"{number} < {size} && ({masks} >> {number} & 1)"
