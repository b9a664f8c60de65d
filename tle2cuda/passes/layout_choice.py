"""Which layout a tile should have: anchors have opinions, connected tiles share one.

Tiles that meet in elementwise operations form a component and get one layout, taken from the component's most demanding
anchor: a matrix product wants a block of rows and columns in each thread; a scan wants the scanned axis inside the threads;
loads and stores of global memory want neighbouring lanes on neighbouring addresses and as many registers as one access
moves; a reduction's result lives where its operand does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tle2cuda.analysis.axis_info import AxisInfo
from tle2cuda.ir.classify import ELEMENTWISE, SHAPE, is_tile, lazy_values
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import GLOBAL, PointerType, TileType
from tle2cuda.layout import (
    LANE_BITS,
    MMA_INSTRUCTIONS,
    Layout,
    axis_unit,
    blocked,
    flatten,
    mma_operand,
    mma_sums,
    outer_product,
    scan_layout,
    sort_layout,
    unflatten,
)
from tle2cuda.layout.bank_choice import without_conflicts
from tle2cuda.passes.access_layout import MAX_ACCESS_BYTES, SECTOR_BYTES, caches_neighbours, spreads, with_traded_registers
from tle2cuda.passes.swizzled_accesses import SwizzledAccesses
from tle2cuda.targets import parse_target

_MANY_ROWS = 8  # from which on it costs more to join what warps reduced than to read rows by one warp each
_MOST_ROW_LOADS = 64  # of a thread, which the compiler keeps in registers when it makes them early
PRODUCT_VECTOR = 4
"""Neighbouring elements of an operand that a thread reads at once: 16 bytes of float32."""


@dataclass(slots=True)
class Component:
    """Tiles of one shape that should share a layout."""

    shape: tuple[int, ...]
    products: list[Op] = field(default_factory=list)
    left_of: list[Op] = field(default_factory=list)  # products of warpgroups that take it from registers
    accesses: list[tuple[Value, int]] = field(default_factory=list)  # pointer tile, bytes of one element
    scans: list[Op] = field(default_factory=list)
    sort_axes: list[int] = field(default_factory=list)
    reduced_axes: set[int] = field(default_factory=set)
    reduced_from: list[tuple[Value, int]] = field(default_factory=list)  # operand of a reduction, axis
    broadcast_into: list[tuple[Value, tuple[Op, ...]]] = field(default_factory=list)  # larger tile it meets, shape ops back
    rows_of: list[tuple[Value, tuple[Op, ...]]] = field(default_factory=list)  # the same, of a load and of few elements
    expanded_into: list[tuple[Value, int]] = field(default_factory=list)  # what it meets with a new axis, that axis
    made_by: list[Op] = field(default_factory=list)  # changes of shape of tiles that have registers
    in_registers: list[int] = field(default_factory=list)  # along each axis, elements that one thread should hold
    parts: list[tuple[int, ...]] = field(default_factory=list)  # extents of parts that are taken out or put in
    turned_into: list[Op] = field(default_factory=list)  # transpositions of its tiles
    turned_from: list[Op] = field(default_factory=list)  # transpositions that make its tiles


class LayoutChoice:
    """The components of one kernel and the layout of each."""

    def __init__(self, kernel: Kernel, info: Mapping[Value, AxisInfo]) -> None:
        self.kernel = kernel
        self.info = info
        self.lazy = lazy_values(kernel.body.ops)
        self._definitions = definitions(kernel.body)
        self._parent: dict[Value, Value] = {}
        self._components: dict[Value, Component] = {}
        self._layouts: dict[Value, Layout | None] = {}
        self._registers_in: dict[Value, bool] = {}
        self._swizzled = SwizzledAccesses(kernel, self._definitions, info)
        for op in walk(kernel.body):
            self._connect(op)
        for op in walk(kernel.body):
            self._collect(op)

    # ---- components -------------------------------------------------------------------------------------------------

    def _root(self, value: Value) -> Value:
        while (parent := self._parent.get(value, value)) is not value:
            self._parent[value] = self._parent.get(parent, parent)
            value = parent
        return value

    def _union(self, values: list[Value]) -> None:
        kept = [v for v in values if is_tile(v) and v not in self.lazy]
        for other in kept[1:]:
            a, b = self._root(kept[0]), self._root(other)
            if a is not b and a.type.shape == b.type.shape:  # type: ignore[union-attr]
                self._parent[b] = a

    def _connect(self, op: Op) -> None:
        if op.name in ELEMENTWISE or op.name in (
            "load",
            "store",
            "cp_async",
            "atomic_rmw",
            "atomic_cas",
            "local_ptr",
            "scan",
            "asm_block",
            "map",
        ):
            self._union([*op.operands, *op.results])
        elif op.name == "exclusive_sum":
            self._union([op.operands[0], op.results[0]])
        elif op.name in ("dot", "wgmma"):
            self._union([op.operands[2], op.results[0]])
        elif op.name == "wgmma_wait":
            self._union([*op.operands, *op.results])
        elif op.name == "for":
            region = op.regions[0]
            for init, param, result, out in zip(
                op.operands[3:], region.params[1:], op.results, region.terminator.operands, strict=True
            ):
                self._union([init, param, result, out])
        elif op.name == "while":
            before, body = op.regions
            arguments = before.terminator.operands[1:]
            for init, param, out in zip(op.operands, before.params, body.terminator.operands, strict=True):
                self._union([init, param, out])
            for argument, param, result in zip(arguments, body.params, op.results, strict=True):
                self._union([argument, param, result])
        elif op.name == "warp_specialize":
            for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
                self._union([result, value])
        elif op.name == "if":
            then, other = op.regions
            for result, a, b in zip(op.results, then.terminator.operands, other.terminator.operands, strict=True):
                self._union([result, a, b])

    def _component(self, value: Value) -> Component:
        root = self._root(value)
        if root not in self._components:
            self._components[root] = Component(root.type.shape)  # type: ignore[union-attr]
        return self._components[root]

    def _member(self, op: Op) -> Value | None:
        """A tile of the component that an operation belongs to."""
        for value in (*op.results, *op.operands):
            if is_tile(value) and value not in self.lazy:
                return value
        return None

    def _collect(self, op: Op) -> None:
        if op.name in ("load", "store", "cp_async", "atomic_rmw", "atomic_cas"):
            member = self._member(op)
            pointer = op.operands[0]
            if member is not None and is_tile(pointer):
                element = pointer.type.element  # type: ignore[union-attr]
                assert isinstance(element, PointerType)
                self._component(member).accesses.append((pointer, element.element.bytes))
                for operand in op.operands:
                    self._note_broadcast(operand, member, small=op.name != "store")
        elif op.name in ("scan", "exclusive_sum"):
            if op.operands[0] not in self.lazy:
                self._component(op.operands[0]).scans.append(op)
            self._component(op.results[0]).scans.append(op)
        elif op.name in ("dot", "wgmma"):
            self._component(op.results[0]).products.append(op)
            if op.name == "wgmma" and is_tile(op.operands[0]) and op.operands[0] not in self.lazy:
                self._component(op.operands[0]).left_of.append(op)
        elif op.name == "sort":
            if op.operands[0] not in self.lazy:
                self._component(op.operands[0]).sort_axes.append(op.attrs["axis"])
        elif op.name == "reduce":
            for operand in self._behind_lazy(op.operands):
                if operand not in self.lazy:
                    self._component(operand).reduced_axes.add(op.attrs["axis"])
            for result in op.results:
                if is_tile(result):
                    self._component(result).reduced_from.append((op.operands[0], op.attrs["axis"]))
        elif op.name in ("expand_dims", "reshape"):
            if op.results[0] not in self.lazy and op.operands[0] not in self.lazy:
                self._component(op.results[0]).made_by.append(op)
        elif op.name == "trans" and not self.lazy.intersection((op.operands[0], op.result)):
            self._component(op.operands[0]).turned_into.append(op)
            self._component(op.result).turned_from.append(op)
        elif op.name == "extract":
            self._note_parts(op)
        elif op.name == "insert" and op.operands[0] not in self.lazy:
            self._component(op.operands[0]).parts.append(op.operands[1].type.shape)  # type: ignore[union-attr]
        elif op.name in ELEMENTWISE:
            member = self._member(op)
            if member is not None:
                for operand in op.operands:
                    self._note_broadcast(operand, member)

    def _note_parts(self, op: Op) -> None:
        """The tile that parts are taken from would like neighbours that go to different parts in one thread."""
        (source,) = op.operands
        part, whole = op.results[0].type.shape, source.type.shape  # type: ignore[union-attr]
        apart = [axis_unit(whole, axis, n - m) for axis, (m, n) in enumerate(zip(part, whole, strict=True))]
        while (maker := self._definitions.get(source)) is not None and maker.name in _LOOKED_THROUGH:
            apart = [_before(maker, c) for c in apart]
            source = maker.operands[0]
        if source in self.lazy:
            return
        component = self._component(source)
        wanted = component.in_registers or [1] * len(component.shape)
        for axis, positions in enumerate(zip(*apart, strict=True)):
            bits = sum(positions) | wanted[axis] - 1
            if bits & bits + 1 == 0:  # the lowest bits of the axis and no others
                wanted[axis] = bits + 1
            elif source is op.operands[0]:
                component.parts.append(part)
        component.in_registers = wanted

    def _note_broadcast(self, operand: Value, meets: Value, path: tuple[Op, ...] = (), small: bool = False) -> None:
        """A broadcast of registers, or these with a new axis: their source would like the layout of what it meets.

        Lazy arithmetic and changes of shape between them and `meets` are looked through. `small` says to note only what has
        no more elements than there are threads: it gains nothing by a layout of its own, which it would be moved out of.
        """
        maker = self._definitions.get(operand)
        if not is_tile(operand) or maker is None or not self.holds_registers(operand):
            return
        if operand in self.lazy and maker.name in ELEMENTWISE:
            for inner in maker.operands:
                self._note_broadcast(inner, meets, path, small)
        elif maker.name in SHAPE and is_tile(maker.operands[0]):
            self._note_broadcast(maker.operands[0], meets, (*path, maker), small)
        elif small and num_elements(operand.type.shape) > self.kernel.default_threads:  # type: ignore[union-attr]
            return
        elif any(op.name == "broadcast" for op in path):
            component = self._component(operand)
            (component.rows_of if small else component.broadcast_into).append((meets, path))
        elif len(path) == 1 and path[0].name == "expand_dims":
            self._component(operand).expanded_into.append((meets, path[0].attrs["axis"]))

    def holds_registers(self, value: Value) -> bool:
        """Whether a tile has registers, or is computed of tiles that do."""
        if value not in self._registers_in:
            maker = self._definitions.get(value)
            if value not in self.lazy or maker is None:
                return True
            self._registers_in[value] = any(self.holds_registers(v) for v in maker.operands if is_tile(v))
        return self._registers_in[value]

    def varies_along(self, value: Value, axis: int) -> bool:
        """Whether a tile is computed of registers that differ along an axis."""
        maker = self._definitions.get(value)
        if not self.holds_registers(value) or value.type.shape[axis] == 1:  # type: ignore[union-attr]
            return False
        if value not in self.lazy or maker is None:
            return True
        if maker.name in ELEMENTWISE or maker.name == "broadcast":
            return any(self.varies_along(v, axis) for v in maker.operands if is_tile(v))
        if maker.name == "expand_dims":
            return self.varies_along(maker.operands[0], axis - (axis > maker.attrs["axis"]))
        if maker.name == "trans":
            return self.varies_along(maker.operands[0], maker.attrs["perm"][axis])
        return True

    # ---- layouts ----------------------------------------------------------------------------------------------------

    def layout_for(self, value: Value) -> Layout:
        """The layout that the component of a tile should have."""
        root = self._root(value)
        if root not in self._layouts:
            self._layouts[root] = None  # a cycle through reductions and broadcasts falls back to the default
            self._layouts[root] = self._choose(self._component(root))
        found = self._layouts[root]
        return found if found is not None else self.default(self._component(root).shape)

    def _choose(self, component: Component) -> Layout:
        shape = component.shape
        if component.products:
            return self._for_products(component.products)
        if component.scans:
            return self.scan_layout(component.scans[0])
        if component.sort_axes:
            return sort_layout(shape, component.sort_axes[0], self.kernel.num_warps)
        for operand, axis in component.reduced_from:
            if operand not in self.lazy:
                return self.layout_for(operand).reduce_axis(axis)
        for meets, path in component.broadcast_into:
            if component.accesses and any(op.name in ("reshape", "trans") for op in path):
                continue  # what is read from memory in few accesses is rather converted
            return self._met(meets, path)
        for meets, path in component.rows_of:
            if any(op.name in ("reshape", "trans") for op in path):
                continue
            layout = self._met(meets, path)
            if self._num_row_loads * layout.num_registers <= _MOST_ROW_LOADS:
                return layout
        for result, axis in component.expanded_into:
            expanded = self._component(result)
            if expanded.broadcast_into or expanded.rows_of:
                return self.layout_for(result).unexpand_dims(axis)
        if component.turned_into and self._is_swizzled(component):
            turned = component.turned_into[0]
            return backward(turned, self.layout_for(turned.result), turned.operands[0])
        if component.made_by and not any(self._is_contiguous(pointer) for pointer, _ in component.accesses):
            (source,) = component.made_by[0].operands  # which stays where it is, the shape alone changes
            return forward(component.made_by[0], self.layout_for(source))
        part = self._common_part(component)
        if not component.accesses:
            return self.default(part, component.in_registers).whole_of_part(shape)
        if component.left_of and not any(_is_global(pointer) for pointer, _ in component.accesses):
            return self.left_layout(component.left_of[0])  # read from shared memory as fragments, without a way back
        candidates = [self.for_access(pointer, part, component.in_registers) for pointer, _ in component.accesses]
        weights = [
            (_is_global(pointer), layout.vector()[1] * size, layout.vector()[1])
            for layout, (pointer, size) in zip(candidates, component.accesses, strict=True)
        ]
        best = max(range(len(candidates)), key=lambda i: (weights[i], -i))
        if part == shape and len(component.reduced_axes) == 1:
            (axis,) = component.reduced_axes
            shares_rows = any(warp[axis] for warp in candidates[best].warps)
            if shares_rows and candidates[best].reduce_axis(axis).num_registers > _MANY_ROWS:
                return self.for_access(component.accesses[best][0], shape, component.in_registers, warps_beside=axis)
        return self._without_conflicts(component, candidates[best].whole_of_part(shape), component.accesses[best])

    def scan_layout(self, op: Op) -> Layout:
        """The layout of what a scan takes and gives.

        Neighbours lie in one thread, but where global memory is accessed and no access has neighbours side by side: there
        they lie in neighbouring lanes, as a thread could not access them together anyway.
        """
        shape = op.operands[0].type.shape  # type: ignore[union-attr]
        components = [self._component(value) for value in (op.operands[0], op.results[0]) if value not in self.lazy]
        pointers = [pointer for component in components for pointer, _ in component.accesses if _is_global(pointer)]
        apart = op.name == "scan" and bool(pointers) and not any(self._is_contiguous(pointer) for pointer in pointers)
        return scan_layout(shape, op.attrs.get("axis", 0), self.kernel.num_warps, neighbours_in_lanes=apart)

    def _met(self, meets: Value, path: tuple[Op, ...]) -> Layout:
        """The layout of a tile that meets another one after some changes of shape."""
        layout = self.layout_for(meets)
        maker = self._definitions.get(meets)
        if maker is not None and maker.name == "load":
            layout = self.for_load(maker, layout)
        for op in path:
            layout = backward(op, layout, op.operands[0])
        return layout

    @cached_property
    def _num_row_loads(self) -> int:
        """Loads that could be made where the rows are that they belong to, each thread for all of its rows."""
        loads = (
            op for op in walk(self.kernel.body) if op.name == "load" and is_tile(op.result) and op.result not in self.lazy
        )
        components = (self._component(op.result) for op in loads)
        return sum(1 for c in components if c.rows_of or any(self._component(r).rows_of for r, _ in c.expanded_into))

    def _is_swizzled(self, component: Component) -> bool:
        """Whether tiles are accessed in swizzled buffers and nowhere else."""
        found = [self._swizzled.access(pointer) for pointer, _ in component.accesses]
        return bool(found) and None not in found

    def _without_conflicts(self, component: Component, layout: Layout, anchor: tuple[Value, int]) -> Layout:
        """The layout with other lanes, where they access swizzled buffers better and memory still in whole sectors."""
        found = [self._swizzled.access(pointer) for pointer, _ in component.accesses]
        for op in component.turned_from:
            source = self._component(op.operands[0])
            if self._is_swizzled(source):
                found += [self._swizzled.access(pointer, op) for pointer, _ in source.accesses]
        accesses = [access for access in found if access is not None]
        if not accesses:
            return layout
        pointer, size = anchor
        kept = max(1, SECTOR_BYTES // (layout.vector()[1] * size)).bit_length() - 1 if _is_global(pointer) else 0
        return without_conflicts(layout, min(kept, LANE_BITS), accesses)

    def _is_contiguous(self, pointer: Value) -> bool:
        """Whether neighbours along some axis of an access are known to be neighbours in memory."""
        info = self.info.get(pointer)
        return info is not None and max(info.contiguity) > 1

    def _common_part(self, component: Component) -> tuple[int, ...]:
        """The extents of parts that should lie in registers apart from each other; else those of the whole tile.

        Taking out such a part moves nothing. Parts with less than an element for each thread are not worth it.
        """
        part = tuple(min(extents) for extents in zip(component.shape, *component.parts, strict=True))
        return part if num_elements(part) >= self.kernel.default_threads else component.shape

    def _for_products(self, products: Sequence[Op]) -> Layout:
        """What the first product by an instruction leaves; else what suits the first one."""
        by_instruction = [op for op in products if op.attrs.get("instruction")]
        return self.sums_layout(by_instruction[0]) if by_instruction else self._for_product(products[0])

    def has_products(self, value: Value) -> bool:
        """Whether a tile meets the sums of products."""
        return bool(self._component(self._root(value)).products)

    def sums_layout(self, op: Op) -> Layout:
        """Layout of the sums of a product by a tensor-core instruction."""
        shape = op.results[0].type.shape  # type: ignore[union-attr]
        instruction = MMA_INSTRUCTIONS[op.attrs["instruction"]]
        return mma_sums(instruction, shape, self.kernel.num_warps, self._has_reduced_products)

    def left_layout(self, op: Op) -> Layout:
        """Layout of the left operand of a product by a tensor-core instruction, in registers."""
        depth = op.operands[0].type.shape[-1]  # type: ignore[union-attr]
        return mma_operand(MMA_INSTRUCTIONS[op.attrs["instruction"]], self.sums_layout(op), depth, 0)

    def _for_product(self, op: Op) -> Layout:
        """A thread's block of the product; vectors of rows and columns where the operands come in such vectors."""
        shape = op.results[0].type.shape  # type: ignore[union-attr]
        rank = len(shape)
        by_rows = self._fast_axis(op.operands[0]) == rank - 2
        by_columns = self._fast_axis(op.operands[1]) != rank - 2
        return outer_product(
            shape,
            self.kernel.num_warps,
            PRODUCT_VECTOR if by_rows else 1,
            PRODUCT_VECTOR if by_columns else 1,
            self._has_reduced_products,
        )

    def _fast_axis(self, value: Value) -> int:
        """The axis along which neighbouring elements of a tile will lie in one thread, or in neighbouring lanes."""
        return fast_axis(self._expected(value))

    def _expected(self, value: Value) -> Layout:
        """The layout that a tile will have, shape operations followed back."""
        op = self._definitions.get(value)
        if op is not None and op.name in ("expand_dims", "reshape", "trans") and value not in self.lazy:
            return forward(op, self._expected(op.operands[0]))
        return self.layout_for(value)

    @cached_property
    def _has_reduced_products(self) -> bool:
        """Whether rows of some product are reduced, as in attention: all products then keep their rows in warps."""
        products = {self._root(op.results[0]) for op in walk(self.kernel.body) if op.name in ("dot", "wgmma")}
        for op in walk(self.kernel.body):
            if op.name == "reduce" and op.attrs["axis"] == len(op.operands[0].type.shape) - 1:  # type: ignore[union-attr]
                if any(self._root(v) in products for v in self._behind_lazy(op.operands)):
                    return True
        return False

    def _behind_lazy(self, values: Sequence[Value]) -> set[Value]:
        """The tiles with registers that values are computed from, elementwise."""
        found: set[Value] = set()
        todo = [v for v in values if is_tile(v)]
        while todo:
            value = todo.pop()
            op = self._definitions.get(value)
            if value in self.lazy and op is not None and op.name in ELEMENTWISE:
                todo += [v for v in op.operands if is_tile(v)]
            else:
                found.add(value)
        return found

    def for_access(
        self, pointer: Value, shape: tuple[int, ...], in_registers: Sequence[int] = (), warps_beside: int | None = None
    ) -> Layout:
        """Coalesced layout of an access through a tile of pointers: lanes run along the contiguous axis.

        `in_registers` says how many elements along each axis one thread should hold at least; `warps_beside` is an axis
        that warps do not split as long as there are others to split.
        """
        info = self.info.get(pointer)
        element = pointer.type.element  # type: ignore[union-attr]
        assert isinstance(element, PointerType)
        rank = len(shape)
        if info is None:
            return self.default(shape, in_registers)
        order = tuple(sorted(range(rank), key=lambda axis: (-info.contiguity[axis], -axis)))
        fast = order[0]
        size = element.element.bytes
        vector = min(
            MAX_ACCESS_BYTES // size,
            info.contiguity[fast],
            max(1, info.divisibility[fast] // size),
            shape[fast],
            max(1, num_elements(shape) // self.kernel.default_threads),
        )
        sizes = list(in_registers) or [1] * rank
        sizes[fast] = max(sizes[fast], 1 << (vector.bit_length() - 1))
        if warps_beside is None:
            return blocked(shape, self.kernel.num_warps, order, sizes)
        last = (*(axis for axis in order if axis != warps_beside), warps_beside)
        return blocked(shape, self.kernel.num_warps, order, sizes, warp_order=last)

    def for_load(self, op: Op, preferred: Layout) -> Layout:
        """The layout of a load that would like another: that one, as long as it costs little."""
        info = self.info.get(op.operands[0])
        if info is not None and caches_neighbours(info, op, preferred):
            return preferred
        return self.coalesced(op.operands[0], preferred)

    def coalesced(self, pointer: Value, preferred: Layout, is_store: bool = False) -> Layout:
        """The layout of an access that would like another: its own where a warp's access would be spread in that.

        Pointers in registers stay where they are: moving them costs more than it saves. So do tiles that would not fit in
        shared memory on their way.
        """
        info = self.info.get(pointer)
        if info is None or pointer not in self.lazy or not spreads(info, pointer, preferred, is_store):
            return preferred
        best = self.for_access(pointer, preferred.shape)
        if is_store and (traded := with_traded_registers(info, pointer, preferred, best)) is not None:
            return traded
        element = pointer.type.element  # type: ignore[union-attr]
        assert isinstance(element, PointerType)
        limit_bytes = parse_target(self.kernel.target).limits.max_shared_bytes_per_cta
        if num_elements(preferred.shape) * element.element.bytes > limit_bytes:
            return preferred
        return preferred if spreads(info, pointer, best, is_store) else best

    def default(self, shape: tuple[int, ...], in_registers: Sequence[int] = ()) -> Layout:
        """Layout of a tile that nothing else has an opinion on: row-major, one element after the other."""
        sizes = tuple(in_registers) or (1,) * len(shape)
        return blocked(shape, self.kernel.num_warps, tuple(reversed(range(len(shape)))), sizes)


_LOOKED_THROUGH = frozenset(("reshape", "trans", "expand_dims", "extract"))


def _before(op: Op, coordinate: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinate in the operand of a shape operation that becomes `coordinate` in its result."""
    shape: tuple[int, ...] = op.operands[0].type.shape  # type: ignore[union-attr]
    if op.name == "reshape":
        return unflatten(flatten(coordinate, op.results[0].type.shape), shape)  # type: ignore[union-attr]
    if op.name == "trans":
        return tuple(coordinate[op.attrs["perm"].index(axis)] for axis in range(len(shape)))
    if op.name == "expand_dims":
        axis = op.attrs["axis"]
        return (*coordinate[:axis], *coordinate[axis + 1 :])
    return coordinate


def forward(op: Op, layout: Layout) -> Layout:
    """Layout of a shape operation's result, given its operand's."""
    if op.name == "expand_dims":
        return layout.expand_dims(op.attrs["axis"])
    if op.name == "trans":
        return layout.transpose(op.attrs["perm"])
    if op.name == "reshape":
        return layout.reshape(op.results[0].type.shape)  # type: ignore[union-attr]
    if op.name in ("flip", "insert"):
        return layout
    if op.name == "concat":
        return layout.concat(op.attrs["axis"])
    if op.name == "extract":
        return layout.part_of_axes(op.results[0].type.shape)  # type: ignore[union-attr]
    raise AssertionError(op.name)


def backward(op: Op, layout: Layout, operand: Value) -> Layout:
    """Layout of an operand of a lazy operation, given the result's."""
    if op.name == "broadcast":
        return layout.broadcast_source(operand.type.shape)  # type: ignore[union-attr]
    if op.name == "expand_dims":
        return layout.unexpand_dims(op.attrs["axis"])
    if op.name == "trans":
        return layout.untranspose(op.attrs["perm"])
    if op.name == "reshape":
        return layout.reshape(operand.type.shape)  # type: ignore[union-attr]
    if op.name == "concat" or (op.name == "insert" and operand is op.operands[1]):
        return layout.part_of_axes(operand.type.shape)  # type: ignore[union-attr]
    if op.name == "extract":
        return layout.whole_of_part(operand.type.shape)  # type: ignore[union-attr]
    return layout


def fast_axis(layout: Layout) -> int:
    """The axis along which neighbours lie in one thread, or where a thread has none in neighbouring lanes."""
    axis, width = layout.vector()
    if width > 1:
        return axis
    for image in (*layout.lanes, *layout.registers, *layout.warps):
        for candidate in range(layout.rank):
            if image == axis_unit(layout.shape, candidate, 1):
                return candidate
    return layout.rank - 1


def num_elements(shape: tuple[int, ...]) -> int:
    """Product of the extents."""
    count = 1
    for extent in shape:
        count *= extent
    return count


def _is_global(pointer: Value) -> bool:
    assert isinstance(pointer.type, TileType)
    element = pointer.type.element
    return isinstance(element, PointerType) and element.space == GLOBAL
