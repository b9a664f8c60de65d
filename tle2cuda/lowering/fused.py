"""A `fused` region as one loop over a thread's registers (D5).

The loop runs over `run`; inside, `k` counts the elements of one vector. Memory operations that move whole vectors stand in
the body of `run`, everything else in loops over `k`. What is used only where it is made becomes a local; what several loops
need becomes a `Vector`; what outlives the region becomes an array declared in front of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import CHOICES, ELEMENTWISE, RENAMES, element_bytes, is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import DType, TileType, element_of
from tle2cuda.lowering import atomics, statements
from tle2cuda.lowering.cexpr import PRIMARY, RUN, C, Expr, K, all_of, ternary
from tle2cuda.lowering.debug import write_assertion
from tle2cuda.lowering.evaluate import Evaluator, linear_index
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.matrix_stores import emit_matrix_store, matrix_store
from tle2cuda.lowering.memory import (
    Guard,
    MemoryEmitter,
    VectorPlan,
    access_of,
    filled,
    owner_condition,
    pointee,
    write_store,
)
from tle2cuda.lowering.naming import hint_for
from tle2cuda.lowering.operators import elementwise
from tle2cuda.lowering.places import Places
from tle2cuda.lowering.reduction import Reducer
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import LINE_WIDTH, Block, operation
from tle2cuda.passes.unscaled_sums import factors

TEMPLATE = "fused.cu.j2"
_BYTES_IN_FLIGHT = 512  # that a thread loads before it waits, where more would be in vain


@dataclass(frozen=True, slots=True)
class RegionView:
    """The loop over runs of `fused.cu.j2`, with the texts that describe a layout where it occurs first.

    `unrolled` runs are written out at a time, 0 for all of them.
    """

    runs: int
    unrolled: int = 0
    shape: str = ""
    coordinates: str = ""
    ranges: str = ""


@dataclass(frozen=True, slots=True)
class PackedView:
    """A vector of `fused.cu.j2` that collects elements."""

    type: str
    name: str
    vec: int
    value: str


@dataclass(frozen=True, slots=True)
class FactorsView:
    """Condition of `fused.cu.j2` under which a lane has factors that are not one."""

    others: str


def emit_fused(state: State, op: Op) -> None:
    """Write the loop of a fused region."""
    region = op.regions[0]
    results = dict(zip(region.terminator.operands, op.results, strict=True))
    ops = list(region.body)
    store = matrix_store(state, ops)
    if _unless_ones(state, op, ops, results):
        return
    if store is None:
        loop = _folding(state, op, ops, results) or FusedLoop(state, ops, results)
        loop.emit()
        return
    ops.remove(store.op)
    results.setdefault(store.value, store.value)
    if any(store.value in each.results for each in ops):
        FusedLoop(state, ops, results).emit()
    emit_matrix_store(state, store, state.registers[results[store.value]])


def _unless_ones(state: State, op: Op, ops: list[Op], results: dict[Value, Value]) -> bool:
    """Write a multiplication in place that a warp leaves out when its factors are one; returns whether it is such a one."""
    scaling = next((each for each in ops if each.attrs.get("skips_ones")), None)
    if scaling is None or scaling.result not in results:
        return False
    made = {result: each for each in ops for result in each.results}
    few = factors(scaling, {**state.definitions, **made})
    held = state.registers.get(few) if few is not None else None
    target, sums = state.targets.get(results[scaling.result]), state.registers.get(scaling.operands[0])
    if held is None or target is None or sums is None or target.name != sums.name:
        return False
    body = Block(state.block.depth + 1)
    with state.writing_to(body), state.names.scope():
        FusedLoop(state, ops, results).emit()
    tests = [f"{held.element(str(run), str(k))} != 1.0f" for run in range(held.runs) for k in range(held.vec)]
    write(state.block, TEMPLATE, "unless_ones", FactorsView(" || ".join(tests)), op.span, body=body)
    return True


def _folding(state: State, op: Op, ops: list[Op], results: Mapping[Value, Value]) -> FusedLoop | None:
    """The loop that also folds what only reductions use; None where that is not to be, or would not pay."""
    fold = state.folds.get(op)
    if fold is None:
        return None
    consumed = {inner: result for inner, result in results.items() if result in fold.consumed}
    renamed = [
        replace(
            each,
            operands=tuple(consumed.get(v, v) for v in each.operands),
            results=tuple(consumed.get(v, v) for v in each.results),
        )
        for each in ops
    ]
    kept = {inner: result for inner, result in results.items() if inner not in consumed}
    loop = FusedLoop(state, renamed, kept, fold.reductions)
    # Behind the branch of an edge, the next vector's load would wait for the sum of this one.
    return None if any(guard.bounds for guard in loop.guards.values()) else loop


def _paths(state: State, reductions: Sequence[Op]) -> list[Op]:
    """What is computed of tiles while they are folded, in order."""
    found: dict[Op, None] = {}

    def visit(value: Value) -> None:
        op = state.definitions.get(value)
        if op is not None and is_tile(value) and (value in state.lazy or op.name in RENAMES):
            if op not in found:
                for operand in op.operands:
                    visit(operand)
                found[op] = None

    for reduction in reductions:
        for operand in reduction.operands:
            visit(operand)
    return list(found)


class FusedLoop:
    """Emitter of one fused region, and of the register part of reductions that fold what it makes."""

    def __init__(self, state: State, ops: list[Op], results: dict[Value, Value], reductions: tuple[Op, ...] = ()) -> None:
        self.state = state
        self.ops = [*ops, *_paths(state, reductions), *reductions]
        self.results = results  # inner value -> the name it has behind the region
        members = [op for op in self.ops if not self._is_symbolic(op)]
        if not members:
            raise InternalError("a fused region without operations", ops[0].span if ops else None)
        first = next(v for v in (*members[0].results, *members[0].operands) if is_tile(v))
        assert isinstance(first.type, TileType) and first.type.layout is not None
        self.layout = first.type.layout
        self.vec = self.layout.vector()[1]
        self.ev = Evaluator(state, self.layout, self.vec)
        self.memory = MemoryEmitter(state, self.ev)
        self.places = Places(state, self.ev)
        self.members = members
        self.reducers = {op: Reducer(state, op) for op in reductions}
        self.guards: dict[Op, Guard] = {}
        self.item: dict[Op, int] = {}
        self.k_block: Block | None = None
        self._plan()

    def _is_symbolic(self, op: Op) -> bool:
        if not op.results:
            return False
        return op.results[0] in self.state.lazy or op.name in RENAMES or op.name in ("ptr_add", "local_ptr", "remote")

    # ---- planning ---------------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Decide what moves as vectors, and which loop over k each other operation belongs to."""
        plan = VectorPlan(self.state, self.layout)
        current, inside_k = 0, False
        for op in self.members:
            guard = plan.guard(op) if self.vec > 1 else None
            if guard is not None and op.name == "load" and not self.memory.other_is_uniform(op):
                guard = None
            if guard is not None:
                self.guards[op] = guard
                current, inside_k = current + 1, False
            elif not inside_k:
                current, inside_k = current + 1, self.vec > 1
            self.item[op] = current
        self.consumers = self._consumers()

    def _consumers(self) -> dict[Value, list[Op]]:
        """Members that use a value, directly or through index arithmetic."""
        symbolic: dict[Value, set[Value]] = {}
        consumers: dict[Value, list[Op]] = {}
        for op in self.ops:
            sources: set[Value] = set()
            for v in op.operands:
                sources |= symbolic.get(v, {v})
            if self._is_symbolic(op):
                symbolic[op.results[0]] = sources
            else:
                for v in sources:
                    consumers.setdefault(v, []).append(op)
        return consumers

    # ---- emission ---------------------------------------------------------------------------------------------------

    def emit(self) -> None:
        state, outer = self.state, self.state.block
        fences = self._fences()
        self._declare_outliving()
        for op, reducer in self.reducers.items():
            reducer.begin()
            state.begun_reductions[op] = reducer
        for fence in dict.fromkeys(f.release for f in fences if f.release):
            write(outer, atomics.TEMPLATE, "release_fence", atomics.FenceView(fence))
        if self.ev.runs == 1:
            self._body()
        else:
            body = Block(outer.depth + 1)
            self.ev.run_block = body
            with state.writing_to(body), state.names.scope():
                self._body()
            write(outer, TEMPLATE, "region", self._view(), self.ops[0].span, body=body)
        for fence in dict.fromkeys(f.acquire for f in fences if f.acquire):
            write(outer, atomics.TEMPLATE, "acquire_fence", atomics.FenceView(fence))

    def _view(self) -> RegionView:
        """The loop over runs; it says once for each layout which element a thread holds where."""
        unrolled = self._unrolled()
        if self.layout in self.state.described:
            return RegionView(self.ev.runs, unrolled)
        self.state.described.add(self.layout)
        names = {1: ("element",), 2: ("row", "column")}.get(self.layout.rank)
        parts = []
        for axis in range(self.layout.rank):
            name = names[axis] if names else f"index {axis}"
            parts.append(f"{name} = {self.ev.text(self.ev.coordinate(self.ev.grid, axis)).text}")
        ranges = [f"run < {self.ev.runs}"] + ([f"k < {self.vec}"] if self.vec > 1 else [])
        shape = ", ".join(map(str, self.layout.shape))
        return RegionView(self.ev.runs, unrolled, shape, ", ".join(parts), ", ".join(ranges))

    def _unrolled(self) -> int:
        """How many runs are written out at a time; 0 for all of them, as where `run` selects registers by all its bits.

        Behind so many loads that nothing waits for one of them, more of them only make long code, and fill registers.
        """
        if not self.reducers or self.results:
            return 0
        chosen = self.ev.chosen_runs
        for reducer in self.reducers.values():
            chosen |= reducer.chosen_runs(self.vec)
        loaded = sum(element_bytes(op.results[0]) * self.vec for op in self.members if op.name == "load")
        runs = max(1 << chosen.bit_length(), _BYTES_IN_FLIGHT // max(loaded, 1))
        return 1 << (runs - 1).bit_length() if runs <= self.ev.runs // 2 else 0

    def _fences(self) -> list[atomics.Fences]:
        return [atomics.fences(self.state, op) for op in self.members if op.name.startswith("atomic")]

    def _declare_outliving(self) -> None:
        """Arrays for what outlives the region, unless its storage exists or one straight line can define it."""
        for inner, result in self.results.items():
            target = self.state.targets.get(result)
            if target is None and self.ev.runs > 1:
                target = self.state.new_registers(result, self._hint(inner))
                self.state.declare_registers(target, result, result.span)
            if target is not None:
                self.state.registers[result] = target
                self.ev.vectors[inner] = target

    def _maker(self, value: Value) -> Op | None:
        return next((op for op in self.members if value in op.results), None)

    def _hint(self, value: Value) -> str:
        return hint_for(self.state, value, self._maker(value))

    def _body(self) -> None:
        for position, op in enumerate(self.members):
            if op in self.guards:
                self._close_k()
                with operation(op.name):
                    self._vector(op)
            else:
                self._open_k()
                with operation(op.name):
                    self._element(op)
            following = self.members[position + 1] if position + 1 < len(self.members) else None
            if following is None or self.item[following] != self.item[op]:
                self._close_k()

    def _open_k(self) -> None:
        if self.vec > 1 and self.k_block is None:
            self.k_block = Block(self.ev.run_block.depth + 1)
            self.ev.k_block = self.k_block

    def _close_k(self) -> None:
        block = self.k_block
        self.k_block = None
        self.ev.close_k()
        if block is None or not block.lines:
            return
        body = self.ev.run_block
        own = [line for line in block.lines if not line.text.startswith("//")]
        header = f"for (int k = 0; k < {self.vec}; ++k)"
        if len(own) == 1 and len(header) + len(own[0].text) + 4 * body.depth < LINE_WIDTH:
            comments = [line for line in block.lines if line.text.startswith("//")]
            above = Block(block.depth, comments) if comments else None
            with operation(own[0].op):
                statements.line_loop(body, "k", self.vec, own[0].text, own[0].span, above)
        else:
            statements.loop(body, "k", self.vec, block)

    @property
    def here(self) -> Block:
        """Where the next element statement goes."""
        return self.k_block if self.k_block is not None else self.ev.run_block

    # Vectors.
    def _vector(self, op: Op) -> None:
        if op.name == "load":
            loaded = self.memory.load_vector(op, self.guards[op])
            self.state.comment(op.span, self.ev.run_block)
            self._define_vector(op.results[0], loaded, op)
            return
        access = access_of(op)
        assert access.value is not None
        name = self._as_vector(access.value)
        owner = owner_condition(self.state, self.layout)
        view = self.memory.store_vector(op, self.guards[op], name, owner)
        self.state.comment(op.span, self.ev.run_block)
        write_store(self.ev.run_block, view, op.span)

    def _define_vector(self, value: Value, expr: C, op: Op) -> None:
        """Give a vector that was just loaded its name."""
        block = self.ev.run_block
        target = self.ev.vectors.get(value)
        if target is not None:
            statements.assign(block, target.vector("run"), expr.text, op.span)
            return
        name = self.state.names.fresh(self._hint(value))
        type_ = self.state.tile_type(value, self.vec)
        statements.constant(block, type_, name, expr.text, op.span)
        self._keep(value, Registers(name, self.layout, self.vec, single_run=True, is_constant=True))

    def _keep(self, value: Value, registers: Registers) -> None:
        self.ev.vectors[value] = registers
        result = self.results.get(value)
        if result is not None and self.ev.runs == 1:
            self.state.registers[result] = replace(registers, single_run=False)

    def _as_vector(self, value: Value) -> str:
        """Text of the vector that holds this run's elements of a value."""
        registers = self.ev.vectors.get(value) or self.state.registers.get(value)
        if registers is not None and registers.vec == self.vec and registers.layout == self.layout:
            return registers.vector("run")
        expr = self.ev.value(value)
        deps = expr.deps
        if K not in deps:
            element = element_of(value.type)
            assert isinstance(element, DType)
            return filled(self.state, element, self.vec, self.ev.text(expr))
        name = self.state.names.fresh(value.name or "packed")
        self.state.helper("vector")
        view = PackedView(self.state.tile_type(value, self.vec), name, self.vec, self.ev.text(expr).text)
        write(self.ev.run_block, TEMPLATE, "packed", view)
        return name

    # Elements.
    def _element(self, op: Op) -> None:
        if op.name == "store":
            view = self.memory.store_element(op, owner_condition(self.state, self.layout))
            self.state.comment(op.span, self.here)
            write_store(self.here, view, op.span)
        elif op.name.startswith("atomic"):
            self._atomic(op)
        elif op.name == "load":
            self._define(op.results[0], self.memory.load_element(op), op, keep=True)
        elif op.name in ELEMENTWISE or op.name == "map":
            arguments: list[Expr] = [self.ev.value(v) for v in op.operands]
            expr = elementwise(self.state, op, arguments, self.ev.text)
            self._define(op.results[0], self.ev.text(expr), op)
        elif op.name == "assert":
            values = [self.ev.c(v) for v in op.operands]
            self.state.comment(op.span, self.here)
            write_assertion(self.state, self.here, op, *values)
        elif op in self.reducers:
            self.reducers[op].fold(self.ev, self.here)
        elif op.name in CHOICES:
            self._define(op.results[0], self.ev.chosen(op, self.ev.grid, k_zero=False), op)
        else:
            raise InternalError(f"{op.name} inside a fused region", op.span)

    def _is_local(self, value: Value) -> bool:
        """Whether a value is used only in the loop over k that makes it."""
        if value in self.results:
            return False
        if self.vec == 1:
            return True
        mine = self.item[self._maker(value)]  # type: ignore[index]
        return all(self.item[user] == mine and user not in self.guards for user in self.consumers.get(value, ()))

    def _define(self, value: Value, expr: C, op: Op, keep: bool = False) -> None:
        """Name an element's value, or leave it to its only user."""
        target = self.ev.vectors.get(value)
        if target is not None:
            self.state.comment(op.span, self.here)
            statements.assign(self.here, target.element("run", "k"), expr.text, op.span)
            return
        users = self.consumers.get(value, ())
        if self._is_local(value):
            if not keep and not value.name and len(users) == 1 and len(expr.text) < 60:
                self.ev.locals[value] = expr
                return
            self.state.comment(op.span, self.here)
            name = self.state.names.fresh(self._hint(value))
            statements.constant(self.here, self.state.variable_type(value), name, expr.text, op.span)
            deps = frozenset((RUN, K)) if self.vec > 1 else frozenset((RUN,))
            self.ev.locals[value] = C(name, PRIMARY, deps)
            return
        self.state.comment(op.span, self.ev.run_block)
        name = self.state.names.fresh(self._hint(value))
        if self.vec == 1:
            statements.constant(self.here, self.state.variable_type(value), name, expr.text, op.span)
        else:
            statements.variable(self.ev.run_block, self.state.tile_type(value, self.vec), name, op.span)
            statements.assign(self.here, f"{name}[k]", expr.text, op.span)
        self._keep(value, Registers(name, self.layout, self.vec, single_run=True, is_constant=self.vec == 1))

    def _atomic(self, op: Op) -> None:
        """One atomic per element; the old value is 0 where the mask is off."""
        access = access_of(op)
        address = self.places.address(self.places.of(access.pointer))
        operands = op.operands[1:3] if op.name == "atomic_cas" else op.operands[1:2]
        values = [self.ev.typed(v) for v in operands]
        call = atomics.spell(self.state, op, address, *values)
        conditions = []
        if (owner := owner_condition(self.state, self.layout)) is not None:
            conditions.append(owner)
        if access.mask is not None:
            conditions.append(self.ev.c(access.mask))
        condition = all_of(conditions)
        result = op.results[0]
        self.state.comment(op.span, self.here)
        used = result in self.results or self.consumers.get(result)
        if not used:
            statements.evaluate(self.here, call.text, op.span, condition.text if condition is not None else "")
        elif condition is None:
            self._define(result, call, op, keep=True)
        else:
            zero = literal(self.state, 0, pointee(access.pointer))
            self._define_guarded(result, zero, condition, call, op)

    def _define_guarded(self, value: Value, start: C, condition: C, call: C, op: Op) -> None:
        target = self.ev.vectors.get(value)
        if target is None:
            name = self.state.names.fresh(self._hint(value))
            type_ = self.state.variable_type(value)
            if self.vec == 1 or self._is_local(value):
                statements.started(self.here, type_, name, start.text, op.span)
                element = name
                if self.vec == 1:
                    self._keep(value, Registers(name, self.layout, 1, single_run=True))
                else:
                    self.ev.locals[value] = C(name, PRIMARY, frozenset((RUN, K)))
            else:
                statements.variable(self.ev.run_block, self.state.tile_type(value, self.vec), name, op.span)
                element = f"{name}[k]"
                statements.assign(self.here, element, start.text, op.span)
                self._keep(value, Registers(name, self.layout, self.vec, single_run=True))
        else:
            element = target.element("run", "k")
            statements.assign(self.here, element, start.text, op.span)
        statements.assign(self.here, element, call.text, op.span, condition.text)


def emit_replicated_atomic(state: State, op: Op) -> None:
    """Atomics of a tile that several threads hold: owners perform them, all read the old values from scratch."""
    result = op.results[0]
    loop = FusedLoop(state, [op], {})
    access = access_of(op)
    scratch = state.buffers[op.operands[-1]].text
    state.comment(op.span)
    fences = atomics.fences(state, op)
    target = state.targets.get(result)
    registers = target or state.new_registers(result, "before")
    type_, name = ("", "") if target else state.declarator(registers, result)

    def perform(ev: Evaluator) -> None:
        slot = f"{scratch}[{ev.text(linear_index(ev)).text}]"
        operands = op.operands[1:3] if op.name == "atomic_cas" else op.operands[1:2]
        address = loop.places.address(loop.places.of(access.pointer))
        call = atomics.spell(state, op, address, *(ev.typed(v) for v in operands))
        zero = literal(state, 0, pointee(access.pointer))
        value = call if access.mask is None else ternary(ev.c(access.mask), call, zero)
        owner = owner_condition(state, ev.layout)
        statements.assign(ev.run_block, slot, value.text, op.span, owner.text if owner is not None else "")

    def read(ev: Evaluator) -> None:
        slot = f"{scratch}[{ev.text(linear_index(ev)).text}]"
        statements.assign(ev.run_block, registers.element("run", "k"), slot, op.span)

    bodies = {"perform": each_register(state, loop.ev, perform), "read": each_register(state, loop.ev, read)}
    view = atomics.ReplicatedView(type_, name, fences.release, fences.acquire)
    write(state.block, atomics.TEMPLATE, "replicated", view, op.span, **bodies)
    state.registers[result] = registers


def each_register(state: State, ev: Evaluator, body: Callable[[Evaluator], None]) -> Block:
    """`body` in loops over run and k, with what is named in front of them."""
    whole = Block(state.block.depth)
    loops = [(index, count) for index, count in (("run", ev.runs), ("k", ev.vec)) if count > 1]
    inner = Block(whole.depth + len(loops))
    ev.outer, ev.run_block = whole, inner
    ev.k_block = inner if ev.vec > 1 else None
    with state.writing_to(inner), state.names.scope():
        body(ev)
    statements.loop_nest(whole, loops, inner)
    ev.close_k()
    return whole
