"""Carries one offset in place of a tile of pointers that a loop moves as a whole.

`pointers += BLOCK` in a loop moves all elements alike. What the loop carries then is how far, a 64-bit scalar; the
pointers themselves are made where they are used, from where they were in front of the loop, and need no registers of their
own. A step of `canonicalise`, before its rounds.
"""

from __future__ import annotations

from dataclasses import replace

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.types import I64, PointerType, TileType, dtype_of


def carry_offsets(kernel: Kernel) -> Kernel:
    """Rewrite the loops that move tiles of pointers."""
    return _Carry(kernel).kernel(kernel)


class _Carry(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)

    def visit(self, op: Op) -> None:
        if op.name == "for":
            region = op.regions[0]
            yielded = region.terminator.operands
            steps = [self._steps(p, v) for p, v in zip(region.params[1:], yielded, strict=True)]
            if any(steps):
                self._rewrite(op, steps)
                return
        self.copy(op)

    def _steps(self, param: Value, following: Value) -> list[Op]:
        """The operations that make the offsets by which a tile of pointers moves, none when it moves otherwise."""
        if not isinstance(param.type, TileType) or not isinstance(param.type.element, PointerType):
            return []
        found: list[Op] = []
        while following is not param:
            op = self.definitions.get(following)
            offset = self.definitions.get(op.operands[1]) if op is not None and op.name == "ptr_add" else None
            if op is None or offset is None or offset.name not in ("splat", "constant"):
                return []
            found.append(offset)
            following = op.operands[0]
        return found

    def _rewrite(self, op: Op, steps: list[list[Op]]) -> None:
        region = op.regions[0]
        carried = region.params[1:]
        inits = [self._zero(op) if moves else self[init] for moves, init in zip(steps, op.operands[3:], strict=True)]
        params = [
            Value(I64, f"{param.name}_offset" if param.name else "offset", param.span) if moves else param
            for moves, param in zip(steps, carried, strict=True)
        ]
        self._stack.append([])
        for moves, param, offset, init in zip(steps, carried, params, op.operands[3:], strict=True):
            if moves:
                self.bind(param, self._moved(self[init], offset, param, op))
        for inner in region.body:
            self.visit(inner)
        end = region.terminator
        following = [
            self._sum(offset, moves, end) if moves else self[value]
            for moves, offset, value in zip(steps, params, end.operands, strict=True)
        ]
        self.emit(replace(end, operands=tuple(following)))
        body = Region((region.params[0], *params), tuple(self._stack.pop()))
        results = tuple(
            Value(I64, "", result.span) if moves else result for moves, result in zip(steps, op.results, strict=True)
        )
        bounds = tuple(self[v] for v in op.operands[:3])
        self.emit(replace(op, operands=(*bounds, *inits), results=results, regions=(body,)))
        for moves, old, new, init in zip(steps, op.results, results, op.operands[3:], strict=True):
            if moves:
                self.bind(old, self._moved(self[init], new, old, op))

    def _zero(self, op: Op) -> Value:
        return self.emit(make_op("constant", (), (I64,), {"value": 0}, (), op.span)).result

    def _moved(self, pointers: Value, offset: Value, like: Value, op: Op) -> Value:
        """The pointers, moved by a scalar number of elements."""
        assert isinstance(like.type, TileType)
        tile = TileType(like.type.shape, I64)
        splat = self.emit(make_op("splat", (offset,), (tile,), span=op.span)).result
        return self.emit(make_op("ptr_add", (pointers, splat), (like.type,), span=op.span, names=(like.name,))).result

    def _sum(self, offset: Value, moves: list[Op], end: Op) -> Value:
        """The offset behind all steps of one iteration, each extended to 64 bits by its own sign."""
        total = offset
        name = f"{offset.name.removesuffix('_offset')}_step"
        for op in reversed(moves):
            if op.name == "constant":
                step = self.emit(
                    make_op("constant", (), (I64,), {"value": _wrapped(op.attrs["value"])}, (), op.span)
                ).result
            else:
                step = self[op.operands[0]]
                if dtype_of(step.type) is not I64:
                    step = self.emit(make_op("cast", (step,), (I64,), span=op.span, names=(name,))).result
            total = self.emit(make_op("add", (total, step), (I64,), span=end.span)).result
        return total


def _wrapped(value: int) -> int:
    """A 64-bit constant as int64."""
    return value - (1 << 64) if value >= 1 << 63 else value
