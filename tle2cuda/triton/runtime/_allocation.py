"""`triton.runtime._allocation`: the allocator of kernels' scratch memory."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import LaunchError
from tle2cuda.runtime.scratch import get_allocator, set_allocator


class NullAllocator:
    """Stands for no allocator: kernels then have private scratch memory."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> Any:
        """Refuses.

        Raises:
            LaunchError: Always.
        """
        raise LaunchError("no allocator was set", help="call triton.set_allocator")


class _Allocator:
    """The allocator in use, as an object with `get` and `set`."""

    def get(self) -> Any:
        """The allocator; a `NullAllocator` when there is none."""
        return get_allocator() or NullAllocator()

    def set(self, allocator: Any) -> None:
        """Use an allocator."""
        set_allocator(None if isinstance(allocator, NullAllocator) else allocator)


_allocator = _Allocator()

__all__ = ["NullAllocator", "_allocator", "set_allocator"]
