"""Planted faults: each that changes results under some legal execution is caught within ten runs."""

from __future__ import annotations

import pytest

from tests.emulator.mutants import Mutant, mutants
from tests.emulator.subjects import subject
from tools.mutants import BEGIN, END, EXECUTIONS, PAGE, try_kernel

MUTANTS = {mutant.id: mutant for mutant in mutants()}
FAULTS = [mutant for mutant in MUTANTS.values() if not mutant.equivalent]
EQUIVALENT = [mutant for mutant in MUTANTS.values() if mutant.equivalent]


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda mutant: mutant.id)
def test_fault_is_caught(mutant: Mutant) -> None:
    outcome = try_kernel(subject(mutant.subject), mutant.emitted(), stop=True)
    assert outcome.caught, f"nothing noticed that {mutant.diff()}"


@pytest.mark.parametrize("mutant", EQUIVALENT, ids=lambda mutant: mutant.id)
def test_results_stay_right(mutant: Mutant) -> None:
    outcome = try_kernel(subject(mutant.subject), mutant.emitted(), stop=True)
    assert outcome.results is None, f"{outcome.difference}, though {mutant.equivalent}"


@pytest.mark.parametrize("name", dict.fromkeys(mutant.subject for mutant in MUTANTS.values()))
def test_unchanged_kernel_has_no_finding(name: str) -> None:
    outcome = try_kernel(subject(name), subject(name).emitted)
    assert not outcome.caught, f"{outcome.difference} {outcome.findings}"


def test_there_are_enough_of_them() -> None:
    assert len(EXECUTIONS) == 10
    assert len(FAULTS) >= 40 and len(MUTANTS) == len(mutants())


def test_the_page_lists_them_all() -> None:
    listed = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    missing = [mutant.id for mutant in MUTANTS.values() if f"\n| {mutant.name} |" not in listed]
    assert not missing, "python tools/mutants.py --write brings the table up to date"
    assert "**missed**" not in listed and "wrongly equivalent" not in listed
