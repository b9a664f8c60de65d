"""Tensor maps that a kernel makes: of a form that the launcher encodes, one thread changes base, extents and strides.

That is done where the description is known, by the task that copies: the thread that makes a map is the one that issues
copies by it. In loops it is done again and again, when `map_reuse.py` knows how the map before it is free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.analysis.buffer_views import BufferViews
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Kernel, Op, Region, Value, walk
from tle2cuda.ir.tma import TensorCopy
from tle2cuda.ir.types import BOOL, I32, I64, DType, PointerType, TensorMapType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import named
from tle2cuda.ops.core import constant, emit_value, tensor
from tle2cuda.passes.map_reuse import MapReuse, Nesting, Reuse
from tle2cuda.targets import parse_target

_ALIGNMENT_BYTES = 16


@dataclass(frozen=True, slots=True)
class Changed:
    """What changed maps are told apart by.

    Attributes:
        base: Pointer to the first element.
        extents: Extents.
        strides: Strides but the last.
        element: Element type.
        box: Extents of a box.
        swizzle_bytes: Swizzle of the buffers.
        padding: What is outside.
        argument: A pointer argument that the form may lead to.
        region: Where it is made.
    """

    base: Value
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    element: DType
    box: tuple[int, ...]
    swizzle_bytes: int
    padding: str
    argument: str
    region: Region


class ChangedMaps:
    """The changed maps of a kernel."""

    def __init__(self, kernel: Kernel, made: Mapping[Value, Op], views: BufferViews) -> None:
        self._arguments = {argument.value: argument for argument in kernel.args}
        self._definitions = made
        self._views = views
        self._nesting = Nesting(kernel)
        self._reuse = MapReuse(kernel, self._nesting)
        self._is_possible = parse_target(kernel.target).has("tensormap") and not any(
            op.name == "grid_dependency"
            for op in walk(kernel.body)  # grids that overlap share their scratch
        )
        self._plans: dict[Changed, Reuse] = {}
        self._anchors: dict[Op, list[Changed]] = {}
        self._names: dict[Changed, str] = {}
        self._values: dict[Changed, tuple[Value, Value | None]] = {}
        self.found: dict[Op, Changed] = {}

    def clear(self) -> None:
        """Forget all copies."""
        self.found.clear()

    def note(self, op: Op, copy: TensorCopy, box: tuple[int, ...], swizzle_bytes: int, padding: str) -> None:
        """Give a copy a changed map, where that is possible."""
        argument = self._form_base(copy)
        if not self._is_possible or argument is None:
            return
        element = copy.buffer_type.element
        strides = copy.strides[:-1]
        region = self._nesting.home(op, (copy.base, *copy.extents, *strides))
        self.found[op] = Changed(copy.base, copy.extents, strides, element, box, swizzle_bytes, padding, argument, region)

    def _form_base(self, copy: TensorCopy) -> str | None:
        """An argument that leads to memory as a tensor map needs it, if there is one that the tensor may be of."""
        roots = [self._arguments[root] for root in self._views.roots.of(copy.base) if root in self._arguments]
        for argument in (*roots, *self._arguments.values()):
            is_pointer = isinstance(argument.value.type, PointerType)
            if is_pointer and argument.divisibility % _ALIGNMENT_BYTES == 0:
                return argument.name
        return None

    def settle(self) -> None:
        """Leave out the maps of which it is not known when they may be made again; place the others."""
        copies: dict[Changed, list[Op]] = {}
        for op, changed in self.found.items():
            copies.setdefault(changed, []).append(op)
        self._plans.clear()
        self._anchors.clear()
        for changed, ops in copies.items():
            held = [outer for op in ops if (outer := self._nesting.inside(op, changed.region)) is not None]
            anchor = min(held, key=self._nesting.position.__getitem__)
            plan = self._reuse.plan(anchor, ops)
            if plan is None:
                for op in ops:
                    del self.found[op]
            else:
                self._plans[changed] = plan
                self._anchors.setdefault(anchor, []).append(changed)

    def name_maps(self, taken: set[str]) -> None:
        """Name the maps, apart from all others."""
        from tle2cuda.passes.tensor_maps import fresh_name

        self._names = {changed: fresh_name(self._tensor_name(changed), taken) for changed in self._plans}

    def _tensor_name(self, changed: Changed) -> str:
        """The argument that a tensor is a part of; of one by a loaded address, the name of the pointer to it."""
        if any(root in self._arguments for root in self._views.roots.of(changed.base)):
            return changed.argument
        base = changed.base
        while not base.name and (made := self._definitions.get(base)) is not None and made.name == "hint":
            base = made.operands[0]
        return base.name or changed.argument

    def first_used_in(self, op: Op) -> list[Changed]:
        """The maps that are made in front of an operation."""
        return self._anchors.get(op, [])

    def made(self, op: Op) -> tuple[Value, Value | None]:
        """The map of a copy, and whether its tensor has elements; None when it surely has."""
        return self._values[self.found[op]]

    def make(self, kernel: Kernel, changed: Changed) -> list[Op]:
        """The operations that make a map."""
        builder = Builder(kernel.num_warps, kernel.target)
        maker = self._definitions.get(changed.base)
        span = maker.span if maker is not None else changed.base.span
        with builder.active(), builder.region() as ops, builder.at(span):
            exists: tensor | None = None
            extents = []
            for extent in map(tensor, changed.extents):
                if not self._is_positive(extent.value):
                    dtype = core.dtype_of(extent)
                    some = emit_value("cmp", (extent, constant(0, dtype)), BOOL, (), {"predicate": "gt"})
                    exists = some if exists is None else emit_value("and", (exists, some), BOOL, ())
                    extent = emit_value("max", (extent, constant(1, dtype)), dtype, ())
                extents.append(core.cast(extent, I32).value)
            size = constant(changed.element.bytes, I64)
            name = self._names[changed]
            stem = name.replace("_map", "")
            strides = []
            for axis, stride in enumerate(changed.strides):
                product = emit_value("mul", (core.cast(tensor(stride), I64), size), I64, ())
                strides.append(named(product, f"{stem}_stride{axis}_bytes").value)
            attrs: dict[str, object] = {
                "name": name,
                "form": name.replace("_map", "_form"),
                "form_base": changed.argument,
                "swizzle_bytes": changed.swizzle_bytes,
                "padding": changed.padding,
            }
            reuse = self._plans[changed]
            chosen = () if reuse.stage is None else (reuse.stage,)
            attrs |= {"slots": reuse.slots, "after_stores": reuse.stores}
            type_ = TensorMapType(changed.element, changed.box)
            operands = (changed.base, *extents, *strides, *chosen, *reuse.pipes)
            made = builder.emit_one("changed_tensor_map", operands, type_, attrs)
            if exists is not None:
                named(exists, f"{stem}_exists")
        self._values[changed] = (made, None if exists is None else exists.value)
        return ops

    def _is_positive(self, extent: Value) -> bool:
        op = self._definitions.get(extent)
        return op is not None and op.name == "constant" and int(op.attrs["value"]) > 0
