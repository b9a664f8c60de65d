from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.random_layouts import layouts
from tle2cuda.layout import (
    LayoutError,
    SharedLayout,
    Term,
    access_fields,
    blocked,
    fields,
    flat_fields,
    format_index,
    format_xor,
    wgmma_accumulator,
)


class ThreadIdx:
    x = 0


def evaluate(text: str, **values: int) -> int:
    """Evaluate printed C for unsigned values: only / is spelled otherwise in Python."""
    thread = ThreadIdx()
    thread.x = values.get("thread", 0)
    return eval(text.replace("/", "//"), {"threadIdx": thread, "register_index": 0, **values})


@settings(max_examples=150, deadline=None)
@given(layouts(), st.data())
def test_printed_expressions_equal_coordinates(layout, data):
    axis = data.draw(st.integers(0, layout.rank - 1))
    width = 1 << data.draw(st.integers(0, len(layout.registers)))
    whole, parts = fields(layout, axis), fields(layout, axis, width)
    text, parted = format_index(whole), format_index(parts, constant=1024)
    for register, thread in itertools.product(range(layout.num_registers), range(0, layout.num_threads, 5)):
        expected = layout.coords(register, thread % 32, thread // 32)[axis]
        assert whole.evaluate({"register": register, "thread": thread}) == expected
        assert evaluate(text, register_index=register, thread=thread) == expected
        split = {"run": register // width, "k": register % width, "thread": thread}
        assert evaluate(parted, **split) == expected + 1024
        if whole.disjoint:
            values = {"register": register, "thread": thread}
            assert sum(term.evaluate(values[term.source]) for term in whole.terms) == expected
    assert whole.disjoint == ("^" not in text)


def test_vector_add_reads_as_written_by_hand():
    layout = blocked((1024,), 4, (0,), (4,))
    parts = fields(layout, 0, 4)
    assert parts.disjoint
    assert parts.terms == (Term("k", 0, 2, 1, 2), Term("run", 0, 1, 512, 1), Term("thread", 0, 7, 4, 7))
    assert format_index(parts.restrict("thread", "run")) == "4 * threadIdx.x + 512 * run"
    assert format_index(parts) == "4 * threadIdx.x + 512 * run + k"
    assert format_index(fields(layout, 0), {"register": "i"}) == "4 * threadIdx.x + i / 4 * 512 + i % 4"


def test_fields_of_part_of_the_thread_are_divided_and_masked():
    layout = blocked((64, 32), 4, (1, 0), (1, 4))
    assert format_index(fields(layout, 1, 4)) == "threadIdx.x % 8 * 4 + k"
    assert format_index(fields(layout, 0, 4)) == "threadIdx.x / 8 + 16 * run"
    small = blocked((64,), 4, (0,), (4,))
    assert format_index(fields(small, 0, 4), {"thread": "thread"}) == "thread % 16 * 4 + k"


def test_wgmma_accumulator_rows_and_columns():
    layout = wgmma_accumulator((64, 128), 4)
    assert format_index(fields(layout, 0, 4)) == "threadIdx.x / 32 * 16 + threadIdx.x / 4 % 8 + k / 2 * 8"
    assert format_index(fields(layout, 1, 4)) == "threadIdx.x % 4 * 2 + 8 * run + k % 2"


def test_swizzled_offset_prints_as_xor():
    offset = SharedLayout.swizzled((64, 64), 2, 128).fields(["row", "column"])
    assert not offset.disjoint
    assert format_index(offset.scaled(2)) == "128 * row + ((row % 8 * 8) ^ column) * 2"
    layout = blocked((64, 64), 4, (1, 0), (1, 8))
    shared = SharedLayout.swizzled((64, 64), 2, 128)
    text = format_index(access_fields(layout, shared, 8))
    for thread in range(128):
        row, column = layout.coords(0, thread % 32, thread // 32)
        assert evaluate(text, thread=thread, run=0, k=0) == shared.offset_elems((row, column))


def test_xor_with_a_constant_adds_where_it_can():
    expression = fields(blocked((1024,), 4, (0,), (4,)), 0, 4).restrict("thread")
    assert format_xor(expression, 512) == "4 * threadIdx.x + 512"
    assert format_xor(expression, 8) == "(4 * threadIdx.x) ^ 8"
    assert evaluate(format_xor(expression, 8), thread=3) == 12 ^ 8


def test_nothing_prints_as_zero_and_constants_are_added():
    layout = blocked((1, 32), 1, (1, 0), (1, 1))
    assert format_index(fields(layout, 0)) == "0"
    assert format_index(fields(layout, 0), constant=7) == "7"
    assert format_index(flat_fields(layout), constant=7) == "threadIdx.x + 7"


def test_a_vector_cannot_exceed_the_registers():
    with pytest.raises(LayoutError, match="exceeds the 1 registers"):
        fields(blocked((32,), 1, (0,), (1,)), 0, 2)
