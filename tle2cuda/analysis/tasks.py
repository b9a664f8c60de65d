"""The tasks of a kernel: groups of warps that run one piece of code together.

The default warps run the kernel's body and region 0 of every `warp_specialize`; each worker region is a task of its own.
Where a `warp_specialize` divides the warps that there are, all of its regions are tasks.
Accesses of one task happen in program order, which barriers of its threads see to. Between tasks nothing is ordered but
by what the kernel says: barriers, pipes, the start and the end of a `warp_specialize`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field

from tle2cuda.ir.effects import READ, Roots, effects
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, Value

DEFAULT_TASK = "the default warps"


@dataclass(frozen=True, slots=True)
class User:
    """A task as a pipe knows it, which counts the threads that write to it, and those of each reader.

    Attributes:
        name: As messages call it.
        warps: How many it has.
        place: Of a worker: its `warp_specialize`, and which of its partitions.
    """

    name: str = field(compare=False)
    warps: int
    place: tuple[Hashable, Hashable] | None = None

    def may_follow(self, other: User) -> bool:
        """Whether it may use the end of a pipe that another one has used.

        A worker may, of another specialisation and with as many warps: their threads are counted alike then, and they do
        not run at once.
        """
        if self.place is None or other.place is None or self.place == other.place:
            return self.place == other.place
        return self.place[0] != other.place[0] and self.warps == other.warps


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Warps that run together.

    Attributes:
        name: As messages call it.
        region: What they run; of the default warps the kernel's body.
        warps: How many they are.
        site: For a worker, its `warp_specialize`.
    """

    name: str
    region: Region
    warps: int
    site: Op | None = None

    @property
    def is_worker(self) -> bool:
        """Whether it runs beside the default warps."""
        return self.site is not None

    @property
    def user(self) -> User:
        """How pipes know it."""
        return User(self.name, self.warps, None if self.site is None else (self.site, self.region))


def tasks(kernel: Kernel) -> tuple[Task, ...]:
    """All tasks, the default warps first."""
    workers = (
        Task(f"partition `{name}`", region, warps, site)
        for site in (*kernel.specialisations, *kernel.divisions)
        for name, region, warps in list(zip(site.attrs["names"], site.regions, site.attrs["warps"], strict=True))[
            len(regions_of_task(site)) :
        ]
    )
    return (Task(DEFAULT_TASK, kernel.body, kernel.num_warps), *workers)


def regions_of_task(op: Op) -> tuple[Region, ...]:
    """The regions of an operation that the task it stands in runs."""
    if op.name != "warp_specialize":
        return op.regions
    return () if op.attrs.get(DIVIDES) else op.regions[:1]


def walk_task(region: Region) -> Iterator[Op]:
    """Every operation that one task runs, in program order, outer before inner."""
    for op in region.ops:
        yield op
        for inner in regions_of_task(op):
            yield from walk_task(inner)


@dataclass(frozen=True, slots=True)
class Uses:
    """What a task does to memory, by allocation or argument; None stands for memory through unknown pointers.

    Attributes:
        accessed: What it reads or writes.
        written: What it writes, or changes atomically.
        through_async: Shared memory that the copy engine accesses for it.
        filled: Shared memory that the copy engine writes for it.
        copied: Global memory that the copy engine accesses for it.
        stored: Global memory that the copy engine writes for it.
    """

    accessed: frozenset[Value | None] = frozenset()
    written: frozenset[Value | None] = frozenset()
    through_async: frozenset[Value | None] = frozenset()
    filled: frozenset[Value | None] = frozenset()
    copied: frozenset[Value | None] = frozenset()
    stored: frozenset[Value | None] = frozenset()

    def joined(self, other: Uses) -> Uses:
        """What either does."""
        return Uses(
            self.accessed | other.accessed,
            self.written | other.written,
            self.through_async | other.through_async,
            self.filled | other.filled,
            self.copied | other.copied,
            self.stored | other.stored,
        )


NOTHING = Uses()


def uses_of_task(task: Task, roots: Roots) -> Uses:
    """What one task does to memory, scratch left out, which belongs to it alone."""
    found = [e for op in walk_task(task.region) for e in effects(op, roots) if not e.is_scratch]
    copied = [e for e in found if e.proxy == "async"]
    return Uses(
        frozenset(e.root for e in found),
        frozenset(e.root for e in found if e.kind != READ),
        frozenset(e.root for e in copied if e.is_shared),
        frozenset(e.root for e in copied if e.is_shared and e.kind != READ),
        frozenset(e.root for e in copied if not e.is_shared),
        frozenset(e.root for e in copied if not e.is_shared and e.kind != READ),
    )


def uses_of_others(kernel: Kernel, roots: Roots) -> Mapping[Region, Uses]:
    """For each task, by its region, what all other tasks do to memory."""
    found = {task.region: uses_of_task(task, roots) for task in tasks(kernel)}
    result = {}
    for region in found:
        others = NOTHING
        for other, uses in found.items():
            if other is not region:
                others = others.joined(uses)
        result[region] = others
    return result
