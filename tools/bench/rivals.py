"""The same kernels as Triton compiles them.

A rival is the very source text of a kernel file with its imports exchanged: `triton.language` for
`tle2cuda.language`, `triton.jit` for `tle2cuda.jit`. Triton reads a kernel's source from its file, so the
text is written to build/triton_rivals/ and imported from there. Kernels that use `tle` cannot be rivals.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import os
import re
import sys
from types import ModuleType
from typing import Any

from tools.bench.common import ROOT

FOLDER = ROOT / "build" / "triton_rivals"
MOE = "kernels.moe_align_block_size"


def why_no_triton() -> str | None:
    """Returns None where Triton can run, else the reason."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError as error:
        return str(error)
    return None if torch.cuda.is_available() else "torch finds no GPU"


@functools.cache
def triton_module(name: str) -> ModuleType:
    """The Triton twin of a kernel module such as `kernels.softmax`, with every kernel module it imports."""
    text = (ROOT / (name.replace(".", "/") + ".py")).read_text()
    text = re.sub(r"^import tle2cuda\.language as tl$", "import triton.language as tl", text, flags=re.M)
    text = re.sub(r"^from tle2cuda\.triton\.", "from triton.", text, flags=re.M)
    text = re.sub(r"^import tle2cuda$", "import triton", text, flags=re.M)
    text = re.sub(r"^from tle2cuda\.language import tle$", "tle = None", text, flags=re.M)
    text = text.replace("@tle2cuda.jit", "@triton.jit")
    for imported in re.findall(r"^from (kernels[\w.]*) import", text, flags=re.M):
        text = text.replace(f"from {imported} import", f"from {triton_module(imported).__name__} import")

    twin = "triton_rival_" + name.replace(".", "_")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{twin}.py"
    if not path.exists() or path.read_text() != text:  # several programs may be at it, so it comes whole
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(text)
        new.replace(path)
    spec = importlib.util.spec_from_file_location(twin, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[twin] = module
    spec.loader.exec_module(module)
    return module


def recipe_for_triton(recipe: Any) -> Any:
    """The launches of a MoE recipe with every kernel exchanged for its Triton twin."""
    staged = triton_module(f"{MOE}.staged")
    steps = tuple(dataclasses.replace(step, kernel=getattr(staged, step.kernel.__name__)) for step in recipe.steps)
    return dataclasses.replace(recipe, steps=steps)
