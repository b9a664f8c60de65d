"""The Jinja templates of `tle2cuda/templates/`, and how a fault in one is reported."""

from __future__ import annotations

import functools
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tle2cuda.errors import InternalError

if TYPE_CHECKING:
    import jinja2

    from tle2cuda.ir.span import Span

TEMPLATE_DIRECTORY = Path(__file__).resolve().parent.parent / "templates"


@functools.lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """The environment of all templates, made at the first use."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE_DIRECTORY),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )


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
    import jinja2

    try:
        return environment().get_template(name).render(**views)
    except Exception as error:
        line = _template_line(error, name)
        if isinstance(error, jinja2.TemplateSyntaxError):
            line = error.lineno
        place = f"{name}:{line}" if line else name
        what = f" for {op}" if op else ""
        raise InternalError(f"rendering template {place}{what} failed: {error}", span) from error


def _template_line(error: Exception, name: str) -> int | None:
    """Line of the template that was being rendered; Jinja maps its frames to template lines."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == name]
    return lines[-1] if lines else None
