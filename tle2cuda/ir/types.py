"""Types of the tile IR: element types, pointers, tiles, buffers, barriers, pipes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from tle2cuda.layout import Layout


class DType:
    """An element type. `tl.float32` and its like are the only instances; `DType(name)` looks one up.

    Kernels and scripts see the texts that Triton gives: `name`, `str` and `repr`. Our own texts show `label`.

    Attributes:
        label: Name in messages and in emitted CUDA, that of the attribute of `tl`: ``float32`` or ``int8``.
        short: Name in signatures and IR dumps, such as ``fp32`` or ``i8``.
        kind: ``bool``, ``int``, ``uint`` or ``float``.
        bits: Width as a value (bool: 1).
        cuda: Spelling in emitted CUDA.
    """

    __slots__ = ("bits", "cuda", "kind", "label", "short")
    _by_name: ClassVar[dict[str, DType]] = {}
    label: str
    short: str
    kind: str
    bits: int
    cuda: str

    def __new__(cls, name: str) -> DType:
        found = cls._by_name.get(name)
        if found is None:
            known = ", ".join(sorted(d.label for d in ALL_DTYPES))
            raise ValueError(f"unknown dtype {name!r}; known: {known}")
        return found

    @classmethod
    def _define(cls, label: str, short: str, kind: str, bits: int, cuda: str) -> DType:
        self = object.__new__(cls)
        self.label, self.short, self.kind, self.bits, self.cuda = label, short, kind, bits, cuda
        cls._by_name[label] = cls._by_name[short] = self
        return self

    @property
    def name(self) -> str:
        """Triton's name: ``fp32``, ``bf16``, ``int8``."""
        return self.short if self.kind == "float" else self.label

    def __repr__(self) -> str:
        return f"triton.language.{self.label}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[type[DType], tuple[str]]:
        return (DType, (self.label,))

    # What kernels ask of a dtype, by Triton's names.
    @property
    def primitive_bitwidth(self) -> int:
        return self.bits

    @property
    def itemsize(self) -> int:
        """Bits by eight: of `int1` 0 as in Triton, though one lies in a byte of memory; `bytes` says that."""
        return self.bits // 8

    @property
    def codegen_name(self) -> str:
        """What Triton calls it in texts that name an attribute of `tl`: ``float32``."""
        return self.label

    @property
    def int_bitwidth(self) -> int:
        return self.bits

    @property
    def fp_mantissa_width(self) -> int:
        return _MANTISSA_BITS.get(self.label, 0)

    @property
    def exponent_bias(self) -> int:
        """What is added to the exponent of a float before it is stored; 0 for others."""
        return _EXPONENT_BIASES.get(self.label, 0)

    @property
    def scalar(self) -> DType:
        return self

    def is_int(self) -> bool:
        return self.kind in ("int", "uint", "bool")

    def is_int_signed(self) -> bool:
        return self.kind == "int"

    def is_int_unsigned(self) -> bool:
        return self.kind in ("uint", "bool")

    def is_bool(self) -> bool:
        return self.kind == "bool"

    is_int1 = is_bool

    def is_int8(self) -> bool:
        return self is I8

    def is_int16(self) -> bool:
        return self is I16

    def is_int32(self) -> bool:
        return self is I32

    def is_int64(self) -> bool:
        return self is I64

    def is_uint8(self) -> bool:
        return self is U8

    def is_uint16(self) -> bool:
        return self is U16

    def is_uint32(self) -> bool:
        return self is U32

    def is_uint64(self) -> bool:
        return self is U64

    def is_floating(self) -> bool:
        return self.kind == "float"

    def is_standard_floating(self) -> bool:
        return self in (F16, BF16, F32, F64)

    def is_fp8(self) -> bool:
        return self.kind == "float" and self.bits == 8

    def is_fp8e4nv(self) -> bool:
        return self is F8E4NV

    def is_fp8e5(self) -> bool:
        return self is F8E5

    def is_fp8e4b15(self) -> bool:
        return self is F8E4B15

    def is_fp8e4b8(self) -> bool:
        return self is F8E4B8

    def is_fp8e5b16(self) -> bool:
        return self is F8E5B16

    def is_void(self) -> bool:
        return False

    def is_const(self) -> bool:
        return False

    @staticmethod
    def is_dtype(name: str) -> bool:
        """Whether a text is the name of a dtype, as `name` gives it."""
        return any(name == dtype.name for dtype in (*ALL_DTYPES, *FOREIGN_DTYPES))

    def get_int_max_value(self) -> int:
        """Largest value of an integer dtype."""
        return (1 << (self.bits - 1)) - 1 if self.kind == "int" else (1 << self.bits) - 1

    def get_int_min_value(self) -> int:
        """Smallest value of an integer dtype."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    def is_fp16(self) -> bool:
        return self is F16

    def is_bf16(self) -> bool:
        return self is BF16

    def is_fp32(self) -> bool:
        return self is F32

    def is_fp64(self) -> bool:
        return self is F64

    def is_ptr(self) -> bool:
        return False

    def is_block(self) -> bool:
        return False

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (bool: 1)."""
        return max(1, self.bits // 8)


_MANTISSA_BITS = {
    "float8e4nv": 3,
    "float8e5": 2,
    "float8e4b15": 3,
    "float8e4b8": 3,
    "float8e5b16": 2,
    "float16": 10,
    "bfloat16": 7,
    "float32": 23,
    "float64": 52,
}
_EXPONENT_BIASES = {
    "float8e4nv": 7,
    "float8e5": 15,
    "float8e4b15": 15,
    "float8e4b8": 8,
    "float8e5b16": 16,
    "float16": 15,
    "bfloat16": 127,
    "float32": 127,
    "float64": 1023,
}

BOOL = DType._define("int1", "i1", "bool", 1, "bool")
I8 = DType._define("int8", "i8", "int", 8, "signed char")
I16 = DType._define("int16", "i16", "int", 16, "short")
I32 = DType._define("int32", "i32", "int", 32, "int")
I64 = DType._define("int64", "i64", "int", 64, "long long")
U8 = DType._define("uint8", "u8", "uint", 8, "unsigned char")
U16 = DType._define("uint16", "u16", "uint", 16, "unsigned short")
U32 = DType._define("uint32", "u32", "uint", 32, "unsigned")
U64 = DType._define("uint64", "u64", "uint", 64, "unsigned long long")
F8E4NV = DType._define("float8e4nv", "fp8e4nv", "float", 8, "__nv_fp8_e4m3")
F8E5 = DType._define("float8e5", "fp8e5", "float", 8, "__nv_fp8_e5m2")
F16 = DType._define("float16", "fp16", "float", 16, "__half")
BF16 = DType._define("bfloat16", "bf16", "float", 16, "__nv_bfloat16")
F32 = DType._define("float32", "fp32", "float", 32, "float")
F64 = DType._define("float64", "fp64", "float", 64, "double")
# Formats that NVIDIA GPUs have no instructions for. Software converts the first one, whose bytes lie in memory; with the
# others dtypes can be compared, and that is all.
F8E4B15 = DType._define("float8e4b15", "fp8e4b15", "float", 8, "unsigned char")
F8E4B8 = DType._define("float8e4b8", "fp8e4b8", "float", 8, "")
F8E5B16 = DType._define("float8e5b16", "fp8e5b16", "float", 8, "")
FOREIGN_DTYPES = (F8E4B15, F8E4B8, F8E5B16)
ALL_DTYPES = (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F8E4NV, F8E5, F16, BF16, F32, F64)

GLOBAL, SHARED, CLUSTER = "global", "shared", "cluster"
ADDRESS_SPACE_NUMBERS = {GLOBAL: 1, SHARED: 3, CLUSTER: 7}


@dataclass(frozen=True, slots=True)
class PointerType:
    """Pointer to elements of `element` in an address space: global, shared, or cluster (DSMEM)."""

    element: DType
    space: str = GLOBAL

    @property
    def label(self) -> str:
        """Name in messages, as of dtypes."""
        return str(self)

    def __str__(self) -> str:
        return f"*{self.element.short}" + ("" if self.space == GLOBAL else f"@{self.space}")


Element = DType | PointerType


@dataclass(frozen=True, slots=True)
class TileType:
    """A logical array in registers with static power-of-two extents, rank 1 or more.

    `layout` says which thread and register holds which element; None before the layout pass.
    """

    shape: tuple[int, ...]
    element: Element
    layout: Layout | None = None

    @property
    def num_elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __str__(self) -> str:
        element = self.element.short if isinstance(self.element, DType) else str(self.element)
        return f"{element}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class BufferType:
    """A handle to named shared memory.

    Attributes:
        shape: Logical extents, row-major indexing.
        element: Element type.
        storage: ``row_major`` or ``mma`` (a hint that a swizzled physical layout is wanted).
        remote: True when the handle stands for the same buffer in another CTA of the cluster.
        logical_shape: Extents as written when padding made `shape` larger.
    """

    shape: tuple[int, ...]
    element: DType
    storage: str = "row_major"
    remote: bool = False
    logical_shape: tuple[int, ...] | None = None

    @property
    def num_elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def size_bytes(self) -> int:
        return self.num_elements * self.element.bytes

    def __str__(self) -> str:
        marks = (" mma" if self.storage == "mma" else "") + (" remote" if self.remote else "")
        return f"buffer<{self.element.short}[{', '.join(map(str, self.shape))}]{marks}>"


def slot_type(buffer: BufferType) -> BufferType:
    """Type of one stage of a buffer: the leading extent is dropped."""
    logical = buffer.logical_shape
    tail = None if logical is None else logical[1:]
    return replace(buffer, shape=buffer.shape[1:], logical_shape=None if tail == buffer.shape[1:] else tail)


@dataclass(frozen=True, slots=True)
class BarrierType:
    """An array of `count` mbarriers in shared memory. One of them is named by (array, i32 index)."""

    count: int

    def __str__(self) -> str:
        return f"barriers<{self.count}>"


@dataclass(frozen=True, slots=True)
class PipeType:
    """A ring of stages between one writer and its readers.

    Attributes:
        capacity: Number of stages.
        fields: Name and buffer type of each field; the leading extent of a buffer is the capacity.
    """

    capacity: int
    fields: tuple[tuple[str, BufferType], ...]

    @property
    def slot_types(self) -> tuple[BufferType, ...]:
        """What an `acquire` or `wait` hands out: one stage of each field."""
        return tuple(slot_type(buffer) for _, buffer in self.fields)

    def __str__(self) -> str:
        return f"pipe<{self.capacity}>"


@dataclass(frozen=True, slots=True)
class TensorMapType:
    """What the copy engine knows of a tensor in global memory, and the box that one copy of it moves.

    Attributes:
        element: Element type.
        box: Extents of a box, the contiguous dimension last.
    """

    element: DType
    box: tuple[int, ...]

    def __str__(self) -> str:
        return f"tensor_map<{self.element.short}[{', '.join(map(str, self.box))}]>"


Handle = BufferType | BarrierType | PipeType | TensorMapType
Type = DType | PointerType | TileType | Handle


def is_handle(type_: Type) -> bool:
    """Whether values of this type stand for something in memory and hold no data of their own."""
    return isinstance(type_, (BufferType, BarrierType, PipeType, TensorMapType))


def element_of(type_: Type) -> Element:
    """Element type of a scalar, pointer, tile or buffer."""
    if isinstance(type_, (TileType, BufferType, TensorMapType)):
        return type_.element
    if isinstance(type_, (BarrierType, PipeType)):
        raise TypeError(f"{type_} has no elements")
    return type_


def shape_of(type_: Type) -> tuple[int, ...]:
    """Shape of a tile or buffer; () for scalars and scalar pointers."""
    return type_.shape if isinstance(type_, (TileType, BufferType)) else ()


def with_shape(element: Element, shape: tuple[int, ...]) -> DType | PointerType | TileType:
    """Scalar type for shape (), tile type otherwise."""
    return TileType(tuple(shape), element) if shape else element


def dtype_of(type_: Type) -> DType:
    """Element dtype of a value that holds no pointers."""
    element = element_of(type_)
    if not isinstance(element, DType):
        raise TypeError(f"{type_} holds pointers")
    return element


def is_pointer(type_: Type) -> bool:
    """Whether a value is a pointer or a tile of pointers."""
    return not is_handle(type_) and isinstance(element_of(type_), PointerType)
