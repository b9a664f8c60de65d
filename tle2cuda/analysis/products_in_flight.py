"""Refuses kernels that read a product of `tle.gpu.wgmma` which is surely in flight.

Products are followed through loops and branches. A group is complete behind a wait that leaves fewer groups pending than
were issued after it; where that depends on how often a loop ran, the wait is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tle2cuda.errors import SynchronizationError
from tle2cuda.ir.nodes import Kernel, Op, Region, Value


@dataclass(frozen=True, slots=True)
class _Product:
    """A product in flight.

    Attributes:
        op: What issued it.
        number: How many groups were issued before it in its region; None where a loop or branch handed it on.
    """

    op: Op
    number: int | None


def check_products(kernel: Kernel) -> None:
    """Refuse reads of products in flight.

    Raises:
        SynchronizationError: A product is used without a wait for it; both places are named.
    """
    _Check().region(kernel.body, {}, is_final=True)


class _Check:
    def __init__(self) -> None:
        self.flying: dict[Value, _Product] = {}
        self.is_final = True

    def region(self, region: Region, params: dict[Value, _Product], is_final: bool) -> tuple[_Product | None, ...]:
        """Walk a region; returns which of its yields are in flight."""
        outer, self.is_final = self.is_final, is_final
        self.flying |= params
        issued = 0
        for op in region.body:
            if op.name == "wgmma":
                self._use(op, op.operands[:2])
                self.flying[op.result] = _Product(op, issued)
                issued += 1
            elif op.name == "wgmma_wait":
                self._wait(op, issued)
            elif op.regions and op.name != "fused":
                self._control(op)
            else:
                self._use(op, op.operands)
        self.is_final = outer
        return tuple(self.flying.get(v) for v in region.terminator.operands)

    def _use(self, op: Op, values: tuple[Value, ...]) -> None:
        product = next((self.flying[v] for v in values if v in self.flying), None)
        if product is not None and self.is_final:
            raise SynchronizationError(
                "a product of tle.gpu.wgmma is read while it is in flight",
                op.span,
                (f"the product: {product.op.span.short()}",),
                "wait for it first, acc = tle.gpu.wgmma_wait(0, acc)",
            )

    def _wait(self, op: Op, issued: int) -> None:
        product, pending = self.flying.get(op.operands[0]), op.attrs["pending"]
        if product is not None and product.number is not None and issued - product.number - 1 < pending:
            self.flying[op.result] = product

    def _control(self, op: Op) -> None:
        if op.name == "for":
            self._use(op, op.operands[:3])
            self._loop(op, op.operands[3:])
        elif op.name == "while":
            self._loop(op, op.operands)
        else:
            self._use(op, op.operands)
            ends = [self.region(region, {}, self.is_final) for region in op.regions]
            if op.name == "warp_specialize":
                ends = ends[:1]
            self._hand_on(op.results, ends)

    def _loop(self, op: Op, inits: tuple[Value, ...]) -> None:
        """Twice: first for what an iteration leaves in flight, then with that at its start."""
        started = tuple(self.flying.get(v) for v in inits)
        ends = self._iteration(op, started, is_final=False)
        carried = tuple(a or b for a, b in zip(started, ends, strict=True))
        self._hand_on(op.results, [self._iteration(op, carried, self.is_final)])

    def _iteration(self, op: Op, started: tuple[_Product | None, ...], is_final: bool) -> tuple[_Product | None, ...]:
        if op.name == "for":
            (body,) = op.regions
            return self.region(body, _flying(body.params[1:], started), is_final)
        before, body = op.regions
        passed = self.region(before, _flying(before.params, started), is_final)[1:]
        return self.region(body, _flying(body.params, passed), is_final)

    def _hand_on(self, results: tuple[Value, ...], ends: list[tuple[_Product | None, ...]]) -> None:
        for result, values in zip(results, zip(*ends, strict=True), strict=False):
            product = next((v for v in values if v is not None), None)
            if product is not None:
                self.flying[result] = _Product(product.op, None)


def _flying(params: tuple[Value, ...], values: tuple[_Product | None, ...]) -> dict[Value, _Product]:
    pairs = zip(params, values, strict=True)
    return {param: _Product(value.op, None) for param, value in pairs if value is not None}


__all__ = ["check_products"]
