"""Rebuilding IR: the one way passes change a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tle2cuda.ir.nodes import Kernel, Op, Region, Value, make_op


class Rewriter:
    """Copies regions while substituting values; subclass and override `visit` to change operations.

    `visit(op)` receives an operation whose operands are still those of the *old* IR; use `self[old]` for the new
    value. It appends to the output with `emit` and binds old results with `bind`. The default copies.
    """

    def __init__(self) -> None:
        self.mapping: dict[Value, Value] = {}
        self._stack: list[list[Op]] = []

    def __getitem__(self, value: Value) -> Value:
        return self.mapping.get(value, value)

    def bind(self, old: Value, new: Value) -> None:
        """Uses of `old` become uses of `new` from here on."""
        self.mapping[old] = new

    def emit(self, op: Op) -> Op:
        """Append an operation of the new IR."""
        self._stack[-1].append(op)
        return op

    def copy(self, op: Op) -> Op:
        """Append `op` with substituted operands and regions rewritten; its results keep their identity."""
        operands = tuple(self[v] for v in op.operands)
        regions = tuple(self.region(r) for r in op.regions)
        if operands == op.operands and all(a is b for a, b in zip(regions, op.regions, strict=True)):
            return self.emit(op)
        return self.emit(replace(op, operands=operands, regions=regions))

    def visit(self, op: Op) -> None:
        """Rewrite one operation; the default copies it."""
        self.copy(op)

    def ops(self, ops: Iterable[Op]) -> tuple[Op, ...]:
        """Rewrite a list of operations into a new list."""
        self._stack.append([])
        for op in ops:
            self.visit(op)
        return tuple(self._stack.pop())

    def region(self, region: Region) -> Region:
        """Rewrite a region; unchanged regions keep their identity."""
        ops = self.ops(region.ops)
        if len(ops) == len(region.ops) and all(a is b for a, b in zip(ops, region.ops, strict=True)):
            return region
        return Region(region.params, ops)

    def kernel(self, kernel: Kernel) -> Kernel:
        """Rewrite the whole body."""
        body = self.region(kernel.body)
        return kernel if body is kernel.body else replace(kernel, body=body)


def uses_of(region: Region) -> dict[Value, list[Op]]:
    """Which operations use each value, regions inside included."""
    uses: dict[Value, list[Op]] = {}

    def visit(ops: Iterable[Op]) -> None:
        for op in ops:
            for operand in op.operands:
                uses.setdefault(operand, []).append(op)
            for inner in op.regions:
                visit(inner.ops)

    visit(region.ops)
    return uses


def definitions(region: Region) -> dict[Value, Op]:
    """The operation that defines each result, regions inside included."""
    found: dict[Value, Op] = {}

    def visit(ops: Iterable[Op]) -> None:
        for op in ops:
            for result in op.results:
                found[result] = op
            for inner in op.regions:
                visit(inner.ops)

    visit(region.ops)
    return found


def captured_values(region: Region) -> list[Value]:
    """Values used inside a region but defined outside it, in order of first use."""
    inside: set[Value] = set(region.params)
    captured: dict[Value, None] = {}

    def visit(ops: Iterable[Op]) -> None:
        for op in ops:
            for operand in op.operands:
                if operand not in inside:
                    captured.setdefault(operand)
            for inner in op.regions:
                inside.update(inner.params)
                visit(inner.ops)
            inside.update(op.results)

    visit(region.ops)
    return list(captured)


def replace_ops(kernel: Kernel, change: Callable[[Op], Op]) -> Kernel:
    """Apply `change` to every operation, innermost regions first; results must keep their identity."""

    class _Change(Rewriter):
        def visit(self, op: Op) -> None:
            regions = tuple(self.region(r) for r in op.regions)
            rebuilt = replace(op, regions=regions) if regions != op.regions else op
            self.emit(change(rebuilt))

    return _Change().kernel(kernel)


__all__ = ["Rewriter", "captured_values", "definitions", "make_op", "replace_ops", "uses_of"]
