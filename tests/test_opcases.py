"""Every case of tests/opcases: interpreter against NumPy, emitted and compiled, and on the GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tests.golden import nvrtc_compile
from tests.opcases import OpCase, cases
from tests.opcases.case import TARGET, Tolerance, difference

GROUPS: dict[str, list[OpCase]] = {}
for _case in cases().values():
    GROUPS.setdefault(f"{_case.family}-{_case.kernel.fn.__name__}", []).append(_case)
NAMES = sorted(GROUPS)
PRODUCT_NOTES = {
    "dot_scaled_wide_mixed": {"C7511"},  # 256 sums a thread, which only tensor memory has room for
    "dot_wgmma_accumulated_f16h": {
        "C7514",
        "C7517",
        "C7519",
    },  # it copies pairs of sums that are read again behind the product
}
"""What ptxas says of products of warpgroups, of cases where it says anything."""


def _report(problems: list[str]) -> None:
    if problems:
        pytest.fail(f"{len(problems)} cases:\n" + "\n".join(problems[:20]), pytrace=False)


@pytest.mark.parametrize("group", NAMES)
def test_interpreter_against_numpy(group: str) -> None:
    problems = []
    for case in GROUPS[group]:
        want = {**case.inputs(), **case.reference(case.inputs())}
        problems += [f"{case.name}: {text}" for text in case.differences(case.interpret(), want)]
    _report(problems)


@pytest.mark.parametrize("group", NAMES)
def test_emitted_text_compiles_without_warnings_and_local_memory(group: str) -> None:
    problems = []
    # Of kernels with many cases a third: the others differ in dtypes and sizes, and are compiled where there is a GPU.
    wanted = GROUPS[group][:: 3 if len(GROUPS[group]) > 6 else 1]
    for position, case in enumerate(wanted):
        # The toolkit's headers take long to compile, and are used in the same way by all cases of a kernel.
        spellings = ("minimal", "toolkit") if position == 0 else ("minimal",)
        for text in dict.fromkeys(case.emit(headers=headers).source for headers in spellings):
            compiled = nvrtc_compile(text, TARGET)
            if (compiled.spill_bytes or compiled.stack_bytes) and not case.uses_stack:
                problems.append(f"{case.name}: {compiled.stack_bytes} bytes of stack, {compiled.spill_bytes} spilled")
            if compiled.product_notes != PRODUCT_NOTES.get(case.name, set()):
                problems.append(f"{case.name}: ptxas says {sorted(compiled.product_notes)} of its products")
    _report(problems)


def _check_gpu(group: str, needs_cluster: bool) -> None:
    from tests.opcases.gpu import check_on_gpu

    wanted = [case for case in GROUPS[group] if (case.needs == "cluster") == needs_cluster]
    _report([f"{case.name}: {text}" for case in wanted for text in check_on_gpu(case)])


@pytest.mark.gpu
@pytest.mark.parametrize("group", [n for n in NAMES if any(c.needs != "cluster" for c in GROUPS[n])])
def test_gpu_against_interpreter(group: str) -> None:
    _check_gpu(group, needs_cluster=False)


@pytest.mark.cluster
@pytest.mark.gpu
@pytest.mark.parametrize("group", [n for n in NAMES if any(c.needs == "cluster" for c in GROUPS[n])])
def test_gpu_clusters_against_interpreter(group: str) -> None:
    _check_gpu(group, needs_cluster=True)


def test_every_op_of_the_ir_is_met() -> None:
    """The cases together use every operation that the front end can make, and that the passes make for this target."""
    from tle2cuda.ir.nodes import walk
    from tle2cuda.ir.rows import ROWS

    met = {op.name for case in cases().values() for op in walk(case.emit().kernel_ir.body)}
    of_sm_100a = {"tensor_alloc", "tensor_load", "tensor_product", "tensor_tile", "tensor_wait"}
    assert set(ROWS) - met == of_sm_100a


def test_a_wrong_element_is_shown() -> None:
    want = np.arange(5, dtype=np.int32)
    got = want.copy()
    got[3] = 9
    assert difference(got, want) == "1 of 5 differ: [3]: 9 not 3"
    assert difference(got[::-1], got, any_order=True) == ""
    assert difference(want.astype(np.int64), want) == "is int64[5], expected int32[5]"


def test_floats_are_compared_by_their_own_rounding() -> None:
    want = np.array([1.0, np.nan, np.inf, 0.0], np.float16)
    near = np.array([1.001, np.nan, np.inf, 0.0], np.float16)
    assert difference(near, want) != ""
    assert difference(near, want, Tolerance(1)) == ""
    assert difference(np.array([1.0, 0.0, np.inf, 0.0], np.float16), want, Tolerance(1)) != ""
    assert difference(np.array([1.0, np.nan, 65504.0, 0.0], np.float16), want, Tolerance(1)) != ""
