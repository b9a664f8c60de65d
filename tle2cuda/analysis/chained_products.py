"""Two products of a loop of which the second takes what the first one gives, as in an attention: `acc += f(q @ k) @ v`.

The second product of an iteration may be in flight together with the first one of the next: nothing of the first, and of
what is computed of it, depends on the sums of the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.ir.classify import ELEMENTWISE, SHAPE
from tle2cuda.ir.legality import is_pure
from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.types import BF16, F16, TileType, dtype_of, shape_of

_MOST_REGISTERS = 208  # of sums and weights of both iterations, of the 255 that a thread may have
_REGISTER_BYTES = 4
_HALVES = (F16, BF16)


@dataclass(frozen=True, slots=True, eq=False)
class Chained:
    """Two such products.

    Attributes:
        first: The product that begins an iteration.
        second: The one that ends it.
        sums: Number of the carried value that the second one adds to.
        behind: What is done to these sums in front of the second product, in order.
        rounding: What rounds its weights, whose registers the product reads as long as it is in flight; empty for nothing.
        loaded: The load that the right operand of the second comes from.
        registers: 32-bit registers of a thread that hold sums and weights of both iterations.
        scores: Those of them that hold what the first product gives.
    """

    first: Op
    second: Op
    sums: int
    behind: tuple[Op, ...]
    rounding: tuple[Op, ...]
    loaded: Op
    registers: int
    scores: int


def chained_products(
    loop: Op, staged: Sequence[Op], made: Mapping[Value, Op], uses: Mapping[Value, Sequence[Op]], num_threads: int
) -> Chained | None:
    """The two products of a loop that overlap in this way; None when it has no such two.

    Args:
        loop: The loop.
        staged: Its loads that go through rings.
        made: The operation that defines each value.
        uses: Operations that use each value.
        num_threads: Threads that share the tiles.
    """
    region = loop.regions[0]
    products = [op for op in walk(region) if op.name == "dot"]
    if len(products) != 2 or any(op not in region.ops or len(shape_of(op.result.type)) != 2 for op in products):
        return None
    first, second = products
    sums = [n for n, value in enumerate(region.terminator.operands) if value is second.result]
    if len(sums) != 1 or list(uses.get(second.result, ())) != [region.terminator]:
        return None
    behind = _behind(loop, region.params[1 + sums[0]], second, uses)
    sources = [_loaded(op.operands[1], made) for op in products]
    if behind is None or first in behind or None in sources or sources[0] is sources[1]:
        return None
    if any(source not in staged for source in sources) or not _is_private(second.operands[1], second, made, uses):
        return None
    inside = {value for op in walk(region) for value in op.results} | set(region.params)
    if first.operands[0] in inside or not _is_zero(first.operands[2], made, inside):
        return None
    if any(dtype_of(op.operands[0].type) not in _HALVES or op.attrs.get("max_num_imprecise_acc") for op in products):
        return None
    moved = {*behind, second}
    if any(op.regions or not (is_pure(op) or op in staged) for op in region.body if op not in moved):
        return None
    held = [first.result, second.result, second.operands[0], second.operands[0]]
    registers, scores = (sum(map(_bytes, x)) // (_REGISTER_BYTES * num_threads) for x in (held, held[:1]))
    if registers > _MOST_REGISTERS:
        return None
    assert sources[1] is not None
    weights = made.get(second.operands[0])
    if weights is None or weights not in region.body:
        return None
    is_rounding = weights.name == "cast" and list(uses[weights.result]) == [second]
    in_order = tuple(op for op in region.body if op in behind)
    return Chained(first, second, sums[0], in_order, (weights,) if is_rounding else (), sources[1], registers, scores)


def _behind(loop: Op, sums: Value, second: Op, uses: Mapping[Value, Sequence[Op]]) -> set[Op] | None:
    """The operations between the carried sums and the second product; None when something else depends on them."""
    region = loop.regions[0]
    found: set[Op] = set()
    todo = [sums]
    while todo:
        for op in uses.get(todo.pop(), ()):
            if op is second:
                continue
            if op not in region.body or op.name not in ELEMENTWISE | SHAPE or len(op.results) != 1:
                return None
            if op not in found:
                found.add(op)
                todo.append(op.result)
    values = {sums, *(op.result for op in found)}
    return found if second.operands[2] in values and values.isdisjoint(second.operands[:2]) else None


def _loaded(value: Value, made: Mapping[Value, Op]) -> Op | None:
    """The load that an operand is, perhaps transposed."""
    op = made.get(value)
    while op is not None and op.name == "trans":
        op = made.get(op.operands[0])
    return op if op is not None and op.name == "load" else None


def _is_private(value: Value, user: Op, made: Mapping[Value, Op], uses: Mapping[Value, Sequence[Op]]) -> bool:
    """Whether nothing else uses an operand, or what it is a transposition of."""
    while True:
        if list(uses.get(value, ())) != [user]:
            return False
        op = made[value]
        if op.name != "trans":
            return True
        value, user = op.operands[0], op


def _is_zero(value: Value, made: Mapping[Value, Op], inside: set[Value]) -> bool:
    op = made.get(value)
    while op is not None and op.name == "splat":
        op = made.get(op.operands[0])
    return op is not None and value not in inside and op.name == "constant" and op.attrs["value"] == 0


def _bytes(value: Value) -> int:
    type_ = value.type
    assert isinstance(type_, TileType)
    return type_.num_elements * dtype_of(type_).bytes


__all__ = ["Chained", "chained_products"]
