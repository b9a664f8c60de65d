"""Signatures: which parameters are run-time arguments of which type, and which are constants of which value.

The string is that of Triton's ahead-of-time tool: one entry a parameter, in order, separated by commas. An
entry is a type (``i32``, ``*fp32``), a type with a hint (``*fp32:16``: divisible by 16; ``i32:1``: equal to
1, so a constant), or a literal, which makes the parameter a constant. A mapping from names to types says the
same.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import ArgumentError
from tle2cuda.near_names import did_you_mean
from tle2cuda.runtime.contract import DTYPE_BYTES, ArgSpec
from tle2cuda.runtime.parameters import Parameter, unwrap_constexpr

_TYPE = re.compile(r"(?P<star>\*?)(?P<dtype>[a-z]\w*)(?::(?P<hint>\w+))?")
_DESCRIPTOR = re.compile(
    r"tensordesc<(?P<dtype>[a-z]\w*)\[(?P<shape>\d+(, *\d+)*)\](?:, *(?P<padding>nan|zero))?>(?P<hint>:16)?"
)
_OBJECT_OF_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_DTYPE_ALIASES = {"u1": "i1", "fp8e4m3fn": "fp8e4nv", "fp8e5m2": "fp8e5"}
_FLOAT_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class TupleArgument:
    """A parameter that is a tuple of run-time arguments and constants.

    Attributes:
        kind: `tuple`, or the class of a named tuple.
        items: For each element an `ArgSpec`, another `TupleArgument`, or the value of a constant.
    """

    kind: type
    items: tuple[Any, ...]

    def leaves(self) -> Iterator[ArgSpec]:
        """The run-time arguments inside."""
        for item in self.items:
            if isinstance(item, ArgSpec):
                yield item
            elif isinstance(item, (TupleArgument, DescriptorArgument)):
                yield from item.leaves()


@dataclass(frozen=True, slots=True)
class DescriptorArgument:
    """A parameter that is a tensor descriptor made on the host.

    Attributes:
        base: The tensor.
        shape: Its extents.
        strides: Its strides without the last, which is 1.
        block_shape: Extents of a tile.
        padding: What elements outside of the tensor read as.
    """

    base: ArgSpec
    shape: tuple[ArgSpec, ...]
    strides: tuple[ArgSpec, ...]
    block_shape: tuple[int, ...]
    padding: str

    def leaves(self) -> Iterator[ArgSpec]:
        """The run-time arguments inside."""
        yield self.base
        yield from self.shape
        yield from self.strides


@dataclass(frozen=True, slots=True)
class Specialization:
    """What a kernel is compiled for.

    Attributes:
        args: Run-time arguments in parameter order, those inside tuples in place of the tuple.
        constants: Constant parameters in parameter order, as pairs of name and Python object; a tuple with run-time
            elements is a `TupleArgument`, a tensor descriptor a `DescriptorArgument`.
    """

    args: tuple[ArgSpec, ...]
    constants: tuple[tuple[str, Any], ...]

    def constants_dict(self) -> dict[str, Any]:
        """The constants by name."""
        return dict(self.constants)


def parse_signature(
    parameters: Sequence[Parameter],
    signature: str | Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    kernel: str = "kernel",
) -> Specialization:
    """Turn a signature and constants into one specialisation.

    The entries of a string stand for the parameters without a value in `constants`, in order. Parameters left
    out must have defaults. In a mapping the type may be ``"constexpr"`` when `constants` gives the value.

    Args:
        parameters: The kernel's parameters.
        signature: String or mapping.
        constants: Values of constants by parameter name.
        kernel: Name of the kernel, for messages.

    Raises:
        ArgumentError: Count, names, types or values do not fit the parameters.
    """
    given = {name: unwrap_constexpr(value) for name, value in (constants or {}).items()}
    names = [p.name for p in parameters]
    for name in given:
        _check_name(name, names, "constants", kernel)
    if isinstance(signature, str):
        entries = assign_entries(parameters, split_signature(signature), given, kernel)
    elif not isinstance(signature, Mapping):
        raise ArgumentError(
            f"the signature of {kernel} is a string or a mapping, got {type(signature).__name__}",
            help=f"give one entry for each of {', '.join(names)}, such as '*fp32:16, i32, 1024'",
        )
    else:
        entries = dict(signature)
        for name in entries:
            _check_name(name, names, "the signature", kernel)
    args: list[ArgSpec] = []
    bound: list[tuple[str, Any]] = []
    for parameter in parameters:
        item = _bind(parameter, entries, given, kernel)
        if isinstance(item, ArgSpec):
            args.append(item)
        else:
            if isinstance(item.value, DescriptorArgument):
                args.extend(item.value.leaves())
            bound.append((parameter.name, item.value))
    return Specialization(tuple(args), tuple(bound))


@dataclass(frozen=True, slots=True)
class _Constant:
    value: Any


def _check_name(name: str, names: list[str], where: str, kernel: str) -> None:
    if name not in names:
        raise ArgumentError(
            f"{kernel} has no parameter {name!r}, which {where} names",
            facts=(f"parameters: {', '.join(names)}",),
            help=did_you_mean(name, names, shortened=True),
        )


def split_signature(text: str) -> list[str]:
    """Split at the commas that are not inside quotes or brackets.

    Raises:
        ArgumentError: A quote or bracket is not closed, or an entry is empty.
    """
    entries, depth, quote, current = [], 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{<":
            depth += 1
        elif char in ")]}>":
            depth -= 1
        elif char == "," and depth == 0:
            entries.append(current.strip())
            current = ""
            continue
        current += char
    if quote or depth:
        raise ArgumentError(f"unbalanced quote or bracket in signature {text!r}")
    if current.strip() or entries:
        entries.append(current.strip())
    if entries and not entries[-1]:
        entries.pop()  # a trailing comma, as in a Python tuple
    for position, entry in enumerate(entries, 1):
        if not entry:
            raise ArgumentError(f"entry {position} of the signature {text!r} is empty")
    return entries


def assign_entries(
    parameters: Sequence[Parameter], entries: list[str], given: Mapping[str, Any], kernel: str
) -> dict[str, str]:
    """Which parameter each entry of a signature string stands for.

    Raises:
        ArgumentError: There are more or fewer entries than parameters that may have one.
    """
    if len(entries) == len(parameters):
        return dict(zip((p.name for p in parameters), entries, strict=True))
    open_parameters = [p for p in parameters if p.name not in given]
    required = len(open_parameters)
    while required and open_parameters[required - 1].has_default:
        required -= 1
    if required <= len(entries) <= len(open_parameters):
        return {p.name: entry for p, entry in zip(open_parameters, entries, strict=False)}
    expected = str(required) if required == len(open_parameters) else f"{required} to {len(open_parameters)}"
    raise ArgumentError(
        f"the signature of {kernel} has {len(entries)} {'entry' if len(entries) == 1 else 'entries'}, expected {expected}",
        facts=(
            f"parameters without a constant: {', '.join(p.name for p in open_parameters)}",
            f"entries: {', '.join(entries)}",
        ),
        help="give one entry per parameter: a type such as *fp32:16 or i32, or the value of a constexpr (constants= and "
        "--constants take it, too)",
    )


def _bind(parameter: Parameter, entries: Mapping[str, Any], given: Mapping[str, Any], kernel: str) -> ArgSpec | _Constant:
    """What one parameter becomes."""
    name = parameter.name
    if name not in entries:
        if name in given:
            return _Constant(given[name])
        if parameter.has_default:
            return _Constant(parameter.default)
        what = "a value" if parameter.is_constexpr else "a type"
        raise ArgumentError(f"{kernel}: parameter `{name}` has neither {what} in the signature nor a constant")
    entry = entries[name]
    if entry == "constexpr":
        if name in given:
            return _Constant(given[name])
        if parameter.has_default:
            return _Constant(parameter.default)
        raise ArgumentError(
            f"{kernel}: `{name}` is constexpr in the signature, but constants give it no value",
            help=f"add it to the constants: {{{name!r}: ...}}",
        )
    item = parse_entry(name, entry)
    if isinstance(item, ArgSpec):
        if name in given:
            raise ArgumentError(
                f"{kernel}: `{name}` has the type {entry} in the signature and the value {given[name]!r} "
                "in the constants; give one of them"
            )
        if parameter.is_constexpr:
            raise ArgumentError(
                f"{kernel}: `{name}` is a tl.constexpr: the signature gives its value, not the type {entry}",
                help=f"write a literal such as 1024 in the place of {entry}",
            )
        return item  # also against a type in the annotation, which is for launches: as in Triton, the signature decides
    if name in given and not _same_value(given[name], item.value):
        raise ArgumentError(f"{kernel}: `{name}` is {item.value!r} in the signature and {given[name]!r} in the constants")
    return item


def _same_value(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def parse_entry(name: str, entry: Any) -> ArgSpec | _Constant:
    """Parse one entry: a type makes an `ArgSpec`, a literal a constant.

    Raises:
        ArgumentError: The entry is neither.
    """
    if not isinstance(entry, str):
        return _Constant(unwrap_constexpr(entry))
    text = entry.strip()
    is_literal, value = _literal(text)
    if is_literal:
        return _Constant(value)
    descriptor = _descriptor(name, text)
    if descriptor is not None:
        return _Constant(descriptor)
    if text.startswith("tl."):
        return _Constant(_language_name(name, text))
    match = _TYPE.fullmatch(text)
    if match is None:
        raise ArgumentError(
            f"`{name}`: {text!r} is neither a type nor a literal",
            help="types are written i32, *fp32 or *fp32:16; strings are quoted; dtypes are tl.float32",
        )
    dtype = match["dtype"]
    is_const = dtype.startswith("k") and bool(match["star"])  # Triton's *k marks a pointer to constants
    dtype = dtype[1:] if is_const else dtype
    dtype = _DTYPE_ALIASES.get(dtype, dtype)
    if dtype not in DTYPE_BYTES:
        raise ArgumentError(
            f"`{name}`: unknown type {dtype!r} in the signature entry {text!r}",
            facts=(f"types: {', '.join(DTYPE_BYTES)}, and * before any for a pointer",),
            help=did_you_mean(dtype, DTYPE_BYTES),
        )
    return _apply_hint(name, text, bool(match["star"]), dtype, is_const, match["hint"])


def _descriptor(name: str, text: str) -> DescriptorArgument | None:
    """The argument that ``tensordesc<fp16[64, 64]>`` means; None when it is something else.

    ``:16`` behind it says that the innermost extent is divisible by 16.
    """
    match = _DESCRIPTOR.fullmatch(text)
    if match is None:
        return None
    dtype = _DTYPE_ALIASES.get(match["dtype"], match["dtype"])
    if dtype not in DTYPE_BYTES:
        raise ArgumentError(
            f"`{name}`: unknown type {dtype!r} in the signature entry {text!r}", help=did_you_mean(dtype, DTYPE_BYTES)
        )
    shape = tuple(int(extent) for extent in match["shape"].split(","))
    rank = len(shape)
    base = ArgSpec(f"{name}_base", "pointer", dtype, 16)
    extents = tuple(ArgSpec(f"{name}_extent{axis}", "scalar", "i32") for axis in range(rank))
    if match["hint"]:
        extents = (*extents[:-1], ArgSpec(f"{name}_extent{rank - 1}", "scalar", "i32", 16))
    strides = tuple(ArgSpec(f"{name}_stride{axis}", "scalar", "i64") for axis in range(rank - 1))
    return DescriptorArgument(base, extents, strides, shape, match["padding"] or "zero")


def _apply_hint(name: str, text: str, pointer: bool, dtype: str, is_const: bool, hint: str | None) -> ArgSpec | _Constant:
    kind: Any = "pointer" if pointer else "scalar"
    if hint is None:
        return ArgSpec(name, kind, dtype, 1, is_const)
    if hint == "1":
        if pointer or not dtype.startswith(("i", "u")):
            raise ArgumentError(f"`{name}`: the hint :1 in {text!r} is for integers, which it makes the constant 1")
        return _Constant(1)
    if hint == "16":
        if not pointer and not dtype.startswith(("i", "u")):
            raise ArgumentError(f"`{name}`: the hint :16 in {text!r} is for pointers and integers")
        return ArgSpec(name, kind, dtype, 16, is_const)
    raise ArgumentError(
        f"`{name}`: unknown hint :{hint} in {text!r}",
        help=":16 says divisible by 16 (for a pointer: aligned to 16 bytes), :1 says equal to 1",
    )


def _literal(text: str) -> tuple[bool, Any]:
    """Whether the text is a Python literal, and its value."""
    if text in _FLOAT_WORDS:
        return True, _FLOAT_WORDS[text]
    try:
        return True, ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _language_name(name: str, text: str) -> Any:
    """Object of `tle2cuda.language` for an entry such as ``tl.float32``."""
    import tle2cuda.language as language

    attribute = text.removeprefix("tl.")
    if not hasattr(language, attribute):
        raise ArgumentError(f"`{name}`: tl has no {attribute!r}", help=did_you_mean(attribute, language.__all__))
    return getattr(language, attribute)


def parse_constant(text: str, objects: Mapping[str, Any] | None = None) -> tuple[str, Any]:
    """Parse ``NAME=VALUE`` of the command line.

    The value is, in this order: a Python literal (so quotes always make a string), ``tl.NAME``, ``MODULE:NAME``
    for an object of a module, the name of a module-level object of the kernel's file such as a mesh, or else a
    string.

    Args:
        text: The argument.
        objects: Module-level objects of the kernel's file by name.

    Raises:
        ArgumentError: There is no ``=``, or no such object.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ArgumentError(f"a constant is written NAME=VALUE, got {text!r}")
    is_literal, parsed = _literal(value)
    if is_literal:
        return name, parsed
    if value.startswith("tl."):
        return name, _language_name(name, value)
    if _OBJECT_OF_MODULE.fullmatch(value):
        return name, _object_of_module(name, value)
    if objects and value in objects:
        return name, unwrap_constexpr(objects[value])
    return name, value


def _object_of_module(name: str, text: str) -> Any:
    """The object that ``MODULE:NAME`` names."""
    module_name, _, attribute = text.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ArgumentError(
            f"`{name}`: {text!r} names the module {module_name}, which cannot be imported: {error}",
            help="quote the value if a string is meant",
        ) from None
    if not hasattr(module, attribute):
        raise ArgumentError(
            f"`{name}`: the module {module_name} has no {attribute!r}", help=did_you_mean(attribute, vars(module))
        )
    return unwrap_constexpr(getattr(module, attribute))
