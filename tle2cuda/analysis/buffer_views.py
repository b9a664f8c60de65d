"""Where in which allocation a buffer lies: whether it is one dense piece, and how it is aligned."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tle2cuda.ir.effects import Roots
from tle2cuda.ir.flow import handed_on
from tle2cuda.ir.nodes import Kernel, Op, Region, Value
from tle2cuda.ir.rewrite import definitions
from tle2cuda.ir.types import BufferType

ANY_ALIGNMENT_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a buffer.

    Attributes:
        is_dense: Its elements lie beside each other, row-major.
        alignment_bytes: Alignment of its first element, when its allocation has every alignment.
        kinds: How it was made of its allocations: kinds of `buffer_view`, and ``slot`` for a stage of a pipe.
    """

    is_dense: bool = True
    alignment_bytes: int = ANY_ALIGNMENT_BYTES
    kinds: frozenset[str] = frozenset()

    def joined(self, other: View) -> View:
        """What is known of a buffer that is one or the other."""
        alignment = math.gcd(self.alignment_bytes, other.alignment_bytes)
        return View(self.is_dense and other.is_dense, alignment, self.kinds | other.kinds)

    def moved(self, offset_bytes: int, kind: str, is_dense: bool = True) -> View:
        """What is known of a part that begins at a multiple of so many bytes."""
        return View(self.is_dense and is_dense, math.gcd(self.alignment_bytes, offset_bytes), self.kinds | {kind})


class BufferViews:
    """The views of a kernel's buffers."""

    def __init__(self, kernel: Kernel) -> None:
        self.roots = Roots(kernel)
        self._definitions = definitions(kernel.body)
        self._sources: dict[Value, list[Value]] = {}
        self._known: dict[Value, View] = {}
        self._flow(kernel.body)
        changed = True
        while changed:  # what a loop hands on to itself adds nothing, so all begin with the most that can be known
            changed = False
            for buffer, before in list(self._known.items()):
                after = self._made(buffer).joined(before)
                changed = changed or after != before
                self._known[buffer] = after

    def allocations(self, buffer: Value) -> tuple[Op, ...] | None:
        """The `alloc` operations that a buffer may be of; None when one is not known."""
        found = [None if root is None else self._definitions.get(root) for root in self.roots.of(buffer)]
        return None if any(op is None or op.name != "alloc" for op in found) else tuple(op for op in found if op)

    def view(self, buffer: Value) -> View:
        """What is known of a buffer."""
        return self._known[buffer]

    def _made(self, buffer: Value) -> View:
        type_ = buffer.type
        assert isinstance(type_, BufferType)
        op = self._definitions.get(buffer)
        if op is not None and op.name == "alloc":
            return View()
        if op is not None and op.name in ("pipe_acquire", "pipe_wait"):
            return self._stage(op, buffer, type_)
        if op is not None and op.name == "buffer_view":
            return self._part(op, type_)
        if buffer in self._sources:
            result = View()
            for source in self._sources[buffer]:
                result = result.joined(self.view(source))
            return result
        return View(False, type_.element.bytes)

    def _stage(self, op: Op, buffer: Value, type_: BufferType) -> View:
        field = op.results.index(buffer) - (op.name == "pipe_wait")
        result = View()
        for pipe in self.roots.of(op.operands[0]):
            made = self._definitions.get(pipe) if pipe is not None else None
            if made is None:
                return View(False, type_.element.bytes)
            result = result.joined(self.view(made.operands[field]).moved(type_.size_bytes, "slot"))
        return result

    def _part(self, op: Op, type_: BufferType) -> View:
        source = op.operands[0]
        outer = source.type
        assert isinstance(outer, BufferType)
        view, kind = self.view(source), op.attrs["kind"]
        if kind == "slot":
            return view.moved(type_.size_bytes, kind)
        if kind == "subslice":
            axis = op.attrs["dim"] % len(outer.shape)
            step_bytes = math.prod(outer.shape[axis + 1 :]) * type_.element.bytes
            whole = type_.shape == outer.shape
            return view.moved(int(op.attrs["start"]) * step_bytes, kind, whole or math.prod(outer.shape[:axis]) == 1)
        return view.moved(int(op.attrs.get("offset_bytes") or 0), kind)

    def _flow(self, region: Region) -> None:
        """Which buffers there are, and which ones loops and branches hand on."""
        self._note(region.params)
        for op in region.ops:
            self._note(op.results)
            for targets, sources in handed_on(op):
                self._add(targets, sources)
            for inner in op.regions:
                self._flow(inner)

    def _note(self, values: tuple[Value, ...]) -> None:
        self._known.update((value, View()) for value in values if isinstance(value.type, BufferType))

    def _add(self, targets: tuple[Value, ...], sources: tuple[Value, ...]) -> None:
        for target, source in zip(targets, sources, strict=True):
            if isinstance(target.type, BufferType):
                self._sources.setdefault(target, []).append(source)
