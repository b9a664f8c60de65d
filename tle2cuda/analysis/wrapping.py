"""Which signed arithmetic must wrap as written, although C++ leaves its overflow undefined.

Integers of the language wrap. As C++, `a + b` of signed integers may be taken by the compiler never to overflow, which
it uses: comparisons and divisions fold, and what is widened later is computed wide from the start. Computing in unsigned
instead is exact, and as fast, but reads worse, and an index that may wrap keeps the compiler from stepping pointers. So
plain C++ stays wherever overflow is impossible, or nobody means it:

- the range of the result (`axis_info`) is less than its type's, so nothing wraps;
- the result is only ever added to pointers;
- the operands are places and counts: program ids, `arange`, loop variables, scalar arguments, numbers out of memory, and
  sums and products by small constants of them. When those wrap, an index does, which the interpreter, eager mode and
  `detect="offsets"` report.

What remains has low bits that matter: hashes, generators of random numbers, checksums, packed keys. Those begin with a
product by a large constant, a product of two numbers out of memory, or the bits of a float.
"""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.analysis.axis_domain import AxisInfo, type_bounds
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import uses_of
from tle2cuda.ir.types import DType, element_of, is_handle

_ARITHMETIC = frozenset({"add", "sub", "mul"})
_LARGE_FACTOR = 1 << 16
"""A place times this much is no index any more, but the first step of a hash; powers of two put a number into high bits."""

_COMPUTES = _ARITHMETIC | {
    *("and", "or", "xor", "shl", "shr", "idiv", "rem", "min", "max", "select", "hint", "cast", "mulhi"),
    *("splat", "broadcast", "expand_dims", "reshape", "trans", "concat", "extract", "extract_at", "insert", "flip"),
    *("tile_to_scalar", "convert_layout", "reduce", "scan", "sort", "gather"),
}
"""Operations whose result is made of their operands."""

_READS = frozenset({"load", "atomic_rmw", "atomic_cas", "asm", "asm_block"})
_OF_ELEMENTS = frozenset({"map", "reduce", "scan"})
"""Operations with a function of single elements."""

_MIXES = frozenset({"philox", "bitcast"})
"""Operations whose results are bits, not numbers of something."""

_PASSES_ON = _ARITHMETIC | {
    *("hint", "cast", "select", "splat", "broadcast", "expand_dims", "reshape", "trans", "concat", "extract", "flip"),
    *("insert", "tile_to_scalar", "convert_layout"),
}
"""Operations whose result is an offset if their operand is one."""


def wrapping(kernel: Kernel, info: Mapping[Value, AxisInfo]) -> frozenset[Op]:
    """The additions, subtractions and multiplications that must be computed modulo 2**bits."""
    candidates = [op for op in walk(kernel.body) if op.name in _ARITHMETIC and _may_wrap(op, info)]
    if not candidates:
        return frozenset()
    mixed = _mixed(kernel, info)
    candidates = [op for op in candidates if op.result in mixed]
    if not candidates:
        return frozenset()
    escaping = _escaping(kernel)
    return frozenset(op for op in candidates if op.result in escaping)


def _may_wrap(op: Op, info: Mapping[Value, AxisInfo]) -> bool:
    type_ = op.result.type
    element = element_of(type_)
    if not isinstance(element, DType) or not element.is_int_signed() or element.bits < 32:
        return False  # narrower ones are computed as int, and brought back
    known = info.get(op.result)
    return known is None or (known.lo, known.hi) == type_bounds(type_)


def _mixed(kernel: Kernel, info: Mapping[Value, AxisInfo]) -> set[Value]:
    """Values whose low bits matter."""
    read: set[Value] = set()
    mixed: set[Value] = set()
    changed = True
    while changed:
        before = len(read) + len(mixed)
        for op in walk(kernel.body):
            if op.name in ("for", "while", "if"):
                for found in (read, mixed):
                    _through_regions(op, found)
            elif op.name == "fused":
                for found in (read, mixed):
                    ends = op.regions[0].terminator.operands
                    found.update(r for r, inner in zip(op.results, ends, strict=True) if inner in found)
            elif op.regions and op.name in _OF_ELEMENTS:
                for found in (read, mixed):
                    _through_function(op, found)
            elif op.results:
                _visit(op, info, read, mixed)
        changed = len(read) + len(mixed) != before
    return mixed


def _visit(op: Op, info: Mapping[Value, AxisInfo], read: set[Value], mixed: set[Value]) -> None:
    """What the result of one operation is."""
    if op.name in _READS:
        read.update(op.results)
        return
    from_float = op.name == "bitcast" and _is_float(op.operands[0])
    multiplies = op.name == "mul" and (
        any(_is_large(operand, info) for operand in op.operands) or all(operand in read for operand in op.operands)
    )
    if op.name in _MIXES - {"bitcast"} or from_float or multiplies:
        mixed.update(op.results)
    elif op.name in _COMPUTES or op.name == "bitcast":
        for found in (read, mixed):
            if any(operand in found for operand in op.operands):
                found.update(op.results)


def _is_float(value: Value) -> bool:
    element = element_of(value.type)
    return isinstance(element, DType) and element.is_floating()


def _is_large(value: Value, info: Mapping[Value, AxisInfo]) -> bool:
    known = info.get(value)
    constant = None if known is None else known.constant
    if not isinstance(constant, int) or isinstance(constant, bool):
        return False
    size = abs(constant)
    return size >= _LARGE_FACTOR and size & (size - 1) != 0


def _through_regions(op: Op, found: set[Value]) -> None:
    """Results and carried values of a loop or branch are in a set where what they come from is."""
    carried = len(op.results)
    yields = [region.terminator.operands[-carried:] if carried else () for region in op.regions]
    inits = op.operands[-carried:] if carried and op.name != "if" else ()
    for position, result in enumerate(op.results):
        sources = [values[position] for values in yields]
        sources += [inits[position]] if inits else []
        if any(source in found for source in sources):
            found.add(result)
            found.update(region.params[-carried:][position] for region in op.regions if region.params)


def _through_function(op: Op, found: set[Value]) -> None:
    """What a function of elements computes is in a set where some operand is, or some value that it returns."""
    (region,) = op.regions
    if any(v in found for v in (*op.operands, *region.terminator.operands)):
        found.update(op.results)
        found.update(region.params)


def _escaping(kernel: Kernel) -> set[Value]:
    """Values that reach something else than an address."""
    users = uses_of(kernel.body)
    found: set[Value] = set()
    forward = _next_values(kernel)
    changed = True
    while changed:
        before = len(found)
        for value, ops in users.items():
            if value in found or is_handle(value.type):
                continue
            follows = forward.get(value, ())
            if any(_leaves(op, value, found) for op in ops) or any(each in found for each in follows):
                found.add(value)
        changed = len(found) != before
    return found


def _next_values(kernel: Kernel) -> dict[Value, list[Value]]:
    """What a value becomes through loops, branches, fused regions and functions of elements."""
    following: dict[Value, list[Value]] = {}
    for op in walk(kernel.body):
        if op.regions and op.name in _OF_ELEMENTS:
            region = op.regions[0]
            for position, (value, result) in enumerate(zip(region.terminator.operands, op.results, strict=True)):
                # Of reductions and scans, what one call returns is handed to the next one, on either side.
                again = () if op.name == "map" else region.params[position :: len(op.results)]
                following.setdefault(value, []).extend((result, *again))
        if op.name not in ("for", "while", "if", "fused"):
            continue
        count = len(op.results)
        for region in op.regions:
            ends = region.terminator.operands[-count:] if count else ()
            into = region.params[-count:] if count and region.params else ()
            for position, value in enumerate(ends):
                following.setdefault(value, []).append(op.results[position])
                for other in op.regions:
                    if other.params and op.name != "if":
                        following[value].append(other.params[-count:][position])
            if op.name in ("for", "while"):
                for value, param in zip(op.operands[-count:] if count else (), into, strict=False):
                    following.setdefault(value, []).append(param)
    return following


def _leaves(op: Op, value: Value, escaping: set[Value]) -> bool:
    """Whether an operation makes something else than an offset of a value."""
    if op.name in ("for", "while", "if", "fused", "yield"):
        bounds = op.operands[:3] if op.name == "for" else op.operands[:1] if op.name == "if" else ()
        return value in bounds
    if op.name == "condition":
        return op.operands[0] is value
    if op.name == "ptr_add":
        return False
    if op.name not in _PASSES_ON:
        return True
    if op.name == "select" and op.operands[0] is value:
        return True
    if op.name == "cast" and not _keeps_integer(op):
        return True
    return any(result in escaping for result in op.results)


def _keeps_integer(op: Op) -> bool:
    source, target = (element_of(v.type) for v in (op.operands[0], op.result))
    return isinstance(source, DType) and isinstance(target, DType) and source.is_int() and target.is_int()


__all__ = ["wrapping"]
