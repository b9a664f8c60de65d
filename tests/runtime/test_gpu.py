from __future__ import annotations

import time
from dataclasses import replace
from types import ModuleType

import pytest

from tests.runtime import samples
from tle2cuda.errors import ArgumentError, LaunchError, OutOfResources, ToolchainError
from tle2cuda.runtime import KernelCache, ScratchSpec, build, set_allocator
from tle2cuda.runtime.launcher import stream_getter

pytestmark = pytest.mark.gpu


@pytest.fixture
def cupy() -> ModuleType:
    return pytest.importorskip("cupy")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> KernelCache:
    return KernelCache(tmp_path_factory.mktemp("cache"))


def test_raw_kernel_call(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    x, y = cupy.arange(1000, dtype="f4"), cupy.full(1000, 0.5, dtype="f4")
    out = cupy.zeros_like(x)
    kernel((8,), (128,), (x, y, out, 1000))
    assert (out == x + y).all()
    assert kernel.num_regs == kernel.report.registers
    assert kernel.attributes["local_size_bytes"] == 0
    kernel.compile()


def test_raw_kernel_takes_torch_and_its_stream(cache: KernelCache) -> None:
    torch = pytest.importorskip("torch")
    kernel = build(samples.ADD, cache=cache)
    x, y = torch.rand(1000, device="cuda"), torch.rand(1000, device="cuda")
    out = torch.zeros_like(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        assert stream_getter("torch")(0) == side.cuda_stream
        kernel((8,), (128,), (x, y, out, 1000))
    side.synchronize()
    assert torch.equal(out, x + y)


def test_graph_capture(cache: KernelCache) -> None:
    torch = pytest.importorskip("torch")
    kernel = build(samples.ADD, cache=cache)
    tickets = build(samples.SCRATCH, cache=cache)
    x, out = torch.rand(1000, device="cuda"), torch.zeros(1000, device="cuda")
    numbers = torch.zeros(4, dtype=torch.int32, device="cuda")
    kernel((8,), (128,), (x, x, out, 1000))
    tickets((4,), (32,), (numbers,))
    graph = torch.cuda.CUDAGraph()
    out.zero_()
    with torch.cuda.graph(graph):
        kernel((8,), (128,), (x, x, out, 1000))
        tickets((4,), (32,), (numbers,))
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, x + x)
    assert sorted(numbers.tolist()) == [1000, 1001, 1002, 1003]


def test_every_scalar_type(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.SCALARS, cache=cache)
    out = cupy.zeros(10)
    values = (True, -7, -300, -70000, -(2**40), 2**63 + 2**40, 0.333, 1.005, 0.1, 0.1)
    kernel((1,), (32,), (out, *values))
    expected = [
        1,
        -7,
        -300,
        -70000,
        -(2.0**40),
        2.0**63 + 2**40,
        0.3330078125,
        1.0078125,
        0.10000000149011612,
        0.1,
    ]
    assert out.tolist() == expected


def test_dynamic_shared_memory_is_opted_into(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.SHARED, cache=cache)
    out = cupy.zeros(25600, dtype="i4")
    kernel((1,), (128,), (out,))
    assert (out == cupy.arange(25599, -1, -1)).all()
    kernel((1,), (128,), (out,), shared_mem=samples.DYNAMIC_SHARED_BYTES + 4096)
    with pytest.raises(OutOfResources, match="shared memory"):
        kernel((1,), (128,), (out,), shared_mem=1 << 20)


def test_cooperative_launch_and_its_limit(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.COOPERATIVE, cache=cache)
    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    partial, out = cupy.zeros(4 * sms, dtype="i4"), cupy.zeros(4 * sms, dtype="i4")
    kernel((sms,), (1024,), (partial, out))
    assert (out[:sms] == sms * (sms + 1) // 2).all()
    resident = kernel.report.occupancy.ctas_per_sm
    with pytest.raises(LaunchError) as info:
        kernel((resident * sms + 1,), (1024,), (partial, out))
    assert f"cooperative launch of {resident * sms + 1} x 1 x 1" in str(info.value)
    assert f"{sms} SMs x {resident} CTAs per SM = {sms * resident} CTAs" in str(info.value)


@pytest.mark.cluster
def test_cluster_launch(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.CLUSTER, cache=cache)
    out = cupy.full(6, -1, dtype="i4")
    kernel((6,), (32,), (out,))
    assert out.tolist() == [0, 1, 0, 1, 0, 1]
    with pytest.raises(LaunchError, match="not a multiple of the cluster's 2 CTAs"):
        kernel((5,), (32,), (out,))


@pytest.mark.cluster
def test_cluster_of_sixteen_is_allowed(cupy: ModuleType, cache: KernelCache) -> None:
    sample = samples.Sample(
        samples.CLUSTER.source.replace("__cluster_dims__(2,", "__cluster_dims__(16,"),
        replace(samples.CLUSTER.contract, cluster=(16, 1, 1)),
    )
    out = cupy.full(16, -1, dtype="i4")
    build(sample, cache=cache)((16,), (32,), (out,))
    assert out.tolist() == list(range(16))


@pytest.mark.cluster
def test_cluster_that_cannot_be_resident(cupy: ModuleType, cache: KernelCache) -> None:
    source = samples.CLUSTER.source.replace("__cluster_dims__(2,", "__cluster_dims__(16,").replace("(32)", "(1024)")
    contract = replace(samples.CLUSTER.contract, cluster=(16, 1, 1), cta_threads=1024, dynamic_shared_bytes=227 * 1024)
    kernel = build(samples.Sample(source, contract), cache=cache)
    out = cupy.zeros(16, dtype="i4")
    try:
        kernel((16,), (1024,), (out,))
    except LaunchError as error:
        assert "cannot be resident" in str(error)
    else:
        assert out.tolist() == list(range(16))


def test_private_scratch_is_zeroed_before_every_launch(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.SCRATCH, cache=cache)
    out = cupy.zeros(64, dtype="i4")
    for grid in (4, 4, 64, 4):
        kernel((grid,), (32,), (out,))
        assert sorted(out[:grid].tolist()) == [1000 + i for i in range(grid)]


def test_scratch_that_restores_zeros_is_zeroed_once(cupy: ModuleType, cache: KernelCache) -> None:
    counter = ScratchSpec("counter", fixed_bytes=4, restores_zero=True)
    marks = samples.SCRATCH.contract.scratch[1]
    contract = replace(samples.SCRATCH.contract, scratch=(counter, marks))
    kernel = build(samples.Sample(samples.SCRATCH.source, contract), cache=cache)
    out = cupy.zeros(4, dtype="i4")
    for launch in range(3):
        kernel((4,), (32,), (out,))
        assert sorted(out.tolist()) == [1000 + 4 * launch + i for i in range(4)]


def test_allocator_memory_is_zeroed(cupy: ModuleType, cache: KernelCache) -> None:
    asked = []

    def allocate(size: int, alignment: int, stream: int) -> object:
        asked.append((size, alignment))
        return cupy.full(size, 255, dtype="u1")

    set_allocator(allocate)
    try:
        kernel = build(samples.SCRATCH, cache=cache)
        out = cupy.zeros(4, dtype="i4")
        kernel((4,), (32,), (out,))
        assert sorted(out.tolist()) == [1000, 1001, 1002, 1003]
    finally:
        set_allocator(None)
    assert asked == [(4, 16), (16, 16)]


def test_wrong_arguments(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    x = cupy.zeros(10, dtype="f4")
    with pytest.raises(ArgumentError, match="add takes 4 arguments, got 3"):
        kernel((1,), (128,), (x, x, x))
    with pytest.raises(ArgumentError, match="`n` is i32, got str"):
        kernel((1,), (128,), (x, x, x, "10"))
    with pytest.raises(ArgumentError, match="`n` = 4294967296 does not fit in i32"):
        kernel((1,), (128,), (x, x, x, 2**32))
    with pytest.raises(ArgumentError, match="`y` is an array in host memory"):
        kernel((1,), (128,), (x, x.get(), x, 10))


def test_cubin_for_another_gpu_is_refused(cupy: ModuleType, cache: KernelCache) -> None:
    target = "sm_80" if int(cupy.cuda.Device().compute_capability) >= 90 else "sm_120"
    sample = samples.Sample(samples.ADD.source, replace(samples.ADD.contract, target=target))
    x = cupy.zeros(10, dtype="f4")
    with pytest.raises(ToolchainError, match=f"add was compiled for {target}, but GPU 0"):
        build(sample, cache=cache)((1,), (128,), (x, x, x, 10))


def test_empty_grid_launches_nothing(cupy: ModuleType, cache: KernelCache) -> None:
    x = cupy.zeros(10, dtype="f4")
    build(samples.ADD, cache=cache)((0,), (128,), (x, x, x, 10))


def test_launch_from_another_thread(cupy: ModuleType, cache: KernelCache) -> None:
    import threading

    kernel = build(samples.ADD, cache=cache)
    x = cupy.ones(1000, dtype="f4")
    outs = [cupy.zeros(1000, dtype="f4") for _ in range(4)]
    cupy.cuda.Device().synchronize()
    threads = [threading.Thread(target=lambda o=o: kernel((8,), (128,), (x, x, o, 1000))) for o in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cupy.cuda.Device().synchronize()
    assert all(float(o.sum()) == 2000 for o in outs)


@pytest.mark.parametrize("sample", [samples.ADD, samples.SHARED, samples.COOPERATIVE, samples.BLOCK_SCAN])
@pytest.mark.parametrize("target", ["native"])
def test_occupancy_matches_the_driver(cupy: ModuleType, cache: KernelCache, sample: samples.Sample, target: str) -> None:
    from tle2cuda.runtime.occupancy import max_resident_ctas

    kernel = build(sample, cache=cache)
    contract = kernel.contract
    pointer = kernel.kernel.ptr
    kernel.launcher._loaded[0].allow_dynamic(contract.dynamic_shared_bytes, kernel.launcher)
    expected = max_resident_ctas(pointer, contract.cta_threads, contract.dynamic_shared_bytes)
    assert kernel.report.occupancy.ctas_per_sm == expected


def test_launch_overhead(cupy: ModuleType, cache: KernelCache) -> None:
    kernel = build(samples.ADD, cache=cache)
    x = cupy.zeros(128, dtype="f4")
    address = x.data.ptr
    values = (address, address, address, 128)
    launch = kernel.launcher.launch
    best_us = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(100):
            launch((1, 1, 1), values, 0)
        best_us = min(best_us, (time.perf_counter() - start) * 1e4)
        cupy.cuda.Device().synchronize()
    assert best_us < 10
