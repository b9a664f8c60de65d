"""`triton.runtime.build`: compiling host code, which launches need none of here."""

from __future__ import annotations

from typing import Any

from tle2cuda.errors import NotSupported


def _build(*args: Any, **kwargs: Any) -> Any:
    """Refuses: launchers are not compiled.

    Raises:
        NotSupported: Always.
    """
    raise NotSupported(
        "triton.runtime.build is not served by tle2cuda", help="launch through kernel[grid](...), which compiles no C code"
    )


compile_module_from_src = _build

__all__ = ["_build", "compile_module_from_src"]
