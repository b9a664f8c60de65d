"""`tle.raw`: calling foreign device code, which this version refuses when used."""

from tle2cuda.ops.copy import unsupported

call = unsupported("tle.raw.call")
call_smem = unsupported("tle.raw.call_smem")

__all__ = ["call", "call_smem"]
