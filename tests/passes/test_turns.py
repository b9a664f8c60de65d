"""Turns of warpgroups at the tensor cores, and waits that stay behind what is computed meanwhile."""

from __future__ import annotations

import re

import tle2cuda
from kernels.flash_attention import attention_forward
from kernels.flash_attention_tle import attention_tle
from tests.golden import golden_cases, nvrtc_compile
from tle2cuda.runtime import toolkit
from tle2cuda.runtime.sass import disassemble

POINTERS = "*fp16:16,*fp16:16,*fp16:16,*fp16:16,*fp32:16"
STRIDES = ",".join(["i32:16"] * 14)
SIGNS = {
    "begin": r"if \(\(warp / 4\) == 1\) named_barrier_arrive\(2, 256\);",
    "wait": r"(?<!\) )named_barrier_sync\(2 \+ \(warp / 4\), 256\);",
    "pass": r"(?<!\) )named_barrier_arrive\(3 - \(warp / 4\), 256\);",
    "end": r"if \(\(warp / 4\) == 0\) named_barrier_sync\(2, 256\);",
    "loop": r"for \(int i = (?!0)",
}


def body(source: str) -> str:
    return source[source.index('extern "C"') :]


def by_hand(tile: str, num_warps: int) -> str:
    signature = f"{POINTERS},i32,i32:16,i32:16,i32:16,fp32,{STRIDES},True,64,1,4,{tile},2"
    return body(tle2cuda.emit(attention_tle, signature, num_warps=num_warps, arch="sm_90a").source)


def test_warpgroups_take_turns() -> None:
    """A task begins once, though the diagonal has a loop of its own; one warpgroup alone takes no turns."""
    signs = "|".join(f"(?P<{name}>{sign})" for name, sign in SIGNS.items())
    found = [match.lastgroup for match in re.finditer(signs, by_hand("128,64", 8))]
    assert found == ["begin", *2 * ["loop", "wait", "pass"], "end"]
    assert "named_barrier_arrive" not in by_hand("64,64", 4)


def test_a_turn_ends_before_its_product_is_waited_for() -> None:
    """And where all warpgroups meet, none waits for its turn."""
    signature = f"{POINTERS},None,None,i32:16,i32:16,fp32,1,{STRIDES},False,128,128,128"
    text = body(tle2cuda.emit(attention_forward, signature, num_warps=8, num_stages=2, arch="sm_90a").source)
    turns = text.split("named_barrier_sync(1 + warpgroup, 256);")[1:]
    assert len(turns) == 2
    for turn in turns:
        before, passed, behind = turn.partition("named_barrier_arrive(2 - warpgroup, 256);")
        assert passed and "wait" not in before and "sync" not in before
        assert behind.lstrip().startswith("wgmma_wait<0>();")


def test_weights_are_computed_before_the_wait_for_the_other_product() -> None:
    """In the machine code, too, where ptxas would put the wait first."""
    source = golden_cases()["attention_tle_fp16"].emit("sm_90a")
    assert re.search(r"compute_first\(total_2.*\);\n *wgmma_wait<0>\(\);", source)
    if toolkit.find_tool("nvdisasm") is not None:
        code = disassemble(nvrtc_compile(source, "sm_90a").cubin)
        _, _, behind = code.partition("WARPGROUP.DEPBAR.LE gsb0, 0x1")
        assert behind.partition("WARPGROUP.DEPBAR.LE gsb0, 0x0")[0].count("MUFU.EX2") == 66
