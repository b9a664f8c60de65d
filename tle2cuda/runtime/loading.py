"""Loading a kernel named ``PATH::KERNEL`` from a Python file."""

from __future__ import annotations

import difflib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tle2cuda.errors import ArgumentError, CompilationError, KernelError, ToolchainError
from tle2cuda.ir.span import Span


def load_kernel(reference: str) -> Any:
    """The kernel that ``PATH::KERNEL`` names; ``PATH`` alone does when the file holds one kernel.

    Raises:
        ArgumentError: There is no such file or kernel.
        CompilationError: The file has a syntax error, or fails when it is run.
        ToolchainError: The file imports a module that is not installed.
    """
    path_text, separator, name = reference.partition("::")
    path = Path(path_text)
    if not path.is_file():
        raise ArgumentError(
            f"there is no kernel file {path_text!r}",
            help="name a kernel as PATH::KERNEL, such as add.py::add",
        )
    module = load_module(path)
    kernels = {key: value for key, value in vars(module).items() if is_kernel(value)}
    if not separator:
        if len(kernels) == 1:
            return next(iter(kernels.values()))
        raise ArgumentError(
            f"{path.name} holds {len(kernels)} kernels",
            facts=(f"kernels: {', '.join(kernels)}",) if kernels else (),
            help=f"name one: {path_text}::{next(iter(kernels))}" if kernels else "decorate one by @tle2cuda.jit",
        )
    if name in kernels:
        return kernels[name]
    value = getattr(module, name, None)
    if isinstance(value, FunctionType):
        return value
    close = difflib.get_close_matches(name, kernels, n=3, cutoff=0.4)
    problem = f"is of type {type(value).__name__}, not a kernel" if value is not None else "is not there"
    raise ArgumentError(
        f"{path.name}: `{name}` {problem}",
        facts=(f"kernels: {', '.join(kernels) or 'none'}",),
        help=f"did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else "",
    )


def is_kernel(value: Any) -> bool:
    """Whether a value is a decorated kernel: ours, or Triton's."""
    return type(value).__name__ in ("JitFunction", "JITFunction") and callable(getattr(value, "fn", None))


def load_module(path: Path) -> ModuleType:
    """Run a Python file as a module, with its own directory first on the path, as Python runs a script.

    Raises:
        CompilationError: The file has a syntax error, or fails when it is run.
        ToolchainError: The file imports a module that is not installed.
    """
    name = path.stem if path.stem.isidentifier() and path.stem not in sys.modules else f"_kernels_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path} is not a Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    directory = str(path.resolve().parent)
    sys.path.insert(0, directory)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise _syntax_error(error, path) from None
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        hint = "use `import tle2cuda.language as tl` instead, or " if missing == "triton" else ""
        raise ToolchainError(
            f"{path.name} imports {error.name}, which is not installed",
            _last_line(error, path),
            help=f"{hint}pip install {missing}",
        ) from None
    except KernelError:
        raise
    except SystemExit as error:
        raise CompilationError(
            f"the file ends the program when it is run: SystemExit({error.code!r})",
            _last_line(error, path),
            help='put what is not part of a kernel under `if __name__ == "__main__":`',
        ) from None
    except Exception as error:
        raise CompilationError(
            f"the file fails when it is run: {type(error).__name__}: {error}", _last_line(error, path)
        ) from None
    finally:
        sys.path.remove(directory)
    return module


def _syntax_error(error: SyntaxError, path: Path) -> CompilationError:
    line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
    end_line = error.end_lineno or line
    end_column = max((error.end_offset or 0) - 1, column + 1)
    span = Span(error.filename or str(path), line, column, end_line, end_column)
    return CompilationError(f"syntax error: {error.msg}", span)


def _last_line(error: BaseException, path: Path) -> Span | None:
    """The line of the file at which an exception left it."""
    resolved = os.path.realpath(path)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.realpath(frame.filename) == resolved and frame.lineno:
            text = (frame.line or "").rstrip()
            start = getattr(frame, "colno", None) or 0
            return Span(frame.filename, frame.lineno, start, frame.lineno, max(start + len(text.strip()), 1))
    return None
