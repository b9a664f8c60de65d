"""Dtypes of what functions and operators make of two dtypes: eager mode says what the front end says, by both levels."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tle2cuda.language as tl
from tests.eager.test_refusals import Values, _program
from tests.ops.harness import Trace
from tle2cuda.eager.language import namespace
from tle2cuda.errors import KernelError
from tle2cuda.ir.builder import Builder
from tle2cuda.levels import LEVELS

DTYPES = (
    *(tl.int1, tl.int8, tl.int16, tl.int32, tl.int64, tl.uint8, tl.uint16, tl.uint32, tl.uint64),
    *(tl.float8e4nv, tl.float8e5, tl.float16, tl.bfloat16, tl.float32, tl.float64),
)
OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.eq),
)
NAMES = ("maximum", "minimum", "fdiv", "umulhi", "cdiv")
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    **{
        name: lambda tl, a, b, name=name: getattr(tl, name)(a, b)
        for name in ("maximum", "minimum", "fdiv", "umulhi", "cdiv")
    },
    **{one.__name__: lambda tl, a, b, one=one: one(a, b) for one in OPERATORS},
    "where": lambda tl, a, b: tl.where(a > a, a, b),
    "clamp": lambda tl, a, b: tl.clamp(a, b, b),
    "clamped by": lambda tl, a, b: tl.clamp(a, a, b),
    "fma": lambda tl, a, b: tl.fma(a, b, a),
    "number": lambda tl, a, b: tl.maximum(a, 3) + b,
    "float number": lambda tl, a, b: tl.minimum(a, 0.5) * b,
}


def _dtypes(function: Callable[[Any, Any, Any], Any], module: Any, symbol: Callable[[Any], Any]) -> dict[Any, str]:
    found = {}
    for a, b in itertools.product(DTYPES, DTYPES):
        try:
            found[a.name, b.name] = function(module, symbol(a), symbol(b)).dtype.name
        except KernelError as error:
            found[a.name, b.name] = type(error).__name__
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_dtypes_of_two(level: str) -> None:
    builder = Builder(4, language=level)
    differ = []
    for name, function in FUNCTIONS.items():
        with builder.active(), builder.region() as ops:
            trace = Trace(builder, ops)
            want = _dtypes(function, tl, lambda d, trace=trace: trace.symbol(d, (4,)))
        with _program(level) as memory, np.errstate(all="ignore"):
            got = _dtypes(function, namespace(tl), Values(memory).symbol)
        differ += [f"{name} of {pair}: {want[pair]}, eager mode {got[pair]}" for pair in want if want[pair] != got[pair]]
    assert not differ, "\n".join(differ[:40])
