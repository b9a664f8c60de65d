"""Reads unpacked packages without importing them: modules, what names in them are bound to, and where that leads.

Most packages need a GPU or many dependencies to import, so names are resolved on the syntax trees. Modules are parsed
when a name first leads to them.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scope = Mapping[str, Sequence["Binding"]]

# Packages whose kernels use jit functions of another one.
_ALSO = {
    "megablocks": ("stanford-stk",),
    "sglang": ("triton-kernels",),
    "vllm": ("triton-kernels",),
    "xlstm": ("mlstm-kernels",),
}
# Names that packages compute at import time from the GPU they find; on NVIDIA's they are these.
_PROBED = {
    "tl_extra_shim": "triton.language.extra.libdevice",
    "libdevice": "triton.language.extra.libdevice",
    "tldevice": "triton.language.extra.libdevice",
    "triton": "triton",
    "tl": "triton.language",
}
_OTHER_VENDORS = re.compile(r"intel|mlu|hip|ascend|cann|npu|musa|xpu")
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that gives a name its value.

    Attributes:
        kind: ``module`` for ``import a.b``, ``from`` for ``from a import b``, or what stands on the right.
        node: The statement; for ``function`` and ``class`` the definition.
        module: Module that an import names.
        attribute: What is imported from it.
    """

    kind: Literal["module", "from", "function", "class", "value"]
    node: ast.stmt
    module: str = ""
    attribute: str = ""


@dataclass(slots=True)
class Module:
    """A parsed module.

    Attributes:
        folder: The package's folder, ``NAME==VERSION``.
        name: Dotted name inside it.
        tree: Its syntax tree.
        is_package: It is an ``__init__.py``.
        bindings: What module-level statements bind, those inside `if` and `try` included.
        stars: Modules imported with ``*``.
        wrapped: Functions that become kernels by a call, ``triton.jit(f)``.
    """

    folder: str
    name: str
    tree: ast.Module
    is_package: bool
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    wrapped: frozenset[str] = frozenset()

    def absolute(self, statement: ast.ImportFrom) -> str:
        """The module that a (relative) import names."""
        if not statement.level:
            return statement.module or ""
        parts = self.name.split(".")
        parts = parts[: len(parts) - (statement.level - self.is_package)]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    def bind(self, body: Sequence[ast.stmt], into: dict[str, list[Binding]], stars: list[str]) -> None:
        """Collects the bindings of a block of statements."""
        for node in body:
            for name, binding in self._bound(node, stars):
                into.setdefault(name, []).append(binding)
            if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                for block in _blocks(node):
                    self.bind(block, into, stars)

    def _bound(self, node: ast.stmt, stars: list[str]) -> Iterator[tuple[str, Binding]]:
        match node:
            case ast.Import():
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    yield alias.asname or top, Binding("module", node, alias.name if alias.asname else top)
            case ast.ImportFrom():
                module = self.absolute(node)
                for alias in node.names:
                    if alias.name == "*":
                        stars.append(module)
                    else:
                        yield alias.asname or alias.name, Binding("from", node, module, alias.name)
            case ast.FunctionDef():
                yield node.name, Binding("function", node)
            case ast.ClassDef():
                yield node.name, Binding("class", node)
            case ast.Assign():
                for target in node.targets:
                    for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(part, ast.Name):
                            yield part.id, Binding("value", node)
            case ast.AnnAssign(target=ast.Name(id=name)) if node.value is not None:
                yield name, Binding("value", node)


@dataclass(frozen=True, slots=True)
class Found:
    """What a name stands for.

    Attributes:
        kind: ``language``: an object of Triton, `path` names it. ``kernel``: a jit function. ``module``: of the
            package, `path` names it. ``outside``: of another package. ``statement``: bound by `node`, a value, class
            or function of the host. ``builtin``, ``unknown``.
        path: See above.
        module: Where a kernel or statement stands.
        name: What it is called there.
        node: Its definition.
    """

    kind: Literal["language", "kernel", "module", "outside", "statement", "builtin", "unknown"]
    path: str = ""
    module: Module | None = None
    name: str = ""
    node: ast.stmt | None = None


class Sources:
    """The modules of one package, and of those that its kernels take functions from.

    Args:
        root: Folder of the unpacked packages.
        folder: The package, ``NAME==VERSION``.
    """

    def __init__(self, root: Path, folder: str) -> None:
        self._paths: dict[str, tuple[str, Path]] = {}
        self._modules: dict[Path, Module | None] = {}
        others = _ALSO.get(folder.partition("==")[0], ())
        folders = [folder, *(p.name for other in others for p in sorted(root.glob(f"{other}==*")))]
        for package in reversed(folders):
            self._index(root / package)
        self.root, self.folder = root, folder

    def _index(self, base: Path) -> None:
        """Notes where modules lie, also under names without leading folders such as ``src`` or ``python``."""
        short: dict[str, tuple[str, Path]] = {}
        full: dict[str, tuple[str, Path]] = {}
        for path in sorted(base.rglob("*.py")):
            parts = list(path.relative_to(base).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            full[".".join(parts)] = (base.name, path)
            for skipped in range(1, min(4, len(parts))):
                short.setdefault(".".join(parts[skipped:]), (base.name, path))
        self._paths.update(short)
        self._paths.update(full)

    def find(self, name: str) -> Module | None:
        """The module called `name`; None when the packages have none."""
        if name not in self._paths:
            return None
        folder, path = self._paths[name]
        return self.parse(folder, path)

    def parse(self, folder: str, path: Path) -> Module | None:
        """The module in a file; None when it is no Python that this interpreter reads."""
        if path not in self._modules:
            self._modules[path] = self._parse(folder, path)
        return self._modules[path]

    def _parse(self, folder: str, path: Path) -> Module | None:
        try:
            tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
        except (SyntaxError, ValueError, RecursionError):
            return None
        parts = list(path.relative_to(self.root / folder).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        module = Module(folder, ".".join(parts[:-1] if is_package else parts), tree, is_package)
        module.bind(tree.body, module.bindings, module.stars)
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and dotted(node.func) == "triton.jit")
        module.wrapped = frozenset(a.id for call in calls for a in call.args if isinstance(a, ast.Name))
        return module

    # -- names --

    def resolve(self, module: Module, name: str, scope: Scope | None = None, depth: int = 0) -> Found:
        """What `name` stands for in a module, or in a function whose own bindings are `scope`."""
        bindings = (scope or {}).get(name) or module.bindings.get(name)
        if depth > _MAX_DEPTH:
            return Found("unknown")
        if not bindings:
            for star in module.stars:
                other = self.find(star)
                found = self.resolve(other, name, None, depth + 1) if other and other is not module else None
                if found and found.kind not in ("unknown", "builtin"):
                    return found
                if _is_language(star) and not name.startswith("_"):
                    return Found("language", f"{star}.{name}")
            return Found("builtin" if hasattr(builtins, name) else "unknown", name)
        found_all = [self._follow(module, name, binding, depth) for binding in bindings]
        return _preferred(found_all)

    def resolve_dotted(self, module: Module, text: str, scope: Scope | None = None, depth: int = 0) -> Found:
        """What ``a.b.c`` stands for; an attribute of a value is unknown."""
        head, *rest = text.split(".")
        found = self.resolve(module, head, scope, depth)
        for part in rest:
            if found.kind in ("language", "outside"):
                found = dataclasses.replace(found, path=f"{found.path}.{part}")
                continue
            if found.kind != "module":
                return Found("unknown")
            inner = self.find(found.path)
            attribute = self.resolve(inner, part, None, depth + 1) if inner else Found("unknown")
            if attribute.kind in ("unknown", "builtin"):
                submodule = f"{found.path}.{part}"
                attribute = Found("module", submodule) if self.find(submodule) else Found("unknown")
            found = attribute
        return found

    def _follow(self, module: Module, name: str, binding: Binding, depth: int) -> Found:
        match binding.kind:
            case "module":
                return self._module(binding.module)
            case "from":
                return self._imported(module, binding, depth)
            case "function":
                assert isinstance(binding.node, ast.FunctionDef)
                kind = "kernel" if self.is_kernel(module, binding.node) else "statement"
                return Found(kind, module=module, name=name, node=binding.node)
            case "value":
                return self._value(module, name, binding, depth)
        return Found("statement", module=module, name=name, node=binding.node)

    def _module(self, name: str) -> Found:
        if _is_language(name):
            return Found("language", name)
        return Found("module" if self.find(name) else "outside", name)

    def _imported(self, module: Module, binding: Binding, depth: int) -> Found:
        full = f"{binding.module}.{binding.attribute}"
        if _is_language(binding.module):
            return Found("language", full)
        if binding.attribute in ("tl_extra_shim", "libdevice", "tldevice"):
            return Found("language", _PROBED[binding.attribute])
        if full in self._paths:
            return Found("module", full)
        home = self.find(binding.module)
        if home is not None and home is not module:
            return self.resolve(home, binding.attribute, None, depth + 1)
        if binding.attribute in _PROBED:
            return Found("language", _PROBED[binding.attribute])
        return Found("outside", full)

    def _value(self, module: Module, name: str, binding: Binding, depth: int) -> Found:
        """A value; aliases and wrappers of kernels are what they stand for."""
        node = binding.node
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        here = Found("statement", module=module, name=name, node=node)
        if value is None or not isinstance(node.targets[0] if isinstance(node, ast.Assign) else node.target, ast.Name):
            return here
        if path := dotted(value):
            found = self.resolve_dotted(module, path, None, depth + 1)
            return found if found.kind in ("language", "kernel", "module") else here
        if isinstance(value, ast.Call):
            for argument in value.args:  # triton.jit(f), cached(f), libentry()(f)
                if isinstance(argument, ast.Name):
                    found = self.resolve(module, argument.id, None, depth + 1)
                    if found.kind == "kernel":
                        return found
        return here

    def is_kernel(self, module: Module, node: ast.FunctionDef) -> bool:
        """Whether a function becomes a jit function."""
        return node.name in module.wrapped or any(self._is_jit(module, d) for d in node.decorator_list)

    def _is_jit(self, module: Module, decorator: ast.expr) -> bool:
        path = dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if path in ("triton.jit", "tr.jit", "triton_jit", "tl_jit", "_triton_jit", "triton.runtime.jit.jit"):
            return True
        if not path or not path.endswith("jit"):
            return False
        found = self.resolve_dotted(module, path, None, _MAX_DEPTH - 2)
        return found.kind == "language" or (found.kind == "outside" and "triton" in found.path)


def functions_of(module: Module) -> Iterator[tuple[ast.FunctionDef, Scope]]:
    """All functions of a module with the bindings of the functions around them."""

    def visit(body: Sequence[ast.stmt], scope: dict[str, list[Binding]]) -> Iterator[tuple[ast.FunctionDef, Scope]]:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                yield node, scope
                inner = {name: list(bindings) for name, bindings in scope.items()}
                module.bind(node.body, inner, [])
                yield from visit(node.body, inner)
            else:
                for block in _blocks(node):
                    yield from visit(block, scope)

    yield from visit(module.tree.body, {})


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of an attribute chain on a name; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id])) if isinstance(node, ast.Name) else ""


def _is_language(module: str) -> bool:
    return module == "triton" or module.startswith("triton.")


def _preferred(found: Sequence[Found]) -> Found:
    """Of several bindings (both sides of an `if` or `try`): the last kernel, else NVIDIA's language name."""
    kernels = [f for f in found if f.kind == "kernel"]
    if kernels and found[0].kind != "language":
        return kernels[-1]
    languages = [f for f in found if f.kind == "language"]
    for f in languages:
        if not _OTHER_VENDORS.search(f.path):
            return f
    known = [f for f in found if f.kind != "unknown"]
    statements = [f for f in known if f.kind == "statement"]
    return (languages or statements[-1:] or known or list(found))[0]


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield handler.body
