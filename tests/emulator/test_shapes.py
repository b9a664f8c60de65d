"""What shape operations, sorts and gathers cost: barriers, shared memory and exchanges, counted in emitted files."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.opcases import cases
from tle2cuda.emulator import Counters, emulate
from tle2cuda.language import tle

CASES = cases()


def cost(name: str) -> tuple[Counters, int]:
    """Counters of a case, and its bytes of shared memory."""
    case = CASES[name]
    emitted = case.emit()
    inputs = case.inputs()
    arguments = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    result = emulate(emitted, emitted.contract.launch_grid(case.grid), arguments, detect="counters").check()
    return result.counters, emitted.contract.shared_bytes


@pytest.mark.parametrize(
    "name",
    [
        "interleave_f16_1000",
        "split_f32_2048_warps4",
        "split_f32_64_warps4",
        "split_u8_256_warps8",
        "split_quads_512",
        "split_quads_8",
        "cat_16x64_axis0",
        "cat_16x64_axis1",
        "swap_halves_1024",
        "sort_128x8_axis1_warps4",
    ],
)
def test_what_lies_in_one_thread_stays_there(name: str) -> None:
    counted, shared_bytes = cost(name)
    assert shared_bytes == 0 and not counted.barriers and not counted.collectives


@pytest.mark.parametrize(
    ("name", "barriers", "shared_bytes"),
    [
        ("sort_1x64_axis1_warps4", 0, 0),
        ("sort_1x1024_axis1_warps1", 0, 0),
        ("sort_16x64_axis1_warps4", 0, 0),
        ("sort_1x1024_axis1_warps4", 3, 2 * 4096),
        ("sort_1x1024_axis1_warps8", 6, 2 * 4096),
        ("topk_f32_1x1024_8", 2, 2 * 4096),
        ("topk_f32_16x128_16", 0, 0),
        ("bitonic_merge_1x1024_axis1", 2, 2 * 4096),
        ("bitonic_merge_4x64_axis1", 0, 0),
        ("gather_f32_128x32_128x32_axis1", 0, 0),
        ("gather_f32_64x32_32x32_axis0", 1, 64 * 32 * 4),
    ],
)
def test_barriers_and_shared_memory(name: str, barriers: int, shared_bytes: int) -> None:
    counted, used_bytes = cost(name)
    assert (counted.barriers, used_bytes) == (barriers, shared_bytes)


def test_exchanges_between_warps_have_no_bank_conflicts() -> None:
    counted, _ = cost("sort_1x1024_axis1_warps8")
    assert counted.shared_loads.bank_conflicts == counted.shared_stores.bank_conflicts == 0


@tle2cuda.jit
def quarter(x, out, AT: tl.constexpr, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :])
    H: tl.constexpr = N // 2
    part = tle.extract_tile(value, AT, [H, H])
    tl.store(out + tl.arange(0, H)[:, None] * H + tl.arange(0, H)[None, :], part)


@pytest.mark.parametrize("at", [(0, 0), (1, 1), 2])
def test_large_parts_of_large_tiles_move_nothing(at: tuple[int, int] | int) -> None:
    emitted = tle2cuda.emit(quarter, "*fp32:16, *fp32:16", constants={"AT": at, "N": 512}, arch="sm_90a")
    assert emitted.contract.shared_bytes == 0
    assert emitted.source.count("load_vector<4>(") == emitted.source.count("store_vector(o") == 1


@tle2cuda.jit
def summed_both_ways(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.cumsum(tl.cumsum(tl.load(x + at), 0), 1))


def test_a_tile_larger_than_shared_memory_is_exchanged_in_parts() -> None:
    signature = {"x": "*i64:16", "out": "*i64:16"}
    emitted = tle2cuda.emit(summed_both_ways, signature, {"M": 64, "N": 256}, num_warps=2, arch="sm_86")
    assert emitted.contract.shared_bytes == 64 * 256 * 8 // 2  # of which a CTA may have 99 KiB
    x = np.random.default_rng(7).integers(-(2**60), 2**60, (64, 256))
    result = emulate(emitted, (1,), {"x": x, "out": np.zeros_like(x)}, detect="all").check()
    assert np.array_equal(result.outputs["out"], x.cumsum(0).cumsum(1))
