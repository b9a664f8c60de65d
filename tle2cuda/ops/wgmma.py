"""Matrix products of warpgroups that stay in flight until they are waited for: `tle.gpu.wgmma`, `tle.gpu.wgmma_wait`."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch
from tle2cuda.ir import builder
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, I8, DType, TileType
from tle2cuda.ops import core
from tle2cuda.ops.buffers import buffered_tensor, local_ptr
from tle2cuda.ops.core import builtin, constant, dims_text, emit_value, fact, static_bool, static_int, tensor, unwrap
from tle2cuda.ops.dot import dot, imprecise_limit, precision, result_dtype
from tle2cuda.ops.memory import load
from tle2cuda.ops.shape import trans

_FP8 = (F8E4NV, F8E5)
_EQUAL = (I8, F16, BF16, F32)
_ROWS = 64
_COLUMNS = 8
_STEP_BITS = 256
_TURNED_BITS = 16
_WHAT = "tle.gpu.wgmma"

Operand = buffered_tensor | tensor


@builtin
def wgmma(
    a: Any,
    b: Any,
    acc: Any = None,
    input_precision: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = F32,
    trans_a: Any = False,
    trans_b: Any = False,
) -> tensor:
    """Issues the matrix product ``acc + a @ b`` of whole warpgroups, and does not wait for it.

    The result may go to another `wgmma` as `acc`, and to `wgmma_wait`, which makes it readable. Until then nothing may
    overwrite the operands' buffers. Each call is one group.

    Args:
        a: Buffer in shared memory laid out for MMA, or a tile; ``[M, K]``, M a multiple of 64.
        b: Such a buffer, ``[K, N]``, N a multiple of 8.
        acc: Tile ``[M, N]`` of the result's dtype that is added to, perhaps a product in flight; None for zeros.
        input_precision: As in `tl.dot`; float32 is multiplied as tf32 unless it says otherwise.
        max_num_imprecise_acc: As in `tl.dot`.
        out_dtype: float32, or float16 for operands of float16 and float8.
        trans_a: Whether `a` is stored ``[K, M]``.
        trans_b: Whether `b` is stored ``[N, K]``.

    Returns:
        A tile ``[M, N]`` in flight: int32 of int8, else float32 or float16.

    Raises:
        InvalidType: An operand is neither a buffer nor a tile, or `b` is a tile.
        InvalidArgument: A buffer is not laid out for MMA, has another rank, or holds elements of other than 16 bits in rows
            that do not lie along K; or the extents are no whole instructions.
        ShapeMismatch: The operands, or `acc`, do not go together.
        DTypeMismatch: Nor do their dtypes.

    Example:
        ``acc = tle.gpu.wgmma(a_ring.slot(0), b_ring.slot(0), acc)``
    """
    left, right = _operand(a, "a"), _operand(b, "b")
    if isinstance(right, tensor):
        raise InvalidType(
            f"{_WHAT}: tensor B is unsupported: b must be a buffer in shared memory, got {core.describe(b)}",
            help="store it to a buffer of tle.gpu.alloc first",
        )
    turns = (static_bool(trans_a, f"{_WHAT}: trans_a"), static_bool(trans_b, f"{_WHAT}: trans_b"))
    if isinstance(left, tensor) and turns[0]:
        left, turns = trans(left), (False, turns[1])
    (m, k), n = _extents(left, right, turns)
    dtype = _check_dtypes(left, right)
    _check_extents(m, n, k, dtype)
    attrs: dict[str, Any] = {"input_precision": precision(input_precision, None, _WHAT)}
    result = result_dtype(dtype, out_dtype, _WHAT)
    limit = imprecise_limit(max_num_imprecise_acc, dtype, k, _WHAT)
    if limit is not None:
        attrs["max_num_imprecise_acc"] = limit
    start = _accumulator(acc, result, (m, n))
    if dtype is F32 and attrs["input_precision"] != "tf32":
        x, y = (_as_tile(value, turned) for value, turned in zip((left, right), turns, strict=True))
        return dot(x, y, start, input_precision=attrs["input_precision"])
    _check_order(left, right, turns, dtype)
    made = (_ir_value(left), _ir_value(right), start.value)
    attrs |= {"trans_a": turns[0], "trans_b": turns[1]}
    return tensor(builder.current().emit_one("wgmma", made, TileType((m, n), result), attrs))


@builtin
def wgmma_wait(pendings: Any, acc: Any = None) -> tensor:
    """Waits until at most `pendings` groups of this partition are in flight; ``wgmma_wait(acc)`` waits for all.

    Groups are counted over all calls of `wgmma`, in the order in which these were issued.

    Args:
        pendings: How many may be in flight, known at compile time.
        acc: The product to be read.

    Returns:
        `acc`, readable if its own group is complete.

    Raises:
        InvalidType: `acc` is no tile.
        InvalidArgument: `pendings` is negative, or not known at compile time.

    Example:
        ``acc = tle.gpu.wgmma_wait(0, acc)``
    """
    what = "tle.gpu.wgmma_wait"
    if acc is None:
        pendings, acc = 0, pendings
    value = unwrap(acc)
    if not isinstance(value, tensor) or value.is_pointer or not value.dims:
        raise InvalidType(f"{what}: acc must be a product of tle.gpu.wgmma, got {core.describe(acc)}")
    pending = static_int(pendings, f"{what}: pendings")
    if pending < 0:
        raise InvalidArgument(f"{what}: pendings must be 0 or more, got {pending}")
    return emit_value("wgmma_wait", (value,), core.dtype_of(value), value.dims, {"pending": pending})


def _operand(value: Any, name: str) -> Operand:
    given = unwrap(value)
    if isinstance(given, buffered_tensor):
        _check_buffer(given, name)
        return given
    if not isinstance(given, tensor) or given.is_pointer or not given.dims:
        raise InvalidType(f"{_WHAT}: {name} must be a buffer in shared memory or a tile, got {core.describe(value)}")
    if len(given.dims) != 2:
        raise InvalidArgument(f"{_WHAT}: {name} must have rank 2, got rank {len(given.dims)}", facts=(fact(name, given),))
    return given


def _check_buffer(buffer: buffered_tensor, name: str) -> None:
    facts = (f"{name}: {buffer.type}",)
    if buffer.ir_type.remote:
        raise InvalidArgument(f"{_WHAT}: {name} must be a buffer of this CTA, in smem", facts=facts)
    if buffer.ir_type.storage != "mma":
        raise InvalidArgument(
            f"{_WHAT}: {name} must use nv_mma_shared_layout",
            facts=facts,
            help="allocate it with nv_mma_shared_layout=True, the default",
        )
    if len(buffer.shape) != 2:
        raise InvalidArgument(
            f"{_WHAT}: {name} must have rank 2, got rank {len(buffer.shape)}", facts=facts, help="take one stage, .slot(i)"
        )


def _dims(value: Operand) -> tuple[int, ...]:
    return tuple(value.shape) if isinstance(value, buffered_tensor) else value.dims


def _dtype(value: Operand) -> DType:
    return value.dtype if isinstance(value, buffered_tensor) else core.dtype_of(value)


def _facts(a: Operand, b: Operand) -> tuple[str, ...]:
    return tuple(f"{name}: {_dtype(x).short}{dims_text(_dims(x))}" for name, x in (("a", a), ("b", b)))


def _extents(a: Operand, b: Operand, turns: tuple[bool, bool]) -> tuple[tuple[int, int], int]:
    """M, K and N."""
    (m, k), (other_k, n) = (_dims(x)[::-1] if turned else _dims(x) for x, turned in zip((a, b), turns, strict=True))
    if k != other_k:
        raise ShapeMismatch(
            f"{_WHAT}: shape mismatch: K = {k} in `a`, K = {other_k} in `b`",
            facts=_facts(a, b),
            help="trans_a=True and trans_b=True turn an operand",
        )
    return (m, k), n


def _check_dtypes(a: Operand, b: Operand) -> DType:
    """The operands' dtype."""
    first, second = _dtype(a), _dtype(b)
    if first in _FP8 and second in _FP8:
        return first
    if first is not second:
        raise DTypeMismatch(
            f"{_WHAT}: both operands must have the same dtype, got {first.label} and {second.label}", facts=_facts(a, b)
        )
    if first not in _EQUAL:
        raise DTypeMismatch(
            f"{_WHAT}: unsupported dtype {first.label}: operands are int8, float16, bfloat16, float32 or float8",
            facts=_facts(a, b),
        )
    return first


def _check_extents(m: int, n: int, k: int, dtype: DType) -> None:
    least = _STEP_BITS // dtype.bits
    for name, extent, unit in (("M", m, _ROWS), ("N", n, _COLUMNS)):
        if extent % unit:
            raise InvalidArgument(f"{_WHAT}: {name} = {extent} is no multiple of {unit}")
    if k < least:
        raise InvalidArgument(f"{_WHAT}: K = {k} is too small, {dtype.label} needs at least {least}")
    for name, extent in (("M", m), ("N", n), ("K", k)):
        if extent & (extent - 1):
            raise InvalidArgument(f"{_WHAT}: {name} = {extent} is no power of two, as tiles have them")


def _check_order(a: Operand, b: Operand, turns: tuple[bool, bool], dtype: DType) -> None:
    """Shared memory must hold operands of other than 16 bits in rows along K: the instruction turns no others."""
    if dtype.bits == _TURNED_BITS:
        return
    if isinstance(a, buffered_tensor) and turns[0]:
        raise InvalidArgument(
            f"{_WHAT}: trans_a=True needs operands of 16 bits, got {dtype.label}",
            facts=_facts(a, b),
            help="store a as [M, K], or pass it as a tile",
        )
    if not turns[1]:
        raise InvalidArgument(
            f"{_WHAT}: b stored as [K, N] needs operands of 16 bits, got {dtype.label}",
            facts=_facts(a, b),
            help="store b as [N, K] and pass trans_b=True",
        )


def _accumulator(acc: Any, dtype: DType, dims: tuple[int, int]) -> tensor:
    value = unwrap(acc)
    if value is None:
        return constant(0, dtype, dims)
    if not isinstance(value, tensor) or value.is_pointer:
        raise InvalidType(f"{_WHAT}: acc must be a tile, got {core.describe(acc)}", help="leave it out to start from 0")
    if value.dims != dims:
        raise ShapeMismatch(
            f"{_WHAT}: acc shape must be {dims_text(dims)}, got {dims_text(value.dims)}", facts=(fact("acc", value),)
        )
    if core.dtype_of(value) is not dtype:
        given = core.dtype_of(value)
        raise DTypeMismatch(f"{_WHAT}: acc dtype must be {dtype.label}, got {given.label}", facts=(fact("acc", value),))
    return value


def _as_tile(value: Operand, turned: bool) -> tensor:
    """An operand in registers."""
    tile = load(local_ptr(value)) if isinstance(value, buffered_tensor) else value
    return trans(tile) if turned else tile


def _ir_value(value: Operand) -> Any:
    return value.value
