"""Loops, branches, early return, and what they carry: scalars, tiles, pointers, buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison

# ---- loops ----------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def accumulate(x, out, rows, N: tl.constexpr):
    """A carried tile that is updated in place, and a carried scalar."""
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.int32)
    count = 0
    for row in range(rows):
        acc += tl.load(x + row * N + i) * (count + 1)
        count += 2
    tl.store(out + i, acc + count)


@tle2cuda.jit
def swap_tiles(x, y, out, rounds, N: tl.constexpr):
    """Each round exchanges two carried tiles, one of them changed on the way."""
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    for step in range(rounds):
        a, b = b, a + step
    tl.store(out + i, a)
    tl.store(out + N + i, b)


@tle2cuda.jit
def rotate_tiles(x, out, rounds, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = a * 2
    c = a * 3
    for _ in range(rounds):
        a, b, c = b, c, a
    tl.store(out + i, a * 10000 + b * 100 + c)


@tle2cuda.jit
def old_and_new(x, out, rounds, N: tl.constexpr):
    """The old value is used after the new one is made."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    total = tl.zeros((N,), tl.int32)
    for _ in range(rounds):
        following = value * 3 + 1
        total += following - value
        value = following
    tl.store(out + i, total)
    tl.store(out + N + i, value)


@tle2cuda.jit
def fibonacci_tiles(x, out, rounds, N: tl.constexpr):
    """Both carried tiles depend on both: no update may be seen early."""
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = a + 1
    for _ in range(rounds):
        a, b = a + b, a - b
    tl.store(out + i, a)
    tl.store(out + N + i, b)


@tle2cuda.jit
def turned_accumulator(x, out, rounds, N: tl.constexpr):
    """The carried tile is read transposed: in other registers, even other threads, than it is written."""
    r, c = tl.arange(0, N), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    acc = tl.load(x + at)
    for _ in range(rounds):
        acc = acc + tl.trans(acc) * 2
    tl.store(out + at, acc)


@tle2cuda.jit
def folded_accumulator(x, out, rounds, N: tl.constexpr):
    """The carried tile is read through reshapes that leave threads alone but change registers."""
    i = tl.arange(0, N)
    acc = tl.load(x + i)
    for _ in range(rounds):
        pairs = tl.reshape(acc, (N // 2, 2))
        sums = tl.sum(pairs, axis=1)
        acc = tl.reshape(tl.broadcast_to(sums[:, None], (N // 2, 2)), (N,)) - acc
    tl.store(out + i, acc)


@tle2cuda.jit
def carried_pointers(x, out, rows, stride, N: tl.constexpr):
    """A scalar pointer and a tile of pointers move along."""
    i = tl.arange(0, N)
    source = x + i
    target = out
    for _ in range(rows):
        tl.store(target + i, tl.load(source) + 1)
        source += stride
        target += N
    tl.store(target + i, tl.load(source))


@tle2cuda.jit
def carried_from_an_offset(x, out, rows, stride, N: tl.constexpr):
    """A tile of pointers that starts behind a scalar pointer with an offset, and moves backwards."""
    i = tl.arange(0, N)
    source = x + (rows - 1) * stride + i
    target = out + (rows - 1) * N + i
    row = rows
    while row > 0:
        tl.store(target, tl.load(source) + row)
        source -= stride
        target -= N
        row -= 1


@tle2cuda.jit
def loop_bounds(out, low, high, step, N: tl.constexpr):
    """Run-time bounds and steps, negative ones, loops that never run, and values after the loop."""
    i = tl.arange(0, N)
    total = 0
    for k in range(low, high, step):
        total += k
    tl.store(out, total)
    down = 0
    for k in range(high, low, -3):
        down = down * 2 + k
    tl.store(out + 1, down)
    tile = tl.zeros((N,), tl.int32)
    for k in range(high, low):
        tile += k
    tl.store(out + 2 + i, tile)


@tle2cuda.jit
def nested_loops(x, out, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.float32)
    for outer in range(n):
        row = tl.zeros((N,), tl.float32)
        for inner in tl.static_range(M):
            row += tl.load(x + (outer * M + inner) * N + i)
        scale = 1.0
        for _ in range(outer):
            scale *= 2.0
        acc += row * scale
    tl.store(out + i, acc)


@tle2cuda.jit
def static_loops(out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = i
    for k in tl.static_range(3, -1, -1):
        if k % 2 == 0:
            value = value * 2 + k
    for k in tl.range(0, 4, num_stages=2):
        value += k
    tl.store(out + i, value)


@tle2cuda.jit
def collatz(x, out):
    """A while loop of scalars with a branch inside."""
    p = tl.program_id(0)
    value = tl.load(x + p)
    steps = 0
    while value > 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = value * 3 + 1
        steps += 1
    tl.store(out + p, steps)


@tle2cuda.jit
def while_tiles(x, out, limit, N: tl.constexpr):
    """A while loop whose condition needs a reduction of the carried tile."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    rounds = 0
    while tl.max(value, axis=0) > limit:
        value = tl.where(value > limit, value // 2, value)
        rounds += 1
    tl.store(out + i, value + rounds * 1000)


@tle2cuda.jit
def while_elements(x, out, steps, N: tl.constexpr):
    """A while loop that each element is done with in its own time: steps of Collatz, each written to a row of its own."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    place = i * 16
    while tl.reduce_or(value > 1, axis=0):
        tl.store(out + place, value, mask=(value > 1) & (place < i * 16 + 16))
        place = tl.where(value > 1, place + 1, place)
        value = tl.where(value > 1, tl.where(value % 2 == 0, value // 2, value * 3 + 1), value)
    tl.store(steps + i, place - i * 16)


@tle2cuda.jit
def while_and(x, out, n):
    """`and`, `or`, `not` of run-time scalars in conditions."""
    k = 0
    found = False
    while k < n and not found:
        value = tl.load(x + k)
        found = value > 90 or value < -90
        k += 1
    tl.store(out, k)
    tl.store(out + 1, found)


# ---- branches -------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def branches(x, out, kind, N: tl.constexpr):
    """Tiles and scalars merged from three arms."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    if kind == 0:
        value = value + 1
        factor = 2
    elif kind == 1:
        value = value * value
        factor = 3
    else:
        factor = 5
    tl.store(out + i, value * factor)


@tle2cuda.jit
def merged_pointers(x, y, out, kind, N: tl.constexpr):
    i = tl.arange(0, N)
    if kind > 0:
        source = x
        place = out + i
    else:
        source = y
        place = out + (N - 1 - i)
    tl.store(place, tl.load(source + i))


@tle2cuda.jit
def selected_pointers(x, y, out, kind, N: tl.constexpr):
    i = tl.arange(0, N)
    scalar = tl.where(kind > 0, x, y)
    tile = tl.where(i % 3 == 0, x + i, y + i)
    tl.store(out + i, tl.load(scalar + i))
    tl.store(out + N + i, tl.load(tile))
    behind = out + 2 * N
    kept = x if kind > 0 else behind  # of which one is written
    tl.store(behind + i, tl.load(tl.where(i < N // 2, kept + i, y + i)))


@tle2cuda.jit
def early_return(x, out, n, N: tl.constexpr):
    p = tl.program_id(0)
    if p * N >= n:
        tl.store(out + p, -1)
        return
    value = tl.load(x + p)
    if value < 0:
        return
    i = tl.arange(0, N)
    tl.store(out + p, value + tl.sum(i, axis=0))


@tle2cuda.jit
def conditional_store(x, out, N: tl.constexpr):
    """A branch around memory, in a loop; the arm without `else` leaves the carried tile alone."""
    i = tl.arange(0, N)
    acc = tl.zeros((N,), tl.int32)
    for row in range(6):
        value = tl.load(x + row * N + i)
        if row % 2 == 1:
            acc += value
            tl.store(out + row * N + i, acc)
    tl.store(out + i, acc)


@tle2cuda.jit
def ternaries(out, n):
    a = 3 if n > 5 else 4
    b = n if n % 2 == 0 else -n
    tl.store(out, a * 1000 + b)


@tle2cuda.jit
def split(value):
    return value // 16, value % 16


@tle2cuda.jit
def joined(parts, SHIFT: tl.constexpr = 4):
    high, low = parts
    return (high << SHIFT) | low


@tle2cuda.jit
def helper_with_branch(value, limit):
    if limit > 10:
        result = value + limit
    else:
        result = value - limit
    return result


@tle2cuda.jit
def nested_functions(x, out, n, N: tl.constexpr):
    """Helpers that return tuples, take tuples and defaults, and branch."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    high, low = split(value)
    again = joined((high, low)) * 2 + joined((low, high), SHIFT=2)
    tl.store(out + i, helper_with_branch(again, n))


SCALE = tl.constexpr(7)


@tle2cuda.jit
def constants(out, N: tl.constexpr, FLAG: tl.constexpr, NOTHING: tl.constexpr):
    """Constants of the module, of locals, None and bool as compile-time arguments."""
    i = tl.arange(0, N)
    half: tl.constexpr = N // 2
    if FLAG:
        value = i * SCALE
    else:
        value = i - SCALE
    if NOTHING is None:
        value += half
    tl.static_assert(half * 2 == N)
    tl.store(out + i, value)


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
) -> None:
    def cast(inputs: Inputs) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return {key: np.asarray(value).astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(name, "control", kernel, grid, make, cast, constants, num_warps, tolerance))


_SIZES = ((16, 4), (1024, 4), (128, 1))


@tle2cuda.jit
def returns_elsewhere(out, rounds, N: tl.constexpr):
    """A carried index tile that every iteration gives back in another layout than it took it."""
    col = tl.arange(0, N)
    one = 1
    tile = col.to(tl.uint8)
    for _ in range(rounds):
        tile = tl.join(one, tile - one).reshape((2, N)).sum(0).to(tl.uint8)
    tl.store(out + col, tile)


def _returns_elsewhere(inputs: Inputs) -> dict[str, Array]:
    tile = np.arange(len(inputs["out"]), dtype=np.uint8)
    for _ in range(inputs["rounds"]):
        pairs = np.stack([np.ones(len(tile), np.int64), tile.astype(np.int64) - 1], axis=-1)
        tile = pairs.reshape(2, -1).sum(0).astype(np.uint8)
    return {"out": tile.astype(np.int32)}


def _register_loops() -> None:
    for n, warps in ((8, 1), (256, 4)):
        _case(
            f"returns_elsewhere_{n}",
            returns_elsewhere,
            lambda rng, n=n: {"out": poison(n, "i4"), "rounds": 3},
            _returns_elsewhere,
            {"N": n},
            warps,
        )
    for n, warps in _SIZES:
        _case(
            f"accumulate_{n}",
            accumulate,
            lambda rng, n=n: {"x": numbers(rng, (5, n), "i4"), "out": poison(n, "i4"), "rows": 5},
            lambda inputs: {"out": (inputs["x"] * np.arange(1, 11, 2, dtype="i4")[:, None]).sum(axis=0, dtype="i4") + 10},
            {"N": n},
            warps,
        )
        for rounds in (0, 1, 2, 5):
            _case(
                f"swap_tiles_{n}_{rounds}",
                swap_tiles,
                lambda rng, n=n, rounds=rounds: {
                    "x": numbers(rng, n, "i4"),
                    "y": numbers(rng, n, "i4"),
                    "out": poison(2 * n, "i4"),
                    "rounds": rounds,
                },
                _swapped,
                {"N": n},
                warps,
            )
        _case(
            f"rotate_tiles_{n}",
            rotate_tiles,
            lambda rng, n=n: {"x": rng.integers(0, 30, n, "i4"), "out": poison(n, "i4"), "rounds": 4},
            lambda inputs: {"out": inputs["x"] * 2 * 10000 + inputs["x"] * 3 * 100 + inputs["x"]},
            {"N": n},
            warps,
        )
        for kernel, reference in ((old_and_new, _old_and_new), (fibonacci_tiles, _fibonacci)):
            _case(
                f"{kernel.fn.__name__}_{n}",
                kernel,
                lambda rng, n=n: {"x": rng.integers(-50, 50, n, "i4"), "out": poison(2 * n, "i4"), "rounds": 6},
                reference,
                {"N": n},
                warps,
            )
        _case(
            f"folded_accumulator_{n}",
            folded_accumulator,
            lambda rng, n=n: {"x": rng.integers(-50, 50, n, "i4"), "out": poison(n, "i4"), "rounds": 3},
            _folded,
            {"N": n},
            warps,
        )
        _case(
            f"carried_from_an_offset_{n}",
            carried_from_an_offset,
            lambda rng, n=n: {
                "x": numbers(rng, (4, n + 5), "i4"),
                "out": poison((4, n), "i4"),
                "rows": 4,
                "stride": n + 5,
            },
            lambda inputs, n=n: {"out": inputs["x"][:, :n] + np.arange(1, 5, dtype="i4")[:, None]},
            {"N": n},
            warps,
        )
        _case(
            f"carried_pointers_{n}",
            carried_pointers,
            lambda rng, n=n: {
                "x": numbers(rng, (4, n + 5), "i4"),
                "out": poison((4, n), "i4"),
                "rows": 3,
                "stride": n + 5,
            },
            lambda inputs, n=n: {"out": inputs["x"][:, :n] + np.array([1, 1, 1, 0], "i4")[:, None]},
            {"N": n},
            warps,
        )
    for n, warps in ((4, 4), (16, 4), (64, 4), (32, 1)):
        _case(
            f"turned_accumulator_{n}",
            turned_accumulator,
            lambda rng, n=n: {"x": rng.integers(-9, 9, (n, n), "i4"), "out": poison((n, n), "i4"), "rounds": 3},
            _turned,
            {"N": n},
            warps,
        )
    for low, high, step in ((0, 10, 1), (3, 20, 4), (5, 5, 1), (9, 2, 2), (-7, 30, 5)):
        _case(
            f"loop_bounds_{low}_{high}_{step}",
            loop_bounds,
            lambda rng, low=low, high=high, step=step: {
                "out": poison(34, "i4"),
                "low": low,
                "high": high,
                "step": step,
            },
            _loop_bounds,
            {"N": 32},
            2,
        )
    for n in (0, 1, 4):
        _case(
            f"nested_loops_{n}",
            nested_loops,
            lambda rng, n=n: {
                "x": rng.integers(-9, 9, (5, 3, 64)).astype("f4"),
                "out": poison(64, "f4"),
                "n": n,
            },
            lambda inputs: {"out": sum((inputs["x"][k].sum(axis=0) * 2.0**k for k in range(inputs["n"])), np.zeros(64))},
            {"M": 3, "N": 64},
        )
    _case(
        "static_loops",
        static_loops,
        lambda rng: {"out": poison(64, "i4")},
        lambda inputs: {"out": (np.arange(64) * 2 + 2) * 2 + 6},
        {"N": 64},
    )
    _case(
        "while_scalars",
        collatz,
        lambda rng: {"x": np.array([1, 2, 7, 27, 97], "i4"), "out": poison(5, "i4")},
        lambda inputs: {"out": np.array([0, 1, 16, 111, 118])},
        {},
        1,
        (5,),
    )
    for n, warps in ((16, 4), (512, 4)):
        _case(
            f"while_tiles_{n}",
            while_tiles,
            lambda rng, n=n: {"x": rng.integers(0, 900, n, "i4"), "out": poison(n, "i4"), "limit": 50},
            _while_tiles,
            {"N": n},
            warps,
        )
    for n, warps in ((32, 4), (128, 4), (512, 2)):
        _case(
            f"while_elements_{n}",
            while_elements,
            lambda rng, n=n: {
                "x": rng.integers(-3, 60, n, "i4"),
                "out": np.full(16 * n, -7, "i4"),
                "steps": poison(n, "i4"),
            },
            _while_elements,
            {"N": n},
            warps,
        )
    for hit in (0, 5, 19, 20):
        _case(
            f"while_and_{hit}",
            while_and,
            lambda rng, hit=hit: {
                "x": np.where(np.arange(20) == hit, -95, 10).astype("i4"),
                "out": poison(2, "i4"),
                "n": 20,
            },
            lambda inputs, hit=hit: {"out": np.array([min(hit + 1, 20), hit < 20])},
            {},
        )


def _swapped(inputs: Inputs) -> dict[str, Array]:
    a, b = inputs["x"], inputs["y"]
    for step in range(inputs["rounds"]):
        a, b = b, a + np.int32(step)
    return {"out": np.concatenate([a, b])}


def _old_and_new(inputs: Inputs) -> dict[str, Array]:
    start = inputs["x"]
    value = start
    for _ in range(inputs["rounds"]):
        value = value * 3 + 1
    return {"out": np.concatenate([value - start, value])}


def _fibonacci(inputs: Inputs) -> dict[str, Array]:
    a, b = inputs["x"], inputs["x"] + 1
    for _ in range(inputs["rounds"]):
        a, b = a + b, a - b
    return {"out": np.concatenate([a, b])}


def _folded(inputs: Inputs) -> dict[str, Array]:
    acc = inputs["x"]
    for _ in range(inputs["rounds"]):
        acc = np.repeat(acc.reshape(-1, 2).sum(axis=1), 2) - acc
    return {"out": acc}


def _turned(inputs: Inputs) -> dict[str, Array]:
    acc = inputs["x"]
    for _ in range(inputs["rounds"]):
        acc = acc + acc.T * 2
    return {"out": acc}


def _loop_bounds(inputs: Inputs) -> dict[str, Array]:
    low, high, step = inputs["low"], inputs["high"], inputs["step"]
    down = 0
    for k in range(high, low, -3):
        down = down * 2 + k
    return {"out": np.concatenate([[sum(range(low, high, step)), down], np.full(32, sum(range(high, low)))])}


def _while_tiles(inputs: Inputs) -> dict[str, Array]:
    value, rounds = inputs["x"].copy(), 0
    while value.max() > inputs["limit"]:
        value = np.where(value > inputs["limit"], value // 2, value)
        rounds += 1
    return {"out": value + rounds * 1000}


def _while_elements(inputs: Inputs) -> dict[str, Array]:
    out, steps = inputs["out"].copy(), []
    for i, value in enumerate(int(v) for v in inputs["x"]):
        count = 0
        while value > 1:
            if count < 16:
                out[16 * i + count] = value
            value, count = value // 2 if value % 2 == 0 else 3 * value + 1, count + 1
        steps.append(count)
    return {"out": out, "steps": np.array(steps)}


def _register_branches() -> None:
    for n, warps in _SIZES:
        for kind in (0, 1, 2):
            _case(
                f"branches_{n}_{kind}",
                branches,
                lambda rng, n=n, kind=kind: {"x": rng.integers(-99, 99, n, "i4"), "out": poison(n, "i4"), "kind": kind},
                _branches,
                {"N": n},
                warps,
            )
        for kind in (0, 2):
            for kernel, reference in ((merged_pointers, _merged_pointers), (selected_pointers, _selected_pointers)):
                _case(
                    f"{kernel.fn.__name__}_{n}_{kind}",
                    kernel,
                    lambda rng, n=n, kind=kind, kernel=kernel: {
                        "x": numbers(rng, n, "f4"),
                        "y": numbers(rng, n, "f4"),
                        "out": poison(n if kernel is merged_pointers else 3 * n, "f4"),
                        "kind": kind,
                    },
                    reference,
                    {"N": n},
                    warps,
                )
        _case(
            f"conditional_store_{n}",
            conditional_store,
            lambda rng, n=n: {"x": numbers(rng, (6, n), "i4"), "out": poison((6, n), "i4")},
            _conditional_store,
            {"N": n},
            warps,
        )
        _case(
            f"nested_functions_{n}",
            nested_functions,
            lambda rng, n=n: {"x": rng.integers(0, 256, n, "i4"), "out": poison(n, "i4"), "n": n},
            _nested_functions,
            {"N": n},
            warps,
        )
    _case(
        "early_return",
        early_return,
        lambda rng: {"x": np.array([3, -4, 5, -6, 7], "i4"), "out": poison(5, "i4"), "n": 130},
        lambda inputs: {"out": np.array([3 + 496, inputs["out"][1], 5 + 496, inputs["out"][3], 7 + 496])},
        {"N": 32},
        2,
        (5,),
    )
    _case(
        "early_return_at_once",
        early_return,
        lambda rng: {"x": np.array([3, -4, 5, -6, 7], "i4"), "out": poison(5, "i4"), "n": 60},
        lambda inputs: {"out": np.array([3 + 496, inputs["out"][1], -1, -1, -1])},
        {"N": 32},
        4,
        (5,),
    )
    for n in (3, 8):
        _case(
            f"ternaries_{n}",
            ternaries,
            lambda rng, n=n: {"out": poison(1, "i4"), "n": n},
            lambda inputs: {"out": np.array([(3000 if inputs["n"] > 5 else 4000) + inputs["n"] * (-1) ** inputs["n"]])},
            {},
        )
    for flag in (True, False):
        for nothing in (None, 0):
            _case(
                f"constants_{flag}_{nothing}".lower(),
                constants,
                lambda rng: {"out": poison(64, "i4")},
                lambda inputs, flag=flag, nothing=nothing: {
                    "out": (np.arange(64) * 7 if flag else np.arange(64) - 7) + (32 if nothing is None else 0)
                },
                {"N": 64, "FLAG": flag, "NOTHING": nothing},
            )


def _branches(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"]
    return {"out": [(x + 1) * 2, x * x * 3, x * 5][inputs["kind"]]}


def _merged_pointers(inputs: Inputs) -> dict[str, Array]:
    return {"out": inputs["x"] if inputs["kind"] > 0 else inputs["y"][::-1]}


def _selected_pointers(inputs: Inputs) -> dict[str, Array]:
    x, y = inputs["x"], inputs["y"]
    mixed = np.where(np.arange(len(x)) % 3 == 0, x, y)
    kept = np.where(np.arange(len(x)) < len(x) // 2, x if inputs["kind"] > 0 else inputs["out"][2 * len(x) :], y)
    return {"out": np.concatenate([x if inputs["kind"] > 0 else y, mixed, kept])}


def _conditional_store(inputs: Inputs) -> dict[str, Array]:
    out, acc = inputs["out"].copy(), np.zeros_like(inputs["x"][0])
    for row in (1, 3, 5):
        acc = acc + inputs["x"][row]
        out[row] = acc
    out[0] = acc
    return {"out": out}


def _nested_functions(inputs: Inputs) -> dict[str, Array]:
    x, n = inputs["x"], inputs["n"]
    high, low = x // 16, x % 16
    again = x * 2 + ((low << 2) | high)
    return {"out": again + n if n > 10 else again - n}


_register_loops()
_register_branches()
