"""Every way from 32-bit arithmetic that wraps to a pointer: reported when used, in each of the ways to run a kernel.

Each kernel computes an offset that is small and right for a stride of 4, and one that has wrapped, to a place inside of the
array, for a stride of 65536. So nothing but the report tells the two apart.
"""

from __future__ import annotations

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import OffsetOverflow
from tle2cuda.language import tle

SMALL, LARGE = 4, 1 << 16
DEVICES = ("interpreter", "eager", "emulator")


@tle2cuda.jit
def square(n):
    return n * n


@tle2cuda.jit
def add(a, b):
    return a + b


@tle2cuda.jit
def add_with_float(a, x, b, y):
    return a + b, x + y


@tle2cuda.jit
def by_sum(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.sum(tl.full((16,), n * (n // 16), tl.int32)) + i))


@tle2cuda.jit
def by_prod(x, out, n):
    i = tl.arange(0, 16)
    offset = tl.reduce(tl.where(i < 2, n, 1), 0, product)
    tl.store(out + i, tl.load(x + offset + i))


@tle2cuda.jit
def product(a, b):
    return a * b


@tle2cuda.jit
def by_cumsum(x, out, n):
    i = tl.arange(0, 16)
    sums = tl.cumsum(tl.where(i < 2, n * (n // 2), 0))
    tl.store(out + i, tl.load(x + sums))


@tle2cuda.jit
def by_exclusive_sum(x, out, n):
    i = tl.arange(0, 16)
    before, total = tle.cumsum(tl.where(i < 2, n * (n // 2), 0))
    tl.store(out + i, tl.load(x + before * 0 + total))


@tle2cuda.jit
def by_function(x, out, n):
    i = tl.arange(0, 16)
    offset, _ = tl.reduce((tl.where(i < 2, n * (n // 2), 0), i.to(tl.float32)), 0, add_with_float)
    tl.store(out + i, tl.load(x + offset + i))


@tle2cuda.jit
def by_scan_function(x, out, n):
    i = tl.arange(0, 16)
    offsets = tl.associative_scan(tl.where(i < 2, n * (n // 2), 0), 0, add_once, reverse=True)
    tl.store(out + i, tl.load(x + offsets))


@tle2cuda.jit
def add_once(a, b):
    return a + b + 0


@tle2cuda.jit
def by_dot(x, out, n):
    i = tl.arange(0, 32)
    a = tl.full((32, 32), 64, tl.int8)  # a product of two is 131072
    sums = tl.dot(a, a, acc=tl.full((32, 32), n * n - 131072, tl.int32))
    tl.store(out + i, tl.load(x + tl.max(sums, axis=0)))


@tle2cuda.jit
def by_maximum(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.maximum(n * n, 3) + i))


@tle2cuda.jit
def by_minimum(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.minimum(n * n, 17) + i))


@tle2cuda.jit
def by_max_of_tile(x, out, n):
    i = tl.arange(0, 16)
    largest, where = tl.max(i * 0 + n * n, axis=0, return_indices=True)
    tl.store(out + i, tl.load(x + largest + where + tl.min(i * n * n, axis=0) + i))


@tle2cuda.jit
def by_where(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.where(i > 3, n * n, 0) + i))


@tle2cuda.jit
def by_gather(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.gather(i * 0 + n * n, 15 - i, 0) + i))


@tle2cuda.jit
def by_shapes(x, out, n):
    i = tl.arange(0, 16)
    tile = tl.join(i * 0, i * 0 + n * n)
    first, second = tl.split(tl.trans(tl.reshape(tile, (2, 16)), 1, 0))
    flipped = tl.flip(tl.cat(first, second, can_reorder=True))
    tl.store(out + i, tl.load(x + tl.max(flipped, axis=0) + i))


@tle2cuda.jit
def by_interleave_and_sort(x, out, n):
    i = tl.arange(0, 16)
    mixed = tl.sort(tl.interleave(i * 0, i * 0 + n * n))
    tl.store(out + i, tl.load(x + tl.sum(mixed, axis=0) + i))


@tle2cuda.jit
def by_tiles_of_tiles(x, out, n):
    i = tl.arange(0, 16)
    whole = tle.insert_tile(i * 0, tle.extract_tile(i * 0 + n * n, [1], [4]), [3])
    tl.store(out + i, tl.load(x + whole + i))


@tle2cuda.jit
def by_loop_bound(x, out, n):
    i = tl.arange(0, 16)
    for k in range(n * n, 17):
        tl.store(out + i, tl.load(x + k + i))


@tle2cuda.jit
def by_while(x, out, n):
    i = tl.arange(0, 16)
    offset, rounds = n, 0
    while rounds < 1:
        offset *= n
        rounds += 1
    tl.store(out + i, tl.load(x + offset + i))


@tle2cuda.jit
def by_branch_and_function(x, out, n):
    i = tl.arange(0, 16)
    offset = 0
    if n > 1:
        offset = square(n)
    tl.store(out + i, tl.load(x + offset + i))


@tle2cuda.jit
def by_tuple(x, out, n):
    i = tl.arange(0, 16)
    pair = (n, n * n)
    _, offset = pair
    tl.store(out + i, tl.load(x + offset + i))


@tle2cuda.jit
def by_unsigned(x, out, n):
    i = tl.arange(0, 16).to(tl.uint32)
    tl.store(out + i, tl.load(x + (i * 0 + n.to(tl.uint32)) * n.to(tl.uint32) + i))


@tle2cuda.jit
def by_unsigned_scalar(x, out, n):
    i = tl.arange(0, 16)
    m = n.to(tl.uint32)
    tl.store(out + i, tl.load(x + (m * m) + i))


@tle2cuda.jit
def by_narrow(x, out, n):
    i = tl.arange(0, 16)
    m = (n // 256 + 2).to(tl.int16)
    tl.store(out + i, tl.load(x + (m * m).to(tl.int32) - 4 + i))


@tle2cuda.jit
def by_packing(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + (n * n << 1 | i)))


@tle2cuda.jit
def by_bits(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + (n * n | 1) + i))


@tle2cuda.jit
def by_block_pointer_offset(x, out, n):
    source = tl.make_block_ptr(x, (64,), (1,), (n * n,), (16,), (0,))
    tl.store(out + tl.arange(0, 16), tl.load(source, boundary_check=(0,)))


@tle2cuda.jit
def by_block_pointer_base(x, out, n):
    source = tl.make_block_ptr(x + n * n, (16,), (1,), (0,), (16,), (0,))
    tl.store(out + tl.arange(0, 16), tl.load(source))


@tle2cuda.jit
def by_block_pointer_stride(x, out, n):
    source = tl.make_block_ptr(x, (4, 16), (n * n, 1), (1, 0), (1, 16), (1, 0))
    tl.store(out + tl.arange(0, 16), tl.sum(tl.load(source), axis=0))


@tle2cuda.jit
def by_advance(x, out, n):
    source = tl.advance(tl.make_block_ptr(x, (64,), (1,), (0,), (16,), (0,)), (n * n,))
    tl.store(out + tl.arange(0, 16), tl.load(source, boundary_check=(0,)))


@tle2cuda.jit
def by_descriptor_offset(x, out, n):
    source = tl.make_tensor_descriptor(x, (64,), (1,), (16,))
    tl.store(out + tl.arange(0, 16), source.load([n * n]))


@tle2cuda.jit
def by_descriptor_base(x, out, n):
    source = tl.make_tensor_descriptor(x + n * n, (16,), (1,), (16,))
    tl.store(out + tl.arange(0, 16), source.load([0]))


@tle2cuda.jit
def by_descriptor_stride(x, out, n):
    source = tl.make_tensor_descriptor(x, (4, 16), (n * n, 1), (1, 16))
    tl.store(out + tl.arange(0, 16), tl.sum(source.load([1, 0]), axis=0))


@tle2cuda.jit
def by_descriptor_rows(x, out, n):
    source = tl.make_tensor_descriptor(x, (32, 16), (16, 1), (1, 16))
    rows = source.gather(tl.arange(0, 8) + n * n, 0)
    tl.store(out + tl.arange(0, 16), tl.sum(rows, axis=0))


@tle2cuda.jit
def by_store_through_descriptor(x, out, n):
    target = tl.make_tensor_descriptor(out, (64,), (1,), (16,))
    target.store([n * n], tl.load(x + tl.arange(0, 16)))


@tle2cuda.jit
def by_store_through_block_pointer(x, out, n):
    target = tl.make_block_ptr(out, (64,), (1,), (n * n,), (16,), (0,))
    tl.store(target, tl.load(x + tl.arange(0, 16)), boundary_check=(0,))


@tle2cuda.jit
def by_copy_out(x, out, n):
    buffer = tle.gpu.alloc((16,), tl.float32)
    tle.gpu.copy(x + tl.arange(0, 16), buffer, (16,))
    target = tl.make_tensor_descriptor(out, (64,), (1,), (16,))
    tle.gpu.copy(buffer, target, (16,), (n * n,))


@tle2cuda.jit
def by_elementwise_function(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.map_elementwise(add, i, i * 0 + n * n)))


@tle2cuda.jit
def by_chosen_part(x, out, n):
    i = tl.arange(0, 16)
    part = tle.extract_tile(i * 0 + n * n, n % 2, [8])
    tl.store(out + tl.arange(0, 8), tl.load(x + part + tl.arange(0, 8)))


@tle2cuda.jit
def by_topk(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + tl.arange(0, 4), tl.load(x + tl.topk(i * 0 + n * n, 4)))


@tle2cuda.jit
def by_copy(x, out, n):
    i = tl.arange(0, 16)
    buffer = tle.gpu.alloc((16,), tl.float32)
    source = tl.make_tensor_descriptor(x, (64,), (1,), (16,))
    tle.gpu.copy(source, buffer, (16,), (n * n,))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer, (i,))))


@tle2cuda.jit
def by_copy_of_pointers(x, out, n):
    i = tl.arange(0, 16)
    buffer = tle.gpu.alloc((16,), tl.float32)
    tle.gpu.copy(x + n * n + i, buffer, (16,))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer, (i,))))


@tle2cuda.jit
def by_shared_index(x, out, n):
    i = tl.arange(0, 16)
    buffer = tle.gpu.alloc((32,), tl.float32)
    tl.store(tle.gpu.local_ptr(buffer, (tl.arange(0, 32),)), tl.load(x + tl.arange(0, 32)))
    tl.store(out + i, tl.load(tle.gpu.local_ptr(buffer, (n * n + i,))))


@tle2cuda.jit
def by_atomic(x, out, n):
    tl.atomic_add(out + n * n, tl.load(x + 1))


@tle2cuda.jit
def by_pointer_bits(x, out, n):
    i = tl.arange(0, 16)
    bits = (x + n * n).to(tl.int64)
    tl.store(out + i, tl.load(bits.to(tl.pointer_type(tl.float32)) + i))


@tle2cuda.jit
def by_pointers_chosen(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(tl.where(i < 8, x + n * n + i, x + i)))


ROUTES = [value for name, value in dict(globals()).items() if name.startswith("by_")]


def launch(kernel, stride: int, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLE2CUDA_DEVICE", device)
    kernel[(1,)](np.arange(4096, dtype=np.float32), np.zeros(64, np.float32), stride)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kernel", ROUTES, ids=lambda kernel: kernel.fn.__name__)
def test_it_is_reported(kernel, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OffsetOverflow, match="wrapped in 32 bits before it reached the"):
        launch(kernel, LARGE, device, monkeypatch)


@tle2cuda.jit
def branching_add(a, b):
    total = a
    if b != 0:
        total = a + b
    return total


@tle2cuda.jit
def by_branching_function(x, out, n):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + tl.reduce(tl.where(i < 2, n * (n // 2), 0), 0, branching_add) + i))


def test_functions_that_branch_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(by_branching_function, SMALL, "interpreter", monkeypatch)
    with pytest.raises(OffsetOverflow, match="4294967296 became 0 elements from `x`"):
        launch(by_branching_function, LARGE, "interpreter", monkeypatch)


@tle2cuda.jit
def by_partition(x, out, n):
    offset = tle.gpu.warp_specialize([(doubled, (n,)), (nothing, (n,))], [1], [24])
    tl.store(out, tl.load(x + offset))


@tle2cuda.jit
def doubled(n):
    return n * n


@tle2cuda.jit
def nothing(n):
    pass


@pytest.mark.parametrize("device", DEVICES)
def test_partitions_hand_it_on(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OffsetOverflow, match="4294967296 became 0 elements from `x`"):
        launch(by_partition, LARGE, device, monkeypatch)


@tle2cuda.jit
def deliberate(x, out, n):
    """Hashes, random numbers, remainders and masks: numbers that wrap and are no offsets, or are not used as such."""
    i = tl.arange(0, 16)
    word = (i + n).to(tl.uint32) * 2654435761
    state = i * n * 1103515245 + 12345
    for _ in range(3):
        state = state * 1103515245 + 12345
    mixed = (word ^ (word >> 15)) * 0x846CA68B
    total = tl.load(x + (word >> 28)) + tl.load(x + (mixed & 15)) + tl.load(x + tl.abs(state % 16))
    h = state
    h ^= h << 13
    h ^= h >> 17
    h ^= h << 5
    total += tl.load(x + tl.abs(h) // 268435456) + tl.load(x + (h >> 28) + 8) + tl.load(x + 8 - h // 268435456)
    total += tl.load(x + ((h << 7 | h >> 25) >> 28) + 8) + tl.load(x + (~h >> 28) + 8)
    total += tl.load(x + tl.umulhi(mixed, 16)) + tl.load(x + (word // 0x10000000).to(tl.int32))
    total += tl.load(x + (state & 15)) + tl.load(x + tl.randint(n, i) % 16) + tl.rand(n, i)
    total += tl.load(x + tl.where(state > 0, i, 15 - i)) + tl.load(x + n * n + i, mask=n < 0, other=0.0)
    parity = tl.xor_sum(state, axis=0) & 15
    place = tl.argmax(state, axis=0) + tl.sum((state > 0).to(tl.int32), axis=0) % 16
    back = n * n - n * n + tl.sum(i * n * n, axis=0) * 0
    tl.store(out + i, total + tl.load(x + parity) + tl.load(x + place) + tl.load(x + back))


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_that_are_meant_to_wrap_may(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(deliberate, LARGE, device, monkeypatch)


@pytest.mark.parametrize("device", DEVICES[:2])
@pytest.mark.parametrize("kernel", ROUTES, ids=lambda kernel: kernel.fn.__name__)
def test_what_fits_is_not(kernel, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    launch(kernel, SMALL, device, monkeypatch)
