"""What Triton 3.9 has and 3.6 lacks: refused by the rules of 3.6, and what 3.9 refuses."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import error_of
from tle2cuda.errors import NotSupported

SETTING = 'read it by those of 3.9: language="3.9" of tle2cuda.jit, compile or emit, --language, TLE2CUDA_LANGUAGE'
CALLS = {
    "tl.squeeze": "tl.squeeze(tl.arange(0, 8)[None, :], 0)",
    "tl.unsqueeze": "tl.arange(0, 8).unsqueeze(0)",
    "tl.to_tensor": "tl.to_tensor(3)",
    "tl.expect_zero": "tl.expect_zero(n, n > 3)",
    "tl.atomic_load": "tl.atomic_load(p)",
    "tl.atomic_store": "tl.atomic_store(p, n)",
    "tl.atomic_poll": "p.atomic_poll(n)",
    "tl.fdiv: approx": "tl.fdiv(1.0, 2.0, approx=True)",
    "tl.topk: descending": "tl.topk(tl.arange(0, 8), 4, descending=False)",
    "tl.cat: dim": "tl.cat(tl.arange(0, 8), tl.arange(0, 8), can_reorder=True, dim=0)",
}


@pytest.mark.parametrize("name", CALLS)
def test_refused_by_the_rules_of_3_6(name: str, tmp_path: pathlib.Path) -> None:
    error = error_of(f"@tle2cuda.jit\ndef k(p, n):\n    {CALLS[name]}\n", tmp_path, "*i32, i32")
    assert isinstance(error, NotSupported)
    assert error.message == f"{name} is of Triton 3.9, and this kernel is read by the rules of 3.6"
    assert error.help == SETTING


@pytest.mark.parametrize("name", CALLS)
def test_taken_by_the_rules_of_3_9(name: str, tmp_path: pathlib.Path) -> None:
    source = f'@tle2cuda.jit(language="3.9")\ndef k(p, n):\n    {CALLS[name]}\n    tl.void\n'
    assert "has no attribute `void`" in str(error_of(source, tmp_path, "*i32, i32"))


@pytest.mark.parametrize(
    ("call", "signature", "message"),
    [
        ("tl.squeeze(tl.arange(0, 8)[:, None], 0)", "*i32", "tl.squeeze: axis 0 has 8 elements, only one of 1 can go"),
        ("tl.atomic_load(p)", "*i8", "tl.atomic_load works on elements of 16, 32 or 64 bits, not on int8"),
        ("tl.atomic_store(p, 1)", "*i8", "tl.atomic_store works on elements of 16, 32 or 64 bits, not on int8"),
        (
            'tl.atomic_store(p, 1, sem="acquire")',
            "*i32",
            "tl.atomic_store: sem must be one of 'release', 'relaxed', got 'acquire'",
        ),
        (
            'tl.atomic_load(p, sem="acq_rel")',
            "*i32",
            "tl.atomic_load: sem must be one of 'acquire', 'relaxed', got 'acq_rel'",
        ),
        ("tl.atomic_poll(p, 1.0)", "*fp32", "tl.atomic_poll works on integers of 16, 32 or 64 bits, not on float32"),
        ("tl.atomic_poll(p + tl.arange(0, 8), 1)", "*i32", "tl.atomic_poll takes one pointer, got tile *i32[8]"),
        ("tl.expect_zero(1.0, 3.0)", "*i32", "tl.expect_zero: the mask must be bool (int1), got scalar fp32"),
        (
            "tl.fdiv(1.0, 2.0, ieee_rounding=True, approx=True)",
            "*i32",
            "tl.fdiv: ieee_rounding and approx contradict each other",
        ),
    ],
)
def test_what_3_9_refuses(call: str, signature: str, message: str, tmp_path: pathlib.Path) -> None:
    error = error_of(f'@tle2cuda.jit(language="3.9")\ndef k(p):\n    {call}\n', tmp_path, signature)
    assert error.message == message


@tle2cuda.jit
def by_the_environment(out):
    tl.store(out + tl.arange(0, 8), tl.topk(tl.arange(0, 16), 8, descending=False))


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_level_of_the_environment(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    monkeypatch.setenv("TLE2CUDA_LANGUAGE", "3.9")
    out = np.zeros(8, np.int32)
    by_the_environment[(1,)](out)
    assert out.tolist() == list(range(8))


@tle2cuda.jit
def squeezed(out):
    tl.store(out, tl.squeeze(out[None], 0))


def test_eager_mode_refuses_them_too() -> None:
    with pytest.raises(NotSupported, match=r"tl\.squeeze is of Triton 3\.9"):
        squeezed.eager[(1,)](np.zeros(1, np.int32))
