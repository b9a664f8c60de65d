"""What writes pipelined loops anew, as a whole or the side that fills their rings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tle2cuda.analysis.pipelining import Pipelined
from tle2cuda.ir.nodes import Op, Region, Value, make_op
from tle2cuda.ir.rewrite import Rewriter
from tle2cuda.ir.span import Span
from tle2cuda.ir.types import Type
from tle2cuda.passes.ring_turns import Turns


class Writer(Rewriter):
    """Writes loops anew.

    Attributes:
        plans: The pipelined loops.
        definitions: Of the kernel as it was.
        rings: Allocations and pipes, which stand in front of everything else.
        pipes: Those with mbarriers, by loop.
        copies: Of the copy engine, and the tiles that they bring.
        halves: Of loops of two chained products, the plans of their two rings.
        turns: Stages that rings with mbarriers have used.
    """

    def __init__(self, plans: dict[Op, Pipelined], made: dict[Value, Op]) -> None:
        super().__init__()
        self.plans = plans
        self.definitions = made
        self.rings: list[Op] = []
        self.pipes: dict[Pipelined, Value] = {}
        self.halves: dict[Pipelined, tuple[Pipelined, Pipelined]] = {}
        self.copies: dict[Op, Value] = {}
        self.turns = Turns(self, plans)

    def params(self, region: Region) -> tuple[Value, ...]:
        """The parameters of a region that is written anew."""
        return region.params

    def results(self, op: Op) -> tuple[Value, ...]:
        """The results of an operation that is written anew."""
        return op.results

    def make(self, name: str, operands: Sequence[Value], type_: Type, span: Span, hint: str = "", **attrs: object) -> Value:
        """Emit an operation with one result."""
        return self.emit(make_op(name, tuple(operands), (type_,), attrs, (), span, (hint,))).result

    def number(self, value: int, type_: Type, span: Span) -> Value:
        """A constant."""
        return self.make("constant", (), type_, span, value=value)

    def inside(
        self, write: Callable[[], tuple[Value, ...]], span: Span, params: tuple[Value, ...] = (), end: str = "yield"
    ) -> Region:
        """A region that `write` fills, which returns what the region yields."""
        self._stack.append([])
        yielded = write()
        self.emit(make_op(end, yielded, (), span=span))
        return Region(params, tuple(self._stack.pop()))


__all__ = ["Writer"]
