"""The IR as text a person can read, and `tle2cuda.ir.parser` can read back.

    kernel add(%x: *fp32 divisibility 16, %n: i32) constants {BLOCK = 1024} num_warps 4 target "sm_90a" {
      %pid = program_id {axis = 0} : i32
      %offsets = arange {start = 0, end = 1024} : i32[1024]
      %total = for %lower, %upper, %step, %zero : i32 do (%i: i32, %acc: i32) {
        yield %acc
      }
      ...
    }

Layouts follow the tile type they belong to, in the text form of `tle2cuda.layout`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tle2cuda.ir.kinds import DATA_TYPES
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.span import UNKNOWN, Span
from tle2cuda.ir.types import BarrierType, BufferType, PipeType, PointerType, TensorMapType, TileType, Type
from tle2cuda.targets import DEFAULT_STAGES

REGION_KEYWORDS = {"if": ("then", "else"), "while": ("before", "do")}
"""Words before each region of an operation; all others say `do`."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A constant whose object text cannot bring back, such as a device mesh; it keeps how it was printed."""

    text: str


def print_kernel(kernel: Kernel, *, spans: bool = False) -> str:
    """The whole kernel as text; with `spans` every operation ends in ``loc(file:line:column)``."""
    return _Printer(spans).kernel(kernel)


def print_op(op: Op) -> str:
    """One operation with its regions as text; values from outside get names of their own."""
    printer = _Printer(spans=False)
    return "\n".join(printer.op(op, ""))


def print_type(type_: Type) -> str:
    """A type as text, its layout included."""
    if isinstance(type_, TileType):
        text = f"{print_type(type_.element)}[{', '.join(map(str, type_.shape))}]"
        return text if type_.layout is None else f"{text} {type_.layout}"
    if isinstance(type_, BufferType):
        words = [f"{type_.element.short}[{', '.join(map(str, type_.shape))}]"]
        if type_.storage != "row_major":
            words.append(type_.storage)
        if type_.remote:
            words.append("remote")
        if type_.logical_shape is not None:
            words.append(f"logical [{', '.join(map(str, type_.logical_shape))}]")
        return f"buffer<{' '.join(words)}>"
    if isinstance(type_, PipeType):
        fields = (f"{name}: {print_type(field)}" for name, field in type_.fields)
        return f"pipe<{', '.join((str(type_.capacity), *fields))}>"
    if isinstance(type_, (PointerType, BarrierType, TensorMapType)):
        return str(type_)
    return type_.short


def print_data(value: Any) -> str:
    """An attribute or constant as text."""
    if isinstance(value, DATA_TYPES):
        return print_type(value)
    if isinstance(value, tuple):
        items = ", ".join(map(print_data, value))
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, list):
        return f"[{', '.join(map(print_data, value))}]"
    if isinstance(value, Opaque):
        return f"opaque {value.text!r}"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    return f"opaque {repr(value)!r}"


def _attributes(attrs: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name} = {print_data(value)}" for name, value in attrs.items()) + "}"


class _Printer:
    """Gives every value a unique name: the user's, suffixed on a clash, or a number."""

    def __init__(self, spans: bool) -> None:
        self.spans = spans
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.count = 0

    def name(self, value: Value) -> str:
        found = self.names.get(value)
        if found is not None:
            return found
        hint = re.sub(r"\W", "_", value.name)
        if hint and not hint[0].isdigit():
            name, suffix = hint, 0
            while name in self.taken:
                suffix += 1
                name = f"{hint}_{suffix}"
        else:
            name = str(self.count)
            self.count += 1
        self.taken.add(name)
        self.names[value] = "%" + name
        return "%" + name

    def values(self, values: Iterable[Value]) -> str:
        return ", ".join(self.name(value) for value in values)

    def params(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self.name(value)}: {print_type(value.type)}" for value in values)

    def kernel(self, kernel: Kernel) -> str:
        args = []
        for argument in kernel.args:
            text = self.params([argument.value])
            args.append(text if argument.divisibility == 1 else f"{text} divisibility {argument.divisibility}")
        words = [f"kernel {kernel.name}({', '.join(args)})"]
        if kernel.constants:
            words.append(f"constants {_attributes(kernel.constants)}")
        words.append(f"num_warps {kernel.num_warps}")
        if kernel.num_stages != DEFAULT_STAGES:
            words.append(f"num_stages {kernel.num_stages}")
        if kernel.cluster_dims != (1, 1, 1):
            words.append(f"cluster {print_data(tuple(kernel.cluster_dims))}")
        if kernel.cooperative:
            words.append("cooperative")
        words.append(f'target "{kernel.target}"')
        lines = [" ".join(words) + " {"]
        for op in kernel.body.ops:
            lines += self.op(op, "  ")
        return "\n".join([*lines, "}" + self.location(kernel.span)]) + "\n"

    def op(self, op: Op, indent: str) -> list[str]:
        """The lines of one operation."""
        text = op.name
        if op.operands:
            text += f" {self.values(op.operands)}"
        if op.attrs:
            text += f" {_attributes(op.attrs)}"
        if op.results:
            text += f" : {', '.join(print_type(result.type) for result in op.results)}"
        if not op.regions:
            head = f"{self.values(op.results)} = " if op.results else ""
            return [f"{indent}{head}{text}{self.location(op.span)}"]
        inner: list[str] = []
        keywords = REGION_KEYWORDS.get(op.name, ("do",) * len(op.regions))
        for number, (keyword, region) in enumerate(zip(keywords, op.regions, strict=True)):
            opening = f"{keyword} {self.region_head(region)}{{"
            if number == 0:
                text += f" {opening}"
            else:
                inner[-1] += f" {opening}"
            for inside in region.ops:
                inner += self.op(inside, indent + "  ")
            inner.append(f"{indent}}}")
        inner[-1] += self.location(op.span)
        # Results are named behind the regions, in the order in which the parser meets their definitions.
        head = f"{self.values(op.results)} = " if op.results else ""
        return [f"{indent}{head}{text}", *inner]

    def region_head(self, region: Region) -> str:
        return f"({self.params(region.params)}) " if region.params else ""

    def location(self, span: Span) -> str:
        if not self.spans or span == UNKNOWN:
            return ""
        return f" loc({span.file_name!r}:{span.line}:{span.column + 1})"
