"""The host's C++ compiler: finding it, building the runner once, building a library for each kernel.

What is built lies in the cache directory under a digest of everything it depends on, beside the cubins. A library is
written under another name and renamed, so that processes can share the directory.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tle2cuda.emulator.translate import architecture_macro, translation_unit
from tle2cuda.errors import DeviceCodeError, ToolchainError
from tle2cuda.runtime.cache import CacheWarning, default_cache_dir, digest
from tle2cuda.runtime.frames import warn_user
from tle2cuda.runtime.waiting import waiting
from tle2cuda.version import __version__

COMPILER_VARIABLE = "TLE2CUDA_CXX"

_HERE = Path(__file__).resolve().parent
_SEAL = "seal"  # beside what is built, for telling what was damaged
_MOST_DIGESTED_BYTES = 16 << 20
_INCLUDE = _HERE / "include"
_RUNTIME = _HERE / "runtime"
_PRELUDE = "tle2cuda_emulator.h"
_CANDIDATES = ("g++", "clang++", "c++")
_MIN_VERSIONS = {"gcc": 11, "clang": 12}  # the first that tell volatile accesses apart

_RUNNER_FLAGS = ("-std=c++17", "-O2", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off", "-fPIE")
_KERNEL_FLAGS = (
    "-std=c++17",
    "-O1",
    "-g1",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    "-fno-exceptions",
    "-fno-math-errno",
    # CUDA's arithmetic: integers wrap, nothing is fused that the text does not fuse; pointers to other types may alias.
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    # Every access calls one of ours (runtime/callbacks.cpp); the sanitizer's own library is not linked.
    "-fsanitize=thread",
    "-w",
)
_COMPILER_FLAGS = {
    # A vector access stays one access: scalar replacement would make four loads of a float4. Clang has no such option.
    "gcc": ("-fno-tree-sra", "--param=tsan-distinguish-volatile=1", "-fstack-usage"),
    # A loop without end that does nothing is a finding, not undefined.
    "clang": (
        "-fno-finite-loops",
        "-mllvm",
        "-tsan-distinguish-volatile=1",
        "-mllvm",
        "-tsan-instrument-func-entry-exit=0",
        "-fstack-usage",
    ),
}
# Copies of blocks, which compilers leave to the library, come by like other accesses (runtime/callbacks.cpp).
_LINK_FLAGS = tuple(f"-Wl,--wrap={name}" for name in ("memcpy", "memmove", "memset"))

MIN_STACK_BYTES = 64 * 1024
_CALLS_BYTES = 32 * 1024  # what printf and signal-free library calls may need below a kernel's own frames


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler.

    Attributes:
        path: The program.
        kind: ``gcc`` or ``clang``.
        identity: What distinguishes it from others, for cache keys.
    """

    path: str
    kind: str
    identity: str


@dataclass(frozen=True, slots=True)
class KernelLibrary:
    """A compiled emulation.

    Attributes:
        path: The shared library.
        file: Name of the emitted file in its debug information.
        stack_bytes: Stack that one thread needs.
        from_cache: It was there already.
    """

    path: Path
    file: str
    stack_bytes: int
    from_cache: bool


def find_compiler() -> Compiler:
    """The compiler that `TLE2CUDA_CXX` names, or the first of g++, clang++, c++ on PATH.

    Raises:
        ToolchainError: There is none, or it is too old.
    """
    named = os.environ.get(COMPILER_VARIABLE)
    for name in (named,) if named else _CANDIDATES:
        path = shutil.which(name)
        if path:
            return _identify(path)
    missing = f"{COMPILER_VARIABLE} names {named!r}, which is not installed" if named else "no C++ compiler is installed"
    raise ToolchainError(
        f"{missing}; the emulator compiles kernels for the CPU with it",
        facts=(f"looked for: {', '.join((named,) if named else _CANDIDATES)}",),
        help="install g++ 11 or clang++ 12 or later (apt install g++, dnf install gcc-c++), or set "
        f"{COMPILER_VARIABLE}; TLE2CUDA_DEVICE=interpreter runs kernels without a compiler",
    )


@functools.cache
def _identify(path: str) -> Compiler:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    first = done.stdout.splitlines()[0] if done.stdout else ""
    kind = "clang" if "clang" in first else "gcc"
    found = re.search(r"(\d+)\.\d+", re.sub(r"\(.*?\)", "", first)) or re.search(r"(\d+)\.\d+", first)
    if done.returncode or found is None:
        raise ToolchainError(f"{path} does not work as a C++ compiler: {(done.stderr or done.stdout).strip()[:200]}")
    if int(found[1]) < _MIN_VERSIONS[kind]:
        raise ToolchainError(
            f"{path} is {first}; the emulator needs {kind} {_MIN_VERSIONS[kind]} or later",
            help=f"install a newer one, or set {COMPILER_VARIABLE}",
        )
    return Compiler(path, kind, f"{first} {os.path.realpath(path)}")


@functools.cache
def _sources_identity(folder: Path) -> str:
    """Digest of all files below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return digest(*(part for path in files for part in (str(path.relative_to(folder)), path.read_bytes())))


def build_runner() -> Path:
    """The runner's executable, built unless it is there.

    Raises:
        ToolchainError: There is no C++ compiler, or it refuses the runner's sources.
    """
    compiler = find_compiler()
    key = digest(
        __version__, compiler.identity, " ".join(_RUNNER_FLAGS), _sources_identity(_RUNTIME), _sources_identity(_INCLUDE)
    )

    def build(folder: Path) -> None:
        sources = sorted(_RUNTIME.glob("*.cpp"))

        def compile_one(source: Path) -> Path:
            target = folder / f"{source.stem}.o"
            extra = ("-frounding-math",) if source.stem == "rounding" else ()
            _run([compiler.path, *_RUNNER_FLAGS, *extra, "-c", str(source), "-o", str(target)], "the emulator's runner")
            return target

        with ThreadPoolExecutor(max(os.cpu_count() or 1, 1)) as pool:
            objects = list(pool.map(compile_one, sources))
        names = [str(path) for path in objects]
        # The kernel's library finds the runner's functions in the executable.
        _run([compiler.path, "-rdynamic", "-pie", *names, "-o", str(folder / "runner"), "-ldl"], "the emulator's runner")
        for path in objects:
            path.unlink()

    with waiting("building the emulator, once: 20 s and more"):
        return _cached(key, "runner", build)[0]


def build_kernel(source: str, kernel: str, target: str, watches_overflow: bool = False) -> KernelLibrary:
    """The library of an emitted file, built unless it is there.

    Args:
        source: The emitted file.
        kernel: Name of its kernel.
        target: Architecture that it was emitted for.
        watches_overflow: Signed arithmetic that wraps calls the runner, which notes a finding.

    Raises:
        ToolchainError: There is no C++ compiler.
        DeviceCodeError: The compiler refuses the text.
        NotSupported: The text holds what the emulator cannot execute.
    """
    compiler = find_compiler()
    file = f"{kernel}.cu"
    text = translation_unit(source, kernel)
    flags = (*_KERNEL_FLAGS, *_COMPILER_FLAGS[compiler.kind], architecture_macro(target))
    if watches_overflow:  # it wraps all the same; what is defined to wrap is not watched
        flags = (*(flag for flag in flags if flag != "-fwrapv"), "-fsanitize=signed-integer-overflow")
    key = digest(__version__, compiler.identity, " ".join((*flags, *_LINK_FLAGS)), _sources_identity(_INCLUDE), text)

    def build(folder: Path) -> None:
        (folder / file).write_text(text, encoding="utf-8")
        prelude = [f"-I{path}" for path in (*_precompiled(compiler, flags), _INCLUDE)]
        command = [compiler.path, *flags, *prelude, "-include", _PRELUDE]
        _run([*command, "-x", "c++", "-c", file, "-o", "kernel.o"], f"{file}, emulated", folder, file)
        _run([compiler.path, "-shared", *_LINK_FLAGS, "kernel.o", "-o", "kernel.so"], f"{file}, emulated", folder)
        (folder / "kernel.o").unlink()

    path, from_cache = _cached(key, "kernel.so", build)
    return KernelLibrary(path, file, _stack_bytes(path.with_name("kernel.su")), from_cache)


def _precompiled(compiler: Compiler, flags: Sequence[str]) -> tuple[Path, ...]:
    """The folder of the prelude's precompiled header: it takes half of the time off a kernel (0.20 s to 0.09 s).

    GCC takes a header `NAME.gch` in place of `NAME` where it finds one first. Clang needs other options for as much, and
    goes without.
    """
    if compiler.kind != "gcc":
        return ()
    key = digest("header", __version__, compiler.identity, " ".join(flags), _sources_identity(_INCLUDE))

    def build(folder: Path) -> None:
        header, target = str(_INCLUDE / _PRELUDE), str(folder / f"{_PRELUDE}.gch")
        _run([compiler.path, *flags, f"-I{_INCLUDE}", "-x", "c++-header", header, "-o", target], "the emulator's headers")

    return (_cached(key, f"{_PRELUDE}.gch", build)[0].parent,)


def _stack_bytes(usage: Path) -> int:
    """Stack for one thread: as if every function were called from every other, and room for library calls."""
    frames = 0
    with contextlib.suppress(OSError):
        frames = sum(int(line.split("\t")[1]) for line in usage.read_text().splitlines() if line.count("\t") >= 2)
    return -(-max(MIN_STACK_BYTES, frames + _CALLS_BYTES) // 4096) * 4096


def _seal(folder: Path, result: str) -> str:
    """The sizes of a folder's files, and the digest of the one that is wanted unless that would take long."""
    sizes = [f"{file.name} {file.stat().st_size}" for file in sorted(folder.iterdir()) if file.name != _SEAL]
    wanted = folder / result
    contents = digest(wanted.read_bytes()) if wanted.stat().st_size <= _MOST_DIGESTED_BYTES else ""
    return "\n".join([*sizes, contents])


def _is_whole(folder: Path, result: str) -> bool:
    try:
        return (folder / _SEAL).read_text() == _seal(folder, result)
    except (OSError, ValueError):
        return False


def _cached(key: str, result: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """A file in a folder of the cache named by a key; `build` fills the folder when it is missing or damaged."""
    home = default_cache_dir() / "emulator"
    folder = home / key[:2] / key
    if _is_whole(folder, result):
        return folder / result, True
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".tmp-"))
    except OSError:  # a cache that cannot be written costs time, nothing else
        folder = _private_directory() / key
        if _is_whole(folder, result):
            return folder / result, True
        temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".tmp-"))
    try:
        build(temporary)
        (temporary / _SEAL).write_text(_seal(temporary, result))
        if folder.exists() and not _is_whole(folder, result):  # who has it open keeps it
            damaged = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".tmp-"))
            with contextlib.suppress(OSError):
                os.rename(folder, damaged)
            shutil.rmtree(damaged, ignore_errors=True)
        with contextlib.suppress(OSError):  # another process was quicker
            os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder / result, False


@functools.cache
def _private_directory() -> Path:
    """A folder of this process alone, removed when it ends."""
    import atexit

    warn_user(
        f"{default_cache_dir()} cannot be written: the emulator is built anew in every process, which takes 20 s and more "
        "(set TLE2CUDA_CACHE_DIR to a writable directory)",
        CacheWarning,
    )
    path = Path(tempfile.mkdtemp(prefix="tle2cuda-emulator-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _run(command: Sequence[str], what: str, folder: Path | None = None, file: str = "") -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
    error = DeviceCodeError if file else ToolchainError
    raise error(
        f"{os.path.basename(command[0])} refuses {what}: {lines[0] if lines else f'exit code {done.returncode}'}",
        facts=tuple(lines[1:6]),
    )
