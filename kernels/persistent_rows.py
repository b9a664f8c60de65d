"""Rows of a matrix through a ring in shared memory: what persistent kernels on rows share.

A CTA stays on its multiprocessor. The next rows are on their way in one of four forms:

- "ring": one warp claims rows and asks the copy engine for them as far ahead as the ring has room, the others hold a row as
  float32. Which CTA takes which rows is decided while they run: rows are accessed nearly in their order, and all CTAs end
  together, where CTAs that take every so many-th row drift apart (on an H200: 68 in place of 74 µs, 16384 x 4096 float16);
- "packed": the same for long rows, which arrive in parts and are held in registers in their own type, half the size;
- "parts": rows arrive in parts of 16 KiB and stay in shared memory until they are reduced;
- "ahead": no ring and no worker, each thread loads its share of the next row before it reduces this one.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import check_same, has_tensor_copies, persistent_ctas, power_of_two, row_stride
from kernels.moe_align_block_size.arrays import is_capturing, new_ints, stream_of
from tle2cuda.language import tle

FORMS = ("ring", "packed", "parts", "ahead")
PART_BYTES = 16384
RING_ROW_BYTES = 32768  # the longest row that a ring's warps hold as float32
AHEAD_ROW_BYTES = 16384  # the longest one that is loaded into registers beside the one before
PACKED_BYTES = 128 * 1024  # the longest row that 16 warps hold packed
PACKED_THREAD_BYTES = 256  # 64 registers
PACKED_WARP_BYTES = 1024  # of a part: two vectors for each thread
WORKER_REGISTERS = 24  # of a packed row's worker, the rest of its 96 go to those who hold the row
MOST_WARPS = 16  # that share a row
VECTOR_BYTES = 16  # neighbours that a thread reads at once
CLAIMED_BYTES = 8192  # of rows that are claimed together: an H200 takes 1.6 ns for a claim, as long as for 6 KiB
RING_WARPS = 34  # of all rings of a multiprocessor
MULTIPROCESSOR_WARPS = 64
AHEAD_WARPS = 28  # which leave 72 registers, 64 do not quite do for this row and the next
PACKED_WARPS = 20  # which leave 96
QUARTER_REGISTERS = 512  # registers of each lane in a quarter of a multiprocessor, shared by every fourth warp
RING_BYTES = 208 * 1024  # of the 227 KiB that a CTA can have on sm_90
PANEL = 256  # elements: the widest box of the copy engine


@tle2cuda.jit
def fetch_rows(writer, x, rows, cols, x_stride, PART: tl.constexpr, PARTS: tl.constexpr, WIDTH: tl.constexpr):
    """The worker: asks for the parts of each row in turn.

    The engine's boxes are at most 256 elements wide. Rows of whole panels of that width are described as matrices of
    panels, so that one request brings a part.
    """
    if WIDTH == PART:
        desc = tl.make_tensor_descriptor(x, [rows, 1, cols], [x_stride, x_stride, 1], [1, 1, PART])
    else:
        shape, strides = [rows, cols // WIDTH, WIDTH], [x_stride, WIDTH, 1]
        desc = tl.make_tensor_descriptor(x, shape, strides, [1, PART // WIDTH, WIDTH])
    place = writer.cursor(0)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        for part in range(PARTS):
            slot = writer.acquire(place)
            if WIDTH == PART:
                tle.gpu.copy(desc, slot.part, [1, PART], [row, 0, part * PART])
            else:
                tle.gpu.copy(desc, slot.part, [PART // WIDTH, WIDTH], [row, part * (PART // WIDTH), 0])
            writer.commit(place)
            place = place.advance()


@tle2cuda.jit
def fetch_claimed_rows(
    writer,
    x,
    claims,
    rows,
    cols,
    x_stride,
    PART: tl.constexpr,
    PARTS: tl.constexpr,
    WIDTH: tl.constexpr,
    CLAIM: tl.constexpr,
):
    """The worker of a ring: claims CLAIM rows at a time and passes on each row with its number, `rows` behind the last one.

    The first claim of a CTA is its own number. `claims` counts the others, and is zero again in the end: whoever makes the
    last claim knows that no other will come, as each claim that is worked on is followed by one more.
    """
    if WIDTH == PART:
        desc = tl.make_tensor_descriptor(x, [rows, 1, cols], [x_stride, x_stride, 1], [1, 1, PART])
    else:
        shape, strides = [rows, cols // WIDTH, WIDTH], [x_stride, WIDTH, 1]
        desc = tl.make_tensor_descriptor(x, shape, strides, [1, PART // WIDTH, WIDTH])
    place = writer.cursor(0)
    last = tl.cdiv(rows, CLAIM) - 1
    claim = tl.program_id(0)
    while claim <= last:
        for row in range(claim * CLAIM, tl.minimum(claim * CLAIM + CLAIM, rows)):
            for part in range(PARTS):
                slot = writer.acquire(place)
                tl.store(tle.gpu.local_ptr(slot.number, (0,)), row)
                if WIDTH == PART:
                    tle.gpu.copy(desc, slot.part, [1, PART], [row, 0, part * PART])
                else:
                    tle.gpu.copy(desc, slot.part, [PART // WIDTH, WIDTH], [row, part * (PART // WIDTH), 0])
                writer.commit(place)
                place = place.advance()
        following = tl.atomic_add(claims, 1, sem="relaxed")  # while the ring is full
        if following == last:
            tl.store(claims, 0)
        claim = tl.num_programs(0) + following
    slot = writer.acquire(place)
    tl.store(tle.gpu.local_ptr(slot.number, (0,)), rows)
    writer.commit(place)


@tle2cuda.jit
def claimed_number(slot):
    return tl.load(tle.gpu.local_ptr(slot.number, (0,)))


@tle2cuda.jit
def load_part(slot, PART: tl.constexpr):
    return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How rows are cut and spread.

    Attributes:
        form: One of `FORMS`.
        part: Elements of a part, a power of two.
        parts: Parts of a row.
        width: Width of the engine's boxes.
        stages: Parts that the ring holds; 0 without a ring.
        num_warps: Warps that reduce.
        ctas_per_multiprocessor: How many the grid has for each.
        claim: Rows that are claimed together; 0 where a CTA takes every so many-th.
        threads: Those that share the vectors of a part.
        vector: Neighbours of a part in one thread.
        max_registers: Of a thread, so that all are resident; None leaves them to the compiler.
    """

    form: str
    part: int
    parts: int
    width: int
    stages: int
    num_warps: int
    ctas_per_multiprocessor: int
    claim: int
    threads: int
    vector: int
    max_registers: int | None

    def constants(self) -> dict[str, int]:
        """The kernels' constexpr parameters."""
        if self.form == "ahead":
            return {"BLOCK": self.part}
        ring = {"PART": self.part, "WIDTH": self.width, "STAGES": self.stages}
        if self.form == "ring":
            return ring | {"CLAIM": self.claim}
        if self.form == "parts":
            return ring | {"PARTS": self.parts}
        registers = WORKER_REGISTERS if self.num_warps == MOST_WARPS else 0
        shares = {"THREADS": self.threads, "VECTOR": self.vector}
        return ring | {"PARTS": self.parts, "CLAIM": self.claim, "REGISTERS": registers} | shares

    def options(self) -> dict[str, int | None]:
        """How they are launched."""
        return {"num_warps": self.num_warps, "maxnreg": self.max_registers}


def registers_beside(warps: int) -> int:
    """Registers that a thread can have when so many warps share a multiprocessor, whose quarters each have their own."""
    return min(QUARTER_REGISTERS // -(-warps // 4) // 8 * 8, 255)


def plan_rows(
    cols: int,
    itemsize: int,
    *,
    form: str,
    stages: int | None = None,
    num_warps: int | None = None,
    ctas: int | None = None,
    beside_bytes: int = 0,
) -> Plan:
    """A plan for rows of `cols` elements; what is given stays as given.

    Args:
        cols: Elements of a row.
        itemsize: Bytes of one.
        form: One of `FORMS`.
        stages: Parts that the ring holds. Left out: twice a row, as far as there is room.
        num_warps: Warps that reduce, 16 at most. Left out: 64 bytes of a row for each thread, 32 in a ring, 256 of a packed
            row.
        ctas: CTAs of a multiprocessor. Left out: as many as have room.
        beside_bytes: Of shared memory that a packed row's CTA needs for something else.

    Raises:
        ValueError: There is no such form, or a row does not fit into it.
    """
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    row_bytes = max(power_of_two(cols) * itemsize, 16)
    longest = {"ring": RING_ROW_BYTES, "ahead": AHEAD_ROW_BYTES, "packed": PACKED_BYTES}.get(form, row_bytes)
    if row_bytes > longest:
        raise ValueError(f"rows of {cols * itemsize} bytes are too long for {form!r}, {longest} bytes")
    warps = num_warps or _ring_warps(form, row_bytes)
    longest_part = {"parts": PART_BYTES, "packed": PACKED_WARP_BYTES * warps}.get(form, row_bytes)
    part = min(row_bytes, longest_part) // itemsize
    if form == "ahead":
        warps = num_warps or max(1, row_bytes // (64 * 32))
        resident = ctas or max(1, min(AHEAD_WARPS // warps, 32))
        return Plan(form, part, 1, part, 0, warps, resident, 0, 0, 0, registers_beside(warps * resident))
    parts = -(-cols // part)
    room = RING_BYTES
    if form == "packed":
        resident = ctas or max(1, PACKED_WARPS // (warps + 1))
        room = RING_BYTES // resident - beside_bytes
    room //= part * itemsize
    if room < 1 or (form == "parts" and parts >= room):
        raise ValueError(f"rows of {cols * itemsize} bytes do not fit into shared memory, {RING_BYTES} bytes")
    stages = stages or min(2 * parts, room)
    if form == "parts" and stages < parts:
        raise ValueError(f"a row has {parts} parts, a ring of {stages} stages cannot hold it")
    if form != "packed":
        resident = ctas or _ring_ctas(form, stages * part * itemsize, warps + 1)
    width = PANEL if cols % PANEL == 0 and part > PANEL else part
    registers = None if form == "ring" else registers_beside((warps + 1) * resident)
    claim = 0 if form == "parts" else max(1, CLAIMED_BYTES // row_bytes)
    vector = min(part, VECTOR_BYTES // itemsize)
    threads = min(32 * warps, part // vector)
    return Plan(form, part, parts, width, stages, warps, resident, claim, threads, vector, registers)


def _ring_warps(form: str, row_bytes: int) -> int:
    """Warps that reduce what arrives by the copy engine."""
    if form == "packed":
        return max(1, min(row_bytes // (PACKED_THREAD_BYTES * 32), MOST_WARPS))
    return max(4, min(row_bytes // ((32 if form == "ring" else 64) * 32), MOST_WARPS))


def _ring_ctas(form: str, ring_bytes: int, warps: int) -> int:
    """CTAs of a multiprocessor, each with a ring and so many warps."""
    if form == "ring":
        return max(1, min(RING_BYTES // ring_bytes, RING_WARPS // warps))
    return max(1, min(4, PACKED_BYTES // ring_bytes, MULTIPROCESSOR_WARPS // warps))


def prepare(x: Any, out: Any, options: dict[str, Any]) -> tuple[Plan, int]:
    """The plan for two matrices, and how many CTAs share the rows.

    Raises:
        ValueError: They do not fit each other, or the copy engine cannot reach the rows of `x`.
    """
    check_same(x=x, out=out)
    rows, cols = x.shape
    row_stride(x)
    row_stride(out)
    plan = plan_rows(cols, x.itemsize, **options)
    if plan.form != "ahead" and not has_tensor_copies(x):
        raise ValueError(
            "TMA needs an address and a row stride that are multiples of 16 bytes; "
            f"rows of up to {AHEAD_ROW_BYTES} bytes do without it in the form 'ahead'"
        )
    return plan, persistent_ctas(x, rows, plan.ctas_per_multiprocessor)


_claims: dict[tuple[str, int, int], Any] = {}


def claims_for(x: Any) -> Any:
    """Two counts for launches on the current stream, of claims or of CTAs: zero, and zero again behind each of them."""
    stream = stream_of(x)
    claims = _claims.get(stream)
    if claims is None:
        claims = new_ints(x, 2, zero=True)
        # Memory made during capture belongs to the graph.
        if stream[0] != "numpy" and not is_capturing(stream[0]):
            _claims[stream] = claims
    return claims
