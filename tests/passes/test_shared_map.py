"""The shared-memory map: offsets, alignment, unions of scratch, names, limits."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.analysis.helpers import KernelMaker
from tests.passes.simulate import races
from tle2cuda.analysis.liveness import liveness
from tle2cuda.errors import OutOfResources
from tle2cuda.ir.nodes import walk
from tle2cuda.ir.types import F32, I32, U8, BufferType, TileType
from tle2cuda.layout import blocked
from tle2cuda.passes import barriers, shared_map
from tle2cuda.passes.shared_map import SharedMap

LAYOUT = blocked((128,), 4, (0,), (1,))


def mapped(maker: KernelMaker) -> SharedMap:
    return shared_map.shared_map(shared_map.run(barriers.run(maker.kernel())))


def reduce_with(maker: KernelMaker, scratch, times: int = 1) -> None:
    value = maker.op("constant", (), TileType((128,), I32, LAYOUT), value=1)
    for _ in range(times):
        maker.op("reduce", (value, scratch), I32, axis=0, kind="sum", num_scratch=1)


def test_members_in_order_with_alignment() -> None:
    maker = KernelMaker()
    maker.op("alloc", (), BufferType((3,), U8), name="flags")
    maker.op("alloc", (), BufferType((8, 64), F32, "mma"), name="tile")
    maker.op("alloc", (), BufferType((4,), I32), name="count", alignment_bytes=128)
    maker.op("alloc", (), BufferType((1,), I32), name="count")
    shared = mapped(maker)
    assert [(e.name, e.offset_bytes, e.size_bytes) for e in shared.entries] == [
        ("flags", 0, 3),
        ("tile", 1024, 2048),
        ("count", 3072, 16),
        ("count_2", 3088, 4),
    ]
    assert shared.total_bytes == 4096 and shared.alignment_bytes == 1024


def test_a_numbered_name_never_meets_one_of_the_users() -> None:
    maker = KernelMaker()
    for name in ("a", "a", "a_2", "a"):
        maker.alloc(name)
    assert [e.name for e in mapped(maker).entries] == ["a", "a_3", "a_2", "a_4"]


def test_no_shared_memory() -> None:
    shared = mapped(KernelMaker())
    assert shared.entries == () and shared.total_bytes == 0


def test_scratch_shares_bytes_only_where_barriers_already_keep_it_apart() -> None:
    maker = KernelMaker()
    first, second, third = (maker.alloc(n, 4, scratch=True) for n in ("first", "second", "third"))
    for scratch in (first, second, third):
        reduce_with(maker, scratch)
    before = barriers.run(maker.kernel())
    after = shared_map.run(before)
    shared = shared_map.shared_map(after)
    groups = {e.name: e.union_group for e in shared.entries}
    # The barrier inside `second` separates the uses of the other two; neighbours are not separated.
    assert groups == {"first": 0, "second": None, "third": 0}
    assert sum(op.name == "barrier" for op in walk(after.body)) == 0
    assert shared.total_bytes == 32


def test_a_union_is_padded_to_its_alignment_as_in_cpp() -> None:
    maker = KernelMaker()
    first, second = (maker.alloc(n, 4, scratch=True) for n in ("first", "second"))
    wide = maker.op("alloc", (), BufferType((4,), I32), name="wide", scratch=True, alignment_bytes=128)
    for scratch in (first, second, wide):
        reduce_with(maker, scratch)
    shared = shared_map.shared_map(shared_map.run(barriers.run(maker.kernel())))
    places = {e.name: (e.union_group, e.offset_bytes) for e in shared.entries}
    assert places == {"first": (0, 0), "wide": (0, 0), "second": (None, 128)}
    assert shared.total_bytes == 256


def test_user_buffers_stay_members_of_their_own() -> None:
    maker = KernelMaker()
    a, b = maker.alloc("a"), maker.alloc("b")
    maker.store(maker.whole(a, LAYOUT))
    maker.op("barrier", (), None, user=True)
    maker.store(maker.whole(b, LAYOUT))
    shared = mapped(maker)
    assert [e.offset_bytes for e in shared.entries] == [0, 512]


def test_scratch_is_overlaid_with_a_barrier_when_it_would_not_fit_otherwise() -> None:
    maker = KernelMaker()
    large = 40_000  # elements: two do not fit, one does
    first, second = (maker.alloc(n, large, scratch=True) for n in ("first", "second"))
    reduce_with(maker, first)
    reduce_with(maker, second)
    kernel = shared_map.run(barriers.run(maker.kernel()))
    shared = shared_map.shared_map(kernel)
    assert shared.total_bytes == 4 * large
    (barrier,) = [op for op in walk(kernel.body) if op.name == "barrier"]
    assert barrier.attrs["reason"] == (
        "orders the loads of the scratch `first` before the stores to the scratch `second`, which shares its bytes"
    )


def test_too_much_shared_memory_shows_the_sum() -> None:
    maker = KernelMaker()
    maker.alloc("ring", 32768)
    maker.alloc("acc", 32768)
    scan = maker.alloc("scan", 4, scratch=True)
    reduce_with(maker, scan)
    with pytest.raises(OutOfResources) as caught:
        mapped(maker)
    assert str(caught.value) == (
        "<unknown>:0:1: out of resource: shared memory, required 262160, limit 232448\n"
        "  ring 131072 + acc 131072 + scan scratch 16 = 262160 bytes, limit 232448 on sm_90a\n"
        "  help: make `ring` smaller: it takes 131072 bytes"
    )
    assert caught.value.required == 262160 and caught.value.limit == 232448


def test_one_buffer_that_is_too_large_says_so_once() -> None:
    maker = KernelMaker()
    ring = maker.alloc("ring", 65536)
    reduce_with(maker, ring)
    with pytest.raises(OutOfResources) as caught:
        mapped(maker)
    assert str(caught.value) == (
        "<unknown>:0:1: out of resource: shared memory, required 262144, limit 232448\n"
        "  ring 262144 bytes, limit 232448 on sm_90a\n"
        "  help: make `ring` smaller"
    )


@pytest.mark.parametrize("seed", range(40))
def test_overlaid_scratch_never_races(seed: int) -> None:
    rng = random.Random(seed)
    maker = KernelMaker()
    n = maker.argument("n", I32)
    buffers = [maker.alloc(f"s{i}", rng.choice([4, 8, 16]), scratch=True) for i in range(4)]
    zero, one = maker.constant(0), maker.constant(1)
    for _ in range(3):
        if rng.random() < 0.5:
            with maker.loop(zero, n, one):
                for _ in range(rng.randint(1, 3)):
                    reduce_with(maker, rng.choice(buffers))
        else:
            reduce_with(maker, rng.choice(buffers))
    kernel = shared_map.run(barriers.run(maker.kernel()))
    offsets = {e.root: e.offset_bytes // 4 for e in shared_map.shared_map(kernel).entries}
    for run in range(6):
        assert not races(kernel, random.Random(run), offsets)


def test_live_ranges_cover_loops_that_carry_the_content() -> None:
    maker = KernelMaker()
    outside = maker.alloc("outside")
    zero, one = maker.constant(0), maker.constant(1)
    with maker.loop(zero, maker.argument("n", I32), one):
        inside = maker.alloc("inside")
        maker.store(maker.whole(inside, LAYOUT))
        maker.load(maker.whole(outside, LAYOUT))
    kernel = maker.kernel()
    numbers = {op: i for i, op in enumerate(walk(kernel.body))}
    loop = next(op for op in numbers if op.name == "for")
    store = next(op for op in numbers if op.name == "store")
    last = max(numbers[op] for op in walk(loop.regions[0]))
    found = liveness(kernel)
    assert found[outside].intervals == ((numbers[loop], last),)
    assert found[inside].intervals == ((numbers[store], numbers[store]),)
    assert not found[outside].is_whole_kernel


def test_buffers_that_other_ctas_access_live_throughout() -> None:
    maker = KernelMaker(cluster_dims=(2, 1, 1))
    a, b = maker.alloc("a"), maker.alloc("b")
    maker.op("remote", (a, maker.constant(1)), BufferType((128,), I32, remote=True))
    maker.store(maker.whole(b, LAYOUT))
    found = liveness(maker.kernel())
    assert found[a].is_whole_kernel and not found[b].is_whole_kernel
    assert all(x.overlaps(y) for x, y in itertools.permutations((found[a], found[b])))
