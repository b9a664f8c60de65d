"""`Config`: one choice of constants and launch options for a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tle2cuda.errors import InvalidArgument

_OPTIONS = ("num_warps", "num_ctas", "num_stages", "maxnreg")


class Config:
    """One configuration that a tuner tries.

    Args:
        kwargs: Constants of the kernel by name.
        num_warps: Warps of a CTA.
        num_stages: Stages of pipelined loops.
        num_ctas: CTAs that may share a program.
        maxnreg: Most registers of a thread.
        pre_hook: Called with all arguments by name before every launch with this configuration.
        ir_override: Triton's replacement of its own intermediate text, which there is none of here.

    Raises:
        InvalidArgument: `ir_override` is given.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        if ir_override is not None:
            raise InvalidArgument("Config: ir_override names Triton's own IR, which tle2cuda does not have")
        self.kwargs = dict(kwargs)
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = None

    def all_kwargs(self) -> dict[str, Any]:
        """Constants and those launch options that are not None: the keyword arguments of the launch."""
        options = {name: value for name in _OPTIONS if (value := getattr(self, name)) is not None}
        return {**self.kwargs, **options}

    def __str__(self) -> str:
        fields = [f"{name}: {value}" for name, value in self.kwargs.items()]
        fields += [f"{name}: {getattr(self, name)}" for name in _OPTIONS]
        return ", ".join(fields)

    def brief(self) -> str:
        """Constants, and the options that are not at their defaults, for a line that is short."""
        defaults = Config({})
        fields = [f"{name}={value}" for name, value in self.kwargs.items()]
        fields += [f"{name}={value}" for name in _OPTIONS if (value := getattr(self, name)) != getattr(defaults, name)]
        return " ".join(fields) or "the defaults"

    def __repr__(self) -> str:
        return f"Config({self})"

    def _identity(self) -> tuple[Any, ...]:
        return (
            tuple(sorted(self.kwargs.items(), key=lambda item: item[0])),
            *(getattr(self, name) for name in _OPTIONS),
            self.pre_hook,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(str(self))  # constants may be lists
