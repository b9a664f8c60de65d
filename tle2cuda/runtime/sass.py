"""SASS of a cubin, through NVIDIA's disassemblers."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile

from tle2cuda.errors import ToolchainError
from tle2cuda.runtime import toolkit

_HEX = re.compile(r"\s*/\* 0x[0-9a-f]{16} \*/")


def disassemble(cubin: bytes, kernel: str = "", with_lines: bool = False) -> str:
    """SASS of a cubin, of one kernel when named, without the encodings.

    Args:
        cubin: Machine code.
        kernel: The kernel; empty for all.
        with_lines: Show in front of instructions the source lines that they come from, where the cubin has them.

    Raises:
        ToolchainError: Neither nvdisasm nor cuobjdump is installed, or it fails.
    """
    tool = toolkit.require_tool("nvdisasm", *(() if with_lines else ("cuobjdump",)))
    handle, path = tempfile.mkstemp(suffix=".cubin")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(cubin)
        if os.path.basename(tool) == "nvdisasm":
            command = [tool, "-c", "-ndf", *(("-gi",) if with_lines else ()), path]
        else:
            command = [tool, "-sass", *(["-fun", kernel] if kernel else []), path]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        os.unlink(path)
    if done.returncode:
        raise ToolchainError(
            f"{os.path.basename(tool)} failed: {done.stderr.strip() or done.stdout.strip()}",
            facts=(f"tool: {tool}",),
            help="one older than NVRTC cannot read its cubins: pip install -U nvidia-cuda-nvdisasm",
        )
    text = _HEX.sub("", done.stdout)
    return _only(text, kernel) if os.path.basename(tool) == "nvdisasm" and kernel else text


def _only(text: str, kernel: str) -> str:
    """The section of one kernel in nvdisasm's output; all of it when there is no such section."""
    parts = re.split(r"(?m)^(?=//-+ \.text\.)", text)
    mine = [part for part in parts if part.startswith("//") and f".text.{kernel} " in part.partition("\n")[0]]
    return "".join(mine) or text
