"""TLE: shared buffers, copies, tiles of tiles, and programs that work together."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tle2cuda.eager import rules
from tle2cuda.eager.asked import asked
from tle2cuda.eager.memory import Region, load, store
from tle2cuda.eager.numbers import Array
from tle2cuda.eager.operators import floor_divide, remainder, to_dtype
from tle2cuda.eager.partitions import complete_copy
from tle2cuda.eager.program import Program, current
from tle2cuda.eager.values import (
    Tile,
    as_dtype,
    describe,
    method,
    number_as,
    static_int,
    static_shape,
    to_tile,
    watched,
    without_width,
)
from tle2cuda.errors import (
    InvalidArgument,
    InvalidType,
    MemoryOperationFailed,
    MeshError,
    NotSupported,
    ShapeMismatch,
    TileOutOfRange,
)
from tle2cuda.ir.types import I32, DType
from tle2cuda.ops import mesh as meshes
from tle2cuda.ops.semantic import TLESemanticError
from tle2cuda.ops.shared_layouts import smem
from tle2cuda.ops.tiles import NUMBER_HELP, number_problem
from tle2cuda.ops.values import pointer_type

_SHARED, _CLUSTER = 3, 7


class Buffer:
    """A handle to shared memory; views share the bytes.

    Args:
        region: The bytes.
        dtype: Element dtype.
        offsets: Byte offset of each element; the shape of the buffer.
        owner: Rank of the CTA it belongs to when it is another one's.
    """

    __slots__ = ("dtype", "offsets", "owner", "region")

    def __init__(self, region: Region, dtype: DType, offsets: Array, owner: int | None = None) -> None:
        self.region, self.dtype, self.offsets, self.owner = region, dtype, offsets, owner

    @property
    def shape(self) -> list[int]:
        """Extents."""
        return list(self.offsets.shape)

    def __repr__(self) -> str:
        return f"buffer {self.region.name} {self.dtype.short}{self.shape}"

    def __getitem__(self, key: Any) -> Any:
        raise InvalidType(
            "a buffer cannot be indexed with []", help="use tle.gpu.local_ptr(buffer, (i,)), or buffer.slot(i)"
        )

    def _view(self, offsets: Array) -> Buffer:
        return Buffer(self.region, self.dtype, offsets, self.owner)

    def slot(self, stage: Any) -> Buffer:
        """The sub-buffer ``buffer[stage]``."""
        rules.stage(stage, "slot")
        number = int(stage)
        if self.offsets.ndim < 2:
            raise InvalidArgument(f"slot needs a buffer of rank >= 2, got {self}")
        if not 0 <= number < self.offsets.shape[0]:
            raise InvalidArgument(f"slot: stage {number} is out of range, the buffer has {self.offsets.shape[0]}")
        return self._view(self.offsets[number])

    def subslice(self, start: Any, length: Any, dim: Any = -1) -> Buffer:
        """A contiguous window along an axis."""
        first, count = static_int(start, "subslice: start"), static_int(length, "subslice: length")
        given, rank = static_int(dim, "subslice: dim"), self.offsets.ndim
        if not -rank <= given < rank:
            raise InvalidArgument(f"subslice: dim {given} does not exist, the buffer has rank {rank}")
        axis = given % rank
        if first < 0 or count < 1 or first + count > self.offsets.shape[axis]:
            raise InvalidArgument(f"subslice: [{first}, {first + count}) is outside axis {axis} of {self}")
        return self._view(self.offsets[(slice(None),) * axis + (slice(first, first + count),)])

    def reshape(self, *shape: Any) -> Buffer:
        """The same elements, row-major."""
        extents = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        try:
            return self._view(self.offsets.reshape(extents))
        except ValueError:
            raise InvalidArgument(f"reshape: {self} has {self.offsets.size} elements, {list(extents)} others") from None

    def load(self, writable: Any = True, target_shape: Any = None) -> Tile:
        """The whole buffer, or a leading box, as a tile."""
        source = self
        if target_shape is not None:
            source = self._view(self.offsets[tuple(slice(0, extent) for extent in target_shape)])
        return load(local_ptr(source))

    def store(self, value: Any) -> None:
        """Stores a tile to the whole buffer."""
        store(local_ptr(self), value)

    def make_permute(self, handle: Any, dims: Any) -> Any:
        """Exists for compatibility."""
        return handle


def _owned(program: Program, number: int, nbytes: int) -> Region:
    """Shared memory number `number` of a program, made when it or a peer needs it first."""
    while len(program.buffers) <= number:
        program.buffers.append(None)
    if program.buffers[number] is None:
        array = np.zeros(nbytes, np.uint8)
        region = Region(f"buffer {number}", array, "shared memory", track=True)
        program.buffers[number] = (program.memory.add(region), array)
    region = program.buffers[number][0]
    assert isinstance(region, Region)
    return region


_PADDED = ("float16", "bfloat16", "float32", "float8e4nv", "float8e5", "int8")


def _padded(extents: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    """One odd extent of a matrix grows to a power of two; a leading count of stages stays."""
    odd = [axis for axis, extent in enumerate(extents) if extent & (extent - 1)]
    inner = [axis for axis in odd if axis >= len(extents) - 2]
    grows = len(extents) in (2, 3) and len(inner) == 1 and extents[inner[0]] % 16 == 0 and dtype.label in _PADDED
    if grows and set(odd) - set(inner) <= {0}:
        axis = inner[0]
        return (*extents[:axis], 1 << extents[axis].bit_length(), *extents[axis + 1 :])
    return extents


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
) -> Buffer:
    """`tle.gpu.alloc`."""
    if isinstance(init_value, bool):
        init_value, nv_mma_shared_layout = None, init_value
    if isinstance(alias, bool):
        alias, nv_mma_shared_layout = None, alias
    element = as_dtype(dtype, "alloc")
    stages = () if capacity is None else (capacity,)
    extents = tuple(static_int(extent, "alloc: shape") for extent in (*stages, *shape))
    if not extents or min(extents) < 1:
        raise InvalidArgument(f"alloc: the shape must have positive extents, got {list(extents)}")
    count = int(np.prod(extents))
    if alias is not None:
        start = static_int(alias_offset_bytes, "alloc: alias_offset_bytes")
        available = alias.offsets.size * alias.dtype.bytes
        if start < 0 or start + count * element.bytes > available or start % element.bytes:
            raise InvalidArgument(f"alloc: alias does not hold {count} aligned elements from byte {start} on")
        offsets = int(alias.offsets.flat[0]) + start + np.arange(count) * element.bytes
        return Buffer(alias.region, element, offsets.reshape(extents), alias.owner)
    if layout is None and nv_mma_shared_layout:
        extents = _padded(extents, element)
        count = int(np.prod(extents))
    program = current()
    region = _owned(program, program.take_buffer_number(), count * element.bytes)
    buffer = Buffer(region, element, (np.arange(count) * element.bytes).reshape(extents))
    if init_value is not None:
        value = to_tile(init_value, "alloc")
        if np.broadcast_shapes(value.shape, extents) != extents:
            raise MemoryOperationFailed(
                f"Memory allocation failed: init_value of shape {list(value.shape)} does not fit {list(extents)}"
            )
        buffer.store(value)
    return buffer


def local_ptr(buffer: Any, indices: Any = None, shape: Any = None) -> Tile:
    """`tle.gpu.local_ptr`."""
    if not isinstance(buffer, Buffer):
        raise InvalidArgument(f"local_ptr takes a buffer made by tle.gpu.alloc, got {describe(buffer)}")
    dtype = pointer_type(buffer.dtype, _SHARED if buffer.owner is None else _CLUSTER)
    base = buffer.region.base
    if indices is None:
        return Tile(base + buffer.offsets.astype(np.int64), dtype, None, buffer.region)
    offsets = buffer.offsets
    if isinstance(indices, Tile):
        offsets, indices = offsets.reshape(-1), (indices,)
    if not isinstance(indices, (tuple, list)):
        raise TLESemanticError(f"local_ptr indices must be a tuple/list of tensors or None, got {describe(indices)}")
    if len(indices) != offsets.ndim:
        raise TLESemanticError(f"local_ptr indices must provide {offsets.ndim} tensors, got {len(indices)}")
    tiles = [_index(entry, position) for position, entry in enumerate(indices)]
    if shape is not None:
        wanted = static_shape(shape, "local_ptr")
        for position, tile in enumerate(tiles):
            if any(m not in (1, n) for m, n in zip(tile.shape[::-1], wanted[::-1], strict=False)):
                raise InvalidArgument(
                    f"local_ptr: index {position} of shape {list(tile.shape)} does not broadcast to {list(wanted)}"
                )
        tiles = [tile.stretched(wanted) for tile in tiles]
    if len({tile.shape for tile in tiles}) > 1:
        shapes = " and ".join(str(list(tile.shape)) for tile in tiles)
        raise InvalidArgument(f"local_ptr indices must have identical shapes, got {shapes}")
    found = base + _offsets_at(offsets, [tile.data for tile in tiles])
    if all(tile.exact is None for tile in tiles):
        return Tile(found, dtype, None, buffer.region)
    exact = base + _offsets_at(offsets, [without_width(tile) for tile in tiles])
    return watched(found, dtype, exact, buffer.region)


def _index(entry: Any, position: int) -> Tile:
    value = to_tile(entry, f"local_ptr: index {position}")
    if value.is_pointer or not value.dtype.is_int():
        raise InvalidArgument(f"local_ptr: index {position} must be an integer tile or scalar, got {describe(value)}")
    return to_dtype(value, I32)


def _offsets_at(offsets: Array, indices: list[Array]) -> Array:
    """Byte offsets of elements; indices beyond an axis go on at its stride, where the access is refused."""
    clipped, beyond = [], np.zeros(indices[0].shape, np.int64)
    for axis, index in enumerate(indices):
        extent = offsets.shape[axis]
        inside = np.clip(index, 0, extent - 1)
        start = (0,) * offsets.ndim
        if extent > 1:
            step = int(offsets[(0,) * axis + (1,) + (0,) * (offsets.ndim - axis - 1)] - offsets[start])
        else:
            step = offsets.size * 8
        beyond = beyond + (index.astype(np.int64) - inside) * step
        clipped.append(inside)
    return np.asarray(offsets[tuple(clipped)] + beyond, np.int64)


@asked
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
    """`tle.gpu.copy` between tiles of pointers, or descriptors, and buffers; of a shared copy each CTA makes its own."""
    if multicast is not None and not (hasattr(src, "load_tile") and isinstance(dst, Buffer)):
        raise InvalidArgument("copy: multicast is only supported for copies from a tensor descriptor to a buffer")
    if hasattr(src, "load_tile") or hasattr(dst, "load_tile"):
        _copy_descriptor(src, dst, offsets)
        if barrier is not None:
            if not isinstance(dst, Buffer):
                raise InvalidArgument("copy: barrier is only supported for TMA global-to-shared copy")
            complete_copy(barrier, dst.offsets.size * dst.dtype.bytes)
        return
    if barrier is not None:
        raise InvalidArgument("copy: barrier is only supported for TMA global-to-shared copy")
    if isinstance(src, Buffer) == isinstance(dst, Buffer):
        raise InvalidArgument("Invalid copy combination: one side must be a buffer, the other a tile of pointers")
    if isinstance(dst, Buffer):
        pointers = to_tile(src).stretched(tuple(dst.shape))
        enabled = None if mask is None else to_tile(mask).stretched(tuple(dst.shape))
        store(local_ptr(dst), load(pointers, enabled, None if enabled is None else 0))
    else:
        pointers = to_tile(dst).stretched(tuple(src.shape))
        store(pointers, load(local_ptr(src)), mask)


def _copy_descriptor(src: Any, dst: Any, offsets: Any) -> None:
    if isinstance(dst, Buffer):
        store(local_ptr(dst), src.load_tile(offsets).reshaped(tuple(dst.shape)))
    else:
        dst.store_tile(offsets, load(local_ptr(src)).reshaped(tuple(dst.block_shape)))


@asked
def async_commit_group() -> None:
    """Copies are complete when `copy` returns."""


@asked
def async_wait_group(max_pending: Any = 0) -> None:
    """Copies are complete when `copy` returns."""


def memory_space(input: Any, space: Any) -> Any:
    """A wish; the value is unchanged."""
    return input


def tle_load(pointer: Any, *args: Any, is_async: Any = False, **kwargs: Any) -> Tile:
    """`tle.load`: `is_async` never changes the value."""
    return load(pointer, *args, **kwargs)


# -- tiles of tiles -----------------------------------------------------------------------------------


def _tile_slices(shape: tuple[int, ...], part: tuple[int, ...], index: Any, what: str) -> tuple[slice, ...]:
    if len(part) != len(shape):
        raise ShapeMismatch(f"{what}: tile shape {list(part)} must have rank {len(shape)}")
    for axis, (extent, size) in enumerate(zip(shape, part, strict=True)):
        if extent % size:
            raise ShapeMismatch(f"{what}: extent {extent} of axis {axis} is not divisible by tile dim {size}")
    grid = [extent // size for extent, size in zip(shape, part, strict=True)]
    count = int(np.prod(grid))
    entries = index if isinstance(index, (tuple, list)) else (index,)
    of_run_time = any(isinstance(entry, Tile) for entry in entries)
    if isinstance(index, (tuple, list)):
        if len(index) != len(grid):
            raise InvalidArgument(f"{what}: tile index must have rank {len(grid)}")
        if any(not isinstance(i, Tile) and not 0 <= int(i) < n for i, n in zip(index, grid, strict=True)):
            raise InvalidArgument(f"{what}: tile index {[int(i) for i in index]} out of bounds for grid size {grid}")
        number = functools.reduce(lambda total, step: total * step[1] + step[0], zip(map(int, index), grid, strict=True), 0)
    else:
        number = int(index)
    problem = number_problem(what, number, count)
    if problem:
        if not of_run_time:
            raise InvalidArgument(problem)
        raise TileOutOfRange(problem, facts=current().facts(), help=NUMBER_HELP)
    coordinates = [int(i) for i in np.unravel_index(number, grid)]
    return tuple(slice(i * size, (i + 1) * size) for i, size in zip(coordinates, part, strict=True))


@method
def extract_tile(x: Any, index: Any, tile_shape: Any = None, shape: Any = None) -> Tile:
    """`tle.extract_tile`."""
    wanted = shape if tile_shape is None else tile_shape
    if wanted is None:
        raise InvalidArgument("tle.extract_tile: give tile_shape or shape, got neither")
    part = tuple(static_int(extent, "tle.extract_tile: tile_shape") for extent in wanted)
    rules.tile_of_tiles(x, index, part, "tle.extract_tile")
    value = to_tile(x, "tle.extract_tile")
    slices = _tile_slices(value.shape, part, index, "tle.extract_tile")
    return value.rearranged(lambda array: array[slices])


@method
def insert_tile(x: Any, tile: Any, index: Any) -> Tile:
    """`tle.insert_tile`."""
    if not isinstance(tile, Tile) or not tile.shape:
        raise InvalidArgument(f"tle.insert_tile: `tile` must be a tile, got {describe(tile)}")
    rules.tile_of_tiles(x, index, tile.shape, "tle.insert_tile")
    value, part = to_tile(x, "insert_tile"), to_tile(tile, "insert_tile")
    if value.dtype != part.dtype:
        raise InvalidArgument(f"insert_tile: Element type mismatch, {describe(value)} and {describe(part)}")
    slices = _tile_slices(value.shape, part.shape, index, "tle.insert_tile")
    data = np.array(value.data)
    data[slices] = part.data
    exact = None
    if value.exact is not None or part.exact is not None:
        exact = np.array(without_width(value))
        exact[slices] = without_width(part)
    return Tile(data, value.dtype, exact, value.region if value.region is part.region else None)


# -- programs together --------------------------------------------------------------------------------


def _need_cluster(mesh: Any, what: str) -> None:
    wanted = meshes._mesh_to_cluster_dims(mesh)
    program = current()
    if wanted != program.launch.cluster:
        raise MeshError(
            f"{what}: the mesh needs clusters of {wanted}, this launch has {program.launch.cluster}",
            help="make the mesh at module level, or pass it as a tl.constexpr",
        )


def shard_id(mesh: Any, axis: Any, comm_ptr: Any = None) -> Any:
    """`tle.shard_id`."""
    found = meshes.check_mesh(mesh, "shard_id: mesh")
    if comm_ptr is not None:
        raise NotSupported("shard_id: ranks among several GPUs are not supported", help="one GPU only")
    position = meshes._resolve_launch_axis(found, axis)
    axes = meshes.cluster_axes(found)
    program = current()
    if not meshes.is_block_mesh(found):
        _need_cluster(found, "shard_id")
    sizes = found.launch_shape
    if position in axes:
        linear, counted = program.cluster_rank, [i for i in axes if i > position]
    else:
        linear, counted = program.index[0], list(range(position + 1, len(sizes)))
    after = 1
    for i in counted:
        after *= sizes[i]
    return remainder(floor_divide(number_as(linear, I32), after), sizes[position])


def distributed_barrier(
    mesh: Any = None,
    device_dptr: Any = None,
    space: Any = None,
    group_kind: Any = None,
    barrier_kind: Any = None,
    order: Any = None,
    index: Any = None,
) -> None:
    """`tle.distributed_barrier`."""
    if any(v is not None for v in (device_dptr, space, group_kind, barrier_kind, order, index)):
        raise NotSupported("distributed_barrier: several GPUs are not supported", help="one GPU only")
    program = current()
    x, y, z = program.launch.cluster
    what = "tle.distributed_barrier"
    if mesh is None:
        program.barrier(("cluster", program.cluster), x * y * z, what)
        return
    found = meshes.check_mesh(mesh, "distributed_barrier: mesh")
    if _spans_grid(found):
        if program.launch.cluster != (1, 1, 1):
            raise MeshError(
                f"{what}: a grid barrier requires cluster_dims=(1, 1, 1), the launch has {program.launch.cluster}"
            )
        a, b, c = program.launch.grid
        program.barrier("grid", a * b * c, what)
        return
    members = meshes._infer_submesh_barrier_group(found)
    _need_cluster(found, what)
    if members is None:
        program.barrier(("cluster", program.cluster), x * y * z, what)
    elif program.cluster_rank in members:
        program.barrier(("cluster", program.cluster, members), len(members), what)


def _spans_grid(mesh: Any) -> bool:
    for names in (mesh.dim_names, mesh.launch_dim_names):
        if any("cluster" in name for name in names):
            return False
        if any("block" in name for name in names):
            return True
    return False


def remote(
    tensor: Any, shard_id: Any, scope: Any = None, space: Any = "cluster", dtype: Any = None, offset: Any = None
) -> Any:
    """`tle.remote`: the same shared memory of another CTA of the cluster."""
    if space != "cluster" or dtype is not None or offset is not None:
        raise NotSupported("remote: only space='cluster' is supported, not several GPUs", help="one GPU only")
    rank = meshes._normalize_remote_shard_id(shard_id, None if scope is None else meshes.check_mesh(scope, "remote: scope"))
    if scope is not None:
        _need_cluster(scope, "remote")
    program = current()
    peer = program.launch.program_of(program, int(rank))
    if isinstance(tensor, Buffer):
        if tensor.owner is not None:
            raise InvalidArgument("remote cannot be applied twice to a buffer")
        return Buffer(_counterpart(program, peer, tensor.region), tensor.dtype, tensor.offsets, int(rank))
    if not isinstance(tensor, Tile) or not tensor.is_pointer or tensor.dtype.address_space != _SHARED:
        raise InvalidType(f"remote takes a buffer or pointers to shared memory, got {describe(tensor)}")
    region = _counterpart(program, peer, tensor.region)
    target = pointer_type(tensor.dtype.element_ty, _CLUSTER)
    return Tile(tensor.data - tensor.region.base + region.base, target, None, region)


def _counterpart(program: Program, peer: Program, region: Region) -> Region:
    for number, entry in enumerate(program.buffers):
        if entry is not None and entry[0] is region:
            return _owned(peer, number, region.nbytes)
    raise InvalidType("remote: the pointers are not into one buffer of this program")
