"""Offsets that wrapped in 32 bits, in the emulator; `detect="offsets"` says where, and which numbers made them."""

from __future__ import annotations

import dataclasses

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


def test_an_access_through_one_is_a_finding_in_any_run() -> None:
    result = run(1 << 16, 1 << 16)
    (finding,) = result.findings
    assert finding.kind == "wrapped" and not finding.fatal
    assert finding.message == (
        "element [0]: the offset wrapped in 32 bits before it reached the pointer: 4294967296 became 0 elements from `x`"
    )
    assert finding.location is not None and "tl.load(x + start + i)" in finding.location.span.source_line()
    assert finding.location.text == "const float x_value = *(x + start + i);"


@tle2cuda.jit
def counts(x, n, BLOCK: tl.constexpr):
    """The offset wraps, and is not used; were the launch not undone that looks for it, every element would be 2."""
    i = tl.arange(0, BLOCK)
    x += i
    tl.store(x, tl.load(x) + 1)
    tl.device_print("n", n)
    tl.store(x + n * n, 7.0, mask=i < 0)


@pytest.mark.parametrize("detect", [(), "offsets"])
def test_what_a_mask_leaves_out_is_no_finding(detect, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    x = np.zeros(16, np.float32)
    result = tle2cuda.emulate(counts, 1, {"x": x, "n": 1 << 16, "BLOCK": 16}, detect=detect)
    assert not result.findings and (result.outputs["x"] == 1).all() and (x == 0).all()
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    counts[(1,)](x, 1 << 16, BLOCK=16)
    assert (x == 1).all() and capfd.readouterr().out.count("65536") == 1


@tle2cuda.jit
def endless(x, n):
    while tl.load(x + n * n) == 0:
        pass


def test_a_launch_that_cannot_be_followed_is_left_to_the_emulation() -> None:
    result = tle2cuda.emulate(endless, 1, {"x": np.zeros(4, np.float32), "n": 1}, stall_s=0.2)
    assert [finding.kind for finding in result.findings] == ["endless_loop"]


def test_detection_needs_the_kernel() -> None:
    emitted = tle2cuda.emit(scaled_rows, signature="*fp32, *fp32, i32, i32, 16")
    arguments = [np.zeros(64, np.float32), np.zeros(16, np.float32), 1 << 16, 1 << 16]
    assert [finding.kind for finding in tle2cuda.emulate(emitted, 1, arguments, detect="offsets").findings] == ["wrapped"]
    emitted = dataclasses.replace(emitted, traced=None)
    with pytest.raises(ArgumentError, match="detect='offsets' needs the kernel itself"):
        tle2cuda.emulate(emitted, 1, [np.zeros(64, np.float32), np.zeros(16, np.float32), 1, 1], detect="offsets")
