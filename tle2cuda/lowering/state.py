"""What the lowering of one kernel knows: names, values, helpers, the text so far."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from tle2cuda.analysis.arrivals import units_by_barriers
from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.analysis.folds import Fold, folds
from tle2cuda.analysis.wrapping import wrapping
from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import is_tile, lazy_values
from tle2cuda.ir.effects import Roots
from tle2cuda.ir.nodes import WARPGROUP_WARPS, Kernel, Op, Region, Value, walk
from tle2cuda.ir.rewrite import definitions, uses_of
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import (
    BF16,
    BOOL,
    F8E4NV,
    F8E5,
    F16,
    DType,
    PipeType,
    PointerType,
    TileType,
    Type,
    element_of,
    is_pointer,
)
from tle2cuda.layout import Layout
from tle2cuda.lowering import statements
from tle2cuda.lowering.access import GlobalAccess
from tle2cuda.lowering.cexpr import EQUALITY, RUN, THREAD, Affine, C, Expr, K, binary
from tle2cuda.lowering.names import Names
from tle2cuda.lowering.stage_bits import StageBits
from tle2cuda.lowering.tasks import Task, meeting_at
from tle2cuda.lowering.writer import Block, source_comment

if TYPE_CHECKING:
    from tle2cuda.lowering.issues import Issue
    from tle2cuda.lowering.specialize import Worker


@dataclass(frozen=True, slots=True)
class Registers:
    """A tile in registers: `name[run][k]`, less the indices that have only one value.

    Attributes:
        name: C variable.
        layout: Which thread and register holds which element.
        vec: Elements of one vector, the extent of `k`.
        single_run: It is a vector that lives inside one step of the loop over runs.
        is_constant: The variable is `const`, so nobody may sum in it.
    """

    name: str
    layout: Layout
    vec: int
    single_run: bool = False
    is_constant: bool = False

    @property
    def runs(self) -> int:
        return 1 if self.single_run else self.layout.num_registers // self.vec

    def element(self, run: str, k: str) -> str:
        """Text of one element."""
        return self.vector(run) + (f"[{k}]" if self.vec > 1 else "")

    def vector(self, run: str) -> str:
        """Text of one run's vector (or element, for vec = 1)."""
        return self.name + (f"[{run}]" if self.runs > 1 else "")


@dataclass(frozen=True, slots=True)
class BufferRef:
    """How a buffer is spelled.

    Attributes:
        text: `shared.name`, possibly indexed; or a pointer to the first element when `flat`.
        shape: Extents that are still to be indexed.
        starts: First index along each extent, for sub-slices.
        flat: True when `text` is a pointer and indices must be linearised row-major.
        strides: Row-major strides in elements of the storage, for flat buffers.
        swizzle_bytes: Span of the swizzle under which rows are stored, in panels of so many bytes; 0 for none.
        element_bytes: Size of an element of a swizzled buffer.
    """

    text: str
    shape: tuple[int, ...]
    starts: tuple[Expr, ...]
    flat: bool = False
    strides: tuple[int, ...] = ()
    swizzle_bytes: int = 0
    element_bytes: int = 0

    @property
    def panel_columns(self) -> int:
        """Columns of a row of the storage."""
        return self.swizzle_bytes // self.element_bytes if self.swizzle_bytes else self.shape[-1]

    @property
    def has_panels(self) -> bool:
        """Whether rows are longer than the swizzle, so that an index of the panel stands in front of the row's."""
        return bool(self.swizzle_bytes) and self.shape[-1] > self.panel_columns


def cuda_type(type_: Type) -> str:
    """CUDA spelling of a scalar or of a tile's element."""
    element = element_of(type_)
    if isinstance(element, PointerType):
        return f"{element.element.cuda}*"
    return element.cuda


@dataclass(frozen=True, slots=True)
class Scope:
    """An open `{ ... }` of the emitted text.

    Attributes:
        block: Where its statements go.
        names_depth: Its place among the scopes of `Names`.
        is_loop: Whether it is the body of a loop, or guards a part of one; what does not change in it may be computed in
            front of it.
        known: What was named in it, by the value and where it is read.
        is_guard: It is no loop, and runs at most once each time.
    """

    block: Block
    names_depth: int
    is_loop: bool
    known: dict[object, Expr]
    is_guard: bool = False


@dataclass(frozen=True, slots=True)
class Fills:
    """Variables of a task that tell, by a bit for each stage, what the copy engine brought.

    Attributes:
        filled: Whether a stage was filled an odd number of times; where there are `parities`, whether it was at all.
        parities: The parity of the lap in which it was filled last; None where the count of its fills tells it.
    """

    filled: StageBits
    parities: StageBits | None


@dataclass(slots=True)
class CopiesBehind:
    """Operations behind a product that load ahead, which it may write among its own statements.

    Attributes:
        ops: The operations.
        is_taken: Whether it has.
    """

    ops: tuple[Op, ...]
    is_taken: bool = False


_T = TypeVar("_T")


class _Leveled(dict[Value, _T]):
    """How values are spelled; notes the scope in which each was bound."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def __setitem__(self, value: Value, spelling: _T) -> None:
        self._state.levels[value] = self._state.level
        super().__setitem__(value, spelling)


class State:
    """Everything that the emitters of one kernel share."""

    def __init__(self, kernel: Kernel, headers: str) -> None:
        self.kernel = kernel
        self.headers = headers
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel)
        self.wrapping: frozenset[Op] = wrapping(kernel, self.info)
        self.definitions: dict[Value, Op] = definitions(kernel.body)
        self.uses: dict[Value, list[Op]] = uses_of(kernel.body)
        self.lazy = lazy_values(kernel.body.ops)
        self.access = GlobalAccess(kernel)
        self.task = Task("", 0, kernel.num_warps)
        self.names = Names()
        self.division_levels = _division_levels(kernel.body, 0)
        self.levels: dict[Value, int] = {}  # how many scopes enclose the one in which a variable keeps its value
        self.scalars: dict[Value, C] = _Leveled[C](self)
        self.registers: dict[Value, Registers] = _Leveled[Registers](self)
        self.buffers: dict[Value, BufferRef] = {}
        self.barriers: dict[Value, str] = {}  # arrays of mbarriers, as members of `Shared`
        self.fills: dict[Value, Fills] = {}  # of the task that is being written, by the barriers that tell of them
        self.turns: dict[Value, str] = {}  # variables that count products in flight behind each other, by their barriers
        self.named_barriers: dict[int, int] = {}  # hardware barriers by the number that the front end gave
        self.workers = Block(depth=2)  # what the warps of worker partitions do
        self.worker_tasks: dict[Op, tuple[Worker, ...]] = {}  # of each `warp_specialize`, in the user's order
        self.partition_barriers: dict[str, tuple[str, int, int]] = {}  # function: whose, hardware barrier, threads
        self.meetings: dict[int, str] = {}  # functions at which partitions meet, by the number of the barrier
        self.all_warps_barrier = ""  # function at which workers and default warps meet
        self.warp = ""  # variable that holds the number of the warp, where partitions ask for it
        self.tensor_maps: dict[Value, str] = {}  # the kernel's parameters
        self.begun_reductions: dict[Op, object] = {}  # whose registers the loop that made them has folded
        self.copies_behind: CopiesBehind | None = None  # of the product that is being written
        self.issue: Issue | None = None  # the tensor copies written last
        self.member_barrier: tuple[str, tuple[tuple[int, ...], ...]] | None = None  # counters, and whose each is
        self.targets: dict[Value, Registers] = {}  # tiles whose storage is already declared
        self.scalar_targets: dict[Value, str] = {}
        self.member_types: dict[Value, str] = {}  # members of `Shared` that are no plain arrays
        self.places: dict[Value, object] = {}
        self.helpers: set[str] = set()
        self.functions: dict[object, tuple[str, str]] = {}  # what the kernel brings itself: name and text
        self.includes: set[str] = set()
        self.block = Block(depth=1)
        self.scopes: list[Scope] = [Scope(self.block, self.names.depth, False, {})]
        self.usings: dict[str, str] = {}
        self.described: set[object] = set()
        self.pipe_fills: dict[Value, StageBits] = {}  # variables that count how often stages were published
        self.task_constants: list[tuple[Block, str, str]] = []  # where they stand, what they are, how they are called
        self.uses_thread = False
        self.uses_warpgroup = False
        self.uses_cluster = False
        self.uses_grid = False
        self._last_comment: tuple[str, int] | None = None
        self.index_constants: set[str] = set()  # named elements of lazy tiles, which may turn out not to be needed
        self.index_names = {K: "k", RUN: "run", THREAD: "thread"}

    @functools.cached_property
    def folds(self) -> Mapping[Op, Fold]:
        """What each fused region folds into the results of reductions."""
        return folds(self.kernel.body, self.lazy)

    @functools.cached_property
    def roots(self) -> Roots:
        """Where the kernel's buffers and barriers come from."""
        return Roots(self.kernel)

    @functools.cached_property
    def arrival_units(self) -> dict[Value, int]:
        """By how much the arrivals that the user counts are multiplied, at mbarriers where that is not 1."""
        return units_by_barriers(self.kernel, self.roots)

    @functools.cached_property
    def pipes_in_maps(self) -> frozenset[Value]:
        """Pipes whose published stages tensor maps wait for."""
        made = [op for op in walk(self.kernel.body) if op.name == "changed_tensor_map"]
        return frozenset(value for op in made for value in op.operands if isinstance(value.type, PipeType))

    # ---- text -------------------------------------------------------------------------------------------------------

    def helper(self, name: str) -> str:
        """Use a device helper of `templates/device/`; returns its name for the call."""
        self.helpers.add(name)
        return name

    def thread(self) -> C:
        """Number of the thread in its task, as a signed int; `threadIdx.x` where the task is the whole CTA."""
        self.uses_thread = True
        return C("thread")

    def warpgroup(self) -> str:
        """Number of the warpgroup in its task, known to the compiler to be the same in all lanes of a warp.

        What derives from it, matrix descriptors above all, stays in uniform registers.
        """
        if self.warp:
            first = self.task.first_warp // WARPGROUP_WARPS
            return f"({self.warp} / {WARPGROUP_WARPS}{f' - {first}' if first else ''})"
        self.uses_warpgroup = True
        return "warpgroup"

    def first_thread(self) -> C:
        """Condition that selects one thread of the task, `true` where it is alone."""
        if self.task.is_single:
            return C("true")
        return binary("==", EQUALITY, self.thread(), C("0"))

    def comment(self, span: Span, block: Block | None = None) -> None:
        """Show the user's line, unless it is the one shown last."""
        block = block if block is not None else self.block
        place = (span.file, span.line)
        shown = block.commented if block.lines else self._last_comment
        if not span.line or place == shown or not span.source_line():
            return
        self._last_comment = block.commented = place
        block.add(source_comment(span, block.depth), span)

    @contextlib.contextmanager
    def writing_to(self, block: Block) -> Iterator[Block]:
        """Statements written inside go to a block of their own, which a template places later."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    @contextlib.contextmanager
    def run_by(self, task: Task) -> Iterator[None]:
        """What is written inside is run by the threads of a task."""
        outer, self.task = self.task, task
        try:
            with meeting_at(task.barrier):
                yield
        finally:
            self.task = outer

    @property
    def is_in_loop(self) -> bool:
        """Whether what is written now stands in a loop."""
        return any(scope.is_loop for scope in self.scopes)

    @contextlib.contextmanager
    def nested(self, is_loop: bool = False, is_guard: bool = False) -> Iterator[Block]:
        """The body of a `{ ... }` scope: names and what is computed once are its own; yields its block."""
        with self.names.scope(), self.writing_to(Block(self.block.depth + 1, commented=self._last_comment)) as body:
            self.scopes.append(Scope(body, self.names.depth, is_loop or is_guard, {}, is_guard))
            yield body
            self.scopes.pop()

    @property
    def level(self) -> int:
        """Number of the innermost open scope; 0 is the kernel's."""
        return len(self.scopes) - 1

    def level_of(self, value: Value) -> int:
        """The outermost scope in which a value is known and does not change.

        Divisions by what may be zero go no further than where they stand: in front of a loop, they would run even if
        it does not.
        """
        if value in self.levels:
            return self.levels[value]
        op = self.definitions.get(value)
        if op is None:
            return 0
        if op.name in ("idiv", "rem") and not self._is_nonzero(op.operands[1]):
            known = max(self.level_of(v) for v in op.operands)
            return max(known, self.division_levels.get(value, self.level))
        return max((self.level_of(v) for v in op.operands), default=0)

    def _is_nonzero(self, value: Value) -> bool:
        op = self.definitions.get(value)
        if op is not None and op.name == "splat":
            return self._is_nonzero(op.operands[0])
        return op is not None and op.name == "constant" and bool(op.attrs["value"])

    # ---- values -----------------------------------------------------------------------------------------------------

    def layout(self, value: Value) -> Layout:
        """Layout of a tile value."""
        if not isinstance(value.type, TileType) or value.type.layout is None:
            raise InternalError(f"{value!r} has no layout", value.span)
        return value.type.layout

    def scalar(self, value: Value) -> C:
        """C text of a scalar value."""
        found = self.scalars.get(value)
        if found is None:
            raise InternalError(f"scalar {value!r} used before it is lowered", value.span)
        return found

    def use_count(self, value: Value) -> int:
        """Number of operations that use a value."""
        return len(self.uses.get(value, ()))

    def declare_type(self, value_type: Type) -> str:
        """CUDA type of an element; pulls in the header it needs."""
        element = element_of(value_type)
        dtype = element.element if isinstance(element, PointerType) else element
        self.include_for(dtype)
        return cuda_type(value_type)

    def variable_type(self, value: Value) -> str:
        """CUDA type of a variable that holds a value; pointers into read-only arguments are pointers to const."""
        type_ = self.declare_type(value.type)
        return f"const {type_}" if is_pointer(value.type) and self.access.is_read_only(value) else type_

    def include_for(self, dtype: DType) -> None:
        """Headers that a dtype needs."""
        if dtype is F16:
            self.includes.add("cuda_fp16.h")
        elif dtype is BF16:
            self.includes.add("cuda_bf16.h")
        elif dtype in (F8E4NV, F8E5):
            self.includes.add("cuda_fp8.h")

    def tile_type(self, value: Value, vec: int) -> str:
        """CUDA type of one run of a tile."""
        element = self.variable_type(value)
        if vec == 1:
            return element
        self.helper("vector")
        return f"Vector<{element}, {vec}>"

    def new_registers(self, value: Value, hint: str = "") -> Registers:
        """Name a tile's registers, without declaring them."""
        layout = self.layout(value)
        name = self.names.fresh(value.name or hint or "tile")
        return Registers(name, layout, layout.vector()[1])

    def declaration(self, registers: Registers, value: Value) -> str:
        """`Vector<float, 4> row[4];`"""
        type_, name = self.declarator(registers, value)
        return f"{type_} {name};"

    def declare_registers(self, registers: Registers, value: Value, span: Span | None = None) -> None:
        """Write the declaration of a tile's registers."""
        statements.variable(self.block, *self.declarator(registers, value), span)

    def declarator(self, registers: Registers, value: Value) -> tuple[str, str]:
        """C type of one run of a tile, and its variable with the number of runs."""
        extent = f"[{registers.runs}]" if registers.runs > 1 else ""
        return self.tile_type(value, registers.vec), registers.name + extent

    def define_constant(self, value: Value, name: str, text: str, span: Span | None = None) -> None:
        """Write `const int name = text;` for a scalar, `float* const name = text;` for a scalar pointer."""
        statements.constant(self.block, self.variable_type(value), name, text, span)


def _division_levels(region: Region, level: int) -> dict[Value, int]:
    """How many loops and branches enclose each division."""
    found: dict[Value, int] = {}
    for op in region.ops:
        if op.name in ("idiv", "rem"):
            found[op.result] = level
        for inner in op.regions:
            found |= _division_levels(inner, level + (op.name != "fused"))
    return found


def is_scalar(value: Value) -> bool:
    """Whether a value is a scalar or scalar pointer."""
    return not is_tile(value) and isinstance(value.type, (DType, PointerType))


def is_bool(value: Value) -> bool:
    """Whether a value's elements are bool."""
    return element_of(value.type) is BOOL


@dataclass(slots=True)
class Emitted:
    """Result of lowering: the file's text and which line came from where."""

    source: str
    line_map: tuple[tuple[int, Span], ...] = field(default=())


def affine(expr: Expr) -> Affine:
    """Any integer expression as a sum with one opaque part."""
    return expr if isinstance(expr, Affine) else Affine(0, ((expr, 1),))
