"""`tl.extra.cuda`: what exists on CUDA devices only."""

from tle2cuda.language.extra import libdevice
from tle2cuda.ops.copy import unsupported

_INSTEAD = "leave it out: kernels of one stream run one after the other"
gdc_wait = unsupported("tl.extra.cuda.gdc_wait", _INSTEAD)
gdc_launch_dependents = unsupported("tl.extra.cuda.gdc_launch_dependents", _INSTEAD)

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]
