"""A line on the terminal that says what takes long, and goes away with it; where standard error is no terminal, nothing."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TextIO

_WIDTH = 110
_PATIENCE_S = 1.0  # what is done sooner needs no explanation


class StatusLine:
    """One line that is written over and over: on a terminal only.

    Args:
        stream: Where to write; standard error when None.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.shown = bool(getattr(self.stream, "isatty", lambda: False)())

    def show(self, line: str) -> None:
        """Write the line in the place of the one before."""
        if self.shown:
            self.stream.write("\r\x1b[K" + (line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "..."))
            self.stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()


@contextlib.contextmanager
def waiting(what: str, stream: TextIO | None = None, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Say what the program is at when it takes longer than a moment.

    Args:
        what: The work, as in ``building the emulator``.
        stream: Where to write; standard error when None.
        patience_s: Seconds that are waited in silence.
    """
    line = StatusLine(stream)
    if not line.shown:
        yield
        return
    lock, state = threading.Lock(), {"over": False, "written": False}

    def speak() -> None:
        with lock:  # never after the line was cleared
            if not state["over"]:
                state["written"] = True
                line.show(f"tle2cuda: {what} ...")

    timer = threading.Timer(patience_s, speak)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            state["over"] = True
            if state["written"]:
                line.clear()
