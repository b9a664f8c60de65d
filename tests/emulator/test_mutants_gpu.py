"""`tools/mutants_gpu.py`: reading compute-sanitizer's output, the plan, the watcher, and how the two verdicts compare."""

from __future__ import annotations

import json
import pathlib
import pickle
import sys
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.emulator.mutants import mutants
from tests.emulator.subjects import subject
from tools import mutants_gpu
from tools.bench.publish import PARTS, put
from tools.launching import EXIT_MACHINE
from tools.mutants_gpu import Candidate, candidates, compile_one, giving_up, plan, sessions, theirs_of
from tools.mutants_verdict import Ours, expected, judge, ours_of
from tools.sanitizer_output import TOOLS, command, find_sanitizer, records, refusal
from tools.sanitizer_session import Session

KERNELS = ("candidate_000", "candidate_001", "candidate_002")

MEMCHECK = """\
========= COMPUTE-SANITIZER
@@@ start candidate_000
========= Invalid __global__ write of size 4 bytes
=========     at candidate_000+0x150
=========     by thread (127,0,0) in block (0,0,0)
=========     Access to 0x7f5c0fa00ffc is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f5c0fa00000 of size 4,092 bytes
=========
@@@ done candidate_000 CUDARuntimeError: cudaErrorLaunchFailure: unspecified launch failure
@@@ start candidate_001
========= Invalid __shared__ read of size 16 bytes
=========     at candidate_001+0x8a0
=========     by thread (3,0,0) in block (1,0,0)
=========     Address 0x1404 is misaligned
=========
========= Invalid __shared__ read of size 16 bytes
=========     at candidate_001+0x8a0
=========     by thread (4,0,0) in block (1,0,0)
=========     Address 0x1414 is misaligned
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call.
=========     Saved host backtrace up to driver entry point at error
=========
@@@ done candidate_001 CUDARuntimeError: cudaErrorLaunchFailure: unspecified launch failure
@@@ start candidate_002
@@@ done candidate_002
========= ERROR SUMMARY: 4 errors
"""

RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at candidate_001+0x4f0
=========     and Read access at candidate_001+0x600 [128 hazards]
=========     and Read access at candidate_001+0x640 [64 hazards]
=========
========= Warning: Race reported between Read access at candidate_002+0x70
=========     and Write access at candidate_002+0xb0 [32 hazards]
=========
========= Info: Race reported between Write access at candidate_002+0xb0
=========     and Write access at candidate_002+0xb0 [32 hazards]
=========
========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 1 warning)
"""

SYNCCHECK = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in warp.
=========     at candidate_000+0x1b0
=========     by thread (0,0,0) in block (0,0,0)
=========
========= Barrier error detected. Divergent thread(s) in block.
=========     at candidate_000+0x2c0
=========     by thread (32,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 2 errors
"""

INITCHECK = """\
========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 8 bytes
=========     at load_vector<(int)2>(const int *)+0x60
=========     by thread (0,0,0) in block (3,0,0)
=========     Access to 0x7f2b4a000200
=========     Device Frame: candidate_002+0x60
=========
========= ERROR SUMMARY: 1 error
"""


def read(text: str) -> list[tuple[str, str, str]]:
    return [(one.tool, one.what, one.kernel) for one in records(text.splitlines(), KERNELS)]


# ---- reading --------------------------------------------------------------------------------------------------------


def test_memcheck() -> None:
    misaligned = ("memcheck", "Invalid __shared__ read, misaligned", "candidate_001")
    assert read(MEMCHECK) == [("memcheck", "Invalid __global__ write", "candidate_000"), misaligned, misaligned]


def test_racecheck() -> None:
    assert read(RACECHECK) == [
        ("racecheck", "Error: Race reported between Write access", "candidate_001"),
        ("racecheck", "Warning: Race reported between Read access", "candidate_002"),
        ("racecheck", "Info: Race reported between Write access", "candidate_002"),
    ]


def test_synccheck() -> None:
    assert read(SYNCCHECK) == [
        ("synccheck", "Barrier error detected. Divergent thread(s) in warp", "candidate_000"),
        ("synccheck", "Barrier error detected. Divergent thread(s) in block", "candidate_000"),
    ]


def test_initcheck_names_the_kernel_behind_an_inlined_function() -> None:
    assert read(INITCHECK) == [("initcheck", "Uninitialized __global__ memory read", "candidate_002")]


def test_summaries_and_the_program_s_own_lines_are_no_records() -> None:
    clean = "========= COMPUTE-SANITIZER\nInvalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 0 errors\n"
    assert read(clean) == []
    assert refusal(clean.splitlines()) == ""


def test_tool_that_cannot_watch_the_device_is_no_clean_verdict() -> None:
    lines = ["========= COMPUTE-SANITIZER", "========= Error: Device not supported. Please refer to the documentation"]
    assert refusal(lines) == "Error: Device not supported. Please refer to the documentation"


def test_options_that_the_installed_version_does_not_know_are_left_out() -> None:
    known = "--tool arg  --print-limit arg  --show-backtrace arg"
    assert command("cs", "memcheck", known, ["python", "x.py"]) == [
        *("cs", "--tool", "memcheck", "--print-limit", "100000", "--show-backtrace", "no"),
        *("python", "x.py"),
    ]
    every = f"{known} --padding --launch-timeout --print-level --racecheck-report"
    assert "--padding" in command("cs", "memcheck", every, []) and "--padding" not in command("cs", "racecheck", every, [])


# ---- watching -------------------------------------------------------------------------------------------------------


def session(script: str, names: tuple[str, ...] = KERNELS, tool: str = "memcheck", limit_s: float = 60.0) -> Session:
    """A session whose worker is a Python text that finds its names in `sys.argv[1:]`."""
    text = f"import sys, os, time\ndef say(*words): print(*words, flush=True)\n{script}"
    return Session(tool, names, [sys.executable, "-c", text], time.monotonic() + limit_s, hang_s=1.0)


def test_all_of_a_list_runs_in_one_process() -> None:
    done = session("say('pid', os.getpid())\nfor name in sys.argv[1:]: say('@@@ start', name); say('@@@ done', name)").run()
    assert done.trouble == {} and sum(line.startswith("pid") for line in done.lines) == 1


def test_kernel_that_hangs_is_named_and_the_rest_runs() -> None:
    script = """
for name in sys.argv[1:]:
    say('@@@ start', name)
    if name == 'candidate_001': time.sleep(60)
    say('@@@ done', name)
"""
    done = session(script).run()
    assert done.trouble == {"candidate_001": "hangs"}
    assert "@@@ done candidate_002" in done.lines


def test_kernel_that_time_runs_out_for_does_not_count_as_one_that_hangs() -> None:
    done = session("say('@@@ start', sys.argv[1]); time.sleep(60)", limit_s=0.3).run()
    assert done.trouble[KERNELS[0]] == "not run: no time left to end"
    assert set(done.trouble) == set(KERNELS)


def test_process_that_ends_at_a_kernel_is_started_again_behind_it() -> None:
    script = """
for name in sys.argv[1:]:
    say('@@@ start', name)
    if name == 'candidate_000': os._exit(5)
    say('@@@ done', name, 'LaunchError: refused' if name == 'candidate_001' else '')
"""
    done = session(script).run()
    assert done.trouble == {"candidate_000": "ended its process with code 5", "candidate_001": "LaunchError: refused"}


def test_worker_that_never_starts_counts_as_not_run() -> None:
    done = session("say('========= Error: Device not supported.'); sys.exit(1)").run()
    assert set(done.trouble) == set(KERNELS)
    assert done.trouble["candidate_000"] == "not run: the worker does not start: Error: Device not supported."


def test_nothing_starts_behind_the_limit() -> None:
    done = session("raise SystemExit('must not run')", limit_s=-1.0).run()
    assert done.lines == [] and done.trouble["candidate_002"] == "not run: no time left"


def test_records_are_collected_by_kernel_and_tool() -> None:
    finished = [Session(tool, KERNELS, (), 0.0) for tool in TOOLS]
    for one, text in zip(finished, (MEMCHECK, RACECHECK, SYNCCHECK, INITCHECK), strict=True):
        one.lines = text.splitlines()
    nameless = Session("memcheck", ("candidate_002",), (), 0.0)
    nameless.lines = [
        "@@@ start candidate_002",
        "========= Invalid __global__ read of size 4 bytes",
        "@@@ done candidate_002",
    ]
    found = theirs_of([*finished, nameless], KERNELS)
    assert found["candidate_000"].found["memcheck"] == Counter({"Invalid __global__ write": 1})
    assert found["candidate_001"].found["memcheck"] == Counter({"Invalid __shared__ read, misaligned": 2})
    assert set(found["candidate_002"].found) == {"racecheck", "initcheck", "memcheck"}


# ---- what is launched -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chosen() -> list[Candidate]:
    return candidates()


def test_every_mutant_and_every_unchanged_kernel_is_in_the_plan(chosen: list[Candidate]) -> None:
    controls = [one for one in chosen if one.is_control]
    planted = [mutant for mutant in mutants() if not mutant.arch]  # those of other targets run on other GPUs
    assert [one.title for one in controls] == list(dict.fromkeys(mutant.subject for mutant in planted))
    assert [one.title for one in chosen if not one.is_control] == [mutant.id for mutant in planted]
    without = [one.title for one in chosen if one.for_gpu is None]
    assert without == [
        "op_grid_counts: release of the grid barrier dropped",
        "op_grid_counts: acquire of the grid barrier dropped",
    ]
    lines = list(plan(chosen, {one.kernel: b"" for one in chosen if one.for_gpu}))
    assert lines[0] == f"{len(planted)} faults, {len(controls)} unchanged kernels; {len(chosen) - 2} compiled"
    assert lines[1].startswith(f"{4 * (len(chosen) - 2)} launches under memcheck, ")
    assert len(lines) == 2 + len(without)


def test_gpu_text_has_the_fault_and_a_name_of_its_own(chosen: list[Candidate]) -> None:
    for one in chosen:
        if one.for_gpu is None:
            continue
        assert one.for_gpu.source.count(f"{one.kernel}(") == 1
        assert one.for_gpu.contract.kernel_name == one.kernel
        assert "tle2cuda_emulator" not in one.for_gpu.source
        name = one.title.partition(":")[0]
        original = subject(name).emitted
        renamed = one.for_gpu.source.replace(f"{one.kernel}(", f"{original.contract.kernel_name}(")
        assert (renamed == giving_up(original.source)) == one.is_control


def test_outputs_hold_nothing_before_the_launch(chosen: list[Candidate]) -> None:
    control = next(one for one in chosen if one.title == "moe_cluster")
    assert set(control.uninitialized) == {"sorted_ids", "expert_ids", "num_post_pad"}


def test_launches_reach_the_worker(chosen: list[Candidate], tmp_path: pathlib.Path) -> None:
    one = next(one for one in chosen if one.title == "vector_add")
    assert one.for_gpu is not None
    code = compile_one(one.for_gpu.source, one.for_gpu.contract)
    assert isinstance(code, bytes), code
    payload = tmp_path / "launches.pickle"
    payload.write_bytes(pickle.dumps({one.kernel: (one.for_gpu.contract, code, one.ctas, dict(one.args), ())}))
    contract, cubin, ctas, args, _ = pickle.loads(payload.read_bytes())[one.kernel]
    assert contract == one.for_gpu.contract and cubin == code and ctas == one.ctas
    np.testing.assert_array_equal(args["x"], one.args["x"])
    made = sessions(payload, {tool: [one.kernel] for tool in TOOLS}, "cs", "", 0.0)
    assert [session.tool for session in made] == list(TOOLS)
    assert all(session.command[-2:] == ["--worker", str(payload)] for session in made)


def test_text_that_does_not_compile_is_said_so() -> None:
    emitted = subject("vector_add").emitted
    assert "identifier" in str(compile_one(emitted.source.replace("n - offsets", "n - ofsets"), emitted.contract))


@pytest.mark.skipif(find_sanitizer() is not None, reason="compute-sanitizer is installed")
def test_machine_without_the_tool_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants_gpu.main([]) == EXIT_MACHINE
    said = capsys.readouterr().err
    assert said.startswith("mutants_gpu.py: compute-sanitizer is neither on PATH nor in /usr/local/cuda; --dry-run needs ")


STAND_IN = """\
#!{python}
import sys
words = sys.argv[1:]
if "--help" in words:
    print("--tool arg --print-limit arg")
    sys.exit()
tool, names = words[words.index("--tool") + 1], words[words.index("--worker") + 2:]
print("========= COMPUTE-SANITIZER")
for name in names:
    print("@@@ start", name)
    if tool == "racecheck" and name != "candidate_000":
        print(f"========= Error: Race reported between Write access at {{name}}+0x4f0")
        print(f"=========     and Read access at {{name}}+0x600 [128 hazards]")
    print("@@@ done", name)
"""


def test_whole_run_with_a_stand_in_for_the_tool(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in = tmp_path / "compute-sanitizer"
    stand_in.write_text(STAND_IN.format(python=sys.executable))
    stand_in.chmod(0o755)
    monkeypatch.setattr(mutants_gpu, "find_sanitizer", lambda: str(stand_in))
    monkeypatch.setattr(mutants_gpu, "_machine", lambda: ("", {"gpu": "none"}))
    path = tmp_path / "mutants_gpu.json"
    options = ["--only", "op_permute", "--json", str(path), "--log", str(tmp_path / "tools.log")]
    # The stand-in reports a race in each of the six mutants; two have wrong results alone, one a misplaced access.
    assert mutants_gpu.main(options) == 1
    printed = capsys.readouterr().out
    assert "6 faults, 1 unchanged kernels; 7 compiled" in printed
    assert "1 of 1 unchanged kernels without any finding" in printed
    told = json.loads(path.read_text())["records"]
    assert {one["title"].partition(": ")[2] or "control": one["verdict"] for one in told} == {
        "control": "agree",
        "barrier of the exchange removed": "agree",
        "barrier of the exchange weakened to a warp": "agree",
        "swizzle of the store: wrong bit": "disagree",
        "swizzle of the load: term left out": "disagree",
        "offset of the store one too small": "agree",
        "offset of the load behind the buffer": "partly",
    }
    assert (tmp_path / "tools.log").read_text().count("========= COMPUTE-SANITIZER") == 16
    page = put(
        "<!-- results: mutants_gpu -->\nold\n<!-- end: mutants_gpu -->", "mutants_gpu", PARTS["mutants_gpu"][1](told)
    )
    assert "\n7 kernels: 4 agree, 2 disagree, 1 partly; 1 of 1 unchanged ones without any finding.\n" in page
    row = (
        "| op_permute_210_i32_4x8x32: swizzle of the store: wrong bit | nothing | racecheck: Error: Race reported between "
    )
    assert f"{row}Write access x 1 | **disagree**: the tools alone find something |" in page


def test_three_steps_with_a_stand_in_for_the_tool(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepared, stand_in = str(tmp_path / "prepared"), tmp_path / "compute-sanitizer"
    stand_in.write_text(STAND_IN.format(python=sys.executable))
    stand_in.chmod(0o755)
    monkeypatch.setattr(mutants_gpu, "find_sanitizer", lambda: str(stand_in))
    monkeypatch.setattr(mutants_gpu, "_machine", lambda: ("", {"gpu": "none"}))
    monkeypatch.setattr(mutants_gpu, "compile_all", lambda chosen: {one.kernel: b"" for one in chosen})
    race = Ours({("race", "shared"): 1})
    monkeypatch.setattr(
        mutants_gpu, "emulate_all", lambda chosen: {one.kernel: Ours({}) if one.is_control else race for one in chosen}
    )
    weak = "op_permute_210_i32_4x8x32: barrier of the exchange weakened to a warp"
    without = "op_permute_210_i32_4x8x32: barrier of the exchange removed"
    assert mutants_gpu.main(["--prepare", prepared, "--only", "32: barrier of the exchange", "--skip", without]) == 0
    assert mutants_gpu.main(["--launch", prepared, "--limit-s", "-1"]) == 1
    assert "2 kernels, 8 launches under a tool not made" in capsys.readouterr().out
    for _ in range(2):  # the second time nothing is left
        assert mutants_gpu.main(["--launch", prepared]) == 0
    capsys.readouterr()
    assert mutants_gpu.main(["--judge", prepared]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines[:3]] == ["verdict", "agree", "agree"]
    assert weak in lines[2] and without not in lines[2]


def test_waits_without_end_are_given_up() -> None:
    source = giving_up(subject("op_pipe_ring_2_9_4").emitted.source)
    assert source.count('"@late exit;\\n"') == source.count('"bra WAIT;\\n"') == 1
    assert source.index("globaltimer") < source.index('"WAIT:') < source.index('"setp.gt.u64 late, now, 500000000;')


# ---- comparing ------------------------------------------------------------------------------------------------------


def verdict(kinds: dict[tuple[str, str], int], found: dict[str, dict[str, int]], **more: Any) -> tuple[str, str]:
    one = judge("kernel", Ours(kinds), found, more.pop("trouble", {}), **more)
    return one.verdict, one.reason


RACE = {"racecheck": {"Error: Race": 2}}
BOUNDS = {"memcheck": {"Invalid __global__ write": 1}}


def test_verdicts() -> None:
    assert verdict({}, {}) == ("agree", "")
    assert verdict({("race", "shared"): 1}, RACE) == ("agree", "")
    assert verdict({("race", "shared"): 1}, {}) == ("disagree", "racecheck should see it")
    assert verdict({("race", "global"): 1}, {}) == ("cannot see", "racecheck watches shared memory only")
    assert verdict({}, BOUNDS) == ("disagree", "the tools alone find something")
    assert verdict({("race", "shared"): 1, ("uninitialized", "shared"): 2}, RACE) == ("agree", "")
    assert verdict({("uninitialized", "shared"): 2}, RACE) == ("agree", "")
    assert verdict({("uninitialized", "shared"): 2}, {}) == ("cannot see", "initcheck watches global memory only")
    assert verdict({("race", "shared"): 1}, {**RACE, **BOUNDS}) == ("partly", "memcheck alone")
    both = {("race", "shared"): 1, ("uninitialized", "global"): 1}
    assert verdict(both, RACE) == ("partly", "nothing from initcheck")


def test_what_a_race_leads_to_need_not_happen_on_a_gpu() -> None:
    tools, reasons = expected(Ours({("race", "shared"): 1, ("out_of_bounds", "global"): 1}))
    assert tools == {"racecheck"} and reasons == ["only in orders in which what was read too early is wrong"]
    assert expected(Ours({("out_of_bounds", "global"): 1})) == ({"memcheck"}, [])


def test_what_the_tools_do_not_follow_is_not_asked_of_them() -> None:
    kinds = {("race", "shared"): 1, ("deadlock", ""): 1, ("collective", ""): 1}
    assert expected(Ours(kinds))[0] == {"racecheck", "synccheck"}
    tools, reasons = expected(Ours(kinds, frozenset({"copies", "mbarriers", "warpgroups"})))
    assert not tools
    assert reasons[0] == "racecheck does not follow copies that go on while the threads do"
    assert expected(Ours({("race", "global"): 1}, frozenset({"copies"})))[1] == ["racecheck watches shared memory only"]


def test_what_the_tools_report_wrongly_is_known() -> None:
    reads = {"initcheck": {"Uninitialized __global__ memory read": 256}}
    assert judge("kernel", Ours({}), reads, {}, is_control=True).is_bad
    one = judge("kernel", Ours({}, frozenset({"copies"})), reads, {}, is_control=True)
    assert not one.is_bad and one.reason == "initcheck does not see what the copy engine writes"
    assert not judge("kernel", Ours({}, frozenset({"arrivals"})), RACE, {}, is_control=True).is_bad
    assert judge("kernel", Ours({}, frozenset({"copies"})), {**reads, **RACE}, {}, is_control=True).is_bad
    misaligned = Ours({("misaligned", "global"): 1}, frozenset({"copies"}))
    assert expected(misaligned) == (
        set(),
        ["the GPU refuses such copies by an error of the launch, which no tool explains"],
    )


def test_launches_that_were_not_made_are_no_agreement() -> None:
    trouble = {"memcheck": "not run: no time left"}
    assert verdict({}, {}, trouble=trouble) == ("not run", "not run: no time left")
    assert judge("kernel", Ours({}), {}, trouble).is_bad
    assert verdict({("race", "global"): 1}, {}, refused="in a twin") == ("cannot see", "in a twin")


def test_finding_about_an_unchanged_kernel_is_bad_though_both_agree() -> None:
    one = judge("kernel", Ours({("race", "shared"): 1}), RACE, {}, is_control=True)
    assert one.verdict == "agree" and one.is_bad
    assert not judge("kernel", Ours({}), {}, {}, is_control=True).is_bad


def test_unchanged_kernels_are_clean_and_faults_are_told_apart(chosen: list[Candidate]) -> None:
    def ours(title: str) -> dict[tuple[str, str], int]:
        one = next(one for one in chosen if one.title == title)
        return dict(ours_of(one.emitted, one.ctas, one.args, one.uninitialized).kinds)

    assert ours("moe_cluster") == ours("op_last_one_sums") == {}
    assert set(ours("softmax_fp32: barrier inside the reduction removed")) == {
        ("race", "shared"),
        ("uninitialized", "shared"),
    }
    assert set(ours("op_last_one_sums: release fence removed")) == {("race", "global")}
    assert set(ours("vector_add: vector guard of the store one too large")) == {("out_of_bounds", "global")}
    assert ("race", "remote") in ours("op_cluster_ring_1: cluster barrier behind the store removed")
