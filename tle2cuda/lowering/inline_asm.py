"""The user's PTX in CUDA: a function for each distinct text and types, and the loops that call it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.effects import may_write
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BF16, BOOL, F16, F32, F64, Element, PointerType, element_of
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import C, call
from tle2cuda.lowering.debug import c_text
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.fused import each_register
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.naming import hint_for
from tle2cuda.lowering.operators import rule
from tle2cuda.lowering.scalars import first_thread, scalar_text
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import render_template, write
from tle2cuda.lowering.writer import Block
from tle2cuda.ops.inline_asm import REGISTER_BITS, Constraints, elements_per_register, parse_constraints, registers_of

TEMPLATE = "inline_asm.cu.j2"
_WORDS = {1: "unsigned", 8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}
_MNEMONIC = re.compile(r"(?:^|[;{}\n])\s*(?:@!?\w+\s+)?(?!reg\b)(?P<name>[a-z][a-z0-9_]*)(?:[.\s])")
_AS_BITS = {F16: "__half_as_ushort", BF16: "__bfloat16_as_ushort", F32: "__float_as_uint"}
_FROM_BITS = {F16: "__ushort_as_half", BF16: "__ushort_as_bfloat16", F32: "__uint_as_float"}


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function around an asm statement, as `inline_asm.cu.j2` shows it."""

    remark: str
    result: str
    name: str
    parameters: tuple[str, ...]
    before: tuple[str, ...]
    keyword: str
    lines: tuple[str, ...]
    operands: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupsView:
    """A loop over groups of a thread's elements, as `inline_asm.cu.j2` shows it.

    Attributes:
        group: Number of the group.
        index: Number of an element in it.
        groups: How many.
        pack: Elements of one.
        gathers: (type of the vector, its name, element of the operand by `index`), one an operand.
        results: (type of the vector, its name, element of the result by `index`), one a result.
        call: The call.
        owned: How many of the last group's elements the thread owns, 0 for all.
    """

    group: str
    index: str
    groups: int
    pack: int
    gathers: tuple[tuple[str, str, str], ...]
    results: tuple[tuple[str, str, str], ...]
    call: str
    owned: int


@dataclass(frozen=True, slots=True)
class SharedView:
    """A result that the first thread hands to all: slot, type, name."""

    type: str
    name: str
    slot: str
    value: str


# -- the function -----------------------------------------------------------------------------------------


class _Function:
    """Writes the function of one text and its types."""

    def __init__(self, state: State, op: Op) -> None:
        self.state, self.op = state, op
        self.pack: int = op.attrs.get("pack", 1)
        self.parsed: Constraints = parse_constraints(op.attrs["constraints"])
        self.results = [element_of(value.type) for value in op.results]
        self.operands = [element_of(value.type) for value in value_operands(op)]
        self.before: list[str] = []
        self.after: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        for element in (*self.results, *self.operands):
            state.include_for(element.element if isinstance(element, PointerType) else element)

    def type_of(self, element: Element) -> str:
        """C type of what is passed for one element, or for `pack` of them."""
        name = self.state.declare_type(element)
        if self.pack == 1:
            return name
        self.state.helper("vector")
        return f"Vector<{name}, {self.pack}>"

    def view(self, name: str) -> FunctionView:
        """Everything, for the template."""
        single = len(self.results) == 1
        letters = "abcdefghijklmnopqrstuvwxyz"
        parameters = (
            []
            if single
            else [f"{self.type_of(e)}& {_result_name(i, len(self.results))}" for i, e in enumerate(self.results)]
        )
        for i, element in enumerate(self.operands):
            only_read = isinstance(element, PointerType) and self.pack == 1 and not may_write(self.op)
            parameters.append(f"{'const ' if only_read else ''}{self.type_of(element)} {letters[i]}")
        position = 0
        for i, element in enumerate(self.results):
            position = self._declare_result(i, element, position, declare=single)
        position = 0
        for i, element in enumerate(self.operands):
            position = self._pass(letters[i], element, position)
        if single:
            self.after.append("return result;")
        lines = _asm_lines(self.op.attrs["asm"], self.parsed)
        pure = self.op.name == "asm" or bool(self.op.attrs.get("pure"))
        return FunctionView(
            remark=f"Inline PTX of {self.op.span.short()}." if self.op.span.line else "Inline PTX of the kernel.",
            result=self.type_of(self.results[0]) if single else "void",
            name=name,
            parameters=tuple(parameters),
            before=tuple(self.before),
            keyword="asm" if pure else "asm volatile",
            lines=tuple(f'"{c_text(line)}"' for line in lines),
            operands=self._sections(", ".join(f'"{name}"' for name in self._clobbers(pure))),
            after=tuple(self.after),
        )

    def _sections(self, clobbers: str) -> tuple[str, ...]:
        """Outputs, inputs and clobbers as lines that begin with a colon; what is too long for one line has several."""
        sections = [", ".join(self.outputs), ", ".join(self.inputs), clobbers]
        while sections and not sections[-1]:
            sections.pop()
        return tuple(f": {section}".rstrip() for section in sections)

    def _clobbers(self, pure: bool) -> list[str]:
        named = [name for name in self.parsed.clobbers if name == "memory"]
        touches = re.search(
            r"\b(?:ld|st|atom|red|multimem|fence|membar|bar|barrier|mbarrier|cp|griddepcontrol)\b", self.op.attrs["asm"]
        )
        return named or (["memory"] if touches and not pure else [])

    def _declare_result(self, index: int, element: Element, position: int, declare: bool) -> int:
        """The variables that the registers of one result go to; they become the result behind the statement."""
        name = _result_name(index, len(self.results))
        count = elements_per_register(element, self.pack)
        number = registers_of(element, self.pack)
        if declare:
            self.before.append(f"{self.type_of(element)} {name};")
        for register in range(number):
            letter = self.parsed.outputs[position + register]
            spelled = _spelled(element, letter, count)
            mark = "=&" if self.parsed.early[position + register] else "="
            mark = "+" if str(position + register) in self.parsed.inputs else mark
            target = name if self.pack == 1 else f"{name}[{register * count}]"
            if count == 1 and _goes_directly(element, letter):
                self.outputs.append(f'"{mark}{spelled}"({target})')
                continue
            word = f"{name}_word" if number == 1 else f"{name}_word_{register}"
            self.before.append(f"{_WORDS[REGISTER_BITS[spelled]]} {word};")
            self.outputs.append(f'"{mark}{spelled}"({word})')
            if count == 1:
                self.after.append(f"{target} = {self._from_word(element, letter, word)};")
                continue
            if self._is_partial(element, count, spelled):
                self.after.append(f"const unsigned {word}_wide = {word};")
                word = f"{word}_wide"
            self.after.append(f"memcpy(&{target}, &{word}, {self._bytes(element, count)});")
        return position + number

    def _pass(self, name: str, element: Element, position: int) -> int:
        """The registers of one argument."""
        count = elements_per_register(element, self.pack)
        number = registers_of(element, self.pack)
        for register in range(number):
            letter = self.parsed.inputs[position + register]
            kind = self.parsed.outputs[int(letter)] if letter.isdigit() else letter
            spelled = _spelled(element, kind, count)
            source = name if self.pack == 1 else f"{name}[{register * count}]"
            if letter.isdigit():
                self._tie(self.outputs[int(letter)], element, kind, source, count)
                continue
            if count == 1:
                value = source if _goes_directly(element, kind) else self._as_word(element, kind, source)
                self.inputs.append(f'"{spelled}"({value})')
                continue
            word = f"{name}_word" if number == 1 else f"{name}_word_{register}"
            data_bits = 8 * self._bytes(element, count)
            is_cut = data_bits > REGISTER_BITS[spelled]
            type_ = "unsigned" if is_cut else _WORDS[REGISTER_BITS[spelled]]
            self.before.append(f"{type_} {word} = 0;" if data_bits < REGISTER_BITS[spelled] else f"{type_} {word};")
            self.before.append(f"memcpy(&{word}, &{source}, {self._bytes(element, count)});")
            value = f"static_cast<{_WORDS[REGISTER_BITS[spelled]]}>({word})" if is_cut else word
            self.inputs.append(f'"{spelled}"({value})')
        return position + number

    def _tie(self, output: str, element: Element, letter: str, source: str, count: int) -> None:
        """An argument that shares the register of an output: the output's variable starts with it."""
        mark, _, variable = output.rstrip(")").partition("(")
        spelled = mark.strip('"=+&')
        if count > 1:
            self.before.append(f"memcpy(&{variable}, &{source}, {self._bytes(element, count)});")
            return
        if spelled == _spelled(element, letter, 1) and _goes_directly(element, letter):
            value = source
        else:
            value = self._as_word(element, {"f": "r", "d": "l"}.get(letter, letter), source)
            cast = {"f": "__uint_as_float({})", "d": "__longlong_as_double(static_cast<long long>({}))"}
            value = cast.get(spelled, "{}").format(value)
        self.before.append(f"{variable} = {value};")

    @staticmethod
    def _bytes(element: Element, count: int) -> int:
        return count * (8 if isinstance(element, PointerType) else element.bytes)

    def _is_partial(self, element: Element, count: int, letter: str) -> bool:
        """Whether the register holds fewer bits than the elements that share it."""
        return 8 * self._bytes(element, count) > REGISTER_BITS[letter]

    def _as_word(self, element: Element, letter: str, text: str) -> str:
        """One element as the integer that its register holds: its bits, cut or with zeros above."""
        width = REGISTER_BITS[_spelled(element, letter, 1)]
        word = _WORDS[width]
        if element is BOOL:
            if letter == "b":
                return f"static_cast<unsigned>({text})"
            return f"static_cast<{word}>({text} ? -1 : 0)"
        bits, own = self._bits_of(element, text)
        if letter == "b":
            return f"static_cast<unsigned>({bits} & 1)"
        if isinstance(element, PointerType) and width == 64:
            return text
        return bits if own == width and not isinstance(element, PointerType) else f"static_cast<{word}>({bits})"

    def _bits_of(self, element: Element, text: str) -> tuple[str, int]:
        """The bits of an element as an unsigned integer, and how many they are."""
        if isinstance(element, PointerType):
            return f"reinterpret_cast<unsigned long long>({text})", 64
        if element in _AS_BITS:
            return f"{_AS_BITS[element]}({text})", element.bits
        if element.is_floating():
            return f"{self.state.helper('bit_cast')}<{_WORDS[element.bits]}>({text})", element.bits
        return (f"static_cast<{_WORDS[element.bits]}>({text})" if element.is_int_signed() else text), element.bits

    def _from_word(self, element: Element, letter: str, text: str) -> str:
        """The element that a register's integer stands for."""
        width = REGISTER_BITS[_spelled(element, letter, 1)]
        if element is BOOL:
            return f"{text} != 0" if letter == "b" else f"({text} & 1) != 0"
        if letter == "b":
            text, width = f"-static_cast<int>({text})", 0
        own = 64 if isinstance(element, PointerType) else element.bits
        bits = text if width == own else f"static_cast<{_WORDS[own]}>({text})"
        if isinstance(element, PointerType):
            return f"reinterpret_cast<{self.state.declare_type(element)}>({bits})"
        if element in _FROM_BITS:
            return f"{_FROM_BITS[element]}({bits})"
        if element.is_floating():
            return f"{self.state.helper('bit_cast')}<{element.cuda}>({bits})"
        return f"static_cast<{element.cuda}>({text})"


def _result_name(index: int, count: int) -> str:
    return "result" if count == 1 else f"result_{index}"


def _spelled(element: Element, letter: str, count: int) -> str:
    """The constraint in CUDA: a register of bits, except where a float of the register's width is alone in it."""
    if letter == "b" or (letter == "f" and not (element is F32 and count == 1)):
        return "r"
    return "l" if letter == "d" and not (element is F64 and count == 1) else letter


def _goes_directly(element: Element, letter: str) -> bool:
    """Whether asm takes a variable of this type, alone, for the register."""
    if letter == "b" or element is BOOL or isinstance(element, PointerType):
        return False
    spelled = _spelled(element, letter, 1)
    if spelled in ("f", "d"):
        return True
    return element.is_int() and element.bits == REGISTER_BITS[spelled]


def _numbers(parsed: Constraints) -> list[int]:
    """The number in CUDA's statement of each operand: an input that shares an output's register has that one's."""
    numbers = list(range(len(parsed.outputs)))
    following = len(numbers)
    for letter in parsed.inputs:
        if letter.isdigit():
            numbers.append(int(letter))
        else:
            numbers.append(following)
            following += 1
    return numbers


def _asm_lines(text: str, parsed: Constraints) -> list[str]:
    """The text in CUDA's spelling, one entry a line: operands as %0, percent signs doubled, predicates in registers."""
    count = len(parsed.outputs) + len(parsed.inputs)
    letters = [*parsed.outputs, *(parsed.outputs[int(i)] if i.isdigit() else i for i in parsed.inputs)]

    numbers = _numbers(parsed)

    def operand(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        number = int(match[1])
        return f"operand_{number}" if letters[number] == "b" else f"%{numbers[number]}"

    spelled = re.sub(r"\$(\$|\d+)", operand, text.replace("%", "%%"))
    lines = [line.rstrip() for line in textwrap.dedent(spelled.strip("\n")).split("\n") if line.strip()]
    predicates = [i for i in range(count) if letters[i] == "b"]
    if predicates:
        names = ", ".join(f"operand_{i}" for i in predicates)
        loads = [f"setp.ne.u32 operand_{i}, %{numbers[i]}, 0;" for i in predicates if i >= len(parsed.outputs)]
        saves = [f"selp.u32 %{numbers[i]}, 1, 0, operand_{i};" for i in predicates if i < len(parsed.outputs)]
        lines = ["{", f".reg .pred {names};", *loads, *lines, *saves, "}"]
    lines = [line.strip() if position == 0 else line for position, line in enumerate(lines)] or [""]
    return [line + "\n" if position + 1 < len(lines) else line for position, line in enumerate(lines)]


def asm_function(state: State, op: Op) -> str:
    """The name of the function around a text, which is written when first asked for."""
    key = (
        op.attrs["asm"],
        op.attrs["constraints"],
        op.attrs.get("pack", 1),
        op.attrs.get("pure", True),
        *(str(element_of(v.type)) for v in (*op.results, *value_operands(op))),
        len(op.results),
    )
    known = state.functions.get(key)
    if known is not None:
        return known[0]
    match = _MNEMONIC.search("\n" + re.sub(r"\.reg[^;]*;", "", op.attrs["asm"]))
    name = state.names.fresh(f"asm_{match['name'] if match else 'nothing'}", 0)
    view = _Function(state, op).view(name)
    text = render_template(TEMPLATE, op.span, op.name, function=view).strip("\n")
    state.functions[key] = (name, text)
    return name


@rule("asm")
def _asm(state: State, op: Op, args: list[C]) -> C:
    return call(asm_function(state, op), *args)


# -- several results, several elements at once, effects ---------------------------------------------------


def emit_asm_block(state: State, op: Op) -> None:
    """Calls of the function for every element, or every `pack` of them."""
    state.comment(op.span)
    if any(is_tile(v) for v in (*op.operands, *op.results)):
        _Tiles(state, op).emit()
    else:
        _emit_scalars(state, op)


def _emit_scalars(state: State, op: Op) -> None:
    """One call by every thread. What threads could see differently is the first thread's for all."""
    function = asm_function(state, op)
    pack = op.attrs["pack"]
    texts = [scalar_text(state, v).text for v in value_operands(op)]
    if pack > 1:
        fill = state.helper("fill_vector")
        texts = [f"{fill}<{pack}>({text})" for text in texts]
    used = [state.use_count(result) > 0 for result in op.results]
    if len(op.results) == 1:
        expr = f"{function}({', '.join(texts)})" + ("[0]" if pack > 1 else "")
        if not used[0]:
            statements.evaluate(state.block, expr, op.span)
            return
        _bind_scalar(state, op, 0, expr)
        return
    names = []
    for result in op.results:
        name = state.names.fresh(hint_for(state, result, op))
        type_ = state.declare_type(result.type)
        unused = "" if state.use_count(result) else "[[maybe_unused]] "
        statements.variable(state.block, unused + (f"Vector<{type_}, {pack}>" if pack > 1 else type_), name, op.span)
        names.append(name)
    statements.evaluate(state.block, f"{function}({', '.join([*names, *texts])})", op.span)
    for index, name in enumerate(names):
        if used[index]:
            _bind_scalar(state, op, index, name + ("[0]" if pack > 1 else ""))


def _bind_scalar(state: State, op: Op, index: int, text: str) -> None:
    result = op.results[index]
    scratch = op.attrs.get("num_scratch", 0)
    if not scratch:
        if text.isidentifier():
            state.scalars[result] = C(text)
            return
        name = state.names.fresh(hint_for(state, result, op))
        state.define_constant(result, name, text, op.span)
        state.scalars[result] = C(name)
        return
    slot = f"{state.buffers[op.operands[-scratch + index]].text}[0]"
    own = text
    if not text.isidentifier():
        own = state.names.fresh(f"own_{hint_for(state, result, op)}")
        state.define_constant(result, own, text, op.span)
    name = state.names.fresh(hint_for(state, result, op))
    view = SharedView(state.variable_type(result), name, slot, own)
    condition = first_thread(state).text
    statements.assign(state.block, slot, own, op.span, condition)
    write(state.block, TEMPLATE, "shared_by_all", view, op.span)
    state.scalars[result] = C(name)


class _Tiles:
    """Loops over a thread's elements of tiles."""

    def __init__(self, state: State, op: Op) -> None:
        self.state, self.op = state, op
        self.pack: int = op.attrs["pack"]
        first = next(v for v in (*op.results, *op.operands) if is_tile(v))
        self.layout = tile_layout(first)
        self.vec = self.layout.vector()[1]
        self.function = asm_function(state, op)
        self.used = [state.use_count(result) > 0 for result in op.results]
        self.only_effect = len(op.results) == 1 and not self.used[0]
        # One element of one result needs no loop, and no declaration of its own.
        self.is_plain = self.layout.num_registers == 1 and self.pack == 1 and len(op.results) == 1
        self.targets = [] if self.only_effect else [self._target(result) for result in op.results]

    def _target(self, result: Value) -> Registers:
        target = self.state.targets.get(result)
        if target is None:
            target = self.state.new_registers(result, hint_for(self.state, result, self.op))
            if self.is_plain:
                return replace(target, is_constant=True)
            type_, name = self.state.declarator(target, result)
            unused = "" if self.state.use_count(result) else "[[maybe_unused]] "
            statements.variable(self.state.block, unused + type_, name, self.op.span)
        return target

    def emit(self) -> None:
        """Write the loops and bind the results."""
        if self.pack == 1:
            self._each()
        else:
            self._groups()
        for result, registers in zip(self.op.results, self.targets, strict=False):
            self.state.registers[result] = registers

    def _each(self) -> None:
        def body(ev: Evaluator) -> None:
            texts = [ev.typed(v).text for v in self.op.operands]
            elements = [target.element("run", "k") for target in self.targets]
            call_text = f"{self.function}({', '.join(texts)})"
            if self.is_plain and self.targets and self.op.results[0] not in self.state.targets:
                type_, name = self.state.declarator(self.targets[0], self.op.results[0])
                statements.constant(ev.run_block, type_, name, call_text, self.op.span)
            elif len(elements) == 1:
                statements.assign(ev.run_block, elements[0], call_text, self.op.span)
            else:
                statements.evaluate(ev.run_block, f"{self.function}({', '.join([*elements, *texts])})", self.op.span)

        ev = Evaluator(self.state, self.layout, self.vec)
        self.state.block.splice(each_register(self.state, ev, body))

    def _stored(self, value: Value) -> Registers:
        """A tile in registers of the layout at hand; what is computed where it is used is put there first."""
        state = self.state
        known = state.registers.get(value)
        if known is not None and known.layout == self.layout:
            return known
        name = state.names.fresh(value.name or "argument")
        registers = Registers(name, self.layout, self.vec)
        type_ = state.tile_type(value, self.vec) if is_tile(value) else state.declare_type(value.type)
        extent = f"[{registers.runs}]" if registers.runs > 1 else ""
        statements.variable(state.block, type_, name + extent, self.op.span)
        ev = Evaluator(state, self.layout, self.vec)

        def body(ev: Evaluator) -> None:
            statements.assign(ev.run_block, registers.element("run", "k"), ev.c(value).text, self.op.span)

        state.block.splice(each_register(state, ev, body))
        return registers

    def _groups(self) -> None:
        state = self.state
        sources = [self._stored(v) for v in self.op.operands]
        if self.vec == self.pack and not self.only_effect:
            self._whole_vectors(sources)
            return
        count = self.layout.num_registers
        owned = count if count < self.pack else 0
        with state.names.scope():
            group, e = state.names.fresh("group"), state.names.fresh("e")
            index = e if count <= self.pack else f"{self.pack} * {group} + {e}"
            if owned:
                index = f"{e} < {count} ? {e} : {count - 1}" if count > 1 else "0"
            gathers = tuple(
                (
                    f"Vector<{state.declare_type(v.type)}, {self.pack}>",
                    state.names.fresh(f"{r.name}_group"),
                    self._at(r, index),
                )
                for v, r in zip(self.op.operands, sources, strict=True)
            )
            own = e if owned or count <= self.pack else index
            results = tuple(
                (
                    f"Vector<{state.declare_type(v.type)}, {self.pack}>",
                    state.names.fresh(f"{r.name}_group"),
                    self._at(r, own),
                )
                for v, r in zip(self.op.results, self.targets, strict=True)
            )
            arguments = [name for _, name, _ in gathers]
            if len(results) == 1:
                text = f"{results[0][1]} = {self.function}({', '.join(arguments)})"
            else:
                text = f"{self.function}({', '.join([*(name for _, name, _ in results), *arguments])})"
            groups = max(1, count // self.pack)
            view = GroupsView(group, e, groups, self.pack, gathers, results, text, owned)
            write(state.block, TEMPLATE, "groups", view, self.op.span)

    def _at(self, registers: Registers, index: str) -> str:
        """Element of a thread's registers by its number."""
        runs, vec = registers.runs, registers.vec
        plain = f"({index})" if " " in index else index
        if vec == 1:
            return registers.element(index, "0")
        if runs == 1:
            return registers.element("0", index)
        return registers.element(f"{plain} / {vec}", f"{plain} % {vec}")

    def _whole_vectors(self, sources: Sequence[Registers]) -> None:
        """A group is what one step of the loop over runs holds."""
        runs = self.targets[0].runs
        texts = [source.vector("run") for source in sources]
        elements = [target.vector("run") for target in self.targets]
        if len(elements) == 1:
            statements.assign_each_run(
                self.state.block, elements[0], f"{self.function}({', '.join(texts)})", runs, self.op.span
            )
            return
        body = Block(self.state.block.depth + (runs > 1))
        statements.evaluate(body, f"{self.function}({', '.join([*elements, *texts])})", self.op.span)
        statements.loop_nest(self.state.block, [("run", runs)] if runs > 1 else [], body, self.op.span, short=True)
