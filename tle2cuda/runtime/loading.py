"""Loading a kernel named ``PATH::KERNEL`` from a Python file."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from inspect import getattr_static
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from tle2cuda.errors import ArgumentError, CompilationError, InternalError, KernelError, ToolchainError
from tle2cuda.ir.span import Span
from tle2cuda.near_names import did_you_mean, near_names

_MOST_DECORATORS = 16


def _no_file(path: Path, text: str, separator: str) -> ArgumentError:
    """What to do about a kernel file that is none."""
    if not text:
        return ArgumentError("the kernel's file is missing", help="name a kernel as PATH::KERNEL, such as add.py::add")
    what = f"{text!r} is a folder, not a kernel file" if path.is_dir() else f"there is no kernel file {text!r}"
    file, colon, kernel = text.rpartition(":")
    if not separator and colon and Path(file).is_file():
        return ArgumentError(what, help=f"write two colons: {file}::{kernel}")
    if not separator or not text:
        return ArgumentError(what, help="name a kernel as PATH::KERNEL, such as add.py::add")
    try:
        siblings = sorted(found.name for found in path.parent.glob("*.py") if found.is_file() and found.name != path.name)
    except OSError:
        siblings = []
    near = near_names(path.stem, [Path(name).stem for name in siblings])
    if near:
        return ArgumentError(what, help=f"did you mean {str(path.with_name(near[0] + '.py'))!r}?")
    facts = () if path.is_absolute() else (f"looked for in {Path.cwd()}",)
    return ArgumentError(what, facts=facts, help="name a kernel as PATH::KERNEL, such as add.py::add")


def find_file(reference: str) -> Path:
    """The file of the kernel that ``PATH::KERNEL`` names.

    Raises:
        ArgumentError: There is no such file, or it cannot be read.
    """
    text, separator, _ = reference.partition("::")
    path = Path(text)
    try:
        is_file = path.is_file()
    except OSError as error:  # of a way to it that cannot be, such as too long a name
        raise ArgumentError(f"cannot read the kernel file {text!r}: {error.strerror or error}") from None
    if not is_file:
        raise _no_file(path, text, separator)
    if path.suffix != ".py":
        raise _no_python(path)
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise ArgumentError(f"cannot read the kernel file {text!r}: {error.strerror or error}") from None


def _no_python(path: Path) -> ArgumentError:
    return ArgumentError(f"{path} is not a Python file: its name must end in .py")


def load_kernel(reference: str) -> tuple[Any, ModuleType]:
    """The kernel that ``PATH::KERNEL`` names, and its file; ``PATH`` alone does when the file holds one kernel.

    Raises:
        ArgumentError: There is no such file or kernel.
        CompilationError: The file has a syntax error, or fails when it is run.
        ToolchainError: The file imports a module that is not installed.
    """
    path_text, separator, name = reference.partition("::")
    path = find_file(reference)
    module = load_module(path)
    kernels = {key: value for key, value in vars(module).items() if is_kernel(value)}
    if not separator:
        if len(kernels) == 1:
            return next(iter(kernels.values())), module
        raise ArgumentError(
            f"{path.name} holds {len(kernels)} kernels",
            facts=(f"kernels: {', '.join(kernels)}",) if kernels else (),
            help=f"name one: {path_text}::{next(iter(kernels))}" if kernels else "decorate one by @tle2cuda.jit",
        )
    if name in kernels:
        return kernels[name], module
    value = getattr(module, name, None)
    if isinstance(value, FunctionType):
        return value, module
    problem = f"is of type {type(value).__name__}, not a kernel" if value is not None else "is not there"
    raise ArgumentError(
        f"{path.name}: `{name}` {problem}",
        facts=(f"kernels: {', '.join(kernels) or 'none'}",),
        help=did_you_mean(name, kernels, shortened=True),
    )


def is_kernel(value: Any) -> bool:
    """Whether a value is a decorated kernel, ours or Triton's, or what tuners and the like made of one."""
    for _ in range(_MOST_DECORATORS):
        inner = getattr_static(value, "fn", None)
        if type(value).__name__ in ("JitFunction", "JITFunction"):
            return callable(inner)
        if inner is None or isinstance(value, (type, ModuleType)):
            return False
        value = inner
    return False


def load_module(path: Path) -> ModuleType:
    """Run a Python file as a module; what it imports may lie beside it, above its package, or in the current directory.

    A file of a package is imported under its full name, so that it may import its package in every way.

    Raises:
        CompilationError: The file has a syntax error, or fails when it is run.
        ToolchainError: The file imports a module that is not installed.
    """
    if path.suffix != ".py":
        raise _no_python(path)
    with import_path(path):
        try:
            return _run_file(path, _package_of(path)[1])
        except SyntaxError as error:
            raise _syntax_error(error, path) from None
        except ModuleNotFoundError as error:
            raise _missing_module(error, path) from None
        except ToolchainError:
            raise
        except KernelError as error:
            raise _failed_with(error, path) from None
        except SystemExit as error:
            raise CompilationError(
                f"the file ends the program when it is run: SystemExit({error.code!r})",
                last_line(error, path),
                help='put what is not part of a kernel under `if __name__ == "__main__":`',
            ) from None
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            text = f"the file fails when it is run: {type(error).__name__}: {error}"
            raise CompilationError(text, last_line(error, path)) from None


def _failed_with(error: KernelError, path: Path) -> KernelError:
    """What a launch or compilation in the file raised: at a kernel's line, or else at the file's."""
    if error.span is not None or isinstance(error, InternalError):
        return error
    text = f"the file fails when it is run: {error.message}"
    return CompilationError(text, last_line(error, path), error.facts, error.help)


def _package_of(path: Path) -> tuple[Path, str]:
    """The directory from which a file is imported, and the name it then has: ``package.module`` in a package."""
    resolved = path.resolve()
    root, parts = resolved.parent, [resolved.stem]
    while (root / "__init__.py").is_file() and root.name.isidentifier():
        parts.insert(0, root.name)
        root = root.parent
    return root, ".".join(parts)


@contextlib.contextmanager
def import_path(path: Path) -> Iterator[None]:
    """Puts first on the path: the file's directory, the one above its package, and the current directory."""
    directories = (path.resolve().parent, _package_of(path)[0], Path.cwd())
    added = list(dict.fromkeys(str(directory) for directory in directories))
    sys.path[:0] = added
    try:
        yield
    finally:
        for directory in added:
            with contextlib.suppress(ValueError):  # the file may have changed the path itself
                sys.path.remove(directory)


def _run_file(path: Path, name: str) -> ModuleType:
    if "." in name and path.stem.isidentifier():
        # Through its package: the package may import the file itself, and must not do so in the middle of it.
        module = importlib.import_module(name)
        if os.path.realpath(module.__file__ or "") == os.path.realpath(path):
            return module
    stem = path.stem
    name = stem if stem.isidentifier() and stem not in sys.modules else f"_kernels_{stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _no_python(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _missing_module(error: ModuleNotFoundError, path: Path) -> KernelError:
    """The error for an import that finds nothing; what lies in the user's own directories is not to be installed."""
    name = error.name or ""
    missing = name.partition(".")[0]
    if missing == "triton":  # the importer's own message: it serves triton, and lacks this module
        return ToolchainError(f"{path.name} imports {name}: {error.msg}", last_line(error, path))
    place = _own_module(missing, path)
    if place is None:
        return ToolchainError(
            f"{path.name} imports {name}, which is not installed",
            last_line(error, path),
            help=f"pip install {missing}",
        )
    if place.parent in (path.resolve().parent, _package_of(path)[0], Path.cwd()):
        advice = f"`{missing}` is {place}, which holds no such module"
    else:
        advice = f"`{missing}` is {place}: run in {place.parent}, or add that directory to PYTHONPATH"
    return CompilationError(f"{path.name} imports {name}, which is not found", last_line(error, path), help=advice)


def _own_module(name: str, path: Path) -> Path | None:
    """A directory or file that `name` may mean: in the current directory, beside the file or in a directory above it."""
    for directory in (Path.cwd(), *path.resolve().parents):
        for candidate in (directory / name, directory / f"{name}.py"):
            if name and (candidate.is_dir() if candidate.suffix != ".py" else candidate.is_file()):
                return candidate
    return None


def _syntax_error(error: SyntaxError, path: Path) -> CompilationError:
    line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
    end_line = error.end_lineno or line
    end_column = max((error.end_offset or 0) - 1, column + 1)
    span = Span(error.filename or str(path), line, column, end_line, end_column)
    return CompilationError(f"syntax error: {error.msg}", span)


def last_line(error: BaseException, path: Path) -> Span | None:
    """The line of the file at which an exception left it."""
    resolved = os.path.realpath(path)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if os.path.realpath(frame.filename) == resolved and frame.lineno:
            text = (frame.line or "").rstrip()
            start = getattr(frame, "colno", None) or 0
            return Span(frame.filename, frame.lineno, start, frame.lineno, max(start + len(text.strip()), 1))
    return None
