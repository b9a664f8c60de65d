"""Every shipped kernel, as its emitted file, under three schedules: no finding, what NumPy and the interpreter compute."""

from __future__ import annotations

import copy
import functools
import inspect
import os
import pathlib
import time
from collections.abc import Mapping
from typing import Any
from unittest import mock

import numpy as np
import pytest

from kernels.moe_align_block_size import AlignedBlocks, verify
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Sizes, Tuning, run_steps
from tests.kernels.problems import LARGER_PROBLEMS, PROBLEMS, AlignProblem
from tests.kernels.test_moe_algorithms import SMALL
from tle2cuda import interpreter
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate
from tle2cuda.runtime.device import DEVICE_VARIABLE
from tools.shipped import shipped_kernels

SCHEDULES = ("forward", "reverse", "random")
SHIPPED = {kernel.name: kernel for kernel in shipped_kernels()}
ROUTING = pathlib.Path(__file__).parents[2] / "kernels" / "data"
POISON = 0x7B7B7B7B


def align(
    name: str, sizes: Sizes, tuning: Tuning, ids: np.ndarray, headers: str = "toolkit", **options: Any
) -> tuple[AlignedBlocks, float]:
    """Runs an algorithm's kernels one after the other; also returns the time of their execution."""
    recipe = ALGORITHMS[name].recipe(sizes, tuning)
    arrays: dict[str, Any] = {"topk_ids": ids}
    capacities = {"sorted_ids": sizes.sorted_capacity, "expert_ids": sizes.expert_capacity, "num_post_pad": 1}
    arrays |= {role: np.full(count, POISON, np.int32) for role, count in capacities.items()}
    arrays |= {role: np.zeros(words, np.int32) for role, words in recipe.scratch.items()}
    numbers = {
        "numel": ids.size,
        "sorted_capacity": sizes.sorted_capacity,
        "expert_capacity": sizes.expert_capacity,
    }
    elapsed_s = 0.0
    for step in recipe.steps:
        names = [p for p in inspect.signature(step.kernel.fn).parameters if p not in step.constants]
        given: Mapping[str, Any] = {**arrays, **numbers, **step.scalars}
        values = {parameter: given[role] for parameter, role in zip(names, step.arguments, strict=True)}
        result = emulate(
            step.kernel,
            step.grid,
            {**values, **step.constants},
            num_warps=step.num_warps,
            cooperative=step.cooperative,
            headers=headers,
            **options,
        ).check()
        elapsed_s += result.runs[0].elapsed_s
        for parameter, role in zip(names, step.arguments, strict=True):
            if role in arrays:
                arrays[role] = result.outputs[parameter]
    return AlignedBlocks(*(arrays[role] for role in capacities)), elapsed_s


@functools.lru_cache(maxsize=64)
def _interpreted(name: str, sizes: Sizes, tuning: Tuning, ids: bytes) -> AlignedBlocks:
    recipe = ALGORITHMS[name].recipe(sizes, tuning)
    capacities = {"sorted_ids": sizes.sorted_capacity, "expert_ids": sizes.expert_capacity, "num_post_pad": 1}
    arrays: dict[str, Any] = {"topk_ids": np.frombuffer(ids, np.int32).copy()}
    arrays |= {role: np.full(count, POISON, np.int32) for role, count in capacities.items()}
    arrays |= {role: np.zeros(words, np.int32) for role, words in recipe.scratch.items()}
    with mock.patch.dict(os.environ, {DEVICE_VARIABLE: "interpreter"}):
        run_steps(recipe, arrays, sizes)
    return AlignedBlocks(*(arrays[role] for role in capacities))


def align_in_interpreter(name: str, sizes: Sizes, tuning: Tuning, ids: np.ndarray) -> AlignedBlocks:
    """What the same kernels compute in the interpreter."""
    return _interpreted(name, sizes, tuning, ids.astype(np.int32).tobytes())


def slots_by_expert(blocks: np.ndarray, experts: np.ndarray) -> list[tuple[int, list[int]]]:
    """Each expert's slots, sorted."""
    return [(int(expert), np.sort(blocks[experts == expert], axis=None).tolist()) for expert in np.unique(experts)]


def check_alignment(name: str, tuning: Tuning, problem: AlignProblem, headers: str, schedule: str) -> AlignedBlocks:
    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    ids = np.ascontiguousarray(problem.ids).reshape(-1)
    result, _ = align(name, sizes, tuning, ids, headers, schedule=schedule, seed=11, detect="all")
    verify(result, problem.ids, problem.block_size, problem.num_experts, keep_filtered=problem.keep_filtered)
    return result


def check_against_interpreter(name: str, tuning: Tuning, problem: AlignProblem, result: AlignedBlocks) -> None:
    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    ids = np.ascontiguousarray(problem.ids).reshape(-1)
    interpreted = align_in_interpreter(name, sizes, tuning, ids)
    assert (result.expert_ids == interpreted.expert_ids).all()
    assert (result.num_tokens_post_pad == interpreted.num_tokens_post_pad).all()
    # Which slot of an expert comes first is up to the order of atomics in some algorithms; what comes is not.
    total = int(result.num_tokens_post_pad[0])
    experts = result.expert_ids[: total // sizes.block_size]
    got, want = (r.sorted_token_ids[:total].reshape(-1, sizes.block_size) for r in (result, interpreted))
    assert slots_by_expert(got, experts) == slots_by_expert(want, experts)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("headers", ["toolkit", "minimal"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_moe_alignment(name: str, headers: str, schedule: str) -> None:
    for problem in (PROBLEMS[5], PROBLEMS[12]):
        result = check_alignment(name, SMALL[name], problem, headers, schedule)
        check_against_interpreter(name, SMALL[name], problem, result)


@pytest.mark.parametrize("problem", LARGER_PROBLEMS, ids=lambda problem: problem.name)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_moe_alignment_as_the_library_tunes_it(name: str, problem: AlignProblem) -> None:
    sizes = Sizes(problem.ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    check_alignment(name, next(ALGORITHMS[name].tunings(sizes, 16)), problem, "minimal", "random")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_cluster_kernel_on_real_routing_is_quick(schedule: str) -> None:
    ids = np.load(ROUTING / "routing_top1_e512.npy").reshape(-1)[:8192].astype(np.int32)
    sizes = Sizes(ids.size, 16, 512)
    start = time.perf_counter()
    result, elapsed_s = align("cluster", sizes, Tuning(8, 1024, 1), ids, schedule=schedule)
    verify(result, ids, 16, 512)
    assert elapsed_s < 5, f"8 CTAs of 1024 threads took {elapsed_s:.1f} s"
    assert time.perf_counter() - start < 60


def row_inputs(name: str, rows: int, cols: int) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    dtype = np.float16 if name.endswith("fp16") else np.float32
    x = (rng.standard_normal((rows, cols)) * 2).astype(dtype)
    if name.startswith("softmax"):
        return {"out": np.zeros_like(x), "x": x, "row_stride": cols, "cols": cols}
    weight, bias = (rng.standard_normal(cols).astype(dtype) for _ in range(2))
    means = {"mean_out": np.zeros(rows, np.float32), "rstd_out": np.zeros(rows, np.float32)}
    return {
        "x": x,
        "weight": weight,
        "bias": bias,
        "out": np.zeros_like(x),
        **means,
        "row_stride": cols,
        "cols": cols,
        "eps": 1e-5,
    }


def interpret(emitted: EmittedKernel, ctas: int, args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments after a run of the same kernel in the interpreter."""
    values = {spec.name: copy.copy(args[spec.name]) for spec in emitted.contract.args}
    interpreter.run(emitted.kernel_ir, (ctas, 1, 1), list(values.values()))
    return values


def row_reference(name: str, args: Mapping[str, Any]) -> np.ndarray:
    x = args["x"].astype(np.float64)
    if name.startswith("softmax"):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    centred = x - x.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + args["eps"])
    return scaled * args["weight"].astype(np.float64) + args["bias"].astype(np.float64)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith(("softmax", "layer_norm"))])
@pytest.mark.parametrize("cols", [4096, 2000])
def test_rowwise_kernels(name: str, schedule: str, cols: int) -> None:
    args = row_inputs(name, 3, cols)
    emitted = SHIPPED[name].emit("sm_90a")
    outputs = emulate(emitted, 3, args, schedule=schedule, detect="all").check().outputs
    out = outputs["out"]
    tolerance = 2e-3 if name.endswith("fp16") else 1e-5
    assert np.allclose(out.astype(np.float64), row_reference(name, args), rtol=tolerance, atol=tolerance)
    interpreted = interpret(emitted, 3, args)
    for argument, array in outputs.items():
        np.testing.assert_allclose(
            array.astype(np.float64), interpreted[argument].astype(np.float64), rtol=tolerance, atol=tolerance
        )


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("n", [1, 1023, 5000])
def test_vector_add(schedule: str, n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    args = {"x": x, "y": y, "out": np.zeros(n, np.float32), "n": n}
    emitted = SHIPPED["vector_add"].emit("sm_90a")
    out = emulate(emitted, -(-n // 1024), args, schedule=schedule, detect="all").check().outputs["out"]
    assert (out == x + y).all()
    assert (out == interpret(emitted, -(-n // 1024), args)["out"]).all()


def test_every_shipped_kernel_is_run_here() -> None:
    moe = {name for name in SHIPPED if name.startswith("moe_align_")}
    rows = {name for name in SHIPPED if name.startswith(("softmax", "layer_norm"))}
    assert set(SHIPPED) == moe | rows | {"vector_add"}
    algorithms = {name for name in ALGORITHMS if any(kernel.startswith(f"moe_align_{name}") for kernel in moe)}
    assert algorithms == set(ALGORITHMS)
