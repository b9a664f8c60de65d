"""Aggregates: values of classes decorated with `tl.core._aggregate`, made and used inside kernels.

Such a class has annotated fields, which hold run-time values, constants or other aggregates, and jit methods. A value of
it crosses branches and loops field by field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tle2cuda.errors import InvalidArgument, InvalidType, UndefinedName, UnsupportedSyntax
from tle2cuda.ops.core import constexpr, tensor, to_tensor, unwrap

_MARK = "__triton_aggregate__"  # Triton's own mark; ours puts the same on its classes


@dataclass(frozen=True, slots=True)
class AggregateClass:
    """What the front end knows of an aggregate's class.

    Attributes:
        cls: The object that names stand for.
        name: Its name.
        plain: The class as it was written, whose `__init__` makes values.
        annotations: Fields with their annotations, in order.
        init: `__init__`, None when the class has none of its own.
    """

    cls: type
    name: str
    plain: type
    annotations: Mapping[str, Any]
    init: Any


class Aggregate:
    """A value of an aggregate: a compile-time bundle of values.

    Attributes are fields, so what belongs to the front end has names that no field has.
    """

    __slots__ = ("_class_", "_fields_", "_open_")

    def __init__(self, cls: AggregateClass, fields: Mapping[str, Any], is_open: bool = False) -> None:
        object.__setattr__(self, "_class_", cls)
        object.__setattr__(self, "_fields_", dict(fields))
        object.__setattr__(self, "_open_", is_open)

    def __getattr__(self, name: str) -> Any:
        fields = object.__getattribute__(self, "_fields_")
        if name in fields:
            return fields[name]
        return getattr(object.__getattribute__(self, "_class_").plain, name)

    def __setattr__(self, name: str, value: Any) -> None:
        cls = self._class_
        if not self._open_:
            raise UnsupportedSyntax(
                f"`{name}` of {cls.name} cannot be assigned: aggregates are values",
                help=f"make a new one, {cls.name}(...)",
            )
        if cls.annotations and name not in cls.annotations:
            known = ", ".join(cls.annotations)
            raise UndefinedName(f"{cls.name} has no field `{name}`", facts=(f"fields: {known}",))
        self._fields_[name] = _as_annotated(cls, name, value)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values of the fields, in order."""
        return tuple(self._fields_.values())

    def with_parts(self, parts: Sequence[Any]) -> Aggregate:
        """Another value of the same class."""
        return Aggregate(self._class_, dict(zip(self._fields_, parts, strict=True)))


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method of an aggregate's value, not called yet.

    Attributes:
        owner: The value.
        name: Name of the method.
        function: The function or jit object.
    """

    owner: Aggregate
    name: str
    function: Any = field(compare=False)


def aggregate_class(thing: Any) -> AggregateClass | None:
    """What is known of an aggregate's class; None when `thing` is none."""
    if not isinstance(thing, type) or not getattr(thing, _MARK, False):
        return None
    plain = _plain(thing)
    annotations = {}
    for base in reversed(plain.__mro__):
        annotations.update(vars(base).get("__annotations__", {}))
    init = vars(plain).get("__init__")
    return AggregateClass(thing, thing.__name__, plain, annotations, init)


def _plain(cls: type) -> type:
    """The class as written: Triton puts another one in its place, whose `__new__` remembers it."""
    new: Any = vars(cls).get("__new__")
    function = getattr(new, "__func__", new)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
        except ValueError:
            continue
        if isinstance(content, type) and content is not cls and content.__name__ == cls.__name__:
            return content
    return cls


def construct(
    cls: AggregateClass,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    run: Callable[[Any, list[Any], dict[str, Any]], Any],
) -> Aggregate:
    """A value of an aggregate.

    Args:
        cls: Its class.
        args: Arguments as names hold them.
        kwargs: Arguments by name.
        run: Runs `__init__`, a function of the host or a jit object.

    Raises:
        InvalidArgument: The arguments do not fit, or a field is left without a value.
    """
    value = Aggregate(cls, {}, is_open=True)
    if cls.init is not None:
        run(cls.init, [value, *args], dict(kwargs))
    else:
        for name, item in _by_field(cls, args, kwargs).items():
            setattr(value, name, item)
    missing = [name for name in cls.annotations if name not in value._fields_]
    if missing:
        raise InvalidArgument(f"{cls.name}: field `{missing[0]}` has no value")
    order = [*cls.annotations, *(name for name in value._fields_ if name not in cls.annotations)]
    return Aggregate(cls, {name: value._fields_[name] for name in order})


def _by_field(cls: AggregateClass, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a class without `__init__`: its fields in order, with the class's values as defaults."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = {name: vars(cls.plain)[name] for name in cls.annotations if name in vars(cls.plain)}
    parameters = [inspect.Parameter(name, kind) for name in cls.annotations]
    try:
        return given | inspect.Signature(parameters).bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        raise InvalidArgument(f"{cls.name}: {error}", facts=(f"fields: {', '.join(cls.annotations)}",)) from None


def _as_annotated(cls: AggregateClass, name: str, value: Any) -> Any:
    """A field's value as its annotation says: run-time values for `tl.tensor`, constants for `tl.constexpr`."""
    annotation = cls.annotations.get(name)
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    kind = text.rpartition(".")[2]
    if kind == "tensor" and isinstance(unwrap(value), (bool, int, float)):
        return to_tensor(value)
    if kind == "constexpr" and isinstance(value, tensor):
        raise InvalidType(
            f"{cls.name}: field `{name}` is a tl.constexpr, got a run-time value",
            help="annotate it tl.tensor, or pass a constant",
        )
    return constexpr(value) if isinstance(value, (bool, int, float, str)) or value is None else value


def bound_member(owner: Aggregate, name: str) -> Any:
    """The field or method `name` of a value; a method is bound to it.

    Raises:
        AttributeError: There is none.
    """
    if name in owner._fields_:
        return owner._fields_[name]
    member = inspect.getattr_static(owner._class_.plain, name)
    if isinstance(member, staticmethod):
        return member.__func__
    return BoundMethod(owner, name, member)
