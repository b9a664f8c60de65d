"""Which emitter writes which operation."""

from __future__ import annotations

from collections.abc import Callable

from tle2cuda.errors import InternalError, KernelError
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op
from tle2cuda.lowering import (
    async_copies,
    control,
    debug,
    device_info,
    distributed,
    dot,
    drains,
    fused,
    gather,
    histogram,
    inline_asm,
    join,
    mapping,
    mbarriers,
    mma,
    pipes,
    program,
    reduction,
    scalars,
    scan,
    shape,
    shared,
    sort,
    specialize,
    tensor_memory,
    tiles,
    tma,
    wgmma,
)
from tle2cuda.lowering.state import State
from tle2cuda.lowering.writer import operation
from tle2cuda.passes.mma_layouts import instruction_of

Emitter = Callable[[State, Op], None]
_REGISTERING = (join,)  # modules that only register rules

_EMITTERS: dict[str, Emitter] = {
    "alloc": shared.emit_alloc,
    "buffer_view": shared.emit_view,
    "remote": distributed.emit_remote,
    "cluster_rank": distributed.emit_cluster_rank,
    "cluster_barrier": distributed.emit_cluster_barrier,
    "grid_barrier": distributed.emit_grid_barrier,
    "barrier": debug.emit_barrier,
    "print": debug.emit_print,
    "assert": debug.emit_assert,
    "program_id": program.emit_index,
    "num_programs": program.emit_index,
    "fused": fused.emit_fused,
    "grid_dependency": device_info.emit_grid_dependency,
    "asm_block": inline_asm.emit_asm_block,
    "map": mapping.emit_map,
    "reduce": reduction.emit_reduce,
    "scan": scan.emit_scan,
    "exclusive_sum": scan.emit_exclusive_sum,
    "dot": dot.emit_dot,
    "to_shared": mma.emit_to_shared,
    "tensor_product": tensor_memory.emit_product,
    "tensor_load": tensor_memory.emit_load,
    "tensor_wait": tensor_memory.emit_wait,
    "wgmma": wgmma.emit_issue,
    "wgmma_wait": wgmma.emit_wait,
    "histogram": histogram.emit_histogram,
    "convert_layout": shape.emit_convert_layout,
    "flip": shape.emit_flip,
    "extract_at": tiles.emit_extract_at,
    "gather": gather.emit_gather,
    "sort": sort.emit_sort,
    "tile_to_scalar": shape.emit_tile_to_scalar,
    "changed_tensor_map": tma.emit_changed_map,
    "tma_load": tma.emit_load,
    "tma_store": tma.emit_store,
    "tma_store_wait": tma.emit_store_wait,
    "alloc_barriers": mbarriers.emit_alloc,
    "mbarrier_wait": mbarriers.emit_wait,
    "mbarrier_arrive": mbarriers.emit_arrive,
    "count_fills": drains.emit_count,
    "await_fills": drains.emit_await,
    "named_barrier": mbarriers.emit_named,
    "pipe": pipes.emit_pipe,
    "pipe_acquire": pipes.emit_acquire,
    "pipe_commit": pipes.emit_commit,
    "pipe_close": pipes.emit_close,
    "pipe_wait": pipes.emit_wait,
    "pipe_release": pipes.emit_release,
    "cp_async": async_copies.emit_copy,
    "cp_async_commit": async_copies.emit_commit,
    "cp_async_wait": async_copies.emit_wait,
    "proxy_fence": async_copies.emit_proxy_fence,
    "warp_specialize": specialize.emit_warp_specialize,
    "for": control.emit_for,
    "while": control.emit_while,
    "if": control.emit_if,
}

_RENAMED = ("ptr_add", "local_ptr", "remote", "expand_dims", "reshape", "trans", "extract")


def emit_op(state: State, op: Op) -> None:
    """Write one operation; faults of ours name the operation and the user's place."""
    try:
        with operation(op.name):
            _emit(state, op)
    except KernelError:
        raise
    except Exception as error:
        raise InternalError(f"internal error while lowering {op.name}: {error!r}", op.span) from error


def _product_emitter(op: Op) -> Emitter:
    return wgmma.emit_product if instruction_of(op).is_wgmma else mma.emit_product


def _emit(state: State, op: Op) -> None:
    if op.name == "tensor_alloc" or (op.name == "buffer_view" and op.result.type.storage == "tensor"):  # type: ignore[union-attr]
        return  # columns of what the prologue allocates
    if op.name in ("yield", "condition", "assume", "tensor_map"):
        return
    if op.results and is_tile(op.results[0]) and (op.results[0] in state.lazy or op.name in _RENAMED):
        return  # spelled where it is used
    emitter = _product_emitter(op) if op.name == "dot" and op.attrs.get("instruction") else _EMITTERS.get(op.name)
    if emitter is not None:
        emitter(state, op)
    elif op.name == "constant":
        scalars.emit_constant(state, op)
    elif op.name == "load":
        scalars.emit_load(state, op)
    elif op.name == "store":
        scalars.emit_store(state, op)
    elif op.name in ("atomic_rmw", "atomic_cas"):
        tile_or_scalar_atomic(state, op)
    elif op.name == "local_ptr":
        state.places[op.result] = scalars.place_of(state, op.result)
    elif scalars.is_scalar_elementwise(op):
        scalars.emit_elementwise(state, op)
    else:
        raise scalars.unknown(op)


def tile_or_scalar_atomic(state: State, op: Op) -> None:
    """Scalar atomics are done by one thread; tiles of atomics with scratch share out the old values."""
    if not is_tile(op.operands[0]):
        scalars.emit_atomic(state, op)
    else:
        fused.emit_replicated_atomic(state, op)
