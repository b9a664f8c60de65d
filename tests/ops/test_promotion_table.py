"""Result dtypes of every operation on every pair of dtypes, as Triton 3.6 compiles it for sm_90 (data/promotion.json).

`!` is an error there. It is one here as well, but for float8: beside Python numbers, and in casts from and to integers,
where the value goes through float32.
"""

from __future__ import annotations

import json
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import KernelError
from tle2cuda.ir.types import ALL_DTYPES

TABLE = json.loads((pathlib.Path(__file__).parent / "data" / "promotion.json").read_text(encoding="utf-8"))
TYPES = TABLE["types"].split()
DTYPES = {dtype.short: dtype for dtype in ALL_DTYPES}
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and_": lambda a, b: a & b,
    "lshift": lambda a, b: a << b,
    "rshift": lambda a, b: a >> b,
    "lt": lambda a, b: a < b,
    "where": lambda a, b: tl.where(True, a, b),
    "maximum": tl.maximum,
}
LITERALS = {"float('inf')": float("inf"), "True": True}


def result_of(compute: Callable[[Any], Any]) -> str:
    """Short name of the result's dtype, `!` for an error."""
    with tracing() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return str(compute(trace).dtype.short)
        except KernelError:
            return "!"


def literal(text: str) -> Any:
    return LITERALS[text] if text in LITERALS else json.loads(text)


def differing(rows: list[str], columns: list[str], compute: Callable[[Any, str, str], Any]) -> list[str]:
    """What differs from a table with a row for every dtype."""
    found = []
    for first, row in zip(TYPES, rows, strict=True):
        for second, want in zip(columns, row.split(), strict=True):
            got = result_of(lambda trace, a=first, b=second: compute(trace, a, b))
            is_wider = want == "!" and ("fp8" in first or second.startswith("fp8"))
            if got != want and not is_wider:
                found.append(f"{first}, {second}: {got}, not {want}")
    return found


@pytest.mark.parametrize("name", TABLE["operations"])
def test_two_values(name: str) -> None:
    operation = OPERATIONS[name]
    pairs = TABLE["operations"][name]
    # Two run-time values follow Triton everywhere, float8 included.
    with_fp8 = [
        f"{a}, {b}"
        for a, row in zip(TYPES, pairs, strict=True)
        for b, want in zip(TYPES, row.split(), strict=True)
        if result_of(lambda t, a=a, b=b: operation(t.symbol(DTYPES[a]), t.symbol(DTYPES[b]))) != want
    ]
    assert not with_fp8


@pytest.mark.parametrize("name", TABLE["with_literals"])
def test_a_value_and_a_number(name: str) -> None:
    operation, side = OPERATIONS[name.split()[0]], name.split()[1]

    def compute(trace: Any, dtype: str, text: str) -> Any:
        value, number = trace.symbol(DTYPES[dtype]), literal(text)
        return operation(value, number) if side == "right" else operation(number, value)

    assert not differing(TABLE["with_literals"][name], TABLE["literals"], compute)


def test_casts() -> None:
    assert not differing(TABLE["casts"], TYPES, lambda trace, a, b: trace.symbol(DTYPES[a]).to(DTYPES[b]))


@pytest.mark.parametrize("name", TABLE["atomics"])
def test_atomics(name: str) -> None:
    """As Triton, but for bit atomics of floats, which no GPU has."""
    for dtype, want in zip(TABLE["atomic_types"].split(), TABLE["atomics"][name].split(), strict=True):

        def compute(trace: Any, dtype: str = dtype) -> Any:
            pointer, value = trace.pointer(DTYPES[dtype]), trace.symbol(DTYPES[dtype])
            operands = (value, value) if name == "atomic_cas" else (value,)
            return getattr(tl, name)(pointer, *operands)

        is_bits_of_float = name in ("atomic_and", "atomic_or", "atomic_xor") and dtype.startswith("fp")
        assert result_of(compute) == ("!" if is_bits_of_float else want), dtype
