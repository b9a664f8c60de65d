"""Levels of the language: which version of Triton's rules a kernel is read by.

Between Triton 3.6 and 3.9 the same source changed its meaning in places (which dtype a comparison with a number has, what
a function's result stays at compile time) and the language grew and shrank. A kernel is read by 3.6's rules unless it asks
for 3.9's: `@tle2cuda.jit(language="3.9")`, `language="3.9"` of `tle2cuda.compile` and `tle2cuda.emit`, `--language` on the
command line, or the environment variable `TLE2CUDA_LANGUAGE` for all that does not say.
"""

from __future__ import annotations

import os

from tle2cuda.errors import InvalidArgument

LEVELS = ("3.6", "3.9")
DEFAULT_LEVEL = "3.6"
LEVEL_VARIABLE = "TLE2CUDA_LANGUAGE"


PLAIN_GLOBALS_VARIABLE = "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"


def allows_plain_globals() -> bool:
    """Whether the environment lets kernels read numbers of their module that are not marked `tl.constexpr`."""
    return os.environ.get(PLAIN_GLOBALS_VARIABLE, "").lower() in ("1", "true", "on", "y", "yes")


def check_level(level: object) -> str:
    """A level of the language.

    Raises:
        InvalidArgument: There is none of this name.
    """
    if level in LEVELS:
        return str(level)
    raise InvalidArgument(f"language must be one of {', '.join(LEVELS)}, got {level!r}")


def default_level() -> str:
    """The level that the environment asks for, else 3.6.

    Raises:
        InvalidArgument: The environment asks for a level that does not exist.
    """
    level = os.environ.get(LEVEL_VARIABLE) or DEFAULT_LEVEL
    if level not in LEVELS:
        raise InvalidArgument(f"{LEVEL_VARIABLE} must be one of {', '.join(LEVELS)}, got {level!r}")
    return level
