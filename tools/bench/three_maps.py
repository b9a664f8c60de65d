"""The same addition by three pointers and by three tensor maps, for what maps cost a launch (tools/bench/launch.py)."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle


@tle2cuda.jit
def add_by_pointers(x, y, out, n, BLOCK: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + columns, mask=columns < n) + tl.load(y + columns, mask=columns < n)
    tl.store(out + columns, total, mask=columns < n)


@tle2cuda.jit
def add_by_copies(x, y, out, BLOCK: tl.constexpr):
    """Takes descriptors; each becomes a tensor map."""
    a = tle.gpu.alloc([BLOCK], dtype=tl.float32, nv_mma_shared_layout=False)
    b = tle.gpu.alloc([BLOCK], dtype=tl.float32, nv_mma_shared_layout=False)
    at = tl.program_id(0) * BLOCK
    tle.gpu.copy(x, a, [BLOCK], [at])
    tle.gpu.copy(y, b, [BLOCK], [at])
    tl.store(tle.gpu.local_ptr(a), tl.load(tle.gpu.local_ptr(a)) + tl.load(tle.gpu.local_ptr(b)))
    tle.gpu.copy(a, out, [BLOCK], [at])


@tle2cuda.jit
def add_by_described(x, y, out, n, BLOCK: tl.constexpr):
    """Takes pointers and describes them; the launch makes the same three maps of them."""
    add_by_copies(
        tl.make_tensor_descriptor(x, [n], [1], [BLOCK]),
        tl.make_tensor_descriptor(y, [n], [1], [BLOCK]),
        tl.make_tensor_descriptor(out, [n], [1], [BLOCK]),
        BLOCK,
    )


@tle2cuda.jit
def add_by_descriptors(x, y, out, BLOCK: tl.constexpr):
    """Triton's way; it makes a map of every descriptor that it takes."""
    at = tl.program_id(0) * BLOCK
    out.store([at], x.load([at]) + y.load([at]))
