"""Inline PTX on NumPy arrays: registers are arrays of bits, one element for each element of the tile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, F64, DType
from tle2cuda.ops import directed
from tle2cuda.ops.numerics import (
    float_to_integer,
    from_storage,
    fused_multiply_add,
    multiply_high,
    round_float,
    storage_dtype,
    to_storage,
    value_dtype,
)
from tle2cuda.ptx.steps import FLOATS, WIDTHS, Literal, Program, Source, Step

Bits = NDArray[Any]

_FLOATS = {"e4m3": F8E4NV, "e5m2": F8E5, "f16": F16, "bf16": BF16, "f32": F32, "f64": F64}


class Machine(Protocol):
    """What instructions reach beyond their registers."""

    def load(self, addresses: Bits, type_: str, order: str, scope: str) -> Bits:
        """Values at addresses, as bits."""

    def store(self, addresses: Bits, values: Bits, type_: str, active: Bits) -> None:
        """Write bits where `active`."""

    def atomic(self, kind: str, addresses: Bits, values: list[Bits], type_: str, active: Bits) -> Bits:
        """Update where `active`; the old bits."""

    def special(self, name: str) -> int:
        """Value of a special register."""


def unsigned(bits: int) -> np.dtype[Any]:
    """NumPy dtype of a register's bits."""
    return np.dtype(np.bool_ if bits == 1 else f"u{bits // 8}")


def evaluate(program: Program, operands: Mapping[str, Bits], shape: tuple[int, ...], machine: Machine) -> dict[str, Bits]:
    """Execute a statement for every element.

    Args:
        program: The statement.
        operands: Bits of its inputs by name, of `shape`.
        shape: Shape of every register.
        machine: Memory and special registers.

    Returns:
        The bits of every register behind it; what was never written is 0.
    """
    registers = {name: np.zeros(shape, unsigned(bits)) for name, bits in program.widths.items()}
    for name, bits in operands.items():
        registers[name] = np.broadcast_to(np.asarray(bits), shape).astype(unsigned(program.widths[name]))
    with np.errstate(all="ignore"):
        for step in program.steps:
            _execute(step, registers, shape, machine)
    return registers


def _execute(step: Step, registers: dict[str, Bits], shape: tuple[int, ...], machine: Machine) -> None:
    def bits(source: Source, width: int) -> Bits:
        if isinstance(source, Literal):
            return np.full(shape, source.bits & ((1 << width) - 1), unsigned(width))
        return registers[source]

    active = np.ones(shape, np.bool_)
    if step.guard is not None:
        name, negated = step.guard
        active = registers[name] ^ negated
    if step.kind in ("load", "store", "atomic", "special", "fence"):
        values = [bits(source, WIDTHS[step.type] if k else 64) for k, source in enumerate(step.sources)]
        result = _memory(step, values, active, machine)
        if result is None:
            return
    else:
        sources = [bits(source, _source_width(step, position)) for position, source in enumerate(step.sources)]
        result = _PURE[step.kind](step, *sources)
    if not step.target:
        return
    old = registers[step.target]
    new = np.broadcast_to(np.asarray(result), shape).astype(old.dtype)
    registers[step.target] = new if step.guard is None else np.where(active, new, old)


def _source_width(step: Step, position: int) -> int:
    """Width of a literal operand."""
    if step.kind in ("shl", "shr", "bfe") and position >= 1:
        return 32
    if step.kind == "bfi" and position >= 2:
        return 32
    if step.kind == "compare":
        return WIDTHS[step.options[1]]
    if step.kind in ("convert", "extend"):
        return WIDTHS[step.options[0]]
    if step.kind == "pack":
        return WIDTHS[step.type] // len(step.sources)
    return WIDTHS[step.type]


def _memory(step: Step, sources: list[Bits], active: Bits, machine: Machine) -> Bits | None:
    if step.kind == "special":
        bits = WIDTHS[step.type]
        return np.full(active.shape, machine.special(step.options[0]) & ((1 << bits) - 1), unsigned(bits))
    if step.kind == "fence":
        return None
    addresses = sources[0] + np.uint64(int(step.options[0]) & (2**64 - 1))
    if step.kind == "load":
        return machine.load(addresses, step.type, step.options[1], step.options[2])
    if step.kind == "store":
        machine.store(addresses, sources[1], step.type, active)
        return None
    return machine.atomic(step.options[1], addresses, sources[1:], step.type, active)


# -- values of bits --------------------------------------------------------------------------------------


def to_values(bits: Bits, type_: str) -> Bits:
    """Bits as numbers of a PTX type."""
    dtype = _FLOATS.get(type_)
    if dtype is not None:
        return from_storage(np.asarray(bits).view(_stored(dtype)), dtype)
    width = WIDTHS[type_]
    array = np.asarray(bits).astype(unsigned(width))
    return array.view(f"i{width // 8}") if type_.startswith("s") else array


def to_bits(values: Any, type_: str) -> Bits:
    """Numbers of a PTX type as bits; integers wrap."""
    dtype = _FLOATS.get(type_)
    if dtype is not None:
        stored = to_storage(np.asarray(values).astype(value_dtype(dtype)), dtype)
        return np.asarray(stored).view(unsigned(WIDTHS[type_]))
    width = WIDTHS[type_]
    kind = "i" if type_.startswith("s") else "u"
    return np.asarray(values).astype(f"{kind}{width // 8}").view(unsigned(width))


def _stored(dtype: DType) -> np.dtype[Any]:
    return storage_dtype(dtype)


def _rounded(wide: Bits, type_: str, rounding: str = "rn") -> Bits:
    """float64 numbers, correct to twice the type's digits, as bits of the type."""
    if type_ == "f64":
        return to_bits(wide, type_)
    dtype = _FLOATS[type_]
    if type_ == "f32":
        return to_bits(directed.to_float32(wide, rounding), type_)
    return to_bits(round_float(np.asarray(wide, np.float64), dtype, "rtz" if rounding == "rz" else "rtne"), type_)


def _wide(bits: Bits, type_: str) -> NDArray[np.float64]:
    return np.asarray(to_values(bits, type_)).astype(np.float64)


# -- steps -------------------------------------------------------------------------------------------------

_Pure = Callable[..., Any]
_PURE: dict[str, _Pure] = {}


def _does(*names: str) -> Callable[[_Pure], _Pure]:
    def register(function: _Pure) -> _Pure:
        for name in names:
            _PURE[name] = function
        return function

    return register


@_does("copy")
def _copy(step: Step, a: Bits) -> Any:
    return a


@_does("resize", "extend")
def _resize(step: Step, a: Bits) -> Any:
    source = step.options[0] if step.options else step.type
    if a.dtype == np.bool_:
        return a.astype(unsigned(WIDTHS[step.type]))
    if source.startswith("s"):
        return to_bits(a.view(f"i{a.dtype.itemsize}"), f"s{WIDTHS[step.type]}")
    return a.astype(unsigned(WIDTHS[step.type]))


@_does("pack")
def _pack(step: Step, *parts: Bits) -> Any:
    bits = WIDTHS[step.type] // len(parts)
    result = np.zeros(parts[0].shape, np.uint64)
    for position, part in enumerate(parts):
        result |= part.astype(np.uint64) << np.uint64(bits * position)
    return result.astype(unsigned(WIDTHS[step.type]))


@_does("part")
def _part(step: Step, whole: Bits) -> Any:
    bits = WIDTHS[step.type]
    shifted = whole.astype(np.uint64) >> np.uint64(bits * int(step.options[0]))
    return (shifted & np.uint64((1 << bits) - 1)).astype(unsigned(bits))


@_does("add", "sub", "mul", "div")
def _arithmetic(step: Step, a: Bits, b: Bits) -> Any:
    type_ = step.type
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    if type_ in ("f32", "f64"):
        x, y = to_values(a, type_), to_values(b, type_)
        return to_bits(directed.rounded(step.kind, step.options[0], (x, y)), type_)
    if type_ in FLOATS:
        return _rounded(functions[step.kind](_wide(a, type_), _wide(b, type_)), type_, step.options[0])
    if step.kind == "div":
        return _integer_division(a, b, type_)[0]
    return to_bits(functions[step.kind](to_values(a, type_), to_values(b, type_)), type_)


def _integer_division(a: Bits, b: Bits, type_: str) -> tuple[Bits, Bits]:
    from tle2cuda.ops.numerics import c_divide, c_remainder

    x, y = to_values(a, type_), to_values(b, type_)
    return to_bits(c_divide(x, y), type_), to_bits(c_remainder(x, y), type_)


@_does("rem")
def _remainder(step: Step, a: Bits, b: Bits) -> Any:
    return _integer_division(a, b, step.type)[1]


@_does("add_sat", "sub_sat")
def _saturating(step: Step, a: Bits, b: Bits) -> Any:
    x, y = (to_values(v, step.type).astype(np.int64) for v in (a, b))
    total = x + y if step.kind == "add_sat" else x - y
    info = np.iinfo(to_values(a, step.type).dtype)
    return to_bits(np.clip(total, info.min, info.max), step.type)


@_does("fma")
def _fused(step: Step, a: Bits, b: Bits, c: Bits) -> Any:
    type_ = step.type
    values = tuple(to_values(v, type_) for v in (a, b, c))
    if type_ in ("f32", "f64"):
        return to_bits(directed.rounded("fma", step.options[0], values), type_)
    x, y, z = values
    return to_bits(fused_multiply_add(x, y, z, _FLOATS[type_]), type_)


@_does("mul_high")
def _mul_high(step: Step, a: Bits, b: Bits) -> Any:
    signed = step.type.startswith("s")
    high = multiply_high(to_values(a, step.type), to_values(b, step.type), WIDTHS[step.type], signed)
    return to_bits(high, step.type)


@_does("low24")
def _low24(step: Step, a: Bits) -> Any:
    low = a & np.uint32(0xFFFFFF)
    return (low ^ np.uint32(0x800000)) - np.uint32(0x800000) if step.type == "s32" else low


@_does("min", "max", "min_nan", "max_nan")
def _extreme(step: Step, a: Bits, b: Bits) -> Any:
    from tle2cuda.ops.extrema import extremum

    kind, _, nan = step.kind.partition("_")
    x, y = to_values(a, step.type), to_values(b, step.type)
    dtype = _FLOATS.get(step.type)
    if dtype is None:
        return to_bits(np.minimum(x, y) if kind == "min" else np.maximum(x, y), step.type)
    return to_bits(extremum(kind, "propagate" if nan else "ignore", x, y, dtype), step.type)


@_does("and", "or", "xor")
def _logic(step: Step, a: Bits, b: Bits) -> Any:
    return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[step.kind](a, b)


@_does("not")
def _not(step: Step, a: Bits) -> Any:
    return ~a


@_does("cnot")
def _cnot(step: Step, a: Bits) -> Any:
    return (a == 0).astype(a.dtype)


@_does("shl", "shr")
def _shift(step: Step, a: Bits, amount: Bits) -> Any:
    bits = WIDTHS[step.type]
    by = np.minimum(amount.astype(np.uint64), np.uint64(bits))
    x = to_values(a, step.type)
    inside = by < bits
    safe = np.where(inside, by, 0).astype(x.dtype)
    if step.kind == "shl":
        return to_bits(np.where(inside, np.left_shift(x, safe), 0), step.type)
    beyond = np.where(x < 0, -1, 0)
    return to_bits(np.where(inside, np.right_shift(x, safe), beyond), step.type)


@_does("shf")
def _funnel(step: Step, low: Bits, high: Bits, amount: Bits) -> Any:
    direction, mode = step.options
    by = (amount & np.uint32(31) if mode == "wrap" else np.minimum(amount, np.uint32(32))).astype(np.uint64)
    both = high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)
    if direction == "r":
        return (both >> by).astype(np.uint32)
    return np.where(by == 32, low, (both << by >> np.uint64(32)).astype(np.uint32))


@_does("lop3")
def _lop3(step: Step, a: Bits, b: Bits, c: Bits) -> Any:
    table = int(step.options[0])
    result = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result


@_does("prmt")
def _prmt(step: Step, a: Bits, b: Bits, selector: Bits) -> Any:
    both = b.astype(np.uint64) << np.uint64(32) | a.astype(np.uint64)
    result = np.zeros(a.shape, np.uint64)
    for byte in range(4):
        choice = selector.astype(np.uint64) >> np.uint64(4 * byte) & np.uint64(15)
        value = both >> (np.uint64(8) * (choice & np.uint64(7))) & np.uint64(255)
        sign = np.where(value & np.uint64(128) != 0, np.uint64(255), np.uint64(0))
        result |= np.where(choice & np.uint64(8) != 0, sign, value) << np.uint64(8 * byte)
    return result.astype(np.uint32)


@_does("bfe")
def _bfe(step: Step, a: Bits, start: Bits, length: Bits) -> Any:
    bits = WIDTHS[step.type]
    position = (start & np.uint32(255)).astype(np.uint64)
    count = np.minimum((length & np.uint32(255)).astype(np.uint64), np.uint64(bits))
    wide = a.astype(np.uint64)
    inside = position < bits
    shifted = np.where(inside, wide >> np.where(inside, position, 0), 0)
    mask = np.where(count >= 64, np.uint64(2**64 - 1), (np.uint64(1) << np.minimum(count, 63)) - np.uint64(1))
    field = shifted & mask
    if step.type.startswith("s"):
        last = np.minimum(position + count - np.uint64(1), np.uint64(bits - 1))
        sign = (wide >> last & np.uint64(1)).astype(np.bool_) & (count > 0)
        held = np.minimum(count, np.where(inside, np.uint64(bits) - position, 0))
        ones = ~np.where(held >= 64, np.uint64(2**64 - 1), (np.uint64(1) << np.minimum(held, 63)) - np.uint64(1))
        field = np.where(sign, field | ones, field)
    return field.astype(unsigned(bits))


@_does("bfi")
def _bfi(step: Step, a: Bits, b: Bits, start: Bits, length: Bits) -> Any:
    bits = WIDTHS[step.type]
    position = np.minimum((start & np.uint32(255)).astype(np.uint64), np.uint64(64))
    count = (length & np.uint32(255)).astype(np.uint64)
    ones = np.where(count >= 64, np.uint64(2**64 - 1), (np.uint64(1) << np.minimum(count, 63)) - np.uint64(1))
    by = np.minimum(position, 63)
    mask = np.where(position < bits, ones << by, 0)
    field = a.astype(np.uint64) << by
    return ((b.astype(np.uint64) & ~mask) | (field & mask)).astype(unsigned(bits))


@_does("sad")
def _sad(step: Step, a: Bits, b: Bits, c: Bits) -> Any:
    x, y = to_values(a, step.type), to_values(b, step.type)
    return to_bits(np.where(x < y, y - x, x - y), step.type) + c


@_does("popc", "clz", "brev")
def _counted(step: Step, a: Bits) -> Any:
    bits = WIDTHS[step.type]
    wide = a.astype(np.uint64)
    digits = [(wide >> np.uint64(bit) & np.uint64(1)) for bit in range(bits)]
    if step.kind == "popc":
        return np.asarray(sum(digits)).astype(a.dtype)
    if step.kind == "brev":
        result = np.zeros_like(wide)
        for bit, digit in enumerate(digits):
            result |= digit << np.uint64(bits - 1 - bit)
        return result.astype(a.dtype)
    count = np.full(wide.shape, bits)
    for bit, digit in enumerate(digits):
        count = np.where(digit != 0, bits - 1 - bit, count)
    return count.astype(a.dtype)


@_does("abs", "neg")
def _sign(step: Step, a: Bits) -> Any:
    bits = WIDTHS[step.type]
    if step.type in FLOATS:
        sign = np.array(1 << (bits - 1), a.dtype)
        return a & ~sign if step.kind == "abs" else a ^ sign
    x = to_values(a, step.type)
    return to_bits(np.abs(x) if step.kind == "abs" else np.negative(x), step.type)


@_does("copysign")
def _copysign(step: Step, a: Bits, b: Bits) -> Any:
    sign = np.array(1 << (WIDTHS[step.type] - 1), a.dtype)
    return (a & sign) | (b & ~sign)


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}


@_does(*_FUNCTIONS)
def _function(step: Step, a: Bits) -> Any:
    if step.type in ("f32", "f64") and step.kind in ("rcp", "sqrt"):
        return to_bits(directed.rounded(step.kind, step.options[0], (to_values(a, step.type),)), step.type)
    return _rounded(_FUNCTIONS[step.kind](_wide(a, step.type)), step.type)


@_does("flush")
def _flush(step: Step, a: Bits) -> Any:
    x = to_values(a, step.type)
    tiny = np.abs(x) < np.float32(2.0**-126)
    return to_bits(np.where(tiny, np.copysign(np.float32(0), x), x), step.type)


@_does("saturate", "relu")
def _clamp(step: Step, a: Bits) -> Any:
    x = _wide(a, step.type)
    if step.kind == "relu":
        return np.where(np.isnan(x), a, to_bits(np.where(x > 0, x, 0.0), step.type))
    return to_bits(np.where(x > 0, np.minimum(x, 1.0), 0.0), step.type)


@_does("compare")
def _compare(step: Step, a: Bits, b: Bits) -> Any:
    test, type_ = step.options
    x, y = to_values(a, type_), to_values(b, type_)
    if type_ in FLOATS:
        x, y = x.astype(np.float64), y.astype(np.float64)
        unordered = np.isnan(x) | np.isnan(y)
        if test in ("num", "nan"):
            return unordered if test == "nan" else ~unordered
    functions = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    found = functions[test[:2]](x, y)
    if type_ not in FLOATS:
        return found
    return found | unordered if test.endswith("u") else found & ~unordered


@_does("select")
def _select(step: Step, a: Bits, b: Bits, test: Bits) -> Any:
    return np.where(test.astype(np.bool_), a, b)


@_does("tf32")
def _tf32(step: Step, a: Bits) -> Any:
    cut = np.uint32(0x1FFF)
    special = (a & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    half = np.uint32(0x1000) if step.options[0] == "rna" else np.uint32(0xFFF) + (a >> np.uint32(13) & np.uint32(1))
    rounded = a if step.options[0] == "rz" else a + half
    return np.where(special, a, rounded & ~cut)


@_does("convert")
def _convert(step: Step, a: Bits) -> Any:
    source, rounding, saturate = step.options
    target = step.type
    if target in FLOATS:
        return _to_float(a, source, target, rounding, saturate == "finite")
    if source in FLOATS:
        wide = _wide(a, source)
        whole = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[rounding](wide)
        dtype = DType(f"{'int' if target.startswith('s') else 'uint'}{WIDTHS[target]}")
        return to_bits(float_to_integer(whole, F64 if source == "f64" else F32, dtype), target)
    x = to_values(a, source)
    if saturate:
        info = np.iinfo(f"{'i' if target.startswith('s') else 'u'}{WIDTHS[target] // 8}")
        clipped = [min(max(int(v), info.min), info.max) for v in x.reshape(-1)]
        x = np.array(clipped, object).reshape(x.shape)
    return to_bits(x, target)


def _to_float(a: Bits, source: str, target: str, rounding: str, finite: bool) -> Bits:
    x = to_values(a, source)
    if source not in FLOATS:
        if target in ("f32", "f64"):
            return to_bits(directed.from_integer(x, _FLOATS[target], rounding), target)
        return _rounded(x.astype(np.float64), target, rounding)
    wide = x.astype(np.float64)
    if target == "e4m3" and finite:
        nan = np.isnan(wide)
        return np.where(nan, np.uint8(0x7F), _rounded(np.where(nan, 0, wide), target, rounding))
    result = _rounded(wide, target, rounding)
    if finite and target in ("f16", "bf16"):
        largest = {"f16": 65504.0, "bf16": float.fromhex("0x1.fep127")}[target]
        result = np.where(np.isnan(wide), result, _rounded(np.clip(wide, -largest, largest), target, rounding))
    return result


@_does("whole")
def _whole(step: Step, a: Bits) -> Any:
    wide = _wide(a, step.type)
    whole = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}[step.options[0]](wide)
    return to_bits(np.where(np.isfinite(wide), whole, wide), step.type)


__all__ = ["Machine", "evaluate", "to_bits", "to_values", "unsigned"]
