"""Which loads of which loops go through a ring of stages, so that they are in flight while earlier iterations compute.

A loop asks for stages itself, `tl.range(..., num_stages=n)`; one that does not gets the kernel's number for the loads that
feed its matrix products. A load qualifies when it may be made iterations earlier than it stands:

- it reads a tile of global memory that nothing in the kernel writes, and the loop has nothing that orders its accesses
  against other threads' (barriers, acquiring atomics, polling);
- its addresses and its mask are arithmetic on values from in front of the loop, the loop's counter and carried values
  that are themselves such arithmetic, branches among them, and on integers that the loop loads by addresses of that kind
  (indices, which are loaded iterations earlier still): not on what the loop computes from tiles;
- it reads 4 bytes or more at a time, as `cp.async` does (what is masked off becomes 0 in the ring, and what it shall be
  when the stage is read); or it is a box of a tensor, which the copy engine brings.

Loops that ask for stages by `tl.range` and have none, or not for all tiles that they load, say so in the emitted file's
header, and why. So do loops that the kernel's number is for, of what feeds their products; where that number is not the
one that every kernel has, of all else that they load, too.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.analysis.addresses_ahead import MORE_THAN_ARITHMETIC, SUMMED_UP, Closure
from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.analysis.chained_products import Chained, chained_products
from tle2cuda.analysis.tasks import walk_task
from tle2cuda.ir.classify import ELEMENTWISE, SHAPE, is_tile
from tle2cuda.ir.constants import is_zero
from tle2cuda.ir.effects import READ, Roots, effects, is_barrier
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.types import GLOBAL, I32, I64, DType, PointerType, TileType, dtype_of, element_of, shape_of
from tle2cuda.layout.shared import SWIZZLE_BYTES
from tle2cuda.passes.async_copies import CACHES, Chunks
from tle2cuda.passes.products import instruction_name
from tle2cuda.passes.tensor_tiles import described_by
from tle2cuda.targets import DEFAULT_STAGES, WARP_THREADS, parse_target

_HANDED_THROUGH = SHAPE | frozenset(("cast", "bitcast", "hint"))
_WAITING = frozenset(
    "mbarrier_wait mbarrier_arrive named_barrier pipe_acquire pipe_commit pipe_close pipe_wait pipe_release tma_load "
    "tma_store cp_async cp_async_commit cp_async_wait warp_specialize grid_dependency print assert".split()
)
"""Operations that no pipelined loop has: what orders memory, and copies of the user's own."""

_HALF_BITS = 16
_ENOUGH_CTAS = 3  # of a multiprocessor, to hide what one of them waits for
_BY_DESCRIPTORS = ("wgmma", "tcgen05")  # instructions that read operands from shared memory while threads go on
_LEAST_OVERLAPPING_STAGES = 3  # of a ring whose product is in flight beside the next one
FEEDS_NO_PRODUCT = "the option `num_stages` is for what feeds products, that of `tl.range` for all"
_ACQUIRING = frozenset(("acquire", "acq_rel"))


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A load that goes through a ring.

    Attributes:
        load: The load.
        order: Its axes in the order in which the ring stores them: the contiguous one last.
        note: The tensor that it is a box of, where the copy engine brings it (`tle2cuda.passes.tensor_tiles`).
    """

    load: Op
    order: tuple[int, ...]
    note: Op | None = None

    @property
    def addresses(self) -> tuple[Value, ...]:
        """What a copy needs: pointers and mask, or base, extents, strides and offsets."""
        if self.note is not None:
            return described_by(self.note)
        return self.load.operands[: 2 if self.load.attrs.get("has_mask") else 1]

    @property
    def is_turned(self) -> bool:
        """Whether the ring holds the tile transposed."""
        return self.order != tuple(range(len(self.order)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of a stage."""
        type_ = self.load.result.type
        assert isinstance(type_, TileType)
        return tuple(type_.shape[axis] for axis in self.order)

    @property
    def size_bytes(self) -> int:
        """Bytes of a stage."""
        type_ = self.load.result.type
        assert isinstance(type_, TileType) and isinstance(type_.element, DType)
        return type_.num_elements * type_.element.bytes


@dataclass(frozen=True, slots=True, eq=False)
class Pipelined:
    """A loop that gets a ring.

    Attributes:
        loop: The loop.
        stages: Iterations whose loads are in flight or in use.
        capacity: Stages of the ring: one more where a product is in flight beside the next one and memory allows it.
        overlapped: That product.
        chained: Two products, one of which is in flight beside the other one of the next iteration.
        holder: A product that may issue the copies while it multiplies.
        loads: The loads that go through it.
        slice: Operations of the body from which their addresses and masks follow.
        carried: Numbers of the carried values that these need, in order.
        carried_early: Those of them that addresses of indices need.
        ranked: Loads of the body on whose integers these depend (indices), each with how many of them its own address
            depends on one after another, in order.
        bounds: What is known of where the loop's counter starts, and of where it ends.
        step: By how much it counts up, or down where this is negative; 0 when it counts up by a number known at run time.
        moves_on: Whether such a number is surely not 0.
        has_warpgroups: Whether products by `wgmma` or `tcgen05.mma` overlap the copies: a branch around these would only
            cost time.
        asked: The stages that were asked for, or as many as there are iterations.
        follows_stores: Whether what the copy engine brings may have been stored in front of the loop.
        is_filled_behind: Whether copies stand behind `overlapped`, into the stage that the product before it has read. It
            has done so behind the wait for it, without a barrier: one warpgroup waits for all of a product.
    """

    loop: Op
    stages: int
    capacity: int
    overlapped: Op | None
    chained: Chained | None
    holder: Op | None
    loads: tuple[Staged, ...]
    slice: frozenset[Op]
    carried: tuple[int, ...]
    carried_early: tuple[int, ...]
    ranked: tuple[tuple[Op, int], ...]
    bounds: tuple[AxisInfo, AxisInfo]
    step: int
    moves_on: bool
    has_warpgroups: bool
    asked: int = 0
    follows_stores: bool = False
    is_filled_behind: bool = False

    @property
    def depth(self) -> int:
        """Iterations by which the first of its indices are loaded ahead of copies."""
        return max((rank + 1 for _, rank in self.ranked), default=0)

    @property
    def has_barriers(self) -> bool:
        """Whether the copy engine fills the ring, which tells by mbarriers what has landed."""
        return any(staged.note is not None for staged in self.loads)

    @property
    def is_filled_by_engine(self) -> bool:
        """Whether the copy engine alone fills the ring."""
        return all(staged.note is not None for staged in self.loads)

    @property
    def ring_bytes(self) -> int:
        """Bytes of the ring."""
        return self.capacity * sum(staged.size_bytes for staged in self.loads)


def pipelined_loops(
    kernel: Kernel,
    most_stages: int,
    notes: Mapping[Value, Op],
    undivided: Collection[Op] = (),
    unstaged: dict[Op, tuple[str, ...]] | None = None,
) -> dict[Op, Pipelined]:
    """The loops that get rings.

    Args:
        kernel: The kernel.
        most_stages: Of each ring.
        notes: Tensors of which loaded tiles are boxes that the copy engine could bring.
        undivided: Loops of which no partition fills rings, although they or loops in them ask for one.
        unstaged: Receives what loops that ask for stages load without, and why.
    """
    if not any(op.name == "for" for op in walk(kernel.body)):
        return {}
    obstacle = _obstacle(kernel, most_stages)
    finder = _Finder(kernel, 2 if obstacle else most_stages, notes, undivided)
    found = finder.found()
    if unstaged is not None:
        for plan in found if obstacle else ():
            finder.unstaged[plan.loop] = [f"has no stages: {obstacle}"]
        unstaged.update({loop: tuple(dict.fromkeys(texts)) for loop, texts in finder.unstaged.items() if texts})
    return {} if obstacle else {plan.loop: plan for plan in found}


def _obstacle(kernel: Kernel, most_stages: int) -> str:
    """Why no loop of a kernel has stages, whatever it loads; empty where loops may have some."""
    if not parse_target(kernel.target).has("cp_async"):
        return f"{kernel.target} has no asynchronous copies"
    return "not even two fit into shared memory" if most_stages < 2 else ""


def _is_tile_of_memory(load: Op) -> bool:
    pointer = element_of(load.operands[0].type)
    is_global = isinstance(pointer, PointerType) and pointer.space == GLOBAL
    return is_global and isinstance(load.result.type, TileType)


class _Finder:
    def __init__(self, kernel: Kernel, most_stages: int, notes: Mapping[Value, Op], undivided: Collection[Op]) -> None:
        self.kernel = kernel
        self.undivided = {inner for site in undivided for inner in (site, *(op for r in site.regions for op in walk(r)))}
        self.notes = notes
        self.most_stages = most_stages
        self.roots = Roots(kernel)
        self.definitions = definitions(kernel.body)
        self.uses = uses_of(kernel.body)
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel)
        self.chunks = Chunks(kernel, self.info)
        self.written = self._written(kernel.body)
        self.unstaged: dict[Op, list[str]] = {}  # what is said of loops that ask for stages

    def found(self) -> list[Pipelined]:
        """Plans for all loops that hold no other loop that is pipelined."""
        plans: list[Pipelined] = []
        self._visit(self.kernel.body, plans)
        return plans

    def _visit(self, region: Region, plans: list[Pipelined]) -> bool:
        """Look through a region; whether a loop inside was planned."""
        has_any = False
        for op in region.ops:
            inside = [self._visit(inner, plans) for inner in op.regions if op.name != "fused"]
            if op.name == "for" and any(inside):
                if op.attrs.get("num_stages"):
                    self._say(op, "has no stages: a loop in it has")
            elif op.name == "for" and (plan := self._plan(op)) is not None:
                plans.append(plan)
                inside.append(True)
            has_any = has_any or any(inside)
        return has_any

    def _plan(self, loop: Op) -> Pipelined | None:
        asked = loop.attrs.get("num_stages")
        wished = min(asked or self.kernel.num_stages, self._most_iterations(loop))
        stages = min(wished, self.most_stages)
        if stages < 2:
            return None
        fed = None if asked else self._feeding(loop)
        step = self._step(loop)
        if step is None:
            self._say(loop, "has no stages: its counter is no int32, and no int64 that moves by a constant")
            return None
        if not self._may_be_reordered(loop):
            self._say(loop, "has no stages: something in it orders memory, waits, or may do so")
            return None
        written = self.written
        inside = self._written(loop.regions[0]) if not self._is_divided(loop) else written
        closure = Closure(loop, self.definitions, self._is_index)
        loads: list[Staged] = []
        own = set(loop.regions[0].body)
        for op in walk(loop.regions[0]):
            if op.name != "load":
                continue
            if (reason := self._no_candidate(op, own, fed)) is not None:
                self._say_of_load(loop, op, reason)
                continue
            staged = self._staged(op, inside if op.result in self.notes else written)
            if isinstance(staged, str):
                self._say_of_load(loop, op, staged)
            elif reason := closure.add(staged.addresses):
                self._say_of_load(loop, op, reason)
            else:
                loads.append(staged)
        if not loads:
            return None
        by_engine = any(staged.note is not None for staged in loads)
        is_mixed = by_engine and any(staged.note is None for staged in loads)
        as_it_lies = {staged.load for staged in loads if not self._is_chosen_from(staged)}  # as it comes to the ring
        overlapped = self._overlapped(loop, as_it_lies)
        extra, is_filled_behind = 0, False
        if overlapped is not None:
            has_room = self._has_room(stages, sum(staged.size_bytes for staged in loads))
            is_filled_behind = not has_room and not by_engine and self._frees_at_wait(overlapped, loads)
            extra, overlapped = int(has_room), overlapped if has_room or by_engine or is_filled_behind else None
        capacity = min(stages + extra, self.most_stages)
        bounds = (self.info[loop.operands[0]], self.info[loop.operands[1]])
        return Pipelined(
            loop,
            # A stage that the engine fills is free as soon as the product in flight is the one behind it.
            capacity if by_engine else capacity - extra,
            capacity,
            overlapped,
            None
            if is_mixed or closure.ranks or len(as_it_lies) < len(loads) or not step
            else self._chained(loop, [staged.load for staged in loads]),
            None if by_engine or overlapped is not None else self._holder(loop),
            tuple(loads),
            frozenset(closure.ops),
            closure.carried,
            closure.carried_early,
            tuple((op, closure.ranks[op]) for op in loop.regions[0].body if op in closure.ranks),
            bounds,
            step,
            (self.info[loop.operands[2]].lo or 0) > 0,
            any(self._is_by(_BY_DESCRIPTORS, op) for op in loop.regions[0].body if op.name == "dot"),
            wished,
            any(self._may_be_stored(staged) for staged in loads),
            is_filled_behind,
        )

    def _is_chosen_from(self, staged: Staged) -> bool:
        """Whether what is masked off is something else than the 0 that it is in the ring."""
        load = staged.load
        has_other = staged.note is None and bool(load.attrs.get("has_other"))
        return has_other and not is_zero(self.definitions, load.operands[2])

    def _say(self, loop: Op, text: str) -> None:
        """Note something of a loop that asks for stages, or of one with products for which the kernel does."""
        asked = loop.attrs.get("num_stages")
        inside = set(walk(loop.regions[0]))
        if asked >= 2 if asked else any(op in inside and _is_tile_of_memory(op) for op in self._feeding(loop)):
            self.unstaged.setdefault(loop, []).append(text)

    def _say_of_load(self, loop: Op, load: Op, reason: str) -> None:
        if reason and _is_tile_of_memory(load):
            name = f"`{load.result.name}`" if load.result.name else f"what line {load.span.line} loads"
            self.unstaged.setdefault(loop, []).append(f"has no stages for {name}: {reason}")

    def _no_candidate(self, load: Op, own: set[Op], fed: set[Op] | None) -> str | None:
        """Why a load of a loop is no candidate, empty where that goes without saying; None for one that is.

        Args:
            load: The load.
            own: Operations of the loop's body that stand in nothing else.
            fed: Loads that feed products, where the kernel's number of stages is for these alone; None where the loop asks.
        """
        if fed is not None and load not in fed:
            return FEEDS_NO_PRODUCT if self.kernel.num_stages != DEFAULT_STAGES else ""
        return None if load in own else "it stands in a branch or a loop"

    def _has_room(self, stages: int, stage_bytes: int) -> bool:
        """Whether one stage more leaves a multiprocessor as many CTAs: another CTA hides more than overlapping products."""
        limits = parse_target(self.kernel.target).limits
        reserved, available = limits.reserved_shared_bytes_per_cta, limits.shared_bytes_per_sm
        before, after = (available // (count * stage_bytes + reserved) for count in (stages, stages + 1))
        has_stages = min(stages + 1, self.most_stages) >= _LEAST_OVERLAPPING_STAGES
        return has_stages and (after >= _ENOUGH_CTAS or after in (before, 0))

    def _is_by(self, families: tuple[str, ...], product: Op) -> bool:
        """Whether a product is made by one of these instructions."""
        name = instruction_name(product, parse_target(self.kernel.target), self.kernel.num_warps)
        return name is not None and name.startswith(families)

    # ---- the loop ----

    def _step(self, loop: Op) -> int | None:
        """The constant step of a loop; 0 for one that is known at run time and positive, None for what has no ring."""
        made = self.definitions.get(loop.operands[2])
        type_ = loop.regions[0].params[0].type
        if made is not None and made.name == "constant":
            return int(made.attrs["value"]) if type_ in (I32, I64) else None
        return 0 if type_ is I32 else None

    def _most_iterations(self, loop: Op) -> int:
        """Iterations of a loop with constant bounds: a ring need not be larger."""
        made = [self.definitions.get(v) for v in loop.operands[:3]]
        values = [op.attrs["value"] for op in made if op is not None and op.name == "constant"]
        return len(range(*values)) if len(values) == 3 and values[2] else sys.maxsize

    def _may_be_reordered(self, loop: Op) -> bool:
        """Whether nothing in the loop orders its loads against what others do."""
        for op in walk(loop.regions[0]):
            if op.name in _WAITING or is_barrier(op) or op.name == "while":
                return False
            if op.attrs.get("volatile") or (op.name in ("asm", "asm_block") and not op.attrs.get("pure")):
                return False
            if op.name in ("atomic_rmw", "atomic_cas") and op.attrs.get("sem", "acq_rel") in _ACQUIRING:
                return False
        return True

    def _written(self, region: Region) -> set[Value | None]:
        """Arguments that are written somewhere in a region.

        Copies by `cp.async` are ordered with earlier stores of their own thread by nothing. What the copy engine brings
        the pass `barriers` orders with stores in front of the loop, as long as it is no other partition that asks for it.
        """
        found = (effect for op in walk(region) for effect in effects(op, self.roots))
        return {effect.root for effect in found if effect.space == GLOBAL and effect.kind != READ}

    def _may_be_stored(self, staged: Staged) -> bool:
        """Whether the kernel writes somewhere what the copy engine brings."""
        roots = set(self.roots.of(staged.load.operands[0]))
        is_same = None in self.written or bool(roots & self.written) or (None in roots and bool(self.written))
        return staged.note is not None and is_same

    def _is_divided(self, loop: Op) -> bool:
        """Whether a loop or one around it asks for a partition that fills its rings, and may get one."""
        return loop not in self.undivided and any(
            op.attrs.get("warp_specialize") and (op is loop or any(inner is loop for r in op.regions for inner in walk(r)))
            for op in walk(self.kernel.body)
            if op.name == "for"
        )

    def _feeding(self, loop: Op) -> set[Op]:
        """The loads whose values reach an operand of a product through changes of shape and type alone."""
        found: set[Op] = set()
        todo = [v for op in walk(loop.regions[0]) if op.name == "dot" for v in (*op.operands[:2], *op.operands[3:])]
        seen = set(todo)
        while todo:
            op = self.definitions.get(todo.pop())
            if op is None:
                continue
            if op.name == "load":
                found.add(op)
            elif op.name in _HANDED_THROUGH or op.name in ELEMENTWISE:
                fresh = [v for v in op.operands if is_tile(v) and v not in seen]
                seen.update(fresh)
                todo += fresh
        return found

    def _overlapped(self, loop: Op, staged: set[Op]) -> Op | None:
        """A product by `wgmma` or `tcgen05.mma` that may still run when the next iteration begins.

        It is the only one, nothing but the next one reads its sums in the loop, and it reads nothing but the ring.
        """
        region = loop.regions[0]
        products = [op for op in walk(region) if op.name == "dot"]
        if len(products) != 1 or products[0] not in region.ops or not self._is_of_default_warps(loop):
            return None
        (product,) = products
        if not self._is_by(_BY_DESCRIPTORS, product) or product.attrs.get("formats"):
            return None  # scales in tensor memory are overwritten when the product is through
        start, result = product.operands[2], product.result
        if start not in region.params or self.uses.get(start) != [product] or self.uses.get(result) != [region.terminator]:
            return None
        if region.terminator.operands[region.params.index(start) - 1] is not result:
            return None
        for operand in product.operands[:2]:
            made = self.definitions.get(operand)
            while made is not None and made.name == "trans":
                made = self.definitions.get(made.operands[0])
            if made not in staged:
                return None
        return product

    def _reads_rows(self, product: Op, loads: Sequence[Staged]) -> bool:
        """Whether a product is one `wgmma` of all of K whose operands have rows as long as a swizzle in the ring."""
        is_plain = product.attrs.get("max_num_imprecise_acc") is None
        rows_bytes = (staged.shape[-1] * dtype_of(staged.load.result.type).bytes for staged in loads)
        return self._is_by(("wgmma",), product) and is_plain and all(size >= SWIZZLE_BYTES[0] for size in rows_bytes)

    def _frees_at_wait(self, product: Op, loads: Sequence[Staged]) -> bool:
        """Whether a wait for a product says that nothing reads its stage any more, and operands are read in the ring."""
        if self.kernel.num_warps != WARPGROUP_WARPS or not self._reads_rows(product, loads):
            return False
        return all(self._lies_as_taken(product.operands[side], side, loads) for side in (0, 1))

    def _lies_as_taken(self, operand: Value, side: int, loads: Sequence[Staged]) -> bool:
        """Whether an operand of `wgmma` lies in the ring as the instruction takes it: along K, if not of 16 bits."""
        op, k_axis = self.definitions[operand], 1 - side
        while op.name == "trans":
            op, k_axis = self.definitions[op.operands[0]], op.attrs["perm"][k_axis]
        staged = next(staged for staged in loads if staged.load is op)
        return dtype_of(operand.type).bits == _HALF_BITS or staged.order[-1] == k_axis

    def _chained(self, loop: Op, staged: list[Op]) -> Chained | None:
        """Two products by `wgmma` that overlap."""
        products = [op for op in walk(loop.regions[0]) if op.name == "dot"]
        if not self._is_of_default_warps(loop) or not all(self._is_by(("wgmma",), op) for op in products):
            return None
        return chained_products(loop, staged, self.definitions, self.uses, WARP_THREADS * self.kernel.num_warps)

    def _holder(self, loop: Op) -> Op | None:
        """The first product by `mma.sync` of the body itself, or by `wgmma` where it is the only one.

        Others behind the copies would read their operands in front of them, into registers.
        """
        products = [op for op in walk(loop.regions[0]) if op.name == "dot"]
        op = next((op for op in loop.regions[0].body if op.name == "dot"), None)
        if op is None or len(shape_of(op.result.type)) != 2:
            return None
        name = instruction_name(op, parse_target(self.kernel.target), self.kernel.num_warps)
        if name is None or (name.startswith(_BY_DESCRIPTORS) and not (name.startswith("wgmma") and len(products) == 1)):
            return None
        return op

    def _is_of_default_warps(self, loop: Op) -> bool:
        return any(op is loop for op in walk_task(self.kernel.body))

    # ---- a load ----

    def _is_index(self, load: Op) -> bool:
        """Whether a load brings integers that may be loaded earlier."""
        element, pointer = element_of(load.result.type), element_of(load.operands[0].type)
        if isinstance(element, PointerType) or not element.is_int() or not isinstance(pointer, PointerType):
            return False
        roots = set(self.roots.of(load.operands[0]))
        is_kept = not roots & self.written and not {None} & (roots | self.written)
        return pointer.space == GLOBAL and is_kept and not load.attrs.get("volatile")

    def _staged(self, load: Op, written: set[Value | None]) -> Staged | str:
        """How a load goes through a ring, or why it does not."""
        pointer = load.operands[0]
        type_, element = load.result.type, element_of(pointer.type)
        if not isinstance(type_, TileType) or not isinstance(element, PointerType) or element.space != GLOBAL:
            return "it is no tile of global memory"
        roots = set(self.roots.of(pointer))
        note = self.notes.get(load.result)
        is_known = None not in roots or (note is not None and not written)
        if not is_known or roots & written or None in written:
            return "the kernel may store to it"
        if load.attrs.get("cache") not in CACHES:
            return f"of the cache modifier {load.attrs['cache']}"
        if note is not None:
            return Staged(load, tuple(range(len(type_.shape))), note)
        mask = load.operands[1] if load.attrs.get("has_mask") else None
        if mask is not None and not is_tile(mask):
            return "its mask is one for all"
        info = self.info.get(pointer)
        if info is None:
            return "nothing is known of its addresses"
        rank = len(type_.shape)
        fast = max(range(rank), key=lambda axis: (info.contiguity[axis], axis))
        order = (*(axis for axis in range(rank) if axis != fast), fast)
        if not self.chunks.bytes_along(pointer, mask, fast):
            return "it comes in pieces of less than 4 bytes"
        return Staged(load, order)


__all__ = ["MORE_THAN_ARITHMETIC", "SUMMED_UP", "Pipelined", "Staged", "pipelined_loops"]
