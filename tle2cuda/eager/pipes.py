"""TLE: pipes between partitions of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.eager.asked import asked
from tle2cuda.eager.partitions import checked, wait_until
from tle2cuda.eager.program import current
from tle2cuda.eager.shared import Buffer
from tle2cuda.eager.values import Tile, describe, number_as, static_int
from tle2cuda.errors import InvalidArgument
from tle2cuda.interpreter import synchronisation
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
        # The rounds go on where a loop makes the pipe again.
        self._state = current().sites.once(synchronisation.Pipe(repr(self), capacity, readers or (None,), one_shot))

    def __repr__(self) -> str:
        return f"pipe `{self.name}`" if self.name else "the pipe"

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

    def place(self, iteration: Any) -> tuple[int, int]:
        """Stage and round that a number or a cursor stands for."""
        number = iteration.iteration if isinstance(iteration, Cursor) else int(iteration)
        if number < 0:
            raise InvalidArgument(f"{self}: iter must not be negative, got {number}")
        return number % self.capacity, number // self.capacity

    def slot(self, stage: int, names: Sequence[str]) -> Slot:
        """One stage of some fields."""
        return Slot({name: self.fields[name].slot(stage) for name in names})

    def wait_until_free(self, stage: int, turn: int) -> None:
        """Waits until all readers have released a stage."""
        state = self._state
        checked(lambda: state.begin_acquire(stage, turn))
        wait_until(lambda: state.is_free(stage, turn), lambda: state.waits_to_fill(stage, turn))

    def fill(self, stage: int, turn: int, is_last: bool = False) -> None:
        """A stage is full, or the end stands there."""
        checked(lambda: (self._state.close if is_last else self._state.commit)(stage, turn))

    def wait_until_full(self, reader: str | None, stage: int, turn: int) -> bool:
        """Waits until a stage is full; returns whether that is the end."""
        state = self._state
        checked(lambda: state.begin_wait(reader, stage, turn))
        wait_until(lambda: state.is_full(stage, turn), lambda: state.waits_to_use(stage, turn))
        return state.is_closed(stage, turn)

    def use_up(self, reader: str | None, stage: int, turn: int) -> None:
        """A reader is done with a stage."""
        checked(lambda: self._state.release(reader, stage, turn))

    def used_by(self, end: str) -> None:
        """This partition uses an end."""
        checked(lambda: self._state.used_by(end, current().user))


class _End:
    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self.capacity, self.scope, self.name = pipe.capacity, pipe.scope, pipe.name
        self.fields = pipe.fields
        self.reader_name: str | None = None

    @asked
    def cursor(self, start_iter: Any) -> Cursor:
        """A cursor at an iteration."""
        stage, turn = self._pipe.place(start_iter)
        return Cursor(self.capacity, turn * self.capacity + stage)


class Writer(_End):
    """The end that fills stages."""

    def _place(self, iteration: Any) -> tuple[int, int]:
        self._pipe.used_by("writer")
        return self._pipe.place(iteration)

    @asked
    def acquire(self, iter: Any) -> Slot:
        """Waits until the stage is free."""
        stage, turn = self._place(iter)
        self._pipe.wait_until_free(stage, turn)
        return self._pipe.slot(stage, tuple(self.fields))

    @asked
    def commit(self, iter: Any) -> None:
        """Publishes the stage."""
        self._pipe.fill(*self._place(iter))

    @asked
    def close(self, iter: Any) -> None:
        """Publishes the end."""
        if self._pipe.one_shot:
            raise InvalidArgument(f"a one_shot pipe cannot be closed: {self._pipe} is ready once and never ends")
        stage, turn = self._place(iter)
        self._pipe.wait_until_free(stage, turn)
        self._pipe.fill(stage, turn, is_last=True)


class Reader(_End):
    """An end that uses stages."""

    def __init__(self, pipe: Pipe, name: str | None, fields: tuple[str, ...]) -> None:
        super().__init__(pipe)
        self.reader_name = name
        self.fields = {field: pipe.fields[field] for field in fields}

    def _place(self, iteration: Any) -> tuple[int, int]:
        self._pipe.used_by(synchronisation.reader_end(self.reader_name))
        return self._pipe.place(iteration)

    @asked
    def wait(self, iter: Any) -> WaitResult:
        """Waits until the stage is full."""
        stage, turn = self._place(iter)
        is_closed = self._pipe.wait_until_full(self.reader_name, stage, turn)
        return WaitResult(self._pipe.slot(stage, tuple(self.fields)), is_closed)

    @asked
    def release(self, iter: Any) -> None:
        """Gives the stage back."""
        self._pipe.use_up(self.reader_name, *self._place(iter))


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
