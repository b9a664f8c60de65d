"""The ends of a pipe: who fills stages and who uses them, what they get, and where in the ring they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import BOOL, I32, PipeType, Type
from tle2cuda.ops import core
from tle2cuda.ops.barriers import is_integer_scalar
from tle2cuda.ops.buffers import buffered_tensor
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import builtin, constant, emit_value, tensor, unwrap

SCOPE = "cta"


@dataclass(frozen=True, slots=True, eq=False)
class PipeInfo:
    """What is known of one pipe; compared by identity.

    Attributes:
        value: The IR value, of pipe type.
        capacity: Number of stages.
        name: As given.
        fields: Buffers by name.
        readers: Declared names; None for one anonymous reader.
        one_shot: Whether it has a single ready edge.
    """

    value: Value
    capacity: int
    name: str | None
    fields: Mapping[str, buffered_tensor]
    readers: tuple[str, ...] | None
    one_shot: bool

    @property
    def shown(self) -> str:
        """What messages call it."""
        name = self.name or self.value.name
        return f"pipe `{name}`" if name else "the pipe"

    def fact(self) -> str:
        """Line of an error's facts."""
        readers = "" if self.readers is None else f", readers {', '.join(self.readers)}"
        return f"{self.shown}: capacity {self.capacity}, fields {', '.join(self.fields)}{readers}"


@dataclass(frozen=True, slots=True)
class ReaderEnd:
    """What makes a reader's endpoint: its pipe, its name and the fields that it sees."""

    info: PipeInfo
    reader: str | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _SlotShape:
    """Names of the fields of a slot."""

    fields: tuple[str, ...]


class pipe_slot(Compound):
    """One stage of a pipe: an attribute per field, a buffer without the leading extent.

    Attributes:
        fields: The same buffers by name.
    """

    __slots__ = ()

    @property
    def fields(self) -> dict[str, buffered_tensor]:
        """Buffers by field name."""
        return dict(zip(self._static_.fields, self._parts_, strict=True))

    def _labels_(self) -> tuple[str, ...]:
        """The field names."""
        names: tuple[str, ...] = self._static_.fields
        return names

    def __getattr__(self, name: str) -> buffered_tensor:
        if not name.startswith("_") and name in self._static_.fields:
            buffer: buffered_tensor = self._parts_[self._static_.fields.index(name)]
            return buffer
        raise AttributeError(f"the slot has no field {name!r}")

    def __dir__(self) -> list[str]:
        return [*self._static_.fields, "fields"]


class pipe_wait_result(Compound):
    """What a reader's `wait` returns.

    Attributes:
        slot: The stage.
        is_closed: int1 scalar: the writer has closed the pipe, and the slot holds nothing.
    """

    __slots__ = ()

    @property
    def is_closed(self) -> tensor:
        """Whether the pipe was closed."""
        value: tensor = self._parts_[0]
        return value

    @property
    def slot(self) -> pipe_slot:
        """The stage."""
        value: pipe_slot = self._parts_[1]
        return value

    def _labels_(self) -> tuple[str, ...]:
        """The attributes."""
        return ("is_closed", "slot")

    def __dir__(self) -> list[str]:
        return ["is_closed", "slot"]


class pipe_cursor(Compound):
    """A place in the ring that moves on without division; it stands wherever an endpoint takes `iter`.

    Attributes:
        stage: Number of the stage, int32 scalar.
    """

    __slots__ = ()

    @property
    def stage(self) -> tensor:
        """Number of the stage."""
        value: tensor = self._parts_[0]
        return value

    @property
    def lap(self) -> tensor:
        """How often the ring has been gone round."""
        value: tensor = self._parts_[1]
        return value

    @property
    def _described_(self) -> str:
        """What messages call it."""
        return f"cursor of {self._static_.shown}"

    def _labels_(self) -> tuple[str, ...]:
        """The parts."""
        return ("stage", "lap")

    @builtin
    def advance(self) -> pipe_cursor:
        """The cursor of the next iteration.

        Example:
            ``c = c.advance()``
        """
        one, capacity = constant(1, I32), self._static_.capacity
        if capacity == 1:
            return pipe_cursor(self._static_, (self.stage, emit_value("add", (self.lap, one), I32, ())))
        following = emit_value("add", (self.stage, one), I32, ())
        wraps = emit_value("cmp", (following, constant(capacity, I32)), BOOL, (), {"predicate": "eq"})
        stage = emit_value("select", (wraps, constant(0, I32), following), I32, ())
        lap = emit_value("add", (self.lap, core.cast(wraps, I32)), I32, ())
        return pipe_cursor(self._static_, (stage, lap))

    def __dir__(self) -> list[str]:
        return ["advance", "stage"]


class PipeFacts(Compound):
    """What a pipe and its ends tell alike."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "info"]

    @property
    def info(self) -> PipeInfo:
        """The pipe."""
        info = self._static_
        assert isinstance(info, PipeInfo)
        return info

    @property
    def capacity(self) -> int:
        """Number of stages."""
        return self.info.capacity

    @property
    def scope(self) -> str:
        """Who shares the pipe: the CTA."""
        return SCOPE

    @property
    def name(self) -> str | None:
        """Name of the pipe."""
        return self.info.name

    @property
    def fields(self) -> dict[str, buffered_tensor]:
        """The buffers that are seen here, by field name."""
        return dict(self.info.fields)


class _Endpoint(PipeFacts):
    """What writers and readers have in common."""

    __slots__ = ()

    @property
    def reader_name(self) -> str | None:
        """Name of the reader; None for writers and the anonymous reader."""
        return None

    @builtin
    def cursor(self, start_iter: Any) -> pipe_cursor:
        """A cursor at iteration `start_iter`.

        Args:
            start_iter: int or integer scalar.

        Raises:
            InvalidArgument: It is neither, or negative.

        Example:
            ``c = writer.cursor(0)``
        """
        return pipe_cursor(self.info, self._place(start_iter, "cursor"))

    def _place(self, position: Any, what: str) -> tuple[tensor, tensor]:
        """Stage and lap of an iteration or a cursor."""
        info, value = self.info, unwrap(position)
        if isinstance(value, pipe_cursor):
            if value._static_.capacity != info.capacity:
                raise InvalidArgument(
                    f"{what}: a {value._described_} of capacity {value._static_.capacity} does not fit {info.shown} of "
                    f"capacity {info.capacity}",
                    facts=(info.fact(), value._static_.fact()),
                    help="make a cursor of this pipe",
                )
            return value.stage, value.lap
        if is_integer_scalar(value):
            return _split(value, info.capacity)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
            shown = core.describe(position)
            raise InvalidArgument(
                f"{what}: iter must be an int that is not negative, an integer scalar or a cursor, got {shown}",
                facts=(info.fact(),),
                help="count the iterations from 0",
            )
        return constant(value % info.capacity, I32), constant(value // info.capacity, I32)

    def _emit(self, name: str, position: Any, attrs: Mapping[str, Any] | None = None) -> None:
        stage, lap = self._place(position, name)
        operands = (self.info.value, stage.value, lap.value)
        builder.current().emit(f"pipe_{name}", operands, (), attrs)


def _split(iteration: tensor, capacity: int) -> tuple[tensor, tensor]:
    """Stage and lap of an iteration, by bits where the capacity is a power of two."""
    dtype = core.dtype_of(iteration)
    if capacity == 1:
        stage, lap = constant(0, I32), iteration
    elif capacity & (capacity - 1) == 0:
        stage = emit_value("and", (iteration, constant(capacity - 1, dtype)), dtype, ())
        lap = emit_value("shr", (iteration, constant(capacity.bit_length() - 1, dtype)), dtype, ())
    else:
        stage = emit_value("rem", (iteration, constant(capacity, dtype)), dtype, ())
        lap = emit_value("idiv", (iteration, constant(capacity, dtype)), dtype, ())
    stage, lap = core.cast(stage, I32), core.cast(lap, I32)
    if capacity > 1:
        suggest_name(stage.value, "stage")
        suggest_name(lap.value, "lap")
    return stage, lap


def suggest_name(value: Value, name: str) -> None:
    """A hint for the emitted code, where the user gave none."""
    if not value.name:
        object.__setattr__(value, "name", name)  # nobody else has seen the value yet


def _slot(info: PipeInfo, buffers: tuple[Value, ...], fields: tuple[str, ...]) -> pipe_slot:
    made = dict(zip(info.fields, buffers, strict=True))
    for name, value in made.items():
        suggest_name(value, name)
    return pipe_slot(_SlotShape(fields), [buffered_tensor(made[name]) for name in fields])


class pipe_writer(_Endpoint):
    """The end of a pipe that fills stages."""

    __slots__ = ()

    @property
    def _described_(self) -> str:
        """What messages call it."""
        return f"writer of {self.info.shown}"

    @builtin
    def acquire(self, iter: Any) -> pipe_slot:
        """Waits until every reader has released the stage of `iter`; returns its slots.

        Args:
            iter: int, integer scalar or cursor.

        Raises:
            InvalidArgument: `iter` is none of these.

        Example:
            ``s = writer.acquire(k)``
        """
        info = self.info
        stage, lap = self._place(iter, "acquire")
        type_ = info.value.type
        assert isinstance(type_, PipeType)
        operands = (info.value, stage.value, lap.value)
        return _slot(info, builder.current().emit("pipe_acquire", operands, type_.slot_types), tuple(info.fields))

    @builtin
    def commit(self, iter: Any) -> None:
        """Publishes the stage of `iter`: all earlier writes of the partition are visible to readers that wait for it.

        Args:
            iter: int, integer scalar or cursor.

        Example:
            ``writer.commit(k)``
        """
        self._emit("commit", iter)

    @builtin
    def close(self, iter: Any) -> None:
        """Tells the readers that `iter` and what follows never come; waits for the stage as `acquire` does.

        Args:
            iter: int, integer scalar or cursor.

        Raises:
            InvalidArgument: The pipe is one_shot.

        Example:
            ``writer.close(n)``
        """
        if self.info.one_shot:
            raise InvalidArgument(
                f"a one_shot pipe cannot be closed: {self.info.shown} is ready once and never ends",
                facts=(self.info.fact(),),
                help="leave close out, or leave one_shot out",
            )
        self._emit("close", iter)


class pipe_reader(_Endpoint):
    """The end of a pipe that uses stages."""

    __slots__ = ()

    @property
    def info(self) -> PipeInfo:
        """The pipe."""
        info = self._static_.info
        assert isinstance(info, PipeInfo)
        return info

    @property
    def reader_name(self) -> str | None:
        """Name of the reader; None for the anonymous one."""
        name: str | None = self._static_.reader
        return name

    @property
    def fields(self) -> dict[str, buffered_tensor]:
        """The buffers that the endpoint sees, by name."""
        return {name: self.info.fields[name] for name in self._static_.fields}

    @property
    def _described_(self) -> str:
        """What messages call it."""
        name = f" `{self.reader_name}`" if self.reader_name else ""
        return f"reader{name} of {self.info.shown}"

    @builtin
    def wait(self, iter: Any) -> pipe_wait_result:
        """Waits until the writer has committed or closed the stage of `iter`.

        Args:
            iter: int, integer scalar or cursor.

        Returns:
            The slot, and whether the pipe was closed.

        Raises:
            InvalidArgument: `iter` is none of these.

        Example:
            ``got = reader.wait(k)``
        """
        info = self.info
        stage, lap = self._place(iter, "wait")
        type_ = info.value.type
        assert isinstance(type_, PipeType)
        operands = (info.value, stage.value, lap.value)
        results: tuple[Type, ...] = (BOOL, *type_.slot_types)
        is_closed, *buffers = builder.current().emit("pipe_wait", operands, results, {"reader": self.reader_name})
        suggest_name(is_closed, "is_closed")
        slot = _slot(info, tuple(buffers), self._static_.fields)
        return pipe_wait_result(None, (tensor(is_closed), slot))

    @builtin
    def release(self, iter: Any) -> None:
        """Gives the stage of `iter` back; what the reader read before is read before the writer's next `acquire` returns.

        Args:
            iter: int, integer scalar or cursor.

        Example:
            ``reader.release(k)``
        """
        self._emit("release", iter, {"reader": self.reader_name})
