"""Copies by cp.async: each thread its chunks; and the fences between proxies."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import PRIMARY, RUN, Affine, C, all_of, ternary
from tle2cuda.lowering.debug import over_registers
from tle2cuda.lowering.evaluate import Evaluator
from tle2cuda.lowering.memory import Guard, VectorPlan, owner_condition, pointee, valid_elements
from tle2cuda.lowering.places import Place, Places
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block, barrier_remark

CHUNK_BYTES = (16, 8, 4)  # what one cp.async copies (PTX ISA, cp.async)
TEMPLATE = "async_copies.cu.j2"
_MOST_POINTERS = 16  # of one copy that a thread keeps over a loop, two registers each
_POLICIES = {"evict_first": "evict_first_policy", "evict_last": "evict_last_policy"}


def emit_copy(state: State, op: Op) -> None:
    """A buffer is filled by cp.async."""
    _Copy(state, op).emit()


@dataclass(frozen=True, slots=True)
class Held:
    """Pointers that are kept over loops.

    Attributes:
        name: Their array.
        moving: What the loops change, added to each of them.
    """

    name: str
    moving: tuple[Value, ...]


class _Copy:
    """Emitter of one copy."""

    def __init__(self, state: State, op: Op) -> None:
        self.state, self.op = state, op
        self.pointer, self.buffer = op.operands[:2]
        self.mask = op.operands[2] if op.attrs.get("has_mask") else None
        self.layout = state.layout(self.pointer)
        self.element_bytes = pointee(self.pointer).bytes
        self.held: Held | None = None

    def emit(self) -> None:
        """Write the loop over this thread's chunks."""
        state, op = self.state, self.op
        state.comment(op.span)
        elems, guard = self._chunk()
        if elems * self.element_bytes not in CHUNK_BYTES:
            raise InternalError(f"cp.async of {elems * self.element_bytes} bytes", op.span)
        ev = Evaluator(state, self.layout, elems)
        self.held = self._hold(elems)
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
        source = self._source(ev, places, first)
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

    def _source(self, ev: Evaluator, places: Places, first: bool) -> C:
        """Where a chunk comes from."""
        if self.held is None:
            return places.address(places.of(self.pointer, k_zero=first))
        runs = ev.runs > 1
        pointer = C(f"{self.held.name}[run]" if runs else self.held.name, PRIMARY, frozenset({RUN} if runs else ()))
        place = Place(pointer)
        for offset in self.held.moving:
            place = place.plus(ev.value(offset, k_zero=True))
        return places.address(place)

    # ---- pointers that are computed once ----

    def _hold(self, elems: int) -> Held | None:
        """Pointers to a thread's chunks that are kept over the loops around, and what is added to all of them.

        None where nothing is kept: the pointers change in another way, or they differ by constants anyway.
        """
        if self.layout.num_registers // elems > _MOST_POINTERS:
            return None
        root, offsets, named = self._parts()
        homes = {value: self._home(value) for value in (root, *offsets)}
        moving = tuple(value for value in offsets if homes[value] is None)
        if homes[root] is None or any(is_tile(v) and self._maker(v) != "splat" for v in moving):
            return None
        kept = tuple(value for value in offsets if homes[value] is not None)
        home = max(level for level in homes.values() if level is not None)
        scope = self.state.scopes[home]
        key = ("held pointers", root, kept, self.layout, elems)
        if key not in scope.known:
            written = self._write_pointers((root, kept), home, elems, named)
            if written is None:
                return None
            scope.known[key] = C(written, PRIMARY)
        found = scope.known[key]
        assert isinstance(found, C)
        return Held(found.text, moving)

    def _maker(self, value: Value) -> str:
        op = self.state.definitions.get(value)
        return op.name if op is not None else ""

    def _parts(self) -> tuple[Value, list[Value], Value]:
        """What the pointers start from, what is added to it, and the tile of pointers that does not change yet."""
        state, value = self.state, self.pointer
        offsets: list[Value] = []
        still: Value | None = None
        while value not in state.scalars and value not in state.registers:
            op = state.definitions.get(value)
            if op is None or op.name not in ("ptr_add", "splat", "hint"):
                break
            if still is None and is_tile(value) and self._home(value) is not None:
                still = value
            if op.name == "ptr_add":
                offsets.insert(0, op.operands[1])
            value = op.operands[0]
        if still is None and is_tile(value) and self._home(value) is not None:
            still = value
        return value, offsets, still or self.pointer

    def _home(self, value: Value) -> int | None:
        """The scope in front of the loops in which a value does not change; None when there are none."""
        state = self.state
        known_at = state.level_of(value)
        level = state.level
        while level > known_at and state.scopes[level].is_loop:
            level -= 1
        crossed = state.scopes[level + 1 :]
        return level if any(scope.is_loop and not scope.is_guard for scope in crossed) else None

    def _write_pointers(self, parts: tuple[Value, tuple[Value, ...]], home: int, elems: int, named: Value) -> str | None:
        """Declare and set the pointers; None when they are not worth it."""
        state, scope = self.state, self.state.scopes[home]
        opened = state.scopes[home + 1 :]
        del state.scopes[home + 1 :]
        try:
            with state.writing_to(scope.block):
                ev = Evaluator(state, self.layout, elems)
                ev.outer_depth = scope.names_depth
                if not self._differ(ev, parts, elems > 1):
                    return None
                state.comment(named.span)
                name = state.names.fresh(named.name or self.pointer.name or "pointers", scope.names_depth)
                type_ = state.variable_type(self.pointer)
                extent = f"[{ev.runs}]" if ev.runs > 1 else ""
                statements.variable(state.block, type_, f"{name}{extent}", self.pointer.span)

                def one() -> None:
                    places = Places(state, ev)
                    address = places.address(self._place(places, ev, parts, elems > 1))
                    statements.assign(state.block, f"{name}[run]" if ev.runs > 1 else name, address.text, self.pointer.span)

                over_registers(state, ev, one)
                if extent and self.op.attrs.get("keeps_pointers"):
                    statements.evaluate(state.block, f"{state.helper('keep_pointers')}({name})", self.pointer.span)
                return name
        finally:
            state.scopes += opened

    def _place(self, places: Places, ev: Evaluator, parts: tuple[Value, tuple[Value, ...]], first: bool) -> Place:
        """Where the pointers lead before anything that moves is added."""
        root, kept = parts
        place = places.of(root, k_zero=first)
        for offset in kept:
            place = place.plus(ev.value(offset, k_zero=first))
        return place

    def _differ(self, ev: Evaluator, parts: tuple[Value, tuple[Value, ...]], first: bool) -> bool:
        """Whether pointers differ from chunk to chunk by more than constants."""
        scratch = Block(0)
        with self.state.writing_to(scratch), self.state.names.scope():
            trial = Evaluator(self.state, self.layout, ev.vec)
            trial.run_block = scratch
            known = [dict(scope.known) for scope in self.state.scopes]
            place = self._place(Places(self.state, trial), trial, parts, first)
            for scope, before in zip(self.state.scopes, known, strict=True):
                scope.known.clear()
                scope.known.update(before)
        return any(isinstance(offset, C) and RUN in offset.deps for offset in place.offsets)

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
