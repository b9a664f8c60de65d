"""Partitions of one CTA side by side: each runs until it has to wait for another one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tle2cuda.errors import Deadlock
from tle2cuda.interpreter.requests import Arrive, Blocked, Request, Spin, Waiting
from tle2cuda.ir.nodes import Op

if TYPE_CHECKING:
    from tle2cuda.interpreter.context import Context

_HELP = "every wait needs its arrival, commit or release in another partition, or earlier in the same one"


class Task:
    """One partition being executed.

    Attributes:
        name: Name of its function.
        execution: The running generator; None once it has come to its end.
        request: What it last asked for; None when it can go on at once.
    """

    __slots__ = ("execution", "name", "request")

    def __init__(self, name: str, execution: Waiting) -> None:
        self.name = name
        self.execution: Waiting | None = execution
        self.request: Request | None = None

    def state(self) -> str:
        """What it does, in a message."""
        if self.execution is None:
            return f"partition `{self.name}`: has come to its end"
        if isinstance(self.request, Blocked):
            return f"partition `{self.name}`: waits at {self.request.op.span.short()} for {self.request.describe()}"
        if isinstance(self.request, Spin):
            return f"partition `{self.name}`: loops at {self.request.op.span.short()}"
        return f"partition `{self.name}`: can go on"


def run_tasks(context: Context, tasks: Sequence[Task], order: random.Random | None, is_inner: bool = False) -> Waiting:
    """Runs partitions to their ends; asks the outside only when none of them can go on by itself.

    Args:
        context: The CTA.
        tasks: The partitions.
        order: Draws whose turn it is; None for that of the kernel.
        is_inner: Whether they are parts of a partition, so that others beside it may end their waits.

    Raises:
        Deadlock: All of them wait for each other.
    """
    live = list(tasks)
    while live:
        has_moved, is_quiet = False, True
        turns = order.sample(live, len(live)) if order is not None else list(live)
        turns = [task for task in turns if not isinstance(task.request, Blocked) or task.request.is_over()]
        if not turns and is_inner:
            yield _any_of([task.request for task in live if isinstance(task.request, Blocked)])
            continue
        if not turns:
            raise deadlock(context, tasks)
        for task in turns:
            assert task.execution is not None
            task.request = next(task.execution, None)
            if task.request is None:
                task.execution = None
                live.remove(task)
            elif isinstance(task.request, Arrive):
                scope = task.request.scope
                raise context.fail(
                    task.request.op,
                    f"partition `{task.name}` stands at a {scope} barrier, which all threads of the CTA must reach",
                    help="put it before or behind warp_specialize",
                )
            elif isinstance(task.request, Spin):
                is_quiet = is_quiet and task.request.is_quiet
                continue
            has_moved = True
        if not has_moved:  # all that go on poll memory, which another CTA may change
            spinning = next(task.request for task in turns if isinstance(task.request, Spin))
            yield Spin(spinning.op, is_quiet)


def _any_of(waits: Sequence[Blocked]) -> Blocked:
    """The wait that is over when one of several is."""
    return Blocked(waits[0].op, lambda: any(wait.is_over() for wait in waits), waits[0].describe)


def deadlock(context: Context, tasks: Sequence[Task]) -> Deadlock:
    """The error that says which partition waits for what."""
    blocked = [task for task in tasks if isinstance(task.request, Blocked)]
    first = blocked[0]
    assert isinstance(first.request, Blocked)
    wait = first.request.describe()
    return Deadlock(
        f"deadlock: partition `{first.name}` waits in vain for {wait}",
        first.request.op.span,
        facts=(*context.facts(), *(task.state() for task in tasks)),
        help=_HELP,
    )


def waits_alone(context: Context, op: Op, wait: str) -> Deadlock:
    """The error for a wait outside of partitions that is not over: nobody else can end it."""
    return Deadlock(f"deadlock: the kernel waits in vain for {wait}", op.span, facts=context.facts(), help=_HELP)
