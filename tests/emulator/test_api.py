"""`emulate` and launches that run in the emulator: arguments, results, options, errors."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.emulator.handwritten import handwritten
from tle2cuda.emulator import emulate, toolchain
from tle2cuda.errors import ArgumentError, DeviceCodeError, EmulationError, LaunchError, ToolchainError
from tle2cuda.runtime import device
from tle2cuda.runtime.cache import CacheWarning


@tle2cuda.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@tle2cuda.jit
def scale_without_mask(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * factor)


@tle2cuda.jit
def shout(x, f, b, n):
    i = tl.arange(0, 16)
    values = tl.load(f + tl.arange(0, 8))
    tl.device_print("begins")
    tl.device_print("", n)
    tl.device_print("both", n, values)
    tl.device_print("half", values.to(tl.float16))
    tl.device_print("bytes: ", tl.load(b + i), hex=True)
    tl.device_print("large", i[:, None].to(tl.uint64) - 3 + tl.arange(0, 2)[None, :])
    tl.device_print("mask", i > 8)


def arguments(n: int = 1000, dtype: object = np.float32) -> dict:
    return {"x": np.arange(n).astype(dtype), "out": np.zeros(n, dtype), "n": n, "factor": 3.0, "BLOCK": 256}


def test_a_jit_object_is_specialised_and_run() -> None:
    args = arguments()
    result = emulate(scale, 4, args)
    assert (result.check().outputs["out"] == 3 * args["x"]).all()
    assert not args["out"].any(), "the caller's arrays stay as they are"
    assert "scale.cu: emitted by tle2cuda" in result.source
    assert (result.runs[0].schedule, result.runs[0].seed) == ("forward", 0)


def test_an_emitted_kernel_is_run() -> None:
    emitted = tle2cuda.emit(scale, "*fp32, *fp32, i32, fp32, 128", num_warps=1)
    args = arguments(100)
    del args["BLOCK"]
    assert (emulate(emitted, 1, args).outputs["out"] == 3 * args["x"]).all()
    assert (emulate(emitted, (1, 1, 1), list(args.values())).outputs["out"] == 3 * args["x"]).all()


def test_bf16_arrays_and_numbers() -> None:
    result = emulate(scale, 4, arguments(dtype=ml_dtypes.bfloat16)).check()
    assert result.outputs["out"].dtype == ml_dtypes.bfloat16
    assert result.outputs["out"][100] == 300


def test_strided_and_overlapping_arrays_share_memory() -> None:
    memory = np.zeros(64, np.int32)
    body = "    a[threadIdx.x * 2] = threadIdx.x;\n    __syncthreads();\n    b[threadIdx.x] = a[2 * threadIdx.x] + 1;"
    args = {"a": memory[:32], "b": memory[1:63:2]}
    outputs = emulate(handwritten(body, args, threads=16), 1, args).check().outputs
    assert outputs["a"].strides == (4,) and outputs["b"].strides == (8,)
    assert outputs["a"][0] == 0 and outputs["a"][1] == 1


def test_seeds_give_a_run_each_and_are_reproducible() -> None:
    body = "    out[atomicAdd(next, 1)] = threadIdx.x + 32 * blockIdx.x;"
    args = {"next": np.zeros(1, np.int32), "out": np.zeros(128, np.int32)}
    kernel = handwritten(body, args)
    first, second = (emulate(kernel, 4, args, schedule="random", seeds=range(5)) for _ in range(2))
    orders = [tuple(run.outputs["out"]) for run in first.runs]
    assert orders == [tuple(run.outputs["out"]) for run in second.runs]
    assert len(set(orders)) == 5
    assert all(sorted(order) == list(range(128)) for order in orders)
    forward = emulate(kernel, 4, args).outputs["out"]
    reverse = emulate(kernel, 4, args, schedule="reverse").outputs["out"]
    assert forward.tolist() == list(range(128)) and reverse.tolist() == list(range(127, -1, -1))


def test_counters() -> None:
    result = emulate(scale, 4, arguments(1024), detect="counters")
    counters = result.counters
    assert (counters.global_loads.accesses, counters.global_stores.accesses) == (512, 512)  # two floats a thread and access
    assert counters.global_loads.bytes == counters.global_stores.bytes == 4096
    assert counters.shared_loads.requests == counters.barriers == 0


def test_a_finding_names_the_python_line() -> None:
    result = emulate(scale_without_mask, 4, arguments(), detect="all")
    # Whether the load or the store goes too far first depends on where the arrays lie; both are on one line.
    assert result.findings
    for finding in result.findings:
        assert finding.location.span.short().startswith("test_api.py:")
        assert "tl.store(out + i" in finding.location.span.source_line()
    with pytest.raises(EmulationError, match=r"test_api\.py:") as caught:
        result.check()
    assert caught.value.kind == "out_of_bounds"
    assert "of the emitted file" in str(caught.value)


def test_an_empty_grid_runs_nothing() -> None:
    assert not emulate(scale, 0, arguments()).outputs["out"].any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": "sideways"}, "schedule must be one of forward, reverse, random"),
        (
            {"detect": "ghosts"},
            "detect takes races, uninitialized, bounds, alignment, exit, counters, offsets and all, got 'ghosts'",
        ),
        ({"seeds": ()}, "seeds is empty"),
        ({"seeds": 4}, "seeds is a sequence of integers, got 4"),
        ({"seeds": "ab"}, "a seed is an integer, got 'a'"),
    ],
)
def test_wrong_options_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        emulate(scale, 4, arguments(), **change)


def test_wrong_arguments_are_refused() -> None:
    emitted = tle2cuda.emit(scale, "*fp32, *fp32, i32, fp32, 128")
    x = np.zeros(8, np.float32)
    with pytest.raises(ArgumentError, match="takes 4 arguments, 3 given"):
        emulate(emitted, 1, (x, x, 8))
    with pytest.raises(ArgumentError, match="argument x points to float32, the array holds float64"):
        emulate(emitted, 1, (x.astype(np.float64), x, 8, 1.0))
    with pytest.raises(ArgumentError, match="`n` is i32, got float"):
        emulate(emitted, 1, (x, x, 1.5, 1.0))
    with pytest.raises(ArgumentError, match="scale: factor is missing"):
        emulate(scale, 1, {"x": x, "out": x, "n": 8, "BLOCK": 128})


def test_a_grid_that_is_no_multiple_of_the_cluster() -> None:
    kernel = handwritten("", {"x": np.zeros(1, np.int32)}, cluster=(4, 1, 1))
    with pytest.raises(LaunchError, match="grid extent x = 6 is not a multiple of the cluster's 4 CTAs"):
        emulate(kernel, 6, {"x": np.zeros(1, np.int32)})


def test_text_that_does_not_compile() -> None:
    args = {"x": np.zeros(1, np.int32)}
    with pytest.raises(DeviceCodeError, match=r"refuses k.cu, emulated: k.cu:5:5: error: .*nonsense"):
        emulate(handwritten("    nonsense();", args), 1, args)


# ---- Launches ----


def test_launches_run_in_the_emulator_when_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    args = arguments()
    scale[(4,)](**args)
    assert (args["out"] == 3 * args["x"]).all()
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    args["out"][:] = 0
    scale[(4,)](**args)
    assert (args["out"] == 3 * args["x"]).all()


def test_launches_run_in_the_emulator_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLE2CUDA_DEVICE", raising=False)
    assert device.host_device() == "emulator"
    with pytest.raises(EmulationError):
        scale_without_mask[(100000,)](**arguments())


def test_without_a_compiler_launches_run_in_the_interpreter_and_say_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TLE2CUDA_DEVICE", raising=False)
    monkeypatch.setenv("TLE2CUDA_CXX", "no-such-compiler")
    device._note_no_compiler.cache_clear()
    args = arguments()
    with pytest.warns(RuntimeWarning, match="run in the interpreter.*no-such-compiler.* Install g") as caught:
        for _ in range(2):
            scale[(4,)](**args)
    assert len(caught) == 1
    assert (args["out"] == 3 * args["x"]).all()
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    scale.forget()
    with pytest.raises(ToolchainError, match=r"no-such-compiler.*not installed"):
        scale[(4,)](**args)


def test_faults_of_a_launch_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    args = arguments()
    with pytest.raises(EmulationError, match=r"an access to element \d+ of argument (x|out), which has \d+ elements?"):
        scale_without_mask[(100000,)](**args)


@tle2cuda.jit
def write(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i + 1, mask=i < n), mask=i < n)
    tl.store(out + i // 64, i, mask=i < n)


def test_launches_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accesses just outside of an array always, other faults when `TLE2CUDA_DETECT` names them.

    The C library has a function of the kernel's name, too.
    """
    monkeypatch.setenv("TLE2CUDA_DEVICE", "emulator")
    x, out = np.zeros((2, 100), np.float32)
    outside = "reads element 100 of argument x, which has 100 elements"
    for words in ("", "bounds", "alignment"):
        monkeypatch.setenv("TLE2CUDA_DETECT", words)
        with pytest.raises(EmulationError) as caught:
            write[(1,)](x, out, 100, BLOCK=128)
        assert (caught.value.kind, caught.value.message) == ("out_of_bounds", outside)
        assert caught.value.facts[-1] == "x: array float32[100]"
        assert caught.value.help == "mask the access: an element is never touched where the mask is False"
        assert not out.any(), "a launch that is at fault leaves no result"
    monkeypatch.setenv("TLE2CUDA_DETECT", "races, bounds")
    with pytest.raises(EmulationError) as caught:
        write[(1,)](x, out, 100, BLOCK=128)
    assert any(fact.startswith("and race: ") and "writes out[0]" in fact for fact in caught.value.facts)
    for words in ("races", "all,offsets"):
        monkeypatch.setenv("TLE2CUDA_DETECT", words)
        with pytest.raises(EmulationError) as caught:
            write[(1,)](np.zeros(101, np.float32)[:100], out, 64, BLOCK=64)
        assert caught.value.kind == "race"
    monkeypatch.setenv("TLE2CUDA_DETECT", "none")
    write[(1,)](x, out, 100, BLOCK=128)
    for words, message in (("racers", "got 'racers'"), ("none,races", "none stands alone"), ("counters", "got 'counters'")):
        monkeypatch.setenv("TLE2CUDA_DETECT", words)
        with pytest.raises(ArgumentError, match=f"TLE2CUDA_DETECT.*{message}"):
            write[(1,)](x, out, 100, BLOCK=128)


def test_ranges_of_a_grid_are_watched() -> None:
    args = arguments(1 << 16)
    args["out"] = args["out"][:-1]
    result = emulate(scale, 256, args)
    assert [(f.kind, f.count, f.cta) for f in result.findings] == [("out_of_bounds", 1, (255, 0, 0))]


def test_all_devices_print_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    floats = np.array([0, -0.0, 1.5, 1e-9, 3e7, np.inf, -np.inf, -np.nan], np.float32)
    printed = {}
    for name in ("interpreter", "eager", "emulator"):
        monkeypatch.setenv("TLE2CUDA_DEVICE", name)
        shout[(2,)](np.zeros(1, np.int32), floats, np.arange(-8, 8).astype(np.int8), 7)
        printed[name] = sorted(capsys.readouterr().out.splitlines())
    assert printed["eager"] == printed["interpreter"] == printed["emulator"]
    assert {
        "pid (1, 0, 0) begins",
        "pid (0, 0, 0) idx (): 7",
        "pid (0, 0, 0) idx () both: (operand 0) 7",
        "pid (0, 0, 0) idx (1) both: (operand 1) -0.000000",
        "pid (0, 0, 0) idx (2) half: 1.500000",
        "pid (0, 0, 0) idx ( 0) bytes: 0xfffffff8",
        "pid (0, 0, 0) idx (10) bytes: 0x02",
        "pid (0, 0, 0) idx ( 0, 1) large: 18446744073709551614",
        "pid (0, 0, 0) idx (15) mask: 1",
    } <= set(printed["emulator"])


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("cuda", "TLE2CUDA_DEVICE=cuda, but the arrays lie in host memory"),
        ("abacus", "TLE2CUDA_DEVICE must be one of cuda, emulator, interpreter, eager, got 'abacus'"),
    ],
)
def test_unknown_devices_are_refused(chosen: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", chosen)
    monkeypatch.setattr("tle2cuda.runtime.toolkit.require_gpu", lambda: None)
    with pytest.raises(LaunchError, match=message):
        scale[(4,)](**arguments())


def test_without_a_gpu_the_device_cuda_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_gpu() -> None:
        raise ToolchainError("no GPU: none")

    monkeypatch.setenv("TLE2CUDA_DEVICE", "cuda")
    monkeypatch.setattr("tle2cuda.runtime.toolkit.require_gpu", no_gpu)
    with pytest.raises(ToolchainError, match="no GPU: none"):
        scale[(4,)](**arguments())


# ---- The compiler and the cache ----


def test_a_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ToolchainError, match="no C\\+\\+ compiler is installed") as caught:
        toolchain.find_compiler()
    assert "apt install g++" in caught.value.help
    monkeypatch.setenv("TLE2CUDA_CXX", "no-such-compiler")
    with pytest.raises(ToolchainError, match="TLE2CUDA_CXX names 'no-such-compiler', which is not installed"):
        toolchain.find_compiler()


def test_compiled_kernels_are_cached(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    source = handwritten("    x[0] = 1;", {"x": np.zeros(1, np.int32)}).source
    assert [toolchain.build_kernel(source, "k", "sm_90a").from_cache for _ in range(2)] == [False, True]
    assert not toolchain.build_kernel(source + "// changed", "k", "sm_90a").from_cache


@pytest.mark.parametrize("damage", [b"", b"junk"])
def test_a_damaged_cache_is_built_anew(damage: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    source = handwritten("    x[0] = 1;", {"x": np.zeros(1, np.int32)}).source
    library = toolchain.build_kernel(source, "k", "sm_90a")
    library.path.write_bytes(damage)
    again = toolchain.build_kernel(source, "k", "sm_90a")
    assert not again.from_cache and again.path == library.path and again.path.read_bytes()[:4] == b"\x7fELF"
    assert toolchain.build_kernel(source, "k", "sm_90a").from_cache


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    source = handwritten("    x[0] = 2;", {"x": np.zeros(1, np.int32)}).source
    assert toolchain.build_kernel(source, "k", "sm_90a").path.exists()


def test_importing_the_emulator_is_light() -> None:
    code = "import sys, tle2cuda.emulator; print([m for m in ('numpy', 'cupy', 'jinja2') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_a_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", "/dev/null/cache")
    with pytest.warns(CacheWarning, match="/dev/null/cache cannot be written: the emulator is built anew in every process"):
        folder = toolchain._private_directory.__wrapped__()
    folder.rmdir()
