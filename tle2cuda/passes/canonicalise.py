"""Brings IR into its simplest form without changing what it means.

Rounds of three steps, until nothing changes: simplify forwards (constant folding, identities, common
subexpressions, uniform tiles computed as scalars, constant branches and loops); move what a loop does not
change out of it; remove what nobody needs. Names and spans of the user's values survive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tle2cuda.analysis.axis_info import axis_info
from tle2cuda.analysis.bounds import check_constant_indices
from tle2cuda.ir.classify import is_tile
from tle2cuda.ir.legality import is_pure, scratch_operands
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions
from tle2cuda.ir.types import Type, dtype_of
from tle2cuda.passes.accumulate import accumulate_products
from tle2cuda.passes.buffer_shapes import with_used_shapes
from tle2cuda.passes.carried_pointers import carry_offsets
from tle2cuda.passes.dead_code import remove_dead_code
from tle2cuda.passes.fold import Facts, constant_op, scalar_form, simplify
from tle2cuda.passes.nested_reductions import merge_nested_reductions
from tle2cuda.passes.wrapped_indices import promise_runs

MAX_ROUNDS = 16
"""Each round undoes at least one level of nesting of what it finds; real kernels need three or four."""

_NOT_HOISTED = frozenset(("remote", "extract_at", "insert"))
"""They check a rank or a number when executed, so a loop that is never entered must not run them, unless it is constant."""


def run(kernel: Kernel) -> Kernel:
    """Simplify a kernel.

    Raises:
        InvalidArgument: An index of a buffer turned out to be a constant outside its extent.
    """
    kernel = _simplified(carry_offsets(merge_nested_reductions(accumulate_products(kernel))))
    decided = _Decide(kernel).kernel(kernel)
    if decided is not kernel:
        kernel = _simplified(decided)
    kernel = with_used_shapes(promise_runs(kernel))
    check_constant_indices(kernel)  # here constants are known, and what masks leave out is gone
    return kernel


def _simplified(kernel: Kernel) -> Kernel:
    for _ in range(MAX_ROUNDS):
        before = kernel
        kernel = _Simplify().kernel(kernel)
        kernel = _Hoist().kernel(kernel)
        kernel = remove_dead_code(kernel)
        if kernel is before:
            break
    return kernel


class _Decide(Rewriter):
    """Makes comparisons, and checks of overflow, constants where the ranges of their operands decide them.

    What has been asserted is not asserted again.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.info = axis_info(kernel)
        self.promised = _promised(kernel)
        self.asserted: set[Value] = set()

    def region(self, region: Region) -> Region:
        """Rewrite a region; what is asserted inside does not hold behind it."""
        outer = set(self.asserted)
        result = super().region(region)
        self.asserted = outer
        return result

    def visit(self, op: Op) -> None:
        known = self.info.get(op.results[0]) if op.name in ("cmp", "fits") else None
        if op.name == "assert" and op.operands[0] in self.asserted:
            return
        if op.name == "assert" and len(op.operands) == 1:
            self.asserted.add(op.operands[0])
        if op in self.promised:  # which ranges are drawn from: the next pass wants to know it as well
            self.copy(op)
        elif known is not None and known.constant is not None:
            self.emit(replace(constant_op(bool(known.constant), op.results[0].type, op), results=op.results))
        else:
            self.copy(op)


def _promised(kernel: Kernel) -> set[Op]:
    """The comparisons that the user assumes to hold."""
    made = definitions(kernel.body)
    todo = [op.operands[0] for op in walk(kernel.body) if op.name == "assume"]
    found: set[Op] = set()
    while todo:
        op = made.get(todo.pop())
        if op is not None and op.name == "and":
            todo += op.operands
        elif op is not None and op.name == "cmp":
            found.add(op)
    return found


class _Simplify(Rewriter):
    """One forward walk. Operations of outer regions are known inside, never the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts()
        self.available: list[dict[tuple[Any, ...], Op]] = [{}]
        self.names: dict[Value, str] = {}

    def kernel(self, kernel: Kernel) -> Kernel:
        simplified = super().kernel(kernel)
        return _Rename(self.names).kernel(simplified) if self.names else simplified

    def region(self, region: Region) -> Region:
        self.available.append({})
        try:
            return super().region(region)
        finally:
            self.available.pop()

    def emit(self, op: Op) -> Op:
        for result in op.results:
            self.facts.definitions[result] = op
        return super().emit(op)

    def visit(self, op: Op) -> None:
        control = _CONTROL.get(op.name)
        if control is not None and control(self, op):
            return
        operands = tuple(self[v] for v in op.operands)
        current = op if operands == op.operands else replace(op, operands=operands)
        if current.regions:
            self.nested(op)
        else:
            self.place(current, op.results)

    def nested(self, op: Op) -> None:
        """Copy an operation with regions; functions of elements must not come to depend on values around them."""
        outer = self.available
        if op.name in ("reduce", "scan", "map"):
            self.available = [{}]
        self.copy(op)
        self.available = outer

    def place(self, op: Op, old: Sequence[Value]) -> None:
        """Emit an operation, or what is simpler, in place of the one that defined `old`."""
        replacement = simplify(op, self.facts)
        if isinstance(replacement, Value):
            self.replace(old[0], replacement)
            return
        if replacement is not None:
            self.place(replacement, old)
            return
        uniform = scalar_form(op, self.facts)
        if uniform is not None:
            constants, scalar, splat = uniform
            for constant in constants:
                self.place(constant, constant.results)
            operands = tuple(self[v] for v in scalar.operands)
            self.place(replace(scalar, operands=operands), scalar.results)
            self.place(replace(splat, operands=(self[splat.operands[0]],)), old)
            return
        if not is_pure(op):
            self.emit(op)
            self.bind_results(old, op.results)
            return
        key = _key(op)
        for scope in reversed(self.available):
            if key in scope:
                for value, same in zip(old, scope[key].results, strict=True):
                    self.replace(value, same)
                return
        self.available[-1][key] = op
        self.emit(op)
        self.bind_results(old, op.results)

    def bind_results(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        for value, same in zip(old, new, strict=True):
            if value is not same:
                self.bind(value, same)

    def replace(self, old: Value, new: Value) -> None:
        """Uses of `old` become uses of `new`, which takes over the name when it has none."""
        if old is new:
            return
        self.bind(old, new)
        defined = new in self.facts.definitions
        if old.name and not new.name and defined and self.facts.definitions[new].name != "constant":
            self.names.setdefault(new, old.name)

    def inline(self, ops: Sequence[Op]) -> None:
        """Rewrite operations into the current region."""
        for op in ops:
            self.visit(op)

    def constant(self, value: Value) -> Any:
        return self.facts.constant(self[value])


def _key(op: Op) -> tuple[Any, ...]:
    # By text, because 0.0 == -0.0 and 1 == True.
    attrs = tuple(sorted((name, repr(value)) for name, value in op.attrs.items()))
    return op.name, op.operands, attrs, tuple(result.type for result in op.results)


# Control flow with known outcome -----------------------------------------------------------------


def _if(rewriter: _Simplify, op: Op) -> bool:
    chosen = rewriter.constant(op.operands[0])
    if chosen is not None:
        region = op.regions[0 if chosen else 1]
        rewriter.inline(region.body)
        for result, value in zip(op.results, region.terminator.operands, strict=True):
            rewriter.replace(result, rewriter[value])
        return True
    then, otherwise = (region.terminator.operands for region in op.regions)
    inside = {r for region in op.regions for inner in region.ops for r in inner.results}
    for result, a, b in zip(op.results, then, otherwise, strict=True):
        if a is b and a not in inside and rewriter[a].type == result.type:
            rewriter.bind(result, rewriter[a])
    return False


def _trip_range(rewriter: _Simplify, op: Op) -> range | None:
    lower, upper, step = (rewriter.constant(v) for v in op.operands[:3])
    if lower is None or upper is None or not step:
        return None
    return range(lower, upper, step)


def _for(rewriter: _Simplify, op: Op) -> bool:
    (body,) = op.regions
    induction, *carried = body.params
    inits = [rewriter[v] for v in op.operands[3:]]
    trips = _trip_range(rewriter, op)
    if trips is not None and len(trips) == 0:
        for result, init in zip(op.results, inits, strict=True):
            rewriter.replace(result, init)
        return True
    if trips is not None and len(trips) == 1:
        index = make_op("constant", (), (induction.type,), {"value": trips[0]}, span=op.span)
        rewriter.place(index, (induction,))
        for param, init in zip(carried, inits, strict=True):
            rewriter.bind(param, init)
        rewriter.inline(body.body)
        for result, value in zip(op.results, body.terminator.operands, strict=True):
            rewriter.replace(result, rewriter[value])
        return True
    # What the loop carries unchanged is its initial value.
    for param, init, value, result in zip(carried, inits, body.terminator.operands, op.results, strict=True):
        if (value is param or rewriter[value] is init) and init.type == param.type == result.type:
            rewriter.bind(param, init)
            rewriter.bind(result, init)
    return False


def _while(rewriter: _Simplify, op: Op) -> bool:
    before, body = op.regions
    condition, *passed = before.terminator.operands
    for param, init, value in zip(before.params, op.operands, body.terminator.operands, strict=True):
        forwarded = dict(zip(body.params, passed, strict=True)).get(value, value)
        if forwarded is param and rewriter[init].type == param.type:
            rewriter.bind(param, rewriter[init])
    for value, param, result in zip(passed, body.params, op.results, strict=True):
        if rewriter[value] is not value and value in before.params:
            rewriter.bind(param, rewriter[value])
            rewriter.bind(result, rewriter[value])
    definition = {r: inner for inner in before.ops for r in inner.results}.get(condition)
    number = (
        definition.attrs["value"]
        if definition is not None and definition.name == "constant"
        else rewriter.constant(condition)
    )
    if number is not None and not number:
        for param, init in zip(before.params, op.operands, strict=True):
            rewriter.bind(param, rewriter[init])
        rewriter.inline(before.body)
        for result, value in zip(op.results, passed, strict=True):
            rewriter.replace(result, rewriter[value])
        return True
    return False


# Memory operations and checks with known masks ---------------------------------------------------


def _without_mask(op: Op, position: int, operands: tuple[Value, ...]) -> Op:
    attrs = {**op.attrs, "has_mask": False}
    if "has_other" in attrs:
        attrs["has_other"] = False
    return replace(op, operands=operands[:position], attrs=attrs)


def _zero_of(type_: Type, like: Op) -> Op:
    dtype = dtype_of(type_)
    zero: Any = False if dtype.is_bool() else (0.0 if dtype.is_floating() else 0)
    return constant_op(zero, type_, like)


def _access(rewriter: _Simplify, op: Op) -> bool:
    """Loads, stores and atomics whose mask is known."""
    position = 1 if op.name == "load" else 2
    if not op.attrs.get("has_mask") or scratch_operands(op):
        return False
    mask = rewriter.constant(op.operands[position])
    if mask is None:
        return False
    operands = tuple(rewriter[v] for v in op.operands)
    if mask:
        rewriter.emit(_without_mask(op, position, operands))
    elif op.attrs.get("has_other"):
        rewriter.replace(op.results[0], operands[2])
    elif op.results:
        rewriter.place(_zero_of(op.results[0].type, op), op.results)
    return True


def _check(rewriter: _Simplify, op: Op) -> bool:
    """`assert` and `assume` of what is known to hold."""
    return rewriter.constant(op.operands[0]) is True


_CONTROL = {
    "if": _if,
    "for": _for,
    "while": _while,
    "load": _access,
    "store": _access,
    "atomic_rmw": _access,
    "assert": _check,
    "assume": _check,
}


class _Hoist(Rewriter):
    """Moves pure operations that depend on nothing inside a loop in front of it, innermost loops first."""

    def kernel(self, kernel: Kernel) -> Kernel:
        """Rewrite the whole body."""
        self.definitions = definitions(kernel.body)
        return super().kernel(kernel)

    def visit(self, op: Op) -> None:
        regions = tuple(self.region(region) for region in op.regions)
        if op.name in ("for", "while"):
            inside = {param for region in regions for param in region.params}
            regions = tuple(self.hoist(region, inside) for region in regions)
        same = all(a is b for a, b in zip(regions, op.regions, strict=True))
        self.emit(op if same else replace(op, regions=regions))

    def hoist(self, region: Region, inside: set[Value]) -> Region:
        kept = []
        for op in region.ops:
            is_terminator = op is region.ops[-1]
            if is_terminator or not self._is_movable(op) or any(v in inside for v in op.operands):
                kept.append(op)
                inside.update(op.results)
            else:
                self.emit(op)
        return region if len(kept) == len(region.ops) else replace(region, ops=tuple(kept))

    def _is_movable(self, op: Op) -> bool:
        if op.name in ("idiv", "rem") and is_tile(op.result) and not self._is_nonzero(op.operands[1]):
            return False  # what reads it is computed where it stands, even if the loop is never entered
        if op.name in _NOT_HOISTED and not self._is_constant(op.operands[-1]):
            return False
        return not op.regions and is_pure(op)

    def _is_constant(self, value: Value) -> bool:
        made = self.definitions.get(value)
        return made is not None and made.name == "constant"

    def _is_nonzero(self, value: Value) -> bool:
        op = self.definitions.get(value)
        if op is not None and op.name == "splat":
            return self._is_nonzero(op.operands[0])
        return op is not None and op.name == "constant" and bool(op.attrs["value"])


class _Rename(Rewriter):
    """Gives values without a name the name of a value they replaced."""

    def __init__(self, names: dict[Value, str]) -> None:
        super().__init__()
        self.names = names

    def visit(self, op: Op) -> None:
        copied = self.copy(op)
        if not any(result in self.names for result in op.results):
            return
        renamed = tuple(
            replace(result, name=self.names[result]) if result in self.names else result for result in op.results
        )
        for old, new in zip(op.results, renamed, strict=True):
            self.bind(old, new)
        self._stack[-1][-1] = replace(copied, results=renamed)
