"""`detect="offsets"`: arithmetic that wraps in 32 bits on its way to a pointer, at its Python line."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError


@tle2cuda.jit
def scaled_rows(x, out, row, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    start = row * stride
    seed = i * 1103515245 + 12345  # wraps too, and is no offset
    tl.store(out + i, tl.load(x + start + i) + (seed % 7).to(tl.float32))


def run(row: int, stride: int, **options):
    x, out = np.arange(64, dtype=np.float32), np.zeros(16, np.float32)
    arguments = {"x": x, "out": out, "row": row, "stride": stride, "BLOCK": 16}
    return tle2cuda.emulate(scaled_rows, 1, arguments, **options)


def test_a_wrapped_offset_is_a_finding_at_its_line() -> None:
    result = run(1 << 16, 1 << 16, detect="offsets")  # 2**32 wraps to 0: nothing else tells
    (finding,) = result.findings
    assert (finding.kind, finding.message) == ("wrapped", "an offset wraps in 32 bits: 65536 * 65536")
    assert finding.location is not None and finding.location.span.source_line().strip() == "start = row * stride"
    assert (result.outputs["out"] == run(0, 1, detect="offsets").outputs["out"]).all()


def test_other_numbers_may_wrap() -> None:
    assert not run(3, 16, detect=("offsets", "bounds")).findings
    assert not run(1 << 16, 1 << 16, detect="all").findings


def test_it_needs_the_kernel() -> None:
    emitted = tle2cuda.emit(scaled_rows, signature="*fp32, *fp32, i32, i32, 16")
    with pytest.raises(ArgumentError, match="detect='offsets' needs the kernel itself"):
        tle2cuda.emulate(emitted, 1, [np.zeros(64, np.float32), np.zeros(16, np.float32), 1, 1], detect="offsets")
