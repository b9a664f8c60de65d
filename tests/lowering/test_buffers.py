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


@pytest.mark.parametrize(
    ("kernel", "handles"),
    [
        (chosen, ("float* c;", "c = shared.a;", "c = shared.b;")),
        (swapped, ("float* a = shared.a;", "float* const b_next = a;", "a = b;", "b = b_next;")),
        (swapped_by_while, ("float* b = shared.b;", "a = b;")),
        (next_slot, ("float* slot = shared.ring[0];", "slot = shared.ring[(k_ + 1) % 2];")),
    ],
    ids=lambda value: value.fn.__name__ if hasattr(value, "fn") else "",
)
def test_a_handle_that_changes_at_run_time_is_a_pointer(kernel: tle2cuda.JitFunction, handles: tuple[str, ...]) -> None:
    source = tle2cuda.emit(kernel, "*fp32, i32").source
    assert [text for text in handles if text not in source] == []


@tle2cuda.jit
def window_or_buffer(x, n):
    wide = tle.gpu.alloc([4, 16], dtype=tl.float32)
    apart = tle.gpu.alloc([4, 8], dtype=tl.float32)
    chosen = wide.subslice(0, 8, dim=1)
    for _ in range(n):
        chosen.store(tl.full((4, 8), 1.0, tl.float32))
        chosen = apart
    tl.store(x + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], chosen.load())


def test_a_handle_cannot_move_between_a_window_and_a_buffer() -> None:
    with pytest.raises(NotSupported, match="`chosen` is a window of a larger buffer on one way") as caught:
        tle2cuda.emit(window_or_buffer, "*fp32, i32")
    assert caught.value.span is not None and caught.value.help.startswith("make all of them slots of one buffer")
