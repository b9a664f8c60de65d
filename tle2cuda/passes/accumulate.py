"""Lets matrix products add to what is added to them: `acc + dot(a, b)` becomes `dot(a, b, acc)`.

A step of `canonicalise`, before its rounds: later the accumulator would no longer be seen to be zero everywhere.
"""

from __future__ import annotations

from tle2cuda.ir.nodes import Kernel, Op, Value, make_op
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import F16, dtype_of


def accumulate_products(kernel: Kernel) -> Kernel:
    """Move sums into products; a product that is used elsewhere too stays."""
    return _Accumulate(kernel).kernel(kernel)


class _Accumulate(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)

    def visit(self, op: Op) -> None:
        if op.name == "add" and not op.attrs.get("rounding"):
            for product, other in (op.operands[::-1], op.operands):
                dot = self._joinable(product)
                if dot is not None:
                    operands = (*(self[v] for v in dot.operands[:2]), self[other], *(self[v] for v in dot.operands[3:]))
                    types = (op.results[0].type,)
                    names = (op.results[0].name,)
                    new = self.emit(make_op("dot", operands, types, dot.attrs, (), dot.span, names))
                    self.bind(op.results[0], new.result)
                    return
        self.copy(op)

    def _joinable(self, value: Value) -> Op | None:
        """The product behind a value, if it starts from zero, rounds nothing in between, and is used only here."""
        op = self.definitions.get(value)
        if op is None or op.name != "dot" or len(self.uses.get(value, ())) != 1 or dtype_of(value.type) is F16:
            return None
        start = self.definitions.get(op.operands[2])
        if start is not None and start.name == "splat":
            start = self.definitions.get(start.operands[0])
        return op if start is not None and start.name == "constant" and not start.attrs["value"] else None
