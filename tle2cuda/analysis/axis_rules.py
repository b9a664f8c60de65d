"""How the integer operations carry what is known of their operands to their results, and which rule applies.

`transfer` is the whole interface; shapes, pointers and collectives have their rules in `axis_shape_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tle2cuda.analysis.axis_domain import (
    AxisInfo,
    RuleTable,
    address_unit,
    at,
    both_constant,
    bounds,
    build,
    constant,
    each,
    finish,
    ints,
    power_of_two_divisor,
    range_of,
    scalar_int,
    type_bounds,
    unknown,
    unwrapped_runs,
    wrap,
)
from tle2cuda.analysis.axis_shape_rules import COLLECTIVES, SHAPE_RULES, collective
from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Kernel, Op
from tle2cuda.ir.types import DType, PointerType, element_of
from tle2cuda.targets import MAX_GRID

_rule = RuleTable()


def transfer(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> list[AxisInfo]:
    """Info of each result of an operation without control flow."""
    if not op.results:
        return []
    if op.name in COLLECTIVES:
        return collective(op, operands)
    if len(op.results) > 1:
        return [unknown(result.type) for result in op.results]
    type_ = op.result.type
    folded = _fold(op, operands)
    if folded is not None:
        return [constant(folded, type_)]
    rule = _rule.get(op.name) or SHAPE_RULES.get(op.name)
    if rule is not None:
        info = rule(op, operands, kernel)
    else:
        info = unknown(type_)
    if op.name in ELEMENTWISE:
        info = _at_least_constancy(info, operands)
    return [finish(info, type_)]


def _at_least_constancy(info: AxisInfo, operands: Sequence[AxisInfo]) -> AxisInfo:
    """Equal operands give equal results: true of every elementwise operation."""
    if not operands or any(len(o.constancy) != len(info.constancy) for o in operands):
        return info
    common = tuple(min(o.constancy[d] for o in operands) for d in range(len(info.constancy)))
    return replace(info, constancy=tuple(map(max, info.constancy, common)))


def _fold(op: Op, operands: Sequence[AxisInfo]) -> int | bool | None:
    """The exact result when all operands are known integers."""
    function = _EXACT.get(op.name)
    values = [o.constant for o in operands]
    if function is None or any(not isinstance(v, int) for v in values):
        return None
    if type_bounds(op.result.type) is None or any(type_bounds(v.type) is None for v in op.operands):
        return None
    exact = function(op, *values)
    if exact is None:
        return None
    if isinstance(exact, bool):
        return exact
    wrapped = wrap(exact, op.result.type)
    element = element_of(op.result.type)
    return bool(wrapped) if isinstance(element, DType) and element.is_bool() else wrapped


def truncated_quotient(a: int, b: int) -> int:
    """C's integer division."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

_EXACT: dict[str, Callable[..., int | bool | None]] = {
    "add": lambda op, a, b: a + b,
    "sub": lambda op, a, b: a - b,
    "mul": lambda op, a, b: a * b,
    "idiv": lambda op, a, b: truncated_quotient(a, b) if b else None,
    "rem": lambda op, a, b: a - b * truncated_quotient(a, b) if b else None,
    "and": lambda op, a, b: int(a) & int(b),
    "or": lambda op, a, b: int(a) | int(b),
    "xor": lambda op, a, b: int(a) ^ int(b),
    "shl": lambda op, a, b: a << b if 0 <= b < 64 else None,
    "shr": lambda op, a, b: a >> b if 0 <= b < 64 else None,
    "min": lambda op, a, b: min(a, b),
    "max": lambda op, a, b: max(a, b),
    "cmp": lambda op, a, b: _COMPARE[op.attrs["predicate"]](a, b),
    "cast": lambda op, a: int(a),
    "select": lambda op, c, a, b: int(a) if c else int(b),
}


# ---- leaves


@_rule("constant")
def _constant(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return constant(op.attrs["value"], op.result.type)


@_rule("arange")
def _arange(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    start, end = op.attrs["start"], op.attrs["end"]
    return AxisInfo((end - start,), (power_of_two_divisor(start),), (1,), None, start, end - 1)


@_rule("program_id")
def _program_id(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return scalar_int(op.result.type, 1, 0, MAX_GRID[op.attrs["axis"]] - 1)


@_rule("num_programs")
def _num_programs(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    per_cluster = kernel.cluster_dims[op.attrs["axis"]]  # the grid counts CTAs: a multiple of the cluster
    divisor = power_of_two_divisor(per_cluster)
    return scalar_int(op.result.type, divisor, per_cluster, MAX_GRID[op.attrs["axis"]])


@_rule("cluster_rank")
def _cluster_rank(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    return scalar_int(op.result.type, 1, 0, kernel.cluster_size - 1)


# ---- integer arithmetic


@_rule("add", "sub")
def _add(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    if not ints(a, b):
        return unknown(op.result.type)
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    runs = [min(a.contiguity[d], b.constancy[d]) for d in each(op)]
    if op.name == "add":
        runs = [max(run, min(a.constancy[d], b.contiguity[d])) for d, run in enumerate(runs)]
    lo, hi = (a_lo + b_lo, a_hi + b_hi) if op.name == "add" else (a_lo - b_hi, a_hi - b_lo)
    divisors = [min(at(a, d, run), at(b, d, run)) for d, run in enumerate(runs)]
    return build(op, runs, divisors, both_constant(a, b), lo, hi)


@_rule("mul")
def _mul(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    if not ints(a, b):
        return unknown(op.result.type)
    for one, other in ((a, b), (b, a)):
        if one.constant == 1:
            return other
        if one.constant == 0:
            return constant(0, op.result.type)
    corners = [x * y for x in range_of(a) for y in range_of(b)]
    divisors = [at(a, d, 1) * at(b, d, 1) for d in each(op)]
    ones = [1 for _ in divisors]
    return build(op, ones, divisors, both_constant(a, b), min(corners), max(corners))


def _quotient_by_power(op: Op, a: AxisInfo, runs: Sequence[int], shift: int | None) -> AxisInfo:
    """Quotients that are equal over `runs`; exact where the dividend is a multiple of 1 << shift."""
    divisors = [max(1, at(a, d, run) >> shift) if shift is not None else 1 for d, run in enumerate(runs)]
    return build(op, [1 for _ in runs], divisors, runs)


@_rule("idiv")
def _idiv(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    if not ints(a, b):
        return unknown(op.result.type)
    if b.constant == 1:
        return a
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    runs = both_constant(a, b)
    if a_lo >= 0:  # truncation merges the runs around zero, so negative dividends keep nothing
        runs = [max(run, _aligned_run(a, b, d)) for d, run in enumerate(runs)]
    shift = None
    if b.constant is not None and b.constant:
        divisor = abs(int(b.constant))
        shift = divisor.bit_length() - 1 if divisor & (divisor - 1) == 0 else None
    info = _quotient_by_power(op, a, runs, shift)
    if b_lo > 0 or b_hi < 0:
        corners = [truncated_quotient(x, y) for x in (a_lo, a_hi) for y in (b_lo, b_hi)]
        if a_lo < 0 < a_hi:
            corners.append(0)
        return replace(info, **bounds(op, min(corners), max(corners)))
    return info


def _aligned_run(a: AxisInfo, b: AxisInfo, dim: int) -> int:
    """Runs of consecutive `a`, aligned to their length, over which `b` is one multiple of that length."""
    return min(a.contiguity[dim], a.divisibility[dim], b.constancy[dim], at(b, dim, 1))


@_rule("rem")
def _rem(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    if not ints(a, b):
        return unknown(op.result.type)
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    if a_lo >= 0 and a_hi < b_lo:
        return a
    runs = [1 for _ in each(op)]
    if a_lo >= 0:
        runs = [_aligned_run(a, b, d) for d in each(op)]
    divisors = [min(at(a, d, run), at(b, d, 1)) for d, run in enumerate(runs)]
    most = max(abs(b_lo), abs(b_hi)) - 1
    lo = 0 if a_lo >= 0 else max(a_lo, -most)
    hi = 0 if a_hi <= 0 else min(a_hi, most)
    return build(op, runs, divisors, both_constant(a, b), lo, max(lo, hi))


@_rule("shl")
def _shl(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    runs = [1 for _ in each(op)]
    shift = int(b.constant) if b.constant is not None and 0 <= b.constant < 63 else None
    if shift == 0:
        return a
    divisors = [at(a, d, 1) << (shift or 0) for d in each(op)]
    info = build(op, runs, divisors, both_constant(a, b))
    if shift is None or not ints(a):
        return info
    lo, hi = range_of(a)
    return replace(info, **bounds(op, lo << shift, hi << shift))


@_rule("shr")
def _shr(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    lo, hi = range_of(a)
    shift = int(b.constant) if b.constant is not None and 0 <= b.constant < 63 else None
    if shift is None:
        info = build(op, [1 for _ in each(op)], [1 for _ in each(op)], both_constant(a, b))
        return replace(info, lo=min(lo, 0), hi=max(hi, 0 if lo >= 0 else -1))
    if shift == 0:
        return a
    runs = both_constant(a, b)
    runs = [max(run, min(a.contiguity[d], a.divisibility[d], b.constancy[d], 1 << shift)) for d, run in enumerate(runs)]
    return replace(_quotient_by_power(op, a, runs, shift), lo=lo >> shift, hi=hi >> shift)


@_rule("and")
def _and(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    runs, equal = [1 for _ in each(op)], both_constant(a, b)
    for x, y in ((a, b), (b, a)):
        for d in each(op):
            equal[d] = max(equal[d], _aligned_run(x, y, d))  # y clears the bits that tell the run apart
            if isinstance(y.constant, int):
                kept = power_of_two_divisor(int(y.constant) + 1)  # y keeps all the low bits
                runs[d] = max(runs[d], min(x.contiguity[d], x.divisibility[d], kept))
    runs = [1 if equal[d] > 1 else run for d, run in enumerate(runs)]
    divisors = [max(at(a, d, run), at(b, d, run)) for d, run in enumerate(runs)]
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    limits = [hi for lo, hi in ((a_lo, a_hi), (b_lo, b_hi)) if lo >= 0]
    if limits:
        return build(op, runs, divisors, equal, 0, min(limits))
    return build(op, runs, divisors, equal)


@_rule("or", "xor")
def _or(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    for one, other in ((a, b), (b, a)):
        if one.constant == 0:
            return other
    runs = [max(_aligned_run(a, b, d), _aligned_run(b, a, d)) for d in each(op)]
    divisors = [min(at(a, d, run), at(b, d, run)) for d, run in enumerate(runs)]
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    if a_lo >= 0 and b_lo >= 0:
        most = (1 << max(a_hi, b_hi).bit_length()) - 1
        least = max(a_lo, b_lo) if op.name == "or" else 0
        return build(op, runs, divisors, both_constant(a, b), least, most)
    return build(op, runs, divisors, both_constant(a, b))


@_rule("min", "max")
def _min_max(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    if not ints(a, b):
        return unknown(op.result.type)
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    pick = min if op.name == "min" else max
    if a_hi <= b_lo:
        return a if op.name == "min" else b
    if b_hi <= a_lo:
        return b if op.name == "min" else a
    divisors = [min(at(a, d, 1), at(b, d, 1)) for d in each(op)]
    ones = [1 for _ in divisors]
    return build(op, ones, divisors, both_constant(a, b), pick(a_lo, b_lo), pick(a_hi, b_hi))


@_rule("cmp")
def _cmp(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    info = unknown(op.result.type)
    if not ints(a, b):
        return info
    predicate = op.attrs["predicate"]
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    decided = _decide(predicate, a_lo, a_hi, b_lo, b_hi)
    if decided is not None:
        return constant(decided, op.result.type)
    runs = both_constant(a, b)
    for d in each(op):
        # All of an aligned run lies on one side of a limit that is a multiple of the run's length.
        if predicate in ("lt", "ge"):
            runs[d] = max(runs[d], _aligned_run(a, b, d))
        elif predicate in ("gt", "le"):
            runs[d] = max(runs[d], _aligned_run(b, a, d))
    return replace(info, constancy=tuple(runs))


@_rule("fits")
def _fits(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    a, b = operands
    info = replace(unknown(op.result.type), constancy=tuple(both_constant(a, b)))
    limits = type_bounds(op.operands[0].type)
    if not ints(a, b) or limits is None:
        return info
    (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
    products = [x * y for x in (a_lo, a_hi) for y in (b_lo, b_hi)]
    low, high = {
        "add": (a_lo + b_lo, a_hi + b_hi),
        "sub": (a_lo - b_hi, a_hi - b_lo),
        "mul": (min(products), max(products)),
    }[op.attrs["fn"]]
    return constant(True, op.result.type) if limits[0] <= low and high <= limits[1] else info


def _decide(predicate: str, a_lo: int, a_hi: int, b_lo: int, b_hi: int) -> bool | None:
    if predicate in ("gt", "ge"):
        mirrored = "lt" if predicate == "gt" else "le"
        return _decide(mirrored, b_lo, b_hi, a_lo, a_hi)
    if predicate == "lt":
        return True if a_hi < b_lo else (False if a_lo >= b_hi else None)
    if predicate == "le":
        return True if a_hi <= b_lo else (False if a_lo > b_hi else None)
    if a_hi < b_lo or b_hi < a_lo:
        return predicate == "ne"
    return None


@_rule("select")
def _select(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    condition, a, b = operands
    if condition.constant is not None:
        return a if condition.constant else b
    unit = address_unit(op.result.type)
    runs = [min(a.contiguity[d], b.contiguity[d], condition.constancy[d]) for d in each(op)]
    divisors = [min(at(a, d, run, unit), at(b, d, run, unit)) for d, run in enumerate(runs)]
    equal = [min(k, condition.constancy[d]) for d, k in enumerate(both_constant(a, b))]
    if ints(a, b):
        (a_lo, a_hi), (b_lo, b_hi) = range_of(a), range_of(b)
        return build(op, runs, divisors, equal, min(a_lo, b_lo), max(a_hi, b_hi))
    return build(op, runs, divisors, equal)


@_rule("cast", "bitcast")
def _cast(op: Op, operands: Sequence[AxisInfo], kernel: Kernel) -> AxisInfo:
    (a,) = operands
    source, target = op.operands[0].type, op.result.type
    bounds = type_bounds(target)
    if type_bounds(source) is None or bounds is None:
        return _reinterpret(op, a)
    element = element_of(target)
    assert isinstance(element, DType)
    lo, hi = range_of(a)
    if bounds[0] <= lo and hi <= bounds[1]:
        runs = unwrapped_runs(a, source)
    elif element.is_bool():
        return unknown(target)
    else:
        most = 1 << (element.bits - 1 if element.is_int_signed() else element.bits)
        runs = [min(c, d, most) for c, d in zip(a.contiguity, a.divisibility, strict=True)]
        lo, hi = bounds
    return build(op, runs, [at(a, d, run) for d, run in enumerate(runs)], a.constancy, lo, hi)


def _reinterpret(op: Op, a: AxisInfo) -> AxisInfo:
    """Bitcasts from and to pointers; other pairs with a float tell nothing."""
    source, target = op.operands[0].type, op.result.type
    info = unknown(target)
    if op.name == "cast" or not any(isinstance(element_of(t), PointerType) for t in (source, target)):
        return info
    unit = address_unit(source)
    keep = unit == address_unit(target)
    runs = a.contiguity if keep else tuple(1 for _ in a.contiguity)
    divisors = tuple(at(a, d, run, unit) for d, run in enumerate(runs))
    return replace(info, contiguity=runs, divisibility=divisors)
