"""Markers that say what hardware a test needs, the options of the suite, and its closing lines."""

from __future__ import annotations

import collections
import os
import pathlib
import re

import pytest

from tests import UPDATE_GOLDEN_VARIABLE
from tests.devices import find_devices

DEVICE_MARKERS = {
    "gpu": "needs an NVIDIA GPU",
    "cluster": "needs a GPU with thread block clusters (compute capability 9.0)",
    "multigpu": "needs at least two GPUs",
}

INTERPRETER_SUITES = {"analysis", "frontend", "interpreter", "ir", "kernels", "layout", "lowering", "ops", "passes"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tle2cuda")
    group.addoption("--update-golden", action="store_true", help="rewrite tests/golden/*.cu to what is emitted now")
    group.addoption("--require-gpu", action="store_true", help="fail instead of skipping when there is no GPU")


def pytest_configure(config: pytest.Config) -> None:
    for marker, meaning in DEVICE_MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}; skipped where there is none")
    # By the environment, because xdist's workers and subprocesses of tests inherit it.
    if config.getoption("--update-golden"):
        os.environ[UPDATE_GOLDEN_VARIABLE] = "1"
    if config.getoption("--require-gpu") and (reason := find_devices().why_not("gpu")):
        raise pytest.UsageError(f"--require-gpu: {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in DEVICE_MARKERS:
            if item.get_closest_marker(marker) and (reason := find_devices().why_not(marker)):
                item.add_marker(pytest.mark.skip(reason=reason))
                break


@pytest.fixture(autouse=True)
def interpreter_for_its_suites(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches on NumPy arrays mean the interpreter in suites that are about the language; elsewhere, what users get."""
    suite = request.path.relative_to(pathlib.Path(__file__).parent).parts[0]
    if suite in INTERPRETER_SUITES and not any(request.node.get_closest_marker(marker) for marker in DEVICE_MARKERS):
        monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was not tested on this machine and why, one line a reason: the last thing a reader sees."""
    skipped: collections.Counter[str] = collections.Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        skipped[re.sub(r"^Skipped: ", "", reason)] += 1
    if not skipped:
        return
    terminalreporter.section("not tested on this machine")
    for reason, count in sorted(skipped.items(), key=lambda entry: (-entry[1], entry[0])):
        terminalreporter.write_line(f"{count:5d} skipped: {reason}")
