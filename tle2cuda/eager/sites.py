"""Which call of a kernel's text is run, told from others as tracing tells them.

Tracing comes to a call once, whatever loops of the run time stand around it, and once in each repetition of a loop that it
unrolls. So what a call made stays the same however often such a loop runs it: the rounds of a pipe and the phases of
barriers go on.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Iterator
from types import FrameType
from typing import Any, TypeVar

from tle2cuda.runtime.frames import is_ours

_Made = TypeVar("_Made")


class Sites:
    """Where one partition of a program is, or all of the program outside of them.

    Args:
        outer: The call that entered the partition, and which of its entries it is.
    """

    def __init__(self, outer: Hashable = None) -> None:
        self.outer = outer
        self._made: dict[Hashable, Any] = {}
        self._repetitions: list[int] = []

    def here(self) -> Hashable:
        """The call of the language that is run now."""
        frame: FrameType | None = sys._getframe(1)
        calls: list[Hashable] = []
        while frame is not None:
            if not is_ours(frame.f_code):
                calls.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return self.outer, tuple(calls), tuple(self._repetitions)

    def once(self, made: _Made) -> _Made:
        """What this call made when a loop first came to it."""
        known: _Made = self._made.setdefault(self.here(), made)
        return known

    def repeated(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values of a loop's variable that tracing would unroll."""
        depth = len(self._repetitions)
        try:
            for number, value in enumerate(values):
                self._repetitions[depth:] = [number]
                yield value
        finally:
            del self._repetitions[depth:]


def in_user_text(frame: FrameType) -> FrameType | None:
    """The innermost frame from `frame` outwards that is not of this package."""
    found: FrameType | None = frame
    while found is not None and is_ours(found.f_code):
        found = found.f_back
    return found
