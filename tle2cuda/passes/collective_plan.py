"""How collective operations use registers, lanes, warps and scratch; shared by the scratch pass and the lowering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import BF16, BOOL, F16, F32, I32, I64, U8, U32, U64, DType, PointerType, TileType, dtype_of
from tle2cuda.layout import LANE_BITS, Layout, Trade, axis_unit, conversion, f2, flatten, reduction, trade
from tle2cuda.targets import parse_target

ConversionWay = Literal["none", "exchange", "shuffle", "shared"]


@dataclass(frozen=True, slots=True)
class AxisSplit:
    """Where the bits of one axis of a tile lie.

    Attributes:
        register_bits: Register bits that run along the axis.
        lane_bits: Lane bits that run along the axis.
        warp_bits: Warp bits that run along the axis.
        separable: True when no bit runs along the axis and another axis at once.
    """

    register_bits: tuple[int, ...]
    lane_bits: tuple[int, ...]
    warp_bits: tuple[int, ...]
    separable: bool

    @property
    def num_warps_along(self) -> int:
        return 1 << len(self.warp_bits)

    @property
    def lane_mask(self) -> int:
        return sum(1 << bit for bit in self.lane_bits)


def split_axis(layout: Layout, axis: int) -> AxisSplit:
    """Find the register, lane and warp bits along an axis."""
    mixed = False

    def along(images: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        nonlocal mixed
        bits = []
        for bit, image in enumerate(images):
            if image[axis]:
                bits.append(bit)
                mixed = mixed or any(c for i, c in enumerate(image) if i != axis)
        return tuple(bits)

    registers, lanes, warps = along(layout.registers), along(layout.lanes), along(layout.warps)
    return AxisSplit(registers, lanes, warps, not mixed)


def accumulator(kind: str, dtype: DType) -> DType:
    """Type in which a reduction or scan computes: float for narrow floats, rounded once at the end.

    Functions of the user see the type they were written for.
    """
    return F32 if dtype in (F16, BF16) and kind != "custom" else dtype


def stored(dtype: DType) -> DType:
    """Type in which elements lie in scratch: bool as bytes."""
    return U8 if dtype is BOOL else dtype


# ---- reductions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WarpExchange:
    """How partial results of a reduction go from warp to warp: slot[part * rest + element].

    Attributes:
        parts: Partial results of each element, a power of two.
        rest: Elements of the result.
        register_images: Slot index of each register bit of the result.
        thread_images: Slot index of each bit of the thread index.
        element_thread_images: Index of the element alone, for each bit of the thread index.
        idle_threads: Mask of the thread bits that only repeat what other threads hold: they do not write.
    """

    parts: int
    rest: int
    register_images: tuple[int, ...]
    thread_images: tuple[int, ...]
    element_thread_images: tuple[int, ...]
    idle_threads: int


def warp_exchange(layout: Layout, axis: int) -> WarpExchange | None:
    """Plan the exchange between warps of a reduction; None when the axis stays inside of warps."""
    plan = reduction(layout, axis)
    if not plan.warp_steps:
        return None
    result = plan.result
    num_registers = len(result.registers)
    # Everything happens in the space of (result register, lane, warp). `same` spans what leads to another copy of a
    # partial result, `steps` what leads to the other partial results of the same element.
    same = [step.register_xor | step.thread_xor << num_registers for step in plan.lane_steps]
    own = len(layout.registers)
    for copy in f2.kernel(layout.flat_images):
        register = f2.apply(plan.register_images, copy & ((1 << own) - 1))
        same.append(register | copy >> own << num_registers)
    same = list(f2.independent(same))
    steps = [step.register_xor | step.thread_xor << num_registers for step in plan.warp_steps]
    size = num_registers + LANE_BITS + len(layout.warps)
    known = (*same, *steps)
    coordinates = f2.inverse((*known, *f2.complete(known, f2.identity(size))))
    parts = [c >> len(same) & ((1 << len(steps)) - 1) for c in coordinates]
    elements = result.flat_images
    rest = result.num_elements
    slots = tuple(element | part * rest for element, part in zip(elements, parts, strict=True))
    basis = f2.EchelonBasis(slots[:num_registers])
    idle = sum(1 << bit for bit, slot in enumerate(slots[num_registers:]) if not basis.add(slot))
    return WarpExchange(1 << len(steps), rest, slots[:num_registers], slots[num_registers:], elements[num_registers:], idle)


# ---- scans ----------------------------------------------------------------------------------------------------------


def scan_slots(layout: Layout, axis: int) -> int:
    """Slots that a scan needs for the totals of warps; 0 when the axis stays inside of warps."""
    split = split_axis(layout, axis)
    if not split.warp_bits:
        return 0
    rounds = 1 << len(outer_register_bits(layout, axis))
    return rounds * split.num_warps_along * (layout.num_elements // layout.shape[axis])


def outer_register_bits(layout: Layout, axis: int) -> tuple[int, ...]:
    """Register bits behind the warps along an axis: a scan goes through the warps once for each of their values."""
    bits = layout.axis_bits(axis) or ()
    names = [name for name, _ in bits]
    if "warp" not in names:
        return ()
    behind = len(names) - names[::-1].index("warp")
    return tuple(bit for _, bit in bits[behind:])


_CUB_NAMES = {
    "i32": "BlockScan",
    "u32": "BlockScanUnsigned",
    "i64": "BlockScanLongLong",
    "u64": "BlockScanUnsignedLongLong",
    "fp32": "BlockScanFloat",
    "fp64": "BlockScanDouble",
}


def exclusive_sum_type(op: Op) -> DType:
    """Type in which an exclusive sum computes."""
    return accumulator("sum", dtype_of(op.operands[0].type))


def _takes_whole_cta(op: Op) -> bool:
    """Whether all threads of a CTA have items of their own, in the order of threads, and several warps do."""
    type_ = op.operands[0].type
    assert isinstance(type_, TileType) and type_.layout is not None
    return not (type_.layout.is_replicated or type_.layout.num_warps == 1 or op.attrs.get("in_partition"))


def sums_by_warp_reductions(op: Op, target: str) -> bool:
    """Whether an exclusive sum over a CTA adds the totals of warps by the integer reductions of a warp.

    That is two instructions on one value a lane, where CUB reads all totals in every thread and adds them one by one.
    """
    dtype = exclusive_sum_type(op)
    return _takes_whole_cta(op) and dtype in (I32, U32) and parse_target(target).has("redux")


def cub_scan(op: Op, target: str) -> str | None:
    """Name of the `cub::BlockScan` that an exclusive sum may use; None when it cannot, or something else is faster.

    CUB wants items of consecutive threads, each thread having some. It sums forwards only: for integers the backward sums
    follow from the forward ones, for floats the difference would lose what is small.
    """
    dtype = exclusive_sum_type(op)
    if not _takes_whole_cta(op) or sums_by_warp_reductions(op, target):
        return None
    if op.attrs.get("reverse") and dtype.is_floating():
        return None
    return _CUB_NAMES.get(dtype.short)


_TEMP_STORAGE_UNIT_BYTES = 32  # in which CUB allocates (measured with CCCL 2.8 and 3.0)


def exclusive_sum_slots(op: Op, num_warps: int, target: str) -> int:
    """Scratch elements of an exclusive sum: enough for one total per warp, and for `BlockScan::TempStorage`.

    With BLOCK_SCAN_WARP_SCANS the latter holds a byte and a total per warp, and one prefix more. None when the tile stays
    inside of warps.
    """
    type_ = op.operands[0].type
    assert isinstance(type_, TileType) and type_.layout is not None
    if not split_axis(type_.layout, 0).warp_bits:
        return 0
    size = exclusive_sum_type(op).bytes
    if cub_scan(op, target) is None:
        return num_warps
    needed = -(-num_warps // size) * size + (num_warps + 1) * size
    return -(-needed // _TEMP_STORAGE_UNIT_BYTES) * _TEMP_STORAGE_UNIT_BYTES // size


# ---- reversed axes --------------------------------------------------------------------------------------------------


def flip_in_warp(layout: Layout, axis: int) -> tuple[int, int] | None:
    """What to XOR to the register and to the lane to get to the mirrored element; None when it lies in other warps."""
    mirrored = flatten(axis_unit(layout.shape, axis, layout.shape[axis] - 1), layout.shape)
    found = f2.solve(layout.flat_registers, mirrored)
    if found is None:
        found = f2.solve(layout.flat_registers + layout.flat_lanes, mirrored)
    if found is None:
        return None
    registers = len(layout.registers)
    return found & ((1 << registers) - 1), found >> registers


# ---- sorting -----------------------------------------------------------------------------------------------------------

_MOST_EXCHANGED_BYTES = 32 << 10  # of shared memory for one exchange between warps and the next


def sort_key(dtype: DType) -> DType:
    """The integers that elements are sorted as: 32 or 64 bits, in the order of the elements."""
    if dtype.bits <= 32:
        return U32 if dtype is U32 else I32
    return U64 if dtype is U64 else I64


def sort_chunk(op: Op) -> int:
    """Keys of each thread that go through shared memory at a time; 0 when rows stay inside of warps."""
    source, target = op.operands[0].type, op.results[0].type
    assert isinstance(source, TileType) and isinstance(target, TileType) and source.layout is not None
    layout, axis = source.layout, op.attrs["axis"]
    split = split_axis(layout, axis)
    if not split.warp_bits:
        return 0
    rest = 1 << len(layout.registers) - len(split.register_bits)
    chunk: int = rest * min(1 << len(split.register_bits), target.shape[axis])
    while 2 * chunk * layout.num_threads * sort_key(dtype_of(source)).bytes > _MOST_EXCHANGED_BYTES and chunk > 1:
        chunk //= 2
    return chunk


# ---- gathers -----------------------------------------------------------------------------------------------------------

_MOST_SHUFFLES = 4  # for each element; shared memory takes one write for each of the source's, and one read


@dataclass(frozen=True, slots=True)
class GatherSteps:
    """Where a gather by shuffles finds its elements.

    Attributes:
        lane_images: Source lane of each bit of the place along the axis.
        register_images: Number of the choice among registers of each bit of that place.
        axis_registers: Source registers of each bit of that number.
        other_registers: Source register of each register bit of the result.
        own_lanes: Source lane of each bit of the thread index.
    """

    lane_images: tuple[int, ...]
    register_images: tuple[int, ...]
    axis_registers: tuple[int, ...]
    other_registers: tuple[int, ...]
    own_lanes: tuple[int, ...]


def gather_source(target: Layout, axis: int, shape: tuple[int, ...]) -> Layout | None:
    """The layout in which each warp holds all that its part of the result may want; None for mixed layouts.

    Beside the axis the source lies as the result does. The axis takes the lanes that the result uses for it or leaves
    idle, then registers.
    """
    if not split_axis(target, axis).separable:
        return None
    nothing = (0,) * len(shape)
    bits = [axis_unit(shape, axis, 1 << bit) for bit in range(shape[axis].bit_length() - 1)]
    lanes = []
    for image in target.lanes:
        free = not any(x for d, x in enumerate(image) if d != axis)
        lanes.append((bits.pop(0) if bits else nothing) if free else image)
    registers = [image for image in target.registers if not image[axis]]
    warps = tuple(nothing if image[axis] else image for image in target.warps)
    return Layout(shape, (*bits, *registers), tuple(lanes), warps).drop_replicated_registers()


def gather_in_warp(source: Layout, target: Layout, axis: int) -> GatherSteps | None:
    """How to gather by a few shuffles; None when elements must go through shared memory."""
    places = source.axis_bits(axis)
    if places is None or any(name == "warp" for name, _ in places) or not split_axis(target, axis).separable:
        return None
    if sum(name == "register" for name, _ in places) > _MOST_SHUFFLES.bit_length() - 1:
        return None

    def beside(images: Sequence[tuple[int, ...]]) -> list[int]:
        """Where images lead beside the axis, as row-major indices in the source."""
        return [flatten((*image[:axis], 0, *image[axis + 1 :]), source.shape) for image in images]

    if beside((*source.lanes, *source.warps)) != beside((*target.lanes, *target.warps)):
        return None
    registers = f2.EchelonBasis(beside(source.registers))
    others = [registers.solve(image) for image in beside(target.registers)]
    if None in others:
        return None
    numbers = iter(range(len(places)))
    along = {bit for name, bit in places if name == "lane"}
    own = [0 if bit in along or not any(image) else 1 << bit for bit, image in enumerate(source.lanes)]
    return GatherSteps(
        lane_images=tuple(1 << bit if name == "lane" else 0 for name, bit in places),
        register_images=tuple(1 << next(numbers) if name == "register" else 0 for name, _ in places),
        axis_registers=tuple(1 << bit for name, bit in places if name == "register"),
        other_registers=tuple(register for register in others if register is not None),
        own_lanes=(*own, *(0 for _ in source.warps)),
    )


# ---- conversions ----------------------------------------------------------------------------------------------------


def element_bytes(type_: TileType) -> int:
    """Bytes of one element in registers and scratch; pointers take 8."""
    return 8 if isinstance(type_.element, PointerType) else type_.element.bytes


def conversion_way(source: TileType, target: TileType) -> ConversionWay:
    """How a tile gets from one layout to another: not at all, by exchanges or other shuffles, or through shared memory."""
    assert source.layout is not None and target.layout is not None
    plan = conversion(source.layout, target.layout)
    if plan.kind in ("identity", "registers"):
        return "none"
    size = element_bytes(source)
    if plan.kind == "shuffle":
        through_shared, by_shuffles = plan.shared_cost(size), plan.shuffle_cost(size)
        traded = trade_of(source, target)
        if traded is not None and traded.cost(size) <= min(through_shared, by_shuffles):
            return "exchange"
        if by_shuffles <= through_shared:
            return "shuffle"
    return "shared"


def trade_of(source: TileType, target: TileType) -> Trade | None:
    """How lanes trade registers to get from one layout of a tile to another."""
    assert source.layout is not None and target.layout is not None
    if isinstance(source.element, PointerType) or source.element is BOOL:
        return None
    return trade(source.layout, target.layout, element_bytes(source))
