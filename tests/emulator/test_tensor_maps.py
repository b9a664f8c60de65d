"""Tensor maps: what boxes hold at edges and under swizzles, against a model in NumPy; what the driver would refuse."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.asynchronous import kernel
from tle2cuda.emulator import TensorMap, emulate, encode_tiled, tensor_map
from tle2cuda.errors import ArgumentError, NotSupported

SCHEDULES = ("forward", "reverse", "random")


def load_kernel(rank: int) -> str:
    names = ", ".join(f"c{axis}" for axis in range(rank))
    return f"""    __shared__ Barrier barrier;
    extern __shared__ alignas(1024) unsigned char tile[];
    if (threadIdx.x == 0) {{
        mbarrier_init(&barrier, 1);
        fence_mbarrier_init();
        mbarrier_expect_bytes(&barrier, bytes);
        tma_load_{rank}d(tile + first, &map, &barrier, {names});
        mbarrier_wait(&barrier, 0);
    }}
    __syncwarp();
    for (int i = threadIdx.x; i < bytes; i += 32) out[i] = tile[first + i];"""


def store_kernel(rank: int) -> str:
    names = ", ".join(f"c{axis}" for axis in range(rank))
    return f"""    extern __shared__ alignas(1024) unsigned char tile[];
    for (int i = threadIdx.x; i < bytes; i += 32) tile[first + i] = x[i];
    fence_async_proxy();
    __syncwarp();
    if (threadIdx.x == 0) {{
        tma_store_{rank}d(&map, tile + first, {names});
        tma_store_commit();
        tma_store_wait();
    }}"""


def places(made: TensorMap, start: tuple[int, ...], first: int) -> tuple[np.ndarray, list[Any]]:
    """For each element of a box, the innermost dimension first: its byte in shared memory, its index in the array.

    The index is None outside of the array. Written element by element, unlike the emulator's rows and chunks.
    """
    counts = [-(-box // step) for box, step in zip(made.box, made.element_strides, strict=True)]
    counts[0] = made.box[0]
    item = made.array.itemsize
    offsets, indices = [], []
    for number, reverse in enumerate(itertools.product(*(range(count) for count in reversed(counts)))):
        inner_first = tuple(reversed(reverse))
        steps = (1, *made.element_strides[1:])
        at = [c + i * step for c, i, step in zip(start, inner_first, steps, strict=True)]
        address = first + number * item
        span = {0: 0, 32: 1, 64: 3, 128: 7}[made.swizzle_bytes]
        chunk, line = address // 16, address // 128
        offsets.append((chunk ^ (line & span)) * 16 + address % 16 - first)
        inside = all(0 <= a < extent for a, extent in zip(at, made.extents, strict=True))
        indices.append(tuple(reversed(at)) if inside else None)
    return np.array(offsets), indices


def expected_load(made: TensorMap, start: tuple[int, ...], first: int) -> np.ndarray:
    item = made.array.itemsize
    offsets, indices = places(made, start, first)
    fill = np.zeros(1, made.array.dtype)
    if made.oob_fill == "nan":
        fill = {2: np.array([0x7FFF], np.uint16), 4: np.array([0x7FFFFFFF], np.uint32)}[item]
    result = np.zeros(len(offsets) * item, np.uint8)
    for offset, index in zip(offsets, indices, strict=True):
        value = fill if index is None else made.array[index].reshape(1)
        result[offset : offset + item] = value.view(np.uint8)
    return result


def run_load(made: TensorMap, start: tuple[int, ...], first: int = 0) -> np.ndarray:
    counts = [made.box[0], *(-(-b // s) for b, s in zip(made.box[1:], made.element_strides[1:], strict=True))]
    size = int(np.prod(counts)) * made.array.itemsize
    args = {"map": made, "out": np.zeros(size, np.uint8), "first": first, "bytes": size}
    args |= {f"c{axis}": c for axis, c in enumerate(start)}
    helpers = "mbarrier_init fence_mbarrier_init mbarrier_expect_bytes mbarrier_wait "
    emitted = kernel(load_kernel(len(start)), args, helpers + f"tma_load_{len(start)}d", shared=8, dynamic_shared=48 * 1024)
    outputs = [emulate(emitted, 1, args, schedule=s, detect="all").check().outputs["out"] for s in SCHEDULES]
    assert all((out == outputs[0]).all() for out in outputs)
    return outputs[0]


def filled(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(3).integers(1, 120, shape).astype(dtype)


@pytest.mark.parametrize("start", [(0, 0), (4, 3), (-4, -2), (32, 15), (100, 0), (0, 50), (-64, -64)])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_boxes_under_swizzles_and_over_edges(swizzle: int, start: tuple[int, int]) -> None:
    made = tensor_map(filled((20, 40)), (16, (swizzle or 80) // 4), swizzle_bytes=swizzle)
    np.testing.assert_array_equal(run_load(made, start), expected_load(made, start, 0))


@pytest.mark.parametrize("first", [0, 128, 384, 1024])
def test_a_swizzle_follows_the_address(first: int) -> None:
    made = tensor_map(filled((20, 40)), (16, 32), swizzle_bytes=128)
    np.testing.assert_array_equal(run_load(made, (4, 2), first), expected_load(made, (4, 2), first))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float16, ml_dtypes.bfloat16, np.int32, np.float64, np.int64])
def test_element_types(dtype: Any) -> None:
    made = tensor_map(filled((8, 64), dtype), (4, 16))
    np.testing.assert_array_equal(run_load(made, (48, -1)), expected_load(made, (48, -1), 0))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_nan_outside(dtype: Any) -> None:
    made = tensor_map(filled((8, 64), dtype), (4, 16), oob_fill="nan")
    got = run_load(made, (56, 6))
    np.testing.assert_array_equal(got, expected_load(made, (56, 6), 0))
    assert np.isnan(got.view(dtype).astype(np.float32)).sum() == 4 * 16 - 2 * 8


@pytest.mark.parametrize(
    ("shape", "box", "start"),
    [
        ((50,), (32,), (-4,)),
        ((3, 5, 12), (2, 4, 8), (8, 3, -1)),
        ((2, 3, 5, 12), (2, 2, 4, 8), (-4, 2, 2, 1)),
        ((2, 2, 3, 5, 12), (1, 2, 2, 3, 8), (4, -1, 1, 1, 1)),
    ],
)
def test_other_ranks(shape: tuple[int, ...], box: tuple[int, ...], start: tuple[int, ...]) -> None:
    padded = filled((*shape[:-1], -(-shape[-1] // 4) * 4 + 4))
    made = tensor_map(padded[..., : shape[-1]], box)
    np.testing.assert_array_equal(run_load(made, start), expected_load(made, start, 0))


@pytest.mark.parametrize("steps", [(1, 2), (3, 1), (4, 8)])
def test_element_strides(steps: tuple[int, int]) -> None:
    made = encode_tiled(filled((40, 64)), (64, 40), (256,), (16, 24), (1, steps[1]))
    assert made.element_strides == (1, steps[1])
    np.testing.assert_array_equal(run_load(made, (4, steps[0])), expected_load(made, (4, steps[0]), 0))


@pytest.mark.parametrize("start", [(0, 0), (4, 3), (8, 0), (32, 15), (100, 0), (0, 40)])
@pytest.mark.parametrize("swizzle", [0, 128])
def test_stores_are_clipped(swizzle: int, start: tuple[int, int]) -> None:
    array = filled((20, 40))
    made = tensor_map(array, (16, 32), swizzle_bytes=swizzle)
    x = np.random.default_rng(5).integers(0, 100, 16 * 32).astype(np.float32)
    args = {"map": made, "x": x.view(np.uint8), "first": 0, "bytes": x.nbytes, "c0": start[0], "c1": start[1]}
    emitted = kernel(
        store_kernel(2), args, "tma_store_2d tma_store_commit tma_store_wait fence_async_proxy", dynamic_shared=8192
    )
    want = array.copy()
    offsets, indices = places(made, start, 0)
    for offset, index in zip(offsets, indices, strict=True):
        if index is not None:
            want[index] = x[offset // 4]
    for schedule in SCHEDULES:
        outputs = emulate(emitted, 1, args, schedule=schedule, detect="all").check().outputs
        np.testing.assert_array_equal(outputs["map"], want)


# ---- What the driver refuses ----

ARRAY = np.zeros((16, 64), np.float32)
REFUSED = {
    "tensor map: box of 257 elements along dimension 1; between 1 and 256": lambda: tensor_map(ARRAY, (257, 4)),
    "tensor map: box of 0 elements along dimension 0; between 1 and 256": lambda: tensor_map(ARRAY, (4, 0)),
    "tensor map: rows of a box have 12 bytes, no multiple of 16": lambda: tensor_map(ARRAY, (4, 3)),
    "tensor map: rows of a box have 256 bytes, more than the 128 of the swizzle": lambda: tensor_map(
        ARRAY, (4, 64), swizzle_bytes=128
    ),
    "tensor map: stride of 252 bytes along dimension 1; a multiple of 16 below 2^40": lambda: tensor_map(
        np.zeros((4, 63), np.float32), (4, 4)
    ),
    "tensor map: neighbours of the last dimension are 8 bytes apart, not 4": lambda: tensor_map(ARRAY[:, ::2], (4, 4)),
    "tensor map: an array of 6 dimensions; there are 1 to 5": lambda: tensor_map(
        np.zeros((2,) * 5 + (4,), np.float32), (1,) * 5 + (4,)
    ),
    "tensor map: element stride 9 along dimension 1; between 1 and 8": lambda: tensor_map(
        ARRAY, (4, 4), element_strides=(9, 1)
    ),
    "tensor map: swizzle of 16 bytes; 0, 32, 64 or 128": lambda: tensor_map(ARRAY, (4, 4), swizzle_bytes=16),
    "tensor map: elements of type int32 outside of the array cannot be NaN": lambda: tensor_map(
        ARRAY.view(np.int32), (4, 4), oob_fill="nan"
    ),
    "tensor map: the array begins at 4 bytes behind a multiple of 16": lambda: tensor_map(ARRAY[:, 1:], (4, 4)),
    "tensor map: elements of type complex64; ": lambda: tensor_map(np.zeros((4, 4), np.complex64), (4, 4)),
    "tensor map: extents (64, 17) and strides (256,) reach 4352 bytes far, the array has 4096": lambda: encode_tiled(
        ARRAY, (64, 17), (256,), (4, 4)
    ),
    "tensor map: box for 1 dimensions, 2 needed": lambda: encode_tiled(ARRAY, (64, 16), (256,), (4,)),
    "tensor map: interleave of 8 bytes; 0, 16 or 32": lambda: encode_tiled(
        ARRAY, (64, 16), (256,), (4, 4), interleave_bytes=8
    ),
    "tensor map: L2 promotion of 32 bytes; 0, 64, 128 or 256": lambda: encode_tiled(
        ARRAY, (64, 16), (256,), (4, 4), l2_promotion_bytes=32
    ),
    "tensor map: extent 0 of dimension 0; between 1 and 2^32": lambda: encode_tiled(ARRAY, (0, 16), (256,), (4, 4)),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_the_driver_refuses(message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        REFUSED[message]()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("options", [{"interleave_bytes": 32}, {"swizzle_bytes": 128}])
def test_what_the_emulator_does_not_know(options: dict[str, int]) -> None:
    with pytest.raises(NotSupported, match="the emulator"):
        encode_tiled(ARRAY, (64, 16), (256,), (4, 4), **options)


def test_an_array_is_no_tensor_map() -> None:
    args = {"map": tensor_map(ARRAY, (4, 4)), "x": np.zeros(64, np.uint8), "first": 0, "bytes": 64, "c0": 0, "c1": 0}
    emitted = kernel(store_kernel(2), args, "tma_store_2d tma_store_commit tma_store_wait fence_async_proxy")
    with pytest.raises(ArgumentError, match="argument map is a tensor map, got ndarray"):
        emulate(emitted, 1, {**args, "map": ARRAY})


def test_a_map_of_another_rank_is_a_finding() -> None:
    args = {"map": tensor_map(ARRAY, (4, 4)), "x": np.zeros(64, np.uint8), "first": 0, "bytes": 64, "c0": 0}
    emitted = kernel(
        store_kernel(1), args, "tma_store_1d tma_store_commit tma_store_wait fence_async_proxy", dynamic_shared=1024
    )
    found = emulate(emitted, 1, args).failed
    assert found.kind == "tensor_map" and found.message == "a tensor copy in 1 dimensions by a tensor map of 2"


def test_a_misaligned_tile_is_a_finding() -> None:
    args = {"map": tensor_map(ARRAY, (4, 4)), "x": np.zeros(64, np.uint8), "first": 16, "bytes": 64, "c0": 0, "c1": 0}
    emitted = kernel(
        store_kernel(2), args, "tma_store_2d tma_store_commit tma_store_wait fence_async_proxy", dynamic_shared=1024
    )
    found = emulate(emitted, 1, args).failed
    assert found.kind == "misaligned" and "not aligned to 128 bytes" in found.message


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        ((5, 0), "misaligned", "a tensor copy with the innermost coordinate 5, 20 bytes, no multiple of 16"),
        ((-3, 0), "misaligned", "a tensor copy with the innermost coordinate -3, -12 bytes, no multiple of 16"),
        ((-4, 0), "out_of_bounds", "a tensor copy to the negative coordinate -4 of dimension 0"),
        ((0, -1), "out_of_bounds", "a tensor copy to the negative coordinate -1 of dimension 1"),
    ],
)
@pytest.mark.parametrize("is_load", [False, True])
def test_coordinates_at_which_the_gpu_faults(is_load: bool, start: tuple[int, int], kind: str, message: str) -> None:
    args = {"map": tensor_map(ARRAY, (4, 4)), "first": 0, "bytes": 64, "c0": start[0], "c1": start[1]}
    if is_load:
        args["out"] = np.zeros(64, np.uint8)
        helpers = "mbarrier_init fence_mbarrier_init mbarrier_expect_bytes mbarrier_wait tma_load_2d"
        emitted = kernel(load_kernel(2), args, helpers, shared=8, dynamic_shared=1024)
    else:
        args["x"] = np.zeros(64, np.uint8)
        helpers = "tma_store_2d tma_store_commit tma_store_wait fence_async_proxy"
        emitted = kernel(store_kernel(2), args, helpers, dynamic_shared=1024)
    found = emulate(emitted, 1, args).failed
    if is_load and kind == "out_of_bounds":  # is filled
        assert found is None
        return
    assert found is not None and (found.kind, found.message) == (kind, message)
    called = f"tma_{'load' if is_load else 'store'}_2d("
    assert found.location is not None and found.location.text.startswith(called)


@pytest.mark.parametrize(("columns", "first", "is_torn"), [(6, 4, True), (6, 0, False), (8, 4, False), (6, 8, False)])
def test_stores_across_the_end_of_rows(columns: int, first: int, is_torn: bool) -> None:
    """An H200 writes whole units of 16 bytes."""
    window = ARRAY[:, :columns]
    args = {"map": tensor_map(window, (4, 4)), "x": np.zeros(64, np.uint8), "first": 0, "bytes": 64, "c0": first, "c1": 0}
    helpers = "tma_store_2d tma_store_commit tma_store_wait fence_async_proxy"
    found = emulate(kernel(store_kernel(2), args, helpers, dynamic_shared=1024), 1, args).failed
    assert (found is not None) == is_torn
    if found is not None:
        assert found.kind == "out_of_bounds"
        assert (
            found.message == "a tensor copy across the end of rows of 24 bytes, no multiple of 16, which writes beyond it"
        )


def test_a_reduction_to_a_negative_coordinate() -> None:
    args = {"map": tensor_map(ARRAY, (4, 4)), "x": np.zeros(64, np.uint8), "first": 0, "bytes": 64, "c0": 0, "c1": -2}
    body = store_kernel(2).replace("tma_store_2d", "tma_reduce_add_2d")
    helpers = "tma_reduce_add_2d tma_store_commit tma_store_wait fence_async_proxy"
    found = emulate(kernel(body, args, helpers, dynamic_shared=1024), 1, args).failed
    assert found is not None
    assert (found.kind, found.message) == (
        "out_of_bounds",
        "a tensor reduction to the negative coordinate -2 of dimension 1",
    )


@pytest.mark.parametrize(
    ("kind", "dtype", "works"),
    [
        ("add", np.float32, True),
        ("add", np.int64, False),
        ("add", np.float64, False),
        ("max", np.int64, True),
        ("min", np.float32, False),
        ("or", np.int64, False),
        ("or", np.uint64, True),
        ("xor", np.int32, True),
        ("and", np.float32, False),
    ],
)
def test_elements_that_reductions_have(kind: str, dtype: type, works: bool) -> None:
    array = np.zeros((8, 8), dtype)
    size = 16 * array.itemsize
    args = {"map": tensor_map(array, (4, 4)), "x": np.zeros(size, np.uint8), "first": 0, "bytes": size, "c0": 0, "c1": 0}
    body = store_kernel(2).replace("tma_store_2d", f"tma_reduce_{kind}_2d")
    helpers = f"tma_reduce_{kind}_2d tma_store_commit tma_store_wait fence_async_proxy"
    found = emulate(kernel(body, args, helpers, dynamic_shared=1024), 1, args).failed
    assert (found is None) == works
    assert found is None or (found.kind, found.message) == (
        "tensor_map",
        "a tensor reduction that its elements do not have",
    )
