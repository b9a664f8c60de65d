"""Partitions inside of loops and branches: where tasks meet, who does, and what workers are told."""

from __future__ import annotations

from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.compiler import emit
from tle2cuda.errors import InvalidArgument
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.language import tle
from tle2cuda.passes.meetings import is_meeting

SIGNATURE = "*i32:16, *i32:16, *i32:16, i32"
LIMITS = "*i64:16, *i32:16, *i32:16, i32"


def traced(kernel: Any, signature: str = SIGNATURE, **constants: Any) -> Kernel:
    found = emit(kernel, signature, constants=constants).kernel_ir
    assert found is not None
    return found


def meetings(kernel: Any, **constants: Any) -> list[tuple[int, ...]]:
    """For each task, the default warps first, the threads of the meetings that it takes part in, in program order."""
    (site,) = [op for op in traced(kernel, **constants).body.ops if op.name == "warp_specialize"]
    return [tuple(op.attrs["threads"] for op in walk(region) if is_meeting(op)) for region in site.regions]


def handed(kernel: Any, **constants: Any) -> list[str]:
    """Names of the buffers in which workers are told something."""
    allocs: list[Op] = [op for op in walk(traced(kernel, **constants).body) if op.name == "alloc"]
    return [op.attrs["name"] for op in allocs if op.attrs["name"].startswith("handed")]


@tle2cuda.jit
def put(w, x, k):
    w.acquire(k).data.store(tl.load(x + k * 64 + tl.arange(0, 64)))
    w.commit(k)


@tle2cuda.jit
def take(r, out, k):
    row = r.wait(k).slot.data.load()
    r.release(k)
    tl.store(out + k * 64 + tl.arange(0, 64), row)


@tle2cuda.jit
def nothing():
    pass


@tle2cuda.jit
def by_pipe(x, out, other, n, READERS: tl.constexpr, SAME: tl.constexpr):
    data = tle.gpu.alloc([2, 64], dtype=tl.int32)
    p = tle.pipe(capacity=2, readers=("a", "b")[:READERS], data=data)
    for k in range(n):
        tle.gpu.warp_specialize(
            [
                (take, (p.reader("a"), out, k)),
                (put, (p.writer(), x, k)),
                (take, (p.reader("b" if READERS == 2 else "a"), out if SAME else other, k)),
            ][: READERS + 1],
            [1, 2][:READERS],
        )


def test_what_goes_through_pipes_needs_no_meeting() -> None:
    assert meetings(by_pipe, READERS=1, SAME=True) == [(), ()]
    assert meetings(by_pipe, READERS=2, SAME=False) == [(), (), ()]


def test_writers_of_one_array_meet_and_the_producer_goes_on() -> None:
    assert meetings(by_pipe, READERS=2, SAME=True) == [(192,), (), (192,)]


@tle2cuda.jit
def read_side(side, out, k):
    tl.store(out + k * 64 + tl.arange(0, 64), side.load())


@tle2cuda.jit
def by_side_buffer(x, out, other, n):
    side = tle.gpu.alloc([64], dtype=tl.int32)
    for k in range(n):
        side.store(tl.load(x + k * 64 + tl.arange(0, 64)))
        tle.gpu.warp_specialize([(nothing, ()), (read_side, (side, out, k))], [1])


def test_shared_memory_of_both_sides_needs_a_meeting_in_front_and_one_behind() -> None:
    assert meetings(by_side_buffer) == [(160, 160), (160, 160)]


@tle2cuda.jit
def read_tile(row, out, k):
    tl.store(out + k * 64 + tl.arange(0, 64), row)


@tle2cuda.jit
def by_value(x, out, other, n):
    for k in range(n):
        row = tl.load(x + k * 64 + tl.arange(0, 64))
        tle.gpu.warp_specialize([(nothing, ()), (read_tile, (row, out, k))], [1])


def test_tiles_are_handed_over_each_time() -> None:
    assert handed(by_value) == ["handed_row"]
    assert meetings(by_value) == [(160, 160), (160, 160)]


@tle2cuda.jit
def arrive(bar, k):
    tle.gpu.barrier_arrive(bar, phaseIdx=k)


@tle2cuda.jit
def wait(bar, k):
    tle.gpu.barrier_wait(bar, phaseIdx=k)


@tle2cuda.jit
def by_mbarrier(x, out, other, n):
    bar = tle.gpu.alloc_barrier()
    for k in range(n):
        tle.gpu.warp_specialize([(wait, (bar, k)), (arrive, (bar, k))], [1])


def test_nobody_runs_ahead_at_an_mbarrier() -> None:
    assert meetings(by_mbarrier) == [(160,), (160,)]


@tle2cuda.jit
def count(out, k):
    tl.atomic_add(out, k)


@tle2cuda.jit
def by_atomics(x, out, other, n):
    for k in range(n):
        tle.gpu.warp_specialize([(count, (out, k)), (count, (other, k))], [1])


def test_other_ctas_may_learn_of_the_order_by_atomics() -> None:
    assert meetings(by_atomics) == [(160,), (160,)]


@tle2cuda.jit
def bounded(x, out, other, n, WRITES: tl.constexpr):
    limit = tl.load(x)
    step = tl.load(x + 1)
    for k in range(tl.program_id(0), limit, step):
        if k % 2 == n:
            tle.gpu.warp_specialize([(nothing, ()), (note, (other, k))], [1])
    if WRITES:
        tl.store(x, limit + 1)


@tle2cuda.jit
def note(out, k):
    tl.store(out + k, k)


def test_what_the_kernel_never_writes_is_loaded_by_workers_themselves() -> None:
    assert handed(bounded, signature=LIMITS, WRITES=False) == []
    assert meetings(bounded, signature=LIMITS, WRITES=False) == [(), ()]


def test_what_it_writes_or_may_write_by_another_name_is_handed_over_once() -> None:
    assert sorted(handed(bounded, signature=LIMITS, WRITES=True)) == ["handed_limit", "handed_step"]
    assert sorted(handed(bounded, WRITES=False)) == ["handed_limit", "handed_step"]


@tle2cuda.jit
def counting(x, out, other, n):
    done = 0
    while done < n:
        if done > 2:
            tle.gpu.warp_specialize([(nothing, ()), (note, (other, done))], [1])
            done += 3
        else:
            done += 1


def test_counters_are_made_again_across_iterations_and_branches() -> None:
    assert handed(counting) == []
    assert meetings(counting) == [(), ()]


@tle2cuda.jit
def different(x, out, other, n):
    for k in range(n):
        tle.gpu.warp_specialize([(nothing, ()), (note, (out, k)), (note, (other, k))], [16, 4])
        tle.gpu.warp_specialize([(nothing, ()), (note, (out, k)), (note, (other, k))], [8, 2])


def test_workers_of_different_widths_take_warps_of_their_own() -> None:
    with pytest.raises(InvalidArgument, match="workers of different widths, 1088 threads in all: a CTA has at most 1024"):
        traced(different)


@tle2cuda.jit
def in_turn(x, out, other, n):
    data = tle.gpu.alloc([2, 64], dtype=tl.int32)
    p = tle.pipe(capacity=2, data=data)
    for k in range(n):
        if k % 2 == 0:
            tle.gpu.warp_specialize([(nothing, ()), (put, (p.writer(), x, k)), (take, (p.reader(), out, k))], [2, 2])
        else:
            tle.gpu.warp_specialize([(nothing, ()), (take, (p.reader(), out, k)), (put, (p.writer(), x, k))], [2, 2])


def test_ends_of_a_pipe_stay_with_one_worker() -> None:
    assert traced(in_turn).num_threads == 128 + 2 * 64
    assert meetings(in_turn) == [(), (), ()]
