"""A kernel of ten arguments, five arrays and five numbers, for what a launch costs in Python (tools/bench/launch.py)."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl


@tle2cuda.jit
def ten_arguments(x, y, scale, bias, out, n, x_offset, y_offset, out_offset, alpha, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + x_offset + offsets, mask=mask) * tl.load(scale + offsets, mask=mask)
    b = tl.load(y + y_offset + offsets, mask=mask) + tl.load(bias + offsets, mask=mask)
    tl.store(out + out_offset + offsets, a + alpha * b, mask=mask)
