"""Random control flow: what a traced function computes in the interpreter is what Python computes.

Programs use small non-negative ints, so that Python's and C's integers agree; the names that are carried, merged and
returned are the point.
"""

from __future__ import annotations

import ctypes
import pathlib
import random
import shutil
import subprocess
import types
from typing import Any

import numpy as np
import pytest

import tle2cuda
from tests.frontend.kernels_on_file import load

NAMES = ("a", "b", "c", "d")
PROGRAMS = 24


class Writer:
    """Writes one device function `f{number}(a, b)`; earlier ones may be called."""

    def __init__(self, choose: random.Random, number: int) -> None:
        self.choose = choose
        self.number = number
        self.lines: list[str] = []
        self.fresh = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def expression(self, depth: int = 0) -> str:
        kind = self.choose.randrange(8 if depth < 2 else 2)
        if kind == 0:
            return str(self.choose.randrange(6))
        if kind == 1 or (kind > 6 and self.number == 0):
            return self.choose.choice(NAMES)
        left, right = self.expression(depth + 1), self.expression(depth + 1)
        if kind <= 4:
            return f"({left} {self.choose.choice(('+', '*', '^', '|', '&'))} {right})"
        if kind <= 6:
            return f"({left} + 0 * a if {self.condition()} else {right} + 0 * a)"
        return f"f{self.choose.randrange(self.number)}({left} & 15, {right} & 15)"

    def condition(self) -> str:
        def simple() -> str:
            return f"{self.choose.choice(NAMES)} {self.choose.choice(('<', '>=', '==', '!='))} {self.choose.randrange(8)}"

        kind = self.choose.randrange(5)
        if kind == 0:
            return f"{simple()} and {simple()}"
        if kind == 1:
            return f"not {simple()}"
        if kind == 2:
            return f"{simple()} or {self.choose.choice(('1 > 2', '2 > 1', simple()))}"
        return simple()

    def assign(self, depth: int) -> None:
        if self.choose.random() < 0.2:
            first, second = self.choose.sample(NAMES, 2)
            self.line(depth, f"{first}, {second} = {second}, {first}")
        else:
            self.line(depth, f"{self.choose.choice(NAMES)} = ({self.expression()}) & 63")

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.choose.randint(1, 3)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        kind = self.choose.randrange(10) if depth < 4 else 0
        if kind <= 3:
            self.assign(depth)
        elif kind <= 6:
            self.branch(depth, in_loop)
        elif kind == 7:
            self.fresh += 1
            bounds = self.choose.choice(("3", "a & 3", "1, b & 7, 2", "c & 7, 1, -2"))
            self.line(depth, f"for i{self.fresh} in range({bounds}):")
            self.line(depth + 1, f"{self.choose.choice(NAMES)} = (i{self.fresh} + {self.expression()}) & 63")
            self.block(depth + 1, True)
        elif kind == 8:
            self.fresh += 1
            self.line(depth, f"for s{self.fresh} in tl.static_range({self.choose.randrange(3)}):")
            self.line(depth + 1, f"{self.choose.choice(NAMES)} += s{self.fresh}")
            self.block(depth + 1, in_loop)
        else:
            self.fresh += 1
            counter = f"w{self.fresh}"
            self.line(depth, f"{counter} = {self.choose.choice(NAMES)} & 3")
            self.line(depth, f"while {counter} > 0 and ({self.condition()}):")
            self.block(depth + 1, True)
            self.line(depth + 1, f"{counter} -= 1")

    def branch(self, depth: int, in_loop: bool) -> None:
        keywords = ["if"] + ["elif"] * self.choose.randrange(2)
        for keyword in keywords:
            self.line(depth, f"{keyword} {self.choose.choice((self.condition(), self.condition(), '2 > 1'))}:")
            self.arm(depth + 1, in_loop)
        if self.choose.random() < 0.6:
            self.line(depth, "else:")
            self.arm(depth + 1, in_loop)

    def arm(self, depth: int, in_loop: bool) -> None:
        if self.choose.random() < 0.3:
            self.line(depth, f"t = {self.expression()}")
            self.line(depth, f"{self.choose.choice(NAMES)} = (t + 1) & 63")
        self.block(depth, in_loop)
        if not in_loop and self.choose.random() < 0.4:
            self.line(depth, f"return ({self.expression()}) + 0 * a")

    def function(self) -> str:
        self.line(0, "@tle2cuda.jit")
        self.line(0, f"def f{self.number}(a, b):")
        self.line(1, "c = a + 1")
        self.line(1, "d = (a * b + 2) & 63")
        for _ in range(4):
            self.statement(1, False)
        self.line(1, "return a + 2 * b + 3 * c + 5 * d")
        return "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    choose = random.Random(seed)
    functions = [Writer(choose, number).function() for number in range(2)]
    kernel = "@tle2cuda.jit\ndef k(out, a, b):\n    tl.store(out, f1(a, b))\n"
    return "\n\n".join([*functions, kernel])


def in_python(source: str) -> Any:
    """`f1` run by Python itself."""
    namespace: dict[str, Any] = {
        "tle2cuda": types.SimpleNamespace(jit=lambda function: function),
        "tl": types.SimpleNamespace(static_range=range),
    }
    exec(source, namespace)
    return namespace["f1"]


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_computes_what_python_computes(seed: int, tmp_path: pathlib.Path) -> None:
    source = program(seed)
    expected, kernel = in_python(source), load(source, tmp_path).k
    for a, b in ((0, 0), (2, 5), (7, 3), (13, 8)):
        out = np.full(1, -1, dtype=np.int32)
        kernel[(1,)](out, a, b)
        wrapped = np.int64(expected(a, b)).astype(np.int32)
        assert out[0] == wrapped, f"{a}, {b}\n{source}"


# Enough of CUDA for one thread of one CTA: the kernels of this file have scalars only.
ONE_THREAD = """
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
struct Index { unsigned x, y, z; };
static const Index threadIdx = {0, 0, 0}, blockIdx = {0, 0, 0}, gridDim = {1, 1, 1}, blockDim = {1, 1, 1};
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("seed", (1, 2, 6, 7, 9, 13, 18, 21))
def test_emitted_text_computes_the_same(seed: int, tmp_path: pathlib.Path) -> None:
    """Passes and lowering keep what control flow means: the emitted text runs on the CPU."""
    source = program(seed)
    emitted = tle2cuda.emit(load(source, tmp_path).k, "*i32, i32, i32")
    text, library = tmp_path / "k.cpp", tmp_path / "k.so"
    text.write_text(ONE_THREAD + emitted.source, encoding="utf-8")
    flags = ["-std=c++17", "-O1", "-fwrapv", "-w", "-shared", "-fPIC"]
    subprocess.run(["g++", *flags, str(text), "-o", str(library)], check=True)
    kernel = getattr(ctypes.CDLL(str(library)), emitted.contract.kernel_name)
    expected = in_python(source)
    for a in range(0, 14, 3):
        for b in range(0, 9, 2):
            out = ctypes.c_int32(-1)
            kernel(ctypes.byref(out), a, b)
            assert out.value == np.int64(expected(a, b)).astype(np.int32), f"{a}, {b}\n{source}"
