"""Where the tests of kernels run them: in the interpreter, in the emulator under detectors, or on a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.emulator.watched import FEW_RUNS, watched_launches
from tle2cuda.runtime.device import DEVICE_VARIABLE


@contextmanager
def on(where: str) -> Iterator[Callable[[Any], Any]]:
    """Runs launches there ("interpreter", "emulator" or "gpu"); gives what moves a NumPy array there."""
    if where == "gpu":
        yield _to_gpu
    elif where == "emulator":
        with watched_launches(FEW_RUNS):
            yield lambda array: array
    else:
        with mock.patch.dict(os.environ, {DEVICE_VARIABLE: where}):
            yield lambda array: array


def _to_gpu(array: np.ndarray) -> Any:
    """A CuPy array; of float8, which CuPy does not know, a torch tensor."""
    if array.dtype.name == "float8_e4m3fn":
        torch = pytest.importorskip("torch")
        return torch.from_numpy(array.view(np.uint8)).cuda().view(torch.float8_e4m3fn)
    import cupy

    return cupy.asarray(array)
