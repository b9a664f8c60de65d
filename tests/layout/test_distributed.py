from __future__ import annotations

import itertools
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layout.random_layouts import layouts, shapes
from tle2cuda.layout import CoordMap, Layout, LayoutError, blocked, coalesced, f2, register_map, scan_layout


def slots(layout: Layout):
    return itertools.product(range(layout.num_registers), range(32), range(layout.num_warps))


def all_coordinates(shape):
    return set(itertools.product(*map(range, shape)))


# ---- the worked example of a vector add ---------------------------------------------------------


def test_vector_add_tile():
    layout = blocked((1024,), 4, (0,), (4,))
    assert layout.registers == ((1,), (2,), (512,))
    assert layout.lanes == ((4,), (8,), (16,), (32,), (64,))
    assert layout.warps == ((128,), (256,))
    assert layout.vector() == (0, 4)
    assert (layout.num_registers, layout.num_warps, layout.num_threads) == (8, 4, 128)
    for register, lane, warp in slots(layout):
        thread = 32 * warp + lane
        assert layout.coords(register, lane, warp) == ((register & 3) + 512 * (register >> 2) + 4 * thread,)


def test_construction_refuses_what_is_no_layout():
    lanes = ((1,), (2,), (4,), (8,), (16,))
    with pytest.raises(LayoutError, match="holds 32 of the 64 elements"):
        Layout((64,), (), lanes, ())
    with pytest.raises(LayoutError, match="outside"):
        Layout((32,), ((32,),), lanes, ())
    with pytest.raises(LayoutError, match="power of two"):
        Layout((48,), (), lanes, ())
    with pytest.raises(LayoutError, match="5 lane images"):
        Layout((4,), ((1,), (2,)), (), ())


def test_equality_and_hash_are_structural():
    first = blocked((64, 32), 4, (1, 0), (1, 4))
    again = Layout(first.shape, first.registers, first.lanes, first.warps)
    assert first == again and hash(first) == hash(again) and {first: 1}[again] == 1
    assert first != blocked((64, 32), 4, (1, 0), (1, 2))
    assert pickle.loads(pickle.dumps(first)) == first


@settings(deadline=None)
@given(layouts())
def test_every_element_is_held(layout):
    assert {layout.coords(*slot) for slot in slots(layout)} == all_coordinates(layout.shape)


@settings(deadline=None)
@given(layouts())
def test_text_round_trips(layout):
    assert Layout.parse(str(layout)) == layout


@settings(deadline=None)
@given(layouts())
def test_owners_hold_every_element_once(layout):
    lane_mask, warp_mask = layout.owner_bits()
    register_mask = layout.replicated_registers
    owned = [
        layout.coords(register, lane, warp)
        for register, lane, warp in slots(layout)
        if not (register & register_mask or lane & lane_mask or warp & warp_mask)
    ]
    assert sorted(owned) == sorted(all_coordinates(layout.shape))


@settings(deadline=None)
@given(layouts())
def test_dropping_replicated_registers_keeps_what_a_thread_holds(layout):
    dropped = layout.drop_replicated_registers()
    assert all(any(image) for image in dropped.registers)
    for lane, warp in ((0, 0), (5, 0), (31, layout.num_warps - 1)):
        assert {dropped.coords(r, lane, warp) for r in range(dropped.num_registers)} == {
            layout.coords(r, lane, warp) for r in range(layout.num_registers)
        }


@settings(deadline=None)
@given(layouts())
def test_vector_registers_are_aligned_neighbours_in_every_thread(layout):
    axis, width = layout.vector()
    for lane, warp in itertools.product(range(32), range(layout.num_warps)):
        for run in range(0, layout.num_registers, width):
            first = layout.coords(run, lane, warp)
            for k in range(width):
                expected = tuple(c + k if a == axis else c for a, c in enumerate(first))
                assert layout.coords(run + k, lane, warp) == expected
            assert width == 1 or first[axis] % width == 0


# ---- constructors -------------------------------------------------------------------------------

ranks_and_orders = shapes().flatmap(lambda shape: st.tuples(st.just(shape), st.permutations(range(len(shape)))))


@settings(deadline=None)
@given(ranks_and_orders, st.integers(0, 3), st.integers(0, 3), st.data())
def test_blocked_covers_without_needless_registers(shape_and_order, warp_bits, width, data):
    shape, order = shape_and_order
    size = tuple(data.draw(st.sampled_from([1, 2, 4])) for _ in shape)
    layout = blocked(shape, 1 << warp_bits, order, size)
    assert all(any(image) for image in layout.registers)
    assert layout.replicated_registers == 0
    elements = math.prod(shape)
    piece = math.prod(min(s, e) for s, e in zip(size, shape, strict=True))
    assert layout.num_registers == max(piece, elements // layout.num_threads)


def test_blocked_replicates_a_small_tile():
    layout = blocked((64,), 4, (0,), (4,))
    assert layout.registers == ((1,), (2,))
    assert layout.lanes == ((4,), (8,), (16,), (32,), (0,))
    assert layout.warps == ((0,), (0,))
    assert layout.owner_bits() == (0b10000, 0b11)


def test_blocked_with_explicit_threads():
    layout = blocked((64, 64), 4, (1, 0), (1, 4), threads_per_warp=(4, 8), warps_per_cta=(2, 2))
    assert layout.lanes == ((0, 4), (0, 8), (0, 16), (1, 0), (2, 0))
    assert layout.warps == ((0, 32), (4, 0))
    assert layout.registers == ((0, 1), (0, 2), (8, 0), (16, 0), (32, 0))
    with pytest.raises(LayoutError, match="multiply to 32"):
        blocked((64, 64), 4, (1, 0), (1, 4), threads_per_warp=(4, 4))


def test_coalesced_takes_16_bytes_unless_threads_would_idle():
    assert coalesced((1024,), 4, 32) == blocked((1024,), 4, (0,), (4,))
    assert coalesced((256,), 4, 32).vector() == (0, 2)
    assert coalesced((64,), 4, 32).vector() == (0, 1)
    assert coalesced((64, 64), 4, 16).vector() == (1, 8)
    assert coalesced((64, 64), 4, 16, order=(0, 1)).vector() == (0, 8)
    assert coalesced((64, 64), 4, 64).vector() == (1, 2)
    scalar = coalesced((), 4, 32)
    assert scalar.num_registers == 1 and scalar.owner_bits() == (31, 3)


def test_axis_bits_say_where_each_bit_of_an_axis_lives():
    layout = scan_layout((4, 64), 1, 2)
    assert layout.axis_bits(1) == (("register", 0), ("register", 1), *(("lane", bit) for bit in range(4)))
    assert layout.axis_bits(0) == (("lane", 4), ("warp", 0))
    mixed = Layout((2, 32), ((1, 1),), tuple((0, 1 << bit) for bit in range(5)), ())
    assert mixed.axis_bits(0) is None and mixed.axis_bits(1) is None


def test_scan_layout_of_rank_1_is_the_blocked_arrangement():
    for elements, warps in ((1024, 4), (4096, 8), (64, 4), (128, 4)):
        layout = scan_layout((elements,), 0, warps)
        items = max(1, elements // layout.num_threads)
        assert layout.num_registers == items
        for register, lane, warp in slots(layout):
            thread = 32 * warp + lane
            assert layout.coords(register, lane, warp) == ((thread * items + register) % elements,)


@settings(deadline=None)
@given(shapes(), st.integers(0, 2), st.data())
def test_scan_layout_crosses_warps_only_when_other_axes_are_too_short(shape, warp_bits, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    layout = scan_layout(shape, axis, 1 << warp_bits)
    others = math.prod(shape) // shape[axis]
    crossing = sum(1 for image in layout.warps if image[axis])
    if others >= layout.num_warps or shape[axis] <= 32:
        assert crossing == 0
    # In a thread, then along lanes, then along warps: each takes the bits above those before.
    along = [image[axis] for image in (*layout.registers, *layout.lanes, *layout.warps) if image[axis]]
    assert along == [1 << bit for bit in range(len(along))]
    assert layout.num_registers == max(1, math.prod(shape) // layout.num_threads)


# ---- tile operations ----------------------------------------------------------------------------


@settings(deadline=None)
@given(layouts(), st.data())
def test_transpose_moves_coordinates_and_is_undone(layout, data):
    perm = data.draw(st.permutations(range(layout.rank)))
    result = layout.transpose(perm)
    assert result.untranspose(perm) == layout
    for slot in ((0, 1, 0), (layout.num_registers - 1, 21, layout.num_warps - 1)):
        source = layout.coords(*slot)
        assert result.coords(*slot) == tuple(source[axis] for axis in perm)


@settings(deadline=None)
@given(layouts(), st.data())
def test_expand_dims_is_undone(layout, data):
    axis = data.draw(st.integers(-layout.rank - 1, layout.rank))
    result = layout.expand_dims(axis)
    assert result.shape[axis] == 1 and result.unexpand_dims(axis) == layout


def test_squeeze_refuses_a_longer_axis():
    with pytest.raises(LayoutError, match="extent 32, not 1"):
        blocked((32, 4), 1, (1, 0), (1, 1)).squeeze_axis(0)


@settings(deadline=None)
@given(layouts(), st.data())
def test_reshape_keeps_the_row_major_index(layout, data):
    bits = sum(extent.bit_length() - 1 for extent in layout.shape)
    cut = data.draw(st.integers(0, bits))
    result = layout.reshape((1 << cut, 1 << (bits - cut)))
    for slot in ((0, 3, 0), (layout.num_registers - 1, 30, layout.num_warps - 1)):
        assert result.flat_index(*slot) == layout.flat_index(*slot)
    assert result.reshape(layout.shape) == layout


@settings(deadline=None)
@given(layouts(), st.data())
def test_broadcast_and_back(layout, data):
    axis = data.draw(st.integers(0, layout.rank))
    narrow = layout.expand_dims(axis)
    wide_shape = (*layout.shape[:axis], 4, *layout.shape[axis:])
    wide = narrow.broadcast_to(wide_shape)
    assert wide.num_registers == 4 * narrow.num_registers
    assert wide.broadcast_source(narrow.shape) == narrow.drop_replicated_registers()
    mapping = register_map(wide, narrow, CoordMap.broadcast(wide_shape, narrow.shape))
    assert mapping is not None


@settings(deadline=None)
@given(layouts())
def test_join_then_split(layout):
    joined = layout.expand_dims(layout.rank).concat(layout.rank)
    assert joined.shape == (*layout.shape, 2)
    part = joined.extract((*layout.shape, 1))
    assert part is not None and part.squeeze_axis(layout.rank) == layout
    for register, lane, warp in ((0, 9, 0), (layout.num_registers - 1, 31, layout.num_warps - 1)):
        for half in range(2):
            assert joined.coords(2 * register + half, lane, warp) == (
                *layout.coords(register, lane, warp),
                half,
            )


def test_no_part_by_registers_alone_of_what_is_spread_over_threads():
    layout = blocked((32, 2), 1, (1, 0), (1, 1))
    assert layout.extract((32, 1)) is None
    swapped = layout.for_extract((32, 1))
    assert not swapped.is_replicated and swapped.extract((32, 1)).shape == (32, 1)


@settings(deadline=None)
@given(layouts(), st.data())
def test_parts_of_tiles(layout, data):
    part = tuple(data.draw(st.sampled_from([1 << i for i in range(n.bit_length())])) for n in layout.shape)
    whole = layout.for_extract(part)
    assert whole.shape == layout.shape
    inside = whole.extract(part)
    assert inside is not None and inside.shape == part
    projected = layout.part_of_axes(part)
    for register, lane, warp in ((0, 9, 0), (layout.num_registers - 1, 31, layout.num_warps - 1)):
        wanted = tuple(x % n for x, n in zip(layout.coords(register, lane, warp), part, strict=True))
        assert any(projected.coords(r, lane, warp) == wanted for r in range(projected.num_registers))


def test_concat_keeps_registers_together():
    layout = blocked((64,), 1, (0,), (2,))
    assert layout.concat(0).vector() == (0, 2)
    with pytest.raises(LayoutError, match="no parts of shape"):
        layout.extract((3,))


# ---- register maps ------------------------------------------------------------------------------


@settings(deadline=None)
@given(layouts(), layouts(), st.data())
def test_register_map_says_where_each_element_is(view, other, data):
    kind = data.draw(st.sampled_from(["reshape", "transpose", "broadcast", "other"]))
    if kind == "reshape":
        coord_map = CoordMap.reshape(view.shape, (view.num_elements,))
        source = view.reshape((view.num_elements,))
    elif kind == "transpose":
        perm = data.draw(st.permutations(range(view.rank)))
        source = view.untranspose(perm)
        coord_map = CoordMap.transpose(source.shape, perm)
    elif kind == "broadcast":
        axis = data.draw(st.integers(0, view.rank - 1))
        source_shape = tuple(1 if a == axis else e for a, e in enumerate(view.shape))
        source = view.broadcast_source(source_shape)
        coord_map = CoordMap.broadcast(view.shape, source_shape)
    else:
        source = other if other.shape == view.shape and other.num_warps == view.num_warps else view
        coord_map = CoordMap.identity(view.shape)
    mapping = register_map(view, source, coord_map)
    if mapping is None:
        assert source is other
        return
    for register, lane, warp in slots(view):
        read = f2.apply(mapping, register)
        assert source.coords(read, lane, warp) == coord_map(view.coords(register, lane, warp))


def test_register_map_of_a_row_broadcast():
    view = blocked((64, 64), 4, (1, 0), (1, 4))
    row = view.broadcast_source((1, 64)).squeeze_axis(0)
    mapping = register_map(view, row, CoordMap.broadcast((64, 64), (64,)))
    assert mapping == (1, 2, 0, 0, 0)
    assert register_map(view, blocked((64,), 4, (0,), (1,)), CoordMap.broadcast((64, 64), (64,))) is None


@settings(deadline=None)
@given(shapes(), st.data())
def test_coordinate_maps_compose(shape, data):
    perm = data.draw(st.permutations(range(len(shape))))
    transposition = CoordMap.transpose(shape, perm)
    flat = CoordMap.reshape(shape, (math.prod(shape),))
    both = flat.after(transposition)
    for coordinate in list(all_coordinates(transposition.result_shape))[:20]:
        source = [0] * len(shape)
        for axis, position in zip(perm, coordinate, strict=True):
            source[axis] = position
        assert transposition(coordinate) == tuple(source)
        assert both(coordinate) == flat(transposition(coordinate))
