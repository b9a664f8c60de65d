"""README and docs say what is true: their Python snippets run, their links lead somewhere.

A fenced block opened by ```python is run; the blocks of one page share names, in order. ```python gpu is run
where there is a GPU. ```python no-run is only parsed. Blocks of other languages are left alone.
"""

from __future__ import annotations

import ast
import dataclasses
import linecache
import pathlib
import re
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@dataclasses.dataclass(frozen=True, slots=True)
class Snippet:
    """A fenced Python block: its page, first line of code, words after the language, and text."""

    page: pathlib.Path
    line: int
    options: frozenset[str]
    code: str


def snippets_of(page: pathlib.Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in re.finditer(r"^```python([^\n]*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, match.start(2)) + 1
        found.append(Snippet(page, line, frozenset(match.group(1).split()), match.group(2)))
    return found


def run_snippet(snippet: Snippet, names: dict[str, Any]) -> None:
    """Runs a snippet with line numbers of its page, its source findable by `inspect` as kernels need."""
    relative = snippet.page.relative_to(ROOT)
    filename = f"{relative}:{snippet.line}"
    code = "\n" * (snippet.line - 1) + snippet.code
    linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
    exec(compile(code, filename, "exec"), names)


def parameters(*, gpu: bool) -> list[Any]:
    pages = []
    for page in PAGES:
        has_gpu = any("gpu" in snippet.options for snippet in snippets_of(page))
        if snippets_of(page) and (has_gpu or not gpu):
            pages.append(pytest.param(page, id=str(page.relative_to(ROOT))))
    return pages


def run_page(page: pathlib.Path, *, gpu: bool) -> None:
    names: dict[str, Any] = {"__name__": "snippet"}
    for snippet in snippets_of(page):
        if "no-run" in snippet.options or ("gpu" in snippet.options and not gpu):
            ast.parse(snippet.code)
        else:
            run_snippet(snippet, names)


@pytest.mark.parametrize("page", parameters(gpu=False))
def test_snippets_of_page_run(page: pathlib.Path) -> None:
    run_page(page, gpu=False)


@pytest.mark.gpu
@pytest.mark.parametrize("page", parameters(gpu=True))
def test_gpu_snippets_of_page_run(page: pathlib.Path) -> None:
    run_page(page, gpu=True)


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_relative_links_lead_somewhere(page: pathlib.Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "code", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", prose)
    broken = [
        target for target in targets if not re.match(r"[a-z]+:", target) and not (page.parent / target).resolve().exists()
    ]
    assert not broken


def status_rows() -> list[list[str]]:
    """The cells of every feature row of docs/status.md."""
    lines = (ROOT / "docs" / "status.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in rows if row[0] != "feature" and not row[0].startswith("---")]


def test_status_page_backs_each_claim_with_a_test() -> None:
    for feature, state, shown_by in status_rows():
        assert state in ("works", "refused", "open"), feature
        named = re.findall(r"`([^`]+)`", shown_by)
        assert named or state == "open", f"{feature}: {state}, but no test is named"
        missing = [name for name in named if not (ROOT / "tests" / name.split("::")[0]).exists()]
        assert not missing, f"{feature}: no such test: {missing}"
