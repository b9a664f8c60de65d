"""float8e4b15: 4 bits of exponent with bias 15, no infinity and no NaN. No hardware has it: integer operations on bytes.

A value of it lies between two conversions, as kernels that keep such numbers in bytes write them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.types import F8E4B15, F16, F32, I32, U8, U16, DType, PointerType
from tle2cuda.ops import core
from tle2cuda.ops.core import block_type, builtin, constant, emit_value, resolve_dtype, tensor

_LARGEST = 0x3F80  # 1.875 as float16
_HALF = 0x40  # half of what is cut off
_CUT = 7  # bits of float16's significand that go


class float8e4b15_tensor(NamedTuple):
    """Numbers of dtype float8e4b15, as bytes. They convert, and do nothing else."""

    bits: tensor

    @property
    def dtype(self) -> DType:
        """``tl.float8e4b15``."""
        return F8E4B15

    @property
    def type(self) -> Any:
        """The type of a tile, or the dtype of a scalar."""
        return block_type(F8E4B15, self.bits.dims) if self.bits.dims else F8E4B15

    @property
    def shape(self) -> Any:
        """Extents."""
        return self.bits.shape

    @builtin
    def to(self, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
        """The numbers in another dtype; with `bitcast` the bytes."""
        return converted(self, dtype, core.static_bool(bitcast, "tl.cast: bitcast"))

    @property
    def described(self) -> str:
        """What messages call it."""
        return f"float8e4b15{core.dims_text(self.bits.dims) if self.bits.dims else ''}"

    def part_names(self, name: str) -> list[str]:
        """Names of the run-time parts of a value that is called `name`."""
        return [name]


def converted(value: float8e4b15_tensor, dtype: Any, bitcast: bool) -> Any:
    """A float8e4b15 in another dtype.

    Raises:
        DTypeMismatch: A bitcast to another width.
    """
    if core.unwrap(dtype) is F8E4B15:
        return value
    target = resolve_dtype(dtype, "tl.cast")
    if bitcast:
        if not isinstance(target, DType) or target.bits != 8:
            raise DTypeMismatch(f"tl.cast: a bitcast keeps the width, float8e4b15 has 8 bits, not {target.label}")
        return value.bits if target is U8 else emit_value("bitcast", (value.bits,), target, value.bits.dims)
    word = core.cast(value.bits, U16)
    dims = word.dims

    def number(n: int) -> tensor:
        return constant(n, U16, dims)

    def step(op: str, a: tensor, b: tensor) -> tensor:
        return emit_value(op, (a, b), U16, dims)

    sign = step("shl", step("and", word, number(0x80)), number(8))
    magnitude = step("shl", step("and", word, number(0x7F)), number(_CUT))
    half = emit_value("bitcast", (step("or", sign, magnitude),), F16, dims)
    return core.cast(half, target)


def from_value(value: tensor, bitcast: bool) -> float8e4b15_tensor:
    """A value as float8e4b15: to float16 (of float32 the bits that it keeps), then to nearest, halves away from zero.

    It saturates at 1.875.

    Raises:
        DTypeMismatch: Pointers, or a bitcast of another width.
    """
    if value.is_pointer or (bitcast and core.dtype_of(value).bits != 8):
        raise DTypeMismatch(
            f"tl.cast: {core.describe_type(value)} cannot be converted to float8e4b15", facts=(core.fact("x", value),)
        )
    if bitcast:
        bits = value if value.element is U8 else emit_value("bitcast", (value,), U8, value.dims)
        return float8e4b15_tensor(bits)
    # Triton takes float32 to float16 by cutting off, before it rounds.
    narrow = core.cast(value, F16, "rtz") if value.element is F32 else core.cast(value, F16)
    half = emit_value("bitcast", (narrow,), U16, value.dims)
    wide = core.cast(half, I32)
    dims = wide.dims

    def number(n: int) -> tensor:
        return constant(n, I32, dims)

    def step(op: str, a: tensor, b: tensor) -> tensor:
        return emit_value(op, (a, b), I32, dims)

    magnitude = emit_value("min", (step("and", wide, number(0x7FFF)), number(_LARGEST)), I32, dims, {"nan": "ignore"})
    rounded = step("shr", step("add", magnitude, number(_HALF)), number(_CUT))
    sign = step("and", step("shr", wide, number(8)), number(0x80))
    return float8e4b15_tensor(core.cast(step("or", sign, rounded), U8))


# -- pointers to such numbers -----------------------------------------------------------------------------------------


def to_bytes(pointer: tensor) -> tensor:
    """Pointers to float8e4b15 as pointers to the bytes."""
    assert isinstance(pointer.element, PointerType)
    target = core.dtype_from_ir(PointerType(U8, pointer.element.space))
    return core.cast(pointer, target)


def bytes_of(value: Any) -> tensor:
    """The bytes of a float8e4b15, or of what becomes one."""
    return value.bits if isinstance(value, float8e4b15_tensor) else from_value(core.to_tensor(value), False).bits


# -- functions of `tl.extra.cuda` -------------------------------------------------------------------------------------


def _convert(arg: Any, dst_ty: Any, fp_downcast_rounding: Any, what: str) -> Any:
    value = arg if isinstance(arg, float8e4b15_tensor) else core.to_tensor(arg)
    target = core.unwrap(dst_ty)
    if isinstance(value, float8e4b15_tensor):
        if target not in (F16, F32):
            raise DTypeMismatch(f"{what}: float8e4b15 becomes float16 or float32, not {target.label}")
        return converted(value, target, False)
    if value.is_pointer or value.element not in (F16, F32):
        raise DTypeMismatch(
            f"{what} takes float16, float32 or float8e4b15, got {core.describe_type(value)}",
            facts=(core.fact("arg", value),),
        )
    if core.static_value(fp_downcast_rounding, f"{what}: fp_downcast_rounding") not in (None, "rtne"):
        raise InvalidArgument(f"{what}: fp_downcast_rounding must be 'rtne'")
    return from_value(value, False)


@builtin
def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """float8e4b15 as float16 or float32, and these as float8e4b15: what `tl.cast` does.

    Args:
        arg: Tile or scalar of float8e4b15, float16 or float32.
        dst_ty: float16 or float32 for a float8e4b15; others become float8e4b15 whatever it says.
        fp_downcast_rounding: ``"rtne"`` or None.

    Raises:
        DTypeMismatch: Other dtypes.
        InvalidArgument: Another rounding.

    Example:
        ``half = tl.extra.cuda.convert_custom_float8_sm70(x, tl.float16)``
    """
    return _convert(arg, dst_ty, fp_downcast_rounding, "tl.extra.cuda.convert_custom_float8_sm70")


@builtin
def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None) -> Any:
    """As `convert_custom_float8_sm70`: the two differ in instructions, not in values.

    Args:
        arg: Tile or scalar of float8e4b15, float16 or float32.
        dst_ty: float16 or float32 for a float8e4b15; others become float8e4b15 whatever it says.
        fp_downcast_rounding: ``"rtne"`` or None.

    Raises:
        DTypeMismatch: Other dtypes.
        InvalidArgument: Another rounding.

    Example:
        ``half = tl.extra.cuda.convert_custom_float8_sm80(x, tl.float16)``
    """
    return _convert(arg, dst_ty, fp_downcast_rounding, "tl.extra.cuda.convert_custom_float8_sm80")


__all__ = [
    "bytes_of",
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "converted",
    "float8e4b15_tensor",
    "from_value",
    "to_bytes",
]
