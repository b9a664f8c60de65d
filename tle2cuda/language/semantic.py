"""`tl.semantic`: names of Triton's type rules, for scripts that import them; the rules are those of `tle2cuda.ops`."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch, NotSupported

IncompatibleTypeErrorImpl = DTypeMismatch
"""What two dtypes that do not fit together raise."""


class TritonSemantic:
    """Triton's builder of operations, which it hands to functions decorated with `tl.core.builtin`.

    Args:
        builder: Triton's.

    Raises:
        NotSupported: Always: there is no such builder.
    """

    def __init__(self, builder: Any = None) -> None:
        raise NotSupported(
            "triton.language.semantic.TritonSemantic builds Triton's own IR",
            help="write a function with @triton.jit instead",
        )


__all__ = ["IncompatibleTypeErrorImpl", "TritonSemantic"]
