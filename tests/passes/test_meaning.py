"""Every pass keeps the meaning of every case: the interpreter runs the IR before the passes and after each of them."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.opcases import OpCase, cases
from tests.opcases.case import TARGET
from tle2cuda.compiler import trace_specialized
from tle2cuda.interpreter import run
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, walk
from tle2cuda.passes.pipeline import PASSES
from tle2cuda.runtime.args import specialize

GROUPS: dict[str, list[OpCase]] = {}
for _case in cases().values():
    GROUPS.setdefault(f"{_case.family}-{_case.kernel.fn.__name__}", []).append(_case)


def traced(case: OpCase) -> Kernel:
    given = {**case.inputs(), **case.constants}
    values = [given.get(p.name, p.default) for p in case.kernel.parameters]
    bound = specialize(case.kernel.parameters, values, case.kernel.fn.__name__)
    return trace_specialized(case.kernel, bound.specialization, num_warps=case.num_warps, arch=TARGET)


def outcome(case: OpCase, kernel: Kernel) -> dict[str, np.ndarray]:
    """Arrays after a run, by argument."""
    inputs = case.inputs()
    arguments = {argument.name: inputs[argument.name] for argument in kernel.args}
    clusters = (*case.grid, 1, 1)[:3]
    grid = tuple(count * size for count, size in zip(clusters, kernel.cluster_dims, strict=True))
    run(kernel, grid, arguments)
    return {name: value for name, value in arguments.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_each_pass_keeps_the_meaning(group: str) -> None:
    # The kernels of a group differ in dtypes and sizes: the first, the last and two between stand for them.
    members = GROUPS[group]
    for case in {
        members[i * (len(members) - 1) // 3].name: members[i * (len(members) - 1) // 3] for i in range(4)
    }.values():
        kernel = traced(case)
        before = outcome(case, kernel)
        for each in PASSES:
            kernel = importlib.import_module(f"tle2cuda.passes.{each.name}").run(kernel)
            verify(kernel)
            after = outcome(case, kernel)
            if each.name == "canonicalise" and any(op.name == "dot" for op in walk(kernel.body)):
                # Sums move into products, which then round once instead of twice; from here on every bit stays.
                assert not case.differences(after, before), case.name
                before = after
            for name, value in before.items():
                same = after[name].view(np.uint8) == value.view(np.uint8) if value.size else np.ones(0, bool)
                if case.any_order and name in case.any_order:
                    same = np.sort(after[name].ravel()) == np.sort(value.ravel())
                assert np.all(same), f"{case.name}: pass {each.name} changes {name}"
