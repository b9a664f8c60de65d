"""Reads the text of an inline asm statement: declarations, instructions, operands.

Operands of the statement are written ``$0``, ``$1`` ..., as LLVM has it.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from tle2cuda.errors import NotSupported

_HELP = "run this kernel on a GPU; the interpreter and the emulator know a part of PTX"

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DECLARATION = re.compile(r"\.reg\s+\.(?P<type>\w+)\s+(?P<names>.+)", re.DOTALL)
_RANGE = re.compile(r"(?P<prefix>[\w%$]+)<(?P<count>\d+)>")
_INSTRUCTION = re.compile(r"(?:@(?P<not>!?)\s*(?P<guard>[\w%$]+)\s+)?(?P<opcode>[a-z][\w.:]*)(?P<operands>.*)", re.DOTALL)
_ADDRESS = re.compile(r"\[\s*(?P<base>[^\]+]+?)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]")
_HEX_FLOAT = re.compile(r"0(?P<kind>[fFdD])(?P<digits>[0-9a-fA-F]+)")
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
_DECIMAL = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, slots=True)
class Register:
    """A register, an operand of the statement (``$0``), or a special register (``%laneid``).

    Attributes:
        name: Its name.
        is_negated: A predicate written ``!p``.
    """

    name: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A float literal: the bits of its width, or a decimal number that takes the instruction's type."""

    value: float


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``, the offset in bytes."""

    base: Register
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class Group:
    """``{a, b}``: registers that stand for one, or for the elements of a vector."""

    items: tuple[Operand, ...]


Operand = Register | Integer | Float | Address | Group


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        text: As it was written, for messages.
        name: The opcode up to the first dot.
        modifiers: What follows it.
        operands: The operands.
        guard: Predicate under which it is executed.
    """

    text: str
    name: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None = None


@dataclass(frozen=True, slots=True)
class Asm:
    """The text of a statement.

    Attributes:
        registers: Declared registers and their PTX types.
        instructions: In order.
    """

    registers: dict[str, str]
    instructions: tuple[Instruction, ...]


def unsupported(what: str) -> NotSupported:
    """The error for what is outside of the subset."""
    return NotSupported(f"inline PTX: {what} is not supported without a GPU", help=_HELP)


def parse(text: str) -> Asm:
    """Read the text of an asm statement.

    Raises:
        NotSupported: Labels, directives other than ``.reg``, or a form of operand that is not known.
    """
    registers: dict[str, str] = {}
    instructions = []
    for statement in _statements(_COMMENT.sub(" ", text)):
        declaration = _DECLARATION.fullmatch(statement)
        if declaration is not None:
            for name in declaration["names"].split(","):
                for each in _declared(name.strip()):
                    registers[each] = declaration["type"]
        elif statement.startswith(".") or re.match(r"[\w$%]+\s*:(?!:)", statement):
            raise unsupported(f"`{_short(statement)}`")
        else:
            instructions.append(_instruction(statement))
    return Asm(registers, tuple(instructions))


def _statements(text: str) -> list[str]:
    """Statements without their semicolons. A brace opens or closes a scope where a statement may begin."""
    found: list[str] = []
    current = ""
    depth = 0
    for character in text:
        if character == "{" and not current.strip():
            continue
        if character == "}" and depth == 0:
            if current.strip():
                found.append(current.strip())
            current = ""
            continue
        depth += (character == "{") - (character == "}")
        if character == ";":
            if current.strip():
                found.append(" ".join(current.split()))
            current, depth = "", 0
        else:
            current += character
    if current.strip():
        found.append(" ".join(current.split()))
    return found


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _declared(name: str) -> list[str]:
    span = _RANGE.fullmatch(name)
    return [name] if span is None else [f"{span['prefix']}{i}" for i in range(int(span["count"]))]


def _instruction(text: str) -> Instruction:
    match = _INSTRUCTION.fullmatch(text)
    if match is None:
        raise unsupported(f"`{_short(text)}`")
    name, *modifiers = match["opcode"].split(".")
    guard = Register(match["guard"], match["not"] == "!") if match["guard"] else None
    operands = tuple(_operand(part, text) for part in _split(match["operands"]))
    return Instruction(_short(text), name, tuple(modifiers), operands, guard)


def _split(text: str) -> list[str]:
    """Operands between commas, those inside of brackets and braces left together; ``p|q`` is two."""
    parts, current, depth = [], "", 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        if character in ",|" and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += character
    parts.append(current.strip())
    return [part for part in parts if part]


def _operand(text: str, instruction: str) -> Operand:
    if text.startswith("{"):
        return Group(tuple(_operand(part, instruction) for part in _split(text[1:-1])))
    if (address := _ADDRESS.fullmatch(text)) is not None:
        offset = int(address["offset"], 0) if address["offset"] else 0
        return Address(Register(address["base"]), offset)
    if (number := _HEX_FLOAT.fullmatch(text)) is not None:
        return Float(_float_of_bits(number["kind"].lower(), int(number["digits"], 16)))
    if _INTEGER.fullmatch(text):
        return Integer(int(text.rstrip("U"), 0))
    if _DECIMAL.fullmatch(text):
        return Float(float(text))
    if re.fullmatch(r"!\s*[\w%$.]+", text):
        return Register(text[1:].strip(), is_negated=True)
    if re.fullmatch(r"[\w%$.]+", text):
        return Register(text)
    raise unsupported(f"the operand `{text}` of `{_short(instruction)}`")


def _float_of_bits(kind: str, bits: int) -> float:
    code = (">I", ">f") if kind == "f" else (">Q", ">d")
    value: float = struct.unpack(code[1], struct.pack(code[0], bits))[0]
    return value
