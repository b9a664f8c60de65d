"""Tile numbers that only the run time knows: what lies outside of the grid is reported where it is used."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.analysis.tile_numbers import may_leave_a_grid
from tle2cuda.errors import TileOutOfRange
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
        with pytest.raises(TileOutOfRange, match=rf"tle.extract_tile: tile number {number} is out of range \[0, 8\)"):
            summed[(1,)](x, out, row, 0, 1)


def test_the_emulator_reports_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(64, dtype=np.float32)
    with monkeypatch.context() as patch, pytest.raises(TileOutOfRange, match=r"tile number -2 is out of range \[0, 8\)"):
        patch.setenv("TLE2CUDA_DEVICE", "emulator")
        summed[(1,)](x, np.zeros(8, np.float32), -1, 0, 1)
    args = {"x": x, "out": np.zeros(8, np.float32), "row": 4, "column": 0, "times": 1}
    (finding,) = tle2cuda.emulate(summed, 1, args).findings
    assert (finding.kind, finding.message) == ("tile_number", "tle.extract_tile: tile number 8 is out of range [0, 8)")
    assert finding.location is not None and "tle.extract_tile" in finding.location.span.source_line()


@tle2cuda.jit
def parts(x, out):
    i = tl.arange(0, 64)
    tile = tl.load(x + i)
    for part in range(4):
        tl.store(out + part * 16 + tl.arange(0, 16), tle.extract_tile(tile, part, [16]))
    tl.store(out + 64 + tl.arange(0, 16), tle.extract_tile(tile, tl.program_id(0), [16]))


def test_numbers_that_are_known_to_fit_cost_nothing() -> None:
    kernel = tle2cuda.emit(parts, "*fp32,*fp32").traced
    assert [may_leave_a_grid(kernel, (ctas, 1, 1), ()) for ctas in (4, 5)] == [False, True]
