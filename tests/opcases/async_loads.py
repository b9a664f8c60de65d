"""`tle.load(is_async=True)`: staged by cp.async where that is possible, waited for before the first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle


@tle2cuda.jit
def several(x, y, out, n, BLOCK: tl.constexpr):
    """Used in another order than loaded, one of them twice, one not at all, one inside of a loop."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tle.load(x + i, mask=i < n, other=0, is_async=True)
    b = tle.load(y + i, mask=i < n, is_async=True, eviction_policy="evict_first")
    tle.load(x + i, mask=i < n, is_async=True)
    c = tle.load(x + n - 1 - i, mask=i < n, is_async=True)
    total = b + b
    for step in range(3):
        total += (a * step).to(a.dtype)
    tl.store(out + i, total - c, mask=i < n)


@tle2cuda.jit
def next_in_flight(x, out, n, BLOCK: tl.constexpr):
    """The next tile is loaded while this one is worked on."""
    i = tl.arange(0, BLOCK)
    ahead = tle.load(x + i, mask=i < n, is_async=True)
    for start in range(0, n, BLOCK):
        value = ahead
        later = start + BLOCK + i
        ahead = tle.load(x + later, mask=later < n, other=0, is_async=True)
        tl.store(out + start + i, tl.flip(value), mask=start + i < n)


@tle2cuda.jit
def rows(x, at, out, N, ROWS: tl.constexpr, BN: tl.constexpr):
    """Rows in any order; reduced, so that other threads use what these copied."""
    i, j = tl.arange(0, ROWS), tl.arange(0, BN)
    place = tl.load(at + i)[:, None] * N + j[None, :]
    value = tle.load(x + place, mask=j[None, :] < N, other=0, is_async=True)
    tl.store(out + j, tl.sum(value.to(tl.float32), axis=0), mask=j < N)


@tle2cuda.jit
def in_place(x, n, BLOCK: tl.constexpr):
    """Memory that the kernel writes is read before that, not later."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tle.load(x + i, mask=i < n, is_async=True)
    tl.store(x + i, i, mask=i < n)
    tl.store(x + i, value + tl.load(x + i, mask=i < n), mask=i < n)


@tle2cuda.jit
def on_one_path(x, out, n, BLOCK: tl.constexpr):
    """Loaded in front of a branch, used in one of its arms, loaded in an arm and used behind."""
    i = tl.arange(0, BLOCK)
    value = tle.load(x + i, is_async=True)
    other = tle.load(x + BLOCK + i, is_async=True)
    result = tl.zeros([BLOCK], tl.float32)
    if n > 3:
        result = value + 1
    else:
        extra = tle.load(x + 2 * BLOCK + i, is_async=True)
        result = extra * 2
    tl.store(out + i, result + other)


def _case(
    name: str, kernel: Any, make: Callable[..., Inputs], reference: Any, constants: Mapping[str, Any], ctas: int = 1
) -> None:
    add_case(OpCase(f"async_load_{name}", "async_loads", kernel, (ctas,), make, reference, constants))


def _values(rng: np.random.Generator, n: Any, dtype: Any) -> Array:
    return rng.integers(-9, 9, n).astype(dtype)


def _register() -> None:
    for dtype in (np.float32, np.int32, np.int64, np.float16, np.int8):
        name = np.dtype(dtype).name

        def sums(inputs: Inputs) -> Mapping[str, Array]:
            x, y = inputs["x"], inputs["y"]
            return {"out": (y + y + x * 3 - x[::-1]).astype(x.dtype)}

        _case(
            f"several_{name}",
            several,
            lambda rng, dtype=dtype: {
                "x": _values(rng, 1003, dtype),
                "y": _values(rng, 1003, dtype),
                "out": poison(1003, dtype),
                "n": 1003,
            },
            sums,
            {"BLOCK": 512},
            2,
        )

        def turned(inputs: Inputs) -> Mapping[str, Array]:
            x = np.zeros(1024, inputs["x"].dtype)
            x[:1000] = inputs["x"]
            return {"out": x.reshape(-1, 256)[:, ::-1].reshape(-1)[:1000].copy()}

        _case(
            f"next_in_flight_{name}",
            next_in_flight,
            lambda rng, dtype=dtype: {"x": _values(rng, 1000, dtype), "out": poison(1000, dtype), "n": 1000},
            turned,
            {"BLOCK": 256},
        )
    for dtype in (np.float32, BF16):
        _case(
            f"rows_{np.dtype(dtype).name}",
            rows,
            lambda rng, dtype=dtype: {
                "x": _values(rng, (20, 96), dtype),
                "at": rng.permutation(20)[:8].astype(np.int32),
                "out": poison(96, np.float32),
                "N": 96,
            },
            lambda inputs: {"out": inputs["x"][inputs["at"]].astype(np.float32).sum(0)},
            {"ROWS": 8, "BN": 128},
        )
    _case(
        "in_place",
        in_place,
        lambda rng: {"x": _values(rng, 700, np.int32), "n": 700},
        lambda inputs: {"x": inputs["x"] + np.arange(700, dtype=np.int32)},
        {"BLOCK": 256},
        3,
    )
    for n in (3, 4):

        def chosen(inputs: Inputs) -> Mapping[str, Array]:
            a, b, c = inputs["x"]
            return {"out": (a + 1 if inputs["n"] > 3 else c * 2) + b}

        _case(
            f"on_one_path_{n}",
            on_one_path,
            lambda rng, n=n: {"x": _values(rng, (3, 256), np.float32), "out": poison(256, np.float32), "n": n},
            chosen,
            {"BLOCK": 256},
        )


_register()
