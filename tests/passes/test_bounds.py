"""Constant indices outside a shared buffer: refused at their line where no mask can help."""

import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.lowering.emitted import emitted
from tle2cuda.errors import InvalidArgument
from tle2cuda.language import tle


@tle2cuda.jit
def read_one(x, n, INDEX: tl.constexpr):
    box = tle.gpu.alloc([16], tl.float32, nv_mma_shared_layout=False)
    box.store(tl.full((16,), 1.0, tl.float32))
    tl.store(x, tl.load(tle.gpu.local_ptr(box, (INDEX,))))


@tle2cuda.jit
def write_one(x, n, INDEX: tl.constexpr):
    box = tle.gpu.alloc([4, 16], tl.float32, nv_mma_shared_layout=False)
    tl.store(tle.gpu.local_ptr(box, (INDEX - 13, n)), tl.load(x))
    tl.store(x, tl.load(tle.gpu.local_ptr(box, (0, 0))))


@tle2cuda.jit
def count_one(x, n, INDEX: tl.constexpr):
    box = tle.gpu.alloc([16], tl.int32, nv_mma_shared_layout=False, init_value=0)
    place = tl.full((), INDEX, tl.int32) + 0
    tl.store(x, tl.atomic_add(tle.gpu.local_ptr(box, (place,)), 1).to(tl.float32))


@tle2cuda.jit
def read_tile(x, n, INDEX: tl.constexpr):
    box = tle.gpu.alloc([16], tl.float32, nv_mma_shared_layout=False)
    box.store(tl.full((16,), 1.0, tl.float32))
    i = tl.arange(0, 8) + (INDEX - 7)
    tl.store(x + i, tl.load(tle.gpu.local_ptr(box, (i,))))


@tle2cuda.jit
def read_slot(x, n, INDEX: tl.constexpr):
    ring = tle.gpu.alloc([16, 8], tl.float32, nv_mma_shared_layout=False)
    stage = tl.full((), INDEX, tl.int32)
    ring.slot(stage).store(tl.full((8,), 1.0, tl.float32))
    tl.store(x + tl.arange(0, 8), ring.slot(stage).load())


@tle2cuda.jit
def read_masked(x, n, INDEX: tl.constexpr):
    box = tle.gpu.alloc([16], tl.float32, nv_mma_shared_layout=False)
    box.store(tl.full((16,), 1.0, tl.float32))
    tl.store(x, tl.load(tle.gpu.local_ptr(box, (INDEX,)), mask=n > INDEX, other=0.0))


SIGNATURE = "x *fp32:16, n i32"
KERNELS = {
    read_one: ("local_ptr: index 0 is 16, outside axis 0 of extent 16", "tl.store(x, tl.load("),
    write_one: ("local_ptr: index 0 is 4, outside axis 0 of extent 4", "tl.store(tle.gpu.local_ptr(box, (INDEX - 13, n))"),
    count_one: ("local_ptr: index 0 is 16, outside axis 0 of extent 16", "tl.store(x, tl.atomic_add("),
    read_tile: ("local_ptr: index 0 runs from 9 to 16, outside axis 0 of extent 16", "tl.store(x + i, tl.load("),
    read_slot: ("slot: the stage is 16, outside axis 0 of extent 16", "ring.slot(stage)"),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.fn.__name__)
def test_an_index_that_is_surely_outside_is_refused_at_its_line(kernel):
    message, line = KERNELS[kernel]
    with pytest.raises(InvalidArgument) as caught:
        emitted(kernel, SIGNATURE, INDEX=17 if kernel is write_one else 16)
    assert caught.value.message == message
    assert line in caught.value.span.source_line()
    assert caught.value.help
    assert emitted(kernel, SIGNATURE, INDEX=15).source


@pytest.mark.parametrize("kernel", [read_one, count_one])
def test_negative_ones_are_too(kernel):
    with pytest.raises(InvalidArgument, match="index 0 is -1, outside axis 0"):
        emitted(kernel, SIGNATURE, INDEX=-1)


def test_a_mask_may_keep_an_index_outside_from_being_used():
    assert emitted(read_masked, SIGNATURE, INDEX=16).source
