"""Tiles joined, split, turned round, cut into tiles and put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, Array, Inputs, OpCase, add_case, numbers, poison
from tle2cuda.language import tle

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def interleave_1d(x, y, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    pairs = tl.interleave(tl.load(x + i, mask=i < n, other=0), tl.load(y + i, mask=i < n, other=0))
    o = tl.arange(0, 2 * N)
    tl.store(out + o, pairs, mask=o < 2 * n)


@tle2cuda.jit
def split_pairs(x, even, odd, N: tl.constexpr):
    i = tl.arange(0, N)
    first, second = tl.reshape(tl.load(x + tl.arange(0, 2 * N)), (N, 2)).split()
    tl.store(even + i, first)
    tl.store(odd + i, second)


@tle2cuda.jit
def split_quads(x, out, N: tl.constexpr):
    """Four neighbours to four places, as nibbles and bytes are unpacked."""
    quads = tl.reshape(tl.load(x + tl.arange(0, 4 * N)), (N, 2, 2))
    low, high = tl.split(quads)
    a, c = tl.split(low)
    b, d = tl.split(high)
    tl.store(out + tl.arange(0, 4 * N), tl.ravel(tl.join(tl.join(d, c), tl.join(b, a))))


@tle2cuda.jit
def split_planes(x, out, M: tl.constexpr, N: tl.constexpr):
    """Halves that lie far apart in memory."""
    rows, cols = tl.arange(0, M), tl.arange(0, N)
    both = tl.load(x + tl.arange(0, 2)[:, None, None] * M * N + rows[None, :, None] * N + cols[None, None, :])
    real, imaginary = tl.split(tl.permute(both, (1, 2, 0)))
    tl.store(out + rows[:, None] * N + cols[None, :], real - imaginary)


@tle2cuda.jit
def scalars_together(x, out):
    pair = tl.join(tl.load(x), tl.load(x + 1) * 2)
    tl.store(out + tl.arange(0, 2), pair)
    first, second = tl.split(pair + tl.load(x + 2 + tl.arange(0, 2)))
    tl.store(out + 2, first - second)
    tl.store(out + 3 + tl.arange(0, 2), tl.interleave(second, first))


@tle2cuda.jit(language="3.9")
def cat_rows(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows, cols = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    value = tl.load(x + rows * N + cols)
    both = tl.cat(value, 3 - value, can_reorder=True, dim=AXIS)
    if AXIS == 0:
        tl.store(out + tl.arange(0, 2 * M)[:, None] * N + cols, both)
    else:
        tl.store(out + rows * (2 * N) + tl.arange(0, 2 * N)[None, :], both)


@tle2cuda.jit
def pointers_chosen(x, y, out, N: tl.constexpr):
    """Tiles of pointers and of indices, joined before they are used."""
    i = tl.arange(0, N)
    at = tl.interleave(x + i, y + i)
    seen = tl.load(at, mask=tl.cat(i < N - 1, i > 1, can_reorder=True), other=7)
    tl.store(out + tl.cat(i * 2, i * 2 + 1, can_reorder=True), seen)


@tle2cuda.jit
def flipped(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.flip(tl.load(x + at), AXIS))


@tle2cuda.jit
def flipped_index(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    back = i.flip()
    value = tl.load(x + back, mask=back < n, other=0)
    tl.store(out + i, value + tl.flip(tl.join(i, back), 1).reshape(2 * N).reshape(2, N).sum(0))


@tle2cuda.jit
def tile_static(x, out, AT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    part = tle.extract_tile(value, AT, [P, Q])
    tl.store(out + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :], part)


@tle2cuda.jit(do_not_specialize=["row"])
def tile_dynamic(x, out, row, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    """Every column of tiles in the tile row given at run time, and its first tile by its number."""
    value = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :]
    for column in range(N // Q):
        tl.store(out + column * P * Q + at, value.extract_tile(index=[row, column], shape=[P, Q]))
    tl.store(out + N * P + at, tle.extract_tile(value, row.to(tl.int64) * (N // Q), (P, Q)))


@tle2cuda.jit(do_not_specialize=["row"])
def tile_inserted(x, y, out, row, FORM: tl.constexpr, M: tl.constexpr, N: tl.constexpr, P: tl.constexpr, Q: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    value = tl.load(x + at)
    part = tl.load(y + tl.arange(0, P)[:, None] * Q + tl.arange(0, Q)[None, :])
    if FORM == 0:
        result = tle.insert_tile(value, part, [1, 0])
    elif FORM == 1:
        result = tle.insert_tile(value, part, N // Q)
    elif FORM == 2:
        result = value.insert_tile(part, index=[row, 0])
    else:
        result = tle.insert_tile(value, part, row * (N // Q))
    tl.store(out + at, result + value)


@tle2cuda.jit
def swap_halves(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    low, high = tle.extract_tile(v, 0, (N // 2,)), tle.extract_tile(v, [1], [N // 2])
    tl.store(out + i, tle.insert_tile(tle.insert_tile(v, high, 0), low, 1))


@tle2cuda.jit
def branch_of_tiles(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if n > 0:
        part = tle.extract_tile(v, 0, [N // 4])
    else:
        part = tle.extract_tile(v, 3, [N // 4])
    tl.store(out + tl.arange(0, N // 4), part)


@tle2cuda.jit
def carried_through_shapes(x, out, n, N: tl.constexpr):
    """A loop that joins, turns and splits what it carries; the old value is needed behind the new one."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    for _ in range(n):
        low, high = tl.split(tl.reshape(value, (N // 2, 2)))
        turned = tl.flip(value)
        value = tl.cat(high, low, can_reorder=True)
        value += turned
    tl.store(out + i, value)


@tle2cuda.jit
def hypercube(x, out, BITS: tl.constexpr):
    """Neighbours along every axis of a cube of 2s, added up."""
    i = tl.arange(0, 1 << BITS)
    cube = tl.reshape(tl.load(x + i), [2] * BITS)
    for axis in tl.static_range(BITS):
        cube = cube + tl.xor_sum(cube, axis, keep_dims=True)
    tl.store(out + i, tl.reshape(cube, (1 << BITS,)))


@tle2cuda.jit
def nested_choices(x, out, N: tl.constexpr):
    """Tiles put together of tiles put together, again and again, and used more than once."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    for _ in tl.static_range(4):
        low, high = tl.split(tl.reshape(tl.cat(value, tl.flip(value), can_reorder=True), (N, 2)))
        value = tl.interleave(tle.extract_tile(high, 1, [N // 2]), tle.extract_tile(low, 0, [N // 2])) * 3 + value
        value = tl.cat(tle.extract_tile(value, 1, [N // 2]), tle.extract_tile(value, 0, [N // 2]), can_reorder=True)
        value = tle.insert_tile(value, tle.extract_tile(value, 3, [N // 8]), 5)
    tl.store(out + i, value)


@tle2cuda.jit
def swizzled(rows, columns, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    at = tl.arange(0, 64)
    row, column = tl.swizzle2d(at // N, at % N, M, N, G)
    tl.store(rows + at, row, mask=at < M * N)
    tl.store(columns + at, column, mask=at < M * N)


# ---- cases ----------------------------------------------------------------------------------------------------------


def short(dtype: Any) -> str:
    """`float16` -> `f16`."""
    name = np.dtype(dtype).name
    return {"bool": "i1", "bfloat16": "bf16"}.get(name, name[0] + name.lstrip("abcdefghijklmnopqrstuvwxyz"))


DTYPES = (np.bool_, np.int8, np.int32, np.int64, np.float16, BF16, np.float64)
Make = Callable[[np.random.Generator], Inputs]
Expect = Callable[[Inputs], Mapping[str, Array]]


def _case(name: str, kernel: Any, make: Make, expect: Expect, num_warps: int = 4, **constants: Any) -> None:
    def quietly(inputs: Inputs) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return {key: np.asarray(value).astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(name, "shapes", kernel, (1,), make, quietly, constants, num_warps))


def _one(shape: Any, out: Any, dtype: Any = np.int32, **scalars: int) -> Make:
    return lambda rng: {"x": numbers(rng, shape, dtype), "out": poison(out, dtype), **scalars}


def _join_cases() -> None:
    for dtype in DTYPES:
        n = 1000
        _case(
            f"interleave_{short(dtype)}_{n}",
            interleave_1d,
            lambda rng, t=dtype, n=n: {"x": numbers(rng, n, t), "y": numbers(rng, n, t), "out": poison(2 * n, t), "n": n},
            lambda v: {"out": np.stack([v["x"], v["y"]], 1).reshape(-1)},
            N=1024,
        )
    for size, warps in ((1, 4), (4, 1), (64, 4), (128, 4), (2048, 4), (256, 8)):
        for dtype in (np.uint8, np.float32):
            _case(
                f"split_{short(dtype)}_{size}_warps{warps}",
                split_pairs,
                lambda rng, t=dtype, n=size: {
                    "x": numbers(rng, 2 * n, t),
                    "even": poison(n, t),
                    "odd": poison(n, t),
                },
                lambda v: {"even": v["x"][::2], "odd": v["x"][1::2]},
                warps,
                N=size,
            )
    for size in (8, 512):
        _case(
            f"split_quads_{size}",
            split_quads,
            _one(4 * size, 4 * size, np.int16),
            lambda v: {"out": v["x"].reshape(-1, 2, 2)[:, ::-1, ::-1].transpose(0, 2, 1).reshape(-1)},
            N=size,
        )
        _case(
            f"split_planes_{size}",
            split_planes,
            _one((2, 4, size), (4, size)),
            lambda v: {"out": v["x"][0] - v["x"][1]},
            M=4,
            N=size,
        )

    def joined(v: Inputs) -> Mapping[str, Array]:
        x = v["x"]
        a, b = x[0] + x[2], 2 * x[1] + x[3]
        return {"out": np.array([x[0], 2 * x[1], a - b, b, a])}

    _case(
        "join_scalars", scalars_together, lambda rng: {"x": numbers(rng, 4, np.int64), "out": poison(5, np.int64)}, joined
    )
    for axis in range(2):
        for m, n in ((1, 8), (16, 64), (64, 2)):
            shape = (2 * m, n) if axis == 0 else (m, 2 * n)
            _case(
                f"cat_{m}x{n}_axis{axis}",
                cat_rows,
                _one((m, n), shape),
                lambda v, a=axis: {"out": np.concatenate([v["x"], 3 - v["x"]], a)},
                AXIS=axis,
                M=m,
                N=n,
            )

    def chosen(v: Inputs) -> Mapping[str, Array]:
        n = len(v["x"])
        i = np.arange(n)
        seen = np.where(np.concatenate([i < n - 1, i > 1]), np.stack([v["x"], v["y"]], 1).reshape(-1), 7)
        return {"out": np.stack([seen[:n], seen[n:]], 1).reshape(-1)}

    for n in (16, 512):
        _case(
            f"join_pointers_{n}",
            pointers_chosen,
            lambda rng, n=n: {
                "x": numbers(rng, n, np.int32),
                "y": numbers(rng, n, np.int32),
                "out": poison(2 * n, np.int32),
            },
            chosen,
            N=n,
        )


def _flip_cases() -> None:
    for axis in range(2):
        for m, n, warps in ((1, 1024, 4), (16, 64, 4), (128, 2, 4), (2, 8, 1), (512, 8, 8)):
            for dtype in (np.int32, np.bool_, np.float16):
                _case(
                    f"flip_{short(dtype)}_{m}x{n}_axis{axis}",
                    flipped,
                    _one((m, n), (m, n), dtype),
                    lambda v, a=axis: {"out": np.flip(v["x"], a)},
                    warps,
                    AXIS=axis,
                    M=m,
                    N=n,
                )

    def at_mirrored(v: Inputs) -> Mapping[str, Array]:
        n = 512
        i = np.arange(n, dtype=np.int32)
        padded = np.zeros(n, np.int32)
        padded[: v["n"]] = v["x"][: v["n"]]
        return {"out": padded[::-1] + np.stack([i[::-1], i], 1).reshape(2, n).sum(0)}

    _case("flip_index", flipped_index, _one(500, 512, n=500), at_mirrored, N=512)


def _tile_cases() -> None:
    shapes = ((64, 32, 16, 8), (16, 64, 16, 16), (8, 8, 1, 1), (128, 4, 32, 4), (32, 64, 32, 32))
    for m, n, p, q in shapes:
        for at in ((m // p - 1, n // q - 1), (m // p) * (n // q) // 2, (0, 0)):
            grid = (m // p, n // q)
            row, column = at if isinstance(at, tuple) else np.unravel_index(at, grid)
            _case(
                f"extract_tile_{m}x{n}_{p}x{q}_at{row}_{column}_{'number' if isinstance(at, int) else 'tuple'}",
                tile_static,
                _one((m, n), (p, q), np.float16),
                lambda v, r=row, c=column, p=p, q=q: {"out": v["x"][r * p : (r + 1) * p, c * q : (c + 1) * q]},
                AT=at,
                M=m,
                N=n,
                P=p,
                Q=q,
            )
        row = min(1, m // p - 1)

        def tiles(v: Inputs, p: int = p, q: int = q) -> Mapping[str, Array]:
            band = v["x"][v["row"] * p : (v["row"] + 1) * p]
            parts = np.split(band, band.shape[1] // q, 1)
            return {"out": np.stack([*parts, parts[0]]).reshape(-1)}

        _case(
            f"extract_tile_{m}x{n}_{p}x{q}_dynamic",
            tile_dynamic,
            _one((m, n), n * p + p * q, np.uint8, row=row),
            tiles,
            M=m,
            N=n,
            P=p,
            Q=q,
        )
    for m, n, p, q in ((32, 64, 16, 16), (64, 16, 32, 16), (128, 8, 4, 2)):
        for form in range(4):

            def inserted(v: Inputs, p: int = p, q: int = q) -> Mapping[str, Array]:
                result = v["x"].copy()
                result[p : 2 * p, :q] = v["y"]
                return {"out": result + v["x"]}

            _case(
                f"insert_tile_{m}x{n}_{p}x{q}_form{form}",
                tile_inserted,
                lambda rng, m=m, n=n, p=p, q=q: {
                    "x": numbers(rng, (m, n), np.int32),
                    "y": numbers(rng, (p, q), np.int32),
                    "out": poison((m, n), np.int32),
                    "row": 1,
                },
                inserted,
                FORM=form,
                M=m,
                N=n,
                P=p,
                Q=q,
            )
    for n in (2, 64, 1024):
        _case(
            f"swap_halves_{n}",
            swap_halves,
            _one(n, n),
            lambda v: {"out": np.roll(v["x"], len(v["x"]) // 2)},
            N=n,
        )
    for n in (0, 1):
        _case(
            f"tiles_by_branch_{n}",
            branch_of_tiles,
            _one(512, 128, n=n),
            lambda v: {"out": v["x"][:128] if v["n"] else v["x"][-128:]},
            N=512,
        )


def _other_cases() -> None:
    def turned(v: Inputs) -> Mapping[str, Array]:
        value = v["x"]
        for _ in range(v["n"]):
            value = np.concatenate([value[1::2], value[::2]]) + value[::-1]
        return {"out": value}

    for n in (16, 1024):
        _case(f"carried_shapes_{n}", carried_through_shapes, _one(n, n, n=3), turned, N=n)

    def cube(v: Inputs) -> Mapping[str, Array]:
        bits = len(v["x"]).bit_length() - 1
        value = v["x"].reshape((2,) * bits)
        for axis in range(bits):
            value = value + np.bitwise_xor.reduce(value, axis=axis, keepdims=True)
        return {"out": value.reshape(-1)}

    def nested(v: Inputs) -> Mapping[str, Array]:
        value = v["x"]
        n = len(value)
        for _ in range(4):
            both = np.concatenate([value, value[::-1]])
            value = np.stack([both[1::2][n // 2 :], both[::2][: n // 2]], 1).reshape(-1) * 3 + value
            value = np.roll(value, n // 2)
            parts = value.reshape(8, -1).copy()
            parts[5] = parts[3]
            value = parts.reshape(-1)
        return {"out": value}

    for n in (8, 64, 1024):
        _case(f"nested_choices_{n}", nested_choices, _one(n, n), nested, N=n)

    for bits in (3, 9):
        _case(f"hypercube_{bits}", hypercube, _one(1 << bits, 1 << bits), cube, BITS=bits)

    def grouped(m: int, n: int, g: int) -> Mapping[str, Array]:
        order = [(i, j) for top in range(0, m, g) for j in range(n) for i in range(top, min(top + g, m))]
        return {"rows": np.array([i for i, _ in order]), "columns": np.array([j for _, j in order])}

    for m, n, g in ((8, 8, 4), (5, 4, 2), (3, 7, 8)):
        _case(
            f"swizzle2d_{m}x{n}_{g}",
            swizzled,
            lambda rng, c=m * n: {"rows": poison(c, np.int32), "columns": poison(c, np.int32)},
            lambda v, m=m, n=n, g=g: grouped(m, n, g),
            M=m,
            N=n,
            G=g,
        )


_join_cases()
_flip_cases()
_tile_cases()
_other_cases()
