"""Which values a host can compute from the arguments of a launch, as text that C++ and a launch contract read.

Arithmetic is taken as exact: an argument whose product overflows 32 bits in the kernel does not on the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.ir.kinds import is_integer
from tle2cuda.ir.nodes import Kernel, Op, Value
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import DType, PointerType

_PRIMARY, _MUL, _ADD = 3, 2, 1
_SIGNS: Mapping[str, tuple[str, int]] = {
    "add": ("+", _ADD),
    "sub": ("-", _ADD),
    "mul": ("*", _MUL),
    "idiv": ("/", _MUL),
    "rem": ("%", _MUL),
}
_LONGEST = 200  # characters: beyond, a text helps nobody


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    level: int = _PRIMARY

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


class ArgumentExpressions:
    """Texts of the integers and pointers of a kernel that its arguments alone decide."""

    def __init__(self, kernel: Kernel) -> None:
        self._definitions = definitions(kernel.body)
        self._arguments = {argument.value: argument.name for argument in kernel.args}
        self._known: dict[Value, _Text | None] = {}

    def integer(self, value: Value) -> str | None:
        """An integer scalar as an expression; None when the host cannot compute it."""
        found = self._integer(value)
        return None if found is None or len(found.text) > _LONGEST else found.text

    def pointer(self, value: Value) -> tuple[Value, str] | None:
        """The argument that a scalar pointer starts from, and how many of its elements further it points."""
        offsets: list[_Text] = []
        while value not in self._arguments:
            op = self._definitions.get(value)
            if op is None or not isinstance(value.type, PointerType):
                return None
            if op.name == "ptr_add":
                offset = self._integer(op.operands[1])
                if offset is None:
                    return None
                offsets.append(offset)
            elif op.name != "hint" and not (op.name in ("bitcast", "cast") and _same_size(op)):
                return None
            value = op.operands[0]
        text = " + ".join(offset.at(_ADD) for offset in reversed(offsets) if offset.text != "0")
        return value, text or "0"

    def _integer(self, value: Value) -> _Text | None:
        if value not in self._known:
            self._known[value] = None
            self._known[value] = self._of(value)
        return self._known[value]

    def _of(self, value: Value) -> _Text | None:
        if not isinstance(value.type, DType) or not is_integer(value.type):
            return None
        if value in self._arguments:
            return _Text(self._arguments[value])
        op = self._definitions.get(value)
        if op is None:
            return None
        if op.name == "constant":
            number = int(op.attrs["value"])
            return _Text(str(number), _PRIMARY if number >= 0 else _ADD)
        if op.name == "hint" or (op.name == "cast" and _keeps_value(op)):
            return self._integer(op.operands[0])
        if op.name in _SIGNS:
            sign, level = _SIGNS[op.name]
            parts = [self._integer(operand) for operand in op.operands]
            if parts[0] is None or parts[1] is None:
                return None
            return _Text(f"{parts[0].at(level)} {sign} {parts[1].at(level + 1)}", level)
        if op.name in ("min", "max"):
            parts = [self._integer(operand) for operand in op.operands]
            if parts[0] is None or parts[1] is None:
                return None
            return _Text(f"{op.name}({parts[0].text}, {parts[1].text})")
        return None


def _keeps_value(op: Op) -> bool:
    """Whether a cast widens an integer, or leaves it."""
    source, target = op.operands[0].type, op.results[0].type
    if not isinstance(source, DType) or not isinstance(target, DType) or not is_integer(source):
        return False
    if source.is_int_signed() and not target.is_int_signed():
        return False
    return target.bits > source.bits or target is source


def _same_size(op: Op) -> bool:
    source, target = op.operands[0].type, op.results[0].type
    return (
        isinstance(source, PointerType) and isinstance(target, PointerType) and source.element.bytes == target.element.bytes
    )
