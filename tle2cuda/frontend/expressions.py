"""Expressions: compile-time ones are computed by Python, the rest is traced by the language's functions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any

from tle2cuda.errors import (
    CompilationError,
    ConstexprRequired,
    InvalidType,
    KernelError,
    UndefinedName,
    UnsupportedSyntax,
)
from tle2cuda.frontend.aggregates import Aggregate, BoundMethod, bound_member
from tle2cuda.frontend.names import device_function, translate
from tle2cuda.frontend.scope import Scope, foreign_error, located
from tle2cuda.frontend.unsupported import unsupported
from tle2cuda.frontend.values import describe_value, is_handle, is_static, wrap
from tle2cuda.ir.builder import reads_3_9, warn
from tle2cuda.near_names import did_you_mean
from tle2cuda.ops.compare import condition, logical_and, logical_not, logical_or
from tle2cuda.ops.compound import Compound
from tle2cuda.ops.core import constexpr, tensor, unwrap

BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
    ast.LShift: ("<<", operator.lshift),
    ast.RShift: (">>", operator.rshift),
    ast.BitAnd: ("&", operator.and_),
    ast.BitOr: ("|", operator.or_),
    ast.BitXor: ("^", operator.xor),
    ast.MatMult: ("@", operator.matmul),
}
_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("-", operator.neg),
    ast.UAdd: ("+", operator.pos),
    ast.Invert: ("~", operator.invert),
}
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}
_LARGEST_SHIFT_OR_POWER = 4096


class Expressions(Scope):
    """Evaluates expression nodes."""

    def call(self, node: ast.Call) -> Any:
        """Evaluates a call (in `Calls`)."""
        raise NotImplementedError

    def dynamic_ternary(self, node: ast.IfExp, test: tensor) -> Any:
        """Evaluates a conditional expression with a run-time condition (in `Branches`)."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr) -> Any:
        """Value of an expression."""
        with self.at(node):
            match node:
                case ast.Constant():
                    return self._constant(node)
                case ast.Name():
                    return self.read(node.id)
                case ast.BinOp():
                    return self.binary(node, node.op, node.left, node.right)
                case ast.UnaryOp():
                    return self._unary(node)
                case ast.BoolOp():
                    return self._bool_op(node)
                case ast.Compare():
                    return self._compare(node)
                case ast.IfExp():
                    return self._ternary(node)
                case ast.Call():
                    return self.call(node)
                case ast.Attribute():
                    return self._attribute(node)
                case ast.Subscript():
                    return self._subscript(node)
                case ast.Tuple() | ast.List():
                    return tuple(self.elements(node.elts))
                case ast.JoinedStr():
                    return constexpr("".join(self._string_part(part) for part in node.values))
                case ast.ListComp() | ast.GeneratorExp():
                    return self.comprehension(node)
                case ast.NamedExpr() if reads_3_9():
                    return self.named(node)
            raise unsupported(node, self.span(node))

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        """Evaluates a comprehension (in `FunctionTracer`)."""
        raise NotImplementedError

    def named(self, node: ast.NamedExpr) -> Any:
        """Evaluates ``name := value`` (in `FunctionTracer`)."""
        raise NotImplementedError

    def elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Values of a list of expressions; ``*tuple`` is expanded."""
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value)
                if not isinstance(value, tuple):
                    raise InvalidType(
                        f"`*` needs a tuple, got {describe_value(value)}",
                        self.span(node),
                        help="pass a tuple",
                    )
                values += value
            else:
                values.append(self.evaluate(node))
        return values

    def _constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, (bytes, complex)):
            raise UnsupportedSyntax(f"a constant of type {type(node.value).__name__} is not supported in a kernel")
        return node.value if node.value is Ellipsis else constexpr(node.value)

    # -- operators --

    def binary(self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr) -> Any:
        """``left op right``."""
        a, b = self.evaluate(left), self.evaluate(right)
        symbol, function = BINARY[type(op)]
        return self.apply(node, symbol, function, [(left, a), (right, b)])

    def apply(
        self,
        node: ast.AST,
        symbol: str,
        function: Callable[..., Any],
        operands: Sequence[tuple[ast.expr, Any]],
    ) -> Any:
        """Applies an operator to evaluated operands; errors show what the operands are."""
        values = [value for _, value in operands]
        span = self.span(node)
        if all(is_static(value) for value in values):
            return self._fold(symbol, function, values)
        with self.builder.at(span):
            try:
                if any(isinstance(value, tuple) for value in values):
                    return self._tuple_operator(symbol, function, values)
                self._check_operands(symbol, values)
                return function(*values)
            except KernelError as error:
                raise located(error, span, self.operand_facts(operands)) from error.__cause__
            except TypeError as error:
                kinds = " and ".join(describe_value(value) for value in values)
                raise InvalidType(f"`{symbol}` does not work on {kinds}", span, self.operand_facts(operands)) from error

    def _check_operands(self, symbol: str, values: Sequence[Any]) -> None:
        for value in values:
            if isinstance(value, tensor) or (is_static(value) and isinstance(unwrap(value), (bool, int, float))):
                continue
            if unwrap(value) is None and symbol in ("==", "!="):
                continue
            raise InvalidType(
                f"`{symbol}` does not work on {describe_value(value)}",
                help="test it with `is None` first" if unwrap(value) is None else "",
            )

    def _tuple_operator(self, symbol: str, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        if symbol == "+" and all(isinstance(value, tuple) for value in values):
            return tuple(values[0]) + tuple(values[1])
        if symbol == "*" and any(is_static(value) and isinstance(unwrap(value), int) for value in values):
            return function(*(unwrap(value) if is_static(value) else value for value in values))
        raise InvalidType(f"`{symbol}` does not work on {' and '.join(describe_value(v) for v in values)}")

    def _fold(self, symbol: str, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Python's own operator on compile-time values."""
        plain = [unwrap(value) for value in values]
        if symbol in ("<<", "**") and isinstance(plain[1], int) and abs(plain[1]) > _LARGEST_SHIFT_OR_POWER:
            raise CompilationError(f"`{symbol}` by {plain[1]} is too large for a compile-time computation")
        try:
            return wrap(function(*plain))
        except KernelError:
            raise
        except Exception as error:
            shown = f" {symbol} ".join(repr(p) for p in plain) if len(plain) == 2 else f"{symbol}{plain[0]!r}"
            raise foreign_error(shown, error, self.builder.span, ours=False) from error

    def _unary(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            if is_static(value):
                return constexpr(not self.truth(value))
            return self.apply(node, "not", logical_not, [(node.operand, value)])
        symbol, function = _UNARY[type(node.op)]
        return self.apply(node, symbol, function, [(node.operand, value)])

    def _bool_op(self, node: ast.BoolOp) -> Any:
        """`and`/`or`: compile-time operands short-circuit or drop out, run-time ones are all evaluated."""
        is_and = isinstance(node.op, ast.And)
        combine = logical_and if is_and else logical_or
        dynamic: tuple[ast.expr, Any] | None = None
        last: Any = constexpr(is_and)
        for operand in node.values:
            value = self.evaluate(operand)
            if is_static(value):
                if self.truth(value) != is_and:
                    return value
                last = value
            elif dynamic is None:
                dynamic = (operand, value)
            else:
                symbol = "and" if is_and else "or"
                dynamic = (node, self.apply(node, symbol, combine, [dynamic, (operand, value)]))
        return last if dynamic is None else dynamic[1]

    def truth(self, value: Any) -> bool:
        """Truth of a compile-time value."""
        try:
            return bool(unwrap(value))
        except Exception as error:
            raise foreign_error("bool()", error, self.builder.span, ours=False) from error

    def _compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 and reads_3_9():
            return self._chain(node)
        if len(node.ops) > 1:
            parts = [node.left, *node.comparators]
            texts = [self.span(part).text() for part in parts]
            symbols = [_COMPARE[type(op)][0] if type(op) in _COMPARE else "in" for op in node.ops]
            split = [f"({a} {s} {b})" for a, s, b in zip(texts, symbols, texts[1:], strict=False)]
            raise UnsupportedSyntax(
                "a chained comparison is not supported in a kernel",
                help=f'write {" & ".join(split)}, or read the kernel by the rules of Triton 3.9 (language="3.9")',
            )
        a, b = self.evaluate(node.left), self.evaluate(node.comparators[0])
        return self._compare_two(node, node.ops[0], (node.left, a), (node.comparators[0], b))

    def _chain(self, node: ast.Compare) -> Any:
        """``a < b < c``: each operand is evaluated once, the comparisons are combined as `and` does."""
        values = [self.evaluate(operand) for operand in (node.left, *node.comparators)]
        operands = list(zip([node.left, *node.comparators], values, strict=True))
        result: Any = constexpr(True)
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            part = self._compare_two(node, op, left, right)
            if is_static(part):
                if not self.truth(part):
                    return part
            elif is_static(result):
                result = part
            else:
                result = self.apply(node, "and", logical_and, [(node, result), (node, part)])
        return result

    def _compare_two(
        self, node: ast.Compare, op: ast.cmpop, left: tuple[ast.expr, Any], right: tuple[ast.expr, Any]
    ) -> Any:
        (_, a), (_, b) = left, right
        if isinstance(op, (ast.Is, ast.IsNot)):
            return constexpr(self._is_same(a, b) != isinstance(op, ast.IsNot))
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._contains(a, b, isinstance(op, ast.NotIn))
        symbol, function = _COMPARE[type(op)]
        return self.apply(node, symbol, function, [left, right])

    def _is_same(self, a: Any, b: Any) -> bool:
        if is_static(a) and is_static(b):
            x, y = unwrap(a), unwrap(b)
            if isinstance(x, (int, float, str)) and not isinstance(x, bool):
                return type(x) is type(y) and bool(x == y)
            return x is y
        if any(is_static(v) and unwrap(v) is None for v in (a, b)):
            return False
        raise InvalidType(f"`is` compares with None only, got {describe_value(a)} and {describe_value(b)}", help="use ==")

    def _contains(self, item: Any, container: Any, negate: bool) -> Any:
        if not (is_static(item) and is_static(container)):
            raise InvalidType("`in` works on compile-time values only", help="compare with each element, combined with |")
        return self._fold("in", lambda a, b: (a in b) != negate, [item, container])

    # -- conditions --

    def condition(self, node: ast.expr, statement: str) -> bool | tensor:
        """A condition: its truth when known now, else a bool scalar."""
        value = self.evaluate(node)
        if is_static(value):
            with self.at(node):
                return self.truth(value)
        if not isinstance(value, tensor):
            raise InvalidType(
                f"{statement}: {describe_value(value)} is no condition",
                self.span(node),
                help="compare it first",
            )
        with self.at(node):
            return condition(value, statement)

    def _ternary(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test, "`if` expression")
        if isinstance(test, bool):
            return self.evaluate(node.body if test else node.orelse)
        return self.dynamic_ternary(node, test)

    # -- attributes, subscripts, strings --

    def _attribute(self, node: ast.Attribute) -> Any:
        base = self.evaluate(node.value)
        name = node.attr
        if isinstance(base, constexpr):
            if name == "value":
                return base
            base = unwrap(base)
        if isinstance(base, Aggregate):
            return self._member(node, base)
        # A constant that is kept as a plain object still answers `.value` with itself.
        if name == "value" and not is_handle(base) and not hasattr(base, name):
            return base
        try:
            value = getattr(base, name)
        except AttributeError as error:
            raise self._no_attribute(node, base) from error
        except KernelError:
            raise
        except Exception as error:
            raise foreign_error(f"attribute {name}", error, self.span(node), ours=is_handle(base)) from error
        if is_handle(base) and name == "value":
            raise self._no_attribute(node, base)
        return wrap(translate(value))

    def _member(self, node: ast.Attribute, base: Aggregate) -> Any:
        """A field of an aggregate, or a method of it; properties are computed."""
        try:
            member = bound_member(base, node.attr)
        except AttributeError:
            names = [n for n in (*base._fields_, *vars(base._class_.plain)) if not n.startswith("__")]
            what = f"`{self.span(node.value).text()}` ({base._class_.name})"
            raise UndefinedName(f"{what} has no attribute `{node.attr}`", help=did_you_mean(node.attr, names)) from None
        if not isinstance(member, BoundMethod):
            return wrap(translate(member))
        if isinstance(member.function, property):
            return self.call_method(node, BoundMethod(base, node.attr, member.function.fget), [], {})
        if callable(member.function) or device_function(member.function) is not None:
            return member
        return wrap(translate(member.function))

    def call_method(self, node: ast.expr, method: BoundMethod, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Calls a method of an aggregate (in `Calls`)."""
        raise NotImplementedError

    def _no_attribute(self, node: ast.Attribute, base: Any) -> CompilationError:
        text = self.span(node.value).text()
        if isinstance(base, tuple) and node.attr in ("append", "extend", "insert", "pop"):
            return UnsupportedSyntax(
                "a list cannot change in a kernel",
                help=f"build a new tuple: {text} = {text} + (value,), in a loop only over tl.static_range",
            )
        if is_handle(base) or isinstance(base, tuple):
            what = f"`{text}` ({describe_value(base)})"
        else:
            what = f"`{text}`"
        if isinstance(base, (bool, int, float)) and hasattr(tensor, node.attr):
            return UndefinedName(
                f"`{text}` is the constant {base!r} here, which has no attribute `{node.attr}`",
                help=f"integer arguments equal to 1 are compiled in as constants: list `{text}` in "
                "do_not_specialize, or use the function instead of the method, such as tl.cast(x, tl.int64)",
            )
        if is_handle(base) and node.attr == "value":
            return UndefinedName(f"{what} has no attribute `value`", help=f"only constants have one; write {text}")
        names = [n for n in getattr(base, "__all__", dir(base)) if not n.startswith("_")]
        known = f"it has {', '.join(names)}" if isinstance(base, Compound) else ""
        help = did_you_mean(node.attr, names) or known
        if getattr(base, "__name__", "") == "tle2cuda.language" and hasattr(base.extra.libdevice, node.attr):
            help = f"it is a function of CUDA's: {text}.extra.libdevice.{node.attr}"
        return UndefinedName(f"{what} has no attribute `{node.attr}`", help=help)

    def _subscript(self, node: ast.Subscript) -> Any:
        base = self.evaluate(node.value)
        key = self._key(node.slice)
        span = self.span(node)
        if isinstance(base, tuple):
            return self._tuple_item(base, key)
        plain = unwrap(base) if is_static(base) else base
        if device_function(plain) is not None:
            raise UnsupportedSyntax("a kernel cannot be launched from a kernel", help="call it as a function")
        try:
            with self.builder.at(span):
                return wrap(translate(plain[key]))
        except KernelError as error:
            raise located(error, span, self.operand_facts([(node.value, base)])) from error.__cause__
        except Exception as error:
            what = self.span(node).text()
            raise foreign_error(what, error, span, ours=False) from error

    def _key(self, node: ast.expr) -> Any:
        """A subscript: constants unwrapped, slices with compile-time bounds."""
        if isinstance(node, ast.Tuple):
            return tuple(self._key(element) for element in node.elts)
        if isinstance(node, ast.Slice):
            bounds = []
            for bound in (node.lower, node.upper, node.step):
                value = None if bound is None else self.evaluate(bound)
                if not is_static(value):
                    assert bound is not None
                    raise UnsupportedSyntax(
                        "slicing with run-time bounds is not supported in a kernel",
                        self.span(bound),
                        help="load the part that is needed: tl.load(pointer + start + tl.arange(0, SIZE))",
                    )
                bounds.append(unwrap(value))
            return slice(*bounds)
        value = self.evaluate(node)
        return unwrap(value) if is_static(value) else value

    def _tuple_item(self, base: tuple[Any, ...], key: Any) -> Any:
        if not isinstance(key, (int, slice)):
            if isinstance(key, tensor):
                raise ConstexprRequired(
                    f"a tuple is indexed by a constant, got a run-time value ({describe_value(key)})",
                    help="loop over tl.static_range, or keep the elements in a buffer (tle.gpu.alloc)",
                )
            raise InvalidType(f"a tuple is indexed by an int or a slice, got {key!r}")
        try:
            return base[key]
        except IndexError:
            raise InvalidType(f"index {key} is outside a tuple of {len(base)} elements") from None

    def _string_part(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant):
            return str(node.value)
        assert isinstance(node, ast.FormattedValue)
        value = self.evaluate(node.value)
        if not is_static(value):
            shown = describe_value(value)
            with self.at(node.value):
                warn(
                    f"an f-string is made at compile time: `{self.span(node.value).text()}` becomes {shown!r}, its type; "
                    "tl.device_print prints run-time values"
                )
            return shown
        value = unwrap(value)
        if node.conversion != -1:
            value = _CONVERSIONS[chr(node.conversion)](value)
        spec = "" if node.format_spec is None else unwrap(self.evaluate(node.format_spec))
        try:
            return format(value, spec)
        except (TypeError, ValueError) as error:
            raise foreign_error("f-string", error, self.span(node), ours=False) from error
