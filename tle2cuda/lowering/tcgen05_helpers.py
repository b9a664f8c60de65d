"""Device helpers for `tcgen05.mma` and `tcgen05.ld`, one for each shape and kind of operands: written on demand.

Names say what a helper is: `tcgen05_m128n64k16_f32_f16` takes both operands from rows along K in shared memory; behind
that, `_a_along_m` and `_b_along_n` from rows along M and N. `tcgen05_ld_32x32b_x16_f32` loads 16 columns of the 32 lanes of
a warp.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tle2cuda.lowering.helpers import Helper
from tle2cuda.lowering.templates import render_form

TEMPLATE = "tcgen05_helper.cu.j2"
_MULTIPLY = re.compile(
    r"tcgen05_m(?P<m>64|128)n(?P<n>\d+)k(?P<k>\d+)_(?P<sums>f32|s32)_(?P<a>f16|bf16|tf32|s8|e4m3|e5m2)(?:_(?P<b>e4m3|e5m2))?"
    r"(?P<left>_a_along_m)?(?P<right>_b_along_n)?"
)
_SCALED = re.compile(
    r"tcgen05_m128n(?P<n>\d+)k(?P<k>32|64)_f32_(?P<formats>mx_(?P<a>e4m3|e5m2)_(?P<b>e4m3|e5m2)|mx_e2m1|nv_e2m1)"
    r"(?P<left>_a_along_m)?(?P<right>_b_along_n)?"
)
_LOAD = re.compile(r"tcgen05_ld_(?P<shape>32x32b|16x256b)_x(?P<count>\d+)_(?P<sums>f32|s32)")

# PTX ISA, tcgen05, "Instruction Descriptor": the types of operands and sums, by kind.
_KINDS = {"f16": "f16", "bf16": "f16", "tf32": "tf32", "s8": "i8", "e4m3": "f8f6f4", "e5m2": "f8f6f4"}
_TYPE_NUMBERS = {"f16": 0, "bf16": 1, "tf32": 2, "s8": 1, "e4m3": 0, "e5m2": 1}
_SUMS_NUMBERS = {"f32": 1, "s32": 2}
_E2M1_NUMBER = 1  # of the kinds mxf4 and mxf4nvf4
_SCALES_KINDS = {"mx_e2m1": ("mxf4", "block32", 1), "nv_e2m1": ("mxf4nvf4", "block16", 0)}
_BYTES_KIND = ("mxf8f6f4", "block32", 1)
"""Kind and size of blocks in PTX, and the type of scales in the instruction descriptor: 0 for e4m3, 1 for e8m0."""

_ELEMENTS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "floats less their lowest 13 bits",
    "s8": "int8",
    "e4m3": "float8 (e4m3)",
    "e5m2": "float8 (e5m2)",
}
_SUMS = {"f32": "float", "s32": "int"}
_REGISTERS_OF_A_LOAD = {"32x32b": 1, "16x256b": 4}  # for each repetition
_COLUMNS_OF_A_LOAD = {"32x32b": 1, "16x256b": 8}
_PER_LINE = 16  # operands on one line of PTX
_CONSTRAINTS_PER_LINE = 8


@dataclass(frozen=True, slots=True)
class MultiplyView:
    """One `tcgen05.mma`, as `tcgen05_helper.cu.j2` shows it.

    Attributes:
        name: The helper.
        m: M.
        n: N.
        k: K.
        operands: What its comment says of both operands.
        kind: Of operands, in PTX.
        sums_number: The type of the sums in the instruction descriptor.
        a_number: The type of the left operand.
        b_number: The type of the right operand.
        a_along_m: Whether rows of the left operand run along M.
        b_along_n: Whether rows of the right one run along N.
    """

    name: str
    m: int
    n: int
    k: int
    operands: str
    kind: str
    sums_number: int
    a_number: int
    b_number: int
    a_along_m: int
    b_along_n: int


@dataclass(frozen=True, slots=True)
class ScaledView:
    """One `tcgen05.mma` with scales, as `tcgen05_helper.cu.j2` shows it.

    Attributes:
        name: The helper.
        n: N.
        k: K.
        operands: What its comment says of both operands.
        kind: Of operands, in PTX.
        block: Elements along K that share a scale, in PTX.
        scale_number: The type of scales in the instruction descriptor.
        a_number: The type of the left operand.
        b_number: The type of the right operand.
        a_along_m: Whether rows of the left operand run along M.
        b_along_n: Whether rows of the right one run along N.
    """

    name: str
    n: int
    k: int
    operands: str
    kind: str
    block: str
    scale_number: int
    a_number: int
    b_number: int
    a_along_m: int
    b_along_n: int


@dataclass(frozen=True, slots=True)
class LoadView:
    """One `tcgen05.ld`, as `tcgen05_helper.cu.j2` shows it.

    Attributes:
        name: The helper.
        shape: Lanes and bits of one repetition, in PTX.
        lanes: How many lanes it reads.
        columns: How many columns it reads.
        comment: Who gets what.
        count: Repetitions.
        sums: CUDA type of a sum.
        registers: `%0, %1, ...` of the sums, by lines.
        constraints: Constraints of the sums, by lines.
        address: Operand that is the address.
        num_registers: How many registers each thread gets.
    """

    name: str
    shape: str
    lanes: int
    columns: int
    comment: str
    count: int
    sums: str
    registers: tuple[str, ...]
    constraints: tuple[str, ...]
    address: str
    num_registers: int


def is_name(name: str) -> bool:
    """Whether a helper of this name can be written."""
    return any(pattern.fullmatch(name) for pattern in (_MULTIPLY, _SCALED, _LOAD))


@functools.lru_cache(maxsize=256)
def tcgen05_helper(name: str) -> Helper:
    """The helper of a name that `is_name` knows."""
    match = _MULTIPLY.fullmatch(name)
    if match is not None:
        multiply = _multiply(name, match)
        text, twin = (render_form(TEMPLATE, form, multiply).strip("\n") for form in ("multiply", "multiply_twin"))
        return Helper((name,), ("Descriptor",), text, TEMPLATE, twin)
    match = _SCALED.fullmatch(name)
    if match is not None:
        scaled = _scaled(name, match)
        text, twin = (render_form(TEMPLATE, form, scaled).strip("\n") for form in ("scaled", "scaled_twin"))
        return Helper((name,), ("Descriptor",), text, TEMPLATE, twin)
    match = _LOAD.fullmatch(name)
    assert match is not None, name
    load = _load(name, match)
    text, twin = (render_form(TEMPLATE, form, load).strip("\n") for form in ("load", "load_twin"))
    return Helper((name,), (), text, TEMPLATE, twin)


def _multiply(name: str, match: re.Match[str]) -> MultiplyView:
    a, b = match["a"], match["b"] or match["a"]
    types = _ELEMENTS[a] if a == b else f"{_ELEMENTS[a]} and {_ELEMENTS[b]}"
    where = f"a in rows along {'M' if match['left'] else 'K'}, b in rows along {'N' if match['right'] else 'K'}"
    return MultiplyView(
        name=name,
        m=int(match["m"]),
        n=int(match["n"]),
        k=int(match["k"]),
        operands=f"{types}, {where}",
        kind=_KINDS[a],
        sums_number=_SUMS_NUMBERS[match["sums"]],
        a_number=_TYPE_NUMBERS[a],
        b_number=_TYPE_NUMBERS[b],
        a_along_m=int(bool(match["left"])),
        b_along_n=int(bool(match["right"])),
    )


def _scaled(name: str, match: re.Match[str]) -> ScaledView:
    formats = match["formats"]
    kind, block, scale_number = _SCALES_KINDS.get(formats, _BYTES_KIND)
    scales = "float8 (e4m3)" if scale_number == 0 else "exponents (e8m0)"
    if match["a"]:
        numbers = _TYPE_NUMBERS[match["a"]], _TYPE_NUMBERS[match["b"]]
        same = match["a"] == match["b"]
        types = _ELEMENTS[match["a"]] if same else f"{_ELEMENTS[match['a']]} and {_ELEMENTS[match['b']]}"
    else:
        numbers, types = (_E2M1_NUMBER, _E2M1_NUMBER), "pairs of e2m1"
    where = f"a in rows along {'M' if match['left'] else 'K'}, b in rows along {'N' if match['right'] else 'K'}"
    return ScaledView(
        name=name,
        n=int(match["n"]),
        k=int(match["k"]),
        operands=f"{types}, {where}; scales: {scales} for {block.removeprefix('block')} elements",
        kind=kind,
        block=block,
        scale_number=scale_number,
        a_number=numbers[0],
        b_number=numbers[1],
        a_along_m=int(bool(match["left"])),
        b_along_n=int(bool(match["right"])),
    )


def _load(name: str, match: re.Match[str]) -> LoadView:
    shape, count = match["shape"], int(match["count"])
    registers = count * _REGISTERS_OF_A_LOAD[shape]
    letter = "f" if match["sums"] == "f32" else "r"
    is_row = shape == "32x32b"
    return LoadView(
        name=name,
        shape=shape,
        lanes=32 if is_row else 16,
        columns=count * _COLUMNS_OF_A_LOAD[shape],
        comment="each thread gets a lane" if is_row else "they lie as sums of mma.m16n8 do",
        count=count,
        sums=_SUMS[match["sums"]],
        registers=_lines([f"%{i}" for i in range(registers)], _PER_LINE),
        constraints=_lines([f'"={letter}"(sums[{i}])' for i in range(registers)], _CONSTRAINTS_PER_LINE),
        address=f"%{registers}",
        num_registers=registers,
    )


def _lines(items: list[str], per_line: int) -> tuple[str, ...]:
    parts = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return tuple(f"{part}, " if i + 1 < len(parts) else part for i, part in enumerate(parts))


__all__ = ["is_name", "tcgen05_helper"]
