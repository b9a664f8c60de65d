"""`tl.extra.cuda`: what exists on CUDA devices only."""

from tle2cuda.language.extra import libdevice
from tle2cuda.ops.copy import unsupported
from tle2cuda.ops.device_info import gdc_launch_dependents, gdc_wait, globaltimer, num_threads, num_warps, smid

_INSTEAD = "use x.to(dtype), or write the conversion as integer operations on tl.cast(x, tl.uint8, bitcast=True)"
convert_custom_float8_sm70 = unsupported("tl.extra.cuda.convert_custom_float8_sm70", _INSTEAD)
convert_custom_float8_sm80 = unsupported("tl.extra.cuda.convert_custom_float8_sm80", _INSTEAD)

__all__ = [
    "convert_custom_float8_sm70",
    "convert_custom_float8_sm80",
    "gdc_launch_dependents",
    "gdc_wait",
    "globaltimer",
    "libdevice",
    "num_threads",
    "num_warps",
    "smid",
]
