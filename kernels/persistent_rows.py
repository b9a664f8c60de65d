"""Rows of a matrix through a ring in shared memory: what persistent kernels on rows share.

A CTA stays on its multiprocessor and takes every so many-th row. One warp asks the copy engine for rows, in parts of at
most 16 KiB, as far ahead as the ring has room; the others reduce the row that has arrived.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import tle2cuda
import tle2cuda.language as tl
from kernels.matrices import check_same, has_tensor_copies, persistent_ctas, power_of_two, row_stride
from tle2cuda.language import tle

PART_BYTES = 16384
REGISTER_FILE = 65536
FEW_REGISTERS = 48  # that a thread needs for 64 bytes of a row
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
def load_part(slot, PART: tl.constexpr):
    return tl.load(tle.gpu.local_ptr(slot.part.reshape([PART])))


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How rows are cut and spread.

    Attributes:
        part: Elements of a part, a power of two.
        parts: Parts of a row.
        width: Width of the engine's boxes.
        stages: Parts that the ring holds.
        num_warps: Warps that reduce.
        ctas_per_multiprocessor: How many are resident at once.
        max_registers: Of a thread, so that they are.
    """

    part: int
    parts: int
    width: int
    stages: int
    num_warps: int
    ctas_per_multiprocessor: int
    max_registers: int

    def constants(self) -> dict[str, int]:
        """The kernels' constexpr parameters."""
        return {"PART": self.part, "PARTS": self.parts, "WIDTH": self.width, "STAGES": self.stages}

    def options(self) -> dict[str, int]:
        """How they are launched."""
        return {"num_warps": self.num_warps, "maxnreg": self.max_registers}


def plan_rows(
    cols: int, itemsize: int, *, stages: int | None = None, num_warps: int | None = None, ctas: int | None = None
) -> Plan:
    """A plan for rows of `cols` elements; what is given stays as given.

    Args:
        cols: Elements of a row.
        itemsize: Bytes of one.
        stages: Parts that the ring holds. Left out: twice a row, as far as there is room.
        num_warps: Warps that reduce. Left out: 64 bytes of a row for each thread, 16 warps at most.
        ctas: CTAs of a multiprocessor. Left out: as many as have room in half of its shared memory and in its registers.

    Raises:
        ValueError: A row does not fit into shared memory beside a part of the next one.
    """
    part = max(min(power_of_two(cols), PART_BYTES // itemsize), 16 // itemsize)
    parts = -(-cols // part)
    room = RING_BYTES // (part * itemsize)
    if parts >= room:
        raise ValueError(f"rows of {cols * itemsize} bytes do not fit into shared memory, {RING_BYTES} bytes")
    stages = stages or min(2 * parts, room)
    if stages < parts:
        raise ValueError(f"a row has {parts} parts, a ring of {stages} stages cannot hold it")
    warps = num_warps or max(1, min(power_of_two(cols) * itemsize // (64 * 32), 16))
    ring_bytes = stages * part * itemsize
    threads = 32 * (warps + 1)
    resident = ctas or max(1, min(REGISTER_FILE // (threads * FEW_REGISTERS), 128 * 1024 // ring_bytes, 32))
    registers = min(REGISTER_FILE // (threads * resident) // 8 * 8, 255)
    width = PANEL if cols % PANEL == 0 and part > PANEL else part
    return Plan(part, parts, width, stages, warps, resident, registers)


def prepare(x: Any, out: Any, options: dict[str, int | None]) -> tuple[Plan, int]:
    """The plan for two matrices, and how many CTAs share the rows.

    Raises:
        ValueError: They do not fit each other, or the copy engine cannot reach the rows of `x`.
    """
    check_same(x=x, out=out)
    rows, cols = x.shape
    row_stride(out)
    if not has_tensor_copies(x):
        raise ValueError("TMA needs an address and a row stride that are multiples of 16 bytes")
    plan = plan_rows(cols, x.itemsize, **options)
    return plan, persistent_ctas(x, rows, plan.ctas_per_multiprocessor)
