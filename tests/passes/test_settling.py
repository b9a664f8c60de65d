"""Loops that each thread leaves when its own elements are done, and loops that look like them."""

from __future__ import annotations

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def halves(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        value = tl.where(value > limit, value // 2, value)
    tl.store(out + i, value)


@tle2cuda.jit
def waits(x, out, limit, N: tl.constexpr):
    """A masked load of volatile words keeps what is done; the mask may ask for more."""
    i = tl.arange(0, N)
    seen = tl.zeros((N,), tl.int32)
    while tl.reduce_or(seen < limit, axis=0):
        seen = tl.load(x + i, mask=(seen < limit) & (i < 100), other=seen, volatile=True)
    tl.store(out + i, seen)


@tle2cuda.jit
def runs(x, out, limit, N: tl.constexpr):
    """Each element writes a run of its own, which a table in shared memory names."""
    i = tl.arange(0, N)
    table = tle.gpu.alloc([N], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(table, (i,)), tl.load(x + i))
    place = i * 8
    while tl.reduce_or(place < i * 8 + limit, axis=0):
        named = tl.load(tle.gpu.local_ptr(table, (N - 1 - i,)))
        for step in range(2):
            named += step
        tl.store(out + place, named, mask=place < i * 8 + limit)
        place = tl.where(place < i * 8 + limit, place + 1, place)


@tle2cuda.jit
def counts_rounds(x, out, limit, N: tl.constexpr):
    """The number of rounds is one for the whole tile."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    rounds = 0
    while tl.reduce_or(value > limit, axis=0):
        value = tl.where(value > limit, value // 2, value)
        rounds += 1
    tl.store(out + i, value + rounds)


@tle2cuda.jit
def goes_on(x, out, limit, N: tl.constexpr):
    """What is done changes as long as others are not."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        value = value // 2
    tl.store(out + i, value)


@tle2cuda.jit
def other_mask(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        value = tl.where(value >= limit, value // 2, value)
    tl.store(out + i, value)


@tle2cuda.jit
def stores_everywhere(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        value = tl.where(value > limit, value // 2, value)
        tl.store(out + i, value)


@tle2cuda.jit
def loads_what_it_stores(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        tl.store(out + i, value, mask=value > limit)
        value = tl.where(value > limit, value // 2 + tl.load(out + i) % 2, value)
    tl.store(out + i, value)


@tle2cuda.jit
def stores_to_shared(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    table = tle.gpu.alloc([N], dtype=tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        tl.store(tle.gpu.local_ptr(table, (i,)), value, mask=value > limit)
        value = tl.where(value > limit, value // 2, value)
    tl.store(out + i, value)


@tle2cuda.jit
def asks_others(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    while tl.reduce_or(value > limit, axis=0):
        value = tl.where(value > limit, value // 2 + tl.max(value, axis=0) % 2, value)
    tl.store(out + i, value)


def _emit(kernel, elements, num_warps=4):
    signature = {"x": "*i32:16", "out": "*i32:16", "limit": "i32"}
    return tle2cuda.emit(kernel, signature, {"N": elements}, num_warps, dump_ir=["settling", "barriers"])


@pytest.mark.parametrize("kernel", [halves, waits, runs], ids=lambda k: k.__name__)
@pytest.mark.parametrize("elements", [128, 512])
def test_threads_leave_one_by_one(kernel, elements):
    emitted = _emit(kernel, elements)
    assert "own = True" in emitted.ir_dumps["settling"]
    loop = emitted.ir_dumps["barriers"].partition("while")[2].partition("\n  }\n")[0]
    assert "barrier" not in loop and "slots" not in loop
    assert "all_reduce" not in emitted.source and emitted.source.count("#pragma unroll 1\n") == 1


@tle2cuda.jit
def waits_for_data(x, out, limit, N: tl.constexpr):
    """What another CTA wrote before it set the words that other threads wait for."""
    i = tl.arange(0, N)
    seen = tl.zeros((N,), tl.int32)
    while tl.reduce_or(seen < limit, axis=0):
        seen = tl.load(x + i, mask=seen < limit, other=seen, volatile=True)
    tl.store(out + i, tl.load(x + N + (N - 1 - i), volatile=True) + seen)


@tle2cuda.jit
def waits_for_counts(x, out, limit, N: tl.constexpr):
    """The sum has all threads meet."""
    i = tl.arange(0, N)
    seen = tl.zeros((N,), tl.int32)
    while tl.reduce_or(seen < limit, axis=0):
        seen = tl.load(x + i, mask=seen < limit, other=seen, volatile=True)
    start, _ = tle.cumsum(seen, axis=0)
    tl.store(out + i, tl.load(x + N + start, volatile=True))


def test_threads_that_waited_meet_before_they_go_on():
    behind = _emit(waits_for_data, 128).source.partition("while (")[2]
    meeting = behind.index("__syncthreads();  // every thread has seen what it waited for")
    assert meeting < behind.index("load_cv(x + 128 + ")
    source = _emit(waits_for_counts, 128).source
    assert "what it waited for" not in source and "cta_exclusive_integer_sum<" in source.partition("while (")[2]
    assert "what it waited for" not in _emit(halves, 128).source + _emit(runs, 128).source


def test_a_thread_with_one_element_needs_no_mask():
    source = _emit(halves, 128).source
    assert "while (value_2 > limit) {" in source
    assert "        value_2 /= 2;\n" in source or "        value_2 = value_2 / 2;\n" in source


def test_what_the_loop_reads_is_complete_before_it():
    before, _, behind = _emit(runs, 128).source.partition("while (")
    assert "before the loads of it\n" in before and "__syncthreads" not in behind


@pytest.mark.parametrize(
    "kernel",
    [counts_rounds, goes_on, other_mask, stores_everywhere, loads_what_it_stores, stores_to_shared, asks_others],
    ids=lambda k: k.__name__,
)
def test_loops_of_the_whole_tile(kernel):
    assert "own = True" not in _emit(kernel, 128).ir_dumps["settling"]


def test_copies_of_one_element_stay_together():
    assert "own = True" not in _emit(halves, 16).ir_dumps["settling"]
