"""`tle.raw`: calling foreign device code, which this version refuses when used."""

from tle2cuda.ops.copy import unsupported

_INSTEAD = "write the function in Python and call it; the emitted .cu file can be edited where only CUDA will do"

call = unsupported("tle.raw.call", _INSTEAD)
call_smem = unsupported("tle.raw.call_smem", _INSTEAD)

__all__ = ["call", "call_smem"]
