"""A mixture of experts' layer against float64: in the interpreter, as emitted files in the emulator, and on a GPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tle2cuda
from kernels import fused_moe as layer
from kernels.fused_moe import Tile, Tiles, choose_tiles, fused_moe, fused_moe_reference
from kernels.fused_moe_few import Tile as FewTile
from kernels.fused_moe_few import fused_moe_few, takes_few_tokens
from tests.golden import GOLDEN_TARGET, nvrtc_compile
from tests.kernels.places import on

BF16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {np.dtype(np.float16): 4e-3, BF16: 3e-2}  # of the largest of the results; two of three products are rounded
SMALL = Tiles(16, Tile(32, 32, 2, 4, 3), Tile(32, 32, 2, 4, 3))


def problem(tokens: int, size: int, inner: int, experts: int, top_k: int, dtype: Any) -> list[np.ndarray]:
    random = np.random.default_rng(tokens)
    ids = np.stack([random.permutation(experts)[:top_k] for _ in range(tokens)]).astype(np.int32)
    shapes = ((tokens, size), (experts, 2 * inner, size), (experts, size, inner))
    x, w_gate_up, w_down = (random.standard_normal(shape) * shape[-1] ** -0.5 for shape in shapes)
    weights = random.random((tokens, top_k), np.float32)
    return [(x * size**0.5).astype(dtype), w_gate_up.astype(dtype), w_down.astype(dtype), weights, ids]


def run(where: str, inputs: list[np.ndarray], tiles: Tiles | None) -> None:
    arrays = [*inputs, np.full_like(inputs[0], 7)]
    if where == "gpu":
        import cupy

        arrays = [cupy.asarray(x) for x in arrays]
    with on(where):
        result = fused_moe(*arrays, tiles=tiles)
    actual = (result.get() if where == "gpu" else result).astype(np.float64)
    expected = fused_moe_reference(*inputs)
    limit = TOLERANCE[inputs[0].dtype] * float(np.abs(expected).max())
    np.testing.assert_allclose(actual, expected, rtol=0, atol=limit)


@pytest.mark.parametrize(
    ("sizes", "dtype"), [((50, 40, 48, 8, 2), np.float16), ((1, 64, 32, 16, 8), BF16), ((33, 72, 40, 3, 3), np.float16)]
)
def test_fused_moe(sizes: tuple[int, int, int, int, int], dtype: Any) -> None:
    run("interpreter", problem(*sizes, dtype), SMALL)


def test_choices_that_are_no_expert_count_nothing() -> None:
    inputs = problem(20, 32, 32, 4, 2, np.float16)
    inputs[4][::3, 0], inputs[4][5] = -1, 4
    run("interpreter", inputs, SMALL)


def test_choices_out_of_wider_arrays() -> None:
    """The router's choices need not lie one behind the other; of one choice each, a flat view would keep its stride."""
    for top_k in (1, 2):
        inputs = problem(5, 32, 32, 4, top_k, np.float16)
        for i in (3, 4):
            inputs[i] = np.concatenate([inputs[i], np.zeros_like(inputs[i])], 1)[:, :top_k]
        run("interpreter", inputs, SMALL)


def test_emitted_fused_moe() -> None:
    """Blocks of 16 rows, and of 64, as products of warpgroups need."""
    run("emulator", problem(13, 40, 40, 4, 2, np.float16), SMALL)
    run("emulator", problem(5, 40, 40, 2, 1, np.float16), SMALL._replace(block_m=64))


@pytest.mark.parametrize("where", ["interpreter", "emulator"])
def test_few_tokens(where: str) -> None:
    """More tiles than CTAs and fewer, steps that are not whole, choices that are no expert; counts end at zero."""
    inputs = problem(1, 384, 128, 3, 3, BF16)
    inputs[4][0, 1] = -1
    out, hidden, counters = np.full_like(inputs[0], 7), np.full((3, 128), 7, BF16), np.zeros(2, np.int32)
    for _ in range(2 if where == "interpreter" else 1):
        with on(where):
            fused_moe_few(*inputs, hidden, out, counters=counters, tile=FewTile(16, 2, 2, 2), ctas=3)
        expected = fused_moe_reference(*inputs)
        np.testing.assert_allclose(out.astype(np.float64), expected, rtol=0, atol=2e-2 * np.abs(expected).max())
        assert not counters.any()


def test_few_tokens_go_without_aligning() -> None:
    inputs = problem(1, 128, 128, 4, 2, BF16)
    run("interpreter", inputs, None)
    x, w_gate_up, w_down, _, ids = inputs
    assert takes_few_tokens(x, w_gate_up, w_down, ids)
    assert not takes_few_tokens(x, w_gate_up[:, :, :64], w_down[:, :64], ids)
    assert not takes_few_tokens(np.repeat(x, 2, 0), w_gate_up, w_down, np.repeat(ids, 2, 0))


@pytest.mark.gpu
@pytest.mark.parametrize(("sizes", "dtype"), [((1, 1280, 640, 16, 3), BF16), ((1, 3072, 1408, 9, 8), np.float16)])
def test_one_token_on_a_gpu(sizes: tuple[int, int, int, int, int], dtype: Any) -> None:
    inputs = problem(*sizes, dtype)
    assert takes_few_tokens(inputs[0], inputs[1], inputs[2], inputs[4])
    run("gpu", inputs, None)


@pytest.mark.gpu
@pytest.mark.parametrize(("tokens", "dtype"), [(3, BF16), (300, np.float16), (2000, BF16)])
def test_on_a_gpu(tokens: int, dtype: Any) -> None:
    """One problem for each of the sizes that are chosen among."""
    run("gpu", problem(tokens, 520, 264, 16, 4, dtype), None)


def test_sizes_grow_with_the_slots() -> None:
    assert [choose_tiles(slots, 64).block_m for slots in (8, 4096, 65536)] == [16, 64, 128]


def test_wrong_shapes_are_refused() -> None:
    x, w_gate_up, w_down, weights, ids = problem(4, 32, 32, 4, 2, np.float16)
    with pytest.raises(ValueError, match=r"w_down must be \[4, 32, 32\]"):
        fused_moe(x, w_gate_up, w_down[:, :16], weights, ids, x)
    with pytest.raises(ValueError, match=r"must be \[4, K\]"):
        fused_moe(x, w_gate_up, w_down, weights[:2], ids[:2], x)


@pytest.mark.parametrize("kernel", [layer.moe_gate_up, layer.moe_down], ids=lambda kernel: kernel.fn.__name__)
@pytest.mark.parametrize(
    "tiles", [layer.TILES_OF_FEW, *(tiles for _, tiles in layer.TILES)], ids=lambda tiles: str(tiles.block_m)
)
def test_products_of_all_tiles_stay_in_flight(kernel: Any, tiles: Tiles) -> None:
    """No tile spills, and ptxas makes no product wait for the one before it."""
    tile = tiles.gate_up if kernel is layer.moe_gate_up else tiles.down
    n, k, group_m, warps, stages = tile
    constants = {"TOP_K": 8, "BLOCK_M": tiles.block_m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": group_m}
    arrays = dict.fromkeys(("x", "weights", "hidden", "partial", "out"), "*bf16:16") | {"topk_weights": "*fp32:16"}
    arrays |= dict.fromkeys(("sorted_ids", "expert_ids", "num_post_pad"), "*i32:16")
    signature = ", ".join(str(constants.get(name, arrays.get(name, "i32:16"))) for name in kernel.arg_names)
    options = {"num_warps": warps, "num_stages": stages, "arch": GOLDEN_TARGET}
    compiled = nvrtc_compile(tle2cuda.emit(kernel, signature=signature, **options).source, GOLDEN_TARGET)
    assert (compiled.spill_bytes, compiled.stack_bytes, compiled.waits_for_products) == (0, 0, False)
