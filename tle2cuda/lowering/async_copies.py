"""Copies by cp.async: each thread its chunks; and the fences between proxies."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.lowering import statements
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import VectorPlan, pointee
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import barrier_remark

CHUNK_BYTES = (16, 8, 4)  # what one cp.async copies (PTX ISA, cp.async)
TEMPLATE = "async_copies.cu.j2"


@dataclass(frozen=True, slots=True)
class CopyView:
    """One cp.async.

    Attributes:
        function: Helper with its template argument.
        destination: Pointer into shared memory.
        source: Pointer into global memory.
        valid: Bytes that are copied, the rest being zeros; empty for all.
        condition: Which threads copy; empty for all.
    """

    function: str
    destination: str
    source: str
    valid: str
    condition: str


def emit_copy(state: State, op: Op) -> None:
    """A buffer is filled by cp.async."""
    _Copy(state, op).emit()


class _Copy:
    """Emitter of one copy."""

    def __init__(self, state: State, op: Op) -> None:
        self.state, self.op = state, op
        self.pointer, self.buffer = op.operands[:2]
        self.mask = op.operands[2] if op.attrs.get("has_mask") else None
        self.layout = state.layout(self.pointer)
        self.element_bytes = pointee(self.pointer).bytes

    def emit(self) -> None:
        state, op = self.state, self.op
        state.comment(op.span)
        axis, vec = self.layout.vector()
        guard = VectorPlan(state, self.layout).guard_of(self.pointer, self.mask) if vec > 1 else None
        chunk = vec if guard is not None else 1
        ev = Evaluator(state, self.layout, chunk)
        del axis
        raise InternalError("not yet", op.span)


def emit_commit(state: State, op: Op) -> None:
    """`cp_async_commit();`"""
    state.comment(op.span)
    statements.evaluate(state.block, f"{state.helper('cp_async_commit')}()", op.span)


def emit_wait(state: State, op: Op) -> None:
    """`cp_async_wait<1>();`"""
    state.comment(op.span)
    text = f"{state.helper('cp_async_wait')}<{op.attrs['pending']}>()"
    statements.evaluate(state.block, text, op.span)


def emit_proxy_fence(state: State, op: Op) -> None:
    """Every thread orders its ordinary accesses before those of the copy engine."""
    suffix = "" if op.attrs["space"] == "shared" else "_global"
    write(
        state.block, TEMPLATE, "fence", FenceView(state.helper(f"fence_async_proxy{suffix}"), barrier_remark(op)), op.span
    )


@dataclass(frozen=True, slots=True)
class FenceView:
    """A fence between proxies, and what it orders as a trailing comment."""

    function: str
    remark: str
