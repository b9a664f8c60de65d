"""Gives buffers the shape in which they are used, where all uses of one see it reshaped in the same way.

`ring = alloc([4 * 64, 64]).reshape([4, 64, 64])` is the buffer of four stages then that it is used as: elements are found
by its own indices, and its rows may be swizzled. A step of `canonicalise`, behind its rounds.
"""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import Rewriter, uses_of
from tle2cuda.ir.types import BufferType


def with_used_shapes(kernel: Kernel) -> Kernel:
    """Change the types of allocations and stages that are only seen reshaped."""
    if not any(_is_view(op, "reshape") for op in walk(kernel.body)):
        return kernel
    return _Retype(kernel).kernel(kernel)


def _is_view(op: Op, kind: str) -> bool:
    return op.name == "buffer_view" and op.attrs["kind"] == kind


class _Retype(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.uses = uses_of(kernel.body)

    def visit(self, op: Op) -> None:
        if op.name == "alloc" and (shape := self._seen_as(op.result)) is not None:
            self.emit(replace(op, results=(self._with_shape(op.result, shape),)))
        elif op.name == "buffer_view" and self[op.operands[0]].type != op.operands[0].type:
            source = self[op.operands[0]]
            assert isinstance(source.type, BufferType)
            if op.attrs["kind"] == "reshape":
                self.bind(op.result, source)
                return
            results = (self._with_shape(op.result, source.type.shape[1:]),)
            self.emit(replace(op, operands=(source, *(self[v] for v in op.operands[1:])), results=results))
        else:
            self.copy(op)

    def _with_shape(self, value: Value, shape: tuple[int, ...]) -> Value:
        assert isinstance(value.type, BufferType)
        new = Value(replace(value.type, shape=shape), value.name, value.span)
        self.bind(value, new)
        return new

    def _seen_as(self, buffer: Value) -> tuple[int, ...] | None:
        """The shape that all uses of a buffer see; None where they see several, or the buffer as it is."""
        type_, users = buffer.type, self.uses.get(buffer, [])
        assert isinstance(type_, BufferType)
        if not users or type_.logical_shape is not None:
            return None
        if all(_is_view(user, "reshape") for user in users):
            views = {user.result.type for user in users}
            (first, *others) = views
            assert isinstance(first, BufferType)
            return None if others or first.logical_shape is not None else first.shape
        if all(_is_view(user, "slot") for user in users):
            shapes = {self._seen_as(user.result) for user in users}
            shape = shapes.pop()
            return None if shapes or shape is None else (type_.shape[0], *shape)
        return None


__all__ = ["with_used_shapes"]
