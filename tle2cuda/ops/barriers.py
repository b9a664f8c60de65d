"""Barriers between partitions: mbarriers with phases, and the hardware's named barriers."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import InvalidArgument
from tle2cuda.ir import builder
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import I32, BarrierType, DType
from tle2cuda.ops import core
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import builtin, constant, constexpr, fact, tensor, unwrap

PENDING, READY = "pending", "ready"
MOST_NAMED_BARRIERS = 15  # of 16 in hardware, PTX ISA 8.7, bar: 0 is __syncthreads()
MOST_ARRIVALS = (1 << 20) - 1  # PTX ISA 8.7, mbarrier.init: range of the count
_WARP_THREADS = 32
_MBARRIER, _NAMED = "mbarrier", "named"


class BarrierArray:
    """What is known of the barriers of one allocation; compared by identity.

    Args:
        value: The IR value, of barrier type.
        arrivals: Arrivals that complete a phase; of a named barrier its threads.
        init: ``pending`` or ``ready``.
        expect_bytes: Bytes that a copy onto one of them announces; None when none may.

    Attributes:
        uses: By which mechanism each slot is used, and where first; None stands for a slot known at run time only.
        numbers: Virtual numbers of named barriers, by slot.
    """

    __slots__ = ("arrivals", "expect_bytes", "init", "numbers", "uses", "value")

    def __init__(self, value: Value, arrivals: int, init: str, expect_bytes: int | None) -> None:
        self.value = value
        self.arrivals = arrivals
        self.init = init
        self.expect_bytes = expect_bytes
        self.uses: dict[int | None, tuple[str, str]] = {}
        self.numbers: dict[int, int] = {}

    @property
    def count(self) -> int:
        """Number of barriers."""
        type_ = self.value.type
        assert isinstance(type_, BarrierType)
        return type_.count

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"`{self.value.name}`" if self.value.name else "barriers without a name"

    def fact(self) -> str:
        """Line of an error's facts."""
        place = self.value.span.short()
        expected = "" if self.expect_bytes is None else f", expect_bytes={self.expect_bytes}"
        counts = f"{self.count} x arrive_count={self.arrivals}, init={self.init}{expected}"
        return f"{self.name}: {counts}, allocated at {place}"

    def use(self, slot: int | None, mechanism: str) -> None:
        """Notes the mechanism that a slot is used by.

        Raises:
            InvalidArgument: It is used by the other one elsewhere.
        """
        for other, (used, place) in self.uses.items():
            if used != mechanism and (other is None or slot is None or other == slot):
                which = self.name if slot is None or self.count == 1 else f"slot {slot} of {self.name}"
                ways = {_MBARRIER: "with phaseIdx or by a copy", _NAMED: "without phaseIdx"}
                problem = f"it is used {ways[mechanism]} here, {ways[used]} at {place}"
                raise InvalidArgument(
                    f"{which} cannot mix named and mbarrier backends: {problem}",
                    facts=(self.fact(),),
                    help="give phaseIdx= in every barrier_wait and barrier_arrive of a barrier, or in none",
                )
        self.uses.setdefault(slot, (mechanism, builder.current().span.short()))


class barrier_type:
    """Type of a barrier or of an array of them, as ``barrier.type``.

    Args:
        count: Barriers of the array; 1 of a slot.
        arrive_count: Arrivals that complete a phase.
        expect_bytes: Bytes that a copy announces.
    """

    __slots__ = ("arrive_count", "count", "expect_bytes")

    def __init__(self, count: int, arrive_count: int, expect_bytes: int | None) -> None:
        self.count = count
        self.arrive_count = arrive_count
        self.expect_bytes = expect_bytes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, barrier_type) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"barrier<{self.count}, arrive_count={self.arrive_count}, expect_bytes={self.expect_bytes}>"


class barrier(Compound):
    """An array of barriers, or one of it; made by `alloc_barriers`, indexed with ``[]``."""

    __slots__ = ()

    @property
    def array(self) -> BarrierArray:
        """The allocation."""
        array = self._static_
        assert isinstance(array, BarrierArray)
        return array

    @property
    def index(self) -> Any:
        """Which barrier: a constexpr, which is None for the whole array, or a scalar."""
        return self._parts_[0]

    @property
    def is_slot(self) -> bool:
        """Whether it stands for one barrier of an array."""
        return isinstance(self.index, tensor) or unwrap(self.index) is not None

    @property
    def type(self) -> barrier_type:
        """Number of barriers, arrivals and bytes."""
        return barrier_type(1 if self.is_slot else self.array.count, self.array.arrivals, self.array.expect_bytes)

    @property
    def _described_(self) -> str:
        """What messages call it."""
        array = self.array
        if not self.is_slot:
            return f"{array.name}, an array of {array.count} barriers" if array.count > 1 else f"barrier {array.name}"
        index = unwrap(self.index)
        return f"one barrier of {array.name}" if isinstance(index, tensor) else f"barrier {index} of {array.name}"

    def _take_name_(self, name: str) -> None:
        """The array learns the name of the variable that holds it."""
        if not self.is_slot and not self.array.value.name:
            object.__setattr__(self.array.value, "name", name)  # nobody else has seen the value yet

    def __getitem__(self, key: Any) -> barrier:
        if self.is_slot:
            raise InvalidArgument(
                f"{self._described_} cannot be indexed again", facts=(self.array.fact(),), help="index the array once"
            )
        index = unwrap(key)
        if isinstance(index, tensor):
            return barrier(self.array, (_index_operand(index, self.array),))
        if isinstance(index, bool) or not isinstance(index, int):
            raise InvalidArgument(
                f"barriers are indexed by an int or an integer scalar, got {core.describe(key)}",
                facts=(self.array.fact(),),
                help="count the barriers from 0",
            )
        if not 0 <= index < self.array.count:
            raise InvalidArgument(
                f"barrier index {index} is out of bounds for {self.array.count} barriers",
                facts=(self.array.fact(),),
                help="count the barriers from 0, such as k % STAGES",
            )
        return barrier(self.array, (constexpr(index),))


def _index_operand(index: tensor, array: BarrierArray) -> tensor:
    if not is_integer_scalar(index):
        raise InvalidArgument(
            f"barriers are indexed by an int or an integer scalar, got {core.describe(index)}",
            facts=(fact("index", index), array.fact()),
            help="reduce it to a scalar first" if index.dims else "",
        )
    return core.cast(index, I32)


def is_integer_scalar(value: Any) -> bool:
    """Whether a value is an integer scalar that the run time knows."""
    if not isinstance(value, tensor) or value.dims:
        return False
    element = value.element
    return isinstance(element, DType) and element.is_int() and not element.is_bool()


# -- allocation ------------------------------------------------------------------------------------


@builtin
def alloc_barriers(num_barriers: Any, arrive_count: Any = 1, init: Any = PENDING, expect_bytes: Any = None) -> barrier:
    """Allocates barriers in shared memory, set up before anything of the kernel runs.

    A barrier is used in one of two ways throughout. With `phaseIdx` in `barrier_wait` and `barrier_arrive`, or as
    ``barrier=`` of a copy, it is an mbarrier with phases. Without, it is one of the hardware's 15 named barriers, and
    `arrive_count` counts threads.

    Args:
        num_barriers: How many (constexpr).
        arrive_count: Arrivals that complete a phase; of a named barrier, the threads that meet, a multiple of 32.
        init: ``tle.gpu.PENDING``, or ``tle.gpu.READY`` when phase 0 counts as complete from the start.
        expect_bytes: Bytes that a copy onto one of these barriers announces.

    Returns:
        An array of barriers, indexed by ``[]``.

    Raises:
        InvalidArgument: An argument is no compile-time integer, or is not positive; or another `init`.

    Example:
        ``full = tle.gpu.alloc_barriers(num_barriers=2, expect_bytes=BM * BK * 2)``
    """
    count = _positive(num_barriers, "num_barriers")
    arrivals = _positive(arrive_count, "arrive_count")
    if arrivals > MOST_ARRIVALS:
        raise InvalidArgument(f"arrive_count is {arrivals}, a barrier counts up to {MOST_ARRIVALS}")
    wanted = unwrap(init)
    state = wanted.lower() if isinstance(wanted, str) else ""
    if state not in (PENDING, READY):
        raise InvalidArgument(
            f"init must be tle.gpu.PENDING or tle.gpu.READY, got {core.describe(init)}",
            help="READY is for barriers that say a buffer is free, which it is in the beginning",
        )
    expected = None if unwrap(expect_bytes) is None else _positive(expect_bytes, "expect_bytes")
    attrs = {"name": "", "arrivals": arrivals, "init": state, "expect_bytes": expected}
    value = builder.current().emit_first("alloc_barriers", (), BarrierType(count), attrs)
    return barrier(BarrierArray(value, arrivals, state, expected), (constexpr(None),))


@builtin
def alloc_barrier(arrive_count: Any = 1, init: Any = PENDING, expect_bytes: Any = None) -> barrier:
    """Allocates one barrier; see `alloc_barriers`.

    Args:
        arrive_count: Arrivals that complete a phase.
        init: ``tle.gpu.PENDING`` or ``tle.gpu.READY``.
        expect_bytes: Bytes that a copy onto it announces.

    Example:
        ``done = tle.gpu.alloc_barrier(arrive_count=2)``
    """
    return alloc_barriers(1, arrive_count, init, expect_bytes)


def _positive(value: Any, what: str) -> int:
    number = unwrap(value)
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidArgument(
            f"{what} must be a compile-time integer, got {core.describe(value)}",
            facts=(fact(what, number),) if isinstance(number, tensor) else (),
            help="pass it as a tl.constexpr parameter" if isinstance(number, tensor) else "",
        )
    if number <= 0:
        raise InvalidArgument(f"{what} must be positive, got {number}")
    return number


# -- use -------------------------------------------------------------------------------------------


@builtin
def barrier_wait(bar: Any, phaseIdx: Any = None) -> None:
    """Waits at a barrier; what came before the arrivals is visible behind it to all threads of the partition.

    Without `phaseIdx` all threads of the partition meet the others that take part, and the barrier is reused.

    Args:
        bar: A barrier; an array stands for its first one.
        phaseIdx: Number of the phase that must have completed; only its lowest bit matters, so a waiter may be one
            phase behind at most.

    Raises:
        InvalidArgument: No barrier, or a rule of the mechanism broken.

    Example:
        ``tle.gpu.barrier_wait(full[k % STAGES], phaseIdx=k // STAGES)``
    """
    given = _barrier_operand(bar, "barrier_wait")
    if unwrap(phaseIdx) is None:
        _named(given, "sync")
        return
    array, index = mbarrier_operand(given)
    phase = _phase(phaseIdx, "barrier_wait")
    builder.current().emit("mbarrier_wait", (array.value, index.value, phase.value))


@builtin
def barrier_arrive(bar: Any, arrive_count: Any = 1, phaseIdx: Any = None) -> None:
    """Arrives at a barrier, once for the partition, behind all its earlier memory operations; does not wait.

    Args:
        bar: A barrier; an array stands for its first one.
        arrive_count: Arrivals that this call adds (constexpr); 1 without `phaseIdx`.
        phaseIdx: Chooses the mechanism; the arrival always counts for the current phase.

    Raises:
        InvalidArgument: No barrier, or a rule of the mechanism broken.

    Example:
        ``tle.gpu.barrier_arrive(free[k % STAGES], phaseIdx=k // STAGES)``
    """
    given = _barrier_operand(bar, "barrier_arrive")
    arrivals = _positive(arrive_count, "arrive_count")
    if unwrap(phaseIdx) is None:
        if arrivals != 1:
            raise InvalidArgument(
                f"a named barrier needs arrive_count = 1 in barrier_arrive, got {arrivals}",
                facts=(given.array.fact(),),
                help="every thread of the partition arrives once; give phaseIdx= for a barrier that counts arrivals",
            )
        _named(given, "arrive")
        return
    _phase(phaseIdx, "barrier_arrive")
    array, index = mbarrier_operand(given)
    if arrivals > array.arrivals:
        raise InvalidArgument(
            f"barrier_arrive adds {arrivals} arrivals, but {array.arrivals} complete a phase of {array.name}",
            facts=(array.fact(),),
            help="allocate it with that arrive_count",
        )
    builder.current().emit("mbarrier_arrive", (array.value, index.value), (), {"arrivals": arrivals})


def _barrier_operand(bar: Any, what: str) -> barrier:
    value = unwrap(bar)
    if not isinstance(value, barrier):
        raise InvalidArgument(
            f"{what} expects tle.gpu barrier, got {core.describe(bar)}",
            help="allocate it with tle.gpu.alloc_barriers",
        )
    return value


def mbarrier_operand(given: barrier) -> tuple[BarrierArray, tensor]:
    """Array and index of a barrier that is used as mbarrier."""
    index = given.index
    if isinstance(index, tensor):
        given.array.use(None, _MBARRIER)
        return given.array, index
    number = unwrap(index) or 0
    given.array.use(number, _MBARRIER)
    return given.array, constant(number, I32)


def _phase(phase: Any, what: str) -> tensor:
    value = unwrap(phase)
    if is_integer_scalar(value):
        return core.cast(value, I32)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidArgument(
            f"{what}: phaseIdx must be an int that is not negative or an integer scalar, got {core.describe(phase)}",
            help="count the phases from 0, such as k // STAGES",
        )
    return constant(value & 0x7FFFFFFF, I32)  # the lowest bit alone matters


def _named(given: barrier, kind: str) -> None:
    array = given.array
    facts, index = (array.fact(),), given.index
    if isinstance(index, tensor):
        raise InvalidArgument(
            "a named barrier needs a static barrier slot index, got a run-time value",
            facts=(fact("index", index), *facts),
            help="index with a constant, or give phaseIdx= to use an mbarrier",
        )
    if array.init == READY:
        raise InvalidArgument(
            "a named barrier does not support READY",
            facts=facts,
            help="allocate it with init=tle.gpu.PENDING, or give phaseIdx=",
        )
    if array.expect_bytes is not None:
        raise InvalidArgument(
            f"{array.name} has expect_bytes, which requires phaseIdx",
            facts=facts,
            help="give phaseIdx= in barrier_wait and barrier_arrive",
        )
    if array.arrivals % _WARP_THREADS:
        raise InvalidArgument(
            f"arrive_count of a named barrier counts threads, a multiple of {_WARP_THREADS}, got {array.arrivals}",
            facts=facts,
            help="count the threads of all partitions that wait or arrive, or give phaseIdx=",
        )
    slot = unwrap(index) or 0
    array.use(slot, _NAMED)
    context = builder.current()
    threads = _WARP_THREADS * (context.partition_warps or context.num_warps)
    if threads > array.arrivals:
        raise InvalidArgument(
            f"{threads} threads come here to a named barrier of {array.arrivals}",
            facts=facts,
            help="arrive_count= of a named barrier counts the threads of all partitions that wait or arrive",
        )
    attrs = {"number": _number(array, slot), "threads": array.arrivals, "kind": kind}
    builder.current().emit("named_barrier", (), (), attrs)


def _number(array: BarrierArray, slot: int) -> int:
    """The virtual number of a named barrier."""
    if slot not in array.numbers:
        context = builder.current()
        if context.named_barriers == MOST_NAMED_BARRIERS:
            raise InvalidArgument(
                f"a kernel has at most {MOST_NAMED_BARRIERS} named barriers, this is one more",
                facts=(array.fact(),),
                help="give phaseIdx= to use mbarriers",
            )
        array.numbers[slot] = context.named_barriers
        context.named_barriers += 1
    return array.numbers[slot]
