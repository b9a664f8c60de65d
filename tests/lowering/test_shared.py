"""How the kernel's shared memory is declared."""

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.golden import nvrtc_compile
from tests.lowering.emitted import emitted
from tle2cuda.language import tle


@tle2cuda.jit
def write_only(x, N: tl.constexpr):
    i = tl.arange(0, N)
    kept = tle.gpu.alloc([N], tl.float32, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(kept, (i,)), tl.load(x + i))


@tle2cuda.jit
def write_one(x, N: tl.constexpr):
    kept = tle.gpu.alloc([N], tl.float32, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(kept, (N - 1,)), tl.load(x))


@tle2cuda.jit
def write_and_read(x, N: tl.constexpr):
    i = tl.arange(0, N)
    kept = tle.gpu.alloc([N], tl.float32, nv_mma_shared_layout=False)
    kept.store(tl.load(x + i))
    tl.store(x + i, tl.load(tle.gpu.local_ptr(kept, (N - 1 - i,))))


@pytest.mark.parametrize("kernel", [write_only, write_one])
@pytest.mark.parametrize("extent", [8, 64, 512, 16384])
def test_memory_that_nothing_reads_compiles_without_a_warning(kernel, extent):
    source = emitted(kernel, "x *fp32:16", N=extent).source
    assert ("[[maybe_unused]] __shared__ Shared shared;" in source) == (extent < 16384)
    nvrtc_compile(source, "sm_90a")


def test_memory_that_is_read_is_declared_plainly():
    assert "    __shared__ Shared shared;" in emitted(write_and_read, "x *fp32:16", N=64).source
