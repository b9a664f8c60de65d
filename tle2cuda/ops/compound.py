"""Values of the language that are made of several: what is known at compile time, and run-time parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

_Self = TypeVar("_Self", bound="Compound")


class Compound:
    """Base of barriers, pipe endpoints, slots and the like; they cross calls, branches and loops part by part.

    What belongs to the front end has names that no field of a pipe has.

    Args:
        static: What is known at compile time. Two values of one class are the same when this and their parts are.
        parts: Tensors, buffers, constants or other compounds.

    Attributes:
        _static_: As given.
        _parts_: As given.
    """

    __slots__ = ("_parts_", "_static_")

    def __init__(self, static: Any, parts: Sequence[Any] = ()) -> None:
        self._static_ = static
        self._parts_ = tuple(parts)

    def _with_parts_(self: _Self, parts: Sequence[Any]) -> _Self:
        """The same with other parts."""
        return type(self)(self._static_, parts)

    def _labels_(self) -> Sequence[str]:
        """What each part is called."""
        return tuple(str(number) for number in range(len(self._parts_)))

    def _take_name_(self, name: str) -> None:
        """Learns the user's name for it, a hint for the emitted code; the first one stays."""

    @property
    def _described_(self) -> str:
        """What messages call it."""
        return type(self).__name__.replace("_", " ")

    def __repr__(self) -> str:
        return f"<{self._described_}>"
