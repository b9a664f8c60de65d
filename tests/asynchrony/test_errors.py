"""Every error of pipes, barriers, copies and partitions, word for word: the cases are in `errors.txt`.

What passes find wrong is in `pass_errors.txt`.

`pytest --update-golden` rewrites the texts; review them.
"""

from __future__ import annotations

import pathlib

import pytest

from tests.asynchrony.cases import Case, read_cases
from tests.frontend.kernels_on_file import error_of, trace_text
from tle2cuda.errors import KernelError
from tle2cuda.passes import pipeline

CASES_FILE = pathlib.Path(__file__).parent / "errors.txt"
CASES = read_cases(CASES_FILE)
PASS_CASES_FILE = CASES_FILE.parent / "pass_errors.txt"
PASS_CASES = read_cases(PASS_CASES_FILE)
_PRELUDE = """MESH: tl.constexpr = tle.device_mesh({"block_cluster": [("a", 2)]})

@tle2cuda.jit
def f(a):
    return a


@tle2cuda.jit
def choose(a, b, n):
    if n > 3:
        c = a
    else:
        c = b
    return c


@tle2cuda.jit
def k(x, h, n, out):
    ring = tle.gpu.alloc([2, 64], tl.float32)
    bars = tle.gpu.alloc_barriers(num_barriers=2)
"""
_PYTHONS = {"InvalidArgument": ValueError, "MemoryOperationFailed": RuntimeError, "NotSupported": NotImplementedError}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error(case: Case, tmp_path: pathlib.Path) -> None:
    error = error_of(_PRELUDE + case.body, tmp_path, "*fp32, *fp16, i32, *i32")
    case.compare(error, CASES_FILE)
    assert isinstance(error, _PYTHONS.get(case.kind, Exception))


@pytest.mark.parametrize("case", PASS_CASES, ids=lambda case: case.name)
def test_error_of_a_pass(case: Case, tmp_path: pathlib.Path) -> None:
    prelude = 'GRID: tl.constexpr = tle.device_mesh({"block": [("block_x", 8)]})\n' + _PRELUDE
    kernel = trace_text(prelude + case.body, tmp_path, "*fp32:16, *fp16, i32, *i32")
    with pytest.raises(KernelError) as caught:
        pipeline.run(kernel)
    case.compare(caught.value, PASS_CASES_FILE)
