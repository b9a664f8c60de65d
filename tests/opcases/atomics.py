"""Atomics on global memory: every operation, dtype, order and scope, with and without the old values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tests.opcases.elementwise import short


@tle2cuda.jit
def own_places(x, out, old, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """Every element has a place of its own, so old values are known; masked-off ones give 0."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    before = OP(out + i, value, (i < n) & (i % 3 != 1))
    tl.store(old + i, before, mask=i < n)


@tle2cuda.jit
def own_places_no_old(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    OP(out + i, tl.load(x + i, mask=i < n, other=0), (i < n) & (i % 3 != 1))


@tle2cuda.jit
def addresses(x, out, N: tl.constexpr):
    """Pointers made from integers, as in tables of pointers; what they lead to is written."""
    i = tl.arange(0, N)
    place = (out.to(tl.int64) + i * 4).to(tl.pointer_type(tl.int32))
    tl.atomic_add(place, tl.load(x + i), sem="release", scope="sys")


@tle2cuda.jit
def one_place(x, out, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    """All elements of all CTAs meet in a few places."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    OP(out + i % 4, tl.load(x + i, mask=i < n, other=0), i < n)


@tle2cuda.jit
def add(p, v, m):
    return tl.atomic_add(p, v, mask=m)


@tle2cuda.jit
def add_relaxed(p, v, m):
    return tl.atomic_add(p, v, mask=m, sem="relaxed", scope="gpu")


@tle2cuda.jit
def add_acquire_cta(p, v, m):
    return tl.atomic_add(p, v, mask=m, sem="acquire", scope="cta")


@tle2cuda.jit
def add_release_sys(p, v, m):
    return tl.atomic_add(p, v, mask=m, sem="release", scope="sys")


@tle2cuda.jit
def maximum(p, v, m):
    return tl.atomic_max(p, v, mask=m)


@tle2cuda.jit
def minimum(p, v, m):
    return tl.atomic_min(p, v, mask=m)


@tle2cuda.jit
def bit_and(p, v, m):
    return tl.atomic_and(p, v, mask=m)


@tle2cuda.jit
def bit_or(p, v, m):
    return tl.atomic_or(p, v, mask=m)


@tle2cuda.jit
def bit_xor(p, v, m):
    return tl.atomic_xor(p, v, mask=m)


@tle2cuda.jit
def exchange(p, v, m):
    return tl.atomic_xchg(p, v, mask=m)


@tle2cuda.jit
def compare_and_swap(x, expected, out, old, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before = tl.atomic_cas(out + i, tl.load(expected + i), tl.load(x + i))
    tl.store(old + i, before)


@tle2cuda.jit
def tickets(counter, out, BLOCK: tl.constexpr):
    """Old values of one counter number all elements of all CTAs, each exactly once."""
    i = tl.arange(0, BLOCK)
    ticket = tl.atomic_add(counter + tl.zeros((BLOCK,), tl.int32), 1, sem="relaxed")
    tl.store(out + ticket, ticket * 2 + (i - i))


@tle2cuda.jit
def scalar_atomics(counter, out, n):
    """Scalar atomics happen once a CTA, and all threads know the old value."""
    p = tl.program_id(0)
    ticket = tl.atomic_add(counter, 1)
    i = tl.arange(0, 64)
    tl.store(out + ticket * 64 + i, i + ticket)
    tl.atomic_max(counter + 1, p * 10)
    tl.atomic_add(counter + 2, 5, mask=p < n)
    skipped = tl.atomic_add(counter + 3, 7, mask=p > 100)
    tl.atomic_or(counter + 4, 1 << p, sem="relaxed")
    tl.atomic_add(counter + 5, skipped + 1)


@tle2cuda.jit
def spin_lock(lock, out, N: tl.constexpr):
    """A lock by compare-and-swap protects a read-modify-write of plain memory."""
    i = tl.arange(0, N)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out + i, tl.load(out + i, volatile=True) + i)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@tle2cuda.jit
def last_one_sums(x, partial, ticket, out, N: tl.constexpr):
    """The last CTA to arrive adds up what all have written: release and acquire between CTAs."""
    p = tl.program_id(0)
    i = tl.arange(0, N)
    tl.store(partial + p, tl.sum(tl.load(x + p * N + i), axis=0))
    arrived = tl.atomic_add(ticket, 1, sem="acq_rel")
    if arrived == tl.num_programs(0) - 1:
        total = 0
        for k in range(tl.num_programs(0)):
            total += tl.load(partial + k, cache_modifier=".cg")
        tl.store(out, total)


@tle2cuda.jit
def matrix_counts(x, out, M: tl.constexpr, N: tl.constexpr):
    """A 2-D tile of atomics with the old values read in another layout."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    key = tl.load(x + r[:, None] * N + c[None, :])
    old = tl.atomic_add(out + key, 1)
    more = tl.atomic_add(out + 64 + tl.trans(key), 2)
    tl.atomic_max(out + 128, tl.max(tl.max(old, axis=0), axis=0))
    tl.atomic_max(out + 129, tl.max(tl.max(more, axis=1), axis=0))


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    num_warps: int = 4,
    grid: tuple[int, ...] = (1,),
    tolerance: Tolerance = EXACT,
    any_order: tuple[str, ...] = (),
) -> None:
    def cast(inputs: Inputs) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return {key: np.asarray(value).astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(name, "atomics", kernel, grid, make, cast, constants, num_warps, tolerance, any_order=any_order))


Combine = Callable[[Array, Array], Array]

_OPERATIONS: tuple[tuple[str, Any, Combine, str], ...] = (
    ("add", add, np.add, "iuf"),
    ("max", maximum, np.maximum, "iuF"),
    ("min", minimum, np.minimum, "iuF"),
    ("and", bit_and, np.bitwise_and, "iu"),
    ("or", bit_or, np.bitwise_or, "iu"),
    ("xor", bit_xor, np.bitwise_xor, "iu"),
    ("xchg", exchange, lambda a, b: b, "iuF"),
)
_DTYPES: dict[str, Any] = {
    **{short(code): np.dtype(code) for code in ("i4", "u4", "i8", "u8")},
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": BF16,
}


def _register() -> None:
    for n in (16, 1024):
        _case(
            f"atomic_addresses_{n}",
            addresses,
            lambda rng, n=n: {"x": numbers(rng, n, "i4"), "out": numbers(rng, n, "i4")},
            lambda inputs: {"out": inputs["x"] + inputs["out"]},
            {"N": n},
            4,
            (1,),
        )
    for label, fn, combine, kinds in _OPERATIONS:
        for name, dtype in _DTYPES.items():
            kind = name[0] if name[0] in "iu" else "F" if name in ("f32", "f64") else "f"
            if kind not in kinds and not (kind == "F" and "f" in kinds):
                continue
            for n, block, warps in ((1000, 256, 4), (30, 32, 4)):

                def make(rng: np.random.Generator, n: int = n, dtype: Any = dtype) -> Inputs:
                    return {
                        "x": _finite(rng, n, dtype),
                        "out": _finite(rng, n, dtype),
                        "old": poison(n, dtype),
                        "n": n,
                    }

                def expect(inputs: Inputs, combine: Combine = combine) -> dict[str, Array]:
                    done = np.arange(inputs["n"]) % 3 != 1
                    before = inputs["out"]
                    after = combine(_wide(before), _wide(inputs["x"]))
                    return {
                        "out": np.where(done, after, _wide(before)),
                        "old": np.where(done, _wide(before), 0),
                    }

                grid = (-(-n // block),)
                _case(f"atomic_{label}_{name}_{n}", own_places, make, expect, {"OP": fn, "BLOCK": block}, warps, grid)
                _case(
                    f"atomic_{label}_{name}_{n}_no_old",
                    own_places_no_old,
                    lambda rng, make=make: {k: v for k, v in make(rng).items() if k != "old"},
                    lambda inputs, expect=expect: {"out": expect(inputs)["out"]},
                    {"OP": fn, "BLOCK": block},
                    warps,
                    grid,
                )
            if label == "xchg" or name in ("f16", "bf16"):
                continue
            _case(
                f"atomic_{label}_{name}_shared_places",
                one_place,
                lambda rng, dtype=dtype: {
                    "x": _finite(rng, 1000, dtype),
                    "out": _finite(rng, 4, dtype),
                    "n": 1000,
                },
                lambda inputs, combine=combine: _meeting(inputs, combine),
                {"OP": fn, "BLOCK": 256},
                4,
                (4,),
                Tolerance(64, 1000.0) if name in ("f32", "f64") and label == "add" else EXACT,
            )
    for fn in (add_relaxed, add_acquire_cta, add_release_sys):
        for name, dtype in (("i32", "i4"), ("u64", "u8")):
            _case(
                f"atomic_{fn.fn.__name__}_{name}",
                own_places,
                lambda rng, dtype=dtype: {
                    "x": numbers(rng, 500, dtype),
                    "out": numbers(rng, 500, dtype),
                    "old": poison(500, dtype),
                    "n": 500,
                },
                lambda inputs: {
                    "out": inputs["out"] + np.where(np.arange(500) % 3 != 1, inputs["x"], inputs["x"].dtype.type(0)),
                    "old": np.where(np.arange(500) % 3 != 1, inputs["out"], 0),
                },
                {"OP": fn, "BLOCK": 128},
                4,
                (4,),
            )
    for name, dtype in (("i32", "i4"), ("u32", "u4"), ("i64", "i8"), ("u64", "u8"), ("f32", "f4"), ("f64", "f8")):
        for n, warps in ((16, 4), (512, 4)):
            _case(
                f"atomic_cas_{name}_{n}",
                compare_and_swap,
                lambda rng, n=n, dtype=dtype: {
                    "x": _finite(rng, n, dtype),
                    "expected": rng.integers(0, 3, n).astype(dtype),
                    "out": rng.integers(0, 3, n).astype(dtype),
                    "old": poison(n, dtype),
                },
                lambda inputs: {
                    "out": np.where(inputs["out"] == inputs["expected"], inputs["x"], inputs["out"]),
                    "old": inputs["out"],
                },
                {"BLOCK": n},
                warps,
            )
    for name, dtype in (("i16", "i2"), ("f16", "f2"), ("bf16", BF16)):
        _case(
            f"atomic_cas_{name}",
            compare_and_swap,
            lambda rng, dtype=dtype: {
                "x": rng.integers(5, 90, 64).astype(dtype),
                "expected": rng.integers(0, 3, 64).astype(dtype),
                "out": rng.integers(0, 3, 64).astype(dtype),
                "old": poison(64, dtype),
            },
            lambda inputs: {
                "out": np.where(inputs["out"] == inputs["expected"], inputs["x"], inputs["out"]),
                "old": inputs["out"],
            },
            {"BLOCK": 64},
        )
    for block, warps in ((8, 4), (256, 4), (1024, 8)):
        _case(
            f"tickets_{block}",
            tickets,
            lambda rng, block=block: {"counter": np.zeros(1, "i4"), "out": poison(5 * block, "i4")},
            lambda inputs, block=block: {
                "counter": np.array([5 * block]),
                "out": 2 * np.arange(5 * block),
            },
            {"BLOCK": block},
            warps,
            (5,),
        )
    _case(
        "scalar_atomics",
        scalar_atomics,
        lambda rng: {"counter": np.zeros(6, "i4"), "out": poison((5, 64), "i4"), "n": 3},
        lambda inputs: {
            "counter": np.array([5, 40, 15, 0, 31, 5]),
            "out": np.arange(5)[:, None] + np.arange(64),
        },
        {},
        4,
        (5,),
    )
    _case(
        "spin_lock",
        spin_lock,
        lambda rng: {"lock": np.zeros(1, "i4"), "out": np.zeros(128, "i4")},
        lambda inputs: {"out": 7 * np.arange(128)},
        {"N": 128},
        4,
        (7,),
    )
    _case(
        "last_one_sums",
        last_one_sums,
        lambda rng: {
            "x": rng.integers(-99, 99, (9, 256), "i4"),
            "partial": poison(9, "i4"),
            "ticket": np.zeros(1, "i4"),
            "out": poison(1, "i4"),
        },
        lambda inputs: {
            "partial": inputs["x"].sum(axis=1),
            "ticket": np.array([9]),
            "out": inputs["x"].sum(keepdims=True).reshape(1),
        },
        {"N": 256},
        4,
        (9,),
    )
    for m, n, warps in ((16, 32, 4), (2, 8, 4)):
        _case(
            f"atomic_matrix_{m}x{n}",
            matrix_counts,
            lambda rng, m=m, n=n: {"x": rng.integers(0, 64, (m, n), "i4"), "out": np.zeros(130, "i4")},
            _matrix_counts,
            {"M": m, "N": n},
            warps,
        )


@tle2cuda.jit
def added_beside_narrow(x, sums, n, BLOCK: tl.constexpr):
    """Adds to wider elements than those that decide how many a thread has beside each other."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(x + i, value + value, mask=i < n)
    tl.atomic_add(sums + i, value.to(sums.dtype.element_ty), mask=i < n)


def _register_beside_narrow() -> None:
    for narrow, wide in (("i1", np.float32), ("i1", np.float16), (np.float16, np.float32)):
        for n in (2048, 2037):

            def make(rng: np.random.Generator, n: int = n, narrow: Any = narrow, wide: Any = wide) -> Inputs:
                x = rng.integers(-60, 60, n).astype(narrow)
                return {"x": x, "sums": rng.integers(-60, 60, n).astype(wide), "n": n}

            def expect(inputs: Inputs) -> dict[str, Array]:
                x, sums = inputs["x"], inputs["sums"]
                return {"x": x + x, "sums": sums + x.astype(sums.dtype)}

            name = f"atomic_add_{np.dtype(wide).name}_beside_{np.dtype(narrow).name}_{n}"
            _case(name, added_beside_narrow, make, expect, {"BLOCK": 2048}, 4, (-(-n // 2048),))


def _wide(x: Array) -> Array:
    return x.astype(np.float32) if x.dtype in (np.dtype(np.float16), BF16) else x


def _finite(rng: np.random.Generator, n: int, dtype: Any) -> Array:
    return numbers(rng, n, dtype, special=np.dtype(dtype).kind in "iu")


def _meeting(inputs: Inputs, combine: Combine) -> dict[str, Array]:
    out = inputs["out"].copy()
    for place in range(4):
        for value in inputs["x"][place::4]:
            out[place] = combine(out[place], value)
    return {"out": out}


def _matrix_counts(inputs: Inputs) -> dict[str, Array]:
    counts = np.bincount(inputs["x"].reshape(-1), minlength=64)
    return {"out": np.concatenate([counts, 2 * counts, [counts.max() - 1, 2 * counts.max() - 2]])}


_register()
_register_beside_narrow()
