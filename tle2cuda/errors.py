"""Every error class of tle2cuda, and the one form in which they are shown.

A message reads, in this order: what is wrong with the actual values; the user's source line with carets; the
facts and where each came from; what to do instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tle2cuda.ir.span import Span


class KernelError(Exception):
    """Base of all errors of this package.

    Args:
        message: What is wrong, with the actual values, in one line.
        span: Place in the user's source, when there is one.
        facts: Lines such as ``a: tile f16[64, 64], loaded at gemm.py:32``.
        help: What to write or do instead; empty when there is nothing useful to say.
    """

    def __init__(self, message: str, span: Span | None = None, facts: Sequence[str] = (), help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.facts = tuple(dict.fromkeys(facts))
        self.help = help

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """The whole text: message, source excerpt, facts, help."""
        if self.span is None:
            lines = [self.message]
        else:
            lines = [f"{self.span.location()}: {self.message}"]
            excerpt = self.span.excerpt()
            if excerpt:
                lines += ["", *excerpt]
            lines += [f"  {link}" for link in self.span.call_chain()]
        lines += [f"  {fact}" for fact in self.facts]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


class CompilationError(KernelError):
    """The kernel is wrong: something in its source cannot be compiled."""


class UnsupportedSyntax(CompilationError):
    """A Python construct outside the accepted subset."""


class UndefinedName(CompilationError):
    """A name that has no value where it is used."""


class ShapeMismatch(CompilationError, ValueError):
    """Tile shapes that do not fit together."""


class DTypeMismatch(CompilationError, TypeError):
    """Element types that do not fit together."""


class ConstexprRequired(CompilationError, ValueError):
    """A run-time value where a compile-time constant is needed."""


class InvalidArgument(CompilationError, ValueError):
    """An argument of a language function breaks one of its rules."""


class InvalidType(CompilationError, TypeError):
    """An argument of a language function has a type it does not accept."""


class StaticAssertFailed(CompilationError, AssertionError):
    """`tl.static_assert` or `assert` on compile-time values failed."""


class CapabilityError(CompilationError):
    """The target architecture lacks what the kernel needs."""


class SynchronizationError(CompilationError):
    """An order of memory accesses that cannot be proved or cannot be had."""


class MeshError(CompilationError, ValueError):
    """A device mesh used in a way the launch cannot provide."""


class MemoryOperationFailed(CompilationError, RuntimeError):
    """`tle.gpu.alloc` or `tle.gpu.copy` cannot do what was asked; the text begins with the operation that failed."""


class NotSupported(CompilationError, NotImplementedError):
    """Part of the language that this version refuses."""


class CompilationErrors(CompilationError):
    """Several independent errors of one kernel, in source order.

    Args:
        errors: The errors; ten of them are shown.
        at_least: There may be more, which were not looked for.
    """

    SHOWN = 10

    def __init__(self, errors: Sequence[CompilationError], at_least: bool = False) -> None:
        super().__init__(f"{len(errors)} errors", errors[0].span)
        self.errors = tuple(errors[: self.SHOWN])
        self.left_out = len(errors) - len(self.errors)
        self.at_least = at_least

    def render(self) -> str:
        """The whole texts, and how many are left out."""
        parts = [error.render() for error in self.errors]
        if self.left_out:
            number = f"{'at least ' if self.at_least else ''}{self.left_out}"
            parts.append(f"{number} more {'error' if self.left_out == 1 else 'errors'}")
        return "\n\n".join((*parts, *self.facts))


class ArgumentError(KernelError, TypeError):
    """A kernel was called or specialised with arguments that do not fit its signature."""


class UnknownGridName(ArgumentError, KeyError):
    """A grid that is a function of the arguments asked for one that there is not."""


class OutOfResources(KernelError):
    """The kernel needs more of a hardware resource than the target has.

    Args:
        required: Amount requested.
        limit: Amount available.
        name: Name of the limit, such as ``shared memory``.
    """

    def __init__(
        self,
        required: int,
        limit: int,
        name: str,
        span: Span | None = None,
        facts: Sequence[str] = (),
        help: str = "",
    ) -> None:
        super().__init__(f"out of resource: {name}, required {required}, limit {limit}", span, facts, help)
        self.required = required
        self.limit = limit
        self.name = name


class LaunchError(KernelError, RuntimeError):
    """A launch that cannot succeed with this grid, cluster or device."""


class ToolchainError(KernelError, RuntimeError):
    """The machine lacks something: NVRTC, CUDA headers, a GPU, a disassembler."""


class DeviceCodeError(ToolchainError):
    """NVRTC, ptxas or the driver refused the emitted file."""


class InterpreterError(KernelError, RuntimeError):
    """A fault found while interpreting a kernel on NumPy arrays."""


class OutOfBounds(InterpreterError, IndexError):
    """An access outside an argument or a shared-memory buffer."""


class TileOutOfRange(InterpreterError, IndexError):
    """The number of a tile that only the run time knows lies outside of the grid of tiles."""


class OffsetOverflow(InterpreterError, OverflowError):
    """An offset that wrapped in 32 bits before it reached a pointer that was accessed."""


class Deadlock(InterpreterError):
    """CTAs wait for each other and none can go on."""


class DeviceAssertFailed(InterpreterError, AssertionError):
    """`tl.device_assert` failed."""


class EmulationError(KernelError, RuntimeError):
    """A fault found while executing an emitted file on the CPU.

    Args:
        kind: Which check found it, as in `tle2cuda.emulator.Finding`.
    """

    def __init__(
        self, message: str, span: Span | None = None, facts: Sequence[str] = (), help: str = "", kind: str = ""
    ) -> None:
        super().__init__(message, span, facts, help)
        self.kind = kind


class KernelWarning(UserWarning):
    """Something in a kernel that is accepted and hardly meant."""


class InternalError(KernelError):
    """A fault of tle2cuda itself, never the user's mistake."""


class IRError(InternalError):
    """IR that breaks a row of the legality table."""
