"""In which CTAs values are the same."""

from __future__ import annotations

import pytest

from tests.analysis.helpers import KernelMaker
from tle2cuda.analysis.uniformity import Level, Uniformity, uniformity
from tle2cuda.ir.types import BOOL, I32, PointerType


@pytest.mark.parametrize(
    ("cluster", "axis", "level"),
    [((1, 1, 1), 0, Level.CTA), ((4, 1, 1), 0, Level.CTA), ((4, 1, 1), 1, Level.CLUSTER)],
)
def test_program_ids(cluster: tuple[int, int, int], axis: int, level: Level) -> None:
    maker = KernelMaker(cluster_dims=cluster)
    pid = maker.op("program_id", (), I32, axis=axis)
    assert uniformity(maker.kernel())[pid] == Uniformity(level)


@pytest.mark.parametrize(("name", "number", "level"), [("idiv", 8, 1), ("idiv", 6, 2), ("shr", 2, 1), ("shr", 1, 2)])
def test_the_index_of_the_cluster(name: str, number: int, level: int) -> None:
    maker = KernelMaker(cluster_dims=(4, 1, 1))
    pid = maker.op("program_id", (), I32, axis=0)
    cluster = maker.op(name, (pid, maker.constant(number)), I32)
    assert uniformity(maker.kernel())[cluster].level == level


def test_cluster_rank_without_a_cluster_is_a_constant() -> None:
    for dims, level in (((1, 1, 1), Level.GRID), ((2, 1, 1), Level.CTA)):
        maker = KernelMaker(cluster_dims=dims)
        rank = maker.op("cluster_rank", (), I32)
        assert uniformity(maker.kernel())[rank].level == level


def test_arguments_constants_and_what_is_made_of_them() -> None:
    maker = KernelMaker()
    n = maker.argument("n", I32)
    total = maker.op("add", (n, maker.constant(3)), I32)
    mixed = maker.op("add", (total, maker.op("program_id", (), I32, axis=0)), I32)
    found = uniformity(maker.kernel())
    assert found[total] == Uniformity(Level.GRID)
    assert found[mixed] == Uniformity(Level.CTA)


def test_loads_are_like_their_addresses_until_somebody_writes() -> None:
    for written, level in ((False, Level.GRID), (True, Level.CTA)):
        maker = KernelMaker()
        pointer = maker.argument("p", PointerType(I32))
        value = maker.load(pointer)
        if written:
            maker.store(pointer)
        found = uniformity(maker.kernel())[value]
        assert found.level == level and not found.is_direct


def test_what_a_branch_or_loop_gives_depends_on_its_condition() -> None:
    maker = KernelMaker()
    pid = maker.op("program_id", (), I32, axis=0)
    one, two = maker.constant(1), maker.constant(2)
    condition = maker.op("cmp", (pid, one), BOOL, predicate="lt")
    with maker.branch(condition) as branch:
        with branch.then():
            branch.yields(one)
        with branch.otherwise():
            branch.yields(two)
    with maker.loop(one, pid, one, (one,)) as loop:
        loop.yields(maker.op("add", (loop.params[1], one), I32))
    with maker.loop(one, two, one, (one,)) as even:
        even.yields(maker.op("add", (even.params[1], pid), I32))
    found = uniformity(maker.kernel())
    assert found[branch.results[0]].level == Level.CTA
    assert found[loop.params[1]].level == Level.GRID and found[loop.results[0]].level == Level.CTA
    assert found[even.results[0]].level == Level.CTA
