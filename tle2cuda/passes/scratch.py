"""Make the shared memory that operations need for themselves explicit (D6, D7).

Afterwards every byte of shared memory is an `alloc`; an operation's scratch is its trailing operands, counted by the
attribute `num_scratch`, so that barriers and the shared-memory map see it like any other buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op
from tle2cuda.ir.rewrite import Rewriter, uses_of
from tle2cuda.ir.types import BOOL, I32, U8, BufferType, DType, TileType, dtype_of, element_of
from tle2cuda.layout import conversion
from tle2cuda.passes.collective_plan import split_axis


def run(kernel: Kernel) -> Kernel:
    """Add scratch buffers to the operations that need them."""
    return _Scratch(kernel).kernel(kernel)


class _Scratch(Rewriter):
    def __init__(self, source: Kernel) -> None:
        super().__init__()
        self.source = source
        self.uses = uses_of(source.body)
        self.makers: dict[str, Callable[[Op], list[BufferType]]] = {
            "reduce": self.for_reduce,
            "scan": self.for_scan,
            "exclusive_sum": self.for_exclusive_sum,
            "histogram": self.for_histogram,
            "convert_layout": self.for_conversion,
            "atomic_rmw": self.for_atomic,
            "atomic_cas": self.for_atomic,
            "load": self.for_load,
        }

    def visit(self, op: Op) -> None:
        maker = self.makers.get(op.name)
        types = maker(op) if maker is not None else []
        if not types:
            self.copy(op)
            return
        buffers: list[Value] = []
        for position, type_ in enumerate(types):
            name = _name(op, position)
            wanted = {"name": name, "scratch": True, "alignment_bytes": 16}
            alloc = make_op("alloc", (), (type_,), wanted, span=op.span, names=(name,))
            buffers.append(self.emit(alloc).result)
        attrs = MappingProxyType({**op.attrs, "num_scratch": len(buffers)})
        operands = (*(self[v] for v in op.operands), *buffers)
        regions = tuple(self.region(r) for r in op.regions)
        self.emit(replace(op, operands=operands, attrs=attrs, regions=regions))

    def for_reduce(self, op: Op) -> list[BufferType]:
        layout = _layout(op.operands[0])
        split = split_axis(layout, op.attrs["axis"])
        if not split.warp_bits:
            return []
        rest = layout.num_elements // layout.shape[op.attrs["axis"]]
        return [BufferType((split.num_warps_along * rest,), _stored(v)) for v in op.operands]

    def for_scan(self, op: Op) -> list[BufferType]:
        layout = _layout(op.operands[0])
        split = split_axis(layout, op.attrs["axis"])
        if not split.warp_bits:
            return []
        rest = layout.num_elements // layout.shape[op.attrs["axis"]]
        return [BufferType((split.num_warps_along * rest,), _stored(v)) for v in op.operands]

    def for_exclusive_sum(self, op: Op) -> list[BufferType]:
        element = dtype_of(op.results[0].type)
        return [BufferType((2 * self.source.num_warps * max(element.bytes, 4),), U8)]

    def for_histogram(self, op: Op) -> list[BufferType]:
        return [BufferType((op.attrs["bins"],), I32)]

    def for_conversion(self, op: Op) -> list[BufferType]:
        source, target = _layout(op.operands[0]), _layout(op.results[0])
        if conversion(source, target).kind != "shared":
            return []
        return [BufferType((source.num_elements,), _stored(op.operands[0]))]

    def for_atomic(self, op: Op) -> list[BufferType]:
        result = op.results[0]
        if not self.uses.get(result):
            return []
        if not is_tile(result):
            return [BufferType((1,), _stored(result))]
        if not any(_layout(op.operands[0]).owner_bits()):
            return []
        return [BufferType((_layout(result).num_elements,), _stored(result))]

    def for_load(self, op: Op) -> list[BufferType]:
        if is_tile(op.results[0]) or not (op.attrs.get("volatile") or op.attrs.get("cache") == ".cv"):
            return []
        return [BufferType((1,), _stored(op.results[0]))]


def _layout(value: Value):  # type: ignore[no-untyped-def]
    assert isinstance(value.type, TileType) and value.type.layout is not None
    return value.type.layout


def _stored(value: Value) -> DType:
    """Type in which a value's elements lie in shared memory."""
    element = element_of(value.type)
    if not isinstance(element, DType):
        return DType("int64")
    return U8 if element is BOOL else element


def _name(op: Op, position: int) -> str:
    """A readable name for an operation's scratch."""
    base = op.results[position].name if position < len(op.results) and op.results[position].name else ""
    kind = {
        "reduce": f"{op.attrs.get('kind', '')}_slots",
        "scan": "warp_totals",
        "exclusive_sum": "scan",
        "histogram": "bins",
        "convert_layout": "exchange",
    }.get(op.name, "broadcast")
    return f"{base}_{kind.split('_')[-1]}" if base else kind
