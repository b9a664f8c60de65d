"""What Python names hold while a kernel is traced, and how such values cross branches and loops.

Names hold `constexpr` (numbers, strings, None), `tensor`, buffers and other handles on IR values, tuples of
all these, aggregates, and any other compile-time Python object as it is (dtypes, functions, modules, meshes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.frontend.aggregates import Aggregate
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.span import UNKNOWN, Span
from tle2cuda.ir.types import DType, PointerType, TileType, Type
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import constexpr, plain_text, tensor, to_tensor, unwrap
from tle2cuda.ops.partitions import set_handles


@dataclass(frozen=True, slots=True)
class Undefined:
    """A name that exists but has no value here.

    Attributes:
        reason: Why, as the second half of a sentence.
        help: What to write instead.
    """

    reason: str
    help: str


class Poison:
    """Value of a name whose computation failed: its uses are not reported again."""


POISON = Poison()


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name holds and where it got it."""

    value: Any
    span: Span


def is_handle(value: Any) -> bool:
    """Whether `value` stands for exactly one IR value: tensors and buffers."""
    return isinstance(getattr(value, "value", None), Value)


def is_static(value: Any) -> bool:
    """Whether `value` is known while tracing, through and through."""
    if isinstance(value, list):
        return all(is_static(item) for item in value)
    parts = parts_of(value)
    if parts is not None:
        return all(is_static(item) for item in parts)
    return not is_handle(value)


def parts_of(value: Any) -> tuple[Any, ...] | None:
    """The values that a tuple, an aggregate or a compound is made of; None when `value` is one thing."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Compound):
        return value._parts_
    return value.parts if isinstance(value, Aggregate) else None


def with_parts(like: Any, parts: Sequence[Any]) -> Any:
    """A value made like `like` of other parts; named tuples and aggregates keep their class."""
    if isinstance(like, Compound):
        return like._with_parts_(parts)
    if isinstance(like, Aggregate):
        return like.with_parts(parts)
    return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)


def same_make(a: Any, b: Any) -> bool:
    """Whether two values are made of as many parts in the same way."""
    first, second = parts_of(a), parts_of(b)
    if first is None or second is None or len(first) != len(second):
        return False
    if isinstance(a, Aggregate) or isinstance(b, Aggregate):
        return isinstance(a, Aggregate) and isinstance(b, Aggregate) and a._class_.cls is b._class_.cls
    if isinstance(a, Compound) or isinstance(b, Compound):
        return isinstance(a, Compound) and type(a) is type(b) and same_static(a._static_, b._static_)
    return True


def part_names(value: Any, name: str) -> list[str]:
    """Names for the handles inside the value that is called `name`, in the order of `leaves`."""
    if hasattr(type(value), "part_names"):  # block pointers and descriptors
        return list(value.part_names(name))
    parts = parts_of(value)
    if parts is None:
        return [name] if is_handle(value) else []
    labels: Sequence[Any] = range(len(parts))
    if isinstance(value, Aggregate):
        labels = list(value._fields_)
    elif isinstance(value, Compound):
        labels = value._labels_()
    return [inner for label, part in zip(labels, parts, strict=True) for inner in part_names(part, f"{name}_{label}")]


def is_number(value: Any) -> bool:
    """Whether `value` is a compile-time number, which a run-time constant can stand for."""
    return isinstance(unwrap(value), (bool, int, float))


def _is_of_numpy(value: Any) -> bool:
    """Whether it is one of NumPy's scalars or arrays, or of a library that adds dtypes to it, such as ml_dtypes."""
    return any(base.__module__ == "numpy" for base in type(value).__mro__)


def wrap(value: Any) -> Any:
    """A Python object as names hold it."""
    if isinstance(value, constexpr):
        value = unwrap(value)
    if _is_of_numpy(value) and hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a NumPy scalar would take over the operators of tensors
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return constexpr(value)
    if type(value) in (tuple, list):
        return tuple(wrap(item) for item in value)
    return value


def rebuild(like: Any, value: Value) -> Any:
    """The handle `like` with another IR value of the same type."""
    if isinstance(like, tensor):
        return tensor(value)
    with_value: Callable[[Value], Any] | None = getattr(like, "with_value", None)
    return with_value(value) if with_value is not None else type(like)(value)


def decay(value: Any, deep: bool = False, carried: bool = False) -> Any:
    """Compile-time numbers become run-time constants, as plain assignment and `return` do.

    Args:
        value: Any value.
        deep: Numbers inside tuples decay too.
        carried: It crosses iterations, so that numbers inside compounds may differ from one to the next.
    """
    if is_number(value):
        return to_tensor(value)
    if carried and isinstance(value, Compound):
        return value._with_parts_([decay(item, deep, carried) for item in value._parts_])
    if deep and isinstance(value, tuple):  # an aggregate's constants are annotated so
        return with_parts(value, [decay(item, True, carried) for item in value])
    return value


def leaves(value: Any) -> Iterator[Any]:
    """The handles inside a value, in order."""
    parts = parts_of(value)
    if parts is not None:
        for item in parts:
            yield from leaves(item)
    elif is_handle(value):
        yield value


def replace_leaves(value: Any, replacements: Iterator[Any]) -> Any:
    """`value` with its handles, in order, exchanged for those of `replacements`."""
    parts = parts_of(value)
    if parts is not None:
        return with_parts(value, [replace_leaves(item, replacements) for item in parts])
    return next(replacements) if is_handle(value) else value


def same_static(a: Any, b: Any) -> bool:
    """Whether two compile-time values are the same one."""
    if a is b:
        return True
    a, b = unwrap(a), unwrap(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same_static(x, y) for x, y in zip(a, b, strict=True))
    try:
        return bool(a == b) or (a != a and b != b)
    except Exception:  # objects with an __eq__ of their own opinion are the same only when identical
        return False


def same_value(a: Any, b: Any) -> bool:
    """Whether two values are the same: equal constants or handles on one IR value."""
    first, second = parts_of(a), parts_of(b)
    if first is not None and second is not None:
        return same_make(a, b) and all(same_value(x, y) for x, y in zip(first, second, strict=True))
    if is_handle(a) or is_handle(b):
        return is_handle(a) and is_handle(b) and a.value is b.value
    return same_static(a, b)


class Mismatch(Exception):
    """Two values cannot be one: `first` and `second` are the differing parts."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.first = first
        self.second = second


def unify(values: tuple[Any, Any]) -> tuple[Any, list[tuple[Any, Any]]]:
    """How two values become one.

    Returns:
        A template whose handles stand for the parts that differ, and those parts pairwise. Parts may still be
        compile-time numbers, which the caller turns into constants on the side they come from.

    Raises:
        Mismatch: A part is a compile-time object on one side and something else on the other.
    """
    first, second = values
    if same_value(first, second):
        return _Same(first), []
    if same_make(first, second):
        items, pairs = [], []
        for pair in zip(parts_of(first) or (), parts_of(second) or (), strict=True):
            item, inner = unify(pair)
            items.append(item)
            pairs += inner
        return _Tuple(first, tuple(items)), pairs
    if all(is_handle(v) or is_number(v) for v in values):
        return _Different(), [(first, second)]
    raise Mismatch(first, second)


@dataclass(frozen=True, slots=True)
class _Same:
    value: Any


@dataclass(frozen=True, slots=True)
class _Different:
    pass


@dataclass(frozen=True, slots=True)
class _Tuple:
    like: Any
    items: tuple[Any, ...]


def fill(template: Any, results: Iterator[Any]) -> Any:
    """The value a template of `unify` describes, its differing parts taken from `results` in order."""
    if isinstance(template, _Same):
        return template.value
    if isinstance(template, _Different):
        return next(results)
    assert isinstance(template, _Tuple)
    return with_parts(template.like, [fill(item, results) for item in template.items])


def set_name(value: Any, name: str, span: Span | None = None) -> None:
    """Gives the IR value behind a handle the user's name, unless it has one; names are hints only."""
    if isinstance(value, Compound):
        value._take_name_(name)
    if is_handle(value) and not value.value.name:
        # Values are frozen so that passes cannot change them; while tracing, nobody has seen this one yet.
        object.__setattr__(value.value, "name", name)
    if span is not None and is_handle(value) and value.value.span == UNKNOWN:
        object.__setattr__(value.value, "span", span)


def set_part_names(value: Any, name: str) -> None:
    """As `set_name`, for each handle inside of a tuple, an object or a cursor: its parts become `name_field` and `name_0`.

    Parts of block pointers and descriptors are mostly other variables, and stay without.
    """
    set_name(value, name)
    if parts_of(value) is not None and not hasattr(type(value), "part_names"):
        for part_name, leaf in zip(part_names(value, name), leaves(value), strict=True):
            set_name(leaf, part_name)


def describe_ir_type(type_: Type) -> str:
    """``tile fp32[64, 64]``, ``scalar i32``, ``pointer *fp32``, ``buffer<...>``."""
    if isinstance(type_, TileType):
        return f"tile {type_}"
    if isinstance(type_, DType):
        return f"scalar {type_.short}"
    if isinstance(type_, PointerType):
        return f"pointer {type_}"
    return str(type_)


def describe_value(value: Any) -> str:
    """One phrase for any value a name can hold."""
    if is_handle(value):
        return describe_ir_type(value.value.type)
    if isinstance(value, Undefined):
        return "no value"
    if isinstance(value, Compound):
        return value._described_
    if hasattr(type(value), "described"):  # block pointers and descriptors
        return str(value.described)
    if isinstance(value, tuple):
        inner = ", ".join(describe_value(item) for item in value)
        return f"tuple ({inner})"
    if isinstance(value, Aggregate):
        inner = ", ".join(f"{name}: {describe_value(item)}" for name, item in value._fields_.items())
        return f"{value._class_.name}({inner})"
    plain = unwrap(value)
    if isinstance(plain, (bool, int, float)):
        return f"the constant {plain!r}"
    if plain is None or isinstance(plain, str):
        return repr(plain)
    name = getattr(plain, "__name__", None)
    return f"the compile-time object {name or plain_text(plain)}"


def handles_of(value: Any) -> list[Value]:
    """The IR values inside a value, in order."""
    return [leaf.value for leaf in leaves(value)]


def with_handles(value: Any, values: Sequence[Value]) -> Any:
    """`value` made of other IR values of the same types, in order."""
    return replace_leaves(value, (rebuild(leaf, new) for leaf, new in zip(leaves(value), values, strict=True)))


set_handles(handles_of, with_handles)
