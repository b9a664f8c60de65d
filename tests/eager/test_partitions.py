"""Partitions, barriers and pipes in eager mode: what cannot be, and what a debugger sees."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.asynchrony import kernels
from tle2cuda.errors import Deadlock, InterpreterError, SynchronizationError
from tle2cuda.language import tle

THREADS: list[str] = []


def note_thread() -> None:
    THREADS.append(threading.current_thread().name)


@tle2cuda.jit
def say(turn, other):
    note_thread()
    tle.gpu.barrier_arrive(other, phaseIdx=0)
    tle.gpu.barrier_wait(turn, phaseIdx=0)
    note_thread()


@tle2cuda.jit
def two_that_talk(x):
    bars = tle.gpu.alloc_barriers(2)
    tle.gpu.warp_specialize([(say, (bars[0], bars[1])), (say, (bars[1], bars[0]))], [1], [24])


def test_the_first_partition_runs_in_the_callers_thread() -> None:
    THREADS.clear()
    two_that_talk.eager[(2,)](np.zeros(1, np.int32))
    here = threading.current_thread().name
    assert [here, "partition say", "partition say", here] * 2 == THREADS
    assert not [t for t in threading.enumerate() if t.name == "partition say" and not t.daemon]


@tle2cuda.jit
def wait_forever(bar):
    tle.gpu.barrier_wait(bar, phaseIdx=0)


@tle2cuda.jit
def waits_in_vain(x):
    bar = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(kernels.nothing, ()), (wait_forever, (bar,))], [1], [24])


def test_a_deadlock_names_the_partition() -> None:
    with pytest.raises(Deadlock, match=r"partition `wait_forever` waits in vain for phase 0 of barrier 0") as caught:
        waits_in_vain.eager[(1,)](np.zeros(1, np.int32))
    assert "partition `nothing` waits for the other partitions to end" in str(caught.value)


@tle2cuda.jit
def fail(x):
    tl.store(x + 100, 1)


@tle2cuda.jit
def fails_in_a_worker(x):
    bar = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(wait_forever, (bar,)), (fail, (x,))], [1], [24])


@tle2cuda.jit
def fails_in_the_first(x):
    bar = tle.gpu.alloc_barrier()
    tle.gpu.warp_specialize([(wait_and_fail, (bar, x)), (wait_forever, (bar,))], [1], [24])


@tle2cuda.jit
def wait_and_fail(bar, x):
    tl.store(x + 100, 1)


@pytest.mark.parametrize("kernel", [fails_in_a_worker, fails_in_the_first])
def test_a_fault_in_one_partition_ends_all(kernel: tle2cuda.JitFunction) -> None:
    with pytest.raises(InterpreterError, match="accesses element 100"):
        kernel.eager[(1,)](np.zeros(1, np.int32))


@tle2cuda.jit
def poll(flag, out):
    while tl.load(flag) == 0:
        pass
    tl.store(out, 5)


@tle2cuda.jit
def polls_another_partition(out):
    box = tle.gpu.alloc([1], tl.int32)
    flag = tle.gpu.local_ptr(box, (0,))
    tl.store(flag, 0)
    tle.gpu.warp_specialize([(poll, (flag, out)), (kernels.write_mark, (flag,))], [1], [24])


def test_a_partition_may_poll_what_another_one_writes() -> None:
    out = np.zeros(1, np.int32)
    polls_another_partition.eager[(1,)](out)
    assert out[0] == 5
    from tests.asynchrony.runs import run

    for got in run(polls_another_partition, [np.zeros(1, np.int32)], after=()):
        assert got[0][0] == 5


@tle2cuda.jit
def skips_a_round(x):
    ring = tle.gpu.alloc([2, 8], tl.float32)
    w = tle.pipe(capacity=2, data=ring).writer()
    w.commit(2)


def test_rounds_are_used_in_order() -> None:
    with pytest.raises(InterpreterError, match="commit of round 1 of stage 0 of the pipe, but its next round is 0"):
        skips_a_round.eager[(1,)](np.zeros(1, np.int32))


@tle2cuda.jit
def _reads_a_product_too_early(a, out, PENDING: tl.constexpr):
    buffer = tle.gpu.alloc([64, 64], tl.float16)
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tl.store(tle.gpu.local_ptr(buffer), tl.load(a + at))
    first = tle.gpu.wgmma(buffer, buffer)
    second = tle.gpu.wgmma(buffer, buffer, trans_b=True)
    first = tle.gpu.wgmma_wait(PENDING, first)
    tl.store(out + at, first)
    tl.store(out + at, tle.gpu.wgmma_wait(second))


def test_products_are_read_behind_a_wait_for_their_group() -> None:
    a = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float16)
    out = np.zeros((64, 64), np.float32)
    with pytest.raises(SynchronizationError, match="read while it is in flight"):
        _reads_a_product_too_early.eager[(1,)](a, out, 2)
    _reads_a_product_too_early.eager[(1,)](a, out, 1)
    np.testing.assert_allclose(out, a.astype(np.float64) @ a.astype(np.float64).T, rtol=1e-5, atol=1e-4)


@tle2cuda.jit
def _pass_on(w, r, k):
    w.acquire(k).data.store(tl.arange(0, 8) + k)
    w.commit(k)
    taken = r.wait(k).slot.data.load()
    r.release(k)
    return taken


@tle2cuda.jit
def pipes_of_loops(out, n):
    """Pipes and barriers that loops come to again go on; loops that are unrolled make others."""
    for k in range(n):
        pipes = [tle.pipe(capacity=2, data=tle.gpu.alloc([2, 8], tl.int32)) for _ in range(2)]
        total = tl.zeros([8], tl.int32)
        for i in tl.static_range(2):
            total += _pass_on(pipes[i].writer(), pipes[i].reader(), k)
        for _ in tl.static_range(2):
            p = tle.pipe(capacity=3, name="p", data=tle.gpu.alloc([3, 8], tl.int32))
            total += _pass_on(p.writer(), p.reader(), k)
            bar = tle.gpu.alloc_barrier()
            tle.gpu.barrier_arrive(bar, phaseIdx=k)
            tle.gpu.barrier_wait(bar, phaseIdx=k)
        tl.store(out + k * 8 + tl.arange(0, 8), total)


def test_what_loops_make_again_goes_on() -> None:
    from tests.asynchrony.runs import check

    want = 4 * (np.arange(5)[:, None] + np.arange(8))
    check(pipes_of_loops, [np.zeros((5, 8), np.int32), 5], {0: want})
