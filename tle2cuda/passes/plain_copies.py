"""Copies by cp.async as ordinary loads and stores, for targets and elements that have no such instruction."""

from __future__ import annotations

from collections.abc import Callable

from tle2cuda.ir.nodes import Kernel, Op, make_op, walk
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.types import SHARED, BufferType, PointerType, TileType, with_shape


def expand(kernel: Kernel, choose: Callable[[Op], bool] = lambda op: True) -> Kernel:
    """Turn the chosen `cp_async` into a load and a store; masked-off elements become 0 as before.

    With none left, committing and waiting for groups has nothing to do and goes as well.
    """
    expanded = _Expand(choose).kernel(kernel)
    return expanded if _copies(expanded) else _WithoutGroups().kernel(expanded)


def _copies(kernel: Kernel) -> bool:
    return any(op.name == "cp_async" for op in walk(kernel.body))


class _Expand(Rewriter):
    def __init__(self, choose: Callable[[Op], bool]) -> None:
        super().__init__()
        self.choose = choose

    def visit(self, op: Op) -> None:
        if op.name != "cp_async" or not self.choose(op):
            self.copy(op)
            return
        pointers, buffer, *masks = (self[v] for v in op.operands)
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        has_mask = bool(op.attrs.get("has_mask"))
        attrs = {"has_mask": has_mask, "has_other": False, "eviction": op.attrs.get("eviction")}
        tile = TileType(type_.shape, type_.element)
        value = self.emit(make_op("load", (pointers, *masks), (tile,), attrs, span=op.span)).result
        places = with_shape(PointerType(type_.element, SHARED), type_.shape)
        place = self.emit(make_op("local_ptr", (buffer,), (places,), span=op.span)).result
        self.emit(make_op("store", (place, value), (), {"has_mask": False}, span=op.span))


class _WithoutGroups(Rewriter):
    def visit(self, op: Op) -> None:
        if op.name not in ("cp_async_commit", "cp_async_wait"):
            self.copy(op)
