"""Keep the sums of products by `tcgen05.mma` in tensor memory, and load them where they are used as tiles.

Before, such a product is a `dot` like any other, whose operands the pass `layouts` has put into shared memory. Behind,
it is a `tensor_product` on a buffer in tensor memory, and a `tensor_load` follows the last of a chain: of products each of
which adds to what the one before it left. What the first one adds to is added in registers, unless it is 0. A chain that
a loop carries on, and nothing else in the loop reads, stays in tensor memory while the loop runs: the first iteration
does not add to what lies there. It is loaded behind the loop. Where the pass `pipeliner` has provided for it, the product
of an iteration is waited for in the next one, and that of the last behind the loop.

Scales of a product's blocks are copied to columns of the task's in front of it.

Columns of tensor memory are shared by chains of one task that are never there together. Where 512 are too few, sums are
carried in registers, the largest first, and chains fall apart into single products, which always fit (pass `products`), but
for partitions that run side by side. Worker partitions tell the default warps when they are done, which then give the
columns back.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.errors import OutOfResources
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import BOOL, F16, F32, I32, U32, BarrierType, BufferType, DType, TileType, dtype_of, shape_of
from tle2cuda.layout import MMA_INSTRUCTIONS, TENSOR_COLUMNS, TENSOR_LANES, scale_columns, tensor_block

START = "tensor_memory"
"""Name of the word in shared memory that says where the CTA's columns begin."""

_START_BYTES = 4
_RELEASED = "tensor_memory_done"
_SCALES = "scales"
LEAST_COLUMNS = 32  # of an allocation, whose columns are a power of two (PTX ISA, tcgen05.alloc)


def run(kernel: Kernel) -> Kernel:
    """Rewrite the products whose sums lie in tensor memory."""
    products = [op for op in walk(kernel.body) if is_tensor_product(op)]
    if not products:
        return kernel
    chains = _Chains(kernel)
    kept = frozenset(products)  # that may be part of a longer chain
    carried = frozenset(products)  # that may stay over a loop
    while True:
        found = chains.find(kept, carried)
        slots = _share(found)
        scales = _scale_columns(found)
        if sum(slot.columns for slot in slots) + sum(scales.values()) <= TENSOR_COLUMNS:
            return _with_workers_awaited(_Rewrite(kernel, slots, scales).result(kernel))
        loops = [chain for chain in found if chain.loop is not None]
        if loops:
            largest = max(loops, key=lambda chain: chain.columns)
            carried -= {largest.products[0]}
        elif kept:
            kept = frozenset()
        else:
            raise _too_many(kernel, slots, sum(scales.values()))


def _too_many(kernel: Kernel, slots: Sequence[Slot], scales: int) -> OutOfResources:
    """Partitions that run side by side have columns of their own, which may be too many together."""
    parts = [f"{_name(slot.chains[0])} {slot.columns}" for slot in slots] + ([f"scales {scales}"] if scales else [])
    total = sum(slot.columns for slot in slots) + scales
    largest = max(slots, key=lambda slot: slot.columns).chains[0].products[0]
    return OutOfResources(
        total,
        TENSOR_COLUMNS,
        "columns of tensor memory",
        largest.span,
        (f"{' + '.join(parts)} = {total} columns, limit {TENSOR_COLUMNS} on {kernel.target}",),
        "make the tiles of partitions that run side by side smaller",
    )


def allocated_columns(kernel: Kernel) -> int:
    """How many columns of tensor memory a CTA allocates; 0 for none."""
    ends = [op.attrs["column"] + op.attrs["columns"] for op in walk(kernel.body) if op.name == "tensor_alloc"]
    return max(LEAST_COLUMNS, 1 << (max(ends) - 1).bit_length()) if ends else 0


def is_tensor_product(op: Op) -> bool:
    """Whether an operation is a product whose sums lie in tensor memory."""
    name = op.attrs.get("instruction")
    return op.name == "dot" and name is not None and MMA_INSTRUCTIONS[name].sums_in_tensor_memory


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """Products that add up in the same columns.

    Attributes:
        products: In order.
        loop: The loop that carries the sums on; None when they are loaded behind the last product.
        index: Which of the values that the loop carries they are.
        begins: Number of the operation from which on the sums are in tensor memory.
        ends: Number of the operation behind which they are no more.
        task: The worker partition that it stands in; None for the default warps.
    """

    products: tuple[Op, ...]
    loop: Op | None
    index: int
    begins: int
    ends: int
    task: Region | None

    @property
    def shape(self) -> tuple[int, ...]:
        type_ = self.products[0].result.type
        assert isinstance(type_, TileType)
        return type_.shape

    @property
    def columns(self) -> int:
        """Columns of tensor memory: a block of rows takes as many as it has columns."""
        return math.prod(self.shape) // tensor_block(self.shape)[0]

    @property
    def is_overlapping(self) -> bool:
        """Whether its only product may be in flight when the next iteration of the loop starts the next one."""
        return self.loop is not None and len(self.products) == 1 and bool(self.products[0].attrs.get("pending"))

    @property
    def dtype(self) -> DType:
        """Of the sums as they lie there."""
        return I32 if dtype_of(self.products[0].result.type) is I32 else F32


@dataclass(slots=True)
class Slot:
    """Columns that chains share which are never there together."""

    chains: list[Chain]

    @property
    def columns(self) -> int:
        return max(chain.columns for chain in self.chains)


class _Chains:
    """The chains of a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.uses = uses_of(kernel.body)
        self.definitions = definitions(kernel.body)
        self.parents: dict[Op, tuple[Region, Op | None]] = {}
        self.numbers: dict[Op, tuple[int, int]] = {}  # of each operation and of the last one inside of it
        self._number(kernel.body, None, 0)
        self.products = [op for op in walk(kernel.body) if is_tensor_product(op)]

    def _number(self, region: Region, parent: Op | None, next_: int) -> int:
        for op in region.ops:
            start, next_ = next_, next_ + 1
            self.parents[op] = (region, parent)
            for inner in op.regions:
                next_ = self._number(inner, op, next_)
            self.numbers[op] = (start, next_ - 1)
        return next_

    def find(self, kept: frozenset[Op], carried: frozenset[Op]) -> list[Chain]:
        """All chains, in the order of their first products."""
        found, taken = [], set()
        for op in self.products:
            if op in taken:
                continue
            products = [op]
            while op in kept and (following := self._following(products[-1])) is not None:
                products.append(following)
            taken.update(products)
            loop, index = self._loop(products) if op in carried else (None, 0)
            begins, ends = self.numbers[op][0], self.numbers[products[-1]][1]
            if loop is not None:
                begins, ends = self.numbers[loop]
            found.append(Chain(tuple(products), loop, index, begins, ends, self._task(op)))
        return found

    def _task(self, op: Op) -> Region | None:
        """The worker partition that an operation stands in."""
        region, parent = self.parents[op]
        while parent is not None:
            if parent.name == "warp_specialize" and region is not parent.regions[0]:
                return region
            region, parent = self.parents[parent]
        return None

    def _following(self, op: Op) -> Op | None:
        """The product that adds to another one, which nothing else reads."""
        (only,) = users if len(users := self.uses.get(op.result, [])) == 1 else (None,)
        if only is None or not is_tensor_product(only) or only.operands[2] is not op.result:
            return None
        is_rounded = dtype_of(op.result.type) is F16
        return None if is_rounded or self.parents[only][0] is not self.parents[op][0] else only

    def _loop(self, products: Sequence[Op]) -> tuple[Op | None, int]:
        """The loop that carries the sums of a chain, and as which value."""
        region, loop = self.parents[products[0]]
        start, result = products[0].operands[2], products[-1].result
        if loop is None or loop.name != "for" or start not in region.params[1:] or dtype_of(result.type) is F16:
            return None, 0
        index = region.params.index(start) - 1
        terminator = region.terminator
        is_handed_on = terminator.operands[index] is result and self.uses[result] == [terminator]
        is_only_added_to = self.uses[start] == [products[0]]
        step = self.definitions.get(loop.operands[2])
        is_counted = step is not None and step.name == "constant" and step.attrs["value"] != 0
        return (loop, index) if is_handed_on and is_only_added_to and is_counted else (None, 0)


def _share(chains: Sequence[Chain]) -> list[Slot]:
    """Columns for chains: each goes into the first slot of its task whose chains are gone, or not there yet."""
    slots: list[Slot] = []
    for chain in chains:
        for slot in slots:
            is_apart = all(chain.ends < other.begins or other.ends < chain.begins for other in slot.chains)
            if is_apart and chain.task is slot.chains[0].task:
                slot.chains.append(chain)
                break
        else:
            slots.append(Slot([chain]))
    return slots


def _scale_columns(chains: Sequence[Chain]) -> dict[Region | None, int]:
    """Columns for the scales of one product of each task: these are copied there for each product anew."""
    found: dict[Region | None, int] = {}
    for chain in chains:
        for product in chain.products:
            if scales := product.operands[3:]:
                columns = sum(scale_columns(shape_of(scale.type)) for scale in scales)
                found[chain.task] = max(columns, found.get(chain.task, 0))
    return found


class _Rewrite(Rewriter):
    def __init__(self, kernel: Kernel, slots: Sequence[Slot], scales: Mapping[Region | None, int]) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)
        self.slots = slots
        self.scales = scales
        self.scale_buffers: dict[Region | None, Value] = {}
        self.buffers: dict[Chain, Value] = {}
        self.chain_of = {op: chain for slot in slots for chain in slot.chains for op in chain.products}
        self.loops: dict[Op, list[Chain]] = {}
        for slot in slots:
            for chain in slot.chains:
                if chain.loop is not None:
                    self.loops.setdefault(chain.loop, []).append(chain)
        self.barriers: dict[Op, Value] = {}
        self.uses = uses_of(kernel.body)
        self.parted: dict[Value, tuple[Chain, tuple[Value, ...], Value]] = {}  # sums that are loaded in parts

    def result(self, kernel: Kernel) -> Kernel:
        span = next(iter(self.chain_of)).span
        attrs = {"name": START, "alignment_bytes": _START_BYTES}
        start = make_op("alloc", (), (BufferType((1,), U32),), attrs, span=span, names=(START,))
        made = [start, *self._barriers(), *self._buffers()]
        body = self.region(kernel.body)
        return replace(kernel, body=Region(body.params, (*made, *body.ops)))

    def _barriers(self) -> list[Op]:
        """An mbarrier for each product, which it completes on; two where the next one begins before it has."""
        made = []
        for product, chain in self.chain_of.items():
            name = f"{_name(chain)}_done"
            attrs = {"name": name, "arrivals": 1, "init": "pending"}
            type_ = BarrierType(2 if chain.is_overlapping else 1)
            made.append(make_op("alloc_barriers", (), (type_,), attrs, span=product.span, names=(name,)))
            self.barriers[product] = made[-1].result
        return made

    def _buffers(self) -> list[Op]:
        """Buffers for all chains, in front of everything."""
        made, column = [], 0
        for slot in self.slots:
            elements = max(math.prod(chain.shape) for chain in slot.chains)
            name = _name(slot.chains[0])
            attrs = {"name": name, "column": column, "columns": slot.columns}
            whole = BufferType((elements,), F32, "tensor")
            alloc = make_op("tensor_alloc", (), (whole,), attrs, span=slot.chains[0].products[0].span, names=(name,))
            made.append(alloc)
            column += slot.columns
            for chain in slot.chains:
                type_ = BufferType(chain.shape, chain.dtype, "tensor")
                view = make_op(
                    "buffer_view",
                    (alloc.result,),
                    (type_,),
                    {"kind": "alias", "offset_bytes": 0},
                    span=chain.products[0].span,
                    names=(_name(chain),),
                )
                made.append(view)
                self.buffers[chain] = view.result
        for task, columns in self.scales.items():
            attrs = {"name": _SCALES, "column": column, "columns": columns}
            type_ = BufferType((TENSOR_LANES, columns), U32, "tensor")
            span = next(iter(self.chain_of)).span
            made.append(make_op("tensor_alloc", (), (type_,), attrs, span=span, names=(_SCALES,)))
            self.scale_buffers[task] = made[-1].result
            column += columns
        return made

    def visit(self, op: Op) -> None:
        if op in self.loops:
            self.loop(op, self.loops[op])
            return
        if op.name == "extract" and op.operands[0] in self.parted:
            self.bind(op.result, self.part(op, *self.parted[op.operands[0]]))
            return
        chain = self.chain_of.get(op)
        if chain is None:
            self.copy(op)
            return
        adds = self.constant(op is not chain.products[0], op.span)
        if chain.loop is not None and op is chain.products[0]:
            induction, lower = chain.loop.regions[0].params[0], self[chain.loop.operands[0]]
            adds = self.emit(make_op("cmp", (induction, lower), (BOOL,), {"predicate": "ne"}, span=op.span)).result
        self.product(op, chain, adds)
        if chain.loop is None and op is chain.products[-1]:
            self.hand_over(chain, op.result, (), chain.products[0].operands[2], op)

    def product(self, op: Op, chain: Chain, adds: Value) -> None:
        first, second = (self[v] for v in op.operands[:2])
        operands: tuple[Value, ...] = (first, second, self.buffers[chain], adds, self.barriers[op])
        if scales := op.operands[3:]:
            operands = (*operands, *(self[scale] for scale in scales), self.scale_buffers[chain.task])
        kept: dict[str, object] = {
            name: op.attrs[name] for name in ("input_precision", "instruction", "formats") if name in op.attrs
        }
        if chain.is_overlapping:
            kept["pending"] = 1
        self.emit(make_op("tensor_product", operands, (), MappingProxyType(kept), span=op.span))

    def loop(self, op: Op, chains: Sequence[Chain]) -> None:
        """A loop that no longer carries the sums of its chains."""
        gone = {chain.index for chain in chains}
        (region,) = op.regions
        body = self.region(region)
        *ops, terminator = body.ops

        def left(values: Sequence[Value]) -> tuple[Value, ...]:
            return tuple(v for i, v in enumerate(values) if i not in gone)

        params = (region.params[0], *left(region.params[1:]))
        ends = replace(terminator, operands=left(terminator.operands))
        operands = (*(self[v] for v in op.operands[:3]), *(self[v] for v in left(op.operands[3:])))
        inner = Region(params, (*ops, ends))
        self.emit(replace(op, operands=operands, results=left(op.results), regions=(inner,)))
        for chain in chains:
            if chain.is_overlapping:
                self.emit(make_op("tensor_wait", (self.barriers[chain.products[0]],), (), {}, span=op.span))
            self.hand_over(chain, op.results[chain.index], self.has_run(op), op.operands[3 + chain.index], op)

    def has_run(self, loop: Op) -> tuple[Value, ...]:
        """Whether a loop makes any iteration; nothing where it is known to."""
        made = [self.definitions.get(v) for v in loop.operands[:3]]
        lower, upper, step = (m.attrs["value"] if m is not None and m.name == "constant" else None for m in made)
        assert step is not None  # which chains that loops carry ask for
        if lower is not None and upper is not None and (lower < upper) == (step > 0) and lower != upper:
            return ()
        attrs = {"predicate": "lt" if step > 0 else "gt"}
        operands = tuple(self[v] for v in loop.operands[:2])
        return (self.emit(make_op("cmp", operands, (BOOL,), attrs, span=loop.span)).result,)

    def hand_over(self, chain: Chain, result: Value, condition: tuple[Value, ...], start: Value, op: Op) -> None:
        """Load sums as a tile, or where nothing but parts of them is used, note what these need."""
        users = self.uses.get(result, [])
        is_alike = result.type == chain.products[0].result.type and dtype_of(result.type) is chain.dtype
        if users and all(user.name == "extract" for user in users) and is_alike:
            self.parted[result] = (chain, condition, self[start])
        else:
            self.bind(result, self.loaded(chain, condition, self[start], op))

    def part(self, op: Op, chain: Chain, condition: tuple[Value, ...], start: Value) -> Value:
        """Some rows and columns of the sums of a chain."""
        type_ = op.result.type
        assert isinstance(type_, TileType)
        view, shape = self.buffers[chain], list(chain.shape)
        for dim, (begin, extent) in enumerate(zip(op.attrs["start"], type_.shape, strict=True)):
            if extent == shape[dim]:
                continue
            shape[dim] = extent
            attrs = {"kind": "subslice", "start": begin, "dim": dim}
            part = BufferType(tuple(shape), chain.dtype, "tensor")
            view = self.emit(make_op("buffer_view", (view,), (part,), attrs, span=op.span, names=(_name(chain),))).result
        name = op.result.name or _name(chain)
        tile = self.emit(make_op("tensor_load", (view, *condition), (type_,), {}, span=op.span, names=(name,))).result
        if self.is_zero(start):
            return tile
        first = self.emit(make_op("extract", (start,), (type_,), op.attrs, span=op.span, names=(start.name,))).result
        return self.emit(make_op("add", (first, tile), (type_,), {}, span=op.span, names=(name,))).result

    def loaded(self, chain: Chain, condition: tuple[Value, ...], start: Value, op: Op) -> Value:
        """The sums of a chain as a tile, and what it started from added to them."""
        wanted = chain.products[0].result.type
        assert isinstance(wanted, TileType)
        type_ = TileType(wanted.shape, chain.dtype, wanted.layout)
        name = _name(chain)
        sums = (self.buffers[chain], *condition)
        tile = self.emit(make_op("tensor_load", sums, (type_,), {}, span=op.span, names=(name,))).result
        if not self.is_zero(start):
            wide = start if wanted == type_ else self.cast(start, type_, op)
            tile = self.emit(make_op("add", (wide, tile), (type_,), {}, span=op.span, names=(name,))).result
        return tile if wanted == type_ else self.cast(tile, wanted, op)

    def cast(self, value: Value, type_: TileType, op: Op) -> Value:
        return self.emit(make_op("cast", (value,), (type_,), {}, span=op.span, names=(value.name,))).result

    def constant(self, value: bool, span: Span) -> Value:
        return self.emit(make_op("constant", (), (BOOL,), {"value": value}, span=span)).result

    def is_zero(self, value: Value) -> bool:
        """Whether sums start from nothing."""
        maker = self.definitions.get(value)
        while maker is not None and maker.name in ("splat", "convert_layout"):
            maker = self.definitions.get(maker.operands[0])
        return maker is not None and maker.name == "constant" and maker.attrs["value"] == 0


def _with_workers_awaited(kernel: Kernel) -> Kernel:
    """The kernel in which the default warps, which give the columns back, wait for worker partitions that use them."""
    span = kernel.span
    alloc = make_op(
        "alloc_barriers", (), (BarrierType(1),), {"name": _RELEASED, "arrivals": 1, "init": "pending"}, span=span
    )
    released = _Release(alloc.result)
    body = released.region(kernel.body)
    if not released.count:
        return kernel
    alloc = replace(alloc, attrs=MappingProxyType({**alloc.attrs, "arrivals": released.count}))
    zero = make_op("constant", (), (I32,), {"value": 0}, span=span)
    wait = make_op("mbarrier_wait", (alloc.result, zero.result, zero.result), (), {}, span=span)
    return replace(kernel, body=Region(body.params, (alloc, *body.body, zero, wait, body.terminator)))


class _Release(Rewriter):
    """Lets each worker partition with products say at its end that it is done with tensor memory."""

    def __init__(self, barrier: Value) -> None:
        super().__init__()
        self.barrier = barrier
        self.count = 0

    def visit(self, op: Op) -> None:
        if op.name != "warp_specialize":
            self.copy(op)
            return
        default, *workers = op.regions
        self.emit(replace(op, regions=(default, *map(self.ending, workers))))

    def ending(self, region: Region) -> Region:
        if not any(op.name == "tensor_product" for op in walk(region)):
            return region
        self.count += 1
        *ops, terminator = region.ops
        zero = make_op("constant", (), (I32,), {"value": 0}, span=terminator.span)
        barrier = make_op(
            "barrier", (), (), {"reason": "all of its warps are done with tensor memory"}, span=terminator.span
        )
        arrive = make_op("mbarrier_arrive", (self.barrier, zero.result), (), {"arrivals": 1}, span=terminator.span)
        return Region(region.params, (*ops, zero, barrier, arrive, terminator))


def _name(chain: Chain) -> str:
    """What the sums are called: as the user calls the value that the loop carries, or the product."""
    if chain.loop is not None and (name := chain.products[0].operands[2].name):
        return name
    return chain.products[-1].result.name or "product"


__all__ = ["START", "Chain", "allocated_columns", "is_tensor_product", "run"]
