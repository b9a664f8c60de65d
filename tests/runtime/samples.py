"""Small hand-written kernels with their contracts, standing in for emitted ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tle2cuda.ir.span import Span
from tle2cuda.runtime import ArgSpec, LaunchContract, ScratchSpec


@dataclass(frozen=True)
class Sample:
    source: str
    contract: LaunchContract
    line_map: tuple[tuple[int, Span], ...] = ()
    op_map: tuple[tuple[int, str], ...] = ()
    ir_dumps: Mapping[str, str] = field(default_factory=dict)


def contract(name: str, *args: ArgSpec, **fields: object) -> LaunchContract:
    base = LaunchContract(name, "sample.py", 1, "sm_90a", args)
    return replace(base, **fields)  # type: ignore[arg-type]


def pointer(name: str, dtype: str, divisibility: int = 16) -> ArgSpec:
    return ArgSpec(name, "pointer", dtype, divisibility)


def scalar(name: str, dtype: str) -> ArgSpec:
    return ArgSpec(name, "scalar", dtype)


ADD_SOURCE = """\
// add.cu

extern "C" __global__ void __launch_bounds__(128)
add(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ out, const int n)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}
"""

ADD = Sample(
    ADD_SOURCE,
    contract("add", pointer("x", "fp32"), pointer("y", "fp32"), pointer("out", "fp32"), scalar("n", "i32")),
)

SCALARS = Sample(
    """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void scalars(double* out, bool a, signed char b, short c, int d, long long e,
                                   unsigned long long f, __half g, __nv_bfloat16 h, float i, double j)
{
    if (threadIdx.x == 0) {
        const double values[] = {double(a), double(b), double(c), double(d), double(e), double(f),
                                 double(__half2float(g)), double(__bfloat162float(h)), double(i), j};
        for (int k = 0; k < 10; ++k) out[k] = values[k];
    }
}
""",
    contract(
        "scalars",
        pointer("out", "fp64"),
        *(
            scalar(name, dtype)
            for name, dtype in zip(
                "abcdefghij",
                ("i1", "i8", "i16", "i32", "i64", "u64", "fp16", "bf16", "fp32", "fp64"),
                strict=True,
            )
        ),
        cta_threads=32,
    ),
)

DYNAMIC_SHARED_BYTES = 100 * 1024
SHARED = Sample(
    """\
extern "C" __global__ void __launch_bounds__(128) reverse(int* out)
{
    extern __shared__ __align__(16) unsigned char shared_bytes[];
    int* const values = reinterpret_cast<int*>(shared_bytes);
    for (int i = threadIdx.x; i < 25600; i += 128) values[i] = i;
    __syncthreads();
    for (int i = threadIdx.x; i < 25600; i += 128) out[i] = values[25599 - i];
}
""",
    contract("reverse", pointer("out", "i32"), dynamic_shared_bytes=DYNAMIC_SHARED_BYTES),
)

COOPERATIVE = Sample(
    """\
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void __launch_bounds__(1024) total(int* partial, int* out)
{
    if (threadIdx.x == 0) partial[blockIdx.x] = blockIdx.x + 1;
    cg::this_grid().sync();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; ++i) sum += partial[i];
        out[blockIdx.x] = sum;
    }
}
""",
    contract("total", pointer("partial", "i32"), pointer("out", "i32"), cta_threads=1024, cooperative=True),
)

CLUSTER = Sample(
    """\
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32) ranks(int* out)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) out[blockIdx.x] = rank;
}
""",
    contract("ranks", pointer("out", "i32"), cta_threads=32, cluster=(2, 1, 1), min_arch="sm_90"),
)

SCRATCH = Sample(
    """\
extern "C" __global__ void __launch_bounds__(32) tickets(int* out, int* counter, int* marks)
{
    if (threadIdx.x == 0) {
        const int ticket = atomicAdd(counter, 1);
        marks[blockIdx.x] += 1;
        out[blockIdx.x] = 1000 * marks[blockIdx.x] + ticket;
    }
}
""",
    contract(
        "tickets",
        pointer("out", "i32"),
        cta_threads=32,
        scratch=(ScratchSpec("counter", fixed_bytes=4), ScratchSpec("marks", bytes_per_cta=4)),
    ),
)

BLOCK_SCAN = Sample(
    """\
#include <cub/block/block_scan.cuh>

using BlockScan = cub::BlockScan<int, 128>;

extern "C" __global__ void __launch_bounds__(128) scan(int* values)
{
    __shared__ BlockScan::TempStorage storage;
    int value = values[threadIdx.x];
    BlockScan(storage).InclusiveSum(value, value);
    values[threadIdx.x] = value;
}
""",
    contract("scan", pointer("values", "i32")),
)
