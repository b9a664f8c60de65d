"""Which values may differ from what arithmetic without a width gives, and be the offset of an access.

The interpreter keeps, beside each of these values, what it would be without a width (`interpreter/offsets.py`). Two
questions decide: may an operation leave the range of its type (by the ranges of `axis_info`), and does a pointer that is
accessed come of it. What of a launch is known, its grid and its numbers, narrows the ranges, so that a launch whose offsets
all fit costs nothing.

A wrapped number is followed through arithmetic, minima and maxima, reductions and scans, products of matrices, through
whatever moves elements about, and through control flow. It is not followed through what hashes and random numbers are made
of, and what takes a part of a number: quotients, remainders, right shifts, ``&``, ``^``, ``~``, magnitudes, comparisons,
the upper half of a product, conversions to fewer bits and to floats, bit casts. Neither is it through memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import log2

from tle2cuda.analysis.axis_domain import AxisInfo, ints, range_of, type_bounds
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BufferType, DType, PointerType, TileType, element_of, is_handle

Range = tuple[int, int]
Ranges = Mapping[Value, Range]

ACCESSES = {"load": 1, "store": 2, "atomic_rmw": 2, "atomic_cas": 3, "cp_async": 2}
"""Operations that access memory through pointers, their first operand; where a mask stands among the operands."""
TENSOR_COPIES = frozenset(("tma_load", "tma_store"))
WATCHED_BITS = 64
"""Arithmetic of fewer bits is watched."""

ARITHMETIC = frozenset(("add", "sub", "mul", "shl", "or", "min", "max"))
"""Elementwise operations of numbers that a wrapped one is followed through; the others take a part of it, as hashes do."""
MOVING = frozenset(
    ("splat", "broadcast", "expand_dims", "reshape", "trans", "hint", "convert_layout", "tile_to_scalar")
    + ("extract", "flip", "sort", "concat", "extract_at", "insert", "gather")
)
"""Operations that move elements about."""
_MOVED = {"gather": 1, "extract_at": 1, "insert": 2}  # how many operands are moved; the others say where
FOLDS = ("sum", "prod", "max", "min")
"""Kinds of reductions and scans that a wrapped number is followed through."""
_BITS_OF_ANYTHING = 128.0  # log2 of more than any type holds


def offsets_that_may_wrap(kernel: Kernel, ranges: Ranges | None = None) -> frozenset[Value]:
    """Integers that may differ from what arithmetic without a width gives, and pointers that are made with them.

    Args:
        kernel: The kernel, at any point before it is lowered.
        ranges: What is known of a launch: least and greatest values (`launch_ranges`).
    """
    flows = _Flows(kernel)
    wanted = _reaching_pointers(kernel, flows)
    if not wanted:
        return frozenset()
    info = axis_info(kernel, ranges)
    todo = [v for op in walk(kernel.body) for v in op.results if v in wanted and _may_wrap(op, info)]
    doubtful = set(todo)
    while todo:
        for target in flows.targets.get(todo.pop(), ()):
            if target in wanted and target not in doubtful:
                doubtful.add(target)
                todo.append(target)
    return frozenset(doubtful)


def launch_ranges(kernel: Kernel, grid: Sequence[int], numbers: Mapping[str, int]) -> Ranges:
    """What a launch says of values: the numbers it passes, and where CTAs lie in the grid.

    Args:
        kernel: The kernel.
        grid: CTAs along x, y, z.
        numbers: Integer arguments by name.
    """
    found: dict[Value, Range] = {}
    for argument in kernel.args:
        if argument.name in numbers:
            found[argument.value] = (numbers[argument.name],) * 2
    for op in walk(kernel.body):
        if op.name in ("program_id", "num_programs"):
            extent = grid[op.attrs["axis"]]
            found[op.result] = (0, extent - 1) if op.name == "program_id" else (extent, extent)
    return found


@lru_cache(maxsize=256)
def offsets_of_launch(kernel: Kernel, grid: tuple[int, ...], numbers: tuple[tuple[str, int], ...]) -> frozenset[Value]:
    """`offsets_that_may_wrap` in one launch; the last ones are remembered.

    Args:
        kernel: The kernel.
        grid: CTAs along x, y, z.
        numbers: Names and values of integer arguments.
    """
    if not _of_any_launch(kernel):
        return frozenset()
    return offsets_that_may_wrap(kernel, launch_ranges(kernel, grid, dict(numbers)))


@lru_cache(maxsize=64)
def _of_any_launch(kernel: Kernel) -> frozenset[Value]:
    return offsets_that_may_wrap(kernel)


def _reaching_pointers(kernel: Kernel, flows: _Flows) -> set[Value]:
    """Values from which pointers that are accessed are made, or offsets of copies."""
    wanted: set[Value] = set()
    todo: list[Value] = []
    for op in walk(kernel.body):
        if op.name in ACCESSES:
            todo.append(op.operands[0])
        elif op.name in TENSOR_COPIES:
            todo += offsets_of_copy(op)
    while todo:
        value = todo.pop()
        if value not in wanted and is_followed(value):
            wanted.add(value)
            todo += flows.sources.get(value, ())
    return wanted


def offsets_of_copy(op: Op) -> tuple[Value, ...]:
    """Operands of a tensor copy that say where it goes: the base, the strides, the offsets."""
    copy = tensor_copy(op)
    return (copy.base, *copy.strides, *copy.offsets)


class _Flows:
    """Which values a value is computed from, so that it is wrong when they are."""

    def __init__(self, kernel: Kernel) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.targets: dict[Value, list[Value]] = {}
        for op in walk(kernel.body):
            self.visit(op)

    def visit(self, op: Op) -> None:
        if op.name in ("reduce", "scan"):
            self.visit_fold(op)
            return
        for target in op.results:
            for source in _followed_operands(op):
                self.add(target, source)
        if op.name == "for":
            for bound in (op.operands[0], op.operands[2]):
                self.add(op.regions[0].params[0], bound)
        for targets, sources in handed_on(op):
            for target, source in zip(targets, sources, strict=True):
                self.add(target, source)

    def visit_fold(self, op: Op) -> None:
        kind = op.attrs["kind"]
        if kind == "custom":
            region = op.regions[0]
            yielded = region.terminator.operands
            for number, (result, operand) in enumerate(zip(op.results, value_operands(op), strict=True)):
                self.add(result, yielded[number])
                for param in (region.params[number], region.params[number + len(yielded)]):
                    self.add(param, operand)
                    self.add(param, yielded[number])
        elif kind in FOLDS or kind in ("argmax", "argmin"):
            self.add(op.results[0], op.operands[0])

    def add(self, target: Value, source: Value) -> None:
        self.sources.setdefault(target, []).append(source)
        self.targets.setdefault(source, []).append(target)


def _followed_operands(op: Op) -> Sequence[Value]:
    """Operands whose wrapping makes the results of an operation wrong."""
    name = op.name
    if name in ARITHMETIC:
        return op.operands
    if name in MOVING:
        return op.operands[: _MOVED.get(name, len(op.operands))]
    if name == "cast":
        return op.operands if keeps_number(op) else ()
    if name == "bitcast":
        return op.operands if _is_pointer(op.operands[0]) or _is_pointer(op.results[0]) else ()
    if name in ("ptr_add", "exclusive_sum", "dot"):
        return op.operands
    if name in ("select", "local_ptr"):
        return op.operands[1:]
    return op.operands[:1] if name == "remote" else ()


def keeps_number(op: Op) -> bool:
    """Whether a conversion is one to an integer that has no fewer bits."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    return isinstance(source, DType) and isinstance(target, DType) and target.is_int() and target.bits >= source.bits


def is_followed(value: Value) -> bool:
    """Whether a value may be an offset, or a pointer."""
    if is_handle(value.type):
        return False
    element = element_of(value.type)
    return isinstance(element, PointerType) or (isinstance(element, DType) and element.is_int() and not element.is_bool())


def _is_pointer(value: Value) -> bool:
    return isinstance(element_of(value.type), PointerType)


# ---- ranges ---------------------------------------------------------------------------------------------------------


def _may_wrap(op: Op, info: Mapping[Value, AxisInfo]) -> bool:
    """Whether arithmetic of fewer than 64 bits may leave the range of its type, as far as ranges tell."""
    without_width = _WITHOUT_WIDTH.get(op.name)
    element = element_of(op.results[0].type)
    if without_width is None or not isinstance(element, DType) or not element.is_int() or element.bits >= WATCHED_BITS:
        return False
    known: list[Range] = []
    for operand in op.operands:
        found = info.get(operand)
        if found is not None and ints(found):
            known.append(range_of(found))
        else:
            bounds = type_bounds(operand.type) if not isinstance(operand.type, BufferType) else _buffer_bounds(operand.type)
            if bounds is None:
                return False  # floats
            known.append(bounds)
    ends = without_width(op, known)
    bounds = type_bounds(op.results[0].type)
    return ends is not None and bounds is not None and (ends[0] < bounds[0] or ends[1] > bounds[1])


def _buffer_bounds(type_: BufferType) -> Range | None:
    return type_bounds(type_.element)


def _products(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _shifted(op: Op, known: Sequence[Range]) -> Range | None:
    (low, high), (least, most) = known
    if least < 0 or most >= WATCHED_BITS:
        most, least = WATCHED_BITS, 0
    ends = [x << n for x in (low, high) for n in (least, most)]
    return min(ends), max(ends)


def _folded(op: Op, known: Sequence[Range]) -> Range | None:
    """Sums and products along an axis, those of prefixes among them."""
    type_, kind = op.operands[0].type, op.attrs.get("kind", "sum")
    if kind not in ("sum", "prod"):
        return None
    assert isinstance(type_, TileType)
    extent = type_.shape[op.attrs.get("axis", 0)]
    low, high = known[0]
    if kind == "sum":
        return min(low * extent, low, 0), max(high * extent, high, 0)
    largest = max(abs(low), abs(high))
    if largest <= 1:
        return -largest, largest
    bits = log2(largest) * extent
    power = largest**extent if bits < _BITS_OF_ANYTHING else 1 << int(_BITS_OF_ANYTHING)
    return -power, power


def _multiplied(op: Op, known: Sequence[Range]) -> Range | None:
    a, b, accumulator = known[:3]
    type_ = op.operands[0].type
    assert isinstance(type_, TileType | BufferType)
    low, high = _products(a, b)
    return min(low * type_.shape[-1], 0) + accumulator[0], max(high * type_.shape[-1], 0) + accumulator[1]


_WITHOUT_WIDTH: Mapping[str, Callable[[Op, Sequence[Range]], Range | None]] = {
    "add": lambda op, known: (known[0][0] + known[1][0], known[0][1] + known[1][1]),
    "sub": lambda op, known: (known[0][0] - known[1][1], known[0][1] - known[1][0]),
    "mul": lambda op, known: _products(*known),
    "shl": _shifted,
    "reduce": _folded,
    "scan": _folded,
    "exclusive_sum": _folded,
    "dot": _multiplied,
}
"""What operations that may wrap give without a width; None: they do not wrap."""


__all__ = [
    "ACCESSES",
    "ARITHMETIC",
    "FOLDS",
    "MOVING",
    "TENSOR_COPIES",
    "WATCHED_BITS",
    "is_followed",
    "keeps_number",
    "launch_ranges",
    "offsets_of_copy",
    "offsets_of_launch",
    "offsets_that_may_wrap",
]
