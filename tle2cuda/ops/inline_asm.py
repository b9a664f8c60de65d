"""`tl.inline_asm_elementwise`: PTX of the user's own, element by element."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BOOL, DType, Element, PointerType, element_of, shape_of, with_shape
from tle2cuda.ops import core
from tle2cuda.ops.core import broadcast_all, builtin, meaning, tensor, to_tensor, unwrap
from tle2cuda.ops.numerics import Array, from_storage, storage_dtype, to_storage
from tle2cuda.ptx.parser import unsupported
from tle2cuda.ptx.steps import WIDTHS, Program, compile_asm

REGISTER_BITS = {"h": 16, "r": 32, "f": 32, "l": 64, "d": 64, "b": 1}
_OPERAND = re.compile(r"\$(?:\$|\{(?P<braced>[^}]*)\}|(?P<number>\d+))")


@dataclass(frozen=True, slots=True)
class Constraints:
    """What the constraints say.

    Attributes:
        outputs: Letter of each output register.
        inputs: Letter of each input register, or the number of the output that it shares a register with.
        early: Outputs that are written before all inputs are read.
        clobbers: What else changes, such as ``memory``.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    early: tuple[bool, ...]
    clobbers: tuple[str, ...]


@functools.cache
def parse_constraints(text: str) -> Constraints:
    """Read ``=r,r,f``.

    Raises:
        InvalidArgument: A constraint has a form that PTX does not know, or an output comes behind an input.
    """
    outputs: list[str] = []
    inputs: list[str] = []
    early: list[bool] = []
    clobbers: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        if not part:
            continue
        if part.startswith("~"):
            clobbers.append(part[1:].strip("{}"))
        elif part.startswith("="):
            letter = part[1:].lstrip("&")
            if inputs or letter not in REGISTER_BITS:
                raise _bad_constraint(part, bool(inputs))
            outputs.append(letter)
            early.append("&" in part)
        elif part in REGISTER_BITS or (part.isdigit() and int(part) < len(outputs)):
            inputs.append(part)
        else:
            raise _bad_constraint(part, False)
    return Constraints(tuple(outputs), tuple(inputs), tuple(early), tuple(clobbers))


def _bad_constraint(part: str, is_late: bool) -> InvalidArgument:
    problem = "comes behind an input" if is_late else "is not known"
    return InvalidArgument(
        f"tl.inline_asm_elementwise: the constraint {part!r} {problem}",
        help="outputs first, `=h` `=r` `=l` `=f` `=d` `=b`, then inputs, `h` `r` `l` `f` `d` `b`: 16, 32 and 64 bits, "
        "float, double, predicate",
    )


def elements_per_register(element: Element, pack: int) -> int:
    """How many elements share a register: as many as fit into 32 bits, at most `pack`."""
    bits = element.bits if isinstance(element, DType) else 64
    bits = 8 if element is BOOL else bits
    return min(max(32 // bits, 1), pack)


def registers_of(element: Element, pack: int) -> int:
    """Registers that `pack` elements take."""
    return pack // elements_per_register(element, pack)


@builtin
def inline_asm_elementwise(asm: Any, constraints: Any, args: Any, dtype: Any, is_pure: Any, pack: Any) -> Any:
    """PTX of the user's own for every element, or for every `pack` elements.

    The operands of the text are ``$0``, ``$1`` ...: the outputs, then the inputs. Elements narrower than 32 bits share
    registers: with ``pack=4``, four of 8 bits or two of 16. Registers hold bits, whatever their letter: of an element
    that is wider the lowest ones, above one that is narrower zeros; a bool in a wider register is all ones, or zero,
    and one is taken from the lowest bit. In the interpreter and the emulator a part of PTX is known;
    the rest needs a GPU.

    Args:
        asm: The text (constexpr).
        constraints: A letter for each register, outputs with ``=`` first: ``"=f,f,r"`` (constexpr).
        args: Tiles, scalars or numbers; they broadcast, and keep their dtypes.
        dtype: Dtype of the result, or a tuple of several.
        is_pure: Whether the text has no effect beside its results, so that it may be repeated, moved or left out.
        pack: How many elements the text is for, a power of two.

    Returns:
        A tile, or a scalar when all arguments are; a tuple when `dtype` is one.

    Raises:
        InvalidArgument: The constraints do not fit the text, the arguments or the dtypes.
        InvalidType: `asm` or `constraints` is no constant string.

    Example:
        ``y = tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], tl.float32, is_pure=True, pack=1)``
    """
    what = "tl.inline_asm_elementwise"
    text, letters = (_text(value, f"{what}: {name}") for name, value in (("asm", asm), ("constraints", constraints)))
    width = core.static_int(pack, f"{what}: pack")
    if width < 1 or width & (width - 1):
        raise InvalidArgument(f"{what}: pack must be a power of two, got {width}")
    pure = core.static_bool(is_pure, f"{what}: is_pure")
    several = isinstance(unwrap(dtype), (tuple, list))
    results = tuple(_result_element(each) for each in (unwrap(dtype) if several else (dtype,)))
    given = unwrap(args)
    values = tuple(to_tensor(value) for value in (given if isinstance(given, (tuple, list)) else (given,)))
    operands = broadcast_all(values, what) if values else ()
    _check(text, letters, operands, results, width)
    dims = operands[0].dims if operands else ()
    attrs = {"asm": text, "constraints": letters}
    types = tuple(with_shape(element, dims) for element in results)
    sources = tuple(operand.value for operand in operands)
    if pure and width == 1 and len(results) == 1 and operands:
        value = tensor(builder.current().emit_one("asm", sources, types[0], attrs))
        return (value,) if several else value
    made = builder.current().emit("asm_block", sources, types, {**attrs, "pack": width, "pure": pure})
    found = tuple(tensor(value) for value in made)
    return found if several else found[0]


def _text(value: Any, what: str) -> str:
    text = core.static_value(value, what)
    if not isinstance(text, str):
        raise InvalidType(f"{what} must be a constant string, got {core.describe(value)}")
    return text


def _result_element(dtype: Any) -> Element:
    return core.dtype_to_ir(core.resolve_dtype(dtype, "tl.inline_asm_elementwise"))


def _check(text: str, letters: str, operands: Sequence[tensor], results: Sequence[Element], pack: int) -> None:
    """The registers that the constraints name are those that the results and arguments take."""
    what = "tl.inline_asm_elementwise"
    parsed = parse_constraints(letters)
    wanted = sum(registers_of(element, pack) for element in results)
    taken = sum(registers_of(operand.element, pack) for operand in operands)
    if (len(parsed.outputs), len(parsed.inputs)) != (wanted, taken):
        raise InvalidArgument(
            f"{what}: {letters!r} names {len(parsed.outputs)} outputs and {len(parsed.inputs)} inputs, "
            f"but the results take {wanted} registers and the arguments {taken}",
            facts=tuple(core.fact(f"argument {i}", operand) for i, operand in enumerate(operands)),
            help=f"with pack = {pack}, elements below 32 bits share registers: {pack} of 8 bits take "
            f"{max(1, pack // 4)}, of 16 bits {max(1, pack // 2)}, of 32 and 64 bits {pack}",
        )
    for match in _OPERAND.finditer(text):
        if match["braced"] is not None:
            raise InvalidArgument(f"{what}: `{match[0]}` is not known", help="write operands as $0, $1 and so on")
        if match["number"] is not None and int(match["number"]) >= wanted + taken:
            raise InvalidArgument(f"{what}: the text uses {match[0]}, but there are {wanted + taken} operands, from $0 on")


# -- meaning ----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _program(text: str, letters: str) -> Program:
    parsed = parse_constraints(letters)
    names = [*parsed.outputs, *(parsed.outputs[int(i)] if i.isdigit() else i for i in parsed.inputs)]
    return compile_asm(text, {f"${i}": REGISTER_BITS[letter] for i, letter in enumerate(names)})


def _element_bits(element: Element) -> int:
    return 64 if isinstance(element, PointerType) else 8 if element is BOOL else element.bits


def _packed(bits: Array, element: Element, pack: int, letter_bits: Sequence[int]) -> list[Array]:
    """Bits of elements as registers, one array for each, with one entry for each group of `pack`.

    A register takes the lowest bits of what is wider, and holds zeros above what is narrower; a bool that is alone in a
    wider register fills it with ones.
    """
    raw = bits.reshape(-1)
    missing = -raw.size % pack
    raw = np.concatenate([raw, np.repeat(raw[-1:], missing)]) if missing else raw
    count = elements_per_register(element, pack)
    groups = raw.reshape(-1, pack // count, count)
    width = _element_bits(element)
    registers = []
    for position in range(pack // count):
        word = np.zeros(groups.shape[0], np.uint64)
        for lane in range(count):
            word |= groups[:, position, lane].astype(np.uint64) << np.uint64(width * lane)
        held = letter_bits[position]
        if held == 1:
            registers.append(word & np.uint64(1) != 0)
            continue
        if element is BOOL and count == 1:
            word = np.uint64(0) - word
        registers.append(word & np.uint64(2**held - 1))
    return registers


def _unpacked(registers: Sequence[Array], element: Element, pack: int, size: int) -> Array:
    count = elements_per_register(element, pack)
    width = _element_bits(element)
    parts = []
    for register in registers:
        word = register.astype(np.uint64)
        if element is BOOL and count == 1:
            word &= np.uint64(1)
        elif register.dtype == np.bool_:
            word = np.uint64(0) - word
        parts += [word >> np.uint64(width * lane) for lane in range(count)]
    raw: Array = np.stack(parts, axis=-1).reshape(-1)[:size].astype(f"u{width // 8}")
    return raw


def execute(
    text: str,
    letters: str,
    pack: int,
    arguments: Sequence[tuple[Array, Element]],
    results: Sequence[Element],
    shape: tuple[int, ...],
    machine: Any,
) -> list[Array]:
    """Run a text on tiles, without a GPU.

    Args:
        text: The text.
        letters: The constraints.
        pack: Elements of one run.
        arguments: Bits of each argument's elements, as unsigned integers of `shape`, and its element type.
        results: Element types of the results.
        shape: Shape of all of them.
        machine: Memory and special registers (`tle2cuda.ptx.evaluate.Machine`).

    Returns:
        The bits of each result's elements.

    Raises:
        NotSupported: An instruction is not known.
    """
    from tle2cuda.ptx.evaluate import evaluate

    program = _program(text, letters)
    size = int(np.prod(shape, dtype=np.int64))
    position = first = sum(registers_of(element, pack) for element in results)
    ties = parse_constraints(letters).inputs
    registers: dict[str, Array] = {}
    for bits, element in arguments:
        count = registers_of(element, pack)
        widths = [program.widths[f"${position + i}"] for i in range(count)]
        for word in _packed(np.broadcast_to(bits, shape), element, pack, widths):
            registers[f"${position}"] = word
            if ties[position - first].isdigit():
                registers[f"${ties[position - first]}"] = word
            position += 1
    final = evaluate(program, registers, (-(-size // pack),), machine)
    found, position = [], 0
    for element in results:
        count = registers_of(element, pack)
        flat = _unpacked([final[f"${position + i}"] for i in range(count)], element, pack, size)
        found.append(flat.reshape(shape))
        position += count
    return found


def _bits_of(values: Any, element: Element) -> Array:
    """Elements as unsigned integers of their width."""
    if isinstance(element, PointerType):
        return np.asarray(values, np.uint64)
    if element is BOOL:
        return np.asarray(values).astype(np.uint8)
    return np.asarray(to_storage(np.asarray(values), element)).view(f"u{element.bytes}")


def _values_of(bits: Array, element: Element) -> Any:
    if isinstance(element, PointerType):
        return bits
    if element is BOOL:
        return bits != 0
    return from_storage(bits.view(storage_dtype(element)), element)


def _run(ctx: Any, op: Op, arguments: Sequence[Any], pack: int) -> tuple[Any, ...]:
    """The results for all elements."""
    elements = [element_of(result.type) for result in op.results]
    shape = shape_of(op.results[0].type)
    given = [
        (_bits_of(argument, element_of(operand.type)), element_of(operand.type))
        for argument, operand in zip(arguments, value_operands(op), strict=True)
    ]
    if arguments:
        shape = np.broadcast_shapes(*(np.shape(argument) for argument in arguments))
    found = execute(op.attrs["asm"], op.attrs["constraints"], pack, given, elements, shape, _Memory(ctx, op))
    results = [_values_of(bits, element) for bits, element in zip(found, elements, strict=True)]
    return tuple(result if shape else result[()] for result in results)


class _Memory:
    """Memory and special registers, as a statement reaches them from a CTA."""

    def __init__(self, ctx: Any, op: Op) -> None:
        self.ctx, self.op = ctx, op

    def _pseudo(self, name: str, type_: str, addresses: Array) -> Op:
        """An operation of ours that does what the instruction does, for checks and messages."""
        dtype = DType(f"uint{WIDTHS[type_]}") if type_ not in ("f32", "f64") else DType(f"float{WIDTHS[type_]}")
        if type_.startswith("s"):
            dtype = DType(f"int{WIDTHS[type_]}")
        spaces = [e.space for v in self.op.operands if isinstance(e := element_of(v.type), PointerType)]
        shape = np.shape(addresses)
        pointer = Value(with_shape(PointerType(dtype, spaces[0] if spaces else "global"), shape))
        value = Value(with_shape(dtype, shape))
        if name == "load":
            return make_op("load", (pointer,), (value.type,), {}, (), self.op.span)
        if name == "store":
            return make_op("store", (pointer, value), (), {}, (), self.op.span)
        return make_op("atomic_rmw", (pointer, value), (value.type,), {}, (), self.op.span)

    def _pointers(self, addresses: Array) -> Array:
        return np.asarray(addresses, np.uint64)

    def _values(self, bits: Array, type_: str) -> Array:
        from tle2cuda.ptx.evaluate import to_values

        return to_values(bits, type_)

    def _bits(self, values: Any, type_: str) -> Array:
        from tle2cuda.ptx.evaluate import to_bits

        return to_bits(values, type_)

    def load(self, addresses: Array, type_: str, order: str, scope: str) -> Array:
        op = self._pseudo("load", type_, addresses)
        return self._bits(self.ctx.memory.load(op, self._pointers(addresses)), type_)

    def store(self, addresses: Array, values: Array, type_: str, active: Array) -> None:
        op = self._pseudo("store", type_, addresses)
        self.ctx.memory.store(op, self._pointers(addresses), self._values(values, type_), active)

    def atomic(self, kind: str, addresses: Array, values: list[Array], type_: str, active: Array) -> Array:
        op = self._pseudo("atomic", type_, addresses)
        pointers = self._pointers(addresses)
        numbers = [self._values(value, type_) for value in values]
        if kind == "cas":
            return self._bits(self.ctx.memory.atomic_cas(op, pointers, *numbers), type_)
        name = {"exch": "xchg"}.get(kind, kind)
        return self._bits(self.ctx.memory.atomic_rmw(op, name, pointers, numbers[0], active), type_)

    def special(self, name: str) -> int:
        if name.startswith("globaltimer"):
            return time.time_ns() >> (32 if name.endswith("hi") else 0)
        if name.startswith("clock"):
            return time.perf_counter_ns() >> (32 if name.endswith("hi") else 0)
        register, _, axis = name.partition(".")
        if register in ("ctaid", "nctaid"):
            where = self.ctx.program_id if register == "ctaid" else self.ctx.num_programs
            return int(where["xyz".index(axis)])
        if name in ("smid", "nsmid"):
            return 0 if name == "smid" else 1
        raise unsupported(f"%{name}: the interpreter has no threads, it")


@meaning("asm")
def _asm(ctx: Any, op: Op, *arguments: Any) -> Any:
    return _run(ctx, op, arguments, 1)[0]


@meaning("asm_block")
def _asm_block(ctx: Any, op: Op, *arguments: Any) -> Any:
    results = _run(ctx, op, arguments, op.attrs["pack"])
    return results if len(results) > 1 else results[0]
