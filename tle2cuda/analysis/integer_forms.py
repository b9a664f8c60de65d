"""Integers as sums: what an index is made of, and on which loops it depends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.legality import is_pure
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import DType


@dataclass(frozen=True, slots=True)
class Sum:
    """Multiples of values, and a constant.

    Attributes:
        terms: Coefficients, none of them 0.
        constant: The constant.
    """

    terms: Mapping[Value, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Sum, sign: int = 1) -> Sum:
        """The sum of both, or the difference."""
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            terms[value] = terms.get(value, 0) + sign * factor
        return Sum({v: f for v, f in terms.items() if f}, self.constant + sign * other.constant)

    def times(self, factor: int) -> Sum:
        """A multiple of it."""
        return Sum({v: f * factor for v, f in self.terms.items()} if factor else {}, self.constant * factor)


class IntegerForms:
    """The sums of a kernel's scalar integers. Arithmetic counts as that of unbounded integers: places do not wrap."""

    def __init__(self, kernel: Kernel) -> None:
        self.definitions = definitions(kernel.body)
        self.loops: dict[Value, Op] = {}  # of each parameter of a loop's regions
        self.enclosing: dict[Op, tuple[Op, ...]] = {}  # loops around each operation, the outermost first
        self.steps: dict[Value, Sum] = {}  # what is added to a parameter from one iteration to the next
        self._sums: dict[Value, Sum] = {}
        self._depends: dict[Value, frozenset[Op]] = {}
        self._scan(kernel.body, ())
        for op in walk(kernel.body):
            if op.name == "for":
                self.steps[op.regions[0].params[0]] = self.sum(op.operands[2])
                for param, source in zip(op.regions[0].params[1:], op.regions[0].terminator.operands, strict=True):
                    step = self.sum(source).plus(Sum({param: 1}), -1)
                    if isinstance(param.type, DType) and self._is_step(step):
                        self.steps[param] = step

    def _scan(self, region: Region, loops: tuple[Op, ...]) -> None:
        for op in region.ops:
            self.enclosing[op] = loops
            inner = (*loops, op) if op.name in ("for", "while") else loops
            for each in op.regions:
                if op.name in ("for", "while"):
                    self.loops.update(dict.fromkeys(each.params, op))
                self._scan(each, inner)

    def moving(self, value: Value) -> tuple[Op, Sum] | None:
        """The loop that moves a term of a sum on, and by how much, which is not 0; None when it is not that simple."""
        if value in self.loops:
            return (self.loops[value], self.steps[value]) if value in self.steps else None
        op = self.definitions.get(value)
        if op is None or op.name != "mul":
            return None
        for first, other in (op.operands, op.operands[::-1]):
            form, factor = self.sum(first), self.sum(other)
            known = [self.moving(term) for term in form.terms if self.loops_of(term)]
            if len(known) != 1 or known[0] is None or self._varies(factor):
                continue
            (term,) = (term for term in form.terms if self.loops_of(term))
            loop, step = known[0]
            if not step.terms and self._is_count(factor):
                return loop, factor.times(step.constant * form.terms[term])
        return None

    def _varies(self, value: Sum) -> bool:
        return any(self.loops_of(term) for term in value.terms)

    def _is_count(self, value: Sum) -> bool:
        """Whether a sum is surely not 0: made of numbers of programs."""
        made = (self.definitions.get(term) for term in value.terms)
        is_made = all(op is not None and op.name == "num_programs" for op in made)
        return is_made and bool(value.terms) and min(value.terms.values()) > 0 <= value.constant

    def _is_step(self, step: Sum) -> bool:
        """Whether a step is the same in all iterations, and not 0."""
        if not step.terms:
            return step.constant != 0
        return self._is_count(step)

    def sum(self, value: Value) -> Sum:
        """The sum that a value is; of itself when nothing is known."""
        found = self._sums.get(value)
        if found is None:
            self._sums[value] = Sum({value: 1})  # while its operands are looked at
            found = self._sums[value] = self._made(value)
        return found

    def _made(self, value: Value) -> Sum:
        op = self.definitions.get(value)
        if op is None or not isinstance(value.type, DType) or not value.type.is_int():
            return Sum({value: 1})
        if op.name == "constant":
            return Sum({}, int(op.attrs["value"]))
        if op.name in ("cast", "hint"):
            source = op.operands[0].type
            return self.sum(op.operands[0]) if isinstance(source, DType) and source.is_int() else Sum({value: 1})
        if op.name in ("add", "sub"):
            a, b = map(self.sum, op.operands)
            return a.plus(b, 1 if op.name == "add" else -1)
        if op.name == "mul":
            a, b = map(self.sum, op.operands)
            if not a.terms or not b.terms:
                return b.times(a.constant) if not a.terms else a.times(b.constant)
        if op.name == "shl":
            a, b = map(self.sum, op.operands)
            if not b.terms and 0 <= b.constant < 31:
                return a.times(1 << b.constant)
        return Sum({value: 1})

    def loops_of(self, value: Value) -> frozenset[Op]:
        """The loops on whose iteration a value depends."""
        found = self._depends.get(value)
        if found is None:
            self._depends[value] = frozenset()
            found = self._depends[value] = self._loops(value)
        return found

    def _loops(self, value: Value) -> frozenset[Op]:
        if value in self.loops:
            loop = self.loops[value]
            sources = [s for targets, values in handed_on(loop) for t, s in zip(targets, values, strict=True) if t is value]
            outer = (self.loops_of(source) for source in (*sources, *loop.operands[:3]) if source is not value)
            return frozenset((loop,)).union(*outer)
        op = self.definitions.get(value)
        if op is None:
            return frozenset()
        if op.regions or not is_pure(op):
            return frozenset(self.enclosing[op])
        return frozenset().union(*(self.loops_of(operand) for operand in op.operands))
