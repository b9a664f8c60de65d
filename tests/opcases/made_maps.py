"""Tensor maps that kernels make in loops, branches, functions and partitions, of what memory says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import tle2cuda
import tle2cuda.language as tl
from tests.opcases.case import EXACT, Array, Inputs, OpCase, add_case, poison
from tle2cuda.language import tle

# ---- kernels --------------------------------------------------------------------------------------------------------


@tle2cuda.jit
def matrix(x, firsts, rows, number, N, BM: tl.constexpr, BN: tl.constexpr):
    """A descriptor of one of several matrices that lie somewhere in x, whose rows end at 16 bytes."""
    N = tl.multiple_of(N, 4)
    first = tl.multiple_of(tl.load(firsts + number), 16)
    return tl.make_tensor_descriptor(x + first, [tl.load(rows + number), N], [N, 1], [BM, BN])


@tle2cuda.jit
def turn_groups(x, out, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr):
    """Blocking loads and stores by maps that each iteration makes anew; a branch chooses what is read."""
    tile = tle.gpu.alloc([BM, BN], tl.float32, nv_mma_shared_layout=False)
    for group in range(tl.program_id(0), groups, tl.num_programs(0)):
        source = matrix(x, firsts, rows, group, N, BM, BN)
        if group % 3 == 2:
            source = matrix(x, firsts, rows, group - 1, N, BM, BN)
        target = matrix(out, firsts, rows, group, N, BM, BN)
        for row in range(0, tl.load(rows + group), BM):
            tle.gpu.copy(source, tile, [BM, BN], [row, 0])
            tl.store(tle.gpu.local_ptr(tile), tl.load(tle.gpu.local_ptr(tile)) * 2 + group)
            tle.gpu.copy(tile, target, [BM, BN], [row, 0])


@tle2cuda.jit
def read_groups(writer, x, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr):
    """A map for each group; loads by the last one are in flight when it is made."""
    turn = 0
    for group in range(tl.program_id(0), groups, tl.num_programs(0)):
        source = matrix(x, firsts, rows, group, N, BM, BN)
        for row in range(0, tl.load(rows + group), BM):
            tle.gpu.copy(source, writer.acquire(turn).tile, [BM, BN], [row, 0])
            writer.commit(turn)
            turn += 1


@tle2cuda.jit
def read_steps(writer, x, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr):
    """A map for each stage."""
    turn = 0
    for group in range(tl.program_id(0), groups, tl.num_programs(0)):
        for row in range(0, tl.load(rows + group), BM):
            slot = writer.acquire(turn).tile
            first = tl.multiple_of(tl.load(firsts + group), 16)
            end = tl.load(rows + group) - row
            source = tl.make_tensor_descriptor(x + first + row * N, [end, N], [N, 1], [BM, BN])
            tle.gpu.copy(source, slot, [BM, BN], [0, 0])
            writer.commit(turn)
            turn += 1


@tle2cuda.jit
def write_groups(reader, out, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr):
    turn = 0
    for group in range(tl.program_id(0), groups, tl.num_programs(0)):
        target = matrix(out, firsts, rows, group, N, BM, BN)
        for row in range(0, tl.load(rows + group), BM):
            slot = reader.wait(turn).slot.tile
            tl.store(tle.gpu.local_ptr(slot), tl.load(tle.gpu.local_ptr(slot)) + group)
            tle.gpu.copy(slot, target, [BM, BN], [row, 0])
            reader.release(turn)
            turn += 1


@tle2cuda.jit
def pipe_groups(
    x, out, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr, CAPACITY: tl.constexpr, READ: tl.constexpr
):
    """Worker partitions that describe group after group, one to read and one to write."""
    ring = tle.gpu.alloc([CAPACITY, BM, BN], tl.float32, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=CAPACITY, name="tiles", tile=ring)
    tle.gpu.warp_specialize(
        [
            (write_groups, (pipe.reader(), out, firsts, rows, groups, N, BM, BN)),
            (READ, (pipe.writer(), x, firsts, rows, groups, N, BM, BN)),
        ],
        [1],
        [40],
    )


@tle2cuda.jit
def await_groups(x, out, firsts, rows, groups, N, BM: tl.constexpr, BN: tl.constexpr):
    """Loads that complete on an mbarrier, in a branch of a loop."""
    tile = tle.gpu.alloc([BM, BN], tl.float32, nv_mma_shared_layout=False)
    landed = tle.gpu.alloc_barrier(expect_bytes=BM * BN * 4)
    turn = 0
    for group in range(groups):
        if tl.load(rows + group) > 0:
            source = matrix(x, firsts, rows, group, N, BM, BN)
            tle.gpu.copy(source, tile, [BM, BN], [0, 0], barrier=landed)
            tle.gpu.barrier_wait(landed, phaseIdx=turn)
            i, j = tl.arange(0, BM)[:, None], tl.arange(0, BN)[None, :]
            tl.store(out + (group * BM + i) * BN + j, tl.load(tle.gpu.local_ptr(tile)))
            turn += 1


@tle2cuda.jit
def multiply_in_turn(x, w, firsts, rows, groups, K, BLOCK: tl.constexpr):
    """Each group multiplies what the one before has stored: rings that the copy engine fills, by maps of the group."""
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    for group in range(groups):
        count = tl.load(rows + group)
        source = x + tl.multiple_of(tl.load(firsts + group), 16)
        target = x + tl.load(firsts + group + 1)
        left = tl.make_tensor_descriptor(source, [count, K], [K, 1], [BLOCK, BLOCK])
        right = tl.make_tensor_descriptor(w + group * K * K, [K, K], [K, 1], [BLOCK, BLOCK])
        for row in range(0, count, BLOCK):
            for col in range(0, K, BLOCK):
                acc = tl.zeros((BLOCK, BLOCK), tl.float32)
                for step in range(0, K, BLOCK):
                    acc = tl.dot(left.load([row, step]), right.load([step, col]), acc)
                tl.store(target + (row + i) * K + col + j, acc.to(tl.float16), mask=(row + i < count) & (col + j < K))
        tl.debug_barrier()


# ---- cases ----------------------------------------------------------------------------------------------------------

_ROWS = np.array([5, 0, 16, 23, 1, 40, 8], np.int32)
_N = 20


def _inputs(rng: np.random.Generator) -> Inputs:
    firsts = np.cumsum([0, *(_ROWS[:-1] * _N + 32) // 16 * 16]).astype(np.int32)
    size = int(firsts[-1]) + int(_ROWS[-1]) * _N + 64
    x = rng.integers(-99, 99, size).astype(np.float32)
    out = poison(size, np.float32)
    return {"x": x, "out": out, "firsts": firsts, "rows": _ROWS, "groups": len(_ROWS), "N": _N}


def _expected(inputs: Inputs, value: Callable[[int, Callable[[int], Array]], Array]) -> Mapping[str, Array]:
    """What `value` makes of each group's number and matrices, where those lie."""
    out, x = inputs["out"].copy(), inputs["x"]

    def read(group: int, count: int) -> Array:
        """Rows of a group, zeros behind its last one."""
        first, rows = int(inputs["firsts"][group]), min(count, int(_ROWS[group]))
        found = np.zeros((count, _N), np.float32)
        found[:rows] = x[first : first + rows * _N].reshape(rows, _N)
        return found

    for group, rows in enumerate(_ROWS):
        first = int(inputs["firsts"][group])
        made = value(group, lambda number, rows=rows: read(number, int(rows)))
        out[first : first + rows * _N] = made.reshape(-1)
    return {"out": out}


def _turned(group: int, read: Callable[[int], Array]) -> Array:
    return read(group - (group % 3 == 2)) * 2 + np.float32(group)


def _added(group: int, read: Callable[[int], Array]) -> Array:
    return read(group) + np.float32(group)


def _case(name: str, kernel: Any, expect: Callable[[Inputs], Mapping[str, Array]], constants: Mapping[str, Any]) -> None:
    add_case(OpCase(f"made_maps_{name}", "made_maps", kernel, (2,), _inputs, expect, constants))


def _register() -> None:
    chain = OpCase(
        "made_maps_products", "made_maps", multiply_in_turn, (1,), _chain, _chained, {"BLOCK": 64}, tolerance=EXACT
    )
    add_case(chain)
    size = {"BM": 8, "BN": 32}
    _case("loop", turn_groups, lambda inputs: _expected(inputs, _turned), size)
    for name, reader, capacity in (("pipe", read_groups, 3), ("pipe_of_one", read_groups, 1), ("stages", read_steps, 2)):
        _case(
            name,
            pipe_groups,
            lambda inputs: _expected(inputs, _added),
            {**size, "CAPACITY": capacity, "READ": reader},
        )
    add_case(
        OpCase(
            "made_maps_awaited",
            "made_maps",
            await_groups,
            (1,),
            lambda rng: {**_inputs(rng), "out": poison(len(_ROWS) * 8 * 32, np.float32)},
            _first_tiles,
            size,
        )
    )


_COUNTS, _K = np.array([70, 33, 30], np.int32), 136


def _chain(rng: np.random.Generator) -> Inputs:
    firsts = np.cumsum([0, *(_COUNTS * _K + 31) // 16 * 16]).astype(np.int32)
    x = rng.integers(-9, 9, int(firsts[-1]) + int(_COUNTS[-1]) * _K).astype(np.float16)
    signs = [np.diag(rng.choice([-1.0, 1.0, 2.0], _K))[rng.permutation(_K)] for _ in _COUNTS]
    w = np.concatenate(signs).astype(np.float16)
    return {"x": x, "w": w, "firsts": firsts, "rows": _COUNTS, "groups": len(_COUNTS), "K": _K}


def _chained(inputs: Inputs) -> Mapping[str, Array]:
    x = inputs["x"].copy()
    for group, count in enumerate(_COUNTS):
        first, then = (int(inputs["firsts"][group + i]) for i in (0, 1))
        factor = inputs["w"].reshape(-1, _K, _K)[group].astype(np.float32)
        made = x[first : first + count * _K].reshape(-1, _K).astype(np.float32) @ factor
        x[then : then + count * _K] = made.astype(np.float16).reshape(-1)
    return {"x": x}


def _first_tiles(inputs: Inputs) -> Mapping[str, Array]:
    out = inputs["out"].reshape(-1, 8, 32).copy()
    for group, rows in enumerate(_ROWS):
        if rows:
            first, count = int(inputs["firsts"][group]), min(8, int(rows))
            out[group] = 0
            out[group, :count, :_N] = inputs["x"][first : first + count * _N].reshape(count, _N)
    return {"out": out.reshape(-1)}


_register()
