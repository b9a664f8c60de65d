"""Python's own errors in a line of a kernel, in the words of the language."""

from __future__ import annotations

import os
import pathlib
import types
from typing import TYPE_CHECKING

from tle2cuda.errors import CompilationError, InvalidArgument, InvalidType, KernelError, UndefinedName

if TYPE_CHECKING:
    from tle2cuda.eager.functions import Session

_PACKAGE = str(pathlib.Path(__file__).resolve().parents[1]) + os.sep
_AS: tuple[tuple[type[Exception], type[CompilationError]], ...] = (
    (NameError, UndefinedName),
    (AttributeError, UndefinedName),
    (TypeError, InvalidType),
    (IndexError, InvalidType),
    (ArithmeticError, CompilationError),
    (RecursionError, CompilationError),
    (ValueError, InvalidArgument),
)


def in_words(error: Exception, session: Session) -> Exception:
    """The error that a user reads.

    What Python itself says of a line of a kernel becomes the class that the front end raises there; what functions of the
    host raise stays as it is.
    """
    if isinstance(error, (KernelError, AssertionError)) or not _is_of_kernel(error.__traceback__, session):
        return error
    if isinstance(error, NameError) and not isinstance(error, UnboundLocalError) and error.name in session.refused:
        return session.refused[error.name]
    if isinstance(error, ValueError) and "to unpack" in str(error):
        return InvalidType(f"cannot unpack: {error}")
    for python, ours in _AS:
        if isinstance(error, python):
            return ours(_text(error))
    return error


def _text(error: Exception) -> str:
    name = getattr(error, "name", None)
    if isinstance(error, UnboundLocalError):
        words = str(error).split("'")
        named = words[1] if len(words) > 1 else "?"
        return f"`{named}` has no value here: it is assigned on other paths only, or further down"
    if isinstance(error, NameError) and name:
        return f"`{name}` is not defined"
    return str(error)


def _is_of_kernel(traceback: types.TracebackType | None, session: Session) -> bool:
    """Whether the innermost frame outside of this package is one of the kernel's functions."""
    innermost = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            innermost = code
        traceback = traceback.tb_next
    return innermost in session.codes
