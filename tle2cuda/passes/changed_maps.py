"""Tensor maps that a kernel makes: of a form that the launcher encodes, one thread changes base, extents and strides.

That is done once, before loops and branches: a map must not change while copies by it are in flight. Only the warps that do
not belong to a worker partition use it, so that the thread that makes it is the one that issues copies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tle2cuda.analysis.buffer_views import BufferViews
from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Kernel, Op, Value, walk
from tle2cuda.ir.tma import TensorCopy
from tle2cuda.ir.types import BOOL, I32, I64, DType, TensorMapType
from tle2cuda.ops import core
from tle2cuda.ops.affine_tiles import named
from tle2cuda.ops.core import constant, emit_value, tensor
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
    """

    base: Value
    extents: tuple[Value, ...]
    strides: tuple[Value, ...]
    element: DType
    box: tuple[int, ...]
    swizzle_bytes: int
    padding: str
    argument: str


class ChangedMaps:
    """The changed maps of a kernel."""

    def __init__(self, kernel: Kernel, made: Mapping[Value, Op], views: BufferViews) -> None:
        self._arguments = {argument.value: argument for argument in kernel.args}
        self._definitions = made
        self._views = views
        self._at_top = {result for op in kernel.body.ops for result in op.results} | set(self._arguments)
        self._in_workers = {op for site in kernel.specialisations for region in site.regions[1:] for op in walk(region)}
        self._is_possible = parse_target(kernel.target).has("tensormap") and not any(
            op.name == "grid_dependency"
            for op in walk(kernel.body)  # grids that overlap share their scratch
        )
        self._names: dict[Changed, str] = {}
        self._values: dict[Changed, tuple[Value, Value | None]] = {}
        self.found: dict[Op, Changed] = {}

    def clear(self) -> None:
        """Forget all copies."""
        self.found.clear()

    def note(self, op: Op, copy: TensorCopy, box: tuple[int, ...], swizzle_bytes: int, padding: str) -> None:
        """Give a copy a changed map, where that is possible."""
        parts = (copy.base, *copy.extents, *copy.strides)
        argument = self._form_base(copy)
        if not self._is_possible or argument is None or op in self._in_workers or not self._at_top.issuperset(parts):
            return
        element = copy.buffer_type.element
        strides = copy.strides[:-1]
        self.found[op] = Changed(copy.base, copy.extents, strides, element, box, swizzle_bytes, padding, argument)

    def _form_base(self, copy: TensorCopy) -> str | None:
        """An argument that leads to memory as a tensor map needs it."""
        for root in self._views.roots.of(copy.base):
            argument = self._arguments.get(root) if root is not None else None
            if argument is not None and argument.divisibility % _ALIGNMENT_BYTES == 0:
                return argument.name
        return None

    def name_maps(self, taken: set[str]) -> None:
        """Name the maps, apart from all others."""
        from tle2cuda.passes.tensor_maps import fresh_name

        self._names = {changed: fresh_name(changed.argument, taken) for changed in dict.fromkeys(self.found.values())}

    def first_used_in(self, op: Op) -> list[Changed]:
        """The maps that an operation of the kernel's body is the first to use."""
        inside = [op, *(inner for region in op.regions for inner in walk(region))]
        used = dict.fromkeys(self.found[each] for each in inside if each in self.found)
        return [changed for changed in used if changed not in self._values]

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
            attrs = {
                "name": name,
                "form": name.replace("_map", "_form"),
                "form_base": changed.argument,
                "swizzle_bytes": changed.swizzle_bytes,
                "padding": changed.padding,
            }
            type_ = TensorMapType(changed.element, changed.box)
            made = builder.emit_one("changed_tensor_map", (changed.base, *extents, *strides), type_, attrs)
            if exists is not None:
                named(exists, f"{stem}_exists")
        self._values[changed] = (made, None if exists is None else exists.value)
        return ops

    def _is_positive(self, extent: Value) -> bool:
        op = self._definitions.get(extent)
        return op is not None and op.name == "constant" and int(op.attrs["value"]) > 0
