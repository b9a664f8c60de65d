"""What the tests of lowering share: the body of an emitted kernel, with or without the comments."""

from __future__ import annotations

import re
from typing import Any

from tle2cuda.compiler import emit


def emitted(kernel: Any, signature: str, headers: str = "minimal", num_warps: int = 4, **constants: Any) -> Any:
    """A kernel emitted for a signature such as `x *fp32:16, n i32`."""
    types = dict(entry.split() for entry in signature.split(", "))
    return emit(kernel, signature=types, constants=constants, num_warps=num_warps, arch="sm_90a", headers=headers)


def body_of(source: str) -> str:
    """The statements of the kernel, one a line, without comments, blank lines and indentation."""
    text = source[source.index('extern "C"') :]
    lines = (re.sub(r"\s*//.*", "", line).strip() for line in text[text.index("\n{") + 2 : text.rindex("}")].splitlines())
    return "\n".join(line for line in lines if line)


def body(kernel: Any, signature: str, num_warps: int = 4, **constants: Any) -> str:
    """The statements of a kernel."""
    return body_of(emitted(kernel, signature, num_warps=num_warps, **constants).source)


def parameters_of(source: str) -> str:
    """The parameters of the kernel on one line."""
    found = re.search(r'extern "C".*?\((?:\d+)\)\s+\w+\((.*?)\)\n\{', source, re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())
