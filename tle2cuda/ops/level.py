"""Guards what only one level of the language has (`tle2cuda.levels`)."""

from __future__ import annotations

from tle2cuda.errors import NotSupported
from tle2cuda.ir import builder


def only_in_3_9(what: str) -> None:
    """Refuses what 3.6 has not.

    Raises:
        NotSupported: The kernel is read by the rules of 3.6.
    """
    if not builder.reads_3_9():
        raise NotSupported(
            f"{what} is of Triton 3.9, and this kernel is read by the rules of 3.6",
            help='read it by those of 3.9: language="3.9" of tle2cuda.jit, compile or emit, --language, TLE2CUDA_LANGUAGE',
        )
