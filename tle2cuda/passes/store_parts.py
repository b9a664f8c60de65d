"""Stores of large tiles in two halves, where rings of stages leave no room to bring whole ones into order.

What a product leaves in registers goes through shared memory on its way to global memory, in whole sectors. A half at a
time needs half of that memory, which is a stage more for the loop before. Addresses and masks are made for each half.

Sums in tensor memory that would fill all registers of their threads are stored in halves, too, and these in halves again:
elementwise work on the way is done for each half, so that no more than that is loaded at a time.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.classify import ELEMENTWISE
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import GLOBAL, DType, PointerType, TileType, element_of, with_shape
from tle2cuda.passes.staged_tiles import without_results

_LEAST_BYTES = 1 << 15  # of a tile, below which halves would not make room for a stage
_UNLIKE_INDICES = frozenset(("asm", "philox", "libdevice", "hint"))
_LEAST_COLUMNS = 64  # of a half: rows of whole sectors for whole warps


def with_halved_stores(kernel: Kernel) -> Kernel | None:
    """The kernel with large products stored in halves, from registers; None when there are none."""
    kernel = without_results(kernel)
    made = definitions(kernel.body)
    halved = {op for op in walk(kernel.body) if op.name == "store" and _is_large(op) and _products_of(op, made)}
    return _Halve(kernel, halved).kernel(kernel) if halved else None


def with_loads_in_parts(kernel: Kernel, products: Collection[str]) -> Kernel:
    """The kernel in which stores of products lead to parts of the sums.

    Args:
        kernel: The kernel.
        products: Instructions of products; what others make is stored as a whole.
    """
    while True:
        made = definitions(kernel.body)
        halved = set()
        for op in walk(kernel.body):
            if op.name == "store" and _is_large(op):
                found = _products_of(op, made)
                if found and all(each.attrs.get("instruction") in products for each in found):
                    halved.add(op)
        if not halved:
            return kernel
        kernel = _Halve(kernel, halved, goes_through=True).kernel(kernel)


def _is_large(store: Op) -> bool:
    type_, element = store.operands[1].type, element_of(store.operands[0].type)
    if not isinstance(type_, TileType) or len(type_.shape) != 2 or not isinstance(type_.element, DType):
        return False
    is_global = isinstance(element, PointerType) and element.space == GLOBAL
    return is_global and type_.num_elements * type_.element.bytes > _LEAST_BYTES and type_.shape[1] >= 2 * _LEAST_COLUMNS


def _products_of(store: Op, made: dict[Value, Op]) -> list[Op]:
    """Products that elementwise work leads to, or those of a loop that has summed them."""
    seen: set[Value] = set()
    todo = [store.operands[1]]
    while todo:
        op = made.get(todo.pop())
        if op is None:
            continue
        if op.name == "dot":
            return [op]
        if op.name == "for" and (found := [inner for inner in walk(op.regions[0]) if inner.name == "dot"]):
            return found
        if op.name in ELEMENTWISE or op.name == "extract":
            fresh = [v for v in op.operands if v not in seen]
            seen.update(fresh)
            todo += fresh
    return []


class _Halve(Rewriter):
    """Halves some stores.

    Args:
        kernel: The kernel.
        halved: The stores.
        goes_through: Elementwise work that nothing else needs is done for each half.
    """

    def __init__(self, kernel: Kernel, halved: set[Op], goes_through: bool = False) -> None:
        super().__init__()
        self.made = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.halved = halved
        self.goes_through = goes_through

    def visit(self, op: Op) -> None:
        if op not in self.halved:
            self.copy(op)
            return
        for half in (0, 1):
            parts = _Parts(self, half)
            operands = tuple(parts.of(v, 1) for v in op.operands)
            self.emit(make_op("store", operands, (), op.attrs, span=op.span))


class _Parts:
    """Halves of tiles along an axis: of what is computed of indices the same of fewer indices, of all else a part."""

    def __init__(self, into: _Halve, half: int) -> None:
        self.into = into
        self.half = half
        self.known: dict[tuple[Value, int], Value] = {}

    def of(self, value: Value, axis: int) -> Value:
        """The half of a tile along an axis; what has one element there stays as it is."""
        if not isinstance(value.type, TileType) or value.type.shape[axis] == 1:
            return self.into[value]
        if (value, axis) not in self.known:
            self.known[value, axis] = self._made(value, axis)
        return self.known[value, axis]

    def _made(self, value: Value, axis: int) -> Value:
        type_, op = value.type, self.into.made.get(value)
        assert isinstance(type_, TileType)
        extent = type_.shape[axis] // 2
        shape = (*type_.shape[:axis], extent, *type_.shape[axis + 1 :])
        start = self.half * extent
        if op is not None and self._is_of_one_store(op):
            operands = tuple(self.of(v, axis) for v in op.operands)
            return self._emit(replace(op, operands=operands), shape)
        if op is None or not self._is_of_indices(op):
            at = [start if number == axis else 0 for number in range(len(shape))]
            whole = value
            if op is not None and op.name == "extract":
                (whole,) = op.operands
                at = [a + b for a, b in zip(at, op.attrs["start"], strict=True)]
            operands = (self.into[whole],)
            attrs = {"start": tuple(at)}
            return self._emit(make_op("extract", operands, (with_shape(type_.element, shape),), attrs, (), value.span))
        if op.name == "arange":
            first = op.attrs["start"] + start
            return self._emit(replace(op, attrs=MappingProxyType({"start": first, "end": first + extent})), shape)
        if op.name == "expand_dims":
            inner = axis - (op.attrs["axis"] < axis)
            return self._emit(replace(op, operands=(self.of(op.operands[0], inner),)), shape)
        halves = tuple(self.into[v] if op.name == "splat" else self.of(v, axis) for v in op.operands)
        return self._emit(replace(op, operands=halves), shape)

    def _is_of_one_store(self, op: Op) -> bool:
        """Whether work on sums is for this store alone, so that each half may do its own."""
        into = self.into
        is_alone = all(len(into.uses.get(result, ())) == 1 for result in op.results)
        return (
            into.goes_through and op.name in ELEMENTWISE and op.name not in _UNLIKE_INDICES and is_alone and not op.regions
        )

    def _is_of_indices(self, op: Op) -> bool:
        """Whether an operation makes an address or a mask of scalars and indices."""
        if op.name in ("arange", "splat", "constant", "broadcast"):
            return True
        element = element_of(op.results[0].type)
        is_index = isinstance(element, PointerType) or element.is_int()
        return op.name == "expand_dims" or (op.name in ELEMENTWISE and is_index and op.name not in _UNLIKE_INDICES)

    def _emit(self, op: Op, shape: tuple[int, ...] | None = None) -> Value:
        old = op.results[0]
        type_ = old.type if shape is None else with_shape(element_of(old.type), shape)
        return self.into.emit(replace(op, results=(Value(type_, old.name, old.span),))).result


__all__ = ["with_halved_stores", "with_loads_in_parts"]
