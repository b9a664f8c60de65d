"""Finds offsets that wrapped in 32 bits before they reached a pointer that is accessed.

Index arithmetic wraps as the language says, and a wrapped offset is seldom what was meant: where it leads is mostly not
even outside of an array. So what arithmetic without a width would have given, its *shadow*, is kept beside each integer
that may wrap and may come to be an offset, and beside each pointer how many bytes it is away from where that would have
led. An access through such a pointer is an error; pointers that a mask keeps from being accessed are none.

Which values have shadows `analysis/wrapped_offsets.py` says; a launch whose offsets all fit has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.analysis.wrapped_offsets import (
    ARITHMETIC,
    FOLDS,
    MOVING,
    WATCHED_BITS,
    is_followed,
    keeps_number,
    offsets_of_copy,
)
from tle2cuda.errors import OffsetOverflow
from tle2cuda.interpreter.addresses import is_shared
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.rules import value_operands
from tle2cuda.ir.types import BufferType, DType, PointerType, element_of
from tle2cuda.ops.combine import reduce_pairwise, scan_by_doubling

if TYPE_CHECKING:
    from tle2cuda.interpreter.compiler import Compiler, Frame, Step

Shadow = NDArray[np.int64] | None
"""Of an integer: what it would be without a width. Of a pointer: how many bytes it lost. None: nothing differs."""

_HELP = "compute the offset in 64 bits: tl.program_id(0).to(tl.int64), or x.to(tl.int64) before multiplying"


class Shadowed:
    """An operation with the slots of its values and of their shadows.

    Args:
        compiler: Gives slots.
        op: The operation.
    """

    def __init__(self, compiler: Compiler, op: Op) -> None:
        self.compiler = compiler
        self.op = op
        self.operands = value_operands(op)
        self.ins = compiler.slots_of(self.operands)
        self.results = compiler.slots_of(op.results)
        self.shadows = tuple(compiler.shadow(v) for v in self.operands)
        self.outs = tuple(compiler.shadow(v) for v in op.results)
        self.are_pointers = tuple(is_pointer(v) for v in self.operands)

    def differs(self, frame: Frame) -> bool:
        """Whether an operand has wrapped."""
        return any(slot and frame[slot] is not None for slot in self.shadows)

    def kept(self, frame: Frame, position: int) -> Shadow:
        """An operand's shadow."""
        slot = self.shadows[position]
        return frame[slot] if slot else None

    def exact(self, frame: Frame, position: int) -> NDArray[np.int64]:
        """What an operand would be without a width; of a pointer, how many bytes it lost."""
        kept = self.kept(frame, position)
        if kept is not None:
            return kept
        if self.are_pointers[position]:
            return np.zeros(np.shape(frame[self.ins[position]]), np.int64)
        return plain(frame[self.ins[position]])

    def keep(self, frame: Frame, found: Any, number: int = 0) -> None:
        """Set the shadow of a result that is an integer."""
        if out := self.outs[number]:
            wide = np.asarray(found)
            frame[out] = wide if (wide != plain(frame[self.results[number]])).any() else None

    def forget(self, frame: Frame) -> None:
        """Note that no result differs."""
        for out in self.outs:
            if out:
                frame[out] = None


def is_pointer(value: Value) -> bool:
    """Whether a value holds pointers."""
    return is_followed(value) and isinstance(element_of(value.type), PointerType)


def plain(values: Any) -> NDArray[np.int64]:
    """Numbers as they are, in 64 bits."""
    return np.asarray(values).astype(np.int64)


# ---- what keeps shadows ---------------------------------------------------------------------------------------------


def shadow_step(compiler: Compiler, op: Op) -> Step | None:
    """What keeps the shadows of an operation's results up to date, run behind it; None when it has none."""
    if not any(compiler.shadow(result) for result in op.results):
        return None
    shadowed = Shadowed(compiler, op)
    if op.name in ARITHMETIC:
        return _arithmetic(shadowed)
    make = _moving if op.name in MOVING else _STEPS.get(op.name)
    return make(shadowed) if make is not None else None


def _arithmetic(at: Shadowed) -> Step:
    element = element_of(at.op.results[0].type)
    assert isinstance(element, DType)
    function = _EXACT[at.op.name]
    wraps = at.op.name not in ("or", "min", "max") and element.bits < WATCHED_BITS
    if element.bits == WATCHED_BITS and not element.is_int_signed() and at.op.name in ("min", "max"):
        return at.forget  # beyond what 64 bits with a sign hold

    def arithmetic(frame: Frame) -> None:
        if not wraps and not at.differs(frame):
            at.forget(frame)
            return
        at.keep(frame, function(at.exact(frame, 0), at.exact(frame, 1)))

    return arithmetic


def _pointer(at: Shadowed) -> Step:
    pointer = element_of(at.op.results[0].type)
    assert isinstance(pointer, PointerType)
    size, (out,) = pointer.element.bytes, at.outs

    def moved(frame: Frame) -> None:
        if not at.differs(frame):
            frame[out] = None
            return
        lost = (at.exact(frame, 1) - plain(frame[at.ins[1]])) * size
        total = np.asarray(lost + at.exact(frame, 0))
        frame[out] = total if total.any() else None

    return moved


def _shared_pointer(at: Shadowed) -> Step:
    """A pointer into a buffer: by how much its indices differ, each times the stride of its dimension."""
    type_ = at.op.operands[0].type
    assert isinstance(type_, BufferType)
    strides = [type_.element.bytes * int(np.prod(type_.shape[axis + 1 :])) for axis in range(len(type_.shape))]
    (out,) = at.outs

    def indexed(frame: Frame) -> None:
        if not at.differs(frame):
            frame[out] = None
            return
        lost: Any = np.int64(0)
        for number, stride in enumerate(strides, 1):
            lost = lost + (at.exact(frame, number) - plain(frame[at.ins[number]])) * stride
        frame[out] = np.asarray(lost) if np.any(lost) else None

    return indexed


def _choice(at: Shadowed) -> Step:
    (out,) = at.outs

    def chosen(frame: Frame) -> None:
        differs = at.differs(frame)
        frame[out] = np.where(frame[at.ins[0]], at.exact(frame, 1), at.exact(frame, 2)) if differs else None

    return chosen


def _conversion(at: Shadowed) -> Step:
    if not keeps_number(at.op) and not (at.are_pointers[0] and is_pointer(at.op.results[0])):
        return at.forget
    (out,) = at.outs

    def converted(frame: Frame) -> None:
        frame[out] = at.kept(frame, 0)

    return converted


def _bits(at: Shadowed) -> Step:
    """Pointers as integers, and back."""
    to_pointer = is_pointer(at.op.results[0])
    if at.are_pointers[0] == to_pointer:
        return _conversion(at) if to_pointer else at.forget
    (out,) = at.outs
    sign = -1 if to_pointer else 1

    def converted(frame: Frame) -> None:
        kept, value = at.kept(frame, 0), plain(frame[at.ins[0]])
        frame[out] = None if kept is None else sign * value + kept

    return converted


def _moving(at: Shadowed) -> Step:
    meaning, (out,) = at.compiler.meanings[at.op.name], at.outs
    moved = [is_followed(v) and bool(shadow) for v, shadow in zip(at.operands, at.shadows, strict=True)]
    if at.op.name in ("concat", "insert"):
        moved[:2] = True, True  # both hold elements of the result
    elif at.op.name in ("gather", "extract_at"):
        moved[1] = False

    def rearranged(frame: Frame) -> None:
        if not at.differs(frame):
            frame[out] = None
            return
        values = [at.exact(frame, i) if is_moved else frame[at.ins[i]] for i, is_moved in enumerate(moved)]
        frame[out] = np.asarray(meaning(frame[0], at.op, *values))

    return rearranged


# ---- reductions, scans, products ------------------------------------------------------------------------------------


def _reduction(at: Shadowed) -> Step:
    kind, axis = at.op.attrs["kind"], at.op.attrs["axis"]
    if kind == "custom":
        return _with_function(at, lambda combine, values: reduce_pairwise(combine, values, axis))
    if kind not in (*FOLDS, "argmax", "argmin"):
        return at.forget
    function = _FOLDS[kind.removeprefix("arg")]

    def reduced(frame: Frame) -> None:
        if kind not in ("sum", "prod") and not at.differs(frame):
            at.forget(frame)
        else:
            at.keep(frame, function.reduce(at.exact(frame, 0), axis=axis))

    return reduced


def _scan(at: Shadowed) -> Step:
    kind, axis, reverse = at.op.attrs["kind"], at.op.attrs["axis"], bool(at.op.attrs.get("reverse"))
    if kind == "custom":
        return _with_function(at, lambda combine, values: scan_by_doubling(combine, values, axis, reverse))
    if kind not in FOLDS:
        return at.forget
    function = _FOLDS[kind]

    def scanned(frame: Frame) -> None:
        values = at.exact(frame, 0)
        found = function.accumulate(np.flip(values, axis) if reverse else values, axis=axis)
        at.keep(frame, np.flip(found, axis) if reverse else found)

    return scanned


def _with_function(at: Shadowed, fold: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Step:
    """A reduction or scan by a function of the user's, with shadows beside the values."""
    combine = at.compiler.combine_with_shadows(at.op.regions[0])
    count = len(at.ins)
    followed = [is_followed(v) for v in at.operands]

    def folded(frame: Frame) -> None:
        values = [np.asarray(frame[slot]) for slot in at.ins]
        exact = [at.exact(frame, i) if followed[i] else np.zeros(values[i].shape, np.int64) for i in range(count)]
        results = fold(lambda pairs: combine(frame, pairs), (*values, *exact))
        for number in range(count):
            at.keep(frame, results[count + number], number)

    return folded


def _mapped(at: Shadowed) -> Step:
    """A function of elements, run once more with the shadows of its arguments."""
    function = at.compiler.map_with_shadows(at.op.regions[0])
    followed = [is_followed(v) for v in at.operands]

    def mapped(frame: Frame) -> None:
        values = [np.asarray(frame[slot]) for slot in at.ins]
        exact = [at.exact(frame, i) if followed[i] else np.zeros(values[i].shape, np.int64) for i in range(len(values))]
        for number, shadow in enumerate(function(frame, (*values, *exact))):
            at.keep(frame, shadow, number)

    return mapped


def _exclusive_sum(at: Shadowed) -> Step:
    step = -1 if at.op.attrs.get("reverse") else 1

    def summed(frame: Frame) -> None:
        sums = np.add.accumulate(at.exact(frame, 0)[::step])
        at.keep(frame, np.concatenate([np.zeros(1, np.int64), sums[:-1]])[::step])
        at.keep(frame, sums[-1], 1)

    return summed


def _product(at: Shadowed) -> Step:
    def multiplied(frame: Frame) -> None:
        a, b, accumulator = (at.exact(frame, i) for i in range(3))
        at.keep(frame, np.matmul(a, b) + accumulator)

    return multiplied


_STEPS: Mapping[str, Callable[[Shadowed], Step]] = {
    "ptr_add": _pointer,
    "local_ptr": _shared_pointer,
    "remote": _conversion,
    "select": _choice,
    "cast": _conversion,
    "bitcast": _bits,
    "reduce": _reduction,
    "scan": _scan,
    "map": _mapped,
    "exclusive_sum": _exclusive_sum,
    "dot": _product,
}


# ---- arithmetic without a width -------------------------------------------------------------------------------------


def _shifted(a: Any, b: Any) -> Any:
    inside = (b >= 0) & (b < WATCHED_BITS)
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0)), 0)


_EXACT: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "or": np.bitwise_or,
    "min": np.minimum,
    "max": np.maximum,
    "shl": _shifted,
}
"""Of both operands, exact."""

_FOLDS: Mapping[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


# ---- checks ---------------------------------------------------------------------------------------------------------


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
    raise OffsetOverflow(what, op.span, facts=context.facts(), help=_HELP)


def copy_check(compiler: Compiler, op: Op, reaches: Callable[[Frame], bool]) -> Iterator[Step]:
    """What checks, before a tensor copy, that nothing which says where it goes wrapped; none where nothing may.

    Args:
        compiler: Gives slots.
        op: The copy.
        reaches: Whether the copy accesses memory, or all of it lies outside of the tensor.
    """
    doubtful = [v for v in offsets_of_copy(op) if compiler.shadow(v)]
    if not doubtful:
        return
    slots = [(compiler.slot(v), compiler.shadow(v), is_pointer(v)) for v in doubtful]

    def check(frame: Frame) -> None:
        wrapped = next(((slot, shadow, is_base) for slot, shadow, is_base in slots if frame[shadow] is not None), None)
        if wrapped is None or not reaches(frame):
            return
        slot, shadow, is_base = wrapped
        what = "the base of the tensor" if is_base else "an offset or a stride"
        said = f"copy: {what} wrapped in 32 bits before it reached the copy"
        if not is_base:
            said += f": {int(frame[shadow])} became {int(plain(frame[slot]))}"
        raise OffsetOverflow(said, op.span, facts=frame[0].facts(), help=_HELP)

    yield check
