"""Matrix products of tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.kinds import INPUT_PRECISIONS
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, F64, I8, I32, DType
from tle2cuda.layout import MX_E2M1, NV_E2M1
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    constant,
    emit_value,
    fact,
    meaning,
    resolve_scalar_dtype,
    static_bool,
    static_choice,
    static_int,
    tensor,
    unwrap,
)

_FP8 = (F8E4NV, F8E5)
_OPERANDS = (F16, BF16, F32, F64, I8, *_FP8)
_SMALLEST_K = 16
_SMALLEST_K_OF_BYTES = 32


@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: Any = None,
    allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = F32,
) -> tensor:
    """Matrix product ``acc + input @ other``.

    ``input`` is ``[M, K]``, ``other`` is ``[K, N]``; leading batch axes, equal in both, are possible. Products are
    summed in float32 (int8: int32, float64: float64) in unspecified order, whatever the result's dtype.

    Args:
        input: Tile of float16, bfloat16, float32, float64, float8 or int8; K at least 16, of bytes 32.
        other: Tile of the same dtype; the two float8 dtypes may be mixed.
        acc: What is added to the product, a tile of the result's type.
        input_precision: For float32: ``"tf32"`` allows operands of ten bits of mantissa, ``"tf32x3"``, ``"bf16x3"`` and
            ``"bf16x6"`` splitting them in several, ``"ieee"`` asks for float32. Without tensor cores all of them are exact.
        allow_tf32: The older form: True is ``"tf32"``, False is ``"ieee"``.
        max_num_imprecise_acc: Of float8, how many products may be summed in less than float32; at most K.
        out_dtype: float32, or float16 for operands of float16 and float8.

    Returns:
        A tile ``[M, N]``, with the batch axes in front: int32 of int8, float64 of float64, else float32 or float16.

    Raises:
        InvalidType: An operand is no tile of numbers.
        DTypeMismatch: A dtype has no matrix product, or `input`, `other` and `acc` do not go together.
        ShapeMismatch: Ranks, batch axes, K or the shape of `acc` differ.
        InvalidArgument: K is too small, or an option has no such value.

    Example:
        ``acc = tl.dot(a, b, acc)``
    """
    what = "tl.dot"
    a, b = _operand(input, "input", what), _operand(other, "other", what)
    _check_dtypes(a, b, what)
    batch, m, n = _check_shapes(a, b, what)
    attrs: dict[str, Any] = {"input_precision": precision(input_precision, allow_tf32, what)}
    result = result_dtype(core.dtype_of(a), out_dtype, what)
    limit = imprecise_limit(max_num_imprecise_acc, core.dtype_of(a), a.dims[-1], what)
    if limit is not None:
        attrs["max_num_imprecise_acc"] = limit
    dims = (*batch, m, n)
    start = accumulator(acc, result, dims, what)
    return emit_value("dot", (a, b, start), result, dims, attrs)


def _operand(value: Any, name: str, what: str) -> tensor:
    x = unwrap(value)
    if not isinstance(x, tensor) or x.is_pointer or not x.dims:
        help_ = "load the tile first, tl.load(pointers)" if isinstance(x, tensor) and x.is_pointer else ""
        raise InvalidType(f"{what}: {name} must be a tile of numbers, got {core.describe(value)}", help=help_)
    return x


def _check_dtypes(a: tensor, b: tensor, what: str) -> None:
    for name, x in (("input", a), ("other", b)):
        if core.dtype_of(x) not in _OPERANDS:
            known = "float16, bfloat16, float32, float64, float8e4nv, float8e5 or int8"
            raise DTypeMismatch(
                f"{what}: {name} is {core.dtype_of(x).label}, which has no matrix product",
                facts=(fact(name, x),),
                help=f"convert it to {known}",
            )
    first, second = core.dtype_of(a), core.dtype_of(b)
    if first is not second and not (first in _FP8 and second in _FP8):
        raise DTypeMismatch(
            f"{what}: both operands must have one dtype, got {first.label} and {second.label}",
            facts=(fact("input", a), fact("other", b)),
            help=f"convert one, such as other.to(tl.{first.label})",
        )


def _check_shapes(a: tensor, b: tensor, what: str) -> tuple[tuple[int, ...], int, int]:
    facts = (fact("input", a), fact("other", b))
    if len(a.dims) != len(b.dims) or len(a.dims) < 2:
        raise ShapeMismatch(
            f"{what}: both operands must have one rank, 2 or more, got {len(a.dims)} and {len(b.dims)}", facts=facts
        )
    if a.dims[:-2] != b.dims[:-2]:
        shapes = f"{core.dims_text(a.dims[:-2])} and {core.dims_text(b.dims[:-2])}"
        raise ShapeMismatch(f"{what}: batch axes differ: {shapes}", facts=facts)
    (m, k), (other_k, n) = a.dims[-2:], b.dims[-2:]
    if k != other_k:
        raise ShapeMismatch(
            f"{what}: inner dimensions differ: K = {k} in `input`, K = {other_k} in `other`",
            facts=facts,
            help="tl.trans(x) turns an operand",
        )
    least = _SMALLEST_K_OF_BYTES if core.dtype_of(a).bits == 8 else _SMALLEST_K
    if k < least:
        raise InvalidArgument(
            f"{what}: K = {k} is too small, {core.dtype_of(a).label} needs at least {least}",
            facts=facts,
            help="make the tiles longer and mask what does not exist with zeros",
        )
    return a.dims[:-2], m, n


def precision(input_precision: Any, allow_tf32: Any, what: str) -> str:
    """How precisely float32 is multiplied."""
    asked, old = unwrap(input_precision), unwrap(allow_tf32)
    if asked is not None and old is not None:
        raise InvalidArgument(f"{what}: only one of input_precision and allow_tf32 can be given")
    if old is not None:
        return "tf32" if static_bool(allow_tf32, f"{what}: allow_tf32") else "ieee"
    if asked is None:
        return "tf32"
    return static_choice(input_precision, INPUT_PRECISIONS, f"{what}: input_precision")


def result_dtype(operand: DType, out_dtype: Any, what: str) -> DType:
    """The dtype of a product."""
    asked = resolve_scalar_dtype(out_dtype, f"{what}: out_dtype")
    if operand is I8:
        return I32
    if asked is BF16:
        raise DTypeMismatch(
            f"{what}: out_dtype=bfloat16 is unsupported", help="use out_dtype=tl.float32 and cast, .to(tl.bfloat16)"
        )
    if operand is F64:
        return F64
    return F16 if asked is F16 and operand not in (F32, BF16) else F32


def imprecise_limit(limit: Any, dtype: DType, k: int, what: str) -> int | None:
    """How many float8 products may be summed in less than float32; None without a limit."""
    if unwrap(limit) is None:
        return None
    value = static_int(limit, f"{what}: max_num_imprecise_acc")
    if dtype in _FP8 and value > k:
        raise InvalidArgument(f"{what}: max_num_imprecise_acc ({value}) must be at most K ({k})")
    return value


def accumulator(acc: Any, dtype: DType, dims: tuple[int, ...], what: str) -> tensor:
    """What a product adds to: `acc`, or zeros."""
    value = unwrap(acc)
    if value is None:
        return constant(0, dtype, dims)
    if not isinstance(value, tensor) or value.is_pointer:
        raise InvalidType(f"{what}: acc must be a tile, got {core.describe(acc)}", help="leave it out to start from 0")
    if value.dims != dims:
        raise ShapeMismatch(
            f"{what}: acc has shape {core.dims_text(value.dims)}, the product has {core.dims_text(dims)}",
            facts=(fact("acc", value),),
        )
    if core.dtype_of(value) is not dtype:
        raise DTypeMismatch(
            f"{what}: acc is {core.dtype_of(value).label}, the product is {dtype.label}",
            facts=(fact("acc", value),),
            help="pass out_dtype=tl.float16" if core.dtype_of(value) is F16 else f"make it {dtype.label}",
        )
    return value


@meaning("dot")
def _dot(ctx: Any, op: Op, a: Any, b: Any, acc: Any, *others: Any) -> Any:
    if formats := op.attrs.get("formats"):
        a, b = _scaled(a, others[0], formats, 1), _scaled(b, others[1], formats, 0)
    wide = np.int64 if np.asarray(acc).dtype.kind == "i" else np.float64
    with np.errstate(all="ignore"):
        product = np.matmul(np.asarray(a).astype(wide), np.asarray(b).astype(wide))
        # Integers wrap; floats are rounded once, as sums in any order stay near the exact one.
        return (np.asarray(acc).astype(wide) + product).astype(np.asarray(acc).dtype)


_E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])


def _scaled(stored: Any, scale: Any, formats: str, k_axis: int) -> Any:
    """The numbers of an operand times its scales, which may be repeated beyond its rows and groups."""
    x = np.asarray(stored)
    if formats in (MX_E2M1, NV_E2M1):
        pairs = np.stack([_E2M1[x & 15], _E2M1[x >> 4]], k_axis + 1)
        x = pairs.reshape([2 * n if axis == k_axis else n for axis, n in enumerate(x.shape)])
    rows, depth = x.shape[1 - k_axis], x.shape[k_axis]
    groups = depth // (16 if formats == NV_E2M1 else 32)
    factor = np.asarray(scale)[:rows, :groups]
    if formats == NV_E2M1:
        factor = factor.astype(np.float64)
    else:
        with np.errstate(over="ignore"):
            factor = np.where(factor == 255, np.nan, np.exp2(factor.astype(np.float64) - 127))
    spread = np.repeat(factor, depth // groups, axis=1)
    return x.astype(np.float64) * (spread if k_axis else spread.T)
