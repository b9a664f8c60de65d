from __future__ import annotations

import io
import time

import pytest

from tle2cuda.runtime.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_takes_long_is_told_and_taken_away_again() -> None:
    terminal = Terminal()
    with waiting("building", terminal, patience_s=0.0):
        deadline = time.monotonic() + 5
        while not terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
    assert terminal.getvalue() == "\r\x1b[Ktle2cuda: building ...\r\x1b[K"


@pytest.mark.parametrize(("stream", "patience_s"), [(Terminal(), 60.0), (io.StringIO(), 0.0)], ids=["quick", "no terminal"])
def test_nothing_is_told(stream: io.StringIO, patience_s: float) -> None:
    with pytest.raises(KeyError), waiting("building", stream, patience_s):
        raise KeyError
    assert stream.getvalue() == ""
