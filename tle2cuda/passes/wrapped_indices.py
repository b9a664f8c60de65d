"""Takes indices that wrap around, `(program * BLOCK + arange) % n`, for runs of neighbours.

Where `n` is a multiple of a run's length, remainders of the run's numbers are neighbours too, unless the numbers are
negative: then a run may be torn where it starts at a multiple of `n`. That an index made of the program's number is not
negative follows from no range, as it is mostly a quotient of what the launch decides; but a negative one leads in front of
the array it is for. As in Triton, a `hint` promises the run. A step of `canonicalise`, after its rounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.analysis.axis_info import AxisInfo, axis_info
from tle2cuda.ir.classify import ELEMENTWISE, SHAPE, is_tile
from tle2cuda.ir.nodes import Kernel, Op, Value, make_op, walk
from tle2cuda.ir.rewrite import Rewriter, definitions


def promise_runs(kernel: Kernel) -> Kernel:
    """Put hints behind remainders of indices that programs compute from their number."""
    if not any(op.name == "rem" and is_tile(op.result) for op in walk(kernel.body)):
        return kernel
    return _Promise(kernel).kernel(kernel)


class _Promise(Rewriter):
    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self.info: Mapping[Value, AxisInfo] = axis_info(kernel)
        self.definitions = definitions(kernel.body)

    def visit(self, op: Op) -> None:
        self.copy(op)
        if op.name != "rem" or not is_tile(op.result):
            return
        runs = self._runs(op)
        if max(runs) == 1 or not self._is_index_of_program(op.operands[0]):
            return
        attrs = {"contiguity": runs, "divisibility": runs, "constancy": None}
        hint = make_op("hint", (op.result,), (op.result.type,), attrs, (), op.span, (op.result.name,))
        self.bind(op.result, self.emit(hint).result)

    def _runs(self, op: Op) -> tuple[int, ...]:
        """Along each axis, neighbours that stay neighbours; 1 where that is known without a promise."""
        a, b, found = (self.info[v] for v in (*op.operands, op.result))
        runs = []
        for axis, known in enumerate(found.contiguity):
            run = min(a.contiguity[axis], a.divisibility[axis], b.constancy[axis], b.divisibility[axis])
            runs.append(run if run > known else 1)
        return tuple(runs)

    def _is_index_of_program(self, value: Value) -> bool:
        """Whether a value is arithmetic on the program's number, ranges and arguments alone."""
        seen: set[Value] = set()
        stack, has_number = [value], False
        while stack:
            op = self.definitions.get(stack.pop())
            if op is None:
                continue
            has_number = has_number or op.name == "program_id"
            if op.name in ("program_id", "num_programs", "arange", "constant"):
                continue
            if op.name not in ELEMENTWISE and op.name not in SHAPE:
                return False
            stack += [v for v in op.operands if v not in seen]
            seen.update(op.operands)
        return has_number


__all__ = ["promise_runs"]
