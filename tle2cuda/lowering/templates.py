"""The Jinja templates of `tle2cuda/templates/`, and how a fault in one is reported.

A template is a whole text (`render_template`) or a family of statements, one macro for each form (`write`). Statements may
hold bodies that were lowered apart, the body of a loop for instance: the template shows where they stand, and their lines
go there with the user's places that they have.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle2cuda.errors import InternalError
from tle2cuda.lowering.tasks import barrier_call
from tle2cuda.lowering.writer import Block, marker

if TYPE_CHECKING:
    import jinja2

    from tle2cuda.ir.span import Span

TEMPLATE_DIRECTORY = Path(__file__).resolve().parent.parent / "templates"


@functools.lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The environment of all templates, made at the first use."""
    import jinja2

    from tle2cuda.lowering.template_cache import TemplateCache
    from tle2cuda.runtime.cache import default_cache_dir

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE_DIRECTORY),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
        bytecode_cache=TemplateCache(default_cache_dir() / "templates"),
    )
    made.globals["meet"] = barrier_call  # `{{ meet() }};` where the threads meet that run the statements
    return made


def render_template(name: str, span: Span | None, op: str = "", **views: Any) -> str:
    """Render a template with its view objects.

    Args:
        name: File name, such as `reduction.cu.j2`.
        span: The user's place, for error messages.
        op: The operation that is written, for error messages.
        **views: What the template shows.

    Raises:
        InternalError: The template is missing or wrong, or a view lacks what it asks for.
    """
    try:
        return environment().get_template(name).render(**views)
    except Exception as error:
        raise _fault(error, name, op, span) from error


def render_form(name: str, form: str, view: object) -> str:
    """Text of one macro of a template.

    Args:
        name: File name of the template.
        form: The macro in it, which takes the view.
        view: What it shows.

    Raises:
        InternalError: The template is missing or wrong, or the view lacks what it asks for.
    """
    try:
        return _form(name, form)(view)
    except Exception as error:
        raise _fault(_at_template_lines(), name, form, None) from error


def write(block: Block, name: str, form: str, view: object, span: Span | None = None, **bodies: Block | None) -> None:
    """Append a statement to a block.

    Args:
        block: Where the statement goes.
        name: File name of the family's template, such as `control.cu.j2`.
        form: The macro in it, which takes the view and the bodies.
        view: What the template shows.
        span: The user's place of the statement's own lines.
        **bodies: Blocks that the statement holds; None for an absent one. The template has each on a line of its own.

    Raises:
        InternalError: The template is missing or wrong, or the view lacks what it asks for.
    """
    markers = {key: None if body is None else marker(key) for key, body in bodies.items()}
    try:
        text = _form(name, form)(view, **markers)
    except Exception as error:
        raise _fault(_at_template_lines(), name, form, span) from error
    block.add(text, span, {marker(key): body for key, body in bodies.items() if body is not None})


@functools.cache
def _form(name: str, form: str) -> Callable[..., str]:
    """One macro of a template."""
    macro: Callable[..., str] = getattr(environment().get_template(name).module, form)
    return macro


def _at_template_lines() -> Exception:
    """The error being handled, its traceback at lines of templates where calls of macros leave it at compiled code."""
    try:
        environment().handle_exception()
    except Exception as rewritten:
        return rewritten


def _fault(error: Exception, name: str, op: str, span: Span | None) -> InternalError:
    """What went wrong where: template and line, operation or form, and the user's place."""
    import jinja2

    line = error.lineno if isinstance(error, jinja2.TemplateSyntaxError) else _template_line(error, name)
    place = f"{name}:{line}" if line else name
    what = f" for {op}" if op else ""
    return InternalError(f"rendering template {place}{what} failed: {error}", span)


def _template_line(error: Exception, name: str) -> int | None:
    """Line of the template that was being rendered; Jinja maps its frames to template lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == name]
    return lines[-1] if lines else None
