"""Instructions as steps: each computes one register from the bits of others.

There are some forty kinds of step, which `evaluate` and `cpp` both know. Instructions on pairs (``f16x2``) become steps on
their halves, modifiers such as ``.ftz`` and ``.sat`` steps of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tle2cuda.ptx.parser import Address, Asm, Float, Group, Instruction, Integer, Operand, Register, parse, unsupported

PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "e4m3x2": "e4m3", "e5m2x2": "e5m2"}
WIDTHS = {"e4m3": 8, "e5m2": 8, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "pred": 1}
WIDTHS |= {f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}
WIDTHS |= {pair: 2 * WIDTHS[half] for pair, half in PAIRS.items()}
FLOATS = frozenset({"e4m3", "e5m2", "f16", "bf16", "f32", "f64"})

_ROUNDINGS = {"rn": "rn", "rz": "rz", "rm": "rd", "rp": "ru"}
_INTEGER_ROUNDINGS = {"rni": "rn", "rzi": "rz", "rmi": "rd", "rpi": "ru"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu")
_UNSIGNED_COMPARISONS = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_APPROXIMATE = ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh")
_ORDERS = {"relaxed": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel", "volatile": "volatile"}
_SCOPES = ("cta", "cluster", "gpu", "sys")
_ATOMIC_KINDS = ("add", "and", "or", "xor", "min", "max", "exch", "cas", "inc", "dec")
_SPACES = ("global", "shared", "shared::cta", "generic")
SPECIAL = (
    *("laneid", "warpid", "smid", "nsmid", "clock", "clock64", "clock_hi"),
    *("globaltimer", "globaltimer_lo", "globaltimer_hi"),
    *(f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"),
)
_NOTHING = ("griddepcontrol", "nanosleep", "prefetch", "prefetchu", "applypriority", "discard")


@dataclass(frozen=True, slots=True)
class Literal:
    """Bits known at compile time."""

    bits: int


Source = str | Literal


@dataclass(frozen=True, slots=True)
class Step:
    """One computation.

    Attributes:
        kind: What is done.
        target: Register that receives the result; empty when there is none.
        sources: Registers and literals.
        type: PTX type that it is done in.
        options: Rounding, comparison, memory order ..., by kind.
        guard: Register that must be true, and whether it is negated.
        text: The instruction, for messages.
    """

    kind: str
    target: str
    sources: tuple[Source, ...]
    type: str
    options: tuple[str, ...] = ()
    guard: tuple[str, bool] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A statement as steps.

    Attributes:
        widths: Bits of every register; 1 is a predicate.
        steps: In order.
    """

    widths: dict[str, int]
    steps: tuple[Step, ...]


@dataclass(slots=True)
class _Builder:
    widths: dict[str, int]
    steps: list[Step] = field(default_factory=list)
    guard: tuple[str, bool] | None = None
    text: str = ""

    def fresh(self, bits: int) -> str:
        name = f"t{len(self.widths)}"
        self.widths[name] = bits
        return name

    def emit(
        self, kind: str, type_: str, *sources: Source, target: str | None = None, options: tuple[str, ...] = ()
    ) -> str:
        out = self.fresh(WIDTHS[type_]) if target is None else target
        self.steps.append(Step(kind, out, sources, type_, options, None, self.text))
        return out

    def width(self, source: Source, default: int) -> int:
        return default if isinstance(source, Literal) else self.widths[source]


def compile_asm(text: str, operand_bits: dict[str, int]) -> Program:
    """Read a statement.

    Args:
        text: Its text, operands written ``$0``.
        operand_bits: Width of each operand of the statement, by name; 1 is a predicate.

    Raises:
        NotSupported: An instruction is outside of the subset.
    """
    asm: Asm = parse(text)
    widths = {**operand_bits, **{name: WIDTHS.get(type_, 0) for name, type_ in asm.registers.items()}}
    for name, bits in widths.items():
        if not bits:
            raise unsupported(f"a register of type .{asm.registers[name]}")
    builder = _Builder(widths)
    for instruction in asm.instructions:
        builder.text = instruction.text
        before = len(builder.steps)
        _lower(builder, instruction)
        if instruction.guard is not None:
            guard = (_plain(instruction.guard), instruction.guard.is_negated)
            builder.steps[before:] = [_guarded(step, guard, operand_bits, asm.registers) for step in builder.steps[before:]]
    return Program(builder.widths, tuple(builder.steps))


def _guarded(step: Step, guard: tuple[str, bool], operands: dict[str, int], registers: dict[str, str]) -> Step:
    """Only what others see depends on the predicate; the rest may be computed anyhow."""
    visible = step.target in operands or step.target in registers or step.kind in ("store", "atomic", "load")
    if not visible:
        return step
    return Step(step.kind, step.target, step.sources, step.type, step.options, guard, step.text)


def _plain(register: Register) -> str:
    return register.name


# -- operands ------------------------------------------------------------------------------------------


def _bits_of_float(value: float, type_: str) -> int:
    import struct

    from tle2cuda.ops.numerics import round_float, to_storage

    if type_ == "f64":
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if type_ in ("f32", "b32", "u32", "tf32"):
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    import numpy as np

    from tle2cuda.ir.types import BF16, F16
    from tle2cuda.ops.numerics import value_dtype

    dtype = {"f16": F16, "bf16": BF16}[type_]
    rounded = round_float(np.array([value]), dtype).astype(value_dtype(dtype))
    return int(to_storage(rounded, dtype).view(np.uint16)[0])


def _source(b: _Builder, operand: Operand, type_: str) -> Source:
    """An operand as bits of a type."""
    if isinstance(operand, Integer):
        bits = WIDTHS[type_]
        if type_ in FLOATS:
            return Literal(_bits_of_float(float(operand.value), type_))
        return Literal(operand.value & ((1 << bits) - 1))
    if isinstance(operand, Float):
        return Literal(_bits_of_float(operand.value, type_))
    if isinstance(operand, Group):
        parts = [_source(b, item, f"b{WIDTHS[type_] // len(operand.items)}") for item in operand.items]
        return b.emit("pack", type_, *parts)
    if isinstance(operand, Address):
        raise unsupported(f"an address as the operand of `{b.text}`")
    name = operand.name
    if name.startswith("%") and name[1:] in SPECIAL:
        return b.emit("special", type_, options=(name[1:],))
    if name not in b.widths:
        raise unsupported(f"the register `{name}` of `{b.text}`, which is not declared,")
    if operand.is_negated:
        return b.emit("not", "pred", name)
    wanted = WIDTHS[type_]
    have = b.widths[name]
    if have != wanted and wanted != 1:
        # A register may be wider than the instruction's type, as for 8 bits; narrower ones are extended.
        return b.emit("resize", type_, name)
    return name


def _target(b: _Builder, operand: Operand) -> str:
    if isinstance(operand, Register):
        if operand.name == "_":
            return b.fresh(32)
        if operand.name not in b.widths:
            raise unsupported(f"the register `{operand.name}` of `{b.text}`, which is not declared,")
        return operand.name
    raise unsupported(f"the target of `{b.text}`")


def _store_result(b: _Builder, operand: Operand, value: Source, type_: str) -> None:
    """A result into its register, or into the registers of a group."""
    if isinstance(operand, Group):
        bits = WIDTHS[type_] // len(operand.items)
        for position, item in enumerate(operand.items):
            if isinstance(item, Register) and item.name == "_":
                continue
            b.emit("part", f"b{bits}", value, target=_target(b, item), options=(str(position),))
        return
    target = _target(b, operand)
    have = b.widths[target]
    kind = "copy" if have == WIDTHS[type_] or isinstance(value, Literal) else "resize"
    b.emit(kind, _typed(type_, have) if kind == "resize" else type_, value, target=target)


def _typed(type_: str, bits: int) -> str:
    """The type that fills a register of so many bits, extended by the sign when the value has one."""
    if bits == 1:
        return "pred"
    return f"{'s' if type_.startswith('s') else 'u'}{bits}"


# -- instructions --------------------------------------------------------------------------------------

_Handler = Callable[[_Builder, Instruction], None]
_HANDLERS: dict[str, _Handler] = {}


def _handles(*names: str) -> Callable[[_Handler], _Handler]:
    def register(function: _Handler) -> _Handler:
        for name in names:
            _HANDLERS[name] = function
        return function

    return register


def _lower(b: _Builder, instruction: Instruction) -> None:
    handler = _HANDLERS.get(instruction.name)
    if handler is None:
        raise unsupported(f"`{instruction.text}`")
    handler(b, instruction)


def _types(instruction: Instruction) -> list[str]:
    found = [m for m in instruction.modifiers if m in WIDTHS]
    if not found:
        raise unsupported(f"`{instruction.text}`")
    return found


def _check(instruction: Instruction, *known: str) -> None:
    """Refuse modifiers that would be ignored."""
    for modifier in instruction.modifiers:
        if modifier not in WIDTHS and modifier not in known:
            raise unsupported(f"the modifier .{modifier} of `{instruction.text}`")


def _rounding(instruction: Instruction) -> str:
    return next((_ROUNDINGS[m] for m in instruction.modifiers if m in _ROUNDINGS), "rn")


def _each_half(b: _Builder, type_: str, sources: list[Source], one: Callable[[str, list[Source]], Source]) -> Source:
    """An operation on both halves of pairs, or on plain values."""
    half = PAIRS.get(type_)
    if half is None:
        return one(type_, sources)
    bits = f"b{WIDTHS[half]}"
    parts = []
    for position in ("0", "1"):
        parts.append(one(half, [b.emit("part", bits, source, options=(position,)) for source in sources]))
    return b.emit("pack", type_, *parts)


def _finish(b: _Builder, instruction: Instruction, type_: str, value: Source) -> Source:
    """``.ftz``, ``.sat`` and ``.relu`` of a float result."""
    if "ftz" in instruction.modifiers and type_ == "f32":
        value = b.emit("flush", type_, value)
    if "sat" in instruction.modifiers and type_ in FLOATS:
        value = b.emit("saturate", type_, value)
    if "relu" in instruction.modifiers:
        value = b.emit("relu", type_, value)
    return value


def _prepared(b: _Builder, instruction: Instruction, type_: str, sources: list[Source]) -> list[Source]:
    if "ftz" in instruction.modifiers and type_ == "f32":
        return [b.emit("flush", type_, source) for source in sources]
    return sources


def _elementwise(b: _Builder, instruction: Instruction, kind: str, type_: str, options: tuple[str, ...] = ()) -> None:
    sources = [_source(b, operand, type_) for operand in instruction.operands[1:]]

    def one(element: str, parts: list[Source]) -> Source:
        result = b.emit(kind, element, *_prepared(b, instruction, element, parts), options=options)
        return _finish(b, instruction, element, result)

    _store_result(b, instruction.operands[0], _each_half(b, type_, sources, one), type_)


@_handles("mov", "cvta")
def _mov(b: _Builder, i: Instruction) -> None:
    if i.name == "cvta":
        _check(i, "to", "global", "shared", "const", "local")
    else:
        _check(i)
    type_ = _types(i)[-1]
    source = _source(b, i.operands[1], type_)
    _store_result(b, i.operands[0], source, type_)


@_handles("add", "sub", "min", "max", "div", "rem", "and", "or", "xor", "shl", "shr", "copysign")
def _binary(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz", "sat", "full", "approx", "NaN", "relu", *_ROUNDINGS)
    type_ = _types(i)[-1]
    if i.name in ("shl", "shr"):
        value, amount = _source(b, i.operands[1], type_), _source(b, i.operands[2], "u32")
        _store_result(b, i.operands[0], b.emit(i.name, type_, value, amount), type_)
        return
    if "sat" in i.modifiers and type_ not in FLOATS and type_ not in PAIRS:
        sources = [_source(b, operand, type_) for operand in i.operands[1:]]
        _store_result(b, i.operands[0], b.emit(f"{i.name}_sat", type_, *sources), type_)
        return
    name = i.name
    if name in ("min", "max") and "NaN" in i.modifiers:
        name += "_nan"
    _elementwise(b, i, name, type_, (_rounding(i),))


@_handles("abs", "neg", "not", "popc", "clz", "brev", "cnot", *_APPROXIMATE)
def _unary(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz", "approx", *_ROUNDINGS)
    type_ = _types(i)[-1]
    if i.name in ("popc", "clz"):
        value = b.emit(i.name, type_, _source(b, i.operands[1], type_))
        _store_result(b, i.operands[0], b.emit("resize", "u32", value), "u32")
        return
    _elementwise(b, i, i.name, type_, (_rounding(i),))


@_handles("mul", "mad", "mul24", "mad24")
def _multiply(b: _Builder, i: Instruction) -> None:
    _check(i, "lo", "hi", "wide", "ftz", "sat", *_ROUNDINGS)
    type_ = _types(i)[-1]
    if type_ in FLOATS or type_ in PAIRS:
        _elementwise(b, i, "mul" if i.name == "mul" else "fma", type_, (_rounding(i),))
        return
    if i.name.endswith("24") and "hi" in i.modifiers:
        raise unsupported(f"`{i.text}`")
    a, c = (_source(b, operand, type_) for operand in i.operands[1:3])
    if i.name.endswith("24"):
        a, c = b.emit("low24", type_, a), b.emit("low24", type_, c)
    result_type = type_
    if "wide" in i.modifiers:
        result_type = f"{type_[0]}{2 * WIDTHS[type_]}"
        a, c = b.emit("extend", result_type, a, options=(type_,)), b.emit("extend", result_type, c, options=(type_,))
    if "hi" in i.modifiers:
        product = b.emit("mul_high", result_type, a, c)
    else:
        product = b.emit("mul", result_type, a, c, options=("rn",))
    if i.name.startswith("mad"):
        product = b.emit("add", result_type, product, _source(b, i.operands[3], result_type), options=("rn",))
    _store_result(b, i.operands[0], product, result_type)


@_handles("fma")
def _fma(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz", "sat", "relu", *_ROUNDINGS)
    _elementwise(b, i, "fma", _types(i)[-1], (_rounding(i),))


@_handles("lop3")
def _lop3(b: _Builder, i: Instruction) -> None:
    _check(i)
    table = i.operands[4]
    if not isinstance(table, Integer):
        raise unsupported(f"`{i.text}`")
    sources = [_source(b, operand, "b32") for operand in i.operands[1:4]]
    _store_result(b, i.operands[0], b.emit("lop3", "b32", *sources, options=(str(table.value),)), "b32")


@_handles("prmt", "bfi", "sad")
def _words(b: _Builder, i: Instruction) -> None:
    _check(i)
    type_ = _types(i)[-1]
    types = {"prmt": ["b32"] * 3, "bfi": [type_, type_, "u32", "u32"], "sad": [type_] * 3}[i.name]
    sources = [_source(b, operand, t) for operand, t in zip(i.operands[1:], types, strict=True)]
    _store_result(b, i.operands[0], b.emit(i.name, type_, *sources), type_)


@_handles("bfe", "shf")
def _fields(b: _Builder, i: Instruction) -> None:
    _check(i, "l", "r", "wrap", "clamp")
    type_ = _types(i)[-1]
    if i.name == "bfe":
        sources = [_source(b, i.operands[1], type_), *(_source(b, operand, "u32") for operand in i.operands[2:])]
        _store_result(b, i.operands[0], b.emit("bfe", type_, *sources), type_)
        return
    sources = [_source(b, operand, "b32") for operand in i.operands[1:]]
    options = ("l" if "l" in i.modifiers else "r", "wrap" if "wrap" in i.modifiers else "clamp")
    _store_result(b, i.operands[0], b.emit("shf", "b32", *sources, options=options), "b32")


# -- comparison and selection ----------------------------------------------------------------------------


@_handles("setp", "set")
def _compare(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz", "and", "or", "xor", "num", "nan", *_COMPARISONS)
    test = next((m for m in i.modifiers if m in (*_COMPARISONS, "num", "nan")), None)
    if test is None:
        raise unsupported(f"`{i.text}`")
    types = _types(i)
    type_ = types[-1]
    if test in _UNSIGNED_COMPARISONS:
        test, type_ = _UNSIGNED_COMPARISONS[test], type_.replace("s", "u").replace("b", "u")
    joining = next((m for m in i.modifiers if m in ("and", "or", "xor")), None)
    is_set = i.name == "set"
    count = 1 if is_set else len(i.operands) - (3 if joining else 2)
    operands = i.operands[count:]
    sources = _prepared(b, i, type_, [_source(b, operand, type_) for operand in operands[:2]])
    found = b.emit("compare", "pred", *sources, options=(test, type_))
    opposite = b.emit("not", "pred", found)
    if joining:
        extra = _source(b, operands[2], "pred")
        found, opposite = b.emit(joining, "pred", found, extra), b.emit(joining, "pred", opposite, extra)
    if is_set:
        result = types[0]
        true = Literal(_bits_of_float(1.0, result) if result in FLOATS else (1 << WIDTHS[result]) - 1)
        _store_result(b, i.operands[0], b.emit("select", result, true, Literal(0), found), result)
        return
    for target, value in zip(i.operands[:count], (found, opposite), strict=False):
        _store_result(b, target, value, "pred")


@_handles("selp", "slct")
def _select(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz")
    type_ = _types(i)[0]
    first, second = (_source(b, operand, type_) for operand in i.operands[1:3])
    if i.name == "selp":
        test = _source(b, i.operands[3], "pred")
    else:
        by = _types(i)[-1]
        test = b.emit("compare", "pred", _source(b, i.operands[3], by), Literal(0), options=("ge", by))
    _store_result(b, i.operands[0], b.emit("select", type_, first, second, test), type_)


# -- conversion ------------------------------------------------------------------------------------------


@_handles("cvt")
def _cvt(b: _Builder, i: Instruction) -> None:
    _check(i, "ftz", "sat", "satfinite", "relu", "rna", *_ROUNDINGS, *_INTEGER_ROUNDINGS)
    target, source = _types(i)
    rounding = next((_INTEGER_ROUNDINGS[m] for m in i.modifiers if m in _INTEGER_ROUNDINGS), _rounding(i))
    to_whole = any(m in _INTEGER_ROUNDINGS for m in i.modifiers)
    finite = "satfinite" in i.modifiers or target in ("e4m3", "e5m2", "e4m3x2", "e5m2x2")

    def one(to: str, of: str, value: Source) -> Source:
        if "ftz" in i.modifiers and of == "f32":
            value = b.emit("flush", of, value)
        if to == of and to in FLOATS:  # cvt.rni.f32.f32: to a whole number
            value = b.emit("whole", to, value, options=(rounding,)) if to_whole else value
            return _finish(b, i, to, value)
        saturate = "finite" if finite else "sat" if "sat" in i.modifiers and to not in FLOATS else ""
        result = b.emit("convert", to, value, options=(of, rounding, saturate))
        return _finish(b, i, to, result)

    if target == "tf32":
        mode = "rna" if "rna" in i.modifiers else rounding
        value = b.emit("tf32", "b32", _source(b, i.operands[1], "f32"), options=(mode,))
        _store_result(b, i.operands[0], value, "b32")
        return
    half = PAIRS.get(target)
    if half is None:
        _store_result(b, i.operands[0], one(target, source, _source(b, i.operands[1], source)), target)
        return
    if source in PAIRS:
        whole = _source(b, i.operands[1], source)
        bits = f"b{WIDTHS[PAIRS[source]]}"
        parts = [one(half, PAIRS[source], b.emit("part", bits, whole, options=(p,))) for p in ("0", "1")]
    else:  # the first operand goes into the upper half
        high, low = (one(half, source, _source(b, operand, source)) for operand in i.operands[1:3])
        parts = [low, high]
    _store_result(b, i.operands[0], b.emit("pack", target, *parts), target)


# -- memory ------------------------------------------------------------------------------------------------


def _order(i: Instruction, default: str) -> tuple[str, str]:
    order = next((_ORDERS[m] for m in i.modifiers if m in _ORDERS), default)
    scope = next((m for m in i.modifiers if m in _SCOPES), "sys" if order == "volatile" else "gpu")
    return order, scope


def _address(b: _Builder, operand: Operand) -> tuple[str, str]:
    if not isinstance(operand, Address):
        raise unsupported(f"the address of `{b.text}`")
    base = operand.base.name
    if b.widths.get(base) != 64:
        raise unsupported(f"the address of `{b.text}`, which has no 64 bits,")
    return base, str(operand.offset_bytes)


def _vector_count(i: Instruction) -> int:
    return next((int(m[1]) for m in i.modifiers if m in ("v2", "v4", "v8")), 1)


_HINTS = (
    *("ca", "cg", "cs", "cv", "lu", "wb", "wt", "nc", "weak", "v2", "v4", "v8", "L2::64B", "L2::128B", "L2::256B"),
    *("L1::evict_first", "L1::evict_last", "L1::no_allocate", "L1::evict_normal", "L1::evict_unchanged"),
)


@_handles("ld", "ldu")
def _load(b: _Builder, i: Instruction) -> None:
    _check(i, *_HINTS, *_ORDERS, *_SCOPES, *_SPACES, "mmio")
    type_, count = _types(i)[-1], _vector_count(i)
    base, offset = _address(b, i.operands[1])
    targets = i.operands[0].items if isinstance(i.operands[0], Group) else (i.operands[0],)
    if len(targets) != count:
        raise unsupported(f"`{i.text}`")
    for position, target in enumerate(targets):
        place = str(int(offset) + position * WIDTHS[type_] // 8)
        value = b.emit("load", type_, base, options=(place, *_order(i, "weak")))
        _store_result(b, target, value, type_)


@_handles("st")
def _store(b: _Builder, i: Instruction) -> None:
    _check(i, *_HINTS, *_ORDERS, *_SCOPES, *_SPACES, "mmio")
    type_, count = _types(i)[-1], _vector_count(i)
    base, offset = _address(b, i.operands[0])
    values = i.operands[1].items if isinstance(i.operands[1], Group) else (i.operands[1],)
    if len(values) != count:
        raise unsupported(f"`{i.text}`")
    for position, value in enumerate(values):
        place = str(int(offset) + position * WIDTHS[type_] // 8)
        b.emit("store", type_, base, _source(b, value, type_), target="", options=(place, *_order(i, "weak")))


@_handles("atom", "red")
def _atomic(b: _Builder, i: Instruction) -> None:
    kind = next((m for m in i.modifiers if m in _ATOMIC_KINDS), None)
    _check(i, *_ORDERS, *_SCOPES, *_SPACES, *_ATOMIC_KINDS, "noftz")
    type_ = _types(i)[-1]
    if kind is None or kind in ("inc", "dec") or type_ in PAIRS or type_ in ("f16", "bf16"):
        raise unsupported(f"`{i.text}`")
    operands = i.operands if i.name == "atom" else (None, *i.operands)
    place = operands[1]
    assert place is not None
    base, offset = _address(b, place)
    values = [_source(b, operand, type_) for operand in operands[2:] if operand is not None]
    old = b.emit("atomic", type_, base, *values, options=(offset, kind, *_order(i, "relaxed")))
    if operands[0] is not None:
        _store_result(b, operands[0], old, type_)


@_handles("fence", "membar")
def _fence(b: _Builder, i: Instruction) -> None:
    scope = next((m for m in i.modifiers if m in ("cta", "cluster", "gpu", "gl", "sys")), "cta")
    b.emit("fence", "b32", target="", options=("gpu" if scope == "gl" else scope,))


@_handles(*_NOTHING)
def _nothing(b: _Builder, i: Instruction) -> None:
    """What only matters to timing, or to grids that overlap."""


_PER_CTA = frozenset({"smid", "nsmid"} | {f"{name}.{axis}" for name in ("ntid", "ctaid", "nctaid") for axis in "xyz"})
_READS = re.compile(r"%(?P<name>[a-z_0-9]+(?:\.[xyz])?)|\b(?P<memory>ld|atom|shfl|vote|activemask|redux)\b")


def is_same_for_all_threads(text: str) -> bool:
    """Whether all threads of a CTA get the same results from equal operands."""
    for match in _READS.finditer(text):
        special = match["name"] in SPECIAL or match["name"] in ("lanemask_eq", "lanemask_lt", "lanemask_le", "envreg")
        if match["memory"] or (special and match["name"] not in _PER_CTA):
            return False
    return True
