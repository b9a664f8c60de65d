"""Where in the user's source an error of eager mode belongs: read off the frames that it came through."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Set
from typing import Any

from tle2cuda.ir.span import Span

# Code of this package that enters partitions, and that begins one in a thread of its own. An error in such a thread is
# raised again where the first partition waits, whose frames then stand in front of those that led to it.
ENTERS_PARTITIONS: set[types.CodeType] = set()
BEGINS_PARTITION: set[types.CodeType] = set()
_KNOWS_LINES_ONLY = sys.version_info < (3, 11)


def span_of(traceback: types.TracebackType | None, codes: Set[types.CodeType]) -> Span | None:
    """The place in the innermost function of the kernel that an error came through, and the calls that led there.

    Args:
        traceback: The error's.
        codes: Code of the kernel's functions.

    Returns:
        The place; None when none of these functions is in the traceback.
    """
    span: Span | None = None
    entered: Span | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code in ENTERS_PARTITIONS:
            entered = span
        elif code in BEGINS_PARTITION:
            span = entered
        elif code in codes:
            is_part = code.co_name.startswith("<")  # a comprehension, which belongs to the function around it
            outer = span.call_site if is_part and span is not None else span
            name = span.function if is_part and span is not None else code.co_name
            span = _span(code, traceback.tb_lasti, traceback.tb_lineno, name, outer)
        traceback = traceback.tb_next
    return span


def span_at(frame: types.FrameType) -> Span:
    """The place that a frame is at."""
    code = frame.f_code
    return _span(code, frame.f_lasti, frame.f_lineno, code.co_name, None)


def begins_at(span: Span, place: Span) -> bool:
    """Whether a span begins where a place does, as far as Python tells where that is."""
    if (span.file, span.line) != (place.file, place.line):
        return False
    return _KNOWS_LINES_ONLY or span.column == place.column


def _span(code: types.CodeType, instruction: int, line: int, function: str, call_site: Span | None) -> Span:
    """The text that an instruction was compiled from; before Python 3.11, its whole line."""
    file = code.co_filename
    positions: Any = getattr(code, "co_positions", None)
    if positions is not None:
        first, last, start, end = next(p for i, p in enumerate(positions()) if i == instruction // 2)
        if None not in (first, last, start, end):
            return Span(file, first, _column(file, first, start), last, _column(file, last, end), function, call_site)
    text = linecache.getline(file, line).rstrip()
    return Span(file, line, len(text) - len(text.lstrip()), line, len(text), function, call_site)


def _column(file: str, line: int, byte_column: int) -> int:
    """The column in characters of a column in bytes of UTF-8."""
    text = linecache.getline(file, line)
    return byte_column if text.isascii() else len(text.encode()[:byte_column].decode(errors="ignore"))
