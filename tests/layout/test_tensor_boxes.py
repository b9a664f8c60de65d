"""Boxes of tensor copies: together they fill a buffer, each element where its layout has it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tle2cuda.layout.shared import SharedLayout, swizzle_address
from tle2cuda.layout.tensor_boxes import boxes

CASES = [
    ((64,), 2, 0),
    ((1024,), 4, 0),
    ((16, 512), 2, 0),
    ((512, 16), 4, 0),
    ((8, 320), 4, 0),
    ((80, 64), 2, 128),
    ((64, 64), 4, 128),
    ((64, 256), 2, 128),
    ((512, 64), 2, 128),
    ((16, 32), 2, 64),
    ((16, 16), 2, 32),
    ((2, 8, 64), 2, 128),
    ((2, 4, 8, 128), 1, 128),
    ((4, 8, 128), 2, 128),
    ((3, 1, 8, 64), 2, 128),
    ((2, 3, 4, 5, 16), 1, 0),
    ((1, 64, 1, 64), 2, 0),
]


@pytest.mark.parametrize(("shape", "element_bytes", "swizzle_bytes"), CASES)
def test_boxes_fill_the_buffer(shape: tuple[int, ...], element_bytes: int, swizzle_bytes: int) -> None:
    made = boxes(shape, element_bytes, swizzle_bytes)
    assert made is not None and max(made.box) <= 256
    if swizzle_bytes:
        assert made.box[-1] * element_bytes <= swizzle_bytes
    memory = np.full(int(np.prod(shape)), -1)
    tile = np.arange(memory.size).reshape(shape)
    for start, offset in made.copies():
        assert offset * element_bytes % 128 == 0
        part = tile[tuple(slice(s, s + n) for s, n in zip(start, made.box, strict=True))].reshape(-1)
        assert (memory[offset : offset + part.size] == -1).all()
        memory[offset : offset + part.size] = part
    assert (memory >= 0).all()
    for index in itertools.islice(np.ndindex(*shape), 0, None, 7):
        flat = int(np.ravel_multi_index(index, shape))
        at = int(np.flatnonzero(memory == flat)[0]) * element_bytes
        if swizzle_bytes:
            rows = [extent for extent in shape[:-2] if extent & (extent - 1)]
            if rows or shape[-2] & (shape[-2] - 1):
                continue
            layout = SharedLayout.swizzled(shape, element_bytes, swizzle_bytes)
            assert swizzle_address(at, swizzle_bytes) == layout.offset_bytes(index)
        else:
            assert at == flat * element_bytes


def test_how_many_copies() -> None:
    made = boxes((64, 256), 2, 128)
    assert made is not None and made.box == (64, 64) and made.count == 4 and made.steps[0].is_panel
    made = boxes((16, 512), 2)
    assert made is not None and made.box == (1, 256) and made.count == 32
    made = boxes((1024, 8), 2)
    assert made is not None and made.box == (256, 8) and made.count == 4


def test_what_the_engine_cannot_move() -> None:
    assert boxes((8, 4), 2) is None, "rows of 8 bytes"
    assert boxes((16, 264), 1) is None, "parts of rows that are no multiple of 16 bytes"
