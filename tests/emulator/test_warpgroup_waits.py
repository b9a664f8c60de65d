"""What a wait for products of a warpgroup covers: all of its warps' parts, whichever warp asks, and no other warpgroup."""

from __future__ import annotations

import numpy as np

from tests.emulator.asynchronous import kernel
from tests.emulator.test_async_helpers import zeros
from tle2cuda.emulator import Emulation, emulate

TURNS = 12
HELPERS = "wgmma_m64n8k16_f32_f16 wgmma_descriptor wgmma_fence wgmma_commit wgmma_wait fence_async_proxy"
BODY = f"""    __shared__ alignas(256) __half a[blockDim.x / 2][16];
    __shared__ alignas(256) __half b[8][16];
    const int group = threadIdx.x / 128, row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    Vector<float, 2> acc[2];
    for (int i = threadIdx.x % 128; i < 64 * 16; i += 128) a[64 * group + i / 16][(i % 16) ^ i / 64 % 2 * 8] = x[i];
    for (int turn = 0; turn < {TURNS}; ++turn) {{
        if (threadIdx.x < 128) b[threadIdx.x / 16][(threadIdx.x % 16) ^ threadIdx.x / 64 % 2 * 8] = y[threadIdx.x];
        fence_async_proxy();
        __syncthreads();
        wgmma_fence();
        const Descriptor left = wgmma_descriptor<32>(a[64 * group], 16, 256), right = wgmma_descriptor<32>(b, 16, 256);
        wgmma_m64n8k16_f32_f16(acc, left, right, turn > 0);
        wgmma_commit();
        wgmma_wait<0>();
    }}
    for (int i = 0; i < 4; ++i) out[(row + i / 2 * 8) * 8 + threadIdx.x % 4 * 2 + i % 2] = acc[i / 2][i % 2];"""


def emulated(warpgroups: int, **options: object) -> Emulation:
    """A loop that writes an operand, multiplies, waits and writes it again, without a barrier behind the wait."""
    rng = np.random.default_rng(3)
    x, y = (rng.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, 8))
    args = {"x": x.reshape(-1), "y": y.reshape(-1), "out": zeros(512 * warpgroups, np.float32)}
    threads, body = 128 * warpgroups, BODY.replace("blockDim.x", str(128 * warpgroups))
    emitted = kernel(body, args, HELPERS, threads=threads, shared=2048 * warpgroups + 256, includes="cuda_fp16.h")
    result = emulate(emitted, 1, args, schedule="random", detect="all", **options)  # type: ignore[arg-type]
    want = np.float32(TURNS) * (x.astype(np.float32) @ y.astype(np.float32).T)
    if warpgroups == 1:
        np.testing.assert_array_equal(result.outputs["out"].reshape(64, 8), want)
    return result


def test_the_wait_of_one_warp_covers_the_whole_warpgroup() -> None:
    # Schedules in which the first thread of a product gives way for so long that others wait for it and go on to write.
    result = emulated(1, seeds=(167, 182, 213), delivery="late", switch_at_accesses=1)
    assert [run.findings for run in result.runs] == [()] * 3


def test_it_covers_no_other_warpgroup() -> None:
    (run,) = emulated(2).runs
    assert {finding.kind for finding in run.findings} & {"race", "in_flight"}
