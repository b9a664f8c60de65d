"""TLE: matrix products that are in flight until they are waited for."""

from __future__ import annotations

import threading
from typing import Any

from tle2cuda.eager.asked import asked
from tle2cuda.eager.memory import load
from tle2cuda.eager.program import current
from tle2cuda.eager.shared import Buffer, local_ptr
from tle2cuda.eager.tensors import dot
from tle2cuda.eager.values import Tile, describe, static_int
from tle2cuda.errors import DTypeMismatch, InvalidArgument, InvalidType, ShapeMismatch, SynchronizationError
from tle2cuda.ir.types import BF16, F16, F32, I8, DType

_EQUAL = (I8, F16, BF16, F32)
_WHAT = "tle.gpu.wgmma"


class InFlight(Tile):
    """A product that nothing may read; its value is there, its group is not complete.

    Args:
        value: The product.
        number: Which group of its partition it is.
    """

    __slots__ = ("number", "value")

    def __init__(self, value: Tile, number: int) -> None:
        self.value, self.number = value, number
        self.dtype, self.exact, self.region = value.dtype, None, None

    def __getattr__(self, name: str) -> Any:
        if name == "data":  # which it has none of
            raise _too_early()
        return super().__getattr__(name)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        return self.value.shape


def _too_early() -> SynchronizationError:
    return SynchronizationError(
        "a product of tle.gpu.wgmma is read while it is in flight",
        help="wait for it first, acc = tle.gpu.wgmma_wait(0, acc)",
    )


class _Groups:
    """Groups of one partition."""

    __slots__ = ("complete", "issued")

    def __init__(self) -> None:
        self.issued = self.complete = 0


def _groups() -> _Groups:
    groups: dict[int, _Groups] = current().product_groups
    return groups.setdefault(threading.get_ident(), _Groups())


@asked
def wgmma(
    a: Any,
    b: Any,
    acc: Any = None,
    input_precision: Any = None,
    max_num_imprecise_acc: Any = None,
    out_dtype: Any = F32,
    trans_a: Any = False,
    trans_b: Any = False,
) -> InFlight:
    """`tle.gpu.wgmma`."""
    if not isinstance(b, Buffer):
        raise InvalidType(f"{_WHAT}: tensor B is unsupported: b must be a buffer in shared memory, got {describe(b)}")
    x, y = _tile(a, "a", trans_a), _tile(b, "b", trans_b)
    if x.shape[1] != y.shape[0]:
        raise ShapeMismatch(f"{_WHAT}: shape mismatch: K = {x.shape[1]} in `a`, K = {y.shape[0]} in `b`")
    _check_dtypes(x.dtype, y.dtype)
    for name, extent, unit in (("M", x.shape[0], 64), ("N", y.shape[1], 8)):
        if extent % unit:
            raise InvalidArgument(f"{_WHAT}: {name} = {extent} is no multiple of {unit}")
    if x.shape[1] < 256 // x.dtype.bits:
        least = 256 // x.dtype.bits
        raise InvalidArgument(f"{_WHAT}: K = {x.shape[1]} is too small, {x.dtype.label} needs at least {least}")
    start = acc.value if isinstance(acc, InFlight) else acc
    value = dot(x, y, start, input_precision, None, max_num_imprecise_acc, out_dtype)
    groups = _groups()
    groups.issued += 1
    return InFlight(value, groups.issued)


def _check_dtypes(first: DType, second: DType) -> None:
    if first.is_fp8() and second.is_fp8():
        return
    if first is not second:
        raise DTypeMismatch(f"{_WHAT}: both operands must have the same dtype, got {first.label} and {second.label}")
    if first not in _EQUAL:
        raise DTypeMismatch(
            f"{_WHAT}: unsupported dtype {first.label}: operands are int8, float16, bfloat16, float32 or float8"
        )


def _tile(value: Any, name: str, is_turned: Any) -> Tile:
    if isinstance(value, InFlight):
        raise _too_early()
    if not isinstance(value, (Buffer, Tile)) or (isinstance(value, Tile) and value.is_pointer):
        raise InvalidType(f"{_WHAT}: {name} must be a buffer in shared memory or a tile, got {describe(value)}")
    if len(value.shape) != 2:
        raise InvalidArgument(f"{_WHAT}: {name} must have rank 2, got rank {len(value.shape)}")
    tile = load(local_ptr(value)) if isinstance(value, Buffer) else value
    return Tile(tile.data.swapaxes(0, 1), tile.dtype) if is_turned else tile


@asked
def wgmma_wait(pendings: Any, acc: Any = None) -> Any:
    """`tle.gpu.wgmma_wait`."""
    what = "tle.gpu.wgmma_wait"
    if acc is None:
        pendings, acc = 0, pendings
    if not isinstance(acc, Tile):
        raise InvalidType(f"{what}: acc must be a product of tle.gpu.wgmma, got {describe(acc)}")
    pending = static_int(pendings, f"{what}: pendings")
    if pending < 0:
        raise InvalidArgument(f"{what}: pendings must be 0 or more, got {pending}")
    groups = _groups()
    groups.complete = max(groups.complete, groups.issued - pending)
    return acc.value if isinstance(acc, InFlight) and acc.number <= groups.complete else acc
