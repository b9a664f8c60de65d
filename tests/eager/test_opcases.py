"""Every small kernel of tests/opcases as ordinary Python: what the interpreter computes.

Eager mode reads the language for itself, so this tests the front end as well.
"""

from __future__ import annotations

import warnings

import pytest

from tests.opcases import OpCase, cases
from tle2cuda.errors import NotSupported

GROUPS: dict[str, list[OpCase]] = {}
for _case in cases().values():
    GROUPS.setdefault(f"{_case.family}-{_case.kernel.fn.__name__}", []).append(_case)


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_eager_computes_what_numpy_does(group: str) -> None:
    problems = []
    for case in GROUPS[group]:
        inputs = case.inputs()
        want = {**inputs, **case.reference(case.inputs())}
        try:
            with warnings.catch_warnings():  # where numbers overflow, nobody is told
                warnings.simplefilter("error", RuntimeWarning)
                case.kernel.eager[case.grid](**inputs, **case.constants, num_warps=case.num_warps)
        except NotSupported as error:
            if "in eager mode" not in str(error):
                raise
            pytest.skip(str(error.message))
        problems += [f"{case.name}: {text}" for text in case.differences(inputs, want)]
    if problems:
        pytest.fail(f"{len(problems)} cases:\n" + "\n".join(problems[:20]), pytrace=False)
