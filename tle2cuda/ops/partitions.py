"""Warp specialisation: functions that run at the same time, each on warps of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tle2cuda.errors import InvalidArgument, NotSupported
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import DIVIDES, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType
from tle2cuda.ops import core
from tle2cuda.ops.core import builtin, constexpr, is_builtin, static_bool, tensor, unwrap
from tle2cuda.targets import MAX_THREADS_PER_CTA, WARP_THREADS

WORKER_WARPS = (1, 2, 4, 8, 16)
FEWEST_REGISTERS, MOST_REGISTERS, REGISTER_STEP = 24, 256, 8  # PTX ISA 8.7, setmaxnreg

_handles: Callable[[Any], list[Value]] | None = None
_with_handles: Callable[[Any, Sequence[Value]], Any] | None = None


def set_handles(read: Callable[[Any], list[Value]], write: Callable[[Any, Sequence[Value]], Any]) -> None:
    """Installs the front end's way of finding the IR values inside of a value, and of exchanging them."""
    global _handles, _with_handles
    _handles, _with_handles = read, write


@builtin
def warp_specialize(
    functions_and_args: Any, worker_num_warps: Any = None, worker_num_regs: Any = None, reuse_default_warps: Any = False
) -> Any:
    """Runs several functions at the same time, each on warps of its own, and waits for all of them.

    The first one is the default partition: it runs on the warps of the kernel and its result is that of the call. Each
    further one is a worker on additional warps. Without barriers or pipes nothing orders partitions among each other:
    what one writes and another reads meanwhile is undefined. All of it is visible behind the call.

    Args:
        functions_and_args: Tuple or list of ``(function, args)``, functions being jit functions. Numbers and dtypes among
            the arguments are constants in the function; everything else is captured, also inside tuples.
        worker_num_warps: Warps of each worker, 1, 2, 4, 8 or 16 (constexpr).
        worker_num_regs: Registers of each worker's threads, a multiple of 8 (constexpr). Left out, no registers move
            between partitions: where they do, a CTA has the registers of its multiprocessor to itself, which is for matrix
            products, not for kernels that wait for memory.
        reuse_default_warps: Adds no warps: those of the kernel are divided among all entries. `worker_num_warps` then has a
            count for every entry, the first one included, and they add up to `num_warps`; `worker_num_regs` is left out.

    Returns:
        What the first function returns.

    Raises:
        InvalidArgument: The lists do not fit each other, or hold something else.

    Example:
        ``total = tle.gpu.warp_specialize([(reduce_part, (src, 1024)), (log_part, (log,))], [1], [40])``
    """
    context = builder.current()
    divides = static_bool(reuse_default_warps, "warp_specialize: reuse_default_warps")
    if context.partition is not None:
        raise InvalidArgument(
            f"warp_specialize cannot be nested: it is called in partition `{context.partition}`",
            help="give the outer call one more entry",
        )
    entries = _entries(functions_and_args)
    warps, registers = (_divided if divides else _added)(len(entries), worker_num_warps, worker_num_regs, context.num_warps)
    names = tuple(_name(function) for function, _ in entries)
    (first, outcome), *others = (
        _partition(*entry, name, count, yields=number == 0)
        for number, (entry, name, count) in enumerate(zip(entries, names, warps, strict=True))
    )
    workers = [region for region, _ in others]
    assert _with_handles is not None
    attrs = {
        "warps": warps,
        "registers": registers,
        "names": names,
        **({DIVIDES: True} if divides else {}),
    }
    types = tuple(value.type for value in outcome.yielded)
    results = context.emit("warp_specialize", (), types, attrs, (first, *workers))
    behind = dict(zip(outcome.yielded, results, strict=True))
    return _with_handles(outcome.returned, [recipe(behind) for recipe in outcome.recipes])


def _partition(function: Any, args: Sequence[Any], name: str, warps: int, yields: bool) -> tuple[Region, _Outcome]:
    """The region of one partition, and what comes of what its function returned."""
    context = builder.current()
    assert _handles is not None
    context.partition, context.partition_warps = name, warps
    try:
        with context.region() as ops:
            returned = core.call_function(function, args)
            outcome = _Outcome(returned, tuple(ops))
            if yields:
                outcome.take(_handles(returned))
            context.emit("yield", tuple(outcome.yielded))
        return Region((), tuple(ops)), outcome
    finally:
        context.partition = context.partition_warps = None


_Recipe = Callable[[Mapping[Value, Value]], Value]
"""Makes a value behind the partitions; takes what each yielded value is called there."""


class _Outcome:
    """What the default partition returns, and how that is had behind it.

    Numbers, tiles and pointers are yielded. A buffer is no data: it stands for the same bytes everywhere, so its views are
    made again, of numbers that are yielded.

    Args:
        returned: What the function returned.
        ops: The partition's operations.

    Attributes:
        yielded: What the region yields.
        recipes: How each value inside of `returned` is had behind.
    """

    def __init__(self, returned: Any, ops: tuple[Op, ...]) -> None:
        self.returned = returned
        self.yielded: dict[Value, None] = {}
        self.recipes: list[_Recipe] = []
        region = Region((), ops)
        self._definitions = definitions(region)
        self._params = {param for op in walk(region) for inner in op.regions for param in inner.params}

    def take(self, values: Sequence[Value]) -> None:
        """Finds out what to yield for these values."""
        self.recipes = [self._buffer(v) if isinstance(v.type, BufferType) else self._number(v) for v in values]

    def _number(self, value: Value) -> _Recipe:
        if value not in self._definitions and value not in self._params:
            return lambda behind: value
        self.yielded.setdefault(value)
        return lambda behind: behind[value]

    def _buffer(self, value: Value) -> _Recipe:
        op = self._definitions.get(value)
        if op is None and value not in self._params:
            return lambda behind: value
        if op is not None and op.name == "buffer_view":
            source, index = self._buffer(op.operands[0]), [self._number(v) for v in op.operands[1:]]
            return lambda behind: _view(value, (source(behind), *(i(behind) for i in index)), op.attrs)
        if op is not None and op.name in ("pipe_acquire", "pipe_wait"):
            slots = op.results[1:] if op.name == "pipe_wait" else op.results
            field = builder.current().pipe_fields[op.operands[0]][slots.index(value)]
            source, stage = self._buffer(field), self._number(op.operands[1])
            return lambda behind: _view(value, (source(behind), stage(behind)), {"kind": "slot"})
        raise NotSupported(
            "warp_specialize: a partition cannot return a buffer that was chosen at run time",
            facts=(f"it comes from {value.span.short()}",),
            help="return the number that chooses, and choose behind the call",
        )


def _view(like: Value, operands: tuple[Value, ...], attrs: Mapping[str, Any]) -> Value:
    """A view of the type of another one."""
    return builder.current().emit_one("buffer_view", operands, like.type, attrs)


# -- arguments -------------------------------------------------------------------------------------


def _entries(given: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    value = unwrap(given)
    if not isinstance(value, (tuple, list)):
        raise InvalidArgument(
            f"warp_specialize takes a tuple or list of (fn, args), got {core.describe(given)}",
            help="write [(main_part, (x, y)), (side_part, (z,))]",
        )
    if not value:
        raise InvalidArgument(
            "warp_specialize needs at least a default partition, got no entries",
            help="the first (fn, args) runs on the kernel's own warps",
        )
    entries = []
    for number, item in enumerate(value):
        entry = unwrap(item)
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise InvalidArgument(
                f"warp_specialize: entry {number} must be (fn, args), got {core.describe(entry)}",
                help="a function without arguments is written (fn, ())",
            )
        function, args = entry[0], unwrap(entry[1])
        if not isinstance(args, (tuple, list)):
            raise InvalidArgument(
                f"warp_specialize: the arguments of entry {number} must be a tuple, got {core.describe(args)}",
                help="one argument is written (x,)",
            )
        if not callable(unwrap(function)) and not hasattr(unwrap(function), "fn"):
            raise InvalidArgument(
                f"warp_specialize: entry {number} must be (fn, args) with a jit function, got {core.describe(function)}",
                help="decorate the function with @tle2cuda.jit",
            )
        entries.append((unwrap(function), tuple(_constant(argument) for argument in args)))
    return entries


def _constant(argument: Any) -> Any:
    """An argument as the callee gets it: Python numbers are constants there."""
    if isinstance(argument, tuple) and type(argument) is tuple:
        return tuple(_constant(item) for item in argument)
    if isinstance(argument, (bool, int, float)):
        return constexpr(argument)
    return argument


def _added(entries: int, warps: Any, registers: Any, num_warps: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Warps of all partitions and registers of the workers, which have warps of their own."""
    counts = _counts(warps, entries - 1, "warp counts", "worker_num_warps")
    wanted: tuple[int, ...] = (0,) * (entries - 1)
    if unwrap(registers) is not None:
        given = _counts(registers, entries - 1, "register counts", "worker_num_regs")
        wanted = tuple(_registers(count) for count in given)
    _check_warps(counts, num_warps)
    return (num_warps, *counts), wanted


def _divided(entries: int, warps: Any, registers: Any, num_warps: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The same where partitions are groups of the kernel's warps."""
    if unwrap(registers) is not None:
        raise InvalidArgument(
            "warp_specialize: worker_num_regs cannot be given with reuse_default_warps=True",
            help="leave it out: registers do not move between groups of the kernel's warps",
        )
    counts = _counts(warps, entries, "warp counts", "worker_num_warps", divides=True)
    for count in counts:
        if count not in WORKER_WARPS:
            raise InvalidArgument(
                f"warp_specialize: a partition has 1, 2, 4, 8 or 16 warps, not {count}", help="divide them differently"
            )
    if sum(counts) != num_warps:
        parts = " + ".join(map(str, counts))
        raise InvalidArgument(
            f"warp_specialize: {parts} = {sum(counts)} warps, the kernel has {num_warps}",
            help=f"with reuse_default_warps=True warp counts add up to num_warps={num_warps}",
        )
    return counts, (0,) * (entries - 1)


def _counts(given: Any, wanted: int, what: str, name: str, divides: bool = False) -> tuple[int, ...]:
    value = unwrap(given)
    items = () if value is None else value
    if not isinstance(items, (tuple, list)):
        raise InvalidArgument(f"warp_specialize: {name} must be a list of ints, got {core.describe(given)}")
    counts = []
    for item in items:
        count = unwrap(item)
        if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
            shown = core.describe(item)
            problem = f"warp_specialize: {what} must be positive compile-time ints, got {shown}"
            raise InvalidArgument(problem, help="pass it as a tl.constexpr parameter" if isinstance(count, tensor) else "")
        counts.append(count)
    if len(counts) != wanted:
        who = ("entry", "entries") if divides else ("worker", "workers")
        raise InvalidArgument(
            f"warp_specialize: {len(counts)} {what} for {wanted} {who[wanted != 1]}",
            help="give one for every entry, the first included"
            if divides
            else "give one for every entry but the first, which runs on the kernel's own warps",
        )
    return tuple(counts)


def _check_warps(warps: Sequence[int], default: int) -> None:
    for count in warps:
        if count not in WORKER_WARPS:
            raise InvalidArgument(
                f"warp_specialize: a worker has 1, 2, 4, 8 or 16 warps, not {count}", help="split its work differently"
            )
    total = default + sum(warps)
    if total * WARP_THREADS > MAX_THREADS_PER_CTA:
        parts = " + ".join(map(str, (default, *warps)))
        raise InvalidArgument(
            f"warp_specialize: {parts} = {total} warps are {total * WARP_THREADS} threads, "
            f"a CTA has at most {MAX_THREADS_PER_CTA}",
            help="use fewer warps, also num_warps= of the kernel",
        )


def _registers(count: int) -> int:
    if count % REGISTER_STEP:
        raise InvalidArgument(
            f"warp_specialize: register counts are multiples of {REGISTER_STEP}, got {count}",
            help=f"use {max(FEWEST_REGISTERS, count // REGISTER_STEP * REGISTER_STEP)}",
        )
    return min(max(count, FEWEST_REGISTERS), MOST_REGISTERS)


def _name(function: Any) -> str:
    inner = getattr(function, "fn", function)
    name = getattr(inner, "__name__", "partition")
    return "partition" if is_builtin(function) else str(name)
