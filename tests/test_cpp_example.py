"""The C++ example: emitted files inside a CMake project, built without warnings and, on a GPU, run."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

from tests.devices import find_devices

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "examples" / "cpp"
PROGRAMS = ("vector_add", "moe_align")


def build(folder: pathlib.Path) -> pathlib.Path:
    """Configures and builds the example in `folder`; skips where there is no compiler for it."""
    for program in ("nvcc", "cmake"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (the C++ example is not built)")
    for command in (
        ["cmake", "-S", str(SOURCE), "-B", str(folder)],
        ["cmake", "--build", str(folder), "--parallel", "2"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_example_builds_without_warnings(tmp_path: pathlib.Path) -> None:
    build(tmp_path)
    assert all((tmp_path / program).exists() for program in PROGRAMS)


def test_example_is_skipped_without_a_gpu(tmp_path: pathlib.Path) -> None:
    devices = find_devices()
    if devices.capabilities:
        pytest.skip("there is a GPU")
    build(tmp_path)
    done = subprocess.run(["ctest", "-V"], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    for program in PROGRAMS:
        assert f"{program} (Skipped)" in done.stdout
    assert done.stdout.count(f"no GPU: {devices.why_none}") == len(PROGRAMS)


@pytest.mark.gpu
@pytest.mark.cluster
def test_example_computes_what_it_should(tmp_path: pathlib.Path) -> None:
    build(tmp_path)
    for program in PROGRAMS:
        done = subprocess.run([str(tmp_path / program)], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


def test_example_needs_no_python() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.*"))
    assert "python" not in text.replace("no Python", "").lower()
