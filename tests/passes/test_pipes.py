"""Pipes: how stages are filled, who arrives, what becomes cp.async, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.compiler import emit
from tle2cuda.errors import OutOfResources, SynchronizationError
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.language import tle

SIGNATURE = "*fp16:16, *fp16:16, i32, i32:16"


@tle2cuda.jit
def take(r, out, n, B: tl.constexpr):
    for k in range(n):
        row = tl.load(tle.gpu.local_ptr(r.wait(k).slot.data))
        r.release(k)
        tl.store(out + k * B + tl.arange(0, B), row)


def kernel_of(put: Any, arch: str = "sm_90a", signature: str = SIGNATURE, size: int = 256) -> Kernel:
    """A ring of two stages whose writer is a worker of two warps."""

    @tle2cuda.jit
    def ring(x, out, n, columns, B: tl.constexpr):
        data = tle.gpu.alloc([2, B], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        side = tle.gpu.alloc([B], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=2, name="x", data=data)
        tle.gpu.warp_specialize([(take, (p.reader(), out, n, B)), (put, (p.writer(), x, out, side, n, columns, B))], [2])

    found = emit(ring, f"{signature}, {size}", arch=arch).kernel_ir
    assert found is not None
    return found


def named(kernel: Kernel, name: str) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == name]


def decided(kernel: Kernel) -> tuple[tuple[str, ...], int, int]:
    """Transports of the only pipe, arrivals that fill a stage, and that free it."""
    (pipe,) = named(kernel, "pipe")
    arrivals = {op.attrs["name"]: op.attrs["arrivals"] for op in named(kernel, "alloc_barriers")}
    return pipe.attrs["transports"], arrivals["x_full"], arrivals["x_empty"]


@tle2cuda.jit
def by_stores(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * B + tl.arange(0, B)) + 1)
        w.commit(k)


@tle2cuda.jit
def by_copies(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * B + tl.arange(0, B)))
        w.commit(k)


@tle2cuda.jit
def by_masked_copies(w, x, out, side, n, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        row = tl.load(x + k * columns + i, mask=i < columns, other=0.0)
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), row)
        w.commit(k)


@tle2cuda.jit
def by_declared_copies(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        tle.gpu.copy(x + k * B + tl.arange(0, B), w.acquire(k).data, [B], is_async=True)
        w.commit(k)


@tle2cuda.jit
def by_tensor_copies(w, x, out, side, n, columns, B: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [n, columns], [columns, 1], [1, B])
    for k in range(n):
        tle.gpu.copy(desc, w.acquire(k).data, [1, B], [k, 0])
        w.commit(k)


@tle2cuda.jit
def by_tensor_copies_beside_stores(w, x, out, side, n, columns, B: tl.constexpr):
    """A commit publishes what lies beside the fields, too."""
    desc = tl.make_tensor_descriptor(x, [n, columns], [columns, 1], [1, B])
    for k in range(n):
        slot = w.acquire(k)
        tle.gpu.copy(desc, slot.data, [1, B], [k, 0])
        tl.store(tle.gpu.local_ptr(side), tl.full([B], 1.0, tl.float16))
        w.commit(k)


@tle2cuda.jit
def by_tensor_copies_at_times(w, x, out, side, n, columns, B: tl.constexpr):
    """How many bytes come depends on the iteration."""
    desc = tl.make_tensor_descriptor(x, [n, columns], [columns, 1], [1, B])
    for k in range(n):
        slot = w.acquire(k)
        if k % 2 == 0:
            tle.gpu.copy(desc, slot.data, [1, B], [k, 0])
        w.commit(k)


@pytest.mark.parametrize(
    ("put", "arch", "expected"),
    [
        (by_stores, "sm_90a", (("plain",), 64, 128)),
        (by_stores, "sm_80", (("plain",), 64, 128)),
        (by_copies, "sm_90a", (("tma",), 1, 128)),
        (by_copies, "sm_80", (("cp_async",), 64, 128)),
        (by_masked_copies, "sm_80", (("cp_async",), 64, 128)),
        (by_declared_copies, "sm_120", (("cp_async",), 64, 128)),
        (by_tensor_copies, "sm_90a", (("tma",), 1, 128)),
        (by_tensor_copies, "sm_80", (("cp_async",), 64, 128)),
        (by_tensor_copies_beside_stores, "sm_90a", (("plain", "tma"), 65, 128)),
        (by_tensor_copies_at_times, "sm_90a", (("tma",), 1, 128)),
    ],
    ids=lambda value: getattr(getattr(value, "fn", None), "__name__", None),
)
def test_transports_and_arrivals(put: Any, arch: str, expected: tuple[tuple[str, ...], int, int]) -> None:
    assert decided(kernel_of(put, arch)) == expected


def test_one_copy_announces_all_bytes_of_a_stage() -> None:
    kernel = kernel_of(by_tensor_copies)
    (load,) = named(kernel, "tma_load")
    assert (load.attrs["completion"], load.attrs["stage_bytes"], load.attrs["adds_bytes"]) == ("pipe", 512, False)
    assert [op.attrs["arrivals"] for op in named(kernel, "pipe_commit")] == [()]


def test_bytes_that_may_not_come_are_added_one_by_one() -> None:
    kernel = kernel_of(by_tensor_copies_at_times)
    (load,) = named(kernel, "tma_load")
    assert (load.attrs["stage_bytes"], load.attrs["adds_bytes"]) == (0, True)
    assert [op.attrs["arrivals"] for op in named(kernel, "pipe_commit")] == [("elected",)]


# ---- loads that may not become copies ---------------------------------------------------------------------------------


@tle2cuda.jit
def of_what_is_written(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(out + k * B + tl.arange(0, B)))
        w.commit(k)


@tle2cuda.jit
def read_again(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        slot = w.acquire(k)
        tl.store(tle.gpu.local_ptr(slot.data), tl.load(x + k * B + tl.arange(0, B)))
        tl.store(tle.gpu.local_ptr(side), tl.load(tle.gpu.local_ptr(slot.data)))
        w.commit(k)


@tle2cuda.jit
def used_twice(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        row = tl.load(x + k * B + tl.arange(0, B))
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), row)
        tl.store(tle.gpu.local_ptr(side), row)
        w.commit(k)


@tle2cuda.jit
def stored_in_part(w, x, out, side, n, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * B + i), mask=i < columns)
        w.commit(k)


@tle2cuda.jit
def with_ones_beyond(w, x, out, side, n, columns, B: tl.constexpr):
    i = tl.arange(0, B)
    for k in range(n):
        row = tl.load(x + k * columns + i, mask=i < columns, other=1.0)
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), row)
        w.commit(k)


@tle2cuda.jit
def volatile(w, x, out, side, n, columns, B: tl.constexpr):
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * B + tl.arange(0, B), volatile=True))
        w.commit(k)


@tle2cuda.jit
def turned(w, x, out, side, n, columns, B: tl.constexpr):
    """Elements of 2 bytes that are no neighbours."""
    for k in range(n):
        tl.store(tle.gpu.local_ptr(w.acquire(k).data), tl.load(x + k * B + B - 1 - tl.arange(0, B)))
        w.commit(k)


@pytest.mark.parametrize(
    "put",
    [of_what_is_written, read_again, used_twice, stored_in_part, with_ones_beyond, volatile, turned],
    ids=lambda put: put.fn.__name__,
)
def test_loads_that_stay_loads(put: Any) -> None:
    kernel = kernel_of(put)
    assert named(kernel, "cp_async") == []
    assert decided(kernel)[0] == ("plain",)


def test_unaligned_rows_stay_loads() -> None:
    assert decided(kernel_of(by_masked_copies, signature="*fp16:16, *fp16:16, i32, i32"))[0] == ("plain",)
    assert decided(kernel_of(by_masked_copies, signature="*fp16, *fp16:16, i32, i32:16"))[0] == ("plain",)


def test_declared_copies_that_cannot_be_are_loads_and_stores() -> None:
    kernel = kernel_of(by_declared_copies, signature="*fp16, *fp16:16, i32, i32")
    assert decided(kernel) == (("plain",), 64, 128)
    assert named(kernel, "cp_async") == []


# ---- refused ----------------------------------------------------------------------------------------------------------


def refusal(function: Any, signature: str, error: type[Exception]) -> str:
    with pytest.raises(error) as caught:
        emit(function, signature)
    return str(caught.value)


def test_two_writers_are_refused() -> None:
    @tle2cuda.jit
    def two(x, out, n, columns, B: tl.constexpr):
        data = tle.gpu.alloc([2, B], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=2, name="x", data=data)
        more = (p.writer(), x, out, data, n, columns, B)
        tle.gpu.warp_specialize([(take, (p.reader(), out, n, B)), (by_stores, more), (by_copies, more)], [1, 1])

    text = refusal(two, f"{SIGNATURE}, 64", SynchronizationError)
    assert "pipe `x` is written by two tasks: partition `by_stores` and partition `by_copies`" in text
    assert "a pipe has one writer: make one pipe for each task that writes" in text


def test_two_writers_at_once_are_refused_behind_one_alone() -> None:
    """A worker may go on where one of another specialisation stopped, but not two of them."""

    @tle2cuda.jit
    def two(x, out, n, columns, B: tl.constexpr):
        data = tle.gpu.alloc([2, B], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=2, name="x", data=data)
        more = (p.writer(), x, out, data, n, columns, B)
        tle.gpu.warp_specialize([(take, (p.reader(), out, n, B)), (by_stores, more)], [1])
        tle.gpu.warp_specialize([(take, (p.reader(), out, n, B)), (by_stores, more), (by_copies, more)], [1, 1])

    text = refusal(two, f"{SIGNATURE}, 64", SynchronizationError)
    assert "pipe `x` is written by two tasks: partition `by_stores` and partition `by_copies`" in text


def test_two_readers_of_one_name_are_refused() -> None:
    @tle2cuda.jit
    def two(x, out, n, columns, B: tl.constexpr):
        data = tle.gpu.alloc([2, B], dtype=tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        p = tle.pipe(capacity=2, name="x", data=data)
        tle.gpu.warp_specialize(
            [
                (by_stores, (p.writer(), x, out, data, n, columns, B)),
                (take, (p.reader(), out, n, B)),
                (take, (p.reader(), out, n, B)),
            ],
            [1, 1],
        )

    text = refusal(two, f"{SIGNATURE}, 64", SynchronizationError)
    assert "pipe `x` is used by two tasks: partition `take`" in text
    assert text.count("called from test_pipes.py:") >= 2
    assert "readers=" in text


def test_more_named_barriers_than_partitions_leave() -> None:
    @tle2cuda.jit
    def meet(turn, x):
        tl.store(x, tl.sum(tl.load(x + tl.arange(0, 256))))
        for k in tl.static_range(15):
            tle.gpu.barrier_wait(turn[k])

    @tle2cuda.jit
    def many(x, y):
        turn = tle.gpu.alloc_barriers(num_barriers=15, arrive_count=256)
        tle.gpu.warp_specialize([(meet, (turn, x)), (meet, (turn, y))], [4])

    text = refusal(many, "*fp32, *fp32", OutOfResources)
    assert "out of resource: named barriers, required 17, limit 15" in text
    assert "2 for partitions + 15 of the kernel's = 17, limit 15" in text
    assert "give barriers a phase (phaseIdx=), which makes them mbarriers" in text
