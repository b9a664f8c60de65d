"""Loads, stores, masks, cache hints, program indices, and shapes: what moves elements without computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, F8E4NV, F8E5, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tests.opcases.elementwise import ALL_DTYPES
from tle2cuda.language import tle

# ---- masks and vectors ----------------------------------------------------------------------------------------------


@tle2cuda.jit
def copy_masked(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@tle2cuda.jit
def copy_unmasked(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


@tle2cuda.jit
def copy_window(x, out, low, high, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """Two bounds, and what is outside reads as OTHER."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=(i >= low) & (i < high), other=OTHER)
    tl.store(out + i, value)


@tle2cuda.jit
def store_window(x, out, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), mask=(i >= low) & (i <= high))


@tle2cuda.jit
def copy_where(x, keep, out, n, BLOCK: tl.constexpr):
    """A mask from memory together with a bound; `other` is a tile."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = tl.load(keep + i, mask=i < n, other=0) != 0
    value = tl.load(x + i, mask=ok & (i < n), other=i.to(x.dtype.element_ty))
    tl.store(out + i, value, mask=(i < n) & ((i & 1) == 0) | (i < 7))


@tle2cuda.jit
def copy_uniform_mask(x, out, flag, n, BLOCK: tl.constexpr):
    """A bound, and a condition that is the same for all elements."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=(i < n) & (flag > 2), other=-1)
    tl.store(out + i, value, mask=(flag != 4) & (i <= n))


@tle2cuda.jit
def copy_shifted(x, out, shift, n, BLOCK: tl.constexpr):
    """Addresses without known alignment, and a bound that ends within vectors."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + shift + i, mask=i + shift < n, other=0), mask=n > i)


@tle2cuda.jit
def copy_strided(x, out, n, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i * STRIDE, tl.load(x + i * STRIDE, mask=i < n), mask=i < n)


@tle2cuda.jit
def copy_reversed(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + (BLOCK - 1) - i))


@tle2cuda.jit
def gather(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + i, tl.load(x + at, mask=i < n), mask=i < n)


@tle2cuda.jit
def gather_rows(x, index, out, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Short rows by a table: in one warp, the pointers to them reach the threads that load by shuffles."""
    i, j = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    taken = tl.load(x + tl.load(index + i)[:, None] * WIDTH + j[None, :])
    tl.store(out + i[:, None] * WIDTH + j[None, :], taken)


@tle2cuda.jit
def packed_rows(x, out, BLOCK: tl.constexpr, ROW: tl.constexpr, PITCH: tl.constexpr):
    """Rows with gaps between them: neighbours within a row, so vectors, whose place is computed by division."""
    i = tl.arange(0, BLOCK)
    row = i // ROW
    start = row * PITCH
    value = tl.load(x + start + i % ROW)
    tl.store(out + i, value + row.to(value.dtype))


@tle2cuda.jit
def scatter(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + at, tl.load(x + i, mask=i < n), mask=i < n)


@tle2cuda.jit
def in_place(x, n, BLOCK: tl.constexpr):
    """Loads after stores of the same memory, and a store that another thread's load must not see too early."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(x + i, value * 2, mask=i < n)
    again = tl.load(x + i, mask=i < n, other=0)
    tl.store(x + i, again + value, mask=i < n)


@tle2cuda.jit
def reverse_in_place(x, BLOCK: tl.constexpr):
    """Every element is loaded before any is stored."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.debug_barrier()
    tl.store(x + (BLOCK - 1) - i, value)


@tle2cuda.jit
def increment_scalar(counter, out, rounds, N: tl.constexpr):
    """A scalar that is loaded, then overwritten, is the same in all threads; so is what is loaded behind."""
    p = tl.program_id(0)
    i = tl.arange(0, N)
    for step in range(rounds):
        value = tl.load(counter + p)
        tl.store(counter + p, value + 1)
        again = tl.load(counter + p)
        tl.store(out + (p * rounds + step) * N + i, i * value + again)


@tle2cuda.jit
def increment_copies(x, out, M: tl.constexpr, N: tl.constexpr):
    """The same of a tile that several warps hold: all their copies are loaded before any element is overwritten."""
    i = tl.arange(0, M)
    value = tl.load(x + i)
    tl.store(x + i, value + 1)
    total = tl.sum(value, axis=0)
    largest = tl.max(tl.load(x + i), axis=0)
    tl.store(out + tl.arange(0, N), total + largest * tl.arange(0, N))


@tle2cuda.jit
def store_twice(out, BLOCK: tl.constexpr):
    """The later store wins where both write."""
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i)
    tl.store(out + i, -i, mask=i % 3 == 0)


@tle2cuda.jit
def store_constant(out, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, VALUE, mask=i < n)


@tle2cuda.jit
def scalars(x, out, count, ratio, big):
    """Scalar loads with masks and `other`, scalar stores with masks, arguments of several types."""
    p = tl.program_id(0)
    a = tl.load(x + p)
    b = tl.load(x + p + 1, mask=p < 2, other=-7)
    tl.store(out + p * 4, a + b)
    tl.store(out + p * 4 + 1, (a.to(tl.float32) * ratio).to(tl.int64))
    tl.store(out + p * 4 + 2, big - a)
    tl.store(out + p * 4 + 3, count, mask=p != 1)


@tle2cuda.jit
def cached(x, y, out, n, LOAD: tl.constexpr, STORE: tl.constexpr, EVICT: tl.constexpr, VOLATILE: tl.constexpr,
           BLOCK: tl.constexpr):  # fmt: skip
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1, cache_modifier=LOAD, eviction_policy=EVICT, volatile=VOLATILE)
    b = tl.load(y, cache_modifier=LOAD, volatile=VOLATILE)
    tl.store(out + i, a + b, mask=i < n, cache_modifier=STORE, eviction_policy=EVICT)


@tle2cuda.jit
def asynchronous(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tle.load(x + i, mask=i < n, other=0.0, is_async=True)
    tl.store(out + i, value * 2, mask=i < n)


@tle2cuda.jit
def program_index(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(axis=2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + at, x + 100 * y + 10000 * z + 1000000 * tl.num_programs(2))


@tle2cuda.jit(debug=True)
def hinted(x, out, n, BLOCK: tl.constexpr):
    tl.assume(n != 77)
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    tl.device_assert(n >= 0, "no negative length")
    tl.device_assert(i >= 0)
    tl.static_assert(BLOCK % 2 == 0)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@tle2cuda.jit
def printing(x, n, BLOCK: tl.constexpr):
    """Prints from a tile smaller than the CTA and of scalars; nothing is written."""
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    if n > 1000:
        tl.device_print("value", value, value * 2)
        tl.device_print("n %d", n)
        tl.device_print("hexadecimal", i, hex=True)


# ---- matrices and shapes --------------------------------------------------------------------------------------------


@tle2cuda.jit
def copy_matrix(x, out, rows, cols, stride_in, stride_out, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * N + tl.arange(0, N)
    ok = (r[:, None] < rows) & (c[None, :] < cols)
    value = tl.load(x + r[:, None] * stride_in + c[None, :], mask=ok)
    tl.store(out + r[:, None] * stride_out + c[None, :], value, mask=ok)


@tle2cuda.jit
def transpose_by_pointers(x, out, M: tl.constexpr, N: tl.constexpr):
    """Coalesced both ways only with an exchange between threads."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(out + c[None, :] * M + r[:, None], value)


@tle2cuda.jit
def transpose(x, out, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + r[:, None] * N + c[None, :])
    tl.store(out + c[:, None] * M + r[None, :], tl.trans(value) + 1)


@tle2cuda.jit
def permute_3d(x, out, PERM: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C)
    value = tl.load(x + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    turned = tl.permute(value, PERM)
    X: tl.constexpr = turned.shape[0]
    Y: tl.constexpr = turned.shape[1]
    Z: tl.constexpr = turned.shape[2]
    i, j, k = tl.arange(0, X), tl.arange(0, Y), tl.arange(0, Z)
    tl.store(out + (i[:, None, None] * Y + j[None, :, None]) * Z + k[None, None, :], turned)


@tle2cuda.jit
def reshape_chain(x, out, M: tl.constexpr, N: tl.constexpr):
    """Data read in another order of registers: flat, as a matrix of another shape, transposed, flat again."""
    i = tl.arange(0, M * N)
    flat = tl.load(x + i)
    matrix = tl.reshape(flat * 3, (M, N))
    turned = tl.trans(matrix)
    again = tl.reshape(turned, (M * N,))
    tl.store(out + i, again - flat)


@tle2cuda.jit
def reshape_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + r[:, None] * N + c[None, :])
    half = tl.view(value, (M * 2, N // 2))
    sums = tl.sum(half, axis=1)
    tl.store(out + tl.arange(0, M * 2), sums)


@tle2cuda.jit
def broadcast_data(x, y, out, M: tl.constexpr, N: tl.constexpr):
    """Loaded tiles, not only indices, stretched along either axis."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    column = tl.load(x + r)
    row = tl.load(y + c)
    a, b = tl.broadcast(column[:, None], row[None, :])
    both = tl.broadcast_to(tl.expand_dims(column, 1), (M, N))
    tl.store(out + r[:, None] * N + c[None, :], a * b + both)


@tle2cuda.jit
def outer_of_one(x, y, out, N: tl.constexpr):
    """The same tile along both axes: it must be had in two layouts."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(out + i[:, None] * N + i[None, :], value[:, None] * 10 + value[None, :])
    tl.store(y + i, value + 1)


@tle2cuda.jit
def full_and_zeros(out, n, VALUE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    base = tl.zeros((BLOCK,), out.dtype.element_ty) + tl.full((BLOCK,), VALUE, out.dtype.element_ty)
    tl.store(out + i, base + tl.zeros_like(base), mask=i < n)


@tle2cuda.jit
def one_element(x, out):
    """Tiles of one element, and a scalar made from one."""
    i = tl.arange(0, 1)
    value = tl.load(x + i)
    scalar = tl.sum(value, axis=0)
    back = tl.reshape(value, ())
    tl.store(out + i, value + scalar)
    tl.store(out + 1, back)
    tl.store(out + 2 + i, tl.expand_dims(scalar, 0))


@tle2cuda.jit
def offset_views(x, out, M: tl.constexpr, N: tl.constexpr):
    """A layout conversion of pointers' contents in the middle of elementwise work, of a bool tile too."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + r[:, None] * N + c[None, :])
    positive = value > 0
    turned = tl.trans(positive)
    tl.store(out + c[:, None] * M + r[None, :], tl.where(turned, tl.trans(value), -1))


@tle2cuda.jit
def mixed_widths(x, y, out, n, BLOCK: tl.constexpr):
    """Vectors of 16 bytes of one type are not those of another."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=0)
    b = tl.load(y + i, mask=i < n, other=0)
    tl.store(out + i, a.to(tl.int64) * 1000 + b.to(tl.int64), mask=i < n)


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    num_warps: int = 4,
    grid: tuple[int, ...] = (1,),
    family: str = "memory",
    tolerance: Tolerance = EXACT,
) -> None:
    def cast(inputs: Inputs) -> Mapping[str, Array]:
        return {key: value.astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    uses_stack = kernel in (printing, hinted)
    add_case(OpCase(name, family, kernel, grid, make, cast, constants, num_warps, tolerance, uses_stack=uses_stack))


def _where(inputs: Inputs, values: Array, keep: Array) -> dict[str, Array]:
    """Poison where nothing is stored."""
    return {"out": np.where(keep, values, inputs["out"])}


def _register_masks() -> None:
    for label, dtype in ALL_DTYPES.items():
        for n, block, warps in ((1003, 512, 4), (1024, 1024, 1), (16, 64, 4)):
            _case(
                f"copy_{label}_{n}",
                copy_masked,
                lambda rng, n=n, dtype=dtype: {"x": numbers(rng, n, dtype, True), "out": poison(n, dtype), "n": n},
                lambda inputs: {"out": inputs["x"]},
                {"BLOCK": block},
                warps,
                (-(-n // block),),
            )
        _case(
            f"copy_unmasked_{label}",
            copy_unmasked,
            lambda rng, dtype=dtype: {"x": numbers(rng, 1024, dtype, True), "out": poison(1024, dtype)},
            lambda inputs: {"out": inputs["x"]},
            {"BLOCK": 512},
            2,
            (2,),
        )
    for label in ("i8", "f16", "f32", "f64", "bool"):
        dtype = ALL_DTYPES[label]
        for low, high in ((0, 1024), (5, 1001), (300, 301), (512, 512), (700, 200)):
            inside = np.arange(1024)
            _case(
                f"load_window_{label}_{low}_{high}",
                copy_window,
                lambda rng, dtype=dtype, low=low, high=high: {
                    "x": numbers(rng, 1024, dtype),
                    "out": poison(1024, dtype),
                    "low": low,
                    "high": high,
                },
                lambda inputs, inside=inside: {
                    "out": np.where(
                        (inside >= inputs["low"]) & (inside < inputs["high"]),
                        inputs["x"],
                        np.ones(1, inputs["x"].dtype),
                    )
                },
                {"BLOCK": 512, "OTHER": 1},
                4,
                (2,),
            )
            _case(
                f"store_window_{label}_{low}_{high}",
                store_window,
                lambda rng, dtype=dtype, low=low, high=high: {
                    "x": numbers(rng, 1024, dtype),
                    "out": poison(1024, dtype),
                    "low": low,
                    "high": high,
                },
                lambda inputs, inside=inside: _where(
                    inputs, inputs["x"], (inside >= inputs["low"]) & (inside <= inputs["high"])
                ),
                {"BLOCK": 512},
                4,
                (2,),
            )
        _case(
            f"mask_from_memory_{label}",
            copy_where,
            lambda rng, dtype=dtype: {
                "x": numbers(rng, 1000, dtype),
                "keep": rng.integers(0, 2, 1000, "u1"),
                "out": poison(1024, dtype),
                "n": 1000,
            },
            _mask_from_memory,
            {"BLOCK": 256},
            4,
            (4,),
        )
    for flag in (1, 3, 4):
        for n in (1, 100, 128):
            _case(
                f"uniform_mask_{flag}_{n}",
                copy_uniform_mask,
                lambda rng, flag=flag, n=n: {
                    "x": numbers(rng, 129, "i4"),
                    "out": poison(129, "i4"),
                    "flag": flag,
                    "n": n,
                },
                _uniform_mask,
                {"BLOCK": 128},
            )


def _mask_from_memory(inputs: Inputs) -> dict[str, Array]:
    n, i = inputs["n"], np.arange(1024)
    x = np.concatenate([inputs["x"], np.zeros(24, inputs["x"].dtype)])
    keep = np.concatenate([inputs["keep"], np.zeros(24, "u1")]) != 0
    # The index as an 8-bit number wraps, as a bool it says whether it is nonzero.
    value = np.where(keep & (i < n), x, i.astype(x.dtype))
    return _where(inputs, value, (i < n) & (i % 2 == 0) | (i < 7))


def _uniform_mask(inputs: Inputs) -> dict[str, Array]:
    i, n, flag = np.arange(129), inputs["n"], inputs["flag"]
    value = np.where((i < n) & (flag > 2), inputs["x"], -1)
    return _where(inputs, value, (flag != 4) & (i <= n) & (i < 128))


def _register_addresses() -> None:
    for label, pitch in (("i8", 32), ("f16", 40), ("f32", 28)):
        dtype = ALL_DTYPES[label]
        _case(
            f"packed_rows_{label}",
            packed_rows,
            lambda rng, dtype=dtype, pitch=pitch: {"x": numbers(rng, (22, pitch), dtype), "out": poison(512, dtype)},
            lambda inputs: {"out": (inputs["x"][:, :24] + np.arange(22, dtype=inputs["x"].dtype)[:, None]).ravel()[:512]},
            {"BLOCK": 512, "ROW": 24, "PITCH": pitch},
            2,
            (1,),
        )
    for shift in (0, 1, 2, 4, 16, 1000):
        _case(
            f"copy_shifted_{shift}",
            copy_shifted,
            lambda rng, shift=shift: {
                "x": numbers(rng, 1001, "f4"),
                "out": poison(1001, "f4"),
                "shift": shift,
                "n": 1001,
            },
            lambda inputs: {"out": np.concatenate([inputs["x"][inputs["shift"] :], np.zeros(inputs["shift"], "f4")])},
            {"BLOCK": 256},
            4,
            (4,),
        )
    for stride in (2, 3, 16):
        _case(
            f"copy_strided_{stride}",
            copy_strided,
            lambda rng, stride=stride: {
                "x": numbers(rng, 200 * stride, "i2"),
                "out": poison(200 * stride, "i2"),
                "n": 199,
            },
            lambda inputs, stride=stride: _where(
                inputs,
                inputs["x"],
                (np.arange(200 * stride) % stride == 0) & (np.arange(200 * stride) < 199 * stride),
            ),
            {"STRIDE": stride, "BLOCK": 256},
        )
    for block, warps in ((16, 4), (1024, 4)):
        _case(
            f"copy_reversed_{block}",
            copy_reversed,
            lambda rng, block=block: {"x": numbers(rng, block, "f4"), "out": poison(block, "f4")},
            lambda inputs: {"out": inputs["x"][::-1]},
            {"BLOCK": block},
            warps,
        )
        _case(
            f"reverse_in_place_{block}",
            reverse_in_place,
            lambda rng, block=block: {"x": numbers(rng, block, "f4")},
            lambda inputs: {"x": inputs["x"][::-1]},
            {"BLOCK": block},
            warps,
        )
        _case(
            f"store_twice_{block}",
            store_twice,
            lambda rng, block=block: {"out": poison(block, "i4")},
            lambda inputs: {"out": np.where(np.arange(len(inputs["out"])) % 3 == 0, -1, 1) * np.arange(len(inputs["out"]))},
            {"BLOCK": block},
            warps,
        )
        _case(
            f"in_place_{block}",
            in_place,
            lambda rng, block=block: {"x": numbers(rng, block - 3, "i4"), "n": block - 3},
            lambda inputs: {"x": inputs["x"] * 3},
            {"BLOCK": block},
            warps,
        )
    _case(
        "increment_scalar",
        increment_scalar,
        lambda rng: {"counter": numbers(rng, 3, "i4"), "out": poison((3, 20, 256), "i4"), "rounds": 20},
        _increment_scalar,
        {"N": 256},
        8,
        (3,),
    )
    for m, warps in ((1, 4), (16, 4), (32, 8), (64, 8)):
        _case(
            f"increment_copies_{m}",
            increment_copies,
            lambda rng, m=m: {"x": rng.integers(-99, 99, m, "i4"), "out": poison(512, "i4")},
            lambda inputs: {
                "x": inputs["x"] + 1,
                "out": inputs["x"].sum() + (inputs["x"].max() + 1) * np.arange(512),
            },
            {"M": m, "N": 512},
            warps,
        )
    for label, dtype in (("i32", "i4"), ("i64", "i8"), ("u16", "u2")):
        for kernel, name in ((gather, "gather"), (scatter, "scatter")):
            for n, block in ((777, 256), (10, 32)):
                _case(
                    f"{name}_{label}_{n}",
                    kernel,
                    lambda rng, n=n, dtype=dtype: {
                        "x": numbers(rng, n, "f4"),
                        "index": rng.permutation(n).astype(dtype),
                        "out": poison(n, "f4"),
                        "n": n,
                    },
                    lambda inputs, name=name: {
                        "out": inputs["x"][inputs["index"].astype(int) if name == "gather" else np.argsort(inputs["index"])]
                    },
                    {"BLOCK": block},
                    4,
                    (-(-n // block),),
                )
    for label, dtype, value in (("i8", "i1", -3), ("f16", "f2", 1.5), ("bool", "?", False), ("u64", "u8", 2**63)):
        _case(
            f"store_constant_{label}",
            store_constant,
            lambda rng, dtype=dtype: {"out": poison(515, dtype), "n": 515},
            lambda inputs, value=value: {"out": np.full(515, value)},
            {"VALUE": value, "BLOCK": 256},
            4,
            (3,),
        )
    _case(
        "load_other_least_int",
        copy_window,
        lambda rng: {"x": numbers(rng, 512, "i4"), "out": poison(512, "i4"), "low": 4, "high": 300},
        lambda inputs: {"out": np.r_[np.full(4, -(2**31)), inputs["x"][4:300], np.full(212, -(2**31))]},
        {"OTHER": -(2**31), "BLOCK": 512},
    )
    _case(
        "store_inf",
        store_constant,
        lambda rng: {"out": poison(50, BF16), "n": 50},
        lambda inputs: {"out": np.full(50, -np.inf)},
        {"VALUE": float("-inf"), "BLOCK": 64},
    )
    _case(
        "scalars",
        scalars,
        lambda rng: {
            "x": numbers(rng, 4, "i2").astype("i8") * 3,
            "out": poison(12, "i8"),
            "count": 77,
            "ratio": 0.5,
            "big": 2**40,
        },
        _scalars_reference,
        {},
        2,
        (3,),
    )


def _register_rows() -> None:
    for width, warps in ((4, 1), (16, 4)):
        _case(
            f"gather_rows_{width}_w{warps}",
            gather_rows,
            lambda rng, width=width: {
                "x": numbers(rng, (99, width), "f2"),
                "index": rng.integers(0, 99, 64, "i4"),
                "out": poison((64, width), "f2"),
            },
            lambda inputs: {"out": inputs["x"][inputs["index"]]},
            {"ROWS": 64, "WIDTH": width},
            warps,
        )


def _increment_scalar(inputs: Inputs) -> dict[str, Array]:
    value = inputs["counter"][:, None, None] + np.arange(20, dtype="i4")[None, :, None]
    return {"counter": inputs["counter"] + 20, "out": np.arange(256, dtype="i4") * value + value + 1}


def _scalars_reference(inputs: Inputs) -> dict[str, Array]:
    x, out = inputs["x"], inputs["out"].copy()
    for p in range(3):
        out[4 * p] = x[p] + (x[p + 1] if p < 2 else -7)
        out[4 * p + 1] = int(np.float32(x[p]) * np.float32(0.5))
        out[4 * p + 2] = 2**40 - x[p]
        if p != 1:
            out[4 * p + 3] = 77
    return {"out": out}


def _register_hints() -> None:
    settings = [(load, "", "", False) for load in ("", ".ca", ".cg", ".cs", ".cv")]
    settings += [("", store, "", False) for store in (".wb", ".cg", ".cs", ".wt")]
    settings += [("", "", evict, False) for evict in ("evict_first", "evict_last")] + [("", "", "", True)]
    for label, dtype in (("f32", "f4"), ("f16", "f2"), ("i8", "i1"), ("i64", "i8"), ("bf16", BF16)):
        for load, store, evict, volatile in settings:
            for n, block in ((1001, 512), (20, 32)):
                name = (load or store or evict or ("volatile" if volatile else "plain")).strip(".")
                side = "load_" if load else "store_" if store else ""
                _case(
                    f"cache_{side}{name}_{label}_{n}",
                    cached,
                    lambda rng, n=n, dtype=dtype: {
                        "x": (rng.integers(-50, 50, n)).astype(dtype),
                        "y": np.array([3]).astype(dtype),
                        "out": poison(n, dtype),
                        "n": n,
                    },
                    lambda inputs: {"out": inputs["x"].astype(np.float64) + 3},
                    {"LOAD": load, "STORE": store, "EVICT": evict, "VOLATILE": volatile, "BLOCK": block},
                    4,
                    (-(-n // block),),
                )
    _case(
        "load_async",
        asynchronous,
        lambda rng: {"x": numbers(rng, 700, "f4"), "out": poison(700, "f4"), "n": 700},
        lambda inputs: {"out": inputs["x"] * 2},
        {"BLOCK": 256},
        4,
        (3,),
    )
    _case(
        "hints",
        hinted,
        lambda rng: {"x": numbers(rng, 700, "i4"), "out": poison(700, "i4"), "n": 700},
        lambda inputs: {"out": inputs["x"] + 1},
        {"BLOCK": 256},
        4,
        (3,),
        family="debug",
    )
    _case(
        "device_print",
        printing,
        lambda rng: {"x": numbers(rng, 20, "i4"), "n": 20},
        lambda inputs: {},
        {"BLOCK": 32},
        family="debug",
    )
    for grid in ((5,), (3, 4), (2, 3, 4)):
        _case(
            f"program_index_{len(grid)}d",
            program_index,
            lambda rng, grid=grid: {"out": poison(int(np.prod(grid)), "i4")},
            lambda inputs, grid=grid: {"out": _program_index(grid)},
            {},
            1,
            grid,
            family="program",
        )


def _program_index(grid: tuple[int, ...]) -> Array:
    x, y, z = (*grid, 1, 1)[:3]
    k, j, i = np.meshgrid(np.arange(z), np.arange(y), np.arange(x), indexing="ij")
    return (i + 100 * j + 10000 * k + 1000000 * z).reshape(-1)


_MATRICES = ((16, 64, 4), (64, 16, 4), (32, 32, 4), (4, 8, 4), (1, 128, 4), (128, 1, 4), (2, 2, 1), (64, 128, 8))
_DTYPES = (("i8", "i1"), ("f16", "f2"), ("i32", "i4"), ("f64", "f8"))


def _register_shapes() -> None:
    for m, n, warps in _MATRICES:
        for label, dtype in _DTYPES:
            constants = {"M": m, "N": n}

            def make(rng: np.random.Generator, m: int = m, n: int = n, dtype: str = dtype) -> Inputs:
                return {"x": rng.integers(-20, 20, (m, n)).astype(dtype), "out": poison((n, m), dtype)}

            for kernel, shift in ((transpose_by_pointers, 0), (transpose, 1)):
                _case(
                    f"{kernel.fn.__name__}_{label}_{m}x{n}",
                    kernel,
                    make,
                    lambda inputs, shift=shift: {"out": inputs["x"].T + shift},
                    constants,
                    warps,
                    family="shape",
                )
        _case(
            f"transpose_bool_{m}x{n}",
            offset_views,
            lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), "i4"), "out": poison((n, m), "i4")},
            lambda inputs: {"out": np.where(inputs["x"] > 0, inputs["x"], -1).T},
            {"M": m, "N": n},
            warps,
            family="shape",
        )
        _case(
            f"reshape_chain_{m}x{n}",
            reshape_chain,
            lambda rng, m=m, n=n: {"x": numbers(rng, m * n, "i4"), "out": poison(m * n, "i4")},
            lambda inputs, m=m, n=n: {"out": (inputs["x"] * 3).reshape(m, n).T.reshape(-1) - inputs["x"]},
            {"M": m, "N": n},
            warps,
            family="shape",
        )
        _case(
            f"broadcast_data_{m}x{n}",
            broadcast_data,
            lambda rng, m=m, n=n: {
                "x": numbers(rng, m, "i4"),
                "y": numbers(rng, n, "i4"),
                "out": poison((m, n), "i4"),
            },
            lambda inputs: {"out": inputs["x"][:, None] * inputs["y"] + inputs["x"][:, None]},
            {"M": m, "N": n},
            warps,
            family="shape",
        )
        if n > 1:
            _case(
                f"reshape_rows_{m}x{n}",
                reshape_rows,
                lambda rng, m=m, n=n: {"x": numbers(rng, (m, n), "i4"), "out": poison(2 * m, "i4")},
                lambda inputs, m=m, n=n: {"out": inputs["x"].reshape(2 * m, n // 2).sum(axis=1, dtype=np.int32)},
                {"M": m, "N": n},
                warps,
                family="shape",
            )
    for n, warps in ((8, 4), (32, 4), (64, 2)):
        _case(
            f"outer_of_one_{n}",
            outer_of_one,
            lambda rng, n=n: {"x": numbers(rng, n, "i4"), "y": poison(n, "i4"), "out": poison((n, n), "i4")},
            lambda inputs: {
                "out": inputs["x"][:, None] * 10 + inputs["x"][None, :],
                "y": inputs["x"] + 1,
            },
            {"N": n},
            warps,
            family="shape",
        )
    for perm in ((0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
        for shape, warps in (((4, 8, 32), 4), ((2, 2, 4), 4)):
            for label, dtype in (("i32", "i4"), ("f16", "f2")):
                _case(
                    f"permute_{''.join(map(str, perm))}_{label}_{'x'.join(map(str, shape))}",
                    permute_3d,
                    lambda rng, shape=shape, perm=perm, dtype=dtype: {
                        "x": rng.integers(-99, 99, shape).astype(dtype),
                        "out": poison(tuple(shape[axis] for axis in perm), dtype),
                    },
                    lambda inputs, perm=perm: {"out": inputs["x"].transpose(perm)},
                    {"PERM": perm, "A": shape[0], "B": shape[1], "C": shape[2]},
                    warps,
                    family="shape",
                )
    for rows, cols, m, n, warps in ((50, 70, 16, 32, 4), (33, 128, 8, 128, 8), (5, 5, 8, 8, 4), (17, 1000, 4, 512, 4)):
        for label, dtype in (("f32", "f4"), ("u8", "u1"), ("bf16", BF16), ("f8e5", F8E5), ("f8e4nv", F8E4NV)):
            for pad in (0, 1, 16):
                if pad == 1 and label.startswith("f8"):
                    continue
                _case(
                    f"copy_matrix_{label}_{rows}x{cols}_{pad}",
                    copy_matrix,
                    lambda rng, rows=rows, cols=cols, pad=pad, dtype=dtype: {
                        "x": numbers(rng, (rows, cols + pad), dtype),
                        "out": poison((rows, cols + 3), dtype),
                        "rows": rows,
                        "cols": cols,
                        "stride_in": cols + pad,
                        "stride_out": cols + 3,
                    },
                    _matrix_reference,
                    {"M": m, "N": n},
                    warps,
                    (-(-rows // m), -(-cols // n)),
                    family="shape",
                )
    for label, dtype, value in (("i32", "i4", 7), ("f32", "f4", -2.5), ("u8", "u1", 200), ("bf16", BF16, 0.5)):
        _case(
            f"full_{label}",
            full_and_zeros,
            lambda rng, dtype=dtype: {"out": poison(100, dtype), "n": 100},
            lambda inputs, value=value: {"out": np.full(100, value)},
            {"VALUE": value, "BLOCK": 128},
            family="creation",
        )
    _case(
        "one_element",
        one_element,
        lambda rng: {"x": numbers(rng, 1, "i4"), "out": poison(3, "i4")},
        lambda inputs: {"out": inputs["x"][[0, 0, 0]] * np.array([2, 1, 1], "i4")},
        {},
        family="shape",
    )
    for a, b in (("i1", "i8"), ("u2", "i4"), ("f4", "i1"), ("f8", "u1"), ("?", "i2")):
        for n, block in ((1003, 512), (20, 32)):
            _case(
                f"mixed_widths_{np.dtype(a)}_{np.dtype(b)}_{n}",
                mixed_widths,
                lambda rng, a=a, b=b, n=n: {
                    "x": rng.integers(0, 100, n).astype(a),
                    "y": rng.integers(0, 100, n).astype(b),
                    "out": poison(n, "i8"),
                    "n": n,
                },
                lambda inputs: {"out": inputs["x"].astype("i8") * 1000 + inputs["y"].astype("i8")},
                {"BLOCK": block},
                4,
                (-(-n // block),),
            )


def _matrix_reference(inputs: Inputs) -> dict[str, Array]:
    out, cols = inputs["out"].copy(), inputs["cols"]
    out[:, :cols] = inputs["x"][:, :cols]
    return {"out": out}


_register_masks()
_register_addresses()
_register_rows()
_register_hints()
_register_shapes()
