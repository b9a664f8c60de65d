from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.random_layouts import layouts
from tests.layout.test_expressions import evaluate
from tle2cuda.layout import (
    Layout,
    LayoutError,
    SharedLayout,
    access_offsets,
    bank_conflict_degree,
    blocked,
    f2,
    format_index,
    swizzle_address,
    widest_vector,
)


def test_plain_row_major_of_the_design():
    layout = SharedLayout.plain((64, 64), 2)
    assert [layout.offset_bytes((0, 1 << bit)) for bit in range(6)] == [2 << bit for bit in range(6)]
    assert [layout.offset_bytes((1 << bit, 0)) for bit in range(6)] == [128 << bit for bit in range(6)]
    assert layout.is_plain and layout.size_bytes == 8192


def test_128_byte_swizzle_formula():
    layout = SharedLayout.swizzled((64, 64), 2, 128)
    for row, column in itertools.product(range(64), range(64)):
        expected = row * 128 + ((column // 8) ^ (row % 8)) * 16 + column % 8 * 2
        assert layout.offset_bytes((row, column)) == expected
    # Row bits 0..2 have the extra images 16, 32 and 64.
    assert [layout.offset_bytes((1 << bit, 0)) for bit in range(4)] == [128 + 16, 256 + 32, 512 + 64, 1024]


@pytest.mark.parametrize("swizzle_bytes", [32, 64, 128])
@pytest.mark.parametrize("element_bytes", [1, 2, 4])
def test_swizzles_are_the_hardware_address_pattern(swizzle_bytes, element_bytes):
    columns = swizzle_bytes // element_bytes
    layout = SharedLayout.swizzled((32, columns), element_bytes, swizzle_bytes)
    mask = {32: 0b1, 64: 0b11, 128: 0b111}[swizzle_bytes]
    for row, column in itertools.product(range(32), range(columns)):
        address = row * swizzle_bytes + column * element_bytes
        expected = address ^ (address >> 7 & mask) << 4
        assert layout.offset_bytes((row, column)) == expected == swizzle_address(address, swizzle_bytes)


def test_wide_tiles_are_stored_as_panels_and_rings_as_stages():
    layout = SharedLayout.swizzled((4, 64, 128), 2, 128)
    panel = SharedLayout.swizzled((64, 64), 2, 128)
    for stage, row, column in itertools.product((0, 3), range(0, 64, 7), range(0, 128, 5)):
        expected = stage * 16384 + column // 64 * 8192 + panel.offset_bytes((row, column % 64))
        assert layout.offset_bytes((stage, row, column)) == expected


def test_only_the_outermost_extent_may_be_ragged():
    ring = SharedLayout.plain((3, 64, 64), 2)
    assert ring.offset_bytes((2, 63, 63)) == ring.size_bytes - 2
    assert SharedLayout.swizzled((129, 64), 2, 128).size_bytes == 129 * 128
    with pytest.raises(LayoutError, match="outermost"):
        SharedLayout.plain((64, 48), 2)
    with pytest.raises(LayoutError, match="outermost"):
        SharedLayout.swizzled((96, 128), 2, 128)
    with pytest.raises(LayoutError, match="too short"):
        SharedLayout.swizzled((64, 16), 2, 128)
    with pytest.raises(LayoutError, match="collide"):
        SharedLayout((2, 2), ((1,), (1,)), 4)


def test_offsets_print_as_fields_of_the_coordinates():
    layout = SharedLayout.swizzled((3, 32, 128), 2, 128)
    expression = layout.fields(["stage", "row", "column"])
    for stage, row, column in itertools.product(range(3), range(32), range(0, 128, 3)):
        values = {"stage": stage, "row": row, "column": column}
        assert expression.evaluate(values) == layout.offset_elems((stage, row, column))
        assert evaluate(format_index(expression), **values) == layout.offset_elems((stage, row, column))


def test_column_access_conflicts_are_known():
    column_of_lanes = Layout((32, 32), tuple((0, 1 << b) for b in range(5)), tuple((1 << b, 0) for b in range(5)), ())
    plain = SharedLayout.plain((32, 32), 4)
    assert bank_conflict_degree(column_of_lanes, plain, 4) == 32
    swizzled = SharedLayout.swizzled((32, 32), 4, 128)
    assert bank_conflict_degree(column_of_lanes, swizzled, 4) == 4
    assert bank_conflict_degree(column_of_lanes, swizzled, 4, 4) == 1


def simulated_degree(layout: Layout, offset_map: SharedLayout, element_bytes: int, vector: int) -> int:
    _, threads = access_offsets(layout, offset_map)
    together = min(32, 128 // (element_bytes * vector))
    worst = 1
    for first in range(0, layout.num_threads, together):
        words = set()
        for thread in range(first, first + together):
            start = f2.apply(threads, thread) * element_bytes
            words |= {address // 4 for address in range(start, start + element_bytes * vector)}
        banks = [word % 32 for word in words]
        worst = max(worst, *(banks.count(bank) for bank in set(banks)))
    return worst


@settings(max_examples=150, deadline=None)
@given(layouts(), st.sampled_from([1, 2, 4, 8, 16]), st.booleans())
def test_bank_conflict_degree_is_what_a_simulation_counts(layout, element_bytes, swizzle):
    offset_map = SharedLayout.plain(layout.shape, element_bytes)
    row_bytes = layout.shape[-1] * element_bytes
    if swizzle and layout.rank >= 2 and row_bytes in (32, 64, 128):
        offset_map = SharedLayout.swizzled(layout.shape, element_bytes, row_bytes)
    vector = widest_vector(layout, offset_map)
    while vector:
        claimed = bank_conflict_degree(layout, offset_map, element_bytes, vector)
        assert claimed == simulated_degree(layout, offset_map, element_bytes, vector)
        vector //= 2


def test_widest_vector_of_coalesced_rows():
    layout = blocked((64, 64), 4, (1, 0), (1, 8))
    assert widest_vector(layout, SharedLayout.plain((64, 64), 2)) == 8
    assert widest_vector(layout, SharedLayout.swizzled((64, 64), 2, 128)) == 8
    assert widest_vector(layout, SharedLayout.plain((64, 64), 4)) == 4
    assert widest_vector(layout, SharedLayout.plain((64, 64), 2, order=(0, 1))) == 1
