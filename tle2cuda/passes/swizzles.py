"""Choose the swizzle of buffers that the copy engine fills or empties, from what else accesses them.

Rows of a plain buffer begin in the same bank, so lanes that go down a column wait for each other. Under a swizzle the
16-byte chunks of eight rows lie in different banks. Accesses along rows are free of conflicts either way, so a buffer that
has no others stays plain, which reads better.

A buffer is swizzled only when all its uses find elements by index: pointer arithmetic, views of other shapes or types, and
buffers that loops or branches hand on see it row-major.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.analysis.buffer_views import BufferViews
from tle2cuda.analysis.shared_operands import is_part
from tle2cuda.errors import NotSupported
from tle2cuda.ir.classify import ELEMENTWISE, SHAPE, VIEWS, is_tile
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import BufferType
from tle2cuda.layout.shared import ROWS_OF_PATTERN, SWIZZLE_BYTES

_ACCESSES = frozenset(("load", "store", "atomic_rmw", "atomic_cas"))
_HANDLED = frozenset(("tma_load", "tma_store", "local_ptr", "pipe", "buffer_view", "wgmma", "cp_async"))
_DOWN_COLUMNS = frozenset(("trans", "dot", "wgmma", "wgmma_wait"))
_PARTS = frozenset(("extract",))
_OF_PRODUCTS = ("subslice", "reshape")  # views of swizzled buffers that products take, and nothing else
_RENAMED = SHAPE | VIEWS | frozenset(("hint", "splat"))  # operations that leave pointers as they are


def choose(kernel: Kernel, copies: Iterable[Op], views: BufferViews) -> dict[Op, int]:
    """The swizzle in bytes of each allocation that should have one.

    Args:
        kernel: The kernel.
        copies: Its tensor copies that the engine does.
        views: Where buffers lie.
    """
    candidates: dict[Op, int] = {}
    decided: dict[Op, int] = {}  # rings of the pipeliner have the swizzle that products read
    for copy in copies:
        buffer = tensor_copy(copy).buffer_type
        for alloc in views.allocations(tensor_copy(copy).buffer) or ():
            if alloc.attrs.get("is_ring"):
                decided[alloc] = alloc.attrs.get("swizzle_bytes") or 0
                continue
            span = _widest(alloc)
            if span and buffer.shape[-2:] == _shape(alloc)[-2:]:
                candidates[alloc] = span
    if not candidates:
        return decided
    uses = _Uses(kernel, views)
    chosen = {
        alloc: span for alloc, span in candidates.items() if uses.find_elements(alloc) and uses.go_down_columns(alloc)
    }
    return {**decided, **chosen}


def of_operands(kernel: Kernel, views: BufferViews) -> dict[Op, int]:
    """The swizzle of each allocation that holds operands of `wgmma`, which reads no other rows.

    Raises:
        NotSupported: Which buffer an operand is depends on run-time values, it is a part of one, or something else needs
            it row-major.
    """
    products = [op for op in walk(kernel.body) if op.name == "wgmma"]
    found: dict[Op, int] = {}
    uses = _Uses(kernel, views) if products else None
    for op in products:
        for name, buffer in zip("ab", op.operands[:2], strict=True):
            if not isinstance(buffer.type, BufferType):
                continue
            facts = (f"{name}: {buffer.type}",)
            allocations = views.allocations(buffer)
            if allocations is None:
                raise NotSupported(
                    f"tle.gpu.wgmma: which buffer {name} is depends on run-time values",
                    op.span,
                    facts,
                    help="use one buffer with stages, and choose the stage, .slot(i)",
                )
            for alloc in allocations:
                assert uses is not None
                span = _widest(alloc)
                if not span or not uses.is_whole(buffer, alloc, span):
                    raise NotSupported(
                        f"tle.gpu.wgmma: {name} must be a whole buffer, a stage of one, "
                        "or rows, columns or a reshaped view that are swizzled alike",
                        op.span,
                        facts,
                        help="allocate it in the shape in which it is multiplied, rows of 32 bytes or more, "
                        "or take whole runs of 128 bytes of its rows",
                    )
                if not uses.find_elements(alloc):
                    raise NotSupported(
                        f"tle.gpu.wgmma: the buffer of {name} is swizzled, and something needs it row-major",
                        op.span,
                        (*facts, f"allocated at {alloc.span.short()}"),
                        help="index it as it was allocated: no reshaped views but operands, no arithmetic on its pointers",
                    )
                found[alloc] = span
    return found


def _shape(alloc: Op) -> tuple[int, ...]:
    assert isinstance(alloc.result.type, BufferType)
    return alloc.result.type.shape


def _widest(alloc: Op) -> int:
    """The widest swizzle that a buffer may have; 0 for none."""
    type_ = alloc.result.type
    assert isinstance(type_, BufferType)
    if type_.storage != "mma" or len(type_.shape) < 2 or type_.logical_shape is not None:
        return 0
    rows, columns = type_.shape[-2:]
    span = min(columns * type_.element.bytes, SWIZZLE_BYTES[-1])
    is_whole = columns & (columns - 1) == 0 and rows & (rows - 1) == 0 and rows >= ROWS_OF_PATTERN
    return span if is_whole and span in SWIZZLE_BYTES else 0


class _Uses:
    """What a kernel does with its buffers."""

    def __init__(self, kernel: Kernel, views: BufferViews) -> None:
        self.views = views
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel)
        self.of_root: dict[Value, list[Op]] = {}
        self.unknown = False
        for op in walk(kernel.body):
            buffers = [value for value in op.operands if isinstance(value.type, BufferType)]
            for root in {root for buffer in buffers for root in views.roots.of(buffer)}:
                if root is None:
                    self.unknown = True
                else:
                    self.of_root.setdefault(root, []).append(op)

    def is_whole(self, operand: Value, alloc: Op, span: int) -> bool:
        """Whether an operand is an allocation's matrix, or rows or columns of it that lie as a matrix of their own."""
        part = self.definitions.get(operand)
        if part is not None and part.name == "buffer_view" and part.attrs["kind"] in _OF_PRODUCTS:
            if not is_part(part, span):
                return False
            operand = part.operands[0]
        assert isinstance(operand.type, BufferType)
        return _shape(alloc)[-2:] == operand.type.shape[-2:]

    def find_elements(self, alloc: Op) -> bool:
        """Whether all uses of an allocation find its elements by index."""
        if self.unknown:
            return False
        return all(self._finds_elements(op, alloc) for op in self.of_root.get(alloc.result, ()))

    def _finds_elements(self, op: Op, alloc: Op) -> bool:
        if op.name not in _HANDLED:
            return False
        if op.name == "buffer_view":
            view = op.result.type
            assert isinstance(view, BufferType)
            if op.attrs["kind"] in _OF_PRODUCTS:
                users = self.uses.get(op.result, ())
                return is_part(op, _widest(alloc)) and all(user.name == "wgmma" for user in users)
            return op.attrs["kind"] == "slot" and len(view.shape) >= 2
        if op.name == "local_ptr":
            return self._is_only_followed(op.result)
        if op.name in ("wgmma", "cp_async"):
            return True
        if op.name in ("tma_load", "tma_store"):
            return tensor_copy(op).buffer_type.shape[-2:] == _shape(alloc)[-2:]
        return len(_shape(alloc)) >= 3  # a pipe hands out stages

    def _is_only_followed(self, pointer: Value) -> bool:
        """Whether pointers are used to load and store, and for nothing else."""
        for op in self.uses.get(pointer, ()):
            if op.name in _RENAMED:
                if not self._is_only_followed(op.results[0]):
                    return False
            elif op.name not in _ACCESSES or pointer in op.operands[1:]:
                return False
        return True

    def go_down_columns(self, alloc: Op) -> bool:
        """Whether some access takes neighbours from different rows."""
        return any(self._goes_down(op) for op in self.of_root.get(alloc.result, ()) if op.name == "local_ptr")

    def _goes_down(self, op: Op) -> bool:
        pointer = op.result
        if not is_tile(pointer):
            return False
        if self._is_down(pointer):
            return True
        turned: list[Value] = [pointer]
        for access in self.uses.get(pointer, ()):
            if access.name == "load":
                turned.append(access.results[0])
            elif access.name == "store" and self._comes_turned(access.operands[1]):
                return True
        return any(self._is_turned(value) for value in turned)

    def _is_down(self, pointer: Value) -> bool:
        """Whether pointers go on along another axis of their tile than the last one."""
        found = self.info.get(pointer)
        return found is not None and len(found.contiguity) > 1 and found.contiguity[-1] < max(found.contiguity)

    def _is_turned(self, value: Value) -> bool:
        """Whether a transposition uses a tile, through elementwise work."""
        seen, todo = {value}, [value]
        while todo:
            for op in self.uses.get(todo.pop(), ()):
                if op.name == "trans":
                    return True
                if op.name in ELEMENTWISE and op.results[0] not in seen:
                    seen.add(op.results[0])
                    todo.append(op.results[0])
        return False

    def _comes_turned(self, value: Value) -> bool:
        """Whether a tile comes from a transposition, or a product whose lanes hold rows, through elementwise work."""
        seen, todo = {value}, [value]
        while todo:
            value = todo.pop()
            op = self.definitions.get(value)
            if op is None:
                continue
            if op.name == "for":
                handed_on = op.regions[0].terminator.operands[op.results.index(value)]
                if handed_on not in seen:
                    seen.add(handed_on)
                    todo.append(handed_on)
                continue
            if op.name in _DOWN_COLUMNS or (op.name == "load" and self._is_down(op.operands[0])):
                return True
            if op.name in ELEMENTWISE or op.name in _PARTS:
                fresh = [operand for operand in op.operands if is_tile(operand) and operand not in seen]
                seen.update(fresh)
                todo += fresh
        return False
