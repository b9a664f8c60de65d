"""C names: the user's, suffixed only on a clash."""

from __future__ import annotations

import contextlib
import functools
import re
import unicodedata
from collections.abc import Iterator

from tle2cuda.ir.device_functions import cuda_names
from tle2cuda.lowering.helpers import helper_identifiers

# What no name in an emitted file can be: words of C++, and macros that NVRTC, nvcc or the headers define.
_WORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const const_cast consteval constexpr constinit continue co_await co_return co_yield decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template
    this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq
    BUFSIZ EOF HUGE_VAL HUGE_VALF HUGE_VALL INFINITY MATH_ERRNO MATH_ERREXCEPT NAN NULL RAND_MAX SEEK_CUR SEEK_END
    SEEK_SET TMP_MAX assert errno linux math_errhandling offsetof stderr stdin stdout unix
    """.split()
)
_MACROS = frozenset(
    """
    CHAR_BIT CHAR_MAX CHAR_MIN DBL_DIG DBL_EPSILON DBL_MAX DBL_MIN EXIT_FAILURE EXIT_SUCCESS FLT_DIG FLT_EPSILON FLT_MAX
    FLT_MIN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO INT_MAX INT_MIN LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN
    M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 PTRDIFF_MAX
    PTRDIFF_MIN SCHAR_MAX SCHAR_MIN SHRT_MAX SHRT_MIN SIZE_MAX UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX
    """.split()
).union(f"{sign}INT{bits}_{end}" for sign in ("", "U") for bits in (8, 16, 32, 64) for end in ("MAX", "MIN"))

# What the statements of an emitted file may use: a variable of that name would hide it.
_MATH = """
    abs acos acosh asin asinh atan atan2 atanh ceil cos cosh erf exp exp2 fabs fdivide floor fma fmax fmin fmod frexp log
    log10 log2 lrint lround max min modf pow rsqrt sin sincos sinh sqrt tan tanh trunc
    """.split()
_USED = frozenset(
    """
    threadIdx blockIdx blockDim gridDim warpSize dim3 half int2 int4 float2 float4 uint2 uint4 ulonglong2 printf cg cub
    cuda std isfinite isinf isnan signbit Shared shared shared_bytes Vector Word Words cluster grid thread run k
    warpgroup tensor_memory
    """.split()
).union(_MATH, (f"{name}f" for name in _MATH), cuda_names())
# Neither matches a name with a number or an underscore behind it, so a suffix always helps.
_USED_PATTERN = re.compile(
    r"atomic(Add|And|CAS|Dec|Exch|Inc|Max|Min|Or|Sub|Xor)(_block|_system)?|Items(_[a-z]+[0-9][a-z0-9]*)+|wgmma_m64n.*|tcgen05_(m\d|ld_).*"
    r"|u?int((_fast|_least)?(8|16|32|64)|max|ptr)_t|s?size_t|ptrdiff_t|time_t|clock_t|wint_t"
)

# Functions of the C library that headers declare: a kernel, which has C linkage too, cannot be called so.
_C_LIBRARY = frozenset(
    """
    abort aligned_alloc alloca asctime atexit atof atoi atol basename bcmp bcopy bsearch bzero calloc canonicalize
    clock ctime dadd ddiv difftime div drem exit fadd fclose fdiv fflush ffma ffs fgets finite finitef fmaximum
    fmaximum_mag fmaximum_num fmaxmag fminimum fminimum_mag fminimum_num fminmag fmul fopen fprintf fputs fread free
    fseek fsqrt fsub ftell fwrite gamma getc getdelim getenv getline getw gmtime index initstate isinff isinfl isnanf
    isnanl labs ldiv llabs lldiv llogb localtime main malloc mblen memccpy memchr memcmp memcpy memmem memmove mempcpy
    memrchr memset mktime nan nanf nanl nanosleep nextdown nextup pclose perror popen pow10 putc putenv puts putw
    qsort quick_exit rand random realloc remove remquo rename rewind rindex roundeven scalb scanf select setenv
    setstate signal significand sleep snprintf sprintf srand srandom sscanf strcat strchr strcmp strcpy strdup strlen
    strncmp strncpy strspn strstr strtod strtof strtok strtol swab system time tmpfile tmpnam totalorder unsetenv
    valloc
    """.split()
)


def ascii_identifier(name: str) -> str:
    """`name` in the letters that every CUDA compiler takes, without the forms that C++ reserves.

    NVRTC refuses letters beyond ASCII: accents are dropped, other letters become ``u`` and their code point.
    Names with two underscores in a row, or with one before a capital, belong to the C++ implementation.
    """
    letters = []
    for letter in unicodedata.normalize("NFKD", name):
        if letter.isascii():
            letters.append(letter if letter.isalnum() else "_")
        elif not unicodedata.combining(letter):
            letters.append(f"u{ord(letter):x}")
    text = re.sub("__+", "_", "".join(letters))
    if re.match("_[A-Z]", text):
        text = text[1:]
    if text in ("", "_"):
        return "value"
    return f"_{text}" if text[0].isdigit() else text


@functools.cache
def is_reserved(name: str) -> bool:
    """Whether a name means something else in an emitted file."""
    return (
        name in _WORDS
        or name in _USED
        or name in helper_identifiers()
        or name in _MACROS
        or _USED_PATTERN.fullmatch(name) is not None
    )


def kernel_name(name: str) -> str:
    """The name of a kernel in its emitted file and in its contract: the user's, unless C++ or CUDA forbid it."""
    base = ascii_identifier(name)
    return f"{base}_" if is_reserved(base) or base in _C_LIBRARY else base


class Names:
    """Names in use, by nested C++ scopes."""

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]
        # By scope and base: up to this number all names are taken, and stay so while the scope is open.
        self._taken: list[dict[str, int]] = [{}]

    def fresh(self, hint: str, depth: int | None = None) -> str:
        """A name like `hint` that clashes with nothing in the open scopes.

        Args:
            hint: Wanted name, which `ascii_identifier` makes one of C++.
            depth: Scope that will hold it, counted from the outermost (0); the innermost by default.
        """
        base = ascii_identifier(hint)
        count = max((taken.get(base, 0) for taken in self._taken), default=0) + 1
        name = self._numbered(base, count)
        while is_reserved(name) or any(name in scope for scope in self._scopes):
            count += 1
            name = self._numbered(base, count)
        self._taken[-1][base] = count
        self._scopes[-1 if depth is None else depth].add(name)
        return name

    @staticmethod
    def _numbered(base: str, count: int) -> str:
        if count == 1:
            return base
        return f"{base}_{count}" if count > 2 or not is_reserved(base) else f"{base}_"

    @property
    def depth(self) -> int:
        """Index of the innermost open scope."""
        return len(self._scopes) - 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[None]:
        """Names made inside are free again afterwards."""
        self._scopes.append(set())
        self._taken.append({})
        try:
            yield
        finally:
            self._scopes.pop()
            self._taken.pop()
