"""Pipes, barriers, asynchronous copies, partitions: the kernels of tests/asynchrony in a few sizes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.asynchrony import kernels
from tests.opcases.case import Array, Inputs, OpCase, add_case, poison

B = 64


def _rows(rng: np.random.Generator, count: int) -> Array:
    """Whole numbers, so that sums are exact in any order."""
    return rng.integers(-8, 8, (max(count, 1), B)).astype(np.float32)


def _head(values: Array, count: int) -> Array:
    """The first rows, the others as `poison` left them."""
    out = poison(values.shape, values.dtype)
    out[:count] = values[:count]
    return out


def _add(
    kernel: Any,
    suffix: str,
    make_inputs: Callable[[np.random.Generator], Inputs],
    reference: Callable[[Inputs], Mapping[str, Array]],
    grid: tuple[int, ...] = (1,),
    num_warps: int = 4,
    **constants: Any,
) -> None:
    name = f"asynchrony_{kernel.fn.__name__}_{suffix}"
    add_case(OpCase(name, "asynchrony", kernel, grid, make_inputs, reference, constants, num_warps))


def _row_case(kernel: Any, count: int, change: Callable[[Array], Array], num_warps: int = 4, **constants: Any) -> None:
    """A kernel that reads `src`, writes changed rows to `dst`, and takes their number."""

    def make(rng: np.random.Generator) -> Inputs:
        x = _rows(rng, count)
        return {"src": x, "dst": poison(x.shape, x.dtype), "n": count}

    suffix = "_".join(str(value) for value in (count, *constants.values(), num_warps))
    _add(
        kernel,
        suffix,
        make,
        lambda given: {"dst": _head(change(given["src"]), count)},
        num_warps=num_warps,
        B=B,
        **constants,
    )


def _plus_one(x: Array) -> Array:
    return x + 1


for _count, _capacity in ((0, 2), (7, 1), (7, 3)):
    _row_case(kernels.two_tasks, _count, _plus_one, C=_capacity)
for _count, _capacity, _warps in ((7, 1, 1), (7, 3, 4)):
    _row_case(kernels.one_task, _count, _plus_one, C=_capacity, num_warps=_warps)
    _row_case(kernels.ends_travel, _count, _plus_one, C=_capacity, num_warps=_warps)
    _row_case(kernels.two_pipes_over_one_buffer, _count, np.square, C=_capacity)
_row_case(kernels.fields_that_are_views, 7, lambda x: 2 * x + 1, C=2)
_row_case(kernels.behind_an_early_return, 7, _plus_one)
_row_case(kernels.cursors_of_branches, 7, _plus_one)
_row_case(kernels.slots_of_the_last_iteration, 7, _plus_one)
_row_case(kernels.several_stages_at_once, 8, _plus_one)


def _two_readers(count: int, capacity: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        out = poison(B, np.float32)
        return {"src": _rows(rng, count), "left": out, "right": out.copy(), "n": count}

    def reference(given: Inputs) -> Mapping[str, Array]:
        total = given["src"][:count].sum(axis=0)
        return {"left": total, "right": 2 * total}

    _add(kernels.two_readers, f"{count}_{capacity}", make, reference, B=B, C=capacity)


def _closing(count: int, capacity: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = _rows(rng, count)
        return {"src": x, "dst": poison(x.shape, x.dtype), "count": poison(1, np.int32), "n": count}

    def reference(given: Inputs) -> Mapping[str, Array]:
        return {"dst": _head(given["src"] + 1, count), "count": np.array([count], np.int32)}

    _add(kernels.closing, f"{count}_{capacity}", make, reference, B=B, C=capacity)


def _cursors(count: int, capacity: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = _rows(rng, count)
        return {"src": x, "dst": poison(x.shape, x.dtype), "stages": poison(len(x), np.int32), "n": count}

    def reference(given: Inputs) -> Mapping[str, Array]:
        stages = given["stages"].copy()
        stages[:count] = np.arange(count) % capacity
        return {"dst": _head(given["src"] + 1, count), "stages": stages}

    _add(kernels.cursors, f"{count}_{capacity}", make, reference, B=B, C=capacity)


for _count, _capacity in ((1, 2), (8, 3)):
    _two_readers(_count, _capacity)
    _closing(_count, _capacity)
    _cursors(_count, _capacity)


def _one_shot(count: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        return {"src": _rows(rng, 1)[0], "dst": poison((max(count, 1), B), np.float32), "n": count}

    def reference(given: Inputs) -> Mapping[str, Array]:
        rows = np.arange(max(count, 1), dtype=np.float32)[:, None] * given["src"]
        return {"dst": _head(rows, count)}

    _add(kernels.one_shot, str(count), make, reference, B=B)


_one_shot(5)
_add(
    kernels.only_stage_1,
    "1",
    lambda rng: {"src": _rows(rng, 1)[0], "dst": poison(B, np.float32)},
    lambda given: {"dst": given["src"]},
    B=B,
)


def _mixed(count: int, capacity: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = _rows(rng, count)
        src = _rows(rng, count)
        return {"x": x, "src": src, "dst": poison(x.shape, x.dtype), "n": count, "N": x.size}

    def reference(given: Inputs) -> Mapping[str, Array]:
        numbers = np.arange(len(given["x"]), dtype=np.float32)[:, None]
        return {"dst": _head(given["x"] + 2 * given["src"] + numbers, count)}

    _add(kernels.mixed_transports, f"{count}_{capacity}", make, reference, B=B, C=capacity)


def _tensor_ring(count: int, stages: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = rng.random((50, 200)).astype(np.float16)
        return {"x": x, "y": poison(x.shape, x.dtype), "M": 50, "N": 200, "n": count}

    def reference(given: Inputs) -> Mapping[str, Array]:
        y = given["y"].copy()
        y[:, : 64 * count] = given["x"][:, : 64 * count]
        return {"y": y}

    _add(kernels.tensor_ring, f"{count}_{stages}", make, reference, BM=64, BK=64, S=stages)


def _async_ring(count: int, stages: int) -> None:
    limit = max(0, count * B - 10)

    def make(rng: np.random.Generator) -> Inputs:
        x = _rows(rng, count)
        return {"src": x, "dst": poison(x.shape, x.dtype), "n": count, "limit": limit}

    def reference(given: Inputs) -> Mapping[str, Array]:
        x = given["src"]
        inside = np.arange(x.size).reshape(x.shape) < limit
        return {"dst": _head(np.where(inside, x, 0).astype(np.float32), count)}

    _add(kernels.async_ring, f"{count}_{stages}", make, reference, B=B, S=stages)


for _count, _stages in ((5, 1), (6, 4)):
    _async_ring(_count, _stages)
    _mixed(_count, _stages)
    _tensor_ring(min(_count, 4), _stages)


_add(
    kernels.named_barrier_of_workers,
    "1",
    lambda rng: {"out": poison(B, np.int32)},
    lambda given: {"out": np.arange(B, dtype=np.int32) * 3 + 1},
    B=B,
)


def _turns(count: int) -> None:
    value = 0
    for _ in range(count):
        value = (value * 2 + 1) * 2 + 3
    _add(
        kernels.turns,
        str(count),
        lambda rng: {"out": poison(B, np.int32), "n": count},
        lambda given: {"out": np.full(B, value, np.int32)},
        B=B,
    )


_turns(4)
_add(
    kernels.counted_arrivals,
    "7",
    lambda rng: {"out": poison(1, np.int32), "n": 7},
    lambda given: {"out": np.array([777], np.int32)},
)


def _values_in_and_out(number: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        row = poison(B, np.float32)
        return {"src": _rows(rng, 1)[0], "dst": row, "out": poison(1, np.float32), "twice": row.copy(), "n": number}

    def reference(given: Inputs) -> Mapping[str, Array]:
        x = given["src"]
        return {
            "dst": (x + 1) * number * 3 + number + 1,
            "out": np.array([x.sum() * np.float32(0.5) + B], np.float32),
            "twice": x * 2,
        }

    _add(kernels.values_in_and_out, str(number), make, reference, B=B)


_values_in_and_out(5)
_row_case(kernels.buffers_come_out, 1, lambda x: 13 * x + x[:, 1:2])


def _parts(given: Inputs) -> Mapping[str, Array]:
    parts = np.arange(5 * B, dtype=np.int32).reshape(5, B)
    return {"dst": (np.cumsum(parts, axis=1) + parts.max(axis=1, keepdims=True)).astype(np.int32)}


_add(kernels.same_function_thrice, "5", lambda rng: {"dst": poison((5, B), np.int32)}, _parts, B=B)
_add(
    kernels.results_of_workers_are_visible,
    "1",
    lambda rng: {"mark": np.zeros(1, np.int32), "out": poison(1, np.int32)},
    lambda given: {"out": np.array([7], np.int32)},
)


def _batched_box(given: Inputs) -> Mapping[str, Array]:
    box = np.full((16, 32), np.nan, np.float32)
    box[3:, :] = given["x"][1, :13, 8:40]
    box = np.where(box == box, box + 1, -1.0).astype(np.float32)
    y = given["y"].copy()
    y[1, 0:13, 8:40] = box[2:15]
    return {"y": y}


def _batched_inputs(rng: np.random.Generator) -> Inputs:
    x = rng.random((3, 13, 40)).astype(np.float32)
    return {"x": x, "y": poison(x.shape, x.dtype), "L": 3, "M": 13, "N": 40, "layer": 1}


_add(kernels.batched_box, "1", _batched_inputs, _batched_box, BM=16, BN=32)
_add(
    kernels.padded_buffer,
    "1",
    lambda rng: {"x": rng.random((16, 32)).astype(np.float32), "y": poison((16, 32), np.float32), "M": 16, "N": 32},
    lambda given: {"y": given["x"]},
)
