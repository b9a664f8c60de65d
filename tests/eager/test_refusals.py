"""Eager mode refuses what the front end refuses, and takes what it takes, by both levels of the language.

Every message of the language's functions and every error of the front end is provoked in both, and so is every construct.
What eager mode takes all the same stands in `TAKEN`, with the reason.
"""

from __future__ import annotations

import contextlib
import functools
import pathlib
import types
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend import test_constructs, test_errors
from tests.frontend.kernels_on_file import load
from tests.ops import test_messages
from tests.ops.harness import Trace
from tle2cuda.eager import shared
from tle2cuda.eager.language import BUILTINS, namespace
from tle2cuda.eager.memory import Memory, Region
from tle2cuda.eager.numbers import VALUES
from tle2cuda.eager.program import Launch, Program, enter
from tle2cuda.eager.values import Tile
from tle2cuda.errors import CompilationError, CompilationErrors, KernelError
from tle2cuda.ir.builder import Builder
from tle2cuda.language import tle
from tle2cuda.levels import LEVEL_VARIABLE, LEVELS
from tle2cuda.ops.values import pointer_type
from tle2cuda.runtime.launches import HostLaunch

_OTHER_PATH = "what the side that is not taken would give is not known"
_LOOKS = "debugging: functions of the host may look at values"
_STOPS = "debugging: this is where a kernel stops"
TAKEN = {
    "if_dtype": _OTHER_PATH,
    "return_dtype": _OTHER_PATH,
    "return_one_side": _OTHER_PATH,
    "ternary_dtype": _OTHER_PATH,
    "host_function_runtime": _LOOKS,
    "numpy_function": _LOOKS,
    "numpy_function_of_another_name": _LOOKS,
    "numpy_function_without_equal": _LOOKS,
    "breakpoint_in_a_compiled_kernel": _STOPS,
    "set_trace_in_a_compiled_kernel": _STOPS,
}


def _raised(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error.errors[0] if isinstance(error, CompilationErrors) else error
    return None


def _alike(got: Exception | None, want: Exception | None) -> bool:
    """Of one class, or a more precise one; what the host's functions raise may stay Python's own."""
    if got is None or want is None:
        return got is want
    return isinstance(got, type(want)) or (not isinstance(got, KernelError) and isinstance(want, type(got)))


# ---- functions of the language --------------------------------------------------------------------------------------


class Values:
    """Makes eager values where a case asks for traced ones."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.arrays: list[Any] = []

    def symbol(self, dtype: Any, shape: tuple[int, ...] = (), name: str = "") -> Tile:
        return Tile(np.zeros(shape, VALUES[dtype]), dtype)

    def pointer(self, dtype: Any, shape: tuple[int, ...] = (), space: str = "global", name: str = "") -> Tile:
        self.arrays.append(np.zeros(4096, np.uint8))
        region = self.memory.add(Region("p", self.arrays[-1]))
        return Tile(np.full(shape, self.arrays[-1].ctypes.data, np.int64), pointer_type(dtype), None, region)

    def buffer(self, dtype: Any, shape: tuple[int, ...]) -> Any:
        return shared.alloc(shape, dtype)


def _exchanged(case: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A case with the language's names as kernels see them in eager mode."""
    names = {**case.__globals__, "tl": namespace(tl), "tle": namespace(tle), "__builtins__": BUILTINS}
    for name in ("_block_pointer", "_descriptor", "_scaled"):
        helper = case.__globals__[name]
        names[name] = types.FunctionType(helper.__code__, names, name, helper.__defaults__)
        names[name].__kwdefaults__ = helper.__kwdefaults__
    return types.FunctionType(case.__code__, names)


@contextlib.contextmanager
def _program(level: str) -> Iterator[Memory]:
    memory = Memory()
    enter(Program(Launch((1, 1, 1), (1, 1, 1), memory, 4, level), (0, 0, 0)))
    try:
        yield memory
    finally:
        enter(None)


MESSAGES = {**{name: case[0] for name, case in test_messages.CASES.items()}, **test_messages.HELPED}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", MESSAGES)
def test_arguments(name: str, level: str) -> None:
    builder = Builder(4, language=level)
    with builder.active(), builder.region() as ops:
        want = _raised(lambda: MESSAGES[name](Trace(builder, ops)))
    with _program(level) as memory, np.errstate(all="ignore"):
        got = _raised(lambda: _exchanged(MESSAGES[name])(Values(memory)))
    assert _alike(got, want), f"front end: {want!r}, eager mode: {got!r}"


# ---- Python ---------------------------------------------------------------------------------------------------------

_ARRAYS = {"*fp32": np.float32, "*i32": np.int32, "*i64": np.int64}
_NUMBERS: dict[str, int | float] = {"i32": 3, "fp32": 2.5}


def _arguments(signature: str) -> list[Any]:
    parts = [part.strip() for part in signature.split(",") if part.strip()]
    return [np.zeros(64, _ARRAYS[p]) if p in _ARRAYS else _NUMBERS[p] if p in _NUMBERS else int(p) for p in parts]


# What Python's own functions raise stays theirs; what is said of a launch as a whole has no place.
SAID_OTHERWISE = {"host_function_raises", "cluster_too_large"}
WITHOUT_PLACE = {"kernel_returns", "cluster_too_large"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", [c for c in test_errors.CASES if c.name not in TAKEN], ids=lambda case: case.name)
def test_errors_of_the_front_end(
    case: test_errors.Case, level: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LEVEL_VARIABLE, level)
    kernel = load(case.source, tmp_path).k
    want = _raised(lambda: tle2cuda.emit(kernel, case.signature))
    launch = functools.partial(kernel.eager[(1,)], *_arguments(case.signature))
    if isinstance(want, KernelError) and case.name not in SAID_OTHERWISE:
        said = _raised(launch)
        assert isinstance(said, KernelError)
        said.facts = tuple(fact for fact in said.facts if not fact.startswith("in program"))
        assert str(said) == str(want)
    with mock.patch.object(HostLaunch, "refusals", lambda self: ()):  # what it finds by itself
        got = _raised(launch)
    if isinstance(got, KernelError) and isinstance(want, KernelError) and want.span is not None:
        assert case.name in WITHOUT_PLACE or (got.span is not None and got.span.file == want.span.file)
    assert _alike(got, want), f"front end: {want!r}, eager mode: {got!r}"
    # Kernels are refused as such; what only goes wrong as they run is another matter.
    assert want is None or isinstance(got, CompilationError) or not isinstance(got, KernelError)


def test_what_is_taken_all_the_same_exists() -> None:
    assert set(TAKEN) <= {case.name for case in test_errors.CASES}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("name", "source", "expected"), test_constructs.CASES, ids=[c[0] for c in test_constructs.CASES])
def test_constructs(
    name: str,
    source: str,
    expected: list[float],
    level: str,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a construct computes by the level it is for; by the other one, what the interpreter says."""
    monkeypatch.setenv(LEVEL_VARIABLE, level)
    kernel = load(source, tmp_path).k
    found: dict[str, list[float] | None] = {}
    for device in ("interpreter", "eager"):
        monkeypatch.setenv("TLE2CUDA_DEVICE", device)
        out = np.full(8, 999, np.float32)
        error = _raised(lambda out=out: kernel[(1,)](out, 7, 3))  # type: ignore[misc]
        found[device] = out.tolist() if error is None else None
    assert found["eager"] == found["interpreter"]
    if "language=" in source or level == "3.6":
        values = found["eager"]
        assert values is not None
        assert values[: len(expected)] == np.array(expected, np.float32).tolist()


# ---- what the front end is asked about ------------------------------------------------------------------------------

ASKED = {
    "sides_in_a_loop": """
@tle2cuda.jit
def k(x, n):
    for i in range(n):
        if i > 0:
            z = 1
        else:
            z = 0.5
        tl.store(x + i, z)
""",
    "sides_by_program": """
@tle2cuda.jit
def k(x, n):
    if tl.program_id(0) == 0:
        z = 1
    else:
        z = 0.5
    tl.store(x, z)
""",
    "conditional_expression": """
@tle2cuda.jit
def k(x, n):
    for i in range(n):
        tl.store(x + i, 1 if i > 0 else 0.5)
""",
    "results": """
@tle2cuda.jit
def chosen(i):
    if i > 0:
        return 1
    return 0.5


@tle2cuda.jit
def k(x, n):
    for i in range(n):
        tl.store(x + i, chosen(i))
""",
    "results_of_elements": """
@tle2cuda.jit
def chosen(i):
    if i > 0:
        return 1
    return 2.0


@tle2cuda.jit
def k(x, n):
    i = tl.arange(0, 8)
    tl.store(x + i, tl.map_elementwise(chosen, i))
""",
    "map_makes_a_tile": """
@tle2cuda.jit
def summed(a):
    return tl.sum(tl.arange(0, 4)) + a


@tle2cuda.jit
def k(x, n):
    i = tl.arange(0, 8)
    tl.store(x + i, tl.map_elementwise(summed, i))
""",
    "map_of_a_lambda": """
more = lambda a: a + 1


@tle2cuda.jit
def k(x, n):
    i = tl.arange(0, 8)
    tl.store(x + i, tl.map_elementwise(more, i))
""",
}


@pytest.mark.parametrize("name", ASKED)
def test_what_both_sides_and_functions_of_elements_give(name: str, tmp_path: pathlib.Path) -> None:
    kernel = load(ASKED[name], tmp_path).k
    want = _raised(lambda: tle2cuda.emit(kernel, "*fp32, i32"))
    got = _raised(lambda: kernel.eager[(2,)](np.zeros(8, np.float32), 3))
    assert isinstance(got, CompilationError)
    assert isinstance(want, CompilationError)
    assert (type(got), got.message, got.help, got.span) == (type(want), want.message, want.help, want.span)


def test_sides_that_differ_by_the_copy_of_a_loop_or_call(tmp_path: pathlib.Path) -> None:
    source = """
@tle2cuda.jit
def negated(v, i):
    if i > 0:
        w = -v
    else:
        w = v
    return w


@tle2cuda.jit
def k(x, n):
    for i in tl.static_range(4):
        if n > i:
            z = 1 if i < 2 else 1.5
        else:
            z = 2 if i < 2 else 0.5
        tl.store(x + i, z)
    tl.store(x + 4, negated(n, n) + negated(0.5, n - 3))
"""
    out = np.zeros(8, np.float32)
    load(source, tmp_path).k.eager[(1,)](out, 3)
    assert out.tolist() == [1, 1, 1.5, 0.5, -2.5, 0, 0, 0]
