"""Whether a launch uses an offset that wrapped in 32 bits, or takes a tile from outside of a grid of tiles.

Threads of an emulated kernel do not tell: which of its numbers are offsets or number tiles, and what they would be without
a width, is known of the kernel's IR alone. So a launch in which the ranges of its numbers leave room for either is
interpreted first, on the arrays themselves, which then get their contents back. One whose numbers all fit, by its grid and
its arguments, costs nothing.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tle2cuda.analysis.tile_numbers import may_leave_a_grid
from tle2cuda.analysis.wrapped_offsets import offsets_of_launch
from tle2cuda.emulator.launch import Bound
from tle2cuda.errors import KernelError, OffsetOverflow, TileOutOfRange
from tle2cuda.ir.nodes import Kernel
from tle2cuda.runtime.contract import Dim3

MOST_ITERATIONS = 1_000_000
"""Iterations of loops, in all CTAs, after which a launch is no longer followed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of the numbers of a launch.

    Attributes:
        is_known: Whether the launch could be followed to its end, or to what is at fault.
        error: The access through an offset that wrapped, or the number outside of a grid of tiles.
    """

    is_known: bool
    error: OffsetOverflow | TileOutOfRange | None = None

    @property
    def kind(self) -> str:
        """Of the finding that the error is."""
        return "wrapped" if isinstance(self.error, OffsetOverflow) else "tile_number"


def check_numbers(kernel: Kernel | None, ctas: Dim3, args: Sequence[Any] | Mapping[str, Any], bound: Bound) -> Verdict:
    """Whether a launch accesses memory through an offset that wrapped, or takes a tile that is none of its grid.

    Args:
        kernel: The kernel before any pass; None where it is not known.
        ctas: The grid in CTAs.
        args: Values of the run-time arguments.
        bound: The same as the emulator takes them: with the contents of all arrays.
    """
    from tle2cuda import interpreter
    from tle2cuda.interpreter.arguments import integer_arguments

    if kernel is None:
        return Verdict(False)
    numbers = integer_arguments(kernel, args)
    if 0 in ctas or not (offsets_of_launch(kernel, ctas, numbers) or may_leave_a_grid(kernel, ctas, numbers)):
        return Verdict(True)
    with _kept_contents(bound):
        try:
            interpreter.run(kernel, ctas, args, max_steps=MOST_ITERATIONS, check_uninitialized=False, output=io.StringIO())
        except (OffsetOverflow, TileOutOfRange) as error:
            return Verdict(True, error)
        except (KernelError, MemoryError, RecursionError):  # the emulation says what is wrong, if it is the kernel
            return Verdict(False)
    return Verdict(True)


@contextmanager
def _kept_contents(bound: Bound) -> Iterator[None]:
    """Gives arrays their contents back."""
    try:
        yield
    finally:
        for buffer in bound.buffers:
            if buffer.address and ctypes.string_at(buffer.address, len(buffer.data)) != buffer.data:
                ctypes.memmove(buffer.address, buffer.data, len(buffer.data))
