"""`tle.gpu.copy`: between tiles of pointers, tensors and buffers, and the groups of asynchronous copies."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, MemoryOperationFailed, NotSupported
from tle2cuda.ir import builder
from tle2cuda.ir.multicast import Sharing
from tle2cuda.ir.types import BOOL, F8E4B15, GLOBAL, I32, PointerType
from tle2cuda.ops import core, memory
from tle2cuda.ops.affine_tiles import integers, pointee
from tle2cuda.ops.barriers import barrier as barrier_value
from tle2cuda.ops.barriers import mbarrier_operand
from tle2cuda.ops.buffers import buffer_fact, buffered_tensor, local_ptr
from tle2cuda.ops.core import builtin, dims_text, fact, static_bool, static_int, static_value, tensor, unwrap
from tle2cuda.ops.descriptors import tensor_descriptor
from tle2cuda.ops.distributed import request_cluster
from tle2cuda.ops.mesh import _resolve_launch_axis, check_mesh, cluster_axes, device_mesh
from tle2cuda.ops.semantic import TLESemantic, TLESemanticError

_FAILED = "copy operation failed: "
_MAX_PENDING_GROUPS = 7


def _is_pointer_tile(value: Any) -> bool:
    return isinstance(value, tensor) and value.is_pointer


def _kind(value: Any) -> str:
    """What an operand of a copy is, in the plural; empty when it is none."""
    if isinstance(value, buffered_tensor):
        return "buffers"
    if isinstance(value, tensor_descriptor):
        return "tensor descriptors"
    return "tiles of pointers" if _is_pointer_tile(value) else ""


def _check_combination(src: Any, dst: Any) -> None:
    """One side a buffer, the other a tile of pointers or a tensor descriptor."""
    for name, value in (("Source", src), ("Destination", dst)):
        if not _kind(value):
            raise InvalidArgument(
                f"{name} parameter must be a tile of pointers, a tensor descriptor or a buffer, got {core.describe(value)}",
                help="allocate a buffer with tle.gpu.alloc, describe a tensor with tl.make_tensor_descriptor",
            )
    if isinstance(src, buffered_tensor) == isinstance(dst, buffered_tensor):
        kinds = f"both operands are {_kind(src)}"
        if _kind(src) != _kind(dst):
            kinds = "neither operand is a buffer"
        raise InvalidArgument(
            f"Invalid copy combination: {kinds}",
            help="copy from a tile of pointers or a tensor descriptor to a buffer, or back",
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
    multicast: Any = None,
) -> None:
    """Copies a whole buffer from or to global memory.

    Pointers to buffer: ``tl.store(local_ptr(dst), tl.load(src))``, masked-off elements become zero. Buffer to
    pointers: ``tl.store(dst, tl.load(local_ptr(src)))``, masked-off elements are not stored. Descriptor to buffer and back:
    the box of the tensor that begins at `offsets`; what lies outside of the tensor reads as its padding and is not stored.

    The copy is complete when the call returns, with two exceptions. With `is_async` it is complete behind
    `async_wait_group`. With `barrier` it is complete when that barrier's phase is. Until then the buffer is undefined.

    Args:
        src: Tile of pointers that broadcasts to the buffer's shape, a tensor descriptor, or a buffer.
        dst: A buffer, or such a tile of pointers or descriptor.
        shape: Tuple of extents, none beyond the buffer's. The whole buffer is copied all the same.
        offsets: Of a descriptor: where the box begins, one int32 per dimension.
        barrier: Of a descriptor copied to a buffer: an mbarrier with `expect_bytes`, on which the copy arrives once and
            completes its bytes.
        mask: Of pointers: bool, broadcast to the buffer's shape.
        is_async: Copies from pointers by cp.async. The shapes of pointers, buffer and `shape` must be equal, and the
            dtypes too.
        eviction_policy: ``""``, ``"evict_first"`` or ``"evict_last"``.
        multicast: Of a descriptor copied to a stage of a pipe: a mesh, or a mesh and one or several of its cluster axes.
            All CTAs of the cluster, or those that differ along these axes only, make the same copy at the same turn of
            the pipe; each brings a part of the box, which the copy engine writes to all of them.

    Raises:
        InvalidArgument: Other operands, `shape` that is no tuple, or a rule of `offsets`, `barrier`, `is_async` or
            `multicast` broken.
        MemoryOperationFailed: Shapes or dtypes that do not fit, or a remote buffer.

    Example:
        ``tle.gpu.copy(x_ptr + rows[:, None] * stride + cols[None, :], tile, [M, N])``
    """
    source, target = unwrap(src), unwrap(dst)
    _check_combination(source, target)
    if not isinstance(unwrap(shape), (tuple, list)):
        raise InvalidArgument(f"copy: shape must be a tuple or list, got {core.describe(shape)}")
    loads = isinstance(target, buffered_tensor)
    buffer, other = (target, source) if loads else (source, target)
    policy = static_value(eviction_policy, "copy: eviction_policy")
    if policy not in memory.EVICTION_POLICIES:
        known = ", ".join(repr(choice) for choice in memory.EVICTION_POLICIES)
        raise InvalidArgument(f"copy: eviction_policy must be one of {known}, got {policy!r}")
    asynchronous = static_bool(is_async, "copy: is_async")
    if isinstance(other, tensor_descriptor):
        _check_tensor_options(mask, asynchronous, policy, loads)
        _copy_tensor(other, buffer, offsets, barrier, policy, loads, multicast)
        return
    if unwrap(multicast) is not None:
        raise InvalidArgument("copy: multicast is only supported for copies from a tensor descriptor to a buffer")
    if unwrap(barrier) is not None:
        raise InvalidArgument("copy: barrier is only supported for TMA global-to-shared copy")
    if unwrap(offsets) is not None:
        raise InvalidArgument("copy: offsets are only supported for tensor descriptors")
    if asynchronous:
        _check_async(other, buffer, shape, loads)
    _check_shapes(other, buffer, shape)
    _copy_pointers(other, buffer, _mask(mask, buffer), policy, loads, asynchronous)


def _copy_pointers(
    pointers: tensor, buffer: buffered_tensor, mask: tensor | None, policy: str, loads: bool, asynchronous: bool
) -> None:
    extents = tuple(buffer.shape)
    spread = core.stretch(pointers, extents)
    if asynchronous:
        operands = [spread.value, buffer.value]
        if mask is not None:
            operands.append(core.stretch(mask, extents).value)
        attrs = {"has_mask": mask is not None, "eviction": policy}
        builder.current().emit("cp_async", tuple(operands), (), attrs)
    elif loads:
        other = 0 if mask is not None else None
        memory.store(local_ptr(buffer), memory.load(spread, mask, other, eviction_policy=policy))
    else:
        value = memory.load(local_ptr(buffer))
        if mask is None and not policy and pointee(spread) is value.element and value.element is not F8E4B15:
            attrs = {"cache": "", "eviction": "", "has_mask": False, "is_copy": True}
            builder.current().emit("store", (spread.value, value.value), (), attrs)
        else:
            memory.store(spread, value, mask, eviction_policy=policy)


# -- tensors ---------------------------------------------------------------------------------------


def _check_tensor_options(mask: Any, asynchronous: bool, policy: str, loads: bool) -> None:
    if memory.optional_mask(mask) is not None:
        raise InvalidArgument(
            "copy: mask is only supported for tiles of pointers",
            help="elements outside of the tensor are left out by themselves; make the descriptor's shape smaller",
        )
    if asynchronous:
        raise InvalidArgument(
            "copy: is_async=True copies from global memory to a buffer only, through a tile of pointers",
            help="give barrier= for a tensor copy that does not wait",
        )
    if policy and not loads:
        raise InvalidArgument("copy: eviction_policy is only supported for copies to a buffer")


def _copy_tensor(
    desc: tensor_descriptor,
    buffer: buffered_tensor,
    offsets: Any,
    barrier: Any,
    policy: str,
    loads: bool,
    multicast: Any,
) -> None:
    starts = _offsets(desc, offsets)
    _check_box(desc, buffer)
    rank = len(desc.block_shape)
    place = (desc.base, *desc.extents, *desc.steps, *starts)
    attrs: dict[str, Any] = {"rank": rank, "block": desc.block_shape}
    completion = unwrap(barrier)
    shared = _sharing(multicast)
    if not loads:
        if completion is not None:
            raise InvalidArgument("copy: barrier is only supported for TMA global-to-shared copy")
        if unwrap(multicast) is not None:
            raise InvalidArgument("copy: multicast is only supported for copies from a tensor descriptor to a buffer")
        operands = (buffer.value, *(value.value for value in place))
        builder.current().emit("tma_store", operands, (), {**attrs, "kind": "store"})
        return
    operands = (*(value.value for value in place), buffer.value)
    attrs |= {"padding": desc.static.padding or "zero", "eviction": policy, "completion": "blocking"}
    if shared is not None:
        if completion is not None or policy:
            raise InvalidArgument(
                f"copy: multicast cannot be combined with {'barrier' if completion is not None else 'eviction_policy'}",
                help="copy into a stage of a pipe, whose readers wait for it",
            )
        attrs |= {"multicast": shared.shape, "along": shared.along}
    if completion is not None:
        array, index = mbarrier_operand(_completion(completion))
        operands = (*operands, array.value, index.value)
        attrs["completion"] = "barrier"
    builder.current().emit("tma_load", operands, (), attrs)


def _sharing(given: Any) -> Sharing | None:
    """The CTAs that share a copy; None for a copy of one CTA alone. The launch gets the mesh's cluster."""
    value = unwrap(given)
    if value is None:
        return None
    parts = tuple(map(unwrap, value)) if isinstance(value, (tuple, list)) else (value, None)
    if len(parts) != 2:
        raise InvalidArgument(f"copy: multicast takes a mesh, or a mesh and axes of it, got {len(parts)} values")
    mesh = check_mesh(parts[0], "copy: multicast")
    axes = cluster_axes(mesh)
    if not axes:
        raise InvalidArgument(
            "copy: multicast needs a mesh with cluster axes",
            facts=(f"axes: {', '.join(mesh.launch_dim_names)}",),
            help='name them so, tle.device_mesh({"block_cluster": [("cluster_x", 2)]})',
        )
    request_cluster(mesh, "copy")
    chosen = _chosen_axes(mesh, parts[1], axes)
    shape = tuple(mesh.launch_shape[axis] for axis in axes)
    along = tuple(sorted(axes.index(axis) for axis in chosen if mesh.launch_shape[axis] > 1))
    return Sharing(shape, along) if along else None


def _chosen_axes(mesh: device_mesh, names: Any, axes: tuple[int, ...]) -> tuple[int, ...]:
    if names is None:
        return axes
    listed = names if isinstance(names, (tuple, list)) else (names,)
    chosen = tuple(_resolve_launch_axis(mesh, name) for name in listed)
    for axis in chosen:
        if axis not in axes:
            raise InvalidArgument(f"copy: multicast goes along cluster axes, {mesh.launch_dim_names[axis]!r} is none")
    if len(set(chosen)) < len(chosen):
        raise InvalidArgument("copy: multicast names an axis twice")
    return chosen


def _offsets(desc: tensor_descriptor, offsets: Any) -> tuple[tensor, ...]:
    rank = len(desc.block_shape)
    given = unwrap(offsets)
    if not isinstance(given, (tuple, list)):
        problem = f"offsets must be a tuple or list, got {core.describe(offsets)}"
        raise InvalidArgument(
            "copy: a tensor descriptor needs offsets" if given is None else f"copy: {problem}",
            facts=(f"descriptor: {desc.described}",),
            help="say where the box begins, tle.gpu.copy(desc, buffer, shape, [row, col])",
        )
    if len(given) != rank:
        raise InvalidArgument(f"copy: expected {rank} offsets, got {len(given)}", facts=(f"descriptor: {desc.described}",))
    return integers(given, I32, "offsets", "copy")


def _check_box(desc: tensor_descriptor, buffer: buffered_tensor) -> None:
    type_ = buffer.ir_type
    facts = (f"descriptor: {desc.described}", buffer_fact(buffer))
    if type_.remote:
        raise MemoryOperationFailed(
            f"{_FAILED}a remote buffer cannot be copied",
            facts=facts,
            help="copy to a buffer of this CTA",
        )
    if desc.dtype is not type_.element:
        raise MemoryOperationFailed(
            f"{_FAILED}the tensor has elements of {desc.dtype.label}, the buffer of {type_.element.label}",
            facts=facts,
            help="a tensor copy converts nothing: allocate the buffer with the tensor's dtype",
        )
    shapes = (type_.shape, type_.logical_shape or type_.shape)
    if _long(desc.block_shape) not in map(_long, shapes):
        raise MemoryOperationFailed(
            f"{_FAILED}the block {dims_text(desc.block_shape)} of the descriptor does not fit the buffer "
            f"{dims_text(shapes[1])}",
            facts=facts,
            help="they must be equal, but for extents of 1",
        )


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent > 1)


def _completion(given: Any) -> barrier_value:
    """The barrier that a tensor copy completes on."""
    if not isinstance(given, barrier_value):
        raise InvalidArgument(
            f"copy expects tle.gpu barrier, got {core.describe(given)}", help="allocate it with tle.gpu.alloc_barriers"
        )
    array = given.array
    if array.expect_bytes is None:
        raise InvalidArgument(
            f"copy needs a barrier with expect_bytes, {array.name} has none",
            facts=(array.fact(),),
            help="allocate it with expect_bytes= the bytes of one tile",
        )
    if not given.is_slot and array.count > 1:
        raise InvalidArgument(
            f"barrier arrays must be indexed in copy, {array.name} has {array.count}",
            facts=(array.fact(),),
            help="write barrier=full[k % STAGES]",
        )
    return given


# -- pointers --------------------------------------------------------------------------------------


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
            "copy: is_async=True needs one dtype, "
            f"the pointers have {element.element.label}, the buffer {buffer.dtype.label}"
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

    Example:
        ``tle.gpu.async_commit_group()``
    """
    builder.current().emit("cp_async_commit")


@builtin
def async_wait_group(max_pending: Any = 0) -> None:
    """Waits until at most `max_pending` groups of the partition's asynchronous copies are incomplete.

    What the complete ones have copied is then visible to all threads of the partition.

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
    builder.current().emit("cp_async_wait", (), (), {"pending": value})


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
