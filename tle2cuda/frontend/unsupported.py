"""Python outside the accepted subset: what each construct is called and what to write instead."""

from __future__ import annotations

import ast

from tle2cuda.errors import UnsupportedSyntax
from tle2cuda.ir.span import Span

_STATEMENTS: dict[str, tuple[str, str]] = {
    "AsyncFor": ("`async for`", "use a plain `for` over range"),
    "AsyncFunctionDef": ("a nested function", "define it at module level with @tle2cuda.jit"),
    "AsyncWith": ("`async with`", "write the statements directly"),
    "Break": (
        "`break`",
        "use `while` with the condition for going on, or guard the rest of the body with `if`",
    ),
    "ClassDef": (
        "a nested class",
        "define it at module level and pass what it computes as tl.constexpr",
    ),
    "Continue": ("`continue`", "guard the rest of the body with `if`"),
    "Delete": ("`del`", "leave the name alone: values that are not used cost nothing"),
    "FunctionDef": ("a nested function", "define it at module level with @tle2cuda.jit and call it"),
    "Global": ("`global`", "pass the value as an argument, or return it"),
    "Import": ("`import`", "import at module level"),
    "ImportFrom": ("`import`", "import at module level"),
    "Match": ("`match`", "use if/elif/else"),
    "Nonlocal": ("`nonlocal`", "pass the value as an argument, or return it"),
    "Raise": ("`raise`", "use tl.static_assert at compile time or tl.device_assert at run time"),
    "Try": ("`try`", "device code has no exceptions: test the condition with `if`"),
    "TryStar": ("`try`", "device code has no exceptions: test the condition with `if`"),
    "TypeAlias": ("`type`", "define type aliases at module level"),
    "With": ("`with`", "write the statements directly"),
}
_EXPRESSIONS: dict[str, tuple[str, str]] = {
    "Await": ("`await`", "call the function directly"),
    "Dict": ("a dict", "use separate names, or pass the dict's values as tl.constexpr parameters"),
    "DictComp": ("a dict comprehension", "use separate names"),
    "Lambda": ("`lambda`", "define a function at module level with @tle2cuda.jit"),
    "NamedExpr": (
        "the assignment expression `:=`",
        'assign in a statement of its own, or read the kernel by the rules of Triton 3.9 (language="3.9")',
    ),
    "Set": ("a set", "use a tuple"),
    "SetComp": ("a set comprehension", "use a `for` loop over tl.static_range"),
    "Starred": ("`*` here", "`*` is accepted only in the arguments of a call and in tuples"),
    "Yield": ("`yield`", "return a tuple, or store to memory"),
    "YieldFrom": ("`yield from`", "return a tuple, or store to memory"),
}


def unsupported(node: ast.AST, span: Span) -> UnsupportedSyntax:
    """The error for a construct of Python that kernels cannot contain."""
    name = type(node).__name__
    what, instead = _STATEMENTS.get(name) or _EXPRESSIONS.get(name) or (f"`{name}`", "")
    return UnsupportedSyntax(f"{what} is not supported in a kernel", span, help=instead)
