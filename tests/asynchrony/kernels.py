"""Kernels of pipes, barriers, copies and partitions, with what they must write; `runs.py` executes them."""

from __future__ import annotations

import tle2cuda
import tle2cuda.language as tl
from tle2cuda.language import tle

# -- pipes -----------------------------------------------------------------------------------------


@tle2cuda.jit
def produce(w, src, n, B: tl.constexpr):
    for k in range(n):
        s = w.acquire(k)
        tl.store(tle.gpu.local_ptr(s.data), tl.load(src + k * B + tl.arange(0, B)))
        w.commit(k)


@tle2cuda.jit
def consume(r, dst, n, B: tl.constexpr):
    for k in range(n):
        got = r.wait(k)
        v = tl.load(tle.gpu.local_ptr(got.slot.data))
        r.release(k)
        tl.store(dst + k * B + tl.arange(0, B), v + 1)


@tle2cuda.jit
def two_tasks(src, dst, n, B: tl.constexpr, C: tl.constexpr):
    ring = tle.gpu.alloc([C, B], dtype=tl.float32, scope=tle.gpu.smem, nv_mma_shared_layout=False)
    p = tle.pipe(capacity=C, name="x", data=ring)
    tle.gpu.warp_specialize([(produce, (p.writer(), src, n, B)), (consume, (p.reader(), dst, n, B))], [4], [168])


@tle2cuda.jit
def one_task(src, dst, n, B: tl.constexpr, C: tl.constexpr):
    """Writer and reader in one task: the reader is C - 1 rows behind."""
    ring = tle.gpu.alloc([B], dtype=tl.float32, capacity=C)
    p = tle.pipe(capacity=C, data=ring)
    w, r = p.writer(), p.reader()
    ahead = min(C - 1, n)
    produce(w, src, ahead, B)
    for k in range(n):
        if k + ahead < n:
            s = w.acquire(k + ahead)
            s.data.store(tl.load(src + (k + ahead) * B + tl.arange(0, B)))
            w.commit(k + ahead)
        got = r.wait(k)
        tl.store(dst + k * B + tl.arange(0, B), got.slot.data.load() + 1)
        r.release(k)


@tle2cuda.jit
def produce_two(w, src, n, B: tl.constexpr):
    for k in range(n):
        s = w.acquire(k)
        x = tl.load(src + k * B + tl.arange(0, B))
        tl.store(tle.gpu.local_ptr(s.a), x)
        tl.store(tle.gpu.local_ptr(s.fields["b"]), x * 2)
        w.commit(k)


@tle2cuda.jit
def consume_field(r, dst, n, B: tl.constexpr, FIELD: tl.constexpr):
    total = tl.zeros([B], tl.float32)
    for k in range(n):
        got = r.wait(k)
        total += tl.load(tle.gpu.local_ptr(got.slot.fields[FIELD]))
        r.release(k)
    tl.store(dst + tl.arange(0, B), total)


@tle2cuda.jit
def two_readers(src, left, right, n, B: tl.constexpr, C: tl.constexpr):
    """One writer, two readers that see one field each."""
    a = tle.gpu.alloc([C, B], dtype=tl.float32)
    b = tle.gpu.alloc([C, B], dtype=tl.float32)
    p = tle.pipe(capacity=C, readers=("left", "right"), a=a, b=b)
    tle.gpu.warp_specialize(
        [
            (produce_two, (p.writer(), src, n, B)),
            (consume_field, (p.reader("left", fields=("a",)), left, n, B, "a")),
            (consume_field, (p.reader("right", fields=["b"]), right, n, B, "b")),
        ],
        [1, 2],
        [40, 40],
    )


@tle2cuda.jit
def fill(w, src, n, B: tl.constexpr):
    for k in range(n):
        s = w.acquire(k)
        s.x.store(tl.load(src + k * B + tl.arange(0, B)))
        w.commit(k)


@tle2cuda.jit
def square(r, w, n):
    for k in range(n):
        got = r.wait(k)
        s = w.acquire(k)
        x = got.slot.x.load()
        s.x.store(x * x)
        w.commit(k)
        r.release(k)


@tle2cuda.jit
def finish(first, second, dst, n, B: tl.constexpr):
    for k in range(n):
        got = second.wait(k)
        tl.store(dst + k * B + tl.arange(0, B), got.slot.x.load())
        second.release(k)
        first.release(k)


@tle2cuda.jit
def two_pipes_over_one_buffer(src, dst, n, B: tl.constexpr, C: tl.constexpr):
    """Rows are squared in place: a stage is free when what comes last has released it."""
    ring = tle.gpu.alloc([C, B], dtype=tl.float32)
    first = tle.pipe(capacity=C, name="loaded", readers=("square", "finish"), x=ring)
    second = tle.pipe(capacity=C, name="squared", x=ring)
    tle.gpu.warp_specialize(
        [
            (finish, (first.reader("finish"), second.reader(), dst, n, B)),
            (fill, (first.writer(), src, n, B)),
            (square, (first.reader("square"), second.writer(), n)),
        ],
        [4, 4],
        [64, 64],
    )


@tle2cuda.jit
def produce_and_close(w, src, n, B: tl.constexpr):
    produce(w, src, n, B)
    w.close(n)


@tle2cuda.jit
def consume_until_closed(r, dst, count, B: tl.constexpr):
    k = 0
    got = r.wait(0)
    closed = got.is_closed
    while not closed:
        slot = r.wait(k).slot
        tl.store(dst + k * B + tl.arange(0, B), slot.data.load() + 1)
        r.release(k)
        k += 1
        closed = r.wait(k).is_closed
    tl.store(count, k)


@tle2cuda.jit
def closing(src, dst, count, n, B: tl.constexpr, C: tl.constexpr):
    """The reader does not know how many rows there are."""
    ring = tle.gpu.alloc([C, B], dtype=tl.float32)
    p = tle.pipe(capacity=C, data=ring)
    tle.gpu.warp_specialize(
        [(produce_and_close, (p.writer(), src, n, B)), (consume_until_closed, (p.reader(), dst, count, B))], [4], [64]
    )


@tle2cuda.jit
def give_once(w, src, B: tl.constexpr):
    s = w.acquire(0)
    s.table.store(tl.load(src + tl.arange(0, B)))
    w.commit(0)


@tle2cuda.jit
def take_often(r, dst, n, B: tl.constexpr):
    for k in range(n):
        got = r.wait(0)
        tl.store(dst + k * B + tl.arange(0, B), got.slot.table.load() * k)
        r.release(0)


@tle2cuda.jit
def one_shot(src, dst, n, B: tl.constexpr):
    table = tle.gpu.alloc([1, B], dtype=tl.float32)
    p = tle.pipe(capacity=1, one_shot=True, table=table)
    tle.gpu.warp_specialize([(take_often, (p.reader(), dst, n, B)), (give_once, (p.writer(), src, B))], [1], [24])


@tle2cuda.jit
def give_last(w, src, B: tl.constexpr):
    s = w.acquire(1)
    s.data.store(tl.load(src + tl.arange(0, B)))
    w.commit(1)


@tle2cuda.jit
def take_last(r, dst, B: tl.constexpr):
    got = r.wait(1)
    tl.store(dst + tl.arange(0, B), got.slot.data.load())
    r.release(1)


@tle2cuda.jit
def only_stage_1(src, dst, B: tl.constexpr):
    """A pipe of capacity 2 used with iteration 1 alone."""
    ring = tle.gpu.alloc([2, B], dtype=tl.float32)
    p = tle.pipe(capacity=2, data=ring)
    tle.gpu.warp_specialize([(take_last, (p.reader(), dst, B)), (give_last, (p.writer(), src, B))], [1], [24])


@tle2cuda.jit
def produce_by_cursor(w, src, n, B: tl.constexpr):
    c = w.cursor(0)
    for k in range(n):
        s = w.acquire(c)
        s.data.store(tl.load(src + k * B + tl.arange(0, B)))
        w.commit(c)
        c = c.advance()


@tle2cuda.jit
def consume_by_cursor(r, dst, stages, n, B: tl.constexpr):
    c = r.cursor(0)
    for k in range(n):
        got = r.wait(c)
        tl.store(dst + k * B + tl.arange(0, B), got.slot.data.load() + 1)
        tl.store(stages + k, c.stage)
        r.release(c)
        c = c.advance()


@tle2cuda.jit
def cursors(src, dst, stages, n, B: tl.constexpr, C: tl.constexpr):
    ring = tle.gpu.alloc([C, B], dtype=tl.float32)
    p = tle.pipe(capacity=C, data=ring)
    tle.gpu.warp_specialize(
        [(produce_by_cursor, (p.writer(), src, n, B)), (consume_by_cursor, (p.reader(), dst, stages, n, B))], [4], [64]
    )


@tle2cuda.jit
def ends_of(p):
    return p.writer(), (p.reader(),)


@tle2cuda.jit
def move_row(ends, src, dst, k, B: tl.constexpr):
    w, (r,) = ends
    slot = w.acquire(k)
    fill_slot(slot, src + k * B, B)
    w.commit(k)
    got = r.wait(k)
    tl.store(dst + k * B + tl.arange(0, B), got.slot.data.load() + 1)
    r.release(k)


@tle2cuda.jit
def fill_slot(slot, src, B: tl.constexpr):
    slot.data.store(tl.load(src + tl.arange(0, B)))


@tle2cuda.jit
def ends_travel(src, dst, n, B: tl.constexpr, C: tl.constexpr):
    """Endpoints in tuples, through calls, branches and loops."""
    ring = tle.gpu.alloc([C, B], dtype=tl.float32)
    p = tle.pipe(capacity=C, data=ring)
    ends = ends_of(p)
    k = 0
    while k < n:
        if k % 2 == 0:
            move_row(ends, src, dst, k, B)
        else:
            move_row((p.writer(), (p.reader(),)), src, dst, k, B)
        ends = ends_of(p)
        k += 1


@tle2cuda.jit
def several_stages_at_once(src, dst, n, B: tl.constexpr):
    """Acquires two stages before it commits them, in the other order."""
    ring = tle.gpu.alloc([4, B], dtype=tl.float32)
    p = tle.pipe(capacity=4, data=ring)
    w, r = p.writer(), p.reader()
    for half in range(n // 2):
        k = 2 * half
        first = w.acquire(k)
        second = w.acquire(k + 1)
        second.data.store(tl.load(src + (k + 1) * B + tl.arange(0, B)))
        first.data.store(tl.load(src + k * B + tl.arange(0, B)))
        w.commit(k + 1)
        w.commit(k)
        for j in tl.static_range(2):
            got = r.wait(k + j)
            tl.store(dst + (k + j) * B + tl.arange(0, B), got.slot.data.load() + 1)
            r.release(k + j)


@tle2cuda.jit
def behind_an_early_return(src, dst, n, B: tl.constexpr):
    """A pipe that is made behind a return which is taken at run time."""
    k = n
    if n > 5:
        if n > 100:
            return
        k = n + 0
    ring = tle.gpu.alloc([2, B], dtype=tl.float32)
    p = tle.pipe(capacity=2, data=ring)
    w, r = p.writer(), p.reader()
    for i in range(k):
        move_row((w, (r,)), src, dst, i, B)


@tle2cuda.jit
def cursors_of_branches(src, dst, n, B: tl.constexpr):
    """Cursors that some iterations move by two, some not at all."""
    ring = tle.gpu.alloc([3, B], dtype=tl.float32)
    p = tle.pipe(capacity=3, data=ring)
    w, r = p.writer(), p.reader()
    filled, used = w.cursor(0), r.cursor(0)
    i = 0
    while i < n:
        if i % 2 == 0:
            fill_slot(w.acquire(filled), src + i * B, B)
            w.commit(filled)
            filled = filled.advance()
            if i + 1 < n:
                fill_slot(w.acquire(filled), src + (i + 1) * B, B)
                w.commit(filled)
                filled = filled.advance()
        tl.store(dst + i * B + tl.arange(0, B), r.wait(used).slot.data.load() + 1)
        r.release(used)
        used = used.advance()
        i += 1


@tle2cuda.jit
def slots_of_the_last_iteration(src, dst, n, B: tl.constexpr):
    """What `wait` returned is handed on from one iteration to the next."""
    ring = tle.gpu.alloc([2, B], dtype=tl.float32)
    p = tle.pipe(capacity=2, data=ring)
    w, r = p.writer(), p.reader()
    fill_slot(w.acquire(0), src, B)
    w.commit(0)
    got = r.wait(0)
    for k in range(n):
        if k + 1 < n:
            fill_slot(w.acquire(k + 1), src + (k + 1) * B, B)
            w.commit(k + 1)
        tl.store(dst + k * B + tl.arange(0, B), got.slot.data.load() + 1)
        r.release(k)
        if k + 1 < n:
            got = r.wait(k + 1)


@tle2cuda.jit
def consume_views(p, dst, n, B: tl.constexpr):
    """Makes its endpoint itself."""
    r = p.reader()
    for k in range(n):
        s = r.wait(k).slot
        tl.store(dst + k * B + tl.arange(0, B), s.a.load() + s.m.reshape((B,)).load() + s.b.load())
        r.release(k)


@tle2cuda.jit
def produce_all(p, src, n, B: tl.constexpr):
    w = p.writer()
    i = tl.arange(0, B)
    for k in range(n):
        s = w.acquire(k)
        s.a.subslice(0, B // 2).store(tl.load(src + k * B + tl.arange(0, B // 2)))
        s.a.subslice(B // 2, B // 2).store(tl.load(src + k * B + B // 2 + tl.arange(0, B // 2)))
        s.m.reshape([B]).store(tl.load(src + k * B + i))
        s.b.store(tl.full([B], 1, tl.float32))
        w.commit(k)


@tle2cuda.jit
def fields_that_are_views(src, dst, n, B: tl.constexpr, C: tl.constexpr):
    """Part of a buffer, a buffer in another shape, and other types on the same bytes as fields."""
    a = tle.gpu.alloc([4, B], tl.float32).subslice(1, C, dim=0)
    m = tle.gpu.alloc([4 * B], tl.float32).subslice(0, C * B).reshape([C, 8, B // 8])
    b = tle.gpu.alloc([C, B], tl.float32, alias=tle.gpu.alloc([16 * B], tl.uint8))
    p = tle.pipe(capacity=C, a=a, m=m, b=b)
    tle.gpu.warp_specialize([(consume_views, (p, dst, n, B)), (produce_all, (p, src, n, B))], [2])


# -- barriers --------------------------------------------------------------------------------------


@tle2cuda.jit
def give_named(buffer, ready, B: tl.constexpr):
    buffer.store(tl.arange(0, B) * 3)
    tle.gpu.barrier_arrive(ready)


@tle2cuda.jit
def take_named(buffer, ready, out, B: tl.constexpr):
    tle.gpu.barrier_wait(ready)
    tl.store(out + tl.arange(0, B), buffer.load() + 1)


@tle2cuda.jit
def named_barrier_of_workers(out, B: tl.constexpr):
    """Two workers meet at a named barrier that does not concern the default partition."""
    ready = tle.gpu.alloc_barrier(arrive_count=96)
    buffer = tle.gpu.alloc([B], tl.int32)
    tle.gpu.warp_specialize(
        [(nothing, ()), (give_named, (buffer, ready, B)), (take_named, (buffer, ready, out, B))], [1, 2], [24, 24]
    )


@tle2cuda.jit
def load_tiles(desc, ring, full, free, n, S: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    for k in range(n):
        tle.gpu.barrier_wait(free[k % S], phaseIdx=k // S)
        tle.gpu.copy(desc, ring.slot(k % S), [BM, BK], [0, k * BK], barrier=full[k % S])


@tle2cuda.jit
def store_tiles(desc, ring, full, free, n, S: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr):
    for k in range(n):
        tle.gpu.barrier_wait(full[k % S], phaseIdx=(k // S) & 1)
        tle.gpu.copy(ring.slot(k % S), desc, [BM, BK], [0, k * BK])
        tle.gpu.barrier_arrive(free[k % S], phaseIdx=k // S)


@tle2cuda.jit
def tensor_ring(x, y, M, N, n, BM: tl.constexpr, BK: tl.constexpr, S: tl.constexpr):
    """A ring filled and emptied by tensor copies, with barriers of the user's own."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BK])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BK])
    ring = tle.gpu.alloc([S, BM, BK], tl.float16)
    full = tle.gpu.alloc_barriers(num_barriers=S, expect_bytes=BM * BK * 2)
    free = tle.gpu.alloc_barriers(num_barriers=S, init=tle.gpu.READY)
    tle.gpu.warp_specialize(
        [
            (store_tiles, (target, ring, full, free, n, S, BM, BK)),
            (load_tiles, (source, ring, full, free, n, S, BM, BK)),
        ],
        [1],
        [24],
    )


@tle2cuda.jit
def turn_of(mine, other, buffer, value, n, FIRST: tl.constexpr, B: tl.constexpr):
    """Two partitions take turns over one buffer."""
    for _ in range(n):
        if not FIRST:
            tle.gpu.barrier_wait(mine)
        x = buffer.load()
        buffer.store(x * 2 + value)
        tle.gpu.barrier_arrive(other)
        if FIRST:
            tle.gpu.barrier_wait(mine)


@tle2cuda.jit
def turns(out, n, B: tl.constexpr):
    """A hand-over by named barriers: x becomes 2 * x + 1, then 2 * x + 3."""
    turn = tle.gpu.alloc_barriers(num_barriers=2, arrive_count=256)
    buffer = tle.gpu.alloc([B], tl.int32)
    buffer.store(tl.zeros([B], tl.int32))
    tle.gpu.warp_specialize(
        [(turn_of, (turn[0], turn[1], buffer, 1, n, True, B)), (turn_of, (turn[1], turn[0], buffer, 3, n, False, B))],
        [4],
        [64],
    )
    tl.store(out + tl.arange(0, B), buffer.load())


@tle2cuda.jit
def add_to(done, total, value, n):
    for _ in range(n):
        tl.atomic_add(total, value)
    tle.gpu.barrier_arrive(done, arrive_count=2, phaseIdx=0)


@tle2cuda.jit
def await_all(done, total, out):
    tle.gpu.barrier_wait(done, phaseIdx=0)
    tl.store(out, tl.load(total))


@tle2cuda.jit
def counted_arrivals(out, n):
    """Three partitions arrive twice each at one barrier."""
    done = tle.gpu.alloc_barrier(arrive_count=6)
    box = tle.gpu.alloc([1], tl.int32)
    total = tle.gpu.local_ptr(box, (0,))
    tl.store(total, 0)
    tle.gpu.warp_specialize(
        [
            (await_all, (done, total, out)),
            (add_to, (done, total, 1, n)),
            (add_to, (done, total, 10, n)),
            (add_to, (done, total, 100, n)),
        ],
        [1, 2, 4],
        [24, 24, 24],
    )


# -- partitions ------------------------------------------------------------------------------------


@tle2cuda.jit
def sum_and_tile(src, scale, B: tl.constexpr):
    x = tl.load(src + tl.arange(0, B))
    return tl.sum(x, axis=0) * scale, (x * 2, B)


@tle2cuda.jit
def store_captured(dst, tile, parts, B: tl.constexpr):
    number, (factor, shift) = parts
    tl.store(dst + tl.arange(0, B), tile * number * factor + shift)


@tle2cuda.jit
def values_in_and_out(src, dst, out, twice, n, B: tl.constexpr):
    """Captures a tile and scalars, also in tuples; returns a scalar, a tile and a constant."""
    tile = tl.load(src + tl.arange(0, B)) + 1.0
    total, (doubled, size) = tle.gpu.warp_specialize(
        ((sum_and_tile, (src, 0.5, B)), (store_captured, (dst, tile, (n, (3, n + 1)), B))), [2], [32]
    )
    tl.store(out, total + size)
    tl.store(twice + tl.arange(0, B), doubled)


@tle2cuda.jit
def make_buffers(ring, src, n, B: tl.constexpr):
    own = tle.gpu.alloc([B], tl.float32)
    own.store(tl.load(src + tl.arange(0, B)))
    slot = ring.slot(n % 2)
    slot.store(own.load() * 2)
    q = tle.pipe(capacity=1, data=tle.gpu.alloc([1, B], tl.float32))
    w = q.writer()
    filled = w.acquire(0)
    filled.data.store(own.load() * 4)
    w.commit(0)
    return own, (slot, ring), q.reader(), filled, tle.gpu.local_ptr(own, (1,))


@tle2cuda.jit
def buffers_come_out(src, dst, n, B: tl.constexpr):
    """Buffers, views, slots, pipes and pointers that the default partition made."""
    ring = tle.gpu.alloc([2, B], tl.float32)
    own, (slot, again), r, filled, second = tle.gpu.warp_specialize(
        [(make_buffers, (ring, src, n, B)), (nothing, ())], [1], [24]
    )
    total = own.load() + slot.load() + filled.data.load() + r.wait(0).slot.data.load()
    tl.store(dst + tl.arange(0, B), total + again.slot(n % 2).load() + tl.load(second))


@tle2cuda.jit
def part_of_work(dst, PART: tl.constexpr, B: tl.constexpr):
    i = PART * B + tl.arange(0, B)
    x = tl.cumsum(i, axis=0)
    tl.debug_barrier()
    tl.store(dst + i, x + tl.max(i, axis=0))


@tle2cuda.jit
def same_function_thrice(dst, B: tl.constexpr):
    """One function with other constants; collectives belong to the partition. Then the same once more."""
    tle.gpu.warp_specialize([(part_of_work, (dst, part, B)) for part in (0, 1, 2)], [4, 8], [80, 80])
    tle.gpu.warp_specialize([(part_of_work, (dst, part, B)) for part in (3, 4)], [1], [80])


@tle2cuda.jit
def nothing():
    pass


@tle2cuda.jit
def write_mark(mark):
    tl.store(mark, 7)


@tle2cuda.jit
def results_of_workers_are_visible(mark, out):
    """The call is a full synchronisation of the CTA."""
    box = tle.gpu.alloc([1], tl.int32)
    tle.gpu.warp_specialize([(nothing, ()), (write_mark, (tle.gpu.local_ptr(box, (0,)),))], [1], [24])
    tl.store(out, tl.load(tle.gpu.local_ptr(box, (0,))))


@tle2cuda.jit
def specialised_behind_a_return(src, dst, n, B: tl.constexpr):
    if n > 100:
        return
    ring = tle.gpu.alloc([2, B], dtype=tl.float32)
    p = tle.pipe(capacity=2, data=ring)
    tle.gpu.warp_specialize([(produce, (p.writer(), src, n, B)), (consume, (p.reader(), dst, n, B))], [4], [168])


@tle2cuda.jit
def add_one(src, dst, B: tl.constexpr):
    tl.store(dst + tl.arange(0, B), tl.load(src + tl.arange(0, B)) + 1)


@tle2cuda.jit
def specialised_in_a_loop(src, dst, n, B: tl.constexpr):
    for k in range(n):
        tle.gpu.warp_specialize([(nothing, ()), (add_one, (src + k * B, dst + k * B, B))], [1], [24])


# -- copies ----------------------------------------------------------------------------------------


@tle2cuda.jit
def async_ring(src, dst, n, limit, B: tl.constexpr, S: tl.constexpr):
    """A ring filled by cp.async; the last groups are empty."""
    ring = tle.gpu.alloc([S, B], tl.float32)
    i = tl.arange(0, B)
    for k in tl.static_range(S - 1):
        if k < n:
            tle.gpu.copy(src + k * B + i, ring.slot(k), [B], is_async=True, mask=k * B + i < limit)
        tle.gpu.async_commit_group()
    for k in range(n):
        ahead = k + S - 1
        if ahead < n:
            tle.gpu.copy(src + ahead * B + i, ring.slot(ahead % S), [B], is_async=True, mask=ahead * B + i < limit)
        tle.gpu.async_commit_group()
        tle.gpu.async_wait_group(S - 1)
        tl.store(dst + k * B + i, ring.slot(k % S).load())


@tle2cuda.jit
def tensor_transpose(desc, out, BM: tl.constexpr, BN: tl.constexpr):
    """A host descriptor to a buffer and back through pointers, transposed."""
    tile = tle.gpu.alloc([BM, BN], desc.dtype)
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    tle.gpu.copy(desc, tile, [BM, BN], [row, col])
    target = tl.make_tensor_descriptor(out, [desc.shape[1], desc.shape[0]], [desc.shape[0].to(tl.int64), 1], [BN, BM])
    turned = tle.gpu.alloc([BN, BM], desc.dtype)
    turned.store(tl.trans(tile.load()))
    tle.gpu.copy(turned, target, [BN, BM], [col, row])


@tle2cuda.jit
def batched_box(x, y, L, M, N, layer, BM: tl.constexpr, BN: tl.constexpr):
    """Boxes of rank 3 whose leading extent is 1, at offsets that may be negative."""
    source = tl.make_tensor_descriptor(x, [L, M, N], [M * N, N, 1], [1, BM, BN], padding_option="nan")
    target = tl.make_tensor_descriptor(y, [L, M, N], [M * N, N, 1], [1, BM, BN])
    box = tle.gpu.alloc([BM, BN], tl.float32)
    tle.gpu.copy(source, box, [BM, BN], [layer, -3, 8])
    v = box.load()
    box.store(tl.where(v == v, v + 1, -1.0))
    tle.gpu.copy(box, target, [BM, BN], [layer, -2, 8])


@tle2cuda.jit
def padded_buffer(x, y, M, N):
    """A buffer whose extent is no power of two is padded; the copy fills what was asked for."""
    desc = tl.make_tensor_descriptor(x, [M, N], [N, 1], [16, 32])
    tile = tle.gpu.alloc([16, 32], tl.float32)
    tle.gpu.copy(desc, tile, [16, 32], [0, 0])
    tl.store(y + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :], tile.load())


@tle2cuda.jit
def produce_mixed(w, desc, src, n, B: tl.constexpr):
    for k in range(n):
        s = w.acquire(k)
        tle.gpu.copy(desc, s.a, [B], [k * B])
        tle.gpu.copy(src + k * B + tl.arange(0, B), s.b, [B], is_async=True)
        s.c.store(tl.full([B], k, tl.float32))
        w.commit(k)


@tle2cuda.jit
def consume_mixed(r, dst, n, B: tl.constexpr):
    for k in range(n):
        s = r.wait(k).slot
        tl.store(dst + k * B + tl.arange(0, B), s.a.load() + 2 * s.b.load() + s.c.load())
        r.release(k)


@tle2cuda.jit
def mixed_transports(x, src, dst, n, N, B: tl.constexpr, C: tl.constexpr):
    """A stage filled by a tensor copy, by cp.async and by stores: nobody says so."""
    desc = tl.make_tensor_descriptor(x, [N], [1], [B])
    a = tle.gpu.alloc([C, B], tl.float32)
    b = tle.gpu.alloc([C, B], tl.float32)
    c = tle.gpu.alloc([C, B], tl.float32)
    p = tle.pipe(capacity=C, a=a, b=b, c=c)
    tle.gpu.warp_specialize(
        [(consume_mixed, (p.reader(), dst, n, B)), (produce_mixed, (p.writer(), desc, src, n, B))], [4], [64]
    )
