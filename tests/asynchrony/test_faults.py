"""What the interpreter says of kernels that wait in vain or misuse barriers and pipes: the cases are in `faults.txt`.

`pytest --update-golden` rewrites the texts; review them.
"""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tests.asynchrony.cases import Case, read_cases
from tests.frontend.kernels_on_file import trace_text
from tle2cuda import interpreter
from tle2cuda.errors import InterpreterError
from tle2cuda.passes import canonicalise

CASES_FILE = pathlib.Path(__file__).parent / "faults.txt"
CASES = read_cases(CASES_FILE)
_PRELUDE = """MESH: tl.constexpr = tle.device_mesh({"block_cluster": [("cluster_x", 2)]})
@tle2cuda.jit
def nothing():
    pass


@tle2cuda.jit
def wait_at(bar, phase):
    tle.gpu.barrier_wait(bar, phaseIdx=phase)


@tle2cuda.jit
def wait_named(bar):
    tle.gpu.barrier_wait(bar)


@tle2cuda.jit
def arrive_at(bar, phase):
    tle.gpu.barrier_arrive(bar, phaseIdx=phase)


@tle2cuda.jit
def fill(w, start, n):
    for k in range(start, n):
        s = w.acquire(k)
        s.data.store(tl.full([64], k, tl.float32))
        w.commit(k)


@tle2cuda.jit
def drain(r, start, n):
    for k in range(start, n):
        got = r.wait(k)
        r.release(k)


@tle2cuda.jit
def hold(r, n):
    for k in range(n):
        got = r.wait(k)


@tle2cuda.jit
def k(x, n):
    ring = tle.gpu.alloc([2, 64], tl.float32)
    bars = tle.gpu.alloc_barriers(num_barriers=2)
"""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fault(case: Case, tmp_path: pathlib.Path) -> None:
    kernel = trace_text(_PRELUDE + case.body, tmp_path, "*fp32, i32")
    errors = []
    for version in (kernel, canonicalise.run(kernel)):
        with pytest.raises(InterpreterError) as caught:
            interpreter.run(version, version.cluster_size, [np.zeros((8, 64), np.float32), 3])
        errors.append(caught.value)
    case.compare(errors[0], CASES_FILE)
    assert str(errors[1]) == str(errors[0])
