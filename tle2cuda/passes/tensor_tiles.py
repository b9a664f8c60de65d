"""Loaded tiles that the copy engine could bring: what the front end notes of them, taken out of the kernel.

A `tensor_tile` says of which tensor a loaded tile is a box. The pipeliner alone asks for it; behind it a load is a load.
"""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of

NAME = "tensor_tile"


def without_tensor_tiles(kernel: Kernel) -> tuple[Kernel, dict[Value, Op]]:
    """The kernel without these notes, and for each loaded tile its note.

    Operands of the notes are values of the new kernel.
    """
    if not any(op.name == NAME for op in walk(kernel.body)):
        return kernel, {}
    strip = _Strip(kernel)
    return strip.kernel(kernel), strip.found


def described_by(note: Op) -> tuple[Value, ...]:
    """Base, extents, strides and offsets."""
    return note.operands[1:]


class _Strip(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.found: dict[Value, Op] = {}
        uses = uses_of(kernel.body)
        made = definitions(kernel.body)
        self.names: dict[Value, str] = {}
        for op in walk(kernel.body):
            if op.name == NAME and op.operands[0] in made and len(uses[op.operands[0]]) == 1:
                self.names[op.operands[0]] = op.result.name

    def visit(self, op: Op) -> None:
        if op.name == NAME:
            tile = self[op.operands[0]]
            self.found.setdefault(tile, replace(op, operands=tuple(self[v] for v in op.operands)))
            self.bind(op.result, tile)
            return
        new = self.copy(op)
        name = self.names.get(op.results[0]) if len(op.results) == 1 else None
        if name and not op.result.name:
            named = Value(op.result.type, name, op.result.span)
            self._stack[-1][-1] = replace(new, results=(named,))
            self.bind(op.result, named)


__all__ = ["NAME", "described_by", "without_tensor_tiles"]
