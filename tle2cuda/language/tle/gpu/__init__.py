"""`tle.gpu`: named shared memory, copies, pipelined loops. No logic here."""

from tle2cuda.language.tle.gpu import semantic
from tle2cuda.ops.barriers import (
    PENDING,
    READY,
    alloc_barrier,
    alloc_barriers,
    barrier,
    barrier_arrive,
    barrier_type,
    barrier_wait,
)
from tle2cuda.ops.buffers import buffered_tensor, buffered_tensor_type, local_ptr
from tle2cuda.ops.copy import async_commit_group, async_wait_group, copy, unsupported
from tle2cuda.ops.loops import pipeline
from tle2cuda.ops.partitions import warp_specialize
from tle2cuda.ops.shared import alloc, memory_space
from tle2cuda.ops.shared_layouts import (
    layout,
    nv_mma_shared_layout,
    scope,
    shared_layout,
    smem,
    swizzled_shared_layout,
    tensor_memory_layout,
    tmem,
)
from tle2cuda.ops.wgmma import wgmma, wgmma_wait

storage_kind = memory_space
set_layout = unsupported("tle.gpu.set_layout", "leave it out: layouts are chosen by the compiler")

__all__ = [
    "PENDING",
    "READY",
    "alloc",
    "alloc_barrier",
    "alloc_barriers",
    "async_commit_group",
    "async_wait_group",
    "barrier",
    "barrier_arrive",
    "barrier_type",
    "barrier_wait",
    "buffered_tensor",
    "buffered_tensor_type",
    "copy",
    "layout",
    "local_ptr",
    "memory_space",
    "nv_mma_shared_layout",
    "pipeline",
    "scope",
    "semantic",
    "set_layout",
    "shared_layout",
    "smem",
    "storage_kind",
    "swizzled_shared_layout",
    "tensor_memory_layout",
    "tmem",
    "warp_specialize",
    "wgmma",
    "wgmma_wait",
]
