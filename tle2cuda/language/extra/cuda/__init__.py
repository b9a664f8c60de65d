"""`tl.extra.cuda`: what exists on CUDA devices only."""

from tle2cuda.language.extra import libdevice
from tle2cuda.ops.copy import unsupported

gdc_wait = unsupported("tl.extra.cuda.gdc_wait")
gdc_launch_dependents = unsupported("tl.extra.cuda.gdc_launch_dependents")

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]
