"""The program that runs now: its place in the launch, its shared memory, and its turns with others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tle2cuda.analysis.tasks import DEFAULT_TASK, User
from tle2cuda.eager.sites import Sites
from tle2cuda.errors import Deadlock, LaunchError, NotSupported
from tle2cuda.levels import DEFAULT_LEVEL
from tle2cuda.ops.mapping import EFFECTS_IN_MAP, EFFECTS_IN_MAP_HELP

if TYPE_CHECKING:
    from tle2cuda.eager.memory import Memory
    from tle2cuda.eager.partitions import Partitions
    from tle2cuda.eager.values import Tile
    from tle2cuda.errors import CompilationError

_Result = TypeVar("_Result")

_POLLS_BEFORE_GIVING_WAY = 256

_local = threading.local()


class Program:
    """One program instance.

    Args:
        launch: What it shares with the others.
        index: Its CTA index, (x, y, z).
    """

    def __init__(self, launch: Launch, index: tuple[int, int, int]) -> None:
        self.launch = launch
        self.index = index
        self.buffers: list[Any] = []
        self.product_groups: dict[int, Any] = {}  # of each partition, by its thread
        self.polls = 0
        self.waits_at: str = ""
        self.partitions: Partitions | None = None
        self.own_sites = Sites()
        self.sites_of_workers: dict[Hashable, Sites] = {}
        self.only_computes = False  # within a function of `tl.map_elementwise`
        self._allocated = 0

    def take_buffer_number(self) -> int:
        """Number of the next shared buffer: the same one stands for the same buffer in every program."""
        self._allocated += 1
        return self._allocated - 1

    @property
    def sites(self) -> Sites:
        """Where the partition is that runs now."""
        return self.own_sites if self.partitions is None else self.partitions.now.sites

    @property
    def user(self) -> User:
        """Who the partition that runs now is to pipes."""
        if self.partitions is None:
            return User(DEFAULT_TASK, self.launch.num_warps)
        return self.partitions.now.user

    @property
    def memory(self) -> Memory:
        """All memory of the launch."""
        self.check_effects()
        return self.launch.memory

    def check_effects(self) -> None:
        """Refuses what functions of elements may not do.

        Raises:
            NotSupported: Such a function is being run.
        """
        if self.only_computes:
            raise NotSupported(EFFECTS_IN_MAP, help=EFFECTS_IN_MAP_HELP)

    def facts(self) -> tuple[str, ...]:
        """Lines of an error that say which program it was."""
        return (f"in program {self.index} of the grid {self.launch.grid}",)

    @property
    def cluster_rank(self) -> int:
        """Rank among the CTAs of its cluster, x fastest."""
        (x, y, z), (a, b, _) = self.index, self.launch.cluster
        c = self.launch.cluster[2]
        return x % a + a * (y % b + b * (z % c))

    @property
    def cluster(self) -> tuple[int, int, int]:
        """Which cluster it belongs to."""
        return tuple(i // c for i, c in zip(self.index, self.launch.cluster, strict=True))  # type: ignore[return-value]

    def note_access(self, address: Tile) -> None:
        """Counts scalar reads: a program that reads and reads may wait for another one."""
        if address.data.ndim == 0:
            self.polls += 1
            if self.polls >= _POLLS_BEFORE_GIVING_WAY:
                self.polls = 0
                if self.partitions is None or not self.partitions.give_way():
                    self.launch.turns.give_way(self)

    def note_change(self) -> None:
        """Notes that memory changed."""
        self.launch.turns.changes += 1

    def barrier(self, group: Any, size: int, what: str) -> None:
        """Waits until `size` programs have come to the barrier of `group`."""
        if self.partitions is not None:
            raise LaunchError(f"{what}: a partition alone cannot meet other programs", facts=self.facts())
        self.launch.turns.barrier(self, group, size, what)


class Launch:
    """What the programs of a launch share.

    Args:
        grid: The grid in CTAs.
        cluster: Cluster shape.
        memory: The arguments.
        num_warps: Warps of a CTA.
        language: Level of the language that the kernel is read by (`tle2cuda.levels`).
        checks_overflow: Integer arithmetic of fewer than 64 bits that overflows is an error.
        refusals: What the front end says is wrong with the kernel, asked at most once.
        early_refusals: The same where it can be asked before anything went wrong: tracing calls functions of the host.

    Attributes:
        seen: The last value of either side, of every branch and function that more than one way leads through.
    """

    def __init__(
        self,
        grid: tuple[int, int, int],
        cluster: tuple[int, int, int],
        memory: Memory,
        num_warps: int = 4,
        language: str = DEFAULT_LEVEL,
        checks_overflow: bool = False,
        refusals: Callable[[], Sequence[CompilationError]] = tuple,
        early_refusals: Callable[[], Sequence[CompilationError]] = tuple,
    ) -> None:
        self.refusals = refusals
        self.early_refusals = early_refusals
        self.asked_at: set[Any] = set()  # places of which the front end was asked
        self.seen: dict[Any, dict[int, Any]] = {}
        self.checks_overflow = checks_overflow
        self.num_warps = num_warps
        self.language = language
        self.grid = grid
        self.cluster = cluster
        self.memory = memory
        self.turns = Turns()

    def program_of(self, program: Program, rank: int) -> Program:
        """The program of this rank in the cluster of another one."""
        a, b, c = self.cluster
        if not 0 <= rank < a * b * c:
            raise LaunchError(f"remote: rank {rank} is outside the cluster of {a * b * c} CTAs", facts=program.facts())
        x, y, z = (i // n * n for i, n in zip(program.index, self.cluster, strict=True))
        return self.turns.programs[(x + rank % a, y + rank // a % b, z + rank // (a * b))]


def current() -> Program:
    """The program that this thread runs.

    Raises:
        LaunchError: None: a language function was called outside a kernel.
    """
    program: Program | None = getattr(_local, "program", None)
    if program is None:
        raise LaunchError("functions of the language can be called only inside a kernel")
    return program


def reads_3_9() -> bool:
    """Whether the kernel that this thread runs is read by the rules of Triton 3.9, not 3.6."""
    program: Program | None = getattr(_local, "program", None)
    return program is not None and program.launch.language == "3.9"


def checks_overflow() -> bool:
    """Whether integer arithmetic of the kernel that this thread runs must not overflow."""
    program: Program | None = getattr(_local, "program", None)
    return program is not None and program.launch.checks_overflow


def unchecked(function: Callable[..., _Result], *args: Any) -> _Result:
    """Calls a function whose integer arithmetic may overflow."""
    program: Program | None = getattr(_local, "program", None)
    if program is None or not program.launch.checks_overflow:
        return function(*args)
    program.launch.checks_overflow = False  # programs take turns, and none gives way meanwhile
    try:
        return function(*args)
    finally:
        program.launch.checks_overflow = True


def enter(program: Program | None) -> None:
    """Makes a program the one that this thread runs."""
    _local.program = program


class Turns:
    """Whose turn it is. One program runs at a time, in the thread of the launch as long as none has to wait.

    A program that waits keeps its thread, and the next one starts in another; so kernels without barriers between
    programs run in the caller's thread alone, where debuggers are at home.

    Attributes:
        programs: All programs by index.
        changes: How often memory changed, so that waiting without an end is noticed.
    """

    def __init__(self) -> None:
        self.programs: dict[tuple[int, int, int], Program] = {}
        self.changes = 0
        self.waiting: dict[Any, list[Program]] = {}
        self.ready: list[Program] = []
        self.fresh: list[Program] = []
        self.wake: dict[int, threading.Semaphore] = {}
        self.run_program: Any = None
        self.failure: BaseException | None = None
        self.alive = 0
        self.idle_rounds = 0
        self.seen_changes = -1
        self.done = threading.Semaphore(0)

    def semaphore(self, program: Program) -> threading.Semaphore:
        """What wakes a program up."""
        return self.wake.setdefault(id(program), threading.Semaphore(0))

    def barrier(self, program: Program, group: Any, size: int, what: str) -> None:
        """See `Program.barrier`."""
        here = self.waiting.setdefault(group, [])
        if len(here) + 1 >= size:
            self.waiting[group] = []
            self.ready.extend(here)
            self.changes += 1
            return
        here.append(program)
        program.waits_at = what
        self._sleep(program)

    def give_way(self, program: Program) -> None:
        """Lets others run before this program goes on."""
        if not self.ready and not self.fresh:
            self._note_idle(program)
            return
        self.ready.append(program)
        program.waits_at = "a value in memory"
        self._note_idle(program)
        self._sleep(program)

    def _note_idle(self, program: Program) -> None:
        """Raises when all programs have polled often and nothing changes any more."""
        if self.seen_changes != self.changes:
            self.seen_changes, self.idle_rounds = self.changes, 0
            return
        self.idle_rounds += 1
        if self.idle_rounds > 64 * (1 + len(self.ready) + len(self.fresh)):
            raise Deadlock(
                "the program waits for a value in memory that no other program will change",
                facts=(*program.facts(), *self._others(program)),
            )

    def _others(self, program: Program) -> list[str]:
        blocked = [p for group in self.waiting.values() for p in group if p is not program]
        return [f"program {p.index} waits at {p.waits_at}" for p in blocked[:4]]

    def _sleep(self, program: Program) -> None:
        """Hands the turn on, and returns when it comes back."""
        wake = self.semaphore(program)  # before the next one runs: that may end the launch at once
        self._hand_on(program)
        wake.acquire()
        if self.failure is not None:
            raise Stopped
        enter(program)
        program.waits_at = ""

    def _hand_on(self, program: Program | None) -> None:
        """Wakes or starts the next program; deadlock when all that are left wait."""
        if self.failure is not None:
            return
        # Programs that have not started come first: those that wait mostly wait for them.
        if self.fresh:
            fresh = self.fresh.pop(0)
            thread = threading.Thread(target=self._thread, args=(fresh,), name=f"program {fresh.index}", daemon=True)
            thread.start()
            return
        if self.ready:
            self.semaphore(self.ready.pop(0)).release()
            return
        blocked = [p for group in self.waiting.values() for p in group]
        if blocked:
            facts = [f"program {p.index} waits at {p.waits_at}" for p in blocked[:8]]
            failure = Deadlock(f"{len(blocked)} programs wait for others that have ended", facts=facts)
            if program is not None and program in blocked:
                for group in self.waiting.values():
                    if program in group:
                        group.remove(program)
                raise failure
            self.fail(failure)
            return
        self.done.release()

    def fail(self, failure: BaseException) -> None:
        """Ends the launch: all programs that wait stop."""
        if self.failure is None:
            self.failure = failure
        for semaphore in list(self.wake.values()):
            semaphore.release()
        self.done.release()

    def _thread(self, program: Program) -> None:
        try:
            self.run_program(program)
        except Stopped:
            return
        except BaseException as failure:
            self.fail(failure)
            return
        self._hand_on(None)

    def run_all(self, programs: list[Program]) -> None:
        """Runs all programs, in this thread until one of them waits."""
        __tracebackhide__ = True
        self.programs = {program.index: program for program in programs}
        self.fresh = list(programs)
        try:
            while self.fresh and not self.wake:  # once a program has waited, the turn goes from thread to thread
                self.run_program(self.fresh.pop(0))
        except Stopped:
            pass
        except BaseException as failure:
            self.fail(failure)
            raise
        if self.wake and self.failure is None:
            self._hand_on(None)
            self.done.acquire()
        if self.failure is not None:
            raise self.failure


class Stopped(BaseException):
    """Another program failed; raised where one waits, so that its thread ends."""
