"""Results of tunings on disk: shared between processes, and never worse than measuring again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import Config
from tle2cuda.runtime.cache import CacheWarning
from tle2cuda.tuning.store import ResultStore, result_key

ROOT = Path(__file__).parents[2]
FACTOR = tl.constexpr(2)


@tle2cuda.jit
def helper(x):
    return x * FACTOR


def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, helper(tl.load(x + i, mask=i < n)), mask=i < n)


CONFIGS = [Config({"BLOCK": 16}), Config({"BLOCK": 24}), Config({"BLOCK": 32})]


class Counter:
    """A `do_bench` that counts."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, call: Any, quantiles: Any) -> list[float]:
        call()
        self.asked += 1
        return [float(10 - self.asked)] * len(quantiles)


@pytest.fixture(autouse=True)
def on_the_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))


def launch(counter: Counter, n: int = 50, configs: list[Config] = CONFIGS) -> Any:
    """A launch of a tuner that knows nothing yet."""
    kernel = tle2cuda.autotune(configs, key=["n"], do_bench=counter, cache_results=True)(tle2cuda.jit(double))
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, dtype=np.float32)
    kernel[(4,)](x, out, n)
    assert out.tolist() == (2 * x).tolist()
    return kernel


def test_the_second_tuner_reads_what_the_first_measured(tmp_path: Path) -> None:
    counter = Counter()
    first = launch(counter)
    assert counter.asked == 2
    second = launch(counter)
    assert counter.asked == 2
    assert second.best_config == first.best_config == CONFIGS[2]
    timings = [9.0, float("inf"), 8.0]
    assert second.configs_timings == {config: [time] * 3 for config, time in zip(CONFIGS, timings, strict=True)}
    assert second.configs_timings == first.configs_timings
    assert second.failures == first.failures and list(second.failures) == [CONFIGS[1]]
    launch(counter, 60)
    assert counter.asked == 4, "another key"
    assert (tmp_path / "autotune").is_dir()
    launch(counter, 50, CONFIGS[::-1])
    assert counter.asked == 6, "other configurations"


@pytest.mark.parametrize("damage", ["", "{", '{"format": 1}', '{"format": 99}', "[]"])
def test_damaged_results_are_measured_again(tmp_path: Path, damage: str) -> None:
    counter = Counter()
    launch(counter)
    (path,) = (tmp_path / "autotune").glob("*.json")
    path.write_text(damage)
    launch(counter)
    assert counter.asked == 4
    assert json.loads(path.read_text())["kernel"] == "double"


def test_results_that_cannot_be_written_are_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path / "file"))
    counter = Counter()
    with pytest.warns(CacheWarning, match="the result of a tuning cannot be kept"):
        launch(counter)
    assert counter.asked == 2


def test_the_environment_keeps_results_of_every_tuner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter()
    for value, asked in (("0", 2), ("1", 4), ("1", 4)):
        monkeypatch.setenv("TRITON_CACHE_AUTOTUNING", value)
        kernel = tle2cuda.autotune(CONFIGS, key=["n"], do_bench=counter)(tle2cuda.jit(double))
        kernel[(4,)](np.zeros(50, np.float32), np.zeros(50, np.float32), 50)
        assert counter.asked == asked


def test_the_key_covers_all_that_the_kernel_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = tle2cuda.jit(double)
    before = result_key(kernel, (50,), CONFIGS)
    assert before == result_key(tle2cuda.jit(double), (50,), CONFIGS)
    assert before != result_key(kernel, (51,), CONFIGS)
    assert before != result_key(kernel, (50,), CONFIGS[:2])
    monkeypatch.setitem(globals(), "FACTOR", tl.constexpr(3))
    assert before != result_key(kernel, (50,), CONFIGS), "a constant of a function that the kernel calls"
    monkeypatch.undo()

    @tle2cuda.jit
    def other(x):
        return x + FACTOR

    monkeypatch.setitem(globals(), "helper", other)
    assert before != result_key(kernel, (50,), CONFIGS), "the function"


def test_two_processes_that_tune_at_once_measure_once(tmp_path: Path) -> None:
    script = tmp_path / "tune.py"
    script.write_text(
        "import sys, time, pathlib\n"
        "import numpy as np, tle2cuda, tle2cuda.language as tl\n"
        "@tle2cuda.jit\n"
        "def copy(x, out, n, BLOCK: tl.constexpr):\n"
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "def bench(call, quantiles):\n"
        "    call()\n"
        "    with open(here / 'log', 'a') as log:\n"
        "        log.write('measured\\n')\n"
        "    time.sleep(0.3)\n"
        "    return [1.0] * 3\n"
        "configs = [tle2cuda.Config({'BLOCK': b}) for b in (16, 32)]\n"
        "kernel = tle2cuda.autotune(configs, key=['n'], do_bench=bench, cache_results=True)(copy)\n"
        "x, out = np.arange(9, dtype=np.int32), np.zeros(9, dtype=np.int32)\n"
        "(here / f'ready{sys.argv[2]}').touch()\n"
        "while len(list(here.glob('ready*'))) < 2: time.sleep(0.01)\n"
        "kernel[(1,)](x, out, 9)\n"
        "assert (out == x).all()\n"
        "print(kernel.best_config.kwargs)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script), str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        for number in range(2)
    ]
    results = [process.communicate(timeout=120) for process in processes]
    assert results == [("{'BLOCK': 16}\n", "")] * 2
    assert (tmp_path / "log").read_text() == "measured\n" * 2


def test_a_directory_that_cannot_be_locked_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ResultStore(tmp_path / "file").locked("key"):
        pass
