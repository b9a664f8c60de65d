"""Matrix products of microscaled operands: small floats with one scale for a group of elements along K.

The operands become bfloat16 (float16 when either is float16), and `tl.dot` multiplies them. Except where a scale takes a
value out of that type's range, nothing is rounded on the way.
"""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir.types import BF16, BOOL, F8E4NV, F8E5, F16, F32, I8, U8, U16, U32, DType
from tle2cuda.ops import core
from tle2cuda.ops.core import (
    builtin,
    constant,
    emit_value,
    fact,
    resolve_scalar_dtype,
    static_bool,
    static_choice,
    stretch,
    tensor,
    unwrap,
)
from tle2cuda.ops.dot import dot
from tle2cuda.ops.join import join
from tle2cuda.ops.shape import expand_dims, permute, reshape

FORMATS = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")
_STORED: dict[str, DType] = {"e2m1": U8, "e4m3": F8E4NV, "e5m2": F8E5, "bf16": BF16, "fp16": F16}
_GROUP = 32  # elements along K that share a scale of the type e8m0
_GROUP_OF_E4M3 = 16  # and of the type e4m3
_E8M0_NAN = 255


@builtin
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: Any,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: Any,
    acc: Any = None,
    fast_math: Any = False,
    lhs_k_pack: Any = True,
    rhs_k_pack: Any = True,
    out_dtype: Any = F32,
) -> tensor:
    """Matrix product ``acc + (lhs * lhs_scale) @ (rhs * rhs_scale)``, the scales repeated along K.

    Args:
        lhs: Tile ``[M, K]``. Elements of e2m1 lie in pairs in uint8, the first one in the low bits; those of e4m3 and
            e5m2 may be uint8.
        lhs_scale: Tile ``[M, K // 32]`` of uint8, exponents with bias 127 (e8m0; 255 is NaN), or ``[M, K // 16]`` of
            float8e4nv; None for no scale.
        lhs_format: ``"e2m1"``, ``"e4m3"``, ``"e5m2"``, ``"bf16"`` or ``"fp16"``.
        rhs: Tile ``[K, N]``.
        rhs_scale: Tile ``[N, K // 32]`` or ``[N, K // 16]``, or None.
        rhs_format: As `lhs_format`.
        acc: What is added, a float32 tile.
        fast_math: A scale of NaN may give anything.
        lhs_k_pack: Pairs of e2m1 are neighbours along K; along M otherwise.
        rhs_k_pack: Pairs of e2m1 are neighbours along K; along N otherwise.
        out_dtype: float32.

    Returns:
        A float32 tile ``[M, N]``, with batch axes in front if the operands have them.

    Raises:
        DTypeMismatch: An operand is not stored as its format asks for, or a scale is neither uint8 nor float8e4nv.
        ShapeMismatch: K differs, or a scale has another shape.
        InvalidArgument: An unknown format, packing of another format than e2m1, another `out_dtype`.

    Example:
        ``acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e2m1", acc)``
    """
    what = "tl.dot_scaled"
    if resolve_scalar_dtype(out_dtype, f"{what}: out_dtype") is not F32:
        raise InvalidArgument(f"{what}: out_dtype must be tl.float32")
    fast = static_bool(fast_math, f"{what}: fast_math")
    formats = [static_choice(f, FORMATS, f"{what}: {n}_format") for f, n in ((lhs_format, "lhs"), (rhs_format, "rhs"))]
    packs = [static_bool(p, f"{what}: {n}_k_pack") for p, n in ((lhs_k_pack, "lhs"), (rhs_k_pack, "rhs"))]
    a, b = _operand(lhs, formats[0], packs[0], "lhs", what), _operand(rhs, formats[1], packs[1], "rhs", what)
    if len(a.dims) != len(b.dims) or len(a.dims) not in (2, 3):
        raise ShapeMismatch(
            f"{what}: both operands must have rank 2 or 3, got {core.dims_text(a.dims)} and {core.dims_text(b.dims)}",
            facts=(fact("lhs", a), fact("rhs", b)),
        )
    dtype = F16 if "fp16" in formats else BF16
    x = _unpacked(a, formats[0], packs[0], 1, dtype)
    y = _unpacked(b, formats[1], packs[1], 0, dtype)
    if x.dims[-1] != y.dims[-2]:
        raise ShapeMismatch(
            f"{what}: inner dimensions differ: K = {x.dims[-1]} in `lhs`, K = {y.dims[-2]} in `rhs`",
            facts=(fact("lhs", a), fact("rhs", b)),
        )
    x = _scaled(x, lhs_scale, x.dims, "lhs", fast, what)
    turned = (*y.dims[:-2], y.dims[-1], y.dims[-2])
    y = _scaled(y, rhs_scale, turned, "rhs", fast, what)
    return dot(x, y, acc)


def _operand(value: Any, format_: str, is_packed_along_k: bool, name: str, what: str) -> tensor:
    """An operand in the dtype of its format; bytes are taken as what they stand for."""
    x = unwrap(value)
    if not isinstance(x, tensor) or x.is_pointer or len(x.dims) < 2:
        raise InvalidType(f"{what}: {name} must be a tile of numbers of rank 2 or 3, got {core.describe(value)}")
    if not is_packed_along_k and format_ != "e2m1":
        raise InvalidArgument(f"{what}: {name}_k_pack=False is for e2m1, {name} has the format {format_}")
    wanted, dtype = _STORED[format_], core.dtype_of(x)
    if dtype is wanted:
        return x
    if dtype is U8 and wanted in (F8E4NV, F8E5):
        return emit_value("bitcast", (x,), wanted, x.dims)
    raise DTypeMismatch(
        f"{what}: {name} of the format {format_} must be {wanted}, got {dtype}",
        facts=(fact(name, x),),
    )


def _unpacked(x: tensor, format_: str, along_k: bool, k_axis: int, dtype: DType) -> tensor:
    """All elements, in the type that is multiplied; `k_axis` counts the last two axes."""
    if format_ != "e2m1":
        return core.cast(x, dtype)
    pairs = join(_from_e2m1(x, 0, dtype), _from_e2m1(x, 4, dtype))
    rank = len(x.dims)
    axis = rank - 2 + (k_axis if along_k else 1 - k_axis)
    order = (*range(axis + 1), rank, *range(axis + 1, rank))
    turned = pairs if order == tuple(range(rank + 1)) else permute(pairs, order)
    return reshape(turned, (*x.dims[:axis], 2 * x.dims[axis], *x.dims[axis + 1 :]))


def _from_e2m1(packed: tensor, shift: int, dtype: DType) -> tensor:
    """The numbers in four bits of each byte: sign, two bits of exponent, one of mantissa.

    They are those of a float16 at the same places, whose exponent is smaller by 14; its denormals are those of e2m1.
    """
    dims = packed.dims
    wide = core.cast(packed, U16)

    def bits(op: str, a: tensor, number: int) -> tensor:
        return emit_value(op, (a, constant(number, U16, dims)), U16, dims)

    code = bits("shr", wide, shift) if shift else wide
    magnitude = bits("shl", bits("and", code, 0b0111), 9)
    sign = bits("shl", bits("and", code, 0b1000), 12)
    half = emit_value("bitcast", (emit_value("or", (magnitude, sign), U16, dims),), F16, dims)
    value = emit_value("mul", (half, constant(2.0**14, F16, dims)), F16, dims)
    return core.cast(value, dtype)


def _scaled(x: tensor, scale: Any, by_rows: tuple[int, ...], name: str, fast: bool, what: str) -> tensor:
    """`x` times its scales, which lie as ``[rows, K // group]``; `by_rows` is the shape with K last."""
    given = unwrap(scale)
    if given is None:
        return x
    dtype = core.dtype_of(given) if isinstance(given, tensor) and not given.is_pointer else None
    if not isinstance(given, tensor) or dtype not in (U8, I8, F8E4NV):
        raise DTypeMismatch(f"{what}: {name}_scale must be a tile of uint8 or float8e4nv, got {core.describe(scale)}")
    group = _GROUP_OF_E4M3 if dtype is F8E4NV else _GROUP
    wanted = (*by_rows[:-1], by_rows[-1] // group)
    if given.dims != wanted:
        raise ShapeMismatch(
            f"{what}: {name}_scale must have shape {core.dims_text(wanted)}, got {core.dims_text(given.dims)}",
            facts=(fact(f"{name}_scale", given),),
        )
    factor = core.cast(given, core.dtype_of(x)) if dtype is F8E4NV else _from_e8m0(given, core.dtype_of(x))
    spread = _repeated(factor, group, by_rows)
    scaled = emit_value("mul", (x, spread if x.dims == by_rows else _turned(spread)), x.element, x.dims)
    if fast or dtype is F8E4NV:
        return scaled
    missing = emit_value("cmp", (_as_bytes(given), constant(_E8M0_NAN, U8, wanted)), BOOL, wanted, {"predicate": "eq"})
    is_nan = _repeated(missing, group, by_rows)
    nan = constant(float("nan"), core.dtype_of(x), x.dims)
    return emit_value("select", (is_nan if x.dims == by_rows else _turned(is_nan), nan, scaled), x.element, x.dims)


def _as_bytes(x: tensor) -> tensor:
    return emit_value("bitcast", (x,), U8, x.dims) if core.dtype_of(x) is I8 else x


def _from_e8m0(scale: tensor, dtype: DType) -> tensor:
    """2 to the power of each byte less 127: the exponent bits of a float. 0 gives 0, as in Triton."""
    wide, bits, shift = (U16, BF16, 7) if dtype is BF16 else (U32, F32, 23)
    exponent = core.cast(_as_bytes(scale), wide)
    shifted = emit_value("shl", (exponent, constant(shift, wide, scale.dims)), wide, scale.dims)
    return core.cast(emit_value("bitcast", (shifted,), bits, scale.dims), dtype)


def _repeated(x: tensor, group: int, dims: tuple[int, ...]) -> tensor:
    """Each element `group` times along the last axis."""
    return reshape(stretch(expand_dims(x, len(x.dims)), (*x.dims, group)), dims)


def _turned(x: tensor) -> tensor:
    """The last two axes exchanged."""
    rank = len(x.dims)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))
