"""Products that read a slot of a slot of a buffer."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def multiplied(out, stage, part):
    ring = tle.gpu.alloc([2, 2, 64, 64], dtype=tl.float16)
    tile = ring.slot(stage).slot(part)
    product = tle.gpu.wgmma_wait(0, tle.gpu.wgmma(tile, tile, trans_b=True))
    rows, cols = tl.arange(0, 64), tl.arange(0, 64)
    tl.store(out + rows[:, None] * 64 + cols[None, :], product)


def test_descriptors_name_a_slot_of_a_slot() -> None:
    source = tle2cuda.emit(multiplied, "*fp32:16,i32,i32", num_warps=4, arch="sm_90a").source
    assert "wgmma_descriptor<128>(shared.ring[stage][part], 16, 1024)" in source
