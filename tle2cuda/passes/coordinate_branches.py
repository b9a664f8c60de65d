"""Tensor copies whose coordinates only the run time knows: by the copy engine where it takes them, else by pointers."""

from __future__ import annotations

from collections.abc import Sequence

from tle2cuda.analysis.tensor_coordinates import Doubts
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op
from tle2cuda.ir.span import Span
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BOOL, I32
from tle2cuda.ops.affine_tiles import named
from tle2cuda.ops.core import constant, emit_value, tensor


def fits_engine(kernel: Kernel, op: Op, doubts: Doubts) -> tuple[list[Op], Value]:
    """The operations that ask whether the engine takes the coordinates of a copy, and the answer."""
    offsets = tensor_copy(op).offsets
    builder = Builder(kernel.num_warps, kernel.target)
    with builder.active(), builder.region() as ops, builder.at(op.span):
        answer: tensor | None = None
        for axis in doubts.negative:
            answer = _both(answer, _compared("ge", tensor(offsets[axis])))
        if doubts.multiple > 1:
            rest = emit_value("and", (tensor(offsets[-1]), constant(doubts.multiple - 1, I32)), I32, ())
            answer = _both(answer, _compared("eq", rest))
        assert answer is not None
        named(answer, "fits_engine")
    return ops, answer.value


def in_branch(fits: Value, by_engine: Sequence[Op], by_pointers: Sequence[Op], span: Span) -> Op:
    """A branch whose second arm does the same as its first, without the engine."""
    arms = tuple(Region((), (*ops, make_op("yield", span=span))) for ops in (by_engine, by_pointers))
    return make_op("if", (fits,), (), {"is_substitute": True}, arms, span)


def _compared(predicate: str, x: tensor) -> tensor:
    return emit_value("cmp", (x, constant(0, I32)), BOOL, (), {"predicate": predicate})


def _both(a: tensor | None, b: tensor) -> tensor:
    return b if a is None else emit_value("and", (a, b), BOOL, ())
