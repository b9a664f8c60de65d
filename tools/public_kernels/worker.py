"""Compiles one record in the process that calls it, and says what became of it."""

from __future__ import annotations

import dataclasses
import importlib
import os
import re
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.public_kernels import extract
from tools.public_kernels.records import Record, constants, signature_entries

_LONGEST_DETAIL = 4000


@dataclass(slots=True)
class Outcome:
    """What became of a record.

    Attributes:
        status: ``passed``; ``refused`` with an error about the kernel; ``crashed`` by a fault of ours; ``timeout``;
            ``unavailable``, when the package or something that its module imports is not there.
        reason: One line that groups with those of the same cause.
        detail: The whole message.
        front_s: Seconds from the Python function to IR.
        passes_s: Seconds in passes.
        lowering_s: Seconds to the text.
        nvrtc_s: Seconds in NVRTC, from the text to the cubin.
        registers: Registers of a thread.
        spill_bytes: Bytes of registers spilled, per thread.
        local_bytes: Local memory of a thread.
        shared_bytes: Shared memory of a CTA.
        lines: Lines of the emitted file.
    """

    status: str
    reason: str = ""
    detail: str = ""
    front_s: float = 0.0
    passes_s: float = 0.0
    lowering_s: float = 0.0
    nvrtc_s: float = 0.0
    registers: int = 0
    spill_bytes: int = 0
    local_bytes: int = 0
    shared_bytes: int = 0
    lines: int = 0

    @property
    def total_s(self) -> float:
        """Seconds from the Python function to the cubin."""
        return self.front_s + self.passes_s + self.lowering_s + self.nvrtc_s

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return dataclasses.asdict(self)


def load_kernel(record: Record, root: Path, cache: Path) -> Any:
    """The record's jit object, made by Triton where it is installed, else by tle2cuda in its place."""
    provide_triton()
    folder = extract.extract(record, root, cache)
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    return importlib.import_module(f"{folder.name}.entry").KERNEL


def provide_triton() -> None:
    """Makes `import triton` work, with Triton or without."""
    import tle2cuda

    install = getattr(tle2cuda, "install", None)
    if install is not None:
        install()


def compile_record(record: Record, root: Path, cache: Path, arch: str, source_to: Path | None = None) -> Outcome:
    """Compiles a record to a cubin, past all caches.

    Args:
        record: What to compile.
        root: Folder of the packages.
        cache: Folder for the kernels cut out of them.
        arch: Target architecture.
        source_to: Where to write the emitted file; None writes none.
    """
    from tle2cuda.errors import InternalError, KernelError

    sys.setrecursionlimit(10000)  # packages have expressions that nest deeply
    try:
        kernel = load_kernel(record, root, cache)
    except (extract.NotFound, ImportError, AttributeError) as error:
        return Outcome("unavailable", f"{type(error).__name__}: {error}", traceback.format_exc()[-_LONGEST_DETAIL:])
    outcome = Outcome("passed")
    try:
        _compile(kernel, record, arch, outcome, source_to)
    except InternalError as error:
        _failed(outcome, "crashed", error)
    except KernelError as error:
        fault = type(error).__name__ == "DeviceCodeError"
        _failed(outcome, "crashed" if fault else "refused", error)
    except Exception as error:
        _failed(outcome, "crashed", error)
        outcome.detail = traceback.format_exc()[-_LONGEST_DETAIL:]
    return outcome


def _compile(kernel: Any, record: Record, arch: str, outcome: Outcome, source_to: Path | None) -> None:
    from tle2cuda.compiler import kernel_function, kernel_parameters, trace_specialized
    from tle2cuda.lowering import lower
    from tle2cuda.passes import pipeline
    from tle2cuda.runtime.build import check_resources, default_cache
    from tle2cuda.runtime.nvrtc import CompileOptions
    from tle2cuda.runtime.signature import parse_signature
    from tle2cuda.runtime.spills import compile_without_needless_spills

    start = time.perf_counter()
    name = kernel_function(kernel).__name__
    specialization = parse_signature(kernel_parameters(kernel), signature_entries(record), constants(record), name)
    traced = trace_specialized(kernel, specialization, num_warps=record.num_warps, arch=arch)
    traced_at = time.perf_counter()
    outcome.front_s = traced_at - start
    final, _ = pipeline.run(traced, None)
    passed_at = time.perf_counter()
    outcome.passes_s = passed_at - traced_at
    lowered = lower(final, headers="toolkit")
    lowered_at = time.perf_counter()
    outcome.lowering_s = lowered_at - passed_at
    outcome.lines = lowered.source.count("\n")
    outcome.shared_bytes = lowered.contract.shared_bytes
    if source_to is not None:
        source_to.parent.mkdir(parents=True, exist_ok=True)
        source_to.write_text(lowered.source)
    check_resources(lowered.contract, final.span)
    _, _, used = compile_without_needless_spills(
        lowered.source, f"{name}.cu", CompileOptions(arch), lowered.contract, lowered.line_map, final.span,
        default_cache().directory / "pch",
    )  # fmt: skip
    outcome.nvrtc_s = time.perf_counter() - lowered_at
    outcome.registers, outcome.local_bytes = used.registers, used.local_bytes
    outcome.spill_bytes = used.spill_store_bytes + used.spill_load_bytes


def _failed(outcome: Outcome, status: str, error: Exception) -> None:
    outcome.status = status
    outcome.detail = str(error)[:_LONGEST_DETAIL]
    first = next((e for e in getattr(error, "errors", ()) or ()), error)
    message = str(getattr(first, "message", "") or first).strip()
    outcome.reason = group(f"{type(first).__name__}: {message.splitlines()[0] if message else ''}")


def group(reason: str) -> str:
    """A reason without what differs between kernels: quoted names, shapes and numbers."""
    reason = re.sub(r"`(?!tl\.|tle\.)[^`]{1,80}`", "`...`", reason)
    reason = re.sub(r"\[[\d, x]+\]", "[...]", reason)
    return re.sub(r"\b\d+\b", "N", reason)[:160]


def silence() -> None:
    """Sends what kernels' modules print to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
