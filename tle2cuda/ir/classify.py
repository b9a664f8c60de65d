"""Families of operations that several passes treat alike."""

from __future__ import annotations

from typing import NamedTuple

from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.types import DType, PointerType, TileType, element_of

ELEMENTWISE = frozenset(
    """
    add sub mul div idiv rem and or xor shl shr min max mulhi fma cmp fits select math libdevice philox asm cast bitcast
    ptr_add hint
    """.split()
)
"""Operations that compute each element of the result from the same element of the operands."""

RENAMES = frozenset("expand_dims reshape trans".split())
"""Operations whose result is the operand's elements under other coordinates."""

SHAPE = frozenset("splat broadcast expand_dims reshape trans".split())
"""Operations that only rename elements."""

VIEWS = frozenset("extract flip".split())
"""Operations whose result is part of the operand's elements, or all of them in another order."""

CHOICES = frozenset("concat insert".split())
"""Operations each element of whose result is an element of one of the operands."""

CHEAP = frozenset(
    "add sub mul idiv rem and or xor shl shr min max cmp fits select cast bitcast ptr_add hint local_ptr remote".split()
)
"""Operations recomputed where their result is wanted rather than kept in registers, when their operands are."""

OPPOSITE_PREDICATE = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt"}
"""The comparison that holds exactly when another one does not; of floats that may be NaN only `eq` and `ne` agree."""


def is_tile(value: Value) -> bool:
    """Whether a value is spread over the threads."""
    return isinstance(value.type, TileType)


def makes_pointers(region: Region) -> bool:
    """Whether pointers come out of integers, or out of memory."""
    return any(
        op.name in ("bitcast", "load")
        and isinstance(element_of(op.results[0].type), PointerType)
        and not (op.name == "bitcast" and isinstance(element_of(op.operands[0].type), PointerType))
        for op in walk(region)
    )


def is_index_like(op: Op) -> bool:
    """Whether recomputing an operation costs no more than an integer instruction or a conversion."""
    if op.name not in CHEAP:
        return False
    element = element_of(op.results[0].type)
    if isinstance(element, PointerType) or element.is_int():
        return True
    return op.name in ("cast", "hint", "select", "bitcast", "add", "sub", "mul")


def lazy_values(ops: tuple[Op, ...]) -> set[Value]:
    """Tile values that need no registers of their own: constants, index tiles and what is cheap to make of them.

    D4: they are recomputed from (register, thread) where they are used. A broadcast of any tile counts too, since it
    only renames elements, and so does a choice between the elements of tiles; but not choices among many tiles, nor what
    is computed of choices.
    """
    found: dict[Value, _Lazy] = {}
    _find_lazy(ops, found)
    return set(found)


class _Lazy(NamedTuple):
    """What a lazy value is made of.

    Attributes:
        choices: How many choices lie one in the other.
        is_index: Made of constants, indices and scalars alone, none of it in registers of single threads.
        work: Where it is not, how many operations compute it of what lies in registers.
    """

    choices: int
    is_index: bool
    work: int = 0


def _find_lazy(ops: tuple[Op, ...], found: dict[Value, _Lazy]) -> None:
    folded = _only_folded(ops)
    for op in ops:
        if op.results and is_tile(op.results[0]):
            lazy = _Lazy(0, False) if op in folded else _lazy(op, found)
            if lazy is not None:
                found[op.results[0]] = lazy
        for region in op.regions:
            _find_lazy(region.ops, found)


def _only_folded(ops: tuple[Op, ...]) -> set[Op]:
    """Elementwise operations whose only use is a reduction of the same list: they are computed while it folds."""
    uses: dict[Value, list[Op]] = {}

    def count(inner: tuple[Op, ...]) -> None:
        for op in inner:
            for operand in op.operands:
                uses.setdefault(operand, []).append(op)
            for region in op.regions:
                count(region.ops)

    count(ops)
    here = set(ops)
    folded: set[Op] = set()
    for op in reversed(ops):
        if not op.results or not is_tile(op.results[0]) or not (op.name in ELEMENTWISE or op.name in RENAMES):
            continue
        users = uses.get(op.results[0], [])
        if len(users) == 1 and users[0] in here and (users[0].name == "reduce" or users[0] in folded):
            folded.add(op)
    return {op for op in folded if op.name in ELEMENTWISE}


_MOST_CHOICES = 2  # one in the other, before they are written to registers
_MOST_WORK = (
    8  # operations on what lies in registers anyway, before their result does too: enough for an address and a mask
)


def _lazy(op: Op, found: dict[Value, _Lazy]) -> _Lazy | None:
    """What the result is made of, or None when it gets registers."""
    tiles = [v for v in op.operands if is_tile(v)]
    choices = max((found[v].choices for v in tiles if v in found), default=0)
    is_index = all(v in found and found[v].is_index for v in tiles)
    if op.name in ("constant", "arange", "splat", "broadcast"):
        return _Lazy(choices, is_index, sum(found[v].work for v in tiles if v in found))
    if op.name in CHOICES:
        return _Lazy(choices + 1, is_index) if choices < _MOST_CHOICES else None
    if op.name in VIEWS:  # of what has registers, other elements lie in other threads
        return _Lazy(choices, True) if is_index else None
    if not all(v in found for v in tiles):
        return None
    work = sum(found[v].work for v in tiles)
    if op.name in SHAPE:
        return _Lazy(choices, is_index, work)
    if is_index_like(op) and not choices and (is_index or work < _MOST_WORK):
        return _Lazy(choices, is_index, 0 if is_index else work + 1)
    return None


def element_bytes(value: Value) -> int:
    """Bytes of one element of a tile or scalar (8 for pointers)."""
    element = element_of(value.type)
    return element.bytes if isinstance(element, DType) else 8
