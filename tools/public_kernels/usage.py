"""What the parameters of a jit function are used as: pointers, integers that are loaded, flags, sizes, dtypes.

Read from the syntax tree without regard to control flow, so all of it is a guess; a compiler says whether it holds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.public_kernels.sources import Module, Scope, Sources, dotted

# Functions of the language whose first argument is an address; `descriptor.load(...)` has it in front of the dot.
_ACCESSES = {"load", "store", "make_block_ptr", "make_tensor_descriptor", "_experimental_make_tensor_descriptor"}
_SAME = {
    "multiple_of",
    "max_contiguous",
    "max_constancy",
    "cast",
    "broadcast_to",
    "advance",
    "expand_dims",
    "make_block_ptr",
}
_SAME |= {"to", "reshape", "view", "trans", "make_tensor_descriptor"}
_INTEGER_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_NUMBER = re.compile(r"stride|size|offset|(^|_)(n|num|len|idx|index|start|end|dim)(_|$)|^[A-Z]$", re.IGNORECASE)
_NUMBER_TYPE = re.compile(r"tl\.(int|uint|float|bfloat)(\d+)")
_SHORT = {"int": "i", "uint": "u", "float": "fp", "bfloat": "bf"}
_DEPTH = 12
_HELPERS = 3


@dataclass(slots=True)
class Usage:
    """Parameters of a jit function by what they are used as.

    Attributes:
        parameters: All, in order.
        fixed: Constexpr ones.
        pointers: Those that are accessed.
        descriptors: Tensor descriptors, with the rank of their block where an access shows it.
        integers: Pointers whose contents become addresses, bounds or operands of bitwise operators.
        masks: Pointers whose contents are used as masks.
        flags: Constexpr ones that are only asked for truth.
        dtypes: Constexpr ones that stand where a dtype does.
        texts: Strings that a constexpr parameter is compared with.
        defaults: Literal defaults.
        annotated: Types that annotations name, such as i64.
    """

    parameters: list[str] = field(default_factory=list)
    fixed: set[str] = field(default_factory=set)
    pointers: set[str] = field(default_factory=set)
    descriptors: dict[str, int] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)
    masks: set[str] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)
    texts: dict[str, list[str]] = field(default_factory=dict)
    defaults: dict[str, object] = field(default_factory=dict)
    annotated: dict[str, str] = field(default_factory=dict)


class Flow:
    """Where values of a jit function come from.

    Args:
        sources: The package, for the jit functions that this one calls.
        module: Where the function stands.
        node: The function.
        scope: Bindings of the functions around it.
        depth: How many calls are followed.
    """

    def __init__(
        self, sources: Sources, module: Module, node: ast.FunctionDef, scope: Scope | None, depth: int = _HELPERS
    ) -> None:
        self._sources, self._module, self._node, self._scope, self._depth = sources, module, node, scope, depth
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.parameters = [a.arg for a in arguments]
        self._made: dict[str, list[ast.expr]] = {}
        for inner in ast.walk(node):
            self._note(inner)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self._made.setdefault(name, []).append(ast.BinOp(ast.Name(name, ast.Load()), op, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.For(target=target, iter=ast.Call(args=arguments)):
                for argument in arguments:
                    self._bind(target, argument)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._made.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple):
            parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
            for i, inner in enumerate(target.elts):
                self._bind(inner, parts[i] if parts else value)

    # -- where a value comes from --

    def address(self, node: ast.expr | None, seen: frozenset[str] = frozenset()) -> set[str]:
        """Parameters that `node` may be an address in."""
        match node:
            case ast.Name(id=name):
                if name in seen or len(seen) > _DEPTH:
                    return set()
                found = {name} if name in self.parameters else set()
                for value in self._made.get(name, ()):
                    found |= self.address(value, seen | {name})
                return found
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                sides = [found for side in (left, right) if (found := self.address(side, seen))]
                likely = [found for found in sides if not all(_NUMBER.search(name) for name in found)]
                return next(iter(likely or sides), set())
            case ast.IfExp(body=body, orelse=other):
                return self.address(body, seen) | self.address(other, seen)
            case ast.Call(func=ast.Attribute(attr=name, value=owner), args=arguments):
                if name not in _SAME:
                    return set()
                inner = self._first(node, "base", "input", "x", "ptr")
                return self.address(owner, seen) or (self.address(inner, seen) if arguments or inner else set())
        return set()

    def loaded(self, node: ast.AST | None, seen: frozenset[str] = frozenset()) -> set[str]:
        """Parameters whose contents `node` is computed from; not those behind an address that it loads from."""
        match node:
            case None:
                return set()
            case ast.Name(id=name):
                if name in seen or len(seen) > _DEPTH:
                    return set()
                return set().union(*(self.loaded(value, seen | {name}) for value in self._made.get(name, ())))
            case ast.Call() if _last(node) in ("load", "atomic_add", "atomic_cas", "atomic_xchg"):
                return self.address(self._first(node, "pointer", "ptr"), seen)
            case ast.Compare() | ast.Subscript():
                children = [node.value] if isinstance(node, ast.Subscript) else []
                return set().union(*(self.loaded(child, seen) for child in children))
        return set().union(*(self.loaded(child, seen) for child in ast.iter_child_nodes(node)))

    def named(self, node: ast.AST) -> set[str]:
        """Scalar parameters that `node` is computed from directly."""
        found = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                found |= {inner.id} & set(self.parameters)
        return found

    def _first(self, call: ast.Call, *names: str) -> ast.expr | None:
        if call.args:
            return call.args[0]
        return next((k.value for k in call.keywords if k.arg in names), None)

    # -- what parameters are --

    def usage(self) -> Usage:
        """All of it."""
        found = Usage(self.parameters)
        self._annotated(found)
        for node in ast.walk(self._node):
            match node:
                case ast.Call():
                    self._call(node, found)
                case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _INTEGER_OPERATORS):
                    found.integers |= self.loaded(left) | self.loaded(right)
                case ast.UnaryOp(op=ast.Invert(), operand=operand):
                    found.masks |= self.loaded(operand)
                case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="dtype"), attr="element_ty"):
                    found.pointers |= {name} & set(self.parameters)
                case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str() as text)]):
                    found.texts.setdefault(name, []).append(text)
                case ast.Compare(left=ast.Name(id=name), comparators=[ast.Tuple(elts=parts) | ast.List(elts=parts)]):
                    texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
                    found.texts.setdefault(name, []).extend(texts)
        found.texts = {name: texts for name, texts in found.texts.items() if texts}
        found.flags = self._flags(found.fixed)
        found.pointers -= found.fixed | set(found.descriptors)
        found.integers &= found.pointers
        found.masks &= found.pointers - found.integers
        return found

    def _annotated(self, found: Usage) -> None:
        arguments = self._node.args
        listed = [*arguments.posonlyargs, *arguments.args]
        pairs = [*zip(reversed(listed), reversed(arguments.defaults), strict=False)]
        pairs += [p for p in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if p[1] is not None]
        for argument, default in pairs:
            try:
                found.defaults[argument.arg] = ast.literal_eval(default)
            except (ValueError, SyntaxError):
                continue
        for argument in (*listed, *arguments.kwonlyargs):
            text = ast.unparse(argument.annotation) if argument.annotation is not None else ""
            if "constexpr" in text:
                found.fixed.add(argument.arg)
            elif match := _NUMBER_TYPE.fullmatch(text):
                found.annotated[argument.arg] = f"{_SHORT[match[1]]}{match[2]}"

    def _call(self, call: ast.Call, found: Usage) -> None:
        name = _last(call)
        self._dtypes(call, found)
        if (
            isinstance(call.func, ast.Attribute)
            and name in ("load", "store", "gather", "scatter")
            and self._is_descriptor(call)
        ):
            self._descriptor(call, found)
            return
        if name in _ACCESSES or name.startswith("atomic_"):
            place = self._first(call, "pointer", "ptr", "base")
            found.pointers |= self.address(place)
            if place is not None:
                found.integers |= self.loaded(place)
            for keyword in call.keywords:
                if keyword.arg == "mask":
                    found.masks |= self.loaded(keyword.value)
                elif keyword.arg in ("offsets", "shape", "strides"):
                    found.integers |= self.loaded(keyword.value)
        elif name in ("range", "static_range"):
            for argument in call.args:
                found.integers |= self.loaded(argument)
        elif self._depth:
            self._helper(call, found)

    def _is_descriptor(self, call: ast.Call) -> bool:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        return isinstance(owner, ast.Name) and owner.id in self.parameters

    def _descriptor(self, call: ast.Call, found: Usage) -> None:
        assert isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        offsets = self._first(call, "offsets", "coords")
        rank = len(offsets.elts) if isinstance(offsets, (ast.List, ast.Tuple)) else 2
        found.descriptors[call.func.value.id] = rank

    def _dtypes(self, call: ast.Call, found: Usage) -> None:
        given = [k.value for k in call.keywords if k.arg in ("dtype", "out_dtype")]
        name = _last(call)
        if name in ("to", "cast", "full", "zeros"):
            given += call.args[{"to": 0, "cast": 1, "full": 2, "zeros": 1}[name] :][:1]
        for value in given:
            if isinstance(value, ast.Name) and value.id in self.parameters:
                found.dtypes.add(value.id)

    def _helper(self, call: ast.Call, found: Usage) -> None:
        """What a jit function that is called does with its arguments."""
        path = dotted(call.func)
        target = self._sources.resolve_dotted(self._module, path, self._scope) if path else None
        if target is None or target.kind != "kernel" or target.module is None or target.node is self._node:
            return
        assert isinstance(target.node, ast.FunctionDef)
        inner = Flow(self._sources, target.module, target.node, None, self._depth - 1).usage()
        pairs = [*zip(inner.parameters, call.args, strict=False)]
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
        for name, value in pairs:
            if name in inner.pointers:
                roots = self.address(value)
                found.pointers |= roots
                found.integers |= self.loaded(value) | (roots if name in inner.integers else set())
            if isinstance(value, ast.Name) and value.id in self.parameters:
                if name in inner.descriptors:
                    found.descriptors[value.id] = inner.descriptors[name]
                if name in inner.dtypes:
                    found.dtypes.add(value.id)
                if name in inner.texts:
                    found.texts.setdefault(value.id, []).extend(inner.texts[name])

    def _flags(self, fixed: set[str]) -> set[str]:
        asked: set[str] = set()
        other: set[str] = set()
        conditions = {id(part) for test in _tests(self._node) for part in _truths(test)}
        for inner in ast.walk(self._node):
            if isinstance(inner, ast.Name) and inner.id in fixed and isinstance(inner.ctx, ast.Load):
                (asked if id(inner) in conditions else other).add(inner.id)
        return asked - other


def _tests(node: ast.AST) -> Iterator[ast.expr]:
    for inner in ast.walk(node):
        if isinstance(inner, (ast.If, ast.IfExp, ast.While, ast.Assert)):
            yield inner.test
        elif isinstance(inner, ast.Call) and _last(inner) == "static_assert" and inner.args:
            yield inner.args[0]


def _truths(test: ast.expr) -> Iterator[ast.expr]:
    """The names whose truth a condition asks for."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _truths(value)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _truths(operand)
        case ast.Compare(left=left, comparators=[ast.Constant(value=bool())]):
            yield left
        case ast.Name():
            yield test


def _last(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
