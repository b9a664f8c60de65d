"""Inputs of an emulation on the command line: made by a function of the user's, or described in words."""

from __future__ import annotations

import errno
import inspect
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tle2cuda.emulator.api import emulate
from tle2cuda.emulator.results import Emulation
from tle2cuda.errors import ArgumentError, CompilationError, KernelError
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.ir.types import DType
from tle2cuda.near_names import did_you_mean
from tle2cuda.runtime.contract import ArgSpec, LaunchContract
from tle2cuda.runtime.loading import last_line, load_module
from tle2cuda.runtime.signature import parse_constant

_ARRAY = re.compile(r"(?P<shape>\d+(?:x\d+)*)(?::(?P<fill>.+))?")
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
_MOST_ELEMENTS = 1 << 30  # 8 GiB of what fills them
_SEED = 0

FORMS = "'x=4096', 'x=64x128:range', 'ids=4096:0..512', 'x=x.npy', 'n=4096'"


def inputs_from_function(reference: str) -> tuple[Any, Any]:
    """Grid and arguments that the function ``PATH::FUNCTION`` returns.

    Raises:
        ArgumentError: There is no such function, or it returns something else.
    """
    path, _, name = reference.partition("::")
    _check_file(path)
    module = load_module(Path(path))
    function = getattr(module, name, None)
    if not callable(function):
        functions = (key for key, value in vars(module).items() if inspect.isfunction(value))
        raise ArgumentError(f"--inputs: {Path(path).name} holds no function `{name}`", help=did_you_mean(name, functions))
    try:
        result = function()
    except KernelError:
        raise
    except Exception as error:
        text = f"--inputs: `{name}` fails: {type(error).__name__}: {error}"
        raise CompilationError(text, last_line(error, Path(path))) from None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ArgumentError(
            f"--inputs: `{name}` must return a grid and the arguments, got {type(result).__name__}",
            help="return (4,), {'x': x, 'out': out, 'n': 4096}",
        )
    return result


def inputs_from_words(words: Sequence[str], contract: LaunchContract) -> Mapping[str, Any]:
    """Arguments of a kernel from ``NAME=VALUE``: a number for a scalar, an array's shape or file for a pointer.

    Arrays hold normally distributed floats or integers that are zero; ``:range`` makes them 0, 1, 2, ..., and ``:A..B`` any
    numbers from A to B, without B. They are the same each time.

    Raises:
        ArgumentError: A word is of another form, or names no argument.
    """
    specs = {spec.name: spec for spec in contract.args}
    values: dict[str, Any] = {}
    for number, word in enumerate(words):
        name, separator, text = word.partition("=")
        if not separator:
            raise ArgumentError(f"--inputs: {word!r} is not of the form NAME=VALUE", help=f"for example {FORMS}")
        if name not in specs:
            raise ArgumentError(f"--inputs: there is no argument {name}", facts=(f"arguments: {', '.join(specs)}",))
        spec = specs[name]
        values[name] = parse_constant(word)[1] if spec.kind == "scalar" else _array(spec, text, number)
    return values


def _array(spec: ArgSpec, text: str, number: int) -> NDArray[Any]:
    dtype = np.dtype(value_dtype(DType(spec.dtype)))
    if text.endswith(".npy"):
        try:
            loaded: NDArray[Any] = np.load(text, allow_pickle=False)
        except OSError as error:
            raise ArgumentError(f"--inputs: cannot read {text}: {error.strerror or error}") from None
        except (ValueError, EOFError):
            raise ArgumentError(f"--inputs: cannot read {text}: it is no NumPy file of numbers") from None
        return np.ascontiguousarray(loaded).astype(dtype)
    match = _ARRAY.fullmatch(text)
    if match is None:
        raise ArgumentError(f"--inputs: {spec.name}={text} describes no array", help=f"for example {FORMS}")
    shape = tuple(int(extent) for extent in match["shape"].split("x"))
    count, fill = math.prod(shape), match["fill"]
    random = np.random.default_rng((_SEED, number))
    if count > _MOST_ELEMENTS:
        raise ArgumentError(f"--inputs: {spec.name}={text} has {count} elements, the limit is {_MOST_ELEMENTS}")
    array: NDArray[Any]
    if fill is None:
        array = np.zeros(count) if dtype.kind in "iub" else random.standard_normal(count)
    elif fill == "range":
        array = np.arange(count)
    elif bounds := _RANGE.fullmatch(fill):
        low, high = int(bounds[1]), int(bounds[2])
        if low >= high:
            raise ArgumentError(f"--inputs: {spec.name}={text}: no number lies from {low} to below {high}")
        array = random.integers(low, high, count) if dtype.kind in "iub" else random.uniform(low, high, count)
    else:
        raise ArgumentError(f"--inputs: {spec.name}={text}: unknown contents {fill!r}", help=f"for example {FORMS}")
    return array.reshape(shape).astype(dtype)


def check_words(inputs: Sequence[str]) -> None:
    """Check the form of inputs, and that there are the files that they name, before the kernel is known.

    Raises:
        ArgumentError: A word is of another form, or names no file.
    """
    if len(inputs) == 1 and "::" in inputs[0]:
        _check_file(inputs[0].partition("::")[0])
        return
    for word in inputs:
        _, separator, text = word.partition("=")
        if not separator:
            raise ArgumentError(f"--inputs: {word!r} is not of the form NAME=VALUE", help=f"for example {FORMS}")
        if text.endswith(".npy") and not Path(text).is_file():
            raise ArgumentError(f"--inputs: cannot read {text}: {os.strerror(errno.ENOENT)}")


def parse_grid(grid: str | None) -> tuple[int, ...]:
    """The extents that ``--grid`` says.

    Raises:
        ArgumentError: It is missing, or says something else.
    """
    if grid is None:
        raise ArgumentError("--grid is missing", help="say how many programs run, such as --grid 4 or --grid 8,2")
    extents = grid.split(",")
    if len(extents) > 3 or not all(extent.strip().isdecimal() for extent in extents):
        raise ArgumentError(f"--grid takes one to three numbers separated by commas, got {grid!r}")
    return tuple(int(extent) for extent in extents)


def _check_file(path: str) -> None:
    if not Path(path).is_file():
        raise ArgumentError(f"--inputs: there is no file {path!r}", help="name a function as PATH::FUNCTION")


def emulate_inputs(emitted: Any, inputs: Sequence[str], grid: str | None) -> Emulation:
    """Run an emitted kernel on inputs of the command line, with bounds checked and requests counted.

    Args:
        emitted: The emitted kernel.
        inputs: ``PATH::FUNCTION``, or ``NAME=VALUE`` for each argument.
        grid: The grid as `kernel[grid]` counts it: one to three numbers separated by commas; a function gives its own.

    Raises:
        ArgumentError: The inputs or the grid are wrong.
        EmulationError: The kernel is at fault.
    """
    contract: LaunchContract = emitted.contract
    values: Any
    if len(inputs) == 1 and "::" in inputs[0]:
        if grid is not None:
            raise ArgumentError("--grid is given by the function of --inputs", help="leave out --grid")
        programs, values = inputs_from_function(inputs[0])
        if isinstance(values, Mapping):  # constexpr parameters may stand among them, as in a launch
            values = {spec.name: values[spec.name] for spec in contract.args if spec.name in values}
    else:
        programs = parse_grid(grid)
        values = inputs_from_words(inputs, contract)
    return emulate(emitted, contract.launch_grid(programs), values, detect=("bounds", "counters")).check()
