"""Loads and stores: how wide they are, what guards them, how they read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.analysis.axis_domain import SWIZZLE_UNIT_BYTES
from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import BOOL, GLOBAL, I32, DType, PointerType, TileType, element_of
from tle2cuda.layout import Layout
from tle2cuda.lowering import atomics
from tle2cuda.lowering.cexpr import ADD, EQUALITY, PRIMARY, RELATIONAL, UNARY, C, all_of, binary, ternary
from tle2cuda.lowering.evaluate import Evaluator, Grid
from tle2cuda.lowering.literals import LITERAL_SUFFIXES, literal
from tle2cuda.lowering.places import Place, Places
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block

MAX_ACCESS_BYTES = 16
REGISTER_BYTES = 4
_WORDS = {2: "unsigned short", 4: "unsigned", 8: "uint2", 16: "uint4"}  # by bytes


@dataclass(frozen=True, slots=True)
class Access:
    """Operands of a memory operation by role."""

    pointer: Value
    value: Value | None
    mask: Value | None
    other: Value | None


def access_of(op: Op) -> Access:
    """Sort the operands of a load, store or atomic."""
    operands = list(op.operands)
    if op.attrs.get("num_scratch"):
        operands = operands[: -op.attrs["num_scratch"]]
    pointer = operands.pop(0)
    value = operands.pop(0) if op.name in ("store", "atomic_rmw") else None
    mask = operands.pop(0) if op.attrs.get("has_mask") else None
    other = operands.pop(0) if op.attrs.get("has_other") else None
    return Access(pointer, value, mask, other)


def pointee(pointer: Value) -> DType:
    """Element type behind a pointer."""
    element = element_of(pointer.type)
    assert isinstance(element, PointerType)
    return element.element


@dataclass(frozen=True, slots=True)
class Bound:
    """A check `index < limit`, or `index <= limit` when `slack` is 1, in the coordinates of `grid`."""

    index: Value
    limit: Value
    slack: int
    grid: Grid


@dataclass(frozen=True, slots=True)
class Guard:
    """What a vector access has to test.

    Attributes:
        conditions: Conditions that hold or fail for the whole vector.
        bounds: Checks that may fail for the last elements of the vector only.
    """

    conditions: tuple[Value, ...]
    bounds: tuple[Bound, ...]


class VectorPlan:
    """Decides which memory operations of a loop move whole vectors."""

    def __init__(self, state: State, layout: Layout, vec: int | None = None) -> None:
        self.state = state
        self.layout = layout
        self.axis, self.vec = layout.vector()
        if vec is not None:
            self.vec = vec

    def guard(self, op: Op) -> Guard | None:
        """How to guard a vector access; None when it has to go element by element."""
        access = access_of(op)
        if not is_tile(access.pointer):
            return None
        if op.name not in ("load", "store") and not self._adds_vectors(op):
            return None
        return self.guard_of(access.pointer, access.mask)

    def guard_of(self, pointer: Value, mask: Value | None) -> Guard | None:
        """How to guard an access of a vector through a tile of pointers; None when it has to go element by element."""
        if self.vec == 1:
            return None
        if pointee(pointer) is BOOL:
            return None  # in global memory any byte but 0 is true: looked at one by one
        info = self.state.info.get(pointer)
        size = pointee(pointer).bytes
        if info is None or info.contiguity[self.axis] < self.vec:
            return None
        if info.divisibility[self.axis] % min(MAX_ACCESS_BYTES, self.vec * size):
            return None
        if self.vec * size > SWIZZLE_UNIT_BYTES and self._is_swizzled(pointer):
            return None  # units of a row lie in another order, and further panels elsewhere
        if mask is None:
            return Guard((), ())
        conditions: list[Value] = []
        bounds: list[Bound] = []
        for part in self._conjuncts(mask):
            mask_info = self.state.info.get(part)
            if not is_tile(part) or (mask_info is not None and mask_info.constancy[self.axis] >= self.vec):
                conditions.append(part)
            elif (bound := self._bound(part)) is not None:
                bounds.append(bound)
            else:
                return None
        return Guard(tuple(conditions), tuple(bounds))

    def _is_swizzled(self, pointer: Value) -> bool:
        """Whether a pointer leads into a buffer whose rows are stored under a swizzle."""
        op = self.state.definitions.get(pointer)
        while op is not None and op.name != "local_ptr":
            op = self.state.definitions.get(op.operands[0]) if op.operands else None
        return op is not None and bool(self.state.buffers[op.operands[0]].swizzle_bytes)

    def _adds_vectors(self, op: Op) -> bool:
        """Whether an atomic may take whole vectors."""
        return op.name == "atomic_rmw" and atomics.vector_addition(self.state, op) is not None

    def _conjuncts(self, mask: Value) -> list[Value]:
        op = self.state.definitions.get(mask)
        if op is not None and op.name == "and" and mask not in self.state.registers:
            return [part for operand in op.operands for part in self._conjuncts(operand)]
        return [mask]

    def _bound(self, mask: Value) -> Bound | None:
        """The check `index < limit` on neighbouring indices against a limit that is the same for the whole vector.

        Broadcasts and new axes between the comparison and the access are looked through: neighbours stay neighbours.
        """
        grid, axis = Grid.of(self.layout, self.vec), self.axis
        op = self.state.definitions.get(mask)
        while op is not None and op.name in ("broadcast", "expand_dims", "trans"):
            inner = op.operands[0]
            grid = grid.operand(op, inner)
            if op.name == "expand_dims":
                axis -= axis > op.attrs["axis"]
            elif op.name == "trans":
                axis = op.attrs["perm"][axis]
            op = self.state.definitions.get(inner)
        if op is None or op.name != "cmp":
            return None
        predicate = op.attrs["predicate"]
        index, limit = op.operands
        if predicate in ("gt", "ge"):
            index, limit, predicate = limit, index, {"gt": "lt", "ge": "le"}[predicate]
        element = element_of(index.type)
        if predicate not in ("lt", "le") or not isinstance(element, DType) or element.kind != "int":
            return None  # the room `limit - index` of unsigned numbers would wrap past the limit
        info, limit_info = self.state.info.get(index), self.state.info.get(limit)
        if info is None or limit_info is None:
            return None
        if info.contiguity[axis] < self.vec or limit_info.constancy[axis] < self.vec:
            return None
        return Bound(index, limit, 1 if predicate == "le" else 0, grid)


_CACHE_LOADS: Mapping[str, str] = {".ca": "load_ca", ".cg": "load_cg", ".cs": "load_cs", ".cv": "load_cv"}
_CACHE_STORES: Mapping[str, str] = {
    ".wb": "store_wb",
    ".cg": "store_cg",
    ".cs": "store_cs",
    ".wt": "store_wt",
}
_EVICT_LOADS = {"evict_first": "load_evict_first", "evict_last": "load_evict_last"}
_EVICT_STORES = {"evict_first": "store_evict_first", "evict_last": "store_evict_last"}


@dataclass(frozen=True, slots=True)
class StoreView:
    """A store, as a form of `memory.cu.j2` shows it."""

    form: str
    condition: str
    value: str
    element: str = ""
    function: str = ""
    address: str = ""
    valid: str = ""


class MemoryEmitter:
    """Spells loads and stores inside one loop."""

    def __init__(self, state: State, evaluator: Evaluator) -> None:
        self.state = state
        self.ev = evaluator
        self.places = Places(state, evaluator)

    # ---- loads ------------------------------------------------------------------------------------------------------

    def load_element(self, op: Op) -> C:
        """Expression of one loaded element."""
        access = access_of(op)
        place = self.places.of(access.pointer)
        loaded = read_element(self.state, op, self.places, place)
        if access.mask is None:
            return loaded
        return masked_element(self.state, op, self.places, place, self.ev.c(access.mask), loaded, self._other(access))

    def _other(self, access: Access) -> C:
        if access.other is not None:
            return self.ev.c(access.other)
        return literal(self.state, 0, pointee(access.pointer))

    def load_vector(self, op: Op, guard: Guard) -> C:
        """Expression of one loaded vector."""
        access = access_of(op)
        vec = self.ev.vec
        address = self.places.address(self.places.of(access.pointer, k_zero=True))
        helper = load_helper(op)
        cache = "" if helper is None else helper.removeprefix("load")
        if cache:
            self.state.helper(f"load{cache}")
        conditions = [self.ev.c(v, k_zero=True) for v in guard.conditions]
        if guard.bounds:
            valid = self._valid(guard, conditions)
            name = predicated_load(self.state, op, vec, edge=True) if self.state.is_in_loop else None
            if name is not None:
                return C(f"{name}({address.text}, {valid.text}, {self._other_base(access).text})", PRIMARY)
            name = self.state.helper(f"load_{'narrow_' if self._is_narrow(access) else ''}edge{cache}")
            return C(f"{name}<{vec}>({address.text}, {valid.text}, {self._other_base(access).text})", PRIMARY)
        condition = all_of(conditions)
        if condition is None:
            return C(f"{self.state.helper(f'load_vector{cache}')}<{vec}>({address.text})", PRIMARY, address.deps)
        fill = filled(self.state, pointee(access.pointer), vec, self._other_base(access))
        predicated = predicated_load(self.state, op, vec)
        if predicated is None and self._is_narrow(access):
            predicated = self.state.helper(f"load_packed_if{cache}")
        if predicated is not None:
            return C(f"{predicated}({condition.text}, {address.text}, {fill})", PRIMARY)
        loaded = C(f"{self.state.helper(f'load_vector{cache}')}<{vec}>({address.text})", PRIMARY, address.deps)
        return ternary(condition, loaded, C(fill))

    def _valid(self, guard: Guard, conditions: list[C]) -> C:
        """How many leading elements of a vector are accessed, 0 and less for none."""
        valid, condition = valid_elements(self.ev, guard), all_of(conditions)
        return valid if condition is None else ternary(condition, valid, C("0"))

    def _is_narrow(self, access: Access) -> bool:
        """Whether whole registers hold several elements each, which a choice between vectors should not take apart."""
        size = pointee(access.pointer).bytes
        return size < REGISTER_BYTES <= size * self.ev.vec and pointee(access.pointer) is not BOOL

    def _other_base(self, access: Access) -> C:
        if access.other is None:
            return literal(self.state, 0, pointee(access.pointer))
        return self.ev.c(access.other, k_zero=True)

    def other_is_uniform(self, op: Op) -> bool:
        """Whether the value for masked-off elements is the same along a vector."""
        other = access_of(op).other
        if other is None or not is_tile(other):
            return True
        info = self.state.info.get(other)
        definition = self.state.definitions.get(other)
        if definition is not None and definition.name in ("constant", "splat"):
            return True
        return info is not None and info.constancy[self.ev.layout.vector()[0]] >= self.ev.vec

    # ---- stores -----------------------------------------------------------------------------------------------------

    def store_element(self, op: Op, owner: C | None) -> StoreView:
        """Store of one element."""
        access = access_of(op)
        assert access.value is not None
        place = self.places.of(access.pointer)
        value = self.ev.c(access.value)
        conditions = [owner] if owner is not None else []
        if access.mask is not None:
            conditions.append(self.ev.c(access.mask))
        return store_view(self.state, op, self.places, place, value, all_of(conditions))

    def store_vector(self, op: Op, guard: Guard, value: str, owner: C | None) -> StoreView:
        """Store of the vector named `value`, or its atomic addition."""
        access = access_of(op)
        address = self.places.address(self.places.of(access.pointer, k_zero=True))
        conditions = [self.ev.c(v, k_zero=True) for v in guard.conditions]
        if owner is not None:
            conditions.insert(0, owner)
        form = "store_edge" if guard.bounds else "store_by_helper"
        if conditions and form == "store_by_helper" and self._goes_by_words(op):
            form = "store_if"
        is_counted = form == "store_edge" and self._is_predicated_edge(op)
        return StoreView(
            form=form,
            condition="" if is_counted else _text(all_of(conditions)),
            value=value,
            function=self._vector_writer(op, form),
            address=address.text,
            valid=self._valid(guard, conditions if is_counted else []).text if guard.bounds else "",
        )

    def _is_predicated_edge(self, op: Op) -> bool:
        """Whether a store up to an edge branches only where the edge lies within its vector: in loops, where it pays."""
        return self.state.is_in_loop and self._goes_by_words(op)

    def _goes_by_words(self, op: Op) -> bool:
        """Whether a vector may be stored as words of global memory, which the compiler leaves whole."""
        element = element_of(op.operands[0].type)
        if op.name != "store" or store_helper(op) is not None or pointee(op.operands[0]) is BOOL:
            return False
        is_global = isinstance(element, PointerType) and element.space == GLOBAL
        return is_global and self.ev.vec * pointee(op.operands[0]).bytes >= REGISTER_BYTES

    def _vector_writer(self, op: Op, form: str) -> str:
        """Helper that writes a vector, or adds it atomically to what is there."""
        is_edge = form == "store_edge"
        if op.name == "atomic_rmw":
            addition = atomics.vector_addition(self.state, op)
            assert addition is not None
            self.state.helper(addition)
            return self.state.helper("red_add_edge") if is_edge else "red_add_vector"
        helper = store_helper(op)
        cache = "" if helper is None else helper.removeprefix("store")
        if cache:
            self.state.helper(f"store{cache}")
        is_predicated = form == "store_if" or (is_edge and self._is_predicated_edge(op))
        if self._goes_by_words(op) and (is_predicated or self._is_narrow(access_of(op))):
            word = min(MAX_ACCESS_BYTES, self.ev.vec * pointee(op.operands[0]).bytes)
            self.state.helper(f"store_bits{word}{'_if' if is_predicated else ''}")
            if is_predicated:
                name = "store_edge_if" if is_edge else "store_vector_if"
            else:
                name = "store_narrow_edge" if is_edge else "store_narrow"
            return f"{self.state.helper(name)}<{_WORDS[word]}>"
        return self.state.helper(f"store_edge{cache}" if is_edge else f"store_vector{cache}")


def valid_elements(ev: Evaluator, guard: Guard) -> C:
    """How many leading elements of a vector lie in bounds, 0 and less for none, and more than it has for all."""
    result: C | None = None
    for bound in guard.bounds:
        start = ev.value(bound.index, bound.grid, k_zero=True)
        room = binary("-", ADD, ev.c(bound.limit, bound.grid, k_zero=True), ev.text(start))
        if bound.slack:
            room = binary("+", ADD, room, C(str(bound.slack)))
        result = room if result is None else C(f"min({result.text}, {room.text})", PRIMARY)
    assert result is not None
    return result


def read_element(state: State, op: Op, places: Places, place: Place) -> C:
    """Expression of one element in memory, read the way a load asks for."""
    helper = load_helper(op)
    if pointee(op.operands[0]) is BOOL and place.buffer is None:  # bool pointers address bytes
        address = places.address(place)
        raw = C(f"*reinterpret_cast<const unsigned char*>({address.text})", UNARY, address.deps)
        return binary("!=", EQUALITY, raw, C("0"))
    if helper is None:
        return places.element(place)
    address = places.address(place)
    return C(f"{state.helper(helper)}({address.text})", PRIMARY, address.deps)


def predicated_load(state: State, op: Op, vec: int | None = None, *, edge: bool = False) -> str | None:
    """Helper that loads from global memory only if a condition holds; None where a load has another way to go.

    Args:
        state: State of the kernel.
        op: The load.
        vec: Elements of a vector; None for one element.
        edge: The first elements of a vector, as many as are valid.
    """
    element = element_of(op.operands[0].type)
    assert isinstance(element, PointerType)
    if element.space != GLOBAL or pointee(op.operands[0]) is BOOL or load_helper(op) is not None:
        return None
    suffix = "_nc_if" if state.access.is_unchanging(op.operands[0]) else "_if"
    dtype = pointee(op.operands[0])
    if vec is None:
        if dtype.bits == 8:
            return state.helper(f"load_byte{suffix}")
        state.helper(f"load{suffix}_{'16' if dtype.bits == 16 else dtype.short.replace('fp', 'f')}")
        return f"load{suffix}"
    word = min(MAX_ACCESS_BYTES, vec * dtype.bytes)
    state.helper(f"load_bits{word}{suffix}")
    if edge:
        return f"{state.helper(f'load_edge{suffix}')}<{_WORDS[word]}, {vec}>"
    return f"{state.helper(f'load_vector{suffix}')}<{_WORDS[word]}>"


def masked_element(state: State, op: Op, places: Places, place: Place, condition: C, loaded: C, other: C) -> C:
    """Expression of one element that is read only if a condition holds; `loaded` reads it whatever holds."""
    helper = predicated_load(state, op)
    if helper is None:
        return ternary(condition, loaded, other)
    address = places.address(place)
    return C(f"{helper}({condition.text}, {address.text}, {other.text})", PRIMARY, address.deps)


def store_view(state: State, op: Op, places: Places, place: Place, value: C, condition: C | None) -> StoreView:
    """Store of one element, written the way a store asks for."""
    helper = store_helper(op)
    if pointee(op.operands[0]) is BOOL and place.buffer is None:
        element = f"*reinterpret_cast<unsigned char*>({places.address(place).text})"
    elif helper is None:
        element = places.element(place).text
    else:
        function, address = state.helper(helper), places.address(place).text
        return StoreView("store_by_helper", _text(condition), value.text, function=function, address=address)
    return StoreView("store", _text(condition), value.text, element)


def write_store(block: Block, view: StoreView, span: Span | None) -> None:
    """Append a store to a block."""
    write(block, "memory.cu.j2", view.form, view, span)


def _text(condition: C | None) -> str:
    return "" if condition is None else condition.text


def filled(state: State, dtype: DType, vec: int, value: C) -> str:
    """A vector of equal elements.

    Integers other than int name their type: C has no literals of the narrow ones, and an index expression is an int
    whatever it stands for.
    """
    suffix = LITERAL_SUFFIXES.get(dtype)
    is_literal = suffix is not None and re.fullmatch(rf"-?\d+{suffix}", value.text) is not None
    is_typed = dtype.bits >= 32 and (is_literal or value.text.startswith(f"static_cast<{dtype.cuda}>("))
    explicit = f", {dtype.cuda}" if dtype.is_int() and dtype not in (BOOL, I32) and not is_typed else ""
    return f"{state.helper('fill_vector')}<{vec}{explicit}>({value.text})"


def load_helper(op: Op) -> str | None:
    """Device helper for a load with a cache modifier or eviction policy; None for a plain load."""
    if op.attrs.get("volatile"):
        return "load_cv"
    cache, eviction = op.attrs.get("cache") or "", op.attrs.get("eviction") or ""
    element = element_of(op.operands[0].type)
    assert isinstance(element, PointerType)
    if element.space != "global":
        return None
    if cache:
        return _known(_CACHE_LOADS, cache, op)
    return _known(_EVICT_LOADS, eviction, op) if eviction and eviction != "evict_normal" else None


def store_helper(op: Op) -> str | None:
    """Device helper for a store with a cache modifier or eviction policy; None for a plain store."""
    cache, eviction = op.attrs.get("cache") or "", op.attrs.get("eviction") or ""
    element = element_of(op.operands[0].type)
    assert isinstance(element, PointerType)
    if element.space != "global":
        return None
    if cache:
        return _known(_CACHE_STORES, cache, op)
    return _known(_EVICT_STORES, eviction, op) if eviction and eviction != "evict_normal" else None


def _known(table: Mapping[str, str], key: str, op: Op) -> str:
    if key not in table:
        raise InternalError(f"no helper for cache modifier or eviction policy {key!r}", op.span)
    return table[key]


def owner_condition(state: State, layout: Layout) -> C | None:
    """Condition that selects one of several threads that hold the same elements; None when each element has one holder."""
    lane_mask, warp_mask = layout.owner_bits()
    mask = lane_mask | warp_mask << 5
    if not mask:
        return None
    thread = state.thread()
    total = layout.num_threads
    lowest = mask & -mask
    if mask == total - lowest:  # all bits from some position on: the first threads are the owners
        if lowest == 1:
            return C("thread == 0", EQUALITY)
        return C(f"{thread.text} < {lowest}", RELATIONAL)
    return C(f"({thread.text} & {mask}) == 0", EQUALITY)


def tile_layout(value: Value) -> Layout:
    """Layout of a tile."""
    assert isinstance(value.type, TileType) and value.type.layout is not None
    return value.type.layout


__all__ = [
    "Access",
    "Guard",
    "MemoryEmitter",
    "VectorPlan",
    "access_of",
    "owner_condition",
]
