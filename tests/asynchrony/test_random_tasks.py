"""Random programs of partitions, pipes, mbarriers and copies: the emitted file does what the interpreter says, silently."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
from tests.passes.random_tasks import ROWS, TILE, RandomTasks
from tle2cuda import interpreter
from tle2cuda.compiler import EmittedKernel
from tle2cuda.ir.nodes import Kernel
from tle2cuda.lowering import lower
from tle2cuda.passes import pipeline


def emitted(kernel: Kernel) -> EmittedKernel:
    final, _ = pipeline.run(kernel)
    lowered = lower(final, headers="minimal")
    return EmittedKernel(lowered.source, lowered.contract, lowered.line_map, {}, final, lowered.op_map)


@pytest.mark.parametrize("seed", range(10))
def test_emitted_files_are_silent_and_right(seed: int) -> None:
    kernel = RandomTasks(seed).kernel()
    x = np.random.default_rng(seed).integers(-1000, 1000, (ROWS, TILE)).astype(np.int32)
    expected = np.zeros_like(x)
    interpreter.run(kernel, 1, [x, expected])
    file = emitted(kernel)
    for schedule in ("forward", "reverse", "random"):
        result = tle2cuda.emulate(file, 1, [x, np.zeros_like(x)], schedule=schedule, seed=seed, detect="all")
        assert not result.findings, "\n".join(map(str, result.findings))
        assert np.array_equal(result.outputs["y"], expected), schedule
