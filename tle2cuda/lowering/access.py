"""How a kernel uses global memory: which arguments it writes, and which may be read as read-only data."""

from __future__ import annotations

from tle2cuda.ir.effects import Roots, effects
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.tma import tensor_copy
from tle2cuda.ir.types import GLOBAL, PointerType, element_of, is_handle

_WRITES = ("store", "atomic_rmw", "atomic_cas", "tma_store")
_READS = ("load", "cp_async", "tma_load")
_REPEATED = ("for", "while", "warp_specialize")  # what one of their regions writes may come before what any of them reads


def _pointer(op: Op) -> Value:
    """What an access goes through: a pointer, or a tensor map."""
    return tensor_copy(op).base if op.name in ("tma_load", "tma_store") else op.operands[0]


class GlobalAccess:
    """Which arguments are written, and which may be read through the read-only path."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.roots = Roots(kernel)
        self.written: set[Value] = set()
        self.anything_written = False
        self.read_after_write: set[Value] = set()
        self.unknown_read_after_write = False
        self._visit(kernel.body, False)
        self._spread_writes()
        if any(op.name == "grid_dependency" for op in walk(kernel.body)):
            # Another grid may write while this one runs: only ordinary loads stay behind the wait.
            self.unknown_read_after_write = True

    def _arguments(self, pointer: Value) -> tuple[Value, ...] | None:
        roots = self.roots.of(pointer)
        if any(root is None for root in roots):
            return None
        return tuple(root for root in roots if root is not None)

    def _spread_writes(self) -> None:
        """Where one pointer may lead into several arguments, all of them count as written if one of them is.

        A variable for a pointer to const and one that is not, such as a choice between the two, would not compile.
        """
        values = [v for op in walk(self.kernel.body) for v in (*op.results, *(p for r in op.regions for p in r.params))]
        pointers = [v for v in values if not is_handle(v.type) and isinstance(element_of(v.type), PointerType)]
        together = {frozenset(self.roots.of(v)) for v in pointers}
        mixed = [roots for roots in together if len(roots) > 1]
        before = -1
        while before != len(self.written):
            before = len(self.written)
            for roots in mixed:
                if None in roots or roots & self.written:
                    self.written.update(root for root in roots if root is not None and root in self._of_kernel)

    @property
    def _of_kernel(self) -> set[Value]:
        return {argument.value for argument in self.kernel.args}

    def _visit(self, region: Region, dirty: bool) -> bool:
        for op in region.ops:
            if op.name in _REPEATED and any(self._writes(r) for r in op.regions):
                dirty = True
            if op.name in (*_READS, *_WRITES) and self._is_global(op):
                self._access(op, dirty)
                dirty = dirty or op.name in _WRITES
            elif op.name == "asm_block":
                dirty = self._asm(op, dirty)
            for inner in op.regions:
                dirty = self._visit(inner, dirty) or dirty
        return dirty

    def _asm(self, op: Op, dirty: bool) -> bool:
        """Inline PTX writes, and reads again, whatever it may reach."""
        for effect in effects(op, self.roots):
            if effect.space != GLOBAL or effect.is_scratch:
                continue
            dirty = True
            if effect.root is None:
                self.anything_written = True
            else:
                self.written.add(effect.root)
        return dirty

    def _access(self, op: Op, dirty: bool) -> None:
        arguments = self._arguments(_pointer(op))
        if op.name in _WRITES:
            if arguments is None:
                self.anything_written = True
            else:
                self.written.update(arguments)
        elif dirty:
            if arguments is None:
                self.unknown_read_after_write = True
            else:
                self.read_after_write.update(arguments)

    def _writes(self, region: Region) -> bool:
        return any(
            (op.name in _WRITES and self._is_global(op))
            or (op.name == "asm_block" and any(e.space == GLOBAL for e in effects(op, self.roots)))
            or any(self._writes(r) for r in op.regions)
            for op in region.ops
        )

    @staticmethod
    def _is_global(op: Op) -> bool:
        if op.name in ("tma_load", "tma_store"):
            return True
        element = element_of(op.operands[0].type)
        return isinstance(element, PointerType) and element.space == GLOBAL

    def is_const(self, argument: Value) -> bool:
        """Whether nothing is written through this argument."""
        return not self.anything_written and argument not in self.written

    def is_restrict(self, argument: Value) -> bool:
        """Whether loads through it may be served as read-only data.

        Arguments may alias. What is read before the kernel writes anything is safe whatever aliases it; what is read
        after a write, in a loop that writes for instance, must go the ordinary way.
        """
        return self.is_const(argument) and argument not in self.read_after_write and not self.unknown_read_after_write

    def is_unchanging(self, pointer: Value) -> bool:
        """Whether a pointer leads only into arguments that may be read as read-only data."""
        arguments = self._arguments(pointer)
        return bool(arguments) and all(self.is_restrict(a) for a in arguments or ())

    def is_read_only(self, pointer: Value) -> bool:
        """Whether a pointer leads only into arguments that are never written."""
        element = element_of(pointer.type)
        if not isinstance(element, PointerType) or element.space != GLOBAL:
            return False
        arguments = self._arguments(pointer)
        return arguments is not None and bool(arguments) and all(self.is_const(a) for a in arguments)
