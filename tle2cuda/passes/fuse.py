"""Join consecutive element-by-element operations of one layout into `fused` regions (D5).

Each region becomes one loop over the registers of a thread. An operation joins the open group unless

- its layout differs, or it needs a value of the group in another layout;
- it touches shared memory that the group touches, one of them writing (a barrier may have to stand between);
- it reads global memory that the group may have written, or writes through addresses other than those the group reads,
  so that the loop could store one element before another one is loaded;
- it, or the group, is a multiplication by factors that are one mostly, which a warp may leave out (`unscaled_sums`);
- it uses what the group loads in vectors up to an edge, in a loop: the branch of the edge would keep the next vector's load
  behind what is computed of this one.

Where a group loads much, independent loads and arithmetic in other layouts go in front of it, so that it may go on.
Index tiles and other lazy values stay outside; when they are made from values of the group they go along with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from tle2cuda.analysis.accesses import may_tear_copies
from tle2cuda.analysis.addresses import Addresses
from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.ir.classify import CHOICES, ELEMENTWISE, RENAMES, element_bytes, is_tile, lazy_values
from tle2cuda.ir.effects import Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.types import GLOBAL, PointerType, TileType
from tle2cuda.layout import Layout

_MEMORY = frozenset(("load", "store", "atomic_rmw", "atomic_cas"))
_POINTER_MAKERS = frozenset(("ptr_add", "local_ptr", "remote"))
_MANY_REGISTERS = 192  # of a thread, that rather not hold what is loaded until something is done with it
_SCALAR_PURE = ELEMENTWISE | frozenset(
    ["constant", "program_id", "num_programs", "cluster_rank", "alloc", "buffer_view", "remote", "local_ptr"]
)


def run(kernel: Kernel) -> Kernel:
    """Group the operations of every region."""
    return replace(kernel, body=_Fuse(kernel).region(kernel.body))


@dataclass(slots=True)
class _Group:
    layout: Layout | None = None
    ops: list[Op] = field(default_factory=list)
    defined: set[Value] = field(default_factory=set)

    def add(self, op: Op) -> None:
        self.layout = _layout_of(op)
        self.ops.append(op)
        self.defined.update(op.results)

    @property
    def loaded(self) -> int:
        """Registers of a thread that take what it loads."""
        return sum(_registers(op) for op in self.ops if op.name == "load")


class _Fuse:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._known_addresses: Addresses | None = None
        self.lazy = lazy_values(kernel.body.ops)
        self.roots = Roots(kernel)
        self.uses = uses_of(kernel.body)
        self.definitions = definitions(kernel.body)
        self.loops = 0  # that enclose the region

    def region(self, region: Region) -> Region:
        out: list[Op] = []
        front, group = _Group(), _Group()
        for op in region.ops:
            if self._may_go_in_front(op, group):
                if front.ops and not self._joins(op, front):
                    self._flush(front, out)
                front.add(op)
                continue
            self._flush(front, out)
            if self._is_symbolic(op):
                if any(v in group.defined for v in op.operands):
                    if _layout_of(op) not in (group.layout, None):
                        self._flush(group, out)
                        out.append(op)
                    else:
                        group.ops.append(op)
                        group.defined.update(op.results)
                else:
                    out.append(op)
            elif self._is_member(op):
                if group.ops and (op.attrs.get("skips_ones") or not self._joins(op, group)):
                    self._flush(group, out)
                group.add(op)
                if op.attrs.get("skips_ones"):
                    self._flush(group, out)
            elif self._may_precede(op, group):
                out.append(op)
            else:
                self._flush(group, out)
                self.loops += op.name in ("for", "while")
                regions = tuple(self.region(r) for r in op.regions)
                self.loops -= op.name in ("for", "while")
                out.append(replace(op, regions=regions) if regions else op)
        return Region(region.params, tuple(out))

    def _is_symbolic(self, op: Op) -> bool:
        """Lazy tiles and tiles of pointers: nothing is computed where they stand."""
        if not op.results or not is_tile(op.results[0]):
            return False
        return op.results[0] in self.lazy or op.name in _POINTER_MAKERS

    def _is_member(self, op: Op) -> bool:
        if op.name in _MEMORY:
            return is_tile(op.operands[0]) and not op.attrs.get("num_scratch")
        if op.name == "assert":
            return is_tile(op.operands[0])
        if op.name == "map" and len(op.results) > 1:
            return False
        return (op.name in ELEMENTWISE or op.name in CHOICES or op.name == "map") and is_tile(op.results[0])

    def _may_go_in_front(self, op: Op, group: _Group) -> bool:
        """Whether an operation in another layout, and its group, stand in front of the open one.

        So the open group may go on behind it, and what it loads need not be in registers all at once. Only where that is
        much: else it is as well to load all of it first.
        """
        if group.loaded < _MANY_REGISTERS or self._is_symbolic(op) or not self._is_member(op):
            return False
        if _layout_of(op) == group.layout or any(v in group.defined for v in op.operands):
            return False
        if op.name not in _MEMORY:
            return op.name in ELEMENTWISE
        only_loads = all(other.name == "load" for other in group.ops if other.name in _MEMORY)
        return op.name == "load" and only_loads and not op.attrs.get("volatile")

    def _may_precede(self, op: Op, group: _Group) -> bool:
        """Whether an operation that computes no tile can be moved in front of the open group."""
        if op.name in RENAMES:
            return not any(v in group.defined for v in op.operands)
        if any(is_tile(v) for v in (*op.operands, *op.results)) or op.regions:
            return False
        if op.name in _SCALAR_PURE:
            return True
        return op.name == "load" and not any(o.name in _MEMORY and o.name != "load" for o in group.ops)

    def _flush(self, group: _Group, out: list[Op]) -> None:
        if not group.ops:
            return
        inside = set(group.ops)
        symbolic = [op for op in group.ops if self._is_symbolic(op)]
        outliving = [
            result
            for op in group.ops
            for result in op.results
            if op not in symbolic and any(user not in inside for user in self.uses.get(result, ()))
        ]
        again = self._needed_outside(symbolic, inside)
        for op in again:  # what these read must outlive the group as well
            for operand in op.operands:
                if operand in group.defined and self.definitions[operand] not in symbolic and operand not in outliving:
                    outliving.append(operand)
        out.append(_fused(self._used_inside(group.ops), outliving, [op.results[0] for op in again]))
        out.extend(again)
        group.layout, group.ops, group.defined = None, [], set()

    def _used_inside(self, ops: list[Op]) -> list[Op]:
        """The operations of a group without those symbolic ones that only operations behind it use."""
        used: set[Value] = set()
        kept: list[Op] = []
        for op in reversed(ops):
            if not self._is_symbolic(op) or op.results[0] in used:
                kept.append(op)
                used.update(op.operands)
        return kept[::-1]

    def _needed_outside(self, symbolic: list[Op], inside: set[Op]) -> list[Op]:
        """Symbolic operations of the group whose values are used behind it, with what those need."""
        needed: set[Op] = set()
        for op in reversed(symbolic):
            users = self.uses.get(op.results[0], ())
            if any(user not in inside or user in needed for user in users):
                needed.add(op)
        return [op for op in symbolic if op in needed]

    def _joins(self, op: Op, group: _Group) -> bool:
        if _layout_of(op) != group.layout:
            return False
        if any(v in group.defined and v.type.layout != group.layout for v in op.operands):  # type: ignore[union-attr]
            return False
        if self.loops and any(self._has_edge(v) for v in op.operands if v in group.defined):
            return False
        if op.name not in _MEMORY:
            return True
        return all(self._compatible(op, other) for other in group.ops if other.name in _MEMORY)

    def _has_edge(self, value: Value) -> bool:
        """Whether a thread loads several vectors of a tile, under a mask that may end within one."""
        op = self.definitions[value]
        layout = _layout_of(op)
        if op.name != "load" or not op.attrs.get("has_mask") or layout is None or _space(op) != GLOBAL:
            return False
        axis, width = layout.vector()
        if width == 1 or layout.num_registers == width:
            return False
        pointer, mask = (self._info.get(v) for v in op.operands[:2])
        is_vector = pointer is not None and pointer.contiguity[axis] >= width
        return is_vector and mask is not None and mask.constancy[axis] < width

    @cached_property
    def _info(self) -> Mapping[Value, AxisInfo]:
        """What is known of integers and pointers, found out when first asked for."""
        return axis_info(self.kernel)

    def _compatible(self, op: Op, earlier: Op) -> bool:
        if op.name == "load" and earlier.name == "load":
            return True
        if op.name.startswith("atomic") and earlier.name.startswith("atomic"):
            return True
        space, other_space = _space(op), _space(earlier)
        if (space == GLOBAL) != (other_space == GLOBAL):
            return True
        if space == GLOBAL and self._may_tear_copies(op, earlier):
            return False  # a barrier will stand between
        if op.operands[0] is earlier.operands[0] and not self._is_replicated(op):
            # Each thread meets the very elements that it has accessed before, and in shared memory, where accesses are
            # ordered, nobody else does.
            if space == GLOBAL or self._addresses().is_injective(op.operands[0]):
                return True
        if space != GLOBAL:  # shared memory: other buffers are no matter, the same one may need a barrier between
            mine, theirs = self.roots.of(op.operands[0]), self.roots.of(earlier.operands[0])
            return None not in mine and None not in theirs and not set(mine) & set(theirs)
        if earlier.name == "load" and op.name == "store":
            layout = _layout_of(op)
            assert layout is not None
            one_step = layout.num_registers == layout.vector()[1]
            return one_step or (self._offset(op) is not None and self._offset(op) is self._offset(earlier))
        return op.name == "store" and earlier.name == "store"

    def _may_tear_copies(self, op: Op, earlier: Op) -> bool:
        mine, theirs = effects(op, self.roots), effects(earlier, self.roots)
        return any(may_tear_copies(a, b) for a in theirs for b in mine)

    def _addresses(self) -> Addresses:
        """The addresses of the kernel, found out when first asked for."""
        if self._known_addresses is None:
            self._known_addresses = Addresses(self._info, self.definitions)
        return self._known_addresses

    def _is_replicated(self, op: Op) -> bool:
        layout = _layout_of(op)
        return layout is None or layout.is_replicated

    def _offset(self, op: Op) -> Value | None:
        """The offset tile of `base + offset` with a uniform base."""
        pointer = self.definitions.get(op.operands[0])
        if pointer is None or pointer.name != "ptr_add":
            return None
        base = self.definitions.get(pointer.operands[0])
        return pointer.operands[1] if base is not None and base.name == "splat" else None


def _layout_of(op: Op) -> Layout | None:
    """Layout of the tile that an operation makes or works on."""
    for value in (*op.results, *op.operands):
        if isinstance(value.type, TileType):
            return value.type.layout
    return None


def _registers(op: Op) -> int:
    """Registers of a thread that hold what an operation makes, vector by vector."""
    layout = _layout_of(op)
    assert layout is not None
    width = layout.vector()[1]
    return layout.num_registers // width * -(-width * element_bytes(op.results[0]) // 4)


def _space(op: Op) -> str:
    element = op.operands[0].type.element  # type: ignore[union-attr]
    assert isinstance(element, PointerType)
    return element.space


def _fused(ops: list[Op], outliving: list[Value], repeated: list[Value]) -> Op:
    """The region of a group. Its results keep the identity of the values that outlive it; inside they get twins."""
    inner = {value: Value(value.type, value.name, value.span) for value in (*outliving, *repeated)}
    substituted = tuple(
        replace(
            op,
            operands=tuple(inner.get(v, v) for v in op.operands),
            results=tuple(inner.get(v, v) for v in op.results),
        )
        for op in ops
    )
    end = make_op("yield", tuple(inner[v] for v in outliving), span=ops[-1].span)
    template = make_op("fused", (), (), None, (Region((), (*substituted, end)),), ops[0].span)
    return replace(template, results=tuple(outliving))
