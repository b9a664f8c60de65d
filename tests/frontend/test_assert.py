"""`assert` in kernels: known to hold it is nothing, known to fail it is a warning, and a failure when it is reached."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import KernelError, KernelWarning


@tle2cuda.jit
def checked(out, n, B: tl.constexpr):
    assert B > 16
    if n > 3:
        assert B > 64, f"B is {B}"
    tl.store(out, n)


@pytest.mark.parametrize("device", ["interpreter", "eager"])
def test_an_assertion_that_is_known_to_fail(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(1, np.int32)
    checked[(1,)](out, 3, B=128)
    if device == "interpreter":
        with pytest.warns(KernelWarning, match=r"^this assertion fails whenever the kernel gets here: B is 32$"):
            checked[(1,)](out, 2, B=32)
    else:
        checked[(1,)](out, 2, B=32)
    assert out[0] == 2
    with pytest.raises((KernelError, AssertionError), match="B is 32"):
        checked[(1,)](out, 4, B=32)


def test_it_is_emitted() -> None:
    with pytest.warns(KernelWarning):
        text = tle2cuda.emit(checked, "*i32, i32, 32", debug=True).source
    assert "B is 32" in text


@tle2cuda.jit
def told(out, n):
    tl.static_assert(True, f"{n} is bad")
    tl.device_assert(n > 0, f"n = {n:>3}")
    tl.store(out, n)


def test_run_time_values_in_text_become_their_types() -> None:
    with pytest.warns(KernelWarning) as warned:
        text = tle2cuda.emit(told, "*i32, i32", debug=True).source
    said = "an f-string is made at compile time: `n` becomes 'scalar i32', its type; tl.device_print prints run-time values"
    assert [str(w.message) for w in warned] == [said, said]
    assert '"n = scalar i32"' in text
