"""Runs a kernel's IR on NumPy arrays: the reference meaning of every kernel; passes are tested with it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from tle2cuda.analysis.wrapped_offsets import offsets_of_launch
from tle2cuda.errors import LaunchError
from tle2cuda.interpreter.addresses import CTA_SLOTS
from tle2cuda.interpreter.arguments import as_array, bind_arguments, integer_arguments
from tle2cuda.interpreter.compiler import Frame, Program, compile_kernel
from tle2cuda.interpreter.context import Context, Index3, Limits
from tle2cuda.interpreter.memory import Memory
from tle2cuda.interpreter.requests import Waiting
from tle2cuda.interpreter.scheduler import CTA, Group, Scheduler
from tle2cuda.ir.nodes import Kernel


def run(
    kernel: Kernel,
    grid: int | Sequence[int],
    args: Sequence[Any] | Mapping[str, Any],
    *,
    max_steps: int | None = None,
    check_uninitialized: bool = True,
    check_exit: bool = False,
    check_types: bool = False,
    memory: Sequence[Any] = (),
    follow_addresses: bool = False,
    seed: int | None = None,
    output: TextIO | None = None,
) -> None:
    """Execute a kernel; arrays are updated in place.

    The IR may be that of any point between tracing and lowering: layouts and CTA barriers change nothing.

    Args:
        kernel: What to run.
        grid: CTAs of the launch along x, y, z, as CUDA sees them: a multiple of the cluster shape.
        args: Arguments in signature order, or by name: NumPy arrays, CPU tensors, numbers.
        max_steps: Most loop iterations of all CTAs together; more is an error.
        check_uninitialized: Report reads of shared memory that was never written.
        check_exit: Report accesses to a peer's shared memory that no cluster barrier separates from its exit.
            Off, every CTA stays until its whole cluster is done, as the language promises; passes that place
            barriers are tested with it on.
        check_types: Check each operation's results against their types.
        memory: Further arrays that the kernel reaches through tables of pointers only.
        follow_addresses: Find such arrays among those of the program that are alive.
        seed: Give turns to CTAs, and to partitions of a CTA, in a random order; by default in order.
        output: Where `device_print` goes; by default standard output.

    Raises:
        OutOfBounds: An access outside an argument or buffer.
        Deadlock: CTAs wait in vain.
        InterpreterError: Another fault of the kernel.
        ArgumentError: Arguments that do not fit.
        LaunchError: The grid does not fit the cluster shape.
    """
    with np.errstate(all="ignore"):  # numbers overflow and are invalid as on a GPU, those of arguments too
        extents = _grid(kernel, grid)
        doubtful = offsets_of_launch(kernel, extents, integer_arguments(kernel, args))
        program = compile_kernel(kernel, check_types=check_types, doubtful=doubtful)
        shared = Memory(program.shared, check_uninitialized=check_uninitialized, follow_addresses=follow_addresses)
        shared.watch = program.may_spin
        values = bind_arguments(kernel, args, shared)
        for number, array in enumerate(memory):
            shared.add_array(f"memory[{number}]", as_array(array, f"memory[{number}]"))
        order = random.Random(seed) if seed is not None else None
        launch = _Launch(program, extents, shared, values, Limits(max_steps), output, order)
        if program.body.run is not None:
            launch.run_plain()
        else:
            scheduler = Scheduler(shared, check_exit=check_exit, seed=seed)
            scheduler.run(launch.groups())


def _grid(kernel: Kernel, grid: int | Sequence[int]) -> Index3:
    given = (grid,) if isinstance(grid, int) else tuple(int(extent) for extent in grid)
    if not 1 <= len(given) <= 3 or any(extent < 0 for extent in given):
        raise LaunchError(f"{kernel.name}: grid {given} is not one to three extents")
    x, y, z = (*given, 1, 1)[:3]
    for axis, extent, cluster in zip("xyz", (x, y, z), kernel.cluster_dims, strict=True):
        if extent % cluster:
            raise LaunchError(
                f"{kernel.name}: grid {(x, y, z)} is no multiple of the cluster {kernel.cluster_dims} along {axis}",
                help="the grid counts CTAs; multiply the number of clusters by the cluster shape",
            )
    return x, y, z


class _Launch:
    """Makes the CTAs of one launch."""

    def __init__(
        self,
        program: Program,
        grid: Index3,
        memory: Memory,
        values: list[Any],
        limits: Limits,
        output: TextIO | None,
        order: random.Random | None,
    ) -> None:
        self.program = program
        self.grid = grid
        self.memory = memory
        self.limits = limits
        self.output = output
        self.order = order
        self.template: Frame = list(program.template)
        for slot, value in zip(program.argument_slots, values, strict=True):
            self.template[slot] = value
        self.next_slot = 0

    def clusters(self) -> Iterator[list[Context]]:
        """The clusters of the launch, x fastest, each as its CTAs in order of rank."""
        sizes = self.program.kernel.cluster_dims
        counts = [extent // size for extent, size in zip(self.grid, sizes, strict=True)]
        for cz in range(counts[2]):
            for cy in range(counts[1]):
                for cx in range(counts[0]):
                    yield self.cluster((cx * sizes[0], cy * sizes[1], cz * sizes[2]), sizes)

    def cluster(self, first: Index3, sizes: Index3) -> list[Context]:
        size = sizes[0] * sizes[1] * sizes[2]
        slots = tuple((self.next_slot + rank) % CTA_SLOTS for rank in range(size))
        self.next_slot += size
        contexts: list[Context] = []
        for rank in range(size):
            x, y, z = rank % sizes[0], rank // sizes[0] % sizes[1], rank // (sizes[0] * sizes[1])
            index = (first[0] + x, first[1] + y, first[2] + z)
            context = Context(self.memory, index, self.grid, rank, slots, self.limits, self.output, self.order)
            context.frame = list(self.template)
            context.frame[0] = context
            context.compiled_regions = self.program.combine
            if contexts:
                context.shared_copies = contexts[0].shared_copies
            contexts.append(context)
        return contexts

    def run_plain(self) -> None:
        """CTAs that never wait, one after the other."""
        body = self.program.body.run
        assert body is not None
        for cluster in self.clusters():
            for context in cluster:
                body(context.frame)
            for context in cluster:
                self.memory.release_cta(context.cta_slot)

    def groups(self) -> Iterator[Group]:
        """CTAs that must be alive together."""
        groups: Iterator[list[Context]] = self.clusters()
        if self.program.has_grid_barrier:
            groups = iter([[context for cluster in groups for context in cluster]])
        for contexts in groups:
            yield Group(CTA(context, self.execution(context)) for context in contexts)

    def execution(self, context: Context) -> Waiting:
        body = self.program.body.run_waiting
        assert body is not None
        return body(context.frame)
