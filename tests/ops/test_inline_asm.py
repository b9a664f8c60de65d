"""Inline PTX: what the language refuses, what is emitted, and the parts of PTX that no op case meets."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import error_of
from tests.ops.harness import tracing
from tle2cuda.errors import InvalidArgument, InvalidType, KernelError, NotSupported
from tle2cuda.ptx.cpp import without_asm
from tle2cuda.ptx.evaluate import evaluate
from tle2cuda.ptx.parser import Address, Group, Integer, Register, parse
from tle2cuda.ptx.steps import compile_asm, is_same_for_all_threads


def asm(text: str, constraints: str, args: Any, dtype: Any, is_pure: Any = True, pack: Any = 1) -> Any:
    return tl.inline_asm_elementwise(text, constraints, args, dtype, is_pure, pack)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: asm("mov.b32 $0, $1;", "=r,q", [x], tl.int32), InvalidArgument, "the constraint 'q' is not known"),
        (
            lambda x: asm("mov.b32 $0, $1;", "r,=r", [x], tl.int32),
            InvalidArgument,
            "the constraint '=r' comes behind an input",
        ),
        (
            lambda x: asm("mov.b32 $0, $1;", "=r", [x], tl.int32),
            InvalidArgument,
            "'=r' names 1 outputs and 0 inputs, but the results take 1 registers and the arguments 1",
        ),
        (
            lambda x: asm("mov.b32 $0, $1;", "=r,r", [x], tl.int32, True, 2),
            InvalidArgument,
            "'=r,r' names 1 outputs and 1 inputs, but the results take 2 registers and the arguments 2",
        ),
        (
            lambda x: asm("mov.b32 $0, $2;", "=r,r", [x], tl.int32),
            InvalidArgument,
            "the text uses $2, but there are 2 operands, from $0 on",
        ),
        (lambda x: asm("mov.b32 ${0:x}, $1;", "=r,r", [x], tl.int32), InvalidArgument, "`${0:x}` is not known"),
        (
            lambda x: asm("mov.b32 $0, $1;", "=r,r", [x], tl.int32, True, 3),
            InvalidArgument,
            "pack must be a power of two, got 3",
        ),
        (lambda x: asm(x, "=r,r", [x], tl.int32), Exception, ""),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with tracing() as trace, pytest.raises(error) as caught:
        call(trace.symbol(tl.int32, (8,)))
    if message:
        assert getattr(caught.value, "message", None) == f"tl.inline_asm_elementwise: {message}"


def test_results_and_operations() -> None:
    with tracing() as trace:
        x = trace.symbol(tl.int32, (8,))
        row = trace.symbol(tl.float32, (1,))
        single = asm("mov.b32 $0, $1;", "=r,r", [x], tl.float32)
        assert single.dtype == tl.float32
        assert single.shape == (8,)
        pair = asm("mov.b32 $0, $2; mov.b32 $1, $3;", "=r,=r,r,r", [x, row], (tl.int32, tl.uint32))
        assert [value.dtype for value in pair] == [tl.int32, tl.uint32]
        assert isinstance(asm("mov.b32 $0, $1;", "=r,r", [x], (tl.int32,)), tuple)
        clock = asm("mov.u32 $0, %clock;", "=r", [], tl.uint32, False)
        assert clock.shape == ()
        names = [op.name for op in trace.ops]
        assert names.count("asm") == 2
        assert names.count("asm_block") == 2
        with pytest.raises(InvalidType, match="constraints must be a constant string, got 3"):
            asm("", 3, [x], tl.int32)


def run(text: str, operands: dict[str, tuple[int, list[int]]], output: str = "$0", bits: int = 32) -> list[int]:
    widths = {output: bits, **{name: width for name, (width, _) in operands.items()}}
    program = compile_asm(text, widths)
    size = max((len(values) for _, values in operands.values()), default=1)
    arrays = {name: np.array(values, np.uint64) for name, (_, values) in operands.items()}
    return [int(v) for v in evaluate(program, arrays, (size,), None)[output]]  # type: ignore[arg-type]


def test_guards_and_predicates() -> None:
    text = "{ .reg .pred p; setp.gt.and.u32 p, $1, 3, 1; mov.b32 $0, 7; @!p mov.b32 $0, 9; }"
    with pytest.raises(NotSupported):
        run("setp.xx.u32 p, $1, 3;", {"$1": (32, [1])})
    assert run("{ .reg .pred p; setp.gt.u32 p, $1, 3; mov.b32 $0, 7; @!p mov.b32 $0, 9; }", {"$1": (32, [1, 5])}) == [9, 7]
    assert run("selp.b32 $0, 1, 2, $1;", {"$1": (1, [1, 0])}) == [1, 2]
    assert text


def test_numbers() -> None:
    assert run("mov.b32 $0, 0f3F800000;", {}) == [0x3F800000]
    assert run("mov.f32 $0, 1.0;", {}) == [0x3F800000]
    assert run("add.u32 $0, $1, -1;", {"$1": (32, [0])}) == [0xFFFFFFFF]
    assert run("mov.u32 $0, 0xFFU;", {}) == [255]
    assert run("mov.b64 $0, {$1, $2};", {"$1": (32, [1]), "$2": (32, [2])}, bits=64) == [1 + (2 << 32)]
    assert run("cvt.sat.u8.s32 $0, $1;", {"$1": (32, [300, 0xFFFFFFFF, 7])}) == [255, 0, 7]
    assert run("cvt.rzi.u32.f32 $0, $1;", {"$1": (32, [0x7FC00000, 0xBF800000, 0x40600000])}) == [0, 0, 3]
    assert run("bfe.s32 $0, $1, 28, 8;", {"$1": (32, [0xF0000000])}) == [0xFFFFFFFF]
    assert run("shf.r.clamp.b32 $0, $1, $2, 40;", {"$1": (32, [1]), "$2": (32, [5])}) == [5]
    assert (
        run("min.NaN.f32 $0, $1, $2;", {"$1": (32, [0x7FC00000]), "$2": (32, [0x3F800000])})[0] & 0x7FC00000 == 0x7FC00000
    )
    assert run("cvt.rn.relu.f16.f32 $0, $1;", {"$1": (32, [0xBF800000, 0x3F800000])}, bits=16) == [0, 0x3C00]


def test_texts_are_read() -> None:
    found = parse("{ .reg .b32 a, t<2>; /* x */ ld.global.v2.u32 {a, t1}, [$1 + 8]; @!p add.s32 $0, a, -3; // end\n }")
    assert found.registers == {"a": "b32", "t0": "b32", "t1": "b32"}
    load, add = found.instructions
    assert load.operands == (Group((Register("a"), Register("t1"))), Address(Register("$1"), 8))
    assert add.guard == Register("p", is_negated=True)
    assert add.operands == (Register("$0"), Register("a"), Integer(-3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("again: bra again;", "`again: bra again`"),
        ("bar.sync 0;", "`bar.sync 0`"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 $0, $1, $1, $0;",
            "`mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 $0, $1,...`",
        ),
        ("add.u32 $0, q, 1;", "the register `q` of `add.u32 $0, q, 1`, which is not declared,"),
        ("add.wild.u32 $0, $1, 1;", "the modifier .wild of `add.wild.u32 $0, $1, 1`"),
        (".reg .b128 x; mov.b32 $0, 1;", "a register of type .b128"),
    ],
)
def test_what_is_not_known(text: str, message: str) -> None:
    with pytest.raises(NotSupported) as caught:
        run(text, {"$1": (32, [1])})
    assert caught.value.message == f"inline PTX: {message} is not supported without a GPU"


def test_unknown_instructions_are_errors_at_the_users_line(tmp_path: pathlib.Path) -> None:
    @tle2cuda.jit
    def kernel(out):
        tl.store(out, tl.inline_asm_elementwise("bar.sync 0; mov.u32 $0, 1;", "=r", [], tl.int32, False, 1))

    assert "asm volatile(" in tle2cuda.emit(kernel, "*i32").source
    with pytest.raises(KernelError) as caught:
        kernel[(1,)](np.zeros(1, np.int32))
    assert "test_inline_asm.py" in str(caught.value)
    assert "inline PTX: `bar.sync 0` is not supported without a GPU" in str(caught.value)
    assert "help: run this kernel on a GPU" in str(caught.value)
    source = '@tle2cuda.jit\ndef k(p):\n    tl.store(p, tl.inline_asm_elementwise("", "=r,r", [], tl.int32, True, 1))\n'
    error = error_of(source, tmp_path, "*i32")
    assert str(error).startswith("k.py:6:17: tl.inline_asm_elementwise: '=r,r' names 1 outputs and 1 inputs")


def test_statements_become_cpp_on_as_many_lines() -> None:
    text = (
        'a\n    asm volatile("add.u32 %0, %1, 1;\\n"\n        "// %%laneid\\n" : "=r"(x) : "r"(y + f(1, 2)) : "memory");\nb'
    )
    made = without_asm(text)
    assert made.count("\n") == text.count("\n")
    assert "asm" not in made.replace("assign", "")
    assert "ptx::register_of<uint32_t>(y + f(1, 2))" in made
    assert without_asm('// asm("nop;");\n') == '// asm("nop;");\n'


def test_uniform_texts() -> None:
    assert is_same_for_all_threads("mov.u32 $0, %smid;")
    assert is_same_for_all_threads("add.u32 $0, $1, 1;")
    assert not is_same_for_all_threads("mov.u64 $0, %globaltimer;")
    assert not is_same_for_all_threads("ld.global.u32 $0, [$1];")


@tle2cuda.jit
def same_text_twice(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [tl.load(x + i)], tl.float32, True, 1)
    b = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [a * 2], tl.float32, True, 1)
    c = tl.inline_asm_elementwise("abs.f32 $0, $1;", "=f,f", [b], tl.float32, True, 1)
    tl.store(out + i, a + b + c)


def test_a_text_has_one_function() -> None:
    source = tle2cuda.emit(same_text_twice, "*fp32:16, *fp32:16, 256").source
    assert source.count("__forceinline__ float asm_neg(") == 1
    assert source.count("asm_neg(") == 3
    assert source.count("__forceinline__ float asm_abs(") == 1


@tle2cuda.jit
def _prefetching(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [x + 4 * i], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(y + i, tl.load(x + i))


def test_what_prefetches_writes_nothing() -> None:
    """So what it prefetches is still read as memory that nobody writes."""
    source = tle2cuda.emit(_prefetching, "*fp32, *fp32, 128").source
    assert "prefetch.global.L2 [%1]" in source and "_prefetching(const float* __restrict__ x, float* y)" in source
