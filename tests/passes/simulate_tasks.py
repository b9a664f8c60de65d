"""Happens-before by brute force for kernels with partitions, pipes, barriers and copies.

Independent of the analyses, and of the emitted code: every thread of every task has a vector clock, and so has every
copy that the engine or `cp.async` makes. Addresses are evaluated with NumPy, threads come from the layouts. Two
accesses to a byte of shared memory race when one of them writes, not both are atomic, and nothing orders the later
behind the earlier. Where the later is the copy engine's and the earlier an ordinary instruction's, the order must go
through a proxy fence by the thread that made the earlier one. Beside the clock of what a thread knows to have happened
stands a clock of what it knows to be fenced.

Tasks are coroutines; any of those that can go on goes on.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tle2cuda.analysis.tasks import Task, tasks
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.types import BufferType, PointerType, TileType

MOST_AGENTS = 6000
KINDS = {"load": "read", "store": "write", "atomic_rmw": "atomic"}
SCRATCH_PHASES = {"histogram": ("write", "atomic", "read")}
SCALARS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "rem": lambda a, b: a % b,
    "idiv": lambda a, b: a // b,
    "and": lambda a, b: a & b,
    "shr": lambda a, b: a >> b,
    "shl": lambda a, b: a << b,
}
COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}


@dataclass
class Made:
    """An access to one element: who made it, when, how."""

    agent: int
    time: int
    kind: str
    is_engine: bool
    op: Op


@dataclass
class Clocks:
    """What somebody knows to have happened, and to be fenced: for each agent, up to when."""

    known: np.ndarray
    fenced: np.ndarray

    def copy(self) -> Clocks:
        return Clocks(self.known.copy(), self.fenced.copy())

    def learn(self, other: Clocks) -> None:
        np.maximum(self.known, other.known, out=self.known)
        np.maximum(self.fenced, other.fenced, out=self.fenced)


def nothing() -> Clocks:
    return Clocks(np.zeros(MOST_AGENTS, np.int32), np.zeros(MOST_AGENTS, np.int32))


@dataclass
class Phase:
    """Arrivals at one stage of a pipe, or at one mbarrier: how often it was completed, and what that tells."""

    completed: int = 0
    tells: list[Clocks] = field(default_factory=list)  # by completed phase
    waits: dict[int, list[tuple[Op, int, int]]] = field(default_factory=dict)  # by phase: who waited for it, and when


class Meeting:
    """Threads that came to a named barrier."""

    def __init__(self) -> None:
        self.count = 0
        self.told = nothing()


class Simulation:
    """One execution of a kernel with given arguments."""

    def __init__(self, kernel: Kernel, rng: random.Random) -> None:
        self.kernel = kernel
        self.rng = rng
        self.agents = 0
        self.touched: dict[tuple[object, int], list[Made]] = {}
        self.races: list[tuple[Op, Op, str]] = []
        self.left: list[str] = []  # what threads leave in flight when they exit
        self.full: dict[tuple[Value, int], Phase] = {}
        self.empty: dict[tuple[Value, int, str | None], Phase] = {}
        self.mbarriers: dict[tuple[Value, int], Phase] = {}
        self.known_to_all: Clocks | None = None  # since all threads met
        self.meetings: dict[int, list[Meeting]] = {}
        self.pipes: dict[Value, Op] = {}
        self.values: dict[Value, object] = {}

    def agent(self) -> int:
        self.agents += 1
        assert self.agents < MOST_AGENTS
        return self.agents - 1

    def run(self) -> None:
        default, *_ = tasks(self.kernel)
        runner = TaskRunner(self, default)
        self.running: list[tuple[TaskRunner, Iterator[bool]]] = [(runner, runner.run())]
        idle = 0
        while self.running:
            number = self.rng.randrange(len(self.running))
            runner, steps = self.running[number]
            try:
                went_on = next(steps)
            except StopIteration:
                self.running = [each for each in self.running if each[1] is not steps]
                idle = 0
                continue
            idle = 0 if went_on else idle + 1
            if idle > 200:
                raise AssertionError(f"deadlock among {[r.task.name for r, _ in self.running]}")

    def access(self, agent: int, clocks: Clocks, place: tuple[object, int], kind: str, op: Op, is_engine: bool) -> None:
        made = Made(agent, int(clocks.known[agent]), kind, is_engine, op)
        earlier = self.touched.setdefault(place, [])
        for each in earlier:
            if each.kind == kind and kind in ("read", "atomic"):
                continue
            if clocks.known[each.agent] < each.time:
                self.races.append((each.op, op, "order"))
            elif is_engine and not each.is_engine and (each.kind != "read" or kind != "read"):
                if clocks.fenced[each.agent] < each.time:
                    self.races.append((each.op, op, "fence"))
        if kind != "read":
            self.touched[place] = [each for each in earlier if each.kind == kind == "atomic"]
        self.touched[place].append(made)


class TaskRunner:
    """One task: its threads, their clocks, its copies."""

    def __init__(self, whole: Simulation, task: Task, start: Clocks | None = None) -> None:
        self.whole = whole
        self.task = task
        self.count = 32 * task.warps
        self.ids = [whole.agent() for _ in range(self.count)]
        self.clocks = [start.copy() if start is not None else nothing() for _ in self.ids]
        for agent, clocks in zip(self.ids, self.clocks, strict=True):
            clocks.known[agent] = 1
        self.values = whole.values
        self.stores: list[Clocks] = []  # by the engine, thread 0's
        self.groups: list[list[list[Clocks]]] = []  # of cp.async: group, thread, copies
        self.open: list[list[Clocks]] = [[] for _ in self.ids]
        self.copies_of: dict[int, Clocks] = {}
        self.landed: list[list[int]] = [[] for _ in self.ids]  # copies by cp.async that a thread has waited for
        self.slots: dict[tuple[Value, int], list[Clocks]] = {}  # copies on their way into a stage that is not committed

    # ---- threads ----

    def tick(self) -> None:
        for agent, clocks in zip(self.ids, self.clocks, strict=True):
            clocks.known[agent] += 1

    def meet(self) -> None:
        everything = nothing()
        for clocks in self.clocks:
            everything.learn(clocks)
        for clocks in self.clocks:
            clocks.learn(everything)
        self.tick()

    def all_know(self, told: Clocks) -> None:
        for clocks in self.clocks:
            clocks.learn(told)

    def arrivals(self) -> Clocks:
        """What lane 0 of every warp tells behind a `__syncwarp()`."""
        told = nothing()
        for clocks in self.clocks:
            told.learn(clocks)
        self.tick()
        return told

    def copy_agent(self, thread: int) -> tuple[int, Clocks]:
        """A copy that a thread starts: it comes behind what the thread did so far."""
        agent = self.whole.agent()
        clocks = self.clocks[thread].copy()
        clocks.known[agent] = 1
        return agent, clocks

    # ---- code ----

    def run(self) -> Iterator[bool]:
        yield from self.region(self.task.region)
        if self.stores:
            self.whole.left.append(f"{self.task.name}: stores by the engine")
        if any(self.open) or any(any(group) for group in self.groups):
            self.whole.left.append(f"{self.task.name}: copies by cp.async")

    def region(self, region: Region) -> Iterator[bool]:
        for op in region.body:
            yield from self.visit(op)

    def get(self, value: Value) -> object:
        return self.values[value]

    def visit(self, op: Op) -> Iterator[bool]:
        method = getattr(self, f"do_{op.name}", None)
        if method is not None:
            yield from method(op)
        elif op.name in KINDS:
            self.memory(op)
            yield True
        elif scratch_operands(op) and op.name not in ("tma_load", "pipe"):
            self.collective(op)
            yield True
        elif op.results:
            self.evaluate(op)

    def evaluate(self, op: Op) -> None:
        operands = [self.values.get(v) for v in op.operands]
        result = op.results[0]
        shape = result.type.shape if isinstance(result.type, TileType) else ()
        if op.name in ("alloc", "alloc_barriers"):
            self.values[result] = (result, 0)
        elif op.name == "pipe":
            self.whole.pipes[result] = op
            self.values[result] = result
        elif op.name == "constant":
            self.values[result] = np.full(shape, op.attrs["value"]) if shape else op.attrs["value"]
        elif op.name == "arange":
            self.values[result] = np.arange(op.attrs["start"], op.attrs["end"])
        elif op.name in SCALARS and all(v is not None for v in operands):
            self.values[result] = SCALARS[op.name](*operands)
        elif op.name == "cmp" and all(v is not None for v in operands):
            self.values[result] = COMPARISONS[op.attrs["predicate"]](*operands)
        elif op.name == "splat":
            self.values[result] = np.broadcast_to(operands[0], shape) if operands[0] is not None else None
        elif op.name == "local_ptr":
            root, start = operands[0]
            size = op.operands[0].type.num_elements
            self.values[result] = (root, start + (np.arange(size) if len(operands) == 1 else np.asarray(operands[1])))
        elif op.name == "buffer_view":
            root, start = operands[0]
            offset = operands[1] * result.type.num_elements if op.attrs["kind"] == "slot" else op.attrs["start"]
            self.values[result] = (root, start + offset)

    def do_fused(self, op: Op) -> Iterator[bool]:
        yield from self.region(op.regions[0])
        for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
            self.values[result] = self.values.get(value)

    def do_for(self, op: Op) -> Iterator[bool]:
        region = op.regions[0]
        lower, upper, step = (self.get(v) for v in op.operands[:3])
        carried = [self.values.get(v) for v in op.operands[3:]]
        for i in range(lower, upper, step):
            for param, value in zip(region.params, [i, *carried], strict=True):
                self.values[param] = value
            yield from self.region(region)
            carried = [self.values.get(v) for v in region.terminator.operands]
        for result, value in zip(op.results, carried, strict=True):
            self.values[result] = value

    def do_if(self, op: Op) -> Iterator[bool]:
        condition = self.values.get(op.operands[0])
        region = op.regions[self.whole.rng.randrange(2) if condition is None else 0 if condition else 1]
        yield from self.region(region)
        for result, value in zip(op.results, region.terminator.operands, strict=True):
            self.values[result] = self.values.get(value)

    def do_warp_specialize(self, op: Op) -> Iterator[bool]:
        if op.attrs["sync_before"]:
            self.meet()
            self.whole.known_to_all = self.clocks[0].copy()
        workers = []
        for task in tasks(self.whole.kernel):
            if task.site is op:
                runner = TaskRunner(self.whole, task, self.whole.known_to_all)
                workers.append(runner)
                self.whole.running.append((runner, runner.run()))
        self.tick()
        yield from self.region(op.regions[0])
        while any(runner in [r for r, _ in self.whole.running] for runner in workers):
            yield False
        if op.attrs["sync_behind"]:
            for runner in workers:
                for clocks in runner.clocks:
                    self.all_know(clocks)
            self.meet()
            self.whole.known_to_all = self.clocks[0].copy()

    # ---- memory ----

    def memory(self, op: Op) -> None:
        pointer = op.operands[0]
        element = pointer.type.element if isinstance(pointer.type, TileType) else pointer.type
        assert isinstance(element, PointerType)
        if element.space == "global":
            return
        root, elements = self.get(pointer)
        kind = KINDS[op.name]
        if isinstance(pointer.type, TileType):
            for thread, element_number in self.holders(pointer.type, op.name == "load"):
                self.touch(thread, (root, int(elements[element_number])), kind, op)
        else:
            for thread in range(self.count) if op.name == "load" else (0,):
                self.touch(thread, (root, int(elements)), kind, op)
        self.tick()

    def holders(self, type_: TileType, every_copy: bool) -> Iterator[tuple[int, int]]:
        """Threads and the elements that they hold; of copies all, or the owner's."""
        layout = type_.layout
        lanes, warps = layout.owner_bits()
        for thread in range(self.count):
            lane, warp = thread % 32, thread // 32
            if not every_copy and (lane & lanes or warp & warps):
                continue
            for register in range(layout.num_registers):
                (i,) = layout.coords(register, lane, warp)
                yield thread, i

    def touch(self, thread: int, place: tuple[object, int], kind: str, op: Op) -> None:
        self.whole.access(self.ids[thread], self.clocks[thread], place, kind, op, False)

    def collective(self, op: Op) -> None:
        for number, kind in enumerate(SCRATCH_PHASES.get(op.name, ("write", "read"))):
            if number:
                self.meet()
            for buffer in scratch_operands(op):
                root, start = self.get(buffer)
                for element in range(buffer.type.num_elements):
                    for thread in (element % self.count, (element + 1) % self.count):  # others read than write
                        if kind == "read" or thread == element % self.count:
                            self.touch(thread, (root, start + element), kind, op)
            self.tick()

    def do_barrier(self, op: Op) -> Iterator[bool]:
        self.meet()
        yield True

    # ---- copies ----

    def do_proxy_fence(self, op: Op) -> Iterator[bool]:
        for agent, clocks, landed in zip(self.ids, self.clocks, self.landed, strict=True):
            for mine in (agent, *landed):
                clocks.fenced[mine] = clocks.known[mine]
        self.tick()
        yield True

    def buffer_of(self, op: Op) -> tuple[object, int, int]:
        buffer = next(v for v in op.operands if isinstance(v.type, BufferType))
        root, start = self.get(buffer)
        return root, start, buffer.type.num_elements

    def engine(self, op: Op, kind: str) -> Clocks:
        root, start, count = self.buffer_of(op)
        agent, clocks = self.copy_agent(0)
        for element in range(count):
            self.whole.access(agent, clocks, (root, start + element), kind, op, True)
        self.tick()
        return clocks

    def do_tma_load(self, op: Op) -> Iterator[bool]:
        completion = op.attrs["completion"]
        if completion == "blocking":
            (own,) = scratch_operands(op)
            # Armed again before somebody saw it complete, the barrier would be lost on that thread.
            self.whole.access(self.ids[0], self.clocks[0], (own, 0), "atomic", op, False)
            for earlier in self.whole.touched.get((own, 1), []):
                if self.clocks[0].known[earlier.agent] < earlier.time:
                    self.whole.races.append((earlier.op, op, "armed"))
        clocks = self.engine(op, "write")
        if completion == "blocking":
            self.all_know(clocks)
            self.whole.touched[own, 1] = [
                Made(agent, int(c.known[agent]), "read", False, op) for agent, c in zip(self.ids, self.clocks, strict=True)
            ]
            self.tick()
        elif completion == "pipe":
            self.slots.setdefault(self.stage_of(op), []).append(clocks)
        else:
            barriers, index = (v for v in op.operands[-2:])
            self.complete(self.whole.mbarriers, (self.get(barriers)[0], self.get(index)), clocks, op)
        yield True

    def stage_of(self, op: Op) -> tuple[object, int]:
        root, start, count = self.buffer_of(op)
        return root, start // count

    def do_tma_store(self, op: Op) -> Iterator[bool]:
        self.stores.append(self.engine(op, "read"))
        yield True

    def do_tma_store_wait(self, op: Op) -> Iterator[bool]:
        for clocks in self.stores:
            self.clocks[0].learn(clocks)
        self.stores = []
        self.tick()
        yield True

    def do_cp_async(self, op: Op) -> Iterator[bool]:
        root, start, _ = self.buffer_of(op)
        agents: dict[int, tuple[int, Clocks]] = {}
        for thread, element in self.holders(op.operands[0].type, False):
            if thread not in agents:
                agents[thread] = self.copy_agent(thread)
            agent, clocks = agents[thread]
            self.whole.access(agent, clocks, (root, start + element), "write", op, False)
        for thread, (agent, clocks) in agents.items():
            self.copies_of[agent] = clocks
            self.open[thread].append(clocks)
            self.slots.setdefault(self.stage_of(op), []).append(clocks)
        self.tick()
        yield True

    def do_cp_async_commit(self, op: Op) -> Iterator[bool]:
        self.groups.append(self.open)
        self.open = [[] for _ in self.ids]
        yield True

    def do_cp_async_wait(self, op: Op) -> Iterator[bool]:
        if op.attrs.get("all"):
            yield from self.do_cp_async_commit(op)
        while len(self.groups) > op.attrs["pending"]:
            for clocks, copies, landed in zip(self.clocks, self.groups.pop(0), self.landed, strict=True):
                for copy in copies:
                    clocks.learn(copy)
                    landed += [n for n in self.copies_of if copy is self.copies_of[n]]
        self.tick()
        yield True

    # ---- mbarriers and pipes ----

    def complete(self, where: dict, key: object, told: Clocks, op: Op) -> None:
        """A phase ends. Whoever waited for the one before must have seen that end, or would take this for it."""
        phase = where.setdefault(key, Phase())
        for wait, agent, time in phase.waits.get(phase.completed - 1, ()):
            if told.known[agent] < time:
                self.whole.races.append((wait, op, "phase"))
        phase.completed += 1
        phase.tells.append(told.copy())

    def wait(self, where: dict, key: object, number: int, op: Op) -> Iterator[bool]:
        """Until phase `number` has completed; negative numbers have from the start."""
        phase = where.setdefault(key, Phase())
        while phase.completed <= number:
            yield False
        if phase.completed > number + 1:
            self.whole.races.append((op, op, "phase"))
        threads = 1 if op.attrs.get("elected") else self.count
        for agent, clocks in list(zip(self.ids, self.clocks, strict=True))[:threads]:
            if number >= 0:
                clocks.learn(phase.tells[number])
            phase.waits.setdefault(number, []).append((op, agent, int(clocks.known[agent])))
        self.tick()
        yield True

    def do_mbarrier_arrive(self, op: Op) -> Iterator[bool]:
        where = (self.get(op.operands[0])[0], self.get(op.operands[1]))
        told = self.clocks[0].copy() if op.attrs.get("elected") else self.arrivals()
        self.complete(self.whole.mbarriers, where, told, op)
        self.tick()
        yield True

    def do_mbarrier_wait(self, op: Op) -> Iterator[bool]:
        barriers, index = self.get(op.operands[0])[0], self.get(op.operands[1])
        made = next(o for o in self.whole.kernel.body.ops if barriers in o.results)
        number = self.get(op.operands[2]) - (made.attrs["init"] == "ready")
        yield from self.wait(self.whole.mbarriers, (barriers, index), number, op)

    def do_named_barrier(self, op: Op) -> Iterator[bool]:
        """Threads are counted; those that wait go on when all are there."""
        meeting = self.whole.meetings.setdefault(op.attrs["number"], [Meeting()])
        mine = meeting[-1]
        mine.count += self.count
        mine.told.learn(self.arrivals())
        if mine.count == op.attrs["threads"]:
            meeting.append(Meeting())
        while op.attrs["kind"] == "sync" and mine.count < op.attrs["threads"]:
            yield False
        if op.attrs["kind"] == "sync":
            self.all_know(mine.told)
            self.tick()
        yield True

    def pipe(self, op: Op) -> tuple[Value, int, int]:
        return self.get(op.operands[0]), self.get(op.operands[1]), self.get(op.operands[2])

    def hand_out(self, op: Op, results: tuple[Value, ...]) -> None:
        pipe, stage, _ = self.pipe(op)
        for field_buffer, slot in zip(self.whole.pipes[pipe].operands, results, strict=False):
            root, start = self.get(field_buffer)
            self.values[slot] = (root, start + stage * slot.type.num_elements)

    def do_pipe_acquire(self, op: Op) -> Iterator[bool]:
        pipe, stage, lap = self.pipe(op)
        made = self.whole.pipes[pipe]
        if not made.attrs["one_shot"]:
            for reader in made.attrs["readers"] or (None,):
                yield from self.wait(self.whole.empty, (pipe, stage, reader), lap - 1, op)
        self.hand_out(op, op.results)

    def do_pipe_commit(self, op: Op) -> Iterator[bool]:
        pipe, stage, _ = self.pipe(op)
        told = self.arrivals() if set(op.attrs["arrivals"]) - {"elected"} else self.clocks[0].copy()
        made = self.whole.pipes[pipe]
        for buffer in made.operands[: len(made.attrs["fields"])]:
            root, start = self.get(buffer)
            size = buffer.type.num_elements // made.attrs["capacity"]
            copies = self.slots.pop((root, start // size + stage), [])
            for clocks in copies:
                told.learn(clocks)
            for group in [*self.groups, self.open]:
                for mine in group:
                    mine[:] = [each for each in mine if not any(each is copy for copy in copies)]
        self.complete(self.whole.full, (pipe, stage), told, op)
        yield True

    def do_pipe_wait(self, op: Op) -> Iterator[bool]:
        pipe, stage, lap = self.pipe(op)
        yield from self.wait(self.whole.full, (pipe, stage), lap, op)
        self.values[op.results[0]] = False
        self.hand_out(op, op.results[1:])

    def do_pipe_release(self, op: Op) -> Iterator[bool]:
        pipe, stage, _ = self.pipe(op)
        self.complete(self.whole.empty, (pipe, stage, op.attrs.get("reader")), self.arrivals(), op)
        yield True


def faults(kernel: Kernel, rng: random.Random) -> list[str]:
    """What goes wrong in one execution: races in words, and what is in flight when threads exit."""
    simulation = Simulation(kernel, rng)
    simulation.run()
    races = [f"{kind}: {a!r} before {b!r}" for a, b, kind in simulation.races]
    return list(dict.fromkeys(races)) + simulation.left
