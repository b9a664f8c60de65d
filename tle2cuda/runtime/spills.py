"""Spills that ptxas does not need, undone by other launch bounds.

Without a number of CTAs in its bounds ptxas may keep a kernel to a few registers, 72 say, so that more CTAs fit on a
multiprocessor, and spill the rest of what it needs. Asked for one CTA, which bounds without a number promise just as well,
it does not. Where it spills with all registers used, to be asked for two CTAs of few threads, which takes none away, has it
schedule otherwise. Where nothing was spilled, either would cost registers, so that this is for kernels that spill.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tle2cuda.runtime import nvrtc
from tle2cuda.runtime.contract import LaunchContract
from tle2cuda.runtime.nvrtc import CompileOptions, CompileResult
from tle2cuda.runtime.report import Resources, resources_of
from tle2cuda.targets import MAX_REGISTERS_PER_THREAD, parse_target

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span

_BOUNDS = re.compile(r"__launch_bounds__\((\d+)\)")
_FEW_BYTES = 512  # spilled, stores and loads together; what spills more than that does so by all bounds


def compile_without_needless_spills(
    source: str,
    path: Path | str,
    options: CompileOptions,
    contract: LaunchContract,
    line_map: tuple[tuple[int, Span], ...] = (),
    span: Span | None = None,
    pch_directory: Path | None = None,
) -> tuple[str, CompileResult, Resources]:
    """Compile an emitted file; its text as it was compiled, the result, and what the cubin uses.

    Args:
        source: The emitted file.
        path: Where it is kept.
        options: Options of NVRTC.
        contract: How the kernel is launched.
        line_map: As for `nvrtc.compile_source`, like `span` and `pch_directory`.
        span: The kernel's definition.
        pch_directory: Where precompiled headers are kept.

    Raises:
        DeviceCodeError: NVRTC or ptxas refuses the file.
    """

    def compiled(text: str) -> tuple[str, CompileResult, Resources]:
        result = nvrtc.compile_source(text, str(path), options, line_map, span, pch_directory)
        target = parse_target(contract.target)
        return text, result, resources_of(result.log, result.cubin, contract.kernel_name, target)

    first = compiled(source)
    ctas = other_bound(first[2], contract)
    bounded = _BOUNDS.sub(rf"__launch_bounds__(\1, {ctas})", source)
    if ctas is None or bounded == source:
        return first
    second = compiled(bounded)
    return first if _spilled_bytes(second[2]) else second


def other_bound(resources: Resources, contract: LaunchContract) -> int | None:
    """CTAs of a multiprocessor to ask for, so that a kernel that spills a little may stop; None when there is no hope."""
    if not 0 < _spilled_bytes(resources) <= _FEW_BYTES:
        return None
    registers_per_sm = parse_target(contract.target).limits.registers_per_sm
    if resources.registers < min(MAX_REGISTERS_PER_THREAD, registers_per_sm // contract.cta_threads // 8 * 8):
        return 1
    return 2 if 2 * contract.cta_threads * MAX_REGISTERS_PER_THREAD <= registers_per_sm else None


def _spilled_bytes(resources: Resources) -> int:
    return resources.spill_store_bytes + resources.spill_load_bytes


__all__ = ["compile_without_needless_spills", "other_bound"]
