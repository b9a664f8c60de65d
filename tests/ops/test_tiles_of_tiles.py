"""Tile numbers that only the run time knows: what lies outside of the grid is reported where it is used."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import InterpreterError
from tle2cuda.language import tle


@tle2cuda.jit
def summed(x, out, row, column, times):
    i = tl.arange(0, 8)
    tile = tl.load(x + i[:, None] * 8 + i[None, :])
    total = tl.zeros([2, 4], tl.float32)
    for _ in range(times):
        total += tle.extract_tile(tile, [row, column], [2, 4])
        tile = tle.insert_tile(tile, total, row * 2 + column)
    tl.store(out + tl.arange(0, 2)[:, None] * 4 + tl.arange(0, 4)[None, :], total)


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_tile_numbers_outside_of_the_grid(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    x, out = np.arange(64, dtype=np.float32), np.zeros(8, np.float32)
    summed[(1,)](x, out, 1, 3, 1)
    assert (out.reshape(2, 4) == x.reshape(8, 8)[4:6, 4:]).all()  # number 5, as `row * 2 + column`
    summed[(1,)](x, out, 4, 0, 0)  # never used
    assert not out.any()
    for row, number in ((4, 8), (-1, -2)):
        with pytest.raises(InterpreterError, match=rf"tle.extract_tile: tile number {number} is out of range \[0, 8\)"):
            summed[(1,)](x, out, row, 0, 1)
