"""Compiles what partitions meet at: mbarriers, named barriers, pipes, and the partitions themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tle2cuda.analysis.tasks import User
from tle2cuda.interpreter.handles import BufferHandle, slot_of
from tle2cuda.interpreter.requests import Blocked, Waiting
from tle2cuda.interpreter.synchronisation import Mbarrier, Misuse, NamedBarrier, Pipe, reader_end
from tle2cuda.interpreter.tasks import Task, run_tasks, waits_alone
from tle2cuda.ir.legality import value_operands
from tle2cuda.ir.nodes import DIVIDES, Op
from tle2cuda.ir.types import BarrierType
from tle2cuda.targets import WARP_THREADS

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Block, Compiler, Frame, Step

Steps = Iterator[tuple[bool, Any]]
_Result = TypeVar("_Result")

WAITING = frozenset({"mbarrier_wait", "named_barrier", "pipe_acquire", "pipe_close", "pipe_wait", "warp_specialize"})
"""Operations at which a partition may have to wait for another one."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as it is compiled.

    Attributes:
        op: The `warp_specialize`.
        number: Which of its partitions.
        name: Name of its function.
        user: Who it is to pipes.
    """

    op: Op
    number: int
    name: str
    user: User

    @property
    def threads(self) -> int:
        """Its threads."""
        return WARP_THREADS * self.user.warps


@dataclass(frozen=True, slots=True)
class PipeHandle:
    """A pipe at run time: its state and its buffers."""

    state: Pipe
    fields: tuple[BufferHandle, ...]


def _checked(frame: Frame, op: Op, use: Callable[[], _Result]) -> _Result:
    """The result of `use`, its complaint about a misuse as an error at the operation."""
    try:
        return use()
    except Misuse as misuse:
        raise frame[0].fail(op, misuse.message, help=misuse.help) from None


def _until(compiler: Compiler, op: Op) -> Callable[[Frame, Callable[[], bool], Callable[[], str]], Waiting]:
    """Waits until a condition holds; outside of partitions nobody else can make it hold."""
    is_alone = compiler.partition is None

    def wait(frame: Frame, is_over: Callable[[], bool], describe: Callable[[], str]) -> Waiting:
        def checked() -> bool:
            return _checked(frame, op, is_over)

        while not checked():
            if is_alone:
                raise waits_alone(frame[0], op, describe())
            yield Blocked(op, checked, describe)

    return wait


# mbarriers ----------------------------------------------------------------------------------------


def _alloc_barriers(compiler: Compiler, op: Op) -> Steps:
    out = compiler.slot(op.results[0])
    type_ = op.results[0].type
    assert isinstance(type_, BarrierType)
    name = op.attrs.get("name") or op.results[0].name or "the barrier"
    labels = [f"`{name}[{index}]`" if type_.count > 1 else f"`{name}`" for index in range(type_.count)]
    arrivals, is_ready = op.attrs["arrivals"], op.attrs["init"] == "ready"

    def alloc(frame: Frame) -> None:
        if frame[out] is None:  # executed again, they stay what they are
            frame[out] = [Mbarrier(label, arrivals, is_ready) for label in labels]

    yield False, alloc


def barrier_at(frame: Frame, op: Op, barriers: int, index: int) -> Mbarrier:
    """The barrier that two operands, given by their slots, stand for."""
    array: list[Mbarrier] = frame[barriers]
    number = int(frame[index])
    if not 0 <= number < len(array):
        raise frame[0].fail(
            op, f"barrier {number} does not exist: the array has {len(array)}", help="index it with k % STAGES"
        )
    return array[number]


def _mbarrier_wait(compiler: Compiler, op: Op) -> Steps:
    barriers, index, phase = compiler.slots_of(op.operands)
    until = _until(compiler, op)

    def wait(frame: Frame) -> Waiting:
        barrier, number = barrier_at(frame, op, barriers, index), int(frame[phase])
        yield from until(frame, lambda: barrier.is_complete(number), lambda: barrier.waits_for(number))

    yield True, wait


def _mbarrier_arrive(compiler: Compiler, op: Op) -> Steps:
    barriers, index = compiler.slots_of(op.operands)
    count = op.attrs["arrivals"]

    def arrive(frame: Frame) -> None:
        barrier = barrier_at(frame, op, barriers, index)
        _checked(frame, op, lambda: barrier.arrive(count))

    yield False, arrive


# Named barriers -----------------------------------------------------------------------------------


def _named_barrier(compiler: Compiler, op: Op) -> Steps:
    number, threads, kind = op.attrs["number"], op.attrs["threads"], op.attrs["kind"]
    own = compiler.partition.threads if compiler.partition is not None else compiler.kernel.default_threads
    until = _until(compiler, op)

    def meet(frame: Frame) -> Waiting:
        known = frame[0].named_barriers
        if number not in known:
            known[number] = NamedBarrier(f"named barrier {number}", threads)
        barrier: NamedBarrier = known[number]
        meeting = _checked(frame, op, lambda: barrier.arrive(own))
        if kind == "sync":
            yield from until(frame, lambda: barrier.generation > meeting, barrier.waits_for)

    yield True, meet


# Pipes --------------------------------------------------------------------------------------------


def _pipe(compiler: Compiler, op: Op) -> Steps:
    fields, out = compiler.slots_of(value_operands(op)), compiler.slot(op.results[0])
    given = op.attrs.get("name") or op.results[0].name
    name = f"pipe `{given}`" if given else "the pipe"
    capacity, one_shot = op.attrs["capacity"], op.attrs["one_shot"]
    readers: tuple[str | None, ...] = op.attrs["readers"] or (None,)

    def make(frame: Frame) -> None:
        pipes = frame[0].pipes
        if op not in pipes or op.attrs.get("restarts"):  # executed again, it stays what it is
            pipes[op] = Pipe(name, capacity, readers, one_shot)
        frame[out] = PipeHandle(pipes[op], tuple(frame[slot] for slot in fields))

    yield False, make


class _End:
    """One operation on a pipe: reads its operands and checks who executes it."""

    def __init__(self, compiler: Compiler, op: Op, end: str) -> None:
        self.op = op
        self.slots = compiler.slots_of(op.operands)
        self.user = compiler.partition.user if compiler.partition is not None else compiler.default_user
        self.end = end
        self.until = _until(compiler, op)

    def operands(self, frame: Frame) -> tuple[PipeHandle, int, int]:
        """The pipe, the stage and the lap."""
        pipe, stage, lap = (frame[slot] for slot in self.slots)
        handle: PipeHandle = pipe
        stage, lap = int(stage), int(lap)
        if not 0 <= stage < len(handle.state.commits) or lap < 0:
            raise frame[0].fail(
                self.op, f"round {lap} of stage {stage} of {handle.state.name} does not exist", help="count from 0"
            )
        self.check(frame, lambda: handle.state.used_by(self.end, self.user))
        return handle, stage, lap

    def check(self, frame: Frame, use: Callable[[], _Result]) -> _Result:
        """The result of `use`, its complaint as an error at the operation."""
        return _checked(frame, self.op, use)


def _pipe_acquire(compiler: Compiler, op: Op) -> Steps:
    end, outs = _End(compiler, op, "writer"), compiler.slots_of(op.results)

    def acquire(frame: Frame) -> Waiting:
        handle, stage, lap = end.operands(frame)
        yield from _free(frame, end, handle.state, stage, lap)
        for out, field in zip(outs, handle.fields, strict=True):
            frame[out] = slot_of(field, stage)

    yield True, acquire


def _free(frame: Frame, end: _End, pipe: Pipe, stage: int, lap: int) -> Waiting:
    end.check(frame, lambda: pipe.begin_acquire(stage, lap))
    yield from end.until(frame, lambda: pipe.is_free(stage, lap), lambda: pipe.waits_to_fill(stage, lap))


def _pipe_commit(compiler: Compiler, op: Op) -> Steps:
    end = _End(compiler, op, "writer")

    def commit(frame: Frame) -> None:
        handle, stage, lap = end.operands(frame)
        end.check(frame, lambda: handle.state.commit(stage, lap))

    yield False, commit


def _pipe_close(compiler: Compiler, op: Op) -> Steps:
    end = _End(compiler, op, "writer")

    def close(frame: Frame) -> Waiting:
        handle, stage, lap = end.operands(frame)
        yield from _free(frame, end, handle.state, stage, lap)
        end.check(frame, lambda: handle.state.close(stage, lap))

    yield True, close


def _pipe_wait(compiler: Compiler, op: Op) -> Steps:
    reader = op.attrs.get("reader")
    end = _End(compiler, op, reader_end(reader))
    closed, *outs = compiler.slots_of(op.results)

    def wait(frame: Frame) -> Waiting:
        handle, stage, lap = end.operands(frame)
        pipe = handle.state
        end.check(frame, lambda: pipe.begin_wait(reader, stage, lap))
        yield from end.until(frame, lambda: pipe.is_full(stage, lap), lambda: pipe.waits_to_use(stage, lap))
        frame[closed] = np.bool_(pipe.is_closed(stage, lap))
        for out, field in zip(outs, handle.fields, strict=True):
            frame[out] = slot_of(field, stage)

    yield True, wait


def _pipe_release(compiler: Compiler, op: Op) -> Steps:
    reader = op.attrs.get("reader")
    end = _End(compiler, op, reader_end(reader))

    def release(frame: Frame) -> None:
        handle, stage, lap = end.operands(frame)
        end.check(frame, lambda: handle.state.release(reader, stage, lap))

    yield False, release


# Partitions ---------------------------------------------------------------------------------------


def _warp_specialize(compiler: Compiler, op: Op) -> Steps:
    names = op.attrs["names"]
    blocks: list[tuple[str, Block]] = []
    outer = compiler.partition
    for number, (name, warps, region) in enumerate(zip(names, op.attrs["warps"], op.regions, strict=True)):
        label = name if names.count(name) == 1 else f"{name} ({number})"
        is_worker = number > 0 or op.attrs.get(DIVIDES)
        user = User(f"partition `{label}`", warps, (op, number) if is_worker else None)
        compiler.partition = Partition(op, number, label, user)
        blocks.append((label, compiler.region(region)))
        compiler.partition = outer
    move: Step = compiler.mover(op.regions[0].terminator.operands, op.results)

    def specialise(frame: Frame) -> Waiting:
        context = frame[0]
        tasks = [Task(name, _execution(block, frame)) for name, block in blocks]
        yield from run_tasks(context, tasks, context.order, is_inner=outer is not None)
        move(frame)

    yield True, specialise


def _execution(block: Block, frame: Frame) -> Waiting:
    if block.run is not None:
        block.run(frame)
    elif block.run_waiting is not None:
        yield from block.run_waiting(frame)


def _nothing(compiler: Compiler, op: Op) -> Steps:
    """Copies deliver at once and memory is one here, so waiting for them and fences have nothing to do."""
    return iter(())


COMPILERS: dict[str, Callable[[Compiler, Op], Steps]] = {
    "alloc_barriers": _alloc_barriers,
    "mbarrier_wait": _mbarrier_wait,
    "mbarrier_arrive": _mbarrier_arrive,
    "named_barrier": _named_barrier,
    "pipe": _pipe,
    "pipe_acquire": _pipe_acquire,
    "pipe_commit": _pipe_commit,
    "pipe_close": _pipe_close,
    "pipe_wait": _pipe_wait,
    "pipe_release": _pipe_release,
    "warp_specialize": _warp_specialize,
    "cp_async_commit": _nothing,
    "cp_async_wait": _nothing,
    "count_fills": _nothing,
    "await_fills": _nothing,
    "proxy_fence": _nothing,
    "tma_store_wait": _nothing,
}
