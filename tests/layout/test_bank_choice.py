"""Lanes chosen for swizzled buffers: whole sectors at one end, no bank conflicts at the other, by counting."""

from __future__ import annotations

import pytest

from tle2cuda.layout import LANE_BITS, Layout, SharedLayout, blocked
from tle2cuda.layout.bank_choice import SharedAccess, without_conflicts


def access_of(shape: tuple[int, ...], element_bytes: int, swizzle_bytes: int, turned: bool) -> SharedAccess:
    """A tile of this shape in a swizzled buffer, perhaps as its transposition."""
    stored = tuple(reversed(shape)) if turned else shape
    layout = SharedLayout.swizzled(stored, element_bytes, swizzle_bytes)
    axes = (0, 1) if turned else (1, 0)
    images = [image * element_bytes for axis in axes for image in layout.images_elems[axis]]
    return SharedAccess(tuple(images), element_bytes)


def turns(layout: Layout, access: SharedAccess, element_bytes: int) -> int:
    """The most words of one bank that the lanes of a warp ask for, element by element."""
    words: dict[int, set[int]] = {}
    for lane in range(1 << LANE_BITS):
        flat = layout.flat_index(0, lane, 0)
        address = 0
        for bit, image in enumerate(access.images_bytes):
            address ^= image if flat >> bit & 1 else 0
        words.setdefault(address % 128 // 4, set()).add(address // 4)
    return max(map(len, words.values()))


@pytest.mark.parametrize(
    ("shape", "element_bytes", "vector"),
    [((64, 64), 4, 4), ((64, 64), 4, 1), ((32, 128), 4, 2), ((64, 64), 2, 8), ((128, 32), 2, 2), ((32, 32), 8, 2)],
)
def test_columns_are_read_without_conflicts(shape: tuple[int, int], element_bytes: int, vector: int) -> None:
    wanted = blocked(shape, 4, (1, 0), (1, vector))
    span = min(128, shape[0] * element_bytes)
    access = access_of(shape, element_bytes, span, turned=True)
    kept = max(0, (32 // (vector * element_bytes)).bit_length() - 1)
    made = without_conflicts(wanted, kept, [access])
    assert made.vector() == wanted.vector() and made.flat_lanes[:kept] == wanted.flat_lanes[:kept]
    # Narrow elements: a sector reaches over more rows than the eight of the pattern. Wide ones take two words each.
    assert turns(made, access, element_bytes) <= (1 if element_bytes == 4 else 2) < turns(wanted, access, element_bytes)


def test_both_sides_of_a_transposition() -> None:
    wanted = blocked((64, 64), 4, (1, 0), (1, 4))
    accesses = [access_of((64, 64), 4, 128, turned) for turned in (False, True)]
    made = without_conflicts(wanted, 0, accesses)
    vector = made.flat_registers[:2]
    assert [access.conflict_bits(vector, made.flat_lanes) for access in accesses] == [0, 0]
    assert turns(made, accesses[1], 4) == 1


def test_what_has_no_conflicts_stays() -> None:
    wanted = blocked((64, 64), 4, (1, 0), (1, 4))
    assert without_conflicts(wanted, 1, [access_of((64, 64), 4, 128, turned=False)]) is wanted
