"""Emitting IR while tracing: the builder knows where it stands in the source and in the region tree."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from tle2cuda.errors import InternalError, KernelWarning, MeshError
from tle2cuda.ir.nodes import Op, Region, Value, make_op
from tle2cuda.ir.span import UNKNOWN, Span
from tle2cuda.ir.types import Type
from tle2cuda.levels import DEFAULT_LEVEL

_current: ContextVar[Builder | None] = ContextVar("tle2cuda_builder", default=None)


class Builder:
    """Appends operations to the innermost open region.

    Attributes:
        span: Place given to the operations that follow.
        num_warps: Warps of one CTA.
        target: Architecture such as ``sm_90a``.
        cluster_dims: Cluster shape asked for so far, None when nothing asked.
        cooperative: True once a grid barrier was traced.
        partition: Name of the function of `warp_specialize` being traced, None outside.
        partition_warps: Its warps, None outside.
        named_barriers: How many named barriers there are so far.
        pipe_fields: Buffers of each pipe.
        tile_sources: Where loaded tiles come from (`tle2cuda.ops.tile_sources`).
        language: Level of the language that the kernel is read by (`tle2cuda.levels`).
        has_assertions: Whether device assertions become operations.
        checks_overflow: Whether integer arithmetic is asserted not to overflow.
    """

    def __init__(self, num_warps: int = 4, target: str = "sm_90a", language: str = DEFAULT_LEVEL) -> None:
        self.span: Span = UNKNOWN
        self.num_warps = num_warps
        self.target = target
        self.language = language
        self.has_assertions = False
        self.checks_overflow = False
        self.cluster_dims: tuple[int, int, int] | None = None
        self.cluster_span: Span | None = None
        self.cooperative = False
        self._regions: list[list[Op]] = []
        self._first: set[Value] = set()  # results of operations that were put in front of all others
        self.partition: str | None = None
        self.partition_warps: int | None = None
        self.named_barriers = 0
        self.tile_sources: dict[Value, Any] = {}
        self.pipe_fields: dict[Value, tuple[Value, ...]] = {}

    def emit(
        self,
        name: str,
        operands: tuple[Value, ...] = (),
        result_types: tuple[Type, ...] = (),
        attrs: Mapping[str, Any] | None = None,
        regions: tuple[Region, ...] = (),
    ) -> tuple[Value, ...]:
        """Append an operation; returns its results."""
        if not self._regions:
            raise InternalError(f"operation {name} emitted outside a region", self.span)
        op = make_op(name, operands, result_types, attrs, regions, self.span)
        self._regions[-1].append(op)
        return op.results

    def emit_first(self, name: str, operands: tuple[Value, ...], result_type: Type, attrs: Mapping[str, Any]) -> Value:
        """Put an operation in front of the kernel, behind others put there; returns its result.

        Its operands are results of such operations.
        """
        op = make_op(name, operands, (result_type,), attrs, span=self.span)
        self._regions[0].insert(len(self._first), op)
        self._first.add(op.result)
        return op.result

    def may_come_first(self, operands: tuple[Value, ...]) -> bool:
        """Whether an operation on these could be put in front of the kernel."""
        return self._first.issuperset(operands)

    def emit_one(
        self,
        name: str,
        operands: tuple[Value, ...],
        result_type: Type,
        attrs: Mapping[str, Any] | None = None,
        regions: tuple[Region, ...] = (),
    ) -> Value:
        """Append an operation with exactly one result; returns it."""
        (result,) = self.emit(name, operands, (result_type,), attrs, regions)
        return result

    def made(self, value: Value) -> Op | None:
        """The operation of an open region that made a value; None when there is none."""
        found = (op for ops in reversed(self._regions) for op in reversed(ops) if any(r is value for r in op.results))
        return next(found, None)

    def since(self, value: Value) -> list[Op] | None:
        """The operations behind the one of the innermost region that made a value; None when that is not there."""
        ops = self._regions[-1]
        number = next((i for i in range(len(ops) - 1, -1, -1) if any(r is value for r in ops[i].results)), None)
        return None if number is None else ops[number + 1 :]

    @contextlib.contextmanager
    def region(self) -> Iterator[list[Op]]:
        """Open a region: operations emitted inside are collected in the list that is yielded."""
        ops: list[Op] = []
        self._regions.append(ops)
        try:
            yield ops
        finally:
            self._regions.pop()

    @contextlib.contextmanager
    def at(self, span: Span) -> Iterator[None]:
        """Give operations emitted inside the place `span`."""
        outer, self.span = self.span, span
        try:
            yield
        finally:
            self.span = outer

    @contextlib.contextmanager
    def without_overflow_checks(self) -> Iterator[None]:
        """Let integer arithmetic that is traced meanwhile overflow."""
        outer, self.checks_overflow = self.checks_overflow, False
        try:
            yield
        finally:
            self.checks_overflow = outer

    @contextlib.contextmanager
    def active(self) -> Iterator[Builder]:
        """Make this the builder that language functions use."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    def request_cluster(self, dims: tuple[int, int, int]) -> None:
        """Record that the kernel must be launched in clusters of this shape."""
        if self.cluster_dims is None:
            self.cluster_dims, self.cluster_span = dims, self.span
        elif self.cluster_dims != dims:
            first = self.cluster_span.short() if self.cluster_span else "the launch"
            raise MeshError(
                f"conflicting cluster_dims: {dims} here, {self.cluster_dims} before",
                facts=(f"{self.cluster_dims} comes from {first}",),
                help="use meshes with the same cluster shape throughout one kernel",
            )


def current() -> Builder:
    """The builder of the kernel being traced."""
    builder = _current.get()
    if builder is None:
        raise RuntimeError("language functions can be called only inside a kernel (@tle2cuda.jit)")
    return builder


def reads_3_9() -> bool:
    """Whether the kernel being traced is read by the rules of Triton 3.9, not 3.6."""
    builder = _current.get()
    return builder is not None and builder.language == "3.9"


def warn(message: str) -> None:
    """Warns of what is traced right now, at the user's line."""
    span = current().span
    warnings.warn_explicit(message, KernelWarning, span.file, span.line)


def is_tracing() -> bool:
    """Whether a kernel is being traced right now."""
    return _current.get() is not None
