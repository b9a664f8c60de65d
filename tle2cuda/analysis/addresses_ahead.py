"""What the addresses of a loop's loads follow from: which of it may be computed iterations earlier than it stands.

That is arithmetic on values from in front of the loop, the loop's counter and carried values that are themselves such
arithmetic, branches among them, and on integers that the loop loads by addresses of that kind (indices).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tle2cuda.ir.legality import is_pure
from tle2cuda.ir.nodes import Op, Value, walk
from tle2cuda.ir.rewrite import captured_values

MORE_THAN_ARITHMETIC = "its addresses need more than arithmetic on counts and on integers that nothing stores"
SUMMED_UP = "addresses of integers that its addresses need are summed up from integers out of memory"


class Closure:
    """What the addresses of loads follow from, inside of a loop.

    Attributes:
        ops: Operations.
        needed: Numbers of carried values.
        early: Numbers of those that addresses of indices need.
        ranks: Indices, and how many of them their addresses depend on one after another.
    """

    def __init__(self, loop: Op, made: Mapping[Value, Op], is_index: Callable[[Op], bool]) -> None:
        region = loop.regions[0]
        self.own = set(region.body)
        self.induction = region.params[0]
        self.params = {param: number for number, param in enumerate(region.params[1:])}
        self.yielded = region.terminator.operands
        self.inside = {value for op in walk(region) for value in op.results} | set(region.params)
        self.definitions = made
        self.is_index = is_index
        self.ops: set[Op] = set()
        self.needed: set[int] = set()
        self.early: set[int] = set()
        self.ranks: dict[Op, int] = {}

    @property
    def carried(self) -> tuple[int, ...]:
        """Numbers of the carried values that are needed."""
        return tuple(sorted(self.needed))

    @property
    def carried_early(self) -> tuple[int, ...]:
        """Numbers of those that addresses of indices need."""
        return tuple(sorted(self.early))

    def add(self, addresses: Sequence[Value]) -> str:
        """Take in what a copy's addresses and mask need; nothing, but the reason returned, where they need too much."""
        found = _Slice(self)
        if found.follow(addresses) is None:
            return found.reason
        self.ops |= found.ops
        self.needed |= found.needed | found.early
        self.early |= found.early
        self.ranks |= found.ranks
        return ""


class _Slice:
    """What some values follow from, beside what the closure already has."""

    def __init__(self, closure: Closure) -> None:
        self.closure = closure
        self.ops: set[Op] = set()
        self.needed: set[int] = set()
        self.early: set[int] = set()
        self.ranks: dict[Op, int] = {}
        self.reason = ""

    def follow(self, values: Sequence[Value], is_early: bool = False) -> int | None:
        """How many indices values depend on one after another; None, and the reason noted, where they need more than that.

        Args:
            values: The values.
            is_early: Whether they are addresses of indices.
        """
        closure, depth = self.closure, 0
        done: set[tuple[Value, bool]] = set()
        todo = [(value, False) for value in values]
        while todo:
            value, is_carried = todo.pop()
            if (value, is_carried) in done or value is closure.induction or value not in closure.inside:
                continue
            done.add((value, is_carried))
            if value in closure.params:
                number = closure.params[value]
                (self.early if is_early else self.needed).add(number)
                todo.append((closure.yielded[number], True))
                continue
            op = closure.definitions.get(value)
            if op is not None and op in closure.own and op.name == "load" and closure.is_index(op):
                rank = None if is_early and is_carried else self._rank(op)
                if rank is None:
                    self.reason = self.reason or SUMMED_UP
                    return None
                depth = max(depth, rank + 1)
            elif op is None or op not in closure.own or not is_pure(op) or (op.regions and op.name != "if"):
                self.reason = MORE_THAN_ARITHMETIC
                return None
            else:
                self.ops.add(op)
                captured = (v for region in op.regions for v in captured_values(region))
                todo += ((v, is_carried) for v in (*op.operands, *captured))
        return depth

    def _rank(self, index: Op) -> int | None:
        """How many indices the address of one depends on one after another."""
        rank = self.ranks.get(index, self.closure.ranks.get(index))
        if rank is None:
            rank = self.follow(index.operands, is_early=True)
            if rank is not None:
                self.ranks[index] = rank
        return rank


__all__ = ["MORE_THAN_ARITHMETIC", "SUMMED_UP", "Closure"]
