"""Pipes: rings of stages in shared memory between one writer and its readers."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir import builder
from tle2cuda.ir.types import PipeType
from tle2cuda.ops import core
from tle2cuda.ops.buffers import buffer_fact, buffered_tensor
from tle2cuda.ops.core import builtin, fact, tensor, unwrap
from tle2cuda.ops.pipe_ends import SCOPE, PipeFacts, PipeInfo, ReaderEnd, pipe_reader, pipe_writer, suggest_name

_RESERVED = ("fields", "readers")


class pipe_value(PipeFacts):
    """A pipe, made by `tle.pipe`; its ends are made by `writer` and `reader`."""

    __slots__ = ()

    @property
    def readers(self) -> tuple[str, ...] | None:
        """Names of the readers; None for one without a name."""
        return self.info.readers

    @property
    def one_shot(self) -> bool:
        """Whether it has a single ready edge."""
        return self.info.one_shot

    @property
    def _described_(self) -> str:
        """What messages call it."""
        return self.info.shown

    def _take_name_(self, name: str) -> None:
        """The pipe learns the name of the variable that holds it."""
        suggest_name(self.info.value, name)

    @builtin
    def writer(self) -> pipe_writer:
        """The end that fills stages.

        Example:
            ``w = p.writer()``
        """
        return pipe_writer(self.info)

    @builtin
    def reader(self, name: Any = None, fields: Any = None) -> pipe_reader:
        """An end that uses stages.

        Args:
            name: Which of the declared readers; left out when none are declared.
            fields: Names of the fields that this endpoint sees; all when left out.

        Raises:
            InvalidArgument: A name that is missing, not declared or not wanted; or fields that are no fields.

        Example:
            ``r = p.reader("left", fields=("k",))``
        """
        return pipe_reader(ReaderEnd(self.info, self._reader_name(name), self._seen_fields(fields)))

    def _reader_name(self, name: Any) -> str | None:
        wanted, readers, facts = unwrap(name), self.info.readers, (self.info.fact(),)
        if readers is None:
            if wanted is not None:
                raise InvalidArgument(
                    f"reader({wanted!r}) requires pipe readers, {self.info.shown} declares none",
                    facts=facts,
                    help=f"declare them, tle.pipe(..., readers=({wanted!r},)), or call reader() without a name",
                )
            return None
        if wanted is None:
            raise InvalidArgument(
                f"reader() of {self.info.shown} requires a reader name", facts=facts, help=f"one of {', '.join(readers)}"
            )
        if wanted not in readers:
            raise InvalidArgument(
                f"reader {core.describe(wanted)} is not declared by {self.info.shown}",
                facts=facts,
                help=f"one of {', '.join(readers)}",
            )
        return str(wanted)

    def _seen_fields(self, fields: Any) -> tuple[str, ...]:
        wanted, known, facts = unwrap(fields), self.info.fields, (self.info.fact(),)
        if wanted is None:
            return tuple(known)
        if not isinstance(wanted, (tuple, list)):
            raise InvalidArgument(f"reader: fields must be a tuple/list of names, got {core.describe(fields)}", facts=facts)
        if not wanted:
            raise InvalidArgument("reader: fields must not be empty", facts=facts, help="leave it out to see all fields")
        names = [unwrap(name) for name in wanted]
        for name in names:
            if name not in known:
                raise InvalidArgument(
                    f"reader: {core.describe(name)} is not a pipe field", facts=facts, help=f"fields: {', '.join(known)}"
                )
        if len(set(names)) < len(names):
            raise InvalidArgument(f"reader: fields must be unique, got {', '.join(names)}", facts=facts)
        return tuple(names)

    def __dir__(self) -> list[str]:
        return ["capacity", "fields", "name", "one_shot", "reader", "readers", "scope", "writer"]


# -- making one ------------------------------------------------------------------------------------


@builtin
def pipe(
    *, capacity: Any, scope: Any = SCOPE, name: Any = None, readers: Any = None, one_shot: Any = False, **fields: Any
) -> pipe_value:
    """A ring of stages in shared memory between one writer and its readers, partitions of one CTA.

    Iteration ``k`` uses stage ``k % capacity``. The rounds of a stage are used in order, without gaps, from round 0 on;
    anything else may wait forever.

    Args:
        capacity: Number of stages (constexpr).
        scope: ``"cta"``.
        name: What messages and the emitted code call it.
        readers: Names of the readers; None for one without a name. Each of them must release a stage before it is
            filled again.
        one_shot: The pipe is filled once: `acquire` and `release` do nothing, and `wait` may be repeated.
        **fields: Buffers whose leading extent is the capacity.

    Returns:
        A `pipe_value` with `writer` and `reader`.

    Raises:
        InvalidArgument: An argument breaks its rule.

    Example:
        ``p = tle.pipe(capacity=2, name="x", data=ring)``
    """
    stages = _capacity(capacity)
    if unwrap(scope) != SCOPE:
        raise InvalidArgument(f"tle.pipe: only scope='cta' exists, got {core.describe(scope)}")
    label = unwrap(name)
    if label is not None and not isinstance(label, str):
        raise InvalidArgument(f"tle.pipe: name must be a string or None, got {core.describe(name)}")
    declared = _readers(readers)
    single = unwrap(one_shot)
    if not isinstance(single, bool):
        raise InvalidArgument(f"tle.pipe: one_shot must be a compile-time bool, got {core.describe(one_shot)}")
    if not fields:
        raise InvalidArgument("tle.pipe needs at least one field", help="give a buffer by name, such as data=ring")
    buffers = {field: _field(field, given, stages) for field, given in fields.items()}
    type_ = PipeType(stages, tuple((field, buffer.ir_type) for field, buffer in buffers.items()))
    attrs = {
        "name": label or "",
        "capacity": stages,
        "fields": tuple(buffers),
        "readers": declared or (),
        "one_shot": single,
    }
    context = builder.current()
    operands = tuple(buffer.value for buffer in buffers.values())
    if context.partition is not None and context.may_come_first(operands):  # its ends may outlive the partition
        value = context.emit_first("pipe", operands, type_, attrs)
    else:
        value = context.emit_one("pipe", operands, type_, attrs)
    context.pipe_fields[value] = operands
    made = pipe_value(PipeInfo(value, stages, label, buffers, declared, single))
    if label:
        made._take_name_(label)
    return made


def _capacity(capacity: Any) -> int:
    value = unwrap(capacity)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidArgument(
            f"tle.pipe: capacity must be a compile-time int, got {core.describe(capacity)}",
            facts=(fact("capacity", value),) if isinstance(value, tensor) else (),
            help="pass it as a tl.constexpr parameter" if isinstance(value, tensor) else "",
        )
    if value <= 0:
        raise InvalidArgument(f"tle.pipe: capacity must be positive, got {value}")
    return value


def _readers(readers: Any) -> tuple[str, ...] | None:
    value = unwrap(readers)
    if value is None:
        return None
    if not isinstance(value, (tuple, list)):
        raise InvalidArgument(f"tle.pipe: readers must be None or a tuple/list of names, got {core.describe(readers)}")
    if not value:
        raise InvalidArgument("tle.pipe: readers must not be empty", help="leave it out for one reader without a name")
    names = []
    for item in value:
        name = unwrap(item)
        _check_name(name, "reader")
        if name in names:
            raise InvalidArgument(f"tle.pipe: duplicate reader {name!r}")
        names.append(name)
    return tuple(names)


def _check_name(name: Any, what: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidArgument(f"tle.pipe: a {what} name must be a Python identifier, got {core.describe(name)}")
    if name.startswith("_") or name in _RESERVED:
        raise InvalidArgument(f"tle.pipe: the {what} name {name!r} is reserved", help="names do not start with _")


def _field(name: str, given: Any, capacity: int) -> buffered_tensor:
    _check_name(name, "field")
    buffer = unwrap(given)
    if not isinstance(buffer, buffered_tensor):
        raise InvalidArgument(
            f"tle.pipe: field `{name}` must be a buffered_tensor made by tle.gpu.alloc, got {core.describe(given)}"
        )
    facts = (buffer_fact(buffer, name),)
    if buffer.ir_type.remote:
        raise InvalidArgument(f"tle.pipe: field `{name}` must be smem of this CTA, got a remote buffer", facts=facts)
    if len(buffer.shape) < 2:
        raise InvalidArgument(
            f"tle.pipe: field `{name}` must have rank >= 2, got {core.dims_text(buffer.shape)}",
            facts=facts,
            help=f"allocate it with a leading axis that counts the stages, tle.gpu.alloc([{capacity}, ...], ...)",
        )
    if buffer.shape[0] != capacity:
        raise InvalidArgument(
            f"tle.pipe: the leading dimension of field `{name}` is {buffer.shape[0]}, the capacity {capacity}",
            facts=facts,
            help="they must be equal: one stage for each",
        )
    return buffer
