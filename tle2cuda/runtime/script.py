"""`tle2cuda run`: a Python script in a process of its own, its triton imports ours, its kernels on a chosen device."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from tle2cuda.emulator.detectors import DETECT_VARIABLE, parse_detectors
from tle2cuda.errors import ArgumentError
from tle2cuda.paths import make_folder
from tle2cuda.runtime.device import DEVICE_VARIABLE
from tle2cuda.runtime.dump import DUMP_VARIABLE
from tle2cuda.runtime.options import DEBUG_VARIABLE


def run_script(
    script: str,
    arguments: Sequence[str],
    device: str | None,
    dump_to: str | None = None,
    debug: bool = False,
    detect: str | None = None,
    *,
    is_module: bool = False,
) -> int:
    """Run a script by this Python as if it had been started directly: exit code, output and tracebacks are its own.

    Its imports of triton, and those of Pythons that it starts, are served by tle2cuda.

    Where the system can, its process takes the place of this one, and the call does not return.

    Args:
        script: Path of the script, or of a folder or archive with a ``__main__.py``.
        arguments: Its arguments.
        device: ``cuda``, ``emulator``, ``interpreter`` or ``eager``; None leaves the choice to arrays and environment.
        dump_to: Folder for the emitted files of the kernels that it launches, and their contracts.
        debug: Compile device assertions into its kernels, and checks of integer overflow.
        detect: Words that name the detectors of launches in the emulator; None leaves them to the environment.
        is_module: The script is the name of a module, as for ``python -m``.

    Returns:
        The script's exit code.

    Raises:
        ArgumentError: There is no such script, or no such detector, or detectors are asked for where none are; or the
            folder cannot be written to.
        ToolchainError: The emulator is chosen and there is no C++ compiler, or CUDA and there is no GPU.
    """
    if not is_module:
        _check_readable(script)
    if detect is not None:
        _check_detectors(detect, device)
    if dump_to is not None:
        make_folder(Path(dump_to))
    if device:
        _require(device)
    environment = dict(os.environ)
    if device:
        environment[DEVICE_VARIABLE] = device
    if debug:
        environment[DEBUG_VARIABLE] = "1"
    if detect is not None:
        environment[DETECT_VARIABLE] = detect
    if dump_to is not None:
        environment[DUMP_VARIABLE] = str(Path(dump_to).resolve())
    # The package may be found by the working directory alone, which is not on the path of a script.
    home = str(Path(__file__).resolve().parents[2])
    bootstrap = str(Path(home) / "tle2cuda" / "bootstrap")
    paths = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path and path != bootstrap]
    if home not in (*paths, sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        paths.append(home)
    environment["PYTHONPATH"] = os.pathsep.join((bootstrap, *paths))
    command = [sys.executable, *(("-m",) if is_module else ()), script, *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(sys.executable, command, environment)
    return subprocess.call(command, env=environment)


def _check_detectors(detect: str, device: str | None) -> None:
    """Fail now, rather than at the script's first launch.

    Raises:
        ArgumentError: There is no such detector, or the device has none.
    """
    parse_detectors(detect, "--detect")
    if device not in (None, "emulator"):
        raise ArgumentError(f"--detect is for the emulator, and kernels are to run on {device}", help="use --on emulator")


def _require(device: str) -> None:
    """Fail now, with what to install, rather than at the script's first launch."""
    if device == "emulator":
        from tle2cuda.emulator.toolchain import find_compiler

        find_compiler()
    elif device == "cuda":
        from tle2cuda.runtime.toolkit import require_gpu

        require_gpu()


def _check_readable(script: str) -> None:
    """Fail as other commands do, rather than as Python does.

    Raises:
        ArgumentError: There is no such script.
    """
    try:
        if (Path(script) / "__main__.py").is_file():
            return
        with open(script, "rb"):
            pass
    except OSError as error:
        is_name = not script.endswith(".py") and all(part.isidentifier() for part in script.split("."))
        raise ArgumentError(
            f"cannot read the script {script!r}: {error.strerror or error}",
            help=f"to run a module: tle2cuda run -m {script}" if is_name else "",
        ) from None
