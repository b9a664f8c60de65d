"""Functions that packages declare for themselves with `tl.core.extern` and `tl.core.extern_elementwise`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tle2cuda.errors import DTypeMismatch, InvalidArgument, NotSupported
from tle2cuda.ir.device_functions import DEVICE_FUNCTIONS
from tle2cuda.ir.types import DType
from tle2cuda.ops import core, libdevice
from tle2cuda.ops.core import builtin, numeric, tensor, unwrap

_Function = TypeVar("_Function", bound=Callable[..., Any])
_PREFIX = "__nv_"
_CLASSES = {"isnanf": "isnan", "isnand": "isnan", "isinff": "isinf", "isinfd": "isinf", "finitef": "isfinite"}


def extern(fn: _Function) -> _Function:
    """Makes a function of the host one of the language, which computes with `extern_elementwise`.

    Args:
        fn: The function; what Triton passes as ``_semantic`` is None.

    Example:
        ``@core.extern``, ``def hypotenuse(a, b, _semantic=None): return core.extern_elementwise(...)``
    """
    return builtin(fn)


@builtin
def extern_elementwise(
    lib_name: Any, lib_path: Any, args: Any, arg_type_symbol_dict: Any, is_pure: Any, _semantic: Any = None
) -> tensor:
    """A function of CUDA's libdevice by its symbol, for each element.

    Args:
        lib_name: Ignored.
        lib_path: Ignored.
        args: Tiles, scalars and numbers; they broadcast.
        arg_type_symbol_dict: For each tuple of dtypes the symbol, such as ``__nv_hypotf``, and the dtype of the result.
        is_pure: Ignored: they all are.

    Raises:
        InvalidArgument: The table takes another number of arguments.
        DTypeMismatch: It has no such dtypes.
        NotSupported: The symbol is none of libdevice.

    Example:
        ``core.extern_elementwise("", "", [x], {(core.dtype("fp32"),): ("__nv_erff", core.dtype("fp32"))}, is_pure=True)``
    """
    what = "extern_elementwise"
    values = tuple(numeric(value, what) for value in unwrap(args))
    table: Mapping[Any, Any] = unwrap(arg_type_symbol_dict)
    counts = {len(key) for key in table}
    if counts != {len(values)}:
        raise InvalidArgument(
            f"{what}: the table takes {' or '.join(map(str, sorted(counts)))} arguments, got {len(values)}"
        )
    found = _entry(table, tuple(core.dtype_of(value) for value in values))
    if found is None and len(values) > 1:
        values = core.operands_in_common(values, what)
        found = _entry(table, tuple(core.dtype_of(value) for value in values))
    if found is None:
        given = ", ".join(core.dtype_of(value).label for value in values)
        known = " or ".join(f"({', '.join(str(getattr(dtype, 'label', dtype)) for dtype in key)})" for key in table)
        raise DTypeMismatch(f"{what} takes {known}, got ({given})", help="convert the arguments first, x.to(tl.float32)")
    dtypes = [core.dtype_of(value) for value in values]
    name = function_of(found, dtypes)
    if name is None:
        raise NotSupported(
            f"{what}: {found} is no function of CUDA's libdevice that is known here",
            help="CUDA C++ has no place for functions of other bitcode libraries; use what libdevice has, or inline PTX",
        )
    return libdevice.call(name, *values)


def _entry(table: Mapping[Any, Any], dtypes: tuple[DType, ...]) -> str | None:
    """The symbol for these dtypes."""
    for key, (symbol, _) in table.items():
        if tuple(unwrap(each) for each in key) == dtypes:
            return str(symbol)
    return None


def function_of(symbol: str, dtypes: Sequence[DType]) -> str | None:
    """The name in `libdevice` of a symbol of CUDA's bitcode library that takes these dtypes."""
    if not symbol.startswith(_PREFIX):
        return None
    short = symbol.removeprefix(_PREFIX)
    fast = short.removeprefix("fast_")
    for spelled in (f"__{fast}",) if fast != short else (_CLASSES.get(short, short), f"__{short}"):
        for name, overloads in DEVICE_FUNCTIONS.items():
            for overload in overloads:
                if overload.cuda == spelled and list(overload.arguments) == list(dtypes):
                    return name
    return None


__all__ = ["extern", "extern_elementwise", "function_of"]
