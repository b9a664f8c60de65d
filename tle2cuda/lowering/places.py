"""Where a pointer points, as CUDA spells it: `x[offset]`, `shared.count[expert]`, `x + row_start + col`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tle2cuda.errors import InternalError
from tle2cuda.ir.classify import CHOICES, SHAPE, VIEWS, is_tile
from tle2cuda.ir.nodes import Op, Value
from tle2cuda.ir.types import PointerType, element_of
from tle2cuda.lowering.cexpr import ADD, MUL, PRIMARY, UNARY, Affine, C, Expr, binary, deps_of, ternary
from tle2cuda.lowering.evaluate import Evaluator, Grid
from tle2cuda.lowering.state import BufferRef, State, affine


@dataclass(frozen=True, slots=True)
class Place:
    """One element in memory.

    Attributes:
        pointer: Base pointer; None for a buffer element.
        offsets: Offsets in elements from the base, each added in 64 bits.
        buffer: The buffer, for `buffer[indices...]`.
        indices: One index per extent of the buffer.
    """

    pointer: C | None = None
    offsets: tuple[Expr, ...] = ()
    buffer: BufferRef | None = None
    indices: tuple[Expr, ...] = ()

    def plus(self, offset: Expr) -> Place:
        """The place some elements further."""
        if isinstance(offset, Affine) and offset.constant == 0:
            return self
        if isinstance(offset, Affine) and offset.constant is not None and self.offsets:
            return replace(self, offsets=(*self.offsets[:-1], affine(self.offsets[-1]).plus(offset)))
        if self.buffer is not None and len(self.indices) == 1:
            return replace(self, indices=(affine(self.indices[0]).plus(affine(offset)),))
        return replace(self, offsets=(*self.offsets, offset))


class Places:
    """Spells places inside one evaluation context."""

    def __init__(self, state: State, evaluator: Evaluator | None = None) -> None:
        self.state = state
        self.ev = evaluator

    # ---- finding ----------------------------------------------------------------------------------------------------

    def of(self, pointer: Value, grid: Grid | None = None, k_zero: bool = False) -> Place:
        """The place that an element of a pointer tile (or a scalar pointer) denotes."""
        state = self.state
        known = state.places.get(pointer)
        if isinstance(known, Place):
            return known
        if pointer in state.scalars:
            return Place(state.scalars[pointer])
        if pointer in state.registers or (self.ev is not None and pointer in self.ev.locals):
            assert self.ev is not None
            return Place(self.ev.c(pointer, grid, k_zero))
        op = state.definitions.get(pointer)
        if op is None:
            raise InternalError(f"pointer {pointer!r} used before it is lowered", pointer.span)
        if grid is None and self.ev is not None and is_tile(pointer):
            grid = self.ev.grid
        if op.name == "splat":
            return self.of(op.operands[0])
        if op.name == "ptr_add":
            base, offset = op.operands
            return self.of(base, grid, k_zero).plus(self.expr(offset, grid, k_zero))
        if op.name == "local_ptr":
            return self._local(op.operands[0], op.operands[1:], grid, k_zero)
        if op.name == "hint" or (op.name == "bitcast" and _same_element(op.operands[0], pointer)):
            return self.of(op.operands[0], grid, k_zero)
        if op.name in SHAPE or op.name in VIEWS or op.name == "convert_layout":
            inner = grid.operand(op, op.operands[0]) if grid is not None else None
            return self.of(op.operands[0], inner, k_zero)
        return self._computed(pointer, grid, k_zero)

    def _chosen(self, op: Op, grid: Grid | None, k_zero: bool) -> Place:
        """A pointer out of one of several tiles."""
        assert self.ev is not None and grid is not None
        choice = self.ev.choice(op, grid, k_zero)
        arms = [self.of(value, inner, k_zero) for value, inner in choice.arms]
        if choice.condition is None:
            return arms[0]
        return Place(ternary(choice.condition, *(self.address(arm) for arm in arms)))

    def _computed(self, pointer: Value, grid: Grid | None, k_zero: bool) -> Place:
        """Pointers that other operations make: selects, remote pointers, reinterpretations."""
        op = self.state.definitions[pointer]
        if op.name in CHOICES:
            return self._chosen(op, grid, k_zero)
        if op.name == "select":
            condition, a, b = op.operands
            chosen = ternary(
                self.c(condition, grid, k_zero),
                self.address(self.of(a, grid, k_zero)),
                self.address(self.of(b, grid, k_zero)),
            )
            return Place(chosen)
        if op.name in ("bitcast", "cast"):
            element = element_of(pointer.type)
            assert isinstance(element, PointerType)
            source = op.operands[0]
            inner = (
                self.address(self.of(source, grid, k_zero))
                if isinstance(element_of(source.type), PointerType)
                else self.c(source, grid, k_zero)
            )
            text = f"reinterpret_cast<{self.state.variable_type(pointer)}>({inner.text})"
            return Place(C(text, PRIMARY, inner.deps))
        if op.name == "remote":
            from tle2cuda.lowering.distributed import map_shared_rank

            local = self.address(self.of(op.operands[0], grid, k_zero))
            return Place(map_shared_rank(self.state, local, self.c(op.operands[1], grid, k_zero)))
        raise InternalError(f"no place for a pointer made by {op.name}", op.span)

    def _local(self, buffer: Value, indices: tuple[Value, ...], grid: Grid | None, k_zero: bool) -> Place:
        ref = self.state.buffers[buffer]
        if indices:
            found = tuple(self.expr(i, grid, k_zero) for i in indices)
        elif not ref.shape:
            found = ()
        else:
            assert self.ev is not None and grid is not None
            found = tuple(self.ev.coordinate(grid, axis, k_zero) for axis in range(len(ref.shape)))
        return Place(buffer=ref, indices=found)

    def expr(self, value: Value, grid: Grid | None, k_zero: bool) -> Expr:
        """An index or offset."""
        if self.ev is not None:
            return self.ev.value(value, grid, k_zero)
        op = self.state.definitions.get(value)
        if op is not None and op.name == "constant":
            return Affine(int(op.attrs["value"]))
        return self.state.scalar(value)

    def c(self, value: Value, grid: Grid | None, k_zero: bool) -> C:
        return self.text(self.expr(value, grid, k_zero))

    def text(self, expr: Expr) -> C:
        """An expression as C text."""
        if self.ev is not None:
            return self.ev.text(expr)
        return expr if isinstance(expr, C) else expr.to_c(self.state.index_names)

    # ---- spelling ---------------------------------------------------------------------------------------------------

    def element(self, place: Place) -> C:
        """The element itself, an lvalue."""
        if place.buffer is not None and not place.offsets:
            return self._buffer_element(place)
        pointer, offsets = self._base(place)
        if not offsets:
            if pointer.text.startswith("&"):
                return C(pointer.text[1:], PRIMARY, pointer.deps)
            return C(f"*{pointer.at(UNARY)}", UNARY, pointer.deps)
        if len(offsets) == 1:
            return C(f"{pointer.at(PRIMARY)}[{offsets[0].text}]", PRIMARY, pointer.deps | offsets[0].deps)
        address = self.address(place)
        return C(f"*({address.text})", UNARY, address.deps)

    def address(self, place: Place) -> C:
        """Pointer to the element."""
        if place.buffer is not None and not place.offsets:
            if place.buffer.flat or not place.buffer.shape:
                pass
            inner = self._buffer_element(place)
            return C(f"&{inner.text}", UNARY, inner.deps)
        pointer, offsets = self._base(place)
        result = pointer
        for offset in offsets:  # a sum of offsets may be added part by part: pointers are wider than indices
            result = C(f"{result.at(ADD)} + {offset.at(ADD)}", ADD, result.deps | offset.deps)
        return result

    def _base(self, place: Place) -> tuple[C, list[C]]:
        if place.buffer is not None:
            inner = self._buffer_element(place)
            pointer = C(f"&{inner.text}", UNARY, inner.deps)
        else:
            assert place.pointer is not None
            pointer = place.pointer
        return pointer, [self.text(o) for o in place.offsets]

    def _buffer_element(self, place: Place) -> C:
        ref = place.buffer
        assert ref is not None
        indices = [
            affine(i).plus(affine(s)) if not _is_zero(s) else i for i, s in zip(place.indices, ref.starts, strict=True)
        ]
        if ref.swizzle_bytes:
            return self._swizzled_element(ref, indices)
        texts = [self.text(i) for i in indices]
        deps = frozenset().union(*(t.deps for t in texts)) if texts else frozenset()
        if not ref.flat:
            return C(ref.text + "".join(f"[{t.text}]" for t in texts), PRIMARY, deps)
        flat: C | None = None
        for index, stride in zip(indices, ref.strides, strict=True):
            part = affine(index).times(stride) if isinstance(index, Affine) else None
            text = self.text(part) if part is not None else self._scaled(self.text(index), stride)
            flat = text if flat is None else binary("+", ADD, flat, text)
        return C(f"{ref.text}[{flat.text if flat is not None else 0}]", PRIMARY, deps)

    def _swizzled_element(self, ref: BufferRef, indices: list[Expr]) -> C:
        """`tile[panel][row][swizzled<128, float>(row, column)]`: as the copy engine stores rows."""
        *outer, row, column = indices
        if ref.has_panels:
            panel, column = self._parts(column, ref.panel_columns)
            outer.append(panel)
        texts = [self.text(i) for i in (*outer, row, column)]
        deps = deps_of(*texts)
        place = C(texts[-1].text)
        if not (isinstance(row, Affine) and row.constant == 0):
            function = f"{self.state.helper('swizzled')}<{ref.swizzle_bytes}, {ref.element_bytes}>"
            place = C(f"{function}({texts[-2].text}, {texts[-1].text})")
        return C(ref.text + "".join(f"[{t.text}]" for t in (*texts[:-1], place)), PRIMARY, deps)

    def _parts(self, index: Expr, count: int) -> tuple[Expr, Expr]:
        """`index / count` and `index % count` for a power of two; a sum of fields is taken apart field by field."""
        if isinstance(index, Affine):
            split = index.split(count)
            if split is not None:
                return split
        text = self.text(index)
        return C(f"{text.at(MUL)} / {count}", MUL, text.deps), C(f"{text.at(MUL)} % {count}", MUL, text.deps)

    def _scaled(self, text: C, stride: int) -> C:
        return text if stride == 1 else C(f"{text.at(MUL)} * {stride}", MUL, text.deps)


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Affine) and expr.constant == 0


def _same_element(a: Value, b: Value) -> bool:
    return element_of(a.type) == element_of(b.type)
