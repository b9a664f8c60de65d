"""`debug` and `sanitize_overflow`: what they compile in, who asks for them, and what a failed check says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda import cli
from tle2cuda.errors import DeviceAssertFailed
from tle2cuda.triton import knobs


@tle2cuda.jit
def positive(out, n):
    tl.device_assert(n > 0, "n is not positive")
    assert n != 7, "seven"
    tl.store(out, n)


def launch(kernel, n: int, device: str, monkeypatch: pytest.MonkeyPatch, **options) -> int:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    out = np.zeros(64, np.int32)
    kernel[(1,)](out, n, **options)
    return int(out[0])


def fresh(kernel, **options) -> tle2cuda.jit_function.JitFunction:
    return tle2cuda.jit(**options)(kernel.fn)


@pytest.mark.parametrize("n", [-1, 7])
def test_assertions_are_compiled_in_for_debugging_alone(n: int, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    said = "n is not positive" if n < 0 else "seven"
    assert launch(positive, n, "emulator", monkeypatch) == n
    with pytest.raises(DeviceAssertFailed, match=rf"test_debug_builds.py:\d+:\d+: tl.device_assert failed: {said}\n"):
        launch(positive, n, "emulator", monkeypatch, debug=True)
    assert f"tl.device_assert failed: {said} (CTA 0, 0, 0, thread " in capfd.readouterr().out
    assert launch(positive, 3, "emulator", monkeypatch, debug=True) == 3
    for device in ("interpreter", "eager"):  # which are for debugging
        with pytest.raises(AssertionError, match=said):
            launch(positive, n, device, monkeypatch)


def test_who_asks_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_them(kernel, **options) -> bool:
        return "assertion_failed" in tle2cuda.emit(kernel, "*i32, i32", **options).source

    monkeypatch.delenv("TRITON_DEBUG", raising=False)
    monkeypatch.delenv("TLE2CUDA_DEBUG", raising=False)
    asking = fresh(positive, debug=True)
    assert has_them(asking) and not has_them(asking, debug=False)
    assert has_them(positive, debug=True) and not has_them(positive)
    for name in ("TRITON_DEBUG", "TLE2CUDA_DEBUG"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert has_them(positive) and has_them(fresh(positive, debug=False)) and knobs.runtime.debug
            patch.setenv(name, "0")
            assert not has_them(positive)
    with knobs.runtime.scope():
        knobs.runtime.debug = True
        assert has_them(positive)
    knobs.runtime.reset()
    assert not has_them(positive) and not knobs.runtime.debug
    with pytest.raises(DeviceAssertFailed):
        launch(asking, -1, "emulator", monkeypatch)
    assert launch(asking, -1, "emulator", monkeypatch, debug=False) == -1
    found = tle2cuda.emulate(positive, 1, [np.zeros(1, np.int32), -1], debug=True).failed
    assert found is not None and (found.kind, found.message) == ("trap", "tl.device_assert failed: n is not positive")


def test_on_the_command_line(tmp_path, capsys) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("import tle2cuda.language as tl\ndef k(out, n):\n    assert n > 0\n    tl.store(out, n + 1)\n")
    arguments = ["compile", f"{file}::k", "--signature", "*i32, i32", "--dump-cu"]
    assert cli.main(arguments) == 0 and "assertion_failed" not in capsys.readouterr().out
    assert cli.main([*arguments, "--debug"]) == 0
    text = capsys.readouterr().out
    assert 'assertion_failed("n > 0", "kernel.py", 3)' in text and "if (!add_fits(n, 1)) assertion_failed(" in text


SCRIPT = """
import sys, numpy as np, triton, triton.language as tl
@triton.jit
def k(out, n):
    tl.device_assert(n > 0, "n is not positive")
    tl.store(out, n)
out = np.zeros(1, np.int32)
k[(1,)](out, -1)
print("stored", out[0])
"""


def test_scripts_are_debugged(tmp_path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tle2cuda", "run", "--on", "emulator"]
    clean = {name: value for name, value in os.environ.items() if name not in ("TRITON_DEBUG", "TLE2CUDA_DEBUG")}
    runs = [
        subprocess.run([*command, *options, tmp_path / "script.py"], env=clean, capture_output=True, text=True, check=False)
        for options in ((), ("--debug",))
    ]
    assert runs[0].returncode == 0 and runs[0].stdout == "stored -1\n", runs[0].stderr
    assert runs[1].returncode == 1 and "tl.device_assert failed: n is not positive" in runs[1].stdout


@tle2cuda.jit
def add(out, n):
    tl.store(out, n + 1)


@tle2cuda.jit
def negated(out, n):
    tl.store(out, -n)


@tle2cuda.jit
def scaled(out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, i * n)


@tle2cuda.jit
def unsigned(out, n):
    tl.store(out, (n.to(tl.uint32) - 5).to(tl.int32))


@tle2cuda.jit
def narrow(out, n):
    m = n.to(tl.int8)
    tl.store(out, (m * m).to(tl.int32))


@tle2cuda.jit
def summed(out, n):
    tl.store(out, tl.sum(tl.full((16,), n, tl.int32), axis=0))


@tle2cuda.jit
def running(out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.cumsum(tl.where(i < 2, n, 0 - n), 0))


@tle2cuda.jit
def multiplied(out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.cumprod(tl.where(i < 4, n, 0), 0))


@tle2cuda.jit
def divided_up(out, n):
    tl.store(out, tl.cdiv(n, 2))


@tle2cuda.jit
def stepped(out, n):
    total = n
    for _ in range(2):
        total += 1
    tl.store(out, total)


OVERFLOWS = [
    (add, 2**31 - 1, "int32 overflow detected for operation add"),
    (negated, -(2**31), "int32 overflow detected for operation sub"),
    (scaled, 1 << 28, "int32 overflow detected for operation mul"),
    (unsigned, 4, "int32 overflow detected for operation sub"),
    (narrow, 12, "int8 overflow detected for operation mul"),
    (summed, 1 << 27, "int32 overflow detected for operation add"),
    (running, 1 << 30, "int32 overflow detected for operation add"),
    (multiplied, 1 << 16, "int32 overflow detected for operation mul"),
    (divided_up, 2**31 - 1, "int32 overflow detected for operation add"),
    (stepped, 2**31 - 2, "int32 overflow detected for operation add"),
]


@pytest.mark.parametrize(("kernel", "n", "said"), OVERFLOWS, ids=lambda value: getattr(value, "__name__", ""))
def test_arithmetic_that_overflows_fails(kernel, n: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for device in ("interpreter", "eager"):
        with pytest.raises(DeviceAssertFailed, match=said):
            launch(kernel, n, device, monkeypatch, debug=True)
        launch(kernel, n, device, monkeypatch)
        launch(kernel, n, device, monkeypatch, debug=True, sanitize_overflow=False)
        launch(kernel, 7, device, monkeypatch, debug=True)
    with pytest.raises(DeviceAssertFailed, match=said):
        launch(kernel, n, "emulator", monkeypatch, debug=True)
    launch(kernel, 7, "emulator", monkeypatch, debug=True)


@tle2cuda.jit
def what_may(out, n):
    """Numbers of 64 bits, shifts, bits, functions told so, and what index ranges prove."""
    i = tl.arange(0, 16) * 2 + 1
    wide = n.to(tl.int64) * n * n * n * n
    told = tl.add(n, n, sanitize_overflow=False) + 0
    tl.store(out + i, (wide >> 32).to(tl.int32) + (n << 4) % 16 + told % 2 + (n ^ (n >> 3)) % 2)


def test_what_may_overflow() -> None:
    launched = np.zeros(64, np.int32)
    for run in (what_may.eager[(1,)], what_may[(1,)]):
        run(launched, 1 << 30, debug=True)
    text = tle2cuda.emit(what_may, "*i32, i32", debug=True).source
    body = text[text.index("__global__") :]
    assert "mul_fits" not in body  # the index is below 32, and the other products have 64 bits


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_the_check_is_right_at_every_edge(name: str, dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the operation of the IR says, against Python's integers."""
    from tle2cuda.ops.base import MEANINGS

    limits = np.iinfo(dtype)
    edges = sorted({limits.min, limits.min + 1, limits.min // 2, 0, 1, 2, 3, limits.max // 2, limits.max - 1, limits.max})
    a, b = (side.reshape(-1) for side in np.meshgrid(np.array(edges, dtype), np.array(edges, dtype)))
    exact = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y}[name]
    want = [limits.min <= exact(int(x), int(y)) <= limits.max for x, y in zip(a, b, strict=True)]
    operation = type("Op", (), {"attrs": {"fn": name}})()
    assert MEANINGS["fits"](None, operation, a, b).tolist() == want
