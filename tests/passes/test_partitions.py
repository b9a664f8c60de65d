"""Worker regions close: what is cheap is made again, the rest is handed over; layouts are each region's own."""

from __future__ import annotations

import itertools

import pytest

from tests.passes.random_tasks import TILE, TaskMaker
from tle2cuda.errors import NotSupported
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import captured_values, definitions
from tle2cuda.ir.types import BOOL, GLOBAL, I32, I64, SHARED, PointerType, TileType
from tle2cuda.passes import layouts, partitions, scratch, shared_map
from tle2cuda.passes.barriers import run as with_barriers


def closed(kernel: Kernel) -> tuple[Kernel, Op]:
    verify(kernel)
    result = partitions.run(kernel)
    verify(result)
    (site,) = result.specialisations
    return result, site


def names(region: Region) -> list[str]:
    return [op.name for op in region.ops]


def captured(kernel: Kernel, region: Region) -> set[str]:
    """The operations behind what a region captures; arguments count as `argument`."""
    made = definitions(kernel.body)
    return {made[v].name if v in made else "argument" for v in captured_values(region)}


def workers_use(maker: TaskMaker, *values: Value) -> Kernel:
    """A kernel whose worker stores some scalars, and loads or stores through what else it is given."""
    with maker.specialized() as partitions_:
        with partitions_.task(maker.builder.num_warps):
            pass
        with partitions_.task(1):
            for value in values:
                if isinstance(value.type, TileType) and isinstance(value.type.element, PointerType):
                    maker.store(value)
                elif isinstance(value.type, TileType):
                    maker.store(maker.row(maker.y, maker.constant(0)), value)
                elif isinstance(value.type, PointerType):
                    maker.store(value)
                else:
                    maker.store(maker.y, value)
    return maker.kernel()


def test_scalars_of_arguments_are_made_again() -> None:
    maker = TaskMaker(2)
    n = maker.argument("n", I32)
    twice = maker.op("mul", (n, maker.constant(2)), I32)
    pid = maker.op("program_id", (), I32, axis=0)
    kernel, site = closed(workers_use(maker, maker.op("add", (twice, pid), I32)))
    assert names(site.regions[1]) == ["constant", "mul", "program_id", "add", "store", "yield"]
    assert captured(kernel, site.regions[1]) == {"argument"}


def test_index_tiles_and_pointers_are_made_again() -> None:
    maker = TaskMaker(2)
    kernel, site = closed(workers_use(maker, maker.row(maker.y, maker.constant(3))))
    assert {"arange", "splat", "ptr_add", "store"} < set(names(site.regions[1]))
    assert captured(kernel, site.regions[1]) == {"argument"}
    assert not any(op.name == "alloc" for op in kernel.body.ops)


def test_scalars_that_the_kernel_never_writes_are_loaded_again() -> None:
    maker = TaskMaker(2)
    limit = maker.op("cast", (maker.load(maker.argument("limits", PointerType(I64, GLOBAL))),), I32)
    kernel, site = closed(workers_use(maker, maker.row(maker.y, limit)))
    assert names(site.regions[1]).count("load") == 1
    assert captured(kernel, site.regions[1]) == {"argument"}


def test_what_may_be_written_by_another_name_is_handed_over() -> None:
    maker = TaskMaker(2)
    kernel, site = closed(workers_use(maker, maker.row(maker.y, maker.load(maker.x))))
    assert captured(kernel, site.regions[1]) == {"argument", "alloc"}


def test_what_was_loaded_and_may_change_is_handed_over() -> None:
    maker = TaskMaker(2)
    count = maker.load(maker.y)  # which the worker writes
    kernel, site = closed(workers_use(maker, count, maker.op("add", (count, maker.constant(1)), I32)))
    assert names(kernel.body)[-5:] == ["constant", "local_ptr", "store", "warp_specialize", "yield"]
    assert names(site.regions[1]).count("load") == 1, "one value travels, the sum of it is made again"
    assert captured(kernel, site.regions[1]) == {"argument", "alloc"}
    (site,) = with_barriers(scratch.run(layouts.run(kernel))).specialisations
    assert site.attrs["sync_before"] and not site.attrs["sync_behind"]


def test_tiles_in_registers_are_handed_over_whole() -> None:
    maker = TaskMaker(2)
    tile = maker.load(maker.row(maker.x, maker.constant(0)))
    kernel, site = closed(workers_use(maker, tile))
    alloc = next(op for op in kernel.body.ops if op.name == "alloc")
    assert alloc.result.type.shape == (TILE,)
    assert names(site.regions[1])[1:3] == ["local_ptr", "load"]


def test_an_index_tile_of_a_loaded_scalar_takes_the_scalar_along() -> None:
    maker = TaskMaker(2)
    pointers = maker.row(maker.y, maker.load(maker.y))
    kernel, site = closed(workers_use(maker, pointers))
    (alloc,) = [op for op in kernel.body.ops if op.name == "alloc"]
    assert alloc.result.type.shape == (1,)
    assert names(site.regions[1]).count("ptr_add") == 2


def test_pointers_travel_as_integers() -> None:
    maker = TaskMaker(2)
    chosen = maker.op("select", (maker.op("cast", (maker.load(maker.x),), BOOL), maker.x, maker.y), maker.x.type)
    with maker.loop(maker.constant(0), maker.constant(2), maker.constant(1), [chosen]) as loop:
        loop.yields(maker.op("ptr_add", (loop.params[1], maker.constant(1)), chosen.type))
    _, site = closed(workers_use(maker, loop.results[0]))
    assert names(site.regions[1])[:4] == ["constant", "local_ptr", "load", "bitcast"]


def test_slots_are_views_of_their_fields() -> None:
    maker = TaskMaker(2)
    ring = maker.ring("ring", 2)
    pipe = maker.pipe("p", 2, {"data": ring})
    zero = maker.constant(0)
    (slot,) = maker.acquire(pipe, zero, zero)
    view = maker.slot(ring, zero)
    kernel, site = closed(workers_use(maker, maker.whole(slot), maker.whole(view)))
    views = [op for op in site.regions[1].ops if op.name == "buffer_view"]
    assert [op.operands[0] for op in views] == [ring, ring]
    assert captured(kernel, site.regions[1]) == {"alloc"}


def test_pointers_to_shared_memory_chosen_at_run_time_are_refused() -> None:
    maker = TaskMaker(2)
    buffer = maker.buffer("own")
    first = maker.at(buffer, maker.constant(0))
    with maker.loop(maker.constant(0), maker.constant(2), maker.constant(1), [first]) as loop:
        loop.yields(maker.op("ptr_add", (loop.params[1], maker.constant(1)), PointerType(I32, SHARED)))
    with pytest.raises(NotSupported, match="cannot be handed to a partition: it is a pointer to shared memory"):
        partitions.run(workers_use(maker, loop.results[0]))


def test_region_0_captures_freely() -> None:
    maker = TaskMaker(2)
    tile = maker.load(maker.row(maker.x, maker.constant(0)))
    with maker.specialized() as made:
        with made.task(2):
            maker.store(maker.row(maker.y, maker.constant(0)), tile)
        with made.task(1):
            pass
    kernel = maker.kernel()
    assert partitions.run(kernel) is kernel


def sums(maker: TaskMaker, warps: tuple[int, ...]) -> Kernel:
    """Every task sums a row, which takes scratch."""
    with maker.specialized() as made:
        for number, count in enumerate(warps):
            with made.task(count):
                row = maker.load(maker.row(maker.x, maker.constant(number)))
                total = maker.op("reduce", (row,), I32, axis=0, kind="sum")
                maker.store(maker.op("ptr_add", (maker.y, maker.constant(number)), maker.y.type), total)
    return maker.kernel()


def test_layouts_are_for_the_warps_of_each_task() -> None:
    (site,) = layouts.run(partitions.run(sums(TaskMaker(4), (4, 1, 2)))).specialisations
    for region, warps in zip(site.regions, (4, 1, 2), strict=True):
        (load,) = [op for op in region.ops if op.name == "load"]
        assert load.result.type.layout.num_warps == warps


def test_scratch_of_tasks_never_shares_bytes() -> None:
    kernel = with_barriers(scratch.run(layouts.run(partitions.run(sums(TaskMaker(2), (2, 2, 2))))))
    memory = shared_map.shared_map(shared_map.run(kernel))
    spans = sorted((e.offset_bytes, e.offset_bytes + e.size_bytes) for e in memory.entries)
    assert len(spans) == 3
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    assert not any(op.name == "barrier" for op in walk(kernel.body)), "a sum has its barrier inside"
