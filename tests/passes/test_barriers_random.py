"""Random kernels: the barriers suffice in every execution tried, and no cheaper set of places does."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.analysis.helpers import KernelMaker
from tests.passes.simulate import races
from tle2cuda.analysis.hazards import Hazards
from tle2cuda.analysis.placement import place_barriers, total_cost
from tle2cuda.ir.nodes import Kernel, Value, walk
from tle2cuda.ir.types import I32, BufferType, TileType
from tle2cuda.layout import blocked
from tle2cuda.passes import barriers

NUM_WARPS = 2
TILE = 64


class RandomKernel:
    """Loads, stores, atomics, collectives, views, loops and branches over a few buffers."""

    def __init__(self, seed: int, size: int, depth: int) -> None:
        self.rng = random.Random(seed)
        self.maker = KernelMaker(num_warps=NUM_WARPS)
        self.n = self.maker.argument("n", I32)
        self.layouts = [
            blocked((TILE,), NUM_WARPS, (0,), (1,)),
            blocked((TILE,), NUM_WARPS, (0,), (2,)),
        ]
        self.small = blocked((32,), NUM_WARPS, (0,), (1,))
        self.buffers = [self.maker.alloc(name, 4 * TILE) for name in ("a", "b", "c")[: self.rng.randint(1, 3)]]
        self.scratch = [self.maker.alloc("scratch", 8, scratch=True)]
        self.uniform: list[Value] = [self.n, self.maker.constant(0), self.maker.constant(TILE)]
        self.block(size, depth)

    def index(self, layout, extent: int = TILE) -> Value:
        maker, rng = self.maker, self.rng
        type_ = TileType((extent,), I32, layout)
        lanes = maker.op("arange", (), type_, start=0, end=extent)
        kind = rng.randrange(4)
        if kind == 0:
            return lanes
        if kind == 1:  # gather: several elements may meet in one place
            modulus = maker.op("constant", (), type_, value=rng.choice([1, 7, 16]))
            return maker.op("rem", (lanes, modulus), type_)
        scalar = rng.choice(self.uniform)
        if kind == 2:
            scalar = maker.op("mul", (scalar, maker.constant(rng.choice([1, 16, 64]))), I32)
        base = maker.op("splat", (maker.op("rem", (scalar, maker.constant(2 * TILE)), I32),), type_)
        return maker.op("add", (base, lanes), type_)

    def pointer(self) -> Value:
        maker, rng = self.maker, self.rng
        buffer = rng.choice(self.buffers)
        if rng.random() < 0.2:
            type_ = BufferType((TILE,), I32)
            start = rng.choice([0, 64, 128])
            buffer = maker.op("buffer_view", (buffer,), type_, kind="subslice", start=start, dim=0)
            return maker.whole(buffer, rng.choice(self.layouts))
        if rng.random() < 0.25:
            index = maker.op("rem", (rng.choice(self.uniform), maker.constant(4 * TILE)), I32)
            return maker.at(buffer, index)
        if rng.random() < 0.15:
            return maker.at(buffer, self.index(self.small, 32), layout=self.small)
        layout = rng.choice(self.layouts[:1] * 3 + self.layouts)
        return maker.at(buffer, self.index(layout), layout=layout)

    def access(self) -> None:
        maker, rng = self.maker, self.rng
        if rng.random() < 0.12:
            layout = self.layouts[0]
            tile = maker.op("constant", (), TileType((TILE,), I32, layout), value=1)
            maker.op("reduce", (tile, self.scratch[0]), I32, axis=0, kind="sum", num_scratch=1)
            return
        if rng.random() < 0.06:
            maker.op("barrier", (), None, user=True)
            return
        getattr(maker, rng.choice(["load", "store", "store", "atomic"]))(self.pointer())

    def block(self, size: int, depth: int) -> None:
        rng = self.rng
        for _ in range(size):
            kind = rng.random()
            if depth and kind < 0.2:
                zero, one = self.maker.constant(0), self.maker.constant(1)
                with self.maker.loop(zero, self.n, one) as loop:
                    self.uniform.append(loop.params[0])
                    self.block(max(2, size // 2), depth - 1)
                    del self.uniform[3:]
            elif depth and kind < 0.35:
                with self.maker.branch() as branch:
                    with branch.then():
                        self.block(max(1, size // 2), depth - 1)
                    with branch.otherwise():
                        if rng.random() < 0.6:
                            self.block(max(1, size // 2), depth - 1)
            else:
                self.access()

    def kernel(self) -> Kernel:
        return self.maker.kernel()


@pytest.mark.parametrize("seed", range(150))
def test_barriers_suffice(seed: int) -> None:
    kernel = RandomKernel(seed, size=6, depth=2).kernel()
    result = barriers.run(kernel)
    for run in range(12):
        assert not races(result, random.Random(run)), f"seed {seed}, run {run}"


def test_the_checker_sees_races() -> None:
    """Without the pass, most of the random kernels race: the checker is no rubber stamp."""
    racing = 0
    for seed in range(40):
        kernel = RandomKernel(seed, size=6, depth=2).kernel()
        racing += any(races(kernel, random.Random(run)) for run in range(12))
    assert racing > 20


@pytest.mark.parametrize("seed", range(120))
def test_no_cheaper_set_of_places_is_safe(seed: int) -> None:
    kernel = RandomKernel(1000 + seed, size=4, depth=1 + seed % 2).kernel()
    hazards = Hazards(kernel)

    chosen = frozenset(place_barriers(hazards))
    places = [(s.number, n) for s in hazards.sequences for n in range(len(s.items))]
    if len(places) > 14:
        return  # too many sets to try them all; most of the kernels are smaller
    best = min(
        total_cost(hazards, subset)
        for count in range(len(chosen) + 2)
        for subset in itertools.combinations(places, count)
        if hazards.is_safe(frozenset(subset))
    )
    assert total_cost(hazards, chosen) < best + 0.5, "a barrier more than needed"


@pytest.mark.parametrize("seed", range(30))
def test_running_twice_adds_nothing(seed: int) -> None:
    once = barriers.run(RandomKernel(seed, size=6, depth=2).kernel())
    twice = barriers.run(once)
    assert sum(op.name == "barrier" for op in walk(once.body)) == sum(op.name == "barrier" for op in walk(twice.body))
