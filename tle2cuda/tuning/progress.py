"""What tuning shows on standard error: what is tried, the best so far, the time left; and why others failed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from tle2cuda.runtime.waiting import StatusLine

_PRINT_VARIABLES = ("TLE2CUDA_PRINT_AUTOTUNING", "TRITON_PRINT_AUTOTUNING")
_FALSE = ("", "0", "false", "off", "no")


def prints_results() -> bool:
    """Whether the environment asks for a summary of every tuning."""
    return any(os.environ.get(name, "").lower() not in _FALSE for name in _PRINT_VARIABLES)


def format_ms(milliseconds: float) -> str:
    """A duration with three digits."""
    if milliseconds < 1:
        return f"{milliseconds * 1000:.3g} us"
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"


class Progress:
    """The status line of one tuning: on a terminal only.

    Args:
        kernel: Name of the kernel.
        count: Configurations to try.
        stream: Where to write; standard error when None.
    """

    def __init__(self, kernel: str, count: int, stream: TextIO | None = None) -> None:
        self.kernel = kernel
        self.count = count
        self.line = StatusLine(stream)
        self.started = time.perf_counter()
        self.best: tuple[float, Any] | None = None

    def compiled(self, done: int) -> None:
        """So many configurations are compiled."""
        self._show(f"compiled {done} of {self.count} configurations")

    def trying(self, index: int, config: Any) -> None:
        """A configuration is about to be measured."""
        self._show(f"{index + 1} of {self.count}: {config.brief()}{self._best_so_far()}{self._left(index)}")

    def measured(self, config: Any, milliseconds: float) -> None:
        """A configuration took so long."""
        if self.best is None or milliseconds < self.best[0]:
            self.best = (milliseconds, config)

    def finish(self) -> None:
        """Clear the line."""
        self.line.clear()

    def _best_so_far(self) -> str:
        if self.best is None:
            return ""
        return f"; best {format_ms(self.best[0])} ({self.best[1].brief()})"

    def _left(self, done: int) -> str:
        if not done:
            return ""
        seconds = (time.perf_counter() - self.started) / done * (self.count - done)
        return f"; {seconds:.0f} s left"

    def _show(self, text: str) -> None:
        self.line.show(f"tuning {self.kernel}: {text}")


def summary(
    kernel: str,
    key: Sequence[Any],
    best: Any,
    timings: Mapping[Any, float],
    failures: Mapping[Any, str],
    seconds: float,
    origin: str,
) -> str:
    """Lines that say what a tuning chose, how long the others took, and why some failed.

    Args:
        kernel: Name of the kernel.
        key: What it was tuned for.
        best: The configuration chosen.
        timings: Milliseconds by configuration, of those that were measured.
        failures: Reasons by configuration.
        seconds: How long it took.
        origin: ``measured``, ``from the cache`` or another reason for the choice.
    """
    lines = [f"tle2cuda: tuned {kernel} for {tuple(key)} in {seconds:.2f} s ({origin}): {best}"]
    for config, milliseconds in sorted(timings.items(), key=lambda item: item[1]):
        lines.append(f"  {format_ms(milliseconds):>9}  {config}")
    for config, reason in failures.items():
        lines.append(f"     failed  {config}: {reason}")
    return "\n".join(lines)
