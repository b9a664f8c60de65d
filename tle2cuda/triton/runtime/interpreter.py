"""`triton.runtime.interpreter`: names that packages compare with; TLE2CUDA_DEVICE chooses the interpreter here."""

from __future__ import annotations

from tle2cuda.errors import InterpreterError


class InterpretedFunction:
    """Triton's kernel under its interpreter, which no object is here: one class serves every device."""


class GridExecutor:
    """Triton's launch under its interpreter; no object is one."""


__all__ = ["GridExecutor", "InterpretedFunction", "InterpreterError"]
