from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest

from tests.runtime import samples
from tle2cuda.errors import ArgumentError, DeviceCodeError, OutOfResources, ToolchainError
from tle2cuda.ir.span import Span
from tle2cuda.runtime import nvrtc, toolkit
from tle2cuda.runtime.nvrtc import CompileOptions, Diagnostic, compile_source

pytest.importorskip("cupy")

OPTIONS = CompileOptions("sm_90a")


@pytest.fixture
def kernel_file(tmp_path: Path) -> Path:
    path = tmp_path / "sample.py"
    path.write_text("def add(x, y, out, n):\n    i = index()\n    out[i] = x[i] + y[i]\n")
    return path


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_compiles_for_every_target_without_a_gpu(arch: str) -> None:
    result = compile_source(samples.ADD_SOURCE, "add.cu", CompileOptions(arch))
    assert result.cubin.startswith(b"\x7fELF")
    assert f".target {arch}" in result.ptx
    assert result.warnings == ()


def test_same_input_same_bytes() -> None:
    first, second = (compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS) for _ in range(2))
    assert first.cubin == second.cubin


def test_options_reach_nvrtc() -> None:
    plain = compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS)
    lined = compile_source(samples.ADD_SOURCE, "add.cu", CompileOptions("sm_90a", line_info=True))
    assert ".loc" in lined.ptx
    assert ".loc" not in plain.ptx
    assert CompileOptions("sm_90a", fuse_multiply_add=False, max_registers=64).flags()[-2:] == (
        "--fmad=false",
        "--maxrregcount=64",
    )


def test_errors_name_the_python_line(kernel_file: Path) -> None:
    source = samples.ADD_SOURCE.replace("x[i] + y[i]", "x[i] + z[i]")
    line_map = ((4, Span(str(kernel_file), 1, 4, 1, 7)), (7, Span(str(kernel_file), 3, 4, 3, 24)))
    with pytest.raises(DeviceCodeError) as info:
        compile_source(source, "/cache/add.cu", OPTIONS, line_map)
    assert str(info.value) == (
        'sample.py:3:5: NVRTC refused the emitted file: identifier "z" is undefined\n'
        "\n"
        "  3 |     out[i] = x[i] + y[i]\n"
        "    |     ^^^^^^^^^^^^^^^^^^^^\n"
        "  line 7 of the emitted file: if (i < n) out[i] = x[i] + z[i];\n"
        "  emitted file: /cache/add.cu"
    )


def test_several_errors_are_listed() -> None:
    source = samples.ADD_SOURCE.replace("x[i] + y[i]", "x[i] + z[i]").replace("blockIdx.x", "blockIdx.w")
    with pytest.raises(DeviceCodeError) as info:
        compile_source(source, "add.cu", OPTIONS)
    assert "line 6 of the emitted file" in str(info.value)
    assert 'and identifier "z" is undefined' in str(info.value)


def test_ptxas_errors_are_reported() -> None:
    source = 'extern "C" __global__ void k() { asm volatile("bogus.instruction;"); }\n'
    with pytest.raises(DeviceCodeError, match="ptxas refused the emitted file"):
        compile_source(source, "k.cu", OPTIONS)


def test_too_much_static_shared_memory() -> None:
    source = (
        'extern "C" __global__ void k(int* out) { __shared__ int a[100000]; a[threadIdx.x] = out[0]; '
        "__syncthreads(); out[threadIdx.x] = a[threadIdx.x ^ 1]; }\n"
    )
    with pytest.raises(OutOfResources) as info:
        compile_source(source, "k.cu", OPTIONS)
    assert info.value.required == 400000
    assert info.value.limit in (48 * 1024, 227 * 1024)  # from NVRTC 13 on static shared memory may exceed 48 KiB


def test_missing_header_says_what_to_install() -> None:
    with pytest.raises(ToolchainError) as info:
        compile_source("#include <cub/no_such.cuh>\n" + samples.ADD_SOURCE, "add.cu", OPTIONS)
    assert str(info.value).startswith("the CUDA header cub/no_such.cuh is missing\n  searched: ")
    assert info.value.help.startswith("pip install nvidia-cuda-cccl")


def test_missing_header_behind_a_precompiled_one(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"the CUDA header cub/no_such\.cuh is missing"):
        compile_source("#include <cub/no_such.cuh>\n" + samples.ADD_SOURCE, "add.cu", OPTIONS, pch_directory=tmp_path)


def test_architecture_that_nvrtc_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompileOptions, "flags", lambda self: ("-arch=sm_999",))
    with pytest.raises(ToolchainError, match=r"NVRTC \d+\.\d+ cannot compile for sm_90a\n  it supports sm_"):
        compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS)


def test_unknown_target() -> None:
    with pytest.raises(ArgumentError, match="unknown target architecture 'sm_1'"):
        compile_source(samples.ADD_SOURCE, "add.cu", CompileOptions("sm_1"))


def test_warnings_name_the_python_line(kernel_file: Path) -> None:
    source = samples.ADD_SOURCE.replace("    if (i < n)", "    int unused;\n    if (i < n)")
    result = compile_source(source, "/cache/add.cu", OPTIONS)
    assert result.warnings == (
        Diagnostic("warning", "/cache/add.cu", 7, 'variable "unused" was declared but never referenced'),
    )
    with pytest.warns(nvrtc.DeviceCodeWarning) as seen:
        nvrtc.warn_about(result.warnings, "/cache/add.cu", ((4, Span(str(kernel_file), 2)),))
    assert str(seen[0].message) == 'variable "unused" was declared but never referenced (line 7 of /cache/add.cu)'
    assert (seen[0].filename, seen[0].lineno) == (str(kernel_file), 2)


def test_warnings_inside_toolkit_headers_are_not_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compile_source(samples.BLOCK_SCAN.source, "scan.cu", OPTIONS).warnings == ()


def test_include_prefix() -> None:
    source = (
        "// a comment\n\n/* another\n#include <no.h>\n*/\n#include <a.h>\n#define X 1\n"
        "#include <b.h>\n#pragma once\nint x;\n#include <c.h>\n"
    )
    assert nvrtc.include_prefix(source) == "#include <a.h>\n#define X 1\n#include <b.h>\n"
    assert nvrtc.include_prefix("int x;\n") == ""


@pytest.mark.parametrize(
    ("header", "large"),
    [
        ("cub/block/block_scan.cuh", True),
        ("cooperative_groups.h", True),
        ("cooperative_groups/reduce.h", True),
        ("cuda/atomic", True),
        ("cuda/ptx", False),
        ("cuda_fp16.h", False),
    ],
)
def test_headers_worth_precompiling(header: str, large: bool) -> None:
    assert nvrtc.wants_pch(f"#include <{header}>\n") is large


def test_precompiled_headers_give_the_same_code(tmp_path: Path) -> None:
    if not nvrtc._pch_possible(tmp_path):
        pytest.skip("this NVRTC or system has no precompiled headers")
    source = samples.BLOCK_SCAN.source
    plain = compile_source(source, "scan.cu", OPTIONS)
    assert not plain.used_pch
    first = compile_source(source, "scan.cu", OPTIONS, pch_directory=tmp_path)
    second = compile_source(source, "scan.cu", OPTIONS, pch_directory=tmp_path)
    if not second.used_pch:
        pytest.skip("address space randomisation cannot be switched off here")
    assert first.cubin == second.cubin == plain.cubin
    assert first.log.replace("\0", "").splitlines()[:4] == second.log.splitlines()[:4]
    (pch,) = tmp_path.glob("*.pch")
    for damaged in (b"damaged", pch.read_bytes()[:5000], pch.read_bytes()[: pch.stat().st_size // 2], b""):
        pch.write_bytes(damaged)
        assert compile_source(source, "scan.cu", OPTIONS, pch_directory=tmp_path).cubin == plain.cubin


def test_cold_compiles_are_quick(tmp_path: Path) -> None:
    def best_s(sample: samples.Sample) -> float:
        times = []
        for _ in range(3):
            start = time.perf_counter()
            result = compile_source(sample.source, "k.cu", OPTIONS, pch_directory=tmp_path)
            times.append(time.perf_counter() - start)
        if sample is samples.COOPERATIVE and not result.used_pch:
            pytest.skip("this NVRTC or system has no precompiled headers")
        return min(times)

    assert best_s(samples.ADD) < 0.3
    assert best_s(samples.COOPERATIVE) < 1


def test_precompiled_headers_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_PCH", "0")
    compile_source(samples.COOPERATIVE.source, "total.cu", OPTIONS, pch_directory=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_broken_helper_process_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    result = compile_source(samples.COOPERATIVE.source, "total.cu", OPTIONS, pch_directory=tmp_path)
    assert not result.used_pch


def test_old_precompiled_headers_make_room(tmp_path: Path) -> None:
    for index in range(20):
        (tmp_path / f"{index}.pch").write_text("")
    nvrtc._evict(tmp_path)
    assert len(list(tmp_path.iterdir())) == nvrtc._PCH_KEPT - 1


def test_missing_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(ToolchainError, match="CuPy"):
        toolkit.require_cupy()


def test_missing_nvrtc(monkeypatch: pytest.MonkeyPatch) -> None:
    from cupy_backends.cuda.libs import nvrtc as binding

    class Broken:
        @staticmethod
        def getVersion() -> None:
            raise RuntimeError("libnvrtc.so.12: cannot open shared object file")

    import cupy_backends.cuda.libs as libs

    monkeypatch.setattr(libs, "nvrtc", Broken)
    toolkit.require_nvrtc.cache_clear()
    try:
        with pytest.raises(ToolchainError) as info:
            toolkit.require_nvrtc()
    finally:
        toolkit.require_nvrtc.cache_clear()
    assert binding.getVersion()
    assert "NVRTC cannot be loaded: libnvrtc.so.12: cannot open shared object file" in str(info.value)
    assert "pip install nvidia-cuda-nvrtc" in info.value.help


def test_missing_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit, "_header_candidates", lambda major: iter([[Path("/nowhere"), Path("/nowhere/cccl")]]))
    toolkit.include_directories.cache_clear()
    try:
        with pytest.raises(ToolchainError) as info:
            toolkit.include_directories()
    finally:
        toolkit.include_directories.cache_clear()
    assert info.value.message == "the CUDA headers (cuda_runtime.h, cuda_fp16.h) are missing"
    assert "pip install nvidia-cuda-runtime" in info.value.help
    assert "CUDA_HOME" in info.value.help


def test_headers_of_a_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    include = tmp_path / "include"
    (include / "cccl" / "cuda" / "std").mkdir(parents=True)
    for name in ("cuda_runtime.h", "cuda_fp16.h", "cccl/cuda/std/type_traits"):
        (include / name).write_text("")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setattr(toolkit, "_site_roots", lambda: iter(()))
    toolkit.include_directories.cache_clear()
    try:
        assert toolkit.include_directories() == (str(include), str(include / "cccl"))
        assert toolkit.has_cccl()
    finally:
        toolkit.include_directories.cache_clear()


def test_missing_disassembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolkit, "find_tool", lambda name: None)
    with pytest.raises(ToolchainError) as info:
        toolkit.require_tool("nvdisasm", "cuobjdump")
    assert str(info.value) == (
        "nvdisasm or cuobjdump is not installed; it is needed to show SASS\n"
        "  help: pip install nvidia-cuda-nvdisasm or nvidia-cuda-cuobjdump, "
        "or put a CUDA toolkit's bin directory on PATH"
    )


def test_compiling_apart_gives_the_same(tmp_path: Path, kernel_file: Path) -> None:
    here = compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS)
    with nvrtc.compile_apart(60):
        apart = compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS)
        assert (apart.cubin, apart.ptx) == (here.cubin, here.ptx)
        with pytest.raises(DeviceCodeError, match='identifier "z" is undefined'):
            compile_source(samples.ADD_SOURCE.replace("x[i] + y[i]", "x[i] + z[i]"), "add.cu", OPTIONS)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ("import time\ntime.sleep(60)\n", "compiling took longer than 0.5 s and was given up"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "the compiler was ended by signal 11"),
    ],
    ids=["slow", "crashing"],
)
def test_compilers_that_hang_or_crash_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: str, message: str
) -> None:
    (tmp_path / "worker.py").write_text(worker)
    monkeypatch.setattr(nvrtc, "_WORKER", tmp_path / "worker.py")
    with nvrtc.compile_apart(0.5 if "sleep" in worker else 30), pytest.raises(DeviceCodeError) as caught:
        compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS)
    assert str(caught.value) == f"{message}\n  emitted file: add.cu"


def test_without_a_helper_process_this_one_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "worker.py").write_text("print('no reply')\n")
    monkeypatch.setattr(nvrtc, "_WORKER", tmp_path / "worker.py")
    with nvrtc.compile_apart(30):
        assert compile_source(samples.ADD_SOURCE, "add.cu", OPTIONS).cubin
