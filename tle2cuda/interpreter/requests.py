"""What a CTA or a partition asks of the scheduler when it cannot simply go on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from tle2cuda.ir.nodes import Op


class Arrive(NamedTuple):
    """The CTA stands at a barrier beyond its own threads.

    Attributes:
        op: The barrier.
        scope: ``grid`` or ``cluster``.
        members: Cluster ranks that take part; None for all.
    """

    op: Op
    scope: str
    members: tuple[int, ...] | None


class Spin(NamedTuple):
    """The CTA is in a loop that reads memory, so it may be waiting for another CTA.

    Attributes:
        op: The loop.
        is_quiet: The last iteration changed neither memory nor what the loop carries, so only another CTA can
            end it.
    """

    op: Op
    is_quiet: bool


class Blocked(NamedTuple):
    """A partition waits for another one of its CTA.

    Attributes:
        op: The waiting operation.
        is_over: Whether it can go on now.
        describe: What it waits for and what that would take, for a message.
    """

    op: Op
    is_over: Callable[[], bool]
    describe: Callable[[], str]


Request = Arrive | Spin | Blocked
Waiting = Generator[Request, None, None]
