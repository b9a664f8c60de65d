"""How measurements are taken and timed, and how they become tables."""

from __future__ import annotations

import os
import re
import sys
import time

import pytest

from tools.bench import measure
from tools.bench.common import ROOT
from tools.bench.publish import PARTS, machine, speeds
from tools.bench.rowwise import Contestant, compete


def record(kernel, speed):
    return {"dtype": "float16", "cols": 64, "kernel": kernel, "us": 10.0, "gb_per_s": speed}


def test_kernels_stand_by_speed_and_a_sweep_is_cut():
    swept = [record(f"ours stages={n}", 100.0 + n) for n in range(5)]
    broken = {"dtype": "float16", "cols": 64, "kernel": "triton", "error": "no"}
    assert speeds([record("copy", 200.0), *swept, broken], "copy").splitlines() == [
        "| dtype cols: kernel | µs | GB/s | share of copy |",
        "|---|--:|--:|--:|",
        "| float16 64: copy | 10.0 | 200 | 1.000 |",
        "| float16 64: ours stages=4 | 10.0 | 104 | 0.520 |",
        "| float16 64: ours stages=3 | 10.0 | 103 | 0.515 |",
        "| float16 64: ours stages=2 | 10.0 | 102 | 0.510 |",
        "| float16 64: 2 other choices of options |  | 100 to 101 |  |",
        "| float16 64: triton | wrong |  |  |",
    ]


def test_without_the_baseline_there_are_no_shares():
    assert speeds([record("plain", 200.0)], "copy").splitlines()[2] == "| float16 64: plain | 10.0 | 200 |  |"


def test_a_table_says_where_it_is_from():
    report = {"device": {"gpu": "H200", "driver": 13000}, "command": "python -m x", "note": "Once."}
    assert machine(report, "2026-11-30") == "H200, 2026-11-30; driver 13000.\n`python -m x`.\nOnce."


class Clock:
    """A bench whose graphs take 1 µs and whose launches take 2."""

    def poison(self, *arrays):
        pass

    def run(self, launch):
        launch()

    def graph_of(self, launch):
        return launch

    def replay_us(self, replay):
        return 1.0

    def back_to_back_us(self, launch):
        return 2.0


@pytest.mark.parametrize("in_graphs, kernel_us", [(True, 1.0), (False, 2.0)])
def test_eager_contestants_stay_outside_of_graphs(in_graphs, kernel_us):
    made = [Contestant("copy", int, [], str, eager=True), Contestant("kernel", int, [], str)]
    assert compete(Clock(), made, 3, in_graphs=in_graphs) == {"copy": 2.0, "kernel": kernel_us}


def measurement(name, limit_s=20.0):
    return measure.Measurement(name, (), limit_s, {})


def test_every_planned_bench_takes_its_options_and_has_a_place_to_be_published():
    for each in measure.chosen([]):
        assert each.bench in PARTS
        source = (ROOT / "tools" / "bench" / f"{each.bench}.py").read_text()
        common = {"--repeats", "--only"} if "add_common_options(" in source else set()
        for option in (text for text in each.arguments if text.startswith("--")):
            assert option in common or f'"{option}"' in source, f"{each.name}: {option}"


def test_measurements_are_chosen_by_group_and_by_name():
    assert [each.name for each in measure.chosen(["launch", "launches"])] == ["launch", "compile_time"]
    sm80 = measure.chosen(["matmul.sm80"])[0].command
    assert sm80.startswith("TRITON_OVERRIDE_ARCH=sm80 python -m tools.bench.matmul --arch sm_90 ")
    with pytest.raises(ValueError, match="no measurement lunch; groups: products, asynchronous, "):
        measure.chosen(["lunch"])


def test_a_bench_that_crashes_or_hangs_leaves_the_others_alone(tmp_path, monkeypatch, capsys):
    def work(each, arguments, log):
        log.write_text("WRONG sum\ntable\n" if each.name == "wrong" else "traceback\n")
        if each.name == "slow":
            time.sleep(60)
        if each.name == "crashed":
            os._exit(7)
        (tmp_path / f"{each.name}.json").write_text(arguments[0])
        sys.exit(each.name == "wrong")

    monkeypatch.setattr(measure, "work", work)
    jobs = [(measurement("slow", 0.2), ("x",), "slow.log")]
    jobs += [(measurement(name), ("x",), f"{name}.log") for name in ("crashed", "wrong", "good")]
    assert measure.Runs(tmp_path, time.monotonic() + 50).run(jobs, at_once=2) == 3
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == ["good", "wrong"]
    said = re.sub(r" +\d+\.\d s +", " ", capsys.readouterr().out).splitlines()
    assert sorted(said) == ["WRONG sum", "crashed exit 7", "good done", "slow over its time", "traceback", "wrong exit 1"]
    assert measure.Runs(tmp_path, time.monotonic()).run([(measurement("late"), (), "late.log")], at_once=1) == 1
    assert "not run: no time left" in capsys.readouterr().out
