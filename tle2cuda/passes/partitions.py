"""Close the worker regions of `warp_specialize`: what they use of the code around them they get for themselves.

Workers run on warps of their own, so a value that other warps hold in registers does not exist there. What costs little
is made again at the start of the region: scalars computed of arguments and CTA indices, index tiles, pointers, views of
buffers, slots that a pipe had handed out. What cannot be (loads, reductions, what loops made) is handed over through a
shared buffer that the default warps fill in front of the operation. Kernel arguments and handles (allocations,
barriers, pipes) stay as they are: every warp can name them.

Afterwards each region can be given layouts like a kernel of its own. Region 0 runs on the default warps and captures
freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.errors import NotSupported
from tle2cuda.ir.classify import CHOICES, ELEMENTWISE, SHAPE, VIEWS, is_tile
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.ir.types import (
    GLOBAL,
    I64,
    SHARED,
    BufferType,
    DType,
    PointerType,
    TileType,
    Type,
    element_of,
    is_handle,
    is_pointer,
    shape_of,
    slot_type,
    with_shape,
)

_ALLOCATIONS = frozenset(("alloc", "alloc_barriers", "pipe", "tensor_map"))
_CLONED = (
    ELEMENTWISE
    | SHAPE
    | VIEWS
    | CHOICES
    | frozenset("constant arange program_id num_programs cluster_rank local_ptr buffer_view remote tile_to_scalar".split())
)
"""Pure operations that a worker repeats for itself."""


def run(kernel: Kernel) -> Kernel:
    """Close all worker regions.

    Raises:
        NotSupported: A worker uses a pointer to shared memory, or a buffer, that was chosen at run time outside of it; or
            a specialisation stands inside of a loop or branch.
    """
    _refuse_inner(kernel)
    if not any(op.name == "warp_specialize" for op in kernel.body.ops):
        return kernel
    closed = _Close(kernel).kernel(kernel)
    return _Mark().kernel(closed)


def _refuse_inner(kernel: Kernel) -> None:
    """Workers leave the kernel's code at its start, so specialisations stand at the top level."""
    for outer in kernel.body.ops:
        for op in (inner for region in outer.regions for inner in walk(region)):
            if op.name == "warp_specialize":
                is_loop = outer.name in ("for", "while")
                place = outer.span.short()
                raise NotSupported(
                    f"warp_specialize inside of a {'loop' if is_loop else 'branch'} is not supported in emitted CUDA",
                    op.span,
                    facts=(f"the loop: {place}" if is_loop else f"the branch: {place}, or what follows a return in it",),
                    help="call it at the top level of the kernel, and loop or branch in its functions",
                )


class _Mark(Rewriter):
    """Notes on sums that CUB must not make them: it synchronises the whole CTA."""

    def visit(self, op: Op) -> None:
        if op.name == "exclusive_sum":
            op = replace(op, attrs=MappingProxyType({**op.attrs, "in_partition": True}))
        self.copy(op)


class _Close(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.definitions = definitions(kernel.body)
        self.arguments = {argument.value for argument in kernel.args}

    def visit(self, op: Op) -> None:
        if op.name != "warp_specialize":
            self.copy(op)
            return
        handed: dict[Value, Value] = {}  # value to the buffer it travels in
        workers = tuple(_Worker(self, op, region, handed).closed() for region in op.regions[1:])
        regions = (self.region(op.regions[0]), *workers)
        same = all(a is b for a, b in zip(regions, op.regions, strict=True))
        self.emit(op if same else replace(op, regions=regions))

    def hand_over(self, value: Value, site: Op, handed: dict[Value, Value]) -> Value:
        """The buffer that takes a value to workers; the stores to it stand in front of `site`."""
        if value in handed:
            return handed[value]
        name = f"handed_{value.name}" if value.name else "handed"
        element = _stored(value, site)
        type_ = BufferType(shape_of(value.type) or (1,), element)
        alloc = make_op("alloc", (), (type_,), {"name": name, "alignment_bytes": 16}, span=site.span, names=(name,))
        buffer = handed[value] = self.emit(alloc).result
        stored = value
        if is_pointer(value.type):
            cast = make_op("bitcast", (value,), (with_shape(I64, shape_of(value.type)),), span=site.span)
            stored = self.emit(cast).result
        pointer = self.emit_all(_pointer(buffer, value.type, site))
        self.emit(make_op("store", (pointer, stored), attrs={"has_mask": False}, span=site.span))
        return buffer

    def emit_all(self, ops: list[Op]) -> Value:
        """Emit operations; the result of the last."""
        for op in ops:
            self.emit(op)
        return ops[-1].result


def _pointer(buffer: Value, type_: Type, site: Op) -> list[Op]:
    """Operations that end in the pointer, or tile of pointers, to all of a buffer that holds a value."""
    assert isinstance(buffer.type, BufferType)
    element = PointerType(buffer.type.element, SHARED)
    if isinstance(type_, TileType):
        return [make_op("local_ptr", (buffer,), (TileType(type_.shape, element),), span=site.span)]
    zero = make_op("constant", (), (DType("int32"),), {"value": 0}, span=site.span)
    return [zero, make_op("local_ptr", (buffer, zero.result), (element,), span=site.span)]


def _stored(value: Value, site: Op) -> DType:
    """Type in which a value lies in the buffer that takes it to a worker."""
    name = f"`{value.name}`" if value.name else "a value"
    if not is_handle(value.type):
        element = element_of(value.type)
        if isinstance(element, DType):
            return element
        if element.space == GLOBAL:
            return I64
    what = "a pointer to shared memory" if is_pointer(value.type) else "a handle"
    raise NotSupported(
        f"{name} cannot be handed to a partition: it is {what} chosen at run time",
        site.span,
        facts=(f"it comes from {value.span.short()}",),
        help="choose it inside of the partition",
    )


class _Worker:
    """One worker region and what it makes for itself at its start."""

    def __init__(self, outer: _Close, site: Op, region: Region, handed: dict[Value, Value]) -> None:
        self.outer = outer
        self.site = site
        self.region = region
        self.handed = handed
        self.prefix: list[Op] = []
        self.inside: dict[Value, Value] = {}
        self._leaves: dict[Value, frozenset[Value]] = {}

    def closed(self) -> Region:
        """The region, capturing nothing but arguments and allocations."""
        captured = [value for value in captured_values(self.region) if not self.stays(value)]
        if not captured:
            return self.region
        rewriter = Rewriter()
        for value in captured:
            rewriter.bind(value, self.want(value))
        ops = rewriter.ops(self.region.ops)
        return Region((), (*self.prefix, *ops))

    def stays(self, value: Value) -> bool:
        """Whether a worker can name a value as it is."""
        op = self.outer.definitions.get(value)
        return value in self.outer.arguments or (op is not None and op.name in _ALLOCATIONS)

    def want(self, value: Value) -> Value:
        """The worker's own copy of a value of the code around it."""
        if self.stays(value):
            return self.outer[value]
        found = self.inside.get(value)
        if found is None:
            op = self.outer.definitions.get(value)
            found = self.received(value) if op is None or not self._is_cloned(value, op) else self.cloned(value, op)
            self.inside[value] = found
        return found

    def _is_cloned(self, value: Value, op: Op) -> bool:
        """Whether a worker makes a value itself, of what it has or of at most one other value."""
        leaves = self.leaves(value)
        if value in leaves:
            return False
        if is_handle(value.type) or is_pointer(value.type):
            return True
        if is_tile(value):
            return not any(is_tile(leaf) for leaf in leaves)
        return len(leaves) <= 1

    def leaves(self, value: Value) -> frozenset[Value]:
        """The values that would have to be handed over to make a value of them."""
        found = self._leaves.get(value)
        if found is None:
            op = self.outer.definitions.get(value)
            if self.stays(value):
                found = frozenset()
            elif op is not None and (operands := self._made_of(value, op)) is not None:
                found = frozenset().union(*(self.leaves(v) for v in operands))
            else:
                found = frozenset((value,))
            self._leaves[value] = found
        return found

    def _made_of(self, value: Value, op: Op) -> tuple[Value, ...] | None:
        """What a value is made of by an operation that may be repeated; None when it may not."""
        if op.name in _CLONED:
            return op.operands
        if op.name in ("pipe_acquire", "pipe_wait") and isinstance(value.type, BufferType):
            return op.operands[:2]
        return None

    def cloned(self, value: Value, op: Op) -> Value:
        """Repeat the operation; of one that handed out slots of a pipe the stage of the field."""
        if op.name in ("pipe_acquire", "pipe_wait"):
            return self._slot(value, op)
        operands = tuple(self.want(v) for v in op.operands)
        copy = make_op(op.name, operands, (value.type,), op.attrs, (), op.span, (value.name,))
        self.prefix.append(copy)
        return copy.result

    def _slot(self, value: Value, op: Op) -> Value:
        pipe = self.outer.definitions.get(op.operands[0])
        if pipe is None or pipe.name != "pipe":
            _stored(value, self.site)
            raise AssertionError("a slot is a handle")
        number = op.results.index(value) - (op.name == "pipe_wait")
        buffer = pipe.operands[number]
        assert isinstance(buffer.type, BufferType)
        operands = (self.want(buffer), self.want(op.operands[1]))
        view = make_op("buffer_view", operands, (slot_type(buffer.type),), {"kind": "slot"}, (), op.span, (value.name,))
        self.prefix.append(view)
        return view.result

    def received(self, value: Value) -> Value:
        """Load what the default warps hand over."""
        buffer = self.outer.hand_over(value, self.site, self.handed)
        ops = _pointer(buffer, value.type, self.site)
        self.prefix += ops
        assert isinstance(buffer.type, BufferType)
        loaded = with_shape(buffer.type.element, shape_of(value.type))
        attrs = {"has_mask": False, "has_other": False}
        load = make_op("load", (ops[-1].result,), (loaded,), attrs, (), self.site.span, (value.name,))
        self.prefix.append(load)
        if not is_pointer(value.type):
            return load.result
        cast = make_op("bitcast", (load.result,), (value.type,), span=self.site.span, names=(value.name,))
        self.prefix.append(cast)
        return cast.result


def worker_warps(kernel: Kernel) -> Mapping[Op, int]:
    """For every operation inside of a worker region, the warps that run it."""
    return {
        op: warps
        for site in kernel.specialisations
        for warps, region in zip(site.attrs["warps"][1:], site.regions[1:], strict=True)
        for op in walk(region)
    }
