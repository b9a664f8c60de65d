"""Close the worker regions of `warp_specialize`: what they use of the code around them they get for themselves.

Specialisations inside of loops and branches are first brought to the top level (`lifting.py`).

Workers run on warps of their own, so a value that other warps hold in registers does not exist there. What costs little
is made again at the start of the region: scalars computed of arguments and CTA indices, scalars that are loaded from what
the kernel never writes, index tiles, pointers, views of buffers, slots that a pipe had handed out. What cannot be (loads,
reductions, what loops made) is handed over through a shared buffer that the default warps fill in front of the operation.
Kernel arguments and handles (allocations, barriers, pipes) stay as they are: every warp can name them.

Where the partitions are groups of the kernel's own warps, all of them are closed like that, but scalars stay as they are:
every thread has them. What the default partition returns goes back through a buffer.

Afterwards each region can be given layouts like a kernel of its own. Region 0 runs on the default warps and captures
freely.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.passes.handing import Handed, Maker, Repeats
from tle2cuda.passes.lifting import lifted

_ALLOCATIONS = frozenset(("alloc", "alloc_barriers", "pipe", "tensor_map"))


def run(kernel: Kernel) -> Kernel:
    """Close all worker regions.

    Raises:
        NotSupported: A worker uses a pointer to shared memory, or a buffer, that was chosen at run time outside of it.
    """
    kernel = _Inline().kernel(kernel)
    if not any(op.name == "warp_specialize" for op in walk(kernel.body)):
        return kernel
    closed = _Close(lifted(kernel))
    return _Mark().kernel(closed.kernel(closed.source))


class _Inline(Rewriter):
    """Puts a partition that is alone in place."""

    def visit(self, op: Op) -> None:
        if op.name != "warp_specialize" or len(op.regions) > 1:
            self.copy(op)
            return
        for inner in op.regions[0].body:
            self.visit(inner)
        for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
            self.bind(result, self[value])


class _Mark(Rewriter):
    """Notes on sums that CUB must not make them: it synchronises the whole CTA."""

    def visit(self, op: Op) -> None:
        if op.name == "exclusive_sum":
            op = replace(op, attrs=MappingProxyType({**op.attrs, "in_partition": True}))
        self.copy(op)


class _Close(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.source = kernel
        self.definitions = definitions(kernel.body)
        self.arguments = {argument.value for argument in kernel.args}
        self.repeats = Repeats(kernel)

    def visit(self, op: Op) -> None:
        if op.name != "warp_specialize":
            self.copy(op)
            return
        if op.attrs.get(DIVIDES):
            self._divide(op)
            return
        handed = Handed(op)
        workers = tuple(self._closed(region, handed) for region in op.regions[1:])
        for each in (*handed.allocations, *handed.stores):
            self.emit(each)
        regions = (self.region(op.regions[0]), *workers)
        same = all(a is b for a, b in zip(regions, op.regions, strict=True))
        self.emit(op if same else replace(op, regions=regions))

    def _divide(self, op: Op) -> None:
        """Partitions of the warps that there are: scalars are in all of them, tiles go in and out through buffers."""
        handed, back = Handed(op), Handed(op)
        regions = [
            self._closed(region, handed, lambda value: None if is_tile(value) else self[value]) for region in op.regions
        ]
        inside = {result for region in regions[:1] for each in walk(region) for result in each.results}
        first = regions[0]
        loads: list[Op] = []
        for result, value in zip(op.results, first.terminator.operands, strict=True):
            if value in inside:
                ops = back.received(result, back.buffer(value, value))
                self.bind(result, ops[-1].result)
                loads += ops
            else:
                self.bind(result, value)
        stop = make_op("yield", span=first.terminator.span)
        regions[0] = Region((), (*first.body, *back.stores, stop))
        for each in (*handed.allocations, *back.allocations, *handed.stores):
            self.emit(each)
        attrs = MappingProxyType({**op.attrs, "sync_before": True, "sync_behind": True})
        self.emit(replace(op, results=(), attrs=attrs, regions=tuple(regions)))
        for each in loads:
            self.emit(each)

    def _closed(self, region: Region, handed: Handed, known: Callable[[Value], Value | None] | None = None) -> Region:
        """The region, capturing nothing but arguments and allocations, or what else is known in it."""
        known = known or self._known
        captured = [value for value in captured_values(region) if known(value) is not value]
        if not captured:
            return region
        maker = Maker(self.definitions, known, self.__getitem__, self.repeats, handed)
        rewriter = Rewriter()
        for value in captured:
            rewriter.bind(value, maker.want(value))
        ops = rewriter.ops(region.ops)
        return Region((), (*maker.ops, *ops))

    def _known(self, value: Value) -> Value | None:
        """What a worker can name as it is."""
        op = self.definitions.get(value)
        return self[value] if value in self.arguments or (op is not None and op.name in _ALLOCATIONS) else None


def worker_warps(kernel: Kernel) -> Mapping[Op, int]:
    """For every operation inside of a worker region, the warps that run it."""
    return {
        op: warps
        for site in kernel.specialisations
        for warps, region in zip(site.attrs["warps"][1:], site.regions[1:], strict=True)
        for op in walk(region)
    }
