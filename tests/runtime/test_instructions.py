"""Instructions of the machine code by operation and Python line."""

from __future__ import annotations

import pytest

from tests.emulator.test_shipped import SHIPPED
from tle2cuda.runtime import toolkit
from tle2cuda.runtime.build import build_artifact
from tle2cuda.runtime.instructions import Instructions, count_instructions, instruction_places, render_instructions
from tle2cuda.runtime.nvrtc import CompileOptions

SASS = """\
\t.text.add:
.text.add:
        /*0000*/                   LDC R1, c[0x0][0x37c] ;
\t//## File "/cache/cu/add.cu", line 40
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/              @!P0 IADD3 R0, R0, 0x1, RZ ;
\t//## File "/usr/include/block_scan.cuh", line 20 inlined at "/cache/cu/add.cu", line 12
\t//## File "/cache/cu/add.cu", line 12 inlined at "/cache/cu/add.cu", line 45
\t//## File "/cache/cu/add.cu", line 45
.L_x_1:
        /*0030*/             @UP1  LDG.E.128.CONSTANT R16, desc[UR6][R20.64+0x3000] ;
\t//## File "/elsewhere/other.cu", line 41
        /*0040*/                   NOP ;
        /*0050*/                   EXIT ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
"""


def test_places_of_instructions_innermost_first() -> None:
    assert list(instruction_places(SASS.splitlines(), "add.cu")) == [(), (40,), (40,), (12, 12, 45, 45), (), ()]


def test_rendering() -> None:
    counts = Instructions(12, {"load": 1, "convert_layout": 9}, {"add.py:7": 1, "add.py:12": 9})
    assert render_instructions(counts).split("\n") == [
        "machine code  in total        12 instructions",
        "by operation  load            1 instruction",
        "              convert_layout  9 instructions",
        "              the rest        2 instructions",
        "by line       add.py:7        1 instruction",
        "              add.py:12       9 instructions",
    ]


def test_softmax() -> None:
    pytest.importorskip("cupy")
    if toolkit.find_tool("nvdisasm") is None:
        pytest.skip("nvdisasm is not installed")
    emitted = SHIPPED["softmax_fp32"].emit("sm_90a")
    counts = count_instructions(build_artifact(emitted, options=CompileOptions("sm_90a", line_info=True)))
    rest = counts.total - sum(counts.ops.values())
    assert 0 <= rest < 0.1 * counts.total
    assert set(counts.ops) <= set(dict(emitted.op_map).values())
    # A thread has 16 elements: as many comparisons, additions, exponentials and divisions.
    assert counts.ops["reduce"] >= 2 * 15 and counts.ops["math"] >= 16 and counts.ops["div"] >= 16
    assert counts.ops["load"] >= 4 and counts.ops["store"] >= 4
    assert list(counts.lines) == [f"softmax.py:{line}" for line in sorted(int(name[11:]) for name in counts.lines)]
    assert counts.lines["softmax.py:19"] > counts.ops["math"]
