"""Runs the CTAs of a launch side by side as far as they wait for each other; reports when they wait in vain.

CTAs of one cluster live together, and so do all CTAs of a launch with a grid barrier; otherwise one CTA runs
after the other. A CTA that spins on memory nobody alive will change lets the next group of CTAs start, as a
GPU with room for all of them would.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from tle2cuda.errors import Deadlock, InternalError, InterpreterError
from tle2cuda.interpreter.context import Context
from tle2cuda.interpreter.memory import Memory
from tle2cuda.interpreter.requests import Arrive, Request, Spin, Waiting
from tle2cuda.ir.nodes import Op

QUIET_ROUNDS = 2
"""Rounds without any change after which the CTAs wait in vain: two, as each must see what the others did."""
SPIN_ROUNDS = 20_000
"""Rounds of nothing but loops, memory unchanged, after which loops that count something are given up too."""


class CTA:
    """A CTA being executed.

    Attributes:
        context: Its place and memory.
        execution: The running generator; None once it has exited.
        request: What it last asked for; None when it can go on at once.
        passed: Barriers it has passed.
    """

    __slots__ = ("context", "execution", "passed", "request")

    def __init__(self, context: Context, execution: Waiting) -> None:
        self.context = context
        self.execution: Waiting | None = execution
        self.request: Request | None = None
        self.passed = 0

    @property
    def is_runnable(self) -> bool:
        """Whether it can be given a turn."""
        return self.execution is not None and not isinstance(self.request, Arrive)


class _Barrier:
    """The members of one barrier and who of them has arrived in the current generation."""

    __slots__ = ("arrived", "members")

    def __init__(self, members: list[CTA]) -> None:
        self.members = members
        self.arrived: list[CTA] = []


class Group:
    """CTAs that are alive together and may meet at barriers."""

    def __init__(self, ctas: Iterable[CTA]) -> None:
        self.ctas = list(ctas)
        self._clusters: dict[tuple[int, ...], list[CTA]] = {}
        for cta in self.ctas:
            self._clusters.setdefault(cta.context.cluster_slots, []).append(cta)
        self._barriers: dict[tuple[str, tuple[int, ...], tuple[int, ...] | None], _Barrier] = {}

    @property
    def clusters(self) -> list[list[Context]]:
        """The CTAs by cluster."""
        return [[cta.context for cta in cluster] for cluster in self._clusters.values()]

    @property
    def is_done(self) -> bool:
        """Whether all CTAs have exited."""
        return all(cta.execution is None for cta in self.ctas)

    def barrier(self, cta: CTA, request: Arrive) -> _Barrier:
        """The barrier a CTA stands at."""
        slots = cta.context.cluster_slots if request.scope == "cluster" else ()
        key = (request.scope, slots, request.members)
        found = self._barriers.get(key)
        if found is None:
            if request.scope == "grid":
                members = self.ctas
            else:
                cluster = self._clusters[slots]
                wanted = range(len(slots)) if request.members is None else request.members
                members = [peer for peer in cluster if peer.context.cluster_rank in wanted]
            found = self._barriers[key] = _Barrier(members)
        return found

    def arrive(self, cta: CTA, request: Arrive) -> None:
        """Count a CTA in; with the last member all of them go on."""
        barrier = self.barrier(cta, request)
        barrier.arrived.append(cta)
        context = cta.context
        context.clock[context.cluster_rank] += 1
        if len(barrier.arrived) < len(barrier.members):
            return
        arrived, barrier.arrived = barrier.arrived, []
        if request.scope == "cluster":
            latest = [max(times) for times in zip(*(peer.context.clock for peer in arrived), strict=True)]
            for peer in arrived:
                peer.context.clock[:] = latest
        for peer in arrived:
            peer.request = None
            peer.passed += 1


class Scheduler:
    """Gives turns to CTAs, group by group."""

    def __init__(self, memory: Memory, *, check_exit: bool, seed: int | None) -> None:
        self.memory = memory
        self.check_exit = check_exit
        self.random = random.Random(seed) if seed is not None else None
        self.active: list[Group] = []

    def run(self, groups: Iterator[Group]) -> None:
        """Run all groups to their end."""
        quiet = unchanged = 0
        version = self.memory.version
        while True:
            if not self.active:
                group = next(groups, None)
                if group is None:
                    return
                self.active.append(group)
            has_moved, is_spinning = self.round()
            unchanged = 0 if has_moved or version != self.memory.version else unchanged + 1
            is_quiet = not has_moved and version == self.memory.version and not is_spinning
            quiet = quiet + 1 if is_quiet else 0
            version = self.memory.version
            if quiet >= QUIET_ROUNDS or unchanged >= SPIN_ROUNDS or not self.can_go_on():
                spins = any(isinstance(cta.request, Spin) for group in self.active for cta in group.ctas)
                further = next(groups, None) if spins else None
                if further is None and self.active:
                    raise self.stuck()
                if further is not None:
                    self.active.append(further)
                quiet = unchanged = 0

    def can_go_on(self) -> bool:
        """Whether any CTA can be given a turn, or all have exited."""
        return not self.active or any(cta.is_runnable for group in self.active for cta in group.ctas)

    def round(self) -> tuple[bool, bool]:
        """One turn for every CTA that can go on.

        Returns:
            Whether some CTA came to a barrier or its end; whether some CTA loops and still changes things.
        """
        has_moved = is_spinning = False
        for group in list(self.active):
            ctas = group.ctas
            if self.random is not None:
                ctas = self.random.sample(ctas, len(ctas))
            for cta in ctas:
                if not cta.is_runnable:
                    continue
                execution = cta.execution
                assert execution is not None
                request = next(execution, None)
                cta.request = request
                if isinstance(request, Spin):
                    is_spinning = is_spinning or not request.is_quiet
                    continue
                has_moved = True
                if request is None:
                    cta.execution = None
                else:
                    assert isinstance(request, Arrive)  # partitions wait inside of their CTA
                    group.arrive(cta, request)
            if group.is_done:
                self.retire(group)
        return has_moved, is_spinning

    def retire(self, group: Group) -> None:
        """Release what the CTAs of a group hold."""
        self.active.remove(group)
        for cluster in group.clusters:
            cluster[0].shared_copies.check(cluster)
        if self.check_exit:
            check_exits(group)
        for cta in group.ctas:
            self.memory.release_cta(cta.context.cta_slot)

    def stuck(self) -> Deadlock:
        """The error that says who waits where."""
        ctas = [cta for group in self.active for cta in group.ctas]
        for group in self.active:
            for cta in group.ctas:
                if isinstance(cta.request, Arrive):
                    return _deadlock(group, cta, cta.request)
        for cta in ctas:
            if isinstance(cta.request, Spin):
                return Deadlock(
                    f"livelock: program {cta.context.program_id} repeats a loop, but no CTA will change what it waits for",
                    cta.request.op.span,
                    facts=_states(ctas),
                    help="check that another CTA of the launch writes the value the loop waits for",
                )
        return Deadlock("deadlock: no CTA can go on", facts=_states(ctas))


def _deadlock(group: Group, cta: CTA, request: Arrive) -> Deadlock:
    barrier = group.barrier(cta, request)
    is_grid = request.scope == "grid"
    kind = f"the {request.scope} barrier"
    if request.members is not None:
        kind = f"the barrier of cluster ranks {request.members}"
    arrived, needed = len(barrier.arrived), len(barrier.members)
    slots = cta.context.cluster_slots
    concerned = [peer for peer in group.ctas if is_grid or peer.context.cluster_slots == slots]
    others = "the other" if needed - arrived == 1 else f"the other {needed - arrived}"
    return Deadlock(
        f"deadlock: {arrived} of {needed} CTAs stand{'s' if arrived == 1 else ''} at {kind}, {others} will never come",
        request.op.span,
        facts=_states(concerned),
        help="every member must execute the barrier the same number of times: guard it only by conditions "
        "that are the same in all of them",
    )


def _states(ctas: Iterable[CTA]) -> list[str]:
    """One line for all CTAs that are in the same state."""
    lines: dict[str, list[CTA]] = {}
    for cta in ctas:
        lines.setdefault(_state(cta), []).append(cta)
    return [f"{_names(members)}: {state}" for state, members in lines.items()]


def _state(cta: CTA) -> str:
    barriers = f"{cta.passed} barrier{'s' if cta.passed != 1 else ''} passed"
    if cta.execution is None:
        return f"exited, {barriers}"
    if isinstance(cta.request, Arrive):
        return f"waits at {_place(cta.request.op)}, {barriers}"
    if isinstance(cta.request, Spin):
        return f"loops at {_place(cta.request.op)}, {barriers}"
    return f"can go on, {barriers}"


def _place(op: Op) -> str:
    return f"{op.span.short()} ({op.name})"


def _names(ctas: list[CTA]) -> str:
    names = [f"program {cta.context.program_id}" for cta in ctas]
    if len(names) > 4:
        return f"{names[0]} and {len(names) - 1} more"
    return ", ".join(names)


def check_exits(group: Group) -> None:
    """Raise when a CTA may have exited before a peer's last access to its shared memory.

    A peer's access is safe when the owner knows of a barrier arrival of that peer after the access.
    """
    for cta in group.ctas:
        context = cta.context
        by_rank = {
            peer.context.cluster_rank: peer.context
            for peer in group.ctas
            if peer.context.cluster_slots == context.cluster_slots
        }
        for rank, (time, op, name) in context.peer_accesses.items():
            if by_rank[rank].clock[context.cluster_rank] <= time:
                raise InterpreterError(
                    f"{op.name} accesses {name} of cluster rank {rank}, which may have exited by then",
                    op.span,
                    facts=context.facts(),
                    help="let a cluster barrier follow the access: shared memory ends with its CTA",
                )


def run_alone(context: Context, execution: Waiting) -> None:
    """Run a CTA that can meet nobody."""
    for request in execution:
        raise InternalError("a CTA without peers waits", request.op.span)
