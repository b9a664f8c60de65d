from __future__ import annotations

from dataclasses import replace

import pytest

from tests.runtime import samples
from tle2cuda.errors import InternalError
from tle2cuda.runtime.cubin import read_cubin
from tle2cuda.runtime.nvrtc import CompileOptions, compile_source
from tle2cuda.runtime.report import Resources, make_report, occupancy, resources_from_log, resources_of
from tle2cuda.targets import parse_target

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'helper' for 'sm_90a'
ptxas info    : Function properties for helper
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers
ptxas info    : Compiling entry function 'main' for 'sm_90a'
ptxas info    : Function properties for main
ptxas         .     48 bytes stack frame, 52 bytes spill stores, 64 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 48 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 4.433 ms
"""


def test_log_of_ptxas() -> None:
    assert resources_from_log(LOG, "main") == Resources(255, 52, 64, 48, 4096)
    assert resources_from_log(LOG, "helper") == Resources(10, 0, 0, 0, 0)
    assert resources_from_log(LOG, "absent") is None
    assert resources_from_log("", "main") is None


@pytest.mark.parametrize(
    ("target", "threads", "registers", "shared", "ctas", "limit"),
    [
        # Worked by hand from the limits of each architecture.
        ("sm_90a", 128, 32, 0, 16, "warps"),  # 64 warps / 4
        ("sm_90a", 32, 16, 0, 32, "CTAs"),
        ("sm_90a", 256, 128, 0, 2, "registers"),  # 16 warps of 4096 registers = 65536
        ("sm_90a", 1024, 64, 0, 1, "registers"),  # 32 warps of 2048 registers = 65536
        ("sm_90a", 1024, 65, 0, 0, "registers"),  # 2304 a warp: 32 warps do not fit
        ("sm_90a", 128, 32, 100 * 1024, 2, "shared memory"),  # 228 / 101
        ("sm_90a", 128, 32, 227 * 1024, 1, "shared memory"),
        ("sm_90a", 128, 32, 228 * 1024, 0, "shared memory"),
        ("sm_80", 128, 32, 0, 16, "warps"),
        ("sm_89", 128, 32, 0, 12, "warps"),  # 48 warps / 4
        ("sm_75", 128, 32, 0, 8, "warps"),  # 32 warps / 4
        ("sm_120", 256, 40, 99 * 1024, 1, "shared memory"),
        ("sm_90a", 96, 168, 0, 4, "registers"),  # 5376 a warp, 3 in each quarter: 12 warps / 3
    ],
)
def test_occupancy(target: str, threads: int, registers: int, shared: int, ctas: int, limit: str) -> None:
    found = occupancy(parse_target(target), threads, registers, shared)
    assert (found.ctas_per_sm, found.limited_by) == (ctas, limit)


def test_rendered_report() -> None:
    contract = replace(samples.SHARED.contract, dynamic_shared_bytes=102400)
    report = make_report(contract, Resources(18, 0, 0, 0, 64), "a\nb\n")
    assert report.render() == (
        "kernel        reverse for sm_90a, 2 lines of CUDA\n"
        "CTA           128 threads\n"
        "registers     18 per thread\n"
        "spills        0 bytes stored, 0 bytes loaded\n"
        "local memory  0 bytes per thread\n"
        "shared memory 102464 bytes (64 static, 102400 dynamic)\n"
        "occupancy     2 CTAs per SM, 12 % of its warps, limited by shared memory"
    )
    assert str(report) == report.render()


SPILLING = """\
extern "C" __global__ void __launch_bounds__(1024) spill(int* out, const int* in, int n)
{
    __shared__ int shared[100];
    int local[64];
    for (int i = 0; i < 64; ++i) local[i] = in[i * n + threadIdx.x];
    shared[threadIdx.x % 100] = n;
    __syncthreads();
    for (int i = 0; i < n; ++i) local[(i * 7) & 63] += shared[i % 100];
    for (int i = 0; i < 64; ++i) out[i * n + threadIdx.x] = local[i];
}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"])
def test_cubin_and_log_agree(arch: str) -> None:
    pytest.importorskip("cupy")
    result = compile_source(SPILLING, "spill.cu", CompileOptions(arch))
    target = parse_target(arch)
    from_log = resources_of(result.log, result.cubin, "spill", target)
    from_cubin = resources_of("", result.cubin, "spill", target)
    assert from_log.shared_static_bytes == 400
    assert from_log.local_bytes >= 256
    assert from_cubin == replace(from_log, spill_store_bytes=0, spill_load_bytes=0)


def test_bad_cubins() -> None:
    with pytest.raises(InternalError, match="is not an ELF file"):
        read_cubin(b"nonsense", "k")
    with pytest.raises(InternalError, match="cannot be read"):
        read_cubin(b"\x7fELF", "k")
    pytest.importorskip("cupy")
    cubin = compile_source(samples.ADD_SOURCE, "add.cu", CompileOptions("sm_80")).cubin
    with pytest.raises(InternalError, match="holds no kernel other"):
        read_cubin(cubin, "other")


def test_resources_round_trip() -> None:
    resources = Resources(1, 2, 3, 4, 5)
    assert Resources.from_dict(resources.to_dict()) == resources
