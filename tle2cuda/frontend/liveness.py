"""Which names of a function are needed where: what loops must carry and what branches must merge."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(slots=True)
class Liveness:
    """Result of `analyse`.

    Attributes:
        after: For each `if` and loop, the names whose values may be read behind it.
        head: For each loop, the names whose values may be read in an iteration before they are assigned,
            or behind the loop.
    """

    after: dict[ast.stmt, Names] = field(default_factory=dict)
    head: dict[ast.stmt, Names] = field(default_factory=dict)


@functools.lru_cache(maxsize=256)
def analyse(function: ast.FunctionDef) -> Liveness:
    """Live names of a function; branches decided while tracing count as taken either way."""
    found = Liveness()
    _block(function.body, _NONE, found)
    return found


def _block(statements: Sequence[ast.stmt], live: Names, found: Liveness) -> Names:
    for statement in reversed(statements):
        live = _statement(statement, live, found)
    return live


def _statement(node: ast.stmt, live: Names, found: Liveness) -> Names:
    match node:
        case ast.Return():
            return used_names(node.value) if node.value else _NONE
        case ast.If():
            found.after[node] = live
            branches = _block(node.body, live, found) | _block(node.orelse, live, found)
            return branches | used_names(node.test)
        case ast.For() | ast.While():
            return _loop(node, live, found)
        case ast.AugAssign():
            return live | used_names(node.value) | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            written = frozenset(assigned_names(targets))
            value = used_names(node.value) if node.value else _NONE
            return (live - written) | value | frozenset().union(*(used_names(t) for t in targets))
        case _:
            return live | used_names(node)


def _loop(node: ast.For | ast.While, live: Names, found: Liveness) -> Names:
    target = frozenset(assigned_names([node.target])) if isinstance(node, ast.For) else _NONE
    test = used_names(node.test) if isinstance(node, ast.While) else _NONE
    found.after[node] = live
    head = live | test
    while True:
        grown = head | (_block(node.body, head, found) - target)
        if grown == head:
            break
        head = grown
    found.head[node] = head
    return head | used_names(node.iter) if isinstance(node, ast.For) else head


def used_names(node: ast.AST) -> Names:
    """Names read anywhere in a node."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def assigned_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Names assigned anywhere in the nodes, each once, in order of appearance."""
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                names.setdefault(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.setdefault(node.name)
                return  # what is assigned in there is not assigned here
            case ast.ListComp() | ast.GeneratorExp():
                for part in (node.elt, *(inner for g in node.generators for inner in (g.iter, *g.ifs))):
                    visit(part)
                return  # the names of its loops end with it
            case ast.alias():
                names.setdefault(node.asname or node.name.partition(".")[0])
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return list(names)


def constexpr_names(nodes: Iterable[ast.AST], is_constexpr: Iterable[str] = ("constexpr",)) -> frozenset[str]:
    """Names whose every assignment in the nodes is annotated constexpr."""
    marks = tuple(is_constexpr)
    annotated: set[str] = set()
    plain: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = ast.unparse(node.annotation).strip("'\"")
            (annotated if text.rpartition(".")[2] in marks else plain).add(node.target.id)
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            plain.add(node.id)
        for child in ast.iter_child_nodes(node):
            visit(child)

    for node in nodes:
        visit(node)
    return frozenset(annotated - plain)
