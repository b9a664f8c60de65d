"""A hundred random programs: eager mode, the interpreter, and for some of them the emulator agree; faults are found."""

from __future__ import annotations

import ast
import pathlib

import numpy as np
import pytest

from tests.fuzz.__main__ import minimal, report
from tests.fuzz.check import check
from tests.fuzz.generate import program
from tle2cuda.eager import operators

# Numbers overflow in these programs, and become NaN: on a GPU nobody is warned of that.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

SEEDS = 100
EMULATED_EVERY = 5  # emitted, compiled and run takes most of the time; ``python -m tests.fuzz`` does it for all


@pytest.mark.parametrize("seed", range(SEEDS))
def test_devices_agree(seed: int, tmp_path: pathlib.Path) -> None:
    devices = ("interpreter", "eager", "emulator") if seed % EMULATED_EVERY == 0 else ("interpreter", "eager")
    if check(program(seed), tmp_path, devices) is not None:
        pytest.fail(report(seed, devices, budget=100), pytrace=False)


def test_a_fault_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Integer division that rounds down in eager mode: the program left is little more than that division."""
    monkeypatch.setattr(operators, "_truncated_quotient", lambda x, y: np.floor_divide(x, np.where(y == 0, 1, y)))
    devices = ("interpreter", "eager")
    seed = next(seed for seed in range(200) if check(program(seed), tmp_path, devices) is not None)
    small, failure = minimal(seed, devices, budget=400)
    assert failure.kind.startswith("eager differs from interpreter in ")
    kernel = next(node for node in ast.parse(small.text).body if isinstance(node, ast.FunctionDef) and node.name == "k")
    assert any(isinstance(node, (ast.FloorDiv, ast.Mod)) for node in ast.walk(kernel)), small.text
    assert len(ast.unparse(kernel).splitlines()) <= 12, small.text
