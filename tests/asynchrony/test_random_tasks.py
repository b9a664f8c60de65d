"""Random programs of partitions, pipes, mbarriers and copies: the emitted file does what the interpreter says, silently."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
from tests.passes.random_tasks import ROWS, TILE, RandomTasks, TaskMaker
from tle2cuda import interpreter
from tle2cuda.compiler import EmittedKernel
from tle2cuda.ir.nodes import Kernel
from tle2cuda.ir.types import I32
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


def test_loops_that_load_into_buffers_of_one_name() -> None:
    """Each load keeps the parity of its barrier in a variable of its own."""
    maker = TaskMaker(2)
    zero, one, two = (maker.constant(n) for n in range(3))
    for part in (zero, two):
        row = maker.buffer("row")
        with maker.loop(zero, two, one) as loop:
            i = maker.op("add", (loop.params[0], part), I32)
            maker.tma_load(row, i)
            maker.store(maker.row(maker.y, i), maker.load(maker.whole(row)))
    x = np.arange(ROWS * TILE, dtype=np.int32).reshape(ROWS, TILE)
    result = tle2cuda.emulate(emitted(maker.kernel()), 1, [x, np.zeros_like(x)], detect="all")
    assert not result.findings
    assert np.array_equal(result.outputs["y"][:4], x[:4])
