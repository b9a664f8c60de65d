"""Counts values: one warp fetches them by the copy engine, the others count what arrives in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import COPY_BYTES, address_of, persistent_ctas
from tle2cuda.language import tle


@tle2cuda.jit
def fetch_values(writer, values, n, BLOCK: tl.constexpr):
    desc = tl.make_tensor_descriptor(values, [n], [1], [BLOCK])
    place = writer.cursor(0)
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        slot = writer.acquire(place)
        tle.gpu.copy(desc, slot.values, [BLOCK], [block * BLOCK])
        writer.commit(place)
        place = place.advance()


@tle2cuda.jit
def count_values(reader, counters, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    bins = tl.arange(0, BINS)
    tl.store(tle.gpu.local_ptr(counters), tl.zeros([BINS], tl.int32))
    place = reader.cursor(0)
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        value = tl.load(tle.gpu.local_ptr(reader.wait(place).slot.values))
        reader.release(place)
        place = place.advance()
        counted = (block * BLOCK + tl.arange(0, BLOCK) < n) & (value >= 0) & (value < BINS)
        tl.atomic_add(tle.gpu.local_ptr(counters, (value,)), 1, mask=counted, sem="relaxed", scope="cta")
    total = tl.load(tle.gpu.local_ptr(counters))
    tl.atomic_add(counts + bins, total, mask=total > 0, sem="relaxed")


@tle2cuda.jit
def piped_histogram(values, counts, n, BINS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    ring = tle.gpu.alloc([STAGES, BLOCK], dtype=values.dtype.element_ty, nv_mma_shared_layout=False)
    counters = tle.gpu.alloc([BINS], dtype=tl.int32, nv_mma_shared_layout=False)
    pipe = tle.pipe(capacity=STAGES, name="blocks", values=ring)
    tle.gpu.warp_specialize(
        [
            (count_values, (pipe.reader(), counters, counts, n, BINS, BLOCK)),
            (fetch_values, (pipe.writer(), values, n, BLOCK)),
        ],
        [1],
    )


def count(values: Any, counts: Any, *, block: int = 2048, stages: int = 4, num_warps: int = 8, ctas: int = 4) -> Any:
    """Adds to `counts[v]` how often v occurs in `values`; values that are no place of `counts` are left out.

    Args:
        values: int32 [n], at an address that is a multiple of 16.
        counts: int32 [bins], a power of two.
        block: Values of a stage, a power of two.
        stages: Stages of the ring.
        num_warps: Warps that count.
        ctas: CTAs of a multiprocessor.

    Raises:
        ValueError: Another number of bins or address.
    """
    (n,), (bins,) = values.shape, counts.shape
    if bins & (bins - 1):
        raise ValueError(f"the number of bins must be a power of two, got {bins}")
    if address_of(values) % COPY_BYTES:
        raise ValueError("TMA needs an address that is a multiple of 16")
    if n == 0:
        return counts
    grid = (persistent_ctas(values, -(-n // block), ctas),)
    piped_histogram[grid](values, counts, n, BINS=bins, BLOCK=block, STAGES=stages, num_warps=num_warps)
    return counts


def count_reference(values: NDArray[np.integer], bins: int) -> NDArray[np.int32]:
    """The counts in NumPy."""
    return np.bincount(values[(values >= 0) & (values < bins)], minlength=bins).astype(np.int32)
