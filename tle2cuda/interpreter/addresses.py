"""How the interpreter spells a pointer: one 64-bit word, as on the GPU, that remembers what it points into.

A tile of pointers is an array of such words, so selecting, splatting, storing or carrying pointers needs
nothing special. Moving a pointer by bytes is integer addition.

    global   0 | tag: 15 bits | address: 48 bits
             The address is the real one in this process. The tag says from which argument the pointer was
             derived, so that one that runs out of its array is attributed to it instead of hitting a
             neighbour. Tag 0: unknown.
    shared   1 | invalid: 1 bit | CTA: 16 bits | buffer: 10 bits | bias + byte offset: 36 bits
             Pointers to the own CTA and to a peer (DSMEM) look alike. The bias leaves room for negative
             offsets. The bit `invalid` marks what an index outside the extents given to `local_ptr` produced:
             an error when accessed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PointerArray = NDArray[np.uint64]
"""A tile of pointers (or, 0-dimensional, one pointer)."""

TAG_SHIFT = 48
ADDRESS_MASK = (1 << TAG_SHIFT) - 1
MAX_TAGS = 1 << 15

SHARED_BIT = 1 << 63
INVALID_BIT = 1 << 62
CTA_SHIFT = 46
CTA_SLOTS = 1 << 16
CTA_MASK = (CTA_SLOTS - 1) << CTA_SHIFT
BUFFER_SHIFT = 36
MAX_BUFFERS = 1 << 10
OFFSET_BIAS = 1 << 35
OFFSET_MASK = (1 << BUFFER_SHIFT) - 1


def global_address(tag: int, address: int) -> int:
    """The pointer word for a real address derived from the array with this tag."""
    return tag << TAG_SHIFT | address


def shared_address(cta_slot: int, buffer: int, offset_bytes: int = 0) -> int:
    """The pointer word for a byte of a CTA's buffer."""
    return SHARED_BIT | cta_slot << CTA_SHIFT | buffer << BUFFER_SHIFT | (OFFSET_BIAS + offset_bytes)


def is_shared(address: int) -> bool:
    """Whether a pointer word points into shared memory, of the own CTA or a peer."""
    return bool(address & SHARED_BIT)


def cta_slot_of(address: int) -> int:
    """The CTA whose shared memory a pointer word points into."""
    return (address & CTA_MASK) >> CTA_SHIFT


def buffer_of(address: int) -> int:
    """The number of the buffer that a shared pointer word points into."""
    return address >> BUFFER_SHIFT & (MAX_BUFFERS - 1)


def offset_of(address: int) -> int:
    """The byte offset of a shared pointer word in its buffer; negative before its start."""
    return (address & OFFSET_MASK) - OFFSET_BIAS


def to_cta(pointers: Any, cta_slot: int) -> Any:
    """The same offsets in the shared memory of another CTA."""
    cleared = np.bitwise_and(pointers, np.uint64(~CTA_MASK & (1 << 64) - 1))
    return np.bitwise_or(cleared, np.uint64(cta_slot << CTA_SHIFT))
