"""Buffers of shared memory as kernel values: their views, and pointers into them."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import CLUSTER, I32, SHARED, BufferType, DType, PointerType, with_shape
from tle2cuda.ops import core, memory
from tle2cuda.ops.core import (
    builtin,
    constant,
    dims_text,
    fact,
    static_bool,
    static_int,
    tensor,
    unwrap,
)
from tle2cuda.ops.semantic import TLESemantic
from tle2cuda.ops.shared_layouts import (
    nv_mma_shared_layout,
    scope,
    shared_layout,
    smem,
    swizzled_shared_layout,
)


class buffered_tensor_type:
    """Type of a buffer, as ``buffer.type``.

    Args:
        ir_type: The same type in the IR.

    Attributes:
        element_ty: Element dtype.
        shape: Extents.
        alloc_shape: Extents as stored; equals `shape`.
        storage: `tle.gpu.smem`.
        layout: A layout object that stands for the arrangement.
    """

    __slots__ = ("ir",)

    def __init__(self, ir_type: BufferType) -> None:
        self.ir = ir_type

    @property
    def element_ty(self) -> DType:
        """Element dtype."""
        return self.ir.element

    @property
    def scalar(self) -> DType:
        """Element dtype."""
        return self.ir.element

    @property
    def shape(self) -> list[int]:
        """Extents."""
        return list(self.ir.shape)

    @property
    def alloc_shape(self) -> list[int]:
        """Extents as stored."""
        return list(self.ir.shape)

    @property
    def storage(self) -> scope:
        """Where it lives."""
        return smem

    @property
    def layout(self) -> shared_layout:
        """The arrangement: for MMA, or plain row-major."""
        if self.ir.storage == "mma":
            return nv_mma_shared_layout.make_default(self.shape, self.element_ty)
        return swizzled_shared_layout.make_default(len(self.ir.shape))

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.ir.size_bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, buffered_tensor_type) and self.ir == other.ir

    def __hash__(self) -> int:
        return hash(self.ir)

    def __repr__(self) -> str:
        return str(self.ir)


class buffered_tensor:
    """A handle to named shared memory, made by `alloc`; it can be passed, returned, swapped, carried.

    Args:
        value: The IR value, of buffer type.

    Attributes:
        value: The IR value.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        if not isinstance(value.type, BufferType):
            raise TypeError(f"{value.type} is no buffer type")
        self.value = value

    @property
    def ir_type(self) -> BufferType:
        """Type in the IR."""
        type_ = self.value.type
        assert isinstance(type_, BufferType)
        return type_

    @property
    def type(self) -> buffered_tensor_type:
        """Type with element type, extents, storage and layout."""
        return buffered_tensor_type(self.ir_type)

    @property
    def dtype(self) -> DType:
        """Element dtype."""
        return self.ir_type.element

    @property
    def shape(self) -> list[int]:
        """Extents."""
        return list(self.ir_type.shape)

    @property
    def layout(self) -> shared_layout:
        """The arrangement: for MMA, or plain row-major."""
        return self.type.layout

    def __repr__(self) -> str:
        name = f"{self.value.name}: " if self.value.name else ""
        return f"<{name}{self.ir_type}>"

    def __getitem__(self, key: Any) -> Any:
        raise InvalidType(
            "a buffer cannot be indexed with []",
            facts=(buffer_fact(self),),
            help="use tle.gpu.local_ptr(buffer, (i,)) with tl.load and tl.store, or buffer.slot(i)",
        )

    @builtin
    def slot(self, stage: Any) -> buffered_tensor:
        """The sub-buffer ``buffer[stage]`` without the leading axis; the same bytes.

        Args:
            stage: int or int32 scalar; not checked at run time.

        Raises:
            InvalidArgument: Rank below 2, a stage that is no int32 scalar, or out of range at compile time.

        Example:
            ``current = ring.slot(k % STAGES)``
        """
        type_ = self.ir_type
        if len(type_.shape) < 2:
            raise InvalidArgument(
                f"slot needs a buffer of rank >= 2, got {dims_text(type_.shape)}",
                facts=(buffer_fact(self),),
                help="allocate it with a leading axis that counts the stages, tle.gpu.alloc([STAGES, N], ...)",
            )
        view = BufferType(type_.shape[1:], type_.element, type_.storage, type_.remote, _tail(type_.logical_shape))
        return view_of(self, view, {"kind": "slot"}, (_stage_operand(stage, self),))

    @builtin
    def subslice(self, start: Any, length: Any, dim: Any = -1) -> buffered_tensor:
        """A contiguous window along an axis; rank kept, the same bytes.

        Args:
            start: First element (constexpr).
            length: Elements (constexpr).
            dim: Axis, the last by default (constexpr).

        Raises:
            InvalidArgument: No such axis, or a window outside it.

        Example:
            ``left = tile.subslice(0, 16, dim=1)``
        """
        type_ = self.ir_type
        axis = static_int(dim, "subslice: dim")
        rank = len(type_.shape)
        if not -rank <= axis < rank:
            raise InvalidArgument(
                f"subslice: dim {axis} does not exist, the buffer has rank {rank}",
                facts=(buffer_fact(self),),
                help=core.axes_text(rank),
            )
        axis %= rank
        first, count = static_int(start, "subslice: start"), static_int(length, "subslice: length")
        if first < 0 or count < 1 or first + count > type_.shape[axis]:
            raise InvalidArgument(
                f"subslice: [{first}, {first + count}) is outside axis {axis} of extent {type_.shape[axis]}",
                facts=(buffer_fact(self),),
                help="give the first element and the number of elements, subslice(start, length, dim)",
            )
        shape = (*type_.shape[:axis], count, *type_.shape[axis + 1 :])
        view = BufferType(shape, type_.element, type_.storage, type_.remote)
        return view_of(self, view, {"kind": "subslice", "start": first, "dim": axis})

    @builtin
    def reshape(self, *shape: Any) -> buffered_tensor:
        """The same elements, row-major, in another shape; the same bytes.

        Args:
            *shape: Extents (constexpr), as one tuple or as separate arguments.

        Raises:
            InvalidArgument: Another number of elements.

        Example:
            ``flat = tile.reshape([M * N])``
        """
        given = unwrap(shape[0]) if len(shape) == 1 else shape
        extents = tuple(TLESemantic().validate_alloc_shape(given if isinstance(given, (tuple, list)) else (given,)))
        type_ = self.ir_type
        if core.num_elements(extents) != type_.num_elements:
            raise InvalidArgument(
                f"reshape: {dims_text(type_.shape)} has {type_.num_elements} elements, {dims_text(extents)} "
                f"has {core.num_elements(extents)}",
                facts=(buffer_fact(self),),
                help="a reshape keeps every element; subslice takes some of them",
            )
        if extents == type_.shape:
            return self
        view = BufferType(extents, type_.element, type_.storage, type_.remote)
        return view_of(self, view, {"kind": "reshape"})

    @builtin
    def load(self, writable: Any = True, target_shape: Any = None) -> tensor:
        """The whole buffer as a tile, as ``tl.load(tle.gpu.local_ptr(buffer))``.

        Args:
            writable: Accepted, no effect.
            target_shape: Leading box to read instead, such as the logical extents of a padded buffer.

        Raises:
            InvalidArgument: A shape beyond the buffer, or an extent that is no power of two.

        Example:
            ``a = a_buffer.load()``
        """
        static_bool(writable, "load: writable")
        source = self
        if unwrap(target_shape) is not None:
            wanted = TLESemantic().validate_copy_shape(target_shape, self.shape)
            for axis, extent in enumerate(wanted):
                if extent != source.shape[axis]:
                    source = source.subslice(0, extent, axis)
        return memory.load(local_ptr(source))

    @builtin
    def store(self, value: Any) -> None:
        """Stores a tile to the whole buffer, as ``tl.store(tle.gpu.local_ptr(buffer), value)``.

        Args:
            value: Tile of the buffer's shape, or what broadcasts to it; converted to its dtype.

        Raises:
            ShapeMismatch: It does not fit.

        Example:
            ``c_buffer.store(acc)``
        """
        memory.store(local_ptr(self), value)

    def make_permute(self, handle: Any, dims: Any) -> Any:
        """Exists for compatibility; returns `handle`."""
        return handle


def _tail(shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if shape is None else shape[1:]


def buffer_fact(buffer: buffered_tensor, label: str = "buffer") -> str:
    """Line of an error's facts for a buffer."""
    name = f"`{buffer.value.name}`" if buffer.value.name else label
    return f"{name}: {buffer.ir_type}"


def view_of(
    buffer: buffered_tensor, type_: BufferType, attrs: dict[str, Any], operands: tuple[tensor, ...] = ()
) -> buffered_tensor:
    """A view of `buffer` with another type; `attrs` says which kind."""
    values = (buffer.value, *(operand.value for operand in operands))
    return buffered_tensor(builder.current().emit_one("buffer_view", values, type_, attrs))


def _stage_operand(stage: Any, buffer: buffered_tensor) -> tensor:
    extent = buffer.shape[0]
    value = unwrap(stage)
    if isinstance(value, tensor):
        if value.dims:
            raise InvalidArgument(
                f"slot: the stage must be a scalar int32, got {core.describe_type(value)}",
                facts=(fact("stage", value),),
                help="reduce it to a scalar first, such as tl.max(stage, axis=0)",
            )
        if value.element is not I32:
            raise InvalidArgument(
                f"slot: the stage must be int32, got {core.describe_type(value)}",
                facts=(fact("stage", value),),
                help="convert it, stage.to(tl.int32)",
            )
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(
            f"slot: the stage must be an int or a scalar int32, got {core.describe(stage)}",
            facts=(buffer_fact(buffer),),
            help="count the stages from 0",
        )
    if not 0 <= value < extent:
        raise InvalidArgument(
            f"slot: stage {value} is out of range, the buffer has {extent}",
            facts=(buffer_fact(buffer),),
            help="count the stages from 0, such as k % STAGES",
        )
    return constant(value, I32)


def remote_buffer(buffer: buffered_tensor, rank: tensor) -> buffered_tensor:
    """The buffer of a peer CTA; see `tle2cuda.ops.distributed.remote`.

    Raises:
        InvalidArgument: It is remote already.
    """
    type_ = buffer.ir_type
    if type_.remote:
        raise InvalidArgument("remote cannot be applied twice to a buffer", facts=(buffer_fact(buffer),))
    peer = BufferType(type_.shape, type_.element, type_.storage, True, type_.logical_shape)
    return buffered_tensor(builder.current().emit_one("remote", (buffer.value, rank.value), peer))


# -- pointers ---------------------------------------------------------------------------------------


@builtin
def local_ptr(buffer: Any, indices: Any = None, shape: Any = None) -> tensor:
    """Pointers to elements of a buffer, for `tl.load`, `tl.store` and the atomics.

    Args:
        buffer: A buffer, local or remote.
        indices: None for a pointer to every element in the buffer's shape; or one integer per axis, all
            scalars or all tiles of one shape, for pointers of that shape; or a single integer tile or
            scalar of row-major element numbers.
        shape: Shape the index tiles are broadcast to first.

    Returns:
        Pointers in address space 3, in 7 for a remote buffer.

    Raises:
        InvalidArgument: No buffer, no tuple, another number of indices, other dtypes, shapes that differ.

    Example:
        ``tl.atomic_add(tle.gpu.local_ptr(counts, (expert,)), 1, mask=ok, sem="relaxed", scope="cta")``
    """
    handle = unwrap(buffer)
    if not isinstance(handle, buffered_tensor):
        raise InvalidArgument(
            f"local_ptr takes a buffer made by tle.gpu.alloc, got {core.describe(buffer)}",
            help="add to pointers of global memory directly, pointer + index",
        )
    given = unwrap(indices) if isinstance(indices, core.constexpr) else indices
    if given is None:
        core.check_tile_shape(handle.shape, "local_ptr: the full view")
        return _pointers(handle, (), tuple(handle.shape))
    if isinstance(given, tensor):
        if len(handle.shape) > 1:
            handle = handle.reshape((handle.ir_type.num_elements,))
        given = (given,)
    try:
        entries = TLESemantic().validate_local_ptr_indices(given, len(handle.shape))
    except InvalidArgument as error:
        error.facts, error.help = (buffer_fact(handle),), _indices_help(len(handle.shape))
        raise
    operands = tuple(_index_operand(entry, position) for position, entry in enumerate(entries))
    if unwrap(shape) is not None:
        dims = core.static_shape(shape, "local_ptr: shape")
        for position, operand in enumerate(operands):
            if core.broadcast_shape(operand.dims, dims) != dims:
                raise InvalidArgument(
                    f"local_ptr: index {position} of shape {dims_text(operand.dims)} does not broadcast to "
                    f"{dims_text(dims)}",
                    facts=(fact(f"index {position}", operand),),
                    help="add axes first, index[:, None]",
                )
        operands = tuple(core.stretch(operand, dims) if dims else operand for operand in operands)
    _check_index_shapes(operands)
    return _pointers(handle, operands, operands[0].dims)


def _indices_help(rank: int) -> str:
    """How to index a buffer of a rank."""
    names = "i, j, k, l, m, n".split(", ")[:rank] if rank <= 6 else [f"i{axis}" for axis in range(rank)]
    one = f"({', '.join(names)}{',' if rank == 1 else ''})"
    return f"give one index for each axis, {one}, or none for the whole buffer"


def _index_operand(entry: Any, position: int) -> tensor:
    value = unwrap(entry)
    if isinstance(value, tensor):
        is_integer = not value.is_pointer and core.dtype_of(value).is_int()
    else:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer:
        raise InvalidArgument(
            f"local_ptr: index {position} must be an integer tile or scalar, got {core.describe(entry)}",
            help="convert it, index.to(tl.int32)" if isinstance(value, tensor) else "give tiles, scalars or numbers",
        )
    return core.cast(core.to_tensor(value), I32)


def _check_index_shapes(operands: tuple[tensor, ...]) -> None:
    facts = tuple(fact(f"index {i}", operand) for i, operand in enumerate(operands))
    if len({bool(operand.dims) for operand in operands}) > 1:
        raise InvalidArgument(
            "local_ptr indices must be either all scalar or all tensors with identical shapes",
            facts=facts,
            help="make tiles of the scalars, tl.full(shape, value, tl.int32), or give shape=",
        )
    if len({operand.dims for operand in operands}) > 1:
        shapes = " and ".join(dims_text(operand.dims) for operand in operands)
        raise InvalidArgument(
            f"local_ptr indices must have identical shapes, got {shapes}",
            facts=facts,
            help="broadcast them, or give shape=",
        )


def _pointers(buffer: buffered_tensor, indices: tuple[tensor, ...], dims: tuple[int, ...]) -> tensor:
    type_ = buffer.ir_type
    element = PointerType(type_.element, CLUSTER if type_.remote else SHARED)
    values = (buffer.value, *(index.value for index in indices))
    return tensor(builder.current().emit_one("local_ptr", values, with_shape(element, dims)))
