"""Errors as users read them: at their place, in the words of the language.

What is wrong with a kernel whatever its arguments hold, the front end says better: it knows names, and what became of them.
So it is asked when a launch finds such an error, and its text is taken when it says something of the same place.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tle2cuda.eager.places import span_of
from tle2cuda.errors import CompilationError, InvalidArgument, InvalidType, KernelError, UndefinedName
from tle2cuda.runtime.frames import is_ours

if TYPE_CHECKING:
    from tle2cuda.eager.functions import Session
    from tle2cuda.ir.span import Span

_AS: tuple[tuple[type[Exception], type[CompilationError]], ...] = (
    (NameError, UndefinedName),
    (AttributeError, UndefinedName),
    (TypeError, InvalidType),
    (IndexError, InvalidType),
    (ArithmeticError, CompilationError),
    (RecursionError, CompilationError),
    (ValueError, InvalidArgument),
)


Refusals = Callable[[], Sequence[CompilationError]]


def in_words(error: Exception, session: Session, refusals: Refusals | None = None) -> Exception:
    """The error that a user reads.

    What Python itself says of a line of a kernel becomes the class that the front end raises there; what functions of the
    host raise stays as it is.

    Args:
        error: What a program raised.
        session: The launch's functions.
        refusals: What the front end says is wrong with the kernel.
    """
    span = span_of(error.__traceback__, session.codes)
    found = _of_kernel(error, session)
    if isinstance(found, CompilationError) and refusals is not None:
        said = refusals()
        found = found if any(found is one for one in said) else _said_by_front_end(found, span, said)
    if isinstance(found, KernelError) and found.span is None:
        found.span = span
    return found


def _said_by_front_end(
    error: CompilationError, span: Span | None, refusals: Sequence[CompilationError]
) -> CompilationError:
    """What the front end says of a place; the error itself when that is nothing."""
    here = list(refusals) if len(refusals) == 1 else []
    if span is not None:
        lines = range(span.line, max(span.end_line, span.line) + 1)
        places = ((one, one.span) for one in refusals if one.span is not None)
        here = [one for one, place in places if place.file == span.file and place.line in lines] or here
    alike = (one for one in here if isinstance(error, type(one)) or isinstance(one, type(error)))
    return next(alike, None) or (here[0] if here and span is not None else error)


def _of_kernel(error: Exception, session: Session) -> Exception:
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
        if not is_ours(code):
            innermost = code
        traceback = traceback.tb_next
    return innermost in session.codes
