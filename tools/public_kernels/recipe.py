"""Launch recipes: what a record of the development set is called with.

A record says how a kernel is specialised, not what it is launched on. A recipe adds that: grid, sizes, contents. The
dtype of each array is the record's own; a recipe gives shapes and values only:

    @recipe("93c0ffee")
    def gelu(full: bool) -> Launch:
        n = 1 << 24 if full else 3000
        return Launch((cdiv(n, 1024),), in0_ptr=normal(n), out0_ptr=unwritten(n), n=n)

`full` sizes are for timing on a GPU; the others run in seconds in an emulator or interpreter too. Constexpr parameters
have the record's values; a recipe may give others where the record's do not fit together.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tools.public_kernels.records import Record

Array = NDArray[Any]
Expected = Callable[[Mapping[str, Array]], Mapping[str, Any]]
Contents = Callable[[np.random.Generator, "np.dtype[Any]"], Array]

DTYPES: Mapping[str, np.dtype[Any]] = {
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "i1": np.dtype(np.bool_),
    **{
        f"{sign}{bits}": np.dtype(f"{kind}{bits}")
        for sign, kind in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
}

POISON = 0x7B  # byte of what a kernel has yet to write: never a right answer


@dataclass(frozen=True, slots=True)
class Values:
    """Contents of one array argument, of a dtype that the record names.

    Attributes:
        fill: Makes the array.
        free: Elements that may differ between two right answers, such as the order of equal keys: True there. The
            array is compared where it is False.
        sorted_rows: Whether only the set of values along the last axis is determined.
        parts: Makes of the array what is compared in its place, such as the bits of integers that lie among floats.
    """

    fill: Contents
    free: Array | None = None
    sorted_rows: bool = False
    parts: Callable[[Array], Mapping[str, Array]] | None = None


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor descriptor argument: an array and the block that one load or store moves."""

    values: Values
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two right answers may lie apart: `absolute + relative * |expected|`."""

    relative: float
    absolute: float


@dataclass(slots=True)
class Launch:
    """One launch.

    Attributes:
        grid: Programs along each axis.
        arguments: By parameter: `Values`, numbers, None; constexpr parameters where they differ from the record's.
        tolerance: For floating-point outputs; None takes that of their dtype.
        ignore: Array arguments that are scratch: what they hold afterwards is not compared.
        why: What limits the comparison, when something does.
        expected: Makes of the arrays before the launch what outputs should hold, where Triton's interpreter, which is
            then not asked, cannot run the kernel or gets it wrong.
    """

    grid: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    tolerance: Tolerance | None = None
    ignore: Sequence[str] = ()
    why: str = ""
    expected: Expected | None = None

    def __init__(
        self,
        grid: tuple[int, ...],
        tolerance: Tolerance | None = None,
        ignore: Sequence[str] = (),
        why: str = "",
        expected: Expected | None = None,
        **arguments: Any,
    ) -> None:
        self.grid, self.arguments, self.tolerance, self.ignore, self.why = grid, arguments, tolerance, ignore, why
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Recipe:
    """A recipe and the hash of the record it is for.

    Attributes:
        timed: Whether its full size is long enough to be timed, and the kernel has no `tl.dot`.
    """

    hash: str
    make: Callable[[bool], Launch]
    timed: bool = True


_RECIPES: dict[str, Recipe] = {}


def recipe(hash: str, *, timed: bool = True) -> Callable[[Callable[[bool], Launch]], Callable[[bool], Launch]]:
    """Registers a function as the recipe of the record whose hash starts with `hash`."""

    def register(make: Callable[[bool], Launch]) -> Callable[[bool], Launch]:
        if hash in _RECIPES:
            raise ValueError(f"two recipes for {hash}")
        _RECIPES[hash] = Recipe(hash, make, timed)
        return make

    return register


@functools.cache
def all_recipes() -> Mapping[str, Recipe]:
    """Every recipe of `recipes/`, by the start of the hash."""
    package = importlib.import_module("tools.public_kernels.recipes")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return dict(_RECIPES)


def recipe_of(record: Record) -> Recipe | None:
    """The recipe of a record, if there is one."""
    return next((r for start, r in all_recipes().items() if record.hash.startswith(start)), None)


# ---- contents -------------------------------------------------------------------------------------------------------


_DRAWN = 1 << 20  # elements drawn for one array; longer ones repeat them, or drawing would take longer than running


def _repeated(shape: tuple[int, ...], draw: Callable[[int], Array]) -> Array:
    count = math.prod(shape)
    return np.resize(draw(min(count, _DRAWN)), shape) if count else draw(0).reshape(shape)


def normal(*shape: int, scale: float = 1.0, mean: float = 0.0) -> Values:
    """Normally distributed; rounded for integer dtypes."""
    return Values(
        lambda rng, dtype: _repeated(shape, lambda n: _as(rng.standard_normal(n, np.float32) * scale + mean, dtype))
    )


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Values:
    """Uniform in [low, high)."""
    return Values(lambda rng, dtype: _repeated(shape, lambda n: _as(rng.random(n, np.float32) * (high - low) + low, dtype)))


def integers(*shape: int, low: int = 0, high: int) -> Values:
    """Integers in [low, high)."""
    return Values(lambda rng, dtype: _repeated(shape, lambda n: rng.integers(low, high, n).astype(dtype)))


def bits(*shape: int) -> Values:
    """Random bits, but no infinity nor NaN in floats."""

    def fill(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        raw = rng.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
        if dtype.kind == "b":
            return raw[..., 0] % 2 == 0
        values = np.ascontiguousarray(raw).view(dtype)[..., 0]
        if dtype.kind not in "iu":
            values = np.where(np.isfinite(values.astype(np.float64)), values, np.ones((), dtype))
        return np.asarray(values, dtype)

    return Values(fill)


def booleans(*shape: int, share: float = 0.5) -> Values:
    """True with a probability, as the dtype asks (1 and 0 in numbers)."""
    return Values(lambda rng, dtype: _repeated(shape, lambda n: (rng.random(n) < share).astype(dtype)))


def permutation(n: int) -> Values:
    """The numbers below n in random order."""
    return Values(lambda rng, dtype: rng.permutation(n).astype(dtype))


def array(value: Any) -> Values:
    """What is given, converted to the dtype."""
    return Values(lambda rng, dtype: np.array(value).astype(dtype))


def made(fill: Callable[[np.random.Generator], Any]) -> Values:
    """What a function makes from a generator, converted to the dtype."""
    return Values(lambda rng, dtype: np.array(fill(rng)).astype(dtype))


def zeros(*shape: int) -> Values:
    """Zeros."""
    return Values(lambda rng, dtype: np.zeros(shape, dtype))


def full_of(value: float, *shape: int) -> Values:
    """One value everywhere."""
    return Values(lambda rng, dtype: np.full(shape, value).astype(dtype))


def unwritten(*shape: int) -> Values:
    """An output: bytes that are never a right answer."""

    def fill(rng: np.random.Generator, dtype: np.dtype[Any]) -> Array:
        poison = np.full((*shape, dtype.itemsize), POISON, np.uint8)
        return poison[..., 0] % 2 == 1 if dtype.kind == "b" else np.ascontiguousarray(poison).view(dtype)[..., 0]

    return Values(fill)


def offsets(lengths: Sequence[int]) -> Values:
    """Starts of sequences of these lengths, and the end of the last."""
    return array(np.concatenate([[0], np.cumsum(lengths)]))


def cdiv(a: int, b: int) -> int:
    """The quotient a / b, rounded up."""
    return -(-a // b)


def _as(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype.kind in "iu":
        values = np.rint(values)
    return values.astype(dtype)


# ---- concrete arguments ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Concrete:
    """A launch with arrays in it.

    Attributes:
        launch: What the recipe said.
        arrays: Contents of array arguments before the launch, by parameter.
        others: Numbers, None, and constexpr values that differ from the record's.
    """

    launch: Launch
    arrays: dict[str, Array]
    others: dict[str, Any]

    def values_of(self, name: str) -> Values:
        """What the recipe said of an array argument."""
        given = self.launch.arguments[name]
        return given.values if isinstance(given, Descriptor) else given

    def block_of(self, name: str) -> tuple[int, ...] | None:
        """The block of a descriptor argument; None for a pointer."""
        given = self.launch.arguments[name]
        return given.block if isinstance(given, Descriptor) else None


def concrete(record: Record, chosen: Recipe, full: bool, seed: int = 0) -> Concrete:
    """Draws a recipe's arrays.

    Raises:
        ValueError: The recipe does not name the parameters of its record.
    """
    launch = chosen.make(full)
    needed = [name for name, type_ in record.signature.items() if name not in record.constexprs and type_ != "constexpr"]
    missing = [name for name in needed if name not in launch.arguments]
    unknown = [name for name in launch.arguments if name not in record.signature]
    if missing or unknown:
        raise ValueError(f"recipe of {record.hash} ({record.function}): missing {missing}, unknown {unknown}")
    arrays, others = {}, {}
    for name, given in launch.arguments.items():
        if isinstance(given, (Values, Descriptor)):
            values = given.values if isinstance(given, Descriptor) else given
            key = hashlib.sha1(f"{record.hash} {name} {seed}".encode()).digest()[:8]
            rng = np.random.default_rng(int.from_bytes(key, "little"))
            arrays[name] = np.ascontiguousarray(values.fill(rng, element_dtype(record.signature[name])))
        else:
            others[name] = given
    return Concrete(launch, arrays, others)


def expected_arrays(before: Concrete) -> dict[str, Array] | None:
    """What a recipe itself says that its launch leaves, if it does."""
    if before.launch.expected is None:
        return None
    found = before.launch.expected(before.arrays)
    return before.arrays | {name: np.asarray(value).astype(before.arrays[name].dtype) for name, value in found.items()}


def element_dtype(type_: str) -> np.dtype[Any]:
    """The dtype of what a pointer or descriptor type of a signature leads to."""
    text = type_.split(":")[0]
    if text.startswith("tensordesc<"):
        text = text[len("tensordesc<") :].split("[")[0]
    return DTYPES[text.lstrip("*")]


# ---- comparison -----------------------------------------------------------------------------------------------------

_TOLERANCES: Mapping[str, Tolerance] = {
    "float64": Tolerance(1e-11, 1e-11),
    "float32": Tolerance(2e-5, 2e-5),
    "float16": Tolerance(2e-3, 2e-3),
    "bfloat16": Tolerance(1.6e-2, 1.6e-2),
    "float8_e4m3fn": Tolerance(0.13, 0.02),
    "float8_e5m2": Tolerance(0.26, 0.02),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """The worst element of one output.

    Attributes:
        name: Parameter.
        wrong: Number of elements outside the tolerance.
        worst: Largest difference over what is allowed; 0 when everything agrees bit for bit.
        where: Index, and the two values there.
    """

    name: str
    wrong: int
    worst: float
    where: str


def tolerance_of(dtype: np.dtype[Any]) -> Tolerance:
    """How far two right answers of a floating-point dtype may lie apart."""
    return _TOLERANCES[dtype.name]


def compare(before: Concrete, got: Mapping[str, Array], want: Mapping[str, Array]) -> list[Difference]:
    """Compares what two runs left in every array argument: integers exactly, floats to their tolerance."""
    found = []
    for name in before.arrays:
        if name not in before.launch.ignore:
            found += differences(name, got[name], want[name], before.values_of(name), before.launch.tolerance)
    return found


def differences(name: str, got: Array, want: Array, values: Values, tolerance: Tolerance | None) -> list[Difference]:
    """Compares one array, or each of the parts it is made of; a tolerance of None is that of the dtype."""
    if values.parts is not None:
        pieces, others = values.parts(got), values.parts(want)
        return [_difference(f"{name} {key}", pieces[key], others[key], None, tolerance) for key in pieces]
    if values.sorted_rows:
        got, want = np.sort(got, axis=-1), np.sort(want, axis=-1)
    return [_difference(name, got, want, values.free, tolerance)]


def _difference(name: str, got: Array, want: Array, free: Array | None, tolerance: Tolerance | None) -> Difference:
    if got.dtype.kind in "biu":
        error = (got != want).astype(np.float64)
        allowed = np.zeros(error.shape)
    else:
        limits = tolerance or tolerance_of(got.dtype)
        a, b = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            error = np.where(same, 0.0, np.abs(a - b))
            allowed = limits.absolute + limits.relative * np.where(np.isfinite(b), np.abs(b), 0.0)
        error = np.where(np.isnan(error), np.inf, error)
    if free is not None:
        error = np.where(free, 0.0, error)
    if error.size == 0:
        return Difference(name, 0, 0.0, "")
    over = error > allowed
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.where(error == 0, 0.0, np.where(allowed > 0, error / np.maximum(allowed, 1e-300), np.inf))
    worst = np.unravel_index(int(np.argmax(share)), share.shape)
    where = f"[{', '.join(map(str, worst))}] {got[worst]} for {want[worst]}"
    return Difference(name, int(over.sum()), float(share[worst]), where)
