"""Lay out shared memory (D7): every allocation gets its offset in the one `Shared` struct of the kernel.

User buffers are members of their own, in program order; scratch follows, then mbarriers. Scratch buffers of one task
share bytes (a union) when that costs nothing: they are never in use together and the barriers that stand in the kernel
already keep their accesses apart. Different tasks run at the same time, so their scratch never shares bytes. Only when
the kernel would not fit otherwise, scratch with disjoint live ranges shares bytes too and the barrier pass runs again
to add what that needs. The rings of pipelined loops always do so: they are the largest part, and decide how many CTAs a
multiprocessor holds. Buffers that other CTAs access never share.

The result is kept in attributes of the `alloc` and `alloc_barriers` operations (`offset_bytes`, `member`,
`union_group`), from which `shared_map(kernel)` reads it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.analysis.hazards import unordered_roots
from tle2cuda.analysis.liveness import LiveRange, liveness
from tle2cuda.analysis.proxies import unsettled_roots
from tle2cuda.analysis.tasks import Task, tasks, walk_task
from tle2cuda.errors import OutOfResources
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import replace_ops
from tle2cuda.ir.types import U64, BarrierType, BufferType, DType
from tle2cuda.passes import barriers
from tle2cuda.targets import parse_target

MIN_ALIGNMENT_BYTES = 16
BARRIER_BYTES = 8  # size and alignment of one mbarrier (PTX ISA, mbarrier)
MMA_ALIGNMENT_BYTES = 128  # destination of a bulk tensor copy (PTX ISA 8.7, cp.async.bulk.tensor)
SWIZZLE_128_ALIGNMENT_BYTES = 1024  # the pattern repeats every 8 rows of 128 bytes (PTX ISA 8.7, swizzle modes)
"""Alignments of buffers with an MMA-friendly layout: rows of 128 bytes or more are swizzled by 128."""


@dataclass(frozen=True, slots=True)
class SharedEntry:
    """One member of the `Shared` struct.

    Attributes:
        name: Member name, unique in the kernel.
        element: Element type.
        shape: Extents, row-major.
        offset_bytes: From the start of the struct.
        size_bytes: Its size.
        alignment_bytes: Its alignment.
        kind: ``user``, ``scratch`` or ``barriers``.
        union_group: Members with one number share their bytes; None for a member of its own.
        root: The `alloc` or `alloc_barriers` value.
    """

    name: str
    element: DType
    shape: tuple[int, ...]
    offset_bytes: int
    size_bytes: int
    alignment_bytes: int
    kind: str
    union_group: int | None
    root: Value


@dataclass(frozen=True, slots=True)
class SharedMap:
    """Shared memory of one CTA.

    Attributes:
        entries: Members by offset, members of a union in program order.
        total_bytes: Size of the struct.
        alignment_bytes: Alignment of the struct.
    """

    entries: tuple[SharedEntry, ...]
    total_bytes: int
    alignment_bytes: int


def run(kernel: Kernel) -> Kernel:
    """Assign offsets.

    Raises:
        OutOfResources: The kernel needs more shared memory than a CTA of its target can have.
    """
    allocations = _allocations(kernel)
    if not allocations:
        return kernel
    limit = parse_target(kernel.target).limits.max_shared_bytes_per_cta
    ranges = liveness(kernel)
    scratch = [op.result for op in allocations if _is_scratch(op)]
    owners = [(task, _scratch_of(task)) for task in tasks(kernel)]
    rings = frozenset(op.result for op in allocations if op.attrs.get("is_ring"))
    apart = {task: _apart(kernel, own, task, rings) for task, own in owners}
    ahead = _ahead(scratch, rings, ranges) if kernel.specialisations else {}
    free = {task: {**_without(apart[task], rings), **ahead} for task, _ in owners}
    groups = [group for task, own in owners for group in _union_groups(own, ranges, free[task])]
    mapped = _assign(kernel, allocations, groups)
    if any(_needs_barrier(group, apart[task]) for task, _ in owners for group in groups) or any(
        rings & set(group) for group in groups if len(group) > 1
    ):
        mapped = barriers.run(mapped)
    if shared_map(mapped).total_bytes > limit and len(scratch) > 1:
        tight = _assign(kernel, allocations, [group for _, own in owners for group in _union_groups(own, ranges, ahead)])
        if shared_map(tight).total_bytes <= limit:
            return barriers.run(tight)
    _check_limit(mapped, limit)
    return mapped


def _without(apart: Mapping[Value, frozenset[Value]], rings: frozenset[Value]) -> Mapping[Value, frozenset[Value]]:
    """The same but for rings: they are large, and a barrier behind a loop costs little."""
    return {root: others - rings for root, others in apart.items() if root not in rings}


def _ahead(
    scratch: Sequence[Value], rings: frozenset[Value], ranges: Mapping[Value, LiveRange]
) -> Mapping[Value, frozenset[Value]]:
    """For rings, scratch that is used earlier: partitions may fill them meanwhile, and no fence of theirs covers it."""
    starts = {root: ranges[root].intervals[0][0] for root in scratch if ranges[root].intervals}
    return {
        ring: frozenset(root for root, start in starts.items() if root not in rings and start < starts[ring])
        for ring in rings & starts.keys()
    }


def _needs_barrier(group: Sequence[Value], apart: Mapping[Value, frozenset[Value]]) -> bool:
    """Whether members of a union need a further barrier between their uses."""
    return any(other in apart.get(root, ()) for root in group for other in group)


def _scratch_of(task: Task) -> list[Value]:
    return [op.result for op in walk_task(task.region) if _is_scratch(op)]


def _apart(
    kernel: Kernel, scratch: Sequence[Value], task: Task, rings: frozenset[Value]
) -> Mapping[Value, frozenset[Value]]:
    """Which scratch of a task must not share bytes with which, lest a further barrier or wait be needed."""
    if len(scratch) <= 1:
        return {}
    unordered = unordered_roots(kernel, scratch, task)
    unsettled = unsettled_roots(kernel, [root for root in scratch if root not in rings], task)
    return {root: others | unsettled.get(root, frozenset()) for root, others in unordered.items()}


def shared_map(kernel: Kernel) -> SharedMap:
    """Read back the layout of shared memory; empty when the kernel has none."""
    entries = []
    for op in _allocations(kernel):
        type_ = op.result.type
        element, shape = (type_.element, type_.shape) if isinstance(type_, BufferType) else (U64, (_count(op),))
        entries.append(
            SharedEntry(
                op.attrs["member"],
                element,
                shape,
                op.attrs["offset_bytes"],
                _size_bytes(op),
                alignment_bytes(op),
                "barriers" if _is_barriers(op) else "scratch" if _is_scratch(op) else "user",
                op.attrs.get("union_group"),
                op.result,
            )
        )
    entries.sort(key=lambda entry: entry.offset_bytes)
    alignment = max((entry.alignment_bytes for entry in entries), default=MIN_ALIGNMENT_BYTES)
    end = max((entry.offset_bytes + entry.size_bytes for entry in entries), default=0)
    return SharedMap(tuple(entries), _round_up(end, alignment), alignment)


def alignment_bytes(op: Op) -> int:
    """Alignment of an allocation: what it asks for, what its layout needs, and no less than 16 bytes; mbarriers need 8."""
    if _is_barriers(op):
        return BARRIER_BYTES
    type_ = op.result.type
    assert isinstance(type_, BufferType)
    needed = MIN_ALIGNMENT_BYTES
    if type_.storage == "mma" and len(type_.shape) > 1:
        row_bytes = type_.shape[-1] * type_.element.bytes
        needed = SWIZZLE_128_ALIGNMENT_BYTES if row_bytes >= 128 else MMA_ALIGNMENT_BYTES
    return max(needed, op.attrs.get("alignment_bytes") or 0)


def _allocations(kernel: Kernel) -> list[Op]:
    return [op for op in walk(kernel.body) if op.name in ("alloc", "alloc_barriers")]


def _is_barriers(op: Op) -> bool:
    return op.name == "alloc_barriers"


def _is_scratch(op: Op) -> bool:
    """Whether an allocation is one that may share bytes."""
    return op.name == "alloc" and bool(op.attrs.get("scratch"))


def _count(op: Op) -> int:
    """Number of mbarriers."""
    type_ = op.result.type
    assert isinstance(type_, BarrierType)
    return type_.count


def _size_bytes(op: Op) -> int:
    type_ = op.result.type
    return type_.size_bytes if isinstance(type_, BufferType) else BARRIER_BYTES * _count(op)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _union_groups(
    scratch: Sequence[Value], ranges: Mapping[Value, LiveRange], apart: Mapping[Value, frozenset[Value]]
) -> list[list[Value]]:
    """Share out scratch over unions: the largest first, each into the first union it is compatible with."""

    def size_bytes(root: Value) -> int:
        assert isinstance(root.type, BufferType)
        return root.type.size_bytes

    groups: list[list[Value]] = []
    for root in sorted(scratch, key=size_bytes, reverse=True):
        for group in groups:
            if not any(
                ranges[root].overlaps(ranges[x]) or x in apart.get(root, ()) or root in apart.get(x, ()) for x in group
            ):
                group.append(root)
                break
        else:
            groups.append([root])
    order = {root: number for number, root in enumerate(scratch)}
    for group in groups:
        group.sort(key=order.__getitem__)
    return sorted(groups, key=lambda group: order[group[0]])


def _assign(kernel: Kernel, allocations: Sequence[Op], groups: Sequence[Sequence[Value]]) -> Kernel:
    """Write offsets, member names and union numbers into the allocations."""
    by_root = {op.result: op for op in allocations}
    notes: dict[Value, dict[str, object]] = {}
    end = 0
    for op in allocations:
        if not _is_scratch(op) and not _is_barriers(op):
            end = _place([op], end, notes, None)
    number = 0
    for group in groups:
        if len(group) > 1:
            end = _place([by_root[root] for root in group], end, notes, number)
            number += 1
        else:
            end = _place([by_root[group[0]]], end, notes, None)
    for op in allocations:
        if _is_barriers(op):
            end = _place([op], end, notes, None)
    for root, name in _member_names(allocations).items():
        notes[root]["member"] = name

    def annotate(op: Op) -> Op:
        if op.name not in ("alloc", "alloc_barriers"):
            return op
        kept = {name: value for name, value in op.attrs.items() if name != "union_group"}
        return replace(op, attrs=MappingProxyType({**kept, **notes[op.result]}))

    return replace_ops(kernel, annotate)


def _place(ops: Sequence[Op], end: int, notes: dict[Value, dict[str, object]], group: int | None) -> int:
    """Give the same offset to `ops`, behind `end`; returns the new end."""
    alignment = max(alignment_bytes(op) for op in ops)
    offset = _round_up(end, alignment)
    for op in ops:
        notes[op.result] = {"offset_bytes": offset}
        if group is not None:
            notes[op.result]["union_group"] = group
        end = max(end, offset + _size_bytes(op))
    # C++ pads a union to its alignment, which one member may ask for and another one's size not fill.
    return end if group is None else _round_up(end, alignment)


def _member_names(allocations: Sequence[Op]) -> dict[Value, str]:
    """The user's names, numbered only where two allocations have the same."""
    wanted = {op.result: str(op.attrs.get("name") or op.result.name or "buffer") for op in allocations}
    given = set(wanted.values())
    names: dict[Value, str] = {}
    used: set[str] = set()
    for root, name in wanted.items():
        unique, number = name, 2
        while unique in used:
            unique, number = f"{name}_{number}", number + 1
            if unique in given:
                unique = name  # another allocation has that very name: take the next number
        used.add(unique)
        names[root] = unique
    return names


def _check_limit(kernel: Kernel, limit: int) -> None:
    shared = shared_map(kernel)
    if shared.total_bytes <= limit:
        return
    parts: list[str] = []
    seen: set[int] = set()
    counted = 0
    for entry in shared.entries:
        if entry.union_group is not None and entry.union_group in seen:
            continue
        size = entry.size_bytes
        label = entry.name
        if entry.union_group is not None:
            seen.add(entry.union_group)
            members = [e for e in shared.entries if e.union_group == entry.union_group]
            size = max(e.size_bytes for e in members)
            label = "/".join(e.name for e in members)
        parts.append(f"{label}{' scratch' if entry.kind == 'scratch' else ''} {size}")
        counted += size
    if shared.total_bytes > counted:
        parts.append(f"alignment {shared.total_bytes - counted}")
    sizes = f"{' + '.join(parts)} = {shared.total_bytes}" if len(parts) > 1 else parts[0]
    largest = max(shared.entries, key=lambda entry: entry.size_bytes)
    spans = {op.result: op.span for op in _allocations(kernel)}
    raise OutOfResources(
        shared.total_bytes,
        limit,
        "shared memory",
        spans[largest.root],
        (f"{sizes} bytes, limit {limit} on {kernel.target}",),
        f"make `{largest.name}` smaller" + (f": it takes {largest.size_bytes} bytes" if len(parts) > 1 else ""),
    )
