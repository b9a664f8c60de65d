"""Which operations share one loop, where it matters for what they compute."""

from __future__ import annotations

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.language import tle

N = 256


@tle2cuda.jit
def bump(index, out, TABLE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    counts = tle.gpu.alloc([N], tl.int32)
    tl.store(tle.gpu.local_ptr(counts, (i,)), i)
    place = tle.gpu.local_ptr(counts, (tl.load(index + i),)) if TABLE else tle.gpu.local_ptr(counts, (i,))
    tl.store(place, tl.load(place) + 1)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(counts, (i,))))


def lowered(table: bool) -> Kernel:
    kernel = tle2cuda.emit(bump, "*i32:16, *i32:16", {"TABLE": table, "N": N}).kernel_ir
    assert kernel is not None
    return kernel


def loops(kernel: Kernel) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == "fused"]


def test_an_update_of_ones_own_elements_is_one_loop_without_barrier() -> None:
    kernel = lowered(table=False)
    assert len(loops(kernel)) == 1
    assert not [op for op in walk(kernel.body) if op.name == "barrier"]


def test_an_update_of_elements_from_a_table_loads_all_before_it_stores_any() -> None:
    kernel = lowered(table=True)
    for loop in loops(kernel):
        shared = [op.name for op in loop.regions[0].body if "shared" in str(op.operands and op.operands[0].type)]
        assert set(shared) in ({"load"}, {"store"}, set())
    assert len([op for op in walk(kernel.body) if op.name == "barrier"]) == 3


def test_elements_that_several_threads_update_are_counted_once() -> None:
    index, out = np.full(N, 7, np.int32), np.zeros(N, np.int32)
    bump[(1,)](index, out, TABLE=True, N=N)
    want = np.arange(N, dtype=np.int32)
    want[7] += 1
    assert (out == want).all()


@tle2cuda.jit
def read_twice(ring, bars, out, i, N: tl.constexpr):
    first = tl.load(tle.gpu.local_ptr(ring.slot(0)))
    tle.gpu.barrier_arrive(bars[0], phaseIdx=0)
    tle.gpu.barrier_wait(bars[1], phaseIdx=0)
    second = tl.load(tle.gpu.local_ptr(ring.slot(0)))
    tl.store(out + i, first + second)


@tle2cuda.jit
def write_between(ring, bars, x, i, N: tl.constexpr):
    tle.gpu.barrier_wait(bars[0], phaseIdx=0)
    tl.store(tle.gpu.local_ptr(ring.slot(0)), tl.load(x + i))
    tle.gpu.barrier_arrive(bars[1], phaseIdx=0)


@tle2cuda.jit
def shared_between_tasks(x, out, N: tl.constexpr):
    ring = tle.gpu.alloc([1, N], tl.float32, nv_mma_shared_layout=False)
    bars = tle.gpu.alloc_barriers(2)
    i = tl.arange(0, N)
    tl.store(tle.gpu.local_ptr(ring.slot(0)), tl.load(x + i))
    tle.gpu.warp_specialize([(read_twice, (ring, bars, out, i, N)), (write_between, (ring, bars, x + N, i, N))], [2], [40])


SHOWN = ("load", "store", "mbarrier_arrive", "mbarrier_wait", "barrier")


def test_loads_stay_on_their_side_of_waits_and_arrivals() -> None:
    """Both loads are of the same bytes: they are neither merged nor moved, nor do they share a loop."""
    kernel = tle2cuda.emit(shared_between_tasks, "*fp32:16, *fp32:16", {"N": N}).kernel_ir
    assert kernel is not None
    (site,) = kernel.specialisations
    assert site.attrs["sync_before"]
    shown = []
    for op in site.regions[0].ops:
        inner = op.regions[0].ops if op.name == "fused" else (op,)
        shown += [
            each.name for each in inner if each.name in ("load", "store", "mbarrier_arrive", "mbarrier_wait", "barrier")
        ]
    assert shown == ["load", "mbarrier_arrive", "mbarrier_wait", "load", "store"]
