"""Kernels as ordinary Python on NumPy arrays: what `TLE2CUDA_DEVICE=eager` runs.

CPython executes the user's own function, program by program, with the names of the language exchanged for the
functions of this package, so `breakpoint`, `print` and a debugger work in its lines. It is a second reading of the
language, written from the description of it: nothing here calls the front end, `ops/` or the interpreter. Shared with
them are the names of dtypes and pointer types, meshes, layouts and the like, which compute nothing.
"""

from __future__ import annotations

from typing import Any

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    # NumPy loads with the first use, not with `import tle2cuda`.
    if name == "run":
        from tle2cuda.eager.launch import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
