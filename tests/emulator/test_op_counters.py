"""Counters by operation: which operation of the IR each line of an emitted file is written for, and what it executes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.emulator.handwritten import handwritten
from tests.emulator.subjects import subject
from tests.emulator.test_shipped import SHIPPED, row_inputs
from tests.opcases import OpCase, spread
from tle2cuda.emulator import Counters, emulate
from tle2cuda.emulator.counter_report import render_counters
from tle2cuda.emulator.counters import Tally
from tle2cuda.ir.nodes import walk

MOE = ("cluster", "cluster_fused", "cooperative", "wide", "atomic_fused", "single_cta", "replicated")
MOE_KERNELS = [f"moe_{name}" for name in MOE] + [f"moe_three_kernel/{n}" for n in (1, 2, 3)]


def counters_of(name: str) -> Counters:
    launch = subject(name)
    return emulate(launch.emitted, launch.ctas, launch.args, detect="counters").check().counters


def counters_of_case(case: OpCase) -> Counters:
    emitted = case.emit()
    inputs = case.inputs()
    args = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    return emulate(emitted, emitted.contract.launch_grid(case.grid), args, detect="counters").check().counters


def test_softmax() -> None:
    result = emulate(SHIPPED["softmax_fp32"].emit("sm_90a"), 1, row_inputs("softmax_fp32", 1, 4096), detect="counters")
    ops = result.check().counters.ops
    assert list(ops) == ["load", "reduce", "store"]
    # 4096 floats in vectors of four.
    assert ops["load"] == Tally(global_loads=result.counters.global_loads) and ops["load"].instructions == 32
    assert ops["store"] == Tally(global_stores=result.counters.global_stores) and ops["store"].instructions == 32
    # Maximum and sum: five shuffles in each of 8 warps, a slot for each warp, which every warp then reads.
    reduce = ops["reduce"]
    assert (reduce.shuffles, reduce.shared_stores.requests, reduce.shared_loads.requests) == (80, 16, 128)
    assert (reduce.cta_barriers, reduce.instructions) == (2, 226)


@pytest.mark.parametrize(
    ("name", "op", "instructions"),
    [
        ("op_scan_sum_i32_1000", "scan", 35),
        ("op_permute_210_i32_4x8x32", "convert_layout", 33),
        ("op_histogram_i32_1000_64_masked", "histogram", 30),
        ("op_cluster_ring_1", "cluster_barrier", 2),
        ("op_shared_prefix_1024", "barrier", 21),
    ],
)
def test_operations_with_helpers_and_loops(name: str, op: str, instructions: int) -> None:
    """A whole operation counts together, its helpers included, also inside of a loop."""
    assert counters_of(name).op(op).instructions == instructions


@pytest.mark.parametrize("name", MOE_KERNELS)
def test_everything_in_a_shipped_kernel_has_its_operation(name: str) -> None:
    result = counters_of(name)
    assert all(place.op for place in result.places)
    assert sum(tally.instructions for tally in result.ops.values()) == result.instructions > 0
    assert set(result.ops) <= {op.name for op in walk(subject(name).emitted.kernel_ir.body)}  # type: ignore[union-attr]


@pytest.mark.parametrize("case", spread(4), ids=lambda case: case.name)
def test_everything_in_a_small_kernel_has_its_operation(case: OpCase) -> None:
    result = counters_of_case(case)
    without = [place.location for place in result.places if not place.op]
    assert not without
    assert sum(tally.instructions for tally in result.ops.values()) == result.instructions


def test_every_statement_of_a_body_has_its_operation() -> None:
    for kernel in SHIPPED.values():
        emitted = kernel.emit("sm_90a")
        lines = emitted.source.split("\n")
        start = lines.index("{", next(n for n, text in enumerate(lines) if "__global__" in text)) + 1
        named = dict(emitted.op_map)
        assert list(named) == sorted(named)
        known = {op.name for op in walk(emitted.kernel_ir.body)} | {"fused"}  # type: ignore[union-attr]
        assert set(named.values()) <= known
        for number in range(start + 1, len(lines) + 1):
            text = lines[number - 1]
            is_statement = re.search(r"(load|store|atomic|sync|shared\.)\w*[.(\[]", text.partition("//")[0])
            assert number in named or not is_statement, f"{kernel.name}:{number}: {text}"


@tle2cuda.jit
def running_total(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + i, mask=start + i < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total))


def arguments() -> dict[str, Any]:
    return {"x": np.ones(1000, np.float32), "out": np.zeros(1, np.float32), "n": 1000, "BLOCK": 256}


def test_operations_inside_a_loop_count_for_themselves() -> None:
    result = emulate(running_total, 1, arguments(), detect="counters").check().counters
    assert result.op("for") == Tally()
    assert result.op("load").global_loads == result.global_loads
    assert result.op("store").instructions == 1


def test_compiled_kernel_counts_alike() -> None:
    pytest.importorskip("cupy")
    compiled = tle2cuda.compile(SHIPPED["softmax_fp32"].load(), **SHIPPED["softmax_fp32"]._options("sm_90a"))
    args = row_inputs("softmax_fp32", 1, 4096)
    first, second = (
        emulate(kernel, 1, args, detect="counters").check().counters.ops
        for kernel in (compiled, SHIPPED["softmax_fp32"].emit("sm_90a"))
    )
    assert first == second


def test_file_written_by_hand_has_no_operations() -> None:
    args = {"x": np.zeros(32, np.float32)}
    kernel = handwritten("    x[threadIdx.x] = 1.0f;", args)
    result = emulate(kernel, 1, args, detect="counters").check().counters
    assert result.ops == {} and result.op("store") == Tally() and result.instructions == 1
    assert "by operation" not in render_counters(result)


def test_report_shows_operations_behind_the_totals() -> None:
    lines = render_counters(counters_of("op_scan_sum_i32_1000")).split("\n")
    place = next(number for number, text in enumerate(lines) if text.startswith("by operation"))
    assert lines[place].split(maxsplit=3)[2:] == ["load", "8 instructions: 8 global loads"]
    assert lines[place + 1].split(maxsplit=1) == [
        "scan",
        "35 instructions: 6 shared loads, 4 shared stores, 1 CTA barrier, 24 shuffles",
    ]
