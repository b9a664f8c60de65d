"""From an emitted ``.cu`` to a cubin with NVRTC, on machines with or without a GPU.

Kernels that include large headers (cooperative groups, CUB) are compiled in a helper process with precompiled
headers that last on disk (`nvrtc_worker`); all others, and those when that cannot be done, in this process
through CuPy.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle2cuda.errors import ArgumentError, DeviceCodeError, OutOfResources, ToolchainError
from tle2cuda.runtime import toolkit
from tle2cuda.runtime.cache import digest
from tle2cuda.runtime.cubin import complete_cubin
from tle2cuda.runtime.waiting import waiting
from tle2cuda.targets import parse_target

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

LineMap = Sequence[tuple[int, "Span"]]

_LARGE_HEADERS = ("cooperative_groups", "cub/", "cuda/", "thrust/")
_SMALL_HEADERS = ("cuda/ptx",)  # 0.09 s, less than what a helper process costs
_PCH_VERSION = (12, 8)
_PCH_KEPT = 12  # files of up to 190 MB, one for each set of headers, target and options
_PCH_FREE_BYTES = 1 << 30
_WORKER = Path(__file__).with_name("nvrtc_worker.py")
_WORKER_TIMEOUT_S = 300.0

_DIAGNOSTIC = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?P<kind>catastrophic error|error|warning)(?: #[\w-]+)?: (?P<text>.*)$"
)
_PTXAS = re.compile(r"^ptxas (?P<where>.*?)(?P<kind>error|fatal|warning)\s*: (?P<text>.*)$")
_MISSING_HEADER = re.compile(r'cannot open source file "([^"]+)"')
_TOO_MUCH_SHARED = re.compile(r"uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)")


class DeviceCodeWarning(UserWarning):
    """NVRTC or ptxas warned about an emitted file."""


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of one compilation.

    Attributes:
        arch: Architecture such as ``sm_90a``.
        line_info: Keep the lines of the emitted file for profilers and sanitizers.
        fuse_multiply_add: Let the compiler contract a * b + c.
        max_registers: Most registers of a thread; None leaves it to ptxas and the launch bounds.
    """

    arch: str
    line_info: bool = False
    fuse_multiply_add: bool = True
    max_registers: int | None = None

    def flags(self) -> tuple[str, ...]:
        """Flags of NVRTC, include directories left out."""
        flags = [f"-arch={self.arch}", "--std=c++17", "--ptxas-options=-v"]
        # CUB 2.8 deprecates names that it still uses itself; nvcc hides that, as it treats its headers as
        # system's.
        flags.append("-DCCCL_IGNORE_DEPRECATED_API")
        if self.line_info:
            flags.append("-lineinfo")
        if not self.fuse_multiply_add:
            flags.append("--fmad=false")
        if self.max_registers is not None:
            flags.append(f"--maxrregcount={self.max_registers}")
        return tuple(flags)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of NVRTC or ptxas.

    Attributes:
        kind: ``error`` or ``warning``.
        file: File that it is about; empty for ptxas.
        line: Line in that file; 0 for ptxas.
        text: The message.
    """

    kind: str
    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What a compilation gave.

    Attributes:
        cubin: Machine code.
        ptx: PTX text.
        log: Output of NVRTC and ptxas.
        warnings: Warnings about the emitted file itself.
        used_pch: A precompiled header was used.
    """

    cubin: bytes
    ptx: str
    log: str
    warnings: tuple[Diagnostic, ...]
    used_pch: bool


def parse_log(log: str) -> Iterator[Diagnostic]:
    """Messages in the output of NVRTC, in order."""
    for line in log.replace("\0", "").splitlines():
        match = _DIAGNOSTIC.match(line)
        if match:
            kind = "warning" if match["kind"] == "warning" else "error"
            yield Diagnostic(kind, match["file"], int(match["line"]), match["text"])
            continue
        match = _PTXAS.match(line)
        if match:
            kind = "warning" if match["kind"] == "warning" else "error"
            where = match["where"].strip(" ;,")
            yield Diagnostic(kind, "", 0, f"ptxas: {match['text']}" + (f" ({where})" if where else ""))


def span_of_line(line_map: LineMap, line: int) -> Span | None:
    """Place in the user's source that an emitted line comes from: the last entry at or before it."""
    found = None
    for cu_line, span in line_map:
        if cu_line > line:
            break
        found = span
    return found


def include_prefix(source: str) -> str:
    """The preprocessor directives before the first code, which is what a precompiled header holds."""
    directives, in_comment = [], False
    for line in source.splitlines():
        text = line.strip()
        if in_comment or text.startswith("/*"):
            in_comment = "*/" not in text
        elif text.startswith("#"):
            directives.append(text)
        elif text and not text.startswith("//"):
            break
    while directives and not directives[-1].startswith("#include"):
        directives.pop()
    return "".join(f"{directive}\n" for directive in directives)


def wants_pch(prefix: str) -> bool:
    """Whether a header of `prefix` is large enough for a precompiled header to pay."""
    headers = re.findall(r'#include\s*[<"]([^>"]+)[>"]', prefix)
    return any(h.startswith(_LARGE_HEADERS) and h not in _SMALL_HEADERS for h in headers)


def compile_source(
    source: str,
    path: str,
    options: CompileOptions,
    line_map: LineMap = (),
    kernel_span: Span | None = None,
    pch_directory: Path | None = None,
) -> CompileResult:
    """Compile an emitted file.

    Args:
        source: CUDA text.
        path: Where the text is kept; NVRTC's messages and line information name it.
        options: Options.
        line_map: Lines of the text with the places in the user's source they come from, ascending.
        kernel_span: The kernel's definition, for messages about no line.
        pch_directory: Where precompiled headers are kept; None compiles without them.

    Raises:
        DeviceCodeError: NVRTC or ptxas refuses the text.
        OutOfResources: ptxas finds too much shared memory used.
        ToolchainError: NVRTC or a header is missing, or NVRTC is too old for the architecture.
    """
    parse_target(options.arch)
    nvrtc = toolkit.require_nvrtc()
    flags = [*options.flags(), *(f"-I{directory}" for directory in toolkit.include_directories())]
    outcome = None
    prefix = include_prefix(source)
    limit_s = _apart_limit_s.get()
    if pch_directory is not None and wants_pch(prefix) and _pch_possible(pch_directory):
        outcome = _compile_with_pch(source, path, flags, prefix, pch_directory)
    if outcome is None and limit_s is not None and toolkit.nvrtc_library() and sys.executable:
        outcome = _compile_in_worker(_request(source, path, flags), limit_s)
    if outcome is None:
        outcome = _compile_in_process(nvrtc, source, path, flags)
    status, log, cubin, ptx, used_pch = outcome
    diagnostics = list(parse_log(log))
    if status:
        raise _failure(log, diagnostics, path, source, options, line_map, kernel_span)
    ours = tuple(d for d in diagnostics if d.kind == "warning" and d.file in (path, ""))
    return CompileResult(cubin, ptx.decode(errors="replace"), log, ours, used_pch)


def warn_about(diagnostics: Sequence[Diagnostic], path: str, line_map: LineMap) -> None:
    """Show the warnings of a compilation as Python warnings at the user's line; those of no line, at the kernel's first."""
    for diagnostic in diagnostics:
        span = span_of_line(line_map, diagnostic.line) if diagnostic.line else line_map[0][1] if line_map else None
        at = f" (line {diagnostic.line} of {path})" if diagnostic.line else f" ({path})"
        file, line = (span.file, span.line) if span else (path, diagnostic.line or 1)
        warnings.warn_explicit(f"{diagnostic.text}{at}", DeviceCodeWarning, file, line)


_Outcome = tuple[int, str, bytes, bytes, bool]

_apart_limit_s: contextvars.ContextVar[float | None] = contextvars.ContextVar("apart_limit_s", default=None)


@contextlib.contextmanager
def compile_apart(limit_s: float) -> Iterator[None]:
    """Compilations inside run in processes of their own: several at once, and none can take this process down.

    Args:
        limit_s: Seconds after which one is given up.
    """
    token = _apart_limit_s.set(limit_s)
    try:
        yield
    finally:
        _apart_limit_s.reset(token)


def _compile_in_process(nvrtc: Any, source: str, path: str, flags: Sequence[str]) -> _Outcome:
    """Compile through CuPy's binding: status, log, cubin, PTX, whether a precompiled header was used."""
    program = nvrtc.createProgram(source, path, (), ())
    try:
        status = 0
        try:
            nvrtc.compileProgram(program, tuple(flags))
        except nvrtc.NVRTCError as error:
            match = re.search(r"\((\d+)\)", str(error))
            status = int(match[1]) if match else -1
        log = nvrtc.getProgramLog(program).rstrip("\0")
        if status:
            return status, log or "NVRTC gave no message", b"", b"", False
        cubin = complete_cubin(bytes(nvrtc.getCUBIN(program)))
        return 0, log, cubin, _text_bytes(nvrtc.getPTX(program)), False
    finally:
        nvrtc.destroyProgram(program)


def _text_bytes(text: str | bytes) -> bytes:
    """PTX without its terminating zero; CuPy gives text or bytes depending on its version."""
    return (text.encode() if isinstance(text, str) else text).rstrip(b"\0")


def _pch_possible(directory: Path) -> bool:
    """Whether precompiled headers can be made and kept here."""
    if os.environ.get("TLE2CUDA_PCH", "1") in ("0", "off", "no"):
        return False
    if not sys.platform.startswith("linux") or not sys.executable or not toolkit.nvrtc_library():
        return False
    if toolkit.nvrtc_version() < _PCH_VERSION:
        return False
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return os.access(directory, os.W_OK) and shutil.disk_usage(directory).free > _PCH_FREE_BYTES
    except OSError:
        return False


def _compile_with_pch(source: str, path: str, flags: Sequence[str], prefix: str, directory: Path) -> _Outcome | None:
    """Compile in a helper process with a precompiled header; None when that fails for whatever reason."""
    # The warnings a header causes depend on the flags too, so every flag counts.
    key = digest(toolkit.nvrtc_identity(), toolkit.nvrtc_library(), prefix, *flags)
    pch = directory / f"{key[:32]}.pch"
    with contextlib.suppress(OSError):
        if pch.exists():
            os.utime(pch)  # the least recently used files go first
        else:
            _evict(directory)
    limit_s = _apart_limit_s.get()
    explained = waiting("precompiling CUDA's headers for this kernel and others like it, once")
    with explained if limit_s is None and not pch.exists() else contextlib.nullcontext():
        outcome = _compile_in_worker(_request(source, path, flags, pch, prefix), limit_s)
    if outcome is not None and outcome[0]:  # the header may be damaged: what NVRTC says without it counts
        with contextlib.suppress(OSError):
            pch.unlink(missing_ok=True)
        return None
    return outcome


def _request(source: str, path: str, flags: Sequence[str], pch: Path | None = None, prefix: str = "") -> dict[str, Any]:
    """What a helper process is asked; see `nvrtc_worker`."""
    return {
        "library": toolkit.nvrtc_library(),
        "pch": str(pch or ""),
        "prefix": prefix,
        "source": source,
        "name": path,
        "options": list(flags),
    }


def _compile_in_worker(request: dict[str, Any], limit_s: float | None) -> _Outcome | None:
    """Compile in a helper process; None when there is none to be had.

    Args:
        request: The request.
        limit_s: Seconds that it may take. With a limit, exceeding it or crashing is an error; without one it
            is as if there were no helper process.

    Raises:
        DeviceCodeError: The compiler took too long, or crashed.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(_WORKER)],
            input=json.dumps(request).encode(),
            capture_output=True,
            timeout=_WORKER_TIMEOUT_S if limit_s is None else limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        if limit_s is None:
            return None
        raise DeviceCodeError(
            f"compiling took longer than {limit_s:g} s and was given up", facts=(f"emitted file: {request['name']}",)
        ) from None
    except OSError:
        return None
    if done.returncode < 0 and limit_s is not None:
        raise DeviceCodeError(
            f"the compiler was ended by signal {-done.returncode}", facts=(f"emitted file: {request['name']}",)
        )
    line, _, blobs = done.stdout.partition(b"\n")
    try:
        reply = json.loads(line)
        cubin, ptx = blobs[: reply["cubin"]], blobs[reply["cubin"] :]
        if done.returncode or len(ptx) != reply["ptx"]:
            return None
    except (ValueError, KeyError):
        return None
    if reply["status"]:
        return int(reply["status"]), reply["log"] or "NVRTC gave no message", b"", b"", False
    return 0, _without_pch_messages(reply["log"]), complete_cubin(cubin), ptx, bool(reply["used"])


def _evict(directory: Path) -> None:
    """Make room for one more precompiled header."""
    files = sorted(directory.glob("*.pch"), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in files[_PCH_KEPT - 1 :]:
        file.unlink(missing_ok=True)


def _without_pch_messages(log: str) -> str:
    """The log without NVRTC's remarks about precompiled headers, which are no fault of the kernel."""
    return "\n".join(line for line in log.splitlines() if "precompiled header" not in line)


def _failure(
    log: str,
    diagnostics: Sequence[Diagnostic],
    path: str,
    source: str,
    options: CompileOptions,
    line_map: LineMap,
    kernel_span: Span | None,
) -> Exception:
    """The error to raise for a failed compilation, mapped to the user's source."""
    if "--gpu-architecture" in log:
        major, minor = toolkit.nvrtc_version()
        known = ", ".join(f"sm_{arch}" for arch in toolkit.require_nvrtc().getSupportedArchs())
        return ToolchainError(
            f"NVRTC {major}.{minor} cannot compile for {options.arch}",
            facts=(f"it supports {known}",),
            help="install another CUDA version, or compile for one of these architectures",
        )
    errors = [d for d in diagnostics if d.kind == "error"]
    if not errors:
        return DeviceCodeError(f"NVRTC failed on the emitted file: {log.strip()}", kernel_span, (f"file: {path}",))
    first = errors[0]
    missing = _MISSING_HEADER.search(first.text)
    if missing:
        return ToolchainError(
            f"the CUDA header {missing[1]} is missing",
            facts=(f"searched: {', '.join(toolkit.include_directories())}", f"included by {path}"),
            help=toolkit.missing_header_help(missing[1]),
        )
    shared = _TOO_MUCH_SHARED.search(first.text)
    if shared:
        return OutOfResources(
            int(shared[1], 16), int(shared[2], 16), "static shared memory", kernel_span, (f"file: {path}",)
        )
    lines = source.splitlines()
    facts = []
    for error in errors[:10]:
        if error.file == path and error.line <= len(lines):
            facts.append(f"line {error.line} of the emitted file: {lines[error.line - 1].strip()}")
        if error is not first:
            facts.append(f"and {error.text}")
    facts.append(f"emitted file: {path}")
    span = (span_of_line(line_map, first.line) if first.file == path else None) or kernel_span
    where = "ptxas" if not first.file else "NVRTC"
    text = first.text.removeprefix("ptxas: ")
    return DeviceCodeError(f"{where} refused the emitted file: {text}", span, facts)


def validate_options(options: CompileOptions) -> None:
    """Refuse options that NVRTC would not take.

    Raises:
        ArgumentError: The architecture is unknown, or the register bound is out of range.
    """
    parse_target(options.arch)
    if options.max_registers is not None and not 16 <= options.max_registers <= 255:
        raise ArgumentError(f"maxnreg is between 16 and 255 registers, got {options.max_registers}")
