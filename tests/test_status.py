"""docs/status.md is complete and true: every name of the language stands there, and what is refused is refused."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import tle2cuda
import tle2cuda.language as tl
from tests.frontend.kernels_on_file import error_of
from tle2cuda.errors import ArgumentError, NotSupported
from tle2cuda.language import tle
from tle2cuda.language.extra import cuda

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "status.md"
MODULES = {"tl": tl, "tle": tle, "tle.gpu": tle.gpu, "tle.raw": tle.raw, "tl.extra.cuda": cuda}


def words_of(section: str, state: str) -> set[str]:
    """The names in backticks of the rows of a section that are in a state."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    features = [row[0] for row in rows if row[1].strip() == state]
    return {word for feature in features for name in re.findall(r"`([^`]+)`", feature) for word in re.findall(r"\w+", name)}


def refusal(function: Any) -> str:
    """What a refused function of the language says; empty for one that works."""
    if not tl.is_builtin(function) and not isinstance(function, FunctionType):
        return ""
    try:
        function()
    except NotSupported as error:
        return str(error.message)
    except Exception:
        return ""
    return ""


def language() -> Iterator[tuple[str, str, Any]]:
    """(section of the page, module, object) of every public name."""
    for prefix, module in MODULES.items():
        section = "TLE" if prefix.startswith("tle") else "Base language (`tl`)"
        for name in module.__all__:
            thing = getattr(module, name)
            if not isinstance(thing, ModuleType) and not name.startswith("_"):
                yield section, f"{prefix}.{name}", thing


REFUSED = {name: thing for _, name, thing in language() if refusal(thing)}


@pytest.mark.parametrize("section", ["Base language (`tl`)", "TLE"])
def test_every_name_stands_on_its_side(section: str) -> None:
    works, refused = words_of(section, "works"), words_of(section, "refused")
    wrong = []
    for where, name, _ in language():
        side = refused if name in REFUSED else works | refused if name.endswith(("PENDING", "READY", "tmem")) else works
        if where == section and name.rpartition(".")[2] not in side:
            wrong.append(f"{name} {'is refused' if name in REFUSED else 'works'}")
    assert not wrong


@pytest.mark.parametrize("name", REFUSED)
def test_refused_functions_say_so(name: str) -> None:
    said = refusal(REFUSED[name])
    last = name.rpartition(".")[2]
    assert re.fullmatch(rf"[\w.]*\b{last} is (not supported by this version of tle2cuda|not implemented)", said), said


KERNELS: dict[str, tuple[str, str, str]] = {
    "offsets": (
        "b = tle.gpu.alloc([64], tl.int32)\n    tle.gpu.copy(p, b, [64], [0])",
        "*i32",
        "k.py:7:5: copy: offsets are only supported for tensor descriptors",
    ),
    "devices": (
        'tle.remote(p, 1, space="device", dtype=tl.int32, offset=0)',
        "*i32",
        "k.py:6:5: remote: only space='cluster' is supported, not several GPUs",
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_errors_at_the_users_line(name: str, tmp_path: pathlib.Path) -> None:
    body, signature, text = KERNELS[name]
    source = f"@tle2cuda.jit\ndef k(p):\n    {body}\n"
    assert str(error_of(source, tmp_path, signature)).startswith(text)


def test_objects_of_classes(tmp_path: pathlib.Path) -> None:
    source = (
        "class Pair:\n    def __init__(self, a):\n        self.a = a\n\n"
        "@tle2cuda.jit\ndef k(p, n):\n    tl.store(p, Pair(n).a)\n"
    )
    error = error_of(source, tmp_path, "*i32, i32")
    assert str(error) == (
        "k.py:10:17: `Pair` is a Python function of the host: it takes compile-time values, got a run-time value "
        "(scalar i32)\n\n"
        "  10 |     tl.store(p, Pair(n).a)\n"
        "     |                 ^^^^^^^\n"
        "  n: scalar i32, declared at k.py:9"
    )


@tle2cuda.jit
def first(out, pair):
    tl.store(out, pair[0])


@pytest.mark.parametrize(("value", "kind"), [([3, 4], "list"), ("text", "str"), ({}, "dict")])
def test_arguments_of_other_types(value: Any, kind: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        first[(1,)](np.zeros(1, np.int32), value)
    assert caught.value.message == f"argument `pair`: a value of type builtins.{kind} cannot be a run-time argument"


def test_dtypes_of_other_vendors() -> None:
    with pytest.raises(ArgumentError, match=r"unknown type 'fp8e4b8' in the signature entry '\*fp8e4b8'"):
        tle2cuda.emit(first, "*fp8e4b8, i32")


def test_page_has_no_row_twice() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    features = [row for row in rows if row != "feature"]
    assert len(features) == len(set(features))
