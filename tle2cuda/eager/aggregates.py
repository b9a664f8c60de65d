"""Aggregates in eager mode: values of classes decorated with `tl.core._aggregate`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tle2cuda.eager.values import Tile, decay, is_number
from tle2cuda.errors import InvalidArgument, InvalidType, UndefinedName, UnsupportedSyntax
from tle2cuda.frontend.aggregates import AggregateClass
from tle2cuda.ops.values import constexpr

Exchange = Callable[[Any], Any]


class Aggregate:
    """A value: a few values under one name, which do not change once it is made.

    Args:
        maker: Its class.
        fields: Values of the fields.
        is_open: `__init__` still sets them.
    """

    __slots__ = ("_fields_", "_maker_", "_open_")

    def __init__(self, maker: AggregateMaker, fields: dict[str, Any], is_open: bool = False) -> None:
        object.__setattr__(self, "_maker_", maker)
        object.__setattr__(self, "_fields_", fields)
        object.__setattr__(self, "_open_", is_open)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}: {value!r}" for name, value in self._fields_.items())
        return f"{self._maker_.__name__}({inner})"

    def __getattr__(self, name: str) -> Any:
        fields = object.__getattribute__(self, "_fields_")
        if name in fields:
            return fields[name]
        return object.__getattribute__(self, "_maker_").member(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        facts = self._maker_.facts
        if not self._open_:
            raise UnsupportedSyntax(
                f"`{name}` of {facts.name} cannot be assigned: aggregates are values",
                help=f"make a new one, {facts.name}(...)",
            )
        if facts.annotations and name not in facts.annotations:
            raise UndefinedName(f"{facts.name} has no field `{name}`", facts=(f"fields: {', '.join(facts.annotations)}",))
        self._fields_[name] = self._maker_.as_annotated(name, value)


class AggregateMaker:
    """What stands for an aggregate's class inside kernels.

    Args:
        facts: Its fields and its methods.
        exchange: Gives what stands for an object inside kernels.
    """

    def __init__(self, facts: AggregateClass, exchange: Exchange) -> None:
        self.facts = facts
        self.exchange = exchange
        self.__name__ = facts.name

    def __getattr__(self, name: str) -> Any:
        return self.exchange(getattr(self.facts.plain, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Aggregate:
        facts = self.facts
        value = Aggregate(self, {}, is_open=True)
        if facts.init is not None:
            self.exchange(facts.init)(value, *args, **kwargs)
        else:
            for name, item in self._by_field(args, kwargs).items():
                setattr(value, name, item)
        missing = [name for name in facts.annotations if name not in value._fields_]
        if missing:
            raise InvalidArgument(f"{facts.name}: field `{missing[0]}` has no value")
        order = [*facts.annotations, *(name for name in value._fields_ if name not in facts.annotations)]
        return Aggregate(self, {name: value._fields_[name] for name in order})

    def _by_field(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments of a class without `__init__`: its fields in order, the class's values as defaults."""
        names = list(self.facts.annotations)
        given = {name: vars(self.facts.plain)[name] for name in names if name in vars(self.facts.plain)}
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        try:
            return given | signature.bind_partial(*args, **kwargs).arguments
        except TypeError as error:
            raise InvalidArgument(f"{self.facts.name}: {error}", facts=(f"fields: {', '.join(names)}",)) from None

    def as_annotated(self, name: str, value: Any) -> Any:
        """A field's value as its annotation says."""
        plain = value.value if isinstance(value, constexpr) else value
        annotation = self.facts.annotations.get(name)
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        kind = text.rpartition(".")[2]
        if kind == "tensor" and is_number(plain):
            return decay(plain)
        if kind == "constexpr" and isinstance(plain, Tile):
            raise InvalidType(
                f"{self.facts.name}: field `{name}` is a tl.constexpr, got a run-time value",
                help="annotate it tl.tensor, or pass a constant",
            )
        return plain

    def member(self, owner: Aggregate, name: str) -> Any:
        """A method bound to a value; properties are computed."""
        try:
            found = inspect.getattr_static(self.facts.plain, name)
        except AttributeError:
            raise UndefinedName(f"{self.facts.name} has no attribute `{name}`") from None
        if isinstance(found, staticmethod):
            return self.exchange(found.__func__)
        if isinstance(found, property):
            return self.exchange(found.fget)(owner)
        function = self.exchange(found)
        return functools.partial(function, owner) if callable(function) else function
