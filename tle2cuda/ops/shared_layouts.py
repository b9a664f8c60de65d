"""Storage scopes and shared-memory layouts as kernels name them: plain data, hints on the arrangement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tle2cuda.ops.values import unwrap

_SCOPE_NAMES = {"smem": "share_memory", "tmem": "tensor_memory"}


class scope:
    """Where a buffer lives: `tle.gpu.smem` or `tle.gpu.tmem`.

    Args:
        name: ``share_memory`` or ``tensor_memory``.

    Raises:
        AssertionError: Another name.

    Example:
        ``tle.gpu.alloc([N], tl.int32, scope=tle.gpu.smem)``
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        known = tuple(_SCOPE_NAMES.values())
        assert name in known, f"storage scope must be one of {known}, got {name!r}"
        self.name = name

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, scope) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


smem = scope("share_memory")
tmem = scope("tensor_memory")


class layout:
    """Base of all layout objects; equal when their fields are."""

    _fields: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, layout) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def _key(self) -> tuple[Any, ...]:
        values = (getattr(self, name) for name in self._fields)
        return tuple(tuple(v) if isinstance(v, list) else v for v in values)

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({inner})"


class shared_layout(layout):
    """Base of the layouts `tle.gpu.alloc` accepts."""

    is_mma = False


class swizzled_shared_layout(shared_layout):
    """Row-major storage, swizzled when the three numbers are not 1.

    Args:
        vectorSize: Elements that stay together.
        perPhase: Rows of one phase.
        maxPhase: Phases.
        order: Axes, fastest first.
        numCTAs: Kept as given.
        numCTAsPerCGA: Kept as given.
        numCTASplit: Kept as given.
        numCTAOrder: Kept as given.

    Example:
        ``tle.gpu.swizzled_shared_layout.make_default(2)``
    """

    _fields = (
        "vectorSize",
        "perPhase",
        "maxPhase",
        "order",
        "numCTAs",
        "numCTAsPerCGA",
        "numCTASplit",
        "numCTAOrder",
    )

    def __init__(
        self,
        vectorSize: Any,
        perPhase: Any,
        maxPhase: Any,
        order: Any,
        numCTAs: Any,
        numCTAsPerCGA: Any,
        numCTASplit: Any,
        numCTAOrder: Any,
    ) -> None:
        self.vectorSize, self.perPhase, self.maxPhase = vectorSize, perPhase, maxPhase
        self.order = order
        self.numCTAs, self.numCTAsPerCGA = numCTAs, numCTAsPerCGA
        self.numCTASplit, self.numCTAOrder = numCTASplit, numCTAOrder

    @classmethod
    def make_default(cls, rank: Any) -> swizzled_shared_layout:
        """Plain row-major storage of a rank."""
        axes = unwrap(rank)
        ones = [1] * axes
        return cls(1, 1, 1, list(reversed(range(axes))), list(ones), list(ones), list(ones), list(ones))

    def make_permute(self, dims: Sequence[int]) -> swizzled_shared_layout:
        """A layout whose `order` is permuted by `dims`, as a tuple."""
        order = tuple(self.order[dim] for dim in dims)
        return swizzled_shared_layout(
            self.vectorSize,
            self.perPhase,
            self.maxPhase,
            order,
            self.numCTAs,
            self.numCTAsPerCGA,
            self.numCTASplit,
            self.numCTAOrder,
        )


class nv_mma_shared_layout(shared_layout):
    """Storage as TMA and wgmma want it: swizzled over 128, 64 or 32 bytes by the inner extent.

    Args:
        shape: Extents of the buffer.
        order: Axes, fastest first.
        elemType: Element dtype.
        numCTAsPerCGA: Kept as given.
        numCTASplit: Kept as given.
        numCTAOrder: Kept as given.
        fp4Padded: Kept as given.
        swizzled: Whether rows are swizzled.

    Example:
        ``tle.gpu.nv_mma_shared_layout.make_default([64, 64], tl.float16)``
    """

    is_mma = True
    _fields = (
        "shape",
        "order",
        "elemType",
        "numCTAsPerCGA",
        "numCTASplit",
        "numCTAOrder",
        "fp4Padded",
        "swizzled",
    )

    def __init__(
        self,
        shape: Any,
        order: Any,
        elemType: Any,
        numCTAsPerCGA: Any,
        numCTASplit: Any,
        numCTAOrder: Any,
        fp4Padded: Any,
        swizzled: Any,
    ) -> None:
        self.shape, self.order, self.elemType = shape, order, elemType
        self.numCTAsPerCGA, self.numCTASplit, self.numCTAOrder = numCTAsPerCGA, numCTASplit, numCTAOrder
        self.fp4Padded, self.swizzled = fp4Padded, swizzled

    @classmethod
    def make_default(cls, shape: Any, elemType: Any) -> nv_mma_shared_layout:
        """Row-major, swizzled."""
        extents = list(unwrap(shape))
        rank = len(extents)
        ones = [1] * rank
        order = list(reversed(range(rank)))
        return cls(extents, order, unwrap(elemType), list(ones), list(ones), list(ones), False, True)

    def make_permute(self, dims: Sequence[int]) -> nv_mma_shared_layout:
        """A layout whose `order` is permuted by `dims`."""
        return nv_mma_shared_layout(
            self.shape,
            tuple(self.order[dim] for dim in dims),
            self.elemType,
            self.numCTAsPerCGA,
            self.numCTASplit,
            self.numCTAOrder,
            self.fp4Padded,
            self.swizzled,
        )


class tensor_memory_layout(layout):
    """Layout of Blackwell's tensor memory; a placeholder, since only shared memory can be allocated.

    Args:
        blockM: Rows of a block.
        blockN: Columns of a block.
        colStride: Distance of columns.
        CTASplitM: CTAs along the rows.
        CTASplitN: CTAs along the columns.
        twoCTAs: Whether two CTAs share it.

    Example:
        ``tle.gpu.tensor_memory_layout.make_default([128, 64])``
    """

    _fields = ("blockM", "blockN", "colStride", "CTASplitM", "CTASplitN", "twoCTAs")

    def __init__(self, blockM: Any, blockN: Any, colStride: Any, CTASplitM: Any, CTASplitN: Any, twoCTAs: Any) -> None:
        self.blockM, self.blockN, self.colStride = blockM, blockN, colStride
        self.CTASplitM, self.CTASplitN, self.twoCTAs = CTASplitM, CTASplitN, twoCTAs

    @classmethod
    def make_default(cls, shape: Any) -> tensor_memory_layout:
        """One CTA, columns side by side."""
        rows, columns = unwrap(shape)[-2:]
        return cls(rows, columns, 1, 1, 1, False)
