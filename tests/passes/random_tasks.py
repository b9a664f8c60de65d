"""Random kernels with partitions, pipes filled in every way, explicit rings of mbarriers, and stores by the engine."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

from tests.analysis.helpers import KernelMaker
from tle2cuda.ir.nodes import Kernel, Region, Value, make_op
from tle2cuda.ir.types import BOOL, I32, I64, BarrierType, BufferType, PipeType, PointerType, TileType, slot_type

TILE = 64
ROWS = 256  # of both arrays
MOST_TRIPS = 5


class PartitionMaker:
    """The regions of a `warp_specialize`."""

    def __init__(self, maker: KernelMaker) -> None:
        self.maker = maker
        self.regions: list[Region] = []
        self.warps: list[int] = []

    @contextlib.contextmanager
    def task(self, warps: int) -> Iterator[None]:
        with self.maker.builder.region() as ops:
            yield
            ops.append(make_op("yield"))
        self.regions.append(Region((), tuple(ops)))
        self.warps.append(warps)


class TaskMaker(KernelMaker):
    """Writes kernels with several tasks."""

    def __init__(self, num_warps: int) -> None:
        super().__init__(num_warps)
        self.x = self.argument("x", PointerType(I32), 16)
        self.y = self.argument("y", PointerType(I32), 16)
        self.columns = self.op("arange", (), TileType((TILE,), I32), start=0, end=TILE)
        self.rows = self.constant(ROWS)

    @contextlib.contextmanager
    def specialized(self) -> Iterator[PartitionMaker]:
        partitions = PartitionMaker(self)
        yield partitions
        names = tuple(f"task{i}" for i in range(len(partitions.warps)))
        attrs = {"warps": tuple(partitions.warps), "registers": (0,) * (len(names) - 1), "names": names}
        self.builder.emit("warp_specialize", (), (), attrs, tuple(partitions.regions))

    def ring(self, name: str, capacity: int) -> Value:
        return self.op("alloc", (), BufferType((capacity, TILE), I32), name=name, alignment_bytes=128)

    def buffer(self, name: str) -> Value:
        return self.op("alloc", (), BufferType((TILE,), I32), name=name, alignment_bytes=128)

    def pipe(self, name: str, capacity: int, fields: dict[str, Value], readers: tuple[str, ...] = ()) -> Value:
        type_ = PipeType(capacity, tuple((n, v.type) for n, v in fields.items()))
        attrs = {"name": name, "capacity": capacity, "fields": tuple(fields), "readers": readers, "one_shot": False}
        return self.op("pipe", tuple(fields.values()), type_, **attrs)

    def barriers(self, name: str, count: int, init: str = "pending", expect: int | None = None) -> Value:
        return self.op("alloc_barriers", (), BarrierType(count), name=name, arrivals=1, init=init, expect_bytes=expect)

    def stage(self, i: Value, capacity: int) -> tuple[Value, Value]:
        count = self.constant(capacity)
        return self.op("rem", (i, count), I32), self.op("idiv", (i, count), I32)

    def slot(self, ring: Value, stage: Value) -> Value:
        return self.op("buffer_view", (ring, stage), slot_type(ring.type), kind="slot")

    def acquire(self, pipe: Value, stage: Value, lap: Value) -> tuple[Value, ...]:
        return self.builder.emit("pipe_acquire", (pipe, stage, lap), pipe.type.slot_types, {})

    def wait(self, pipe: Value, stage: Value, lap: Value, reader: str | None) -> tuple[Value, ...]:
        types = (BOOL, *pipe.type.slot_types)
        return self.builder.emit("pipe_wait", (pipe, stage, lap), types, {"reader": reader})[1:]

    def row(self, base: Value, i: Value) -> Value:
        """Pointers to a row of global memory."""
        start = self.op("ptr_add", (base, self.op("mul", (i, self.constant(TILE)), I32)), base.type)
        many = self.op("splat", (start,), TileType((TILE,), base.type))
        return self.op("ptr_add", (many, self.columns), many.type)

    def tma_load(self, buffer: Value, i: Value, completion: str = "blocking", on: tuple[Value, ...] = ()) -> None:
        one, width, zero = self.constant(1, I64), self.constant(TILE, I64), self.constant(0)
        operands = (self.x, self.rows, self.constant(TILE), width, one, i, zero, buffer, *on)
        attrs = {"rank": 2, "block": (1, TILE), "padding": "zero", "completion": completion}
        self.op("tma_load", operands, None, **attrs)

    def tma_store(self, buffer: Value, i: Value) -> None:
        one, width, zero = self.constant(1, I64), self.constant(TILE, I64), self.constant(0)
        operands = (buffer, self.y, self.rows, self.constant(TILE), width, one, i, zero)
        self.op("tma_store", operands, None, rank=2, block=(1, TILE), kind="store")


class RandomTasks:
    """A pipeline of two or three tasks, each a loop over rows, with things of their own in between."""

    def __init__(self, seed: int, least_trips: int = 1) -> None:
        self.rng = rng = random.Random(seed)
        self.maker = maker = TaskMaker(rng.choice([1, 2]))
        self.trips = maker.constant(rng.randint(least_trips, MOST_TRIPS))
        self.side = maker.buffer("side")
        self.uses = self.named = 0
        is_used = rng.random() < 0.4
        if is_used or rng.random() < 0.2:  # what the default warps set up in front
            maker.store(maker.whole(self.side))
        ways = [self._pipes, self._pipes, self._mbarriers, self._chain, self._prefetch, self._turns, self._ring]
        for _ in range(rng.choice([1, 1, 1, 2])):
            rng.choice(ways)()
        if is_used:
            self._use(self.side, maker.constant(0))

    # ---- what tasks do ----

    def _fill(self, buffer: Value, i: Value, ways: list[str]) -> None:
        """Fill a slot, or a buffer, from global memory."""
        maker = self.maker
        way = self.rng.choice(ways)
        if way == "tma":
            maker.tma_load(buffer, i)
        elif way == "cp_async":
            maker.op("cp_async", (maker.row(maker.x, i), buffer))
        else:
            maker.store(maker.whole(buffer), maker.load(maker.row(maker.x, i)))

    def _use(self, buffer: Value, i: Value) -> None:
        """Read a slot, or a buffer, and write what was read to rows of global memory that nothing else writes."""
        maker, rng = self.maker, self.rng
        i = self._row_of_its_own(i)
        way = rng.choice(["load", "load", "tma_store", "gather", "update", "sum"])
        if way == "tma_store":
            maker.tma_store(buffer, i)
            return
        if way == "update":
            maker.store(maker.whole(buffer), maker.load(maker.whole(buffer)))
        if way == "sum":
            value = maker.load(maker.whole(buffer))
            total = maker.op("reduce", (value,), I32, axis=0, kind="sum")
            where = maker.op("mul", (i, maker.constant(TILE)), I32)
            maker.store(maker.op("ptr_add", (maker.y, where), maker.y.type), total)
            return
        index = maker.columns
        if way == "gather":
            last = maker.op("splat", (maker.constant(TILE - 1),), index.type)
            index = maker.op("sub", (last, index), index.type)
        maker.store(maker.row(maker.y, i), maker.load(maker.at(buffer, index)))

    def _row_of_its_own(self, i: Value) -> Value:
        self.uses += 1
        return self.maker.op("add", (i, self.maker.constant((self.uses - 1) * MOST_TRIPS)), I32)

    def _own(self, buffer: Value, i: Value) -> None:
        """Something that a task does with a buffer of its own."""
        if self.rng.random() < 0.3:
            self._fill(buffer, i, ["tma", "plain"])
            self._use(buffer, i)

    # ---- how tasks hand over ----

    def _loop(self, body) -> None:  # type: ignore[no-untyped-def]
        zero, one = self.maker.constant(0), self.maker.constant(1)
        with self.maker.loop(zero, self.trips, one) as loop:
            body(loop.params[0])

    def _pipes(self) -> None:
        maker, rng = self.maker, self.rng
        capacity = rng.randint(1, 3)
        fields = {name: maker.ring(f"{name}_ring", capacity) for name in ("a", "b")[: rng.randint(1, 2)]}
        readers = ("first", "second") if rng.random() < 0.3 else ()
        pipe = maker.pipe("p", capacity, fields, readers)
        own = [maker.buffer(f"own{i}") for i in range(3)]
        ways = [rng.choice([["plain"], ["tma"], ["cp_async"], ["plain", "tma"], ["plain", "cp_async", "tma"]])] * 2

        def produce(i: Value) -> None:
            stage, lap = maker.stage(i, capacity)
            for number, slot in enumerate(maker.acquire(pipe, stage, lap)):
                self._fill(slot, i, ways[number])
            self._own(own[0], i)
            maker.op("pipe_commit", (pipe, stage, lap))

        def consume(reader: str | None, buffer: Value):  # type: ignore[no-untyped-def]
            def body(i: Value) -> None:
                stage, lap = maker.stage(i, capacity)
                for slot in maker.wait(pipe, stage, lap, reader):
                    if readers:  # neither may change what the other reads
                        maker.store(maker.row(maker.y, self._row_of_its_own(i)), maker.load(maker.whole(slot)))
                    else:
                        self._use(slot, i)
                self._own(buffer, i)
                maker.op("pipe_release", (pipe, stage, lap), None, reader=reader)

            return body

        def both(i: Value) -> None:
            produce(i)
            consume(None, own[1])(i)

        if not readers and rng.random() < 0.2:  # writer and reader in one task
            self._loop(both)
            return
        bodies = [produce, *(consume(reader, own[1 + n]) for n, reader in enumerate(readers or (None,)))]
        rng.shuffle(bodies)
        with maker.specialized() as partitions:
            for number, body in enumerate(bodies):
                with partitions.task(maker.builder.num_warps if number == 0 else rng.choice([1, 2])):
                    self._loop(body)
                    if number == 1 and rng.random() < 0.3:
                        maker.store(maker.whole(self.side))

    def _chain(self) -> None:
        """A task between two pipes, reading one and writing the other."""
        maker, rng = self.maker, self.rng
        capacities = [rng.randint(1, 3) for _ in range(2)]
        pipes = [
            maker.pipe(name, count, {"data": maker.ring(f"{name}_ring", count)})
            for name, count in zip(("p", "q"), capacities, strict=True)
        ]
        ways = rng.choice([["plain"], ["tma"], ["cp_async"], ["plain", "cp_async"]])

        def produce(i: Value) -> None:
            stage, lap = maker.stage(i, capacities[0])
            self._fill(maker.acquire(pipes[0], stage, lap)[0], i, ways)
            maker.op("pipe_commit", (pipes[0], stage, lap))

        def change(i: Value) -> None:
            stage, lap = maker.stage(i, capacities[0])
            (given,) = maker.wait(pipes[0], stage, lap, None)
            value = maker.load(maker.whole(given))
            if early := rng.random() < 0.5:
                maker.op("pipe_release", (pipes[0], stage, lap), None, reader=None)
            following, next_lap = maker.stage(i, capacities[1])
            (slot,) = maker.acquire(pipes[1], following, next_lap)
            maker.store(maker.whole(slot), value)
            maker.op("pipe_commit", (pipes[1], following, next_lap))
            if not early:
                maker.op("pipe_release", (pipes[0], stage, lap), None, reader=None)

        def consume(i: Value) -> None:
            stage, lap = maker.stage(i, capacities[1])
            (slot,) = maker.wait(pipes[1], stage, lap, None)
            self._use(slot, i)
            maker.op("pipe_release", (pipes[1], stage, lap), None, reader=None)

        self._tasks([produce, change, consume])

    def _prefetch(self) -> None:
        """One task that fills the next stage before it uses this one."""
        maker, rng = self.maker, self.rng
        capacity = rng.randint(2, 3)
        pipe = maker.pipe("p", capacity, {"data": maker.ring("ring", capacity)})
        ways = rng.choice([["plain"], ["tma"], ["cp_async"], ["plain", "tma"]])
        one = maker.constant(1)

        def fill(i: Value) -> None:
            stage, lap = maker.stage(i, capacity)
            self._fill(maker.acquire(pipe, stage, lap)[0], i, ways)
            maker.op("pipe_commit", (pipe, stage, lap))

        def step(i: Value) -> None:
            following = maker.op("add", (i, one), I32)
            with maker.branch(maker.op("cmp", (following, self.trips), BOOL, predicate="lt")) as branch:
                with branch.then():
                    fill(following)
            stage, lap = maker.stage(i, capacity)
            (slot,) = maker.wait(pipe, stage, lap, None)
            self._use(slot, i)
            maker.op("pipe_release", (pipe, stage, lap), None, reader=None)

        fill(maker.constant(0))
        self._loop(step)

    def _ring(self) -> None:
        """One task with mbarriers of its own: the engine fills the stage that was used last while the next is used."""
        maker, rng = self.maker, self.rng
        capacity = rng.randint(2, 3)
        ring, full = maker.ring("ring", capacity), maker.barriers("full", capacity, expect=4 * TILE)
        ahead = maker.constant(capacity - 1)

        def fill(i: Value) -> None:
            stage, _ = maker.stage(i, capacity)
            maker.tma_load(maker.slot(ring, stage), i, "barrier", (full, stage))

        def step(i: Value) -> None:
            following = maker.op("add", (i, ahead), I32)
            with maker.branch(maker.op("cmp", (following, self.trips), BOOL, predicate="lt")) as branch:
                with branch.then():
                    fill(following)
            stage, lap = maker.stage(i, capacity)
            maker.op("mbarrier_wait", (full, stage, lap))
            self._use(maker.slot(ring, stage), i)

        for number in range(capacity - 1):
            i = maker.constant(number)
            with maker.branch(maker.op("cmp", (i, self.trips), BOOL, predicate="lt")) as branch:
                with branch.then():
                    fill(i)
        self._loop(step)

    def _turns(self) -> None:
        """Two tasks that use one buffer in turn, each telling the other at a named barrier."""
        maker, rng = self.maker, self.rng
        table = maker.buffer("table")
        warps = [maker.builder.num_warps, rng.choice([1, 2])]
        threads = 32 * sum(warps)
        self.named += 2
        start = self.named

        def meet(number: int, kind: str) -> None:
            maker.op("named_barrier", (), None, number=start + number, threads=threads, kind=kind)

        def first(i: Value) -> None:
            meet(0, "sync")
            self._fill(table, i, ["plain", "tma"])
            meet(1, "arrive")

        def second(i: Value) -> None:
            meet(0, "arrive")
            meet(1, "sync")
            self._use(table, i)

        self._tasks([first, second], warps)

    def _tasks(self, bodies: list, warps: list[int] | None = None) -> None:  # type: ignore[type-arg]
        maker, rng = self.maker, self.rng
        with maker.specialized() as partitions:
            for number, body in enumerate(bodies):
                count = warps[number] if warps else rng.choice([1, 2]) if number else maker.builder.num_warps
                with partitions.task(count):
                    self._loop(body)

    def _mbarriers(self) -> None:
        maker, rng = self.maker, self.rng
        capacity = rng.randint(1, 3)
        ring = maker.ring("ring", capacity)
        copies = rng.random() < 0.6
        full = maker.barriers("full", capacity, expect=4 * TILE if copies else None)
        free = maker.barriers("free", capacity, "ready")

        def produce(i: Value) -> None:
            stage, lap = maker.stage(i, capacity)
            maker.op("mbarrier_wait", (free, stage, lap))
            if copies:
                maker.tma_load(maker.slot(ring, stage), i, "barrier", (full, stage))
                return
            self._fill(maker.slot(ring, stage), i, ["plain"])
            maker.op("mbarrier_arrive", (full, stage), None, arrivals=1)

        def consume(i: Value) -> None:
            stage, lap = maker.stage(i, capacity)
            maker.op("mbarrier_wait", (full, stage, lap))
            self._use(maker.slot(ring, stage), i)
            maker.op("mbarrier_arrive", (free, stage), None, arrivals=1)

        bodies = [produce, consume]
        rng.shuffle(bodies)
        self._tasks(bodies)

    def kernel(self) -> Kernel:
        return self.maker.kernel()
