"""The value of a tile's element at (thread, run, k), as C text (D4).

A `Grid` says, for one value, which coordinate each bit of `k`, `run` and the thread index leads to. It starts as the layout
of the loop being emitted and is carried backwards through shape operations; index tiles become sums of bit fields, tiles in
registers become element accesses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import CHOICES, SHAPE, VIEWS, is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import I64, DType, PointerType, TileType, element_of
from tle2cuda.layout import Layout, Term, axis_unit, f2, flatten, format_index, format_xor, linear_terms, unflatten
from tle2cuda.lowering import statements
from tle2cuda.lowering.cexpr import (
    EQUALITY,
    PRIMARY,
    RELATIONAL,
    RUN,
    THREAD,
    Affine,
    C,
    Expr,
    K,
    call,
    deps_of,
    static_cast,
    ternary,
)
from tle2cuda.lowering.literals import literal
from tle2cuda.lowering.operators import elementwise
from tle2cuda.lowering.state import Registers, State, is_bool
from tle2cuda.lowering.writer import Block

Coordinate = tuple[int, ...]
_RENAMING = SHAPE | VIEWS | CHOICES


def _normal(base: Coordinate) -> Coordinate:
    return base if any(base) else ()


def _sources(terms: Iterable[Term]) -> frozenset[str]:
    """Loop variables in terms."""
    return frozenset(t.source for t in terms if t.source in (K, RUN))


@dataclass(frozen=True, slots=True)
class Grid:
    """Images of the bits of k, run and thread in the coordinates of one value.

    Attributes:
        shape: The value's shape.
        k: Image of each bit of k.
        run: Image of each bit of run.
        threads: Image of each bit of the thread index.
        base: Coordinate of k = run = thread = 0, to be XORed with the images; () stands for zeros.
    """

    shape: tuple[int, ...]
    k: tuple[Coordinate, ...]
    run: tuple[Coordinate, ...]
    threads: tuple[Coordinate, ...]
    base: Coordinate = ()

    @classmethod
    def of(cls, layout: Layout, vec: int) -> Grid:
        """The grid of a loop over a layout's registers with vectors of `vec` elements."""
        bits = vec.bit_length() - 1
        return cls(layout.shape, layout.registers[:bits], layout.registers[bits:], (*layout.lanes, *layout.warps))

    def _map(self, shape: tuple[int, ...], function) -> Grid:  # type: ignore[no-untyped-def]
        return Grid(
            shape,
            tuple(map(function, self.k)),
            tuple(map(function, self.run)),
            tuple(map(function, self.threads)),
            _normal(function(self.base)) if self.base else (),
        )

    def moved(self, shape: tuple[int, ...], by: Coordinate) -> Grid:
        """The grid with `by` XORed to all coordinates, in a value of another shape."""
        base = tuple(x ^ y for x, y in zip(self.base or (0,) * len(by), by, strict=True))
        return Grid(shape, self.k, self.run, self.threads, _normal(base))

    def part(self, shape: tuple[int, ...]) -> Grid:
        """The grid of the coordinates inside of parts with the extents `shape`."""
        return self._map(shape, lambda c: tuple(x % n for x, n in zip(c, shape, strict=True)))

    def which_part(self, shape: tuple[int, ...]) -> Grid:
        """The grid of the parts with the extents `shape`: which of them, along each axis."""
        counts = tuple(n // m for n, m in zip(self.shape, shape, strict=True))
        return self._map(counts, lambda c: tuple(x // n for x, n in zip(c, shape, strict=True)))

    def start(self, axis: int) -> int:
        """Coordinate along one axis where k, run and thread are zero."""
        return self.base[axis] if self.base else 0

    def operand(self, op: Op, value: Value) -> Grid:
        """The grid of an operand, given the grid of the result of a shape operation."""
        assert isinstance(value.type, TileType)
        shape = value.type.shape
        if op.name == "broadcast":
            return self._map(shape, lambda c: tuple(0 if n == 1 else x for x, n in zip(c, shape, strict=True)))
        if op.name == "expand_dims":
            axis = op.attrs["axis"]
            return self._map(shape, lambda c: (*c[:axis], *c[axis + 1 :]))
        if op.name == "trans":
            perm = op.attrs["perm"]
            return self._map(shape, lambda c: tuple(c[perm.index(i)] for i in range(len(shape))))
        if op.name == "reshape":
            return self._map(shape, lambda c: unflatten(flatten(c, self.shape), shape))
        if op.name == "extract":
            return self.moved(shape, op.attrs["start"])
        if op.name == "flip":
            return self.moved(shape, axis_unit(shape, op.attrs["axis"], shape[op.attrs["axis"]] - 1))
        return self

    def sources(self, axis: int, k_zero: bool) -> tuple[tuple[str, list[int]], ...]:
        """Bit images along one axis, by input."""
        parts = [] if k_zero else [(K, [c[axis] for c in self.k])]
        return (*parts, (RUN, [c[axis] for c in self.run]), (THREAD, [c[axis] for c in self.threads]))


@dataclass(frozen=True, slots=True)
class Choice:
    """Elements to choose from.

    Attributes:
        condition: The first one is taken where it holds; None when there is only one.
        arms: Tiles, and the grids in which they are read.
    """

    condition: C | None
    arms: tuple[tuple[Value, Grid], ...]


Arms = tuple[tuple[Value, Grid], ...]
ChoiceRule = Callable[["Evaluator", Op, Grid, bool], Choice]
_CHOICE_RULES: dict[str, ChoiceRule] = {}


def choice_rule(name: str) -> Callable[[ChoiceRule], ChoiceRule]:
    """Register how an operation of `CHOICES` finds the tile that it takes an element of."""

    def register(rule: ChoiceRule) -> ChoiceRule:
        _CHOICE_RULES[name] = rule
        return rule

    return register


class Evaluator:
    """Evaluates values inside one loop over (run, k).

    Attributes:
        outer: Block in front of the loop.
        run_block: Body of the loop over runs; the same as `outer` when there is one run.
        k_block: Body of the innermost loop over k while one is open.
    """

    def __init__(self, state: State, layout: Layout, vec: int) -> None:
        self.state = state
        self.layout = layout
        self.vec = vec
        self.runs = layout.num_registers // vec
        self.grid = Grid.of(layout, vec)
        self.outer = state.block
        self.run_block: Block = state.block
        self.k_block: Block | None = None
        self.locals: dict[Value, C] = {}
        self.vectors: dict[Value, Registers] = {}
        self._run_cache: dict[object, Expr] = {}
        self._k_cache: dict[object, Expr] = {}
        self.outer_depth = state.names.depth
        self.chosen_runs = 0  # bits of `run` that select registers of tiles from outside of the loop

    def close_k(self) -> None:
        """Forget what was named inside the loop over k."""
        self.k_block = None
        self._k_cache = {}

    # ---- evaluation -------------------------------------------------------------------------------------------------

    def c(self, value: Value, grid: Grid | None = None, k_zero: bool = False) -> C:
        """Element of a value as C text."""
        return self.text(self.value(value, grid, k_zero))

    def typed(self, value: Value, grid: Grid | None = None, k_zero: bool = False) -> C:
        """The same of the value's own type, where the text's type decides what is called: a sum of fields is an int."""
        expr = self.value(value, grid, k_zero)
        text = self.text(expr)
        is_int = isinstance(expr, Affine) and expr.has_only_fields
        return static_cast(I64.cuda, text) if is_int and element_of(value.type) is I64 else text

    def text(self, expr: Expr) -> C:
        """An expression as C text."""
        if isinstance(expr, C):
            return expr
        if any(t.source == THREAD for t in expr.terms):
            self.state.uses_thread = True
        return expr.to_c(self.state.index_names)

    def value(self, value: Value, grid: Grid | None = None, k_zero: bool = False) -> Expr:
        """Element of a value: a sum of fields where it is an index, C text otherwise."""
        if not is_tile(value):
            return self.uniform(value)
        grid = grid if grid is not None else self.grid
        if value in self.locals:
            return self.locals[value]
        if value in self.vectors:
            return self._register(self.vectors[value], grid, k_zero, value)
        if value in self.state.registers:
            return self._register(self.state.registers[value], grid, k_zero, value)
        if not k_zero and self._same_along_k(value, grid):
            k_zero = True
        elif k_zero and self.vec > 1 and is_index(value):
            full = self.value(value, grid)
            first = full.without_k() if isinstance(full, Affine) else full
            if K not in first.deps:  # parts that are no fields may depend on k too
                return first
        key = (value, grid, k_zero)
        for cache in (self._k_cache, self._run_cache, *(scope.known for scope in reversed(self.state.scopes))):
            if key in cache:
                return cache[key]
        expr = self._compute(value, grid, k_zero)
        return self._remember(value, key, expr, k_zero)

    def _same_along_k(self, value: Value, grid: Grid) -> bool:
        """Whether a condition is proved equal for all elements of a vector, so that one evaluation serves them all."""
        info = self.state.info.get(value) if self.vec > 1 and is_bool(value) else None
        if info is None:
            return False
        axes = {axis for image in grid.k for axis, x in enumerate(image) if x}
        if len(axes) != 1:
            return not axes
        axis = axes.pop()
        neighbours = all(image[axis] == 1 << bit for bit, image in enumerate(grid.k))
        return neighbours and info.constancy[axis] >= self.vec

    def uniform(self, value: Value) -> Expr:
        """A scalar: a number where it is a known constant."""
        op = self.state.definitions.get(value)
        if op is not None and op.name == "constant" and isinstance(value.type, DType) and value.type.is_int():
            if not value.type.is_bool() and value.type.bits <= 32 and value.type.kind == "int":
                return Affine(int(op.attrs["value"]))
        if isinstance(value.type, PointerType) and value not in self.state.scalars:
            from tle2cuda.lowering.places import Places  # places are spelled by evaluators

            places = Places(self.state, self)
            return places.address(places.of(value))
        return self.state.scalar(value)

    def _compute(self, value: Value, grid: Grid, k_zero: bool) -> Expr:
        op = self.state.definitions[value]
        if op.name == "arange":
            return self.coordinate(grid, 0, k_zero).plus(Affine(op.attrs["start"]))
        if op.name == "constant":
            assert isinstance(value.type, TileType) and isinstance(value.type.element, DType)
            if value.type.element.kind == "int" and value.type.element.bits <= 32:
                return Affine(int(op.attrs["value"]))
            return literal(self.state, op.attrs["value"], value.type.element)
        if op.name == "splat":
            return self.uniform(op.operands[0])
        if op.name in SHAPE or op.name in VIEWS or op.name == "convert_layout":
            operand = op.operands[0]
            return self.value(operand, grid.operand(op, operand), k_zero)
        if op.name in CHOICES:
            return self.chosen(op, grid, k_zero)
        arguments = [self.value(v, grid, k_zero) for v in op.operands]
        return elementwise(self.state, op, arguments, self.text)

    def coordinate(self, grid: Grid, axis: int, k_zero: bool = False) -> Affine:
        """Coordinate along one axis of a grid."""
        expression = linear_terms(grid.sources(axis, k_zero))
        if any(t.source == THREAD for t in expression.terms):
            self.state.uses_thread = True
        start = grid.start(axis)
        if expression.disjoint and all(t.result_bits & start in (0, t.result_bits) for t in expression.terms):
            # A field that XOR turns round counts down.
            terms = (replace(t, scale=-t.scale) if t.result_bits & start else t for t in expression.terms)
            return Affine(start, (), tuple(terms))
        if start:
            text = C(f"({format_xor(expression, start, self.state.index_names)})", PRIMARY)
            return Affine(0, ((replace(text, deps=_sources(expression.terms)), 1),))
        # Fields that share bits with others become one opaque part; the rest, such as `k` in a vector, stay fields.
        alone = [t for t in expression.terms if not any(_overlap(t, o) for o in expression.terms if o is not t)]
        mixed = [t for t in expression.terms if t not in alone]
        mixed_text = format_index(mixed, self.state.index_names)
        return Affine(0, ((C(f"({mixed_text})", PRIMARY, _sources(mixed)), 1),), tuple(alone))

    def chosen(self, op: Op, grid: Grid, k_zero: bool) -> C:
        """Element of one of the tiles that `concat` and `insert` choose from."""
        choice = self.choice(op, grid, k_zero)
        texts = [self.typed(value, inner, k_zero) for value, inner in choice.arms]
        if choice.condition is None:
            return texts[0]
        element = element_of(op.results[0].type)
        is_object = isinstance(element, DType) and element.is_floating() and element.bits < 32
        if is_object and not choice.condition.deps and all(text.text.endswith("]") for text in texts):
            # Of elements of arrays that are objects of a class, `?:` would choose the address: into local memory.
            return call(self.state.helper("choose"), choice.condition, *texts)
        return ternary(choice.condition, texts[0], texts[1])

    def choice(self, op: Op, grid: Grid, k_zero: bool) -> Choice:
        """Which tile `concat` or `insert` takes its element of."""
        return _CHOICE_RULES[op.name](self, op, grid, k_zero)

    def choose(self, number: Affine, wanted: Affine, arms: Arms) -> Choice:
        """The first of two arms where the numbers are equal."""
        if number.constant is not None and wanted.constant is not None:
            return Choice(None, arms[:1] if number.constant == wanted.constant else arms[1:])
        left, right = self.text(number), self.text(wanted)
        condition = C(f"{left.at(RELATIONAL)} == {right.at(RELATIONAL)}", EQUALITY, deps_of(left, right))
        return Choice(condition, arms)

    def row_major(self, grid: Grid, k_zero: bool = False) -> Affine:
        """Row-major index of a coordinate."""
        total = Affine()
        for axis, extent in enumerate(grid.shape):
            total = total.times(extent).plus(self.coordinate(grid, axis, k_zero))
        return total

    def _register(self, registers: Registers, grid: Grid, k_zero: bool, value: Value) -> C:
        """Element of a tile in registers, at the register that holds this grid's coordinate."""
        layout = registers.layout
        columns = [flatten(c, layout.shape) for c in layout.registers]
        threads = [flatten(c, layout.shape) for c in (*layout.lanes, *layout.warps)]
        wanted = [flatten(c, grid.shape) for c in grid.threads]
        if threads != wanted:
            raise InternalError(f"{value!r} lies in other threads than it is read in", value.span)
        images = []
        for coordinate in (*grid.k, *grid.run):
            register = f2.solve(columns, flatten(coordinate, grid.shape))
            if register is None:
                raise InternalError(f"{value!r} lies in other registers than it is read in", value.span)
            images.append(register)
        first = f2.solve(columns, flatten(grid.base, grid.shape)) if grid.base else 0
        if first is None:
            raise InternalError(f"{value!r} lies in other registers than it is read in", value.span)
        k_images, run_images = images[: len(grid.k)], images[len(grid.k) :]
        bits = registers.vec.bit_length() - 1
        low, high = (1 << bits) - 1, bits
        run, run_deps = self._index(first >> high, [i >> high for i in k_images], [i >> high for i in run_images], k_zero)
        k, k_deps = self._index(first & low, [i & low for i in k_images], [i & low for i in run_images], k_zero)
        deps = (run_deps if registers.runs > 1 else frozenset()) | (k_deps if registers.vec > 1 else frozenset())
        if registers.single_run and self.runs > 1:
            deps |= {RUN}
        if not registers.single_run:
            self.chosen_runs |= sum(1 << bit for bit, image in enumerate(run_images) if image)
        return C(registers.element(run, k), PRIMARY, deps)

    def _index(self, first: int, k_images: list[int], run_images: list[int], k_zero: bool) -> tuple[str, frozenset[str]]:
        expression = linear_terms((*(() if k_zero else ((K, k_images),)), (RUN, run_images)))
        text = format_xor(expression, first, self.state.index_names)
        return text, frozenset(t.source for t in expression.terms)

    # ---- naming -----------------------------------------------------------------------------------------------------

    def _remember(self, value: Value, key: object, expr: Expr, k_zero: bool) -> Expr:
        """Name what the user named or what is used again, in the outermost block where it is known."""
        state = self.state
        if not self._deserves_name(value, expr):
            return expr
        base: Expr = expr
        rest: tuple[Term, ...] = ()
        if isinstance(expr, Affine) and expr.k_terms:
            base, rest = expr.without_k(), expr.k_terms
        deps = base.deps
        if K in deps and self.k_block is None:
            return expr
        text = self.text(base)
        if text.is_simple:
            return expr
        block, cache, depth = self._home(deps, value)
        name = state.names.fresh(value.name or ("inside" if is_bool(value) else "index"), depth)
        state.comment(state.definitions[value].span, block)
        statements.constant(block, state.declare_type(value.type), name, text.text, value.span)
        state.index_constants.add(name)
        named: Expr = C(name, PRIMARY, deps)
        if rest:
            named = Affine(0, ((C(name, PRIMARY, deps), 1),), rest)
        cache[key] = named
        return named

    def _deserves_name(self, value: Value, expr: Expr) -> bool:
        op = self.state.definitions[value]
        if op.name in _RENAMING or op.name in ("constant", "hint") or (isinstance(expr, C) and expr.is_simple):
            return False
        assert isinstance(value.type, TileType)
        if not isinstance(value.type.element, DType):
            return False
        if isinstance(expr, Affine) and not expr.uniforms and len(expr.terms) == 1 and not value.name:
            return False
        return bool(value.name) or self.state.use_count(value) > 1

    def _home(self, deps: frozenset[str], value: Value) -> tuple[Block, dict[object, Expr], int]:
        names = self.state.names
        if K in deps:
            assert self.k_block is not None
            return self.k_block, self._k_cache, names.depth
        if RUN in deps and self.runs > 1:
            return self.run_block, self._run_cache, names.depth
        scopes = self.state.scopes
        level, known_at = self.state.level, self.state.level_of(value)
        while level > known_at and scopes[level].is_loop:
            level -= 1
        if level == self.state.level:
            return self.outer, scopes[level].known, self.outer_depth
        return scopes[level].block, scopes[level].known, scopes[level].names_depth


def linear_index(ev: Evaluator) -> Affine:
    """Row-major index, in its tile, of the element that a loop is at."""
    return ev.row_major(ev.grid)


def is_index(value: Value) -> bool:
    """Whether a tile holds integers, which may be a sum of fields."""
    assert isinstance(value.type, TileType)
    return isinstance(value.type.element, DType) and value.type.element.is_int()


def _overlap(a: Term, b: Term) -> bool:
    return bool(a.result_bits & b.result_bits)


__all__ = ["Choice", "Evaluator", "Grid", "choice_rule"]
