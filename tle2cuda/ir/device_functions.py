"""The functions of Triton's `libdevice`: for each the dtypes it takes and gives, and the CUDA function that computes it.

A name has an overload for each list of argument dtypes; other dtypes are an error, never a conversion. `ulps` is the
largest error that the CUDA C++ Programming Guide documents (Mathematical Functions), in units in the last place of the
result; 0 is correctly rounded or exact. Functions without such a bound have a range in which the absolute error counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tle2cuda.ir.types import BOOL, F32, F64, I32, I64, U32, U64, DType


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a device function.

    Attributes:
        arguments: Dtypes of the arguments.
        result: Dtype of the result.
        cuda: CUDA's function, or the device helper with this name.
        ulps: Documented error in units in the last place.
        is_helper: Whether `cuda` names a helper of `templates/device/`.
    """

    arguments: tuple[DType, ...]
    result: DType
    cuda: str
    ulps: float = 0.0
    is_helper: bool = False


# Functions of float32 and float64 with as many results of that dtype: name, ulps in float32, ulps in float64. CUDA calls
# them `namef` and `name`.
_OF_FLOATS = {
    1: """
    acos:2:2 acosh:4:3 asin:2:2 asinh:3:3 atan:2:2 atanh:3:2 cbrt:1:1 ceil:0:0 cos:2:2 cosh:2:1 cospi:1:2
    cyl_bessel_i0:6:6 cyl_bessel_i1:6:6 erf:2:2 erfc:4:5 erfcinv:4:6 erfcx:4:4 erfinv:2:5 exp:2:1 exp10:2:1 exp2:2:1
    expm1:1:1 floor:0:0 j0:9:7 j1:9:7 lgamma:6:4 log:1:1 log10:2:1 log1p:1:1 log2:1:1 logb:0:0 nearbyint:0:0 normcdf:5:5
    normcdfinv:5:8 rcbrt:1:1 rint:0:0 round:0:0 rsqrt:2:1 sin:2:2 sinh:3:2 sinpi:1:2 sqrt:0:0 tan:4:2 tanh:2:1
    tgamma:5:10 trunc:0:0 y0:9:7 y1:9:7
    """,
    2: "atan2:3:2 copysign:0:0 fdim:0:0 fmod:0:0 hypot:3:2 nextafter:0:0 remainder:0:0 rhypot:2:1",
    3: "fma:0:0 norm3d:3:2 rnorm3d:2:1",
    4: "norm4d:3:2 rnorm4d:2:1",
}

# Arithmetic with a rounding direction: `__fadd_rd`, `__dadd_rd` ...
_ROUNDED = {"add": 2, "sub": 2, "mul": 2, "div": 2, "rcp": 1, "sqrt": 1}
_DIRECTIONS = ("rd", "rn", "ru", "rz")

# Conversions with a rounding direction. The unsigned results are int32 and int64 in Triton: the same bits.
_TO_INTEGER = {"int": I32, "uint": I32, "ll": I64, "ull": I64}
_FROM_INTEGER = {"int": I32, "uint": U32, "ll": I64, "ull": U64}

_CODES = {"f": F32, "d": F64, "i": I32, "l": I64, "u": U32, "w": U64, "b": BOOL}

# Everything else: name, then `arguments>result=function`, by the letters of _CODES.
_OTHERS = """
abs i>i=abs l>l=llabs f>f=fabsf d>d=fabs
brev i>i=__brev l>l=__brevll
byte_perm iii>i=__byte_perm
clz i>i=__clz l>i=__clzll
double2hiint d>i=__double2hiint
double2loint d>i=__double2loint
double_as_longlong d>l=__double_as_longlong
fast_cosf f>f=__cosf
fast_dividef ff>f=__fdividef
fast_exp10f f>f=__exp10f
fast_expf f>f=__expf
fast_log10f f>f=__log10f
fast_log2f f>f=__log2f
fast_logf f>f=__logf
fast_powf ff>f=__powf
fast_sinf f>f=__sinf
fast_tanf f>f=__tanf
ffs i>i=__ffs l>i=__ffsll
finitef f>b=isfinite
float_as_int f>i=__float_as_int
float_as_uint f>i=__float_as_uint
hadd ii>i=__hadd uu>u=__uhadd
hiloint2double ii>d=__hiloint2double
ilogb f>i=ilogbf d>i=ilogb
int2double_rn i>d=__int2double_rn
int_as_float i>f=__int_as_float
isfinited d>b=isfinite
isinf f>b=isinf d>b=isinf
isnan f>b=isnan d>b=isnan
jn if>f=jnf id>d=jn
ldexp fi>f=ldexpf di>d=ldexp
llrint f>l=llrintf d>l=llrint
llround f>l=llroundf d>l=llround
longlong_as_double l>d=__longlong_as_double
mul24 ii>i=__mul24 uu>u=__umul24
mulhi ii>i=__mulhi uu>u=__umulhi ll>l=__mul64hi ww>w=__umul64hi
popc i>i=__popc l>i=__popcll
pow fi>f=power_of_integer di>d=power_of_integer ff>f=powf dd>d=pow
rcp64h d>d=reciprocal_approx
rhadd ii>i=__rhadd uu>u=__urhadd
rsqrt_rn f>f=__frsqrt_rn
sad iiu>i=__sad uuu>u=__usad
saturatef f>f=__saturatef
scalbn fi>f=scalbnf di>d=scalbn
signbit f>i=signbit d>i=signbit
uint2double_rn u>d=__uint2double_rn
uint_as_float u>f=__uint_as_float
yn if>f=ynf id>d=yn
"""
_OTHER_ULPS = {"powf": 4.0, "pow": 2.0, "__fdividef": 2.0, "power_of_integer": 4.0}
_HELPERS = frozenset({"reciprocal_approx", "power_of_integer"})


def _of_floats() -> Iterator[tuple[str, Overload]]:
    for count, entries in _OF_FLOATS.items():
        for entry in entries.split():
            name, single, double = entry.split(":")
            yield name, Overload((F32,) * count, F32, f"{name}f", float(single))
            yield name, Overload((F64,) * count, F64, name, float(double))


def _rounded() -> Iterator[tuple[str, Overload]]:
    for direction in _DIRECTIONS:
        for name, count in _ROUNDED.items():
            yield f"{name}_{direction}", Overload((F32,) * count, F32, f"__f{name}_{direction}")
            yield f"{name}_{direction}", Overload((F64,) * count, F64, f"__d{name}_{direction}")
        yield f"fma_{direction}", Overload((F32,) * 3, F32, f"__fmaf_{direction}")
        yield f"fma_{direction}", Overload((F64,) * 3, F64, f"__fma_{direction}")


def _conversions() -> Iterator[tuple[str, Overload]]:
    for direction in _DIRECTIONS:
        yield f"double2float_{direction}", Overload((F64,), F32, f"__double2float_{direction}")
        for source, dtype in (("float", F32), ("double", F64)):
            for target, result in _TO_INTEGER.items():
                name = f"{source}2{target}_{direction}"
                yield name, Overload((dtype,), result, f"__{name}")
        for source, dtype in _FROM_INTEGER.items():
            for target, result in (("float", F32), ("double", F64)):
                if target == "float" or source in ("ll", "ull"):
                    name = f"{source}2{target}_{direction}"
                    yield name, Overload((dtype,), result, f"__{name}")


def _others() -> Iterator[tuple[str, Overload]]:
    for line in _OTHERS.split("\n"):
        name, _, overloads = line.partition(" ")
        for overload in overloads.split():
            signature, _, cuda = overload.partition("=")
            arguments, _, result = signature.partition(">")
            ulps = _OTHER_ULPS.get(cuda, 0.0)
            types = tuple(_CODES[code] for code in arguments)
            yield name, Overload(types, _CODES[result], cuda, ulps, cuda in _HELPERS)


def _table() -> dict[str, tuple[Overload, ...]]:
    found: dict[str, list[Overload]] = {}
    for source in (_of_floats(), _rounded(), _conversions(), _others()):
        for name, overload in source:
            found.setdefault(name, []).append(overload)
    return {name: tuple(found[name]) for name in sorted(found)}


DEVICE_FUNCTIONS: dict[str, tuple[Overload, ...]] = _table()
"""Overloads by the name that kernels call."""


def find_overload(name: str, arguments: Sequence[DType]) -> Overload | None:
    """The overload of a function for exactly these dtypes; None when there is none."""
    for overload in DEVICE_FUNCTIONS.get(name, ()):
        if overload.arguments == tuple(arguments):
            return overload
    return None


def cuda_names() -> frozenset[str]:
    """What emitted files may call for functions of libdevice."""
    return frozenset(overload.cuda for overloads in DEVICE_FUNCTIONS.values() for overload in overloads)
