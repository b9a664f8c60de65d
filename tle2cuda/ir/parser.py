"""Reads the text form of the IR back: the inverse of `tle2cuda.ir.printer`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, TypeVar

from tle2cuda.errors import IRError
from tle2cuda.ir.nodes import Argument, Kernel, Op, Region, Value
from tle2cuda.ir.printer import Opaque
from tle2cuda.ir.span import UNKNOWN, Span
from tle2cuda.ir.types import (
    GLOBAL,
    BarrierType,
    BufferType,
    DType,
    PipeType,
    PointerType,
    TensorMapType,
    TileType,
    Type,
)
from tle2cuda.targets import DEFAULT_STAGES

_REGION_WORDS = ("do", "then", "else", "before")
_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<layout>layout<[^>]*>)
    | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    | (?P<value>%\w+)
    | (?P<number>-?(?:\d+\.\d*(?:[eE][-+]?\d+)?|\d+(?:[eE][-+]?\d+)?|inf\b))
    | (?P<word>[A-Za-z_]\w*)
    | (?P<mark>[{}()\[\]<>,:=*@])
    """,
    re.VERBOSE,
)
_WORDS = {"True": True, "False": False, "None": None, "inf": float("inf"), "nan": float("nan")}
_Item = TypeVar("_Item")


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def parse_kernel(text: str) -> Kernel:
    """The kernel that `print_kernel` printed so. Legality is not checked: `verify` does that.

    Raises:
        IRError: The text is no kernel; the message names the line.
    """
    parser = _Parser(_tokens(text))
    kernel = parser.kernel()
    parser.expect_end()
    return kernel


def parse_type(text: str) -> Type:
    """The type that `print_type` printed so."""
    parser = _Parser(_tokens(text))
    type_ = parser.type()
    parser.expect_end()
    return type_


def _tokens(text: str) -> list[_Token]:
    tokens = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise IRError(f"IR text, line {line}: cannot read {text[position : position + 10]!r}")
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(_Token(kind, match.group(), line))
        line += match.group().count("\n")
        position = match.end()
    tokens.append(_Token("end", "the end of the text", line))
    return tokens


class _Parser:
    """Recursive descent over tokens; line breaks carry no meaning."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.scopes: list[dict[str, Value]] = [{}]

    # Tokens.

    @property
    def next(self) -> _Token:
        return self.tokens[self.position]

    def fail(self, expected: str, token: _Token | None = None) -> NoReturn:
        token = token or self.next
        found = token.text if token.kind == "end" else repr(token.text)
        raise IRError(f"IR text, line {token.line}: expected {expected}, found {found}")

    def take(self, kind: str, what: str) -> str:
        token = self.next
        if token.kind != kind:
            self.fail(what)
        self.position += 1
        return token.text

    def accept(self, text: str) -> bool:
        if self.next.text == text and self.next.kind in ("mark", "word"):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(repr(text))

    def expect_end(self) -> None:
        if self.next.kind != "end":
            self.fail("the end of the text")

    def listed(self, close: str, item: Callable[[], _Item]) -> list[_Item]:
        """Items separated by commas, up to and including `close`; a trailing comma is allowed."""
        items = []
        while not self.accept(close):
            items.append(item())
            if not self.accept(","):
                self.expect(close)
                break
        return items

    def integer(self, what: str = "an integer") -> int:
        token = self.next
        if token.kind != "number" or not re.fullmatch(r"-?\d+", token.text):
            self.fail(what)
        self.position += 1
        return int(token.text)

    # Types and data.

    def type(self) -> Type:
        if self.accept("buffer"):
            return self.buffer()
        if self.accept("barriers"):
            self.expect("<")
            count = self.integer()
            self.expect(">")
            return BarrierType(count)
        if self.accept("pipe"):
            return self.pipe()
        if self.accept("tensor_map"):
            return self.tensor_map()
        element: DType | PointerType
        if self.accept("*"):
            pointee = self.dtype()
            space = self.take("word", "an address space") if self.accept("@") else GLOBAL
            element = PointerType(pointee, space)
        else:
            element = self.dtype()
        if not self.accept("["):
            return element
        shape = tuple(self.listed("]", self.integer))
        if self.next.kind != "layout":
            return TileType(shape, element)
        from tle2cuda.layout import Layout, LayoutError

        token = self.next
        try:
            layout = Layout.parse(self.take("layout", "a layout"))
        except LayoutError as error:
            raise IRError(f"IR text, line {token.line}: {error}") from error
        return TileType(shape, element, layout)

    def dtype(self) -> DType:
        token = self.next
        try:
            dtype = DType(token.text)
        except ValueError:
            self.fail("a type")
        self.position += 1
        return dtype

    def tensor_map(self) -> TensorMapType:
        self.expect("<")
        element = self.dtype()
        self.expect("[")
        box = tuple(self.listed("]", self.integer))
        self.expect(">")
        return TensorMapType(element, box)

    def buffer(self) -> BufferType:
        self.expect("<")
        element = self.dtype()
        self.expect("[")
        shape = tuple(self.listed("]", self.integer))
        storage, remote, logical = "row_major", False, None
        while not self.accept(">"):
            word = self.take("word", "'mma', 'remote', 'logical' or '>'")
            if word == "remote":
                remote = True
            elif word == "logical":
                self.expect("[")
                logical = tuple(self.listed("]", self.integer))
            else:
                storage = word
        return BufferType(shape, element, storage, remote, logical)

    def pipe(self) -> PipeType:
        self.expect("<")
        capacity = self.integer()
        fields = []
        while self.accept(","):
            name = self.take("word", "the name of a field")
            self.expect(":")
            if not self.accept("buffer"):
                self.fail("a buffer")
            fields.append((name, self.buffer()))
        self.expect(">")
        return PipeType(capacity, tuple(fields))

    def data(self) -> Any:
        token = self.next
        if token.kind == "number":
            self.position += 1
            return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)
        if token.kind == "string":
            self.position += 1
            return ast.literal_eval(token.text)
        if token.text in _WORDS:
            self.position += 1
            return _WORDS[token.text]
        if self.accept("opaque"):
            return Opaque(str(ast.literal_eval(self.take("string", "a string"))))
        if self.accept("("):
            return tuple(self.listed(")", self.data))
        if self.accept("["):
            return self.listed("]", self.data)
        if token.kind != "word" and token.text != "*":
            self.fail("a value")
        return self.type()

    def attributes(self) -> dict[str, Any]:
        def entry() -> tuple[str, Any]:
            name = self.take("word", "the name of an attribute")
            self.expect("=")
            return name, self.data()

        return dict(self.listed("}", entry)) if self.accept("{") else {}

    # Values and operations.

    def use(self) -> Value:
        token = self.next
        name = self.take("value", "a value such as %x")
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        raise IRError(f"IR text, line {token.line}: {name} is not defined here")

    def define(self, name: str, type_: Type, span: Span, line: int) -> Value:
        if any(name in scope for scope in self.scopes):
            raise IRError(f"IR text, line {line}: {name} is defined twice")
        value = Value(type_, "" if name[1:].isdigit() else name[1:], span)
        self.scopes[-1][name] = value
        return value

    def parameter(self) -> Value:
        line = self.next.line
        name = self.take("value", "a parameter such as %x")
        self.expect(":")
        return self.define(name, self.type(), UNKNOWN, line)

    def location(self) -> Span:
        if not (self.next.text == "loc" and self.accept("loc")):
            return UNKNOWN
        self.expect("(")
        file = str(ast.literal_eval(self.take("string", "a file name")))
        self.expect(":")
        line = self.integer()
        self.expect(":")
        column = self.integer()
        self.expect(")")
        return Span(file, line, column - 1)

    def op(self) -> Op:
        line = self.next.line
        names: list[str] = []
        if self.next.kind == "value":
            names.append(self.take("value", "a value"))
            while self.accept(","):
                names.append(self.take("value", "a value"))
            self.expect("=")
        name = self.take("word", "an operation")
        operands = []
        if self.next.kind == "value" and not self._starts_definition():
            operands.append(self.use())
            while self.accept(","):
                operands.append(self.use())
        attrs = self.attributes()
        types: list[Type] = []
        if self.accept(":"):
            types.append(self.type())
            while self.accept(","):
                types.append(self.type())
        if len(types) != len(names):
            raise IRError(f"IR text, line {line}: {name} has {len(names)} results but {len(types)} types")
        regions = []
        while self.next.text in _REGION_WORDS:
            self.position += 1
            regions.append(self.region())
        span = self.location()
        results = tuple(self.define(n, t, span, line) for n, t in zip(names, types, strict=True))
        return Op(name, tuple(operands), results, MappingProxyType(attrs), tuple(regions), span)

    def _starts_definition(self) -> bool:
        """Whether the value ahead begins the next operation (``barrier`` followed by ``%x = ...``)."""
        ahead = self.position + 1
        while self.tokens[ahead].text == "," and self.tokens[ahead + 1].kind == "value":
            ahead += 2
        return self.tokens[ahead].text == "="

    def region(self) -> Region:
        self.scopes.append({})
        params = tuple(self.listed(")", self.parameter)) if self.accept("(") else ()
        self.expect("{")
        ops = []
        while not self.accept("}"):
            ops.append(self.op())
        self.scopes.pop()
        return Region(params, tuple(ops))

    def argument(self) -> Argument:
        value = self.parameter()
        return Argument(value, self.integer() if self.accept("divisibility") else 1)

    def kernel(self) -> Kernel:
        self.expect("kernel")
        name = self.take("word", "the kernel's name")
        self.expect("(")
        args = tuple(self.listed(")", self.argument))
        constants = self.attributes() if self.accept("constants") else {}
        num_warps, cluster, target = 4, (1, 1, 1), "sm_90a"
        if self.accept("num_warps"):
            num_warps = self.integer()
        num_stages = self.integer() if self.accept("num_stages") else DEFAULT_STAGES
        if self.accept("cluster"):
            self.expect("(")
            cluster = self.three(self.listed(")", self.integer))
        cooperative = self.accept("cooperative")
        if self.accept("target"):
            target = str(ast.literal_eval(self.take("string", "an architecture")))
        body = self.region()
        span = self.location()
        return Kernel(
            name, args, body, MappingProxyType(constants), num_warps, num_stages, None, cluster, cooperative, target, span
        )

    def three(self, extents: list[int]) -> tuple[int, int, int]:
        if len(extents) != 3:
            self.fail("three extents of a cluster before this")
        return extents[0], extents[1], extents[2]
