"""Files and folders that a command line names: whether they can be written, told before there is anything to write."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from tle2cuda.errors import ArgumentError


def check_writable(path: Path) -> None:
    """Whether a file can be written.

    Raises:
        ArgumentError: It cannot: it is a folder, lies in none, or must not be written.
    """
    try:
        if path.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        path.parent.stat()  # says what is wrong with the way to it
        if not path.parent.is_dir():
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def make_folder(path: Path) -> None:
    """Make a folder that files are to be written to, where it is not there yet.

    Raises:
        ArgumentError: It cannot be made, is a file, or must not be written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    except FileExistsError:
        raise ArgumentError(f"cannot write to {path}: it is a file, not a folder") from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, error, "to ") from None


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ArgumentError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError | ValueError, to: str = "") -> ArgumentError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ArgumentError(f"cannot write {to}{path}: {reason}")


__all__ = ["check_writable", "make_folder", "write_text"]
