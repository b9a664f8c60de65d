"""Runs before a script that `tle2cuda run` starts, and before every Python that the script starts: serves triton.

Python imports a module of this name at its start. The one of the system or the environment that this one stands
before is run after it.
"""

from __future__ import annotations

import importlib
import os
import sys


def _serve() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != folder]
    from tle2cuda.triton_imports import install

    install()


def _run_the_next() -> None:
    ours = sys.modules.pop("sitecustomize", None)
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        if ours is not None:
            sys.modules.setdefault("sitecustomize", ours)


if __name__ == "sitecustomize":
    _serve()
    _run_the_next()
