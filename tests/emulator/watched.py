"""Launches of kernels on NumPy arrays, run in the emulator several times under all detectors.

`TLE2CUDA_TEST_SEEDS=50` in the environment adds as many random schedules to each launch.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tle2cuda.emulator import Emulation, api, emulate, launch
from tle2cuda.runtime.device import DEVICE_VARIABLE

RUNS = (
    launch.RunOptions("forward", delivery="late"),
    launch.RunOptions("reverse", delivery="now"),
    *(launch.RunOptions("random", seed, access_switch=switch, delivery="random") for seed, switch in ((1, 0), (2, 3))),
)
FEW_RUNS = (RUNS[1], RUNS[3])
SEEDS_VARIABLE = "TLE2CUDA_TEST_SEEDS"
DETECTORS = ("races", "uninitialized", "bounds", "alignment", "exit")


def more_runs() -> list[launch.RunOptions]:
    """Random schedules that the environment asks for."""
    seeds = range(100, 100 + int(os.environ.get(SEEDS_VARIABLE, "0")))
    deliveries = ("random", "late", "random", "now")
    return [launch.RunOptions("random", n, access_switch=n % 3, delivery=deliveries[n % 4]) for n in seeds]


def watched(kernel: Any, grid: Any, args: Mapping[str, Any], **options: Any) -> Emulation:
    """The emulation of a kernel under all detectors, which find nothing, nor in the schedules that the environment adds."""
    for more in more_runs():
        schedule = {"schedule": more.schedule, "seed": more.seed, "delivery": more.delivery}
        emulate(
            kernel, grid, args, **{**options, **schedule, "switch_at_accesses": more.access_switch, "detect": DETECTORS}
        ).check()
    return emulate(kernel, grid, args, **options, detect="all").check()


@contextmanager
def watched_launches(runs: Sequence[launch.RunOptions] = RUNS) -> Iterator[list[str]]:
    """Within it every launch runs once for each of `runs`, and must find nothing; gives the kernels' names.

    The results are those of the last run. At the end something must have been launched.
    """
    launched: list[str] = []
    runs = (*runs, *more_runs())

    def run(program: api.Program, ctas: Any, args: Any) -> None:
        bound = launch.bind(program.contract, args, ctas)
        for options in runs:
            result = program.run(ctas, bound, dataclasses.replace(options, detect=DETECTORS))
            assert not result.findings, f"{options.schedule} {options.seed}: {result.findings[0]}"
        launch.write_back(bound, result.outputs)
        launched.append(program.contract.kernel_name)

    with mock.patch.dict(os.environ, {DEVICE_VARIABLE: "emulator"}), mock.patch.object(api, "emulate_in_place", run):
        yield launched
    assert launched, "nothing was launched in the emulator"
