"""What MoE Align Block Size computes, in plain NumPy: the definition every kernel is checked against.

A router has chosen an expert for each of T token slots (for top-k routing T = tokens * k, and
slot = token * k + choice). A grouped matrix product wants the slots sorted by expert and each expert's run
padded to whole blocks, so that every block of rows multiplies one expert's weights:

    topk_ids            2 0 2 2 1 2 2              T = 7, three experts, blocks of 4
    sorted_token_ids    1 7 7 7 | 4 7 7 7 | 0 2 3 5 | 6 7 7 7      7 = T marks padding
    expert_ids          0         1         2         2
    num_tokens_post_pad 16

The order of slots inside one expert is free; everything else is determined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_EXPERTS = 8192
MAX_BLOCK_SIZE = 256


class AlignedBlocks(NamedTuple):
    """The three outputs, all int32. Arrays are NumPy's here, and the caller's library's when a GPU made them.

    Attributes:
        sorted_token_ids: [sorted_capacity]; slots by expert, then T in every padding and unused place.
        expert_ids: [expert_capacity]; the expert of each block of `sorted_token_ids`, 0 where not in use.
        num_tokens_post_pad: [1]; places of `sorted_token_ids` in use, a multiple of the block size.
    """

    sorted_token_ids: NDArray[np.int32]
    expert_ids: NDArray[np.int32]
    num_tokens_post_pad: NDArray[np.int32]


class MismatchError(AssertionError):
    """A result differs from the definition by more than the order of slots inside an expert."""


def sorted_capacity(num_slots: int, block_size: int, num_experts: int, keep_filtered: bool = False) -> int:
    """Places `sorted_token_ids` must have: every group that is not empty pads at most block_size - 1."""
    num_groups = num_experts + int(keep_filtered)
    return num_slots + min(num_slots, num_groups) * (block_size - 1)


def expert_capacity(num_slots: int, block_size: int, num_experts: int, keep_filtered: bool = False) -> int:
    """Blocks that `sorted_capacity` places make, the last one possibly cut short."""
    return -(-sorted_capacity(num_slots, block_size, num_experts, keep_filtered) // block_size)


def check_sizes(block_size: int, num_experts: int) -> None:
    """Raises ValueError for a block size or a number of experts that no kernel here takes."""
    if not 1 <= block_size <= MAX_BLOCK_SIZE:
        raise ValueError(f"block_size must be 1 to {MAX_BLOCK_SIZE}, got {block_size}")
    if not 1 <= num_experts <= MAX_EXPERTS:
        raise ValueError(f"num_experts must be 1 to {MAX_EXPERTS}, got {num_experts}")


def moe_align_reference(
    topk_ids: NDArray[np.integer], block_size: int, num_experts: int, *, keep_filtered: bool = False
) -> AlignedBlocks:
    """Sorts token slots by expert, in ascending order inside an expert, and pads each expert to whole blocks.

    Args:
        topk_ids: integers of any shape, taken in row-major order. Slots whose id is not in [0, num_experts)
            belong to no expert and are left out, except as `keep_filtered` says.
        block_size: 1 to 256, a power of two or not.
        num_experts: 1 to 8192.
        keep_filtered: make a group of the slots with id -1 too; its blocks come first and have expert id -1.

    Returns:
        The aligned blocks, as long as `sorted_capacity` and `expert_capacity` say.

    Example:
        >>> blocks = moe_align_reference(np.array([2, 0, 2, 2, 1, 2, 2]), 4, 3)
        >>> blocks.sorted_token_ids[:16].tolist()
        [1, 7, 7, 7, 4, 7, 7, 7, 0, 2, 3, 5, 6, 7, 7, 7]
        >>> blocks.expert_ids[:4].tolist(), int(blocks.num_tokens_post_pad[0])
        ([0, 1, 2, 2], 16)
    """
    check_sizes(block_size, num_experts)
    first_expert = -1 if keep_filtered else 0
    ids = np.asarray(topk_ids).reshape(-1).astype(np.int64)
    num_slots = ids.size

    slots = np.flatnonzero((ids >= first_expert) & (ids < num_experts))
    groups = ids[slots] - first_expert
    counts = np.bincount(groups, minlength=num_experts - first_expert)
    padded = -(-counts // block_size) * block_size
    starts = np.cumsum(padded) - padded
    post_pad = int(padded.sum())

    order = np.argsort(groups, kind="stable")
    grouped = groups[order]
    rank_in_group = np.arange(slots.size) - (np.cumsum(counts) - counts)[grouped]

    capacity = sorted_capacity(num_slots, block_size, num_experts, keep_filtered)
    sorted_token_ids = np.full(capacity, num_slots, np.int32)
    sorted_token_ids[starts[grouped] + rank_in_group] = slots[order]

    expert_ids = np.zeros(-(-capacity // block_size), np.int32)
    owners = np.repeat(np.arange(first_expert, num_experts), padded // block_size)
    expert_ids[: owners.size] = owners
    return AlignedBlocks(sorted_token_ids, expert_ids, np.array([post_pad], np.int32))


def verify(
    result: AlignedBlocks,
    topk_ids: NDArray[np.integer],
    block_size: int,
    num_experts: int,
    *,
    keep_filtered: bool = False,
    expected: AlignedBlocks | None = None,
) -> None:
    """Checks a result element by element against the definition, up to the order of slots in an expert.

    Args:
        result, topk_ids, block_size, num_experts, keep_filtered: what a kernel gave, and what it was given.
        expected: the reference's result for the same arguments, where the caller already has it.

    Raises:
        MismatchError: names the output, the place and both values.
    """
    if expected is None:
        expected = moe_align_reference(topk_ids, block_size, num_experts, keep_filtered=keep_filtered)
    actual = AlignedBlocks(*(np.asarray(array) for array in result))
    for name in ("num_tokens_post_pad", "expert_ids"):
        _require_equal(name, getattr(actual, name), getattr(expected, name))

    # The places that hold slots, numbered by their group: sorting by (group, slot) removes the free order.
    num_slots = np.asarray(topk_ids).size
    in_use = expected.sorted_token_ids != num_slots
    if actual.sorted_token_ids.shape != expected.sorted_token_ids.shape:
        _require_equal("sorted_token_ids", actual.sorted_token_ids, expected.sorted_token_ids)
    group = expected.expert_ids[np.arange(in_use.size) // block_size].astype(np.int64)
    canonical = actual.sorted_token_ids.astype(np.int64)
    places = np.flatnonzero(in_use)
    canonical[places] = canonical[places][np.lexsort((canonical[places], group[places]))]
    _require_equal("sorted_token_ids", canonical, expected.sorted_token_ids)


def _require_equal(name: str, actual: NDArray[np.integer], expected: NDArray[np.integer]) -> None:
    if actual.shape != expected.shape:
        raise MismatchError(f"{name}: shape {actual.shape}, expected {expected.shape}")
    wrong = np.flatnonzero(actual != expected)
    if wrong.size:
        place = int(wrong[0])
        raise MismatchError(
            f"{name}[{place}] is {actual[place]}, expected {expected[place]}; {wrong.size} of {actual.size} differ"
        )
