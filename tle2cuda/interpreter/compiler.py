"""Turns a kernel into closures once, so that running a CTA is a loop over calls without look-ups by name.

Each IR value gets a slot in a frame (a list; slot 0 holds the CTA's `Context`). An operation becomes one
closure on the frame; a region becomes a list of closures. Only regions in which a CTA may have to wait for
others are generators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tle2cuda.analysis.tasks import DEFAULT_TASK, User
from tle2cuda.analysis.wrapped_offsets import ACCESSES, is_followed, offsets_that_may_wrap
from tle2cuda.errors import InternalError, KernelError
from tle2cuda.interpreter import asynchrony, control, copies, handles
from tle2cuda.interpreter.asynchrony import Partition
from tle2cuda.interpreter.checks import check_results
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.interpreter.lanes import CONTROL, LaneFunction
from tle2cuda.interpreter.offsets import check_access, plain, shadow_step
from tle2cuda.interpreter.own_elements import with_masks
from tle2cuda.interpreter.regions import SharedLayout
from tle2cuda.interpreter.requests import Waiting
from tle2cuda.ir.legality import reads_memory, value_operands
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.types import BufferType, DType, element_of

Frame = list[Any]
Step = Callable[[Frame], None]
WaitingStep = Callable[[Frame], Waiting]

WAITING = frozenset({"cluster_barrier", "grid_barrier"} | asynchrony.WAITING)
_VECTOR_SAFE = {"hint", "yield"}.union(
    [
        "constant",
        "add",
        "sub",
        "mul",
        "div",
        "idiv",
        "rem",
        "and",
        "or",
        "xor",
        "shl",
        "shr",
        "min",
        "max",
        "mulhi",
        "fma",
        "cmp",
        "fits",
        "select",
        "math",
        "libdevice",
        "philox",
        "asm",
        "cast",
        "bitcast",
    ]
)


COMPILERS = {**control.COMPILERS, **handles.COMPILERS, **asynchrony.COMPILERS, **copies.COMPILERS}


@dataclass(frozen=True, slots=True)
class Block:
    """A compiled region.

    Attributes:
        run: Executes it; None when it may wait.
        run_waiting: Executes it as a generator; None when it never waits.
        yields: Slots of what its terminator passes on.
        params: Slots of its parameters.
    """

    run: Step | None
    run_waiting: WaitingStep | None
    yields: tuple[int, ...]
    params: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled kernel.

    Attributes:
        kernel: What it was made from.
        body: The compiled body.
        template: Initial frame: constants in their slots.
        argument_slots: Where the arguments go.
        shared: The kernel's allocations.
        combine: Compiled combine regions of reductions and scans.
        has_grid_barrier: Whether all CTAs must be alive together.
        may_spin: Whether some loop may wait for another CTA.
    """

    kernel: Kernel
    body: Block
    template: Frame
    argument_slots: tuple[int, ...]
    shared: tuple[SharedLayout, ...]
    combine: dict[Region, Callable[[Frame, Sequence[Any]], tuple[Any, ...]]]
    has_grid_barrier: bool
    may_spin: bool


def load_meanings() -> dict[str, Callable[..., Any]]:
    """Every registered meaning; importing the op families registers them."""
    import importlib
    import pkgutil

    import tle2cuda.ops
    from tle2cuda.ops.base import MEANINGS

    for module in pkgutil.iter_modules(tle2cuda.ops.__path__):
        importlib.import_module(f"tle2cuda.ops.{module.name}")
    return MEANINGS


@lru_cache(maxsize=32)
def compile_kernel(kernel: Kernel, *, check_types: bool = False, doubtful: frozenset[Value] | None = None) -> Program:
    """Compile a kernel for the interpreter; the last few are remembered.

    Args:
        kernel: The kernel.
        check_types: Check each operation's results against their types.
        doubtful: Values that are watched for offsets that wrapped; None: those of any launch.
    """
    return Compiler(with_masks(kernel), check_types, doubtful).program()


class Compiler:
    """Compiles one kernel; `control`, `handles`, `asynchrony` and `copies` hold operations that need more than values.

    Attributes:
        partition: The partition whose region is being compiled; None outside.
        default_user: The warps that run what stands outside of partitions.
    """

    def __init__(self, kernel: Kernel, check_types: bool, doubtful: frozenset[Value] | None = None) -> None:
        self.kernel = kernel
        self.check_types = check_types
        self.meanings = load_meanings()
        self.slots: dict[Value, int] = {}
        self.template: Frame = [None]
        self.owners: dict[Callable[..., Any], Op] = {}
        self.combine: dict[Region, Callable[[Frame, Sequence[Any]], tuple[Any, ...]]] = {}
        ops = list(walk(kernel.body))
        self.barrier_allocations = [op for op in ops if op.name == "alloc_barriers"]
        allocations = [op for op in ops if op.name in ("alloc", "tensor_alloc")]
        self.buffer_numbers = {op: number for number, op in enumerate(allocations)}
        self.shared = tuple(self._shared_layout(number, op) for number, op in enumerate(allocations))
        self.combined_once: dict[Region, Callable[[Frame, Sequence[Any]], tuple[Any, ...]]] = {}
        self.has_remote = any(op.name == "remote" for op in ops)
        self.has_grid_barrier = any(op.name == "grid_barrier" for op in ops)
        self.may_spin = any(op.name == "while" and reads_memory(op) for op in ops)
        self.doubtful = offsets_that_may_wrap(kernel) if doubtful is None else doubtful
        self.shadows: dict[Value, int] = {}
        self.partition: Partition | None = None
        self.default_user = User(DEFAULT_TASK, kernel.num_warps)

    @staticmethod
    def _shared_layout(number: int, op: Op) -> SharedLayout:
        type_ = op.results[0].type
        assert isinstance(type_, BufferType)
        name = op.attrs.get("name") or op.results[0].name or f"#{number}"
        return SharedLayout(number, name, type_, bool(op.attrs.get("zero")))

    def program(self) -> Program:
        """Compile everything."""
        arguments = tuple(self.slot(argument.value) for argument in self.kernel.args)
        body = self.region(self.kernel.body)
        return Program(
            self.kernel,
            body,
            self.template,
            arguments,
            self.shared,
            self.combine,
            self.has_grid_barrier,
            self.may_spin,
        )

    # Slots.

    def slot(self, value: Value) -> int:
        """The frame slot of a value, given at first sight."""
        found = self.slots.get(value)
        if found is None:
            found = self.slots[value] = len(self.template)
            self.template.append(None)
        return found

    def slots_of(self, values: Sequence[Value]) -> tuple[int, ...]:
        """The frame slots of several values."""
        return tuple(self.slot(value) for value in values)

    def shadow(self, value: Value) -> int:
        """The frame slot of what tells whether an offset wrapped; 0 for values that never come to that."""
        if value not in self.doubtful:
            return 0
        found = self.shadows.get(value)
        if found is None:
            found = self.shadows[value] = len(self.template)
            self.template.append(None)
        return found

    def mover(self, sources: Sequence[Value], targets: Sequence[Value]) -> Step:
        """Assigns values in parallel, with what is known of offsets that wrapped."""
        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if t in self.doubtful]
        nothing = self.shadow_of_others
        return control.mover(
            (*self.slots_of(sources), *(self.shadow(s) or nothing for s, _ in pairs)),
            (*self.slots_of(targets), *(self.shadow(t) for _, t in pairs)),
        )

    @cached_property
    def shadow_of_others(self) -> int:
        """A slot that always holds None: the shadow of values that never wrap."""
        self.template.append(None)
        return len(self.template) - 1

    @cached_property
    def engine_copies(self) -> frozenset[Op]:
        """The tensor copies that the copy engine of the target does."""
        from tle2cuda.passes.tensor_maps import engine_copies

        return engine_copies(self.kernel)

    def waits(self, op: Op) -> bool:
        """Whether a CTA may have to wait for others while executing an operation."""
        if op.name in WAITING or (op.name == "while" and reads_memory(op)):
            return True
        return any(self.waits(inner) for region in op.regions for inner in region.ops)

    # Regions.

    def region(self, region: Region) -> Block:
        """Compile a region with its terminator's operands as what it passes on."""
        params = self.slots_of(region.params)
        groups: list[list[Step] | WaitingStep] = []
        for op in region.body:
            for is_waiting, step in self.op(op):
                if is_waiting:
                    groups.append(step)
                elif groups and isinstance(groups[-1], list):
                    groups[-1].append(step)
                else:
                    groups.append([step])
        yields = self.slots_of(region.terminator.operands)
        if all(isinstance(group, list) for group in groups):
            steps = groups[0] if groups else []
            assert isinstance(steps, list)
            return Block(self._sequence(steps), None, yields, params)
        parts = tuple((False, self._sequence(group)) if isinstance(group, list) else (True, group) for group in groups)
        return Block(None, self._waiting_sequence(parts), yields, params)

    def _sequence(self, steps: Sequence[Step]) -> Step:
        """One closure that runs several and says where in the kernel a fault happened."""
        sequence, owners = tuple(steps), self.owners

        def run(frame: Frame) -> None:
            step: Any = None
            try:
                for step in sequence:
                    step(frame)
            except Exception as error:
                raise _located(error, owners.get(step)) from error.__cause__

        return run

    def _waiting_sequence(self, parts: Sequence[tuple[bool, Any]]) -> WaitingStep:
        owners = self.owners

        def run(frame: Frame) -> Waiting:
            step: Any = None
            try:
                for is_waiting, step in parts:
                    if is_waiting:
                        yield from step(frame)
                    else:
                        step(frame)
            except Exception as error:
                raise _located(error, owners.get(step)) from error.__cause__

        return run

    # Operations.

    def op(self, op: Op) -> Iterator[tuple[bool, Any]]:
        """The closures of one operation, with whether each is a generator."""
        if op.name in ("constant", "arange"):
            value = self.meanings[op.name](None, op)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            self.template[self.slot(op.results[0])] = value
            return
        special = None if handles.is_plain_product(op) else COMPILERS.get(op.name)
        if special is not None:
            for is_waiting, step in special(self, op):
                self.owners[step] = op
                yield is_waiting, step
            kept = shadow_step(self, op)
            if kept is not None:
                self.owners[kept] = op
                yield False, kept
            return
        for region in op.regions:
            self.combine[region] = self._combine(region)
        step = self.call_meaning(op)
        if self.check_types:
            step = self._checked(op, step)
        for each in (self.offset_check(op), step, shadow_step(self, op)):
            if each is not None:
                self.owners[each] = op
                yield False, each

    def offset_check(self, op: Op) -> Step | None:
        """What checks, before an access, that no offset wrapped on the way to its pointer."""
        position = ACCESSES.get(op.name)
        if position is None or not self.shadow(op.operands[0]):
            return None
        pointer, shadow = self.slot(op.operands[0]), self.shadow(op.operands[0])
        mask = self.slot(op.operands[position]) if op.attrs.get("has_mask") else 0
        return lambda frame: check_access(op, frame, pointer, shadow, mask)

    def call_meaning(self, op: Op) -> Step:
        """A call of the operation's registered meaning."""
        meaning = self.meanings.get(op.name)
        if meaning is None:
            raise InternalError(f"operation {op.name} has no meaning in the interpreter", op.span)
        inputs = self.slots_of(value_operands(op))
        outputs = self.slots_of(op.results)
        if len(outputs) == 1:
            (out,) = outputs
            if len(inputs) == 1:
                (a,) = inputs

                def unary(frame: Frame) -> None:
                    frame[out] = meaning(frame[0], op, frame[a])

                return unary
            if len(inputs) == 2:
                a, b = inputs

                def binary(frame: Frame) -> None:
                    frame[out] = meaning(frame[0], op, frame[a], frame[b])

                return binary

            def single(frame: Frame) -> None:
                result = meaning(frame[0], op, *[frame[slot] for slot in inputs])
                frame[out] = result[0] if isinstance(result, tuple) else result

            return single

        def general(frame: Frame) -> None:
            results = meaning(frame[0], op, *[frame[slot] for slot in inputs])
            for slot, result in zip(outputs, results or (), strict=True):
                frame[slot] = result

        return general

    def _checked(self, op: Op, step: Step) -> Step:
        outputs = self.slots_of(op.results)

        def checked(frame: Frame) -> None:
            step(frame)
            check_results(op, [frame[slot] for slot in outputs])

        return checked

    # Combine regions of reduce and scan.

    def _combine(self, region: Region) -> Callable[[Frame, Sequence[Any]], tuple[Any, ...]]:
        block = self.region(region)
        run, params, yields = block.run, block.params, block.yields
        if run is None:
            raise InternalError("a combine function waits at a barrier", region.terminator.span)
        dtypes = [value_dtype(_dtype(value)) for value in region.terminator.operands]

        def once(frame: Frame, inputs: Sequence[Any]) -> tuple[Any, ...]:
            for slot, value in zip(params, inputs, strict=True):
                frame[slot] = value
            run(frame)
            return tuple(frame[slot] for slot in yields)

        self.combined_once[region] = once
        names = {op.name for op in walk(region)}
        if names & CONTROL - {"yield"} and names <= _VECTOR_SAFE | CONTROL:
            return LaneFunction(region, self.meanings)
        return _elementwise(once, dtypes, region)

    def map_with_shadows(self, region: Region) -> Callable[[Frame, Sequence[Any]], tuple[Any, ...]]:
        """A compiled function of elements on n values and n shadows: gives the shadows of what it returns."""
        once, yielded = self.combined_once[region], region.terminator.operands
        params = [self.shadow(value) for value in region.params]
        shadows = [self.shadow(value) for value in yielded]
        followed = [is_followed(value) for value in yielded]

        def exact_of(frame: Frame, inputs: Sequence[Any]) -> tuple[Any, ...]:
            given, exact = inputs[: len(params)], inputs[len(params) :]
            for slot, value, number in zip(params, given, exact, strict=True):
                if slot:
                    frame[slot] = number if number != plain(value) else None
            values = once(frame, given)
            kept = [frame[slot] if slot else None for slot in shadows]
            return tuple(
                shadow if shadow is not None else plain(value) if is_number else 0
                for value, shadow, is_number in zip(values, kept, followed, strict=True)
            )

        return _by_element(exact_of, [np.dtype(np.int64)] * len(yielded))

    def combine_with_shadows(self, region: Region) -> Callable[[Frame, Sequence[Any]], tuple[Any, ...]]:
        """A compiled combine region on pairs of n values and n shadows each: gives n values and their n shadows."""
        once, yielded = self.combined_once[region], region.terminator.operands
        params = [self.shadow(value) for value in region.params]
        count = len(yielded)
        shadows = [self.shadow(value) for value in yielded]
        followed = [is_followed(value) for value in yielded]

        def both(frame: Frame, inputs: Sequence[Any]) -> tuple[Any, ...]:
            left, right = inputs[: 2 * count], inputs[2 * count :]
            for slot, exact in zip(params, (*left[count:], *right[count:]), strict=True):
                if slot:
                    frame[slot] = exact
            values = once(frame, (*left[:count], *right[:count]))
            kept = [frame[slot] if slot else None for slot in shadows]
            exact = [
                shadow if shadow is not None else plain(value) if is_number else np.zeros(np.shape(value), np.int64)
                for value, shadow, is_number in zip(values, kept, followed, strict=True)
            ]
            return (*values, *exact)

        dtypes = [*(value_dtype(_dtype(value)) for value in yielded), *[np.dtype(np.int64)] * count]
        return _elementwise(both, dtypes, region)


def _elementwise(
    once: Callable[[Frame, Sequence[Any]], tuple[Any, ...]], dtypes: Sequence[Any], region: Region
) -> Callable[[Frame, Sequence[Any]], tuple[Any, ...]]:
    """A function of scalars, a combine region, on arrays: at once where every operation takes arrays."""

    def by_arrays(frame: Frame, inputs: Sequence[Any]) -> tuple[Any, ...]:
        shape = np.shape(inputs[0])
        return tuple(np.broadcast_to(value, shape) for value in once(frame, inputs))

    is_vector_safe = all(op.name in _VECTOR_SAFE for op in walk(region))
    return by_arrays if is_vector_safe else _by_element(once, dtypes)


def _by_element(
    once: Callable[[Frame, Sequence[Any]], tuple[Any, ...]], dtypes: Sequence[Any]
) -> Callable[[Frame, Sequence[Any]], tuple[Any, ...]]:
    """A function of scalars on arrays, for one element after the other."""

    def by_element(frame: Frame, inputs: Sequence[Any]) -> tuple[Any, ...]:
        shape = np.shape(inputs[0])
        flat = [np.asarray(value).reshape(-1) for value in inputs]
        outputs = [np.empty(flat[0].size, dtype) for dtype in dtypes]
        for position in range(flat[0].size):
            results = once(frame, [array[position] for array in flat])
            for output, result in zip(outputs, results, strict=True):
                output[position] = result
        return tuple(output.reshape(shape) for output in outputs)

    return by_element


def _dtype(value: Value) -> DType:
    element = element_of(value.type)
    assert isinstance(element, DType)
    return element


def _located(error: Exception, op: Op | None) -> Exception:
    """The error with the operation's place; faults that are no errors of ours become internal errors."""
    if isinstance(error, KernelError):
        if error.span is None and op is not None:
            error.span = op.span
        return error
    name = op.name if op is not None else "an operation"
    wrapped = InternalError(
        f"internal error while interpreting {name}: {type(error).__name__}: {error}",
        op.span if op is not None else None,
    )
    wrapped.__cause__ = error
    return wrapped
