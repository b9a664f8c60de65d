"""The rules of the source tree that a reader relies on: one op in one place, light imports, small files."""

from __future__ import annotations

import ast
import pathlib
import re
import subprocess
import sys
import warnings

import jinja2
import jinja2.meta
import jinja2.nodes
import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "tle2cuda"

NOT_FAMILIES = {"__init__", "base", "core", "numerics", "promotion", "values"}  # what op families share
IMPORT_LIMIT_S = 0.3
GONE_BEFORE_LOWERING = {"tile_sources"}  # families whose operations passes take away
FILE_LIMIT_LINES = 600
FUNCTION_LIMIT_LINES = 60
HEAVY_MODULES = ("cupy", "torch", "triton", "jinja2", "rich", "ml_dtypes")


def op_families() -> list[str]:
    """The names of the op families: the files of tle2cuda/ops/."""
    return sorted(path.stem for path in (PACKAGE / "ops").glob("*.py") if path.stem not in NOT_FAMILIES)


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def source_files() -> list[pathlib.Path]:
    return [path for folder in ("tle2cuda", "kernels", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_every_refusal_says_what_to_write_instead() -> None:
    bare = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "NotSupported":
                helps = [keyword.value for keyword in node.keywords if keyword.arg == "help"]
                if not helps or (isinstance(helps[0], ast.Constant) and not helps[0].value):
                    bare.append(f"{path.name}:{node.lineno}")
    assert not bare


def template_inputs(template: pathlib.Path) -> tuple[set[str], set[str]]:
    """The names a template and its macros take from outside, and the attributes they read of them."""
    tree = jinja2.Environment().parse(template.read_text(encoding="utf-8"))
    inputs = jinja2.meta.find_undeclared_variables(tree)
    for macro in tree.find_all(jinja2.nodes.Macro):
        inputs |= {argument.name for argument in macro.args if argument.name == "view"}
    reads = tree.find_all(jinja2.nodes.Getattr)
    return inputs, {read.attr for read in reads if isinstance(read.node, jinja2.nodes.Name) and read.node.name in inputs}


def view_fields() -> set[str]:
    """Every field and property that a class of lowering/ has."""
    fields = set()
    for path in (PACKAGE / "lowering").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    fields.add(member.target.id)
                elif isinstance(member, ast.FunctionDef):
                    fields.add(member.name)
    return fields


@pytest.mark.parametrize("family", op_families())
def test_every_op_with_a_meaning_has_a_lowering_of_the_same_name(family: str) -> None:
    registers_meaning = re.search(r"^@meaning\(", (PACKAGE / "ops" / f"{family}.py").read_text("utf-8"), re.MULTILINE)
    lowered = (PACKAGE / "lowering" / f"{family}.py").exists()
    assert lowered or not registers_meaning or family in GONE_BEFORE_LOWERING, (
        f"ops/{family}.py has IR ops, but there is no lowering/{family}.py"
    )


def test_every_template_is_rendered_by_a_lowering() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "lowering").glob("*.py")]
    texts += [path.read_text(encoding="utf-8") for path in (PACKAGE / "templates").rglob("*.j2")]
    strays = [
        path.name
        for path in sorted((PACKAGE / "templates").glob("*.cu.j2"))
        if not any(re.search(rf"""["'/]{path.name}["']""", text) for text in texts)
    ]
    assert not strays, f"templates that nothing renders: {strays}"


def test_every_form_of_a_template_is_written_or_imported() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / "lowering").glob("*.py")]
    templates = sorted((PACKAGE / "templates").glob("*.cu.j2"))
    imports = {
        name
        for path in templates
        for imported in jinja2.Environment().parse(path.read_text("utf-8")).find_all(jinja2.nodes.FromImport)
        for name in imported.names
    }
    trees = {path.name: jinja2.Environment().parse(path.read_text("utf-8")) for path in templates}
    called = {
        (name, call.node.name)
        for name, tree in trees.items()
        for call in tree.find_all(jinja2.nodes.Call)
        if isinstance(call.node, jinja2.nodes.Name)
    }
    strays = [
        f"{name}: {macro.name}"
        for name, tree in trees.items()
        for macro in tree.find_all(jinja2.nodes.Macro)
        if macro.name not in imports
        and (name, macro.name) not in called
        and not any(f'"{macro.name}"' in text for text in texts)
    ]
    assert not strays, f"macros that nothing uses: {strays}"


@pytest.mark.parametrize("template", sorted((PACKAGE / "templates").glob("*.cu.j2")), ids=lambda path: path.name)
def test_template_opens_with_its_inputs_and_reads_what_views_have(template: pathlib.Path) -> None:
    assert re.match(r"\{#-?.*?#\}", template.read_text(encoding="utf-8"), re.DOTALL), "no opening comment"
    _, attributes = template_inputs(template)
    unknown = attributes - view_fields()
    assert not unknown, f"no view class of lowering/ has {sorted(unknown)}"


def test_import_is_quick_and_light() -> None:
    code = (
        "import sys, time; start = time.perf_counter(); import tle2cuda; print(time.perf_counter() - start);"
        f"print(*[name for name in {HEAVY_MODULES!r} if name in sys.modules])"
    )
    outputs = [run_python(code).splitlines() for _ in range(3)]
    heavy = outputs[0][1]
    assert not heavy, f"import tle2cuda also imports {heavy}"
    best_s = min(float(lines[0]) for lines in outputs)
    assert best_s < IMPORT_LIMIT_S, f"import tle2cuda takes {best_s:.2f} s"


def test_language_modules_import_without_any_gpu_library() -> None:
    code = (
        "import sys, tle2cuda.language; from tle2cuda.language import tle;"
        "print(*[name for name in ('cupy', 'torch', 'triton') if name in sys.modules])"
    )
    assert run_python(code).strip() == ""


def test_sizes_are_reported() -> None:
    """Sizes are a signal, not a verdict: what is large is printed as a warning of the run."""
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > FILE_LIMIT_LINES:
            warnings.warn(f"{path.relative_to(ROOT)} has {lines} lines (aim: {FILE_LIMIT_LINES})", stacklevel=1)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LIMIT_LINES:
                    where = f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
                    warnings.warn(f"{where} has {length} lines (aim: {FUNCTION_LIMIT_LINES})", stacklevel=1)


def test_docstrings_of_public_functions_exist_in_ops() -> None:
    missing = []
    for family in op_families():
        tree = ast.parse((PACKAGE / "ops" / f"{family}.py").read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not ast.get_docstring(node):
                missing.append(f"{family}.{node.name}")
    assert not missing, f"language functions without a docstring: {missing}"


def test_no_leftovers_in_the_tree() -> None:
    # Assembled, so that this file does not find itself.
    words = [
        "TO" + "DO",
        "FIX" + "ME",
        "X" * 3,
        "/work" + "/",
        "breakpoint" + "()",
    ]
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(word)}" for word in words))
    found = []
    for path in [
        *source_files(),
        *sorted((PACKAGE / "templates").rglob("*.*")),
        *sorted(ROOT.glob("docs/*.md")),
    ]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()}")
    assert not found, "\n".join(found)
