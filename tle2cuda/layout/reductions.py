"""How a reduction along an axis runs on a layout: registers, then lanes, then warps."""

from __future__ import annotations

from dataclasses import dataclass

from . import f2
from .distributed import LANE_BITS, Layout
from .views import CoordMap, register_map


@dataclass(frozen=True, slots=True)
class ReductionStep:
    """One doubling: combine register i with `i ^ register_xor` of the thread that differs in `thread_xor`.

    Attributes:
        thread_xor: Mask of lane bits (for a lane step) or of `threadIdx.x` (for a warp step).
        register_xor: Almost always 0; other values come from layouts whose thread images overlap those of
            registers.
    """

    thread_xor: int
    register_xor: int


@dataclass(frozen=True, slots=True)
class Reduction:
    """The plan of a reduction.

    Attributes:
        result: Layout of the result after all steps; every thread named by it holds its elements.
        register_images: For each register bit of the operand, the result register bits it selects: operand
            register r is folded into result register `f2.apply(register_images, r)`.
        skipped_registers: Mask of operand register bits that only repeat elements: registers with one of them
            set are not folded.
        lane_steps: Shuffles within the warp, by `lane ^ thread_xor`.
        warp_steps: Exchanges between warps, through shared memory: the threads whose values combine are those
            that differ by a combination of these masks.
    """

    result: Layout
    register_images: tuple[int, ...]
    skipped_registers: int
    lane_steps: tuple[ReductionStep, ...]
    warp_steps: tuple[ReductionStep, ...]


def reduction(layout: Layout, axis: int, keep: bool = False) -> Reduction:
    """Return how to reduce a tile of this layout along an axis.

    Copies are never combined: threads and registers that replicate the operand take part once only.
    """
    result = layout.reduce_axis(axis, keep)
    folded = register_map(layout, result, CoordMap.drop_axis(layout.shape, axis, keep))
    assert folded is not None, "reduce_axis keeps the images of threads and the span of registers"
    lanes = _combining_masks(layout.flat_registers, layout.flat_lanes, result.flat_registers, result.flat_lanes)
    num_registers = len(result.registers)
    in_registers = (1 << num_registers) - 1
    warps = _combining_masks(
        layout.flat_registers + layout.flat_lanes,
        layout.flat_warps,
        result.flat_registers + result.flat_lanes,
        result.flat_warps,
    )
    lane_steps = tuple(ReductionStep(lane, register) for lane, register in lanes)
    # What a warp step must correct inside the warp is a register part and, above it, a lane part.
    warp_steps = tuple(
        ReductionStep(warp << LANE_BITS | within >> num_registers, within & in_registers) for warp, within in warps
    )
    return Reduction(result, folded, layout.replicated_registers, lane_steps, warp_steps)


def _combining_masks(
    inner: tuple[int, ...],
    outer: tuple[int, ...],
    result_inner: tuple[int, ...],
    result_outer: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Return (outer mask, inner correction) pairs that lead to other addends of one result element.

    `inner` and `outer` are the operand's images of what is already combined and of what is to be; the other
    two are those of the result. Masks that lead to copies of the same addends are left out.
    """
    copies = [combination >> len(inner) for combination in f2.kernel(inner + outer)]
    seen = f2.EchelonBasis(copies)
    masks = []
    for combination in f2.kernel(result_inner + result_outer):
        mask = combination >> len(result_inner)
        if seen.add(mask):
            masks.append((mask, combination & ((1 << len(result_inner)) - 1)))
    return masks
