"""Who runs a piece of the kernel: the whole CTA, or the warps of a partition of `warp_specialize`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

CTA_BARRIER = "__syncthreads()"
WARP_BARRIER = "__syncwarp()"
_WARP_THREADS = 32


@dataclass(frozen=True, slots=True)
class Task:
    """Warps that run the same statements and meet at barriers of their own.

    Attributes:
        name: What the user calls it; empty for the whole CTA.
        first_warp: The first of its warps in the CTA.
        num_warps: How many warps it has.
        barrier: Call at which its threads meet.
        is_single: Whether one thread does all of it, the others being gone.
    """

    name: str
    first_warp: int
    num_warps: int
    barrier: str = CTA_BARRIER
    is_single: bool = False

    @property
    def first_thread(self) -> int:
        """`threadIdx.x` of its first thread."""
        return _WARP_THREADS * self.first_warp

    @property
    def num_threads(self) -> int:
        """How many threads it has."""
        return _WARP_THREADS * self.num_warps

    @property
    def is_cta(self) -> bool:
        """Whether it is the whole CTA, so that CUDA's own functions for CTAs serve it."""
        return self.barrier == CTA_BARRIER

    @property
    def barrier_function(self) -> str:
        """Function that is its barrier."""
        return self.barrier.partition("(")[0]


_barrier: ContextVar[str] = ContextVar("barrier", default=CTA_BARRIER)


@contextlib.contextmanager
def meeting_at(barrier: str) -> Iterator[None]:
    """Templates that are rendered inside use this call where the threads that run them meet."""
    token = _barrier.set(barrier)
    try:
        yield
    finally:
        _barrier.reset(token)


def barrier_call() -> str:
    """The call at which the threads meet that run what is being written."""
    return _barrier.get()
