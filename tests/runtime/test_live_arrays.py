"""Tables of pointers: launches on the CPU follow addresses into arrays that are no arguments."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import EmulationError, InterpreterError, OutOfBounds
from tle2cuda.runtime.live_arrays import LiveArrays


@tle2cuda.jit
def add_rows(table, sizes, out, shift, N: tl.constexpr):
    row = tl.program_id(0)
    source = tl.load(table + 2 * row).to(tl.pointer_type(tl.float32))
    target = tl.load(table + 2 * row + 1).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, N)
    mask = i < tl.load(sizes + row) + shift
    value = tl.load(source + i, mask=mask)
    tl.store(target + i, value + 1, mask=mask)
    tl.store(out + row, tl.sum(value))


class Holder:
    """Keeps arrays in attributes, lists and views, as programs do."""

    def __init__(self) -> None:
        self.sources = [np.arange(5, dtype=np.float32), np.ones((4, 4), np.float32, order="F")[:, 1:3].T]
        self.targets = {"first": np.zeros(5, np.float32), "second": (np.zeros(8, np.float32),)}


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_addresses_lead_to_arrays_that_are_alive(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    held = Holder()
    first, second = held.targets["first"], held.targets["second"][0]
    pairs = ((held.sources[0], first), (held.sources[1], second))
    table = np.array([[a.ctypes.data for a in pair] for pair in pairs], np.int64)
    sizes, out = np.array([5, 8], np.int32), np.zeros(2, np.float32)
    add_rows[(2,)](table, sizes, out, 0, N=8)
    assert (out == [10, 8]).all()
    assert (first == [1, 2, 3, 4, 5]).all()
    assert (second == 2).all()
    with pytest.raises(OutOfBounds, match=r"element \[?5\]? "):
        add_rows[(1,)](table, sizes, out, 1, N=8)
    first.flags.writeable = False
    with pytest.raises(InterpreterError, match="read-only"):
        add_rows[(1,)](table, sizes, out, 0, N=8)


def test_the_emulator_gives_way_unless_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLE2CUDA_DEVICE", raising=False)
    x, target = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    table, out = np.array([x.ctypes.data, target.ctypes.data], np.int64), np.zeros(1, np.float32)
    with pytest.warns(RuntimeWarning, match="add_rows makes pointers of integers, which lead nowhere in the emulator"):
        add_rows[(1,)](table, np.array([4], np.int32), out, 0, N=4)
    assert out[0] == 6
    assert (target == x + 1).all()
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    with pytest.raises(EmulationError, match="which belongs to no argument"):
        add_rows[(1,)](table, np.array([4], np.int32), out, 0, N=4)


def test_addresses_of_nothing() -> None:
    array = np.zeros(4, np.int32)
    live = LiveArrays()
    found = live.at(array.ctypes.data + 15)
    assert found is not None and found.ctypes.data == array.ctypes.data and found.nbytes == 16
    assert live.at(4096) is None
