"""Where the tests of kernels run them: in the interpreter, in the emulator under detectors, or on a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tests.emulator.watched import FEW_RUNS, watched_launches
from tle2cuda.runtime.device import DEVICE_VARIABLE


@contextmanager
def on(where: str) -> Iterator[Callable[[Any], Any]]:
    """Runs launches there ("interpreter", "emulator" or "gpu"); gives what moves a NumPy array there."""
    if where == "gpu":
        import cupy

        yield cupy.asarray
    elif where == "emulator":
        with watched_launches(FEW_RUNS):
            yield lambda array: array
    else:
        with mock.patch.dict(os.environ, {DEVICE_VARIABLE: where}):
            yield lambda array: array
