"""Runs tile IR on NumPy arrays, one coroutine a CTA.

`run` is all that callers need. Operations get their meaning beside their definition in `tle2cuda.ops`, by
``@meaning(name)`` functions that receive a `Context` (place in the launch, memory); control flow, buffers and
barriers have theirs here.
"""

from __future__ import annotations

from typing import Any

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    # NumPy and the op families load with the first use, not with `import tle2cuda`.
    if name == "run":
        from tle2cuda.interpreter.engine import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
