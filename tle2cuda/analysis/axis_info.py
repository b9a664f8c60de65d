"""What is known about index values: runs of neighbours, divisors, runs of equal values, constants and ranges.

A forward dataflow over the structured IR. Loops iterate to a fixpoint; ranges are widened to the bounds of
the type when they keep growing. The rules of the operations stand in `axis_rules` and `axis_shape_rules`.

Per dimension of a tile, and with scalars counted as tiles of one element:

- **contiguity** c: the tile splits along the dimension into aligned runs of c elements whose values go up by
  one (pointers: by one element). Integers wrap, so the runs are consecutive modulo 2**bits; a run whose
  divisibility is a multiple of c never wraps inside. (The same holds of pointers with 32-bit offsets.)
- **divisibility** d: the first value of every such run is a multiple of d (pointers: in bytes).
- **constancy** k: the tile splits along the dimension into aligned runs of k equal values.

All three are powers of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tle2cuda.analysis import axis_domain as domain
from tle2cuda.analysis.axis_domain import (
    MAX_DIVISOR,
    AxisInfo,
    join,
    power_of_two_divisor,
    type_bounds,
    unknown,
)
from tle2cuda.analysis.axis_rules import transfer
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BufferType, Type

_WIDEN_AFTER = 3  # rounds of a loop after which a range that still grows becomes the type's
_MAX_ROUNDS = 256  # every round lowers a power of two, widens or stops: never reached


def axis_info(kernel: Kernel, ranges: Mapping[Value, tuple[int, int]] | None = None) -> Mapping[Value, AxisInfo]:
    """Analyse a kernel.

    Every scalar and tile has an entry; for floats only `constancy` says anything. A buffer's entry holds the
    divisibility of its first byte's address.

    Args:
        kernel: The kernel.
        ranges: Least and greatest values that are known from elsewhere, as those of one launch are.
    """
    return _Analysis(kernel, ranges or {}).run()


def vector_elems(
    info: AxisInfo, shape: Sequence[int], order: Sequence[int], pointee_bytes: int, max_bytes: int = 16
) -> int:
    """Widest vector that an access through these pointers may use along its fastest dimension.

    Args:
        info: What is known of the pointer tile.
        shape: Its shape.
        order: Its dimensions, fastest first.
        pointee_bytes: Size of one element.
        max_bytes: Widest access of the hardware.

    Returns:
        A power of two of elements, 1 when nothing is proved.
    """
    if not order:
        return 1
    axis = order[0]
    aligned = info.divisibility[axis] // pointee_bytes
    return max(1, min(info.contiguity[axis], aligned, max_bytes // pointee_bytes, shape[axis]))


class _Analysis:
    def __init__(self, kernel: Kernel, ranges: Mapping[Value, tuple[int, int]]) -> None:
        self.kernel = kernel
        self.ranges = ranges
        self.info: dict[Value, AxisInfo] = {}
        self.definitions = definitions(kernel.body)
        self.facts = _facts(kernel, self.definitions)

    def run(self) -> Mapping[Value, AxisInfo]:
        for argument in self.kernel.args:
            known = unknown(argument.value.type)
            divisor = power_of_two_divisor(argument.divisibility)
            self.set(argument.value, domain.with_divisibility(known, divisor))
        self.region(self.kernel.body)
        return self.info

    def set(self, value: Value, info: AxisInfo) -> None:
        for fact in self.facts.get(value, ()):
            info = fact.refine(info, value)
        known = self.ranges.get(value)
        if known is not None and info.lo is not None:
            info = domain.with_range(info, *known)
        self.info[value] = info

    def get(self, value: Value) -> AxisInfo:
        found = self.info.get(value)
        if found is None:
            found = self.info[value] = unknown(value.type)
        return found

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.visit(op)

    def visit(self, op: Op) -> None:
        if op.name == "for":
            self.visit_for(op)
        elif op.name == "while":
            self.visit_while(op)
        elif op.name == "if":
            self.visit_if(op)
        elif op.name in ("fused", "warp_specialize"):
            for region in op.regions:
                self.region(region)
            for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
                self.set(result, self.get(value))
        elif op.name in ("pipe_acquire", "pipe_wait"):
            self.visit_slots(op)
        else:
            for region in op.regions:  # scalar combiners of reduce and scan: nothing is known of their parameters
                self.region(region)
            operands = [self.get(v) for v in op.operands]
            for result, info in zip(op.results, transfer(op, operands, self.kernel), strict=True):
                self.set(result, info)

    def visit_slots(self, op: Op) -> None:
        """A slot of a pipe is aligned as its field is, and as a stage is large."""
        made = self.definitions.get(op.operands[0])
        for result in op.results:
            self.set(result, unknown(result.type))
        if made is None or made.name != "pipe":
            return
        slots = [r for r in op.results if isinstance(r.type, BufferType)]
        for slot, field in zip(slots, value_operands(made), strict=True):
            assert isinstance(slot.type, BufferType)
            divisor = min(self.get(field).divisibility[0], power_of_two_divisor(slot.type.size_bytes))
            self.set(slot, domain.with_divisibility(unknown(slot.type), divisor))

    def visit_if(self, op: Op) -> None:
        for region in op.regions:
            self.region(region)
        then, other = (region.terminator.operands for region in op.regions)
        for result, a, b in zip(op.results, then, other, strict=True):
            self.set(result, join(self.get(a), self.get(b), result.type))

    def visit_for(self, op: Op) -> None:
        region = op.regions[0]
        lower, upper, step = (self.get(v) for v in op.operands[:3])
        self.set(region.params[0], _induction(lower, upper, step, region.params[0].type))
        carried = region.params[1:]
        inits = [self.get(v) for v in op.operands[3:]]
        self.iterate(carried, inits, lambda: self.region(region), lambda: region.terminator.operands)
        for result, param in zip(op.results, carried, strict=True):
            self.set(result, self.info[param])

    def visit_while(self, op: Op) -> None:
        before, body = op.regions

        def once() -> None:
            self.region(before)
            for param, value in zip(body.params, before.terminator.operands[1:], strict=True):
                self.set(param, self.get(value))
            self.region(body)

        inits = [self.get(v) for v in op.operands]
        self.iterate(before.params, inits, once, lambda: body.terminator.operands)
        for result, value in zip(op.results, before.terminator.operands[1:], strict=True):
            self.set(result, self.get(value))

    def iterate(
        self,
        params: Sequence[Value],
        inits: Sequence[AxisInfo],
        once: domain.Thunk[None],
        yielded: domain.Thunk[Sequence[Value]],
    ) -> None:
        """Run a loop body until what is known of its parameters no longer changes."""
        current = list(inits)
        for round_ in range(_MAX_ROUNDS):
            for param, info in zip(params, current, strict=True):
                self.set(param, info)
            once()
            merged = []
            for param, info, value in zip(params, current, yielded(), strict=True):
                new = join(info, self.get(value), param.type)
                if round_ >= _WIDEN_AFTER:
                    new = _widen(info, new, param)
                merged.append(new)
            if merged == current:
                return
            current = merged
        for param in params:
            self.set(param, unknown(param.type))
        once()


def _widen(old: AxisInfo, new: AxisInfo, param: Value) -> AxisInfo:
    bounds = type_bounds(param.type)
    if bounds is None or old.lo is None or new.lo is None or old.hi is None or new.hi is None:
        return new
    lo = bounds[0] if new.lo < old.lo else new.lo
    hi = bounds[1] if new.hi > old.hi else new.hi
    return domain.with_range(new, lo, hi)


def _induction(lower: AxisInfo, upper: AxisInfo, step: AxisInfo, type_: Type) -> AxisInfo:
    """Info of a loop's induction variable: lower + n * step, kept on this side of `upper`."""
    if lower.lo is None or lower.hi is None or upper.lo is None or upper.hi is None:
        return unknown(type_)
    up = step.lo is not None and step.lo > 0
    down = step.hi is not None and step.hi < 0
    low = lower.lo if up else (upper.lo + 1 if down else min(lower.lo, upper.lo + 1))
    high = upper.hi - 1 if up else (lower.hi if down else max(lower.hi, upper.hi - 1))
    divisor = min(lower.divisibility[0], step.divisibility[0])
    first, stride = lower.lo, abs(step.lo or 0)
    if lower.lo != lower.hi or step.lo != step.hi or not stride:
        first, stride = 0, divisor
    if up:  # the last value before `upper`
        high -= (high - first) % stride
    elif down:
        low += (first - low) % stride
    return domain.scalar_int(type_, divisor, low, max(low, high))


class _Fact:
    """Something that `assume` promises of one value: a comparison with a constant, or a divisor."""

    __slots__ = ("kind", "number")

    def __init__(self, kind: str, number: int) -> None:
        self.kind = kind
        self.number = number

    def refine(self, info: AxisInfo, value: Value) -> AxisInfo:
        if self.kind == "divisible":
            divisor = power_of_two_divisor(self.number)
            return domain.with_divisibility(info, max(divisor, info.divisibility[0]))
        if info.lo is None or info.hi is None:
            return info
        lo, hi = info.lo, info.hi
        if self.kind in ("ge", "gt", "eq"):
            lo = max(lo, self.number + (self.kind == "gt"))
        if self.kind in ("le", "lt", "eq"):
            hi = min(hi, self.number - (self.kind == "lt"))
        return domain.with_range(info, lo, hi) if lo <= hi else info


_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq"}


def _facts(kernel: Kernel, definitions_: Mapping[Value, Op]) -> dict[Value, list[_Fact]]:
    """Facts by value, from every `assume` that runs whenever the value is made.

    That is so when the value and the assume belong to the same region: then both are executed or neither is.
    """
    home: dict[Value, Region] = {argument.value: kernel.body for argument in kernel.args}
    found: dict[Value, list[_Fact]] = {}

    def number(value: Value) -> int | None:
        op = definitions_.get(value)
        if op is None or op.name != "constant" or not isinstance(op.attrs["value"], int):
            return None
        return int(op.attrs["value"])

    def note(region: Region, value: Value, kind: str, constant: int) -> None:
        if home.get(value) is region:
            found.setdefault(value, []).append(_Fact(kind, constant))

    def learn(region: Region, condition: Value) -> None:
        op = definitions_.get(condition)
        if op is None:
            return
        if op.name == "and":
            for operand in op.operands:
                learn(region, operand)
        if op.name != "cmp" or op.attrs["predicate"] not in _MIRRORED:
            return
        a, b = op.operands
        predicate = op.attrs["predicate"]
        constant = number(b)
        if constant is None:
            a, constant, predicate = b, number(a), _MIRRORED[predicate]
        if constant is None:
            return
        note(region, a, predicate, constant)
        remainder = definitions_.get(a)
        if constant == 0 and predicate == "eq" and remainder is not None and remainder.name == "rem":
            divisor = number(remainder.operands[1])
            if divisor:
                note(region, remainder.operands[0], "divisible", abs(divisor))

    def scan(region: Region) -> None:
        for param in region.params:
            home[param] = region
        for op in region.ops:
            for result in op.results:
                home[result] = region
            if op.name == "assume":
                learn(region, op.operands[0])
            for inner in op.regions:
                scan(inner)

    scan(kernel.body)
    return found


def is_known_non_negative(info: AxisInfo) -> bool:
    """Whether every value is proved to be zero or more."""
    return info.lo is not None and info.lo >= 0


def within(info: AxisInfo, low: int, high: int) -> bool:
    """Whether every value is proved to lie in [low, high)."""
    return info.lo is not None and info.hi is not None and info.lo >= low and info.hi < high


__all__ = [
    "MAX_DIVISOR",
    "AxisInfo",
    "axis_info",
    "is_known_non_negative",
    "vector_elems",
    "within",
]
