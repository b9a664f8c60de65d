"""`tle.gpu.semantic`: the validator of the `tle.gpu` functions."""

from tle2cuda.ops.semantic import TLESemantic, TLESemanticError

__all__ = ["TLESemantic", "TLESemanticError"]
