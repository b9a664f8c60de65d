"""Random pipe programs: behind the passes no execution has a race, and what the barrier pass put in is needed."""

from __future__ import annotations

import importlib
import random
from dataclasses import replace

import pytest

from tests.passes.random_tasks import RandomTasks
from tests.passes.simulate_tasks import faults
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, Op, Region, walk
from tle2cuda.ir.printer import print_kernel
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.passes import barriers
from tle2cuda.passes.pipeline import PASSES

ADDED = ("barrier", "proxy_fence", "tma_store_wait", "cp_async_wait")


def ordered(kernel: Kernel) -> Kernel:
    """The kernel behind the barrier pass."""
    for each in PASSES:
        kernel = importlib.import_module(f"tle2cuda.passes.{each.name}").run(kernel)
        verify(kernel)
        if each.name == "barriers":
            return kernel
    raise AssertionError("there is no pass of barriers")


def without(kernel: Kernel, dropped: Op) -> Kernel:
    class _Drop(Rewriter):
        def visit(self, op: Op) -> None:
            if op is not dropped:
                regions = tuple(self.region(r) for r in op.regions)
                self.emit(replace(op, regions=regions) if op.regions else op)

        def region(self, region: Region) -> Region:
            return Region(region.params, self.ops(region.ops))

    return _Drop().kernel(kernel)


@pytest.mark.parametrize("seed", range(50))
def test_no_execution_has_a_race(seed: int) -> None:
    kernel = ordered(RandomTasks(seed).kernel())
    assert not faults(kernel, random.Random(seed))


def is_for_global_memory(op: Op) -> bool:
    return op.attrs.get("space") == "global" or op.attrs.get("reason") == barriers.UNNAMED_REASON


def test_most_of_what_is_put_in_is_needed() -> None:
    """Left out one by one: nearly every fence and wait is missed in an execution, and most barriers.

    Of the rest, what orders two tasks through a pipe orders the threads of each by the way. What is put in for global
    memory counts for nothing here, where executions are watched in shared memory.
    """
    put_in: dict[str, int] = {}
    missed: dict[str, int] = {}
    for seed in range(300):
        looked_for = set(ADDED) if seed < 30 else set(ADDED) - set(put_in)
        if not looked_for:
            break
        kernel = ordered(RandomTasks(seed, least_trips=4).kernel())
        for op in [op for op in walk(kernel.body) if op.name in looked_for and not is_for_global_memory(op)]:
            put_in[op.name] = put_in.get(op.name, 0) + 1
            missed[op.name] = missed.get(op.name, 0) + bool(faults(without(kernel, op), random.Random(seed)))
    assert set(put_in) == set(ADDED)
    for name in ("barrier", "proxy_fence", "tma_store_wait"):
        assert missed[name] >= 0.7 * put_in[name], (name, missed[name], put_in[name])


@pytest.mark.parametrize("seed", range(20))
def test_running_twice_adds_nothing(seed: int) -> None:
    once = ordered(RandomTasks(seed).kernel())
    assert print_kernel(barriers.run(once)) == print_kernel(once)
