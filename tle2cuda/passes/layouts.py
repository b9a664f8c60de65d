"""Give every tile a layout; convert only what cannot be recomputed (D3, D4).

Index tiles, splats and masks are cloned in each layout that wants them. A broadcast is cloned too: it takes the layout of
what it meets, its operand the projection of that. Everything else keeps the layout it was made in, and where a consumer
needs another one, a `convert_layout` is put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.analysis.shared_operands import SharedOperands
from tle2cuda.ir.classify import ELEMENTWISE, is_index_like, is_tile
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, Value, make_op
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.types import I32, BufferType, TileType
from tle2cuda.layout import Layout, SharedLayout, blocked, conversion, sort_layout
from tle2cuda.passes.collective_plan import gather_in_warp, gather_source
from tle2cuda.passes.dead_code import remove_dead_code
from tle2cuda.passes.layout_choice import LayoutChoice, backward, forward, num_elements
from tle2cuda.passes.mma_layouts import place_product, place_warpgroups, without_idle_buffers
from tle2cuda.passes.repeats import Repeats
from tle2cuda.passes.warp_count import with_useful_warps

Place = Layout | tuple[SharedLayout, int] | None
"""Where a tile is: in registers, in shared memory of some alignment, or wherever it was made."""

_LANES = 32
_SHORT_AXIS = 4
_SHORT_AXIS_OF_MANY = 16  # where a thread would else hold many registers
_MANY_REGISTERS = 32  # of results that a thread holds, or of a vector along the reduced axis that was moved into it
_MOST_GUESSES = 3  # of the layouts that a loop carries
_FEW_REGISTERS = 4  # up to which a whole tile is rather shuffled than a part of it moved through shared memory


def run(kernel: Kernel) -> Kernel:
    """Assign layouts and insert conversions, for the warps that the tiles keep busy."""
    return with_useful_warps(kernel, lambda one: _Assign(one).run())


class _Assign:
    """Layouts of one task: the kernel with region 0 of each `warp_specialize`, or one worker region with its own warps.

    Args:
        kernel: The kernel; for a worker, one whose body is the region.
        outer: For a worker, the assignment of the code around it: what the region captures is named there.
    """

    def __init__(self, kernel: Kernel, outer: _Assign | None = None) -> None:
        self.kernel = kernel
        self.outer = outer
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel) if outer is None else outer.info
        self.choice = LayoutChoice(kernel, self.info)
        self.lazy = self.choice.lazy
        self.definitions = definitions(kernel.body)
        self.shared_operands = SharedOperands(kernel)
        self.uses = uses_of(kernel.body)
        self.repeats: Repeats = Repeats(kernel, self.definitions, self.lazy, None if outer is None else outer.repeats)
        self.scopes: list[dict[tuple[Value, Place], Value]] = []
        self.outputs: list[list[Op]] = []
        self.in_loop: list[bool] = []  # for each open region, whether it is the body of a loop
        self.last_wanted: dict[Value, Layout] = {}  # of each lazy tile
        self.depth: dict[Value, int] = {}  # number of regions around the place where a new value is made

    def run(self) -> Kernel:
        body = self.region(self.kernel.body, ())
        # A loop whose carried layouts were guessed wrong is rewritten: what it wanted of its surroundings may be idle.
        return remove_dead_code(without_idle_buffers(replace(self.kernel, body=body)))

    # ---- scopes -----------------------------------------------------------------------------------------------------

    def find(self, key: tuple[Value, Place]) -> Value | None:
        """What a tile became in a layout, in registers or shared memory."""
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        return None

    def bind(self, old: Value, new: Value) -> None:
        """From here on `old` is `new`."""
        self.scopes[-1][(old, None)] = new

    def now(self, old: Value) -> Value:
        """The new value of a scalar, a buffer or a tile that has registers."""
        found = self.find((old, None))
        if found is None and self.outer is not None:
            return self.outer.now(old)
        return found if found is not None else old

    @property
    def level(self) -> int:
        """Number of the innermost open region."""
        return len(self.outputs) - 1

    def emit(self, op: Op, level: int = -1) -> Op:
        self.outputs[level].append(op)
        at = level % len(self.outputs)
        self.depth.update((result, at) for result in op.results)
        return op

    def home(self, operands: tuple[Value, ...], through_branches: bool) -> int:
        """The outermost open region in which the operands are known, reached through loops, or branches too."""
        known = max((self.depth.get(v, 0) for v in operands), default=0)
        level = len(self.outputs) - 1
        while level > known and (through_branches or self.in_loop[level]):
            level -= 1
        return level

    def _in_front_of_loops(self, value: Value) -> int:
        """The open region around the outermost loop that does not change a value; the innermost one without such a loop."""
        outside = [level - 1 for level in range(self.depth.get(value, 0) + 1, len(self.outputs)) if self.in_loop[level]]
        return min(outside, default=self.level)

    def natural(self, old: Value) -> Layout | None:
        """The layout a tile already has, or has through shape operations alone; None when it may have any."""
        if old not in self.lazy:
            layout = self.now(old).type.layout  # type: ignore[union-attr]
            assert layout is not None
            return layout
        op = self.definitions[old]
        if op.name in ("expand_dims", "reshape", "trans", "flip", "extract", "concat", "insert"):
            for operand in op.operands[:1] if op.name == "insert" else op.operands:
                if (inner := self.natural(operand)) is not None:
                    return forward(op, inner)
            return None
        if op.name in ELEMENTWISE:
            for operand in op.operands:
                if is_tile(operand) and (layout := self.natural(operand)) is not None:
                    return layout
        return None

    def computed_in(self, old: Value) -> Layout | None:
        """The layout in which what a lazy tile is computed of, down to registers, was wanted last."""
        if not self.choice.holds_registers(old):
            return None
        if old in self.last_wanted or old not in self.lazy:
            return self.last_wanted.get(old)
        op = self.definitions[old]
        for operand in op.operands:
            if is_tile(operand) and (inner := self.computed_in(operand)) is not None:
                if op.name in ELEMENTWISE:
                    return inner
                return forward(op, inner) if op.name in ("expand_dims", "reshape", "trans") else None
        return None

    def want(self, old: Value, layout: Layout) -> Value:
        """`old` in the given layout: cloned when it is lazy, converted when it lies elsewhere."""
        key = (old, layout)
        if (found := self.find(key)) is not None:
            return found
        if old in self.lazy or self._is_of_tiles_before_the_loop(old):
            new = self._clone(self.definitions[old], layout)
        else:
            new = self.now(old)
            own = new.type.layout  # type: ignore[union-attr]
            if own == layout:
                return new
            if own is not None and self.repeats.worthwhile(old, own, layout):
                return self._clone(self.definitions[old], layout)
            type_ = replace(new.type, layout=layout)  # type: ignore[type-var]
            op = make_op("convert_layout", (new,), (type_,), span=old.span, names=(old.name,))
            level = self._in_front_of_loops(new)
            new = self.emit(op, level).result
            self.scopes[level][key] = new
        return new

    def _is_of_tiles_before_the_loop(self, old: Value) -> bool:
        """Whether a tile is made in this loop by one cheap operation on tiles that were there before it.

        These are converted once, and the operation repeated, rather than its result converted in each iteration.
        """
        op = self.definitions.get(old)
        loop = max((level for level, is_loop in enumerate(self.in_loop) if is_loop), default=0)
        if op is None or not loop or old in self.lazy or self.depth.get(self.now(old), 0) < loop:
            return False
        if op.name in ("expand_dims", "reshape", "trans"):
            operand = op.operands[0]
            return self._is_of_tiles_before_the_loop(operand) or self.depth.get(self.now(operand), 0) < loop
        held = [v for v in op.operands if is_tile(v) and v not in self.lazy]
        return bool(held) and is_index_like(op) and all(self.depth.get(self.now(v), 0) < loop for v in held)

    def _clone(self, op: Op, layout: Layout) -> Value:
        operands = tuple(self.want(v, backward(op, layout, v)) if is_tile(v) else self.now(v) for v in op.operands)
        old = op.results[0]
        self.last_wanted[old] = layout
        type_ = replace(old.type, layout=layout)  # type: ignore[type-var]
        copy = make_op(op.name, operands, (type_,), op.attrs, (), op.span, (old.name,))
        level = self.home(operands, through_branches=True)
        if op.name in (
            "idiv",
            "rem",
            "load",
            "insert",
        ):  # where this is not executed, the divisor may be zero, or the place outside
            level = max(level, self.depth.get(old if old in self.lazy else self.now(old), 0))
        self.scopes[level][(old, layout)] = copy.result
        return self.emit(copy, level).result

    # ---- regions and operations ---------------------------------------------------------------------------------------

    def region(
        self,
        region: Region,
        params: tuple[Value, ...],
        yields: tuple[Layout | None, ...] | None = None,
        is_loop: bool = False,
        natural: list[Layout | None] | None = None,
    ) -> Region:
        """Rewrite a region whose parameters became `params`; tile yields are put into the layouts `yields`.

        `natural` receives the layouts that the yields would have by themselves.
        """
        self.scopes.append({})
        self.outputs.append([])
        self.in_loop.append(is_loop)
        self.depth.update((param, len(self.outputs) - 1) for param in params)
        for old, new in zip(region.params, params, strict=True):
            self.bind(old, new)
        for op in region.body:
            self.visit(op)
        end = region.terminator
        if natural is not None:
            natural += [self.natural(v) if is_tile(v) else None for v in end.operands]
        self.emit(replace(end, operands=self._yielded(end, yields)))
        self.scopes.pop()
        self.in_loop.pop()
        return Region(params, tuple(self.outputs.pop()))

    def _yielded(self, end: Op, layouts: tuple[Layout | None, ...] | None) -> tuple[Value, ...]:
        if layouts is None:
            return tuple(self.want(v, self.pick([v])) if is_tile(v) else self.now(v) for v in end.operands)
        values: list[Value] = []
        for value, layout in zip(end.operands, layouts, strict=True):
            values.append(self.want(value, layout) if layout is not None else self.now(value))
        return tuple(values)

    def pick(self, values: list[Value], fallback: Value | None = None) -> Layout:
        """The layout for an operation on these tiles: the one most of them have, else what the component wants."""
        counts: dict[Layout, int] = {}
        for value in values:
            if is_tile(value) and (layout := self.natural(value)) is not None:
                counts[layout] = counts.get(layout, 0) + 1
        if counts:
            return max(counts, key=lambda layout: counts[layout])
        for value in values:
            if is_tile(value) and (layout := self.computed_in(value)) is not None:
                return layout
        if fallback is not None:
            return self.choice.layout_for(fallback)
        return self.choice.layout_for(next(v for v in values if is_tile(v)))

    def visit(self, op: Op) -> None:
        if op.results and op.results[0] in self.lazy:
            self.depth[op.results[0]] = self.level
            return  # made where it is wanted
        method = getattr(self, f"visit_{op.name}", None)
        if method is not None:
            method(op)
        elif op.name in ELEMENTWISE or op.name in (*("print", "assert", "local_ptr", "remote", "asm_block", "map"),):
            self.visit_elementwise(op)
        elif any(is_tile(v) for v in (*op.operands, *op.results)):
            raise AssertionError(f"the layout pass has no rule for {op.name}")
        else:
            self.rebuild(op, tuple(self.now(v) for v in op.operands), None)

    def rebuild(self, op: Op, operands: tuple[Value, ...], layout: Layout | None) -> Op:
        """Emit `op` with new operands; its tile results get `layout`."""
        return self.rebuild_each(op, operands, tuple(layout if is_tile(r) else None for r in op.results))

    def rebuild_each(
        self,
        op: Op,
        operands: tuple[Value, ...],
        layouts: tuple[Layout | None, ...],
        regions: tuple[Region, ...] | None = None,
    ) -> Op:
        types = tuple(
            replace(r.type, layout=layout) if isinstance(r.type, TileType) else r.type
            for r, layout in zip(op.results, layouts, strict=True)
        )
        new = make_op(
            op.name,
            operands,
            types,
            op.attrs,
            op.regions if regions is None else regions,
            op.span,
            tuple(r.name for r in op.results),
        )
        for old, result in zip(op.results, new.results, strict=True):
            self.bind(old, result)
        return self.emit(new)

    def operands_in(self, op: Op, layout: Layout | None) -> tuple[Value, ...]:
        return tuple(self.want(v, layout) if layout is not None and is_tile(v) else self.now(v) for v in op.operands)

    def visit_elementwise(self, op: Op) -> None:
        tiles = [v for v in (*op.operands, *op.results) if is_tile(v)]
        if not tiles:
            self.rebuild(op, self.operands_in(op, None), None)
            return
        # Lazy tiles belong to no component: they have no wish of their own.
        member = next((v for v in (*op.results, *op.operands) if is_tile(v) and v not in self.lazy), tiles[0])
        layout = self.pick([v for v in op.operands if is_tile(v)], member)
        self.rebuild(op, self.operands_in(op, layout), layout)

    # Memory: the data dictates where it already lies, otherwise the component's anchor does.
    def visit_load(self, op: Op) -> None:
        if not is_tile(op.operands[0]):
            self.rebuild(op, self.operands_in(op, None), None)
            return
        layout = self.choice.for_load(op, self.pick(list(op.operands), op.results[0]))
        self.rebuild(op, self.operands_in(op, layout), layout)

    def visit_store(self, op: Op) -> None:
        pointer = op.operands[0]
        if not is_tile(pointer):
            self.rebuild(op, self.operands_in(op, None), None)
            return
        tiles = [v for v in op.operands if is_tile(v)]
        if all(self.natural(v) is None for v in tiles):
            layout = self.choice.for_access(pointer, pointer.type.shape)  # type: ignore[union-attr]
        else:
            layout = self.choice.coalesced(pointer, self.pick(tiles), is_store=True)
        self.rebuild(op, self.operands_in(op, layout), layout)

    def visit_cp_async(self, op: Op) -> None:
        """Whole chunks in each thread, neighbouring ones in neighbouring lanes, whatever else holds such a tile."""
        buffer = op.operands[1].type
        assert isinstance(buffer, BufferType)
        shape = buffer.shape
        sizes = [1] * len(shape)
        sizes[-1] = max(1, op.attrs["chunk_bytes"] // buffer.element.bytes)
        order = tuple(reversed(range(len(shape))))
        layout = blocked(shape, self.kernel.num_warps, order, sizes)
        self.rebuild(op, self.operands_in(op, layout), layout)

    def visit_atomic_rmw(self, op: Op) -> None:
        pointer = op.operands[0]
        layout = None
        if is_tile(pointer):
            tiles = [v for v in op.operands if is_tile(v)]
            layout = self.pick(tiles, op.results[0])
        self.rebuild(op, self.operands_in(op, layout), layout)

    visit_atomic_cas = visit_atomic_rmw

    # Collectives.
    def visit_reduce(self, op: Op) -> None:
        layout = self._layout_of_reduced(op)
        result = layout.reduce_axis(op.attrs["axis"]) if is_tile(op.results[0]) else None
        self.rebuild(op, self.operands_in(op, layout), result)

    def _layout_of_reduced(self, op: Op) -> Layout:
        """Where operands are reduced.

        What may be computed anywhere is reduced where its result is wanted if the axis is short, inside of threads. Where a
        thread would hold many results, or many elements moved into it, the axis is spread over some lanes of each warp.
        """
        shape: tuple[int, ...] = op.operands[0].type.shape  # type: ignore[union-attr]
        axis = op.attrs["axis"]
        anywhere = all(self.natural(v) is None for v in op.operands)
        known = anywhere and any(self.computed_in(v) is not None for v in op.operands)
        if known or not anywhere or not is_tile(op.results[0]):
            return self.pick(list(op.operands))
        if shape[axis] > _SHORT_AXIS:
            layout = self.pick(list(op.operands))
            results = layout.reduce_axis(axis).num_registers
            moved = layout.num_registers // results if any(self.choice.varies_along(v, axis) for v in op.operands) else 0
            if max(results, moved) <= _MANY_REGISTERS:
                return layout
            if shape[axis] > _SHORT_AXIS_OF_MANY:
                return self._balanced(shape, axis)
        return self.choice.layout_for(op.results[0]).expand_dims(axis).whole_of_part(shape)

    def _balanced(self, shape: tuple[int, ...], axis: int) -> Layout:
        """Row-major but for an axis that stays in warps: a thread has about as many results as elements of the axis."""

        def layout(held: int) -> Layout:
            sizes = [held if at == axis else 1 for at in range(len(shape))]
            order = (axis, *(at for at in reversed(range(len(shape))) if at != axis))
            return blocked(shape, self.kernel.num_warps, order, sizes)

        extent = shape[axis]
        lanes = min(_LANES, extent)
        candidates = [layout(extent >> bit) for bit in range(lanes.bit_length())]

        def registers(candidate: Layout) -> int:
            results = candidate.reduce_axis(axis).num_registers
            return results + candidate.num_registers // results

        return min(candidates, key=registers)

    def visit_scan(self, op: Op) -> None:
        layout = self.choice.scan_layout(op)
        self.rebuild(op, self.operands_in(op, layout), layout)

    def visit_sort(self, op: Op) -> None:
        shape: tuple[int, ...] = op.results[0].type.shape  # type: ignore[union-attr]
        layout = sort_layout(op.operands[0].type.shape, op.attrs["axis"], self.kernel.num_warps)  # type: ignore[union-attr]
        target = layout if layout.shape == shape else layout.part_of_axes(shape)
        self.rebuild(op, self.operands_in(op, layout), target)

    def visit_gather(self, op: Op) -> None:
        """By shuffles where the source lies so that they reach it, or may as well be made so."""
        source, index = op.operands
        axis = op.attrs["axis"]
        layout = self.natural(index)
        own = self.natural(source)
        if layout is None:
            layout = own if own is not None and own.shape == index.type.shape else self.choice.layout_for(op.results[0])  # type: ignore[union-attr]
        near = gather_source(layout, axis, source.type.shape)  # type: ignore[union-attr]
        if own is None and near is not None and gather_in_warp(near, layout, axis) is not None:
            own = near
        operands = (self.want(source, own or self.choice.layout_for(source)), self.want(index, layout))
        self.rebuild(op, operands, layout)

    def visit_exclusive_sum(self, op: Op) -> None:
        layout = self.choice.scan_layout(op)
        self.rebuild_each(op, self.operands_in(op, layout), (layout, None))

    def visit_dot(self, op: Op) -> None:
        if op.attrs.get("instruction"):
            place_product(self, op)
            return
        layout = self.choice.layout_for(op.results[0])
        a, b = (self.want(v, self.pick([v])) for v in op.operands[:2])
        self.rebuild(op, (a, b, self.want(op.operands[2], layout)), layout)

    def visit_wgmma(self, op: Op) -> None:
        place_warpgroups(self, op)

    def visit_wgmma_wait(self, op: Op) -> None:
        layout = self.natural(op.operands[0]) or self.choice.layout_for(op.results[0])
        self.rebuild(op, (self.want(op.operands[0], layout),), layout)

    def visit_histogram(self, op: Op) -> None:
        layout = self.pick(list(op.operands))
        result = self.choice.layout_for(op.results[0])
        self.rebuild(op, self.operands_in(op, layout), result)

    def visit_tile_to_scalar(self, op: Op) -> None:
        layout = self.pick(list(op.operands))
        self.rebuild(op, self.operands_in(op, layout), None)

    def visit_expand_dims(self, op: Op) -> None:
        layout = self.pick(list(op.operands))
        self.rebuild(op, self.operands_in(op, layout), forward(op, layout))

    visit_reshape = visit_expand_dims
    visit_trans = visit_expand_dims
    visit_flip = visit_expand_dims

    def visit_concat(self, op: Op) -> None:
        natural = [inner for operand in op.operands if is_tile(operand) and (inner := self.natural(operand)) is not None]
        layout = forward(op, natural[0]) if natural else self.choice.layout_for(op.results[0])
        operands = (self.want(v, backward(op, layout, v)) if is_tile(v) else self.now(v) for v in op.operands)
        self.rebuild(op, tuple(operands), layout)

    def visit_insert(self, op: Op) -> None:
        layout = self.pick([op.operands[0]], op.results[0])
        operands = (self.want(v, backward(op, layout, v)) if is_tile(v) else self.now(v) for v in op.operands)
        self.rebuild(op, tuple(operands), layout)

    def visit_extract(self, op: Op) -> None:
        """Parts of a thread's registers are only renamed. Otherwise the tile is converted so that they are.

        Where little of the tile is wanted and more than a few shuffles would have to move all of it, the part alone goes
        through shared memory.
        """
        (whole,) = op.operands
        shape: tuple[int, ...] = op.results[0].type.shape  # type: ignore[union-attr]
        layout = self.pick([whole])
        target = layout.for_extract(shape)
        if target is not layout and self.natural(whole) is not None:
            moved = conversion(layout, target)
            wanted = sum(user.name == "extract" for user in self.uses[whole]) * num_elements(shape)
            is_cheap = moved.kind != "shared" and layout.num_registers <= _FEW_REGISTERS
            if not is_cheap and wanted < layout.num_elements:
                self._extract_through_shared(op, layout)
                return
        self.rebuild(op, (self.want(whole, target),), target.extract(shape))

    def _extract_through_shared(self, op: Op, layout: Layout) -> None:
        (whole,), part = op.operands, op.results[0].type
        assert isinstance(part, TileType) and isinstance(whole.type, TileType)
        number = 0
        for start, extent, step in zip(op.attrs["start"], whole.type.shape, part.shape, strict=True):
            number = number * (extent // step) + start // step
        constant = make_op("constant", (), (I32,), {"value": number}, (), op.span)
        where = self.emit(constant).result
        type_ = replace(part, layout=self.choice.layout_for(op.results[0]))
        new = make_op("extract_at", (self.want(whole, layout), where), (type_,), {}, (), op.span, (op.results[0].name,))
        self.bind(op.results[0], self.emit(new).result)

    def visit_extract_at(self, op: Op) -> None:
        layout = self.pick([op.operands[0]])
        self.rebuild(op, self.operands_in(op, layout), self.choice.layout_for(op.results[0]))

    # Control flow.
    def carried_layouts(self, inits: tuple[Value, ...], params: tuple[Value, ...]) -> list[Layout | None]:
        """First guess for loop-carried tiles: where the start value lies, else what the component wants.

        What products add to lies as these leave it, whatever it starts from.
        """

        def layout(init: Value, param: Value) -> Layout:
            wanted = self.choice.layout_for(param)
            return wanted if self.choice.has_products(param) else self.natural(init) or wanted

        return [layout(i, p) if is_tile(p) else None for i, p in zip(inits, params, strict=True)]

    def fresh(self, params: tuple[Value, ...], layouts: list[Layout | None]) -> tuple[Value, ...]:
        return tuple(
            Value(replace(p.type, layout=layout), p.name, p.span)
            if layout is not None and isinstance(p.type, TileType)
            else Value(p.type, p.name, p.span)
            for p, layout in zip(params, layouts, strict=True)
        )

    def visit_for(self, op: Op) -> None:
        region = op.regions[0]
        inits, carried = op.operands[3:], region.params[1:]
        layouts = self.carried_layouts(inits, carried)
        flexible = [is_tile(v) and self.natural(v) is None for v in inits]
        for attempt in range(_MOST_GUESSES):
            induction = Value(region.params[0].type, region.params[0].name, region.params[0].span)
            params = (induction, *self.fresh(carried, layouts))
            natural: list[Layout | None] = []
            body = self.region(region, params, tuple(layouts), is_loop=True, natural=natural)
            better = [
                found if free and found is not None else layout
                for found, free, layout in zip(natural, flexible, layouts, strict=True)
            ]
            if better == layouts or attempt == _MOST_GUESSES - 1:  # some bodies give what they take in yet another layout
                break
            layouts = better
        start = tuple(self.now(v) for v in op.operands[:3])
        values = tuple(
            self.want(v, layout) if layout is not None else self.now(v) for v, layout in zip(inits, layouts, strict=True)
        )
        self.rebuild_each(op, start + values, tuple(layouts), (body,))

    def visit_while(self, op: Op) -> None:
        before, body = op.regions
        layouts = self.carried_layouts(op.operands, before.params)
        arguments = before.terminator.operands[1:]
        first = self.fresh(before.params, layouts)
        passed: list[Layout | None] = [self.choice.layout_for(v) if is_tile(v) else None for v in arguments]
        new_before = self.region(before, first, (None, *passed), is_loop=True)
        second = self.fresh(body.params, passed)
        new_body = self.region(body, second, tuple(layouts), is_loop=True)
        inits = tuple(
            self.want(v, layout) if layout is not None else self.now(v)
            for v, layout in zip(op.operands, layouts, strict=True)
        )
        self.rebuild_each(op, inits, tuple(passed), (new_before, new_body))

    def visit_if(self, op: Op) -> None:
        layouts = tuple(self.choice.layout_for(r) if is_tile(r) else None for r in op.results)
        regions = tuple(self.region(r, (), layouts) for r in op.regions)
        self.rebuild_each(op, tuple(self.now(v) for v in op.operands), layouts, regions)

    def visit_warp_specialize(self, op: Op) -> None:
        """Region 0 belongs to the code around it; each worker is laid out by itself, for its own warps."""
        if op.attrs.get(DIVIDES):
            regions = (self._worker(r, warps) for r, warps in zip(op.regions, op.attrs["warps"], strict=True))
            self.rebuild_each(op, (), (), tuple(regions))
            return
        layouts = tuple(self.choice.layout_for(r) if is_tile(r) else None for r in op.results)
        first = self.region(op.regions[0], (), layouts)
        workers = (self._worker(r, warps) for r, warps in zip(op.regions[1:], op.attrs["warps"][1:], strict=True))
        self.rebuild_each(op, (), layouts, (first, *workers))

    def _worker(self, region: Region, warps: int) -> Region:
        task = replace(self.kernel, body=region, num_warps=warps)
        return _Assign(task, self).region(region, ())
