"""Barriers and pipes of one CTA as state machines: what completes them, and which uses are wrong for certain.

They know nothing of how tasks are run: the interpreter and eager mode both wait by asking them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from tle2cuda.analysis.tasks import User

_ONE_TASK_HELP = (
    "one task writes, and each reader is one task: declare more readers; a worker of another warp_specialize may go on "
    "where it has as many warps"
)


class Misuse(Exception):
    """A use of a barrier or pipe that is wrong under every schedule.

    Args:
        message: What is wrong.
        help: What to do instead.
    """

    def __init__(self, message: str, help: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.help = help


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


class Mbarrier:
    """One mbarrier.

    Args:
        name: What messages call it.
        arrivals: Arrivals that complete a phase.
        is_ready: Phase 0 counts as complete from the start.

    Attributes:
        completed: How many phases are complete, the one that was so from the start included.
    """

    __slots__ = ("arrivals", "completed", "expected_bytes", "name", "pending")

    def __init__(self, name: str, arrivals: int, is_ready: bool) -> None:
        self.name = name
        self.arrivals = arrivals
        self.pending = arrivals
        self.expected_bytes = 0
        self.completed = int(is_ready)

    def is_complete(self, phase: int) -> bool:
        """Whether a wait for a phase passes: the lowest bit of its number is all that counts."""
        return (self.completed ^ phase) & 1 == 1

    def arrive(self, count: int) -> None:
        """Adds arrivals to the current phase.

        Raises:
            Misuse: There are more than complete it.
        """
        if count > self.pending:
            raise Misuse(
                f"{_counted(count, 'arrival')} at {self.name}, whose phase {self.completed} takes "
                f"{_counted(self.pending, 'more arrival') if self.pending else 'no more'}",
                help=f"{_counted(self.arrivals, 'arrival')} complete a phase; allocate it with another arrive_count, "
                "or wait for the phase first",
            )
        self.pending -= count
        self._advance()

    def copy(self, expected_bytes: int, delivered_bytes: int) -> None:
        """A copy arrives once, announces some bytes and delivers some.

        Raises:
            Misuse: The phase can never complete, or has all its arrivals.
        """
        self.expected_bytes += expected_bytes
        self.arrive(1)
        self.expected_bytes -= delivered_bytes
        self._advance()
        if self.pending == 0 and self.expected_bytes:
            more = "more" if self.expected_bytes > 0 else "fewer"
            raise Misuse(
                f"phase {self.completed} of {self.name} never completes: it expects {abs(self.expected_bytes)} bytes "
                f"{more} than its copies bring",
                help=f"this copy brings {delivered_bytes} bytes and announces expect_bytes={expected_bytes}",
            )

    def _advance(self) -> None:
        if self.pending == 0 and self.expected_bytes == 0:
            self.completed += 1
            self.pending = self.arrivals

    def waits_for(self, phase: int) -> str:
        """What a wait is for, and what it would take."""
        return f"phase {phase} of {self.name}: {self.completed} complete, the next one takes {self._needs()}"

    def _needs(self) -> str:
        arrivals = _counted(self.pending, "more arrival")
        return f"{arrivals} and {self.expected_bytes} bytes" if self.expected_bytes else arrivals


class NamedBarrier:
    """One named barrier.

    Args:
        name: What messages call it.
        threads: Threads that meet.

    Attributes:
        generation: How often they have met.
    """

    __slots__ = ("arrived", "generation", "name", "threads")

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self.threads = threads
        self.arrived = 0
        self.generation = 0

    def arrive(self, threads: int) -> int:
        """Counts threads in; returns the meeting that they are part of.

        Raises:
            Misuse: There are more than take part.
        """
        meeting = self.generation
        if self.arrived + threads > self.threads:
            raise Misuse(
                f"{threads} threads come to {self.name} of {self.threads}, where {self.arrived} are already",
                help="arrive_count= of a named barrier counts the threads of all partitions that wait or arrive",
            )
        self.arrived += threads
        if self.arrived == self.threads:
            self.arrived = 0
            self.generation += 1
        return meeting

    def waits_for(self) -> str:
        """What a wait is for, and what it would take."""
        return f"{self.name}: {self.arrived} of {self.threads} threads are there"


class Pipe:
    """One pipe.

    Args:
        name: What messages call it.
        capacity: Number of stages.
        readers: Names; None stands for the anonymous one.
        one_shot: It is filled once.
    """

    __slots__ = ("_users", "closed", "commits", "name", "one_shot", "readers", "released")

    def __init__(self, name: str, capacity: int, readers: Sequence[str | None], one_shot: bool) -> None:
        self.name = name
        self.one_shot = one_shot
        self.readers = tuple(readers)
        self.commits = [0] * capacity
        self.closed: list[int | None] = [None] * capacity
        self.released = {reader: [0] * capacity for reader in readers}
        self._users: dict[str, list[User]] = {}

    # The writer.

    def begin_acquire(self, stage: int, lap: int) -> None:
        """Checks an acquire before it waits.

        Raises:
            Misuse: The round is not the next one of the stage.
        """
        if not self.one_shot:
            self._check_round("acquire", stage, lap)

    def is_free(self, stage: int, lap: int) -> bool:
        """Whether every reader has released the rounds before `lap`."""
        return self.one_shot or not self._holders(stage, lap)

    def commit(self, stage: int, lap: int) -> None:
        """Publishes a round.

        Raises:
            Misuse: It is not the next one, or readers still use the stage.
        """
        if self.one_shot:
            if self.commits[stage]:
                raise Misuse(f"{self._stage(stage)} is committed twice", help="a one_shot pipe is filled once")
        else:
            self._check_round("commit", stage, lap)
            holders = self._holders(stage, lap)
            if holders:
                raise Misuse(
                    f"commit of {self._round(stage, lap)}, which {_listed(holders)} ha{'s' if len(holders) == 1 else 've'} "
                    f"not released since round {lap - 1}",
                    help="call acquire before filling the stage",
                )
        self.commits[stage] += 1

    def close(self, stage: int, lap: int) -> None:
        """Publishes the end in place of a round."""
        self.commit(stage, lap)
        self.closed[stage] = lap

    def _check_round(self, what: str, stage: int, lap: int) -> None:
        if self.closed[stage] is not None:
            raise Misuse(
                f"{what} of {self._round(stage, lap)}, but the pipe was closed there in round {self.closed[stage]}",
                help="the writer must not use a stage again that it has closed",
            )
        expected = self.commits[stage]
        if lap != expected:
            raise Misuse(
                f"{what} of {self._round(stage, lap)}, but its next round is {expected}",
                help="the rounds of a stage are used in order and without gaps, from round 0 on; iteration k is "
                f"round k // {len(self.commits)} of stage k % {len(self.commits)}",
            )

    def _holders(self, stage: int, lap: int) -> list[str | None]:
        return [reader for reader in self.readers if self.released[reader][stage] < lap]

    # Readers.

    def begin_wait(self, reader: str | None, stage: int, lap: int) -> None:
        """Checks a wait before it waits.

        Raises:
            Misuse: The reader has given the round back already, or keeps one that comes before it.
        """
        if self.one_shot:
            return
        released = self.released[reader][stage]
        if lap < released:
            raise Misuse(
                f"{_reader(reader)} waits for {self._round(stage, lap)}, which it has released already",
                help="the writer may have filled the stage again: release it behind the last use",
            )
        if lap > released:
            raise Misuse(
                f"{_reader(reader)} waits for {self._round(stage, lap)} and has not released round {released} of it",
                help="the writer fills a stage again only when every reader has released it",
            )

    def is_full(self, stage: int, lap: int) -> bool:
        """Whether a round is committed or closed."""
        return self.commits[stage] > (0 if self.one_shot else lap)

    def is_closed(self, stage: int, lap: int) -> bool:
        """Whether a round is the end."""
        return self.closed[stage] == lap

    def release(self, reader: str | None, stage: int, lap: int) -> None:
        """Gives a round back.

        Raises:
            Misuse: It is not the one that the reader has.
        """
        if self.one_shot:
            return
        released = self.released[reader][stage]
        if lap != released:
            raise Misuse(
                f"{_reader(reader)} releases {self._round(stage, lap)}, but the next one to be released is {released}",
                help="every reader releases every round of a stage once, in order",
            )
        if self.commits[stage] <= lap:
            raise Misuse(
                f"{_reader(reader)} releases {self._round(stage, lap)}, which is not committed yet",
                help="wait for the round first",
            )
        self.released[reader][stage] += 1

    # Who uses which end.

    def used_by(self, end: str, user: User) -> None:
        """Notes that a task uses an end of the pipe: ``writer`` or a reader's name.

        Raises:
            Misuse: Another task uses it too, and not in its turn.
        """
        users = self._users.setdefault(end, [])
        if user in users:
            return
        other = next((known for known in users if not user.may_follow(known)), None)
        if other is not None:
            raise Misuse(
                f"the {end} of {self.name} is used in two tasks, {other.name} and {user.name}", help=_ONE_TASK_HELP
            )
        users.append(user)

    # Messages.

    def _stage(self, stage: int) -> str:
        return f"stage {stage} of {self.name}"

    def _round(self, stage: int, lap: int) -> str:
        return f"round {lap} of {self._stage(stage)}"

    def waits_to_fill(self, stage: int, lap: int) -> str:
        """What an acquire waits for, and what it would take."""
        holders = self._holders(stage, lap)
        return f"{self._stage(stage)} to be free for round {lap}: {_listed(holders)} must release round {lap - 1}"

    def waits_to_use(self, stage: int, lap: int) -> str:
        """What a wait is for, and what it would take."""
        committed = self.commits[stage]
        state = "none is committed" if not committed else f"{_counted(committed, 'round')} committed"
        return f"{self._round(stage, lap)}: {state}, the writer must commit or close it"


def reader_end(reader: str | None) -> str:
    """A reader's end, as `Pipe.used_by` and messages call it."""
    return "reader" if reader is None else f"reader `{reader}`"


def _reader(reader: str | None) -> str:
    return "the reader" if reader is None else reader_end(reader)


def _listed(readers: Sequence[str | None]) -> str:
    return " and ".join(_reader(reader) for reader in readers)
