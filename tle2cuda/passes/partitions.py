"""Close the worker regions of `warp_specialize`: what they use of the code around them they get for themselves.

Specialisations inside of loops and branches are first brought to the top level (`lifting.py`).

Workers run on warps of their own, so a value that other warps hold in registers does not exist there. What costs little
is made again at the start of the region: scalars computed of arguments and CTA indices, scalars that are loaded from what
the kernel never writes, index tiles, pointers, views of buffers, slots that a pipe had handed out. What cannot be (loads,
reductions, what loops made) is handed over through a shared buffer that the default warps fill in front of the operation.
Kernel arguments and handles (allocations, barriers, pipes) stay as they are: every warp can name them.

Afterwards each region can be given layouts like a kernel of its own. Region 0 runs on the default warps and captures
freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import Rewriter, captured_values, definitions
from tle2cuda.passes.handing import Handed, Maker, Repeats
from tle2cuda.passes.lifting import lifted

_ALLOCATIONS = frozenset(("alloc", "alloc_barriers", "pipe", "tensor_map"))


def run(kernel: Kernel) -> Kernel:
    """Close all worker regions.

    Raises:
        NotSupported: A worker uses a pointer to shared memory, or a buffer, that was chosen at run time outside of it.
    """
    if not any(op.name == "warp_specialize" for op in walk(kernel.body)):
        return kernel
    closed = _Close(lifted(kernel))
    return _Mark().kernel(closed.kernel(closed.source))


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
        handed = Handed(op)
        workers = tuple(self._closed(region, handed) for region in op.regions[1:])
        for each in (*handed.allocations, *handed.stores):
            self.emit(each)
        regions = (self.region(op.regions[0]), *workers)
        same = all(a is b for a, b in zip(regions, op.regions, strict=True))
        self.emit(op if same else replace(op, regions=regions))

    def _closed(self, region: Region, handed: Handed) -> Region:
        """The region, capturing nothing but arguments and allocations."""
        captured = [value for value in captured_values(region) if self._known(value) is None]
        if not captured:
            return region
        maker = Maker(self.definitions, self._known, self.__getitem__, self.repeats, handed)
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
