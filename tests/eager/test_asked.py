"""Eager mode refuses misuse of pipes, partitions, barriers and copies in the front end's words."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tests.asynchrony import test_errors
from tests.frontend.kernels_on_file import HEADER, load
from tle2cuda.errors import KernelError

NAMES = (
    "copy_async_dtype",
    "pipe_cursor_of_another",
    "pipe_field_reserved",
    "specialize_too_many",
    "wait_group",
    "wgmma_read_in_flight",
    "wgmma_rows",
)


@pytest.mark.parametrize("case", [c for c in test_errors.CASES if c.name in NAMES], ids=lambda case: case.name)
def test_the_front_end_is_asked(case: test_errors.Case, tmp_path: pathlib.Path) -> None:
    kernel = load(test_errors._PRELUDE + case.body, tmp_path).k
    with pytest.raises(KernelError) as caught:
        kernel.eager[(1,)](np.zeros(4096, np.float32), np.zeros(4096, np.float16), 3, np.zeros(4096, np.int32))
    lines = str(caught.value).splitlines()
    assert [line for line in lines if not line.startswith("  in program ")] == case.text.splitlines()


_SKIPPED_ROUND = """
@tle2cuda.jit
def skip(w):
    w.acquire(2)


@tle2cuda.jit
def take(r):
    r.wait(0)


@tle2cuda.jit
def k(x):
    tl.static_print("traced")
    ring = tle.gpu.alloc([2, 64], tl.float32)
    p = tle.pipe(capacity=2, name="rows", data=ring)
    tle.gpu.warp_specialize([(take, (p.reader(),)), (skip, (p.writer(),))], [1], [24])
"""


def test_errors_of_partitions_name_the_calls_that_led_to_them(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = load(_SKIPPED_ROUND, tmp_path).k
    first = HEADER.count("\n")
    with pytest.raises(KernelError) as caught:
        kernel.eager[(1,)](np.zeros(4, np.float32))
    text = str(caught.value)
    assert text.startswith(f"k.py:{first + 4}:5: acquire of round 1 of stage 0 of pipe `rows`, but its next round is 0")
    assert f"in skip, called from k.py:{first + 17} in k\n" in text and "take" not in text
    assert capsys.readouterr().out == "traced\n", "asking the front end prints nothing"
