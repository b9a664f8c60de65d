"""Coordinates of tensor copies at which the copy engine faults, as far as they are known before a launch.

The innermost coordinate of a box must be a multiple of 16 bytes, and no coordinate of a box that is stored may be negative.
Where rows of a tensor end within 16 bytes, a box that is stored across their end writes all of these, beyond the tensor.
A copy is judged when every execution breaks a rule (`fault`). Of others, `doubts` says what is not known to hold, which is
asked when the kernel runs. Numbers of programs, extents, and what is counted or computed from these without subtraction
count as natural numbers, for arithmetic that wraps leads to no place in a tensor; so do quotients of such by variables, and
the number of a program counted from the last one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.analysis.axis_domain import AxisInfo, power_of_two_divisor
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import DType

COORDINATE_BYTES = 16
"""What the innermost coordinate is a multiple of, and the unit that the engine writes."""

_DEEPEST = 64  # operations behind which only the divisibility of a value counts

_Residue = tuple[int, int]  # a power of two, up to COORDINATE_BYTES, and the remainder of a value by it

_COUNTS = frozenset(("program_id", "num_programs", "cluster_rank"))
_OF_ALL = frozenset(("add", "mul", "min", "select", "hint", "cast", "idiv"))
"""Operations whose result is natural when all of their integer operands are."""
_OF_FIRST = frozenset(("rem", "shr", "shl"))


@dataclass(frozen=True, slots=True)
class Doubts:
    """What is not known of the coordinates of a copy.

    Attributes:
        negative: Dimensions along which a store may begin before the tensor.
        multiple: What the innermost coordinate may be no multiple of, in elements; 1 for no doubt.
        unit: Elements that a store writes at once, of which rows may hold no whole number; 1 for no doubt.
    """

    negative: tuple[int, ...]
    multiple: int
    unit: int

    def __bool__(self) -> bool:
        return bool(self.negative) or self.multiple > 1 or self.unit > 1


class TensorCoordinates:
    """What is known of the coordinates of a kernel's tensor copies."""

    def __init__(self, kernel: Kernel, definitions: Mapping[Value, Op]) -> None:
        self._kernel = kernel
        self._definitions = definitions
        self._loops = {op.regions[0].params[0]: op for op in walk(kernel.body) if op.name == "for"}
        self._found: Mapping[Value, AxisInfo] | None = None
        self._residues: dict[Value, _Residue] = {}
        self._carried = _carried(kernel.body)
        self._natural: set[Value] = set()
        for op in walk(kernel.body):
            if op.name in ("tma_load", "tma_store"):
                self._natural.update(tensor_copy(op).extents)

    def fault(self, op: Op) -> bool:
        """Whether a `tma_load` or `tma_store` is certain to make the copy engine fault."""
        copy = tensor_copy(op)
        if op.name == "tma_store" and any(self._is_negative(offset) for offset in copy.offsets):
            return True
        modulus, remainder = self._residue(copy.offsets[-1], 0)
        return remainder % min(modulus, COORDINATE_BYTES // copy.buffer_type.element.bytes) != 0

    def doubts(self, op: Op) -> Doubts:
        """What a `tma_load` or `tma_store` needs, and is not known to have."""
        copy = tensor_copy(op)
        negative: tuple[int, ...] = ()
        multiple = max(1, COORDINATE_BYTES // copy.buffer_type.element.bytes)
        unit = 1
        if op.name == "tma_store":
            negative = tuple(axis for axis, offset in enumerate(copy.offsets) if not self._is_natural(offset, frozenset()))
            if not self._is_multiple(copy.extents[-1], multiple):
                unit = multiple
        return Doubts(negative, 1 if self._is_multiple(copy.offsets[-1], multiple) else multiple, unit)

    def _is_multiple(self, value: Value, number: int) -> bool:
        modulus, remainder = self._residue(value, 0)
        return modulus % number == 0 and remainder % number == 0

    def _is_natural(self, value: Value, assumed: frozenset[Value]) -> bool:
        """Whether a value is 0 or more, given that others are."""
        least = self.info[value].lo if value in self.info else None
        if value in self._natural or value in assumed or (least is not None and least >= 0):
            return True
        if len(assumed) > _DEEPEST or not isinstance(value.type, DType) or not value.type.is_int():
            return False
        assumed |= {value}
        loop = self._loops.get(value)
        if loop is not None:
            return all(self._is_natural(loop.operands[i], assumed) for i in (0, 2))
        if value in self._carried:
            return all(self._is_natural(source, assumed) for source in self._carried[value])
        op = self._definitions.get(value)
        if op is None:
            return False
        if op.name in _COUNTS:
            return True
        operands = [v for v in value_operands(op) if isinstance(v.type, DType) and not v.type.is_bool()]
        if op.name in ("max", "and"):
            return any(self._is_natural(v, assumed) for v in operands)
        if op.name in _OF_FIRST:
            return self._is_natural(operands[0], assumed)
        if op.name == "idiv" and self.info[operands[1]].constant is None:
            return self._is_natural(operands[0], assumed)
        if op.name in ("add", "sub") and self._counts_from_last(value):
            return True
        return op.name in _OF_ALL and all(self._is_natural(v, assumed) for v in operands)

    def _counts_from_last(self, value: Value) -> bool:
        """Whether a value is `num_programs - 1 - program_id` along one axis of the grid, or more by a constant."""
        constant = 0
        axes: dict[str, list[int]] = {"num_programs": [], "program_id": []}
        todo = [(value, 1)]
        while todo:
            term, sign = todo.pop()
            known = self.info[term].constant
            op = self._definitions.get(term)
            if isinstance(known, int):
                constant += sign * known
            elif op is not None and op.name in ("add", "sub"):
                first, second = op.operands
                todo += [(first, sign), (second, sign if op.name == "add" else -sign)]
            elif op is not None and op.name == ("num_programs" if sign > 0 else "program_id"):
                axes[op.name].append(op.attrs["axis"])
            else:
                return False
            if max(map(len, axes.values())) > 1:
                return False
        return constant >= -1 and axes["program_id"] == axes["num_programs"]

    @property
    def info(self) -> Mapping[Value, AxisInfo]:
        """What is known of the kernel's values."""
        if self._found is None:
            self._found = axis_info(self._kernel)
        return self._found

    def _is_negative(self, value: Value) -> bool:
        most = self.info[value].hi
        return most is not None and most < 0

    def _residue(self, value: Value, depth: int) -> _Residue:
        if value not in self._residues:
            self._residues[value] = self._stronger(value, depth)
        return self._residues[value]

    def _stronger(self, value: Value, depth: int) -> _Residue:
        """The residue by the larger number: that of the operands, or zero where the value is known to be divisible."""
        info = self.info[value]
        if isinstance(info.constant, int):
            return COORDINATE_BYTES, int(info.constant) % COORDINATE_BYTES
        divisor = min(info.divisibility[0], COORDINATE_BYTES)
        made = self._of_operands(value, depth + 1) if depth < _DEEPEST else (1, 0)
        return made if made[0] > divisor else (divisor, 0)

    def _of_operands(self, value: Value, depth: int) -> _Residue:
        loop = self._loops.get(value)
        if loop is not None:
            first, step = self._residue(loop.operands[0], depth), self._residue(loop.operands[2], depth)
            return _reduced(first[1], first[0], *step)
        op = self._definitions.get(value)
        if op is None or op.name not in ("add", "sub", "mul", "cast") or not _has_residues(value):
            return 1, 0
        operands = value_operands(op)
        if not all(map(_has_residues, operands)):
            return 1, 0
        a, *others = (self._residue(operand, depth) for operand in operands)
        if not others:
            return a
        b = others[0]
        if op.name == "mul":
            return _reduced(a[1] * b[1], a[0] * b[0], a[0] * b[1], b[0] * a[1])
        return _reduced(a[1] + b[1] if op.name == "add" else a[1] - b[1], a[0], b[0])


def _has_residues(value: Value) -> bool:
    """Whether arithmetic of a value's type, which may wrap, keeps the remainders by `COORDINATE_BYTES`."""
    return isinstance(value.type, DType) and value.type.is_int() and not value.type.is_bool() and value.type.bits >= 8


def _reduced(number: int, *moduli: int) -> _Residue:
    """What is left of a number to which multiples of these numbers may be added."""
    modulus = power_of_two_divisor(math.gcd(COORDINATE_BYTES, *moduli))
    return modulus, number % modulus


def _carried(region: Region) -> dict[Value, list[Value]]:
    """What loops and branches hand on, and where it comes from."""
    found: dict[Value, list[Value]] = {}
    for op in walk(region):
        for targets, sources in handed_on(op):
            for target, source in zip(targets, sources, strict=True):
                found.setdefault(target, []).append(source)
    return found
