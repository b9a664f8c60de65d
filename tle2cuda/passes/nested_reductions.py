"""Reduces along two neighbouring axes at once: `sum(sum(x, 2), 1)` becomes a sum along the axis that both make together.

Each thread then combines all that it holds before any of it moves to other threads, where one axis after the other would
move a value for each element that is left. A step of `canonicalise`, before its rounds.
"""

from __future__ import annotations

import math

from tle2cuda.ir.nodes import Kernel, Op, Value, make_op
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import BF16, F16, dtype_of, shape_of, with_shape

_ANY_ORDER = frozenset("sum prod max min xor or and".split())
_KEEPS_ROUNDING = frozenset(("sum", "prod"))


def merge_nested_reductions(kernel: Kernel) -> Kernel:
    """Make one reduction of two of a kind; one whose result is used elsewhere too stays."""
    return _Merge(kernel).kernel(kernel)


class _Merge(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.merged: dict[Value, Op] = {}  # what the results of reductions are made by now

    def visit(self, op: Op) -> None:
        inner = self._mergeable(op)
        if inner is None:
            self.copy(op)
            return
        source, first, second = inner.operands[0], inner.attrs["axis"], op.attrs["axis"]
        axis = min(first, second)
        shape = shape_of(source.type)
        shape = (*shape[:axis], math.prod(shape[axis : axis + 2]), *shape[axis + 2 :])
        whole = make_op("reshape", (self[source],), (with_shape(dtype_of(source.type), shape),), {}, (), inner.span)
        types = tuple(result.type for result in op.results)
        names = tuple(result.name for result in op.results)
        attrs = {**op.attrs, "axis": axis}
        new = make_op("reduce", (self.emit(whole).result,), types, attrs, (), op.span, names)
        self.bind(op.results[0], self.emit(new).result)
        self.merged[op.results[0]] = new

    def _mergeable(self, op: Op) -> Op | None:
        """The reduction whose result another one reduces along an axis beside its own."""
        if not self._is_plain(op):
            return None
        value = op.operands[0]
        inner = self.merged.get(value) or self.definitions.get(value)
        if inner is None or not self._is_plain(inner) or len(self.uses[value]) != 1:
            return None
        same = {name: value for name, value in op.attrs.items() if name != "axis"}
        if same != {name: value for name, value in inner.attrs.items() if name != "axis"}:
            return None
        first, second = inner.attrs["axis"], op.attrs["axis"]
        return inner if second in (first - 1, first) else None

    def _is_plain(self, op: Op) -> bool:
        if op.name != "reduce" or len(op.results) != 1 or op.attrs["kind"] not in _ANY_ORDER:
            return False
        is_rounded = dtype_of(op.operands[0].type) in (F16, BF16)
        return not (is_rounded and op.attrs["kind"] in _KEEPS_ROUNDING)
