"""Cuts a kernel out of its package: a small package with the jit functions, constants and aliases that it reaches.

Decorators other than `triton.jit` are left out, as the records say how to specialise. What is written is other
projects' code: it goes into a cache outside the repository, and stays there.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tools.public_kernels.records import Record, function_hash
from tools.public_kernels.sources import Found, Module, Scope, Sources, dotted, functions_of

# What probes at import time answer where Triton is there.
_FLAGS = {"HAS_TRITON": True, "TRITON_AVAILABLE": True, "HAVE_TRITON": True, "_HAS_TRITON": True, "HAS_TLE": False}
_JIT_OPTIONS = ("do_not_specialize", "do_not_specialize_on_alignment", "noinline", "debug")
_KEPT_ANNOTATION = re.compile(r"(tl\.)?(u?int\d+|b?float\d+)")
_HEADER = "import triton as _triton\nimport triton.language as _tl\n"
_FORMAT = 2  # changes when what is written changes


class NotFound(LookupError):
    """The package has no such function, or its text is another one than the record's."""


@dataclass(slots=True)
class _Twin:
    """The module written for a module of the package."""

    name: str
    items: dict[str, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)


class _Extractor:
    """Collects what a kernel needs."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.twins: dict[int, _Twin] = {}
        self.modules: dict[int, Module] = {}

    def twin(self, module: Module) -> _Twin:
        """The written module that stands for `module`."""
        if id(module) not in self.twins:
            label = re.sub(r"\W", "_", module.name)[-40:]
            self.twins[id(module)] = _Twin(f"m{len(self.twins)}_{label}")
            self.modules[id(module)] = module
        return self.twins[id(module)]

    def need(self, module: Module, name: str, scope: Scope | None = None) -> None:
        """Makes `name` available in the twin of `module`."""
        twin = self.twin(module)
        if name in twin.busy:
            return
        found = self.sources.resolve(module, name, scope)
        if found.kind in ("builtin", "unknown") and name not in _FLAGS:
            return
        twin.busy.add(name)
        if name in _FLAGS:
            twin.items[name] = f"{name} = {_FLAGS[name]}"
            return
        twin.items.setdefault(name, self._text(module, name, found, scope))

    def _text(self, module: Module, name: str, found: Found, scope: Scope | None) -> str:
        if found.kind in ("language", "outside"):
            return _import_text(name, found.path)
        if found.kind == "module":
            inner = self.sources.find(found.path)
            return f"from . import {self.twin(inner).name} as {name}" if inner else ""
        assert found.module is not None and found.node is not None
        if found.kind == "kernel":
            assert isinstance(found.node, ast.FunctionDef)
            if found.module is module and found.name == name:
                return self.kernel_text(module, found.node, scope)
            self.kernel(found.module, found.node, None)
            return self._link(module, name, found.module, found.node.name)
        if found.module is not module or found.name != name:
            self.need(found.module, found.name)
            return self._link(module, name, found.module, found.name)
        self.free(module, found.node, scope)
        return ast.unparse(found.node)

    def _link(self, module: Module, name: str, home: Module, there: str) -> str:
        if home is module:
            return f"{name} = {there}" if name != there else ""
        return f"from .{self.twin(home).name} import {there} as {name}"

    def kernel(self, module: Module, node: ast.FunctionDef, scope: Scope | None) -> None:
        """Writes a jit function into the twin of its module."""
        twin = self.twin(module)
        if node.name in twin.items or f"def {node.name}" in twin.busy:
            return
        twin.busy |= {node.name, f"def {node.name}"}
        twin.items[node.name] = self.kernel_text(module, node, scope)

    def kernel_text(self, module: Module, node: ast.FunctionDef, scope: Scope | None) -> str:
        """Source of a jit function, when what it needs is there."""
        self.twin(module).busy |= {node.name, f"def {node.name}"}
        options = [
            keyword
            for decorator in node.decorator_list
            if isinstance(decorator, ast.Call) and dotted(decorator.func).endswith("jit")
            for keyword in decorator.keywords
            if keyword.arg in _JIT_OPTIONS and _is_literal(keyword.value)
        ]
        copy = ast.parse(ast.unparse(node)).body[0]
        assert isinstance(copy, ast.FunctionDef)
        copy.decorator_list, copy.returns = [], None
        for argument in (*copy.args.posonlyargs, *copy.args.args, *copy.args.kwonlyargs):
            annotation = ast.unparse(argument.annotation) if argument.annotation is not None else ""
            if "constexpr" not in annotation and not _KEPT_ANNOTATION.fullmatch(annotation):
                argument.annotation = None
        self.free(module, copy, scope)
        arguments = f"({', '.join(ast.unparse(option) for option in options)})" if options else ""
        return f"@_triton.jit{arguments}\n{ast.unparse(copy)}"

    def free(self, module: Module, node: ast.stmt, scope: Scope | None) -> None:
        """Makes everything available that a statement reads from outside itself."""
        own: set[str] = set()
        is_definition = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if is_definition:
            for inner in ast.walk(node):
                if isinstance(inner, ast.arg):
                    own.add(inner.arg)
                elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                    own.add(inner.id)
            own.add(node.name)
        if isinstance(node, ast.FunctionDef):  # in `X: tl.constexpr = X` the default is the module's
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                for inner in ast.walk(default):
                    if isinstance(inner, ast.Name):
                        self.need(module, inner.id, scope)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load) and inner.id not in own:
                self.need(module, inner.id, scope)
            elif isinstance(inner, ast.Attribute) and (path := dotted(inner)) and path.partition(".")[0] not in own:
                self._attribute(module, path, scope)

    def _attribute(self, module: Module, path: str, scope: Scope | None) -> None:
        """Makes `module.name` available where the head is a module of the package."""
        parts = path.split(".")
        found = self.sources.resolve_dotted(module, ".".join(parts[:-1]), scope)
        if found.kind == "module" and (inner := self.sources.find(found.path)):
            self.need(inner, parts[-1])

    def write(self, folder: Path, home: Module, kernel: str) -> None:
        """Writes the package; its `entry` module has the kernel as `KERNEL`."""
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
        for twin in self.twins.values():
            (folder / f"{twin.name}.py").write_text(_HEADER + "\n".join(filter(None, twin.items.values())) + "\n")
        (folder / "entry.py").write_text(f"from .{self.twin(home).name} import {kernel} as KERNEL\n")


def _is_literal(node: ast.expr) -> bool:
    return all(isinstance(n, (ast.List, ast.Tuple, ast.Constant, ast.Load)) for n in ast.walk(node))


def _import_text(name: str, path: str) -> str:
    """A statement that makes `name` the object or module at `path`."""
    module, _, attribute = path.rpartition(".")
    if not module:
        return f"import {path} as {name}"
    return f"try:\n    from {module} import {attribute} as {name}\nexcept ImportError:\n    import {path} as {name}"


def pointwise_source(node: ast.FunctionDef) -> str:
    """A 1-D kernel that applies the scalar function `node` to pointers."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    fixed = [a.arg for a in arguments if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)]
    inputs = [a.arg for a in arguments if a.arg not in fixed]
    results = max(
        (
            len(inner.value.elts) if isinstance(inner.value, ast.Tuple) else 1
            for inner in ast.walk(node)
            if isinstance(inner, ast.Return) and inner.value is not None
        ),
        default=1,
    )
    parameters = [
        *(f"in{i}_ptr" for i in range(len(inputs))),
        *(f"out{i}_ptr" for i in range(results)),
        "n",
        *(f"{name}: _tl.constexpr" for name in fixed),
        "BLOCK: _tl.constexpr",
    ]
    passed = [f"x{inputs.index(a.arg)}" if a.arg in inputs else a.arg for a in arguments]
    outputs = [f"y{i}" for i in range(results)]
    lines = [
        f"from .scalar import KERNEL as {node.name}",
        "@_triton.jit",
        f"def pointwise_kernel({', '.join(parameters)}):",
        "    offs = _tl.program_id(0) * BLOCK + _tl.arange(0, BLOCK)",
        "    mask = offs < n",
        *(f"    x{i} = _tl.load(in{i}_ptr + offs, mask=mask)" for i in range(len(inputs))),
        f"    {', '.join(outputs)} = {node.name}({', '.join(passed)})",
        *(f"    _tl.store(out{i}_ptr + offs, {y}, mask=mask)" for i, y in enumerate(outputs)),
    ]
    return _HEADER + "\n".join(lines) + "\n"


def _find_function(record: Record, sources: Sources) -> tuple[Module, ast.FunctionDef, Scope]:
    module = sources.parse(record.folder, sources.root / record.folder / record.file)
    if module is None:
        raise NotFound(f"{record.folder} has no readable {record.file}")
    named = [(node, scope) for node, scope in functions_of(module) if node.name == record.function]
    for node, scope in named:
        if function_hash(node) == record.hash:
            return module, node, scope
    # The hash depends on the Python version, so the line decides where none fits.
    for node, scope in named:
        first_line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if first_line <= record.line <= node.lineno:
            return module, node, scope
    raise NotFound(f"{record.file} has no {record.function} at line {record.line}")


def extract(record: Record, root: Path, cache: Path) -> Path:
    """Folder with the record's kernel as a small package; made when it is not there yet.

    Raises:
        NotFound: The package or function is not there.
    """
    name = f"{re.sub(r'[^A-Za-z0-9]', '_', record.function)[:60]}__{record.hash[:8]}"
    folder = cache / f"v{_FORMAT}" / re.sub(r"\W", "_", record.folder) / name
    if folder.exists():
        return folder
    if not (root / record.folder).exists():
        raise NotFound(f"{record.folder} is not fetched")
    sources = Sources(root, record.folder)
    module, node, scope = _find_function(record, sources)
    extractor = _Extractor(sources)
    extractor.kernel(module, node, scope)
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent)) / name
    extractor.write(scratch, module, node.name)
    if record.role == "pointwise":
        (scratch / "entry.py").rename(scratch / "scalar.py")
        (scratch / "pointwise.py").write_text(pointwise_source(node))
        (scratch / "entry.py").write_text("from .pointwise import pointwise_kernel as KERNEL\n")
    try:
        os.rename(scratch, folder)
    except OSError:  # another process was faster
        shutil.rmtree(scratch)
    shutil.rmtree(scratch.parent, ignore_errors=True)
    return folder
