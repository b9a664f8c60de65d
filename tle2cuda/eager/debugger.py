"""Python's debugger in a kernel: its commands go from the user's frames to the user's frames.

Between a kernel and its launch, and between a kernel and the functions that it calls, lie frames of this package. `u`, `d`
and `w` leave them out, and `s` does not stop in them, nor in what they call.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
from collections.abc import Iterator, Set
from typing import Any

from tle2cuda.runtime.frames import is_ours

_OWN_HOOK = ("", "pdb.set_trace")

_kernels: Set[types.CodeType] = frozenset()
"""Code of the functions of the kernel that was launched last."""


@contextlib.contextmanager
def hidden_frames(codes: Set[types.CodeType]) -> Iterator[None]:
    """`breakpoint` and a running `pdb` know which frames are the user's, meanwhile.

    Another debugger that `PYTHONBREAKPOINT` or `sys.breakpointhook` names stays as it is.

    Args:
        codes: Code of the kernel's functions.
    """
    global _kernels
    _kernels = codes
    trace: Any = sys.gettrace()
    running = getattr(trace, "__self__", None)
    if type(running).__module__ == "pdb":
        _hide_in(running)
    hook = sys.breakpointhook
    is_default = hook is sys.__breakpointhook__ and os.environ.get("PYTHONBREAKPOINT", "") in _OWN_HOOK
    if is_default:
        sys.breakpointhook = _stop
    try:
        yield
    finally:
        if is_default and sys.breakpointhook is _stop:
            sys.breakpointhook = hook


def _stop(*args: Any, **kwargs: Any) -> None:
    """A call of `breakpoint`, which is called from C: the frame behind is the kernel's."""
    _start(sys._getframe(1), *args, **kwargs)


def set_trace(*args: Any, **kwargs: Any) -> None:
    """`pdb.set_trace` in a kernel."""
    _start(sys._getframe(1), *args, **kwargs)


def _start(frame: types.FrameType, *, header: str | None = None, **kwargs: Any) -> None:
    import pdb

    debugger = pdb.Pdb(nosigint=True)
    _hide_in(debugger)
    if header is not None:
        debugger.message(header)
    debugger.set_trace(frame, **kwargs)


def _hide_in(debugger: Any) -> None:
    if isinstance(debugger.get_stack, functools.partial):  # it does already
        return
    debugger.get_stack = functools.partial(_users_stack, debugger.get_stack)
    debugger.stop_here = functools.partial(_stops_here, debugger.stop_here)


def _users_stack(get_stack: Any, frame: Any, traceback: Any) -> tuple[list[Any], int]:
    """The stack without frames of ours, unless it is one of ours that is looked at."""
    stack, at = get_stack(frame, traceback)
    if not stack or is_ours(stack[at][0].f_code):
        return stack, at
    kept = [entry for entry in stack if not is_ours(entry[0].f_code)]
    return kept, sum(not is_ours(entry[0].f_code) for entry in stack[:at])


def _stops_here(stop_here: Any, frame: types.FrameType) -> bool:
    """Whether stepping stops in a frame: not in ours, and not in those of libraries that ours call."""
    return not _is_inside(frame) and bool(stop_here(frame))


def _is_inside(frame: types.FrameType) -> bool:
    caller: types.FrameType | None = frame
    while caller is not None and caller.f_code not in _kernels:
        if is_ours(caller.f_code):
            return True
        caller = caller.f_back
    return False
