"""The kernels of the language's tests, the running examples of its specification among them, as emitted files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.asynchrony import test_meaning as meaning
from tle2cuda.emulator import emulate

RUNS = (("forward", range(1)), ("reverse", range(1)), ("random", range(1, 4)))


def emulated(kernel: Any, args: Sequence[Any], grid: Any = 1, num_warps: int = 4, **constants: Any) -> list[list[Any]]:
    """The arguments after each run, all of which must be without findings."""
    names = [p.name for p in kernel.parameters if p.name not in constants]
    given = dict(zip(names, args, strict=True))
    results = []
    for schedule, seeds in RUNS:
        options: dict[str, Any] = {"num_warps": num_warps, "schedule": schedule, "seeds": seeds, "detect": "all"}
        for run in emulate(kernel, grid, {**given, **constants}, **options).check().runs:
            assert not run.findings, f"{schedule} {run.seed}: {run.findings[0]}"
            results.append([run.outputs.get(f"{name}_base", run.outputs.get(name, value)) for name, value in given.items()])
    return results


def compared(kernel: Any, args: Sequence[Any], want: dict[int, np.ndarray], **options: Any) -> None:
    for got in emulated(kernel, args, **options):
        for position, expected in want.items():
            np.testing.assert_array_equal(got[position], expected)


CASES: list[tuple[Callable[..., None], dict[str, Any]]] = [
    (meaning.test_one_writer_one_reader, {"capacity": 1, "count": 3}),
    (meaning.test_one_writer_one_reader, {"capacity": 3, "count": 8}),
    (meaning.test_one_writer_one_reader, {"capacity": 8, "count": 0}),
    (meaning.test_writer_and_reader_in_one_task, {"capacity": 2, "count": 8}),
    (meaning.test_two_readers_with_a_field_each, {"capacity": 2, "count": 8}),
    (meaning.test_two_pipes_over_one_buffer, {"capacity": 2, "count": 8}),
    (meaning.test_close_ends_the_reader, {"capacity": 2, "count": 3}),
    (meaning.test_one_shot_is_waited_for_again_and_again, {"count": 3}),
    (meaning.test_a_pipe_may_start_at_stage_1, {}),
    (meaning.test_cursors, {"capacity": 3, "count": 8}),
    (meaning.test_ends_travel_in_tuples_through_calls_branches_and_loops, {"capacity": 3, "count": 8}),
    (meaning.test_several_stages_may_be_acquired_before_they_are_committed, {"count": 8}),
    (meaning.test_stages_filled_by_any_mix, {"capacity": 2, "count": 8}),
    (meaning.test_a_ring_of_cp_async, {"stages": 2, "count": 6}),
    (meaning.test_boxes_are_filled_and_clipped, {"dtype": np.float16}),
    (meaning.test_rank_3_boxes_with_negative_offsets_and_nan, {}),
    (meaning.test_whole_buffers, {}),
]


@pytest.mark.parametrize(("function", "arguments"), CASES, ids=lambda part: getattr(part, "__name__", None))
def test_in_the_emulator(monkeypatch: pytest.MonkeyPatch, function: Callable[..., None], arguments: dict[str, Any]) -> None:
    monkeypatch.setattr(meaning, "run", emulated)
    monkeypatch.setattr(meaning, "check", compared)
    function(**arguments)
