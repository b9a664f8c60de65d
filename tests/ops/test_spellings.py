"""Names of the language that other tests meet only under another spelling, such as `and` for `tl.logical_and`."""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def logic(out, N: tl.constexpr):
    i = tl.arange(0, N)
    odd, large = (i & 1) == 1, i >= N // 2
    tl.store(out + i, tl.logical_and(odd, large))
    tl.store(out + N + i, tl.logical_or(odd, large))


def test_logic_of_tiles() -> None:
    out = np.zeros(16, np.int32)
    logic[(1,)](out, N=8)
    odd, large = np.arange(8) % 2 == 1, np.arange(8) >= 4
    assert (out == np.concatenate([odd & large, odd | large])).all()


@tle2cuda.jit
def arithmetic_by_name(out, n):
    tl.store(out, tl.add(n, 3))
    tl.store(out + 1, tl.sub(n, 3))
    tl.store(out + 2, tl.mul(n, 3))


def test_arithmetic_by_name() -> None:
    out = np.zeros(3, np.int32)
    arithmetic_by_name[(1,)](out, 5)
    assert out.tolist() == [8, 2, 15]


@tle2cuda.jit
def blocks_of_equals(index, x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    keep = tl.max_constancy(tl.load(index + i) > 0, 4)
    tl.store(out + i, tl.load(x + i, mask=keep, other=0.0), mask=keep)


def test_max_constancy_lets_a_mask_guard_whole_vectors() -> None:
    text = tle2cuda.emit(blocks_of_equals, "*i32:16, *fp32:16, *fp32:16, 512").source
    assert "load_vector_nc_if<uint4>(" in text
    index, x = np.repeat(np.array([1, 0], np.int32), 4), np.arange(8, dtype=np.float32)
    out = np.full(8, -1, np.float32)
    blocks_of_equals[(1,)](index, x, out, N=8)
    assert out.tolist() == [0, 1, 2, 3, -1, -1, -1, -1]


@tle2cuda.jit
def speaks(out, N: tl.constexpr):
    tl.static_print("N is", N)
    tl.store(out, N)


def test_static_print_prints_while_the_kernel_is_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    text = tle2cuda.emit(speaks, "*i32, 8").source
    assert capsys.readouterr().out == "N is 8\n"
    assert "N is" not in text


@tle2cuda.jit
def staged(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = tle.gpu.alloc([N], tl.float32)
    tle.gpu.copy(x + i, tile, [N], is_async=True)
    tle.gpu.async_commit_group()
    tle.gpu.async_wait_group(0)
    tl.store(out + i, tl.load(tle.gpu.local_ptr(tile, (N - 1 - i,))))


def test_asynchronous_copies_are_complete_behind_their_wait() -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    staged[(1,)](x, out, N=64)
    assert (out == x[::-1]).all()
    text = tle2cuda.emit(staged, "*fp32:16, *fp32:16, 64").source
    assert "cp_async<16>" in text and "cp_async_wait<0>" in text


@tle2cuda.jit
def staged_loop(x, out, n, N: tl.constexpr, STAGES: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.float32)
    for k in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + k * N + i)
    tl.store(out + i, total)


def test_num_stages_is_a_ring_of_as_many() -> None:
    def text(stages: int) -> str:
        return tle2cuda.emit(staged_loop, f"*fp32:16, *fp32:16, i32, 128, {stages}").source

    assert "cp_async" not in text(1)
    for stages in (2, 4):
        assert "cp_async" in text(stages) and f"[{stages}][128]" in text(stages)


def test_block_type() -> None:
    tile = tl.block_type(tl.float32, [4, 8])
    assert tile.scalar is tl.float32
    assert [int(extent) for extent in tile.shape] == [4, 8]
