"""Coordinates of tensor copies at which the copy engine faults, as far as they are known before a launch.

The innermost coordinate of a box must be a multiple of 16 bytes, and no coordinate of a box that is stored may be negative.
A coordinate is judged when every execution breaks a rule; one that nothing is known of is the caller's to keep right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tle2cuda.analysis.axis_domain import AxisInfo, power_of_two_divisor
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import DType

COORDINATE_BYTES = 16
"""What the innermost coordinate is a multiple of."""

_DEEPEST = 64  # operations behind which only the divisibility of a value counts

_Residue = tuple[int, int]  # a power of two, up to COORDINATE_BYTES, and the remainder of a value by it


class TensorCoordinates:
    """What is known of the coordinates of a kernel's tensor copies."""

    def __init__(self, kernel: Kernel, definitions: Mapping[Value, Op]) -> None:
        self._kernel = kernel
        self._definitions = definitions
        self._loops = {op.regions[0].params[0]: op for op in walk(kernel.body) if op.name == "for"}
        self._found: Mapping[Value, AxisInfo] | None = None
        self._residues: dict[Value, _Residue] = {}

    def fault(self, op: Op) -> bool:
        """Whether a `tma_load` or `tma_store` is certain to make the copy engine fault."""
        copy = tensor_copy(op)
        if op.name == "tma_store" and any(self._is_negative(offset) for offset in copy.offsets):
            return True
        modulus, remainder = self._residue(copy.offsets[-1], 0)
        return remainder % min(modulus, COORDINATE_BYTES // copy.buffer_type.element.bytes) != 0

    @property
    def _info(self) -> Mapping[Value, AxisInfo]:
        if self._found is None:
            self._found = axis_info(self._kernel)
        return self._found

    def _is_negative(self, value: Value) -> bool:
        most = self._info[value].hi
        return most is not None and most < 0

    def _residue(self, value: Value, depth: int) -> _Residue:
        if value not in self._residues:
            self._residues[value] = self._stronger(value, depth)
        return self._residues[value]

    def _stronger(self, value: Value, depth: int) -> _Residue:
        """The residue by the larger number: that of the operands, or zero where the value is known to be divisible."""
        info = self._info[value]
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
