"""Names for what the user left unnamed: after what was read, where it goes, or what was done."""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.ir.classify import SHAPE, VIEWS
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import DType, element_of
from tle2cuda.lowering.state import State

_NOUNS: Mapping[str, str] = {
    "cmp": "flag",
    "fits": "fits",
    "add": "sum",
    "fma": "sum",
    "sub": "difference",
    "mul": "product",
    "mulhi": "product",
    "div": "quotient",
    "idiv": "quotient",
    "rem": "remainder",
    "min": "smaller",
    "max": "larger",
    "select": "chosen",
    "philox": "word",
    "shl": "shifted",
    "shr": "shifted",
}
_REDUCED: Mapping[str, str] = {"or": "any", "and": "all", "custom": "combined"}
_UNNAMED: Mapping[str, str] = {"max": "largest", "min": "smallest", "prod": "product"}
_SCANNED: Mapping[str, str] = {"sum": "cumsum", "prod": "cumprod"}
_SAME_ELEMENTS = SHAPE | VIEWS | {"convert_layout", "cast", "hint"}


def hint_for(state: State, value: Value, op: Op | None) -> str:
    """A name for a value: the user's, or one after its origin, its destination, or the operation that makes it."""
    if value.name:
        return value.name
    if op is None:
        return "value"
    if op.name in ("load", "atomic_rmw", "atomic_cas"):
        name = memory_name(state, op.operands[0])
        if name:
            return f"{name}_value" if op.name == "load" else f"{name}_before"
    users = state.uses.get(value, ())
    if len(users) == 1 and users[0].name == "store" and users[0].operands[1] is value:
        name = memory_name(state, users[0].operands[0])
        if name:
            return f"{name}_value"
    if op.name in ("math", "libdevice") and (name := operand_name(state, op.operands[0])):
        return f"{name}_{op.attrs['fn']}"
    if op.name == "cast" and (name := op.operands[0].name):
        return f"{name}_wide" if _is_wider(op) else name
    return _NOUNS.get(op.name, "value")


def _is_wider(op: Op) -> bool:
    source, target = element_of(op.operands[0].type), element_of(op.results[0].type)
    return isinstance(source, DType) and isinstance(target, DType) and target.bits > source.bits


def memory_name(state: State, pointer: Value) -> str:
    """Name of the argument or buffer that a pointer leads into; empty when it has none."""
    while (maker := state.definitions.get(pointer)) is not None and maker.operands and not maker.regions:
        pointer = maker.operands[0]
    if pointer in state.buffers:
        return state.buffers[pointer].text.rsplit(".", 1)[-1].split("[")[0]
    return pointer.name


def operand_name(state: State, value: Value) -> str:
    """What to call a value in the name of another one; empty when nothing short says it."""
    while not value.name:
        op = state.definitions.get(value)
        if op is None:
            return ""
        if op.name == "load":
            return memory_name(state, op.operands[0])
        if op.name == "fused":
            inner = op.regions[0].terminator.operands[op.results.index(value)]
        elif op.name in _SAME_ELEMENTS:
            inner = op.operands[0]
        else:
            return ""
        value = inner
    return value.name


def reduced_name(state: State, op: Op, position: int | None = None) -> str:
    """A name for what a reduction yields: `row_max`; without a name of the operand `largest`.

    Args:
        state: The kernel.
        op: The reduction.
        position: Which of several results, for `row_max` and `row_argmax`; None for all of them together.
    """
    kind = str(op.attrs["kind"])
    if position == 0 and len(op.results) > 1:
        kind = kind.removeprefix("arg")
    name = operand_name(state, op.operands[0])
    return f"{name}_{_REDUCED.get(kind, kind)}" if name else _UNNAMED.get(kind, _REDUCED.get(kind, kind))


def scanned_name(state: State, op: Op) -> str:
    """A name for what a scan yields: `count_cumsum`."""
    return _with_operand(state, op, _SCANNED.get(op.attrs["kind"], "scanned"))


def converted_name(state: State, op: Op) -> str:
    """A name for a tile in another layout."""
    return _with_operand(state, op, "converted")


def sorted_name(state: State, op: Op) -> str:
    """A name for what a sort yields."""
    return _with_operand(state, op, "sorted" if op.operands[0].type == op.results[0].type else "first")


def gathered_name(state: State, op: Op) -> str:
    """A name for what a gather yields."""
    return _with_operand(state, op, "gathered")


def part_name(state: State, op: Op) -> str:
    """A name for a part of a tile."""
    return _with_operand(state, op, "part")


def _with_operand(state: State, op: Op, what: str) -> str:
    name = operand_name(state, op.operands[0])
    return f"{name}_{what}" if name else what
