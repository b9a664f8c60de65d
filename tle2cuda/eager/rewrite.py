"""The few changes without which Python would not mean what the language means.

Everything else of the function's tree stays, with its file, lines and columns, and is compiled by CPython:

- plain assignment turns numbers into run-time scalars (``x: tl.constexpr = ...`` does not);
- `and`, `or` and `not` combine run-time values elementwise instead of asking for their truth;
- `assert` takes tiles; `while` takes no floats; ``.value`` of a constant is the constant;
- what names from outside have as attributes (``helpers.scale``) is exchanged as those names themselves are.
"""

from __future__ import annotations

import ast
import copy
import types
import weakref
from collections.abc import Callable, Set
from typing import Any

from tle2cuda.eager.operators import logical_and, logical_not, logical_or
from tle2cuda.eager.program import reads_3_9
from tle2cuda.eager.values import Tile, decay, describe
from tle2cuda.errors import ConstexprRequired, DTypeMismatch
from tle2cuda.frontend.source import source_of
from tle2cuda.ir.types import BOOL

_PREFIX = "_tle2cuda_"


class _Rewriter(ast.NodeTransformer):
    """Rewrites a function's statements.

    Args:
        own: Names that are the function's own; others come from outside.
    """

    def __init__(self, own: Set[str]) -> None:
        self.own = own
        self.temporaries = 0
        self.comprehensions = 0

    def _call(self, name: str, node: ast.expr, *args: ast.expr) -> ast.Call:
        function = ast.copy_location(ast.Name(_PREFIX + name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, list(args) or [node], []), node)

    # -- assignment --

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        unpacks = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        node.value = self._call("unpacked" if unpacks else "decay", node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        result = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self._call("decay", result)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        text = ast.unparse(node.annotation).strip("'\"")
        value = self.visit(node.value)
        keeps = text.rpartition(".")[2] == "constexpr"
        return ast.copy_location(ast.Assign([node.target], self._call("static" if keeps else "decay", value)), node)

    # -- truth --

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self.comprehensions:  # no names can be bound there
            return node
        result = node.values[0]
        for right in node.values[1:]:
            result = self._two(node, result, right)
        return result

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """``a < b < c`` is ``a < (t := b) and t < c``, as tiles cannot be asked for their truth."""
        if len(node.ops) == 1 or self.comprehensions:
            return self.generic_visit(node)
        parts: list[ast.expr] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            self.temporaries += 1
            name = f"{_PREFIX}{self.temporaries}"
            named = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), right), right), right)
            parts.append(ast.copy_location(ast.Compare(left, [op], [named]), node))
            left = ast.copy_location(ast.Name(name, ast.Load()), right)
        return self.visit_BoolOp(ast.copy_location(ast.BoolOp(ast.And(), parts), node))

    def _two(self, node: ast.BoolOp, left: ast.expr, right: ast.expr) -> ast.expr:
        """``combine(t, right) if is_tile(t := left) else (t and right)``: the right side of constants stays lazy."""
        self.temporaries += 1
        name = f"{_PREFIX}{self.temporaries}"

        def load() -> ast.expr:
            return ast.copy_location(ast.Name(name, ast.Load()), node)

        store = ast.copy_location(ast.Name(name, ast.Store()), node)
        named = ast.copy_location(ast.NamedExpr(store, left), left)
        word = "and" if isinstance(node.op, ast.And) else "or"
        plain = ast.copy_location(ast.BoolOp(node.op, [load(), copy.deepcopy(right)]), node)
        combined = self._call(word, node, load(), right)
        return ast.copy_location(ast.IfExp(self._call("is_tile", left, named), combined, plain), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._call("not", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self._call("all", node.test)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        node.test = self._call("loop_condition", node.test)
        return node

    # -- the rest --

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        from_outside = isinstance(node.ctx, ast.Load) and self._is_from_outside(node)
        self.generic_visit(node)
        if from_outside and node.attr != "value":
            return self._call("exchanged", node)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return self._call("value", node, node.value)
        return node

    def _is_from_outside(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.own

    def _comprehension(self, node: ast.AST) -> ast.AST:
        self.comprehensions += 1
        self.generic_visit(node)
        self.comprehensions -= 1
        return node

    visit_ListComp = visit_GeneratorExp = visit_SetComp = visit_DictComp = visit_Lambda = _comprehension


def _unpacked(value: Any) -> Any:
    """Each of the numbers that an assignment unpacks."""
    if isinstance(value, (tuple, list)):
        return tuple(_unpacked(item) for item in value)
    return decay(value)


def _static(value: Any) -> Any:
    if isinstance(value, Tile):
        raise ConstexprRequired(
            f"a name annotated tl.constexpr got a run-time value ({describe(value)})", help="leave the annotation out"
        )
    return value


def _and(left: Tile, right: Any) -> Any:
    if isinstance(right, Tile):
        return logical_and(left, right)
    return left if right else right


def _or(left: Tile, right: Any) -> Any:
    if isinstance(right, Tile):
        return logical_or(left, right)
    return right if right else left


def _not(value: Any) -> Any:
    return logical_not(value) if isinstance(value, Tile) else not value


def _all(value: Any) -> Any:
    return bool(value.data.all()) if isinstance(value, Tile) else value


def _loop_condition(value: Any) -> Any:
    """Triton 3.6 tests bool alone, 3.9 integers too."""
    if isinstance(value, Tile) and (value.is_pointer or value.dtype is not BOOL):
        if value.is_pointer or not value.dtype.is_int() or not reads_3_9():
            allowed = "bool or an integer" if reads_3_9() else "bool"
            raise DTypeMismatch(
                f"`while`: the condition must be {allowed}, got {describe(value)}",
                help="compare it with something, such as x != 0",
            )
    return value


def _is_tile(thing: Any) -> bool:
    return isinstance(thing, Tile)


def _value(thing: Any) -> Any:
    return thing.value if hasattr(thing, "value") and not isinstance(thing, Tile) else thing


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "decay": decay,
    "unpacked": _unpacked,
    "static": _static,
    "and": _and,
    "or": _or,
    "not": _not,
    "all": _all,
    "value": _value,
    "is_tile": _is_tile,
    "loop_condition": _loop_condition,
}


def helpers(exchanged: Callable[[Any], Any]) -> dict[str, Any]:
    """What rewritten functions call, to be put among their globals.

    Args:
        exchanged: Gives what stands for an attribute of something from outside.
    """
    functions = {**_FUNCTIONS, "exchanged": exchanged}
    return {f"{_PREFIX}{name}": function for name, function in functions.items()}


_codes: weakref.WeakKeyDictionary[Callable[..., Any], types.CodeType] = weakref.WeakKeyDictionary()


def code_of(fn: Callable[..., Any]) -> types.CodeType:
    """Code of a function as the language means it; defaults and names of outer functions are left to the caller.

    Raises:
        CompilationError: Its source is not available.
    """
    known = _codes.get(fn)
    if known is None:
        known = _codes[fn] = _compile(fn)
    return known


def _own_names(node: ast.FunctionDef) -> set[str]:
    """Parameters, and names that the function or a comprehension in it binds."""
    own = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return own | {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _compile(fn: Callable[..., Any]) -> types.CodeType:
    source = source_of(fn)
    node = copy.deepcopy(source.node)
    node.decorator_list, node.returns = [], None
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        argument.annotation = None
    # Stand-ins that keep the signature; the values are those the original function got.
    nothing = ast.Constant(None)
    node.args.defaults = [ast.copy_location(nothing, default) for default in node.args.defaults]
    node.args.kw_defaults = [default and ast.copy_location(nothing, default) for default in node.args.kw_defaults]
    rewriter = _Rewriter(_own_names(node))
    node.body = [rewriter.visit(statement) for statement in node.body]
    tree = ast.fix_missing_locations(ast.Module([node], []))
    ast.increment_lineno(tree, source.line_offset)
    module = compile(tree, source.file, "exec", dont_inherit=True)
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == node.name)
    names = {"co_qualname": fn.__qualname__} if hasattr(code, "co_qualname") else {}  # Python 3.11
    return code.replace(**names)  # type: ignore[arg-type]
