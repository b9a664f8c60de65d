"""Writing IR by hand in tests, with little ceremony."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from tle2cuda.ir.builder import Builder
from tle2cuda.ir.nodes import Argument, Kernel, Region, Value, make_op
from tle2cuda.ir.types import BOOL, I32, SHARED, BufferType, DType, PointerType, TileType, Type, with_shape


class LoopMaker:
    """An open loop body: `params` are the induction variable and the carried values."""

    def __init__(self, params: tuple[Value, ...]) -> None:
        self.params = params
        self.yielded: tuple[Value, ...] = ()
        self.results: tuple[Value, ...] = ()

    def yields(self, *values: Value) -> None:
        self.yielded = values


class BranchMaker:
    """The two arms of an `if`; each may yield."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self.arms: list[Region] = []
        self.yielded: tuple[Value, ...] = ()
        self.results: tuple[Value, ...] = ()

    @contextlib.contextmanager
    def then(self) -> Iterator[None]:
        self.yielded = ()
        with self._builder.region() as ops:
            yield
            ops.append(make_op("yield", self.yielded))
        self.arms.append(Region((), tuple(ops)))

    otherwise = then

    def yields(self, *values: Value) -> None:
        self.yielded = values


class KernelMaker:
    """Builds one kernel, operation by operation."""

    def __init__(self, num_warps: int = 4, cluster_dims: tuple[int, int, int] = (1, 1, 1)) -> None:
        self.builder = Builder(num_warps)
        self.cluster_dims = cluster_dims
        self.arguments: list[Argument] = []
        self._open = contextlib.ExitStack()
        self._ops = self._open.enter_context(self.builder.region())

    def argument(self, name: str, type_: DType | PointerType, divisibility: int = 1) -> Value:
        value = Value(type_, name)
        self.arguments.append(Argument(value, divisibility))
        return value

    def op(self, name: str, operands: Sequence[Value] = (), result: Type | None = None, /, **attrs: Any) -> Any:
        """Append an operation; returns its result, or None when it has none."""
        types = () if result is None else (result,)
        results = self.builder.emit(name, tuple(operands), types, attrs)
        return results[0] if results else None

    def constant(self, value: int, dtype: DType = I32, shape: tuple[int, ...] = ()) -> Value:
        return self.op("constant", (), with_shape(dtype, shape), value=value)

    # ---- shared memory ----

    def alloc(self, name: str, count: int = 128, dtype: DType = I32, **attrs: Any) -> Value:
        return self.op("alloc", (), BufferType((count,), dtype), name=name, **attrs)

    def whole(self, buffer: Value, layout: Any = None) -> Value:
        """Pointers to all elements of a buffer."""
        assert isinstance(buffer.type, BufferType)
        space = "cluster" if buffer.type.remote else SHARED
        type_ = TileType(buffer.type.shape, PointerType(buffer.type.element, space), layout)
        return self.op("local_ptr", (buffer,), type_)

    def at(self, buffer: Value, *index: Value, layout: Any = None) -> Value:
        """Pointers to the elements at an index tile, or one pointer for a scalar index."""
        assert isinstance(buffer.type, BufferType)
        element = PointerType(buffer.type.element, "cluster" if buffer.type.remote else SHARED)
        shape = index[0].type.shape if isinstance(index[0].type, TileType) else ()
        type_ = TileType(shape, element, layout) if shape else element
        return self.op("local_ptr", (buffer, *index), type_)

    def _pointee(self, pointer: Value) -> Type:
        if isinstance(pointer.type, TileType):
            element = pointer.type.element
            assert isinstance(element, PointerType)
            return TileType(pointer.type.shape, element.element, pointer.type.layout)
        assert isinstance(pointer.type, PointerType)
        return pointer.type.element

    def load(self, pointer: Value) -> Value:
        return self.op("load", (pointer,), self._pointee(pointer), has_mask=False, has_other=False)

    def store(self, pointer: Value, value: Value | None = None) -> None:
        if value is None:
            value = self.op("constant", (), self._pointee(pointer), value=0)
        self.op("store", (pointer, value), has_mask=False)

    def atomic(self, pointer: Value, value: Value | None = None) -> Value:
        if value is None:
            value = self.op("constant", (), self._pointee(pointer), value=1)
        return self.op(
            "atomic_rmw",
            (pointer, value),
            self._pointee(pointer),
            kind="add",
            has_mask=False,
            sem="relaxed",
            scope="cta",
        )

    # ---- control flow ----

    @contextlib.contextmanager
    def loop(self, lower: Value, upper: Value, step: Value, inits: Sequence[Value] = ()) -> Iterator[LoopMaker]:
        params = (Value(I32, "i"), *(Value(v.type, v.name) for v in inits))
        loop = LoopMaker(params)
        with self.builder.region() as ops:
            yield loop
            ops.append(make_op("yield", loop.yielded))
        types = tuple(v.type for v in inits)
        region = Region(params, tuple(ops))
        loop.results = self.builder.emit("for", (lower, upper, step, *inits), types, {}, (region,))

    @contextlib.contextmanager
    def branch(self, condition: Value | None = None) -> Iterator[BranchMaker]:
        if condition is None:
            condition = self.op("constant", (), BOOL, value=True)
        branch = BranchMaker(self.builder)
        yield branch
        if len(branch.arms) == 1:
            branch.arms.append(Region((), (make_op("yield"),)))
        types = tuple(v.type for v in branch.arms[0].terminator.operands)
        branch.results = self.builder.emit("if", (condition,), types, {}, tuple(branch.arms))

    def kernel(self, name: str = "kernel") -> Kernel:
        self._open.close()
        body = Region((), (*self._ops, make_op("yield")))
        return Kernel(
            name,
            tuple(self.arguments),
            body,
            num_warps=self.builder.num_warps,
            cluster_dims=self.cluster_dims,
        )
