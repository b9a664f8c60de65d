"""The error raised by the layout algebra."""

from __future__ import annotations


class LayoutError(ValueError):
    """A layout was asked for that cannot exist, or an operation has no result as a layout."""
