"""Arguments that are views of other arrays: what a kernel writes between their elements lands in the memory under them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError

DEVICES = ("emulator", "interpreter", "eager")


@tle2cuda.jit
def fill_rows(x, stride, value, ROWS: tl.constexpr):
    i = tl.arange(0, 4)
    for row in range(ROWS):
        tl.store(x + row * stride + i, value)


@tle2cuda.jit
def count(x, step):
    tl.atomic_add(x + tl.arange(0, 8) * step, 1)


@tle2cuda.jit
def exchange(x, y):
    first, second = tl.load(x + 1), tl.load(y + 1)
    tl.store(x + 1, second + 10)
    tl.store(y + 1, first + 20)


@pytest.mark.parametrize("device", DEVICES)
def test_rows_through_a_column(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    base = np.full((6, 4), 7, np.float32)
    fill_rows[(1,)](base[:5, 0], 4, 3.0, ROWS=4)
    assert (base[:4] == 3).all() and (base[4:] == 7).all()


@pytest.mark.parametrize("device", DEVICES)
def test_every_second_element_and_backwards(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    base = np.zeros(16, np.int32)
    count[(1,)](base[::2], 1)
    count[(1,)](base[::-2], -1)
    assert base.tolist() == [1] * 8 + [1] * 8


@pytest.mark.parametrize("device", DEVICES)
def test_views_between_each_others_elements(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    base = np.arange(8, dtype=np.int32)
    exchange[(1,)](base[::2], base[1::2])  # they write base[1] and base[2]
    assert base.tolist() == [0, 12, 21, 3, 4, 5, 6, 7]


def test_outputs_of_emulate_hold_what_lies_between() -> None:
    base = np.zeros((5, 4), np.float32)
    outputs = tle2cuda.emulate(fill_rows, 1, {"x": base[:, 0], "stride": 4, "value": 1.0, "ROWS": 4}).check().outputs
    assert outputs["x"].strides == (16,) and outputs["x"].tolist() == [1, 1, 1, 1, 0]
    assert as_strided(outputs["x"], (4, 4), (16, 4)).sum() == 16 and not base.any()
    numbers = np.arange(8, dtype=np.int32)
    outputs = tle2cuda.emulate(exchange, 1, {"x": numbers[::2], "y": numbers[1::2]}).check().outputs
    assert outputs["x"].tolist() == [0, 21, 4, 6] and outputs["y"].tolist() == [12, 3, 5, 7]


def test_what_lies_between_read_only_elements_is_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    base = np.zeros((5, 4), np.float32)
    view = base[:, 0]
    view.flags.writeable = False
    with pytest.raises(ArgumentError, match="the kernel writes to argument x, which is a read-only array"):
        fill_rows[(1,)](view, 4, 1.0, ROWS=1)
    assert not base.any()


def test_addresses_out_of_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    with pytest.raises(tle2cuda.errors.EmulationError) as caught:
        through_table[(1,)](np.array([x.ctypes.data], np.int64), out)
    assert str(caught.value).endswith(
        "help: mask the access; where its address comes out of a table of pointers, which lead nowhere in the emulator, "
        "set TLE2CUDA_DEVICE=interpreter"
    )


@tle2cuda.jit
def through_table(table, out):
    source = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out + tl.arange(0, 8), tl.load(source + tl.arange(0, 8)))
