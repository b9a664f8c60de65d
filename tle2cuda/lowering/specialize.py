"""`warp_specialize`: workers in a branch of their own, the default warps behind it, and where they all meet."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tle2cuda.analysis.tasks import walk_task
from tle2cuda.ir.classify import ELEMENTWISE, is_tile
from tle2cuda.ir.effects import CtaBarrier, Roots, steps
from tle2cuda.ir.nodes import DIVIDES, Kernel, Op, Region, walk
from tle2cuda.ir.rules import scratch_operands
from tle2cuda.ir.types import BufferType
from tle2cuda.lowering import statements
from tle2cuda.lowering.control import emit_ops, emit_tail
from tle2cuda.lowering.copies import assign_tile
from tle2cuda.lowering.mbarriers import MeetingView
from tle2cuda.lowering.names import ascii_identifier
from tle2cuda.lowering.registers import RegisterPlan, register_plan
from tle2cuda.lowering.scalars import scalar_text
from tle2cuda.lowering.state import Scope, State
from tle2cuda.lowering.tasks import WARP_BARRIER, Task
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.variables import assign_all, share
from tle2cuda.lowering.writer import Block, Line
from tle2cuda.passes.meetings import is_meeting
from tle2cuda.passes.pipes import ELECTED
from tle2cuda.passes.tensor_memory import allocated_columns
from tle2cuda.targets import WARP_THREADS

TEMPLATE = "specialize.cu.j2"
DEFAULT_WARPS = "default_warps"
ALL_WARPS = "all_warps"
_MEMORY_ORDERS = ("atomic_rmw", "atomic_cas")  # whose lowering may meet without a barrier in the IR


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A branch of one partition.

    Attributes:
        name: Its function.
        condition: C condition; empty for the last branch.
        warps: Which warps, in words.
        is_first: Whether it opens the chain of branches.
    """

    name: str
    condition: str
    warps: str
    is_first: bool


@dataclass(frozen=True, slots=True)
class DefaultView:
    """What the default warps do from here on."""

    name: str
    warps: str


@dataclass(frozen=True, slots=True)
class OneThreadView:
    """What one thread alone does: the condition that selects it."""

    condition: str


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker partition: its region, and the warps that run it."""

    region: Region
    task: Task

    @property
    def end(self) -> int:
        """The warp behind its last one."""
        return self.task.first_warp + self.task.num_warps


@dataclass(frozen=True, slots=True)
class WorkersView:
    """The branch of all worker warps."""

    warp: str
    first: int
    remark: str


# ---- who is who -------------------------------------------------------------------------------------------------------


class _Numbers:
    """Hardware barriers, as they are given away. Partitions that run on the same warps one after the other share theirs.

    Attributes:
        free: The next one.
    """

    def __init__(self) -> None:
        self.free = 1
        self._known: dict[tuple[int, int], int] = {}

    def fresh(self) -> int:
        """One that nobody else has."""
        self.free += 1
        return self.free - 1

    def of(self, first: int, warps: int) -> int:
        """That of all the warps from `first` on."""
        if (first, warps) not in self._known:
            self._known[first, warps] = self.fresh()
        return self._known[first, warps]


def plan_tasks(state: State) -> int:
    """Name the barriers of all tasks; returns the first hardware barrier that is left."""
    kernel = state.kernel
    sites, divisions = kernel.specialisations, kernel.divisions
    if not sites and not divisions:
        return 1
    roots, numbers = Roots(kernel), _Numbers()
    state.warp = state.names.fresh("warp")
    for site in divisions:
        state.worker_tasks[site] = _workers(state, site, range(len(site.regions)), 0, roots, numbers)
    if not sites:
        return numbers.free
    # Workers and default warps come to it in different places, which `__syncthreads()` and `bar.sync` do not allow.
    state.all_warps_barrier = state.names.fresh(f"{ALL_WARPS}_barrier")
    state.partition_barriers[state.all_warps_barrier] = ("the CTA, wherever they come to it", 0, kernel.num_threads)
    state.task = _task(state, DEFAULT_WARPS, 0, kernel.num_warps, kernel.body, roots, numbers)
    for site in sites:
        state.worker_tasks[site] = _workers(state, site, range(1, len(site.regions)), kernel.num_warps, roots, numbers)
    _name_meetings(state, numbers)
    return numbers.free


def _workers(state: State, site: Op, regions: range, first: int, roots: Roots, numbers: _Numbers) -> tuple[Worker, ...]:
    """Some partitions on warps from `first` on, in the user's order."""
    names, warps = site.attrs["names"], site.attrs["warps"]
    workers: dict[int, Worker] = {}
    # Wide partitions first: whole warpgroups are aligned then, as matrix products and `setmaxnreg` need them.
    for i in sorted(regions, key=lambda i: -warps[i]):
        workers[i] = Worker(site.regions[i], _task(state, names[i], first, warps[i], site.regions[i], roots, numbers))
        first += warps[i]
    return tuple(workers[i] for i in regions)


def _name_meetings(state: State, numbers: _Numbers) -> None:
    """Functions at which partitions meet inside of loops and branches."""
    for op in filter(is_meeting, walk(state.kernel.body)):
        known, threads = op.attrs["number"], op.attrs["threads"]
        if known in state.meetings:
            continue
        if threads == state.kernel.num_threads:
            state.meetings[known] = state.all_warps_barrier
            continue
        names = [ascii_identifier(name) for name in dict.fromkeys(op.attrs.get("names", ("partitions",)))]
        who = "_and_".join(names) if len(names) > 1 else f"all_{names[0]}"
        function = state.meetings[known] = state.names.fresh(f"{who}_barrier")
        whose = f"{', '.join(f'`{name}`' for name in names)}" if "names" in op.attrs else "all partitions"
        state.partition_barriers[function] = (f"{whose}, wherever they come to it", numbers.fresh(), threads)


def _task(state: State, name: str, first: int, warps: int, region: Region, roots: Roots, numbers: _Numbers) -> Task:
    """A task, with a barrier where its threads meet."""
    if warps == 1:
        return Task(name, first, warps, WARP_BARRIER)
    function = state.names.fresh(f"{ascii_identifier(name)}_barrier")
    task = Task(name, first, warps, f"{function}()")
    gives_columns_back = name == DEFAULT_WARPS and allocated_columns(state.kernel) > 0
    if _meets(region, roots) or gives_columns_back:
        whose = "the default warps" if name == DEFAULT_WARPS else f"partition `{name}`"
        state.partition_barriers[function] = (whose, numbers.of(first, warps), task.num_threads)
    return task


def _meets(region: Region, roots: Roots) -> bool:
    """Whether the threads that run a region may meet in it."""
    return any(
        op.name in _MEMORY_ORDERS or any(isinstance(step, CtaBarrier) for step in steps(op, roots))
        for op in walk_task(region)
        if op.name not in ("warp_specialize", "named_barrier")
    )


def partitions(state: State, site: Op) -> list[str]:
    """Who runs what, for the header: `produce on warps 0 to 3`."""
    if site.attrs.get(DIVIDES):
        return [f"{worker.task.name} on {_warps(worker.task)}" for worker in state.worker_tasks[site]]
    count = state.kernel.num_warps
    default = Task(site.attrs["names"][0], 0, count)
    tasks = [default, *(worker.task for worker in state.worker_tasks[site])]
    return [f"{task.name} on {_warps(task)}" for task in tasks]


def barrier_functions(state: State, lines: Sequence[Line]) -> list[str]:
    """Texts of the functions that are barriers of partitions, as far as some line uses them."""
    code = "\n".join(line.text.partition("//")[0] for line in lines)
    texts = []
    meetings = {state.all_warps_barrier, *state.meetings.values()}
    for function, (whose, number, threads) in state.partition_barriers.items():
        if not re.search(rf"\b{function}\b", code):
            continue
        call = state.helper("meeting_barrier_sync" if function in meetings else "named_barrier_sync")
        texts.append(
            f"// Barrier of the {threads} threads of {whose}: hardware barrier {number}.\n"
            f"__device__ __forceinline__ void {function}() {{ {call}({number}, {threads}); }}"
        )
    return texts


# ---- emission ---------------------------------------------------------------------------------------------------------


def emit_warp_specialize(state: State, op: Op) -> None:
    """Workers go into their branch; the default partition stands in place. What divides the warps is a branch in place."""
    workers = state.worker_tasks[op]
    if op.attrs.get(DIVIDES):
        _divide(state, op, workers)
        return
    registers = register_plan(state.kernel, op, workers)
    block = state.workers
    if op.attrs.get("sync_before"):
        write(
            block, TEMPLATE, "meeting", MeetingView(state.all_warps_barrier, "what the default warps did in front"), op.span
        )
    _write_workers(state, block, workers, registers, _is_last(state, op))
    if op.attrs.get("sync_behind"):
        write(block, TEMPLATE, "meeting", MeetingView(state.all_warps_barrier, "all partitions are done"), op.span)
    _default(state, op, registers)


def _divide(state: State, op: Op, workers: Sequence[Worker]) -> None:
    """Groups of the warps that run the code around it, each in an arm of its own; all meet in front and behind."""
    block, barrier = state.block, state.task.barrier_function
    ordered = sorted(workers, key=lambda worker: worker.task.first_warp)
    bodies = {worker: _arm(state, worker) for worker in ordered}
    write(block, TEMPLATE, "meeting", MeetingView(barrier, "the partitions see what was done so far"), op.span)
    for position, worker in enumerate(ordered):
        is_last = position + 1 == len(ordered)
        view = PartitionView(
            name=worker.task.name,
            condition="" if is_last else f"{state.warp} < {worker.end}",
            warps=_warps(worker.task),
            is_first=position == 0,
        )
        write(block, TEMPLATE, "partition", view, body=bodies[worker])
    block.add("}")
    write(block, TEMPLATE, "meeting", MeetingView(barrier, "all partitions are done"), op.span)


def _arm(state: State, worker: Worker) -> Block:
    """The statements of a partition in place, where nothing counts that was computed of the number of another thread."""
    outer, described, uses_thread = state.scopes, state.described, state.uses_thread
    state.described, state.uses_thread = set(), False
    state.scopes = [replace(scope, known={}) for scope in outer]
    task = replace(worker.task, is_single=is_for_one_thread(worker.region))
    with state.run_by(task), state.nested() as block:
        emit_ops(state, worker.region.body)
    state.scopes, state.described = outer, described
    if task.is_single:
        inner, block = block, Block(block.depth)
        write(block, TEMPLATE, "one_thread", OneThreadView(f"threadIdx.x == {task.first_thread}"), body=inner)
    uses_own = state.uses_thread and any(re.search(r"\bthread\b", line.text.partition("//")[0]) for line in block.lines)
    state.uses_thread = uses_thread or (uses_own and not task.first_thread)
    if not uses_own or not task.first_thread:
        return block
    whole = Block(block.depth)
    statements.constant(whole, "int", "thread", f"threadIdx.x - {task.first_thread}")
    whole.lines += block.lines
    return whole


def _write_workers(state: State, block: Block, workers: Sequence[Worker], registers: RegisterPlan, is_last: bool) -> None:
    bodies = {worker: _body(state, worker, registers, is_last) for worker in workers}
    for line in registers.statements(state):
        statements.evaluate(block, line)
    ordered = sorted(workers, key=lambda worker: worker.task.first_warp)
    last_end = state.kernel.num_threads // WARP_THREADS
    if _is_alone(ordered, state.kernel):
        block.lines += _raised(bodies[ordered[0]], block.depth).lines
        return
    for position, worker in enumerate(ordered):
        is_last = worker.end == last_end
        view = PartitionView(
            name=worker.task.name,
            condition="" if is_last else f"{state.warp} < {worker.end}",
            warps=_warps(worker.task),
            is_first=position == 0,
        )
        write(block, TEMPLATE, "partition", view, body=bodies[worker])
    block.add("}")


def _is_alone(workers: Sequence[Worker], kernel: Kernel) -> bool:
    """Whether one partition is all that worker warps ever do, so that it needs no block of its own."""
    is_only = len(workers) == 1 and len(kernel.specialisations) == 1
    return is_only and workers[0].end == kernel.num_threads // WARP_THREADS


def _raised(block: Block, depth: int) -> Block:
    raised = Block(depth)
    raised.splice(block, depth)
    return raised


_BY_ONE_THREAD = frozenset(
    """
    constant program_id num_programs cluster_rank load store for while if yield condition assume buffer_view local_ptr
    pipe_acquire changed_tensor_map tma_load tma_store tma_store_wait proxy_fence mbarrier_wait mbarrier_arrive
    count_fills await_fills
    """.split()
)
"""Operations of which all threads of a partition would do the same, or one thread all, with a scalar operand at most."""


def is_for_one_thread(region: Region) -> bool:
    """Whether a partition does nothing but tell the copy engine what to do, with what scalars it takes."""
    ops = list(walk(region))
    return any(op.name in ("tma_load", "tma_store") for op in ops) and all(map(_may_be_alone, ops))


def _may_be_alone(op: Op) -> bool:
    if any(is_tile(value) for value in (*op.operands, *op.results)) or (scratch_operands(op) and op.name != "tma_load"):
        return False
    if op.name in ("pipe_commit", "pipe_close"):
        return set(op.attrs["arrivals"]) <= {ELECTED}
    return op.name in _BY_ONE_THREAD or op.name in ELEMENTWISE


def _warps(task: Task) -> str:
    first, last = task.first_warp, task.first_warp + task.num_warps - 1
    return f"warp {first}" if first == last else f"warps {first} to {last}"


def ends_together(state: State) -> bool:
    """Whether the default warps have something to do behind all operations of the kernel, so that none may leave early."""
    return state.member_barrier is not None or allocated_columns(state.kernel) > 0


def _is_last(state: State, op: Op) -> bool:
    """Whether threads have nothing to do behind the partitions, so that they may leave in the midst of theirs."""
    last = next(each for each in reversed(state.kernel.body.body) if each.name != "constant")
    return last is op and not op.results and not op.attrs.get("sync_behind")


def _body(state: State, worker: Worker, registers: RegisterPlan, is_last: bool) -> Block:
    """The statements of a worker: in scopes of its own, for nothing of the code around it is in front of it."""
    block = Block(depth=3)
    scopes, described, uses_thread = state.scopes, state.described, state.uses_thread
    state.scopes, state.described, state.uses_thread = [], set(), False
    task = replace(worker.task, is_single=is_for_one_thread(worker.region))
    inner = Block(depth=4) if task.is_single else block
    with state.run_by(task), state.writing_to(inner), state.names.scope():
        state.scopes.append(Scope(inner, state.names.depth, False, {}))
        (emit_tail if is_last else emit_ops)(state, worker.region.body)
    if task.is_single:
        write(block, TEMPLATE, "one_thread", OneThreadView(f"threadIdx.x == {task.first_thread}"), body=inner)
    uses_own = state.uses_thread and any(re.search(r"\bthread\b", line.text.partition("//")[0]) for line in block.lines)
    state.scopes, state.described, state.uses_thread = scopes, described, uses_thread
    whole = Block(depth=3)
    for line in registers.of_partition(state, worker):
        statements.evaluate(whole, line)
    if uses_own:
        first = worker.task.first_thread
        statements.constant(whole, "int", "thread", "threadIdx.x" if not first else f"threadIdx.x - {first}")
    whole.lines += block.lines
    return whole


def _default(state: State, op: Op, registers: RegisterPlan) -> None:
    block = state.block
    if op.attrs.get("sync_before"):
        write(
            block,
            TEMPLATE,
            "meeting",
            MeetingView(state.all_warps_barrier, "the workers see what was done so far"),
            op.span,
        )
    who = _warps(Task("", 0, state.kernel.num_warps))
    write(block, TEMPLATE, "default", DefaultView(op.attrs["names"][0], who), op.span)
    for line in registers.of_default(state):
        statements.evaluate(block, line)
    if not op.results and is_for_one_thread(op.regions[0]):
        with state.run_by(replace(state.task, is_single=True)), state.nested() as inner:
            emit_ops(state, op.regions[0].body)
        write(block, TEMPLATE, "one_thread", OneThreadView("threadIdx.x == 0"), body=inner)
    else:
        may_leave = _is_last(state, op) and not ends_together(state)
        (emit_tail if may_leave else emit_ops)(state, op.regions[0].body)
    if op.attrs.get("sync_behind"):
        write(block, TEMPLATE, "meeting", MeetingView(state.all_warps_barrier, "all partitions are done"), op.span)
    _bind_results(state, op)


def _bind_results(state: State, op: Op) -> None:
    """Results are what region 0 yields, which is in scope."""
    for result, value in zip(op.results, op.regions[0].terminator.operands, strict=True):
        if result in state.targets or result in state.scalar_targets:
            assign_all(state, [result], [value])
        elif is_tile(result) and value not in state.registers:  # an index, a constant, a mask
            registers = state.new_registers(result, result.name or "result")
            state.declare_registers(registers, result, op.span)
            assign_tile(state, registers, value)
            state.registers[result] = registers
        elif is_tile(result):
            state.registers[result] = state.registers[value]
        elif isinstance(result.type, BufferType):
            share(state, result, value)
            state.buffers[result] = state.buffers[value]
        else:
            state.scalars[result] = scalar_text(state, value)


def worker_branch(state: State, kernel: Kernel) -> Block:
    """`if (warp >= 4) { ... return; }` in front of what the default warps do."""
    block = Block(depth=1)
    sites = kernel.specialisations
    workers = [worker for site in sites for worker in state.worker_tasks[site]]
    if not workers:
        return block
    alone = len(workers) == 1 and _is_alone(workers, kernel)
    remark = f"  // {workers[0].task.name}: {_warps(workers[0].task)}" if alone else ""
    write(block, TEMPLATE, "workers", WorkersView(state.warp, kernel.num_warps, remark), None, body=state.workers)
    return block
