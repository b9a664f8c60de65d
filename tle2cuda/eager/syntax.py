"""Python that kernels cannot contain, found in a function's tree.

The front end's own words are used; which of it is reached is for the function to find out as it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tle2cuda.errors import UnsupportedSyntax
from tle2cuda.frontend.unsupported import unsupported
from tle2cuda.ir.span import UNKNOWN

Refusal = tuple[str, str]
"""What is wrong, and what to write instead."""

_STATEMENTS = (
    *(ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Break, ast.ClassDef, ast.Continue, ast.Delete),
    *(ast.FunctionDef, ast.Global, ast.Import, ast.ImportFrom, ast.Match, ast.Nonlocal, ast.Try, ast.With),
    *(getattr(ast, name) for name in ("TryStar", "TypeAlias") if hasattr(ast, name)),
)
_EXPRESSIONS = (*(ast.Await, ast.Dict, ast.DictComp, ast.Lambda, ast.Set, ast.SetComp, ast.Yield, ast.YieldFrom),)
_BY_3_9 = 'read the kernel by the rules of Triton 3.9 (language="3.9")'
_LOOP_ELSE = (
    "`else` of a loop is not supported in a kernel",
    "without `break` it always runs: write its statements behind the loop",
)
_STARRED = (
    "`*` in the target of an assignment is not supported in a kernel",
    "take the rest with a slice: rest = values[1:]",
)


def refused(node: ast.AST, newer: bool) -> Refusal | None:
    """Why a statement or an expression itself cannot stand in a kernel; None when it can.

    Args:
        node: The statement or expression.
        newer: It is read by the rules of Triton 3.9.
    """
    if isinstance(node, (*_STATEMENTS, *_EXPRESSIONS)) or (isinstance(node, ast.NamedExpr) and not newer):
        error = unsupported(node, UNKNOWN)
        return error.message, error.help
    match node:
        case ast.For() | ast.While() if node.orelse:
            return _LOOP_ELSE
        case ast.While() if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node.test)):
            return "`:=` in the condition of a `while` is not supported in a kernel", "assign in a statement of its own"
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
            return _target(node.targets if isinstance(node, ast.Assign) else [node.target])
        case ast.Compare() if len(node.ops) > 1 and not newer:
            return (
                "a chained comparison is not supported in a kernel",
                f"write (a < b) & (b < c), or {_BY_3_9}",
            )
        case ast.Call() if any(keyword.arg is None for keyword in node.keywords):
            return "`**` in a call is not supported in a kernel", "name the arguments"
        case ast.Constant() if isinstance(node.value, (bytes, complex)):
            return f"a constant of type {type(node.value).__name__} is not supported in a kernel", ""
        case ast.comprehension() if node.ifs and not newer:
            return (
                "the `if` of a comprehension is not supported in a kernel: Triton 3.6 ignores it",
                f"leave it out, or {_BY_3_9}",
            )
    return None


def _target(targets: Sequence[ast.expr]) -> Refusal | None:
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Starred):
                return _STARRED
            if isinstance(part, ast.Subscript):
                return (
                    "assigning to an element is not supported: tiles are values, and memory is written by tl.store",
                    "change tiles with tl.where, write memory with tl.store",
                )
    return None


def first_refused(statements: Sequence[ast.stmt], newer: bool) -> Refusal | None:
    """The first refusal in statements, branches among them left out: their conditions may be constants."""
    for statement in statements:
        if isinstance(statement, ast.If):
            continue
        found = refused(statement, newer)
        if found is None and isinstance(statement, (ast.For, ast.While)):
            found = first_refused(statement.body, newer)
        if found is None and not isinstance(statement, (ast.For, ast.While, ast.Assert, ast.Raise)):
            found = next((r for n in ast.walk(statement) if (r := refused(n, newer)) is not None), None)
        if found is not None:
            return found
    return None


def error_of(refusal: Refusal) -> UnsupportedSyntax:
    """The error for what is refused."""
    return UnsupportedSyntax(refusal[0], help=refusal[1])
