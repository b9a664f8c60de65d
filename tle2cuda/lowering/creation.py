"""Constants and index tiles have no statements of their own: `evaluate` spells them where they are used."""

from __future__ import annotations

from tle2cuda.lowering.scalars import emit_constant

__all__ = ["emit_constant"]
