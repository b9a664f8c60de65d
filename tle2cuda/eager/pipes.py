"""TLE: pipes between partitions of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.eager.asked import asked
from tle2cuda.eager.partitions import wait_until
from tle2cuda.eager.program import current
from tle2cuda.eager.shared import Buffer
from tle2cuda.eager.values import Tile, describe, number_as, static_int
from tle2cuda.errors import InterpreterError, InvalidArgument
from tle2cuda.ir.types import BOOL, I32


class Slot:
    """One stage: an attribute per field."""

    def __init__(self, fields: dict[str, Buffer]) -> None:
        self.fields = fields
        self.__dict__.update({name: buffer for name, buffer in fields.items() if name != "fields"})

    def __repr__(self) -> str:
        return f"slot of {', '.join(self.fields)}"


class WaitResult:
    """What `wait` returns."""

    def __init__(self, slot: Slot, is_closed: bool) -> None:
        self.slot = slot
        self.is_closed = number_as(is_closed, BOOL)


class Cursor:
    """A place in the ring."""

    def __init__(self, capacity: int, iteration: int) -> None:
        self.capacity = capacity
        self.iteration = iteration

    @property
    def stage(self) -> Tile:
        """Number of the stage."""
        return number_as(self.iteration % self.capacity, I32)

    def advance(self) -> Cursor:
        """The cursor of the next iteration."""
        return Cursor(self.capacity, self.iteration + 1)


class Pipe:
    """A ring of stages.

    Args:
        capacity: Number of stages.
        name: Its name.
        readers: Names of the readers; None for one without a name.
        one_shot: It is filled once.
        fields: Its buffers.
    """

    def __init__(
        self, capacity: int, name: str | None, readers: tuple[str, ...] | None, one_shot: bool, fields: dict[str, Buffer]
    ) -> None:
        self.capacity, self.name, self.readers, self.one_shot, self.fields = capacity, name, readers, one_shot, fields
        self.scope = "cta"
        self._filled = [0] * capacity  # rounds of each stage
        self._used = {reader: [0] * capacity for reader in (readers or (None,))}
        self._end: int | None = None

    def __repr__(self) -> str:
        return f"pipe `{self.name}`" if self.name else "pipe"

    @asked
    def writer(self) -> Writer:
        """The end that fills stages."""
        return Writer(self)

    @asked
    def reader(self, name: Any = None, fields: Any = None) -> Reader:
        """An end that uses stages."""
        if self.readers is None and name is not None:
            raise InvalidArgument(f"reader({name!r}) requires pipe readers, {self} declares none")
        if self.readers is not None and name is None:
            raise InvalidArgument(f"reader() of {self} requires a reader name")
        if self.readers is not None and name not in self.readers:
            raise InvalidArgument(f"reader {name!r} is not declared by {self}")
        return Reader(self, name, self._seen(fields))

    def _seen(self, fields: Any) -> tuple[str, ...]:
        if fields is None:
            return tuple(self.fields)
        if not isinstance(fields, (tuple, list)):
            raise InvalidArgument(f"reader: fields must be a tuple/list of names, got {describe(fields)}")
        if not fields:
            raise InvalidArgument("reader: fields must not be empty")
        for name in fields:
            if name not in self.fields:
                raise InvalidArgument(f"reader: {name!r} is not a pipe field")
        if len(set(fields)) < len(fields):
            raise InvalidArgument(f"reader: fields must be unique, got {', '.join(fields)}")
        return tuple(fields)

    def place(self, iteration: Any) -> tuple[int, int, int]:
        """Iteration, stage and round that a number or a cursor stands for."""
        number = iteration.iteration if isinstance(iteration, Cursor) else int(iteration)
        if number < 0:
            raise InvalidArgument(f"{self}: iter must not be negative, got {number}")
        return number, number % self.capacity, number // self.capacity

    def slot(self, stage: int, names: Sequence[str]) -> Slot:
        """One stage of some fields."""
        return Slot({name: self.fields[name].slot(stage) for name in names})

    def wait_until_free(self, stage: int, turn: int) -> None:
        """Waits until all readers have released a stage."""
        if self.one_shot:
            return
        self.check(turn == self._filled[stage], f"round {turn} of stage {stage} is filled out of order")
        wait_until(
            lambda: all(used[stage] >= turn for used in self._used.values()),
            lambda: f"stage {stage} of {self} to be free for round {turn}",
        )

    def fill(self, stage: int, turn: int) -> None:
        """A stage is full."""
        expected = 0 if self.one_shot else turn
        self.check(self._filled[stage] == expected, f"round {turn} of stage {stage} is committed out of order")
        self._filled[stage] += 1

    def end(self, iteration: int) -> None:
        """Nothing comes behind this iteration."""
        self._end = iteration

    def wait_until_full(self, reader: str | None, iteration: int, stage: int, turn: int) -> bool:
        """Waits until a stage is full; returns whether that is the end."""
        if not self.one_shot:
            self.check(turn == self._used[reader][stage], f"round {turn} of stage {stage} is waited for out of order")
        least = 0 if self.one_shot else turn
        wait_until(lambda: self._filled[stage] > least, lambda: f"round {turn} of stage {stage} of {self}")
        return self._end == iteration

    def use_up(self, reader: str | None, stage: int, turn: int) -> None:
        """A reader is done with a stage."""
        if self.one_shot:
            return
        self.check(turn == self._used[reader][stage], f"round {turn} of stage {stage} is released out of order")
        self.check(turn < self._filled[stage], f"round {turn} of stage {stage} is released before it is committed")
        self._used[reader][stage] += 1

    def check(self, holds: bool, problem: str) -> None:
        """Raises unless the rules of use hold."""
        if not holds:
            raise InterpreterError(
                f"{self}: {problem}",
                facts=current().facts(),
                help="the rounds of a stage are used in order and without gaps, from round 0 on",
            )


class _End:
    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.capacity, self.scope, self.name = pipe.capacity, pipe.scope, pipe.name
        self.fields = pipe.fields
        self.reader_name: str | None = None

    @asked
    def cursor(self, start_iter: Any) -> Cursor:
        """A cursor at an iteration."""
        return Cursor(self.capacity, self._pipe.place(start_iter)[0])


class Writer(_End):
    """The end that fills stages."""

    @asked
    def acquire(self, iter: Any) -> Slot:
        """Waits until the stage is free."""
        _, stage, turn = self._pipe.place(iter)
        self._pipe.wait_until_free(stage, turn)
        return self._pipe.slot(stage, tuple(self.fields))

    @asked
    def commit(self, iter: Any) -> None:
        """Publishes the stage."""
        _, stage, turn = self._pipe.place(iter)
        self._pipe.fill(stage, turn)

    @asked
    def close(self, iter: Any) -> None:
        """Publishes the end."""
        if self._pipe.one_shot:
            raise InvalidArgument(f"a one_shot pipe cannot be closed: {self._pipe} is ready once and never ends")
        iteration, stage, turn = self._pipe.place(iter)
        self._pipe.wait_until_free(stage, turn)
        self._pipe.end(iteration)
        self._pipe.fill(stage, turn)


class Reader(_End):
    """An end that uses stages."""

    def __init__(self, pipe: Pipe, name: str | None, fields: tuple[str, ...]) -> None:
        super().__init__(pipe)
        self.reader_name = name
        self.fields = {field: pipe.fields[field] for field in fields}

    @asked
    def wait(self, iter: Any) -> WaitResult:
        """Waits until the stage is full."""
        iteration, stage, turn = self._pipe.place(iter)
        is_closed = self._pipe.wait_until_full(self.reader_name, iteration, stage, turn)
        return WaitResult(self._pipe.slot(stage, tuple(self.fields)), is_closed)

    @asked
    def release(self, iter: Any) -> None:
        """Gives the stage back."""
        _, stage, turn = self._pipe.place(iter)
        self._pipe.use_up(self.reader_name, stage, turn)


@asked
def pipe(
    *, capacity: Any, scope: Any = "cta", name: Any = None, readers: Any = None, one_shot: Any = False, **fields: Any
) -> Pipe:
    """`tle.pipe`."""
    stages = static_int(capacity, "tle.pipe: capacity")
    if stages <= 0:
        raise InvalidArgument(f"tle.pipe: capacity must be positive, got {stages}")
    if scope != "cta":
        raise InvalidArgument(f"tle.pipe: only scope='cta' exists, got {scope!r}")
    if readers is not None and (not isinstance(readers, (tuple, list)) or not readers or len(set(readers)) < len(readers)):
        raise InvalidArgument(f"tle.pipe: readers must be None or a tuple/list of different names, got {readers!r}")
    if not isinstance(one_shot, bool):
        raise InvalidArgument(f"tle.pipe: one_shot must be a compile-time bool, got {describe(one_shot)}")
    if not fields:
        raise InvalidArgument("tle.pipe needs at least one field")
    for field, buffer in fields.items():
        if not isinstance(buffer, Buffer) or len(buffer.shape) < 2 or buffer.shape[0] != stages:
            raise InvalidArgument(
                f"tle.pipe: field `{field}` must be a buffer whose leading dimension is {stages}, got {describe(buffer)}"
            )
    return Pipe(stages, name, None if readers is None else tuple(readers), one_shot, fields)
