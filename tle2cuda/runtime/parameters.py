"""Parameters of a kernel: what its declaration says of each, and how its arguments are specialised."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import ArgumentError, KernelWarning
from tle2cuda.near_names import did_you_mean
from tle2cuda.runtime.frames import warn_user


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel function, as specialisation sees it.

    Attributes:
        name: Its name.
        is_constexpr: Annotated `tl.constexpr`.
        has_default: It may be left out.
        default: What it then is.
        dtype: Element type that an annotation such as `tl.int64` or `int` fixes for launches; empty otherwise. A signature
            may say otherwise, as in Triton.
        pointee: Element type that an annotation such as `tl.pointer_type(tl.int8)` asks of arrays; empty otherwise.
        specialize: Integers equal to 1 become constants, and divisibility by 16 is used.
        specialize_alignment: Divisibility by 16 is used.
        keyword_only: It is passed by name only.
        python_type: `dtype` comes from Python's `int`, `float` or `bool`.
    """

    name: str
    is_constexpr: bool = False
    has_default: bool = False
    default: Any = None
    dtype: str = ""
    pointee: str = ""
    specialize: bool = True
    specialize_alignment: bool = True
    keyword_only: bool = False
    python_type: bool = False


@dataclass(frozen=True, slots=True)
class KernelParam:
    """A parameter under the attributes of Triton's class.

    Attributes:
        num: Its position.
        name: Its name.
        annotation: The text of its annotation.
        annotation_type: The type that it fixes, as signatures write it; empty when it fixes none.
        is_constexpr: Annotated `tl.constexpr`.
        is_const: Annotated `tl.const`.
        do_not_specialize: Integers stay run-time values without hints.
        do_not_specialize_on_alignment: Divisibility is ignored.
        default: What it is when left out; `inspect.Parameter.empty` without a default.
    """

    num: int
    name: str
    annotation: str
    annotation_type: str
    is_constexpr: bool
    is_const: bool
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool
    default: Any

    @property
    def has_default(self) -> bool:
        """It may be left out."""
        return self.default is not inspect.Parameter.empty


def kernel_params(fn: Callable[..., Any], parameters: Sequence[Parameter]) -> list[KernelParam]:
    """Triton's view of a function's parameters."""
    found = inspect.signature(fn).parameters
    return [
        KernelParam(
            index,
            p.name,
            _annotation_name(found[p.name].annotation),
            p.dtype or (f"*{p.pointee}" if p.pointee else ""),
            p.is_constexpr,
            _annotation_name(found[p.name].annotation) == "const",
            not p.specialize,
            not p.specialize_alignment,
            found[p.name].default,
        )
        for index, p in enumerate(parameters)
    ]


def parameters_of(
    fn: Callable[..., Any],
    do_not_specialize: Sequence[int | str] = (),
    do_not_specialize_on_alignment: Sequence[int | str] = (),
) -> tuple[Parameter, ...]:
    """Parameters of a kernel function.

    Args:
        fn: The plain Python function.
        do_not_specialize: Names or indices of parameters that always stay run-time values without hints.
        do_not_specialize_on_alignment: Names or indices of parameters whose divisibility is ignored.

    Raises:
        ArgumentError: A parameter is `*args` or `**kwargs`, or a name or index does not exist.
    """
    found = inspect.signature(fn).parameters
    names = list(found)
    plain = _resolve_names(do_not_specialize, names, "do_not_specialize", fn)
    unaligned = _resolve_names(do_not_specialize_on_alignment, names, "do_not_specialize_on_alignment", fn)
    result = []
    for name, parameter in found.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            is_tuple = parameter.kind is parameter.VAR_POSITIONAL
            raise ArgumentError(
                f"{fn.__name__}: a kernel cannot take `{'*' if is_tuple else '**'}{name}`",
                help=f"take a tuple, `{name}`, and pass (a, b, ...); only functions that kernels call have `*{name}`, by "
                "the rules of Triton 3.9"
                if is_tuple
                else "name every parameter",
            )
        has_default = parameter.default is not parameter.empty
        annotation = _annotation_name(parameter.annotation)
        result.append(
            Parameter(
                name,
                is_constexpr=annotation == "constexpr",
                has_default=has_default,
                default=unwrap_constexpr(parameter.default) if has_default else None,
                dtype=_ANNOTATED_DTYPES.get(annotation, ""),
                pointee=_annotation_pointee(parameter.annotation),
                specialize=name not in plain,
                specialize_alignment=name not in plain and name not in unaligned,
                keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
                python_type=annotation in _PYTHON_TYPES,
            )
        )
    return tuple(result)


def _resolve_names(wanted: Sequence[int | str], names: list[str], option: str, fn: Callable[..., Any]) -> frozenset[str]:
    """The parameters that an option names; a warning for what is none, which Triton ignores and packages have."""

    def warn(message: str) -> None:
        code = getattr(fn, "__code__", None)
        if code is None:
            warn_user(message, KernelWarning)
        else:
            warnings.warn_explicit(message, KernelWarning, code.co_filename, code.co_firstlineno)

    resolved = set()
    for item in wanted:
        if isinstance(item, str):
            if item not in names:
                hint = f"; {guess}" if (guess := did_you_mean(item, names, shortened=True)) else ""
                warn(f"{option} names {item!r}, which is not a parameter{hint}")
                continue
            resolved.add(item)
        elif not -len(names) <= item < len(names):
            warn(f"{option} has index {item}; the kernel has {len(names)} parameters")
        else:
            resolved.add(names[item])
    return frozenset(resolved)


def _annotation_name(annotation: Any) -> str:
    """Last component of an annotation's name; the annotation may be text (postponed evaluation)."""
    if annotation is inspect.Parameter.empty or annotation is None:
        return ""
    if isinstance(annotation, str):
        return annotation.strip().rsplit(".", 1)[-1]
    name = getattr(annotation, "__name__", "") or getattr(annotation, "name", "")
    return name if isinstance(name, str) else ""


_PYTHON_TYPES = {"int": "i32", "float": "fp32", "bool": "i1"}


# What an annotation fixes, by all names that Triton knows a type by. A number beyond the type is refused at the launch.
_ANNOTATED_DTYPES = {
    **_PYTHON_TYPES,
    "half": "fp16",
    "double": "fp64",
    "u1": "i1",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    **{short: short for short in ("fp16", "bf16", "fp32", "fp64")},
    **{name: f"i{bits}" for bits in (1, 8, 16, 32, 64) for name in (f"int{bits}", f"i{bits}")},
    **{name: f"u{bits}" for bits in (8, 16, 32, 64) for name in (f"uint{bits}", f"u{bits}")},
}


def _annotation_pointee(annotation: Any) -> str:
    """Element type of the arrays that an annotation such as `tl.pointer_type(tl.int8)` or ``"*fp32"`` wants."""
    if isinstance(annotation, str):
        text = annotation.strip()
        return _ANNOTATED_DTYPES.get(text[1:], "") if text.startswith("*") else ""
    short = getattr(getattr(annotation, "element_ty", None), "short", "")
    return short if isinstance(short, str) else ""


def unwrap_constexpr(value: Any) -> Any:
    """The Python value inside a `tl.constexpr`; anything else unchanged."""
    while type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
    return value
