"""mbarriers and named barriers: members of `Shared`, their initialisation, waits and arrivals."""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import OutOfResources
from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.types import BarrierType
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import ADD, BIT_AND, C, binary, mixed_bits
from tle2cuda.lowering.distributed import uses_groups
from tle2cuda.lowering.multicast import shares_stages
from tle2cuda.lowering.scalars import constant_int, scalar_text
from tle2cuda.lowering.state import State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.meetings import MEETING, is_meeting
from tle2cuda.targets import parse_target

TEMPLATE = "barriers.cu.j2"
_COMPLETED_BY_ENGINES = frozenset(("tma_load", "bulk_load", "tensor_product"))  # that arrive through another proxy
HARDWARE_BARRIERS = 16  # named barriers of a CTA; 0 is `__syncthreads()` (PTX ISA, barrier)


@dataclass(frozen=True, slots=True)
class SetUpGroup:
    """Arrays of equally many mbarriers, and flags beside them; `count` is 1 for single ones."""

    count: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetUpView:
    """The initialisation of all mbarriers of a kernel."""

    condition: str
    groups: tuple[SetUpGroup, ...]
    fence: bool
    meeting: str


@dataclass(frozen=True, slots=True)
class MeetingView:
    """A barrier of several partitions, and what it is for."""

    function: str
    remark: str


def barrier_address(state: State, barriers: Value, index: Value | None = None) -> str:
    """Pointer to one mbarrier of an array: `&shared.full[stage]`; an array of one is no array."""
    type_ = barriers.type
    assert isinstance(type_, BarrierType)
    name = f"&{state.barriers[barriers]}"
    return name if type_.count == 1 or index is None else f"{name}[{scalar_text(state, index).text}]"


def parity(state: State, phase: Value, plus: int = 0) -> str:
    """The lowest bit of a phase, `plus` phases on."""
    known = constant_int(state, phase)
    if known is not None:
        return str((known + plus) & 1)
    text = scalar_text(state, phase)
    info = state.info.get(phase)
    if not plus and info is not None and (info.lo, info.hi) == (0, 1):
        return text.text
    if plus:
        text = binary("+", ADD, text, C(str(plus)))
    return mixed_bits("&", BIT_AND, text, C("1")).text


def wait(state: State, address: str, phase: str, op: Op) -> None:
    """Every thread of the task waits for a phase to end, or thread 0 alone where the others would only poll.

    They could also lag behind by two phases, take the newer one for the older, and wait for ever.
    """
    condition = state.first_thread().text if op.attrs.get("elected") else ""
    statements.evaluate(state.block, wait_text(state, address, phase), op.span, condition)


def wait_text(state: State, address: str, phase: str, of_cluster: bool = False) -> str:
    """`mbarrier_wait(&shared.full[stage], lap & 1)`; where other CTAs of the cluster arrive, another function."""
    is_new = parse_target(state.kernel.target).has("mbarrier_tx")
    by_engine = "mbarrier_wait_cluster" if of_cluster else "mbarrier_wait"
    function = state.helper(by_engine if is_new else "mbarrier_poll")
    return f"{function}({address}, {phase})"


def emit_alloc(state: State, op: Op) -> None:
    """Barriers are members of `Shared`, which the prologue sets up."""


def emit_wait(state: State, op: Op) -> None:
    """`mbarrier_wait(&shared.full[stage], lap & 1);`"""
    barriers, index, phase = op.operands
    state.comment(op.span)
    made = state.definitions[barriers]
    # What is ready from the start counts its first phase as over: real phases come one later.
    plus = 1 if made.attrs["init"] == "ready" else 0
    wait(state, barrier_address(state, barriers, index), parity(state, phase, plus), op)


def emit_arrive(state: State, op: Op) -> None:
    """Every thread of the task arrives, behind what it has to publish; or thread 0, where it alone waits, for all of them.

    The arrivals of a task are a multiple of those that the user counts (`arrival_units`): as many for each thread.
    """
    barriers, index = op.operands
    state.comment(op.span)
    address = barrier_address(state, barriers, index)
    arrivals = op.attrs["arrivals"] * arrival_units(state, barriers)
    condition = state.first_thread().text if op.attrs.get("elected") or state.task.is_single else ""
    if not condition:
        arrivals //= state.task.num_threads
    arrive(state, state.block, address, arrivals, op, condition)


def arrive(state: State, block: Block, address: str, arrivals: int, op: Op, condition: str = "") -> None:
    """Some arrivals at an mbarrier at once."""
    if arrivals == 1:
        statements.evaluate(block, f"{state.helper('mbarrier_arrive')}({address})", op.span, condition)
    elif parse_target(state.kernel.target).has("mbarrier_tx"):
        text = f"{state.helper('mbarrier_arrive_count')}({address}, {arrivals})"
        statements.evaluate(block, text, op.span, condition)
    else:
        text = f"{state.helper('mbarrier_arrive_each')}({address}, {arrivals})"
        statements.evaluate(block, text, op.span, condition)


def arrival_units(state: State, barriers: Value) -> int:
    """By how much the arrivals that the user counts are multiplied: so that those of a task are as many for each thread."""
    roots = state.roots.of(barriers)
    return max((state.arrival_units.get(root, 1) for root in roots if root is not None), default=1)


# ---- named barriers ---------------------------------------------------------------------------------------------------


def number_named_barriers(state: State, first: int) -> None:
    """Give the user's named barriers hardware barriers, from `first` on.

    Raises:
        OutOfResources: There are not enough.
    """
    named = [op for op in walk(state.kernel.body) if op.name == "named_barrier" and not is_meeting(op)]
    for op in named:
        state.named_barriers.setdefault(op.attrs["number"], first + len(state.named_barriers))
    needed = first - 1 + len(state.named_barriers)
    if needed >= HARDWARE_BARRIERS:
        own = f"{first - 1} for partitions + " if first > 1 else ""
        raise OutOfResources(
            needed,
            HARDWARE_BARRIERS - 1,
            "named barriers",
            named[-1].span if named else state.kernel.span,
            (f"{own}{len(state.named_barriers)} of the kernel's = {needed}, limit {HARDWARE_BARRIERS - 1}",),
            "give barriers a phase (phaseIdx=), which makes them mbarriers",
        )


def emit_named(state: State, op: Op) -> None:
    """All threads of the task meet others at a hardware barrier, or are counted there."""
    if is_meeting(op):
        view = MeetingView(state.meetings[op.attrs["number"]], op.attrs[MEETING])
        write(state.block, "specialize.cu.j2", "meeting", view, op.span)
        return
    state.comment(op.span)
    function = state.helper("meeting_barrier_sync" if op.attrs["kind"] == "sync" else "named_barrier_arrive")
    number = state.named_barriers[op.attrs["number"]]
    statements.evaluate(state.block, f"{function}({number}, {op.attrs['threads']})", op.span)


# ---- setting up -------------------------------------------------------------------------------------------------------


def emit_set_up(state: State, block: Block, condition: str) -> None:
    """One thread initialises all mbarriers; behind it they may be used."""
    ops = [op for op in walk(state.kernel.body) if op.name == "alloc_barriers" or op.attrs.get("closed_flags")]
    if not ops:
        return
    groups: dict[int, list[str]] = {}
    for op in ops:
        count, line = _set_up(state, op)
        groups.setdefault(count, []).append(line)
    state.helper("mbarrier_init")
    is_for_engines = any(op.name in _COMPLETED_BY_ENGINES for op in walk(state.kernel.body))
    fence = is_for_engines or state.kernel.cluster_size > 1
    if fence:
        state.helper("fence_mbarrier_init")
    ordered = [SetUpGroup(count, tuple(groups[count])) for count in sorted(groups, reverse=True)]
    meeting = "__syncthreads();  // all threads see the barriers set up"
    if shares_stages(state):
        call = "cluster.sync()" if uses_groups(state) else f"{state.helper('cluster_sync')}()"
        meeting = f"{call};  // all CTAs of the cluster have set up their barriers"
    write(block, TEMPLATE, "set_up", SetUpView(condition, tuple(ordered), fence, meeting))


def _set_up(state: State, op: Op) -> tuple[int, str]:
    """How many there are, and the statement for each of them, or for the one whose number is `stage`."""
    type_ = op.result.type
    if isinstance(type_, BarrierType):
        place = f"{state.barriers[op.result]}[stage]" if type_.count > 1 else state.barriers[op.result]
        return type_.count, f"mbarrier_init(&{place}, {op.attrs['arrivals'] * arrival_units(state, op.result)});"
    count = type_.shape[0]  # type: ignore[union-attr]
    return count, f"{state.buffers[op.result].text}[{'stage' if count > 1 else 0}] = 0;"
