"""How measurements of the asynchronous kernels become tables, and how they are timed."""

from __future__ import annotations

import pytest

from tools.bench.publish import machine, speeds
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
