"""What the meaning of an operation may ask of its CTA: the `ctx` of ``@meaning`` functions."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import InterpreterError
from tle2cuda.interpreter.memory import CTAMemory, Memory
from tle2cuda.interpreter.regions import Region as MemoryRegion
from tle2cuda.interpreter.sharing import SharedCopies
from tle2cuda.interpreter.synchronisation import NamedBarrier, Pipe
from tle2cuda.ir.nodes import Op, Region

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Frame

Index3 = tuple[int, int, int]


class Limits:
    """How many loop iterations a launch may still take, all CTAs together; None: any number."""

    __slots__ = ("max_steps", "steps_left")

    def __init__(self, max_steps: int | None) -> None:
        self.max_steps = max_steps
        self.steps_left = max_steps


class Context:
    """One CTA of a launch.

    Attributes:
        program_id: Index of the CTA in the launch, per axis.
        num_programs: CTAs of the launch, per axis.
        cluster_rank: Rank in the cluster, x fastest.
        cluster_slots: The `cta_slot` of each rank of the cluster.
        cta_slot: Number under which the CTA's shared memory is found.
        memory: Loads, stores, atomics.
        frame: Current values of the kernel's IR values.
        order: Gives turns to partitions in a random order; None: in the order of the kernel.
        named_barriers: By virtual number.
        pipes: By the operation that made them.
        shared_copies: Those of the cluster.
        clock: Per rank of the cluster, how many barrier arrivals of that CTA this one knows to have happened.
    """

    def __init__(
        self,
        memory: Memory,
        program_id: Index3,
        num_programs: Index3,
        cluster_rank: int,
        cluster_slots: tuple[int, ...],
        limits: Limits,
        output: TextIO | None = None,
        order: random.Random | None = None,
    ) -> None:
        self.program_id = program_id
        self.num_programs = num_programs
        self.cluster_rank = cluster_rank
        self.cluster_slots = cluster_slots
        self.cta_slot = cluster_slots[cluster_rank]
        self.memory = CTAMemory(memory, self)
        self.limits = limits
        self.frame: Frame = []
        self.order = order
        self.named_barriers: dict[int, NamedBarrier] = {}
        self.pipes: dict[Op, Pipe] = {}
        self.shared_copies = SharedCopies()
        self.clock = [0] * len(cluster_slots)
        self.peer_accesses: dict[int, tuple[int, Op, str]] = {}
        self.compiled_regions: dict[Region, Callable[[Frame, Sequence[Any]], tuple[Any, ...]]] = {}
        self._output = output
        self._bad_indices: dict[Op, tuple[NDArray[np.uint64], tuple[Any, ...], tuple[int, ...]]] = {}

    @property
    def cluster_size(self) -> int:
        """CTAs of the cluster."""
        return len(self.cluster_slots)

    def call_region(self, region: Region, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Evaluate a combine region (of `reduce` and `scan`) element by element on arrays of one shape."""
        return self.compiled_regions[region](self.frame, inputs)

    def print(self, text: str) -> None:
        """Write one line where the launch's output goes: standard output by default."""
        stream = self._output if self._output is not None else sys.stdout
        stream.write(text + "\n")

    def tick(self, op: Op) -> None:
        """Count one iteration of a loop."""
        limits = self.limits
        if limits.steps_left is not None:
            limits.steps_left -= 1
            if limits.steps_left < 0:
                raise self.fail(op, f"the launch exceeds max_steps = {limits.max_steps} loop iterations")

    def facts(self) -> tuple[str, ...]:
        """Which CTA it is, as a line of an error."""
        where = f"program id {self.program_id}"
        if self.cluster_size > 1:
            where += f", cluster rank {self.cluster_rank}"
        return (where,)

    def fail(
        self,
        op: Op,
        message: str,
        *,
        facts: Sequence[str] = (),
        help: str = "",
        kind: type[InterpreterError] = InterpreterError,
    ) -> InterpreterError:
        """An error at an operation, with the facts about this CTA; the caller raises it."""
        return kind(message, op.span, facts=(*self.facts(), *facts), help=help)

    # Book-keeping for shared and cluster memory.

    def touch_peer(self, region: MemoryRegion, op: Op) -> None:
        """Note that a peer's shared memory was accessed between this CTA's last barrier and its next."""
        peer = self.cluster_slots.index(region.cta_slot)
        self.peer_accesses[peer] = (self.clock[self.cluster_rank], op, region.name)

    def note_bad_indices(
        self, op: Op, pointers: NDArray[np.uint64], indices: tuple[Any, ...], extents: tuple[int, ...]
    ) -> None:
        """Remember indices outside a buffer's extents, for the message should such a pointer be accessed."""
        self._bad_indices[op] = (pointers, indices, extents)

    def bad_index(self, address: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The index outside the extents that led to this pointer word, and the extents."""
        for pointers, indices, extents in self._bad_indices.values():
            found = np.flatnonzero(np.asarray(pointers).reshape(-1) == np.uint64(address))
            if found.size:
                position = int(found[0])
                return tuple(int(np.asarray(i).reshape(-1)[position]) for i in indices), extents
        return None
