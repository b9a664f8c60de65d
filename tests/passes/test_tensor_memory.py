"""The pass `tensor_memory`: chains of products, what stays over a loop, columns that are shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import poison
from tle2cuda.compiler import EmittedKernel
from tle2cuda.emulator import emulate
from tle2cuda.errors import OutOfResources
from tle2cuda.interpreter import run as interpret
from tle2cuda.language import tle


@tle2cuda.jit
def summed(a, b, c, out, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr):
    """A product carried by a loop, to which two more are added, from a start of its own."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.load(c + rows[:, None] * N + cols[None, :])
    for i in tl.range(0, steps, STEP, num_stages=1):
        x = tl.load(a + rows[:, None] * K + k[None, :] + i * (M * K))
        y = tl.load(b + k[:, None] * N + cols[None, :] + i * (K * N))
        acc = tl.dot(x, y, acc)
        acc = tl.dot(x, y, acc)
    tl.store(out + rows[:, None] * N + cols[None, :], acc)


@tle2cuda.jit
def several(a, b, out, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, COUNT: tl.constexpr):
    """So many products, all of which a loop carries."""
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    first = tl.zeros((M, N), tl.float32)
    second = tl.zeros((M, N), tl.float32)
    third = tl.zeros((M, N), tl.float32)
    for i in tl.range(steps, num_stages=1):
        x = tl.load(a + rows[:, None] * K + k[None, :] + i * (M * K))
        y = tl.load(b + k[:, None] * N + cols[None, :] + i * (K * N))
        first = tl.dot(x, y, first)
        second = tl.dot(x * 2, y, second)
        if COUNT > 2:
            third = tl.dot(x * 4, y, third)
    tl.store(out + rows[:, None] * N + cols[None, :], first + second + third)


@tle2cuda.jit
def one_product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, cols, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x, y = tl.load(a + rows[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + cols[None, :])
    tl.store(out + rows[:, None] * N + cols[None, :], tl.dot(x, y))


@tle2cuda.jit
def side_by_side(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A product of the default warps, and one of a worker partition."""
    work = (a, b, out, M, N, K), (a, b, out + M * N, M, N, K)
    tle.gpu.warp_specialize([(one_product, work[0]), (one_product, work[1])], [4], [64])


@tle2cuda.jit
def some_ctas(a, b, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """CTAs behind `count` leave at once."""
    if tl.program_id(0) >= count:
        return
    out += tl.program_id(0) * 2 * M * N
    work = (a, b, out, M, N, K), (a, b, out + M * N, M, N, K)
    tle.gpu.warp_specialize([(one_product, work[0]), (one_product, work[1])], [4], [64])


def operands(steps: int, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return tuple(rng.integers(-4, 5, (max(steps, 1), *shape)).astype(np.float16) for shape in ((m, k), (k, n)))


def outputs(kernel: tle2cuda.JitFunction, args: dict[str, Any], **constants: int) -> tuple[EmittedKernel, list[np.ndarray]]:
    """What the IR behind the passes means, and what the emitted file does."""
    types = {np.float16: "*fp16:16", np.float32: "*fp32:16"}
    signature = {name: types[v.dtype.type] if isinstance(v, np.ndarray) else "i32" for name, v in args.items()}
    emitted = tle2cuda.emit(kernel, signature, constants, arch="sm_100a", num_warps=8, headers="minimal")
    copies = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in args.items()}
    interpret(emitted.kernel_ir, (1, 1, 1), copies)
    result = emulate(emitted, (1, 1, 1), args, detect="all").check()
    return emitted, [copies["out"], result.outputs["out"]]


@pytest.mark.parametrize(("steps", "step"), [(0, 1), (1, 1), (3, 1), (3, 2)])
def test_a_chain_stays_over_a_loop_and_starts_in_registers(steps: int, step: int) -> None:
    m, n, k = 64, 16, 16
    a, b = operands(steps, m, n, k)
    c = np.random.default_rng(6).integers(-9, 10, (m, n)).astype(np.float32)
    args = {"a": a, "b": b, "c": c, "out": poison((m, n), np.float32), "steps": steps}
    emitted, found = outputs(summed, args, M=m, N=n, K=k, STEP=step)
    wide = np.matmul(a.astype(np.float64), b.astype(np.float64))
    want = c + 2 * wide[: steps if steps else 0 : step].sum(0)
    assert all(np.array_equal(out, want) for out in found)
    kernel = emitted.source[emitted.source.index('extern "C"') :]
    loop = kernel[kernel.index("for (int i") :]
    assert kernel.count("tcgen05_ld_") == 1 and kernel.index("tcgen05_ld_") > kernel.index("for (int i")
    assert "i != 0);" in loop and ", true);" in loop and "if (0 < steps)" in loop


@pytest.mark.parametrize(("count", "loads_in_loop"), [(2, 0), (3, 2)])
def test_what_does_not_fit_is_carried_in_registers(count: int, loads_in_loop: int) -> None:
    m, n, k = 128, 256, 16  # 256 columns each
    a, b = operands(2, m, n, k)
    args = {"a": a, "b": b, "out": poison((m, n), np.float32), "steps": 2}
    emitted, found = outputs(several, args, M=m, N=n, K=k, COUNT=count)
    want = np.matmul(a.astype(np.float64), b.astype(np.float64)).sum(0) * (2**count - 1)
    assert all(np.array_equal(out, want) for out in found)
    kernel = emitted.source[emitted.source.index('extern "C"') :]
    assert "tcgen05_alloc<512>" in kernel
    assert kernel[kernel.index("for (int i") :].split("\n    }\n")[0].count("tcgen05_wait_ld") == loads_in_loop


SIDES = {"a": "*fp16:16", "b": "*fp16:16", "out": "*fp32:16"}


def test_partitions_have_columns_of_their_own_and_a_worker_says_when_it_is_done() -> None:
    constants = {"M": 64, "N": 16, "K": 16}
    emitted = tle2cuda.emit(side_by_side, SIDES, constants, arch="sm_100a", headers="minimal")
    kernel = emitted.source[emitted.source.index('extern "C"') :]
    assert "tcgen05_alloc<32>" in kernel and "(tensor_memory + 16, " in kernel and "(tensor_memory, " in kernel
    worker, rest = kernel.split("return;")
    assert worker.rstrip().endswith("mbarrier_arrive(&shared.tensor_memory_done);")
    assert rest.index("mbarrier_wait(&shared.tensor_memory_done, 0);") < rest.index("tcgen05_dealloc<32>")
    a, b = operands(1, 64, 16, 16)
    args = {"a": a, "b": b, "out": poison((128, 16), np.float32)}
    found = emulate(emitted, (1, 1, 1), args, detect="all", schedule="random", seed=3).check().outputs["out"]
    assert np.array_equal(found, np.tile(a[0].astype(np.float32) @ b[0].astype(np.float32), (2, 1)))


def test_too_many_columns_side_by_side() -> None:
    with pytest.raises(OutOfResources, match="product 512 \\+ product 512 = 1024 columns, limit 512 on sm_100a"):
        tle2cuda.emit(side_by_side, SIDES, {"M": 128, "N": 512, "K": 16}, arch="sm_100a")


def test_ctas_that_leave_early_give_their_columns_back() -> None:
    a, b = operands(1, 64, 32, 16)
    args = {"a": a, "b": b, "out": np.zeros((4, 64, 32), np.float32), "count": 2, "M": 64, "N": 32, "K": 16}
    got = emulate(some_ctas, 3, args, arch="sm_100a", schedule="random", detect="all").check().outputs["out"]
    assert np.array_equal(got, np.broadcast_to(a.astype(np.float32) @ b.astype(np.float32), got.shape))
