"""What buffers, barriers and pipes have in common: a compiled kernel knows at each place which ones it works on."""

from __future__ import annotations

from collections.abc import Hashable


class Handle:
    """Something that stands for memory of the CTA."""

    __slots__ = ()

    def kind(self) -> Hashable:
        """What branches and loops that assign such a handle must leave as it is."""
        raise NotImplementedError
