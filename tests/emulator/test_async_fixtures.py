"""Whole asynchronous kernels: right and silent under fifty seeds, for any number of iterations, and legal CUDA."""

from __future__ import annotations

import subprocess

import pytest

from tests.emulator.async_subjects import LAUNCHES, Launch, block_pipeline, cp_async_stencil, tma_pipeline
from tests.golden import nvcc_compile, nvrtc_compile
from tle2cuda.emulator import emulate, toolchain

DELIVERIES = ("late", "now", "random")


def check(launch: Launch, schedule: str, **options: object) -> None:
    emitted, ctas, args, verdict = launch
    for run in emulate(emitted, ctas, args, schedule=schedule, detect="all", **options).runs:
        assert not run.findings, f"{schedule} {run.seed}: {run.findings[0]}"
        assert not verdict(run.outputs), f"{schedule} {run.seed}: {verdict(run.outputs)}"


@pytest.mark.parametrize("name", LAUNCHES)
def test_silent_under_fifty_seeds(name: str) -> None:
    check(LAUNCHES[name](), "random", seeds=range(10 if name == "matmul" else 50))  # a run of it takes a second


@pytest.mark.parametrize("name", LAUNCHES)
def test_silent_with_switches_at_accesses(name: str) -> None:
    check(LAUNCHES[name](), "random", seeds=range(4), switch_at_accesses=2)


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("name", LAUNCHES)
def test_silent_under_every_delivery(name: str, delivery: str) -> None:
    for schedule in ("forward", "reverse"):
        check(LAUNCHES[name](), schedule, delivery=delivery)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 4, 7])
def test_any_number_of_iterations(steps: int) -> None:
    """A ring of three stages, two buffers, and a pipeline of two."""
    for schedule in ("forward", "reverse", "random"):
        check(tma_pipeline(steps, 1, ctas=1), schedule)
        check(cp_async_stencil(256 * steps, ctas=1), schedule)
        check(block_pipeline(steps), schedule)


def test_copies_stay_in_flight_as_long_as_they_may() -> None:
    """Delivered late, a copy that nothing waits for leaves the destination as it was; delivered at once it does not."""
    emitted, ctas, args, verdict = cp_async_stencil()
    source = emitted.source.replace("cp_async_wait<1>();", "                   ")
    assert source != emitted.source
    broken = type(emitted)(source, emitted.contract, ())
    late, now = (emulate(broken, ctas, args, delivery=delivery).runs[0] for delivery in ("late", "now"))
    assert verdict(late.outputs) and not verdict(now.outputs)


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_files_are_cuda_without_warnings(name: str) -> None:
    emitted, *_ = LAUNCHES[name]()
    nvrtc_compile(emitted.source, "sm_90a")
    nvcc_compile(emitted.source, "sm_90a")


def test_without_assembly_for_switching_fibers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no assembly for the processor, the C library's ucontext does the same."""
    monkeypatch.setattr(toolchain, "_RUNNER_FLAGS", (*toolchain._RUNNER_FLAGS, "-DTLE2CUDA_UCONTEXT"))
    symbols = subprocess.run(["nm", "-D", str(toolchain.build_runner())], capture_output=True, text=True, check=False)
    if symbols.returncode == 0:
        assert "swapcontext" in symbols.stdout and "tle2cuda_switch" not in symbols.stdout
    for launch in LAUNCHES.values():
        for schedule in ("forward", "random"):
            check(launch(), schedule)
