"""Loops that each thread leaves when its own elements are done, as loops over whole tiles.

Of such a loop (`tle2cuda.passes.settling`) the body runs for the elements of the threads that are still in it. Here it runs
for all elements, so that stores, loads and what the loop carries on get the condition as a mask.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions


def with_masks(kernel: Kernel) -> Kernel:
    """The kernel with masks in such loops; itself if it has none."""
    if not any(op.attrs.get("own") for op in walk(kernel.body)):
        return kernel
    return _Mask(kernel).kernel(kernel)


class _Mask(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)
        self.todo: list[Value] = []

    def visit(self, op: Op) -> None:
        if op.name == "while":
            reduction = self.definitions.get(op.regions[0].terminator.operands[0])
            if reduction is not None and reduction.attrs.get("own"):
                self._loop(op, reduction.operands[0])
                return
        if self.todo and op.name in ("load", "store"):
            self._access(op)
            return
        self.copy(op)

    def _loop(self, op: Op, todo: Value) -> None:
        """The body sees `todo` as the condition computed it last."""
        before, body = op.regions
        self.todo.append(todo)
        self._stack.append([])
        for inner in body.body:
            self.visit(inner)
        end = body.terminator
        following = []
        for value, param in zip(end.operands, body.params, strict=True):
            kept = make_op("select", (todo, self[value], param), (param.type,), span=end.span)
            following.append(self.emit(kept).result)
        self.emit(replace(end, operands=tuple(following)))
        inside = Region(body.params, tuple(self._stack.pop()))
        self.todo.pop()
        operands = tuple(self[v] for v in op.operands)
        self.emit(replace(op, operands=operands, regions=(self.region(before), inside)))

    def _access(self, op: Op) -> None:
        """A load or store of the elements that are to do."""
        todo, count = self.todo[-1], 1 if op.name == "load" else 2
        operands = [self[v] for v in op.operands]
        attrs = {**op.attrs, "has_mask": True}
        if op.attrs.get("has_mask"):
            both = make_op("and", (operands[count], todo), (todo.type,), span=op.span)
            operands[count] = self.emit(both).result
        else:
            operands.insert(count, todo)
        if op.name == "load" and not op.attrs.get("has_other"):
            zero = make_op("constant", (), (op.results[0].type,), {"value": 0}, (), op.span)
            operands.insert(count + 1, self.emit(zero).result)
            attrs["has_other"] = True
        self.emit(replace(op, operands=tuple(operands), attrs=MappingProxyType(attrs)))
