"""The language's names, exchanged for the functions of this package."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tle2cuda.eager import (
    creation,
    elementwise,
    inline_asm,
    libdevice,
    mapping,
    memory,
    newer,
    operators,
    partitions,
    pipes,
    random,
    reductions,
    shared,
    tensors,
    wgmma,
)
from tle2cuda.eager.checks import axes
from tle2cuda.eager.constants import with_constants
from tle2cuda.eager.memory import mask_for
from tle2cuda.eager.numbers import VALUES
from tle2cuda.eager.program import current, reads_3_9
from tle2cuda.eager.scopes import MOST_UNROLLED, Counted, Unrolled, range_bound
from tle2cuda.eager.values import (
    Tile,
    describe,
    number_as,
    number_dtype,
    numeric,
    static_int,
    to_tile,
    watched,
    without_width,
)
from tle2cuda.errors import (
    ConstexprRequired,
    DeviceAssertFailed,
    DTypeMismatch,
    InterpreterError,
    InvalidArgument,
    InvalidType,
    NotSupported,
    StaticAssertFailed,
)
from tle2cuda.ir.types import BOOL, I32
from tle2cuda.ops.debug import printed_lines, printed_prefix
from tle2cuda.ops.values import is_instance_of, printed

# -- places, hints, prints ----------------------------------------------------------------------------


def _grid_axis(axis: Any, what: str) -> int:
    number = static_int(axis, f"{what}: axis")
    if number not in (0, 1, 2):
        raise InvalidArgument(f"{what}: axis must be 0, 1 or 2, got {number}")
    return number


def program_id(axis: Any) -> Tile:
    """`tl.program_id`."""
    return number_as(current().index[_grid_axis(axis, "tl.program_id")], I32)


def num_programs(axis: Any) -> Tile:
    """`tl.num_programs`."""
    return number_as(current().launch.grid[_grid_axis(axis, "tl.num_programs")], I32)


def _condition(arg1: Any, disable_licm: Any = False) -> Any:
    return arg1


def _nothing() -> None:
    """What only matters to grids that overlap."""


def _hint(name: str) -> Callable[..., Any]:
    """A promise about an index: one positive number for each axis."""
    what = f"tl.{name}"

    def hint(input: Any, values: Any) -> Any:
        numbers = axes(values, f"{what}: values")
        if any(number < 1 for number in numbers):
            raise InvalidArgument(f"{what}: values must be positive, got {tuple(numbers)}")
        if isinstance(input, Tile) and len(numbers) != builtins.max(1, len(input.shape)):
            rank = builtins.max(1, len(input.shape))
            raise InvalidArgument(f"{what}: one value per axis is needed, {rank} for {describe(input)}, got {len(numbers)}")
        return input

    return hint


_HINTS = {name: _hint(name) for name in ("multiple_of", "max_contiguous", "max_constancy")}


def assume(cond: Any) -> None:
    """`tl.assume`, checked."""
    if isinstance(cond, Tile):
        if cond.shape:
            raise InvalidType(f"tl.assume takes a scalar condition, got {describe(cond)}")
        if cond.dtype is not BOOL:
            raise DTypeMismatch(f"tl.assume takes a bool condition, got {describe(cond)}")
    elif not cond:
        raise InvalidArgument("tl.assume: the condition is false at compile time")
    if not cond:
        raise InterpreterError("tl.assume does not hold", facts=current().facts())


def debug_barrier() -> None:
    """One program is one thread here."""
    current().check_effects()


def device_print(prefix: Any, *args: Any, hex: Any = False) -> None:
    """`tl.device_print`: the lines that a GPU prints, in the order of the elements."""
    if not isinstance(prefix, str):
        raise InvalidType(f"tl.device_print: the prefix must be a string, got {describe(prefix)}")
    current().check_effects()
    tiles = [to_tile(value) for value in args]
    operands = [(tile.data, tile.dtype) for tile in tiles]
    for line in printed_lines(current().index, printed_prefix(prefix, bool(args)), operands, bool(hex)):
        print(line)


def device_assert(cond: Any, msg: Any = "", mask: Any = None) -> None:
    """`tl.device_assert`, always checked."""
    condition = numeric(cond, "tl.device_assert")
    if not condition.dtype.is_int():
        raise DTypeMismatch(f"tl.device_assert takes bool, got {describe(condition)}")
    failed = condition.data == 0
    if mask is not None:
        failed = failed & mask_for(mask, condition.shape, "tl.device_assert")
    if np.any(failed):
        facts = list(current().facts())
        if failed.ndim:
            first = [int(i) for i in np.argwhere(failed)[0]]
            facts.append(f"the first of {int(failed.sum())} failing elements is {first}")
        raise DeviceAssertFailed(f"tl.device_assert failed{': ' + str(msg) if msg else ''}", facts=facts)


def static_assert(cond: Any, msg: Any = "") -> None:
    """`tl.static_assert`."""
    if isinstance(cond, Tile):
        raise ConstexprRequired(f"tl.static_assert: the condition must be known at compile time, got {describe(cond)}")
    if not cond:
        raise StaticAssertFailed(f"tl.static_assert failed: {msg}" if msg else "tl.static_assert failed")


def static_print(*values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
    """`tl.static_print`."""
    print(*map(printed, values), sep=sep, end=end, file=file, flush=bool(flush))


# -- loops --------------------------------------------------------------------------------------------


def counted(arg1: Any, arg2: Any = None, step: Any = None, **hints: Any) -> Counted:
    """`range` in a kernel."""
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    bounds = (start, stop, 1 if step is None else step)
    first, last, by = (
        range_bound(bound, name, "range") for name, bound in zip(("start", "end", "step"), bounds, strict=True)
    )
    return Counted(first, last, by, _values_between)


def _values_between(start: Any, stop: Any, by: Any) -> Iterator[Tile]:
    """The values of a loop's variable, which has the bounds' common dtype."""
    dtype = I32
    for bound in (start, stop, by):
        dtype = operators.promote(dtype, bound.dtype if isinstance(bound, Tile) else number_dtype(bound), "range")
    if isinstance(by, Tile) and int(by) <= 0:
        raise InvalidArgument(f"range: a step that only the run time knows must be positive, got {int(by)}")
    kind = VALUES[dtype]
    first, stride = (int(without_width(to_tile(bound))) for bound in (start, by))
    for rounds, i in enumerate(builtins.range(int(start), int(stop), int(by))):
        yield watched(np.array(i, kind), dtype, first + rounds * stride)


def static_range(arg1: Any, arg2: Any = None, step: Any = None) -> Any:
    """`tl.static_range`: the variable is a constant."""
    start, stop = (0, arg1) if arg2 is None else (arg1, arg2)
    bounds = (start, stop, 1 if step is None else step)
    values = builtins.range(*(static_int(bound, "tl.static_range: a bound") for bound in bounds))
    if len(values) > MOST_UNROLLED:
        raise InvalidType(
            f"tl.static_range would repeat the body {len(values)} times, the limit is {MOST_UNROLLED}",
            help="use range: it stays a loop in the compiled kernel",
        )
    return Unrolled(values)


# -- Python's own functions ---------------------------------------------------------------------------


def _extreme(python: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def apply(*args: Any, **kwargs: Any) -> Any:
        if not any(isinstance(arg, Tile) for arg in args):
            return python(*args, **kwargs)
        result = args[0]
        for arg in args[1:]:
            result = ours(result, arg)
        return result

    return apply


def _folded(function: Callable[..., Any], instead: str) -> Callable[..., Any]:
    """One of Python's functions, which works on compile-time values."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, Tile):
                raise ConstexprRequired(
                    f"`{function.__name__}` works on compile-time values, got a run-time value ({describe(arg)})",
                    help=instead,
                )
        return function(*args, **kwargs)

    apply.__name__ = apply.__qualname__ = function.__name__
    return apply


_FOLDED: dict[str, str] = {
    **dict.fromkeys(("all", "any", "bin", "chr", "divmod", "hex", "ord", "sorted"), ""),
    "abs": "use tl.abs",
    "bool": "compare it with something, such as x != 0",
    "float": "use x.to(tl.float32)",
    "int": "use x.to(tl.int32)",
    "len": "use x.shape",
    "pow": "use multiplication, or tl.exp2(y * tl.log2(x))",
    "round": "use the rounding functions of tl.extra.libdevice",
    "sum": "use tl.sum",
}
"""What stands in for those of Python's functions that compute, with what to write instead."""


class _Folded(type):
    """Python's class under its name: calls work on compile-time values, and instances are those of Python's."""

    python: type

    def __call__(cls, *args: Any) -> Any:
        return _folded(cls.python, _FOLDED[cls.__name__])(*args)

    def __instancecheck__(cls, thing: Any) -> bool:
        return isinstance(thing, cls.python)


_CLASSES: dict[type, type] = {python: _Folded(python.__name__, (), {"python": python}) for python in (bool, int, float)}


def _class_of(thing: Any) -> Any:
    return _CLASSES.get(type(thing), type(thing))


BUILTINS: dict[str, Any] = {
    **vars(builtins),
    **{name: _folded(getattr(builtins, name), instead) for name, instead in _FOLDED.items()},
    **{python.__name__: cls for python, cls in _CLASSES.items()},
    "range": counted,
    "isinstance": is_instance_of,
    "type": _class_of,
    "min": _extreme(builtins.min, elementwise.minimum),
    "max": _extreme(builtins.max, elementwise.maximum),
}
"""`builtins` of a kernel."""


class _ConstexprClass(type):
    def __instancecheck__(cls, thing: Any) -> bool:
        return False  # as in Triton, whose `isinstance` sees what compile-time values hold


class constexpr(metaclass=_ConstexprClass):
    """`tl.constexpr`: constants are plain Python objects here."""

    def __new__(cls, value: Any) -> Any:
        return value


# -- tables -------------------------------------------------------------------------------------------


def swizzle2d(i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """Row-major (i, j) -> the order that goes down columns of groups of `size_g` rows."""
    for name, value in (("i", i), ("j", j), ("size_i", size_i), ("size_j", size_j), ("size_g", size_g)):
        one = numeric(value, f"tl.swizzle2d: {name}")
        if not one.dtype.is_int() or one.dtype is BOOL:
            raise DTypeMismatch(f"tl.swizzle2d: {name} takes integers, got {describe(value)}")
    place = i * size_j + j
    in_group = size_g * size_j
    group = place // in_group
    first = group * size_g
    rows = elementwise.minimum(size_i - first, size_g)
    within = place % in_group
    return first + within % rows, within // rows


_MOST_POSITIONAL = 3  # pointer, mask and other; pointer, value and mask


def _few_positional(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """A load or store, whose further arguments are keyword-only from Triton 3.9 on."""

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        if len(args) > most and reads_3_9():
            raise InvalidArgument(
                f"tl.{function.__name__} takes at most {_MOST_POSITIONAL} positional arguments by the rules of Triton 3.9, "
                f"got {len(args)}",
                help="name the others, such as cache_modifier=",
            )
        return function(*args, **kwargs)

    return apply


_TL: dict[str, Any] = {
    **elementwise.FUNCTIONS,
    **memory.ATOMICS,
    **tensors.FUNCTIONS,
    **newer.FUNCTIONS,
    **{name: getattr(creation, name) for name in (
        *("arange", "full", "zeros", "zeros_like", "broadcast", "broadcast_to", "expand_dims", "reshape", "view"),
        *("ravel", "permute", "item", "trans", "flip", "join", "split", "interleave", "cat"),
    )},
    **{name: getattr(elementwise, name) for name in (
        *("where", "minimum", "maximum", "clamp", "add", "sub", "mul", "cdiv", "fma", "fdiv", "div_rn", "umulhi"),
        *("abs", "sigmoid"),
    )},
    **{name: getattr(reductions, name) for name in (
        *("sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce_or", "reduce", "associative_scan", "cumsum"),
        *("cumprod", "softmax", "sort", "topk", "bitonic_merge", "gather", "histogram"),
    )},
    **{name: getattr(random, name) for name in (
        *("philox", "philox_impl", "rand", "randn", "randint", "rand4x", "randn4x", "randint4x"),
        *("uint_to_uniform_float", "pair_uniform_to_normal"),
    )},
    **{name: getattr(operators, name) for name in ("cast", "logical_and", "logical_or", "logical_not")},
    "load": _few_positional(memory.load, _MOST_POSITIONAL),
    "store": _few_positional(memory.store, _MOST_POSITIONAL),
    "atomic_cas": memory.atomic_cas,
    "program_id": program_id,
    "num_programs": num_programs,
    **_HINTS,
    "assume": assume,
    "debug_barrier": debug_barrier,
    "device_print": device_print,
    "device_assert": device_assert,
    "static_assert": static_assert,
    "static_print": static_print,
    "range": counted,
    "static_range": static_range,
    "constexpr": constexpr,
    "tensor": Tile,
    "tensor_descriptor": tensors.Descriptor,
    "swizzle2d": swizzle2d,
    "inline_asm_elementwise": inline_asm.inline_asm_elementwise,
    "condition": _condition,
    "map_elementwise": mapping.map_elementwise,
    "convert_custom_float8_sm70": operators.convert_custom_float8,
    "convert_custom_float8_sm80": operators.convert_custom_float8,
    "globaltimer": inline_asm.globaltimer,
    "smid": inline_asm.smid,
    "num_warps": lambda: constexpr(current().launch.num_warps),
    "num_threads": lambda: constexpr(32 * current().launch.num_warps),
    "gdc_wait": _nothing,
    "gdc_launch_dependents": _nothing,
}  # fmt: skip

_TLE: dict[str, Any] = {
    "load": shared.tle_load,
    "cumsum": reductions.exclusive_cumsum,
    "alloc": shared.alloc,
    "local_ptr": shared.local_ptr,
    "copy": shared.copy,
    "memory_space": shared.memory_space,
    "storage_kind": shared.memory_space,
    "async_commit_group": shared.async_commit_group,
    "async_wait_group": shared.async_wait_group,
    "pipeline": counted,
    "alloc_barrier": partitions.alloc_barrier,
    "alloc_barriers": partitions.alloc_barriers,
    "barrier_wait": partitions.barrier_wait,
    "barrier_arrive": partitions.barrier_arrive,
    "barrier": partitions.Barriers,
    "warp_specialize": partitions.warp_specialize,
    "pipe": pipes.pipe,
    "pipe_value": pipes.Pipe,
    "pipe_writer": pipes.Writer,
    "pipe_reader": pipes.Reader,
    "pipe_slot": pipes.Slot,
    "pipe_wait_result": pipes.WaitResult,
    "buffered_tensor": shared.Buffer,
    "wgmma": wgmma.wgmma,
    "wgmma_wait": wgmma.wgmma_wait,
    "shard_id": shared.shard_id,
    "distributed_barrier": shared.distributed_barrier,
    "remote": shared.remote,
    "extract_tile": shared.extract_tile,
    "insert_tile": shared.insert_tile,
}

Tile.methods.update(_HINTS)
for _name in ("load", "store"):  # the pointer itself does not count among the arguments of a method
    Tile.methods[_name] = _few_positional(getattr(memory, _name), _MOST_POSITIONAL + 1)
for _functions in (_TL, Tile.methods):
    _functions.update({_name: with_constants(f"tl.{_name}", _one) for _name, _one in _functions.items()})


def _table(module: str) -> dict[str, Any]:
    if module.startswith("tle2cuda.language.tle"):
        return _TLE
    if module.endswith("libdevice"):
        return libdevice.FUNCTIONS
    return _TL


class Namespace:
    """A module of the language, as kernels see it here."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __repr__(self) -> str:
        return f"<eager {self._module.__name__}>"

    def __getattr__(self, name: str) -> Any:
        value = _member(self._module, name)
        setattr(self, name, value)
        return value


def _member(module: types.ModuleType, name: str) -> Any:
    table = _table(module.__name__)
    if name in table:
        return table[name]
    value = getattr(module, name)
    if isinstance(value, types.ModuleType):
        return namespace(value)
    return counterpart(value, f"{module.__name__.removeprefix('tle2cuda.language').lstrip('.') or 'tl'}.{name}")


_namespaces: dict[str, Namespace] = {}


def namespace(module: types.ModuleType) -> Namespace:
    """The counterpart of a module of `tle2cuda.language`."""
    found = _namespaces.get(module.__name__)
    if found is None:
        found = _namespaces[module.__name__] = Namespace(module)
    return found


_by_identity: dict[int, Any] = {}


def _collect() -> None:
    """Which function of ours stands for which object of `tle2cuda.language`, for names imported one by one."""
    from tle2cuda import language

    pending: list[types.ModuleType] = [language]
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        if module.__name__ in seen:
            continue
        seen.add(module.__name__)
        table = _table(module.__name__)
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("tle2cuda.language"):
                    pending.append(value)
            elif name in table and callable(value):
                _by_identity.setdefault(id(value), table[name])


def counterpart(thing: Any, name: str = "") -> Any:
    """What stands for an object of the language; passive ones, such as dtypes and meshes, for themselves."""
    if not _by_identity:
        _collect()
    found = _by_identity.get(id(thing))
    if found is not None:
        return found
    if getattr(thing, "__tle2cuda_builtin__", False):
        return _missing(name or getattr(thing, "__name__", repr(thing)))
    return thing


def _missing(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotSupported(f"{name} is not supported in eager mode", help="use TLE2CUDA_DEVICE=interpreter or emulator")

    return refuse
