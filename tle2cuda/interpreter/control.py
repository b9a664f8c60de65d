"""Compiles control flow and barriers: the operations whose meaning is an order of execution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.interpreter.requests import Arrive, Spin, Waiting
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import element_of

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Block, Compiler, Frame, Step

Steps = Iterator[tuple[bool, Any]]
CHECK_INTERVAL = 64
"""Iterations of a loop that reads memory before other CTAs get a turn."""


def mover(sources: Sequence[int], targets: Sequence[int]) -> Step:
    """Assigns slots in parallel."""
    pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if s != t]
    if not pairs:
        return lambda frame: None
    if len(pairs) == 1:
        ((source, target),) = pairs

        def move_one(frame: Frame) -> None:
            frame[target] = frame[source]

        return move_one
    from_slots, to_slots = zip(*pairs, strict=True)

    def move(frame: Frame) -> None:
        values = [frame[slot] for slot in from_slots]
        for slot, value in zip(to_slots, values, strict=True):
            frame[slot] = value

    return move


def _run(block: Block, frame: Frame) -> Waiting:
    """Runs a block that may or may not wait, inside a generator."""
    if block.run is not None:
        block.run(frame)
    elif block.run_waiting is not None:
        yield from block.run_waiting(frame)


def _if(compiler: Compiler, op: Op) -> Steps:
    condition = compiler.slot(op.operands[0])
    then, otherwise = (compiler.region(region) for region in op.regions)
    from_then, from_else = (compiler.mover(region.terminator.operands, op.results) for region in op.regions)
    run_then, run_else = then.run, otherwise.run
    if run_then is not None and run_else is not None:

        def branch(frame: Frame) -> None:
            if frame[condition]:
                run_then(frame)
                from_then(frame)
            else:
                run_else(frame)
                from_else(frame)

        yield False, branch
        return

    def branch_waiting(frame: Frame) -> Waiting:
        if frame[condition]:
            yield from _run(then, frame)
            from_then(frame)
        else:
            yield from _run(otherwise, frame)
            from_else(frame)

    yield True, branch_waiting


def _for(compiler: Compiler, op: Op) -> Steps:
    lower, upper, step = compiler.slots_of(op.operands[:3])
    body = compiler.region(op.regions[0])
    induction = body.params[0]
    params = op.regions[0].params[1:]
    enter = compiler.mover(op.operands[3:], params)
    again = compiler.mover(op.regions[0].terminator.operands, params)
    leave = compiler.mover(params, op.results)
    is_known = compiler.template[step] is not None  # a constant, which may count downwards
    number = value_dtype(element_of(op.operands[0].type)).type
    begin = _inductor(compiler, op)

    def indices(frame: Frame) -> range:
        stride = int(frame[step])
        check_step(frame[0], op, stride, is_known)
        return range(int(frame[lower]), int(frame[upper]), stride)

    run = body.run
    if run is not None:

        def loop(frame: Frame) -> None:
            context = frame[0]
            enter(frame)
            for index in indices(frame):
                context.tick(op)
                frame[induction] = number(index)
                begin(frame, index)
                run(frame)
                again(frame)
            leave(frame)

        yield False, loop
        return

    def loop_waiting(frame: Frame) -> Waiting:
        context = frame[0]
        enter(frame)
        for index in indices(frame):
            context.tick(op)
            frame[induction] = number(index)
            begin(frame, index)
            yield from _run(body, frame)
            again(frame)
        leave(frame)

    yield True, loop_waiting


def check_step(context: Any, op: Op, stride: int, is_known: bool) -> None:
    """Refuses steps of a counted loop that are 0, or negative and of the run time.

    Raises:
        InterpreterError: It is such a step.
    """
    if stride == 0 or (stride < 0 and not is_known):
        raise context.fail(
            op,
            f"the step of a loop is {stride}",
            help="a step that only the run time knows must be positive; write a constant one to count downwards",
        )


def _inductor(compiler: Compiler, op: Op) -> Callable[[Frame, int], None]:
    """Sets what is known of an induction variable that begins at, or goes by, an offset that wrapped."""
    shadow = compiler.shadow(op.regions[0].params[0])
    if not shadow:
        return lambda frame, index: None
    lower, _, step = compiler.slots_of(op.operands[:3])
    nothing = compiler.shadow_of_others
    from_shadow, by_shadow = (compiler.shadow(op.operands[i]) or nothing for i in (0, 2))

    def begin(frame: Frame, index: int) -> None:
        start, stride = frame[from_shadow], frame[by_shadow]
        if start is None and stride is None:
            frame[shadow] = None
            return
        first, by = int(frame[lower]), int(frame[step])
        rounds = (index - first) // by
        exact = (first if start is None else int(start)) + rounds * (by if stride is None else int(stride))
        frame[shadow] = np.asarray(exact, np.int64) if exact != index else None

    return begin


def _while(compiler: Compiler, op: Op) -> Steps:
    before, body = (compiler.region(region) for region in op.regions)
    condition = before.yields[0]
    first, second = op.regions
    passed = first.terminator.operands[1:]
    enter = compiler.mover(op.operands, first.params)
    into_body = compiler.mover(passed, second.params)
    again = compiler.mover(second.terminator.operands, first.params)
    leave = compiler.mover(passed, op.results)
    run_before, run_body = before.run, body.run
    if run_before is not None and run_body is not None and not compiler.waits(op):

        def loop(frame: Frame) -> None:
            context = frame[0]
            enter(frame)
            run_before(frame)
            while frame[condition]:
                context.tick(op)
                into_body(frame)
                run_body(frame)
                again(frame)
                run_before(frame)
            leave(frame)

        yield False, loop
        return
    params = before.params

    def loop_waiting(frame: Frame) -> Waiting:
        context = frame[0]
        memory = context.memory.shared
        iterations = 0
        enter(frame)
        while True:
            version, carried = memory.version, [frame[slot] for slot in params]
            yield from _run(before, frame)
            if not frame[condition]:
                break
            context.tick(op)
            into_body(frame)
            yield from _run(body, frame)
            again(frame)
            iterations += 1
            is_quiet = memory.version == version and all(
                _is_same(old, frame[slot]) for old, slot in zip(carried, params, strict=True)
            )
            if is_quiet or iterations % CHECK_INTERVAL == 0:
                yield Spin(op, is_quiet)
        leave(frame)

    yield True, loop_waiting


def _is_same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    return isinstance(old, (np.ndarray, np.generic)) and np.array_equal(old, new)


def _fused(compiler: Compiler, op: Op) -> Steps:
    block = compiler.region(op.regions[0])
    move = compiler.mover(op.regions[0].terminator.operands, op.results)
    if block.run is not None:
        yield False, block.run
    else:
        yield True, block.run_waiting
    yield False, move


def _barrier(compiler: Compiler, op: Op) -> Steps:
    """Threads of one CTA execute in step here, so their barrier has nothing to do."""
    return iter(())


def _cluster_barrier(compiler: Compiler, op: Op) -> Steps:
    members = op.attrs.get("members")
    members = None if members is None else tuple(members)

    def arrive(frame: Frame) -> Waiting:
        context = frame[0]
        if context.cluster_size > 1 and (members is None or context.cluster_rank in members):
            yield Arrive(op, "cluster", members)

    yield True, arrive


def _grid_barrier(compiler: Compiler, op: Op) -> Steps:
    def arrive(frame: Frame) -> Waiting:
        yield Arrive(op, "grid", None)

    yield True, arrive


COMPILERS: dict[str, Callable[[Compiler, Op], Steps]] = {
    "if": _if,
    "for": _for,
    "while": _while,
    "fused": _fused,
    "barrier": _barrier,
    "cluster_barrier": _cluster_barrier,
    "grid_barrier": _grid_barrier,
}
