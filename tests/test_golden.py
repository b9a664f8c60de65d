"""Every golden file: as emitted now, the same under any hash seed, and compiled for every target."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from tests.golden import (
    GOLDEN_FOLDER,
    GOLDEN_TARGET,
    TARGETS,
    check_golden,
    golden_cases,
    nvcc_compile,
    nvrtc_compile,
    targets_of,
    uses_clusters,
)
from tle2cuda.runtime.sass import disassemble
from tools.shipped import ShippedKernel, shipped_kernels
from tools.shipped_async import asynchronous_kernels
from tools.shipped_products import product_kernels, warpgroup_kernels

ROOT = pathlib.Path(__file__).parents[1]
CASES = golden_cases()
FILES = sorted(path.stem for path in GOLDEN_FOLDER.glob("*.cu"))


@pytest.mark.parametrize("name", CASES)
def test_golden_case_is_emitted_as_kept(name: str) -> None:
    check_golden(name, CASES[name].emit(GOLDEN_TARGET))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", FILES)
def test_golden_file_compiles_without_warning(name: str, target: str) -> None:
    case = CASES.get(name)
    text = (GOLDEN_FOLDER / f"{name}.cu").read_text(encoding="utf-8")
    if target not in (case.targets if case else TARGETS) or target not in targets_of(text):
        return
    if case and target != GOLDEN_TARGET:
        text = case.emit(target)
    nvrtc_compile(text, target)


@pytest.mark.parametrize(
    "name",
    [kernel.name for kernel in (*shipped_kernels(), *asynchronous_kernels(), *product_kernels(), *warpgroup_kernels())],
)
def test_shipped_kernel_spills_nothing_and_builds_with_nvcc(name: str) -> None:
    text = (GOLDEN_FOLDER / f"{name}.cu").read_text(encoding="utf-8")
    for compiled in (nvrtc_compile(text, GOLDEN_TARGET), nvcc_compile(text, GOLDEN_TARGET)):
        assert (compiled.spill_bytes, compiled.stack_bytes, compiled.waits_for_products) == (0, 0, False)
        assert ("wgmma.mma_async" in text) == ("HGMMA" in disassemble(compiled.cubin))


@pytest.mark.parametrize("kernel", shipped_kernels(), ids=lambda kernel: kernel.name)
def test_shipped_kernel_also_compiles_with_toolkit_headers(kernel: ShippedKernel) -> None:
    nvrtc_compile(kernel.emit(GOLDEN_TARGET, headers="toolkit").source, GOLDEN_TARGET)


@pytest.mark.parametrize("name", FILES)
def test_golden_header_names_the_cluster_it_launches(name: str) -> None:
    text = (GOLDEN_FOLDER / f"{name}.cu").read_text(encoding="utf-8")
    assert uses_clusters(text) == ("__cluster_dims__" in text)


def test_every_golden_file_is_still_made_by_a_test() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/*.py"))
    orphans = [name for name in FILES if name not in CASES and name not in tests]
    assert not orphans, f"no test makes these any more; delete them: {orphans}"


def test_emission_does_not_depend_on_the_hash_seed() -> None:
    def digests(seed: str) -> str:
        command = [sys.executable, "-m", "tests.golden"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert digests("1") == digests("4242")


def test_artefacts_stay_in_the_repository(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_CACHE_DIR", str(tmp_path))
    nvrtc_compile('extern "C" __global__ void k(int* p) { p[0] = 3; }', GOLDEN_TARGET)
    assert not list(tmp_path.iterdir())


def test_targets_follow_the_header() -> None:
    header = "// k.cu: emitted by tle2cuda from k.py:1 (k).\n//\n//   target    sm_90a, 128 threads per CTA"
    assert targets_of(header) == TARGETS
    assert targets_of(f"{header}, cluster (8, 1, 1)") == ("sm_90a", "sm_100a", "sm_120")


def test_a_warning_fails_the_compile_check() -> None:
    text = 'extern "C" __global__ void k(int* p) { int unused; p[0] = 1; }'
    with pytest.raises(pytest.fail.Exception, match="unused"):
        nvrtc_compile(text, GOLDEN_TARGET)


def test_compile_check_reports_registers() -> None:
    compiled = nvrtc_compile('extern "C" __global__ void k(int* p) { p[threadIdx.x] = 1; }', GOLDEN_TARGET)
    assert compiled.registers > 0
    assert compiled.spill_bytes == compiled.stack_bytes == 0
