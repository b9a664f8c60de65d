"""Barriers, fences and waits around copies, mbarriers, pipes and partitions: which are put in, where, and why."""

from __future__ import annotations

import importlib

import pytest

from tests.analysis.helpers import KernelMaker
from tests.passes.random_tasks import TILE, TaskMaker
from tle2cuda.errors import SynchronizationError
from tle2cuda.ir.nodes import Kernel, Op, Region, walk
from tle2cuda.ir.types import I32, BufferType, PointerType, TileType
from tle2cuda.layout import blocked
from tle2cuda.passes import barriers
from tle2cuda.passes.pipeline import PASSES

ADDED = ("barrier", "proxy_fence", "tma_store_wait", "cp_async_wait")
SHOWN = (
    "load store tma_load tma_store cp_async cp_async_wait barrier proxy_fence tma_store_wait mbarrier_arrive mbarrier_wait "
    "pipe_acquire pipe_commit pipe_wait pipe_release warp_specialize for"
).split()


def ordered(maker: TaskMaker) -> Kernel:
    kernel = maker.kernel()
    for each in PASSES:
        kernel = importlib.import_module(f"tle2cuda.passes.{each.name}").run(kernel)
        if each.name == "barriers":
            return kernel
    raise AssertionError("there is no pass of barriers")


def names(region: Region) -> list[str]:
    """The operations that matter here; accesses to global memory are left out."""
    ops = [inner for op in region.ops for inner in (op.regions[0].ops if op.name == "fused" else (op,))]
    return [op.name for op in ops if op.name in SHOWN and not _is_global(op)]


def _is_global(op: Op) -> bool:
    if op.name not in ("load", "store"):
        return False
    type_ = op.operands[0].type
    return (type_.element if isinstance(type_, TileType) else type_).space == "global"


def reasons(kernel: Kernel, name: str) -> list[str]:
    return [op.attrs["reason"] for op in walk(kernel.body) if op.name == name and "reason" in op.attrs]


def use(maker: TaskMaker, buffer) -> None:  # type: ignore[no-untyped-def]
    """Load a buffer's elements in an order in which other threads than those that wrote them get them."""
    last = maker.op("splat", (maker.constant(TILE - 1),), TileType((TILE,), I32))
    index = maker.op("sub", (last, maker.columns), last.type)
    maker.store(maker.row(maker.y, maker.constant(0)), maker.load(maker.at(buffer, index)))


# ---- the copy engine, one task ----


def test_what_was_written_is_fenced_before_the_engine_reads_it() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.store(maker.whole(row))
    maker.tma_store(row, maker.constant(0))
    kernel = ordered(maker)
    assert names(kernel.body) == ["store", "proxy_fence", "barrier", "tma_store", "tma_store_wait"]
    assert reasons(kernel, "proxy_fence") == ["shows what was written to `row` to the copy engine"]
    assert reasons(kernel, "barrier") == ["orders the stores to `row` before the loads of it"]
    assert reasons(kernel, "tma_store_wait") == ["no CTA may exit while the copy engine reads `row`"]


def test_the_engine_has_read_before_the_next_row_is_written() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    with maker.loop(maker.constant(0), maker.constant(8), maker.constant(1)) as loop:
        maker.store(maker.whole(row))
        maker.tma_store(row, loop.params[0])
    kernel = ordered(maker)
    (body,) = next(op for op in kernel.body.ops if op.name == "for").regions
    assert names(body) == ["tma_store_wait", "barrier", "store", "proxy_fence", "barrier", "tma_store"]
    assert names(kernel.body) == ["for", "tma_store_wait"]
    assert reasons(kernel, "tma_store_wait")[0] == "the copy engine has read `row`"


def test_one_thread_tells_the_engine_to_load_behind_its_own_store() -> None:
    """No barrier: thread 0 starts both, and waits for the first."""
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.tma_load(row, maker.constant(0))
    maker.tma_store(row, maker.constant(0))
    maker.tma_load(row, maker.constant(1))
    kernel = ordered(maker)
    assert names(kernel.body) == ["tma_load", "tma_store", "tma_store_wait", "tma_load"]


def test_loads_are_fenced_before_the_engine_overwrites() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.tma_load(row, maker.constant(0))
    use(maker, row)
    maker.tma_load(row, maker.constant(1))
    kernel = ordered(maker)
    assert names(kernel.body) == ["tma_load", "load", "proxy_fence", "barrier", "tma_load"]
    assert reasons(kernel, "proxy_fence") == ["the loads of `row` come before what the copy engine writes"]


def test_a_blocking_load_needs_nothing_before_its_data_are_used() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.tma_load(row, maker.constant(0))
    use(maker, row)
    assert names(ordered(maker).body) == ["tma_load", "load"]


def test_a_barrier_of_its_own_is_not_armed_again_too_early() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    with maker.loop(maker.constant(0), maker.constant(8), maker.constant(1)) as loop:
        maker.tma_load(row, loop.params[0])
    assert reasons(ordered(maker), "barrier") == ["orders the waits at `row_landed` before the next phase of it"]


def test_a_fence_in_front_of_a_barrier_that_stands_serves() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.store(maker.whole(row))
    maker.op("barrier", (), None, reason="the user's")
    maker.tma_store(row, maker.constant(0))
    assert names(ordered(maker).body) == ["store", "proxy_fence", "barrier", "tma_store", "tma_store_wait"]


# ---- cp.async ----


def test_a_barrier_follows_the_wait_for_copies() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.op("cp_async", (maker.row(maker.x, maker.constant(0)), row))
    maker.op("cp_async_commit")
    maker.op("cp_async_wait", pending=0)
    use(maker, row)
    assert names(ordered(maker).body) == ["cp_async", "cp_async_wait", "barrier", "load"]


def test_each_wait_makes_known_what_landed() -> None:
    """Of two groups in flight the first wait leaves one, so a barrier follows the second wait as well."""
    maker = TaskMaker(2)
    a, b = maker.buffer("a"), maker.buffer("b")
    for number, buffer in enumerate((a, b)):
        maker.op("cp_async", (maker.row(maker.x, maker.constant(number)), buffer))
        maker.op("cp_async_commit")
    maker.op("cp_async_wait", pending=1)
    use(maker, a)
    maker.op("cp_async_wait", pending=0)
    use(maker, b)
    shown = [name for name in names(ordered(maker).body) if name != "cp_async"]
    assert shown == ["cp_async_wait", "barrier", "load", "cp_async_wait", "barrier", "load"]


@pytest.mark.parametrize("same", [True, False])
def test_threads_that_load_what_they_copied_need_no_barrier(same: bool) -> None:
    """Not in any slot of the ring: different slots have no bytes in common, in one element e is the same thread's."""
    maker = KernelMaker(num_warps=2)
    own = blocked((256,), 2, (0,), (4,))
    other = own if same else blocked((256,), 2, (0,), (2,))
    x = maker.argument("x", PointerType(I32), 16)
    ring = maker.op("alloc", (), BufferType((2, 256), I32), name="ring")
    with maker.loop(maker.constant(0), maker.constant(8), maker.constant(1)) as loop:
        stage = maker.op("rem", (loop.params[0], maker.constant(2)), I32)
        slot = maker.op("buffer_view", (ring, stage), BufferType((256,), I32), kind="slot")
        pointers = maker.op("splat", (x,), TileType((256,), PointerType(I32), own))
        maker.op("cp_async", (pointers, slot))
        maker.op("cp_async_commit")
        maker.op("cp_async_wait", pending=0)
        maker.load(maker.whole(slot, other))
    added = reasons(barriers.run(maker.kernel()), "barrier")
    assert len(added) == (0 if same else 2)


def test_no_thread_exits_with_copies_in_flight() -> None:
    maker = TaskMaker(2)
    maker.op("cp_async", (maker.row(maker.x, maker.constant(0)), maker.buffer("row")))
    kernel = ordered(maker)
    assert reasons(kernel, "cp_async_wait") == ["no thread may exit while the copies it made are in flight"]


# ---- several tasks ----


def two_tasks(maker: TaskMaker, first, second) -> tuple[Kernel, list[Region]]:  # type: ignore[no-untyped-def]
    """A kernel of two tasks, each a loop over eight rows; the bodies of the loops behind the pass."""
    with maker.specialized() as made:
        for body in (first, second):
            with made.task(2):
                with maker.loop(maker.constant(0), maker.constant(8), maker.constant(1)) as loop:
                    body(loop.params[0])
    kernel = ordered(maker)
    loops = [op for op in walk(kernel.body) if op.name == "for"]
    return kernel, [op.regions[0] for op in loops]


def test_a_pipe_of_stores_needs_no_barrier_at_all() -> None:
    maker = TaskMaker(2)
    pipe = maker.pipe("p", 2, {"data": maker.ring("ring", 2)})

    def produce(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.acquire(pipe, stage, lap)
        maker.store(maker.whole(slot))
        maker.op("pipe_commit", (pipe, stage, lap))

    def consume(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.wait(pipe, stage, lap, None)
        use(maker, slot)
        maker.op("pipe_release", (pipe, stage, lap))

    kernel, _ = two_tasks(maker, produce, consume)
    assert not any(op.name in ADDED for op in walk(kernel.body))
    (site,) = kernel.specialisations
    assert not site.attrs["sync_before"] and not site.attrs["sync_behind"]


def test_a_slot_is_fenced_where_the_reader_has_the_engine_read_it() -> None:
    maker = TaskMaker(2)
    pipe = maker.pipe("p", 2, {"data": maker.ring("ring", 2)})

    def produce(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.acquire(pipe, stage, lap)
        maker.store(maker.whole(slot))
        maker.op("pipe_commit", (pipe, stage, lap))

    def consume(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.wait(pipe, stage, lap, None)
        maker.tma_store(slot, i)
        maker.op("pipe_release", (pipe, stage, lap))

    _, (producer, consumer) = two_tasks(maker, produce, consume)
    assert names(producer) == ["pipe_acquire", "store", "proxy_fence", "pipe_commit"]
    assert names(consumer) == ["pipe_wait", "tma_store", "tma_store_wait", "pipe_release"]


def test_copies_land_before_a_commit_that_the_engine_reads_behind() -> None:
    maker = TaskMaker(2)
    pipe = maker.pipe("p", 2, {"data": maker.ring("ring", 2)})

    def produce(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.acquire(pipe, stage, lap)
        maker.op("cp_async", (maker.row(maker.x, i), slot))
        maker.op("pipe_commit", (pipe, stage, lap))

    def consume(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        (slot,) = maker.wait(pipe, stage, lap, None)
        maker.tma_store(slot, i)
        maker.op("pipe_release", (pipe, stage, lap))

    _, (producer, _) = two_tasks(maker, produce, consume)
    assert names(producer) == ["pipe_acquire", "cp_async", "cp_async_wait", "proxy_fence", "pipe_commit"]


def test_thread_0_arrives_behind_all_threads_of_its_task() -> None:
    maker = TaskMaker(2)
    ring = maker.ring("ring", 2)
    full, free = maker.barriers("full", 2, expect=4 * TILE), maker.barriers("free", 2, "ready")

    def produce(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        maker.op("mbarrier_wait", (free, stage, lap))
        maker.tma_load(maker.slot(ring, stage), i, "barrier", (full, stage))

    def consume(i) -> None:  # type: ignore[no-untyped-def]
        stage, lap = maker.stage(i, 2)
        maker.op("mbarrier_wait", (full, stage, lap))
        use(maker, maker.slot(ring, stage))
        maker.op("mbarrier_arrive", (free, stage), None, arrivals=1)

    kernel, (producer, consumer) = two_tasks(maker, produce, consume)
    assert names(producer) == ["mbarrier_wait", "tma_load"]
    assert names(consumer) == ["mbarrier_wait", "load", "proxy_fence", "mbarrier_arrive"]
    assert not reasons(kernel, "barrier")  # each thread arrives behind its own loads


def test_an_arrival_needs_no_barrier_of_its_task() -> None:
    """Every thread arrives, behind what it did."""
    maker = TaskMaker(2)
    own = maker.buffer("own")
    done = maker.barriers("done", 1)

    def first(i) -> None:  # type: ignore[no-untyped-def]
        maker.store(maker.whole(own), maker.load(maker.row(maker.x, i)))
        maker.op("mbarrier_arrive", (done, maker.constant(0)), None, arrivals=1)

    def second(i) -> None:  # type: ignore[no-untyped-def]
        maker.op("mbarrier_wait", (done, maker.constant(0), i))
        maker.store(maker.row(maker.y, i))

    kernel, _ = two_tasks(maker, first, second)
    assert not reasons(kernel, "barrier")


def test_all_threads_meet_around_partitions_where_it_can_be_told() -> None:
    maker = TaskMaker(2)
    table, result = maker.buffer("table"), maker.buffer("result")
    maker.store(maker.whole(table), maker.load(maker.row(maker.x, maker.constant(0))))
    with maker.specialized() as made:
        with made.task(2):
            pass
        with made.task(1):
            maker.store(maker.whole(result), maker.load(maker.whole(table)))
    use(maker, result)
    kernel = ordered(maker)
    (site,) = kernel.specialisations
    assert site.attrs["sync_before"] and site.attrs["sync_behind"]
    assert not reasons(kernel, "barrier")


def test_a_fence_in_a_partition_of_one_thread_covers_that_thread_alone() -> None:
    """What all default warps wrote in front is fenced in front: only thread 0 enters the partition."""
    maker = TaskMaker(2)
    side, ring = maker.buffer("side"), maker.ring("ring", 1)
    full = maker.barriers("full", 1, expect=4 * TILE)
    zero = maker.constant(0)
    maker.store(maker.whole(side))
    with maker.specialized() as made:
        with made.task(2):
            maker.tma_load(maker.slot(ring, zero), zero, "barrier", (full, zero))
        with made.task(1):
            maker.op("mbarrier_wait", (full, zero, zero))
            use(maker, maker.slot(ring, zero))
    maker.tma_store(side, zero)
    kernel = ordered(maker)
    assert [op.name for op in kernel.body.ops if op.name in ("proxy_fence", "warp_specialize")] == [
        "proxy_fence",
        "warp_specialize",
    ]


# ---- refusals ----


def test_nothing_waits_for_a_copy() -> None:
    maker = TaskMaker(2)
    row, full = maker.buffer("row"), maker.barriers("full", 1, expect=4 * TILE)
    maker.tma_load(row, maker.constant(0), "barrier", (full, maker.constant(0)))
    use(maker, row)
    with pytest.raises(SynchronizationError) as caught:
        ordered(maker)
    assert str(caught.value).splitlines()[0].endswith("`row` is read while a copy into it is in flight")
    assert "nothing waits for `full`, on which the copy completes" in str(caught.value)


def test_the_wait_comes_too_late() -> None:
    maker = TaskMaker(2)
    row = maker.buffer("row")
    maker.op("cp_async", (maker.row(maker.x, maker.constant(0)), row))
    maker.op("cp_async_commit")
    use(maker, row)
    maker.op("cp_async_wait", pending=0)
    with pytest.raises(SynchronizationError, match="`row` is read while a copy into it is in flight") as caught:
        ordered(maker)
    assert "nothing waits for the copy between the two" in str(caught.value)
    assert "tle.gpu.async_wait_group" in str(caught.value)


def test_prefetching_another_slot_is_no_use_in_flight() -> None:
    maker = TaskMaker(2)
    ring = maker.ring("ring", 2)

    def copy(stage, i) -> None:  # type: ignore[no-untyped-def]
        maker.op("cp_async", (maker.row(maker.x, i), maker.slot(ring, stage)))
        maker.op("cp_async_commit")

    zero, one, two = (maker.constant(n) for n in range(3))
    copy(zero, zero)
    with maker.loop(zero, maker.constant(8), one) as loop:
        following = maker.op("add", (loop.params[0], one), I32)
        copy(maker.op("rem", (following, two), I32), following)
        maker.op("cp_async_wait", pending=1)
        use(maker, maker.slot(ring, maker.op("rem", (loop.params[0], two), I32)))
    kernel = ordered(maker)
    assert reasons(kernel, "barrier")


@pytest.mark.parametrize("where", ["inside", "in front"])
def test_barriers_of_clusters_need_all_threads(where: str) -> None:
    maker = TaskMaker(2)
    maker.cluster_dims = (2, 1, 1)
    if where == "in front":
        maker.op("cluster_barrier")
    with maker.specialized() as made:
        with made.task(2):
            pass
        with made.task(1):
            if where == "inside":
                maker.op("cluster_barrier")
    with pytest.raises(SynchronizationError, match="cannot stand inside of `warp_specialize` or in front of it"):
        ordered(maker)
