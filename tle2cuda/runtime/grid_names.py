"""What a grid that is a function is called with: the arguments of the launch by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from tle2cuda.errors import UnknownGridName
from tle2cuda.near_names import did_you_mean
from tle2cuda.runtime.options import OPTION_DEFAULTS


class GridNames(dict[str, Any]):
    """The arguments by name; of a name that is none it says which there are.

    Args:
        named: The arguments.
        kernel: The kernel's name.
    """

    def __init__(self, named: Mapping[str, Any], kernel: str) -> None:
        super().__init__(named)
        self._kernel = kernel

    def __missing__(self, name: object) -> NoReturn:
        help = did_you_mean(name, self, shortened=True) if isinstance(name, str) else ""
        if name in OPTION_DEFAULTS:
            help = "launch options are not among them; take the number from where the launch does"
        raise UnknownGridName(
            f"{self._kernel}: the grid asks for {name!r}, which is no parameter of the kernel",
            facts=(f"parameters: {', '.join(self)}",),
            help=help,
        )


__all__ = ["GridNames"]
