"""What reductions and scans share: the function that combines two elements, and the loops over a thread's elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tle2cuda.errors import InternalError
from tle2cuda.ir.nodes import Op, Value, make_op
from tle2cuda.ir.types import BOOL, DType, dtype_of
from tle2cuda.layout import f2, flatten, format_index, linear_terms, unflatten
from tle2cuda.lowering.casts import convert
from tle2cuda.lowering.cexpr import RUN, C, K
from tle2cuda.lowering.evaluate import Coordinate, Evaluator, Grid
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.memory import tile_layout
from tle2cuda.lowering.operators import elementwise
from tle2cuda.lowering.state import Registers, State
from tle2cuda.lowering.templates import write
from tle2cuda.lowering.writer import Block
from tle2cuda.passes.collective_plan import accumulator

_OPERATIONS: Mapping[str, str] = {
    "sum": "add",
    "prod": "mul",
    "max": "max",
    "min": "min",
    "xor": "xor",
    "or": "or",
    "and": "and",
}
_UPDATES: Mapping[str, str] = {"sum": "+=", "prod": "*=", "xor": "^=", "or": "|=", "and": "&="}
_TAKES: Mapping[str, str] = {"argmax": "argmax_takes", "argmin": "argmin_takes"}


TEMPLATE = "combine.cu.j2"


@dataclass(frozen=True, slots=True)
class CombineView:
    """A combine function, as `combine.cu.j2` shows it."""

    name: str
    type: str
    a: str
    b: str
    result: str


class Combiner:
    """The combine function of a reduction or scan, and the type it works on.

    One operand is a plain value; several are the members of a struct.

    Attributes:
        kind: Kind of the operation.
        dtypes: Element type of each operand.
        inner: Type in which each is computed (`collective_plan.accumulator`).
        type: C type of what is combined.
        identity: What leaves an element as it is; None when there is no such value.
    """

    def __init__(self, state: State, op: Op, operands: Sequence[Value]) -> None:
        self.state = state
        self.op = op
        self.kind: str = op.attrs["kind"]
        self.dtypes = tuple(dtype_of(v.type) for v in operands)
        self.inner = tuple(accumulator(self.kind, d) for d in self.dtypes)
        for dtype in (*self.dtypes, *self.inner):
            state.include_for(dtype)
        self.is_struct = len(operands) > 1
        self.type = _struct_name(state, self.inner) if self.is_struct else self.inner[0].cuda
        self.identity = None if self.is_struct else self._identity()
        self._function = ""

    def _identity(self) -> C | None:
        dtype = self.inner[0]
        if self.kind in ("max", "min", "custom"):
            return None  # of floats, an infinity would hide that there were only NaN
        if self.kind == "and" or (dtype is BOOL and self.kind == "prod"):
            return C("true") if dtype is BOOL else literal(self.state, -1, dtype)
        return literal(self.state, 1 if self.kind == "prod" else 0, dtype)

    # ---- elements -----------------------------------------------------------------------------------------------------

    def pack(self, elements: Sequence[C]) -> str:
        """What is combined, made of one element of each operand."""
        texts = [
            convert(self.state, element, dtype, inner).text
            for element, dtype, inner in zip(elements, self.dtypes, self.inner, strict=True)
        ]
        return self.pack_inner(texts)

    def pack_inner(self, texts: Sequence[str]) -> str:
        """The same, of texts that have the types of `inner`."""
        return f"{self.type}{{{', '.join(texts)}}}" if self.is_struct else texts[0]

    def members(self, text: str) -> list[str]:
        """The operands' parts of what is combined."""
        return [f"{text}.item{i}" for i in range(len(self.inner))] if self.is_struct else [text]

    def results(self, text: str) -> list[str]:
        """The operands' parts in their own element types."""
        return [
            convert(self.state, C(member), inner, dtype).text
            for member, inner, dtype in zip(self.members(text), self.inner, self.dtypes, strict=True)
        ]

    @property
    def is_plain(self) -> bool:
        """Whether what is combined is just an element of the only operand."""
        return not self.is_struct and self.inner == self.dtypes

    # ---- the function -------------------------------------------------------------------------------------------------

    def declare(self) -> None:
        """Write a function that is too long to be repeated: several operands, or the user's."""
        if not self.is_struct and self.kind != "custom":
            return
        name = self.state.names.fresh("combine")
        if self.kind == "custom":
            self._inline_region(name)
        else:
            takes = self.state.helper(_TAKES[self.kind])
            tie = "true" if self.op.attrs.get("tie_left", True) else "false"
            test = f"{takes}<{tie}>(a.item0, a.item1, b.item0, b.item1)"
            view = CombineView(name, self.type, "a", "b", f"{test} ? b : a")
            write(self.state.block, TEMPLATE, "choice", view, self.op.span)
        self._function = name

    def _inline_region(self, name: str) -> None:
        """The user's function as a lambda."""
        from tle2cuda.lowering.control import emit_ops
        from tle2cuda.lowering.scalars import scalar_text

        state, region = self.state, self.op.regions[0]
        with state.names.scope():
            a, b = state.names.fresh("a"), state.names.fresh("b")
            with state.nested() as body:
                texts = (*self.members(a), *self.members(b))
                for param, text in zip(region.params, texts, strict=True):
                    state.scalars[param] = C(text)
                emit_ops(state, region.body)
                found = [scalar_text(state, v).text for v in region.terminator.operands]
            view = CombineView(name, self.type, a, b, self.pack_inner(found))
            write(state.block, TEMPLATE, "function", view, self.op.span, body=body)

    def function(self) -> str:
        """The function as an argument of a device helper."""
        if self._function:
            return self._function
        text = self.combine("a", "b")
        result = f" -> {self.type}" if self.inner[0] is BOOL else ""
        return f"[]({self.type} a, {self.type} b){result} {{ return {text}; }}"

    def combine(self, a: str, b: str) -> str:
        """`a` combined with `b`, what comes first being `a`."""
        if self._function:
            return f"{self._function}({a}, {b})"
        dtype = self.inner[0]
        operation = _OPERATIONS.get(self.kind)
        if operation is None:
            raise InternalError(f"no combine function of kind {self.kind!r}", self.op.span)
        attrs = {"nan": self.op.attrs.get("nan", "ignore")} if operation in ("max", "min") else {}
        pseudo = make_op(operation, (Value(dtype), Value(dtype)), (dtype,), attrs, (), self.op.span)
        expr = elementwise(self.state, pseudo, [C(a), C(b)], lambda e: e)  # type: ignore[arg-type, return-value]
        assert isinstance(expr, C)
        return expr.text

    def update(self, target: str, element: str) -> str:
        """Statement that combines an element into `target`."""
        dtype = self.inner[0]
        sign = _UPDATES.get(self.kind)
        if sign is not None and dtype is not BOOL and (dtype.is_floating() or dtype.bits >= 32):
            return f"{target} {sign} {element};"
        return f"{target} = {self.combine(target, element)};"


def _struct_name(state: State, dtypes: Sequence[DType]) -> str:
    """Name of the struct of these members; declares it."""
    name = "Items_" + "_".join(d.short for d in dtypes)
    members = " ".join(f"{d.cuda} item{i};" for i, d in enumerate(dtypes))
    state.usings[name] = f"struct {name} {{ {members} }};"
    return name


# ---- loops over a thread's elements ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Element:
    """One element of each operand inside a loop.

    Attributes:
        run_lines: Statements at the start of the loop over `run`.
        k_lines: Statements at the start of the loop over `k`.
        texts: The elements.
    """

    run_lines: tuple[str, ...]
    k_lines: tuple[str, ...]
    texts: tuple[C, ...]


def grid_of(shape: tuple[int, ...], k: Sequence[int], run: Sequence[int], threads: Sequence[int]) -> Grid:
    """A grid from row-major indices."""

    def coordinates(images: Sequence[int]) -> tuple[Coordinate, ...]:
        return tuple(unflatten(image, shape) for image in images)

    return Grid(shape, coordinates(k), coordinates(run), coordinates(threads))


def elements_at(state: State, values: Sequence[Value], grid: Grid, depth: int, same_run_block: bool = False) -> Element:
    """Evaluate one element of each tile at (thread, run, k) of a grid.

    What does not depend on the loops is written to `state.block` at once, its names in the scope `depth`; names inside of
    the loops go to the innermost open scope.
    """
    layout = tile_layout(values[0])
    ev = Evaluator(state, layout, layout.vector()[1])
    ev.outer_depth = depth
    ev.grid, ev.vec, ev.runs = grid, 1 << len(grid.k), 1 << len(grid.run)
    run_block, k_block = Block(0), Block(0)
    ev.run_block = run_block
    ev.k_block = run_block if same_run_block else k_block
    texts = tuple(ev.typed(v) for v in values)
    return Element(_rows(run_block), _rows(k_block), texts)


def _rows(block: Block) -> tuple[str, ...]:
    return tuple("    " * line.depth + line.text for line in block.lines)


def register_element(
    registers: Registers, run_images: Sequence[int], k_images: Sequence[int] = (), names: Mapping[str, str] | None = None
) -> str:
    """Text of the element in the register that `run` and `k` select by the given images of their bits."""
    spelling = names or {RUN: RUN, K: K}
    bits, low = registers.vec.bit_length() - 1, registers.vec - 1

    def index(of: Callable[[int], int]) -> str:
        sources = ((K, [of(i) for i in k_images]), (RUN, [of(i) for i in run_images]))
        return format_index(linear_terms(sources), spelling)

    return registers.element(index(lambda i: i >> bits), index(lambda i: i & low))


def kept_registers(images: Sequence[int]) -> tuple[int, ...]:
    """Images of the register bits that lead to other elements, copies left out."""
    return f2.independent(images)


def thread_condition(state: State, idle: int) -> str:
    """`if (...)` for the threads that have none of the bits in `idle` set; empty when all do the work."""
    condition = thread_test(state, idle)
    return f"if ({condition})" if condition else ""


def thread_test(state: State, idle: int) -> str:
    """Condition that none of the thread bits in `idle` is set; empty when there are none."""
    if not idle:
        return ""
    state.thread()
    threads = state.task.num_threads
    if idle == threads - 1:
        return "thread == 0"
    if idle & (idle + 1) == 0:
        return f"thread % {idle + 1} == 0"
    lowest = idle & -idle
    if idle == threads - lowest:
        return f"thread < {lowest}"
    return f"(thread & {idle}) == 0"


def slot_text(state: State, buffer: Value, index: str) -> str:
    """One element of a scratch buffer."""
    return f"{state.buffers[buffer].text}[{index}]"


__all__ = [
    "Combiner",
    "Element",
    "elements_at",
    "flatten",
    "grid_of",
    "kept_registers",
    "register_element",
    "slot_text",
    "thread_condition",
    "thread_test",
]
