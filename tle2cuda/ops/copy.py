"""`tle.gpu.copy` between tiles of pointers and buffers."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, MemoryOperationFailed, NotSupported
from tle2cuda.ir.types import BOOL, GLOBAL, PointerType
from tle2cuda.ops import core, memory
from tle2cuda.ops.buffers import buffer_fact, buffered_tensor, local_ptr
from tle2cuda.ops.core import builtin, dims_text, fact, static_bool, static_int, static_value, tensor, unwrap
from tle2cuda.ops.semantic import TLESemantic, TLESemanticError

_FAILED = "copy operation failed: "
_MAX_PENDING_GROUPS = 7


def _is_pointer_tile(value: Any) -> bool:
    return isinstance(value, tensor) and value.is_pointer


def _check_combination(src: Any, dst: Any) -> None:
    """One side a tile of pointers, the other a buffer."""
    for name, value in (("Source", src), ("Destination", dst)):
        if not isinstance(value, buffered_tensor) and not _is_pointer_tile(value):
            raise InvalidArgument(
                f"{name} parameter must be a tile of pointers or a buffer, got {core.describe(value)}",
                help="tensor descriptors (TMA) are not supported; use a tile of pointers",
            )
    if isinstance(src, buffered_tensor) == isinstance(dst, buffered_tensor):
        kind = "buffers" if isinstance(src, buffered_tensor) else "tiles of pointers"
        raise InvalidArgument(
            f"Invalid copy combination: both operands are {kind}",
            help="copy from a tile of pointers to a buffer, or back",
        )


@builtin
def copy(
    src: Any,
    dst: Any,
    shape: Any,
    offsets: Any = None,
    barrier: Any = None,
    mask: Any = None,
    is_async: Any = False,
    eviction_policy: Any = "",
) -> None:
    """Copies a whole buffer from or to global memory.

    Pointers to buffer: ``tl.store(local_ptr(dst), tl.load(src))``, masked-off elements become zero. Buffer to
    pointers: ``tl.store(dst, tl.load(local_ptr(src)))``, masked-off elements are not stored. Either way
        the copy is
    complete when the call returns.

    Args:
        src: Tile of pointers that broadcasts to the buffer's shape, or a buffer.
        dst: A buffer, or such a tile of pointers.
        shape: Tuple of extents, none beyond the buffer's. The whole buffer is copied all the same.
        offsets: Must stay None: only tensor descriptors have offsets.
        barrier: Must stay None: only tensor descriptors have barriers.
        mask: bool, broadcast to the buffer's shape.
        is_async: Asks for cp.async; completion is never later than `async_wait_group` promises. The shapes of
            pointers, buffer and `shape` must then be equal, and the dtypes too.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``.

    Raises:
        InvalidArgument: Other operands, `shape` that is no tuple, or a rule of `is_async` broken.
        MemoryOperationFailed: Shapes that do not fit, or a remote buffer.

    Example:
        ``tle.gpu.copy(x_ptr + rows[:, None] * stride + cols[None, :], tile, [M, N])``
    """
    source, target = unwrap(src), unwrap(dst)
    _check_combination(source, target)
    if not isinstance(unwrap(shape), (tuple, list)):
        raise InvalidArgument(f"copy: shape must be a tuple or list, got {core.describe(shape)}")
    loads = isinstance(target, buffered_tensor)
    if unwrap(barrier) is not None:
        raise InvalidArgument("copy: barrier is only supported for TMA global-to-shared copy")
    if unwrap(offsets) is not None:
        raise InvalidArgument("copy: offsets are only supported for tensor descriptors")
    policy = static_value(eviction_policy, "copy: eviction_policy")
    if policy not in memory.EVICTION_POLICIES:
        known = ", ".join(repr(choice) for choice in memory.EVICTION_POLICIES)
        raise InvalidArgument(f"copy: eviction_policy must be one of {known}, got {policy!r}")
    buffer, pointers = (target, source) if loads else (source, target)
    if static_bool(is_async, "copy: is_async"):
        _check_async(pointers, buffer, shape, loads)
    _check_shapes(pointers, buffer, shape)
    enabled = _mask(mask, buffer)
    spread = core.stretch(pointers, tuple(buffer.shape))
    view = local_ptr(buffer)
    if loads:
        other = 0 if enabled is not None else None
        memory.store(view, memory.load(spread, enabled, other, eviction_policy=policy))
    else:
        memory.store(spread, memory.load(view), enabled, eviction_policy=policy)


def _check_shapes(pointers: tensor, buffer: buffered_tensor, shape: Any) -> None:
    facts = (fact("pointers", pointers), buffer_fact(buffer))
    if buffer.ir_type.remote:
        raise MemoryOperationFailed(
            f"{_FAILED}a remote buffer cannot be copied",
            facts=facts,
            help="load and store through tle.gpu.local_ptr of the remote buffer",
        )
    try:
        TLESemantic().validate_copy_shape(shape, buffer.shape)
    except TLESemanticError as error:
        raise MemoryOperationFailed(f"{_FAILED}{error.message}", facts=facts) from None
    extents = tuple(buffer.shape)
    if core.broadcast_shape(pointers.dims, extents) != extents:
        raise MemoryOperationFailed(
            f"{_FAILED}pointers of shape {dims_text(pointers.dims)} do not broadcast to the buffer {dims_text(extents)}",
            facts=facts,
        )


def _mask(mask: Any, buffer: buffered_tensor) -> tensor | None:
    value = memory.optional_mask(mask)
    if value is None:
        return None
    condition = core.to_tensor(value)
    if condition.element is not BOOL:
        raise MemoryOperationFailed(
            f"{_FAILED}the mask must be bool (int1), got {core.describe_type(condition)}",
            facts=(fact("mask", condition),),
        )
    extents = tuple(buffer.shape)
    if core.broadcast_shape(condition.dims, extents) != extents:
        raise MemoryOperationFailed(
            f"{_FAILED}the mask of shape {dims_text(condition.dims)} does not broadcast to the buffer {dims_text(extents)}",
            facts=(fact("mask", condition), buffer_fact(buffer)),
        )
    return condition


def _check_async(pointers: tensor, buffer: buffered_tensor, shape: Any, loads: bool) -> None:
    element = pointers.element
    assert isinstance(element, PointerType)
    if not loads or element.space != GLOBAL:
        raise InvalidArgument("copy: is_async=True copies from global memory to a buffer only")
    if element.element is not buffer.dtype:
        raise InvalidArgument(
            f"copy: is_async=True needs one dtype, the pointers have {element.element}, the buffer {buffer.dtype}"
        )
    wanted = tuple(TLESemantic().validate_alloc_shape(shape))
    if not wanted == pointers.dims == tuple(buffer.shape):
        raise InvalidArgument(
            f"copy: is_async=True needs equal shapes, got shape {dims_text(wanted)}, pointers "
            f"{dims_text(pointers.dims)}, buffer {dims_text(buffer.shape)}"
        )


@builtin
def async_commit_group() -> None:
    """Closes the group of asynchronous copies issued since the last call.

    Asynchronous copies are complete when `copy` returns in this version, so nothing is left to do.

    Example:
        ``tle.gpu.async_commit_group()``
    """


@builtin
def async_wait_group(max_pending: Any = 0) -> None:
    """Waits until at most `max_pending` groups of asynchronous copies are incomplete.

    Asynchronous copies are complete when `copy` returns in this version, so nothing is left to wait for.

    Args:
        max_pending: 0 to 7 (constexpr).

    Raises:
        InvalidArgument: Outside that range.

    Example:
        ``tle.gpu.async_wait_group(1)``
    """
    value = static_int(max_pending, "async_wait_group: max_pending")
    if not 0 <= value <= _MAX_PENDING_GROUPS:
        raise InvalidArgument(f"async_wait_group: max_pending must be in [0, 7], got {value}")


def unsupported(name: str, instead: str) -> Any:
    """A language function that exists in Triton or TLE and is refused with a clear error when called.

    Args:
        name: Its full name.
        instead: What to write with this version.
    """

    @builtin
    def function(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(f"{name} is not supported by this version of tle2cuda", help=instead)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"``{name}`` is part of the language but not supported yet; calling it raises `NotSupported`."
    return function
