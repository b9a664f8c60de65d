"""Barriers: each kind of hazard, control flow, what needs none, and the reasons they carry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.analysis.helpers import KernelMaker
from tle2cuda.errors import InternalError, SynchronizationError
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.types import BOOL, I32, BufferType, PointerType, TileType
from tle2cuda.layout import Layout, blocked
from tle2cuda.passes import barriers

COUNT = 128
LAYOUT = blocked((COUNT,), 4, (0,), (1,))
OTHER = blocked((COUNT,), 4, (0,), (4,))


def tile(layout: Layout | None = LAYOUT) -> TileType:
    return TileType((COUNT,), I32, layout)


def names(region: Region) -> list[str]:
    """The operations of a region that a barrier could matter for."""
    wanted = ("load", "store", "atomic_rmw", "barrier", "cluster_barrier", "grid_barrier", "for", "if", "reduce")
    return [op.name for op in region.ops if op.name in wanted]


def placed(kernel: Kernel) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name == "barrier" and not op.attrs.get("user")]


def reasons(kernel: Kernel) -> list[str]:
    return [op.attrs["reason"] for op in placed(kernel)]


ACCESS = {
    "load": lambda maker, pointer: maker.load(pointer),
    "store": lambda maker, pointer: maker.store(pointer),
    "atomic": lambda maker, pointer: maker.atomic(pointer),
}


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("store", "load", "orders the stores to `count` before the loads of it"),
        ("load", "store", "orders the loads of `count` before the stores to it"),
        ("store", "store", "orders the stores to `count` before later ones"),
        ("atomic", "load", "orders the atomics on `count` before the loads of it"),
        ("load", "atomic", "orders the loads of `count` before the atomics on it"),
        ("atomic", "store", "orders the atomics on `count` before the stores to it"),
        ("store", "atomic", "orders the stores to `count` before the atomics on it"),
        ("atomic", "atomic", None),
        ("load", "load", None),
    ],
)
def test_each_pair_of_tile_accesses(first: str, second: str, reason: str | None) -> None:
    maker = KernelMaker()
    count = maker.alloc("count")
    ACCESS[first](maker, maker.whole(count, LAYOUT))
    ACCESS[second](maker, maker.whole(count, OTHER))
    assert reasons(barriers.run(maker.kernel())) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("store", "load", 1),  # thread 0 stores, all threads load
        ("load", "store", 1),
        ("store", "store", 0),  # thread 0 both times
        ("atomic", "store", 0),
        ("atomic", "load", 1),
    ],
)
def test_scalar_accesses(first: str, second: str, expected: int) -> None:
    maker = KernelMaker()
    counter = maker.alloc("counter", 1)
    pointer = maker.at(counter, maker.constant(0))
    ACCESS[first](maker, pointer)
    ACCESS[second](maker, pointer)
    assert len(placed(barriers.run(maker.kernel()))) == expected


def test_a_tile_store_and_a_scalar_load_of_one_element() -> None:
    maker = KernelMaker()
    buffer = maker.alloc("buffer")
    maker.store(maker.whole(buffer, LAYOUT))
    maker.load(maker.at(buffer, maker.constant(3)))
    assert len(placed(barriers.run(maker.kernel()))) == 1


def test_accesses_of_the_same_elements_by_the_same_threads_need_none() -> None:
    """The full view and an explicit arange are the same elements."""
    maker = KernelMaker()
    count = maker.alloc("count")
    index = maker.op("arange", (), tile(), start=0, end=COUNT)
    maker.store(maker.at(count, index, layout=LAYOUT))
    value = maker.load(maker.whole(count, LAYOUT))
    maker.store(maker.whole(count, LAYOUT), value)
    maker.atomic(maker.at(count, index, layout=LAYOUT))
    assert not placed(barriers.run(maker.kernel()))


def test_without_layouts_nothing_is_proved() -> None:
    maker = KernelMaker()
    count = maker.alloc("count")
    maker.store(maker.whole(count))
    maker.load(maker.whole(count))
    assert len(placed(barriers.run(maker.kernel()))) == 1


def test_replicated_threads_need_a_barrier() -> None:
    small = blocked((32,), 4, (0,), (1,))  # every warp holds a copy
    maker = KernelMaker()
    count = maker.alloc("count", 32)
    maker.store(maker.whole(count, small))
    maker.load(maker.whole(count, small))
    assert len(placed(barriers.run(maker.kernel()))) == 1


@pytest.mark.parametrize(("factor", "expected"), [(1, 0), (2, 0), (0, 1)])
def test_only_injective_indices_belong_to_threads(factor: int, expected: int) -> None:
    maker = KernelMaker()
    count = maker.alloc("count", 2 * COUNT)
    lanes = maker.op("arange", (), tile(), start=0, end=COUNT)
    index = maker.op("mul", (lanes, maker.op("constant", (), tile(), value=factor)), tile())
    pointers = maker.at(count, index, layout=LAYOUT)
    maker.store(pointers)
    maker.load(pointers)
    assert len(placed(barriers.run(maker.kernel()))) == expected


@pytest.mark.parametrize(("start", "expected"), [(0, 1), (64, 1), (128, 0)])
def test_disjoint_slices_need_none(start: int, expected: int) -> None:
    maker = KernelMaker()
    buffer = maker.alloc("buffer", 2 * COUNT)
    views = [
        maker.op("buffer_view", (buffer,), BufferType((COUNT,), I32), kind="subslice", start=s, dim=0) for s in (0, start)
    ]
    maker.store(maker.whole(views[0], LAYOUT))
    maker.load(maker.whole(views[1], OTHER))
    assert len(placed(barriers.run(maker.kernel()))) == expected


def test_slots_with_a_run_time_index_may_be_the_same() -> None:
    maker = KernelMaker()
    n = maker.argument("n", I32)
    ring = maker.op("alloc", (), BufferType((3, COUNT), I32), name="ring")
    slots = [
        maker.op("buffer_view", (ring, index), BufferType((COUNT,), I32), kind="slot")
        for index in (maker.constant(0), maker.constant(1), n)
    ]
    maker.store(maker.whole(slots[0], LAYOUT))
    maker.load(maker.whole(slots[1], OTHER))
    assert not placed(barriers.run(maker.kernel()))
    maker = KernelMaker()
    n = maker.argument("n", I32)
    ring = maker.op("alloc", (), BufferType((3, COUNT), I32), name="ring")
    first, second = (
        maker.op("buffer_view", (ring, index), BufferType((COUNT,), I32), kind="slot") for index in (maker.constant(0), n)
    )
    maker.store(maker.whole(first, LAYOUT))
    maker.load(maker.whole(second, OTHER))
    assert len(placed(barriers.run(maker.kernel()))) == 1


def test_one_barrier_for_several_hazards_as_late_as_possible() -> None:
    maker = KernelMaker()
    a, b = maker.alloc("a"), maker.alloc("b")
    x = maker.argument("x", I32)
    maker.store(maker.whole(a, LAYOUT))
    maker.store(maker.whole(b, LAYOUT))
    maker.op("add", (x, x), I32)
    maker.load(maker.whole(a, OTHER))
    maker.load(maker.whole(b, OTHER))
    result = barriers.run(maker.kernel())
    assert names(result.body) == ["store", "store", "barrier", "load", "load"]
    assert reasons(result) == ["orders the stores to `a` and `b` before the loads of them"]


@pytest.mark.parametrize("name", ["barrier", "cluster_barrier", "grid_barrier"])
def test_barriers_of_the_user_count(name: str) -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    maker.store(maker.whole(a, LAYOUT))
    maker.op(name, (), None, user=True)
    maker.load(maker.whole(a, OTHER))
    assert not placed(barriers.run(maker.kernel()))


def test_a_barrier_inside_one_arm_stays_there() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    maker.store(maker.whole(a, LAYOUT))
    with maker.branch() as branch:
        with branch.then():
            maker.load(maker.whole(a, OTHER))
        with branch.otherwise():
            pass
    result = barriers.run(maker.kernel())
    (if_op,) = [op for op in result.body.ops if op.name == "if"]
    assert names(if_op.regions[0]) == ["barrier", "load"]
    assert names(result.body) == ["store", "if"]


def test_one_barrier_before_a_branch_when_both_arms_need_it() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    maker.store(maker.whole(a, LAYOUT))
    with maker.branch() as branch:
        with branch.then():
            maker.load(maker.whole(a, OTHER))
        with branch.otherwise():
            maker.atomic(maker.whole(a, OTHER))
    assert names(barriers.run(maker.kernel()).body) == ["store", "barrier", "if"]


def test_a_store_inside_a_branch_and_a_load_behind_it() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    with maker.branch() as branch:
        with branch.then():
            maker.store(maker.whole(a, LAYOUT))
    maker.load(maker.whole(a, OTHER))
    assert names(barriers.run(maker.kernel()).body) == ["if", "barrier", "load"]


def loop_bounds(maker: KernelMaker) -> tuple[Value, Value, Value]:
    return maker.constant(0), maker.argument("n", I32), maker.constant(1)


def test_a_barrier_before_the_loop_serves_all_iterations() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    maker.store(maker.whole(a, LAYOUT))
    with maker.loop(*loop_bounds(maker)):
        maker.load(maker.whole(a, OTHER))
    result = barriers.run(maker.kernel())
    assert names(result.body) == ["store", "barrier", "for"]


def test_the_back_edge_needs_a_barrier_too() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    with maker.loop(*loop_bounds(maker)):
        maker.store(maker.whole(a, LAYOUT))
        maker.load(maker.whole(a, OTHER))
    result = barriers.run(maker.kernel())
    (loop,) = [op for op in result.body.ops if op.name == "for"]
    assert names(loop.regions[0]) == ["barrier", "store", "barrier", "load"]


def test_the_barrier_at_the_back_edge_serves_accesses_before_the_loop() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    maker.load(maker.whole(a, OTHER))
    with maker.loop(*loop_bounds(maker)):
        maker.store(maker.whole(a, LAYOUT))
        maker.load(maker.whole(a, OTHER))
    assert len(placed(barriers.run(maker.kernel()))) == 2


def test_an_index_that_moves_with_the_loop_is_another_one_in_the_next_iteration() -> None:
    for moves, expected in ((False, 0), (True, 1)):
        maker = KernelMaker()
        a = maker.alloc("a", 64 * COUNT)
        lanes = maker.op("arange", (), tile(), start=0, end=COUNT)
        with maker.loop(*loop_bounds(maker)) as loop:
            index = lanes
            if moves:
                index = maker.op("add", (maker.op("splat", (loop.params[0],), tile()), lanes), tile())
            pointers = maker.at(a, index, layout=LAYOUT)
            maker.store(pointers)
            maker.load(pointers)
        assert len(placed(barriers.run(maker.kernel()))) == expected, moves


def test_scratch_is_not_overwritten_while_it_is_read() -> None:
    maker = KernelMaker()
    slots = maker.alloc("slots", 4, scratch=True)
    value = maker.op("constant", (), tile(), value=1)
    with maker.loop(*loop_bounds(maker)):
        maker.op("reduce", (value, slots), I32, axis=0, kind="sum", num_scratch=1)
    result = barriers.run(maker.kernel())
    assert reasons(result) == ["orders the loads of the scratch `slots` before the stores to it"]


def test_two_collectives_in_a_loop_separate_each_other() -> None:
    """The barrier inside each stands between the reads of the other's scratch and its reuse."""
    maker = KernelMaker()
    slots = [maker.alloc(f"slots{i}", 4, scratch=True) for i in range(2)]
    value = maker.op("constant", (), tile(), value=1)
    with maker.loop(*loop_bounds(maker)):
        for buffer in slots:
            maker.op("reduce", (value, buffer), I32, axis=0, kind="sum", num_scratch=1)
    assert not placed(barriers.run(maker.kernel()))


def test_pointers_merged_by_control_flow_may_be_either() -> None:
    maker = KernelMaker()
    a, b = maker.alloc("a"), maker.alloc("b")
    with maker.branch() as branch:
        with branch.then():
            branch.yields(maker.whole(a, LAYOUT))
        with branch.otherwise():
            branch.yields(maker.whole(b, LAYOUT))
    maker.store(branch.results[0])
    maker.load(maker.whole(b, OTHER))
    assert reasons(barriers.run(maker.kernel())) == ["orders the stores to `b` before the loads of it"]


def test_unknown_pointers_touch_everything() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    number = maker.op("constant", (), TileType((COUNT,), I32, LAYOUT), value=0)
    pointers = maker.op("bitcast", (number,), maker.whole(a, LAYOUT).type)
    maker.store(pointers)
    maker.load(maker.whole(a, LAYOUT))
    assert len(placed(barriers.run(maker.kernel()))) == 1


def test_a_fused_loop_with_a_hazard_inside_is_a_fault_of_ours() -> None:
    maker = KernelMaker()
    a = maker.alloc("a")
    store, load = maker.whole(a, LAYOUT), maker.whole(a, OTHER)
    with maker.builder.region() as ops:
        maker.store(store)
        maker.load(load)
        ops.append(make_op("yield"))
    maker.builder.emit("fused", (), (), {}, (Region((), tuple(ops)),))
    with pytest.raises(InternalError, match="a fused loop holds accesses"):
        barriers.run(maker.kernel())


# ---- MoE align block size: as few barriers as by hand ----


def moe_atomic(maker: KernelMaker) -> None:
    """Histogram of one tile, exclusive sum over experts, scatter bases kept in shared memory."""
    count = maker.alloc("count")
    scan = maker.alloc("scan", 32, scratch=True)
    ids = maker.argument("ids", I32)
    expert = maker.op("arange", (), tile(), start=0, end=COUNT)
    key = maker.op("splat", (ids,), tile())
    own = maker.at(count, expert, layout=LAYOUT)
    maker.store(own)  # cleared by the owner of each expert
    maker.atomic(maker.at(count, key, layout=LAYOUT))
    totals = maker.load(own)
    starts, _ = maker.builder.emit("exclusive_sum", (totals, scan), (tile(), I32), {"reverse": False, "num_scratch": 1})
    maker.store(own, starts)
    maker.atomic(maker.at(count, key, layout=LAYOUT))


def test_moe_histogram_and_scatter() -> None:
    """Clear | count | load, scan, store bases | scatter: three barriers beside the one inside the scan."""
    maker = KernelMaker()
    moe_atomic(maker)
    assert reasons(barriers.run(maker.kernel())) == [
        "orders the stores to `count` before the atomics on it",
        "orders the atomics on `count` before the loads of it",
        "orders the stores to `count` before the atomics on it",
    ]


def test_moe_cluster_barriers_are_not_doubled() -> None:
    maker = KernelMaker(cluster_dims=(8, 1, 1))
    count, total = maker.alloc("count"), maker.alloc("total")
    key = maker.op("splat", (maker.argument("ids", I32),), tile())
    remote = maker.op("remote", (total, maker.constant(0)), BufferType((COUNT,), I32, remote=True))
    own, own_total, first = (maker.whole(b, LAYOUT) for b in (count, total, remote))
    maker.store(own)
    maker.store(own_total)
    maker.op("cluster_barrier")
    maker.atomic(maker.at(count, key, layout=LAYOUT))
    mine = maker.load(own)
    maker.atomic(first, mine)
    maker.op("cluster_barrier")
    totals = maker.load(first)
    maker.op("cluster_barrier")
    maker.store(own_total, totals)
    maker.load(maker.at(total, key, layout=LAYOUT))
    result = barriers.run(maker.kernel())
    assert reasons(result) == [
        "orders the atomics on `count` before the loads of it",
        "orders the stores to `total` before the loads of it",
    ]
    assert sum(op.name == "cluster_barrier" for op in walk(result.body)) == 3, "none is needed at the end"


# ---- start and end of cluster kernels ----


def remote_kernel(then: str, condition: str = "", barrier_first: bool = True) -> Kernel:
    maker = KernelMaker(cluster_dims=(2, 1, 1))
    box = maker.alloc("box", 1)
    if barrier_first:
        maker.op("cluster_barrier")
    other = maker.op("remote", (box, maker.constant(1)), BufferType((1,), I32, remote=True))
    pointer = maker.at(other, maker.constant(0))
    if condition:
        rank = maker.op("cluster_rank", (), I32)
        n = maker.argument("n", I32)
        chosen = maker.op("cmp", (rank if condition == "rank" else n, maker.constant(0)), BOOL, predicate="eq")
        with maker.branch(chosen) as branch:
            with branch.then():
                maker.load(pointer)
            with branch.otherwise():
                pass
    else:
        maker.load(pointer)
    if then == "barrier":
        maker.op("cluster_barrier")
    elif then == "members":
        maker.op("cluster_barrier", (), None, members=(0,))
    return maker.kernel()


@pytest.mark.parametrize(
    ("then", "condition", "added"),
    [
        ("nothing", "", 1),
        ("barrier", "", 0),
        ("members", "", 1),
        ("nothing", "rank", 1),
        ("barrier", "rank", 0),
        ("nothing", "argument", 1),
    ],
)
def test_no_cta_exits_under_remote_accesses(then: str, condition: str, added: int) -> None:
    result = barriers.run(remote_kernel(then, condition))
    trailing = [op for op in result.body.ops if op.attrs.get("reason") == barriers.TRAILING_REASON]
    assert len(trailing) == added
    if added:
        assert result.body.ops[-2] is trailing[0]


@pytest.mark.parametrize(("flag_is_written", "added"), [(False, 0), (True, 1)])
def test_an_early_return_passes_the_trailing_barrier(flag_is_written: bool, added: int) -> None:
    """`if flag: return`; the rest ends in a barrier. CTAs that read different flags would leave too early."""
    maker = KernelMaker(cluster_dims=(2, 1, 1))
    box = maker.alloc("box", 1)
    flags = maker.argument("flags", PointerType(I32))
    maker.op("cluster_barrier")
    if flag_is_written:
        maker.atomic(flags)
    condition = maker.op("cmp", (maker.load(flags), maker.constant(0)), BOOL, predicate="eq")
    with maker.branch(condition) as branch:
        with branch.then():
            pass
        with branch.otherwise():
            other = maker.op("remote", (box, maker.constant(1)), BufferType((1,), I32, remote=True))
            maker.load(maker.at(other, maker.constant(0)))
            maker.op("cluster_barrier")
    body = barriers.run(maker.kernel()).body
    assert [op.name for op in body.ops[-2 - added :]] == ["if", *["cluster_barrier"] * added, "yield"]


def test_all_ctas_run_before_the_first_remote_access() -> None:
    result = barriers.run(remote_kernel("barrier", barrier_first=False))
    assert result.body.ops[0].attrs["reason"] == barriers.LEADING_REASON


def test_a_kernel_without_a_cluster_needs_neither() -> None:
    kernel = replace(remote_kernel("nothing", barrier_first=False), cluster_dims=(1, 1, 1))
    assert all(op.name != "cluster_barrier" for op in barriers.run(kernel).body.ops)


# ---- barriers that only some CTAs reach ----


def guarded(barrier: str, source: str, cluster: int = 1, **attrs: object) -> Kernel:
    maker = KernelMaker(cluster_dims=(cluster, 1, 1))
    index = {
        "program_id": lambda: maker.op("program_id", (), I32, axis=0),
        "cluster_rank": lambda: maker.op("cluster_rank", (), I32),
        "argument": lambda: maker.argument("n", I32),
        "cluster index": lambda: maker.op("idiv", (maker.op("program_id", (), I32, axis=0), maker.constant(cluster)), I32),
    }[source]()
    condition = maker.op("cmp", (index, maker.constant(0)), BOOL, predicate="eq")
    with maker.branch(condition) as branch:
        with branch.then():
            maker.op(barrier, (), None, **attrs)
        with branch.otherwise():
            pass
    return maker.kernel()


@pytest.mark.parametrize(
    ("barrier", "source", "cluster", "attrs", "refused"),
    [
        ("grid_barrier", "program_id", 1, {}, True),
        ("grid_barrier", "argument", 1, {}, False),
        ("cluster_barrier", "cluster_rank", 2, {}, True),
        ("cluster_barrier", "program_id", 2, {}, True),
        ("cluster_barrier", "cluster index", 2, {}, False),
        ("cluster_barrier", "cluster_rank", 4, {"members": (0, 1)}, False),
        ("cluster_barrier", "cluster_rank", 2, {"members": (0, 1)}, True),
    ],
)
def test_collective_barriers_in_branches(
    barrier: str, source: str, cluster: int, attrs: dict[str, object], refused: bool
) -> None:
    kernel = guarded(barrier, source, cluster, **attrs)
    if refused:
        with pytest.raises(SynchronizationError, match="in a branch that only some CTAs take"):
            barriers.run(kernel)
    else:
        barriers.run(kernel)
