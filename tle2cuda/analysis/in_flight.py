"""Refuses programs that use memory while a copy into it is surely in flight.

Whether a wait is the right one depends on stages and phases that are known at run time only. What can be said is said:
a copy that completes on an mbarrier at which nothing ever waits; a buffer that is used behind a copy into the very same
bytes, where no path holds a wait between the two.
"""

from __future__ import annotations

from tle2cuda.analysis.accesses import Access, Memory
from tle2cuda.analysis.tasks import Task, regions_of_task, tasks, walk_task
from tle2cuda.errors import InternalError, SynchronizationError
from tle2cuda.ir.effects import READ, Effect, effects, is_barrier
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.tma import tensor_copy

_WAITS = frozenset(("mbarrier_wait", "pipe_wait", "pipe_acquire", "pipe_close", "warp_specialize"))
_VERBS = {"read": "read", "write": "written", "atomic": "updated"}


def check_copies_in_flight(kernel: Kernel, memory: Memory) -> None:
    """Refuse uses of what is surely in flight.

    Raises:
        SynchronizationError: Memory is used while a copy into it is in flight; both places are named.
    """
    if not any(op.name in ("cp_async", "tma_load") for op in walk(kernel.body)):
        return
    _check_waited_for(kernel, memory)
    for task in tasks(kernel):
        _Check(memory, task).run()


def _check_waited_for(kernel: Kernel, memory: Memory) -> None:
    """Somebody must wait at the barriers of a copy, when its buffer is used at all."""
    waited = {root for op in walk(kernel.body) if op.name == "mbarrier_wait" for root in memory.roots.of(op.operands[0])}
    if None in waited:
        return
    for op in walk(kernel.body):
        if op.name != "tma_load" or op.attrs["completion"] != "barrier":
            continue
        barriers = tensor_copy(op).barriers
        if barriers is None or not waited.isdisjoint(memory.roots.of(barriers)):
            continue
        filled = set(memory.roots.of(tensor_copy(op).buffer))
        for task in tasks(kernel):
            for user in walk_task(task.region):
                for effect in effects(user, memory.roots):
                    if user.name != "tma_load" and effect.is_shared and effect.root in filled:
                        name = memory.name(next(iter(memory.roots.of(barriers))))
                        raise _error(memory, op, effect, f"nothing waits for {name}, on which the copy completes")


def _error(memory: Memory, copy: Op, effect: Effect, fact: str) -> SynchronizationError:
    name = memory.name(effect.root)
    verb = _VERBS[effect.kind]
    wait = "tle.gpu.async_wait_group" if copy.name == "cp_async" else "tle.gpu.barrier_wait"
    return SynchronizationError(
        f"{name} is {verb} while a copy into it is in flight",
        effect.op.span,
        (f"the copy: {copy.span.short()}", fact),
        f"call {wait} between the copy and this",
    )


class _Check:
    """Follows the copies that are surely in flight through one task."""

    def __init__(self, memory: Memory, task: Task) -> None:
        self.memory = memory
        self.task = task

    def run(self) -> None:
        """Walk over the task."""
        self.region(self.task.region, ())

    def region(self, region: Region, flying: tuple[Access, ...]) -> tuple[Access, ...]:
        for op in region.ops:
            flying = self.op(op, flying)
        return flying

    def op(self, op: Op, flying: tuple[Access, ...]) -> tuple[Access, ...]:
        if op.name == "if":
            arms = [self.region(region, flying) for region in op.regions]
            return tuple(a for a in arms[0] if a in arms[1])
        if op.name in ("for", "while"):
            end = flying
            for region in op.regions:
                end = self.region(region, end)
            for region in op.regions:  # once more, behind an iteration: what moves with the loop is no longer known
                end = self.region(region, tuple(a for a in end if a in flying or self._stays(a)))
            return tuple(a for a in flying if a in end)
        if op.name == "fused":
            return self.region(op.regions[0], flying)
        for region in regions_of_task(op):
            flying = self.region(region, flying)
        return self.simple(op, flying)

    def _stays(self, access: Access) -> bool:
        """Whether a copy goes to the same bytes in every iteration."""
        return _exact(self.memory, access) is not None

    def simple(self, op: Op, flying: tuple[Access, ...]) -> tuple[Access, ...]:
        if op.name == "cp_async_wait":
            return tuple(a for a in flying if a.effect.op.name != "cp_async")
        if op.name in _WAITS or is_barrier(op):  # at a pipe also for what cp.async copies into it
            return tuple(a for a in flying if a.effect.op.name != "tma_load" and a.slot is None)
        found = [e for e in effects(op, self.memory.roots) if e.is_shared]
        for effect in found:
            access = self.memory.describe(-1, effect)
            for copy in flying:
                if op.name != copy.effect.op.name and self._surely_overlap(copy, access):
                    self._refuse(copy, effect)
        return (*flying, *(self.memory.describe(-1, e) for e in found if self._flies(op, e)))

    def _refuse(self, copy: Access, effect: Effect) -> None:
        op = copy.effect.op
        if op.name == "tma_load" and op.attrs["completion"] == "pipe":
            raise InternalError(
                f"the writer of a pipe uses {copy.name} while its own copy into it is in flight",
                effect.op.span,
                (f"the copy: {op.span.short()}",),
            )
        raise _error(self.memory, op, effect, "nothing waits for the copy between the two")

    def _flies(self, op: Op, effect: Effect) -> bool:
        if effect.kind == READ or effect.root is None:
            return False
        return op.name == "cp_async" or (op.name == "tma_load" and op.attrs["completion"] != "blocking")

    def _surely_overlap(self, copy: Access, access: Access) -> bool:
        if copy.effect.root is not access.effect.root:
            return False
        one = self._buffer_of(access)
        if one is not None and one is copy.effect.buffer:
            return True
        a, b = _exact(self.memory, copy), _exact(self.memory, access)
        if a is None or access.bytes is None:
            return False
        if b is None:  # single elements, wherever they are
            return a[0] <= access.bytes[0] and access.bytes[1] <= a[1]
        return a[0] < b[1] and b[0] < a[1]

    def _buffer_of(self, access: Access) -> Value | None:
        """The buffer all of which is accessed."""
        if access.effect.buffer is not None or access.effect.pointer is None:
            return access.effect.buffer
        op = self.memory.definitions.get(access.effect.pointer)
        return op.operands[0] if op is not None and op.name == "local_ptr" and len(op.operands) == 1 else None


def _exact(memory: Memory, access: Access) -> tuple[int, int] | None:
    """The bytes that an access to all of a buffer touches, when they are known."""
    buffer = access.effect.buffer
    if buffer is None and access.effect.pointer is not None:
        op = memory.definitions.get(access.effect.pointer)
        if op is not None and op.name == "local_ptr" and len(op.operands) == 1:
            buffer = op.operands[0]
    if buffer is None or access.bytes is None or access.effect.root is None:
        return None
    size: int = buffer.type.size_bytes  # type: ignore[union-attr]
    return access.bytes if access.bytes[1] - access.bytes[0] == size else None
