"""Counters against figures computed by hand, and what they promise of shipped kernels."""

from __future__ import annotations

import pathlib
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
import tle2cuda.runtime
from kernels.moe_align_block_size.algorithms import Sizes
from tests.emulator import test_shipped
from tests.emulator.handwritten import handwritten
from tests.emulator.test_shipped import SHIPPED, row_inputs
from tests.kernels.problems import PROBLEMS
from tests.kernels.test_moe_algorithms import SMALL
from tests.opcases import cases
from tle2cuda import cli
from tle2cuda.emulator import Counters, Emulation, emulate
from tle2cuda.errors import ToolchainError

SCHEDULES = ("forward", "reverse", "random")
CASES = cases()


def counters(body: str, args: Mapping[str, Any], grid: int = 1, **options: Any) -> Counters:
    """Counters of a kernel, which are the same under all schedules."""
    kernel = handwritten(body, args, **options)
    results = [emulate(kernel, grid, args, schedule=name, seed=3, detect="counters").check() for name in SCHEDULES]
    first = results[0].counters
    for other in results[1:]:
        for name in (
            "global_loads",
            "global_stores",
            "shared_loads",
            "shared_stores",
            "remote_loads",
            "barriers",
            "collectives",
        ):
            assert getattr(other.counters, name) == getattr(first, name), f"{name} depends on the schedule"
    return first


def floats(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.float32)


def global_loads(index: str, count: int, type_: str = "float", threads: int = 32) -> Any:
    """Loads of `pointer[index]`, one for each thread."""
    body = (
        f"    const int i = threadIdx.x;\n    const {type_}* p = reinterpret_cast<const {type_}*>(x);\n"
        f"    const {type_} value = p[{index}];\n    memcpy(out + sizeof(value) * i, &value, sizeof(value));"
    )
    return counters(
        body, {"x": floats(count), "out": np.zeros(1024, np.int8)}, threads=threads, includes="string.h"
    ).global_loads


# ---- Global memory ----


def test_coalesced_copy() -> None:
    body = "    const int i = blockIdx.x * 64 + threadIdx.x;\n    out[i] = x[i];"
    result = counters(body, {"x": floats(128), "out": floats(128)}, grid=2, threads=64)
    for traffic in (result.global_loads, result.global_stores):
        assert (traffic.requests, traffic.accesses, traffic.bytes) == (4, 128, 512)
        assert traffic.sectors_per_request == 4  # 128 bytes in a row
        assert traffic.used_share == 1.0
        assert traffic.bytes_per_access == 4 and traffic.vectorized_share == 0
        assert traffic.lanes_per_request == 32
    assert not result.shared_loads and result.barriers == result.collectives == 0


@pytest.mark.parametrize(
    ("index", "sectors", "used_bytes"),
    [
        ("2 * i", 8, 128),  # every other float: half of each sector
        ("8 * i", 32, 128),  # a sector for each lane
        ("i + 1", 5, 128),  # 124 bytes of the first four sectors, 4 of the fifth
        ("31 - i", 4, 128),  # the order of the lanes does not matter
        ("i / 8 * 8", 4, 16),  # one float of each sector
        ("0", 1, 4),  # all lanes the same float
        ("i ^ 16", 4, 128),
    ],
)
def test_sectors_of_strided_accesses(index: str, sectors: int, used_bytes: int) -> None:
    loads = global_loads(index, 256)
    assert (loads.requests, loads.sectors, loads.used_bytes) == (1, sectors, used_bytes)
    assert loads.used_share == used_bytes / (32 * sectors)


@pytest.mark.parametrize(("type_", "width"), [("char", 1), ("short", 2), ("float", 4), ("float2", 8), ("float4", 16)])
def test_vector_width(type_: str, width: int) -> None:
    loads = global_loads("i", 128, type_)
    assert (loads.requests, loads.bytes_per_access, loads.bytes) == (1, width, 32 * width)
    assert loads.sectors_per_request == width and loads.used_share == 1.0  # 32 lanes of `width` bytes
    assert loads.vectorized_share == (width == 16)


def test_an_access_moves_at_most_16_bytes() -> None:
    body = (
        "    struct alignas(16) Wide { float element[8]; };\n"
        "    reinterpret_cast<Wide*>(out)[threadIdx.x] = reinterpret_cast<const Wide*>(x)[threadIdx.x];"
    )
    result = counters(body, {"x": floats(256), "out": floats(256)})
    for traffic in (result.global_loads, result.global_stores):
        assert (traffic.requests, traffic.bytes_per_access, traffic.bytes) == (2, 16, 1024)
        # Lanes lie 32 bytes apart: each request takes half of 32 sectors.
        assert (traffic.sectors_per_request, traffic.used_share) == (32, 0.5)


@pytest.mark.parametrize(("members", "requests"), [("float x, y;", 2), ("float x, y, z;", 3), ("float x, y, z, w;", 4)])
def test_a_struct_without_alignment_moves_by_words(members: str, requests: int) -> None:
    body = (
        f"    struct Plain {{ {members} }};\n"
        "    reinterpret_cast<Plain*>(out)[threadIdx.x] = reinterpret_cast<const Plain*>(x)[threadIdx.x];"
    )
    result = counters(body, {"x": floats(128), "out": floats(128)})
    for traffic in (result.global_loads, result.global_stores):
        assert (traffic.requests, traffic.bytes_per_access) == (requests, 4)
        # Each request takes one word in so many, of the same sectors.
        assert traffic.sectors == requests * 4 * requests
        assert traffic.used_share == 1 / requests


def test_partial_warps_and_branches() -> None:
    body = (
        "    const int i = threadIdx.x;\n"
        "    if (i >= 40) return;\n"
        "    if (i % 2) out[i] = x[i];\n"
        "    else out[i] = x[i + 64];"
    )
    loads = counters(body, {"x": floats(128), "out": floats(64)}, threads=48).global_loads
    # Warp 0 in two branches of 16 lanes, warp 1 in two of 4.
    assert (loads.requests, loads.accesses) == (4, 40)
    assert loads.sectors == 4 + 4 + 1 + 1


def test_turns_of_a_loop_belong_together_though_lanes_make_different_numbers_of_them() -> None:
    loop = "for (int k = 0; k < ((i + turn) % 2 ? 1 : 3); ++k) sum += x[32 * k + i];"
    body = (
        "    const int i = threadIdx.x;\n    float sum = 0;\n"
        f"    for (int turn = 0; turn < 2; ++turn) {{\n        {loop}\n        __syncwarp();\n    }}\n    out[i] = sum;"
    )
    result = counters(body, {"x": floats(128), "out": floats(32)})
    loads = result.global_loads
    # In each outer turn: one request of 32 lanes, then two of 16.
    assert (loads.requests, loads.accesses) == (6, 128)
    assert result.warp_syncs == 2
    assert result.global_stores.requests == 1


def test_alignment_is_that_of_the_array_not_of_the_host() -> None:
    memory = np.zeros(300, np.float32)
    for start in range(1, 9):
        body = "    out[threadIdx.x] = x[threadIdx.x];"
        loads = counters(body, {"x": memory[start : start + 32], "out": floats(32)}).global_loads
        assert loads.sectors == (4 if start == 8 else 5)


# ---- Shared memory ----


def shared_loads(load: str, type_: str = "float", threads: int = 32) -> Any:
    body = (
        "    __shared__ __align__(16) float tile[32 * 33];\n    const int i = threadIdx.x;\n"
        "    for (int k = i; k < 32 * 33; k += blockDim.x) tile[k] = k;\n    __syncthreads();\n"
        f"    const {type_} value = {load};\n    memcpy(out + sizeof(value) * i, &value, sizeof(value));"
    )
    args = {"out": np.zeros(1024, np.int8)}
    return counters(body, args, threads=threads, shared=4224, includes="string.h").shared_loads


@pytest.mark.parametrize(
    ("index", "wavefronts"),
    [
        ("i", 1),
        ("0", 1),  # broadcast
        ("i / 2", 1),  # a word for two lanes
        ("2 * i", 2),  # 32 words in 16 banks
        ("16 * i", 16),
        ("32 * i", 32),  # a column of 32 floats
        ("33 * i", 1),  # a column of padded rows
        ("i % 2 * 32", 2),  # two words of one bank
        ("i * 7 % 32", 1),
    ],
)
def test_bank_conflicts_of_words(index: str, wavefronts: int) -> None:
    loads = shared_loads(f"tile[{index}]")
    assert (loads.requests, loads.phases, loads.wavefronts) == (1, 1, wavefronts)
    assert loads.bank_conflicts == loads.bank_conflicts_per_request == wavefronts - 1


@pytest.mark.parametrize(
    ("type_", "index", "phases", "wavefronts"),
    [
        ("float2", "i", 2, 2),
        ("float2", "16 * i", 2, 32),  # each half of a warp: 16 words in each of two banks
        ("float2", "i / 16", 2, 2),
        ("float4", "i", 4, 4),
        ("float4", "8 * i", 4, 32),  # each quarter: 8 words in each of four banks
        ("float4", "2 * i", 4, 8),
        ("char", "i", 1, 1),  # four lanes a word
        ("char", "128 * i", 1, 32),
        ("short", "2 * i", 1, 1),
    ],
)
def test_bank_conflicts_of_vectors(type_: str, index: str, phases: int, wavefronts: int) -> None:
    loads = shared_loads(f"reinterpret_cast<const {type_}*>(tile)[{index}]", type_)
    assert (loads.requests, loads.phases, loads.wavefronts) == (1, phases, wavefronts)


@pytest.mark.parametrize(("pitch", "conflicts"), [(32, 31), (33, 0)])
def test_transposition(pitch: int, conflicts: int) -> None:
    body = (
        f"    __shared__ float tile[32][{pitch}];\n    const int row = threadIdx.x / 32, column = threadIdx.x % 32;\n"
        "    for (int k = row; k < 32; k += 4) tile[k][column] = x[32 * k + column];\n"
        "    __syncthreads();\n"
        "    for (int k = row; k < 32; k += 4) out[32 * k + column] = tile[column][k];"
    )
    args = {"x": floats(1024), "out": floats(1024)}
    result = counters(body, args, threads=128, shared=4 * 32 * pitch)
    assert result.shared_stores.requests == result.shared_loads.requests == 32
    assert result.shared_stores.bank_conflicts == 0
    assert result.shared_loads.bank_conflicts_per_request == conflicts
    assert result.global_loads.used_share == result.global_stores.used_share == 1.0
    assert result.cta_barriers == 1


def test_remote_shared_memory() -> None:
    body = (
        "    namespace cg = cooperative_groups;\n    __shared__ int tile[32];\n    auto cluster = cg::this_cluster();\n"
        "    tile[threadIdx.x] = cluster.block_rank();\n    cluster.sync();\n"
        "    const int* peer = cluster.map_shared_rank(tile, cluster.block_rank() ^ 1);\n"
        "    out[32 * blockIdx.x + threadIdx.x] = peer[threadIdx.x];\n    cluster.sync();"
    )
    args = {"out": np.zeros(64, np.int32)}
    result = counters(body, args, grid=2, cluster=(2, 1, 1), shared=128, includes="cooperative_groups.h")
    assert (result.remote_loads.requests, result.remote_loads.bank_conflicts) == (2, 0)
    assert (result.shared_stores.requests, result.shared_loads.requests) == (2, 0)
    assert result.cluster_barriers == 2 and result.barriers == 2


# ---- Atomics ----


@pytest.mark.parametrize(("bins", "turns"), [(1, 32), (4, 8), (32, 1)])
def test_contention_of_a_histogram(bins: int, turns: int) -> None:
    body = "    atomicAdd(&counts[x[blockIdx.x * 64 + threadIdx.x]], 1);"
    x = (np.arange(128) % bins).astype(np.int32)
    atomics = counters(body, {"x": x, "counts": np.zeros(32, np.int32)}, grid=2, threads=64).global_atomics
    assert (atomics.requests, atomics.accesses) == (4, 128)
    assert atomics.turns_per_request == atomics.most_lanes == turns
    assert atomics.sectors_per_request == max(1, bins // 8)


def test_hottest_address() -> None:
    body = "    atomicAdd(&counts[x[threadIdx.x]], 1);\n    if (threadIdx.x < 2) atomicMax(&counts[7], 1);"
    x = np.array([3] * 20 + [5] * 12, np.int32)
    hottest = counters(body, {"x": x, "counts": np.zeros(8, np.int32)}).hottest["global"]
    assert (hottest.addresses, hottest.operations) == (3, 20)
    assert hottest.place == "argument counts, byte 12 of 32"


def test_shared_atomics_of_different_ctas_do_not_meet() -> None:
    body = (
        "    __shared__ int counts[32];\n    counts[threadIdx.x] = 0;\n    __syncthreads();\n"
        "    atomicAdd(&counts[threadIdx.x / 16], 1);\n    __syncthreads();\n"
        "    out[32 * blockIdx.x + threadIdx.x] = counts[threadIdx.x];"
    )
    result = counters(body, {"out": np.zeros(96, np.int32)}, grid=3, shared=128)
    assert (result.shared_atomics.requests, result.shared_atomics.turns_per_request) == (3, 16)
    assert result.shared_atomics.bank_conflicts == 0
    assert (result.hottest["shared"].addresses, result.hottest["shared"].operations) == (6, 16)
    assert result.cta_barriers == 6


# ---- Barriers and collectives ----


def test_barriers_by_kind() -> None:
    body = (
        "    namespace cg = cooperative_groups;\n"
        "    for (int k = 0; k < 3; ++k) __syncthreads();\n"
        "    if (threadIdx.x < 32) tle2cuda_emulator::tle2cuda_barrier(1, 32, 0, 0, __LINE__);\n"
        "    cg::this_grid().sync();\n    out[threadIdx.x] = __syncthreads_count(1);"
    )
    args = {"out": np.zeros(64, np.int32)}
    result = counters(body, args, grid=2, threads=64, cooperative=True, includes="cooperative_groups.h")
    assert (result.cta_barriers, result.named_barriers, result.cluster_barriers, result.grid_barriers) == (8, 2, 0, 1)
    assert result.barriers == 11


def test_collectives_by_kind() -> None:
    body = (
        "    const unsigned all = 0xffffffffu;\n    int v = __shfl_down_sync(all, int(threadIdx.x), 1);\n"
        "    v += __shfl_xor_sync(all, v, 2) + __any_sync(all, v) + __popc(__ballot_sync(all, v));\n"
        "    v += __match_any_sync(all, v) + __reduce_add_sync(all, v);\n    __syncwarp();\n    out[threadIdx.x] = v;"
    )
    result = counters(body, {"out": np.zeros(64, np.int32)}, threads=64)
    assert (result.shuffles, result.votes, result.matches) == (4, 4, 2)
    assert (result.warp_reductions, result.warp_syncs, result.collectives) == (2, 2, 14)


# ---- Places ----


@tle2cuda.jit
def normalize(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    total = tl.sum(value)
    tl.store(out + i, value / total)


def test_places_are_python_lines() -> None:
    args = {"x": floats(1024), "out": floats(1024), "BLOCK": 1024}
    result = emulate(normalize, 1, args, detect="counters").check().counters
    first = normalize.fn.__code__.co_firstlineno
    load, total, store = (result.line(first + k, "test_counters.py") for k in (3, 4, 5))
    assert load.global_loads == result.global_loads and load.global_loads.requests == 8
    assert store.global_stores == result.global_stores and not store.global_loads
    assert total.shuffles == result.shuffles == 4 * 5 and total.cta_barriers == result.barriers
    assert total.shared_loads == result.shared_loads
    assert [place.span.line - first for place in result.lines if place.span] == [3, 4, 5]
    assert sum(place.shuffles for place in result.places) == result.shuffles
    assert result.line(first).global_loads.requests == 0


def test_nothing_is_counted_unless_it_is_asked_for() -> None:
    args = {"x": floats(1024), "out": floats(1024), "BLOCK": 1024}
    result = emulate(normalize, 1, args).check().counters
    assert result.barriers > 0 and result.collectives > 0 and result.switches > 0
    assert not result.global_loads and result.places == ()


# ---- Shipped kernels ----


def test_vector_add_is_fully_vectorized() -> None:
    n = 8192
    args = {"x": floats(n), "y": floats(n), "out": floats(n), "n": n}
    result = emulate(SHIPPED["vector_add"].emit("sm_90a"), n // 1024, args, detect="counters").check().counters
    for traffic, arrays in ((result.global_loads, 2), (result.global_stores, 1)):
        assert traffic.bytes_per_access == 16 and traffic.vectorized_share == 1.0
        assert traffic.used_share == 1.0 and traffic.sectors_per_request == 16
        assert traffic.bytes == arrays * 4 * n
    assert result.barriers == result.collectives == 0


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith(("softmax", "layer_norm"))])
def test_rowwise_kernels_read_each_byte_once(name: str, schedule: str) -> None:
    rows, cols = 3, 4096
    kernel, args = SHIPPED[name], row_inputs(name, rows, cols)
    result = emulate(kernel.emit("sm_90a"), rows, args, schedule=schedule, seed=2, detect="counters").check().counters
    rows_read = 1 if name.startswith("softmax") else 3  # x, and for layer norm weight and bias
    assert result.global_loads.bytes == rows_read * rows * cols * args["x"].itemsize
    assert result.global_loads.vectorized_share == result.global_loads.used_share == 1.0
    rest = 0 if name.startswith("softmax") else 2 * 4 * rows  # mean and deviation of each row
    assert result.global_stores.bytes == rows * cols * args["x"].itemsize + rest
    assert result.shared_loads.bank_conflicts == result.shared_stores.bank_conflicts == 0
    # Two reductions: five shuffles in each warp, one barrier in each CTA.
    assert result.shuffles == 2 * 5 * kernel.num_warps * rows
    assert result.barriers == result.cta_barriers == 2 * rows


@pytest.mark.parametrize(
    ("name", "cta", "cluster", "grid"),
    [
        ("single_cta", 4, 0, 0),
        ("cluster", 8 * 3, 2, 0),
        ("cluster_fused", 8 * 2, 4, 0),
        ("atomic_fused", None, 0, 3),
        ("wide", None, 0, 1),
    ],
)
def test_barriers_of_moe_alignment(
    name: str, cta: int | None, cluster: int, grid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Emulation] = []
    monkeypatch.setattr(
        test_shipped, "emulate", lambda *args, **options: runs.append(emulate(*args, **options)) or runs[-1]
    )
    problem = PROBLEMS[5]
    ids = np.ascontiguousarray(problem.ids).reshape(-1)
    sizes = Sizes(ids.size, problem.block_size, problem.num_experts, problem.keep_filtered)
    test_shipped.align(name, sizes, SMALL[name], ids, detect="counters")
    (run,) = runs
    result = run.counters
    assert (result.cluster_barriers, result.grid_barriers) == (cluster, grid)
    assert cta in (None, result.cta_barriers)
    # Each slot is counted in shared memory, and many go to one expert.
    assert result.shared_atomics.accesses >= ids.size
    assert result.shared_atomics.most_lanes > 1


@pytest.mark.parametrize(
    "name", [name for name in CASES if name.startswith("transpose_") and name.endswith(("64x128", "32x32"))]
)
def test_transposing_exchanges_have_no_bank_conflicts(name: str) -> None:
    case = CASES[name]
    emitted = case.emit(headers=("minimal", "toolkit")[zlib.crc32(name.encode()) % 2])
    inputs = case.inputs()
    args = {spec.name: inputs[spec.name] for spec in emitted.contract.args}
    result = emulate(emitted, emitted.contract.launch_grid(case.grid), args, detect="counters").check().counters
    assert result.shared_stores.bank_conflicts == result.shared_loads.bank_conflicts == 0
    assert result.global_loads.used_share == result.global_stores.used_share == 1.0


# ---- On the command line ----

INPUTS = """\
import numpy as np
import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def count(ids, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    tl.atomic_add(counts + tl.load(ids + i, mask=ok, other=0), 1, mask=ok)


def make():
    return (2,), {"ids": np.zeros(256, np.int32), "counts": np.zeros(8, np.int32), "n": 256, "BLOCK": 128}
"""


def report(capsys: pytest.CaptureFixture[str], path: pathlib.Path, *inputs: str) -> tuple[int, str, str]:
    path.write_text(INPUTS)
    code = cli.main(["compile", f"{path}::count", "--signature", "*i32:16, *i32:16, i32, 128", "--report", *inputs])
    return code, *capsys.readouterr()


def without_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ToolchainError("CuPy is not installed")

    monkeypatch.setattr(tle2cuda.runtime, "build", missing)


def test_report_with_inputs_of_a_function(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_registers(monkeypatch)
    code, out, err = report(capsys, tmp_path / "count.py", "--inputs", f"{tmp_path / 'count.py'}::make")
    assert (code, err) == (0, "")
    assert out == (
        "registers     not known without CUDA: CuPy is not installed\n"
        "\n"
        "in total      global loads    8 requests, 4 bytes a lane, 4 sectors each, 100 % of their bytes used\n"
        "              global atomics  8 requests, 4 bytes a lane, 1 sector each, 12 % of their bytes used, "
        "32 turns each, at most 32 lanes on one address\n"
        "              global atomics  1 address, most often argument counts, byte 0 of 32: 256 times\n"
        "by operation  load            8 instructions: 8 global loads\n"
        "              atomic_rmw      8 instructions: 8 global atomics\n"
        "count.py:10   global loads    8 requests, 4 bytes a lane, 4 sectors each, 100 % of their bytes used\n"
        "              global atomics  8 requests, 4 bytes a lane, 1 sector each, 12 % of their bytes used, "
        "32 turns each, at most 32 lanes on one address\n"
    )


def test_report_with_inputs_in_words(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    pytest.importorskip("cupy")
    np.save(tmp_path / "counts.npy", np.zeros(8, np.int32))
    words = ("ids=256:range", "counts=256", "n=256")
    code, out, err = report(capsys, tmp_path / "count.py", "--inputs", *words, "--grid", "2")
    assert (code, err) == (0, "")
    assert "registers     " in out and "per thread" in out
    assert "global atomics  8 requests, 4 bytes a lane, 4 sectors each, 100 % of their bytes used, 1 turn each" in out
    assert "\n\nmachine code  " in out
    words = ("ids=256:0..8", f"counts={tmp_path / 'counts.npy'}", "n=256")
    code, out, err = report(capsys, tmp_path / "count.py", "--inputs", *words, "--grid", "2")
    assert code == 0 and "8 addresses, most often argument counts" in out


def test_inputs_of_a_function_that_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_registers(monkeypatch)
    makers = tmp_path / "makers.py"
    makers.write_text("def make_all():\n    raise ValueError('no data')\n")
    code, _, err = report(capsys, tmp_path / "count.py", "--inputs", f"{makers}::make_al")
    assert (code, err) == (
        2,
        "tle2cuda: --inputs: makers.py holds no function `make_al`\n  help: did you mean `make_all`?\n",
    )
    code, _, err = report(capsys, tmp_path / "count.py", "--inputs", f"{makers}::make_all")
    assert code == 1 and err.startswith("makers.py:2:")
    assert ": --inputs: `make_all` fails: ValueError: no data\n\n  2 |     raise ValueError('no data')\n" in err


@pytest.mark.parametrize(
    ("inputs", "code", "message"),
    [
        (("--grid", "2"), 2, "--grid is for --inputs"),
        (("--inputs", "ids=256", "counts=8", "n=256"), 2, "--grid is missing"),
        (("--inputs", "ids=256", "counts=8", "n=256", "--grid", "two"), 2, "--grid takes one to three numbers"),
        (("--inputs", "ids=256", "counts=8", "--grid", "2"), 2, "argument n is missing"),
        (("--inputs", "ids=256", "m=8", "--grid", "2"), 2, "there is no argument m"),
        (("--inputs", "ids", "--grid", "2"), 2, "'ids' is not of the form NAME=VALUE"),
        (("--inputs", "ids=many", "--grid", "2"), 2, "ids=many describes no array"),
        (
            ("--inputs", "ids=9999999x9999999", "--grid", "2"),
            2,
            "ids=9999999x9999999 has 99999980000001 elements, the limit is",
        ),
        (("--inputs", "ids=8:often", "--grid", "2"), 2, "unknown contents 'often'"),
        (("--inputs", "ids=8:5..5", "--grid", "2"), 2, "no number lies from 5 to below 5"),
        (("--inputs", "ids=none.npy", "--grid", "2"), 2, "cannot read none.npy"),
        (("--inputs", "none.py::make"), 2, "there is no file 'none.py'"),
        (
            ("--inputs", "ids=256:0..9", "counts=8", "n=256", "--grid", "2"),
            1,
            "element 8 of argument counts, which has 8 elements",
        ),
    ],
)
def test_inputs_that_do_not_fit(
    inputs: tuple[str, ...],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_registers(monkeypatch)
    got, _, err = report(capsys, tmp_path / "count.py", *inputs)
    assert got == code and message in err
