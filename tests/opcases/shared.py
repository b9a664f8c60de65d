"""Shared memory: allocation, views, pointers of every index form, copies, atomics, order between accesses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison
from tests.opcases.elementwise import ALL_DTYPES
from tle2cuda.language import tle


@tle2cuda.jit
def through_buffer(x, out, n, N: tl.constexpr, MMA: tl.constexpr):
    """Store, then read in reverse: other threads' elements."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=MMA)
    tl.store(tle.gpu.local_ptr(buf), tl.load(x + i, mask=i < n, other=0))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))))


@tle2cuda.jit
def matrix_buffer(x, out, M: tl.constexpr, N: tl.constexpr, MMA: tl.constexpr):
    """A matrix read whole, transposed by indices, and one row and element by scalars."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    buf = tle.gpu.alloc([M, N], x.dtype.element_ty, layout=None, scope=tle.gpu.smem, nv_mma_shared_layout=MMA)
    buf.store(tl.load(x + at))
    whole = buf.load()
    rows = tl.broadcast_to(r[None, :], (N, M))
    cols = tl.broadcast_to(c[:, None], (N, M))
    turned = tl.load(tle.gpu.local_ptr(buf, (rows, cols)))
    tl.store(out + at, whole)
    tl.store(out + M * N + cols * M + rows, turned)
    tl.store(out + 2 * M * N, tl.load(tle.gpu.local_ptr(buf, (M - 1, 1))))


@tle2cuda.jit
def pointer_forms(x, out, N: tl.constexpr):
    """Scalar pointers and arithmetic on them, splats, flat offsets, pointers in functions."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([2 * N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    base = tle.gpu.local_ptr(buf, (0,))
    tl.store(base + i, tl.load(x + i))
    tl.store(base + (N + i), i * 10)
    tl.store(base + 3, 77)
    k = tl.load(x) % N
    one = tl.load(tle.gpu.local_ptr(buf, (k,)))
    again = tl.load(base + k)
    everywhere = tl.load(base + tl.zeros((N,), tl.int32))
    flat = tl.load(tle.gpu.local_ptr(buf, N + i))
    tl.store(out + i, tl.load(base + i) + everywhere + flat + one + again)
    tl.store(out + N + i, read(base, N, i))


@tle2cuda.jit
def read(pointer, offset, i):
    return tl.load(pointer + offset + i)


@tle2cuda.jit
def buffer_views(x, out, N: tl.constexpr):
    """Slots with run-time stages, slices, reshapes: all the same bytes."""
    i = tl.arange(0, N)
    ring = tle.gpu.alloc([4, N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    for k in range(6):
        current = ring.slot(k % 4)
        current.store(tl.load(x + k * N + i))
        if k >= 2:
            tl.store(out + (k - 2) * N + i, ring.slot((k + 2) % 4).load())
    left = ring.subslice(0, N // 2, dim=1)
    h = tl.arange(0, N // 2)
    four = tl.arange(0, 4)
    tl.store(out + 4 * N + four[:, None] * (N // 2) + h[None, :], left.load())
    flat = ring.reshape([4 * N])
    j = tl.arange(0, 4 * N)
    tl.store(tle.gpu.local_ptr(flat, (j,)), j)
    tl.store(out + 6 * N + i, ring.slot(3).load())


@tle2cuda.jit
def deep_buffer(x, out, N: tl.constexpr):
    """Rank 3: a slot of a slice of it, indices of three dimensions."""
    i = tl.arange(0, N)
    cube = tle.gpu.alloc([2, 4, N], tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    r = tl.arange(0, 4)
    for s in tl.static_range(2):
        cube.slot(s).store(tl.load(x + (s * 4 + r[:, None]) * N + i[None, :]))
    middle = cube.subslice(1, 2, dim=1)
    two = tl.arange(0, 2)
    tl.store(out + two[:, None] * N + i[None, :], middle.slot(1).load())
    stage = tl.zeros((N,), tl.int32) + 1
    tl.store(out + 2 * N + i, tl.load(tle.gpu.local_ptr(cube, (stage, i % 4, i))))


@tle2cuda.jit
def aliased(x, out, N: tl.constexpr):
    """The same bytes as another dtype, from an offset on."""
    i = tl.arange(0, N)
    words = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    high = tle.gpu.alloc(
        [N], tl.int16, scope=tle.gpu.smem, alias=words, alias_offset_bytes=2 * N, nv_mma_shared_layout=False
    )
    words.store(tl.load(x + i))
    tl.store(out + i, high.load())


@tle2cuda.jit
def initial_value(out, N: tl.constexpr):
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, init_value=i * 3, nv_mma_shared_layout=False)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (i ^ 1,))))


@tle2cuda.jit
def swapped_buffers(x, out, rounds, N: tl.constexpr):
    """Handles exchanged statically; the data stays."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    b = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    a.store(tl.load(x + i))
    for step in tl.static_range(5):
        b.store(tl.load(tle.gpu.local_ptr(a, ((i + 1) % N,))) + step)
        a, b = b, a
    for _ in range(rounds):
        a.store(a.load() * 2)
    tl.store(out + i, a.load())


@tle2cuda.jit
def prefix_in_shared(x, out, N: tl.constexpr):
    """A scan by hand: each round reads what other threads wrote in the last one (barriers across the back edge)."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    value = tl.load(x + i)
    tl.store(tle.gpu.local_ptr(buf), value)
    distance = 1
    while distance < N:
        before = tl.load(tle.gpu.local_ptr(buf, (i - distance,)), mask=i >= distance, other=0)
        value += before
        tl.store(tle.gpu.local_ptr(buf, (i,)), value)
        distance *= 2
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))))


@tle2cuda.jit
def stale_rows(x, out, n, N: tl.constexpr):
    """Masked stores leave what was there; a masked load with `other` does not read it."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(buf, (i,)), i)
    tl.store(tle.gpu.local_ptr(buf, (i,)), tl.load(x + i, mask=i < n, other=0), mask=i < n)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf)))
    tl.store(out + N + i, tl.load(tle.gpu.local_ptr(buf, (i ^ 3,)), mask=i >= n, other=-5))


@tle2cuda.jit
def shared_histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Atomics without old values, in a loop, between plain accesses."""
    b = tl.arange(0, BINS)
    i = tl.arange(0, BLOCK)
    counts = tle.gpu.alloc([BINS], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(counts, (b,)), 0)
    for start in range(0, n, BLOCK):
        key = tl.load(x + start + i, mask=start + i < n, other=0)
        at = tle.gpu.local_ptr(counts, (key,))
        tl.atomic_add(at, 1, mask=start + i < n, sem="relaxed", scope="cta")
    tl.store(out + b, tl.load(tle.gpu.local_ptr(counts)))


@tle2cuda.jit
def shared_ranks(x, out, rank, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    """Old values of atomics in shared memory: places for a counting sort."""
    i = tl.arange(0, BLOCK)
    counts = tle.gpu.alloc([BINS], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    counts.store(tl.zeros((BINS,), tl.int32))
    key = tl.load(x + i, mask=i < n, other=0)
    mine = tl.atomic_add(tle.gpu.local_ptr(counts, (key,)), 1, mask=i < n)
    totals = counts.load()
    before, _ = tle.cumsum(totals, axis=0)
    counts.store(before)
    place = tl.load(tle.gpu.local_ptr(counts, (key,))) + mine
    tl.store(out + place, key, mask=i < n)
    tl.store(rank + i, tl.where(i < n, 0, mine))


@tle2cuda.jit
def shared_atomics(x, out, OP: tl.constexpr, N: tl.constexpr):
    """Each operation in shared memory, as tile and as scalar."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], x.dtype.element_ty, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buf.store(tl.load(x + i))
    old = OP(tle.gpu.local_ptr(buf, (N - 1 - i,)), tl.load(x + N + i))
    tl.debug_barrier()  # atomics are not ordered among themselves
    tl.store(out + 2 * N, OP(tle.gpu.local_ptr(buf, (0,)), tl.load(x + 2 * N)))
    tl.store(out + i, old)
    tl.store(out + N + i, buf.load())


@tle2cuda.jit
def copies(x, out, n, M: tl.constexpr, N: tl.constexpr):
    """Pointers to buffer and back, with and without a mask, broadcast pointers."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    at = r[:, None] * N + c[None, :]
    buf = tle.gpu.alloc([M, N], x.dtype.element_ty, scope=tle.gpu.smem)
    tle.gpu.copy(x + at, buf, [M, N])
    tle.gpu.copy(buf, out + at, [M, N])
    tle.gpu.copy(x + at, buf, [M, N], mask=(r[:, None] < n) & (c[None, :] >= 0))
    tle.gpu.copy(buf, out + M * N + at, (M, N), mask=c[None, :] < n)
    tle.gpu.copy(x + c[None, :], buf, [M, N])
    tl.store(out + 2 * M * N + at, buf.load())


@tle2cuda.jit
def converted_copy(x, out, N: tl.constexpr):
    """Stores convert to the buffer's dtype, loads to that of the output."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.float16, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(buf), tl.load(x + i))
    tl.store(out + i, buf.load())


@tle2cuda.jit
def make_buffer(N: tl.constexpr):
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    buf.store(tl.arange(0, N))
    return buf, N


@tle2cuda.jit
def sum_of(buf):
    return tl.sum(buf.load(), axis=0)


@tle2cuda.jit
def buffers_in_functions(out, flag, N: tl.constexpr):
    """Buffers made, returned and passed; allocated under a branch; merged pointers."""
    buf, size = make_buffer(N)
    other, _ = make_buffer(N)
    i = tl.arange(0, N)
    if flag > 0:
        extra = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
        extra.store(buf.load() * 2)
        other.store(tl.load(tle.gpu.local_ptr(extra, (N - 1 - i,))))
    tl.store(out, sum_of(buf) + size)
    tl.store(out + 1, sum_of(other))
    if flag > 1:
        chosen = tle.gpu.local_ptr(buf, (1,))
    else:
        chosen = tle.gpu.local_ptr(other, (2,))
    tl.store(out + 2, tl.load(chosen))


@tle2cuda.jit
def swapped_pointers(x, out, rounds, N: tl.constexpr):
    """Tiles of shared pointers that a loop exchanges."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    b = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    source, target = tle.gpu.local_ptr(a, (0,)), tle.gpu.local_ptr(b, (0,))
    tl.store(source + i, tl.load(x + i))
    for _ in range(rounds):
        tl.store(target + (N - 1 - i), tl.load(source + i) + 1)
        source, target = target, source
    tl.store(out + i, tl.load(source + i))


@tle2cuda.jit
def user_barriers(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    tl.debug_barrier()
    buf.store(tl.load(x + i))
    tl.debug_barrier()
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (i ^ 5,))))
    tl.debug_barrier()


@tle2cuda.jit
def big_buffer(x, out, N: tl.constexpr):
    """More than 48 KiB: dynamic shared memory that the launch opts into."""
    i = tl.arange(0, N)
    buf = tle.gpu.alloc([N], tl.int64, scope=tle.gpu.smem, nv_mma_shared_layout=False, alignment_bytes=256)
    tl.store(tle.gpu.local_ptr(buf, (i,)), tl.load(x + i))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buf, (N - 1 - i,))) + tl.sum(tl.load(x + i), axis=0))


# ---- atomics to apply -----------------------------------------------------------------------------------------------


@tle2cuda.jit
def add(p, v):
    return tl.atomic_add(p, v)


@tle2cuda.jit
def maximum(p, v):
    return tl.atomic_max(p, v)


@tle2cuda.jit
def minimum(p, v):
    return tl.atomic_min(p, v)


@tle2cuda.jit
def bit_and(p, v):
    return tl.atomic_and(p, v)


@tle2cuda.jit
def bit_or(p, v):
    return tl.atomic_or(p, v)


@tle2cuda.jit
def bit_xor(p, v):
    return tl.atomic_xor(p, v)


@tle2cuda.jit
def exchange(p, v):
    return tl.atomic_xchg(p, v)


@tle2cuda.jit
def swap_if_five(p, v):
    return tl.atomic_cas(p, 5, v)


# ---- cases ----------------------------------------------------------------------------------------------------------


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    expect: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    num_warps: int = 4,
    tolerance: Tolerance = EXACT,
) -> None:
    def cast(inputs: Inputs) -> Mapping[str, Array]:
        with np.errstate(all="ignore"):
            return {key: np.asarray(value).astype(inputs[key].dtype) for key, value in expect(inputs).items()}

    add_case(OpCase(f"shared_{name}", "shared", kernel, (1,), make, cast, constants, num_warps, tolerance))


_SIZES = ((16, 4), (1024, 4), (64, 1))


def _vectors(count: int, out: int, dtype: Any = "i4", **more: Any) -> Callable[[np.random.Generator], Inputs]:
    return lambda rng: {"x": numbers(rng, count, dtype), "out": poison(out, dtype), **more}


def _register_buffers() -> None:
    for label, dtype in ALL_DTYPES.items():
        for n, warps in ((16, 4), (1024, 4)):
            _case(
                f"through_{label}_{n}",
                through_buffer,
                _vectors(n, n, dtype, n=n),
                lambda inputs: {"out": inputs["x"][::-1]},
                {"N": n, "MMA": n == 16},
                warps,
            )
    for m, n, warps in ((16, 64, 4), (64, 32, 4), (4, 8, 4), (8, 256, 8)):
        for label, dtype in (("f16", "f2"), ("f32", "f4"), ("i8", "i1"), ("f64", "f8"), ("bf16", BF16), ("bool", "?")):
            for mma in (False, True):
                if mma and label == "bool":
                    continue
                _case(
                    f"matrix_{label}_{m}x{n}{'_mma' if mma else ''}",
                    matrix_buffer,
                    lambda rng, m=m, n=n, dtype=dtype: {
                        "x": numbers(rng, (m, n), dtype),
                        "out": poison(2 * m * n + 1, dtype),
                    },
                    lambda inputs: {
                        "out": np.concatenate([inputs["x"].reshape(-1), inputs["x"].T.reshape(-1), inputs["x"][-1, 1:2]])
                    },
                    {"M": m, "N": n, "MMA": mma},
                    warps,
                )
    for n, warps in _SIZES:
        _case(
            f"pointer_forms_{n}",
            pointer_forms,
            lambda rng, n=n: {"x": rng.integers(0, 500, n, "i4"), "out": poison(2 * n, "i4")},
            _pointer_forms,
            {"N": n},
            warps,
        )
        _case(f"views_{n}", buffer_views, _vectors(6 * n, 7 * n), lambda inputs, n=n: _views(inputs, n), {"N": n}, warps)
        _case(f"deep_{n}", deep_buffer, _vectors(8 * n, 3 * n, "f4"), lambda inputs, n=n: _deep(inputs, n), {"N": n}, warps)
        _case(
            f"aliased_{n}",
            aliased,
            lambda rng, n=n: {"x": numbers(rng, n, "i4"), "out": poison(n, "i2")},
            lambda inputs, n=n: {"out": inputs["x"].view("i2")[n:]},
            {"N": n},
            warps,
        )
        _case(
            f"initial_value_{n}",
            initial_value,
            lambda rng, n=n: {"out": poison(n, "i4")},
            lambda inputs, n=n: {"out": (np.arange(n) ^ 1) * 3},
            {"N": n},
            warps,
        )
        _case(
            f"swapped_{n}",
            swapped_buffers,
            _vectors(n, n, rounds=2),
            lambda inputs: {"out": (np.roll(inputs["x"], -5) + 10) * 4},
            {"N": n},
            warps,
        )
        _case(
            f"swapped_pointers_{n}",
            swapped_pointers,
            _vectors(n, n, rounds=3),
            lambda inputs: {"out": inputs["x"][::-1] + 3},
            {"N": n},
            warps,
        )
        _case(
            f"prefix_{n}",
            prefix_in_shared,
            _vectors(n, n),
            lambda inputs: {"out": np.add.accumulate(inputs["x"], dtype="i4")[::-1]},
            {"N": n},
            warps,
        )
        _case(
            f"stale_rows_{n}",
            stale_rows,
            _vectors(n, 2 * n, n=n - 5),
            lambda inputs, n=n: _stale(inputs, n),
            {"N": n},
            warps,
        )
        _case(
            f"user_barriers_{n}",
            user_barriers,
            _vectors(n, n),
            lambda inputs, n=n: {"out": inputs["x"][np.arange(n) ^ 5]},
            {"N": n},
            warps,
        )
        for flag in (0, 1, 2):
            _case(
                f"in_functions_{n}_{flag}",
                buffers_in_functions,
                lambda rng, flag=flag: {"out": poison(3, "i4"), "flag": flag},
                lambda inputs, n=n: _in_functions(inputs, n),
                {"N": n},
                warps,
            )
        _case(
            f"converted_{n}",
            converted_copy,
            lambda rng, n=n: {"x": numbers(rng, n, "f4"), "out": poison(n, "f4")},
            lambda inputs: {"out": inputs["x"].astype("f2")},
            {"N": n},
            warps,
        )
    _case(
        "big",
        big_buffer,
        _vectors(8192, 8192, "i8"),
        lambda inputs: {"out": inputs["x"][::-1] + inputs["x"].sum()},
        {"N": 8192},
        16,
    )
    for m, n, warps in ((16, 32, 4), (4, 4, 4), (32, 128, 8)):
        for label, dtype in (("f16", "f2"), ("i32", "i4"), ("f8e5", ALL_DTYPES["f8e5"])):
            _case(
                f"copy_{label}_{m}x{n}",
                copies,
                lambda rng, m=m, n=n, dtype=dtype: {
                    "x": numbers(rng, (m, n), dtype),
                    "out": poison((3 * m, n), dtype),
                    "n": 3,
                },
                _copies,
                {"M": m, "N": n},
                warps,
            )


def _pointer_forms(inputs: Inputs) -> dict[str, Array]:
    x = inputs["x"].copy()
    n = len(x)
    x[3] = 77
    k = inputs["x"][0] % n
    tens = np.arange(n) * 10
    return {"out": np.concatenate([x + x[0] + tens + 2 * x[k], tens])}


def _views(inputs: Inputs, n: int) -> dict[str, Array]:
    x = inputs["x"].reshape(6, n)
    ring = np.zeros((4, n), "i4")
    parts = []
    for k in range(6):
        ring[k % 4] = x[k]
        if k >= 2:
            parts.append(ring[(k + 2) % 4].copy())
    parts.append(ring[:, : n // 2].reshape(-1))
    parts.append(np.arange(3 * n, 4 * n))
    return {"out": np.concatenate(parts)}


def _deep(inputs: Inputs, n: int) -> dict[str, Array]:
    cube = inputs["x"].reshape(2, 4, n)
    i = np.arange(n)
    return {"out": np.concatenate([cube[1, 1:3].reshape(-1), cube[1, i % 4, i]])}


def _stale(inputs: Inputs, n: int) -> dict[str, Array]:
    i = np.arange(n)
    buf = np.where(i < n - 5, inputs["x"], i)
    return {"out": np.concatenate([buf, np.where(i >= n - 5, buf[i ^ 3], -5)])}


def _in_functions(inputs: Inputs, n: int) -> dict[str, Array]:
    flag, total = inputs["flag"], n * (n - 1) // 2
    second = 2 * total if flag > 0 else total
    third = 1 if flag > 1 else (2 * (n - 3) if flag > 0 else 2)
    return {"out": np.array([total + n, second, third])}


def _copies(inputs: Inputs) -> dict[str, Array]:
    x, out = inputs["x"], inputs["out"].copy()
    m = len(x)
    out[:m] = x
    rows = x.copy()
    rows[3:] = 0
    out[m : 2 * m, :3] = rows[:, :3]
    out[2 * m :] = x[0]
    return {"out": out}


Combine = Callable[[Array, Array], Array]
_ATOMICS: tuple[tuple[str, Any, Combine, str], ...] = (
    ("add", add, np.add, "iuf"),
    ("max", maximum, np.maximum, "iuf"),
    ("min", minimum, np.minimum, "iuf"),
    ("and", bit_and, np.bitwise_and, "iu"),
    ("or", bit_or, np.bitwise_or, "iu"),
    ("xor", bit_xor, np.bitwise_xor, "iu"),
    ("xchg", exchange, lambda a, b: b, "iuf"),
    ("cas", swap_if_five, lambda a, b: np.where(a == 5, b, a), "iu"),
)


def _register_atomics() -> None:
    for label, fn, combine, kinds in _ATOMICS:
        for name, dtype in (("i32", "i4"), ("u32", "u4"), ("i64", "i8"), ("u64", "u8"), ("f32", "f4"), ("f64", "f8")):
            if dtype[0] not in kinds:
                continue
            for n, warps in ((16, 4), (512, 4)):
                _case(
                    f"atomic_{label}_{name}_{n}",
                    shared_atomics,
                    lambda rng, n=n, dtype=dtype: {
                        "x": rng.integers(0, 9, 2 * n + 1).astype(dtype),
                        "out": poison(2 * n + 1, dtype),
                    },
                    lambda inputs, n=n, combine=combine: _atomics(inputs, n, combine),
                    {"OP": fn, "N": n},
                    warps,
                )
    for n, bins, block, warps in ((3000, 64, 512, 4), (50, 16, 16, 4), (700, 512, 1024, 8)):
        _case(
            f"histogram_{n}_{bins}",
            shared_histogram,
            lambda rng, n=n, bins=bins: {"x": rng.integers(0, bins, n, "i4"), "out": poison(bins, "i4"), "n": n},
            lambda inputs: {"out": np.bincount(inputs["x"], minlength=len(inputs["out"]))},
            {"BINS": bins, "BLOCK": block},
            warps,
        )
        if n > block:
            continue
        _case(
            f"ranks_{n}_{bins}",
            shared_ranks,
            lambda rng, n=n, bins=bins, block=block: {
                "x": rng.integers(0, bins, n, "i4"),
                "out": poison(n, "i4"),
                "rank": poison(block, "i4"),
                "n": n,
            },
            lambda inputs: {"out": np.sort(inputs["x"]), "rank": np.zeros(len(inputs["rank"]))},
            {"BINS": bins, "BLOCK": block},
            warps,
        )
    _case(
        "ranks_10_16",
        shared_ranks,
        lambda rng: {"x": rng.integers(0, 16, 10, "i4"), "out": poison(10, "i4"), "rank": poison(16, "i4"), "n": 10},
        lambda inputs: {"out": np.sort(inputs["x"]), "rank": np.zeros(16)},
        {"BINS": 16, "BLOCK": 16},
    )


def _atomics(inputs: Inputs, n: int, combine: Combine) -> dict[str, Array]:
    buf = inputs["x"][:n].copy()
    old = buf[::-1].copy()
    buf = combine(buf, inputs["x"][n : 2 * n][::-1]).astype(buf.dtype)
    first = buf[0]
    buf[0] = combine(buf[0], inputs["x"][2 * n])
    return {"out": np.concatenate([old, buf, [first]])}


@tle2cuda.jit
def moving_handles(x, out, n, N: tl.constexpr):
    """Handles that change in loops and branches: a swap, the next slot of a ring, one of two buffers."""
    i = tl.arange(0, N)
    a = tle.gpu.alloc([N], tl.int32)
    b = tle.gpu.alloc([N], tl.int32)
    ring = tle.gpu.alloc([2, N], tl.int32)
    a.store(tl.load(x + i))
    b.store(tl.load(x + N + i))
    slot = ring.slot(0)
    for k in range(n):
        slot.store(a.load() + k)
        a.store(tl.load(tle.gpu.local_ptr(a, (N - 1 - i,))) + tl.load(tle.gpu.local_ptr(slot, (i,))))
        a, b = b, a
        slot = ring.slot((k + 1) % 2)
    if n % 2 == 0:
        last = a
    else:
        last = b
    tl.store(out + i, a.load())
    tl.store(out + N + i, b.load())
    tl.store(out + 2 * N + i, tl.load(tle.gpu.local_ptr(last, (N - 1 - i,))))


def _moved(inputs: Inputs, size: int) -> Mapping[str, Array]:
    a, b = inputs["x"][:size].copy(), inputs["x"][size:].copy()
    for k in range(inputs["n"]):
        a = a[::-1] + a + k
        a, b = b, a
    last = a if inputs["n"] % 2 == 0 else b
    return {"out": np.concatenate([a, b, last[::-1]])}


def _register_handles() -> None:
    for size, warps in ((16, 1), (128, 4), (1024, 4)):
        for steps in (0, 1, 5):
            _case(
                f"moving_handles_{size}_{steps}",
                moving_handles,
                lambda rng, size=size, steps=steps: {
                    "x": rng.integers(-9, 9, 2 * size, "i4"),
                    "out": poison(3 * size, "i4"),
                    "n": steps,
                },
                lambda inputs, size=size: _moved(inputs, size),
                {"N": size},
                warps,
            )


_register_buffers()
_register_atomics()
_register_handles()
