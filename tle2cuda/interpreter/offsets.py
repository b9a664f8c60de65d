"""Finds offsets that wrapped in 32 bits before they reached a pointer that is accessed.

Index arithmetic wraps as the language says, and a wrapped offset is seldom what was meant: where it leads is mostly not
even outside of an array. So what arithmetic without a width would have given is kept beside each integer that may wrap
and may come to be an offset, and beside each pointer how many bytes it is away from where that would have led. An access
through such a pointer is an error; pointers that a mask keeps from being accessed are none.

Which values may wrap follows from their ranges (`analysis/axis_info.py`), so that most kernels pay for little of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.analysis.axis_domain import AxisInfo, ints, range_of, type_bounds
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.errors import OffsetOverflow
from tle2cuda.interpreter.addresses import is_shared
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.types import DType, PointerType, element_of

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Frame, Step

_ACCESSES = frozenset(("load", "store", "atomic_rmw", "atomic_cas"))
_ARITHMETIC = frozenset(("add", "sub", "mul", "shl"))
_RENAMING = frozenset(("splat", "broadcast", "expand_dims", "reshape", "trans", "hint", "convert_layout", "tile_to_scalar"))
_NARROW_BITS = 64  # arithmetic of fewer bits is watched

Shadow = NDArray[np.int64] | None
"""Of an integer: what it would be without a width. Of a pointer: how many bytes it lost. None: nothing differs."""


def offsets_that_may_wrap(kernel: Kernel) -> frozenset[Value]:
    """Integers that may differ from what arithmetic without a width gives, and pointers that are made with them."""
    wanted = _reaching_pointers(kernel)
    if not wanted:
        return frozenset()
    info = axis_info(kernel)
    flows = _Flows()
    flows.scan(kernel.body.ops)
    doubtful = {
        op.results[0]
        for op in walk(kernel.body)
        if op.name in _ARITHMETIC and op.results[0] in wanted and _may_wrap(op, info)
    }
    todo = list(doubtful)
    while todo:
        for target in flows.targets.get(todo.pop(), ()):
            if target in wanted and target not in doubtful:
                doubtful.add(target)
                todo.append(target)
    return frozenset(doubtful)


def _reaching_pointers(kernel: Kernel) -> set[Value]:
    """Values from which pointers that are accessed are made."""
    flows = _Flows()
    flows.scan(kernel.body.ops)
    wanted: set[Value] = set()
    todo = [op.operands[0] for op in walk(kernel.body) if op.name in _ACCESSES]
    while todo:
        value = todo.pop()
        if value not in wanted and _is_followed(value):
            wanted.add(value)
            todo += flows.sources.get(value, ())
    return wanted


class _Flows:
    """Which values a value is computed from, shadows being carried along."""

    def __init__(self) -> None:
        self.sources: dict[Value, list[Value]] = {}
        self.targets: dict[Value, list[Value]] = {}

    def scan(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self.visit(op)
            for region in op.regions:
                self.scan(region.ops)

    def visit(self, op: Op) -> None:
        if op.name in _ARITHMETIC or op.name in _RENAMING or op.name in ("ptr_add", "cast", "bitcast", "select"):
            self.add(op.results, (op.operands[1:] if op.name == "select" else op.operands,))
        elif op.name == "for":
            carried, yielded = op.regions[0].params[1:], op.regions[0].terminator.operands
            self.zip(carried, op.operands[3:], yielded)
            self.zip(op.results, carried)
        elif op.name == "while":
            before, body = op.regions
            passed = before.terminator.operands[1:]
            self.zip(before.params, op.operands, body.terminator.operands)
            self.zip(body.params, passed)
            self.zip(op.results, passed)
        elif op.name in ("if", "fused"):
            for region in op.regions:
                self.zip(op.results, region.terminator.operands)

    def zip(self, targets: Sequence[Value], *sources: Sequence[Value]) -> None:
        for each in sources:
            for target, source in zip(targets, each, strict=True):
                self.add((target,), ((source,),))

    def add(self, targets: Sequence[Value], sources: Sequence[Sequence[Value]]) -> None:
        for target in targets:
            for source in (s for group in sources for s in group):
                self.sources.setdefault(target, []).append(source)
                self.targets.setdefault(source, []).append(target)


def _is_followed(value: Value) -> bool:
    element = element_of(value.type)
    return isinstance(element, PointerType) or (isinstance(element, DType) and element.is_int() and not element.is_bool())


def _may_wrap(op: Op, info: Mapping[Value, AxisInfo]) -> bool:
    """Whether arithmetic of fewer than 64 bits may leave the range of its type, as far as ranges tell."""
    element = element_of(op.results[0].type)
    if not isinstance(element, DType) or not element.is_int_signed() or element.bits >= _NARROW_BITS:
        return False
    known = [k for v in op.operands if (k := info.get(v)) is not None and ints(k)]
    if len(known) < len(op.operands):
        return True
    (a_lo, a_hi), (b_lo, b_hi) = map(range_of, known)
    if op.name == "shl":
        if b_lo < 0 or b_hi >= element.bits:
            return True
        ends = [a << b for a in (a_lo, a_hi) for b in (b_lo, b_hi)]
    elif op.name == "mul":
        ends = [a * b for a in (a_lo, a_hi) for b in (b_lo, b_hi)]
    elif op.name == "add":
        ends = [a_lo + b_lo, a_hi + b_hi]
    else:
        ends = [a_lo - b_hi, a_hi - b_lo]
    bounds = type_bounds(element)
    return bounds is None or min(ends) < bounds[0] or max(ends) > bounds[1]


# ---- shadows --------------------------------------------------------------------------------------------------------


def shadow_step(op: Op, slot: Callable[[Value], int], shadow: Callable[[Value], int], meaning: Any) -> Step | None:
    """What keeps the shadow of an operation's result up to date, run behind the operation; None when none is kept.

    Args:
        op: The operation; its result has a shadow.
        slot: Frame slot of a value.
        shadow: Frame slot of a value's shadow; 0, where no shadow lies, for values without one.
        meaning: The operation's meaning.
    """
    out, result = shadow(op.results[0]), slot(op.results[0])
    ins = [slot(v) for v in op.operands]
    shadows = [shadow(v) for v in op.operands]

    def exact(frame: Frame, position: int) -> Any:
        kept = frame[shadows[position]] if shadows[position] else None
        return np.asarray(frame[ins[position]]).astype(np.int64) if kept is None else kept

    def has_shadow(frame: Frame) -> bool:
        return any(s and frame[s] is not None for s in shadows)

    if op.name in _ARITHMETIC:
        function = _EXACT[op.name]
        element = element_of(op.results[0].type)
        is_wide = isinstance(element, DType) and element.bits >= _NARROW_BITS

        def arithmetic(frame: Frame) -> None:
            if is_wide and not has_shadow(frame):
                frame[out] = None
                return
            found = np.asarray(function(exact(frame, 0), exact(frame, 1)))
            frame[out] = found if (found != frame[result]).any() else None

        return arithmetic
    if op.name == "ptr_add":
        pointer = element_of(op.results[0].type)
        assert isinstance(pointer, PointerType)
        size = pointer.element.bytes

        def moved(frame: Frame) -> None:
            before = frame[shadows[0]] if shadows[0] else None
            if before is None and not (shadows[1] and frame[shadows[1]] is not None):
                frame[out] = None
                return
            lost = (exact(frame, 1) - np.asarray(frame[ins[1]]).astype(np.int64)) * size
            total = np.asarray(lost if before is None else lost + before)
            frame[out] = total if total.any() else None

        return moved
    if op.name == "select":

        def chosen(frame: Frame) -> None:
            if not has_shadow(frame):
                frame[out] = None
                return
            is_pointer = isinstance(element_of(op.results[0].type), PointerType)
            arms = [_kept(frame, shadows[i]) if is_pointer else exact(frame, i) for i in (1, 2)]
            frame[out] = np.where(frame[ins[0]], *arms)

        return chosen
    if op.name in ("cast", "bitcast"):
        keeps = _keeps(op)

        def converted(frame: Frame) -> None:
            frame[out] = frame[shadows[0]] if keeps and shadows[0] else None

        return converted
    if op.name in _RENAMING:

        def renamed(frame: Frame) -> None:
            kept = frame[shadows[0]] if shadows[0] else None
            frame[out] = None if kept is None else np.asarray(meaning(frame[0], op, kept))

        return renamed
    return None


def _kept(frame: Frame, shadow: int) -> Any:
    found = frame[shadow] if shadow else None
    return np.int64(0) if found is None else found


def _keeps(op: Op) -> bool:
    """Whether a conversion keeps the number: to a wider integer, or between pointers."""
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    if isinstance(source, DType) and isinstance(target, DType):
        return op.name == "cast" and target.is_int() and target.bits >= source.bits
    return isinstance(source, PointerType) and isinstance(target, PointerType)


def _shifted(a: Any, b: Any) -> Any:
    inside = (b >= 0) & (b < _NARROW_BITS)
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0)), 0)


_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shl": _shifted,
}


def check_access(op: Op, frame: Frame, pointer: int, shadow: int, mask: int) -> None:
    """Raise if an access goes through a pointer whose offset wrapped.

    Args:
        op: The access.
        frame: Values and shadows.
        pointer: Slot of the pointers.
        shadow: Slot of their shadows.
        mask: Slot of the mask; 0 for none.

    Raises:
        OffsetOverflow: A pointer that is accessed is not where arithmetic without a width would have led.
    """
    lost = frame[shadow]
    if lost is None:
        return
    words = np.asarray(frame[pointer])
    bad = np.broadcast_to(lost != 0, words.shape)
    if mask:
        bad = bad & np.asarray(frame[mask])
    if not bad.any():
        return
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    word, missing = int(words[at]), int(np.broadcast_to(lost, words.shape)[at])
    element = element_of(op.operands[0].type)
    assert isinstance(element, PointerType)
    context = frame[0]
    region = None if is_shared(word) else context.memory.shared.find(word)
    place = f"element {list(at)}: " if at else ""
    what = f"{place}the offset wrapped in 32 bits before it reached the pointer"
    if region is not None:
        now = region.element_of(word, element.element.bytes)
        name = region.name.removeprefix("argument ")
        what += f": {now + missing // element.element.bytes} became {now} elements from `{name}`"
    raise OffsetOverflow(
        what,
        op.span,
        facts=context.facts(),
        help="compute the offset in 64 bits: tl.program_id(0).to(tl.int64), or x.to(tl.int64) before multiplying",
    )
