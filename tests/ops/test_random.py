"""Random numbers against Triton's own, made by Triton 3.6 in its interpreter (tests/ops/data/philox.json)."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import DTypeMismatch, InvalidArgument

KNOWN = json.loads((pathlib.Path(__file__).parent / "data" / "philox.json").read_text(encoding="utf-8"))


def _label(record: dict[str, Any]) -> str:
    return f"seed{record['seed']}_{record['dtype']}_{record['rounds']}"


def _offsets(trace: Any, record: dict[str, Any]) -> Any:
    narrow = record["dtype"] == "int32"
    return trace.input(np.array(record["offsets"], np.int32 if narrow else np.int64), tl.int32 if narrow else tl.int64)


@pytest.mark.parametrize("record", KNOWN, ids=_label)
def test_words_are_tritons(record: dict[str, Any]) -> None:
    with tracing() as trace:
        offsets = _offsets(trace, record)
        if record["dtype"] == "wide":
            words = tl.philox(record["seed"], offsets, offsets, offsets, offsets, record["rounds"])
        else:
            words = tl.randint4x(record["seed"], offsets, record["rounds"])
        got = trace.evaluate(*words)
    assert np.concatenate(got).tolist() == record["words"]


@pytest.mark.parametrize("record", KNOWN, ids=_label)
def test_floats_are_tritons(record: dict[str, Any]) -> None:
    seed, rounds = record["seed"], record["rounds"]
    want = np.array(record["floats"], np.uint32).view(np.float32).reshape(-1, 8)
    with tracing() as trace:
        offsets = _offsets(trace, record)
        if record["dtype"] == "wide":
            words = tl.philox(seed, offsets, offsets, offsets, offsets, rounds)
            assert (trace.evaluate(tl.uint_to_uniform_float(words[0])) == want[0]).all()
            return
        uniform = trace.evaluate(tl.rand(seed, offsets, rounds), *tl.rand4x(seed, offsets, rounds))
        normal = trace.evaluate(tl.randn(seed, offsets, rounds), *tl.randn4x(seed, offsets, rounds))
    assert (np.array(uniform) == want[[0, 2, 3, 4, 5]]).all()
    # Logarithm and cosine are rounded by whoever computes them.
    assert np.abs(np.array(normal) - want[[1, 6, 7, 8, 9]]).max() <= 2.0**-21


def test_randint_and_dtypes() -> None:
    with tracing() as trace:
        offsets = trace.symbol(tl.int32, (8,))
        assert tl.randint(3, offsets).dtype == tl.uint32
        assert tl.rand(3, trace.symbol(tl.int16, (8,))).dtype == tl.float32
        assert tl.randn(trace.symbol(tl.uint64), offsets).shape == (8,)
        wide = trace.symbol(tl.int64, (8,))
        assert tl.philox(3, wide, wide, wide, wide)[2].dtype == tl.uint64
        words = tuple(trace.symbol(tl.uint32, (8,)) for _ in range(6))
        assert tl.philox_impl(*words, 4)[3].dtype == tl.uint32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tl.rand(1.5, x(tl.int32)), DTypeMismatch, "tl.philox: the seed must be an integer, got scalar fp32"),
        (
            lambda x: tl.philox(1, x(tl.int16), 0, 0, 0),
            DTypeMismatch,
            "tl.philox: counters have 32 or 64 bits, got tile i16[8]",
        ),
        (
            lambda x: tl.philox_impl(*(x(tl.int32),) * 6),
            DTypeMismatch,
            "tl.philox_impl takes uint32 or uint64, got tile i32[8]",
        ),
        (
            lambda x: tl.uint_to_uniform_float(x(tl.int16)),
            DTypeMismatch,
            "tl.uint_to_uniform_float takes integers of 32 or 64 bits, got tile i16[8]",
        ),
        (lambda x: tl.rand(1, x(tl.int32), -1), InvalidArgument, "tl.philox: n_rounds must be 0 to 64, got -1"),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], message: str) -> None:
    with tracing() as trace, pytest.raises(error) as caught:
        call(lambda dtype: trace.symbol(dtype, (8,)))
    assert getattr(caught.value, "message", None) == message
