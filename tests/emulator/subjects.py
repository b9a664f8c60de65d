"""What mutants are made of: emitted kernels with small inputs, and a check of their results."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.moe_align_block_size import AlignedBlocks, verify
from kernels.moe_align_block_size.algorithms import ALGORITHMS, Sizes
from tests.emulator.async_subjects import LAUNCHES
from tests.emulator.test_shipped import POISON, SHIPPED, row_inputs, row_reference
from tests.kernels.problems import PROBLEMS
from tests.kernels.test_moe_algorithms import SMALL
from tests.opcases import cases
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate
from tle2cuda.runtime.contract import Dim3
from tools.shipped import kernels_of

LONG_TAIL = PROBLEMS[5]


@dataclass(frozen=True, slots=True)
class Subject:
    """A launch.

    Attributes:
        name: Unique name.
        emitted: The emitted kernel.
        ctas: The grid in CTAs.
        args: Values of the arguments by name.
        check: What is wrong with outputs; empty when they are right.
    """

    name: str
    emitted: EmittedKernel
    ctas: Dim3
    args: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], str]


@functools.cache
def subject(name: str) -> Subject:
    """A subject by name: `op_NAME` is a case of tests/opcases, `op_NAME@ARCH` the same for another target.

    `moe_ALGORITHM[_STEP]` is a kernel of an MoE algorithm, `async_NAME` a file of fixtures/.
    """
    if name.startswith("async_"):
        return Subject(name, *LAUNCHES[name.removeprefix("async_")]())
    if name.startswith("op_"):
        return _op_case(name.removeprefix("op_"))
    if name.startswith("moe_"):
        algorithm, _, step = name.removeprefix("moe_").partition("/")
        return _moe(name, algorithm, int(step or 1) - 1)
    return _vector_add() if name == "vector_add" else _rowwise(name)


def _op_case(name: str) -> Subject:
    case_name, _, arch = name.partition("@")
    case = cases()[case_name]
    emitted = case.emit(arch) if arch else case.emit()
    inputs = case.inputs()
    args = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    want = case.reference(case.inputs())
    grid = emitted.contract.launch_grid(case.grid)
    return Subject(f"op_{name}", emitted, grid, args, lambda got: "; ".join(case.differences(got, want)))


def _moe(name: str, algorithm: str, number: int) -> Subject:
    """Kernel `number` of an algorithm, behind the ones before it; results are checked behind those that follow."""
    ids = np.ascontiguousarray(LONG_TAIL.ids)
    sizes = Sizes(ids.size, LONG_TAIL.block_size, LONG_TAIL.num_experts)
    recipe = ALGORITHMS[algorithm].recipe(sizes, SMALL[algorithm])
    emitted = [kernel.emit("sm_90a") for kernel in kernels_of(ALGORITHMS[algorithm], sizes, SMALL[algorithm])]
    capacities = {"sorted_ids": sizes.sorted_capacity, "expert_ids": sizes.expert_capacity, "num_post_pad": 1}
    arrays: dict[str, Any] = {"topk_ids": ids}
    arrays |= {role: np.full(count, POISON, np.int32) for role, count in capacities.items()}
    arrays |= {role: np.zeros(words, np.int32) for role, words in recipe.scratch.items()}
    numbers = {"numel": ids.size, "sorted_capacity": sizes.sorted_capacity, "expert_capacity": sizes.expert_capacity}

    def roles(step: Any) -> dict[str, str]:
        names = [p for p in inspect.signature(step.kernel.fn).parameters if p not in step.constants]
        return dict(zip(names, step.arguments, strict=True))

    def values(step: Any, held: Mapping[str, Any]) -> dict[str, Any]:
        given = {**held, **numbers, **step.scalars}
        return {parameter: given[role] for parameter, role in roles(step).items()}

    def after(step: Any, held: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, Any]:
        return {**held, **{role: outputs[parameter] for parameter, role in roles(step).items() if role in held}}

    def run(index: int, held: Mapping[str, Any]) -> dict[str, Any]:
        step = recipe.steps[index]
        grid = emitted[index].contract.launch_grid(step.grid)
        return after(step, held, emulate(emitted[index], grid, values(step, held)).check().outputs)

    for index in range(number):
        arrays = run(index, arrays)
    step = recipe.steps[number]

    def check(outputs: Mapping[str, Any]) -> str:
        try:
            held = after(step, arrays, outputs)
            for index in range(number + 1, len(recipe.steps)):
                held = run(index, held)
            aligned = AlignedBlocks(*(held[role] for role in capacities))
            verify(aligned, LONG_TAIL.ids, LONG_TAIL.block_size, LONG_TAIL.num_experts)
        except Exception as error:  # whatever wrong intermediate results lead to
            return str(error).splitlines()[0] if str(error) else type(error).__name__
        return ""

    return Subject(name, emitted[number], emitted[number].contract.launch_grid(step.grid), values(step, arrays), check)


def _rowwise(name: str) -> Subject:
    args = row_inputs(name, 2, 2000)
    want = row_reference(name, args)
    tolerance = 2e-3 if name.endswith("fp16") else 1e-5

    def check(outputs: Mapping[str, Any]) -> str:
        close = np.isclose(outputs["out"].astype(np.float64), want, rtol=tolerance, atol=tolerance * 1e-2)
        return "" if close.all() else f"{int((~close).sum())} of {close.size} differ"

    return Subject(name, SHIPPED[name].emit("sm_90a"), (2, 1, 1), args, check)


def _vector_add() -> Subject:
    rng = np.random.default_rng(3)
    n = 1023
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    args = {"x": x, "y": y, "out": np.zeros(n, np.float32), "n": n}

    def check(outputs: Mapping[str, Any]) -> str:
        wrong = int((outputs["out"] != x + y).sum())
        return f"{wrong} of {n} differ" if wrong else ""

    return Subject("vector_add", SHIPPED["vector_add"].emit("sm_90a"), (1, 1, 1), args, check)
