"""Plain grids on several processors: what one process computes, in the same way every time."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.emulator.handwritten import handwritten
from tle2cuda.emulator import emulate, launch, spread

BLOCK = 512
CTAS = 8


@tle2cuda.jit
def smooth(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0)
    tl.store(out + i, left + 3 * tl.load(x + i, mask=i < n), mask=i < n)


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "MIN_RANGE_THREADS", 64)


def parts_of(kernel: object, args: dict, schedule: str = "forward", detect: tuple[str, ...] = ()) -> int:
    contract = kernel.contract
    bound = launch.bind(contract, args, (CTAS, 1, 1))
    return len(spread.ranges(kernel.source, contract, (CTAS, 1, 1), bound, launch.RunOptions(schedule, 0, detect)))


@pytest.mark.parametrize("schedule", ["forward", "reverse"])
def test_ranges_that_share_pages_are_put_together(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n = BLOCK * CTAS - 37
    x = np.random.default_rng(1).integers(-100, 100, n).astype(np.int16)  # eight CTAs write to two pages
    args = {"x": x, "out": np.full(n, 7, np.int16), "n": n, "BLOCK": BLOCK}
    many = emulate(smooth, CTAS, args, schedule=schedule).check()
    monkeypatch.setattr(spread, "MAX_RANGES", 1)
    one = emulate(smooth, CTAS, args, schedule=schedule).check()
    assert (many.outputs["out"] == np.concatenate(([0], x[:-1])) + 3 * x).all()
    assert (many.outputs["out"] == one.outputs["out"]).all()
    assert many.counters == one.counters


def test_a_race_of_ctas_ends_the_same_way_every_time() -> None:
    args = {"x": np.zeros(1, np.int32)}
    kernel = handwritten("    x[0] = blockIdx.x + 1;", args)
    assert parts_of(kernel, args) > 1
    assert {int(emulate(kernel, CTAS, args).outputs["x"][0]) for _ in range(5)} == {CTAS}
    assert {int(emulate(kernel, CTAS, args, schedule="reverse").outputs["x"][0]) for _ in range(5)} == {1}


def test_what_ctas_print_stays_in_order() -> None:
    args = {"x": np.zeros(1, np.int32)}
    kernel = handwritten('    if (threadIdx.x == 0) printf("%d ", blockIdx.x);', args)
    assert parts_of(kernel, args) > 1
    assert emulate(kernel, CTAS, args).runs[0].printed == "0 1 2 3 4 5 6 7 "


def test_ranges_behind_a_fault_count_as_never_started() -> None:
    args = {"x": np.zeros(CTAS, np.int32)}
    body = "    x[blockIdx.x] = 1;\n    if (blockIdx.x == 3) __trap();"
    kernel = handwritten(body, args)
    assert parts_of(kernel, args) == CTAS * kernel.contract.cta_threads // 64
    result = emulate(kernel, CTAS, args)
    assert result.failed.kind == "trap" and result.failed.cta == (3, 0, 0)
    assert result.outputs["x"].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "body", ["atomicAdd(x, 1);", "*(volatile int*)x = 1;", "__threadfence();", "x[0] = __ldcv(x);"], ids=str.split
)
def test_ctas_that_can_see_each_other_stay_together(body: str) -> None:
    args = {"x": np.zeros(1, np.int32)}
    assert parts_of(handwritten(f"    {body}", args), args) == 1


def test_random_schedules_and_detectors_stay_together() -> None:
    args = {"x": np.zeros(1, np.int32)}
    kernel = handwritten("    x[0] = 1;", args)
    assert parts_of(kernel, args) > 1
    assert parts_of(kernel, args, "random") == 1
    assert parts_of(kernel, args, detect=("bounds", "alignment")) > 1, "these look at each access by itself"
    assert parts_of(kernel, args, detect=("bounds", "races")) == 1
