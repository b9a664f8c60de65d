"""The launch function of a kernel, and the key under which a specialisation is found again.

`make_launcher` writes the loop over the parameters out as Python source, so that a launch costs little; how arguments are
classified stands in `tle2cuda.runtime.descriptions`.
"""

from __future__ import annotations

import operator
import sys
from bdb import BdbQuit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any

from tle2cuda.errors import ArgumentError, InternalError, KernelError
from tle2cuda.runtime.contract import ArgSpec
from tle2cuda.runtime.descriptions import (
    HOST,
    SIZED,
    SPECIALIZED,
    UNALIGNED,
    UNSPECIALIZED,
    array_dtype,
    constant_key,
    describe,
    table_of,
)
from tle2cuda.runtime.descriptor import TensorDescriptor
from tle2cuda.runtime.frames import hide_frames
from tle2cuda.runtime.parameters import Parameter, unwrap_constexpr
from tle2cuda.runtime.signature import DescriptorArgument, Specialization, TupleArgument


class _Missing:
    """Stands for an argument that was not passed; nothing can be made of it."""

    __hash__ = None  # type: ignore[assignment]


_MISSING = _Missing()


class _NoTensor:
    """Stands for torch's class of tensors where torch is not imported; no argument is one."""


_LAUNCHER = """\
def {name}(__grid, /, {header}, **__options):
    try:
        if __rest or __hooks.active:
            return __slow(__grid, ({positional}), {{{keywords}**__options}}, __rest)
        try:
{describe}
            __key = ({keys}) if not __options else ({keys}__tuple(__options.items()))
            __launch = __launches[__key]
        except (__KeyError, __TypeError, __ValueError):  # a value that cannot be passed is refused with its name
            __launch = None
        if __launch is None:
            return __slow(__grid, ({positional}), {{{keywords}**__options}}, __rest)
        if __type(__grid) is not __tuple and __callable(__grid):
            try:
                __grid = __grid({{{named}}})
            except __KeyError:  # a name that is none, perhaps, which the other path tells
                return __slow(__grid, ({positional}), {{{keywords}**__options}}, __rest)
        return __launch(__grid, ({values}))
    except __InternalError:
        raise
    except __hidden as __error:
        __hide_frames(__error)
        raise
"""

_DESCRIBE_CONSTANT = """\
            if __type({p}) is __int: __k{i} = __v{i} = {p}
            else: __k{i}, __v{i} = __constant({p})"""

_DESCRIBE_VALUE = """\
            __t = __type({p})
            if __t is __int and -0x80000000 <= {p} <= 0x7fffffff:
                __v{i} = {p}; __k{i} = {integer}
            elif __t is __Tensor and (__d := {p}.get_device()) >= 0:
                __v{i} = {p}.data_ptr(); __k{i} = {p}.dtype, __d, not __v{i} & 15
            else: __k{i}, __v{i} = {table}[__t]({p})"""

_INTEGER_KEYS = {
    "__specialized": '"1" if {p} == 1 else "i32" if {p} & 15 else "i32:16"',
    "__unaligned": '"1" if {p} == 1 else "i32"',
    "__unspecialized": '"i32"',
    "__sized": '"i32" if {p} & 15 else "i32:16"',
}

Slow = Callable[[Any, tuple[Any, ...], dict[str, Any], tuple[Any, ...]], Any]


def make_launcher(
    parameters: Sequence[Parameter], kernel: str, launches: Mapping[Any, Callable[..., Any]], slow: Slow, hooks: Any
) -> Callable[..., Any]:
    """The function behind `kernel[grid]`: of the grid, the kernel's own parameters, and launch options.

    It makes a key, a tuple with one hashable element per parameter and one for the options, that is equal for
    arguments that share a specialisation; finds the launch of that key; and hands over grid and values. All else it
    leaves to `slow`: keys that are new, arguments that do not fit, hooks.

    Args:
        parameters: The kernel's parameters.
        kernel: Name for tracebacks.
        launches: Launches by key; `slow` adds to it.
        slow: Called with the grid and the arguments: grid, positional, keyword, surplus ones.
        hooks: Has `active`, true while launches are to be told to someone.
    """
    namespace: dict[str, Any] = {
        "__specialized": SPECIALIZED,
        "__unspecialized": UNSPECIALIZED,
        "__unaligned": UNALIGNED,
        "__sized": SIZED,
        "__constant": constant_key,
        "__launches": launches,
        "__slow": slow,
        "__hooks": hooks,
        # Kernels may have parameters named type and int.
        "__type": type,
        "__int": int,
        "__tuple": tuple,
        "__callable": callable,
        "__KeyError": KeyError,
        "__TypeError": TypeError,
        "__ValueError": ValueError,
        "__InternalError": InternalError,
        "__hidden": (KernelError, BdbQuit),
        "__hide_frames": hide_frames,
        "__missing": _MISSING,
        # What most arguments are is written out; where torch is imported later, the tables serve as well.
        "__Tensor": getattr(sys.modules.get("torch"), "Tensor", _NoTensor),
    }
    tables = {id(namespace[name]): name for name in _INTEGER_KEYS}
    positional: list[str] = []
    keyword_only: list[str] = []
    lines: list[str] = []
    for index, parameter in enumerate(parameters):
        default = "__missing"
        if parameter.has_default:
            default = f"__default{index}"
            namespace[default] = parameter.default
        (keyword_only if parameter.keyword_only else positional).append(f"{parameter.name}={default}")
        if parameter.is_constexpr:
            lines.append(_DESCRIBE_CONSTANT.format(p=parameter.name, i=index))
        else:
            table = tables[id(table_of(parameter))]
            integer = _INTEGER_KEYS[table].format(p=parameter.name)
            lines.append(_DESCRIBE_VALUE.format(p=parameter.name, i=index, table=table, integer=integer))
    name = kernel if kernel.isidentifier() and not iskeyword(kernel) else "kernel"
    source = _LAUNCHER.format(
        name=name,
        header=", ".join((*positional, "*__rest", *keyword_only)),
        describe="\n".join(lines),
        positional="".join(f"{p.name}, " for p in parameters if not p.keyword_only),
        keywords="".join(f"{p.name!r}: {p.name}, " for p in parameters if p.keyword_only),
        named="".join(f"{p.name!r}: {p.name}, " for p in parameters),
        keys="".join(f"__k{index}, " for index in range(len(parameters))),
        values="".join(f"__v{index}, " for index in range(len(parameters))),
    )
    exec(compile(source, f"<launch of {kernel}>", "exec"), namespace)
    launcher: Callable[..., Any] = namespace[name]
    return launcher


def launch_key(parameters: Sequence[Parameter], arguments: Sequence[Any], options: Iterable[tuple[str, Any]] = ()) -> Any:
    """The key under which the launcher of `make_launcher` looks for these arguments; None when it has none.

    Args:
        parameters: The kernel's parameters.
        arguments: One value for each.
        options: Launch options, in the order of the call.

    Raises:
        ArgumentError: A value cannot be passed.
    """
    keys = [describe(parameter, value)[0] for parameter, value in zip(parameters, arguments, strict=True)]
    chosen = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in options)
    key = (*keys, chosen) if chosen else tuple(keys)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def passed_arguments(
    parameters: Sequence[Parameter], positional: Sequence[Any], keywords: Mapping[str, Any], surplus: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the caller of a launcher passed: the stand-ins for missing arguments left out.

    Args:
        parameters: The kernel's parameters.
        positional: Values of the parameters that may be passed by position.
        keywords: Values of the others, and options.
        surplus: Arguments beyond the parameters.
    """
    found = {name: value for name, value in keywords.items() if value is not _MISSING}
    if surplus:
        return (*positional, *surplus), found
    names = [parameter.name for parameter in parameters if not parameter.keyword_only]
    given = {name: value for name, value in zip(names, positional, strict=True) if value is not _MISSING}
    return (), {**given, **found}


# --- Specialisation: the slow path, once for each key ---

Place = int | tuple[int, ...]
"""Where a run-time argument stands: the position of its parameter; in a tuple, followed by positions inside it."""


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """What the arguments of a launch say about compiling and running it.

    Attributes:
        specialization: Types and constants to compile for.
        device: Device of the arrays; `HOST` for NumPy arrays; None when there is no array.
        library: Top-level module of the first array's type, such as ``torch`` or ``cupy``; empty without
            arrays.
        runtime_indices: Places of the run-time arguments in order.
    """

    specialization: Specialization
    device: int | None
    library: str
    runtime_indices: tuple[Place, ...]


@dataclass
class _Collected:
    """What is found while the arguments are walked."""

    names: frozenset[str]
    specs: list[ArgSpec] = field(default_factory=list)
    indices: list[Place] = field(default_factory=list)
    places: dict[int, str] = field(default_factory=dict)
    library: str = ""

    def unused(self, name: str) -> str:
        """A name for a part of an argument: an identifier that no parameter has."""
        while name in self.names:
            name += "_"
        return name


def specialize(parameters: Sequence[Parameter], arguments: Sequence[Any], kernel: str = "kernel") -> BoundArguments:
    """Everything that the key of `make_launcher` stands for.

    Args:
        parameters: The kernel's parameters.
        arguments: One Python value for each, defaults filled in.
        kernel: Name for messages.

    Raises:
        ArgumentError: A value cannot be passed, or arrays lie on different devices.
    """
    found = _Collected(frozenset(parameter.name for parameter in parameters))
    constants: list[tuple[str, Any]] = []
    for index, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        key, _ = describe(parameter, value)
        if parameter.is_constexpr:
            constants.append((parameter.name, unwrap_constexpr(value)))
            continue
        item = _walk(parameter, key, value, index, found)
        if not isinstance(item, ArgSpec):
            constants.append((parameter.name, item))
    if len(found.places) > 1:
        facts = tuple(f"`{name}`: {'host memory' if d == HOST else f'GPU {d}'}" for d, name in found.places.items())
        raise ArgumentError(f"{kernel}: the arrays do not lie on one device", facts=facts)
    device = next(iter(found.places), None)
    specialization = Specialization(tuple(found.specs), tuple(constants))
    return BoundArguments(specialization, device, found.library, tuple(found.indices))


def _walk(parameter: Parameter, key: Any, value: Any, place: Place, found: _Collected) -> Any:
    """What an argument becomes: an `ArgSpec`, which is also collected, a `TupleArgument`, or a constant."""
    if key is None or type(value).__name__ == "constexpr":
        return unwrap_constexpr(value)
    if isinstance(value, tuple):
        path = place if isinstance(place, tuple) else (place,)
        items = []
        for position, (item_key, item) in enumerate(zip(key[1:], value, strict=True)):
            inner = replace(parameter, name=found.unused(f"{parameter.name}_{position}"), dtype="")
            items.append(_walk(inner, item_key, item, (*path, position), found))
        return TupleArgument(type(value), tuple(items))
    if isinstance(value, TensorDescriptor):
        return _walk_descriptor(parameter, key, value, place, found)
    if key == "1" and not parameter.dtype:
        return 1
    return _collect(_arg_spec(parameter, key), key, value, place, found)


def _walk_descriptor(
    parameter: Parameter, key: Any, value: TensorDescriptor, place: Place, found: _Collected
) -> DescriptorArgument:
    path = place if isinstance(place, tuple) else (place,)
    name = parameter.name
    base = replace(parameter, name=found.unused(f"{name}_base"), specialize=True, specialize_alignment=True)
    base_spec = _collect(_arg_spec(base, key.parts[0]), key.parts[0], value.base, (*path, 0), found)
    parts: list[tuple[ArgSpec, ...]] = []
    for position, (part, dtype, count) in enumerate(
        (("extent", "i32", len(value.shape)), ("stride", "i64", len(value.strides) - 1)), 1
    ):
        specs = [ArgSpec(found.unused(f"{name}_{part}{axis}"), "scalar", dtype) for axis in range(count)]
        if part == "extent" and key.parts[3]:
            specs[-1] = replace(specs[-1], divisibility=16)
        parts.append(tuple(_collect(spec, dtype, None, (*path, position, axis), found) for axis, spec in enumerate(specs)))
    return DescriptorArgument(base_spec, parts[0], parts[1], tuple(value.block_shape), value.padding)


def _collect(spec: ArgSpec, key: Any, value: Any, place: Place, found: _Collected) -> ArgSpec:
    """Notes a run-time argument."""
    found.specs.append(spec)
    found.indices.append(place)
    if not isinstance(key, str) and key[1] is not None:
        found.places.setdefault(key[1], spec.name)
        found.library = found.library or type(value).__module__.partition(".")[0]
    elif not isinstance(key, str) and type(key[0]).__module__ == "torch":  # an object with an address and torch's dtype
        found.library = found.library or "torch"
    return spec


def _arg_spec(parameter: Parameter, key: Any) -> ArgSpec:
    if isinstance(key, str):
        dtype, _, hint = key.partition(":")
        if parameter.python_type and parameter.dtype == "i32" and dtype in ("i64", "u64"):
            raise ArgumentError(
                f"argument `{parameter.name}` is annotated int, which is i32 as in Triton, and its value needs {dtype}",
                help="annotate it tl.int64, or not at all",
            )
        divisible = 16 if hint and parameter.specialize_alignment else 1
        return ArgSpec(parameter.name, "scalar", parameter.dtype or dtype, divisible)
    dtype, _, aligned = key
    divisible = 16 if aligned and parameter.specialize and parameter.specialize_alignment else 1
    pointee = array_dtype(str(dtype))
    if parameter.pointee not in ("", pointee):
        raise ArgumentError(
            f"argument `{parameter.name}` is annotated as a pointer to {parameter.pointee}, the array's dtype is {dtype}",
            help="drop the annotation, or pass `triton.reinterpret(array, dtype)`",
        )
    return ArgSpec(parameter.name, "pointer", pointee, divisible)


def picker(indices: Sequence[Place]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """A function that takes the run-time values out of the values of all parameters."""
    plain = [index for index in indices if isinstance(index, int)]
    if len(plain) < len(indices):  # written out, as it runs at every launch
        paths = [index if isinstance(index, tuple) else (index,) for index in indices]
        items = "".join("values" + "".join(f"[{position}]" for position in path) + ", " for path in paths)
        pick: Callable[[tuple[Any, ...]], tuple[Any, ...]] = eval(f"lambda values: ({items})")
        return pick
    if len(plain) > 1:
        return operator.itemgetter(*plain)
    if plain:
        return lambda values: (values[plain[0]],)
    return lambda values: ()
