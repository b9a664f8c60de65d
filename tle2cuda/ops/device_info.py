"""`tl.extra.cuda`: clocks, the multiprocessor, the CTA's size, and waiting for the grid before this one."""

from __future__ import annotations

from typing import Any

from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import I32, I64
from tle2cuda.ops.core import builtin, constexpr, meaning, tensor
from tle2cuda.ops.inline_asm import inline_asm_elementwise


@builtin
def globaltimer() -> tensor:
    """Nanoseconds of the clock that all multiprocessors share, int64.

    Its resolution depends on the device, often 32 ns or about a microsecond. One thread reads it for the CTA.

    Example:
        ``start = tl.extra.cuda.globaltimer()``
    """
    result: tensor = inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], I64, is_pure=False, pack=1)
    return result


@builtin
def smid() -> tensor:
    """Number of the multiprocessor that the program runs on, int32; it may change while the program runs.

    Example:
        ``where = tl.extra.cuda.smid()``
    """
    result: tensor = inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], I32, is_pure=True, pack=1)
    return result


@builtin
def num_warps() -> constexpr:
    """Warps of one program, a constant.

    Example:
        ``tl.static_assert(tl.extra.cuda.num_warps() == 4)``
    """
    return constexpr(builder.current().num_warps)


@builtin
def num_threads() -> constexpr:
    """Threads of one program, a constant.

    Example:
        ``threads = tl.extra.cuda.num_threads()``
    """
    return constexpr(32 * builder.current().num_warps)


@builtin
def gdc_wait() -> None:
    """Waits until the grid before this one in the stream has ended and its writes are seen.

    Only a launch with ``launch_pdl=True`` may begin before that grid has ended; after any other it returns at once.
    Loads of what that grid writes belong behind it. Needs sm_90.

    Example:
        ``tl.extra.cuda.gdc_wait()``
    """
    builder.current().emit("grid_dependency", (), (), {"kind": "wait"})


@builtin
def gdc_launch_dependents() -> None:
    """Lets a grid launched behind this one with ``launch_pdl=True`` begin, once all CTAs have called it or ended.

    That grid sees this one's writes only behind its own `gdc_wait`. Needs sm_90.

    Example:
        ``tl.extra.cuda.gdc_launch_dependents()``
    """
    builder.current().emit("grid_dependency", (), (), {"kind": "launch_dependents"})


@meaning("grid_dependency")
def _grid_dependency(ctx: Any, op: Op) -> None:
    """Launches follow each other here."""
