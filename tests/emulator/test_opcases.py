"""Every small kernel of tests/opcases, as its emitted file, under three schedules: what the interpreter computes.

That the interpreter computes what NumPy does is shown by tests/test_opcases.py.
"""

from __future__ import annotations

import zlib

import pytest

from tests.opcases import cases
from tle2cuda.emulator import emulate

CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_emitted_file_computes_what_the_interpreter_does(name: str) -> None:
    case = CASES[name]
    seed = zlib.crc32(name.encode())
    # The two spellings of a kernel mostly agree; half of the cases take one, half the other.
    emitted = case.emit(headers=("minimal", "toolkit")[seed % 2])
    inputs = case.inputs()
    arguments = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    want = {name: array for name, array in case.interpret().items() if name in arguments}
    for schedule in ("forward", "reverse", "random"):
        grid = emitted.contract.launch_grid(case.grid)
        result = emulate(emitted, grid, arguments, schedule=schedule, seed=seed, detect="all").check()
        differences = case.differences(result.outputs, want)
        assert not differences, f"{schedule}: {differences}"
