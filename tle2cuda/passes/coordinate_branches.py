"""Tensor copies of which only the run time knows whether the copy engine does them right; if not, they go by pointers."""

from __future__ import annotations

from collections.abc import Sequence

from tle2cuda.analysis.tensor_coordinates import Doubts
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op
from tle2cuda.ir.span import Span
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BOOL, DType
from tle2cuda.ops.affine_tiles import named
from tle2cuda.ops.core import constant, emit_value, tensor


def fits_engine(kernel: Kernel, op: Op, doubts: Doubts) -> tuple[list[Op], Value]:
    """The operations that ask whether the engine does a copy right, and the answer."""
    copy = tensor_copy(op)
    offsets = copy.offsets
    builder = Builder(kernel.num_warps, kernel.target)
    with builder.active(), builder.region() as ops, builder.at(op.span):
        answer: tensor | None = None
        for axis in doubts.negative:
            answer = _both(answer, _compared("ge", tensor(offsets[axis])))
        if doubts.multiple > 1:
            answer = _both(answer, _divides(doubts.multiple, tensor(offsets[-1])))
        if doubts.unit > 1:
            answer = _both(answer, _ends_well(copy.extents[-1], offsets[-1], int(op.attrs["block"][-1]), doubts.unit))
        assert answer is not None
        named(answer, "fits_engine")
    return ops, answer.value


def in_branch(fits: Value, by_engine: Sequence[Op], by_pointers: Sequence[Op], span: Span) -> Op:
    """A branch whose second arm does the same as its first, without the engine."""
    arms = tuple(Region((), (*ops, make_op("yield", span=span))) for ops in (by_engine, by_pointers))
    return make_op("if", (fits,), (), {"is_substitute": True}, arms, span)


def _ends_well(extent: Value, offset: Value, block: int, unit: int) -> tensor:
    """Whether rows hold whole units, or end behind the box."""
    end, first = tensor(extent), tensor(offset)
    if _integer(end) is not _integer(first):
        first = emit_value("cast", (first,), _integer(end), ())
    room = emit_value("sub", (end, first), _integer(end), ())
    return emit_value("or", (_divides(unit, end), _compared("ge", room, block)), BOOL, ())


def _compared(predicate: str, x: tensor, number: int = 0) -> tensor:
    return emit_value("cmp", (x, constant(number, _integer(x))), BOOL, (), {"predicate": predicate})


def _divides(power_of_two: int, x: tensor) -> tensor:
    rest = emit_value("and", (x, constant(power_of_two - 1, _integer(x))), _integer(x), ())
    return _compared("eq", rest)


def _integer(x: tensor) -> DType:
    assert isinstance(x.element, DType)
    return x.element


def _both(a: tensor | None, b: tensor) -> tensor:
    return b if a is None else emit_value("and", (a, b), BOOL, ())
