"""Allocating named shared memory: `tle.gpu.alloc`."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, MemoryOperationFailed
from tle2cuda.ir import builder
from tle2cuda.ir.types import BF16, F8E4NV, F8E5, F16, F32, I8, BufferType, DType
from tle2cuda.ops import core
from tle2cuda.ops.buffers import buffer_fact, buffered_tensor, view_of
from tle2cuda.ops.core import builtin, dims_text, fact, static_bool, static_int, unwrap
from tle2cuda.ops.semantic import TLESemantic
from tle2cuda.ops.shared_layouts import layout as layout_base
from tle2cuda.ops.shared_layouts import scope, shared_layout, smem

_PADDED_DTYPES = (F16, BF16, F32, F8E4NV, F8E5, I8)
_MAX_ALIGNMENT_BYTES = 1 << 30


@builtin
def alloc(
    shape: Any,
    dtype: Any,
    layout: Any = None,
    scope: Any = smem,
    init_value: Any = None,
    alias: Any = None,
    alias_offset_bytes: Any = 0,
    nv_mma_shared_layout: Any = True,
    alignment_bytes: Any = None,
    capacity: Any = None,
) -> buffered_tensor:
    """Allocates named shared memory of the CTA for the whole kernel.

    The content is undefined without `init_value`, also at every further execution of one call in a loop.

    Args:
        shape: Extents, at least one. Powers of two, except a leading extent of a rank 2 or 3 buffer
            that counts stages, and one extent of a matrix for MMA, which is padded to a power of two.
        dtype: Element dtype.
        layout: None or a shared layout; wins over `nv_mma_shared_layout`.
        scope: `tle.gpu.smem`.
        init_value: Tile stored before the first use; a matrix fills every stage of a rank-3 buffer.
        alias: Another buffer, whose bytes the new one views instead of having its own.
        alias_offset_bytes: Where in `alias` it starts.
        nv_mma_shared_layout: True asks for the swizzled arrangement MMA instructions want, False for plain
            row-major. As fifth or sixth positional argument a bool means this.
        alignment_bytes: Least alignment, a power of two.
        capacity: Number of stages: adds a leading extent, as if it stood in `shape`.

    Raises:
        InvalidArgument: `shape`, `dtype`, `scope` or `layout` of a wrong kind, or `alias` misused.
        MemoryOperationFailed: What no buffer can have, such as tensor memory or an extent that fits no rule.

    Example:
        ``counts = tle.gpu.alloc([BINS], tl.int32, scope=tle.gpu.smem, nv_mma_shared_layout=False)``
    """
    if isinstance(unwrap(init_value), bool):  # older signatures had the flag in this place
        init_value, nv_mma_shared_layout = None, init_value
    if isinstance(unwrap(alias), bool):
        alias, nv_mma_shared_layout = None, alias
    rules = TLESemantic()
    extents = tuple(rules.validate_alloc_shape(shape))
    if unwrap(capacity) is not None:
        extents = (*rules.validate_alloc_shape((static_int(capacity, "alloc: capacity"),)), *extents)
    element = rules.validate_alloc_dtype(dtype)
    storage = _checked_scope(scope)
    arrangement = _checked_layout(layout)
    flag = static_bool(nv_mma_shared_layout, "alloc: nv_mma_shared_layout")
    if unwrap(alias) is not None:
        return _alias(extents, element, unwrap(alias), alias_offset_bytes, init_value, flag)
    if static_int(alias_offset_bytes, "alloc: alias_offset_bytes") != 0:
        raise InvalidArgument("alloc: alias_offset_bytes needs alias")
    if storage != smem:
        raise MemoryOperationFailed(
            f"Memory allocation failed: storage {storage} is not yet supported", help="use scope=tle.gpu.smem"
        )
    is_mma = arrangement.is_mma if arrangement is not None else flag
    padded = _padded_extents(extents, element, is_mma and arrangement is None)
    type_ = BufferType(
        padded,
        element,
        "mma" if is_mma and len(padded) > 1 else "row_major",
        logical_shape=extents if padded != extents else None,
    )
    attrs = {"name": "", "alignment_bytes": _alignment(alignment_bytes), "zero": False}
    context = builder.current()
    if context.partition is not None:  # its result may outlive the partition
        buffer = buffered_tensor(context.emit_first("alloc", (), type_, attrs))
    else:
        buffer = buffered_tensor(context.emit_one("alloc", (), type_, attrs))
    if unwrap(init_value) is not None:
        _initialise(buffer, init_value)
    return buffer


def _checked_scope(given: Any) -> scope:
    value = unwrap(given)
    if not isinstance(value, scope):
        raise InvalidArgument(f"Storage type must be tle.scope, got {value!r}", help="use tle.gpu.smem")
    return value


def _checked_layout(given: Any) -> shared_layout | None:
    value = unwrap(given)
    if value is None or isinstance(value, shared_layout):
        return value
    kind = "a tensor memory layout" if isinstance(value, layout_base) else repr(value)
    raise InvalidArgument(f"Layout must be tle.shared_layout or None, got {kind}")


def _alignment(alignment_bytes: Any) -> int:
    if unwrap(alignment_bytes) is None:
        return 16
    value = static_int(alignment_bytes, "alloc: alignment_bytes")
    if not 1 <= value <= _MAX_ALIGNMENT_BYTES or value & (value - 1):
        raise MemoryOperationFailed(
            f"Memory allocation failed: alignment_bytes must be a power of two up to {_MAX_ALIGNMENT_BYTES}, got {value}"
        )
    return max(16, value)


def _padded_extents(extents: tuple[int, ...], element: DType, may_pad: bool) -> tuple[int, ...]:
    """Extents with the one that is no power of two padded, where that is allowed."""
    odd = [axis for axis, extent in enumerate(extents) if extent & (extent - 1)]
    if not odd:
        return extents
    payload_start = len(extents) - 2
    candidates = [axis for axis in odd if axis >= payload_start]
    can_pad = (
        may_pad
        and len(extents) in (2, 3)
        and len(candidates) == 1
        and extents[candidates[0]] % 16 == 0
        and element in _PADDED_DTYPES
    )
    stages = {0} if len(extents) > 1 else set()
    if can_pad and set(odd) - set(candidates) <= stages:
        axis = candidates[0]
        return (*extents[:axis], 1 << extents[axis].bit_length(), *extents[axis + 1 :])
    if set(odd) <= stages:
        return extents
    axis = next(axis for axis in odd if axis not in stages)
    raise MemoryOperationFailed(
        f"Memory allocation failed: extent {axis} of {dims_text(extents)} is {extents[axis]}, not a power of two",
        help=f"use {1 << extents[axis].bit_length()}",
    )


def _alias(
    extents: tuple[int, ...], element: DType, target: Any, offset: Any, init_value: Any, is_mma: bool
) -> buffered_tensor:
    if not isinstance(target, buffered_tensor):
        raise InvalidArgument(f"alloc: alias must be a buffer, got {core.describe(target)}")
    if unwrap(init_value) is not None:
        raise InvalidArgument("alloc: alias cannot be combined with init_value")
    start = static_int(offset, "alloc: alias_offset_bytes")
    source = target.ir_type
    type_ = BufferType(extents, element, source.storage if is_mma else "row_major", source.remote)
    if start < 0 or start + type_.size_bytes > source.size_bytes:
        raise InvalidArgument(
            f"alloc: alias needs bytes [{start}, {start + type_.size_bytes}), the buffer has {source.size_bytes}",
            facts=(buffer_fact(target, "alias"),),
        )
    if start % element.bytes:
        raise InvalidArgument(f"alloc: alias_offset_bytes {start} is not aligned to {element.bytes} bytes")
    return view_of(target, type_, {"kind": "alias", "offset_bytes": start})


def _initialise(buffer: buffered_tensor, init_value: Any) -> None:
    value = core.to_tensor(init_value)
    dims = tuple(buffer.shape)
    logical = buffer.ir_type.logical_shape or dims
    fits = core.broadcast_shape(value.dims, dims) == dims
    if not fits:
        raise MemoryOperationFailed(
            f"Memory allocation failed: init_value of shape {dims_text(value.dims)} does not fit {dims_text(logical)}",
            facts=(fact("init_value", value),),
        )
    buffer.store(value)


@builtin
def memory_space(input: Any, space: Any) -> Any:
    """Asks for a tile to be staged in a memory space; the value is unchanged and the wish may be ignored.

    Args:
        input: Tile.
        space: ``"shared_memory"``, ``"tensor_memory"``, ``"register"`` or another name.

    Returns:
        `input`.

    Raises:
        InvalidType: `space` is no string.

    Example:
        ``v = tle.gpu.memory_space(v, "shared_memory")``
    """
    name = core.static_value(space, "memory_space: space")
    if not isinstance(name, str):
        raise InvalidType(f"memory_space: space must be a string, got {name!r}")
    return input
