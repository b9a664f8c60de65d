"""Kernels read by the rules of Triton 3.9: atomic loads, stores and polling, and what else 3.6 lacks."""

from __future__ import annotations

from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison


@tle2cuda.jit(language="3.9")
def copied_atomically(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.atomic_load(x + i, mask=i < n)
    (out + i).atomic_store(value, mask=i < n, sem="relaxed", scope="sys")


@tle2cuda.jit(language="3.9")
def short_flags(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = (x + i).atomic_load(mask=i < n, sem="relaxed")
    tl.store(out + i, value)
    tl.store(out + BLOCK, tl.atomic_load(x + n - 1, mask=n > 0, scope="sys"))


@tle2cuda.jit(language="3.9")
def passed_on(values, flags, out, n):
    """Every program waits for the one before, adds to what it left, and lets the next one go."""
    pid = tl.program_id(0)
    if pid > 0:
        tl.atomic_poll(flags + pid - 1, 7)
        tl.store(values + pid, tl.load(values + pid - 1) + pid)
    tl.atomic_store(flags + pid, 7)
    seen = tl.atomic_poll(flags + pid, 7, sem="relaxed", scope="gpu", timeout_ns=0)
    never = (flags + n).atomic_poll(1, timeout_ns=tl.to_tensor(1000))
    tl.store(out + 2 * pid, seen)
    tl.store(out + 2 * pid + 1, never)


@tle2cuda.jit(language="3.9")
def by_the_rules(x, y, out, wide, n, M: tl.constexpr, N: tl.constexpr):
    """Numbers adapt to bfloat16 and float16, bfloat16 stays, comparisons chain."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    at = rows.unsqueeze(1) * N + tl.unsqueeze(cols, 0)
    value = tl.load(x + at)
    limited = tl.minimum(tl.maximum(value, 0.1), 2.3)
    limited = tl.expect_zero(tl.where(-1.0 < value < 2.7, limited, 0.0), value < -1e6)
    tl.store(out + at, limited)
    best, place = tl.max(value, axis=1, return_indices=True)
    sums = tl.cumsum(value, axis=1).to(tl.float32)
    row = tl.squeeze(tl.sum(sums, 0, keep_dims=True), 0)
    tl.store(wide + cols, tl.fdiv(row, 3.0, approx=True))
    tl.store(wide + N + rows, best.to(tl.float32) + place)
    half = tl.load(y + cols)
    tl.store(wide + N + M + cols, (half > 0.3).to(tl.float32))


@tle2cuda.jit(language="3.9")
def short_stores(x, out, flags, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.atomic_store(out + i, value, mask=i < n, scope="sys")
    tl.atomic_store(flags + tl.program_id(0), n)
    (out + BLOCK).atomic_store(tl.sum(value, 0), sem="relaxed")
    for scope in tl.static_range(3):  # a lock that is free, and one that is not
        reach: tl.constexpr = ("cta", "gpu", "sys")[scope]
        tl.atomic_cas(flags + 1 + scope, n, 3, scope=reach)
        tl.atomic_cas(flags + 4 + scope, 0, 3, scope=reach)


def _register_short_stores() -> None:
    for dtype in (np.int16, np.uint16, np.float16, BF16):

        def make(rng: np.random.Generator, dtype: Any = dtype) -> Inputs:
            x = rng.integers(-4, 4, 64).astype(np.int16).astype(dtype)
            return {"x": x, "out": poison(65, dtype), "flags": np.full(7, 50, np.int16), "n": 50}

        def expect(inputs: Inputs) -> dict[str, Array]:
            out = inputs["out"].copy()
            out[:50] = inputs["x"][:50]
            out[64] = inputs["x"].astype(np.float64).sum() if inputs["x"].dtype.kind not in "iu" else inputs["x"].sum()
            return {"out": out, "flags": np.array([50, 3, 3, 3, 50, 50, 50], np.int16)}

        case = OpCase(f"atomic_store_{np.dtype(dtype).name}", "newer", short_stores, (1,), make, expect, {"BLOCK": 64}, 2)
        add_case(case)


def _register_copies() -> None:
    for dtype in (np.int32, np.uint64, np.float32, np.float64, np.int64):
        name = np.dtype(dtype).name

        def make(rng: np.random.Generator, dtype: Any = dtype) -> Inputs:
            return {"x": numbers(rng, 203, dtype), "out": poison(203, dtype), "n": 203}

        def expect(inputs: Inputs) -> dict[str, Array]:
            return {"out": inputs["x"]}

        case = OpCase(f"atomic_load_{name}", "newer", copied_atomically, (2,), make, expect, {"BLOCK": 128}, 4)
        add_case(case)

    def make_short(rng: np.random.Generator) -> Inputs:
        return {"x": numbers(rng, 51, np.float16), "out": poison(65, np.float16), "n": 51}

    def expect_short(inputs: Inputs) -> dict[str, Array]:
        return {"out": np.concatenate([inputs["x"], np.zeros(13, np.float16), inputs["x"][-1:]])}

    add_case(OpCase("atomic_load_float16", "newer", short_flags, (1,), make_short, expect_short, {"BLOCK": 64}, 1))


def _register_waiting() -> None:
    for programs, dtype in ((1, np.int32), (6, np.int32), (5, np.uint64)):

        def make(rng: np.random.Generator, programs: int = programs, dtype: Any = dtype) -> Inputs:
            return {
                "values": np.zeros(programs, np.int32),
                "flags": np.zeros(programs + 1, dtype),
                "out": poison(2 * programs, np.int32),
                "n": programs,
            }

        def expect(inputs: Inputs) -> dict[str, Array]:
            n = inputs["n"]
            flags = np.full(n + 1, 7).astype(inputs["flags"].dtype)
            flags[n] = 0
            return {
                "values": np.cumsum(np.arange(n)).astype(np.int32),
                "flags": flags,
                "out": np.tile(np.array([1, 0], np.int32), n),
            }

        name = f"atomic_poll_{programs}_{np.dtype(dtype).name}"
        add_case(OpCase(name, "newer", passed_on, (programs,), make, expect, {}, 4))


def _register_rules() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        return {
            "x": (rng.integers(-8, 8, (4, 8)) / 2).astype(BF16),
            "y": np.array([0.3, 0.2, 0.4, -1, 0.3, 0, 7, np.nan], np.float16),
            "out": poison((4, 8), BF16),
            "wide": poison(20, np.float32),
            "n": 8,
        }

    def expect(inputs: Inputs) -> dict[str, Array]:
        x = inputs["x"].astype(np.float32)
        low, high = (np.array(v, BF16).astype(np.float32) for v in (0.1, 2.3))
        inside = (x > -1) & (x < 2.7)
        sums = np.cumsum(x, axis=1).sum(0) / 3
        best = x.max(1) + x.argmax(1)
        above = inputs["y"] > np.float16(0.3)
        return {
            "out": np.where(inside, np.clip(x, low, high), 0).astype(BF16),
            "wide": np.concatenate([sums, best, above]).astype(np.float32),
        }

    constants = {"M": 4, "N": 8}
    add_case(OpCase("rules_of_3_9", "newer", by_the_rules, (1,), make, expect, constants, 1, Tolerance(2)))


_register_copies()
_register_short_stores()
_register_rules()
_register_waiting()
