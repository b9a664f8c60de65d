"""Small tiles that are made again where they are wanted rather than moved between threads; a part of the pass `layouts`.

Row numbers that a kernel loads, and the pointers and masks that are made of them, are wanted where the rows lie that are
loaded, and again where those lie that are stored. To load a number once more, for all threads that need it, costs less than
to write it to shared memory and to meet twice. That holds for a few loads only: no barrier keeps the compiler from having
all of them on their way at once, so that many cost registers, and warps of a multiprocessor.
"""

from __future__ import annotations

from collections.abc import Mapping

from tle2cuda.ir.classify import SHAPE, is_index_like, is_tile
from tle2cuda.ir.effects import ATOMIC, WRITE, Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.types import GLOBAL, TileType, element_of
from tle2cuda.layout import Layout, conversion

_MOST_OPERATIONS = 12  # that are repeated for one tile
_MOST_REGISTERS = 32  # elements of the tile that a thread holds
_MOST_LOADED = 64  # elements that a thread would load, were all small tiles of the kernel made again so


class Repeats:
    """Which tiles may be made again.

    Args:
        kernel: The kernel, or the part of it that is being laid out.
        definitions: The operation that makes each of its values.
        lazy: Tiles without registers, which are made where they are wanted anyway.
        outer: Of a partition, the same of the code around it.
    """

    def __init__(
        self, kernel: Kernel, definitions: Mapping[Value, Op], lazy: set[Value], outer: Repeats | None = None
    ) -> None:
        self.kernel = kernel
        self.definitions = definitions
        self.lazy = lazy
        self._roots = Roots(kernel)
        self._written: set[Value | None] = _written_by(kernel, self._roots) if outer is None else outer._written
        self._small_loads: int = self._count_small_loads() if outer is None else outer._small_loads

    def worthwhile(self, value: Value, own: Layout, wanted: Layout) -> bool:
        """Whether to make a tile again in the wanted layout, instead of moving it there from its own."""
        type_ = value.type
        assert isinstance(type_, TileType)
        if not self._is_small(type_) or wanted.num_registers > _MOST_REGISTERS:
            return False
        if self._small_loads * wanted.num_registers > _MOST_LOADED:
            return False
        if conversion(own, wanted).kind != "shared":
            return False
        made: set[Op] = set()
        return self._can_make(value, made) and len(made) <= _MOST_OPERATIONS and any(op.name == "load" for op in made)

    def _is_small(self, type_: TileType) -> bool:
        return type_.num_elements <= self.kernel.default_threads

    def _count_small_loads(self) -> int:
        """Loads of small tiles that can be made again; those of a loop count once, as it takes them one after another."""
        loads = [op for op in walk(self.kernel.body) if op.name == "load" and isinstance(op.results[0].type, TileType)]
        return sum(self._is_small(op.results[0].type) and self._reads_the_same_again(op) for op in loads)  # type: ignore[arg-type]

    def _can_make(self, value: Value, made: set[Op]) -> bool:
        """Whether a tile can be made again; notes by which operations."""
        if not is_tile(value):
            return True
        op = self.definitions.get(value)
        if op is None or op.regions:
            return False
        if op in made:
            return True
        if value not in self.lazy:
            made.add(op)
        if op.name == "load":
            if not self._reads_the_same_again(op):
                return False
        elif not (op.name in SHAPE or is_index_like(op) or op.name in ("cmp", "constant", "arange")):
            return False
        return all(self._can_make(v, made) for v in op.operands)

    def _reads_the_same_again(self, op: Op) -> bool:
        """Whether a load reads global memory that the kernel does not write."""
        if op.attrs.get("volatile") or element_of(op.operands[0].type).space != GLOBAL:  # type: ignore[union-attr]
            return False
        roots = self._roots.of(op.operands[0])
        return None not in self._written and None not in roots and not self._written.intersection(roots)


def _written_by(kernel: Kernel, roots: Roots) -> set[Value | None]:
    """Arguments through which a kernel writes; None among them when it may be any."""
    return {
        effect.root
        for op in walk(kernel.body)
        for effect in effects(op, roots)
        if effect.space == GLOBAL and effect.kind in (WRITE, ATOMIC)
    }


__all__ = ["Repeats"]
