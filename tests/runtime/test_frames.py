"""Errors of a launch show frames and causes of the user's code alone."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl


def table(key: str) -> int:
    return {"a": 1}[key]


@tle2cuda.jit
def misspelt(x, B: tl.constexpr):
    tl.stor(x + tl.arange(0, B), 1.0)


@tle2cuda.jit
def unknown_keyword(x, B: tl.constexpr):
    tl.store(x + tl.arange(0, B), 1.0, maskk=True)


@tle2cuda.jit
def divided_by_zero(x, B: tl.constexpr):
    tl.store(x, B // 0)


@tle2cuda.jit
def multiplied_in_place(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    v @= v


@tle2cuda.jit
def host_function(x, B: tl.constexpr):
    tl.store(x, table("b"))


def failure(kernel: Any) -> BaseException:
    with pytest.raises(tle2cuda.errors.KernelError) as caught:
        kernel[(1,)](np.zeros(16, np.float32), B=16)
    return caught.value


def chain(error: BaseException) -> list[BaseException]:
    """An error and what Python prints in front of it."""
    found = [error]
    while (before := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        found.append(before)
        error = before
    return found


@pytest.mark.parametrize("device", ["interpreter", "emulator"])
@pytest.mark.parametrize("kernel", [misspelt, unknown_keyword, divided_by_zero, multiplied_in_place])
def test_nothing_stands_in_front_of_an_error_in_a_kernel(kernel: Any, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    error = failure(kernel)
    assert chain(error) == [error]
    if sys.version_info >= (3, 11):  # before, raising again adds the last of our frames
        assert {frame.filename for frame in traceback.extract_tb(error.__traceback__)} == {__file__}


def test_a_host_function_that_raises_is_shown_with_its_own_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    error = failure(host_function)
    _, cause = chain(error)
    assert isinstance(cause, KeyError)
    assert [frame.name for frame in traceback.extract_tb(cause.__traceback__)] == ["table"]
