"""`tl.extra.cuda`: device numbers, and programmatic dependent launch."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import CapabilityError
from tle2cuda.language.extra import cuda
from tle2cuda.runtime import occupancy
from tle2cuda.runtime.contract import LaunchContract


@tle2cuda.jit
def device_numbers(out, START: tl.constexpr):
    tl.static_assert(cuda.num_threads() == 32 * tl.extra.cuda.num_warps())
    tl.store(out, (cuda.globaltimer() > START).to(tl.int32))
    tl.store(out + 1, cuda.smid() * 0 + cuda.num_warps())


@tle2cuda.jit
def dependent(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cuda.gdc_wait()
    value = tl.load(x + i, mask=i < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + i, value + 1, mask=i < n)


@pytest.mark.parametrize("device", ["interpreter", "emulator", "eager"])
def test_results(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(2, np.int32)
    device_numbers[(1,)](out, START=1_600_000_000_000_000_000, num_warps=2)
    assert out.tolist() == [1, 2]
    x, result = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    dependent[(1,)](x, result, 100, BLOCK=128, launch_pdl=True)
    assert (result == x + 1).all()


def test_waiting_stands_in_front_of_the_loads() -> None:
    source = tle2cuda.emit(dependent, "*fp32:16, *fp32:16, i32, 128").source
    body = source[source.index('extern "C"') :]
    texts = ("wait_for_previous_grid();", "float value =", "let_next_grid_begin();", "out[i] =")
    order = [body.index(text) for text in texts]
    assert order == sorted(order)
    # What another grid may write meanwhile is never read as read-only data.
    assert "__restrict__" not in source
    assert 'asm volatile("griddepcontrol.wait;" ::: "memory");' in source


def test_it_needs_sm_90() -> None:
    with pytest.raises(CapabilityError, match=r"tl.extra.cuda.gdc_wait needs sm_90 and later, the target is sm_80"):
        tle2cuda.emit(dependent, "*fp32:16, *fp32:16, i32, 128", arch="sm_80")


def test_the_contract_says_that_the_grid_may_begin_early() -> None:
    contract = tle2cuda.emit(dependent, "*fp32:16, *fp32:16, i32, 128").contract
    assert not contract.programmatic
    assert "programmatic" not in contract.to_json()
    early = LaunchContract(**{name: getattr(contract, name) for name in contract.__slots__} | {"programmatic": True})
    assert LaunchContract.from_json(early.to_json()) == early


def test_the_driver_is_asked_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    class Driver:
        @staticmethod
        def cuLaunchKernelEx(config: Any, function: Any, parameters: Any, extra: Any) -> int:
            launch = ctypes.cast(config, ctypes.POINTER(occupancy._LaunchConfig)).contents
            attribute = launch.attributes.contents
            seen.update(grid=list(launch.grid), block=list(launch.block), shared=launch.shared_bytes, id=attribute.id)
            seen.update(stream=launch.stream, on=attribute.value[0], count=launch.num_attributes, function=function.value)
            return 0

    pytest.importorskip("cupy_backends")
    monkeypatch.setattr(occupancy, "_driver", lambda: Driver)
    occupancy.launch_programmatic(4096, 2, 3, 4, 128, 1, 1, 64, 5, 8192, 0)
    assert seen == {
        "grid": [2, 3, 4], "block": [128, 1, 1], "shared": 64, "id": 6, "stream": 5, "on": 1, "count": 1, "function": 4096,
    }  # fmt: skip
