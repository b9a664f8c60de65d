"""Which threads of a reader release the stages of a pipe."""

from __future__ import annotations

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def fetch(writer, note, desc, steps, NOTED: tl.constexpr):
    for step in range(steps):
        slot = writer.acquire(step)
        if NOTED:
            tl.store(tle.gpu.local_ptr(note, (0,)), step)
        tle.gpu.copy(desc, slot.tile, [64, 64], [step * 64, 0])
        writer.commit(step)


@tle2cuda.jit
def multiply(reader, note, out, steps, NOTED: tl.constexpr, LOADED: tl.constexpr):
    acc, noted = tl.zeros([64, 64], tl.float32), 0
    for step in range(steps):
        tile = reader.wait(step).slot.tile
        acc = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(tile, tile, acc, trans_b=True))
        if NOTED:
            noted += tl.load(tle.gpu.local_ptr(note, (0,)))
        if LOADED:
            acc += tl.load(tle.gpu.local_ptr(tile)).to(tl.float32)
        reader.release(step)
    i = tl.arange(0, 64)
    tl.store(out + i[:, None] * 64 + i[None, :], acc + noted)


@tle2cuda.jit
def multiplied(x, out, steps, NOTED: tl.constexpr, LOADED: tl.constexpr):
    desc = tl.make_tensor_descriptor(x, [steps * 64, 64], [64, 1], [64, 64])
    note = tle.gpu.alloc([1], dtype=tl.int32, nv_mma_shared_layout=False)
    tiles = tle.pipe(capacity=2, name="tiles", tile=tle.gpu.alloc([2, 64, 64], dtype=tl.float16))
    tle.gpu.warp_specialize(
        [
            (multiply, (tiles.reader(), note, out, steps, NOTED, LOADED)),
            (fetch, (tiles.writer(), note, desc, steps, NOTED)),
        ],
        [1],
    )


@pytest.mark.parametrize(
    ("noted", "loaded", "arrivals", "release"),
    [
        (False, False, 1, "if (thread % 128 == 0) mbarrier_arrive(&shared.tiles_empty[stage]);"),
        (True, False, 4, "__syncwarp();\n        if (thread % 32 == 0) mbarrier_arrive(&shared.tiles_empty[stage]);"),
        (False, True, 128, "        mbarrier_arrive(&shared.tiles_empty[stage]);"),
    ],
)
def test_as_few_threads_release_as_may(noted: bool, loaded: bool, arrivals: int, release: str) -> None:
    """One of a warpgroup that only multiplies, one of each warp that shares more with the writer, all that load."""
    source = tle2cuda.emit(multiplied, f"*fp16:16,*fp32:16,i32,{noted},{loaded}", num_warps=4, arch="sm_90a").source
    assert f"mbarrier_init(&shared.tiles_empty[stage], {arrivals});" in source and release in source
