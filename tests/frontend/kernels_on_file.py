"""Kernels given as text: written to a file named `k.py`, imported, traced."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import pathlib
import textwrap
from types import ModuleType
from typing import Any

from tle2cuda.compiler import kernel_parameters, trace_specialized
from tle2cuda.errors import KernelError
from tle2cuda.ir.legality import verify
from tle2cuda.ir.nodes import Kernel, Op, walk
from tle2cuda.ir.printer import print_kernel
from tle2cuda.runtime.signature import parse_signature
from tle2cuda.targets import DEFAULT_TARGET

HEADER = "import tle2cuda\nimport tle2cuda.language as tl\nfrom tle2cuda.language import tle\n"
_numbers = itertools.count()


def load(source: str, folder: pathlib.Path) -> ModuleType:
    """Module made of the header, three lines, and `source`."""
    number = next(_numbers)
    path = folder / str(number) / "k.py"
    path.parent.mkdir(parents=True)
    path.write_text(HEADER + textwrap.dedent(source), encoding="utf-8")
    linecache.checkcache(str(path))
    spec = importlib.util.spec_from_file_location(f"frontend_kernels_{number}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def trace_text(
    source: str,
    folder: pathlib.Path,
    signature: str = "",
    constants: dict[str, Any] | None = None,
    kernel: str = "k",
    arch: str = DEFAULT_TARGET,
) -> Kernel:
    """IR of the kernel named `kernel` in `source`, checked against the legality table."""
    fn = getattr(load(source, folder), kernel)
    specialization = parse_signature(kernel_parameters(fn), signature, constants, kernel)
    traced = trace_specialized(fn, specialization, arch=arch)
    verify(traced)
    return traced


def body(kernel: Kernel) -> str:
    """The printed body, without the header line and the indentation."""
    lines = print_kernel(kernel).splitlines()
    return textwrap.dedent("\n".join(lines[1:-1]))


def ops(kernel: Kernel, name: str) -> list[Op]:
    """Operations of one name, regions inside included."""
    return [op for op in walk(kernel.body) if op.name == name]


def error_of(
    source: str,
    folder: pathlib.Path,
    signature: str = "",
    constants: dict[str, Any] | None = None,
) -> KernelError:
    """The error that tracing the kernel `k` raises."""
    try:
        trace_text(source, folder, signature, constants)
    except KernelError as error:
        return error
    raise AssertionError("no error was raised")
