"""The front end is asked about calls whose rules concern more than their own arguments.

Pipes, partitions, barriers and asynchronous copies have rules that a run cannot see broken: numbers of warps that no
partition may have, copies that the hardware cannot do. Where a launch first comes to such a call, it looks whether the
front end refuses it, which traces the kernel once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from tle2cuda.eager.places import begins_at, span_at
from tle2cuda.eager.program import current
from tle2cuda.eager.sites import in_user_text
from tle2cuda.errors import SynchronizationError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def asked(function: _Function) -> _Function:
    """A function of the language that raises what the front end says of its place."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        _ask()
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _ask() -> None:
    """Looks at the place in the user's text that is being run, the first time that a launch comes there.

    Raises:
        CompilationError: The front end refuses what stands there.
    """
    frame = in_user_text(sys._getframe(2))
    if frame is None:
        return
    launch = current().launch
    site = (frame.f_code, frame.f_lasti)
    if site in launch.asked_at:
        return
    launch.asked_at.add(site)
    here = span_at(frame)
    for refusal in launch.early_refusals():
        if isinstance(refusal, SynchronizationError) or (refusal.span is not None and begins_at(refusal.span, here)):
            raise refusal
