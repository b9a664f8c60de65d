"""Clusters, distributed shared memory and grid barriers."""

from __future__ import annotations

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BufferType
from tle2cuda.lowering.cexpr import PRIMARY, Affine, C
from tle2cuda.lowering.places import Places
from tle2cuda.lowering.scalars import define, scalar_text
from tle2cuda.lowering.shared import row_major_strides
from tle2cuda.lowering.state import BufferRef, State
from tle2cuda.lowering.writer import barrier_remark


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
        state.block.add(f"{state.declare_type(result.type)} const {name} = {text};", op.span)
        state.scalars[result] = C(name)
        return
    source = state.buffers[op.operands[0]]
    starts = "".join(f"[{_zero(s, state)}]" for s in source.starts)
    local = (
        C(source.text) if source.flat or (len(source.shape) == 1 and starts == "[0]") else C(f"&{source.text}{starts}")
    )
    state.comment(op.span)
    base = source.text.rsplit(".", 1)[-1].split("[")[0]
    name = state.names.fresh(result.name if result.name and result.name != base else f"peer_{base}")
    text = map_shared_rank(state, local, rank).text
    state.block.add(f"{result.type.element.cuda}* const {name} = {text};", op.span)
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
        state.block.add(f"__syncthreads();{remark}", op.span)
    elif members is not None:
        assert state.member_barrier is not None
        counters, groups = state.member_barrier
        mask = sum(1 << rank for rank in members)
        name = state.helper("cluster_barrier_members")
        counter = f"{counters}[{groups.index(tuple(members))}]"
        state.block.add(f"{name}<{mask:#x}u, {min(members)}, {len(members)}>({counter});{remark}", op.span)
    elif uses_groups(state):
        state.uses_cluster = True
        state.block.add(f"cluster.sync();{remark}", op.span)
    else:
        state.block.add(f"{state.helper('cluster_sync')}();{remark}", op.span)


def emit_whole_cluster_barrier(state: State, remark: str) -> None:
    """A barrier of the whole cluster that no line of the user's asks for."""
    if uses_groups(state):
        state.uses_cluster = True
        state.block.add(f"cluster.sync();  // {remark}")
    else:
        state.block.add(f"{state.helper('cluster_sync')}();  // {remark}")


def emit_grid_barrier(state: State, op: Op) -> None:
    """All CTAs of the grid meet."""
    state.comment(op.span)
    remark = barrier_remark(op)
    if uses_groups(state):
        state.uses_grid = True
        state.block.add(f"grid.sync();{remark}", op.span)
    else:
        state.block.add(f"{state.helper('grid_sync')}(grid_barrier_words);{remark}", op.span)
