"""Conversions: moving a tile from one distributed layout to another, by the cheapest means.

The map C takes a slot of the target layout, (register, lane, warp), to a slot of the source layout that holds
the same element. Each column of C may be changed by any replication of the source, and is chosen as near to
the identity as possible: first the same thread, then the same warp, then any. What C looks like says what the
conversion costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from . import f2
from .distributed import LANE_BITS, Layout
from .errors import LayoutError
from .expressions import THREAD, IndexExpression, format_xor, linear_terms
from .shared import BANK_BYTES, SharedLayout, access_phases
from .shared_choice import shared_offset_map

ConversionKind = Literal["identity", "registers", "shuffle", "shared"]

_LANES = (1 << LANE_BITS) - 1

# Costs in half cycles of an SM, for choosing only. Per cycle an SM shuffles 32 values and moves 128 bytes to
# or from shared memory (CUDA programming guide, arithmetic instruction throughput), so a shuffle costs what a
# phase does.
# The two barriers around a trip through shared memory cost latency rather than throughput: an estimate.
_SHUFFLE_COST = 2
_PHASE_COST = 2
_SELECT_COST = 1
_BARRIERS_COST = 60


@dataclass(frozen=True, slots=True)
class ThreadMap:
    """An affine function of the thread over F2.

    Its value is `constant` XOR the `images[bit]` of all set bits of the thread index. Bits 0..4 of the
    thread index are the lane, those above the warp.
    """

    constant: int
    images: tuple[int, ...]

    @property
    def is_constant(self) -> bool:
        """Whether it is the same for all threads."""
        return not any(self.images)

    def __call__(self, thread: int) -> int:
        """Return the value for one thread."""
        return self.constant ^ f2.apply(self.images, thread)

    @property
    def linear(self) -> IndexExpression:
        """The part that depends on the thread, to be XORed with `constant`."""
        return linear_terms([(THREAD, self.images)])

    def format(self, names: Mapping[str, str] | None = None) -> str:
        """Return the C text of the function, of `threadIdx.x` unless `names` spells 'thread' otherwise."""
        return format_xor(self.linear, self.constant, names)


@dataclass(frozen=True, slots=True)
class ShuffleRound:
    """One exchange between the lanes of each warp; every lane takes part.

    A lane offers its source register `send(thread)`, and receives what lane `source_lane(thread)` offers into
    its target register `receive(thread)`, provided `guard(thread) == 0`. Where a map is not constant it is
    emitted as a selection between registers by the lane's bits.

    Attributes:
        send: Source register offered, as a function of the offering thread.
        source_lane: Lane read from, as a function of the receiving thread.
        receive: Target register written, as a function of the receiving thread.
        guard: When not None, only threads for which it is zero keep the value.
    """

    send: ThreadMap
    source_lane: ThreadMap
    receive: ThreadMap
    guard: ThreadMap | None = None

    @property
    def lane_xor(self) -> int | None:
        """The mask m when the source lane is `lane ^ m` (no exchange at all when 0), else None."""
        if all(image == (1 << bit) & _LANES for bit, image in enumerate(self.source_lane.images)):
            return self.source_lane.constant
        return None


@dataclass(frozen=True, slots=True)
class Conversion:
    """How to get from one layout of a tile to another.

    Attributes:
        source: The layout that is there.
        target: The layout that is wanted.
        kind: 'identity': nothing to do. 'registers': each thread renames its registers (`register_of`).
            'shuffle': exchanges within each warp (`rounds`). 'shared': through shared memory (`offset_map`).
        register_images: For each target bit (registers, lanes, warps), the source register bits of C.
        lane_images: The same for the source lane.
        warp_images: The same for the source warp.
    """

    source: Layout
    target: Layout
    kind: ConversionKind
    register_images: tuple[int, ...]
    lane_images: tuple[int, ...]
    warp_images: tuple[int, ...]

    def source_slot(self, register: int, lane: int, warp: int) -> tuple[int, int, int]:
        """Return the source (register, lane, warp) that holds the element of a target slot."""
        bits = len(self.target.registers)
        slot = register | lane << bits | warp << bits + LANE_BITS
        return (
            f2.apply(self.register_images, slot),
            f2.apply(self.lane_images, slot),
            f2.apply(self.warp_images, slot),
        )

    def register_of(self, register: int) -> int:
        """Return the source register that a target register is, for kinds 'identity' and 'registers'."""
        if self.kind not in ("identity", "registers"):
            raise LayoutError(f"a conversion by {self.kind} does not rename registers")
        return f2.apply(self.register_images, register)

    @property
    def rounds(self) -> tuple[ShuffleRound, ...]:
        """The plan of a conversion of kind 'shuffle'."""
        if self.kind != "shuffle":
            raise LayoutError(f"a conversion by {self.kind} has no shuffles")
        return plan_shuffles(self)

    def offset_map(self, element_bytes: int) -> SharedLayout:
        """Return the shared-memory layout to go through; any kind of conversion may be made so."""
        return shared_offset_map(self.source, self.target, element_bytes)

    @property
    def num_shuffles(self) -> int:
        """Exchanges between lanes, for kind 'shuffle'; 0 for what is free."""
        if self.kind in ("identity", "registers"):
            return 0
        return sum(step.lane_xor != 0 for step in self.rounds)

    def cost(self, element_bytes: int) -> int:
        """Return a rough cost per warp, to compare ways and layouts; 0 for what is free.

        Where both ways are open it is that of the cheaper one: compare `shuffle_cost` and `shared_cost`.
        """
        if self.kind in ("identity", "registers"):
            return 0
        through_shared = self.shared_cost(element_bytes)
        return min(through_shared, self.shuffle_cost(element_bytes)) if self.kind == "shuffle" else through_shared

    def shuffle_cost(self, element_bytes: int) -> int:
        """Return the cost of the shuffle plan per warp: a shuffle moves up to 4 bytes of each lane."""
        words = max(1, element_bytes // BANK_BYTES)
        return words * (_SHUFFLE_COST * self.num_shuffles + _SELECT_COST * self.num_selects)

    def shared_cost(self, element_bytes: int) -> int:
        """Return the cost of going through shared memory per warp."""
        offset_map = self.offset_map(element_bytes)
        phases = sum(access_phases(layout, offset_map) for layout in (self.source, self.target))
        return _PHASE_COST * phases + _BARRIERS_COST

    @property
    def num_selects(self) -> int:
        """Selections between two registers that the shuffle plan needs besides its exchanges."""
        if self.kind in ("identity", "registers"):
            return 0
        maps = [selector for step in self.rounds for selector in (step.send, step.receive)]
        guards = sum(step.guard is not None for step in self.rounds)
        return guards + sum((1 << f2.rank(selector.images)) - 1 for selector in maps)


def conversion(source: Layout, target: Layout) -> Conversion:
    """Return the cheapest way from one layout of a tile to another.

    Raises:
        LayoutError: the layouts are not of one shape and one number of warps.
    """
    if source.shape != target.shape or source.num_warps != target.num_warps:
        raise LayoutError(
            f"no conversion from {source.shape} on {source.num_warps} warps to {target.shape} on {target.num_warps} warps"
        )
    solver = _ColumnSolver(source)
    columns = [
        *(solver.register_column(image, bit) for bit, image in enumerate(target.flat_registers)),
        *(solver.thread_column(image, bit) for bit, image in enumerate(target.flat_threads)),
    ]
    num_registers = len(source.registers)
    registers = tuple(column & ((1 << num_registers) - 1) for column in columns)
    lanes = tuple(column >> num_registers & _LANES for column in columns)
    warps = tuple(column >> num_registers >> LANE_BITS for column in columns)
    kind = _kind(source, target, registers, lanes, warps)
    return Conversion(source, target, kind, registers, lanes, warps)


class _ColumnSolver:
    """Finds, for the image of a target bit, the nearest combination of source bits that has it."""

    def __init__(self, source: Layout) -> None:
        self.source = source
        self.num_registers = len(source.registers)
        self.registers = f2.EchelonBasis(source.flat_registers)
        self.in_warp = f2.EchelonBasis(source.flat_registers + source.flat_lanes)
        self.anywhere = f2.EchelonBasis(source.flat_images)

    def register_column(self, target: int, bit: int) -> int:
        """Return source bits that sum to `target`: the same register, else registers, else the same warp."""
        images = self.source.flat_registers
        if bit < len(images) and images[bit] == target:
            return 1 << bit
        if (found := self.registers.solve(target)) is not None:
            return found
        return self._elsewhere(target)

    def thread_column(self, target: int, bit: int) -> int:
        """Return source bits that sum to `target`: the same thread bit and registers, else the same warp."""
        own = 1 << (self.num_registers + bit)
        remaining = target ^ self.source.flat_threads[bit]
        if (found := self.registers.solve(remaining)) is not None:
            return own ^ found
        # A lane bit need not be part of its own column, reading from fewer lanes is as good; a warp bit must.
        if bit >= LANE_BITS and (found := self.in_warp.solve(remaining)) is not None:
            return own ^ found
        return self._elsewhere(target)

    def _elsewhere(self, target: int) -> int:
        if (found := self.in_warp.solve(target)) is not None:
            return found
        found = self.anywhere.solve(target)
        assert found is not None, "layouts are onto their tile"
        return found


def _kind(
    source: Layout, target: Layout, registers: Sequence[int], lanes: Sequence[int], warps: Sequence[int]
) -> ConversionKind:
    own = len(target.registers)
    same_warp = [0] * (own + LANE_BITS) + [1 << bit for bit in range(len(source.warps))]
    if list(warps) != same_warp:
        return "shared"
    same_lane = [0] * own + [1 << bit for bit in range(LANE_BITS)] + [0] * len(source.warps)
    if list(lanes) != same_lane or any(registers[own:]):
        return "shuffle"
    if own == len(source.registers) and tuple(registers[:own]) == f2.identity(own):
        return "identity"
    return "registers"


def plan_shuffles(change: Conversion) -> tuple[ShuffleRound, ...]:
    """Return the exchanges that make a conversion within warps.

    With C's parts P, Q (source register from target register, from lane) and A, B (source lane from
    them), in round rho each lane fetches its target register `rho ^ T lane`, from lane `A rho ^ (B ^ A
    T) lane`. T is chosen so that what the offering lane must send is a function of that lane alone;
    then one exchange per target register is enough. Copies in the source give more freedom: they count
    as target registers that T may reach but no round runs over. Where no T does (replicated targets can
    ask one lane for several registers), a register takes several guarded rounds.
    """
    own = len(change.target.registers)
    lanes = slice(own, own + LANE_BITS)
    after = slice(own + LANE_BITS, None)
    p, q, r = change.register_images[:own], change.register_images[lanes], change.register_images[after]
    a, b, d = change.lane_images[:own], change.lane_images[lanes], change.lane_images[after]

    source_bits = len(change.source.registers)
    copies = f2.kernel(change.source.flat_registers + change.source.flat_lanes)
    p_wide = (*(copy & ((1 << source_bits) - 1) for copy in copies), *p)
    a_wide = (*(copy >> source_bits for copy in copies), *a)

    for t in _target_shifts(a_wide, b):
        q_t = tuple(image ^ f2.apply(p_wide, shift) for image, shift in zip(q, t, strict=True))
        b_t = tuple(image ^ f2.apply(a_wide, shift) for image, shift in zip(b, t, strict=True))
        g = f2.factor(q_t, b_t, LANE_BITS)
        if g is None:
            continue
        by_warp = tuple(image ^ f2.apply(g, shift) for image, shift in zip(r, d, strict=True))
        received = (*(shift >> len(copies) for shift in t), *(0 for _ in d))
        rounds = []
        for rho in range(change.target.num_registers):
            lane_constant = f2.apply(a, rho)
            send = ThreadMap(f2.apply(p, rho) ^ f2.apply(g, lane_constant), (*g, *by_warp))
            rounds.append(ShuffleRound(send, ThreadMap(lane_constant, (*b_t, *d)), ThreadMap(rho, received)))
        return tuple(rounds)
    return _guarded_rounds(change.target.num_registers, (p, q, r), (a, b, d))


def _target_shifts(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the T to try: none first, then one that makes B + A T as nearly invertible as it can be."""
    shifts = [(0,) * LANE_BITS]
    null = f2.kernel(b)
    reached = f2.EchelonBasis(b)
    useful = [1 << bit for bit, image in enumerate(a) if reached.add(image)][: len(null)]
    if useful:
        # T sends the vectors that B loses to what reaches the missing lanes, all others to zero.
        rest = f2.complete(null, f2.identity(LANE_BITS))
        values = (*useful, *(0 for _ in range(LANE_BITS - len(useful))))
        shifts.append(f2.compose(values, f2.inverse((*null, *rest))))
    return shifts


def _guarded_rounds(
    num_registers: int, register_part: tuple[Sequence[int], ...], lane_part: tuple[Sequence[int], ...]
) -> tuple[ShuffleRound, ...]:
    """Return a plan in which each round sends one register, kept only by the lanes that want it."""
    p, q, r = register_part
    a, b, d = lane_part
    nothing = (0,) * (len(q) + len(r))
    wanted = (*q, *r)
    variants = f2.independent(wanted)
    rounds = []
    for register in range(num_registers):
        base = f2.apply(p, register)
        for choice in range(1 << len(variants)):
            sent = base ^ f2.apply(variants, choice)
            guard = ThreadMap(base ^ sent, wanted) if variants else None
            rounds.append(
                ShuffleRound(
                    ThreadMap(sent, nothing),
                    ThreadMap(f2.apply(a, register), (*b, *d)),
                    ThreadMap(register, nothing),
                    guard,
                )
            )
    return tuple(rounds)
