"""The shell scripts of tools/: they parse as POSIX sh, run from any folder, and say what is missing."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "tools").glob("*.sh"))


def run_script(name: str, *arguments: str, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", str(ROOT / "tools" / name), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_is_posix_shell(script: pathlib.Path) -> None:
    shell = shutil.which("dash") or "/bin/sh"
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_given_interpreter_that_does_not_exist_is_named(tmp_path: pathlib.Path) -> None:
    done = run_script("test.sh", cwd=tmp_path, TLE2CUDA_PYTHON="no-such-python")
    assert done.returncode == 3
    assert done.stderr == "test.sh: TLE2CUDA_PYTHON=no-such-python is not a program\n"


def test_machine_without_python_is_told_what_to_install(tmp_path: pathlib.Path) -> None:
    """In a copy without a .venv, and with a PATH that has the basic tools but no Python."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for program in ("dirname", "basename", "cat", "cksum"):
        found = shutil.which(program)
        assert found
        (tools / program).symlink_to(found)
    copy = tmp_path / "copy" / "tools"
    copy.mkdir(parents=True)
    for script in SCRIPTS:
        shutil.copy(script, copy)
    environment = {"PATH": str(tools), "HOME": str(tmp_path)}
    command = ["/bin/sh", str(copy / "test.sh")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("test.sh: needs Python 3.10 or later, and none of python3, ")


def test_gpu_check_refuses_unknown_options(tmp_path: pathlib.Path) -> None:
    done = run_script("gpu_check.sh", "--frobnicate", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("gpu_check.sh: unknown option --frobnicate\n")


def test_demo_script_runs_from_any_folder(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("rich", reason="rich is not installed (the demo's table)")
    done = run_script("demo.sh", "--help", cwd=tmp_path, TLE2CUDA_PYTHON=sys.executable)
    assert done.returncode == 0, done.stderr
    assert "--on" in done.stdout


def test_demo_runs_the_emitted_files_in_the_emulator(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("rich", reason="rich is not installed (the demo's table)")
    options = ("--on", "emulator", "--tokens", "600", "--kernels", "cluster")
    done = run_script("demo.sh", *options, cwd=tmp_path, TLE2CUDA_PYTHON=sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"cluster +emulator +3/3 ", done.stdout)
    assert "the emitted CUDA ran on the CPU, in the emulator (as asked for)" in " ".join(done.stdout.split())


def test_demo_without_a_compiler_runs_in_the_interpreter(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("rich", reason="rich is not installed (the demo's table)")
    hidden = {"TLE2CUDA_PYTHON": sys.executable, "TLE2CUDA_CXX": "no-such-compiler", "CUDA_VISIBLE_DEVICES": ""}
    done = run_script("demo.sh", "--tokens", "600", "--kernels", "single_cta", cwd=tmp_path, **hidden)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"single_cta +interpreter +3/3 ", done.stdout)
    done = run_script("demo.sh", "--on", "emulator", cwd=tmp_path, **hidden)
    assert done.returncode == 3
    assert "apt install g++" in " ".join(done.stdout.split())


def test_demo_refuses_an_unknown_kernel(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("rich", reason="rich is not installed (the demo's table)")
    done = run_script("demo.sh", "--kernels", "quick_sort", cwd=tmp_path, TLE2CUDA_PYTHON=sys.executable)
    assert done.returncode == 2
    assert "demo.py: error: no kernel quick_sort; there are four_kernel, " in done.stderr
