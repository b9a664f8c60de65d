"""Meshes, sharding annotations and what they make of the launch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import InvalidArgument, InvalidType, MeshError, NotSupported
from tle2cuda.language import tle

CLUSTER8 = tle.device_mesh({"block_cluster": [("cluster_x", 8)]})
GRID = tle.device_mesh({"block": [("block_x", 64)]})
MIXED = tle.device_mesh({"block_cluster": [("cluster_x", 2)], "block": [("block_x", 4)]})


def test_properties_and_repr():
    mesh = tle.device_mesh({"device": 4, "block_cluster": [("cx", 2), ("cy", 2)]})
    assert (mesh.shape, mesh.ndim, mesh.size) == ((4, 2, 2), 3, 16)
    assert mesh.dim_names == mesh.launch_dim_names == ("device", "cx", "cy")
    assert mesh.physical_ids == tuple(range(16))
    assert mesh.launch_shape == (4, 2, 2)
    assert repr(mesh) == "DeviceMesh(shape=(4, 2, 2), names=('device', 'cx', 'cy'))"
    column = mesh[0, :, 1]
    assert (column.shape, column.dim_names, column.physical_ids) == ((2,), ("cx",), (1, 3))
    assert (column.launch_shape, column.launch_dim_names) == ((4, 2, 2), ("device", "cx", "cy"))


def test_mesh_config():
    config = tle.MeshConfig(block_cluster=[("cluster_x", 8)])
    assert config.to_dict() == {"block_cluster": [("cluster_x", 8)]}
    assert tle.device_mesh(config) == CLUSTER8
    assert tle.device_mesh(topology=config) == CLUSTER8
    assert hash(tle.device_mesh(config)) == hash(CLUSTER8)
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("topology", "error", "message"),
    [
        ([("a", 1)], InvalidType, "device_mesh: topology must be a mapping or a MeshConfig, got list"),
        ({}, InvalidArgument, "device_mesh: topology must not be empty"),
        (
            {"block": "x"},
            InvalidType,
            "device_mesh: level 'block' must be an int or a list of (name, size) pairs, got 'x'",
        ),
        ({"block": []}, InvalidArgument, "device_mesh: level 'block' has no axes"),
        ({"block": 0}, InvalidArgument, "device_mesh: the size of axis 'block' must be a positive int, got 0"),
        (
            {"block": [("x", 2, 3)]},
            InvalidArgument,
            "device_mesh: level 'block' needs (name, size) pairs, got ('x', 2, 3)",
        ),
        ({"a": [("x", 2)], "b": [("x", 2)]}, InvalidArgument, "device_mesh: axis name 'x' is used twice"),
    ],
)
def test_bad_topologies(topology, error, message):
    with pytest.raises(error) as caught:
        tle.device_mesh(topology)
    assert caught.value.message == message
    assert isinstance(caught.value, TypeError if error is InvalidType else ValueError)


def test_reshape():
    assert CLUSTER8.reshape(2, 4).dim_names == ("dim0", "dim1")
    assert CLUSTER8.reshape((8,)).dim_names == ("cluster_x",)
    assert MIXED.flatten().dim_names == ("flat",)
    assert MIXED.reshape(4, 2).dim_names == ("cluster_x", "block_x")
    assert CLUSTER8.reshape(2, 4)[1].physical_ids == (4, 5, 6, 7)
    with pytest.raises(ValueError, match=r"\(3, 3\) has 9 positions, the mesh \(8,\) has 8"):
        CLUSTER8.reshape(3, 3)


def test_slicing():
    assert CLUSTER8[::2].physical_ids == (0, 2, 4, 6)
    assert CLUSTER8[-1].physical_ids == (7,) and CLUSTER8[-1].ndim == 0
    assert MIXED[..., 1].physical_ids == (1, 5)
    assert MIXED[1].shape == (4,)
    assert MIXED[:, 2:].physical_ids == (2, 3, 6, 7)
    assert MIXED[1][1:3].physical_ids == (5, 6)
    for key, message in (
        (8, "device_mesh: index 8 is out of range for axis 'cluster_x' of size 8"),
        ((0, 0), "device_mesh: 2 indices for a mesh of rank 1"),
        ((..., ...), "device_mesh: more than one ellipsis in an index"),
    ):
        with pytest.raises(IndexError) as caught:
            CLUSTER8[key]
        assert str(caught.value) == message
    with pytest.raises(ValueError, match="selects nothing"):
        CLUSTER8[4:4]
    with pytest.raises(TypeError, match="must be an int, a slice or"):
        CLUSTER8["x"]


@pytest.mark.parametrize(
    ("topology", "dims"),
    [
        ({"block_cluster": [("cluster_x", 8)]}, (8, 1, 1)),
        ({"c": [("cluster_x", 2), ("cluster_y", 4)]}, (2, 4, 1)),
        ({"c": [("cluster_x", 2), ("cluster_y", 2), ("cluster_z", 2)], "block": 9}, (2, 2, 2)),
        ({"c": [(f"cluster{i}", 2) for i in range(4)]}, (16, 1, 1)),
        ({"block": [("block_x", 4), ("block_y", 2)]}, (4, 2, 1)),
        ({"x": 3}, (3, 1, 1)),
    ],
)
def test_cluster_dims(topology, dims):
    mesh = tle.device_mesh(topology)
    assert tle._mesh_to_cluster_dims(mesh) == dims
    assert tle._mesh_to_cluster_dims(mesh[0]) == dims


def test_resolve_launch_axis():
    assert tle._resolve_launch_axis(MIXED, "block_x") == 1
    assert tle._resolve_launch_axis(MIXED[0], -1) == 1
    with pytest.raises(ValueError, match="unknown mesh axis 'z'; the axes are 'cluster_x', 'block_x'"):
        tle._resolve_launch_axis(MIXED, "z")
    with pytest.raises(IndexError, match="mesh axis 2 is out of range for a mesh of rank 2"):
        tle._resolve_launch_axis(MIXED, 2)
    with pytest.raises(TypeError, match=r"a mesh axis is a name or an int, got 1\.5"):
        tle._resolve_launch_axis(MIXED, 1.5)


def test_normalize_remote_shard_id():
    assert tle._normalize_remote_shard_id(3, None) == 3
    assert tle._normalize_remote_shard_id((1, 2), tle.device_mesh({"c": [("cluster_x", 2), ("cluster_y", 4)]})) == 6
    with pytest.raises(ValueError, match="shard_id must be >= 0, got -1"):
        tle._normalize_remote_shard_id(-1)
    with pytest.raises(ValueError, match="tuple shard_id requires scope"):
        tle._normalize_remote_shard_id((0,))
    with pytest.raises(ValueError, match=r"shard_id \(9,\) is out of range for the scope \(8,\)"):
        tle._normalize_remote_shard_id((9,), CLUSTER8)


def test_submesh_group():
    assert tle._infer_submesh_barrier_group(CLUSTER8) is None
    assert tle._infer_submesh_barrier_group(CLUSTER8[:4]) == (0, 1, 2, 3)
    assert tle._infer_submesh_barrier_group(MIXED[:, 0]) is None
    with pytest.raises(NotSupported):
        tle._infer_submesh_barrier_group(CLUSTER8[0])
    with pytest.raises(NotImplementedError, match="other axes than the cluster's"):
        tle._infer_submesh_barrier_group(MIXED[:1, 0])
    with pytest.raises(ValueError, match="the mesh has 8 positions, the cluster 2 CTAs"):
        tle._infer_submesh_barrier_group(MIXED)


# -- device functions -------------------------------------------------------------------------------


def test_shard_id_of_a_cluster():
    with tracing() as trace:
        rank = tle.shard_id(CLUSTER8, "cluster_x")
        assert trace.names() == ["cluster_rank"]
        assert trace.builder.cluster_dims == (8, 1, 1)
        assert trace.evaluate(rank) == 5


def test_shard_id_of_a_two_dimensional_cluster_is_row_major():
    mesh = tle.device_mesh({"c": [("cluster_x", 2), ("cluster_y", 4)]})
    with tracing() as trace:
        got = trace.evaluate(tle.shard_id(mesh, 0), tle.shard_id(mesh, -1))
        assert [int(v) for v in got] == [1, 1]  # rank 5 = 1 * 4 + 1
        assert trace.builder.cluster_dims == (2, 4, 1)


def test_shard_id_of_a_block_mesh_makes_no_cluster():
    mesh = tle.device_mesh({"block": [("block_x", 2), ("block_y", 3), ("block_z", 1)]})
    with tracing() as trace:
        got = trace.evaluate(*(tle.shard_id(mesh, axis) for axis in range(3)))
        assert [int(v) for v in got] == [1, 0, 0]  # program id 3 = 1 * 3 + 0
        assert trace.builder.cluster_dims is None
        assert not trace.builder.cooperative


def test_barrier_kinds():
    with tracing() as trace:
        tle.distributed_barrier()
        tle.distributed_barrier(CLUSTER8)
        tle.distributed_barrier(CLUSTER8[2:4])
        assert [op.attrs["members"] for op in trace.ops] == [None, None, (2, 3)]
        assert trace.builder.cluster_dims == (8, 1, 1)
    for mesh in (GRID, GRID[:3], GRID.flatten(), MIXED[0, :]):
        with tracing() as trace:
            tle.distributed_barrier(mesh)
            assert trace.names() == ["grid_barrier"]
            assert trace.builder.cooperative and trace.builder.cluster_dims is None
    with tracing() as trace:
        tle.distributed_barrier(MIXED[:, 0])
        assert trace.only("cluster_barrier").attrs["members"] is None


def test_barrier_errors():
    with tracing():
        tle.distributed_barrier(CLUSTER8)
        with pytest.raises(MeshError) as caught:
            tle.distributed_barrier(GRID)
        assert "requires cluster_dims=(1, 1, 1)" in caught.value.message
        with pytest.raises(ValueError, match="conflicting cluster_dims"):
            tle.shard_id(MIXED, 0)
        with pytest.raises(TypeError, match="distributed_barrier: mesh must be a device_mesh, got int"):
            tle.distributed_barrier(3)
        with pytest.raises(NotSupported, match="distributed_barrier: space is for several GPUs"):
            tle.distributed_barrier(CLUSTER8, space="device")
    with tracing():
        tle.distributed_barrier(GRID)
        with pytest.raises(ValueError, match=r"requires cluster_dims=\(1, 1, 1\)"):
            tle.distributed_barrier(CLUSTER8)


def test_remote():
    with tracing() as trace:
        box = tle.gpu.alloc([16], tl.int32)
        peer = tle.remote(box, 3, scope=CLUSTER8)
        assert peer.type.ir.remote and not box.type.ir.remote
        pointer = tle.gpu.local_ptr(peer, (0,))
        assert pointer.dtype.address_space == 7
        assert tle.remote(pointer, 0) is pointer
        shared = tle.gpu.local_ptr(box)
        assert shared.dtype.address_space == 3
        far = tle.remote(shared, tl.program_id(0))
        assert far.dtype.address_space == 7 and far.dims == (16,)
        assert trace.builder.cluster_dims == (8, 1, 1)
        with pytest.raises(ValueError, match="cannot be applied twice"):
            tle.remote(peer, 0)
        with pytest.raises(ValueError, match="cannot be applied twice"):
            tle.remote(pointer, 1)
        with pytest.raises(ValueError, match="shard_id 8 is out of range, the cluster has 8 CTAs"):
            tle.remote(box, 8, scope=CLUSTER8)
        with pytest.raises(TypeError, match="shard_id must be int32, got scalar i64"):
            tle.remote(box, trace.symbol(tl.int64))
        with pytest.raises(ValueError, match=r"shard_id must be a scalar, got tile i32\[4\]"):
            tle.remote(box, trace.symbol(tl.int32, (4,)))
        with pytest.raises(TypeError, match=r"remote takes shared memory, got pointer \*fp32"):
            tle.remote(trace.pointer(tl.float32), 0)
        with pytest.raises(TypeError, match="remote takes a buffer or pointers to shared memory, got scalar i32"):
            tle.remote(trace.symbol(tl.int32), 0)


# -- sharding annotations ---------------------------------------------------------------------------


def test_sharding():
    mesh = tle.device_mesh({"device": 4, "block_cluster": [("cx", 2), ("cy", 2)]})
    spec = tle.sharding(mesh, split=[["cx", "cy"], tle.B], partial=["device"])
    tensor = tle.make_sharded_tensor("pointer", sharding=spec, shape=[64, 32])
    assert (spec.axis_state("cx"), spec.axis_state("device"), spec.broadcast) == ("S", "P", ())
    assert spec.split == (("cx", "cy"), ()) and tensor.shape == (64, 32)
    assert tle.sharding(mesh, [tle.S("cx"), None, []], tle.P("cy")).broadcast == ("device",)
    assert tle.S(["a", "b"]) == tle.S(["a", "b"]) != tle.P(["a", "b"])
    assert repr(tle.B) == "B" and repr(tle.S("a")) == "S('a')" and len({tle.S("a"), tle.S("a")}) == 1
    for arguments, error, message in (
        ({"split": ["z"]}, ValueError, "unknown mesh axis 'z'"),
        ({"split": ["cx", "cx"]}, ValueError, "axis 'cx' is used twice in split"),
        ({"split": ["cx"], "partial": ["cx"]}, ValueError, "axis 'cx' is both split and partial"),
        ({"split": [""]}, ValueError, "axis names must not be empty"),
        ({"split": "cx"}, TypeError, "split must be a list"),
        ({"partial": [3]}, TypeError, "partial holds axis names"),
    ):
        with pytest.raises(error, match=message):
            tle.sharding(mesh, **arguments)
    with pytest.raises(TypeError, match="mesh must be a device_mesh"):
        tle.sharding(3)
    with pytest.raises(ValueError, match="has rank 1, the split has 2 entries"):
        tle.make_sharded_tensor(0, spec, [4])
    with pytest.raises(TypeError, match="must be a ShardingSpec, got int"):
        tle.make_sharded_tensor(0, 1)
    for function in (tle.reshard, tle.distributed_dot):
        with pytest.raises(NotImplementedError):
            function()


MESH = tle.device_mesh({"device": 4, "block_cluster": [("cx", 2), ("cy", 2)]})


@tle2cuda.jit
def annotated(x, out, mesh: tl.constexpr, N: tl.constexpr):
    """What an annotation says is known at compile time; its handle is the pointer it was made of."""
    spec: tl.constexpr = tle.sharding(mesh, split=[["cx", "cy"], tle.B], partial=["device"])
    sharded = tle.make_sharded_tensor(x, sharding=spec, shape=[64, N])
    i = tl.arange(0, N)
    value = tl.load(sharded.handle + i)
    if spec.axis_state("cx") == "S":
        value = value * 2
    if sharded.sharding.axis_state("device") != "P":
        value = value * 1000
    tl.store(out + i, value + sharded.shape[0])


@tle2cuda.jit
def annotated_twice(x, mesh: tl.constexpr):
    tle.make_sharded_tensor(x, tle.sharding(mesh, split=["cx", ["cy", "cx"]]))


def test_annotations_in_a_kernel(monkeypatch):
    monkeypatch.setenv("TLE2CUDA_DEVICE", "interpreter")
    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    annotated[(1,)](x, out, MESH, 32)
    assert (out == x * 2 + 64).all()


def test_inconsistent_annotations_are_errors_at_the_users_line():
    with pytest.raises(ValueError) as caught:
        tle2cuda.emit(annotated_twice, "*i32", constants={"mesh": MESH})
    assert caught.value.message == "sharding: axis 'cx' is used twice in split, of dimensions 0 and 1"
    assert caught.value.span.source_line().strip().startswith("tle.make_sharded_tensor(x, tle.sharding(")
