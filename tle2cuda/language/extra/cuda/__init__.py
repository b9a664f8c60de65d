"""`tl.extra.cuda`: what exists on CUDA devices only."""

from tle2cuda.language.extra import libdevice
from tle2cuda.ops.custom_float8 import convert_custom_float8_sm70, convert_custom_float8_sm80
from tle2cuda.ops.device_info import gdc_launch_dependents, gdc_wait, globaltimer, num_threads, num_warps, smid

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
