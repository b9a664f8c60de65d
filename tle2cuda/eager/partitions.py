"""TLE: partitions of a program, and the barriers they meet at.

Each partition has a thread, the first one that of the program; one runs at a time, until it has to wait. So `breakpoint`
and `print` work in all of them, and what they compute does not depend on timing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tle2cuda.analysis.tasks import User
from tle2cuda.eager.asked import asked
from tle2cuda.eager.places import BEGINS_PARTITION, ENTERS_PARTITIONS
from tle2cuda.eager.program import Stopped, current, enter
from tle2cuda.eager.sites import Sites
from tle2cuda.eager.values import describe, static_int
from tle2cuda.errors import Deadlock, InterpreterError, InvalidArgument
from tle2cuda.interpreter.synchronisation import Mbarrier, Misuse, NamedBarrier
from tle2cuda.targets import WARP_THREADS

if TYPE_CHECKING:
    from tle2cuda.eager.program import Program

_Result = TypeVar("_Result")
_HELP = "every wait needs its arrival, commit or release in another partition, or earlier in the same one"


class Partition:
    """One partition of a program.

    Args:
        name: Name of its function.
        user: Who it is to pipes.
        body: Runs it.
        sites: Where it is.
    """

    def __init__(self, name: str, user: User, body: Callable[[], Any], sites: Sites) -> None:
        self.name = name
        self.user = user
        self.body = body
        self.sites = sites
        self.wake = threading.Semaphore(0)
        self.has_started = self.has_ended = False
        self.is_over: Callable[[], bool] | None = None
        self.waits_for: Callable[[], str] = str

    @property
    def threads(self) -> int:
        """Threads it would have on a GPU."""
        return WARP_THREADS * self.user.warps

    @property
    def can_go_on(self) -> bool:
        """Whether it can be given the turn."""
        return not self.has_ended and (self.is_over is None or self.is_over())

    def state(self) -> str:
        """What it does, in a message."""
        if self.has_ended:
            return f"partition `{self.name}` has come to its end"
        return (
            f"partition `{self.name}` waits for {self.waits_for()}"
            if self.is_over
            else f"partition `{self.name}` can go on"
        )


class Partitions:
    """The partitions of one `warp_specialize`, and whose turn it is.

    Args:
        program: The program.
        members: The partitions; the first one runs in the caller's thread.
    """

    def __init__(self, program: Program, members: Sequence[Partition]) -> None:
        self.program = program
        self.members = list(members)
        self.now = self.members[0]
        self.failure: BaseException | None = None

    def run(self) -> Any:
        """Runs all of them; returns what the first one returns."""
        first = self.members[0]
        first.has_started = True
        self.program.partitions = self
        try:
            result = first.body()
            self.wait(lambda: all(other.has_ended for other in self.members[1:]), lambda: "the other partitions to end")
            return result
        except BaseException as failure:
            self._stop(failure)
            raise
        finally:
            self.program.partitions = None

    def wait(self, is_over: Callable[[], bool], describe: Callable[[], str]) -> None:
        """Lets others run until a condition holds.

        Raises:
            Deadlock: It will never hold.
        """
        here = self.now
        if is_over():
            return
        here.is_over, here.waits_for = is_over, describe
        self._pass_turn(here)
        here.is_over = None

    def give_way(self) -> bool:
        """Lets another partition run that can go on; False when there is none."""
        here = self.now
        if not any(other.can_go_on for other in self.members if other is not here):
            return False
        self._pass_turn(here)
        return True

    def _pass_turn(self, here: Partition) -> None:
        if self._start_next(here):
            here.wake.acquire()
        if self.failure is not None:
            if here is self.members[0]:
                raise self.failure
            raise Stopped
        self.now = here
        enter(self.program)

    def _start_next(self, here: Partition) -> bool:
        """Gives the turn to the next partition that can go on; False when that is `here` itself."""
        at = self.members.index(here)
        for other in (*self.members[at + 1 :], *self.members[:at], here):
            if not other.can_go_on:
                continue
            if other is here:
                return False
            if not other.has_started:
                other.has_started = True
                thread = threading.Thread(target=self._thread, args=(other,), name=f"partition {other.name}", daemon=True)
                thread.start()
            else:
                other.wake.release()
            return True
        blocked = next(other for other in self.members if not other.has_ended)
        if blocked is self.members[0]:
            blocked = next((other for other in self.members[1:] if not other.has_ended), blocked)
        self._stop(
            Deadlock(
                f"deadlock: partition `{blocked.name}` waits in vain for {blocked.waits_for()}",
                facts=[other.state() for other in self.members],
                help=_HELP,
            )
        )
        return False

    def _thread(self, partition: Partition) -> None:
        self.now = partition
        enter(self.program)
        try:
            with np.errstate(all="ignore"):  # each thread has its own
                partition.body()
            partition.has_ended = True
            self._start_next(partition)
        except BaseException as failure:
            partition.has_ended = True
            self._stop(failure)

    def _stop(self, failure: BaseException) -> None:
        """Ends all partitions: those that wait stop, and the first one raises."""
        if self.failure is None:
            self.failure = failure
        for other in self.members:
            other.wake.release()


ENTERS_PARTITIONS.add(Partitions.run.__code__)
BEGINS_PARTITION.add(Partitions._thread.__code__)


def wait_until(is_over: Callable[[], bool], describe: Callable[[], str]) -> None:
    """Waits for another partition to make a condition true.

    Raises:
        Deadlock: There is none that could.
    """
    program = current()
    if program.partitions is not None:
        program.partitions.wait(is_over, describe)
    elif not is_over():
        raise Deadlock(f"deadlock: the kernel waits in vain for {describe()}", help=_HELP)


def checked(use: Callable[[], _Result]) -> _Result:
    """The result of using a barrier or a pipe.

    Raises:
        InterpreterError: The use is wrong.
    """
    try:
        return use()
    except Misuse as misuse:
        raise InterpreterError(misuse.message, facts=current().facts(), help=misuse.help) from None


@asked
def warp_specialize(
    functions_and_args: Any, worker_num_warps: Any = None, worker_num_regs: Any = None, reuse_default_warps: Any = False
) -> Any:
    """`tle.gpu.warp_specialize`."""
    program = current()
    if program.partitions is not None:
        raise InvalidArgument("warp_specialize cannot be nested", help="give the outer call one more entry")
    entries = list(functions_and_args)
    if not entries:
        raise InvalidArgument("warp_specialize needs at least a default partition, got no entries")
    warps = [static_int(count, "warp_specialize: warp counts") for count in worker_num_warps or ()]
    num_warps = program.launch.num_warps
    if reuse_default_warps:
        _check_divided(warps, worker_num_regs, len(entries), num_warps)
    else:
        for what, counts in (("warp counts", warps), ("register counts", worker_num_regs)):
            if counts is not None and len(counts) != len(entries) - 1:
                raise InvalidArgument(f"warp_specialize: {len(counts)} {what} for {len(entries) - 1} workers")
        warps = [num_warps, *warps]
    site = program.sites.here()
    members = []
    for number, (entry, count) in enumerate(zip(entries, warps, strict=True)):
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise InvalidArgument(f"warp_specialize: entry {number} must be (fn, args), got {describe(entry)}")
        function, args = entry
        if not isinstance(args, (tuple, list)):
            raise InvalidArgument(f"warp_specialize: the arguments of entry {number} must be a tuple, got {describe(args)}")
        name, place = _name(function), (site, number)
        user = User(f"partition `{name}`", count, place if number or reuse_default_warps else None)
        sites = program.sites_of_workers.setdefault(place, Sites(place)) if number else program.own_sites
        members.append(Partition(name, user, _body(function, args), sites))
    return Partitions(program, members).run()


def _check_divided(warps: Sequence[int], registers: Any, entries: int, num_warps: int) -> None:
    """Refuses counts that do not divide the kernel's warps among all entries."""
    if registers is not None:
        raise InvalidArgument("warp_specialize: worker_num_regs cannot be given with reuse_default_warps=True")
    if len(warps) != entries:
        raise InvalidArgument(f"warp_specialize: {len(warps)} warp counts for {entries} entries")
    if sum(warps) != num_warps:
        parts = " + ".join(map(str, warps))
        raise InvalidArgument(f"warp_specialize: {parts} = {sum(warps)} warps, the kernel has {num_warps}")


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", "partition"))


def _body(function: Callable[..., Any], args: Sequence[Any]) -> Callable[[], Any]:
    return lambda: function(*args)


# -- barriers -----------------------------------------------------------------------------------------


class _Barrier:
    """One barrier: its uses say whether it is an mbarrier or a named one."""

    def __init__(self, name: str, count: int, is_ready: bool, expect_bytes: int | None) -> None:
        self.name, self.count, self.is_ready, self.expect_bytes = name, count, is_ready, expect_bytes
        self._mbarrier: Mbarrier | None = None
        self._named: NamedBarrier | None = None

    def mbarrier(self) -> Mbarrier:
        """The barrier, which counts arrivals."""
        if self._named is not None:
            raise self._mixed()
        self._mbarrier = self._mbarrier or Mbarrier(self.name, self.count, self.is_ready)
        return self._mbarrier

    def named(self) -> NamedBarrier:
        """The barrier, which counts threads."""
        if self._mbarrier is not None:
            raise self._mixed()
        if self.is_ready:
            raise InvalidArgument("a named barrier does not support READY")
        if self.expect_bytes is not None:
            raise InvalidArgument(f"{self.name} has expect_bytes, which requires phaseIdx")
        if self.count % WARP_THREADS:
            raise InvalidArgument(f"arrive_count of a named barrier counts threads, a multiple of 32, got {self.count}")
        self._named = self._named or NamedBarrier(self.name, self.count)
        return self._named

    def _mixed(self) -> InvalidArgument:
        return InvalidArgument(f"{self.name} cannot mix named and mbarrier backends", help="give phaseIdx= everywhere")


class Barriers:
    """An array of barriers, or one of it."""

    def __init__(self, members: Sequence[_Barrier], is_slot: bool = False) -> None:
        self._members = list(members)
        self._is_slot = is_slot

    def __repr__(self) -> str:
        return self._members[0].name if len(self._members) == 1 else f"{len(self._members)} barriers"

    @asked
    def __getitem__(self, key: Any) -> Barriers:
        if self._is_slot:
            raise InvalidArgument(f"{self} cannot be indexed again")
        number = int(key)
        if not 0 <= number < len(self._members):
            raise InvalidArgument(f"barrier index {number} is out of bounds for {len(self._members)} barriers")
        return Barriers([self._members[number]], is_slot=True)

    def one(self) -> _Barrier:
        """The barrier that it stands for."""
        return self._members[0]

    @property
    def is_array(self) -> bool:
        """Whether it is several barriers."""
        return len(self._members) > 1


@asked
def alloc_barriers(num_barriers: Any, arrive_count: Any = 1, init: Any = "pending", expect_bytes: Any = None) -> Barriers:
    """`tle.gpu.alloc_barriers`."""
    count = _positive(num_barriers, "num_barriers")
    arrivals = _positive(arrive_count, "arrive_count")
    if not isinstance(init, str) or init.lower() not in ("pending", "ready"):
        raise InvalidArgument(f"init must be tle.gpu.PENDING or tle.gpu.READY, got {describe(init)}")
    expected = None if expect_bytes is None else _positive(expect_bytes, "expect_bytes")
    made = [_Barrier(f"barrier {i}", arrivals, init.lower() == "ready", expected) for i in range(count)]
    return Barriers(current().sites.once(made))  # their phases go on where a loop comes here again


@asked
def alloc_barrier(arrive_count: Any = 1, init: Any = "pending", expect_bytes: Any = None) -> Barriers:
    """`tle.gpu.alloc_barrier`."""
    return alloc_barriers(1, arrive_count, init, expect_bytes)


def _positive(value: Any, what: str) -> int:
    number = static_int(value, what)
    if number <= 0:
        raise InvalidArgument(f"{what} must be positive, got {number}")
    return number


@asked
def barrier_wait(bar: Any, phaseIdx: Any = None) -> None:
    """`tle.gpu.barrier_wait`."""
    barrier = _operand(bar, "barrier_wait")
    if phaseIdx is None:
        named, meeting = barrier.named(), _meet(barrier)
        wait_until(lambda: named.generation > meeting, named.waits_for)
        return
    mbarrier, phase = barrier.mbarrier(), int(phaseIdx)
    wait_until(lambda: mbarrier.is_complete(phase), lambda: mbarrier.waits_for(phase))


@asked
def barrier_arrive(bar: Any, arrive_count: Any = 1, phaseIdx: Any = None) -> None:
    """`tle.gpu.barrier_arrive`."""
    barrier = _operand(bar, "barrier_arrive")
    count = _positive(arrive_count, "arrive_count")
    if phaseIdx is None:
        if count != 1:
            raise InvalidArgument(f"a named barrier needs arrive_count = 1 in barrier_arrive, got {count}")
        _meet(barrier)
        return
    mbarrier = barrier.mbarrier()
    checked(lambda: mbarrier.arrive(count))


def _meet(barrier: _Barrier) -> int:
    """This partition's threads come to a named barrier; returns which meeting that is."""
    named, threads = barrier.named(), WARP_THREADS * current().user.warps
    return checked(lambda: named.arrive(threads))


def _operand(bar: Any, what: str) -> _Barrier:
    if not isinstance(bar, Barriers):
        raise InvalidArgument(f"{what} expects tle.gpu barrier, got {describe(bar)}")
    return bar.one()


def complete_copy(bar: Any, nbytes: int) -> None:
    """A tensor copy arrives at a barrier and brings its bytes."""
    barrier = _operand(bar, "copy")
    if barrier.expect_bytes is None:
        raise InvalidArgument(f"copy needs a barrier with expect_bytes, {barrier.name} has none")
    if bar.is_array:
        raise InvalidArgument("barrier arrays must be indexed in copy")
    mbarrier, expected = barrier.mbarrier(), barrier.expect_bytes
    checked(lambda: mbarrier.copy(expected, nbytes))
