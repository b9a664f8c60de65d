"""Tile IR to CUDA text: `lower(kernel)` returns the file, its launch contract and its line map."""

from __future__ import annotations

from tle2cuda.lowering.kernel import Lowered, lower

__all__ = ["Lowered", "lower"]
