"""Tuning by the device's clock, and launches that begin before the grid in front of them has ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import testing
from tle2cuda.tuning import Config, autotune

pytestmark = pytest.mark.gpu

SLOW, FAST = 4096, 1


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def tuned(**options: Any) -> Any:
    """A kernel whose first configuration takes thousands of turns, the second one, and whose third does not compile."""

    @autotune(
        configs=[
            Config({"TURNS": SLOW, "BLOCK": 256}),
            Config({"TURNS": FAST, "BLOCK": 256}),
            Config({"TURNS": 1, "BLOCK": 100}),
        ],
        key=["n"],
        restore_value=["x"],
        **options,
    )
    @tle2cuda.jit
    def add_sines(x, n, TURNS: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + i, mask=i < n)
        total = value
        for _ in range(TURNS):
            total = tl.sin(total) + value
        tl.store(x + i, value + 1 + (total == 1e30).to(tl.float32), mask=i < n)

    return add_sines


@pytest.mark.parametrize("in_graph", [False, True])
def test_the_faster_configuration_is_chosen(torch: Any, in_graph: bool) -> None:
    kernel = tuned(use_cuda_graph=in_graph)
    x = torch.rand(100_000, device="cuda")
    expected = x + 1
    kernel[lambda meta: (tl.cdiv(100_000, meta["BLOCK"]),)](x, 100_000)
    torch.cuda.synchronize()
    assert kernel.best_config.kwargs["TURNS"] == FAST
    assert torch.equal(x, expected)  # measured launches left no trace
    times = {
        config.kwargs["TURNS"]: time for config, time in kernel.configs_timings.items() if config.kwargs["BLOCK"] == 256
    }
    assert times[SLOW][0] > times[FAST][0]  # medians
    [(broken, reason)] = kernel.failures.items()
    assert broken.kwargs["BLOCK"] == 100 and "power of two" in reason


def test_results_on_disk_are_taken_by_the_next_tuner(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    x = torch.rand(1000, device="cuda")
    first = tuned(cache_results=True)
    first[(4,)](x, 1000)

    def must_not_run(call: Any, quantiles: Any) -> Any:
        raise AssertionError("measured again")

    second = tuned(cache_results=True, do_bench=must_not_run)
    second[(4,)](x, 1000)
    assert second.best_config == first.best_config
    assert second.configs_timings == first.configs_timings
    assert second.best_config.kwargs["TURNS"] == FAST


@tle2cuda.jit
def step(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    value = tl.load(x + (i + 1) % n)  # what other CTAs of the grid in front of this one wrote
    tl.store(x + n + i, value + 1)


@tle2cuda.jit
def back(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    tl.store(x + i, tl.load(x + n + i))


@pytest.mark.parametrize("in_graph", [False, True])
def test_dependent_grids_wait_for_each_other(torch: Any, in_graph: bool) -> None:
    n, block, turns = 1 << 18, 1024, 50
    x = torch.zeros(2 * n, device="cuda")
    start = torch.randint(0, 1000, (n,), device="cuda").float()

    def run() -> None:
        for _ in range(turns):
            step[(n // block,)](x, n, BLOCK=block, launch_pdl=True)
            back[(n // block,)](x, n, BLOCK=block, launch_pdl=True)

    run()
    x[:n] = start
    if in_graph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
        x[:n] = start
        graph.replay()
    else:
        run()
    torch.cuda.synchronize()
    assert torch.equal(x[:n], torch.roll(start, -turns) + turns)


@pytest.mark.parametrize("bench", [testing.do_bench, testing.do_bench_cudagraph])
def test_times_are_those_of_the_device(torch: Any, bench: Any) -> None:
    small, large = torch.zeros(1 << 10, device="cuda"), torch.zeros(1 << 28, device="cuda")
    times = [bench(lambda tensor=tensor: tensor.add_(1), rep=20) for tensor in (small, large)]
    assert times[0] < times[1]
    assert 0.1 < times[1] < 100  # 2 GiB move at less than 20 TB/s
