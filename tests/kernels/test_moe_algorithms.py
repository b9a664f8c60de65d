"""Every MoE alignment algorithm against the definition: in the interpreter, and on a GPU if there is one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.moe_align_block_size import AlignedBlocks, moe_align_block_size, verify
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Sizes, Tuning, run_steps
from kernels.moe_align_block_size.dispatch import choose
from tests.kernels.problems import LARGER_PROBLEMS, PROBLEMS, WIDE_PROBLEMS

# Few threads and CTAs keep the interpreter quick and make small inputs span several tiles of several CTAs.
SMALL = {
    "single_cta": Tuning(1, 128, 8),
    "replicated": Tuning(4, 128, 8),
    "cluster": Tuning(8, 64, 2),
    "cooperative": Tuning(8, 64, 2),
    "cluster_fused": Tuning(8, 32, 1),
    "atomic_fused": Tuning(4, 64, 1),
    "wide": Tuning(4, 64, 1),
    "four_kernel": Tuning(8, 128, 1),
    "three_kernel": Tuning(8, 128, 1),
}
HAS_PREFILL = ("cluster",)

NAMES = tuple(ALGORITHMS)


def run(name, tuning, problem, arrays_of=lambda array: array, runs=2):
    """Runs an algorithm several times on one scratch, into poisoned outputs, and verifies each result."""
    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    recipe = ALGORITHMS[name].recipe(sizes, tuning)
    scratch = {role: arrays_of(np.zeros(words, np.int32)) for role, words in recipe.scratch.items()}
    ids = arrays_of(np.ascontiguousarray(problem.ids).reshape(-1))
    for _ in range(runs):
        outputs = [arrays_of(np.full(n, 0x7B7B7B7B, np.int32)) for n in (sizes.sorted_capacity, sizes.expert_capacity, 1)]
        names = ("sorted_ids", "expert_ids", "num_post_pad")
        run_steps(recipe, {"topk_ids": ids, **dict(zip(names, outputs, strict=True)), **scratch}, sizes)
        result = AlignedBlocks(*(np.asarray(out.get() if hasattr(out, "get") else out) for out in outputs))
        verify(
            result,
            problem.ids,
            problem.block_size,
            problem.num_experts,
            keep_filtered=problem.keep_filtered,
        )


@pytest.mark.parametrize("name", NAMES)
def test_scratch_serves_launches_of_other_numbers_of_groups(name):
    """The dispatcher keeps scratch by its size: launches with and without the filtered slots' group share it."""
    ids = np.random.default_rng(3).integers(-1, 40, 300).astype(np.int32)
    kept: dict[tuple[str, int], np.ndarray] = {}
    for keep_filtered in (False, True, False, True, True, False):
        sizes = Sizes(ids.size, 4, 40, keep_filtered)
        recipe = ALGORITHMS[name].recipe(sizes, SMALL[name])
        scratch = {role: kept.setdefault((role, n), np.zeros(n, np.int32)) for role, n in recipe.scratch.items()}
        outputs = [np.full(n, 0x7B7B7B7B, np.int32) for n in (sizes.sorted_capacity, sizes.expert_capacity, 1)]
        names = ("sorted_ids", "expert_ids", "num_post_pad")
        run_steps(recipe, {"topk_ids": ids, **dict(zip(names, outputs, strict=True)), **scratch}, sizes)
        verify(AlignedBlocks(*outputs), ids, 4, 40, keep_filtered=keep_filtered)


def test_every_algorithm_is_tested():
    assert set(SMALL) == set(ALGORITHMS)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", NAMES)
def test_small_problems_in_the_interpreter(name, problem):
    run(name, SMALL[name], problem)


@pytest.mark.parametrize("problem", PROBLEMS[4:8], ids=lambda p: p.name)
@pytest.mark.parametrize("name", HAS_PREFILL)
def test_prefill_in_the_interpreter(name, problem):
    run(name, dataclasses.replace(SMALL[name], prefill=True), problem)


@pytest.mark.parametrize("problem", LARGER_PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("name", NAMES)
def test_tunings_of_the_library_in_the_interpreter(name, problem):
    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    tuning = next(ALGORITHMS[name].tunings(sizes, 16))
    run(name, tuning, problem, runs=1)


@pytest.mark.parametrize("problem", WIDE_PROBLEMS, ids=lambda p: p.name)
def test_thousands_of_experts_in_the_interpreter(problem):
    run("wide", Tuning(2, 1024, 1), problem)


@settings(max_examples=15, deadline=None)
@given(
    ids=st.lists(st.integers(-1, 8), min_size=1, max_size=120),
    block_size=st.sampled_from([1, 3, 4, 16]),
    keep_filtered=st.booleans(),
)
def test_dispatcher_on_any_input(ids, block_size, keep_filtered):
    ids = np.array(ids, np.int32)
    result = moe_align_block_size(ids, block_size, 8, keep_filtered=keep_filtered)
    verify(result, ids, block_size, 8, keep_filtered=keep_filtered)


def test_dispatcher_takes_two_dimensional_ids():
    ids = np.arange(60).reshape(30, 2) % 7
    verify(moe_align_block_size(ids, 4, 7), ids, 4, 7)


def test_dispatcher_takes_empty_input():
    result = moe_align_block_size(np.empty((0, 8), np.int32), 16, 64)
    assert [array.size for array in result] == [0, 0, 1]
    assert int(result.num_tokens_post_pad[0]) == 0


def test_dispatcher_writes_to_given_outputs():
    ids = np.arange(20, dtype=np.int32) % 5
    sizes = Sizes(20, 4, 5)
    out = tuple(np.empty(n, np.int32) for n in (sizes.sorted_capacity, sizes.expert_capacity, 1))
    result = moe_align_block_size(ids, 4, 5, out=out)
    assert all(given is returned for given, returned in zip(out, result, strict=True))
    verify(result, ids, 4, 5)


def test_dispatcher_refuses_outputs_of_another_length():
    with pytest.raises(ValueError, match=r"out: sorted_token_ids must be int32 \[35\]"):
        moe_align_block_size(np.zeros(20, np.int32), 4, 5, out=tuple(np.empty(n, np.int32) for n in (9, 9, 1)))


@pytest.mark.parametrize("ids", [np.zeros(4, np.float32), np.zeros(4, np.uint8)], ids=["float32", "uint8"])
def test_dispatcher_refuses_ids_of_another_dtype(ids):
    with pytest.raises(TypeError, match="expert ids must be int16, int32 or int64"):
        moe_align_block_size(ids, 4, 5)


def test_dispatcher_refuses_lists():
    with pytest.raises(TypeError, match="expected a NumPy, CuPy or torch array, got list"):
        moe_align_block_size([1, 2], 4, 5)


@pytest.mark.parametrize("num_slots", [1, 256, 1024, 4096, 4097, 8192, 16384, 163840, 5_000_000])
@pytest.mark.parametrize("num_experts", [1, 256, 512, 1024, 1025, 8192])
@pytest.mark.parametrize("clusters", [False, True])
def test_something_is_chosen_for_every_size(num_slots, num_experts, clusters):
    sizes = Sizes(num_slots, 16, num_experts, keep_filtered=True)
    algorithm, tuning = choose(sizes, 132, clusters=clusters)
    assert tuning.ctas <= 132
    assert clusters or not algorithm.name.startswith("cluster")
    if algorithm.name in ("single_cta", "replicated"):
        assert tuning.slot_tile >= num_slots
    elif algorithm.name in ("cluster", "cooperative"):
        assert tuning.slot_tile * tuning.ctas >= num_slots


def test_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match="no algorithm 'fastest'; there are four_kernel"):
        moe_align_block_size(np.zeros(4, np.int32), 4, 5, algorithm="fastest")


def test_algorithm_that_cannot_is_refused():
    with pytest.raises(ValueError, match="single_cta cannot align 20000 slots of 64 experts"):
        choose(Sizes(20000, 16, 64), 132, algorithm="single_cta")


@pytest.mark.gpu
@pytest.mark.parametrize(
    "problem",
    PROBLEMS + LARGER_PROBLEMS,
    ids=lambda p: p.name,
)
@pytest.mark.parametrize("name", NAMES)
def test_every_tuning_on_the_gpu(name, problem):
    import cupy

    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    for tuning in ALGORITHMS[name].tunings(sizes, multiprocessors):
        run(name, tuning, problem, cupy.asarray, runs=3)


@pytest.mark.gpu
@pytest.mark.parametrize("problem", WIDE_PROBLEMS, ids=lambda p: p.name)
def test_thousands_of_experts_on_the_gpu(problem):
    import cupy

    run("wide", Tuning(16, 1024, 1), problem, cupy.asarray, runs=3)


@pytest.mark.gpu
@pytest.mark.parametrize("num_slots", [1, 1000, 5000, 20000, 300_000, 3_000_000])
def test_dispatcher_on_the_gpu(num_slots):
    import cupy

    ids = np.random.default_rng(num_slots).integers(-1, 512, num_slots)
    for keep_filtered in (False, True):
        result = moe_align_block_size(cupy.asarray(ids), 16, 512, keep_filtered=keep_filtered)
        host = AlignedBlocks(*(array.get() for array in result))
        verify(host, ids, 16, 512, keep_filtered=keep_filtered)
