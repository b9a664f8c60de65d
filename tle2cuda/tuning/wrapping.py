"""What tuners and heuristics share: the kernel at the bottom of a stack of decorators."""

from __future__ import annotations

from typing import Any


def kernel_of(fn: Any) -> Any:
    """The jit object under tuners, heuristics and wrappers like them."""
    from tle2cuda.jit_function import JitFunction

    inner = fn
    for _ in range(16):
        if isinstance(inner, JitFunction) or not hasattr(inner, "fn"):
            break
        inner = inner.fn
    return inner


def defaults_of(fn: Any) -> dict[str, Any]:
    """Defaults of the kernel's parameters by name."""
    return {p.name: p.default for p in getattr(kernel_of(fn), "parameters", ()) if p.has_default}
