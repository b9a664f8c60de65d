"""`tle.raw.mlir`: printing and asserting in raw MLIR functions, which this version refuses when used."""

from tle2cuda.ops.copy import unsupported

_INSTEAD = "use tl.device_print and tl.device_assert in the kernel"
vprintf = unsupported("tle.raw.mlir.vprintf", _INSTEAD)
vassert = unsupported("tle.raw.mlir.vassert", _INSTEAD)

__all__ = ["vassert", "vprintf"]
