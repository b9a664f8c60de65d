"""The values kernels handle: constexpr, tensor, and their types. Operators dispatch to the families."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar, cast

from tle2cuda.errors import ConstexprRequired, InvalidArgument, InvalidType
from tle2cuda.ir.nodes import Value
from tle2cuda.ir.types import ADDRESS_SPACE_NUMBERS, BufferType, DType, Element, PointerType, element_of, shape_of

_Function = TypeVar("_Function", bound=Callable[..., Any])


# -- compile-time values ---------------------------------------------------------------------------


class constexpr:
    """A value known while tracing; arithmetic on it is Python's and gives a constexpr again.

    Args:
        value: Any Python object; a constexpr is unwrapped.

    Example:
        ``BLOCK = tl.constexpr(128)`` at module level, ``BLOCK // 4`` inside a kernel.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value: Any = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else repr(self)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return python_operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return iter(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[unwrap(key)]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the wrapped function."""
        return self.value(*args, **kwargs)

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __abs__(self) -> constexpr:
        return constexpr(abs(self.value))

    def __add__(self, other: Any) -> Any:
        return _fold(python_operator.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _fold(python_operator.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _fold(python_operator.sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _fold(python_operator.sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _fold(python_operator.mul, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _fold(python_operator.mul, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _fold(python_operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _fold(python_operator.truediv, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _fold(python_operator.floordiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _fold(python_operator.floordiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _fold(python_operator.mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _fold(python_operator.mod, other, self)

    def __pow__(self, other: Any) -> Any:
        return _fold(python_operator.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _fold(python_operator.pow, other, self)

    def __lshift__(self, other: Any) -> Any:
        return _fold(python_operator.lshift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _fold(python_operator.lshift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return _fold(python_operator.rshift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _fold(python_operator.rshift, other, self)

    def __and__(self, other: Any) -> Any:
        return _fold(python_operator.and_, self, other)

    def __rand__(self, other: Any) -> Any:
        return _fold(python_operator.and_, other, self)

    def __or__(self, other: Any) -> Any:
        return _fold(python_operator.or_, self, other)

    def __ror__(self, other: Any) -> Any:
        return _fold(python_operator.or_, other, self)

    def __xor__(self, other: Any) -> Any:
        return _fold(python_operator.xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return _fold(python_operator.xor, other, self)

    def logical_and(self, other: Any) -> constexpr:
        """``self and other``, Python's: one of the two."""
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        """``self or other``, Python's: one of the two."""
        return constexpr(self.value or unwrap(other))

    def __eq__(self, other: object) -> Any:
        return _fold(python_operator.eq, self, other)

    def __ne__(self, other: object) -> Any:
        return _fold(python_operator.ne, self, other)

    def __lt__(self, other: Any) -> Any:
        return _fold(python_operator.lt, self, other)

    def __le__(self, other: Any) -> Any:
        return _fold(python_operator.le, self, other)

    def __gt__(self, other: Any) -> Any:
        return _fold(python_operator.gt, self, other)

    def __ge__(self, other: Any) -> Any:
        return _fold(python_operator.ge, self, other)


def _fold(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Python's operator on two compile-time values; leaves run-time operands to `tensor`."""
    if isinstance(a, tensor) or isinstance(b, tensor):
        return NotImplemented
    return constexpr(function(unwrap(a), unwrap(b)))


def unwrap(x: Any) -> Any:
    """The Python value of a constexpr; anything else unchanged (tuples and lists: elementwise)."""
    if isinstance(x, constexpr):
        return unwrap(x.value)
    if type(x) in (tuple, list):
        return type(x)(unwrap(item) for item in x)
    return x


# -- types as kernels see them ---------------------------------------------------------------------


class pointer_type:
    """Type of a pointer, also a cast target: ``x.to(tl.pointer_type(tl.float32))``.

    Args:
        element_ty: dtype pointed to.
        address_space: 1 global, 3 shared, 7 shared memory of the cluster.
        const: Accepted for compatibility.
    """

    __slots__ = ("address_space", "const", "element_ty")
    _spaces: ClassVar[dict[int, str]] = {number: name for name, number in ADDRESS_SPACE_NUMBERS.items()}

    def __init__(self, element_ty: Any, address_space: Any = 1, const: Any = False) -> None:
        element = unwrap(element_ty)
        if not isinstance(element, DType):
            raise InvalidType(f"tl.pointer_type: the pointee must be a dtype, got {plain_text(element)}")
        self.element_ty: DType = element
        self.address_space: int = unwrap(address_space)
        self.const: bool = bool(unwrap(const))
        if self.address_space not in self._spaces:
            raise InvalidArgument(
                f"tl.pointer_type: address_space must be 1 (global), 3 (shared) or 7 (cluster), got {self.address_space!r}"
            )

    @property
    def ir(self) -> PointerType:
        """The same type in the IR."""
        return PointerType(self.element_ty, self._spaces[self.address_space])

    @property
    def scalar(self) -> pointer_type:
        """The pointer type itself, as for every scalar type."""
        return self

    @property
    def primitive_bitwidth(self) -> int:
        """Bits of an address."""
        return 64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, pointer_type) and self.ir == other.ir

    def __hash__(self) -> int:
        return hash(self.ir)

    @property
    def name(self) -> str:
        """Triton's name: ``pointer<fp32>``, and ``const_pointer<fp32>``."""
        return self._named(self.element_ty.name)

    @property
    def label(self) -> str:
        """Name in messages: ``pointer<float32>``."""
        return self._named(self.element_ty.label)

    def _named(self, element: str) -> str:
        space = "" if self.address_space == 1 else f", address_space={self.address_space}"
        return f"{'const_' if self.const else ''}pointer<{element}{space}>"

    def __repr__(self) -> str:
        return self.name

    def is_ptr(self) -> bool:
        """Whether it is a scalar pointer type."""
        return True

    def is_const(self) -> bool:
        """Whether it was made as a pointer to constants."""
        return self.const

    def is_block(self) -> bool:
        """Whether it is a tile type."""
        return False

    def __getattr__(self, name: str) -> Any:
        # Every other question a dtype answers (is_int, is_fp8 ...) is answered no by a pointer.
        if name.startswith("is_"):
            return lambda: False
        raise AttributeError(f"a pointer type has no attribute {name!r}")


class block_type:
    """Type of a tile, as ``x.type``; dtypes answer the same questions for scalars."""

    __slots__ = ("element_ty", "shape")

    def __init__(self, element_ty: Any, shape: Iterable[Any]) -> None:
        self.element_ty: DType | pointer_type = unwrap(element_ty)
        self.shape: tuple[int, ...] = tuple(unwrap(extent) for extent in shape)

    @property
    def scalar(self) -> DType | pointer_type:
        """Type of one element."""
        return self.element_ty

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel * self.element_ty.primitive_bitwidth // 8

    def get_block_shapes(self) -> tuple[int, ...]:
        """The extents."""
        return self.shape

    def is_block(self) -> bool:
        """Whether it is a tile type."""
        return True

    def is_ptr(self) -> bool:
        """Whether it is a scalar pointer type."""
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("is_"):
            return lambda: False
        raise AttributeError(f"a tile type has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, block_type) and self.element_ty == other.element_ty and self.shape == other.shape

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    @property
    def name(self) -> str:
        """Triton's name: ``<['4', '8'], fp32>``."""
        return f"<{[str(extent) for extent in self.shape]}, {self.element_ty.name}>"

    @property
    def label(self) -> str:
        """Name in messages: ``<[4, 8], float32>``."""
        return f"<{list(self.shape)}, {self.element_ty.label}>"

    def __repr__(self) -> str:
        return self.name


def is_instance_of(value: Any, classes: Any) -> bool:
    """`isinstance` with the language's classes: types of pointers and of tiles are `tl.dtype` too, as in Triton."""
    listed = classes if isinstance(classes, tuple) else (classes,)
    return isinstance(value, classes) or (DType in listed and isinstance(value, (pointer_type, block_type)))


def printed(value: Any) -> str:
    """A compile-time value as `tl.static_print` shows it: types by their names, also in tuples."""
    return _text(value, str) if type(value) in (tuple, list) else str(value)


def plain_text(value: Any) -> str:
    """A compile-time value in texts of ours: types by their labels, everything else as Python shows it."""
    return _text(value, lambda type_: type_.label)


def _text(value: Any, of_type: Callable[[Any], str]) -> str:
    if isinstance(value, (DType, pointer_type, block_type)):
        return of_type(value)
    inner = ", ".join(_text(item, of_type) for item in value) if type(value) in (tuple, list) else ""
    if type(value) is tuple:
        return f"({inner}{',' if len(value) == 1 else ''})"
    return f"[{inner}]" if type(value) is list else repr(value)


def dtype_from_ir(element: Element) -> DType | pointer_type:
    """Element type of the IR -> the object kernels see as ``x.dtype``."""
    if isinstance(element, PointerType):
        return pointer_type(element.element, ADDRESS_SPACE_NUMBERS[element.space])
    return element


def dtype_to_ir(dtype: DType | pointer_type) -> Element:
    """The reverse of `dtype_from_ir`."""
    return dtype.ir if isinstance(dtype, pointer_type) else dtype


# -- run-time values -------------------------------------------------------------------------------

_operators: dict[str, Callable[..., Any]] = {}


def operator(name: str) -> Callable[[_Function], _Function]:
    """Registers the function behind an operator of `tensor`; binary ones get (left, right) as written."""

    def register(function: _Function) -> _Function:
        _operators[name] = function
        return function

    return register


class tensor:
    """A run-time value: a scalar (shape ``()``) or a tile with a static shape.

    Attributes:
        value: The IR value.
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        if isinstance(value.type, BufferType):
            raise TypeError("a buffer is no tensor")
        self.value = value

    @property
    def element(self) -> Element:
        """IR element type."""
        return element_of(self.value.type)

    @property
    def dims(self) -> tuple[int, ...]:
        """Shape as plain ints; () for scalars."""
        return shape_of(self.value.type)

    @property
    def dtype(self) -> DType | pointer_type:
        """Element dtype; for pointers a `pointer_type`."""
        return dtype_from_ir(self.element)

    @property
    def type(self) -> DType | pointer_type | block_type:
        """Full type: `block_type` for tiles, the dtype for scalars."""
        return block_type(self.dtype, self.dims) if self.dims else self.dtype

    @property
    def shape(self) -> tuple[constexpr, ...]:
        """Extents, () for scalars."""
        return tuple(constexpr(extent) for extent in self.dims)

    @property
    def numel(self) -> constexpr:
        """Number of elements."""
        return constexpr(num_elements(self.dims))

    @property
    def is_pointer(self) -> bool:
        """Whether it holds pointers."""
        return isinstance(self.element, PointerType)

    @property
    def is_scalar(self) -> bool:
        """Whether it has no shape."""
        return not self.dims

    @property
    def T(self) -> tensor:
        """Transpose of a rank-2 tile."""
        return self._call("T", self)

    def __repr__(self) -> str:
        name = f"{self.value.name}: " if self.value.name else ""
        return f"<{name}{describe_type(self)}>"

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise ConstexprRequired(
            f"a run-time value ({describe_type(self)}) cannot decide anything while the kernel is compiled",
            help="use tl.where, or a scalar in a plain `if`",
        )

    def __iter__(self) -> Any:
        raise InvalidType(f"a tile cannot be iterated over or unpacked ({describe_type(self)})")

    @staticmethod
    def _call(name: str, *operands: Any) -> tensor:
        return cast(tensor, _operators[name](*operands))

    def __getitem__(self, key: Any) -> tensor:
        return self._call("getitem", self, key)

    def __neg__(self) -> tensor:
        return self._call("neg", self)

    def __pos__(self) -> tensor:
        return self

    def __invert__(self) -> tensor:
        return self._call("invert", self)

    def __abs__(self) -> tensor:
        return self._call("abs", self)

    def __add__(self, other: Any) -> tensor:
        return self._call("add", self, other)

    def __radd__(self, other: Any) -> tensor:
        return self._call("add", other, self)

    def __sub__(self, other: Any) -> tensor:
        return self._call("sub", self, other)

    def __rsub__(self, other: Any) -> tensor:
        return self._call("sub", other, self)

    def __mul__(self, other: Any) -> tensor:
        return self._call("mul", self, other)

    def __rmul__(self, other: Any) -> tensor:
        return self._call("mul", other, self)

    def __truediv__(self, other: Any) -> tensor:
        return self._call("truediv", self, other)

    def __rtruediv__(self, other: Any) -> tensor:
        return self._call("truediv", other, self)

    def __floordiv__(self, other: Any) -> tensor:
        return self._call("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> tensor:
        return self._call("floordiv", other, self)

    def __mod__(self, other: Any) -> tensor:
        return self._call("mod", self, other)

    def __rmod__(self, other: Any) -> tensor:
        return self._call("mod", other, self)

    def __pow__(self, other: Any) -> tensor:
        return self._call("pow", self, other)

    def __rpow__(self, other: Any) -> tensor:
        return self._call("pow", other, self)

    def __lshift__(self, other: Any) -> tensor:
        return self._call("lshift", self, other)

    def __rlshift__(self, other: Any) -> tensor:
        return self._call("lshift", other, self)

    def __rshift__(self, other: Any) -> tensor:
        return self._call("rshift", self, other)

    def __rrshift__(self, other: Any) -> tensor:
        return self._call("rshift", other, self)

    def __and__(self, other: Any) -> tensor:
        return self._call("and", self, other)

    def __rand__(self, other: Any) -> tensor:
        return self._call("and", other, self)

    def __or__(self, other: Any) -> tensor:
        return self._call("or", self, other)

    def __ror__(self, other: Any) -> tensor:
        return self._call("or", other, self)

    def __xor__(self, other: Any) -> tensor:
        return self._call("xor", self, other)

    def __rxor__(self, other: Any) -> tensor:
        return self._call("xor", other, self)

    def __eq__(self, other: object) -> Any:
        return self._call("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._call("ne", self, other)

    def __lt__(self, other: Any) -> tensor:
        return self._call("lt", self, other)

    def __le__(self, other: Any) -> tensor:
        return self._call("le", self, other)

    def __gt__(self, other: Any) -> tensor:
        return self._call("gt", self, other)

    def __ge__(self, other: Any) -> tensor:
        return self._call("ge", self, other)


def describe_type(x: tensor) -> str:
    """``tile fp32[64, 64]``, ``scalar i32``, ``pointer *fp32``."""
    if x.dims:
        return f"tile {x.value.type}"
    element = x.element
    return f"pointer {element}" if isinstance(element, PointerType) else f"scalar {element.short}"


def num_elements(dims: Iterable[int]) -> int:
    """Product of the extents."""
    count = 1
    for extent in dims:
        count *= extent
    return count
