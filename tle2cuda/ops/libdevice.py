"""Triton's `libdevice`: every function of the table `ir/device_functions.py`, as one IR operation.

float32 functions are computed in float64 and rounded once, so they lie inside the errors that CUDA documents.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tle2cuda.errors import DTypeMismatch, InvalidArgument
from tle2cuda.ir.device_functions import DEVICE_FUNCTIONS, Overload, find_overload
from tle2cuda.ir.nodes import Op
from tle2cuda.ir.types import F32, F64, DType, dtype_of
from tle2cuda.ops import core, directed, special_functions
from tle2cuda.ops.core import broadcast_all, builtin, emit_value, meaning, numeric, tensor
from tle2cuda.ops.numerics import Array, float_to_integer, multiply_high, value_dtype

_ROUNDED = re.compile(r"(?P<name>add|sub|mul|div|rcp|sqrt|fma)_(?P<direction>rn|rd|ru|rz)")
_TO_INTEGER = re.compile(r"(?P<source>float|double)2(?P<target>int|uint|ll|ull)_(?P<direction>rn|rd|ru|rz)")
_FROM_INTEGER = re.compile(r"(?P<source>int|uint|ll|ull)2(?P<target>float|double)_(?P<direction>rn|rd|ru|rz)")


def call(name: str, *arguments: Any) -> tensor:
    """Emits one device function.

    Raises:
        DTypeMismatch: There is no overload for these dtypes.
    """
    function = f"libdevice.{name}"
    values = tuple(numeric(argument, function) for argument in arguments)
    dtypes = [core.dtype_of(value) for value in values]
    overload = find_overload(name, dtypes)
    if overload is None:
        raise _no_overload(function, values, DEVICE_FUNCTIONS[name])
    operands = broadcast_all(values, function)
    return emit_value("libdevice", operands, overload.result, operands[0].dims, {"fn": name})


def _no_overload(function: str, values: tuple[tensor, ...], overloads: tuple[Overload, ...]) -> DTypeMismatch:
    known = " or ".join(f"({', '.join(dtype.label for dtype in overload.arguments)})" for overload in overloads)
    given = ", ".join(core.dtype_of(value).label for value in values)
    facts = tuple(core.fact(f"arg{i}", value) for i, value in enumerate(values))
    return DTypeMismatch(
        f"{function} takes {known}, got ({given})", facts=facts, help="convert the arguments first, x.to(tl.float32)"
    )


def _make(name: str, overloads: tuple[Overload, ...]) -> Callable[..., tensor]:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(f"arg{i}", kind, annotation=Any) for i in range(len(overloads[0].arguments))]
    signature = inspect.Signature(parameters, return_annotation=tensor)

    @builtin
    def function(*arguments: Any, **keywords: Any) -> tensor:
        try:
            bound = signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise InvalidArgument(f"libdevice.{name}: {error}") from None
        return call(name, *bound.args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _docstring(name, overloads)
    function.__dict__["__signature__"] = signature
    return function


def _docstring(name: str, overloads: tuple[Overload, ...]) -> str:
    lines = []
    for overload in overloads:
        dtypes = ", ".join(dtype.label for dtype in overload.arguments)
        accuracy = f", at most {overload.ulps:g} ulp off" if overload.ulps else ""
        lines.append(f"    {dtypes} -> {overload.result.label}: ``{overload.cuda}``{accuracy}")
    count = len(overloads[0].arguments)
    arguments = "\n".join(f"    arg{i}: Tile, scalar or number." for i in range(count))
    example = f"y = libdevice.{name}({', '.join('xyzw'[i] for i in range(count))})"
    return (
        f"Elementwise `{name}` of the CUDA math library.\n\nOverloads:\n" + "\n".join(lines) + f"\n\nArgs:\n{arguments}\n\n"
        f"Raises:\n    DTypeMismatch: Other dtypes; nothing is converted.\n\nExample:\n    ``{example}``\n"
    )


FUNCTIONS: dict[str, Callable[..., tensor]] = {name: _make(name, overloads) for name, overloads in DEVICE_FUNCTIONS.items()}
"""The language functions by name."""


# -- meanings ---------------------------------------------------------------------------------------


def _power_by_squaring(x: Array, n: Array) -> Any:
    return np.power(x, np.asarray(n).astype(np.float64))


def _fdim(x: Array, y: Array) -> Any:
    return np.where(x > y, x - y, np.where(x <= y, 0.0, np.nan))


def _log_b(x: Array) -> Any:
    _, exponent = np.frexp(x)
    return np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.where(np.isnan(x), x, exponent - 1.0)))


def _saturate(x: Array) -> Any:
    return np.where(x > 0, np.minimum(x, 1.0), 0.0)


def _divide_quickly(x: Array, y: Array) -> Any:
    """CUDA documents 0 for divisors between 2**126 and 2**128."""
    magnitude = np.abs(y)
    vanishes = (magnitude > 2.0**126) & np.isfinite(magnitude) & np.isfinite(x)
    return np.where(vanishes, np.copysign(0.0, x) * np.sign(y), x / y)


def _reciprocal_of_high_half(x: Array) -> Any:
    high = (np.asarray(x).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)
    return ((1 / high).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


_WIDE: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fast_dividef": _divide_quickly,
    "fdim": _fdim,
    "floor": np.floor,
    "fmod": np.fmod,
    "ldexp": np.ldexp,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "logb": _log_b,
    "nearbyint": np.rint,
    "pow": np.power,
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "rint": np.rint,
    "round": special_functions.round_half_away,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rsqrt_rn": lambda x: 1 / np.sqrt(x),
    "saturatef": _saturate,
    "scalbn": np.ldexp,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
    "rcp64h": _reciprocal_of_high_half,
    "hypot": special_functions.norm,
    "norm3d": special_functions.norm,
    "norm4d": special_functions.norm,
    "rhypot": lambda *c: 1 / special_functions.norm(*c),
    "rnorm3d": lambda *c: 1 / special_functions.norm(*c),
    "rnorm4d": lambda *c: 1 / special_functions.norm(*c),
    **{
        name: getattr(special_functions, name)
        for name in (
            "cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv j0 j1 jn lgamma normcdf normcdfinv remainder "
            "sinpi tgamma y0 y1 yn"
        ).split()
    },
}
for _name in ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan"):
    _WIDE[f"fast_{_name}f"] = _WIDE[_name]


def _reversed_bits(x: Array, bits: int) -> Any:
    unsigned = np.asarray(x).astype(np.int64).view(np.uint64)
    result = np.zeros_like(unsigned)
    for bit in range(bits):
        result |= (unsigned >> np.uint64(bit) & np.uint64(1)) << np.uint64(bits - 1 - bit)
    return result


def _leading_zeros(x: Array, bits: int) -> Any:
    unsigned = _unsigned(x, bits)
    count = np.full(unsigned.shape, bits, np.int32)
    for bit in range(bits):
        count = np.where(unsigned >> np.uint64(bit) != 0, bits - 1 - bit, count)
    return count


def _first_set(x: Array, bits: int) -> Any:
    unsigned = _unsigned(x, bits)
    lowest = unsigned & (~unsigned + np.uint64(1))
    return np.where(unsigned == 0, 0, bits - _leading_zeros(lowest.view(np.int64), bits))


def _unsigned(x: Array, bits: int) -> Any:
    wide = np.asarray(x).astype(np.int64).view(np.uint64)
    return wide & np.uint64((1 << bits) - 1)


def _population(x: Array, bits: int) -> Any:
    unsigned = _unsigned(x, bits)
    return sum((unsigned >> np.uint64(bit) & np.uint64(1)).astype(np.int32) for bit in range(bits))


def _byte_permutation(x: Array, y: Array, selector: Array) -> Any:
    """Bytes of x (0 to 3) and y (4 to 7) by the four low nibbles of the selector; their bit 3 is ignored."""
    both = _unsigned(y, 32) << np.uint64(32) | _unsigned(x, 32)
    chosen = _unsigned(selector, 32)
    result = np.zeros_like(both)
    for i in range(4):
        place = (chosen >> np.uint64(4 * i) & np.uint64(7)) * np.uint64(8)
        result |= (both >> place & np.uint64(0xFF)) << np.uint64(8 * i)
    return result


def _low_24(x: Array) -> Any:
    wide = np.asarray(x).astype(np.int64)
    if np.asarray(x).dtype.kind == "u":
        return wide & 0xFFFFFF
    return ((wide & 0xFFFFFF) ^ 0x800000) - 0x800000


def _exponent(x: Array) -> Any:
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    least, most = -(2**31), 2**31 - 1
    return np.where(np.isnan(x) | (x == 0), least, np.where(np.isinf(x), most, exponent - 1))


def _halves(high: Array, low: Array) -> Any:
    return (_unsigned(high, 32) << np.uint64(32) | _unsigned(low, 32)).view(np.float64)


def _width(x: Array) -> int:
    return np.asarray(x).dtype.itemsize * 8


def _bits_of(x: Array) -> Any:
    array = np.asarray(x)
    return array.view(np.int32 if array.dtype.itemsize == 4 else np.int64)


def _average(a: Array, b: Array, up: int) -> Any:
    return (np.asarray(a).astype(np.int64) + np.asarray(b).astype(np.int64) + up) >> 1


_EXACT: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "brev": lambda x: _reversed_bits(x, _width(x)),
    "byte_perm": _byte_permutation,
    "clz": lambda x: _leading_zeros(x, _width(x)),
    "ffs": lambda x: _first_set(x, _width(x)),
    "popc": lambda x: _population(x, _width(x)),
    "double2hiint": lambda x: _bits_of(x) >> 32,
    "double2loint": lambda x: _bits_of(x) & 0xFFFFFFFF,
    "double_as_longlong": _bits_of,
    "float_as_int": _bits_of,
    "float_as_uint": _bits_of,
    "hiloint2double": _halves,
    "int_as_float": lambda x: np.asarray(x).view(np.float32),
    "uint_as_float": lambda x: np.asarray(x).view(np.float32),
    "longlong_as_double": lambda x: np.asarray(x).view(np.float64),
    "finitef": np.isfinite,
    "isfinited": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
    "signbit": np.signbit,
    "ilogb": _exponent,
    "nextafter": np.nextafter,
    "hadd": lambda a, b: _average(a, b, 0),
    "rhadd": lambda a, b: _average(a, b, 1),
    "mul24": lambda a, b: _low_24(a) * _low_24(b),
    "mulhi": lambda a, b: multiply_high(a, b, _width(a), np.asarray(a).dtype.kind == "i"),
    "sad": lambda a, b, c: np.abs(np.asarray(a).astype(np.int64) - np.asarray(b).astype(np.int64)) + c,
}


@functools.cache
def meaning_of(name: str, overload: Overload) -> Callable[..., Any]:
    """What a function does to arrays of the overload's dtypes."""
    if match := _ROUNDED.fullmatch(name):
        operation, direction = match["name"], match["direction"]
        return lambda *x: directed.rounded(operation, direction, x)
    if match := _TO_INTEGER.fullmatch(name):
        return functools.partial(_to_integer, match["target"], match["direction"], overload.arguments[0])
    if match := _FROM_INTEGER.fullmatch(name):
        return functools.partial(directed.from_integer, target=overload.result, direction=match["direction"])
    if name.startswith("double2float_"):
        return functools.partial(directed.to_float32, direction=name[-2:])
    if name in ("llrint", "llround"):
        whole = np.rint if name == "llrint" else special_functions.round_half_away
        source = overload.arguments[0]
        return lambda x: float_to_integer(whole(np.asarray(x).astype(np.float64)), source, overload.result)
    if name == "fma":
        return lambda *x: directed.rounded("fma", "rn", x)
    if name == "pow" and overload.arguments[1] not in (F32, F64):
        return lambda x, n: _power_by_squaring(np.asarray(x).astype(np.float64), n)
    if name in _EXACT:
        return _EXACT[name]
    function = _WIDE[name]
    return lambda *x: function(*(_in_float64(v) for v in x))


def _in_float64(x: Array) -> Any:
    array = np.asarray(x)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


_WHOLE = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}
_UNSIGNED = {"uint": DType("uint32"), "ull": DType("uint64")}
_SIGNED = {"int": DType("int32"), "ll": DType("int64")}


def _to_integer(target: str, direction: str, source: DType, x: Array) -> Any:
    whole = _WHOLE[direction](np.asarray(x).astype(np.float64))
    return float_to_integer(whole, source, _UNSIGNED.get(target) or _SIGNED[target])


@meaning("libdevice")
def _libdevice(ctx: Any, op: Op, *arguments: Any) -> Any:
    overload = find_overload(op.attrs["fn"], [dtype_of(operand.type) for operand in op.operands])
    assert overload is not None
    with np.errstate(all="ignore"):
        result = np.asarray(meaning_of(op.attrs["fn"], overload)(*arguments))
        # Unsigned results that Triton takes for signed ones keep their bits.
        return result.astype(value_dtype(overload.result))
