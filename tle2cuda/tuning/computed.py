"""`@heuristics`: constants computed from the other arguments of a launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tle2cuda.jit_function import KernelInterface
from tle2cuda.runtime.frames import without_frames
from tle2cuda.tuning.wrapping import defaults_of, kernel_below


class Heuristics(KernelInterface[Any]):
    """A kernel some of whose constants are computed at each launch.

    Args:
        fn: A jit object, or a tuner.
        arg_names: Names of the kernel's parameters.
        values: For each constant a function of all arguments by name; later ones see what earlier ones gave.
    """

    def __init__(self, fn: Any, arg_names: Sequence[str], values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> None:
        self.fn = fn
        self.arg_names = list(arg_names)
        self.values = dict(values)
        self._defaults = defaults_of(fn)

    def __getattr__(self, name: str) -> Any:
        if name in ("fn", "__wrapped__") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.fn, name)

    def __repr__(self) -> str:
        return f"<heuristics of {self.fn!r}>"

    @without_frames
    def run(self, *args: Any, grid: Any = (1,), warmup: bool = False, **kwargs: Any) -> Any:
        """Computes the constants and launches.

        Args:
            *args: The kernel's arguments.
            grid: As for the kernel.
            warmup: Compile without launching.
            **kwargs: Further arguments and launch options.
        """
        named = {**self._defaults, **dict(zip(self.arg_names, args, strict=False)), **kwargs}
        for name, function in self.values.items():
            kwargs[name] = named[name] = function(named)
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Computes constants of a kernel from the other arguments, instead of trying values.

    Args:
        values: For each constant a function of all arguments by name.

    Example:
        >>> @tle2cuda.heuristics({"BLOCK": lambda args: tle2cuda.next_power_of_2(args["n"])})
        ... @tle2cuda.jit
        ... def kernel(x, n, BLOCK: tl.constexpr): ...
    """

    def wrap(fn: Any) -> Heuristics:
        return Heuristics(fn, kernel_below("heuristics", fn).arg_names, values)

    return wrap
