"""What arguments of the language's functions must be: what the front end refuses, eager mode refuses too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.eager.program import reads_3_9
from tle2cuda.eager.values import Tile, describe, static_int
from tle2cuda.errors import ConstexprRequired, InvalidArgument, InvalidType, NotSupported, ShapeMismatch

BY_3_9 = 'read it by those of 3.9: language="3.9" of tle2cuda.jit, or TLE2CUDA_LANGUAGE'


def choice(value: Any, allowed: Sequence[str], what: str) -> str:
    """One of a few words known at compile time.

    Raises:
        ConstexprRequired: A run-time value.
        InvalidArgument: Another word.
    """
    if isinstance(value, Tile):
        raise ConstexprRequired(f"{what} must be known at compile time, got {describe(value)}")
    word = "" if value is None else value
    if word not in allowed:
        raise InvalidArgument(f"{what} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(word)


def only_in_3_9(what: str) -> None:
    """Refuses what 3.6 has not.

    Raises:
        NotSupported: The kernel is read by the rules of 3.6.
    """
    if not reads_3_9():
        raise NotSupported(f"{what} is of Triton 3.9, and this kernel is read by the rules of 3.6", help=BY_3_9)


def gone_in_3_9(what: str) -> None:
    """Refuses block pointers where the language has none.

    Raises:
        NotSupported: The kernel is read by the rules of 3.9.
    """
    if reads_3_9():
        raise NotSupported(
            f"{what}: Triton 3.9 has no block pointers",
            help='use tl.make_tensor_descriptor or plain pointers, or read the kernel by the rules of 3.6 (language="3.6")',
        )


def integer(x: Any, name: str, what: str, bits: int = 64) -> int:
    """A scalar integer, of the run time or not, of no more bits.

    Raises:
        InvalidType: Something else.
    """
    if isinstance(x, Tile):
        if x.shape or x.is_pointer or not x.dtype.is_int():
            raise InvalidType(f"{what}: {name} must be an integer, got {describe(x)}")
        if x.dtype.bits > bits:
            raise InvalidType(f"{what}: {name} must have {bits} bits, got {describe(x)}", help="add .to(tl.int32)")
        return int(x.data)
    if isinstance(x, bool) or not isinstance(x, int):
        raise InvalidType(f"{what}: {name} must be an integer, got {x!r}")
    return x


def integers(values: Any, name: str, what: str, bits: int = 64) -> list[int]:
    """Scalar integers, one for each dimension."""
    if not isinstance(values, (tuple, list)):
        raise InvalidType(f"{what}: {name} must be a tuple, got {describe(values)}")
    return [integer(x, f"{name}[{i}]", what, bits) for i, x in enumerate(values)]


def same_length(what: str, **parts: Sequence[Any]) -> None:
    """Raises unless all parts have one entry a dimension."""
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ShapeMismatch(f"{what}: one entry a dimension is needed: {listed}")


def axes(values: Any, what: str) -> list[int]:
    """Axis numbers known at compile time; one may stand alone."""
    if values is None:
        return []
    return [static_int(value, what) for value in (values if isinstance(values, (tuple, list)) else (values,))]
