"""Make the shared memory that operations need for themselves explicit (D6, D7).

Afterwards every byte of shared memory is an `alloc` or `alloc_barriers`; an operation's scratch is its trailing
operands, counted by the attribute `num_scratch`, so that barriers and the shared-memory map see it like any other
buffer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.classify import is_tile, lazy_values
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import BOOL, I32, U8, U32, BarrierType, BufferType, DType, TileType, dtype_of, element_of
from tle2cuda.passes.collective_plan import (
    accumulator,
    conversion_way,
    cub_scan,
    exclusive_sum_slots,
    exclusive_sum_type,
    flip_in_warp,
    gather_in_warp,
    scan_slots,
    sort_chunk,
    sort_key,
    stored,
    warp_exchange,
)
from tle2cuda.passes.dot_plan import operand_name, stage_operands
from tle2cuda.ptx.steps import is_same_for_all_threads
from tle2cuda.targets import parse_target

_PART_BYTES = 1 << 16  # that a tile takes on its way to other threads, where it goes in parts


def run(kernel: Kernel) -> Kernel:
    """Add scratch buffers to the operations that need them."""
    return _with_member_counters(_Scratch(kernel).kernel(kernel))


def _with_member_counters(kernel: Kernel) -> Kernel:
    """Add one counter for each set of cluster members that meets without the rest of its cluster.

    Peers count in it from other CTAs, so it is no scratch: it is nobody else's for the whole kernel.
    """
    meetings = [op for op in walk(kernel.body) if op.name == "cluster_barrier" and op.attrs.get("members") is not None]
    groups = tuple(dict.fromkeys(tuple(op.attrs["members"]) for op in meetings))
    if not groups:
        return kernel
    attrs = {"name": "member_barrier", "alignment_bytes": 16, "member_groups": groups}
    span = meetings[0].span
    alloc = make_op("alloc", (), (BufferType((len(groups),), U32),), attrs, span=span, names=("member_barrier",))
    return replace(kernel, body=Region(kernel.body.params, (alloc, *kernel.body.ops)))


class _Scratch(Rewriter):
    def __init__(self, source: Kernel) -> None:
        super().__init__()
        self.source = source
        self.uses = uses_of(source.body)
        self.definitions = definitions(source.body)
        self.lazy = lazy_values(source.body.ops)
        allocs = (op.result.type for op in walk(source.body) if op.name == "alloc" and not op.attrs.get("scratch"))
        self.allocated_bytes = sum(type_.size_bytes for type_ in allocs if isinstance(type_, BufferType))
        self.makers: dict[str, Callable[[Op], list[BufferType]]] = {
            "reduce": self.for_reduce,
            "scan": self.for_scan,
            "exclusive_sum": self.for_exclusive_sum,
            "histogram": self.for_histogram,
            "dot": self.for_dot,
            "convert_layout": self.for_conversion,
            "flip": self.for_flip,
            "extract_at": self.for_part,
            "gather": self.for_gather,
            "sort": self.for_sort,
            "atomic_rmw": self.for_atomic,
            "atomic_cas": self.for_atomic,
            "load": self.for_load,
            "asm_block": self.for_asm,
        }

    def visit(self, op: Op) -> None:
        if op.name == "tma_load" and op.attrs["completion"] == "blocking":
            self.with_barrier(op)
            return
        maker = self.makers.get(op.name)
        types = maker(op) if maker is not None else []
        if not types:
            self.copy(op)
        elif op.name == "convert_layout" and (shape := self.part_of_exchange(op, types[0])) is not None:
            self.convert_in_parts(op, shape)
        else:
            self.with_scratch(op, types)

    def with_scratch(self, op: Op, types: list[BufferType]) -> None:
        """The operation with buffers of these types behind its operands."""
        buffers: list[Value] = []
        for position, type_ in enumerate(types):
            name = _name(op, position, self.definitions)
            wanted = {"name": name, "scratch": True, "alignment_bytes": 16}
            if op.name == "exclusive_sum" and (scan := cub_scan(op, self.source.target)) is not None:
                wanted["cuda_type"] = f"{scan}::TempStorage"  # what it is with toolkit headers
            alloc = make_op("alloc", (), (type_,), wanted, span=op.span, names=(name,))
            buffers.append(self.emit(alloc).result)
        attrs = MappingProxyType({**op.attrs, "num_scratch": len(buffers)})
        operands = (*(self[v] for v in op.operands), *buffers)
        regions = tuple(self.region(r) for r in op.regions)
        self.emit(replace(op, operands=operands, attrs=attrs, regions=regions))

    def part_of_exchange(self, op: Op, scratch: BufferType) -> tuple[int, ...] | None:
        """Shape of the parts in which a tile goes to other threads where all of it at once finds no room; else None.

        Parts are choices of registers, before and behind: nothing but the exchange itself moves data.
        """
        source, target, shape = _layout(op.operands[0]), _layout(op.results[0]), _layout(op.operands[0]).shape
        element_bytes = scratch.element.bytes
        room = parse_target(self.source.target).limits.max_shared_bytes_per_cta - self.allocated_bytes
        if math.prod(shape) * element_bytes <= room:
            return None
        while math.prod(shape) * element_bytes > min(room, _PART_BYTES):
            halves = (tuple(n // 2 if i == axis else n for i, n in enumerate(shape)) for axis in range(len(shape)))
            fitting = (half for half in halves if 0 not in half and source.extract(half) and target.extract(half))
            smaller = next(fitting, None)
            if smaller is None:
                break
            shape = smaller
        return shape if math.prod(shape) * element_bytes <= room else None

    def convert_in_parts(self, op: Op, shape: tuple[int, ...]) -> None:
        """A conversion as conversions of all parts of this shape, one after the other, and the tile made of them."""
        value, result = op.operands[0], op.results[0]
        assert isinstance(value.type, TileType) and isinstance(result.type, TileType)
        whole = value.type.shape
        source, target = _layout(value).extract(shape), _layout(result).extract(shape)
        parts: dict[tuple[int, ...], Value] = {}
        for start in itertools.product(*(range(0, n, m) for n, m in zip(whole, shape, strict=True))):
            before, behind = (TileType(shape, value.type.element, layout) for layout in (source, target))
            names = (value.name,)
            part = self.emit(make_op("extract", (self[value],), (before,), {"start": start}, (), op.span, names)).result
            converted = make_op("convert_layout", (part,), (behind,), op.attrs, (), op.span, (result.name,))
            self.visit(converted)
            parts[start] = self[converted.result]
        for axis in reversed(range(len(whole))):
            parts = self.joined(op, parts, axis)
        (last,) = parts.values()
        self.bind(result, last)

    def joined(self, op: Op, parts: Mapping[tuple[int, ...], Value], axis: int) -> dict[tuple[int, ...], Value]:
        """Parts put together along an axis, two at a time."""
        found = dict(parts)
        while len({start[axis] for start in found}) > 1:
            first = next(iter(found.values())).type
            assert isinstance(first, TileType)
            step = first.shape[axis]
            extents = tuple(2 * n if i == axis else n for i, n in enumerate(first.shape))
            layout = _layout(op.results[0]).extract(extents)
            merged: dict[tuple[int, ...], Value] = {}
            for start in found:
                if start[axis] % (2 * step):
                    continue
                behind = tuple(x + step if i == axis else x for i, x in enumerate(start))
                type_ = TileType(extents, first.element, layout)
                pair = (found[start], found[behind])
                new = make_op("concat", pair, (type_,), {"axis": axis}, (), op.span, (op.results[0].name,))
                merged[start] = self.emit(new).result
            found = merged
        return found

    def with_barrier(self, op: Op) -> None:
        """A blocking load completes on a barrier of its own, which only its own executions use."""
        buffer = next(v for v in op.operands if isinstance(v.type, BufferType))
        maker = self.definitions.get(buffer)
        of = (maker.attrs.get("name") if maker is not None and maker.name == "alloc" else "") or buffer.name
        name = f"{of}_landed" if of else "landed"
        attrs = {"name": name, "arrivals": 1, "init": "pending", "scratch": True}
        alloc = make_op("alloc_barriers", (), (BarrierType(1),), attrs, span=op.span, names=(name,))
        barrier = self.emit(alloc).result
        operands = (*(self[v] for v in op.operands), barrier)
        self.emit(replace(op, operands=operands, attrs=MappingProxyType({**op.attrs, "num_scratch": 1})))

    def for_reduce(self, op: Op) -> list[BufferType]:
        exchange = warp_exchange(_layout(op.operands[0]), op.attrs["axis"])
        if exchange is None or op.attrs.get("own"):
            return []
        kind = op.attrs["kind"]
        count = exchange.parts * exchange.rest
        return [BufferType((count,), stored(accumulator(kind, dtype_of(v.type)))) for v in op.operands]

    def for_scan(self, op: Op) -> list[BufferType]:
        count = scan_slots(_layout(op.operands[0]), op.attrs["axis"])
        if not count:
            return []
        kind = op.attrs["kind"]
        return [BufferType((count,), stored(accumulator(kind, dtype_of(v.type)))) for v in op.operands]

    def for_exclusive_sum(self, op: Op) -> list[BufferType]:
        count = exclusive_sum_slots(op, _layout(op.operands[0]).num_warps, self.source.target)
        return [BufferType((count,), exclusive_sum_type(op))] if count else []

    def for_histogram(self, op: Op) -> list[BufferType]:
        return [BufferType((op.attrs["bins"],), I32)]

    def for_dot(self, op: Op) -> list[BufferType]:
        return [] if op.attrs.get("instruction") else [operand.buffer for operand in stage_operands(op)]

    def for_conversion(self, op: Op) -> list[BufferType]:
        source, target = op.operands[0].type, op.results[0].type
        assert isinstance(source, TileType) and isinstance(target, TileType)
        if conversion_way(source, target) != "shared":
            return []
        return [BufferType((source.num_elements,), _stored(op.operands[0]))]

    def for_flip(self, op: Op) -> list[BufferType]:
        layout = _layout(op.operands[0])
        if op.results[0] in self.lazy or flip_in_warp(layout, op.attrs["axis"]) is not None:
            return []
        return [BufferType((layout.num_elements,), _stored(op.operands[0]))]

    def for_part(self, op: Op) -> list[BufferType]:
        return [BufferType((_layout(op.results[0]).num_elements,), _stored(op.operands[0]))]

    def for_gather(self, op: Op) -> list[BufferType]:
        source = _layout(op.operands[0])
        if gather_in_warp(source, _layout(op.results[0]), op.attrs["axis"]) is not None:
            return []
        return [BufferType((source.num_elements,), _stored(op.operands[0]))]

    def for_sort(self, op: Op) -> list[BufferType]:
        chunk = sort_chunk(op)
        count = 2 * chunk * _layout(op.operands[0]).num_threads
        return [BufferType((count,), sort_key(dtype_of(op.operands[0].type)))] if chunk else []

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

    def for_asm(self, op: Op) -> list[BufferType]:
        """A scalar that threads may see differently, such as a clock or memory that others write, is one thread's."""
        if is_tile(op.results[0]) or op.attrs["pure"] or not any(self.uses.get(result) for result in op.results):
            return []
        if is_same_for_all_threads(op.attrs["asm"]):
            return []
        return [BufferType((1,), _stored(result)) for result in op.results]


def _layout(value: Value):  # type: ignore[no-untyped-def]
    assert isinstance(value.type, TileType) and value.type.layout is not None
    return value.type.layout


def _stored(value: Value) -> DType:
    """Type in which a value's elements lie in shared memory."""
    element = element_of(value.type)
    if not isinstance(element, DType):
        return DType("int64")
    return U8 if element is BOOL else element


def _name(op: Op, position: int, definitions: Mapping[Value, Op]) -> str:
    """A readable name for an operation's scratch."""
    if op.name == "dot":
        return f"{operand_name(definitions, op.operands[position]) or 'ab'[position]}_tile"
    base = op.results[position].name if position < len(op.results) and op.results[position].name else ""
    kind = {
        "reduce": f"{op.attrs.get('kind', '')}_slots",
        "scan": "warp_totals",
        "exclusive_sum": "scan",
        "histogram": "bins",
        "convert_layout": "exchange",
        "flip": "exchange",
        "extract_at": "part",
        "gather": "source",
        "sort": "exchanged_keys",
    }.get(op.name, "broadcast")
    return f"{base}_{kind.split('_')[-1]}" if base else kind
