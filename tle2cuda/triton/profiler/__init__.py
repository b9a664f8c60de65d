"""`triton.profiler` (Proton) as a script finds it that does not profile: scopes name parts of it, and nothing records them.

Starting a session is refused; so scripts that mark their parts run, and those that want a profile learn where to get one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from tle2cuda.errors import NotSupported

DEFAULT_PROFILE_NAME = "proton"


class scope(contextlib.ContextDecorator):
    """A named part of a script: a context, or a decorator of a function.

    Args:
        name: Its name.
        metrics: Numbers that a profile would show beside its time.
    """

    def __init__(self, name: str, metrics: Mapping[str, float] | None = None) -> None:
        self.name = name
        self.metrics = metrics

    def __enter__(self) -> scope:
        return self

    def __exit__(self, *problem: object) -> None:
        return None


class cpu_timed_scope(scope):
    """A scope whose time on the CPU would be taken, too."""


class state(scope):
    """A state of the script, which a profile would show around the scopes inside it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)


def enter_scope(name: str, *, metrics: Mapping[str, float] | None = None) -> int | None:
    """Begins a scope; None, as where no session was started."""
    return None


def exit_scope(name: str | None = None, *, metrics: Mapping[str, float] | None = None) -> int | None:
    """Ends a scope; None, as where no session was started."""
    return None


def enter_state(name: str) -> None:
    """Begins a state."""


def exit_state() -> None:
    """Ends a state."""


def activate(session: int | None = None) -> None:
    """Goes on recording in the sessions that were started: there are none."""


def deactivate(session: int | None = None) -> None:
    """Stops recording."""


def finalize(session: int | None = None, output_format: str = "") -> None:
    """Writes the profiles of the sessions that were started: there are none."""


def start(name: str | None = None, **options: Any) -> NoReturn:
    """Refuses to start a session.

    Raises:
        NotSupported: Always.
    """
    raise NotSupported(
        "triton.profiler records nothing here, so no session can be started",
        help="profile with Nsight Systems or Nsight Compute, or read `tle2cuda compile --report`",
    )


def profile(func: Callable[..., Any] | None = None, **options: Any) -> NoReturn:
    """Refuses to profile a function.

    Raises:
        NotSupported: Always.
    """
    start(**options)


__all__ = [
    "DEFAULT_PROFILE_NAME",
    "activate",
    "cpu_timed_scope",
    "deactivate",
    "enter_scope",
    "enter_state",
    "exit_scope",
    "exit_state",
    "finalize",
    "profile",
    "scope",
    "start",
    "state",
]
