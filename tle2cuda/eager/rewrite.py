"""The changes without which Python would not mean what the language means.

Everything else of the function's tree stays, with its file, lines and columns, and is compiled by CPython:

- plain assignment turns numbers into run-time scalars (``x: tl.constexpr = ...`` does not);
- `and`, `or` and `not` combine run-time values elementwise instead of asking for their truth;
- `assert` takes tiles; ``.value`` of a constant is the constant; lists are tuples;
- what names from outside have as attributes (``helpers.scale``) is exchanged as those names themselves are, and so are the
  functions, classes and constants that a constant has, which may be such a module;
- loops and branches check the names that they hand on (`scopes`), and what kernels cannot contain is refused where it is
  reached (`syntax`).

What is put in stands on the line of its neighbour, so that a debugger's steps are those of the user's lines.
"""

from __future__ import annotations

import ast
import copy
import types
import weakref
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from tle2cuda.eager import scopes
from tle2cuda.eager.operands import FUNCTIONS
from tle2cuda.eager.syntax import Refusal, first_refused, refused
from tle2cuda.frontend.liveness import analyse, assigned_names, constexpr_names
from tle2cuda.frontend.source import source_of

_PREFIX = "_tle2cuda_"


_LIST_METHODS = ("append", "extend", "insert", "pop")


class _Rewriter(ast.NodeTransformer):
    """Rewrites a function's statements.

    Args:
        function: The function, before any change.
        own: Names that are the function's own; others come from outside.
        newer: It is read by the rules of Triton 3.9.
    """

    def __init__(self, function: ast.FunctionDef, own: Set[str], newer: bool) -> None:
        self.own = own
        self.newer = newer
        self.name = function.name
        self.live = analyse(function)
        self.temporaries = 0
        self.comprehensions = 0
        self.loops: list[str] = []
        self.deciding: list[str] = []
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        texts = {ast.dump(node.value) if node.value else "" for node in returns}
        self.results_differ = newer and len(texts) > 1

    # -- pieces --

    def _temporary(self) -> str:
        self.temporaries += 1
        return f"{_PREFIX}{self.temporaries}"

    def _call(self, name: str, node: ast.AST, *args: ast.expr) -> ast.Call:
        function = ast.copy_location(ast.Name(_PREFIX + name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, list(args), []), node)

    def _load(self, name: str, node: ast.AST) -> ast.expr:
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _value(self, value: Any, node: ast.AST) -> ast.expr:
        return ast.copy_location(ast.Constant(value), node)

    def _store(self, name: str, value: ast.expr, node: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), node)], value), node)

    def _do(self, value: ast.expr, node: ast.AST) -> ast.stmt:
        return ast.copy_location(ast.Expr(value), node)

    def _locals(self, node: ast.AST) -> ast.expr:
        return self._call("locals", node)

    def _refuse(self, refusal: Refusal, node: ast.AST) -> ast.Call:
        return self._call("refuse", node, self._value(refusal[0], node), self._value(refusal[1], node))

    def _site(self, node: ast.expr | ast.stmt) -> tuple[str, int, int]:
        """Tells branches apart."""
        return self.name, node.lineno, node.col_offset

    def _forget(self, name: str, node: ast.AST) -> list[ast.stmt]:
        """A name without a value, whether it has one or not."""
        gone = ast.copy_location(ast.Delete([ast.copy_location(ast.Name(name, ast.Del()), node)]), node)
        return [self._store(name, self._value(None, node), node), gone]

    def visit(self, node: ast.AST) -> Any:
        """Rewrites a node, unless kernels cannot contain it."""
        refusal = refused(node, self.newer)
        if refusal is None:
            return super().visit(node)
        call = self._refuse(refusal, node if hasattr(node, "lineno") else getattr(node, "target", node))
        if isinstance(node, ast.comprehension):
            node.ifs = [call]
            return super().generic_visit(node)
        return self._do(call, node) if isinstance(node, ast.stmt) else call

    # -- assignment --

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        unpacks = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
            target = node.targets[0]
            name = self._value(target.attr, node)
            return self._do(self._call("set_attribute", node, target.value, name, node.value), node)
        node.value = self._call("unpacked" if unpacks else "decay", node, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            assert isinstance(node.target, ast.Attribute)
            name, nothing = self._value(node.target.attr, node), self._value(None, node)
            return self._do(self._call("set_attribute", node, nothing, name, node.value), node)
        load = self._load(node.target.id, node.target)
        result = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], self._call("decay", node, result)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        text = ast.unparse(node.annotation).strip("'\"")
        value = self.visit(node.value)
        # As in Triton, the annotation keeps constants constant and makes no constant of a run-time value.
        keeps = text.rpartition(".")[2] == "constexpr"
        return ast.copy_location(ast.Assign([node.target], value if keeps else self._call("decay", node, value)), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        node.value = self._call("decay", node, node.value)
        return node

    # -- truth --

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        result = node.values[0]
        for right in node.values[1:]:
            result = self._two(node, result, right)
        return result

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return node
        names = self._value(tuple(type(op).__name__ for op in node.ops), node)
        return self._call("compared", node, names, node.left, *node.comparators)

    def _two(self, node: ast.BoolOp, left: ast.expr, right: ast.expr) -> ast.expr:
        """``combine(t, right) if is_tile(t := left) else (t and right)``: the right side of constants stays lazy."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        if self.comprehensions:  # no names can be bound there
            nothing = ast.arguments([], [], None, [], [], None, [])
            return self._call(f"lazy_{word}", node, left, ast.copy_location(ast.Lambda(nothing, right), node))
        name = self._temporary()
        named = ast.copy_location(ast.NamedExpr(ast.copy_location(ast.Name(name, ast.Store()), left), left), left)
        plain = ast.copy_location(ast.BoolOp(node.op, [self._load(name, node), copy.deepcopy(right)]), node)
        combined = self._call(word, node, self._load(name, node), right)
        return ast.copy_location(ast.IfExp(self._call("is_tile", left, named), combined, plain), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._call("not", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        sides = ast.walk(ast.Tuple([node.body, node.orelse], ast.Load()))
        if any(isinstance(inner, ast.NamedExpr) for inner in sides):
            self.generic_visit(node.test)
            text = "`:=` in one side of a conditional expression is not supported in a kernel"
            node.body = node.orelse = self._refuse((text, "assign in a statement of its own"), node)
            return node
        differ = ast.dump(node.body) != ast.dump(node.orelse)
        others = [self._known_side(other) for other in (node.orelse, node.body)]
        self.generic_visit(node)
        if self.comprehensions or not differ:
            return node
        name = self._temporary()
        stored = ast.copy_location(ast.Name(name, ast.Store()), node.test)
        node.test = ast.copy_location(ast.NamedExpr(stored, node.test), node.test)
        site = self._site(node)
        for arm, part in enumerate(("body", "orelse")):
            taken = getattr(node, part)
            facts = (self._value(site, taken), self._value(arm, taken))
            setattr(node, part, self._call("side", taken, self._load(name, taken), taken, *facts, *others[arm]))
        return node

    def _known_side(self, node: ast.expr) -> list[ast.expr]:
        """A side of a conditional expression as a function without arguments, where it is no value of the function's."""
        if not isinstance(node, ast.Constant) and not self._is_from_outside(node):
            return []
        nothing = ast.arguments([], [], None, [], [], None, [])
        return [ast.copy_location(ast.Lambda(nothing, self.visit(copy.deepcopy(node))), node)]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self._call("all", node, node.test)
        return node

    # -- loops --

    def _opened(self, node: ast.For | ast.While, name: str, *args: ast.expr) -> list[ast.stmt]:
        """Statements of a loop whose object is made by the helper `name`; what it loses is forgotten behind it."""
        loop = self._temporary()
        head = self.live.head.get(node, frozenset())
        target = frozenset(assigned_names([node.target])) if isinstance(node, ast.For) else frozenset()
        assigned = assigned_names(node.body)
        handed = tuple(n for n in assigned if n in head and n not in target)
        fixed = tuple(constexpr_names(node.body) & set(handed))
        lost = tuple(n for n in assigned if n in self.live.after.get(node, frozenset()) and n not in target)
        gone = tuple(n for n in target if n in self.live.after.get(node, frozenset()))
        refusal = first_refused(node.body, self.newer)
        facts = (self._value(handed, node), self._value(fixed, node), self._locals(node))
        before = self._store(loop, self._call(name, node, *args, *facts), node)
        self.loops.append(loop)
        node.body = self._statements(node.body)
        self.loops.pop()
        if handed:
            last = node.body[-1]
            carry = ast.copy_location(ast.Attribute(self._load(loop, last), "carry", ast.Load()), last)
            node.body.append(self._do(ast.copy_location(ast.Call(carry, [self._locals(last)], []), last), last))
        after: list[ast.stmt] = []
        for one in (*lost, *gone):
            loses = ast.copy_location(ast.Attribute(self._load(loop, node), "loses", ast.Load()), node)
            question: ast.expr = ast.copy_location(ast.Call(loses, [self._value(one, node)], []), node)
            if one in gone:  # the variable of a loop that counts has no value behind it
                question = ast.copy_location(ast.Attribute(self._load(loop, node), "counted", ast.Load()), node)
            after.append(ast.copy_location(ast.If(question, self._forget(one, node), []), node))
        refusing = [] if refusal is None else [self._do(self._arms_of_loop(loop, refusal, node), node)]
        if isinstance(node, ast.For):
            node.iter = self._load(loop, node)
        else:
            goes_on = ast.copy_location(ast.Attribute(self._load(loop, node), "goes_on", ast.Load()), node)
            node.test = ast.copy_location(ast.Call(goes_on, [self.visit(node.test)], []), node)
        return [before, *refusing, node, *after]

    def _arms_of_loop(self, loop: str, refusal: Refusal, node: ast.AST) -> ast.expr:
        return self._call("refuse_in", node, self._load(loop, node), *(self._value(text, node) for text in refusal))

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            result += made if isinstance(made, list) else [made]
        return result

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        iterable = self.visit(node.iter)
        return self._opened(node, "for", iterable, self._value(not isinstance(node.target, ast.Name), node))

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._opened(node, "while")

    # -- branches --

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        after = self.live.after.get(node, frozenset())
        here, there = ([n for n in assigned_names(arm) if n in after] for arm in (node.body, node.orelse))
        merges = bool(here or there) and not _ends(node.body) and not _ends(node.orelse)
        literals = [_literals(node.body, here), _literals(node.orelse, there)]
        alike = {n for n, value in literals[0].items() if n in literals[1] and repr(value) == repr(literals[1][n])}
        refusal = first_refused([*node.body, *node.orelse], self.newer)
        decides = self.results_differ and any(isinstance(inner, ast.Return) for inner in ast.walk(node))
        node.test = self.visit(node.test)
        test, before = self._temporary(), self._temporary()
        if merges or refusal is not None or decides:
            stored = ast.copy_location(ast.Name(test, ast.Store()), node.test)
            node.test = ast.copy_location(ast.NamedExpr(stored, node.test), node.test)
        if decides:
            self.deciding.append(test)
        if self.loops and any(isinstance(s, ast.Return) for s in (*node.body, *node.orelse)):
            node.test = self._call("leave_by", node.test, node.test, *(self._load(loop, node) for loop in self.loops))
        if refusal is not None:
            node.test = self._call("arms", node.test, node.test, *(self._value(text, node.test) for text in refusal))
        node.body = self._statements(node.body)
        node.orelse = self._statements(node.orelse)
        if not merges:
            return [node]
        sides = ((node.body, here, there, literals[1]), (node.orelse, there, here, literals[0]))
        for number, (arm, own, others, other) in enumerate(sides):
            place = arm[-1] if arm else node.test
            which = (self._value(self._site(node), place), self._value(number, place))
            arm += self._merge(test, before, own, others, alike, other, which, place)
        # A copy: `locals` gives one dict, which its next call brings up to date.
        return [self._store(before, self._call("copied", node, self._locals(node)), node), node]

    def _merge(
        self,
        test: str,
        before: str,
        own: Sequence[str],
        others: Sequence[str],
        alike: Set[str],
        literals: Mapping[str, Any],
        which: tuple[ast.expr, ast.expr],
        place: ast.AST,
    ) -> list[ast.stmt]:
        """The end of an arm: the names that go on from here.

        `literals` are those to which the other one assigns constants; `which` says of which `if` and which arm it is.
        """
        names = dict.fromkeys(own, "here") | dict.fromkeys(others, "there")
        names |= {n: "alike" if n in alike else "both" for n in own if n in others}
        keys: list[ast.expr | None] = [self._value(n, place) for n in names]
        words = [self._value(word, place) for word in names.values()]
        table = ast.copy_location(ast.Dict(keys, words), place)
        found = self._temporary()
        known: list[ast.expr | None] = [self._value(n, place) for n in literals]
        constants = ast.Dict(known, [self._value(value, place) for value in literals.values()])
        facts = (self._load(before, place), self._locals(place), table, ast.copy_location(constants, place))
        call = self._call("merged", place, self._load(test, place), *facts, *which)
        choices: list[ast.stmt] = []
        for n in names:
            holds = ast.Compare(self._value(n, place), [ast.In()], [self._load(found, place)])
            item = ast.Subscript(self._load(found, place), self._value(n, place), ast.Load())
            taken = self._store(n, ast.copy_location(item, place), place)
            choices.append(
                ast.copy_location(ast.If(ast.copy_location(holds, place), [taken], self._forget(n, place)), place)
            )
        nothing = ast.Compare(self._load(found, place), [ast.IsNot()], [self._value(None, place)])
        condition = ast.copy_location(nothing, place)
        return [self._store(found, call, place), ast.copy_location(ast.If(condition, choices, []), place)]

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        self.generic_visit(node)
        if node.value is not None and self.deciding:
            tests = (self._load(name, node) for name in self.deciding)
            node.value = self._call("result", node, node.value, *tests)
        if not self.loops:
            return [node]
        return [self._do(self._call("leave", node, *(self._load(loop, node) for loop in self.loops)), node), node]

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        text = "" if node.exc is None else ast.unparse(node.exc)
        return self._do(self._call("refuse_raise", node, self._value(text, node)), node)

    # -- the rest --

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        from_outside = isinstance(node.ctx, ast.Load) and self._is_from_outside(node)
        self.generic_visit(node)
        if from_outside and node.attr != "value":
            return self._call("exchanged", node, node)
        if node.attr == "value" and isinstance(node.ctx, ast.Load):
            return self._call("value", node, node.value)
        if not isinstance(node.ctx, ast.Load) or node.attr in _LIST_METHODS:
            return node
        return self._call("member", node, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _LIST_METHODS:
            function.value = self._call("no_list", function.value, function.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        key = self._key(node.slice)
        return self._call("item", node, self.visit(node.value), key)

    def _key(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Slice):
            bounds = (
                self.visit(b) if b is not None else self._value(None, node) for b in (node.lower, node.upper, node.step)
            )
            return self._call("slice", node, *bounds)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._key(part) for part in node.elts], ast.Load()), node)
        made: ast.expr = self.visit(node)
        return made

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Tuple(node.elts, node.ctx), node)

    def _is_from_outside(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.own

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        self.comprehensions += 1
        self.generic_visit(node)
        self.comprehensions -= 1
        for part in node.generators:
            part.iter = self._call("unrolled", part.iter, part.iter)
            part.ifs = [self._call("kept", test, test) for test in part.ifs]
        return self._call("tuple", node, node)

    visit_ListComp = visit_GeneratorExp = _comprehension


def _ends(block: Sequence[ast.stmt]) -> bool:
    """Whether nothing behind a block is reached from it."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _literals(block: Sequence[ast.stmt], names: Sequence[str]) -> dict[str, Any]:
    """The names to which a block assigns a constant that is written out, and nothing else."""
    stored = [n.id for s in block for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    found = {}
    for statement in block:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not isinstance(target, ast.Name):
            continue
        if isinstance(statement.value, ast.Constant) and target.id in names and stored.count(target.id) == 1:
            found[target.id] = statement.value.value
    return found


_SCOPES: dict[str, Callable[..., Any]] = {
    "for": scopes.For,
    "while": scopes.While,
    "leave": scopes.leave,
    "leave_by": scopes.leave_by,
    "unrolled": scopes.unrolled,
    "arms": scopes.arms,
    "merged": scopes.merged,
    "side": scopes.side,
    "result": scopes.result,
    "refuse": scopes.refuse,
    "refuse_in": scopes.refuse_in,
    "refuse_raise": scopes.refuse_raise,
    "set_attribute": scopes.set_attribute,
    "locals": locals,
    "copied": dict,
}


def helpers(exchanged: Callable[[Any], Any], member: Callable[[Any], Any]) -> dict[str, Any]:
    """What rewritten functions call, to be put among their globals.

    Args:
        exchanged: Gives what stands for an attribute of something from outside.
        member: The same for an attribute of a value, which may be a constant from outside.
    """
    functions = {**FUNCTIONS, **_SCOPES, "exchanged": exchanged, "member": member}
    return {f"{_PREFIX}{name}": function for name, function in functions.items()}


_codes: dict[bool, weakref.WeakKeyDictionary[Callable[..., Any], types.CodeType]] = {
    newer: weakref.WeakKeyDictionary() for newer in (False, True)
}


def code_of(fn: Callable[..., Any], newer: bool = False) -> types.CodeType:
    """Code of a function as the language means it; defaults and names of outer functions are left to the caller.

    Args:
        fn: The function.
        newer: It is read by the rules of Triton 3.9.

    Raises:
        CompilationError: Its source is not available.
    """
    known = _codes[newer].get(fn)
    if known is None:
        known = _codes[newer][fn] = _compile(fn, newer)
    return known


def _own_names(node: ast.FunctionDef) -> set[str]:
    """Parameters, and names that the function or a comprehension in it binds."""
    own = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    return own | {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _compile(fn: Callable[..., Any], newer: bool) -> types.CodeType:
    source = source_of(fn)
    node = copy.deepcopy(source.node)
    node.decorator_list, node.returns = [], None
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    # Stand-ins that keep the signature; the values are those the original function got.
    nothing = ast.Constant(None)
    arguments.defaults = [ast.copy_location(nothing, default) for default in arguments.defaults]
    arguments.kw_defaults = [default and ast.copy_location(nothing, default) for default in arguments.kw_defaults]
    rewriter = _Rewriter(node, _own_names(node), newer)
    first = node.body[0]
    body = rewriter._statements(node.body)
    undecided = [rewriter._store(name, ast.copy_location(ast.Constant(None), first), first) for name in rewriter.deciding]
    node.body = [*undecided, *body]
    tree = ast.fix_missing_locations(ast.Module([node], []))
    ast.increment_lineno(tree, source.line_offset)
    module = compile(tree, source.file, "exec", dont_inherit=True)
    code = next(c for c in module.co_consts if isinstance(c, types.CodeType) and c.co_name == node.name)
    names = {"co_qualname": fn.__qualname__} if hasattr(code, "co_qualname") else {}  # Python 3.11
    return code.replace(**names)  # type: ignore[arg-type]
