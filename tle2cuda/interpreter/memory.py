"""Global, shared and cluster memory as one CTA sees it: the only place where the interpreter touches memory.

Meanings of operations reach it as ``ctx.memory``. Pointers are arrays of words (`addresses`); every active
element is checked against the extent of the array or buffer it was derived from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import InterpreterError, OutOfBounds, ToolchainError
from tle2cuda.interpreter import addresses
from tle2cuda.interpreter.addresses import PointerArray
from tle2cuda.interpreter.atomics import apply_in_order, compare_and_swap_in_order
from tle2cuda.interpreter.dtypes import from_storage, storage_dtype, to_storage, value_dtype
from tle2cuda.interpreter.regions import Region, SharedLayout, array_region
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import Element, PointerType, element_of
from tle2cuda.runtime.live_arrays import LiveArrays

if TYPE_CHECKING:
    from tle2cuda.interpreter.context import Context

_Array = NDArray[Any]
_READERS = ("load", "cp_async", "tma_load")  # of global memory
_VERBS = {"load": "reads", "store": "writes", "atomic_rmw": "updates", "atomic_cas": "updates"}


class Memory:
    """All memory of one launch.

    Attributes:
        version: Counts changes; a spinning loop in which it stays put waits in vain.
        watch: Compare stored values with the old ones, so that rewriting equal values is no change.

    Args:
        layouts: The shared buffers.
        check_uninitialized: Report reads of shared memory that was never written.
        follow_addresses: Addresses out of memory may lead to any array that is alive.
    """

    def __init__(
        self, layouts: tuple[SharedLayout, ...], *, check_uninitialized: bool, follow_addresses: bool = False
    ) -> None:
        self.layouts = layouts
        self.check_uninitialized = check_uninitialized
        self.version = 0
        self.watch = False
        self._tagged: list[Region] = []
        self._shared: dict[int, list[Region | None]] = {}
        self._keep_alive: list[_Array] = []
        self._live = LiveArrays() if follow_addresses else None

    def add_array(self, name: str, array: _Array) -> int:
        """Make an array reachable; returns the pointer to its element 0."""
        tag = len(self._tagged) + 1
        if tag >= addresses.MAX_TAGS:
            raise InterpreterError(f"more than {addresses.MAX_TAGS - 1} arrays in one launch")
        region = array_region(name, array, tag)
        self._tagged.append(region)
        self._keep_alive.append(array)
        return region.origin

    def from_integer(self, integers: _Array) -> PointerArray:
        """Pointers for real addresses, as read from a pointer table: of the array that contains them.

        That is one of the launch's, or where addresses are followed any that is alive.
        """
        flat = np.asarray(integers).astype(np.int64).view(np.uint64) & np.uint64(addresses.ADDRESS_MASK)
        tags = self._tags_of(flat)
        unknown = flat[(tags == 0) & (flat != 0)]
        if unknown.size and self._live is not None and self._reach(unknown, self._live):
            tags = self._tags_of(flat)
        pointers: PointerArray = flat | tags << np.uint64(addresses.TAG_SHIFT)
        return pointers

    def _reach(self, unknown: _Array, live: LiveArrays) -> bool:
        """Make the arrays reachable that hold addresses; whether there are any."""
        before = len(self._tagged)
        for address in dict.fromkeys(unknown.reshape(-1).tolist()):
            if any(0 <= address - (r.base & addresses.ADDRESS_MASK) < r.size_bytes for r in self._tagged[before:]):
                continue
            array = live.at(address)
            if array is not None:
                self.add_array(f"the array at {array.ctypes.data:#x}", array)
        return len(self._tagged) > before

    def _tags_of(self, flat: _Array) -> _Array:
        tags = np.zeros(flat.shape, dtype=np.uint64)
        for tag, region in reversed(list(enumerate(self._tagged, 1))):
            low = np.uint64(region.base & addresses.ADDRESS_MASK)
            tags[(flat - low) <= np.uint64(region.size_bytes)] = tag
        return tags

    def to_integer(self, pointers: PointerArray) -> _Array:
        """The real addresses of global pointers."""
        integers: _Array = np.asarray(pointers) & np.uint64(addresses.ADDRESS_MASK)
        return integers

    def shared_region(self, cta_slot: int, buffer: int) -> Region:
        """A CTA's buffer; made at first sight, as a peer may write to it before its owner's `alloc`."""
        table = self._shared.get(cta_slot)
        if table is None:
            table = self._shared[cta_slot] = [None] * len(self.layouts)
        region = table[buffer]
        if region is None:
            region = self.layouts[buffer].create(cta_slot, track=self.check_uninitialized)
            table[buffer] = region
        return region

    def forget_buffer(self, cta_slot: int, buffer: int) -> None:
        """Make a buffer's content undefined: its `alloc` is executed again."""
        self.layouts[buffer].forget(self.shared_region(cta_slot, buffer))

    def has_buffer(self, cta_slot: int, buffer: int) -> bool:
        """Whether the buffer exists already."""
        table = self._shared.get(cta_slot)
        return table is not None and table[buffer] is not None

    def release_cta(self, cta_slot: int) -> None:
        """Drop the shared memory of a CTA."""
        self._shared.pop(cta_slot, None)

    def find(self, address: int) -> Region | None:
        """The region a pointer word belongs to, whether or not it is inside."""
        if addresses.is_shared(address):
            buffer = addresses.buffer_of(address)
            if buffer >= len(self.layouts):
                return None
            return self.shared_region(addresses.cta_slot_of(address), buffer)
        tag = address >> addresses.TAG_SHIFT
        return self._tagged[tag - 1] if 0 < tag <= len(self._tagged) else None


class CTAMemory:
    """Memory as one CTA accesses it; every method checks each active element."""

    def __init__(self, memory: Memory, context: Context) -> None:
        self.shared = memory
        self._context = context

    # Accesses. Masked-off elements are never touched, so their pointers may be anything.

    def load(self, op: Op, pointers: PointerArray, mask: Any = None, other: Any = None) -> Any:
        """Values of the pointee type and the pointers' shape; masked-off elements are `other`, or 0."""
        element = element_of(op.results[0].type)
        dtype = value_dtype(element)
        shape = np.shape(pointers)
        flat, chosen = _active(pointers, mask)
        if chosen is not None:
            values = np.zeros(shape, dtype) if other is None else np.array(np.broadcast_to(other, shape), dtype)
            if flat.size:
                values.reshape(-1)[chosen] = self._gather(op, flat, element, chosen)
            return values if shape else values[()]
        values = self._gather(op, flat, element, chosen)
        return values.reshape(shape) if shape else values[0]

    def load_all(self, op: Op, pointers: PointerArray, element: Element) -> _Array:
        """Values of a whole buffer, in the pointers' shape."""
        return self._gather(op, pointers.reshape(-1), element, None).reshape(np.shape(pointers))

    def store(self, op: Op, pointers: PointerArray, values: Any, mask: Any = None, element: Element | None = None) -> None:
        """Write elements; of several to one address the last wins."""
        element = element if element is not None else element_of(op.operands[1].type)
        flat, chosen = _active(pointers, mask)
        if not flat.size:
            return
        dtype = storage_dtype(element)
        stored = np.broadcast_to(to_storage(values, element), np.shape(pointers)).reshape(-1)
        if chosen is not None:
            stored = stored[chosen]
        for region, index, where in self._resolve(op, flat, element, chosen):
            data = stored if where is None else stored[where]
            _, view = region.view(dtype)
            if not self.shared.watch or not np.array_equal(_bits(view[index]), _bits(data)):
                self.shared.version += 1
            view[index] = data
            self._mark_written(region, index, dtype)

    def atomic_rmw(self, op: Op, kind: str, pointers: PointerArray, values: Any, mask: Any = None) -> Any:
        """Update each active element, in element order; returns the old values (0 where masked off)."""
        element = element_of(op.operands[1].type)
        operand = np.broadcast_to(to_storage(values, element), np.shape(pointers))

        def update(view: _Array, index: _Array, chosen: _Array) -> _Array:
            return apply_in_order(kind, view, index, operand.reshape(-1)[chosen])

        return self._atomic(op, pointers, mask, element, update)

    def atomic_cas(self, op: Op, pointers: PointerArray, expected: Any, desired: Any) -> Any:
        """Compare-and-swap each element, in element order; returns the old values."""
        element = element_of(op.operands[1].type)
        shape = np.shape(pointers)
        wanted = np.broadcast_to(to_storage(expected, element), shape).reshape(-1)
        new = np.broadcast_to(to_storage(desired, element), shape).reshape(-1)

        def update(view: _Array, index: _Array, chosen: _Array) -> _Array:
            return compare_and_swap_in_order(view, index, wanted[chosen], new[chosen])

        return self._atomic(op, pointers, None, element, update)

    def _atomic(
        self,
        op: Op,
        pointers: PointerArray,
        mask: Any,
        element: Element,
        update: Callable[[_Array, _Array, _Array], _Array],
    ) -> Any:
        dtype = storage_dtype(element)
        if dtype != value_dtype(element) and dtype.itemsize > 1:
            raise ToolchainError(
                f"atomics on {element.label} in the interpreter need the package ml_dtypes",
                op.span,
                help="pip install ml_dtypes",
            )
        shape = np.shape(pointers)
        old = np.zeros(shape, dtype)
        flat, chosen = _active(pointers, mask)
        if flat.size:
            lanes = np.arange(flat.size) if chosen is None else chosen
            for region, index, where in self._resolve(op, flat, element, chosen):
                self._check_written(op, region, index, dtype)
                part = lanes if where is None else lanes[where]
                _, view = region.view(dtype)
                before = view[index] if self.shared.watch else None
                old.reshape(-1)[part] = update(view, index, part)
                if before is None or not np.array_equal(_bits(before), _bits(view[index])):
                    self.shared.version += 1
        old = from_storage(old, element)
        return old if shape else old[()]

    # Pointers as integers.

    def pointer_from_integer(self, integers: Any) -> Any:
        """Pointers for 64-bit integers that hold real addresses."""
        pointers = self.shared.from_integer(np.asarray(integers))
        return pointers if np.shape(integers) else pointers[()]

    def pointer_to_integer(self, op: Op, pointers: PointerArray, dtype: np.dtype[Any]) -> Any:
        """Real addresses of global pointers."""
        if np.any(np.asarray(pointers) & np.uint64(addresses.SHARED_BIT)):
            raise InterpreterError("a pointer to shared memory cannot become an integer", op.span)
        integers = self.shared.to_integer(pointers).astype(dtype)
        return integers if np.shape(pointers) else integers[()]

    # Resolution and checks.

    def _gather(self, op: Op, flat: PointerArray, element: Element, chosen: _Array | None) -> _Array:
        stored = storage_dtype(element)
        values: _Array | None = None
        for region, index, where in self._resolve(op, flat, element, chosen):
            self._check_written(op, region, index, stored)
            _, view = region.view(stored)
            if where is None:
                values = view[index]
            else:
                if values is None:
                    values = np.empty(flat.size, stored)
                values[where] = view[index]
        assert values is not None
        if isinstance(element, PointerType):
            return self.shared.from_integer(values)
        return from_storage(values, element)

    def _resolve(
        self, op: Op, flat: PointerArray, element: Element, chosen: _Array | None
    ) -> Iterator[tuple[Region, _Array, _Array | None]]:
        """Regions the pointers fall in, element indices, and which pointers they are (None: all)."""
        dtype = storage_dtype(element)
        region = self.shared.find(int(flat[0]))
        if region is not None:
            index = self._index(region, flat, dtype.itemsize)
            if index is not None:
                self._note(op, region)
                yield region, index, None
                return
        shift = np.where(flat >> np.uint64(63), np.uint64(addresses.BUFFER_SHIFT), np.uint64(addresses.TAG_SHIFT))
        keys = flat >> shift
        for key in dict.fromkeys(keys.tolist()):
            where = np.flatnonzero(keys == np.uint64(key))
            part = flat[where]
            region = self.shared.find(int(part[0]))
            found = None if region is None else self._index(region, part, dtype.itemsize)
            if region is None or found is None:
                raise self._fault(op, region, part, where if chosen is None else chosen[where], element)
            self._note(op, region)
            yield region, found, where

    @staticmethod
    def _index(region: Region, flat: PointerArray, itemsize: int) -> _Array | None:
        """Element indices into the region's view, or None when a pointer is outside or misaligned."""
        skipped = min(-(region.base & addresses.ADDRESS_MASK) % itemsize, region.size_bytes)
        offsets = flat - np.uint64((region.base + skipped) & ((1 << 64) - 1))
        room = region.size_bytes - skipped
        if room < itemsize or int(offsets.max()) > room - itemsize:
            return None
        if itemsize > 1:
            if np.any(offsets & np.uint64(itemsize - 1)):
                return None
            offsets = offsets >> np.uint64(itemsize.bit_length() - 1)
        index: _Array = offsets.view(np.int64)
        return index

    def _note(self, op: Op, region: Region) -> None:
        """Checks that need the region only: read-only arrays, accesses to a peer's shared memory."""
        if region.cta_slot >= 0:
            if region.cta_slot != self._context.cta_slot:
                self._context.touch_peer(region, op)
        elif not region.writeable and op.name not in _READERS:
            raise InterpreterError(
                f"{op.name} {_VERBS.get(op.name, 'writes')} {region.name}, which is a read-only array",
                op.span,
            )

    def _check_written(self, op: Op, region: Region, index: _Array, dtype: np.dtype[Any]) -> None:
        if region.written is None:
            return
        whole = _written_view(region.written, dtype.itemsize)
        full = np.uint64(0x0101010101010101 & (1 << 8 * dtype.itemsize) - 1)
        missing = whole[index] != full.astype(whole.dtype)
        if missing.any():
            first = int(index[int(np.argmax(missing))])
            raise InterpreterError(
                f"{op.name} {_VERBS.get(op.name, 'reads')} element {first} of {region.name} "
                "before anything was written there",
                op.span,
                facts=(*self._context.facts(), *_count_fact(int(missing.sum()), op)),
                help="write the buffer first, or give tle.gpu.alloc an init_value",
            )

    @staticmethod
    def _mark_written(region: Region, index: _Array, dtype: np.dtype[Any]) -> None:
        if region.written is not None:
            whole = _written_view(region.written, dtype.itemsize)
            whole[index] = np.uint64(0x0101010101010101 & (1 << 8 * dtype.itemsize) - 1).astype(whole.dtype)

    def _fault(
        self, op: Op, region: Region | None, part: PointerArray, lanes: _Array, element: Element
    ) -> InterpreterError:
        """The error for pointers of one origin of which at least one may not be accessed."""
        verb = _VERBS.get(op.name, "accesses")
        size = storage_dtype(element).itemsize
        if region is None:
            address = int(part[0])
            what = "a null pointer" if address == 0 else f"address {address:#x}, which lies in no known array"
            return OutOfBounds(
                f"{op.name} {verb} {what}",
                op.span,
                facts=self._context.facts(),
                help="an array that is reached through a table of pointers must be alive, and lie in host memory; "
                "tle2cuda.interpreter.run takes it as `memory`",
            )
        offsets = part - np.uint64(region.base)
        inside = (offsets <= np.uint64(max(region.size_bytes - size, 0))) & (region.size_bytes >= size)
        if inside.all():
            position = int(np.argmax((part & np.uint64(size - 1)) != 0))
            return InterpreterError(
                f"{op.name} {verb} {region.name} at byte {int(offsets[position])}, "
                f"which is not aligned to the {size} bytes of an element {element.label}",
                op.span,
                facts=self._context.facts(),
            )
        position = int(np.argmax(~inside))
        address = int(part[position])
        facts = [*self._context.facts(), *_count_fact(int((~inside).sum()), op, int(lanes[position]))]
        if addresses.is_shared(address) and address & addresses.INVALID_BIT:
            found = self._context.bad_index(address)
            if found is not None:
                coordinates, extents = found
                return OutOfBounds(
                    f"{op.name} {verb} element {list(coordinates)} of {region.name}, whose extents are {list(extents)}",
                    op.span,
                    facts=facts,
                    help="mask the access: an element is never touched where the mask is False",
                )
            address &= ~addresses.INVALID_BIT
        return OutOfBounds(
            f"{op.name} {verb} element {region.element_of(address, size)} of {region.name}, which "
            f"{region.describe_extent(size)}",
            op.span,
            facts=facts,
            help="mask the access: an element is never touched where the mask is False",
        )


def _active(pointers: PointerArray, mask: Any) -> tuple[PointerArray, _Array | None]:
    """The pointers to access, flat, and their positions (None: all)."""
    flat = np.asarray(pointers).reshape(-1)
    if mask is None:
        return flat, None
    chosen = np.flatnonzero(np.broadcast_to(mask, np.shape(pointers)))
    if chosen.size == flat.size:
        return flat, None
    return flat[chosen], chosen


def _bits(array: _Array) -> _Array:
    """An array as integers: NaNs compare equal to themselves."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def _written_view(written: NDArray[np.uint8], itemsize: int) -> _Array:
    usable = len(written) // itemsize * itemsize
    return written[:usable].view(f"u{itemsize}")


def _count_fact(count: int, op: Op, position: int | None = None) -> tuple[str, ...]:
    """Which element of the tile it is, and how many more there are."""
    shape = getattr(op.operands[0].type, "shape", ())
    if not shape:
        return ()
    tile = f"tile [{', '.join(map(str, shape))}]"
    where = "" if position is None else f" at {[int(i) for i in np.unravel_index(position, shape)]}"
    return (f"the first{where} of {count} such element{'s' if count != 1 else ''} in a {tile}",)
