"""Functions that packages hang onto launches and compilations (`triton.knobs.runtime`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Hook = Callable[..., Any]


class HookChain:
    """Functions called one after the other with the same arguments.

    Args:
        reversed: The last that was added is called first.
    """

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Hook] = []
        self.reversed = reversed

    def add(self, function: Hook) -> None:
        """Adds a function, unless it is there."""
        if function not in self.calls:
            self.calls.append(function)
        HOOKS.refresh()

    def remove(self, function: Hook) -> None:
        """Takes a function away, if it is there."""
        if function in self.calls:
            self.calls.remove(function)
        HOOKS.refresh()

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Calls every function."""
        for function in self.calls[::-1] if self.reversed else tuple(self.calls):
            function(*args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.calls)


class LaunchHooks:
    """What is called around launches and after compilations.

    Attributes:
        active: A function is to be called around launches; all that a launch reads.
        compiled: Called after a specialisation was compiled, unless None.
    """

    def __init__(self) -> None:
        self.active = False
        self.compiled: Any = None
        self._enter: Any = HookChain()
        self._exit: Any = HookChain(reversed=True)

    @property
    def enter(self) -> Any:
        """Called before a launch with its metadata: a chain, or one function that replaces it."""
        return self._enter

    @enter.setter
    def enter(self, hook: Any) -> None:
        self._enter = HookChain() if hook is None else hook
        self.refresh()

    @property
    def exit(self) -> Any:
        """Called after a launch was handed to the driver."""
        return self._exit

    @exit.setter
    def exit(self, hook: Any) -> None:
        self._exit = HookChain(reversed=True) if hook is None else hook
        self.refresh()

    def refresh(self) -> None:
        """Sees anew whether a function is to be called."""
        self.active = bool(self._enter) or bool(self._exit)


HOOKS = LaunchHooks()


class LaunchMetadata:
    """What a hook learns of a launch; looked up when it asks.

    Args:
        kernel: Name of the kernel.
        launch: The compiled kernel.
        grid: The grid.
        named: The arguments by name.
        describe: The kernel's `launch_metadata` function.
    """

    def __init__(self, kernel: str, launch: Any, grid: Any, named: dict[str, Any], describe: Any = None) -> None:
        self.kernel, self.launch, self.grid, self.named, self.describe = kernel, launch, grid, named, describe

    def get(self) -> dict[str, Any]:
        """Name, grid and arguments, and what the kernel's `launch_metadata` adds."""
        found: dict[str, Any] = {"name": self.kernel, "grid": self.grid}
        if self.describe is not None:
            found.update(self.describe(self.grid, getattr(self.launch, "metadata", None), self.named) or {})
        return found
