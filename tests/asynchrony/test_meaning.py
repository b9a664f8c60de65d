"""Pipes, barriers, partitions and copies against NumPy, in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.asynchrony import kernels
from tests.asynchrony.runs import check, run
from tle2cuda.passes import pipeline

B = 64
COUNTS = (0, 1, 3, 13)


def rows(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-8, 8, (max(count, 1), B)).astype(np.float32)


def head(x: np.ndarray, count: int) -> np.ndarray:
    """The first rows, the others 0: what a kernel leaves in an array that was 0."""
    out = np.zeros_like(x)
    out[:count] = x[:count]
    return out


# -- pipes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", range(1, 9))
def test_one_writer_one_reader(capacity: int, count: int) -> None:
    x = rows(count)
    check(kernels.two_tasks, [x, np.zeros_like(x), count], {1: head(x + 1, count)}, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 3, 4])
def test_writer_and_reader_in_one_task(capacity: int, count: int) -> None:
    x = rows(count)
    check(kernels.one_task, [x, np.zeros_like(x), count], {1: head(x + 1, count)}, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_two_readers_with_a_field_each(capacity: int, count: int) -> None:
    x = rows(count)
    total = x[:count].sum(axis=0)
    out = np.zeros(B, np.float32)
    check(kernels.two_readers, [x, out, out.copy(), count], {1: total, 2: 2 * total}, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_two_pipes_over_one_buffer(capacity: int, count: int) -> None:
    x = rows(count)
    check(kernels.two_pipes_over_one_buffer, [x, np.zeros_like(x), count], {1: head(x * x, count)}, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_close_ends_the_reader(capacity: int, count: int) -> None:
    x, found = rows(count), np.full(1, -1, np.int32)
    want = {1: head(x + 1, count), 2: np.array([count])}
    check(kernels.closing, [x, np.zeros_like(x), found, count], want, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
def test_one_shot_is_waited_for_again_and_again(count: int) -> None:
    x = rows(1)[0]
    want = np.arange(max(count, 1), dtype=np.float32)[:, None] * x
    check(kernels.one_shot, [x, np.zeros_like(want), count], {1: head(want, count)}, B=B)


def test_a_pipe_may_start_at_stage_1() -> None:
    x = rows(1)[0]
    check(kernels.only_stage_1, [x, np.zeros_like(x)], {1: x}, B=B)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 3, 8])
def test_cursors(capacity: int, count: int) -> None:
    x, stages = rows(count), np.full(max(count, 1), -1, np.int32)
    want = {1: head(x + 1, count), 2: np.where(np.arange(len(stages)) < count, np.arange(len(stages)) % capacity, -1)}
    check(kernels.cursors, [x, np.zeros_like(x), stages, count], want, B=B, C=capacity)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 3, 4])
def test_ends_travel_in_tuples_through_calls_branches_and_loops(capacity: int, count: int) -> None:
    x = rows(count)
    check(kernels.ends_travel, [x, np.zeros_like(x), count], {1: head(x + 1, count)}, B=B, C=capacity)


@pytest.mark.parametrize("count", [0, 2, 8, 14])
def test_several_stages_may_be_acquired_before_they_are_committed(count: int) -> None:
    x = rows(count)
    check(kernels.several_stages_at_once, [x, np.zeros_like(x), count], {1: head(x + 1, count)}, B=B)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_stages_filled_by_any_mix(capacity: int, count: int) -> None:
    x, src = rows(count), rows(count, 1)
    want = x + 2 * src + np.arange(len(x), dtype=np.float32)[:, None]
    args = [x, src, np.zeros_like(x), count, x.size]
    check(kernels.mixed_transports, args, {2: head(want, count)}, B=B, C=capacity)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("name", ["behind_an_early_return", "cursors_of_branches", "slots_of_the_last_iteration"])
def test_ends_cursors_and_slots_cross_control_flow(name: str, count: int) -> None:
    x = rows(count)
    check(getattr(kernels, name), [x, np.zeros_like(x), count], {1: head(x + 1, count)}, B=B)


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_fields_may_be_views(capacity: int, count: int) -> None:
    x = rows(count)
    check(kernels.fields_that_are_views, [x, np.zeros_like(x), count], {1: head(2 * x + 1, count)}, B=B, C=capacity)


@pytest.mark.parametrize("kernel", [kernels.specialised_behind_a_return, kernels.specialised_in_a_loop])
def test_partitions_in_loops_and_branches(kernel: Any) -> None:
    x = rows(2)
    check(kernel, [x, np.zeros_like(x), 2], {1: x + 1}, B=B)


# -- barriers --------------------------------------------------------------------------------------


def test_a_named_barrier_may_concern_some_partitions_only() -> None:
    check(kernels.named_barrier_of_workers, [np.zeros(B, np.int32)], {0: np.arange(B) * 3 + 1}, B=B)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_ring_of_tensor_copies(stages: int, count: int) -> None:
    x = np.random.default_rng(1).random((50, 200)).astype(np.float16)
    want = np.zeros_like(x)
    want[:, : 64 * count] = x[:, : 64 * count]
    check(kernels.tensor_ring, [x, np.zeros_like(x), 50, 200, count], {1: want}, BM=64, BK=64, S=stages)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_named_barriers_hand_over(count: int) -> None:
    value = 0
    for _ in range(count):
        value = (value * 2 + 1) * 2 + 3
    check(kernels.turns, [np.zeros(B, np.int32), count], {0: np.full(B, value)}, B=B)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_arrivals_are_counted(count: int) -> None:
    check(kernels.counted_arrivals, [np.zeros(1, np.int32), count], {0: np.array([111 * count])})


# -- partitions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 5])
def test_values_go_in_and_come_out(number: int) -> None:
    x, other = rows(1)[0], np.zeros(B, np.float32)
    want = {1: (x + 1) * number * 3 + number + 1, 2: np.array([x.sum() * np.float32(0.5) + B]), 3: x * 2}
    check(kernels.values_in_and_out, [x, other, np.zeros(1, np.float32), other.copy(), number], want, B=B)


@pytest.mark.parametrize("number", [1, 6])
def test_buffers_and_pipes_come_out(number: int) -> None:
    x = rows(1)[0]
    check(kernels.buffers_come_out, [x, np.zeros_like(x), number], {1: 13 * x + x[1]}, B=B)


def test_one_function_in_several_partitions() -> None:
    parts = np.arange(5 * B).reshape(5, B)
    want = np.cumsum(parts, axis=1) + parts.max(axis=1, keepdims=True)
    for got in run(kernels.same_function_thrice, [np.zeros((5, B), np.int32)], B=B):
        np.testing.assert_array_equal(got[0], want)


def test_what_workers_wrote_is_visible_behind() -> None:
    check(kernels.results_of_workers_are_visible, [np.zeros(1, np.int32), np.zeros(1, np.int32)], {1: np.array([7])})


# -- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2, 6])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_a_ring_of_cp_async(stages: int, count: int) -> None:
    x = rows(count)
    limit = max(0, count * B - 10)
    want = np.where(np.arange(x.size) < limit, x.reshape(-1), 0).reshape(x.shape)
    check(kernels.async_ring, [x, np.zeros_like(x), count, limit], {1: head(want, count)}, B=B, S=stages)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.int32])
def test_boxes_are_filled_and_clipped(dtype: type) -> None:
    x = np.random.default_rng(2).integers(-100, 100, (48, 80)).astype(dtype)
    from tle2cuda.runtime.descriptor import TensorDescriptor

    descriptor = TensorDescriptor.from_tensor(x, [32, 32])
    check(kernels.tensor_transpose, [descriptor, np.zeros((80, 48), dtype)], {1: x.T}, grid=(2, 3), BM=32, BN=32)


def test_rank_3_boxes_with_negative_offsets_and_nan() -> None:
    x = np.random.default_rng(3).random((3, 13, 40)).astype(np.float32)
    y = np.zeros_like(x)
    box = np.full((16, 32), np.nan, np.float32)
    box[3:, :] = x[1, :13, 8:40]
    box = np.where(box == box, box + 1, -1.0).astype(np.float32)
    y[1, 0:13, 8:40] = box[2:15]
    check(kernels.batched_box, [x, np.zeros_like(x), 3, 13, 40, 1], {1: y}, BM=16, BN=32)


def test_whole_buffers() -> None:
    x = np.random.default_rng(4).random((16, 32)).astype(np.float32)
    check(kernels.padded_buffer, [x, np.zeros_like(x), 16, 32], {1: x})


# -- passes ----------------------------------------------------------------------------------------


def test_meanings_stay_after_every_pass() -> None:
    names = tuple(each.name for each in pipeline.PASSES)
    x, count = rows(5), 5
    args = [x, rows(5, 1), np.zeros_like(x), count, x.size]
    want = x + 2 * args[1] + np.arange(5, dtype=np.float32)[:, None]
    check(kernels.mixed_transports, args, {2: want}, after=names, B=B, C=2)
    check(kernels.closing, [x, np.zeros_like(x), np.zeros(1, np.int32), count], {1: x + 1}, after=names, B=B, C=3)
    other = np.zeros(B, np.float32)
    args = [x[0], other, np.zeros(1, np.float32), other.copy(), 4]
    check(kernels.values_in_and_out, args, {1: (x[0] + 1) * 12 + 5, 3: x[0] * 2}, after=names, B=B)
    check(kernels.turns, [np.zeros(B, np.int32), 2], {0: np.full(B, 25)}, after=names, B=B)
