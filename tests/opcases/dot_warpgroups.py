"""Matrix products that whole warpgroups take by `wgmma`: dtypes, directions of rows, swizzles, chains, batches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import tle2cuda.language as tl
from tests.opcases import dot
from tests.opcases.case import BF16, F8E4NV, F8E5, Array, Inputs, Tolerance, poison

_HALF = np.dtype(np.float16)
_SHAPES = (  # M, N, K, warps: every swizzle, one block and several, warpgroups along M, N and both
    (64, 8, 16, 4),
    (64, 16, 32, 4),
    (64, 32, 64, 4),
    (64, 64, 128, 8),
    (128, 128, 32, 4),
    (128, 256, 16, 8),
    (256, 32, 64, 16),
)


def _register_products() -> None:
    for m, n, k, warps in _SHAPES:
        dot._add_product(f"dot_wgmma_f16_{m}x{n}x{k}", _HALF, _HALF, (m, n, k), warps)
    for name, first, second, size, warps in (
        ("bf16", BF16, BF16, (64, 64, 32), 4),
        ("i8", np.dtype(np.int8), np.dtype(np.int8), (64, 32, 32), 4),
        ("i8", np.dtype(np.int8), np.dtype(np.int8), (128, 64, 256), 8),
        ("f8e4nv", F8E4NV, F8E4NV, (64, 32, 64), 4),
        ("f8e5", F8E5, F8E5, (64, 16, 128), 4),
        ("f8e4nv_f8e5", F8E4NV, F8E5, (128, 32, 32), 4),
        ("f8e5_f8e4nv", F8E5, F8E4NV, (64, 64, 32), 8),
    ):
        dot._add_product(f"dot_wgmma_{name}_{'x'.join(map(str, size))}", first, second, size, warps)
    for size, warps in (((64, 32, 32), 4), ((128, 64, 16), 8), ((64, 512, 16), 4)):
        dot._add_product(f"dot_wgmma_f16_to_f16_{'x'.join(map(str, size))}", _HALF, _HALF, size, warps, _HALF)


def _register_turned() -> None:
    """Rows along M, N and K, of 32 bytes to several panels."""
    for dtype, (m, n, k), warps in (
        (_HALF, (64, 32, 32), 4),
        (BF16, (128, 64, 16), 8),
        (_HALF, (128, 256, 32), 8),
        (np.dtype(np.float32), (64, 32, 16), 4),
        (np.dtype(np.float32), (128, 64, 64), 8),
    ):
        for first in (False, True):
            for second in (False, True):

                def make(rng: np.random.Generator, dtype=dtype, m=m, n=n, k=k, first=first) -> Inputs:
                    a = dot._operand(rng, (k, m) if first else (m, k), dtype)
                    return {"a": a, "b": dot._operand(rng, (n, k), dtype), "out": poison((m, n), np.float32)}

                def expect(inputs: Inputs, first=first) -> Mapping[str, Array]:
                    a = inputs["a"].T if first else inputs["a"]
                    return {"out": (dot._wide(a) @ dot._wide(inputs["b"].T)).astype(np.float32)}

                dot._case(
                    f"dot_wgmma_turned_{dtype.name}_{m}x{n}_{'nt'[first]}{'nt'[second]}",
                    dot.turned_product,
                    make,
                    expect,
                    {"M": m, "N": n, "K": k, "FIRST": first, "SECOND": second},
                    warps,
                    dot._tolerance(np.dtype(np.float32), k, dtype == np.float32),
                )


def _register_accumulated() -> None:
    for name, out in (("f16", tl.float32), ("f16h", tl.float16), ("i8", tl.int32)):
        dtype = np.dtype(np.int8) if name == "i8" else _HALF
        result = np.dtype({"f16": np.float32, "f16h": np.float16, "i8": np.int32}[name])

        def make(rng: np.random.Generator, dtype=dtype, result=result) -> Inputs:
            start = rng.integers(-1000, 1000, (64, 32)).astype(result) if result.kind == "i" else None
            return {
                "a": dot._operand(rng, (64, 32), dtype),
                "b": dot._operand(rng, (32, 32), dtype),
                "c": start if start is not None else dot._operand(rng, (64, 32), result),
                "out": poison((64, 32), result),
            }

        def expect(inputs: Inputs, result=result) -> Mapping[str, Array]:
            x = dot._wide(inputs["a"]) @ dot._wide(inputs["b"])
            return {"out": (inputs["c"].astype(x.dtype) * 3 + x * 3).astype(result)}

        loose = Tolerance(8, 32) if result == np.float16 else dot._tolerance(result, 256)
        constants = {"M": 64, "N": 32, "K": 32, "OUT": out}
        dot._case(f"dot_wgmma_accumulated_{name}", dot.accumulated, make, expect, constants, 4, loose)


def _register_limited() -> None:
    """Nearly as precise as float32 where one instruction at a time is added up; 96 counts as 64."""
    for limit, warps in ((0, 4), (64, 4), (96, 8), (256, 4)):

        def make(rng: np.random.Generator) -> Inputs:
            a, b = (dot._operand(rng, shape, F8E4NV) for shape in ((128, 256), (32, 256)))
            return {"a": a, "b": b, "c": dot._operand(rng, (128, 32), np.float32), "out": poison((128, 32), np.float32)}

        def expect(inputs: Inputs) -> Mapping[str, Array]:
            total = dot._wide(inputs["c"]) + dot._wide(inputs["a"]) @ dot._wide(inputs["b"]).T
            return {"out": total.astype(np.float32)}

        tolerance = dot._tolerance_of(F8E4NV, np.dtype(np.float32), max(limit, 32), False)
        constants = {"M": 128, "N": 32, "K": 256, "LIMIT": limit}
        dot._case(f"dot_wgmma_limited_{limit}", dot.limited_product, make, expect, constants, warps, tolerance)


def _register_batched() -> None:
    for b, m, n, k, warps, dtype in ((2, 64, 32, 32, 4, _HALF), (2, 64, 16, 16, 8, BF16), (2, 128, 16, 32, 16, _HALF)):

        def make(rng: np.random.Generator, b=b, m=m, n=n, k=k, dtype=dtype) -> Inputs:
            x, y = dot._operand(rng, (b, m, k), dtype), dot._operand(rng, (b, k, n), dtype)
            return {"a": x, "b": y, "out": poison((b, m, n), np.float32)}

        dot._case(
            f"dot_wgmma_batched_{dtype.name}_{b}x{m}x{n}x{k}",
            dot.batched,
            make,
            lambda inputs: {"out": (dot._wide(inputs["a"]) @ dot._wide(inputs["b"])).astype(np.float32)},
            {"B": b, "M": m, "N": n, "K": k},
            warps,
            dot._tolerance(np.dtype(np.float32), k),
        )


def _register_loops() -> None:
    for dtype, (m, n, k), (bm, bn, bk), transposed, warps in (
        (_HALF, (70, 90, 75), (64, 64, 32), False, 4),
        (BF16, (130, 33, 129), (128, 32, 64), True, 8),
        (_HALF, (65, 17, 15), (64, 16, 16), False, 4),
    ):

        def make(rng: np.random.Generator, m=m, n=n, k=k, dtype=dtype, transposed=transposed) -> Inputs:
            strides = {"stride_bk": 1, "stride_bn": k} if transposed else {"stride_bk": n, "stride_bn": 1}
            return {
                "a_ptr": dot._operand(rng, (m, k), dtype),
                "b_ptr": dot._operand(rng, (n, k) if transposed else (k, n), dtype),
                "out": poison((m, n), np.float32),
                "M": m, "N": n, "K": k, "first": 0, "stride_am": k, "stride_ak": 1, **strides,
            }  # fmt: skip

        def expect(inputs: Inputs, transposed=transposed) -> Mapping[str, Array]:
            b = inputs["b_ptr"].T if transposed else inputs["b_ptr"]
            return {"out": (dot._wide(inputs["a_ptr"]) @ dot._wide(b)).astype(np.float32)}

        dot._case(
            f"dot_wgmma_matmul_{dtype.name}_{m}x{n}x{k}",
            dot.matmul,
            make,
            expect,
            {"BLOCK_M": bm, "BLOCK_N": bn, "BLOCK_K": bk, "PRECISION": "tf32"},
            warps,
            dot._tolerance(np.dtype(np.float32), k),
            (-(-m // bm), -(-n // bn)),
        )


def _register_chains() -> None:
    for n, d, (bm, bn), warps in ((100, 32, (64, 32), 4), (70, 64, (128, 64), 8)):

        def make(rng: np.random.Generator, n=n, d=d) -> Inputs:
            operands = {each: dot._operand(rng, (n, d), _HALF) for each in "qkv"}
            return {**operands, "out": poison((n, d), np.float32), "n": n, "scale": d**-0.5}

        dot._case(
            f"dot_wgmma_attention_{n}x{d}",
            dot.attention,
            make,
            dot._attention_reference,
            {"BLOCK_M": bm, "BLOCK_N": bn, "D": d},
            warps,
            Tolerance(2, 1, eps=2.0**-10),
            (-(-n // bm),),
        )
    for wide, warps in ((False, 4), (True, 8)):

        def square(rng: np.random.Generator) -> Inputs:
            return {"a": dot._operand(rng, (64, 64), np.float16) / np.float16(16), "out": poison((64, 64), np.float16)}

        dot._case(
            f"dot_wgmma_powers_{warps}",
            dot.powers,
            square,
            lambda inputs, wide=wide: {"out": dot._powers_reference(inputs["a"], wide)},
            {"N": 64, "WIDE": wide},
            warps,
            Tolerance(8, 8),
        )


_register_products()
_register_turned()
_register_accumulated()
_register_limited()
_register_batched()
_register_loops()
_register_chains()
