"""What the addresses of a loop's copies follow from, written again for other iterations than the one the loop is in.

The values of an iteration are the carried values that addresses need, and indices: integers that the loop loads. Indices
are loaded an iteration before the copies. One whose own address another index decides waits for that one, which is loaded
an iteration earlier still; so the values of an iteration hold some of the indices of those behind it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tle2cuda.analysis.pipelining import Pipelined
from tle2cuda.ir.nodes import Op, Region, Value
from tle2cuda.ir.rewrite import captured_values
from tle2cuda.ir.types import BOOL, TileType, shape_of
from tle2cuda.passes.ring_iterations import When
from tle2cuda.passes.ring_writer import Writer


class Addresses:
    """Writes values of iterations, and operations of the body as those of an iteration."""

    def __init__(self, into: Writer, plan: Pipelined) -> None:
        self.into = into
        self.plan = plan
        self.region = plan.loop.regions[0]
        ranks = range(plan.depth)
        self.indices = [(further, op) for further in ranks for op, rank in plan.ranked if rank < plan.depth - further]

    def of_first(self, when: Callable[[int], When]) -> tuple[Value, ...]:
        """The values of the first iteration, given those behind it by their distance; indices are loaded now."""
        into, plan = self.into, self.plan
        starts = {number: into[plan.loop.operands[3 + number]] for number in plan.carried}
        result = [starts[number] for number in plan.carried]
        before = dict(into.mapping)
        for further in range(plan.depth):
            iteration, exists = when(further)
            self._bind_carried(iteration, starts)
            for op in (op for distance, op in self.indices if distance == further):
                result.append(self._index(op, exists))
            starts = self._moved_on()
        into.mapping = before
        return tuple(result)

    def ahead(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Parameters for such values, of iterations ahead of the loop."""
        names = [self.region.params[1 + number].name for number in self.plan.carried]
        names += [op.result.name for _, op in self.indices]
        names = [f"{name}_ahead" if name else "ahead" for name in names]
        return tuple(Value(v.type, name, self.plan.loop.span) for v, name in zip(values, names, strict=True))

    def bind(self, iteration: Value, values: Sequence[Value]) -> None:
        """Make operations of the body those of an iteration, given its values."""
        self._bind_carried(iteration, dict(zip(self.plan.carried, values, strict=False)))
        for (further, op), value in zip(self.indices, values[len(self.plan.carried) :], strict=True):
            if not further:
                self.into.bind(op.result, value)

    def following(self, when: Callable[[int], When], values: Sequence[Value]) -> tuple[Value, ...]:
        """The values of the next iteration, given those of one, which is bound; the bindings change.

        Args:
            when: The iterations behind this one, by their distance.
            values: The values of this one.
        """
        into, plan, count = self.into, self.plan, len(self.plan.carried)
        yielded = [self.region.terminator.operands[number] for number in plan.carried]
        self.write_for(yielded)
        carried = {number: into[value] for number, value in zip(plan.carried, yielded, strict=True)}
        result = [carried[number] for number in plan.carried]
        known = dict(zip(self.indices, values[count:], strict=True))
        for further in range(1, plan.depth + 1):
            iteration, exists = when(further)
            self._bind_carried(iteration, carried)
            for op, rank in plan.ranked:
                if (further, op) in known:
                    result.append(known[further, op])
                    into.bind(op.result, known[further, op])
                elif rank == plan.depth - further:
                    result.append(self._index(op, exists))
            if further < plan.depth:
                carried = self._moved_on()
        return tuple(result)

    def write_for(self, values: Sequence[Value]) -> None:
        """Write the operations that values follow from."""
        needed = self._needed(values)
        for op in self.region.body:
            if op in needed:
                self._again(op)

    def _moved_on(self) -> dict[int, Value]:
        """The carried values that addresses of indices need, of the iteration behind the one that is bound."""
        yielded = {number: self.region.terminator.operands[number] for number in self.plan.carried_early}
        self.write_for(list(yielded.values()))
        return {number: self.into[value] for number, value in yielded.items()}

    def _bind_carried(self, iteration: Value, values: dict[int, Value]) -> None:
        self.into.bind(self.region.params[0], iteration)
        for number, value in values.items():
            self.into.bind(self.region.params[1 + number], value)

    def _index(self, load: Op, exists: Value) -> Value:
        """Load an index of the iteration that is bound, if there is such an iteration."""
        into = self.into
        self.write_for(load.operands)
        pointer, *others = (into[v] for v in load.operands)
        mask, shape = exists, shape_of(load.result.type)
        if shape:
            mask = into.make("splat", (exists,), TileType(shape, BOOL), load.span)
        if load.attrs.get("has_mask"):
            mask = into.make("and", (others.pop(0), mask), mask.type, load.span)
        attrs = {**load.attrs, "has_mask": True}
        value = into.make("load", (pointer, mask, *others), load.result.type, load.span, load.result.name, **attrs)
        into.bind(load.result, value)
        return value

    def _needed(self, values: Sequence[Value]) -> set[Op]:
        """The operations of the slice from which values follow."""
        found: set[Op] = set()
        todo = list(values)
        while todo:
            op = self.into.definitions.get(todo.pop())
            if op is not None and op in self.plan.slice and op not in found:
                found.add(op)
                todo += (*op.operands, *(v for region in op.regions for v in captured_values(region)))
        return found

    def _again(self, op: Op) -> None:
        """An operation of the body once more, for other values of what changes in the loop."""
        into = self.into
        operands = tuple(into[v] for v in op.operands)
        regions = tuple(map(self._inner, op.regions))
        results = tuple(Value(v.type, v.name, v.span) for v in op.results)
        into.emit(replace(op, operands=operands, results=results, regions=regions))
        for old, new in zip(op.results, results, strict=True):
            into.bind(old, new)

    def _inner(self, region: Region) -> Region:
        """An arm of a branch that moves pointers."""

        def write() -> tuple[Value, ...]:
            for op in region.body:
                self._again(op)
            return tuple(self.into[v] for v in region.terminator.operands)

        return self.into.inside(write, region.terminator.span)


__all__ = ["Addresses"]
