"""Buffers, their views, pointers into them, copies, layouts and the validator."""

from __future__ import annotations

import inspect

import pytest

import tle2cuda.language as tl
from tests.ops.harness import tracing
from tle2cuda.errors import InvalidArgument, MemoryOperationFailed, ShapeMismatch
from tle2cuda.language import tle
from tle2cuda.language.tle.gpu.semantic import TLESemantic, TLESemanticError

gpu = tle.gpu


def message(error):
    return error.value.message


def test_alloc():
    with tracing() as trace:
        plain = gpu.alloc([4, 32], tl.float16, None, gpu.smem, False)
        mma = gpu.alloc((4, 32), dtype=tl.float16)
        old = gpu.alloc([16], tl.int32, None, gpu.smem, None, False)
        assert plain.type.ir.storage == "row_major" and mma.type.ir.storage == "mma"
        assert old.type.ir.storage == "row_major"
        assert plain.shape == [4, 32] and plain.dtype is tl.float16
        assert plain.type.element_ty is tl.float16 and plain.type.nbytes == 256
        assert plain.type.storage is gpu.smem and plain.type.alloc_shape == [4, 32]
        assert isinstance(mma.type.layout, gpu.nv_mma_shared_layout)
        assert plain.type != mma.type and plain.type == gpu.alloc([4, 32], tl.float16, None, gpu.smem, False).type
        assert [op.name for op in trace.ops] == ["alloc"] * 4
        explicit = gpu.alloc([4, 32], tl.float16, gpu.swizzled_shared_layout.make_default(2))
        assert explicit.type.ir.storage == "row_major"
        aligned = gpu.alloc([8], tl.int32, alignment_bytes=1024)
        assert trace.ops[-1].attrs["alignment_bytes"] == 1024 and aligned.shape == [8]


def test_alloc_with_initial_value_stores_it():
    with tracing() as trace:
        buffer = gpu.alloc([2, 4], tl.float32, init_value=tl.zeros((2, 4), tl.float32))
        assert buffer.shape == [2, 4]
        assert trace.names() == ["constant", "alloc", "local_ptr", "store"]
        with pytest.raises(RuntimeError) as error:
            gpu.alloc([2, 4], tl.float32, init_value=tl.zeros((8,), tl.float32))
        assert message(error) == "Memory allocation failed: init_value of shape [8] does not fit [2, 4]"


def test_alloc_pads_one_extent_for_mma():
    with tracing():
        padded = gpu.alloc([80, 256], tl.float16)
        assert padded.shape == [128, 256] and padded.type.ir.logical_shape == (80, 256)
        assert gpu.alloc([2, 80, 64], tl.float16).shape == [2, 128, 64]
        assert gpu.alloc([3, 64, 32], tl.float16).shape == [3, 64, 32]
        assert gpu.alloc([129, 256], tl.float16).shape == [129, 256]
        ring = gpu.alloc([80, 256], tl.float16, capacity=2)
        assert ring.shape == [2, 128, 256] and ring.type.ir.logical_shape == (2, 80, 256)
        assert gpu.alloc([64], tl.int32, capacity=3).slot(2).shape == [64]
        with pytest.raises(MemoryOperationFailed) as error:
            gpu.alloc([100], tl.int32)
        assert message(error) == "Memory allocation failed: extent 0 of [100] is 100, not a power of two"
        with pytest.raises(MemoryOperationFailed):
            gpu.alloc([64, 80], tl.float16, nv_mma_shared_layout=False)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"shape": 4}, ValueError, "Shape must be a tuple or list of ints, got 4"),
        ({"shape": []}, ValueError, "Shape must not be empty"),
        ({"shape": [0]}, ValueError, "Shape extents must be positive, extent 0 is 0"),
        ({"dtype": "f32"}, ValueError, "Data type must be tl.dtype, got 'f32'"),
        ({"scope": "smem"}, ValueError, "Storage type must be tle.scope, got 'smem'"),
        ({"layout": 3}, ValueError, "Layout must be tle.shared_layout or None, got 3"),
        (
            {"scope": gpu.tmem},
            RuntimeError,
            "Memory allocation failed: storage tensor_memory is not yet supported",
        ),
        (
            {"alignment_bytes": 48},
            RuntimeError,
            "Memory allocation failed: alignment_bytes must be a power of two up to 1073741824, got 48",
        ),
        ({"alias": 3}, ValueError, "alloc: alias must be a buffer, got 3"),
        ({"alias_offset_bytes": 16}, ValueError, "alloc: alias_offset_bytes needs alias"),
    ],
)
def test_alloc_errors(arguments, error, text):
    with tracing(), pytest.raises(error) as caught:
        gpu.alloc(**{"shape": [4], "dtype": tl.int32, **arguments})
    assert message(caught) == text


def test_alias():
    with tracing() as trace:
        base = gpu.alloc([1024], tl.uint8, nv_mma_shared_layout=False)
        view = gpu.alloc([64], tl.float32, alias=base, alias_offset_bytes=256)
        assert trace.ops[-1].attrs == {"kind": "alias", "offset_bytes": 256}
        assert view.dtype is tl.float32
        with pytest.raises(ValueError, match=r"alias needs bytes \[1000, 1256\), the buffer has 1024"):
            gpu.alloc([64], tl.float32, alias=base, alias_offset_bytes=1000)
        with pytest.raises(ValueError, match="alias cannot be combined with init_value"):
            gpu.alloc([64], tl.float32, alias=base, init_value=tl.zeros((64,), tl.float32))


def test_views():
    with tracing() as trace:
        ring = gpu.alloc([4, 64, 32], tl.float16)
        assert ring.slot(0).shape == [64, 32]
        stage = tl.program_id(0)
        assert ring.slot(stage).shape == [64, 32]
        assert trace.ops[-1].operands[1] is stage.value
        assert ring.subslice(16, 16, dim=1).shape == [4, 16, 32]
        assert trace.ops[-1].attrs == {"kind": "subslice", "start": 16, "dim": 1}
        assert ring.reshape([4, 2048]).shape == [4, 2048]
        assert ring.slot(1).load().dims == (64, 32)
        assert ring.slot(1).load(target_shape=(16, 32)).dims == (16, 32)
        ring.slot(2).store(0.0)
        for call, text in (
            (lambda: gpu.alloc([4], tl.int32).slot(0), "slot needs a buffer of rank >= 2, got [4]"),
            (lambda: ring.slot(tl.arange(0, 4)), "slot: the stage must be a scalar int32, got tile i32[4]"),
            (lambda: ring.slot(trace.symbol(tl.int64)), "slot: the stage must be int32, got scalar i64"),
            (lambda: ring.slot(1.5), "slot: the stage must be an int or a scalar int32, got 1.5"),
            (lambda: ring.slot(4), "slot: stage 4 is out of range, the buffer has 4"),
            (lambda: ring.subslice(60, 8, 1), "subslice: [60, 68) is outside axis 1 of extent 64"),
            (lambda: ring.reshape(3, 3), "reshape: [4, 64, 32] has 8192 elements, [3, 3] has 9"),
        ):
            with pytest.raises(ValueError) as error:
                call()
            assert message(error) == text
        with pytest.raises(TypeError, match=r"a buffer cannot be indexed with \[\]"):
            ring[0]


def test_local_ptr_forms():
    with tracing() as trace:
        tile = gpu.alloc([8, 16], tl.int32, nv_mma_shared_layout=False)
        full = gpu.local_ptr(tile)
        assert full.dims == (8, 16) and full.dtype == tl.pointer_type(tl.int32, 3)
        assert gpu.local_ptr(tile, (0, tl.program_id(0))).dims == ()
        i = tl.arange(0, 4)
        assert gpu.local_ptr(tile, (i, i.to(tl.uint8))).dims == (4,)
        rows, cols = tl.arange(0, 4)[:, None], tl.arange(0, 8)[None, :]
        assert gpu.local_ptr(tile, (rows, cols), shape=(4, 8)).dims == (4, 8)
        flat = gpu.local_ptr(tile, i)
        assert flat.dims == (4,) and trace.ops[-2].attrs == {"kind": "reshape"}
        moved = gpu.local_ptr(tile, (0, 0)) + i
        assert moved.dtype.address_space == 3


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        (lambda t: 3, "local_ptr indices must be a tuple/list of tensors or None, got 3"),
        (lambda t: (), "local_ptr indices must not be an empty tuple; leave them out for the full view"),
        (lambda t: (0,), "local_ptr indices must provide 2 tensors, got 1"),
        (lambda t: (0, 1.5), "local_ptr: index 1 must be an integer tile or scalar, got 1.5"),
        (
            lambda t: (tl.arange(0, 4), tl.arange(0, 8)),
            "local_ptr indices must have identical shapes, got [4] and [8]",
        ),
        (
            lambda t: (0, tl.arange(0, 8)),
            "local_ptr indices must be either all scalar or all tensors with identical shapes",
        ),
    ],
)
def test_local_ptr_errors(indices, text):
    with tracing() as trace:
        tile = gpu.alloc([8, 16], tl.int32)
        with pytest.raises(ValueError) as error:
            gpu.local_ptr(tile, indices(trace))
        assert message(error) == text


def test_local_ptr_needs_a_buffer():
    with tracing() as trace, pytest.raises(ValueError) as error:
        gpu.local_ptr(trace.symbol(tl.int32), (0,))
    assert message(error) == "local_ptr takes a buffer made by tle.gpu.alloc, got scalar i32"


def test_copy_forms():
    with tracing() as trace:
        tile = gpu.alloc([8, 16], tl.float32, nv_mma_shared_layout=False)
        p = trace.pointer(tl.float16)
        rows, cols = tl.arange(0, 8)[:, None], tl.arange(0, 16)[None, :]
        before = len(trace.ops)
        assert gpu.copy(p + rows * 16 + cols, tile, [8, 16]) is None
        names = trace.names()[before:]
        assert names[-4:] == ["local_ptr", "load", "cast", "store"]
        gpu.copy(tile, p + rows * 16 + cols, [4, 16], mask=rows < 4)
        assert trace.names()[-1] == "store" and trace.ops[-1].attrs["has_mask"]
        gpu.copy(p + rows * 16 + cols, tile, [8, 16], mask=rows < 4)
        assert not trace.ops[-1].attrs["has_mask"]
        assert next(op for op in reversed(trace.ops) if op.name == "load").attrs["has_other"]
        bins = gpu.alloc([64], tl.int32)
        gpu.copy(trace.pointer(tl.int32) + tl.arange(0, 64), bins, [48])


COPY_ERRORS = [
    (
        lambda p, b: gpu.copy(p, p, [16]),
        ValueError,
        "Invalid copy combination: both operands are tiles of pointers",
    ),
    (lambda p, b: gpu.copy(b, b, [16]), ValueError, "Invalid copy combination: both operands are buffers"),
    (
        lambda p, b: gpu.copy(3, b, [16]),
        ValueError,
        "Source parameter must be a tile of pointers, a tensor descriptor or a buffer, got 3",
    ),
    (
        lambda p, b: gpu.copy(p, "x", [16]),
        ValueError,
        "Destination parameter must be a tile of pointers, a tensor descriptor or a buffer, got 'x'",
    ),
    (lambda p, b: gpu.copy(p, b, 16), ValueError, "copy: shape must be a tuple or list, got 16"),
    (
        lambda p, b: gpu.copy(p, b, [16], barrier=1),
        ValueError,
        "copy: barrier is only supported for TMA global-to-shared copy",
    ),
    (
        lambda p, b: gpu.copy(p, b, [32]),
        RuntimeError,
        "copy operation failed: copy shape [32] exceeds the buffer [16]",
    ),
    (
        lambda p, b: gpu.copy(p, b, [4, 4]),
        RuntimeError,
        "copy operation failed: copy shape [4, 4] has rank 2, the buffer [16] has rank 1",
    ),
    (
        lambda p, b: gpu.copy(p + tl.arange(0, 8), b, [8]),
        RuntimeError,
        "copy operation failed: pointers of shape [8] do not broadcast to the buffer [16]",
    ),
    (
        lambda p, b: gpu.copy(p, b, [16], mask=tl.arange(0, 16)),
        RuntimeError,
        "copy operation failed: the mask must be bool (int1), got tile i32[16]",
    ),
    (
        lambda p, b: gpu.copy(p, b, [16], is_async=True),
        ValueError,
        "copy: is_async=True needs equal shapes, got shape [16], pointers [], buffer [16]",
    ),
    (
        lambda p, b: gpu.copy(p, b, [16], eviction_policy="never"),
        ValueError,
        "copy: eviction_policy must be one of '', 'evict_first', 'evict_last', got 'never'",
    ),
    (
        lambda p, b: gpu.async_wait_group(8),
        ValueError,
        "async_wait_group: max_pending must be in [0, 7], got 8",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), COPY_ERRORS, ids=range(len(COPY_ERRORS)))
def test_copy_errors(call, error, text):
    with tracing() as trace:
        pointer, buffer = trace.pointer(tl.int32), gpu.alloc([16], tl.int32)
        with pytest.raises(error) as caught:
            call(pointer, buffer)
        assert message(caught) == text


def test_signatures():
    assert "barrier" in inspect.signature(gpu.copy).parameters
    assert list(inspect.signature(gpu.alloc).parameters)[:4] == ["shape", "dtype", "layout", "scope"]
    assert list(inspect.signature(tle.remote).parameters) == [
        "tensor",
        "shard_id",
        "scope",
        "space",
        "dtype",
        "offset",
    ]
    assert not hasattr(gpu, "pipe") and not hasattr(gpu, "barrier_expect_bytes")
    for function in (tle.pipe, gpu.alloc, gpu.copy, gpu.local_ptr, gpu.pipeline):
        assert function.__doc__
    for function in (tle.shard_id, tle.distributed_barrier, tle.remote):
        assert tl.core.is_builtin(function)
    assert gpu.storage_kind is gpu.memory_space
    assert tle.alloc is gpu.alloc and tle.smem is gpu.smem and tle.copy is gpu.copy


def test_layout_objects():
    layout = gpu.swizzled_shared_layout.make_default(3)
    assert layout.order == [2, 1, 0] and (layout.vectorSize, layout.perPhase, layout.maxPhase) == (1, 1, 1)
    assert gpu.swizzled_shared_layout.make_default(2).order == [1, 0]
    assert layout.make_permute([1, 0, 2]).order == (1, 2, 0)
    mma = gpu.nv_mma_shared_layout.make_default([64, 32], tl.float16)
    assert mma.swizzled is True and mma.fp4Padded is False and mma.order == [1, 0]
    assert mma == gpu.nv_mma_shared_layout.make_default([64, 32], tl.float16) != layout
    assert str(gpu.smem) == "share_memory" and str(gpu.tmem) == "tensor_memory"
    with pytest.raises(AssertionError):
        gpu.scope("registers")


def test_validator():
    rules = TLESemantic()
    assert rules.validate_alloc_shape((64, 64)) == [64, 64]
    assert rules.validate_alloc_dtype(tl.float32) is tl.float32
    assert rules.validate_extract_index((64, 64), (32, 32), (1, 0)) == 2
    for call, text in (
        (lambda: rules.validate_alloc_shape((4, -1)), "extents must be positive"),
        (lambda: rules.validate_alloc_dtype(int), "Data type must be tl.dtype"),
        (lambda: rules.validate_tile_shape((64,), (48,)), "not divisible by tile dim 48"),
        (lambda: rules.validate_extract_index((64,), (32,), 2), r"out of range \[0, 2\)"),
        (lambda: rules.validate_extract_index((64,), (32,), (2,)), "out of bounds for grid size"),
        (lambda: rules.validate_insert_index((64,), (32,), -1), "non-negative"),
    ):
        with pytest.raises(TLESemanticError, match=text):
            call()


def test_store_to_a_buffer_checks_the_shape():
    with tracing(), pytest.raises(ShapeMismatch) as error:
        gpu.alloc([4], tl.int32).store(tl.arange(0, 8))
    assert message(error) == "tl.store: value of shape [8] does not fit pointers [4]"


def test_alloc_outside_a_kernel():
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        gpu.alloc([4], tl.int32)


def test_memory_space_is_the_identity():
    with tracing() as trace:
        x = trace.symbol(tl.float32, (8,))
        assert gpu.memory_space(x, "shared_memory") is x


def test_pipeline_on_the_host():
    loop = gpu.pipeline(10)
    assert (loop.start, loop.end, loop.step, loop.num_stages) == (0, 10, 1, None)
    loop = gpu.pipeline(2, 10, 4, num_stages=2, loop_unroll_factor=8)
    assert (loop.start, loop.end, loop.step) == (2, 10, 4)
    assert loop.attrs == {"num_stages": 2, "unroll": 8}
    assert isinstance(loop, tl.range)
    with pytest.raises(InvalidArgument, match=r"tl\.range: step must not be 0"):
        tl.range(0, 4, 0)
    with pytest.raises(RuntimeError, match="only inside a kernel"):
        list(tl.static_range(4))
