"""Copies by cp.async: each thread its chunks; and the fences between proxies."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import Affine, C, all_of, ternary
from tle2cuda.lowering.debug import over_registers
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import Guard, VectorPlan, owner_condition, pointee, valid_elements
from tle2cuda.lowering.places import Place, Places
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import barrier_remark

CHUNK_BYTES = (16, 8, 4)  # what one cp.async copies (PTX ISA, cp.async)
TEMPLATE = "async_copies.cu.j2"
_POLICIES = {"evict_first": "evict_first_policy", "evict_last": "evict_last_policy"}


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
        """Write the loop over this thread's chunks."""
        state, op = self.state, self.op
        state.comment(op.span)
        elems, guard = self._chunk()
        if elems * self.element_bytes not in CHUNK_BYTES:
            raise InternalError(f"cp.async of {elems * self.element_bytes} bytes", op.span)
        ev = Evaluator(state, self.layout, elems)
        over_registers(state, ev, lambda: self._one(ev, elems, guard))

    def _chunk(self) -> tuple[int, Guard | None]:
        """Elements of one cp.async and how it is guarded; a single element may have a condition of its own."""
        axis, vec = self.layout.vector()
        aligned = self.state.info[self.buffer].divisibility[0]
        ref = self.state.buffers[self.buffer]
        if axis != self.layout.rank - 1 or ref.strides[-1] != 1:
            vec = 1
        elems = min(vec, CHUNK_BYTES[0] // self.element_bytes)
        while elems > 1:
            size = elems * self.element_bytes
            fits = not (aligned % size or any(stride % elems for stride in ref.strides[:-1]))
            starts_fit = all(isinstance(s, Affine) and s.const % elems == 0 and not s.uniforms for s in ref.starts[-1:])
            guard = VectorPlan(self.state, self.layout, elems).guard_of(self.pointer, self.mask)
            if size in CHUNK_BYTES and fits and starts_fit and guard is not None:
                return elems, guard
            elems //= 2
        return 1, None

    def _one(self, ev: Evaluator, elems: int, guard: Guard | None) -> None:
        """Write the copy of one chunk."""
        state, op = self.state, self.op
        places = Places(state, ev)
        first = elems > 1
        source = places.address(places.of(self.pointer, k_zero=first))
        ref = state.buffers[self.buffer]
        indices = tuple(ev.coordinate(ev.grid, axis, first) for axis in range(len(ref.shape)))
        destination = places.address(Place(buffer=ref, indices=indices))
        size = elems * self.element_bytes
        owner = owner_condition(state, self.layout)
        helper, last = "cp_async", ""
        if guard is not None and guard.bounds:
            helper, last = "cp_async_edge", self._valid(ev, guard).text
        else:
            held = guard.conditions if guard is not None else (self.mask,)
            condition = all_of([ev.c(v, k_zero=first) for v in held if v is not None])
            if condition is not None:
                helper, last = "cp_async_zero_fill", ternary(condition, C(str(size)), C("0")).text
        policy = _POLICIES.get(op.attrs.get("eviction") or "")
        hint = f"{state.helper(policy)}()" if policy else ""
        helper += "_hinted" if policy else ""
        arguments = ", ".join(filter(None, (destination.text, source.text, last, hint)))
        call = f"{state.helper(helper)}<{size}>({arguments})"
        statements.evaluate(state.block, call, op.span, owner.text if owner is not None else "")

    def _valid(self, ev: Evaluator, guard: Guard) -> C:
        """How many elements of the chunk lie in bounds."""
        valid = valid_elements(ev, guard)
        condition = all_of([ev.c(v, k_zero=True) for v in guard.conditions])
        return valid if condition is None else ternary(condition, valid, C("0"))


def emit_commit(state: State, op: Op) -> None:
    """`cp_async_commit();`"""
    state.comment(op.span)
    statements.evaluate(state.block, f"{state.helper('cp_async_commit')}()", op.span)


def emit_wait(state: State, op: Op) -> None:
    """`cp_async_wait<1>();`, or `cp_async_wait_all();` where groups that were never committed count as well."""
    remark = barrier_remark(op)
    if not remark:  # the user's own
        state.comment(op.span)
    waits_for_all = bool(op.attrs.get("all"))
    name = state.helper("cp_async_wait_all" if waits_for_all else "cp_async_wait")
    function = name if waits_for_all else f"{name}<{op.attrs['pending']}>"
    write(state.block, TEMPLATE, "call", CallView(function, remark), op.span)


def emit_proxy_fence(state: State, op: Op) -> None:
    """Every thread orders its ordinary accesses before those of the copy engine."""
    suffix = "" if op.attrs["space"] == "shared" else "_global"
    write(state.block, TEMPLATE, "call", CallView(state.helper(f"fence_async_proxy{suffix}"), barrier_remark(op)), op.span)


@dataclass(frozen=True, slots=True)
class CallView:
    """A fence between proxies or a wait for copies, and what it is for as a trailing comment."""

    function: str
    remark: str
