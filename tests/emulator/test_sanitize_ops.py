"""`tools/sanitize_ops.py`: what the tools say belongs to kernels and their cases."""

from __future__ import annotations

import pytest

from tools import sanitize_ops
from tools.sanitizer_session import Session

SAID = """\
@@@ start barriers_by_phases_1
========= Error: Race reported between Write access at by_phases+0x1170
=========     and Read access at by_phases+0x4d0 [508 hazards]
=========
@@@ done barriers_by_phases_1
@@@ start barriers_by_names_4
========= Barrier error detected. Divergent thread(s) in block.
=========     at $by_names$_Z8bar_once+0x640
=========     by thread (160,0,0) in block (0,0,0)
@@@ done barriers_by_names_4
"""


def test_findings_name_kernel_and_cases(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["barriers_by_phases_1", "barriers_by_phases_2", "barriers_by_names_4"]
    session = Session("racecheck", names, [], 0.0, SAID.splitlines(), {"barriers_by_phases_2": "hangs"})
    assert sanitize_ops.report([session], 3, 1.0, None, None) == 1
    assert capsys.readouterr().out.splitlines() == [
        "racecheck: by_phases (barriers_by_phases_1, barriers_by_phases_2): Error: Race reported between Write access x 1",
        "racecheck: by_names (barriers_by_names_4): Barrier error detected. Divergent thread(s) in block x 1",
        "racecheck: barriers_by_phases_2: hangs",
        "3 kernels under racecheck: 3 findings, 0 launches not run, 1 s",
    ]


def test_a_run_without_findings_passes() -> None:
    assert sanitize_ops.report([Session("memcheck", ["barriers_by_names_4"], [], 0.0)], 1, 1.0, None, None) == 0


def test_what_runs_without_being_named() -> None:
    names = sanitize_ops.chosen([], [], None)
    assert {"shipped:copies", "barriers_by_phases_1", "wgmma_ring_7_3"} <= set(names)
    assert sanitize_ops.chosen([], [], ["copies"]) == ["shipped:copies"]
    assert "vector_add" not in sanitize_ops.chosen(["async_pipes"], [], None)
