"""What all functions inlined into one kernel share while it is traced: the builder and the errors found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tle2cuda.errors import CompilationError, CompilationErrors
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Region, Value
from tle2cuda.ir.types import Type
from tle2cuda.levels import DEFAULT_LEVEL

MAX_ERRORS = 100
MAX_INLINE_DEPTH = 64

_ORIGINS = {
    "load": "loaded",
    "alloc": "allocated",
    "constant": "a constant written",
    "atomic_rmw": "returned by an atomic",
    "atomic_cas": "returned by an atomic",
}


class TooManyErrors(Exception):
    """As many errors were found as are looked for; tracing stops."""


class PoisonUsed(Exception):
    """A statement used a name whose computation failed: that failure is reported already."""


class TracingBuilder(Builder):
    """A builder that remembers which operation made each value, for messages."""

    def __init__(self, num_warps: int, target: str, language: str = DEFAULT_LEVEL) -> None:
        super().__init__(num_warps, target, language)
        self.maker: dict[Value, str] = {}

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...] = (),
        result_types: tuple[Type, ...] = (),
        attrs: Mapping[str, Any] | None = None,
        regions: tuple[Region, ...] = (),
    ) -> tuple[Value, ...]:
        """As `Builder.emit`."""
        results = super().emit(name, operands, result_types, attrs, regions)
        for result in results:
            self.maker[result] = name
        return results

    def origin(self, value: Value) -> str:
        """``loaded at gemm.py:32`` and the like; empty when unknown."""
        if value.span.line == 0:
            return ""
        made = _ORIGINS.get(self.maker.get(value, "argument"), "computed")
        if value not in self.maker:
            made = "declared" if value.span.call_site is None else "from"
        return f"{made} at {value.span.short()}"


class Session:
    """One tracing run.

    Args:
        builder: Where the kernel's operations go.
        plain_globals: Numbers, strings and tuples of the kernel's module are constants without being marked so.
    """

    def __init__(self, builder: TracingBuilder, plain_globals: bool = False) -> None:
        self.builder = builder
        self.plain_globals = plain_globals
        self.errors: list[CompilationError] = []
        self.depth = 0
        self._seen: set[tuple[object, ...]] = set()

    def report(self, error: CompilationError, detail: str = "") -> None:
        """Notes an error. A place reported twice (unrolled loops, functions inlined twice) counts once.

        Args:
            error: What was found.
            detail: Tells apart errors of one place, such as those of several names at one branch.

        Raises:
            TooManyErrors: This was the last that is looked for.
        """
        span = error.span
        place = (span.file, span.line, span.column, span.end_column, detail) if span else (error.message,)
        if place in self._seen:
            return
        self._seen.add(place)
        self.errors.append(error)
        if len(self.errors) >= MAX_ERRORS:
            raise TooManyErrors

    def raise_errors(self) -> None:
        """Raises what was reported: one error as itself, several together in source order.

        Raises:
            CompilationError: There were errors.
        """
        if len(self.errors) == 1:
            raise self.errors[0]
        if self.errors:
            files = list(dict.fromkeys(e.span.file if e.span else "" for e in self.errors))

            def source_order(error: CompilationError) -> tuple[int, int, int]:
                span = error.span
                return (files.index(span.file), span.line, span.column) if span else (0, 0, 0)

            raise CompilationErrors(sorted(self.errors, key=source_order), len(self.errors) >= MAX_ERRORS)
