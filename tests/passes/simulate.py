"""Happens-before by brute force: runs a kernel's accesses to shared memory and looks for pairs that may race.

Independent of the analyses: addresses are evaluated with NumPy, threads come from the layouts, and two accesses race
when some byte is touched by different threads with no barrier between, one of them not reading, not both atomics.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from tle2cuda.ir.effects import BARRIERS
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.types import BufferType, TileType

KINDS = {"load": "read", "store": "write", "atomic_rmw": "atomic"}
PHASES = {"histogram": ("write", "atomic", "read")}


@dataclass
class Access:
    kind: str
    op: Op
    touched: dict[tuple[object, int], set[int]]  # (address space of an allocation, element) -> threads


@dataclass
class Trace:
    events: list[Access | None] = field(default_factory=list)  # None: barrier


class Runner:
    """One execution with random arguments, trip counts and branches."""

    def __init__(self, kernel: Kernel, rng: random.Random) -> None:
        self.kernel = kernel
        self.rng = rng
        self.trace = Trace()
        self.values: dict[Value, object] = {a.value: rng.randrange(3) for a in kernel.args}

    def run(self) -> Trace:
        self.region(self.kernel.body)
        return self.trace

    def region(self, region: Region) -> list[object]:
        for op in region.body:
            self.visit(op)
        return [self.values.get(v) for v in region.terminator.operands]

    def visit(self, op: Op) -> None:
        get = self.values.get
        if op.name in BARRIERS:
            self.trace.events.append(None)
        elif op.name == "if":
            arm = op.regions[self.rng.randrange(2)]
            for result, value in zip(op.results, self.region(arm), strict=True):
                self.values[result] = value
        elif op.name == "for":
            carried = [get(v) for v in op.operands[3:]]
            for i in range(self.rng.choice([0, 1, 2, 3])):
                for param, value in zip(op.regions[0].params, [i, *carried], strict=True):
                    self.values[param] = value
                carried = self.region(op.regions[0])
            for result, value in zip(op.results, carried, strict=True):
                self.values[result] = value
        elif op.name in KINDS:
            self.access(op)
        elif scratch_operands(op):
            self.collective(op)
        elif op.results:
            self.values[op.results[0]] = self.evaluate(op, [get(v) for v in op.operands])

    def evaluate(self, op: Op, operands: list) -> object:
        if op.name == "alloc":
            return (op.result, np.asarray(0))
        if op.name == "constant":
            shape = op.result.type.shape if isinstance(op.result.type, TileType) else ()
            return np.full(shape, op.attrs["value"])
        if op.name == "arange":
            return np.arange(op.attrs["start"], op.attrs["end"])
        if op.name == "splat":
            return np.broadcast_to(operands[0], op.result.type.shape)
        if op.name == "add":
            return operands[0] + operands[1]
        if op.name == "mul":
            return operands[0] * operands[1]
        if op.name == "rem":
            return operands[0] % operands[1]
        if op.name == "sub":
            return operands[0] - operands[1]
        if op.name == "local_ptr":
            root, start = operands[0]
            if len(operands) == 1:
                return (root, np.arange(op.result.type.shape[0]) + start)
            return (root, np.asarray(operands[1]) + start)
        if op.name == "buffer_view":
            root, start = operands[0]
            if op.attrs["kind"] == "slot":
                return (root, start + operands[1] * op.result.type.num_elements)
            return (root, start + op.attrs["start"])
        raise AssertionError(op.name)

    def access(self, op: Op) -> None:
        pointer = op.operands[0]
        root, elements = self.values[pointer]
        touched: dict[tuple[object, int], set[int]] = {}
        threads = self.kernel.num_threads
        if isinstance(pointer.type, TileType):
            layout = pointer.type.layout
            lanes, warps = layout.owner_bits()
            for thread in range(threads):
                lane, warp = thread % 32, thread // 32
                if op.name != "load" and (lane & lanes or warp & warps):
                    continue
                for register in range(layout.num_registers):
                    (i,) = layout.coords(register, lane, warp)
                    touched.setdefault((root, int(elements[i])), set()).add(thread)
        else:
            who = set(range(threads)) if op.name == "load" else {0}
            touched[root, int(elements)] = who
        self.trace.events.append(Access(KINDS[op.name], op, touched))

    def collective(self, op: Op) -> None:
        for number, kind in enumerate(PHASES.get(op.name, ("write", "read"))):
            if number:
                self.trace.events.append(None)
            touched = {}
            for buffer in scratch_operands(op):
                root, start = self.values[buffer]
                assert isinstance(buffer.type, BufferType)
                for element in range(buffer.type.num_elements):
                    touched[root, int(start) + element] = set(range(self.kernel.num_threads))
            self.trace.events.append(Access(kind, op, touched))


def races(kernel: Kernel, rng: random.Random, offsets: dict[Value, int] | None = None) -> list[tuple[Op, Op]]:
    """Pairs of operations that may race in one random execution; `offsets` (in elements) place the allocations."""

    def placed(key: tuple[object, int]) -> tuple[object, int]:
        return key if offsets is None else (None, offsets[key[0]] + key[1])

    found = []
    since_barrier: list[Access] = []
    for event in Runner(kernel, rng).run().events:
        if event is None:
            since_barrier = []
            continue
        event.touched = {placed(key): threads for key, threads in event.touched.items()}
        for earlier in since_barrier:
            if earlier.kind == event.kind and event.kind in ("read", "atomic"):
                continue
            if any(
                key in event.touched and len(threads | event.touched[key]) > 1 for key, threads in earlier.touched.items()
            ):
                found.append((earlier.op, event.op))
        since_barrier.append(event)
    return found
