"""Inline PTX: instructions of every kind that the interpreter and the emulator know, against NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import BF16, EXACT, F8E4NV, F8E5, Array, Inputs, OpCase, Tolerance, add_case, numbers, poison

N = 203
Reference = Callable[..., Array]


@tle2cuda.jit
def three_operands_kernel(x, y, z, out, n, TEXTS: tl.constexpr, LETTERS: tl.constexpr, BLOCK: tl.constexpr):
    """Each text on the same three operands, pure and alone in its result."""
    i = tl.arange(0, BLOCK)
    a, b, c = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1), tl.load(z + i, mask=i < n, other=1)
    for k in tl.static_range(len(TEXTS)):
        value = tl.inline_asm_elementwise(TEXTS[k], LETTERS, [a, b, c], out.dtype.element_ty, is_pure=True, pack=1)
        tl.store(out + k * n + i, value, mask=i < n)


@tle2cuda.jit
def pairs_kernel(x, y, z, out, n, TEXTS: tl.constexpr, BLOCK: tl.constexpr):
    """Two elements of 16 bits in a register."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1), tl.load(z + i, mask=i < n, other=1)
    for k in tl.static_range(len(TEXTS)):
        value = tl.inline_asm_elementwise(TEXTS[k], "=r,r,r,r", [a, b, c], out.dtype.element_ty, is_pure=True, pack=2)
        tl.store(out + k * n + i, value, mask=i < n)


@tle2cuda.jit
def convert_kernel(x, out, n, TEXT: tl.constexpr, LETTERS: tl.constexpr, PACK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0)
    result = tl.inline_asm_elementwise(TEXT, LETTERS, [value], out.dtype.element_ty, is_pure=True, pack=PACK)
    tl.store(out + i, result, mask=i < n)


INTEGERS: list[tuple[str, Reference]] = [
    ("add.s32 $0, $1, $2;", lambda a, b, c: a + b),
    ("sub.u32 $0, $1, $2;", lambda a, b, c: a - b),
    ("mul.lo.s32 $0, $1, $2;", lambda a, b, c: a * b),
    ("mul.hi.s32 $0, $1, $2;", lambda a, b, c: (a.astype(np.int64) * b) >> 32),
    ("mul.hi.u32 $0, $1, $2;", lambda a, b, c: (a.view(np.uint32).astype(np.uint64) * b.view(np.uint32)) >> 32),
    ("mad.lo.s32 $0, $1, $2, $3;", lambda a, b, c: a * b + c),
    ("mul24.lo.s32 $0, $1, $2;", lambda a, b, c: (a << 8 >> 8) * (b << 8 >> 8)),
    ("min.s32 $0, $1, $2;", lambda a, b, c: np.minimum(a, b)),
    ("max.u32 $0, $1, $2;", lambda a, b, c: np.maximum(a.view(np.uint32), b.view(np.uint32)).view(np.int32)),
    ("abs.s32 $0, $1;", lambda a, b, c: np.abs(a)),
    ("neg.s32 $0, $1;", lambda a, b, c: -a),
    ("and.b32 $0, $1, $2;", lambda a, b, c: a & b),
    ("or.b32 $0, $1, $2;", lambda a, b, c: a | b),
    ("xor.b32 $0, $1, 0x55aa;", lambda a, b, c: a ^ 0x55AA),
    ("not.b32 $0, $1;", lambda a, b, c: ~a),
    ("shl.b32 $0, $1, 5;", lambda a, b, c: a << 5),
    ("shr.s32 $0, $1, 7;", lambda a, b, c: a >> 7),
    ("shr.u32 $0, $1, 7;", lambda a, b, c: a.view(np.uint32) >> 7),
    ("shr.s32 $0, $1, 40;", lambda a, b, c: a >> 31),
    ("lop3.b32 $0, $1, $2, $3, 0xEA;", lambda a, b, c: (a & b) | c),
    ("lop3.b32 $0, $1, $2, $3, 0x96;", lambda a, b, c: a ^ b ^ c),
    ("prmt.b32 $0, $1, $2, 0x5140;", lambda a, b, c: _bytes(a, b, [0, 4, 1, 5])),
    ("prmt.b32 $0, $1, $2, 0x7632;", lambda a, b, c: _bytes(a, b, [2, 3, 6, 7])),
    ("bfe.u32 $0, $1, 4, 9;", lambda a, b, c: a.view(np.uint32) >> 4 & 511),
    ("bfe.s32 $0, $1, 20, 9;", lambda a, b, c: a << 3 >> 23),
    ("bfi.b32 $0, $1, $2, 8, 12;", lambda a, b, c: (b & ~0xFFF00) | ((a & 0xFFF) << 8)),
    ("popc.b32 $0, $1;", lambda a, b, c: np.array([bin(int(v) & 0xFFFFFFFF).count("1") for v in a])),
    ("clz.b32 $0, $1;", lambda a, b, c: np.array([32 - (int(v) & 0xFFFFFFFF).bit_length() for v in a])),
    ("brev.b32 $0, $1;", lambda a, b, c: np.array([int(f"{int(v) & 0xFFFFFFFF:032b}"[::-1], 2) for v in a], np.uint32)),
    ("sad.s32 $0, $1, $2, $3;", lambda a, b, c: np.abs(a.astype(np.int64) - b) + c),
    ("shf.l.wrap.b32 $0, $1, $2, 12;", lambda a, b, c: (b << 12) | (a.view(np.uint32) >> 20).view(np.int32)),
    ("add.sat.s32 $0, $1, $2;", lambda a, b, c: np.clip(a.astype(np.int64) + b, -(2**31), 2**31 - 1)),
    ("{ .reg .f32 f; cvt.rn.f32.s32 f, $1; mov.b32 $0, f; }", lambda a, b, c: a.astype(np.float32).view(np.int32)),
    ("{ .reg .f32 f; mov.b32 f, $1; cvt.rzi.s32.f32 $0, f; }", lambda a, b, c: _truncated(a.view(np.float32))),
    ("cvt.s32.s8 $0, $1;", lambda a, b, c: a.astype(np.int8)),
    ("{ .reg .pred p; setp.lt.s32 p, $1, $2; selp.b32 $0, $1, $3, p; }", lambda a, b, c: np.where(a < b, a, c)),
    (
        "{ .reg .pred p, q; setp.ge.u32 p|q, $1, $2; mov.b32 $0, $3; @q add.s32 $0, $0, 1; }",
        lambda a, b, c: c + (a.view(np.uint32) < b.view(np.uint32)),
    ),
    ("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $1; mov.b32 $0, {hi, lo}; }", lambda a, b, c: _rotated(a)),
    (
        "{ .reg .b64 w; mul.wide.s32 w, $1, $2; shr.s64 w, w, 8; cvt.u32.u64 $0, w; }",
        lambda a, b, c: (a.astype(np.int64) * b) >> 8,
    ),
    ("set.eq.u32.s32 $0, $1, $2;", lambda a, b, c: np.where(a == b, -1, 0)),
    ("mov.b32 $0, %ctaid.x;  // a comment", lambda a, b, c: np.zeros_like(a)),
    ("mov.u32 $0, $1;", lambda a, b, c: a),
]

FLOATS: list[tuple[str, Reference]] = [
    ("add.f32 $0, $1, $2;", lambda a, b, c: a + b),
    ("add.rn.ftz.f32 $0, $1, $2;", lambda a, b, c: a + b),
    ("mul.rn.f32 $0, $1, $2;", lambda a, b, c: a * b),
    ("fma.rn.f32 $0, $1, $2, $3;", lambda a, b, c: a.astype(np.float64) * b + c),
    ("min.f32 $0, $1, $2;", np.minimum),
    ("max.f32 $0, $1, 0f3F000000;", lambda a, b, c: np.maximum(a, np.float32(0.5))),
    ("abs.f32 $0, $1;", lambda a, b, c: np.abs(a)),
    ("neg.f32 $0, $1;", lambda a, b, c: -a),
    ("mul.sat.f32 $0, $1, $2;", lambda a, b, c: np.clip(a * b, 0, 1)),
    ("div.rn.f32 $0, $1, $2;", lambda a, b, c: a / b),
    ("sqrt.rn.f32 $0, $1;", lambda a, b, c: np.sqrt(a)),
    ("cvt.rni.f32.f32 $0, $1;", lambda a, b, c: np.rint(a)),
    ("{ .reg .b32 w; cvt.rna.tf32.f32 w, $1; mov.b32 $0, w; }", lambda a, b, c: _tf32(a)),
    ("{ .reg .f64 d; cvt.f64.f32 d, $1; add.f64 d, d, d; cvt.rn.f32.f64 $0, d; }", lambda a, b, c: a * 2),
    ("{ .reg .b16 h; cvt.rn.f16.f32 h, $1; cvt.f32.f16 $0, h; }", lambda a, b, c: a.astype(np.float16)),
    ("{ .reg .b16 h; cvt.rn.bf16.f32 h, $1; cvt.f32.bf16 $0, h; }", lambda a, b, c: a.astype(BF16)),
    ("copysign.f32 $0, $1, $2;", lambda a, b, c: np.copysign(b, a)),
]
APPROXIMATE: list[tuple[str, Reference]] = [
    ("ex2.approx.ftz.f32 $0, $1;", lambda a, b, c: np.exp2(a.astype(np.float64))),
    ("lg2.approx.f32 $0, $2;", lambda a, b, c: np.log2(b.astype(np.float64))),
    ("rcp.approx.ftz.f32 $0, $2;", lambda a, b, c: 1 / b),
    ("rsqrt.approx.f32 $0, $2;", lambda a, b, c: 1 / np.sqrt(b.astype(np.float64))),
    ("sqrt.approx.f32 $0, $2;", lambda a, b, c: np.sqrt(b)),
    ("div.full.f32 $0, $1, $2;", lambda a, b, c: a / b),
    ("sin.approx.f32 $0, $2;", lambda a, b, c: np.sin(b.astype(np.float64))),
]
TANH: list[tuple[str, Reference]] = [("tanh.approx.f32 $0, $1;", lambda a, b, c: np.tanh(a.astype(np.float64)))]

HALVES: list[tuple[str, Reference]] = [
    ("add.{t} $0, $1, $2;", lambda a, b, c: a + b),
    ("sub.{t} $0, $1, $2;", lambda a, b, c: a - b),
    ("mul.{t} $0, $1, $2;", lambda a, b, c: a * b),
    ("fma.rn.{t} $0, $1, $2, $3;", lambda a, b, c: a * b + c),
    ("min.{t} $0, $1, $2;", lambda a, b, c: np.minimum(a, b)),
    ("max.{t} $0, $1, $2;", lambda a, b, c: np.maximum(a, b)),
    ("neg.{t} $0, $1;", lambda a, b, c: -a),
    ("abs.{t} $0, $1;", lambda a, b, c: np.abs(a)),
]


def _bytes(a: Array, b: Array, places: Sequence[int]) -> Array:
    both = np.stack([a, b], axis=-1).view(np.uint8).reshape(-1, 8)
    return np.ascontiguousarray(both[:, places]).view(np.int32).reshape(-1)


def _rotated(a: Array) -> Array:
    return (a.view(np.uint32) >> 16 | a.view(np.uint32) << 16).view(np.int32)


def _truncated(x: Array) -> Array:
    wide = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=2.0**40, neginf=-(2.0**40)))
    return np.clip(wide, -(2.0**31), 2.0**31 - 1).astype(np.int64)


def _tf32(a: Array) -> Array:
    return ((a.view(np.uint32) + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)


def _add_texts(
    name: str,
    table: Sequence[tuple[str, Reference]],
    dtype: Any,
    letters: str,
    tolerance: Tolerance = EXACT,
    wide: Any = None,
    positive: bool = False,
) -> None:
    """A case for all texts of a table, on three operands of one dtype."""
    pairs = letters == ""

    def make(rng: np.random.Generator) -> Inputs:
        operands = [numbers(rng, N, dtype, special=np.dtype(dtype).kind == "i") for _ in range(3)]
        if positive:
            operands[1] = (np.abs(operands[1].astype(np.float64)) + 0.25).astype(dtype)
        return {**dict(zip("xyz", operands, strict=True)), "out": poison(N * len(table), dtype), "n": N}

    def expect(inputs: Inputs) -> dict[str, Array]:
        operands = [inputs[key].astype(wide) if wide else inputs[key] for key in "xyz"]
        rows = []
        with np.errstate(all="ignore"):
            for _, reference in table:
                row = np.asarray(reference(*operands))
                rows.append(row.astype(np.int64).astype(dtype) if np.dtype(dtype).kind == "i" else row.astype(dtype))
        return {"out": np.concatenate(rows)}

    texts = tuple(text for text, _ in table)
    constants = {"TEXTS": texts, "BLOCK": 256} if pairs else {"TEXTS": texts, "LETTERS": letters, "BLOCK": 256}
    kernel = pairs_kernel if pairs else three_operands_kernel
    add_case(OpCase(name, "inline_asm", kernel, (1,), make, expect, constants, tolerance=tolerance))


def _register_instructions() -> None:
    _add_texts("asm_integers", INTEGERS, np.int32, "=r,r,r,r")
    floats = [(text, fn if text[:3] != "min" else lambda a, b, c: np.minimum(a, b)) for text, fn in FLOATS]
    _add_texts("asm_floats", floats, np.float32, "=f,f,f,f", positive=False)
    _add_texts("asm_approximate", APPROXIMATE, np.float32, "=f,f,f,f", Tolerance(8, 1.0), positive=True)
    _add_texts("asm_tanh", TANH, np.float32, "=f,f,f,f", Tolerance(2.0**12))
    for label, dtype in (("f16x2", np.float16), ("bf16x2", BF16)):
        table = [(text.replace("{t}", label), fn) for text, fn in HALVES]
        _add_texts(f"asm_{label}", table, dtype, "", wide=np.float64)


# ---- conversions of packed elements ---------------------------------------------------------------------------------

UNPACK_INT8 = """
{
    .reg .b32 low, high;
    prmt.b32 low, $2, 0, 0x9180;     // sign-extends bytes 0 and 1
    prmt.b32 high, $2, 0, 0xB3A2;
    mov.b32 $0, low;
    mov.b32 $1, high;
}
"""
CONVERSIONS: list[tuple[str, str, str, int, Any, Any, Reference]] = [
    ("int8_to_int16", UNPACK_INT8, "=r,=r,r", 4, np.int8, np.int16, lambda x: x),
    ("e4m3_to_f16", "cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", 2, F8E4NV, np.float16, lambda x: x.astype(np.float32)),
    ("e5m2_to_f16", "cvt.rn.f16x2.e5m2x2 $0, $1;", "=r,h", 2, F8E5, np.float16, lambda x: x.astype(np.float32)),
    (
        "f16_to_e4m3",
        "cvt.rn.satfinite.e4m3x2.f16x2 $0, $1;",
        "=h,r",
        2,
        np.float16,
        F8E4NV,
        lambda x: np.clip(x, -448, 448),
    ),
    (
        "f32_to_e4m3",
        "{ .reg .b16 a, b; cvt.rn.satfinite.e4m3x2.f32 a, $2, $1; cvt.rn.satfinite.e4m3x2.f32 b, $4, $3; "
        "mov.b32 $0, {a, b}; }",
        "=r,f,f,f,f",
        4,
        np.float32,
        F8E4NV,
        lambda x: np.clip(x, -448, 448),
    ),
    ("f32_to_f16", "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", 2, np.float32, np.float16, lambda x: x),
    ("f32_to_bf16", "cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", 2, np.float32, BF16, lambda x: x),
    ("int64", "add.s64 $0, $1, 1; mul.lo.s64 $0, $0, 3;", "=l,l", 1, np.int64, np.int64, lambda x: (x + 1) * 3),
    ("double", "fma.rn.f64 $0, $1, $1, 0d3FF0000000000000;", "=d,d", 1, np.float64, np.float64, lambda x: x * x + 1),
    ("half_alone", "neg.f16 $0, $1;", "=h,h", 1, np.float16, np.float16, lambda x: -x),
    ("byte_alone", "xor.b16 $0, $1, 15;", "=h,h", 1, np.uint8, np.uint8, lambda x: x ^ 15),
    ("predicate", "not.pred $0, $1;", "=b,b", 1, np.bool_, np.bool_, lambda x: ~x),
    ("nothing", "mov.b32 $0, $1;", "=r,0", 1, np.int32, np.int32, lambda x: x),
    # Registers hold bits: zeros above what is narrower, the lowest bits of what is wider, whatever the letter.
    ("byte_in_32", "mov.b32 $0, $1;", "=r,r", 1, np.int8, np.int32, lambda x: x.view(np.uint8)),
    ("short_in_64", "mov.b64 $0, $1;", "=l,l", 1, np.int16, np.int64, lambda x: x.view(np.uint16)),
    ("half_in_32", "xor.b32 $0, $1, 0x8000;", "=r,r", 1, np.float16, np.float16, lambda x: -x),
    ("int64_in_32", "add.u32 $0, $1, 1;", "=r,r", 1, np.int64, np.int64, lambda x: (x + 1) & 0xFFFFFFFF),
    ("int32_in_16", "not.b16 $0, $1;", "=h,h", 1, np.int32, np.int32, lambda x: ~x & 0xFFFF),
    ("float_as_bits", "xor.b32 $0, $1, 0x80000000;", "=r,r", 1, np.float32, np.float32, lambda x: -x),
    ("int_in_float", "add.s32 $0, $1, 1;", "=f,f", 1, np.int32, np.int32, lambda x: x + 1),
    ("float_tied_to_int", "xor.b32 $0, $0, 0x80000000;", "=r,0", 1, np.float32, np.int32, lambda x: (-x).view(np.int32)),
    ("int_tied_to_float", "add.f32 $0, $0, $0;", "=f,0", 1, np.int32, np.float32, lambda x: x.view(np.float32) * 2),
    ("double_in_32", "mov.b32 $0, $1;", "=r,r", 1, np.float64, np.int32, lambda x: x.view(np.int32)[::2]),
    ("bool_in_32", "mov.b32 $0, $1;", "=r,r", 1, np.bool_, np.int32, lambda x: -x.astype(np.int32)),
    ("bool_in_16", "mov.b16 $0, $1;", "=h,h", 1, np.bool_, np.int16, lambda x: -x.astype(np.int16)),
    ("bool_of_32", "mov.b32 $0, $1;", "=r,r", 1, np.int32, np.bool_, lambda x: x & 1),
    ("predicate_of_int", "not.pred $0, $1;", "=b,b", 1, np.int16, np.int64, lambda x: -(~x & 1).astype(np.int64)),
    (
        "bytes_in_64",
        "shl.b64 $0, $1, 8;",
        "=l,l",
        4,
        np.uint8,
        np.uint8,
        lambda x: np.roll(x, 1) * (np.arange(x.size) % 4 > 0),
    ),
    ("halves_in_16", "not.b16 $0, $1;", "=h,h", 2, np.uint16, np.uint16, lambda x: ~x * (np.arange(x.size) % 2 == 0)),
]


def _register_conversions() -> None:
    for name, text, letters, pack, source, target, reference in CONVERSIONS:
        for size, block, warps in ((N, 128, 1), (5, 1, 1), (6, 8, 1)):
            if size != N and name not in ("int8_to_int16", "f32_to_e4m3"):
                continue

            def make(rng: np.random.Generator, size: int = size, source: Any = source, target: Any = target) -> Inputs:
                return {"x": numbers(rng, size, source), "out": poison(size, target), "n": size}

            def expect(inputs: Inputs, reference: Reference = reference, target: Any = target) -> dict[str, Array]:
                with np.errstate(all="ignore"):
                    return {"out": np.asarray(reference(inputs["x"])).astype(target)}

            constants = {"TEXT": text, "LETTERS": letters, "PACK": pack, "BLOCK": block}
            tolerance = Tolerance(2) if name == "double" else EXACT
            grid = (-(-size // block),)
            label = f"asm_{name}" if size == N else f"asm_{name}_block_{block}"
            add_case(OpCase(label, "inline_asm", convert_kernel, grid, make, expect, constants, warps, tolerance))


# ---- several results, effects, scalars ------------------------------------------------------------------------------


@tle2cuda.jit
def divmod_kernel(x, y, quotients, remainders, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=1), tl.load(y + i, mask=i < n, other=1)
    q, r = tl.inline_asm_elementwise(
        """
        div.u32 $0, $2, $3;
        rem.u32 $1, $2, $3;
        """,
        "=&r,=r,r,r",
        [a, b],
        (tl.uint32, tl.uint32),
        is_pure=True,
        pack=1,
    )
    tl.store(quotients + i, q, mask=i < n)
    tl.store(remainders + i, r, mask=i < n)


@tle2cuda.jit
def memory_kernel(x, out, total, n, BLOCK: tl.constexpr):
    """Loads, stores and atomics of the user's own, on tiles of pointers and on scalars."""
    i = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l", [x + i], tl.int32, is_pure=False, pack=1
    )
    tl.inline_asm_elementwise(
        "st.global.b32 [$1+0], $2; mov.u32 $0, 0;", "=r,l,r", [out + i, value * 2], tl.int32, False, 1
    )
    tl.debug_barrier()
    first = tl.inline_asm_elementwise("ld.acquire.gpu.b32 $0, [$1+4];", "=r,l", [out], tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise("fence.acq_rel.gpu; mov.u32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1)
    if first > 0:
        tl.store(total, first + n)


@tle2cuda.jit
def scalar_asm_kernel(out, n):
    program = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.x;", "=r", [], tl.int32, is_pure=True, pack=1)
    low, high = tl.inline_asm_elementwise(
        "min.s32 $0, $2, 7; max.s32 $1, $2, 7;", "=r,=r,r", [n], (tl.int32, tl.int32), True, 1
    )
    packed = tl.inline_asm_elementwise("xor.b32 $0, $1, -1;", "=r,r", [program.to(tl.int8)], tl.int8, True, 4)
    clock = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], tl.int64, is_pure=False, pack=1)
    tl.store(out + program, low + 10 * high + packed + (clock > 0).to(tl.int32))


@tle2cuda.jit
def short_names_kernel(x, out, n, BLOCK: tl.constexpr):
    """Groups of four, of variables that are called as one might call the counters of the loops over them."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    group = tl.load(x + i, mask=i < n, other=0)
    e = tl.inline_asm_elementwise("xor.b32 $0, $1, 0x01010101;", "=r,r", [group], tl.int8, True, 4)
    run = tl.inline_asm_elementwise("xor.b32 $0, $1, 0x02020202;", "=r,r", [e], tl.int8, True, 4)
    tl.store(out + i, (e + group + run).to(tl.int8), mask=i < n)


@tle2cuda.jit
def dependent_kernel(x, out, n, BLOCK: tl.constexpr):
    """What comes after the wait for another grid; launched as usual, there is none to wait for."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    value = tl.load(x + i, mask=i < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out + i, value + tl.extra.cuda.num_warps(), mask=i < n)


def _register_effects() -> None:
    def make_dependent(rng: np.random.Generator) -> Inputs:
        return {"x": numbers(rng, N, np.int32), "out": poison(N, np.int32), "n": N}

    def dependent(inputs: Inputs) -> dict[str, Array]:
        return {"out": inputs["x"] + np.int32(4)}

    add_case(OpCase("grid_dependency", "device_info", dependent_kernel, (2,), make_dependent, dependent, {"BLOCK": 128}))

    def make_division(rng: np.random.Generator) -> Inputs:
        x, y = numbers(rng, N, np.uint32, True), numbers(rng, N, np.uint32) % np.uint32(1000) + np.uint32(1)
        return {"x": x, "y": y, "quotients": poison(N, np.uint32), "remainders": poison(N, np.uint32), "n": N}

    def divide(inputs: Inputs) -> dict[str, Array]:
        return {"quotients": inputs["x"] // inputs["y"], "remainders": inputs["x"] % inputs["y"]}

    add_case(OpCase("asm_two_results", "inline_asm", divmod_kernel, (2,), make_division, divide, {"BLOCK": 128}))

    def make_memory(rng: np.random.Generator) -> Inputs:
        return {
            "x": np.abs(numbers(rng, 128, np.int32)) // 4 + 1,
            "out": poison(128, np.int32),
            "total": poison(1, np.int32),
            "n": 5,
        }

    def memory(inputs: Inputs) -> dict[str, Array]:
        doubled = inputs["x"] * 2
        return {"out": doubled, "total": doubled[1:2] + 5}

    add_case(OpCase("asm_memory", "inline_asm", memory_kernel, (1,), make_memory, memory, {"BLOCK": 128}))

    def make_short_names(rng: np.random.Generator) -> Inputs:
        return {"x": numbers(rng, N, np.int8), "out": poison(N, np.int8), "n": N}

    def short_names(inputs: Inputs) -> dict[str, Array]:
        group = inputs["x"]
        e = group ^ np.int8(1)
        return {"out": e + group + (e ^ np.int8(2))}

    for block in (16, 128, 256, 1024):
        grid = (-(-N // block),)
        parts = (short_names_kernel, grid, make_short_names, short_names, {"BLOCK": block})
        add_case(OpCase(f"asm_short_names_{block}", "inline_asm", *parts))

    def scalars(inputs: Inputs) -> dict[str, Array]:
        program = np.arange(3, dtype=np.int32)
        return {"out": 7 + 10 * 12 + ~program + 1}

    add_case(
        OpCase(
            "asm_scalars",
            "inline_asm",
            scalar_asm_kernel,
            (3,),
            lambda rng: {"out": poison(3, np.int32), "n": 12},
            scalars,
            num_warps=2,
        )
    )


_register_instructions()
_register_conversions()
_register_effects()
