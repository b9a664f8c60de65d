"""What each accepted construct computes: kernels run in the interpreter, results compared with Python's.

A case of `constructs.txt` is the body of a kernel `k(out, n, m)` called with n = 7 and m = 3, below what it needs at
module level, and the values that it stores to the first elements of `out`. `at 3.9` behind its name reads it by the rules
of that version.
"""

from __future__ import annotations

import pathlib
import re
import textwrap

import numpy as np
import pytest

from tests.frontend.kernels_on_file import load

HELPERS = """
@tle2cuda.jit
def pair(a, b, scale: tl.constexpr = 2, *, flip=False):
    if flip:
        return b * scale, a
    return a * scale, b


@tle2cuda.jit
def sign(x):
    if x > 0:
        return 1
    elif x == 0:
        return 0
    return -1


@tle2cuda.jit
def nested_returns(x, y):
    if x > 0:
        if y > 0:
            return 11
        x = x + 1
    else:
        if y > 0:
            return 21
    return x * 100


@tle2cuda.jit
def store_twice(p, v):
    tl.store(p, v)
    tl.store(p + 1, v)


@tle2cuda.jit
def same(x):
    return x


@tle2cuda.jit
def apply(f: tl.constexpr, a, b):
    return f(a, b)


@tle2cuda.jit
def add(a, b):
    return a + b


@tle2cuda.jit
def loops(n):
    total = 0
    for i in range(n):
        total += i
    return total


@tle2cuda.jit
def total_of(size):
    return tl.sum(tl.arange(0, size), axis=0)


def half(x):
    return x // 2


SIZE = tl.constexpr(8)
"""

_SECTION = re.compile(
    r"=== (?P<name>\w+)(?: at (?P<level>[\d.]+))? \| (?P<values>.*?)\n(?:(?P<before>.*?)^---\n)?(?P<body>.*)",
    re.DOTALL | re.MULTILINE,
)


def read_cases() -> list[tuple[str, str, list[float]]]:
    """Name, source and expected values of each case."""
    text = (pathlib.Path(__file__).parent / "constructs.txt").read_text(encoding="utf-8")
    cases = []
    for section in re.split(r"(?=^=== )", text, flags=re.MULTILINE)[1:]:
        found = _SECTION.fullmatch(section)
        assert found, section
        body = textwrap.indent(found["body"].strip("\n"), "    ")
        level = f"(language={found['level']!r})" if found["level"] else ""
        source = f"{found['before'] or ''}\n{HELPERS}\n\n@tle2cuda.jit{level}\ndef k(out, n, m):\n{body}\n"
        cases.append((found["name"], source, [float(value) for value in found["values"].split(",")]))
    return cases


CASES = read_cases()


@pytest.mark.parametrize(("name", "source", "expected"), CASES, ids=[name for name, _, _ in CASES])
def test_construct(name: str, source: str, expected: list[float], tmp_path: pathlib.Path) -> None:
    kernel = load(source, tmp_path).k
    out = np.full(8, 999, dtype=np.float32)
    kernel[(1,)](out, 7, 3)
    assert out[: len(expected)].tolist() == np.array(expected, dtype=np.float32).tolist()
    assert (out[len(expected) :] == 999).all()
