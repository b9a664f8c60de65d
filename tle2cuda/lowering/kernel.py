"""The whole file: header, `Shared`, helpers, kernel; and the launch contract that goes with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import NamedTuple

from tle2cuda.errors import CapabilityError
from tle2cuda.ir.effects import WRITE, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import DType, PointerType, TileType, element_of
from tle2cuda.lowering import control, distributed, mbarriers, specialize, tensor_memory, tma
from tle2cuda.lowering.access import GlobalAccess
from tle2cuda.lowering.cexpr import C
from tle2cuda.lowering.helpers import helper_texts
from tle2cuda.lowering.names import kernel_name
from tle2cuda.lowering.places import Place
from tle2cuda.lowering.shared import STATIC_SHARED_LIMIT_BYTES, Member, bind_buffers, struct_members
from tle2cuda.lowering.state import State
from tle2cuda.lowering.tasks import meeting_at
from tle2cuda.lowering.templates import render_template, write
from tle2cuda.lowering.writer import LINE_WIDTH, Block, joined, operation, render, without_unused
from tle2cuda.ops.core import plain_text
from tle2cuda.passes.mma_layouts import instruction_of
from tle2cuda.passes.tensor_memory import allocated_columns
from tle2cuda.runtime.contract import TENSOR_MAP_BYTES, ArgSpec, LaunchContract, ScratchSpec, TensorMapSpec
from tle2cuda.targets import parse_target

GRID_BARRIER_WORDS = "grid_barrier_words"
DYNAMIC_SHARED_ALIGNMENT_BYTES = 128  # of dynamic shared memory, at least
_SPLITS = frozenset({"idiv", "rem"})


class Lowered(NamedTuple):
    """An emitted file with its contract and, for its lines, the user's places and the operations they are written for."""

    source: str
    contract: LaunchContract
    line_map: tuple[tuple[int, Span], ...]
    op_map: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class KernelFile:
    """What `kernel.cu.j2` shows."""

    name: str
    function: str
    source: str
    header: tuple[str, ...]
    includes: tuple[str, ...]
    usings: tuple[str, ...]
    helpers: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]
    shared_bytes: int
    uses_groups: bool
    qualifiers: str
    parameters: str
    body: str


@dataclass(frozen=True, slots=True)
class PrologueView:
    """What a body uses, for `prologue.cu.j2`."""

    dynamic_shared: bool = False
    alignment_bytes: int = DYNAMIC_SHARED_ALIGNMENT_BYTES
    static_shared: bool = False
    only_written: bool = False
    cluster: bool = False
    grid: bool = False
    thread: bool = False
    warp: str = ""
    warpgroup: bool = False
    most_threads: int = 0  # 0 leaves it unsaid


def lower(kernel: Kernel, headers: str = "toolkit", max_registers: int | None = None) -> Lowered:
    """Lower a kernel that went through the passes.

    Args:
        kernel: IR with layouts, barriers and the shared-memory map.
        headers: `toolkit` spells clusters, grids and block scans with CUDA's headers, `minimal` with helpers of ours.
        max_registers: Most registers of a thread.
    """
    state = State(kernel, headers)
    memory_map = bind_buffers(state)
    shared_bytes = memory_map.total_bytes
    access = state.access
    parameters = _bind_arguments(state, access)
    maps = [tma.bind_map(state, op) for op in _tensor_maps(kernel)]
    mbarriers.number_named_barriers(state, specialize.plan_tasks(state))
    with meeting_at(state.task.barrier):
        _emit_body(state)
    for block in (state.block, state.workers):
        block.lines = without_unused(block.lines, state.index_constants)
    members = struct_members(state, memory_map)
    dynamic = shared_bytes > STATIC_SHARED_LIMIT_BYTES
    if state.uses_cluster or state.uses_grid:
        state.includes.add("cooperative_groups.h")
    prologue = _prologue(state, bool(members) and not dynamic, dynamic, memory_map.alignment_bytes)
    lines = joined([*prologue.lines, *state.block.lines])
    text, places, ops = render(lines)
    functions = specialize.barrier_functions(state, lines)
    contract = _contract(state, access, shared_bytes, dynamic)
    if state.headers == "minimal" and kernel.cooperative:
        parameters.append(f"unsigned* {GRID_BARRIER_WORDS}")
    if tma.changed_maps(kernel):
        parameters.append(f"TensorMap* {tma.DEVICE_MAPS}")
    parameters += maps
    file = KernelFile(
        name=contract.kernel_name,
        function=kernel.name,
        source=kernel.span.short(),
        header=tuple(_header(state, contract, shared_bytes)),
        includes=tuple(_includes(state)),
        usings=tuple(state.usings[name] for name in sorted(state.usings)),
        helpers=(*helper_texts(state.helpers), *functions, *(text for _, text in state.functions.values())),
        members=_member_groups(members),
        shared_bytes=shared_bytes,
        uses_groups=state.uses_cluster or state.uses_grid,
        qualifiers=_qualifiers(kernel, max_registers),
        parameters=_wrapped(contract.kernel_name, parameters),
        body=text,
    )
    source = render_template("kernel.cu.j2", kernel.span, file=file)
    start = source[: source.rindex(text)].count("\n") if text else 0  # lines in front of the body
    line_map = tuple((line + start, span) for line, span in places)
    return Lowered(source, contract, line_map, tuple((line + start, op) for line, op in ops))


# ---- arguments ------------------------------------------------------------------------------------------------------


def _bind_arguments(state: State, access: GlobalAccess) -> list[str]:
    parameters: list[str] = []
    for argument in state.kernel.args:
        value = argument.value
        name = state.names.fresh(value.name or "argument")
        if not _is_passed(state, value):
            continue
        type_ = state.declare_type(value.type)
        if isinstance(value.type, PointerType):
            const = "const " if access.is_const(value) else ""
            restrict = " __restrict__" if access.is_restrict(value) else ""
            parameters.append(f"{const}{type_}{restrict} {name}")
            state.places[value] = Place(C(name))
        else:
            parameters.append(f"const {type_} {name}")
        state.scalars[value] = C(name)
    return parameters


def _is_passed(state: State, argument: Value) -> bool:
    """Whether an argument is a parameter: what only tensor maps are made of stays on the host."""
    users = state.uses.get(argument, [])
    read_by_maps = {name for op in _tensor_maps(state.kernel) for name in tma.map_arguments(op)}
    return any(op.name != "tensor_map" for op in users) or argument.name not in read_by_maps


def _tensor_maps(kernel: Kernel) -> list[Op]:
    return [*(op for op in kernel.body.ops if op.name == "tensor_map"), *tma.changed_maps(kernel)]


def _emit_body(state: State) -> None:
    ops = state.kernel.body.body
    if state.member_barrier is not None:
        # Behind all partitions: whoever runs on warps of its own does not come to barriers of the cluster.
        behind = max((ops.index(site) + 1 for site in state.kernel.specialisations), default=0)
        control.emit_ops(state, ops[:behind])
        ops = ops[behind:]
        following = next((op for op in ops if op.name != "constant"), None)
        with operation("cluster_barrier"):
            distributed.emit_member_counters(state, following)
    (control.emit_ops if specialize.ends_together(state) else control.emit_tail)(state, ops)
    if allocated_columns(state.kernel):
        with operation("tensor_alloc"):
            tensor_memory.emit_deallocation(state)
    if state.member_barrier is not None:
        with operation("cluster_barrier"):
            distributed.emit_whole_cluster_barrier(state, "no CTA leaves while members wait at its counters")


def _asks_for_warpgroup(state: State) -> str:
    """The first operation that asks which warpgroup a thread is of; empty when none does."""
    products = (op.name for op in walk(state.kernel.body) if op.name in ("dot", "wgmma", "tensor_load"))
    return next(products, "") if state.uses_warpgroup else ""


def _prologue(state: State, static_shared: bool, dynamic_shared: bool, alignment_bytes: int) -> Block:
    """What the body opens with, and the blank line behind it."""
    # Index terms may cancel out after they asked for the thread, so the text decides.
    code = [line.text.partition("//")[0] for line in state.block.lines]
    thread = state.uses_thread and any(re.search(r"\bthread\b", text) for text in code)
    most_threads = state.kernel.default_threads if thread and _divides_places(state) else 0
    view = PrologueView(
        dynamic_shared,
        max(alignment_bytes, DYNAMIC_SHARED_ALIGNMENT_BYTES) if dynamic_shared else DYNAMIC_SHARED_ALIGNMENT_BYTES,
        static_shared,
        static_shared and _only_writes_shared(state.kernel),
        state.uses_cluster,
        state.uses_grid,
        thread and not state.warp,
        state.warp,
        state.uses_warpgroup,
        0 if state.warp else most_threads,
    )
    block = Block(depth=1)
    if view != PrologueView():
        with operation("warp_specialize" if state.warp else _asks_for_warpgroup(state)):
            write(block, "prologue.cu.j2", "prologue", view)
        if state.block.lines:
            block.blank()
    has_columns = allocated_columns(state.kernel) > 0
    if has_columns:
        with operation("tensor_alloc"):
            tensor_memory.emit_allocation(state, block, "thread" if view.thread else "threadIdx.x")
    with operation("alloc_barriers"):
        mbarriers.emit_set_up(state, block, "thread == 0" if view.thread else "threadIdx.x == 0")
    if has_columns:
        with operation("tensor_alloc"):
            tensor_memory.emit_address(state, block)
    if block.lines and block.lines[-1].text:
        block.blank()
    if state.warp:
        if state.kernel.specialisations:
            with operation("warp_specialize"):
                block.splice(specialize.worker_branch(state, state.kernel))
            block.blank()
        if thread:
            write(block, "prologue.cu.j2", "prologue", PrologueView(thread=True, most_threads=most_threads))
    return block


def _divides_places(state: State) -> bool:
    """Whether places in tiles are split by powers of two, as in `column % 64`.

    The number of the thread and that of the register are bits of a place that lie apart. Compilers that know it compute a
    remainder of their sum once for all registers, others once for each, and keep them all. Where warpgroups multiply it is
    left unsaid: it moves instructions between products in flight, which then wait for each other (ptxas, C7515).
    """
    if any(_is_by_warpgroups(op) for op in walk(state.kernel.body)):
        return False
    return any(
        op.name in _SPLITS
        and op.result in state.lazy
        and isinstance(op.result.type, TileType)
        and op.operands[0] in state.lazy
        and state.layout(op.result).num_registers > 1
        and _is_power_of_two(state, op.operands[1])
        for op in walk(state.kernel.body)
    )


def _is_by_warpgroups(op: Op) -> bool:
    return op.name == "wgmma" or (op.name == "dot" and "instruction" in op.attrs and instruction_of(op).is_wgmma)


def _is_power_of_two(state: State, value: Value) -> bool:
    op = state.definitions.get(value)
    if op is not None and op.name == "splat":
        return _is_power_of_two(state, op.operands[0])
    number = op.attrs["value"] if op is not None and op.name == "constant" else 0
    return isinstance(number, int) and number > 1 and number & (number - 1) == 0


def _only_writes_shared(kernel: Kernel) -> bool:
    """Whether nothing reads what a kernel keeps in shared memory."""
    roots = Roots(kernel)
    return all(e.kind == WRITE for op in walk(kernel.body) for e in effects(op, roots) if e.is_shared)


# ---- the struct -----------------------------------------------------------------------------------------------------


def _member_groups(members: list[Member]) -> tuple[tuple[str, ...], ...]:
    """Texts of the members by offset; those that share their bytes stand together."""
    groups: dict[object, list[str]] = {}
    for position, member in enumerate(members):
        key = ("alone", position) if member.group is None else ("together", member.group)
        groups.setdefault(key, []).append(_member_text(member))
    return tuple(map(tuple, groups.values()))


def _member_text(member: Member) -> str:
    text = f"alignas({member.alignment_bytes}) {member.declaration};"
    return f"{text:<40}  // {member.comment}" if member.comment else text


# ---- header and signature -------------------------------------------------------------------------------------------


def _includes(state: State) -> list[str]:
    return sorted(state.includes)


def _qualifiers(kernel: Kernel, max_registers: int | None) -> str:
    parts = []
    if kernel.cluster_size > 1:
        x, y, z = kernel.cluster_dims
        parts.append(f"__cluster_dims__({x}, {y}, {z})")
    # Registers move only in kernels that say how many every thread has at the start (PTX ISA, setmaxnreg).
    moves = any(kernel.moves_registers(site) for site in kernel.specialisations)
    if max_registers is not None and not moves:
        # In the place of launch bounds, to which the compiler's option for the most registers gives way.
        parts.append(f"__maxnreg__({max_registers})")
    else:
        parts.append(f"__launch_bounds__({kernel.num_threads}{', 1' if moves else ''})")
    return " ".join(parts)


def _wrapped(name: str, parameters: list[str]) -> str:
    """Parameters on as few lines as fit, aligned behind the opening parenthesis."""
    indent = " " * (len(name) + 1)
    lines: list[str] = []
    for position, parameter in enumerate(parameters):
        text = parameter + ("," if position + 1 < len(parameters) else "")
        if lines and len(indent) + len(lines[-1]) + 1 + len(text) < LINE_WIDTH:
            lines[-1] += " " + text
        else:
            lines.append(text)
    return ("\n" + indent).join(lines)


def _header(state: State, contract: LaunchContract, shared_bytes: int) -> list[str]:
    kernel, cluster = state.kernel, ""
    if kernel.cluster_size > 1:
        cluster = f", clusters of {kernel.cluster_dims}"
    memory = f"{shared_bytes} bytes of shared memory"
    lines = [f"target    {kernel.target}, {kernel.num_threads} threads per CTA{cluster}, {memory}"]
    if kernel.most_stages is not None and any(_has_fewer_stages(op) for op in walk(kernel.body)):
        lines.append(f"stages    at most {kernel.most_stages} in a pipelined loop: more do not fit into shared memory")
    for op in walk(kernel.body):
        if reason := op.attrs.get("undivided"):
            lines.append(f"loops     {op.span.short()} has no partition that loads: {reason}")
        lines += [f"loops     {op.span.short()} {text}" for text in op.attrs.get("unstaged", ())]
    lines.append(f"launch    {_launch(kernel, contract)}")
    for number, site in enumerate((*kernel.specialisations, *kernel.divisions)):
        lines += _listed("          " if number else "warps     ", specialize.partitions(state, site))
    arguments = [_argument(a) for a in contract.args if a.is_passed]
    if arguments or not contract.tensor_maps:
        lines += _listed("args      ", arguments)
    for number, made in enumerate(contract.tensor_maps):
        lines += _listed("          " if number else "maps      ", _map_lines(made))
    if contract.constants:
        lines += _listed("constants ", [f"{name} = {text}" for name, text in contract.constants])
    return lines


def _has_fewer_stages(op: Op) -> bool:
    """Whether a ring has fewer stages than its loop asked for."""
    return op.name == "pipe" and bool(op.attrs["capacity"] < op.attrs.get("asked", 0))


def _launch(kernel: Kernel, contract: LaunchContract) -> str:
    if kernel.cluster_size > 1:
        text = f"grid of CTAs, a multiple of the cluster {kernel.cluster_dims}"
    else:
        text = "grid of CTAs, one for each program"
    if kernel.cooperative:
        text = "cooperative: all CTAs of the grid resident at once"
    if contract.dynamic_shared_bytes:
        text += f"; {contract.dynamic_shared_bytes} bytes of dynamic shared memory"
    return text


def _argument(arg: ArgSpec) -> str:
    text = f"{arg.name} {'*' if arg.kind == 'pointer' else ''}{arg.dtype}"
    if arg.divisibility > 1:
        text += f" align {arg.divisibility}" if arg.kind == "pointer" else f" divisible by {arg.divisibility}"
    return text


def _map_lines(made: TensorMapSpec) -> list[str]:
    """What the host encodes: ``a_map fp16 box 64 x 32 of a: shape M x K, strides K, 1``."""
    first = made.base if made.offset_elems == "0" else f"{made.base} + {made.offset_elems}"
    shape, strides = f"shape ({', '.join(made.shape)})", f"strides ({', '.join((*made.strides, '1'))})"
    items = [f"{made.name} of {first}: {made.dtype}", shape, strides, f"box ({', '.join(map(str, made.box))})"]
    if made.swizzle_bytes:
        items.append(f"{made.swizzle_bytes}-byte swizzle")
    if made.padding == "nan":
        items.append("NaN outside")
    return items


def _listed(label: str, items: list[str]) -> list[str]:
    lines = [label]
    for position, item in enumerate(items):
        text = item + (", " if position + 1 < len(items) else "")
        if len(lines[-1]) + len(text) > LINE_WIDTH - 6 and lines[-1].strip() != label.strip():
            lines.append(" " * len(label))
        lines[-1] += text
    return [line.rstrip() for line in lines]


# ---- contract -------------------------------------------------------------------------------------------------------


def constant_text(value: object) -> str:
    """A constexpr parameter as text that is the same in every process."""
    if isinstance(value, (FunctionType, type)) or hasattr(value, "fn"):
        return str(getattr(value, "__name__", type(value).__name__))
    return re.sub(r" at 0x[0-9a-f]+", "", plain_text(value))


def _constants(constants: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple((name, constant_text(value)) for name, value in constants.items())


def _contract(state: State, access: GlobalAccess, shared_bytes: int, dynamic: bool) -> LaunchContract:
    kernel = state.kernel
    args = []
    for argument in kernel.args:
        element = element_of(argument.value.type)
        pointer = isinstance(element, PointerType)
        dtype = element.element if isinstance(element, PointerType) else element
        assert isinstance(dtype, DType)
        args.append(
            ArgSpec(
                argument.name,
                "pointer" if pointer else "scalar",
                dtype.short,
                argument.divisibility,
                pointer and access.is_const(argument.value),
                _is_passed(state, argument.value),
            )
        )
    scratch: tuple[ScratchSpec, ...] = ()
    if state.headers == "minimal" and kernel.cooperative:
        scratch = (ScratchSpec(GRID_BARRIER_WORDS, fixed_bytes=8, zero=True),)
    if count := tma.slots_of_maps(kernel):
        bytes_per_cta = TENSOR_MAP_BYTES * count
        made = ScratchSpec(tma.DEVICE_MAPS, bytes_per_cta=bytes_per_cta, zero=False, alignment_bytes=TENSOR_MAP_BYTES)
        scratch = (*scratch, made)
    min_arch = _oldest_architecture(kernel)
    if kernel.cluster_size > 1 and _number(kernel.target) < 90:
        raise CapabilityError(f"clusters need sm_90 or later, the target is {kernel.target}", kernel.span)
    return LaunchContract(
        kernel_name=kernel_name(kernel.name),
        source_file=kernel.span.file_name,
        source_line=kernel.span.line,
        target=kernel.target,
        args=tuple(args),
        constants=_constants(kernel.constants),
        cta_threads=kernel.num_threads,
        cluster=kernel.cluster_dims,
        cooperative=kernel.cooperative,
        shared_static_bytes=0 if dynamic else shared_bytes,
        dynamic_shared_bytes=shared_bytes if dynamic else 0,
        scratch=scratch,
        tensor_maps=tuple(tma.map_spec(state, op) for op in _tensor_maps(kernel)),
        min_arch=min_arch,
    )


def _oldest_architecture(kernel: Kernel) -> str:
    """The first architecture that has what is asked of the launch, and the instructions of all products."""
    since = [(9, 0) if kernel.cluster_size > 1 or _tensor_maps(kernel) else (7, 0)]
    names = {op.name for op in walk(kernel.body)}
    if "alloc_barriers" in names:  # waits are spelled for the target
        since.append((9, 0) if parse_target(kernel.target).has("mbarrier_tx") else (8, 0))
    if "cp_async" in names:
        since.append((8, 0))
    since += [instruction_of(op).since for op in walk(kernel.body) if op.attrs.get("instruction")]
    return "sm_{}{}".format(*max(since))


def _number(target: str) -> int:
    return int(re.sub(r"\D", "", target))
