"""Inline PTX as C++ for the emulator: an asm statement becomes a block that calls `tle2cuda_emulator/ptx_steps.h`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tle2cuda.errors import NotSupported
from tle2cuda.ptx.parser import unsupported
from tle2cuda.ptx.steps import WIDTHS, Literal, Source, Step, compile_asm

_CONSTRAINT_BITS = {"h": 16, "r": 32, "f": 32, "l": 64, "d": 64}
_TYPES = {1: "bool", 8: "uint8_t", 16: "uint16_t", 32: "uint32_t", 64: "uint64_t"}
_STATEMENT = re.compile(r"\basm\b(?:\s+volatile\b)?\s*\(")
_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
_OPERAND = re.compile(r'\s*"(?P<constraint>[^"]*)"\s*\((?P<expression>.*)\)\s*', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class _Operand:
    bits: int
    expression: str
    is_output: bool
    is_input: bool


def without_asm(text: str) -> str:
    """C++ text with each asm statement replaced by what it does, on as many lines.

    Raises:
        NotSupported: A statement holds PTX that is not known here.
    """
    pieces, last = [], 0
    for match in _STATEMENT.finditer(text):
        if match.start() < last or _is_commented(text, match.start()):
            continue
        end = _closing(text, match.end())
        semicolon = text.index(";", end)
        statement = text[match.end() : end]
        try:
            block = _block(statement)
        except NotSupported as error:
            line = text.count("\n", 0, match.start()) + 1
            raise NotSupported(f"line {line} of the emitted file: {error.message}", help=error.help) from None
        pieces += [text[last : match.start()], block, "\n" * statement.count("\n")]
        last = semicolon + 1
    pieces.append(text[last:])
    return "".join(pieces)


def _is_commented(text: str, position: int) -> bool:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return "//" in line


def _closing(text: str, position: int) -> int:
    """Where the parenthesis that is open at a position is closed."""
    depth, i = 1, position
    while depth:
        character = text[i]
        if character == '"':
            literal = _LITERAL.match(text, i)
            if literal is None:
                raise unsupported("an asm statement that is not closed")
            i = literal.end()
            continue
        depth += (character == "(") - (character == ")")
        i += 1
    return i - 1


def _sections(statement: str) -> list[str]:
    """The parts between colons, outside of strings and parentheses."""
    parts, current, depth, i = [], "", 0, 0
    while i < len(statement):
        if statement[i] == '"':
            literal = _LITERAL.match(statement, i)
            assert literal is not None
            current += literal[0]
            i = literal.end()
            continue
        character = statement[i]
        depth += (character in "([") - (character in ")]")
        if character == ":" and depth == 0 and statement[i : i + 2] != "::" and statement[i - 1 : i + 1] != "::":
            parts.append(current)
            current = ""
        elif character == ":" and depth == 0 and statement[i : i + 2] == "::":
            parts += [current, ""]
            current = ""
            i += 1
        else:
            current += character
        i += 1
    return [*parts, current]


def _listed(section: str) -> list[str]:
    parts, current, depth, i = [], "", 0, 0
    while i < len(section):
        if section[i] == '"':
            literal = _LITERAL.match(section, i)
            assert literal is not None
            current += literal[0]
            i = literal.end()
            continue
        depth += (section[i] in "([{<") - (section[i] in ")]}>")
        if section[i] == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += section[i]
        i += 1
    return [part for part in (*parts, current) if part.strip()]


def _block(statement: str) -> str:
    """One statement as a block of C++."""
    text, *rest = _sections(statement)
    body = "".join(_unescaped(literal[1:-1]) for literal in _LITERAL.findall(text))
    outputs = [_operand(part, True) for part in _listed(rest[0])] if rest else []
    inputs = [_operand(part, False) for part in _listed(rest[1])] if len(rest) > 1 else []
    operands = [*outputs, *inputs]
    body = re.sub(r"%(\d+)", r"$\1", body.replace("%%", "\0")).replace("\0", "%")
    program = compile_asm(body, {f"${i}": operand.bits for i, operand in enumerate(operands)})
    lines = ["namespace ptx = tle2cuda_emulator::ptx;"]
    for name, bits in program.widths.items():
        start = "{}"
        if name.startswith("$") and operands[int(name[1:])].is_input:
            start = f"ptx::register_of<{_TYPES[bits]}>({operands[int(name[1:])].expression})"
        lines.append(f"{_TYPES[bits]} {_name(name)} = {start};")
    lines += [_step(step, program.widths) for step in program.steps]
    for i, operand in enumerate(operands):
        if operand.is_output:
            lines.append(f"ptx::assign({operand.expression}, {_name(f'${i}')});")
    return "{ " + " ".join(lines) + " }"


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _operand(text: str, is_output: bool) -> _Operand:
    match = _OPERAND.fullmatch(text)
    if match is None:
        raise unsupported(f"the operand {text.strip()} of an asm statement")
    letters = match["constraint"].lstrip("=+&")
    if letters not in _CONSTRAINT_BITS:
        raise unsupported(f'the constraint "{match["constraint"]}" of an asm statement')
    both = match["constraint"].startswith("+")
    return _Operand(_CONSTRAINT_BITS[letters], match["expression"], is_output, both or not is_output)


def _name(register: str) -> str:
    """A register's name in C++."""
    return "ptx_" + re.sub(r"\W", lambda match: f"_{ord(match[0]):x}_", register)


def _text(source: Source) -> str:
    return f"{source.bits}ull" if isinstance(source, Literal) else _name(source)


def _step(step: Step, widths: dict[str, int]) -> str:
    call = _call(step)
    if not step.target:
        text = f"{call};"
    else:
        text = f"{_name(step.target)} = static_cast<{_TYPES[widths[step.target]]}>({call});"
    if step.guard is None:
        return text
    name, negated = step.guard
    return f"if ({'!' if negated else ''}{_name(name)}) {text}"


# What C++ or the host's library has another meaning for.
_NAMES = {"and": "bit_and", "or": "bit_or", "xor": "bit_xor", "not": "bit_not"}
_NAMES |= {"sin": "sine", "cos": "cosine", "tanh": "tangent", "sqrt": "root", "abs": "absolute", "div": "quotient"}
_NAMES |= {"min": "minimum", "max": "maximum", "min_nan": "minimum_nan", "max_nan": "maximum_nan", "rem": "rest"}
_NAMES |= {"fma": "fused"}


_CONSTANTS = {"": "PLAIN", "nan": "NAN_"}


def _call(step: Step) -> str:
    """The expression that does a step."""
    arguments = [_text(source) for source in step.sources]
    kind, type_, options = step.kind, step.type, step.options
    if kind == "special":
        return f"ptx::special_{options[0].replace('.', '_')}()"
    if kind == "fence":
        return f"tle2cuda_emulator::tle2cuda_fence(tle2cuda_emulator::SCOPE_{_SCOPES[options[0]]})"
    if kind in ("load", "store", "atomic"):
        return _memory(step, arguments)
    parameters = [f"ptx::{_tag(type_)}"]
    if kind == "extend" or kind == "convert":
        parameters.append(f"ptx::{_tag(options[0])}")
        options = options[1:]
    elif kind == "compare":
        parameters = [f"ptx::{_tag(options[1])}"]
        options = options[:1]
    if kind in ("part", "lop3"):
        arguments += options
    else:
        arguments += [f"ptx::{_CONSTANTS.get(option, option.upper())}" for option in options]
    return f"ptx::{_NAMES.get(kind, kind)}<{', '.join(parameters)}>({', '.join(arguments)})"


_ATOMICS = {"add": "ADD", "and": "AND", "or": "OR", "xor": "XOR", "min": "MIN", "max": "MAX", "exch": "EXCHANGE"}
_ATOMICS |= {"cas": "COMPARE"}
_ORDERS = {"relaxed": "RELAXED", "acquire": "ACQUIRE", "release": "RELEASE", "acq_rel": "ACQ_REL", "volatile": "VOLATILE"}
_SCOPES = {"cta": "CTA", "cluster": "CLUSTER", "gpu": "GPU", "sys": "SYSTEM"}


def _memory(step: Step, arguments: list[str]) -> str:
    address = f"{arguments[0]} + {step.options[0]}"
    order, scope = step.options[-2:]
    if order == "weak":
        type_ = _TYPES[WIDTHS[step.type]]
        if step.kind == "load":
            return f"*reinterpret_cast<const {type_}*>({address})"
        return f"*reinterpret_cast<{type_}*>({address}) = static_cast<{type_}>({arguments[1]})"
    ordering = f"tle2cuda_emulator::ORDER_{_ORDERS[order]}, tle2cuda_emulator::SCOPE_{_SCOPES[scope]}"
    tag = f"ptx::{_tag(step.type)}"
    if step.kind == "atomic":
        kind = f"tle2cuda_emulator::ATOMIC_{_ATOMICS[step.options[1]]}"
        compare, operand = arguments[1], arguments[-1]  # cas names first what it compares with
        return f"ptx::atomic<{tag}>({kind}, {address}, {operand}, {compare}, {ordering})"
    if step.kind == "load":
        return f"ptx::load<{tag}>({address}, {ordering})"
    return f"ptx::store<{tag}>({address}, {arguments[1]}, {ordering})"


def _tag(type_: str) -> str:
    """The C++ type that stands for a PTX type; bits count as unsigned."""
    return f"u{type_[1:]}" if type_[1:].isdigit() and type_[0] == "b" else type_
