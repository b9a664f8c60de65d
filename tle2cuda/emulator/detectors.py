"""Names of the detectors, and which of them watch ordinary launches."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tle2cuda.errors import ArgumentError

DETECT_VARIABLE = "TLE2CUDA_DETECT"

OFFSETS = "offsets"
COUNTERS = "counters"
ALL = "all"
NONE = "none"
FAULTS = ("races", "uninitialized", "bounds", "alignment", "exit")
"""What `all` means in a launch: those that find faults. `offsets` is asked for by itself: the kernel is compiled anew."""
DETECTORS = (*FAULTS, COUNTERS)
"""What `all` means in `emulate`."""
DEFAULT = ("bounds",)
"""What watches every launch: it costs a few hundredths."""

LAUNCH_WORDS = (*FAULTS, OFFSETS, ALL, NONE)


def checked_detectors(detect: str | Sequence[str]) -> tuple[str, ...]:
    """The detectors that `emulate` is asked for.

    Raises:
        ArgumentError: There is no such detector.
    """
    names = (detect,) if isinstance(detect, str) else tuple(detect)
    if ALL in names:
        names = (*DETECTORS, OFFSETS) if OFFSETS in names else DETECTORS
    for name in names:
        if name not in (*DETECTORS, OFFSETS):
            raise ArgumentError(f"detect takes {', '.join((*DETECTORS, OFFSETS))} and {ALL}, got {name!r}")
    return names


def parse_detectors(text: str, where: str) -> tuple[str, ...]:
    """The detectors that a list of words separated by commas asks for, `bounds` always among them but for ``none``.

    Args:
        text: The words.
        where: What said so, for messages.

    Raises:
        ArgumentError: A word names no detector.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in LAUNCH_WORDS:
            raise ArgumentError(f"{where} takes {', '.join(LAUNCH_WORDS)}, separated by commas; got {word!r}")
    if words == [NONE]:
        return ()
    if NONE in words:
        raise ArgumentError(f"{where}: {NONE} stands alone, got {text!r}")
    named = {*words, *DEFAULT, *(FAULTS if ALL in words else ())}
    return tuple(name for name in (*FAULTS, OFFSETS) if name in named)


def launch_detectors() -> tuple[str, ...]:
    """What watches launches: what `TLE2CUDA_DETECT` says, else `DEFAULT`.

    Raises:
        ArgumentError: It names no detector.
    """
    text = os.environ.get(DETECT_VARIABLE, "")
    return parse_detectors(text, DETECT_VARIABLE) if text.strip() else DEFAULT
