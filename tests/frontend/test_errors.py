"""Every error of the front end, word for word, with its carets: the cases are in `errors.txt`.

A case there is a kernel `k` and the text of the error that tracing it raises. `pytest --update-golden` rewrites
the texts; review them.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import pathlib
import re
from dataclasses import dataclass

import pytest

import tle2cuda
from tests import UPDATE_GOLDEN_VARIABLE
from tests.frontend.kernels_on_file import error_of, load, trace_text
from tle2cuda import errors

CASES_FILE = pathlib.Path(__file__).parent / "errors.txt"
_SECTION = re.compile(
    r"=== (?P<name>\w+) \| (?P<signature>.*?)\n(?P<source>.*?)--- ?(?P<kind>\w*)\n(?P<text>.*)", re.DOTALL
)


@dataclass(frozen=True)
class Case:
    name: str
    signature: str
    source: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"=== {self.name} | {self.signature}\n{self.source}--- {self.kind}\n{self.text}\n\n"


def read_cases() -> list[Case]:
    sections = re.split(r"(?=^=== )", CASES_FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    cases = []
    for section in sections[1:]:
        found = _SECTION.fullmatch(section)
        assert found, section
        cases.append(Case(*(found[part] for part in ("name", "signature", "source", "kind")), found["text"].strip("\n")))
    return cases


CASES = read_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_error(case: Case, tmp_path: pathlib.Path) -> None:
    error = error_of(case.source, tmp_path, case.signature)
    if os.environ.get(UPDATE_GOLDEN_VARIABLE):
        updated = Case(case.name, case.signature, case.source, type(error).__name__, str(error))
        text = CASES_FILE.read_text(encoding="utf-8")
        start = text.index(f"=== {case.name} |")
        end = text.find("\n=== ", start)
        end = len(text) if end < 0 else end + 1
        CASES_FILE.write_text(text[:start] + str(updated) + text[end:], encoding="utf-8")
        return
    assert type(error).__name__ == case.kind
    assert str(error).splitlines() == case.text.splitlines()


def test_case_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(names) == len(set(names))


def test_every_python_statement_is_accepted_or_has_a_message() -> None:
    """A new kind of statement in a new Python must not surface as a bare class name."""
    from tle2cuda.frontend import unsupported

    accepted = {"Assert", "Assign", "AnnAssign", "AugAssign", "Expr", "For", "If", "Pass", "Return", "While"}
    kinds = {cls.__name__ for cls in ast.stmt.__subclasses__()}
    assert kinds - accepted <= set(unsupported._STATEMENTS)


def test_several_errors_are_one_exception(tmp_path: pathlib.Path) -> None:
    error = error_of("@tle2cuda.jit\ndef k(n):\n    a = missing\n    b = absent\n", tmp_path, "i32")
    assert isinstance(error, errors.CompilationErrors)
    assert [e.span.line for e in error.errors if e.span] == [6, 7]


def test_classes_are_pythons_too(tmp_path: pathlib.Path) -> None:
    """Programs catch ValueError and TypeError; the cause is the host's own exception."""
    source = "def f(x):\n    raise {}('inner text')\n\n\n@tle2cuda.jit\ndef k(n):\n    x = f(1)\n"
    for kind in (ValueError, TypeError):
        error = error_of(source.format(kind.__name__), tmp_path, "i32")
        assert isinstance(error, kind)
        assert "inner text" in str(error)
        assert type(error.__cause__) is kind
    error = error_of(source.format("KeyError"), tmp_path, "i32")
    assert isinstance(error, errors.CompilationError)
    assert type(error.__cause__) is KeyError


def test_no_frames_of_the_compiler_in_the_traceback(tmp_path: pathlib.Path) -> None:
    module = load("@tle2cuda.jit\ndef k(n):\n    x = missing\n", tmp_path)
    for attempt in (lambda: tle2cuda.emit(module.k, "i32"), lambda: module.k[(1,)](3)):
        with pytest.raises(errors.UndefinedName) as caught:
            attempt()
        paths = [pathlib.Path(str(frame.path)) for frame in caught.traceback]
        assert [path for path in paths if path.parent.name == "frontend" and "tests" not in path.parts] == []


def test_function_without_source() -> None:
    namespace: dict[str, object] = {}
    exec("import tle2cuda\n@tle2cuda.jit\ndef k(n):\n    pass\n", namespace)
    with pytest.raises(errors.CompilationError) as caught:
        tle2cuda.emit(namespace["k"], "i32")
    assert str(caught.value) == (
        "the source of k is not available (it was defined in <string>)\n"
        "  help: define the kernel in a file or a notebook cell, not at a prompt, with python -c or by exec"
    )


def test_lambda_is_no_kernel() -> None:
    with pytest.raises(errors.CompilationError, match=r"<lambda>"):
        tle2cuda.emit(lambda n: None, "i32")


def test_error_in_another_file_names_both(tmp_path: pathlib.Path) -> None:
    helper = load("@tle2cuda.jit\ndef helper(a):\n    return a + tl.arange(0, 3)\n", tmp_path)
    module = load("@tle2cuda.jit\ndef k(n):\n    x = helper(n)\n", tmp_path)
    module.helper = helper.helper  # type: ignore[attr-defined]
    with pytest.raises(errors.InvalidArgument) as caught:
        tle2cuda.emit(module.k, "i32")
    assert caught.value.span is not None and caught.value.span.call_site is not None
    assert caught.value.span.call_site.function == "k"
    assert "in helper, called from k.py:6 in k" in str(caught.value)


def test_error_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    """A kernel compiles after one that failed."""
    error_of("@tle2cuda.jit\ndef k(n):\n    x = missing\n", tmp_path, "i32")
    trace_text("@tle2cuda.jit\ndef k(n):\n    x = n + 1\n", tmp_path, "i32")


def test_an_expression_nested_too_deeply(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "deep.py"
    sums = "n" + " + n" * 1500
    file.write_text(f"import tle2cuda\n\n\n@tle2cuda.jit\ndef k(out, n):\n    a = {sums}\n")
    spec = importlib.util.spec_from_file_location("deep", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except RecursionError:
        pytest.skip("this Python cannot read the file itself")
    with pytest.raises(errors.UnsupportedSyntax) as caught:
        tle2cuda.emit(module.k, "*i32, i32")
    assert (
        str(caught.value)
        == """\
deep.py:5:1: k: an expression or a block is nested too deeply to be read

  5 | def k(out, n):
    | ^^^^^^^^^^^^^^
  help: compute it in several statements, or in a loop over tl.static_range"""
    )
