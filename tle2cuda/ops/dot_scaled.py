"""Matrix products of microscaled operands: small floats with one scale for a group of elements along K.

Where the target's tensor cores scale blocks, operands of 4 and 8 bits become one `dot` with scales. Everywhere else, and
for what such instructions do not take, operands become bfloat16 (float16 when either is float16), and `tl.dot` multiplies
them. Except where a scale takes a value out of that type's range, nothing is rounded on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Kernel, Op
from tle2cuda.ir.types import BF16, BOOL, F8E4NV, F8E5, F16, F32, I8, U8, U16, U32, DType
from tle2cuda.layout import BYTES_OF_STEP, MX_E2M1, NV_E2M1
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
from tle2cuda.ops.dot import accumulator, dot
from tle2cuda.ops.join import join
from tle2cuda.ops.shape import expand_dims, permute, reshape
from tle2cuda.targets import parse_target

FORMATS = ("e2m1", "e4m3", "e5m2", "bf16", "fp16")
_STORED: dict[str, DType] = {"e2m1": U8, "e4m3": F8E4NV, "e5m2": F8E5, "bf16": BF16, "fp16": F16}
_GROUP = 32  # elements along K that share a scale of the type e8m0
_GROUP_OF_E4M3 = 16  # and of the type e4m3
_E8M0_NAN = 255
_E8M0_ONE = 127


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
    x_dims = _unpacked_dims(a, formats[0], packs[0], 1)
    y_dims = _unpacked_dims(b, formats[1], packs[1], 0)
    if x_dims[-1] != y_dims[-2]:
        raise ShapeMismatch(
            f"{what}: inner dimensions differ: K = {x_dims[-1]} in `lhs`, K = {y_dims[-2]} in `rhs`",
            facts=(fact("lhs", a), fact("rhs", b)),
        )
    scales = (
        _scale(lhs_scale, x_dims, "lhs", what),
        _scale(rhs_scale, (*y_dims[:-2], y_dims[-1], y_dims[-2]), "rhs", what),
    )
    kind = _hardware_kind(formats, packs, scales)
    if kind is not None and _suits_hardware(a, formats, kind):
        shape, depth = (x_dims[-2], y_dims[-1]), x_dims[-1]
        operands = [_as_multiplied(x, formats[side], packs[side], side, kind) for side, x in enumerate((a, b))]
        factors = [_as_factor(scale, shape[side], depth, kind) for side, scale in enumerate(scales)]
        start = accumulator(acc, F32, shape, what)
        attrs = {"input_precision": "tf32", "formats": kind, "is_fast": fast}
        return emit_value("dot", (*operands, start, *factors), F32, start.dims, attrs)
    dtype = F16 if "fp16" in formats else BF16
    x = _scaled(_unpacked(a, formats[0], packs[0], 1, dtype), scales[0], 1, fast)
    y = _scaled(_unpacked(b, formats[1], packs[1], 0, dtype), scales[1], 0, fast)
    return dot(x, y, acc)


def by_plain_product(kernel: Kernel, op: Op) -> list[Op]:
    """The operations that do what a `dot` with scales does where tensor cores do not; the last one makes its result."""
    made_by = builder.Builder(kernel.num_warps, kernel.target)
    packed = {MX_E2M1: "e2m1", NV_E2M1: "e2m1"}.get(op.attrs["formats"])
    with made_by.active(), made_by.region() as made, made_by.at(op.span):
        a, b, acc, a_scale, b_scale = map(tensor, op.operands)
        fast = bool(op.attrs.get("is_fast"))
        x = _scaled(_unpacked(a, packed or "", True, 1, BF16), a_scale, 1, fast)
        y = _scaled(_unpacked(b, packed or "", True, 0, BF16), b_scale, 0, fast)
        emit_value("dot", (x, y, acc), F32, acc.dims, {"input_precision": "tf32"})
    return made


def _hardware_kind(formats: list[str], packs: list[bool], scales: tuple[tensor | None, tensor | None]) -> str | None:
    """What tensor cores with scaled blocks call such a product; None where they have none."""
    kinds = {core.dtype_of(scale) is F8E4NV for scale in scales if scale is not None}
    if len(kinds) != 1 or not {*formats} <= {"e2m1", "e4m3", "e5m2"}:
        return None
    has_fine_scales = kinds.pop()
    if formats == ["e2m1", "e2m1"] and all(packs):
        return NV_E2M1 if has_fine_scales else MX_E2M1
    wide = ["e4m3" if f == "e2m1" else f for f in formats]
    return None if has_fine_scales else f"mx_{wide[0]}_{wide[1]}"


def _suits_hardware(a: tensor, formats: list[str], kind: str) -> bool:
    """Whether the target multiplies tiles like this left one; what a task has besides, the pass `products` knows."""
    target = parse_target(builder.current().target)
    if len(a.dims) != 2 or not (target.has("mma_scaled") or target.has("tcgen05")):
        return False
    depth = a.dims[1] * (2 if formats[0] == "e2m1" and "e2m1" not in kind else 1)
    return depth >= BYTES_OF_STEP


def _as_multiplied(x: tensor, format_: str, along_k: bool, side: int, kind: str) -> tensor:
    """An operand as instructions take it: pairs of e2m1 beside those of 8 bits become e4m3, which has all their numbers."""
    if format_ != "e2m1" or kind in (MX_E2M1, NV_E2M1):
        return x
    return _spread(x, lambda shift: _e4m3_from_e2m1(x, shift), along_k, 1 - side)


def _as_factor(scale: tensor | None, rows: int, depth: int, kind: str) -> tensor:
    """The scales of an operand; ones where it has none."""
    if scale is not None:
        return scale if core.dtype_of(scale) is F8E4NV else _as_bytes(scale)
    if kind == NV_E2M1:
        return constant(1.0, F8E4NV, (rows, depth // _GROUP_OF_E4M3))
    return constant(_E8M0_ONE, U8, (rows, depth // _GROUP))


def _e4m3_from_e2m1(packed: tensor, shift: int) -> tensor:
    """The numbers in four bits of each byte, in eight: from 1 on, exponents differ by 6."""
    dims = packed.dims

    def bits(op: str, a: tensor, number: int) -> tensor:
        return emit_value(op, (a, constant(number, U8, dims)), U8, dims)

    code = bits("shr", packed, shift) if shift else packed
    magnitude = bits("and", code, 0b0111)
    normal = bits("add", bits("shl", magnitude, 2), 0x30)
    for number, bits_of_it in ((1, 0x30), (0, 0)):  # 0.5, which e2m1 has no exponent for, and 0
        is_it = emit_value("cmp", (magnitude, constant(number, U8, dims)), BOOL, dims, {"predicate": "eq"})
        normal = emit_value("select", (is_it, constant(bits_of_it, U8, dims), normal), U8, dims)
    sign = bits("shl", bits("and", code, 0b1000), 4)
    return emit_value("bitcast", (emit_value("or", (normal, sign), U8, dims),), F8E4NV, dims)


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
        f"{what}: {name} of the format {format_} must be {wanted.label}, got {dtype.label}",
        facts=(fact(name, x),),
    )


def _unpacked(x: tensor, format_: str, along_k: bool, k_axis: int, dtype: DType) -> tensor:
    """All elements, in the type that is multiplied; `k_axis` counts the last two axes."""
    if format_ != "e2m1":
        return core.cast(x, dtype)
    return _spread(x, lambda shift: _from_e2m1(x, shift, dtype), along_k, k_axis)


def _unpacked_dims(x: tensor, format_: str, along_k: bool, k_axis: int) -> tuple[int, ...]:
    """The shape of all elements."""
    if format_ != "e2m1":
        return x.dims
    axis = len(x.dims) - 2 + (k_axis if along_k else 1 - k_axis)
    return (*x.dims[:axis], 2 * x.dims[axis], *x.dims[axis + 1 :])


def _spread(x: tensor, element: Callable[[int], tensor], along_k: bool, k_axis: int) -> tensor:
    """Both elements of each byte beside each other, those of the low bits and of the high ones."""
    pairs = join(element(0), element(4))
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


def _scale(scale: Any, by_rows: tuple[int, ...], name: str, what: str) -> tensor | None:
    """The scales of an operand, `[rows, K // group]`; `by_rows` is its shape with K last."""
    given = unwrap(scale)
    if given is None:
        return None
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
    return given


def _scaled(x: tensor, scale: tensor | None, k_axis: int, fast: bool) -> tensor:
    """`x` times its scales; `k_axis` counts the last two axes."""
    if scale is None:
        return x
    dtype = core.dtype_of(scale)
    group = _GROUP_OF_E4M3 if dtype is F8E4NV else _GROUP

    def spread(factor: tensor) -> tensor:
        """A tile like the scales as one like the operand."""
        rows = _repeated(factor, group, (*scale.dims[:-1], scale.dims[-1] * group))
        return rows if k_axis else _turned(rows)

    factor = core.cast(scale, core.dtype_of(x)) if dtype is F8E4NV else _from_e8m0(scale, core.dtype_of(x))
    scaled = emit_value("mul", (x, spread(factor)), x.element, x.dims)
    if fast or dtype is F8E4NV:
        return scaled
    is_missing = (_as_bytes(scale), constant(_E8M0_NAN, U8, scale.dims))
    missing = spread(emit_value("cmp", is_missing, BOOL, scale.dims, {"predicate": "eq"}))
    nan = constant(float("nan"), core.dtype_of(x), x.dims)
    return emit_value("select", (missing, nan, scaled), x.element, x.dims)


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
