"""Grids that are functions of the launch's arguments."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import ArgumentError, UnknownGridName


@tle2cuda.jit
def ones(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1, mask=i < n)


def test_a_name_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the kernel's first launch, and at later ones, whose arguments are known."""
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    out = np.zeros(100, np.int32)
    told = "ones: the grid asks for 'BLOCK_SIZE', which is no parameter of the kernel\n  parameters: out, n, BLOCK\n"
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            ones[lambda meta: (tl.cdiv(meta["n"], meta["BLOCK_SIZE"]),)](out, 100, BLOCK=128)
        assert isinstance(caught.value, ArgumentError)
        assert str(caught.value) == f"{told}  help: did you mean `BLOCK`?"
        assert [frame.name for frame in traceback.extract_tb(caught.tb)][-1] == "<lambda>"
        ones[lambda meta: (tl.cdiv(meta["n"], meta.get("BLOCK_SIZE", 64)),)](out, 100, BLOCK=128)
    assert out.all()
    with pytest.raises(KeyError) as caught:
        ones[lambda meta: (meta["num_warps"],)](out, 100, BLOCK=128, num_warps=4)
    help = "launch options are not among them; take the number from where the launch does"
    assert str(caught.value).endswith(f"  help: {help}")


def test_other_errors_of_a_grid_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    out = np.zeros(100, np.int32)
    for _ in range(2):
        with pytest.raises(KeyError) as caught:
            ones[lambda meta: ({}["mine"],)](out, 100, BLOCK=128)
        assert type(caught.value) is KeyError and caught.value.args == ("mine",)
        ones[(1,)](out, 100, BLOCK=128)


def test_no_configuration_has_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    tuned = tle2cuda.autotune([tle2cuda.Config({"BLOCK": 64}), tle2cuda.Config({"BLOCK": 128})], ["n"])(ones)
    with pytest.raises(UnknownGridName):
        tuned[lambda meta: (tl.cdiv(meta["n"], meta["BLOCK_N"]),)](np.zeros(100, np.int32), 100)
