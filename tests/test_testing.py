"""`tle2cuda.testing`, the names of `triton.testing`, where there is no GPU: the numbers are the CPU's."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tle2cuda.language as tl
from tle2cuda import errors, testing


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    testing._note_host_clock.cache_clear()
    warnings.simplefilter("ignore", RuntimeWarning)


class Recorder:
    def __init__(self) -> None:
        self.calls = 0
        self.grad: Any = "a gradient"

    def __call__(self) -> None:
        self.calls += 1


def test_do_bench_returns_what_is_asked_for() -> None:
    run = Recorder()
    times = testing.do_bench(run, rep=1, return_mode="all")
    assert len(times) == run.calls - 1 <= 10 and all(time >= 0 for time in times)
    modes = ("mean", "median", "min", "max")
    assert all(isinstance(testing.do_bench(run, rep=1, return_mode=mode), float) for mode in modes)
    low, middle, high = testing.do_bench(run, rep=1, quantiles=[0.2, 0.5, 0.8])
    assert low <= middle <= high
    assert isinstance(testing.do_bench(run, rep=1, quantiles=[0.5]), float)
    assert isinstance(testing.do_bench_cudagraph(run, rep=1), float)
    testing.do_bench(run, rep=1, grad_to_none=[run])
    assert run.grad is None


def test_do_bench_refuses_wrong_modes() -> None:
    for bench in (testing.do_bench, testing.do_bench_cudagraph):
        message = "return_mode must be one of min, max, mean, median, all, got 'mod'"
        with pytest.raises(errors.InvalidArgument, match=message):
            bench(lambda: None, return_mode="mod")
    with pytest.raises(errors.InvalidArgument, match="a quantile lies between 0 and 1, got 2"):
        testing.do_bench(lambda: None, rep=1, quantiles=[2])


def test_times_of_the_cpu_are_said_to_be_so() -> None:
    with pytest.warns(RuntimeWarning, match="times are those of the emulation, not of a GPU"):
        testing.do_bench(lambda: None, rep=1)


def test_quantiles_are_numpys() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.5]
    quantiles = [0.0, 0.1, 0.37, 0.5, 0.99, 1.0]
    np.testing.assert_allclose(testing._quantile(values, quantiles), np.quantile(values, quantiles))
    assert testing._quantile([7.0], [0.3]) == [7.0]


def benchmark(**changes: Any) -> testing.Benchmark:
    arguments = {
        "x_names": ["n"],
        "x_vals": [1, 2, 4],
        "line_arg": "provider",
        "line_vals": ["ours", "theirs"],
        "line_names": ["Ours", "Theirs"],
        "plot_name": "speed",
        "args": {"scale": 10},
        "ylabel": "GB/s",
    }
    return testing.Benchmark(**{**arguments, **changes})


def measure(n: int, provider: str, scale: int) -> Any:
    value = float(n * scale) + (provider == "theirs")
    return (value, value - 1, value + 1) if provider == "ours" else value


def test_perf_report_prints_a_table(capsys: Any, tmp_path: Path) -> None:
    report = testing.perf_report(benchmark())(measure)
    assert report.run(print_data=True, save_path=str(tmp_path / "results")) is None
    assert capsys.readouterr().out == (
        "speed:\n"
        "   n  Ours (GB/s)  Theirs (GB/s)\n"
        "0  1    10.000000      11.000000\n"
        "1  2    20.000000      21.000000\n"
        "2  4    40.000000      41.000000\n"
    )
    assert (tmp_path / "results" / "speed.csv").read_text() == (
        "n,Ours (GB/s),Theirs (GB/s)\n1,10.0,11.0\n2,20.0,21.0\n4,40.0,41.0\n"
    )


def test_perf_report_of_several_names_and_benchmarks(capsys: Any) -> None:
    pairs = benchmark(x_names=["m", "n"], x_vals=[(1, 2), 3], plot_name="pairs", args={})
    report = testing.perf_report([pairs, pairs])(lambda m, n, provider: float(m * n))
    report.run(print_data=True)
    assert capsys.readouterr().out.count("1  3  3     9.000000       9.000000\n") == 2
    with pytest.raises(errors.InvalidArgument, match="pairs: expected 2 x values, got 3"):
        testing.perf_report(benchmark(x_names=["m", "n"], x_vals=[(1, 2, 3)], plot_name="pairs"))(measure).run()


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("pandas", "matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    report = testing.perf_report(benchmark())(measure)
    with pytest.raises(errors.ToolchainError, match=r"tables as data frames need pandas: [^\0]*help: pip install pandas"):
        report.run(return_df=True)
    with pytest.raises(errors.ToolchainError, match=r"figures need matplotlib.pyplot: [^\0]*help: pip install matplotlib"):
        report.run(show_plots=True)


def test_assert_close() -> None:
    x = np.linspace(0, 1, 50, dtype=np.float32)
    testing.assert_close(x, x + 0.005)
    testing.assert_close(np.float16([np.nan]), np.float16([np.nan]))
    testing.assert_close(3.0, 3.0)
    testing.assert_close(x, x * 1.01, atol=0.0, rtol=0.02)
    for wrong in ({}, {"atol": 0.05}, {"atol": 0.0, "rtol": 0.01}):
        with pytest.raises(AssertionError, match="told so"):
            testing.assert_close(x, x + 0.1, err_msg="told so", **wrong)
    with pytest.raises(AssertionError):
        testing.assert_close(x, x[:-1])


def test_figures_of_the_device() -> None:
    assert testing.get_dram_gbps() == pytest.approx(4917, abs=1)  # NVIDIA H200: 4.8 TB/s at its rated clock
    clock = 1_830_000
    # NVIDIA H100 whitepaper: 989.4 dense fp16 and 494.7 TF32 TFLOP/s at 1830 MHz, 66.9 fp32 at 1980 MHz.
    assert testing.get_max_tensorcore_tflops(tl.float16, clock) == pytest.approx(989.4, abs=0.1)
    assert testing.get_max_tensorcore_tflops(tl.float32, clock) == pytest.approx(494.7, abs=0.1)
    assert testing.get_max_tensorcore_tflops(tl.float8e5, clock) == pytest.approx(1978.9, abs=0.1)
    assert testing.get_max_simd_tflops(tl.float32, 1_980_000) == pytest.approx(66.9, abs=0.1)
    with pytest.raises(errors.InvalidArgument, match="tensor cores do not multiply int32"):
        testing.get_max_tensorcore_tflops(tl.int32, clock)
    with pytest.raises(errors.ToolchainError, match="the clocks of the GPU are not changed"):
        testing.set_gpu_clock()
