"""The syntax tree of a Python function, and spans for its nodes."""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tle2cuda.errors import CompilationError
from tle2cuda.ir.span import Span


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function's tree with what is needed to point into its file.

    Attributes:
        file: Path as Python knows it.
        name: Name of the function.
        node: Its definition.
        lines: Source lines that the tree was parsed from.
        line_offset: To be added to a tree's line number to get the file's.
    """

    file: str
    name: str
    node: ast.FunctionDef
    lines: tuple[str, ...]
    line_offset: int

    def _column(self, line: int, byte_column: int) -> int:
        """Character column of a tree's byte column; `line` is the tree's."""
        text = self.lines[line - 1]
        if text.isascii():
            return byte_column
        return len(text.encode("utf-8")[:byte_column].decode("utf-8", errors="ignore"))

    def span(self, node: ast.AST, end: ast.AST | None = None, call_site: Span | None = None) -> Span:
        """Span of a node, or from the start of `node` to the end of `end`."""
        first: Any = node
        last: Any = node if end is None else end
        end_line = last.end_lineno or last.lineno
        return Span(
            self.file,
            first.lineno + self.line_offset,
            self._column(first.lineno, first.col_offset),
            end_line + self.line_offset,
            self._column(end_line, last.end_col_offset or last.col_offset),
            self.name,
            call_site,
        )

    def definition_span(self, call_site: Span | None = None) -> Span:
        """Span of ``def name(...)``, decorators and body left out."""
        line = self.node.lineno
        text = self.lines[line - 1]
        start = len(text) - len(text.lstrip())
        return Span(
            self.file,
            line + self.line_offset,
            start,
            line + self.line_offset,
            len(text.rstrip()),
            self.name,
            call_site,
        )


_sources: weakref.WeakKeyDictionary[Callable[..., Any], FunctionSource] = weakref.WeakKeyDictionary()


def source_of(fn: Callable[..., Any]) -> FunctionSource:
    """Source and tree of a plain Python function.

    Raises:
        CompilationError: There is no source (typed at a prompt, made by `exec`), or it is no ``def``.
    """
    known = _sources.get(fn)
    if known is None:
        known = _sources[fn] = _read(fn)
    return known


def _read(fn: Callable[..., Any]) -> FunctionSource:
    name = getattr(fn, "__name__", repr(fn))
    code = getattr(fn, "__code__", None)
    if code is None:
        raise CompilationError(f"{name} is no Python function, so it cannot be compiled")
    try:
        lines, first_line = inspect.getsourcelines(fn)
    except (OSError, TypeError, IndexError, SyntaxError):
        raise CompilationError(
            f"the source of {name} is not available (it was defined in {code.co_filename})",
            help="define the kernel in a file or a notebook cell, not at a prompt, with python -c or by exec",
        ) from None
    offset = first_line - 1
    lines = [line if line.endswith("\n") else line + "\n" for line in lines]
    if lines[0][:1].isspace():
        # An indented function is parsed inside a block, which keeps its columns; dedenting would change them.
        lines = ["if True:\n", *lines]
        offset -= 1
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError as error:
        raise CompilationError(
            f"the source of {name} cannot be read as a function of its own: {error.msg}",
            help="write the kernel as a plain `def`" if "lambda" in name else "",
        ) from None
    statement = tree.body[0]
    if isinstance(statement, ast.If):
        statement = statement.body[0]
    if not isinstance(statement, ast.FunctionDef):
        what = "a lambda" if "lambda" in name else "not a plain `def`"
        raise CompilationError(f"{name} is {what}", help="write the kernel as a plain `def`")
    file = inspect.getsourcefile(fn) or code.co_filename
    return FunctionSource(file, name, statement, tuple(lines), offset)
