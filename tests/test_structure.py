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
import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "tle2cuda"

NOT_FAMILIES = {"__init__", "base", "core", "numerics", "promotion", "values"}  # what op families share
IMPORT_LIMIT_S = 0.3
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
    return [
        path for folder in ("tle2cuda", "kernels", "tools") for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def rendered_templates(lowering_file: pathlib.Path) -> set[str]:
    """The template names, as string constants, that a lowering file gives to the renderer."""
    tree = ast.parse(lowering_file.read_text(encoding="utf-8"))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {text for text in texts if isinstance(text, str) and text.endswith((".cu.j2", ".cuh"))}


@pytest.mark.parametrize("family", op_families())
def test_every_op_with_a_meaning_has_a_lowering_of_the_same_name(family: str) -> None:
    registers_meaning = re.search(
        r"^@meaning\(", (PACKAGE / "ops" / f"{family}.py").read_text("utf-8"), re.MULTILINE
    )
    lowered = (PACKAGE / "lowering" / f"{family}.py").exists()
    assert lowered or not registers_meaning, (
        f"ops/{family}.py has IR ops, but there is no lowering/{family}.py"
    )


def test_every_lowering_template_and_device_helper_is_in_use() -> None:
    named = set().union(*(rendered_templates(path) for path in (PACKAGE / "lowering").glob("*.py")), set())
    included = {
        name
        for template in (PACKAGE / "templates").rglob("*.j2")
        for name in re.findall(r"""['"]([\w/]+\.(?:cu\.j2|cuh))['"]""", template.read_text("utf-8"))
    }
    present = {
        path.name for pattern in ("*.cu.j2", "*.cuh") for path in (PACKAGE / "templates").rglob(pattern)
    }
    missing = {name for name in named if pathlib.Path(name).name not in present}
    assert not missing, f"lowering/ names templates that do not exist: {sorted(missing)}"
    families = set(op_families())
    strays = {
        name
        for name in present
        if name.endswith(".cu.j2")
        and name not in {pathlib.Path(used).name for used in named | included}
        and name.removesuffix(".cu.j2") not in families
    }
    assert not strays, f"templates that no lowering renders: {sorted(strays)}"


def test_every_template_names_its_inputs_first() -> None:
    wrong = []
    for template in sorted((PACKAGE / "templates").glob("*.cu.j2")):
        text = template.read_text(encoding="utf-8")
        opening = re.match(r"\{#.*?#\}", text, re.DOTALL)
        inputs = jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(text))
        unnamed = {name for name in inputs if not opening or not re.search(rf"\b{name}\b", opening.group())}
        if unnamed or not opening:
            wrong.append(f"{template.name}: {sorted(unnamed) or 'no opening comment'}")
    assert not wrong, f"inputs that the opening comment does not name: {wrong}"


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
            warnings.warn(
                f"{path.relative_to(ROOT)} has {lines} lines (aim: {FILE_LIMIT_LINES})", stacklevel=1
            )
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
            if (
                isinstance(node, ast.FunctionDef)
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
            ):
                missing.append(f"{family}.{node.name}")
    assert not missing, f"language functions without a docstring: {missing}"


def test_no_leftovers_in_the_tree() -> None:
    # Assembled, so that this file does not find itself.
    words = [
        "TO" + "DO",
        "FIX" + "ME",
        "X" * 3,
        "/work" + "/",
        "raise Not" + "ImplementedError",
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
