"""Timing of work on the device that launches go to: events of torch or CuPy on a GPU, the wall clock elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

_FLUSHED_BYTES = 256 << 20  # more than any L2 cache: what a run finds there is not from the run before


class Clock(Protocol):
    """Times runs of a function."""

    is_device: bool

    def synchronize(self) -> None:
        """Wait for the device."""

    def flush(self) -> None:
        """Overwrite the L2 cache."""

    def time(self, runs: int, before: Callable[[], None], function: Callable[[], Any]) -> list[float]:
        """Milliseconds of each run, `before` left out."""


class HostClock:
    """Wall-clock time, where kernels run on the CPU."""

    is_device = False

    def synchronize(self) -> None:
        """Launches on the CPU have ended when they return."""

    def flush(self) -> None:
        """There is no cache to flush."""

    def time(self, runs: int, before: Callable[[], None], function: Callable[[], Any]) -> list[float]:
        """Milliseconds of each run."""
        found = []
        for _ in range(runs):
            before()
            start = time.perf_counter()
            function()
            found.append((time.perf_counter() - start) * 1000)
        return found


class TorchClock:
    """Events on torch's current stream."""

    is_device = True

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self._cache: Any = None

    def synchronize(self) -> None:
        """Wait for the device."""
        self.torch.cuda.synchronize()

    def flush(self) -> None:
        """Overwrite the L2 cache."""
        if self._cache is None:
            self._cache = self.torch.empty(_FLUSHED_BYTES, dtype=self.torch.int8, device="cuda")
        self._cache.zero_()

    def time(self, runs: int, before: Callable[[], None], function: Callable[[], Any]) -> list[float]:
        """Milliseconds of each run, the cache flushed before it."""
        pairs = [tuple(self.torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in range(runs)]
        for start, end in pairs:
            before()
            self.flush()
            start.record()
            function()
            end.record()
        self.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]


class CupyClock:
    """Events on CuPy's current stream."""

    is_device = True

    def __init__(self) -> None:
        import cupy

        self.cupy = cupy
        self._cache: Any = None

    def synchronize(self) -> None:
        """Wait for the device."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def flush(self) -> None:
        """Overwrite the L2 cache."""
        if self._cache is None:
            self._cache = self.cupy.empty(_FLUSHED_BYTES, dtype=self.cupy.int8)
        self._cache.fill(0)

    def time(self, runs: int, before: Callable[[], None], function: Callable[[], Any]) -> list[float]:
        """Milliseconds of each run, the cache flushed before it."""
        events = self.cupy.cuda.Event
        pairs = [(events(), events()) for _ in range(runs)]
        for start, end in pairs:
            before()
            self.flush()
            start.record()
            function()
            end.record()
        self.synchronize()
        return [float(self.cupy.cuda.get_elapsed_time(start, end)) for start, end in pairs]


def torch_has_gpu() -> bool:
    """Whether torch is imported and has a GPU."""
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_available())


def clock() -> Clock:
    """The clock of the device that launches go to."""
    from tle2cuda.runtime.active import uses_gpu

    if not uses_gpu():
        return HostClock()
    return TorchClock() if torch_has_gpu() else CupyClock()
