"""Fewer warps than asked for, where the rest would repeat what they do.

A tile of fewer elements than the CTA has threads lies in several threads at once, and every warp computes all of it. That
changes no result and costs issue slots that other CTAs of the multiprocessor want, so such a kernel gets the warps that its
tiles can use. `num_warps` decides the size of a CTA and nothing else that a kernel could see, save through inline PTX and
where warps arrive at barriers one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tle2cuda.ir.nodes import Kernel, Region, walk
from tle2cuda.ir.types import TileType

_LOOP_WEIGHT = 16  # how often a loop runs, for lack of better knowledge
_WORTH = 0.7  # share of the work below which half as many warps are better
_LOOPS = ("for", "while")
_INSTRUCTIONS: Mapping[str, int] = {"map": 24, "math": 8, "libdevice": 24, "philox": 60, "div": 8, "idiv": 10, "rem": 10}
"""Instructions of operations that take many, roughly."""
_COUNTS_WARPS = frozenset(("asm", "asm_block", "dot", "pipe", "named_barrier", "warp_specialize", "wgmma"))
"""Operations that depend on the number of warps: they were made for it, or arrive at barriers that count them."""


def with_useful_warps(kernel: Kernel, assign: Callable[[Kernel], Kernel]) -> Kernel:
    """The kernel after `assign` has given its tiles layouts, for as many warps as they keep busy.

    Args:
        kernel: A kernel without layouts, of the warps that were asked for.
        assign: Gives every tile its layout.
    """
    assigned = assign(kernel)
    while kernel.num_warps > 1 and _may_shrink(kernel):
        fewer = replace(kernel, num_warps=kernel.num_warps // 2)
        if not _repeats(assigned):
            break
        again = assign(fewer)
        if work(again) > _WORTH * work(assigned):
            break
        kernel, assigned = fewer, again
    return assigned


def _may_shrink(kernel: Kernel) -> bool:
    """Whether nothing ties the kernel to its number of threads."""
    if kernel.cooperative or kernel.cluster_size > 1:
        return False  # tuned as a whole: what other CTAs of the group do depends on it
    return not any(op.name in _COUNTS_WARPS for op in walk(kernel.body))


def work(kernel: Kernel) -> int:
    """Instructions that the warps of a CTA issue for its tiles, roughly: those for each register, in each warp."""
    return kernel.num_warps * _instructions(kernel.body, 1)


def _instructions(region: Region, weight: int) -> int:
    total = 0
    for op in region.ops:
        for result in op.results:
            if isinstance(result.type, TileType) and result.type.layout is not None:
                total += weight * _INSTRUCTIONS.get(op.name, 1) * result.type.layout.num_registers
        for inner in op.regions:
            total += _instructions(inner, weight * (_LOOP_WEIGHT if op.name in _LOOPS else 1))
    return total


def _repeats(kernel: Kernel) -> bool:
    """Whether some tile lies in several warps at once."""
    for op in walk(kernel.body):
        for result in op.results:
            if isinstance(result.type, TileType) and result.type.layout is not None and result.type.layout.owner_bits()[1]:
                return True
    return False
