"""`tle2cuda.jit`: makes a Python function a kernel."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, overload

from tle2cuda.errors import ArgumentError
from tle2cuda.jit_function import JitFunction, KernelInterface


@overload
def jit(fn: Callable[..., Any], /) -> JitFunction: ...


@overload
def jit(
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Sequence[int | str] | None = None,
    do_not_specialize_on_alignment: Sequence[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    language: str | None = None,
) -> Callable[[Callable[..., Any]], JitFunction]: ...


def jit(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    version: Any = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Sequence[int | str] | None = None,
    do_not_specialize_on_alignment: Sequence[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    language: str | None = None,
) -> JitFunction | Callable[[Callable[..., Any]], JitFunction]:
    """Makes a Python function a kernel, or a function that kernels call.

    Args:
        fn: The function, when used without parentheses.
        version: Accepted for compatibility.
        repr: Function from a specialisation to the name that hooks are told.
        launch_metadata: Function from grid, metadata and arguments to what launch hooks learn besides.
        do_not_specialize: Names or indices of integer parameters that stay run-time values even when they are
            1, and whose divisibility by 16 is ignored.
        do_not_specialize_on_alignment: Names or indices of parameters whose divisibility by 16 is ignored.
        debug: Compile device assertions in, and checks of integer overflow, unless a launch says `debug=False`.
        noinline: Accepted for compatibility; functions are always inlined.
        language: Level of the language that the kernel is read by, ``3.6`` or ``3.9``: that of Triton. The functions
            that it calls are read by the same. None takes `TLE2CUDA_LANGUAGE`, else 3.6.

    Example:
        >>> @tle2cuda.jit
        ... def double(x, out, n, BLOCK: tl.constexpr):
        ...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        ...     tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
    """

    def wrap(function: Callable[..., Any]) -> JitFunction:
        if isinstance(function, JitFunction):
            return function
        if not inspect.isfunction(function):
            raise ArgumentError(
                f"@tle2cuda.jit decorates a Python function, got {type(function).__name__}",
                help="put @jit right above the function, and @autotune and @heuristics above @jit"
                if isinstance(function, KernelInterface)
                else "",
            )
        return JitFunction(
            function,
            do_not_specialize or (),
            do_not_specialize_on_alignment or (),
            bool(noinline),
            debug,
            repr,
            launch_metadata,
            language,
        )

    return wrap if fn is None else wrap(fn)
