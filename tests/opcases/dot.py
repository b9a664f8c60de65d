"""Matrix products: dtypes, precisions, accumulators, batches, turned operands, odd sizes, chains of products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, F8E4NV, F8E5, Array, Inputs, OpCase, Tolerance, add_case, poison

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def product(
    a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One tile times another one, row-major."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + rows[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + cols[None, :])
    tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y, input_precision=PRECISION, out_dtype=OUT))


@tle2cuda.jit
def limited_product(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LIMIT: tl.constexpr):
    """A product of float8, sums of so many products of which are added in float32."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(a + rows[:, None] * K + k[None, :])
    y = tl.load(b + cols[None, :] * K + k[:, None])
    tl.store(out + at, tl.dot(x, y, tl.load(c + at), max_num_imprecise_acc=LIMIT))


@tle2cuda.jit
def turned_product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FIRST: tl.constexpr, SECOND: tl.constexpr):
    """Operands that lie in memory the other way round, and `tl.trans` of them."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    if FIRST:
        x = tl.load(a + rows[:, None] + k[None, :] * M)
    else:
        x = tl.load(a + rows[:, None] * K + k[None, :])
    if SECOND:
        y = tl.trans(tl.load(b + cols[:, None] * K + k[None, :]))
    else:
        y = tl.load(b + k[:, None] + cols[None, :] * K)
    tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))


@tle2cuda.jit
def accumulated(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, OUT: tl.constexpr):
    """A product that adds to a tile that is needed afterwards too, and one that takes its operand over."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = rows[:, None] * N + cols[None, :]
    x = tl.load(a + rows[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + cols[None, :])
    start = tl.load(c + at)
    once = tl.dot(x, y, start, out_dtype=OUT)
    twice = tl.dot(x, y, once * 2, out_dtype=OUT)
    tl.store(out + at, start + twice)


@tle2cuda.jit
def added_in_place(a, b, c, rows, N: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    """A product added to what one masked load brings, a vector in each thread."""
    i, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = c + i[:, None] * N + cols[None, :]
    mask = i[:, None] < rows
    start = tl.load(at, mask=mask, other=0)
    x = tl.load(a + i[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + cols[None, :])
    start += tl.dot(x, y, input_precision="ieee")
    tl.store(at, start, mask=mask)


@tle2cuda.jit
def batched(a, b, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.arange(0, B)[:, None, None]
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + batch * (M * K) + rows[None, :, None] * K + k[None, None, :])
    y = tl.load(b + batch * (K * N) + k[None, :, None] * N + cols[None, None, :])
    tl.store(out + batch * (M * N) + rows[None, :, None] * N + cols[None, None, :], tl.dot(x, y))


@tle2cuda.jit
def matmul(
    a_ptr, b_ptr, out, M, N, K, first, stride_am, stride_ak, stride_bk, stride_bn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The matrix product of the tutorials, over any sizes."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + first * stride_am + (rows[:, None] * stride_am + k[None, :] * stride_ak)
    b_ptrs = b_ptr + (k[:, None] * stride_bk + cols[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=out.dtype.element_ty)
    for start in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - start * BLOCK_K), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - start * BLOCK_K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision=PRECISION)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    tl.store(out + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@tle2cuda.jit
def attention(q, k, v, out, n, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr):
    """Softmax of one product times another one, in one pass over the keys."""
    rows, d = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, n, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        key = tl.load(k + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        value = tl.load(v + cols[:, None] * D + d[None, :], mask=cols[:, None] < n, other=0.0)
        score = tl.dot(query, tl.trans(key)) * scale
        score = tl.where(cols[None, :] < n, score, float("-inf"))
        now = tl.maximum(largest, tl.max(score, 1))
        share = tl.exp(largest - now)
        weight = tl.exp(score - now[:, None])
        total = total * share + tl.sum(weight, 1)
        acc = acc * share[:, None]
        acc = tl.dot(weight.to(value.dtype), value, acc)
        largest = now
    tl.store(out + rows[:, None] * D + d[None, :], acc / total[:, None], mask=rows[:, None] < n)


@tle2cuda.jit
def squared(a, out, N: tl.constexpr):
    """Both operands and the accumulator are one tile; the product is needed twice."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    y = tl.dot(x, x, x)
    for _ in range(2):
        y = tl.dot(y, x, y) * 0.25
    tl.store(out + at, y)


@tle2cuda.jit
def powers(a, out, N: tl.constexpr, WIDE: tl.constexpr):
    """Sums that are the left operand of the very product that adds to them, in the registers where they lie."""
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    y = x
    for _ in range(3):
        y = tl.dot(y, x, y, out_dtype=tl.float16)
    if WIDE:
        y = tl.dot(x, y, tl.dot(y, x)).to(tl.float16)
    tl.store(out + at, y)


@tle2cuda.jit
def scaled_product(
    a, a_scale, b, b_scale, out,
    A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr, FAST: tl.constexpr,
    AM: tl.constexpr, AK: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    GROUPS: tl.constexpr,
):  # fmt: skip
    """Microscaled operands in every format; the scales may be None."""
    x = tl.load(a + tl.arange(0, AM)[:, None] * AK + tl.arange(0, AK)[None, :])
    y = tl.load(b + tl.arange(0, BK)[:, None] * BN + tl.arange(0, BN)[None, :])
    rows, cols, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, GROUPS)
    xs = None
    if a_scale is not None:
        xs = tl.load(a_scale + rows[:, None] * GROUPS + groups[None, :])
    ys = None
    if b_scale is not None:
        ys = tl.load(b_scale + cols[:, None] * GROUPS + groups[None, :])
    at = rows[:, None] * N + cols[None, :]
    start = tl.full((M, N), 1.0, tl.float32)
    product = tl.dot_scaled(x, xs, A_FORMAT, y, ys, B_FORMAT, start, FAST, A_PACK, B_PACK)
    tl.store(out + at, product)


# ---- cases ----------------------------------------------------------------------------------------------------------

_DTYPES: Mapping[str, Any] = {
    "f16": np.dtype(np.float16),
    "bf16": BF16,
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "f8e4nv": F8E4NV,
    "f8e5": F8E5,
}


def _operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    if dtype == np.int8:
        return rng.integers(-128, 128, shape, np.int8)
    return rng.standard_normal(shape).astype(dtype)


def _result(dtype: Any) -> np.dtype[Any]:
    return np.dtype({np.dtype(np.int8): np.int32, np.dtype(np.float64): np.float64}.get(dtype, np.float32))


def _wide(x: Array) -> Array:
    return x.astype(np.int64 if x.dtype.kind == "i" else np.float64)


_TF32_EPS = 2.0**-10  # tf32 takes operands less their last 13 bits


def _tolerance(result: np.dtype[Any], k: int, is_tf32: bool = False) -> Tolerance:
    """Sums of k products of numbers near 1: each rounding errs by half an ulp of sums that grow to a few sqrt(k)."""
    if is_tf32:
        return Tolerance(2, k, eps=_TF32_EPS)  # a truncated operand is smaller by up to that, and so both
    return EXACT if result.kind == "i" else Tolerance(k**0.5, 4 * k**0.5)


# A warpgroup's product of float8 cuts what it adds, 32 products and the sum so far, so many bits below the largest of
# them. (Done so in NumPy, sums of 256 products come out as the H200's bit for bit, where the sum so far is the largest.)
_FP8_EPS = 2.0**-13


def _tolerance_of(operand: Any, result: np.dtype[Any], k: int, is_tf32: bool) -> Tolerance:
    """The same by the operands' dtype."""
    if operand in (F8E4NV, F8E5):
        return Tolerance(4, 12 * k**0.5, eps=_FP8_EPS)  # what is cut errs by 2 to 3 times what is rounded
    return _tolerance(result, k, is_tf32) if result != np.float16 else Tolerance(1, 4)


def _case(
    name: str,
    kernel: Any,
    make: Callable[[np.random.Generator], Inputs],
    reference: Callable[[Inputs], Mapping[str, Array]],
    constants: Mapping[str, Any],
    warps: int = 4,
    tolerance: Tolerance = EXACT,
    grid: tuple[int, ...] = (1,),
    uses_stack: bool = False,
) -> None:
    add_case(OpCase(name, "dot", kernel, grid, make, reference, constants, warps, tolerance, uses_stack=uses_stack))


def _register_products() -> None:
    shapes = ((64, 64, 32, 4), (16, 16, 32, 1), (1, 16, 64, 4), (128, 8, 32, 2))
    for name, dtype in _DTYPES.items():
        for m, n, k, warps in shapes if name in ("f16", "i8") else shapes[:1]:
            _add_product(f"dot_{name}_{m}x{n}x{k}", dtype, dtype, (m, n, k), warps)
    _add_product("dot_f8e4nv_f8e5", F8E4NV, F8E5, (32, 32, 64), 4)
    _add_product("dot_f16_to_f16", np.dtype(np.float16), np.dtype(np.float16), (32, 64, 32), 4, np.dtype(np.float16))
    single = np.dtype(np.float32)
    _add_product("dot_f32_128x128x32", single, single, (128, 128, 32), 8, precision="ieee")
    for precision in ("ieee", "tf32x3", "bf16x6"):
        _add_product(f"dot_{precision}_64x32x32", single, single, (64, 32, 32), 4, precision=precision)
    for name in ("f16", "i8", "f64", "f32"):  # tiles smaller than an instruction, more warps than fragments, many registers
        for m, n, k, warps in ((2, 4, 32, 4), (8, 1, 64, 2), (16, 8, 32, 16), (4, 128, 32, 8), (128, 16, 64, 1)):
            if (name, n) == ("f64", 128):
                continue  # ptxas settles on 48 registers and spills one of them
            _add_product(f"dot_odd_{name}_{m}x{n}x{k}", _DTYPES[name], _DTYPES[name], (m, n, k), warps)


def _add_product(
    name: str,
    first: Any,
    second: Any,
    size: tuple[int, int, int],
    warps: int,
    result: np.dtype[Any] | None = None,
    precision: str = "tf32",
) -> None:
    m, n, k = size
    type_ = result if result is not None else _result(first)
    is_tf32 = first == np.float32 and precision == "tf32"
    _case(
        name,
        product,
        lambda rng: {"a": _operand(rng, (m, k), first), "b": _operand(rng, (k, n), second), "out": poison((m, n), type_)},
        lambda inputs: {"out": (_wide(inputs["a"]) @ _wide(inputs["b"])).astype(type_)},
        {"M": m, "N": n, "K": k, "OUT": tl.float16 if type_ == np.float16 else tl.float32, "PRECISION": precision},
        warps,
        _tolerance_of(first, type_, k, is_tf32),
    )


def _register_turned() -> None:
    for name in ("f16", "f32", "i8", "f64"):
        dtype = _DTYPES[name]
        for first in (False, True):
            for second in (False, True):
                m, n, k = 64, 32, 32
                _case(
                    f"dot_turned_{name}_{'t' if first else 'n'}{'t' if second else 'n'}",
                    turned_product,
                    lambda rng, dtype=dtype, first=first: {
                        "a": _operand(rng, (32, 64) if first else (64, 32), dtype),
                        "b": _operand(rng, (32, 32), dtype),
                        "out": poison((64, 32), _result(dtype)),
                    },
                    lambda inputs, first=first, dtype=dtype: {
                        "out": (_wide(inputs["a"].T if first else inputs["a"]) @ _wide(inputs["b"].T)).astype(
                            _result(dtype)
                        )
                    },
                    {"M": m, "N": n, "K": k, "FIRST": first, "SECOND": second},
                    4,
                    _tolerance(_result(dtype), k, name == "f32"),
                )


def _register_accumulated() -> None:
    for name, out in (("f16", tl.float32), ("f16h", tl.float16), ("i8", tl.int32), ("f64", tl.float64)):
        dtype = _DTYPES[name.rstrip("h")]
        result = np.dtype(np.float16) if out is tl.float16 else _result(dtype)

        def make(rng: np.random.Generator, dtype=dtype, result=result) -> Inputs:
            start = rng.integers(-1000, 1000, (32, 64)).astype(result) if result.kind == "i" else None
            return {
                "a": _operand(rng, (32, 32), dtype),
                "b": _operand(rng, (32, 64), dtype),
                "c": start if start is not None else _operand(rng, (32, 64), result),
                "out": poison((32, 64), result),
            }

        def expect(inputs: Inputs, result=result) -> Mapping[str, Array]:
            x = _wide(inputs["a"]) @ _wide(inputs["b"])
            return {"out": (inputs["c"].astype(x.dtype) * 3 + x * 3).astype(result)}

        loose = Tolerance(8, 32) if result == np.float16 else _tolerance(result, 256)
        _case(f"dot_accumulated_{name}", accumulated, make, expect, {"M": 32, "N": 64, "K": 32, "OUT": out}, 4, loose)


def _register_added_in_place() -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b, c = (_operand(rng, shape, np.float32) for shape in ((16, 16), (16, 32), (16, 32)))
        return {"a": a, "b": b, "c": c, "rows": 11}

    def expect(inputs: Inputs) -> Mapping[str, Array]:
        total = _wide(inputs["c"]) + _wide(inputs["a"]) @ _wide(inputs["b"])
        return {"c": np.where(np.arange(16)[:, None] < 11, total, inputs["c"]).astype(np.float32)}

    constants = {"M": 16, "N": 32, "K": 16}
    for warps in (1, 4):
        name = f"dot_added_in_place_{warps}_warps"
        _case(name, added_in_place, make, expect, constants, warps, _tolerance(np.dtype(np.float32), 16))


def _register_batched() -> None:
    for b, m, n, k, warps, name in ((4, 16, 32, 16, 4, "f32"), (2, 32, 16, 32, 8, "f16"), (8, 16, 16, 16, 1, "bf16")):
        dtype = _DTYPES[name]
        _case(
            f"dot_batched_{name}_{b}x{m}x{n}x{k}",
            batched,
            lambda rng, b=b, m=m, n=n, k=k, dtype=dtype: {
                "a": _operand(rng, (b, m, k), dtype),
                "b": _operand(rng, (b, k, n), dtype),
                "out": poison((b, m, n), np.float32),
            },
            lambda inputs: {"out": (_wide(inputs["a"]) @ _wide(inputs["b"])).astype(np.float32)},
            {"B": b, "M": m, "N": n, "K": k},
            warps,
            _tolerance(np.dtype(np.float32), k, dtype == np.float32),
        )


def _register_matmul() -> None:
    for name, (m, n, k), tiles, transposed, warps in (
        ("f16", (70, 90, 75), (32, 64, 32), False, 4),
        ("f16", (50, 33, 64), (32, 32, 32), True, 4),
        ("f32", (65, 40, 100), (64, 32, 32), False, 8),
        ("bf16", (3, 130, 48), (16, 64, 16), False, 2),
        ("f64", (70, 17, 39), (64, 64, 32), True, 2),  # threads that hold whole rows, which are stored under a swizzle
    ):
        dtype = _DTYPES[name]

        def make(rng: np.random.Generator, m=m, n=n, k=k, dtype=dtype, transposed=transposed) -> Inputs:
            b = _operand(rng, (n, k) if transposed else (k, n), dtype)
            strides = {"stride_bk": 1, "stride_bn": k} if transposed else {"stride_bk": n, "stride_bn": 1}
            return {
                "a_ptr": _operand(rng, (m, k), dtype), "b_ptr": b, "out": poison((m, n), _result(dtype)),
                "M": m, "N": n, "K": k, "first": 0, "stride_am": k, "stride_ak": 1, **strides,
            }  # fmt: skip

        def expect(inputs: Inputs, transposed=transposed) -> Mapping[str, Array]:
            b = inputs["b_ptr"].T if transposed else inputs["b_ptr"]
            return {"out": (_wide(inputs["a_ptr"]) @ _wide(b)).astype(_result(inputs["a_ptr"].dtype))}

        bm, bn, bk = tiles
        _case(
            f"dot_matmul_{name}_{m}x{n}x{k}",
            matmul,
            make,
            expect,
            {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "PRECISION": "ieee" if name == "f32" else "tf32"},
            warps,
            _tolerance(_result(dtype), k),
            (-(-m // bm), -(-n // bn)),
        )


def _register_chains() -> None:
    for name, n, d, tiles, warps in (("f16", 100, 32, (32, 32), 4), ("f32", 70, 64, (64, 32), 4)):
        dtype = _DTYPES[name]
        _case(
            f"dot_attention_{name}_{n}x{d}",
            attention,
            lambda rng, n=n, d=d, dtype=dtype: {
                **{each: _operand(rng, (n, d), dtype) for each in "qkv"},
                "out": poison((n, d), np.float32),
                "n": n,
                "scale": d**-0.5,
            },
            _attention_reference,
            {"BLOCK_M": tiles[0], "BLOCK_N": tiles[1], "D": d},
            warps,
            Tolerance(2, 1, eps=2.0**-10) if name == "f16" else Tolerance(4, 1, eps=2.0**-10),
            (-(-n // tiles[0]),),
        )
    _case(
        "dot_squared",
        squared,
        lambda rng: {"a": _operand(rng, (32, 32), np.float32) / np.float32(4), "out": poison((32, 32), np.float32)},
        _squared_reference,
        {"N": 32},
        4,
        Tolerance(8, 32, eps=_TF32_EPS),
    )

    for wide, n, warps in ((False, 16, 1), (True, 32, 4)):
        _case(
            f"dot_powers_{n}",
            powers,
            lambda rng, n=n: {"a": _operand(rng, (n, n), np.float16) / np.float16(8), "out": poison((n, n), np.float16)},
            lambda inputs, wide=wide: {"out": _powers_reference(inputs["a"], wide)},
            {"N": n, "WIDE": wide},
            warps,
            Tolerance(8, 8),
        )


def _powers_reference(a: Array, wide: bool) -> Array:
    x = _wide(a)
    y = x
    for _ in range(3):
        y = y @ x + y
    return (x @ y + y @ x if wide else y).astype(np.float16)


def _attention_reference(inputs: Inputs) -> Mapping[str, Array]:
    q, k, v = (_wide(inputs[name]) for name in "qkv")
    score = q @ k.T * inputs["scale"]
    weight = np.exp(score - score.max(1, keepdims=True))
    return {"out": (weight @ v / weight.sum(1, keepdims=True)).astype(np.float32)}


def _squared_reference(inputs: Inputs) -> Mapping[str, Array]:
    x = _wide(inputs["a"])
    y = x + x @ x
    for _ in range(2):
        y = (y + y @ x) * 0.25
    return {"out": y.astype(np.float32)}


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
_FORMAT_DTYPES = {"e4m3": F8E4NV, "e5m2": F8E5, "bf16": BF16, "fp16": np.dtype(np.float16)}


def _scaled_operand(rng: np.random.Generator, shape: tuple[int, int], format_: str, as_bytes: bool) -> Array:
    if format_ == "e2m1":
        return rng.integers(0, 256, shape, np.uint8)
    values = rng.standard_normal(shape).astype(_FORMAT_DTYPES[format_])
    return values.view(np.uint8) if as_bytes and values.itemsize == 1 else values


def _scaled_values(stored: Array, format_: str, axis: int) -> Array:
    """The numbers that an operand holds; pairs of e2m1 lie along an axis."""
    if format_ != "e2m1":
        return stored.view(_FORMAT_DTYPES[format_]).astype(np.float64)
    pairs = np.stack([_E2M1[stored & 15], _E2M1[stored >> 4]], axis + 1)
    shape = list(stored.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)


def _scale_values(scale: Array | None, k: int) -> Array | float:
    """Scales repeated along K."""
    if scale is None:
        return 1.0
    with np.errstate(over="ignore"):
        factor = scale.astype(np.float64) if scale.dtype == F8E4NV else np.exp2(scale.astype(np.float64) - 127)
    if scale.dtype == np.uint8:
        factor = np.where(scale == 255, np.nan, np.where(scale == 0, 0.0, factor))
    return np.repeat(factor, k // scale.shape[1], axis=1)


def _register_scaled() -> None:
    small = (32, 16, 64)
    for label, formats, packs, scales, as_bytes, (m, n, k) in (
        ("mxfp8", ("e4m3", "e5m2"), (True, True), ("e8m0", "e8m0"), True, small),
        ("mxfp4", ("e2m1", "e2m1"), (True, True), ("e8m0", "e8m0"), False, small),
        ("mxfp4_unpacked", ("e2m1", "e2m1"), (False, False), ("e8m0", "e8m0"), False, small),
        ("nvfp4", ("e2m1", "e2m1"), (True, True), ("e4m3", "e4m3"), False, small),
        ("mixed", ("e4m3", "e2m1"), (True, True), ("e8m0", "nan"), False, small),
        ("bf16", ("bf16", "e2m1"), (True, False), (None, "e8m0"), False, small),
        ("fp16", ("fp16", "e5m2"), (True, True), (None, "e8m0"), True, small),
        ("plain", ("e5m2", "bf16"), (True, True), (None, None), False, small),
        ("wide_mxfp8", ("e4m3", "e5m2"), (True, True), (None, "e8m0"), False, (128, 64, 256)),
        ("square_mxfp4", ("e2m1", "e2m1"), (True, True), ("e8m0", "e8m0"), False, (128, 64, 64)),
        ("wide_nvfp4", ("e2m1", "e2m1"), (True, True), ("e4m3", "e4m3"), False, (128, 32, 128)),
        ("wide_mixed", ("e2m1", "e5m2"), (False, True), ("nan", "e8m0"), True, (128, 256, 32)),
    ):
        a_shape = (m, k) if formats[0] != "e2m1" else (m, k // 2) if packs[0] else (m // 2, k)
        b_shape = (k, n) if formats[1] != "e2m1" else (k // 2, n) if packs[1] else (k, n // 2)
        groups = k // (16 if "e4m3" in scales else 32)

        def make(
            rng: np.random.Generator, a_shape=a_shape, b_shape=b_shape, formats=formats, scales=scales,
            as_bytes=as_bytes, groups=groups, m=m, n=n,
        ) -> Inputs:  # fmt: skip
            def scale(rows: int, kind: str | None) -> Any:
                if kind == "e4m3":
                    return rng.uniform(0.5, 4, (rows, groups)).astype(F8E4NV)
                values = rng.integers(120, 132, (rows, groups), np.uint8)
                if kind == "nan":
                    values[1, 0], values[3, -1] = 255, 0
                return None if kind is None else values

            return {
                "a": _scaled_operand(rng, a_shape, formats[0], as_bytes), "a_scale": scale(m, scales[0]),
                "b": _scaled_operand(rng, b_shape, formats[1], as_bytes), "b_scale": scale(n, scales[1]),
                "out": poison((m, n), np.float32),
            }  # fmt: skip

        def expect(inputs: Inputs, formats=formats, packs=packs, k=k) -> Mapping[str, Array]:
            x = _scaled_values(inputs["a"], formats[0], 1 if packs[0] else 0) * _scale_values(inputs["a_scale"], k)
            y = _scaled_values(inputs["b"], formats[1], 0 if packs[1] else 1).T * _scale_values(inputs["b_scale"], k)
            return {"out": (1 + x @ y.T).astype(np.float32)}

        _case(
            f"dot_scaled_{label}",
            scaled_product,
            make,
            expect,
            {
                "A_FORMAT": formats[0],
                "B_FORMAT": formats[1],
                "A_PACK": packs[0],
                "B_PACK": packs[1],
                "FAST": False,
                "AM": a_shape[0],
                "AK": a_shape[1],
                "BK": b_shape[0],
                "BN": b_shape[1],
                "M": m,
                "N": n,
                "GROUPS": groups,
            },
            4,
            Tolerance(16, 4096),
            uses_stack=label == "wide_mixed",  # 256 sums a thread, which only tensor memory has room for
        )


_register_products()
_register_scaled()
_register_turned()
_register_accumulated()
_register_added_in_place()
_register_batched()
_register_matmul()
_register_chains()
