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
