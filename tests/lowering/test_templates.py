"""The Jinja environment: strict, deterministic, and precise about faults."""

import jinja2
import pytest

from tle2cuda.errors import InternalError
from tle2cuda.ir.span import Span
from tle2cuda.lowering import templates


@pytest.fixture
def from_texts(monkeypatch, tmp_path):
    """Replaces the template files by texts."""

    def use(**texts):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        environment = templates.environment().overlay(loader=jinja2.FileSystemLoader(tmp_path), cache_size=0)
        monkeypatch.setattr(templates, "environment", lambda: environment)

    return use


SPAN = Span("kernel.py", 7)


def test_missing_value_names_template_line_op_and_place(from_texts):
    from_texts(broken="fine\n{{ view.start }}\n")
    with pytest.raises(InternalError) as caught:
        templates.render_template("broken", SPAN, "reduce", view={})
    assert "broken:2 for reduce" in str(caught.value)
    assert "kernel.py:7" in str(caught.value)


def test_syntax_error_names_template_and_line(from_texts):
    from_texts(broken="one\ntwo\n{% for %}\n")
    with pytest.raises(InternalError, match="broken:3"):
        templates.render_template("broken", SPAN)


def test_missing_template():
    with pytest.raises(InternalError, match=r"no_such\.cu\.j2"):
        templates.render_template("no_such.cu.j2", SPAN)


def test_blocks_leave_no_lines_and_nothing_is_escaped(from_texts):
    from_texts(text="a\n    {% if true %}\nb < c && d\n    {% endif %}\n")
    assert templates.render_template("text", None) == "a\nb < c && d\n"


def test_environment_is_made_once():
    assert templates.environment() is templates.environment()
