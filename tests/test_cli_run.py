"""`tle2cuda run`: scripts in a process of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tle2cuda import cli
from tle2cuda.runtime.contract import LaunchContract

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path / "cache"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main([str(a) for a in arguments])
    out, err = capsys.readouterr()
    return code, out, err


SCRIPT = """\
import sys

import numpy as np
import tle2cuda
import tle2cuda.language as tl
from tle2cuda.runtime.device import host_device


@tle2cuda.jit
def twice(x):
    i = tl.arange(0, 32)
    tl.store(x + i, 2 * tl.load(x + i))


x = np.arange(32, dtype=np.int32)
twice[(1,)](x)
print(host_device(), x[31], sys.argv[1:], __name__)
if "--fail" in sys.argv:
    raise ValueError("as asked for")
sys.exit(7)
"""


def run_script(tmp_path: Path, *arguments: str, text: str = SCRIPT, **environment: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(text)
    command = [sys.executable, "-m", "tle2cuda", "run", *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)


@pytest.mark.parametrize("device", ["emulator", "interpreter", "eager"])
def test_run_on_a_device(tmp_path: Path, device: str) -> None:
    done = run_script(tmp_path, "--on", device, "script.py", "--on", "7")
    assert done.stdout == f"{device} 62 ['--on', '7'] __main__\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_run_of_a_module(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text("import sys, triton; print(sys.argv[1:], triton.__version__, __package__)")
    done = run_script(tmp_path, "--on", "eager", "-m", "package", "--on", "x")
    assert (done.returncode, done.stdout, done.stderr) == (0, "['--on', 'x'] 3.6.0 package\n", "")
    done = run_script(tmp_path, "pytest", "x")
    assert (done.returncode, done.stderr) == (
        2,
        "tle2cuda: cannot read the script 'pytest': No such file or directory\n"
        "  help: to run a module: tle2cuda run -m pytest\n",
    )


def test_run_says_what_to_detect(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    script.write_text("")
    environments: list[dict[str, str]] = []

    def start(path: str, command: list[str], environment: dict[str, str]) -> None:
        environments.append(environment)
        raise SystemExit(0)

    monkeypatch.setattr("os.execve", start)
    for words, expected in ((["--detect", "bounds,races"], "bounds,races"), ([], None)):
        run(capsys, "run", *words, str(script))
        assert environments.pop().get("TLE2CUDA_DETECT") == expected
    code, _, err = run(capsys, "run", "--detect", "bounds,ghosts", str(script))
    assert code == 2 and err.startswith("tle2cuda: --detect takes races, uninitialized, bounds, ") and "'ghosts'" in err
    code, _, err = run(capsys, "run", "--on", "eager", "--detect", "races", str(script))
    assert (code, err) == (
        2,
        "tle2cuda: --detect is for the emulator, and kernels are to run on eager\n  help: use --on emulator\n",
    )


def test_run_shows_the_tracebacks_of_the_script_alone(tmp_path: Path) -> None:
    done = run_script(tmp_path, "--on", "interpreter", "script.py", "--fail")
    assert done.returncode == 1
    assert re.fullmatch(
        r"Traceback \(most recent call last\):\n  File \".*script\.py\", line 19, in <module>\n    raise .*\n"
        r"ValueError: as asked for\n",
        done.stderr,
    )


def test_run_writes_the_emitted_files(tmp_path: Path) -> None:
    done = run_script(tmp_path, "--on", "emulator", "--dump-cu", "files", "script.py")
    assert (done.returncode, done.stderr) == (7, "")
    (text,) = (tmp_path / "files").glob("*.cu")
    assert "__global__" in text.read_text()
    assert LaunchContract.from_json(text.with_suffix(".json").read_text()).kernel_name in text.name
    (tmp_path / "taken").write_text("")
    done = run_script(tmp_path, "--on", "emulator", "--dump-cu", "taken", "script.py")
    assert (done.returncode, done.stderr) == (2, "tle2cuda: cannot write to taken: it is a file, not a folder\n")


def test_run_without_a_compiler(tmp_path: Path) -> None:
    done = run_script(tmp_path, "--on", "emulator", "script.py", TLE2CUDA_CXX="no-such-compiler")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("TLE2CUDA_CXX names 'no-such-compiler', which is not installed")
    assert "apt install g++" in done.stderr
    done = run_script(tmp_path, "script.py", TLE2CUDA_CXX="no-such-compiler", TLE2CUDA_DEVICE="")
    assert (done.returncode, done.stdout) == (7, "interpreter 62 [] __main__\n")
    assert done.stderr.count("kernels on NumPy arrays run in the interpreter, not as their emitted CUDA: ") == 1
