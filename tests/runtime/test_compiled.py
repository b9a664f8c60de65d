from __future__ import annotations

import pickle
import struct
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.devices import find_devices
from tests.runtime import samples
from tests.runtime.samples import Sample, pointer, scalar
from tle2cuda.errors import ArgumentError, LaunchError, OutOfResources, ToolchainError
from tle2cuda.ir.span import Span
from tle2cuda.runtime import CompileOptions, KernelCache, build, build_artifact, toolkit
from tle2cuda.runtime.launcher import _bf16_bits, convert_argument

cupy = pytest.importorskip("cupy")

needs_no_gpu = pytest.mark.skipif(not find_devices().why_not("gpu"), reason="tells what happens without a GPU")
needs_disassembler = pytest.mark.skipif(
    not (toolkit.find_tool("nvdisasm") or toolkit.find_tool("cuobjdump")),
    reason="no disassembler is installed",
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> KernelCache:
    return KernelCache(tmp_path_factory.mktemp("cache"))


def test_is_a_raw_kernel(cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    assert isinstance(kernel, cupy.RawKernel)
    assert type(kernel).__qualname__ == "CompiledKernel"
    assert kernel.name == kernel.__name__ == "add"
    assert kernel.source == kernel.code == samples.ADD_SOURCE
    assert kernel.contract is samples.ADD.contract
    assert kernel.report.registers > 0
    assert kernel.report.spill_store_bytes == 0
    assert kernel.source_path.read_text() == samples.ADD_SOURCE
    assert repr(kernel) == "<tle2cuda kernel add for sm_90a>"


def test_metadata(cache: KernelCache) -> None:
    cluster = build(samples.CLUSTER, cache=cache).metadata
    assert (cluster.cluster_dims, cluster.launch_cooperative_grid) == ((2, 1, 1), False)
    assert (cluster.num_warps, cluster.name, cluster.shared) == (1, "ranks", 0)
    shared = build(samples.SHARED, cache=cache).metadata
    assert shared.shared == samples.DYNAMIC_SHARED_BYTES
    assert shared.cluster_dims == (1, 1, 1)


def test_assembly(cache: KernelCache) -> None:
    asm = build(samples.ADD, cache=cache).asm
    assert list(asm) == ["cu", "ptx", "cubin", "sass"]
    assert asm["cu"] == samples.ADD_SOURCE
    assert ".visible .entry add(" in asm["ptx"]
    assert asm["cubin"].startswith(b"\x7fELF")
    with pytest.raises(KeyError):
        asm["llir"]


@needs_disassembler
def test_sass(cache: KernelCache) -> None:
    sass = build(samples.ADD, cache=cache).asm["sass"]
    assert "FADD" in sass
    assert "EXIT" in sass


def test_second_build_comes_from_the_cache(cache: KernelCache, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = replace(samples.ADD, source=samples.ADD_SOURCE + "// cached\n")
    first = build_artifact(sample, cache=cache)
    assert not first.from_cache
    monkeypatch.setattr("tle2cuda.runtime.nvrtc.compile_source", None)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        second = build_artifact(sample, cache=cache)
        best = min(best, time.perf_counter() - start)
    assert second.from_cache
    assert replace(second, from_cache=False) == first
    assert best < 0.020


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({}, CompileOptions("sm_90a", line_info=True)),
        ({"source_line": 2}, None),
        ({"target": "sm_80"}, None),
    ],
)
def test_cache_tells_kernels_apart(cache: KernelCache, change: dict[str, Any], options: Any) -> None:
    build_artifact(samples.ADD, cache=cache)
    sample = replace(samples.ADD, contract=replace(samples.ADD.contract, **change))
    first = build_artifact(sample, options=options, cache=cache)
    assert not first.from_cache
    assert build_artifact(sample, options=options, cache=cache).from_cache


def test_corrupt_cache_is_compiled_again(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    first = build_artifact(samples.ADD, cache=cache)
    (entry,) = tmp_path.rglob("*.kernel")
    entry.write_bytes(entry.read_bytes()[:-100])
    second = build_artifact(samples.ADD, cache=cache)
    assert not second.from_cache
    assert second.cubin == first.cubin
    assert build_artifact(samples.ADD, cache=cache).from_cache


def test_kernels_with_warnings_warn_again(tmp_path: Path) -> None:
    sample = replace(samples.ADD, source=samples.ADD_SOURCE.replace("    if", "    int unused;\n    if"))
    cache = KernelCache(tmp_path)
    for _ in range(2):
        with pytest.warns(UserWarning, match='variable "unused" was declared but never referenced'):
            build_artifact(sample, cache=cache)


def test_unwritable_cache_still_compiles(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(UserWarning, match="cannot write to the cache directory"):
        assert build_artifact(samples.ADD, cache=KernelCache(tmp_path / "file")).cubin


def test_pickling(cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    copy = pickle.loads(pickle.dumps(kernel))
    assert type(copy) is type(kernel)
    assert copy.asm["cubin"] == kernel.asm["cubin"]


@needs_no_gpu
def test_launch_without_a_gpu(cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    for use in (lambda: kernel((1,), (128,), (0, 0, 0, 1)), lambda: kernel.kernel, kernel.compile):
        with pytest.raises(ToolchainError) as info:
            use()
        assert info.value.message.startswith("no GPU: ")
        assert "use a machine with an NVIDIA driver, or pass NumPy arrays" in info.value.help


def test_block_must_be_the_contracts(cache: KernelCache) -> None:
    with pytest.raises(LaunchError) as info:
        build(samples.ADD, cache=cache)((1,), (256,), (0, 0, 0, 1))
    assert str(info.value) == (
        "add was compiled for 128 threads per CTA, launched with (256, 1, 1)\n  help: pass block=(128,)"
    )


def test_grid_must_hold_whole_clusters(cache: KernelCache) -> None:
    with pytest.raises(LaunchError) as info:
        build(samples.CLUSTER, cache=cache)((3,), (32,), (0,))
    assert str(info.value) == (
        "grid extent x = 3 is not a multiple of the cluster's 2 CTAs\n"
        "  cluster of ranks: (2, 1, 1)\n"
        "  help: k(grid, block, args) counts CTAs; kernel[grid] counts clusters"
    )


def with_contract(**fields: Any) -> Sample:
    return Sample(
        samples.ADD_SOURCE,
        replace(samples.ADD.contract, **fields),
        ((1, Span("moe.py", 12, 0, 12, 3)),),
    )


def test_too_much_shared_memory(cache: KernelCache) -> None:
    with pytest.raises(OutOfResources) as info:
        build(with_contract(shared_static_bytes=1000, dynamic_shared_bytes=232000), cache=cache)
    assert (info.value.required, info.value.limit, info.value.name) == (233000, 232448, "shared memory")
    assert str(info.value) == (
        "moe.py:12:1: out of resource: shared memory, required 233000, limit 232448\n"
        "  static 1000 + dynamic 232000 = 233000 bytes, limit 232448 on sm_90a\n"
        "  help: use smaller tiles, fewer stages, or reuse buffers"
    )


def test_too_many_threads(cache: KernelCache) -> None:
    with pytest.raises(OutOfResources, match="threads per CTA, required 2048, limit 1024"):
        build(with_contract(cta_threads=2048), cache=cache)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"cluster": (32, 1, 1)},
            "moe.py:12:1: a cluster of 32 x 1 x 1 = 32 CTAs is larger than the 16 that sm_90a allows\n"
            "  help: use at most 16 CTAs; up to 8 work on every GPU with clusters",
        ),
        (
            {"cluster": (2, 1, 1), "target": "sm_80"},
            "moe.py:12:1: add needs a cluster of 2 CTAs, which requires NVIDIA SM90+, not sm_80",
        ),
    ],
)
def test_cluster_too_large(cache: KernelCache, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(LaunchError) as info:
        build(with_contract(**fields), cache=cache)
    assert str(info.value) == message


def test_register_bound_is_checked(cache: KernelCache) -> None:
    with pytest.raises(ArgumentError, match="maxnreg is between 16 and 255 registers, got 8"):
        build(samples.ADD, options=CompileOptions("sm_90a", max_registers=8), cache=cache)


@pytest.mark.parametrize(
    ("spec", "value", "expected"),
    [
        (pointer("p", "fp32"), None, 0),
        (pointer("p", "fp32"), 4096, 4096),
        (scalar("s", "fp32"), 3, 3.0),
        (scalar("s", "i1"), 5, True),
        (scalar("s", "i8"), -128, -128),
        (scalar("s", "u64"), 2**64 - 1, 2**64 - 1),
    ],
)
def test_argument_conversion(spec: Any, value: Any, expected: Any) -> None:
    assert convert_argument(spec, value) == expected


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        (scalar("s", "i32"), 1.5, "`s` is i32, got float"),
        (scalar("s", "fp32"), "x", "`s` is fp32, got str"),
        (scalar("s", "i8"), 128, "`s` = 128 does not fit in i8"),
        (scalar("s", "u32"), -1, "`s` = -1 does not fit in u32"),
        (pointer("p", "i32"), 1.5, "`p` is a pointer, got float"),
    ],
)
def test_arguments_that_do_not_fit(spec: Any, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as info:
        convert_argument(spec, value)
    assert str(info.value) == message


def test_host_arrays_are_refused() -> None:
    np = pytest.importorskip("numpy")
    with pytest.raises(ArgumentError) as info:
        convert_argument(pointer("p", "fp32"), np.zeros(3))
    assert str(info.value) == ("`p` is an array in host memory; the GPU needs a torch or CuPy array on the device")


def test_bf16_rounds_to_nearest_even() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for value in (0.0, 1.0, 1.00390625, 1.01171875, -2.7, 3.4e38, 1e39, -1e39, 1e-40):
        expected = struct.unpack("<H", ml_dtypes.bfloat16(value).tobytes())[0]
        assert _bf16_bits(value) == expected
