"""On a GPU: one warp's wait for products covers what its whole warpgroup reads, however late the other warps come.

The compiler builds on it (`analysis/hazards.py`, `passes/pipe_releases.py`), and the emulator's model says the same.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.asynchronous import kernel
from tle2cuda.compiler import EmittedKernel
from tle2cuda.runtime import KernelCache, build

cupy = pytest.importorskip("cupy")
pytestmark = pytest.mark.gpu

LATE_NS = 20_000
STEPS = 32
TILES = """    __shared__ alignas(1024) __half a[64][64];
    __shared__ alignas(1024) __half b[64][64];
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) {
        a[i / 64][(i % 64) ^ i / 64 % 8 * 8] = x[i];
        b[i % 64][(i / 64) ^ i % 64 % 8 * 8] = y[i];
    }
    fence_async_proxy();
    __syncthreads();
"""
# One warp sleeps in front of the products or amid them; all others write over the operands as soon as their wait is over.
BODY = (
    TILES
    + f"""    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = 16 * (warp % 4) + lane / 4;
LEFT
    const Descriptor b_first = wgmma_descriptor<128>(b, 16, 1024);
    const unsigned sleep = warp == late ? {LATE_NS} : 0;
    Vector<float, 2> acc[16];
    if (!is_amid) asm volatile("nanosleep.u32 %0;" ::"r"(sleep) : "memory");
    wgmma_fence();
    #pragma unroll
    for (int step = 0; step < {STEPS}; ++step) {{
        if (step == {STEPS // 2}) asm volatile("nanosleep.u32 %0;" ::"r"(is_amid ? sleep : 0) : "memory");
        PRODUCT;
    }}
    wgmma_commit();
    wgmma_wait<0>();
    if (warp != late)
        for (int i = lane; i < 64 * 64; i += 32) a[i / 64][i % 64] = b[i / 64][i % 64] = __ushort_as_half(0x7e00);
    for (int i = 0; i < 32; ++i)
        out[warp / 4 * 4096 + (row + i % 4 / 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = acc[i / 2][i % 2];"""
)
LEFT = {
    "in shared memory": "    const Descriptor a_first = wgmma_descriptor<128>(a, 16, 1024);",
    "in registers": """    (void)a;
    const __half* const pairs = x + 64 * row + lane % 4 * 2;
    unsigned fragments[4][4];
    for (int step = 0; step < 4; ++step)
        for (int i = 0; i < 4; ++i)
            fragments[step][i] = *reinterpret_cast<const unsigned*>(pairs + 16 * step + i % 2 * 8 * 64 + i / 2 * 8);""",
}
PRODUCTS = {
    "in shared memory": "wgmma_m64n64k16_f32_f16(acc, a_first + step % 4 * 2, b_first + step % 4 * 2, step > 0)",
    "in registers": "wgmma_m64n64k16_f32_f16_a_registers(acc, fragments[step % 4], b_first + step % 4 * 2, step > 0)",
}
HELPERS = "wgmma_descriptor wgmma_fence wgmma_commit wgmma_wait fence_async_proxy "


def emitted(threads: int, operand: str, arrays: dict[str, np.ndarray]) -> EmittedKernel:
    """The kernel for one warpgroup or two, which share both operands."""
    product = PRODUCTS[operand]
    return kernel(
        BODY.replace("LEFT", LEFT[operand]).replace("PRODUCT", product),
        {**arrays, "late": np.int32(0), "is_amid": np.int32(0)},
        HELPERS + product.partition("(")[0],
        threads=threads,
        shared=2 * 64 * 64 * 2,
        includes="cuda_fp16.h",
    )


def wrong_runs(threads: int, operand: str, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, bool]]:
    """The late warp and whether it sleeps amid the products, of each run that gave a wrong sum."""
    rng = np.random.default_rng(5)
    x, y = (rng.integers(-4, 5, (64, 64)).astype(np.float16) for _ in range(2))
    want = STEPS // 4 * (x.astype(np.float32) @ y.astype(np.float32))
    arrays = {"x": x.reshape(-1), "y": y.reshape(-1), "out": np.zeros(threads // 128 * 4096, np.float32)}
    compiled = build(emitted(threads, operand, arrays), cache=KernelCache(tmp_path_factory.mktemp("cache")))
    on_device = [cupy.asarray(array) for array in arrays.values()]
    found = []
    for late in range(threads // 32):
        for is_amid in (0, 1):
            on_device[2].fill(7)
            compiled((1,), (threads,), (*on_device, late, is_amid))
            if (on_device[2].get().reshape(-1, 64, 64) != want).any():
                found.append((late, bool(is_amid)))
    return found


@pytest.mark.parametrize("operand", PRODUCTS)
def test_a_wait_covers_the_warpgroup(operand: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert wrong_runs(128, operand, tmp_path_factory) == []


def test_a_wait_covers_no_other_warpgroup(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert {late for late, is_amid in wrong_runs(256, "in shared memory", tmp_path_factory) if not is_amid} == set(range(8))
