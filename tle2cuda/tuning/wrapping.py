"""What tuners and heuristics share: the kernel at the bottom of a stack of decorators."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument


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


def kernel_below(decorator: str, fn: Any) -> Any:
    """What a decorator of kernels stands over, which is a kernel.

    Args:
        decorator: Name of the decorator.
        fn: What it is given.

    Raises:
        InvalidArgument: It is a plain function or anything else.
    """
    if hasattr(fn, "arg_names"):
        return fn
    name = getattr(fn, "__name__", type(fn).__name__)
    raise InvalidArgument(
        f"@{decorator} decorates a kernel, and `{name}` is none yet",
        help=f"put @jit below it, right above the function: @{decorator}(...), then @jit, then def {name}(...)",
    )
