"""What a worker of `warp_specialize` makes again for itself, and how it gets what it cannot make."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tle2cuda.analysis.slots import HAND_OUTS
from tle2cuda.errors import NotSupported
from tle2cuda.ir.classify import CHOICES, ELEMENTWISE, SHAPE, VIEWS, is_tile
from tle2cuda.ir.effects import ATOMIC, READ, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op, walk
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

REPEATED = (
    ELEMENTWISE
    | SHAPE
    | VIEWS
    | CHOICES
    | frozenset("constant arange program_id num_programs cluster_rank local_ptr buffer_view remote tile_to_scalar".split())
)
"""Pure operations that a worker repeats for itself."""

_LEARNS = frozenset("atomic_rmw atomic_cas asm_block grid_dependency grid_barrier cluster_barrier".split())
"""Operations behind which a kernel may know of something that others did."""


class Repeats:
    """Which operations workers may repeat: pure ones, and loads of scalars that nothing could change meanwhile."""

    def __init__(self, kernel: Kernel) -> None:
        self._roots = Roots(kernel)
        self._arguments = {argument.value for argument in kernel.args}
        ops = list(walk(kernel.body))
        found = [e for op in ops for e in effects(op, self._roots) if e.space == GLOBAL and e.kind != READ]
        self._written = {effect.root for effect in found}
        self._written_elements = {element_of(root.type) for root in self._written if root is not None}
        self._learns = any(op.name in _LEARNS or op.attrs.get("volatile") for op in ops) or any(
            effect.kind == ATOMIC for effect in found
        )

    def may_repeat(self, op: Op) -> bool:
        """Whether an operation gives a worker the same values again."""
        return op.name in REPEATED or (op.name == "load" and not is_tile(op.result) and self._is_constant(op))

    def _is_constant(self, op: Op) -> bool:
        """Whether a load reads what the kernel never writes, and what nobody can have told it to be written just now.

        A worker may load it behind stores that the kernel makes behind its own load.
        """
        if self._learns or None in self._written:
            return False
        return all(
            e.space == GLOBAL and e.root is not None and self._never_written(e.root) for e in effects(op, self._roots)
        )

    def _never_written(self, root: Value) -> bool:
        """Whether an argument is no array that is written; one of the same type may be, as calls may be in place."""
        return root in self._arguments and element_of(root.type) not in self._written_elements


class Handed:
    """Buffers in which values go from the default warps to workers, at one place of the kernel.

    Args:
        site: The operation in front of which they are filled.

    Attributes:
        allocations: The buffers.
        stores: What fills them, by the default warps.
    """

    def __init__(self, site: Op) -> None:
        self.site = site
        self.allocations: list[Op] = []
        self.stores: list[Op] = []
        self._buffers: dict[Value, Value] = {}

    def buffer(self, value: Value, stored: Value) -> Value:
        """The buffer of a value, which the default warps hold as `stored`."""
        found = self._buffers.get(value)
        if found is None:
            found = self._buffers[value] = self._filled(value, stored)
        return found

    def _filled(self, value: Value, stored: Value) -> Value:
        name = f"handed_{value.name}" if value.name else "handed"
        type_ = BufferType(shape_of(value.type) or (1,), stored_type(value, self.site))
        span = self.site.span
        alloc = make_op("alloc", (), (type_,), {"name": name, "alignment_bytes": 16}, span=span, names=(name,))
        self.allocations.append(alloc)
        if is_pointer(value.type):
            cast = make_op("bitcast", (stored,), (with_shape(I64, shape_of(value.type)),), span=span)
            self.stores.append(cast)
            stored = cast.result
        pointers = pointer_ops(alloc.result, value.type, self.site)
        self.stores += pointers
        self.stores.append(make_op("store", (pointers[-1].result, stored), attrs={"has_mask": False}, span=span))
        return alloc.result

    def received(self, value: Value, buffer: Value) -> list[Op]:
        """Operations by which a worker loads a value; the last has it as result."""
        ops = pointer_ops(buffer, value.type, self.site)
        assert isinstance(buffer.type, BufferType)
        loaded = with_shape(buffer.type.element, shape_of(value.type))
        attrs = {"has_mask": False, "has_other": False}
        ops.append(make_op("load", (ops[-1].result,), (loaded,), attrs, (), self.site.span, (value.name,)))
        if is_pointer(value.type):
            ops.append(make_op("bitcast", (ops[-1].result,), (value.type,), span=self.site.span, names=(value.name,)))
        return ops


class Maker:
    """Makes what a worker uses at one place of the values around it.

    Args:
        made: The operation that defines each value.
        known: The worker's own value for one of the code around it; None where it has none.
        stored: What the default warps call a value.
        repeats: Which operations workers may repeat.
        handed: Takes what must be handed over.

    Attributes:
        ops: Operations that the worker begins with.
        made_here: What it has by them, by the values of the code around it.
    """

    def __init__(
        self,
        made: Mapping[Value, Op],
        known: Callable[[Value], Value | None],
        stored: Callable[[Value], Value],
        repeats: Repeats,
        handed: Handed,
    ) -> None:
        self.made = made
        self.known = known
        self.stored = stored
        self.repeats = repeats
        self.handed = handed
        self.ops: list[Op] = []
        self.made_here: dict[Value, Value] = {}
        self._leaves: dict[Value, frozenset[Value]] = {}

    def want(self, value: Value) -> Value:
        """The worker's own copy of a value of the code around it."""
        known = self.known(value)
        if known is not None:
            return known
        found = self.made_here.get(value)
        if found is None:
            op = self.made.get(value)
            found = self._repeated(value, op) if op is not None and self._is_repeated(value) else self._received(value)
            self.made_here[value] = found
        return found

    def _is_repeated(self, value: Value) -> bool:
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
            op = self.made.get(value)
            if self.known(value) is not None:
                found = frozenset()
            elif op is not None and (operands := made_of(value, op, self.repeats)) is not None:
                found = frozenset().union(*(self.leaves(v) for v in operands))
            else:
                found = frozenset((value,))
            self._leaves[value] = found
        return found

    def _repeated(self, value: Value, op: Op) -> Value:
        """Repeat the operation; of one that handed out slots of a pipe the stage of the field."""
        if op.name in HAND_OUTS:
            return self._slot(value, op)
        operands = tuple(self.want(v) for v in op.operands)
        return self._emit(make_op(op.name, operands, (value.type,), op.attrs, (), op.span, (value.name,)))

    def _emit(self, op: Op) -> Value:
        self.ops.append(op)
        return op.result

    def _slot(self, value: Value, op: Op) -> Value:
        pipe = self.made.get(op.operands[0])
        if pipe is None or pipe.name != "pipe":
            stored_type(value, self.handed.site)
            raise AssertionError("a slot is a handle")
        buffer = pipe.operands[op.results.index(value) - (op.name == "pipe_wait")]
        assert isinstance(buffer.type, BufferType)
        operands = (self.want(buffer), self.want(op.operands[1]))
        attrs = {"kind": "slot"}
        return self._emit(make_op("buffer_view", operands, (slot_type(buffer.type),), attrs, (), op.span, (value.name,)))

    def _received(self, value: Value) -> Value:
        """Load what the default warps hand over."""
        ops = self.handed.received(value, self.handed.buffer(value, self.stored(value)))
        self.ops += ops
        return ops[-1].result


def made_of(value: Value, op: Op, repeats: Repeats) -> tuple[Value, ...] | None:
    """What a value is made of by an operation that may be repeated; None when it may not."""
    if op.name in HAND_OUTS and isinstance(value.type, BufferType):
        return op.operands[:2]
    return op.operands if repeats.may_repeat(op) else None


def pointer_ops(buffer: Value, type_: Type, site: Op) -> list[Op]:
    """Operations that end in the pointer, or tile of pointers, to all of a buffer that holds a value."""
    assert isinstance(buffer.type, BufferType)
    element = PointerType(buffer.type.element, SHARED)
    if isinstance(type_, TileType):
        return [make_op("local_ptr", (buffer,), (TileType(type_.shape, element),), span=site.span)]
    zero = make_op("constant", (), (DType("int32"),), {"value": 0}, span=site.span)
    return [zero, make_op("local_ptr", (buffer, zero.result), (element,), span=site.span)]


def stored_type(value: Value, site: Op) -> DType:
    """Type in which a value lies in the buffer that takes it to a worker.

    Raises:
        NotSupported: It is a pointer to shared memory, or a buffer, that was chosen at run time.
    """
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
