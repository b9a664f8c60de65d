"""A value is the same wherever it is held: loads by several threads against stores through the same argument."""

from __future__ import annotations

from typing import Any

import tle2cuda
import tle2cuda.language as tl


def barriers(kernel: Any, **constants: Any) -> int:
    source = tle2cuda.emit(kernel, "*i32:16, *i32:16", constants, headers="minimal").source
    return source[source.index('extern "C"') :].count("__syncthreads()")


def scalar_then_store(p, out):
    tl.store(p, tl.load(p) + 1)


def scalar_of_another_argument(p, out):
    tl.store(out, tl.load(p) + 1)


def store_then_scalar(p, out):
    tl.store(p, 5)
    tl.store(out, tl.load(p))


def tile(p, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(p + i)
    tl.store(p + i, value + 1)
    tl.store(out + i, value)


def loop(p, out):
    for _ in range(10):
        tl.store(p, tl.load(p) + 1)


def atomic(p, out):
    before = tl.load(p)
    tl.atomic_add(p, 1, sem="relaxed")
    tl.store(out, before)


def test_scalars() -> None:
    assert barriers(scalar_then_store) == 1
    assert barriers(store_then_scalar) == 1
    assert barriers(atomic) == 1
    assert barriers(scalar_of_another_argument) == 0
    assert barriers(loop) == 2


def test_tiles_that_several_threads_hold() -> None:
    assert barriers(tile, N=16) == 1
    assert barriers(tile, N=128) == barriers(tile, N=1024) == 0
