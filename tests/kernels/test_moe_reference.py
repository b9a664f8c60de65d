"""The NumPy definition of MoE alignment against an independent slow one, and its checker against damage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.moe_align_block_size import (
    AlignedBlocks,
    expert_capacity,
    moe_align_reference,
    sorted_capacity,
    verify,
)
from kernels.moe_align_block_size.reference import MismatchError
from tests.kernels.problems import LARGER_PROBLEMS, PROBLEMS, WIDE_PROBLEMS


def brute_force(ids, block_size, num_experts, keep_filtered=False):
    """Lists of slots and of block owners, by appending one at a time."""
    flat = [int(id) for id in np.asarray(ids).reshape(-1)]
    places, owners = [], []
    for expert in range(-1 if keep_filtered else 0, num_experts):
        mine = [slot for slot, id in enumerate(flat) if id == expert]
        while len(mine) % block_size:
            mine.append(len(flat))
        places += mine
        owners += [expert] * (len(mine) // block_size)
    return places, owners


def check_against_brute_force(ids, block_size, num_experts, keep_filtered):
    result = moe_align_reference(ids, block_size, num_experts, keep_filtered=keep_filtered)
    places, owners = brute_force(ids, block_size, num_experts, keep_filtered)
    num_slots = np.asarray(ids).size
    assert int(result.num_tokens_post_pad[0]) == len(places)
    assert result.sorted_token_ids[: len(places)].tolist() == places
    assert (result.sorted_token_ids[len(places) :] == num_slots).all()
    assert result.expert_ids[: len(owners)].tolist() == owners
    assert (result.expert_ids[len(owners) :] == 0).all()
    assert {array.dtype for array in result} == {np.dtype(np.int32)}
    verify(result, ids, block_size, num_experts, keep_filtered=keep_filtered)


@pytest.mark.parametrize("problem", PROBLEMS + LARGER_PROBLEMS + WIDE_PROBLEMS, ids=lambda p: p.name)
def test_reference_equals_brute_force(problem):
    check_against_brute_force(problem.ids, problem.block_size, problem.num_experts, problem.keep_filtered)


@settings(max_examples=150, deadline=None)
@given(
    ids=st.lists(st.integers(-2, 12), max_size=60),
    block_size=st.integers(1, 20),
    num_experts=st.integers(1, 12),
    keep_filtered=st.booleans(),
)
def test_reference_equals_brute_force_on_any_input(ids, block_size, num_experts, keep_filtered):
    check_against_brute_force(np.array(ids, np.int64), block_size, num_experts, keep_filtered)


@given(st.integers(0, 5000), st.integers(1, 256), st.integers(1, 8192), st.booleans())
def test_capacity_holds_the_worst_case(num_slots, block_size, num_experts, keep_filtered):
    """Most places are needed when as many experts as possible hold one slot more than whole blocks."""
    capacity = sorted_capacity(num_slots, block_size, num_experts, keep_filtered)
    groups = num_experts + keep_filtered
    hit = min(num_slots, groups)
    blocks_of_the_rest = (num_slots - hit) // block_size
    assert (hit + blocks_of_the_rest) * block_size <= capacity
    assert expert_capacity(num_slots, block_size, num_experts, keep_filtered) * block_size >= capacity


def test_empty_input_gives_empty_outputs():
    result = moe_align_reference(np.array([], np.int32), 16, 8)
    assert [array.size for array in result] == [0, 0, 1]
    assert int(result.num_tokens_post_pad[0]) == 0
    verify(result, np.array([], np.int32), 16, 8)


@pytest.mark.parametrize(("block_size", "num_experts"), [(0, 4), (257, 4), (16, 0), (16, 8193)])
def test_sizes_out_of_range_are_refused(block_size, num_experts):
    with pytest.raises(ValueError, match="must be 1 to"):
        moe_align_reference(np.zeros(3, np.int32), block_size, num_experts)


IDS = np.array([2, 0, 2, 2, 1, 2, 2], np.int32)


def damaged(**changes):
    """The right result of IDS in blocks of 4, with elements of it changed: name -> {place: value}."""
    result = moe_align_reference(IDS, 4, 3)
    copy = AlignedBlocks(*(array.copy() for array in result))
    for name, elements in changes.items():
        for place, value in elements.items():
            getattr(copy, name)[place] = value
    return copy


def test_verify_accepts_any_order_inside_an_expert():
    verify(damaged(sorted_token_ids={8: 6, 9: 5, 10: 3, 11: 2, 12: 0}), IDS, 4, 3)


@pytest.mark.parametrize(
    "changes",
    [
        {"sorted_token_ids": {8: 2}},  # slot 2 twice, slot 0 missing
        {"sorted_token_ids": {0: 4, 4: 1}},  # slots in each other's expert
        {"sorted_token_ids": {12: 7, 13: 6}},  # padding before a slot
        {"sorted_token_ids": {-1: 0}},  # unused place not the sentinel
        {"expert_ids": {2: 1}},
        {"expert_ids": {3: 1}},
        {"num_tokens_post_pad": {0: 12}},
    ],
)
def test_verify_refuses_wrong_results(changes):
    with pytest.raises(MismatchError, match=next(iter(changes))):
        verify(damaged(**changes), IDS, 4, 3)


def test_verify_refuses_wrong_lengths():
    result = damaged()
    with pytest.raises(MismatchError, match="shape"):
        verify(result._replace(sorted_token_ids=result.sorted_token_ids[:-1]), IDS, 4, 3)


def test_verify_says_what_differs():
    with pytest.raises(MismatchError, match=r"expert_ids\[2\] is 1, expected 2; 1 of 4 differ"):
        verify(damaged(expert_ids={2: 1}), IDS, 4, 3)
