"""What operations do to memory: what they read, write or update, and which barriers they contain.

`Roots(kernel)` finds for every pointer and buffer the allocations and arguments it may point into.
`steps(op, roots)` lists what one operation does, in order, with the CTA barriers that it contains;
`effects(op, roots)` is the same without the order.

Operations that need scratch take it as trailing operands, counted by the attribute `num_scratch`. How they
use it is a contract with the lowering, stated in `_SCRATCH_PHASES`: what happens before, between and after
the barriers inside the operation. Scratch may be overwritten as soon as a barrier follows its last phase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import (
    CLUSTER,
    GLOBAL,
    SHARED,
    BufferType,
    PointerType,
    TileType,
    element_of,
    is_handle,
    is_pointer,
)

Proxy = Literal["generic", "async"]
Kind = Literal["read", "write", "atomic", "signal", "wait", "arm", "poll"]

READ: Kind = "read"
WRITE: Kind = "write"
ATOMIC: Kind = "atomic"
SIGNAL: Kind = "signal"
WAIT: Kind = "wait"
ARM: Kind = "arm"
POLL: Kind = "poll"
"""The last four concern mbarriers, and only the analysis of hazards makes them (`tle2cuda.analysis.accesses`)."""

_MEMORY_KINDS: Mapping[str, Kind] = {
    "load": READ,
    "store": WRITE,
    "atomic_rmw": ATOMIC,
    "atomic_cas": ATOMIC,
}

_SCRATCH_PHASES: Mapping[str, tuple[Kind, ...]] = {
    "reduce": (WRITE, READ),
    "scan": (WRITE, READ),
    "exclusive_sum": (WRITE, READ),
    "convert_layout": (WRITE, READ),
    "flip": (WRITE, READ),
    "extract_at": (WRITE, READ),
    "gather": (WRITE, READ),
    "sort": (WRITE, READ),
    "atomic_rmw": (WRITE, READ),
    "atomic_cas": (WRITE, READ),
    "load": (WRITE, READ),
    "dot": (WRITE, READ),
    "histogram": (WRITE, ATOMIC, READ),
    "asm_block": (WRITE, READ),
}
"""Phases of an operation on its scratch, a CTA barrier between each two; its own access is in the first."""

BARRIERS = frozenset({"barrier", "cluster_barrier", "grid_barrier"})
"""Operations at which all threads of the CTA meet and see each other's earlier memory operations.

A `cluster_barrier` of some members only is a CTA barrier for the other CTAs as well. Inside of a partition, a `barrier`
and those inside of collectives are met by the threads of that partition.
"""


def is_barrier(op: Op) -> bool:
    """Whether all threads of the task meet at an operation. All of them take part in a named barrier that they wait at."""
    return op.name in BARRIERS or (op.name == "named_barrier" and op.attrs["kind"] == "sync")


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """One access of an operation to one allocation or argument.

    Attributes:
        kind: ``read``, ``write`` or ``atomic``.
        space: Address space of the pointer: ``global``, ``shared`` or ``cluster`` (shared memory of any CTA
            of the cluster, the own one included).
        root: The `alloc` value or kernel argument; None when unknown, which stands for all of the space.
        pointer: The pointer (tile) operand, None when `buffer` or the whole of `root` is meant.
        op: The operation.
        one_thread: Thread 0 of the task alone does it. True of scalar stores and atomics, which happen once, and of what
            the copy engine is told to do.
        is_scratch: It concerns the operation's own scratch.
        is_async: It may happen after the operation: the copy engine or cp.async makes it.
        buffer: The buffer operand, part of `root`, all of which is meant.
        proxy: ``generic`` (ordinary instructions and cp.async) or ``async`` (TMA, operands of wgmma): accesses through
            different proxies need a fence as well as an order.
    """

    kind: Kind
    space: str
    root: Value | None
    pointer: Value | None
    op: Op
    one_thread: bool = False
    is_scratch: bool = False
    is_async: bool = False
    buffer: Value | None = None
    proxy: Proxy = "generic"

    @property
    def is_shared(self) -> bool:
        """Whether it touches shared memory, of this CTA or of another one in the cluster."""
        return self.space != GLOBAL


class CtaBarrier:
    """Stands among the steps of an operation where all threads of the CTA meet."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<CTA barrier>"


CTA_BARRIER = CtaBarrier()
Step = tuple[Effect, ...] | CtaBarrier


class Roots:
    """The allocations and arguments that each pointer and buffer of a kernel may come from.

    Of arrays of barriers and of pipes it finds the operations that made them, in the same way.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._sources: dict[Value, list[Value | None]] = {}
        self._number: dict[Value, int] = {}  # of each root, in program order
        self._cache: dict[Value, tuple[Value | None, ...]] = {}
        self._fields: dict[Value, tuple[Value, ...]] = {}  # of each pipe: its buffers
        self._slots: dict[Value, tuple[Value, int]] = {}  # each result of an acquire or wait: pipe, number of the field
        for argument in kernel.args:
            if isinstance(argument.value.type, PointerType):
                self._number[argument.value] = len(self._number)
        self._scan(kernel.body)

    def of(self, value: Value) -> tuple[Value | None, ...]:
        """Possible roots in program order; None, in front, when some origin is unknown."""
        found = self._cache.get(value)
        if found is None:
            found = self._cache[value] = self._reach(value)
        return found

    def _reach(self, value: Value) -> tuple[Value | None, ...]:
        seen: set[Value] = {value}
        todo = [value]
        roots: set[Value | None] = set()
        while todo:
            current = todo.pop()
            if current in self._number:
                roots.add(current)
                continue
            for source in self._sources_of(current):
                if source is None:
                    roots.add(None)
                elif source not in seen:
                    seen.add(source)
                    todo.append(source)
        return tuple(sorted(roots, key=lambda root: -1 if root is None else self._number[root]))

    def _sources_of(self, value: Value) -> list[Value | None]:
        slot = self._slots.get(value)
        if slot is None:
            return self._sources.get(value, [None])
        pipe, field = slot
        return [None if made is None else self._fields[made][field] for made in self.of(pipe)]

    def _flow(self, target: Value, source: Value | None) -> None:
        if is_handle(target.type) or is_pointer(target.type):
            self._sources.setdefault(target, []).append(source)

    def _scan(self, region: Region) -> None:
        for op in region.ops:
            self._visit(op)
            for inner in op.regions:
                self._scan(inner)

    def _visit(self, op: Op) -> None:
        if op.name in ("alloc", "alloc_barriers", "pipe", "tensor_alloc"):
            self._number[op.result] = len(self._number)
            if op.name == "pipe":
                self._fields[op.result] = op.operands
        elif op.name in ("pipe_acquire", "pipe_wait"):
            slots = op.results[1:] if op.name == "pipe_wait" else op.results
            self._slots.update({slot: (op.operands[0], field) for field, slot in enumerate(slots)})
        elif op.name in ("if", "for", "while", "fused", "warp_specialize"):
            for targets, sources in handed_on(op):
                for target, source in zip(targets, sources, strict=True):
                    self._flow(target, source)
        elif len(op.results) == 1:
            self._visit_simple(op)

    def _visit_simple(self, op: Op) -> None:
        origins = [v for v in op.operands if is_handle(v.type) or is_pointer(v.type)]
        if op.name == "cmp" or not origins:
            self._flow(op.result, None)  # such as an integer turned into a pointer
        for origin in origins:
            self._flow(op.result, origin)


def effects(op: Op, roots: Roots) -> tuple[Effect, ...]:
    """Everything an operation does to memory, regions of `fused` included, those of control flow not."""
    return tuple(effect for step in steps(op, roots) if not isinstance(step, CtaBarrier) for effect in step)


def steps(op: Op, roots: Roots) -> tuple[Step, ...]:
    """What an operation does to memory in order; a `CTA_BARRIER` wherever all its threads meet inside.

    The accesses of one step are not ordered among each other. Control flow has no steps of its own.
    """
    if is_barrier(op):
        return (CTA_BARRIER,)
    if op.name == "fused":
        return _fused_steps(op, roots)
    if op.name == "alloc" and op.attrs.get("zero"):
        return ((Effect(WRITE, SHARED, op.result, None, op),),)
    own = _own_accesses(op, roots)
    scratch = scratch_operands(op)
    if not scratch or op.name not in _SCRATCH_PHASES:  # such as barriers of its own
        return (own,) if own else ()
    result: list[Step] = []
    for number, kind in enumerate(_SCRATCH_PHASES[op.name]):
        phase = tuple(
            Effect(kind, SHARED, root, None, op, is_scratch=True) for buffer in scratch for root in roots.of(buffer)
        )
        result += [own + phase] if number == 0 else [CTA_BARRIER, phase]
    return tuple(result)


def internal_barriers(op: Op) -> int:
    """CTA barriers inside an operation that is no barrier itself."""
    return len(_SCRATCH_PHASES[op.name]) - 1 if scratch_operands(op) and op.name in _SCRATCH_PHASES else 0


def _own_accesses(op: Op, roots: Roots) -> tuple[Effect, ...]:
    kind = _MEMORY_KINDS.get(op.name)
    if op.name == "asm_block":
        return _asm_accesses(op, roots)
    if op.name in _COPIES:
        return _copy_accesses(op, roots)
    if op.name in ("tensor_product", "tensor_load"):
        return _tensor_memory(op, roots)
    if op.name in ("to_shared", "dot", "wgmma"):
        return _whole_buffers(op, roots)
    if kind is None:
        return ()
    pointer = op.operands[0]
    element = element_of(pointer.type)
    assert isinstance(element, PointerType)
    one_thread = kind != READ and not isinstance(pointer.type, TileType)
    return tuple(Effect(kind, element.space, root, pointer, op, one_thread) for root in roots.of(pointer))


def _whole_buffers(op: Op, roots: Roots) -> tuple[Effect, ...]:
    """A tile that fills a buffer; a product whose operands lie in buffers."""
    if op.name == "to_shared":
        return tuple(Effect(WRITE, SHARED, root, None, op) for root in roots.of(op.operands[1]))
    scales = op.operands[3:5] if op.attrs.get("formats") else ()
    buffers = [v for v in (*op.operands[:2], *scales) if isinstance(v.type, BufferType)]
    has_descriptors = str(op.attrs.get("instruction")).startswith(("wgmma", "tcgen05"))
    proxy: Proxy = "async" if op.name == "wgmma" or has_descriptors else "generic"
    return tuple(
        Effect(READ, SHARED, root, None, op, is_async=op.name == "wgmma", buffer=buffer, proxy=proxy)
        for buffer in buffers
        for root in roots.of(buffer)
    )


def _tensor_memory(op: Op, roots: Roots) -> tuple[Effect, ...]:
    """Products whose sums lie in tensor memory, which thread 0 starts and all wait for; loads of these."""
    if op.name == "tensor_load":
        return tuple(Effect(READ, SHARED, root, None, op) for root in roots.of(op.operands[0]))
    operands = [
        Effect(READ, SHARED, root, None, op, True, buffer=buffer, proxy="async")
        for buffer in (*op.operands[:2], *op.operands[5:7])  # and scales
        for root in roots.of(buffer)
    ]
    written = (*roots.of(op.operands[2]), *(root for columns in op.operands[7:] for root in roots.of(columns)))
    return (*operands, *(Effect(WRITE, SHARED, root, None, op, True) for root in written))


_COPIES = frozenset({"cp_async", "tma_load", "tma_store"})


def _copy_accesses(op: Op, roots: Roots) -> tuple[Effect, ...]:
    """Copies between global memory and a buffer; what the copy engine does to a tensor may be anywhere in it."""
    if op.name == "cp_async":
        pointer, buffer = op.operands[:2]
        reads = [Effect(READ, GLOBAL, root, pointer, op, is_async=True) for root in roots.of(pointer)]
        writes = (Effect(WRITE, SHARED, root, None, op, is_async=True, buffer=buffer) for root in roots.of(buffer))
        return (*reads, *writes)
    copy = tensor_copy(op)
    kinds = (READ, WRITE) if op.name == "tma_load" else (WRITE if op.attrs["kind"] == "store" else ATOMIC, READ)
    found = []
    for kind, space, value in zip(kinds, (GLOBAL, SHARED), (copy.base, copy.buffer), strict=True):
        part = value if space == SHARED else None
        for root in roots.of(value):
            found.append(Effect(kind, space, root, None, op, True, is_async=True, buffer=part, proxy="async"))
    return tuple(found)


_PTX_ACCESS = re.compile(r"\b(?:ld|st|atom|red|cp|multimem)\b")
_PTX_PREFETCH = re.compile(r"\bprefetchu?\.[^;]*")


def may_write(asm: Op) -> bool:
    """Whether the user's PTX may write memory: memory operands stand in brackets, and to prefetch is no access."""
    is_pure = asm.name == "asm" or asm.attrs["pure"]
    return not is_pure and "[" in _PTX_PREFETCH.sub("", asm.attrs["asm"])


def _asm_accesses(op: Op, roots: Roots) -> tuple[Effect, ...]:
    """The user's PTX may write whatever its pointers lead to; without pointers, what instructions on memory reach."""
    if not may_write(op):
        return ()
    pointers = [v for v in op.operands if not isinstance(v.type, BufferType) and is_pointer(v.type)]
    found = []
    for pointer in pointers:
        element = element_of(pointer.type)
        assert isinstance(element, PointerType)
        found += [Effect(WRITE, element.space, root, None, op) for root in roots.of(pointer)]
    if not pointers and _PTX_ACCESS.search(op.attrs["asm"]):
        found.append(Effect(WRITE, GLOBAL, None, None, op))
    return tuple(found)


def _fused_steps(op: Op, roots: Roots) -> tuple[Step, ...]:
    """A fused loop is one step: its threads do not wait for each other inside."""
    inner = tuple(effect for each in op.regions[0].body for effect in effects(each, roots))
    return (inner,) if inner else ()


def is_product(effect: Effect) -> bool:
    """Whether a matrix product reads an operand through the asynchronous proxy."""
    return effect.proxy == "async" and effect.op.name in ("dot", "wgmma", "tensor_product")


def is_remote(effect: Effect) -> bool:
    """Whether an access goes through the cluster's distributed shared memory."""
    return effect.space == CLUSTER
