"""Loops that move tiles of pointers carry a scalar offset in their place."""

from __future__ import annotations

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.compiler import trace_specialized
from tle2cuda.interpreter import run
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, walk
from tle2cuda.ir.types import I64, TileType
from tle2cuda.passes.carried_pointers import carry_offsets
from tle2cuda.runtime.signature import parse_signature


@tle2cuda.jit
def strided(x, out, n, step, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pointers, targets = x + i, out + i
    for _ in range(n):
        pointers += step
        tl.store(targets, tl.load(pointers))
        pointers += 2
        targets += BLOCK
    tl.store(targets, tl.load(pointers))


@tle2cuda.jit
def scattered(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pointers = x + i
    for _ in range(n):
        pointers += i  # each element by an amount of its own
    tl.store(out + i, tl.load(pointers))


def traced(kernel, signature: str) -> Kernel:
    return trace_specialized(kernel, parse_signature(kernel.parameters, signature), num_warps=1, arch="sm_90a")


def carried(kernel: Kernel) -> list[object]:
    (loop,) = [op for op in walk(kernel.body) if op.name == "for"]
    return [value.type for value in loop.results]


def test_uniform_steps_become_one_scalar() -> None:
    before = traced(strided, "*i32, *i32, i32, i32, 8")
    after = carry_offsets(before)
    verify(after)
    assert carried(after) == [I64, I64]
    outputs = []
    for kernel in (before, after):
        x, out = np.arange(100, dtype=np.int32), np.zeros(40, np.int32)
        run(kernel, (1, 1, 1), {"x": x, "out": out, "n": 3, "step": 1})
        outputs.append(out)
    expected = np.concatenate([np.arange(8) + start for start in (1, 4, 7, 9)])
    assert (outputs[0][:32] == expected).all() and (outputs[0] == outputs[1]).all()


def test_other_steps_stay() -> None:
    before = traced(scattered, "*i32, *i32, i32, 8")
    assert carry_offsets(before) is before
    assert isinstance(carried(before)[0], TileType)
