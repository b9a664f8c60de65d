"""Indices of shared buffers that are certain to lie outside: constants, and tiles that count from a constant.

A pointer outside is harmless as long as a mask keeps it from being used, so only accesses without a mask are judged.
"""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir.classify import SHAPE
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType

_ACCESSES = frozenset(("load", "store", "atomic_rmw", "atomic_cas"))


def check_constant_indices(kernel: Kernel) -> None:
    """Refuse what reads or writes outside a buffer whenever it is executed.

    Raises:
        InvalidArgument: An access without a mask through `local_ptr`, or a slot, whose index is known to be outside.
    """
    makers = definitions(kernel.body)
    for op in walk(kernel.body):
        if op.name in _ACCESSES and not op.attrs.get("has_mask"):
            pointer = makers.get(op.operands[0])
            if pointer is not None and pointer.name == "local_ptr":
                _check_pointer(pointer, makers)
        elif op.name == "buffer_view" and op.attrs["kind"] == "slot":
            _check_index(op, 0, "slot: the stage", makers)


def _check_pointer(pointer: Op, makers: Mapping[Value, Op]) -> None:
    for axis in range(len(pointer.operands) - 1):
        _check_index(pointer, axis, f"local_ptr: index {axis}", makers)


def _check_index(op: Op, axis: int, what: str, makers: Mapping[Value, Op]) -> None:
    buffer, index = op.operands[0], op.operands[1 + axis]
    assert isinstance(buffer.type, BufferType)
    extent = buffer.type.shape[axis]
    reached = _reached(index, makers)
    if reached is None or (reached[0] >= 0 and reached[1] < extent):
        return
    least, most = reached
    shown = f"is {least}" if least == most else f"runs from {least} to {most}"
    name = f"`{buffer.name}`" if buffer.name else "buffer"
    raise InvalidArgument(
        f"{what} {shown}, outside axis {axis} of extent {extent}",
        op.span,
        facts=(f"{name}: {buffer.type}",),
        help="count from 0, or give the access a mask" if op.name == "local_ptr" else "count the stages from 0",
    )


def _reached(value: Value, makers: Mapping[Value, Op]) -> tuple[int, int] | None:
    """Least and greatest element of an index, both of which surely occur; None when that is not known."""
    op = makers.get(value)
    if op is None:
        return None
    if op.name == "constant":
        return int(op.attrs["value"]), int(op.attrs["value"])
    if op.name == "arange":
        return op.attrs["start"], op.attrs["end"] - 1
    if op.name in SHAPE:
        return _reached(op.operands[0], makers)
    if op.name == "add":
        a, b = (_reached(operand, makers) for operand in op.operands)
        if a is not None and b is not None and (a[0] == a[1] or b[0] == b[1]):
            return a[0] + b[0], a[1] + b[1]
    return None
