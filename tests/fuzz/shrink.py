"""Makes a failing program small: statements deleted, expressions cut down, tiles and dtypes made simple."""

from __future__ import annotations

import ast
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator

from tests.fuzz.generate import Program

Fails = Callable[[Program], bool]
Step = Callable[[], Program | None]
Simpler = Callable[[Program], Iterator[Step]]


def shrink(program: Program, fails: Fails, budget: int = 600) -> Program:
    """The smallest program found that still fails.

    Args:
        program: A program that fails.
        fails: Whether a program fails in the same way; invalid ones do not.
        budget: Programs to try.
    """
    before = None
    while program != before and budget > 0:
        before = program
        for simpler in (_smaller_sizes, _without_statements, _simpler_expressions):
            program, budget = _one_pass(program, simpler, fails, budget)
    return program


def _one_pass(program: Program, simpler: Simpler, fails: Fails, budget: int) -> tuple[Program, int]:
    """Takes every step of a kind that keeps the failure; steps that were refused once are not tried again."""
    position = 0
    while budget > 0:
        step = next(itertools.islice(simpler(program), position, None), None)
        if step is None:
            break
        candidate = step()
        if candidate is None or candidate == program:
            position += 1
            continue
        budget -= 1
        if fails(candidate):
            program = candidate
        else:
            position += 1
    return program, budget


def _smaller_sizes(program: Program) -> Iterator[Step]:
    m, n = program.M, program.N
    for rows, columns in ((1, 2), (1, n), (m, 2), (m // 2, n), (m, n // 2)):
        if rows >= 1 and columns >= 2 and rows * columns < m * n:
            yield functools.partial(dataclasses.replace, program, M=rows, N=columns)
    if program.num_warps > 1:
        yield functools.partial(dataclasses.replace, program, num_warps=1)


def _edited(program: Program, edit: Callable[[ast.Module], bool]) -> Program | None:
    """The program with its tree edited in place; None when that makes no sense."""
    tree = ast.parse(program.text)
    try:
        if not edit(tree):
            return None
        return dataclasses.replace(program, text=ast.unparse(tree) + "\n")
    except (AttributeError, IndexError, SyntaxError, ValueError):
        return None


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _without_statements(program: Program) -> Iterator[Step]:
    """Runs of statements deleted, long ones first; bodies in place of their loops and branches."""
    sizes = [len(block) for block in _blocks(ast.parse(program.text))]
    for number, size in enumerate(sizes):
        run = size
        while run >= 1:
            for start in range(size - run, -1, -run):
                yield functools.partial(_edited, program, functools.partial(_delete, number, start, run))
            run //= 2
    for number, size in enumerate(sizes):
        for position in range(size):
            for part in ("body", "orelse"):
                yield functools.partial(_edited, program, functools.partial(_unwrap, number, position, part))


def _delete(number: int, start: int, run: int, tree: ast.Module) -> bool:
    block = list(_blocks(tree))[number]
    if any(isinstance(s, ast.FunctionDef) and s.name == "k" for s in block[start : start + run]):
        return False
    block[start : start + run] = [] if len(block) > run else [ast.Pass()]
    return True


def _unwrap(number: int, position: int, part: str, tree: ast.Module) -> bool:
    block = list(_blocks(tree))[number]
    statement = block[position]
    inner = getattr(statement, part, None) if isinstance(statement, (ast.If, ast.For, ast.While)) else None
    if not inner:
        return False
    block[position : position + 1] = inner
    return True


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None, ast.expr]]:
    """Expressions with the place that holds them."""
    found = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "func", "decorator_list", "target", "targets"):
                continue
            for index, item in enumerate(value) if isinstance(value, list) else ((None, value),):
                if isinstance(item, ast.expr) and not isinstance(item, (ast.Name, ast.Constant)):
                    found.append((node, name, index, item))
    return found


def _simpler_expressions(program: Program) -> Iterator[Step]:
    """An expression replaced by a part of it, or by a plain value."""
    for number, (_, _, _, original) in enumerate(_expressions(ast.parse(program.text))):
        parts = [ast.unparse(c) for c in ast.walk(original) if isinstance(c, ast.expr) and not isinstance(c, ast.Slice)]
        for text in dict.fromkeys(("1", "col", "s", *parts[1:8])):
            yield functools.partial(_edited, program, functools.partial(_replace, number, text))


def _replace(number: int, text: str, tree: ast.Module) -> bool:
    holder, name, index, old = _expressions(tree)[number]
    if ast.unparse(old) == text:
        return False
    new = ast.parse(text, mode="eval").body
    if index is None:
        setattr(holder, name, new)
    else:
        getattr(holder, name)[index] = new
    return True
