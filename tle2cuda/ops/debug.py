"""Barriers on request, prints, assertions, and hints that change nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.errors import (
    DeviceAssertFailed,
    DTypeMismatch,
    InvalidArgument,
    InvalidType,
    StaticAssertFailed,
)
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BOOL, DType, PointerType, element_of
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    emit_value,
    meaning,
    static_bool,
    static_value,
    tensor,
    to_tensor,
    unwrap,
)
from tle2cuda.ops.histogram import mask_operand


@builtin
def debug_barrier() -> None:
    """A barrier of all threads of the CTA that orders all their memory accesses.

    Example:
        ``tl.debug_barrier()``
    """
    builder.current().emit("barrier", (), (), {"reason": "tl.debug_barrier", "user": True})


def printed_prefix(text: str, has_values: bool) -> str:
    """The text in front of printed values as Triton completes it: a space in front, a colon and a space behind."""
    if has_values:
        text = text if text.endswith(" ") else text + " "
        text = text if text.endswith(": ") else text[:-1] + ": "
    return " " + text if len(text) > 2 and not text.startswith(" ") else text


def index_widths(shape: Sequence[int]) -> tuple[int, ...]:
    """Columns that the indices of printed elements take, along each axis."""
    return tuple(len(str(extent - 1)) if extent > 1 else 0 for extent in shape)


def printed_lines(
    program_id: Sequence[int],
    prefix: str,
    operands: Sequence[tuple[NDArray[Any], DType | PointerType]],
    hexadecimal: bool,
) -> Iterator[str]:
    """What `tl.device_print` prints of the values of one program.

    Args:
        program_id: Index of the program.
        prefix: The text in front of the values, complete.
        operands: Values, and what their elements are.
        hexadecimal: Print integers in base 16.
    """
    where = f"pid ({', '.join(map(str, program_id))})"
    if not operands:
        yield where + prefix
    for number, (values, element) in enumerate(operands):
        label = f"{prefix}(operand {number}) " if len(operands) > 1 else prefix
        widths = index_widths(values.shape)
        for position in np.ndindex(values.shape):
            index = ", ".join(f"{i:{width}}" for i, width in zip(position, widths, strict=True))
            yield f"{where} idx ({index}){label}{_as_printf(values[position], element, hexadecimal)}"


def _as_printf(value: Any, element: DType | PointerType, hexadecimal: bool) -> str:
    """A number as C's `printf` writes it, whose integers have 32 bits or more."""
    if isinstance(element, PointerType):
        return f"0x{int(value):x}"
    if element.is_floating():
        return f"{float(value):f}"
    if hexadecimal:
        return f"0x{int(value) & ((1 << max(element.bits, 32)) - 1):0{element.bits // 4}x}"
    return str(int(value))


@builtin
def device_print(prefix: Any, *args: Any, hex: Any = False) -> None:
    """Prints values from the device, one line an element, in Triton's form: ``pid (0, 0, 0) idx ( 3) x: 0.500000``.

    Args:
        prefix: Text in front of the values (constexpr).
        *args: Tiles, scalars or numbers.
        hex: Print integers in base 16.

    Raises:
        InvalidType: `prefix` is no string.

    Example:
        ``tl.device_print("counts", counts)``
    """
    text = static_value(prefix, "tl.device_print: prefix")
    if not isinstance(text, str):
        raise InvalidType(f"tl.device_print: the prefix must be a string, got {core.describe(prefix)}")
    values = tuple(to_tensor(x).value for x in args)
    attrs = {"prefix": printed_prefix(text, bool(args)), "hex": static_bool(hex, "tl.device_print: hex")}
    builder.current().emit("print", values, (), attrs)


@builtin
def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> None:
    """Stops the kernel when `cond` is false for an element. Compiled in with ``debug=True`` only.

    The interpreter and eager mode check it always.

    Args:
        cond: Bool or integer tile or scalar.
        msg: Text of the failure, or a constant that is shown as text.
        mask: Elements to check, bool.

    Raises:
        DTypeMismatch: `cond` is a float or pointer.

    Example:
        ``tl.device_assert(expert < NUM_EXPERTS, "expert out of range", mask=ok)``
    """
    text = str(static_value(msg, "tl.device_assert: msg"))
    condition = core.numeric(cond, "tl.device_assert")
    if not core.dtype_of(condition).is_int():
        raise DTypeMismatch(f"tl.device_assert takes bool, got {core.describe_type(condition)}")
    if not builder.current().has_assertions:
        return
    operands = [core.cast(condition, BOOL)]
    if unwrap(mask) is not None:
        operands.append(mask_operand(mask, condition.dims, "tl.device_assert"))
    builder.current().emit("assert", tuple(x.value for x in operands), (), {"message": text})


@builtin
def static_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
    """Prints while the kernel is compiled, as Python's `print`.

    Args:
        *values: Anything; run-time values show as their type.
        sep: Text between values.
        end: Text behind the last one.
        file: Stream, standard output when None.
        flush: Flush the stream.

    Example:
        ``tl.static_print("BLOCK =", BLOCK)``
    """
    shown = (core.printed(unwrap(value)) for value in values)
    print(*shown, sep=unwrap(sep), end=unwrap(end), file=unwrap(file), flush=bool(unwrap(flush)))


@builtin
def static_assert(cond: Any, msg: Any = "") -> None:
    """Refuses to compile the kernel when `cond` is false.

    Args:
        cond: Compile-time condition.
        msg: Text of the failure.

    Raises:
        StaticAssertFailed: `cond` is false.
        ConstexprRequired: `cond` is a run-time value.

    Example:
        ``tl.static_assert(BLOCK % 32 == 0, "BLOCK must be a multiple of 32")``
    """
    if not static_value(cond, "tl.static_assert: the condition"):
        text = str(unwrap(msg))
        raise StaticAssertFailed(f"tl.static_assert failed: {text}" if text else "tl.static_assert failed")


@builtin
def assume(cond: Any) -> None:
    """Promises that a scalar condition holds; wrong promises make the result undefined.

    Args:
        cond: bool scalar, or a compile-time condition that must be true.

    Raises:
        InvalidType: A tile.
        DTypeMismatch: A scalar that is not bool.
        InvalidArgument: False at compile time.

    Example:
        ``tl.assume(stride > 0)``
    """
    value = unwrap(cond)
    if not isinstance(value, tensor):
        if not value:
            raise InvalidArgument("tl.assume: the condition is false at compile time")
        return
    if value.dims:
        raise InvalidType(f"tl.assume takes a scalar condition, got {core.describe_type(value)}")
    if value.element is not BOOL:
        raise DTypeMismatch(f"tl.assume takes a bool condition, got {core.describe_type(value)}")
    builder.current().emit("assume", (value.value,))


def _hint(kind: str, input: Any, values: Any, what: str) -> Any:
    given = static_value(values, f"{what}: values")
    items = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    numbers = tuple(core.static_int(item, f"{what}: values") for item in items)
    if any(number < 1 for number in numbers):
        raise InvalidArgument(f"{what}: values must be positive, got {numbers}")
    if not isinstance(unwrap(input), tensor):
        return input  # a compile-time number needs no hint
    x = to_tensor(input)
    rank = max(1, len(x.dims))
    if len(numbers) != rank:
        raise InvalidArgument(
            f"{what}: one value per axis is needed, {rank} for {core.describe_type(x)}, got {len(numbers)}",
            facts=(core.fact("input", x),),
        )
    attrs: dict[str, Any] = {"divisibility": None, "contiguity": None, "constancy": None}
    attrs[kind] = numbers
    return emit_value("hint", (x,), x.element, x.dims, attrs)


@builtin
def multiple_of(input: Any, values: Any) -> Any:
    """Promises that the first of each run of equal or consecutive values is divisible by `values`.

    Args:
        input: Integer or pointer, scalar or tile.
        values: Divisor, or one per axis (constexpr).

    Returns:
        `input`.

    Raises:
        InvalidArgument: Not one positive value per axis.

    Example:
        ``start = tl.multiple_of(start, BLOCK)``
    """
    return _hint("divisibility", input, values, "tl.multiple_of")


@builtin
def max_contiguous(input: Any, values: Any) -> Any:
    """Promises that runs of `values` elements along each axis are consecutive.

    Args:
        input: Integer or pointer tile.
        values: Length, or one per axis (constexpr).

    Returns:
        `input`.

    Raises:
        InvalidArgument: Not one positive value per axis.

    Example:
        ``offs = tl.max_contiguous(tl.multiple_of(offs, BLOCK), BLOCK)``
    """
    return _hint("contiguity", input, values, "tl.max_contiguous")


@builtin
def max_constancy(input: Any, values: Any) -> Any:
    """Promises that runs of `values` elements along each axis are equal.

    Args:
        input: Integer, bool or pointer tile.
        values: Length, or one per axis (constexpr).

    Returns:
        `input`.

    Raises:
        InvalidArgument: Not one positive value per axis.

    Example:
        ``mask = tl.max_constancy(mask, 4)``
    """
    return _hint("constancy", input, values, "tl.max_constancy")


# -- meanings ---------------------------------------------------------------------------------------


@meaning("print")
def _print(ctx: Any, op: Op, *values: Any) -> None:
    operands = [(np.asarray(value), element_of(v.type)) for value, v in zip(values, op.operands, strict=True)]
    for line in printed_lines(ctx.program_id, op.attrs["prefix"], operands, bool(op.attrs.get("hex"))):
        ctx.print(line)


@meaning("assert")
def _assert(ctx: Any, op: Op, condition: Any, mask: Any = None) -> None:

    failed = ~np.asarray(condition, np.bool_)
    if mask is not None:
        failed = failed & mask
    if not failed.any():
        return
    text = op.attrs["message"]
    facts = [*ctx.facts()]
    if failed.ndim:
        first = tuple(int(i) for i in np.argwhere(failed)[0])
        facts.append(f"the first of {int(failed.sum())} failing elements is {list(first)}")
    raise DeviceAssertFailed(f"tl.device_assert failed{': ' + text if text else ''}", op.span, facts=facts)


@meaning("assume")
def _assume(ctx: Any, op: Op, condition: Any) -> None:
    if not condition:
        raise ctx.fail(op, "tl.assume does not hold")


@meaning("hint")
def _hint_meaning(ctx: Any, op: Op, x: Any) -> Any:
    return x
