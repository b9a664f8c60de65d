"""Integer divisions by zero, and of the least integer by -1: a thread goes on, with the interpreter's results."""

from __future__ import annotations

import platform

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.emulator.handwritten import fault, run
from tle2cuda.emulator import emulate

INTEGERS = [np.dtype(name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()]
SIGNED = INTEGERS[:4]
# AArch64 does not trap, and gives 0.
is_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="results of a division by zero on x86-64")


@tle2cuda.jit
def divide(x, y, quotient, remainder, total, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(x + i, mask=mask, other=1)
    b = tl.load(y + i, mask=mask, other=0)
    tl.store(quotient + i, a // b, mask=mask)
    tl.store(remainder + i, a % b, mask=mask)
    tl.store(total + i, tl.cumsum(a // b, 0), mask=mask)


def operands(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(dtype.itemsize)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 64, dtype, endpoint=True) for _ in range(2))
    return x, np.where(y == 0, dtype.type(3), y)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_lanes_that_a_mask_drops_divide_by_zero(dtype: np.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = operands(dtype)
    if dtype.kind == "i":
        x[5], y[5] = np.iinfo(dtype).min, -1
    wide = dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")
    arguments = {"x": x, "y": y, "n": 50, "BLOCK": 64}
    outputs = {name: np.zeros(64, wide if name == "total" else dtype) for name in ("quotient", "remainder", "total")}
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    want = {name: array.copy() for name, array in outputs.items()}
    divide[(1,)](**arguments, **want)
    got = emulate(divide, 1, {**arguments, **outputs}, schedule="random", detect="all").check().outputs
    for name, array in want.items():
        np.testing.assert_array_equal(got[name], array, err_msg=name)
    if dtype.kind == "i":
        assert got["quotient"][5] == np.iinfo(dtype).min and got["remainder"][5] == 0
    assert (got["quotient"][50:] == 0).all()


@is_x86
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_results_of_a_division_by_zero(dtype: np.dtype) -> None:
    x, _ = operands(dtype)
    zero = np.zeros_like(x)
    body = "    const int i = threadIdx.x;\n    q[i] = x[i] / y[i];\n    r[i] = x[i] % y[i];"
    out = run(body, {"x": x, "y": zero, "q": zero.copy(), "r": zero.copy()}, threads=64)
    assert (out["q"] == ~zero).all()
    assert (out["r"] == x).all()


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_the_least_integer_divided_by_minus_1(dtype: np.dtype) -> None:
    least = np.full(32, np.iinfo(dtype).min, dtype)
    args = {"x": least, "y": np.full(32, -1, dtype), "q": np.zeros(32, dtype), "r": np.ones(32, dtype)}
    out = run("    const int i = threadIdx.x;\n    q[i] = x[i] / y[i];\n    r[i] = x[i] % y[i];", args)
    assert (out["q"] == least).all()
    assert (out["r"] == 0).all()


def test_divisions_under_the_detector_of_offsets() -> None:
    x, y = operands(np.dtype(np.int32))
    arguments = {"x": x, "y": y, "n": 50, "BLOCK": 64}
    outputs = {name: np.zeros(64, np.int32) for name in ("quotient", "remainder", "total")}
    result = emulate(divide, 1, {**arguments, **outputs}, detect="offsets").check()
    assert (result.outputs["remainder"][:50] == np.fmod(x, y)[:50]).all()


# ---- Every form of the instruction ----

BASES = ("rbx", "rcx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15")
SUFFIXES = {8: "b", 16: "w", 32: "l", 64: "q"}
# The translation takes `asm` for PTX, and refuses it.
HOST_ASSEMBLY = "#define HOST_ASSEMBLY __as##m__\n"
A, D = 0x0123456789ABCDEF, 0x1122334455667788  # what the registers of the dividend hold
ZERO_AT = 4096  # in `memory`, which holds nothing else that is zero


def part(name: str, bits: int) -> str:
    """The assembler's name of a register's low bits."""
    if name[1].isdigit():
        return name + {8: "b", 16: "w", 32: "d", 64: ""}[bits]
    low = f"{name[1]}l" if name.endswith("x") else f"{name[1:]}l"
    return {8: low, 16: name[1:], 32: f"e{name[1:]}", 64: name}[bits]


def forms(bits: int) -> list[tuple[str, str]]:
    """Instructions that set registers up, with %rsi at the zero, and an operand that is zero then."""
    result = [
        ("movq $0, 64(%rsp)", "64(%rsp)"),
        ("movq $8, %rcx; movq $0, 272(%rsp)", "256(%rsp,%rcx,2)"),
        ("movq $8, %r12; movq $0, 272(%rsp)", "256(%rsp,%r12,2)"),
        ("jmp 1f; .quad -1; 2: .quad 0, -1; 1:", "2b(%rip)"),
    ]
    if bits == 8:
        result += [("movl $0x11, %ecx", "%ch"), ("movl $0x11, %ebx", "%bh")]
    for base in BASES:
        index = "rdi" if base != "rdi" else "rbx"
        result += [
            (f"xorl %{part(base, 32)}, %{part(base, 32)}", f"%{part(base, bits)}"),
            (f"movq %rsi, %{base}", f"(%{base})"),
            (f"leaq 24(%rsi), %{base}", f"-24(%{base})"),
            (f"leaq -0x300(%rsi), %{base}", f"0x300(%{base})"),
            (f"leaq -32(%rsi), %{base}; movq $3, %{index}", f"8(%{base},%{index},8)"),
            (f"leaq -12(%rsi), %{base}; movq $3, %{index}", f"(%{base},%{index},4)"),
            (f"leaq -64(%rsi), %{base}; shrq $3, %{base}", f"64(,%{base},8)"),
        ]
    return result


def assembly(setup: str, instruction: str, number: int) -> str:
    """A block that executes one instruction, and the next one, which inverts %rax; below the red zone of the frame."""
    steps = ["leaq -1024(%rsp), %rsp", "movq %rbp, (%rsp)", setup, instruction, "notq %rax"]
    steps += ["movq (%rsp), %rbp", "leaq 1024(%rsp), %rsp"]
    text = "; ".join(step for step in steps if step).replace("%", "%%")
    clobbered = ", ".join(f'"{name}"' for name in ("rbx", "rcx", "rdi", *(f"r{i}" for i in range(8, 16)), "memory", "cc"))
    return (
        f"    {{ unsigned long long a = {A:#x}ull, d = {D:#x}ull; const void* at = memory + {ZERO_AT};"
        f' HOST_ASSEMBLY volatile("{text}" : "+a"(a), "+d"(d), "+S"(at) : : {clobbered});'
        f" out[{2 * number}] = a; out[{2 * number + 1}] = d; }}"
    )


@is_x86
@pytest.mark.parametrize("bits", SUFFIXES)
@pytest.mark.parametrize("kind", ["div", "idiv"])
def test_operands_in_registers_and_memory(kind: str, bits: int) -> None:
    cases = forms(bits)
    blocks = [assembly(setup, f"{kind}{SUFFIXES[bits]} {operand}", i) for i, (setup, operand) in enumerate(cases)]
    body = HOST_ASSEMBLY + "\n".join(["    if (threadIdx.x != 0) return;", *blocks])
    memory = np.full(2 * ZERO_AT, 0x5A, np.uint8)
    memory[ZERO_AT : ZERO_AT + 8] = 0
    out = run(body, {"memory": memory, "out": np.zeros(2 * len(cases), np.uint64)}, detect=())["out"]
    ones = (1 << bits) - 1
    quotient, remainder = {
        8: (A & ~0xFFFF | (A & 0xFF) << 8 | 0xFF, D),
        16: (A | ones, D & ~ones | A & ones),
        32: (ones, A & ones),  # which clears the upper half
        64: (ones, A),
    }[bits]
    wrong = {
        operand: (f"{a:#x}", f"{d:#x}")
        for (_, operand), a, d in zip(cases, out[::2].tolist(), out[1::2].tolist(), strict=True)
        if (a ^ (1 << 64) - 1, d) != (quotient, remainder)
    }
    assert not wrong


@is_x86
def test_a_quotient_too_large_for_its_register_is_still_a_fault() -> None:
    body = HOST_ASSEMBLY + '    HOST_ASSEMBLY volatile("movl $1, %%ecx; divl %%ecx" : : "a"(0), "d"(5) : "ecx", "cc");'
    found = fault(body, {"x": np.zeros(1, np.int32)}).failed
    assert found.kind == "division" and found.location.line == 6
