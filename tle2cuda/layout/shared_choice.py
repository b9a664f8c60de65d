"""The shared-memory offset map for a conversion: widest vectors on both sides, no bank conflicts on either.

Over F2 the question is which subspaces of the tile become which bits of the offset. From the lowest:

- the vector V: elements that both sides hold in registers of one thread, independent of everything that
  threads do;
- the word part and the banks: a complement in which the lanes of a phase are independent, for both sides at
  once;
- the lines: what is left. Two elements that differ by a line vector share a bank, so no lane vector may lie
  in it.

Two subspaces of equal dimension always have a common complement: with I their intersection, a_i and b_i
completing I to each, the sums a_i + b_i together with a complement of both serve. Hence a map free of
conflicts always exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

from . import f2
from .distributed import Layout, flat_bits, log2_exact
from .errors import LayoutError
from .shared import (
    BANK_BYTES,
    MAX_VECTOR_BYTES,
    PHASE_BYTES,
    SWIZZLE_BYTES,
    SharedLayout,
    bank_conflict_degree,
    phase_lane_bits,
    widest_vector,
)

_FAMILIAR_MAX_RANK = 4  # above, the orders of the axes are too many to try each


def shared_offset_map(source: Layout, target: Layout, element_bytes: int) -> SharedLayout:
    """Return where a tile goes in shared memory between being written as `source` and read as `target`.

    Both sides use vectors at least as wide as the widest that they share, and neither has bank conflicts with
    the width of `shared.best_vector`. A plain or swizzled
    layout is preferred when it is as good, because its offsets read more easily.
    """
    if source.shape != target.shape:
        raise LayoutError(f"layouts of different tiles: {source.shape} and {target.shape}")
    log2_exact(element_bytes, "element size in bytes")
    vector = _common_vector(source, target, element_bytes)
    for candidate in _familiar_maps(source.shape, element_bytes):
        if all(
            widest_vector(layout, candidate) >= 1 << len(vector)
            and bank_conflict_degree(layout, candidate, element_bytes, widest_vector(layout, candidate)) == 1
            for layout in (source, target)
        ):
            return candidate
    basis = (*vector, *_bank_and_line_basis(source, target, vector, element_bytes))
    return SharedLayout.from_flat(source.shape, f2.inverse(basis), element_bytes)


def _familiar_maps(shape: tuple[int, ...], element_bytes: int) -> Iterator[SharedLayout]:
    rank = len(shape)
    row_major = tuple(reversed(range(rank)))
    orders: Sequence[tuple[int, ...]] = [row_major]
    if rank <= _FAMILIAR_MAX_RANK:
        orders = sorted(permutations(range(rank)), key=lambda order: order != row_major)
    for order in orders:
        yield SharedLayout.plain(shape, element_bytes, order)
    for order in orders:
        if rank >= 2 and element_bytes <= MAX_VECTOR_BYTES:
            row_bytes = shape[order[0]] * element_bytes
            swizzle_bytes = min(row_bytes, SWIZZLE_BYTES[-1])
            if swizzle_bytes in SWIZZLE_BYTES:
                yield SharedLayout.swizzled(shape, element_bytes, swizzle_bytes, order)


def _common_vector(source: Layout, target: Layout, element_bytes: int) -> tuple[int, ...]:
    """Return tile vectors that both sides hold in registers and that none of their threads reaches."""
    threads = (*source.flat_threads, *target.flat_threads)
    shared_registers = f2.intersection(source.flat_registers, target.flat_registers)
    within = f2.EchelonBasis(shared_registers)
    # Register images of one side come first, so that a vector is made of neighbouring registers where
    # possible.
    natural = [image for layout in (source, target) for image in layout.flat_registers if image and image in within]
    most = log2_exact(max(MAX_VECTOR_BYTES // element_bytes, 1), "elements in 16 bytes")
    return f2.independent((*natural, *shared_registers), threads)[:most]


def _bank_and_line_basis(source: Layout, target: Layout, vector: Sequence[int], element_bytes: int) -> tuple[int, ...]:
    """Return the tile vectors of the offset bits above the vector: rest of a word, banks, lines."""
    bits = flat_bits(source.shape)
    access_bytes = element_bytes << len(vector)
    lane_bits = phase_lane_bits(access_bytes)
    bank_bits = log2_exact(PHASE_BYTES // access_bytes, "accesses in a phase")
    word_bits = log2_exact(max(BANK_BYTES // access_bytes, 1), "accesses in a word")

    threads = f2.independent((*source.flat_threads, *target.flat_threads))
    # All choices are made in one complement of the vector that contains every thread vector: offsets of
    # threads then never reach into the vector.
    complement = (*threads, *f2.complete(threads, f2.identity(bits), vector))
    first = f2.independent(source.flat_lanes[:lane_bits])
    second = f2.independent(target.flat_lanes[:lane_bits])
    common = f2.intersection(first, second)
    # Elements of one word should be asked for by the lanes of both sides; failing that, by those of one.
    word = f2.independent((*common, *first, *second, *complement))[:word_bits]
    first = _padded(f2.independent((*word, *first)), complement, bank_bits)
    second = _padded(f2.independent((*word, *second)), (*first, *complement), bank_bits)

    common = f2.independent((*word, *f2.intersection(first, second)))
    only_first = f2.complete(common, first)
    only_second = f2.complete(common, second)
    pairs = tuple(a ^ b for a, b in zip(only_first, only_second, strict=True))
    outside = f2.complete((*common, *only_first, *only_second), complement)
    return (*common, *only_first, *outside, *pairs)


def _padded(vectors: Sequence[int], candidates: Sequence[int], size: int) -> tuple[int, ...]:
    """Extend independent vectors to `size` by candidates, as far as these reach."""
    if len(vectors) > size:
        raise LayoutError("internal error: more lanes in a phase than it has words")
    return (*vectors, *f2.complete(vectors, candidates))[:size]
