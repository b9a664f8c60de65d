"""The memory accesses of a kernel's operations, and which pairs of them must not overtake each other.

Two accesses of one task need a barrier unless one of these holds:

1. both only read, or both are atomics on the same allocation;
2. their bytes are disjoint (`byte_range`, and the offsets of the allocations once they have some; slots that a pipe
   hands out to one endpoint at the same time are different stages);
3. thread 0 alone makes both;
4. every byte that both touch is touched by the same thread in both: `same_thread_elements`;
5. the earlier is a tensor load: whoever needs its data waits for its mbarrier.

Of global memory one thing alone is guaranteed: a value is the same wherever it is held. A scalar, or a tile that
several threads hold, is loaded by each of them; a barrier keeps such a load apart from stores and atomics through the
same argument, so that no thread reads before them and another behind.

Further kinds stand for what mbarriers need. An arrival is made by every thread, behind what it did, and needs nothing.
Who *waits* for a phase must see its end before the next one ends, or it waits for ever; so thread 0 gives no *signal* to
others, by a copy that they wait for, before all threads of its task have seen what it saw. A blocking tensor load *arms*
its own mbarrier, at which all threads then *poll*; it must not be armed again before all have seen it complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tle2cuda.analysis.addresses import Addresses, Bytes
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.box_order import BoxOrder
from tle2cuda.analysis.slots import asks_the_same
from tle2cuda.analysis.tasks import Uses, uses_of_others
from tle2cuda.ir.effects import ARM, ATOMIC, POLL, READ, SIGNAL, WAIT, Effect, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType, TileType
from tle2cuda.layout import Layout

_VIEWS = frozenset(("buffer_view", "local_ptr", "ptr_add", "splat", "broadcast", "expand_dims", "reshape", "trans", "hint"))
"""Operations whose first operand says where a pointer or buffer comes from."""

_SEEN_OUTSIDE = frozenset(("asm_block", "grid_dependency", "cluster_barrier", "grid_barrier"))
"""Operations by which CTAs may learn of each other, or that may do anything."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a pointer into a pipe comes from.

    Attributes:
        pipe: The pipe.
        op: The `pipe_acquire` or `pipe_wait` that handed the slot out.
    """

    pipe: Value
    op: Op

    @property
    def endpoint(self) -> tuple[str, str | None]:
        """Writer, or which reader."""
        return self.op.name, self.op.attrs.get("reader")

    def is_apart_from(self, other: Slot) -> bool:
        """Whether it is another stage of the same pipe, if one endpoint holds both.

        One holds several slots only when they are different stages, or asks for the same one twice.
        """
        return self.pipe is other.pipe and self.op is not other.op and not asks_the_same(self.op, other.op)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One numbered access to shared memory, or to global memory where it matters.

    Attributes:
        number: Its bit in masks.
        effect: What it does.
        name: The allocation, as messages call it.
        bytes: Bytes of the root it may touch; None when the root is unknown.
        key: Of its addresses when rule 4 may apply to it, else None; see `same_thread_elements`.
        leaves: Values on which the addresses depend.
        slot: The stage of a pipe that it goes to; None when it does not go through a pipe.
    """

    number: int
    effect: Effect
    name: str
    bytes: Bytes | None
    key: object
    leaves: frozenset[Value]
    slot: Slot | None = None


class Memory:
    """What is known of a kernel's memory, shared by the analyses of its tasks.

    Args:
        kernel: The kernel.
        overlay: Ask what would happen if these allocations all had the same bytes.
    """

    def __init__(self, kernel: Kernel, overlay: Iterable[Value] = ()) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.definitions = definitions(kernel.body)
        self.info = axis_info(kernel)
        self.addresses = Addresses(self.info, self.definitions)
        self.contested = _contested(kernel, self.roots)
        self.overlay = frozenset(overlay)

    @cached_property
    def others(self) -> Mapping[Region, Uses]:
        """For each task, by its region, what the other tasks do to memory."""
        return uses_of_others(self.kernel, self.roots)

    @cached_property
    def engines(self) -> frozenset[Value | None]:
        """Global memory that the copy engine accesses, and that somebody writes."""
        found = [e for op in walk(self.kernel.body) for e in effects(op, self.roots) if not e.is_shared]
        written = {e.root for e in found if e.kind != READ}
        copied = {e.root for e in found if e.proxy == "async"}
        if copied and None in {e.root for e in found}:
            return frozenset(copied | {None})
        return frozenset(copied & written)

    def meets_others(self, op: Op) -> bool:
        """Whether by an operation other CTAs may learn what this one did to such memory, or this one what others did."""
        if not self.engines:
            return False
        if op.name in ("atomic_rmw", "atomic_cas"):
            return op.attrs.get("sem") != "relaxed" and any(not effect.is_shared for effect in effects(op, self.roots))
        return op.name in _SEEN_OUTSIDE and not op.attrs.get("pure")

    @cached_property
    def boxes(self) -> BoxOrder:
        """What is known of the boxes of tensor copies."""
        return BoxOrder(self.kernel, self.info)

    # ---- accesses ----

    def describe(self, number: int, effect: Effect) -> Access:
        """The access that has an effect."""
        pointer, root = effect.pointer, effect.root
        bytes_: Bytes | None = None
        if root is not None and isinstance(root.type, BufferType):
            bytes_ = (0, root.type.size_bytes)
            if pointer is not None:
                bytes_ = self.addresses.byte_range(pointer, root)
            elif effect.buffer is not None:
                bytes_ = self.addresses.buffer_range(effect.buffer, root)
        key: object = None
        leaves: frozenset[Value] = frozenset()
        if pointer is not None and self._has_own_elements(pointer):
            assert isinstance(pointer.type, TileType)
            place, leaves = self.addresses.element_key(pointer)
            key = (place, pointer.type.layout)
        elif effect.buffer is not None and (layout := _layout_of_copy(effect.op)) is not None:
            place, leaves = self.addresses.buffer_key(effect.buffer)
            key = (place, layout)
        origin = pointer if pointer is not None else effect.buffer
        slot = self.slot_of(origin) if origin is not None else None
        return Access(number, effect, self.name(root), bytes_, key, leaves, slot)

    def name(self, root: Value | None) -> str:
        """An allocation or argument as messages call it."""
        if root is None:
            return "memory through unknown pointers"
        op = self.definitions.get(root)
        if op is None:
            return f"`{root.name}`"
        name = op.attrs.get("name") or root.name or "unnamed"
        if op.name == "tensor_alloc":
            return f"the sums `{name}` in tensor memory"
        if op.attrs.get("is_ring"):
            return f"the ring `{name}`"
        return f"the scratch `{name}`" if op.attrs.get("scratch") and op.name == "alloc" else f"`{name}`"

    def _has_own_elements(self, pointer: Value) -> bool:
        """Whether each address of a pointer tile is used by exactly one thread."""
        if not isinstance(pointer.type, TileType) or pointer.type.layout is None:
            return False
        return _has_one_holder(pointer.type.layout) and self.addresses.is_injective(pointer)

    def slot_of(self, value: Value) -> Slot | None:
        """The slot that a pointer or buffer surely leads into."""
        op = self.definitions.get(value)
        while op is not None and op.name in _VIEWS:
            value = op.operands[0]
            op = self.definitions.get(value)
        if op is None or op.name not in ("pipe_acquire", "pipe_wait") or not isinstance(value.type, BufferType):
            return None
        pipe = self.pipe_of(op)
        return None if pipe is None else Slot(pipe, op)

    def pipe_of(self, op: Op) -> Value | None:
        """The pipe that an operation on pipes works on; None when there are several."""
        made = self.roots.of(op.operands[0])
        return made[0] if len(made) == 1 else None

    # ---- pairs of accesses ----

    def must_wait(self, earlier: Access, later: Access, is_stale: bool) -> bool:
        """Whether a barrier of the task must stand between two accesses."""
        a, b = earlier.effect, later.effect
        if b.kind == SIGNAL:
            return a.kind == WAIT
        if a.kind in _MARKS or b.kind in _MARKS:
            return a.kind == POLL and b.kind == ARM and a.root is b.root
        if a.kind == READ and b.kind == READ:
            return False
        if not a.is_shared or not b.is_shared:
            return may_tear_copies(a, b)
        same_root = a.root is not None and a.root is b.root
        if a.kind == ATOMIC and b.kind == ATOMIC and same_root:
            return False
        if (a.one_thread and b.one_thread) or a.op.name in _AWAITED:
            return False
        if not self.may_overlap(earlier, later, is_stale):
            return False
        return is_stale or not same_thread_elements(earlier, later)

    def may_overlap(self, a: Access, b: Access, is_stale: bool = False) -> bool:
        """Whether two accesses to shared memory may touch a common byte.

        Args:
            a: An access.
            b: A later one.
            is_stale: The first was made in an earlier iteration, or its slot has been given up since.
        """
        root_a, root_b = a.effect.root, b.effect.root
        if a.slot is not None and b.slot is not None and a.slot.is_apart_from(b.slot):
            if self._is_in_groups(a.slot.pipe):
                if not is_stale:
                    return False  # both are held at the same time
            elif a.slot.endpoint == b.slot.endpoint:
                return False
        if root_a is None or root_b is None or a.bytes is None or b.bytes is None:
            return True
        if root_a is root_b:
            return a.bytes[0] < b.bytes[1] and b.bytes[0] < a.bytes[1]
        if root_a in self.overlay and root_b in self.overlay:
            return True
        offset_a, offset_b = self._offset_bytes(root_a), self._offset_bytes(root_b)
        if offset_a is None or offset_b is None:
            return False  # separate allocations until the shared-memory map says otherwise
        return offset_a + a.bytes[0] < offset_b + b.bytes[1] and offset_b + b.bytes[0] < offset_a + a.bytes[1]

    def _is_in_groups(self, pipe: Value) -> bool:
        made = self.definitions.get(pipe)
        return made is not None and bool(made.attrs.get("in_groups"))

    def _offset_bytes(self, root: Value) -> int | None:
        op = self.definitions.get(root)
        offset = op.attrs.get("offset_bytes") if op is not None else None
        return offset if isinstance(offset, int) else None


def _layout_of_copy(op: Op) -> Layout | None:
    """Which thread copies which element of a buffer by `cp.async`; None when it is no such copy, or several do."""
    if op.name != "cp_async" or not isinstance(op.operands[0].type, TileType):
        return None
    layout = op.operands[0].type.layout
    return layout if layout is not None and _has_one_holder(layout) else None


def _has_one_holder(layout: Layout) -> bool:
    """Whether no two threads hold the same element."""
    _, lanes, warps = layout.free_bits()
    return not lanes and not warps


_AWAITED = frozenset(("tma_load", "tensor_product"))
"""What thread 0 starts, and all threads wait for before they go on."""

_MARKS = frozenset((SIGNAL, WAIT, ARM, POLL))


def loads_copies(effect: Effect) -> bool:
    """Whether several threads load the same element: a scalar, or a tile that is held more than once."""
    if effect.kind != READ or effect.one_thread or effect.is_async or effect.pointer is None:
        return False
    if not isinstance(effect.pointer.type, TileType):
        return True
    layout = effect.pointer.type.layout
    return layout is not None and layout.is_replicated


def may_tear_copies(a: Effect, b: Effect) -> bool:
    """Whether one of two accesses to global memory may change what the other loads for several threads."""
    if a.is_shared or b.is_shared or (a.kind == READ) == (b.kind == READ):
        return False
    load = a if a.kind == READ else b
    return loads_copies(load) and (a.root is b.root or a.root is None or b.root is None)


def _contested(kernel: Kernel, roots: Roots) -> frozenset[Value | None]:
    """Arguments that some operation loads for several threads and some operation writes."""
    found = [e for op in walk(kernel.body) for e in effects(op, roots) if not e.is_shared]
    loads = [e for e in found if loads_copies(e)]
    writes = [e for e in found if e.kind != READ]
    pairs = [(load, write) for load in loads for write in writes if may_tear_copies(load, write)]
    return frozenset(effect.root for pair in pairs for effect in pair)


def same_thread_elements(a: Access, b: Access) -> bool:
    """Whether every byte that both accesses touch is touched by one and the same thread in both.

    A thread's own accesses stay in program order, so such accesses need no barrier. What is proved:

    1. The address tiles are equal element by element: their expressions are equal, and no back edge of a loop
       on which they depend lies between them (the caller drops stale accesses). Or they are so within slots of one ring:
       different slots have no byte in common.
    2. The layouts are equal: element e belongs to the same thread in both.
    3. No two threads hold copies of an element (no replicated lane or warp bits), so e belongs to one thread.
    4. The addresses are injective: a byte belongs to one element, hence to one thread.

    The keys exist only when 3 and 4 hold, and are equal only when 1 and 2 do. Masks only leave elements out.
    """
    return a.key is not None and a.key == b.key
