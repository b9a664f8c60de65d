"""Buffers that branches and loops pass on: one storage on every way there, or an error."""

import pytest

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.errors import NotSupported
from tle2cuda.language import tle


@tle2cuda.jit
def one_storage(x, n):
    buffer = tle.gpu.alloc([16], dtype=tl.float32)
    if n > 3:
        same = buffer
    else:
        same = buffer
    k = 0
    while k < n:
        same.store(tl.full((16,), 1.0, tl.float32))
        same = buffer
        k += 1
    tl.store(x + tl.arange(0, 16), same.load())


@tle2cuda.jit
def chosen(x, n):
    a = tle.gpu.alloc([16], dtype=tl.float32)
    b = tle.gpu.alloc([16], dtype=tl.float32)
    if n > 0:
        c = a
    else:
        c = b
    tl.store(x + tl.arange(0, 16), c.load())


@tle2cuda.jit
def swapped(x, n):
    a = tle.gpu.alloc([16], dtype=tl.float32)
    b = tle.gpu.alloc([16], dtype=tl.float32)
    for _ in range(n):
        a.store(tl.full((16,), 1.0, tl.float32))
        a, b = b, a
    tl.store(x + tl.arange(0, 16), a.load())


@tle2cuda.jit
def swapped_by_while(x, n):
    a = tle.gpu.alloc([16], dtype=tl.float32)
    b = tle.gpu.alloc([16], dtype=tl.float32)
    while n > 0:
        a.store(tl.full((16,), 1.0, tl.float32))
        a, b = b, a
        n -= 1
    tl.store(x + tl.arange(0, 16), a.load())


@tle2cuda.jit
def next_slot(x, n):
    ring = tle.gpu.alloc([2, 16], dtype=tl.float32)
    slot = ring.slot(0)
    for k in range(n):
        slot.store(tl.full((16,), 1.0, tl.float32))
        slot = ring.slot((k + 1) % 2)
    tl.store(x + tl.arange(0, 16), slot.load())


def test_a_handle_that_stays_the_same_is_passed_on() -> None:
    assert "shared.buffer[" in tle2cuda.emit(one_storage, "*fp32, i32").source


@pytest.mark.parametrize("kernel", [chosen, swapped, swapped_by_while, next_slot], ids=lambda k: k.fn.__name__)
def test_a_handle_that_changes_at_run_time_is_refused_not_ignored(kernel: tle2cuda.JitFunction) -> None:
    with pytest.raises(NotSupported, match="would be known at run time only") as caught:
        tle2cuda.emit(kernel, "*fp32, i32")
    assert caught.value.help.startswith("use pointers instead, p = tle.gpu.local_ptr(buffer, (0,))")
