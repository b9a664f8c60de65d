"""Tracebacks that show the user's code alone."""

from __future__ import annotations

import os
import pathlib
import types

_PACKAGE = str(pathlib.Path(__file__).resolve().parents[1]) + os.sep


def user_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames of this package; None when no others are in it."""
    entries = []
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<launch of ")):
            entries.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(entries):
        result = types.TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
