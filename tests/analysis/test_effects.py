"""Roots of pointers and what operations do to memory."""

from __future__ import annotations

from tests.analysis.helpers import KernelMaker
from tle2cuda.analysis.addresses import Addresses
from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.ir.effects import CTA_BARRIER, Roots, effects, internal_barriers, steps
from tle2cuda.ir.nodes import Kernel, Op, Region, make_op, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BOOL, CLUSTER, GLOBAL, I32, SHARED, BufferType, PointerType, TileType


def find(kernel: Kernel, name: str) -> Op:
    return next(op for op in walk(kernel.body) if op.name == name)


def test_roots_through_views_arithmetic_and_control_flow() -> None:
    maker = KernelMaker(cluster_dims=(2, 1, 1))
    a, b = maker.alloc("a"), maker.alloc("b")
    p = maker.argument("p", PointerType(I32))
    remote = maker.op("remote", (a, maker.constant(1)), BufferType((128,), I32, remote=True))
    part = maker.op("buffer_view", (remote,), BufferType((64,), I32, remote=True), kind="subslice", start=0, dim=0)
    far = maker.whole(part)
    moved = maker.op("ptr_add", (p, maker.constant(4)), PointerType(I32))
    zero, one = maker.constant(0), maker.constant(1)
    first, second = maker.at(a, zero), maker.at(b, zero)
    with maker.loop(zero, one, one, (first, second)) as loop:
        loop.yields(loop.params[2], loop.params[1])
    chosen = maker.op("select", (maker.constant(1, BOOL), first, first), first.type)
    number = maker.constant(7)
    odd = maker.op("bitcast", (number,), PointerType(I32))
    roots = Roots(maker.kernel())
    assert roots.of(far) == (a,) and roots.of(moved) == (p,) and roots.of(chosen) == (a,)
    assert roots.of(loop.results[0]) == (a, b)
    assert roots.of(odd) == (None,)


def test_kinds_spaces_and_threads() -> None:
    maker = KernelMaker(cluster_dims=(2, 1, 1))
    a = maker.alloc("a")
    p = maker.argument("p", PointerType(I32))
    remote = maker.op("remote", (a, maker.constant(1)), BufferType((128,), I32, remote=True))
    maker.load(p)
    maker.store(maker.at(a, maker.constant(0)))
    maker.atomic(maker.whole(remote))
    kernel = maker.kernel()
    roots = Roots(kernel)
    found = {name: effects(find(kernel, name), roots)[0] for name in ("load", "store", "atomic_rmw")}
    assert (found["load"].kind, found["load"].space, found["load"].root) == ("read", GLOBAL, p)
    assert (found["store"].kind, found["store"].space, found["store"].one_thread) == ("write", SHARED, True)
    assert (found["atomic_rmw"].space, found["atomic_rmw"].root) == (CLUSTER, a)
    assert not found["atomic_rmw"].one_thread


def test_collectives_hold_barriers_between_the_uses_of_their_scratch() -> None:
    maker = KernelMaker()
    bins, slots = maker.alloc("bins", scratch=True), maker.alloc("slots", scratch=True)
    value = maker.op("constant", (), TileType((128,), I32), value=1)
    maker.op("histogram", (value, bins), TileType((128,), I32), bins=128, has_mask=False, num_scratch=1)
    maker.op("reduce", (value, slots), I32, axis=0, kind="sum", num_scratch=1)
    maker.op("reduce", (value,), I32, axis=0, kind="max")
    kernel = maker.kernel()
    roots = Roots(kernel)
    histogram = find(kernel, "histogram")
    kinds = [step if step is CTA_BARRIER else step[0].kind for step in steps(histogram, roots)]
    assert kinds == ["write", CTA_BARRIER, "atomic", CTA_BARRIER, "read"]
    assert [internal_barriers(op) for op in walk(kernel.body) if op.name == "reduce"] == [1, 0]


def test_zeroed_allocations_write_and_fused_loops_gather() -> None:
    maker = KernelMaker()
    a = maker.alloc("a", zero=True)
    pointers = maker.whole(a)
    with maker.builder.region() as ops:
        maker.load(pointers)
        ops.append(make_op("yield"))
    maker.builder.emit("fused", (), (), {}, (Region((), tuple(ops)),))
    kernel = maker.kernel()
    roots = Roots(kernel)
    assert [(e.kind, e.root) for e in effects(find(kernel, "alloc"), roots)] == [("write", a)]
    assert [(e.kind, e.root) for e in effects(find(kernel, "fused"), roots)] == [("read", a)]


def test_addresses_are_compared_in_normal_form() -> None:
    maker = KernelMaker()
    a = maker.alloc("a", 1024)
    n = maker.argument("n", I32)
    type_ = TileType((64,), I32)
    lanes = maker.op("arange", (), type_, start=0, end=64)
    shifted = maker.op("arange", (), type_, start=8, end=72)
    eight = maker.op("constant", (), type_, value=8)
    base = maker.op("splat", (n,), type_)
    other = maker.op("splat", (maker.op("add", (n, maker.constant(8)), I32),), type_)
    forms = [
        maker.at(a, maker.op("add", (base, shifted), type_)),
        maker.at(a, maker.op("add", (maker.op("add", (eight, lanes), type_), base), type_)),
        maker.at(a, maker.op("add", (lanes, other), type_)),
        maker.op("ptr_add", (maker.at(a, maker.op("add", (lanes, base), type_)), eight), maker.at(a, lanes).type),
    ]
    different = maker.at(a, maker.op("add", (base, lanes), type_))
    kernel = maker.kernel()
    addresses = Addresses(axis_info(kernel), definitions(kernel.body))
    assert len({addresses.key(pointer) for pointer in forms}) == 1
    assert addresses.key(different) != addresses.key(forms[0])
    assert all(addresses.is_injective(pointer) for pointer in forms)


def test_byte_ranges_use_what_is_known_of_indices() -> None:
    maker = KernelMaker()
    ring = maker.op("alloc", (), BufferType((4, 64), I32), name="ring")
    n = maker.argument("n", I32)
    slot = maker.op(
        "buffer_view", (ring, maker.op("and", (n, maker.constant(1)), I32)), BufferType((64,), I32), kind="slot"
    )
    low = maker.at(slot, maker.op("arange", (), TileType((16,), I32), start=0, end=16))
    gather = maker.at(ring, n, n)
    kernel = maker.kernel()
    addresses = Addresses(axis_info(kernel), definitions(kernel.body))
    assert addresses.byte_range(low, ring) == (0, 256 + 64)
    assert addresses.byte_range(gather, ring) == (0, 1024)
