"""Clusters, distributed shared memory and grid barriers."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import BufferType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import PRIMARY, Affine, C
from tle2cuda.lowering.debug import BarrierView
from tle2cuda.lowering.places import Places
from tle2cuda.lowering.scalars import define, scalar_text
from tle2cuda.lowering.shared import row_major_strides
from tle2cuda.lowering.state import BufferRef, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import barrier_remark

TEMPLATE = "distributed.cu.j2"


@dataclass(frozen=True, slots=True)
class MembersView:
    """A barrier among some CTAs of the cluster, behind partitions with the function at which the default warps meet."""

    function: str
    meeting: str
    mask: str
    first: int
    count: int
    counter: str
    remark: str


@dataclass(frozen=True, slots=True)
class CountersView:
    """The counters of all barriers among members."""

    counters: str
    count: int


def uses_groups(state: State) -> bool:
    """Whether cooperative_groups spells clusters and grids, rather than our own helpers."""
    return state.headers == "toolkit"


def cluster_rank(state: State) -> C:
    """Rank of this CTA in its cluster."""
    if state.kernel.cluster_size == 1:
        return C("0")
    if uses_groups(state):
        state.uses_cluster = True
        return C("static_cast<int>(cluster.block_rank())")
    return C(f"{state.helper('cluster_rank')}()")


def map_shared_rank(state: State, address: C, rank: C) -> C:
    """Address of the same shared-memory object in another CTA of the cluster."""
    if state.kernel.cluster_size == 1:
        return address
    if uses_groups(state):
        state.uses_cluster = True
        return C(f"cluster.map_shared_rank({address.text}, {rank.text})", PRIMARY, address.deps | rank.deps)
    name = state.helper("cluster_map")
    return C(f"{name}({address.text}, {rank.text})", PRIMARY, address.deps | rank.deps)


def emit_cluster_rank(state: State, op: Op) -> None:
    """`const int rank = cluster.block_rank();`"""
    define(state, op, cluster_rank(state), keep=state.use_count(op.result) > 0)


def emit_remote(state: State, op: Op) -> None:
    """The same buffer, or the address behind a scalar pointer, in another CTA."""
    result = op.result
    rank = scalar_text(state, op.operands[1])
    if not isinstance(result.type, BufferType):
        places = Places(state)
        local = places.address(places.of(op.operands[0]))
        state.comment(op.span)
        name = state.names.fresh(result.name or "peer_pointer")
        text = map_shared_rank(state, local, rank).text
        statements.constant(state.block, state.declare_type(result.type), name, text, op.span)
        state.scalars[result] = C(name)
        return
    source = state.buffers[op.operands[0]]
    starts = "".join(f"[{_zero(s, state)}]" for s in source.starts)
    local = C(source.text) if source.flat or (len(source.shape) == 1 and starts == "[0]") else C(f"&{source.text}{starts}")
    state.comment(op.span)
    base = source.text.rsplit(".", 1)[-1].split("[")[0]
    name = state.names.fresh(result.name if result.name and result.name != base else f"peer_{base}")
    text = map_shared_rank(state, local, rank).text
    statements.constant(state.block, f"{result.type.element.cuda}*", name, text, op.span)
    shape = result.type.shape
    state.buffers[result] = BufferRef(name, shape, (Affine(),) * len(shape), True, row_major_strides(shape))


def _zero(start: object, state: State) -> str:
    return start.to_c(state.index_names).text if isinstance(start, Affine) else str(start)


def emit_cluster_barrier(state: State, op: Op) -> None:
    """All CTAs of the cluster, or the members of a part of it, meet."""
    state.comment(op.span)
    remark = barrier_remark(op)
    members = op.attrs.get("members")
    if state.kernel.cluster_size == 1:
        write(state.block, TEMPLATE, "cta_barrier", BarrierView(remark), op.span)
    elif members is not None:
        assert state.member_barrier is not None
        counters, groups = state.member_barrier
        meeting = state.task.barrier_function if state.kernel.specialisations else ""
        view = MembersView(
            function=state.helper("cluster_barrier_members_by" if meeting else "cluster_barrier_members"),
            meeting=meeting,
            mask=f"{sum(1 << rank for rank in members):#x}u",
            first=min(members),
            count=len(members),
            counter=f"{counters}[{groups.index(tuple(members))}]",
            remark=remark,
        )
        write(state.block, TEMPLATE, "member_barrier", view, op.span)
    else:
        _whole_cluster_barrier(state, remark, op.span)


def _whole_cluster_barrier(state: State, remark: str, span: Span | None = None) -> None:
    form = "cluster_group_barrier" if uses_groups(state) else "cluster_barrier"
    if uses_groups(state):
        state.uses_cluster = True
    else:
        state.helper("cluster_sync")
    write(state.block, TEMPLATE, form, BarrierView(remark), span)


def emit_member_counters(state: State, following: Op | None) -> None:
    """Zero the counters of the barriers among members, before any CTA may arrive at one.

    Args:
        state: The state.
        following: The operation that comes next; the cluster's barrier that it may be is enough.
    """
    assert state.member_barrier is not None
    counters, groups = state.member_barrier
    state.thread()
    write(state.block, TEMPLATE, "zero_counters", CountersView(counters, len(groups)))
    if following is None or following.name != "cluster_barrier" or following.attrs.get("members") is not None:
        emit_whole_cluster_barrier(state, "the counters of the barriers among members are zero")


def emit_whole_cluster_barrier(state: State, remark: str) -> None:
    """A barrier of the whole cluster that no line of the user's asks for."""
    _whole_cluster_barrier(state, f"  // {remark}")


def emit_grid_barrier(state: State, op: Op) -> None:
    """All CTAs of the grid meet."""
    state.comment(op.span)
    remark = barrier_remark(op)
    if uses_groups(state):
        state.uses_grid = True
        write(state.block, TEMPLATE, "grid_group_barrier", BarrierView(remark), op.span)
    else:
        state.helper("grid_sync")
        write(state.block, TEMPLATE, "grid_barrier", BarrierView(remark), op.span)
