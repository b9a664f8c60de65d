"""`tle2cuda run`: a Python script in a process of its own, its kernels on a chosen device."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
import tokenize
from collections.abc import Sequence
from pathlib import Path

from tle2cuda.errors import ArgumentError
from tle2cuda.runtime.device import DEVICE_VARIABLE


def run_script(script: str, arguments: Sequence[str], device: str | None) -> int:
    """Run a script by this Python as if it had been started directly: exit code, output and tracebacks are its own.

    Where the system can, its process takes the place of this one, and the call does not return.

    Args:
        script: Path of the script.
        arguments: Its arguments.
        device: ``cuda``, ``emulator``, ``interpreter`` or ``eager``; None leaves the choice to arrays and environment.

    Returns:
        The script's exit code.

    Raises:
        ArgumentError: There is no such script, or it imports triton.
        ToolchainError: The emulator is chosen and there is no C++ compiler, or CUDA and there is no GPU.
    """
    _refuse_triton(script)
    if device:
        _require(device)
    environment = dict(os.environ)
    if device:
        environment[DEVICE_VARIABLE] = device
    # The package may be found by the working directory alone, which is not on the path of a script.
    home = str(Path(__file__).resolve().parents[2])
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    if home not in (*paths, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        environment["PYTHONPATH"] = os.pathsep.join((*paths, home))
    command = [sys.executable, script, *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    return subprocess.call(command, env=environment)


def _require(device: str) -> None:
    """Fail now, with what to install, rather than at the script's first launch."""
    if device == "emulator":
        from tle2cuda.emulator.toolchain import find_compiler

        find_compiler()
    elif device == "cuda":
        from tle2cuda.runtime.toolkit import require_gpu

        require_gpu()


def _refuse_triton(script: str) -> None:
    """Refuse scripts that import triton by themselves.

    Raises:
        ArgumentError: There is no such script, or it imports triton.
    """
    try:
        with tokenize.open(script) as file:
            text = file.read()
    except OSError as error:
        raise ArgumentError(f"cannot read the script {script!r}: {error.strerror or error}") from None
    except (SyntaxError, UnicodeDecodeError):
        return  # Python says it better
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules = [node.module]
        if any(module.partition(".")[0] == "triton" for module in modules):
            raise ArgumentError(
                f"{script}:{getattr(node, 'lineno', 0)} imports triton; running scripts whose triton imports are served by "
                "tle2cuda is not supported in this version",
                help="write `import tle2cuda` for `import triton`, and `import tle2cuda.language as tl`",
            )
