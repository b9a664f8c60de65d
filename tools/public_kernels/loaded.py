"""Imports the whole compiler: what a process has loaded when its second kernel is compiled.

Processes of records are forked off one that imported this, so that their times are those of compiling.
"""

from __future__ import annotations

import importlib
import pkgutil

import cupy  # noqa: F401
import jinja2  # noqa: F401

_PARTS = ("analysis", "frontend", "ir", "language", "layout", "lowering", "ops", "passes", "runtime")

for _part in _PARTS:
    _package = importlib.import_module(f"tle2cuda.{_part}")
    for _module in pkgutil.walk_packages(_package.__path__, f"{_package.__name__}."):
        if not _module.name.endswith(("worker", "__main__")):
            importlib.import_module(_module.name)
