"""Loops that go on until every element of a tile is done: each thread leaves when its own elements are.

`while tl.reduce_or(todo): x = tl.where(todo, next, x)` asks the whole CTA in every round, which costs a reduction and its
barriers, and makes the threads that are done go round with those that are not. Where an element that is done stays as it
is, the rounds that its thread takes for it change nothing, so each thread may ask for its own elements alone. That is how
one writes a thread's waiting for a word of its own, or its walk over a run of its own, in CUDA.

Proved of a loop:

- it goes on while any element of a tile `todo` holds, and `todo` follows from what the loop carries;
- it carries tiles of one layout, no element of which two threads hold, and an element that is not in `todo` keeps its
  value: it comes from a `where` or a masked load that the same condition decides;
- its body only computes, loads, and stores to global memory where `todo` holds. It loads nothing that it stores, and
  no shared memory that the copy engine fills: no barrier will have to stand in it.

Where it loads from global memory, or anew from its own, it may wait for others, and what follows may read what these wrote
before they told any thread of this CTA. So all threads meet behind it, once, unless a collective operation has them meet
before that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType

from tle2cuda.ir.classify import ELEMENTWISE, SHAPE, is_tile
from tle2cuda.ir.effects import READ, WRITE, Roots, effects, is_barrier
from tle2cuda.ir.legality import is_pure
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions, uses_of
from tle2cuda.ir.types import GLOBAL, SHARED, TileType
from tle2cuda.layout import Layout
from tle2cuda.passes.collective_plan import exclusive_sum_slots, scan_slots, warp_exchange
from tle2cuda.passes.dead_code import remove_dead_code

OWN = "own"
"""Attribute of a reduction whose result each thread has of its own elements alone."""

_WAITED = "every thread has seen what it waited for"

_COMPUTING = ELEMENTWISE | SHAPE | frozenset(("constant", "arange", "ptr_add", "local_ptr", "buffer_view"))


def run(kernel: Kernel) -> Kernel:
    """Mark the conditions of such loops."""
    if not any(op.name == "while" for op in walk(kernel.body)):
        return kernel
    settled = _Settle(kernel).kernel(kernel)
    return kernel if settled is kernel else remove_dead_code(settled)


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop that each thread may leave for itself.

    Attributes:
        reduce: The reduction that asks whether any element is to do.
        todo: Tells of a value of the body whether it is `todo` again.
        is_single: A thread has one element: in the body that one is to do.
    """

    reduce: Op
    todo: Callable[[Value], bool]
    is_single: bool


class _Settle(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.roots = Roots(kernel)
        self.target = kernel.target
        self.regions = [kernel.body.ops, *(region.ops for op in walk(kernel.body) for region in op.regions)]
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.copied = {
            effect.root
            for op in walk(kernel.body)
            for effect in effects(op, self.roots)
            if effect.kind != READ and (effect.is_async or effect.proxy == "async")
        }
        self.marked: set[Op] = set()
        self.certain: list[_Loop] = []

    def visit(self, op: Op) -> None:
        if op in self.marked:
            self.emit(replace(op, operands=tuple(self[v] for v in op.operands), attrs=_with(op, **{OWN: True})))
            return
        if self.certain and self._is_certain(op):
            return
        loop = self._loop(op) if op.name == "while" else None
        if loop is None:
            self.copy(op)
            return
        self.marked.add(loop.reduce)
        if loop.is_single:
            self.certain.append(loop)
        self.copy(op)
        if loop.is_single:
            self.certain.pop()
        if self._may_wait(op.regions[1]) and not self._meet_behind(op):
            self.emit(make_op("barrier", attrs={"reason": _WAITED}, span=op.span))

    def _may_wait(self, body: Region) -> bool:
        """Whether a loop loads what others may write meanwhile."""
        reads = (effect for op in walk(body) for effect in effects(op, self.roots) if effect.kind == READ)
        return any(effect.space != SHARED or effect.op.attrs.get("volatile") for effect in reads)

    def _meet_behind(self, loop: Op) -> bool:
        """Whether all threads meet behind a loop before any of them accesses memory."""
        region = next(region for region in self.regions if loop in region)
        for op in region[region.index(loop) + 1 :]:
            if is_barrier(op) or self._is_met_in(op):
                return True
            if op.regions or effects(op, self.roots):
                return False
        return False

    def _is_met_in(self, op: Op) -> bool:
        """Whether an operation's threads exchange results by shared memory, with a barrier in between."""
        layout = _layout(op.operands[0]) if op.operands else None
        if layout is None:
            return False
        if op.name == "exclusive_sum":
            return exclusive_sum_slots(op, layout.num_warps, self.target) > 0
        if op.name == "scan":
            return scan_slots(layout, op.attrs["axis"]) > 0
        return op.name == "reduce" and op not in self.marked and warp_exchange(layout, op.attrs["axis"]) is not None

    def _is_certain(self, op: Op) -> bool:
        """Leave out a mask that holds for the only element of a thread that is still in the loop."""
        todo = self.certain[-1].todo
        if op.name == "select" and todo(op.operands[0]):
            self.bind(op.results[0], self[op.operands[1]])
            return True
        if op.name == "and" and any(map(todo, op.operands)):
            self.bind(op.results[0], self[op.operands[int(todo(op.operands[0]))]])
            return True
        position = {"load": 1, "store": 2}.get(op.name)
        if position is None or not op.attrs.get("has_mask") or not todo(op.operands[position]):
            return False
        attrs = _with(op, has_mask=False, **({"has_other": False} if op.name == "load" else {}))
        self.emit(replace(op, operands=tuple(self[v] for v in op.operands[:position]), attrs=attrs))
        return True

    # ---- what is proved ----

    def _loop(self, op: Op) -> _Loop | None:
        before, body = op.regions
        condition, *passed = before.terminator.operands
        reduce = self.definitions.get(condition)
        if reduce is None or reduce not in before.ops or reduce.name != "reduce" or len(self.uses[condition]) != 1:
            return None
        if reduce.attrs["kind"] != "or" or len(reduce.operands) != 1 or tuple(passed) != before.params or not passed:
            return None
        layout = _layout(reduce.operands[0])
        if layout is None or layout.is_replicated or len(layout.shape) != 1:
            return None
        if any(_layout(param) != layout for param in before.params):
            return None
        if not all(inner is reduce or _computes(inner) for inner in before.body):
            return None
        same = dict(zip(body.params, before.params, strict=True))

        def todo(value: Value) -> bool:
            return self._equal(value, reduce.operands[0], same)

        stays = all(self._stays(*pair, todo) for pair in zip(body.terminator.operands, body.params, strict=True))
        if not stays or not self._is_private(body, layout, todo):
            return None
        return _Loop(reduce, todo, layout.num_registers == 1)

    def _equal(self, a: Value, b: Value, same: dict[Value, Value]) -> bool:
        """Whether two values are computed alike, parameters of the body standing for what they are handed."""
        if same.get(a, a) is b:
            return True
        x, y = self.definitions.get(a), self.definitions.get(b)
        if x is None or y is None or x.name != y.name or dict(x.attrs) != dict(y.attrs) or a.type != b.type:
            return False
        if not is_pure(x) or x.regions or y.regions or len(x.operands) != len(y.operands) or len(x.results) != 1:
            return False
        return all(self._equal(v, w, same) for v, w in zip(x.operands, y.operands, strict=True))

    def _implies(self, mask: Value, todo: Callable[[Value], bool]) -> bool:
        """Whether a mask holds only where `todo` does."""
        maker = self.definitions.get(mask)
        if maker is not None and maker.name == "and" and any(self._implies(v, todo) for v in maker.operands):
            return True
        return todo(mask)

    def _stays(self, following: Value, param: Value, todo: Callable[[Value], bool]) -> bool:
        """Whether what is not to do keeps its value of the round before."""
        if following is param:
            return True
        maker = self.definitions.get(following)
        if maker is None:
            return False
        if maker.name == "select":
            return maker.operands[2] is param and self._implies(maker.operands[0], todo)
        if maker.name != "load" or not maker.attrs.get("has_other"):
            return False
        return maker.operands[2] is param and self._implies(maker.operands[1], todo)

    def _is_private(self, body: Region, layout: Layout, todo: Callable[[Value], bool]) -> bool:
        """Whether a thread may run the body without the others."""
        loaded: set[Value | None] = set()
        stored: set[Value | None] = set()
        for op in walk(body):
            if any(_layout(v) not in (None, layout) for v in (*op.operands, *op.results)):
                return False
            if op.name in ("yield", "for"):
                continue
            if op.name in ("load", "store"):
                if not is_tile(op.operands[0]) or op.attrs.get("is_async") or op.attrs.get("is_copy"):
                    return False
                if op.name == "store" and not (op.attrs.get("has_mask") and self._implies(op.operands[2], todo)):
                    return False
                for effect in effects(op, self.roots):
                    (loaded if effect.kind == READ else stored).add(effect.root)
                    if effect.kind == WRITE and effect.space != GLOBAL:
                        return False
            elif not _computes(op):
                return False
        if stored and (None in loaded | stored or loaded & stored):
            return False
        return not self.copied or not (None in loaded | self.copied or loaded & self.copied)


def _computes(op: Op) -> bool:
    """Whether an operation computes each thread's elements from the thread's own."""
    return (op.name in _COMPUTING and is_pure(op)) or op.name == "condition"


def _layout(value: Value) -> Layout | None:
    return value.type.layout if isinstance(value.type, TileType) else None


def _with(op: Op, **attrs: object) -> MappingProxyType[str, object]:
    return MappingProxyType({**op.attrs, **attrs})
