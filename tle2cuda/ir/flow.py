"""How control flow hands values on: from what stands around an operation into its regions, between them, and out."""

from __future__ import annotations

from collections.abc import Iterator

from tle2cuda.ir.nodes import Op, Value

Values = tuple[Value, ...]


def handed_on(op: Op) -> Iterator[tuple[Values, Values]]:
    """Pairs of targets and sources of one operation: each target may be the source at its place.

    Operations without regions hand on nothing. Of a `warp_specialize` the default partition alone has results.
    """
    if op.name == "if":
        for region in op.regions:
            yield op.results, region.terminator.operands
    elif op.name in ("fused", "warp_specialize"):
        yield op.results, op.regions[0].terminator.operands
    elif op.name == "map":
        yield op.regions[0].params, op.operands
        yield op.results, op.regions[0].terminator.operands
    elif op.name == "for":
        region = op.regions[0]
        for sources in (op.operands[3:], region.terminator.operands):
            yield op.results, sources
            yield region.params[1:], sources
    elif op.name == "while":
        before, body = op.regions
        passed = before.terminator.operands[1:]
        yield before.params, op.operands
        yield before.params, body.terminator.operands
        yield body.params, passed
        yield op.results, passed


__all__ = ["handed_on"]
