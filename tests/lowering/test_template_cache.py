"""Compiled templates last from process to process, and never stand in the way."""

import pathlib

import jinja2
import pytest

from tle2cuda.lowering.template_cache import TemplateCache


def render(folder: pathlib.Path, source: str) -> str:
    loader = jinja2.DictLoader({"t": source})
    return jinja2.Environment(loader=loader, bytecode_cache=TemplateCache(folder)).get_template("t").render(x=3)


def test_a_compiled_template_is_kept_and_used(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert render(tmp_path / "cache", "{{ x }} a") == "3 a"
    (kept,) = (tmp_path / "cache").iterdir()

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(jinja2.Environment, "compile", refuse)
    assert render(tmp_path / "cache", "{{ x }} a") == "3 a"
    assert kept.exists()


def test_another_source_or_damage_is_compiled_again(tmp_path: pathlib.Path) -> None:
    render(tmp_path, "{{ x }} a")
    assert render(tmp_path, "{{ x }} b") == "3 b"
    (kept,) = tmp_path.iterdir()
    for damage in (b"", b"\0" * 40, kept.read_bytes()[:-20]):
        kept.write_bytes(damage)
        assert render(tmp_path, "{{ x }} b") == "3 b"


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert render(file, "{{ x }} a") == "3 a"
