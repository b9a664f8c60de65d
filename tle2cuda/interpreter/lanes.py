"""Functions of single elements that branch, on many elements at once: each element is a lane.

A branch divides the lanes between its arms, a loop goes on with those whose condition holds. A lane thus sees what the
function would do for its element alone, while every operation is one call of NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tle2cuda.interpreter.control import check_step
from tle2cuda.interpreter.dtypes import value_dtype
from tle2cuda.ir.nodes import Op, Region, Value, walk
from tle2cuda.ir.rewrite import captured_values
from tle2cuda.ir.types import element_of

CONTROL = frozenset(("if", "for", "while", "yield", "condition"))

Meanings = Mapping[str, Callable[..., Any]]
_Known = dict[Value, Any]


class LaneFunction:
    """A region on arrays of elements.

    Args:
        region: The function.
        meanings: The meaning of each operation that it holds, on scalars and arrays alike.
    """

    def __init__(self, region: Region, meanings: Meanings) -> None:
        self.region = region
        self.meanings = meanings
        self.constants = {op.result for op in walk(region) if op.name == "constant"}
        inner = (r for op in walk(region) for r in op.regions)
        self.captured = {r: captured_values(r) for r in inner}

    def __call__(self, frame: Sequence[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
        """What the function returns for each element of arrays of one shape."""
        shape = np.shape(inputs[0])
        lanes = int(np.prod(shape))
        known: _Known = {
            param: np.asarray(value).reshape(-1) for param, value in zip(self.region.params, inputs, strict=True)
        }
        found = self._run(frame[0], self.region, known, lanes)
        return tuple(_spread(value, lanes).reshape(shape) for value in found)

    def _run(self, context: Any, region: Region, known: _Known, lanes: int) -> list[Any]:
        """Executes a region for so many lanes; gives what its terminator hands on."""
        for op in region.body:
            if op.name in CONTROL:
                results: Iterable[Any] = getattr(self, f"_{op.name}")(context, op, known, lanes)
            else:
                with np.errstate(all="ignore"):
                    made = self.meanings[op.name](context, op, *(known[v] for v in op.operands))
                results = made if isinstance(made, tuple) else (made,)
            known.update(zip(op.results, results, strict=False))
        return [known[v] for v in region.terminator.operands]

    def _taken(self, region: Region, known: _Known, where: Any) -> _Known:
        """What a region uses of the values around it, for some of the lanes."""
        return {v: known[v] if np.ndim(known[v]) == 0 else known[v][where] for v in self.captured[region] if v in known}

    def _if(self, context: Any, op: Op, known: _Known, lanes: int) -> list[Any]:
        condition = _spread(known[op.operands[0]], lanes).astype(bool)
        results = [_empty(value, lanes) for value in op.results]
        for region, mask in zip(op.regions, (condition, ~condition), strict=True):
            where = np.flatnonzero(mask)
            if where.size:
                yielded = self._run(context, region, self._taken(region, known, where), where.size)
                for result, value in zip(results, yielded, strict=True):
                    result[where] = value
        return results

    def _for(self, context: Any, op: Op, known: _Known, lanes: int) -> list[Any]:
        (region,) = op.regions
        number = value_dtype(element_of(region.params[0].type)).type
        index, upper, step = (_spread(known[v], lanes).astype(object) for v in op.operands[:3])
        carried = [_spread(known[v], lanes).copy() for v in op.operands[3:]]
        check_step(context, op, step.min(), is_known=op.operands[2] in self.constants)
        while True:
            where = np.flatnonzero(np.where(step > 0, index < upper, index > upper))
            if not where.size:
                return carried
            context.tick(op)
            inner = self._taken(region, known, where)
            inner[region.params[0]] = index[where].astype(number)
            inner.update(zip(region.params[1:], (value[where] for value in carried), strict=True))
            for value, following in zip(carried, self._run(context, region, inner, where.size), strict=True):
                value[where] = following
            index[where] = index[where] + step[where]

    def _while(self, context: Any, op: Op, known: _Known, lanes: int) -> list[Any]:
        before, body = op.regions
        results = [_empty(value, lanes) for value in op.results]
        active = np.arange(lanes)
        carried = [_spread(known[v], lanes) for v in op.operands]
        while active.size:
            inner = self._taken(before, known, active)
            inner.update(zip(before.params, carried, strict=True))
            condition, *passed = self._run(context, before, inner, active.size)
            goes_on = _spread(condition, active.size).astype(bool)
            handed = [_spread(value, active.size) for value in passed]
            for result, value in zip(results, handed, strict=True):
                result[active[~goes_on]] = value[~goes_on]
            active = active[goes_on]
            if active.size:
                context.tick(op)
                inner = self._taken(body, known, active)
                inner.update(zip(body.params, (value[goes_on] for value in handed), strict=True))
                carried = [_spread(value, active.size) for value in self._run(context, body, inner, active.size)]
        return results


def _spread(value: Any, lanes: int) -> Any:
    return np.broadcast_to(np.asarray(value), (lanes,))


def _empty(value: Value, lanes: int) -> Any:
    return np.empty(lanes, value_dtype(element_of(value.type)))


__all__ = ["CONTROL", "LaneFunction"]
