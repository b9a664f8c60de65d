"""Copies that CTAs of a cluster share: into stages of pipes, of the whole cluster or along one of its axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle

PAIR = tle.device_mesh({"block_cluster": [("cluster_x", 2)]})
SQUARE = tle.device_mesh({"block_cluster": [("cluster_m", 2), ("cluster_n", 2)]})

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def fetch_rows(writer, x, bias, M, N, mesh: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Rows of this CTA's own, and a bias that all CTAs of a cluster share."""
    rank = tle.shard_id(mesh, "cluster_x")
    turn = 0
    for cluster in range(tl.program_id(0) // 2, tl.cdiv(M, 2 * BM), tl.num_programs(0) // 2):
        for col in range(0, N, BN):
            slot = writer.acquire(turn)
            tle.gpu.copy(x, slot.x, [BM, BN], [(cluster * 2 + rank) * BM, col])
            tle.gpu.copy(bias, slot.bias, [BM, BN], [0, col], multicast=mesh)
            writer.commit(turn)
            turn += 1


@tle2cuda.jit
def add_rows(reader, out, M, N, mesh: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rank = tle.shard_id(mesh, "cluster_x")
    i, j = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
    turn = 0
    for cluster in range(tl.program_id(0) // 2, tl.cdiv(M, 2 * BM), tl.num_programs(0) // 2):
        row = (cluster * 2 + rank) * BM
        for col in range(0, N, BN):
            slot = reader.wait(turn).slot
            total = tl.load(tle.gpu.local_ptr(slot.x)) + tl.load(tle.gpu.local_ptr(slot.bias))
            reader.release(turn)
            turn += 1
            tl.store(out + (row + i) * N + col + j, total, mask=(row + i < M) & (col + j < N))


@tle2cuda.jit
def add_shared(x, bias, out, M, N, mesh: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAPACITY: tl.constexpr):
    x_desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    bias_desc = tl.make_tensor_descriptor(bias, [BM, N], [N, 1], [BM, BN])
    xs = tle.gpu.alloc([CAPACITY, BM, BN], tl.float32, nv_mma_shared_layout=False)
    biases = tle.gpu.alloc([CAPACITY, BM, BN], tl.float32, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=CAPACITY, name="tiles", x=xs, bias=biases)
    tle.gpu.warp_specialize(
        [
            (add_rows, (pipe.reader(), out, M, N, mesh, BM, BN)),
            (fetch_rows, (pipe.writer(), x_desc, bias_desc, M, N, mesh, BM, BN)),
        ],
        [1],
        [40],
    )


@tle2cuda.jit
def fetch_operands(writer, a, b, m, n, K, mesh: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of a are shared by the CTAs of a row, columns of b by those of a column."""
    for step in range(tl.cdiv(K, BLOCK)):
        slot = writer.acquire(step)
        tle.gpu.copy(a, slot.a, [BLOCK, BLOCK], [m * BLOCK, step * BLOCK], multicast=(mesh, "cluster_n"))
        tle.gpu.copy(b, slot.b, [BLOCK, BLOCK], [step * BLOCK, n * BLOCK], multicast=(mesh, ["cluster_m"]))
        writer.commit(step)


@tle2cuda.jit
def multiply_tiles(reader, c, m, n, M, N, K, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for step in range(tl.cdiv(K, BLOCK)):
        slot = reader.wait(step).slot
        acc = tl.dot(tl.load(tle.gpu.local_ptr(slot.a)), tl.load(tle.gpu.local_ptr(slot.b)), acc)
        reader.release(step)
    i, j = m * BLOCK + tl.arange(0, BLOCK)[:, None], n * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(c + i * N + j, acc, mask=(i < M) & (j < N))


@tle2cuda.jit
def multiply_shared(a, b, c, M, N, K, mesh: tl.constexpr, BLOCK: tl.constexpr, CAPACITY: tl.constexpr):
    """A cluster of two by two CTAs."""
    dtype: tl.constexpr = a.dtype.element_ty
    a_desc = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BLOCK, BLOCK])
    b_desc = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BLOCK, BLOCK])
    a_ring = tle.gpu.alloc([CAPACITY, BLOCK, BLOCK], dtype)
    b_ring = tle.gpu.alloc([CAPACITY, BLOCK, BLOCK], dtype)
    pipe = tle.pipe(capacity=CAPACITY, name="tiles", a=a_ring, b=b_ring)
    m = tl.program_id(0) // 2 * 2 + tle.shard_id(mesh, "cluster_m")
    n = tl.program_id(1) // 2 * 2 + tle.shard_id(mesh, "cluster_n")
    tle.gpu.warp_specialize(
        [
            (multiply_tiles, (pipe.reader(), c, m, n, M, N, K, BLOCK)),
            (fetch_operands, (pipe.writer(), a_desc, b_desc, m, n, K, mesh, BLOCK)),
        ],
        [1],
        [40],
    )


# ---- cases ----------------------------------------------------------------------------------------------------------


def _rows(rng: np.random.Generator) -> Inputs:
    m, n = 83, 84
    return {
        "x": rng.integers(-99, 99, (m, n)).astype(np.float32),
        "bias": rng.integers(-99, 99, (8, n)).astype(np.float32),
        "out": poison((m, n), np.float32),
        "M": m,
        "N": n,
    }


def _added(inputs: Inputs) -> Mapping[str, Array]:
    x, bias = inputs["x"], inputs["bias"]
    return {"out": x + bias[np.arange(len(x)) % 8]}


def _operands(rng: np.random.Generator) -> Inputs:
    m, n, k = 120, 56, 200
    return {
        "a": rng.integers(-3, 4, (m, k)).astype(np.float16),
        "b": rng.integers(-3, 4, (k, n)).astype(np.float16),
        "c": poison((m, n), np.float32),
        "M": m,
        "N": n,
        "K": k,
    }


def _multiplied(inputs: Inputs) -> Mapping[str, Array]:
    return {"c": inputs["a"].astype(np.float32) @ inputs["b"].astype(np.float32)}


def _case(name: str, kernel: Any, grid: tuple[int, ...], make: Any, expect: Any, constants: Mapping[str, Any]) -> None:
    add_case(OpCase(f"multicast_{name}", "multicast", kernel, grid, make, expect, constants, needs="cluster"))


for capacity in (1, 3):
    size = {"mesh": PAIR, "BM": 8, "BN": 32, "CAPACITY": capacity}
    _case(f"rows_{capacity}", add_shared, (2,), _rows, _added, size)
_case("product", multiply_shared, (1, 1), _operands, _multiplied, {"mesh": SQUARE, "BLOCK": 64, "CAPACITY": 2})
