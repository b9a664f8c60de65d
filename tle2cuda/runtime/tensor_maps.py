"""Tensor maps for launches: what a contract says of one, worked out for the arguments, checked, and encoded.

Maps are encoded once and found again by the arguments they are made of, so that a launch pays one look-up for each.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tle2cuda.errors import ArgumentError, LaunchError, ToolchainError
from tle2cuda.runtime.contract import DTYPE_BYTES, TENSOR_MAP_BYTES, LaunchContract, TensorMapSpec

MAX_BOX_ELEMS = 256
MAX_RANK = 5
ALIGNMENT_BYTES = 16
_MAX_EXTENT = 1 << 32
_MAX_STRIDE_BYTES = 1 << 40
_REMEMBERED_MAPS = 4096
_MAP_ALIGNMENT_BYTES = 64  # of a CUtensorMap

# CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion and CUtensorMapFloatOOBfill of cuda.h.
_DATA_TYPES = {
    "i1": 0,
    "i8": 0,
    "u8": 0,
    "fp8e4nv": 0,
    "fp8e5": 0,
    "fp8e4b15": 0,
    "i16": 1,
    "u16": 1,
    "u32": 2,
    "i32": 3,
    "u64": 4,
    "i64": 5,
    "fp16": 6,
    "fp32": 7,
    "fp64": 8,
    "bf16": 9,
}
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_L2_PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
_FILLS = {"zero": 0, "nan": 1}


# --- Expressions over arguments ---


def quotient(a: int, b: int) -> int:
    """`a / b` of C++: rounded towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(a: int, b: int) -> int:
    """`a % b` of C++: it has the sign of `a`."""
    return a - b * quotient(a, b)


_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_FUNCTIONS: dict[type[ast.operator], str] = {ast.Div: "quotient", ast.Mod: "remainder"}


def expression_names(text: str) -> tuple[str, ...]:
    """The arguments that an expression of a contract reads, each once."""
    nodes = list(ast.walk(_parsed(text)))
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    return tuple(dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node not in called))


@functools.lru_cache(maxsize=512)
def expression(text: str) -> Callable[[Mapping[str, int]], int]:
    """A function from the arguments by name to the value of an expression of a contract.

    Raises:
        ArgumentError: The text is no such expression.
    """
    source = _python(_parsed(text).body, text)
    code = compile(source, "<tensor map>", "eval")
    return lambda values: operator.index(eval(code, {"__builtins__": {}, **_BUILTINS}, {"values": values}))


_BUILTINS = {"quotient": quotient, "remainder": remainder, "min": min, "max": max}


def _parsed(text: str) -> ast.Expression:
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError:
        raise ArgumentError(f"not an expression over arguments: {text!r}") from None


def _python(node: ast.expr, text: str) -> str:
    """Python text of an expression: names are looked up, division is C++'s."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value)
    if isinstance(node, ast.Name):
        return f"values[{node.id!r}]"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{_python(node.operand, text)})"
    if isinstance(node, ast.BinOp):
        left, right = _python(node.left, text), _python(node.right, text)
        if function := _FUNCTIONS.get(type(node.op)):
            return f"{function}({left}, {right})"
        if sign := _OPERATORS.get(type(node.op)):
            return f"({left} {sign} {right})"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        return f"{node.func.id}({', '.join(_python(argument, text) for argument in node.args)})"
    raise ArgumentError(f"not an expression over arguments: {text!r}")


# --- What a map describes ---


@dataclass(frozen=True, slots=True)
class Described:
    """A tensor map of given arguments, in the driver's order: dimension 0 is the contiguous one.

    Attributes:
        offset_bytes: From the pointer argument to the tensor's first element.
        extents: Elements along each dimension.
        strides_bytes: Distance of neighbours along each dimension but the first.
        box: Elements of a box along each dimension.
        element_strides: Every how many elements are moved.
    """

    offset_bytes: int
    extents: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]


def describe_map(spec: TensorMapSpec, values: Mapping[str, Any], address: int) -> Described:
    """Work out a tensor map and check it.

    Args:
        spec: What the contract says.
        values: Scalar arguments by name.
        address: What the pointer argument holds.

    Raises:
        ArgumentError: No tensor map can be made of these arguments.
    """
    size = DTYPE_BYTES[spec.dtype]
    found = Described(
        expression(spec.offset_elems)(values) * size,
        tuple(expression(text)(values) for text in reversed(spec.shape)),
        tuple(expression(text)(values) * size for text in reversed(spec.strides)),
        tuple(reversed(spec.box)),
        tuple(reversed(spec.steps)),
    )
    _check(spec, found, address + found.offset_bytes, values)
    return found


def _check(spec: TensorMapSpec, found: Described, address: int, values: Mapping[str, Any]) -> None:
    rank = len(found.extents)
    if address % ALIGNMENT_BYTES:
        where = f"`{spec.base}`" if spec.offset_elems == "0" else f"`{spec.base}` + {spec.offset_elems}"
        raise _refused(
            spec,
            f"{where}: the tensor begins {address % ALIGNMENT_BYTES} bytes behind a multiple of 16; "
            "TMA needs one that begins at a multiple of 16 bytes",
            help="pass a tensor that is aligned, or copy the slice: x[1:].clone()",
        )
    for axis, stride in enumerate(found.strides_bytes, 1):
        if stride % ALIGNMENT_BYTES or not 0 <= stride < _MAX_STRIDE_BYTES:
            text = spec.strides[rank - 1 - axis]
            raise _refused(
                spec,
                f"`{spec.base}`: the stride of dimension {rank - 1 - axis} is {_valued(text, values)} elements of "
                f"{DTYPE_BYTES[spec.dtype]} bytes = {stride} bytes; TMA needs a multiple of 16 bytes below 2^40",
                help="pad the rows of the tensor to a multiple of 16 bytes",
            )
    for axis, extent in enumerate(found.extents):
        if not 0 <= extent < _MAX_EXTENT:
            text = spec.shape[rank - 1 - axis]
            raise _refused(
                spec,
                f"`{spec.base}`: the extent of dimension {rank - 1 - axis} is {_valued(text, values)}; TMA knows extents "
                "below 2^32",
                help="describe a tensor that is not larger, by several dimensions",
            )
    for axis, count in enumerate(found.box):
        if not 1 <= count <= MAX_BOX_ELEMS:
            raise _refused(
                spec,
                f"`{spec.name}`: a box has {count} elements along dimension {rank - 1 - axis}; TMA moves 1 to "
                f"{MAX_BOX_ELEMS}",
                help="copy several boxes",
            )


def _valued(text: str, values: Mapping[str, Any]) -> str:
    """An expression with its value: ``K + 1 = 33``; a number as it is."""
    value = expression(text)(values)
    return text if text == str(value) else f"{text} = {value}"


def _refused(spec: TensorMapSpec, message: str, help: str) -> ArgumentError:
    made = f", made at {spec.source}" if spec.source else ""
    return ArgumentError(message, facts=(f"tensor map `{spec.name}` of `{spec.base}`{made}",), help=help)


# --- Encoding ---


@functools.cache
def _driver_function() -> Any:
    """`cuTensorMapEncodeTiled` of the driver; CuPy does not wrap it."""
    for library in ("libcuda.so.1", "nvcuda.dll"):
        try:
            function = ctypes.CDLL(library).cuTensorMapEncodeTiled
        except (OSError, AttributeError):
            continue
        pointer, number = ctypes.c_void_p, ctypes.c_uint
        function.argtypes = [pointer, number, number, pointer, pointer, pointer, pointer, pointer, *[number] * 4]
        function.restype = ctypes.c_int
        return function
    raise ToolchainError(
        "the CUDA driver cannot encode tensor maps: it has no cuTensorMapEncodeTiled",
        help="install driver 525 or later (CUDA 12.0)",
    )


def encode(spec: TensorMapSpec, described: Described, address: int) -> bytes:
    """The 128 bytes of a `CUtensorMap`.

    Args:
        spec: What the contract says.
        described: The map of the arguments.
        address: The tensor's first element.

    Raises:
        LaunchError: The driver refuses.
        ToolchainError: There is no driver that can encode.
    """
    rank = len(described.extents)
    if not all(described.extents):  # the driver knows no empty tensors
        address = nothing(spec.padding)
        described = replace(described, extents=(1,) * rank, strides_bytes=(ALIGNMENT_BYTES,) * (rank - 1))
    raw = ctypes.create_string_buffer(TENSOR_MAP_BYTES + _MAP_ALIGNMENT_BYTES)
    start = -ctypes.addressof(raw) % _MAP_ALIGNMENT_BYTES
    status = _driver_function()(
        ctypes.addressof(raw) + start,
        _DATA_TYPES[spec.dtype],
        rank,
        address,
        (ctypes.c_uint64 * rank)(*described.extents),
        (ctypes.c_uint64 * max(rank - 1, 1))(*described.strides_bytes),
        (ctypes.c_uint32 * rank)(*described.box),
        (ctypes.c_uint32 * rank)(*described.element_strides),
        0,  # no interleaving
        _SWIZZLES[spec.swizzle_bytes],
        _L2_PROMOTIONS[spec.l2_promotion_bytes],
        _FILLS[spec.padding],
    )
    if status:
        raise LaunchError(
            f"the driver refuses the tensor map `{spec.name}` of `{spec.base}`: error {status} of cuTensorMapEncodeTiled",
            None,
            (f"{described}, swizzle {spec.swizzle_bytes} bytes, address {address:#x}",),
        )
    return raw.raw[start : start + TENSOR_MAP_BYTES]


@functools.cache
def nothing(padding: str) -> int:
    """Address of what stands for an empty tensor: one element, as what lies outside of any tensor; stores go there, too."""
    import cupy

    memory = cupy.full(ALIGNMENT_BYTES, 0xFF if padding == "nan" else 0, cupy.uint8)
    _KEPT.append(memory)
    return int(memory.data.ptr)


_KEPT: list[Any] = []


class _Maps(dict[Any, bytes]):
    """Encoded maps of one parameter by the arguments that they are made of."""

    def __init__(self, spec: TensorMapSpec, names: Sequence[str]) -> None:
        super().__init__()
        self.spec = spec
        self.names = names

    def __missing__(self, key: tuple[Any, ...]) -> bytes:
        address = key[0]
        values = dict(zip(self.names, key, strict=True))
        described = describe_map(self.spec, values, address)
        made = encode(self.spec, described, address + described.offset_bytes)
        if len(self) >= _REMEMBERED_MAPS:
            self.clear()
        self[key] = made
        return made


def argument_names(spec: TensorMapSpec) -> tuple[str, ...]:
    """The arguments that a tensor map is made of, the pointer first."""
    texts = (spec.offset_elems, *spec.shape, *spec.strides)
    scalars = dict.fromkeys(name for text in texts for name in expression_names(text))
    return (spec.base, *scalars)


Assemble = Callable[[Sequence[Any]], tuple[tuple[Any, ...], tuple[bytes, ...]]]


def make_assembly(contract: LaunchContract) -> Assemble | None:
    """A function from the arguments of a launch to those that are CUDA parameters, and the tensor maps of the launch.

    It is written out as Python source, because it runs at every launch. None when the arguments are the parameters.
    """
    if not contract.tensor_maps and all(spec.is_passed for spec in contract.args):
        return None
    variables = {spec.name: f"a{index}" for index, spec in enumerate(contract.args)}
    namespace: dict[str, Any] = {}
    maps = []
    for index, spec in enumerate(contract.tensor_maps):
        names = argument_names(spec)
        for name in names:
            if name not in variables:
                raise ArgumentError(f"tensor map `{spec.name}` reads `{name}`, which is no argument of the contract")
        namespace[f"m{index}"] = _Maps(spec, names)
        maps.append(f"m{index}[{', '.join(variables[name] for name in names)},]")
    passed = [variables[spec.name] for spec in contract.args if spec.is_passed]
    unpacked = "".join(f"{name}, " for name in variables.values())
    source = f"def assemble(values):\n    {unpacked.rstrip()} = values\n    return ({''.join(f'{p}, ' for p in passed)}), "
    source += f"({''.join(f'{text}, ' for text in maps)})\n"
    exec(compile(source, f"<parameters of {contract.kernel_name}>", "exec"), namespace)
    assemble: Assemble = namespace["assemble"]
    return assemble
