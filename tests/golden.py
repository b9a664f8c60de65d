"""Golden `.cu` files: what the emitter writes, kept in tests/golden/, reviewed and compiled.

Two ways in. `check_golden(name, text)` compares a text with `tests/golden/NAME.cu` from within any test.
`@golden_case("name")` on a function of a module in `tests/golden_cases/` does that and more: its text is also
emitted and compiled for every target, and emitted again by other processes with other hash seeds.

`pytest --update-golden` rewrites the files. `python -m tests.golden` prints one line `NAME DIGEST` a case.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import importlib
import os
import pathlib
import pkgutil
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable

import pytest

from tests import UPDATE_GOLDEN_VARIABLE
from tle2cuda.runtime.cache import KernelCache, digest
from tle2cuda.runtime.cubin import complete_cubin
from tle2cuda.runtime.toolkit import include_directories, nvrtc_identity, require_nvrtc

GOLDEN_FOLDER = pathlib.Path(__file__).parent / "golden"
ARTEFACTS_FOLDER = pathlib.Path(__file__).parents[1] / "build" / "golden"
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120")
GOLDEN_TARGET = "sm_90a"

_CXX_STANDARD = "c++17"


@dataclasses.dataclass(frozen=True, slots=True)
class GoldenCase:
    """One emitted file under watch: `emit(arch)` returns its text."""

    name: str
    emit: Callable[[str], str]
    targets: tuple[str, ...] = TARGETS


_CASES: dict[str, GoldenCase] = {}


def golden_case(name: str, targets: tuple[str, ...] = TARGETS) -> Callable[[Callable[[str], str]], Callable[[str], str]]:
    """Registers `emit(arch) -> text` as the golden case `name`, valid for `targets`."""

    def register(emit: Callable[[str], str]) -> Callable[[str], str]:
        if name in _CASES:
            raise ValueError(f"two golden cases are named {name!r}")
        _CASES[name] = GoldenCase(name, emit, targets)
        return emit

    return register


@functools.cache
def golden_cases() -> dict[str, GoldenCase]:
    """Every registered case by name, sorted, after importing all of tests/golden_cases/."""
    import tests.golden_cases as package

    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
    return dict(sorted(_CASES.items()))


def check_golden(name: str, text: str) -> None:
    """Fails with a diff unless tests/golden/NAME.cu holds exactly `text`; with --update-golden, writes it."""
    path = GOLDEN_FOLDER / f"{name}.cu"
    if os.environ.get(UPDATE_GOLDEN_VARIABLE):
        GOLDEN_FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    if not path.exists():
        pytest.fail(f"{path.name} does not exist yet: run pytest --update-golden and review it", pytrace=False)
    expected = path.read_text(encoding="utf-8")
    if text != expected:
        diff = difflib.unified_diff(
            expected.splitlines(), text.splitlines(), f"tests/golden/{path.name}", "emitted now", lineterm=""
        )
        pytest.fail(
            "\n".join(diff) + "\nIf the new text is right: pytest --update-golden, and review it.",
            pytrace=False,
        )


def uses_clusters(text: str) -> bool:
    """Whether the header of an emitted file (its `// target` line) asks for a cluster."""
    header = re.search(r"^//\s+target\s.*$", text, re.MULTILINE)
    return bool(header and "cluster" in header.group())


def targets_of(text: str) -> tuple[str, ...]:
    """The targets of TARGETS that can run an emitted file: those from sm_90 on when it uses clusters."""
    minimum = 90 if uses_clusters(text) else 80
    return tuple(target for target in TARGETS if int(re.sub(r"\D", "", target)) >= minimum)


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """A cubin with what ptxas said of it."""

    cubin: bytes
    registers: int
    spill_bytes: int
    stack_bytes: int
    waits_for_products: bool = False  # ptxas had each product of warpgroups wait for the one before
    product_notes: frozenset[str] = frozenset()  # all that ptxas says of products of warpgroups: C7511, C7519, ...


def nvrtc_compile(text: str, arch: str) -> Compiled:
    """Compiles a text with NVRTC, or takes the same text's result from the cache of an earlier run.

    Fails the calling test when NVRTC refuses the text or says anything but ptxas' resource lines.
    """
    pytest.importorskip("cupy", reason="CuPy is not installed")
    nvrtc = require_nvrtc()
    # NVRTC has no notion of system headers, so CUB's own use of what it deprecates would be reported as ours.
    quiet = "-DCCCL_IGNORE_DEPRECATED_API"
    includes = (f"-I{directory}" for directory in include_directories())
    options = (f"-arch={arch}", f"-std={_CXX_STANDARD}", "--ptxas-options=-v", quiet, *includes)
    version = nvrtc_identity()

    def build() -> tuple[bytes, str]:
        program = nvrtc.createProgram(text, "golden.cu", (), ())
        try:
            nvrtc.compileProgram(program, options)
        except nvrtc.NVRTCError:
            log = nvrtc.getProgramLog(program)
            pytest.fail(f"{version} refuses the text for {arch}:\n{log}", pytrace=False)
        result = complete_cubin(bytes(nvrtc.getCUBIN(program))), nvrtc.getProgramLog(program)
        nvrtc.destroyProgram(program)
        return result

    return _read(*_cached(version, text, options, build), f"{version} for {arch}")


def nvcc_compile(text: str, arch: str) -> Compiled:
    """Compiles a text as `nvrtc_compile` does, by nvcc with warnings as errors; skips without nvcc."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    options = (f"-arch={arch}", f"-std={_CXX_STANDARD}", "-Xptxas=-v", "-Werror=all-warnings")

    def build() -> tuple[bytes, str]:
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = pathlib.Path(folder, "golden.cu"), pathlib.Path(folder, "golden.cubin")
            source.write_text(text, encoding="utf-8")
            command = [nvcc, *options, "-cubin", "-o", str(cubin), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.fail(f"nvcc refuses the text for {arch}:\n{done.stdout}{done.stderr}", pytrace=False)
            return cubin.read_bytes(), done.stdout + done.stderr

    return _read(*_cached(f"nvcc {_nvcc_version(nvcc)}", text, options, build), f"nvcc for {arch}")


@functools.cache
def _nvcc_version(nvcc: str) -> str:
    return subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout


def _cached(
    compiler: str, text: str, options: tuple[str, ...], build: Callable[[], tuple[bytes, str]]
) -> tuple[bytes, str]:
    """The (cubin, log) of a successful build, kept by content digest across runs and between processes."""
    cache = KernelCache(ARTEFACTS_FOLDER)
    key = digest(compiler, *options, text)
    entry = cache.get(key)
    if entry is None:
        cubin, log = build()
        entry = {"cubin": cubin, "log": log.encode()}
        cache.put(key, entry)
    return entry["cubin"], entry["log"].decode()


def _read(cubin: bytes, log: str, where: str) -> Compiled:
    """Reads ptxas' resource lines, and fails on any other line: it is a warning."""
    expected = r"^ptxas info\s*:|^(ptxas\W*)?\s*\d+ bytes stack frame, |^\W*$"
    surprises = [line for line in log.splitlines() if not re.search(expected, line)]
    if surprises:
        pytest.fail(f"{where} says:\n" + "\n".join(surprises), pytrace=False)

    return Compiled(
        cubin,
        registers=_largest(r"Used (\d+) registers", log),
        spill_bytes=_largest(r"(\d+) bytes spill stores", log),
        stack_bytes=_largest(r"(\d+) bytes stack frame", log),
        waits_for_products="wgmma.mma_async instructions are serialized" in log,
        product_notes=frozenset(re.findall(r"\b(C75\d\d)\)", log)),
    )


def _largest(pattern: str, log: str) -> int:
    return max(map(int, re.findall(pattern, log)), default=0)


def main() -> None:
    """Prints the digest of every case's text, for comparison between processes."""
    for case in golden_cases().values():
        print(case.name, hashlib.sha256(case.emit(GOLDEN_TARGET).encode()).hexdigest())


if __name__ == "__main__":
    # By its real name, since the cases register themselves with `tests.golden`, not with `__main__`.
    importlib.import_module("tests.golden").main()
