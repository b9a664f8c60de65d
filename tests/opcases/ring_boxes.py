"""Pipelined loops whose rings the copy engine fills: boxes of tensors, in loops, branches and beside other loads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import Array, Inputs, OpCase, Tolerance, add_case, poison

FINE = Tolerance(2, 16, eps=2.0**-10)


@tle2cuda.jit
def box_products(
    a, b, out, tiles, steps, depth, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr
):
    """Tiles of a product, some of them left out: the ring goes on from one to the next."""
    left = tl.make_tensor_descriptor(a, [tiles * M, depth], [depth, 1], [M, BLOCK])
    right = tl.make_tensor_descriptor(b, [depth, N], [N, 1], [BLOCK, N])
    i, j = tl.arange(0, M), tl.arange(0, N)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        acc = tl.zeros((M, N), tl.float32)
        if tile % 3 != 1:
            for k in tl.range(0, steps * BLOCK, BLOCK, num_stages=STAGES):
                acc = tl.dot(left.load([tile * M, k]), right.load([k, 0]), acc)
        tl.store(out + (tile * M + i[:, None]) * N + j[None, :], acc)


@tle2cuda.jit
def box_partitions(
    a, b, out, tiles, steps, depth, STAGES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr,
    INNER: tl.constexpr,
):  # fmt: skip
    """The same by a partition that fills the ring, asked for at the outer loop or at the inner one."""
    left = tl.make_tensor_descriptor(a, [tiles * M, depth], [depth, 1], [M, BLOCK])
    right = tl.make_tensor_descriptor(b, [N, depth], [depth, 1], [N, BLOCK])
    i, j = tl.arange(0, M), tl.arange(0, N)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), warp_specialize=not INNER):
        acc = tl.zeros((M, N), tl.float32)
        if tile % 3 != 1:
            for k in tl.range(0, steps * BLOCK, BLOCK, num_stages=STAGES, warp_specialize=INNER):
                acc = tl.dot(left.load([tile * M, k]), right.load([0, k]).T, acc)
        tl.store(out + (tile * M + i[:, None]) * N + j[None, :], acc)


@tle2cuda.jit
def box_two_rings(a, b, order, out, blocks, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """Rows by numbers out of memory, two loops one behind the other, the second of which reads what is no product."""
    left = tl.make_tensor_descriptor(a, [blocks * SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
    right = tl.make_tensor_descriptor(b, [blocks * SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
    i = tl.arange(0, SIDE)
    for tile in tl.range(tl.program_id(0), blocks, tl.num_programs(0), warp_specialize=True):
        acc = tl.zeros((SIDE, SIDE), tl.float32)
        first = tl.load(order + tile) * SIDE
        for row in tl.range(first, blocks * SIDE, SIDE, num_stages=STAGES):
            acc = tl.dot(left.load([first, 0]), right.load([row, 0]), acc) * 0.5
        most = tl.full((SIDE,), 0, tl.float32)
        for row in tl.range(0, first, SIDE, num_stages=2):
            most = tl.maximum(most, tl.max(right.load([row, 0]).to(tl.float32), 1))
        tl.store(out + (tile * SIDE + i[:, None]) * SIDE + i[None, :], acc + most[:, None])


@tle2cuda.jit
def box_mixed(a, b, scale, out, depth, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """A block pointer that the loop moves, a descriptor of rows of K, and scales through pointers, in one ring."""
    i = tl.arange(0, SIDE)
    left = tl.make_block_ptr(a, (SIDE, depth), (depth, 1), (0, 0), (SIDE, SIDE), (1, 0))
    right = tl.make_tensor_descriptor(b, [SIDE, depth], [depth, 1], [SIDE, SIDE])
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for k in tl.range(0, depth, SIDE, num_stages=STAGES):
        x = tl.load(left, boundary_check=(0, 1), padding_option="zero")
        y = right.load([0, k])
        acc += tl.dot(x, tl.trans(y)) * tl.load(scale + k + i)[None, :]
        left = tl.advance(left, (0, SIDE))
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@tle2cuda.jit
def box_rows(x, out, rows, columns, first, STAGES: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    """Sums over blocks of rows that every thread reads out of the ring, in a loop that asks whether there are more."""
    boxes = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, WIDTH], padding_option="nan")
    i = tl.arange(0, WIDTH)
    start = 0
    total = tl.zeros((WIDTH,), tl.float32)
    while start < columns:
        for row in tl.range(first, rows, ROWS, num_stages=STAGES):
            tile = boxes.load([row, start])
            total = total * 0.5 + tl.sum(tl.where(tile == tile, tile, 0.0), 0)
        start += WIDTH
    tl.store(out + i, total)


@tle2cuda.jit
def box_pages(a, b, pages, out, count, blocks, STAGES: tl.constexpr, SIDE: tl.constexpr, SPLIT: tl.constexpr):
    """Blocks of rows by numbers that the loop loads."""
    left = tl.make_tensor_descriptor(a, [SIDE, blocks * SIDE], [blocks * SIDE, 1], [SIDE, SIDE])
    right = tl.make_tensor_descriptor(b, [blocks * SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
    i = tl.arange(0, SIDE)
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, count, num_stages=STAGES, warp_specialize=SPLIT):
        page = tl.load(pages + step)
        acc = tl.dot(left.load([0, page * SIDE]), right.load([page * SIDE, 0]), acc)
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


@tle2cuda.jit
def box_results(
    a, b, out, M, N, K, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAYS: tl.constexpr,
    SPLIT: tl.constexpr,
):  # fmt: skip
    """Products that go out by a descriptor, over any sizes; each CTA takes one tile, or stays for several."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    result = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in tl.range(
        tl.program_id(0), tiles if STAYS else tl.program_id(0) + 1, tl.num_programs(0), warp_specialize=SPLIT
    ):
        row, col = tile // tl.cdiv(N, BN) * BM, tile % tl.cdiv(N, BN) * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in tl.range(0, K, BK, num_stages=STAGES):
            acc = tl.dot(left.load([row, k]), right.load([k, col]), acc)
        result.store([row, col], (acc * 0.5).to(out.dtype.element_ty))


@tle2cuda.jit
def box_sums(
    a, b, out, M, N, K, stride, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    """Every so many blocks of K, by a run-time step, tile after tile; sums of rows go through shared memory meanwhile."""
    left = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    result = tl.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    k = tl.arange(0, BK)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), tl.num_programs(0)):
        row, col = tile // tl.cdiv(N, BN) * BM, tile % tl.cdiv(N, BN) * BN
        j = col + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        sums = tl.zeros((BM,), tl.float32)
        for block in tl.range(0, tl.cdiv(K, BK), stride, num_stages=STAGES):
            rows = block * BK + k
            x = left.load([row, block * BK])
            acc = tl.dot(x, tl.load(b + rows[:, None] * N + j[None, :], mask=(rows[:, None] < K) & (j[None, :] < N)), acc)
            sums += tl.sum(x.to(tl.float32), 1)
        result.store([row, col], (acc + sums[:, None]).to(tl.float16))


def _case(name: str, kernel: Any, grid: tuple[int, ...], make: Any, want: Any, warps: int = 4, **constants: Any) -> None:
    add_case(OpCase(name, "ring_boxes", kernel, grid, make, want, constants, warps, FINE))


def _small(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def _products_case(tiles: int, steps: int, stages: int, m: int, n: int, block: int, warps: int = 4, short: int = 0) -> None:
    depth = max(1, steps) * block - short

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (tiles * m, depth), np.float16), _small(rng, (depth, n), np.float16)
        out = poison((tiles * m, n), np.float32)
        return {"a": a, "b": b, "out": out, "tiles": tiles, "steps": steps, "depth": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64)[..., : steps * block] for name in "ab")
        b = inputs["b"].astype(np.float64)[: steps * block]
        out = a @ b
        for tile in range(1, tiles, 3):
            out[tile * m : (tile + 1) * m] = 0
        return {"out": out.astype(np.float32)}

    name = f"box_products_{tiles}_{steps}_{stages}_{m}x{n}x{block}"
    _case(name, box_products, (2,), make, want, warps, STAGES=stages, M=m, N=n, BLOCK=block)


for _steps in (0, 1, 2, 3, 4, 7):
    _products_case(5, _steps, 3, 64, 32, 32)
_products_case(3, 5, 2, 64, 32, 32)
_products_case(7, 3, 4, 128, 64, 64, warps=8, short=24)
_products_case(3, 4, 3, 32, 32, 16)


def _partitions_case(tiles: int, steps: int, stages: int, inner: bool, m: int, n: int, block: int, warps: int) -> None:
    depth = max(1, steps) * block

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (tiles * m, depth), np.float16), _small(rng, (n, depth), np.float16)
        out = poison((tiles * m, n), np.float32)
        return {"a": a, "b": b, "out": out, "tiles": tiles, "steps": steps, "depth": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64)[:, : steps * block] for name in "ab")
        out = a @ b.T
        for tile in range(1, tiles, 3):
            out[tile * m : (tile + 1) * m] = 0
        return {"out": out.astype(np.float32)}

    name = f"box_partitions_{tiles}_{steps}_{stages}{'_inner' if inner else ''}_{m}x{n}x{block}"
    _case(name, box_partitions, (2,), make, want, warps, STAGES=stages, M=m, N=n, BLOCK=block, INNER=inner)


for _steps, _stages in ((0, 3), (2, 3), (7, 3), (5, 2)):
    _partitions_case(5, _steps, _stages, False, 64, 32, 32, 4)
_partitions_case(7, 3, 4, True, 128, 64, 64, 8)
_partitions_case(5, 4, 3, True, 32, 32, 16, 4)


def _results_case(
    size: tuple[int, int, int],
    tile: tuple[int, int, int],
    stages: int,
    ctas: int,
    dtype: Any,
    warps: int = 4,
    split: bool = False,
) -> None:
    (m, n, k), (bm, bn, bk) = size, tile

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (m, k), np.float16), _small(rng, (k, n), np.float16)
        return {"a": a, "b": b, "out": poison((m, n), dtype), "M": m, "N": n, "K": k}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        return {"out": (a @ b * 0.5).astype(dtype)}

    constants = {"STAGES": stages, "BM": bm, "BN": bn, "BK": bk, "STAYS": ctas > 0, "SPLIT": split}
    name = f"box_results_{m}x{n}x{k}_{bm}x{bn}x{bk}_{stages}_{ctas}_{np.dtype(dtype).name}{'_split' if split else ''}"
    grid = (ctas or -(-m // bm) * -(-n // bn),)
    _case(name, box_results, grid, make, want, warps, **constants)


_results_case((70, 80, 104), (64, 64, 32), 3, 0, np.float16)
_results_case((130, 48, 40), (64, 32, 32), 2, 2, np.float32)
_results_case((200, 144, 72), (128, 64, 32), 3, 1, np.float16, warps=8)
_results_case((130, 144, 72), (64, 128, 32), 3, 2, np.float16, split=True)
_results_case((30, 24, 64), (32, 16, 32), 3, 2, np.float16)  # rows of no whole units of 16 elements: from registers


def _sums_case(size: tuple[int, int, int], tile: tuple[int, int, int], stages: int, stride: int, ctas: int) -> None:
    (m, n, k), (bm, bn, bk) = size, tile

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (m, k), np.float16), _small(rng, (k, n), np.float16)
        return {"a": a, "b": b, "out": poison((m, n), np.float16), "M": m, "N": n, "K": k, "stride": stride}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        taken = np.arange(k) // bk % stride == 0
        a, b = inputs["a"].astype(np.float64)[:, taken], inputs["b"].astype(np.float64)[taken]
        return {"out": (a @ b + a.sum(1)[:, None]).astype(np.float16)}

    name = f"box_sums_{m}x{n}x{k}_{bm}x{bn}x{bk}_{stages}_{stride}"
    _case(name, box_sums, (ctas,), make, want, 8, STAGES=stages, BM=bm, BN=bn, BK=bk)


_sums_case((200, 16, 40), (64, 32, 64), 5, 1, 3)
_sums_case((136, 48, 296), (64, 32, 32), 3, 2, 2)


def _two_case(blocks: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = (_small(rng, (blocks * side, side), np.float16) for _ in range(2))
        order = rng.permutation(blocks).astype(np.int32)
        return {"a": a, "b": b, "order": order, "out": poison((blocks * side, side), np.float32), "blocks": blocks}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64).reshape(blocks, side, side) for name in "ab")
        out = np.zeros((blocks, side, side))
        for tile, first in enumerate(inputs["order"]):
            for row in range(first, blocks):
                out[tile] = (out[tile] + a[first] @ b[row]) * 0.5
            out[tile] += np.maximum(b[:first].max((0, 2), initial=0), 0)[:, None]
        return {"out": out.reshape(-1, side).astype(np.float32)}

    _case(f"box_two_rings_{blocks}_{stages}_{side}", box_two_rings, (2,), make, want, STAGES=stages, SIDE=side)


_two_case(5, 3, 64)


def _mixed_case(depth: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = (_small(rng, (side, depth), np.float16) for _ in range(2))
        scale = _small(rng, (-(-depth // side) * side,), np.float32)
        return {"a": a, "b": b, "scale": scale, "out": poison((side, side), np.float32), "depth": depth}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b, scale = (inputs[name].astype(np.float64) for name in ("a", "b", "scale"))
        total = np.zeros((side, side))
        for k in range(0, depth, side):
            total += a[:, k : k + side] @ b[:, k : k + side].T * scale[k : k + side][None, :]
        return {"out": total.astype(np.float32)}

    _case(f"box_mixed_{depth}_{stages}", box_mixed, (1,), make, want, STAGES=stages, SIDE=side)


_mixed_case(168, 3, 32)
_mixed_case(256, 3, 64)


def _pages_case(count: int, stages: int, side: int, split: bool) -> None:
    blocks = 6

    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (side, blocks * side), np.float16), _small(rng, (blocks * side, side), np.float16)
        pages = rng.integers(0, blocks, max(1, count), dtype=np.int32)
        out = poison((side, side), np.float32)
        return {"a": a, "b": b, "pages": pages, "out": out, "count": count, "blocks": blocks}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        parts = [slice(page * side, (page + 1) * side) for page in inputs["pages"][:count]]
        return {"out": sum((a[:, p] @ b[p] for p in parts), np.zeros((side, side))).astype(np.float32)}

    name = f"box_pages_{count}_{stages}_{side}{'_split' if split else ''}"
    _case(name, box_pages, (1,), make, want, STAGES=stages, SIDE=side, SPLIT=split)


for _count in (0, 1, 5):
    _pages_case(_count, 3, 64, False)
_pages_case(7, 2, 64, True)


def _rows_case(first: int, rows: int, columns: int, stages: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        x = _small(rng, (rows, columns), np.float32)
        return {"x": x, "out": poison((64,), np.float32), "rows": rows, "columns": columns, "first": first}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        total = np.zeros(64)
        for start in range(0, columns, 64):
            for row in range(first, rows, 8):
                total *= 0.5
                block = inputs["x"][row : row + 8, start : start + 64].sum(0, dtype=np.float64)
                total[: len(block)] += block
        return {"out": total.astype(np.float32)}

    _case(f"box_rows_{first}_{rows}_{columns}_{stages}", box_rows, (1,), make, want, STAGES=stages, ROWS=8, WIDTH=64)


_rows_case(0, 44, 132, 3)
_rows_case(8, 24, 128, 2)


@tle2cuda.jit
def box_ahead(a, b, out, count, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """A partition fills its ring while the other one still turns its operand over, in memory that is not the ring's."""
    i = tl.arange(0, SIDE)
    right = tl.make_tensor_descriptor(b, [count * SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
    left = tl.reshape(tl.load(a + tl.arange(0, SIDE * SIDE)), (SIDE, SIDE))
    acc = tl.zeros((SIDE, SIDE), tl.float32)
    for step in tl.range(0, count, num_stages=STAGES, warp_specialize=True):
        acc = tl.dot(left, right.load([step * SIDE, 0]).T, acc)
    tl.store(out + i[:, None] * SIDE + i[None, :], acc)


def _ahead_case(count: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (side, side), np.float16), _small(rng, (count * side, side), np.float16)
        return {"a": a, "b": b, "out": poison((side, side), np.float32), "count": count}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        return {"out": (a @ b.reshape(count, side, side).sum(0).T).astype(np.float32)}

    _case(f"box_ahead_{count}_{stages}_{side}", box_ahead, (1,), make, want, STAGES=stages, SIDE=side)


_ahead_case(5, 3, 32)


@tle2cuda.jit
def box_behind(a, b, out, count, STAGES: tl.constexpr, SIDE: tl.constexpr):
    """A ring in the bytes of what a reduction in front of the loop exchanges, which the copy engine must not overtake."""
    i = tl.arange(0, SIDE)
    boxes = tl.make_tensor_descriptor(b, [count * SIDE, SIDE], [SIDE, 1], [SIDE, SIDE])
    total = tl.sum(tl.load(a + i[:, None] * SIDE + i[None, :]), 0)
    for step in tl.range(0, count, num_stages=STAGES):
        total += tl.sum(boxes.load([step * SIDE, 0]), 0)
    tl.store(out + i, total)


def _behind_case(count: int, stages: int, side: int) -> None:
    def make(rng: np.random.Generator) -> Inputs:
        a, b = _small(rng, (side, side), np.float32), _small(rng, (count * side, side), np.float32)
        return {"a": a, "b": b, "out": poison((side,), np.float32), "count": count}

    def want(inputs: Inputs) -> Mapping[str, Array]:
        a, b = (inputs[name].astype(np.float64) for name in "ab")
        return {"out": (a.sum(0) + b.sum(0)).astype(np.float32)}

    _case(f"box_behind_{count}_{stages}_{side}", box_behind, (1,), make, want, STAGES=stages, SIDE=side)


_behind_case(5, 3, 32)
