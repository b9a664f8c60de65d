"""Constants and launch options of a kernel that `autotune` and `heuristics` decide, when it is compiled without a launch.

Nothing is measured: one configuration is taken. A heuristic sees what the signature and the constants say of the
arguments; one that asks for the value of an argument which is known at launches only cannot be computed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from tle2cuda.compiler import kernel_parameters
from tle2cuda.errors import ArgumentError
from tle2cuda.runtime.contract import DTYPE_BYTES, ArgSpec
from tle2cuda.runtime.descriptions import array_dtype_name
from tle2cuda.runtime.parameters import Parameter, unwrap_constexpr
from tle2cuda.runtime.signature import assign_entries, parse_entry, split_signature
from tle2cuda.tuning.autotuner import Autotuner
from tle2cuda.tuning.compiling import first_line
from tle2cuda.tuning.computed import Heuristics
from tle2cuda.tuning.config import Config
from tle2cuda.tuning.wrapping import kernel_of

OPTIONS = ("num_warps", "num_stages", "maxnreg")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a kernel is compiled with.

    Attributes:
        constants: Constants by name: those that were given, and those that the decorators decide.
        options: Those of `OPTIONS` that were given or that the configuration decides.
        summary: What the decorators decided, in one line; empty when they decided nothing.
    """

    constants: dict[str, Any]
    options: dict[str, Any]
    summary: str = ""


def choose(
    kernel: Any,
    signature: str | Mapping[str, Any],
    constants: Mapping[str, Any],
    options: Mapping[str, Any],
    config: int | None = None,
    values: Mapping[str, Any] | None = None,
) -> Choice:
    """Decides what the decorators of a kernel leave open.

    What is given goes before what a configuration or a heuristic says.

    Args:
        kernel: A jit object, or what tuners and heuristics made of it.
        signature: Types and values of the parameters, as for `tle2cuda.compile`. A string may leave out what the
            decorators decide.
        constants: Constants that are given.
        options: Those of `OPTIONS` that are given.
        config: The configuration to take, counted from 1. None takes the first one that agrees with all that is given,
            else the first.
        values: Values of run-time scalars that heuristics may ask for.

    Raises:
        ArgumentError: There is no such configuration, a heuristic cannot be computed, or the signature does not fit.
    """
    layers = list(_layers(kernel))
    tuners = [layer for layer in layers if isinstance(layer, Autotuner)]
    name = str(getattr(kernel_of(kernel), "__name__", "kernel"))
    if config is not None and not tuners:
        raise ArgumentError(f"{name} has no configurations: nothing but autotune makes them")
    if not layers:
        return Choice(dict(constants), dict(options))
    parameters = kernel_parameters(kernel_of(kernel))
    decided = _decided(layers, parameters)
    entries = _entries(parameters, signature, constants, decided, name)
    known = _known_arguments(parameters, entries, constants, values or {})
    result = Choice({**constants}, dict(options))
    notes: list[str] = []
    for layer in layers:  # outermost first, as at a launch
        if isinstance(layer, Autotuner):
            fixed = {**known.given, **options}
            chosen, note = _configuration(layer, fixed, config, name)
            notes.append(note)
            found = unwrap_all(chosen.all_kwargs())
            result.options.update({key: found[key] for key in OPTIONS if key in found and key not in options})
        else:
            found = _computed(layer, known, name)
            if found:
                notes.append("heuristics: " + " ".join(f"{key}={value}" for key, value in found.items()))
        for key, value in found.items():
            if key not in known.given:
                known[key] = value
                if key in decided:
                    result.constants[key] = value
    return Choice(result.constants, result.options, f"{name}: {'; '.join(notes)}" if notes else "")


def unwrap_all(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values without `tl.constexpr` around them."""
    return {key: unwrap_constexpr(value) for key, value in values.items()}


def _layers(kernel: Any) -> Iterator[Autotuner | Heuristics]:
    """The tuners and heuristics around a kernel, outermost first; other wrappers decide nothing that is known here."""
    inner, layer = kernel_of(kernel), kernel
    while layer is not inner:
        if isinstance(layer, (Autotuner, Heuristics)):
            yield layer
        layer = layer.fn


def _decided(layers: Sequence[Autotuner | Heuristics], parameters: Sequence[Parameter]) -> dict[str, type]:
    """The constexpr parameters that decorators decide, with the kind of decorator."""
    constexprs = {p.name for p in parameters if p.is_constexpr}
    found: dict[str, type] = {}
    for layer in layers:
        names = layer.values if isinstance(layer, Heuristics) else {key for c in layer.configs for key in c.kwargs}
        found.update({name: type(layer) for name in names if name in constexprs})
    return found


def _entries(
    parameters: Sequence[Parameter],
    signature: str | Mapping[str, Any],
    constants: Mapping[str, Any],
    decided: Mapping[str, type],
    name: str,
) -> dict[str, Any]:
    """Which parameter each entry stands for: a signature may leave out all that is decided, or one kind, or nothing.

    Raises:
        ArgumentError: It fits in no way.
    """
    if not isinstance(signature, str):
        return dict(signature)
    entries = split_signature(signature)
    computed = [key for key, kind in decided.items() if issubclass(kind, Heuristics)]
    tuned = [key for key in decided if key not in computed]
    failures: list[ArgumentError] = []
    for left_out in (list(decided), computed, tuned, []):
        try:
            return assign_entries(parameters, entries, {**constants, **dict.fromkeys(left_out)}, name)
        except ArgumentError as error:
            failures.append(error)
    raise failures[0]


class _Arguments(dict[str, Any]):
    """Arguments of a launch that does not take place, as heuristics see them.

    Attributes:
        given: Names of constants whose values are given.
    """

    given: dict[str, Any]


def _known_arguments(
    parameters: Sequence[Parameter], entries: Mapping[str, Any], constants: Mapping[str, Any], values: Mapping[str, Any]
) -> _Arguments:
    known = _Arguments()
    known.given = unwrap_all(constants)
    for parameter in parameters:
        name = parameter.name
        if name in entries and entries[name] != "constexpr":
            item = parse_entry(name, entries[name])
            if not isinstance(item, ArgSpec):
                known.given[name] = item.value
            elif item.kind == "pointer":
                known[name] = _Tensor(item)
            else:
                known[name] = values.get(name, _Unknown(name))
        elif parameter.has_default and name not in known.given:
            known[name] = parameter.default
    known.update(known.given)
    return known


def _configuration(tuner: Autotuner, fixed: Mapping[str, Any], number: int | None, name: str) -> tuple[Config, str]:
    """The configuration to take, and a line about it."""
    count = len(tuner.configs)
    if number is not None and not 1 <= number <= count:
        raise ArgumentError(
            f"--config is a number from 1 to {count} for {name}, got {number}",
            facts=tuple(f"{index}: {config.brief()}" for index, config in enumerate(tuner.configs, 1)),
        )
    if number is None:
        number = next((i for i, config in enumerate(tuner.configs, 1) if not _overridden(config, fixed)), 1)
    config = tuner.configs[number - 1]
    changed = _overridden(config, fixed)
    but = f", but for {' '.join(f'{key}={fixed[key]}' for key in changed)}" if changed else ""
    return config, f"configuration {number} of {count}: {config.brief()}{but}"


def _overridden(config: Config, fixed: Mapping[str, Any]) -> list[str]:
    """What is given otherwise than a configuration says."""
    own = {**unwrap_all(config.kwargs), **{key: getattr(config, key) for key in OPTIONS}}
    return [key for key in own if key in fixed and fixed[key] != own[key]]


def _computed(layer: Heuristics, known: _Arguments, name: str) -> dict[str, Any]:
    """The values of heuristics that are not given; each sees those before it.

    Raises:
        ArgumentError: One asks for what is not known, or fails.
    """
    found: dict[str, Any] = {}
    for key, function in layer.values.items():
        if key in known.given:
            continue
        try:
            found[key] = known[key] = unwrap_constexpr(function(known))
        except _NotKnown as error:
            reason = f"asks for {error}, which is not known before a launch"
        except Exception as error:
            reason = f"fails: {first_line(error)}"
        else:
            if not isinstance(found[key], _Unknown):
                continue
            reason = f"is {found[key]!r}, which is not known before a launch"
        raise ArgumentError(
            f"{name}: the heuristic of `{key}` {reason}", help=f"give the constant: --constants {key}=..."
        ) from None
    return found


class _NotKnown(Exception):
    """A heuristic asks for what is known at launches only."""


class _Unknown:
    """Stands for an argument of which the type is known; whoever asks for more learns that it is not."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"the value of `{self._name}`"

    def _ask(self, *_: Any) -> NoReturn:
        raise _NotKnown(repr(self))

    def __getattr__(self, attribute: str) -> NoReturn:
        raise _NotKnown(f"`{self._name}.{attribute}`")

    __hash__ = object.__hash__


_OPERATORS = (
    "add sub mul truediv floordiv mod divmod pow lshift rshift and or xor "
    "radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand ror rxor "
    "lt le eq ne gt ge neg pos abs invert int float index bool complex round trunc floor ceil "
    "len iter getitem contains call str format"
)
for _operator in _OPERATORS.split():
    setattr(_Unknown, f"__{_operator}__", _Unknown._ask)


class _Tensor(_Unknown):
    """Stands for a tensor, of which the dtype is known.

    Args:
        spec: The pointer.
    """

    def __init__(self, spec: ArgSpec) -> None:
        super().__init__(spec.name)
        self._dtype = spec.dtype

    @property
    def dtype(self) -> Any:
        """The dtype, of torch where that is in use."""
        torch = sys.modules.get("torch")
        name = array_dtype_name(self._dtype)
        if torch is not None and hasattr(torch, name):
            return getattr(torch, name)
        from tle2cuda.ir.types import DType

        return DType(self._dtype)

    def element_size(self) -> int:
        """Bytes of an element."""
        return DTYPE_BYTES[self._dtype]
