"""Device helpers for `wgmma`, one for each shape and kind of operands: written on demand, as there are hundreds.

Names say what a helper is: `wgmma_m64n128k16_f32_f16` takes both operands from rows along K in shared memory; behind that,
`_a_registers` the left one from registers, `_a_along_m` and `_b_along_n` from rows along M and N.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tle2cuda.lowering.helpers import Helper
from tle2cuda.lowering.templates import render_form

TEMPLATE = "wgmma_helper.cu.j2"
NAME = re.compile(
    r"wgmma_m64n(?P<n>\d+)k(?P<k>\d+)_(?P<sums>f32|f16|s32)_(?P<a>f16|bf16|tf32|s8|e4m3|e5m2)(?:_(?P<b>e4m3|e5m2))?"
    r"(?P<left>_a_registers|_a_along_m)?(?P<right>_b_along_n)?"
)
_ELEMENTS = {
    "f16": "float16",
    "bf16": "bfloat16",
    "tf32": "floats less their lowest 13 bits",
    "s8": "int8",
    "e4m3": "float8 (e4m3)",
    "e5m2": "float8 (e5m2)",
}
_SUMS = {"f32": "float", "f16": "__half", "s32": "int"}
_PER_LINE = 16  # operands on one line of PTX
_CONSTRAINTS_PER_LINE = 6
_TRANSPOSED = ("f16", "bf16")  # types whose operands may also lie along M and N
_UNSCALED = ("s8",)  # types whose operands cannot be negated


@dataclass(frozen=True, slots=True)
class HelperView:
    """One instruction, as `wgmma_helper.cu.j2` shows it.

    Attributes:
        name: The helper.
        columns: N.
        depth: K.
        operands: What its comment says of both operands.
        sums: CUDA type of a sum.
        types: The types in PTX: sums, a, b.
        is_packed: Whether two sums share a register.
        registers: `%0, %1, ...` of the sums, by lines.
        constraints: Constraints of the sums, by lines.
        has_fragment: Whether the left operand is in registers.
        operand_list: What stands behind the sums in PTX.
        condition: Operand that says whether to add.
        inputs: Constraints of the operands.
        a_type: Of the emulator.
        b_type: Of the emulator.
        a_along_m: Whether rows of the left operand run along M.
        b_along_n: Whether rows of the right one run along N.
    """

    name: str
    columns: int
    depth: int
    operands: str
    sums: str
    types: tuple[str, str, str]
    is_packed: bool
    registers: tuple[str, ...]
    constraints: tuple[str, ...]
    has_fragment: bool
    operand_list: str
    condition: str
    inputs: str
    a_type: str
    b_type: str
    a_along_m: bool
    b_along_n: bool


def is_name(name: str) -> bool:
    """Whether a helper of this name can be written."""
    return NAME.fullmatch(name) is not None


@functools.lru_cache(maxsize=256)
def wgmma_helper(name: str) -> Helper:
    """The helper of a name that `is_name` knows."""
    view = _view(name)
    text = render_form(TEMPLATE, "helper", view).strip("\n")
    twin = render_form(TEMPLATE, "twin", view).strip("\n")
    needs = ("Descriptor", "vector", *(("bit_cast",) if view.is_packed else ()))
    return Helper((name,), needs, text, TEMPLATE, twin)


def _view(name: str) -> HelperView:
    match = NAME.fullmatch(name)
    assert match is not None, name
    a, b = match["a"], match["b"] or match["a"]
    columns, sums = int(match["n"]), match["sums"]
    packed = sums == "f16"
    count = columns // 4 if packed else columns // 2
    has_fragment, a_along_m = match["left"] == "_a_registers", match["left"] == "_a_along_m"
    left = [f"%{count + i}" for i in range(4 if has_fragment else 1)]
    right, condition = f"%{count + len(left)}", f"%{count + len(left) + 1}"
    immediates = [] if a in _UNSCALED else ["1", "1"]
    if a in _TRANSPOSED:
        immediates += [*([] if has_fragment else [str(int(a_along_m))]), str(int(bool(match["right"])))]
    first = f"{{{', '.join(left)}}}" if has_fragment else left[0]
    a_inputs = ", ".join(f'"r"(a[{i}])' for i in range(4)) if has_fragment else '"l"(a)'
    if packed:
        targets = [f'"+r"(words[{i}])' for i in range(count)]
    else:
        letter = "f" if sums == "f32" else "r"
        targets = [f'"+{letter}"(sums[{i // 2}][{i % 2}])' for i in range(count)]
    return HelperView(
        name=name,
        columns=columns,
        depth=int(match["k"]),
        operands=_operands(a, b, match["left"] or "", bool(match["right"])),
        sums=_SUMS[sums],
        types=(sums, a, b),
        is_packed=packed,
        registers=_lines([f"%{i}" for i in range(count)], _PER_LINE),
        constraints=_lines(targets, _CONSTRAINTS_PER_LINE),
        has_fragment=has_fragment,
        operand_list=", ".join((first, right, "accumulate", *immediates)),
        condition=condition,
        inputs=f'{a_inputs}, "l"(b), "r"(static_cast<int>(accumulate))',
        a_type=f"MATRIX_{a.upper()}",
        b_type=f"MATRIX_{b.upper()}",
        a_along_m=a_along_m,
        b_along_n=bool(match["right"]),
    )


def _operands(a: str, b: str, left: str, b_along_n: bool) -> str:
    where = {"_a_registers": "a as fragments in registers", "_a_along_m": "a in rows along M"}.get(
        left, "a in rows along K"
    )
    types = _ELEMENTS[a] if a == b else f"{_ELEMENTS[a]} and {_ELEMENTS[b]}"
    return f"{types}, {where}, b in rows along {'N' if b_along_n else 'K'}"


def _lines(items: list[str], per_line: int) -> tuple[str, ...]:
    parts = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return tuple(f"{part}, " if i + 1 < len(parts) else part for i, part in enumerate(parts))


__all__ = ["NAME", "is_name", "wgmma_helper"]
