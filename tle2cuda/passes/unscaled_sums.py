"""Sums of products that a loop scales row by row, as an attention does when it meets a greater score, but mostly by one.

That is so where the factors are powers of a difference that a selection makes 0:

    now = tl.where(found > largest + 8, found, largest)
    acc = tl.dot(..., acc * tl.exp2(largest - now)[:, None])

Such a multiplication is marked (`skips_ones`): a warp all of whose factors are one leaves it out, which changes no number.
Where `now` is the maximum of both, some row of a warp often has a greater score, and the question costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions, replace_ops
from tle2cuda.ir.types import F32, TileType, element_of

_LEAST_SUMS = 32  # in a thread, from which on it pays to look at the factors first
_MOST_FACTORS = 4  # in a thread
_PRODUCTS = frozenset(("dot", "wgmma"))
_POWERS = frozenset(("exp", "exp2"))
_RENAMES = frozenset(("expand_dims", "broadcast"))


def run(kernel: Kernel) -> Kernel:
    """Mark the multiplications."""
    made = definitions(kernel.body)
    found = {op for loop in walk(kernel.body) if loop.name == "for" for op in _scalings(loop.regions[0], made)}
    if not found:
        return kernel

    def mark(op: Op) -> Op:
        return replace(op, attrs=MappingProxyType({**op.attrs, "skips_ones": True})) if op in found else op

    return replace_ops(kernel, mark)


def _scalings(region: Region, made: Mapping[Value, Op]) -> list[Op]:
    """The multiplications of an iteration that scale what its products add to."""
    sums = {v for op in region.ops if op.name in _PRODUCTS for v in (op.operands[2], op.results[0])}
    sums |= {op.results[0] for op in region.ops if op.name == "wgmma_wait" and op.operands[0] in sums}
    sums |= {param for param, end in zip(region.params[1:], region.terminator.operands, strict=True) if end in sums}
    scalings = (op for op in region.ops if op.name == "mul" and op.operands[0] in sums)
    return [op for op in scalings if (few := factors(op, made)) is not None and _is_one_mostly(few, made)]


def _is_one_mostly(value: Value, made: Mapping[Value, Op]) -> bool:
    """Whether a number is the power of a difference of two, the second of which may be chosen to be the first."""
    power = made.get(value)
    if power is None or power.name != "math" or power.attrs["fn"] not in _POWERS:
        return False
    difference = made.get(power.operands[0])
    if difference is None or difference.name != "sub":
        return False
    first, todo = difference.operands[0], [difference.operands[1]]
    while todo:
        choice = made.get(todo.pop())
        if choice is not None and choice.name == "select":
            if first in choice.operands[1:]:
                return True
            todo += choice.operands[1:]
    return False


def factors(op: Op, made: Mapping[Value, Op]) -> Value | None:
    """The few numbers that a multiplication of many takes from its right operand; None where they are more."""
    value = op.operands[1]
    while (maker := made.get(value)) is not None and maker.name in _RENAMES:
        (value,) = maker.operands
    whole, few = op.results[0].type, value.type
    if not isinstance(whole, TileType) or not isinstance(few, TileType) or element_of(whole) is not F32:
        return None
    assert whole.layout is not None
    if few.layout is None or whole.layout.num_registers < _LEAST_SUMS or few.layout.num_registers > _MOST_FACTORS:
        return None
    return value


__all__ = ["factors", "run"]
