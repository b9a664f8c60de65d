"""`triton.tools.disasm`: machine code as text."""

from __future__ import annotations

from pathlib import Path

from tle2cuda.runtime.sass import disassemble


def get_sass(cubin_asm: bytes, fun: str | None = None) -> str:
    """SASS of machine code.

    Args:
        cubin_asm: The cubin.
        fun: Name of a function; all when None.

    Raises:
        ToolchainError: There is no disassembler.
    """
    return disassemble(cubin_asm, fun or "")


def extract(file_path: str, fun: str | None = None) -> str:
    """SASS of a file of machine code.

    Args:
        file_path: Path of the cubin.
        fun: Name of a function; all when None.

    Raises:
        ToolchainError: There is no disassembler.
    """
    return get_sass(Path(file_path).read_bytes(), fun)


__all__ = ["extract", "get_sass"]
